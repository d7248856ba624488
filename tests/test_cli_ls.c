/* `holdfast ls` without a server: its command line, and its list. */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/ls/list.h"
#include "cli/ls/ls_options.h"
#include "tests/support/suite.h"

static char text[1024];         /* what was written */

/* What is written to this descriptor goes into a file from here on. */
static FILE *catch(int fd)
{
    FILE *file = tmpfile();

    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(dup2(fileno(file), fd), 0);
    return file;
}

static void read_caught(FILE *file)
{
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    (void)fclose(file);
}

/* ---- the command line ---- */

static struct ls_options options;

/* Up to three words, NULL behind the last. */
static int parse(const char *a, const char *b, const char *c)
{
    char *words[] = {(char *)a, (char *)b, (char *)c, NULL};
    struct cli_args args = {.next = words, .command = &cli_ls_command};
    FILE *said = catch(STDERR_FILENO);
    struct cli_common common;
    int rc;

    cli_common_init(&common);
    rc = ls_options_parse(&options, &args, &common);
    read_caught(said);
    return rc;
}

START_TEST(plain_call_lists_all_at_a_pace)
{
    ck_assert_int_eq(parse(NULL, NULL, NULL), CLI_GO_ON);
    ck_assert_ptr_null(options.pattern);
    ck_assert_int_eq(options.time_ms, 0);
    ck_assert_int_eq(options.limit, 0);
    ck_assert_int_eq(options.rate, 50000);
}
END_TEST

START_TEST(each_option_is_taken)
{
    ck_assert_int_eq(parse("--time=250ms", "--limit=7", "--rate=9"),
                     CLI_GO_ON);
    ck_assert_int_eq(options.time_ms, 250);
    ck_assert_int_eq(options.limit, 7);
    ck_assert_int_eq(options.rate, 9);
    ck_assert_int_eq(parse("--rate", "1000000000", "a*"), CLI_GO_ON);
    ck_assert_int_eq(options.rate, 1000000000);
    ck_assert_str_eq(options.pattern, "a*");
    ck_assert_int_eq(parse("--", "--time", NULL), CLI_GO_ON);
    ck_assert_str_eq(options.pattern, "--time");
}
END_TEST

static const struct {
    const char *words[3], *said;
} mistakes[] = {
    {{"a", "b"}, "ls: one PATTERN only; 'b' is too much"},
    {{""}, "PATTERN is empty"},
    {{"--time"}, "--time needs a value: DURATION"},
    {{"--time=0"}, "--time '0' is too short"},
    {{"--time=soon"}, "--time 'soon': write a number of seconds"},
    {{"--limit=0"}, "--limit '0': write a number from 1"},
    {{"--limit", "1000000001"}, "from 1 to 1000000000"},
    {{"--rate=fast"}, "--rate 'fast': write a number from 1"},
    {{"--long"}, "unknown option '--long'; see 'holdfast help ls'"},
};

START_TEST(mistakes_are_told)
{
    const char *const *w = mistakes[_i].words;

    ck_assert_int_eq(parse(w[0], w[1], w[2]), CLI_TROUBLE);
    ck_assert_msg(strstr(text, mistakes[_i].said), "%s", text);
}
END_TEST

/* ---- the list ---- */

static struct ls_list list;

static void add(const char *name, size_t len, struct hf_lock_info info)
{
    info.is_locked = true;
    (void)strcpy(info.holder, "me:1");
    info.holder_len = 4;
    ck_assert_int_eq(ls_list_add(&list, name, len, &info), HF_OK);
}

static void add_plain(const char *name)
{
    add(name, strlen(name),
        (struct hf_lock_info){.kind = HF_KIND_PLAIN,
                              .ttl_ms = 1500,
                              .holders = 1,
                              .hold_count = 2});
}

static const char *printed(enum ls_form form)
{
    FILE *out = catch(STDOUT_FILENO);

    ck_assert_int_eq(ls_list_print(&list, form), CLI_GO_ON);
    (void)fflush(stdout);
    read_caught(out);
    return text;
}

START_TEST(names_are_sorted_by_bytes_and_stand_once)
{
    static const char *const names[] = {"b", "a", "ab", "b", "\xff", "B", "a"};

    for (size_t i = 0; i < ROWS(names); i++)
        add_plain(names[i]);
    ls_list_sort(&list);
    ck_assert_uint_eq(list.count, 5);
    ck_assert_str_eq(printed(LS_TABS), "B\tplain\tme:1\t1\t2\t1500\n"
                                       "a\tplain\tme:1\t1\t2\t1500\n"
                                       "ab\tplain\tme:1\t1\t2\t1500\n"
                                       "b\tplain\tme:1\t1\t2\t1500\n"
                                       "\\xff\tplain\tme:1\t1\t2\t1500\n");
    ls_list_fini(&list);
}
END_TEST

START_TEST(list_grows_and_is_freed)
{
    char name[16];

    for (int i = 0; i < 1000; i++) {
        (void)snprintf(name, sizeof name, "%d", i % 700);
        add_plain(name);
    }
    ls_list_sort(&list);
    ck_assert_uint_eq(list.count, 700);
    ls_list_fini(&list);
    ck_assert_uint_eq(list.count, 0);
    ls_list_sort(&list);
    ls_list_fini(&list);
}
END_TEST

/* Columns are as wide as what they hold, in characters. */
START_TEST(table_has_a_heading_and_aligned_columns)
{
    add_plain("\xc3\xa9t\xc3\xa9");
    add("all", 3, (struct hf_lock_info){.kind = HF_KIND_MULTI,
                                        .ttl_ms = -1,
                                        .holders = 1});
    ls_list_sort(&list);
    ck_assert_str_eq(printed(LS_TABLE),
                     "NAME  KIND   HOLDER  HOLDERS  COUNT  TTL\n"
                     "all   multi  me:1    1        -      none\n"
                     "\xc3\xa9t\xc3\xa9   plain  me:1    1        2      "
                     "1.5 s\n");
    ls_list_fini(&list);
    ck_assert_str_eq(printed(LS_TABLE), "");
}
END_TEST

/* A name is shown whole, however long and odd: it is to be used. */
START_TEST(odd_names_are_escaped_and_not_cut)
{
    char name[500];

    memset(name, '\t', sizeof name);
    name[1] = '\0';
    add(name, 500, (struct hf_lock_info){.kind = HF_KIND_FAIR});
    (void)printed(LS_TABS);
    ck_assert_int_eq(strncmp(text, "\\x09\\x00\\x09", 12), 0);
    ls_list_fini(&list);
    memset(name, 'n', sizeof name);
    add(name, 500, (struct hf_lock_info){.kind = HF_KIND_FAIR});
    (void)printed(LS_TABS);
    ck_assert_uint_eq(strcspn(text, "\t"), 500);
    ls_list_fini(&list);
}
END_TEST

START_TEST(json_has_the_members_of_status)
{
    add("a\0b", 3, (struct hf_lock_info){.kind = HF_KIND_WRITE,
                                         .ttl_ms = 7,
                                         .holders = 1,
                                         .hold_count = 3});
    ck_assert_str_eq(printed(LS_JSON),
                     "{\"name\":\"a\\u0000b\",\"held\":true,"
                     "\"kind\":\"write\",\"owner\":\"me:1\",\"holders\":1,"
                     "\"hold_count\":3,\"ttl_ms\":7}\n");
    ls_list_fini(&list);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("holdfast ls");
    TCase *c = tcase_create("options");

    tcase_add_test(c, plain_call_lists_all_at_a_pace);
    tcase_add_test(c, each_option_is_taken);
    tcase_add_loop_test(c, mistakes_are_told, 0, ROWS(mistakes));
    suite_add_tcase(s, c);

    c = tcase_create("list");
    tcase_add_test(c, names_are_sorted_by_bytes_and_stand_once);
    tcase_add_test(c, list_grows_and_is_freed);
    tcase_add_test(c, table_has_a_heading_and_aligned_columns);
    tcase_add_test(c, odd_names_are_escaped_and_not_cut);
    tcase_add_test(c, json_has_the_members_of_status);
    suite_add_tcase(s, c);
    return suite_run(s);
}
