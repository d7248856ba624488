/* Orphaned locks: grants that the server may have made, and of which this client has no
 * hold. Private to lock/. */
#ifndef HF_ORPHAN_H
#define HF_ORPHAN_H

#include "lock/record/records.h"

/* hf_release_orphan - releases owner `text`, which had a lease of `lease_ms`, in the
 *   background. If it waited, its place in the queue, which was kept for `place_ms`, is also
 *   removed.
 *   memory   NULL, or memory that was allocated before (ORPHAN-5); set to NULL if it is used */
void hf_release_orphan(struct hf_lock *lock, struct hf_bytes text,
                       int64_t lease_ms, int64_t place_ms,
                       struct hf_op **memory);

/* hf_orphan_new - creates a background operation about `text`, followed by its key, without
 *   starting it; `memory` as above. NULL: too many (ORPHAN-4), or no memory. */
struct hf_op *hf_orphan_new(struct hf_lock *lock, const struct hf_verb *of,
                            struct hf_bytes text,
                            struct hf_op **memory) HF_MUST_CHECK;

/* hf_orphan_owner_text - returns the text of such an operation. */
struct hf_bytes hf_orphan_owner_text(const struct hf_op *op);

/* hf_release_if_orphan - an acquire was refused because of the holder in `answer`: releases that
 *   holder if it has this client's UUID and the client has no record of it (ORPHAN-3). */
void hf_release_if_orphan(struct hf_lock *lock, const struct hf_answer *answer);

#endif
