/* The holds of a lock, and the keys of holds. Private to lock/. */
#ifndef HF_HOLD_LOOKUP_H
#define HF_HOLD_LOOKUP_H

#include "lock/record/records.h"

/* hf_hold_find - returns the hold of this owner, or NULL. Cost: O(1) for any number of holds. */
struct hf_hold *hf_hold_find(struct hf_lock *lock, int64_t owner);

/* hf_hold_next - iterates over the holds of a lock: returns the one after `after` (NULL: the first
 *   one), or NULL at the end. Meanwhile none may be added, or removed before the next one is
 *   known. */
struct hf_hold *hf_hold_next(struct hf_lock *lock, const struct hf_hold *after);

/* hf_hold_add - adds `hold` to its lock. */
void hf_hold_add(struct hf_hold *hold);

/* hf_hold_remove - removes `hold` from its lock; it may be called if the hold was never added. */
void hf_hold_remove(struct hf_hold *hold);

/* hf_hold_find_same_queue - returns the owner's hold on another lock with the same queue. */
struct hf_hold *hf_hold_find_same_queue(struct hf_lock *lock, int64_t owner);

/* hf_hold_to_join - returns the owner's hold on the other side, which this kind joins, or
 *   NULL. */
struct hf_hold *hf_hold_to_join(struct hf_lock *lock, int64_t owner);

/* hf_hold_key_len - returns the length of the key of an owner's hold; 0: the kind has none. */
size_t hf_hold_key_len(const struct hf_lock *lock, size_t owner_len);

/* hf_hold_put_key - writes the key of an owner's hold, if the kind has one. */
void hf_hold_put_key(char *dst, const struct hf_lock *lock,
                     struct hf_bytes owner);

#endif
