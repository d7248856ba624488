/* Calls on a quorum: quorum_turn.c decides which members are requested, and this file sends the
 * requests without blocking. Replies, losses and timers arrive on the threads of the members'
 * clients; the mutex of the quorum orders them. */
/* Tests: tests/live/set/test_quorum.c, tests/sim/test_quorum.c. */
#include "lock/record/hold.h"
#include "lock/record/hold_lookup.h"
#include "lock/record/records.h"
#include "lock/set/quorum_hold.h"
#include "lock/verb/verbs.h"
#include "net/base/error.h"
#include "net/base/moment.h"
#include "net/base/random.h"
#include "net/loop/loop.h"

/* ---- step by step. All: [mutex] ---- */

static void on_member_acquired(void *ctx, hf_status status, const struct hf_error *err);
static void on_member_released(void *ctx, hf_status status, const struct hf_error *err);
static void on_member_token_raised(void *ctx, hf_status status, const struct hf_error *err);
static void on_member_wait(void *ctx, struct hf_lock *lock,
                           const struct hf_lock_info *info);
static void on_member_renewed(void *ctx, struct hf_lock *lock, int64_t owner);
static void on_member_lost(void *ctx, struct hf_lock *lock, int64_t owner,
                           enum hf_lost reason);

static struct hf_lock *lock_of_member(const struct hf_quorum_member_call *call)
{
    return call->hold->quorum->members[call->member];
}

/* The whole max_hold_ms before the quorum is held; afterwards the rest of it, so that a
 * member that is requested again does not make the hold longer. */
static int64_t remaining_max_hold_ms(const struct hf_quorum_hold *hold)
{
    if (hold->turn.phase != QUORUM_HELD)
        return hold->options.max_hold_ms;
    return hold->max_hold_until_ms == HF_NEVER
               ? 0
               : hf_max_ms(hold->max_hold_until_ms - hf_clock_ms(), 1);
}

static struct hf_acquire_options options_of_member(struct hf_quorum_member_call *call,
                                                   int64_t wait_ms)
{
    struct hf_quorum_hold *hold = call->hold;

    return (struct hf_acquire_options){
        .owner = hold->owner,
        .wait_ms = wait_ms,
        .lease_ms = hold->options.lease_ms,
        .max_hold_ms = remaining_max_hold_ms(hold),
        .cancel = &call->cancel,
        .on_wait = hold->options.on_wait ? on_member_wait : NULL,
        .on_renewed = hold->options.on_renewed ? on_member_renewed : NULL,
        .on_lost = on_member_lost,
        .ctx = hold};
}

static void start_member_acquire(struct hf_quorum_member_call *call, int64_t wait_ms)
{
    struct hf_acquire_options options = options_of_member(call, wait_ms);
    struct hf_op_request request = {.verb = &hf_verb_acquire,
                                    .is_member = true,
                                    .owner = call->hold->owner,
                                    .options = &options};
    hf_status rc;

    call->token_raised_to = 0;
    hf_cancel_init(&call->cancel, lock_of_member(call)->client);
    rc = hf_op_submit_in(&call->storage, lock_of_member(call), &request, on_member_acquired, call);
    if (rc < 0) {
        hf_quorum_note_answer(call, rc, &call->storage.error);
        hf_quorum_turn_request_ended(&call->hold->turn, call->member, rc, hf_clock_ms());
    }
}

/* Returns whether this member belongs to the requested release. */
static bool belongs_to_release(const struct hf_quorum_member_call *call)
{
    return call->hold->is_call_release && call->was_held;
}

/* A release that cannot begin would leave the member held: it needs no memory and
 * no place among the calls of its client. */
static void start_member_release(struct hf_quorum_member_call *call)
{
    struct hf_op_request request = {.verb = &hf_verb_release,
                                    .begins_despite_limits = true,
                                    .owner = call->hold->owner};
    hf_status rc = hf_op_submit_in(&call->storage, lock_of_member(call), &request,
                                   on_member_released, call);

    if (call->hold->turn.phase != QUORUM_LEAVE)
        hf_quorum_note_returned(call);
    if (rc < 0) {
        if (belongs_to_release(call))
            hf_quorum_note_answer(call, rc, &call->storage.error);
        hf_quorum_turn_release_ended(&call->hold->turn, call->member);
    }
}

/* The member is no longer provisional. hf_client_close waits for provisional members,
 * which may still be released. */
static void commit_member(const struct hf_quorum_hold *hold, uint32_t member)
{
    struct hf_lock *lock = hold->quorum->members[member];
    struct hf_hold *held;

    hf_loop_lock(lock->client->loop);
    if ((held = hf_hold_find(lock, hold->owner)))
        hf_hold_commit(held);
    hf_loop_unlock(lock->client->loop);
}

static void commit_if_majority_is_safe(struct hf_quorum_hold *hold)
{
    int64_t safe_ms = hf_quorum_majority_safe_ms(hold);
    bool are_safe = safe_ms > 0 && safe_ms >= hold->options.lease_ms / 2;
    int64_t now_ms = hf_clock_ms();

    hf_quorum_end_comparison(hold);
    hf_quorum_turn_safe_checked(&hold->turn, are_safe, now_ms);
    hold->max_hold_until_ms = hold->options.max_hold_ms > 0
                             ? now_ms + hold->options.max_hold_ms
                             : HF_NEVER;
    for (uint32_t i = 0; are_safe && i < hold->turn.count; i++)
        if (hold->turn.votes[i].state == VOTE_HELD)
            commit_member(hold, i);
}

static void arm_turn_timer(struct hf_quorum_hold *hold, int64_t due_ms)
{
    struct hf_loop *loop = hold->quorum->members[0]->client->loop;

    hf_loop_lock(loop);
    if (due_ms == HF_NEVER)
        hf_loop_disarm(loop, &hold->turn_timer);
    else
        hf_loop_arm(loop, &hold->turn_timer, due_ms);
    hf_loop_unlock(loop);
}

/* Most members are ours. False: something must be heard before they are counted. */
static bool complete_majority(struct hf_quorum_hold *hold)
{
    enum hf_quorum_raising numbering;

    if (hf_quorum_waits_to_compare(hold)) {
        arm_turn_timer(hold, hold->compare_until_ms);
        return false;
    }
    if (hf_quorum_shares_a_server(hold))
        return true;
    numbering = hf_quorum_raise_tokens(hold, on_member_token_raised);
    if (numbering == RAISING_PENDING)
        arm_turn_timer(hold, HF_NEVER); /* each request ends */
    else if (numbering == RAISING_DONE)
        commit_if_majority_is_safe(hold);
    return numbering != RAISING_PENDING; /* FAILED: votes were lost */
}

/* True: the call has ended. */
static bool run_steps(struct hf_quorum_hold *hold)
{
    struct hf_quorum_step step;

    if (hold->quorum->is_freed)
        return false;
    for (;;) {
        step = hf_quorum_turn_next(&hold->turn, hf_clock_ms());
        switch (step.action) {
        case QUORUM_DO_REQUEST:
            start_member_acquire(&hold->member_calls[step.member], step.wait_ms);
            break;
        case QUORUM_DO_CANCEL:
            hf_cancel_fire(&hold->member_calls[step.member].cancel);
            break;
        case QUORUM_DO_RELEASE:
            if (hold->member_calls[step.member].is_raising_token)
                hold->member_calls[step.member].must_be_released_after_raise = true;
            else
                start_member_release(&hold->member_calls[step.member]);
            break;
        case QUORUM_DO_CHECK_SAFE:
            if (!complete_majority(hold))
                return false;
            break;
        case QUORUM_DO_CONFIRM:
            hf_quorum_confirm(hold);
            break;
        case QUORUM_DO_NOTHING:
        case QUORUM_DO_END:
            arm_turn_timer(hold, hf_quorum_turn_due(&hold->turn));
            return step.action == QUORUM_DO_END;
        }
    }
}

/* ---- the end of a call ---- */

/* [mutex] */
static hf_status end_acquire_or_release(struct hf_quorum_hold *hold, struct hf_error *err)
{
    hf_status status = hf_quorum_call_status(hold, err);

    hold->has_pending_call = false;
    if (hold->turn.phase == QUORUM_IDLE)
        hold->owner = 0;
    return status;
}

static void run_steps_and_report(struct hf_quorum_hold *hold)
{
    hf_quorum_leave(hold, run_steps(hold), end_acquire_or_release);
}

/* ---- events of members ---- */

/* Losses are reported first, so the report of a grant may follow that of its loss. [mutex] */
static bool was_member_lost_after_grant(const struct hf_quorum_member_call *call, hf_status status)
{
    return status == HF_OK &&
           hf_lock_safe_ms(lock_of_member(call), call->hold->owner) == INT64_MIN;
}

/* A member was granted while the quorum is held. */
static void commit_late_grant(struct hf_quorum_hold *hold, struct hf_quorum_member_call *granted)
{
    commit_member(hold, granted->member);
    if (hold->quorum->is_fenced)
        hf_quorum_raise(granted, on_member_token_raised);
}

static void on_member_acquired(void *ctx, hf_status status, const struct hf_error *err)
{
    struct hf_quorum_member_call *call = ctx;
    struct hf_quorum_hold *hold = call->hold;

    pthread_mutex_lock(&hold->quorum->mutex);
    if (!hold->is_call_release && !hold->is_call_renewal)
        hf_quorum_note_answer(call, status, err);
    hf_quorum_turn_request_ended(&hold->turn, call->member, status, hf_clock_ms());
    if (was_member_lost_after_grant(call, status))
        (void)hf_quorum_turn_lost(&hold->turn, call->member, HF_NEVER);
    else if (status == HF_OK && hold->turn.phase == QUORUM_HELD)
        commit_late_grant(hold, call);
    else if (status != HF_OK && !hold->is_call_release)
        (void)hf_quorum_shares_a_server(hold);
    run_steps_and_report(hold);
}

static void on_member_released(void *ctx, hf_status status, const struct hf_error *err)
{
    struct hf_quorum_member_call *call = ctx;
    struct hf_quorum_hold *hold = call->hold;

    pthread_mutex_lock(&hold->quorum->mutex);
    /* Without a script, no request was sent: the client knew of the loss. */
    call->had_server_no_hold = status == HF_LOST && call->storage.op.call.script;
    if (belongs_to_release(call))
        hf_quorum_note_answer(call, status, err);
    hf_quorum_turn_release_ended(&hold->turn, call->member);
    run_steps_and_report(hold);
}

static void on_member_token_raised(void *ctx, hf_status status, const struct hf_error *err)
{
    struct hf_quorum_member_call *call = ctx;
    struct hf_quorum_hold *hold = call->hold;

    pthread_mutex_lock(&hold->quorum->mutex);
    if (status != HF_OK && !hold->is_call_release && !hold->is_call_renewal)
        hf_quorum_note_answer(call, status, err);
    hf_quorum_note_raised(call, status);
    if (call->must_be_released_after_raise)
        start_member_release(call);
    call->must_be_released_after_raise = false;
    run_steps_and_report(hold);
}

void hf_quorum_on_timer(struct hf_timer *timer)
{
    struct hf_quorum_hold *hold =
        HF_OWNER_OF(timer, struct hf_quorum_hold, turn_timer);

    hf_loop_post(hold->quorum->members[0]->client->loop, &hold->turn_task);
}

void hf_quorum_on_task(struct hf_task *task)
{
    struct hf_quorum_hold *hold =
        HF_OWNER_OF(task, struct hf_quorum_hold, turn_task);
    struct hf_loop *loop = hold->quorum->members[0]->client->loop;

    hf_loop_unlock(loop);
    pthread_mutex_lock(&hold->quorum->mutex);
    run_steps_and_report(hold);
    hf_quorum_renewal_go_on(hold);
    hf_loop_lock(loop);
}

static bool is_acquire_pending(const struct hf_quorum_hold *hold)
{
    return hold->turn.has_pending_call && !hold->is_call_release;
}

/* The record may be unused now, or belong to another owner. Owner 0: any call that
 * waits. */
static struct hf_acquire_options options_of_hold(struct hf_quorum_hold *hold,
                                                 int64_t owner)
{
    struct hf_acquire_options wanted = {0};

    pthread_mutex_lock(&hold->quorum->mutex);
    if (hold->owner != 0 &&
        (owner == 0 ? is_acquire_pending(hold) : hold->owner == owner))
        wanted = hold->options;
    pthread_mutex_unlock(&hold->quorum->mutex);
    return wanted;
}

static void on_member_wait(void *ctx, struct hf_lock *lock,
                           const struct hf_lock_info *info)
{
    struct hf_acquire_options wanted = options_of_hold(ctx, 0);

    if (wanted.on_wait)
        wanted.on_wait(wanted.ctx, lock, info);
}

static void on_member_renewed(void *ctx, struct hf_lock *lock, int64_t owner)
{
    struct hf_acquire_options wanted = options_of_hold(ctx, owner);

    if (wanted.on_renewed)
        wanted.on_renewed(wanted.ctx, lock, owner);
}

/* A late loss of an earlier hold is ignored: then the member of this hold is safe,
 * or not held. */
static void on_member_lost(void *ctx, struct hf_lock *lock, int64_t owner,
                           enum hf_lost reason)
{
    struct hf_quorum_hold *hold = ctx;
    struct hf_acquire_options wanted;
    bool is_broken;

    pthread_mutex_lock(&hold->quorum->mutex);
    if (hold->owner != owner || hf_lock_safe_ms(lock, owner) != INT64_MIN) {
        pthread_mutex_unlock(&hold->quorum->mutex);
        return;
    }
    is_broken = hf_quorum_note_losses(hold);
    wanted = hold->options;
    run_steps_and_report(hold);
    if (is_broken && wanted.on_lost)
        wanted.on_lost(wanted.ctx, lock, owner, reason);
}

bool hf_quorum_has_hold(const struct hf_hold *hold, const void *quorum)
{
    const void *ctx;

    return hf_hold_has_on_lost(hold, on_member_lost, &ctx) &&
           ((const struct hf_quorum_hold *)ctx)->quorum == quorum;
}

/* ---- acquire ---- */

/* The owner's, in which nothing is under way. [mutex] */
static hf_status find_or_add_idle_hold(struct hf_quorum_hold **out,
                                       struct hf_quorum *quorum, int64_t owner,
                                       struct hf_error *err)
{
    struct hf_quorum_hold *hold = hf_quorum_find_hold(quorum, owner);

    if (hold)
        return hold->turn.phase == QUORUM_BROKEN && !hold->has_pending_call
                   ? hf_error_set(err, HF_LOST,
                                  "this owner's hold was lost: release it first")
                   : hf_error_set(err, HF_E_INVAL,
                                  "this owner already holds the quorum, or another "
                                  "call of this owner is pending");
    if (!(hold = hf_quorum_add_hold(quorum)))
        return hf_error_set(err, HF_E_NOMEM, "%s", hf_status_text(HF_E_NOMEM));
    hold->owner = owner;
    hold->has_pending_call = true;
    *out = hold;
    return HF_OK;
}

/* [mutex] */
static void begin_acquire(struct hf_quorum_hold *hold,
                          const struct hf_acquire_options *o)
{
    const struct hf_client *client = hold->quorum->members[0]->client;
    int64_t now_ms = hf_clock_ms();
    struct hf_quorum_request request = {
        .wait_ms = o->wait_ms,
        .lease_ms = o->lease_ms,
        .heal_interval_ms = o->lease_ms > 0 ? HF_NEVER : client->watchdog_ms / 3};

    (void)hf_random_bytes(&request.random_seed, sizeof request.random_seed);
    hold->options = *o;
    hold->is_call_release = hold->is_call_renewal = hold->is_refused_for_same_server = false;
    hold->compare_until_ms = hf_quorum_compare_until_ms(hold->quorum, o, now_ms);
    for (uint32_t i = 0; i < hold->turn.count; i++)
        hf_quorum_set_answer(&hold->member_calls[i], HF_E_NOREPLY, "no reply yet");
    hf_quorum_turn_acquire(&hold->turn, now_ms, &request);
}

static hf_status check_and_begin_acquire(struct hf_quorum_hold **out,
                                         struct hf_quorum *quorum,
                                         const struct hf_acquire_options *options,
                                         bool blocks, struct hf_error *err)
{
    hf_status rc;

    if (hf_quorum_forked(quorum))
        return hf_fail_forked(err);
    if ((rc = hf_quorum_check_options(quorum, options, blocks, err)) < 0)
        return rc;
    pthread_mutex_lock(&quorum->mutex);
    if ((rc = find_or_add_idle_hold(out, quorum, options->owner, err)) < 0) {
        pthread_mutex_unlock(&quorum->mutex);
        return rc;
    }
    begin_acquire(*out, options);
    return HF_OK;
}

/* ---- release ---- */

static void begin_release_of_member(struct hf_quorum_member_call *call)
{
    call->was_held = call->hold->turn.votes[call->member].state == VOTE_HELD;
    call->proved_held_before_release_ms = hf_quorum_proved_ms(call->hold, call->member);
    hf_quorum_set_answer(call, HF_NOT_OWNER, "not held");
}

/* [mutex] */
static hf_status begin_release(struct hf_quorum_hold **out,
                               const struct hf_quorum *quorum, int64_t owner,
                               struct hf_error *err)
{
    struct hf_quorum_hold *hold =
        owner == 0 ? NULL : hf_quorum_find_hold(quorum, owner);

    if (!hold)
        return hf_error_set(err, HF_NOT_OWNER, "%s",
                            hf_status_text(HF_NOT_OWNER));
    if (hold->has_pending_call)
        return hf_error_set(err, HF_E_INVAL,
                            "another call of this owner is pending");
    (void)hf_quorum_note_losses(hold); /* QUORUM-11: their callbacks may be late */
    hf_quorum_renewal_stop(hold);
    hold->has_pending_call = hold->is_call_release = true;
    hold->had_lost_majority = hold->turn.phase == QUORUM_BROKEN;
    for (uint32_t i = 0; i < hold->turn.count; i++)
        begin_release_of_member(&hold->member_calls[i]);
    hf_quorum_turn_release(&hold->turn);
    *out = hold;
    return HF_OK;
}

static hf_status check_and_begin_release(struct hf_quorum_hold **out,
                                         struct hf_quorum *quorum, int64_t owner,
                                         bool blocks, struct hf_error *err)
{
    hf_status rc;

    if (hf_quorum_forked(quorum))
        return hf_fail_forked(err);
    if (blocks && (rc = hf_quorum_check_threads(quorum, err)) < 0)
        return rc;
    pthread_mutex_lock(&quorum->mutex);
    if ((rc = begin_release(out, quorum, owner, err)) < 0)
        pthread_mutex_unlock(&quorum->mutex);
    return rc;
}

/* ---- waited for, or not ---- */

/* [mutex] when called; free when it returns. */
static hf_status run_call_blocking(struct hf_quorum_hold *hold, struct hf_error *err)
{
    struct hf_quorum *quorum = hold->quorum;
    struct hf_error error = {.status = HF_OK};
    hf_status status;

    hold->done = NULL;
    (void)run_steps(hold);
    while (hold->turn.has_pending_call)
        pthread_cond_wait(&quorum->call_ended, &quorum->mutex);
    status = end_acquire_or_release(hold, &error);
    pthread_mutex_unlock(&quorum->mutex);
    if (err)
        *err = error;
    return status;
}

hf_status hf_quorum_acquire(struct hf_quorum *quorum,
                            const struct hf_acquire_options *options,
                            struct hf_error *err)
{
    struct hf_acquire_options o;
    struct hf_quorum_hold *hold;
    hf_status rc = hf_acquire_options_read(&o, options, err);

    if (rc == HF_OK)
        rc = check_and_begin_acquire(&hold, quorum, &o, true, err);
    return rc < 0 ? rc : run_call_blocking(hold, err);
}

hf_status hf_quorum_release(struct hf_quorum *quorum, int64_t owner,
                            struct hf_error *err)
{
    struct hf_quorum_hold *hold;
    hf_status rc = check_and_begin_release(&hold, quorum, owner, true, err);

    return rc < 0 ? rc : run_call_blocking(hold, err);
}

/* [mutex] when called; free when it returns. A call that ends at once fails by
 * its return value. */
static hf_status start_call_async(struct hf_quorum_hold *hold, hf_done *done, void *ctx)
{
    struct hf_quorum *quorum = hold->quorum;
    struct hf_error error;
    hf_status status = HF_OK;

    hold->done = done;
    hold->ctx = ctx;
    if (run_steps(hold))
        status = end_acquire_or_release(hold, &error);
    pthread_mutex_unlock(&quorum->mutex);
    return status;
}

hf_status hf_quorum_acquire_async(struct hf_quorum *quorum,
                                  const struct hf_acquire_options *options,
                                  hf_done *done, void *ctx)
{
    struct hf_acquire_options o;
    struct hf_quorum_hold *hold;
    hf_status rc = hf_acquire_options_read(&o, options, NULL);

    if (rc == HF_OK)
        rc = check_and_begin_acquire(&hold, quorum, &o, false, NULL);
    return rc < 0 ? rc : start_call_async(hold, done, ctx);
}

hf_status hf_quorum_release_async(struct hf_quorum *quorum, int64_t owner,
                                  hf_done *done, void *ctx)
{
    struct hf_quorum_hold *hold;
    hf_status rc = check_and_begin_release(&hold, quorum, owner, false, NULL);

    return rc < 0 ? rc : start_call_async(hold, done, ctx);
}

void hf_quorum_cancel(struct hf_quorum *quorum, int64_t owner)
{
    struct hf_loop *loop = quorum->members[0]->client->loop;
    struct hf_quorum_hold *hold;

    if (owner == 0 || hf_quorum_forked(quorum))
        return;
    pthread_mutex_lock(&quorum->mutex);
    if (!(hold = hf_quorum_find_hold(quorum, owner)) || hold->is_call_release) {
        pthread_mutex_unlock(&quorum->mutex);
        return;
    }
    hf_quorum_turn_cancel(&hold->turn, HF_CANCELLED);
    hf_loop_lock(loop);
    hf_loop_post(loop, &hold->turn_task); /* where callbacks run */
    hf_loop_unlock(loop);
    pthread_mutex_unlock(&quorum->mutex);
}
