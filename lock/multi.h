/* Multi-locks: several locks acquired as one, all or none. The members may have any kind
 * and name, and may belong to several clients, and thus to several servers.
 *
 *     struct hf_lock *both[] = {from_account, to_account};
 *     struct hf_multi *multi;
 *
 *     if (hf_multi_new(&multi, both, 2, &error) < 0 ||
 *         hf_multi_acquire(multi, NULL, &error) < 0)
 *         return fail(error.text);
 *     ...
 *     hf_multi_release(multi, hf_owner_thread(), &error);
 *     hf_multi_free(multi);
 *
 * The servers store only the members, each as if it had been acquired alone, so
 * Redisson's MultiLock over the same locks excludes this one. Each member has the
 * promises of a lock.
 *
 * Order: members are acquired in the order of the bytes of their names, whatever order the
 * caller gives; members of one name on several servers in the order given. So multi-locks
 * do not wait for each other in a circle. A circle is still possible with a caller that
 * acquires single locks in another order, or with multi-locks that list the servers of one
 * name in opposite orders. Therefore a bound applies: while the call holds some members,
 * it waits for the others for 1.5 to 3 s (random), or a quarter of the lease if that is
 * less. Then it releases all members, waits for the missing one while it holds none, and
 * tries the others.
 *
 * Members of different names may be on one server. Two members of one name, of two
 * clients, must be on two servers: on one server they would be the same key, for which
 * the owner would wait for itself, or keys of two databases, which one fault affects
 * together. An acquire compares the run_id that each server sent in its handshake, and
 * returns HF_E_INVAL if two are equal. With allow_same_server it does not: keys of two
 * databases are two locks, and members that are the same key are never granted. Servers
 * that send no run_id are not compared.
 *
 * Threads, callbacks, errors: as in lock.h. If the members belong to several clients,
 * each client needs a thread that drives its loop, such as the background thread: while
 * the call waits for one member, the others must be renewed.
 *
 * Source: WIRE 13. */
#ifndef HF_MULTI_H
#define HF_MULTI_H

#include "lock/lock.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A handle on one set of locks. Several owners may use it. */
struct hf_multi;

#define HF_MULTI_MAX 64

/* hf_multi_new - creates a multi-lock of `count` locks, 1 to HF_MULTI_MAX. The caller may
 *   free these handles before the multi-lock. It returns HF_E_INVAL for another count,
 *   and for two locks of one name and client, even of two kinds, because their owner
 *   would wait for itself. It returns HF_E_NOMEM, HF_E_FORKED. No I/O. */
HF_API hf_status hf_multi_new(struct hf_multi **out,
                              struct hf_lock *const *locks, size_t count,
                              struct hf_error *err) HF_MUST_CHECK;

/* hf_multi_free - frees the handle. NULL is allowed. No call may be pending and no owner
 *   may hold the multi-lock, except what a closed client still holds, whose loss is no
 *   longer reported. Call it before the clients are freed, and not from a callback: it
 *   waits until callbacks that have begun have returned (without a background thread, it
 *   calls them). */
HF_API void hf_multi_free(struct hf_multi *multi);

/* hf_multi_acquire - acquires every member; or again, if all members are reentrant.
 *   options   NULL: the defaults of hf_lock_acquire, with these differences.
 *             wait_ms      applies to the whole call; 0 tries each member once
 *             lease_ms, max_hold_ms  apply to each member from its own grant. When the
 *                          call returns, at least half of lease_ms remains. If the owner
 *                          already held a member without lease_ms, the watchdog still
 *                          renews it, and at least half of watchdog_ms remains
 *             cancel       allowed only if all members belong to its client
 *             on_wait, on_renewed  are called for each member
 *             on_lost      is called once, with the first member that is lost; if the
 *                          clients have threads, perhaps before `done`. The other
 *                          members are renewed until they are released. If the owner
 *                          had acquired a member alone before, the on_lost of that
 *                          acquire is called. If it acquires a member alone later, and
 *                          releases the multi-lock first, that member has no on_lost
 *             After max_hold_ms no member is renewed: each ends with the release or
 *             when its TTL expires.
 * Returns HF_OK         all members are held; release as often as acquired
 *         HF_TIMEOUT    wait_ms expired, or with wait_ms 0 a member was not available.
 *                       Also if wait_ms expired during the request of a member: a
 *                       missing reply is an error only after half of wait_ms
 *         HF_E_INVAL    the options are invalid; two members of one name are on one
 *                       server; keep_unreplicated is set; the cancel belongs to
 *                       another client; or another call of this owner on this
 *                       multi-lock is pending
 *         HF_E_NOREPLY  as hf_lock_acquire; or repeatedly a member was lost, or half of
 *                       its lease passed, before the last one was granted
 *         else          as hf_lock_acquire of the member that the error names
 *   Unless it returns HF_OK, every acquired member was released; if no reply came, the
 *   client repeats that release in the background. hf_client_close waits until the call
 *   has released the members of its client. */
HF_API hf_status hf_multi_acquire(struct hf_multi *multi,
                                  const struct hf_acquire_options *options,
                                  struct hf_error *err) HF_MUST_CHECK;

/* hf_multi_release - releases each member once. The releases are requested in reverse order
 *   of acquisition, and do not wait for each other's replies: so one that fails or is slow
 *   does not delay the others. (Without memory for this, each release is sent after the
 *   reply to the previous one.) Exception: a loop without a background thread runs only while
 *   the call waits for it, and the call waits for one loop at a time. If members are on
 *   several such loops, a server that does not reply delays the others. Except where the
 *   list says "nothing was done", the owner has one acquisition less of each member, whatever
 *   the call returns.
 * Returns HF_OK         released once
 *         HF_LOST       released once; at least one member, which the error names
 *                       (hf_error.member is 1 and its index), had been lost
 *         HF_NOT_OWNER  the owner does not hold the multi-lock: nothing was done
 *         HF_E_INVAL    another call of this owner is pending: nothing was done
 *         HF_E_FORKED   nothing was done
 *         else          as hf_lock_release of the member that the error names. What a
 *                       closed client still holds expires with its TTL */
HF_API hf_status hf_multi_release(struct hf_multi *multi, int64_t owner,
                                  struct hf_error *err);

/* hf_multi_renew - extends a multi-lock that was acquired with lease_ms to lease_ms from now
 *   (1 to HF_SPAN_MAX_MS): hf_lock_renew of each member, at once. No lease is shortened.
 * Returns HF_OK         all members were extended; hf_multi_safe_ms has the new safe time
 *         HF_LOST       a member, which the error names, is lost: release the multi-lock
 *         HF_NOT_OWNER  the owner does not hold the multi-lock: nothing was done
 *         HF_E_INVAL    lease_ms is out of range; a client renews a member, because the
 *                       lease_ms of one of its acquires was 0 (other members may be extended);
 *                       or another call of this owner is pending
 *         HF_E_FORKED   nothing was done
 *         else          as hf_lock_renew of the member that the error names. The others may
 *                       be extended. The multi-lock is still held, and its safe time is at
 *                       least what it was: until that ends, the call can be repeated
 *   Loops without background threads are driven one after the other, as by hf_multi_release. */
HF_API hf_status hf_multi_renew(struct hf_multi *multi, int64_t owner, int64_t lease_ms,
                                struct hf_error *err);

/* hf_multi_acquire_async, hf_multi_release_async, hf_multi_renew_async - as the blocking calls
 *   of the same names, without blocking. The rules of hf_lock_acquire_async for `done` and for the
 *   owner apply. `done` is called by the thread that calls the callbacks of the client
 *   whose reply was the last. */
HF_API hf_status hf_multi_acquire_async(struct hf_multi *multi,
                                        const struct hf_acquire_options *options,
                                        hf_done *done, void *ctx) HF_MUST_CHECK;
HF_API hf_status hf_multi_release_async(struct hf_multi *multi, int64_t owner,
                                        hf_done *done, void *ctx) HF_MUST_CHECK;
HF_API hf_status hf_multi_renew_async(struct hf_multi *multi, int64_t owner, int64_t lease_ms,
                                      hf_done *done, void *ctx) HF_MUST_CHECK;

/* hf_multi_safe_ms - returns for how many ms all members are certain to be held: the
 *   minimum of their hf_lock_safe_ms. INT64_MIN: the owner does not hold the multi-lock,
 *   or a member is lost. No I/O. */
HF_API int64_t hf_multi_safe_ms(struct hf_multi *multi, int64_t owner);

/* hf_multi_member - returns the member that is acquired as number `index`, from 0, to
 *   read its name or token; NULL if `index` is too large. The handle is borrowed and
 *   valid as long as the multi-lock. */
HF_API struct hf_lock *hf_multi_member(const struct hf_multi *multi,
                                       size_t index);

#ifdef __cplusplus
}
#endif
#endif
