/* Walks through the names of all keys of some types on servers, page by page.
 *
 *     status = ls_scan_open(&scan, loop, url, seeds, &filter, &err);
 *     while (status == HF_OK && ls_scan_open_count(scan) > 0)
 *         status = ls_scan_next(scan, 1000);     and ls_scan_names
 *
 * Each server has a walk for each type, because SCAN selects one type at a time. A walk is a source
 * of names, which continues if another one fails. A key that exists during the whole walk is
 * returned at least once, perhaps more often.
 *
 * Rules
 * SCAN-1  A cursor is valid only on the server that returned it. If another server replies in its
 *         place, that walk has failed.
 * SCAN-2  A connection that was lost meanwhile may have been a restart, after which an old cursor
 *         misses keys: scan->lost has this.
 * SCAN-3  A page that is too large to read, because the names of keys may have any length, is
 *         requested again with fewer keys, down to one. */
#ifndef CLI_LS_SCAN_H
#define CLI_LS_SCAN_H

#include <stdbool.h>

#include "cli/base/requests.h"
#include "net/base/url.h"

struct ls_scan;

enum ls_type { LS_HASH, LS_ZSET, LS_STRING, LS_LIST, LS_TYPES };

/* The requested names and types. */
struct ls_filter {
    const char *pattern;        /* as SCAN MATCH takes it; NULL: every name */
    unsigned types;             /* 1 << LS_HASH, ... */
    bool has_queues;            /* LS_LIST: queues of fair locks */
};

/* The sorted set of a semaphore's permits has the name of the semaphore followed by
 * this. The walk returns no other sorted sets, and the pattern is not applied to them.
 * Source: WIRE 16. */
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

/* ls_scan_open - finds the servers. `filter` is borrowed. *err is filled; *out is always set, to
 *   NULL or to a value for ls_scan_free. HF_E_NOMEM, HF_E_CONNECT, HF_E_SERVER (also: the URL of
 *   one server names a node of a cluster), ...
 * ls_scan_free - NULL is allowed.
 * ls_scan_next - requests the next page, of about `count` keys, of each walk that is open. If one
 *   fails, see ls_scan_error. HF_E_NOMEM.
 * ls_scan_fail - ends one walk, for a reason of the caller. */
hf_status ls_scan_open(struct ls_scan **out, struct hf_loop *loop,
                       const struct hf_url *url, const struct hf_seeds *seeds,
                       const struct ls_filter *filter, struct hf_error *err);
void ls_scan_free(struct ls_scan *scan);
hf_status ls_scan_next(struct ls_scan *scan, int count);
void ls_scan_fail(struct ls_scan *scan, uint32_t source,
                  const struct hf_error *why);

/* ls_scan_open_count - returns how many walks have not ended.
 * ls_scan_names    - returns the names of the last page, of all walks, and *count of them.
 * ls_scan_requests - returns the requests for further commands to these servers.
 * ls_scan_cost     - returns the cost of the last page, of `size` keys, on the server with the
 *   greatest cost, as a number of keys of a SCAN, including the inspection of its names.
 * ls_scan_servers  - returns the number of servers.
 * ls_scan_count    - returns the number of walks.
 * ls_scan_error    - returns why a walk has failed; NULL: it has not.
 * ls_scan_lost     - returns the connection that was lost and restored (SCAN-2); NULL: none. */
uint32_t ls_scan_open_count(const struct ls_scan *scan);
const struct ls_name *ls_scan_names(const struct ls_scan *scan, size_t *count);
struct cli_requests *ls_scan_requests(struct ls_scan *scan);
int64_t ls_scan_cost(const struct ls_scan *scan, int64_t size);
uint32_t ls_scan_servers(const struct ls_scan *scan);
uint32_t ls_scan_count(const struct ls_scan *scan);
const struct hf_error *ls_scan_error(const struct ls_scan *scan,
                                     uint32_t source);
const char *ls_scan_lost(const struct ls_scan *scan);

#endif
