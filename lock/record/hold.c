/* The records of holds: which call may act on a hold, what happens when its timer
 * fires, and which callback is called. lease.c decides. */
/* Tests: tests/live/lock/test_lock.c, tests/live/lock/test_lock_watchdog.c. */
#include "lock/record/hold.h"

#include <string.h>

#include "lock/record/hold_lookup.h"
#include "lock/record/log.h"
#include "lock/record/op.h"
#include "lock/record/orphan.h"
#include "lock/record/table.h"
#include "net/base/error.h"
#include "net/base/mem.h"

/* ---- new, free ---- */

/* Reserves space for the longest owner field. */
static size_t key_room(const struct hf_lock *lock)
{
    return hf_hold_key_len(lock, HF_OWNER_TEXT_MAX);
}

/* Spare ones have no room for a key. */
static struct hf_hold *take_memory(struct hf_client *client, size_t room)
{
    struct hf_hold *hold;

    if (room > 0 || hf_list_is_empty(&client->spare_holds))
        return hf_mem_new(client->mem, sizeof *hold + room);
    hold = HF_OWNER_OF(client->spare_holds.next, struct hf_hold, node);
    hf_list_remove(&hold->node);
    client->spare_holds_count--;
    memset(hold, 0, offsetof(struct hf_hold, lease));
    return hold;
}

static void on_time(struct hf_timer *timer);
static void run_lost(struct hf_task *task);
static void run_renewed(struct hf_task *task);

/* ORPHAN-5 */
static struct hf_hold *take_all_memory(const struct hf_lock *lock)
{
    size_t room = key_room(lock);
    struct hf_hold *hold = take_memory(lock->client, room);

    if (!hold || !lock->kind->is_ownerless ||
        (hold->orphan = hf_op_memory(lock, room)))
        return hold;
    hf_mem_free(lock->client->mem, hold, sizeof *hold + room);
    return NULL;
}

struct hf_hold *hf_hold_new(struct hf_op *op)
{
    struct hf_client *client = op->client;
    struct hf_hold *hold = take_all_memory(op->lock);

    if (!hold)
        return NULL;
    hold->lock = op->lock;
    hold->owner = op->owner;
    hold->timer.fire = on_time;
    hold->on_renewed = op->options.on_renewed;
    hold->on_lost = op->options.on_lost;
    hold->ctx = op->options.ctx;
    hf_list_init(&hold->node);
    hf_list_init(&hold->due_node);
    hf_list_init(&hold->unsure_node);
    hf_list_init(&hold->pending);
    hf_task_init(&hold->lost_task, run_lost);
    hf_task_init(&hold->renewed_task, run_renewed);
    hf_lease_init(&hold->lease, client->watchdog_ms);
    hold->is_free = false;
    hold->text_len = (uint8_t)hf_owner_format(hold->text, client->uuid,
                                               op->owner, ++client->serial,
                                               op->lock->kind->owner_suffix);
    hf_hold_put_key(hold->key, op->lock, hf_hold_text(hold));
    hf_lock_ref(op->lock);
    return hold;
}

void hf_hold_commit(struct hf_hold *hold)
{
    struct hf_client *client = hold->lock->client;

    client->provisional_holds -= hold->is_open;
    hold->is_open = false;
    hf_client_note_quiet(client);
}

void hf_hold_silence(struct hf_lock *lock,
                     bool (*is_whose)(const struct hf_hold *, const void *whose),
                     const void *whose)
{
    for (struct hf_list *l = lock->holds.next; l != &lock->holds; l = l->next) {
        struct hf_hold *hold = HF_OWNER_OF(l, struct hf_hold, node);

        if (is_whose(hold, whose)) {
            hold->on_lost = NULL;
            hold->on_renewed = NULL;
        }
    }
}

void hf_hold_free(struct hf_hold *hold)
{
    struct hf_client *client;

    if (!hold)
        return;
    client = hold->lock->client;
    hf_hold_commit(hold);
    hf_loop_disarm(client->loop, &hold->timer);
    hf_loop_unpost(client->loop, &hold->lost_task);
    hf_hold_stop_renewal(hold);
    hf_hold_remove(hold);
    if (hold->batch)
        hold->is_free = true;
    else
        hf_hold_drop(hold);
}

void hf_hold_finish_request(struct hf_op *op, hf_status status)
{
    hf_hold_free(op->hold);
    op->hold = NULL;
    hf_op_finish(op, status);
}

void hf_hold_drop(struct hf_hold *hold)
{
    struct hf_client *client = hold->lock->client;
    size_t room = key_room(hold->lock);

    if (hold->orphan)
        hf_mem_free(client->mem, hold->orphan, hold->orphan->size);
    hf_lock_unref(hold->lock);
    if (room == 0 && client->spare_holds_count < HOLDS_SPARE_MAX &&
        !client->is_closing) {
        hf_list_push(&client->spare_holds, &hold->node);
        client->spare_holds_count++;
    } else {
        hf_mem_free(client->mem, hold, sizeof *hold + room);
    }
}

/* ---- which call may act ---- */

bool hf_hold_begin_op(struct hf_hold *hold, struct hf_op *op)
{
    if (hold->op) {
        hf_list_push(&hold->pending, &op->line_node);
        return false;
    }
    hold->op = op;
    op->hold = hold;
    return true;
}

/* A hold serves one operation at a time; the others wait in hold->pending:
 *
 *   hf_hold_begin_op(hold, a)   hold->op = a           a runs
 *   hf_hold_begin_op(hold, b)   b in hold->pending     b waits
 *   hf_hold_end_op(hold)      hold->op = b           reserved for b, whose timer is armed,
 *                            b->op.hold = hold      so that no new operation enters first
 *   resume(b)                hold->op = NULL        b starts again, and enters the hold
 */
static void resume(struct hf_timer *timer)
{
    struct hf_op *op = HF_OWNER_OF(timer, struct hf_op, timer);

    if (op->hold)
        op->hold->op = NULL; /* it was reserved for this operation */
    op->hold = NULL;
    op->verb->resume(op);
}

/* Starts the next operation from its timer. If it were started here, thousands of
 * operations that all fail at once would be nested on one stack. */
static struct hf_op *wake_one(struct hf_list *pending, struct hf_loop *loop)
{
    struct hf_op *op = HF_OWNER_OF(pending->next, struct hf_op, line_node);

    hf_list_remove(&op->line_node);
    hf_loop_disarm(loop, &op->timer);
    op->timer.fire = resume;
    hf_loop_arm(loop, &op->timer, 0);
    return op;
}

void hf_hold_end_op(struct hf_hold *hold, bool is_gone)
{
    struct hf_client *client = hold->lock->client;

    hold->op = NULL;
    if (!is_gone) {
        if (hf_list_is_empty(&hold->pending))
            return;
        /* The hold belongs to the next operation from here on. If that is cancelled
         * before it starts, it leaves, and the one after it is woken. */
        hold->op = wake_one(&hold->pending, client->loop);
        hold->op->hold = hold;
        return;
    }
    while (!hf_list_is_empty(&hold->pending))
        (void)wake_one(&hold->pending, client->loop);
    client->holds--;
    hf_hold_free(hold);
}

/* ---- renewal ---- */

/* Or a look. */
static void ask_renewal(struct hf_hold *hold, bool is_look)
{
    struct hf_client *client = hold->lock->client;

    hold->is_looked_at = is_look;
    hf_list_push(&client->due_holds, &hold->due_node);
    hf_loop_at_turn_end(client->loop, &client->turn);
}

void hf_hold_stop_renewal(struct hf_hold *hold)
{
    hf_list_remove(&hold->due_node);
    hf_list_remove(&hold->unsure_node);
    if (hold->batch)
        hold->lock->client->leave_batch(hold->batch, hold);
    hf_loop_unpost(hold->lock->client->loop, &hold->renewed_task);
    hold->lease.is_renewing = false;
}

/* ---- time ---- */

void hf_hold_rearm(struct hf_hold *hold)
{
    struct hf_loop *loop = hold->lock->client->loop;
    int64_t next = hf_lease_next_ms(&hold->lease);

    if (next == HF_NEVER)
        hf_loop_disarm(loop, &hold->timer);
    else
        hf_loop_arm(loop, &hold->timer, next);
}

static void on_time(struct hf_timer *timer)
{
    struct hf_hold *hold = HF_OWNER_OF(timer, struct hf_hold, timer);
    int64_t now = hf_loop_now(hold->lock->client->loop);

    hf_lease_note_sleep(&hold->lease, now);
    switch (hf_lease_due(&hold->lease, now)) {
    case LEASE_DO_RENEW:
        ask_renewal(hold, false);
        break;
    case LEASE_DO_LOOK:
        ask_renewal(hold, true);
        break;
    case LEASE_DO_TELL_LOST:
        hf_hold_tell_lost(hold);
        break;
    case LEASE_DO_NOTHING:
        break;
    }
    hf_hold_rearm(hold);
}

/* ---- telling ---- */

/* Releases a hold whose max_hold_ms has passed, after on_lost has returned. A member of a
 * multi-lock or quorum is not released, because the thread of another client may still be
 * in on_lost; that hold ends with the release, or by its TTL. */
static void let_go(const struct hf_hold *hold)
{
    if (hold->lease.reason == HF_REASON_MAX_HOLD && !hold->is_member)
        hf_release_orphan(hold->lock, hf_hold_text(hold),
                          hold->lease.claims.set_ms, 0, NULL);
}

/* Here and in run_renewed the hold is copied, because it may be released, and freed, while
 * the callback runs. */
static void run_lost(struct hf_task *task)
{
    struct hf_hold *hold = HF_OWNER_OF(task, struct hf_hold, lost_task);
    struct hf_hold copy = *hold;
    struct hf_loop *loop = copy.lock->client->loop;

    hf_lock_ref(copy.lock);
    hf_loop_unlock(loop);
    copy.on_lost(copy.ctx, copy.lock, copy.owner, copy.lease.reason);
    hf_loop_lock(loop);
    let_go(&copy);
    hf_lock_unref(copy.lock);
}

static void run_renewed(struct hf_task *task)
{
    struct hf_hold *hold = HF_OWNER_OF(task, struct hf_hold, renewed_task);
    struct hf_hold copy = *hold;
    struct hf_loop *loop = copy.lock->client->loop;

    hf_lock_ref(copy.lock);
    hf_loop_unlock(loop);
    copy.on_renewed(copy.ctx, copy.lock, copy.owner);
    hf_loop_lock(loop);
    hf_lock_unref(copy.lock);
}

void hf_hold_tell_lost(struct hf_hold *hold)
{
    struct hf_client *client = hold->lock->client;
    char name[100];

    hf_hold_stop_renewal(hold);
    hf_hold_rearm(hold);
    if (hold->on_lost) { /* its owner must hear before the server lets go */
        hf_loop_post_first(client->loop, &hold->lost_task);
        return;
    }
    let_go(hold);
    hf_client_log(client, HF_LOG_WARNING, "lock '%s' is lost: %s",
                  hf_error_quote(name, sizeof name, hold->lock->text,
                                 hold->lock->name_len),
                  hf_lost_text(hold->lease.reason));
}

void hf_hold_tell_renewed(struct hf_hold *hold)
{
    if (hold->on_renewed)
        hf_loop_post(hold->lock->client->loop, &hold->renewed_task);
}
