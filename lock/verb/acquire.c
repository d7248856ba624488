/* The verb "acquire": executes what wait.c decides. A first acquire waits in the lock's
 * queue (wait_queue.c). A re-entry waits only for other calls on the same hold
 * (reentry.c). An acquire with one try does not enter the queue. */
/* Tests: tests/live/lock/test_lock_wait.c, tests/live/fault/test_lock_late.c. */
#include "lock/record/hold.h"
#include "lock/record/hold_lookup.h"
#include "lock/record/holder.h"
#include "lock/record/label.h"
#include "lock/record/listeners.h"
#include "lock/record/on_wait.h"
#include "lock/record/op.h"
#include "lock/record/orphan.h"
#include "lock/record/wait_queue.h"
#include "lock/verb/count.h"
#include "lock/verb/query.h"
#include "lock/verb/reentry.h"
#include "lock/verb/track.h"
#include "lock/verb/verbs.h"
#include "net/base/assert.h"
#include "net/base/error.h"
#include "net/base/moment.h"

static void advance_wait(struct hf_op *op, enum hf_wait_event event, int64_t ttl_ms);
static void enter_wait_queue(struct hf_op *op);

/* ---- ending ---- */

/* The server may have recorded this owner as holder or queued: both are released. */
static void abandon_requested_hold(struct hf_op *op)
{
    struct hf_hold *hold = op->hold;

    op->hold = NULL;
    if (!hold)
        return;
    if (op->lock->kind->steps[STEP_RELEASE].script &&
        (op->call.may_have_run || op->may_earlier_request_hold || op->may_be_queued))
        hf_release_orphan(op->lock, hf_hold_field(hold),
                          op->lock->kind->is_ownerless ? LATE_COPY_REPLY_TTL_MS : op->lease_ms,
                          op->queue_place_valid_ms, hf_hold_orphan_memory(hold));
    op->call.may_have_run = op->may_earlier_request_hold = op->may_be_queued = false;
    hf_hold_free(hold);
}

/* The queue continues before this call's own end is reported. The lock outlives both,
 * because the operation still counts as its user. */
static void end_acquire(struct hf_op *op, hf_status status)
{
    abandon_requested_hold(op);
    hf_loop_disarm(op->client->loop, &op->timer);
    hf_wait_end(&op->wait);
    hf_wait_queue_leave(op);
    hf_op_finish(op, status);
}

/* Ends a call with the reply to another call. Its own request may be pending: a waiter
 * that arrived earlier, or wants fewer permits, enters the queue before it. */
static void end_waiter_with_status(struct hf_op *op, hf_status status)
{
    hf_call_cancel(&op->call);
    end_acquire(op, status);
}

/* Ends a call whose lock the server has just granted; it is released in the background. */
static void release_late_grant(struct hf_op *op, hf_status status)
{
    op->call.may_have_run = true;
    end_acquire(op, status);
}

/* ---- one owner, several calls ---- */

/* Returns the owner's hold on a lock of this name and another kind that it cannot join. */
static struct hf_hold *find_conflicting_hold(const struct hf_op *op)
{
    struct hf_hold *hold = hf_hold_find_same_queue(op->lock, op->owner);
    struct hf_lease copy;

    return hold && hf_hold_lease(hold, &copy)->state == LEASE_HELD &&
                   hold != hf_hold_to_join(op->lock, op->owner) ? hold : NULL;
}

/* Behind others in line it would wait for what its own owner holds. */
static bool would_wait_for_own_owner(const struct hf_op *op)
{
    return hf_hold_find(op->lock, op->owner) || find_conflicting_hold(op) ||
           hf_hold_to_join(op->lock, op->owner);
}

static bool is_in_wait_queue(const struct hf_op *op)
{
    return !hf_list_is_empty(&op->queue_node);
}

/* The result of an earlier request is no longer needed: the owner already has a hold. */
static void switch_to_reentry(struct hf_op *op, struct hf_hold *held)
{
    op->has_waited_before_reentry = op->has_waited_before_reentry || is_in_wait_queue(op);
    abandon_requested_hold(op);
    hf_wait_queue_leave(op);
    hf_reentry_start(op, held);
}

static void on_grant_to_own_owner(struct hf_timer *timer)
{
    struct hf_op *op = HF_OWNER_OF(timer, struct hf_op, timer);

    hf_wait_requeue(&op->wait);
    enter_wait_queue(op);
}

static void wake_if_waiting_for_own_owner(struct hf_op *op, const struct hf_op *granted)
{
    if (op->owner != granted->owner || op->wait.state == WAIT_REQUESTING ||
        !would_wait_for_own_owner(op))
        return;
    op->has_waited_before_reentry = true;
    hf_wait_queue_leave(op);
    op->timer.fire = on_grant_to_own_owner;
    hf_loop_arm(op->client->loop, &op->timer, 0);
}

/* The same for kinds whose waiters have a queue each. */
static void wake_own_calls_in_private_queues(const struct hf_op *granted)
{
    const struct hf_list *ops = &granted->client->pending_ops;

    if (granted->lock->private_queues_count < (granted->has_own_queue ? 2 : 1))
        return;
    for (struct hf_list *l = ops->next; l != ops; l = l->next) {
        struct hf_op *op = HF_OWNER_OF(l, struct hf_op, node);

        if (op != granted && op->lock == granted->lock && op->has_own_queue &&
            is_in_wait_queue(op))
            wake_if_waiting_for_own_owner(op, granted);
    }
}

/* After a grant, other waiting calls of the owner (of the first OWN_CALLS_WOKEN_MAX waiters) can go
 * on, or never succeed: their timers wake them, as in hf_wait_queue_leave. Behind another owner
 * they would wait for their own release. With a pending request: see was_owner_granted_meanwhile.
 * */
#define OWN_CALLS_WOKEN_MAX 1024

static void wake_calls_of_same_owner(const struct hf_op *granted)
{
    struct hf_wait_queue *line = granted->lock->wait_queue ? granted->lock->wait_queue
                                                           : granted->queue;
    struct hf_list *waiters = &line->waiters, *next;
    int left = OWN_CALLS_WOKEN_MAX;

    wake_own_calls_in_private_queues(granted);
    for (struct hf_list *l = waiters->next; l != waiters && left > 0; l = next, left--) {
        next = l->next;
        wake_if_waiting_for_own_owner(HF_OWNER_OF(l, struct hf_op, queue_node), granted);
    }
}

/* ---- being granted ---- */

static void send_acquire(struct hf_op *op);

static void store_granted_hold(struct hf_op *op)
{
    struct hf_hold *hold = op->hold;

    HF_ASSERT(hold->work->lease.state == LEASE_HELD && hold->work->lease.hold_count == 1);
    HF_ASSERT(!hf_hold_find(op->lock, op->owner)); /* an owner has one hold */
    if (op->options.max_hold_ms > 0)
        hold->work->lease.max_hold_until_ms =
            hf_loop_now(op->client->loop) + op->options.max_hold_ms;
    hf_hold_add(hold);
    op->hold = NULL; /* it is the lock's */
    op->may_be_queued = false;
    hf_tally_hold_added(hold);
    hf_label_note_needed(op->client, op->lease_ms);
    hold->is_member = op->is_member;
    hold->is_provisional = op->is_member;
    op->client->provisional_holds_count += op->is_member;
    hf_hold_rearm_timer(hold);
    hf_hold_shrink_later(hold);
    wake_calls_of_same_owner(op);
}

/* The waiters that were in the queue when the request was sent would receive the same reply. */
static void grant_whole_queue(struct hf_op *op)
{
    struct hf_wait_queue *line = op->lock->wait_queue;
    struct hf_op *behind;

    while (hf_wait_queue_first(line) == op &&
           (behind = hf_wait_queue_second(line)) &&
           behind->begin_number <= op->client_ops_begun_when_sent)
        end_waiter_with_status(behind, HF_OK);
}

/* An object without owners: no hold is kept, and only the request must be forgotten. */
static void grant_ownerless(struct hf_op *op, hf_status status)
{
    struct hf_hold *request = op->hold;

    if (op->lock->kind->steps[STEP_ACQUIRE].takes_hold_key)
        hf_count_delete_stored_reply(op);
    op->hold = NULL;
    hf_hold_free(request);
    if (op->lock->kind->grants_all_waiters)
        grant_whole_queue(op);
    end_acquire(op, status);
}

/* Two calls of one owner on a shared lock may both be granted. An owner has one hold: the
 * second grant is released, and its call enters the hold of the first. */
static void resend_as_reentry(struct hf_op *op)
{
    op->call.may_have_run = true;
    send_acquire(op);
}

/* Processes a grant: HF_OK, or HF_UNREPLICATED with keep_unreplicated. The order matters:
 * a closing client may keep nothing; all later checks need the lease; a late grant is
 * requested again before an expired one is an error; only a valid grant is a re-entry. */
static void handle_grant(struct hf_op *op, hf_status status)
{
    struct hf_hold *hold = op->hold;
    struct hf_client *client = op->client;
    int64_t now = hf_loop_now(client->loop), safe_ms;

    if (client->is_closing) { /* its caller could not release it */
        release_late_grant(op, HF_E_CLOSED);
        return;
    }
    hf_lease_granted(&hold->work->lease, 1, &op->call.sending,
                    op->options.lease_ms == 0, /* WATCHDOG-5: by slot, if there are any */
                    hold->lock->slot ? hold->lock->slot : (unsigned)client->last_serial);
    hf_track_granted(hold);
    if (hold->has_callbacks)
        hf_hold_callbacks(hold)->token = op->answer.number;
    safe_ms = hf_lease_safe_ms(&hold->work->lease, now);
    if (hf_wait_retries_grant(&op->wait, op->options.wait_ms != 0, now, safe_ms,
                              op->lease_ms)) {
        op->may_earlier_request_hold = true;
        op->was_last_grant_late = true;
        send_acquire(op);
    } else if (safe_ms <= 0) {
        release_late_grant(op, hf_op_fail_late(op));
    } else if (op->lock->kind->is_ownerless) {
        grant_ownerless(op, status);
    } else if (hf_hold_find(op->lock, op->owner)) {
        resend_as_reentry(op);
    } else {
        store_granted_hold(op);
        end_acquire(op, status);
    }
}

static bool is_grant_reply(struct hf_call *call, struct hf_resp_value reply)
{
    struct hf_op *op = HF_OWNER_OF(call, struct hf_op, call);

    return hf_answer_read(&op->answer, reply) && op->answer.count == op->wanted_hold_count;
}

static void on_replicas_confirmed(struct hf_call *call, hf_status status)
{
    struct hf_op *op = HF_OWNER_OF(call, struct hf_op, call);

    if (status == HF_OK ||
        (status == HF_UNREPLICATED && op->options.keep_unreplicated))
        handle_grant(op, status);
    else
        release_late_grant(op, status);
}

/* ---- being refused ---- */

/* Is it a hash of another program? To wait for it would be in vain. An empty
 * answer proves nothing: of a large one, HSCAN may return no field at first. */
static bool is_foreign_hash(const struct hf_lock_info *info)
{
    return info->kind == HF_KIND_NONE &&
           (info->holder_len > 0 || info->hold_count != 0);
}

/* A call that was sent without waiting in the queue enters it now. */
static void wait_in_queue(struct hf_op *op, int64_t ttl_ms)
{
    if (!is_in_wait_queue(op) && !hf_wait_queue_enter(op)) {
        hf_op_arm_due(op);
        return;
    }
    hf_wait_answered(&op->queue->last_answers);
    advance_wait(op, EVENT_REFUSED, ttl_ms);
}

/* Another call of the owner was granted meanwhile. Sent again, this call is a re-entry,
 * joins that hold, or is refused. */
static bool was_owner_granted_meanwhile(struct hf_op *op)
{
    bool wanted_to_join = op->joined_len > 0;

    return hf_hold_find(op->lock, op->owner) || find_conflicting_hold(op) ||
           (!wanted_to_join && hf_hold_to_join(op->lock, op->owner));
}

static void handle_refusal(struct hf_op *op)
{
    struct hf_lock_info info = {
        .size = sizeof info, .is_locked = true, .ttl_ms = op->answer.number, .holders = 1,
        .waiters = -1, .first_place_ms = -1};

    op->may_be_queued = op->queue_place_valid_ms > 0;
    op->was_last_grant_late = false;
    if (op->client->is_closing) {
        end_acquire(op, HF_E_CLOSED);
        return;
    }
    if (was_owner_granted_meanwhile(op)) {
        send_acquire(op);
        return;
    }
    hf_info_read(&info, op->lock->kind, &op->answer);
    if (is_foreign_hash(&info)) {
        end_acquire(op, hf_fail_acquire_not_a_lock(op->error, op->lock, &info));
        return;
    }
    hf_release_if_orphan(op->lock, &op->answer);
    if (op->options.wait_ms != 0) {
        hf_on_wait_post(op, &info);
        hf_holder_note(op, &info);
        if (op->may_be_queued)
            hf_label_note_needed(op->client, op->queue_place_valid_ms);
        wait_in_queue(op, info.ttl_ms);
        return;
    }
    end_acquire(op, op->lock->kind->unavailable_text
                        ? HF_TIMEOUT
                        : hf_fail_held_by(op->error, op->lock, &info));
}

/* ---- the answer ---- */

/* A wrong password or certificate fails every waiter of this lock now, not one each attempt. */
static void fail_whole_queue(struct hf_op *op, hf_status status)
{
    struct hf_wait_queue *line = op->queue;
    struct hf_op *behind;

    while (hf_wait_queue_first(line) == op && (behind = hf_wait_queue_second(line))) {
        if (op->error)
            hf_error_set(behind->error, status, "%s", op->error->text);
        end_waiter_with_status(behind, status);
    }
}

/* A closing client waits for no other request, but a wait whose time has passed ends as usual. */
static bool may_continue_waiting(struct hf_op *op, hf_status status)
{
    int64_t now = hf_loop_now(op->client->loop);

    if (!is_in_wait_queue(op) || !op->call.is_temporary_failure ||
        (op->client->is_closing && now < op->wait.deadline_ms))
        return false;
    hf_on_wait_log_refusal(op, &op->queue->last_answers, status);
    return hf_wait_failed(&op->wait, &op->queue->last_answers, now, status);
}

/* A request that had no reply need not be repeated if another call of the owner was granted
 * meanwhile. After a refusal by the server, a re-entry would get the same one. */
static void continue_waiting(struct hf_op *op, hf_status status)
{
    if (hf_status_is_unknown_outcome(status) && was_owner_granted_meanwhile(op) &&
        hf_loop_now(op->client->loop) < op->wait.deadline_ms)
        send_acquire(op);
    else
        advance_wait(op, EVENT_UNANSWERED, 0);
}

static void handle_failure(struct hf_op *op, hf_status status)
{
    if (status == HF_E_SERVER && op->lock->kind->has_server_queue && op->queue_place_valid_ms > 0)
        op->call.may_have_run = true; /* half of the script: it has entered the queue */
    if (may_continue_waiting(op, status)) {
        continue_waiting(op, status);
        return;
    }
    if (status == HF_E_AUTH || status == HF_E_TLS)
        fail_whole_queue(op, status);
    end_acquire(op, status);
}

static void on_acquire_answered(struct hf_call *call, hf_status status, struct hf_resp_value reply)
{
    struct hf_op *op = HF_OWNER_OF(call, struct hf_op, call);

    if (status < 0) {
        handle_failure(op, status);
        return;
    }
    if (!hf_op_read_answer(op, reply)) {
        handle_failure(op, hf_op_fail_unexpected_reply(op));
        return;
    }
    hf_wait_answered(&op->queue->last_answers);
    if (op->answer.count == op->wanted_hold_count)
        handle_grant(op, HF_OK);
    else
        handle_refusal(op);
}

/* The server will not keep its answer much longer: a new request follows. */
static bool is_request_id_too_old(const struct hf_op *op, int64_t now)
{
    return op->hold && op->lock->kind->is_ownerless &&
           now - op->hold_created_ms >= REQUEST_REPEAT_MS;
}

static bool ensure_hold_for_request(struct hf_op *op)
{
    int64_t now = hf_loop_now(op->client->loop);

    if (is_request_id_too_old(op, now))
        abandon_requested_hold(op);
    if (!op->hold) {
        op->hold_created_ms = now;
        op->hold = hf_hold_new(op);
    }
    return op->hold != NULL;
}

/* The record of the hold is created before the request, so that a grant cannot fail for
 * lack of memory; one serial number serves all requests of one wait. If another call of
 * the owner acquired the lock meanwhile, this call becomes a re-entry. */
static void send_acquire(struct hf_op *op)
{
    struct hf_hold *held = hf_hold_find(op->lock, op->owner);
    struct hf_hold *beside;

    hf_loop_disarm(op->client->loop, &op->timer);
    if (held) {
        switch_to_reentry(op, held);
        return;
    }
    if ((beside = find_conflicting_hold(op))) {
        end_acquire(op, hf_reentry_fail_deadlock(op, beside));
        return;
    }
    if (!ensure_hold_for_request(op)) {
        end_acquire(op, HF_E_NOMEM);
        return;
    }
    hf_wait_queue_name_channel(op);
    op->wanted_hold_count = op->lock->kind->is_ownerless ? op->permits : 1;
    op->client_ops_begun_when_sent = op->client->ops_begun;
    op->acquire_interval_ms = hf_loop_now(op->client->loop) - op->wait.last_request_ms;
    op->wait.last_request_ms += op->acquire_interval_ms;
    /* Kept for give_up_hold: hf_op_call_script clears may_have_run. */
    op->may_earlier_request_hold = op->may_earlier_request_hold || op->call.may_have_run;
    hf_op_note_outcome(op); /* the last request of this wait */
    hf_lease_grant_requested(&op->hold->work->lease, op->wait.last_request_ms, op->lease_ms);
    if (!op->lock->kind->grants_all_waiters)
        hf_op_want_replicas(op, is_grant_reply, on_replicas_confirmed);
    hf_listeners_request_count(op);
    hf_op_call_script(op, STEP_ACQUIRE, hf_hold_field(op->hold), hf_op_deadline(op),
                      on_acquire_answered);
}

/* ---- waiting ---- */

/* An object without owners has no lease whose end would limit the sleep. */
static bool may_miss_notifications(const struct hf_op *op, const struct hf_wait_queue *line)
{
    return line->subscription.is_sharded || op->lock->kind->is_ownerless ||
           (op->call.is_tracked && op->call.was_redirected_by_ask); /* TRACK-7 */
}

static void advance_wait(struct hf_op *op, enum hf_wait_event event, int64_t ttl_ms)
{
    int64_t now = hf_loop_now(op->client->loop);
    struct hf_wait_queue *line = op->queue;
    int64_t cap_ms = hf_wait_max_sleep_ms(op->client->watchdog_ms, may_miss_notifications(op, line),
                                          op->call.was_redirected_by_ask);

    switch (hf_wait_step(&op->wait, event, now, &line->channel, ttl_ms, cap_ms)) {
    case DO_REQUEST:
        hf_tally_woken(op);
        send_acquire(op);
        break;
    case DO_SUBSCRIBE:
        hf_wait_queue_listen(line);
        if (line->channel.is_refused)
            advance_wait(op, EVENT_NOT_SUBSCRIBED, ttl_ms);
        else
            hf_op_arm_due(op);
        break;
    case DO_SLEEP:
        hf_op_arm_due(op);
        break;
    case DO_GIVE_UP:
        end_acquire(op, op->was_last_grant_late && hf_wait_result(&line->last_answers) == HF_TIMEOUT
                            ? hf_op_fail_late(op)
                            : hf_holder_fill_timeout(op, hf_wait_result(&line->last_answers)));
        break;
    case DO_NOTHING:
        break;
    }
}

static void on_wait_event(struct hf_op *op, enum hf_wait_event event)
{
    advance_wait(op, event, 0);
}

static void on_wait_timer(struct hf_timer *timer)
{
    advance_wait(HF_OWNER_OF(timer, struct hf_op, timer), EVENT_DUE, 0);
}

/* ---- start, cancel ---- */

/* An owner does not wait in the queue for a lock that it holds itself. Owners that can
 * hold the lock together need not send their requests one after the other. */
static bool skips_queue(const struct hf_op *op)
{
    return op->options.wait_ms == 0 || would_wait_for_own_owner(op) ||
           (op->lock->kind->may_have_several_holders && !hf_wait_queue_first(op->lock->wait_queue));
}

static void enter_wait_queue(struct hf_op *op)
{
    struct hf_hold *held = hf_hold_find(op->lock, op->owner);

    hf_loop_disarm(op->client->loop, &op->timer);
    op->timer.fire = on_wait_timer;
    if (held) {
        switch_to_reentry(op, held);
        return;
    }
    if (skips_queue(op)) {
        send_acquire(op);
        return;
    }
    if (hf_wait_queue_enter(op))
        advance_wait(op, EVENT_DUE, 0);
    else
        hf_op_arm_due(op);
}

static void start_acquire(struct hf_op *op)
{
    const struct hf_acquire_options *o = &op->options;
    int64_t now = hf_loop_now(op->client->loop);

    op->began_ms = now;
    op->lease_ms = o->lease_ms > 0 ? o->lease_ms : op->client->watchdog_ms;
    hf_wait_init(&op->wait, o->wait_ms < 0 ? HF_NEVER : now + o->wait_ms);
    if (op->lock->kind->waiters_poll)
        hf_wait_make_spin(&op->wait);
    if (op->lock->kind->may_have_several_holders)
        hf_wait_make_shared(&op->wait);
    if (o->wait_ms != 0 && op->lock->kind->has_server_queue)
        op->queue_place_valid_ms = o->wait_ms < 0 ? op->client->watchdog_ms /* FAIR-2 */
                                      : hf_min_ms(o->wait_ms + op->client->watchdog_ms / 3,
                                                  op->client->watchdog_ms);
    if (o->cancel && o->cancel->is_fired) {
        hf_op_finish(op, HF_CANCELLED);
        return;
    }
    if (!hf_wait_queue_assign(op)) {
        hf_op_finish(op, HF_E_NOMEM);
        return;
    }
    if (o->cancel)
        hf_list_push(&o->cancel->waits, &op->cancel_node);
    enter_wait_queue(op);
}

/* The call may be in the queue, in the queue of a hold, or have a pending request. */
static void cancel_acquire(struct hf_op *op, hf_status status)
{
    struct hf_hold *held = hf_hold_find(op->lock, op->owner);

    hf_call_cancel(&op->call);
    hf_loop_disarm(op->client->loop, &op->timer);
    if (held && held->work && held->work->acting_op == op) {
        hf_reentry_cancel(op, status);
        return;
    }
    end_acquire(op, status);
}

const struct hf_verb hf_verb_acquire = {
    .name = "acquire",
    .start = start_acquire,
    .resume = enter_wait_queue,
    .cancel = cancel_acquire,
    .on_wait_event = on_wait_event,
    .on_queue_registered = hf_listeners_request_count,
    .ends_at_close = true,
};
