/* What a sentinel is asked: which others there are, and where the master is; then
 * that server, whether it is one. Sentinels may be behind the times, and an old
 * master back from the dead does not know yet that it is none.
 *
 * One of them also tells us of a new master (+switch-master): a hint to ask at
 * once, without which asking from time to time finds it a little later.
 * Source: SENTINEL "Guidelines for Redis clients with support for Redis
 * Sentinel". */
#include <string.h>

#include "net/router.h"
#include "net/sentinel_words.h"

enum { SENTINELS, MASTER, ROLE };

/* Of a server that is there: one that is not is asked again, or another. */
#define ROLE_TIMEOUT_MS 1000

static struct hf_server *server_of(struct hf_request *request, int index)
{
    struct hf_probe *probe =
        HF_OWNER_OF(request - index, struct hf_probe, requests[0]);

    probe->is_sent[index] = false;
    return HF_OWNER_OF(probe, struct hf_server, probe);
}

static void failed(struct hf_server *server, bool is_final,
                   const struct hf_server *where, const struct hf_error *why)
{
    struct hf_error whole;

    hf_error_set(&whole, why->status, "%s: %s", hf_link_address(where->link),
                 why->text);
    hf_probe_cancel(server);
    hf_discover_failed(server, is_final, &whole);
}

static void unanswered(struct hf_server *server, struct hf_server *where)
{
    struct hf_error why = *hf_link_error(where->link);
    bool is_final = where == server && hf_link_is_refused(where->link);

    if (why.status == HF_OK)
        hf_error_set(&why, HF_E_CONNECT, "%s: no answer in time",
                     hf_link_address(where->link));
    hf_probe_cancel(server);
    hf_discover_failed(server, is_final, &why);
}

/* ---- the others ---- */

static bool is_seed(const struct hf_seeds *seeds, const struct hf_endpoint *one)
{
    for (uint32_t i = 0; i < seeds->count; i++)
        if (seeds->list[i].port == one->port &&
            strcmp(seeds->list[i].host, one->host) == 0)
            return true;
    return false;
}

static void add_seed(struct hf_seeds *seeds, const struct hf_endpoint *one)
{
    if (seeds->count == HF_SEEDS_MAX || is_seed(seeds, one))
        return;
    memcpy(seeds->list[seeds->count].host, one->host, strlen(one->host) + 1);
    seeds->list[seeds->count++].port = one->port;
}

/* Whoever does not tell is asked for the master all the same. */
static void on_sentinels(struct hf_request *request, enum hf_outcome outcome,
                         struct hf_resp_value reply)
{
    struct hf_server *server = server_of(request, SENTINELS);
    struct hf_sentinel_list list;
    struct hf_error ignored;

    if (outcome != HF_ANSWERED ||
        hf_sentinel_list_read(&list, reply, &ignored) < 0)
        return;
    for (uint32_t i = 0; i < list.count; i++)
        add_seed(&server->router->seeds, &list.each[i]);
}

/* ---- news ---- */

static struct hf_router *router_of(struct hf_subscription *news)
{
    struct hf_discovery *d =
        HF_OWNER_OF(news, struct hf_discovery, news);

    return HF_OWNER_OF(d, struct hf_router, discovery);
}

static void on_news(struct hf_subscription *s, const char *ptr, size_t len)
{
    struct hf_router *router = router_of(s);
    struct hf_switch_master news;

    if (hf_switch_master_read(&news, (struct hf_text){ptr, len}) &&
        hf_text_is(news.name, router->seeds.master))
        hf_discover_restart(router);
}

static void on_news_change(struct hf_subscription *s, bool is_live)
{
    (void)s; /* it is wanted from whoever answers next */
    (void)is_live;
}

/* Without memory for it, asking from time to time must do. */
static void listen(struct hf_server *server)
{
    struct hf_subscription *news = &server->router->discovery.news;

    if (news->pubsub && (news->is_live || news->pubsub == server->pubsub))
        return;
    if (news->pubsub)
        hf_pubsub_drop(news);
    news->channel = "+switch-master";
    news->channel_len = strlen(news->channel);
    news->on_message = on_news;
    news->on_change = on_news_change;
    if (hf_pubsub_add(server->pubsub, news) < 0)
        news->pubsub = NULL;
}

/* ---- the master ---- */

/* All slots are its. */
static struct hf_slot_map *map_of(const struct hf_server *master)
{
    struct hf_slot_map *map = hf_slot_map_new(master->router->mem);
    struct hf_node node = {
        .port = master->port, .master = 0, .is_online = true};

    if (!map)
        return NULL;
    memcpy(node.host, master->host, strlen(master->host) + 1);
    if (hf_slot_map_add(&map, &node) < 0) {
        hf_slot_map_free(map);
        return NULL;
    }
    memset(map->owner, 0, sizeof map->owner);
    return map;
}

static void is_master(struct hf_server *server)
{
    struct hf_slot_map *map = map_of(server->probe.master);
    struct hf_error why = {HF_E_NOMEM, "out of memory"};

    if (!map) {
        failed(server, false, server, &why);
        return;
    }
    hf_probe_cancel(server);
    listen(server);
    hf_discover_found(server, map);
}

static void on_role(struct hf_request *request, enum hf_outcome outcome,
                    struct hf_resp_value reply)
{
    struct hf_server *server = server_of(request, ROLE);
    struct hf_role role;
    struct hf_error why;

    if (outcome != HF_ANSWERED) {
        unanswered(server, server->probe.master);
        return;
    }
    if (hf_role_read(&role, reply, &why) == HF_OK) {
        if (role.kind == HF_ROLE_MASTER) {
            server->probe.master->replicas = role.replicas;
            is_master(server);
            return;
        }
        hf_error_set(&why, HF_E_CONNECT,
                     "the sentinels name it the master, and it is none (yet)");
    }
    failed(server, false, server->probe.master, &why);
}

static void ask_role(struct hf_server *server, const struct hf_endpoint *where)
{
    static const struct hf_resp_arg role = {"ROLE", 4};
    struct hf_router *router = server->router;
    struct hf_error why = {HF_E_NOMEM, "out of memory"};
    hf_status rc = hf_server_get(&server->probe.master, router, where->host,
                                 where->port, false);

    if (rc == HF_OK)
        rc = hf_probe_send(server, ROLE, server->probe.master->link, &role, 1,
                           hf_loop_now(router->loop) + ROLE_TIMEOUT_MS,
                           on_role);
    if (rc < 0)
        failed(server, false, server,
               rc == HF_E_TLS ? &router->error : &why);
}

static void on_master(struct hf_request *request, enum hf_outcome outcome,
                      struct hf_resp_value reply)
{
    struct hf_server *server = server_of(request, MASTER);
    struct hf_endpoint where;
    struct hf_error why;
    hf_status rc;

    if (outcome != HF_ANSWERED) {
        unanswered(server, server);
        return;
    }
    rc = hf_sentinel_master_read(&where, reply, &why);
    if (rc == HF_OK)
        ask_role(server, &where);
    else
        failed(server, true, server, &why);
}

hf_status hf_sentinel_ask(struct hf_server *server, int64_t deadline_ms)
{
    const char *name = server->router->seeds.master;
    struct hf_resp_arg sentinels[] = {
        {"SENTINEL", 8}, {"SENTINELS", 9}, {name, strlen(name)}};
    struct hf_resp_arg master[] = {
        {"SENTINEL", 8}, {"GET-MASTER-ADDR-BY-NAME", 23}, {name, strlen(name)}};
    hf_status rc;

    if ((rc = hf_probe_send(server, SENTINELS, server->link, sentinels, 3,
                            deadline_ms, on_sentinels)) == HF_OK)
        rc = hf_probe_send(server, MASTER, server->link, master, 3, deadline_ms,
                           on_master);
    if (rc < 0)
        hf_probe_cancel(server);
    return rc;
}
