/* `holdfast acquire` and `holdfast release`: a lock that outlives the process
 * that took it. */
#include "tests/live/test_run_kit.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/suite.h"

#define OWNER_MAX 128

/* Takes x for a minute; its owner goes to `owner`. Returns the safe time. */
static long take(char owner[OWNER_MAX])
{
    struct process *p = holdfast(server, "acquire", "x", "--lease", "1m", NULL);
    long safe_ms = 0;

    ck_assert_int_eq(finish(p), 0);
    ck_assert_int_eq(sscanf(await_end(p, OUT), "%127s %ld", owner, &safe_ms),
                     2);
    return safe_ms;
}

static int release(const char *owner)
{
    return finish(holdfast(server, "release", "x", owner, NULL));
}

static bool is_held(void)
{
    return strcmp(server_ask(server, "EXISTS x"), "1") == 0;
}

START_TEST(a_lock_stays_held_until_it_is_released)
{
    char owner[OWNER_MAX], ask[200];
    long safe_ms = take(owner);

    ck_assert_int_gt(safe_ms, 50000);
    ck_assert_int_le(safe_ms, 60000);
    (void)snprintf(ask, sizeof ask, "HGET x %s", owner);
    ck_assert_str_eq(server_ask(server, ask), "1");
    ck_assert_int_gt(atol(server_ask(server, "PTTL x")), safe_ms - 10000);
    ck_assert_int_eq(release(owner), 0);
    ck_assert(!is_held());
    ck_assert_int_eq(release(owner), 122);
}
END_TEST

START_TEST(nobody_renews_it)
{
    ck_assert_int_eq(finish(holdfast(server, "acquire", "x", "--lease", "200ms",
                                     NULL)), 0);
    ck_assert_int_eq(finish(holdfast(server, "acquire", "-w", "20s", "x",
                                     "--lease", "1m", NULL)), 0);
}
END_TEST

START_TEST(a_release_leaves_the_lock_of_another)
{
    char owner[OWNER_MAX];

    (void)take(owner);
    (void)server_ask(server, "DEL x");
    hold_by_other("x", 60000);
    ck_assert_int_eq(release(owner), 122);
    ck_assert(is_held());
    ck_assert_int_eq(release("nonsense"), 125);
}
END_TEST

START_TEST(a_release_wakes_a_waiter)
{
    char owner[OWNER_MAX];
    struct process *waiter;

    (void)take(owner);
    waiter = holdfast(server, "run", "x", "echo", "held", NULL);
    while (strcmp(server_ask(server,
                             "PUBSUB NUMSUB redisson_lock__channel:{x}"),
                  "redisson_lock__channel:{x} 1") != 0)
        ;
    ck_assert_int_eq(release(owner), 0);
    await_line(waiter, OUT, "held");
    ck_assert_int_eq(finish(waiter), 0);
}
END_TEST

START_TEST(a_lock_that_another_holds_is_not_acquired)
{
    hold_by_other("x", 60000);
    ck_assert_int_eq(finish(holdfast(server, "acquire", "-n", "x", "--lease",
                                     "1m", NULL)), 75);
    ck_assert_int_eq(finish(holdfast(server, "acquire", "-E", "3", "-w", "50ms",
                                     "x", "--lease", "1m", NULL)), 3);
}
END_TEST

/* Ended while it waits. The lock is then freed, and stays free. */
static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

START_TEST(a_signal_ends_the_wait_and_leaves_nothing)
{
    struct process *p;

    hold_by_other("x", 60000);
    p = holdfast(server, "acquire", "x", "--lease", "1m", NULL);
    while (!strstr(server_ask(server, "PUBSUB CHANNELS *"), "{x}"))
        ;
    (void)kill(pid_of(p), signals[_i]);
    ck_assert_int_eq(finish(p), 1000 + signals[_i]);
    (void)server_ask(server, "DEL x");
    ck_assert(!is_held());
}
END_TEST

START_TEST(an_owner_that_cannot_be_printed_holds_nothing)
{
    struct process *p;

    hold_by_other("x", 60000);
    p = holdfast(server, "acquire", "x", "--lease", "1m", NULL);
    deafen(p, OUT);
    (void)server_ask(server, "DEL x");
    (void)server_ask(server, "PUBLISH redisson_lock__channel:{x} 0");
    ck_assert_int_eq(finish(p), 125);
    ck_assert(!is_held());
}
END_TEST

/* Nor where there is no standard output at all. */
START_TEST(an_owner_without_standard_output_holds_nothing)
{
    char *argv[] = {(char *)"sh", (char *)"-c",
                    (char *)"exec " HF_BUILD
                            "/holdfast acquire x --lease 1m >&-", NULL};
    struct process *p = start(server, argv);

    await_line(p, ERR, "the lock is given back");
    ck_assert_int_eq(finish(p), 125);
    ck_assert(!is_held());
}
END_TEST

/* That it outlives the process is no loss to be told of. */
START_TEST(a_hold_that_stays_is_not_said_to_be_lost)
{
    struct process *p = holdfast(server, "acquire", "-v", "x", "--lease", "1m",
                                 NULL);

    ck_assert_str_eq(await_end(p, ERR), "");
    ck_assert_int_eq(finish(p), 0);
    ck_assert(is_held());
}
END_TEST

START_TEST(programs_read_an_object)
{
    struct process *p = holdfast(server, "acquire", "--json", "x", "--lease",
                                 "1m", NULL);
    char owner[OWNER_MAX];
    const char *line = await_line(p, OUT, "safe_ms");

    ck_assert_str_eq(member(line, "name"), "x");
    (void)snprintf(owner, sizeof owner, "%s", member(line, "owner"));
    ck_assert_int_eq(finish(p), 0);
    p = holdfast(server, "release", "--json", "x", owner, NULL);
    ck_assert_str_eq(member(await_line(p, OUT, "released"), "released"),
                     "true");
    ck_assert_int_eq(finish(p), 0);
}
END_TEST

START_TEST(wrong_usage_and_no_server_are_trouble)
{
    struct process *p;

    ck_assert_int_eq(finish(holdfast(server, "acquire", "x", NULL)), 125);
    ck_assert_int_eq(finish(holdfast(server, "acquire", "--lease", "1m", NULL)),
                     125);
    ck_assert_int_eq(finish(holdfast(server, "release", "x", NULL)), 125);
    p = holdfast(server, "release", "x", STRANGER, "59988", NULL);
    await_line(p, ERR, "the first word that 'holdfast acquire' printed");
    ck_assert_int_eq(finish(p), 125);
    ck_assert_int_eq(finish(holdfast(NULL, "acquire", "-n", "-u",
                                     "redis://127.0.0.1:1", "x", "--lease",
                                     "1m", NULL)), 125);
    ck_assert_int_eq(finish(holdfast(NULL, "release", "-u",
                                     "redis://127.0.0.1:1", "x", STRANGER,
                                     NULL)), 125);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("holdfast acquire, release");
    TCase *c = run_case(s, "acquire");

    tcase_add_test(c, a_lock_stays_held_until_it_is_released);
    tcase_add_test(c, nobody_renews_it);
    tcase_add_test(c, a_release_leaves_the_lock_of_another);
    tcase_add_test(c, a_release_wakes_a_waiter);
    tcase_add_test(c, a_lock_that_another_holds_is_not_acquired);
    tcase_add_loop_test(c, a_signal_ends_the_wait_and_leaves_nothing, 0,
                        ROWS(signals));
    tcase_add_test(c, an_owner_that_cannot_be_printed_holds_nothing);
    tcase_add_test(c, an_owner_without_standard_output_holds_nothing);
    tcase_add_test(c, a_hold_that_stays_is_not_said_to_be_lost);
    tcase_add_test(c, programs_read_an_object);
    tcase_add_test(c, wrong_usage_and_no_server_are_trouble);
    return run_suite(s);
}
