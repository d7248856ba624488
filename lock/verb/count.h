/* Operations that change the count of a semaphore or latch, which has no owner. Private to
 * lock/. */
#ifndef HF_COUNT_H
#define HF_COUNT_H

#include "lock/record/records.h"

/* How long the server keeps its reply to a request that the client may repeat (COUNT-1): 30
 * days, longer than any outage that a process waits for. The client deletes the stored reply
 * when it has received it; only a client that died leaves one. */
#define STORED_REPLY_TTL_MS (INT64_C(30) * 24 * 3600 * 1000)
/* A request is repeated for half of that time. The other half is for a server that executes
 * it late. */
#define REQUEST_REPEAT_MS (STORED_REPLY_TTL_MS / 2)
/* How long it keeps the reply to a request that is no longer repeated while a copy of it
 * may still arrive over an older connection. */
#define LATE_COPY_REPLY_TTL_MS 600000

/* hf_count_delete_stored_reply - the client has received the reply to the request of op->hold, so
 *                   the server need not keep it. It is deleted soon, together with others; if a
 *                   copy of the request may still arrive, it expires after LATE_COPY_REPLY_TTL_MS.
 *                   No caller waits for this. */
void hf_count_delete_stored_reply(struct hf_op *op);

#endif
