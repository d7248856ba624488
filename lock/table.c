/* Locks by name: one record a name and client, as long as anyone uses it. */
#include <string.h>

#include "lock/client.h"

#define BUCKETS_FIRST 64
#define BUCKETS_MAX (1u << 20)

static struct hf_list *bucket_of(struct hf_client *client, uint32_t hash)
{
    return &client->buckets[hash & (client->buckets_room - 1)];
}

/* Heads move when the array grows, so all lists are strung anew. */
static void string_anew(struct hf_client *client)
{
    for (uint32_t i = 0; i < client->buckets_room; i++)
        hf_list_init(&client->buckets[i]);
    for (struct hf_list *l = client->handles.next; l != &client->handles;
         l = l->next) {
        struct hf_lock *lock = HF_OWNER_OF(l, struct hf_lock, node);

        hf_list_push(bucket_of(client, lock->hash), &lock->by_name);
    }
}

static bool table_grow(struct hf_client *client, size_t want)
{
    if (!hf_mem_grow(client->mem, &client->buckets, &client->buckets_room,
                     sizeof *client->buckets, want, want))
        return false;
    string_anew(client);
    return true;
}

hf_status hf_table_init(struct hf_client *client)
{
    hf_list_init(&client->handles);
    return table_grow(client, BUCKETS_FIRST) ? HF_OK : HF_E_NOMEM;
}

void hf_table_fini(struct hf_client *client)
{
    hf_mem_free(client->mem, client->buckets,
                client->buckets_room * sizeof *client->buckets);
}

static struct hf_lock *find(struct hf_client *client, uint32_t hash,
                            const char *name, size_t len)
{
    struct hf_list *bucket = bucket_of(client, hash);

    for (struct hf_list *l = bucket->next; l != bucket; l = l->next) {
        struct hf_lock *lock = HF_OWNER_OF(l, struct hf_lock, by_name);

        if (lock->hash == hash && lock->name_len == len &&
            memcmp(lock->text, name, len) == 0)
            return lock;
    }
    return NULL;
}

static size_t size_of(const struct hf_lock *lock)
{
    return sizeof *lock + lock->name_len + 1 + lock->channel_len;
}

static struct hf_lock *lock_new(struct hf_client *client, const char *name,
                                size_t len)
{
    size_t channel_len = hf_channel_size(name, len);
    struct hf_lock *lock =
        hf_mem_new(client->mem, sizeof *lock + len + 1 + channel_len);

    if (!lock)
        return NULL;
    lock->client = client;
    lock->name_len = (uint32_t)len;
    lock->channel_len = (uint32_t)channel_len;
    memcpy(lock->text, name, len); /* and a NUL: the memory is zeroed */
    hf_channel_put(lock->text + len + 1, name, len);
    hf_list_init(&lock->holds);
    hf_list_init(&lock->line);
    return lock;
}

hf_status hf_lock_find_or_add(struct hf_lock **out, struct hf_client *client,
                              const char *name, size_t len)
{
    uint32_t hash = hf_loop_hash(client->loop, name, len);
    struct hf_lock *lock = find(client, hash, name, len);

    if (lock) {
        hf_lock_ref(lock);
        *out = lock;
        return HF_OK;
    }
    if (client->locks >= client->locks_max)
        return HF_E_LIMIT;
    if (!(lock = lock_new(client, name, len)))
        return HF_E_NOMEM;
    if (client->locks >= client->buckets_room &&
        client->buckets_room < BUCKETS_MAX) /* without memory: longer lists */
        (void)table_grow(client, (size_t)client->buckets_room * 2);
    lock->hash = hash;
    lock->slot = hf_router_slot(client->router, name, len);
    lock->is_odd = hf_router_slot(client->router, hf_lock_channel(lock),
                                  lock->channel_len) != lock->slot;
    lock->refs = 1;
    client->locks++;
    hf_list_push(&client->handles, &lock->node);
    hf_list_push(bucket_of(client, hash), &lock->by_name);
    *out = lock;
    return HF_OK;
}

/* With sharded messages a script may only speak to its own slot's channels. So
 * the waiters of an odd name are woken in the plain way, over any node. */
bool hf_lock_is_sharded(const struct hf_lock *lock)
{
    return !lock->is_odd && hf_router_is_sharded(lock->client->router);
}

size_t hf_lock_put_publish(struct hf_resp_arg *argv, const struct hf_lock *lock)
{
    static const struct hf_resp_arg plain = {"PUBLISH", 7};
    static const struct hf_resp_arg sharded = {"SPUBLISH", 8};
    bool is_sharded = hf_lock_is_sharded(lock);

    argv[0] = is_sharded ? sharded : plain;
    argv[1] =
        (struct hf_resp_arg){hf_lock_channel(lock), lock->channel_len};
    if (!is_sharded || !hf_router_wakes_both(lock->client->router))
        return 2;
    argv[2] = plain;
    return 3;
}

void hf_lock_ref(struct hf_lock *lock)
{
    lock->refs++;
}

void hf_lock_unref(struct hf_lock *lock)
{
    struct hf_client *client = lock->client;

    if (--lock->refs > 0)
        return;
    hf_list_remove(&lock->by_name);
    hf_list_remove(&lock->node);
    client->locks--;
    hf_mem_free(client->mem, lock, size_of(lock));
}
