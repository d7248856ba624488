/* Counts the listeners of a lock's channel, so that a crowd spreads the requests that a push
 * causes. The rule is PUSHED-5, in channel.h. At most one request for each lock is pending. */
/* Tests: tests/sim/test_crowd.c, tests/live/lock/test_push_waiters.c, tests/test_lock_wait.c. */
#include "lock/record/listeners.h"

#include "lock/record/op.h"
#include "lock/record/table.h"
#include "lock/record/wait_queue.h"
#include "net/base/assert.h"
#include "net/route/refusal.h"

/* The reply is the channel and the number; -1: it is an error, or another value. */
static int64_t number_in(struct hf_resp_value reply)
{
    struct hf_resp_value element;
    int64_t number;

    if (hf_resp_type(reply) != HF_RESP_ARRAY || hf_resp_element(reply, 1, &element) < 0 ||
        hf_resp_integer(element, &number) < 0)
        return -1;
    return number;
}

static void take(struct hf_channel *channel, int64_t now_ms, struct hf_resp_value reply)
{
    int64_t number = number_in(reply);

    if (number >= 0)
        hf_channel_listeners_counted(channel, now_ms, number);
    else
        hf_channel_listeners_not_counted(
            channel, now_ms, hf_refusal_is_by_acl(reply) || hf_refusal_is_unknown(reply));
}

/* The queue may have been freed, and may be another one. */
static void on_counted(struct hf_call *call, hf_status status, struct hf_resp_value reply)
{
    struct hf_op *op = HF_OWNER_OF(call, struct hf_op, call);
    struct hf_lock *lock = op->lock;

    lock->is_counting = false;
    if (status == HF_OK && lock->line)
        take(&lock->line->channel, hf_loop_now(op->client->loop), reply);
    hf_op_finish(op, status);
}

static void cancel(struct hf_op *op, hf_status status)
{
    op->lock->is_counting = false;
    hf_op_finish(op, status);
}

static const struct hf_verb verb = {.name = "count listeners of", .cancel = cancel};

static void request(struct hf_op *op)
{
    struct hf_bytes channel = hf_lock_channel(op->lock, op->channel_text);
    struct hf_client *client = op->client;
    hf_status rc;

    op->argv[0] = (struct hf_resp_arg){"PUBSUB", 6};
    op->argv[1] = hf_lock_is_sharded(op->lock) ? (struct hf_resp_arg){"SHARDNUMSUB", 11}
                                               : (struct hf_resp_arg){"NUMSUB", 6};
    op->argv[2] = (struct hf_resp_arg){channel.ptr, channel.len};
    op->call.argv = op->argv;
    op->call.argc = 3;
    op->call.slot = op->lock->slot;
    op->call.done = on_counted;
    rc = hf_call_start_command(&op->call, client->loop, client->router, hf_op_deadline(op));
    if (rc < 0)
        on_counted(&op->call, rc, (struct hf_resp_value){0});
}

static bool is_due(const struct hf_op *acquire)
{
    const struct hf_wait_queue *line = acquire->queue;

    return line->is_listening && !acquire->lock->is_counting && !acquire->client->is_over &&
           hf_wait_queue_may_be_tracked(acquire) &&
           hf_channel_must_count_listeners(&line->channel, hf_loop_now(acquire->client->loop));
}

void hf_listeners_count(const struct hf_op *acquire)
{
    struct hf_op *op;

    HF_ASSERT(hf_loop_is_locked(acquire->client->loop) && acquire->queue);
    if (!is_due(acquire) || !(op = hf_op_new_background(acquire->lock, &verb, 0)))
        return;
    acquire->lock->is_counting = true;
    request(op);
}
