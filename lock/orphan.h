/* Orphans: grants that the server may have made, and that this client does not
 * hold. Private to lock/. */
#ifndef HF_ORPHAN_H
#define HF_ORPHAN_H

#include "lock/records.h"

/* hf_release_orphan - releases owner `text` on `lock` in the background; its
 *                     lease was `lease_ms`.
 *                     If it waited, it leaves the queue of its kind, too, where
 *                     it had `place_ms`.
 * hf_release_ghost  - an acquire was refused, as `answer` says: releases the
 *                     holder if it has our UUID and this client has no record
 *                     of it (ORPHAN-3). */
void hf_release_orphan(struct hf_lock *lock, const char *text, size_t len,
                       int64_t lease_ms, int64_t place_ms);
void hf_release_ghost(struct hf_lock *lock, const struct hf_answer *answer);

#endif
