/* Finding holds, and their keys. */
#include "lock/hold_lookup.h"
#include "lock/table.h"

struct hf_hold *hf_hold_find(struct hf_lock *lock, int64_t owner)
{
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
