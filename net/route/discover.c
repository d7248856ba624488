/* Discovery: obtains the map (which server serves which slot, or which one is the master)
 * from the servers. It decides which server is queried, how often, and which reply is used.
 * topology_*.c have the requests; round.h has the order and the end of a round.
 *
 * DISCOVER-1  One round at a time. If a map is needed meanwhile, the next round begins no
 *             earlier than REFRESH_MIN_MS after this one: many redirections cause two rounds.
 * DISCOVER-2  The server that provided the last map is the first of the next round.
 * DISCOVER-3  Servers whose links are up come first, then the seeds, then the other nodes of
 *             the map: any node of a cluster can name the others. After a round without a map
 *             that leads to reachable masters, only one server whose link is up comes first,
 *             and then QUERIED_MAX - 1 nodes that the last round did not query: in a large
 *             cluster the rounds query all nodes in turn.
 * DISCOVER-4  A map that is worse than the current one is kept in case no server has a better
 *             one (slot_map.h, MAP-2, MAP-3).
 * DISCOVER-5  An error of a reachable server takes precedence over "unreachable", in its round
 *             and in the next one: a deadline may come before any server has replied in
 *             that. A round that begins after no command waited for a map forgets the error: the
 *             server may have recovered long ago.
 * DISCOVER-6  While a command waits for a server that cannot be reached, rounds are repeated.
 *             The pause doubles from AGAIN_MIN_MS to AGAIN_MAX_MS, minus up to a quarter at
 *             random, until a map leads to reachable masters alone.
 * DISCOVER-7  If a server falls silent while a command or a subscription waits for it, the
 *             other servers are queried (silence.c).
 * DISCOVER-8  A round that begins again (hf_discover_restart) uses no map of the one before.
 * DISCOVER-9  The map in force does not end a round if the node that sent it reports
 *             cluster_state:fail: the node may be cut off from a majority that has another map. */
/* Tests: tests/test_net_router_maps.c, tests/test_net_router_ends.c,
 *        tests/test_net_sentinel.c. */
#include "net/route/discover.h"

#include <string.h>

#include "net/base/error.h"
#include "net/base/moment.h"
#include "net/base/random.h"
#include "net/route/announced.h"
#include "net/route/probe.h"

#define REFRESH_MIN_MS 100   /* DISCOVER-1: at most ten rounds a second, chosen */
#define AGAIN_MIN_MS 100       /* DISCOVER-6 */
#define AGAIN_MAX_MS 1000
#define QUERIED_MAX 16         /* servers of a round that looks for a better map than one
                                  with a node that cannot be reached (ANNOUNCED-2) */

static void on_timer(struct hf_timer *timer);

static struct hf_router *router_of_discovery(struct hf_discovery *d)
{
    return HF_OWNER_OF(d, struct hf_router, discovery);
}

void hf_discover_init(struct hf_router *router, const struct hf_discovery_events *events)
{
    router->discovery.events = events;
    router->discovery.round_timer.fire = on_timer;
    router->discovery.pause_ms = AGAIN_MIN_MS;
    hf_round_init(&router->discovery.round,
                  router->topology->collect_replies_ms
                      ? router->topology->collect_replies_ms
                      : router->options.link.connect_timeout_ms,
                  router->topology->collect_replies_ms ? 0 : HF_ROUND_STAGGER_MS);
}

/* ---- all probes ---- */

static void cancel_all_probes(struct hf_router *router)
{
    for (struct hf_server *s = NULL; (s = hf_server_next(router, s));)
        hf_probe_cancel(s);
}

static void unsubscribe_all_probes(struct hf_router *router)
{
    for (struct hf_server *s = NULL; (s = hf_server_next(router, s));)
        hf_probe_unsubscribe(s);
}

void hf_discover_fini(struct hf_router *router)
{
    struct hf_discovery *d = &router->discovery;

    cancel_all_probes(router);
    unsubscribe_all_probes(router);
    hf_loop_disarm(router->loop, &d->round_timer);
    hf_slot_map_free(d->best_map);
    d->best_map = NULL;
}

/* ---- the next server of the round (DISCOVER-3) ---- */

/* Returns whether the server was not queried in this round, and no probe of an earlier
 * round is pending (ROUND-4). */
static bool may_be_queried(const struct hf_server *server)
{
    const struct hf_router *router = server->router;

    return server->is_map_source != router->topology->queries_nodes &&
           server->probe.last_round != router->discovery.round_number &&
           !server->probe.is_under_way;
}

static struct hf_server *next_server_to_query(struct hf_router *router, bool is_up)
{
    for (struct hf_server *server = NULL;
         (server = hf_server_next(router, server));)
        if (hf_link_is_up(server->link) == is_up && may_be_queried(server))
            return server;
    return NULL;
}

/* NULL: it was queried already, or there is no memory for it. */
static struct hf_server *server_at_if_to_be_queried(struct hf_router *router, const char *host,
                                                    uint16_t port)
{
    struct hf_discovery *d = &router->discovery;
    struct hf_server *server;
    hf_status rc =
        hf_server_get(&server, router, host, port,
                      !router->topology->queries_nodes);

    if (rc == HF_OK)
        return may_be_queried(server) ? server : NULL;
    d->is_failure_final = d->is_failure_final && rc == HF_E_TLS; /* which has said why */
    return NULL;
}

static struct hf_server *next_seed_to_query(struct hf_router *router)
{
    struct hf_discovery *d = &router->discovery;
    struct hf_server *server = NULL;

    while (!server && d->next_seed < router->seeds->hosts_count) {
        uint32_t i = d->next_seed++;

        server = server_at_if_to_be_queried(router, router->seeds->hosts[i].host,
                                            router->seeds->hosts[i].port);
    }
    return server;
}

/* Returns the next node of the map that can be queried. Replicas also know the map. */
static struct hf_server *next_node_to_query(struct hf_router *router)
{
    struct hf_discovery *d = &router->discovery;
    const struct hf_slot_map *map = router->map;
    struct hf_server *server = NULL;

    if (!map || !router->topology->queries_nodes)
        return NULL;
    for (; !server && d->nodes_passed < map->nodes_count; d->nodes_passed++) {
        const struct hf_node *node = &map->nodes[d->next_node++ % map->nodes_count];

        if (node->host[0] && node->port)
            server = server_at_if_to_be_queried(router, node->host, node->port);
    }
    return server;
}

/* After a failure, before the seeds. */
static bool is_turn_of_map_nodes(const struct hf_discovery *d)
{
    return d->failed_rounds > 0 && d->round.queried_servers > 0 &&
           d->round.queried_servers < QUERIED_MAX;
}

/* Returns the next server to query. Servers without a connection are included, because
 * they may have returned. */
static struct hf_server *choose_next_server(struct hf_router *router)
{
    struct hf_server *server = router->discovery.next_server_hint;

    router->discovery.next_server_hint = NULL;
    if (server && may_be_queried(server))
        return server;
    if (is_turn_of_map_nodes(&router->discovery) && (server = next_node_to_query(router)))
        return server;
    if ((server = next_server_to_query(router, true)) || (server = next_seed_to_query(router)) ||
        (server = next_node_to_query(router)))
        return server;
    return next_server_to_query(router, false);
}

/* ---- rounds ---- */

static void arm_discovery_timer(struct hf_router *router, int64_t in_ms)
{
    hf_loop_arm(router->loop, &router->discovery.round_timer,
                hf_loop_now(router->loop) + in_ms);
}

/* Once for each round, so that asking for a map again and again does not shorten it. */
static void draw_pause_before_round(struct hf_discovery *d)
{
    int64_t ms = (int64_t)AGAIN_MIN_MS << (d->failed_rounds < 8 ? d->failed_rounds : 8);

    d->pause_ms = d->failed_rounds ? hf_random_jitter(hf_min_ms(ms, AGAIN_MAX_MS)) : ms;
}

static void drop_best_map(struct hf_discovery *d)
{
    hf_slot_map_free(d->best_map);
    d->best_map = NULL;
}

static void end_round(struct hf_router *router)
{
    struct hf_discovery *d = &router->discovery;

    hf_loop_disarm(router->loop, &d->round_timer);
    drop_best_map(d);
    d->last_round_ended_ms = hf_loop_now(router->loop);
    draw_pause_before_round(d);
    d->was_followed_at_once = d->is_wanted_again || d->events->is_waited_for(router);
    if (d->was_followed_at_once)
        arm_discovery_timer(router, d->pause_ms);
    d->is_wanted_again = false;
    hf_servers_sweep_soon(router);
}

static void end_round_with_map(struct hf_router *router)
{
    struct hf_discovery *d = &router->discovery;

    router->map_error.status = HF_OK;
    d->has_server_error = false;
    d->failed_rounds = hf_announced_all_reachable(router) ? 0 : d->failed_rounds + 1;
    d->has_reported_trouble = d->has_reported_trouble && d->failed_rounds > 0;
    if (!router->topology->collect_replies_ms) /* a distant server is heard at last (ROUND-4) */
        cancel_all_probes(router);
    end_round(router);
    d->events->on_end(router, HF_MAP_CONFIRMED);
}

/* ANNOUNCED-2 */
static bool is_better_map(struct hf_router *router, const struct hf_slot_map *fresh,
                          const struct hf_slot_map *held)
{
    bool counts = hf_slot_map_is_as_new(fresh, held);
    uint32_t a = counts ? hf_announced_count_unreachable(router, fresh) : 0;
    uint32_t b = counts ? hf_announced_count_unreachable(router, held) : 0;

    return a != b ? a < b : hf_slot_map_is_better(fresh, held);
}

/* DISCOVER-4. If all servers report a permanent error, no retry can help. */
static void end_round_without_better_map(struct hf_router *router)
{
    struct hf_discovery *d = &router->discovery;
    struct hf_slot_map *best = d->best_map;
    bool is_final = d->is_failure_final && d->round.pending_probes == 0 && !router->map && !best;

    d->best_map = NULL;
    if (best && router->map &&
        (hf_slot_map_is_equal(best, router->map) ||
         (d->has_heard_map && !is_better_map(router, best, router->map)))) {
        hf_slot_map_free(best); /* MAP-3: the map in force is as good */
        end_round_with_map(router);
        return;
    }
    d->failed_rounds++;
    if (best && hf_slot_map_is_better(best, NULL))
        d->events->on_map(router, best);
    else
        hf_slot_map_free(best);
    end_round(router);
    hf_discover_report_trouble(router);
    if (is_final)
        d->events->on_end(router, HF_MAP_UNKNOWN_FOR_GOOD);
    else if (router->map)
        d->events->on_end(router, HF_MAP_KEPT);
    else if (d->round.pending_probes == 0)
        d->events->on_end(router, HF_MAP_UNKNOWN);
}

/* ROUND-5 */
static void schedule_next_round(struct hf_router *router)
{
    struct hf_discovery *d = &router->discovery;

    end_round(router);
    d->pause_ms = hf_random_jitter(d->round.due_ms - hf_loop_now(router->loop));
    d->was_followed_at_once = true;
    arm_discovery_timer(router, d->pause_ms);
    if (router->map)
        d->events->on_end(router, HF_MAP_KEPT);
}

static hf_status query_server(struct hf_server *server)
{
    struct hf_router *router = server->router;
    struct hf_discovery *d = &router->discovery;
    int64_t now = hf_loop_now(router->loop);
    int64_t deadline = now + router->options.link.connect_timeout_ms;
    hf_status rc;

    server->probe.last_round = d->round_number;
    server->probe.moved_replies_at_query = d->moved_replies_count;
    rc = router->topology->query_server(server, deadline);
    if (rc < 0)
        return rc;
    server->probe.is_under_way = true;
    hf_round_queried(&d->round, now);
    return HF_OK;
}

/* When the round wants it. */
static void arm_timer_for_round(struct hf_router *router)
{
    struct hf_discovery *d = &router->discovery;

    if (d->round.due_ms != HF_NEVER)
        hf_loop_arm(router->loop, &d->round_timer, d->round.due_ms);
    else
        hf_loop_disarm(router->loop, &d->round_timer);
}

static void query_next_server(struct hf_router *router)
{
    struct hf_discovery *d = &router->discovery;
    struct hf_server *server = choose_next_server(router);

    while (server && query_server(server) < 0) {
        d->is_failure_final = false; /* there was no memory */
        server = choose_next_server(router);
    }
    if (!server)
        hf_round_nobody_left(&d->round, hf_loop_now(router->loop));
    arm_timer_for_round(router);
}

static void begin_round(struct hf_router *router)
{
    struct hf_discovery *d = &router->discovery;

    d->round_number++;
    d->has_heard_map = false;
    d->is_failure_final = true;
    if (!d->was_followed_at_once) { /* DISCOVER-5 */
        router->map_error.status = HF_OK;
        d->has_server_error = false;
    }
    d->had_server_error_before = d->has_server_error;
    d->has_server_error = false;
    d->next_seed = d->nodes_passed = 0;
    if (d->failed_rounds == 0)
        d->next_node = 0;
    memset(router->multi_server->slots_learned_from_moved, 0,
           sizeof router->multi_server->slots_learned_from_moved);
    router->counts.refreshes++;
}

static void on_timer(struct hf_timer *timer)
{
    struct hf_discovery *d = HF_OWNER_OF(timer, struct hf_discovery, round_timer);
    struct hf_router *router = router_of_discovery(d);

    if (!d->round.is_running)
        begin_round(router);
    switch (hf_round_step(&d->round, hf_loop_now(router->loop))) {
    case HF_ROUND_QUERY: query_next_server(router); break;
    case HF_ROUND_RETRY: schedule_next_round(router); break;
    case HF_ROUND_ADOPT_BEST: end_round_without_better_map(router); break;
    case HF_ROUND_WAIT: arm_timer_for_round(router); break;
    case HF_ROUND_ADOPT: break; /* for answers */
    }
}

void hf_discover_want(struct hf_router *router, struct hf_server *hint)
{
    struct hf_discovery *d = &router->discovery;
    int64_t earliest = d->last_round_ended_ms + (hint ? REFRESH_MIN_MS : d->pause_ms);

    if (!router->topology->query_server || router->is_closing)
        return;
    if (hint)
        d->next_server_hint = hint;
    if (d->round.is_running)
        d->is_wanted_again = true;
    else if (!d->round_timer.link || d->round_timer.due_ms > earliest)
        hf_loop_arm(router->loop, &d->round_timer, earliest);
}

/* ---- what MOVED says meanwhile ---- */

void hf_discover_note_moved(struct hf_router *router, uint16_t slot)
{
    router->multi_server->slots_learned_from_moved[slot / 64] |= 1ull << slot % 64;
    router->discovery.moved_replies_count++;
}

/* MAP-4: the node may have answered before the slot moved. Should that be
 * wrong, the next round's answer is taken as it is. Without memory, so is this
 * one. */
static void keep_slots_learned_from_moved(struct hf_router *router, struct hf_slot_map **map)
{
    const uint64_t *learned = router->multi_server->slots_learned_from_moved;

    for (unsigned slot = 0; slot < HF_SLOTS; slot++) {
        const struct hf_node *node;

        if (learned[slot / 64] == 0)
            slot |= 63; /* no slot of this word was learned */
        if (!(learned[slot / 64] >> slot % 64 & 1))
            continue;
        node = hf_slot_map_master_of_slot(router->map, (uint16_t)slot);
        if (node)
            (void)hf_slot_map_set_slot(map, (uint16_t)slot, node->host, node->port);
    }
}

void hf_discover_restart(struct hf_router *router, struct hf_server *hint)
{
    router->discovery.next_server_hint = hint;
    cancel_all_probes(router);
    drop_best_map(&router->discovery);
    hf_round_reset(&router->discovery.round);
    router->discovery.failed_rounds = 0;
    router->discovery.has_reported_trouble = false;
    router->discovery.pause_ms = AGAIN_MIN_MS;
    router->discovery.was_followed_at_once = true;
    arm_discovery_timer(router, 0);
}

/* ---- answers ---- */

static void move_server_to_front(struct hf_server *server)
{
    hf_list_remove(&server->node);
    hf_list_push(server->router->servers.next, &server->node);
}

/* Alone, or reset, or not yet met. */
static void set_error_of_empty_map(struct hf_server *server)
{
    struct hf_router *router = server->router;

    router->discovery.has_server_error = true;
    hf_error_set(&router->map_error, HF_E_SERVER,
                 "%s: this node knows no node that serves slots; was the cluster "
                 "created?",
                 hf_link_address(server->link));
}

/* Returns whether another server of this round may know better. */
static bool may_others_know_better(const struct hf_router *router)
{
    return router->discovery.round.is_running &&
           router->discovery.round.queried_servers < QUERIED_MAX;
}

/* ANNOUNCED-4 */
static bool has_map_denied_slots_too(struct hf_router *router, const struct hf_slot_map *map)
{
    return hf_slot_map_is_as_new(map, router->map) && hf_announced_count_denied(router, map) > 0 &&
           hf_announced_count_unreachable(router, map) >=
               hf_announced_count_unreachable(router, router->map);
}

/* Takes the map. */
static void keep_map_if_best(struct hf_router *router, struct hf_slot_map *map)
{
    struct hf_discovery *d = &router->discovery;

    if (d->round.is_running && is_better_map(router, map, d->best_map)) {
        hf_slot_map_free(d->best_map);
        d->best_map = map;
    } else {
        hf_slot_map_free(map);
    }
}

/* Whether a seed was not queried in this round, or has not replied. */
static bool has_seed_without_reply(struct hf_router *router)
{
    for (uint32_t i = 0; i < router->seeds->hosts_count; i++) {
        const struct hf_server *s =
            hf_server_find(router, router->seeds->hosts[i].host,
                           router->seeds->hosts[i].port, !router->topology->queries_nodes);

        if (!s || s->probe.is_under_way ||
            s->probe.last_round != router->discovery.round_number)
            return true;
    }
    return false;
}

/* MAP-2. Takes the map, unless this returns HF_ROUND_WORSE or HF_ROUND_SETTLED. If the topology
 * requires a reply of each seed (hears_all_ms), no map is taken before: a later reply may
 * contain another master. */
static enum hf_round_answer adopt_map_if_better(struct hf_router *router,
                                                struct hf_slot_map *map)
{
    if (router->topology->collect_replies_ms && has_seed_without_reply(router))
        return router->topology->is_choice_certain(router) ? HF_ROUND_SETTLED : HF_ROUND_WORSE;
    if (router->map && hf_slot_map_is_equal(map, router->map)) {
        if (hf_slot_map_is_better(map, router->map))
            router->map->cluster_info = map->cluster_info;
        router->discovery.has_heard_map = true;
        hf_announced_note_processes(router, map);
        if (may_others_know_better(router) &&
            (!map->cluster_info.is_ok || hf_announced_count_unreachable(router, map) > 0))
            return HF_ROUND_WORSE;
        hf_slot_map_free(map);
        return HF_ROUND_SAME;
    }
    if (!is_better_map(router, map, router->map) ||
        (may_others_know_better(router) && has_map_denied_slots_too(router, map)))
        return HF_ROUND_WORSE;
    hf_announced_note_processes(router, map);
    router->discovery.events->on_map(router, map);
    return HF_ROUND_BETTER;
}

/* MAP-4: this is a reply to an earlier round, and a MOVED has arrived since. */
static bool is_reply_older_than_moved(const struct hf_server *server)
{
    const struct hf_discovery *d = &server->router->discovery;

    return server->probe.last_round != d->round_number &&
           server->probe.moved_replies_at_query != d->moved_replies_count;
}

static void handle_map_reply(struct hf_server *server, struct hf_slot_map *map)
{
    struct hf_router *router = server->router;
    struct hf_discovery *d = &router->discovery;
    enum hf_round_answer answer;

    hf_slot_map_keep_ips(map, router->map);
    hf_announced_keep_former(router, map);
    if (router->map && hf_slot_map_is_better(map, NULL))
        keep_slots_learned_from_moved(router, &map);
    answer = adopt_map_if_better(router, map);
    if (answer == HF_ROUND_WORSE || answer == HF_ROUND_SETTLED) {
        if (hf_slot_map_count_covered(map) == 0)
            set_error_of_empty_map(server);
        keep_map_if_best(router, map);
        d->is_failure_final = false;
    }
    if (hf_round_answered(&d->round, hf_loop_now(router->loop), answer) ==
        HF_ROUND_ADOPT)
        end_round_with_map(router);
    else if (d->round.is_running)
        arm_timer_for_round(router);
}

static void handle_failed_query(struct hf_router *router)
{
    struct hf_discovery *d = &router->discovery;

    hf_round_failed(&d->round, hf_loop_now(router->loop));
    if (d->round.is_running)
        arm_timer_for_round(router);
}

void hf_discover_found(struct hf_server *server, struct hf_slot_map *map)
{
    hf_probe_cancel(server);
    move_server_to_front(server);
    if (!is_reply_older_than_moved(server)) {
        handle_map_reply(server, map);
        return;
    }
    hf_slot_map_free(map);
    handle_failed_query(server->router);
    hf_discover_want(server->router, server);
}

void hf_discover_failed(struct hf_server *server, bool is_final,
                        const struct hf_error *why)
{
    struct hf_router *router = server->router;
    struct hf_discovery *d = &router->discovery;
    bool is_there = hf_link_is_up(server->link);

    hf_probe_cancel(server);
    d->is_failure_final = d->is_failure_final && is_final;
    if (is_there || !(d->has_server_error || d->had_server_error_before) ||
        router->topology->collect_replies_ms) /* DISCOVER-5; or `why` is about all seeds */
        router->map_error = *why;
    d->has_server_error = d->has_server_error || is_there;
    handle_failed_query(router);
}

void hf_discover_forget_server(struct hf_server *server)
{
    struct hf_discovery *d = &server->router->discovery;

    if (d->next_server_hint == server)
        d->next_server_hint = NULL;
}

/* New servers also take part in this round. */
void hf_discover_seeds_changed(struct hf_router *router)
{
    struct hf_discovery *d = &router->discovery;

    if (d->next_seed > router->seeds_in_url)
        d->next_seed = router->seeds_in_url;
}
