/* `holdfast slot`: no server is asked, so there need not be one. */
#include <stdlib.h>
#include <string.h>

#include "tests/live/test_run_kit.h"

static void prints(struct process *p, const char *text)
{
    ck_assert_int_eq(finish(p), 0);
    ck_assert_str_eq(await_end(p, OUT), text);
    ck_assert_str_eq(await_end(p, ERR), "");
}

START_TEST(a_key_has_a_slot)
{
    prints(holdfast(NULL, "slot", "foo", NULL), "foo: 12182\n");
}
END_TEST

START_TEST(every_key_has_a_line)
{
    prints(holdfast(NULL, "slot", "foo", "{user1000}.following", "", NULL),
           "foo: 12182\n{user1000}.following: 3443\n: 0\n");
}
END_TEST

START_TEST(a_key_may_look_like_an_option)
{
    prints(holdfast(NULL, "slot", "--", "-q", "--json", NULL),
           "-q: 7692\n--json: 13528\n");
}
END_TEST

START_TEST(a_key_of_any_bytes_is_one_line)
{
    prints(holdfast(NULL, "slot", "{a\r\n}", "\xff\xfe", NULL),
           "{a\\x0d\\x0a}: 15181\n\\xff\\xfe: 3374\n");
}
END_TEST

/* A command that a terminal obeys in one character, and one that turns the line
 * around; what else is UTF-8 is shown. */
START_TEST(a_key_is_shown_and_not_obeyed)
{
    prints(holdfast(NULL, "slot", "{foo}gr\xc3\xbcn\xc2\x9b\xe2\x80\xae", NULL),
           "{foo}gr\xc3\xbcn\\xc2\\x9b\\xe2\\x80\\xae: 12182\n");
    prints(holdfast(NULL, "slot", "--json", "{foo}\xc3\xbc\xc2\x9b", NULL),
           "{\"key\":\"{foo}\xc3\xbc\\u009b\",\"slot\":12182}\n");
    prints(holdfast(NULL, "slot", "--json", "{foo}\xff", NULL),
           "{\"key\":\"{foo}\\\\xff\",\"escaped\":true,\"slot\":12182}\n");
}
END_TEST

/* What is no option is named in an error as it was typed. */
START_TEST(a_terminal_obeys_no_argument_in_an_error)
{
    struct process *p = holdfast(NULL, "slot", "--\xc2\x9b\x9bgr\xc3\xbcn", NULL);

    (void)await_line(p, ERR, "--???gr\xc3\xbcn");
    ck_assert_int_eq(finish(p), 125);
}
END_TEST

START_TEST(slots_are_there_for_programs)
{
    prints(holdfast(NULL, "slot", "--json", "foo", "a\"b", NULL),
           "{\"key\":\"foo\",\"slot\":12182}\n"
           "{\"key\":\"a\\\"b\",\"slot\":59}\n");
}
END_TEST

START_TEST(a_key_is_needed)
{
    struct process *p = holdfast(NULL, "slot", NULL);

    ck_assert_int_eq(finish(p), 125);
    ck_assert_str_eq(await_end(p, OUT), "");
    ck_assert_ptr_nonnull(strstr(await_end(p, ERR), "KEY is required"));
    ck_assert_int_eq(finish(holdfast(NULL, "slot", "--what", NULL)), 125);
}
END_TEST

START_TEST(help_describes_it)
{
    struct process *p = holdfast(NULL, "help", "slot", NULL);

    ck_assert_int_eq(finish(p), 0);
    ck_assert_ptr_nonnull(strstr(await_end(p, OUT), "slot [--json] KEY"));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("run_slot");
    TCase *c = run_case(s, "slot");

    tcase_add_test(c, a_key_has_a_slot);
    tcase_add_test(c, every_key_has_a_line);
    tcase_add_test(c, a_key_may_look_like_an_option);
    tcase_add_test(c, a_key_of_any_bytes_is_one_line);
    tcase_add_test(c, a_key_is_shown_and_not_obeyed);
    tcase_add_test(c, a_terminal_obeys_no_argument_in_an_error);
    tcase_add_test(c, slots_are_there_for_programs);
    tcase_add_test(c, a_key_is_needed);
    tcase_add_test(c, help_describes_it);
    return run_suite(s);
}
