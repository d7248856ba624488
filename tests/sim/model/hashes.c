/* Commands of hashes. */
#include "tests/sim/model/inner.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const struct blob *value_of(const struct entry *e, struct slice field)
{
    ptrdiff_t at = e ? md_field_find(&e->as.hash, field) : -1;

    return at < 0 ? NULL : e->as.hash.at[at].value;
}

static void reply_value(struct call *c, const struct blob *value)
{
    if (value)
        md_bulk(c, md_slice(value));
    else
        md_null(c);
}

static struct entry *hash_of(struct call *c, bool *ok)
{
    return md_typed(c, c->argv[1], MODEL_HASH, ok);
}

static int64_t set_fields(struct call *c, int from)
{
    struct entry *e = md_typed_or_make(c, c->argv[1], MODEL_HASH);
    int64_t n = 0;

    if (!e)
        return -1;
    for (int i = from; i + 1 < c->argc; i += 2)
        n += md_field_set(&e->as.hash, c->argv[i], c->argv[i + 1],
                          MD_SMALL_HASH);
    md_touched(c, c->argv[1]);
    return n;
}

static bool is_even(struct call *c)
{
    if (c->argc % 2 == 0)
        return true;
    md_error(c, "ERR wrong number of arguments for '%s' command",
             c->command->name);
    return false;
}

static void run_hset(struct call *c)
{
    int64_t n;

    if (is_even(c) && (n = set_fields(c, 2)) >= 0)
        md_int(c, n);
}

static void run_hmset(struct call *c)
{
    if (is_even(c) && set_fields(c, 2) >= 0)
        md_ok(c);
}

static void run_hsetnx(struct call *c)
{
    bool ok;
    const struct entry *e = hash_of(c, &ok);

    if (!ok)
        return;
    if (value_of(e, c->argv[2])) {
        md_int(c, 0);
        return;
    }
    (void)set_fields(c, 2);
    md_int(c, 1);
}

static void run_hget(struct call *c)
{
    bool ok;
    const struct entry *e = hash_of(c, &ok);

    if (ok)
        reply_value(c, value_of(e, c->argv[2]));
}

static void run_hmget(struct call *c)
{
    bool ok;
    const struct entry *e = hash_of(c, &ok);

    if (!ok)
        return;
    md_array(c, (size_t)c->argc - 2);
    for (int i = 2; i < c->argc; i++)
        reply_value(c, value_of(e, c->argv[i]));
}

static void run_hdel(struct call *c)
{
    bool ok;
    struct entry *e = hash_of(c, &ok);
    int n = 0;

    if (!ok)
        return;
    for (int i = 2; e && i < c->argc; i++) {
        ptrdiff_t at = md_field_find(&e->as.hash, c->argv[i]);

        if (at >= 0)
            md_field_remove(&e->as.hash, (size_t)at), n++;
    }
    if (n > 0) {
        md_touched(c, c->argv[1]);
        md_drop_if_empty(c, e);
    }
    md_int(c, n);
}

static void run_hlen(struct call *c)
{
    bool ok;
    const struct entry *e = hash_of(c, &ok);

    if (ok)
        md_int(c, e ? (int64_t)e->as.hash.n : 0);
}

static void run_hexists(struct call *c)
{
    bool ok;
    const struct entry *e = hash_of(c, &ok);

    if (ok)
        md_int(c, value_of(e, c->argv[2]) != NULL);
}

static void run_hstrlen(struct call *c)
{
    bool ok;
    const struct entry *e = hash_of(c, &ok);
    const struct blob *value = value_of(e, c->argv[2]);

    if (ok)
        md_int(c, value ? value->n : 0);
}

enum { NAMES = 1, VALUES = 2 };

static void list_fields(struct call *c, int what)
{
    bool ok;
    const struct entry *e = hash_of(c, &ok);
    size_t n = e ? e->as.hash.n : 0;

    if (!ok)
        return;
    if (what == (NAMES | VALUES))
        md_map(c, n);
    else
        md_array(c, n);
    for (size_t i = 0; i < n; i++) {
        if (what & NAMES)
            md_bulk(c, md_slice(e->as.hash.at[i].name));
        if (what & VALUES)
            md_bulk(c, md_slice(e->as.hash.at[i].value));
    }
}

static void run_hgetall(struct call *c)
{
    list_fields(c, NAMES | VALUES);
}

static void run_hkeys(struct call *c)
{
    list_fields(c, NAMES);
}

static void run_hvals(struct call *c)
{
    list_fields(c, VALUES);
}

/* ---- counters ---- */

static void put_field(struct call *c, struct slice value)
{
    struct entry *e = md_typed_or_make(c, c->argv[1], MODEL_HASH);

    (void)md_field_set(&e->as.hash, c->argv[2], value, MD_SMALL_HASH);
    md_touched(c, c->argv[1]);
}

static void run_hincrby(struct call *c)
{
    bool ok;
    const struct blob *old;
    const struct entry *e;
    int64_t n = 0, by;
    char text[24];

    if (!md_int_arg(c, 3, &by))
        return;
    e = hash_of(c, &ok);
    old = value_of(e, c->argv[2]);
    if (!ok)
        return;
    if (old && !md_integer(md_slice(old), &n)) {
        md_error(c, "ERR hash value is not an integer");
        return;
    }
    if ((by > 0 && n > INT64_MAX - by) || (by < 0 && n < INT64_MIN - by)) {
        md_error(c, "ERR increment or decrement would overflow");
        return;
    }
    put_field(c, (struct slice){text, md_format(text, n + by)});
    md_int(c, n + by);
}

/* ---- HSCAN ---- */

struct scan {
    uint64_t cursor;
    int64_t count;
    struct slice match;
};

static bool parse_cursor(struct call *c, uint64_t *cursor)
{
    char *end;

    *cursor = strtoull(c->argv[2].p, &end, 10);
    if (c->argv[2].n > 0 && end == c->argv[2].p + c->argv[2].n)
        return true;
    md_error(c, "ERR invalid cursor");
    return false;
}

static bool parse_scan(struct call *c, struct scan *s)
{
    for (int i = 3; i < c->argc; i += 2) {
        if (i + 1 < c->argc && md_is(c->argv[i], "count")) {
            if (!md_int_arg(c, i + 1, &s->count))
                return false;
        } else if (i + 1 < c->argc && md_is(c->argv[i], "match")) {
            s->match = c->argv[i + 1];
            continue;
        }
        if (i + 1 >= c->argc || !md_is(c->argv[i], "count") || s->count < 1) {
            md_syntax(c);
            return false;
        }
    }
    return true;
}

/* A small hash comes at once, whatever COUNT is. A table comes by its fields'
 * hashes, so that what stays in it is never left out. */
static size_t scan_end(const struct hash *h, size_t from, int64_t count)
{
    size_t to = from + (size_t)count;

    if (!h->is_table || to >= h->n)
        return h->n;
    while (to < h->n && h->at[to].hash == h->at[to - 1].hash)
        to++;
    return to;
}

static void reply_scan(struct call *c, const struct hash *h,
                       const struct scan *s)
{
    size_t from = 0, to, n = 0;
    char cursor[24];

    while (h->is_table && from < h->n && h->at[from].hash < s->cursor)
        from++;
    to = scan_end(h, from, s->count);
    for (size_t i = from; i < to; i++)
        n += md_glob(s->match, md_slice(h->at[i].name));
    md_array(c, 2);
    (void)snprintf(cursor, sizeof cursor, "%llu",
                   to < h->n ? (unsigned long long)h->at[to].hash : 0ULL);
    md_bulk_text(c, cursor);
    md_array(c, 2 * n);
    for (size_t i = from; i < to; i++)
        if (md_glob(s->match, md_slice(h->at[i].name))) {
            md_bulk(c, md_slice(h->at[i].name));
            md_bulk(c, md_slice(h->at[i].value));
        }
}

static void run_hscan(struct call *c)
{
    static const struct hash none;
    struct scan s = {.count = 10, .match = {"*", 1}};
    bool ok;
    const struct entry *e;

    if (!parse_cursor(c, &s.cursor))
        return;
    e = hash_of(c, &ok);
    if (ok && (!e || parse_scan(c, &s)))
        reply_scan(c, e ? &e->as.hash : &none, &s);
}

#define MAKES (C_WRITE | C_MEMORY)

const struct command md_hash_commands[] = {
    {"hset", -4, MAKES, 1, 1, 1, .run = run_hset},
    {"hmset", -4, MAKES, 1, 1, 1, .run = run_hmset},
    {"hsetnx", 4, MAKES, 1, 1, 1, .run = run_hsetnx},
    {"hget", 3, 0, 1, 1, 1, .run = run_hget},
    {"hmget", -3, 0, 1, 1, 1, .run = run_hmget},
    {"hdel", -3, C_WRITE, 1, 1, 1, .run = run_hdel},
    {"hlen", 2, 0, 1, 1, 1, .run = run_hlen},
    {"hexists", 3, 0, 1, 1, 1, .run = run_hexists},
    {"hstrlen", 3, 0, 1, 1, 1, .run = run_hstrlen},
    {"hgetall", 2, 0, 1, 1, 1, .run = run_hgetall},
    {"hkeys", 2, 0, 1, 1, 1, .run = run_hkeys},
    {"hvals", 2, 0, 1, 1, 1, .run = run_hvals},
    {"hincrby", 4, MAKES, 1, 1, 1, .run = run_hincrby},
    {"hscan", -3, 0, 1, 1, 1, .run = run_hscan},
    {.name = NULL},
};
