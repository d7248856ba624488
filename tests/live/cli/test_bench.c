/* `holdfast bench` against real servers: what it measures, the names that it refuses, what it
 * leaves behind, signals, users with few rights, a cluster. No test depends on a time: the number
 * of pairs ends each measurement. */
#include "tests/live/test_run_kit.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cluster.h"
#include "tests/support/suite.h"

static char printed[4096];
static char said[4096];

static int finish_all(struct process *p)
{
    int code = finish(p);

    (void)snprintf(printed, sizeof printed, "%s", await_end(p, OUT));
    (void)snprintf(said, sizeof said, "%s", await_end(p, ERR));
    return code;
}

/* Twenty pairs, and as much time as they take. */
static int bench_at(const char *url, const char *option, const char *name, const char *more)
{
    return finish_all(holdfast(NULL, "bench", "-u", url, "--pairs=20", "--time=60s", option, name,
                               more, NULL));
}

static const char *url(void)
{
    static char text[SERVER_URL_MAX];

    return server_url(server, text);
}

static int number(const char *key)
{
    return atoi(member(printed, key));
}

/* ---- what is measured ---- */

/* The option, and the kind that it selects. */
static const struct {
    const char *option, *kind;
} kinds[] = {{"-v", "plain"}, {"--fair", "fair"}, {"--value", "value"}};

/* LOAD-1 and LOAD-2: with own locks, and with one, every release has a next grant. */
START_TEST(each_kind_is_measured_and_nothing_is_left)
{
    ck_assert_int_eq(bench_at(url(), kinds[_i].option, "x", "--json"), 0);
    ck_assert_str_eq(member(printed, "name"), "x");
    ck_assert_str_eq(member(printed, "kind"), kinds[_i].kind);
    ck_assert_int_eq(number("ping_count"), 20);
    ck_assert_int_eq(number("acquire_count"), 20);
    ck_assert_int_eq(number("release_count"), 20);
    ck_assert_int_eq(number("pair_count"), 20);
    ck_assert_int_eq(number("clients"), 4);
    ck_assert_int_ge(number("handover_count"), 10);
    ck_assert_int_le(number("pair_min_us"), number("pair_median_us"));
    ck_assert_int_le(number("pair_median_us"), number("pair_p99_us"));
    ck_assert_int_le(number("pair_p99_us"), number("pair_max_us"));
    ck_assert_int_gt(number("pairs_per_second"), 0);
    ck_assert_int_gt(number("clients_pairs_per_second"), 0);
    ck_assert_int_gt(number("contended_pairs_per_second"), 0);
    ck_assert_int_eq(server_ask_int(server, "DBSIZE"), 0);
}
END_TEST

START_TEST(what_the_server_offers_is_reported)
{
    char address[32];

    (void)snprintf(address, sizeof address, "127.0.0.1:%d", server_port(server));
    ck_assert_int_eq(bench_at(url(), "--clients=1", "x", "--json"), 0);
    ck_assert_str_eq(member(printed, "address"), address);
    ck_assert_str_eq(member(printed, "protocol"), "3");
    ck_assert_str_eq(member(printed, "tracking"), "true");
    ck_assert_str_eq(member(printed, "wait"), "true");
    ck_assert_str_eq(member(printed, "replicas"), "0");
    ck_assert_ptr_nonnull(strchr(member(printed, "version"), '.'));
}
END_TEST

START_TEST(one_client_has_no_contention)
{
    ck_assert_int_eq(bench_at(url(), "--clients=1", "x", "--json"), 0);
    ck_assert_str_eq(member(printed, "pair_count"), "20");
    ck_assert_ptr_null(strstr(printed, "contended"));
    ck_assert_ptr_null(strstr(printed, "handover"));
}
END_TEST

START_TEST(most_clients_take_turns)
{
    ck_assert_int_eq(bench_at(url(), "--clients=64", "x", "--json"), 0);
    ck_assert_int_eq(number("clients"), 64);
    ck_assert_int_ge(number("handover_count"), 10);
    ck_assert_int_eq(server_ask_int(server, "DBSIZE"), 0);
}
END_TEST

START_TEST(text_names_each_measurement)
{
    static const char *const parts[] = {
        "x: plain lock at 127.0.0.1:", "RESP3; tracking: yes; WAIT: yes; replicas: 0\n",
        "\n  PING ", "\n  acquire ", "\n  release ", "\n  acquire and release ",
        " a second (clients: 1)\n", " a second (clients: 4)\n", "\n  release to next grant ",
        "number: 20\n"};

    ck_assert_int_eq(bench_at(url(), "-v", "x", NULL), 0);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        ck_assert_msg(strstr(printed, parts[i]), "no '%s' in: %s", parts[i], printed);
    ck_assert_int_eq(bench_at(url(), "-q", "x", NULL), 0);
    ck_assert_str_eq(printed, "");
}
END_TEST

START_TEST(time_ends_each_measurement)
{
    struct process *p = holdfast(server, "bench", "--time=100ms", "--pairs=1000000", "--json", "x",
                                 NULL);

    ck_assert_int_eq(finish_all(p), 0);
    ck_assert_int_gt(number("pair_count"), 0);
    ck_assert_int_lt(number("pair_count"), 1000000);
    ck_assert_int_eq(server_ask_int(server, "DBSIZE"), 0);
}
END_TEST

/* ---- names that are in use ---- */

START_TEST(name_that_is_held_is_refused_and_the_others_are_measured)
{
    hold_by_other("x", 60000);
    ck_assert_int_eq(bench_at(url(), "--json", "x", "y"), 75);
    ck_assert_str_eq(member(printed, "name"), "y");
    ck_assert_ptr_null(strstr(printed, "\"x\""));
    ck_assert_msg(strstr(said, "x is held by " STRANGER ": not measured"), "%s", said);
    ck_assert_str_eq(server_ask(server, "HGET x " STRANGER), "1");
    ck_assert_int_eq(server_ask_int(server, "DBSIZE"), 1);
}
END_TEST

START_TEST(name_with_waiters_is_refused)
{
    (void)server_ask(server, "RPUSH redisson_lock_queue:{x} " STRANGER);
    (void)server_ask(server, "ZADD redisson_lock_timeout:{x} 99999999999999 " STRANGER);
    ck_assert_int_eq(bench_at(url(), "--fair", "x", "--json"), 75);
    ck_assert_str_eq(printed, "");
    ck_assert_msg(strstr(said, "x has waiters: not measured"), "%s", said);
    ck_assert_int_eq(server_ask_int(server, "LLEN redisson_lock_queue:{x}"), 1);
}
END_TEST

START_TEST(key_of_another_program_is_an_error)
{
    (void)server_ask(server, "SADD x member");
    ck_assert_int_eq(bench_at(url(), "--json", "x", NULL), 125);
    ck_assert_str_eq(printed, "");
    ck_assert_int_eq(server_ask_int(server, "SCARD x"), 1);
    ck_assert_int_eq(server_ask_int(server, "DBSIZE"), 1);
}
END_TEST

/* ---- signals ---- */

/* LOAD-3. Unless the server was slow, and the message says so, nothing is left. */
START_TEST(signal_ends_it_and_nothing_is_left)
{
    struct process *p = holdfast(server, "bench", "--time=1h", "--pairs=1000000", "x", NULL);

    server_await(server, PATIENCE_MS, "1", "EVAL %s 0",
                 "return #redis.call('keys', 'x:bench:*') > 0 and 1 or 0");
    ck_assert_int_eq(kill(pid_of(p), SIGINT), 0);
    ck_assert_int_eq(finish_all(p), 1000 + SIGINT);
    if (!strstr(said, "the server does not reply"))
        ck_assert_int_eq(server_ask_int(server, "DBSIZE"), 0);
}
END_TEST

/* Whatever becomes of the process, the locks expire. */
START_TEST(each_lock_has_a_ttl)
{
    struct process *p = holdfast(server, "bench", "--time=1h", "--pairs=1000000", "x", NULL);

    server_await(server, PATIENCE_MS, "1", "EVAL %s 0",
                 "local keys = redis.call('keys', 'x:bench:*') "
                 "for _, key in ipairs(keys) do "
                 "if redis.call('pttl', key) <= 0 or redis.call('pttl', key) > 10000 then "
                 "return 'no TTL' end end return #keys > 0 and 1 or 0");
    ck_assert_int_eq(kill(pid_of(p), SIGKILL), 0);
    ck_assert_int_eq(finish(p), 1000 + SIGKILL);
}
END_TEST

/* ---- errors ---- */

START_TEST(server_that_is_down_is_an_error)
{
    char text[64];

    (void)snprintf(text, sizeof text, "redis://127.0.0.1:1");
    ck_assert_int_eq(bench_at(text, "--json", "x", NULL), 125);
    ck_assert_str_eq(printed, "");
    ck_assert_msg(strstr(said, "127.0.0.1:1: "), "%s", said);
}
END_TEST

START_TEST(server_that_dies_meanwhile_is_an_error)
{
    struct process *p;
    char text[64];

    (void)snprintf(text, sizeof text, "%s?timeout=2s", url());
    p = holdfast(NULL, "bench", "-u", text, "--connect-timeout=2s", "--time=1h",
                 "--pairs=1000000", "x", NULL);
    server_await(server, PATIENCE_MS, "1", "EVAL %s 0",
                 "return #redis.call('keys', 'x:bench:*') > 0 and 1 or 0");
    server_kill(server);
    ck_assert_int_eq(finish_all(p), 125);
    ck_assert_str_eq(printed, "");
    ck_assert_msg(strstr(said, "holdfast: "), "%s", said);
    server_restart(server);
}
END_TEST

static const struct {
    const char *words[3], *message;
} wrong[] = {
    {{"-v"}, "NAME is required"},
    {{""}, "NAME is empty"},
    {{"x", "--clients=0"}, "--clients"},
    {{"x", "--clients=65"}, "--clients"},
    {{"x", "--pairs=0"}, "--pairs"},
    {{"x", "--time=10ms"}, "--time"},
    {{"x", "--fair", "--value"}, "--value"},
    {{"x", "--fenced"}, "--fenced"},
};

START_TEST(wrong_words_are_refused)
{
    const char *const *w = wrong[_i].words;

    ck_assert_int_eq(finish_all(holdfast(server, "bench", w[0], w[1], w[1] ? w[2] : NULL, NULL)),
                     125);
    ck_assert_msg(strstr(said, wrong[_i].message), "%s", said);
}
END_TEST

/* ---- users and protocols ---- */

START_TEST(refused_commands_are_reported_as_missing)
{
    char text[128];

    (void)server_ask(server, "ACL SETUSER u on >secret ~x* ~*:{x* &* +@all -wait -client|tracking "
                             "-info");
    (void)snprintf(text, sizeof text, "redis://u:secret@127.0.0.1:%d", server_port(server));
    ck_assert_int_eq(bench_at(text, "--json", "x", NULL), 0);
    ck_assert_str_eq(member(printed, "tracking"), "false");
    ck_assert_str_eq(member(printed, "wait"), "false");
    ck_assert_ptr_null(strstr(printed, "replicas"));
    ck_assert_ptr_null(strstr(printed, "version"));
    ck_assert_ptr_null(strstr(said, "secret"));
    (void)server_ask(server, "ACL DELUSER u");
}
END_TEST

START_TEST(resp2_is_measured)
{
    char text[64];

    (void)snprintf(text, sizeof text, "%s?protocol=2", url());
    ck_assert_int_eq(bench_at(text, "--json", "x", NULL), 0);
    ck_assert_str_eq(member(printed, "protocol"), "2");
    ck_assert_str_eq(member(printed, "tracking"), "false");
    ck_assert_int_ge(number("handover_count"), 10);
}
END_TEST

/* ---- a cluster ---- */

static struct cluster *cluster;

static void start_cluster(void)
{
    cluster = cluster_start(&(struct cluster_options){.masters = 3});
}

static void stop_cluster(void)
{
    cluster_stop(cluster);
}

static const char *const cluster_names[] = {"x", "y", "z", "deploy:{web}"};

START_TEST(locks_are_at_the_node_of_the_name)
{
    const char *name = cluster_names[_i];
    struct server *of = cluster_node(cluster, cluster_owner_of(cluster, name));
    char text[64], address[32];

    (void)snprintf(text, sizeof text, "redis+cluster://127.0.0.1:%d",
                   server_port(cluster_node(cluster, 0)));
    (void)snprintf(address, sizeof address, "127.0.0.1:%d", server_port(of));
    (void)server_ask(of, "CONFIG RESETSTAT");
    ck_assert_int_eq(bench_at(text, "--json", name, NULL), 0);
    ck_assert_str_eq(member(printed, "address"), address);
    ck_assert_int_ge(number("handover_count"), 10);
    /* Each of at least 60 pairs sets a key of its own: all at this node. */
    ck_assert_int_ge(server_ask_int(of, "EVAL %s 0",
                                    "return tonumber(redis.call('info', 'commandstats')"
                                    ":match('cmdstat_evalsha:calls=(%d+)'))"), 120);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(server_ask_int(cluster_node(cluster, i), "DBSIZE"), 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("holdfast bench");
    TCase *c = run_case(s, "measured");

    tcase_add_loop_test(c, each_kind_is_measured_and_nothing_is_left, 0, ROWS(kinds));
    tcase_add_test(c, what_the_server_offers_is_reported);
    tcase_add_test(c, one_client_has_no_contention);
    tcase_add_test(c, most_clients_take_turns);
    tcase_add_test(c, text_names_each_measurement);
    tcase_add_test(c, time_ends_each_measurement);

    c = run_case(s, "in use");
    tcase_add_test(c, name_that_is_held_is_refused_and_the_others_are_measured);
    tcase_add_test(c, name_with_waiters_is_refused);
    tcase_add_test(c, key_of_another_program_is_an_error);

    c = run_case(s, "signals");
    tcase_add_test(c, signal_ends_it_and_nothing_is_left);
    tcase_add_test(c, each_lock_has_a_ttl);

    c = run_case(s, "errors");
    tcase_add_test(c, server_that_is_down_is_an_error);
    tcase_add_test(c, server_that_dies_meanwhile_is_an_error);
    tcase_add_loop_test(c, wrong_words_are_refused, 0, ROWS(wrong));

    c = run_case(s, "users");
    tcase_add_test(c, refused_commands_are_reported_as_missing);
    tcase_add_test(c, resp2_is_measured);

    c = run_case_in(s, "cluster", start_cluster, stop_cluster);
    tcase_add_loop_test(c, locks_are_at_the_node_of_the_name, 0, ROWS(cluster_names));
    return run_suite(s);
}
