/* The count-down latch: processes wait until a count reaches 0, shared with
 * Redisson's RCountDownLatch. Part of holdfast (lock.h).
 *
 *     hf_latch_try_set_count(latch, 3, &is_new, &error);
 *     ...
 *     hf_latch_count_down(latch, &error);                each of the three
 *     hf_latch_await(latch, HF_FOREVER, NULL, &error);   the waiter
 *
 * At 0 the latch is deleted: every waiter returns, and the latch can be set again. The
 * count outlives the processes: if one of them dies before it has counted down, the
 * waiters wait until their deadlines.
 *
 * Each call has its effect once, however often the client had to send it
 * (docs/semaphores.md).
 *
 * Threads, errors, statuses: as in semaphore.h. The count is 0 to HF_COUNT_MAX. If the
 * key holds anything else, every call returns HF_E_SERVER.
 *
 * Source: WIRE 17. */
#ifndef HF_LATCH_H
#define HF_LATCH_H

#include "lock/lock.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A handle on one name. All handles of one client on the same name share one state. */
struct hf_latch;

/* The largest count that can be set. */
#define HF_LATCH_COUNT_MAX INT64_C(2147483647)

/* hf_latch_new - creates a handle. The name is the key itself, 1 to HF_LOCK_NAME_MAX
 *   bytes, which are copied; use it for no lock and no semaphore. It returns HF_E_INVAL,
 *   HF_E_NOMEM, HF_E_LIMIT, HF_E_FORKED. It creates nothing on the server and performs
 *   no I/O. */
HF_API hf_status hf_latch_new(struct hf_latch **out, struct hf_client *client,
                              const void *name, size_t len,
                              struct hf_error *err) HF_MUST_CHECK;

/* hf_latch_free - frees the handle. Pending calls are not affected. NULL is allowed. */
HF_API void hf_latch_free(struct hf_latch *latch);

/* hf_latch_try_set_count - sets the count (1 to HF_LATCH_COUNT_MAX) unless the latch
 *   exists. *was_set receives whether this call set it. HF_UNREPLICATED: as HF_OK, but
 *   not enough replicas confirmed it in time. After HF_E_NOREPLY and HF_E_PROTOCOL the
 *   outcome is unknown: call it again. */
HF_API hf_status hf_latch_try_set_count(struct hf_latch *latch, int64_t count,
                                        bool *was_set, struct hf_error *err)
    HF_MUST_CHECK;

/* hf_latch_count_down - lowers the count by 1; at 0 it wakes all waiters. It does not
 *   create a latch that does not exist. If the ACL refuses the notification for waiters,
 *   the client logs this, and the call succeeds: waiters retry every 3 s.
 * Returns HF_OK            counted
 *         HF_UNREPLICATED  counted, but not enough replicas (hf_client_options)
 *                          confirmed it in time: a failover may lose it. Do not repeat
 *                          the call
 *         HF_E_CONNECT, HF_E_NOREPLY, HF_E_PROTOCOL  unknown. The client repeats the
 *                          request in the background until the server replies or the
 *                          client is closed. Do not repeat the call
 *         HF_E_CLOSED      if the client was freed while the call was pending: unknown
 *         else             nothing was done */
HF_API hf_status hf_latch_count_down(struct hf_latch *latch,
                                     struct hf_error *err);

/* hf_latch_await - waits until the latch is at 0 or does not exist.
 *   wait_ms   HF_FOREVER; 0: one query; at most HF_SPAN_MAX_MS
 *   cancel    ends the wait (lock.h); it must outlive the call. NULL: none
 * Returns HF_OK         the latch was at 0 at some time since the call began
 *         HF_TIMEOUT    wait_ms expired; according to the last reply, the count was
 *                       not 0
 *         HF_CANCELLED  cancel was fired
 *         else          an error
 * A notification wakes a waiter; a lost notification delays it by at most 3 s. A
 * deletion counts as 0. A waiter also waits for a server that becomes unreachable, as in
 * hf_lock_acquire. */
HF_API hf_status hf_latch_await(struct hf_latch *latch, int64_t wait_ms,
                                struct hf_cancel *cancel, struct hf_error *err)
    HF_MUST_CHECK;

/* hf_latch_delete - deletes the latch, whatever its count, and wakes all holdfast
 *   waiters, because a latch that does not exist has count 0. Redisson's waiters keep
 *   waiting, as they do after Redisson's own delete. *was_deleted (which may be NULL)
 *   receives whether it existed. HF_UNREPLICATED: as HF_OK, but not enough replicas
 *   confirmed it in time. After HF_E_NOREPLY and HF_E_PROTOCOL the outcome is unknown:
 *   call it again. */
HF_API hf_status hf_latch_delete(struct hf_latch *latch, bool *was_deleted,
                                 struct hf_error *err);

/* hf_latch_count - reports the count; 0 if the latch does not exist. */
HF_API hf_status hf_latch_count(struct hf_latch *latch, int64_t *out,
                                struct hf_error *err) HF_MUST_CHECK;

/* hf_latch_try_set_count_async, hf_latch_count_down_async, hf_latch_await_async,
 * hf_latch_delete_async, hf_latch_count_async - as the blocking calls of the same
 *   names, without blocking. `done` is called once, with the status that the blocking
 *   call would return. If the function itself returns an error, nothing was done and
 *   `done` is not called. `was_set`, `was_deleted`, `out` and `cancel` must remain valid
 *   until `done` is called. */
HF_API hf_status hf_latch_try_set_count_async(struct hf_latch *latch,
                                              int64_t count, bool *was_set,
                                              hf_done *done, void *ctx)
    HF_MUST_CHECK;
HF_API hf_status hf_latch_count_down_async(struct hf_latch *latch,
                                           hf_done *done, void *ctx)
    HF_MUST_CHECK;
HF_API hf_status hf_latch_await_async(struct hf_latch *latch, int64_t wait_ms,
                                      struct hf_cancel *cancel, hf_done *done,
                                      void *ctx) HF_MUST_CHECK;
HF_API hf_status hf_latch_delete_async(struct hf_latch *latch,
                                       bool *was_deleted, hf_done *done,
                                       void *ctx) HF_MUST_CHECK;
HF_API hf_status hf_latch_count_async(struct hf_latch *latch, int64_t *out,
                                      hf_done *done, void *ctx) HF_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
