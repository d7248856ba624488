/* `holdfast doctor` against real servers, each danger made real: settings,
 * rights, replicas, a cluster and sentinels with one of them missing. */
#include "tests/live/test_run_kit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cluster.h"
#include "tests/support/gate.h"
#include "tests/support/haproxy.h"
#include "tests/support/local.h"
#include "tests/support/sentinels.h"

#define URL_MAX 256

/* How long a server may take: a busy machine's; of one that stays silent, as short
 * as can be waited for, and longer if others are to answer meanwhile. */
static const char *patience = "20s";
#define FOR_SILENCE "300ms"
#define BESIDE_SILENCE "2s"

static const char *const keeps_all[] = {"--appendonly", "yes", "--appendfsync",
                                        "always", NULL};

/* ---- what it says ---- */

static char said[65536];        /* standard output of the last run */

static int doctor(const char *url, const char *more, const char *value)
{
    struct process *p = holdfast(NULL, "doctor", "--json", "-u", url,
                                 "--connect-timeout", patience, more, value, NULL);
    int code = finish(p);

    (void)snprintf(said, sizeof said, "%s", await_end(p, OUT));
    return code;
}

static bool says(const char *severity, const char *rule)
{
    char part[128];

    (void)snprintf(part, sizeof part, "\"severity\":\"%s\",\"rule\":\"%s\"",
                   severity, rule);
    return strstr(said, part) != NULL;
}

#define ck_assert_says(severity, rule)                                        \
    ck_assert_msg(says(severity, rule), "no %s %s in: %s", severity, rule,    \
                  said)

/* Some of the servers that tests are run against forge replies. */
static int code_of_good(void)
{
    return says("warning", "forged-replies");
}

static void ck_assert_code(int code, int expected)
{
    if (expected == 0)
        expected = code_of_good();
    ck_assert_msg(code == expected, "code %d: %s", code, said);
}

/* ---- one server ---- */

static const char *const good[] = {
    "CONFIG SET maxmemory 0",      "CONFIG SET maxmemory-policy noeviction",
    "CONFIG SET appendonly yes",   "CONFIG SET appendfsync always",
    "CONFIG SET timeout 0",        "CONFIG SET tcp-keepalive 300",
    "CONFIG SET min-slaves-to-write 0", "CONFIG SET lua-time-limit 5000",
    "REPLICAOF NO ONE",
};

static void make_good(void)
{
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        ck_assert_str_eq(server_ask(server, good[i]), "OK");
}

static const char *url(void)
{
    static char text[SERVER_URL_MAX];

    return server_url(server, text);
}

START_TEST(good_server_is_fine)
{
    struct process *p;

    ck_assert_code(doctor(url(), NULL, NULL), 0);
    p = holdfast(server, "doctor", NULL);
    ck_assert_int_eq(finish(p), code_of_good());
    (void)await_line(p, OUT, "standalone, 1 of 1 servers reached: 0 unsafe, ");
    ck_assert_str_eq(await_end(p, ERR), "");
    ck_assert_int_eq(server_ask_int(server, "DBSIZE"), 0);
}
END_TEST

START_TEST(verbose_doctor_shows_passed_rules)
{
    struct process *p = holdfast(server, "doctor", "-v", NULL);

    (void)finish(p);
    (void)await_line(p, OUT, "maxmemory-policy is noeviction");
    p = holdfast(server, "doctor", NULL);
    (void)finish(p);
    ck_assert_ptr_null(strstr(await_end(p, OUT), "noeviction"));
}
END_TEST

START_TEST(quiet_doctor_has_only_a_code)
{
    struct process *p;

    (void)server_ask(server, "CONFIG SET timeout 1");
    p = holdfast(server, "doctor", "-q", NULL);
    ck_assert_int_eq(finish(p), 1);
    ck_assert_str_eq(await_end(p, OUT), "");
    ck_assert_str_eq(await_end(p, ERR), "");
}
END_TEST

START_TEST(unix_socket_resp2_and_a_lock_of_that_name_are_as_good)
{
    char text[URL_MAX];

    (void)snprintf(text, sizeof text, "unix://%s", server_unix_path(server));
    ck_assert_code(doctor(text, NULL, NULL), 0);
    (void)snprintf(text, sizeof text, "%s?protocol=2", url());
    ck_assert_code(doctor(text, "-v", NULL), 0);
    ck_assert_says("fine", "subscribe-denied");
    hold_by_other("x", 60000);
    ck_assert_code(doctor(url(), "--name", "x"), 0);
    ck_assert_int_eq(server_ask_int(server, "HLEN x"), 1);
}
END_TEST

static const struct {
    const char *command, *severity, *rule;
    int code;
} settings[] = {
    {"CONFIG SET maxmemory-policy volatile-ttl", "warning", "eviction-later",
     1},
    {"CONFIG SET appendonly no", "warning", "persistence", 1},
    {"CONFIG SET appendfsync everysec", "note", "fsync", 0},
    {"CONFIG SET timeout 5", "warning", "idle-timeout", 1},
    {"CONFIG SET tcp-keepalive 0", "note", "keepalive", 0},
    {"CONFIG SET lua-time-limit 0", "note", "busy", 0},
    {"CONFIG SET maxmemory 1mb", "unsafe", "refuses", 2},
    {"CONFIG SET min-slaves-to-write 1", "unsafe", "refuses", 2},
};

START_TEST(each_setting_is_found)
{
    ck_assert_str_eq(server_ask(server, settings[_i].command), "OK");
    ck_assert_code(doctor(url(), NULL, NULL), settings[_i].code);
    ck_assert_says(settings[_i].severity, settings[_i].rule);
}
END_TEST

START_TEST(eviction_is_unsafe)
{
    (void)server_ask(server, "CONFIG SET maxmemory 100mb");
    (void)server_ask(server, "CONFIG SET maxmemory-policy allkeys-lru");
    ck_assert_code(doctor(url(), NULL, NULL), 2);
    ck_assert_says("unsafe", "eviction");
    ck_assert_ptr_nonnull(strstr(said, "allkeys-lru"));
}
END_TEST

START_TEST(replica_is_no_place_for_locks)
{
    (void)server_ask(server, "REPLICAOF 127.0.0.1 1");
    ck_assert_code(doctor(url(), NULL, NULL), 2);
    ck_assert_says("unsafe", "role");
    ck_assert_says("warning", "replica-link");
}
END_TEST

/* ---- who may what ---- */

static const struct {
    const char *rights, *severity, *rule;
    int code;
} rights[] = {
    {"-evalsha", "unsafe", "evalsha-denied", 2},
    {"-eval", "unsafe", "eval-denied", 2},
    {"-hset", "unsafe", "calls-denied", 2},
    {"-hlen", "unsafe", "calls-denied", 2},
    {"-publish", "warning", "publish-denied", 1},
    {"-subscribe", "warning", "subscribe-denied", 1},
    {"-client", "warning", "kill-denied", 1},
    {"-client|kill", "note", "kill-left-out", 0},
    {"-ping", "warning", "ping-denied", 1},
    {"-config", "note", "unseen", 0},
    {"-time", "note", "unseen", 0},
    {"-info", "warning", "unseen", 1},
    {"-@all +get", "unsafe", "evalsha-denied", 2},
    {"resetkeys ~other:*", "unsafe", "keys", 2},
    {"resetchannels &other", "warning", "channels", 1},
};

/* The rights of user "t", who may all but that. */
static void let(const char *but)
{
    char command[256];

    (void)snprintf(command, sizeof command,
                   "ACL SETUSER t reset on >pw ~* &* +@all %s", but);
    ck_assert_str_eq(server_ask(server, command), "OK");
}

static const char *url_as(const char *user, const char *more)
{
    static char text[URL_MAX];

    (void)snprintf(text, sizeof text, "redis://%s@127.0.0.1:%d%s", user,
                   server_port(server), more);
    return text;
}

START_TEST(each_missing_permission_is_found)
{
    let(rights[_i].rights);
    ck_assert_code(doctor(url_as("t:pw", ""), NULL, NULL), rights[_i].code);
    ck_assert_says(rights[_i].severity, rights[_i].rule);
}
END_TEST

START_TEST(a_name_that_the_patterns_cover_is_fine)
{
    let("resetkeys ~mine:*");
    ck_assert_code(doctor(url_as("t:pw", ""), "--name", "mine:1"), 0);
    ck_assert_code(doctor(url_as("t:pw", ""), "--name", "theirs"), 2);
    ck_assert_ptr_nonnull(strstr(said, "not cover theirs; they are: ~mine:*"));
}
END_TEST

START_TEST(wait_is_missed_only_where_it_is_needed)
{
    let("-wait");
    ck_assert_code(doctor(url_as("t:pw", ""), NULL, NULL), 0);
    ck_assert_code(doctor(url_as("t:pw", "?replicas=1"), NULL, NULL), 2);
    ck_assert_says("unsafe", "wait-denied");
    ck_assert_says("unsafe", "replicas-few");
}
END_TEST

/* And nothing else, though each script is refused once. */
START_TEST(server_that_refuses_undeclared_keys_is_found)
{
    struct gate *gate = gate_start(server_port(server), gate_strict);
    char text[URL_MAX];

    (void)snprintf(text, sizeof text, "redis://127.0.0.1:%d", gate_port(gate));
    ck_assert_code(doctor(text, NULL, NULL), 0);
    ck_assert_says("note", "undeclared-keys");
    gate_stop(gate);
}
END_TEST

START_TEST(server_that_refuses_the_login_is_not_called_unreachable)
{
    static const struct gate_rule rules[] = {
        {.pattern = "HELLO ...",
         .answer = "-ERR unknown command 'HELLO'\r\n"},
        {.pattern = "AUTH ...",
         .answer = "-ERR unknown command 'AUTH'\r\n"},
        {0}};
    struct gate *gate = gate_start(server_port(server), rules);
    struct process *p;
    char text[URL_MAX];
    const char *err;

    (void)snprintf(text, sizeof text, "redis://:pw@127.0.0.1:%d", gate_port(gate));
    p = holdfast(NULL, "doctor", "-u", text, NULL);
    ck_assert_int_eq(finish(p), 125);
    err = await_end(p, ERR);
    ck_assert_ptr_nonnull(strstr(err, "no server could be checked: "));
    ck_assert_ptr_nonnull(strstr(err, "unknown command 'AUTH'"));
    gate_stop(gate);
}
END_TEST

START_TEST(renamed_commands_are_found)
{
    static const char *const args[] = {"--rename-command", "HELLO", "",
                                       "--rename-command", "EVAL", "",
                                       "--rename-command", "ROLE", "", NULL};
    struct server *s = server_start(args);
    char text[SERVER_URL_MAX];

    ck_assert_code(doctor(server_url(s, text), NULL, NULL), 2);
    ck_assert_says("unsafe", "eval-denied");
    ck_assert_says("note", "hello-denied");
    ck_assert_ptr_nonnull(strstr(said, "the server has no EVAL (renamed?)"));
    server_stop(s);
}
END_TEST

/* ---- nobody there ---- */

START_TEST(wrong_password_is_an_error_and_not_printed)
{
    struct process *p;
    const char *err;

    let("on");
    p = holdfast(NULL, "doctor", "-v", "-u", url_as("t:geheim", ""), NULL);
    ck_assert_int_eq(finish(p), 125);
    ck_assert_ptr_null(strstr(await_end(p, OUT), "geheim"));
    err = await_end(p, ERR);
    ck_assert_ptr_nonnull(strstr(err, "WRONGPASS"));
    ck_assert_ptr_null(strstr(err, "geheim"));
}
END_TEST

/* VISIT-2 */
START_TEST(missing_server_is_an_error)
{
    ck_assert_code(doctor("redis://127.0.0.1:1", NULL, NULL), 125);
    ck_assert_says("unsafe", "unreachable-master");
}
END_TEST

/* VISIT-3 */
START_TEST(silent_server_is_an_error)
{
    patience = FOR_SILENCE;
    server_pause(server);
    ck_assert_code(doctor(url(), NULL, NULL), 125);
    server_resume(server);
    ck_assert_says("unsafe", "unreachable-master");
}
END_TEST

START_TEST(other_kinds_of_url_are_reported)
{
    char text[URL_MAX];

    (void)snprintf(text, sizeof text, "redis+cluster://127.0.0.1:%d",
                   server_port(server));
    ck_assert_code(doctor(text, NULL, NULL), 2);
    ck_assert_says("unsafe", "kind");
    (void)snprintf(text, sizeof text, "redis+sentinel://127.0.0.1:%d/m",
                   server_port(server));
    ck_assert_code(doctor(text, NULL, NULL), 2);
    ck_assert_says("unsafe", "sentinel-name");
    ck_assert_int_eq(finish(holdfast(NULL, "doctor", "x", NULL)), 125);
}
END_TEST

/* ---- a cluster ---- */

#define MASTERS 3

static struct cluster *cluster;

static void start_cluster(void)
{
    cluster = cluster_start(&(struct cluster_options){
        .masters = MASTERS, .replicas = 1, .args = keeps_all});
}

static void stop_cluster(void)
{
    cluster_stop(cluster);
}

static int port_of(int node)
{
    return server_port(cluster_node(cluster, node));
}

static int ask_cluster(const char *options)
{
    char text[URL_MAX];

    (void)snprintf(text, sizeof text,
                   "redis+cluster://localhost:%d,127.0.0.1:%d%s",
                   port_of(MASTERS - 1), port_of(MASTERS), options);
    return doctor(text, NULL, NULL);
}

START_TEST(good_cluster_is_fine)
{
    ck_assert_code(ask_cluster("?replicas=majority"), 0);
    ck_assert_ptr_nonnull(strstr(said, "\"servers\":6,\"reached\":6"));
    ck_assert_code(ask_cluster(""), 1);
    ck_assert_says("warning", "unacknowledged");
}
END_TEST

/* How often a node was connected to, and asked for its time. */
static void read_visits(int node, long long *connections, long long *times)
{
    struct server *s = cluster_node(cluster, node);

    *connections = server_ask_int(
        s, "EVAL %s 0",
        "return tonumber(redis.call('info','stats'):match('total_connections_received:(%d+)'))");
    *times = server_ask_int(
        s, "EVAL %s 0",
        "return tonumber(redis.call('info','commandstats'):match('cmdstat_time:calls=(%d+)')"
        " or 0)");
}

#define CLOCK_READINGS 5        /* and one with the other requests */

/* VISIT-1: Two nodes are seeds, and all nodes are in the map that they reply. */
START_TEST(each_node_is_visited_once)
{
    long long before[6], connections, times;

    for (int node = 0; node < 6; node++) {
        (void)server_ask(cluster_node(cluster, node), "CONFIG RESETSTAT");
        read_visits(node, &before[node], &times);
    }
    ck_assert_code(ask_cluster(""), 1);
    for (int node = 0; node < 6; node++) {
        read_visits(node, &connections, &times);
        ck_assert_int_eq(connections, before[node] + 1);
        ck_assert_int_eq(times, CLOCK_READINGS + 1);
    }
}
END_TEST

START_TEST(node_of_a_cluster_is_no_lone_server)
{
    char text[SERVER_URL_MAX];

    ck_assert_code(doctor(server_url(cluster_node(cluster, 0), text), NULL,
                          NULL), 2);
    ck_assert_says("unsafe", "kind");
}
END_TEST

START_TEST(settings_of_each_node_are_seen)
{
    struct server *node = cluster_node(cluster, 1);

    (void)server_ask(node, "CONFIG SET cluster-require-full-coverage no");
    (void)server_ask(node, "CONFIG SET cluster-node-timeout 15000");
    ck_assert_code(ask_cluster("?replicas=1"), 1);
    ck_assert_says("note", "full-coverage");
    ck_assert_says("warning", "node-timeout");
    (void)server_ask(node, "CONFIG SET cluster-require-full-coverage yes");
    (void)server_ask(node, "CONFIG SET cluster-node-timeout 1000");
}
END_TEST

/* Before Redis 7 there are no sharded messages. */
static bool has_sharded(void)
{
    return !strstr(server_ask(cluster_node(cluster, 0),
                              "PUBSUB SHARDNUMSUB"),
                   "(error)");
}

static void everywhere(const char *command)
{
    for (int i = 0; i < 2 * MASTERS; i++)
        (void)server_ask(cluster_node(cluster, i), command);
}

START_TEST(messages_that_redisson_would_miss_are_found)
{
    if (!has_sharded())
        return;
    ck_assert_code(ask_cluster("?sharded=off&replicas=1"), 1);
    ck_assert_says("warning", "sharded-off");
    everywhere("ACL SETUSER default -pubsub|shardnumsub");
    ck_assert_code(ask_cluster("?replicas=1"), 1);
    ck_assert_says("warning", "sharded-unseen");
    ck_assert_code(ask_cluster("?sharded=on&replicas=1"), 0);
    everywhere("ACL SETUSER default +@all");
}
END_TEST

/* The last of the cluster: it is not mended. */
START_TEST(missing_nodes_are_found)
{
    server_kill(cluster_node(cluster, cluster_replica(cluster, 0, 0)));
    ck_assert_code(ask_cluster("?replicas=all"), 2);
    ck_assert(says("warning", "unreachable") ||
              says("warning", "failed-nodes"));
    ck_assert_says("unsafe", "replicas-few");
    patience = FOR_SILENCE;
    server_pause(cluster_node(cluster, 0));
    ck_assert_code(ask_cluster(""), 2);
    ck_assert_says("unsafe", "unreachable-master");
}
END_TEST

/* ---- sentinels ---- */

static struct sentinels *sentinels;

static void start_sentinels(void)
{
    sentinels = sentinels_start(&(struct sentinels_options){
        .replicas = 1, .sentinels = 3, .server_args = keeps_all});
}

static void stop_sentinels(void)
{
    sentinels_stop(sentinels);
}

static int ask_sentinels(const char *rest)
{
    char text[URL_MAX];

    (void)snprintf(text, sizeof text, "redis+sentinel://127.0.0.1:%d/%s",
                   server_port(sentinels_sentinel(sentinels, 0)), rest);
    return doctor(text, NULL, NULL);
}

START_TEST(good_sentinels_are_fine)
{
    ck_assert_code(ask_sentinels(SENTINELS_NAME "?replicas=all"), 0);
    ck_assert_ptr_nonnull(strstr(said, "\"servers\":5,\"reached\":5"));
}
END_TEST

START_TEST(unknown_name_is_found)
{
    ck_assert_code(ask_sentinels("nobody"), 2);
    ck_assert_says("unsafe", "sentinel-name");
}
END_TEST

START_TEST(slow_failover_is_found)
{
    (void)server_ask(sentinels_sentinel(sentinels, 0),
                     "SENTINEL SET " SENTINELS_NAME
                     " down-after-milliseconds 30000");
    ck_assert_code(ask_sentinels(SENTINELS_NAME "?replicas=1"), 1);
    ck_assert_says("warning", "down-after");
    (void)server_ask(sentinels_sentinel(sentinels, 0),
                     "SENTINEL SET " SENTINELS_NAME
                     " down-after-milliseconds 1000");
}
END_TEST

START_TEST(missing_sentinel_and_replica_are_found)
{
    patience = BESIDE_SILENCE;
    server_pause(sentinels_sentinel(sentinels, 1));
    server_pause(sentinels_server(sentinels, 1));
    ck_assert_code(ask_sentinels(SENTINELS_NAME "?replicas=1"), 1);
    ck_assert_says("warning", "unreachable");
    ck_assert_ptr_nonnull(strstr(said, "\"servers\":5,\"reached\":3"));
    server_resume(sentinels_sentinel(sentinels, 1));
    server_resume(sentinels_server(sentinels, 1));
}
END_TEST

/* ---- hosts without sentinels: the same servers ---- */

static int ask_hosts(struct server *a, struct server *b, const char *rest)
{
    char text[URL_MAX];

    (void)snprintf(text, sizeof text, "redis://127.0.0.1:%d,127.0.0.1:%d%s",
                   server_port(a), server_port(b), rest);
    return doctor(text, NULL, NULL);
}

START_TEST(roles_of_hosts_are_queried)
{
    struct server *master = sentinels_server(sentinels, 0),
                  *replica = sentinels_server(sentinels, 1);

    ck_assert_code(ask_hosts(replica, master, "?replicas=1"), 0);
    ck_assert_ptr_nonnull(strstr(said, "\"topology\":\"replicas\""));
    ck_assert(!says("unsafe", "role"));
    ck_assert_code(ask_hosts(replica, replica, ""), 2);
    ck_assert_says("unsafe", "no-master");
}
END_TEST

/* ---- a load balancer before two masters ---- */

/* HAProxy starts, and looks for masters every 0.1 s. */
static void await_several(const char *text, bool are_found)
{
    int64_t end_ms = local_now_ms() + PATIENCE_MS;

    while (doctor(text, NULL, NULL) == 125 ||
           says("warning", "several-servers") != are_found) {
        ck_assert_int_lt(local_now_ms(), end_ms);
        local_rest_us(200000);
    }
}

/* Two masters behind HAProxy, whose address is in `text`. Returns false if it is not installed. */
static bool balance(struct haproxy *haproxy, struct server *servers[2], char text[URL_MAX])
{
    if (!haproxy_is_installed())
        return false;
    for (int i = 0; i < 2; i++)
        servers[i] = server_start(keeps_all);
    haproxy_start(haproxy, server_port(servers[0]), server_port(servers[1]));
    (void)snprintf(text, URL_MAX, "redis://127.0.0.1:%d", haproxy->port);
    await_several(text, true);
    return true;
}

static void stop_balancing(struct haproxy *haproxy, struct server *servers[2])
{
    haproxy_stop(haproxy);
    for (int i = 0; i < 2; i++)
        server_stop(servers[i]);
}

/* VISIT-4 */
START_TEST(address_that_leads_to_two_masters_is_found)
{
    struct server *servers[2];
    struct haproxy haproxy = {.idle = NULL};
    char text[URL_MAX];

    if (!balance(&haproxy, servers, text))
        return;
    (void)server_ask(servers[1], "REPLICAOF 127.0.0.1 %d", server_port(servers[0]));
    await_several(text, false);
    stop_balancing(&haproxy, servers);
}
END_TEST

/* VISIT-4. Each eighth connection leads to the second master: four connections would find it in
 * each second run. */
START_TEST(second_master_that_gets_few_connections_is_found)
{
    struct server *servers[2];
    struct haproxy haproxy = {.times = 7};
    char text[URL_MAX];

    if (!balance(&haproxy, servers, text))
        return;
    for (int i = 0; i < 2; i++) {
        (void)doctor(text, NULL, NULL);
        ck_assert_says("warning", "several-servers");
    }
    stop_balancing(&haproxy, servers);
}
END_TEST

/* ---- all of it ---- */

int main(void)
{
    Suite *s = suite_create("doctor");
    TCase *c = run_case(s, "server");

    tcase_add_checked_fixture(c, make_good, NULL);
    tcase_add_test(c, good_server_is_fine);
    tcase_add_test(c, verbose_doctor_shows_passed_rules);
    tcase_add_test(c, quiet_doctor_has_only_a_code);
    tcase_add_test(c, unix_socket_resp2_and_a_lock_of_that_name_are_as_good);
    tcase_add_loop_test(c, each_setting_is_found, 0,
                        sizeof settings / sizeof *settings);
    tcase_add_test(c, eviction_is_unsafe);
    tcase_add_test(c, replica_is_no_place_for_locks);
    tcase_add_loop_test(c, each_missing_permission_is_found, 0,
                        sizeof rights / sizeof *rights);
    tcase_add_test(c, a_name_that_the_patterns_cover_is_fine);
    tcase_add_test(c, wait_is_missed_only_where_it_is_needed);
    tcase_add_test(c, server_that_refuses_undeclared_keys_is_found);
    tcase_add_test(c, server_that_refuses_the_login_is_not_called_unreachable);
    tcase_add_test(c, renamed_commands_are_found);
    tcase_add_test(c, wrong_password_is_an_error_and_not_printed);
    tcase_add_test(c, missing_server_is_an_error);
    tcase_add_test(c, silent_server_is_an_error);
    tcase_add_test(c, other_kinds_of_url_are_reported);
    tcase_add_test(c, address_that_leads_to_two_masters_is_found);
    tcase_add_test(c, second_master_that_gets_few_connections_is_found);

    c = run_case_in(s, "cluster", start_cluster, stop_cluster);
    tcase_add_test(c, good_cluster_is_fine);
    tcase_add_test(c, each_node_is_visited_once);
    tcase_add_test(c, node_of_a_cluster_is_no_lone_server);
    tcase_add_test(c, settings_of_each_node_are_seen);
    tcase_add_test(c, messages_that_redisson_would_miss_are_found);
    tcase_add_test(c, missing_nodes_are_found);

    c = run_case_in(s, "sentinels", start_sentinels, stop_sentinels);
    tcase_add_test(c, good_sentinels_are_fine);
    tcase_add_test(c, unknown_name_is_found);
    tcase_add_test(c, slow_failover_is_found);
    tcase_add_test(c, roles_of_hosts_are_queried);
    tcase_add_test(c, missing_sentinel_and_replica_are_found);
    return run_suite(s);
}
