/* Holds of processes that are gone. Part of holdfast (lock.h).
 *
 * A program may take a lock with a lease, note its owner (hf_lock_owner_text),
 * and end: the lock stays held until the lease ends. Another one, which knows the
 * owner, makes it last longer or releases it, as `holdfast acquire`, `renew` and
 * `release` do:
 *
 *     hf_lock_new(&lock, client, "deploy", 6, &error);
 *     hf_renew_by_owner(lock, owner, strlen(owner), 60000, &safe_ms, &error);
 *     ...
 *     hf_release_by_owner(lock, owner, strlen(owner), &error);
 *
 * Meant for holds that nobody else looks after. A process that still has the hold
 * renews it with its own, shorter lease, whatever was asked for here; and learns of
 * a release only when it renews or releases, as of a forced one.
 *
 * The handle is of the kind by which the lock was taken, with or without
 * HF_WITH_TOKEN. `owner` has `len` bytes, 1 to HF_OWNER_TEXT_MAX - 1: "uuid:number",
 * of a writer "uuid:number:write", of a value lock any text (a longer one:
 * hf_lock_force_release). It is copied.
 *
 * Both return
 *         HF_OK          done
 *         HF_NOT_OWNER   that owner does not hold it (any more), or not by this kind
 *                        of lock: nothing is changed. A permit whose lease is over is its owner's until somebody
 *                        asks for one, and may be renewed and released until then
 *         HF_E_INVAL     no owner of this kind is written so; it is one of this
 *                        client's own, which renews and releases it itself; or the
 *                        lease
 *         HF_E_SERVER    the server refused; or another kind of lock (if not
 *                        HF_NOT_OWNER), or something else, has the name, and is
 *                        left alone
 *         HF_E_CONNECT, HF_E_TLS, HF_E_AUTH, HF_E_PROTOCOL, HF_E_NOREPLY
 *                        no answer within the request timeout: it may have been
 *                        done, and may be done yet. Ask again: both calls may be
 *                        repeated. But an owner of Redisson's is a thread, not one
 *                        hold: a repeated release also frees what that thread has
 *                        taken since
 *         HF_UNREPLICATED  (renew) done, but too few replicas have confirmed it
 *                        (connect.h: replicas): behind a failover the lease before
 *                        it may count
 *         HF_E_LIMIT, HF_E_NOMEM, HF_E_FORKED, HF_E_CLOSED
 *
 * Threads, errors: as in lock.h. */
#ifndef HF_BY_OWNER_H
#define HF_BY_OWNER_H

#include "lock/lock.h"

#ifdef __cplusplus
extern "C" {
#endif

/* hf_renew_by_owner - the hold lasts for lease_ms (1 to HF_SPAN_MAX_MS) from now on,
 *   with all acquisitions of its owner. A longer lease is kept, so a renewal that is
 *   late shortens nothing. *safe_ms, which may be NULL, is set with HF_OK only: how
 *   long the hold is certain to last from now, as hf_lock_safe_ms; HF_SPAN_MAX_MS: it
 *   has no TTL, or one longer than that; <= 0: the answer came too late, ask again.
 *   Source: WIRE 6, 12.6, 16. */
HF_API hf_status hf_renew_by_owner(struct hf_lock *lock, const char *owner,
                                   size_t len, int64_t lease_ms,
                                   int64_t *safe_ms, struct hf_error *err)
    HF_MUST_CHECK;

/* hf_release_by_owner - gives up all acquisitions of that owner, and wakes waiters;
 *   of a read lock its own holds alone, of a semaphore its permit. HF_E_NOREPLY is
 *   also returned if it was asked twice, and the owner was gone the second time.
 *   Source: WIRE 8.2. */
HF_API hf_status hf_release_by_owner(struct hf_lock *lock, const char *owner,
                                     size_t len, struct hf_error *err);

/* hf_renew_by_owner_async, hf_release_by_owner_async - as the call of the same name,
 *   without blocking: `done` is called once, with the status that the blocking call
 *   would return, unless the function itself returns a failure; then nothing was
 *   done. *safe_ms must stay valid until then, and counts from that moment. */
HF_API hf_status hf_renew_by_owner_async(struct hf_lock *lock,
                                         const char *owner, size_t len,
                                         int64_t lease_ms, int64_t *safe_ms,
                                         hf_done *done, void *ctx)
    HF_MUST_CHECK;
HF_API hf_status hf_release_by_owner_async(struct hf_lock *lock,
                                           const char *owner, size_t len,
                                           hf_done *done, void *ctx)
    HF_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
