/* JSON lines for programs. Source: RFC 8259, sections 7 and 8.1. */
#include <check.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "cli/base/json.h"
#include "tests/support/suite.h"

/* Tables may hold NULs. */
#define BYTES(literal) (literal), sizeof(literal) - 1

static const struct {
    const char *bytes;
    size_t len;
    const char *json;
} texts[] = {
    {BYTES(""), "{\"k\":\"\"}\n"},
    {BYTES("plain text"), "{\"k\":\"plain text\"}\n"},
    {BYTES("\"quoted\" \\ /"), "{\"k\":\"\\\"quoted\\\" \\\\ /\"}\n"},
    {BYTES("a\nb\tc\r\0d\x1f\x7f"),
     "{\"k\":\"a\\u000ab\\u0009c\\u000d\\u0000d\\u001f\\u007f\"}\n"},
    {BYTES("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x94\x92"),
     "{\"k\":\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x94\x92\"}\n"},
    {BYTES("\xff"), "{\"k\":\"\\ufffd\"}\n"},
    {BYTES("\xc3"), "{\"k\":\"\\ufffd\"}\n"},              /* cut */
    {BYTES("\xe2\x82"), "{\"k\":\"\\ufffd\\ufffd\"}\n"},   /* cut */
    {BYTES("\xc0\xaf"), "{\"k\":\"\\ufffd\\ufffd\"}\n"},   /* overlong */
    {BYTES("\xed\xa0\x80"), "{\"k\":\"\\ufffd\\ufffd\\ufffd\"}\n"},
    {BYTES("\xf4\x90\x80\x80"),
     "{\"k\":\"\\ufffd\\ufffd\\ufffd\\ufffd\"}\n"},
    {BYTES("\xc2\x9b\xc2\xa0"), "{\"k\":\"\\u009b\xc2\xa0\"}\n"}, /* C1 */
    {BYTES("\xe2\x80\xae\xd8\x9c\xe2\x81\xa9\xe2\x80\xa8"),
     "{\"k\":\"\\u202e\\u061c\\u2069\\u2028\"}\n"}, /* bidirectional, a line */
    {BYTES("\x80z"), "{\"k\":\"\\ufffdz\"}\n"},
};

START_TEST(any_bytes_become_a_string)
{
    struct cli_json j;

    cli_json_init(&j);
    cli_json_bytes(&j, "k", texts[_i].bytes, texts[_i].len);
    ck_assert_str_eq(cli_json_end(&j), texts[_i].json);
    ck_assert_uint_eq(j.len, strlen(texts[_i].json));
    cli_json_fini(&j);
}
END_TEST

/* As `holdfast-resp --json` spells what is not UTF-8. */
static const struct {
    const char *bytes;
    size_t len;
    const char *json;
} spelled[] = {
    {BYTES("\xff"), "\"k\":\"\\\\xff\",\"escaped\":true"},
    {BYTES("\\\xff"), "\"k\":\"\\\\\\\\\\\\xff\",\"escaped\":true"},
    {BYTES("a\"\0\x80\xc3"),
     "\"k\":\"a\\\"\\u0000\\\\x80\\\\xc3\",\"escaped\":true"},
    {BYTES("\xc3\xa9\xc2\x9b"), "\"k\":\"\xc3\xa9\\u009b\""},
    {BYTES("\\"), "\"k\":\"\\\\\""},
};

START_TEST(invalid_bytes_are_escaped_and_marked)
{
    char line[200];
    struct cli_json j;

    cli_json_init(&j);
    cli_json_choose_escaping(&j, spelled[_i].bytes, spelled[_i].len);
    cli_json_bytes(&j, "k", spelled[_i].bytes, spelled[_i].len);
    (void)snprintf(line, sizeof line, "{%s}\n", spelled[_i].json);
    ck_assert_str_eq(cli_json_end(&j), line);
    cli_json_fini(&j);
}
END_TEST

/* Whichever of them has the stray byte; `escaped` comes once. */
START_TEST(all_texts_are_spelled_alike)
{
    struct cli_json j;

    cli_json_init(&j);
    cli_json_choose_escaping(&j, BYTES("a\\"));
    cli_json_choose_escaping(&j, BYTES("\xff"));
    cli_json_text(&j, "a", "a\\");
    cli_json_text(&j, "b", "\xff");
    ck_assert_str_eq(cli_json_end(&j),
                     "{\"a\":\"a\\\\\\\\\",\"escaped\":true,"
                     "\"b\":\"\\\\xff\"}\n");
    cli_json_fini(&j);
}
END_TEST

START_TEST(members_keep_their_order)
{
    struct cli_json j;

    cli_json_init(&j);
    cli_json_text(&j, "a", "b");
    cli_json_integer(&j, "low", INT64_MIN);
    cli_json_integer(&j, "high", INT64_MAX);
    cli_json_bool(&j, "yes", true);
    cli_json_bool(&j, "no", false);
    ck_assert_str_eq(cli_json_end(&j),
                     "{\"a\":\"b\",\"low\":-9223372036854775808,"
                     "\"high\":9223372036854775807,\"yes\":true,"
                     "\"no\":false}\n");
    cli_json_fini(&j);
}
END_TEST

START_TEST(empty_object_is_valid)
{
    struct cli_json j;

    cli_json_init(&j);
    ck_assert_str_eq(cli_json_end(&j), "{}\n");
    cli_json_fini(&j);
}
END_TEST

/* Around the sizes at which the line grows. */
START_TEST(long_text_is_kept_whole)
{
    char text[2048];
    struct cli_json j;

    memset(text, 'x', sizeof text);
    for (size_t len = 240; len < sizeof text; len += 7) {
        cli_json_init(&j);
        cli_json_bytes(&j, "k", text, len);
        ck_assert_ptr_nonnull(cli_json_end(&j));
        ck_assert_uint_eq(j.len, len + strlen("{\"k\":\"\"}\n"));
        cli_json_fini(&j);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cli/json");
    TCase *c = tcase_create("lines");

    tcase_add_loop_test(c, invalid_bytes_are_escaped_and_marked, 0, ROWS(spelled));
    tcase_add_test(c, all_texts_are_spelled_alike);
    tcase_add_loop_test(c, any_bytes_become_a_string, 0,
                        sizeof texts / sizeof *texts);
    tcase_add_test(c, members_keep_their_order);
    tcase_add_test(c, empty_object_is_valid);
    tcase_add_test(c, long_text_is_kept_whole);
    suite_add_tcase(s, c);
    return suite_run(s);
}
