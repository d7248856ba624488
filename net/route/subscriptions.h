/* Operations on all subscriptions. Private to net/. [locked] */
#ifndef HF_LISTENING_H
#define HF_LISTENING_H

#include <stdbool.h>

struct hf_router;

/* hf_router_relisten     - moves each subscription to the server of its slot.
 * hf_router_has_waiting_subscription - returns whether a subscription waits for a server
 *                          whose link is down.
 * hf_router_unlisten_all - ends all subscriptions. */
void hf_router_relisten(struct hf_router *router);
bool hf_router_has_waiting_subscription(struct hf_router *router);
void hf_router_unlisten_all(struct hf_router *router);

#endif
