/* Locks by kind and name: one record for each in a client, as long as anyone
 * uses it. */
/* Tests: tests/live/lock/test_lock_calls.c, tests/live/kind/test_lock_nonreentrant.c. */
#include "lock/record/table.h"

#include <stddef.h>
#include <string.h>

#include "lock/record/holder.h"
#include "lock/record/shrink.h"
#include "net/base/assert.h"
#include "net/base/mem.h"

#define BUCKETS_FIRST 64   /* the table doubles from here */
#define BUCKETS_MAX (1u << 20)   /* to 16 MiB */

static struct hf_lock **bucket_of_hash(struct hf_client *client, uint32_t hash)
{
    return &client->lock_buckets[hash & (client->lock_buckets_capacity - 1)];
}

static void add_to_bucket(struct hf_client *client, struct hf_lock *lock)
{
    struct hf_lock **bucket = bucket_of_hash(client, lock->name_hash);

    lock->next_in_bucket = *bucket;
    *bucket = lock;
}

static void remove_from_bucket(struct hf_client *client, const struct hf_lock *lock)
{
    struct hf_lock **at = bucket_of_hash(client, lock->name_hash);

    while (*at != lock) {
        HF_ASSERT(*at);
        at = &(*at)->next_in_bucket;
    }
    *at = lock->next_in_bucket;
}

/* The upper half of the buckets is new: each lock stays, or goes there. */
static void split_buckets(struct hf_client *client, uint32_t old)
{
    for (uint32_t i = 0; i < old; i++) {
        struct hf_lock *next, *lock = client->lock_buckets[i];

        client->lock_buckets[i] = client->lock_buckets[i + old] = NULL;
        for (; lock; lock = next) {
            next = lock->next_in_bucket;
            add_to_bucket(client, lock);
        }
    }
}

/* Doubles the table, or makes it. */
static bool grow_lock_table(struct hf_client *client)
{
    uint32_t old = client->lock_buckets_capacity;
    size_t want = old ? (size_t)old * 2 : BUCKETS_FIRST;

    if (!hf_mem_grow(client->mem, &client->lock_buckets, &client->lock_buckets_capacity,
                     sizeof *client->lock_buckets, want, want))
        return false;
    if (old)
        split_buckets(client, old);
    else
        memset(client->lock_buckets, 0, want * sizeof *client->lock_buckets);
    return true;
}

hf_status hf_lock_table_init(struct hf_client *client)
{
    return grow_lock_table(client) ? HF_OK : HF_E_NOMEM;
}

struct hf_lock *hf_lock_next(const struct hf_client *client, const struct hf_lock *after)
{
    uint32_t from = after ? (after->name_hash & (client->lock_buckets_capacity - 1)) + 1 : 0;

    if (after && after->next_in_bucket)
        return after->next_in_bucket;
    for (uint32_t i = from; i < client->lock_buckets_capacity; i++)
        if (client->lock_buckets[i])
            return client->lock_buckets[i];
    return NULL;
}

static bool has_hash_and_name(const struct hf_lock *lock, uint32_t hash,
                              const char *name, size_t len)
{
    return lock->name_hash == hash && lock->name_len == len &&
           memcmp(lock->texts, name, len) == 0;
}

bool hf_lock_shares_channel(const struct hf_lock *a, const struct hf_lock *b)
{
    HF_ASSERT(hf_loop_is_locked(a->client->loop));
    return strcmp(a->kind->channel_prefix, b->kind->channel_prefix) == 0;
}

/* The lock; or NULL, and in *sharer a lock with the same channel, if there is one. */
static struct hf_lock *find_lock_or_sharer(struct hf_client *client, uint32_t hash,
                                           const struct hf_kind *kind, const char *name,
                                           size_t len, struct hf_lock **sharer)
{
    for (struct hf_lock *lock = *bucket_of_hash(client, hash); lock; lock = lock->next_in_bucket) {
        if (!has_hash_and_name(lock, hash, name, len))
            continue;
        if (lock->kind == kind)
            return lock;
        /* Two kinds of one name share their waiters exactly if a release of either
         * notifies the same channel. */
        if (strcmp(lock->kind->channel_prefix, kind->channel_prefix) == 0)
            *sharer = lock;
    }
    return NULL;
}

static size_t channel_name_size(const struct hf_kind *kind, const char *name,
                                size_t len)
{
    return kind->has_braced_channel
               ? hf_braced_size(kind->channel_prefix, len)
               : hf_prefixed_size(kind->channel_prefix, name, len);
}

static void put_channel_name(char *dst, const struct hf_kind *kind, const char *name,
                             size_t len)
{
    if (kind->has_braced_channel)
        hf_braced_put(dst, kind->channel_prefix, name, len);
    else
        hf_prefixed_put(dst, kind->channel_prefix, name, len);
}

static size_t size_of_key_names(const struct hf_kind *kind, const char *name,
                                size_t len)
{
    size_t size = 0;

    for (int i = 0; i < KIND_KEYS_MAX && kind->key_names[i]; i++)
        size += hf_key_size(kind->key_names[i], name, len);
    return size;
}

/* ---- channel and keys ---- */

static size_t channel_name_len(const struct hf_lock *lock)
{
    return channel_name_size(lock->kind, lock->texts, lock->name_len);
}

static size_t stored_channel_name_len(const struct hf_lock *lock)
{
    return lock->has_long_channel ? channel_name_len(lock) : 0;
}

struct hf_bytes hf_lock_channel(const struct hf_lock *lock, char room[CHANNEL_SHORT_MAX])
{
    if (lock->has_long_channel)
        return (struct hf_bytes){lock->texts + lock->name_len + 1, channel_name_len(lock)};
    if (lock->wait_queue) /* mostly: it has the name */
        memcpy(room, lock->wait_queue->channel_name, lock->wait_queue->channel_name_len);
    else
        put_channel_name(room, lock->kind, lock->texts, lock->name_len);
    return (struct hf_bytes){room, lock->wait_queue ? lock->wait_queue->channel_name_len
                                                    : channel_name_len(lock)};
}

static void put_key_names(char *at, const struct hf_kind *kind, const char *name, size_t len)
{
    for (int i = 0; i < KIND_KEYS_MAX && kind->key_names[i]; i++) {
        hf_key_put(at, kind->key_names[i], name, len);
        at += hf_key_size(kind->key_names[i], name, len);
    }
}

const char *hf_lock_keys(const struct hf_lock *lock, char room[KEYS_SHORT_MAX])
{
    if (lock->has_keys)
        return lock->texts + lock->name_len + 1 + stored_channel_name_len(lock);
    put_key_names(room, lock->kind, lock->texts, lock->name_len);
    return room;
}

static size_t lock_size_in_bytes(const struct hf_lock *lock)
{
    size_t keys =
        lock->has_keys ? size_of_key_names(lock->kind, lock->texts, lock->name_len) : 0;

    return offsetof(struct hf_lock, texts) + lock->name_len + 1 + stored_channel_name_len(lock) +
           keys;
}

static void put_lock_texts(struct hf_lock *lock, const char *name, size_t len)
{
    char *at = lock->texts + len + 1;

    memcpy(lock->texts, name, len); /* and a NUL: the memory is zeroed */
    if (lock->has_long_channel)
        put_channel_name(at, lock->kind, name, len);
    if (lock->has_keys)
        put_key_names(at + stored_channel_name_len(lock), lock->kind, name, len);
}

static struct hf_lock *new_lock(struct hf_client *client,
                                const struct hf_kind *kind, const char *name,
                                size_t len)
{
    size_t channel = channel_name_size(kind, name, len), keys = size_of_key_names(kind, name, len);
    bool is_long = channel > CHANNEL_SHORT_MAX;
    bool has_keys = keys > KEYS_SHORT_MAX || kind->steps[STEP_RENEW].is_without_name;
    size_t size = offsetof(struct hf_lock, texts) + len + 1 + (is_long ? channel : 0) +
                  (has_keys ? keys : 0);
    struct hf_lock *lock = hf_mem_new(client->mem, size);

    if (!lock)
        return NULL;
    lock->client = client;
    lock->kind = kind;
    lock->name_len = (uint32_t)len;
    lock->has_long_channel = is_long;
    lock->has_keys = has_keys;
    put_lock_texts(lock, name, len);
    hf_list_init(&lock->holds);
    return lock;
}

static bool has_foreign_channel(const struct hf_lock *lock)
{
    char room[CHANNEL_SHORT_MAX];
    struct hf_bytes channel = hf_lock_channel(lock, room);

    return hf_router_slot(lock->client->router, channel.ptr, channel.len) !=
           lock->slot;
}

static void share_channel_of(struct hf_lock *lock, struct hf_lock *sharer)
{
    lock->shares_channel = sharer->shares_channel = true;
    if ((lock->wait_queue = sharer->wait_queue))
        lock->wait_queue->locks_count++;
}

hf_status hf_lock_find_or_add(struct hf_lock **out, struct hf_client *client,
                              const struct hf_kind *kind, const char *name,
                              size_t len)
{
    uint32_t hash = hf_loop_hash(client->loop, name, len);
    struct hf_lock *sharer = NULL;
    struct hf_lock *lock = find_lock_or_sharer(client, hash, kind, name, len, &sharer);

    HF_ASSERT(hf_loop_is_locked(client->loop));
    if (lock) {
        hf_lock_ref(lock);
        *out = lock;
        return HF_OK;
    }
    if (client->locks_count >= client->locks_max)
        return HF_E_LIMIT;
    if (!(lock = new_lock(client, kind, name, len)))
        return HF_E_NOMEM;
    if (client->locks_count >= client->lock_buckets_capacity &&
        client->lock_buckets_capacity < BUCKETS_MAX) /* without memory: longer lists */
        (void)grow_lock_table(client);
    lock->name_hash = hash;
    lock->slot = hf_router_slot(client->router, name, len);
    lock->has_foreign_channel = has_foreign_channel(lock);
    if (sharer)
        share_channel_of(lock, sharer);
    lock->refs = 1;
    client->locks_count++;
    add_to_bucket(client, lock);
    HF_ASSERT(find_lock_or_sharer(client, hash, kind, name, len, &sharer) == lock);
    *out = lock;
    return HF_OK;
}

static struct hf_lock *next_lock_of_name(struct hf_client *client, uint32_t hash,
                                         const char *name, size_t len,
                                         const struct hf_lock *after)
{
    struct hf_lock *other = after ? after->next_in_bucket : *bucket_of_hash(client, hash);

    while (other && !has_hash_and_name(other, hash, name, len))
        other = other->next_in_bucket;
    return other;
}

struct hf_lock *hf_lock_next_of_name(const struct hf_lock *lock,
                                     const struct hf_lock *after)
{
    HF_ASSERT(hf_loop_is_locked(lock->client->loop));
    return next_lock_of_name(lock->client, lock->name_hash, lock->texts, lock->name_len, after);
}

struct hf_lock *hf_lock_next_named(struct hf_client *client, const char *name, size_t len,
                                   const struct hf_lock *after)
{
    HF_ASSERT(hf_loop_is_locked(client->loop));
    return next_lock_of_name(client, hf_loop_hash(client->loop, name, len), name, len, after);
}

/* With sharded messages a script may only speak to its own slot's channels. So
 * the waiters of an odd name are woken in the plain way, over any node. */
bool hf_lock_is_sharded(const struct hf_lock *lock)
{
    HF_ASSERT(hf_loop_is_locked(lock->client->loop));
    return !lock->has_foreign_channel &&
           hf_router_is_sharded(lock->client->router);
}

/* ---- queues ---- */

static void free_idle_queue(struct hf_client *client, struct hf_shrink *s);

struct hf_wait_queue *hf_lock_new_queue(struct hf_lock *lock, size_t more)
{
    char room[CHANNEL_SHORT_MAX];
    struct hf_bytes channel = hf_lock_channel(lock, room);
    size_t size = sizeof(struct hf_wait_queue) + channel.len + more;
    struct hf_wait_queue *line = hf_mem_new(lock->client->mem, size);

    HF_ASSERT(hf_loop_is_locked(lock->client->loop));
    if (!line)
        return NULL;
    line->size = size;
    line->lock = lock;
    line->locks_count = 1;
    line->shrink.free_memory = free_idle_queue;
    hf_list_init(&line->waiters);
    hf_list_init(&line->shrink.idle_node);
    memcpy(line->channel_name, channel.ptr, channel.len);
    line->channel_name_len = channel.len;
    HF_ASSERT(line->channel_name_len > 0);
    return line;
}

void hf_lock_free_queue(struct hf_client *client, struct hf_wait_queue *line)
{
    HF_ASSERT(hf_loop_is_locked(client->loop));
    HF_ASSERT(hf_list_is_empty(&line->waiters) && line->users_count == 0);
    HF_ASSERT(!line->is_listening && !line->plain_subscription && !line->registration);
    hf_shrink_cancel(&line->shrink);
    hf_holder_free(line);
    hf_mem_free(client->mem, line, line->size);
}

/* A release of any lock with this channel wakes the waiters of all of them: all have the queue. */
static void share_queue_with_locks_of_name(const struct hf_lock *lock)
{
    struct hf_lock *other = NULL;

    while (lock->shares_channel && (other = hf_lock_next_of_name(lock, other))) {
        HF_ASSERT(!other->wait_queue || other->wait_queue == lock->wait_queue);
        if (other->wait_queue || !hf_lock_shares_channel(other, lock))
            continue;
        other->wait_queue = lock->wait_queue;
        lock->wait_queue->locks_count++;
    }
}

struct hf_wait_queue *hf_lock_queue(struct hf_lock *lock)
{
    HF_ASSERT(hf_loop_is_locked(lock->client->loop));
    if (!lock->wait_queue && (lock->wait_queue = hf_lock_new_queue(lock, 0))) {
        share_queue_with_locks_of_name(lock);
        hf_shrink_later(lock->client, &lock->wait_queue->shrink);
    }
    return lock->wait_queue;
}

/* The queue of other locks belongs to them now. */
static void give_queue_to_other_lock(struct hf_wait_queue *line, const struct hf_lock *from)
{
    struct hf_lock *other = NULL;

    while (line->lock == from && (other = hf_lock_next_of_name(from, other)))
        if (other != from && other->wait_queue == line)
            line->lock = other;
}

static void leave_shared_queue(struct hf_lock *lock)
{
    struct hf_wait_queue *line = lock->wait_queue;

    if (!line)
        return;
    lock->wait_queue = NULL;
    HF_ASSERT(line->locks_count > 0);
    if (--line->locks_count == 0)
        hf_lock_free_queue(lock->client, line);
    else
        give_queue_to_other_lock(line, lock);
    HF_ASSERT(!lock->wait_queue);
}

/* SHRINK-2. A release whose reply has not arrived is counted here (TURN-1). */
static void free_idle_queue(struct hf_client *client, struct hf_shrink *s)
{
    struct hf_wait_queue *line = HF_OWNER_OF(s, struct hf_wait_queue, shrink);

    if (line->users_count > 0)
        return;
    if (line->is_listening || line->channel.pending_releases > 0) {
        hf_shrink_later(client, s);
        return;
    }
    for (uint32_t locks = line->locks_count; locks > 0; locks--)
        leave_shared_queue(line->lock);
}

/* ---- references ---- */

void hf_lock_ref(struct hf_lock *lock)
{
    HF_ASSERT(hf_loop_is_locked(lock->client->loop));
    lock->refs++;
}

static void free_lock(struct hf_lock *lock)
{
    struct hf_client *client = lock->client;

    HF_ASSERT(client->locks_count > 0 && lock->private_queues_count == 0);
    HF_ASSERT(hf_list_is_empty(&lock->holds) && !lock->hold_table && lock->holds_count == 0);
    HF_ASSERT(client->has_stopped_sending ||
              (!lock->pending_reply_deletion && !lock->has_pending_wake_message &&
               !lock->has_pending_listener_count));
    leave_shared_queue(lock);
    remove_from_bucket(client, lock);
    client->locks_count--;
    hf_mem_free(client->mem, lock, lock_size_in_bytes(lock));
}

void hf_lock_unref(struct hf_lock *lock)
{
    HF_ASSERT(hf_loop_is_locked(lock->client->loop));
    HF_ASSERT(lock->refs > 0);
    if (--lock->refs == 0)
        free_lock(lock);
}

/* Handles that were not freed are invalid from here on. */
static void free_locks(struct hf_client *client)
{
    struct hf_lock *next;

    for (struct hf_lock *lock = hf_lock_next(client, NULL); lock; lock = next) {
        next = hf_lock_next(client, lock);
        lock->refs = 1;
        hf_lock_unref(lock);
    }
}

void hf_lock_table_fini(struct hf_client *client)
{
    HF_ASSERT(hf_loop_is_locked(client->loop));
    if (!client->lock_buckets)
        return; /* of a half-made client */
    free_locks(client);
    hf_mem_free(client->mem, client->lock_buckets,
                client->lock_buckets_capacity * sizeof *client->lock_buckets);
}
