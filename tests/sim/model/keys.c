/* Commands of keys of any type. */
#include "tests/sim/model/inner.h"

#include <stdio.h>

static const char *const type_names[] = {
    [MODEL_NONE] = "none", [MODEL_STRING] = "string", [MODEL_HASH] = "hash",
    [MODEL_LIST] = "list", [MODEL_ZSET] = "zset",     [MODEL_SET] = "set",
};

static void run_del(struct call *c)
{
    int n = 0;

    for (int i = 1; i < c->argc; i++) {
        struct entry *e = md_lookup(c, c->argv[i]);

        if (e)
            md_delete_key(c, e), n++;
    }
    md_int(c, n);
}

static void run_exists(struct call *c)
{
    int n = 0;

    for (int i = 1; i < c->argc; i++)
        n += md_lookup(c, c->argv[i]) != NULL;
    md_int(c, n);
}

static void run_type(struct call *c)
{
    const struct entry *e = md_lookup(c, c->argv[1]);

    md_simple(c, type_names[e ? e->type : MODEL_NONE]);
}

static void run_keys(struct call *c)
{
    size_t n = 0;

    for (int pass = 0; pass < 2; pass++) {
        if (pass)
            md_array(c, n);
        for (const struct entry *e = c->db->oldest; e; e = e->newer) {
            if (md_is_expired(c->m, e) || !md_glob(c->argv[1], md_slice(e->key)))
                continue;
            if (pass)
                md_bulk(c, md_slice(e->key));
            n++;
        }
    }
}

/* All at once: the cursor that is given back is always 0. */
static void run_scan(struct call *c)
{
    struct slice pattern = {"*", 1};
    struct slice argv[2] = {c->argv[0], pattern};
    struct call keys = *c;

    for (int i = 2; i + 1 < c->argc; i += 2)
        if (md_is(c->argv[i], "match"))
            argv[1] = c->argv[i + 1];
    md_array(c, 2);
    md_bulk_text(c, "0");
    keys.argv = argv;
    run_keys(&keys);
}

static void run_dbsize(struct call *c)
{
    md_int(c, (int64_t)c->db->n);
}

/* ---- time to live ---- */

static void reply_ttl(struct call *c, bool is_absolute, int64_t unit)
{
    const struct entry *e = md_lookup(c, c->argv[1]);
    int64_t ms;

    if (!e || e->expires_ms < 0) {
        md_int(c, e ? -1 : -2);
        return;
    }
    ms = is_absolute ? e->expires_ms : e->expires_ms - c->m->now_ms;
    md_int(c, unit == 1 ? (ms < 0 ? 0 : ms) : ((ms < 0 ? 0 : ms) + 500) / unit);
}

static void run_ttl(struct call *c)
{
    reply_ttl(c, false, 1000);
}

static void run_pttl(struct call *c)
{
    reply_ttl(c, false, 1);
}

static void run_expiretime(struct call *c)
{
    reply_ttl(c, true, 1000);
}

static void run_pexpiretime(struct call *c)
{
    reply_ttl(c, true, 1);
}

/* NX, XX, GT, LT of 7.0. */
struct condition {
    bool nx, xx, gt, lt;
};

static bool bad_condition(struct call *c, const char *text)
{
    md_error(c, "ERR %s", text);
    return false;
}

static bool parse_condition(struct call *c, struct condition *o)
{
    *o = (struct condition){0};
    for (int i = 3; i < c->argc; i++) {
        bool *flag = md_is(c->argv[i], "nx")   ? &o->nx
                     : md_is(c->argv[i], "xx") ? &o->xx
                     : md_is(c->argv[i], "gt") ? &o->gt
                     : md_is(c->argv[i], "lt") ? &o->lt
                                               : NULL;

        if (!flag) {
            md_error(c, "ERR Unsupported option %.*s", (int)c->argv[i].n,
                     c->argv[i].p);
            return false;
        }
        *flag = true;
    }
    if (o->nx && (o->xx || o->gt || o->lt))
        return bad_condition(c, "NX and XX, GT or LT options at the same time "
                                "are not compatible");
    if (o->gt && o->lt)
        return bad_condition(c, "GT and LT options at the same time are not "
                                "compatible");
    return true;
}

static bool condition_holds(const struct condition *o, int64_t now,
                            int64_t wanted)
{
    if ((o->nx && now >= 0) || (o->xx && now < 0))
        return false;
    if (o->gt && (now < 0 || wanted <= now))
        return false;
    return !(o->lt && now >= 0 && wanted >= now);
}

static bool when_of(struct call *c, bool is_absolute, int64_t unit,
                    int64_t *when)
{
    int64_t base = is_absolute ? 0 : c->m->now_ms;

    if (!md_int_arg(c, 2, when))
        return false;
    if (*when > INT64_MAX / unit || *when < INT64_MIN / unit ||
        *when * unit > INT64_MAX - base) {
        md_error(c, "ERR invalid expire time in '%s' command",
                 c->command->name);
        return false;
    }
    *when = *when * unit + base;
    return true;
}

static void set_ttl(struct call *c, struct entry *e, int64_t when)
{
    char number[24];

    if (when <= c->m->now_ms && !c->client->is_master) {
        md_effect_words(c, "DEL", c->argv[1], NULL, NULL);
        md_delete_key(c, e);
        return;
    }
    md_set_expiry(c->db, e, when < 0 ? 0 : when);
    (void)md_format(number, when);
    md_effect_words(c, "PEXPIREAT", c->argv[1], number, NULL);
    md_touched(c, c->argv[1]);
}

static void expire(struct call *c, bool is_absolute, int64_t unit)
{
    struct condition o;
    struct entry *e;
    int64_t when;

    if (!parse_condition(c, &o) || !when_of(c, is_absolute, unit, &when))
        return;
    e = md_lookup(c, c->argv[1]);
    if (!e || !condition_holds(&o, e->expires_ms, when)) {
        md_int(c, 0);
        return;
    }
    set_ttl(c, e, when);
    md_int(c, 1);
}

static void run_expire(struct call *c)
{
    expire(c, false, 1000);
}

static void run_pexpire(struct call *c)
{
    expire(c, false, 1);
}

static void run_expireat(struct call *c)
{
    expire(c, true, 1000);
}

static void run_pexpireat(struct call *c)
{
    expire(c, true, 1);
}

static void run_persist(struct call *c)
{
    struct entry *e = md_lookup(c, c->argv[1]);
    bool does = e && e->expires_ms >= 0;

    if (does) {
        md_set_expiry(c->db, e, -1);
        md_touched(c, c->argv[1]);
    }
    md_int(c, does);
}

/* ---- moving and emptying ---- */

static bool move(struct call *c, struct slice from, struct slice to)
{
    struct entry *e = md_lookup(c, from), *old = md_lookup(c, to);

    if (md_same(from, to))
        return e;
    if (old)
        md_delete_key(c, old);
    md_copy_value(c->db, md_make(c->db, to, e->type), e);
    md_touched(c, to);
    md_delete_key(c, e);
    return true;
}

static void run_rename(struct call *c)
{
    if (!md_lookup(c, c->argv[1])) {
        md_error(c, "ERR no such key");
        return;
    }
    (void)move(c, c->argv[1], c->argv[2]);
    md_ok(c);
}

static void run_renamenx(struct call *c)
{
    bool does;

    if (!md_lookup(c, c->argv[1])) {
        md_error(c, "ERR no such key");
        return;
    }
    does = !md_lookup(c, c->argv[2]);
    if (does)
        (void)move(c, c->argv[1], c->argv[2]);
    md_int(c, does);
}

static void flush_db(struct call *c, int i)
{
    struct keyspace *k = &c->m->dbs[i];

    md_invalidate_all(c->m);
    for (struct entry *e = k->oldest; e; e = e->newer)
        md_changed(c->m, i, md_slice(e->key), MODEL_BY_FLUSH,
                   c->command->name);
    md_clear(k);
}

static void run_flushdb(struct call *c)
{
    flush_db(c, (int)(c->db - c->m->dbs));
    c->changed = true;
    md_ok(c);
}

static void run_flushall(struct call *c)
{
    for (int i = 0; i < MD_DATABASES; i++)
        flush_db(c, i);
    c->changed = true;
    md_ok(c);
}

const struct command md_key_commands[] = {
    {"del", -2, C_WRITE, 1, -1, 1, .run = run_del},
    {"unlink", -2, C_WRITE, 1, -1, 1, .run = run_del},
    {"exists", -2, 0, 1, -1, 1, .run = run_exists},
    {"touch", -2, 0, 1, -1, 1, .run = run_exists},
    {"type", 2, 0, 1, 1, 1, .run = run_type},
    {"keys", 2, C_ADMIN, .run = run_keys},
    {"scan", -2, 0, .run = run_scan},
    {"dbsize", 1, 0, .run = run_dbsize},
    {"ttl", 2, 0, 1, 1, 1, .run = run_ttl},
    {"pttl", 2, 0, 1, 1, 1, .run = run_pttl},
    {"expiretime", 2, 0, 1, 1, 1, .run = run_expiretime, .since = 70},
    {"pexpiretime", 2, 0, 1, 1, 1, .run = run_pexpiretime, .since = 70},
    {"expire", -3, C_WRITE, 1, 1, 1, .run = run_expire},
    {"pexpire", -3, C_WRITE, 1, 1, 1, .run = run_pexpire},
    {"expireat", -3, C_WRITE, 1, 1, 1, .run = run_expireat},
    {"pexpireat", -3, C_WRITE, 1, 1, 1, .run = run_pexpireat},
    {"persist", 2, C_WRITE, 1, 1, 1, .run = run_persist},
    {"rename", 3, C_WRITE, 1, 2, 1, .run = run_rename},
    {"renamenx", 3, C_WRITE, 1, 2, 1, .run = run_renamenx},
    {"flushdb", -1, C_WRITE | C_ADMIN, .run = run_flushdb},
    {"flushall", -1, C_WRITE | C_ADMIN, .run = run_flushall},
    {.name = NULL},
};
