/* Renews a multi-lock by hand: each member is extended, all at once. */
/* Tests: tests/live/set/test_multi_renew.c, tests/sim/test_multi.c. */
#include "lock/api/op_request.h"
#include "lock/record/records.h"
#include "lock/set/multi_hold.h"
#include "lock/verb/verbs.h"
#include "net/base/assert.h"
#include "net/base/error.h"
#include "net/base/mem.h"

struct multi_renewal;

/* One member. */
struct member_renewal {
    struct multi_renewal *renewal;
    uint32_t member;
    bool is_pending;
    struct hf_waiter waiter;    /* of a blocking call */
    struct hf_op_storage storage;
};

struct multi_renewal {
    struct hf_multi *multi;
    struct hf_multi_hold *hold;
    struct hf_acquire_options options;
    int64_t owner;
    uint32_t pending_members;
    hf_status status;
    struct hf_error error;
    hf_done *done;              /* NULL: its caller waits */
    void *ctx;
    struct member_renewal member_renewals[];
};

/* ---- the result ---- */

/* HF_LOST if a member was lost; otherwise the first failure. [mutex] */
static void record_member_result(struct member_renewal *seat, hf_status status,
                                 const struct hf_error *err)
{
    struct multi_renewal *call = seat->renewal;

    HF_ASSERT(call->hold->has_pending_call);
    call->pending_members -= seat->is_pending;
    seat->is_pending = false;
    if (status == HF_OK || (call->status != HF_OK &&
                            (status != HF_LOST || call->status == HF_LOST)))
        return;
    call->status = status;
    hf_multi_name_member(&call->error, call->multi, seat->member, status,
                         err->status == status ? err->text : hf_status_text(status));
    call->error.is_temporary = status == HF_E_SERVER && err->is_temporary;
}

/* A member may have been lost after its extension. [mutex] */
static void record_member_losses(struct multi_renewal *call)
{
    for (uint32_t i = 0; i < call->multi->count && call->status == HF_OK; i++)
        if (hf_lock_safe_ms(call->multi->members[i], call->owner) == INT64_MIN) {
            call->status = HF_LOST;
            hf_multi_name_member(&call->error, call->multi, i, HF_LOST,
                                 "this owner's hold was lost after its renewal: release it");
        }
}

/* [mutex] */
static void end_renewal(struct multi_renewal *call)
{
    record_member_losses(call);
    hf_multi_leave_hold(call->hold);
}

/* ---- requests ---- */

static void on_member_renewed(void *ctx, hf_status status, const struct hf_error *err)
{
    struct member_renewal *seat = ctx;
    struct multi_renewal *call = seat->renewal;
    struct hf_multi *multi = call->multi;
    const struct hf_mem *mem = multi->mem;
    size_t size = sizeof *call + multi->count * sizeof *seat;
    bool is_over;

    pthread_mutex_lock(&multi->mutex);
    record_member_result(seat, status, err);
    is_over = call->pending_members == 0;
    if (is_over)
        end_renewal(call);
    pthread_mutex_unlock(&multi->mutex);
    if (!is_over)
        return;
    call->done(call->ctx, call->status, &call->error); /* may free the multi-lock */
    hf_mem_free(mem, call, size);
}

/* [mutex] */
static void start_member_renewal(struct member_renewal *seat)
{
    struct multi_renewal *call = seat->renewal;
    struct hf_lock *lock = call->multi->members[seat->member];
    struct hf_op_request renewal = {.verb = &hf_verb_extend,
                                    .owner = call->owner,
                                    .options = &call->options};
    hf_status rc = call->done
        ? hf_op_submit_in(&seat->storage, lock, &renewal, on_member_renewed, seat)
                              : hf_op_start(&seat->storage, &seat->waiter, lock, &renewal);

    seat->is_pending = rc == HF_OK;
    call->pending_members += seat->is_pending;
    if (rc < 0)
        record_member_result(seat, rc, &seat->storage.error);
}

/* ---- the calls ---- */

static size_t renewal_size_in_bytes(const struct hf_multi *multi)
{
    return sizeof(struct multi_renewal) + multi->count * sizeof(struct member_renewal);
}

/* [mutex] */
static hf_status begin_renewal_of_hold(struct multi_renewal **out, struct hf_multi *multi,
                                       int64_t owner,
                                       int64_t lease_ms, struct hf_error *err)
{
    struct hf_multi_hold *hold = owner == 0 ? NULL : hf_multi_find_hold(multi, owner);
    struct multi_renewal *call;

    if (!hold || hold->hold_count == 0)
        return hf_error_set(err, HF_NOT_OWNER, "%s", hf_status_text(HF_NOT_OWNER));
    if (hold->has_pending_call)
        return hf_error_set(err, HF_E_INVAL, "another call of this owner is pending");
    if (!(call = hf_mem_new(multi->mem, renewal_size_in_bytes(multi))))
        return hf_error_set(err, HF_E_NOMEM, "%s", hf_status_text(HF_E_NOMEM));
    call->multi = multi;
    call->hold = hold;
    call->owner = owner;
    call->options.lease_ms = lease_ms;
    hold->has_pending_call = true;
    *out = call;
    return HF_OK;
}

/* HF_OK: [mutex] */
static hf_status begin_renewal(struct multi_renewal **out, struct hf_multi *multi, int64_t owner,
                               int64_t lease_ms, struct hf_error *err)
{
    hf_status rc;

    if (hf_multi_forked(multi))
        return hf_fail_forked(err);
    if ((rc = hf_op_check_lease(lease_ms, err)) < 0)
        return rc;
    pthread_mutex_lock(&multi->mutex);
    if ((rc = begin_renewal_of_hold(out, multi, owner, lease_ms, err)) < 0)
        pthread_mutex_unlock(&multi->mutex);
    return rc;
}

static void start_all_member_renewals(struct multi_renewal *call)
{
    for (uint32_t i = 0; i < call->multi->count; i++) {
        call->member_renewals[i].renewal = call;
        call->member_renewals[i].member = i;
        start_member_renewal(&call->member_renewals[i]);
    }
}

/* [mutex] */
static void await_all_members(struct multi_renewal *call)
{
    for (uint32_t i = 0; i < call->multi->count; i++) {
        struct member_renewal *seat = &call->member_renewals[i];
        hf_status rc;

        if (!seat->is_pending)
            continue;
        pthread_mutex_unlock(&call->multi->mutex);
        rc = hf_op_await(&seat->storage);
        pthread_mutex_lock(&call->multi->mutex);
        record_member_result(seat, rc, &seat->storage.error);
    }
}

hf_status hf_multi_renew(struct hf_multi *multi, int64_t owner, int64_t lease_ms,
                         struct hf_error *err)
{
    struct multi_renewal *call;
    hf_status rc = begin_renewal(&call, multi, owner, lease_ms, err);

    if (rc < 0)
        return rc;
    start_all_member_renewals(call);
    await_all_members(call);
    end_renewal(call);
    pthread_mutex_unlock(&multi->mutex);
    rc = call->status;
    if (err)
        *err = call->error;
    hf_mem_free(multi->mem, call, renewal_size_in_bytes(multi));
    return rc;
}

/* If no request could begin, the function fails and `done` is not called. */
hf_status hf_multi_renew_async(struct hf_multi *multi, int64_t owner, int64_t lease_ms,
                               hf_done *done, void *ctx)
{
    struct multi_renewal *call;
    hf_status rc = begin_renewal(&call, multi, owner, lease_ms, NULL);

    if (rc < 0)
        return rc;
    call->done = done;
    call->ctx = ctx;
    start_all_member_renewals(call);
    if (call->pending_members > 0) {
        pthread_mutex_unlock(&multi->mutex);
        return HF_OK;
    }
    rc = call->status;
    hf_multi_leave_hold(call->hold);
    pthread_mutex_unlock(&multi->mutex);
    hf_mem_free(multi->mem, call, renewal_size_in_bytes(multi));
    return rc;
}
