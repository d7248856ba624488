/* A faster strtod for the numbers that scripts convert: the C library's takes a twelfth of the
 * time of the simulation. The result is the same, bit for bit. Other texts go to the C
 * library. */
#include <float.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS_MAX 19           /* fit into 64 bits */

double __real_strtod(const char *text, char **end);
double __wrap_strtod(const char *text, char **end);

struct decimal {
    uint64_t digits;
    int count, decimals;
    const char *end;
};

static struct decimal read_digits(const char *p)
{
    struct decimal d = {0, 0, 0, p};
    const char *point = NULL;

    for (;; p++) {
        if (*p == '.' && !point) {
            point = p;
        } else if (*p >= '0' && *p <= '9' && d.count < DIGITS_MAX) {
            d.digits = 10 * d.digits + (uint64_t)(*p - '0');
            d.count++;
        } else {
            break;
        }
    }
    d.decimals = point ? (int)(p - point) - 1 : 0;
    d.end = p;
    return d;
}

/* Spaces end it, and so does the end of the text: not an exponent or a hexadecimal number. */
static int is_plain(const struct decimal *d)
{
    return d->count > 0 && (*d->end == '\0' || *d->end == ' ');
}

#if LDBL_MANT_DIG == 64
/* The division is rounded to 64 bits, and then to 53. Both together are one rounding, except
 * next to the middle between two doubles. */
static int divide(const struct decimal *d, double *out)
{
    static const long double powers[] = {1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,
                                         1e7L,  1e8L,  1e9L,  1e10L, 1e11L, 1e12L, 1e13L,
                                         1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L};
    long double value = (long double)d->digits / powers[d->decimals];
    uint64_t bits, rest;

    memcpy(&bits, &value, sizeof bits);
    rest = bits & 0x7ff;
    *out = (double)value;
    return rest < 0x3ff || rest > 0x401;
}
#else
static int divide(const struct decimal *d, double *out)
{
    *out = (double)d->digits;
    return d->decimals == 0 && d->digits < (uint64_t)1 << 53;
}
#endif

double __wrap_strtod(const char *text, char **end)
{
    int is_negative = *text == '-';
    struct decimal d = read_digits(text + is_negative);
    double value;

    if (!is_plain(&d) || !divide(&d, &value))
        return __real_strtod(text, end);
    if (end)
        *end = (char *)d.end;
    return is_negative ? -value : value;
}
