/* A request on a link. */
#ifndef HF_REQUEST_H
#define HF_REQUEST_H

#include "net/net.h"

struct hf_deadlines;
struct hf_link;

/* A request is a member of the object that sends it. It belongs to the link from submit until
 * `done` is called, and to its owner before and after; `done` may free it or submit it
 * again. */
struct hf_request {
    /* Set by the owner. [locked] Called once. `reply` is valid only with HF_ANSWERED, until
     * `done` returns. */
    void (*done)(struct hf_request *request, enum hf_outcome outcome,
                 struct hf_resp_value reply);
    bool is_acknowledged_by_push;   /* SUBSCRIBE and similar commands (RESP3 "Push") */
    int64_t sent_ms;            /* when its first byte was about to be written;
                                   HF_NEVER: not yet */
    uint64_t stream;            /* the stream on which it was sent. Of two requests on one
                                   stream, the server executes the one that was sent first
                                   before the other, or never. Each connection is a stream
                                   of its own, or continues that of its predecessor if the
                                   server confirmed that the predecessor is closed. Never
                                   0 */
    /* Used by the link only. */
    struct hf_deadlines *deadlines; /* contains its deadline: */
    struct hf_list deadline_node;   /* in the queue, or */
    struct hf_timer timer;          /* in its own timer */
    int64_t deadline_ms;
    struct hf_link *link;
    uint64_t number_in_link;    /* its number in the order of all requests of the link */
};

#endif
