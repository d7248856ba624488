/* The holds that the server which decides has, and what was said of them last: a
 * line for each difference. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/soak/chaos_model_inner.h"

/* "UUID:NUMBER" and ten digits: the client's owner of this number. */
static void owner_text(const struct model *m, const char *field, char *dst)
{
    char uuid[37];
    long long number = strlen(field) > 37 ? atoll(field + 37) : 0;

    (void)snprintf(uuid, sizeof uuid, "%.36s", field);
    (void)snprintf(dst, FIELD_ROOM, "c%u:%lld", m->client_of(m->ctx, uuid),
                   number / 10000000000);
}

static int64_t reader_until_ms(const struct field *f, int64_t until_ms)
{
    int64_t longest = 0;

    for (int i = 0; i < KEYS_MAX; i++)
        if (f->keys_ms[i] > longest)
            longest = f->keys_ms[i];
    return longest < until_ms ? longest : until_ms;
}

/* A key is gone one millisecond after its time. */
static int64_t until_us(const struct server *s, int64_t until_ms)
{
    return until_ms == NEVER ? HISTORY_NEVER
                             : monitor_us(s->monitor, until_ms + 1);
}

static void say(struct model *m, const struct view *v)
{
    char line[1024];
    struct history_event e = v->event;
    size_t len;

    e.owner = history_text(v->owner);
    e.hold = history_text(v->hold);
    len = history_write(&e, line, sizeof line);
    ck_assert_uint_gt(len, 0);
    m->sink(m->ctx, e.time_us, line, len);
}

void reset(struct model *m, int lock, int64_t us, int64_t token)
{
    struct history_event e = history_event(us, 's', 1, HISTORY_RESET);
    char line[256];
    size_t len;

    e.lock = history_text(chaos_handles[lock].name);
    len = history_write(&e, line, sizeof line);
    m->sink(m->ctx, us, line, len);
    m->token_said[lock] = token;
}

static void see(struct views *all, const struct model *m, int lock,
                const struct server *s, const struct field *f, int64_t until_ms)
{
    struct view *v = &all->views[all->count++];

    v->event = history_event(0, 's', 1, HISTORY_HELD);
    v->event.lock = history_text(chaos_handles[lock].name);
    v->event.kind = kind_of(lock, f->name);
    v->event.count = f->count;
    v->is_set = f->is_set;
    v->gone_us = until_us(s, until_ms);
    if (v->event.kind == HISTORY_KIND_READ)
        until_ms = reader_until_ms(f, until_ms);
    v->event.until_us = until_us(s, until_ms);
    owner_text(m, f->name, v->owner);
    (void)snprintf(v->hold, sizeof v->hold, "%s", f->name);
}

/* All holds that the server has of the lock, `us` being now. */
static void look(struct views *all, const struct model *m, int server, int lock,
                 int64_t us)
{
    const struct server *s = &m->servers[server];
    const struct hash *h = &s->hashes[lock];

    all->count = 0;
    if (!h->is_there || until_us(s, h->until_ms) <= us)
        return;
    for (int i = 0; i < h->count; i++) {
        const struct field *f = &h->fields[i];

        if (strcmp(f->name, "mode") && f->count > 0)
            see(all, m, lock, s, f, h->until_ms);
    }
}

static struct view *find(struct views *all, const struct view *v)
{
    for (int i = 0; i < all->count; i++)
        if (strcmp(all->views[i].hold, v->hold) == 0 &&
            strcmp(all->views[i].owner, v->owner) == 0)
            return &all->views[i];
    return NULL;
}

static void say_freed(struct model *m, struct view *v, int64_t us,
                      enum history_why why)
{
    v->event.time_us = us;
    v->event.what = HISTORY_FREED;
    v->event.why = why;
    v->event.by = HISTORY_NO_BY;
    v->event.count = v->event.until_us = v->event.token = HISTORY_NONE;
    say(m, v);
}

static void tell_token(struct model *m, int lock, int64_t us)
{
    int64_t token = m->servers[m->decides[lock]].tokens[lock];

    if (token < m->token_said[lock])
        reset(m, lock, us, token);
    m->token_said[lock] = token;
}

/* The acquire that shows that another server decides, sent again to a new master: that
 * server's counter gives the token, which is smaller if it had not replicated all. */
static bool is_granted_anew(const struct view *v, enum history_by by)
{
    return by == HISTORY_BY_REPLICATION && v->is_set && v->event.count == 1;
}

/* An acquire gives a token; a re-entry keeps it. A failover to a replica that has not
 * heard of a release brings the hold back, and gives none. */
static void set_token(const struct model *m, int lock, struct view *v,
                      const struct view *old, enum history_by by)
{
    if (v->event.kind != HISTORY_KIND_FENCED)
        return;
    if (old && !is_granted_anew(v, by))
        v->event.token = old->event.token;
    else if (by == HISTORY_BY_ACQUIRE || is_granted_anew(v, by))
        v->event.token = m->token_said[lock];
}

static void forget_set(struct hash *h)
{
    for (int i = 0; i < h->count; i++)
        h->fields[i].is_set = false;
}

/* Says how the server that decides has changed the lock's holds. */
void tell(struct model *m, int lock, int64_t us, enum history_by by,
                 enum history_why why)
{
    static struct views now;
    struct views *said = &m->said[lock];

    tell_token(m, lock, us);
    look(&now, m, m->decides[lock], lock, us);
    for (int i = 0; i < said->count; i++)
        if (!find(&now, &said->views[i])) /* a dead reader: by the last living */
            say_freed(m, &said->views[i], us,
                      said->views[i].event.until_us <= us ? HISTORY_WHY_EXPIRED
                                                          : why);
    for (int i = 0; i < now.count; i++) {
        struct view *v = &now.views[i], *old = find(said, v);

        set_token(m, lock, v, old, by);
        if (old && !v->is_set && old->event.what == HISTORY_HELD &&
            old->event.count == v->event.count &&
            old->event.until_us == v->event.until_us)
            continue;
        v->event.time_us = us;
        v->event.by = by;
        say(m, v);
    }
    forget_set(&m->servers[m->decides[lock]].hashes[lock]);
    *said = now;
}

/* Before anything of this moment: what has ended by itself since the last one. */
void expire(struct model *m, int64_t us)
{
    for (int lock = 0; lock < (int)CHAOS_HANDLES; lock++) {
        struct views *said = &m->said[lock];

        for (int i = 0; i < said->count; i++)
            if (said->views[i].gone_us <= us) {
                say_freed(m, &said->views[i], said->views[i].gone_us,
                          HISTORY_WHY_EXPIRED);
                said->views[i--] = said->views[--said->count];
            }
    }
}

void decide(struct model *m, int lock, int server, int64_t us)
{
    if (m->decides[lock] == server)
        return;
    m->decides[lock] = server;
    tell(m, lock, us, HISTORY_BY_REPLICATION, HISTORY_WHY_FORGOT);
}
