/* The queues of fair locks, and what is wrong with them: properties.h, P5b, P6c. */
#include "tests/judge/queue.h"

#include <string.h>

#include "tests/judge/cause.h"
#include "tests/judge/count.h"
#include "tests/judge/properties.h"
#include "tests/judge/violation.h"
#include "tests/judge/watch.h"

#define MS 1000

/* ---- lines ---- */

void on_wait(struct judge *j, const struct history_event *e)
{
    struct ask *ask = state_ask(j, e->source.number, e->call);

    if (!ask || !ask->lock)
        return;
    if (count_is_named(ask)) {
        count_asked(ask, e->hold);
        return;
    }
    text_set(&ask->place, e->hold);
    ask->queued.line = 0;
    ask->has_had_turn = false;
}

/* The first time counts: who loses its place must not lose its turn. A former master's
 * queue is not that of the server that decides. A place that moved with its slot is not new. */
void on_queued(struct judge *j, const struct history_event *e)
{
    struct lock *lock = state_lock(j, e->lock, true);

    if (!state_decides(j, e->source.number))
        return;
    for (struct ask *ask = lock->asks; ask; ask = ask->lock_next)
        if (text_is(ask->place, e->hold) &&
            (!ask->queued.line ||
             (ask->has_had_turn && e->by != HISTORY_BY_REPLICATION))) {
            ask->queued = j->now;
            ask->has_had_turn = false;
        }
}

void queue_freed(const struct hold *hold)
{
    for (struct ask *ask = hold->lock->asks; ask; ask = ask->lock_next)
        if (text_is(ask->owner, hold->owner))
            ask->has_had_turn = true;
}

/* It is another's turn now; or the first one is honoured for longer, or not so
 * long: that is nothing to itself. */
static void watch_head(struct judge *j, struct lock *lock, bool is_another,
                       int64_t bound_ms)
{
    for (struct ask *ask = lock->asks; ask; ask = ask->lock_next) {
        if (!ask->is_fair || (!is_another && text_is(ask->place, lock->head)))
            continue;
        ask->free_since.line = 0;
        ask->free_due_us = HISTORY_NEVER;
        watch_ask(j, ask, bound_ms, true);
    }
}

/* One that says that nobody is there counts only if it has said who was: the other
 * one may have got the queue meanwhile. */
void on_head(struct judge *j, const struct history_event *e)
{
    struct lock *lock = state_lock(j, e->lock, true);
    bool is_another = !text_is(lock->head, e->hold);

    text_set(&state_head(lock, e->source.number)->hold, e->hold);
    cause_looks(j, lock);
    if (!state_decides(j, e->source.number) ||
        (e->hold.len == 0 && lock->head_server != e->source.number))
        return;
    text_set(&lock->head, e->hold);
    lock->head_until_us = e->hold.len > 0 ? e->until_us : 0;
    lock->head_server = e->source.number;
    watch_head(j, lock, is_another,
               e->by == HISTORY_BY_RELEASE ? j->header.wake_ms
                                           : watch_look_ms(j));
    state_tidy(j, lock);
}

/* ---- P5b: in the order in which they came ---- */

static struct ask *ask_of(const struct hold *hold)
{
    for (struct ask *ask = hold->lock->asks; ask; ask = ask->lock_next)
        if (ask->is_fair && ask->place.len > 0 && text_is(ask->place, hold->name))
            return ask;
    return NULL;
}

/* May it have lost its place? */
static bool is_disturbed(const struct judge *j, const struct ask *ask)
{
    const struct party *client = state_client(j, ask->client);
    int64_t since_us;

    if (j->header.wake_ms == HISTORY_NONE)
        return true;
    since_us = ask->queued.us - watch_settle_ms(j) * MS;
    return ask->clock.line || client->is_suspended ||
           (client->went.line && client->went.us >= since_us) ||
           trouble_now(j, ask->client, ask->lock) ||
           trouble_last(j, ask->client, ask->lock) >= since_us;
}

/* Its owner has been told of another grant since it began, so the call becomes a re-entry and
 * gives up its place. If that hold is lost or released, it gets a new place after the release. */
static bool is_reentry(const struct ask *ask)
{
    for (const struct hold *hold = ask->lock->holds; hold; hold = hold->next)
        if (text_is(hold->owner, ask->owner) && hold->acquired.line > ask->asked.line &&
            (hold->tally > 0 || hold->releasing > 0))
            return true;
    return false;
}

static bool came_before(const struct judge *j, const struct ask *ask,
                        const struct ask *granted)
{
    return ask->is_fair && ask->op == HISTORY_OP_ACQUIRE && ask->wait_ms != 0 &&
           ask->queued.line && !ask->has_had_turn &&
           (!granted->queued.line || ask->queued.line < granted->queued.line) &&
           !text_is(ask->owner, granted->owner) && !is_reentry(ask) && !is_disturbed(j, ask);
}

void p5_in_order(struct judge *j, struct hold *hold)
{
    struct ask *granted = ask_of(hold);
    bool decides = state_decides(j, hold->last_server);
    const struct ask *ask = granted && decides ? hold->lock->asks : NULL;
    struct judge_violation *v;

    while (ask && !came_before(j, ask, granted))
        ask = ask->lock_next;
    if (ask) {
        v = violate(j, 5, j->now.us);
        say(v, "lock %s is granted to %s, before ", word(hold->lock->name),
            word(hold->owner));
        say(v, "%s, which stands in the queue for it since %s", word(ask->owner),
            when(ask->queued.us));
        show(v, ask->asked);
        show(v, ask->queued);
        show(v, j->now);
    }
    if (granted) /* it has had its turn */
        granted->has_had_turn = true;
}

/* ---- P6c: who waits no more ---- */

static bool is_of_a_client(const struct judge *j, struct history_text hold)
{
    for (uint32_t i = 0; i < j->clients_room; i++) {
        size_t len = strlen(j->clients[i].id);

        if (len > 0 && hold.len > len &&
            memcmp(hold.at, j->clients[i].id, len) == 0)
            return true;
    }
    return false;
}

void on_place(struct judge *j, const struct history_event *e)
{
    struct judge_violation *v;

    if (e->may.at || !is_of_a_client(j, e->hold))
        return;
    v = violate(j, 6, j->now.us);
    say(v, "all is quiet, and %s stands in the queue for lock %s until %s",
        word(e->owner), word(e->lock), when(e->until_us));
    show(v, j->quiet);
    show(v, j->now);
}
