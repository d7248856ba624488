/* The records of holds: which call may act on a hold, what happens when its timer
 * fires, and which callback is called. lease.c decides. */
/* Tests: tests/live/lock/test_lock.c, tests/live/lock/test_lock_watchdog.c. */
#include "lock/record/hold.h"

#include <string.h>

#include "lock/record/hold_lookup.h"
#include "lock/record/log.h"
#include "lock/record/op.h"
#include "lock/record/orphan.h"
#include "lock/record/shrink.h"
#include "lock/record/table.h"
#include "net/base/assert.h"
#include "net/base/error.h"
#include "net/base/mem.h"

/* ---- the facts of hold.h ---- */

static bool is_in_list(const struct hf_list *node)
{
    return !hf_list_is_empty(node);
}

/* An idle hold is in no list of renewals. */
static bool are_renewal_lists_ok(const struct hf_hold *hold)
{
    const struct hf_hold_work *work = hold->work;

    if (!work)
        return true;
    if (work->lease.state == LEASE_LOST)
        return !is_in_list(&work->due_node) && !is_in_list(&work->unsure_node) && !hold->timer.link;
    return !is_in_list(&work->due_node) ||
           (work->lease.has_pending_renewal_or_look && !work->batch);
}

static bool hold_ok(const struct hf_hold *hold)
{
    return !hold->is_freed && hold->lock->refs > 0 && (!hold->work || hold->work->hold == hold) &&
           are_renewal_lists_ok(hold) &&
           (!hold->work || !hold->work->acting_op || hold->work->acting_op->hold == hold);
}

/* All that writes work->acting_op (HOLD-1). */
static void set_op_of_hold(struct hf_hold *hold, struct hf_op *op)
{
    HF_ASSERT(hf_loop_is_locked(hold->lock->client->loop));
    HF_ASSERT(!op || !hold->work->acting_op);
    hold->work->acting_op = op;
    if (op)
        op->hold = hold;
}

/* ---- memory ---- */

static bool needs_callbacks_record(const struct hf_op *op)
{
    const struct hf_kind *kind = op->lock->kind;

    return op->options.on_lost || op->options.on_renewed || kind->is_ownerless ||
           kind->steps[STEP_ACQUIRE].takes_retention;
}

/* Reserves space for the longest owner field. */
static size_t longest_key_size(const struct hf_lock *lock)
{
    return hf_hold_key_len(lock, HF_OWNER_TEXT_MAX);
}

static size_t extra_size_of_hold(const struct hf_lock *lock, bool has_callbacks)
{
    return longest_key_size(lock) + (has_callbacks ? sizeof(struct hf_hold_callbacks) : 0);
}

/* Which spare memory has exactly so much room; -1: none. */
static int spare_list_for_extra_size(size_t room)
{
    return room == 0 ? 0 : room == sizeof(struct hf_hold_callbacks) ? 1 : -1;
}

static struct hf_hold *allocate_hold(struct hf_client *client, size_t room)
{
    int spare = spare_list_for_extra_size(room);
    struct hf_hold *hold;

    if (spare < 0 || hf_list_is_empty(&client->spare_holds[spare]))
        return hf_mem_new(client->mem, sizeof *hold + room);
    hold = HF_OWNER_OF(client->spare_holds[spare].next, struct hf_hold, node);
    hf_list_remove(&hold->node);
    HF_ASSERT(client->spare_holds_count[spare] > 0);
    client->spare_holds_count[spare]--;
    memset(hold, 0, sizeof *hold + room);
    return hold;
}

static void free_hold_memory(struct hf_client *client, struct hf_hold *hold, size_t room)
{
    int spare = spare_list_for_extra_size(room);

    HF_ASSERT(!is_in_list(&hold->node) && !hold->timer.link);
    if (spare >= 0 && client->spare_holds_count[spare] < HOLDS_SPARE_MAX &&
        !client->is_closing) {
        hf_list_push(&client->spare_holds[spare], &hold->node);
        client->spare_holds_count[spare]++;
    } else {
        hf_mem_free(client->mem, hold, sizeof *hold + room);
    }
}

/* ---- new, free ---- */

static void on_hold_timer(struct hf_timer *timer);
static void run_on_lost_callback(struct hf_task *task);
static void run_on_renewed_callback(struct hf_task *task);

/* ORPHAN-5 */
static bool reserve_background_release(struct hf_hold *hold, const struct hf_lock *lock)
{
    if (!lock->kind->is_ownerless)
        return true;
    hf_hold_callbacks(hold)->background_release = hf_op_alloc(lock, longest_key_size(lock));
    return hf_hold_callbacks(hold)->background_release != NULL;
}

static struct hf_hold *allocate_hold_and_work(const struct hf_op *op)
{
    struct hf_client *client = op->client;
    size_t room = extra_size_of_hold(op->lock, needs_callbacks_record(op));
    struct hf_hold_work *work = hf_hold_take_work(client);
    struct hf_hold *hold = work ? allocate_hold(client, room) : NULL;

    if (work)
        hf_hold_init_work(hold, work);
    if (hold) {
        hf_list_init(&hold->node);
        hold->work = work;
        hold->has_callbacks = needs_callbacks_record(op);
        if (reserve_background_release(hold, op->lock))
            return hold;
        free_hold_memory(client, hold, room);
    }
    if (work)
        hf_hold_return_work(client, work);
    return NULL;
}

static void init_callbacks_record(struct hf_hold_callbacks *calls, const struct hf_op *op)
{
    if (!calls)
        return;
    calls->on_renewed = op->options.on_renewed;
    calls->on_lost = op->options.on_lost;
    calls->ctx = op->options.ctx;
    hf_task_init(&calls->lost_task, run_on_lost_callback);
    hf_task_init(&calls->renewed_task, run_on_renewed_callback);
}

struct hf_hold *hf_hold_new(struct hf_op *op)
{
    struct hf_client *client = op->client;
    struct hf_hold *hold = allocate_hold_and_work(op);
    uint64_t serial;

    if (!hold)
        return NULL;
    serial = ++client->last_serial % OWNER_SERIAL_MAX;
    hold->lock = op->lock;
    hold->owner = op->owner;
    hold->timer.fire = on_hold_timer;
    hold->serial_low = (uint32_t)serial;
    hold->serial_high = (uint8_t)(serial >> 32);
    init_callbacks_record(hf_hold_callbacks(hold), op);
    hf_lease_init(&hold->work->lease, client->watchdog_ms);
    hold->work->hold_field_len =
        (uint8_t)hf_owner_format(hold->work->hold_field, client->uuid, op->owner, serial,
                                 op->lock->kind->owner_suffix);
    hf_hold_put_key(hf_hold_key(hold), op->lock, hf_hold_field(hold));
    HF_ASSERT(hold->work->hold_field_len > 0 && hold->work->hold_field_len < HF_OWNER_TEXT_MAX);
    hf_lock_ref(op->lock);
    HF_ASSERT(hold_ok(hold));
    return hold;
}

void hf_hold_commit(struct hf_hold *hold)
{
    struct hf_client *client = hold->lock->client;

    HF_ASSERT(hf_loop_is_locked(hold->lock->client->loop));
    HF_ASSERT(client->provisional_holds_count >= hold->is_provisional);
    client->provisional_holds_count -= hold->is_provisional;
    hold->is_provisional = false;
    hf_client_note_idle(client);
}

void hf_hold_remove_callbacks(struct hf_lock *lock,
                              bool (*is_whose)(const struct hf_hold *, const void *whose),
                              const void *whose)
{
    for (struct hf_hold *hold = NULL; (hold = hf_hold_next(lock, hold));)
        if (is_whose(hold, whose)) {
            hf_hold_callbacks(hold)->on_lost = NULL;
            hf_hold_callbacks(hold)->on_renewed = NULL;
        }
}

bool hf_hold_has_on_lost(const struct hf_hold *hold,
                         void (*on_lost)(void *, struct hf_lock *, int64_t, enum hf_lost),
                         const void **ctx)
{
    const struct hf_hold_callbacks *calls = hf_hold_callbacks(hold);

    if (!calls || calls->on_lost != on_lost)
        return false;
    *ctx = calls->ctx;
    return true;
}

void hf_hold_free(struct hf_hold *hold)
{
    struct hf_client *client;

    if (!hold)
        return;
    client = hold->lock->client;
    HF_ASSERT(!hold->is_freed);
    hf_hold_commit(hold);
    hf_loop_disarm(client->loop, &hold->timer);
    if (hold->has_callbacks)
        hf_loop_unpost(client->loop, &hf_hold_callbacks(hold)->lost_task);
    hf_hold_stop_renewal(hold);
    hf_hold_remove(hold);
    if (hold->work && hold->work->batch)
        hold->is_freed = true;
    else
        hf_hold_free_memory(hold);
}

void hf_hold_finish_request(struct hf_op *op, hf_status status)
{
    HF_ASSERT(hf_loop_is_locked(op->client->loop));
    hf_hold_free(op->hold);
    op->hold = NULL;
    hf_op_finish(op, status);
}

void hf_hold_free_memory(struct hf_hold *hold)
{
    struct hf_lock *lock = hold->lock;
    struct hf_client *client = lock->client;
    struct hf_op **orphan = hf_hold_orphan_memory(hold);

    HF_ASSERT(hf_loop_is_locked(client->loop));
    HF_ASSERT(!is_in_list(&hold->node) && !hold->timer.link);
    HF_ASSERT(!hold->work || (!hold->work->batch && !is_in_list(&hold->work->due_node) &&
                              !is_in_list(&hold->work->unsure_node)));
    if (orphan && *orphan)
        hf_mem_free(client->mem, *orphan, (*orphan)->allocated_size);
    hf_hold_drop_work(hold);
    free_hold_memory(client, hold, extra_size_of_hold(lock, hold->has_callbacks));
    hf_lock_unref(lock);
}

static void free_spare_holds(struct hf_client *client, int spare, size_t room)
{
    struct hf_list *spares = &client->spare_holds[spare];

    while (!hf_list_is_empty(spares)) {
        struct hf_hold *hold = HF_OWNER_OF(spares->next, struct hf_hold, node);

        hf_list_remove(&hold->node);
        hf_mem_free(client->mem, hold, sizeof *hold + room);
    }
    HF_ASSERT(client->has_stopped_sending || client->ops_count == 0);
    client->spare_holds_count[spare] = 0;
}

void hf_hold_free_spare(struct hf_client *client)
{
    HF_ASSERT(hf_loop_is_locked(client->loop));
    free_spare_holds(client, 0, 0);
    free_spare_holds(client, 1, sizeof(struct hf_hold_callbacks));
    while (!hf_list_is_empty(&client->spare_works)) {
        struct hf_hold_work *work =
            HF_OWNER_OF(client->spare_works.next, struct hf_hold_work, shrink.idle_node);

        hf_list_remove(&work->shrink.idle_node);
        hf_mem_free(client->mem, work, sizeof *work);
    }
    client->spare_works_count = 0;
}

/* ---- which call may act ---- */

bool hf_hold_begin_op(struct hf_hold *hold, struct hf_op *op)
{
    HF_ASSERT(hf_loop_is_locked(hold->lock->client->loop));
    HF_ASSERT(hold_ok(hold) && !is_in_list(&op->queue_node));
    if (hold->work->acting_op) {
        hf_list_push(&hold->work->waiting_ops, &op->queue_node);
        return false;
    }
    set_op_of_hold(hold, op);
    return true;
}

/* RESERVED, or the hold was freed meanwhile. */
static void resume_op_on_hold(struct hf_timer *timer)
{
    struct hf_op *op = HF_OWNER_OF(timer, struct hf_op, timer);

    HF_ASSERT(!op->hold || op->hold->work->acting_op == op);
    if (op->hold)
        set_op_of_hold(op->hold, NULL);
    op->hold = NULL;
    op->verb->resume(op);
}

/* Starts the next operation from its timer. If it were started here, thousands of
 * operations that all fail at once would be nested on one stack. */
static struct hf_op *schedule_next_pending_op(struct hf_list *pending, struct hf_loop *loop)
{
    struct hf_op *op = HF_OWNER_OF(pending->next, struct hf_op, queue_node);

    HF_ASSERT(!op->hold && !op->call.is_under_way); /* HOLD-1: it has not started */
    hf_list_remove(&op->queue_node);
    hf_loop_disarm(loop, &op->timer);
    op->timer.fire = resume_op_on_hold;
    hf_loop_arm(loop, &op->timer, 0);
    return op;
}

void hf_hold_end_op(struct hf_hold *hold, bool is_gone)
{
    struct hf_client *client = hold->lock->client;
    struct hf_hold_work *work = hold->work;

    HF_ASSERT(hf_loop_is_locked(hold->lock->client->loop));
    HF_ASSERT(work->acting_op);
    set_op_of_hold(hold, NULL);
    HF_ASSERT(is_gone || work->lease.hold_count > 0);
    if (!is_gone) {
        hf_hold_shrink_later(hold);
        if (hf_list_is_empty(&work->waiting_ops))
            return;
        /* The hold is reserved, so that no new operation enters first. If this one is
         * cancelled before it starts, it leaves, and the one after it is woken. */
        set_op_of_hold(hold, schedule_next_pending_op(&work->waiting_ops, client->loop));
        HF_ASSERT(hold_ok(hold));
        return;
    }
    while (!hf_list_is_empty(&work->waiting_ops))
        (void)schedule_next_pending_op(&work->waiting_ops, client->loop);
    hf_tally_hold_removed(hold);
    hf_hold_free(hold);
}

void hf_hold_abandon_op(struct hf_hold *hold)
{
    struct hf_hold_work *work = hold->work;

    HF_ASSERT(hf_loop_is_locked(hold->lock->client->loop));
    set_op_of_hold(hold, NULL);
    if (!work->is_memory_of_release)
        return;
    while (!hf_list_is_empty(&work->waiting_ops))
        hf_list_remove(work->waiting_ops.next);
    (void)hf_hold_lose(hold, HF_REASON_CLOSED);
    hf_hold_shrink(hold);
    HF_ASSERT(!hold->work);
}

/* ---- renewal ---- */

static void queue_renewal_or_look(struct hf_hold *hold, bool is_look)
{
    struct hf_client *client = hold->lock->client;

    HF_ASSERT(!is_in_list(&hold->work->due_node) && !hold->work->batch);
    HF_ASSERT(hold->work->lease.has_pending_renewal_or_look &&
              hold->work->lease.state == LEASE_HELD);
    hold->work->is_due_for_look = is_look;
    hf_list_push(&client->due_holds, &hold->work->due_node);
    hf_loop_at_turn_end(client->loop, &client->turn_end_hook);
}

/* LEASE-6: a renewal replaces it. */
static void cancel_pending_look(struct hf_hold *hold)
{
    struct hf_hold_work *work = hold->work;

    hf_list_remove(&work->due_node);
    if (work->batch)
        hold->lock->client->leave_batch(work->batch, hold);
}

void hf_hold_stop_renewal(struct hf_hold *hold)
{
    struct hf_client *client = hold->lock->client;
    struct hf_hold_work *work = hold->work;

    HF_ASSERT(hf_loop_is_locked(hold->lock->client->loop));
    if (hold->has_callbacks)
        hf_loop_unpost(client->loop, &hf_hold_callbacks(hold)->renewed_task);
    if (!work)
        return;
    hf_list_remove(&work->due_node);
    hf_list_remove(&work->unsure_node);
    if (work->batch)
        client->leave_batch(work->batch, hold);
    HF_ASSERT(hold->work == work); /* a lease that is being renewed is not packed */
    work->lease.has_pending_renewal_or_look = false;
    HF_ASSERT(!is_in_list(&work->due_node) && !is_in_list(&work->unsure_node));
}

/* ---- time ---- */

static void log_or_post_loss(struct hf_hold *hold, bool was_releasing);

bool hf_hold_lose(struct hf_hold *hold, enum hf_lost reason)
{
    struct hf_lease copy, *lease = hf_hold_edit_lease(hold, &copy);
    bool was_releasing = lease->state == LEASE_RELEASING;

    HF_ASSERT(hf_loop_is_locked(hold->lock->client->loop));
    if (!hf_lease_lose(lease, reason))
        return false;
    hf_hold_store_lease(hold, lease);
    log_or_post_loss(hold, was_releasing);
    return true;
}

/* IDLE-3: a renewal without memory has failed, and is due again soon. */
static enum hf_lease_todo take_todo_without_memory(struct hf_hold *hold, int64_t now)
{
    struct hf_lease copy, *lease = hf_hold_edit_lease(hold, &copy);
    enum hf_lease_todo todo;

    hf_lease_note_sleep(lease, now);
    todo = hf_lease_take_todo(lease, now);
    if (todo == LEASE_DO_RENEW || todo == LEASE_DO_LOOK) {
        hf_lease_retry(lease, now, NULL);
        todo = LEASE_DO_NOTHING;
    }
    hf_hold_store_lease(hold, lease);
    return todo;
}

static enum hf_lease_todo take_lease_todo(struct hf_hold *hold, int64_t now)
{
    if (!hf_hold_ensure_work(hold))
        return take_todo_without_memory(hold, now);
    hf_lease_note_sleep(&hold->work->lease, now);
    return hf_lease_take_todo(&hold->work->lease, now);
}

static void on_hold_timer(struct hf_timer *timer)
{
    struct hf_hold *hold = HF_OWNER_OF(timer, struct hf_hold, timer);

    HF_ASSERT(hold_ok(hold));
    switch (take_lease_todo(hold, hf_loop_now(hold->lock->client->loop))) {
    case LEASE_DO_RENEW:
        cancel_pending_look(hold);
        queue_renewal_or_look(hold, false);
        break;
    case LEASE_DO_LOOK:
        queue_renewal_or_look(hold, true);
        break;
    case LEASE_DO_REPORT_LOST:
        hf_hold_report_lost(hold);
        break;
    case LEASE_DO_NOTHING:
        break;
    }
    hf_hold_rearm_timer(hold);
    if (hold->work)
        hf_hold_shrink_later(hold);
    HF_ASSERT(hold_ok(hold));
}

/* ---- telling ---- */

/* What the callbacks of a hold need: the hold may be freed while a callback runs. */
struct callback_data {
    struct hf_lock *lock;
    int64_t owner;
    struct hf_hold_callbacks callbacks;
    enum hf_lost reason;
    bool is_member;
    int64_t owner_lease_ms;
    size_t hold_field_len;
    char hold_field[HF_OWNER_TEXT_MAX];
};

static struct callback_data callback_data_of(const struct hf_hold *hold)
{
    struct hf_lease copy;
    const struct hf_lease *lease = hf_hold_lease(hold, &copy);
    struct callback_data data = {.lock = hold->lock, .owner = hold->owner,
                                 .reason = lease->loss_reason, .is_member = hold->is_member,
                                 .owner_lease_ms = lease->claims.owner_lease_ms};

    if (hold->has_callbacks)
        data.callbacks = *hf_hold_callbacks(hold);
    data.hold_field_len = hf_hold_put_field(hold, data.hold_field);
    return data;
}

static struct callback_data callback_data_of_record(struct hf_hold_callbacks *calls)
{
    return callback_data_of((struct hf_hold *)calls - 1);
}

/* Releases a hold whose max_hold_ms has passed, after on_lost has returned, except a member of a
 * set, which ends with its release or its TTL: another client's thread may be in on_lost. */
static void release_after_max_hold(const struct callback_data *data)
{
    if (data->reason == HF_REASON_MAX_HOLD && !data->is_member)
        hf_release_orphan(data->lock, (struct hf_bytes){data->hold_field, data->hold_field_len},
                          data->owner_lease_ms, 0, NULL);
}

static void run_on_lost_callback(struct hf_task *task)
{
    struct callback_data data = callback_data_of_record(HF_OWNER_OF(task, struct hf_hold_callbacks,
                                                                    lost_task));
    struct hf_loop *loop = data.lock->client->loop;

    hf_lock_ref(data.lock);
    HF_ASSERT(data.reason != 0); /* LEASE-4 */
    hf_loop_unlock(loop);
    data.callbacks.on_lost(data.callbacks.ctx, data.lock, data.owner, data.reason);
    hf_loop_lock(loop);
    release_after_max_hold(&data);
    hf_lock_unref(data.lock);
}

static void run_on_renewed_callback(struct hf_task *task)
{
    struct callback_data data = callback_data_of_record(HF_OWNER_OF(task, struct hf_hold_callbacks,
                                                                    renewed_task));
    struct hf_loop *loop = data.lock->client->loop;

    hf_lock_ref(data.lock);
    hf_loop_unlock(loop);
    data.callbacks.on_renewed(data.callbacks.ctx, data.lock, data.owner);
    hf_loop_lock(loop);
    hf_lock_unref(data.lock);
}

/* A hold that ends with its client is not lost yet: the server keeps it. */
static const char *text_of_hold_end(enum hf_lost reason, bool was_releasing)
{
    if (reason != HF_REASON_CLOSED)
        return "is lost: ";
    return was_releasing ? "may stay locked until its TTL expires: the client was closed before "
                           "the server replied to the release"
                         : "stays locked until its TTL expires: the client was closed before "
                           "the lock was released";
}

static void log_or_post_loss(struct hf_hold *hold, bool was_releasing)
{
    struct hf_client *client = hold->lock->client;
    struct hf_hold_callbacks *calls = hf_hold_callbacks(hold);
    struct callback_data data;
    char name[100];

    HF_ASSERT(hf_loop_is_locked(hold->lock->client->loop));
    HF_ASSERT(!hold->work || hold->work->lease.state == LEASE_LOST);
    hf_hold_stop_renewal(hold);
    hf_tally_lost(hold);
    hf_hold_rearm_timer(hold);
    HF_ASSERT(hold_ok(hold));
    if (calls && calls->on_lost) { /* before the server can grant it to another owner */
        hf_loop_post_first(client->loop, &calls->lost_task);
        return;
    }
    data = callback_data_of(hold);
    release_after_max_hold(&data);
    hf_client_log(client, HF_LOG_WARNING, "lock '%s' %s%s",
                  hf_error_quote(name, sizeof name, hold->lock->texts, hold->lock->name_len),
                  text_of_hold_end(data.reason, was_releasing),
                  data.reason == HF_REASON_CLOSED ? "" : hf_lost_text(data.reason));
}

void hf_hold_report_lost(struct hf_hold *hold)
{
    log_or_post_loss(hold, false);
}

void hf_hold_report_renewed(struct hf_hold *hold)
{
    struct hf_hold_callbacks *calls = hf_hold_callbacks(hold);

    HF_ASSERT(hf_loop_is_locked(hold->lock->client->loop));
    if (calls && calls->on_renewed)
        hf_loop_post(hold->lock->client->loop, &calls->renewed_task);
}
