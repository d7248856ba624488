/* A router as text: its servers and their connections. */
/* Tests: tests/live/lock/test_dump.c. */
#include <inttypes.h>

#include "net/base/dump.h"
#include "net/link/link.h"
#include "net/route/router_inner.h"
#include "net/route/server.h"

static void dump_server(const struct hf_server *server, struct hf_dump *dump, int depth)
{
    char silent[HF_DUMP_TIME_MAX];
    const struct hf_link *subscriber = hf_pubsub_link(server->pubsub);

    hf_dump_line(dump, depth, "server %s:%u: %s, %zu commands, silent since: %s",
                 server->host, (unsigned)server->port,
                 !server->router->topology->ask ? "the only one"
                 : server->is_map_source        ? "names other servers"
                 : server->is_target            ? "serves slots"
                                                : "serves no slot",
                 hf_list_count(&server->commands),
                 hf_dump_time(dump, silent,
                              server->silent_since_ms ? server->silent_since_ms
                                                      : HF_NEVER));
    hf_link_dump(server->link, dump, depth + 1, "connection");
    if (server->wait_link)
        hf_link_dump(server->wait_link, dump, depth + 1, "connection for WAIT");
    if (subscriber)
        hf_link_dump(subscriber, dump, depth + 1, "connection for subscriptions");
}

void hf_router_dump(const struct hf_router *router, struct hf_dump *dump, int depth)
{
    hf_dump_line(dump, depth,
                 "%s: map %s, %" PRIu32 " servers, %zu commands wait for the map, %zu "
                 "subscriptions",
                 router->address,
                 router->map              ? "known"
                 : router->topology->ask  ? "unknown"
                                          : "not needed",
                 router->server_count, hf_list_count(&router->pending),
                 hf_list_count(&router->subscriptions));
    if (router->error.status != HF_OK)
        hf_dump_line(dump, depth + 1, "why it is unknown: %s", router->error.text);
    for (const struct hf_server *s = NULL; (s = hf_server_next(router, s));)
        dump_server(s, dump, depth + 1);
}
