/* Fencing tokens: the latest token of a lock. Part of holdfast (lock.h). hf_lock_token
 * returns the token of an owner's own hold. docs/fencing.md explains how tokens protect a
 * resource, and how the resource checks them.
 *
 * Threads, errors, statuses: as in semaphore.h. HF_E_INVAL: the lock has no tokens (it is
 * neither of HF_KIND_FENCED nor HF_WITH_TOKEN). HF_E_SERVER: also if the counter is not
 * an integer from 0 to 2^63 - 1.
 *
 * Source: WIRE 10. */
#ifndef HF_TOKEN_H
#define HF_TOKEN_H

#include "lock/lock.h"

#ifdef __cplusplus
extern "C" {
#endif

/* hf_token_latest - reports the largest token that the server has issued for this name,
 *   to any client, whether or not the lock is held; 0 if it has issued none. A holder
 *   with a smaller token has lost the lock. The value may be outdated when the call
 *   returns, so a check before a write protects nothing: the resource must compare
 *   tokens. */
HF_API hf_status hf_token_latest(struct hf_lock *lock, int64_t *out,
                                 struct hf_error *err) HF_MUST_CHECK;

/* hf_token_latest_async - as hf_token_latest, without blocking. `out` must remain valid
 *   until `done` is called. */
HF_API hf_status hf_token_latest_async(struct hf_lock *lock, int64_t *out,
                                       hf_done *done, void *ctx) HF_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
