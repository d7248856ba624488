/* Reads who waits for the locks of a list.
 *
 * A fair lock has its waiters in a list on the server. Waiters of the other kinds subscribe to
 * the channel of the lock: the server reports how many connections do. Each client has one
 * subscription to a channel, however many of its calls wait. Waiters of a spin lock and of a
 * value lock poll, and cannot be counted. */
#ifndef CLI_LS_WAITERS_H
#define CLI_LS_WAITERS_H

#include "cli/base/requests.h"
#include "cli/ls/list.h"

/* The places that are read of one queue. */
#define LS_PLACES_MAX 100

struct ls_waiters {
    struct ls_list *list;       /* sorted, and without duplicates */
    struct cli_requests *requests;
    bool is_cluster;
    size_t next_lock;           /* the first lock that was not queried */

    uint64_t unknown_locks;      /* locks whose waiters could not be read */
    struct hf_error first_error; /* of the first of them */
};

/* ls_waiters_next - reads the waiters of the next locks of the list, a page of them, with all
 *   requests in one batch. `next_lock` is moved; at the end of the list nothing is done. *cost
 *   receives the cost of the requests, as a number of keys of a SCAN. HF_E_NOMEM. */
hf_status ls_waiters_next(struct ls_waiters *waiters, int64_t *cost);

#endif
