/* Private to resp/: the grammar of what may stand in one line. Each take_
 * function steps over what it is named after, and says whether it was there;
 * if not, it stays in front of the byte that is wrong. */
#ifndef HF_RESP_TEXT_H
#define HF_RESP_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The content of a line, without type byte and CR LF. */
struct text {
    const char *at;
    const char *end;
};

static inline bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool take(struct text *t, char a, char b)
{
    if (t->at == t->end || (*t->at != a && *t->at != b))
        return false;
    t->at++;
    return true;
}

/* Steps over digits; false if there is not one. */
static inline bool take_digits(struct text *t)
{
    const char *first = t->at;

    while (t->at < t->end && is_digit(*t->at))
        t->at++;
    return t->at > first;
}

static inline bool take_word(struct text *t, const char *word, size_t len)
{
    if ((size_t)(t->end - t->at) < len || memcmp(t->at, word, len) != 0)
        return false;
    t->at += len;
    return true;
}

/* Source: RESP "Big numbers"; rule H. */
static inline bool take_big(struct text *t)
{
    take(t, '-', '+');
    return take_digits(t) && t->at == t->end;
}

/* 12, 12.5, 12e-3: not .5 and not 5. */
static inline bool take_decimal(struct text *t)
{
    if (!take_digits(t))
        return false;
    if (take(t, '.', '.') && !take_digits(t))
        return false;
    if (!take(t, 'e', 'E'))
        return true;
    take(t, '-', '+');
    return take_digits(t);
}

static inline bool is_payload(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           c == '_';
}

/* Whatever a libc may print for one: nan, NAN, nan(0x8000000000000) (G3). */
static inline bool take_nan(struct text *t)
{
    if (!take(t, 'n', 'N') || !take(t, 'a', 'A') || !take(t, 'n', 'N'))
        return false;
    if (!take(t, '(', '('))
        return true;
    while (t->at < t->end && is_payload(*t->at))
        t->at++;
    return take(t, ')', ')');
}

/* Source: RESP "Doubles"; rules G1 to G3. */
static inline bool take_double(struct text *t, bool strict)
{
    bool plus = take(t, '+', '+');
    bool minus = !plus && take(t, '-', '-');
    bool ok;

    if (plus || (t->at < t->end && is_digit(*t->at)))
        ok = take_decimal(t);
    else if (strict)
        ok = take_word(t, "inf", 3) || (!minus && take_word(t, "nan", 3));
    else
        ok = take_word(t, "inf", 3) || take_nan(t);
    return ok && t->at == t->end;
}

/* Adds one digit unless that leaves the 64 bits (C4). */
static inline bool add_digit(uint64_t *n, uint64_t max, unsigned digit)
{
    if (*n > (max - digit) / 10)
        return false;
    *n = *n * 10 + digit;
    return true;
}

/* Source: RESP "Integers"; rules C1 to C4. */
static inline bool take_integer(struct text *t, int64_t *out)
{
    bool negative = take(t, '-', '-');
    uint64_t max = (uint64_t)INT64_MAX + negative;
    uint64_t n = 0;

    if (!negative)
        take(t, '+', '+');
    if (t->at == t->end)
        return false;
    for (; t->at < t->end && is_digit(*t->at); t->at++) {
        if (!add_digit(&n, max, (unsigned)(*t->at - '0')))
            return false;
    }
    *out = (int64_t)(negative ? -n : n);
    return t->at == t->end;
}

/* Digits alone (D1, E1). A number beyond 64 bits is beyond every limit too, so
 * that it need not be exact. */
static inline bool take_size(struct text *t, uint64_t *size)
{
    const char *first = t->at;

    *size = 0;
    for (; t->at < t->end && is_digit(*t->at); t->at++) {
        if (!add_digit(size, UINT64_MAX, (unsigned)(*t->at - '0')))
            *size = UINT64_MAX;
    }
    return t->at > first && t->at == t->end;
}

static inline bool is_text(struct text t, const char *word, size_t len)
{
    return take_word(&t, word, len) && t.at == t.end;
}

#endif
