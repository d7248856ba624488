/* What lines of clients and servers have in common: holds, excuses, clocks. */
#include "tests/judge/lines.h"

struct hold *hold_of(struct judge *j, const struct history_event *e)
{
    return state_hold(state_lock(j, e->lock, true), class_of(e->kind), e->owner,
                      e->hold, true);
}

void each_hold(struct judge *j,
               void (*visit)(struct judge *j, struct hold *hold,
                             const struct party *party),
               const struct party *party)
{
    for (size_t i = 0; i < j->locks_room; i++)
        for (struct lock *lock = j->locks[i]; lock; lock = lock->chain)
            for (struct hold *hold = lock->holds; hold; hold = hold->next)
                visit(j, hold, party);
}

static struct moment rates_apart(const struct judge *j, uint32_t client,
                                 uint32_t server)
{
    static const struct party unknown;
    const struct party *c = state_client(j, client);
    const struct party *s =
        server < j->servers_room ? &j->servers[server] : &unknown;
    int64_t apart = c->ppm - s->ppm;

    if ((apart < 0 ? -apart : apart) <= j->header.ppm)
        return (struct moment){0, 0};
    return c->clock.line > s->clock.line ? c->clock : s->clock;
}

static struct moment apart_from(struct judge *j, const struct hold *hold,
                                uint32_t server)
{
    return rates_apart(j, hold->client, server);
}

void note_rates(const struct judge *j, struct ask *ask)
{
    struct moment at = {0, 0};

    if (ask->lock)
        at = rates_apart(j, ask->client, ask->lock->home);
    if (at.line)
        ask->clock = at;
}

struct moment clocks_apart(struct judge *j, const struct hold *hold)
{
    struct moment at = {0, 0};

    if (!hold->records && hold->last_held.line) /* it was taken away */
        return apart_from(j, hold, hold->last_server);
    for (const struct record *r = hold->records; r && !at.line; r = r->next)
        at = apart_from(j, hold, r->server);
    return at;
}

void excuse(struct hold *hold, enum excuse_reason reason, struct moment at)
{
    if (at.line)
        hold->excuse = (struct excuse){reason, at};
}

void excuse_clock(struct hold *hold, struct moment at)
{
    if (at.line)
        hold->clock = at;
}

static void on_rate(struct judge *j, struct hold *hold, const struct party *p)
{
    (void)p;
    excuse_clock(hold, clocks_apart(j, hold));
}

static void on_step(struct judge *j, struct hold *hold, const struct party *p)
{
    if (p->source.role == 'c' ? hold->client == p->source.number
                              : !!state_record(hold, p->source.number, false))
        excuse_clock(hold, j->now);
}

static void on_step_under_way(const struct judge *j, struct ask *ask,
                              const struct party *p)
{
    if (p->source.role == 'c'
            ? ask->client == p->source.number
            : ask->lock && ask->lock->home == p->source.number)
        ask->clock = j->now;
}

static void note_server_rate(struct judge *j, const struct party *p)
{
    int64_t ppm = p->ppm < -SERVER_PPM_MAX  ? SERVER_PPM_MAX
                  : p->ppm < 0              ? -p->ppm
                  : p->ppm > SERVER_PPM_MAX ? SERVER_PPM_MAX
                                            : p->ppm;

    if (p->source.role == 's' && ppm > j->server_ppm)
        j->server_ppm = ppm;
}

void on_clock(struct judge *j, struct party *p, const struct history_event *e)
{
    if (e->ppm != HISTORY_NONE) {
        p->ppm = e->ppm;
        note_server_rate(j, p);
        p->clock = j->now;
        each_hold(j, on_rate, p);
    }
    if (e->step_us != HISTORY_NONE)
        each_hold(j, on_step, p);
    for (struct ask *ask = j->asks; ask; ask = ask->next) {
        note_rates(j, ask);
        if (e->step_us != HISTORY_NONE)
            on_step_under_way(j, ask, p);
    }
}
