/* Leader election: one of several candidate processes leads, and another one follows
 * when it fails. Part of holdfast (lock.h).
 *
 *     struct hf_election_options options = HF_ELECTION_OPTIONS_INIT;
 *     struct hf_election *election;
 *
 *     options.on_elected = begin_work;
 *     options.on_deposed = end_work;
 *     if (hf_election_join(&election, lock, &options, &error) < 0)
 *         return fail(error.text);
 *     ...
 *     hf_election_leave(election, &error);
 *
 * The leader is the holder of the lock. An election stores nothing else on the server,
 * so any process that acquires the same lock, here or with Redisson, excludes the
 * leader. A candidate waits for the lock. It leads while it holds the lock, which the
 * watchdog renews. After a loss it waits for the lock again, until it leaves.
 *
 * The leader has the promises of a lock (docs/guarantees.md): two candidates never
 * believe at the same time that they lead, and on_deposed is called before another
 * candidate can be elected. If the leader writes to a resource, a fencing token
 * protects this resource from a leader that was suspended: use a lock of
 * HF_KIND_FENCED (docs/fencing.md).
 *
 * Threads, callbacks, errors: as in lock.h. */
#ifndef HF_ELECTION_H
#define HF_ELECTION_H

#include "lock/lock.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One candidate. */
struct hf_election;

/* Callbacks of one candidate. Each may be NULL. They are called one at a time and in
 * order, and never after hf_election_leave has returned.
 * on_elected  This candidate leads. hf_election_safe_ms returns for how long.
 * on_deposed  This candidate no longer leads, and another one can be elected.
 *             `reason` and the time of the call are those of on_lost (lock.h). After
 *             the callback returns, the candidate waits for the lock again.
 * on_trouble  A request for the lock failed, and `err` has the cause. The candidate
 *             retries after a pause that grows from 1 s to 30 s. The pause is 1 s again
 *             after the server replied that another owner holds the lock. After
 *             HF_E_CLOSED (the client was closed) the candidate does not retry. */
struct hf_election_options {
    size_t size; /* set by HF_ELECTION_OPTIONS_INIT: net/version.h */
    void (*on_elected)(void *ctx, struct hf_election *election);
    void (*on_deposed)(void *ctx, struct hf_election *election,
                       enum hf_lost reason);
    void (*on_trouble)(void *ctx, struct hf_election *election,
                       const struct hf_error *err);
    void *ctx;
};
#define HF_ELECTION_OPTIONS_INIT {.size = sizeof(struct hf_election_options)}

/* hf_election_join - adds a candidate. The lock must be of a kind that has one holder
 *   at a time; otherwise, or if the options were not initialised, it returns HF_E_INVAL.
 *   The handle of the lock may be freed before the election. A client may have several
 *   candidates, which compete with each other. It returns HF_E_NOMEM, HF_E_FORKED. It
 *   performs no I/O: an unreachable server is reported by on_trouble. */
HF_API hf_status hf_election_join(struct hf_election **out,
                                  struct hf_lock *lock,
                                  const struct hf_election_options *options,
                                  struct hf_error *err) HF_MUST_CHECK;

/* hf_election_leave - removes the candidate and frees the election, whatever it
 *   returns. NULL is allowed. If the candidate leads, its lock is released and another
 *   candidate is elected at once: end the leader's work before this call, because
 *   on_deposed is not called. A pending request for the lock is cancelled; if the server
 *   grants it later, the client releases the lock in the background. Call it before
 *   hf_client_free, and not from a callback: it waits until callbacks that have begun have
 *   returned (without a background thread, it calls them).
 * Returns HF_OK    the candidate does not lead
 *         HF_LOST  the candidate led, and its lock had been lost unnoticed
 *         else     as hf_lock_release; the lock expires with its TTL at the latest */
HF_API hf_status hf_election_leave(struct hf_election *election,
                                   struct hf_error *err);

/* hf_election_safe_ms - returns for how many ms this candidate is certain to lead, as
 *   hf_lock_safe_ms; INT64_MIN if it does not lead. No I/O. */
HF_API int64_t hf_election_safe_ms(struct hf_election *election);

/* hf_election_owner - returns the owner number with which this candidate holds the lock, for
 *   hf_lock_token and hf_lock_owner_text. */
HF_API int64_t hf_election_owner(const struct hf_election *election);

#ifdef __cplusplus
}
#endif
#endif
