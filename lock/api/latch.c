/* The public calls on a count-down latch. */
/* Tests: tests/live/kind/test_latch.c. */
#include "lock/latch.h"

#include "lock/api/op_request.h"
#include "lock/verb/verbs.h"
#include "net/base/error.h"

/* A handle is the record of its name and kind. */
static struct hf_lock *lock_of_latch(struct hf_latch *latch)
{
    return (struct hf_lock *)latch;
}

hf_status hf_latch_new(struct hf_latch **out, struct hf_client *client,
                       const void *name, size_t len, struct hf_error *err)
{
    struct hf_lock *lock;
    hf_status rc = hf_handle_new(&lock, client, &hf_kind_latch, name, len, err);

    if (rc == HF_OK)
        *out = (struct hf_latch *)lock;
    return rc;
}

void hf_latch_free(struct hf_latch *latch)
{
    hf_lock_free(lock_of_latch(latch));
}

/* ---- the requests ---- */

static hf_status check_count(int64_t count, struct hf_error *err)
{
    if (count >= 1 && count <= HF_LATCH_COUNT_MAX)
        return HF_OK;
    return hf_error_set(err, HF_E_INVAL, "a latch's count is 1 to %lld",
                        (long long)HF_LATCH_COUNT_MAX);
}

static struct hf_op_request make_set_request(int64_t count, bool *was_set)
{
    return (struct hf_op_request){
        .verb = &hf_verb_set, .permits = count, .out_flag = was_set};
}

static const struct hf_op_request to_count_down = {.verb = &hf_verb_add, .permits = 1};

static struct hf_op_request make_delete_request(bool *was_deleted)
{
    return (struct hf_op_request){
        .verb = &hf_verb_delete, .permits = 1, .out_flag = was_deleted};
}

static struct hf_op_request make_read_request(int64_t *out)
{
    return (struct hf_op_request){.verb = &hf_verb_read, .out_number = out};
}

/* ---- blocking ---- */

hf_status hf_latch_try_set_count(struct hf_latch *latch, int64_t count,
                                 bool *was_set, struct hf_error *err)
{
    struct hf_op_request request = make_set_request(count, was_set);
    hf_status rc = check_count(count, err);

    return rc < 0 ? rc : hf_op_run(lock_of_latch(latch), &request, err);
}

hf_status hf_latch_count_down(struct hf_latch *latch, struct hf_error *err)
{
    return hf_op_run(lock_of_latch(latch), &to_count_down, err);
}

hf_status hf_latch_await(struct hf_latch *latch, int64_t wait_ms,
                         struct hf_cancel *cancel, struct hf_error *err)
{
    struct hf_acquire_options options;
    struct hf_op_request request = hf_op_ownerless_request(&options, 1, wait_ms, cancel);
    hf_status rc = hf_op_check_wait(wait_ms, err);

    return rc < 0 ? rc : hf_op_run(lock_of_latch(latch), &request, err);
}

hf_status hf_latch_delete(struct hf_latch *latch, bool *was_deleted,
                          struct hf_error *err)
{
    struct hf_op_request request = make_delete_request(was_deleted);

    return hf_op_run(lock_of_latch(latch), &request, err);
}

hf_status hf_latch_count(struct hf_latch *latch, int64_t *out,
                         struct hf_error *err)
{
    struct hf_op_request request = make_read_request(out);

    return hf_op_run(lock_of_latch(latch), &request, err);
}

/* ---- without blocking ---- */

hf_status hf_latch_try_set_count_async(struct hf_latch *latch, int64_t count,
                                       bool *was_set, hf_done *done, void *ctx)
{
    struct hf_op_request request = make_set_request(count, was_set);
    hf_status rc = check_count(count, NULL);

    return rc < 0 ? rc : hf_op_submit(lock_of_latch(latch), &request, done, ctx);
}

hf_status hf_latch_count_down_async(struct hf_latch *latch, hf_done *done,
                                    void *ctx)
{
    return hf_op_submit(lock_of_latch(latch), &to_count_down, done, ctx);
}

hf_status hf_latch_await_async(struct hf_latch *latch, int64_t wait_ms,
                               struct hf_cancel *cancel, hf_done *done,
                               void *ctx)
{
    struct hf_acquire_options options;
    struct hf_op_request request = hf_op_ownerless_request(&options, 1, wait_ms, cancel);
    hf_status rc = hf_op_check_wait(wait_ms, NULL);

    return rc < 0 ? rc : hf_op_submit(lock_of_latch(latch), &request, done, ctx);
}

hf_status hf_latch_delete_async(struct hf_latch *latch, bool *was_deleted,
                                hf_done *done, void *ctx)
{
    struct hf_op_request request = make_delete_request(was_deleted);

    return hf_op_submit(lock_of_latch(latch), &request, done, ctx);
}

hf_status hf_latch_count_async(struct hf_latch *latch, int64_t *out,
                               hf_done *done, void *ctx)
{
    struct hf_op_request request = make_read_request(out);

    return hf_op_submit(lock_of_latch(latch), &request, done, ctx);
}
