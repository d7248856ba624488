/* Reports that an acquire waits: calls on_wait, with the loop's lock free. */
/* Tests: tests/live/lock/test_lock_callbacks.c, tests/live/lock/test_lock_wait.c. */
#include "lock/record/on_wait.h"
#include "lock/record/log.h"
#include "lock/record/table.h"
#include "net/base/assert.h"
#include "net/base/mem.h"

/* The arguments of on_wait, until it can be called. The operation lives longer,
 * or cancels the call. */
struct hf_posted_on_wait {
    struct hf_task task;
    struct hf_op *op;
    struct hf_lock *lock;
    struct hf_lock_info info;
    void (*on_wait)(void *ctx, struct hf_lock *lock,
                    const struct hf_lock_info *info);
    void *ctx;
};

static void free_posted_callback(struct hf_posted_on_wait *call)
{
    struct hf_client *client = call->lock->client;

    hf_lock_unref(call->lock);
    hf_mem_free(client->mem, call, sizeof *call);
}

static void run_posted_callback(struct hf_task *task)
{
    struct hf_posted_on_wait *call =
        HF_OWNER_OF(task, struct hf_posted_on_wait, task);
    struct hf_client *client = call->lock->client;

    HF_ASSERT(call->op->posted_on_wait == call && call->op->lock == call->lock);
    call->op->posted_on_wait = NULL;
    hf_loop_unlock(client->loop);
    call->on_wait(call->ctx, call->lock, &call->info);
    hf_loop_lock(client->loop);
    free_posted_callback(call);
}

void hf_on_wait_cancel(struct hf_op *op)
{
    HF_ASSERT(hf_loop_is_locked(op->client->loop));
    if (!op->posted_on_wait)
        return;
    hf_loop_unpost(op->client->loop, &op->posted_on_wait->task);
    free_posted_callback(op->posted_on_wait);
    op->posted_on_wait = NULL;
}

/* on_wait is a courtesy: without memory it is not called. */
void hf_on_wait_post(struct hf_op *op, const struct hf_lock_info *info)
{
    struct hf_posted_on_wait *call;

    HF_ASSERT(hf_loop_is_locked(op->client->loop));
    if (op->has_posted_on_wait)
        return;
    op->has_posted_on_wait = true;
    if (!op->options.on_wait || op->options.wait_ms == 0 ||
        !(call = hf_mem_new(op->client->mem, sizeof *call)))
        return;
    HF_ASSERT(!op->posted_on_wait);
    op->posted_on_wait = call;
    call->op = op;
    call->lock = op->lock;
    call->on_wait = op->options.on_wait;
    call->ctx = op->options.ctx;
    call->info = *info;
    hf_lock_ref(op->lock);
    hf_task_init(&call->task, run_posted_callback);
    hf_loop_post(op->client->loop, &call->task);
}

void hf_on_wait_log_refusal(const struct hf_op *op,
                            const struct hf_wait_answers *answers, hf_status status)
{
    HF_ASSERT(hf_loop_is_locked(op->client->loop));
    if (status == HF_E_SERVER && op->error && answers->has_answered &&
        answers->last_error != status)
        hf_client_log(op->client, HF_LOG_WARNING, "still waiting: %s",
                      op->error->text);
}
