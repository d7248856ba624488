/* Failover, in its three steps. */
#include "tests/sim/failover.h"
#include "tests/sim/nodes.h"

static struct site *site_of(const struct trouble *t)
{
    return t->sim->site;
}

struct server *failover_master(const struct trouble *t)
{
    const struct site *site = site_of(t);
    int64_t shard = t->fault->server;

    if (t->fault->n & FAILOVER_OF_LOCK)
        shard = site_master(site, t->fault->lock)->shard;
    return site_master_of_shard(site, shard);
}

/* FEED-1: what was on its way is held back with what follows. */
static void hold_back_replicas(struct trouble *t)
{
    const struct site *site = site_of(t);

    for (size_t i = 0; i < site->count; i++)
        if (server_follows(site->servers[i], t->old))
            server_set_lag(site->servers[i], -1);
}

/* The one that has heard most, of those that run. */
static struct server *best_replica(const struct trouble *t)
{
    const struct site *site = site_of(t);
    struct server *best = NULL;

    for (size_t i = 0; i < site->count; i++) {
        struct server *s = site->servers[i];

        if (!server_follows(s, t->old) || s->is_down || s->is_frozen)
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

static int64_t half_way_us(const struct trouble *t)
{
    int64_t for_us = t->fault->for_ms * 1000;

    if (t->fault->n & FAILOVER_AT_ONCE)
        return for_us / 256;
    return for_us / (t->fault->n & FAILOVER_IS_QUICK ? 8 : 2);
}

/* Clients hear by themselves that a master has died. If nothing else is wrong, none
 * has an excuse long after the others know. */
static void all_know(void *ctx)
{
    trouble_tell(ctx, HISTORY_STATE_END);
}

/* One that is demoted with its clients never ends. */
static bool serves_on(const struct trouble *t)
{
    return t->fault->n & FAILOVER_SERVES_ON ||
           t->fault->trouble == FAULT_DEMOTE;
}

static bool has_stopped(const struct trouble *t)
{
    return t->fault->n & FAILOVER_STOPS && !serves_on(t);
}

static void on_wake(void *ctx)
{
    const struct trouble *t = ctx;

    server_freeze(t->old, false);
}

/* What follows in this trouble after half-way, if anything does. */
static void arm_again(struct trouble *t, int64_t late_us, int64_t last_us)
{
    if (has_stopped(t) && t->fault->n & FAILOVER_WAKES) {
        t->again.happen = on_wake;
        world_after(t->sim->world, &t->again, late_us / 2);
        return;
    }
    t->again.happen = all_know;
    if (plan_is_calm(t->sim->plan) && t->old->is_down)
        world_after(t->sim->world, &t->again, last_us);
}

static void on_half_way(void *ctx)
{
    struct trouble *t = ctx;
    struct server *best = best_replica(t);
    int64_t late_us = half_way_us(t) / 2;
    int64_t first_us = t->fault->n & FAILOVER_IS_UNTOLD ? late_us : 0;

    if (site_master_of_shard(site_of(t), t->old->shard) != t->old || !best)
        return;
    server_promote(best, t->old);
    follow_instead(site_of(t), t->old, best);
    site_new_master(site_of(t), best, t->old, first_us, first_us + late_us);
    arm_again(t, late_us, first_us + late_us);
}

static void stop_or_die(struct trouble *t)
{
    if (has_stopped(t))
        server_freeze(t->old, true);
    else
        server_take_down(t->old);
}

static void begin(struct trouble *t)
{
    struct nodes *nodes = site_of(t)->nodes;
    struct server *master = failover_master(t);

    t->old = NULL;
    if (site_of(t)->falling || (nodes && nodes_are_moving(nodes, master->shard)))
        return;
    site_of(t)->falling = t->old = master;
    if (nodes && t->fault->n & FAILOVER_IS_SEEN)
        nodes_set_down(nodes, t->old);
    if (t->fault->n & FAILOVER_IS_STALE)
        hold_back_replicas(t);
    if (!serves_on(t))
        stop_or_die(t);
    t->again = (struct event){.happen = on_half_way, .ctx = t};
    world_after(t->sim->world, &t->again, half_way_us(t));
}

/* Sentinels see to it that clients are closed; nodes of a cluster redirect. */
static void demote(struct trouble *t, struct server *master)
{
    server_follow(t->old, master, site_lag_us(site_of(t)));
    if (site_of(t)->nodes || t->fault->trouble == FAULT_DEMOTE)
        return;
    model_close_all(server_turn(t->old));
    server_done(t->old);
}

static void hear_again(const struct trouble *t)
{
    const struct site *site = site_of(t);

    for (size_t i = 0; i < site->count; i++)
        if (server_follows(site->servers[i], t->old))
            server_set_lag(site->servers[i], site_lag_us(site));
}

static void end(struct trouble *t)
{
    struct server *master;

    if (!t->old)
        return;
    site_of(t)->falling = NULL;
    if (has_stopped(t))
        server_freeze(t->old, false);
    master = site_master_of_shard(site_of(t), t->old->shard);
    if (master != t->old)
        demote(t, master);
    server_bring_up(t->old, true);
    hear_again(t);
    if (site_of(t)->nodes)
        nodes_learn_all(site_of(t)->nodes);
}

void failover(struct trouble *t)
{
    if (t->is_on)
        begin(t);
    else
        end(t);
}

struct server *failover_switch(struct trouble *t)
{
    struct server *best = best_replica(t);

    if (!best)
        return NULL;
    server_promote(best, t->old);
    follow_instead(site_of(t), t->old, best);
    site_new_master(site_of(t), best, t->old, 0, 0);
    server_follow(t->old, best, site_lag_us(site_of(t)));
    return best;
}
