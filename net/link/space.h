/* Waiting for space in a connection's output: first come, first served, the
 * urgent ones before all others. Private to net/. */
#ifndef HF_SPACE_H
#define HF_SPACE_H

#include "resp/base.h"

struct hf_conn;
struct hf_link;

/* Waits until a full link takes more: a field of what is to be sent.
 *
 * [locked] `ready` is called once. HF_OK: there is space for so many bytes,
 * until it returns: submit now. HF_E_CLOSED: the link is being freed. Else the
 * link was refused, see hf_link_error. It may wait again, or be freed. */
struct hf_space_waiter {
    /* Set by the owner. */
    void (*ready)(struct hf_space_waiter *waiter, hf_status status);
    bool is_urgent;             /* goes before all that are not */
    /* The link's own. */
    struct hf_list node;
    struct hf_link *link;
    size_t bytes;
};

struct hf_space_queue {
    struct hf_list waiting;
    struct hf_space_waiter stop;  /* in the queue while some are served */
};

/* hf_space_queue_init  - nobody waits.
 * hf_space_queue_add   - behind all that are as urgent.
 * hf_space_queue_serve - calls `ready` while there is space for the first of
 *                        those that wait now. One that waits again has its turn
 *                        next time.
 * hf_space_queue_fail  - calls `ready` with this failure, for each that waits
 *                        now. Like hf_space_queue_serve, not from within
 *                        `ready`.
 * hf_space_queue_is_empty - does nobody wait? */
void hf_space_queue_init(struct hf_space_queue *q);
void hf_space_queue_add(struct hf_space_queue *q,
                        struct hf_space_waiter *waiter);
void hf_space_queue_serve(struct hf_space_queue *q, const struct hf_conn *conn);
void hf_space_queue_fail(struct hf_space_queue *q, hf_status status);

static inline bool hf_space_queue_is_empty(const struct hf_space_queue *q)
{
    return hf_list_is_empty(&q->waiting);
}

#endif
