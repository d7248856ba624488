/* Subscriptions at one server. A subscription is in one of these states:
 *
 *   WANTED  -submit_order-> SENT         from hf_pubsub_add, or from
 *                                    send_subscribe_if_none_pending
 *   SENT    -on_order_done-> LIVE      the server confirmed it
 *           -on_order_done-> WANTED    an error, or the connection ended (PUBSUB-3)
 *           -cancel_order-> WANTED         the link uses another protocol than before
 *   LIVE    -report_link_down, handle_ended_subscription-> WANTED
 *   any     -hf_pubsub_drop-> (removed)
 *
 * What is true in each state:
 * WANTED  it has no order and is not live
 * SENT    it has an order, which is in ps->pending_orders, and is not live
 * LIVE    it has no order and is live */
#ifndef HF_PUBSUB_H
#define HF_PUBSUB_H

#include "net/link/channel_table.h"
#include "net/link/link.h"

/* The subscriptions at one server: over the main link with RESP3, over a link of its own
 * with RESP2. When a connection is lost, every subscription is notified and subscribed
 * again. All functions: [locked] */
struct hf_pubsub;

/* hf_pubsub_new - creates it on top of `main`, whose options its own link also has. The
 *   callbacks of `main` must call hf_pubsub_push, hf_pubsub_push_lost and hf_pubsub_link_changed.
 *   HF_E_NOMEM. */
hf_status hf_pubsub_new(struct hf_pubsub **out, struct hf_loop *loop,
                        struct hf_link *main) HF_MUST_CHECK;

/* hf_pubsub_free - frees it and its own link. All subscriptions must be dropped before. NULL
 *   is allowed. */
void hf_pubsub_free(struct hf_pubsub *ps);

/* hf_pubsub_push - processes a push of `main`. */
void hf_pubsub_push(struct hf_pubsub *ps, struct hf_resp_value push);

/* hf_pubsub_push_lost - a push of `main` was too large: any subscription may have lost a
 *   message. */
void hf_pubsub_push_lost(struct hf_pubsub *ps);

/* hf_pubsub_link_changed - `main` became READY, or is no longer. */
void hf_pubsub_link_changed(struct hf_pubsub *ps, bool is_up);

/* hf_pubsub_add - subscribes; on_change(true) follows when the server confirmed it. If
 *   memory or space is missing, or the server refuses (on_change(false)), it retries.
 *   Several subscriptions may be for one channel: each receives each message. Returns
 *   HF_E_FORKED in a child process. */
hf_status hf_pubsub_add(struct hf_pubsub *ps, struct hf_subscription *s);

/* hf_pubsub_drop - unsubscribes. No callback of `s` is called after this. */
void hf_pubsub_drop(struct hf_subscription *s);

/* hf_pubsub_is_idle - returns whether no SUBSCRIBE or UNSUBSCRIBE is pending. */
bool hf_pubsub_is_idle(const struct hf_pubsub *ps);

/* hf_pubsub_on_idle - sets a callback that is called, [locked], whenever the last pending
 *   command has ended. */
void hf_pubsub_on_idle(struct hf_pubsub *ps, void (*idle)(void *ctx),
                       void *ctx);

/* hf_pubsub_on_slot_moved - sets a callback that is called, [locked], when the server reports
 *   that it does not serve a channel. */
void hf_pubsub_on_slot_moved(struct hf_pubsub *ps,
                             void (*slot_moved)(void *ctx), void *ctx);

/* hf_pubsub_on_own_link - sets callbacks that are called, [locked], when its own link becomes
 *   READY, and when an attempt of it to connect failed. */
void hf_pubsub_on_own_link(struct hf_pubsub *ps, void (*up)(void *ctx), void (*failed)(void *ctx),
                           void *ctx);

/* hf_pubsub_own_link - returns its own link; NULL: it has none (RESP3). */
struct hf_link *hf_pubsub_own_link(const struct hf_pubsub *ps);

/* hf_pubsub_set_ip - as hf_link_set_ip, for its own link, also one that is created later. */
void hf_pubsub_set_ip(struct hf_pubsub *ps, const char *ip);

/* hf_pubsub_retry - subscribes again, unless the subscription is live or pending. */
void hf_pubsub_retry(struct hf_subscription *s);

/* hf_pubsub_answer_credentials - does as hf_link_answer_credentials, for its own link. */
bool hf_pubsub_answer_credentials(struct hf_pubsub *ps, uint64_t id,
                                  const struct hf_credentials *credentials,
                                  const struct hf_error *why);

#endif
