/* Addresses that servers announce. Rules in announced.h. */
/* Tests: tests/test_net_router_maps.c, tests/live/server/test_nat.c. */
#include "net/route/announced.h"

#include <string.h>

#include "net/base/assert.h"
#include "net/base/mem.h"
#include "net/route/server.h"

/* What the program makes of it. An address that is not spelled like one is not
 * used. False: it left the address as it is. */
static bool map_address_by_program(const struct hf_router *router, struct hf_endpoint *at)
{
    const struct hf_router_options *o = &router->options;
    struct hf_endpoint mapped = *at;
    enum hf_host_kind kind;

    if (!o->map_address)
        return false;
    o->map_address(o->map_address_ctx, mapped.host, &mapped.port);
    mapped.host[HF_HOST_MAX] = '\0';
    if (hf_endpoint_is_equal(&mapped, at) || mapped.port == 0 ||
        !hf_host_read(mapped.host, &kind,
                      (struct hf_text){mapped.host, strlen(mapped.host)}) ||
        kind != HF_HOST_KNOWN)
        return false;
    *at = mapped;
    return true;
}

void hf_announced_replace(const struct hf_router *router, struct hf_endpoint *at)
{
    if (!map_address_by_program(router, at))
        (void)hf_address_map_apply(router->seeds->address_map, at);
}

static bool has_any_mapping(const struct hf_router *router)
{
    return router->options.map_address || router->seeds->address_map;
}

void hf_announced_replace_in_map(struct hf_server *from, struct hf_slot_map *map)
{
    for (uint32_t i = 0; i < map->nodes_count && has_any_mapping(from->router); i++) {
        struct hf_node *node = &map->nodes[i];
        struct hf_endpoint at = {.port = node->port};

        if (!node->host[0] || !node->port)
            continue;
        memcpy(at.host, node->host, sizeof at.host);
        hf_announced_replace(from->router, &at);
        node->was_address_mapped = strcmp(node->host, at.host) != 0 || node->port != at.port;
        if (strcmp(node->host, at.host) != 0)
            node->ip[0] = '\0';
        memcpy(node->host, at.host, sizeof node->host);
        node->port = at.port;
    }
}

void hf_announced_replace_in_redirection(const struct hf_server *from, struct hf_redirection *r)
{
    struct hf_endpoint at = {.port = r->port};

    if (r->host_kind == HF_HOST_UNKNOWN ||
        (r->host_kind == HF_HOST_SAME && strlen(from->host) > HF_HOST_MAX))
        return;
    (void)strcpy(at.host, r->host_kind == HF_HOST_SAME ? from->host : r->host);
    hf_announced_replace(from->router, &at);
    memcpy(r->host, at.host, sizeof r->host);
    r->host_kind = HF_HOST_KNOWN;
    r->port = at.port;
}

/* ---- nodes that get another address (ANNOUNCED-5) ---- */

static void remember_named_process(struct hf_server *server)
{
    memcpy(server->run_id_when_named, hf_link_predecessor(server->link)->run_id,
           sizeof server->run_id_when_named);
}

/* Returns whether the connection is open, leads to the process that was named, and serves. A
 * silent one may be half open: where the address changed, nothing may end it. */
static bool is_connected_to_named_process(const struct hf_server *server)
{
    return server->run_id_when_named[0] && !server->has_denied_slots &&
           server->silent_since_ms == 0 &&
           hf_link_is_up(server->link) &&
           strcmp(server->run_id_when_named, hf_link_predecessor(server->link)->run_id) == 0;
}

void hf_announced_forget_process(struct hf_server *server)
{
    server->run_id_when_named[0] = '\0';
}

void hf_announced_note_moved(struct hf_server *server, const struct hf_redirection *r)
{
    if (server->moved_to_address.port == r->port &&
        strcmp(server->moved_to_address.host, r->host) == 0)
        hf_announced_forget_process(server);
}

static bool has_same_address(const struct hf_node *node, const struct hf_node *other)
{
    return node->port == other->port && strcmp(node->host, other->host) == 0;
}

/* The node of the map in force with this id, mostly at the same place. NULL: there is none. */
static const struct hf_node *former_node_of(const struct hf_router *router,
                                            const struct hf_node *node,
                                            uint16_t place)
{
    const struct hf_slot_map *map = router->map;

    if (place < map->nodes_count && strcmp(map->nodes[place].id, node->id) == 0)
        return &map->nodes[place];
    for (uint16_t i = 0; i < map->nodes_count; i++)
        if (strcmp(map->nodes[i].id, node->id) == 0)
            return &map->nodes[i];
    return NULL;
}

static void keep_address_of_moved_node(struct hf_router *router, struct hf_slot_map *map,
                                       uint16_t i)
{
    struct hf_node *node = &map->nodes[i];
    const struct hf_node *former = node->id[0] ? former_node_of(router, node, i) : NULL;
    struct hf_server *server;

    if (!former || has_same_address(former, node) ||
        hf_slot_map_find_node(map, former->host, former->port) != HF_NO_NODE)
        return;
    server = hf_server_find(router, former->host, former->port, false);
    if (!server || !is_connected_to_named_process(server))
        return;
    memcpy(server->moved_to_address.host, node->host, sizeof server->moved_to_address.host);
    server->moved_to_address.port = node->port;
    memcpy(node->host, former->host, sizeof node->host);
    memcpy(node->ip, former->ip, sizeof node->ip);
    node->port = former->port;
    node->was_address_mapped = former->was_address_mapped;
}

void hf_announced_keep_former(struct hf_router *router, struct hf_slot_map *map)
{
    for (uint16_t i = 0; router->map && i < map->nodes_count; i++)
        keep_address_of_moved_node(router, map, i);
}

void hf_announced_note_processes(struct hf_router *router, const struct hf_slot_map *map)
{
    hf_servers_find_in_map(router, map);
    for (struct hf_server *s = NULL; (s = hf_server_next(router, s));) {
        if (s->map_node == HF_NO_NODE)
            continue;
        s->run_id_when_named[0] = '\0';
        if (hf_link_is_up(s->link))
            remember_named_process(s);
    }
}

/* ---- nodes that cannot be reached ---- */

#define UNREACHED_SIZE (HF_UNREACHED_MAX * sizeof(struct hf_endpoint))

static int find_unreached_address(const struct hf_router *router, const char *host, uint16_t port)
{
    for (int i = 0; router->unreached_addresses && i < HF_UNREACHED_MAX; i++)
        if (router->unreached_addresses[i].port == port &&
            strcmp(router->unreached_addresses[i].host, host) == 0)
            return i;
    return -1;
}

/* Without memory the node counts as reached. */
static struct hf_endpoint *next_unreached_slot(struct hf_router *router)
{
    if (!router->unreached_addresses)
        router->unreached_addresses = hf_mem_new(router->mem, UNREACHED_SIZE);
    return router->unreached_addresses ? &router->unreached_addresses[router->next_unreached]
           : NULL;
}

void hf_announced_fini(struct hf_router *router)
{
    HF_ASSERT(hf_loop_is_locked(router->loop));
    hf_mem_free(router->mem, router->unreached_addresses, router->unreached_addresses
                ? UNREACHED_SIZE : 0);
    router->unreached_addresses = NULL;
}

void hf_announced_note_unreached(struct hf_server *server)
{
    struct hf_router *router = server->router;
    struct hf_endpoint *at;

    hf_announced_forget_process(server);
    if (!router->topology->queries_nodes || hf_link_is_up(server->link) ||
        strlen(server->host) > HF_HOST_MAX ||
        find_unreached_address(router, server->host, server->port) >= 0 ||
        !(at = next_unreached_slot(router)))
        return;
    (void)strcpy(at->host, server->host);
    at->port = server->port;
    router->next_unreached = (router->next_unreached + 1) % HF_UNREACHED_MAX;
}

void hf_announced_note_reached(struct hf_server *server)
{
    int i = find_unreached_address(server->router, server->host, server->port);

    if (!server->run_id_when_named[0] && hf_link_is_up(server->link))
        remember_named_process(server);
    if (i >= 0)
        server->router->unreached_addresses[i] = (struct hf_endpoint){.port = 0};
}

/* ---- nodes that do not serve a slot (ANNOUNCED-4) ---- */

#define DENIAL_VALID_MS 10000

/* The one of this slot, or the oldest one. */
static struct hf_denial *denial_of_slot_or_oldest(struct hf_server *server, uint16_t slot)
{
    for (int i = 0; i < DENIED_SLOTS_MAX; i++)
        if (server->denied_slots[i].until_ms > 0 && server->denied_slots[i].slot == slot)
            return &server->denied_slots[i];
    return &server->denied_slots[server->next_denied_slot_index++ % DENIED_SLOTS_MAX];
}

void hf_announced_note_denied(struct hf_server *server, uint16_t slot)
{
    struct hf_discovery *d = &server->router->discovery;

    if (!server->router->topology->queries_nodes)
        return;
    *denial_of_slot_or_oldest(server, slot) = (struct hf_denial){
        .slot = slot, .until_ms = hf_loop_now(server->router->loop) + DENIAL_VALID_MS};
    server->has_denied_slots = true;
    d->denied_round = d->round_number + (d->round.is_running ? 0 : 1);
}

void hf_announced_note_served(struct hf_server *server, uint16_t slot)
{
    int64_t now = hf_loop_now(server->router->loop);

    server->has_denied_slots = false;
    for (int i = 0; i < DENIED_SLOTS_MAX; i++) {
        if (server->denied_slots[i].slot == slot)
            server->denied_slots[i].until_ms = 0;
        server->has_denied_slots = server->has_denied_slots ||
            server->denied_slots[i].until_ms > now;
    }
}

static uint32_t count_slots_denied_by(const struct hf_server *server, const struct hf_slot_map *map)
{
    int64_t now = hf_loop_now(server->router->loop);
    uint32_t denied = 0;

    for (int i = 0; i < DENIED_SLOTS_MAX; i++) {
        const struct hf_denial *denial = &server->denied_slots[i];
        const struct hf_node *node = now < denial->until_ms
                                         ? hf_slot_map_master_of_slot(map, denial->slot)
                                         : NULL;

        denied += node && node->port == server->port && strcmp(node->host, server->host) == 0;
    }
    return denied;
}

uint32_t hf_announced_count_denied(const struct hf_router *router, const struct hf_slot_map *map)
{
    uint32_t denied = 0;

    for (struct hf_server *s = NULL; (s = hf_server_next(router, s));)
        denied += s->has_denied_slots ? count_slots_denied_by(s, map) : 0;
    return denied;
}

static uint32_t count_unreached_nodes(const struct hf_router *router, const struct hf_slot_map *map)
{
    uint32_t lost = 0;

    for (uint16_t i = 0; i < map->nodes_count; i++) {
        const struct hf_node *node = &map->nodes[i];

        if (!hf_node_is_usable_master(map, i) ||
            find_unreached_address(router, node->host, node->port) < 0)
            continue;
        for (unsigned slot = 0; slot < HF_SLOTS; slot++)
            lost += map->slot_owners[slot] == i;
    }
    return lost;
}

uint32_t hf_announced_count_unreachable(const struct hf_router *router,
                                        const struct hf_slot_map *map)
{
    return hf_announced_count_denied(router, map) + count_unreached_nodes(router, map);
}

/* A node that refused a slot before the last round, and was not sent a command for it since, does
 * not make the pauses between rounds longer. */
bool hf_announced_all_reachable(const struct hf_router *router)
{
    const struct hf_discovery *d = &router->discovery;

    return !router->map || (count_unreached_nodes(router, router->map) == 0 &&
                            (d->denied_round < d->round_number ||
                             hf_announced_count_denied(router, router->map) == 0));
}
