/* What precedes a command in the same write: ASKING after a redirection by ASK, or CLIENT
 * CACHING before a tracked command. The server applies each to the next command only.
 * Private to net/. [locked] */
#ifndef HF_AHEAD_H
#define HF_AHEAD_H

#include "net/route/router_inner.h"

/* hf_ahead_submit - queues it as c->ahead, if the command needs one. After a failure
 *                   c->ahead.done may be set, although nothing is pending.
 * hf_ahead_size   - returns how many bytes it has at most. */
hf_status hf_ahead_submit(struct hf_command *c, struct hf_link *link) HF_MUST_CHECK;
size_t hf_ahead_size(const struct hf_command *c);

#endif
