/* The statuses of all floors: one numbering, each with a name and a text. */
#include <check.h>
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

START_TEST(no_two_floors_give_a_number_twice)
{
    for (int i = 0; i < _i; i++) {
        ck_assert_int_ne(rows[i].status, rows[_i].status);
        ck_assert_str_ne(rows[i].text, rows[_i].text);
    }
}
END_TEST

/* Beside those that there are, and 2^16 away from one. */
static const int unknown[] = {3, -6, -99, -114, 65536, -104 - 65536};

START_TEST(an_unknown_status_has_name_and_text_too)
{
    ck_assert_str_eq(hf_status_name(unknown[_i]), "HF_?");
    ck_assert_str_eq(hf_status_text(unknown[_i]),
                     "a status that this version does not know");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("lock/status");
    TCase *c = tcase_create("status");

    tcase_add_loop_test(c, a_status_of_any_floor_has_name_and_text, 0, ROWS(rows));
    tcase_add_loop_test(c, no_two_floors_give_a_number_twice, 0, ROWS(rows));
    tcase_add_loop_test(c, an_unknown_status_has_name_and_text_too, 0,
                        ROWS(unknown));
    suite_add_tcase(s, c);
    return suite_run(s);
}
