/* `holdfast ls` without a server: its command line, and its list. */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/counter.h"
#include "cli/ls/glob.h"
#include "cli/ls/list.h"
#include "cli/ls/ls_options.h"
#include "cli/ls/permits.h"
#include "cli/ls/key_names.h"
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
    struct cli_args args = {.next_word = words, .command = &cli_ls_command};
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
    ck_assert_int_eq(parse(NULL, NULL, NULL), CLI_CONTINUE);
    ck_assert_ptr_null(options.filter.pattern);
    ck_assert_int_eq(options.time_ms, 0);
    ck_assert_int_eq(options.limit, 0);
    ck_assert_int_eq(options.rate, 50000);
}
END_TEST

#define BIT(KIND) (1u << (KIND))
#define OF_HASHES \
    (BIT(HF_KIND_PLAIN) | BIT(HF_KIND_FAIR) | BIT(HF_KIND_READ) | \
     BIT(HF_KIND_WRITE) | BIT(HF_KIND_MULTI))

/* What is listed, and which types of keys are looked through for it. */
static const struct {
    const char *words[2];
    unsigned kinds, types;
} filteres[] = {
    {{NULL}, OF_HASHES | BIT(HF_KIND_PERMIT), BIT(LS_HASH) | BIT(LS_ZSET)},
    {{"--kind=fair"}, BIT(HF_KIND_FAIR), BIT(LS_HASH)},
    {{"--kind=read", "--kind=write"}, BIT(HF_KIND_READ) | BIT(HF_KIND_WRITE),
     BIT(LS_HASH)},
    {{"--kind=permit"}, BIT(HF_KIND_PERMIT), BIT(LS_ZSET)},
    {{"--kind=value"}, BIT(HF_KIND_VALUE), BIT(LS_STRING)},
    {{"--kind=counter"}, LS_COUNTER, BIT(LS_STRING)},
    {{"--kind=all"}, OF_HASHES | BIT(HF_KIND_PERMIT) | BIT(HF_KIND_VALUE) |
     LS_COUNTER, BIT(LS_HASH) | BIT(LS_ZSET) | BIT(LS_STRING)},
};

START_TEST(kinds_decide_which_keys_are_scanned)
{
    ck_assert_int_eq(parse(filteres[_i].words[0], filteres[_i].words[1], NULL),
                     CLI_CONTINUE);
    ck_assert_uint_eq(options.kinds, filteres[_i].kinds);
    ck_assert_uint_eq(options.filter.types, filteres[_i].types);
}
END_TEST

START_TEST(each_option_is_taken)
{
    ck_assert_int_eq(parse("--time=250ms", "--limit=7", "--rate=9"),
                     CLI_CONTINUE);
    ck_assert_int_eq(options.time_ms, 250);
    ck_assert_int_eq(options.limit, 7);
    ck_assert_int_eq(options.rate, 9);
    ck_assert(!options.has_waiters);
    ck_assert_int_eq(parse("--waiters", NULL, NULL), CLI_CONTINUE);
    ck_assert(options.has_waiters);
    ck_assert_int_eq(parse("--rate", "1000000000", "a*"), CLI_CONTINUE);
    ck_assert_int_eq(options.rate, 1000000000);
    ck_assert_str_eq(options.filter.pattern, "a*");
    ck_assert_int_eq(parse("--", "--time", NULL), CLI_CONTINUE);
    ck_assert_str_eq(options.filter.pattern, "--time");
}
END_TEST

static const struct {
    const char *words[3], *said;
} mistakes[] = {
    {{"a", "b"}, "ls: unexpected argument 'b': only one PATTERN"},
    {{""}, "PATTERN is empty"},
    {{"--time"}, "--time needs a value: DURATION"},
    {{"--time=0"}, "--time '0' is too short"},
    {{"--time=soon"}, "--time 'soon': write a number of seconds"},
    {{"--limit=0"}, "--limit '0': write a number from 1"},
    {{"--limit", "1000000001"}, "from 1 to 1000000000"},
    {{"--rate=fast"}, "--rate 'fast': write a number from 1"},
    {{"--kind"}, "--kind needs a value: KIND"},
    {{"--kind=none"}, "--kind 'none': write plain, fair, read, write, multi, "},
    {{"--kind=permit", "--kind="}, "--kind '': write plain, "},
    {{"--tall"}, "unknown option '--tall'; see 'holdfast help ls'"},
};

START_TEST(invalid_options_are_reported)
{
    const char *const *w = mistakes[_i].words;

    ck_assert_int_eq(parse(w[0], w[1], w[2]), CLI_EXIT_ERROR);
    ck_assert_msg(strstr(text, mistakes[_i].said), "%s", text);
}
END_TEST

/* ---- the list ---- */

static struct ls_list list;

static void add(const char *name, size_t len, struct hf_lock_info info)
{
    struct cli_lock lock = {.name = name, .name_len = len};

    info.is_locked = true;
    (void)strcpy(info.holder, "me:1");
    info.holder_len = 4;
    lock.info = info;
    ck_assert_int_eq(ls_list_add(&list, &lock), HF_OK);
}

static void add_counter(const char *name, int64_t number)
{
    const struct cli_lock lock = {.name = name,
                                  .name_len = strlen(name),
                                  .info = {.kind = HF_KIND_PERMIT,
                                           .ttl_ms = -1,
                                           .hold_count = number}};

    ck_assert_int_eq(ls_list_add(&list, &lock), HF_OK);
}

static void add_permits(const char *name, int64_t out, int64_t left)
{
    const struct cli_lock lock = {.name = name,
                                  .name_len = strlen(name),
                                  .info = {.is_locked = true,
                                           .kind = HF_KIND_PERMIT,
                                           .ttl_ms = 1500,
                                           .hold_count = 1,
                                           .holders = out},
                                  .knows_available = true,
                                  .available = left};

    ck_assert_int_eq(ls_list_add(&list, &lock), HF_OK);
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

    ck_assert_int_eq(ls_list_print(&list, form, false), CLI_CONTINUE);
    (void)fflush(stdout);
    read_caught(out);
    return text;
}

START_TEST(names_are_sorted_by_bytes_and_appear_once)
{
    static const char *const names[] = {"b", "a", "ab", "b", "\xff", "B", "a"};

    for (size_t i = 0; i < ROWS(names); i++)
        add_plain(names[i]);
    ls_list_sort(&list);
    ck_assert_uint_eq(list.locks_count, 5);
    ck_assert_str_eq(printed(LS_TABS), "B\tplain\tme:1\t1\t2\t1500\t-\t-\n"
                                       "a\tplain\tme:1\t1\t2\t1500\t-\t-\n"
                                       "ab\tplain\tme:1\t1\t2\t1500\t-\t-\n"
                                       "b\tplain\tme:1\t1\t2\t1500\t-\t-\n"
                                       "\\xff\tplain\tme:1\t1\t2\t1500\t-\t-\n");
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
    ck_assert_uint_eq(list.locks_count, 700);
    ls_list_fini(&list);
    ck_assert_uint_eq(list.locks_count, 0);
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
    add_permits("pool", 3, 2);
    ls_list_sort(&list);
    ck_assert_str_eq(printed(LS_TABLE),
                     "NAME  KIND    HOLDER  HOLDERS  COUNT  TTL    WAITERS  "
                     "LEFT\n"
                     "all   multi   me:1    1        -      none   -        "
                     "-\n"
                     "pool  permit  -       3        -      1.5 s  -        "
                     "2\n"
                     "\xc3\xa9t\xc3\xa9   plain   me:1    1        2      "
                     "1.5 s  -        -\n");
    ls_list_fini(&list);
    ck_assert_str_eq(printed(LS_TABLE), "");
}
END_TEST

static void add_waiter(size_t lock, uint32_t place, const char *owner, const char *label)
{
    struct ls_waiter waiter = {.lock_index = lock, .place = place, .owner_len = strlen(owner)};

    (void)strcpy(waiter.owner, owner);
    (void)strcpy(waiter.label, label);
    ck_assert_int_eq(ls_list_add_waiter(&list, &waiter), HF_OK);
}

/* They are added as servers reply, in any order, and more than the first capacity. */
START_TEST(waiters_follow_their_lock_in_the_order_of_the_queue)
{
    add_plain("a");
    add_plain("b");
    ls_list_sort(&list);
    add_waiter(1, 2, "you:2", "");
    for (uint32_t place = 100; place > 0; place--)
        add_waiter(0, place, "we:1", "");
    add_waiter(1, 1, "you\t:1", "web3 4711");
    ls_list_sort_waiters(&list);
    for (uint32_t i = 0; i < 100; i++)
        ck_assert_uint_eq(list.waiters[i].place, i + 1);
    memmove(list.waiters, list.waiters + 98, 4 * sizeof *list.waiters);
    list.waiters_count = 4;
    ck_assert_str_eq(printed(LS_TABS), "a\tplain\tme:1\t1\t2\t1500\t-\t-\n"
                                       "\t99\twe:1\t-\n\t100\twe:1\t-\n"
                                       "b\tplain\tme:1\t1\t2\t1500\t-\t-\n"
                                       "\t1\tyou\\x09:1\tweb3 4711\n\t2\tyou:2\t-\n");
    ck_assert_ptr_nonnull(strstr(printed(LS_TABLE), "\n  1  you\\x09:1  web3 4711\n"));
    ck_assert_ptr_nonnull(strstr(printed(LS_JSON), "{\"name\":\"b\",\"place\":2,"
                                                   "\"waiter\":\"you:2\"}\n"));
    ls_list_fini(&list);
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

/* A counter is held by nobody: what it says is how many are left. */
START_TEST(counters_and_queues_have_their_numbers)
{
    struct cli_lock fair = {.name = "f", .name_len = 1};

    fair.info = (struct hf_lock_info){.is_locked = true,
                                      .kind = HF_KIND_FAIR,
                                      .ttl_ms = 7,
                                      .hold_count = 1,
                                      .holders = 1,
                                      .waiters = 4,
                                      .holder = "me:1",
                                      .holder_len = 4};
    ck_assert_int_eq(ls_list_add(&list, &fair), HF_OK);
    add_counter("c", -3);
    add_permits("p", 1, 0);
    ls_list_sort(&list);
    ck_assert_str_eq(printed(LS_TABS), "c\tcounter\t-\t-\t-\t-1\t-\t-3\n"
                                       "f\tfair\tme:1\t1\t1\t7\t4\t-\n"
                                       "p\tpermit\t-\t1\t-\t1500\t-\t0\n");
    ck_assert_str_eq(
        printed(LS_JSON),
        "{\"name\":\"c\",\"held\":false,\"kind\":\"counter\",\"count\":-3}\n"
        "{\"name\":\"f\",\"held\":true,\"kind\":\"fair\",\"owner\":\"me:1\","
        "\"holders\":1,\"hold_count\":1,\"ttl_ms\":7,\"waiters\":4}\n"
        "{\"name\":\"p\",\"held\":true,\"kind\":\"permit\","
        "\"holders\":1,\"ttl_ms\":1500,"
        "\"available\":0}\n");
    ls_list_fini(&list);
}
END_TEST

/* Whichever is found first. */
START_TEST(semaphore_with_permits_out_is_no_counter)
{
    add_counter("p", 2);
    add_permits("p", 1, 2);
    add_permits("q", 1, 2);
    add_counter("q", 2);
    ls_list_sort(&list);
    ck_assert_uint_eq(list.locks_count, 2);
    ck_assert(list.locks[0].info.is_locked && list.locks[1].info.is_locked);
    ls_list_fini(&list);
}
END_TEST

/* ---- names and texts ---- */

static const struct {
    const char *pattern, *name;
    bool matches;
} globs[] = {
    {"*", "", true},          {"*", "abc", true},
    {"", "", true},           {"", "a", false},
    {"a*c", "abbc", true},    {"a*c", "abcb", false},
    {"*a*b", "xaxbab", true}, {"a**", "a", true},
    {"?", "a", true},         {"?", "", false},
    {"a?c", "abc", true},     {"[a-c]x", "bx", true},
    {"[c-a]x", "bx", true},   {"[^a-c]x", "bx", false},
    {"[^a-c]x", "dx", true},  {"[abc", "c", true},
    {"[\\]]", "]", true},     {"\\*", "*", true},
    {"\\*", "a", false},      {"a\\", "a\\", true},
    {"ab", "a", false},       {"a", "ab", false},
    {"[^]", "a", true},       {"\xff*", "\xff\x01", true},
    {"[a-", "-", true},       {"[\\a-z]", "b", false},
    {"[+-\\]", "-", true},
};

START_TEST(patterns_match_as_the_servers_do)
{
    ck_assert_msg(ls_glob_matches(globs[_i].pattern, globs[_i].name,
                                  strlen(globs[_i].name)) == globs[_i].matches,
                  "%s, %s", globs[_i].pattern, globs[_i].name);
}
END_TEST

START_TEST(names_may_hold_any_byte)
{
    ck_assert(ls_glob_matches("a?c", "a\0c", 3));
    ck_assert(!ls_glob_matches("a", "a\0", 2));
}
END_TEST

/* WIRE 2.2: `{x}:timeout` is of "x" and of "{x}". */
static const struct {
    const char *set, *names[2];
} sets[] = {
    {"{pool}:timeout", {"pool", "{pool}"}},
    {"a{b}c:timeout", {"a{b}c"}},
    {"{a}b:timeout", {"{a}b"}},
    {"{a}{b}:timeout", {"{a}{b}"}},
    {"{a}b}:timeout", {"a}b", "{a}b}"}},
    {"pool:timeout", {NULL}},
    {":timeout", {NULL}},
    {"{}:timeout", {"{}"}},
    {"{pool}:timeouts", {NULL}},
    {"timeout", {NULL}},
};

START_TEST(sets_of_permits_have_their_semaphores_names)
{
    struct ls_name_part names[2];
    int count = ls_permits_names(names, sets[_i].set, strlen(sets[_i].set));

    ck_assert_int_eq(count, (sets[_i].names[0] != NULL) +
                                (sets[_i].names[1] != NULL));
    for (int i = 0; i < count; i++) {
        ck_assert_uint_eq(names[i].len, strlen(sets[_i].names[i]));
        ck_assert_mem_eq(names[i].ptr, sets[_i].names[i], names[i].len);
    }
}
END_TEST

static const struct {
    const char *text;
    bool is_integer;
    int64_t n;
} integers[] = {
    {"0", true, 0},
    {"-7", true, -7},
    {"9223372036854775807", true, INT64_MAX},
    {"-9223372036854775808", true, INT64_MIN},
    {"9223372036854775808", false, 0},
    {"-92233720368547758080", false, 0},
    {"", false, 0},
    {"-", false, 0},
    {"-0", false, 0},
    {"+1", false, 0},
    {"01", false, 0},
    {" 1", false, 0},
    {"1 ", false, 0},
    {"1e3", false, 0},
};

START_TEST(only_what_the_server_writes_is_an_integer)
{
    const char *shown = integers[_i].text;
    int64_t n = 0;

    ck_assert_int_eq(cli_counter_read(shown, strlen(shown), &n),
                     integers[_i].is_integer);
    if (integers[_i].is_integer)
        ck_assert_int_eq(n, integers[_i].n);
}
END_TEST

static const struct {
    const char *name;
    bool is_ours;
} strings[] = {
    {"redisson_lock_token:{x}", true},
    {"redisson_unlock_latch:{x}:00", true},
    {"{x}:me:1:holdfast_answer", true},
    {"{x}:me:1:rwlock_timeout:12", true},
    {"{x}:me:1:rwlock_timeout:", false},
    {"redisson_lock_token:", false},
    {"holdfast_answer", false},
    {"order:12", false},
    {"12", false},
};

START_TEST(keys_beside_locks_are_known_by_their_names)
{
    ck_assert_int_eq(ls_key_is_auxiliary(strings[_i].name,
                                     strlen(strings[_i].name)),
                     strings[_i].is_ours);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("holdfast ls");
    TCase *c = tcase_create("options");

    tcase_add_test(c, plain_call_lists_all_at_a_pace);
    tcase_add_test(c, each_option_is_taken);
    tcase_add_loop_test(c, kinds_decide_which_keys_are_scanned, 0,
                        ROWS(filteres));
    tcase_add_loop_test(c, invalid_options_are_reported, 0, ROWS(mistakes));
    suite_add_tcase(s, c);

    c = tcase_create("list");
    tcase_add_test(c, names_are_sorted_by_bytes_and_appear_once);
    tcase_add_test(c, list_grows_and_is_freed);
    tcase_add_test(c, table_has_a_heading_and_aligned_columns);
    tcase_add_test(c, waiters_follow_their_lock_in_the_order_of_the_queue);
    tcase_add_test(c, odd_names_are_escaped_and_not_cut);
    tcase_add_test(c, json_has_the_members_of_status);
    tcase_add_test(c, counters_and_queues_have_their_numbers);
    tcase_add_test(c, semaphore_with_permits_out_is_no_counter);
    suite_add_tcase(s, c);

    c = tcase_create("names and texts");
    tcase_add_loop_test(c, patterns_match_as_the_servers_do, 0, ROWS(globs));
    tcase_add_test(c, names_may_hold_any_byte);
    tcase_add_loop_test(c, sets_of_permits_have_their_semaphores_names, 0,
                        ROWS(sets));
    tcase_add_loop_test(c, only_what_the_server_writes_is_an_integer, 0,
                        ROWS(integers));
    tcase_add_loop_test(c, keys_beside_locks_are_known_by_their_names, 0,
                        ROWS(strings));
    suite_add_tcase(s, c);
    return suite_run(s);
}
