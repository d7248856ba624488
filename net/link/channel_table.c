/* Subscriptions by channel: several may be for one. */
/* Tests: tests/test_net_pubsub.c. */
#include "net/link/channel_table.h"

#include <string.h>

static struct hf_subscription *subscription_of(struct hf_list *node)
{
    return HF_OWNER_OF(node, struct hf_subscription, node);
}

void hf_channel_table_init(struct hf_channel_table *table,
                           struct hf_loop *loop)
{
    table->loop = loop;
    table->count = 0;
    table->added = 0;
    table->walks = NULL;
    for (size_t i = 0; i < CHANNEL_BUCKETS; i++)
        hf_list_init(&table->buckets[i]);
}

struct hf_list *hf_channel_bucket(struct hf_channel_table *table,
                                  const char *ptr, size_t len)
{
    return &table->buckets[hf_loop_hash(table->loop, ptr, len) %
                           CHANNEL_BUCKETS];
}

bool hf_channel_is(const struct hf_subscription *s, const char *ptr, size_t len,
                   bool is_sharded)
{
    return s->is_sharded == is_sharded && s->channel_len == len &&
           memcmp(s->channel, ptr, len) == 0;
}

void hf_channel_table_add(struct hf_channel_table *table,
                          struct hf_subscription *s)
{
    s->added = ++table->added;
    table->count++;
    hf_list_push(hf_channel_bucket(table, s->channel, s->channel_len),
                 &s->node);
}

void hf_channel_table_remove(struct hf_channel_table *table,
                             struct hf_subscription *s)
{
    for (struct hf_channel_walk *walk = table->walks; walk; walk = walk->outer)
        if (walk->next == &s->node)
            walk->next = s->node.next;
    hf_list_remove(&s->node);
    table->count--;
}

struct hf_subscription *
hf_channel_table_find_same_channel(struct hf_channel_table *table,
                                   const struct hf_subscription *s)
{
    struct hf_list *bucket =
        hf_channel_bucket(table, s->channel, s->channel_len);

    for (struct hf_list *l = bucket->next; l != bucket; l = l->next)
        if (hf_channel_is(subscription_of(l), s->channel, s->channel_len,
                          s->is_sharded))
            return subscription_of(l);
    return NULL;
}

void hf_channel_walk_begin(struct hf_channel_table *table,
                           struct hf_channel_walk *walk, struct hf_list *bucket)
{
    walk->bucket = bucket;
    walk->next = bucket->next;
    walk->last = table->added;
    walk->outer = table->walks;
    table->walks = walk;
}

struct hf_subscription *hf_channel_walk_next(struct hf_channel_table *table,
                                             struct hf_channel_walk *walk)
{
    struct hf_list *l = walk->next;

    if (l == walk->bucket || subscription_of(l)->added > walk->last) {
        table->walks = walk->outer;
        return NULL;
    }
    walk->next = l->next;
    return subscription_of(l);
}
