/* Subscriptions by channel: several may be for one. */
/* Tests: tests/test_net_pubsub.c. */
#include "net/link/channel_table.h"

#include <string.h>

#include "net/base/assert.h"
#include "net/base/mem.h"

static struct hf_subscription *subscription_of_node(struct hf_list *node)
{
    return HF_OWNER_OF(node, struct hf_subscription, node);
}

static void init_buckets(struct hf_list *buckets, size_t count)
{
    for (size_t i = 0; i < count; i++)
        hf_list_init(&buckets[i]);
}

void hf_channel_table_init(struct hf_channel_table *table, struct hf_loop *loop,
                           const struct hf_mem *mem)
{
    table->loop = loop;
    table->mem = mem;
    table->count = 0;
    table->added_count = 0;
    table->active_walks = NULL;
    table->buckets_count = FEW_CHANNELS;
    table->buckets = table->few_buckets;
    init_buckets(table->few_buckets, FEW_CHANNELS);
}

void hf_channel_table_fini(struct hf_channel_table *table)
{
    if (table->buckets != table->few_buckets)
        hf_mem_free(table->mem, table->buckets, CHANNEL_BUCKETS * sizeof *table->buckets);
    table->buckets_count = FEW_CHANNELS;
    table->buckets = table->few_buckets;
}

struct hf_list *hf_channel_bucket(struct hf_channel_table *table,
                                  const char *ptr, size_t len)
{
    return &table->buckets[hf_loop_hash(table->loop, ptr, len) % table->buckets_count];
}

static void add_subscription_to_bucket(struct hf_channel_table *table, struct hf_subscription *s)
{
    hf_list_push(hf_channel_bucket(table, s->channel, s->channel_len), &s->node);
}

/* The subscriptions of a bucket remain in order: all of a new bucket come from one. */
static void grow_buckets(struct hf_channel_table *table)
{
    struct hf_list *buckets =
        hf_mem_new(table->mem, CHANNEL_BUCKETS * sizeof *buckets);

    if (!buckets)
        return;
    init_buckets(buckets, CHANNEL_BUCKETS);
    table->buckets = buckets;
    table->buckets_count = CHANNEL_BUCKETS;
    for (size_t i = 0; i < FEW_CHANNELS; i++)
        while (!hf_list_is_empty(&table->few_buckets[i])) {
            struct hf_subscription *s = subscription_of_node(table->few_buckets[i].next);

            hf_list_remove(&s->node);
            add_subscription_to_bucket(table, s);
        }
}

bool hf_subscription_is_for(const struct hf_subscription *s, const char *ptr, size_t len,
                            bool is_sharded)
{
    return s->is_sharded == is_sharded && s->channel_len == len &&
           memcmp(s->channel, ptr, len) == 0;
}

void hf_channel_table_add(struct hf_channel_table *table,
                          struct hf_subscription *s)
{
    HF_ASSERT(hf_loop_is_locked(table->loop) && s->channel_len > 0);
    s->added_number = ++table->added_count;
    if (table->count++ >= FEW_CHANNELS && table->buckets_count == FEW_CHANNELS &&
        !table->active_walks)
        grow_buckets(table);
    add_subscription_to_bucket(table, s);
}

void hf_channel_table_remove(struct hf_channel_table *table,
                             struct hf_subscription *s)
{
    HF_ASSERT(hf_loop_is_locked(table->loop) && table->count > 0);
    for (struct hf_channel_walk *walk = table->active_walks; walk; walk = walk->outer_walk)
        if (walk->next_node == &s->node)
            walk->next_node = s->node.next;
    hf_list_remove(&s->node);
    if (--table->count == 0 && !table->active_walks)
        hf_channel_table_fini(table);
}

struct hf_subscription *
hf_channel_table_find_same_channel(struct hf_channel_table *table,
                                   const struct hf_subscription *s)
{
    struct hf_list *bucket =
        hf_channel_bucket(table, s->channel, s->channel_len);

    for (struct hf_list *l = bucket->next; l != bucket; l = l->next)
        if (hf_subscription_is_for(subscription_of_node(l), s->channel, s->channel_len,
                                   s->is_sharded))
            return subscription_of_node(l);
    return NULL;
}

size_t hf_channel_walk_count(const struct hf_channel_walk *walk, const char *ptr, size_t len,
                             bool is_sharded)
{
    size_t n = 0;

    for (struct hf_list *l = walk->bucket->next; l != walk->bucket; l = l->next)
        n += subscription_of_node(l)->added_number <= walk->last_added_number &&
             hf_subscription_is_for(subscription_of_node(l), ptr, len, is_sharded);
    return n;
}

void hf_channel_walk_begin(struct hf_channel_table *table,
                           struct hf_channel_walk *walk, struct hf_list *bucket)
{
    walk->bucket = bucket;
    walk->next_node = bucket->next;
    walk->last_added_number = table->added_count;
    walk->outer_walk = table->active_walks;
    table->active_walks = walk;
}

struct hf_subscription *hf_channel_walk_next(struct hf_channel_table *table,
                                             struct hf_channel_walk *walk)
{
    struct hf_list *l = walk->next_node;

    if (l == walk->bucket || subscription_of_node(l)->added_number > walk->last_added_number) {
        table->active_walks = walk->outer_walk;
        return NULL;
    }
    walk->next_node = l->next;
    return subscription_of_node(l);
}

static void call_for_each_in_bucket(struct hf_channel_table *table, struct hf_list *bucket,
                                    struct hf_pubsub *ps,
                                    void (*act)(struct hf_pubsub *, struct hf_subscription *))
{
    struct hf_subscription *s;
    struct hf_channel_walk walk;

    hf_channel_walk_begin(table, &walk, bucket);
    while ((s = hf_channel_walk_next(table, &walk)) != NULL)
        act(ps, s);
}

/* The walk around all others keeps the buckets as they are. */
void hf_channel_table_each(struct hf_channel_table *table, struct hf_pubsub *ps,
                           void (*act)(struct hf_pubsub *, struct hf_subscription *))
{
    struct hf_channel_walk outer;
    struct hf_list none;

    hf_list_init(&none);
    hf_channel_walk_begin(table, &outer, &none);
    for (uint32_t i = 0; i < table->buckets_count; i++)
        call_for_each_in_bucket(table, &table->buckets[i], ps, act);
    (void)hf_channel_walk_next(table, &outer);
}
