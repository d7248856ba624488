/* Finding holds, and their keys. */
/* Tests: tests/live/kind/test_permits.c, tests/live/lock/test_lock.c. */
#include "lock/record/hold_lookup.h"
#include "lock/record/table.h"
#include "net/base/assert.h"
#include "net/base/mem.h"

/* Most locks have one hold. Readers and permits may be many: from here on they
 * are found by a hash of their owners. */
#define BUCKETS_FROM 16
#define BUCKETS_MAX (1u << 20)

static struct hf_list *bucket_of_owner(const struct hf_lock *lock, int64_t owner)
{
    uint32_t hash =
        hf_loop_hash(lock->client->loop, &owner, sizeof owner);

    return &lock->hold_table->buckets[hash & (lock->hold_table->capacity - 1)];
}

static struct hf_hold *hold_of_list_node(struct hf_list *l)
{
    return HF_OWNER_OF(l, struct hf_hold, node);
}

/* The list that has the hold of this owner, if there is one. */
static struct hf_list *list_of_owner(struct hf_lock *lock, int64_t owner)
{
    return lock->hold_table ? bucket_of_owner(lock, owner) : &lock->holds;
}

static size_t table_size_in_bytes(size_t room)
{
    return sizeof(struct hf_hold_table) + room * sizeof(struct hf_list);
}

static void free_hold_table(struct hf_lock *lock)
{
    if (lock->hold_table)
        hf_mem_free(lock->client->mem, lock->hold_table,
                    table_size_in_bytes(lock->hold_table->capacity));
    lock->hold_table = NULL;
}

static void move_all_holds_to_list(struct hf_lock *lock, struct hf_list *all)
{
    hf_list_init(all);
    hf_list_join(all, &lock->holds);
    for (uint32_t i = 0; lock->hold_table && i < lock->hold_table->capacity; i++)
        hf_list_join(all, &lock->hold_table->buckets[i]);
}

/* If there is no memory, the lists become longer. */
static void grow_hold_table(struct hf_lock *lock)
{
    uint32_t room = lock->hold_table ? lock->hold_table->capacity * 2 : BUCKETS_FROM;
    struct hf_hold_table *table = hf_mem_new(lock->client->mem, table_size_in_bytes(room));
    struct hf_list all;

    if (!table)
        return;
    table->capacity = room;
    for (uint32_t i = 0; i < room; i++)
        hf_list_init(&table->buckets[i]);
    move_all_holds_to_list(lock, &all);
    HF_ASSERT(hf_list_count(&all) == lock->holds_count);
    free_hold_table(lock);
    lock->hold_table = table;
    while (!hf_list_is_empty(&all)) {
        struct hf_hold *hold = hold_of_list_node(all.next);

        hf_list_remove(&hold->node);
        hf_list_push(bucket_of_owner(lock, hold->owner), &hold->node);
    }
}

void hf_hold_add(struct hf_hold *hold)
{
    struct hf_lock *lock = hold->lock;
    uint32_t room = lock->hold_table ? lock->hold_table->capacity : BUCKETS_FROM - 1;

    HF_ASSERT(hf_loop_is_locked(hold->lock->client->loop));
    HF_ASSERT(!hold->is_freed && !hf_hold_find(lock, hold->owner)); /* an owner has one hold */
    lock->holds_count++;
    hf_list_push(list_of_owner(lock, hold->owner), &hold->node);
    if (lock->holds_count > room && room < BUCKETS_MAX)
        grow_hold_table(lock);
    HF_ASSERT(hf_hold_find(lock, hold->owner) == hold);
}

void hf_hold_remove(struct hf_hold *hold)
{
    struct hf_lock *lock = hold->lock;

    HF_ASSERT(hf_loop_is_locked(hold->lock->client->loop));
    if (hf_list_is_empty(&hold->node))
        return;
    HF_ASSERT(hf_hold_find(lock, hold->owner) == hold && lock->holds_count > 0);
    hf_list_remove(&hold->node);
    if (--lock->holds_count == 0)
        free_hold_table(lock);
}

struct hf_hold *hf_hold_find(struct hf_lock *lock, int64_t owner)
{
    struct hf_list *list = list_of_owner(lock, owner);

    HF_ASSERT(hf_loop_is_locked(lock->client->loop));
    for (struct hf_list *l = list->next; l != list; l = l->next)
        if (hold_of_list_node(l)->owner == owner)
            return hold_of_list_node(l);
    return NULL;
}

/* The first hold of a bucket that is not before `from`. */
static struct hf_hold *first_hold_from_bucket(const struct hf_hold_table *table, uint32_t from)
{
    for (uint32_t i = from; i < table->capacity; i++)
        if (!hf_list_is_empty(&table->buckets[i]))
            return hold_of_list_node(table->buckets[i].next);
    return NULL;
}

struct hf_hold *hf_hold_next(struct hf_lock *lock, const struct hf_hold *after)
{
    struct hf_list *list = after ? list_of_owner(lock, after->owner) : &lock->holds;
    struct hf_list *next = after ? after->node.next : list->next;

    HF_ASSERT(hf_loop_is_locked(lock->client->loop));
    HF_ASSERT(!lock->hold_table || hf_list_is_empty(&lock->holds)); /* in no other list */
    if (next != list)
        return hold_of_list_node(next);
    if (!lock->hold_table)
        return NULL;
    return first_hold_from_bucket(lock->hold_table,
                                  after ? (uint32_t)(list - lock->hold_table->buckets) + 1 : 0);
}

struct hf_hold *hf_hold_find_same_queue(struct hf_lock *lock, int64_t owner)
{
    struct hf_lock *other = NULL;
    struct hf_hold *hold = NULL;

    HF_ASSERT(hf_loop_is_locked(lock->client->loop));
    if (!lock->shares_channel) /* mostly */
        return NULL;
    while (!hold && (other = hf_lock_next_of_name(lock, other)))
        if (other != lock && hf_lock_shares_channel(other, lock))
            hold = hf_hold_find(other, owner);
    return hold;
}

struct hf_hold *hf_hold_to_join(struct hf_lock *lock, int64_t owner)
{
    struct hf_hold *hold =
        lock->kind->may_join_other_side ? hf_hold_find_same_queue(lock, owner) : NULL;

    HF_ASSERT(!hold || (hold->lock != lock && hold->owner == owner));
    HF_ASSERT(hf_loop_is_locked(lock->client->loop));
    return hold && hold->lock->kind->id == lock->kind->other_side->id ? hold : NULL;
}

size_t hf_hold_key_len(const struct hf_lock *lock, size_t owner_len)
{
    const char *suffix = lock->kind->hold_key;

    HF_ASSERT(hf_loop_is_locked(lock->client->loop));
    return suffix ? hf_hold_key_size(suffix, owner_len, lock->texts,
                                     lock->name_len)
                  : 0;
}

void hf_hold_put_key(char *dst, const struct hf_lock *lock,
                     struct hf_bytes owner)
{
    HF_ASSERT(hf_loop_is_locked(lock->client->loop));
    if (lock->kind->hold_key)
        hf_hold_key_put(dst, lock->kind->hold_key, owner.ptr, owner.len,
                        lock->texts, lock->name_len);
}
