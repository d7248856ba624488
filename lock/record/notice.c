/* Telling that an acquire waits: on_wait, called with the loop's lock free. */
/* Tests: tests/live/lock/test_lock_callbacks.c, tests/live/lock/test_lock_wait.c. */
#include "lock/record/notice.h"
#include "lock/record/log.h"
#include "lock/record/table.h"
#include "net/base/mem.h"

/* The arguments of on_wait, until it can be called. The operation lives longer,
 * or withdraws the notice. */
struct hf_wait_notice {
    struct hf_task task;
    struct hf_op *op;
    struct hf_lock *lock;
    struct hf_lock_info info;
    void (*on_wait)(void *ctx, struct hf_lock *lock,
                    const struct hf_lock_info *info);
    void *ctx;
};

static void free_notice(struct hf_wait_notice *notice)
{
    struct hf_client *client = notice->lock->client;

    hf_lock_unref(notice->lock);
    hf_mem_free(client->mem, notice, sizeof *notice);
}

static void run_notice(struct hf_task *task)
{
    struct hf_wait_notice *notice =
        HF_OWNER_OF(task, struct hf_wait_notice, task);
    struct hf_client *client = notice->lock->client;

    notice->op->notice = NULL;
    hf_loop_unlock(client->loop);
    notice->on_wait(notice->ctx, notice->lock, &notice->info);
    hf_loop_lock(client->loop);
    free_notice(notice);
}

void hf_notice_forget(struct hf_op *op)
{
    if (!op->notice)
        return;
    hf_loop_unpost(op->client->loop, &op->notice->task);
    free_notice(op->notice);
    op->notice = NULL;
}

/* on_wait is a courtesy: without memory it is not called. */
void hf_notice_wait(struct hf_op *op, const struct hf_lock_info *info)
{
    struct hf_wait_notice *notice;

    if (op->has_told_wait)
        return;
    op->has_told_wait = true;
    if (!op->options.on_wait || op->options.wait_ms == 0 ||
        !(notice = hf_mem_new(op->client->mem, sizeof *notice)))
        return;
    op->notice = notice;
    notice->op = op;
    notice->lock = op->lock;
    notice->on_wait = op->options.on_wait;
    notice->ctx = op->options.ctx;
    notice->info = *info;
    hf_lock_ref(op->lock);
    hf_task_init(&notice->task, run_notice);
    hf_loop_post(op->client->loop, &notice->task);
}

void hf_notice_refusal(const struct hf_op *op,
                       const struct hf_wait_answers *answers, hf_status status)
{
    if (status == HF_E_SERVER && op->error && answers->has_answered &&
        answers->last_error != status)
        hf_client_log(op->client, HF_LOG_WARNING, "still waiting: %s",
                      op->error->text);
}
