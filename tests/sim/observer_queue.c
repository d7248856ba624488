/* What a server's queue of a fair lock shows, as lines of the history. */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/site.h"
#include "tests/sim/observer_inner.h"
#include "tests/support/must.h"

struct observer_place {
    char field[OBSERVER_HOLD_MAX];
    int64_t since_us;
    bool is_inherited; /* it was there when this server, or one that had the slot before,
                          became a master */
};

/* ---- the two keys ---- */

enum { QUEUE, PLACES, PARTS };

static size_t key_of(char *dst, size_t size, const char *name, int part)
{
    static const char *const parts[PARTS] = {"redisson_lock_queue",
                                             "redisson_lock_timeout"};
    const char *format = strchr(name, '{') ? "%s:%s" : "%s:{%s}";
    size_t n = (size_t)snprintf(dst, size, format, parts[part], name);

    must(n < size);
    return n;
}

static bool is_of_queue(const struct model_change *c, const char *name)
{
    char key[PLAN_KEY_MAX];

    for (int part = 0; part < PARTS; part++)
        if (c->len == key_of(key, sizeof key, name, part) &&
            memcmp(c->key, key, c->len) == 0)
            return true;
    return false;
}

/* Until when a place is honoured; never: it has no time. */
static int64_t until_of(const struct observer *w, struct model *m, const char *name,
                        struct model_text who)
{
    char key[PLAN_KEY_MAX];
    size_t len = key_of(key, sizeof key, name, PLACES);
    struct model_text member, score;

    for (size_t i = 0; model_at(m, 0, key, len, i, &member, &score); i++)
        if (member.n == who.n && memcmp(member.p, who.p, who.n) == 0)
            return observer_true_us(w, (int64_t)(strtod(score.p, NULL) * 1000));
    return HISTORY_NEVER;
}

static bool element(struct model *m, const char *name, size_t i,
                    struct model_text *who)
{
    char key[PLAN_KEY_MAX];
    size_t len = key_of(key, sizeof key, name, QUEUE);
    struct model_text none;

    return model_at(m, 0, key, len, i, &none, who);
}

/* ---- lines ---- */

static void write_line(struct observer *w, size_t lock, enum history_what what,
                       enum history_by by, const char *field, int64_t until_us,
                       const char *may)
{
    struct history_event e = sim_event(w->sim, 's', w->server, what);
    char owner[OBSERVER_HOLD_MAX];

    e.lock = history_text(plan_lock_name(w->sim->plan, (int64_t)lock));
    e.kind = HISTORY_KIND_FAIR;
    e.by = by;
    if (*field) {
        e.owner = observer_owner(field, owner);
        e.hold = history_text(field);
        e.until_us = until_us;
    }
    if (may)
        e.may = history_text(may);
    sim_write(w->sim, &e);
}

/* ---- who is in it ---- */

static void add(struct observer_queue *q, struct model_text who, int64_t now_us,
                bool is_inherited)
{
    struct observer_place *p;

    if (q->count == q->room) {
        q->room = q->room ? 2 * q->room : 16;
        q->places = realloc(q->places, q->room * sizeof *q->places);
        must(q->places);
    }
    must(who.n < OBSERVER_HOLD_MAX);
    p = &q->places[q->count++];
    *p = (struct observer_place){.since_us = now_us, .is_inherited = is_inherited};
    memcpy(p->field, who.p, who.n);
}

static bool is_place(const struct observer_place *p, struct model_text who)
{
    return strlen(p->field) == who.n && memcmp(p->field, who.p, who.n) == 0;
}

/* A place that another server has inherited moves with its slot. */
static bool is_inherited(const struct observer *w, size_t lock, struct model_text who)
{
    const struct site *site = w->sim->site;

    for (size_t i = 0; site && i < site->count; i++) {
        const struct observer_queue *q = &site->servers[i]->observer.queues[lock];

        for (size_t k = 0; k < q->count; k++)
            if (q->places[k].is_inherited && is_place(&q->places[k], who))
                return true;
    }
    return false;
}

/* Some waiters have left, and others were added at the end: the order of the rest is kept. */
static size_t keep_those_who_stay(struct observer_queue *q, struct model *m,
                                  const char *name)
{
    struct model_text who;
    size_t stay = 0;

    for (size_t i = 0; i < q->count; i++) {
        if (!element(m, name, stay, &who) || !is_place(&q->places[i], who))
            continue;
        q->places[stay++] = q->places[i];
    }
    q->count = stay;
    return stay;
}

static void see_places(struct observer *w, struct model *m, size_t lock,
                       enum history_by by)
{
    struct observer_queue *q = &w->queues[lock];
    const char *name = plan_lock_name(w->sim->plan, (int64_t)lock);
    struct model_text who;

    for (size_t i = keep_those_who_stay(q, m, name); element(m, name, i, &who);
         i++) {
        add(q, who, world_now_us(w->sim->world), is_inherited(w, lock, who));
        if (model_is_master(m))
            write_line(w, lock, HISTORY_QUEUED, by, q->places[i].field,
                       HISTORY_NONE, NULL);
    }
}

static void see_head(struct observer *w, struct model *m, size_t lock,
                     enum history_by by)
{
    struct observer_queue *q = &w->queues[lock];
    const char *name = plan_lock_name(w->sim->plan, (int64_t)lock);
    const char *head = q->count > 0 ? q->places[0].field : "";
    int64_t until_us = 0;

    if (q->count > 0)
        until_us = until_of(
            w, m, name, (struct model_text){head, strlen(head)});
    if (!model_is_master(m) ||
        (strcmp(head, q->head) == 0 && until_us == q->until_us))
        return;
    memcpy(q->head, head, strlen(head) + 1);
    q->until_us = until_us;
    write_line(w, lock, HISTORY_HEAD, by, head, until_us, NULL);
}

void observer_queue_look(struct observer *w, struct model *m, size_t lock,
                         const struct model_change *c, enum history_by by)
{
    if (!plan_has_queue(w->sim->plan, (int64_t)lock) ||
        !is_of_queue(c, plan_lock_name(w->sim->plan, (int64_t)lock)))
        return;
    see_places(w, m, lock, by);
    see_head(w, m, lock, by);
}

void observer_queue_promoted(struct observer *w, struct model *m)
{
    for (size_t lock = 0; lock < w->sim->plan->lock_count; lock++) {
        struct observer_queue *q = &w->queues[lock];

        for (size_t i = 0; i < q->count; i++)
            q->places[i].is_inherited = true;
        q->head[0] = '\0';
        q->until_us = -1;
        if (plan_has_queue(w->sim->plan, (int64_t)lock))
            see_head(w, m, lock, HISTORY_BY_REPLICATION);
    }
}

void observer_places(struct observer *w, struct model *m)
{
    for (size_t lock = 0; lock < w->sim->plan->lock_count; lock++) {
        const struct observer_queue *q = &w->queues[lock];
        const char *name = plan_lock_name(w->sim->plan, (int64_t)lock);

        for (size_t i = 0; i < q->count; i++) {
            const char *field = q->places[i].field;
            int64_t until_us = until_of(
                w, m, name, (struct model_text){field, strlen(field)});

            write_line(w, lock, HISTORY_PLACE, HISTORY_NO_BY, field, until_us,
                       q->places[i].is_inherited ? "failover" : NULL);
        }
    }
}

int64_t observer_place_since(const struct observer *w, size_t lock, const char *uuid)
{
    const struct observer_queue *q = &w->queues[lock];

    for (size_t i = 0; i < q->count; i++)
        if (strncmp(q->places[i].field, uuid, strlen(uuid)) == 0)
            return q->places[i].since_us;
    return HISTORY_NEVER;
}

int64_t observer_places_until(const struct observer *w, struct model *m)
{
    int64_t last_us = 0;
    char key[PLAN_KEY_MAX];
    struct model_text member, score;

    for (size_t lock = 0; lock < w->sim->plan->lock_count; lock++) {
        const char *name = plan_lock_name(w->sim->plan, (int64_t)lock);
        size_t len = key_of(key, sizeof key, name, PLACES);

        for (size_t i = 0; model_at(m, 0, key, len, i, &member, &score); i++) {
            int64_t us = observer_true_us(w, (int64_t)(strtod(score.p, NULL) * 1000));

            last_us = us > last_us ? us : last_us;
        }
    }
    return last_us;
}

void observer_free(struct observer *w)
{
    for (size_t lock = 0; lock < PLAN_LOCKS_MAX; lock++)
        free(w->queues[lock].places), free(w->locks[lock].holds);
}
