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
struct call {
    struct hf_quorum_hold *hold;
    uint32_t member;
    bool is_wanted;             /* QRENEW-2: the call requests it as soon as it may */
    bool is_pending;
    bool counts;                /* the pending request, or its result, is of this call */
    hf_status status;           /* that result */
    char answer[QUORUM_MEMBER_ERROR_MAX];
    struct hf_cancel cancel;
    struct hf_op_storage room;
};

struct hf_quorum_renewal {
    int64_t lease_ms;
    bool is_called;             /* a call is pending */
    struct call member_calls[];
};

/* ---- the result. All: [mutex] ---- */

static void note(struct call *call, hf_status status, const char *text)
{
    call->status = status;
    (void)snprintf(call->answer, sizeof call->answer, "%.*s",
                   QUORUM_MEMBER_ERROR_MAX - 1, text);
}

/* A member that was lost after its extension has no vote. */
static bool is_extended(const struct call *call)
{
    return call->counts && !call->is_pending && call->status == HF_OK &&
           hf_quorum_turn_has_vote(&call->hold->turn, call->member);
}

static bool is_open(const struct call *call)
{
    return call->is_wanted || (call->counts && call->is_pending);
}

static uint32_t count(const struct hf_quorum_hold *hold, bool (*is_so)(const struct call *))
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < hold->turn.count; i++)
        n += is_so(&hold->renewal->member_calls[i]);
    return n;
}

static bool is_lost(const struct hf_quorum_hold *hold)
{
    return hold->turn.phase == QUORUM_BROKEN || hf_quorum_majority_safe_ms(hold) == INT64_MIN;
}

/* QRENEW-1 */
static bool is_over(const struct hf_quorum_hold *hold)
{
    uint32_t yes = count(hold, is_extended);

    return hold->turn.phase == QUORUM_BROKEN || yes >= hold->turn.needed ||
           yes + count(hold, is_open) < hold->turn.needed;
}

static hf_status judge(struct hf_quorum_hold *hold, struct hf_error *err)
{
    bool is_done = count(hold, is_extended) >= hold->turn.needed;

    if (is_lost(hold))
        return hf_error_set(err, HF_LOST, "this owner's hold was lost: release it");
    if (is_done && hf_quorum_majority_safe_ms(hold) > 0)
        return HF_OK;
    for (uint32_t i = 0; i < hold->turn.count; i++)
        hf_quorum_set_answer(&hold->member_calls[i], hold->renewal->member_calls[i].status,
                             hold->renewal->member_calls[i].answer);
    return hf_quorum_fill_error(err, HF_E_QUORUM, hold);
}

/* ---- requests. All: [mutex] ---- */

static void on_renewed(void *ctx, hf_status status, const struct hf_error *err);

static void request(struct call *call)
{
    struct hf_lock *lock = call->hold->quorum->members[call->member];
    struct hf_acquire_options options = {.lease_ms = call->hold->renewal->lease_ms,
                                         .cancel = &call->cancel};
    struct hf_op_request renewal = {.verb = &hf_verb_extend,
                                    .owner = call->hold->owner,
                                    .options = &options};
    hf_status rc;

    HF_ASSERT(!call->is_pending); /* QRENEW-2 */
    call->is_wanted = false;
    call->counts = true;
    hf_cancel_init(&call->cancel, lock->client);
    rc = hf_op_submit_in(&call->room, lock, &renewal, on_renewed, call);
    call->is_pending = rc == HF_OK;
    if (rc < 0)
        note(call, rc, hf_status_text(rc));
    else
        note(call, HF_E_NOREPLY, "no reply yet");
}

static void begin_seat(struct call *call)
{
    call->counts = false;
    call->is_wanted = hf_quorum_turn_has_vote(&call->hold->turn, call->member);
    if (!call->is_wanted)
        note(call, HF_NOT_OWNER, "not held");
    else if (call->is_pending)
        note(call, HF_E_NOREPLY, "no reply to an earlier request");
    else
        request(call);
}

static size_t size_of(uint32_t members)
{
    return sizeof(struct hf_quorum_renewal) + members * sizeof(struct call);
}

static struct hf_quorum_renewal *renewal_new(struct hf_quorum_hold *hold)
{
    struct hf_quorum_renewal *renewal = hf_mem_new(hold->quorum->mem, size_of(hold->turn.count));

    for (uint32_t i = 0; renewal && i < hold->turn.count; i++) {
        renewal->member_calls[i].hold = hold;
        renewal->member_calls[i].member = i;
    }
    return renewal;
}

void hf_quorum_renewal_free(const struct hf_quorum *quorum, struct hf_quorum_renewal *renewal)
{
    if (renewal)
        hf_mem_free(quorum->mem, renewal, size_of(quorum->count));
}

/* ---- the end of a call ---- */

/* [mutex] */
static hf_status end_call(struct hf_quorum_hold *hold, struct hf_error *err)
{
    hf_status status = judge(hold, err);

    HF_ASSERT(hold->is_busy && hold->renewal->is_called);
    for (uint32_t i = 0; i < hold->turn.count; i++)
        hold->renewal->member_calls[i].is_wanted = false;
    hold->renewal->is_called = hold->is_busy = false;
    return status;
}

static void leave(struct hf_quorum_hold *hold)
{
    bool is_called = hold->renewal && hold->renewal->is_called;

    hf_quorum_leave(hold, is_called && is_over(hold), end_call);
}

static void on_renewed(void *ctx, hf_status status, const struct hf_error *err)
{
    struct call *call = ctx;
    struct hf_quorum_hold *hold = call->hold;

    pthread_mutex_lock(&hold->quorum->mutex);
    call->is_pending = false;
    if (status == HF_OK)
        note(call, status, "renewed");
    else
        note(call, status, err->status == status ? err->text : hf_status_text(status));
    if (call->is_wanted && !hold->quorum->is_freed)
        request(call);
    leave(hold);
}

void hf_quorum_renewal_go_on(struct hf_quorum_hold *hold)
{
    pthread_mutex_lock(&hold->quorum->mutex);
    leave(hold);
}

/* The caller may be in a callback of another client. */
void hf_quorum_renewal_broken(struct hf_quorum_hold *hold)
{
    struct hf_loop *loop = hold->quorum->members[0]->client->loop;

    if (!hold->renewal || !hold->renewal->is_called)
        return;
    pthread_cond_broadcast(&hold->quorum->ended);
    hf_loop_lock(loop);
    hf_loop_post(loop, &hold->task);
    hf_loop_unlock(loop);
}

/* QRENEW-3 */
void hf_quorum_renewal_stop(struct hf_quorum_hold *hold)
{
    hold->is_renewal = false;
    for (uint32_t i = 0; hold->renewal && i < hold->turn.count; i++)
        if (hold->renewal->member_calls[i].is_pending)
            hf_cancel_fire(&hold->renewal->member_calls[i].cancel);
}

/* ---- the calls ---- */

/* [mutex] */
static hf_status check_hold(const struct hf_quorum_hold *hold, struct hf_error *err)
{
    if (!hold)
        return hf_error_set(err, HF_NOT_OWNER, "%s", hf_status_text(HF_NOT_OWNER));
    if (hold->is_busy)
        return hf_error_set(err, HF_E_INVAL, "another call of this owner is pending");
    if (hold->turn.phase == QUORUM_BROKEN)
        return hf_error_set(err, HF_LOST, "this owner's hold was lost: release it");
    if (hold->wanted.lease_ms == 0)
        return hf_error_set(err, HF_E_INVAL,
                            "the clients renew this quorum by themselves: it was acquired "
                            "with lease_ms 0");
    return HF_OK;
}

/* [mutex] */
static hf_status begin(struct hf_quorum_hold **out, const struct hf_quorum *quorum,
                       int64_t owner, int64_t lease_ms, struct hf_error *err)
{
    struct hf_quorum_hold *hold = owner == 0 ? NULL : hf_quorum_find_hold(quorum, owner);
    hf_status rc = check_hold(hold, err);

    if (rc < 0)
        return rc;
    if (!hold->renewal && !(hold->renewal = renewal_new(hold)))
        return hf_error_set(err, HF_E_NOMEM, "%s", hf_status_text(HF_E_NOMEM));
    HF_ASSERT(hold->turn.phase == QUORUM_HELD && !hold->renewal->is_called);
    hold->is_busy = hold->is_renewal = true;
    hold->renewal->is_called = true;
    hold->renewal->lease_ms = lease_ms;
    for (uint32_t i = 0; i < hold->turn.count; i++)
        begin_seat(&hold->renewal->member_calls[i]);
    *out = hold;
    return HF_OK;
}

/* HF_OK: [mutex] */
static hf_status start(struct hf_quorum_hold **out, struct hf_quorum *quorum, int64_t owner,
                       int64_t lease_ms, bool blocks, struct hf_error *err)
{
    hf_status rc;

    if (hf_quorum_forked(quorum))
        return hf_fail_forked(err);
    if ((rc = hf_op_check_lease(lease_ms, err)) < 0 ||
        (blocks && (rc = hf_quorum_check_threads(quorum, err)) < 0))
        return rc;
    pthread_mutex_lock(&quorum->mutex);
    if ((rc = begin(out, quorum, owner, lease_ms, err)) < 0)
        pthread_mutex_unlock(&quorum->mutex);
    return rc;
}

hf_status hf_quorum_renew(struct hf_quorum *quorum, int64_t owner, int64_t lease_ms,
                          struct hf_error *err)
{
    struct hf_quorum_hold *hold;
    struct hf_error error = {.status = HF_OK};
    hf_status rc = start(&hold, quorum, owner, lease_ms, true, err);

    if (rc < 0)
        return rc;
    hold->done = NULL;
    while (!is_over(hold))
        pthread_cond_wait(&quorum->ended, &quorum->mutex);
    rc = end_call(hold, &error);
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
    hf_status rc = start(&hold, quorum, owner, lease_ms, false, NULL);

    if (rc < 0)
        return rc;
    hold->done = done;
    hold->ctx = ctx;
    if (is_over(hold)) /* no request could begin */
        rc = end_call(hold, &error);
    pthread_mutex_unlock(&quorum->mutex);
    return rc;
}
