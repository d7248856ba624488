/* The public calls on a semaphore. */
/* Tests: tests/live/kind/test_semaphore.c. */
#include "lock/semaphore.h"

#include "lock/api/op_request.h"
#include "lock/verb/verbs.h"
#include "net/base/error.h"

/* A handle is the record of its name and kind. */
static struct hf_lock *lock_of_semaphore(struct hf_semaphore *semaphore)
{
    return (struct hf_lock *)semaphore;
}

hf_status hf_semaphore_new(struct hf_semaphore **out, struct hf_client *client,
                           const void *name, size_t len, struct hf_error *err)
{
    struct hf_lock *lock;
    hf_status rc =
        hf_handle_new(&lock, client, &hf_kind_semaphore, name, len, err);

    if (rc == HF_OK)
        *out = (struct hf_semaphore *)lock;
    return rc;
}

void hf_semaphore_free(struct hf_semaphore *semaphore)
{
    hf_lock_free(lock_of_semaphore(semaphore));
}

/* ---- the requests ---- */

static hf_status check_permits(int64_t permits, int64_t least, struct hf_error *err)
{
    if (permits >= least && permits <= HF_PERMITS_MAX)
        return HF_OK;
    return hf_error_set(err, HF_E_INVAL, "permits are %lld to %lld",
                        (long long)least, (long long)HF_PERMITS_MAX);
}

static hf_status check_ttl_range(int64_t ttl_ms, struct hf_error *err)
{
    if (ttl_ms >= 1 && ttl_ms <= HF_SPAN_MAX_MS)
        return HF_OK;
    return hf_error_set(err, HF_E_INVAL, "a TTL is 1 to %lld ms", (long long)HF_SPAN_MAX_MS);
}

/* TTL 0: none. */
static struct hf_op_request make_set_request(int64_t permits, int64_t ttl_ms, bool *was_set)
{
    return (struct hf_op_request){
        .verb = &hf_verb_set, .permits = permits, .ttl_ms = ttl_ms, .out_flag = was_set};
}

static struct hf_op_request make_release_request(int64_t permits)
{
    return (struct hf_op_request){.verb = &hf_verb_add, .permits = permits};
}

static struct hf_op_request make_release_if_exists_request(int64_t permits, bool *existed)
{
    return (struct hf_op_request){
        .verb = &hf_verb_add_existing, .permits = permits, .out_flag = existed};
}

static struct hf_op_request make_reduce_request(int64_t permits, bool *existed)
{
    return (struct hf_op_request){
        .verb = &hf_verb_reduce, .permits = permits, .out_flag = existed};
}

/* 0 permits: as many as are available. */
static struct hf_op_request make_drain_request(int64_t *taken)
{
    return (struct hf_op_request){.verb = &hf_verb_reduce, .out_number = taken};
}

static struct hf_op_request make_delete_request(bool *was_deleted)
{
    return (struct hf_op_request){
        .verb = &hf_verb_delete, .permits = 1, .out_flag = was_deleted};
}

static struct hf_op_request make_read_request(int64_t *out, bool *exists)
{
    return (struct hf_op_request){
        .verb = &hf_verb_read, .out_number = out, .out_flag = exists};
}

/* ---- blocking ---- */

/* Refuses fewer permits than `least`, and more than there can be. */
static hf_status run_request_with_permits_check(struct hf_semaphore *semaphore,
                                                const struct hf_op_request *request, int64_t least,
                                                struct hf_error *err)
{
    hf_status rc = check_permits(request->permits, least, err);

    return rc < 0 ? rc : hf_op_run(lock_of_semaphore(semaphore), request, err);
}

hf_status hf_semaphore_try_set_permits(struct hf_semaphore *semaphore,
                                       int64_t permits, bool *was_set,
                                       struct hf_error *err)
{
    struct hf_op_request request = make_set_request(permits, 0, was_set);

    return run_request_with_permits_check(semaphore, &request, 0, err);
}

hf_status hf_semaphore_try_set_permits_ttl(struct hf_semaphore *semaphore, int64_t permits,
                                           int64_t ttl_ms, bool *was_set,
                                           struct hf_error *err)
{
    struct hf_op_request request = make_set_request(permits, ttl_ms, was_set);
    hf_status rc = check_ttl_range(ttl_ms, err);

    return rc < 0 ? rc : run_request_with_permits_check(semaphore, &request, 0, err);
}

hf_status hf_semaphore_acquire(struct hf_semaphore *semaphore, int64_t permits,
                               int64_t wait_ms, struct hf_cancel *cancel,
                               struct hf_error *err)
{
    struct hf_acquire_options options;
    struct hf_op_request request = hf_op_ownerless_request(&options, permits, wait_ms, cancel);
    hf_status rc = hf_op_check_wait(wait_ms, err);

    return rc < 0 ? rc : run_request_with_permits_check(semaphore, &request, 1, err);
}

hf_status hf_semaphore_release(struct hf_semaphore *semaphore, int64_t permits,
                               struct hf_error *err)
{
    struct hf_op_request request = make_release_request(permits);

    return run_request_with_permits_check(semaphore, &request, 1, err);
}

hf_status hf_semaphore_release_if_exists(struct hf_semaphore *semaphore,
                                         int64_t permits, bool *existed,
                                         struct hf_error *err)
{
    struct hf_op_request request = make_release_if_exists_request(permits, existed);

    return run_request_with_permits_check(semaphore, &request, 1, err);
}

hf_status hf_semaphore_reduce(struct hf_semaphore *semaphore, int64_t permits,
                              bool *existed, struct hf_error *err)
{
    struct hf_op_request request = make_reduce_request(permits, existed);

    return run_request_with_permits_check(semaphore, &request, 1, err);
}

hf_status hf_semaphore_drain(struct hf_semaphore *semaphore, int64_t *taken,
                             struct hf_error *err)
{
    struct hf_op_request request = make_drain_request(taken);

    return hf_op_run(lock_of_semaphore(semaphore), &request, err);
}

hf_status hf_semaphore_delete(struct hf_semaphore *semaphore, bool *was_deleted,
                              struct hf_error *err)
{
    struct hf_op_request request = make_delete_request(was_deleted);

    return hf_op_run(lock_of_semaphore(semaphore), &request, err);
}

hf_status hf_semaphore_available(struct hf_semaphore *semaphore, int64_t *out,
                                 struct hf_error *err)
{
    struct hf_op_request request = make_read_request(out, NULL);

    return hf_op_run(lock_of_semaphore(semaphore), &request, err);
}

hf_status hf_semaphore_inspect(struct hf_semaphore *semaphore, int64_t *out,
                               bool *exists, struct hf_error *err)
{
    struct hf_op_request request = make_read_request(out, exists);

    return hf_op_run(lock_of_semaphore(semaphore), &request, err);
}

/* ---- without blocking ---- */

static hf_status submit_request_with_permits_check(struct hf_semaphore *semaphore,
                                                   const struct hf_op_request *request,
                                                   int64_t least,
                                                   hf_done *done, void *ctx)
{
    hf_status rc = check_permits(request->permits, least, NULL);

    return rc < 0 ? rc : hf_op_submit(lock_of_semaphore(semaphore), request, done, ctx);
}

hf_status hf_semaphore_try_set_permits_async(struct hf_semaphore *semaphore,
                                             int64_t permits, bool *was_set,
                                             hf_done *done, void *ctx)
{
    struct hf_op_request request = make_set_request(permits, 0, was_set);

    return submit_request_with_permits_check(semaphore, &request, 0, done, ctx);
}

hf_status hf_semaphore_try_set_permits_ttl_async(struct hf_semaphore *semaphore,
                                                 int64_t permits, int64_t ttl_ms,
                                                 bool *was_set, hf_done *done, void *ctx)
{
    struct hf_op_request request = make_set_request(permits, ttl_ms, was_set);
    hf_status rc = check_ttl_range(ttl_ms, NULL);

    return rc < 0 ? rc : submit_request_with_permits_check(semaphore, &request, 0, done, ctx);
}

hf_status hf_semaphore_acquire_async(struct hf_semaphore *semaphore,
                                     int64_t permits, int64_t wait_ms,
                                     struct hf_cancel *cancel, hf_done *done,
                                     void *ctx)
{
    struct hf_acquire_options options;
    struct hf_op_request request = hf_op_ownerless_request(&options, permits, wait_ms, cancel);
    hf_status rc = hf_op_check_wait(wait_ms, NULL);

    return rc < 0 ? rc : submit_request_with_permits_check(semaphore, &request, 1, done, ctx);
}

hf_status hf_semaphore_release_async(struct hf_semaphore *semaphore,
                                     int64_t permits, hf_done *done, void *ctx)
{
    struct hf_op_request request = make_release_request(permits);

    return submit_request_with_permits_check(semaphore, &request, 1, done, ctx);
}

hf_status hf_semaphore_release_if_exists_async(struct hf_semaphore *semaphore,
                                               int64_t permits, bool *existed,
                                               hf_done *done, void *ctx)
{
    struct hf_op_request request = make_release_if_exists_request(permits, existed);

    return submit_request_with_permits_check(semaphore, &request, 1, done, ctx);
}

hf_status hf_semaphore_reduce_async(struct hf_semaphore *semaphore,
                                    int64_t permits, bool *existed,
                                    hf_done *done, void *ctx)
{
    struct hf_op_request request = make_reduce_request(permits, existed);

    return submit_request_with_permits_check(semaphore, &request, 1, done, ctx);
}

hf_status hf_semaphore_drain_async(struct hf_semaphore *semaphore, int64_t *taken,
                                   hf_done *done, void *ctx)
{
    struct hf_op_request request = make_drain_request(taken);

    return hf_op_submit(lock_of_semaphore(semaphore), &request, done, ctx);
}

hf_status hf_semaphore_delete_async(struct hf_semaphore *semaphore,
                                    bool *was_deleted, hf_done *done, void *ctx)
{
    struct hf_op_request request = make_delete_request(was_deleted);

    return hf_op_submit(lock_of_semaphore(semaphore), &request, done, ctx);
}

hf_status hf_semaphore_available_async(struct hf_semaphore *semaphore,
                                       int64_t *out, hf_done *done, void *ctx)
{
    struct hf_op_request request = make_read_request(out, NULL);

    return hf_op_submit(lock_of_semaphore(semaphore), &request, done, ctx);
}

hf_status hf_semaphore_inspect_async(struct hf_semaphore *semaphore, int64_t *out,
                                     bool *exists, hf_done *done, void *ctx)
{
    struct hf_op_request request = make_read_request(out, exists);

    return hf_op_submit(lock_of_semaphore(semaphore), &request, done, ctx);
}
