/* `holdfast bench` without a server: quantiles, names, and times for a person. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "cli/bench/names.h"
#include "cli/bench/report.h"
#include "cli/bench/samples.h"
#include "net/route/slot.h"
#include "tests/support/suite.h"

/* ---- samples ---- */

/* The numbers 1 to `count`, the greatest first. */
static struct bench_times times_of(size_t count)
{
    struct bench_samples s;
    struct bench_times times;

    ck_assert(bench_samples_reserve(&s, 1000));
    for (size_t i = count; i > 0; i--)
        bench_samples_add(&s, (int64_t)i);
    times = bench_samples_times(&s);
    bench_samples_fini(&s);
    return times;
}

static const struct {
    size_t count;
    uint32_t median, p99;
} quantiles[] = {
    {0, 0, 0}, {1, 1, 1}, {2, 1, 2}, {3, 2, 3}, {99, 50, 99}, {100, 50, 99}, {101, 51, 100},
    {1000, 500, 990},
};

START_TEST(quantiles_are_exact)
{
    struct bench_times t = times_of(quantiles[_i].count);

    ck_assert_uint_eq(t.count, quantiles[_i].count);
    ck_assert_uint_eq(t.least_us, quantiles[_i].count > 0);
    ck_assert_uint_eq(t.median_us, quantiles[_i].median);
    ck_assert_uint_eq(t.p99_us, quantiles[_i].p99);
    ck_assert_uint_eq(t.most_us, quantiles[_i].count);
}
END_TEST

START_TEST(samples_have_their_bounds)
{
    struct bench_samples s;
    struct bench_times t;

    ck_assert(bench_samples_reserve(&s, 2));
    bench_samples_add(&s, -1);
    bench_samples_add(&s, INT64_MAX);
    bench_samples_add(&s, 7); /* there is no space for it */
    t = bench_samples_times(&s);
    ck_assert_uint_eq(t.count, 2);
    ck_assert_uint_eq(t.least_us, 0);
    ck_assert_uint_eq(t.most_us, UINT32_MAX);
    bench_samples_fini(&s);
    bench_samples_fini(&s);
}
END_TEST

/* ---- names ---- */

static const char *const names[] = {"x", "{x}", "deploy:{web}:1", "a{b", "a{}b", "}{"};

/* Also for a name whose braces are no hash tag. */
START_TEST(own_names_have_the_slot_of_the_name_and_differ)
{
    char own[2][BENCH_OWN_MAX];
    const char *name = names[_i];
    uint32_t number = 0;

    for (int i = 0; i < 2; i++) {
        (void)bench_name_make(own[i], name, 0x0123456789abcdef, &number, true);
        ck_assert_uint_eq(hf_slot_of(own[i], strlen(own[i])), hf_slot_of(name, strlen(name)));
        ck_assert_int_eq(strncmp(own[i], name, strlen(name)), 0);
        ck_assert_int_eq(strncmp(own[i] + strlen(name), ":bench:0123456789abcdef:", 24), 0);
    }
    ck_assert_str_ne(own[0], own[1]);
}
END_TEST

START_TEST(longest_name_has_room)
{
    char name[BENCH_NAME_MAX + 1], own[BENCH_OWN_MAX];
    uint32_t number = UINT32_MAX;

    memset(name, 'n', BENCH_NAME_MAX);
    name[BENCH_NAME_MAX] = '\0';
    (void)bench_name_make(own, name, UINT64_MAX, &number, false);
    ck_assert_str_eq(own + BENCH_NAME_MAX, ":bench:ffffffffffffffff:4294967295");
}
END_TEST

/* ---- for a person ---- */

static const struct {
    uint32_t us;
    const char *text;
} spans[] = {
    {0, "0 us"}, {999, "999 us"}, {1000, "1.00 ms"}, {1259, "1.25 ms"}, {999999, "999.99 ms"},
    {1000000, "1.00 s"}, {UINT32_MAX, "4294.96 s"},
};

START_TEST(times_have_the_unit_that_fits)
{
    char text[BENCH_DURATION_TEXT_MAX];

    ck_assert_str_eq(bench_duration_text(text, spans[_i].us), spans[_i].text);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("bench");
    TCase *c = tcase_create("samples");

    tcase_add_loop_test(c, quantiles_are_exact, 0, ROWS(quantiles));
    tcase_add_test(c, samples_have_their_bounds);
    suite_add_tcase(s, c);

    c = tcase_create("names");
    tcase_add_loop_test(c, own_names_have_the_slot_of_the_name_and_differ, 0, ROWS(names));
    tcase_add_test(c, longest_name_has_room);
    suite_add_tcase(s, c);

    c = tcase_create("text");
    tcase_add_loop_test(c, times_have_the_unit_that_fits, 0, ROWS(spans));
    suite_add_tcase(s, c);
    return suite_run(s);
}
