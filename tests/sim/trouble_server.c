/* What a server refuses, closes and forgets by its configuration. */
#include <stdio.h>
#include <string.h>

#include "tests/sim/failover.h"
#include "tests/sim/trouble_kinds.h"

static struct server *server_of(const struct trouble *t)
{
    return site_server(t->sim->site, t->fault->server);
}

static void set_mark(const struct trouble *t, struct server *s)
{
    uint64_t bit = UINT64_C(1) << t->fault->trouble;

    s->marks = t->is_on ? s->marks | bit : s->marks & ~bit;
}

/* ---- rights ---- */

static void rename_hello(struct trouble *t)
{
    struct site *site = t->sim->site;

    for (size_t i = 0; i < site->count; i++)
        model_hide(site->servers[i]->model, t->is_on ? "hello" : NULL);
}

static void forbid(struct trouble *t)
{
    char words[64];

    (void)snprintf(words, sizeof words, "SETUSER default %c%s",
                   t->is_on ? '-' : '+', effects_word(t->fault->n));
    site_forbid(t->sim->site, words);
}

/* At each server: an operator gives users the same rights everywhere. */
void trouble_deny(struct trouble *t)
{
    struct site *site = t->sim->site;

    if (t->fault->n == DENIED_HELLO)
        rename_hello(t);
    else
        forbid(t);
    for (size_t i = 0; i < site->count; i++) {
        if (t->is_on)
            site->servers[i]->denied = t->fault->n;
        set_mark(t, site->servers[i]);
    }
}

/* Connections that there are need none, as on a real server. */
void trouble_password(struct trouble *t)
{
    struct server *s = server_of(t);

    (void)model_acl(server_turn(s), t->is_on ? "SETUSER default >secret"
                                             : "SETUSER default nopass");
    if (t->is_on && t->fault->n == 1)
        model_close_all(s->model);
    server_done(s);
    set_mark(t, s);
}

/* Its end was known: each connection has logged in with the next one (LOGIN-3). */
static void end_former_password(struct trouble *t)
{
    struct site *site = t->sim->site;
    char words[64];
    int closed = 0;

    (void)snprintf(words, sizeof words, "SETUSER default <" SITE_PASSWORD,
                   (long long)site->password - 1);
    site_set_password(site, words);
    (void)snprintf(words, sizeof words, SITE_PASSWORD, (long long)site->password - 1);
    for (size_t i = 0; i < site->count; i++) {
        closed += model_close_logins(server_turn(site->servers[i]), words);
        server_done(site->servers[i]);
    }
    if (closed > 0)
        sim_fail(t->sim, "login", "%d connections have a password that has ended", closed);
    effects_note(t->sim, EFFECT_RENEWED_LOGIN);
}

void trouble_rotate(struct trouble *t)
{
    struct site *site = t->sim->site;
    bool overlaps = t->fault->n == 2;
    char words[64];

    if (!t->is_on && overlaps)
        end_former_password(t);
    if (!t->is_on) {
        site->known_password = site->password;
        return;
    }
    (void)snprintf(words, sizeof words, "SETUSER default %s>" SITE_PASSWORD,
                   overlaps ? "" : "resetpass ", (long long)++site->password);
    site_set_password(site, words);
    for (size_t i = 0; i < site->count && t->fault->n == 1; i++) {
        model_close_all(server_turn(site->servers[i]));
        server_done(site->servers[i]);
    }
    if (overlaps)
        site->known_password = site->password;
}

/* ---- writes ---- */

void trouble_refuse_writes(struct trouble *t)
{
    struct server *s = server_of(t);
    struct model *m = server_turn(s);

    if (t->fault->trouble == FAULT_SCANT)
        model_set_scant(m, t->is_on);
    else
        model_set_unsaved(m, t->is_on);
    server_done(s);
    set_mark(t, s);
}

/* ---- keys ---- */

#define KEYS_MAX 64

struct keys {
    const struct plan *plan;
    struct model_text all[KEYS_MAX];
    size_t count;
};

static bool is_in(const char *name, struct model_text key)
{
    return memmem(key.p, key.n, name, strlen(name)) != NULL;
}

/* Of permits, all keys or none must go, or there are more or fewer than before;
 * of readers' leases, none (docs/guarantees.md, A2). */
static bool may_go(const struct plan *plan, struct model_text key)
{
    if (is_in("rwlock_timeout", key))
        return false;
    for (int64_t i = 0; i < (int64_t)plan->lock_count; i++)
        if (plan_has_permits(plan, i) && is_in(plan_lock_name(plan, i), key))
            return false;
    return true;
}

static void add_key(void *ctx, const struct model_key *key)
{
    struct keys *k = ctx;

    if (k->count < KEYS_MAX && may_go(k->plan, key->name))
        k->all[k->count++] = key->name;
}

void trouble_evict(struct trouble *t)
{
    struct server *s = server_of(t);
    struct model *m = server_turn(s);
    struct keys keys = {.plan = t->sim->plan};
    char key[PLAN_KEY_MAX];
    struct model_text victim;

    model_each_key(m, 0, add_key, &keys);
    if (keys.count == 0 || !model_is_master(m))
        return;
    victim = keys.all[(size_t)t->fault->n % keys.count];
    if (victim.n > sizeof key)
        return;
    memcpy(key, victim.p, victim.n);
    if (model_delete(m, 0, key, victim.n))
        effects_note(t->sim, EFFECT_EVICTED);
    server_done(s);
}

/* ---- connections ---- */

void trouble_close_some(struct trouble *t)
{
    struct server *s = server_of(t);
    bool listens = t->fault->trouble == FAULT_OUTPUT;
    int closed = listens
                     ? model_close_listeners(server_turn(s))
                     : model_close_idle(server_turn(s), t->fault->n * 1000);

    server_done(s);
    if (closed > 0)
        effects_note(t->sim, listens ? EFFECT_OUTPUT : EFFECT_IDLE);
}

/* ---- REPLICAOF ---- */

/* A server that is alone is told to be a replica, and then a master again.
 * Elsewhere another one takes over. */
void trouble_demote(struct trouble *t)
{
    struct server *s = failover_master(t);

    if (t->sim->plan->head.deployment == DEPLOY_SENTINEL ||
        t->sim->plan->head.deployment == DEPLOY_HOSTS) {
        if (t->is_on)
            set_mark(t, s);
        failover(t);
        return;
    }
    (void)server_turn(s);
    if (t->is_on)
        model_demote(s->model);
    else
        model_promote(s->model);
    server_done(s);
    set_mark(t, s);
}

/* ---- one address ---- */

#define DELIVERED_US 1000

static void on_led(void *ctx)
{
    struct trouble *t = ctx;
    struct site *site = t->sim->site;

    listener_lead(site->servers[0]->listener, site_master_of_shard(site, 0));
}

static void on_switch(void *ctx)
{
    struct trouble *t = ctx;

    if (!failover_switch(t))
        return;
    t->again = (struct event){.happen = on_led, .ctx = t};
    world_after(t->sim->world, &t->again, t->fault->n * 1000);
}

/* The former master accepts no write while its last ones are on their way. */
void trouble_switchover(struct trouble *t)
{
    if (!t->is_on) {
        set_mark(t, t->old);
        return;
    }
    t->old = failover_master(t);
    set_mark(t, t->old);
    model_demote(server_turn(t->old));
    server_done(t->old);
    t->again = (struct event){.happen = on_switch, .ctx = t};
    world_after(t->sim->world, &t->again, t->sim->plan->head.lag_us + DELIVERED_US);
}

/* ---- power ---- */

static bool decides(const struct server *s)
{
    return !s->feed && !s->is_down && !s->witness.is_replaced && model_is_master(s->model);
}

static void fail_power(void *ctx)
{
    struct trouble *t = ctx;

    if (!decides(t->old))
        return;
    if (t->fault->n % 2 == 1)
        server_lose_power(t->old);
    else
        server_take_down(t->old);
}

/* The kernel is back, and knows none of the connections that there were. */
static void reset_links(struct trouble *t)
{
    for (size_t i = 0; i < t->sim->plan->program_count; i++)
        link_reset(site_link(t->sim->site, t->sim->programs[i], t->old));
}

/* A server that decides about locks, of which no other power failure has the data. */
void trouble_power(struct trouble *t)
{
    struct server *s = server_of(t);

    if (t->is_on) {
        t->old = decides(s) && !s->on_disk ? s : NULL;
        if (!t->old)
            return;
        server_stop_disk(s);
        t->again = (struct event){.happen = fail_power, .ctx = t};
        if (t->fault->n < t->fault->for_ms)
            world_after(t->sim->world, &t->again, t->fault->n * 1000);
        return;
    }
    if (!t->old)
        return;
    if (t->fault->n >= t->fault->for_ms)
        fail_power(t);
    if (t->fault->n % 2 == 1)
        reset_links(t);
    if (server_restore(s))
        effects_note(t->sim, EFFECT_ROLLED_BACK);
}
