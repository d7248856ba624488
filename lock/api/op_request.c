/* A public call is an operation that is waited for, or not. */
/* Tests: tests/live/lock/test_lock_calls.c, tests/live/lock/test_lock_end.c. */
#include "lock/api/op_request.h"

#include <stddef.h>
#include <string.h>

#include "lock/record/op.h"
#include "lock/record/table.h"
#include "lock/verb/count.h"
#include "lock/verb/verbs.h"
#include "net/base/assert.h"
#include "net/base/error.h"
#include "net/base/mem.h"

hf_status hf_fail_forked(struct hf_error *err)
{
    return hf_error_set(err, HF_E_FORKED, "%s", hf_status_text(HF_E_FORKED));
}

hf_status hf_op_check_wait(int64_t wait_ms, struct hf_error *err)
{
    if (wait_ms >= HF_FOREVER && wait_ms <= HF_SPAN_MAX_MS)
        return HF_OK;
    return hf_error_set(err, HF_E_INVAL, "wait_ms is HF_FOREVER, or 0 to %lld",
                        (long long)HF_SPAN_MAX_MS);
}

hf_status hf_op_check_lease(int64_t lease_ms, struct hf_error *err)
{
    if (lease_ms >= 1 && lease_ms <= HF_SPAN_MAX_MS)
        return HF_OK;
    return hf_error_set(err, HF_E_INVAL, "a lease is 1 to %lld ms", (long long)HF_SPAN_MAX_MS);
}

struct hf_op_request hf_op_ownerless_request(struct hf_acquire_options *options,
                                             int64_t permits, int64_t wait_ms,
                                             struct hf_cancel *cancel)
{
    *options = (struct hf_acquire_options){
        .wait_ms = wait_ms, .lease_ms = STORED_REPLY_TTL_MS, .cancel = cancel};
    return (struct hf_op_request){
        .verb = &hf_verb_acquire, .permits = permits, .options = options};
}

static hf_status check_lock_name(const struct hf_kind *kind, size_t len,
                                 struct hf_error *err)
{
    const char *noun = kind->noun ? kind->noun : "lock";

    if (len == 0)
        return hf_error_set(err, HF_E_INVAL, "the %s's name is empty", noun);
    if (len > HF_LOCK_NAME_MAX)
        return hf_error_set(err, HF_E_INVAL,
                            "a %s's name is at most %d bytes, not %zu", noun,
                            HF_LOCK_NAME_MAX, len);
    return HF_OK;
}

hf_status hf_handle_new(struct hf_lock **out, struct hf_client *client,
                        const struct hf_kind *kind, const void *name,
                        size_t len, struct hf_error *err)
{
    hf_status rc;

    if (hf_loop_forked(client->loop))
        return hf_fail_forked(err);
    if ((rc = check_lock_name(kind, len, err)) < 0)
        return rc;
    hf_loop_lock(client->loop);
    rc = hf_lock_find_or_add(out, client, kind, name, len);
    hf_loop_unlock(client->loop);
    return rc < 0 ? hf_error_set(err, rc, "a new %s: %s",
                                 kind->noun ? kind->noun : "lock",
                                 hf_status_text(rc))
                  : HF_OK;
}

static hf_status check_cancel_object(const struct hf_lock *lock,
                                     const struct hf_op_request *request, struct hf_error *err)
{
    const struct hf_cancel *cancel = request->options ? request->options->cancel : NULL;

    if (!cancel || cancel->client == lock->client)
        return HF_OK;
    return hf_error_set(err, HF_E_INVAL,
                        "the cancel belongs to another client than the lock");
}

static void init_op(struct hf_op *op, struct hf_lock *lock,
                    const struct hf_op_request *request)
{
    HF_ASSERT(request->verb && request->verb->start && request->permits >= 0);
    memset(op, 0, offsetof(struct hf_op, call.sending));
    op->client = lock->client;
    op->lock = lock;
    op->verb = request->verb;
    op->begins_despite_limits = request->begins_despite_limits;
    op->is_member = request->is_member;
    op->owner = request->owner;
    op->permits = request->permits;
    op->ttl_ms = request->ttl_ms;
    if (request->options)
        op->options = *request->options;
    op->out_info = request->out_info;
    op->info_size = request->info_size;
    op->out_number = request->out_number;
    op->out_flag = request->out_flag;
    op->named_holder = request->holder;
    op->named_holder_len = request->holder_len;
}

hf_status hf_op_run(struct hf_lock *lock, const struct hf_op_request *request,
                    struct hf_error *err)
{
    struct hf_loop *loop = lock->client->loop;
    struct hf_waiter waiter;
    struct hf_hold_work work;
    struct hf_op op;
    hf_status rc;

    if (hf_loop_forked(loop))
        return hf_fail_forked(err);
    if ((rc = check_cancel_object(lock, request, err)) < 0)
        return rc;
    if (err)
        err->status = HF_OK;
    hf_waiter_init(&waiter, loop);
    init_op(&op, lock, request);
    op.blocking_waiter = &waiter;
    op.spare_work = &work;
    op.error = err;
    hf_loop_lock(loop);
    if ((rc = hf_op_begin(&op)) < 0) {
        hf_loop_unlock(loop);
        return rc;
    }
    op.verb->start(&op);
    hf_loop_wait(&waiter);
    if (hf_loop_forked(loop))
        return hf_fail_forked(err);
    HF_ASSERT(hf_list_is_empty(&op.node) && !op.hold && !op.timer.link);
    if (request->out_count)
        *request->out_count = op.wanted_hold_count;
    return op.status;
}

static hf_status begin_op_in_storage(struct hf_op_storage *room)
{
    struct hf_op *op = &room->op;
    hf_status rc;

    room->error.status = HF_OK;
    op->error = &room->error;
    op->spare_work = &room->work;
    if ((rc = hf_op_begin(op)) == HF_OK)
        op->verb->start(op);
    return rc;
}

/* `size`: the size of the memory that is freed when the operation has ended; 0: none.
 * */
static hf_status start_op_in_storage(struct hf_op_storage *room, size_t size,
                                     hf_done *done, void *ctx)
{
    room->op.done = done;
    room->op.done_ctx = ctx;
    room->op.allocated_size = size;
    return begin_op_in_storage(room);
}

struct async_op {
    struct hf_op_storage storage;
    char holder[];              /* a copy: the caller's may soon be gone */
};

static hf_status start_op_in_new_memory(struct hf_lock *lock, const struct hf_op_request *request,
                                        hf_done *done, void *ctx)
{
    size_t size = sizeof(struct async_op) + request->holder_len;
    struct async_op *async = hf_mem_new(lock->client->mem, size);
    hf_status rc;

    if (!async)
        return HF_E_NOMEM;
    init_op(&async->storage.op, lock, request);
    if (request->holder)
        memcpy(async->holder, request->holder, request->holder_len);
    async->storage.op.named_holder = async->holder;
    if ((rc = start_op_in_storage(&async->storage, size, done, ctx)) < 0)
        hf_mem_free(lock->client->mem, async, size);
    return rc;
}

hf_status hf_op_submit(struct hf_lock *lock, const struct hf_op_request *request,
                       hf_done *done, void *ctx)
{
    struct hf_loop *loop = lock->client->loop;
    hf_status rc;

    if (hf_loop_forked(loop))
        return HF_E_FORKED;
    if ((rc = check_cancel_object(lock, request, NULL)) < 0)
        return rc;
    hf_loop_lock(loop);
    rc = start_op_in_new_memory(lock, request, done, ctx);
    hf_loop_unlock(loop);
    return rc;
}

hf_status hf_op_submit_in(struct hf_op_storage *room, struct hf_lock *lock,
                          const struct hf_op_request *request, hf_done *done, void *ctx)
{
    struct hf_loop *loop = lock->client->loop;
    hf_status rc;

    if (hf_loop_forked(loop))
        return HF_E_FORKED;
    hf_loop_lock(loop);
    init_op(&room->op, lock, request);
    rc = start_op_in_storage(room, 0, done, ctx);
    hf_loop_unlock(loop);
    return rc;
}

hf_status hf_op_start(struct hf_op_storage *room, struct hf_waiter *waiter,
                      struct hf_lock *lock, const struct hf_op_request *request)
{
    struct hf_loop *loop = lock->client->loop;
    hf_status rc;

    if (hf_loop_forked(loop))
        return hf_fail_forked(&room->error);
    hf_waiter_init(waiter, loop);
    hf_loop_lock(loop);
    init_op(&room->op, lock, request);
    room->op.blocking_waiter = waiter;
    rc = begin_op_in_storage(room);
    hf_loop_unlock(loop);
    return rc;
}

hf_status hf_op_await(struct hf_op_storage *room)
{
    struct hf_waiter *waiter = room->op.blocking_waiter;

    if (hf_loop_forked(waiter->loop))
        return hf_fail_forked(&room->error);
    hf_loop_lock(waiter->loop);
    hf_loop_wait(waiter);
    if (hf_loop_forked(waiter->loop))
        return hf_fail_forked(&room->error);
    HF_ASSERT(hf_list_is_empty(&room->op.node) && !room->op.hold && !room->op.timer.link);
    return room->op.status;
}
