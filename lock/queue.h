/* A fair lock's queue on the server, for an operator. Part of holdfast (lock.h).
 *
 * Each waiter has a place in the queue, and each place has a time until which it is
 * kept. A waiter that died keeps its place until that time ends; if it is the first,
 * a lock that is free is not granted to the others until then. hf_lock_inspect
 * returns the number of places (waiters), the owner of the first (first_waiter) and for
 * how long that one is kept, by the server's clock (first_place_ms).
 *
 * Threads, errors: as in lock.h. Source: WIRE 11.3, 11.4. */
#ifndef HF_QUEUE_H
#define HF_QUEUE_H

#include "lock/lock.h"

#ifdef __cplusplus
extern "C" {
#endif

/* hf_lock_drop_waiter - removes places from the queue. The holder is not touched. If
 *   the lock is free, the new first waiter is woken.
 *   waiter, len   "uuid:number": removes this waiter's place. NULL: the places of
 *                 all waiters that do not listen on their channel (dead waiters)
 *   dropped       receives the number of places removed; may be NULL
 * A live waiter whose place is removed enters the queue again, at its end. With NULL,
 * that happens only to a waiter whose connection is down, or that has just arrived.
 * It stops after 2,000 places that it does not remove.
 * Returns HF_OK         with NULL, also if no place was removed
 *         HF_NOT_OWNER  this waiter has no place
 *         HF_E_INVAL    `waiter` is not of that form, or the handle's kind is not fair
 *         other HF_E_*  some places may have been removed */
HF_API hf_status hf_lock_drop_waiter(struct hf_lock *lock, const char *waiter,
                                     size_t len, int64_t *dropped,
                                     struct hf_error *err);

#ifdef __cplusplus
}
#endif

#endif
