/* Operations on all subscriptions. Private to net/. [locked] */
#ifndef HF_SUBSCRIPTIONS_H
#define HF_SUBSCRIPTIONS_H

#include <stdbool.h>

struct hf_router;

/* hf_router_move_subscriptions     - moves each subscription to the server of its slot.
 * hf_router_has_waiting_subscription - returns whether a subscription waits for a server
 *                          whose link is down.
 * hf_router_end_subscriptions - ends all subscriptions. */
void hf_router_move_subscriptions(struct hf_router *router);
bool hf_router_has_waiting_subscription(struct hf_router *router);
void hf_router_end_subscriptions(struct hf_router *router);

#endif
