/* A walk through the names of all hashes that servers hold, page by page.
 *
 *     status = ls_scan_open(&scan, loop, common, pattern, &err);
 *     while (status == HF_OK && ls_scan_open_count(scan) > 0)
 *         status = ls_scan_next(scan, 1000);     and ls_scan_names
 *
 * Each server has a walk of its own, which goes on while another's fails. What
 * was there all along comes at least once, perhaps more often.
 *
 * Rules
 * SCAN-1  A cursor is good only on the server that gave it. If another answers
 *         in its place, that walk has failed.
 * SCAN-2  A connection that was lost meanwhile may have been a restart, after
 *         which an old cursor misses keys: scan->lost says so. */
#ifndef CLI_LS_SCAN_H
#define CLI_LS_SCAN_H

#include <stdbool.h>

#include "lock/lock.h"
#include "net/base/url.h"

struct ls_scan;

/* A name, lent until the next call of ls_scan_next. */
struct ls_name {
    const char *ptr;
    size_t len;
    uint32_t source;            /* whose walk it is of */
};

/* ls_scan_open - finds the servers. `pattern` is as SCAN MATCH takes it (NULL:
 *   every name), and borrowed. *err is filled, and *out is set in any case, to
 *   NULL or for ls_scan_free. HF_E_NOMEM, HF_E_CONNECT, HF_E_SERVER (also: the
 *   URL of one server names a node of a cluster), ...
 * ls_scan_free - takes NULL.
 * ls_scan_next - of each server whose walk is open, one page more of about
 *   `count` keys. A failure of one is told by ls_scan_error. HF_E_NOMEM.
 * ls_scan_fail - ends one walk, for a reason that the caller has. */
hf_status ls_scan_open(struct ls_scan **out, struct hf_loop *loop,
                       const struct hf_url *url, const struct hf_seeds *seeds,
                       const char *pattern, struct hf_error *err);
void ls_scan_free(struct ls_scan *scan);
hf_status ls_scan_next(struct ls_scan *scan, int count);
void ls_scan_fail(struct ls_scan *scan, uint32_t source,
                  const struct hf_error *why);

/* ls_scan_open_count - how many walks have not ended.
 * ls_scan_names  - the last page's, of all servers; *count of them.
 * ls_scan_busiest - how many of these are of one server, at most.
 * ls_scan_count  - servers. ls_scan_error - why its walk has failed; NULL: it has
 *   not.
 * ls_scan_lost   - what was lost, and found again (SCAN-2); NULL: nothing. */
uint32_t ls_scan_open_count(const struct ls_scan *scan);
const struct ls_name *ls_scan_names(const struct ls_scan *scan, size_t *count);
size_t ls_scan_busiest(const struct ls_scan *scan);
uint32_t ls_scan_count(const struct ls_scan *scan);
const struct hf_error *ls_scan_error(const struct ls_scan *scan,
                                     uint32_t source);
const char *ls_scan_lost(const struct ls_scan *scan);

#endif
