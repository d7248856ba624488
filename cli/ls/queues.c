/* How many wait for fair locks. */
#include "cli/ls/queues.h"

#include <stdlib.h>
#include <string.h>

#include "net/route/slot.h"

#define PREFIX "redisson_lock_queue:"

struct queue {
    struct ls_question question;
    struct cli_lock *lock;
    char *key;
};

static void read_length(struct ls_question *q, struct hf_resp_value reply)
{
    struct queue *queue = HF_OWNER_OF(q, struct queue, question);

    if (hf_resp_integer(reply, &queue->lock->waiters) < 0)
        queue->lock->waiters = -1;
}

/* "prefix:{name}", or without braces if the name has any. Source: WIRE 2.2. */
static char *key_of(const struct cli_lock *lock, size_t *len)
{
    bool has_tag = memchr(lock->name, '{', lock->len);
    char *key = malloc(sizeof PREFIX + 2 + lock->len), *to = key;

    if (!key)
        return NULL;
    to = stpcpy(to, PREFIX);
    if (!has_tag)
        *to++ = '{';
    memcpy(to, lock->name, lock->len);
    to += lock->len;
    if (!has_tag)
        *to++ = '}';
    *len = (size_t)(to - key);
    return key;
}

static void ask(struct ls_looking *looking, struct queue *queue,
                struct cli_lock *lock)
{
    size_t len = 0;

    queue->lock = lock;
    queue->key = key_of(lock, &len);
    if (!queue->key) {
        looking->status = HF_E_NOMEM;
        return;
    }
    queue->question = (struct ls_question){
        .slot = hf_slot_of(queue->key, len), .read = read_length};
    ls_question_word(&queue->question, "LLEN");
    ls_question_bytes(&queue->question, queue->key, len);
    ls_ask(ls_scan_requests(looking->scan), &queue->question);
}

/* A user without the right is told so. */
static void finish(struct ls_looking *looking, struct queue *queue)
{
    if (queue->question.is_refused)
        ls_looking_refused(looking, &queue->question.error);
    free(queue->key);
}

void ls_queues_look(struct ls_looking *looking, size_t first)
{
    struct ls_list *list = looking->list;
    struct queue *queues;
    size_t count = 0;

    if (list->count == first)
        return;
    queues = calloc(list->count - first, sizeof *queues);
    if (!queues) {
        looking->status = HF_E_NOMEM;
        return;
    }
    for (size_t i = first; i < list->count; i++)
        if (list->locks[i].info.kind == HF_KIND_FAIR)
            ask(looking, &queues[count++], &list->locks[i]);
    ls_await(ls_scan_requests(looking->scan));
    for (size_t i = 0; i < count; i++)
        finish(looking, &queues[i]);
    free(queues);
}
