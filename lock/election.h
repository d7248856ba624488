/* Leader election: of many processes that want the same work, one does it, and
 * another goes on when that one dies. Part of holdfast (lock.h).
 *
 *     struct hf_election_options options = {.on_elected = begin_work,
 *                                           .on_deposed = end_work};
 *     struct hf_election *election;
 *
 *     if (hf_election_join(&election, lock, &options, &error) < 0)
 *         return give_up(error.text);
 *     ...
 *     hf_election_leave(election, &error);
 *
 * The leader is the holder of the lock: there is nothing else on the server, and
 * whatever takes that lock, here or in Redisson, excludes the leader. A
 * candidate waits for the lock, leads while it holds it, renewed by the
 * watchdog, and waits again when it was lost, until it leaves.
 *
 * What is promised of the lock is promised of the leader: two never believe at
 * one instant that they lead, by the assumptions of docs/guarantees.md, and
 * on_deposed comes before another can be elected. What the leader writes
 * elsewhere is safe from one that was stopped meanwhile if it carries a fencing
 * token: let the lock be of HF_KIND_FENCED, and see docs/fencing.md.
 *
 * Threads, callbacks, errors: as lock.h. */
#ifndef HF_ELECTION_H
#define HF_ELECTION_H

#include "lock/lock.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One candidate. */
struct hf_election;

/* Callbacks; any may be NULL. They come one at a time, of one election in the
 * order in which things happened, and none after hf_election_leave has returned.
 * on_elected  we lead. hf_election_safe_ms says for how long that is certain
 * on_deposed  we do not lead any more, and somebody else will: `reason` as of
 *             on_lost (lock.h), and as early. We stand again when this returns
 * on_trouble  the server cannot be asked: `err` says why. We stand again after
 *             a pause, 1 s at first and 30 s at most; it is 1 s again after the
 *             server has replied that another holds the lock. HF_E_CLOSED: the client
 *             was closed, and we do not stand any more */
struct hf_election_options {
    void (*on_elected)(void *ctx, struct hf_election *election);
    void (*on_deposed)(void *ctx, struct hf_election *election,
                       enum hf_lost reason);
    void (*on_trouble)(void *ctx, struct hf_election *election,
                       const struct hf_error *err);
    void *ctx;
};

/* hf_election_join - stands for election from now on. The lock is of a kind that
 *   one owner holds alone, else HF_E_INVAL; its handle may be freed before. One
 *   client may have several candidates, each for itself. HF_E_NOMEM,
 *   HF_E_FORKED. No I/O here: a server that is away is on_trouble's.
 * hf_election_leave - stands no more. If we lead, the lock is released, and the
 *   next one is elected at once; end your work before, for on_deposed is not
 *   called. Frees the election, whatever it returns; takes NULL. Before
 *   hf_client_free, and not from a callback: it waits until those that have
 *   begun have returned (without a background thread, it calls them).
 * Returns HF_OK    not the leader any more
 *         HF_LOST  we led, and the lock had been lost without our knowledge
 *         else     as hf_lock_release: the lock ends with its TTL at the latest */
HF_API hf_status hf_election_join(struct hf_election **out,
                                  struct hf_lock *lock,
                                  const struct hf_election_options *options,
                                  struct hf_error *err) HF_MUST_CHECK;
HF_API hf_status hf_election_leave(struct hf_election *election,
                                   struct hf_error *err);

/* hf_election_safe_ms - for how long we are certain to lead: as hf_lock_safe_ms.
 *   INT64_MIN: we do not. No I/O.
 * hf_election_owner   - the owner by whose number the lock is held: for
 *   hf_lock_token, hf_lock_owner_text. */
HF_API int64_t hf_election_safe_ms(struct hf_election *election);
HF_API int64_t hf_election_owner(const struct hf_election *election);

#ifdef __cplusplus
}
#endif
#endif
