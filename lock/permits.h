/* Expirable permits: a semaphore whose permits have owners and leases, with
 * Redisson's RPermitExpirableSemaphore. Part of holdfast (lock.h).
 *
 *     hf_lock_new_kind(&permit, client, HF_KIND_PERMIT, "pool", 4, &error);
 *     hf_permits_try_set(permit, 10, &is_new, &error);
 *     hf_lock_acquire(permit, NULL, &error);
 *     ...
 *     hf_lock_release(permit, hf_owner_thread(), &error);
 *
 * For its owner a permit is a lock that as many owners may hold as there are
 * permits: acquire, wait, cancel, release, renewal, loss and hf_lock_safe_ms
 * are those of lock.h. A process that dies loses its permits when their leases
 * end. What differs from a lock:
 *
 *   an owner has one permit of a name at a time: it is refused (HF_E_INVAL) if
 *     it asks for another. Several are several owners (hf_owner_new);
 *   hf_lock_inspect says how many permits are out (holders), and when the last
 *     of them lapses; not their owners: the server knows numbers only;
 *   hf_lock_force_release gives all permits back that are out, or that of one
 *     owner;
 *   the server's clock says when a permit lapses. Redisson uses that of its own
 *     machine: if that is fast, it takes permits away early, and on_lost is
 *     called at the next renewal only (docs/semaphores.md).
 *
 * The name is that of no semaphore.h semaphore: their keys differ.
 *
 * Threads, errors, statuses: as in semaphore.h. HF_E_INVAL: the lock is of
 * another kind.
 *
 * Source: WIRE 16. */
#ifndef HF_PERMITS_H
#define HF_PERMITS_H

#include "lock/lock.h"

#ifdef __cplusplus
extern "C" {
#endif

/* hf_permits_try_set - makes the semaphore, with so many permits (0 to
 *   2^31 - 1), unless it is there already. *was_set says which. HF_UNREPLICATED: as
 *   HF_OK, but too few replicas confirmed it in time. After HF_E_NOREPLY and
 *   HF_E_PROTOCOL the outcome is unknown; call it again. */
HF_API hf_status hf_permits_try_set(struct hf_lock *permit, int64_t permits,
                                    bool *was_set, struct hf_error *err)
    HF_MUST_CHECK;

/* hf_permits_available - how many permits are available now, those included that
 *   have lapsed; 0 if there is no such semaphore. */
HF_API hf_status hf_permits_available(struct hf_lock *permit, int64_t *out,
                                      struct hf_error *err) HF_MUST_CHECK;

/* hf_permits_try_set_async, hf_permits_available_async - as the call of the same
 *   name, without blocking: `done` is called once, with the status that the
 *   blocking call would return, unless the function itself returns a failure;
 *   then nothing was done. `was_set` and `out` must live until then. */
HF_API hf_status hf_permits_try_set_async(struct hf_lock *permit,
                                          int64_t permits, bool *was_set,
                                          hf_done *done, void *ctx)
    HF_MUST_CHECK;
HF_API hf_status hf_permits_available_async(struct hf_lock *permit,
                                            int64_t *out, hf_done *done,
                                            void *ctx) HF_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
