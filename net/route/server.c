/* Servers: a link to each, made when it is first needed. */
/* Tests: tests/test_net_router.c, tests/test_net_router_maps.c. */
#include "net/route/server.h"

#include <stdio.h>
#include <string.h>

#include "net/base/assert.h"
#include "net/base/error.h"
#include "net/base/mem.h"
#include "net/route/closed_connections.h"
#include "net/route/tracking.h"
#include "net/wire/tls_context.h"

/* ---- what the link reports ---- */

static void on_push(void *ctx, struct hf_resp_value push)
{
    struct hf_server *server = ctx;

    if (!hf_tracking_push(server->router, server, push))
        hf_pubsub_push(server->pubsub, push);
}

static void on_push_lost(void *ctx)
{
    struct hf_server *server = ctx;

    hf_pubsub_push_lost(server->pubsub);
    if (hf_link_is_tracking(server->link))
        hf_tracking_invalidate_all(server->router, server);
}

/* TRACKING-5. Nothing is subscribed to there. */
static void on_wait_push(void *ctx, struct hf_resp_value push)
{
    struct hf_server *server = ctx;

    (void)hf_tracking_push(server->router, server, push);
}

static void on_wait_push_lost(void *ctx)
{
    struct hf_server *server = ctx;

    if (hf_link_is_tracking(server->wait_link))
        hf_tracking_invalidate_all(server->router, server);
}

/* Once: a misspelt user with the default user's password has the default user's rights. */
static void report_refused_user(struct hf_server *server)
{
    struct hf_router *router = server->router;
    const char *user = hf_link_refused_user(server->link);
    struct hf_error note;
    char quoted[200];

    if (!user || router->has_reported_refused_user || !router->options.on_trouble)
        return;
    router->has_reported_refused_user = true;
    hf_error_set(&note, HF_E_AUTH,
                 "%s: the server refused the user '%s'; this client is logged in as the "
                 "default user, who has the same password",
                 hf_link_address(server->link),
                 hf_error_quote(quoted, sizeof quoted, user, strlen(user)));
    router->options.on_trouble(router->options.ctx, HF_TROUBLE_FAILURE, &note);
}

/* A server that serves nothing any more may stay away. */
static void report_tracking_down(struct hf_server *server, struct hf_link *link)
{
    struct hf_router *router = server->router;

    if (server->serves_slots || server == router->only_server)
        hf_tracking_link_down(router, link);
}

static void on_link_change(void *ctx, bool is_up)
{
    struct hf_server *server = ctx;

    hf_pubsub_link_changed(server->pubsub, is_up);
    if (is_up) {
        if (!server->is_map_source)
            hf_tracking_link_up(server->router, server, server->link);
        report_refused_user(server);
        server->router->events->on_link_up(server);
        server->router->events->on_handshake_ended(server);
    } else {
        report_tracking_down(server, server->link);
        server->router->events->on_link_down(server, server->link);
    }
}

/* The first connection has tracked nothing before. */
static void report_wait_link_tracking(struct hf_server *server)
{
    if (server->was_wait_link_tracking && hf_link_is_tracking(server->wait_link))
        hf_tracking_invalidate_all(server->router, server);
    server->was_wait_link_tracking |= hf_link_is_tracking(server->wait_link);
}

static void on_wait_link_change(void *ctx, bool is_up)
{
    struct hf_server *server = ctx;

    if (is_up) {
        report_wait_link_tracking(server);
        server->router->events->on_link_up(server);
    } else {
        report_tracking_down(server, server->wait_link);
        server->router->events->on_link_down(server, server->wait_link);
    }
}

static void on_subscriber_up(void *ctx)
{
    struct hf_server *server = ctx;

    server->is_pubsub_down_reported = false;
    server->router->events->on_link_up(server);
}

static void on_link_failure(void *ctx)
{
    struct hf_server *server = ctx;

    report_tracking_down(server, server->link);
    server->router->events->on_unreached(server, server->link);
}

static void on_wait_link_failure(void *ctx)
{
    struct hf_server *server = ctx;

    report_tracking_down(server, server->wait_link);
    server->router->events->on_unreached(server, server->wait_link);
}

/* Once for each outage. If the main link is not open either, its failure is reported. */
static void report_pubsub_unconnected(struct hf_server *server, const struct hf_error *why)
{
    struct hf_router *router = server->router;
    struct hf_error note;

    if (server->is_pubsub_down_reported || !hf_link_is_up(server->link) ||
        !router->options.on_trouble)
        return;
    server->is_pubsub_down_reported = true;
    hf_error_set(&note, why->status,
                 "no connection for messages, so waiters only poll their locks: %s", why->text);
    router->options.on_trouble(router->options.ctx, HF_TROUBLE_FAILURE, &note);
}

static void on_subscriber_failure(void *ctx)
{
    struct hf_server *server = ctx;
    const struct hf_link *own = hf_pubsub_own_link(server->pubsub);

    report_pubsub_unconnected(server, hf_link_error(own));
    server->router->events->on_unreached(server, own);
}

static void on_subscriptions_idle(void *ctx)
{
    struct hf_router *router = ((struct hf_server *)ctx)->router;

    if (router->on_idle && hf_router_subscriptions_are_idle(router))
        router->on_idle(router->on_idle_ctx);
}

/* An unsolicited sunsubscribe, or a refused SSUBSCRIBE: the slot has moved. */
static void on_slot_moved(void *ctx)
{
    struct hf_server *server = ctx;

    server->router->events->on_slot_moved(server);
}

/* ---- making ---- */

static bool is_seed(const struct hf_server *server)
{
    const struct hf_seeds *seeds = server->router->seeds;

    return hf_seeds_find(seeds, server->host, server->port) < seeds->hosts_count;
}

/* ASK may have named the server before it served a slot. */
static bool is_in_map(const struct hf_server *server)
{
    const struct hf_slot_map *map = server->router->map;
    uint16_t index = map ? hf_slot_map_find_node(map, server->host, server->port) : HF_NO_NODE;

    return index != HF_NO_NODE && hf_node_is_usable_master(map, index);
}

/* Its node in the map in force; NULL: it is not in it, or only by a MOVED. */
static const struct hf_node *map_node_of_server(const struct hf_server *server)
{
    const struct hf_slot_map *map = server->router->map;
    uint16_t i = map ? hf_slot_map_find_node(map, server->host, server->port) : HF_NO_NODE;

    return i == HF_NO_NODE || !map->nodes[i].id[0] ? NULL : &map->nodes[i];
}

/* NULL: the URL or the user's map names it, or it is not known who does. */
static const char *announcer_of_server(const struct hf_server *server)
{
    return server->is_map_source || is_seed(server) || !map_node_of_server(server) ||
                   map_node_of_server(server)->was_address_mapped ||
                   !server->router->map->sender_address[0]
               ? NULL
               : server->router->map->sender_address;
}

static void make_url_of_server(struct hf_url *url, const struct hf_server *server)
{
    const struct hf_router *router = server->router;

    *url = router->options.link.url;
    hf_url_set_server(url, server->host, server->port,
                      server->is_map_source ? router->seeds : NULL);
    if (!server->is_map_source && map_node_of_server(server))
        memcpy(url->ip, map_node_of_server(server)->ip, sizeof url->ip);
}

static void set_link_options(struct hf_link_options *link, struct hf_server *server,
                             bool is_wait_link)
{
    struct hf_closed_connection_key place = {server->host, server->port, is_wait_link};
    struct hf_router *router = server->router;

    *link = router->options.link;
    if (!server->is_map_source)
        link->predecessor = hf_closed_connection_take(router, &place);
    make_url_of_server(&link->url, server);
    link->tls = server->tls;
    link->is_sentinel = server->is_map_source;
    link->was_accepted = &router->was_login_accepted[server->is_map_source];
    link->wants_tracking = link->wants_tracking && !server->is_map_source;
    link->client_name = link->client_name ? router->client_name : NULL;
    if (router->topology->collect_replies_ms)
        link->backoff_max_ms = router->topology->collect_replies_ms / 4; /* a server that is up
                                                              again replies in time */
    if (server->is_map_source)
        link->listen_ms = 0; /* idle clients also subscribe to it; a client that waits
                                probes it anyway (DISCOVER-7) */
    link->announced_by = announcer_of_server(server);
    link->on_push = on_push;
    link->on_push_lost = on_push_lost;
    link->on_change = on_link_change;
    link->on_failure = on_link_failure;
    link->ctx = server;
}

static hf_status create_tls_context(struct hf_server *server)
{
    struct hf_router *router = server->router;
    struct hf_url url;
    hf_status rc = HF_OK;

    make_url_of_server(&url, server);
    if (url.kind == HF_URL_TLS)
        rc = hf_tls_context_share(&server->tls, router->tls, hf_url_tls(&url), url.host,
                                  &router->map_error);
    explicit_bzero(&url, sizeof url);
    return rc;
}

static hf_status create_links(struct hf_server *server)
{
    struct hf_router *router = server->router;
    struct hf_link_options link;
    hf_status rc;

    if ((rc = create_tls_context(server)) < 0)
        return rc;
    set_link_options(&link, server, false);
    rc = hf_link_new(&server->link, router->loop, &link);
    if (rc == HF_OK)
        rc = hf_pubsub_new(&server->pubsub, router->loop, server->link);
    explicit_bzero(&link.url, sizeof link.url);
    return rc;
}

hf_status hf_server_wait_link(struct hf_link **out, struct hf_server *server)
{
    struct hf_link_options link;
    hf_status rc = HF_OK;

    HF_ASSERT(hf_loop_is_locked(server->router->loop));
    if (!server->wait_link) {
        set_link_options(&link, server, true);
        link.on_push = on_wait_push;
        link.on_push_lost = on_wait_push_lost;
        link.on_change = on_wait_link_change;
        link.on_failure = on_wait_link_failure;
        link.silence_ms += server->router->options.replicas_timeout_ms;
        if (link.suspect_ms > 0)
            link.suspect_ms += server->router->options.replicas_timeout_ms;
        rc = hf_link_new(&server->wait_link, server->router->loop, &link);
        explicit_bzero(&link.url, sizeof link.url);
    }
    *out = server->wait_link;
    return rc;
}

/* A guide executes nothing that could come late. */
static void remember_closed_connections(const struct hf_server *server)
{
    struct hf_closed_connection_key place = {server->host, server->port, false};

    if (server->is_map_source)
        return;
    hf_closed_connection_note(server->router, &place, server->link);
    place.is_wait_link = true;
    hf_closed_connection_note(server->router, &place, server->wait_link);
}

static void add_stats_of_freed_link(struct hf_router *router, const struct hf_link *link)
{
    struct hf_link_stats last;

    if (!link || !router->multi_server)
        return;
    hf_link_get_stats(link, &last);
    hf_link_stats_add(&router->multi_server->freed_stats, &last);
}

void hf_server_free(struct hf_server *server)
{
    HF_ASSERT(hf_loop_is_locked(server->router->loop));
    if (server->pubsub)
        hf_pubsub_on_idle(server->pubsub, NULL, NULL);
    server->router->events->on_free(server);
    remember_closed_connections(server);
    hf_loop_disarm(server->router->loop, &server->replace_pause_timer);
    hf_pubsub_free(server->pubsub);
    add_stats_of_freed_link(server->router, server->wait_link);
    hf_link_free(server->wait_link); /* its commands may still use the other link */
    add_stats_of_freed_link(server->router, server->link);
    hf_link_free(server->link);
    hf_tls_context_free(server->tls);
    hf_list_remove(&server->node);
    hf_server_remove_from_table(server);
    server->router->server_count--;
    hf_mem_free(server->router->mem, server, sizeof *server);
}

static hf_status create_server(struct hf_server **out, struct hf_router *router,
                               const char *host, uint16_t port, bool is_map_source)
{
    struct hf_server *server;
    hf_status rc;

    if (router->server_count >= SERVERS_MAX)
        return HF_E_LIMIT;
    server = hf_mem_new(router->mem, sizeof *server);
    if (!server)
        return HF_E_NOMEM;
    server->router = router;
    server->serial = ++router->last_server_serial;
    (void)snprintf(server->host, sizeof server->host, "%s", host);
    server->port = port;
    server->is_map_source = is_map_source;
    hf_list_init(&server->commands);
    hf_list_init(&server->node);
    router->server_count++;
    if ((rc = create_links(server)) < 0) {
        hf_server_free(server);
        return rc;
    }
    hf_pubsub_on_idle(server->pubsub, on_subscriptions_idle, server);
    hf_pubsub_on_slot_moved(server->pubsub, on_slot_moved, server);
    hf_pubsub_on_own_link(server->pubsub, on_subscriber_up, on_subscriber_failure, server);
    hf_list_push(&router->servers, &server->node);
    hf_server_put_into_table(server);
    *out = server;
    return HF_OK;
}

hf_status hf_server_get(struct hf_server **out, struct hf_router *router,
                        const char *host, uint16_t port, bool is_map_source)
{
    struct hf_server *server =
        hf_server_find(router, host, port, is_map_source);

    HF_ASSERT(hf_loop_is_locked(router->loop));
    if (!server)
        return create_server(out, router, host, port, is_map_source);
    *out = server;
    return HF_OK;
}

/* ---- a new map ---- */

static void set_ip_of_links(struct hf_server *server, const char *ip)
{
    hf_link_set_ip(server->link, ip);
    if (server->wait_link)
        hf_link_set_ip(server->wait_link, ip);
    hf_pubsub_set_ip(server->pubsub, ip);
}

void hf_servers_take_ips(struct hf_router *router)
{
    const struct hf_slot_map *map = router->map;

    HF_ASSERT(hf_loop_is_locked(router->loop));
    hf_servers_find_in_map(router, map);
    for (struct hf_server *s = NULL; (s = hf_server_next(router, s));)
        if (s->map_node != HF_NO_NODE && map->nodes[s->map_node].id[0])
            set_ip_of_links(s, map->nodes[s->map_node].ip);
}

/* ---- sweeping ---- */

#define SWEEP_MS 1000         /* time for UNSUBSCRIBE, and for a slot's return */

/* A sentinel's probe has gone on to its master. */
static bool is_server_probed(const struct hf_server *server)
{
    const struct hf_router *router = server->router;

    if (server->probe.is_under_way)
        return true;
    for (struct hf_server *s = NULL; (s = hf_server_next(router, s));)
        if (s->probe.is_under_way && s->probe.named_master == server)
            return true;
    return false;
}

static bool has_subscriptions(const struct hf_server *server)
{
    const struct hf_list *all = &server->router->subscriptions;

    for (struct hf_list *l = all->next; l != all; l = l->next)
        if (HF_OWNER_OF(l, struct hf_subscription, route_node)->pubsub ==
            server->pubsub)
            return true;
    return false;
}

/* A guide that is in no list any more is not listened to. */
static bool is_server_needed(const struct hf_server *server)
{
    if (server->is_map_source)
        return is_seed(server) || is_server_probed(server);
    if (server->router->topology->collect_replies_ms && is_seed(server))
        return true;
    return server->serves_slots || is_in_map(server) || is_server_probed(server) ||
           !hf_list_is_empty(&server->commands) || has_subscriptions(server) ||
           !hf_pubsub_is_idle(server->pubsub);
}

/* In a timer, so that this thread drives and no link is on the stack. */
static void on_sweep_timer(struct hf_timer *timer)
{
    struct hf_router *router = HF_OWNER_OF(timer, struct hf_router, sweep_timer);
    struct hf_list *next;

    for (struct hf_list *l = router->servers.next; l != &router->servers;
         l = next) {
        struct hf_server *server = HF_OWNER_OF(l, struct hf_server, node);

        next = l->next;
        if (!is_server_needed(server))
            hf_server_free(server);
    }
}

void hf_servers_init(struct hf_router *router,
                     const struct hf_server_events *events)
{
    router->events = events;
    router->sweep_timer.fire = on_sweep_timer;
}

void hf_servers_sweep_soon(struct hf_router *router)
{
    HF_ASSERT(hf_loop_is_locked(router->loop));
    hf_loop_arm(router->loop, &router->sweep_timer,
                hf_loop_now(router->loop) + SWEEP_MS);
}

/* ---- silence ---- */

/* The servers' login is not used at sentinels. */
static const char *login_hint(const struct hf_server *server)
{
    return server->router->seeds->sentinel_login
               ? "is the login of this sentinel right (sentinel_user and "
                 "sentinel_password in the URL)?"
               : "this sentinel has a login of its own: is sentinel_password "
                 "missing in the URL (--sentinel-password-file)?";
}

static const char *tls_hint(const struct hf_server *server)
{
    return server->tls ? "sentinel_tls=no in the URL is for sentinels without TLS"
                       : "sentinel_tls=yes in the URL is for sentinels with TLS";
}

/* A server without TLS may wait for the rest of what it takes for a line. */
static bool may_lack_tls(const struct hf_server *server)
{
    return server->tls && !hf_link_is_up(server->link);
}

void hf_server_explain_silence(const struct hf_server *server, struct hf_error *out)
{
    bool is_about_tls;

    HF_ASSERT(hf_loop_is_locked(server->router->loop));
    *out = *hf_link_error(server->link);
    is_about_tls = out->status == HF_OK ? may_lack_tls(server)
                                        : strstr(out->text, "TLS") != NULL;
    if (out->status == HF_OK)
        hf_error_set(out, HF_E_CONNECT, "%s: no reply in time",
                     hf_link_address(server->link));
    if (!server->is_map_source)
        return;
    if (out->status == HF_E_AUTH)
        hf_error_add(out, login_hint(server));
    else if (is_about_tls)
        hf_error_add(out, tls_hint(server));
}

/* ---- credentials ---- */

bool hf_router_answer_credentials(struct hf_router *router, uint64_t id,
                                  const struct hf_credentials *credentials,
                                  const struct hf_error *why)
{
    HF_ASSERT(hf_loop_is_locked(router->loop));
    for (struct hf_server *s = NULL; (s = hf_server_next(router, s));)
        if (hf_link_answer_credentials(s->link, id, credentials, why) ||
            (s->wait_link && hf_link_answer_credentials(s->wait_link, id, credentials, why)) ||
            hf_pubsub_answer_credentials(s->pubsub, id, credentials, why))
            return true;
    return false;
}
