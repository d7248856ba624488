/* What real clusters say of themselves, read: slot maps, redirections, epochs
 * (C1, C3, C4). One cluster of three masters with a replica each serves all
 * tests; each finds it whole. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "net/base/mem.h"
#include "net/route/redirect.h"
#include "net/route/slot_map.h"
#include "tests/support/cluster.h"
#include "tests/support/reply.h"
#include "tests/support/suite.h"

#define MASTERS 3
#define NODES (2 * MASTERS)

static struct cluster *cluster;
static bool has_shards;         /* since Redis 7 */

/* ---- asking ---- */

static hf_status read_map(struct hf_slot_map **map, struct server *s,
                          int protocol, const char *command)
{
    const struct hf_slot_map_source from = {&hf_mem_libc, "127.0.0.1", false};
    struct reply reply = reply_from(s, protocol, command);
    struct hf_error error = {0};
    hf_status rc;

    rc = strcmp(command, "CLUSTER SLOTS") == 0
             ? hf_slot_map_from_slots(map, &from, reply.value, &error)
             : hf_slot_map_from_shards(map, &from, reply.value, &error);
    ck_assert_msg(rc == HF_OK || rc == HF_E_SERVER, "%s", error.text);
    reply_fini(&reply);
    return rc;
}

static struct hf_slot_map *map_of(int node, int protocol, const char *command)
{
    struct hf_slot_map *map = NULL;

    ck_assert_int_eq(
        read_map(&map, cluster_node(cluster, node), protocol, command), HF_OK);
    return map;
}

static struct hf_cluster_info info_of(int node, int protocol)
{
    struct reply reply =
        reply_from(cluster_node(cluster, node), protocol, "CLUSTER INFO");
    struct hf_cluster_info info;

    ck_assert(hf_cluster_info_read(&info, reply.value));
    reply_fini(&reply);
    return info;
}

static bool redirection_of(struct hf_redirection *r, int node,
                           const char *command)
{
    struct reply reply = reply_from(cluster_node(cluster, node), 2, command);
    bool is_one = hf_redirection_read(r, reply.value);

    reply_fini(&reply);
    return is_one;
}

static uint16_t port_of(int node)
{
    return (uint16_t)server_port(cluster_node(cluster, node));
}

/* ---- maps ---- */

static void must_be_the_cluster(const struct hf_slot_map *map)
{
    ck_assert_uint_eq(map->nodes_count, NODES);
    ck_assert_uint_eq(hf_slot_map_count_covered(map), HF_SLOTS);
    for (int slot = 0; slot < HF_SLOTS; slot += 1365) {
        const struct hf_node *node = hf_slot_map_master_of_slot(map, (uint16_t)slot);
        int owner = cluster_owner(cluster, slot);

        ck_assert_uint_eq(node->port, port_of(owner));
        ck_assert_str_eq(node->id, cluster_id(cluster, owner));
        ck_assert_str_eq(node->host, "127.0.0.1");
    }
}

START_TEST(every_node_returns_the_same_map_in_every_form)
{
    struct hf_slot_map *first = map_of(0, 2, "CLUSTER SLOTS");

    must_be_the_cluster(first);
    for (int node = 0; node < NODES; node++)
        for (int protocol = 2; protocol <= 3; protocol++) {
            struct hf_slot_map *map = map_of(node, protocol, "CLUSTER SLOTS");

            ck_assert(hf_slot_map_is_equal(map, first));
            hf_slot_map_free(map);
            if (!has_shards)
                continue;
            map = map_of(node, protocol, "CLUSTER SHARDS");
            ck_assert(hf_slot_map_is_equal(map, first));
            hf_slot_map_free(map);
        }
    hf_slot_map_free(first);
}
END_TEST

START_TEST(a_server_that_is_not_a_cluster_reports_it)
{
    struct server *alone = server_start(NULL);
    struct hf_slot_map *map = NULL;

    ck_assert_int_eq(read_map(&map, alone, 2, "CLUSTER SLOTS"), HF_E_SERVER);
    ck_assert_int_eq(read_map(&map, alone, 3, "CLUSTER SHARDS"), HF_E_SERVER);
    ck_assert_ptr_null(map);
    server_stop(alone);
}
END_TEST

/* It knows neither slots nor its own address. */
START_TEST(a_node_that_was_not_met_reports_an_empty_map)
{
    struct cluster *alone = cluster_start(
        &(struct cluster_options){.masters = 1, .is_bare = true});
    struct hf_slot_map *map = NULL;
    struct server *node = cluster_node(alone, 0);

    ck_assert_int_eq(read_map(&map, node, 3, "CLUSTER SLOTS"), HF_OK);
    ck_assert(!hf_slot_map_is_better(map, NULL));
    hf_slot_map_free(map);
    (void)server_ask(node, "CLUSTER ADDSLOTS 7");
    ck_assert_int_eq(read_map(&map, node, 3, "CLUSTER SLOTS"), HF_OK);
    ck_assert_str_eq(hf_slot_map_master_of_slot(map, 7)->host, "127.0.0.1");
    ck_assert_int_eq(hf_slot_map_master_of_slot(map, 7)->port, server_port(node));
    hf_slot_map_free(map);
    cluster_stop(alone);
}
END_TEST

/* ---- hosts: C4 ---- */

static void must_have_host(const char *host)
{
    static const char *const commands[] = {"CLUSTER SLOTS", "CLUSTER SHARDS"};

    for (int protocol = 2; protocol <= 3; protocol++)
        for (int i = 0; i < 2; i++) {
            struct hf_slot_map *map = map_of(0, protocol, commands[i]);
            const struct hf_node *node =
                hf_slot_map_master_of_slot(map, (uint16_t)0);

            ck_assert_str_eq(node->host, host);
            hf_slot_map_free(map);
        }
}

static void set(int node, const char *name, const char *value)
{
    ck_assert_str_eq(server_ask(cluster_node(cluster, node),
                                "CONFIG SET %s %s", name, value),
                     "OK");
}

/* The first master is asked about itself. */
START_TEST(preferred_endpoints_are_hosts)
{
    struct hf_redirection r;

    if (!has_shards) {
        (void)puts("skipped: this server has no preferred endpoints");
        return;
    }
    set(0, "cluster-preferred-endpoint-type", "unknown-endpoint");
    must_have_host("127.0.0.1"); /* null: as asked */
    ck_assert(redirection_of(&r, 0, "GET foo"));
    ck_assert_int_eq(r.host_kind, HF_HOST_SAME);
    ck_assert_uint_eq(r.port, port_of(cluster_owner_of(cluster, "foo")));

    set(0, "cluster-preferred-endpoint-type", "hostname");
    must_have_host("127.0.0.1"); /* "?", and the ip behind it */
    ck_assert(redirection_of(&r, 0, "GET foo"));
    ck_assert_int_eq(r.host_kind, HF_HOST_UNKNOWN);
    set(0, "cluster-announce-hostname", "first.example");
    must_have_host("first.example");

    set(0, "cluster-preferred-endpoint-type", "ip");
    must_have_host("127.0.0.1");
    set(0, "cluster-announce-hostname", "");
}
END_TEST

/* ---- redirections ---- */

START_TEST(a_moved_names_the_owner)
{
    int owner = cluster_owner_of(cluster, "foo");
    struct hf_slot_map *map = map_of(0, 2, "CLUSTER SLOTS");
    struct hf_redirection r;

    ck_assert(redirection_of(&r, (owner + 1) % MASTERS, "GET foo"));
    ck_assert_int_eq(r.kind, HF_MOVED);
    ck_assert_uint_eq(r.slot, hf_slot_of("foo", 3));
    ck_assert_uint_eq(r.port, port_of(owner));
    ck_assert_str_eq(r.host, "127.0.0.1");
    ck_assert_uint_eq(hf_slot_map_master_of_slot(map, r.slot)->port, r.port);
    ck_assert(!redirection_of(&r, owner, "GET foo"));
    hf_slot_map_free(map);
}
END_TEST

START_TEST(ask_names_the_target_of_a_moving_slot)
{
    int from = cluster_owner_of(cluster, "foo"), to = (from + 1) % MASTERS;
    struct hf_redirection r;

    ck_assert_str_eq(server_ask(cluster_node(cluster, from), "SET {foo}1 x"),
                     "OK");
    cluster_move_begin(cluster, hf_slot_of("foo", 3), to);
    ck_assert(!redirection_of(&r, from, "GET {foo}1"));
    if (has_shards) /* TRYAGAIN; of Redis 6, ASK */
        ck_assert(!redirection_of(&r, from, "MGET {foo}1 {foo}2"));
    ck_assert(redirection_of(&r, from, "GET foo"));
    ck_assert_int_eq(r.kind, HF_ASK);
    ck_assert_uint_eq(r.slot, hf_slot_of("foo", 3));
    ck_assert_uint_eq(r.port, port_of(to));
    cluster_move_stop(cluster, hf_slot_of("foo", 3), to);
    ck_assert_int_eq(cluster_owner_of(cluster, "foo"), from);
}
END_TEST

/* ---- changes, and their epochs: MAP-2 ---- */

static struct hf_slot_map *stamped_map(int node)
{
    struct hf_cluster_info info = info_of(node, 2);
    struct hf_slot_map *map = map_of(node, 2, "CLUSTER SLOTS");

    map->cluster_info = info;
    return map;
}

static void must_have_replaced(struct hf_slot_map *fresh,
                               struct hf_slot_map *held)
{
    ck_assert_uint_gt(fresh->cluster_info.current_epoch, held->cluster_info.current_epoch);
    ck_assert(hf_slot_map_is_better(fresh, held));
    ck_assert(!hf_slot_map_is_better(held, fresh));
    ck_assert(!hf_slot_map_is_equal(fresh, held));
    hf_slot_map_free(held);
    hf_slot_map_free(fresh);
}

/* Epochs are all the nodes', after a moment. */
static void await_epoch(int node, uint64_t epoch)
{
    for (int i = 0; i < 5000; i++) {
        if (info_of(node, 2).current_epoch >= epoch)
            return;
        server_await(cluster_node(cluster, node), 1000, "PONG", "PING");
    }
    ck_abort_msg("node %d never hears of epoch %d", node, (int)epoch);
}

START_TEST(info_reports_how_new_a_map_is)
{
    struct hf_cluster_info two = info_of(0, 2), three = info_of(0, 3);

    ck_assert(two.is_ok && three.is_ok);
    ck_assert_uint_ge(two.current_epoch, NODES);
    ck_assert_uint_eq(two.current_epoch, three.current_epoch);
    ck_assert_uint_eq(two.known_nodes, NODES);
    ck_assert_uint_eq(two.masters_with_slots, MASTERS);
}
END_TEST

/* To a node that has not the greatest epoch already: that is the last one. */
START_TEST(a_slot_that_moves_makes_a_better_map)
{
    int slot = hf_slot_of("bar", 3), from = cluster_owner(cluster, slot);
    int to = (from + 1) % MASTERS;
    struct hf_slot_map *held = stamped_map(from), *fresh;

    ck_assert_str_eq(server_ask(cluster_node(cluster, from), "SET bar x"),
                     "OK");
    cluster_move(cluster, slot, to);
    ck_assert_int_eq(cluster_owner(cluster, slot), to);
    ck_assert_str_eq(server_ask(cluster_node(cluster, to), "GET bar"), "x");
    fresh = stamped_map(to);
    await_epoch(from, fresh->cluster_info.current_epoch);
    must_have_replaced(fresh, held);
    cluster_move(cluster, slot, from);
}
END_TEST

static void fail_over_and_back(const char *how)
{
    int replica = cluster_replica(cluster, 0, 0);
    struct hf_slot_map *held = stamped_map(1), *fresh;

    cluster_failover(cluster, replica, how);
    cluster_await_ok(cluster);
    fresh = stamped_map(replica);
    ck_assert_uint_eq(hf_slot_map_master_of_slot(fresh, 0)->port, port_of(replica));
    must_have_replaced(fresh, held);
    cluster_mend(cluster);
    cluster_failover(cluster, 0, "");
    ck_assert_int_eq(cluster_owner(cluster, 0), 0);
}

START_TEST(a_failover_makes_a_better_map)
{
    fail_over_and_back("");
}
END_TEST

START_TEST(a_takeover_makes_a_better_map)
{
    fail_over_and_back("TAKEOVER");
}
END_TEST

/* Its replica follows; whoever was away has a worse map until it has heard. */
START_TEST(a_dead_master_is_followed_by_its_replica)
{
    int replica = cluster_replica(cluster, 1, 0);
    int slot = HF_SLOTS / 2;
    struct hf_slot_map *held = stamped_map(0), *fresh;

    ck_assert_int_eq(cluster_owner(cluster, slot), 1);
    server_kill(cluster_node(cluster, 1));
    cluster_await_owner(cluster, slot, replica);
    cluster_await_ok(cluster);
    fresh = stamped_map(0);
    ck_assert_uint_eq(hf_slot_map_master_of_slot(fresh, (uint16_t)slot)->port,
                      port_of(replica));
    must_have_replaced(fresh, held);
    if (has_shards) {
        fresh = map_of(0, 3, "CLUSTER SHARDS");
        ck_assert(!fresh->nodes[hf_slot_map_find_node(fresh, "127.0.0.1",
                                                      port_of(1))].is_online);
        hf_slot_map_free(fresh);
    }
    cluster_mend(cluster);
    cluster_failover(cluster, 1, "");
}
END_TEST

/* Two of three masters stop: the third learns that it is a minority. */
START_TEST(a_minority_reports_fail_and_its_map_is_worse)
{
    struct hf_slot_map *held = stamped_map(0), *fresh;

    for (int i = 1; i < NODES; i++)
        server_pause(cluster_node(cluster, i));
    cluster_await_state(cluster, 0, "fail");
    fresh = stamped_map(0);
    ck_assert(!fresh->cluster_info.is_ok);
    ck_assert(!hf_slot_map_is_better(fresh, held));
    hf_slot_map_free(fresh);
    cluster_mend(cluster);
    fresh = stamped_map(0);
    ck_assert(hf_slot_map_is_better(fresh, held));
    hf_slot_map_free(fresh);
    hf_slot_map_free(held);
}
END_TEST

/* ---- */

static void start(void)
{
    cluster = cluster_start(
        &(struct cluster_options){.masters = MASTERS, .replicas = 1});
    has_shards = !strstr(server_ask(cluster_node(cluster, 0),
                                    "CLUSTER SHARDS"),
                         "(error)");
}

static void stop(void)
{
    cluster_stop(cluster);
}

static void mend(void)
{
    cluster_mend(cluster);
}

static Suite *suite(void)
{
    Suite *s = suite_create("cluster_map");
    TCase *c = tcase_create("maps");

    tcase_add_unchecked_fixture(c, start, stop);
    tcase_add_checked_fixture(c, mend, NULL);
    tcase_set_timeout(c, 2 * CLUSTER_PATIENCE_MS / 1000);
    tcase_add_test(c, every_node_returns_the_same_map_in_every_form);
    tcase_add_test(c, a_server_that_is_not_a_cluster_reports_it);
    tcase_add_test(c, a_node_that_was_not_met_reports_an_empty_map);
    tcase_add_test(c, preferred_endpoints_are_hosts);
    tcase_add_test(c, a_moved_names_the_owner);
    tcase_add_test(c, ask_names_the_target_of_a_moving_slot);
    tcase_add_test(c, info_reports_how_new_a_map_is);
    tcase_add_test(c, a_slot_that_moves_makes_a_better_map);
    tcase_add_test(c, a_failover_makes_a_better_map);
    tcase_add_test(c, a_takeover_makes_a_better_map);
    tcase_add_test(c, a_dead_master_is_followed_by_its_replica);
    tcase_add_test(c, a_minority_reports_fail_and_its_map_is_worse);
    suite_add_tcase(s, c);
    return s;
}

int main(void)
{
    if (!server_is_installed()) {
        (void)puts("skipped: no server is installed");
        return 77;
    }
    return suite_run(suite());
}
