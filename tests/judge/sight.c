/* What each server had of a lock while an inspection was under way. Rules: cause.h,
 * P12g. One server answers an inspection: nothing is summed up over several. */
#include "tests/judge/sight.h"

#include <inttypes.h>
#include <stdlib.h>

#include "tests/judge/count.h"
#include "tests/judge/violation.h"

#define MS 1000
#define SIGHTS_MAX 1000         /* of one call: beyond that it is not judged */

struct sight {
    struct sight *next;
    struct history_text hold;   /* empty: the lock is free, or it is counted */
    int64_t count, until_us;    /* until_us of a number: 0, if there is none */
    bool is_rest;               /* more than SIGHTS_MAX were there */
};

static bool is_noted(const struct ask *ask, struct history_text hold, int64_t count,
                     int64_t until_us)
{
    for (const struct sight *s = ask->sights; s; s = s->next)
        if (s->count == count && s->until_us == until_us && text_is(s->hold, hold))
            return true;
    return false;
}

static void add(struct ask *ask, struct history_text hold, int64_t count,
                int64_t until_us)
{
    struct sight *s;

    if (is_noted(ask, hold, count, until_us))
        return;
    s = must_have(calloc(1, sizeof *s));
    text_set(&s->hold, hold);
    s->count = count;
    s->until_us = until_us;
    s->next = ask->sights;
    ask->sights = s;
}

static size_t sights_of(const struct ask *ask)
{
    size_t n = 0;

    for (const struct sight *s = ask->sights; s; s = s->next)
        n++;
    return n;
}

static void note_holds(const struct judge *j, struct ask *ask, uint32_t server)
{
    bool is_free = true;

    for (struct hold *hold = ask->lock->holds; hold; hold = hold->next) {
        const struct record *r = state_record(hold, server, false);

        if (!r)
            continue;
        add(ask, hold->name.len ? hold->name : hold->owner, r->count, r->until_us);
        is_free = is_free && r->until_us <= j->now.us;
    }
    if (is_free)
        add(ask, history_text(""), 0, 0);
}

/* Of permits, how many are out, or available. A call counts those as available that have
 * lapsed when the server executes it: at least those that had lapsed when it was asked. How
 * many are out it may say with those that have lapsed, or without them. */
static void note_permits(const struct judge *j, struct ask *ask, uint32_t server)
{
    int64_t slack_us = j->header.slack_ms * MS, n = state_number_at(ask->lock, server);
    int64_t out = 0, lapsed = 0, least = 0;
    bool is_available = ask->op == HISTORY_OP_AVAILABLE;

    for (struct hold *hold = ask->lock->holds; hold; hold = hold->next) {
        const struct record *r = state_record(hold, server, false);

        if (!r)
            continue;
        out++;
        lapsed += r->until_us <= j->now.us + slack_us;
        least += is_available && r->until_us <= ask->asked.us - slack_us;
    }
    if (is_available && n == HISTORY_NONE) { /* whatever is out */
        add(ask, history_text(""), 0, 0);
        return;
    }
    for (; lapsed >= least; lapsed--)
        add(ask, history_text(""), is_available ? n - out + lapsed : out - lapsed, 0);
}

/* A key that has expired is 0 to a reader, although a replica, or a master that became one,
 * keeps it until its master deletes it. */
static void note_number(const struct judge *j, struct ask *ask, uint32_t server)
{
    int64_t n = state_number_at(ask->lock, server);

    add(ask, history_text(""), n == HISTORY_NONE ? 0 : n, n == HISTORY_NONE ? 0 : HISTORY_NEVER);
    if (state_number_is_over(j, ask->lock, server))
        add(ask, history_text(""), 0, 0);
}

static void note(const struct judge *j, struct ask *ask, uint32_t server)
{
    if (count_is_of(ask))
        note_number(j, ask, server);
    else if (ask->class == CLASS_PERMIT)
        note_permits(j, ask, server);
    else
        note_holds(j, ask, server);
}

void sight_begin(const struct judge *j, struct ask *ask)
{
    if ((ask->op != HISTORY_OP_INSPECT && ask->op != HISTORY_OP_AVAILABLE) || !ask->lock)
        return;
    if (sights_of(ask) >= SIGHTS_MAX) {
        ask->sights->is_rest = true;
        return;
    }
    for (uint32_t server = 0; server < j->servers_room; server++)
        if (state_answers(j, ask->lock, server))
            note(j, ask, server);
}

void sight_add(const struct judge *j, struct lock *lock)
{
    for (struct ask *ask = lock->asks; ask; ask = ask->lock_next)
        sight_begin(j, ask);
}

/* The client adds the TTL to the time when it hears of it. */
static bool is_end(const struct judge *j, const struct ask *ask, int64_t until_us,
                   int64_t said_us)
{
    int64_t late_us, slack_us = j->header.slack_ms * MS;

    if (said_us == until_us)
        return true;
    if (said_us == HISTORY_NEVER || until_us == HISTORY_NEVER)
        return false;
    late_us = said_us - until_us;
    if (until_us > ask->asked.us) /* the TTL is time of the server's clock */
        slack_us += ((until_us - ask->asked.us) / 1000000 + 1) * j->server_ppm;
    return late_us >= -slack_us && late_us <= j->now.us - ask->asked.us + slack_us;
}

/* Of a read-write lock, one end is that of all. */
static bool is_seen(const struct judge *j, const struct ask *ask,
                    const struct sight *s, const struct history_event *e)
{
    if (s->is_rest)
        return true;
    if (count_is_of(ask) && e->count != HISTORY_NONE && (e->count > 0) != (s->until_us != 0))
        return false;
    if (count_is_of(ask) || e->hold.len == 0)
        return s->hold.len == 0 && s->count == e->n;
    return text_is(s->hold, e->hold) && s->count == e->n &&
           (e->until_us == HISTORY_NONE || ask->class == CLASS_READ ||
            ask->class == CLASS_WRITE || is_end(j, ask, s->until_us, e->until_us));
}

/* The records of a server whose clock is off end at other times. */
void sight_end(struct judge *j, struct ask *ask, const struct history_event *e)
{
    struct judge_violation *v;

    if (e->n == HISTORY_NONE)
        return;
    sight_begin(j, ask); /* what has ended meanwhile is not seen any longer */
    for (const struct sight *s = ask->sights; s; s = s->next)
        if (is_seen(j, ask, s, e))
            return;
    v = violate(j, 12, j->now.us);
    say(v, "an inspection of lock %s reports ", word(ask->lock->name));
    if (e->hold.len)
        say(v, "%s", word(e->hold));
    else
        say_words(v, "no holder");
    say(v, ", count %" PRId64 ", until %s, which no server had since it was asked", e->n,
        e->until_us == HISTORY_NONE ? "an unknown time" : when(e->until_us));
    show(v, ask->asked);
    show(v, j->now);
}

void sight_free(struct ask *ask)
{
    for (struct sight *s = ask->sights, *next; s; s = next) {
        next = s->next;
        free((char *)s->hold.at);
        free(s);
    }
    ask->sights = NULL;
}
