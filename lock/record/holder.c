/* The holder for which a call waits. See holder.h. */
/* Tests: tests/live/lock/test_lock_label.c. */
#include "lock/record/holder.h"

#include <stdio.h>
#include <string.h>

#include "lock/record/label_request.h"
#include "net/base/assert.h"
#include "net/base/error.h"
#include "net/base/mem.h"
#include "net/base/moment.h"
#include "net/route/refusal.h"

#define ANSWER_MS 1000          /* a label is a courtesy: its request is not awaited longer */
/* The holder writes its label when the first waiter reads it, if it was granted the lock when
 * that one was refused: a label that is missing is read once more. */
#define READS_MAX 2

struct hf_holder {
    struct hf_label_request request;
    struct hf_timer timer;      /* when its label is requested */
    struct hf_wait_queue *queue;
    bool is_label_settled;      /* its label is known, or cannot be read */
    int label_reads;
    size_t holder_text_len;
    char holder_text[HF_OWNER_TEXT_MAX];
    char label[HF_LABEL_MAX + 1];
};

/* ---- the label ---- */

static void read_label_again_later(struct hf_holder *holder)
{
    struct hf_loop *loop = holder->queue->lock->client->loop;

    if (holder->label[0] || ++holder->label_reads >= READS_MAX)
        return;
    holder->is_label_settled = false;
    hf_loop_arm(loop, &holder->timer, hf_loop_now(loop) + LABEL_AFTER_MS);
}

static void on_label_read(struct hf_label_request *request, hf_status status,
                          struct hf_resp_value reply, const struct hf_error *why)
{
    struct hf_holder *holder = HF_OWNER_OF(request, struct hf_holder, request);

    (void)why;
    holder->is_label_settled = true;
    if (status == HF_OK) {
        hf_label_copy(holder->label, reply);
        read_label_again_later(holder);
    } else if (hf_refusal_is_by_acl(reply)) {
        request->client->has_unreadable_labels = true;
    }
}

static void on_timer(struct hf_timer *timer)
{
    struct hf_holder *holder = HF_OWNER_OF(timer, struct hf_holder, timer);
    struct hf_client *client = holder->queue->lock->client;

    if (hf_list_is_empty(&holder->queue->waiters) || holder->is_label_settled ||
        client->has_unreadable_labels)
        return;
    holder->request.done = on_label_read;
    holder->is_label_settled =
        !hf_label_request_init(&holder->request, client, holder->holder_text,
                               holder->holder_text_len) ||
        hf_label_request_send_get(&holder->request, hf_loop_now(client->loop) + ANSWER_MS) < 0;
}

static bool is_same_holder(const struct hf_holder *holder, const char *text, size_t len)
{
    return holder->holder_text_len == len && memcmp(holder->holder_text, text, len) == 0;
}

/* NULL: no memory. */
static struct hf_holder *holder_record_of_queue(struct hf_wait_queue *line)
{
    struct hf_holder *holder = line->awaited_holder;

    if (holder || !(holder = hf_mem_new(line->lock->client->mem, sizeof *holder)))
        return holder;
    hf_list_init(&holder->request.node);
    holder->timer.fire = on_timer;
    holder->queue = line;
    line->awaited_holder = holder;
    return holder;
}

static void request_holder_label(const struct hf_op *op)
{
    int64_t now = hf_loop_now(op->client->loop);
    int64_t half_ms = (op->wait.deadline_ms - now) / 2;
    struct hf_holder *holder = holder_record_of_queue(op->queue);

    if (!holder || (is_same_holder(holder, op->last_named_holder, op->last_named_holder_len) &&
                    (holder->is_label_settled || holder->timer.link ||
                     hf_label_request_is_pending(&holder->request))))
        return;
    hf_label_request_cancel(&holder->request);
    holder->is_label_settled = false;
    holder->label_reads = 0;
    holder->label[0] = '\0';
    holder->holder_text_len = op->last_named_holder_len;
    memcpy(holder->holder_text, op->last_named_holder, op->last_named_holder_len);
    hf_loop_arm(op->client->loop, &holder->timer, now + hf_min_ms(half_ms, LABEL_AFTER_MS));
}

/* ---- the holder ---- */

void hf_holder_note(struct hf_op *op, const struct hf_lock_info *info)
{
    HF_ASSERT(hf_loop_is_locked(op->client->loop));
    op->last_named_holder_len = info->holder_len < HF_OWNER_TEXT_MAX ? info->holder_len
                                                           : HF_OWNER_TEXT_MAX;
    memcpy(op->last_named_holder, info->holder, op->last_named_holder_len);
    if (op->client->label && op->queue && op->wait.deadline_ms != HF_NEVER)
        request_holder_label(op);
}

const char *hf_holder_label(const struct hf_wait_queue *line, const char *holder, size_t len)
{
    return line && line->awaited_holder && is_same_holder(line->awaited_holder, holder, len)
           ? line->awaited_holder->label
                                                                      : "";
}

/* A waiter that is not the first has sent no request: it waits for the holder of the first. */
static struct hf_bytes holder_text_for_waiter(const struct hf_op *op)
{
    if (op->last_named_holder_len > 0 || !op->queue || !op->queue->awaited_holder)
        return (struct hf_bytes){op->last_named_holder, op->last_named_holder_len};
    return (struct hf_bytes){op->queue->awaited_holder->holder_text,
                             op->queue->awaited_holder->holder_text_len};
}

hf_status hf_holder_fill_timeout(struct hf_op *op, hf_status status)
{
    struct hf_bytes by = holder_text_for_waiter(op);
    const char *label = hf_holder_label(op->queue, by.ptr, by.len);
    char name[100], holder[100];

    HF_ASSERT(hf_loop_is_locked(op->client->loop));
    if (status != HF_TIMEOUT || op->lock->kind->unavailable_text || by.len == 0)
        return status;
    return hf_error_set(op->error, status, "lock '%s': %s, held by %s%s%s%s",
                        hf_error_quote(name, sizeof name, op->lock->texts, op->lock->name_len),
                        hf_status_text(status),
                        hf_error_quote(holder, sizeof holder, by.ptr, by.len),
                        *label ? " (" : "", label, *label ? ")" : "");
}

void hf_holder_free(struct hf_wait_queue *line)
{
    struct hf_client *client = line->lock->client;
    struct hf_holder *holder = line->awaited_holder;

    if (!holder)
        return;
    HF_ASSERT(hf_loop_is_locked(client->loop));
    hf_label_request_cancel(&holder->request);
    hf_loop_disarm(client->loop, &holder->timer);
    line->awaited_holder = NULL;
    hf_mem_free(client->mem, holder, sizeof *holder);
}
