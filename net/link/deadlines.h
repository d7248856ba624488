/* Deadlines of many requests. They mostly come in order, for most have the same
 * timeout: those stand in one queue with one timer, and cost a few stores. A
 * deadline out of order has a timer of its own. Private to net/. All
 * [locked] */
#ifndef HF_DEADLINES_H
#define HF_DEADLINES_H

#include "net/link/request.h"
#include "net/net.h"

struct hf_deadlines {
    struct hf_loop *loop;
    struct hf_list queue;         /* of requests, the first due first */
    struct hf_timer timer;        /* no later than that */
    /* The deadline of this request has passed; it is forgotten. `late` may add
     * and forget others, and free it. */
    void (*late)(struct hf_request *request);
};

/* hf_deadlines_init   - none.
 * hf_deadlines_fini   - none is left in the queue.
 * hf_deadlines_add    - HF_NEVER: it has none, and may be forgotten all the
 *                       same. For a deadline that has passed `late` follows in
 *                       the next turn.
 * hf_deadlines_forget - also a request that was late, or had no deadline. */
void hf_deadlines_init(struct hf_deadlines *d, struct hf_loop *loop,
                       void (*late)(struct hf_request *request));
void hf_deadlines_fini(struct hf_deadlines *d);
void hf_deadlines_add(struct hf_deadlines *d, struct hf_request *request,
                      int64_t deadline_ms);
void hf_deadlines_forget(struct hf_deadlines *d, struct hf_request *request);

#endif
