/* Registers the waiters of this client, so that the crowd of a lock is the clients that wait. */
/* Tests: tests/sim/test_crowd.c, tests/live/lock/test_lock_share.c. */
#include "lock/record/registration.h"

#include <string.h>

#include "net/base/assert.h"
#include "net/base/mem.h"

struct hf_registration {
    struct hf_subscription subscription;
    struct hf_wait_queue *queue;
    size_t size;                /* of this memory */
    char channel[];
};

static void notify_first_waiter_of_registration(struct hf_wait_queue *line)
{
    struct hf_op *op = HF_OWNER_OF(line->waiters.next, struct hf_op, queue_node);

    if (!hf_list_is_empty(&line->waiters) && op->verb->on_queue_registered)
        op->verb->on_queue_registered(op);
}

static void ignore_message(struct hf_subscription *s, const char *ptr, size_t len)
{
    (void)s, (void)ptr, (void)len;
}

/* A subscription that is denied would be retried each second. One that is lost, or refused for
 * now (MOVED, BUSY), is: it will be live again. */
static void on_registration_change(struct hf_subscription *s, bool is_live)
{
    struct hf_registration *registration =
        HF_OWNER_OF(s, struct hf_registration, subscription);
    struct hf_wait_queue *line = registration->queue;

    hf_channel_registered(&line->channel, is_live);
    if (is_live) {
        notify_first_waiter_of_registration(line);
    } else if (s->is_refused_for_good) {
        line->is_registration_refused = true;
        hf_registration_end(line);
    }
}

size_t hf_registration_channel(char *dst, struct hf_bytes channel)
{
    memcpy(dst, channel.ptr, channel.len);
    memcpy(dst + channel.len, KIND_WAITERS_SUFFIX, REGISTRATION_EXTRA);
    return channel.len + REGISTRATION_EXTRA;
}

static struct hf_registration *new_registration(struct hf_wait_queue *line)
{
    size_t size = sizeof(struct hf_registration) + line->channel_name_len + REGISTRATION_EXTRA;
    struct hf_registration *registration = hf_mem_new(line->lock->client->mem, size);

    if (!registration)
        return NULL;
    registration->queue = line;
    registration->size = size;
    registration->subscription = (struct hf_subscription){
        .channel = registration->channel,
        .channel_len = hf_registration_channel(registration->channel,
                                               (struct hf_bytes){line->channel_name,
                                                                 line->channel_name_len}),
        .on_message = ignore_message,
        .on_change = on_registration_change,
        .is_sharded = line->subscription.is_sharded};
    return registration;
}

void hf_registration_begin(struct hf_wait_queue *line, const struct hf_lock *lock)
{
    struct hf_registration *registration;

    HF_ASSERT(hf_loop_is_locked(lock->client->loop));
    if (line->registration || line->is_registration_refused || !line->is_listening ||
        !line->channel.has_more_than_few_listeners || !hf_kind_has_waiters_channel(lock->kind) ||
        !(registration = new_registration(line)))
        return;
    if (hf_router_subscribe(lock->client->router, &registration->subscription, lock->slot) ==
        HF_OK)
        line->registration = registration;
    else
        hf_mem_free(lock->client->mem, registration, registration->size);
}

void hf_registration_end(struct hf_wait_queue *line)
{
    struct hf_registration *registration = line->registration;

    HF_ASSERT(hf_loop_is_locked(line->lock->client->loop));
    hf_channel_registered(&line->channel, false);
    line->registration = NULL;
    if (!registration)
        return;
    hf_router_unsubscribe(&registration->subscription);
    hf_mem_free(line->lock->client->mem, registration, registration->size);
}
