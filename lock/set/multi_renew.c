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
static void record_member_result(struct member_renewal *member_renewal, hf_status status,
                                 const struct hf_error *err)
{
    struct multi_renewal *renewal = member_renewal->renewal;

    HF_ASSERT(renewal->hold->has_pending_call);
    renewal->pending_members -= member_renewal->is_pending;
    member_renewal->is_pending = false;
    if (status == HF_OK || (renewal->status != HF_OK &&
                            (status != HF_LOST || renewal->status == HF_LOST)))
        return;
    renewal->status = status;
    hf_multi_name_member(&renewal->error, renewal->multi, member_renewal->member, status,
                         err->status == status ? err->text : hf_status_text(status));
    renewal->error.is_temporary = status == HF_E_SERVER && err->is_temporary;
}

/* A member may have been lost after its extension. [mutex] */
static void record_member_losses(struct multi_renewal *renewal)
{
    for (uint32_t i = 0; i < renewal->multi->count && renewal->status == HF_OK; i++)
        if (hf_lock_safe_ms(renewal->multi->members[i], renewal->owner) == INT64_MIN) {
            renewal->status = HF_LOST;
            hf_multi_name_member(&renewal->error, renewal->multi, i, HF_LOST,
                                 "this owner's hold was lost after its renewal: release it");
        }
}

/* [mutex] */
static void end_renewal(struct multi_renewal *renewal)
{
    record_member_losses(renewal);
    hf_multi_leave_hold(renewal->hold);
}

/* ---- requests ---- */

static void on_member_renewed(void *ctx, hf_status status, const struct hf_error *err)
{
    struct member_renewal *member_renewal = ctx;
    struct multi_renewal *renewal = member_renewal->renewal;
    struct hf_multi *multi = renewal->multi;
    const struct hf_mem *mem = multi->mem;
    size_t size = sizeof *renewal + multi->count * sizeof *member_renewal;
    bool is_over;

    pthread_mutex_lock(&multi->mutex);
    record_member_result(member_renewal, status, err);
    is_over = renewal->pending_members == 0;
    if (is_over)
        end_renewal(renewal);
    pthread_mutex_unlock(&multi->mutex);
    if (!is_over)
        return;
    renewal->done(renewal->ctx, renewal->status, &renewal->error); /* may free the multi-lock */
    hf_mem_free(mem, renewal, size);
}

/* [mutex] */
static void start_member_renewal(struct member_renewal *member_renewal)
{
    struct multi_renewal *renewal = member_renewal->renewal;
    struct hf_lock *lock = renewal->multi->members[member_renewal->member];
    struct hf_op_request request = {.verb = &hf_verb_extend,
                                    .owner = renewal->owner,
                                    .options = &renewal->options};
    hf_status rc = renewal->done
                       ? hf_op_submit_in(&member_renewal->storage, lock, &request,
                                         on_member_renewed, member_renewal)
                       : hf_op_start(&member_renewal->storage, &member_renewal->waiter, lock,
                                     &request);

    member_renewal->is_pending = rc == HF_OK;
    renewal->pending_members += member_renewal->is_pending;
    if (rc < 0)
        record_member_result(member_renewal, rc, &member_renewal->storage.error);
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
    struct multi_renewal *renewal;

    if (!hold || hold->hold_count == 0)
        return hf_error_set(err, HF_NOT_OWNER, "%s", hf_status_text(HF_NOT_OWNER));
    if (hold->has_pending_call)
        return hf_error_set(err, HF_E_INVAL, "another call of this owner is pending");
    if (!(renewal = hf_mem_new(multi->mem, renewal_size_in_bytes(multi))))
        return hf_error_set(err, HF_E_NOMEM, "%s", hf_status_text(HF_E_NOMEM));
    renewal->multi = multi;
    renewal->hold = hold;
    renewal->owner = owner;
    renewal->options.lease_ms = lease_ms;
    hold->has_pending_call = true;
    *out = renewal;
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

static void start_all_member_renewals(struct multi_renewal *renewal)
{
    for (uint32_t i = 0; i < renewal->multi->count; i++) {
        renewal->member_renewals[i].renewal = renewal;
        renewal->member_renewals[i].member = i;
        start_member_renewal(&renewal->member_renewals[i]);
    }
}

/* [mutex] */
static void await_all_members(struct multi_renewal *renewal)
{
    for (uint32_t i = 0; i < renewal->multi->count; i++) {
        struct member_renewal *member_renewal = &renewal->member_renewals[i];
        hf_status rc;

        if (!member_renewal->is_pending)
            continue;
        pthread_mutex_unlock(&renewal->multi->mutex);
        rc = hf_op_await(&member_renewal->storage);
        pthread_mutex_lock(&renewal->multi->mutex);
        record_member_result(member_renewal, rc, &member_renewal->storage.error);
    }
}

hf_status hf_multi_renew(struct hf_multi *multi, int64_t owner, int64_t lease_ms,
                         struct hf_error *err)
{
    struct multi_renewal *renewal;
    hf_status rc = begin_renewal(&renewal, multi, owner, lease_ms, err);

    if (rc < 0)
        return rc;
    start_all_member_renewals(renewal);
    await_all_members(renewal);
    end_renewal(renewal);
    pthread_mutex_unlock(&multi->mutex);
    rc = renewal->status;
    if (err)
        *err = renewal->error;
    hf_mem_free(multi->mem, renewal, renewal_size_in_bytes(multi));
    return rc;
}

/* If no request could begin, the function fails and `done` is not called. */
hf_status hf_multi_renew_async(struct hf_multi *multi, int64_t owner, int64_t lease_ms,
                               hf_done *done, void *ctx)
{
    struct multi_renewal *renewal;
    hf_status rc = begin_renewal(&renewal, multi, owner, lease_ms, NULL);

    if (rc < 0)
        return rc;
    renewal->done = done;
    renewal->ctx = ctx;
    start_all_member_renewals(renewal);
    if (renewal->pending_members > 0) {
        pthread_mutex_unlock(&multi->mutex);
        return HF_OK;
    }
    rc = renewal->status;
    hf_multi_leave_hold(renewal->hold);
    pthread_mutex_unlock(&multi->mutex);
    hf_mem_free(multi->mem, renewal, renewal_size_in_bytes(multi));
    return rc;
}
