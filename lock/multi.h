/* Several locks taken as one: all of them or none. Members may be of any kind,
 * of any names, and of several clients, that is, of several servers.
 *
 *     struct hf_lock *both[] = {from_account, to_account};
 *     struct hf_multi *multi;
 *
 *     if (hf_multi_new(&multi, both, 2, &error) < 0 ||
 *         hf_multi_acquire(multi, NULL, &error) < 0)
 *         return give_up(error.text);
 *     ...
 *     hf_multi_release(multi, hf_owner_thread(), &error);
 *     hf_multi_free(multi);
 *
 * There is nothing on a server but the members, each held as if it had been
 * taken by itself: Redisson's MultiLock over the same locks excludes it. What
 * is promised of a lock, is of each member.
 *
 * Order: members are taken by name, in the order of its bytes, whatever order
 * the caller gives; locks of one name on several servers in the order given. So
 * multi-locks never wait for each other in a circle. For callers that take single
 * locks in another order, and for multi-locks that give the servers of one name in
 * opposite orders, there is a bound: while some members are held, the others are
 * waited for 1.5 to 3 s (random), or a quarter of the lease, if that is less. Then
 * all are given back; the member that was missing is waited for while none is
 * held, and the others are tried.
 *
 * Members of different names may share a server. Two members of one name, of two
 * clients, must be on two servers: on one server they would be one key, for which
 * the owner would wait for itself, or keys of two databases, which one fault takes
 * together. So an acquire compares the run_id that each server sent in its
 * handshake, and returns HF_E_INVAL if they are equal, unless allow_same_server is
 * set: then two databases are two locks, and members that are one key are never
 * granted. Servers that send no run_id are not compared.
 *
 * Threads, callbacks, errors: as lock.h. Members of several clients should have
 * loops that somebody drives, such as a background thread: while we wait for
 * one, the others must be renewed.
 *
 * Source: WIRE 13. */
#ifndef HF_MULTI_H
#define HF_MULTI_H

#include "lock/lock.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A handle on one set of locks. Any number of owners may use it. */
struct hf_multi;

#define HF_MULTI_MAX 64

/* hf_multi_new  - of `count` locks, 1 to HF_MULTI_MAX, which the caller may free
 *   before it. HF_E_INVAL: more, or none; or two of one name and client, be it
 *   of two kinds: its owner would wait for itself. HF_E_NOMEM, HF_E_FORKED. No
 *   I/O.
 * hf_multi_free - gives the handle up; takes NULL. Nothing may be held or under
 *   way by it, but for what a client that was closed holds still: nobody is told
 *   of that any more. Before its clients are freed, and not from a callback: it waits
 *   until callbacks that have begun have returned (without a background thread,
 *   it calls them). */
HF_API hf_status hf_multi_new(struct hf_multi **out,
                              struct hf_lock *const *locks, size_t count,
                              struct hf_error *err) HF_MUST_CHECK;
HF_API void hf_multi_free(struct hf_multi *multi);

/* hf_multi_acquire - takes every member; or every member once more, if all are
 *   reentrant.
 *   options   NULL: as of hf_lock_acquire. wait_ms is for all together; with 0
 *             each is tried once. lease_ms and max_hold_ms are each member's,
 *             and count from its own grant; with a lease_ms, at least half of
 *             it is left when this returns. The cancel must be of the client
 *             that all members have. on_wait and on_renewed are called for each
 *             member. on_lost is called once, with the first member that is lost;
 *             if clients have threads, perhaps before `done`. The other members
 *             are renewed until they are released. After max_hold_ms no member
 *             is renewed: each ends with the release, or by its TTL. A member
 *             that the owner already held by itself calls the on_lost that was
 *             given there. A member that the owner takes once more by itself, and
 *             keeps when it has released the multi-lock, calls nobody then
 * Returns HF_OK         all are held; release as often as acquired
 *         HF_TIMEOUT    wait_ms is over, or a member was not to be had at once.
 *                       Also if wait_ms cut off the request of a member: its
 *                       silence is an error only if it lasted for half of wait_ms
 *         HF_E_INVAL    the options; two members of one name on one server;
 *                       keep_unreplicated; a cancel of another
 *                       client; or another call of this owner on this multi-lock
 *                       is under way
 *         HF_E_NOREPLY  as of hf_lock_acquire; or again and again a member was
 *                       lost, or its lease was half over, before the last one
 *                       was granted
 *         else          as hf_lock_acquire of the member that the error names
 *   Unless it is HF_OK, each member that had been taken was released; should no
 *   answer come to that, in the background. hf_client_close waits until a call
 *   has given back what it had taken of that client. */
HF_API hf_status hf_multi_acquire(struct hf_multi *multi,
                                  const struct hf_acquire_options *options,
                                  struct hf_error *err) HF_MUST_CHECK;

/* hf_multi_release - gives up one acquisition of each member, the last taken
 *   first. Whatever it returns, but where "nothing was done", the owner has one
 *   less of each.
 * Returns HF_OK         one less of each
 *         HF_LOST       likewise, and at least one member, which the error
 *                       names, had been lost
 *         HF_NOT_OWNER  it has none: nothing was done
 *         HF_E_INVAL    another call of this owner is under way: nothing was
 *                       done
 *         HF_E_FORKED   nothing was done
 *         else          as hf_lock_release of the member that the error names.
 *                       What a client that was closed still holds ends with its
 *                       TTL */
HF_API hf_status hf_multi_release(struct hf_multi *multi, int64_t owner,
                                  struct hf_error *err);

/* hf_multi_acquire_async, hf_multi_release_async - as the calls of those names;
 *   `done` as of hf_lock_acquire_async, whose rules for the owner hold here, too.
 *   It runs where callbacks of the client of the last member asked run. */
HF_API hf_status hf_multi_acquire_async(struct hf_multi *multi,
                                        const struct hf_acquire_options *options,
                                        hf_done *done, void *ctx) HF_MUST_CHECK;
HF_API hf_status hf_multi_release_async(struct hf_multi *multi, int64_t owner,
                                        hf_done *done, void *ctx) HF_MUST_CHECK;

/* hf_multi_safe_ms - for how long all are certain to be ours: the least of
 *   hf_lock_safe_ms. INT64_MIN: the owner does not hold it, or a member is lost.
 *   No I/O.
 * hf_multi_member  - the one that is taken as number `index`, from 0: for its
 *   name or token. NULL: there are not as many. The handle is borrowed, and
 *   valid as long as the multi-lock. */
HF_API int64_t hf_multi_safe_ms(struct hf_multi *multi, int64_t owner);
HF_API struct hf_lock *hf_multi_member(const struct hf_multi *multi,
                                       size_t index);

#ifdef __cplusplus
}
#endif
#endif
