/* `holdfast hold`: a lock is held until an interrupt, the end of the input, or a loss. */
#include "tests/live/test_run_kit.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/suite.h"

#define CHANNEL "redisson_lock__channel:{x}"

static bool is_held(void)
{
    return strcmp(server_ask(server, "EXISTS x"), "1") == 0;
}

static void await_waiter(void)
{
    server_await(server, PATIENCE_MS, CHANNEL " 1", "PUBSUB NUMSUB " CHANNEL);
}

static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

START_TEST(it_is_held_until_a_signal)
{
    struct process *p = holdfast(server, "hold", "x", NULL);
    char owner[128], ask[200];

    ck_assert_int_eq(sscanf(await_line(p, OUT, "held "), "held %127s", owner), 1);
    (void)snprintf(ask, sizeof ask, "HGET x %s", owner);
    ck_assert_str_eq(server_ask(server, ask), "1");
    (void)kill(pid_of(p), signals[_i]);
    ck_assert_int_eq(finish(p), 0);
    ck_assert(!is_held());
    ck_assert_str_eq(await_end(p, ERR), "");
}
END_TEST

START_TEST(it_is_renewed)
{
    struct process *p = holdfast(server, "hold", "--ttl", "6s", "x", NULL);

    await_line(p, OUT, "held ");
    (void)server_ask(server, "PEXPIRE x 3600000"); /* a renewal shortens it */
    server_await(server, PATIENCE_MS, "1", "EVAL %s 0",
                 "return redis.call('pttl', 'x') <= 6000 and 1 or 0");
    (void)kill(pid_of(p), SIGTERM);
    ck_assert_int_eq(finish(p), 0);
}
END_TEST

START_TEST(end_of_input_releases_it)
{
    struct process *p = holdfast(server, "hold", "--stdin", "x", NULL);

    await_line(p, OUT, "held ");
    say(p, "this does not matter\n");
    ck_assert(is_held());
    shut(p);
    ck_assert_int_eq(finish(p), 0);
    ck_assert(!is_held());
}
END_TEST

START_TEST(input_that_has_ended_acquires_nothing)
{
    struct process *p;
    char *argv[] = {(char *)"sh", (char *)"-c",
                    (char *)"exec " HF_BUILD "/holdfast hold --stdin x </dev/null", NULL};

    hold_by_other("x", 60000);
    p = holdfast(server, "hold", "--stdin", "x", NULL);
    await_waiter();
    shut(p);
    ck_assert_int_eq(finish(p), 75);
    (void)server_ask(server, "DEL x");
    ck_assert_int_eq(finish(start(server, argv)), 75);
    ck_assert(!is_held());
}
END_TEST

/* It cannot be watched, and has no end. */
START_TEST(input_without_an_end_does_not_end_the_hold)
{
    char *argv[] = {(char *)"/bin/sh", (char *)"-c",
                    (char *)"exec " HF_BUILD "/holdfast hold --stdin x </dev/zero", NULL};
    struct process *p = start(server, argv);

    (void)await_line(p, OUT, "held");
    (void)kill(pid_of(p), SIGTERM);
    (void)finish(p);
    ck_assert_str_eq(server_ask(server, "EXISTS x"), "0");
}
END_TEST

START_TEST(without_stdin_its_input_does_not_matter)
{
    struct process *p = holdfast(server, "hold", "x", NULL);

    shut(p);
    await_line(p, OUT, "held ");
    ck_assert_int_eq(finish(holdfast(server, "status", "-q", "x", NULL)), 0);
    (void)kill(pid_of(p), SIGTERM);
    ck_assert_int_eq(finish(p), 0);
}
END_TEST

/* It notices at the next renewal. */
START_TEST(loss_has_the_code_of_a_loss)
{
    struct process *p = holdfast(server, "hold", "--ttl", "3s", "x", NULL);

    await_line(p, OUT, "held ");
    (void)server_ask(server, "DEL x");
    hold_by_other("x", 60000);
    await_line(p, ERR, "lost the lock x: ");
    ck_assert_int_eq(finish(p), 122);
    ck_assert_str_eq(server_ask(server, "HGET x " STRANGER), "1");
}
END_TEST

START_TEST(loss_before_the_release_is_one)
{
    struct process *p = holdfast(server, "hold", "x", NULL);

    await_line(p, OUT, "held ");
    (void)server_ask(server, "DEL x");
    (void)kill(pid_of(p), SIGTERM);
    await_line(p, ERR, "was lost before it was released");
    ck_assert_int_eq(finish(p), 122);
}
END_TEST

START_TEST(signal_ends_the_wait)
{
    struct process *p;

    hold_by_other("x", 60000);
    p = holdfast(server, "hold", "x", NULL);
    await_waiter();
    (void)kill(pid_of(p), SIGTERM);
    ck_assert_int_eq(finish(p), 1000 + SIGTERM);
    ck_assert_str_eq(server_ask(server, "HGET x " STRANGER), "1");
}
END_TEST

START_TEST(lock_that_another_holds_is_not_acquired)
{
    hold_by_other("x", 60000);
    ck_assert_int_eq(finish(holdfast(server, "hold", "-n", "x", NULL)), 75);
    ck_assert_int_eq(finish(holdfast(server, "hold", "-w50ms", "-E3", "x", NULL)), 3);
}
END_TEST

START_TEST(lock_that_cannot_be_reported_is_released)
{
    struct process *p;

    hold_by_other("x", 60000);
    p = holdfast(server, "hold", "x", NULL);
    await_waiter();
    deafen(p, OUT);
    (void)server_ask(server, "DEL x");
    (void)server_ask(server, "PUBLISH " CHANNEL " 0");
    await_line(p, ERR, "releasing the lock");
    ck_assert_int_eq(finish(p), 125);
    ck_assert(!is_held());
}
END_TEST

/* Its pipe is full, and is read only at the end. */
static const char unread[] =
    "exec 3<&0; (head -c 65536 /dev/zero; sh -c 'echo pid $$ >&2; exec " HF_BUILD
    "/holdfast hold --ttl 6s x'; echo code $? >&2) | (read go <&3; cat >/dev/null)";

START_TEST(output_that_is_not_read_delays_neither_renewals_nor_the_end)
{
    char *argv[] = {(char *)"sh", (char *)"-c", (char *)unread, NULL};
    struct process *p = start(server, argv);
    int pid;

    ck_assert_int_eq(sscanf(await_line(p, ERR, "pid "), "pid %d", &pid), 1);
    server_await(server, PATIENCE_MS, "1", "EXISTS x");
    (void)server_ask(server, "PEXPIRE x 3600000"); /* a renewal shortens it */
    server_await(server, PATIENCE_MS, "1", "EVAL %s 0",
                 "return redis.call('pttl', 'x') <= 6000 and 1 or 0");
    ck_assert(is_held());
    (void)kill(pid, _i ? SIGTERM : SIGINT);
    await_line(p, ERR, "code 0");
    ck_assert(!is_held());
    say(p, "go\n");
    (void)finish(p);
}
END_TEST

/* Ctrl-S stops the terminal before the lock is requested. */
START_TEST(stopped_terminal_delays_neither_renewals_nor_the_end)
{
    char *argv[] = {(char *)"sh", (char *)"-c",
                    (char *)"read go; exec " HF_BUILD "/holdfast hold --ttl 6s x", NULL};
    struct process *p = start_on_terminal(server, argv);

    say(p, "\023go\n");
    server_await(server, PATIENCE_MS, "1", "EXISTS x");
    (void)server_ask(server, "PEXPIRE x 3600000"); /* a renewal shortens it */
    server_await(server, PATIENCE_MS, "1", "EVAL %s 0",
                 "return redis.call('pttl', 'x') <= 6000 and 1 or 0");
    (void)kill(pid_of(p), SIGTERM);
    ck_assert_int_eq(finish(p), 0);
    ck_assert(!is_held());
}
END_TEST

START_TEST(programs_read_an_object)
{
    struct process *p = holdfast(server, "hold", "--json", "--fenced", "x", NULL);
    const char *line = await_line(p, OUT, "{");

    ck_assert_str_eq(member(line, "name"), "x");
    ck_assert_str_eq(member(line, "token"), server_ask(server, "GET redisson_lock_token:{x}"));
    (void)kill(pid_of(p), SIGINT);
    ck_assert_int_eq(finish(p), 0);
}
END_TEST

/* Whether it is told with -v alone. */
static const struct {
    const char *write, *said;   /* NULL: as Redisson would write it */
    bool is_step;
} others[] = {
    {NULL, "waiting for x: held by " STRANGER ", TTL ", true},
    {"HSET x " STRANGER " 1", "waiting for x: held by " STRANGER " without a TTL, so it never "
                              "expires; if its holder no longer runs, use 'holdfast unlock'",
     false},
};

START_TEST(the_wait_is_reported)
{
    struct process *p;

    if (!others[_i].write)
        hold_by_other("x", 60000);
    else
        (void)server_ask(server, others[_i].write);
    p = holdfast(server, "hold", others[_i].is_step ? "-v" : "-w1h", "x", NULL);
    (void)await_line(p, ERR, others[_i].said);
    (void)kill(pid_of(p), SIGTERM);
    ck_assert_int_eq(finish(p), 1000 + SIGTERM);
}
END_TEST

static const struct {
    const char *word, *said;
} wrong[] = {{"", "NAME is empty"}, {"--frob", "unknown option '--frob'"}};

START_TEST(wrong_usage_is_an_error)
{
    struct process *p = holdfast(server, "hold", wrong[_i].word, NULL);

    await_line(p, ERR, wrong[_i].said);
    ck_assert_int_eq(finish(p), 125);
    p = holdfast(server, "hold", "x", "sleep", NULL);
    await_line(p, ERR, "to run a command under the lock, use 'holdfast run'");
    ck_assert_int_eq(finish(p), 125);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("holdfast hold");
    TCase *c = run_case(s, "hold");

    tcase_add_loop_test(c, it_is_held_until_a_signal, 0, ROWS(signals));
    tcase_add_test(c, it_is_renewed);
    tcase_add_test(c, end_of_input_releases_it);
    tcase_add_test(c, input_that_has_ended_acquires_nothing);
    tcase_add_test(c, input_without_an_end_does_not_end_the_hold);
    tcase_add_test(c, without_stdin_its_input_does_not_matter);
    tcase_add_test(c, loss_has_the_code_of_a_loss);
    tcase_add_test(c, loss_before_the_release_is_one);
    tcase_add_test(c, signal_ends_the_wait);
    tcase_add_test(c, lock_that_another_holds_is_not_acquired);
    tcase_add_test(c, lock_that_cannot_be_reported_is_released);
    tcase_add_loop_test(c, output_that_is_not_read_delays_neither_renewals_nor_the_end, 0, 2);
    tcase_add_test(c, stopped_terminal_delays_neither_renewals_nor_the_end);
    tcase_add_test(c, programs_read_an_object);
    tcase_add_loop_test(c, the_wait_is_reported, 0, ROWS(others));
    tcase_add_loop_test(c, wrong_usage_is_an_error, 0, ROWS(wrong));
    return run_suite(s);
}
