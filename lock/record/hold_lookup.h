/* Which holds a lock has, and the keys of holds. Private to lock/. */
#ifndef HF_HOLD_LOOKUP_H
#define HF_HOLD_LOOKUP_H

#include "lock/record/records.h"

/* hf_hold_find        - NULL: its owner holds nothing.
 *                       Cost: O(1), however many holds the lock has.
 * hf_hold_add         - `hold` is one of its lock's from now on.
 * hf_hold_remove      - it is not any more; also of one that never was.
 * hf_hold_find_beside - on another lock with the same line.
 * hf_hold_to_join     - on the other side, which this kind joins; or NULL. */
struct hf_hold *hf_hold_find(struct hf_lock *lock, int64_t owner);
void hf_hold_add(struct hf_hold *hold);
void hf_hold_remove(struct hf_hold *hold);
struct hf_hold *hf_hold_find_beside(struct hf_lock *lock, int64_t owner);
struct hf_hold *hf_hold_to_join(struct hf_lock *lock, int64_t owner);

/* hf_hold_key_len - of the key of an owner's hold; 0: the kind has none.
 * hf_hold_put_key - that key, if the kind has one. */
size_t hf_hold_key_len(const struct hf_lock *lock, size_t owner_len);
void hf_hold_put_key(char *dst, const struct hf_lock *lock,
                     struct hf_bytes owner);

#endif
