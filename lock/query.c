/* Asking how a lock stands, and freeing it whoever holds it. */
#include <string.h>

#include "lock/client.h"

static int64_t deadline(const struct hf_op *op)
{
    return hf_loop_now(op->client->loop) + op->client->request_timeout_ms;
}

/* A fresh text for the reply to begin with, so that it can be no other's. */
static struct hf_resp_arg question(struct hf_op *op)
{
    size_t len = hf_owner_format(op->echo, op->client->uuid, 0,
                                 ++op->client->serial);

    return (struct hf_resp_arg){op->echo, len};
}

/* ---- inspect ---- */

static bool read_info(struct hf_op *op, struct hf_resp_value reply)
{
    struct hf_lock_info *info = op->info;
    struct hf_resp_value v;
    const char *ptr;
    size_t len;

    if (!hf_reply_integer(reply, 1, &info->ttl_ms) ||
        !hf_reply_integer(reply, 3, &info->hold_count) ||
        !hf_reply_integer(reply, 4, &op->count) ||
        hf_resp_element(reply, 2, &v) < 0 || hf_resp_bytes(v, &ptr, &len) < 0)
        return false;
    info->is_locked = info->ttl_ms != -2;
    info->holder_len = len < sizeof info->holder ? len : sizeof info->holder - 1;
    memcpy(info->holder, ptr, info->holder_len);
    info->holder[info->holder_len] = '\0';
    return true;
}

static void on_inspected(struct hf_call *call, hf_status status,
                         struct hf_resp_value reply)
{
    struct hf_op *op = HF_OWNER_OF(call, struct hf_op, call);

    if (status == HF_OK && !read_info(op, reply))
        status = hf_error_set(op->error, HF_E_PROTOCOL,
                              "%s: this is no lock, or an answer of another "
                              "shape",
                              hf_router_address(op->client->router));
    hf_op_finish(op, status);
}

void hf_inspect_start(struct hf_op *op)
{
    struct hf_resp_arg *argv = op->argv + CALL_HEAD + 1;

    argv[0] = question(op);
    argv[1] = (struct hf_resp_arg){op->holder, op->holder_len};
    hf_op_call(op, &hf_script_inspect, 2, deadline(op), on_inspected);
}

/* ---- force ---- */

static void on_forced(struct hf_call *call, hf_status status,
                      struct hf_resp_value reply)
{
    struct hf_op *op = HF_OWNER_OF(call, struct hf_op, call);
    int64_t answer;

    if (status == HF_OK)
        hf_acquire_next(op->lock);
    if (status < 0)
        hf_op_finish(op, status);
    else if (!hf_reply_integer(reply, 1, &answer))
        hf_op_finish(op, HF_E_PROTOCOL);
    else if (answer == 1)
        hf_op_finish(op, HF_OK);
    else if (!call->is_repeated)
        hf_op_finish(op, HF_NOT_OWNER);
    else if (op->holder_len == 0) /* it is free: the first try, or another */
        hf_op_finish(op, HF_OK);
    else
        hf_op_finish(op, hf_error_set(op->error, HF_E_NOREPLY,
                                      "asked twice, and that owner does not "
                                      "hold it: it may have been released by "
                                      "the first"));
}

static void force(struct hf_op *op)
{
    struct hf_resp_arg *argv = op->argv + CALL_HEAD + 1;
    size_t count = 2;

    argv[0] = question(op);
    argv[1] = (struct hf_resp_arg){op->holder, op->holder_len};
    count += hf_lock_put_publish(argv + count, op->lock);
    hf_op_call(op, &hf_script_force_release, count, deadline(op), on_forced);
}

static void on_acquainted(struct hf_call *call, hf_status status,
                          struct hf_resp_value reply)
{
    struct hf_op *op = HF_OWNER_OF(call, struct hf_op, call);

    (void)reply;
    if (status < 0)
        hf_op_finish(op, status);
    else
        force(op);
}

/* Which way waiters are woken is known once a cluster has answered. */
void hf_force_start(struct hf_op *op)
{
    struct hf_resp_arg *argv = op->argv + CALL_HEAD + 1;

    if (hf_router_is_known(op->client->router)) {
        force(op);
        return;
    }
    argv[0] = question(op);
    argv[1] = (struct hf_resp_arg){op->holder, op->holder_len};
    hf_op_call(op, &hf_script_inspect, 2, deadline(op), on_acquainted);
}
