/* The verb "release". */
/* Tests: tests/live/lock/test_lock.c, tests/live/fault/test_lock_late.c. */
#include "lock/record/hold.h"
#include "lock/record/hold_lookup.h"
#include "lock/record/label.h"
#include "lock/record/wait_queue.h"
#include "lock/record/op.h"
#include "lock/record/orphan.h"
#include "lock/record/wake_moved_slot.h"
#include "lock/verb/track.h"
#include "lock/verb/verbs.h"
#include "net/base/assert.h"
#include "net/base/error.h"

/* This hold was released, and no waiter was notified, because other holders remain. */
static bool is_held_by_others(const struct hf_op *op)
{
    return op->answer.count == 0 && op->answer.number < 0;
}

static void end_release(struct hf_op *op, bool is_gone, hf_status status)
{
    struct hf_hold *hold = op->hold;

    HF_ASSERT(!hold || hold->work->acting_op == op);
    /* The client decides the count, with or without a reply. */
    HF_ASSERT(!hold || is_gone || !op->call.script ||
              hold->work->lease.hold_count == op->wanted_hold_count);
    op->hold = NULL;
    if (hold)
        hf_hold_end_op(hold, is_gone);
    if (is_gone)
        hf_track_after_release(op->lock);
    if (is_gone && !is_held_by_others(op)) {
        hf_wait_queue_wake_first(op->lock->wait_queue);
        hf_wake_at_slot_owner(op);
    }
    hf_op_finish(op, status);
}

static void release_in_background(struct hf_hold *hold)
{
    hf_release_orphan(hold->lock, hf_hold_field(hold),
                      hold->work->lease.claims.owner_lease_ms, 0, NULL);
}

/* The hold was lost. The hold count is lowered nevertheless. */
static void release_lost_hold(struct hf_op *op)
{
    struct hf_hold *hold = op->hold;
    bool is_last = --hold->work->lease.hold_count <= 0;

    if (is_last && hf_lease_may_remain(&hold->work->lease))
        release_in_background(hold);
    end_release(op, is_last, HF_LOST);
}

/* The request was repeated, and the lock is free. If the hold was safe when the release was
 * first sent (design 12), either an earlier request released it (is_repeated), or its TTL
 * ended while the server refused the release, for example with READONLY. */
static bool was_released_by_us(const struct hf_op *op)
{
    int64_t safe_until_ms = op->hold->work->released_until_ms;
    bool has_expired = hf_call_was_put_off(&op->call) &&
                       hf_loop_now(op->client->loop) >= safe_until_ms;

    return op->wanted_hold_count == 0 && (op->call.is_repeated || has_expired) &&
           op->call.first_sent_ms < safe_until_ms;
}

static void handle_hold_not_found(struct hf_op *op)
{
    struct hf_hold *hold = op->hold;

    if (was_released_by_us(op)) {
        end_release(op, true, HF_OK);
        return;
    }
    hold->work->lease.hold_count = op->wanted_hold_count;
    if (hf_lease_lose(&hold->work->lease, hf_answer_loss_reason(&op->answer))) {
        if (op->wanted_hold_count > 0)
            hf_hold_report_lost(hold);
        else
            hf_tally_lost(hold);
    }
    end_release(op, op->wanted_hold_count == 0, HF_LOST);
}

static void handle_released(struct hf_op *op)
{
    struct hf_hold *hold = op->hold;

    if (op->wanted_hold_count > 0) { /* a partial release also sets the TTL */
        hf_lease_granted(&hold->work->lease, op->wanted_hold_count, &op->call.sending, false, 0);
        hf_track_granted(hold);
        hf_label_note_needed(op->client, op->lease_ms);
        hf_hold_rearm_timer(hold);
    }
    end_release(op, op->wanted_hold_count == 0, HF_OK);
}

/* HF_E_LIMIT of a release means that nothing was done, but here it has begun. */
static hf_status status_of_failed_release(struct hf_op *op, hf_status status)
{
    if (status != HF_E_LIMIT || op->call.may_have_run)
        return hf_op_failure_status(op, status, status == HF_E_LIMIT);
    return hf_error_set(op->error, HF_E_CONNECT,
                        "%s: the release could not be sent: a limit was reached",
                        hf_router_address(op->client->router));
}

/* The client decides the count, so the owner has one acquisition less with or without a
 * reply. */
static void handle_failed_release(struct hf_op *op, hf_status status)
{
    struct hf_hold *hold = op->hold;

    hold->work->lease.hold_count = op->wanted_hold_count;
    op->call.may_have_run = op->call.may_have_run ||
                            status == HF_E_SERVER; /* half of the script */
    if (op->wanted_hold_count == 0)
        release_in_background(hold);
    else
        hf_op_note_outcome(op);
    if (op->wanted_hold_count > 0 && op->call.may_have_run) {
        hf_track_granted(hold);
        hf_label_note_needed(op->client, op->lease_ms);
    }
    hf_hold_rearm_timer(hold);
    end_release(op, op->wanted_hold_count == 0, status_of_failed_release(op, status));
}

static void on_release_answered(struct hf_call *call, hf_status status,
                                struct hf_resp_value reply)
{
    struct hf_op *op = HF_OWNER_OF(call, struct hf_op, call);
    bool is_read = status == HF_OK && hf_op_read_answer(op, reply);
    bool is_done = is_read && op->answer.count == op->wanted_hold_count;

    hf_wait_queue_release_ended(op, is_done ? op->answer.number : -1);
    if (status < 0)
        handle_failed_release(op, status);
    else if (!is_read)
        handle_failed_release(op, hf_op_fail_unexpected_reply(op));
    else if (is_done)
        handle_released(op);
    else
        handle_hold_not_found(op);
}

static void send_release(struct hf_op *op)
{
    struct hf_hold *hold = op->hold;

    if (hold->work->lease.state == LEASE_LOST) {
        release_lost_hold(op);
        return;
    }
    HF_ASSERT(hold->work->lease.state == LEASE_HELD && hold->work->lease.hold_count > 0);
    op->wanted_hold_count = hold->work->lease.hold_count - 1;
    op->lease_ms = hold->work->lease.claims.owner_lease_ms;
    HF_ASSERT(op->wanted_hold_count >= 0 && op->lease_ms > 0);
    if (op->wanted_hold_count == 0) {
        hold->work->released_until_ms = hf_lease_safe_until_ms(&hold->work->lease);
        hf_tally_last_release_begins(hold);
        hf_lease_last_release_submitted(&hold->work->lease);
        hf_hold_stop_renewal(hold); /* LEASE-3 */
        hf_wait_queue_release_begins(op);
    } else {
        hf_lease_grant_requested(&hold->work->lease, hf_loop_now(op->client->loop), op->lease_ms);
    }
    hf_hold_rearm_timer(hold);
    hf_op_call_script(op, STEP_RELEASE, hf_hold_field(hold),
                      hf_op_deadline(op), on_release_answered);
}

/* Ends it as at its deadline. If it waited for another call on the hold, and its turn
 * has just come, its request was not sent. */
static void cancel_release(struct hf_op *op, hf_status status)
{
    hf_call_cancel(&op->call);
    hf_loop_disarm(op->client->loop, &op->timer);
    if (!op->hold) { /* the release before it was the last one */
        hf_op_finish(op, hf_hold_find(op->lock, op->owner) ? status
                                                           : HF_NOT_OWNER);
        return;
    }
    if (!op->call.script)
        op->wanted_hold_count = op->hold->work->lease.hold_count - 1;
    handle_failed_release(op, status);
}

static void start_release(struct hf_op *op)
{
    struct hf_hold *hold = hf_hold_find(op->lock, op->owner);

    if (!hold) {
        hf_op_finish(op, HF_NOT_OWNER);
        return;
    }
    if (!hold->work) {
        hf_hold_use_work(hold, op->spare_work);
        hold->work->is_memory_of_release = true;
    }
    if (hf_hold_begin_op(hold, op))
        send_release(op);
}

const struct hf_verb hf_verb_release = {
    .name = "release",
    .start = start_release, .resume = start_release, .cancel = cancel_release};
