/* The statuses of all floors: one numbering, each with a name and a text. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "lock/lock.h"
#include "tests/support/suite.h"

static const struct row {
    hf_status status;
    const char *name;
    const char *text;
} rows[] = {
#define ROW(name, value, text) {name, #name, text},
    HF_RESP_STATUS_MAP(ROW)
    HF_NET_STATUS_MAP(ROW)
    HF_LOCK_STATUS_MAP(ROW)
#undef ROW
};

START_TEST(a_status_of_any_floor_has_name_and_text)
{
    ck_assert_str_eq(hf_status_name(rows[_i].status), rows[_i].name);
    ck_assert_str_eq(hf_status_text(rows[_i].status), rows[_i].text);
}
END_TEST

START_TEST(layers_use_different_status_numbers)
{
    for (int i = 0; i < _i; i++) {
        ck_assert_int_ne(rows[i].status, rows[_i].status);
        ck_assert_str_ne(rows[i].text, rows[_i].text);
    }
}
END_TEST

/* Beside those that there are, and 2^16 away from one. */
static const int unknown[] = {3, -7, -99, -114, 65536, -104 - 65536};

START_TEST(an_unknown_status_also_has_a_name_and_a_text)
{
    ck_assert_str_eq(hf_status_name(unknown[_i]), "HF_?");
    ck_assert_str_eq(hf_status_text(unknown[_i]),
                     "a status that this version does not know");
}
END_TEST

#if !HF_VERSION_AT_LEAST(0, 1, 0) || HF_VERSION_AT_LEAST(1000, 0, 0)
#error HF_VERSION_AT_LEAST does not work in #if
#endif

/* Versions relative to that of the header, and whether it is at least that. */
static const struct version_row {
    int major, minor, patch;
    bool is_at_least;
} versions[] = {{0, 0, 0, true},   {0, 0, 1, false}, {0, 1, 0, false}, {1, 0, 0, false},
                {0, 1, -9, false}, {1, -9, -9, false}, {0, -1, 9, true}, {-1, 9, 9, true},
                {0, 0, -1, true}};

START_TEST(a_version_is_compared_with_that_of_the_header)
{
    const struct version_row *v = &versions[_i];

    ck_assert_int_eq(HF_VERSION_AT_LEAST(HF_VERSION_MAJOR + v->major,
                                         HF_VERSION_MINOR + v->minor,
                                         HF_VERSION_PATCH + v->patch),
                     v->is_at_least);
}
END_TEST

START_TEST(the_library_has_the_version_of_its_header)
{
    char text[40];

    (void)snprintf(text, sizeof text, "%d.%d.%d", HF_VERSION_MAJOR, HF_VERSION_MINOR,
                   HF_VERSION_PATCH);
    ck_assert_str_eq(HF_VERSION, text);
    ck_assert_str_eq(hf_version(), text);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("lock/status");
    TCase *c = tcase_create("status");

    tcase_add_loop_test(c, a_status_of_any_floor_has_name_and_text, 0, ROWS(rows));
    tcase_add_loop_test(c, layers_use_different_status_numbers, 0, ROWS(rows));
    tcase_add_loop_test(c, an_unknown_status_also_has_a_name_and_a_text, 0,
                        ROWS(unknown));
    tcase_add_loop_test(c, a_version_is_compared_with_that_of_the_header, 0, ROWS(versions));
    tcase_add_test(c, the_library_has_the_version_of_its_header);
    suite_add_tcase(s, c);
    return suite_run(s);
}
