/* What a script is called with: its keys, then its arguments, front to back.
 * Each script says in its head which arguments it takes. */
/* Tests: tests/live/lock/test_lock.c, tests/live/kind/test_lock_fair.c. */
#include "lock/record/args.h"

#include <string.h>

#include "lock/record/hold_lookup.h"
#include "lock/record/hold_work.h"
#include "lock/record/table.h"
#include "net/base/assert.h"
#include "net/base/moment.h"

/* The arguments of each step beside keys and channel. */
static const struct {
    bool count;                 /* the hold count to reach, and the lease */
    bool ttl;                   /* of what is created */
    bool holder;                /* the owner to look for */
    bool first;                 /* the index of the first place */
    bool publish;               /* how to wake waiters */
} takes[STEP_COUNT] = {
    [STEP_ACQUIRE] = {.count = true},
    [STEP_RELEASE] = {.count = true, .publish = true},
    [STEP_EXTEND] = {.count = true},
    [STEP_FORCE_RELEASE] = {.holder = true, .publish = true},
    [STEP_INSPECT] = {.holder = true},
    [STEP_COUNTER_ADD] = {.count = true, .publish = true},
    [STEP_COUNTER_ADD_EXISTING] = {.count = true, .publish = true},
    [STEP_COUNTER_REDUCE] = {.count = true},
    [STEP_COUNTER_SET] = {.count = true, .ttl = true, .publish = true},
    [STEP_COUNTER_RESIZE] = {.count = true, .publish = true},
    [STEP_COUNTER_DELETE] = {.count = true, .publish = true},
    [STEP_COUNTER_READ] = {.holder = true},
    [STEP_RAISE_TOKEN] = {.count = true},
    [STEP_DROP_PLACES] = {.holder = true, .first = true, .publish = true},
};

static struct hf_resp_arg *put_arg(struct hf_resp_arg *at, const char *ptr,
                                   size_t len)
{
    *at = (struct hf_resp_arg){ptr, len};
    return at + 1;
}

static struct hf_resp_arg *put_integer_arg(struct hf_resp_arg *at, char *text,
                                           int64_t value)
{
    return put_arg(at, text, hf_resp_format_integer(text, value));
}

/* In a cluster a script with several keys is refused (TRYAGAIN) while their slot is on the
 * move and the node has some of them. A key that is only read is derived there. */
static bool leaves_out_keys(const struct hf_lock *lock, const struct hf_kind_step *how)
{
    return how->only_reads_keys && hf_router_is_cluster(lock->client->router);
}

static struct hf_resp_arg *put_key_args(struct hf_resp_arg *at,
                                        struct hf_op *op,
                                        const struct hf_kind_step *how)
{
    const struct hf_lock *lock = op->lock;
    size_t end = (size_t)how->first_key + how->keys_count;
    const char *key = end > 0 ? hf_lock_keys(lock, op->keys_text) : NULL;

    if (!how->is_without_name)
        at = put_arg(at, lock->texts, lock->name_len);
    for (size_t i = 0; i < end; i++) {
        size_t len =
            hf_key_size(lock->kind->key_names[i], lock->texts, lock->name_len);

        if (i >= how->first_key && !leaves_out_keys(lock, how))
            at = put_arg(at, key, len);
        key += len;
    }
    return at;
}

static struct hf_resp_arg *put_hold_key(struct hf_resp_arg *at,
                                        const struct hf_op *op,
                                        size_t owner_len)
{
    return put_arg(at, op->hold ? hf_hold_key(op->hold) : hf_op_orphan_key(op),
                   hf_hold_key_len(op->lock, owner_len));
}

/* Copies the text, because that hold may be released while the request is pending. */
static struct hf_resp_arg *put_joined_hold_field(struct hf_resp_arg *at, struct hf_op *op)
{
    const struct hf_hold *joined = hf_hold_to_join(op->lock, op->owner);

    op->joined_len = joined ? hf_hold_put_field(joined, op->text.joined) : 0;
    return put_arg(at, op->text.joined, op->joined_len);
}

/* PUBLISH or SPUBLISH, the channel and, for sharded=both, the other command.
 * Source: WIRE 5.1. */
static struct hf_resp_arg *put_publish_args(struct hf_resp_arg *at, struct hf_op *op)
{
    const struct hf_lock *lock = op->lock;
    bool is_sharded = hf_lock_is_sharded(lock);
    struct hf_bytes channel = hf_lock_channel(lock, op->channel_text);

    at = is_sharded ? put_arg(at, "SPUBLISH", 8) : put_arg(at, "PUBLISH", 7);
    at = put_arg(at, channel.ptr, channel.len);
    if (is_sharded && hf_router_also_uses_plain_channels(lock->client->router))
        at = put_arg(at, "PUBLISH", 7);
    return at;
}

/* FAIR-3. The connections are replaced after a sixth of the watchdog timeout, or a quarter of the
 * request timeout if that is shorter (client.c). Half a silence more is for the round trips. */
static int64_t silence_floor_ms(const struct hf_op *op)
{
    const struct hf_client *client = op->client;
    int64_t silence_ms =
        hf_min_ms(client->watchdog_ms / 6, client->request_timeout_ms / 4);
    int64_t again_ms = client->watchdog_ms / 3 + silence_ms * 5 / 2;

    return hf_max_ms(op->queue_place_valid_ms * 3 / 4,
                     hf_max_ms(client->watchdog_ms / 2, again_ms));
}

size_t hf_op_put_args(struct hf_op *op, enum hf_step step,
                      struct hf_bytes echo)
{
    const struct hf_kind_step *how = hf_kind_step(op->lock->kind, step);
    struct hf_resp_arg *at = op->argv + CALL_HEAD_ARGS;

    HF_ASSERT(op->queue_place_valid_ms >= 0 && op->acquire_interval_ms >= 0);
    at = put_key_args(at, op, how);
    if (how->takes_hold_key)
        at = put_hold_key(at, op, echo.len);
    op->call.keys_count = (size_t)(at - op->argv) - CALL_HEAD_ARGS;
    at = put_arg(at, echo.ptr, echo.len);
    if (takes[step].count) {
        at = put_integer_arg(at, op->count_text, op->wanted_hold_count);
        at = put_integer_arg(at, op->lease_text, op->lease_ms);
    }
    if (takes[step].ttl)
        at = put_integer_arg(at, op->ttl_text, op->ttl_ms);
    if (how->takes_queue_place) {
        at = put_integer_arg(at, op->queue_place_text, op->queue_place_valid_ms);
        at = put_integer_arg(at, op->silence_floor_text, silence_floor_ms(op));
    }
    if (how->takes_retention)
        at = put_arg(at, op->client->token_retention_text,
                     strlen(op->client->token_retention_text));
    if (takes[step].holder)
        at = put_arg(at, op->named_holder, op->named_holder_len);
    if (takes[step].first)
        at = put_integer_arg(at, op->count_text, op->wanted_hold_count);
    if (how->side_name)
        at = put_arg(at, how->side_name, strlen(how->side_name));
    if (how->takes_acquire_interval && op->may_be_queued) {
        at = put_integer_arg(at, op->acquire_interval_text, op->acquire_interval_ms);
        at = put_publish_args(at, op);
    }
    if (takes[step].publish && !op->lock->kind->publishes_nothing)
        at = put_publish_args(at, op);
    if (how->takes_joined_field)
        at = put_joined_hold_field(at, op);
    HF_ASSERT(at <= op->argv + OP_ARGS_MAX);
    return (size_t)(at - op->argv);
}
