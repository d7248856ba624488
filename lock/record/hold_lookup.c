/* Finding holds, and their keys. */
/* Tests: tests/live/kind/test_permits.c, tests/live/lock/test_lock.c. */
#include "lock/record/hold_lookup.h"
#include "lock/record/table.h"
#include "net/base/mem.h"

/* Most locks have one hold. Readers and permits may be many: from here on they
 * are found by a hash of their owners. */
#define BUCKETS_FROM 16
#define BUCKETS_MAX (1u << 20)

static struct hf_list *bucket_of(const struct hf_lock *lock, int64_t owner)
{
    uint32_t hash =
        hf_loop_hash(lock->client->loop, &owner, sizeof owner);

    return &lock->hold_buckets[hash & (lock->hold_buckets_room - 1)];
}

/* If there is no memory, the lists become longer. */
static void grow(struct hf_lock *lock)
{
    size_t want = lock->hold_buckets_room ? (size_t)lock->hold_buckets_room * 2
                                          : BUCKETS_FROM;

    if (!hf_mem_grow(lock->client->mem, &lock->hold_buckets,
                     &lock->hold_buckets_room, sizeof *lock->hold_buckets, want,
                     want))
        return;
    for (uint32_t i = 0; i < lock->hold_buckets_room; i++)
        hf_list_init(&lock->hold_buckets[i]);
    for (struct hf_list *l = lock->holds.next; l != &lock->holds; l = l->next) {
        struct hf_hold *hold = HF_OWNER_OF(l, struct hf_hold, node);

        hf_list_push(bucket_of(lock, hold->owner), &hold->owner_node);
    }
}

static void free_buckets(struct hf_lock *lock)
{
    hf_mem_free(lock->client->mem, lock->hold_buckets,
                lock->hold_buckets_room * sizeof *lock->hold_buckets);
    lock->hold_buckets = NULL;
    lock->hold_buckets_room = 0;
}

void hf_hold_add(struct hf_hold *hold)
{
    struct hf_lock *lock = hold->lock;

    lock->holds_count++;
    hf_list_init(&hold->owner_node);
    if (lock->hold_buckets)
        hf_list_push(bucket_of(lock, hold->owner), &hold->owner_node);
    hf_list_push(&lock->holds, &hold->node);
    if (lock->holds_count >= BUCKETS_FROM &&
        lock->holds_count > lock->hold_buckets_room &&
        lock->hold_buckets_room < BUCKETS_MAX)
        grow(lock);
}

void hf_hold_remove(struct hf_hold *hold)
{
    struct hf_lock *lock = hold->lock;

    if (hf_list_is_empty(&hold->node))
        return;
    hf_list_remove(&hold->node);
    hf_list_remove(&hold->owner_node);
    if (--lock->holds_count == 0 && lock->hold_buckets)
        free_buckets(lock);
}

static struct hf_hold *find_in_bucket(const struct hf_lock *lock,
                                      int64_t owner)
{
    struct hf_list *bucket = bucket_of(lock, owner);

    for (struct hf_list *l = bucket->next; l != bucket; l = l->next) {
        struct hf_hold *hold = HF_OWNER_OF(l, struct hf_hold, owner_node);

        if (hold->owner == owner)
            return hold;
    }
    return NULL;
}

struct hf_hold *hf_hold_find(struct hf_lock *lock, int64_t owner)
{
    if (lock->hold_buckets)
        return find_in_bucket(lock, owner);
    for (struct hf_list *l = lock->holds.next; l != &lock->holds; l = l->next) {
        struct hf_hold *hold = HF_OWNER_OF(l, struct hf_hold, node);

        if (hold->owner == owner)
            return hold;
    }
    return NULL;
}

struct hf_hold *hf_hold_find_beside(struct hf_lock *lock, int64_t owner)
{
    struct hf_lock *other = NULL;
    struct hf_hold *hold = NULL;

    if (lock->line->locks < 2) /* mostly */
        return NULL;
    while (!hold && (other = hf_lock_next_of_name(lock, other)))
        if (other != lock && other->line == lock->line)
            hold = hf_hold_find(other, owner);
    return hold;
}

struct hf_hold *hf_hold_to_join(struct hf_lock *lock, int64_t owner)
{
    struct hf_hold *hold =
        lock->kind->joins_other ? hf_hold_find_beside(lock, owner) : NULL;

    return hold && hold->lock->kind->id == lock->kind->other->id ? hold : NULL;
}

size_t hf_hold_key_len(const struct hf_lock *lock, size_t owner_len)
{
    const char *suffix = lock->kind->hold_key;

    return suffix ? hf_hold_key_size(suffix, owner_len, lock->text,
                                     lock->name_len)
                  : 0;
}

void hf_hold_put_key(char *dst, const struct hf_lock *lock,
                     struct hf_bytes owner)
{
    if (lock->kind->hold_key)
        hf_hold_key_put(dst, lock->kind->hold_key, owner.ptr, owner.len,
                        lock->text, lock->name_len);
}
