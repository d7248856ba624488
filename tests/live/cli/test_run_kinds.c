/* `holdfast run` and the kinds of locks: what each option takes, and what a run
 * inside another one may ask for. */
#include "tests/live/test_run_kit.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/suite.h"

#define HELD "8c1b7c0e-3d6f-4b1e-9c6a-0f2f4ce0a2b1:1"

/* What an option takes, beside what another has. */
static const struct {
    const char *option, *made;
    int code;
} kinds[] = {
    {"--shared", "HSET x mode read " HELD " 1", 0},
    {"-s", "HSET x mode write " HELD ":write 1", 75},
    {"--exclusive", "HSET x mode read " HELD " 1", 75},
    {"-x", "PING", 0},
    {"--fair", "PING", 0},
    {"--fair", "HSET x " HELD " 1", 75},
    {"--fair", "RPUSH redisson_lock_queue:{x} " HELD, 75},
    {"--fenced", "PING", 0},
    {"--value", "PING", 0},
    {"--value", "SET x somebody", 75},
};

START_TEST(a_lock_is_of_the_kind_that_is_requested)
{
    (void)server_ask(server, kinds[_i].made);
    (void)server_ask(server, "PEXPIRE x 60000");
    (void)server_ask(server, "PEXPIRE x:" HELD ":rwlock_timeout:1 60000");
    ck_assert_int_eq(finish(holdfast(server, "run", "-w", "0", kinds[_i].option, "x", "true", NULL)),
                     kinds[_i].code);
}
END_TEST

START_TEST(two_kinds_are_refused)
{
    struct process *p = holdfast(server, "run", "--fair", "-s", "x", "true",
                                 NULL);

    ck_assert_int_eq(finish(p), 125);
    ck_assert_ptr_nonnull(strstr(await_end(p, ERR), "cannot be combined"));
}
END_TEST

START_TEST(a_fenced_lock_gives_its_command_a_token)
{
    struct process *p;

    for (int i = 1; i <= 2; i++) {
        char expected[16];

        p = holdfast(server, "run", "--fenced", "x", "-c",
                     "echo $HOLDFAST_TOKEN", NULL);
        (void)snprintf(expected, sizeof expected, "%d\n", i);
        ck_assert_int_eq(finish(p), 0);
        ck_assert_str_eq(await_end(p, OUT), expected);
    }
    p = holdfast(server, "run", "--fenced", "--status-fd", "3", "x", "true",
                 NULL);
    ck_assert_str_eq(member(await_line(p, STATUS, "acquired"), "token"), "3");
    ck_assert_int_eq(finish(p), 0);
}
END_TEST

/* Those of one name have one counter. */
START_TEST(each_exclusive_kind_gives_a_token)
{
    static const char *const options[] = {"--fair", "-x", "--fair", "-x"};

    for (int i = 0; i < 4; i++) {
        char expected[16];
        struct process *p =
            holdfast(server, "run", "--fenced", options[i], "x", "-c",
                     "echo $HOLDFAST_TOKEN", NULL);

        (void)snprintf(expected, sizeof expected, "%d\n", i + 1);
        ck_assert_int_eq(finish(p), 0);
        ck_assert_str_eq(await_end(p, OUT), expected);
    }
}
END_TEST

START_TEST(sharer_has_no_token)
{
    struct process *p =
        holdfast(server, "run", "--fenced", "-s", "x", "true", NULL);

    ck_assert_int_eq(finish(p), 125);
    ck_assert_ptr_nonnull(strstr(await_end(p, ERR), "no token"));
}
END_TEST

/* A run inside another one: what it asks for, and what it is told. */
static const struct {
    const char *outer, *inner, *said;
    int code;
} inside[] = {
    {"-s", "-s", "", 0},
    {"-x", "-s", "", 0},
    {"-x", "-x", "", 0},
    {"-s", "-x", "the outer run holds this lock with --shared", 125},
    {"--fair", "--fair", "", 0},
    {"--fenced", "--fenced", "", 0},
    {"--fenced --fair", "--fair --fenced", "", 0},
    {"--fair", "--fenced", "this run has no token of the lock", 125},
};

/* One option, or two. */
static struct process *run_with(const char *options, const char *line)
{
    const char *second = strchr(options, ' ');
    char first[20];

    (void)snprintf(first, sizeof first, "%.*s",
                   (int)strcspn(options, " "), options);
    return second ? holdfast(server, "run", first, second + 1, "x", "-c", line,
                             NULL)
                  : holdfast(server, "run", first, "x", "-c", line, NULL);
}

START_TEST(a_nested_run_inherits_the_lock)
{
    char line[300];
    struct process *p;

    (void)snprintf(line, sizeof line,
                   HF_BUILD "/holdfast run -w 1s %s x "
                            "-c 'echo token: $HOLDFAST_TOKEN'",
                   inside[_i].inner);
    p = run_with(inside[_i].outer, line);
    ck_assert_int_eq(finish(p), inside[_i].code);
    ck_assert_ptr_nonnull(strstr(await_end(p, ERR), inside[_i].said));
    if (strstr(inside[_i].inner, "--fenced") && inside[_i].code == 0)
        ck_assert_str_eq(await_end(p, OUT), "token: 1\n");
}
END_TEST

/* The token of a lock around it is not that of another lock. */
START_TEST(a_run_on_another_name_inside_has_no_token)
{
    struct process *p = holdfast(
        server, "run", "--fenced", "x", "-c",
        HF_BUILD "/holdfast run y -c 'echo token: $HOLDFAST_TOKEN'", NULL);

    ck_assert_int_eq(finish(p), 0);
    ck_assert_str_eq(await_end(p, OUT), "token:\n");
}
END_TEST

/* Nor does a run on another name in between hide its own name, or hand on a token. */
START_TEST(a_run_inside_a_run_on_another_name_has_only_its_own_token)
{
    struct process *p = holdfast(
        server, "run", "--fenced", "x", "-c",
        HF_BUILD "/holdfast run --fenced y " HF_BUILD "/holdfast run x "
                 "-c 'echo $HOLDFAST_NAME token: $HOLDFAST_TOKEN'", NULL);

    ck_assert_int_eq(finish(p), 0);
    ck_assert_str_eq(await_end(p, OUT), "x token:\n");
    p = holdfast(server, "run", "--fenced", "x", "-c",
                 HF_BUILD "/holdfast run y " HF_BUILD
                          "/holdfast run --fenced x true", NULL);
    ck_assert_int_eq(finish(p), 125);
    ck_assert_ptr_nonnull(strstr(await_end(p, ERR), "this run has no token of the lock"));
}
END_TEST

/* Of the same name on two servers, each has its own. */
START_TEST(no_token_comes_from_another_server)
{
    struct server *other = server_start(NULL);
    char line[600], urls[2][SERVER_URL_MAX];
    struct process *p;

    (void)snprintf(line, sizeof line,
                   HF_BUILD "/holdfast run --fenced -u %s x " HF_BUILD
                            "/holdfast run -u %s x -c 'echo token: $HOLDFAST_TOKEN'",
                   server_url(other, urls[0]), server_url(server, urls[1]));
    p = holdfast(server, "run", "x", "-c", line, NULL);
    ck_assert_int_eq(finish(p), 0);
    ck_assert_str_eq(await_end(p, OUT), "token:\n");
    server_stop(other);
}
END_TEST

START_TEST(a_nested_run_reports_ignored_options)
{
    struct process *p =
        holdfast(server, "run", "x", "-c",
                 HF_BUILD "/holdfast run --at-least 1h x true", NULL);

    ck_assert_int_eq(finish(p), 0);
    ck_assert_ptr_nonnull(strstr(await_end(p, ERR), "--at-least has no effect"));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("holdfast run, kinds");
    TCase *c = run_case(s, "kinds");

    tcase_add_loop_test(c, a_lock_is_of_the_kind_that_is_requested, 0,
                        ROWS(kinds));
    tcase_add_test(c, two_kinds_are_refused);
    tcase_add_test(c, a_fenced_lock_gives_its_command_a_token);
    tcase_add_test(c, each_exclusive_kind_gives_a_token);
    tcase_add_test(c, sharer_has_no_token);
    tcase_add_loop_test(c, a_nested_run_inherits_the_lock, 0,
                        ROWS(inside));
    tcase_add_test(c, a_run_on_another_name_inside_has_no_token);
    tcase_add_test(c, a_run_inside_a_run_on_another_name_has_only_its_own_token);
    tcase_add_test(c, no_token_comes_from_another_server);
    tcase_add_test(c, a_nested_run_reports_ignored_options);
    return run_suite(s);
}
