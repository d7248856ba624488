/* Locks by kind and name: one record for each in a client, as long as anyone
 * uses it. */
/* Tests: tests/live/lock/test_lock_calls.c, tests/live/kind/test_lock_nonreentrant.c. */
#include "lock/record/table.h"

#include <string.h>

#include "net/base/mem.h"

#define BUCKETS_FIRST 64   /* the table doubles from here */
#define BUCKETS_MAX (1u << 20)   /* to 16 MiB */

static struct hf_list *bucket_of(struct hf_client *client, uint32_t hash)
{
    return &client->buckets[hash & (client->buckets_capacity - 1)];
}

/* Heads move when the array grows, so all lists are strung anew. */
static void string_anew(struct hf_client *client)
{
    for (uint32_t i = 0; i < client->buckets_capacity; i++)
        hf_list_init(&client->buckets[i]);
    for (struct hf_list *l = client->locks.next; l != &client->locks;
         l = l->next) {
        struct hf_lock *lock = HF_OWNER_OF(l, struct hf_lock, client_link);

        hf_list_push(bucket_of(client, lock->hash), &lock->bucket_link);
    }
}

static bool table_grow(struct hf_client *client, size_t want)
{
    if (!hf_mem_grow(client->mem, &client->buckets, &client->buckets_capacity,
                     sizeof *client->buckets, want, want))
        return false;
    string_anew(client);
    return true;
}

hf_status hf_table_init(struct hf_client *client)
{
    hf_list_init(&client->locks);
    return table_grow(client, BUCKETS_FIRST) ? HF_OK : HF_E_NOMEM;
}

static bool is_named(const struct hf_lock *lock, uint32_t hash,
                     const char *name, size_t len)
{
    return lock->hash == hash && lock->name_len == len &&
           memcmp(lock->text, name, len) == 0;
}

/* The lock; or NULL, and in *line that of a lock with the same channel, if
 * there is one. */
static struct hf_lock *find(struct hf_client *client, uint32_t hash,
                            const struct hf_kind *kind, const char *name,
                            size_t len, struct hf_wait_queue **line)
{
    struct hf_list *bucket = bucket_of(client, hash);

    for (struct hf_list *l = bucket->next; l != bucket; l = l->next) {
        struct hf_lock *lock = HF_OWNER_OF(l, struct hf_lock, bucket_link);

        if (!is_named(lock, hash, name, len))
            continue;
        if (lock->kind == kind)
            return lock;
        /* Two kinds of one name share their waiters exactly if a release of either
         * notifies the same channel. */
        if (strcmp(lock->kind->channel, kind->channel) == 0)
            *line = lock->line;
    }
    return NULL;
}

static size_t channel_size(const struct hf_kind *kind, const char *name,
                           size_t len)
{
    return kind->has_braced_channel
               ? hf_braced_size(kind->channel, len)
               : hf_prefixed_size(kind->channel, name, len);
}

static void put_channel(char *dst, const struct hf_kind *kind, const char *name,
                        size_t len)
{
    if (kind->has_braced_channel)
        hf_braced_put(dst, kind->channel, name, len);
    else
        hf_prefixed_put(dst, kind->channel, name, len);
}

static size_t keys_size(const struct hf_kind *kind, const char *name,
                        size_t len)
{
    size_t size = 0;

    for (int i = 0; i < KIND_KEYS_MAX && kind->keys[i]; i++)
        size += hf_key_size(kind->keys[i], name, len);
    return size;
}

static size_t size_of(const struct hf_lock *lock)
{
    return sizeof *lock + lock->name_len + 1 + lock->channel_len +
           keys_size(lock->kind, lock->text, lock->name_len);
}

static void put_texts(struct hf_lock *lock, const char *name, size_t len)
{
    char *at = lock->text + len + 1 + lock->channel_len;

    memcpy(lock->text, name, len); /* and a NUL: the memory is zeroed */
    if (lock->channel_len > 0)
        put_channel(at - lock->channel_len, lock->kind, name, len);
    for (int i = 0; i < KIND_KEYS_MAX && lock->kind->keys[i]; i++) {
        hf_key_put(at, lock->kind->keys[i], name, len);
        at += hf_key_size(lock->kind->keys[i], name, len);
    }
}

static struct hf_lock *lock_new(struct hf_client *client,
                                const struct hf_kind *kind, const char *name,
                                size_t len, struct hf_wait_queue *line)
{
    size_t channel_len =
        line ? 0 : channel_size(kind, name, len);
    struct hf_lock *lock =
        hf_mem_new(client->mem, sizeof *lock + len + 1 + channel_len +
                                    keys_size(kind, name, len));

    if (!lock)
        return NULL;
    lock->client = client;
    lock->kind = kind;
    lock->name_len = (uint32_t)len;
    lock->channel_len = (uint32_t)channel_len;
    put_texts(lock, name, len);
    hf_list_init(&lock->holds);
    hf_list_init(&lock->private_queue.waiters);
    lock->private_queue.lock = lock;
    lock->private_queue.name =
        (struct hf_bytes){lock->text + len + 1, channel_len};
    lock->line = line ? line : &lock->private_queue;
    lock->line->locks++;
    if (line)
        hf_lock_ref(line->lock);
    return lock;
}

static bool has_foreign_channel(const struct hf_lock *lock)
{
    struct hf_bytes channel = hf_lock_channel(lock);

    return hf_router_slot(lock->client->router, channel.ptr, channel.len) !=
           lock->slot;
}

hf_status hf_lock_find_or_add(struct hf_lock **out, struct hf_client *client,
                              const struct hf_kind *kind, const char *name,
                              size_t len)
{
    uint32_t hash = hf_loop_hash(client->loop, name, len);
    struct hf_wait_queue *line = NULL;
    struct hf_lock *lock = find(client, hash, kind, name, len, &line);

    if (lock) {
        hf_lock_ref(lock);
        *out = lock;
        return HF_OK;
    }
    if (client->locks_count >= client->locks_max)
        return HF_E_LIMIT;
    if (!(lock = lock_new(client, kind, name, len, line)))
        return HF_E_NOMEM;
    if (client->locks_count >= client->buckets_capacity &&
        client->buckets_capacity < BUCKETS_MAX) /* without memory: longer lists */
        (void)table_grow(client, (size_t)client->buckets_capacity * 2);
    lock->hash = hash;
    lock->slot = hf_router_slot(client->router, name, len);
    lock->has_foreign_channel = has_foreign_channel(lock);
    lock->refs = 1;
    client->locks_count++;
    hf_list_push(&client->locks, &lock->client_link);
    hf_list_push(bucket_of(client, hash), &lock->bucket_link);
    *out = lock;
    return HF_OK;
}

static struct hf_lock *next_named(struct hf_client *client, uint32_t hash,
                                  const char *name, size_t len,
                                  const struct hf_lock *after)
{
    struct hf_list *bucket = bucket_of(client, hash);
    struct hf_list *l = after ? after->bucket_link.next : bucket->next;

    for (; l != bucket; l = l->next) {
        struct hf_lock *other = HF_OWNER_OF(l, struct hf_lock, bucket_link);

        if (is_named(other, hash, name, len))
            return other;
    }
    return NULL;
}

struct hf_lock *hf_lock_next_of_name(const struct hf_lock *lock,
                                     const struct hf_lock *after)
{
    return next_named(lock->client, lock->hash, lock->text, lock->name_len, after);
}

struct hf_lock *hf_lock_next_named(struct hf_client *client, const char *name, size_t len,
                                   const struct hf_lock *after)
{
    return next_named(client, hf_loop_hash(client->loop, name, len), name, len, after);
}

/* With sharded messages a script may only speak to its own slot's channels. So
 * the waiters of an odd name are woken in the plain way, over any node. */
bool hf_lock_is_sharded(const struct hf_lock *lock)
{
    return !lock->has_foreign_channel &&
           hf_router_is_sharded(lock->client->router);
}

void hf_lock_ref(struct hf_lock *lock)
{
    lock->refs++;
}

static void lock_free(struct hf_lock *lock)
{
    struct hf_client *client = lock->client;
    struct hf_lock *of = lock->line->lock;

    lock->line->locks--;
    hf_list_remove(&lock->bucket_link);
    hf_list_remove(&lock->client_link);
    client->locks_count--;
    hf_mem_free(client->mem, lock, size_of(lock));
    if (of != lock)
        hf_lock_unref(of);
}

void hf_lock_unref(struct hf_lock *lock)
{
    if (--lock->refs == 0)
        lock_free(lock);
}

/* Handles that were not freed are invalid from here on. The latest lock first:
 * if it uses another's line, that one is older. */
static void free_locks(struct hf_client *client)
{
    while (!hf_list_is_empty(&client->locks)) {
        struct hf_lock *lock =
            HF_OWNER_OF(client->locks.prev, struct hf_lock, client_link);

        lock->refs = 1;
        hf_lock_unref(lock);
    }
}

void hf_table_fini(struct hf_client *client)
{
    if (!client->buckets)
        return; /* of a half-made client */
    free_locks(client);
    hf_mem_free(client->mem, client->buckets,
                client->buckets_capacity * sizeof *client->buckets);
}
