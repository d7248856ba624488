/* The locks' hashes, command by command. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "tests/soak/chaos_model_inner.h"

/* The script's clock stands still from before MONITOR shows it, and Redis rounds. */
#define ROUND_MS 2

/* ---- names ---- */

/* The first handle of the name; -1: no lock of ours. */
int lock_of(const char *name, size_t len)
{
    for (size_t i = 0; i < CHAOS_HANDLES; i++)
        if (strlen(chaos_handles[i].name) == len &&
            memcmp(chaos_handles[i].name, name, len) == 0)
            return (int)i;
    return -1;
}

int lock_named(const char *name)
{
    return lock_of(name, strlen(name));
}

struct field *field_of(struct hash *h, const char *name, size_t len)
{
    for (int i = 0; i < h->count; i++)
        if (strlen(h->fields[i].name) == len &&
            memcmp(h->fields[i].name, name, len) == 0)
            return &h->fields[i];
    return NULL;
}

static bool ends_in(const char *text, const char *end)
{
    size_t len = strlen(text), of_end = strlen(end);

    return len >= of_end && strcmp(text + len - of_end, end) == 0;
}

enum history_kind kind_of(int lock, const char *field)
{
    switch (chaos_handles[lock].kind) {
    case HF_KIND_NONREENTRANT: return HISTORY_KIND_NONREENTRANT;
    case HF_KIND_FENCED: return HISTORY_KIND_FENCED;
    case HF_KIND_READ:
    case HF_KIND_WRITE:
        return ends_in(field, ":write") ? HISTORY_KIND_WRITE : HISTORY_KIND_READ;
    default: return HISTORY_KIND_PLAIN;
    }
}

/* ---- keys beside a lock ---- */

/* "{rw:0}:FIELD:rwlock_timeout:2": the place of the hold key's time, and its lock;
 * NULL: it is none, or its field is not there. */
static int64_t *hold_key(struct server *s, const char *key, bool add, int *lock)
{
    static const char suffix[] = ":rwlock_timeout:";
    const char *close = strchr(key, '}'), *end = strstr(key, suffix);
    unsigned long index = end ? strtoul(end + sizeof suffix - 1, NULL, 10) : 0;
    struct hash *h;
    struct field *f;

    *lock = close && *key == '{' ? lock_of(key + 1, (size_t)(close - key - 1))
                                 : -1;
    if (*lock < 0 || !end || index < 1 || index > KEYS_MAX)
        return NULL;
    h = &s->hashes[*lock];
    f = field_of(h, close + 2, (size_t)(end - close - 2));
    if (!f && add && h->count < FIELDS_MAX) { /* the key comes before the field */
        f = &h->fields[h->count++];
        memset(f, 0, sizeof *f);
        (void)snprintf(f->name, sizeof f->name, "%.*s", (int)(end - close - 2),
                       close + 2);
    }
    return f ? &f->keys_ms[index - 1] : NULL;
}

/* "redisson_lock_token:{fenced:0}": the lock; -1: another key. */
static int lock_of_token(const char *key)
{
    static const char prefix[] = "redisson_lock_token:{";
    size_t len = strlen(key);

    return strncmp(key, prefix, sizeof prefix - 1) == 0
               ? lock_of(key + sizeof prefix - 1, len - sizeof prefix)
               : -1;
}

/* ---- commands ---- */

static void drop(struct step *st, int lock)
{
    st->m->servers[st->server].hashes[lock].is_there = false;
    st->m->servers[st->server].hashes[lock].count = 0;
    st->is_changed[lock] = true;
}

static void drop_all(struct step *st)
{
    st->why = HISTORY_WHY_FORGOT;
    for (int i = 0; i < (int)CHAOS_HANDLES; i++) {
        drop(st, i);
        st->m->servers[st->server].tokens[i] = 0;
    }
}

/* Fields that were made for a hold key alone stay. */
static void begin_hash(struct hash *h)
{
    int kept = 0;

    for (int i = 0; i < h->count; i++)
        if (h->fields[i].count == 0 && strcmp(h->fields[i].name, "mode"))
            h->fields[kept++] = h->fields[i];
    h->count = kept;
    h->is_there = true;
    h->until_ms = NEVER;
    h->doubt_ms = 0;
}

/* Redis says nothing of a key that it finds expired. A new owner of a lock that is
 * held alone has found it free; of one that is read, by the time alone. */
static bool is_begun(const struct step *st, int lock, const struct hash *h,
                     const struct monitor_record *r)
{
    bool is_read = false, is_known = r->argc == 4; /* `mode` alone */

    for (int i = 2; i + 1 < r->argc; i += 2) {
        const char *name = r->argv[i];
        const struct field *f = field_of((struct hash *)h, name, strlen(name));

        if (strcmp(name, "mode") == 0)
            continue;
        is_read = kind_of(lock, name) == HISTORY_KIND_READ;
        is_known = f && f->count > 0; /* not made for its hold key, just now */
    }
    if (!h->is_there || (!is_known && !is_read))
        return true;
    return h->until_ms + (is_known ? ROUND_MS : 0) < st->unix_ms;
}

static void set_field(struct hash *h, const char *name, const char *value)
{
    struct field *f = field_of(h, name, strlen(name));

    if (!f && h->count < FIELDS_MAX) {
        f = &h->fields[h->count++];
        memset(f, 0, sizeof *f);
        (void)snprintf(f->name, sizeof f->name, "%s", name);
    }
    if (!f)
        return;
    f->count = strcmp(name, "mode") == 0 ? 1 : atoll(value);
    f->is_set = true;
}

static void set_fields(struct step *st, int lock, const struct monitor_record *r)
{
    struct hash *h = &st->m->servers[st->server].hashes[lock];

    if (is_begun(st, lock, h, r))
        begin_hash(h);
    for (int i = 2; i + 1 < r->argc; i += 2)
        set_field(h, r->argv[i], r->argv[i + 1]);
    st->is_changed[lock] = true;
}

static void remove_field(struct step *st, int lock, const char *name)
{
    struct hash *h = &st->m->servers[st->server].hashes[lock];
    struct field *f = field_of(h, name, strlen(name));

    if (f)
        *f = h->fields[--h->count];
    if (h->count == 0)
        h->is_there = false;
    st->is_changed[lock] = true;
}

static void set_until(struct step *st, const char *key, int64_t until_ms,
                      int64_t doubt_ms)
{
    struct server *s = &st->m->servers[st->server];
    int lock = lock_named(key), of_key;
    int64_t *hold = hold_key(s, key, false, &of_key);

    if (lock >= 0) {
        s->hashes[lock].until_ms = until_ms;
        s->hashes[lock].doubt_ms = doubt_ms;
        st->is_changed[lock] = true;
    }
    if (hold) {
        *hold = until_ms;
        st->is_changed[of_key] = true;
    }
}

static void delete(struct step *st, const char *key)
{
    int lock = lock_named(key), of_key;
    int64_t *hold = hold_key(&st->m->servers[st->server], key, false, &of_key);

    if (lock >= 0)
        drop(st, lock);
    if (hold) {
        *hold = 0;
        st->is_changed[of_key] = true;
    }
}

/* Since Redis 7.2 the clock stands still while a script runs. Before, the script's
 * clock stands still for what has expired, but TTLs count from the command itself: a
 * server that is suspended in a script gives later ones. */
static int64_t now_ms(const struct step *st, const struct monitor_record *r)
{
    return st->m->servers[st->server].is_clock_still ? st->unix_ms : r->unix_ms;
}

/* A command was executed after the line of MONITOR before its own. Of a clock that
 * stands still, that is the script's line, and what came before it. */
static int64_t doubt_ms(const struct step *st, const struct monitor_record *r)
{
    return st->m->servers[st->server].is_clock_still ? st->unix_ms - st->began_ms
                                                     : r->unix_ms - st->before_ms;
}

/* SET key 1 PX ms, or PXAT ms of a replica. */
static void set_key(struct step *st, const struct monitor_record *r)
{
    int of_key;
    int64_t *hold = hold_key(&st->m->servers[st->server], r->argv[1], true,
                             &of_key);

    if (!hold || r->argc < 5)
        return;
    *hold = atoll(r->argv[4]) +
            (strcasecmp(r->argv[3], "pxat") == 0 ? 0 : now_ms(st, r));
    st->is_changed[of_key] = true;
}

/* All nodes' numbers but the greatest are from an earlier time. */
static void restore_token(struct step *st, const char *key)
{
    int lock = lock_of_token(key);

    for (int i = 0; lock >= 0 && i < st->m->count; i++)
        if (st->m->servers[i].tokens[lock] >
            st->m->servers[st->server].tokens[lock])
            st->m->servers[st->server].tokens[lock] =
                st->m->servers[i].tokens[lock];
}

/* A hash that comes from another node, which decides no more. Its hold keys come
 * along, before or after. */
static void restore(struct step *st, const struct monitor_record *r)
{
    int lock = lock_named(r->argv[1]), from = lock < 0 ? -1 : st->m->decides[lock];
    int64_t ttl_ms = atoll(r->argv[2]);

    restore_token(st, r->argv[1]);
    if (lock_of_token(r->argv[1]) >= 0)
        st->m->servers[st->server].is_importing[lock_of_token(r->argv[1])] = true;
    if (from < 0 || from == st->server)
        return;
    st->m->servers[st->server].hashes[lock] = st->m->servers[from].hashes[lock];
    set_until(st, r->argv[1], ttl_ms ? st->unix_ms + ttl_ms : NEVER,
              st->unix_ms - st->began_ms);
    st->m->servers[st->server].is_importing[lock] = true;
    st->m->decides[lock] = st->server;
    st->by = HISTORY_BY_REPLICATION;
}

/* The hash is the other node's now, which says so by RESTORE. */
static void migrate(struct step *st, const struct monitor_record *r)
{
    for (int i = 3; i < r->argc; i++) {
        int lock = lock_named(r->argv[i]);

        if (lock >= 0 && st->m->decides[lock] != st->server)
            st->m->servers[st->server].hashes[lock].is_there = false;
    }
}

/* A server that gives a client a number which was given before has forgotten that. */
static void increment(struct step *st, const char *key)
{
    struct model *m = st->m;
    int lock = lock_of_token(key);
    int64_t *token = lock < 0 ? NULL : &m->servers[st->server].tokens[lock];

    if (!token)
        return;
    if (st->is_client && *token < m->token_said[lock])
        reset(m, lock, st->us, *token);
    ++*token;
}

static bool is_word(const struct monitor_record *r, const char *word, int argc)
{
    return r->argc >= argc && strcasecmp(r->argv[0], word) == 0;
}

void execute(struct step *st, const struct monitor_record *r)
{
    int lock = r->argc > 1 ? lock_named(r->argv[1]) : -1;

    if (is_word(r, "hset", 4) && lock >= 0)
        set_fields(st, lock, r);
    else if (is_word(r, "hdel", 3) && lock >= 0)
        for (int i = 2; i < r->argc; i++)
            remove_field(st, lock, r->argv[i]);
    else if (is_word(r, "pexpire", 3))
        set_until(st, r->argv[1], now_ms(st, r) + atoll(r->argv[2]), doubt_ms(st, r));
    else if (is_word(r, "pexpireat", 3))
        set_until(st, r->argv[1], atoll(r->argv[2]), 0);
    else if (is_word(r, "incr", 2))
        increment(st, r->argv[1]);
    else if (is_word(r, "set", 3) && lock >= 0) /* by another program */
        drop(st, lock);
    else if (is_word(r, "set", 3))
        set_key(st, r);
    else if (is_word(r, "del", 2) || is_word(r, "unlink", 2))
        for (int i = 1; i < r->argc; i++)
            delete(st, r->argv[i]);
    else if (is_word(r, "restore-asking", 4))
        restore(st, r);
    else if (is_word(r, "migrate", 6))
        migrate(st, r);
    else if (is_word(r, "flushall", 1) || is_word(r, "flushdb", 1))
        drop_all(st);
}
