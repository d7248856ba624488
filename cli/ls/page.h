/* Functions for all files that classify the names of a page. */
#ifndef CLI_LS_PAGE_H
#define CLI_LS_PAGE_H

#include "cli/ls/list.h"
#include "cli/ls/ls_options.h"
#include "cli/ls/scan.h"

struct ls_page {
    struct hf_client *client;
    struct ls_list *list;
    const struct ls_options *options;
    struct ls_scan *scan;          /* of this page */
    hf_status status;
    uint64_t refused_keys;
    struct hf_error first_refusal; /* the first */
};

/* ls_page_wants   - returns whether that name has this type, and its server still replies.
 * ls_page_add     - adds it to the list, if its kind is requested.
 * ls_page_refused - counts a key that a server did not permit to be read.
 * ls_page_fail    - processes the error of a request about a key of that source. A key of
 *   another type is skipped, because it has changed meanwhile. If a server is unreachable, busy
 *   or loading, its walk ends. */
bool ls_page_wants(const struct ls_page *page,
                   const struct ls_name *name, enum ls_type type);
void ls_page_add(struct ls_page *page, const struct cli_lock *lock);
void ls_page_refused(struct ls_page *page, const struct hf_error *err);
void ls_page_fail(struct ls_page *page, uint32_t source,
                  const struct cli_query *q);

#endif
