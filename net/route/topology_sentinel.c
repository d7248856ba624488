/* Sentinels: the client queries a sentinel for the other sentinels and for the address of the
 * master, and then that server for its role. Sentinels may have old data, and an old master
 * that returns does not know yet that it is no longer the master.
 *
 * Each sentinel also publishes the address of a new master (+switch-master): a hint to query
 * that sentinel at once. Without it, the end of a connection causes a query a little later. The
 * client subscribes at all of them, because the sentinel that it queries may have failed
 * together with the master, on one machine.
 * Source: SENTINEL "Guidelines for Redis clients with support for Redis Sentinel". */
/* Tests: tests/test_net_sentinel.c, tests/test_net_sentinel_news.c,
 *        tests/live/sentinel/test_sentinel.c. */
#include <stdio.h>
#include <string.h>

#include "net/base/error.h"
#include "net/route/announced.h"
#include "net/route/discover.h"
#include "net/route/doubt.h"
#include "net/route/probe.h"
#include "net/route/refusal.h"
#include "net/route/replace.h"
#include "net/route/sentinel_words.h"
#include "net/route/topology.h"

enum { SENTINELS, MASTER, ROLE };

/* A reachable server replies in this time. Otherwise it is queried again, or another
 * one. */
#define ROLE_TIMEOUT_MS 1000

/* Fills in an error of the master that this sentinel names; `what` begins with its
 * address. */
static void set_error_about_master(const struct hf_server *server, struct hf_error *out,
                          hf_status status, const char *what)
{
    hf_error_set(out, status, "sentinel %s names the master %s",
                 hf_link_address(server->link), what);
}

/* A hint about TLS is for a sentinel that replied over a plain connection. */
static void set_error_of_silent_master(const struct hf_server *server,
                              struct hf_error *out)
{
    struct hf_error why;

    hf_server_explain_silence(server->probe.named_master, &why);
    set_error_about_master(server, out, why.status, why.text);
    if (!server->probe.named_master->tls && strstr(why.text, "TLS"))
        hf_error_add(out, "rediss+sentinel:// with sentinel_tls=no is for a master with TLS");
}

static void explain_pending_query(const struct hf_server *server, struct hf_error *out)
{
    if (server->probe.is_sent[ROLE])
        set_error_of_silent_master(server, out);
    else
        hf_server_explain_silence(server, out);
}

static const struct hf_server *awaited_server(const struct hf_server *server)
{
    return server->probe.is_sent[ROLE] ? server->probe.named_master : server;
}

/* ---- the others ---- */

static void add_sentinel_to_seeds(struct hf_seeds *seeds, const struct hf_endpoint *one)
{
    if (seeds->hosts_count == HF_SEEDS_MAX ||
        hf_seeds_find(seeds, one->host, one->port) < seeds->hosts_count)
        return;
    memcpy(seeds->hosts[seeds->hosts_count].host, one->host, strlen(one->host) + 1);
    seeds->hosts[seeds->hosts_count++].port = one->port;
}

/* The sentinels of the URL are kept; the others are replaced by those that are known
 * now, so that sentinels that were removed do not occupy their places forever. */
static void update_known_sentinels(struct hf_server *server, const struct hf_sentinel_list *list)
{
    struct hf_router *router = server->router;
    struct hf_seeds *seeds = &router->multi_server->seeds;
    struct hf_endpoint itself = {.port = server->port};

    memcpy(itself.host, server->host, sizeof itself.host);
    seeds->hosts_count = router->seeds_in_url;
    add_sentinel_to_seeds(seeds, &itself);
    for (uint32_t i = 0; i < list->count; i++)
        add_sentinel_to_seeds(seeds, &list->sentinels[i]);
    hf_discover_seeds_changed(router);
}

/* A sentinel that does not name others is still queried for the master. */
static void on_sentinels_reply(struct hf_request *request, enum hf_outcome outcome,
                               struct hf_resp_value reply)
{
    struct hf_server *server = hf_probe_request_ended(request, SENTINELS);
    struct hf_sentinel_list list;
    struct hf_error ignored;

    if (outcome != HF_ANSWERED ||
        hf_sentinel_list_read(&list, reply, &ignored) < 0)
        return;
    for (uint32_t i = 0; i < list.count; i++)
        hf_announced_replace(server->router, &list.sentinels[i]);
    update_known_sentinels(server, &list);
}

/* ---- news ---- */

static struct hf_server *sentinel_of_subscription(struct hf_subscription *news)
{
    return HF_OWNER_OF(HF_OWNER_OF(news, struct hf_probe, switch_subscription),
                       struct hf_server, probe);
}

static bool is_master_of_map(const struct hf_router *router,
                             const struct hf_endpoint *master)
{
    const struct hf_node *node =
        router->map ? hf_slot_map_master_of_slot(router->map, 0) : NULL;

    return node && node->port == master->port &&
           strcmp(node->host, master->host) == 0;
}

/* From now on no command is sent to the old master, which may accept writes for 10 s
 * more if it has not failed: commands wait. The sentinel that published the news is
 * queried first, because others may not know it yet. When they also publish it, the new
 * master is already in use. */
static void on_switch_master_message(struct hf_subscription *s, const char *ptr, size_t len)
{
    struct hf_server *server = sentinel_of_subscription(s);
    struct hf_router *router = server->router;
    struct hf_switch_master news;

    if (!hf_switch_master_read(&news, (struct hf_text){ptr, len}) ||
        !hf_text_is(news.master_name, router->seeds->master))
        return;
    hf_announced_replace(router, &news.new_master);
    if (is_master_of_map(router, &news.new_master))
        return;
    hf_router_forget_map(router);
    hf_discover_restart(router, server);
}

static void on_switch_subscription_change(struct hf_subscription *s, bool is_live)
{
    struct hf_server *server = sentinel_of_subscription(s);

    if (is_live && server->probe.may_have_missed_switch)
        hf_discover_want(server->router, server);
    server->probe.may_have_missed_switch = !is_live;
}

/* If there is no memory for the subscription, the end of the connection must suffice.
 * */
static void subscribe_to_switch_master(struct hf_server *server)
{
    static const char channel[] = "+switch-master";
    struct hf_subscription *news = &server->probe.switch_subscription;

    if (news->pubsub)
        return;
    news->channel = channel;
    news->channel_len = sizeof channel - 1;
    news->on_message = on_switch_master_message;
    news->on_change = on_switch_subscription_change;
    if (hf_pubsub_add(server->pubsub, news) < 0)
        news->pubsub = NULL;
}

static void subscribe_at_all_sentinels(struct hf_router *router)
{
    struct hf_server *server;

    for (uint32_t i = 0; i < router->seeds->hosts_count; i++)
        if (hf_server_get(&server, router, router->seeds->hosts[i].host,
                          router->seeds->hosts[i].port, true) == HF_OK)
            subscribe_to_switch_master(server);
}

/* ---- the master ---- */

/* For a reason of our own: memory, mostly. */
static void fail_with_status(struct hf_server *server, hf_status status)
{
    struct hf_error why;

    hf_error_set(&why, status, "%s: %s", server->router->address,
                 hf_net_status_text(status));
    hf_discover_failed(server, false, &why);
}

static void report_master(struct hf_server *server)
{
    const struct hf_server *master = server->probe.named_master;
    struct hf_slot_map *map =
        hf_slot_map_of_one(master->router->mem, master->host, master->port);

    if (!map) {
        fail_with_status(server, HF_E_NOMEM);
        return;
    }
    subscribe_at_all_sentinels(server->router);
    hf_discover_found(server, map);
}

static void report_not_a_master(struct hf_server *server, const char *what)
{
    struct hf_error why;

    hf_error_set(&why, HF_E_CONNECT, "sentinel %s names the master %s: %s",
                 hf_link_address(server->link),
                 hf_link_address(server->probe.named_master->link), what);
    hf_discover_failed(server, false, &why);
}

/* DOUBT-3: soon again. The answer to ROLE may be the first one after the silence. */
static void query_again_for_doubt(struct hf_server *server)
{
    struct hf_discovery *d = &server->router->discovery;

    if (server->probe.named_master->serves_slots)
        hf_router_forget_map(server->router);
    if (d->failed_rounds > 1)
        d->failed_rounds = 1;
    report_not_a_master(server, "it was silent, and may have been replaced; asking again");
}

static void on_role_reply(struct hf_request *request, enum hf_outcome outcome,
                          struct hf_resp_value reply)
{
    struct hf_server *server = hf_probe_request_ended(request, ROLE);
    struct hf_error why;
    struct hf_role role;

    if (outcome != HF_ANSWERED) {
        set_error_of_silent_master(server, &why);
        hf_discover_failed(
            server, hf_link_is_refused(server->probe.named_master->link), &why);
    } else if (hf_role_read(&role, reply, &why) < 0) {
        hf_doubt_refused(server->probe.named_master);
        report_not_a_master(server, why.text);
    } else if (role.kind != HF_ROLE_MASTER) {
        report_not_a_master(server, "it reports that it is not a master");
    } else if (hf_doubt_is_on(server->probe.named_master)) {
        query_again_for_doubt(server);
    } else {
        report_master(server);
    }
}

static void query_role(struct hf_server *server, const struct hf_endpoint *where)
{
    static const struct hf_resp_arg role = {"ROLE", 4};
    struct hf_router *router = server->router;
    hf_status rc = hf_server_get(&server->probe.named_master, router, where->host,
                                 where->port, false);

    if (rc == HF_OK)
        rc = hf_probe_send(server, ROLE, server->probe.named_master->link, &role, 1,
                           hf_loop_now(router->loop) + ROLE_TIMEOUT_MS,
                           on_role_reply);
    if (rc == HF_E_TLS) /* then the server is reachable, and the error is another one */
        hf_discover_failed(server, false, &router->map_error);
    else if (rc < 0)
        fail_with_status(server, rc);
}

/* Its own words, or that it does not know the name (S2). */
static void report_no_master_named(struct hf_server *server, const struct hf_error *why)
{
    const char *name = server->router->seeds->master;
    struct hf_error whole;
    char quoted[2 * HF_MASTER_NAME_MAX];

    if (why->status == HF_E_INVAL)
        hf_error_set(&whole, HF_E_INVAL, "the sentinels do not know '%s': %s",
                     hf_error_quote(quoted, sizeof quoted, name, strlen(name)),
                     hf_link_address(server->link));
    else
        hf_error_set(&whole, why->status, "sentinel %s: %s",
                     hf_link_address(server->link), why->text);
    hf_discover_failed(server, true, &whole);
}

static void on_master_address_reply(struct hf_request *request, enum hf_outcome outcome,
                                    struct hf_resp_value reply)
{
    struct hf_server *server = hf_probe_request_ended(request, MASTER);
    struct hf_endpoint where;
    struct hf_error why;

    if (outcome != HF_ANSWERED) {
        hf_server_explain_silence(server, &why);
        hf_discover_failed(server, hf_link_is_refused(server->link), &why);
    } else if (hf_sentinel_master_read(&where, reply, &why) < 0) {
        report_no_master_named(server, &why);
    } else {
        hf_announced_replace(server->router, &where);
        query_role(server, &where);
    }
}

static hf_status query_master(struct hf_server *server, int64_t deadline_ms)
{
    const char *name = server->router->seeds->master;
    struct hf_resp_arg sentinels[] = {
        {"SENTINEL", 8}, {"SENTINELS", 9}, {name, strlen(name)}};
    struct hf_resp_arg master[] = {
        {"SENTINEL", 8}, {"GET-MASTER-ADDR-BY-NAME", 23}, {name, strlen(name)}};
    hf_status rc;

    if ((rc = hf_probe_send(server, SENTINELS, server->link, sentinels, 3,
                            deadline_ms, on_sentinels_reply)) == HF_OK)
        rc = hf_probe_send(server, MASTER, server->link, master, 3, deadline_ms,
                           on_master_address_reply);
    if (rc < 0)
        hf_probe_cancel(server);
    return rc;
}

/* ---- the table ---- */

static void describe_sentinels(const struct hf_router *router, char *dst, size_t room)
{
    char prefix[140];

    (void)snprintf(prefix, sizeof prefix, "master '%.100s' of sentinels at",
                   router->seeds->master);
    hf_seeds_describe(router->seeds, prefix, dst, room);
}

/* The address of the master is queried again for each connection to it. */
static void on_link_down(struct hf_server *server)
{
    if (server->is_map_source)
        return;
    if (server->serves_slots)
        hf_router_forget_map(server->router);
    else
        hf_discover_want(server->router, NULL);
}

/* Nothing is sent to it, and no answer of it counts, until the sentinels had time to
 * learn of its successor. */
static void on_doubt(struct hf_server *server)
{
    if (!server->serves_slots)
        return;
    hf_router_forget_map(server->router);
    hf_discover_restart(server->router, NULL);
}

/* A master that has become a replica accepts no writes. The sentinels may still name
 * it: then ROLE shows it (on_role_reply). */
static enum hf_verdict classify_error_reply(struct hf_redirection *out,
                                            struct hf_resp_value reply)
{
    (void)out;
    if (hf_refusal_is(reply, "READONLY") || hf_refusal_is(reply, "MASTERDOWN"))
        return HF_VERDICT_DEMOTED;
    return hf_replace_may_help(reply) ? HF_VERDICT_RECONNECT : HF_VERDICT_RESULT;
}

const struct hf_topology hf_topology_sentinel = {
    .describe = describe_sentinels,
    .query_server = query_master,
    .explain_pending_query = explain_pending_query,
    .server_awaited = awaited_server,
    .on_link_down = on_link_down,
    .on_doubt = on_doubt,
    .classify_error_reply = classify_error_reply,
};
