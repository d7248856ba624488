/* Slot maps out of replies, good and malicious (C3, C4, C5), and what a router
 * asks of them. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/route/cluster_view.h"
#include "net/route/slot_map.h"
#include "tests/support/memory.h"
#include "tests/support/reply.h"
#include "tests/support/suite.h"

#define COUNT(table) ((int)(sizeof(table) / sizeof *(table)))

enum command { SLOTS, SHARDS };

static struct memory memory;
static struct hf_error error;

/* Reads a map as if it came from "asked". Never more than one at a time. */
static hf_status read_reply(struct hf_slot_map **map, enum command command,
                            const struct reply *reply, bool is_tls)
{
    const struct hf_slot_map_source from = {&memory.hook, "asked", is_tls};

    error = (struct hf_error){0};
    return command == SLOTS
               ? hf_slot_map_from_slots(map, &from, reply->value, &error)
               : hf_slot_map_from_shards(map, &from, reply->value, &error);
}

static hf_status read_map(struct hf_slot_map **map, enum command command,
                          const char *notation, int protocol, bool is_tls)
{
    struct reply reply = reply_of(notation, protocol);
    hf_status rc = read_reply(map, command, &reply, is_tls);

    reply_fini(&reply);
    return rc;
}

/* One that must be good. */
static struct hf_slot_map *map_of(enum command command, const char *notation,
                                  int protocol)
{
    struct hf_slot_map *map = NULL;
    hf_status rc = read_map(&map, command, notation, protocol, false);

    ck_assert_msg(rc == HF_OK, "%s", error.text);
    return map;
}

static void setup(void)
{
    memory_init(&memory);
}

static void teardown(void)
{
    ck_assert_pstr_eq(memory_fini(&memory), NULL);
}

/* ---- whole maps ---- */

static void must_lead_to(const struct hf_slot_map *map, unsigned slot,
                         const char *host, unsigned port)
{
    const struct hf_node *node = hf_slot_map_master_of_slot(map, (uint16_t)slot);

    if (!host) {
        ck_assert_ptr_null(node);
        return;
    }
    ck_assert_msg(node != NULL, "slot %u has no target", slot);
    ck_assert_str_eq(node->host, host);
    ck_assert_uint_eq(node->port, port);
}

#define OLD_SLOTS                                                             \
    "[[0 5460 ['10.0.0.1' 7001 'a'] ['10.0.0.4' 7004 'd']]"                   \
    " [5461 10922 ['10.0.0.2' 7002 'b']]"                                     \
    " [10923 16382 ['10.0.0.3' 7003 'c']]"                                    \
    " [16383 16383 ['10.0.0.1' 7001 'a'] ['10.0.0.4' 7004 'd']]]"

#define NEW_SLOTS                                                             \
    "[[0 5460 ['10.0.0.1' 7001 'a' {'hostname' 'x'}]"                         \
    "         ['10.0.0.4' 7004 'd' {}]]"                                      \
    " [5461 10922 ['10.0.0.2' 7002 'b' {}]]"                                  \
    " [10923 16382 ['10.0.0.3' 7003 'c' {}]]"                                 \
    " [16383 16383 ['10.0.0.1' 7001 'a' {'later' [1 {2 3}]} 'later']"         \
    "              ['10.0.0.4' 7004 'd' {}]]]"

#define NODE(id, host, port, role)                                            \
    "{'id' '" id "' 'port' " port " 'ip' '" host "' 'endpoint' '" host        \
    "' 'role' '" role "' 'replication-offset' 7 'health' 'online'}"

/* Keys in any order, and such as nobody knows. */
#define SOME_SHARDS                                                           \
    "[{'slots' [0 5460 16383 16383] 'nodes' ["                                \
    NODE("d", "10.0.0.4", "7004", "replica")                                  \
    NODE("a", "10.0.0.1", "7001", "master") "]}"                              \
    "{'id' 'a-shard' 'nodes' ["                                               \
    "  {'health' 'online' 'later' {1 2} 'role' 'master' 'port' 7002"          \
    "   'endpoint' '10.0.0.2' 'id' 'b'}] 'slots' [5461 10922]}"               \
    "{'slots' [10923 16382] 'nodes' ["                                        \
    NODE("c", "10.0.0.3", "7003", "master") "]}]"

static const struct {
    enum command command;
    const char *notation;
} whole[] = {
    {SLOTS, OLD_SLOTS},
    {SLOTS, NEW_SLOTS},
    {SHARDS, SOME_SHARDS},
};

static void must_be_whole(const struct hf_slot_map *map)
{
    uint16_t replica = hf_slot_map_find_node(map, "10.0.0.4", 7004);

    ck_assert_uint_eq(map->nodes_count, 4);
    ck_assert_uint_eq(hf_slot_map_count_covered(map), HF_SLOTS);
    must_lead_to(map, 0, "10.0.0.1", 7001);
    must_lead_to(map, 5460, "10.0.0.1", 7001);
    must_lead_to(map, 5461, "10.0.0.2", 7002);
    must_lead_to(map, 16382, "10.0.0.3", 7003);
    must_lead_to(map, 16383, "10.0.0.1", 7001);
    ck_assert_uint_lt(replica, 4);
    ck_assert(!hf_node_is_usable_master(map, replica));
    ck_assert_str_eq(map->nodes[map->nodes[replica].master_index].id, "a");
}

START_TEST(a_map_is_the_same_from_every_form_of_reply)
{
    struct hf_slot_map *first = map_of(SLOTS, OLD_SLOTS, 2);

    for (int protocol = 2; protocol <= 3; protocol++) {
        struct hf_slot_map *map =
            map_of(whole[_i].command, whole[_i].notation, protocol);

        must_be_whole(map);
        ck_assert(hf_slot_map_is_equal(map, first));
        ck_assert(hf_slot_map_is_equal(first, map));
        hf_slot_map_free(map);
    }
    hf_slot_map_free(first);
}
END_TEST

/* What others are shown of a map; without memory, nothing is left behind. */
START_TEST(a_view_shows_the_node_of_each_slot)
{
    struct reply reply = reply_of("[[0 99 ['h' 1 'idA'] ['h' 2 'idB']]"
                                  " [200 300 ['?' 3 'idC']]]", 2);
    struct hf_cluster_view *view = NULL;
    struct hf_cluster_node node;

    for (unsigned n = 1; n <= 2; n++) {
        memory_fail_at(&memory, n);
        ck_assert_int_eq(hf_cluster_view_read(&view, &memory.hook, "asked",
                                              false, reply.value, &error),
                         HF_E_NOMEM);
    }
    memory_fail_at(&memory, 0);
    ck_assert_int_eq(hf_cluster_view_read(&view, &memory.hook, "asked", false,
                                          reply.value, &error), HF_OK);
    reply_fini(&reply);
    ck_assert_uint_eq(hf_cluster_view_count(view), 3);
    node = hf_cluster_view_node(view, (uint32_t)hf_cluster_view_owner(view, 99));
    ck_assert_str_eq(node.id, "idA");
    ck_assert_ptr_null(node.master);
    ck_assert_int_eq(hf_cluster_view_owner(view, 100), -1);
    node = hf_cluster_view_node(view, 1);
    ck_assert_str_eq(node.master, "idA");
    ck_assert_uint_eq(node.port, 2);
    node = hf_cluster_view_node(view, 2);
    ck_assert_str_eq(node.host, "");
    hf_cluster_view_free(view);
    hf_cluster_view_free(NULL);
}
END_TEST

START_TEST(a_gap_is_no_error_and_has_no_target)
{
    struct hf_slot_map *map =
        map_of(SLOTS, "[[1 2 ['h' 1 'a']] [4 16382 ['h' 1 'a']]]", 2);

    must_lead_to(map, 0, NULL, 0);
    must_lead_to(map, 1, "h", 1);
    must_lead_to(map, 3, NULL, 0);
    must_lead_to(map, 16383, NULL, 0);
    ck_assert_uint_eq(hf_slot_map_count_covered(map), HF_SLOTS - 3);
    hf_slot_map_free(map);
}
END_TEST

START_TEST(a_cluster_without_slots_has_an_empty_map)
{
    struct hf_slot_map *map = map_of(SLOTS, "[]", 2);

    ck_assert_uint_eq(map->nodes_count, 0);
    ck_assert_uint_eq(hf_slot_map_count_covered(map), 0);
    hf_slot_map_free(map);
    map = map_of(SHARDS,
                 "[{'slots' [] 'nodes' [" NODE("a", "h", "1", "master") "]}]",
                 3);
    ck_assert_uint_eq(map->nodes_count, 1);
    ck_assert_uint_eq(hf_slot_map_count_covered(map), 0);
    hf_slot_map_free(map);
}
END_TEST

/* ---- hosts: C4 ---- */

static const struct {
    const char *endpoint;
    const char *ip;             /* NULL: not said */
    const char *host;
} hosts[] = {
    {"'10.0.0.1'", NULL, "10.0.0.1"},
    {"'10.0.0.1'", "'10.9.9.9'", "10.0.0.1"},
    {"'h-1.example'", "'10.0.0.1'", "h-1.example"},
    {"'::1'", NULL, "::1"},
    {"'2001:db8::2:1'", NULL, "2001:db8::2:1"},
    {"nil", NULL, "asked"},
    {"nil", "'10.0.0.1'", "asked"},
    {"''", NULL, "asked"},
    {"''", "''", "asked"},
    {"'?'", NULL, ""},
    {"'?'", "'10.0.0.1'", "10.0.0.1"},
    {"'?'", "'::1'", "::1"},
    {"'?'", "''", ""},
    {"'?'", "'?'", ""},
    {"'?'", "nil", ""},
    {"'?'", "7", ""},
    {"'?'", "'no address'", ""},
};

static void write_host(char *to, size_t room, enum command command, int i)
{
    char ip[64] = "";

    if (hosts[i].ip)
        (void)snprintf(ip, sizeof ip, "'ip' %s", hosts[i].ip);
    (void)snprintf(to, room,
                   command == SLOTS
                       ? "[[0 9 [%s 1 'a' {%s}]]]"
                       : "[{'slots' [0 9] 'nodes' [{'id' 'a' 'port' 1 'role'"
                         " 'master' 'endpoint' %s %s}]}]",
                   hosts[i].endpoint, ip);
}

START_TEST(a_host_is_resolved_as_the_server_intends)
{
    char notation[256];

    for (int protocol = 2; protocol <= 3; protocol++)
        for (int command = SLOTS; command <= SHARDS; command++) {
            struct hf_slot_map *map;

            write_host(notation, sizeof notation, (enum command)command, _i);
            map = map_of((enum command)command, notation, protocol);
            ck_assert_str_eq(map->nodes[0].host, hosts[_i].host);
            must_lead_to(map, 5, hosts[_i].host[0] ? hosts[_i].host : NULL, 1);
            hf_slot_map_free(map);
        }
}
END_TEST

START_TEST(a_shard_node_without_endpoint_has_its_ip)
{
    struct hf_slot_map *map =
        map_of(SHARDS,
               "[{'slots' [0 9] 'nodes' [{'id' 'a' 'port' 1 'role' 'master'"
               " 'ip' '10.0.0.1'}]}]",
               3);

    must_lead_to(map, 0, "10.0.0.1", 1);
    hf_slot_map_free(map);
}
END_TEST

/* ---- ports and health: C19 ---- */

#define WITH_PORTS(ports)                                                     \
    "[{'slots' [0 9] 'nodes' [{'id' 'a' 'endpoint' 'h' 'role' 'master'"       \
    " 'health' 'online' " ports "}]}]"

static const struct {
    const char *notation;
    uint16_t plain;             /* 0: no target */
    uint16_t tls;
} ports[] = {
    {WITH_PORTS("'port' 1"), 1, 0},
    {WITH_PORTS("'tls-port' 2"), 0, 2},
    {WITH_PORTS("'port' 1 'tls-port' 2"), 1, 2},
    {WITH_PORTS("'tls-port' 65535 'port' 65535"), 65535, 65535},
};

START_TEST(a_port_is_of_the_kind_that_was_requested)
{
    struct hf_slot_map *map;

    for (int is_tls = 0; is_tls <= 1; is_tls++) {
        uint16_t port = is_tls ? ports[_i].tls : ports[_i].plain;

        ck_assert_int_eq(
            read_map(&map, SHARDS, ports[_i].notation, 3, is_tls), HF_OK);
        must_lead_to(map, 0, port ? "h" : NULL, port);
        hf_slot_map_free(map);
    }
}
END_TEST

#define WITH_HEALTH(health)                                                   \
    "[{'slots' [0 9] 'nodes' [{'id' 'a' 'endpoint' 'h' 'role' 'master'"       \
    " 'port' 1 " health "}]}]"

START_TEST(only_online_nodes_are_targets)
{
    static const char *const not[] = {"'failed'", "'fail'", "'loading'",
                                      "'ONLINE'", "'onlin'", "nil", "1"};
    struct hf_slot_map *map;
    char notation[256];

    for (int i = 0; i < COUNT(not); i++) {
        (void)snprintf(notation, sizeof notation, WITH_HEALTH("'health' %s"),
                       not[i]);
        map = map_of(SHARDS, notation, 3);
        must_lead_to(map, 0, NULL, 0);
        ck_assert_uint_eq(map->slot_owners[0], 0); /* whose it is stays known */
        hf_slot_map_free(map);
    }
    map = map_of(SHARDS, WITH_HEALTH(""), 3);
    must_lead_to(map, 0, "h", 1);
    hf_slot_map_free(map);
}
END_TEST

/* Since 7.2 a failed master stays in the shard of the one that follows it. */
START_TEST(of_two_masters_of_a_shard_the_one_online_has_the_slots)
{
    static const char old[] =
        "{'id' 'a' 'port' 1 'endpoint' 'h' 'role' 'master' 'health' 'fail'}";
    static const char new[] = NODE("b", "h", "2", "master");
    char notation[1024];

    for (int old_first = 0; old_first <= 1; old_first++) {
        struct hf_slot_map *map;

        (void)snprintf(notation, sizeof notation,
                       "[{'slots' [0 9] 'nodes' [%s %s %s]}]",
                       old_first ? old : new, old_first ? new : old,
                       NODE("c", "h", "3", "replica"));
        map = map_of(SHARDS, notation, 3);
        must_lead_to(map, 0, "h", 2);
        ck_assert_str_eq(map->nodes[map->nodes[2].master_index].id, "b");
        hf_slot_map_free(map);
    }
}
END_TEST

START_TEST(a_shard_without_a_master_has_no_target)
{
    struct hf_slot_map *map = map_of(
        SHARDS,
        "[{'slots' [0 9] 'nodes' [" NODE("a", "h", "1", "replica") "]}]", 3);

    must_lead_to(map, 0, NULL, 0);
    ck_assert_uint_eq(map->nodes[0].master_index, HF_NO_NODE);
    ck_assert(!hf_node_is_usable_master(map, 0));
    ck_assert(hf_slot_map_is_equal(map, map));
    hf_slot_map_free(map);
}
END_TEST

/* ---- what is wrong: C5, MAP-5 ---- */

#define SHARD(slots, nodes) "[{'slots' " slots " 'nodes' " nodes "}]"
#define ONE "[" NODE("a", "h", "1", "master") "]"

static const struct {
    enum command command;
    const char *notation;
    hf_status status;
    const char *why;
} bad[] = {
    {SLOTS, "!'ERR This instance has cluster support disabled'", HF_E_SERVER,
     "CLUSTER SLOTS: ERR This instance has cluster support disabled"},
    {SHARDS, "!'ERR unknown subcommand'", HF_E_SERVER,
     "CLUSTER SHARDS: ERR unknown subcommand"},
    {SLOTS, "nil", HF_E_PROTOCOL, "not an array"},
    {SLOTS, "'text'", HF_E_PROTOCOL, "not an array"},
    {SHARDS, "+OK", HF_E_PROTOCOL, "not an array"},
    {SHARDS, "7", HF_E_PROTOCOL, "not an array"},
    /* entries */
    {SLOTS, "[nil]", HF_E_PROTOCOL, "entry 1: it is not a range"},
    {SLOTS, "[[]]", HF_E_PROTOCOL, "entry 1: it is not a range"},
    {SLOTS, "[[0]]", HF_E_PROTOCOL, "entry 1: it is not a range"},
    {SLOTS, "[[0 1]]", HF_E_PROTOCOL, "entry 1: a range of slots has no node"},
    {SLOTS, "[[0 1 ['h' 1 'a']] [2 3]]", HF_E_PROTOCOL, "entry 2: a range of"},
    {SHARDS, "[nil]", HF_E_PROTOCOL, "entry 1: it is not a shard"},
    {SHARDS, "[{}]", HF_E_PROTOCOL, "it is not a shard"},
    {SHARDS, "[{'slots' [0 1]}]", HF_E_PROTOCOL, "it is not a shard"},
    {SHARDS, "[{'nodes' []}]", HF_E_PROTOCOL, "it is not a shard"},
    {SHARDS, SHARD("7", ONE), HF_E_PROTOCOL, "it is not a shard"},
    {SHARDS, SHARD("[]", "'x'"), HF_E_PROTOCOL, "it is not a shard"},
    {SHARDS, SHARD("[0 1]", "[]"), HF_E_PROTOCOL, "has no node"},
    /* slots */
    {SLOTS, "[[2 1 ['h' 1 'a']]]", HF_E_PROTOCOL, "ends before it begins"},
    {SLOTS, "[[-1 1 ['h' 1 'a']]]", HF_E_PROTOCOL, "from 0 to 16383"},
    {SLOTS, "[[0 16384 ['h' 1 'a']]]", HF_E_PROTOCOL, "from 0 to 16383"},
    {SLOTS, "[[16384 16384 ['h' 1 'a']]]", HF_E_PROTOCOL, "from 0 to 16383"},
    {SLOTS, "[[0 9223372036854775807 ['h' 1 'a']]]", HF_E_PROTOCOL,
     "from 0 to 16383"},
    {SLOTS, "[[0 '1' ['h' 1 'a']]]", HF_E_PROTOCOL, "a slot is not a number"},
    {SLOTS, "[[nil 1 ['h' 1 'a']]]", HF_E_PROTOCOL, "a slot is not a number"},
    {SLOTS, "[[0 5 ['h' 1 'a']] [5 6 ['h' 1 'a']]]", HF_E_PROTOCOL,
     "entry 2: a slot is in two ranges"},
    {SLOTS, "[[5 6 ['h' 1 'a']] [0 5 ['h' 2 'b']]]", HF_E_PROTOCOL,
     "entry 2: a slot is in two ranges"},
    {SHARDS, SHARD("[0 5 5 6]", ONE), HF_E_PROTOCOL, "in two ranges"},
    {SHARDS, SHARD("[0 5 7]", ONE), HF_E_PROTOCOL, "has no end"},
    {SHARDS, SHARD("[6 5]", ONE), HF_E_PROTOCOL, "ends before it begins"},
    {SHARDS, SHARD("[0 16384]", ONE), HF_E_PROTOCOL, "from 0 to 16383"},
    {SHARDS, SHARD("[[0 5]]", ONE), HF_E_PROTOCOL, "has no end"},
    {SHARDS, SHARD("[[0 5] 7]", ONE), HF_E_PROTOCOL, "a slot is not a number"},
    /* nodes */
    {SLOTS, "[[0 1 'h']]", HF_E_PROTOCOL, "not endpoint, port and id"},
    {SLOTS, "[[0 1 []]]", HF_E_PROTOCOL, "not endpoint, port and id"},
    {SLOTS, "[[0 1 ['h' 1]]]", HF_E_PROTOCOL, "not endpoint, port and id"},
    {SLOTS, "[[0 1 ['h' 0 'a']]]", HF_E_PROTOCOL, "from 1 to 65535"},
    {SLOTS, "[[0 1 ['h' 65536 'a']]]", HF_E_PROTOCOL, "from 1 to 65535"},
    {SLOTS, "[[0 1 ['h' 70000 'a']]]", HF_E_PROTOCOL, "from 1 to 65535"},
    {SLOTS, "[[0 1 ['h' -1 'a']]]", HF_E_PROTOCOL, "from 1 to 65535"},
    {SLOTS, "[[0 1 ['h' '1' 'a']]]", HF_E_PROTOCOL, "from 1 to 65535"},
    {SLOTS, "[[0 1 ['h' 1 nil]]]", HF_E_PROTOCOL, "no valid id"},
    {SLOTS, "[[0 1 ['h' 1 '']]]", HF_E_PROTOCOL, "no valid id"},
    {SLOTS, "[[0 1 ['h' 1 'a b']]]", HF_E_PROTOCOL, "no valid id"},
    {SLOTS, "[[0 1 ['h' 1 7]]]", HF_E_PROTOCOL, "no valid id"},
    {SLOTS, "[[0 1 ['h' 1 'a'] ['h' 1 'a']]]", HF_E_PROTOCOL,
     "a node appears twice"},
    {SLOTS, "[[0 1 ['h' 1 'a'] ['h' 2 'b'] ['h' 2 'b']]]", HF_E_PROTOCOL,
     "a node appears twice"},
    {SLOTS, "[[0 1 ['h' 1 'a']] [2 3 ['h' 2 'a']]]", HF_E_PROTOCOL,
     "entry 2: a node differs from an earlier entry"},
    {SLOTS, "[[0 1 ['h' 1 'a']] [2 3 ['i' 1 'a']]]", HF_E_PROTOCOL,
     "a node differs"},
    {SLOTS, "[[0 1 ['h' 1 'a'] ['h' 2 'b']] [2 3 ['h' 2 'b']]]",
     HF_E_PROTOCOL, "a node differs"},
    {SLOTS, "[[0 1 ['h' 1 'a']] [2 3 ['h' 2 'b'] ['h' 1 'a']]]",
     HF_E_PROTOCOL, "a node differs"},
    {SHARDS, SHARD("[0 1]", "['x']"), HF_E_PROTOCOL, "no role"},
    {SHARDS, SHARD("[0 1]", "[nil]"), HF_E_PROTOCOL, "no role"},
    {SHARDS, SHARD("[]", "[{'id' 'a' 'port' 1}]"), HF_E_PROTOCOL, "no role"},
    {SHARDS, SHARD("[]", "[{'id' 'a' 'port' 1 'role' 7}]"), HF_E_PROTOCOL,
     "no role"},
    {SHARDS, SHARD("[]", "[{'port' 1 'role' 'master'}]"), HF_E_PROTOCOL,
     "no id"},
    {SHARDS, SHARD("[]", "[{'id' 'a' 'role' 'master'}]"), HF_E_PROTOCOL,
     "no port"},
    {SHARDS, SHARD("[]", "[{'id' 'a' 'role' 'master' 'port' 0}]"),
     HF_E_PROTOCOL, "from 1 to 65535"},
    {SHARDS,
     SHARD("[]", "[{'id' 'a' 'role' 'master' 'port' 1 'tls-port' 70000}]"),
     HF_E_PROTOCOL, "from 1 to 65535"},
    {SHARDS,
     SHARD("[]", "[" NODE("a", "h", "1", "master")
                 NODE("a", "h", "1", "replica") "]"),
     HF_E_PROTOCOL, "a node appears twice"},
    {SHARDS,
     "[{'slots' [] 'nodes' " ONE "} {'slots' [] 'nodes' " ONE "}]",
     HF_E_PROTOCOL, "entry 2: a node is in two shards"},
    /* hosts */
    {SLOTS, "[[0 1 [7 1 'a']]]", HF_E_PROTOCOL, "no valid name"},
    {SLOTS, "[[0 1 [[] 1 'a']]]", HF_E_PROTOCOL, "no valid name"},
    {SLOTS, "[[0 1 [!'h' 1 'a']]]", HF_E_PROTOCOL, "no valid name"},
    {SLOTS, "[[0 1 ['h h' 1 'a']]]", HF_E_PROTOCOL, "no valid name"},
    {SLOTS, "[[0 1 ['[::1]' 1 'a']]]", HF_E_PROTOCOL, "no valid name"},
    {SLOTS, "[[0 1 ['h:1' 1 'a']]]", HF_E_PROTOCOL, "no valid name"},
    {SLOTS, "[[0 1 ['user@h' 1 'a']]]", HF_E_PROTOCOL, "no valid name"},
    {SHARDS, SHARD("[]", "[" NODE("a", "h/", "1", "master") "]"),
     HF_E_PROTOCOL, "no valid name"},
};

START_TEST(invalid_map_is_refused_and_changes_nothing)
{
    for (int protocol = 2; protocol <= 3; protocol++) {
        struct hf_slot_map *map = (struct hf_slot_map *)&memory;
        hf_status rc = read_map(&map, bad[_i].command, bad[_i].notation,
                                protocol, false);

        ck_assert_int_eq(rc, bad[_i].status);
        ck_assert_int_eq(error.status, rc);
        ck_assert_msg(strstr(error.text, bad[_i].why), "%s", error.text);
        ck_assert_ptr_eq(map, &memory);
        ck_assert_uint_eq(memory_counts(&memory).live_blocks, 0);
    }
}
END_TEST

/* ---- limits ---- */

struct text {
    char *ptr;
    size_t len;
    FILE *out;
};

static FILE *text_open(struct text *t)
{
    t->out = open_memstream(&t->ptr, &t->len);
    ck_assert_ptr_nonnull(t->out);
    return t->out;
}

static hf_status text_read(struct text *t, struct hf_slot_map **map,
                           enum command command)
{
    hf_status rc;

    (void)fclose(t->out);
    rc = read_map(map, command, t->ptr, 2, false);
    free(t->ptr);
    return rc;
}

/* Node i of 16384 one-slot ranges is one of `nodes`. */
static hf_status read_slot_by_slot(struct hf_slot_map **map, int nodes)
{
    struct text t;
    FILE *out = text_open(&t);

    (void)fputc('[', out);
    for (int slot = 0; slot < HF_SLOTS; slot++)
        (void)fprintf(out, "[%d %d ['h%d' %d 'id%d']]", slot, slot,
                      slot % nodes, 1 + slot % nodes, slot % nodes);
    (void)fputc(']', out);
    return text_read(&t, map, SLOTS);
}

START_TEST(every_slot_may_be_a_range_of_its_own)
{
    struct hf_slot_map *map = NULL;

    ck_assert_int_eq(read_slot_by_slot(&map, HF_NODES_MAX), HF_OK);
    ck_assert_uint_eq(map->nodes_count, HF_NODES_MAX);
    ck_assert_uint_eq(hf_slot_map_count_covered(map), HF_SLOTS);
    must_lead_to(map, 0, "h0", 1);
    must_lead_to(map, 16383, "h1023", 1024);
    ck_assert(hf_slot_map_is_equal(map, map));
    ck_assert_int_eq(hf_slot_map_set_slot(&map, 7, "h8", 9), HF_OK);
    ck_assert_int_eq(hf_slot_map_set_slot(&map, 7, "one", 1), HF_E_LIMIT);
    must_lead_to(map, 7, "h8", 9);
    hf_slot_map_free(map);
}
END_TEST

START_TEST(more_nodes_than_a_cluster_can_have_are_refused)
{
    struct hf_slot_map *map = NULL;

    ck_assert_int_eq(read_slot_by_slot(&map, HF_NODES_MAX + 1), HF_E_LIMIT);
    ck_assert_str_eq(error.text, "CLUSTER SLOTS: more than 1024 nodes");
    ck_assert_ptr_null(map);
}
END_TEST

START_TEST(sixty_five_thousand_nodes_are_refused_early)
{
    struct hf_slot_map *map = NULL;
    struct text t;
    FILE *out = text_open(&t);

    (void)fputs("[{'slots' [0 1] 'nodes' [", out);
    for (int i = 0; i < 65000; i++)
        (void)fprintf(out, "{'id' 'n%d' 'port' 1 'endpoint' 'h' 'role' 'x'}",
                      i);
    (void)fputs("]}]", out);
    ck_assert_int_eq(text_read(&t, &map, SHARDS), HF_E_LIMIT);
    ck_assert_uint_lt(memory_counts(&memory).peak_bytes, 1 << 20);
}
END_TEST

/* Names of exactly so many bytes. */
static hf_status read_long(struct hf_slot_map **map, int host, int id)
{
    char *letters = malloc((size_t)(host > id ? host : id) + 1);
    struct text t;
    FILE *out = text_open(&t);
    hf_status rc;

    memset(letters, 'n', (size_t)(host > id ? host : id));
    (void)fprintf(out, "[[0 1 ['%.*s' 1 '%.*s']]]", host, letters, id, letters);
    rc = text_read(&t, map, SLOTS);
    free(letters);
    return rc;
}

START_TEST(hosts_and_ids_have_a_limit)
{
    struct hf_slot_map *map = NULL;

    ck_assert_int_eq(read_long(&map, HF_HOST_MAX, HF_NODE_ID_MAX), HF_OK);
    ck_assert_uint_eq(strlen(map->nodes[0].host), HF_HOST_MAX);
    ck_assert_uint_eq(strlen(map->nodes[0].id), HF_NODE_ID_MAX);
    hf_slot_map_free(map);
    ck_assert_int_eq(read_long(&map, HF_HOST_MAX + 1, 1), HF_E_PROTOCOL);
    ck_assert_int_eq(read_long(&map, 65536, 1), HF_E_PROTOCOL);
    ck_assert_int_eq(read_long(&map, 1, HF_NODE_ID_MAX + 1), HF_E_PROTOCOL);
}
END_TEST

/* ---- memory ---- */

START_TEST(without_memory_nothing_has_happened)
{
    struct text t;
    FILE *out = text_open(&t);
    struct hf_slot_map *map = NULL;
    struct reply reply;
    int failures = 0;

    (void)fputc('[', out);
    for (int i = 0; i < 100; i++)
        (void)fprintf(out, "[%d %d ['h' %d 'id%d']]", i, i, 1 + i, i);
    (void)fputc(']', out);
    (void)fclose(out);
    reply = reply_of(t.ptr, 2);
    for (memory_fail_at(&memory, 1); !map; failures++) {
        hf_status rc = read_reply(&map, SLOTS, &reply, false);

        ck_assert_int_eq(rc, map ? HF_OK : HF_E_NOMEM);
        memory_fail_at(&memory, (uint64_t)failures + 2);
    }
    ck_assert_int_gt(failures, 3);
    memory_fail_at(&memory, 0);
    hf_slot_map_free(map);
    reply_fini(&reply);
    free(t.ptr);
}
END_TEST

START_TEST(a_moved_without_memory_changes_nothing)
{
    struct hf_slot_map *map = hf_slot_map_new(&memory.hook);

    for (uint16_t i = 0; i < map->nodes_capacity; i++)
        ck_assert_int_eq(hf_slot_map_set_slot(&map, i, "h", 1 + i), HF_OK);
    memory_fail_at(&memory, 1);
    ck_assert_int_eq(hf_slot_map_set_slot(&map, 0, "other", 1), HF_E_NOMEM);
    must_lead_to(map, 0, "h", 1);
    memory_fail_at(&memory, 0);
    ck_assert_int_eq(hf_slot_map_set_slot(&map, 0, "other", 1), HF_OK);
    must_lead_to(map, 0, "other", 1);
    must_lead_to(map, 1, "h", 2);
    hf_slot_map_free(map);
    hf_slot_map_free(NULL);
}
END_TEST

/* ---- what a MOVED teaches: MAP-4 ---- */

START_TEST(a_moved_is_learned_for_its_slot_alone)
{
    struct hf_slot_map *map = map_of(SLOTS, OLD_SLOTS, 2);

    ck_assert_int_eq(hf_slot_map_set_slot(&map, 7, "10.0.0.2", 7002), HF_OK);
    ck_assert_uint_eq(map->nodes_count, 4);
    must_lead_to(map, 6, "10.0.0.1", 7001);
    must_lead_to(map, 7, "10.0.0.2", 7002);
    must_lead_to(map, 8, "10.0.0.1", 7001);
    ck_assert_int_eq(hf_slot_map_set_slot(&map, 7, "10.0.0.5", 7005), HF_OK);
    ck_assert_uint_eq(map->nodes_count, 5);
    ck_assert_str_eq(map->nodes[4].id, "");
    must_lead_to(map, 7, "10.0.0.5", 7005);
    ck_assert_int_eq(hf_slot_map_set_slot(&map, 7, "10.0.0.5", 7006), HF_OK);
    ck_assert_uint_eq(map->nodes_count, 6);
    hf_slot_map_free(map);
}
END_TEST

START_TEST(a_moved_to_a_replica_makes_it_a_master)
{
    struct hf_slot_map *map = map_of(SLOTS, OLD_SLOTS, 2);
    uint16_t replica = hf_slot_map_find_node(map, "10.0.0.4", 7004);

    ck_assert_int_eq(hf_slot_map_set_slot(&map, 7, "10.0.0.4", 7004), HF_OK);
    ck_assert_uint_eq(map->nodes_count, 4);
    ck_assert(hf_node_is_usable_master(map, replica));
    must_lead_to(map, 7, "10.0.0.4", 7004);
    must_lead_to(map, 8, "10.0.0.1", 7001);
    hf_slot_map_free(map);
}
END_TEST

START_TEST(a_moved_to_a_node_that_was_not_online_makes_it_a_target)
{
    struct hf_slot_map *map =
        map_of(SHARDS, WITH_HEALTH("'health' 'loading'"), 3);

    must_lead_to(map, 0, NULL, 0);
    ck_assert_int_eq(hf_slot_map_set_slot(&map, 0, "h", 1), HF_OK);
    ck_assert_uint_eq(map->nodes_count, 1);
    must_lead_to(map, 0, "h", 1);
    hf_slot_map_free(map);
}
END_TEST

START_TEST(a_moved_to_too_long_a_host_is_refused)
{
    struct hf_slot_map *map = hf_slot_map_new(&memory.hook);
    char host[HF_HOST_MAX + 2];

    memset(host, 'h', sizeof host);
    host[HF_HOST_MAX + 1] = '\0';
    ck_assert_int_eq(hf_slot_map_set_slot(&map, 0, host, 1), HF_E_LIMIT);
    host[HF_HOST_MAX] = '\0';
    ck_assert_int_eq(hf_slot_map_set_slot(&map, 0, host, 1), HF_OK);
    must_lead_to(map, 0, host, 1);
    hf_slot_map_free(map);
}
END_TEST

START_TEST(of_two_nodes_at_one_place_the_one_online_is_found)
{
    struct hf_slot_map *map = map_of(
        SHARDS,
        "[{'slots' [] 'nodes' [{'id' 'a' 'port' 1 'endpoint' 'h' 'role'"
        " 'master' 'health' 'fail'}]}"
        " {'slots' [0 9] 'nodes' [" NODE("b", "h", "1", "master") "]}]",
        3);

    ck_assert_uint_eq(hf_slot_map_find_node(map, "h", 1), 1);
    ck_assert_uint_eq(hf_slot_map_find_node(map, "h", 2), HF_NO_NODE);
    ck_assert_uint_eq(hf_slot_map_find_node(map, "i", 1), HF_NO_NODE);
    hf_slot_map_free(map);
}
END_TEST

/* ---- equal ---- */

static const struct {
    const char *one;
    const char *other;
    bool is_equal;
} pairs[] = {
    {"[]", "[]", true},
    {"[[0 9 ['h' 1 'a']]]", "[[0 9 ['h' 1 'a']]]", true},
    {"[[0 9 ['h' 1 'a']]]", "[[5 9 ['h' 1 'a']] [0 4 ['h' 1 'a']]]", true},
    {"[[0 9 ['h' 1 'a']] [10 19 ['i' 2 'b']]]",
     "[[10 19 ['i' 2 'b']] [0 9 ['h' 1 'a']]]", true},
    {"[[0 9 ['h' 1 'a'] ['i' 2 'b'] ['j' 3 'c']]]",
     "[[0 9 ['h' 1 'a'] ['j' 3 'c'] ['i' 2 'b']]]", true},
    {"[[0 9 ['h' 1 'a']]]", "[]", false},
    {"[[0 9 ['h' 1 'a']]]", "[[0 8 ['h' 1 'a']]]", false},
    {"[[0 9 ['h' 1 'a']]]", "[[0 9 ['h' 2 'a']]]", false},
    {"[[0 9 ['h' 1 'a']]]", "[[0 9 ['i' 1 'a']]]", false},
    {"[[0 9 ['h' 1 'a']]]", "[[0 9 ['h' 1 'b']]]", false},
    {"[[0 9 ['h' 1 'a' {'ip' '10.0.0.1'}]]]", "[[0 9 ['h' 1 'a' {'ip' '10.0.0.1'}]]]", true},
    {"[[0 9 ['h' 1 'a' {'ip' '10.0.0.1'}]]]", "[[0 9 ['h' 1 'a' {'ip' '10.0.0.2'}]]]", false},
    {"[[0 9 ['h' 1 'a']]]", "[[0 9 ['h' 1 'a'] ['i' 1 'b']]]", false},
    {"[[0 9 ['h' 1 'a']] [10 19 ['i' 2 'b']]]",
     "[[0 9 ['i' 2 'b']] [10 19 ['h' 1 'a']]]", false},
    {"[[0 9 ['h' 1 'a'] ['j' 3 'c']] [10 19 ['i' 2 'b']]]",
     "[[0 9 ['h' 1 'a']] [10 19 ['i' 2 'b'] ['j' 3 'c']]]", false},
};

START_TEST(maps_are_equal_if_their_contents_are)
{
    struct hf_slot_map *one = map_of(SLOTS, pairs[_i].one, 2);
    struct hf_slot_map *other = map_of(SLOTS, pairs[_i].other, 2);

    ck_assert_int_eq(hf_slot_map_is_equal(one, other), pairs[_i].is_equal);
    ck_assert_int_eq(hf_slot_map_is_equal(other, one), pairs[_i].is_equal);
    hf_slot_map_free(one);
    hf_slot_map_free(other);
}
END_TEST

/* Also where the nodes come in another order, but not to another address. */
START_TEST(an_ip_that_a_node_does_not_know_is_kept)
{
    struct hf_slot_map *held =
        map_of(SLOTS, "[[0 9 ['h' 1 'a' {'ip' '10.0.0.1'}] ['i' 2 'b' {'ip' '10.0.0.2'}]"
                      " ['j' 3 'c' {'ip' '10.0.0.3'}]]]", 2);
    struct hf_slot_map *fresh =
        map_of(SLOTS, "[[0 9 ['i' 2 'b'] ['h' 1 'a' {'ip' '10.0.0.9'}] ['k' 3 'c']]]", 2);

    hf_slot_map_keep_ips(fresh, NULL);
    ck_assert_str_eq(fresh->nodes[0].ip, "");
    hf_slot_map_keep_ips(fresh, held);
    ck_assert_str_eq(fresh->nodes[0].ip, "10.0.0.2");
    ck_assert_str_eq(fresh->nodes[1].ip, "10.0.0.9");
    ck_assert_str_eq(fresh->nodes[2].ip, "");
    hf_slot_map_free(held);
    hf_slot_map_free(fresh);
}
END_TEST

START_TEST(maps_differ_if_a_node_is_online_in_one)
{
    struct hf_slot_map *one = map_of(SHARDS, WITH_HEALTH(""), 3);
    struct hf_slot_map *other =
        map_of(SHARDS, WITH_HEALTH("'health' 'fail'"), 3);

    ck_assert(!hf_slot_map_is_equal(one, other));
    hf_slot_map_free(one);
    hf_slot_map_free(other);
}
END_TEST

/* ---- better: MAP-1, MAP-2, MAP-3 ---- */

struct state {
    bool is_ok;
    uint64_t epoch;
    int slots;
};

static const struct {
    struct state fresh;
    struct state held;
    bool is_better;
} rivals[] = {
    /* the same, later */
    {{true, 5, 100}, {true, 5, 100}, true},
    {{false, 5, 100}, {false, 5, 100}, true},
    /* a stale epoch */
    {{true, 4, 100}, {true, 5, 100}, false},
    {{true, 4, 101}, {true, 5, 100}, false},
    {{true, 6, 99}, {true, 5, 100}, true},
    {{false, 4, 100}, {false, 5, 100}, false},
    /* a minority */
    {{false, 5, 100}, {true, 5, 100}, false},
    {{false, 9, 100}, {true, 5, 100}, false},
    {{true, 4, 100}, {false, 5, 100}, true},
    /* coverage */
    {{true, 5, 99}, {true, 5, 100}, false},
    {{true, 5, 101}, {true, 5, 100}, true},
    /* nobody to ask */
    {{true, 9, 0}, {true, 5, 100}, false},
    {{true, 9, 0}, {false, 5, 1}, false},
};

static struct hf_slot_map *map_in(struct state state)
{
    struct hf_slot_map *map = hf_slot_map_new(&memory.hook);

    for (int slot = 0; slot < state.slots; slot++)
        ck_assert_int_eq(hf_slot_map_set_slot(&map, (uint16_t)slot, "h", 1), HF_OK);
    map->cluster_info.is_ok = state.is_ok;
    map->cluster_info.current_epoch = state.epoch;
    return map;
}

START_TEST(the_better_map_is_in_force)
{
    struct hf_slot_map *fresh = map_in(rivals[_i].fresh);
    struct hf_slot_map *held = map_in(rivals[_i].held);

    ck_assert_int_eq(hf_slot_map_is_better(fresh, held), rivals[_i].is_better);
    ck_assert_int_eq(hf_slot_map_is_better(fresh, NULL),
                     rivals[_i].fresh.slots > 0);
    hf_slot_map_free(fresh);
    hf_slot_map_free(held);
}
END_TEST

/* ---- CLUSTER INFO ---- */

#define INFO(state, epoch)                                                    \
    "cluster_state:" state "\r\ncluster_slots_assigned:16384\r\n"             \
    "cluster_known_nodes:6\r\ncluster_size:3\r\n"                             \
    "cluster_current_epoch:" epoch "\r\ncluster_my_epoch:2\r\n"               \
    "cluster_stats_messages_sent:1483972\r\n"

static bool read_info(struct hf_cluster_info *out, const char *text)
{
    char notation[512];
    bool is_read = false;

    (void)snprintf(notation, sizeof notation, "'%s'", text);
    for (int protocol = 2; protocol <= 3; protocol++) {
        struct reply reply = reply_of(notation, protocol);

        is_read = hf_cluster_info_read(out, reply.value);
        reply_fini(&reply);
    }
    return is_read;
}

START_TEST(info_reports_state_and_epoch)
{
    struct hf_cluster_info info;

    ck_assert(read_info(&info, INFO("ok", "6")));
    ck_assert(info.is_ok);
    ck_assert_uint_eq(info.current_epoch, 6);
    ck_assert_uint_eq(info.my_epoch, 2);
    ck_assert_uint_eq(info.known_nodes, 6);
    ck_assert_uint_eq(info.masters_with_slots, 3);
    ck_assert(read_info(&info, INFO("fail", "1234567890123456789")));
    ck_assert(!info.is_ok);
    ck_assert_uint_eq(info.current_epoch, 1234567890123456789);
    ck_assert(read_info(&info, "cluster_state:ok\ncluster_current_epoch:0"));
    ck_assert(info.is_ok);
}
END_TEST

START_TEST(info_without_state_or_epoch_is_refused)
{
    static const char *const none[] = {
        "", "\r\n", ":", "x", "cluster_state:ok", "cluster_state:ok\r\n",
        "cluster_current_epoch:1\r\n",
        "cluster_state\r\ncluster_current_epoch:1\r\n",
        "cluster_state:ok\r\ncluster_current_epoch:\r\n",
        "cluster_state:ok\r\ncluster_current_epoch:-1\r\n",
        "cluster_state:ok\r\ncluster_current_epoch:1x\r\n",
        "cluster_state:ok\r\ncluster_current_epoch:99999999999999999999\r\n",
        "cluster_state:ok\r\nxcluster_current_epoch:1\r\n",
    };
    struct hf_cluster_info info, before;

    memset(&info, 0x5a, sizeof info);
    before = info;
    for (int i = 0; i < COUNT(none); i++)
        ck_assert_msg(!read_info(&info, none[i]), "%s", none[i]);
    ck_assert_mem_eq(&info, &before, sizeof info);
}
END_TEST

START_TEST(info_is_text)
{
    struct hf_cluster_info info;
    struct reply reply = reply_of("!'ERR no'", 3);

    ck_assert(!hf_cluster_info_read(&info, reply.value));
    reply_fini(&reply);
    ck_assert(reply_of_bytes(&reply,
                             "=46\r\ntxt:cluster_state:ok\n"
                             "cluster_current_epoch:17\n\r\n",
                             53, 3));
    ck_assert(hf_cluster_info_read(&info, reply.value));
    ck_assert_uint_eq(info.current_epoch, 17);
    reply_fini(&reply);
}
END_TEST

/* ---- */

static Suite *suite(void)
{
    Suite *s = suite_create("net/slot_map");
    TCase *c = tcase_create("maps");

    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_loop_test(c, a_map_is_the_same_from_every_form_of_reply, 0,
                        COUNT(whole));
    tcase_add_test(c, a_view_shows_the_node_of_each_slot);
    tcase_add_test(c, a_gap_is_no_error_and_has_no_target);
    tcase_add_test(c, a_cluster_without_slots_has_an_empty_map);
    tcase_add_loop_test(c, a_host_is_resolved_as_the_server_intends, 0, COUNT(hosts));
    tcase_add_test(c, a_shard_node_without_endpoint_has_its_ip);
    tcase_add_loop_test(c, a_port_is_of_the_kind_that_was_requested, 0,
                        COUNT(ports));
    tcase_add_test(c, only_online_nodes_are_targets);
    tcase_add_test(c, of_two_masters_of_a_shard_the_one_online_has_the_slots);
    tcase_add_test(c, a_shard_without_a_master_has_no_target);
    tcase_add_loop_test(c, invalid_map_is_refused_and_changes_nothing, 0,
                        COUNT(bad));
    tcase_add_test(c, every_slot_may_be_a_range_of_its_own);
    tcase_add_test(c, more_nodes_than_a_cluster_can_have_are_refused);
    tcase_add_test(c, sixty_five_thousand_nodes_are_refused_early);
    tcase_add_test(c, hosts_and_ids_have_a_limit);
    tcase_add_test(c, without_memory_nothing_has_happened);
    tcase_add_test(c, a_moved_without_memory_changes_nothing);
    tcase_add_test(c, a_moved_is_learned_for_its_slot_alone);
    tcase_add_test(c, a_moved_to_a_replica_makes_it_a_master);
    tcase_add_test(c, a_moved_to_a_node_that_was_not_online_makes_it_a_target);
    tcase_add_test(c, a_moved_to_too_long_a_host_is_refused);
    tcase_add_test(c, of_two_nodes_at_one_place_the_one_online_is_found);
    tcase_add_loop_test(c, maps_are_equal_if_their_contents_are, 0,
                        COUNT(pairs));
    tcase_add_test(c, an_ip_that_a_node_does_not_know_is_kept);
    tcase_add_test(c, maps_differ_if_a_node_is_online_in_one);
    tcase_add_loop_test(c, the_better_map_is_in_force, 0, COUNT(rivals));
    tcase_add_test(c, info_reports_state_and_epoch);
    tcase_add_test(c, info_without_state_or_epoch_is_refused);
    tcase_add_test(c, info_is_text);
    suite_add_tcase(s, c);
    return s;
}

int main(void)
{
    return suite_run(suite());
}
