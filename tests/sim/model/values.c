/* Values of keys: hashes, lists, sorted sets. See keyspace.h. */
#include "tests/sim/model/keyspace.h"

#include <stdlib.h>

/* hash-max-listpack-value and its like, the same for all. */
#define SMALL_TEXT 64

size_t md_count(const struct entry *e)
{
    switch (e->type) {
    case MODEL_HASH:
    case MODEL_SET: return e->as.hash.n;
    case MODEL_LIST: return e->as.list.n;
    case MODEL_ZSET: return e->as.zset.n;
    case MODEL_STRING: return 1;
    case MODEL_NONE: break;
    }
    return 0;
}

static void drop_hash(struct hash *h)
{
    while (h->n > 0)
        md_field_remove(h, h->n - 1);
    free(h->at);
}

static void drop_list(struct list *l)
{
    while (l->n > 0)
        md_list_remove(l, l->n - 1);
    free(l->at);
}

static void drop_zset(struct zset *z)
{
    while (z->n > 0)
        md_member_remove(z, z->n - 1);
    free(z->at);
}

void md_drop_value(struct entry *e)
{
    switch (e->type) {
    case MODEL_HASH:
    case MODEL_SET: drop_hash(&e->as.hash); break;
    case MODEL_LIST: drop_list(&e->as.list); break;
    case MODEL_ZSET: drop_zset(&e->as.zset); break;
    case MODEL_STRING: free(e->as.string); break;
    case MODEL_NONE: break;
    }
    e->type = MODEL_NONE;
    memset(&e->as, 0, sizeof e->as);
}

static void copy_fields(struct hash *to, const struct hash *from)
{
    to->is_table = from->is_table;
    for (size_t i = 0; i < from->n; i++)
        (void)md_field_set(to, md_slice(from->at[i].name),
                           md_slice(from->at[i].value), SIZE_MAX);
}

void md_copy_value(struct keyspace *k, struct entry *to,
                   const struct entry *from)
{
    to->type = from->type;
    if (from->type == MODEL_STRING)
        to->as.string = md_blob(md_slice(from->as.string));
    if (from->type == MODEL_HASH || from->type == MODEL_SET)
        copy_fields(&to->as.hash, &from->as.hash);
    for (size_t i = 0; from->type == MODEL_LIST && i < from->as.list.n; i++)
        md_list_insert(&to->as.list, i, md_slice(from->as.list.at[i]));
    for (size_t i = 0; from->type == MODEL_ZSET && i < from->as.zset.n; i++)
        md_member_set(&to->as.zset, md_slice(from->as.zset.at[i].name),
                      from->as.zset.at[i].score);
    md_set_expiry(k, to, from->expires_ms);
}

/* ---- hashes ---- */

/* Where the hash of a field is, or would be, in a table. */
static size_t table_place(const struct hash *h, uint64_t hash)
{
    size_t low = 0, high = h->n;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (h->at[middle].hash < hash)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

ptrdiff_t md_field_find(const struct hash *h, struct slice name)
{
    uint64_t hash = md_hash(name, 0);
    size_t i = h->is_table ? table_place(h, hash) : 0;

    for (; i < h->n && !(h->is_table && h->at[i].hash != hash); i++)
        if (h->at[i].hash == hash && md_same(md_slice(h->at[i].name), name))
            return (ptrdiff_t)i;
    return -1;
}

static int by_hash(const void *a, const void *b)
{
    const struct field *x = a, *y = b;

    return (x->hash > y->hash) - (x->hash < y->hash);
}

static void make_table(struct hash *h)
{
    if (!h->is_table && h->n > 0)
        qsort(h->at, h->n, sizeof *h->at, by_hash);
    h->is_table = true;
}

bool md_field_set(struct hash *h, struct slice name, struct slice value,
                  size_t most)
{
    ptrdiff_t found = md_field_find(h, name);
    struct field *f;
    size_t place;

    if (most != SIZE_MAX && (name.n > SMALL_TEXT || value.n > SMALL_TEXT ||
                             (found < 0 && h->n >= most)))
        make_table(h);
    if ((found = md_field_find(h, name)) >= 0) {
        free(h->at[found].value);
        h->at[found].value = md_blob(value);
        return false;
    }
    h->at = md_grow(h->at, h->n, &h->room, sizeof *h->at);
    place = h->is_table ? table_place(h, md_hash(name, 0)) : h->n;
    f = h->at + place;
    memmove(f + 1, f, (h->n++ - place) * sizeof *f);
    *f = (struct field){md_blob(name), md_blob(value), md_hash(name, 0)};
    return true;
}

void md_field_remove(struct hash *h, size_t at)
{
    free(h->at[at].name);
    free(h->at[at].value);
    h->n--;
    memmove(h->at + at, h->at + at + 1, (h->n - at) * sizeof *h->at);
}

/* ---- lists ---- */

void md_list_insert(struct list *l, size_t at, struct slice value)
{
    l->at = md_grow(l->at, l->n, &l->room, sizeof *l->at);
    memmove(l->at + at + 1, l->at + at, (l->n++ - at) * sizeof *l->at);
    l->at[at] = md_blob(value);
}

void md_list_remove(struct list *l, size_t at)
{
    free(l->at[at]);
    l->n--;
    memmove(l->at + at, l->at + at + 1, (l->n - at) * sizeof *l->at);
}

/* ---- sorted sets ---- */

ptrdiff_t md_member_find(const struct zset *z, struct slice name)
{
    for (size_t i = 0; i < z->n; i++)
        if (md_same(md_slice(z->at[i].name), name))
            return (ptrdiff_t)i;
    return -1;
}

static bool is_before(const struct member *m, struct slice name, double score)
{
    if (m->score < score || score < m->score)
        return m->score < score;
    return md_compare(md_slice(m->name), name) < 0;
}

void md_member_set(struct zset *z, struct slice name, double score)
{
    ptrdiff_t found = md_member_find(z, name);
    struct blob *owned = found >= 0 ? z->at[found].name : md_blob(name);
    size_t i = 0;

    if (found >= 0) {
        z->n--;
        memmove(z->at + found, z->at + found + 1,
                (z->n - (size_t)found) * sizeof *z->at);
    }
    z->at = md_grow(z->at, z->n, &z->room, sizeof *z->at);
    while (i < z->n && is_before(&z->at[i], name, score))
        i++;
    memmove(z->at + i + 1, z->at + i, (z->n++ - i) * sizeof *z->at);
    z->at[i] = (struct member){owned, score};
}

void md_member_remove(struct zset *z, size_t at)
{
    free(z->at[at].name);
    z->n--;
    memmove(z->at + at, z->at + at + 1, (z->n - at) * sizeof *z->at);
}
