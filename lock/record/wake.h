/* Waking waiters that the message of a release does not reach. Private to
 * lock/. */
#ifndef HF_WAKE_H
#define HF_WAKE_H

#include "lock/record/records.h"

/* hf_wake_source - `op` may have freed its lock. If it was sent by ASK, the
 *                  waiters that listen at the slot's owner are woken, too. */
void hf_wake_source(const struct hf_op *op);

#endif
