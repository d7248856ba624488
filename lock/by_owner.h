/* Renews and releases holds of processes that have ended. Part of holdfast (lock.h).
 *
 * A program may acquire a lock with a lease, store the owner (hf_lock_owner_text) and
 * end. The lock stays held until the lease expires. Another program that knows the owner
 * can renew or release the hold, as `holdfast acquire`, `renew` and `release` do:
 *
 *     hf_lock_new(&lock, client, "deploy", 6, &error);
 *     hf_renew_by_owner(lock, owner, strlen(owner), 60000, &safe_ms, &error);
 *     ...
 *     hf_release_by_owner(lock, owner, strlen(owner), &error);
 *
 * Use these functions only for holds that no running process manages. A process that
 * still manages the hold renews it with its own lease, which may be shorter, and notices a
 * release only when it renews or releases the hold.
 *
 * A request that the process sent shortly before it ended (a re-entry, a renewal, a release)
 * may reach the server after hf_renew_by_owner has renewed the hold. It then shortens or
 * releases the hold, also within the time that hf_renew_by_owner returned. A process leaves
 * no such request if each of its calls ended with a reply and it acquired the lock with
 * lease_ms, so that its client did not renew it.
 *
 * The handle must be of the kind by which the lock was acquired, with or without
 * HF_WITH_TOKEN. `owner` is the text that hf_lock_owner_text returns, not the owner number. It has
 * `len` bytes, 1 to HF_OWNER_TEXT_MAX - 1, which are copied: "uuid:number"; for a writer
 * "uuid:number:write"; for a value lock any text (for a longer text, use
 * hf_lock_force_release); for an expirable permit also the permit's id, 32 hexadecimal
 * digits, as Redisson (since 3.17) returns it.
 *
 * Both functions return
 *         HF_OK          done
 *         HF_NOT_OWNER   the owner does not hold the lock, or not with this kind of lock:
 *                        nothing was changed. An expired permit still belongs to its
 *                        owner, which may renew or release it, until the server grants
 *                        it to another owner
 *         HF_E_INVAL     the text is not an owner of this kind; or it is an owner of
 *                        this client, which renews and releases its own holds; or the
 *                        lease is invalid
 *         HF_E_SERVER    the server refused; or the key holds another kind of lock, or
 *                        not a lock. Nothing was changed
 *         HF_E_CONNECT, HF_E_TLS, HF_E_AUTH, HF_E_PROTOCOL, HF_E_NOREPLY
 *                        no reply within the request timeout; or the client had to repeat
 *                        the request, and the server refused the repeated one (the error
 *                        contains the refusal). The server may have executed the
 *                        request, or may still execute it. Repeat the call.
 *                        Note that an owner of Redisson is a thread, not a hold: a
 *                        repeated release also frees a hold that this thread acquired in
 *                        the meantime
 *         HF_UNREPLICATED  (renew) done, but not enough replicas confirmed it
 *                        (connect.h: replicas): after a failover the earlier lease may
 *                        apply
 *         HF_E_LIMIT, HF_E_NOMEM, HF_E_FORKED, HF_E_CLOSED
 *
 * Threads, errors: as in lock.h. */
#ifndef HF_BY_OWNER_H
#define HF_BY_OWNER_H

#include "lock/lock.h"

#ifdef __cplusplus
extern "C" {
#endif

/* hf_renew_by_owner - extends the hold, with all acquisitions of its owner, to lease_ms
 *   from now (1 to HF_SPAN_MAX_MS). It never shortens a longer lease. With HF_OK,
 *   *safe_ms (which may be NULL) receives how long the hold lasts at least, as
 *   hf_lock_safe_ms, unless a request of the ended process arrives later (above):
 *   HF_SPAN_MAX_MS if the hold has no TTL or a longer one; <= 0 if the reply came too late
 *   (call it again). Source: WIRE 6, 12.6, 16. */
HF_API hf_status hf_renew_by_owner(struct hf_lock *lock, const char *owner,
                                   size_t len, int64_t lease_ms,
                                   int64_t *safe_ms, struct hf_error *err)
    HF_MUST_CHECK;

/* hf_release_by_owner - releases all acquisitions of this owner and wakes waiters. Other
 *   readers and other permits are not affected. HF_E_NOREPLY is also returned if the
 *   client had to repeat the request and the owner had no hold the second time.
 *   Source: WIRE 8.2. */
HF_API hf_status hf_release_by_owner(struct hf_lock *lock, const char *owner,
                                     size_t len, struct hf_error *err);

/* hf_renew_by_owner_async, hf_release_by_owner_async - as the blocking calls of the same
 *   names, without blocking. `done` is called once, with the status that the blocking
 *   call would return. If the function itself returns an error, nothing was done and
 *   `done` is not called. `safe_ms` must remain valid until `done` is called, and its
 *   value counts from that moment. */
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
