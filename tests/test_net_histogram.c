/* Histograms, with a sorted array as judge: what a quantile says is never below
 * the true one, and less than a quarter above it. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "net/base/histogram.h"
#include "tests/support/dice.h"
#include "tests/support/suite.h"

#define NUMBERS 3000
#define ROUNDS 200

/* Any size is as likely as any other. */
static uint64_t random_up_to_bits(unsigned bits)
{
    return dice_bits(&dice_seed) >> (64 - 1 - dice_bits(&dice_seed) % bits);
}

static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

static uint64_t true_quantile(const uint64_t *sorted, size_t count, double q)
{
    size_t rank = (size_t)ceil(q * (double)count);

    return sorted[rank > 0 ? rank - 1 : 0];
}

static void ck_assert_close(uint64_t said, uint64_t truth)
{
    ck_assert_uint_ge(said, truth);
    ck_assert(said == truth || 4 * (said - truth) < truth);
}

static const double quantiles[] = {0, 0.001, 0.1, 0.25, 0.5,
                                   0.9, 0.99, 0.999, 1};
#define QUANTILES (sizeof quantiles / sizeof *quantiles)

START_TEST(quantile_is_never_below_and_less_than_a_quarter_above)
{
    static uint64_t numbers[NUMBERS];

    for (int round = 0; round < ROUNDS; round++) {
        size_t count = 1 + dice_bits(&dice_seed) % NUMBERS;
        unsigned bits = 1 + (unsigned)(dice_bits(&dice_seed) % 32);
        struct hf_histogram h = {0};
        uint64_t sum = 0;

        for (size_t i = 0; i < count; i++) {
            numbers[i] = random_up_to_bits(bits);
            hf_histogram_add(&h, numbers[i]);
            sum += numbers[i];
        }
        qsort(numbers, count, sizeof *numbers, by_size);
        for (size_t i = 0; i < QUANTILES; i++)
            ck_assert_close(hf_histogram_quantile(&h, quantiles[i]),
                            true_quantile(numbers, count, quantiles[i]));
        ck_assert_uint_eq(h.count, count);
        ck_assert_uint_eq(h.sum, sum);
        ck_assert_uint_eq(h.max, numbers[count - 1]);
        ck_assert_uint_eq(hf_histogram_quantile(&h, 1), h.max);
    }
}
END_TEST

/* Each number stands alone, so that no other can hide a wrong bucket. */
static void ck_assert_alone(uint64_t number)
{
    struct hf_histogram h = {0};
    uint64_t bound;

    hf_histogram_add(&h, number);
    hf_histogram_add(&h, UINT32_MAX); /* the maximum does not cut the bucket */
    bound = hf_histogram_quantile(&h, 0.5);
    ck_assert_close(bound, number < UINT32_MAX ? number : UINT32_MAX);
    if (number < 8)
        ck_assert_uint_eq(bound, number);
}

START_TEST(each_edge_of_a_power_is_in_its_bucket)
{
    ck_assert_alone(0);
    for (unsigned bit = 0; bit < 64; bit++)
        for (uint64_t quarter = 0; quarter < 4; quarter++) {
            uint64_t edge = ((uint64_t)1 << bit) +
                            (quarter << bit >> 2);

            ck_assert_alone(edge - 1);
            ck_assert_alone(edge);
            ck_assert_alone(edge + 1);
        }
    ck_assert_alone(UINT64_MAX);
}
END_TEST

/* Buckets follow upon each other: a greater number never has a lesser bound. */
START_TEST(bounds_grow)
{
    uint64_t before = 0;

    for (uint64_t number = 0; number < 100000; number++) {
        struct hf_histogram h = {0};
        uint64_t bound;

        hf_histogram_add(&h, number);
        hf_histogram_add(&h, UINT32_MAX);
        bound = hf_histogram_quantile(&h, 0.5);
        ck_assert(bound >= before && bound >= number);
        before = bound;
    }
}
END_TEST

START_TEST(value_beyond_the_greatest_counts_as_the_greatest)
{
    struct hf_histogram h = {0};

    hf_histogram_add(&h, UINT64_MAX);
    hf_histogram_add(&h, (uint64_t)UINT32_MAX + 1);
    ck_assert_uint_eq(h.count, 2);
    ck_assert_uint_eq(h.max, UINT32_MAX);
    ck_assert_uint_eq(h.sum, 2 * (uint64_t)UINT32_MAX);
    ck_assert_uint_eq(hf_histogram_quantile(&h, 0.5), UINT32_MAX);
}
END_TEST

START_TEST(empty_one_has_no_quantile)
{
    struct hf_histogram h = {0};

    ck_assert_uint_eq(hf_histogram_quantile(&h, 0.5), 0);
    ck_assert_uint_eq(hf_histogram_quantile(&h, 1), 0);
}
END_TEST

START_TEST(quantile_outside_is_the_least_or_the_greatest)
{
    struct hf_histogram h = {0};

    hf_histogram_add(&h, 3);
    hf_histogram_add(&h, 7);
    ck_assert_uint_eq(hf_histogram_quantile(&h, -1), 3);
    ck_assert_uint_eq(hf_histogram_quantile(&h, 2), 7);
    ck_assert_uint_eq(hf_histogram_quantile(&h, NAN), 3);
}
END_TEST

START_TEST(two_that_are_merged_are_as_one)
{
    struct hf_histogram parts[2] = {{0}}, whole = {0}, other;

    for (int i = 0; i < NUMBERS; i++) {
        uint64_t number = random_up_to_bits(32);

        hf_histogram_add(&parts[dice_bits(&dice_seed) % 2], number);
        hf_histogram_add(&whole, number);
    }
    other = parts[1];
    hf_histogram_merge(&other, &parts[0]);
    ck_assert_mem_eq(&other, &whole, sizeof whole);
    hf_histogram_merge(&parts[0], &parts[1]);
    ck_assert_mem_eq(&parts[0], &whole, sizeof whole);
}
END_TEST

START_TEST(numbers_below_a_power_are_counted_exactly)
{
    struct hf_histogram h = {0};
    uint64_t below[33] = {0};

    for (int i = 0; i < NUMBERS; i++) {
        uint64_t number = random_up_to_bits(32);

        hf_histogram_add(&h, number);
        for (unsigned bits = 3; bits <= 32; bits++)
            below[bits] += number < UINT64_C(1) << bits;
    }
    for (unsigned bits = 3; bits <= 32; bits++)
        ck_assert_uint_eq(hf_histogram_count_below(&h, bits), below[bits]);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("net, histogram");
    TCase *c = tcase_create("histogram");

    tcase_add_test(c, quantile_is_never_below_and_less_than_a_quarter_above);
    tcase_add_test(c, each_edge_of_a_power_is_in_its_bucket);
    tcase_add_test(c, bounds_grow);
    tcase_add_test(c, value_beyond_the_greatest_counts_as_the_greatest);
    tcase_add_test(c, empty_one_has_no_quantile);
    tcase_add_test(c, quantile_outside_is_the_least_or_the_greatest);
    tcase_add_test(c, two_that_are_merged_are_as_one);
    tcase_add_test(c, numbers_below_a_power_are_counted_exactly);
    suite_add_tcase(s, c);
    return suite_run(s);
}
