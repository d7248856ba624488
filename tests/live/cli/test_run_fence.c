/* `holdfast fence`: the counter of fencing tokens, and what it says of one. */
#include <string.h>

#include "tests/live/test_run_kit.h"

#include "tests/support/suite.h"

static void says(struct process *p, int code, const char *text)
{
    ck_assert_int_eq(finish(p), code);
    ck_assert_str_eq(await_end(p, OUT), text);
    ck_assert_str_eq(await_end(p, ERR), "");
}

START_TEST(a_name_without_tokens_prints_none)
{
    says(holdfast(server, "fence", "x", NULL), 1, "x: no token yet\n");
    says(holdfast(server, "fence", "-q", "x", NULL), 1, "");
}
END_TEST

START_TEST(the_latest_token_is_shown)
{
    ck_assert_int_eq(
        finish(holdfast(server, "run", "--fenced", "x", "true", NULL)), 0);
    ck_assert_int_eq(finish(holdfast(server, "run", "--fair", "--fenced", "x",
                                     "true", NULL)), 0);
    says(holdfast(server, "fence", "x", NULL), 0, "x: token 2\n");
}
END_TEST

static const struct {
    const char *token, *text, *json;
    int code;
} checks[] = {
    {"41", "x: token 41 is stale: the latest is 42\n", "true", 1},
    {"42", "x: token 42 is the latest\n", "false", 0},
    {"43", "x: token 43 is greater than the counter (42): the server lost the "
           "counter\n", "false", 2},
    {"9223372036854775807", "x: token 9223372036854775807 is greater than the "
     "counter (42): the server lost the counter\n", "false", 2},
};

START_TEST(a_token_is_tested)
{
    struct process *p;

    (void)server_ask(server, "SET redisson_lock_token:{x} 42");
    says(holdfast(server, "fence", "x", "check", checks[_i].token, NULL),
         checks[_i].code, checks[_i].text);
    says(holdfast(server, "fence", "-q", "x", "check", checks[_i].token, NULL),
         checks[_i].code, "");
    p = holdfast(server, "fence", "--json", "x", "check", checks[_i].token,
                 NULL);
    ck_assert_str_eq(member(await_line(p, OUT, "latest"), "stale"),
                     checks[_i].json);
    ck_assert_int_eq(finish(p), checks[_i].code);
}
END_TEST

/* No counter at all: it was deleted, or its retention has ended. */
START_TEST(a_token_without_a_counter_is_reported)
{
    struct process *p;

    says(holdfast(server, "fence", "x", "check", "5", NULL), 2,
         "x: token 5 is greater than the counter (0): the server lost the counter\n");
    p = holdfast(server, "fence", "--json", "x", "check", "5", NULL);
    ck_assert_str_eq(member(await_line(p, OUT, "latest"), "counter_lost"), "true");
    ck_assert_int_eq(finish(p), 2);
}
END_TEST

START_TEST(no_byte_of_a_name_is_lost)
{
    says(holdfast(server, "fence", "--json", "\xff", NULL), 1,
         "{\"name\":\"\\\\xff\",\"escaped\":true,\"latest\":0}\n");
}
END_TEST

START_TEST(a_counter_that_is_not_a_number_is_reported)
{
    struct process *p;

    (void)server_ask(server, "SET redisson_lock_token:{x} many");
    p = holdfast(server, "fence", "x", NULL);
    ck_assert_int_eq(finish(p), 125);
    ck_assert_ptr_nonnull(strstr(await_end(p, ERR),
                                 "value is not an integer from 0 to 2^53: the "
                                 "counter redisson_lock_token:{x}"));
}
END_TEST

/* The command of a run finds out about itself. */
START_TEST(a_command_tests_its_own_token)
{
    struct process *p = holdfast(
        server, "run", "--fenced", "x", "-c",
        HF_BUILD "/holdfast fence x check $HOLDFAST_TOKEN", NULL);

    says(p, 0, "x: token 1 is the latest\n");
}
END_TEST

static const char *const wrong[][4] = {
    {NULL},
    {"x", "check"},
    {"x", "check", "0"},
    {"x", "check", "-1"},
    {"x", "check", "1x"},
    {"x", "check", ""},
    {"x", "check", "9223372036854775808"},
    {"x", "test", "1"},
    {"x", "check", "1", "2"},
};

START_TEST(invalid_query_is_refused)
{
    ck_assert_int_eq(finish(holdfast(server, "fence", wrong[_i][0],
                                     wrong[_i][1], wrong[_i][2], wrong[_i][3],
                                     NULL)), 125);
}
END_TEST

START_TEST(an_invalid_counter_is_an_error)
{
    (void)server_ask(server, "LPUSH redisson_lock_token:{x} 1");
    ck_assert_int_eq(finish(holdfast(server, "fence", "x", NULL)), 125);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("holdfast fence");
    TCase *c = run_case(s, "fence");

    tcase_add_test(c, a_name_without_tokens_prints_none);
    tcase_add_test(c, the_latest_token_is_shown);
    tcase_add_test(c, no_byte_of_a_name_is_lost);
    tcase_add_loop_test(c, a_token_is_tested, 0, ROWS(checks));
    tcase_add_test(c, a_counter_that_is_not_a_number_is_reported);
    tcase_add_test(c, a_token_without_a_counter_is_reported);
    tcase_add_test(c, a_command_tests_its_own_token);
    tcase_add_loop_test(c, invalid_query_is_refused, 0, ROWS(wrong));
    tcase_add_test(c, an_invalid_counter_is_an_error);
    return run_suite(s);
}
