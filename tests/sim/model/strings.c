/* Commands of strings and counters. */
#include "tests/sim/model/inner.h"

#include <stdio.h>
#include <stdlib.h>

/* What SET and GETEX were told behind their first arguments. */
struct options {
    bool only_new, only_old, keeps_ttl, gets, persists;
    bool has_expiry;
    int expiry_at;            /* its unit's place among the arguments */
    int64_t expires_ms;
};

static void put_string(struct call *c, struct slice key, struct slice value)
{
    struct entry *e = md_lookup(c, key);

    if (!e)
        e = md_make(c->db, key, MODEL_STRING);
    md_drop_value(e);
    e->type = MODEL_STRING;
    e->as.string = md_blob(value);
    md_touched(c, key);
}

static bool invalid_expiry(struct call *c)
{
    md_error(c, "ERR invalid expire time in '%s' command", c->command->name);
    return false;
}

/* `unit`: EX, PX, EXAT, PXAT. The time in ms, or false with an error. */
static bool expiry_of(struct call *c, struct slice unit, int i, int64_t *ms)
{
    bool seconds = md_is(unit, "ex") || md_is(unit, "exat");
    bool relative = unit.n == 2;

    if (!md_int_arg(c, i, ms))
        return false;
    if (*ms <= 0 || (seconds && *ms > INT64_MAX / 1000))
        return invalid_expiry(c);
    if (seconds)
        *ms *= 1000;
    if (relative && *ms > INT64_MAX - c->m->now_ms)
        return invalid_expiry(c);
    if (relative)
        *ms += c->m->now_ms;
    return true;
}

static bool is_unit(struct slice w)
{
    return md_is(w, "ex") || md_is(w, "px") || md_is(w, "exat") ||
           md_is(w, "pxat");
}

static bool *flag_of(struct options *o, struct slice w, bool is_set)
{
    if (is_set && md_is(w, "nx"))
        return &o->only_new;
    if (is_set && md_is(w, "xx"))
        return &o->only_old;
    if (is_set && md_is(w, "keepttl"))
        return &o->keeps_ttl;
    if (is_set && md_is(w, "get"))
        return &o->gets;
    return !is_set && md_is(w, "persist") ? &o->persists : NULL;
}

static bool parse_options(struct call *c, int from, bool is_set,
                          struct options *o)
{
    *o = (struct options){0};
    for (int i = from; i < c->argc; i++) {
        bool *flag = flag_of(o, c->argv[i], is_set);

        if (flag) {
            *flag = true;
        } else if (is_unit(c->argv[i]) && !o->expiry_at && i + 1 < c->argc) {
            o->expiry_at = i++;
        } else {
            md_syntax(c);
            return false;
        }
    }
    o->has_expiry = o->expiry_at > 0;
    if ((o->only_new && o->only_old) ||
        (o->has_expiry && (o->keeps_ttl || o->persists))) {
        md_syntax(c);
        return false;
    }
    return true;
}

static bool read_expiry(struct call *c, struct options *o)
{
    return !o->has_expiry || expiry_of(c, c->argv[o->expiry_at],
                                       o->expiry_at + 1, &o->expires_ms);
}

static void set_effect(struct call *c, struct slice key, struct slice value,
                       const struct options *o)
{
    char number[24];
    struct slice argv[5] = {md_text("SET"), key, value, md_text("PXAT"),
                            {number, md_format(number, o->expires_ms)}};

    if (o->keeps_ttl)
        argv[3] = md_text("KEEPTTL");
    md_effect(c, argv, o->has_expiry ? 5 : o->keeps_ttl ? 4 : 3);
}

static void store(struct call *c, struct slice key, struct slice value,
                  const struct options *o)
{
    struct entry *e;

    put_string(c, key, value);
    e = md_find(c->db, key);
    if (!o->keeps_ttl)
        md_set_expiry(c->db, e, o->has_expiry ? o->expires_ms : -1);
    set_effect(c, key, value, o);
}

static void reply_old(struct call *c, const struct entry *old)
{
    if (old)
        md_bulk(c, md_slice(old->as.string));
    else
        md_null(c);
}

static void run_set(struct call *c)
{
    struct options o;
    const struct entry *old;
    bool does;

    if (!parse_options(c, 3, true, &o) || !read_expiry(c, &o))
        return;
    old = md_lookup(c, c->argv[1]);
    if (o.gets && old && old->type != MODEL_STRING) {
        md_wrong_type(c);
        return;
    }
    does = !(o.only_new && old) && !(o.only_old && !old);
    if (o.gets)
        reply_old(c, old);
    else if (does)
        md_ok(c);
    else
        md_null(c);
    if (does)
        store(c, c->argv[1], c->argv[2], &o);
}

static void run_setnx(struct call *c)
{
    bool does = !md_lookup(c, c->argv[1]);

    if (does)
        store(c, c->argv[1], c->argv[2], &(struct options){0});
    md_int(c, does);
}

static void set_for(struct call *c, const char *unit)
{
    struct options o = {.has_expiry = true};

    if (!expiry_of(c, md_text(unit), 2, &o.expires_ms))
        return;
    store(c, c->argv[1], c->argv[3], &o);
    md_ok(c);
}

static void run_setex(struct call *c)
{
    set_for(c, "ex");
}

static void run_psetex(struct call *c)
{
    set_for(c, "px");
}

static void run_get(struct call *c)
{
    bool ok;
    const struct entry *e = md_typed(c, c->argv[1], MODEL_STRING, &ok);

    if (ok)
        reply_old(c, e);
}

static void run_getset(struct call *c)
{
    bool ok;
    const struct entry *e = md_typed(c, c->argv[1], MODEL_STRING, &ok);

    if (!ok)
        return;
    reply_old(c, e);
    store(c, c->argv[1], c->argv[2], &(struct options){0});
}

static void run_getdel(struct call *c)
{
    bool ok;
    struct entry *e = md_typed(c, c->argv[1], MODEL_STRING, &ok);

    if (!ok)
        return;
    reply_old(c, e);
    if (e) {
        md_effect_words(c, "DEL", c->argv[1], NULL, NULL);
        md_delete_key(c, e);
    }
}

static void run_getex(struct call *c)
{
    bool ok;
    struct entry *e;
    struct options o;
    char number[24];

    if (!parse_options(c, 2, false, &o))
        return;
    if (c->m->options.version == MODEL_VALKEY_9 && !read_expiry(c, &o))
        return;
    e = md_typed(c, c->argv[1], MODEL_STRING, &ok);
    if (!ok || (e && !read_expiry(c, &o)))
        return;
    reply_old(c, e);
    if (!e || !(o.has_expiry || (o.persists && e->expires_ms >= 0)))
        return;
    md_set_expiry(c->db, e, o.has_expiry ? o.expires_ms : -1);
    (void)md_format(number, o.expires_ms);
    md_effect_words(c, o.persists ? "PERSIST" : "PEXPIREAT", c->argv[1],
                    o.persists ? NULL : number, NULL);
    md_touched(c, c->argv[1]);
}

static void run_mget(struct call *c)
{
    md_array(c, (size_t)c->argc - 1);
    for (int i = 1; i < c->argc; i++) {
        const struct entry *e = md_lookup(c, c->argv[i]);

        reply_old(c, e && e->type == MODEL_STRING ? e : NULL);
    }
}

static void run_mset(struct call *c)
{
    if (c->argc % 2 == 0) {
        md_error(c, "ERR wrong number of arguments for '%s' command",
                 c->command->name);
        return;
    }
    for (int i = 1; i < c->argc; i += 2)
        store(c, c->argv[i], c->argv[i + 1], &(struct options){0});
    md_ok(c);
}

static void run_strlen(struct call *c)
{
    bool ok;
    const struct entry *e = md_typed(c, c->argv[1], MODEL_STRING, &ok);

    if (ok)
        md_int(c, e ? e->as.string->n : 0);
}

/* Counted from the end if negative. */
static int64_t place_of(int64_t index, int64_t len)
{
    int64_t at = index < 0 ? len + index : index;

    return at < 0 ? 0 : at;
}

static void run_getrange(struct call *c)
{
    bool ok;
    const struct entry *e;
    int64_t first, last, len;

    if (!md_int_arg(c, 2, &first) || !md_int_arg(c, 3, &last))
        return;
    e = md_typed(c, c->argv[1], MODEL_STRING, &ok);
    if (!ok)
        return;
    len = e ? (int64_t)e->as.string->n : 0;
    if (len == 0 || (first < 0 && last < 0 && first > last)) {
        md_bulk(c, (struct slice){"", 0});
        return;
    }
    first = place_of(first, len);
    last = place_of(last, len);
    if (last >= len)
        last = len - 1;
    md_bulk(c, first > last ? (struct slice){"", 0}
                            : (struct slice){e->as.string->p + first,
                                             (size_t)(last - first + 1)});
}

static void run_append(struct call *c)
{
    bool ok;
    struct entry *e = md_typed(c, c->argv[1], MODEL_STRING, &ok);
    struct bytes all = {NULL, 0, 0};

    if (!ok)
        return;
    if (e)
        md_add(&all, e->as.string->p, e->as.string->n);
    md_add(&all, c->argv[2].p, c->argv[2].n);
    put_string(c, c->argv[1], (struct slice){all.p ? all.p : "", all.n});
    md_int(c, (int64_t)all.n);
    md_bytes_free(&all);
}

/* ---- counters ---- */

static bool add_overflows(int64_t a, int64_t b)
{
    return (b > 0 && a > INT64_MAX - b) || (b < 0 && a < INT64_MIN - b);
}

static void add_to(struct call *c, int64_t by)
{
    bool ok;
    const struct entry *e = md_typed(c, c->argv[1], MODEL_STRING, &ok);
    int64_t n = 0;
    char text[24];

    if (!ok)
        return;
    if (e && !md_integer(md_slice(e->as.string), &n)) {
        md_error(c, "ERR value is not an integer or out of range");
        return;
    }
    if (add_overflows(n, by)) {
        md_error(c, "ERR increment or decrement would overflow");
        return;
    }
    put_string(c, c->argv[1], (struct slice){text, md_format(text, n + by)});
    md_int(c, n + by);
}

static void run_incr(struct call *c)
{
    add_to(c, 1);
}

static void run_decr(struct call *c)
{
    add_to(c, -1);
}

static void run_incrby(struct call *c)
{
    int64_t by;

    if (md_int_arg(c, 2, &by))
        add_to(c, by);
}

static void run_decrby(struct call *c)
{
    int64_t by;

    if (!md_int_arg(c, 2, &by))
        return;
    if (by == INT64_MIN)
        md_error(c, "ERR decrement would overflow");
    else
        add_to(c, -by);
}

#define MAKES (C_WRITE | C_MEMORY)

const struct command md_string_commands[] = {
    {"get", 2, 0, 1, 1, 1, .run = run_get},
    {"set", -3, MAKES, 1, 1, 1, .run = run_set},
    {"setnx", 3, MAKES, 1, 1, 1, .run = run_setnx},
    {"setex", 4, MAKES, 1, 1, 1, .run = run_setex},
    {"psetex", 4, MAKES, 1, 1, 1, .run = run_psetex},
    {"getset", 3, MAKES, 1, 1, 1, .run = run_getset},
    {"getdel", 2, C_WRITE, 1, 1, 1, .run = run_getdel, .since = 62},
    {"getex", -2, C_WRITE, 1, 1, 1, .run = run_getex, .since = 62},
    {"mget", -2, 0, 1, -1, 1, .run = run_mget},
    {"mset", -3, MAKES, 1, -1, 2, .run = run_mset},
    {"getrange", 4, 0, 1, 1, 1, .run = run_getrange},
    {"strlen", 2, 0, 1, 1, 1, .run = run_strlen},
    {"append", 3, MAKES, 1, 1, 1, .run = run_append},
    {"incr", 2, MAKES, 1, 1, 1, .run = run_incr},
    {"decr", 2, MAKES, 1, 1, 1, .run = run_decr},
    {"incrby", 3, MAKES, 1, 1, 1, .run = run_incrby},
    {"decrby", 3, MAKES, 1, 1, 1, .run = run_decrby},
    {.name = NULL},
};
