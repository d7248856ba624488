/* Which servers there are. */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/disagree.h"
#include "tests/sim/names.h"
#include "tests/sim/nodes.h"
#include "tests/sim/program.h"
#include "tests/sim/sentinels.h"
#include "tests/sim/site.h"
#include "tests/support/must.h"

/* ---- new, free ---- */

#define REPLICAS 2 /* of a master that has any, but in a cluster: 1 */

static struct server *add(struct site *site, int64_t shard)
{
    struct server *s = server_new(site->sim, (int64_t)site->count + 1);

    must(site->count < SITE_SERVERS_MAX);
    s->shard = shard;
    site->servers[site->count++] = s;
    return s;
}

static void add_shard(struct site *site, int replicas)
{
    int64_t shard = (int64_t)site->shard_count++;
    struct server *master = add(site, shard);

    site->masters[shard] = master;
    master->has_been_master = true;
    for (int i = 0; i < replicas; i++)
        server_follow(add(site, shard), master, site_lag_us(site));
}

static void add_sentinels(struct site *site)
{
    struct server *servers[SENTINELS];

    for (int i = 0; i < SENTINELS; i++)
        servers[i] = add(site, -1);
    site->sentinels = sentinels_new(servers, site->masters[0]);
    memcpy(site->seeds, servers, sizeof site->seeds);
    (void)snprintf(site->url, sizeof site->url,
                   "redis+sentinel://%s:%d,%s:%d/" SENTINEL_MASTER_NAME,
                   servers[0]->name, SERVER_PORT, servers[1]->name,
                   SERVER_PORT);
}

/* Before 7.0 there are no sharded messages. */
static bool has_sharded_messages(const struct plan_head *h)
{
    return h->deployment == DEPLOY_SHARDED && h->version % 3 != 0;
}

/* What a program's URL says of messages. On the way from plain messages to
 * sharded ones, those that speak both go first, and last. sharded=off: from 7.0
 * on it would be found out otherwise. */
static const char *sharded_of(const struct plan_head *h, int64_t program)
{
    if (h->deployment != DEPLOY_SHARDED)
        return "?sharded=off";
    if (!has_sharded_messages(h) || h->wakes_both == 0)
        return "";
    if (program % 2 == 0)
        return "?sharded=both";
    return h->wakes_both == 1 ? "?sharded=off" : "";
}

static void add_cluster(struct site *site)
{
    for (int64_t i = 0; i < SITE_CLUSTER_MASTERS; i++) {
        site->masters[i] = add(site, i);
        site->masters[i]->has_been_master = true;
    }
    site->shard_count = SITE_CLUSTER_MASTERS;
    for (int64_t i = 0; i < SITE_CLUSTER_MASTERS; i++)
        server_follow(add(site, i), site->masters[i], site_lag_us(site));
    site->nodes = nodes_new(site->sim, site->servers, SITE_CLUSTER_MASTERS);
    memcpy(site->seeds, site->servers, sizeof site->seeds);
    (void)snprintf(site->url, sizeof site->url,
                   "redis+cluster://%s:%d,%s:%d", site->servers[0]->name,
                   SERVER_PORT, site->servers[1]->name, SERVER_PORT);
    site->disagree = disagree_new(site);
    if (site->sim->plan->head.nat)
        model_cluster_set_nat(nodes_cluster(site->nodes));
}

static void add_alone(struct site *site)
{
    int64_t deployment = site->sim->plan->head.deployment;

    add_shard(site, deployment == DEPLOY_STANDALONE ? 0 : REPLICAS);
    (void)snprintf(site->url, sizeof site->url, "redis://%s:%d",
                   site->masters[0]->name, SERVER_PORT);
    if (deployment == DEPLOY_SENTINEL)
        add_sentinels(site);
    if (deployment == DEPLOY_HOSTS)
        (void)snprintf(site->url, sizeof site->url, "redis://%s:%d,%s:%d,%s:%d",
                       site->servers[2]->name, SERVER_PORT, site->servers[0]->name,
                       SERVER_PORT, site->servers[1]->name, SERVER_PORT);
}

static void add_independent(struct site *site)
{
    for (int64_t i = 0; i < site->sim->plan->head.masters; i++)
        add_shard(site, 0);
}

struct site *site_new(struct sim *sim)
{
    struct site *site = must_alloc(sizeof *site);

    *site = (struct site){.sim = sim};
    if (plan_is_cluster(sim->plan->head.deployment))
        add_cluster(site);
    else if (sim->plan->head.deployment == DEPLOY_INDEPENDENT)
        add_independent(site);
    else
        add_alone(site);
    if (sim->plan->head.scenario == SCENARIO_NAMES)
        site->names = names_new(site);
    return site;
}

/* Replicas before their masters. */
static void unfollow_all(struct site *site)
{
    for (size_t i = 0; i < site->count; i++)
        server_unfollow(site->servers[i]);
}

void site_free(struct site *site)
{
    if (!site)
        return;
    unfollow_all(site);
    while (site->count > 0)
        server_free(site->servers[--site->count]);
    sentinels_free(site->sentinels);
    nodes_free(site->nodes);
    free(site->disagree);
    free(site->names);
    free(site);
}

/* ---- links ---- */

struct link_shape site_shape(const struct site *site)
{
    const struct plan_head *h = &site->sim->plan->head;

    return (struct link_shape){.delay_us = h->latency_us,
                               .jitter_us = h->jitter_us,
                               .piece_max = (uint32_t)h->piece_max,
                               .window = (uint32_t)h->window};
}

struct link *site_link(const struct site *site, const struct program *p,
                       const struct server *s)
{
    return network_link(site->sim->world, program_process(p), s->listener);
}

static void shape_link(const struct site *site, struct link *link)
{
    struct link_shape shape = site_shape(site);

    link_set_shape(link, TO_SERVER, &shape);
    link_set_shape(link, TO_CLIENT, &shape);
    link_keep_alive(link, site->sim->plan->head.keeps_alive);
}

void site_link_program(struct site *site, struct program *p)
{
    for (size_t i = 0; i < site->count; i++)
        shape_link(site, site_link(site, p, site->servers[i]));
    if (site->names)
        shape_link(site, network_link(site->sim->world, program_process(p),
                                      names_other(site->names)));
}

void site_link_all(struct site *site)
{
    for (size_t j = 0; j < site->sim->plan->program_count; j++)
        site_link_program(site, site->sim->programs[j]);
}

void site_forbid(struct site *site, const char *acl)
{
    for (size_t i = 0; i < site->count; i++) {
        (void)model_acl(server_turn(site->servers[i]), acl);
        server_done(site->servers[i]);
    }
}

void site_set_password(struct site *site, const char *acl)
{
    for (size_t i = 0; i < site->count; i++) {
        if (site->servers[i]->shard < 0)
            continue;
        (void)model_acl(server_turn(site->servers[i]), acl);
        server_done(site->servers[i]);
    }
}

/* ---- looking ---- */

size_t site_clients(const struct site *site)
{
    return site->sim->plan->head.deployment == DEPLOY_INDEPENDENT ? site->count : 1;
}

static void add_map(const struct site *site, char *url, size_t size)
{
    for (size_t i = 0; i < site->count; i++) {
        size_t n = strlen(url);

        (void)snprintf(url + n, size - n, "%cmap=" MODEL_INNER_IP "=%s",
                       strchr(url, '?') ? '&' : '?', (int)site->servers[i]->number,
                       site->servers[i]->name);
    }
}

void site_url(const struct site *site, int64_t program, size_t index, char *dst,
              size_t size)
{
    const struct plan_head *h = &site->sim->plan->head;
    const char *sharded;

    if (site_clients(site) > 1) {
        (void)snprintf(dst, size, "redis://%s:%d%s", site->servers[index]->name,
                       SERVER_PORT, h->tracks ? "?tracking=on" : "");
        return;
    }
    sharded = site->nodes ? sharded_of(h, program) : "";
    (void)snprintf(dst, size, "%s%s%s%s", site->url, sharded,
                   !h->tracks ? "" : *sharded ? "&" : "?",
                   h->tracks ? "tracking=on" : "");
    if (h->nat == 1)
        add_map(site, dst, size);
}

struct server *site_server(const struct site *site, int64_t number)
{
    return site->servers[(size_t)number % site->count];
}

struct server *site_master(const struct site *site, int64_t lock)
{
    if (site->nodes)
        return nodes_holder(site->nodes, plan_lock_name(site->sim->plan, lock));
    return site->masters[0];
}

int64_t site_lag_us(const struct site *site)
{
    return site->sim->plan->head.lag_us;
}

struct server *site_master_of_shard(const struct site *site, int64_t number)
{
    return site->masters[(size_t)number % site->shard_count];
}

const char *site_publish(const struct site *site)
{
    const struct plan_head *h = &site->sim->plan->head;

    return has_sharded_messages(h) && h->wakes_both != 1 ? "spublish"
                                                         : "publish";
}

void site_new_master(struct site *site, struct server *s, struct server *old,
                     int64_t first_us, int64_t last_us)
{
    site->masters[s->shard] = s;
    if (site->nodes)
        nodes_promote(site->nodes, s, old, last_us);
    if (site->sentinels)
        sentinels_tell(site->sentinels, s, first_us, last_us);
}

bool site_has_other_seed(const struct site *site, const struct server *s)
{
    for (int i = 0; i < SITE_SEEDS; i++) {
        const struct server *seed = site->seeds[i];

        if (seed && seed != s && !seed->is_down && !seed->is_frozen)
            return true;
    }
    return false;
}

static bool is_master(const struct server *s)
{
    return !s->feed && s->shard >= 0;
}

static void each_master(struct site *site,
                        void (*see)(struct observer *w, struct model *m))
{
    for (size_t i = 0; i < site->count; i++) {
        struct server *s = site->servers[i];

        if (is_master(s))
            see(&s->observer, server_turn(s));
    }
}

void site_dead_readers(struct site *site)
{
    each_master(site, observer_dead_readers);
}

void site_keys(struct site *site)
{
    each_master(site, observer_keys);
}

void site_places(struct site *site)
{
    each_master(site, observer_places);
}

uint64_t site_stray_askings(const struct site *site)
{
    uint64_t count = 0;

    for (size_t i = 0; i < site->count; i++)
        count += model_stray_askings(site->servers[i]->model);
    return count;
}

int64_t site_places_until(struct site *site)
{
    int64_t last_us = 0;

    for (size_t i = 0; i < site->count; i++) {
        struct server *s = site->servers[i];
        int64_t us =
            is_master(s) ? observer_places_until(&s->observer, server_turn(s)) : 0;

        last_us = us > last_us ? us : last_us;
    }
    return last_us;
}
