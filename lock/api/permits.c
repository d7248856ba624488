/* The public calls on expirable permits that locks do not have. */
/* Tests: tests/live/kind/test_permits.c. */
#include "lock/permits.h"

#include "lock/api/op_request.h"
#include "lock/verb/verbs.h"
#include "net/base/error.h"

#define PERMITS_MAX INT32_MAX

static hf_status check_kind_is_permit(const struct hf_lock *permit, struct hf_error *err)
{
    if (permit->kind->id == HF_KIND_PERMIT)
        return HF_OK;
    return hf_error_set(err, HF_E_INVAL, "a %s has no permits",
                        hf_lock_kind_text(permit->kind->id));
}

static hf_status check_permits(const struct hf_lock *permit, int64_t permits,
                               struct hf_error *err)
{
    if (permits >= 0 && permits <= PERMITS_MAX)
        return check_kind_is_permit(permit, err);
    return hf_error_set(err, HF_E_INVAL, "permits are 0 to %lld",
                        (long long)PERMITS_MAX);
}

static struct hf_op_request make_set_request(int64_t permits, bool *was_set)
{
    return (struct hf_op_request){
        .verb = &hf_verb_set, .permits = permits, .out_flag = was_set};
}

static struct hf_op_request make_resize_request(int64_t permits)
{
    return (struct hf_op_request){.verb = &hf_verb_resize, .permits = permits};
}

static struct hf_op_request make_read_request(int64_t *out)
{
    return (struct hf_op_request){.verb = &hf_verb_read, .out_number = out};
}

hf_status hf_permits_try_set(struct hf_lock *permit, int64_t permits,
                             bool *was_set, struct hf_error *err)
{
    struct hf_op_request request = make_set_request(permits, was_set);
    hf_status rc = check_permits(permit, permits, err);

    return rc < 0 ? rc : hf_op_run(permit, &request, err);
}

hf_status hf_permits_set(struct hf_lock *permit, int64_t permits, struct hf_error *err)
{
    struct hf_op_request request = make_resize_request(permits);
    hf_status rc = check_permits(permit, permits, err);

    return rc < 0 ? rc : hf_op_run(permit, &request, err);
}

hf_status hf_permits_available(struct hf_lock *permit, int64_t *out,
                               struct hf_error *err)
{
    struct hf_op_request request = make_read_request(out);
    hf_status rc = check_kind_is_permit(permit, err);

    return rc < 0 ? rc : hf_op_run(permit, &request, err);
}

hf_status hf_permits_try_set_async(struct hf_lock *permit, int64_t permits,
                                   bool *was_set, hf_done *done, void *ctx)
{
    struct hf_op_request request = make_set_request(permits, was_set);
    hf_status rc = check_permits(permit, permits, NULL);

    return rc < 0 ? rc : hf_op_submit(permit, &request, done, ctx);
}

hf_status hf_permits_set_async(struct hf_lock *permit, int64_t permits, hf_done *done,
                               void *ctx)
{
    struct hf_op_request request = make_resize_request(permits);
    hf_status rc = check_permits(permit, permits, NULL);

    return rc < 0 ? rc : hf_op_submit(permit, &request, done, ctx);
}

hf_status hf_permits_available_async(struct hf_lock *permit, int64_t *out,
                                     hf_done *done, void *ctx)
{
    struct hf_op_request request = make_read_request(out);
    hf_status rc = check_kind_is_permit(permit, NULL);

    return rc < 0 ? rc : hf_op_submit(permit, &request, done, ctx);
}
