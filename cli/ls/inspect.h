/* Asks of many names, as `status` does of one, by the library's script. */
#ifndef CLI_LS_INSPECT_H
#define CLI_LS_INSPECT_H

#include "cli/ls/page.h"

struct ls_inspection;

/* ls_inspection_new - of locks of this kind: HF_KIND_PLAIN, for all that are
 *   hashes, or HF_KIND_PERMIT. `looking` is borrowed. NULL: no memory.
 * ls_inspection_free - takes NULL.
 * ls_inspection_ask - one name, of this source. Puts it on the list, if it is
 *   held. `total` (HF_KIND_PERMIT): the permits that are available and out. A hash that is no lock is passed over. If a server does not
 *   answer, or is down or busy until the request timeout, its walk is ended.
 * ls_inspection_await - until all are answered. */
struct ls_inspection *ls_inspection_new(struct ls_looking *looking,
                                        enum hf_lock_kind kind);
void ls_inspection_free(struct ls_inspection *inspection);
void ls_inspection_ask(struct ls_inspection *inspection, uint32_t source,
                       const char *name, size_t len, int64_t total);
void ls_inspection_await(struct ls_inspection *inspection);

#endif
