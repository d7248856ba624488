/* What semaphores and latches count, and nobody owns: operations that change it.
 * Private to lock/. */
#ifndef HF_COUNT_H
#define HF_COUNT_H

#include "lock/records.h"

/* How long the server keeps what it has answered to a question (COUNT-1): far
 * longer than a question is asked again. */
#define ANSWER_KEPT_MS 600000

/* hf_count_forget - op->hold's question is answered, and was asked once only:
 *                   the server need not keep that answer. It is deleted with
 *                   others, soon; nobody waits for it. */
void hf_count_forget(struct hf_op *op);

#endif
