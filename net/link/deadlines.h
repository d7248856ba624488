/* The deadlines of many requests. Most requests have the same timeout, so their deadlines
 * are in order: these are in one queue with one timer, and cost a few stores each. A deadline
 * that is out of order has its own timer. Private to net/. All functions: [locked] */
#ifndef HF_DEADLINES_H
#define HF_DEADLINES_H

#include "net/link/request.h"
#include "net/net.h"

struct hf_deadlines {
    struct hf_loop *loop;
    struct hf_list queue;         /* of requests, the earliest deadline first */
    struct hf_timer queue_timer;  /* fires at that deadline or before */
    /* Called when the deadline of a request has passed; the request was removed before.
     * `on_deadline_passed` may add and remove other requests, and free this one. */
    void (*on_deadline_passed)(struct hf_request *request);
};

/* hf_deadlines_init - begins without requests. */
void hf_deadlines_init(struct hf_deadlines *d, struct hf_loop *loop,
                       void (*late)(struct hf_request *request));

/* hf_deadlines_fini - ends it. The queue must be empty. */
void hf_deadlines_fini(struct hf_deadlines *d);

/* hf_deadlines_add - adds a request. HF_NEVER: it has no deadline. If the deadline has
 *   passed, `on_deadline_passed` is called in the next turn. */
void hf_deadlines_add(struct hf_deadlines *d, struct hf_request *request,
                      int64_t deadline_ms);

/* hf_deadlines_forget - removes a request. Nothing happens if it was late, or was added with
 *   HF_NEVER. */
void hf_deadlines_forget(struct hf_deadlines *d, struct hf_request *request);

#endif
