/* Who has most of the members of a quorum. */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/majority.h"
#include "tests/sim/program.h"
#include "tests/sim/site.h"
#include "tests/support/must.h"

#define UUID_LEN 36
#define OWNER_MAX 128

struct alias {
    char from[UUID_LEN], to[UUID_LEN];
};

/* One owner's member at one server. What was taken away counts, for the owner that may
 * believe in it, until its end; held is what is there. */
struct part {
    int64_t held_until_us;      /* 0: it is not held */
    int64_t believed_until_us;
    enum history_why taken;     /* deleted, forced or forgot, if it was; or 0 */
    bool is_given_up;           /* its owner does not count it, and has not been granted
                                   it again */
    bool is_over;               /* the owner's last call ended without it: what is executed later
                                   is not counted */
    bool was_short;             /* the last grant or renewal found a lease that a fault had shortened */
    bool is_unseen;             /* it was taken while its owner could not reach the server:
                                   it counts until its lease ends (quorum.md, R3) */
};

struct vote {
    struct vote *next;
    int64_t lock;
    char owner[OWNER_MAX];
    struct part parts[PLAN_MEMBERS_MAX];
    int64_t until_us;           /* as it was written; 0: not held */
};

struct majority {
    const struct plan *plan;
    struct alias *aliases;
    size_t count, room;
    struct vote *votes;
};

struct majority *majority_new(const struct plan *plan)
{
    struct majority *m;

    if (plan->head.deployment != DEPLOY_INDEPENDENT)
        return NULL;
    m = must_alloc(sizeof *m);
    *m = (struct majority){.plan = plan};
    return m;
}

void majority_free(struct majority *m)
{
    if (!m)
        return;
    while (m->votes) {
        struct vote *v = m->votes;

        m->votes = v->next;
        free(v);
    }
    free(m->aliases);
    free(m);
}

/* ---- names ---- */

void majority_alias(struct sim *sim, const char *uuid, const char *first)
{
    struct majority *m = sim->majority;

    if (m->count == m->room) {
        m->room = m->room ? 2 * m->room : 64;
        m->aliases = realloc(m->aliases, m->room * sizeof *m->aliases);
        must(m->aliases);
    }
    memcpy(m->aliases[m->count].from, uuid, UUID_LEN);
    memcpy(m->aliases[m->count++].to, first, UUID_LEN);
}

void majority_first(const struct sim *sim, char *text)
{
    const struct majority *m = sim->majority;

    if (!m || strlen(text) < UUID_LEN)
        return;
    for (size_t i = m->count; i-- > 0;)
        if (memcmp(m->aliases[i].from, text, UUID_LEN) == 0) {
            memcpy(text, m->aliases[i].to, UUID_LEN);
            return;
        }
}

const char *majority_name(const struct sim *sim, int64_t lock, int64_t server,
                          char dst[MAJORITY_NAME_MAX])
{
    const char *name = plan_lock_name(sim->plan, lock);

    if (!sim->majority || server == 0)
        return name;
    (void)snprintf(dst, MAJORITY_NAME_MAX, "%s@s%lld", name, (long long)server);
    return dst;
}

/* The lock whose member a line is about; -1: of none. */
static int64_t lock_of(struct sim *sim, const struct history_event *e)
{
    char name[MAJORITY_NAME_MAX];

    for (int64_t i = 0; i < (int64_t)sim->plan->lock_count; i++) {
        const char *text = majority_name(sim, i, e->source.number, name);

        if (strlen(text) == e->lock.len &&
            memcmp(text, e->lock.at, e->lock.len) == 0)
            return i;
    }
    return -1;
}

/* ---- votes ---- */

static struct vote *vote_of(struct majority *m, int64_t lock,
                            struct history_text owner)
{
    struct vote *v;

    must(owner.len < OWNER_MAX);
    for (v = m->votes; v; v = v->next)
        if (v->lock == lock && strlen(v->owner) == owner.len &&
            memcmp(v->owner, owner.at, owner.len) == 0)
            return v;
    v = must_alloc(sizeof *v);
    *v = (struct vote){.next = m->votes, .lock = lock};
    memcpy(v->owner, owner.at, owner.len);
    m->votes = v;
    return v;
}

static bool is_granted(const struct history_event *e)
{
    return e->by == HISTORY_BY_ACQUIRE || e->by == HISTORY_BY_RENEW;
}

static void take_held(struct part *p, const struct history_event *e)
{
    bool is_shortened = e->until_us < p->believed_until_us && !is_granted(e);

    p->is_unseen = false;
    if (e->by == HISTORY_BY_ACQUIRE)
        p->is_given_up = p->is_over;
    p->held_until_us = e->until_us;
    p->was_short = is_granted(e) && p->taken;
    p->taken = is_shortened ? HISTORY_WHY_DELETED : HISTORY_NO_WHY;
    if (!is_shortened)
        p->believed_until_us = e->until_us;
}

static bool is_out_of_reach(struct sim *sim, const struct vote *v, int64_t number)
{
    const struct server *s = site_server(sim->site, number - 1);

    for (size_t i = 0; i < sim->plan->program_count; i++)
        if (memcmp(program_uuid(sim->programs[i]), v->owner, UUID_LEN) == 0 &&
            link_is_cut_off(site_link(sim->site, sim->programs[i], s)))
            return true;
    return s->is_down || s->is_frozen;
}

static void take_freed(struct sim *sim, const struct vote *v, struct part *p,
                       const struct history_event *e)
{
    p->held_until_us = 0;
    p->is_unseen = is_out_of_reach(sim, v, e->source.number);
    if (e->why == HISTORY_WHY_DELETED || e->why == HISTORY_WHY_FORCED ||
        e->why == HISTORY_WHY_FORGOT)
        p->taken = e->why;
    if (e->why == HISTORY_WHY_RELEASED || p->taken == HISTORY_NO_WHY ||
        p->is_given_up)
        *p = (struct part){.is_over = p->is_over};
}

/* The end that most members reach; 0: fewer count. */
static int64_t most_until_us(const struct vote *v, int64_t count,
                             bool is_believed)
{
    int64_t sorted[PLAN_MEMBERS_MAX];

    for (int64_t i = 0, at; i < count; i++) {
        const struct part *p = &v->parts[i];
        int64_t us = is_believed || p->is_unseen ? p->believed_until_us : p->held_until_us;

        for (at = i; at > 0 && sorted[at - 1] < us; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = us;
    }
    return sorted[count / 2];
}

static enum history_why why_of(const struct vote *v, int64_t count,
                               enum history_why why)
{
    for (int64_t i = 0; i < count; i++)
        if (v->parts[i].taken)
            return v->parts[i].taken;
    return why;
}

/* ---- lines ---- */

/* Whose doing is it that a majority is held until then? A renewal that finds members which somebody
 * has made shorter, and extends them by less than that, does not shorten the set. */
static enum history_by by_of(const struct vote *v, int64_t until_us,
                             const struct history_event *cause)
{
    uint32_t server = cause->source.number;

    if (cause->what != HISTORY_HELD ||
        (until_us < v->until_us && server > 0 && v->parts[server - 1].was_short))
        return HISTORY_BY_OPERATOR;
    return cause->by;
}

static void write(struct sim *sim, struct vote *v, int64_t until_us,
                  const struct history_event *cause)
{
    struct history_event e = sim_event(
        sim, 's', MAJORITY_SERVER, until_us ? HISTORY_HELD : HISTORY_FREED);

    e.lock = history_text(plan_lock_name(sim->plan, v->lock));
    e.owner = history_text(v->owner);
    e.kind = HISTORY_KIND_PLAIN;
    if (until_us) {
        e.count = 1;
        e.until_us = until_us;
        e.by = by_of(v, until_us, cause);
    } else {
        e.why = why_of(v, sim->plan->head.masters,
                       cause->what == HISTORY_FREED ? cause->why
                                                    : HISTORY_WHY_DELETED);
    }
    v->until_us = until_us;
    sim_write(sim, &e);
}

/* The remaining members of a majority may be renewed: before the loss is reported, the owner
 * believes until the lease of the lost members ends. */
static int64_t longest_until_us(const struct vote *v, int64_t count)
{
    struct vote longest = *v;

    for (int64_t i = 0; i < count; i++)
        if (v->parts[i].held_until_us)
            longest.parts[i].believed_until_us = HISTORY_NEVER;
    return most_until_us(&longest, count, true);
}

static void outlast(struct sim *sim, struct vote *v)
{
    struct history_event e = {
        .what = HISTORY_HELD,
        .by = v->until_us ? HISTORY_BY_RENEW : HISTORY_BY_ACQUIRE};
    int64_t count = sim->plan->head.masters;
    int64_t until_us = longest_until_us(v, count);

    if (until_us > v->until_us && why_of(v, count, HISTORY_NO_WHY))
        write(sim, v, until_us, &e);
}

/* Its owner counts a member that was taken away while it acquired the others. */
static bool is_counted(const struct sim *sim, const struct vote *v,
                       const struct history_event *cause)
{
    return cause->what == HISTORY_HELD && cause->by == HISTORY_BY_ACQUIRE &&
           !v->parts[cause->source.number - 1].is_given_up &&
           most_until_us(v, sim->plan->head.masters, true) >
               world_now_us(sim->world);
}

static void count_votes(struct sim *sim, struct vote *v,
                        const struct history_event *cause)
{
    int64_t count = sim->plan->head.masters;
    int64_t until_us = most_until_us(v, count, false)
                           ? most_until_us(v, count, true)
                           : 0;

    if (until_us == 0 && (v->until_us || is_counted(sim, v, cause)))
        outlast(sim, v);
    if (until_us != v->until_us ||
        (until_us && cause->what == HISTORY_HELD && is_granted(cause)))
        write(sim, v, until_us, cause);
}

/* Members that were taken unseen count no longer: their leases have ended, or another
 * owner has most of the members (`winner`). */
static void drop_unseen(struct sim *sim, int64_t lock, const struct vote *winner)
{
    static const struct history_event cause = {.what = HISTORY_FREED,
                                               .why = HISTORY_WHY_DELETED};
    int64_t now_us = world_now_us(sim->world);

    for (struct vote *v = sim->majority->votes; v; v = v->next) {
        bool has_dropped = false;

        for (int64_t i = 0; i < sim->plan->head.masters; i++) {
            struct part *p = &v->parts[i];
            bool is_over = winner ? v != winner && v->lock == lock : p->believed_until_us <= now_us;

            has_dropped = has_dropped || (p->is_unseen && is_over);
            p->is_unseen = p->is_unseen && !is_over;
        }
        if (has_dropped)
            count_votes(sim, v, &cause);
    }
}

static void reset_tokens(struct sim *sim, int64_t lock)
{
    struct history_event e =
        sim_event(sim, 's', MAJORITY_SERVER, HISTORY_RESET);

    e.lock = history_text(plan_lock_name(sim->plan, lock));
    sim_write(sim, &e);
}

void majority_forget(struct sim *sim, int64_t lock, const char *owner,
                     int64_t server)
{
    static const struct history_event cause = {.what = HISTORY_FREED,
                                               .why = HISTORY_WHY_DELETED};
    struct vote *v = vote_of(sim->majority, lock, history_text(owner));
    struct part *p = &v->parts[server - 1];
    bool was_unseen = p->is_unseen;

    p->is_given_up = p->is_over = true;
    if (p->held_until_us == 0)
        *p = (struct part){.is_over = true};
    if (was_unseen)
        count_votes(sim, v, &cause);
}

void majority_request(struct sim *sim, int64_t lock, const char *owner, int64_t server)
{
    vote_of(sim->majority, lock, history_text(owner))->parts[server - 1].is_over = false;
}

void majority_end(struct sim *sim, const char *uuid)
{
    struct vote *v = sim->majority ? sim->majority->votes : NULL;

    for (; v; v = v->next)
        for (int64_t i = 0; i < PLAN_MEMBERS_MAX; i++)
            v->parts[i].is_over = v->parts[i].is_over || memcmp(v->owner, uuid, UUID_LEN) == 0;
}

void majority_see(struct sim *sim, const struct history_event *e)
{
    int64_t lock;
    struct vote *v;
    struct part *p;

    if (!sim->majority || e->source.role != 's' ||
        e->source.number > PLAN_MEMBERS_MAX ||
        (e->what != HISTORY_HELD && e->what != HISTORY_FREED &&
         e->what != HISTORY_RESET) ||
        (lock = lock_of(sim, e)) < 0)
        return;
    if (e->what == HISTORY_RESET) {
        reset_tokens(sim, lock);
        return;
    }
    drop_unseen(sim, lock, NULL);
    v = vote_of(sim->majority, lock, e->owner);
    p = &v->parts[e->source.number - 1];
    if (e->what == HISTORY_HELD)
        take_held(p, e);
    else
        take_freed(sim, v, p, e);
    if (most_until_us(v, sim->plan->head.masters, false))
        drop_unseen(sim, lock, v);
    count_votes(sim, v, e);
}
