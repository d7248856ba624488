/* What semaphores and latches count, and nobody owns: operations that change it.
 * Private to lock/. */
#ifndef HF_COUNT_H
#define HF_COUNT_H

#include "lock/record/records.h"

/* How long the server keeps its answer to a request that the client may send again
 * (COUNT-1): 30 days, longer than any outage that a process waits for. The client
 * deletes the answer when it has received it; only a client that died leaves one. */
#define ANSWER_KEPT_MS (INT64_C(30) * 24 * 3600 * 1000)
/* A request is sent again for half of that, from the first time on. The other half is
 * for a server that executes it late. */
#define ASKED_AGAIN_MS (ANSWER_KEPT_MS / 2)
/* How long it keeps the answer to a request that nobody sends any more, but of which a
 * copy may still be on its way over an older connection. */
#define LATE_COPY_MS 600000

/* hf_count_forget - the client has received the answer to op->hold's request, so the
 *                   server need not keep it. It is deleted with others, soon; if a copy
 *                   of the request may still be on its way, it ends after
 *                   LATE_COPY_MS. No caller waits for it. */
void hf_count_forget(struct hf_op *op);

#endif
