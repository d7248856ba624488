/* Replicas that must have a command: ROLE, which counts them, and WAIT, both in
 * the same write as the command. Private to net/. [locked] */
#ifndef HF_REPLICAS_H
#define HF_REPLICAS_H

#include "net/route/router.h"

typedef void hf_request_done(struct hf_request *request,
                             enum hf_outcome outcome,
                             struct hf_resp_value reply);

/* hf_replicas_wanted   - how many must have it, as far as is known now.
 * hf_replicas_ask      - behind the command: ROLE, unless their number is
 *                        given, and WAIT, whose reply goes to `done`.
 *                        HF_E_NOMEM, HF_E_LIMIT: nothing of it will be called.
 * hf_replicas_ask_more - WAIT once more, if `reply` to it counts all that were
 *                        wanted, and by now more are. False: it is the last. */
uint32_t hf_replicas_wanted(const struct hf_command *c);
hf_status hf_replicas_ask(struct hf_command *c, struct hf_link *link,
                          hf_request_done *done);
bool hf_replicas_ask_more(struct hf_command *c, struct hf_link *link,
                          struct hf_resp_value reply, hf_request_done *done);

#endif
