/* Doubles to text. printf and strtod, both correctly rounded, are the judges;
 * that reading is right is tested with the accessors. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "resp/resp.h"
#include "tests/support/dice.h"
#include "tests/support/suite.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define RANDOM_EACH 20000

static char text[HF_RESP_DOUBLE_MAX + 1];

static const char *format(double n)
{
    size_t len;

    memset(text, '~', sizeof text);
    len = hf_resp_format_double(text, n);
    ck_assert_uint_le(len, HF_RESP_DOUBLE_MAX);
    ck_assert_int_eq(text[len], '~');
    text[len] = '\0';
    return text;
}

static const struct {
    double number;
    const char *text;
} rows[] = {
    {0.0, "0"},
    {-0.0, "-0"},
    {1.0, "1"},
    {-1.5, "-1.5"},
    {0.1, "0.1"},
    {0.3, "0.3"},
    {100.0, "100"},
    {123456.789, "123456.789"},
    {1.0 / 3, "0.3333333333333333"},
    {2.0 / 3, "0.6666666666666666"},
    {9007199254740992.0, "9007199254740992"}, /* 2^53 */
    {9007199254740994.0, "9007199254740994"},
    {1e16, "10000000000000000"},
    {1e17, "1e17"},
    {123456789012345680.0, "1.2345678901234568e17"},
    {1e22, "1e22"},
    {1e23, "1e23"},
    {0.0001, "0.0001"},
    {0.00012345678901234567, "0.00012345678901234567"},
    {0.00001, "1e-5"},
    {9.5367431640625e-07, "9.5367431640625e-7"}, /* 2^-20 */
    {5e-324, "5e-324"},
    {2.2250738585072009e-308, "2.225073858507201e-308"}, /* below normal */
    {2.2250738585072014e-308, "2.2250738585072014e-308"},
    {1.7976931348623157e308, "1.7976931348623157e308"},
    {-1.2345678901234567e-100, "-1.2345678901234567e-100"},
    {HUGE_VAL, "inf"},
    {-HUGE_VAL, "-inf"},
    {(double)NAN, "nan"},
};

START_TEST(double_is_written_as_a_person_would)
{
    ck_assert_str_eq(format(rows[_i].number), rows[_i].text);
}
END_TEST

START_TEST(argument_has_the_size_announced)
{
    const char *number = rows[_i].text;
    char bytes[64], want[64];
    size_t len;

    memset(bytes, '~', sizeof bytes);
    len = (size_t)(hf_resp_put_bulk_double(bytes, rows[_i].number) - bytes);
    ck_assert_uint_eq(len, hf_resp_bulk_double_size(rows[_i].number));
    ck_assert_int_eq(bytes[len], '~');
    bytes[len] = '\0';
    snprintf(want, sizeof want, "$%zu\r\n%s\r\n", strlen(number), number);
    ck_assert_str_eq(bytes, want);
}
END_TEST

/* The digits of a number, without zeros in front and behind; how many. */
static int digits_of(const char *number, char digits[64])
{
    int count = 0, len = 0;

    for (; *number && *number != 'e'; number++) {
        if (*number < '0' || *number > '9' || (!count && *number == '0'))
            continue;
        digits[count++] = *number;
        if (*number != '0')
            len = count;
    }
    digits[len] = '\0';
    return len;
}

/* As a reply in strict mode, which takes what the grammar of RESP3 has. */
static double read_back(const char *number)
{
    struct hf_resp_node nodes[1];
    struct hf_resp_tape tape = {nodes, 0, 1};
    struct hf_resp_parser p;
    char line[64];
    double back = 0;
    int len = snprintf(line, sizeof line, ",%s\r\n", number);

    hf_resp_init(&p, NULL, 3);
    hf_resp_set_strict(&p, true);
    ck_assert_int_eq(hf_resp_parse(&p, line, (size_t)len, &tape), HF_OK);
    ck_assert_int_eq(hf_resp_double(hf_resp_first(&tape, line, 0), &back),
                     HF_OK);
    return back;
}

static uint64_t bits_of(double n)
{
    uint64_t bits;

    memcpy(&bits, &n, sizeof bits);
    return bits;
}

/* The same double comes back, no text with a digit less gives it, and of those
 * as short it is the nearest. */
static void check_shortest(double n)
{
    char printed[64], ours[64], theirs[64];
    int len;

    ck_assert_uint_eq(bits_of(read_back(format(n))), bits_of(n));
    len = digits_of(text, ours);
    ck_assert_int_le(len, 17);
    if (len > 1) {
        snprintf(printed, sizeof printed, "%.*e", len - 2, n);
        ck_assert_msg(strtod(printed, NULL) != n, "%s, not %s", printed, text);
    }
    snprintf(printed, sizeof printed, "%.*e", len ? len - 1 : 0, n);
    (void)digits_of(printed, theirs);
    if (strtod(printed, NULL) == n)      /* else the nearest is too far off */
        ck_assert_str_eq(ours, theirs);
}

static double double_of(uint64_t bits)
{
    double n;

    memcpy(&n, &bits, sizeof n);
    return n;
}

START_TEST(any_double_is_written_as_short_as_can_be)
{
    for (int i = 0; i < RANDOM_EACH; i++) {
        double n = double_of(dice_bits(&dice_seed));

        if (isfinite(n))
            check_shortest(n);
    }
}
END_TEST

/* Where the next double below is half as far away as the one above. */
START_TEST(powers_of_two_and_their_neighbours_are_exact)
{
    for (uint64_t e = 0; e < 0x7ff; e++) {
        for (int64_t d = -2; d <= 2; d++) {
            if (e > 0 || d >= 0)
                check_shortest(double_of((e << 52) + (uint64_t)d));
        }
    }
}
END_TEST

START_TEST(decimals_of_few_digits_are_unchanged)
{
    for (int i = 0; i < RANDOM_EACH; i++) {
        uint64_t r = dice_bits(&dice_seed);
        char few[64], digits[64];

        snprintf(few, sizeof few, "%d.%03u", (int)(r % 100000),
                 (unsigned)(r >> 32) % 1000);
        check_shortest(strtod(few, NULL));
        ck_assert_int_le(digits_of(text, digits), 8);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("resp double");
    TCase *c = tcase_create("text");

    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, double_is_written_as_a_person_would, 0,
                        COUNT(rows));
    tcase_add_loop_test(c, argument_has_the_size_announced, 0, COUNT(rows));
    tcase_add_test(c, any_double_is_written_as_short_as_can_be);
    tcase_add_test(c, powers_of_two_and_their_neighbours_are_exact);
    tcase_add_test(c, decimals_of_few_digits_are_unchanged);
    suite_add_tcase(s, c);
    return suite_run(s);
}
