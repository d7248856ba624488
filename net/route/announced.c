/* Addresses that servers announce. Rules in announced.h. */
/* Tests: tests/test_net_router_maps.c, tests/live/server/test_nat.c. */
#include "net/route/announced.h"

#include <string.h>

#include "net/route/server.h"

/* What the program makes of it. An address that is not spelled like one is not
 * used. False: it left the address as it is. */
static bool map_by_program(const struct hf_router *router, struct hf_endpoint *at)
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

void hf_announced(const struct hf_router *router, struct hf_endpoint *at)
{
    if (!map_by_program(router, at))
        (void)hf_address_map_apply(router->seeds.map, at);
}

static bool has_any(const struct hf_router *router)
{
    return router->options.map_address || router->seeds.map;
}

void hf_announced_map(struct hf_server *from, struct hf_slot_map *map)
{
    for (uint32_t i = 0; i < map->count && has_any(from->router); i++) {
        struct hf_node *node = &map->nodes[i];
        struct hf_endpoint at = {.port = node->port};

        if (!node->host[0] || !node->port)
            continue;
        memcpy(at.host, node->host, sizeof at.host);
        hf_announced(from->router, &at);
        node->is_mapped = strcmp(node->host, at.host) != 0 || node->port != at.port;
        if (strcmp(node->host, at.host) != 0)
            node->ip[0] = '\0';
        memcpy(node->host, at.host, sizeof node->host);
        node->port = at.port;
    }
}

void hf_announced_redirection(const struct hf_server *from, struct hf_redirection *r)
{
    struct hf_endpoint at = {.port = r->port};

    if (r->host_kind == HF_HOST_UNKNOWN ||
        (r->host_kind == HF_HOST_SAME && strlen(from->host) > HF_HOST_MAX))
        return;
    (void)strcpy(at.host, r->host_kind == HF_HOST_SAME ? from->host : r->host);
    hf_announced(from->router, &at);
    memcpy(r->host, at.host, sizeof r->host);
    r->host_kind = HF_HOST_KNOWN;
    r->port = at.port;
}

/* ---- nodes that cannot be reached ---- */

static int find_unreached(const struct hf_router *router, const char *host, uint16_t port)
{
    for (int i = 0; i < HF_UNREACHED_MAX; i++)
        if (router->unreached[i].port == port &&
            strcmp(router->unreached[i].host, host) == 0)
            return i;
    return -1;
}

void hf_announced_note_unreached(struct hf_server *server)
{
    struct hf_router *router = server->router;
    struct hf_endpoint *at = &router->unreached[router->next_unreached];

    if (!router->topology->asks_nodes || hf_link_is_up(server->link) ||
        strlen(server->host) > HF_HOST_MAX ||
        find_unreached(router, server->host, server->port) >= 0)
        return;
    (void)strcpy(at->host, server->host);
    at->port = server->port;
    router->next_unreached = (router->next_unreached + 1) % HF_UNREACHED_MAX;
}

void hf_announced_note_reached(const struct hf_server *server)
{
    int i = find_unreached(server->router, server->host, server->port);

    if (i >= 0)
        server->router->unreached[i] = (struct hf_endpoint){.port = 0};
}

uint32_t hf_announced_count_lost(const struct hf_router *router, const struct hf_slot_map *map)
{
    uint32_t lost = 0;

    for (uint16_t i = 0; i < map->count; i++) {
        const struct hf_node *node = &map->nodes[i];

        if (!hf_node_is_target(map, i) || find_unreached(router, node->host, node->port) < 0)
            continue;
        for (unsigned slot = 0; slot < HF_SLOTS; slot++)
            lost += map->owner[slot] == i;
    }
    return lost;
}
