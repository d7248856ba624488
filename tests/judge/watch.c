/* For which calls is a lock free, and what is overdue? Rules: properties.h: P2, P5,
 * P7. */
#include "tests/judge/watch.h"

#include "tests/judge/count.h"
#include "tests/judge/properties.h"

#define MS 1000

/* ---- P5: for which calls is their lock free? ---- */

static bool is_barred_by(const struct judge *j, const struct hold *hold,
                         const struct ask *ask)
{
    if (!state_held(j, hold))
        return false;
    return ask->class != CLASS_READ || hold->class != CLASS_READ ||
           text_is(hold->owner, ask->owner);
}

static bool is_behind_one_alone(const struct ask *ask)
{
    if (ask->class != CLASS_READ)
        return false;
    for (const struct ask *a = ask->lock_prev; a; a = a->lock_prev)
        if (a->client == ask->client && a->op == HISTORY_OP_ACQUIRE &&
            a->class != CLASS_READ)
            return true;
    return false;
}

/* Is a permit left? */
static bool is_permit_free(const struct judge *j, const struct lock *lock)
{
    int64_t left = state_permits(j, lock);

    for (const struct hold *hold = lock->holds; hold; hold = hold->next)
        left -= left > 0 && state_held(j, hold);
    return left > 0;
}

static bool is_free_for(const struct judge *j, const struct ask *ask)
{
    if (count_is_of(ask))
        return count_is_free(j, ask);
    if (ask->class == CLASS_PERMIT)
        return is_permit_free(j, ask->lock);
    if (ask->lock->barring && is_barred_by(j, ask->lock->barring, ask))
        return false;
    for (const struct hold *hold = ask->lock->holds; hold; hold = hold->next)
        if (is_barred_by(j, hold, ask)) {
            ask->lock->barring = hold;
            return false;
        }
    return !is_behind_one_alone(ask);
}

static int64_t or_else(int64_t ms, int64_t other_ms)
{
    return ms == HISTORY_NONE ? other_ms : ms;
}

int64_t watch_look_ms(const struct judge *j)
{
    return or_else(j->header.look_ms, j->header.wake_ms);
}

int64_t watch_settle_ms(const struct judge *j)
{
    return or_else(j->header.settle_ms, watch_look_ms(j));
}

static int64_t latest(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* From when on may the call have the lock, if nobody holds it? The first one in the
 * server's queue goes before it, as long as its place is honoured. */
static int64_t free_from(const struct judge *j, const struct ask *ask)
{
    const struct lock *lock = ask->lock;

    if (!ask->is_fair || lock->head.len == 0 || text_is(lock->head, ask->place) ||
        lock->head_until_us < j->now.us)
        return j->now.us;
    return lock->head_until_us;
}

/* Nobody is in the queue, where it stood: a release has nobody to tell. */
static bool has_lost_place(const struct ask *ask)
{
    return ask->is_fair && ask->queued.line && ask->lock->head.len == 0;
}

/* The lock is free from now on: by when must the call have been granted? A fault
 * that is over says nothing to a waiter that looks by itself. */
static int64_t free_due(const struct judge *j, const struct ask *ask,
                        int64_t bound_ms)
{
    int64_t from = free_from(j, ask);
    int64_t due = from + bound_ms * MS;
    struct moment went = state_client(j, ask->client)->went;
    int64_t last = latest(trouble_last(j, ask->client, ask->lock),
                          went.line ? went.us : NEVER_YET);
    int64_t settled =
        last == NEVER_YET ? NEVER_YET : last + watch_settle_ms(j) * MS;
    int64_t looked = ask->free_since.us + ask->free_bound_ms * MS;

    if (from > j->now.us || has_lost_place(ask)) /* no message tells it */
        due = latest(due, from + watch_look_ms(j) * MS);
    return latest(latest(settled, due), looked);
}

void watch_ask(struct judge *j, struct ask *ask, int64_t bound_ms,
               bool restarts)
{
    int64_t due;

    if (ask->op != HISTORY_OP_ACQUIRE || ask->wait_ms == 0)
        return;
    if (!is_free_for(j, ask) || free_from(j, ask) == HISTORY_NEVER) {
        ask->free_since.line = 0;
        ask->free_due_us = HISTORY_NEVER;
        return;
    }
    if (!ask->free_since.line) {
        ask->free_since = j->now;
        ask->free_since.us = free_from(j, ask);
        ask->free_bound_ms = bound_ms;
    } else if (!restarts && ask->free_due_us != HISTORY_NEVER) {
        return;
    }
    if (trouble_now(j, ask->client, ask->lock) ||
        state_client(j, ask->client)->is_suspended ||
        j->header.wake_ms == HISTORY_NONE) {
        ask->free_due_us = HISTORY_NEVER;
        return;
    }
    due = free_due(j, ask, bound_ms);
    if (ask->free_due_us == HISTORY_NEVER || due > ask->free_due_us)
        ask->free_due_us = due;
    state_due(j, ask->free_due_us);
}

void watch_lock(struct judge *j, struct lock *lock, int64_t bound_ms,
                bool restarts)
{
    for (struct ask *ask = lock->asks; ask; ask = ask->lock_next)
        watch_ask(j, ask, bound_ms, restarts);
}

void watch_all(struct judge *j, uint32_t client)
{
    for (struct ask *ask = j->asks; ask; ask = ask->next)
        if (ask->lock && (client == 0 || ask->client == client))
            watch_ask(j, ask, watch_settle_ms(j), true);
}

/* ---- what is overdue ---- */

static void ask_overdue(struct judge *j, struct ask *ask)
{
    if (state_client(j, ask->client)->is_suspended)
        return;
    if (j->now.us > ask->due_us) {
        p7_overdue(j, ask);
        ask->due_us = HISTORY_NEVER;
    }
    if (j->now.us > ask->free_due_us) {
        p5_overdue(j, ask);
        ask->free_due_us = HISTORY_NEVER;
        ask->wait_ms = 0;       /* said once */
    }
    state_due(j, ask->due_us);
    state_due(j, ask->free_due_us);
}

/* Tells what is overdue of a hold, or puts it off. */
static void hold_overdue(struct judge *j, struct hold *hold)
{
    if (state_client(j, hold->client)->is_suspended)
        return;
    while (hold->is_owed && j->now.us > hold->owed_due_us)
        p2_overdue(j, hold);
    if (hold->is_owed)
        state_due(j, hold->owed_due_us);
    else
        state_tidy(j, hold->lock);
}

void watch_time(struct judge *j)
{
    j->next_due_us = HISTORY_NEVER;
    for (struct ask *ask = j->asks; ask; ask = ask->next)
        ask_overdue(j, ask);
    for (struct hold *hold = j->owed, *next; hold; hold = next) {
        next = hold->owed_next;
        hold_overdue(j, hold);
    }
}
