/* `holdfast status` and `holdfast unlock` against a real server. */
#include "tests/live/test_run_kit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SH "sh", "-c"
#define HOLDFAST HF_BUILD "/holdfast"
#define OTHER "somebody-else:1"

/* ---- status ---- */

START_TEST(held_lock_is_shown_with_code_0)
{
    struct process *p;

    hold_by_other("x", 60000);
    p = holdfast(server, "status", "x", NULL);
    ck_assert_int_eq(finish(p), 0);
    (void)await_line(p, OUT, "x: held by " OTHER ", hold count 1, TTL 59.");
    ck_assert_str_eq(await_end(p, OUT), "");
    ck_assert_str_eq(await_end(p, ERR), "");
}
END_TEST

START_TEST(free_lock_is_shown_with_code_1)
{
    struct process *p = holdfast(server, "status", "x", NULL);

    ck_assert_int_eq(finish(p), 1);
    ck_assert_str_eq(await_end(p, OUT), "x: free\n");
}
END_TEST

START_TEST(quiet_status_has_only_a_code)
{
    struct process *p = holdfast(server, "status", "x", "-q", NULL);

    ck_assert_int_eq(finish(p), 1);
    ck_assert_str_eq(await_end(p, OUT), "");
    ck_assert_str_eq(await_end(p, ERR), "");
}
END_TEST

/* 0 only if all are held; trouble with one does not hide the others. */
START_TEST(of_several_locks_the_worst_counts)
{
    struct process *p;

    hold_by_other("x", 60000);
    hold_by_other("y", 60000);
    (void)server_ask(server, "SET text value");
    ck_assert_int_eq(finish(holdfast(server, "status", "x", "y", NULL)), 0);
    ck_assert_int_eq(finish(holdfast(server, "status", "x", "z", NULL)), 1);
    p = holdfast(server, "status", "text", "z", "x", NULL);
    ck_assert_int_eq(finish(p), 125);
    ck_assert_ptr_nonnull(strstr(await_end(p, OUT), "z: free\nx: held by "));
    ck_assert_ptr_nonnull(strstr(await_end(p, ERR), "WRONGTYPE"));
}
END_TEST

START_TEST(json_has_a_line_for_each)
{
    struct process *p;
    const char *line;

    hold_by_other("x", 60000);
    p = holdfast(server, "status", "--json", "x", "a\"b", NULL);
    line = await_line(p, OUT, "");
    ck_assert_str_eq(member(line, "held"), "true");
    ck_assert_str_eq(member(line, "owner"), OTHER);
    ck_assert_str_eq(member(line, "hold_count"), "1");
    ck_assert_int_gt(atoi(member(line, "ttl_ms")), 50000);
    ck_assert_str_eq(await_line(p, OUT, ""),
                     "{\"name\":\"a\\\"b\",\"held\":false}");
    ck_assert_int_eq(finish(p), 1);
}
END_TEST

START_TEST(lock_without_ttl_is_said_to_stay)
{
    struct process *p;

    (void)server_ask(server, "HSET x " OTHER " 2");
    p = holdfast(server, "status", "x", NULL);
    (void)await_line(p, OUT, "hold count 2, no TTL");
    ck_assert_int_eq(finish(p), 0);
}
END_TEST

/* A holder's name may hold anything; a terminal must not obey it. */
START_TEST(holder_is_shown_tamed)
{
    struct process *p;

    (void)server_ask(server, "HSET x %b 1", "\033[2J\n", (size_t)5);
    p = holdfast(server, "status", "x", NULL);
    (void)await_line(p, OUT, "held by \\x1b[2J\\x0a,");
    ck_assert_int_eq(finish(p), 0);
}
END_TEST

START_TEST(environment_names_the_server)
{
    char *argv[] = {(char *)"sh", (char *)"-c",
                    (char *)"REDIS_URL=$U " HOLDFAST " status x;"
                            "HOLDFAST_URL=$U REDIS_URL=redis://:1 " HOLDFAST
                            " status y; HOLDFAST_URL= REDIS_URL=$U " HOLDFAST
                            " status z", NULL};
    char url[SERVER_URL_MAX];
    struct process *p;

    (void)setenv("U", server_url(server, url), 1);
    p = start(NULL, argv);
    ck_assert_str_eq(await_end(p, OUT), "x: free\ny: free\nz: free\n");
    ck_assert_int_eq(finish(p), 1);
}
END_TEST

/* ---- unlock ---- */

START_TEST(owner_is_compared)
{
    struct process *p;

    hold_by_other("x", 60000);
    p = holdfast(server, "unlock", "x", "--owner", "me:1", NULL);
    ck_assert_int_eq(finish(p), 1);
    ck_assert_ptr_nonnull(strstr(await_end(p, ERR), "held by " OTHER));
    ck_assert_str_eq(server_ask(server, "EXISTS x"), "1");
    p = holdfast(server, "unlock", "--owner", OTHER, "x", NULL);
    ck_assert_int_eq(finish(p), 0);
    ck_assert_str_eq(await_end(p, OUT),
                     "x: released; it was held by " OTHER "\n");
    ck_assert_str_eq(server_ask(server, "EXISTS x"), "0");
    p = holdfast(server, "unlock", "--owner", OTHER, "x", NULL);
    ck_assert_int_eq(finish(p), 1);
    ck_assert_ptr_nonnull(strstr(await_end(p, ERR), "it is free"));
}
END_TEST

START_TEST(waiters_wake)
{
    struct process *waiting;

    hold_by_other("x", 60000);
    waiting = holdfast(server, "run", "--status-fd", "3", "x", "true", NULL);
    (void)await_line(waiting, STATUS, "\"waiting\"");
    ck_assert_int_eq(
        finish(holdfast(server, "unlock", "-q", "x", "--force", "-y", NULL)),
        0);
    ck_assert_int_eq(finish(waiting), 0);
}
END_TEST

START_TEST(force_needs_a_terminal_or_yes)
{
    struct process *p;

    hold_by_other("x", 60000);
    p = holdfast(server, "unlock", "x", "--force", NULL);
    ck_assert_int_eq(finish(p), 125);
    ck_assert_ptr_nonnull(strstr(await_end(p, ERR), "add -y"));
    ck_assert_str_eq(server_ask(server, "EXISTS x"), "1");
    p = holdfast(server, "unlock", "x", "--force", "--yes", "--json", NULL);
    ck_assert_int_eq(finish(p), 0);
    ck_assert_str_eq(await_end(p, OUT), "{\"name\":\"x\",\"released\":true,"
                                        "\"owner\":\"" OTHER "\"}\n");
    ck_assert_str_eq(server_ask(server, "EXISTS x"), "0");
}
END_TEST

static const struct {
    const char *answer;
    int code;
    const char *left;
} answers[] = {{"y\n", 0, "0"},   {"Yes\n", 0, "0"}, {"n\n", 1, "1"},
               {"\n", 1, "1"},    {"\004", 1, "1"}};

START_TEST(force_asks_on_a_terminal)
{
    char *argv[] = {(char *)HOLDFAST, (char *)"unlock", (char *)"x",
                    (char *)"--force", NULL};
    struct process *p;

    hold_by_other("x", 60000);
    p = start_on_terminal(server, argv);
    (void)await_line(p, OUT, "x is held by " OTHER ", hold count 1");
    say(p, answers[_i].answer);
    ck_assert_int_eq(finish(p), answers[_i].code);
    ck_assert_str_eq(server_ask(server, "EXISTS x"), answers[_i].left);
}
END_TEST

/* Longer than what we can show, and so than what we can compare. */
START_TEST(owner_too_long_to_show_is_released_all_the_same)
{
    char owner[400];

    memset(owner, 'o', sizeof owner);
    (void)server_ask(server, "HSET x %b 1", owner, sizeof owner);
    ck_assert_int_eq(
        finish(holdfast(server, "unlock", "x", "--force", "-y", NULL)), 0);
    ck_assert_str_eq(server_ask(server, "EXISTS x"), "0");
}
END_TEST

static const char *const mistakes[][4] = {
    {"--owner", "o", NULL, "NAME is missing"},
    {"x", NULL, NULL, "--owner OWNER"},
    {"x", "y", NULL, "'y' is too much"},
    {"x", "--owner", NULL, "needs a value"},
    {"x", "--force", "--owner=o", "not both"},
};

START_TEST(mistakes_of_usage_are_told)
{
    struct process *p = holdfast(server, "unlock", mistakes[_i][0],
                                 mistakes[_i][1], mistakes[_i][2], NULL);

    ck_assert_int_eq(finish(p), 125);
    ck_assert_ptr_nonnull(strstr(await_end(p, ERR), mistakes[_i][3]));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("holdfast status, unlock");
    TCase *status = run_case(s, "status");
    TCase *unlock = run_case(s, "unlock");

    tcase_add_test(status, held_lock_is_shown_with_code_0);
    tcase_add_test(status, free_lock_is_shown_with_code_1);
    tcase_add_test(status, quiet_status_has_only_a_code);
    tcase_add_test(status, of_several_locks_the_worst_counts);
    tcase_add_test(status, json_has_a_line_for_each);
    tcase_add_test(status, lock_without_ttl_is_said_to_stay);
    tcase_add_test(status, holder_is_shown_tamed);
    tcase_add_test(status, environment_names_the_server);
    tcase_add_test(unlock, owner_is_compared);
    tcase_add_test(unlock, waiters_wake);
    tcase_add_test(unlock, force_needs_a_terminal_or_yes);
    tcase_add_loop_test(unlock, force_asks_on_a_terminal, 0, 5);
    tcase_add_test(unlock, owner_too_long_to_show_is_released_all_the_same);
    tcase_add_loop_test(unlock, mistakes_of_usage_are_told, 0, 5);
    return run_suite(s);
}
