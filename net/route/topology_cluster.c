/* A cluster: its nodes have the map. The client sends these commands to a node in one
 * write: CLUSTER INFO, before the map, so that the map is at least as new as the epoch
 * (slot_map.h); once, a command that shows whether the node has sharded messages, as
 * Redisson does (WIRE 5.1); CLUSTER SLOTS. */
/* Tests: tests/test_net_router_maps.c, tests/live/cluster/test_cluster.c. */
#include <stdio.h>
#include <string.h>

#include "net/base/error.h"
#include "net/route/announced.h"
#include "net/route/discover.h"
#include "net/route/probe.h"
#include "net/route/replace.h"
#include "net/route/topology.h"

enum { INFO, SHARDED, SLOTS, SHARDS };

static void report_failed_query(struct hf_server *server, bool is_final, hf_status status,
                                const char *what)
{
    struct hf_error why;

    hf_error_set(&why, status, "%s: %s", hf_link_address(server->link), what);
    hf_discover_failed(server, is_final, &why);
}

/* "ERR This instance has cluster support disabled" and its like: for good. */
static void report_refused_query(struct hf_server *server,
                                 struct hf_resp_value reply)
{
    bool is_temporary_failure = hf_resp_error_is(reply, "LOADING") ||
                      hf_resp_error_is(reply, "BUSY");
    char words[200], what[260];
    const char *ptr = "";
    size_t len = 0;

    (void)hf_resp_bytes(reply, &ptr, &len);
    (void)snprintf(what, sizeof what, "%s%s",
                   hf_error_quote(words, sizeof words, ptr, len),
                   hf_resp_error_is(reply, "ERR")
                       ? "; is this a single server? Its URL is redis://"
                       : "");
    report_failed_query(server, !is_temporary_failure, HF_E_SERVER, what);
}

static void report_unanswered_query(struct hf_server *server)
{
    struct hf_error why;

    hf_server_explain_silence(server, &why);
    hf_discover_failed(server, hf_link_is_refused(server->link), &why);
}

static void on_cluster_info_reply(struct hf_request *request, enum hf_outcome outcome,
                                  struct hf_resp_value reply)
{
    struct hf_server *server = hf_probe_request_ended(request, INFO);

    server->probe.has_info =
        outcome == HF_ANSWERED &&
        hf_cluster_info_read(&server->probe.cluster_info, reply);
}

/* This is how Redisson decides it. It may be wrong. */
static void report_plain_notifications(struct hf_server *server)
{
    const struct hf_router *router = server->router;
    struct hf_error why;

    hf_error_set(&why, HF_E_SERVER,
                 "%s: PUBSUB SHARDNUMSUB is not permitted, so plain notifications "
                 "are used; set sharded=on or sharded=off in the URL",
                 hf_link_address(server->link));
    if (router->options.on_trouble)
        router->options.on_trouble(router->options.ctx, HF_TROUBLE_FAILURE, &why);
}

static void on_shardnumsub_reply(struct hf_request *request, enum hf_outcome outcome,
                                 struct hf_resp_value reply)
{
    struct hf_server *server = hf_probe_request_ended(request, SHARDED);

    if (outcome != HF_ANSWERED || server->router->was_map_known)
        return;
    server->router->is_sharded = !hf_resp_is_error(reply);
    if (hf_resp_error_is(reply, "NOPERM"))
        report_plain_notifications(server);
}

static hf_status query_shardnumsub(struct hf_server *server, int64_t deadline_ms)
{
    static const struct hf_resp_arg argv[] = {
        {"PUBSUB", 6}, {"SHARDNUMSUB", 11}, {"0", 1}};
    struct hf_router *router = server->router;

    if (router->was_map_known || router->seeds->sharded == HF_SHARDED_OFF)
        return HF_OK;
    if (router->seeds->sharded != HF_SHARDED_ON)
        return hf_probe_send(server, SHARDED, server->link, argv, 3,
                             deadline_ms, on_shardnumsub_reply);
    router->is_sharded = true;
    return HF_OK;
}

static struct hf_slot_map_source slot_map_source_of(const struct hf_server *server)
{
    return (struct hf_slot_map_source){
        .mem = server->router->mem,
        .host = server->host,
        .is_tls = server->router->options.link.url.kind == HF_URL_TLS,
    };
}

typedef hf_status read_map(struct hf_slot_map **out,
                           const struct hf_slot_map_source *from,
                           struct hf_resp_value reply, struct hf_error *err);

static void read_and_report_map(struct hf_server *server, read_map *read,
                                struct hf_resp_value reply)
{
    struct hf_slot_map_source source = slot_map_source_of(server);
    struct hf_slot_map *map;
    struct hf_error err;
    hf_status rc = read(&map, &source, reply, &err);

    if (rc < 0) {
        report_failed_query(server, false, rc, err.text);
        return;
    }
    hf_announced_replace_in_map(server, map);
    (void)snprintf(map->sender_address, sizeof map->sender_address, "%s",
                   hf_link_address(server->link));
    if (server->probe.has_info)
        map->cluster_info = server->probe.cluster_info;
    hf_discover_found(server, map);
}

static void on_cluster_shards_reply(struct hf_request *request, enum hf_outcome outcome,
                                    struct hf_resp_value reply)
{
    struct hf_server *server = hf_probe_request_ended(request, SHARDS);

    if (outcome != HF_ANSWERED)
        report_unanswered_query(server);
    else if (hf_resp_is_error(reply))
        report_refused_query(server, reply);
    else
        read_and_report_map(server, hf_slot_map_from_shards, reply);
}

static hf_status query_cluster(struct hf_server *server, unsigned index,
                               const char *what, int64_t deadline_ms,
                               void (*done)(struct hf_request *, enum hf_outcome,
                                            struct hf_resp_value))
{
    struct hf_resp_arg argv[2] = {{"CLUSTER", 7}, {what, strlen(what)}};

    return hf_probe_send(server, index, server->link, argv, 2, deadline_ms,
                         done);
}

/* A server that has only CLUSTER SHARDS says that it does not know SLOTS. */
static bool is_unknown_cluster_slots(struct hf_resp_value reply)
{
    static const char unknown[] = "ERR unknown subcommand";
    const char *ptr = "";
    size_t len = 0;

    (void)hf_resp_bytes(reply, &ptr, &len);
    return len >= sizeof unknown - 1 &&
           strncasecmp(ptr, unknown, sizeof unknown - 1) == 0;
}

static void on_cluster_slots_reply(struct hf_request *request, enum hf_outcome outcome,
                                   struct hf_resp_value reply)
{
    struct hf_server *server = hf_probe_request_ended(request, SLOTS);

    if (outcome != HF_ANSWERED)
        report_unanswered_query(server);
    else if (hf_resp_is_error(reply) && is_unknown_cluster_slots(reply) &&
             query_cluster(server, SHARDS, "SHARDS", request->deadline_ms,
                           on_cluster_shards_reply) ==
                 HF_OK)
        return;
    else if (hf_resp_is_error(reply))
        report_refused_query(server, reply);
    else
        read_and_report_map(server, hf_slot_map_from_slots, reply);
}

static hf_status query_map(struct hf_server *server, int64_t deadline_ms)
{
    hf_status rc;

    server->probe.has_info = false;
    if ((rc = query_cluster(server, INFO, "INFO", deadline_ms, on_cluster_info_reply)) == HF_OK &&
        (rc = query_shardnumsub(server, deadline_ms)) == HF_OK)
        rc = query_cluster(server, SLOTS, "SLOTS", deadline_ms, on_cluster_slots_reply);
    if (rc < 0)
        hf_probe_cancel(server);
    return rc;
}

/* ---- the table ---- */

static void describe_cluster(const struct hf_router *router, char *dst, size_t room)
{
    hf_seeds_describe(router->seeds, "cluster at", dst, room);
}

static void explain_pending_query(const struct hf_server *server, struct hf_error *out)
{
    *out = *hf_link_error(server->link);
}

static const struct hf_server *awaited_server(const struct hf_server *server)
{
    return server;
}

/* The map may be out of date. */
static void on_link_down(struct hf_server *server)
{
    hf_discover_want(server->router, NULL);
}

/* The other nodes know its successor at once. */
static void on_doubt(struct hf_server *server)
{
    hf_discover_want(server->router, NULL);
}

static enum hf_verdict classify_error_reply(struct hf_redirection *out,
                                            struct hf_resp_value reply)
{
    if (hf_redirection_read(out, reply))
        return HF_VERDICT_REDIRECT;
    return hf_replace_may_help(reply) ? HF_VERDICT_RECONNECT : HF_VERDICT_RESULT;
}

const struct hf_topology hf_topology_cluster = {
    .queries_nodes = true,
    .describe = describe_cluster,
    .slot_of_key = hf_slot_of,
    .query_server = query_map,
    .explain_pending_query = explain_pending_query,
    .server_awaited = awaited_server,
    .on_link_down = on_link_down,
    .on_doubt = on_doubt,
    .classify_error_reply = classify_error_reply,
};
