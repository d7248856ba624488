/* Failover, in its three steps. */
#include "tests/sim/failover.h"
#include "tests/sim/effects.h"
#include "tests/sim/nodes.h"

static struct site *site_of(const struct fault *f)
{
    return f->sim->site;
}

struct server *failover_master(const struct fault *f)
{
    const struct site *site = site_of(f);
    int64_t shard = f->planned->server;

    if (f->planned->n & FAILOVER_OF_LOCK)
        shard = site_master(site, f->planned->lock)->shard;
    return site_master_of_shard(site, shard);
}

/* FEED-1: what was on its way is held back with what follows. */
static void hold_back_replicas(struct fault *f)
{
    const struct site *site = site_of(f);

    for (size_t i = 0; i < site->count; i++)
        if (server_follows(site->servers[i], f->old))
            server_set_lag(site->servers[i], -1);
}

/* The one that has heard most, of those that run. */
static struct server *best_replica(const struct fault *f)
{
    const struct site *site = site_of(f);
    struct server *best = NULL;

    for (size_t i = 0; i < site->count; i++) {
        struct server *s = site->servers[i];

        if (!server_follows(s, f->old) || s->is_down || s->is_frozen)
            continue;
        if (!best || model_offset(s->model) > model_offset(best->model))
            best = s;
    }
    return best;
}

static void follow_instead(struct site *site, struct server *old,
                           struct server *master)
{
    for (size_t i = 0; i < site->count; i++)
        if (server_follows(site->servers[i], old))
            server_follow(site->servers[i], master, site_lag_us(site));
}

static int64_t half_way_us(const struct fault *f)
{
    int64_t for_us = f->planned->for_ms * 1000;

    if (f->planned->n & FAILOVER_AT_ONCE)
        return for_us / 256;
    return for_us / (f->planned->n & FAILOVER_IS_QUICK ? 8 : 2);
}

/* Clients hear by themselves that a master has died. If nothing else is wrong, none
 * has an excuse long after the others know. */
static void all_know(void *ctx)
{
    fault_write(ctx, HISTORY_STATE_END);
}

/* One that is demoted with its clients never ends. */
static bool serves_on(const struct fault *f)
{
    return f->planned->n & FAILOVER_SERVES_ON ||
           f->planned->kind == FAULT_DEMOTE;
}

static bool has_stopped(const struct fault *f)
{
    return f->planned->n & FAILOVER_STOPS && !serves_on(f);
}

static void on_wake(void *ctx)
{
    const struct fault *f = ctx;

    server_freeze(f->old, false);
}

/* What follows in this kind after half-way, if anything does. */
static void arm_again(struct fault *f, int64_t late_us, int64_t last_us)
{
    if (has_stopped(f) && f->planned->n & FAILOVER_WAKES) {
        f->again.happen = on_wake;
        world_after(f->sim->world, &f->again, late_us / 2);
        return;
    }
    f->again.happen = all_know;
    if (plan_is_calm(f->sim->plan) && f->old->is_down)
        world_after(f->sim->world, &f->again, last_us);
}

static void on_half_way(void *ctx)
{
    struct fault *f = ctx;
    struct server *best = best_replica(f);
    int64_t late_us = half_way_us(f) / 2;
    int64_t first_us = f->planned->n & FAILOVER_IS_UNTOLD ? late_us : 0;

    if (site_master_of_shard(site_of(f), f->old->shard) != f->old || !best)
        return;
    server_promote(best, f->old);
    follow_instead(site_of(f), f->old, best);
    site_new_master(site_of(f), best, f->old, first_us, first_us + late_us);
    arm_again(f, late_us, first_us + late_us);
}

static void stop_or_die(struct fault *f)
{
    if (has_stopped(f))
        server_freeze(f->old, true);
    else
        server_take_down(f->old);
}

static void begin(struct fault *f)
{
    struct nodes *nodes = site_of(f)->nodes;
    struct server *master = failover_master(f);

    f->old = NULL;
    if (site_of(f)->falling || (nodes && nodes_are_moving(nodes, master->shard)))
        return;
    site_of(f)->falling = f->old = master;
    if (nodes && f->planned->n & FAILOVER_IS_SEEN)
        nodes_set_down(nodes, f->old);
    if (f->planned->n & FAILOVER_IS_STALE)
        hold_back_replicas(f);
    if (!serves_on(f))
        stop_or_die(f);
    f->again = (struct event){.happen = on_half_way, .ctx = f};
    world_after(f->sim->world, &f->again, half_way_us(f));
}

/* Sentinels see to it that clients are closed; nodes of a cluster redirect. */
static void demote(struct fault *f, struct server *master)
{
    server_follow(f->old, master, site_lag_us(site_of(f)));
    if (site_of(f)->nodes || f->planned->kind == FAULT_DEMOTE)
        return;
    model_close_all(server_turn(f->old));
    server_done(f->old);
}

static void hear_again(const struct fault *f)
{
    const struct site *site = site_of(f);

    for (size_t i = 0; i < site->count; i++)
        if (server_follows(site->servers[i], f->old))
            server_set_lag(site->servers[i], site_lag_us(site));
}

static void end(struct fault *f)
{
    struct server *master;

    if (!f->old)
        return;
    site_of(f)->falling = NULL;
    if (has_stopped(f))
        server_freeze(f->old, false);
    master = site_master_of_shard(site_of(f), f->old->shard);
    if (master != f->old)
        demote(f, master);
    server_bring_up(f->old, true);
    hear_again(f);
    if (site_of(f)->nodes)
        nodes_learn_all(site_of(f)->nodes);
}

void failover(struct fault *f)
{
    if (f->is_on)
        begin(f);
    else
        end(f);
}

struct server *failover_switch(struct fault *f)
{
    struct server *best = best_replica(f);

    if (!best)
        return NULL;
    server_promote(best, f->old);
    follow_instead(site_of(f), f->old, best);
    site_new_master(site_of(f), best, f->old, 0, 0);
    server_follow(f->old, best, site_lag_us(site_of(f)));
    return best;
}

#define DELIVERED_US 1000

static void on_replaced(void *ctx)
{
    struct fault *f = ctx;
    struct server *best = best_replica(f);

    if (!best)
        return;
    server_promote(best, f->old);
    follow_instead(site_of(f), f->old, best);
    site_new_master(site_of(f), best, f->old, 0, 0);
}

/* Its last writes are on their way to the replicas. */
void failover_replace(struct fault *f)
{
    struct server *master = failover_master(f);

    if (f->is_on) {
        f->old = master;
        server_freeze(f->old, true);
        f->again = (struct event){.happen = on_replaced, .ctx = f};
        world_after(f->sim->world, &f->again, site_lag_us(site_of(f)) + DELIVERED_US);
        return;
    }
    server_freeze(f->old, false);
    if (master == f->old)
        return;
    effects_note(f->sim, EFFECT_REPLACED);
    demote(f, master);
}
