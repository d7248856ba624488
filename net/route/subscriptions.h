/* Operations on all subscriptions. Private to net/. [locked] */
#ifndef HF_LISTENING_H
#define HF_LISTENING_H

#include <stdbool.h>

struct hf_router;

/* hf_router_relisten     - moves each subscription to the server of its slot.
 * hf_router_is_unheard   - returns whether one waits for a server whose link is down.
 * hf_router_unlisten_all - ends all subscriptions. */
void hf_router_relisten(struct hf_router *router);
bool hf_router_is_unheard(struct hf_router *router);
void hf_router_unlisten_all(struct hf_router *router);

#endif
