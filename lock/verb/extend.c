/* The verb "extend": extends a hold that this client does not renew by itself. No call of the
 * same owner acts on the hold meanwhile (HOLD-1). */
/* Tests: tests/live/lock/test_lock_renew.c, tests/test_lock_lease.c. */
#include "lock/record/hold.h"
#include "lock/record/hold_lookup.h"
#include "lock/record/label.h"
#include "lock/record/op.h"
#include "lock/verb/reentry.h"
#include "lock/verb/track.h"
#include "lock/verb/verbs.h"
#include "net/base/assert.h"
#include "net/base/error.h"
#include "net/base/moment.h"

static struct hf_lease *lease_of_op(const struct hf_op *op)
{
    return &op->hold->work->lease;
}

/* A write of this client ends the tracking of the key (TRACK-1), and the hold may last for the
 * new lease. */
static void update_hold_after_write(struct hf_op *op)
{
    hf_track_granted(op->hold);
    hf_label_note_needed(op->client, op->lease_ms);
    hf_hold_rearm_timer(op->hold);
}

/* The timer of the hold may fire after that of the call, which ends at the same time. */
static void lose_hold_if_lease_ended(const struct hf_op *op)
{
    int64_t now_ms = hf_loop_now(op->client->loop);

    if (lease_of_op(op)->state == LEASE_LOST || now_ms < lease_of_op(op)->claims.end_ms)
        return;
    hf_lease_note_sleep(lease_of_op(op), now_ms);
    if (hf_lease_take_todo(lease_of_op(op), now_ms) == LEASE_DO_REPORT_LOST)
        hf_hold_report_lost(op->hold);
}

/* A call that was cancelled says so (hf_client_close). */
static hf_status status_of_failed_extend(struct hf_op *op, hf_status status)
{
    bool was_cancelled = status == HF_E_CLOSED || status == HF_CANCELLED;

    return was_cancelled ? status : hf_op_failure_status(op, status, op->call.may_have_run);
}

/* The lease is what it was, or longer (CLAIM-5). */
static void handle_failed_extend(struct hf_op *op, hf_status status)
{
    bool may_have_run = op->call.may_have_run || status == HF_E_SERVER; /* half of the script */

    lose_hold_if_lease_ended(op);
    if (lease_of_op(op)->state == LEASE_LOST) {
        hf_reentry_end(op, hf_reentry_refuse_lost(op, op->hold));
        return;
    }
    if (may_have_run)
        update_hold_after_write(op);
    hf_reentry_end(op, status_of_failed_extend(op, status));
}

/* A key without a TTL counts as if it had the lease that the owner's next call would set. */
static int64_t granted_ttl_ms(const struct hf_op *op)
{
    int64_t least_ms = hf_max_ms(op->lease_ms, lease_of_op(op)->claims.owner_lease_ms);

    return op->answer.number < 0 ? least_ms : op->answer.number;
}

static void handle_extended(struct hf_op *op)
{
    hf_lease_extended(lease_of_op(op), &op->call.sending, granted_ttl_ms(op), op->lease_ms,
                      hf_loop_now(op->client->loop));
    update_hold_after_write(op);
    hf_reentry_end(op, HF_OK);
}

static void handle_hold_not_found(struct hf_op *op)
{
    struct hf_hold *hold = op->hold;

    if (hf_lease_lose(lease_of_op(op), hf_answer_loss_reason(&op->answer)))
        hf_hold_report_lost(hold);
    hf_reentry_end(op, hf_reentry_refuse_lost(op, hold));
}

/* Done, with a TTL that is long enough; or not held. */
static bool read_extend_answer(struct hf_op *op, struct hf_resp_value reply)
{
    struct hf_answer *answer = &op->answer;

    return hf_answer_read(answer, reply) && answer->count >= ANSWER_NOT_HELD &&
           (answer->count == ANSWER_NOT_HELD || answer->number < 0 ||
            answer->number >= op->lease_ms);
}

static void on_extend_answered(struct hf_call *call, hf_status status, struct hf_resp_value reply)
{
    struct hf_op *op = HF_OWNER_OF(call, struct hf_op, call);

    if (status == HF_OK && !read_extend_answer(op, reply))
        status = hf_op_fail_unexpected_reply(op);
    if (status < 0 || lease_of_op(op)->state == LEASE_LOST) /* during the request */
        handle_failed_extend(op, status);
    else if (op->answer.count == ANSWER_NOT_HELD)
        handle_hold_not_found(op);
    else
        handle_extended(op);
}

static hf_status refuse_watchdog_hold(struct hf_op *op)
{
    char name[100];

    return hf_error_set(op->error, HF_E_INVAL,
                        "the client renews the hold of '%s' by itself: it was acquired with "
                        "lease_ms 0",
                        hf_error_quote(name, sizeof name, op->lock->texts, op->lock->name_len));
}

/* A reply after the lease has ended would come too late. */
static int64_t extend_deadline_ms(const struct hf_op *op)
{
    return hf_min_ms(hf_op_deadline(op), lease_of_op(op)->claims.end_ms);
}

static void start_extend_on_hold(struct hf_op *op)
{
    if (lease_of_op(op)->state == LEASE_LOST) {
        hf_reentry_end(op, hf_reentry_refuse_lost(op, op->hold));
        return;
    }
    if (lease_of_op(op)->is_renewed_by_watchdog) {
        hf_reentry_end(op, refuse_watchdog_hold(op));
        return;
    }
    op->lease_ms = op->options.lease_ms;
    hf_lease_extension_submitted(lease_of_op(op));
    hf_op_call_script(op, STEP_EXTEND, hf_hold_field(op->hold), extend_deadline_ms(op),
                      on_extend_answered);
}

static void start_extend_of_owner(struct hf_op *op)
{
    struct hf_hold *hold = hf_hold_find(op->lock, op->owner);

    if (!hold)
        hf_op_finish(op, HF_NOT_OWNER);
    else if (!hf_hold_ensure_work(hold))
        hf_op_finish(op, HF_E_NOMEM);
    else if (hf_hold_begin_op(hold, op))
        start_extend_on_hold(op);
}

static void start_extend_op(struct hf_op *op)
{
    struct hf_cancel *cancel = op->options.cancel;

    if (cancel)
        hf_list_push(&cancel->waits, &op->cancel_node);
    start_extend_of_owner(op);
}

/* It may wait for another call on the hold, or its turn may just have come. */
static void cancel_extend(struct hf_op *op, hf_status status)
{
    hf_call_cancel(&op->call);
    hf_loop_disarm(op->client->loop, &op->timer);
    if (op->hold)
        handle_failed_extend(op, status);
    else
        hf_op_finish(op, status);
}

const struct hf_verb hf_verb_extend = {
    .name = "extend", .start = start_extend_op, .resume = start_extend_of_owner,
        .cancel = cancel_extend};
