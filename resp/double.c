/* Doubles from text and to text, without printf and whatever the locale. They
 * are IEEE 754, 64 bits. */
/* Tests: tests/test_resp_double.c. */
#include "resp/double.h"

#include <stdlib.h>
#include <string.h>

#include "resp/hints.h"
#include "resp/resp.h"
#include "resp/text.h"

#define FRACTION_BITS 52
#define FRACTION_MASK ((UINT64_C(1) << FRACTION_BITS) - 1)
#define EXPONENT_MASK 0x7ff
#define SIGN (UINT64_C(1) << 63)
#define INFINITE ((uint64_t)EXPONENT_MASK << FRACTION_BITS)
#define NOT_A_NUMBER (INFINITE | UINT64_C(1) << (FRACTION_BITS - 1))

static uint64_t bits_of_double(double n)
{
    uint64_t bits;

    memcpy(&bits, &n, sizeof bits);
    return bits;
}

static double double_from_bits(uint64_t bits)
{
    double n;

    memcpy(&n, &bits, sizeof n);
    return n;
}

/* ---- from text ---- */

/* The first 767 significant digits decide how any double is rounded; there are more
 * here. One digit after them records whether a digit other than 0 followed. */
#define DIGITS_KEPT 800

/* Far outside the exponents of doubles, and of five digits for sure. */
#define EXPONENT_MAX 99999

/* Larger than the number of digits of any line: a number beyond it stays beyond it,
 * however far the point is moved. */
#define EXPONENT_HUGE (INT64_C(1) << 40)

/* A decimal number as an integer of few digits and a power of ten. */
struct decimal {
    size_t count;
    int64_t exponent;
    bool has_dropped_digits; /* digits other than 0 did not fit */
    char digits[DIGITS_KEPT + 1];
};

/* A digit of the mantissa; zeros in front of the first other one are none. */
static void add_decimal_digit(struct decimal *d, char digit)
{
    if (d->count == 0 && digit == '0')
        return;
    if (d->count < DIGITS_KEPT) {
        d->digits[d->count++] = digit;
        return;
    }
    d->exponent++;
    d->has_dropped_digits |= digit != '0';
}

static const char *read_mantissa(struct decimal *d, const char *at,
                                 const char *end)
{
    for (; at < end && is_digit(*at); at++)
        add_decimal_digit(d, *at);
    if (at == end || *at != '.')
        return at;
    for (at++; at < end && is_digit(*at); at++) {
        add_decimal_digit(d, *at);
        d->exponent--;
    }
    return at;
}

static void read_exponent(struct decimal *d, const char *at,
                          const char *end)
{
    bool negative = *at == '-';
    int64_t n = 0;

    if (!is_digit(*at))
        at++;
    for (; at < end; at++)
        n = n < EXPONENT_HUGE ? n * 10 + (*at - '0') : n;
    d->exponent += negative ? -n : n;
}

/* Written without a decimal point, so that no locale has a say in it. */
static double convert_decimal(struct decimal *d)
{
    char text[sizeof d->digits + HF_RESP_INTEGER_MAX + sizeof "e"];
    char *end = text;
    int64_t exponent = d->exponent;

    if (d->count == 0)
        return 0.0;
    if (d->has_dropped_digits) {
        d->digits[d->count++] = '1';
        exponent--;
    }
    if (exponent > EXPONENT_MAX)
        exponent = EXPONENT_MAX;
    if (exponent < -EXPONENT_MAX)
        exponent = -EXPONENT_MAX;
    memcpy(end, d->digits, d->count);
    end += d->count;
    *end++ = 'e';
    end += hf_resp_format_integer(end, exponent);
    *end = '\0';
    return strtod(text, NULL);
}

COLD double hf_resp_read_double(const char *at, const char *end)
{
    struct decimal d;
    bool negative = *at == '-';
    double n;

    if (*at == '-' || *at == '+')
        at++;
    if (*at == 'i')
        return double_from_bits(negative ? INFINITE | SIGN : INFINITE);
    if (*at == 'n' || *at == 'N')
        return double_from_bits(NOT_A_NUMBER);
    d.count = 0;
    d.exponent = 0;
    d.has_dropped_digits = false;
    at = read_mantissa(&d, at, end);
    if (at < end)
        read_exponent(&d, at + 1, end);
    n = convert_decimal(&d);
    return negative ? -n : n;
}

/* ---- to text: the shortest that reads back as the same double ----
 *
 * Source: Burger and Dybvig, "Printing Floating-Point Numbers Quickly and
 * Accurately", 1996. The number is r / s. Texts less than `half_gap_below` / s under it
 * and `half_gap_above` / s over it are read as the same number; digits of r / s are
 * written until what they leave out is less than that. */

/* A natural number, lowest word first; 1,100 bits are needed. */
#define WORDS 36
struct natural {
    uint32_t words[WORDS];
};

static void set_natural(struct natural *n, uint64_t value)
{
    memset(n, 0, sizeof *n);
    n->words[0] = (uint32_t)value;
    n->words[1] = (uint32_t)(value >> 32);
}

static COLD void multiply_natural(struct natural *n, uint32_t by)
{
    uint64_t carry = 0;

    for (int i = 0; i < WORDS; i++) {
        carry += (uint64_t)n->words[i] * by;
        n->words[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

/* n times base^exponent, by as much at once as fits in a word. */
static COLD void scale_natural(struct natural *n, uint32_t base, int exponent)
{
    const int step = base == 2 ? 31 : 9;
    const uint32_t power = base == 2 ? UINT32_C(1) << 31 : 1000000000;

    for (; exponent >= step; exponent -= step)
        multiply_natural(n, power);
    for (; exponent > 0; exponent--)
        multiply_natural(n, base);
}

/* a + b, or a - b with a `sign` of -1: two's complement, a >= b then. */
static COLD void add_naturals(struct natural *a, const struct natural *b, int sign)
{
    uint64_t carry = sign < 0;

    for (int i = 0; i < WORDS; i++) {
        carry += (uint64_t)a->words[i] +
                 (sign < 0 ? ~b->words[i] : b->words[i]);
        a->words[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

/* Negative, 0 or positive as a is less than, equal to or more than b. */
static COLD int compare_naturals(const struct natural *a, const struct natural *b)
{
    int i = WORDS - 1;

    while (i > 0 && a->words[i] == b->words[i])
        i--;
    return (a->words[i] > b->words[i]) - (a->words[i] < b->words[i]);
}

struct fraction {
    struct natural remainder, scale, half_gap_below, half_gap_above;
    int reads_ties;        /* 1: a text halfway to a neighbour is read as this number, because it is
                              even; else 0 */
};

/* Sets up a finite number that is not 0. Below a power of two the next double
 * is half as far away as above it. */
static void set_up_fraction(struct fraction *f, uint64_t bits, int *exponent)
{
    int raised = (int)(bits >> FRACTION_BITS & EXPONENT_MASK);
    uint64_t m = bits & FRACTION_MASK;
    bool is_power = m == 0 && raised > 1;
    int e = (raised ? raised : 1) - 1075;   /* bias and bits of the fraction */

    if (raised)
        m |= UINT64_C(1) << FRACTION_BITS;
    f->reads_ties = m % 2 == 0;
    set_natural(&f->remainder, m * 4);
    set_natural(&f->scale, 4);
    set_natural(&f->half_gap_below, is_power ? 1 : 2);
    set_natural(&f->half_gap_above, 2);
    scale_natural(&f->remainder, 2, e);
    scale_natural(&f->half_gap_below, 2, e);
    scale_natural(&f->half_gap_above, 2, e);
    scale_natural(&f->scale, 2, -e);
    for (*exponent = e - 1; m; m >>= 1)
        ++*exponent;
}

/* Is r + above over the limit, or a tie that counts? */
static bool reaches_upper_limit(const struct fraction *f, const struct natural *limit)
{
    struct natural sum = f->remainder;

    add_naturals(&sum, &f->half_gap_above, 1);
    return compare_naturals(&sum, limit) + f->reads_ties > 0;
}

/* Makes it a number of one digit before the point; returns the power of ten
 * that this takes away. `exponent` is that of the highest bit: times log10(2)
 * it is right, or one too low. */
static int normalise_fraction(struct fraction *f, int exponent)
{
    int ten = (int)((int64_t)exponent * 78913 >> 18);
    struct natural limit;

    scale_natural(&f->scale, 10, ten);
    scale_natural(&f->remainder, 10, -ten);
    scale_natural(&f->half_gap_below, 10, -ten);
    scale_natural(&f->half_gap_above, 10, -ten);
    limit = f->scale;
    multiply_natural(&limit, 10);
    if (!reaches_upper_limit(f, &limit))
        return ten;
    f->scale = limit;
    return ten + 1;
}

/* Returns whether the rest is nearer to the next digit. A tie is rounded to even. */
static bool is_rest_over_half(struct fraction *f, char digit)
{
    multiply_natural(&f->remainder, 2);
    return compare_naturals(&f->remainder, &f->scale) + (digit & 1) > 0;
}

/* Writes the digits; returns how many. */
static int generate_digits(struct fraction *f, char *digits)
{
    for (int count = 0;; count++) {
        bool is_low, is_high;

        digits[count] = '0';
        for (; compare_naturals(&f->remainder, &f->scale) >= 0; add_naturals(&f->remainder,
                                                                             &f->scale, -1))
            digits[count]++;
        is_low = compare_naturals(&f->remainder, &f->half_gap_below) - f->reads_ties < 0;
        is_high = reaches_upper_limit(f, &f->scale);
        if (is_low || is_high) {
            if (is_high && (!is_low || is_rest_over_half(f, digits[count])))
                digits[count]++;
            return count + 1;
        }
        multiply_natural(&f->remainder, 10);
        multiply_natural(&f->half_gap_below, 10);
        multiply_natural(&f->half_gap_above, 10);
    }
}

/* 17 digits distinguish any two doubles. */
#define SHORTEST_MAX 17

/* Digits and a power of ten as a person writes them: 1200, 0.0012, 1.2e-7. */
static char *put_decimal_notation(char *dst, const char *digits, int count, int ten)
{
    bool is_plain = ten >= -4 && ten < SHORTEST_MAX;
    int point = is_plain ? ten + 1 : 1;

    for (int i = point < 1 ? point - 1 : 0; i < count || i < point; i++) {
        if (i == point)
            *dst++ = '.';
        *dst++ = i >= 0 && i < count ? digits[i] : '0';
    }
    if (is_plain)
        return dst;
    *dst++ = 'e';
    return dst + hf_resp_format_integer(dst, ten);
}

static char *put_three_letters(char *dst, const char word[3])
{
    memcpy(dst, word, 3);
    return dst + 3;
}

static COLD char *put_finite_number(char *dst, uint64_t bits)
{
    struct fraction f;
    char digits[SHORTEST_MAX];
    int exponent, ten;

    set_up_fraction(&f, bits, &exponent);
    ten = normalise_fraction(&f, exponent);
    return put_decimal_notation(dst, digits, generate_digits(&f, digits), ten);
}

size_t hf_resp_format_double(char dst[HF_RESP_DOUBLE_MAX], double n)
{
    uint64_t bits = bits_of_double(n);
    char *end = dst;

    if ((bits & ~SIGN) > INFINITE)
        return (size_t)(put_three_letters(dst, "nan") - dst);
    if (bits & SIGN)
        *end++ = '-';
    bits &= ~SIGN;
    if (bits == INFINITE)
        end = put_three_letters(end, "inf");
    else if (bits == 0)
        *end++ = '0';
    else
        end = put_finite_number(end, bits);
    return (size_t)(end - dst);
}
