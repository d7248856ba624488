/* `holdfast run` under several locks at a time: --multi, --quorum, --permits. */
#include "tests/live/test_run_kit.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/lateness.h"
#include "tests/support/local.h"
#include "tests/support/suite.h"

#define SERVERS 3

static struct server *servers[SERVERS];
static char urls[SERVERS][SERVER_URL_MAX];

static void start_servers(void)
{
    for (int i = 0; i < SERVERS; i++) {
        ck_assert_ptr_nonnull(servers[i] = server_start(NULL));
        (void)server_url(servers[i], urls[i]);
    }
}

static void stop_servers(void)
{
    for (int i = 0; i < SERVERS; i++)
        server_stop(servers[i]);
}

/* ---- most of several servers ---- */

#define SERVERS_OF_ALL "-u", urls[0], "-u", urls[1], "-u", urls[2]
#define QUORUM "--quorum", SERVERS_OF_ALL

static void ck_assert_keys(const char *name, int count)
{
    int found = 0;

    for (int i = 0; i < SERVERS; i++)
        if (server_is_running(servers[i]))
            found += (int)server_ask_int(servers[i], "EXISTS %s", name);
    ck_assert_int_ge(found, count);
    ck_assert(count > 0 || found == 0);
}

static struct process *hold_by_most(void)
{
    struct process *p = holdfast(NULL, "run", QUORUM, "x", "sh", "-c",
                                 "echo ready; read go", NULL);

    (void)await_line(p, OUT, "ready");
    ck_assert_keys("x", 2);
    return p;
}

static struct process *status(const char *option)
{
    return holdfast(NULL, "status", SERVERS_OF_ALL, "x", option, NULL);
}

static void ck_assert_status_says(const char *text, const char *json, int code)
{
    struct process *p = status(NULL);

    (void)await_line(p, OUT, text);
    ck_assert_int_eq(finish(p), code);
    p = status("--json");
    (void)await_line(p, OUT, json);
    ck_assert_int_eq(finish(p), code);
    ck_assert_int_eq(finish(status("-q")), code);
}

/* The last server is down: it may make the difference. */
START_TEST(status_shows_each_server_and_the_majority)
{
    struct process *p;

    ck_assert_status_says("x: held on 0 of 3 servers, not a majority",
                          "\"held_on\":0,\"unknown_on\":0,\"majority\":false}", 1);
    (void)server_ask(servers[1], "SET x me PX 60000");
    ck_assert_status_says("x: held on 1 of 3 servers, not a majority",
                          "\"held_on\":1,\"unknown_on\":0,\"majority\":false}", 1);
    p = status(NULL);
    (void)await_line(p, OUT, ": x: value lock held by me");
    ck_assert_int_eq(finish(p), 1);
    server_stop(servers[2]);
    ck_assert_status_says("x: held on 1 of 3 servers, unknown on 1, so a majority may be held",
                          "\"held_on\":1,\"unknown_on\":1}", 125);
    (void)server_ask(servers[0], "SET x me PX 60000");
    ck_assert_status_says("x: held on 2 of 3 servers, unknown on 1, a majority",
                          "\"majority\":true}", 0);
    (void)server_ask(servers[0], "DEL x");
    (void)server_ask(servers[1], "DEL x");
    ck_assert_status_says("x: held on 0 of 3 servers, unknown on 1, not a majority",
                          "\"majority\":false}", 1);
    servers[2] = NULL;
}
END_TEST

static void ck_assert_most_hold(void)
{
    struct process *p = hold_by_most();
    struct process *other =
        holdfast(NULL, "run", "-v", "-n", QUORUM, "x", "true", NULL);

    ck_assert_int_eq(finish(other), 75);
    ck_assert_ptr_nonnull(strstr(await_end(other, ERR), "servers granted the lock"));
    other = holdfast(NULL, "run", "--status-fd", "3", QUORUM, "x", "true",
                     NULL);
    (void)await_line(other, STATUS, "waiting");
    say(p, "go\n");
    ck_assert_int_eq(finish(p), 0);
    ck_assert_int_eq(finish(other), 0);
    ck_assert_keys("x", 0);
}

START_TEST(most_servers_are_enough)
{
    ck_assert_most_hold();
    server_kill(servers[0]);
    ck_assert_most_hold();
}
END_TEST

START_TEST(a_minority_is_not)
{
    struct process *p;
    const char *said;

    server_kill(servers[0]);
    server_kill(servers[2]);
    p = holdfast(NULL, "run", "-n", QUORUM, "x", "true", NULL);
    ck_assert_int_eq(finish(p), 125);
    said = await_end(p, ERR);
    ck_assert_ptr_nonnull(strstr(said, "1 of 3 servers granted the lock, 2 required"));
    ck_assert_ptr_nonnull(strstr(said, "refused"));
    ck_assert_int_eq(server_ask_int(servers[1], "EXISTS x"), 0);
}
END_TEST

START_TEST(it_stops_when_most_members_are_lost)
{
    struct process *p =
        holdfast(NULL, "run", "--ttl", "4500ms", QUORUM, "x", "sh", "-c",
                 "echo ready; exec cat", NULL);

    (void)await_line(p, OUT, "ready");
    server_kill(servers[0]);
    server_kill(servers[1]);
    ck_assert_int_eq(finish(p), 122);
}
END_TEST

START_TEST(a_leader_is_elected_by_most)
{
    struct process *p;

    server_kill(servers[1]);
    p = holdfast(NULL, "elect", "--once", QUORUM, "x", "echo", "I lead", NULL);
    ck_assert_int_eq(finish(p), 0);
    ck_assert_str_eq(await_end(p, OUT), "I lead\n");
}
END_TEST

/* ---- a signal ends it in time, whatever the servers do ---- */

#define IN_TIME_MS 100
#define TRIES 6

static void pause_all(bool is_paused)
{
    for (int i = 0; i < SERVERS; i++) {
        if (is_paused)
            server_pause(servers[i]);
        else
            server_resume(servers[i]);
    }
}

/* 0: it waits for another holder; 1: it releases; 2: the servers are silent from the
 * start. */
static int64_t end_at_frozen_servers(int which)
{
    struct process *other = which == 0 ? hold_by_most() : NULL, *p;
    int64_t sent_ms;

    if (which == 2)
        pause_all(true);
    p = holdfast(NULL, "run", "--status-fd", "3", QUORUM, "x", "sh", "-c",
                 "echo up; read go", NULL);
    if (which == 0)
        (void)await_line(p, STATUS, "\"waiting\"");
    if (which == 1)
        (void)await_line(p, OUT, "up");
    if (which == 2)
        await_state(pid_of(p), 'S');
    pause_all(true);
    if (which == 1) {
        say(p, "go\n");
        (void)await_line(p, STATUS, "\"exit\"");
    }
    sent_ms = local_now_ms();
    ck_assert_int_eq(kill(pid_of(p), SIGTERM), 0);
    ck_assert_int_eq(finish(p), 1000 + SIGTERM);
    sent_ms = local_now_ms() - sent_ms - lateness_ms(sent_ms);
    pause_all(false);
    if (other) {
        say(other, "go\n");
        ck_assert_int_eq(finish(other), 0);
    }
    return sent_ms;
}

START_TEST(a_signal_ends_it_in_time)
{
    int64_t took_ms = 0;

    for (int i = 0; i < TRIES; i++) {
        for (int k = 0; k < SERVERS; k++)
            (void)server_ask(servers[k], "FLUSHALL");
        if ((took_ms = end_at_frozen_servers(_i)) <= IN_TIME_MS)
            return;
    }
    ck_abort_msg("it took %d ms", (int)took_ms);
}
END_TEST

static int token_by_most(void)
{
    struct process *p = holdfast(NULL, "run", "--fenced", QUORUM, "x", "-c",
                                 "echo $HOLDFAST_TOKEN", NULL);

    ck_assert_int_eq(finish(p), 0);
    return atoi(await_end(p, OUT));
}

/* The server that has counted most is down for the second one. */
START_TEST(a_token_grows_on_whichever_servers)
{
    int token;

    (void)server_ask(servers[0], "SET redisson_lock_token:{x} 100");
    server_kill(servers[1]);
    token = token_by_most();
    ck_assert_int_gt(token, 100);
    server_restart(servers[1]);
    server_kill(servers[0]);
    ck_assert_int_gt(token_by_most(), token);
}
END_TEST

#define TWICE(OTHER) "--quorum", "-u", urls[0], "-u", urls[1], "-u", (OTHER)

/* Its addresses differ, and only the server itself tells. */
START_TEST(two_addresses_of_one_server_are_refused_unless_that_is_allowed)
{
    char other[200];
    struct process *p;

    (void)snprintf(other, sizeof other, "unix://%s",
                   server_unix_path(servers[1]));
    p = holdfast(NULL, _i ? "elect" : "run", TWICE(other), "x", "true", NULL);
    await_line(p, ERR, "on one server");
    ck_assert_int_eq(finish(p), 125);
    ck_assert_keys("x", 0);
    p = holdfast(NULL, "run", "-n", TWICE(other), "--allow-same-server", "x",
                 "true", NULL);
    ck_assert_int_eq(finish(p), 0);
}
END_TEST

/* It would wait for the outer one. */
START_TEST(a_run_inside_on_one_of_the_servers_is_refused)
{
    struct process *p =
        holdfast(NULL, "run", QUORUM, "x", HF_BUILD "/holdfast", "run", "-u",
                 urls[_i], "x", "true", NULL);

    await_line(p, ERR, "with --quorum; a run on one");
    ck_assert_int_eq(finish(p), 125);
    p = holdfast(NULL, "run", QUORUM, "x", HF_BUILD "/holdfast", "run", "-u",
                 urls[_i], "y", "true", NULL);
    ck_assert_int_eq(finish(p), 0);
}
END_TEST

/* ---- several locks ---- */

START_TEST(all_or_none_of_several)
{
    struct process *p;

    hold_by_other("b", 60000);
    p = holdfast(server, "run", "-n", "--multi", "b", "--multi", "c", "a",
                 "true", NULL);
    ck_assert_int_eq(finish(p), 75);
    ck_assert_int_eq(server_ask_int(server, "EXISTS a c"), 0);
    (void)server_ask(server, "DEL b");
    p = holdfast(server, "run", "--multi", "b", "--multi", "c", "a", "sh",
                 "-c", "echo ready; read go", NULL);
    (void)await_line(p, OUT, "ready");
    ck_assert_int_eq(server_ask_int(server, "EXISTS a b c"), 3);
    say(p, "go\n");
    ck_assert_int_eq(finish(p), 0);
    ck_assert_int_eq(server_ask_int(server, "EXISTS a b c"), 0);
}
END_TEST

START_TEST(the_loss_of_one_is_the_loss_of_all)
{
    struct process *p =
        holdfast(server, "run", "--ttl", "4500ms", "--status-fd", "3",
                 "--multi", "b", "a", "sh", "-c", "echo ready; exec cat", NULL);

    (void)await_line(p, OUT, "ready");
    (void)server_ask(server, "DEL b");
    (void)await_line(p, STATUS, "\"member\":\"b\"");
    ck_assert_int_eq(finish(p), 122);
    ck_assert_ptr_nonnull(strstr(await_end(p, ERR), "lost the lock b: "));
    ck_assert_int_eq(server_ask_int(server, "EXISTS a"), 0);
}
END_TEST

/* Found by the release, before any renewal. */
START_TEST(a_member_that_was_gone_is_named)
{
    struct process *p = holdfast(server, "run", "--status-fd", "3", "--multi", "c", "--multi",
                                 "b", "a", "sh", "-c", "echo ready; read go", NULL);
    const char *names[] = {"a", "b", "c"};
    char wanted[100];

    (void)await_line(p, OUT, "ready");
    (void)server_ask(server, "DEL %s", names[_i]);
    say(p, "go\n");
    ck_assert_str_eq(member(await_line(p, STATUS, "released"), "member"), names[_i]);
    ck_assert_int_eq(finish(p), 0);
    (void)snprintf(wanted, sizeof wanted,
                   "holdfast: the lock %s no longer existed at the release", names[_i]);
    ck_assert_ptr_nonnull(strstr(await_end(p, ERR), wanted));
}
END_TEST

/* Each name of the outer run is known to those inside it. */
static const struct {
    const char *options, *name, *said;
    int code;
} inside[] = {
    {"-v", "a", "held by the outer run", 0},
    {"-v", "b", "held by the outer run", 0},
    {"-v", "b", "b stays held by the outer run", 0},
    {"--multi=b", "c", "cannot be nested in it", 125},
};

START_TEST(a_run_inside_several)
{
    struct process *p = holdfast(server, "run", "--multi", "b", "a",
                                 HF_BUILD "/holdfast", "run",
                                 inside[_i].options, inside[_i].name, "true",
                                 NULL);

    ck_assert_int_eq(finish(p), inside[_i].code);
    ck_assert_ptr_nonnull(strstr(await_end(p, ERR), inside[_i].said));
}
END_TEST

/* ---- permits ---- */

START_TEST(as_many_run_as_there_are_permits)
{
    struct process *p[2], *third;

    for (int i = 0; i < 2; i++) {
        p[i] = holdfast(server, "run", "--permits", "2", "x", "sh", "-c",
                        "echo ready; read go", NULL);
        (void)await_line(p[i], OUT, "ready");
    }
    third = holdfast(server, "run", "-n", "--permits", "2", "x", "true", NULL);
    ck_assert_int_eq(finish(third), 75);
    third = holdfast(server, "run", "-v", "--permits", "2", "x", "true", NULL);
    (void)await_line(third, ERR, "waiting for x: held by others, TTL");
    say(p[0], "go\n");
    ck_assert_int_eq(finish(p[0]), 0);
    ck_assert_int_eq(finish(third), 0);
    say(p[1], "go\n");
    ck_assert_int_eq(finish(p[1]), 0);
}
END_TEST

/* The number is that of all permits, not of those that are available. */
#define OTHER_NUMBER "x has 2 permits; --permits 5 has no effect"

static const struct {
    const char *command, *option, *permits, *said;
} numbers[] = {{"run", "--ttl=50s", "5", OTHER_NUMBER},
               {"run", "--nonblock", "5", OTHER_NUMBER},
               {"acquire", "--lease=50s", "5", OTHER_NUMBER},
               {"run", "--ttl=50s", "2", ""}};

START_TEST(other_number_of_permits_is_reported)
{
    bool is_acquire = strcmp(numbers[_i].command, "acquire") == 0;
    struct process *first, *p;

    first = holdfast(server, "run", "--permits", "2", "x", "sh", "-c",
                     "echo ready; read go; exit 3", NULL);
    (void)await_line(first, OUT, "ready");
    p = holdfast(server, numbers[_i].command, numbers[_i].option, "--permits",
                 numbers[_i].permits, "x", is_acquire ? NULL : "true", NULL);
    ck_assert_int_eq(finish(p), 0);
    if (*numbers[_i].said)
        (void)await_line(p, ERR, numbers[_i].said);
    ck_assert_str_eq(await_end(p, ERR), "");
    shut(first);
    ck_assert_int_eq(finish(first), 3);
}
END_TEST

START_TEST(each_run_inside_takes_a_permit)
{
    struct process *p = holdfast(
        server, "run", "--permits", "2", "x", HF_BUILD "/holdfast", "run",
        "--permits", "2", "x", HF_BUILD "/holdfast", "run", "-n", "--permits",
        "2", "x", "true", NULL);

    ck_assert_int_eq(finish(p), 75);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("holdfast run, several locks");
    TCase *c = run_case_in(s, "quorum", NULL, NULL);

    tcase_add_checked_fixture(c, start_servers, stop_servers);
    tcase_add_test(c, most_servers_are_enough);
    tcase_add_test(c, status_shows_each_server_and_the_majority);
    tcase_add_test(c, a_minority_is_not);
    tcase_add_test(c, it_stops_when_most_members_are_lost);
    tcase_add_test(c, a_leader_is_elected_by_most);
    tcase_add_loop_test(c, a_signal_ends_it_in_time, 0, 3);
    tcase_add_test(c, a_token_grows_on_whichever_servers);
    tcase_add_loop_test(
        c, two_addresses_of_one_server_are_refused_unless_that_is_allowed, 0, 2);
    tcase_add_loop_test(c, a_run_inside_on_one_of_the_servers_is_refused, 0, SERVERS);
    c = run_case(s, "multi");
    tcase_add_test(c, all_or_none_of_several);
    tcase_add_test(c, the_loss_of_one_is_the_loss_of_all);
    tcase_add_loop_test(c, a_member_that_was_gone_is_named, 0, 3);
    tcase_add_loop_test(c, a_run_inside_several, 0, ROWS(inside));
    c = run_case(s, "permits");
    tcase_add_test(c, as_many_run_as_there_are_permits);
    tcase_add_loop_test(c, other_number_of_permits_is_reported, 0,
                        ROWS(numbers));
    tcase_add_test(c, each_run_inside_takes_a_permit);
    return run_suite(s);
}
