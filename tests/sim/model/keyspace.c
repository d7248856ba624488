/* Keys and their expiry: see keyspace.h. Values are in values.c. */
#include "tests/sim/model/keyspace.h"

#include <stdlib.h>

/* ---- the heap of what expires ---- */

static void heap_put(struct keyspace *k, size_t at, struct entry *e)
{
    k->heap[at] = e;
    e->heap_at = at;
}

static void heap_up(struct keyspace *k, size_t at)
{
    struct entry *e = k->heap[at];

    while (at > 0 && k->heap[(at - 1) / 2]->expires_ms > e->expires_ms) {
        heap_put(k, at, k->heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    heap_put(k, at, e);
}

static void heap_down(struct keyspace *k, size_t at)
{
    struct entry *e = k->heap[at];

    for (;;) {
        size_t child = 2 * at + 1;

        if (child + 1 < k->heap_n &&
            k->heap[child + 1]->expires_ms < k->heap[child]->expires_ms)
            child++;
        if (child >= k->heap_n || k->heap[child]->expires_ms >= e->expires_ms)
            break;
        heap_put(k, at, k->heap[child]);
        at = child;
    }
    heap_put(k, at, e);
}

static void heap_remove(struct keyspace *k, struct entry *e)
{
    size_t at = e->heap_at;
    struct entry *last = k->heap[--k->heap_n];

    if (last == e)
        return;
    heap_put(k, at, last);
    heap_up(k, at);
    heap_down(k, last->heap_at);
}

void md_set_expiry(struct keyspace *k, struct entry *e, int64_t at_ms)
{
    bool was_in = e->expires_ms >= 0;

    if (was_in && at_ms < 0)
        heap_remove(k, e);
    e->expires_ms = at_ms < 0 ? -1 : at_ms;
    if (at_ms < 0)
        return;
    if (!was_in) {
        k->heap = md_grow(k->heap, k->heap_n, &k->heap_room, sizeof *k->heap);
        heap_put(k, k->heap_n++, e);
    }
    heap_up(k, e->heap_at);
    heap_down(k, e->heap_at);
}

/* ---- keys ---- */

struct entry *md_find(const struct keyspace *k, struct slice key)
{
    uint64_t hash = md_hash(key, k->seed);
    struct entry *e;

    if (k->n == 0)
        return NULL;
    e = k->buckets[hash & (k->bucket_count - 1)];
    while (e && !(e->hash == hash && md_same(md_slice(e->key), key)))
        e = e->chain;
    return e;
}

static void into_bucket(struct keyspace *k, struct entry *e)
{
    struct entry **bucket = &k->buckets[e->hash & (k->bucket_count - 1)];

    e->chain = *bucket;
    *bucket = e;
}

static void more_buckets(struct keyspace *k)
{
    if (k->n < k->bucket_count)
        return;
    free(k->buckets);
    k->bucket_count = k->bucket_count ? 4 * k->bucket_count : 16;
    k->buckets = md_alloc(k->bucket_count * sizeof *k->buckets);
    for (struct entry *e = k->oldest; e; e = e->newer)
        into_bucket(k, e);
}

struct entry *md_make(struct keyspace *k, struct slice key,
                      enum model_type type)
{
    struct entry *e = md_alloc(sizeof *e);

    more_buckets(k);
    e->key = md_blob(key);
    e->hash = md_hash(key, k->seed);
    e->type = type;
    e->expires_ms = -1;
    e->older = k->newest;
    *(k->newest ? &k->newest->newer : &k->oldest) = e;
    k->newest = e;
    k->n++;
    into_bucket(k, e);
    return e;
}

void md_remove(struct keyspace *k, struct entry *e)
{
    struct entry **at = &k->buckets[e->hash & (k->bucket_count - 1)];

    while (*at != e)
        at = &(*at)->chain;
    *at = e->chain;
    *(e->older ? &e->older->newer : &k->oldest) = e->newer;
    *(e->newer ? &e->newer->older : &k->newest) = e->older;
    if (e->expires_ms >= 0)
        heap_remove(k, e);
    k->n--;
    md_drop_value(e);
    free(e->key);
    free(e);
}

void md_clear(struct keyspace *k)
{
    while (k->oldest)
        md_remove(k, k->oldest);
    free(k->buckets);
    free(k->heap);
    *k = (struct keyspace){.seed = k->seed};
}
