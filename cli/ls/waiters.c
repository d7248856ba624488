/* Who waits for locks: the queues of fair locks, the listeners of channels. */
/* Tests: tests/live/cli/test_ls_waiters.c. */
#include "cli/ls/waiters.h"

#include <stdlib.h>
#include <string.h>

#include "lock/rights.h"
#include "net/base/error.h"
#include "net/route/slot.h"

#define PAGE 256                /* locks in a batch */
#define QUERY_COST 3            /* in keys of a SCAN */
#define CHANNELS_MAX 2          /* of a counter: a semaphore's, and a latch's */
#define QUEUE "redisson_lock_queue"
#define PLACES_LAST "99"        /* LS_PLACES_MAX places */

/* The queries about one lock. */
struct waiters_look {
    struct ls_waiters *waiters;
    size_t lock_index;
    struct cli_query queue_query; /* of a fair lock */
    struct cli_query plain_query, sharded_query; /* of the others */
    char *names[CHANNELS_MAX];  /* of channels, or of the queue; malloc */
    size_t name_lens[CHANNELS_MAX];
    size_t names_count;         /* of names; 0: nothing is asked */
    int64_t listeners;
    hf_status status;           /* HF_E_NOMEM */
};

/* ---- names ---- */

/* Adds the key or channel of a lock that this pattern describes. */
static void add_name_of_pattern(struct waiters_look *look, const struct hf_rights_pattern *p,
                                const struct cli_lock *lock)
{
    size_t len = hf_rights_name_size(p, lock->name, lock->name_len);
    char *text = malloc(len);

    if (!text) {
        look->status = HF_E_NOMEM;
        return;
    }
    hf_rights_name_put(text, p, lock->name, lock->name_len);
    look->names[look->names_count] = text;
    look->name_lens[look->names_count++] = len;
}

/* The first pattern is that of the channel itself. */
static void add_channel(struct waiters_look *look, enum hf_rights rights,
                        const struct cli_lock *lock)
{
    struct hf_rights_pattern patterns[HF_RIGHTS_PATTERNS_MAX];

    if (hf_rights_channels(rights, patterns) > 0)
        add_name_of_pattern(look, &patterns[0], lock);
}

static bool has_queue(const struct cli_lock *lock)
{
    return lock->info.waiters > 0;
}

static void add_names_to_query(struct waiters_look *look, const struct cli_lock *lock)
{
    static const struct hf_rights_pattern queue = {QUEUE, "", false};

    if (has_queue(lock))
        add_name_of_pattern(look, &queue, lock);
    else if (cli_lock_is_counter(&lock->info)) {
        add_channel(look, HF_RIGHTS_SEMAPHORE, lock);
        add_channel(look, HF_RIGHTS_LATCH, lock);
    } else if (lock->info.kind == HF_KIND_READ || lock->info.kind == HF_KIND_WRITE)
        add_channel(look, HF_RIGHTS_READ_WRITE, lock);
    else if (lock->info.kind == HF_KIND_PERMIT)
        add_channel(look, HF_RIGHTS_PERMIT, lock);
    else if (lock->info.kind == HF_KIND_PLAIN)
        add_channel(look, HF_RIGHTS_PLAIN, lock);
}

/* ---- replies ---- */

/* {channel, number, ...} */
static void add_listeners(struct waiters_look *look, struct hf_resp_value reply)
{
    struct hf_resp_iter it = hf_resp_children(reply);
    struct hf_resp_value child;
    int64_t number;

    while (hf_resp_next(&it, &child))
        if (hf_resp_integer(child, &number) == HF_OK && number > 0)
            look->listeners += number;
}

static void read_plain_listeners(struct cli_query *q, struct hf_resp_value reply)
{
    add_listeners(HF_OWNER_OF(q, struct waiters_look, plain_query), reply);
}

static void read_sharded_listeners(struct cli_query *q, struct hf_resp_value reply)
{
    add_listeners(HF_OWNER_OF(q, struct waiters_look, sharded_query), reply);
}

static void add_place(struct waiters_look *look, struct hf_resp_value owner, uint32_t place)
{
    struct ls_waiter waiter = {.lock_index = look->lock_index, .place = place};
    const char *ptr;
    size_t len;

    if (hf_resp_bytes(owner, &ptr, &len) < 0)
        return;
    waiter.owner_len = len < sizeof waiter.owner ? len : sizeof waiter.owner - 1;
    memcpy(waiter.owner, ptr, waiter.owner_len);
    if (ls_list_add_waiter(look->waiters->list, &waiter) != HF_OK)
        look->status = HF_E_NOMEM;
}

static void read_queue_places(struct cli_query *q, struct hf_resp_value reply)
{
    struct waiters_look *look = HF_OWNER_OF(q, struct waiters_look, queue_query);
    struct hf_resp_iter it = hf_resp_children(reply);
    struct hf_resp_value owner;

    for (uint32_t place = 1; hf_resp_next(&it, &owner); place++)
        add_place(look, owner, place);
}

/* ---- requests ---- */

static void request_queue(struct waiters_look *look, uint16_t slot)
{
    struct cli_query *q = &look->queue_query;

    *q = (struct cli_query){.slot = slot, .read_reply = read_queue_places};
    cli_query_add_word(q, "LRANGE");
    cli_query_add_bytes(q, look->names[0], look->name_lens[0]);
    cli_query_add_word(q, "0");
    cli_query_add_word(q, PLACES_LAST);
    cli_requests_send(look->waiters->requests, q);
}

static void request_listeners(struct waiters_look *look, struct cli_query *q, const char *command)
{
    cli_query_add_word(q, "PUBSUB");
    cli_query_add_word(q, command);
    for (size_t i = 0; i < look->names_count; i++)
        cli_query_add_bytes(q, look->names[i], look->name_lens[i]);
    cli_requests_send(look->waiters->requests, q);
}

/* Returns the number of requests. */
static int request_waiters(struct waiters_look *look)
{
    const struct cli_lock *lock = &look->waiters->list->locks[look->lock_index];
    uint16_t slot = hf_slot_of(lock->name, lock->name_len);

    if (look->names_count == 0)
        return 0;
    if (has_queue(lock)) {
        request_queue(look, slot);
        return 1;
    }
    look->plain_query = (struct cli_query){.slot = slot, .read_reply = read_plain_listeners};
    request_listeners(look, &look->plain_query, "NUMSUB");
    if (!look->waiters->is_cluster)
        return 1;
    look->sharded_query = (struct cli_query){.slot = slot, .read_reply = read_sharded_listeners};
    request_listeners(look, &look->sharded_query, "SHARDNUMSUB");
    return 2;
}

/* ---- a page ---- */

/* A cluster before Redis 7.0 has no sharded channels. */
static const struct hf_error *first_failure(const struct waiters_look *look)
{
    if (look->queue_query.error.status != HF_OK)
        return &look->queue_query.error;
    if (look->plain_query.error.status != HF_OK)
        return &look->plain_query.error;
    if (look->sharded_query.error.status != HF_OK &&
        !cli_query_is_error(&look->sharded_query, "ERR"))
        return &look->sharded_query.error;
    return NULL;
}

static void finish_look(struct waiters_look *look)
{
    struct ls_waiters *waiters = look->waiters;
    struct cli_lock *lock = &waiters->list->locks[look->lock_index];
    const struct hf_error *why = first_failure(look);

    if (why && waiters->unknown_locks++ == 0)
        waiters->first_error = *why;
    lock->knows_listeners = look->names_count > 0 && !has_queue(lock) && !why;
    lock->listeners = look->listeners;
    for (size_t i = 0; i < look->names_count; i++)
        free(look->names[i]);
}

hf_status ls_waiters_next(struct ls_waiters *waiters, int64_t *cost)
{
    size_t left = waiters->list->locks_count - waiters->next_lock, count = left < PAGE ? left
        : PAGE;
    struct waiters_look *looks = count > 0 ? calloc(count, sizeof *looks) : NULL;
    hf_status rc = HF_OK;

    *cost = 0;
    if (!looks)
        return count > 0 ? HF_E_NOMEM : HF_OK;
    for (size_t i = 0; i < count; i++) {
        looks[i] = (struct waiters_look){.waiters = waiters, .lock_index = waiters->next_lock + i};
        add_names_to_query(&looks[i], &waiters->list->locks[looks[i].lock_index]);
        *cost += 1 + QUERY_COST * request_waiters(&looks[i]);
    }
    cli_requests_await(waiters->requests);
    for (size_t i = 0; i < count; i++) {
        finish_look(&looks[i]);
        if (looks[i].status < 0)
            rc = looks[i].status;
    }
    free(looks);
    waiters->next_lock += count;
    return rc;
}
