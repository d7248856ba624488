/* Inspects many names, as `status` does one, by the library's script. */
#ifndef CLI_LS_INSPECT_H
#define CLI_LS_INSPECT_H

#include "cli/ls/page.h"

struct ls_inspection;

/* ls_inspection_new - for locks of this kind: HF_KIND_PLAIN, for all that are hashes, or
 *   HF_KIND_PERMIT. `page` is borrowed. NULL: no memory.
 * ls_inspection_free - NULL is allowed.
 * ls_inspection_add - inspects one name of this source, and adds it to the list if it is held.
 *   `total` (HF_KIND_PERMIT): the permits that are available and in use. A hash that is not a lock
 *   is skipped. If a server does not reply, or is down or busy until the request timeout, its walk
 *   ends.
 * ls_inspection_await - waits until all have a reply. */
struct ls_inspection *ls_inspection_new(struct ls_page *page,
                                        enum hf_lock_kind kind);
void ls_inspection_free(struct ls_inspection *inspection);
void ls_inspection_add(struct ls_inspection *inspection, uint32_t source,
                       const char *name, size_t len, int64_t total);
void ls_inspection_await(struct ls_inspection *inspection);

#endif
