/* A walk through the names of all keys of some types that servers hold, page by
 * page.
 *
 *     status = ls_scan_open(&scan, loop, url, seeds, &filter, &err);
 *     while (status == HF_OK && ls_scan_open_count(scan) > 0)
 *         status = ls_scan_next(scan, 1000);     and ls_scan_names
 *
 * Each server has a walk for each type, a source of names, which goes on while
 * another fails: SCAN knows one type at a time. What was there all along comes at
 * least once, perhaps more often.
 *
 * Rules
 * SCAN-1  A cursor is good only on the server that gave it. If another answers
 *         in its place, that walk has failed.
 * SCAN-2  A connection that was lost meanwhile may have been a restart, after
 *         which an old cursor misses keys: scan->lost says so.
 * SCAN-3  A page that is too large to read, for keys may have names of any length, is
 *         requested again with fewer keys, down to one. */
#ifndef CLI_LS_SCAN_H
#define CLI_LS_SCAN_H

#include <stdbool.h>

#include "cli/ls/requests.h"
#include "net/base/url.h"

struct ls_scan;

enum ls_type { LS_HASH, LS_ZSET, LS_STRING, LS_LIST, LS_TYPES };

/* What is looked for. */
struct ls_filter {
    const char *pattern;        /* as SCAN MATCH takes it; NULL: every name */
    unsigned types;             /* 1 << LS_HASH, ... */
    bool has_queues;            /* LS_LIST: queues of fair locks */
};

/* The sorted set of a semaphore's permits has the semaphore's name, and this
 * behind it. The walk names no other sorted sets, and the pattern is not applied
 * to them. Source: WIRE 16. */
#define LS_PERMITS_SUFFIX ":timeout"

/* The queue of a fair lock is a list, and has this before the lock's name. The walk
 * names no other lists, and the pattern is not applied to them. Source: WIRE 11. */
#define LS_QUEUE_PREFIX "redisson_lock_queue:"

/* A name, lent until the next call of ls_scan_next. */
struct ls_name {
    const char *ptr;
    size_t len;
    uint32_t source;            /* whose walk it is of */
    enum ls_type type;
};

/* ls_scan_open - finds the servers. `filter` is borrowed. *err is filled, and *out
 *   is set in any case, to NULL or for ls_scan_free. HF_E_NOMEM, HF_E_CONNECT,
 *   HF_E_SERVER (also: the URL of one server names a node of a cluster), ...
 * ls_scan_free - takes NULL.
 * ls_scan_next - of each walk that is open, one page more of about `count` keys.
 *   A failure of one is told by ls_scan_error. HF_E_NOMEM.
 * ls_scan_fail - ends one walk, for a reason that the caller has. */
hf_status ls_scan_open(struct ls_scan **out, struct hf_loop *loop,
                       const struct hf_url *url, const struct hf_seeds *seeds,
                       const struct ls_filter *filter, struct hf_error *err);
void ls_scan_free(struct ls_scan *scan);
hf_status ls_scan_next(struct ls_scan *scan, int count);
void ls_scan_fail(struct ls_scan *scan, uint32_t source,
                  const struct hf_error *why);

/* ls_scan_open_count - how many walks have not ended.
 * ls_scan_names    - the last page's, of all walks; *count of them.
 * ls_scan_requests - for further questions to these servers.
 * ls_scan_cost     - what the last page, of `size` keys, cost the server that had
 *   most to do, as so many keys of a SCAN: what looking into its names takes
 *   included.
 * ls_scan_servers  - how many there are. ls_scan_count - walks.
 * ls_scan_error    - why a walk has failed; NULL: it has not.
 * ls_scan_lost     - what was lost, and found again (SCAN-2); NULL: nothing. */
uint32_t ls_scan_open_count(const struct ls_scan *scan);
const struct ls_name *ls_scan_names(const struct ls_scan *scan, size_t *count);
struct ls_requests *ls_scan_requests(struct ls_scan *scan);
int64_t ls_scan_cost(const struct ls_scan *scan, int64_t size);
uint32_t ls_scan_servers(const struct ls_scan *scan);
uint32_t ls_scan_count(const struct ls_scan *scan);
const struct hf_error *ls_scan_error(const struct ls_scan *scan,
                                     uint32_t source);
const char *ls_scan_lost(const struct ls_scan *scan);

#endif
