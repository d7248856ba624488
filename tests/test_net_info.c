/* The lines of INFO, however they end. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "net/base/info.h"
#include "tests/support/suite.h"

#define COUNT(table) ((int)(sizeof(table) / sizeof *(table)))

static const struct {
    const char *text, *name, *value; /* NULL: there is no such line */
} lines[] = {
    {"# Server\r\nredis_version:7.0.15\r\nrun_id:abc\r\n", "run_id", "abc"},
    {"# Server\r\nredis_version:7.0.15\r\nrun_id:abc\r\n", "redis_version", "7.0.15"},
    {"run_id:abc", "run_id", "abc"},
    {"run_id:abc\n", "run_id", "abc"},
    {"run_id:abc\r", "run_id", "abc"},
    {"run_id:\r\nx:1\r\n", "run_id", ""},
    {"run_id:", "run_id", ""},
    {"a:1\r\na:2\r\n", "a", "1"},
    {"slave0:ip=::1,port=1\r\n", "slave0", "ip=::1,"},
    {"old_run_id:abc\r\n", "run_id", NULL},
    {"run_id_old:abc\r\n", "run_id", NULL},
    {"x run_id:abc\r\n", "run_id", NULL},
    {"run_id\r\n", "run_id", NULL},
    {"\r\n\r\n:1\n", "run_id", NULL},
    {":1\n", "", "1"},
    {"", "run_id", NULL},
    {"run_id:0123456789\r\n", "run_id", "0123456"}, /* cut */
};

/* At the end of its memory, so that a byte too many is an error with a sanitizer. */
START_TEST(a_line_is_found_by_its_whole_name)
{
    size_t len = strlen(lines[_i].text);
    char *text = malloc(len > 0 ? len : 1), dst[8] = "before";

    memcpy(text, lines[_i].text, len);
    ck_assert_int_eq(hf_info_find(text, len, lines[_i].name, dst,
                                  sizeof dst),
                     lines[_i].value != NULL);
    ck_assert_str_eq(dst, lines[_i].value ? lines[_i].value : "before");
    free(text);
}
END_TEST

START_TEST(lines_are_read_in_their_order)
{
    const char *text = "# Replication\r\nrole:master\r\n\r\nconnected_slaves:1\n";
    size_t len = strlen(text);
    struct hf_info_line line;

    ck_assert(hf_info_next(&text, &len, &line));
    ck_assert_mem_eq(line.name, "role", line.name_len);
    ck_assert_mem_eq(line.value, "master", line.value_len);
    ck_assert(hf_info_next(&text, &len, &line));
    ck_assert_uint_eq(line.name_len, strlen("connected_slaves"));
    ck_assert_uint_eq(line.value_len, 1);
    ck_assert(!hf_info_next(&text, &len, &line));
    ck_assert_uint_eq(len, 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("net/info");
    TCase *c = tcase_create("lines");

    tcase_add_loop_test(c, a_line_is_found_by_its_whole_name, 0, COUNT(lines));
    tcase_add_test(c, lines_are_read_in_their_order);
    suite_add_tcase(s, c);
    return suite_run(s);
}
