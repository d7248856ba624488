/* Fencing tokens: what a lock has given out. Part of holdfast (lock.h); the token
 * of one's own hold is hf_lock_token. How tokens protect, and what checks them:
 * docs/fencing.md.
 *
 * Threads, errors, statuses: as in semaphore.h. HF_E_INVAL: the lock has no tokens
 * (it is neither of HF_KIND_FENCED nor HF_WITH_TOKEN). HF_E_SERVER: also if the counter
 * does not hold a whole number from 0 to 2^63 - 1.
 *
 * Source: WIRE 10. */
#ifndef HF_TOKEN_H
#define HF_TOKEN_H

#include "lock/lock.h"

#ifdef __cplusplus
extern "C" {
#endif

/* hf_token_latest - the greatest token of this name so far, to whomever, here or
 *   elsewhere; as the server counts, whether the lock is held or not. 0: none
 *   yet. A holder with a smaller one is late. It may be greater a moment later:
 *   to look and then to write protects nothing; the resource must compare. */
HF_API hf_status hf_token_latest(struct hf_lock *lock, int64_t *out,
                                 struct hf_error *err) HF_MUST_CHECK;

/* hf_token_latest_async - likewise, without blocking: `out` must live until
 *   `done` is called. */
HF_API hf_status hf_token_latest_async(struct hf_lock *lock, int64_t *out,
                                       hf_done *done, void *ctx) HF_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
