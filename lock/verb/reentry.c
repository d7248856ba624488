/* Re-entry: an owner acquires a lock that it holds. It does not enter the queue, but
 * sends its request after other calls on the same hold. */
/* Tests: tests/live/lock/test_lock.c, tests/live/lock/test_lock_shorter.c. */
#include "lock/verb/reentry.h"

#include <stdio.h>

#include "lock/record/hold.h"
#include "lock/record/label.h"
#include "lock/record/op.h"
#include "lock/verb/track.h"
#include "net/base/assert.h"
#include "net/base/error.h"

hf_status hf_reentry_fail_deadlock(struct hf_op *op, const struct hf_hold *held)
{
    char name[100];

    HF_ASSERT(hf_loop_is_locked(op->client->loop));
    return hf_error_set(
        op->error, HF_E_INVAL,
        "this owner already holds the lock '%s' as a %s: "
        "release it first",
        hf_error_quote(name, sizeof name, op->lock->texts, op->lock->name_len),
        hf_lock_kind_text(held->lock->kind->id));
}

void hf_reentry_end(struct hf_op *op, hf_status status)
{
    struct hf_hold *hold = op->hold;

    HF_ASSERT(hold->work->acting_op == op && hold->owner == op->owner);
    op->hold = NULL;
    hf_list_remove(&op->cancel_node);
    hf_hold_end_op(hold, false);
    hf_op_finish(op, status);
}

/* The error says what to do: a loop that only tries again would get this answer
 * at once, for ever. */
hf_status hf_reentry_refuse_lost(struct hf_op *op, const struct hf_hold *hold)
{
    char name[100];

    HF_ASSERT(hf_loop_is_locked(op->client->loop));
    return hf_error_set(
        op->error, HF_LOST,
        "lock '%s' was lost: %s; call hf_lock_release as often as it was "
        "acquired, then acquire it again",
        hf_error_quote(name, sizeof name, op->lock->texts, op->lock->name_len),
        hf_lost_text(hold->work->lease.loss_reason));
}

static void end_reentry_as_lost(struct hf_op *op)
{
    hf_reentry_end(op, hf_reentry_refuse_lost(op, op->hold));
}

/* The re-entry has no reply. The count does not depend on whether the server executes it,
 * because the next call sends its own count; but the lease may be shorter now. */
static void record_reentry_without_reply(struct hf_op *op)
{
    hf_op_note_outcome(op);
    if (op->call.may_have_run) {
        hf_track_granted(op->hold);
        hf_label_note_needed(op->client, op->lease_ms);
    }
    hf_hold_rearm_timer(op->hold);
}

/* A call that waited has become a re-entry. If its wait_ms expires before the server has had time
 * to reply to that, the replies to its wait decide the status, as if it were still waiting. */
static hf_status status_of_wait_before(struct hf_op *op, hf_status status)
{
    int64_t now = hf_loop_now(op->client->loop);
    struct hf_wait_answers answers;
    char name[100];

    if (!op->has_waited_before_reentry || !op->queue || now < op->wait.deadline_ms)
        return status;
    answers = op->queue->last_answers;
    if (!hf_wait_failed(&op->wait, &answers, now, status) || hf_wait_result(&answers) != HF_TIMEOUT)
        return status;
    return hf_error_set(op->error, HF_TIMEOUT,
                        "lock '%s': %s, before the server replied to a re-entry",
                        hf_error_quote(name, sizeof name, op->lock->texts, op->lock->name_len),
                        hf_status_text(HF_TIMEOUT));
}

static void on_reentry_answered(struct hf_call *call, hf_status status,
                                struct hf_resp_value reply)
{
    struct hf_op *op = HF_OWNER_OF(call, struct hf_op, call);
    struct hf_hold *hold = op->hold;

    if (status == HF_OK && !hf_op_read_answer(op, reply))
        status = hf_op_fail_unexpected_reply(op);
    if (status < 0) {
        call->may_have_run = call->may_have_run ||
                             status == HF_E_SERVER; /* half of the script */
        record_reentry_without_reply(op);
        hf_reentry_end(op, status_of_wait_before(op, status));
        return;
    }
    if (hold->work->lease.state == LEASE_LOST) { /* during the request; on_lost was called */
        end_reentry_as_lost(op);
        return;
    }
    if (op->answer.count == op->wanted_hold_count) {
        hf_lease_granted(&hold->work->lease, op->wanted_hold_count, &call->sending,
                        op->options.lease_ms == 0, 0);
        hf_track_granted(hold);
        hf_label_note_needed(op->client, op->lease_ms);
        hf_hold_rearm_timer(hold);
        if (!op->is_member)
            hf_hold_commit(hold);
        hf_reentry_end(op, HF_OK);
        return;
    }
    if (hf_lease_lose(&hold->work->lease, hf_answer_loss_reason(&op->answer)))
        hf_hold_report_lost(hold);
    end_reentry_as_lost(op);
}

static void send_reentry(struct hf_op *op)
{
    HF_ASSERT(op->hold->work->acting_op == op && !op->call.is_under_way);
    hf_loop_disarm(op->client->loop, &op->timer);
    if (op->hold->work->lease.state == LEASE_LOST) {
        end_reentry_as_lost(op);
        return;
    }
    if (!op->lock->kind->is_reentrant) {
        hf_reentry_end(op, hf_reentry_fail_deadlock(op, op->hold));
        return;
    }
    op->wanted_hold_count = op->hold->work->lease.hold_count + 1;
    op->call.replicas = 0;
    op->wait.last_request_ms = hf_loop_now(op->client->loop);
    hf_lease_grant_requested(&op->hold->work->lease, hf_loop_now(op->client->loop), op->lease_ms);
    hf_hold_rearm_timer(op->hold);
    hf_op_call_script(op, STEP_ACQUIRE, hf_hold_field(op->hold), hf_op_deadline(op),
                      on_reentry_answered);
}

/* Behind another call on the same hold it waits no longer than it may. */
void hf_reentry_start(struct hf_op *op, struct hf_hold *held)
{
    HF_ASSERT(hf_loop_is_locked(op->client->loop));
    HF_ASSERT(held->lock == op->lock && held->owner == op->owner && !op->hold);
    hf_wait_requeue(&op->wait); /* the wait's own request is not used */
    op->began_ms = 0;
    if (!hf_hold_ensure_work(held)) {
        hf_loop_disarm(op->client->loop, &op->timer);
        hf_op_finish(op, HF_E_NOMEM);
        return;
    }
    if (hf_hold_begin_op(held, op)) {
        send_reentry(op);
        return;
    }
    op->wait.due_ms =
        op->options.wait_ms == 0 ? hf_op_deadline(op) : op->wait.deadline_ms;
    hf_op_arm_due(op);
}

void hf_reentry_cancel(struct hf_op *op, hf_status status)
{
    HF_ASSERT(hf_loop_is_locked(op->client->loop));
    record_reentry_without_reply(op);
    hf_reentry_end(op, status);
}
