/* A subscription, and a server's table of subscriptions by channel. Private to net/.
 * All [locked] */
#ifndef HF_CHANNEL_TABLE_H
#define HF_CHANNEL_TABLE_H

#include "net/loop/loop.h"

struct hf_pubsub;

struct hf_subscription {
    /* Set by the owner. The channel's bytes are borrowed until dropped. */
    const char *channel;
    size_t channel_len;
    /* [locked] A message; `ptr` is valid until it returns. */
    void (*on_message)(struct hf_subscription *s, const char *ptr, size_t len);
    /* [locked] The server confirmed it (true), or it was lost (false); true for one
     * that is live: a message may have been lost. It may drop this subscription
     * and others. */
    void (*on_change)(struct hf_subscription *s, bool is_live);
    bool is_sharded;            /* SSUBSCRIBE: of one slot's node */
    /* The router's own. */
    uint16_t slot;
    struct hf_list route_node;
    /* hf_pubsub's own. */
    struct hf_list node;
    uint64_t added;             /* its number among those of hf_pubsub */
    struct hf_pubsub *pubsub;   /* NULL: nowhere yet */
    struct hf_pubsub_order *order;   /* SUBSCRIBE under way */
    bool is_live;
    bool has_inherited;         /* the server may know the channel by a
                                   subscription that was dropped */
};

#define CHANNEL_BUCKETS 1024u     /* ten thousand channels: ten a bucket */

/* A pass over a bucket. Its callbacks may remove any subscription; those that
 * they add are not visited. */
struct hf_channel_walk {
    struct hf_list *bucket;
    struct hf_list *next;
    uint64_t last;              /* the youngest to visit */
    struct hf_channel_walk *outer;
};

struct hf_channel_table {
    struct hf_loop *loop;       /* for its hash */
    uint32_t count;
    uint64_t added;             /* subscriptions, since it was made */
    struct hf_channel_walk *walks;  /* under way, the innermost first */
    struct hf_list buckets[CHANNEL_BUCKETS];
};

/* hf_channel_table_init   - empty.
 * hf_channel_table_add    - behind all others of its bucket.
 * hf_channel_table_remove - also during a walk.
 * hf_channel_table_other  - another subscription for the channel of `s`, which
 *                           was removed; NULL: it was the last one.
 * hf_channel_is           - a plain and a sharded channel of one name are two
 *                           channels. */
void hf_channel_table_init(struct hf_channel_table *table,
                           struct hf_loop *loop);
void hf_channel_table_add(struct hf_channel_table *table,
                          struct hf_subscription *s);
void hf_channel_table_remove(struct hf_channel_table *table,
                             struct hf_subscription *s);
struct hf_subscription *
hf_channel_table_other(struct hf_channel_table *table,
                       const struct hf_subscription *s);
bool hf_channel_is(const struct hf_subscription *s, const char *ptr, size_t len,
                   bool is_sharded);

/* hf_channel_bucket     - the bucket of a channel, for a walk.
 * hf_channel_walk_begin - the oldest subscription comes first.
 * hf_channel_walk_next  - NULL: that was the last one, and the walk has
 *                         ended. Each walk must be continued to its end. */
struct hf_list *hf_channel_bucket(struct hf_channel_table *table,
                                  const char *ptr, size_t len);
void hf_channel_walk_begin(struct hf_channel_table *table,
                           struct hf_channel_walk *walk,
                           struct hf_list *bucket);
struct hf_subscription *hf_channel_walk_next(struct hf_channel_table *table,
                                             struct hf_channel_walk *walk);

#endif
