/* `holdfast watch`: what happens to locks is told, line by line. */
#include "tests/live/test_run_kit.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/lateness.h"
#include "tests/support/local.h"
#include "tests/support/lua_client.h"
#include "tests/support/suite.h"

#define EVERY "--every=50ms"

/* Watching, and the lock is known to be free. */
static struct process *watching(const char *option)
{
    struct process *p = holdfast(server, "watch", EVERY, "x", option, NULL);

    await_line(p, OUT, option && strcmp(option, "--json") == 0
                           ? "\"event\":\"free\""
                           : "Z x: free");
    return p;
}

static void end(struct process *p)
{
    (void)kill(pid_of(p), SIGINT);
    ck_assert_int_eq(finish(p), 1000 + SIGINT);
}

static void hold(const char *holder, int ttl_ms)
{
    (void)lua_acquire(server, "x", 1, holder, ttl_ms);
}

/* ---- events ---- */

START_TEST(a_hold_is_followed_to_its_end)
{
    struct process *p = watching(NULL);

    hold(LUA_HOLDER, 60000);
    await_line(p, OUT, "x: acquired by " LUA_HOLDER ", TTL ");
    hold(LUA_HOLDER, 60000);
    await_line(p, OUT, "x: re-entered by " LUA_HOLDER ", hold count 2, TTL ");
    (void)server_ask(server, "HSET x " LUA_HOLDER " 1");
    await_line(p, OUT, "x: partly released by " LUA_HOLDER ", hold count 1");
    (void)server_ask(server, "PEXPIRE x 120000");
    await_line(p, OUT, "x: renewed by " LUA_HOLDER ", TTL 1");
    (void)server_ask(server, "PEXPIRE x 30000");
    await_line(p, OUT, "x: lease shortened, held by " LUA_HOLDER);
    (void)server_ask(server, "DEL x");
    await_line(p, OUT, "x: released, was held by " LUA_HOLDER);
    end(p);
}
END_TEST

START_TEST(a_lease_that_ends_is_no_release)
{
    struct process *p = watching(NULL);

    hold(LUA_HOLDER, 300);
    await_line(p, OUT, "x: acquired by");
    await_line(p, OUT, "x: expired, was held by " LUA_HOLDER);
    end(p);
}
END_TEST

/* However seldom it looks, it looks before the lease ends. */
START_TEST(release_and_expiry_are_distinguished)
{
    struct process *holder = holdfast(server, "run", "--ttl", "2s", "x", "sh", "-c",
                                      "echo ready; read go", NULL);
    struct process *p;

    await_line(holder, OUT, "ready");
    p = holdfast(server, "watch", "--every=1h", "x", NULL);
    await_line(p, OUT, "x: held by");
    await_line(p, OUT, "x: renewed by");
    say(holder, "go\n");
    ck_assert_int_eq(finish(holder), 0);
    await_line(p, OUT, "x: released, was held by");
    end(p);
}
END_TEST

START_TEST(first_line_names_the_holder)
{
    struct process *p;

    hold_by_other("x", 60000);
    p = holdfast(server, "watch", EVERY, "x", "y", NULL);
    await_line(p, OUT, "x: held by " STRANGER ", TTL 59");
    await_line(p, OUT, "y: free");
    end(p);
}
END_TEST

/* Of every kind that `run` can take. */
static const struct {
    const char *option, *line;
} kinds[] = {{"--shared", "(read lock)"},   {"--exclusive", "(write lock)"},
             {"--value", "(value lock)"},   {"--fair", "x: acquired by "},
             {"--fenced", "x: acquired by "},
             {"--permits=2", "acquired by 1 of a semaphore's permits"}};

START_TEST(each_kind_is_seen)
{
    struct process *p = watching(NULL);
    struct process *run =
        holdfast(server, "run", kinds[_i].option, "x", "cat", NULL);
    const char *line = await_line(p, OUT, "acquired by");

    ck_assert_msg(strstr(line, kinds[_i].line) != NULL, "%s", line);
    shut(run);
    ck_assert_int_eq(finish(run), 0);
    await_line(p, OUT, "x: released");
    end(p);
}
END_TEST

START_TEST(readers_come_and_go)
{
    struct process *p = watching(NULL), *runs[2];

    for (int i = 0; i < 2; i++) {
        runs[i] = holdfast(server, "run", "--shared", "x", "cat", NULL);
        await_line(p, OUT, i ? "x: joined, now held by" : "x: acquired by");
    }
    shut(runs[1]);
    ck_assert_int_eq(finish(runs[1]), 0);
    await_line(p, OUT, "x: left by one, now held by");
    shut(runs[0]);
    ck_assert_int_eq(finish(runs[0]), 0);
    await_line(p, OUT, "x: released, was held by");
    end(p);
}
END_TEST

START_TEST(programs_read_objects)
{
    struct process *p = watching("--json");
    const char *line;

    hold(LUA_HOLDER, 60000);
    line = await_line(p, OUT, "\"acquired\"");
    ck_assert_str_eq(member(line, "name"), "x");
    ck_assert_str_eq(member(line, "kind"), "plain");
    ck_assert_str_eq(member(line, "owner"), LUA_HOLDER);
    ck_assert_str_eq(member(line, "hold_count"), "1");
    ck_assert_int_gt(atol(member(line, "ttl_ms")), 50000);
    ck_assert_uint_eq(strlen(member(line, "time")),
                      strlen("2026-01-01T00:00:00.000Z"));
    (void)server_ask(server, "DEL x");
    line = await_line(p, OUT, "\"released\"");
    ck_assert_str_eq(member(line, "owner"), LUA_HOLDER);
    end(p);
}
END_TEST

/* As `status --json` does. */
START_TEST(no_byte_of_a_name_or_an_owner_is_lost)
{
    struct process *p;
    const char *line;

    (void)server_ask(server, "SET %b %b PX 60000", "\xff", (size_t)1, "a\xfe",
                     (size_t)2);
    p = holdfast(server, "watch", EVERY, "--json", "\xff", NULL);
    line = await_line(p, OUT, "\"held\"");
    ck_assert_str_eq(member(line, "escaped"), "true");
    ck_assert_ptr_nonnull(strstr(line, "\"name\":\"\\\\xff\""));
    ck_assert_ptr_nonnull(strstr(line, "\"owner\":\"a\\\\xfe\""));
    end(p);
}
END_TEST

/* ---- what cannot be looked at ---- */

START_TEST(a_key_that_is_no_lock_is_unknown)
{
    struct process *p = watching(NULL);

    (void)server_ask(server, "RPUSH x a");
    await_line(p, OUT, "x: unknown: 'x' on 127.0.0.1:");
    (void)server_ask(server, "DEL x");
    await_line(p, OUT, "x: free");
    end(p);
}
END_TEST

/* Told once; what happened meanwhile is told when it is back. */
START_TEST(a_server_that_returns_is_watched_again)
{
    struct process *p = watching(NULL);
    int lines = 0;

    server_kill(server);
    await_line(p, OUT, "x: unknown: ");
    server_restart(server);
    (void)server_ask(server, "PING");
    hold(LUA_HOLDER, 60000);
    while (!strstr(await_line(p, OUT, "x: "), "x: acquired by"))
        ck_assert_int_lt(++lines, 2); /* it may be free first */
    end(p);
}
END_TEST

START_TEST(missing_server_is_reported_as_an_error)
{
    struct process *p = holdfast(NULL, "watch", "-u", "redis://127.0.0.1:1", "x",
                                 NULL);

    ck_assert_int_eq(finish(p), 125);
    ck_assert_str_eq(await_end(p, OUT), "");
    await_line(p, ERR, "127.0.0.1:1");
}
END_TEST

/* ---- its end ---- */

START_TEST(it_ends_after_its_time)
{
    struct process *p = holdfast(server, "watch", "--for=1s", "--every=10s", "x", NULL);

    await_line(p, OUT, "x: free");
    ck_assert_int_eq(finish(p), 0);
    ck_assert_str_eq(await_end(p, OUT), "");
    ck_assert_str_eq(await_end(p, ERR), "");
}
END_TEST

/* Also while a request has no reply, and before it is connected. Both take 30 s otherwise. */
START_TEST(it_ends_after_its_time_although_the_server_hangs)
{
    char url[100];
    struct process *p;
    int64_t begun_ms;

    (void)snprintf(url, sizeof url, "redis://127.0.0.1:%d?timeout=30s&connect_timeout=30s",
                   server_port(server));
    p = holdfast(NULL, "watch", "-u", url, "--every=50ms", "--for=1s", "x", NULL);
    (void)await_line(p, OUT, "x: free");
    begun_ms = local_now_ms();
    server_pause(server);
    ck_assert_int_eq(finish(p), 0);
    ck_assert_within(begun_ms, 10000);
    ck_assert_ptr_nonnull(strstr(await_end(p, OUT), "x: unknown: the server has not replied"));
    p = holdfast(NULL, "watch", "-u", url, "--for=100ms", "x", NULL);
    ck_assert_int_eq(finish(p), 125);
    ck_assert_within(begun_ms, 20000);
    server_resume(server);
}
END_TEST

START_TEST(a_reader_that_leaves_ends_it)
{
    struct process *p = watching(NULL);

    deafen(p, OUT);
    ck_assert_int_eq(finish(p), 1000 + SIGPIPE);
    ck_assert_str_eq(await_end(p, ERR), "");
}
END_TEST

static const char *const wrong[][3] = {
    {NULL}, {""}, {"x", "--every=10ms"}, {"x", "--for=0"}, {"x", "--every", "a"}};

START_TEST(wrong_usage_is_error)
{
    ck_assert_int_eq(finish(holdfast(server, "watch", wrong[_i][0], wrong[_i][1],
                                     wrong[_i][2], NULL)), 125);
}
END_TEST

/* ---- pushes ---- */

static long long script_calls_now(void)
{
    const char *line = strstr(server_ask(server, "INFO commandstats"), "cmdstat_evalsha:calls=");

    return line ? atoll(line + strlen("cmdstat_evalsha:calls=")) : 0;
}

static struct process *watch_by_pushes(const char *option)
{
    struct process *p = holdfast(server, "watch", option, "x", NULL);

    (void)await_line(p, OUT, "x: ");
    return p;
}

/* The server reports each change; between them nothing is sent. */
START_TEST(changes_are_pushed)
{
    struct process *p;

    hold_by_other("x", 3600000);
    p = watch_by_pushes("--connect-timeout=5s");
    (void)server_ask(server, "CONFIG RESETSTAT");
    local_rest_us(1200000);
    ck_assert_int_le(script_calls_now(), 1); /* once more when tracking has begun */
    (void)server_ask(server, "PEXPIRE x 7200000");
    (void)await_line(p, OUT, "renewed by");
    (void)server_ask(server, "DEL x");
    (void)await_line(p, OUT, "released, was held by");
    (void)server_ask(server, "CONFIG RESETSTAT");
    local_rest_us(1200000);
    ck_assert_int_eq(script_calls_now(), 0);
    hold_by_other("x", 1000);
    (void)await_line(p, OUT, "acquired by");
    (void)await_line(p, OUT, "expired, was held by");
    (void)kill(pid_of(p), SIGTERM);
    (void)finish(p);
}
END_TEST

START_TEST(lost_connections_miss_nothing)
{
    struct process *p;

    hold_by_other("x", 3600000);
    p = watch_by_pushes("--connect-timeout=5s");
    for (int i = 0; i < 3; i++) {
        server_kill_connections(server);
        (void)server_ask(server, "DEL x");
        (void)await_line(p, OUT, "released, was held by");
        hold_by_other("x", 3600000);
        (void)await_line(p, OUT, "acquired by");
    }
    (void)kill(pid_of(p), SIGTERM);
    (void)finish(p);
}
END_TEST

/* Each look sends two requests; only one of them waits for the whole timeout. The first is sent
 * when the lease has ended. */
START_TEST(a_server_that_hangs_is_waited_for_once)
{
    char url[100];
    struct process *p;
    int64_t begun_ms;

    (void)snprintf(url, sizeof url, "redis://127.0.0.1:%d?timeout=3s", server_port(server));
    hold_by_other("x", 1000);
    p = holdfast(NULL, "watch", "-u", url, "x", NULL);
    (void)await_line(p, OUT, "held by");
    begun_ms = local_now_ms();
    server_pause(server);
    (void)await_line(p, OUT, "x: unknown: ");
    ck_assert_within(begun_ms, 5000);
    server_resume(server);
    (void)await_line(p, OUT, "expired, was held by");
    end(p);
}
END_TEST

/* RESP2, a user without the right, and --every: it polls. */
static const struct {
    const char *query, *option, *rule;
} pollers[] = {
    {"?protocol=2", "--connect-timeout=5s", "+@all"},
    {"", "--connect-timeout=5s", "+@all -client|tracking"},
    {"", "--every=50ms", "+@all"},
};

START_TEST(without_pushes_it_polls)
{
    char url[100];
    struct process *p;

    if (strstr(server_ask(server, "ACL SETUSER app reset on >PASSWORD ~* &* %s",
                          pollers[_i].rule), "(error)"))
        return;
    (void)snprintf(url, sizeof url, "redis://app:PASSWORD@127.0.0.1:%d%s",
                   server_port(server), pollers[_i].query);
    hold_by_other("x", 3600000);
    p = holdfast(NULL, "watch", "-u", url, pollers[_i].option, "x", NULL);
    (void)await_line(p, OUT, "held by");
    (void)server_ask(server, "CONFIG RESETSTAT");
    while (script_calls_now() < 3)
        local_poll_rest();
    (void)server_ask(server, "DEL x");
    (void)await_line(p, OUT, "released, was held by");
    (void)kill(pid_of(p), SIGTERM);
    (void)finish(p);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("holdfast watch");
    TCase *c = run_case(s, "events");

    tcase_add_test(c, a_hold_is_followed_to_its_end);
    tcase_add_test(c, a_lease_that_ends_is_no_release);
    tcase_add_test(c, release_and_expiry_are_distinguished);
    tcase_add_test(c, first_line_names_the_holder);
    tcase_add_loop_test(c, each_kind_is_seen, 0, ROWS(kinds));
    tcase_add_test(c, readers_come_and_go);
    tcase_add_test(c, programs_read_objects);
    tcase_add_test(c, no_byte_of_a_name_or_an_owner_is_lost);
    c = run_case(s, "unknown");
    tcase_add_test(c, a_key_that_is_no_lock_is_unknown);
    tcase_add_test(c, a_server_that_returns_is_watched_again);
    tcase_add_test(c, missing_server_is_reported_as_an_error);
    c = run_case(s, "end");
    tcase_add_test(c, it_ends_after_its_time);
    tcase_add_test(c, it_ends_after_its_time_although_the_server_hangs);
    tcase_add_test(c, a_reader_that_leaves_ends_it);
    tcase_add_loop_test(c, wrong_usage_is_error, 0, ROWS(wrong));
    c = run_case(s, "pushes");
    tcase_add_test(c, changes_are_pushed);
    tcase_add_test(c, lost_connections_miss_nothing);
    tcase_add_test(c, a_server_that_hangs_is_waited_for_once);
    tcase_add_loop_test(c, without_pushes_it_polls, 0, ROWS(pollers));
    return run_suite(s);
}
