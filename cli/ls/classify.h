/* Finds held locks among many names: hashes are inspected as by `status`, sorted sets
 * and strings by their contents. */
#ifndef CLI_LS_CLASSIFY_H
#define CLI_LS_CLASSIFY_H

#include "cli/ls/page.h"

struct ls_classifier;

/* ls_classifier_new  - sends requests through this client, and adds the locks that the options
 *   request to the list. All are borrowed. NULL: no memory. ls_classifier_free - NULL is allowed.
 * ls_classify_page   - classifies all names of the last page. A key that is not a lock is skipped.
 *   If a server does not reply, or is down or busy until the request timeout, its walk ends
 *   (ls_scan_error). HF_E_NOMEM, HF_E_LIMIT.
 * ls_classifier_refused - returns how many keys a server did not permit to be read; *why receives
 *   the error of the first. */
struct ls_classifier *ls_classifier_new(struct hf_client *client, struct ls_list *list,
                                        const struct ls_options *options);
void ls_classifier_free(struct ls_classifier *look);
hf_status ls_classify_page(struct ls_classifier *look, struct ls_scan *scan);
uint64_t ls_classifier_refused(const struct ls_classifier *look,
                               const struct hf_error **why);

#endif
