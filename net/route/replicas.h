/* Confirmation by replicas: ROLE, which counts them, and WAIT are sent in the same write
 * as the command. Private to net/. [locked] */
#ifndef HF_REPLICAS_H
#define HF_REPLICAS_H

#include "net/route/router.h"

typedef void hf_request_done(struct hf_request *request,
                             enum hf_outcome outcome,
                             struct hf_resp_value reply);

/* hf_replicas_wanted - returns how many replicas must confirm, as far as is known now. */
uint32_t hf_replicas_wanted(const struct hf_command *c);

/* hf_replicas_query - submits ROLE, unless a fixed number is required, and WAIT, whose reply
 *   is passed to `done`. HF_E_NOMEM, HF_E_LIMIT: `done` is not called. */
hf_status hf_replicas_query(struct hf_command *c, struct hf_link *link,
                            hf_request_done *done);

/* hf_replicas_query_more - submits WAIT again if all required replicas confirmed, but more
 *   are required by now. False: `reply` is the last one. */
bool hf_replicas_query_more(struct hf_command *c, struct hf_link *link,
                            struct hf_resp_value reply, hf_request_done *done);

#endif
