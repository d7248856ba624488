/* The map in force: which server serves a slot; and the router, which puts
 * commands, subscriptions, servers and discovery together. Rules in
 * router_inner.h. */
/* Tests: tests/test_net_router.c. */
#include <stdio.h>
#include <string.h>

#include "net/base/error.h"
#include "net/base/assert.h"
#include "net/base/mem.h"
#include "net/route/announced.h"
#include "net/route/command.h"
#include "net/route/closed_connections.h"
#include "net/route/discover.h"
#include "net/route/subscriptions.h"
#include "net/route/probe.h"
#include "net/route/replace.h"
#include "net/route/server.h"
#include "net/route/silence.h"
#include "net/route/switched.h"
#include "net/wire/tls_context.h"

/* ---- who serves a slot ---- */

/* Marks the server as node `index` of the map. The map may also name its replicas. */
static void mark_as_target(struct hf_server *server, uint16_t index)
{
    const struct hf_slot_map *map = server->router->map;

    server->serves_slots = true;
    server->connected_replicas = 0;
    for (uint32_t i = 0; i < map->nodes_count; i++)
        server->connected_replicas += i != index && map->nodes[i].master_index == index;
}

hf_status hf_router_target(struct hf_server **out, struct hf_router *router,
                           uint16_t slot)
{
    const struct hf_node *node;
    struct hf_server **known;
    hf_status rc;

    HF_ASSERT(hf_loop_is_locked(router->loop));
    *out = router->only_server;
    if (*out || !router->map || !hf_slot_map_master_of_slot(router->map, slot))
        return HF_OK;
    known = &router->servers_by_node[router->map->slot_owners[slot]];
    if (!*known) {
        node = hf_slot_map_master_of_slot(router->map, slot);
        rc = hf_server_get(known, router, node->host, node->port, false);
        if (rc < 0)
            return rc;
        mark_as_target(*known, router->map->slot_owners[slot]);
    }
    *out = *known;
    return HF_OK;
}

/* Enlarges servers_by_node to one entry for each node of the map. */
static bool grow_servers_by_node(struct hf_router *router,
                                 const struct hf_slot_map *map)
{
    uint32_t old = router->by_node_capacity;

    if (!hf_mem_grow(router->mem, &router->servers_by_node, &router->by_node_capacity,
                     sizeof *router->servers_by_node, map->nodes_count, HF_NODES_MAX))
        return false;
    memset(router->servers_by_node + old, 0,
           (router->by_node_capacity - old) * sizeof *router->servers_by_node);
    return true;
}

/* ---- the map changes ---- */

/* MAP-4: the new owner is used at once, and then the whole map is requested. If there
 * is no memory for the first, the second is enough. */
void hf_router_store_moved(struct hf_router *router, const struct hf_redirection *r,
                           const char *host)
{
    struct hf_server *server = NULL;
    uint16_t node;

    HF_ASSERT(hf_loop_is_locked(router->loop));
    hf_switched_by_moved(router, r->slot, host, r->port);
    if (router->map &&
        hf_slot_map_set_slot(&router->map, r->slot, host, r->port) == HF_OK) {
        node = router->map->slot_owners[r->slot];
        hf_discover_note_moved(router, r->slot);
        if (!grow_servers_by_node(router, router->map))
            router->map->slot_owners[r->slot] = HF_NO_NODE;
        else if (!router->servers_by_node[node] &&
                 hf_server_get(&server, router, host, r->port, false) == HF_OK)
            router->servers_by_node[node] = server;
        if (server)
            mark_as_target(server, node);
    }
    hf_discover_want(router, hf_server_find(router, host, r->port, false));
}

static void call_for_each_server(struct hf_router *router,
                                 void (*act)(struct hf_server *))
{
    for (struct hf_server *s = NULL; (s = hf_server_next(router, s));)
        act(s);
}

static void unmark_target(struct hf_server *server)
{
    server->serves_slots = false;
}

/* Marks nodes that already have a link; others are marked when they get one. */
static void mark_all_targets(struct hf_router *router)
{
    call_for_each_server(router, unmark_target);
    memset(router->servers_by_node, 0, router->by_node_capacity * sizeof *router->servers_by_node);
    for (uint32_t i = 0; i < router->map->nodes_count; i++) {
        const struct hf_node *node = &router->map->nodes[i];
        struct hf_server *server =
            hf_node_is_usable_master(router->map, (uint16_t)i)
                ? hf_server_find(router, node->host, node->port, false)
                : NULL;

        router->servers_by_node[i] = server;
        if (server)
            mark_as_target(server, (uint16_t)i);
    }
}

static void continue_waiting_with_map(struct hf_router *router)
{
    hf_commands_send_pending(router);
    hf_router_move_subscriptions(router);
}

/* Takes the map. */
static void put_map_in_force(struct hf_router *router, struct hf_slot_map *map)
{
    if (!grow_servers_by_node(router, map)) {
        hf_slot_map_free(map); /* the old one must do */
        return;
    }
    hf_switched_by_map(router, map);
    hf_slot_map_free(router->map);
    router->map = map;
    router->was_map_known = true;
    router->counts.maps++;
    mark_all_targets(router);
    hf_servers_take_ips(router);
    call_for_each_server(router, hf_commands_reroute);
    continue_waiting_with_map(router);
    hf_servers_sweep_soon(router);
}

void hf_router_forget_map(struct hf_router *router)
{
    HF_ASSERT(hf_loop_is_locked(router->loop));
    hf_switched_forget(router);
    call_for_each_server(router, unmark_target);
    call_for_each_server(router, hf_commands_requeue_unsent);
    hf_discover_want(router, NULL);
}

/* ---- what discovery and servers report ---- */

static void fail_never_retried_after_round(struct hf_server *server)
{
    if (server->never_retried_until == 0 ||
        server->router->discovery.round_number < server->never_retried_until)
        return;
    server->never_retried_until = 0;
    hf_commands_fail_never_retried(server);
}

static void on_round_end(struct hf_router *router, enum hf_discovery_end end)
{
    switch (end) {
    case HF_MAP_CONFIRMED: continue_waiting_with_map(router); break;
    case HF_MAP_KEPT: break;
    case HF_MAP_UNKNOWN: hf_commands_fail_pending_never_retried(router); break;
    case HF_MAP_UNKNOWN_FOR_GOOD: hf_commands_fail_pending(router); break;
    }
    call_for_each_server(router, fail_never_retried_after_round);
}

static void on_link_down(struct hf_server *server, const struct hf_link *link)
{
    struct hf_router *router = server->router;
    struct hf_error why;

    hf_error_set(&why, hf_link_error(link)->status, "connection lost: %s",
                 hf_link_error(link)->text);
    if (router->options.on_trouble)
        router->options.on_trouble(router->options.ctx, HF_TROUBLE_LOST, &why);
    hf_switched_lost(server);
    if (router->topology->on_link_down && !router->is_closing)
        router->topology->on_link_down(server);
}

/* Once for each reason. Of other topologies, the rounds of discovery report it. */
static void report_unreached(struct hf_server *server)
{
    struct hf_router *router = server->router;
    const struct hf_error *why = hf_link_error(server->link);

    if (server != router->only_server || why->status == HF_OK ||
        strcmp(why->text, router->last_connect_error.text) == 0)
        return;
    router->last_connect_error = *why;
    if (router->options.on_trouble)
        router->options.on_trouble(router->options.ctx, HF_TROUBLE_FAILURE, why);
}

static void on_link_up(struct hf_server *server)
{
    server->router->last_connect_error.text[0] = '\0';
    hf_announced_note_reached(server);
    hf_replace_older_connections(server);
}

/* ANNOUNCED-2: another node may know where it is. Others are queried also if only the connection
 * for WAIT or for messages failed: the main one may be half open, and a failover under way. Queries
 * of this server are sent over the main one, and end only with it. */
static void on_unreached(struct hf_server *server, const struct hf_link *link)
{
    struct hf_router *router = server->router;

    report_unreached(server);
    hf_announced_note_unreached(server);
    if (router->topology->queries_nodes && server->serves_slots) {
        if (server->never_retried_until == 0)
            server->never_retried_until = router->discovery.round_number + 1;
        hf_discover_want(router, NULL);
    } else {
        hf_commands_fail_never_retried(server);
    }
    if (link == server->link)
        hf_discover_unreached(server);
}

static void on_slot_moved(struct hf_server *server)
{
    hf_discover_want(server->router, NULL);
}

static void on_server_free(struct hf_server *server)
{
    hf_probe_cancel(server);
    if (server->pubsub)
        hf_probe_unsubscribe(server);
    hf_discover_forget_server(server);
}

static bool has_commands_waiting_for_link(const struct hf_server *server)
{
    return !hf_link_is_up(server->link) &&
           !hf_list_is_empty(&server->commands);
}

/* DISCOVER-6 */
static bool is_map_waited_for(struct hf_router *router)
{
    bool is =
        !hf_list_is_empty(&router->commands_awaiting_map) ||
            hf_router_has_waiting_subscription(router) ||
        hf_switched_is_awaited(router);

    for (struct hf_server *s = NULL;
         !is && (s = hf_server_next(router, s));)
        is = has_commands_waiting_for_link(s);
    return is;
}

static const struct hf_discovery_events discovery_events = {
    .on_map = put_map_in_force,
    .on_end = on_round_end,
    .is_waited_for = is_map_waited_for,
};

static const struct hf_server_events server_events = {
    .on_link_up = on_link_up,
    .on_handshake_ended = hf_commands_end_probes,
    .on_link_down = on_link_down,
    .on_unreached = on_unreached,
    .on_slot_moved = on_slot_moved,
    .on_free = on_server_free,
};

/* ---- new, free ---- */

/* Files that cannot be read are detected before a request is sent. *out is NULL without
 * TLS. It uses only members that do not change, so it needs no mutex. */
static hf_status read_tls_files(struct hf_tls_context **out, const struct hf_mem *mem,
                                const struct hf_router *router, struct hf_error *err)
{
    const struct hf_url *url = &router->options.link.url;

    *out = NULL;
    if (!hf_url_uses_tls(url))
        return HF_OK;
    return hf_tls_context_new(out, mem, hf_url_tls(url),
                              router->seeds_in_url > 0 ? router->seeds->hosts[0].host
                                                      : url->host,
                              err);
}

static uint64_t begin_reload(struct hf_router *router)
{
    uint64_t serial;

    hf_loop_lock(router->loop);
    serial = ++router->last_reload;
    hf_loop_unlock(router->loop);
    return serial;
}

/* [locked] */
static void use_tls_settings(struct hf_router *router, const struct hf_tls_context *latest)
{
    hf_tls_context_take_settings(router->tls, latest);
    for (struct hf_server *s = NULL; (s = hf_server_next(router, s));)
        if (s->tls) /* sentinel_tls */
            hf_tls_context_take_settings(s->tls, latest);
}

/* The user's allocator is called only with the lock held. Of two calls that cross, the one
 * that began to read later has the later files. */
hf_status hf_router_reload(struct hf_router *router, struct hf_error *err)
{
    uint64_t serial = begin_reload(router);
    struct hf_tls_context *latest;
    hf_status rc = read_tls_files(&latest, &hf_mem_libc, router, err);

    if (rc < 0 || !latest)
        return rc;
    hf_loop_lock(router->loop);
    if (serial > router->reload_in_force) {
        router->reload_in_force = serial;
        use_tls_settings(router, latest);
    }
    hf_loop_unlock(router->loop);
    hf_tls_context_free(latest);
    return HF_OK;
}

/* The options of TLS, which the caller of hf_router_new lends. */
static hf_status copy_tls_options(struct hf_router *router, const struct hf_tls_options *tls,
                                  struct hf_error *err)
{
    struct hf_tls_options *copy;

    if (!tls)
        return HF_OK;
    copy = hf_mem_new(router->mem, sizeof *copy);
    if (!copy)
        return hf_error_set(err, HF_E_NOMEM, "out of memory");
    *copy = *tls;
    router->options.link.url.tls = copy;
    return HF_OK;
}

static void free_tls_options(struct hf_router *router)
{
    struct hf_tls_options *tls = router->options.link.url.tls;

    hf_tls_context_free(router->tls);
    router->options.link.url.tls = NULL;
    if (tls)
        explicit_bzero(tls, sizeof *tls);
    hf_mem_free(router->mem, tls, sizeof *tls);
}

/* False: there is no memory. */
static bool copy_seeds(struct hf_router *router, const struct hf_seeds *seeds)
{
    static const struct hf_seeds none;

    router->seeds = &none;
    if (!seeds || seeds->topology == HF_STANDALONE)
        return true;
    router->multi_server = hf_mem_new(router->mem, sizeof *router->multi_server);
    if (!router->multi_server)
        return false;
    router->multi_server->seeds = *seeds;
    router->seeds = &router->multi_server->seeds;
    (void)hf_login_ref(seeds->sentinel_login);
    (void)hf_address_map_ref(seeds->address_map);
    router->seeds_in_url = seeds->hosts_count;
    return true;
}

static void free_multi_server_state(struct hf_router *router)
{
    if (router->multi_server)
        hf_seeds_wipe(&router->multi_server->seeds);
    hf_mem_free(router->mem, router->multi_server, sizeof *router->multi_server);
}

hf_status hf_router_new(struct hf_router **out, struct hf_loop *loop,
                        const struct hf_router_options *options,
                        struct hf_error *err)
{
    struct hf_router *router = hf_mem_new(hf_loop_mem(loop), sizeof *router);
    hf_status rc;

    if (!router)
        return hf_error_set(err, HF_E_NOMEM, "out of memory");
    router->loop = loop;
    router->mem = hf_loop_mem(loop);
    if (!copy_seeds(router, options->seeds)) {
        hf_mem_free(router->mem, router, sizeof *router);
        return hf_error_set(err, HF_E_NOMEM, "out of memory");
    }
    router->options = *options;
    router->options.link.url.tls = NULL;
    (void)hf_login_ref(router->options.link.url.login);
    if (options->link.client_name)
        (void)snprintf(router->client_name, sizeof router->client_name, "%s",
                       options->link.client_name);
    hf_list_init(&router->servers);
    hf_list_init(&router->closed_connections);
    hf_list_init(&router->commands_awaiting_map);
    hf_list_init(&router->subscriptions);
    router->topology = hf_topology_of(router->seeds);
    hf_discover_init(router, &discovery_events);
    hf_silence_init(router);
    hf_servers_init(router, &server_events);
    router->topology->describe(router, router->address,
                               sizeof router->address);
    hf_loop_lock(loop);
    rc = copy_tls_options(router, options->link.url.tls, err);
    if (rc == HF_OK)
        rc = read_tls_files(&router->tls, router->mem, router, err);
    if (rc == HF_OK && router->topology->start)
        rc = router->topology->start(router, err);
    if (rc < 0)
        hf_router_free(router);
    hf_loop_unlock(loop);
    if (rc == HF_OK)
        *out = router;
    return rc;
}

void hf_router_free(struct hf_router *router)
{
    if (!router)
        return;
    HF_ASSERT(hf_loop_is_locked(router->loop));
    router->is_closing = true;
    hf_discover_fini(router);
    hf_silence_fini(router);
    hf_loop_disarm(router->loop, &router->sweep_timer);
    hf_router_end_subscriptions(router);
    hf_commands_fail_pending(router);
    while (!hf_list_is_empty(&router->servers))
        hf_server_free(
            HF_OWNER_OF(router->servers.next, struct hf_server, node));
    hf_closed_connections_fini(router);
    hf_announced_fini(router);
    hf_slot_map_free(router->map);
    hf_switched_fini(router);
    if (router->topology->free_state)
        router->topology->free_state(router);
    hf_mem_free(router->mem, router->servers_by_node,
                router->by_node_capacity * sizeof *router->servers_by_node);
    free_tls_options(router);
    hf_url_wipe(&router->options.link.url);
    free_multi_server_state(router);
    hf_mem_free(router->mem, router, sizeof *router);
}

/* ---- requests ---- */

void hf_router_explain(struct hf_router *router, uint16_t slot)
{
    HF_ASSERT(hf_loop_is_locked(router->loop));
    hf_discover_explain(router);
    if (router->map)
        hf_error_set(&router->map_error, HF_E_SERVER,
                     "%s: no connected node serves slot %u", router->address,
                     (unsigned)slot);
    else if (router->map_error.status == HF_OK)
        hf_error_set(&router->map_error, HF_E_CONNECT,
                     "%s: no node replied in time", router->address);
}


bool hf_router_is_cluster(const struct hf_router *router)
{
    return router->topology->slot_of_key != NULL;
}

uint16_t hf_router_slot(const struct hf_router *router, const void *key,
                        size_t len)
{
    HF_ASSERT(hf_loop_is_locked(router->loop));
    return router->topology->slot_of_key ? router->topology->slot_of_key(key, len) : 0;
}

static const struct hf_server *cached_server_of_slot(const struct hf_router *router,
                                                     uint16_t slot)
{
    if (router->only_server)
        return router->only_server;
    return router->map && hf_slot_map_master_of_slot(router->map, slot)
               ? router->servers_by_node[router->map->slot_owners[slot]]
               : NULL;
}

static const struct hf_link *link_that_is_up(const struct hf_server *server)
{
    if (server->link && hf_link_is_up(server->link))
        return server->link;
    return server->wait_link && hf_link_is_up(server->wait_link)
               ? server->wait_link
               : NULL;
}

bool hf_router_run_id(const struct hf_router *router, uint16_t slot, char *dst)
{
    const struct hf_server *server = cached_server_of_slot(router, slot);
    const struct hf_link *link = server ? link_that_is_up(server) : NULL;

    HF_ASSERT(hf_loop_is_locked(router->loop));
    *dst = '\0';
    if (!link)
        return false;
    memcpy(dst, hf_link_predecessor(link)->run_id, HF_RUN_ID_MAX);
    return true;
}

bool hf_router_had_map(const struct hf_router *router)
{
    return router->was_map_known;
}

bool hf_router_is_tracking(const struct hf_router *router)
{
    HF_ASSERT(hf_loop_is_locked(router->loop));
    return router->is_tracking;
}

uint64_t hf_router_invalidations(const struct hf_router *router)
{
    HF_ASSERT(hf_loop_is_locked(router->loop));
    return router->invalidation_pushes;
}

bool hf_router_server_serves(const struct hf_router *router, const struct hf_server *server,
                             uint16_t slot)
{
    HF_ASSERT(hf_loop_is_locked(router->loop));
    if (router->only_server)
        return router->only_server == server;
    if (!router->map || !hf_slot_map_master_of_slot(router->map, slot))
        return true;
    return router->servers_by_node[router->map->slot_owners[slot]] == server;
}

bool hf_router_is_sharded(const struct hf_router *router)
{
    HF_ASSERT(hf_loop_is_locked(router->loop));
    return router->is_sharded;
}

bool hf_router_also_uses_plain_channels(const struct hf_router *router)
{
    HF_ASSERT(hf_loop_is_locked(router->loop));
    return router->is_sharded && router->seeds->sharded == HF_SHARDED_BOTH;
}

const char *hf_router_address(const struct hf_router *router)
{
    return router->address;
}

void hf_router_stats(const struct hf_router *router, struct hf_link_stats *out)
{
    HF_ASSERT(hf_loop_is_locked(router->loop));
    *out = router->multi_server ? router->multi_server->freed_stats : (struct hf_link_stats){0};
    for (struct hf_server *server = NULL;
         (server = hf_server_next(router, server));) {
        struct hf_link_stats one;

        hf_link_get_stats(server->link, &one);
        hf_link_stats_add(out, &one);
        if (!server->wait_link)
            continue;
        hf_link_get_stats(server->wait_link, &one);
        hf_link_stats_add(out, &one);
    }
}

void hf_router_get_counts(const struct hf_router *router,
                          struct hf_router_counts *out)
{
    HF_ASSERT(hf_loop_is_locked(router->loop));
    *out = router->counts;
    out->servers = router->server_count;
}
