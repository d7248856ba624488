/* Renews a quorum by hand: each member that the owner holds is extended, and a majority decides.
 * A member whose server does not reply is not waited for. Its request stays pending, perhaps
 * beyond the call.
 *
 * QRENEW-1  A call ends when a majority was extended in it, or when no majority can be any
 *           longer, or when the quorum is lost.
 * QRENEW-2  A member whose earlier request is pending is requested when that has ended: one
 *           request of a member is pending at a time.
 * QRENEW-3  A release cancels the pending requests, and follows them on each member. */
/* Tests: tests/live/set/test_quorum_renew.c, tests/sim/test_quorum.c. */
#include <stdio.h>

#include "lock/record/records.h"
#include "lock/set/quorum_hold.h"
#include "lock/verb/verbs.h"
#include "net/base/assert.h"
#include "net/base/error.h"
#include "net/base/mem.h"
#include "net/loop/loop.h"

/* One member. */
struct member_renewal {
    struct hf_quorum_hold *hold;
    uint32_t member;
    bool must_be_requested;     /* QRENEW-2: the call requests it as soon as it may */
    bool is_pending;
    bool counts_for_this_call;  /* the pending request, or its result, is of this call */
    hf_status status;           /* that result */
    char result_text[QUORUM_MEMBER_ERROR_MAX];
    struct hf_cancel cancel;
    struct hf_op_storage storage;
};

struct hf_quorum_renewal {
    int64_t lease_ms;
    bool has_pending_call;      /* a call is pending */
    struct member_renewal member_renewals[];
};

/* ---- the result. All: [mutex] ---- */

static void record_member_result(struct member_renewal *call, hf_status status, const char *text)
{
    call->status = status;
    (void)snprintf(call->result_text, sizeof call->result_text, "%.*s",
                   QUORUM_MEMBER_ERROR_MAX - 1, text);
}

/* A member that was lost after its extension has no vote. */
static bool was_member_extended(const struct member_renewal *call)
{
    return call->counts_for_this_call && !call->is_pending && call->status == HF_OK &&
           hf_quorum_turn_has_vote(&call->hold->turn, call->member);
}

static bool may_still_be_extended(const struct member_renewal *call)
{
    return call->must_be_requested || (call->counts_for_this_call && call->is_pending);
}

static uint32_t count_members_that(const struct hf_quorum_hold *hold,
                                   bool (*is_so)(const struct member_renewal *))
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < hold->turn.count; i++)
        n += is_so(&hold->renewal->member_renewals[i]);
    return n;
}

static bool is_quorum_lost(const struct hf_quorum_hold *hold)
{
    return hold->turn.phase == QUORUM_BROKEN || hf_quorum_majority_safe_ms(hold) == INT64_MIN;
}

/* QRENEW-1 */
static bool has_renewal_ended(const struct hf_quorum_hold *hold)
{
    uint32_t yes = count_members_that(hold, was_member_extended);

    return hold->turn.phase == QUORUM_BROKEN || yes >= hold->turn.votes_needed ||
           yes + count_members_that(hold, may_still_be_extended) < hold->turn.votes_needed;
}

static hf_status status_of_renewal(struct hf_quorum_hold *hold, struct hf_error *err)
{
    bool is_done = count_members_that(hold, was_member_extended) >= hold->turn.votes_needed;

    if (is_quorum_lost(hold))
        return hf_error_set(err, HF_LOST, "this owner's hold was lost: release it");
    if (is_done && hf_quorum_majority_safe_ms(hold) > 0)
        return HF_OK;
    for (uint32_t i = 0; i < hold->turn.count; i++)
        hf_quorum_set_answer(&hold->member_calls[i], hold->renewal->member_renewals[i].status,
                             hold->renewal->member_renewals[i].result_text);
    return hf_quorum_fill_error(err, HF_E_QUORUM, hold);
}

/* ---- requests. All: [mutex] ---- */

static void on_member_renewed(void *ctx, hf_status status, const struct hf_error *err);

static void start_member_renewal(struct member_renewal *call)
{
    struct hf_lock *lock = call->hold->quorum->members[call->member];
    struct hf_acquire_options options = {.lease_ms = call->hold->renewal->lease_ms,
                                         .cancel = &call->cancel};
    struct hf_op_request renewal = {.verb = &hf_verb_extend,
                                    .owner = call->hold->owner,
                                    .options = &options};
    hf_status rc;

    HF_ASSERT(!call->is_pending); /* QRENEW-2 */
    call->must_be_requested = false;
    call->counts_for_this_call = true;
    hf_cancel_init(&call->cancel, lock->client);
    rc = hf_op_submit_in(&call->storage, lock, &renewal, on_member_renewed, call);
    call->is_pending = rc == HF_OK;
    if (rc < 0)
        record_member_result(call, rc, hf_status_text(rc));
    else
        record_member_result(call, HF_E_NOREPLY, "no reply yet");
}

static void init_member_renewal(struct member_renewal *call)
{
    call->counts_for_this_call = false;
    call->must_be_requested = hf_quorum_turn_has_vote(&call->hold->turn, call->member);
    if (!call->must_be_requested)
        record_member_result(call, HF_NOT_OWNER, "not held");
    else if (call->is_pending)
        record_member_result(call, HF_E_NOREPLY, "no reply to an earlier request");
    else
        start_member_renewal(call);
}

static size_t renewal_size_in_bytes(uint32_t members)
{
    return sizeof(struct hf_quorum_renewal) + members * sizeof(struct member_renewal);
}

static struct hf_quorum_renewal *new_renewal(struct hf_quorum_hold *hold)
{
    struct hf_quorum_renewal *renewal = hf_mem_new(hold->quorum->mem,
                                                   renewal_size_in_bytes(hold->turn.count));

    for (uint32_t i = 0; renewal && i < hold->turn.count; i++) {
        renewal->member_renewals[i].hold = hold;
        renewal->member_renewals[i].member = i;
    }
    return renewal;
}

void hf_quorum_renewal_free(const struct hf_quorum *quorum, struct hf_quorum_renewal *renewal)
{
    if (renewal)
        hf_mem_free(quorum->mem, renewal, renewal_size_in_bytes(quorum->count));
}

/* ---- the end of a call ---- */

/* [mutex] */
static hf_status end_renewal(struct hf_quorum_hold *hold, struct hf_error *err)
{
    hf_status status = status_of_renewal(hold, err);

    HF_ASSERT(hold->has_pending_call && hold->renewal->has_pending_call);
    for (uint32_t i = 0; i < hold->turn.count; i++)
        hold->renewal->member_renewals[i].must_be_requested = false;
    hold->renewal->has_pending_call = hold->has_pending_call = false;
    return status;
}

static void leave_and_report(struct hf_quorum_hold *hold)
{
    bool is_called = hold->renewal && hold->renewal->has_pending_call;

    hf_quorum_leave(hold, is_called && has_renewal_ended(hold), end_renewal);
}

static void on_member_renewed(void *ctx, hf_status status, const struct hf_error *err)
{
    struct member_renewal *call = ctx;
    struct hf_quorum_hold *hold = call->hold;

    pthread_mutex_lock(&hold->quorum->mutex);
    call->is_pending = false;
    if (status == HF_OK)
        record_member_result(call, status, "renewed");
    else
        record_member_result(call, status, err->status == status ? err->text
                             : hf_status_text(status));
    if (call->must_be_requested && !hold->quorum->is_freed)
        start_member_renewal(call);
    leave_and_report(hold);
}

void hf_quorum_renewal_go_on(struct hf_quorum_hold *hold)
{
    pthread_mutex_lock(&hold->quorum->mutex);
    leave_and_report(hold);
}

/* The caller may be in a callback of another client. */
void hf_quorum_renewal_broken(struct hf_quorum_hold *hold)
{
    struct hf_loop *loop = hold->quorum->members[0]->client->loop;

    if (!hold->renewal || !hold->renewal->has_pending_call)
        return;
    pthread_cond_broadcast(&hold->quorum->call_ended);
    hf_loop_lock(loop);
    hf_loop_post(loop, &hold->turn_task);
    hf_loop_unlock(loop);
}

/* QRENEW-3 */
void hf_quorum_renewal_stop(struct hf_quorum_hold *hold)
{
    hold->is_call_renewal = false;
    for (uint32_t i = 0; hold->renewal && i < hold->turn.count; i++)
        if (hold->renewal->member_renewals[i].is_pending)
            hf_cancel_fire(&hold->renewal->member_renewals[i].cancel);
}

/* ---- the calls ---- */

/* [mutex] */
static hf_status check_hold_is_idle(const struct hf_quorum_hold *hold, struct hf_error *err)
{
    if (!hold)
        return hf_error_set(err, HF_NOT_OWNER, "%s", hf_status_text(HF_NOT_OWNER));
    if (hold->has_pending_call)
        return hf_error_set(err, HF_E_INVAL, "another call of this owner is pending");
    if (hold->turn.phase == QUORUM_BROKEN)
        return hf_error_set(err, HF_LOST, "this owner's hold was lost: release it");
    if (hold->options.lease_ms == 0)
        return hf_error_set(err, HF_E_INVAL,
                            "the clients renew this quorum by themselves: it was acquired "
                            "with lease_ms 0");
    return HF_OK;
}

/* [mutex] */
static hf_status begin_renewal_of_hold(struct hf_quorum_hold **out, const struct hf_quorum *quorum,
                                       int64_t owner, int64_t lease_ms, struct hf_error *err)
{
    struct hf_quorum_hold *hold = owner == 0 ? NULL : hf_quorum_find_hold(quorum, owner);
    hf_status rc = check_hold_is_idle(hold, err);

    if (rc < 0)
        return rc;
    if (!hold->renewal && !(hold->renewal = new_renewal(hold)))
        return hf_error_set(err, HF_E_NOMEM, "%s", hf_status_text(HF_E_NOMEM));
    HF_ASSERT(hold->turn.phase == QUORUM_HELD && !hold->renewal->has_pending_call);
    hold->has_pending_call = hold->is_call_renewal = true;
    hold->renewal->has_pending_call = true;
    hold->renewal->lease_ms = lease_ms;
    for (uint32_t i = 0; i < hold->turn.count; i++)
        init_member_renewal(&hold->renewal->member_renewals[i]);
    *out = hold;
    return HF_OK;
}

/* HF_OK: [mutex] */
static hf_status check_and_begin_renewal(struct hf_quorum_hold **out, struct hf_quorum *quorum,
                                         int64_t owner,
                                         int64_t lease_ms, bool blocks, struct hf_error *err)
{
    hf_status rc;

    if (hf_quorum_forked(quorum))
        return hf_fail_forked(err);
    if ((rc = hf_op_check_lease(lease_ms, err)) < 0 ||
        (blocks && (rc = hf_quorum_check_threads(quorum, err)) < 0))
        return rc;
    pthread_mutex_lock(&quorum->mutex);
    if ((rc = begin_renewal_of_hold(out, quorum, owner, lease_ms, err)) < 0)
        pthread_mutex_unlock(&quorum->mutex);
    return rc;
}

hf_status hf_quorum_renew(struct hf_quorum *quorum, int64_t owner, int64_t lease_ms,
                          struct hf_error *err)
{
    struct hf_quorum_hold *hold;
    struct hf_error error = {.status = HF_OK};
    hf_status rc = check_and_begin_renewal(&hold, quorum, owner, lease_ms, true, err);

    if (rc < 0)
        return rc;
    hold->done = NULL;
    while (!has_renewal_ended(hold))
        pthread_cond_wait(&quorum->call_ended, &quorum->mutex);
    rc = end_renewal(hold, &error);
    pthread_mutex_unlock(&quorum->mutex);
    if (err)
        *err = error;
    return rc;
}

hf_status hf_quorum_renew_async(struct hf_quorum *quorum, int64_t owner, int64_t lease_ms,
                                hf_done *done, void *ctx)
{
    struct hf_quorum_hold *hold;
    struct hf_error error;
    hf_status rc = check_and_begin_renewal(&hold, quorum, owner, lease_ms, false, NULL);

    if (rc < 0)
        return rc;
    hold->done = done;
    hold->ctx = ctx;
    if (has_renewal_ended(hold)) /* no request could begin */
        rc = end_renewal(hold, &error);
    pthread_mutex_unlock(&quorum->mutex);
    return rc;
}
