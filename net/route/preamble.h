/* What precedes a command in the same write: ASKING after a redirection by ASK, or CLIENT
 * CACHING before a tracked command. The server applies each to the next command only.
 * Private to net/. [locked] */
#ifndef HF_PREAMBLE_H
#define HF_PREAMBLE_H

#include "net/route/router_inner.h"

/* hf_preamble_submit - queues it as c->preamble, if the command needs one. After a failure
 *                   c->preamble.done may be set, although nothing is pending.
 * hf_preamble_size   - returns how many bytes it has at most. */
hf_status hf_preamble_submit(struct hf_command *c, struct hf_link *link) HF_MUST_CHECK;
size_t hf_preamble_size(const struct hf_command *c);

#endif
