/* Renews the lease of a hold by hand. Part of holdfast (lock.h).
 *
 * A hold that was acquired with lease_ms ends with that lease. A program that knows how far
 * its work has come renews the lease itself, so that a program that hangs loses the lock:
 *
 *     hf_acquire_options_init(&options);
 *     options.lease_ms = 10000;
 *     if (hf_lock_acquire(lock, &options, &error) < 0)
 *         return fail(error.text);
 *     while (work_remains()) {
 *         do_a_part();
 *         if (hf_lock_renew(lock, options.owner, 10000, &error) == HF_LOST)
 *             break;
 *     }
 *     hf_lock_release(lock, options.owner, &error);
 *
 * hf_quorum_renew (quorum.h) and hf_multi_renew (multi.h) do this for sets of locks,
 * hf_renew_by_owner (by_owner.h) for the hold of a process that has ended.
 *
 * Threads, errors: as in lock.h. */
#ifndef HF_RENEW_H
#define HF_RENEW_H

#include "lock/lock.h"

#ifdef __cplusplus
extern "C" {
#endif

/* hf_lock_renew - extends the hold of this owner, with all its acquisitions, to lease_ms from
 *   now (1 to HF_SPAN_MAX_MS). A longer lease is not shortened, and max_hold_ms still applies.
 *   A later release except the last sets the TTL to lease_ms, or to the earlier lease if that
 *   is longer. on_renewed is not called.
 * Returns HF_OK         the server has extended the hold: hf_lock_safe_ms counts from when the
 *                       request was sent. With hf_client_options.replicas, the call does not
 *                       wait for replicas, as renewals and re-entries do not
 *         HF_NOT_OWNER  this client has no such hold: nothing was done
 *         HF_LOST       the hold is lost, also if its lease ended before the reply arrived.
 *                       Release it
 *         HF_E_INVAL    lease_ms is out of range; or the client renews this hold, because the
 *                       lease_ms of one of its acquires was 0. Nothing was done
 *         HF_E_SERVER   the server refused
 *         HF_E_CONNECT, HF_E_TLS, HF_E_AUTH, HF_E_PROTOCOL, HF_E_NOREPLY
 *                       no usable reply within the request timeout
 *         HF_E_CLOSED   the client is closed, or was closed while the call was pending; in the
 *                       second case the server may have executed the request
 *         HF_E_LIMIT, HF_E_NOMEM, HF_E_FORKED: nothing was done
 *   After every HF_E_* the hold continues, with the same hf_lock_safe_ms as without the call; the
 *   call can be repeated until that ends. Cost: one command. Source: WIRE 6. */
HF_API hf_status hf_lock_renew(struct hf_lock *lock, int64_t owner, int64_t lease_ms,
                               struct hf_error *err);

/* hf_lock_renew_async - as hf_lock_renew, without blocking. `done` is called once, with the
 *   status that the blocking call would return. If the function itself returns an error,
 *   nothing was done and `done` is not called. */
HF_API hf_status hf_lock_renew_async(struct hf_lock *lock, int64_t owner, int64_t lease_ms,
                                     hf_done *done, void *ctx) HF_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
