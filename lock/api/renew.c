/* Renews the lease of a hold by hand. */
/* Tests: tests/live/lock/test_lock_renew.c. */
#include "lock/renew.h"

#include "lock/api/op_request.h"
#include "lock/verb/verbs.h"

static struct hf_op_request make_extend_request(int64_t owner,
                                                const struct hf_acquire_options *options)
{
    return (struct hf_op_request){.verb = &hf_verb_extend, .owner = owner, .options = options};
}

hf_status hf_lock_renew(struct hf_lock *lock, int64_t owner, int64_t lease_ms,
                        struct hf_error *err)
{
    struct hf_acquire_options options = {.lease_ms = lease_ms};
    struct hf_op_request request = make_extend_request(owner, &options);
    hf_status rc = hf_op_check_lease(lease_ms, err);

    return rc < 0 ? rc : hf_op_run(lock, &request, err);
}

hf_status hf_lock_renew_async(struct hf_lock *lock, int64_t owner, int64_t lease_ms,
                              hf_done *done, void *ctx)
{
    struct hf_acquire_options options = {.lease_ms = lease_ms};
    struct hf_op_request request = make_extend_request(owner, &options);
    hf_status rc = hf_op_check_lease(lease_ms, NULL);

    return rc < 0 ? rc : hf_op_submit(lock, &request, done, ctx);
}
