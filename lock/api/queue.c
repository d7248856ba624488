/* Removes places from a fair lock's queue: hf_lock_drop_waiter. */
/* Tests: tests/live/kind/test_fair_queue.c. */
#include "lock/queue.h"

#include "lock/api/op_request.h"
#include "lock/record/op.h"
#include "lock/verb/verbs.h"
#include "net/base/error.h"

/* The script examines 200 places per call (fair_drop.lua). Places that are removed
 * do not count. */
#define PLACES_MAX 2000

static void request_next_waiters(struct hf_op *op, int64_t first, int64_t deadline_ms);

/* A text of its own for each request, so that no other reply begins with it. */
static struct hf_bytes new_request_id(struct hf_op *op)
{
    size_t len = hf_owner_format(op->text.request_id, op->client->uuid, 0,
                                 ++op->client->last_serial, "");

    return (struct hf_bytes){op->text.request_id, len};
}

/* ---- the reply ---- */

static void on_waiters_examined(struct hf_call *call, hf_status status,
                                struct hf_resp_value reply)
{
    struct hf_op *op = HF_OWNER_OF(call, struct hf_op, call);
    struct hf_answer *answer = &op->answer;

    if (status == HF_OK && (!hf_answer_read(answer, reply) ||
                            answer->count < ANSWER_NOT_HELD))
        status = hf_op_fail_unexpected_reply(op);
    if (status == HF_OK && answer->count == ANSWER_NOT_HELD)
        status = HF_NOT_OWNER;
    if (status == HF_OK)
        *op->out_number += answer->count;
    if (status == HF_OK && answer->number >= 0 && answer->number < PLACES_MAX)
        request_next_waiters(op, answer->number, call->deadline_ms);
    else
        hf_op_finish(op, status);
}

static void request_next_waiters(struct hf_op *op, int64_t first, int64_t deadline_ms)
{
    op->wanted_hold_count = first;
    hf_op_call_script(op, STEP_DROP_PLACES, new_request_id(op), deadline_ms, on_waiters_examined);
}

/* ---- start ---- */

static void on_cluster_map_known(struct hf_call *call, hf_status status,
                                 struct hf_resp_value reply)
{
    struct hf_op *op = HF_OWNER_OF(call, struct hf_op, call);

    (void)reply;
    if (status < 0)
        hf_op_finish(op, status);
    else
        request_next_waiters(op, 0, call->deadline_ms);
}

/* PUBLISH or SPUBLISH: a cluster's first reply decides. */
static void start_removing_waiters(struct hf_op *op)
{
    if (hf_router_had_map(op->client->router))
        request_next_waiters(op, 0, hf_op_deadline(op));
    else
        hf_op_call_script(op, STEP_INSPECT, new_request_id(op), hf_op_deadline(op),
                          on_cluster_map_known);
}

const struct hf_verb hf_verb_drop_places = {
    .name = "remove places of", .start = start_removing_waiters, .cancel = hf_op_finish};

/* ---- the call ---- */

static hf_status check_waiter_argument(const struct hf_lock *lock, const char *waiter,
                                       size_t len, struct hf_error *err)
{
    char quoted[100];

    if (!lock->kind->steps[STEP_DROP_PLACES].script)
        return hf_error_set(err, HF_E_INVAL,
                            "a %s has no queue on the server: only a fair lock "
                            "has",
                            hf_lock_kind_text(lock->kind->id));
    if (!waiter || hf_owner_ok(waiter, len))
        return HF_OK;
    return hf_error_set(err, HF_E_INVAL,
                        "invalid waiter '%s': a waiter is written \"uuid:number\"",
                        hf_error_quote(quoted, sizeof quoted, waiter, len));
}

hf_status hf_lock_drop_waiter(struct hf_lock *lock, const char *waiter,
                              size_t len, int64_t *dropped,
                              struct hf_error *err)
{
    int64_t removed = 0;
    hf_status rc = check_waiter_argument(lock, waiter, len, err);

    if (rc < 0)
        return rc;
    rc = hf_op_run(lock,
                   &(struct hf_op_request){.verb = &hf_verb_drop_places,
                                           .holder = waiter,
                                           .holder_len = waiter ? len : 0,
                                           .out_number = &removed}, err);
    if (dropped)
        *dropped = removed;
    return rc;
}
