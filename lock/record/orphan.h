/* Orphans: grants that the server may have made, and that this client does not
 * hold. Private to lock/. */
#ifndef HF_ORPHAN_H
#define HF_ORPHAN_H

#include "lock/record/records.h"

/* hf_release_orphan - releases owner `text` on `lock` in the background; its
 *                     lease was `lease_ms`.
 *                     If it waited, it leaves the queue of its kind, too, where
 *                     it had `place_ms`.
 *                     memory  NULL, or where that is which was taken before
 *                     (ORPHAN-5): NULL after, if it is used
 * hf_orphan_new     - an operation in the background about `text`, and with its
 *                     key behind it, not started; `memory` likewise. NULL: too
 *                     many (ORPHAN-4), or no memory.
 * hf_orphan_text    - that text.
 * hf_release_ghost  - an acquire was refused, as `answer` says: releases the
 *                     holder if it has our UUID and this client has no record
 *                     of it (ORPHAN-3). */
void hf_release_orphan(struct hf_lock *lock, struct hf_bytes text,
                       int64_t lease_ms, int64_t place_ms,
                       struct hf_op **memory);
struct hf_op *hf_orphan_new(struct hf_lock *lock, const struct hf_verb *of,
                            struct hf_bytes text,
                            struct hf_op **memory) HF_MUST_CHECK;
struct hf_bytes hf_orphan_text(const struct hf_op *op);
void hf_release_ghost(struct hf_lock *lock, const struct hf_answer *answer);

#endif
