/* Wakes waiters that the notification of a release does not reach.
 *
 * While a slot moves, a release may be sent by ASK to the target, the node that will serve
 * the slot. Its script publishes there, and a sharded message does not leave that node; but
 * waiters listen at the owner of the slot until the slot is handed over. So the notification
 * is also published at the owner.
 *
 * WAKE-1  The message is sent once, after the release, and no caller waits for the reply. A
 *         waiter that it does not reach polls (hf_wait_max_sleep_ms), as after a release by
 *         Redisson.
 * WAKE-2  At most one message for each lock is pending. */
/* Tests: tests/live/cluster/test_cluster_wait.c. */
#include "lock/record/wake_moved_slot.h"

#include <string.h>

#include "lock/record/op.h"
#include "lock/record/table.h"
#include "net/base/assert.h"
#include "net/base/moment.h"

static void on_published(struct hf_call *call, hf_status status,
                         struct hf_resp_value reply)
{
    struct hf_op *op = HF_OWNER_OF(call, struct hf_op, call);

    (void)reply; /* WAKE-1 */
    op->lock->has_pending_wake_message = false;
    hf_op_finish(op, status);
}

static struct hf_resp_arg notification_payload(struct hf_op *op)
{
    const char *text = op->lock->kind->notification_payload;

    if (text)
        return (struct hf_resp_arg){text, strlen(text)};
    return (struct hf_resp_arg){
        op->count_text, hf_resp_format_integer(op->count_text, op->wanted_hold_count)};
}

static void start_publishing(struct hf_op *op)
{
    struct hf_bytes channel = hf_lock_channel(op->lock, op->channel_text);
    struct hf_client *client = op->client;
    hf_status rc;

    op->argv[0] = (struct hf_resp_arg){"SPUBLISH", 8};
    op->argv[1] = (struct hf_resp_arg){channel.ptr, channel.len};
    op->argv[2] = notification_payload(op);
    op->call.argv = op->argv;
    op->call.argc = 3;
    op->call.slot = op->lock->slot;
    op->call.done = on_published;
    rc = hf_call_start_command(&op->call, client->loop, client->router,
                               hf_op_deadline(op));
    if (rc < 0)
        on_published(&op->call, rc, (struct hf_resp_value){0});
}

static const struct hf_verb verb = {
    .name = "wake waiters of", .start = start_publishing, .cancel = hf_op_finish};

static bool is_release_heard_at_other_node(const struct hf_op *released)
{
    return released->call.was_redirected_by_ask &&
           !released->lock->kind->has_server_queue &&
           !released->lock->kind->publishes_nothing &&
           hf_lock_is_sharded(released->lock);
}

void hf_wake_at_slot_owner(const struct hf_op *released)
{
    struct hf_lock *lock = released->lock;
    struct hf_op *op;

    HF_ASSERT(hf_loop_is_locked(released->client->loop));
    if (!is_release_heard_at_other_node(released) || lock->has_pending_wake_message ||
        lock->client->has_stopped_sending ||
        !(op = hf_op_new_background(lock, &verb, 0)))
        return;
    lock->has_pending_wake_message = true;
    op->wanted_hold_count = hf_max_ms(released->answer.number, 1); /* of permits */
    start_publishing(op);
}
