/* The semaphore: a number of permits that all processes share, with Redisson's
 * RSemaphore. Part of holdfast (lock.h).
 *
 *     struct hf_semaphore *pool;
 *     bool is_new;
 *
 *     hf_semaphore_new(&pool, client, "pool", 4, &error);
 *     hf_semaphore_try_set_permits(pool, 10, &is_new, &error);
 *     if (hf_semaphore_acquire(pool, 1, HF_FOREVER, NULL, &error) == HF_OK) {
 *         ...
 *         hf_semaphore_release(pool, 1, &error);
 *     }
 *
 * Nobody owns a permit, and none has a lease: any thread or process gives back
 * what was taken, by hf_semaphore_release, and what a process took that died is
 * gone until another gives it back. What must not
 * outlive its holder is a lock's work (lock.h).
 *
 * Each call counts once, however often it had to be sent (docs/semaphores.md
 * says how, and what in Redisson waits for ever and does not here). Waiters of
 * one client are served in the order in which they came, but waiters for
 * fewer permits before those for more; between clients there is no order.
 *
 * Threads: every function may be called from any thread.
 * Errors: `err` may be NULL. It is filled whenever the status is negative.
 * Statuses that all calls may return: HF_E_INVAL (the number, the wait),
 * HF_E_SERVER (the server refused: WRONGTYPE, NOPERM, ..., or the key does not hold a
 * count, or the sum would pass HF_COUNT_MAX; nothing was done), HF_E_CONNECT,
 * HF_E_TLS, HF_E_AUTH, HF_E_PROTOCOL, HF_E_NOREPLY (no answer within the request
 * timeout), HF_E_LIMIT, HF_E_NOMEM, HF_E_FORKED, HF_E_CLOSED.
 *
 * Source: WIRE 15. */
#ifndef HF_SEMAPHORE_H
#define HF_SEMAPHORE_H

#include "lock/lock.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A handle on one name. Handles of one client on the same share everything. */
struct hf_semaphore;

/* The most permits of one call. */
#define HF_PERMITS_MAX INT64_C(2147483647)

/* The greatest count that a key may hold, 2^53: Redis' scripts count exactly up to
 * there. A count is a whole number in decimal, as INCR writes it. The permits of a
 * semaphore may also be negative, down to -2^53, because Redisson's addPermits and
 * setPermits can make them so: then none is available. */
#define HF_COUNT_MAX (INT64_C(1) << 53)

/* hf_semaphore_new  - a handle; on the server nothing is made. The name is the
 *   key itself, 1 to HF_LOCK_NAME_MAX bytes, copied; no lock, latch or other
 *   semaphore has it. HF_E_INVAL, HF_E_NOMEM, HF_E_LIMIT, HF_E_FORKED. No I/O.
 * hf_semaphore_free - gives the handle up; waits go on. Takes NULL. */
HF_API hf_status hf_semaphore_new(struct hf_semaphore **out,
                                  struct hf_client *client, const void *name,
                                  size_t len, struct hf_error *err)
    HF_MUST_CHECK;
HF_API void hf_semaphore_free(struct hf_semaphore *semaphore);

/* hf_semaphore_try_set_permits - makes the semaphore, with so many permits (0 to
 *   HF_PERMITS_MAX), unless it is there already. *was_set says which.
 *   HF_UNREPLICATED: as HF_OK, but too few replicas confirmed it in time. After
 *   HF_E_NOREPLY and HF_E_PROTOCOL the outcome is unknown; call it again. */
HF_API hf_status hf_semaphore_try_set_permits(struct hf_semaphore *semaphore,
                                              int64_t permits, bool *was_set,
                                              struct hf_error *err)
    HF_MUST_CHECK;

/* hf_semaphore_acquire - takes so many permits (1 to HF_PERMITS_MAX), all of them
 *   or none. A semaphore that is not there has none, and may be waited for.
 *   wait_ms   HF_FOREVER; 0: one try; at most HF_SPAN_MAX_MS
 *   cancel    NULL: none; ends the wait (lock.h). Must outlive the call
 * Returns HF_OK         taken
 *         HF_TIMEOUT    wait_ms is over; too few were available when last heard
 *                       of
 *         HF_CANCELLED  cancel was fired
 *         HF_UNREPLICATED  taken, but too few replicas have it in time; given
 *                       back
 *         another       nothing is taken: if the server should do it after all,
 *                       it is given back in the background, as long as the
 *                       client is not closed
 * A waiter is woken by the message of a release; one that never comes costs 3 s
 * at most. While a waiter waits, a server that goes away is waited for as in
 * hf_lock_acquire.
 * Cost: one command when permits are available; and, soon, one for up to 15
 * calls that deletes what they left on the server. */
HF_API hf_status hf_semaphore_acquire(struct hf_semaphore *semaphore,
                                      int64_t permits, int64_t wait_ms,
                                      struct hf_cancel *cancel,
                                      struct hf_error *err) HF_MUST_CHECK;

/* hf_semaphore_release - adds so many permits (1 to HF_PERMITS_MAX);
 *   also more than were ever taken, or to a semaphore that is not
 *   there, which makes it. A message for waiters that the server refuses (ACL) is
 *   logged, and is not an error: the waiters look every 3 s.
 * Returns HF_OK            added
 *         HF_UNREPLICATED  added, but too few replicas (hf_client_options) confirmed it
 *                          in time: a failover may forget it. Do not release again
 *         HF_E_CONNECT, HF_E_NOREPLY, HF_E_PROTOCOL  unknown: it goes on in the
 *                          background until the server has answered, however long that
 *                          takes, or until the client is closed. Do not release again
 *         HF_E_CLOSED      of a call that was under way when the client was freed:
 *                          unknown
 *         any other        nothing was done */
HF_API hf_status hf_semaphore_release(struct hf_semaphore *semaphore,
                                      int64_t permits, struct hf_error *err);

/* hf_semaphore_available - how many permits are available now; 0 if there is no
 *   such semaphore. Less than 0: Redisson's addPermits took more away than were
 *   available. */
HF_API hf_status hf_semaphore_available(struct hf_semaphore *semaphore,
                                        int64_t *out, struct hf_error *err)
    HF_MUST_CHECK;

/* hf_semaphore_try_set_permits_async, hf_semaphore_acquire_async,
 * hf_semaphore_release_async, hf_semaphore_available_async - as the call of the
 *   same name, without blocking: `done` is called once, with the status that the
 *   blocking call would return, unless the function itself returns a failure;
 *   then nothing was done. `was_set`, `out` and `cancel` must live until then. */
HF_API hf_status
hf_semaphore_try_set_permits_async(struct hf_semaphore *semaphore,
                                   int64_t permits, bool *was_set,
                                   hf_done *done, void *ctx) HF_MUST_CHECK;
HF_API hf_status hf_semaphore_acquire_async(struct hf_semaphore *semaphore,
                                            int64_t permits, int64_t wait_ms,
                                            struct hf_cancel *cancel,
                                            hf_done *done, void *ctx)
    HF_MUST_CHECK;
HF_API hf_status hf_semaphore_release_async(struct hf_semaphore *semaphore,
                                            int64_t permits, hf_done *done,
                                            void *ctx) HF_MUST_CHECK;
HF_API hf_status hf_semaphore_available_async(struct hf_semaphore *semaphore,
                                              int64_t *out, hf_done *done,
                                              void *ctx) HF_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
