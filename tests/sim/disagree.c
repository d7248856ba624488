/* Nodes that announce wrong addresses, or an old map. */
#include "tests/sim/disagree.h"

#include <stdio.h>

#include "tests/sim/effects.h"
#include "tests/sim/failover.h"
#include "tests/sim/fault_kinds.h"
#include "tests/sim/nodes.h"
#include "tests/support/must.h"

struct disagree {
    struct listener *old_hosts[SITE_SERVERS_MAX];
};

static const struct listener_calls nobody; /* no connection is ever accepted */

/* A port where no process listens, at a machine that runs. */
struct disagree *disagree_new(const struct site *site)
{
    struct disagree *d = must_alloc(sizeof *d);
    struct world *world = site->sim->world;
    char ip[32];

    for (size_t i = 0; i < site->count; i++) {
        (void)snprintf(ip, sizeof ip, MODEL_OLD_IP, (int)i + 1);
        d->old_hosts[i] = network_listen(world, ip, SERVER_PORT, &nobody, NULL);
        listener_set_door(d->old_hosts[i], DOOR_REFUSES);
        listener_set_door(network_listen(world, site->servers[i]->ip, SERVER_PORT + 1, &nobody,
                                         NULL),
                          DOOR_REFUSES);
    }
    return d;
}

static struct site *site_of(const struct fault *f)
{
    return f->sim->site;
}

static int64_t way_of(const struct fault *f)
{
    return DISAGREE_WAY(f->planned->n);
}

/* ---- addresses ---- */

static bool is_of_itself(int64_t way)
{
    return way >= DISAGREE_NULL_HOST && way <= DISAGREE_ANY_HOST;
}

static enum model_announced announced_by(int64_t way)
{
    return (enum model_announced)(MODEL_OLD_HOST + way);
}

/* The node of the URL that announces what is true. */
static size_t truthful(const struct fault *f)
{
    return (size_t)f->planned->server % SITE_SEEDS;
}

static bool is_wrong(const struct fault *f, size_t by)
{
    if (is_of_itself(way_of(f)) && f->planned->n & DISAGREE_ALL_BUT_ONE)
        return true; /* it is not wrong */
    if (f->planned->n & DISAGREE_ALL_BUT_ONE)
        return by != truthful(f);
    return by == (size_t)f->planned->server % site_of(f)->count;
}

static bool is_meant(const struct fault *f, size_t by, size_t about)
{
    if (is_of_itself(way_of(f)))
        return by == about;
    return f->planned->connection == 0 ||
           about == (size_t)(f->planned->connection - 1) % site_of(f)->count;
}

static void announce(struct fault *f, size_t by)
{
    struct site *site = site_of(f);
    struct model_node *node = nodes_node(site->nodes, site->servers[by]);

    for (size_t i = 0; i < site->count; i++)
        if (is_meant(f, by, i))
            model_cluster_announce(node, nodes_node(site->nodes, site->servers[i]),
                                   f->is_on ? announced_by(way_of(f)) : MODEL_ITS_ADDRESS);
}

static void close_connections(const struct fault *f, struct server *s)
{
    if (!f->is_on || !(f->planned->n & DISAGREE_CLOSES))
        return;
    model_close_all(server_turn(s));
    server_done(s);
}

static void announce_all(struct fault *f)
{
    struct site *site = site_of(f);

    for (size_t i = 0; i < site->count; i++) {
        listener_set_door(site->disagree->old_hosts[i],
                          f->planned->n & DISAGREE_IGNORES ? DOOR_IGNORES : DOOR_REFUSES);
        if (!is_wrong(f, i))
            continue;
        announce(f, i);
        close_connections(f, site->servers[i]);
    }
}

/* ---- maps ---- */

static const char *key_of(const struct fault *f)
{
    return plan_lock_name(f->sim->plan, f->planned->lock);
}

/* To another master than `but`. */
static void move_slot(const struct fault *f, const struct server *but)
{
    struct site *site = site_of(f);
    const struct server *from = nodes_owner(site->nodes, key_of(f));
    struct server *to = site_master_of_shard(site, from->shard + 1);

    if (to == but)
        to = site_master_of_shard(site, from->shard + 2);
    (void)nodes_give_at_once(site->nodes, key_of(f), to);
}

/* Any node but the one that has the slot. */
static struct server *bystander(const struct fault *f)
{
    struct server *s = site_server(site_of(f), f->planned->server);

    if (s == nodes_owner(site_of(f)->nodes, key_of(f)))
        return site_master_of_shard(site_of(f), s->shard + 1);
    return s;
}

static void old_map(struct fault *f)
{
    if (!f->is_on) {
        nodes_set_apart(site_of(f)->nodes, f->old, false);
        return;
    }
    f->old = bystander(f);
    nodes_set_apart(site_of(f)->nodes, f->old, true);
    move_slot(f, f->old);
    close_connections(f, f->old);
}

#define DELIVERED_US 1000

static void on_switch(void *ctx)
{
    struct fault *f = ctx;

    if (f->is_on && failover_switch(f))
        close_connections(f, f->old);
}

/* It accepts no write while its last ones are on their way. */
static void minority(struct fault *f)
{
    if (!f->is_on) {
        nodes_set_apart(site_of(f)->nodes, f->old, false);
        return;
    }
    f->old = failover_master(f);
    nodes_set_apart(site_of(f)->nodes, f->old, true);
    model_cluster_set_down(nodes_node(site_of(f)->nodes, f->old));
    f->again = (struct event){.happen = on_switch, .ctx = f};
    world_after(f->sim->world, &f->again, f->sim->plan->head.lag_us + DELIVERED_US);
}

/* ---- effects ---- */

/* What clients received since the last fault began. */
static void note(const struct fault *f, uint64_t count, int effect)
{
    if (count > 0)
        effects_note(f->sim, effect);
}

static void note_all(const struct fault *f)
{
    struct model_cluster *cl = nodes_cluster(site_of(f)->nodes);

    for (int64_t way = 0; way < DISAGREE_OLD_MAP; way++) {
        note(f, model_cluster_told(cl, announced_by(way), false), EFFECT_OLD_HOST + (int)way);
        note(f, model_cluster_told(cl, announced_by(way), true), EFFECT_MOVED_WRONG);
    }
    note(f, model_cluster_told_old(cl),
         way_of(f) == DISAGREE_MINORITY ? EFFECT_MINORITY : EFFECT_OLD_MAP);
    note(f, model_cluster_told_nat(cl), EFFECT_NAT);
}

void fault_disagree(struct fault *f)
{
    int64_t way = way_of(f);

    if (way >= DISAGREE_WAYS)
        return;
    if (!f->is_on)
        note_all(f);
    if (way == DISAGREE_OLD_MAP) {
        old_map(f);
    } else if (way == DISAGREE_MINORITY) {
        minority(f);
    } else {
        announce_all(f);
        if (f->is_on && f->planned->n & DISAGREE_MOVES)
            move_slot(f, NULL);
    }
}
