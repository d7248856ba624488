/* Renews a multi-lock by hand: each member is extended, all at once. */
/* Tests: tests/live/set/test_multi_renew.c, tests/sim/test_multi.c. */
#include "lock/api/op_request.h"
#include "lock/record/records.h"
#include "lock/set/multi_hold.h"
#include "lock/verb/verbs.h"
#include "net/base/assert.h"
#include "net/base/error.h"
#include "net/base/mem.h"

struct renewal;

/* One member. */
struct seat {
    struct renewal *call;
    uint32_t member;
    bool is_pending;
    struct hf_waiter waiter;    /* of a blocking call */
    struct hf_op_storage room;
};

struct renewal {
    struct hf_multi *multi;
    struct hf_multi_hold *hold;
    struct hf_acquire_options options;
    int64_t owner;
    uint32_t pending;
    hf_status status;
    struct hf_error error;
    hf_done *done;              /* NULL: its caller waits */
    void *ctx;
    struct seat seats[];
};

/* ---- the result ---- */

/* HF_LOST if a member was lost; otherwise the first failure. [mutex] */
static void note(struct seat *seat, hf_status status, const struct hf_error *err)
{
    struct renewal *call = seat->call;

    HF_ASSERT(call->hold->is_busy);
    call->pending -= seat->is_pending;
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
static void note_losses(struct renewal *call)
{
    for (uint32_t i = 0; i < call->multi->count && call->status == HF_OK; i++)
        if (hf_lock_safe_ms(call->multi->members[i], call->owner) == INT64_MIN) {
            call->status = HF_LOST;
            hf_multi_name_member(&call->error, call->multi, i, HF_LOST,
                                 "this owner's hold was lost after its renewal: release it");
        }
}

/* [mutex] */
static void end_call(struct renewal *call)
{
    note_losses(call);
    hf_multi_leave_hold(call->hold);
}

/* ---- requests ---- */

static void on_renewed(void *ctx, hf_status status, const struct hf_error *err)
{
    struct seat *seat = ctx;
    struct renewal *call = seat->call;
    struct hf_multi *multi = call->multi;
    const struct hf_mem *mem = multi->mem;
    size_t size = sizeof *call + multi->count * sizeof *seat;
    bool is_over;

    pthread_mutex_lock(&multi->mutex);
    note(seat, status, err);
    is_over = call->pending == 0;
    if (is_over)
        end_call(call);
    pthread_mutex_unlock(&multi->mutex);
    if (!is_over)
        return;
    call->done(call->ctx, call->status, &call->error); /* may free the multi-lock */
    hf_mem_free(mem, call, size);
}

/* [mutex] */
static void request(struct seat *seat)
{
    struct renewal *call = seat->call;
    struct hf_lock *lock = call->multi->members[seat->member];
    struct hf_op_request renewal = {.verb = &hf_verb_extend,
                                    .owner = call->owner,
                                    .options = &call->options};
    hf_status rc = call->done ? hf_op_submit_in(&seat->room, lock, &renewal, on_renewed, seat)
                              : hf_op_start(&seat->room, &seat->waiter, lock, &renewal);

    seat->is_pending = rc == HF_OK;
    call->pending += seat->is_pending;
    if (rc < 0)
        note(seat, rc, &seat->room.error);
}

/* ---- the calls ---- */

static size_t size_of(const struct hf_multi *multi)
{
    return sizeof(struct renewal) + multi->count * sizeof(struct seat);
}

/* [mutex] */
static hf_status begin_in(struct renewal **out, struct hf_multi *multi, int64_t owner,
                          int64_t lease_ms, struct hf_error *err)
{
    struct hf_multi_hold *hold = owner == 0 ? NULL : hf_multi_find_hold(multi, owner);
    struct renewal *call;

    if (!hold || hold->count == 0)
        return hf_error_set(err, HF_NOT_OWNER, "%s", hf_status_text(HF_NOT_OWNER));
    if (hold->is_busy)
        return hf_error_set(err, HF_E_INVAL, "another call of this owner is pending");
    if (!(call = hf_mem_new(multi->mem, size_of(multi))))
        return hf_error_set(err, HF_E_NOMEM, "%s", hf_status_text(HF_E_NOMEM));
    call->multi = multi;
    call->hold = hold;
    call->owner = owner;
    call->options.lease_ms = lease_ms;
    hold->is_busy = true;
    *out = call;
    return HF_OK;
}

/* HF_OK: [mutex] */
static hf_status begin(struct renewal **out, struct hf_multi *multi, int64_t owner,
                       int64_t lease_ms, struct hf_error *err)
{
    hf_status rc;

    if (hf_multi_forked(multi))
        return hf_fail_forked(err);
    if ((rc = hf_op_check_lease(lease_ms, err)) < 0)
        return rc;
    pthread_mutex_lock(&multi->mutex);
    if ((rc = begin_in(out, multi, owner, lease_ms, err)) < 0)
        pthread_mutex_unlock(&multi->mutex);
    return rc;
}

static void request_all(struct renewal *call)
{
    for (uint32_t i = 0; i < call->multi->count; i++) {
        call->seats[i].call = call;
        call->seats[i].member = i;
        request(&call->seats[i]);
    }
}

/* [mutex] */
static void await_all(struct renewal *call)
{
    for (uint32_t i = 0; i < call->multi->count; i++) {
        struct seat *seat = &call->seats[i];
        hf_status rc;

        if (!seat->is_pending)
            continue;
        pthread_mutex_unlock(&call->multi->mutex);
        rc = hf_op_await(&seat->room);
        pthread_mutex_lock(&call->multi->mutex);
        note(seat, rc, &seat->room.error);
    }
}

hf_status hf_multi_renew(struct hf_multi *multi, int64_t owner, int64_t lease_ms,
                         struct hf_error *err)
{
    struct renewal *call;
    hf_status rc = begin(&call, multi, owner, lease_ms, err);

    if (rc < 0)
        return rc;
    request_all(call);
    await_all(call);
    end_call(call);
    pthread_mutex_unlock(&multi->mutex);
    rc = call->status;
    if (err)
        *err = call->error;
    hf_mem_free(multi->mem, call, size_of(multi));
    return rc;
}

/* If no request could begin, the function fails and `done` is not called. */
hf_status hf_multi_renew_async(struct hf_multi *multi, int64_t owner, int64_t lease_ms,
                               hf_done *done, void *ctx)
{
    struct renewal *call;
    hf_status rc = begin(&call, multi, owner, lease_ms, NULL);

    if (rc < 0)
        return rc;
    call->done = done;
    call->ctx = ctx;
    request_all(call);
    if (call->pending > 0) {
        pthread_mutex_unlock(&multi->mutex);
        return HF_OK;
    }
    rc = call->status;
    hf_multi_leave_hold(call->hold);
    pthread_mutex_unlock(&multi->mutex);
    hf_mem_free(multi->mem, call, size_of(multi));
    return rc;
}
