/* Structs that a program and the library have in different versions. */
#include <check.h>
#include <string.h>

#include "net/base/sized.h"
#include "tests/support/suite.h"

/* The library's struct, that of a program of an earlier version, and that of a program of a
 * later one. */
struct options {
    size_t size;
    int64_t first;
    int64_t second;
};
struct options_before {
    size_t size;
    int64_t first;
};
struct options_after {
    size_t size;
    int64_t first;
    int64_t second;
    char third[16];
};
static const struct hf_sized type = HF_SIZED(options, first);

static const struct options defaults = {.size = sizeof defaults, .first = 1, .second = 2};

static struct hf_error err;

START_TEST(a_struct_of_the_same_version_is_copied)
{
    struct options to = defaults, from = {.size = sizeof from, .first = 7, .second = 8};

    ck_assert_int_eq(hf_sized_read(&to, &type, &from, &err), HF_OK);
    ck_assert_mem_eq(&to, &from, sizeof to);
}
END_TEST

START_TEST(what_an_older_program_does_not_have_keeps_its_default)
{
    struct options to = defaults;
    struct options_before from = {.size = sizeof from, .first = 7};

    ck_assert_int_eq(hf_sized_read(&to, &type, &from, &err), HF_OK);
    ck_assert_int_eq(to.first, 7);
    ck_assert_int_eq(to.second, 2);
    ck_assert_uint_eq(to.size, sizeof to);
}
END_TEST

START_TEST(a_newer_program_may_leave_its_members_0)
{
    struct options to = defaults;
    struct options_after from = {.size = sizeof from, .first = 7, .second = 8};

    ck_assert_int_eq(hf_sized_read(&to, &type, &from, &err), HF_OK);
    ck_assert_int_eq(to.second, 8);
    ck_assert_uint_eq(to.size, sizeof to);
}
END_TEST

/* Each byte after the library's own counts. */
START_TEST(a_newer_program_that_sets_one_is_refused)
{
    struct options to = defaults;
    struct options_after from = {.size = sizeof from, .first = 7, .second = 8};

    from.third[_i] = 1;
    ck_assert_int_eq(hf_sized_read(&to, &type, &from, &err), HF_E_INVAL);
    ck_assert_mem_eq(&to, &defaults, sizeof to);
    ck_assert_ptr_nonnull(strstr(err.text, "struct options "));
    ck_assert_ptr_nonnull(strstr(err.text, hf_version()));
    ck_assert_ptr_nonnull(strstr(err.text, "needs a later version"));
}
END_TEST

/* The size of a struct that was not initialised. */
static const size_t wrong_sizes[] = {
    0, 1, sizeof(size_t), sizeof(struct options_before) - sizeof(void *),
    sizeof(struct options) + 1, 65536 + sizeof(void *), SIZE_MAX, SIZE_MAX - 7};

START_TEST(a_size_of_no_version_is_refused)
{
    struct options to = defaults, from = {.size = wrong_sizes[_i], .first = 7};

    ck_assert_int_eq(hf_sized_read(&to, &type, &from, &err), HF_E_INVAL);
    ck_assert_mem_eq(&to, &defaults, sizeof to);
    ck_assert_ptr_nonnull(strstr(err.text, "was not initialised"));
    ck_assert_int_eq(hf_sized_read(&to, &type, &from, NULL), HF_E_INVAL);
}
END_TEST

/* The program's memory after the struct stays as it was. */
START_TEST(a_result_is_as_long_as_both_have_it)
{
    const struct options own = {.first = 7, .second = 8};
    unsigned char to[sizeof(struct options_after) + 1], before = 0x5a;
    struct options_after got = {0};
    const size_t sizes[] = {sizeof(struct options_before), sizeof(struct options),
                            sizeof(struct options_after)};
    size_t size = sizes[_i], both = size < sizeof own ? size : sizeof own;

    memset(to, before, sizeof to);
    hf_sized_write(to, size, &own, sizeof own);
    for (size_t i = size; i < sizeof to; i++)
        ck_assert_uint_eq(to[i], before);
    memcpy(&got, to, size);
    ck_assert_uint_eq(got.size, both);
    ck_assert_int_eq(got.first, 7);
    ck_assert_int_eq(got.second, both == sizeof own ? 8 : 0);
    for (size_t i = 0; i < sizeof got.third; i++)
        ck_assert_int_eq(got.third[i], 0);
}
END_TEST

/* Too small for its own size, which no compiler gives. */
START_TEST(a_result_without_room_for_its_size_is_not_overrun)
{
    const struct options own = {.first = 7, .second = 8};
    unsigned char to[sizeof(size_t)];

    memset(to, 0x5a, sizeof to);
    hf_sized_write(to, 1, &own, sizeof own);
    for (size_t i = 1; i < sizeof to; i++)
        ck_assert_uint_eq(to[i], 0x5a);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("net/sized");
    TCase *c = tcase_create("sized");

    tcase_add_test(c, a_struct_of_the_same_version_is_copied);
    tcase_add_test(c, what_an_older_program_does_not_have_keeps_its_default);
    tcase_add_test(c, a_newer_program_may_leave_its_members_0);
    tcase_add_loop_test(c, a_newer_program_that_sets_one_is_refused, 0, 16);
    tcase_add_loop_test(c, a_size_of_no_version_is_refused, 0, ROWS(wrong_sizes));
    tcase_add_loop_test(c, a_result_is_as_long_as_both_have_it, 0, 3);
    tcase_add_test(c, a_result_without_room_for_its_size_is_not_overrun);
    suite_add_tcase(s, c);
    return suite_run(s);
}
