/* A router as text: its servers and their connections. */
/* Tests: tests/live/lock/test_dump.c. */
#include <inttypes.h>

#include "net/base/dump.h"
#include "net/base/assert.h"
#include "net/link/link.h"
#include "net/route/command_state.h"
#include "net/route/router_inner.h"
#include "net/route/server.h"

#define COMMANDS_SHOWN 20

static const char *const command_states[] = {
    [HF_COMMAND_IDLE] = "idle",
    [HF_COMMAND_AWAITS_MAP] = "waits for the map",
    [HF_COMMAND_AWAITS_SPACE] = "waits for space in the output",
    [HF_COMMAND_SENT] = "queued or sent",
    [HF_COMMAND_REPLIED] = "waits for the reply to WAIT",
};

static void dump_command(const struct hf_command *c, struct hf_dump *dump, int depth)
{
    char sent[HF_DUMP_TIME_MAX], deadline[HF_DUMP_TIME_MAX];
    int64_t sent_ms = c->own_request.sent_ms == HF_NEVER ? c->sent_ms : c->own_request.sent_ms;

    hf_dump_line(dump, depth, "command %.*s, slot %u: %s, sent: %s, deadline %s%s",
                 (int)c->argv[0].len, (const char *)c->argv[0].ptr, (unsigned)c->slot,
                 command_states[c->state], hf_dump_time(dump, sent, sent_ms),
                 hf_dump_time(dump, deadline, c->deadline_ms),
                 c->was_redirected_by_ask ? ", redirected by ASK" : "");
}

static void dump_commands(const struct hf_list *commands, struct hf_dump *dump, int depth)
{
    size_t n = 0;

    for (const struct hf_list *l = commands->next; l != commands; l = l->next)
        if (n++ < COMMANDS_SHOWN)
            dump_command(HF_OWNER_OF(l, struct hf_command, node), dump, depth);
    if (n > COMMANDS_SHOWN)
        hf_dump_line(dump, depth, "further commands: %zu", n - COMMANDS_SHOWN);
}

static void dump_server(const struct hf_server *server, struct hf_dump *dump, int depth)
{
    char silent[HF_DUMP_TIME_MAX];
    const struct hf_link *subscriber = hf_pubsub_own_link(server->pubsub);

    hf_dump_line(dump, depth, "server %s: %s, commands %zu, silent since: %s",
                 hf_link_address(server->link),
                 !server->router->topology->query_server ? "the only one"
                 : server->is_map_source        ? "names other servers"
                 : server->serves_slots            ? "serves slots"
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
    dump_commands(&server->commands, dump, depth + 1);
}

void hf_router_dump(const struct hf_router *router, struct hf_dump *dump, int depth)
{
    char due[HF_DUMP_TIME_MAX];

    HF_ASSERT(hf_loop_is_locked(router->loop));
    hf_dump_line(dump, depth,
                 "%s: map %s, servers %" PRIu32 ", commands that wait for the map %zu, "
                 "subscriptions %zu",
                 router->address,
                 router->map              ? "known"
                 : router->topology->query_server  ? "unknown"
                                          : "not needed",
                 router->server_count, hf_list_count(&router->commands_awaiting_map),
                 hf_list_count(&router->subscriptions));
    if (router->map_error.status != HF_OK)
        hf_dump_line(dump, depth + 1, "why it is unknown: %s", router->map_error.text);
    if (router->discovery.round_timer.link)
        hf_dump_line(dump, depth + 1, "timer of the discovery of servers: %s",
                     hf_dump_time(dump, due, router->discovery.round_timer.due_ms));
    dump_commands(&router->commands_awaiting_map, dump, depth + 1);
    for (const struct hf_server *s = NULL; (s = hf_server_next(router, s));)
        dump_server(s, dump, depth + 1);
}
