/* Wakes waiters that the notification of a release does not reach. Private to lock/. */
#ifndef HF_WAKE_MOVED_SLOT_H
#define HF_WAKE_MOVED_SLOT_H

#include "lock/record/records.h"

/* hf_wake_at_slot_owner - `op` may have freed its lock. If `op` was sent after ASK, the waiters
 *   that are subscribed at the slot's owner are also woken. */
void hf_wake_at_slot_owner(const struct hf_op *op);

#endif
