/* Finds servers by their addresses, so that a map of many nodes costs no search of each. */
/* Tests: tests/test_net_router_maps.c, tests/sim/test_masters.c. */
#include "net/route/server.h"

#include <string.h>

#include "net/base/assert.h"
#include "net/base/hash.h"

/* Nodes choose no key for this hash: a cluster has at most HF_NODES_MAX of them. */
static struct hf_server **bucket_of_address(struct hf_router *router, const char *host,
                                            uint16_t port)
{
    static const struct hf_hash_key key;

    if (!router->multi_server)
        return &router->only_bucket;
    return &router->multi_server->server_buckets[(hf_hash(&key, host, strlen(host)) + port) %
                                                 HF_SERVER_BUCKETS];
}

struct hf_server *hf_server_find(struct hf_router *router, const char *host,
                                 uint16_t port, bool is_map_source)
{
    HF_ASSERT(hf_loop_is_locked(router->loop));
    for (struct hf_server *server = *bucket_of_address(router, host, port); server;
         server = server->next_in_bucket)
        if (server->port == port && server->is_map_source == is_map_source &&
            strcmp(server->host, host) == 0)
            return server;
    return NULL;
}

void hf_server_put_into_table(struct hf_server *server)
{
    struct hf_server **bucket = bucket_of_address(server->router, server->host, server->port);

    HF_ASSERT(hf_loop_is_locked(server->router->loop));
    server->next_in_bucket = *bucket;
    *bucket = server;
}

void hf_server_remove_from_table(struct hf_server *server)
{
    struct hf_server **at = bucket_of_address(server->router, server->host, server->port);

    HF_ASSERT(hf_loop_is_locked(server->router->loop));
    while (*at && *at != server)
        at = &(*at)->next_in_bucket;
    if (*at)
        *at = server->next_in_bucket;
}

static bool are_map_nodes_ok(const struct hf_router *router, const struct hf_slot_map *map)
{
    for (struct hf_server *s = NULL; (s = hf_server_next(router, s));)
        if (s->map_node != (s->is_map_source ? HF_NO_NODE
                                             : hf_slot_map_find_node(map, s->host, s->port)))
            return false;
    return true;
}

void hf_servers_find_in_map(struct hf_router *router, const struct hf_slot_map *map)
{
    HF_ASSERT(hf_loop_is_locked(router->loop));
    for (struct hf_server *s = NULL; (s = hf_server_next(router, s));)
        s->map_node = HF_NO_NODE;
    for (uint16_t i = 0; i < map->nodes_count; i++) {
        const struct hf_node *node = &map->nodes[i];
        struct hf_server *s = hf_server_find(router, node->host, node->port, false);

        if (s && (s->map_node == HF_NO_NODE ||
                  (node->is_online && !map->nodes[s->map_node].is_online)))
            s->map_node = i;
    }
    HF_ASSERT(are_map_nodes_ok(router, map));
}
