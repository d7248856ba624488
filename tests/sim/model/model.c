/* The server as a whole: birth, end, time, faults, and looking at it. */
#include "tests/sim/model/inner.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/support/dice.h"

/* ---- birth and end ---- */

static void new_id(char id[41], uint64_t *seed)
{
    static const char digits[] = "0123456789abcdef";

    for (int i = 0; i < 40; i++)
        id[i] = digits[dice_of(seed, 16)];
    id[40] = '\0';
}

static void new_run_id(struct model *m)
{
    new_id(m->run_id, &m->seed);
    new_id(m->replication_id, &m->replication_seed);
    m->former_id[0] = '\0';
}

void md_new_history(struct model *m)
{
    memcpy(m->former_id, m->replication_id, sizeof m->former_id);
    new_id(m->replication_id, &m->replication_seed);
}

struct model *model_new(const struct model_options *o)
{
    struct model *m = md_alloc(sizeof *m);

    m->options = *o;
    m->options.maxclients = o->maxclients ? o->maxclients : 10000;
    m->options.expiry_cycle_us =
        o->expiry_cycle_us ? o->expiry_cycle_us : 100000;
    (void)snprintf(m->host, sizeof m->host, "%s",
                   o->host ? o->host : "127.0.0.1");
    m->options.host = m->host;
    m->options.requirepass = NULL;
    m->seed = dice_stream(o->seed, "run id");
    m->replication_seed = dice_stream(o->seed, "replication id");
    new_run_id(m);
    for (int i = 0; i < MD_DATABASES; i++)
        m->dbs[i].seed = o->seed;
    m->clients.next = m->clients.prev = &m->clients;
    m->effect_db = -1;
    m->paused_until_us = INT64_MIN;
    md_acl_init(m, o->requirepass);
    return m;
}

static void forget_hash(struct hash *h)
{
    while (h->n > 0)
        md_field_remove(h, h->n - 1);
    free(h->at);
    *h = (struct hash){0};
}

void model_free(struct model *m)
{
    if (!m)
        return;
    md_replication_free(m);
    while (m->clients.next != &m->clients)
        md_free_client(m->clients.next);
    for (int i = 0; i < MD_DATABASES; i++)
        md_clear(&m->dbs[i]);
    forget_hash(&m->scripts);
    forget_hash(&m->config);
    md_acl_free(m);
    md_bytes_free(&m->changed_names);
    md_bytes_free(&m->scratch);
    md_bytes_free(&m->to_self);
    md_bytes_free(&m->effects);
    free(m->changes);
    free(m->channels);
    free(m->ready);
    free(m);
}

void md_set_topology(struct model *m, const struct topology *t)
{
    m->topology = *t;
}

/* ---- time ---- */

void model_set_time(struct model *m, int64_t unix_us)
{
    if (m->started_us == 0)
        m->started_us = unix_us;
    m->now_us = unix_us;
}

int64_t model_now_us(const struct model *m)
{
    return m->now_us;
}

/* A key is expired when the clock is beyond its time. */
bool md_is_expired(const struct model *m, const struct entry *e)
{
    return e->expires_ms >= 0 && m->now_ms > e->expires_ms;
}

static int64_t next_cycle(const struct model *m)
{
    int64_t first = INT64_MAX, cycle = m->options.expiry_cycle_us;

    for (int i = 0; i < MD_DATABASES; i++) {
        const struct entry *e = md_next_expiry(&m->dbs[i]);

        if (e && e->expires_ms < first)
            first = e->expires_ms;
    }
    if (first >= INT64_MAX / 1000 - cycle)
        return INT64_MAX;
    return ((first + 1) * 1000 + cycle - 1) / cycle * cycle;
}

static int64_t next_wait(const struct model *m)
{
    int64_t next = INT64_MAX;

    for (const struct model_client *c = m->clients.next; c != &m->clients;
         c = c->next)
        if (c->is_blocked && c->wait_until_us < next)
            next = c->wait_until_us;
    return next;
}

int64_t model_next_us(const struct model *m)
{
    int64_t next = next_wait(m), cycle;

    if (m->is_frozen)
        return INT64_MAX;
    if (m->paused_until_us > m->now_us && m->paused_until_us < next)
        next = m->paused_until_us;
    cycle = m->is_replica || m->is_loading ? INT64_MAX : next_cycle(m);
    return cycle < next ? cycle : next;
}

static void expire_cycle(struct model *m)
{
    struct entry *e;

    for (int i = 0; i < MD_DATABASES; i++)
        while ((e = md_next_expiry(&m->dbs[i])) && md_is_expired(m, e))
            md_delete_expired(m, i, e);
}

static void end_pause(struct model *m)
{
    if (m->paused_until_us == INT64_MIN || m->now_us < m->paused_until_us)
        return;
    m->paused_until_us = INT64_MIN;
    for (struct model_client *c = m->clients.next; c != &m->clients;
         c = c->next)
        md_run_input(c);
}

static void end_waits(struct model *m)
{
    for (struct model_client *c = m->clients.next; c != &m->clients;
         c = c->next)
        if (c->is_blocked && m->now_us >= c->wait_until_us)
            md_unblock(c, md_replicas_at(m, c->wait_offset));
}

void model_tick(struct model *m)
{
    if (m->is_frozen)
        return;
    m->now_ms = m->now_us / 1000;
    if (!m->is_replica && !m->is_loading && m->now_us >= next_cycle(m))
        expire_cycle(m);
    md_send_effects(m);
    end_waits(m);
    end_pause(m);
    md_flush(m);
}

/* ---- what has changed ---- */

void md_delete_expired(struct model *m, int db, struct entry *e)
{
    struct slice del[2] = {md_text("DEL"), md_slice(e->key)};
    struct model_change change = {db, e->key->p, e->key->n, MODEL_BY_EXPIRY,
                                  "", NULL, 0};
    struct blob *key = md_blob(md_slice(e->key));
    struct call c = {.m = m, .db = &m->dbs[db]};

    md_effect(&c, del, 2);
    md_remove(&m->dbs[db], e);
    md_invalidate(m, md_slice(key), false);
    change.key = key->p;
    if (m->observer.on_change)
        m->observer.on_change(m->observer.ctx, m, &change);
    free(key);
}

static bool is_noted(const struct model *m, int db, struct slice key)
{
    for (size_t i = 0; i < m->change_n; i++) {
        const struct change *ch = &m->changes[i];

        if (ch->db == db && ch->n == key.n &&
            memcmp(m->changed_names.p + ch->at, key.p, key.n) == 0)
            return true;
    }
    return false;
}

void md_changed(struct model *m, int db, struct slice key,
                enum model_cause cause, const char *command)
{
    md_invalidate(m, key, true);
    if (!m->observer.on_change || is_noted(m, db, key))
        return;
    m->changes =
        md_grow(m->changes, m->change_n, &m->change_room, sizeof *m->changes);
    m->changes[m->change_n++] =
        (struct change){db, m->changed_names.n, key.n, cause, command};
    md_add(&m->changed_names, key.p, key.n);
    md_add(&m->changed_names, "", 1);
}

void md_tell_changes(struct model *m)
{
    for (size_t i = 0; i < m->change_n; i++) {
        const struct change *ch = &m->changes[i];
        struct model_change change = {
            ch->db, m->changed_names.p + ch->at, ch->n, ch->cause, ch->command,
            m->script_sha, m->current_client};

        m->observer.on_change(m->observer.ctx, m, &change);
    }
    m->change_n = 0;
    m->changed_names.n = 0;
    m->script_sha = NULL;
}

/* ---- faults ---- */

void model_freeze(struct model *m)
{
    m->is_frozen = true;
}

static void feed_ready(struct model *m)
{
    size_t n = m->ready_n;
    struct model_client **ready = m->ready;

    m->ready = NULL;
    m->ready_n = m->ready_room = 0;
    for (size_t i = 0; i < n; i++) {
        ready[i]->is_queued = false;
        md_run_input(ready[i]);
    }
    free(ready);
}

void model_continue(struct model *m)
{
    if (!m->is_frozen)
        return;
    m->is_frozen = false;
    feed_ready(m);
    model_tick(m);
}

void model_close_all(struct model *m)
{
    struct model_client *next;

    for (struct model_client *c = m->clients.next; c != &m->clients; c = next) {
        next = c->next;
        if (!c->is_gone && !c->is_master)
            c->close(c->ctx);
        if (!c->is_master)
            md_free_client(c);
    }
    free(m->ready);
    m->ready = NULL;
    m->ready_n = m->ready_room = 0;
}

static void flush_all(struct model *m, enum model_cause cause)
{
    for (int i = 0; i < MD_DATABASES; i++) {
        for (struct entry *e = m->dbs[i].oldest; e; e = e->newer)
            md_changed(m, i, md_slice(e->key), cause, "");
        md_clear(&m->dbs[i]);
    }
    md_tell_changes(m);
}

void model_restart(struct model *m, bool with_data)
{
    model_close_all(m);
    md_replication_free(m);
    m->is_frozen = m->is_busy = m->is_loading = false;
    m->is_scant = m->is_unsaved = m->is_replica = m->has_backlog = false;
    m->paused_until_us = INT64_MIN;
    m->started_us = m->now_us;
    model_forget_scripts(m);
    new_run_id(m);
    if (!with_data)
        flush_all(m, MODEL_BY_OWNER);
}

void model_seem(struct model *m, const struct model *other)
{
    m->seems = other;
}

void model_forget_scripts(struct model *m)
{
    forget_hash(&m->scripts);
}

bool model_delete(struct model *m, int db, const char *key, size_t len)
{
    struct slice del[2] = {md_text("DEL"), {key, len}};
    struct entry *e = md_find(&m->dbs[db], del[1]);
    struct call c = {.m = m, .db = &m->dbs[db]};

    if (!e)
        return false;
    md_changed(m, db, del[1], MODEL_BY_OWNER, "del");
    md_effect(&c, del, 2);
    md_remove(&m->dbs[db], e);
    md_tell_changes(m);
    md_send_effects(m);
    md_flush(m);
    return true;
}

void model_set_loading(struct model *m, bool is_loading)
{
    m->is_loading = is_loading;
}

void model_set_busy(struct model *m, bool is_busy)
{
    m->is_busy = is_busy;
}

void model_set_full(struct model *m, bool is_full)
{
    m->is_full = is_full;
}

void model_hide(struct model *m, const char *command)
{
    m->hidden = command;
}

void model_set_scant(struct model *m, bool is_scant)
{
    m->is_scant = is_scant;
}

void model_set_unsaved(struct model *m, bool is_unsaved)
{
    m->is_unsaved = is_unsaved;
}

void model_set_proxy(struct model *m, enum model_proxy proxy)
{
    m->proxy = proxy;
}

static bool has_subscribed(const struct model_client *c, int64_t idle_us)
{
    (void)idle_us;
    return c->channels + c->shard_channels > 0;
}

static bool is_idle(const struct model_client *c, int64_t idle_us)
{
    return !has_subscribed(c, 0) && !c->is_blocked &&
           c->m->now_us - c->active_us >= idle_us;
}

static int close_those(struct model *m,
                       bool (*is_one)(const struct model_client *c, int64_t us),
                       int64_t us)
{
    int n = 0;

    for (struct model_client *c = m->clients.next; c != &m->clients;
         c = c->next)
        if (!c->is_master && !c->is_gone && is_one(c, us)) {
            md_close(c);
            n++;
        }
    md_flush(m);
    return n;
}

int model_close_listeners(struct model *m)
{
    return close_those(m, has_subscribed, 0);
}

int model_close_idle(struct model *m, int64_t idle_us)
{
    return close_those(m, is_idle, idle_us);
}

int model_close_logins(struct model *m, const char *password)
{
    int n = 0;

    for (struct model_client *c = m->clients.next; c != &m->clients; c = c->next)
        if (!c->is_master && !c->is_gone && strcmp(c->password, password) == 0) {
            md_close(c);
            n++;
        }
    md_flush(m);
    return n;
}

void model_set_maxclients(struct model *m, int maxclients)
{
    m->options.maxclients = maxclients;
}
