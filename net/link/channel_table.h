/* A subscription, and a server's table of subscriptions by channel. Private to net/.
 * All [locked] */
#ifndef HF_CHANNEL_TABLE_H
#define HF_CHANNEL_TABLE_H

#include "net/loop/loop.h"

struct hf_pubsub;

struct hf_subscription {
    /* Set by the owner. The channel's bytes must remain valid until hf_pubsub_drop. */
    const char *channel;
    size_t channel_len;
    /* [locked] A message arrived; `ptr` is valid until it returns. */
    void (*on_message)(struct hf_subscription *s, const char *ptr, size_t len);
    /* [locked] True: the server confirmed the subscription; if it was live before, a message
     * may have been lost. False: it was lost. The callback may drop this subscription and
     * others. */
    void (*on_change)(struct hf_subscription *s, bool is_live);
    bool is_sharded;            /* SSUBSCRIBE, at the node of the slot */
    /* Used by the router only. */
    uint16_t slot;
    struct hf_list route_node;
    /* Used by hf_pubsub only. */
    struct hf_list node;
    uint64_t added_number;      /* its number among the subscriptions of hf_pubsub */
    struct hf_pubsub *pubsub;   /* NULL: not added */
    struct hf_pubsub_order *pending_order; /* the pending SUBSCRIBE */
    bool is_live;               /* the owner may read these two in on_change */
    bool is_refused_for_good;   /* the server refused it, and would refuse a retry: NOPERM, ERR */
    bool may_get_old_messages;  /* the server may still send messages for the channel because of a
                                   subscription that was dropped */
};

/* Up to FEW_CHANNELS take no memory of their own. Ten thousand are ten in a bucket. */
#define FEW_CHANNELS 16u
#define CHANNEL_BUCKETS 1024u

/* A walk visits the subscriptions of a bucket. Its callbacks may remove any subscription;
 * subscriptions that they add are not visited. */
struct hf_channel_walk {
    struct hf_list *bucket;
    struct hf_list *next_node;
    uint64_t last_added_number; /* the number of the youngest subscription to visit */
    struct hf_channel_walk *outer_walk;
};

struct hf_channel_table {
    struct hf_loop *loop;       /* for its hash key */
    uint32_t count;
    uint64_t added_count;       /* subscriptions added since its creation */
    struct hf_channel_walk *active_walks; /* that have not ended, the innermost first */
    const struct hf_mem *mem;
    uint32_t buckets_count;     /* FEW_CHANNELS or CHANNEL_BUCKETS; it does not change during a
                                   walk */
    struct hf_list *buckets;    /* `few_buckets`, or memory of their own */
    struct hf_list few_buckets[FEW_CHANNELS];
};

/* hf_channel_table_init - begins with an empty table.
 * hf_channel_table_fini - frees its memory. */
void hf_channel_table_init(struct hf_channel_table *table, struct hf_loop *loop,
                           const struct hf_mem *mem);
void hf_channel_table_fini(struct hf_channel_table *table);

/* hf_channel_table_add - adds the subscription at the end of its bucket. If there is no memory
 *   for more buckets, they become longer. */
void hf_channel_table_add(struct hf_channel_table *table,
                          struct hf_subscription *s);

/* hf_channel_table_remove - removes it; also allowed during a walk. */
void hf_channel_table_remove(struct hf_channel_table *table,
                             struct hf_subscription *s);

/* hf_channel_table_find_same_channel - returns another subscription for the channel of `s`,
 *   which was removed. NULL: `s` was the last one. */
struct hf_subscription *
hf_channel_table_find_same_channel(struct hf_channel_table *table,
                                   const struct hf_subscription *s);

/* hf_subscription_is_for - returns whether `s` is for this channel. A plain and a sharded channel
 *   of one name are two channels. */
bool hf_subscription_is_for(const struct hf_subscription *s, const char *ptr, size_t len,
                            bool is_sharded);

/* hf_channel_bucket - returns the bucket of a channel, for a walk. */
struct hf_list *hf_channel_bucket(struct hf_channel_table *table,
                                  const char *ptr, size_t len);

/* hf_channel_walk_count - returns how many subscriptions for this channel are left, of those
 *   that the walk visits. For HF_ASSERT. */
size_t hf_channel_walk_count(const struct hf_channel_walk *walk, const char *ptr, size_t len,
                             bool is_sharded);

/* hf_channel_walk_begin - begins a walk, with the oldest subscription. It must be continued
 *   until hf_channel_walk_next returns NULL. */
void hf_channel_walk_begin(struct hf_channel_table *table,
                           struct hf_channel_walk *walk,
                           struct hf_list *bucket);

/* hf_channel_table_each - calls `act` for each subscription. It may drop this one, and others. */
void hf_channel_table_each(struct hf_channel_table *table, struct hf_pubsub *ps,
                           void (*act)(struct hf_pubsub *, struct hf_subscription *));

/* hf_channel_walk_next - returns the next subscription. NULL: the walk has ended. */
struct hf_subscription *hf_channel_walk_next(struct hf_channel_table *table,
                                             struct hf_channel_walk *walk);

#endif
