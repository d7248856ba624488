/* Addresses in place of others: which entries are accepted, and what they replace. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "net/base/address_map.h"
#include "tests/support/suite.h"

static struct hf_text text_of(const char *text)
{
    return (struct hf_text){text, strlen(text)};
}

/* Entries are separated by spaces. */
static void add_all(struct hf_address_map *map, const char *entries)
{
    struct hf_text rest = text_of(entries);

    memset(map, 0, sizeof *map);
    while (rest.len > 0)
        ck_assert_ptr_null(hf_address_map_add(map, hf_text_take_word(&rest)));
}

static const struct {
    const char *entries;
    const char *host;
    uint16_t port;
    const char *to_host;        /* NULL: it has no entry */
    uint16_t to_port;
} rows[] = {
    {"10.0.0.5:7001=db1:17001", "10.0.0.5", 7001, "db1", 17001},
    {"10.0.0.5:7001=db1:17001", "10.0.0.5", 7002, NULL, 0},
    {"10.0.0.5:7001=db1:17001", "10.0.0.50", 7001, NULL, 0},
    {"10.0.0.5:7001=db1", "10.0.0.5", 7001, "db1", 7001},
    {"10.0.0.5=db1", "10.0.0.5", 7002, "db1", 7002},
    {"10.0.0.5=db1:1", "10.0.0.5", 7002, "db1", 1},
    {"a=x a:7001=y:2", "a", 7001, "y", 2},
    {"a:7001=y:2 a=x", "a", 7002, "x", 7002},
    {"Redis-0.Cluster=x", "redis-0.cluster", 1, "x", 1},
    {"[fd00::5]:7001=[::1]:17001", "fd00:0::5", 7001, "::1", 17001},
    {"fd00::5=::1", "fd00::5", 7001, "::1", 7001},
    {"[fd00::5]=127.0.0.1:1", "fd00::5", 7001, "127.0.0.1", 1},
    {"fe80::1%eth0=x", "fe80::1%eth0", 1, "x", 1},
    {"fe80::1%eth0=x", "fe80::1%eth1", 1, NULL, 0},
    {"a=b b=c", "a", 1, "b", 1}, /* what is replaced is not looked up again */
    {"", "a", 1, NULL, 0},
};

START_TEST(an_address_is_replaced_by_its_entry)
{
    struct hf_endpoint at = {.port = rows[_i].port};
    struct hf_address_map map;
    bool is_found;

    add_all(&map, rows[_i].entries);
    (void)strcpy(at.host, rows[_i].host);
    is_found = hf_address_map_apply(&map, &at);
    ck_assert_int_eq(is_found, rows[_i].to_host != NULL);
    ck_assert_str_eq(at.host, is_found ? rows[_i].to_host : rows[_i].host);
    ck_assert_uint_eq(at.port, is_found ? rows[_i].to_port : rows[_i].port);
}
END_TEST

static const char *const wrong[] = {
    "", "=", "a", "a=", "=b", "a:=b", "a:0=b", "a:65536=b", "a:1=b:", "a:1=b:01",
    "a:x=b", "a b=c", "[::1=b", "[a]:1=b", "[::1]1=b", "[]:1=b", "a/1=b", "a=b=c",
    "?=b", "a:1:2=b", "a=[::1]:0",
};

START_TEST(an_entry_that_is_not_one_is_refused)
{
    struct hf_address_map map = {.text = ""}, before = {.text = ""};

    ck_assert_ptr_nonnull(hf_address_map_add(&map, text_of(wrong[_i])));
    ck_assert_mem_eq(&map, &before, sizeof map);
}
END_TEST

START_TEST(an_address_is_mapped_once)
{
    struct hf_address_map map;

    add_all(&map, "a:1=b a=c");
    ck_assert_ptr_nonnull(hf_address_map_add(&map, text_of("a:1=d")));
    ck_assert_ptr_nonnull(hf_address_map_add(&map, text_of("A=d")));
    ck_assert_ptr_null(hf_address_map_add(&map, text_of("a:2=d")));
}
END_TEST

/* Entries of all lengths up to the end, of which no byte is lost. */
START_TEST(the_map_has_an_end)
{
    struct hf_address_map map = {.text = ""};
    char entry[64];
    int count = 0;

    do
        (void)snprintf(entry, sizeof entry, "%0*d=b", 1 + count % 40, count + 1);
    while (!hf_address_map_add(&map, text_of(entry)) && ++count);
    ck_assert_int_ge(count, 60);
    ck_assert_int_eq(map.text[sizeof map.text - 1], '\0');
    for (int i = 0; i < count; i++) {
        struct hf_endpoint at = {.port = 5};

        (void)snprintf(at.host, sizeof at.host, "%0*d", 1 + i % 40, i + 1);
        ck_assert(hf_address_map_apply(&map, &at));
    }
}
END_TEST

/* As a client's copy of what its URL said. */
START_TEST(a_map_lives_as_long_as_its_last_reference)
{
    struct hf_endpoint at = {"a", 1};
    struct hf_address_map *map = hf_address_map_new(), *copy;

    ck_assert_ptr_nonnull(map);
    ck_assert(!hf_address_map_apply(map, &at));
    ck_assert_ptr_null(hf_address_map_add(map, text_of("a=b")));
    copy = hf_address_map_ref(map);
    hf_address_map_unref(map);
    ck_assert(hf_address_map_apply(copy, &at));
    ck_assert_str_eq(at.host, "b");
    hf_address_map_unref(copy);
    ck_assert_ptr_null(hf_address_map_ref(NULL));
    hf_address_map_unref(NULL);
    ck_assert(!hf_address_map_apply(NULL, &at));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("address map");
    TCase *t = tcase_create("all");

    tcase_add_loop_test(t, an_address_is_replaced_by_its_entry, 0, ROWS(rows));
    tcase_add_loop_test(t, an_entry_that_is_not_one_is_refused, 0, ROWS(wrong));
    tcase_add_test(t, an_address_is_mapped_once);
    tcase_add_test(t, the_map_has_an_end);
    tcase_add_test(t, a_map_lives_as_long_as_its_last_reference);
    suite_add_tcase(s, t);
    return suite_run(s);
}
