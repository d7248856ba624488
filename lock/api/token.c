/* The public calls on fencing tokens that locks do not have. */
/* Tests: tests/live/kind/test_lock_tokens.c, tests/live/kind/test_lock_fenced.c. */
#include "lock/token.h"

#include <string.h>

#include "lock/api/op_request.h"
#include "lock/record/hold_lookup.h"
#include "lock/record/hold_work.h"
#include "lock/record/op.h"
#include "lock/verb/verbs.h"
#include "net/base/error.h"

static hf_status check_has_tokens(const struct hf_lock *lock, struct hf_error *err)
{
    if (lock->kind->steps[STEP_ACQUIRE].takes_retention)
        return HF_OK;
    return hf_error_set(err, HF_E_INVAL, "a %s has no fencing tokens",
                        hf_lock_kind_text(lock->kind->id));
}

static struct hf_op_request make_read_request(int64_t *out)
{
    return (struct hf_op_request){.verb = &hf_verb_read, .out_number = out};
}

hf_status hf_token_latest(struct hf_lock *lock, int64_t *out,
                          struct hf_error *err)
{
    struct hf_op_request request = make_read_request(out);
    hf_status rc = check_has_tokens(lock, err);

    return rc < 0 ? rc : hf_op_run(lock, &request, err);
}

hf_status hf_token_latest_async(struct hf_lock *lock, int64_t *out,
                                hf_done *done, void *ctx)
{
    struct hf_op_request request = make_read_request(out);
    hf_status rc = check_has_tokens(lock, NULL);

    return rc < 0 ? rc : hf_op_submit(lock, &request, done, ctx);
}

/* ---- raising, for a quorum ---- */

static void on_counter_raised(struct hf_call *call, hf_status status,
                              struct hf_resp_value reply)
{
    struct hf_op *op = HF_OWNER_OF(call, struct hf_op, call);

    if (status == HF_OK && !hf_op_read_answer(op, reply))
        status = hf_op_fail_unexpected_reply(op);
    else if (status == HF_OK && op->answer.count != op->wanted_hold_count)
        status = HF_NOT_OWNER;
    hf_op_finish(op, status);
}

/* Yes: a counter that a failover forgets would number later grants anew. */
static bool is_raise_reply_success(struct hf_call *call, struct hf_resp_value reply)
{
    struct hf_op *op = HF_OWNER_OF(call, struct hf_op, call);

    return hf_answer_read(&op->answer, reply) && op->answer.count == op->wanted_hold_count;
}

static void on_replicas_confirmed(struct hf_call *call, hf_status status)
{
    hf_op_finish(HF_OWNER_OF(call, struct hf_op, call), status);
}

/* A copy of the owner: the hold may be lost while the request is under way. */
static void start_raising_token_counter(struct hf_op *op)
{
    const struct hf_hold *hold = hf_hold_find(op->lock, op->owner);

    if (!hold) {
        hf_op_finish(op, HF_NOT_OWNER);
        return;
    }
    op->wanted_hold_count = op->permits;
    op->joined_len = hf_hold_put_field(hold, op->text.request_id);
    hf_op_want_replicas(op, is_raise_reply_success, on_replicas_confirmed);
    hf_op_call_script(op, STEP_RAISE_TOKEN,
                      (struct hf_bytes){op->text.request_id, op->joined_len},
                      hf_op_deadline(op), on_counter_raised);
}

static void cancel_raising_token_counter(struct hf_op *op, hf_status status)
{
    hf_call_cancel(&op->call);
    hf_op_finish(op, status);
}

const struct hf_verb hf_verb_raise_token = {.name = "raise the token of",
                                            .start = start_raising_token_counter,
                                            .cancel = cancel_raising_token_counter};
