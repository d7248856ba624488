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
 * A permit has no owner and no lease: any thread or process may release what another
 * acquired (hf_semaphore_release). If a process dies, its permits stay in use until
 * another process releases them. Use a lock (lock.h) or an expirable permit (permits.h)
 * for what must not outlive its holder.
 *
 * Each call has its effect once, however often the client had to send it
 * (docs/semaphores.md, which also lists where Redisson waits forever and holdfast does
 * not). Waiters of one client are served in order of arrival, except that a waiter for
 * fewer permits is served before one for more. Between clients there is no order.
 *
 * Threads: every function may be called from any thread.
 * Errors: `err` may be NULL. It is filled whenever the status is negative.
 * Every call may return: HF_E_INVAL (the number, the wait),
 * HF_E_SERVER (the server refused: WRONGTYPE, NOPERM, ..., or the key does not hold a
 * count, or the sum would pass HF_COUNT_MAX; nothing was done), HF_E_CONNECT,
 * HF_E_TLS, HF_E_AUTH, HF_E_PROTOCOL, HF_E_NOREPLY (no reply within the request
 * timeout), HF_E_LIMIT, HF_E_NOMEM, HF_E_FORKED, HF_E_CLOSED.
 *
 * Source: WIRE 15. */
#ifndef HF_SEMAPHORE_H
#define HF_SEMAPHORE_H

#include "lock/lock.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A handle on one name. All handles of one client on the same name share one state. */
struct hf_semaphore;

/* The largest number of permits in one call. */
#define HF_PERMITS_MAX INT64_C(2147483647)

/* The largest count that a key may hold, 2^53: up to this number, Redis' scripts count
 * exactly. A count is a decimal integer, as INCR writes it. The permits of a semaphore
 * may also be negative, down to -2^53, because Redisson's addPermits and setPermits can
 * make them negative; in this case no permit is available. */
#define HF_COUNT_MAX (INT64_C(1) << 53)

/* hf_semaphore_new - creates a handle. The name is the key itself, 1 to
 *   HF_LOCK_NAME_MAX bytes, which are copied; use it for no lock, latch or other kind
 *   of semaphore. It returns HF_E_INVAL, HF_E_NOMEM, HF_E_LIMIT, HF_E_FORKED. It
 *   creates nothing on the server and performs no I/O. */
HF_API hf_status hf_semaphore_new(struct hf_semaphore **out,
                                  struct hf_client *client, const void *name,
                                  size_t len, struct hf_error *err)
    HF_MUST_CHECK;

/* hf_semaphore_free - frees the handle. Pending acquires are not affected. NULL is
 *   allowed. */
HF_API void hf_semaphore_free(struct hf_semaphore *semaphore);

/* hf_semaphore_try_set_permits - creates the semaphore with `permits` permits (0 to
 *   HF_PERMITS_MAX) unless it exists. *was_set receives whether this call created it.
 *   HF_UNREPLICATED: as HF_OK, but not enough replicas confirmed it in time. After
 *   HF_E_NOREPLY and HF_E_PROTOCOL the outcome is unknown: call it again. */
HF_API hf_status hf_semaphore_try_set_permits(struct hf_semaphore *semaphore,
                                              int64_t permits, bool *was_set,
                                              struct hf_error *err)
    HF_MUST_CHECK;

/* hf_semaphore_try_set_permits_ttl - as hf_semaphore_try_set_permits, but the semaphore expires
 *   after ttl_ms (1 to HF_SPAN_MAX_MS), even while permits are in use; other calls keep the TTL. A
 *   later hf_semaphore_release creates it without a TTL. HF_E_INVAL: ttl_ms. Source: WIRE 15. */
HF_API hf_status hf_semaphore_try_set_permits_ttl(struct hf_semaphore *semaphore,
                                                  int64_t permits, int64_t ttl_ms,
                                                  bool *was_set, struct hf_error *err)
    HF_MUST_CHECK;

/* hf_semaphore_acquire - acquires `permits` permits (1 to HF_PERMITS_MAX), all or none.
 *   A semaphore that does not exist has no permits; a call may wait for it.
 *   wait_ms   HF_FOREVER; 0: one try; at most HF_SPAN_MAX_MS
 *   cancel    ends the wait (lock.h); it must outlive the call. NULL: none
 * Returns HF_OK            acquired
 *         HF_TIMEOUT       wait_ms expired; according to the last reply, too few
 *                          permits were available
 *         HF_CANCELLED     cancel was fired
 *         HF_UNREPLICATED  not enough replicas confirmed it in time; the permits were
 *                          released
 *         else             nothing is acquired. If the server executes the request
 *                          late, the client releases the permits in the background,
 *                          until it is closed
 * The notification of a release wakes a waiter; a lost notification delays it by at most
 * 3 s. A waiter also waits for a server that becomes unreachable, as in hf_lock_acquire.
 * Cost: one command when permits are available, and later one command that deletes what
 * up to 15 calls left on the server. */
HF_API hf_status hf_semaphore_acquire(struct hf_semaphore *semaphore,
                                      int64_t permits, int64_t wait_ms,
                                      struct hf_cancel *cancel,
                                      struct hf_error *err) HF_MUST_CHECK;

/* hf_semaphore_release - adds `permits` permits (1 to HF_PERMITS_MAX). It may add more
 *   than were acquired, and it creates a semaphore that does not exist. If the ACL
 *   refuses the notification for waiters, the client logs this, and the call succeeds:
 *   waiters retry every 3 s.
 * Returns HF_OK            added
 *         HF_UNREPLICATED  added, but not enough replicas (hf_client_options) confirmed
 *                          it in time: a failover may lose it. Do not release again
 *         HF_E_CONNECT, HF_E_NOREPLY, HF_E_PROTOCOL  unknown. The client repeats the
 *                          release in the background until the server replies or the
 *                          client is closed. Do not release again
 *         HF_E_CLOSED      if the client was freed while the call was pending: unknown
 *         else             nothing was done */
HF_API hf_status hf_semaphore_release(struct hf_semaphore *semaphore,
                                      int64_t permits, struct hf_error *err);

/* hf_semaphore_release_if_exists - as hf_semaphore_release, but does nothing if the semaphore
 *   does not exist. *existed (which may be NULL) receives whether it existed. */
HF_API hf_status hf_semaphore_release_if_exists(struct hf_semaphore *semaphore,
                                                int64_t permits, bool *existed,
                                                struct hf_error *err);

/* hf_semaphore_reduce - removes `permits` permits (1 to HF_PERMITS_MAX), also more than are
 *   available: the number is then negative, and no permit is available until as many were
 *   released. It never waits. If the semaphore does not exist, nothing is done. *existed (which
 *   may be NULL) receives whether it existed. To add permits, use
 *   hf_semaphore_release_if_exists.
 * Returns as hf_semaphore_release, with "removed" for "added". HF_E_SERVER: also if the
 *   number would be below -HF_COUNT_MAX. */
HF_API hf_status hf_semaphore_reduce(struct hf_semaphore *semaphore,
                                     int64_t permits, bool *existed,
                                     struct hf_error *err);

/* hf_semaphore_drain - acquires all permits that are available, without waiting. *taken
 *   receives their number; 0 also if the semaphore does not exist.
 * Returns HF_OK            taken
 *         HF_UNREPLICATED  taken, but not enough replicas confirmed it in time
 *         HF_E_CONNECT, HF_E_NOREPLY, HF_E_PROTOCOL  unknown. The client repeats the
 *                          request in the background until the server replies or the
 *                          client is closed. The number of permits taken is then
 *                          unknown. If they are still needed, create the semaphore
 *                          again with the right number
 *         HF_E_CLOSED      if the client was freed while the call was pending: unknown
 *         else             nothing was done */
HF_API hf_status hf_semaphore_drain(struct hf_semaphore *semaphore,
                                    int64_t *taken, struct hf_error *err)
    HF_MUST_CHECK;

/* hf_semaphore_delete - deletes the semaphore. *was_deleted (which may be NULL) receives
 *   whether it existed. Waiters keep waiting, until a semaphore of this name has enough
 *   permits. A later release creates it again: delete it only after all holders have
 *   released their permits. It also deletes expirable permits (permits.h) that have expired.
 * Returns HF_OK            deleted, or it did not exist
 *         HF_IN_USE        expirable permits of this name are in use, as the error says:
 *                          nothing was done
 *         HF_UNREPLICATED  as HF_OK, but not enough replicas confirmed it in time
 *         HF_E_NOREPLY, HF_E_PROTOCOL  unknown: call it again
 *         else             nothing was done */
HF_API hf_status hf_semaphore_delete(struct hf_semaphore *semaphore,
                                     bool *was_deleted, struct hf_error *err);

/* hf_semaphore_available - reports how many permits are available; 0 if the semaphore
 *   does not exist. The number is negative if Redisson's addPermits removed more than
 *   were available. */
HF_API hf_status hf_semaphore_available(struct hf_semaphore *semaphore,
                                        int64_t *out, struct hf_error *err)
    HF_MUST_CHECK;

/* hf_semaphore_inspect - as hf_semaphore_available; *exists (which may be NULL) receives
 *   whether the semaphore exists. */
HF_API hf_status hf_semaphore_inspect(struct hf_semaphore *semaphore,
                                      int64_t *out, bool *exists,
                                      struct hf_error *err) HF_MUST_CHECK;

/* hf_semaphore_try_set_permits_async, hf_semaphore_try_set_permits_ttl_async,
 * hf_semaphore_acquire_async, hf_semaphore_release_async, hf_semaphore_release_if_exists_async,
 * hf_semaphore_reduce_async, hf_semaphore_drain_async, hf_semaphore_delete_async,
 * hf_semaphore_available_async, hf_semaphore_inspect_async - as the blocking calls of the
 *   same names, without blocking. `done` is called once, with the status that the blocking
 *   call would return. If the function itself returns an error, nothing was done and `done`
 *   is not called. `was_set`, `taken`, `was_deleted`, `out`, `exists`, `existed` and
 *   `cancel` must remain valid until `done` is called. */
HF_API hf_status
hf_semaphore_try_set_permits_async(struct hf_semaphore *semaphore,
                                   int64_t permits, bool *was_set,
                                   hf_done *done, void *ctx) HF_MUST_CHECK;
HF_API hf_status hf_semaphore_try_set_permits_ttl_async(
    struct hf_semaphore *semaphore, int64_t permits, int64_t ttl_ms, bool *was_set,
    hf_done *done, void *ctx) HF_MUST_CHECK;
HF_API hf_status hf_semaphore_acquire_async(struct hf_semaphore *semaphore,
                                            int64_t permits, int64_t wait_ms,
                                            struct hf_cancel *cancel,
                                            hf_done *done, void *ctx)
    HF_MUST_CHECK;
HF_API hf_status hf_semaphore_release_async(struct hf_semaphore *semaphore,
                                            int64_t permits, hf_done *done,
                                            void *ctx) HF_MUST_CHECK;
HF_API hf_status hf_semaphore_release_if_exists_async(
    struct hf_semaphore *semaphore, int64_t permits, bool *existed,
    hf_done *done, void *ctx) HF_MUST_CHECK;
HF_API hf_status hf_semaphore_reduce_async(struct hf_semaphore *semaphore,
                                           int64_t permits, bool *existed,
                                           hf_done *done, void *ctx)
    HF_MUST_CHECK;
HF_API hf_status hf_semaphore_drain_async(struct hf_semaphore *semaphore,
                                          int64_t *taken, hf_done *done,
                                          void *ctx) HF_MUST_CHECK;
HF_API hf_status hf_semaphore_delete_async(struct hf_semaphore *semaphore,
                                           bool *was_deleted, hf_done *done,
                                           void *ctx) HF_MUST_CHECK;
HF_API hf_status hf_semaphore_available_async(struct hf_semaphore *semaphore,
                                              int64_t *out, hf_done *done,
                                              void *ctx) HF_MUST_CHECK;
HF_API hf_status hf_semaphore_inspect_async(struct hf_semaphore *semaphore,
                                            int64_t *out, bool *exists,
                                            hf_done *done, void *ctx)
    HF_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
