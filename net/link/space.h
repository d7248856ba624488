/* A queue for space in the output of a connection, in order of arrival, with urgent waiters
 * first. Private to net/. All functions: [locked] */
#ifndef HF_SPACE_H
#define HF_SPACE_H

#include "resp/base.h"

struct hf_conn;
struct hf_link;

/* A command that waits until the output of a full link has space. It is a member of the
 * object that will send the command.
 *
 * [locked] `on_ready` is called once, with
 *   HF_OK         there is space for `bytes` until `on_ready` returns: submit the command now
 *   HF_E_CLOSED   the link is being freed
 *   other         the link was refused: see hf_link_error
 * It may add the waiter again, or free it. */
struct hf_space_waiter {
    /* Set by the owner. */
    void (*on_ready)(struct hf_space_waiter *waiter, hf_status status);
    bool is_urgent;             /* is served before all that are not urgent */
    /* Used by the link only. */
    struct hf_list node;
    struct hf_link *link;
    size_t bytes;
};

struct hf_space_queue {
    struct hf_list waiters;
    struct hf_space_waiter end_marker; /* marks the end of those that are served now */
};

/* hf_space_queue_init - begins with an empty queue. */
void hf_space_queue_init(struct hf_space_queue *q);

/* hf_space_queue_add - adds the waiter after all that are as urgent. */
void hf_space_queue_add(struct hf_space_queue *q,
                        struct hf_space_waiter *waiter);

/* hf_space_queue_serve - calls `on_ready` of the first waiter while there is space for it. A
 *   waiter that is added meanwhile is served by the next call. Must not be called from
 *   `on_ready`. */
void hf_space_queue_serve(struct hf_space_queue *q, const struct hf_conn *conn);

/* hf_space_queue_fail - calls `on_ready` with this error for each waiter that is in the queue
 *   now. Must not be called from `on_ready`. */
void hf_space_queue_fail(struct hf_space_queue *q, hf_status status);

/* hf_space_queue_is_empty - returns whether the queue has no waiter. */
static inline bool hf_space_queue_is_empty(const struct hf_space_queue *q)
{
    return hf_list_is_empty(&q->waiters);
}

#endif
