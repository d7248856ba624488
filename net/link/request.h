/* A request on a link. */
#ifndef HF_REQUEST_H
#define HF_REQUEST_H

#include "net/net.h"

struct hf_deadlines;
struct hf_link;

/* A request: a field of what asked. Ours from submit until `done` is called,
 * the owner's before and after; `done` may free or submit it again. */
struct hf_request {
    /* Set by the owner. [locked] `reply` is valid until `done` returns and
     * only with HF_ANSWERED. */
    void (*done)(struct hf_request *request, enum hf_outcome outcome,
                 struct hf_resp_value reply);
    bool is_acknowledged_by_push;   /* SUBSCRIBE and its kin (RESP3 "Push") */
    int64_t sent_ms;            /* when its first byte was about to be written;
                                   HF_NEVER: not yet */
    uint64_t stream;            /* on which it was sent: of two requests on one
                                   stream, the server executes the one that was
                                   sent first before the other, or never. Each
                                   connection has a number of its own; it keeps
                                   its predecessor's if the server confirmed that
                                   this one is gone. Never 0 */
    /* The link's own. */
    struct hf_deadlines *deadlines; /* where its deadline is: */
    struct hf_list deadline_node;   /* in the queue, or */
    struct hf_timer timer;          /* of its own */
    int64_t deadline_ms;
    struct hf_link *link;
    uint64_t place;             /* in the order of all requests of the link */
};

#endif
