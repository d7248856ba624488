/* `holdfast semaphore` and `holdfast latch`. */
#include "tests/live/test_run_kit.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/gate.h"
#include "tests/support/suite.h"

#define OF_SEMAPHORE "redisson_sc:{x}"
#define OF_LATCH "redisson_countdownlatch__channel__{x}"
#define LONGEST 9

/* `line`: what follows "holdfast". */
static struct process *run_line(const char *line)
{
    static char text[200];
    char *words[LONGEST] = {0};
    size_t count = 0;

    (void)snprintf(text, sizeof text, "%s", line);
    for (char *w = strtok(text, " "); w; w = strtok(NULL, " ")) {
        ck_assert_uint_lt(count, LONGEST - 1);
        words[count++] = w;
    }
    return holdfast(server, words[0], words[1], words[2], words[3], words[4], words[5],
                    words[6], words[7], words[8], NULL);
}

/* ---- one call ---- */

static const struct {
    const char *before;         /* a command; NULL: none */
    const char *line;
    int code;
    const char *out, *err;      /* all of the one, a part of the other; NULL: nothing */
    const char *after;          /* GET x */
} calls[] = {
    {NULL, "semaphore x set 3", 0, NULL, NULL, "3"},
    {NULL, "semaphore x set 0 --json", 0, "{\"name\":\"x\",\"set\":true,\"number\":0}\n", NULL,
     "0"},
    {NULL, "semaphore x set 3 --ttl 1h", 0, NULL, NULL, "3"},
    {NULL, "semaphore x set 3 --ttl 0", 125, NULL, "--ttl", "(nil)"},
    {"SET x 5", "semaphore x add 3 --ttl 1h", 125, NULL,
     "--ttl has no meaning for 'semaphore add'", "5"},
    {NULL, "latch x set 3 --ttl 1h", 125, NULL, "--ttl has no meaning for 'latch set'", "(nil)"},
    {"SET x 5", "semaphore x set 3", 1, NULL, "the semaphore x exists; nothing is changed", "5"},
    {"SET x 5", "semaphore x set 3 -q", 1, NULL, NULL, "5"},
    {"SET x 5", "semaphore x get", 0, "5\n", NULL, "5"},
    {"SET x -5", "semaphore x get --json", 0, "{\"name\":\"x\",\"available\":-5}\n", NULL, "-5"},
    {"SET x 5", "semaphore x get -q", 0, NULL, NULL, "5"},
    {NULL, "semaphore x get", 1, NULL, "there is no semaphore x", "(nil)"},
    {NULL, "semaphore x get --json", 1, "{\"name\":\"x\",\"exists\":false}\n",
     "there is no semaphore x", "(nil)"},
    {"SET x 5", "semaphore x add 2", 0, NULL, NULL, "7"},
    {"SET x 5", "semaphore x release", 0, NULL, NULL, "6"},
    {"SET x 5", "semaphore x release 3", 0, NULL, NULL, "8"},
    {"SET x 5", "semaphore x reduce 7 --json", 0,
     "{\"name\":\"x\",\"reduced\":true,\"number\":7}\n", NULL, "-2"},
    {NULL, "semaphore x release", 1, NULL, "there is no semaphore x; nothing is changed",
     "(nil)"},
    {NULL, "semaphore x reduce 1", 1, NULL, "there is no semaphore x", "(nil)"},
    {"SET x 5", "semaphore x drain", 0, "5\n", NULL, "0"},
    {NULL, "semaphore x drain", 1, NULL, "there is no semaphore x", "(nil)"},
    {"SET x 5", "semaphore x delete", 0, NULL, NULL, "(nil)"},
    {NULL, "semaphore x delete --json", 1, "{\"name\":\"x\",\"deleted\":false}\n",
     "there is no semaphore x", "(nil)"},
    {"SET x 5", "semaphore x resize 3 --json", 0,
     "{\"name\":\"x\",\"resized\":true,\"number\":3}\n", NULL, "3"},
    {"SET x abc", "semaphore x resize 3", 125, NULL, "x is not a semaphore", "abc"},
    {"SET x 5", "semaphore x acquire", 0, NULL, NULL, "4"},
    {"SET x 5", "semaphore x acquire 5 --json", 0,
     "{\"name\":\"x\",\"acquired\":true,\"number\":5}\n", NULL, "0"},
    {"SET x 5", "semaphore x acquire -n 6", 75, NULL, NULL, "5"},
    {"SET x 5", "semaphore x acquire 6 -n -E 3 -v", 3, NULL, "timed out waiting", "5"},
    {"SET x 5", "semaphore x acquire 6 --timeout 50ms", 75, NULL, NULL, "5"},
    {NULL, "semaphore x acquire -n", 75, NULL,
     "there is no semaphore x; its action 'set N' creates it", "(nil)"},
    {NULL, "semaphore x acquire -n --json", 75,
     "{\"name\":\"x\",\"acquired\":false,\"number\":1}\n", "there is no semaphore x", "(nil)"},
    {NULL, "semaphore x acquire -w 50ms", 75, NULL, "there is no semaphore x yet; waiting",
     "(nil)"},
    {NULL, "latch x set 3", 0, NULL, NULL, "3"},
    {"SET x 5", "latch x set 3 --json", 1, "{\"name\":\"x\",\"set\":false,\"number\":3}\n",
     "the latch x is set already", "5"},
    {"SET x 5", "latch x down", 0, NULL, NULL, "4"},
    {"SET x 1", "latch x down", 0, NULL, NULL, "(nil)"},
    {NULL, "latch x down", 1, NULL, "there is no latch x", "(nil)"},
    {"SET x 5", "latch x get", 0, "5\n", NULL, "5"},
    {NULL, "latch x get --json", 1, "{\"name\":\"x\",\"count\":0}\n", NULL, "(nil)"},
    {"SET x 5", "latch x delete", 0, NULL, NULL, "(nil)"},
    {NULL, "latch x delete", 1, NULL, "there is no latch x", "(nil)"},
    {NULL, "latch x wait", 0, NULL, NULL, "(nil)"},
    {"SET x 5", "latch x wait -n", 75, NULL, NULL, "5"},
    {"SET x 5", "latch x wait --timeout 50ms --json", 75, "{\"name\":\"x\",\"open\":false}\n",
     NULL, "5"},
    /* what is none */
    {"SET x abc", "semaphore x get", 125, NULL, "x is not a semaphore: its key holds something "
     "other than a count", "abc"},
    {"SET x abc", "semaphore x add 1", 125, NULL, "x is not a semaphore", "abc"},
    {"SET x abc", "semaphore x acquire", 125, NULL, "x is not a semaphore", "abc"},
    {"SET x -1", "latch x down", 125, NULL, "x is not a latch", "-1"},
    /* usage */
    {NULL, "semaphore", 125, NULL, "NAME is required", "(nil)"},
    {NULL, "semaphore x", 125, NULL, "what to do with x?", "(nil)"},
    {NULL, "semaphore x go", 125, NULL, "unknown action 'go'; actions: set, add, reduce, get, ",
     "(nil)"},
    {NULL, "semaphore x aquire", 125, NULL, "unknown action 'aquire'; did you mean 'acquire'?", "(nil)"},
    {NULL, "latch x countdown", 125, NULL, "did you mean 'down'?", "(nil)"},
    {NULL, "semaphore x add", 125, NULL, "'add' needs a number", "(nil)"},
    {NULL, "semaphore x add 0", 125, NULL, "add '0': write a number from 1 to 2147483647",
     "(nil)"},
    {NULL, "semaphore x set 2147483648", 125, NULL, "write a number from 0 to", "(nil)"},
    {NULL, "semaphore x set -1", 125, NULL, "set '-1': write a number from 0 to 2147483647; ",
     "(nil)"},
    {NULL, "semaphore x acquire -12 -n", 125, NULL, "acquire '-12': write a number from 1 to",
     "(nil)"},
    {NULL, "latch x set -3", 125, NULL, "set '-3': write a number from 1 to", "(nil)"},
    {NULL, "semaphore -1 get", 125, NULL, "unknown option '-1'", "(nil)"},
    {NULL, "semaphore x set -z", 125, NULL, "unknown option '-z'", "(nil)"},
    {NULL, "semaphore x set 3 4", 125, NULL, "unexpected argument '4' after 'set'", "(nil)"},
    {NULL, "semaphore x get 3", 125, NULL, "unexpected argument '3' after 'get'", "(nil)"},
    {NULL, "semaphore x get -n", 125, NULL, "--nonblock has no meaning for 'get'", "(nil)"},
    {NULL, "latch x set 0", 125, NULL, "write a number from 1 to", "(nil)"},
    {NULL, "latch x down -w 1", 125, NULL, "--wait has no meaning for 'down'", "(nil)"},
};

/* The other keys that last. The record of a reply expires if the command ends before it is
 * deleted. */
static const char lasting[] =
    "local n = 0 for _, key in ipairs(redis.call('keys', '*')) do "
    "if key ~= 'x' and redis.call('pttl', key) < 0 then n = n + 1 end end return n";

START_TEST(each_action_does_what_the_manual_says)
{
    struct process *p;

    if (calls[_i].before)
        (void)server_ask(server, calls[_i].before);
    p = run_line(calls[_i].line);
    if (calls[_i].err)
        await_line(p, ERR, calls[_i].err);
    ck_assert_int_eq(finish(p), calls[_i].code);
    ck_assert_str_eq(await_end(p, OUT), calls[_i].out ? calls[_i].out : "");
    if (!calls[_i].err)
        ck_assert_str_eq(await_end(p, ERR), "");
    ck_assert_str_eq(server_ask(server, "GET x"), calls[_i].after);
    ck_assert_str_eq(server_ask(server, "EVAL %s 0", lasting), "0");
}
END_TEST

START_TEST(semaphore_with_a_ttl_expires)
{
    ck_assert_int_eq(finish(run_line("semaphore x set 3 --ttl 1h")), 0);
    ck_assert_int_gt(server_ask_int(server, "PTTL x"), 3500000);
    ck_assert_int_eq(finish(run_line("semaphore x acquire")), 0);
    ck_assert_int_eq(finish(run_line("semaphore x release")), 0);
    ck_assert_int_gt(server_ask_int(server, "PTTL x"), 3500000);
}
END_TEST

START_TEST(key_of_a_lock_is_left_alone)
{
    struct process *p;

    hold_by_other("x", 60000);
    p = holdfast(server, _i ? "latch" : "semaphore", "x", "delete", NULL);
    await_line(p, ERR, "its key has another type, perhaps that of a lock");
    ck_assert_int_eq(finish(p), 125);
    ck_assert_int_eq(server_ask_int(server, "EXISTS x"), 1);
}
END_TEST

/* ---- waits ---- */

static void await_waiter(const char *channel)
{
    char ask[100], wanted[100];

    (void)snprintf(ask, sizeof ask, "PUBSUB NUMSUB %s", channel);
    (void)snprintf(wanted, sizeof wanted, "%s 1", channel);
    server_await(server, PATIENCE_MS, wanted, ask);
}

static struct process *wait_for_two_of(int permits)
{
    struct process *p;

    (void)server_ask(server, "SET x %d", permits);
    p = holdfast(server, "semaphore", "x", "acquire", "2", NULL);
    await_waiter(OF_SEMAPHORE);
    return p;
}

static struct process *wait_for_latch(void)
{
    struct process *p;

    (void)server_ask(server, "SET x 1");
    p = holdfast(server, "latch", "x", "wait", NULL);
    await_waiter(OF_LATCH);
    return p;
}

START_TEST(semaphore_whose_permits_are_held_is_not_deleted)
{
    struct process *p = holdfast(server, "run", "--permits", "1", "x", "sh", "-c",
                                 "echo up; read go", NULL);
    struct process *d;

    (void)await_line(p, OUT, "up");
    d = holdfast(server, "semaphore", "x", "delete", NULL);
    (void)await_line(d, ERR, "x is not deleted: expirable permits of this name are in use: 1");
    ck_assert_int_eq(finish(d), 125);
    shut(p);
    ck_assert_int_eq(finish(p), 1);
    ck_assert_str_eq(server_ask(server, "GET x"), "1");
    ck_assert_int_eq(finish(holdfast(server, "semaphore", "x", "delete", NULL)), 0);
    ck_assert_str_eq(server_ask(server, "EXISTS x"), "0");
}
END_TEST

START_TEST(permits_that_were_drained_are_named_if_the_output_is_full)
{
    struct process *p;

    (void)server_ask(server, "SET x 5");
    p = holdfast(server, "semaphore", "x", "drain", NULL);
    deafen(p, OUT);
    (void)await_line(p, ERR, "permits taken: 5");
    ck_assert_int_eq(finish(p), 125);
}
END_TEST

START_TEST(released_permits_wake_a_waiter)
{
    struct process *p = wait_for_two_of(0);

    ck_assert_int_eq(finish(holdfast(server, "semaphore", "x", "release", "3", NULL)), 0);
    ck_assert_int_eq(finish(p), 0);
    ck_assert_str_eq(server_ask(server, "GET x"), "1");
}
END_TEST

static const char *const opening[] = {"down", "delete"};

START_TEST(opened_latch_lets_a_waiter_pass)
{
    struct process *p = wait_for_latch();

    ck_assert_int_eq(finish(holdfast(server, "latch", "x", opening[_i], NULL)), 0);
    ck_assert_int_eq(finish(p), 0);
}
END_TEST

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

START_TEST(signal_ends_the_wait_and_takes_nothing)
{
    struct process *p = wait_for_two_of(1);

    (void)kill(pid_of(p), signals[_i]);
    ck_assert_int_eq(finish(p), 1000 + signals[_i]);
    (void)server_ask(server, "INCRBY x 4");
    ck_assert_str_eq(server_ask(server, "GET x"), "5");
}
END_TEST

START_TEST(signal_ends_the_wait_for_a_latch)
{
    struct process *p = wait_for_latch();

    (void)kill(pid_of(p), SIGTERM);
    ck_assert_int_eq(finish(p), 1000 + SIGTERM);
}
END_TEST

/* ---- what goes wrong ---- */

START_TEST(permits_that_cannot_be_printed_are_released)
{
    struct process *p;

    (void)server_ask(server, "SET x 0");
    p = holdfast(server, "semaphore", "x", "acquire", "--json", NULL);
    await_waiter(OF_SEMAPHORE);
    deafen(p, OUT);
    ck_assert_int_eq(finish(holdfast(server, "semaphore", "x", "release", NULL)), 0);
    await_line(p, ERR, "releasing the permits");
    ck_assert_int_eq(finish(p), 125);
    ck_assert_str_eq(server_ask(server, "GET x"), "1");
}
END_TEST

/* The server executes it when the command has ended: after 5 s without a reply. */
START_TEST(unknown_outcome_is_reported_as_such)
{
    struct process *p;

    (void)server_ask(server, "CLIENT PAUSE 60000 WRITE");
    p = holdfast(server, "semaphore", "x", "set", "3", NULL);
    await_line(p, ERR, "whether the server did this is unknown: 'holdfast semaphore x get'");
    ck_assert_int_eq(finish(p), 125);
    (void)server_ask(server, "CLIENT UNPAUSE");
}
END_TEST

/* The first reply is lost and the next attempt is refused, which ends the call: whether the first
 * was executed is unknown. The client repeats the request in the background. */
START_TEST(lost_reply_of_a_repeated_change_is_awaited)
{
    static const struct gate_rule rules[] = {
        {.pattern = "EVALSHA * 2 ...", .answer = NULL, .times = 1},
        {.pattern = "EVALSHA * 2 ...", .answer = "-NOPERM no permissions\r\n", .times = 1},
        {0}};
    struct gate *gate = gate_start(server_port(server), rules);
    struct process *p;
    char url[SERVER_URL_MAX];

    (void)server_ask(server, "SET x 5");
    ck_assert_int_eq(finish(holdfast(server, "semaphore", "x", "release", NULL)), 0);
    (void)snprintf(url, sizeof url, "redis://127.0.0.1:%d", gate_port(gate));
    p = holdfast(NULL, "semaphore", "-u", url, "x", "release", NULL);
    await_line(p, ERR, "the server replied: it is done, unless");
    ck_assert_int_eq(finish(p), 125);
    ck_assert_str_eq(server_ask(server, "GET x"), "7");
    gate_stop(gate);
}
END_TEST

/* No replica confirms it: the server has none. */
static const struct {
    const char *before, *line, *out, *err, *after;
} unreplicated[] = {
    {"SET x 5", "drain", "5\n", "it is done; do not repeat it", "0"},
    {"SET x 5", "drain --json", "{\"name\":\"x\",\"taken\":5}\n", "it is done", "0"},
    {"DEL x", "set 3 --json", "{\"name\":\"x\",\"set\":true,\"number\":3}\n", "it is done", "3"},
    {"SET x 5", "delete --json", "{\"name\":\"x\",\"deleted\":true}\n", "it is done", "(nil)"},
    {"SET x 5", "release --json", "{\"name\":\"x\",\"released\":true,\"number\":1}\n",
     "it is done", "6"},
    {"SET x 5", "acquire 2 --json", "", "no permit was acquired", "5"},
};

START_TEST(change_without_replicas_is_reported_as_it_is)
{
    char line[200];
    struct process *p;

    (void)server_ask(server, unreplicated[_i].before);
    (void)snprintf(line, sizeof line,
                   "semaphore -u redis://127.0.0.1:%d?replicas=1&replicas_timeout=50ms x %s",
                   server_port(server), unreplicated[_i].line);
    p = run_line(line);
    await_line(p, ERR, "0 of 1 replicas have it");
    await_line(p, ERR, unreplicated[_i].err);
    ck_assert_int_eq(finish(p), 125);
    ck_assert_str_eq(await_end(p, OUT), unreplicated[_i].out);
    server_await(server, PATIENCE_MS, unreplicated[_i].after, "GET x");
}
END_TEST

START_TEST(without_a_server_nothing_is_done)
{
    struct process *p = holdfast(NULL, _i ? "latch" : "semaphore", "-u",
                                 "redis://127.0.0.1:1", "x", "set", "1", NULL);

    await_line(p, ERR, "127.0.0.1:1");
    ck_assert_int_eq(finish(p), 125);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("holdfast semaphore, latch");
    TCase *c = run_case(s, "counted");

    tcase_add_loop_test(c, each_action_does_what_the_manual_says, 0, ROWS(calls));
    tcase_add_test(c, semaphore_with_a_ttl_expires);
    tcase_add_loop_test(c, key_of_a_lock_is_left_alone, 0, 2);
    tcase_add_test(c, released_permits_wake_a_waiter);
    tcase_add_test(c, semaphore_whose_permits_are_held_is_not_deleted);
    tcase_add_test(c, permits_that_were_drained_are_named_if_the_output_is_full);
    tcase_add_loop_test(c, opened_latch_lets_a_waiter_pass, 0, ROWS(opening));
    tcase_add_loop_test(c, signal_ends_the_wait_and_takes_nothing, 0, ROWS(signals));
    tcase_add_test(c, signal_ends_the_wait_for_a_latch);
    tcase_add_test(c, permits_that_cannot_be_printed_are_released);
    tcase_add_test(c, unknown_outcome_is_reported_as_such);
    tcase_add_test(c, lost_reply_of_a_repeated_change_is_awaited);
    tcase_add_loop_test(c, change_without_replicas_is_reported_as_it_is, 0,
                        ROWS(unreplicated));
    tcase_add_loop_test(c, without_a_server_nothing_is_done, 0, 2);
    return run_suite(s);
}
