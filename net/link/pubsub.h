/* Subscriptions at one server. */
#ifndef HF_PUBSUB_H
#define HF_PUBSUB_H

#include "net/link/link.h"

/* Channels of one server: over the main link in RESP3, over a link of its own
 * in RESP2. A lost connection is told to every subscription and subscribed
 * anew. */
struct hf_pubsub;

struct hf_subscription {
    /* Set by the owner. The channel's bytes are borrowed until dropped. */
    const char *channel;
    size_t channel_len;
    /* [locked] A message; `ptr` is valid until it returns. */
    void (*on_message)(struct hf_subscription *s, const char *ptr, size_t len);
    /* [locked] The server confirmed it (true), or it was lost (false). It may
     * drop this subscription and others. */
    void (*on_change)(struct hf_subscription *s, bool is_live);
    bool is_sharded;            /* SSUBSCRIBE: of one slot's node */
    /* The router's own. */
    uint16_t slot;
    struct hf_list route_node;
    /* hf_pubsub's own. */
    struct hf_list node;
    struct hf_pubsub *pubsub;   /* NULL: nowhere yet */
    struct hf_pubsub_order *order;   /* SUBSCRIBE under way */
    bool is_live;
};

/* hf_pubsub_new  - on top of `main`, whose on_push and on_change it wants to be
 *                  told: call hf_pubsub_push and hf_pubsub_change from them.
 * hf_pubsub_free - and its own link. All subscriptions are dropped before.
 *                  Takes NULL.
 * hf_pubsub_add  - subscribes; on_change(true) follows when confirmed. What
 *                  fails for want of memory or room, or is refused
 *                  (on_change(false)), is tried again. HF_E_FORKED.
 * hf_pubsub_drop - unsubscribes, at once for the caller.
 * hf_pubsub_is_idle - is no SUBSCRIBE or UNSUBSCRIBE under way?
 * hf_pubsub_on_idle - `idle` is called, [locked], whenever the last one has
 *                  ended.
 * hf_pubsub_on_slot_moved - `slot_moved` is called, [locked], when the server
 *                  does not serve a channel (any more).
 * hf_pubsub_retry - subscribes once more, if it is neither live nor under way.
 * All [locked]. */
hf_status hf_pubsub_new(struct hf_pubsub **out, struct hf_loop *loop,
                        struct hf_link *main,
                        const struct hf_link_options *options) HF_MUST_CHECK;
void hf_pubsub_free(struct hf_pubsub *ps);
void hf_pubsub_push(struct hf_pubsub *ps, struct hf_resp_value push);
void hf_pubsub_change(struct hf_pubsub *ps, bool is_up);
hf_status hf_pubsub_add(struct hf_pubsub *ps, struct hf_subscription *s);
void hf_pubsub_drop(struct hf_subscription *s);
bool hf_pubsub_is_idle(const struct hf_pubsub *ps);
void hf_pubsub_on_idle(struct hf_pubsub *ps, void (*idle)(void *ctx),
                       void *ctx);
void hf_pubsub_on_slot_moved(struct hf_pubsub *ps,
                             void (*slot_moved)(void *ctx), void *ctx);
void hf_pubsub_retry(struct hf_subscription *s);

#endif
