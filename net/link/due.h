/* Deadlines of many requests. They mostly come in order, for most have the same
 * timeout: those stand in one line with one timer, and cost a few stores. One out
 * of order has a timer of its own. Private to net/. All [locked] */
#ifndef HF_DUE_H
#define HF_DUE_H

#include "net/link/request.h"
#include "net/net.h"

struct hf_due {
    struct hf_loop *loop;
    struct hf_list line;          /* of requests, the first due first */
    struct hf_timer timer;        /* no later than that */
    /* The deadline of this one has passed; it is in here no more. May add and
     * forget others, and free it. */
    void (*late)(struct hf_request *request);
};

/* hf_due_init   - hf_due_fini: nobody is in line.
 * hf_due_add    - HF_NEVER: it has none, and hf_due_forget may be called for it
 *                 all the same. One that has passed is told in the next turn.
 * hf_due_forget - takes one that was told, or never had one. */
void hf_due_init(struct hf_due *due, struct hf_loop *loop,
                 void (*late)(struct hf_request *request));
void hf_due_fini(struct hf_due *due);
void hf_due_add(struct hf_due *due, struct hf_request *request,
                int64_t deadline_ms);
void hf_due_forget(struct hf_due *due, struct hf_request *request);

#endif
