/* What a server refuses, closes and forgets by its configuration. */
#include <stdio.h>
#include <string.h>

#include "tests/sim/failover.h"
#include "tests/sim/fault_kinds.h"

static struct server *server_of(const struct fault *f)
{
    return site_server(f->sim->site, f->planned->server);
}

static void set_mark(const struct fault *f, struct server *s)
{
    uint64_t bit = UINT64_C(1) << f->planned->kind;

    s->marks = f->is_on ? s->marks | bit : s->marks & ~bit;
}

/* ---- rights ---- */

static void rename_hello(struct fault *f)
{
    struct site *site = f->sim->site;

    for (size_t i = 0; i < site->count; i++)
        model_hide(site->servers[i]->model, f->is_on ? "hello" : NULL);
}

static void forbid(struct fault *f)
{
    char words[64];

    (void)snprintf(words, sizeof words, "SETUSER default %c%s",
                   f->is_on ? '-' : '+', effects_word(f->planned->n));
    site_forbid(f->sim->site, words);
}

/* At each server: an operator gives users the same rights everywhere. */
void fault_deny(struct fault *f)
{
    struct site *site = f->sim->site;

    if (f->planned->n == DENIED_HELLO)
        rename_hello(f);
    else
        forbid(f);
    for (size_t i = 0; i < site->count; i++) {
        if (f->is_on)
            site->servers[i]->denied = f->planned->n;
        set_mark(f, site->servers[i]);
    }
}

/* Connections that there are need none, as on a real server. */
void fault_password(struct fault *f)
{
    struct server *s = server_of(f);

    (void)model_acl(server_turn(s), f->is_on ? "SETUSER default >secret"
                                             : "SETUSER default nopass");
    if (f->is_on && f->planned->n == 1)
        model_close_all(s->model);
    server_done(s);
    set_mark(f, s);
}

/* Less is no time for a query of credentials. Only plans that are being shrunk have less. */
#define NOTICE_MIN_MS 2000

/* On a half-open connection neither a login nor its end arrives. */
static bool has_half_open_connection(const struct sim *sim)
{
    const struct site *site = sim->site;

    for (size_t i = 0; i < sim->plan->program_count; i++)
        for (size_t k = 0; k < site->count; k++)
            if (link_is_half_open(site_link(sim->site, sim->programs[i], site->servers[k])))
                return true;
    return false;
}

/* Its end was known: each connection has logged in with the next one (LOGIN-3). */
static void end_former_password(struct fault *f)
{
    struct site *site = f->sim->site;
    bool was_half_open = has_half_open_connection(f->sim);
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
    if (closed > 0 && f->planned->for_ms >= NOTICE_MIN_MS && !was_half_open)
        sim_fail(f->sim, "login", "%d connections have a password that has ended", closed);
    effects_note(f->sim, EFFECT_RENEWED_LOGIN);
}

void fault_rotate(struct fault *f)
{
    struct site *site = f->sim->site;
    bool overlaps = f->planned->n == 2;
    char words[64];

    if (!f->is_on && overlaps)
        end_former_password(f);
    if (!f->is_on) {
        site->known_password = site->password;
        return;
    }
    (void)snprintf(words, sizeof words, "SETUSER default %s>" SITE_PASSWORD,
                   overlaps ? "" : "resetpass ", (long long)++site->password);
    site_set_password(site, words);
    for (size_t i = 0; i < site->count && f->planned->n == 1; i++) {
        model_close_all(server_turn(site->servers[i]));
        server_done(site->servers[i]);
    }
    if (overlaps)
        site->known_password = site->password;
}

/* ---- writes ---- */

void fault_refuse_writes(struct fault *f)
{
    struct server *s = server_of(f);
    struct model *m = server_turn(s);

    if (f->planned->kind == FAULT_SCANT)
        model_set_scant(m, f->is_on);
    else
        model_set_unsaved(m, f->is_on);
    server_done(s);
    set_mark(f, s);
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

void fault_evict(struct fault *f)
{
    struct server *s = server_of(f);
    struct model *m = server_turn(s);
    struct keys keys = {.plan = f->sim->plan};
    char key[PLAN_KEY_MAX];
    struct model_text victim;

    model_each_key(m, 0, add_key, &keys);
    if (keys.count == 0 || !model_is_master(m) || s->is_down)
        return; /* what is down has only what is on its disk */
    victim = keys.all[(size_t)f->planned->n % keys.count];
    if (victim.n > sizeof key)
        return;
    memcpy(key, victim.p, victim.n);
    if (model_delete(m, 0, key, victim.n))
        effects_note(f->sim, EFFECT_EVICTED);
    server_done(s);
}

/* ---- connections ---- */

void fault_close_some(struct fault *f)
{
    struct server *s = server_of(f);
    bool listens = f->planned->kind == FAULT_OUTPUT;
    int closed = listens
                     ? model_close_listeners(server_turn(s))
                     : model_close_idle(server_turn(s), f->planned->n * 1000);

    server_done(s);
    if (closed > 0)
        effects_note(f->sim, listens ? EFFECT_OUTPUT : EFFECT_IDLE);
}

/* ---- REPLICAOF ---- */

/* A single server becomes a replica, and then a master again. In other deployments another
 * server takes over. */
void fault_demote(struct fault *f)
{
    struct server *s = failover_master(f);

    if (f->sim->plan->head.deployment == DEPLOY_SENTINEL ||
        f->sim->plan->head.deployment == DEPLOY_HOSTS) {
        if (f->is_on)
            set_mark(f, s);
        failover(f);
        return;
    }
    (void)server_turn(s);
    if (f->is_on)
        model_demote(s->model);
    else
        model_promote(s->model);
    server_done(s);
    set_mark(f, s);
}

/* ---- one address ---- */

#define DELIVERED_US 1000

static void on_led(void *ctx)
{
    struct fault *f = ctx;
    struct site *site = f->sim->site;

    listener_lead(site->servers[0]->listener, site_master_of_shard(site, 0));
}

static void on_switch(void *ctx)
{
    struct fault *f = ctx;

    if (!failover_switch(f))
        return;
    f->again = (struct event){.happen = on_led, .ctx = f};
    world_after(f->sim->world, &f->again, f->planned->n * 1000);
}

/* The former master accepts no write while its last ones are on their way. */
void fault_switchover(struct fault *f)
{
    if (!f->is_on) {
        set_mark(f, f->old);
        return;
    }
    f->old = failover_master(f);
    set_mark(f, f->old);
    model_demote(server_turn(f->old));
    server_done(f->old);
    f->again = (struct event){.happen = on_switch, .ctx = f};
    world_after(f->sim->world, &f->again, f->sim->plan->head.lag_us + DELIVERED_US);
}

/* ---- a proxy ---- */

void fault_proxy(struct fault *f)
{
    struct server *s = server_of(f);
    struct model *m = server_turn(s);

    model_set_proxy(m, !f->is_on             ? MODEL_PROXY_SENDS
                       : f->planned->n == 1 ? MODEL_PROXY_LOSES_REPLIES
                                            : MODEL_PROXY_SENDS_NOTHING);
    server_done(s);
    set_mark(f, s);
}

/* ---- power ---- */

static bool decides(const struct server *s)
{
    return !s->feed && !s->is_down && !s->observer.is_replaced && model_is_master(s->model);
}

static void fail_power(void *ctx)
{
    struct fault *f = ctx;

    if (!decides(f->old))
        return;
    if (f->planned->n % 2 == 1)
        server_lose_power(f->old);
    else
        server_take_down(f->old);
}

/* The kernel is back, and knows none of the connections that there were. */
static void reset_links(struct fault *f)
{
    for (size_t i = 0; i < f->sim->plan->program_count; i++)
        link_reset(site_link(f->sim->site, f->sim->programs[i], f->old));
}

/* A server that decides about locks, of which no other power failure has the data. */
void fault_power(struct fault *f)
{
    struct server *s = server_of(f);

    if (f->is_on) {
        f->old = decides(s) && !s->on_disk ? s : NULL;
        if (!f->old)
            return;
        server_stop_disk(s);
        f->again = (struct event){.happen = fail_power, .ctx = f};
        if (f->planned->n < f->planned->for_ms)
            world_after(f->sim->world, &f->again, f->planned->n * 1000);
        return;
    }
    if (!f->old)
        return;
    if (f->planned->n >= f->planned->for_ms)
        fail_power(f);
    if (f->planned->n % 2 == 1)
        reset_links(f);
    if (server_restore(s))
        effects_note(f->sim, EFFECT_ROLLED_BACK);
}
