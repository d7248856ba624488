/* Counts the listeners of a lock's channel, so that a crowd spreads its requests, and few that wait
 * among many listeners do not. The rules are TURN-3 and PUSHED-5, in channel.h. At most one request
 * for each lock is pending. */
/* Tests: tests/sim/test_crowd.c, tests/live/lock/test_push_waiters.c, tests/test_lock_wait.c. */
#include "lock/record/listeners.h"

#include "lock/record/op.h"
#include "lock/record/registration.h"
#include "lock/record/table.h"
#include "lock/record/wait_queue.h"
#include "net/base/assert.h"
#include "net/route/refusal.h"

/* The reply is each channel and its number; -1: it is an error, or another value. */
static int64_t listener_count_in_reply(struct hf_resp_value reply, size_t index)
{
    struct hf_resp_value element;
    int64_t number;

    if (hf_resp_type(reply) != HF_RESP_ARRAY ||
        hf_resp_element(reply, 2 * index + 1, &element) < 0 ||
        hf_resp_integer(element, &number) < 0)
        return -1;
    return number;
}

static void read_listeners_reply(struct hf_client *client, struct hf_channel *channel,
                                 struct hf_resp_value reply)
{
    bool is_denied = hf_refusal_is_by_acl(reply) || hf_refusal_is_unknown(reply);
    int64_t all = listener_count_in_reply(reply, 0), now_ms = hf_loop_now(client->loop);

    if (is_denied)
        client->listeners_count_from_ms = now_ms + LISTENERS_DENIED_MS;
    if (all >= 0)
        hf_channel_listeners_counted(channel, now_ms, all, listener_count_in_reply(reply, 1));
    else
        hf_channel_listeners_not_counted(channel, now_ms, is_denied);
}

/* The queue may have been freed, and may be another one. */
static void on_listeners_counted(struct hf_call *call, hf_status status, struct hf_resp_value reply)
{
    struct hf_op *op = HF_OWNER_OF(call, struct hf_op, call);
    struct hf_lock *lock = op->lock;

    lock->has_pending_listener_count = false;
    if (status == HF_OK && lock->wait_queue) {
        read_listeners_reply(op->client, &lock->wait_queue->channel, reply);
        hf_registration_begin(lock->wait_queue, lock);
    }
    hf_op_finish(op, status);
}

static void cancel_counting_listeners(struct hf_op *op, hf_status status)
{
    op->lock->has_pending_listener_count = false;
    hf_op_finish(op, status);
}

static const struct hf_verb verb = {.name = "count listeners of",
                                    .cancel = cancel_counting_listeners};

/* The second name follows the operation in memory. */
static size_t put_second_channel_name(struct hf_op *op, struct hf_bytes channel)
{
    char *text = (char *)(op + 1);

    if (!hf_kind_has_waiters_channel(op->lock->kind))
        return 0;
    op->argv[3] = (struct hf_resp_arg){text, hf_registration_channel(text, channel)};
    return 1;
}

static void request_listener_count(struct hf_op *op)
{
    struct hf_bytes channel = hf_lock_channel(op->lock, op->channel_text);
    struct hf_client *client = op->client;
    hf_status rc;

    op->argv[0] = (struct hf_resp_arg){"PUBSUB", 6};
    op->argv[1] = hf_lock_is_sharded(op->lock) ? (struct hf_resp_arg){"SHARDNUMSUB", 11}
                                               : (struct hf_resp_arg){"NUMSUB", 6};
    op->argv[2] = (struct hf_resp_arg){channel.ptr, channel.len};
    op->call.argv = op->argv;
    op->call.argc = 3 + put_second_channel_name(op, channel);
    op->call.slot = op->lock->slot;
    op->call.done = on_listeners_counted;
    rc = hf_call_start_command(&op->call, client->loop, client->router, hf_op_deadline(op));
    if (rc < 0)
        on_listeners_counted(&op->call, rc, (struct hf_resp_value){0});
}

/* PUSHED-5: a waiter that is not tracked counts in order to know whether it must register. */
static bool may_count_listeners(const struct hf_op *acquire)
{
    const struct hf_channel *channel = &acquire->queue->channel;

    return hf_wait_queue_may_be_tracked(acquire) ||
           (hf_wait_queue_first(acquire->queue) == acquire && channel->is_live &&
            !channel->is_registered && hf_kind_has_waiters_channel(acquire->lock->kind));
}

static bool is_count_due(const struct hf_op *acquire)
{
    const struct hf_wait_queue *line = acquire->queue;
    int64_t now_ms = hf_loop_now(acquire->client->loop);

    HF_ASSERT(hf_loop_is_locked(acquire->client->loop));
    return line->is_listening && !acquire->lock->has_pending_listener_count &&
           !acquire->client->has_stopped_sending && may_count_listeners(acquire) &&
           now_ms >= acquire->client->listeners_count_from_ms &&
           hf_channel_must_count_listeners(&line->channel, now_ms);
}

void hf_listeners_request_count(const struct hf_op *acquire)
{
    struct hf_op *op;

    if (!is_count_due(acquire) ||
        !(op = hf_op_new_background(acquire->lock, &verb,
                                    acquire->queue->channel_name_len + REGISTRATION_EXTRA)))
        return;
    acquire->lock->has_pending_listener_count = true;
    request_listener_count(op);
}
