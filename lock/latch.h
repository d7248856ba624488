/* The count-down latch: processes wait until a count has come to 0, with
 * Redisson's RCountDownLatch. Part of holdfast (lock.h).
 *
 *     hf_latch_try_set_count(latch, 3, &is_new, &error);
 *     ...
 *     hf_latch_count_down(latch, &error);                each of the three
 *     hf_latch_await(latch, HF_FOREVER, NULL, &error);   the waiter
 *
 * At 0 the latch is deleted: all waiters pass, and it may be set anew. The
 * count outlives the processes: one that dies before it has counted down leaves
 * the waiters to their deadlines.
 *
 * Each call counts once, however often it had to be sent (docs/semaphores.md).
 *
 * Threads, errors, statuses: as in semaphore.h. The count is 0 to HF_COUNT_MAX: a key
 * that holds anything else is an error (HF_E_SERVER) of every call.
 *
 * Source: WIRE 17. */
#ifndef HF_LATCH_H
#define HF_LATCH_H

#include "lock/lock.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A handle on one name. Handles of one client on the same share everything. */
struct hf_latch;

/* The greatest count. */
#define HF_LATCH_COUNT_MAX INT64_C(2147483647)

/* hf_latch_new  - a handle; on the server nothing is made. The name is the key
 *   itself, 1 to HF_LOCK_NAME_MAX bytes, copied; no lock, semaphore or other
 *   latch has it. HF_E_INVAL, HF_E_NOMEM, HF_E_LIMIT, HF_E_FORKED. No I/O.
 * hf_latch_free - gives the handle up; waits go on. Takes NULL. */
HF_API hf_status hf_latch_new(struct hf_latch **out, struct hf_client *client,
                              const void *name, size_t len,
                              struct hf_error *err) HF_MUST_CHECK;
HF_API void hf_latch_free(struct hf_latch *latch);

/* hf_latch_try_set_count - sets the count (1 to HF_LATCH_COUNT_MAX) unless the
 *   latch is there already. *was_set says which. HF_UNREPLICATED: as HF_OK, but too
 *   few replicas confirmed it in time. After HF_E_NOREPLY and HF_E_PROTOCOL the outcome
 *   is unknown; call it again. */
HF_API hf_status hf_latch_try_set_count(struct hf_latch *latch, int64_t count,
                                        bool *was_set, struct hf_error *err)
    HF_MUST_CHECK;

/* hf_latch_count_down - one less; at 0 all waiters pass. A latch that is not
 *   there stays so. A message for waiters that the server refuses (ACL) is logged,
 *   and is not an error: the waiters look every 3 s.
 * Returns HF_OK            counted
 *         HF_UNREPLICATED  counted, but too few replicas (hf_client_options) confirmed
 *                          it in time: a failover may forget it. Do not repeat it
 *         HF_E_CONNECT, HF_E_NOREPLY, HF_E_PROTOCOL  unknown: it goes on in the
 *                          background until the server has answered, however long that
 *                          takes, or until the client is closed. Do not repeat it
 *         HF_E_CLOSED      of a call that was under way when the client was freed:
 *                          unknown
 *         any other        nothing was done */
HF_API hf_status hf_latch_count_down(struct hf_latch *latch,
                                     struct hf_error *err);

/* hf_latch_await - until the latch is at 0, or is not there.
 *   wait_ms   HF_FOREVER; 0: look once; at most HF_SPAN_MAX_MS
 *   cancel    NULL: none; ends the wait (lock.h). Must outlive the call
 * Returns HF_OK         it was at 0 since the call began
 *         HF_TIMEOUT    wait_ms is over; it was not when last heard of
 *         HF_CANCELLED  cancel was fired
 * A waiter is woken by a message; one that never comes costs 3 s at most. A
 * deletion counts as 0. While a waiter waits, a server that goes away is waited
 * for as in hf_lock_acquire. */
HF_API hf_status hf_latch_await(struct hf_latch *latch, int64_t wait_ms,
                                struct hf_cancel *cancel, struct hf_error *err)
    HF_MUST_CHECK;

/* hf_latch_count - how far it is from 0; 0 if there is no such latch. */
HF_API hf_status hf_latch_count(struct hf_latch *latch, int64_t *out,
                                struct hf_error *err) HF_MUST_CHECK;

/* hf_latch_try_set_count_async, hf_latch_count_down_async, hf_latch_await_async,
 * hf_latch_count_async - as the call of the same name, without blocking: `done`
 *   is called once, with the status that the blocking call would return, unless
 *   the function itself returns a failure; then nothing was done. `was_set`,
 *   `out` and `cancel` must live until then. */
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
HF_API hf_status hf_latch_count_async(struct hf_latch *latch, int64_t *out,
                                      hf_done *done, void *ctx) HF_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
