/* Redlock: one lock on several independent servers. An owner holds it if it holds it on a
 * majority of them. It therefore remains held, and can be acquired, while a minority of
 * the servers is down.
 *
 *     struct hf_lock *locks[3];            one on each server, of one name
 *     struct hf_quorum *quorum;
 *
 *     for (int i = 0; i < 3; i++)
 *         if (hf_lock_new(&locks[i], clients[i], "report", 6, &error) < 0)
 *             return fail(error.text);
 *     if (hf_quorum_new(&quorum, locks, 3, &error) < 0 ||
 *         hf_quorum_acquire(quorum, NULL, &error) < 0)
 *         return fail(error.text);
 *     ...
 *     hf_quorum_release(quorum, hf_owner_thread(), &error);
 *     hf_quorum_free(quorum);
 *
 * Each member is a lock on a deployment of its own: a server, a master with its
 * sentinels, or a cluster. The servers store only the members. A member may have any kind
 * with one holder, or be a read lock: the holders of a quorum of read locks share it, and
 * exclude a quorum of the write locks. Permits are refused, because two majorities could
 * acquire different permits of the server that they have in common. A quorum of members
 * with fencing tokens has its own token: hf_quorum_token. Members of kind HF_KIND_VALUE
 * exclude redsync and node-redlock on the same servers.
 *
 * docs/quorum.md says what is promised and what the servers must do for it: above all, a
 * server that restarts without its data must stay away for the longest lease.
 *
 * One server must not have two votes, because one fault would take both. Servers may
 * have several addresses, so an acquire compares the run_id that each server sent in
 * its handshake. It returns HF_E_INVAL if two are equal, unless allow_same_server is
 * set. The first acquire of a handle that gets a majority waits up to 200 ms for
 * members that are still connecting; a member that is not connected is compared later.
 * A server that sends no run_id (its user lacks +info, or a proxy hides it) is not
 * refused, and the client logs that it could not be checked.
 *
 * Order: give the members in one order everywhere. The order does not matter for
 * safety; with one order, competing acquires agree sooner on which is first.
 *
 * Threads, callbacks, errors: as in lock.h, with these additions. Callbacks of two members
 * may run at the same time, in the threads of their clients. The loops of all clients must
 * be driven at all times, preferably by their background threads, because the reply of one
 * server decides what is sent to another. Replies are processed in the thread that calls
 * the callbacks of a client. Therefore a slow callback of one client delays calls, and the
 * report of a loss; a blocking call in a callback is refused (HF_E_INVAL; use the _async
 * one); and no mutex that a callback locks may be held during a blocking call.
 *
 * Source: REDLOCK; WIRE 13. */
#ifndef HF_QUORUM_H
#define HF_QUORUM_H

#include "lock/lock.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A handle on one set of members. Any number of owners may use it. Each owner that has
 * held it costs about 2 KB for each member until the handle is freed. */
struct hf_quorum;

#define HF_QUORUM_MAX 15

/* hf_quorum_new - creates a quorum of `count` locks, 1 to HF_QUORUM_MAX, preferably an odd
 *   number. A majority is count / 2 + 1 of them. The caller may free the locks before the
 *   quorum. It returns HF_E_INVAL for another count; for two locks of one client, because
 *   one server would count twice; for permits; and if only some members are read locks, or
 *   only some have tokens. It returns HF_E_NOMEM, HF_E_FORKED. No I/O. */
HF_API hf_status hf_quorum_new(struct hf_quorum **out,
                               struct hf_lock *const *locks, size_t count,
                               struct hf_error *err) HF_MUST_CHECK;

/* hf_quorum_free - frees the handle. NULL is allowed. No owner may hold the quorum, and no
 *   call may be pending. Call it before the clients are freed, and not from a callback: it
 *   waits until callbacks that have begun have returned. */
HF_API void hf_quorum_free(struct hf_quorum *quorum);

/* hf_quorum_acquire - acquires a majority of the members. It sends a request to all at
 *   once and returns when a majority has granted; the others may still grant. While the
 *   quorum is held without lease_ms, missing members are requested again after each third
 *   of the first client's watchdog_ms. The owner must not hold a member alone.
 *   options   NULL: the defaults of hf_lock_acquire, with these differences.
 *             wait_ms      applies to the whole call; 0 tries each member once. While other
 *                          owners hold too many members, the call holds none, and waits
 *                          for the first member that replies. While others hold members,
 *                          it waits up to 1 s for the reply of each member, also of one
 *                          that failed in earlier calls
 *             lease_ms, max_hold_ms  apply to each member. When the call returns, at least
 *                          half of lease_ms remains. After max_hold_ms no member is
 *                          renewed: each ends with the release, or expires
 *             cancel       must be NULL: use hf_quorum_cancel
 *             on_wait, on_renewed  are called for each member
 *             on_lost      is called once, with a member that was lost, when the owner
 *                          holds no majority, or may have held none for a moment (a lost
 *                          member was acquired again before another loss was detected:
 *                          docs/quorum.md). With background threads, perhaps before
 *                          `done`. Release the quorum then: until the release, lost
 *                          members expire, and the others are renewed
 * Returns HF_OK         a majority is held, and its safe time has not ended
 *         HF_TIMEOUT    wait_ms expired, and other owners hold too many members; also if
 *                       it expired during requests, and another owner held a member
 *         HF_E_QUORUM   too many servers refused, or did not reply within their client's
 *                       request timeout; no other owner is in the way
 *         HF_CANCELLED  hf_quorum_cancel was called
 *         HF_LOST       this owner's earlier hold was lost, and was not released yet
 *         HF_E_INVAL    invalid options; two members are on one server; this owner holds
 *                       the quorum, or another call of it is pending; or, for a blocking
 *                       call, a client has no background thread, or runs this in a callback
 *         HF_E_NOREPLY  repeatedly, the replies came too late for the lease
 *         HF_E_NOMEM, HF_E_FORKED
 *   The error lists the result of each server: "2 of 5 servers granted the lock, 3
 *   required: a:6379: granted; b:6379: granted; c:6379: held by ...". Unless it returns
 *   HF_OK, every acquired member was released; where no reply came, the client repeats the
 *   release in the background, as after hf_lock_acquire. */
HF_API hf_status hf_quorum_acquire(struct hf_quorum *quorum,
                                   const struct hf_acquire_options *options,
                                   struct hf_error *err) HF_MUST_CHECK;

/* hf_quorum_release - releases all members at once. Except where the list says "nothing
 *   was done", the owner no longer holds the quorum, whatever the call returns.
 * Returns HF_OK         a majority confirmed the release. A server counts if it replies to the
 *                       release that it no longer has its member
 *         HF_LOST       it had been lost: no majority was held, or on_lost was called. Also
 *                       if a majority may have been missing at one moment: the release
 *                       found that a server had forgotten its member, and another member
 *                       was acquired again after that server last confirmed its own
 *         HF_NOT_OWNER  the owner does not hold it: nothing was done
 *         HF_E_INVAL    another call of this owner is pending, or a client has no
 *                       background thread, or runs this in a callback: nothing was done
 *         HF_E_FORKED   nothing was done
 *         HF_E_QUORUM   too few servers replied. The clients repeat the other releases in
 *                       the background, or those members expire: hf_lock_release */
HF_API hf_status hf_quorum_release(struct hf_quorum *quorum, int64_t owner,
                                   struct hf_error *err);

/* hf_quorum_renew - extends a quorum that was acquired with lease_ms to lease_ms from now
 *   (1 to HF_SPAN_MAX_MS): hf_lock_renew of all members that the owner holds, at once. It
 *   returns when a majority was extended; requests to the others stay pending. Members that the
 *   owner does not hold are not requested.
 * Returns HF_OK         a majority was extended, and its new safe time has not ended:
 *                       hf_quorum_safe_ms
 *         HF_E_QUORUM   fewer were extended. No lease is shorter than before, so the quorum is
 *                       held at least until its earlier safe time, and the call can be repeated
 *                       until then. The error lists the result of each server, as after
 *                       hf_quorum_acquire
 *         HF_LOST       the quorum is lost: release it
 *         HF_NOT_OWNER  the owner does not hold it: nothing was done
 *         HF_E_INVAL    lease_ms is out of range; the quorum was acquired without lease_ms, so
 *                       that its clients renew it; another call of this owner is pending; or
 *                       a client has no background thread, or runs this in a callback:
 *                       nothing was done
 *         HF_E_NOMEM, HF_E_FORKED: nothing was done
 *   If hf_quorum_renew_async itself returns HF_E_QUORUM, a minority may still be extended. The
 *   first call of an owner allocates about 2 KB for each member. */
HF_API hf_status hf_quorum_renew(struct hf_quorum *quorum, int64_t owner,
                                 int64_t lease_ms, struct hf_error *err);

/* hf_quorum_acquire_async, hf_quorum_release_async, hf_quorum_renew_async - as the blocking
 *   calls of the same names, without blocking. The rules of hf_lock_acquire_async for
 *   `done` and for the owner apply. `done` is called in the thread that calls the callbacks
 *   of one of the clients. */
HF_API hf_status hf_quorum_acquire_async(
    struct hf_quorum *quorum, const struct hf_acquire_options *options,
    hf_done *done, void *ctx) HF_MUST_CHECK;
HF_API hf_status hf_quorum_release_async(struct hf_quorum *quorum,
                                         int64_t owner, hf_done *done,
                                         void *ctx) HF_MUST_CHECK;
HF_API hf_status hf_quorum_renew_async(struct hf_quorum *quorum, int64_t owner,
                                       int64_t lease_ms, hf_done *done,
                                       void *ctx) HF_MUST_CHECK;

/* hf_quorum_cancel - ends the pending acquire of this owner, if there is one, with
 *   HF_CANCELLED. */
HF_API void hf_quorum_cancel(struct hf_quorum *quorum, int64_t owner);

/* hf_quorum_token - returns the fencing token of a hold, if the members are fenced locks
 *   or have HF_WITH_TOKEN. It is greater than the token of each earlier hold of this
 *   quorum, whichever majority held it. 0: the owner holds nothing, or there are no
 *   tokens. A lost hold keeps its token until it is released. Do not use hf_lock_token of
 *   a member: it counts one server's grants. docs/quorum.md says what the servers must
 *   keep. No I/O. */
HF_API int64_t hf_quorum_token(struct hf_quorum *quorum, int64_t owner);

/* hf_quorum_safe_ms - returns for how many ms from now the owner certainly holds a
 *   majority: the smallest hf_lock_safe_ms among the majority with the largest ones. If it
 *   is <= 0, do not use what the lock protects. INT64_MIN: the owner does not hold the
 *   quorum, or it is lost. No I/O. */
HF_API int64_t hf_quorum_safe_ms(struct hf_quorum *quorum, int64_t owner);

/* hf_quorum_member - returns member number `index`, from 0, in the order given; NULL if
 *   `index` is too large. The handle is borrowed and valid as long as the quorum. */
HF_API struct hf_lock *hf_quorum_member(const struct hf_quorum *quorum,
                                        size_t index);

#ifdef __cplusplus
}
#endif
#endif
