/* Redlock: one lock on several independent servers. Its holder has it on a
 * majority of them, so it stays held, and can be had, while a minority of the
 * servers is down.
 *
 *     struct hf_lock *locks[3];            one on each server, of one name
 *     struct hf_quorum *quorum;
 *
 *     for (int i = 0; i < 3; i++)
 *         if (hf_lock_new(&locks[i], clients[i], "report", 6, &error) < 0)
 *             return give_up(error.text);
 *     if (hf_quorum_new(&quorum, locks, 3, &error) < 0 ||
 *         hf_quorum_acquire(quorum, NULL, &error) < 0)
 *         return give_up(error.text);
 *     ...
 *     hf_quorum_release(quorum, hf_owner_thread(), &error);
 *     hf_quorum_free(quorum);
 *
 * Each member is a lock on a deployment of its own: a server, a master with its
 * sentinels, or a cluster. The servers keep nothing but the members. A member may be
 * of each kind that one owner holds alone, or a read lock. Readers share a quorum, and
 * exclude a quorum of the write locks. Permits are refused: two majorities could take
 * different permits of the server that they have in common. A quorum of members with
 * fencing tokens has a token of its own: hf_quorum_token. Members of kind
 * HF_KIND_VALUE exclude redsync and node-redlock on the same servers.
 *
 * What is promised, and what it takes of the servers (a server that was
 * restarted without its data must stay away for the longest lease):
 * docs/quorum.md.
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
 * Threads, callbacks, errors: as lock.h; callbacks of two members may run at the
 * same time, on the threads of their clients. The loops of all clients must be
 * driven all the time, best by their background threads: an answer of one server
 * decides what is asked of another. Answers are heard where callbacks run. So a slow
 * callback of a client delays calls, and on_lost of a loss there; in a callback a
 * blocking call is refused (HF_E_INVAL): use the _async one; and a mutex that a
 * callback takes must not be held across a blocking call.
 *
 * Source: REDLOCK; WIRE 13. */
#ifndef HF_QUORUM_H
#define HF_QUORUM_H

#include "lock/lock.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A handle on one set of members. Any number of owners may use it; each that
 * has held it costs some 2 KB for each member until the handle is freed. */
struct hf_quorum;

#define HF_QUORUM_MAX 15

/* hf_quorum_new  - of `count` locks, 1 to HF_QUORUM_MAX, best an odd number;
 *   most of them (count / 2 + 1) make the quorum. The caller may free them
 *   before it. HF_E_INVAL: more, or none; two of one client: that would count
 *   one server twice; permits; read locks beside others, or locks with tokens
 *   beside locks without. HF_E_NOMEM, HF_E_FORKED. No I/O.
 * hf_quorum_free - gives the handle up; takes NULL. Nothing may be held or under
 *   way by it. Before its clients are freed, and not from a callback: it waits
 *   until callbacks that have begun have returned. */
HF_API hf_status hf_quorum_new(struct hf_quorum **out,
                               struct hf_lock *const *locks, size_t count,
                               struct hf_error *err) HF_MUST_CHECK;
HF_API void hf_quorum_free(struct hf_quorum *quorum);

/* hf_quorum_acquire - takes a majority of the members. All are asked at once, and
 *   it returns when a majority has answered yes; the others may still do so.
 *   While it is held, missing members are asked again, each third of the first
 *   client's watchdog_ms, unless there is a lease_ms.
 *   options   NULL: as of hf_lock_acquire. wait_ms is for all together; with 0
 *             each is asked once. While other owners hold too many members, the
 *             call waits for the first member that answers, holding none. While
 *             others hold members, it waits up to 1 s for each member's reply,
 *             also if that member failed in earlier calls.
 *             lease_ms and max_hold_ms are each member's; with a lease_ms, at
 *             least half of it is left when this returns. cancel must be NULL:
 *             hf_quorum_cancel. on_wait and on_renewed are called for each
 *             member. on_lost is called once, when fewer than most members are
 *             held, with a member that was lost; also when fewer than most may have
 *             been held at one moment since, because a lost member was acquired
 *             again before the loss of another was noticed (docs/quorum.md); if clients have threads, perhaps
 *             before `done`. Release it then: until the release lost members are
 *             left to their TTLs, and the others are renewed. After max_hold_ms no
 *             member is renewed: each ends with the release, or by its TTL. The
 *             owner may not hold a member by itself
 * Returns HF_OK         most are held, and certain to be ours
 *         HF_TIMEOUT    wait_ms is over, and others hold too many; also if the end
 *                       of wait_ms cut off requests, and a member was held by
 *                       another in this call
 *         HF_E_QUORUM   too many servers refused or did not answer in their
 *                       client's request timeout; others are not in the way
 *         HF_CANCELLED  hf_quorum_cancel
 *         HF_LOST       this owner's was lost, and is not released yet
 *         HF_E_INVAL    the options; or two members are on one server; or this
 *                       owner holds it already, or another call of its is under
 *                       way; of calls that block: a client
 *                       has no background thread, or runs this in a callback
 *         HF_E_NOREPLY  again and again the answers came too late for the lease
 *         HF_E_NOMEM, HF_E_FORKED
 *   The error says what each server answered: "2 of 5 said yes, 3 are needed:
 *   a:6379: yes; b:6379: yes; c:6379: held by ...". Unless it is HF_OK, what had
 *   been taken is given back when it returns, also where no answer came: in the
 *   background then, as by hf_lock_acquire. */
HF_API hf_status hf_quorum_acquire(struct hf_quorum *quorum,
                                   const struct hf_acquire_options *options,
                                   struct hf_error *err) HF_MUST_CHECK;

/* hf_quorum_release - gives all members back, at once. Whatever it returns, but
 *   where "nothing was done", the owner holds it no more.
 * Returns HF_OK         most answered that they are free
 *         HF_LOST       it had been lost: fewer than most were still held, or
 *                       on_lost had been called
 *         HF_NOT_OWNER  the owner does not hold it: nothing was done
 *         HF_E_INVAL    another call of this owner is under way, or a client has
 *                       no background thread, or runs this in a callback:
 *                       nothing was done
 *         HF_E_FORKED   nothing was done
 *         HF_E_QUORUM   too few answered. Each goes on in the background, or
 *                       ends with its TTL, as by hf_lock_release */
HF_API hf_status hf_quorum_release(struct hf_quorum *quorum, int64_t owner,
                                   struct hf_error *err);

/* hf_quorum_acquire_async, hf_quorum_release_async - as the calls of those names;
 *   `done` as of hf_lock_acquire_async, whose rules for the owner hold here, too.
 *   It runs where callbacks of one of the clients run.
 * hf_quorum_cancel - ends the owner's acquire that is under way, if there is
 *   one, with HF_CANCELLED. Any thread. */
HF_API hf_status hf_quorum_acquire_async(
    struct hf_quorum *quorum, const struct hf_acquire_options *options,
    hf_done *done, void *ctx) HF_MUST_CHECK;
HF_API hf_status hf_quorum_release_async(struct hf_quorum *quorum,
                                         int64_t owner, hf_done *done,
                                         void *ctx) HF_MUST_CHECK;
HF_API void hf_quorum_cancel(struct hf_quorum *quorum, int64_t owner);

/* hf_quorum_token   - the fencing token of a hold, if the members are fenced locks or
 *   have HF_WITH_TOKEN: greater than the token of each earlier hold of this quorum,
 *   whichever majority held it. 0: the owner holds nothing, or there are no tokens. A
 *   lost hold keeps its token until it is released. Do not use hf_lock_token of a
 *   member: it counts one server's grants. docs/quorum.md says what the servers must
 *   keep. No I/O.
 * hf_quorum_safe_ms - for how long it is certain to be ours: the least of the
 *   greatest hf_lock_safe_ms that make a quorum, each with its margin for drift
 *   taken off. <= 0: do not touch what it protects. INT64_MIN: the owner does
 *   not hold it, or it is lost. No I/O.
 * hf_quorum_member  - the one number `index`, from 0, in the order given. NULL:
 *   there are not as many. The handle is borrowed, and valid as long as the
 *   quorum. */
HF_API int64_t hf_quorum_token(struct hf_quorum *quorum, int64_t owner);
HF_API int64_t hf_quorum_safe_ms(struct hf_quorum *quorum, int64_t owner);
HF_API struct hf_lock *hf_quorum_member(const struct hf_quorum *quorum,
                                        size_t index);

#ifdef __cplusplus
}
#endif
#endif
