/* The router in a cluster whose map changes: older and worse maps, servers that
 * leave, are silent, or are demoted, and subscriptions that move.
 * Source: CLUSTER. */
#include <check.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "lock/script/call.h"
#include "net/route/announced.h"
#include "net/route/discover.h"
#include "net/route/server.h"
#include "tests/support/lateness.h"
#include "tests/support/router_kit.h"
#include "tests/support/suite.h"

#define SHORT_MS 1000           /* a deadline that is meant to pass */

/* ---- maps ---- */

static atomic_bool is_node_0_late;

/* From then on, node 0 has an older map than the others. */
static bool late(void *ctx, const struct nodes_ask *a, char *reply)
{
    (void)ctx;
    if (a->node != 0 || !is_node_0_late || !request_matches(a->request, "CLUSTER ..."))
        return false;
    if (request_matches(a->request, "CLUSTER INFO"))
        (void)strcpy(reply, "$63\r\ncluster_state:ok\r\n"
                            "cluster_current_epoch:1\r\ncluster_my_epoch:1\r\n"
                            "\r\n");
    else
        (void)sprintf(reply,
                      "*1\r\n*3\r\n:0\r\n:16383\r\n*3\r\n$9\r\n127.0.0.1\r\n"
                      ":%d\r\n$6\r\nnode-0\r\n",
                      nodes_port(nodes, 0));
    return true;
}

/* MAP-2: node 0, asked while node 1 is lost, does not undo what that had
 * said, for node 2 says the same. */
START_TEST(a_map_that_is_older_than_ours_is_not_taken)
{
    static struct ask a;
    int before;

    prepare(late);
    nodes_map(nodes, all_of_1, 1);
    nodes_epoch(nodes, 7);
    add_seed(nodes_port(nodes, 1));
    add_seed(nodes_port(nodes, 0));
    add_seed(nodes_port(nodes, 2));
    ck_assert_int_eq(open_router(NULL), HF_OK);
    ck_assert_str_eq(ask(5), "node 1");
    is_node_0_late = true;
    nodes_down(nodes, 1, true);
    (void)ask_for(5, SHORT_MS); /* perhaps it had left */
    before = nodes_count(nodes, 0, "GET a");
    ck_assert_int_eq(start(&a, 5, LONG_MS), HF_OK);
    drive_until_received(0, "CLUSTER SLOTS");
    drive_until_received(2, "CLUSTER SLOTS");
    drive_for(50);
    nodes_down(nodes, 1, false);
    ck_assert_str_eq(answer_of(&a), "node 1");
    ck_assert_int_eq(nodes_count(nodes, 0, "GET a"), before);
    end();
}
END_TEST

/* ---- nodes that disagree about an address ---- */

#define NOBODY 1                /* a port that refuses connections */
#define OLD_NAME "node-1.nowhere.invalid"

static void put_slots(char *reply, const char *host, int port, const char *ip)
{
    (void)sprintf(reply,
                  "*1\r\n*3\r\n:0\r\n:16383\r\n*4\r\n$%zu\r\n%s\r\n:%d\r\n"
                  "$6\r\nnode-1\r\n*2\r\n$2\r\nip\r\n$%zu\r\n%s\r\n",
                  strlen(host), host, port, strlen(ip), ip);
}

/* All slots are at this node. */
static void put_slots_of(char *reply, int node)
{
    (void)sprintf(reply,
                  "*1\r\n*3\r\n:0\r\n:16383\r\n*3\r\n$9\r\n127.0.0.1\r\n:%d\r\n"
                  "$6\r\nnode-%d\r\n",
                  nodes_port(nodes, node), node);
}

static void put_info(char *reply, const char *state, int epoch)
{
    char text[100];

    (void)snprintf(text, sizeof text,
                   "cluster_state:%s\r\ncluster_current_epoch:%d\r\ncluster_my_epoch:%d\r\n",
                   state, epoch, epoch);
    (void)sprintf(reply, "$%zu\r\n%s\r\n", strlen(text), text);
}

/* Node 0 says that node 1, which serves all slots, is where nobody is. */
static bool stale(void *ctx, const struct nodes_ask *a, char *reply)
{
    (void)ctx;
    if (!request_matches(a->request, "CLUSTER SLOTS") || a->node > 1)
        return false;
    put_slots(reply, "127.0.0.1", a->node == 0 ? NOBODY : nodes_port(nodes, 1),
              "127.0.0.1");
    return true;
}

/* ANNOUNCED-2, whichever is asked first, and also a command that is sent
 * once. */
START_TEST(of_two_maps_the_one_with_a_master_that_can_be_reached_is_used)
{
    prepare(stale);
    nodes_map(nodes, all_of_1, 1);
    add_seed(nodes_port(nodes, _i % 2));
    add_seed(nodes_port(nodes, 1 - _i % 2));
    asks_once = _i >= 2;
    ck_assert_int_eq(open_router(NULL), HF_OK);
    ck_assert_str_eq(ask(5), "node 1");
    drive_for(300); /* the next round does not undo it */
    ck_assert_str_eq(ask(5), "node 1");
    end();
}
END_TEST

/* All say the same: it is not asked for without end, and the message says who. */
START_TEST(an_address_that_all_announce_in_vain_is_reported_with_its_announcer)
{
    char by[64];

    prepare(stale);
    nodes_map(nodes, all_of_1, 1);
    add_seed(nodes_port(nodes, 0));
    asks_once = true;
    ck_assert_int_eq(open_router(NULL), HF_OK);
    (void)snprintf(by, sizeof by, "127.0.0.1:%d announced this address", nodes_port(nodes, 0));
    ck_assert_ptr_nonnull(strstr(ask(5), by));
    ck_assert_int_le(nodes_count(nodes, 0, "CLUSTER SLOTS"), 4);
    end();
}
END_TEST

/* The map of node 1 may come after that of node 0. */
static void await_node_1(void)
{
    for (int i = 0; i < 20 && strcmp(ask(5), "node 1") != 0; i++)
        drive_for(100);
    ck_assert_str_eq(ask(5), "node 1");
}

/* Node 0 announces itself as the master of all slots, and redirects their keys to itself. */
static bool names_itself(void *ctx, const struct nodes_ask *a, char *reply)
{
    (void)ctx;
    if (a->node > 1)
        return false;
    if (request_matches(a->request, "CLUSTER SLOTS"))
        put_slots_of(reply, a->node);
    else if (a->node == 0 && is_get(a))
        (void)sprintf(reply, "-MOVED 5 :%d\r\n", nodes_port(nodes, 0));
    else
        return false;
    return true;
}

/* ANNOUNCED-4 */
START_TEST(map_of_a_node_that_redirects_to_itself_is_not_kept)
{
    prepare(names_itself);
    nodes_map(nodes, all_of_1, 1);
    add_seed(nodes_port(nodes, 0));
    add_seed(nodes_port(nodes, 1));
    ck_assert_int_eq(open_router(NULL), HF_OK);
    await_node_1();
    drive_for(300); /* the next round does not undo it */
    ck_assert_str_eq(ask(5), "node 1");
    end();
}
END_TEST

static struct {
    bool is_denied;
    int announced;              /* the port at which all nodes announce node 1 */
} told;

/* All say that node 0 serves all slots; it redirects them to itself, or serves them. */
static bool names_itself_at_times(void *ctx, const struct nodes_ask *a, char *reply)
{
    (void)ctx;
    if (!told.is_denied || a->node != 0 || !is_get(a))
        return false;
    (void)sprintf(reply, "-MOVED 5 :%d\r\n", nodes_port(nodes, 0));
    return true;
}

static uint32_t denied_now(void)
{
    uint32_t denied;

    lock();
    denied = hf_announced_count_denied(router, router->map);
    unlock();
    return denied;
}

static uint32_t failures_now(void)
{
    uint32_t failures;

    lock();
    failures = router->discovery.failed_rounds;
    unlock();
    return failures;
}

/* ANNOUNCED-4 */
START_TEST(each_slot_that_a_node_refuses_counts_until_the_node_serves_it)
{
    begin(names_itself_at_times, all_of_0, 1);
    ck_assert_str_eq(ask(1), "node 0");
    told.is_denied = true;
    for (int slot = 1; slot <= 3; slot++)
        ck_assert_str_ne(ask(slot), "node 0");
    ck_assert_uint_eq(denied_now(), 3);
    ck_assert_str_ne(ask(2), "node 0");
    ck_assert_uint_eq(denied_now(), 3);
    for (int slot = 4; slot <= 3 * DENIED_SLOTS_MAX; slot++)
        ck_assert_str_ne(ask(slot), "node 0");
    ck_assert_uint_eq(denied_now(), DENIED_SLOTS_MAX);
    told.is_denied = false;
    ck_assert_str_eq(ask(3 * DENIED_SLOTS_MAX), "node 0");
    ck_assert_uint_eq(denied_now(), DENIED_SLOTS_MAX - 1);
    ck_assert_str_eq(ask(1), "node 0"); /* it is not among the last ones */
    ck_assert_uint_eq(denied_now(), DENIED_SLOTS_MAX - 1);
    for (int slot = 2 * DENIED_SLOTS_MAX; slot < 3 * DENIED_SLOTS_MAX; slot++)
        ck_assert_str_eq(ask(slot), "node 0");
    ck_assert_uint_eq(denied_now(), 0);
    end();
}
END_TEST

static void drive_through_a_round(void)
{
    uint64_t before = counts().refreshes;

    lock();
    hf_discover_want(router, NULL);
    unlock();
    for (int64_t end_ms = 0; counts().refreshes == before || router->discovery.round.is_running;)
        drive_on(&end_ms, "a round");
}

/* DISCOVER-6 */
START_TEST(pauses_do_not_grow_by_a_slot_that_was_refused_before)
{
    begin(names_itself_at_times, all_of_0, 1);
    ck_assert_str_eq(ask(1), "node 0");
    told.is_denied = true;
    ck_assert_str_ne(ask(2), "node 0");
    drive_through_a_round();
    ck_assert_str_ne(ask(2), "node 0");
    drive_through_a_round();
    ck_assert_uint_gt(failures_now(), 0);
    told.is_denied = false;
    ck_assert_uint_eq(denied_now(), 1);
    drive_through_a_round();
    drive_through_a_round();
    ck_assert_uint_eq(failures_now(), 0);
    end();
}
END_TEST

static bool announces_another(void *ctx, const struct nodes_ask *a, char *reply)
{
    (void)ctx;
    if (!request_matches(a->request, "CLUSTER SLOTS") || told.announced == 0)
        return false;
    put_slots(reply, "127.0.0.1", told.announced, "127.0.0.1");
    return true;
}

/* ANNOUNCED-5: the new address is used when the connection ends. */
START_TEST(a_working_connection_is_not_left_for_another_address_of_its_node)
{
    prepare(announces_another);
    told.announced = nodes_port(nodes, 1);
    add_seed(nodes_port(nodes, 0));
    ck_assert_int_eq(open_router(NULL), HF_OK);
    ck_assert_str_eq(ask(5), "node 1");
    told.announced = NOBODY;
    for (int i = 0; i < 3; i++) {
        drive_through_a_round();
        ck_assert_str_eq(ask(5), "node 1");
    }
    told.announced = nodes_port(nodes, 2);
    drive_through_a_round();
    ck_assert_str_eq(ask(5), "node 1");
    nodes_down(nodes, 1, true);
    ck_assert_str_eq(ask_again(5), "node 2");
    nodes_down(nodes, 1, false);
    drive_through_a_round();
    ck_assert_str_eq(ask(5), "node 2");
    end();
}
END_TEST

static void use_a_node_that_will_be_named_elsewhere(
    bool (*answer)(void *, const struct nodes_ask *, char *))
{
    prepare(answer);
    told.announced = nodes_port(nodes, 1);
    options.link.silence_ms = 5000;
    options.link.suspect_ms = 1250;
    add_seed(nodes_port(nodes, 0));
    ck_assert_int_eq(open_router(NULL), HF_OK);
    ck_assert_str_eq(ask(5), "node 1");
    drive_through_a_round();
}

/* ANNOUNCED-5: nothing ends a connection to an address that was taken away. */
START_TEST(silent_connection_is_left_for_another_address_of_its_node)
{
    int64_t begun_ms;

    use_a_node_that_will_be_named_elsewhere(announces_another);
    nodes_pause(nodes, 1, true);
    told.announced = nodes_port(nodes, 2);
    begun_ms = local_now_ms();
    (void)ask(5);
    ck_assert_within(begun_ms, 3000);
    ck_assert_str_eq(ask(5), "node 2");
    nodes_pause(nodes, 1, false);
    end();
}
END_TEST

static bool is_down;

static bool announces_another_and_is_down(void *ctx, const struct nodes_ask *a, char *reply)
{
    if (!is_down || a->node != 1 || !is_get(a))
        return announces_another(ctx, a, reply);
    (void)strcpy(reply, "-CLUSTERDOWN The cluster is down\r\n");
    return true;
}

/* ANNOUNCED-5: a process that is cut off from its cluster, while the node runs elsewhere. */
START_TEST(connection_to_a_failed_cluster_is_left_for_another_address_of_its_node)
{
    is_down = false;
    use_a_node_that_will_be_named_elsewhere(announces_another_and_is_down);
    is_down = true;
    told.announced = nodes_port(nodes, 2);
    for (int i = 0; i < 5 && strcmp(ask(5), "node 2") != 0; i++)
        drive_for(500);
    ck_assert_str_eq(ask(5), "node 2");
    end();
}
END_TEST

static bool is_elsewhere;

/* The node was never at node 1's address. Nodes 0 and 1 announce where no process listens; node 2
 * knows that it is at its own. */
static bool announces_where_it_is_not(void *ctx, const struct nodes_ask *a, char *reply)
{
    (void)ctx;
    if (request_matches(a->request, "CLUSTER SLOTS"))
        put_slots(reply, "127.0.0.1",
                  !is_elsewhere    ? nodes_port(nodes, 1)
                  : a->node == 2 ? nodes_port(nodes, 2)
                                 : NOBODY,
                  "127.0.0.1");
    else if (is_elsewhere && a->node == 1 && is_get(a))
        (void)sprintf(reply, "-MOVED 5 127.0.0.1:%d\r\n", NOBODY);
    else
        return false;
    return true;
}

/* ANNOUNCED-5 */
START_TEST(connection_that_redirects_to_another_address_of_its_node_is_left_for_it)
{
    is_elsewhere = false;
    prepare(announces_where_it_is_not);
    add_seed(nodes_port(nodes, 0));
    add_seed(nodes_port(nodes, 2));
    ck_assert_int_eq(open_router(NULL), HF_OK);
    ck_assert_str_eq(ask(5), "node 1");
    drive_through_a_round();
    is_elsewhere = true;
    ck_assert_str_eq(ask(5), "node 2");
    end();
}
END_TEST

/* Node 0 is cut off: it has the map from before a failover. */
static bool is_cut_off(void *ctx, const struct nodes_ask *a, char *reply)
{
    (void)ctx;
    if (a->node > 1)
        return false;
    if (request_matches(a->request, "CLUSTER SLOTS"))
        put_slots_of(reply, a->node);
    else if (request_matches(a->request, "CLUSTER INFO"))
        put_info(reply, a->node == 0 ? "fail" : "ok", 1 + a->node);
    else if (a->node == 0 && is_get(a))
        (void)strcpy(reply, "-CLUSTERDOWN The cluster is down\r\n");
    else
        return false;
    return true;
}

/* DISCOVER-9 */
START_TEST(map_of_a_node_that_is_cut_off_is_not_kept)
{
    prepare(is_cut_off);
    add_seed(nodes_port(nodes, 0));
    add_seed(nodes_port(nodes, 1));
    ck_assert_int_eq(open_router(NULL), HF_OK);
    await_node_1();
    end();
}
END_TEST

static bool has_failed;

/* Nodes 0 and 1 know that the cluster has failed; node 2 is cut off, does not know it yet, and
 * has an older map, in which it is the master. */
static bool one_has_not_noticed(void *ctx, const struct nodes_ask *a, char *reply)
{
    bool is_late = has_failed && a->node == 2;

    (void)ctx;
    if (request_matches(a->request, "CLUSTER SLOTS"))
        put_slots_of(reply, is_late ? 2 : 1);
    else if (request_matches(a->request, "CLUSTER INFO"))
        put_info(reply, has_failed && !is_late ? "fail" : "ok", is_late ? 10 : 11);
    else if (has_failed && !is_late && is_get(a))
        (void)strcpy(reply, "-CLUSTERDOWN The cluster is down\r\n");
    else
        return false;
    return true;
}

/* MAP-3 */
START_TEST(older_map_does_not_replace_the_map_of_a_failed_cluster)
{
    has_failed = false;
    prepare(one_has_not_noticed);
    nodes_stop(nodes);
    nodes = nodes_start(3, one_has_not_noticed, NULL);
    for (int i = 0; i < 3; i++)
        add_seed(nodes_port(nodes, i));
    ck_assert_int_eq(open_router(NULL), HF_OK);
    ck_assert_str_eq(ask(5), "node 1");
    has_failed = true;
    for (int i = 0; i < 20; i++) {
        ck_assert_str_ne(ask(5), "node 2");
        drive_for(100);
    }
    has_failed = false;
    await_node_1();
    end();
}
END_TEST

#define CROWD 40                /* more nodes than two rounds query */

/* The last node is the master, and the one before it is the only one that knows where the
 * master is. All others say that it is where nobody is. */
static bool most_are_stale(void *ctx, const struct nodes_ask *a, char *reply)
{
    int master = a->node >= CROWD - 2 ? nodes_port(nodes, CROWD - 1) : NOBODY;
    char *to = reply;

    (void)ctx;
    if (!request_matches(a->request, "CLUSTER SLOTS"))
        return false;
    to += sprintf(to, "*1\r\n*%d\r\n:0\r\n:16383\r\n", 2 + CROWD);
    to += sprintf(to, "*3\r\n$9\r\n127.0.0.1\r\n:%d\r\n$7\r\nnode-%02d\r\n", master,
                  CROWD - 1);
    for (int i = 0; i < CROWD - 1; i++)
        to += sprintf(to, "*3\r\n$9\r\n127.0.0.1\r\n:%d\r\n$7\r\nnode-%02d\r\n",
                      nodes_port(nodes, i), i);
    return true;
}

/* ANNOUNCED-2: All nodes are queried, a part of them in each round. Row 1: the first ones are
 * down. */
START_TEST(the_one_node_of_many_that_knows_the_master_is_found)
{
    prepare(most_are_stale);
    nodes_stop(nodes);
    nodes = nodes_start(CROWD, most_are_stale, NULL);
    add_seed(nodes_port(nodes, 0));
    if (_i == 1)
        add_seed(nodes_port(nodes, CROWD / 2));
    for (int i = 0; _i == 1 && i < CROWD / 2; i++)
        nodes_down(nodes, i, true);
    ck_assert_int_eq(open_router(NULL), HF_OK);
    ck_assert_str_eq(ask(5), "node 39");
    end();
}
END_TEST

/* Node 0 says that the master is where nobody is; the last node, which is in no map, knows that
 * it is the master itself. */
static bool last_knows(void *ctx, const struct nodes_ask *a, char *reply)
{
    int master = a->node == CROWD - 1 ? nodes_port(nodes, CROWD - 1) : NOBODY;
    char *to = reply;

    (void)ctx;
    if (!request_matches(a->request, "CLUSTER SLOTS"))
        return false;
    to += sprintf(to, "*1\r\n*%d\r\n:0\r\n:16383\r\n", 1 + CROWD);
    to += sprintf(to, "*3\r\n$9\r\n127.0.0.1\r\n:%d\r\n$7\r\nnode-%02d\r\n", master,
                  CROWD - 1);
    for (int i = 0; i < CROWD - 2; i++)
        to += sprintf(to, "*3\r\n$9\r\n127.0.0.1\r\n:%d\r\n$7\r\nnode-%02d\r\n",
                      nodes_port(nodes, i), i);
    return true;
}

static uint32_t failures(void)
{
    uint32_t count;

    lock();
    count = router->discovery.failed_rounds;
    unlock();
    return count;
}

/* DISCOVER-3: a part of the nodes is queried before the seeds, not all of them. */
START_TEST(seeds_do_not_wait_for_all_silent_nodes_of_a_large_cluster)
{
    static struct ask a;
    int64_t end_ms = 0;

    prepare(last_knows);
    nodes_stop(nodes);
    nodes = nodes_start(CROWD, last_knows, NULL);
    options.link.connect_timeout_ms = SHORT_MS;
    add_seed(nodes_port(nodes, 0));
    add_seed(nodes_port(nodes, CROWD - 1));
    nodes_down(nodes, CROWD - 1, true);
    for (int i = 1; i < CROWD - 1; i++)
        nodes_pause(nodes, i, true);
    ck_assert_int_eq(open_router(NULL), HF_OK);
    ck_assert_int_eq(start(&a, 5, LONG_MS), HF_OK);
    while (failures() == 0)
        drive_on(&end_ms, "the end of a round");
    nodes_down(nodes, CROWD - 1, false);
    while (nodes_count(nodes, CROWD - 1, "CLUSTER SLOTS") == 0)
        drive_on(&end_ms, "CLUSTER SLOTS");
    lock();
    ck_assert_uint_lt(router->discovery.round.queried_servers, CROWD / 2);
    unlock();
    ck_assert_str_eq(answer_of(&a), "node 39");
    end();
}
END_TEST

static void to_a_dead_port(void *ctx, char *host, uint16_t *port)
{
    (void)host;
    *port = *(uint16_t *)ctx;
}

/* Nobody announced that address, and a map is not missing. */
START_TEST(an_address_that_the_program_mapped_has_no_announcer)
{
    uint16_t dead = (uint16_t)local_dead_port();

    prepare(stale);
    options.map_address = to_a_dead_port;
    options.map_address_ctx = &dead;
    nodes_map(nodes, all_of_1, 1);
    add_seed(nodes_port(nodes, 0));
    asks_once = true;
    ck_assert_int_eq(open_router(NULL), HF_OK);
    ck_assert_ptr_null(strstr(ask(5), "announced this address"));
    end();
}
END_TEST

/* DISCOVER-6: in an outage the nodes are asked less and less often, and again at the usual
 * pace when the master is back. */
START_TEST(pauses_grow_until_a_map_leads_to_a_master)
{
    static struct ask a;
    int before;

    begin(NULL, all_of_1, 1);
    ck_assert_str_eq(ask(5), "node 1");
    nodes_down(nodes, 1, true);
    (void)ask_for(5, SHORT_MS);
    ck_assert_int_eq(start(&a, 5, 4 * LONG_MS), HF_OK);
    drive_for(1500); /* 100, 200, 400, 800 */
    before = nodes_count(nodes, 0, "CLUSTER SLOTS");
    drive_for(3000);
    ck_assert_int_le(nodes_count(nodes, 0, "CLUSTER SLOTS") - before, 5);
    nodes_down(nodes, 1, false);
    ck_assert_str_eq(answer_of(&a), "node 1");
    drive_for(1500);
    lock();
    hf_discover_want(router, NULL);
    unlock();
    drive_for(200);
    lock();
    ck_assert_uint_eq(router->discovery.failed_rounds, 0);
    unlock();
    end();
}
END_TEST

static char trouble[HF_ERROR_TEXT_MAX]; /* of the rounds: the first one */
static int troubles;

static void on_trouble(void *ctx, enum hf_trouble about, const struct hf_error *why)
{
    (void)ctx;
    if (about == HF_TROUBLE_LOST)
        return;
    if (troubles++ == 0)
        (void)strcpy(trouble, why->text);
}

static bool has_failure(void)
{
    return failures_now() > 0;
}

static bool has_two_more_failures(void)
{
    static uint32_t first;

    first = first ? first : failures_now();
    return failures_now() >= first + 2;
}

/* DISCOVER-4: also if the master was away before all servers were. */
START_TEST(an_outage_is_reported_once_with_an_unreachable_master)
{
    static struct ask a;

    prepare(NULL);
    nodes_map(nodes, all_of_1, 1);
    add_seed(nodes_port(nodes, 0));
    options.link.connect_timeout_ms = 1000; /* of each probe */
    options.on_trouble = on_trouble;
    ck_assert_int_eq(open_router(NULL), HF_OK);
    ck_assert_str_eq(ask(5), "node 1");
    nodes_down(nodes, 1, true);
    (void)ask_for(5, SHORT_MS); /* may be lost with the connection */
    ck_assert_int_eq(start(&a, 5, 4 * LONG_MS), HF_OK);
    drive_until(has_failure);
    ck_assert_int_eq(troubles, 0);
    nodes_down(nodes, 0, true);
    drive_until(has_two_more_failures);
    ck_assert_int_eq(troubles, 1);
    ck_assert_ptr_nonnull(strstr(trouble, "127.0.0.1"));
    (void)cancel(&a);
    end();
}
END_TEST

/* ---- the second connection of a master (replicas) ---- */

static struct hf_link *wait_link;

static bool wait_link_is_up(void)
{
    bool it_is;

    lock();
    it_is = hf_link_is_up(wait_link);
    unlock();
    return it_is;
}

/* The attempt of either connection failed. */
static uint32_t lost_without(struct hf_server *server)
{
    uint32_t lost;

    lock();
    hf_announced_note_unreached(server);
    lost = hf_announced_count_unreachable(router, router->map);
    unlock();
    return lost;
}

/* ANNOUNCED-3 */
START_TEST(a_master_is_reached_over_either_of_its_connections)
{
    struct hf_server *server;

    begin(NULL, halves, 2);
    ck_assert_str_eq(ask(5), "node 0");
    lock();
    ck_assert_int_eq(hf_server_get(&server, router, "127.0.0.1",
                                   (uint16_t)nodes_port(nodes, 1), false), HF_OK);
    ck_assert_int_eq(hf_server_wait_link(&wait_link, server), HF_OK);
    unlock();
    ck_assert_uint_eq(lost_without(server), 8192);
    lock();
    hf_link_want(wait_link, true);
    unlock();
    drive_until(wait_link_is_up);
    lock();
    ck_assert(!hf_link_is_up(server->link));
    ck_assert_uint_eq(hf_announced_count_unreachable(router, router->map), 0);
    unlock();
    ck_assert_str_eq(ask(9000), "node 1");
    ck_assert_uint_eq(lost_without(server), 0);
    end();
}
END_TEST

/* ---- names in the map ---- */

static bool named(void *ctx, const struct nodes_ask *a, char *reply)
{
    (void)ctx;
    if (!request_matches(a->request, "CLUSTER SLOTS"))
        return false;
    put_slots(reply, OLD_NAME, nodes_port(nodes, 1), "127.0.0.1");
    return true;
}

START_TEST(the_ip_of_a_name_that_cannot_be_resolved_is_used)
{
    begin(named, all_of_1, 1);
    ck_assert_str_eq(ask(5), "node 1");
    end();
}
END_TEST

#define OLD_IP "127.0.0.9"      /* nobody listens there */

/* The node has moved when the address of before has failed once. */
static bool renumbered(void *ctx, const struct nodes_ask *a, char *reply)
{
    static int asked;

    (void)ctx;
    if (!request_matches(a->request, "CLUSTER SLOTS"))
        return false;
    put_slots(reply, OLD_NAME, nodes_port(nodes, 1), asked++ == 0 ? OLD_IP : "127.0.0.1");
    return true;
}

START_TEST(the_ip_that_a_name_has_in_the_newest_map_is_used)
{
    begin(renumbered, all_of_1, 1);
    ck_assert_str_eq(ask(5), "node 1");
    end();
}
END_TEST

START_TEST(a_server_that_has_left_the_map_is_freed)
{
    begin(NULL, halves, 2);
    ck_assert_str_eq(ask(0), "node 0");
    ck_assert_str_eq(ask(9000), "node 1");
    ck_assert_int_eq((int)counts().servers, 2);
    nodes_map(nodes, all_of_1, 1);
    nodes_epoch(nodes, 2);
    nodes_down(nodes, 0, true);
    ck_assert_str_eq(ask_again(0), "node 1");
    drive_for(1500);
    ck_assert_int_eq((int)counts().servers, 1);
    nodes_down(nodes, 0, false);
    nodes_map(nodes, all_of_0, 1); /* and is made again */
    nodes_epoch(nodes, 3);
    nodes_down(nodes, 1, true);
    ck_assert_str_eq(ask_again(0), "node 0");
    end();
}
END_TEST

static bool asks_for_node_1(void *ctx, const struct nodes_ask *a, char *reply)
{
    (void)ctx;
    if (a->node != 0 || !request_matches(a->request, "GET ..."))
        return false;
    (void)sprintf(reply, "-ASK 0 127.0.0.1:%d\r\n", nodes_port(nodes, 1));
    return true;
}

/* Calls on a slot that moves need it again and again. */
START_TEST(a_server_of_the_map_that_ask_named_first_is_kept)
{
    begin(asks_for_node_1, halves, 2);
    ck_assert_str_eq(ask(0), "node 1");
    drive_for(1500);
    ck_assert_int_eq((int)counts().servers, 2);
    end();
}
END_TEST

/* DISCOVER-3: The only seed is gone, and the only one that we ever spoke to: the rest
 * of its map is asked, too. */
START_TEST(remaining_nodes_of_a_map_are_queried)
{
    begin(NULL, halves, 2);
    ck_assert_str_eq(ask(0), "node 0");
    nodes_map(nodes, all_of_1, 1);
    nodes_epoch(nodes, 2);
    nodes_down(nodes, 0, true);
    ck_assert_str_eq(ask_again(0), "node 1");
    end();
}
END_TEST

static bool silent_0(void *ctx, const struct nodes_ask *a, char *reply)
{
    (void)ctx;
    reply[0] = '\0';
    return a->node == 0 && is_get(a);
}

/* DISCOVER-7: it is up, and says nothing. ROUTE-3: nor is its answer
 * awaited any more. */
START_TEST(a_silent_server_causes_queries_of_others)
{
    static struct ask a;
    int64_t began_ms;

    begin(silent_0, (struct nodes_range[]){{0, 99, 0}, {100, 199, 1}}, 2);
    ck_assert_int_eq(start(&a, 0, LONG_MS), HF_OK);
    drive_until_received(0, "GET a");
    began_ms = local_now_ms();
    nodes_map(nodes, all_of_1, 1);
    nodes_epoch(nodes, 2);
    ck_assert_int_eq(strncmp(answer_of(&a), "(unknown)", 9), 0);
    ck_assert_within(began_ms, QUICK_MS);
    ck_assert_str_eq(ask(0), "node 1");
    end();
}
END_TEST

static void drive_until_received_times(int node, const char *text, int times)
{
    int64_t end_ms = local_now_ms() + LONG_MS;

    while (nodes_count(nodes, node, text) < times) {
        ck_must(local_now_ms() < end_ms, "what is awaited comes");
        hf_loop_dispatch(loop, 5);
    }
}

/* Node 0 stops, and the others tell an older map, which may not be adopted while
 * node 0 may have a better one. */
static void begin_stopped(struct ask *a, int connect_timeout_ms)
{
    prepare(NULL);
    options.link.connect_timeout_ms = connect_timeout_ms;
    nodes_map(nodes, halves, 2);
    nodes_epoch(nodes, 5);
    add_seed(nodes_port(nodes, 0));
    ck_assert_int_eq(open_router(NULL), HF_OK);
    ck_assert_str_eq(ask(0), "node 0");
    nodes_pause(nodes, 0, true);
    nodes_map(nodes, all_of_1, 1);
    nodes_epoch(nodes, 4);
    ck_assert_int_eq(start(a, 0, 3 * LONG_MS), HF_OK);
}

/* ROUND-5. The silent server's own deadline is far away. */
START_TEST(others_are_queried_again_while_a_server_is_silent)
{
    static struct ask a;

    begin_stopped(&a, 3 * LONG_MS);
    drive_until_received_times(1, "CLUSTER SLOTS", 3);
    ck_assert_int_eq(nodes_count(nodes, 1, "GET a"), 0);
    nodes_epoch(nodes, 6);
    ck_assert_int_eq(strncmp(answer_of(&a), "(unknown)", 9), 0); /* ROUTE-3 */
    ck_assert_str_eq(ask(0), "node 1");
    end();
}
END_TEST

/* DISCOVER-8 */
START_TEST(a_round_that_begins_again_has_no_maps_of_the_one_before)
{
    static struct ask a;
    bool has_map = false;

    begin_stopped(&a, 3 * LONG_MS);
    for (int64_t end_ms = 0; !has_map;) {
        drive_on(&end_ms, "an older map");
        lock();
        has_map = router->discovery.best_map != NULL;
        unlock();
    }
    lock();
    hf_discover_restart(router, NULL);
    ck_assert_ptr_null(router->discovery.best_map);
    unlock();
    (void)cancel(&a);
    end();
}
END_TEST

/* DISCOVER-4, ROUND-3. */
START_TEST(a_worse_map_is_adopted_when_a_server_is_silent_for_long)
{
    static struct ask a;

    begin_stopped(&a, SHORT_MS);
    ck_assert_int_eq(strncmp(answer_of(&a), "(unknown)", 9), 0);
    ck_assert_str_eq(ask(0), "node 1");
    end();
}
END_TEST

static void drive_until_sent(const struct ask *a)
{
    int64_t end_ms = local_now_ms() + LONG_MS;
    bool is_sent = false;

    while (!is_sent) {
        ck_must(local_now_ms() < end_ms, "a command is sent");
        hf_loop_dispatch(loop, 5);
        lock();
        is_sent = hf_command_is_sent(&a->command);
        unlock();
    }
}

static void drive_until_maps(uint64_t count)
{
    int64_t end_ms = local_now_ms() + LONG_MS;

    while (counts().maps < count) {
        ck_must(local_now_ms() < end_ms, "a map is adopted");
        hf_loop_dispatch(loop, 5);
    }
}

static const struct nodes_range most_of_0[] = {{0, 99, 0}, {100, 16383, 1}};
static const struct nodes_range least_of_0[] = {{0, 9, 0}, {10, 16383, 1}};

/* ROUTE-5. The silent server is still the master of other slots, so that its answer is
 * waited for. */
START_TEST(an_answer_of_a_former_master_is_an_unknown_outcome)
{
    static struct ask a, of_its_own;

    begin(NULL, most_of_0, 2);
    ck_assert_str_eq(ask(50), "node 0");
    nodes_pause(nodes, 0, true);
    ck_assert_int_eq(start(&a, 50, LONG_MS), HF_OK);
    ck_assert_int_eq(start(&of_its_own, 5, LONG_MS), HF_OK);
    drive_until_sent(&of_its_own);
    nodes_map(nodes, least_of_0, 2);
    nodes_epoch(nodes, 2);
    drive_until_maps(2);
    nodes_pause(nodes, 0, false);
    ck_assert_str_eq(answer_of(&of_its_own), "node 0");
    ck_assert_int_eq(strncmp(answer_of(&a), "(unknown)", 9), 0);
    ck_assert_int_eq(nodes_count(nodes, 0, "GET a"), 3);
    ck_assert_str_eq(ask(50), "node 1");
    end();
}
END_TEST

/* ROUTE-5. The map names the source of a slot that is on the move: not the node that
 * was named by ASK. */
START_TEST(a_reply_after_asking_counts_with_any_map)
{
    static struct ask a;

    begin(importing, (struct nodes_range[]){{0, 9, 0}, {10, 99, 2}}, 2);
    nodes_pause(nodes, 1, true);
    ck_assert_int_eq(start(&a, 5, LONG_MS), HF_OK);
    drive_until_received(0, "GET a");
    nodes_map(nodes, (struct nodes_range[]){{0, 9, 0}, {10, 199, 2}}, 2);
    nodes_epoch(nodes, 2);
    drive_until_maps(2);
    nodes_pause(nodes, 1, false);
    ck_assert_str_eq(answer_of(&a), "node 1");
    end();
}
END_TEST

START_TEST(a_slot_without_a_node_is_reported)
{
    static const struct nodes_range part[] = {{0, 99, 0}};
    const char *text;

    begin(NULL, part, 1);
    text = ask_for(100, SHORT_MS);
    ck_assert_msg(strstr(text, "(unsent)") && strstr(text, "slot 100"), "%s",
                  text);
    ck_assert_str_eq(ask(99), "node 0");
    nodes_map(nodes, all_of_1, 1);
    nodes_epoch(nodes, 2);
    ck_assert_str_eq(ask(100), "node 1"); /* found without a MOVED */
    end();
}
END_TEST

/* ---- subscriptions on their way ---- */

#define CHANGES_MAX 16

/* What the owner of a subscription is told: '+' is live, '-' is not. */
struct listener {
    struct hf_subscription subscription;
    char changes[CHANGES_MAX];
    int count;
};

static void on_change(struct hf_subscription *s, bool is_live)
{
    struct listener *l = HF_OWNER_OF(s, struct listener, subscription);

    ck_must(l->count < CHANGES_MAX - 1, "changes come to an end");
    l->changes[l->count++] = is_live ? '+' : '-';
}

static void on_message(struct hf_subscription *s, const char *ptr, size_t len)
{
    (void)s;
    (void)ptr;
    (void)len;
}

static void listen_at(struct listener *l, int slot, bool is_sharded)
{
    hf_status rc;

    memset(l, 0, sizeof *l);
    l->subscription = (struct hf_subscription){.channel = "c",
                                               .channel_len = 1,
                                               .on_message = on_message,
                                               .on_change = on_change,
                                               .is_sharded = is_sharded};
    lock();
    rc = hf_router_subscribe(router, &l->subscription, (uint16_t)slot);
    unlock();
    ck_assert_int_eq(rc, HF_OK);
}

/* Until it is live for the n-th time. */
static void drive_until_live(const struct listener *l, int n)
{
    int64_t end_ms = local_now_ms() + LONG_MS;
    int lives = 0;

    while (lives < n) {
        ck_must(local_now_ms() < end_ms, "a subscription becomes live");
        hf_loop_dispatch(loop, 5);
        lives = 0;
        for (int i = 0; i < l->count; i++)
            lives += l->changes[i] == '+';
    }
}

static void unlisten(struct listener *l)
{
    lock();
    hf_router_unsubscribe(&l->subscription);
    unlock();
}

/* A push that names the channel, for each of the four commands. */
static bool confirms(void *ctx, const struct nodes_ask *a, char *reply)
{
    static const char *const kinds[][2] = {{"SUBSCRIBE c", "subscribe"},
                                           {"SSUBSCRIBE c", "ssubscribe"},
                                           {"UNSUBSCRIBE c", "unsubscribe"},
                                           {"SUNSUBSCRIBE c", "sunsubscribe"}};

    for (int i = 0; i < 4; i++)
        if (request_matches(a->request, kinds[i][0])) {
            (void)sprintf(reply, ">3\r\n$%zu\r\n%s\r\n$1\r\nc\r\n:1\r\n",
                          strlen(kinds[i][1]), kinds[i][1]);
            return true;
        }
    return says(ctx, a, reply);
}

static const char *const subscribes[] = {"SUBSCRIBE c", "SSUBSCRIBE c"};

/* Both servers are there all the time: nobody but the map says that what comes
 * in between is heard by nobody. */
START_TEST(the_owner_of_a_moved_subscription_is_notified)
{
    static struct listener l;

    say("-MOVED 5 127.0.0.1:%d\r\n", NULL);
    begin(confirms, all_of_0, 1);
    listen_at(&l, 5, _i == 1);
    drive_until_live(&l, 1);
    ck_assert_int_eq(nodes_count(nodes, 0, subscribes[_i]), 1);
    nodes_map(nodes, all_of_1, 1);
    nodes_epoch(nodes, 2);
    ck_assert_str_eq(ask(5), "node 1"); /* and so the map is asked for */
    drive_until_live(&l, 2);
    ck_assert_int_eq(nodes_count(nodes, 1, subscribes[_i]), 1);
    ck_assert_str_eq(l.changes, "+-+");
    unlisten(&l);
    end();
}
END_TEST

/* By the first node, once, though the map goes on to name it. */
static bool refuses_once(void *ctx, const struct nodes_ask *a, char *reply)
{
    static int refusals;

    if (request_matches(a->request, "SSUBSCRIBE c") && refusals == 0) {
        (void)sprintf(reply, "-MOVED 5 127.0.0.1:%d\r\n",
                      nodes_port(nodes, 1));
        refusals++;
        return true;
    }
    return confirms(ctx, a, reply);
}

/* The slot came back before the map was asked for. */
START_TEST(a_subscription_that_was_refused_is_tried_again_at_the_same_node)
{
    static struct listener l;

    say(NULL, NULL);
    begin(refuses_once, all_of_0, 1);
    listen_at(&l, 5, true);
    drive_until_live(&l, 1);
    ck_assert_str_eq(l.changes, "-+");
    ck_assert_int_eq(nodes_count(nodes, 0, "SSUBSCRIBE c"), 2);
    ck_assert_int_eq(nodes_count(nodes, 1, "SSUBSCRIBE c"), 0);
    unlisten(&l);
    end();
}
END_TEST

static bool announces_another_and_confirms(void *ctx, const struct nodes_ask *a, char *reply)
{
    if (!request_matches(a->request, "SUBSCRIBE c"))
        return announces_another(ctx, a, reply);
    (void)strcpy(reply, "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n");
    return true;
}

/* ANNOUNCED-5: the connection for messages cannot be made, and nothing is sent over the other
 * one. */
START_TEST(node_without_a_connection_for_messages_is_left_for_its_other_address)
{
    static struct listener l;

    prepare(announces_another_and_confirms);
    told.announced = nodes_port(nodes, 1);
    options.link.protocol = 2;
    options.link.connect_timeout_ms = 500;
    add_seed(nodes_port(nodes, 0));
    ck_assert_int_eq(open_router(NULL), HF_OK);
    ck_assert_str_eq(ask(5), "node 1");
    drive_through_a_round();
    nodes_pause(nodes, 1, true);
    told.announced = nodes_port(nodes, 2);
    listen_at(&l, 5, false);
    drive_until_live(&l, 1);
    ck_assert_int_eq(nodes_count(nodes, 2, "SUBSCRIBE c"), 1);
    nodes_pause(nodes, 1, false);
    unlisten(&l);
    end();
}
END_TEST

static bool silent_0_and_says(void *ctx, const struct nodes_ask *a, char *reply)
{
    return silent_0(ctx, a, reply) || says(ctx, a, reply);
}

/* ROUTE-2: Node 0 still serves other slots and is connected, so it will reply. */
START_TEST(command_stays_at_a_server_that_only_lost_its_slot)
{
    static struct ask a;

    say(NULL, NULL);
    begin(silent_0_and_says, halves, 2);
    ck_assert_int_eq(start(&a, 5, LONG_MS), HF_OK);
    drive_until_received(0, "GET a");
    nodes_map(nodes, (struct nodes_range[]){{0, 5, 1}, {6, 8191, 0}, {8192, 16383, 1}}, 3);
    nodes_epoch(nodes, 2);
    lock();
    hf_discover_want(router, NULL);
    unlock();
    drive_until_maps(2);
    ck_assert_str_eq(ask(5), "node 1");
    ck_assert_int_eq(a.ended, 0);
    ck_assert_int_eq(cancel(&a), HF_UNKNOWN);
    end();
}
END_TEST

/* ---- switches ---- */

#define SLOT 5

/* Reports about SLOT, and what the last of them said. */
static int switches;
static bool is_sudden;

static void on_switched(void *ctx, const struct hf_switched *which)
{
    (void)ctx;
    if (!hf_switched_has(which->switched_slots, SLOT))
        return;
    switches++;
    is_sudden = hf_switched_has(which->sudden_slots, SLOT);
}

static void begin_switch(int topology)
{
    switches = 0;
    say(NULL, NULL);
    prepare(says);
    seeds.topology = (unsigned)topology;
    (void)strcpy(options.link.url.host, "127.0.0.1"); /* HF_STANDALONE has no seeds */
    options.link.url.port = (uint16_t)nodes_port(nodes, 0);
    options.on_switched = on_switched;
    nodes_map(nodes, all_of_0, 1);
    for (int node = 0; node < (topology == HF_CLUSTER ? 2 : 1); node++)
        add_seed(nodes_port(nodes, node));
    ck_assert_int_eq(open_router(NULL), HF_OK);
    ck_assert_str_eq(ask(SLOT), "node 0");
    ck_assert_int_eq(switches, 0);
}

/* SWITCHED-2: Node 0 itself replies that node 1 serves the slot, or is down. */
START_TEST(switch_is_sudden_if_the_former_server_replied_until_then)
{
    bool replies = _i == 0;

    begin_switch(HF_CLUSTER);
    nodes_map(nodes, all_of_1, 1);
    nodes_epoch(nodes, 2);
    if (replies)
        say("-MOVED 5 127.0.0.1:%d\r\n", NULL);
    else
        nodes_down(nodes, 0, true);
    ck_assert_str_eq(ask_again(SLOT), "node 1");
    ck_assert_int_eq(switches, 1);
    ck_assert_int_eq(is_sudden, replies);
    end();
}
END_TEST

/* The map of `map_has_moved`: the node with one id has another address. */
static bool map_has_moved;

static bool same_node(void *ctx, const struct nodes_ask *a, char *reply)
{
    (void)ctx;
    if (!request_matches(a->request, "CLUSTER SLOTS"))
        return false;
    put_slots(reply, "127.0.0.1", nodes_port(nodes, map_has_moved), "127.0.0.1");
    return true;
}

/* SWITCHED-2 */
START_TEST(another_address_of_the_same_node_is_not_a_sudden_switch)
{
    struct hf_server *server;

    switches = 0;
    map_has_moved = false;
    prepare(same_node);
    options.on_switched = on_switched;
    add_seed(nodes_port(nodes, 0));
    ck_assert_int_eq(open_router(NULL), HF_OK);
    ck_assert_str_eq(ask(SLOT), "node 0");
    map_has_moved = true;
    lock();
    server = hf_server_find(router, "127.0.0.1", (uint16_t)nodes_port(nodes, 0), false);
    server->run_id_when_named[0] = '\0'; /* otherwise the connection is kept (ANNOUNCED-5) */
    hf_discover_want(router, NULL);
    unlock();
    drive_until_maps(2);
    ck_assert_str_eq(ask(SLOT), "node 1");
    ck_assert_int_eq(switches, 1);
    ck_assert(!is_sudden);
    end();
}
END_TEST

/* SWITCHED-3 */
START_TEST(server_of_the_url_that_becomes_a_replica_and_a_master_again_is_reported_twice)
{
    begin_switch(HF_STANDALONE);
    say("-READONLY You can't write against a read only replica.\r\n", NULL);
    ck_assert_int_eq(strncmp(ask(SLOT), "READONLY ", 9), 0);
    ck_assert_int_eq(switches, 1);
    ck_assert(is_sudden);
    say(NULL, NULL);
    ck_assert_str_eq(ask_again(SLOT), "node 0");
    ck_assert_int_eq(switches, 2);
    ck_assert(!is_sudden);
    end();
}
END_TEST

/* PUBSUB-6 */
START_TEST(sunsubscribe_names_its_channel_twice)
{
    bool is_sharded = _i == 1;
    struct listener l;

    begin(confirms, all_of_0, 1);
    listen_at(&l, SLOT, is_sharded);
    drive_until_live(&l, 1);
    unlisten(&l);
    drive_until_received(0, is_sharded ? "SUNSUBSCRIBE c c" : "UNSUBSCRIBE c");
    end();
}
END_TEST

static TCase *case_maps(void)
{
    TCase *c = tcase_create("maps");

    tcase_set_timeout(c, 60);
    tcase_add_test(c, a_map_that_is_older_than_ours_is_not_taken);
    tcase_add_test(c, a_server_that_has_left_the_map_is_freed);
    tcase_add_loop_test(c, of_two_maps_the_one_with_a_master_that_can_be_reached_is_used, 0,
                        4);
    tcase_add_loop_test(c, the_one_node_of_many_that_knows_the_master_is_found, 0, 2);
    tcase_add_test(c, seeds_do_not_wait_for_all_silent_nodes_of_a_large_cluster);
    tcase_add_test(c, map_of_a_node_that_redirects_to_itself_is_not_kept);
    tcase_add_test(c, each_slot_that_a_node_refuses_counts_until_the_node_serves_it);
    tcase_add_test(c, pauses_do_not_grow_by_a_slot_that_was_refused_before);
    tcase_add_test(c, a_working_connection_is_not_left_for_another_address_of_its_node);
    tcase_add_test(c, silent_connection_is_left_for_another_address_of_its_node);
    tcase_add_test(c, connection_to_a_failed_cluster_is_left_for_another_address_of_its_node);
    tcase_add_test(c, connection_that_redirects_to_another_address_of_its_node_is_left_for_it);
    tcase_add_test(c, map_of_a_node_that_is_cut_off_is_not_kept);
    tcase_add_test(c, older_map_does_not_replace_the_map_of_a_failed_cluster);
    tcase_add_test(c, an_address_that_all_announce_in_vain_is_reported_with_its_announcer);
    tcase_add_test(c, an_address_that_the_program_mapped_has_no_announcer);
    tcase_add_test(c, pauses_grow_until_a_map_leads_to_a_master);
    tcase_add_test(c, command_stays_at_a_server_that_only_lost_its_slot);
    tcase_add_loop_test(c, switch_is_sudden_if_the_former_server_replied_until_then, 0, 2);
    tcase_add_test(c, another_address_of_the_same_node_is_not_a_sudden_switch);
    tcase_add_test(
        c, server_of_the_url_that_becomes_a_replica_and_a_master_again_is_reported_twice);
    tcase_add_test(c, an_outage_is_reported_once_with_an_unreachable_master);
    tcase_add_test(c, a_master_is_reached_over_either_of_its_connections);
    tcase_add_test(c, the_ip_of_a_name_that_cannot_be_resolved_is_used);
    tcase_add_test(c, the_ip_that_a_name_has_in_the_newest_map_is_used);
    tcase_add_test(c, a_server_of_the_map_that_ask_named_first_is_kept);
    tcase_add_test(c, remaining_nodes_of_a_map_are_queried);
    tcase_add_test(c, a_silent_server_causes_queries_of_others);
    tcase_add_test(c, others_are_queried_again_while_a_server_is_silent);
    tcase_add_test(c,
                   a_worse_map_is_adopted_when_a_server_is_silent_for_long);
    tcase_add_test(c, a_round_that_begins_again_has_no_maps_of_the_one_before);
    tcase_add_test(c, an_answer_of_a_former_master_is_an_unknown_outcome);
    tcase_add_test(c, a_reply_after_asking_counts_with_any_map);
    tcase_add_test(c, a_slot_without_a_node_is_reported);
    return c;
}

static TCase *case_subscriptions(void)
{
    TCase *c = tcase_create("subscriptions");

    tcase_set_timeout(c, 60);
    tcase_add_loop_test(
        c, the_owner_of_a_moved_subscription_is_notified, 0, 2);
    tcase_add_test(
        c, a_subscription_that_was_refused_is_tried_again_at_the_same_node);
    tcase_add_test(c, node_without_a_connection_for_messages_is_left_for_its_other_address);
    tcase_add_loop_test(c, sunsubscribe_names_its_channel_twice, 0, 2);
    return c;
}

int main(void)
{
    Suite *s = suite_create("router, maps");

    suite_add_tcase(s, case_maps());
    suite_add_tcase(s, case_subscriptions());
    return suite_run(s);
}
