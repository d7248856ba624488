/* Which of many names are locks that are held: asked as `status` asks, many at a
 * time. */
#ifndef CLI_LS_LOOK_H
#define CLI_LS_LOOK_H

#include "cli/ls/list.h"
#include "cli/ls/scan.h"

struct ls_look;

/* ls_look_new  - asks through this client, and puts locks on the list. Both are
 *   borrowed. NULL: no memory. ls_look_free takes NULL.
 * ls_look_at   - all names of the last page. A hash that is no lock is passed
 *   over. If a server does not answer, or is down or busy until the request
 *   timeout, its walk is ended (ls_scan_error). HF_E_NOMEM, HF_E_LIMIT.
 * ls_look_refused - how many hashes a server did not let us look into; the first
 *   one's error is *why. */
struct ls_look *ls_look_new(struct hf_client *client, struct ls_list *list);
void ls_look_free(struct ls_look *look);
hf_status ls_look_at(struct ls_look *look, struct ls_scan *scan);
uint64_t ls_look_refused(const struct ls_look *look,
                         const struct hf_error **why);

#endif
