/* Subscriptions at one server. */
#ifndef HF_PUBSUB_H
#define HF_PUBSUB_H

#include "net/link/channel_table.h"
#include "net/link/link.h"

/* Channels of one server: over the main link in RESP3, over a link of its own
 * in RESP2. A lost connection is told to every subscription and subscribed
 * anew. */
struct hf_pubsub;

/* hf_pubsub_new  - on top of `main`, whose on_push and on_change it wants to be
 *                  told: call hf_pubsub_push, hf_pubsub_push_lost (a push was too
 *                  large) and hf_pubsub_change from them.
 * hf_pubsub_free - and its own link. All subscriptions are dropped before.
 *                  Takes NULL.
 * hf_pubsub_add  - subscribes; on_change(true) follows when confirmed. Several
 *                  may be for one channel: each hears each message. What
 *                  fails for want of memory or room, or is refused
 *                  (on_change(false)), is tried again. HF_E_FORKED.
 * hf_pubsub_drop - unsubscribes, at once for the caller.
 * hf_pubsub_is_idle - is no SUBSCRIBE or UNSUBSCRIBE under way?
 * hf_pubsub_on_idle - `idle` is called, [locked], whenever the last one has
 *                  ended.
 * hf_pubsub_on_slot_moved - `slot_moved` is called, [locked], when the server
 *                  does not serve a channel (any more).
 * hf_pubsub_link - its own link; NULL if it has none (RESP3).
 * hf_pubsub_retry - subscribes once more, if it is neither live nor under way.
 * All [locked]. */
hf_status hf_pubsub_new(struct hf_pubsub **out, struct hf_loop *loop,
                        struct hf_link *main,
                        const struct hf_link_options *options) HF_MUST_CHECK;
void hf_pubsub_free(struct hf_pubsub *ps);
void hf_pubsub_push(struct hf_pubsub *ps, struct hf_resp_value push);
void hf_pubsub_push_lost(struct hf_pubsub *ps);
void hf_pubsub_change(struct hf_pubsub *ps, bool is_up);
hf_status hf_pubsub_add(struct hf_pubsub *ps, struct hf_subscription *s);
void hf_pubsub_drop(struct hf_subscription *s);
bool hf_pubsub_is_idle(const struct hf_pubsub *ps);
void hf_pubsub_on_idle(struct hf_pubsub *ps, void (*idle)(void *ctx),
                       void *ctx);
void hf_pubsub_on_slot_moved(struct hf_pubsub *ps,
                             void (*slot_moved)(void *ctx), void *ctx);
struct hf_link *hf_pubsub_link(const struct hf_pubsub *ps);
void hf_pubsub_retry(struct hf_subscription *s);

/* hf_pubsub_answer - as hf_link_answer, for its own link. [locked] */
bool hf_pubsub_answer(struct hf_pubsub *ps, uint64_t id,
                      const struct hf_credentials *credentials,
                      const struct hf_error *why);

#endif
