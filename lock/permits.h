/* Expirable permits: a semaphore whose permits have owners and leases, with
 * Redisson's RPermitExpirableSemaphore. Part of holdfast (lock.h).
 *
 *     hf_lock_new_kind(&permit, client, HF_KIND_PERMIT, "pool", 4, &error);
 *     hf_permits_try_set(permit, 10, &is_new, &error);
 *     hf_lock_acquire(permit, NULL, &error);
 *     ...
 *     hf_lock_release(permit, hf_owner_thread(), &error);
 *
 * A permit is a lock that as many owners can hold as there are permits: acquire, wait,
 * cancel, release, renewal, loss and hf_lock_safe_ms are those of lock.h. If a process
 * dies, its permits become available when their leases expire. Differences from a lock:
 *
 * - An owner holds at most one permit of a name; a second acquire returns HF_E_INVAL.
 *   To hold several permits, use several owners (hf_owner_new).
 * - hf_lock_inspect reports how many permits are in use (`holders`) and when the last of
 *   them expires. It does not report their owners, because the server stores only
 *   the ids of permits.
 * - hf_lock_force_release releases all permits in use, or the permit of one owner.
 * - The server's clock decides when a permit expires. Redisson uses the clock of its own
 *   machine. If this clock is ahead, Redisson takes permits away early, and on_lost is
 *   called at the next renewal (docs/semaphores.md).
 *
 * A semaphore of semaphore.h does not store which permits are in use: do not use one name for
 * both.
 *
 * Threads, errors, statuses: as in semaphore.h. If the lock is of another kind, every
 * call returns HF_E_INVAL.
 *
 * Source: WIRE 16. */
#ifndef HF_PERMITS_H
#define HF_PERMITS_H

#include "lock/lock.h"

#ifdef __cplusplus
extern "C" {
#endif

/* hf_permits_try_set - creates the semaphore with `permits` permits (0 to 2^31 - 1)
 *   unless it exists. *was_set receives whether this call created it. HF_UNREPLICATED:
 *   as HF_OK, but not enough replicas confirmed it in time. After HF_E_NOREPLY and
 *   HF_E_PROTOCOL the outcome is unknown: call it again. */
HF_API hf_status hf_permits_try_set(struct hf_lock *permit, int64_t permits,
                                    bool *was_set, struct hf_error *err)
    HF_MUST_CHECK;

/* hf_permits_set - sets the number of permits (0 to 2^31 - 1), those in use included, and creates
 *   the semaphore if it does not exist. Holders keep their permits: if more are in use, none
 *   becomes available until enough of them were released. HF_UNREPLICATED: as HF_OK, but not
 *   enough replicas confirmed it in time. After HF_E_NOREPLY and HF_E_PROTOCOL the outcome is
 *   unknown: call it again. */
HF_API hf_status hf_permits_set(struct hf_lock *permit, int64_t permits,
                                struct hf_error *err);

/* hf_permits_available - reports how many permits are available, including expired ones;
 *   0 if the semaphore does not exist. */
HF_API hf_status hf_permits_available(struct hf_lock *permit, int64_t *out,
                                      struct hf_error *err) HF_MUST_CHECK;

/* hf_permits_try_set_async, hf_permits_set_async, hf_permits_available_async - as the
 *   blocking calls of the same names, without blocking. `done` is called once, with the
 *   status that the blocking call would return. If the function itself returns an error,
 *   nothing was done and `done` is not called. `was_set` and `out` must remain valid until
 *   `done` is called. */
HF_API hf_status hf_permits_try_set_async(struct hf_lock *permit,
                                          int64_t permits, bool *was_set,
                                          hf_done *done, void *ctx)
    HF_MUST_CHECK;
HF_API hf_status hf_permits_set_async(struct hf_lock *permit, int64_t permits,
                                      hf_done *done, void *ctx) HF_MUST_CHECK;
HF_API hf_status hf_permits_available_async(struct hf_lock *permit,
                                            int64_t *out, hf_done *done,
                                            void *ctx) HF_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
