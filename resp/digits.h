/* Private to plain.h: the digits of an integer, eight at a time. A build with
 * HF_RESP_BYTEWISE reads them one by one; the tests hold both to the same. */
#ifndef HF_RESP_DIGITS_H
#define HF_RESP_DIGITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "resp/hints.h"
#include "resp/text.h"

static inline bool is_crlf(const char *at)
{
    return memcmp(at, "\r\n", 2) == 0;
}

/* Bytes that are read from the first digit on, whatever they are. */
#define INTEGER_WINDOW 24

/* So many fit in 64 bits unsigned. */
#define DIGITS_MAX 19

#ifdef HF_RESP_BYTEWISE

/* An integer's digits and CR LF. */
static NO_INLINE const char *plain_digits(const char *at, uint64_t *n)
{
    const char *first = at;

    for (*n = 0; at - first < DIGITS_MAX && is_digit(*at); at++)
        *n = *n * 10 + (unsigned char)(*at - '0');
    return at > first && is_crlf(at) ? at + 2 : NULL;
}

#else

/* Eight bytes as a number whose lowest byte came first. Compilers make one
 * load of it. */
static inline uint64_t load_8(const char *at)
{
    const unsigned char *b = (const unsigned char *)at;

    return (uint64_t)b[0] | (uint64_t)b[1] << 8 | (uint64_t)b[2] << 16 |
           (uint64_t)b[3] << 24 | (uint64_t)b[4] << 32 |
           (uint64_t)b[5] << 40 | (uint64_t)b[6] << 48 | (uint64_t)b[7] << 56;
}

#define EACH_BYTE(value) (UINT64_MAX / 255 * (value))

/* How many of eight bytes, already less '0', are digits before the first that
 * is none: adding 118 sets the high bit of a byte from 10 up; with that moved
 * to the low bit, the bytes below the lowest of them are counted. */
static inline unsigned digits_of_8(uint64_t bytes)
{
    uint64_t others = (((bytes & EACH_BYTE(0x7f)) + EACH_BYTE(118)) | bytes) &
                      EACH_BYTE(0x80);
    uint64_t first = others >> 7;
    uint64_t below = (first & -first) - 1;

    return (unsigned)((below & EACH_BYTE(1)) * EACH_BYTE(1) >> 56);
}

/* The number made by the first `count` of eight digits: moved up, so that
 * zeros stand in front of them, then joined to pairs, fours and eight.
 * Shifted in two halves, because a shift by 64 is not defined. */
static inline uint64_t number_of_8(uint64_t bytes, unsigned count)
{
    unsigned half = 4 * (8 - count);
    uint64_t n = bytes << half << half;

    n = n * 10 + (n >> 8);
    return ((n & 0xff000000ff) * (100 + (UINT64_C(1000000) << 32)) +
            (n >> 16 & 0xff000000ff) * (1 + (UINT64_C(10000) << 32))) >> 32;
}

/* An integer's digits and CR LF, without a branch that depends on how many of
 * the first 16 there are: a number's length cannot be predicted, a wrong guess
 * costs more than all this. Longer ones are rare. */
static NO_INLINE const char *plain_digits(const char *at, uint64_t *n)
{
    static const uint64_t power[9] = {
        1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000,
    };
    uint64_t a = load_8(at) ^ EACH_BYTE('0');
    uint64_t b = load_8(at + 8) ^ EACH_BYTE('0');
    unsigned a_count = digits_of_8(a);
    unsigned b_count = a_count / 8 * digits_of_8(b);
    unsigned count = a_count + b_count;

    *n = number_of_8(a, a_count) * power[b_count] + number_of_8(b, b_count);
    if (count == 16) {
        uint64_t c = load_8(at + 16) ^ EACH_BYTE('0');
        unsigned c_count = digits_of_8(c);

        count += c_count;
        *n = *n * power[c_count] + number_of_8(c, c_count);
    }
    return count - 1 < DIGITS_MAX && is_crlf(at + count) ? at + count + 2
                                                         : NULL;
}

#endif

#endif
