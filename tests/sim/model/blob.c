/* Texts: see blob.h. */
#include "tests/sim/model/blob.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void *md_alloc(size_t size)
{
    void *p = calloc(1, size);

    if (!p)
        abort();
    return p;
}

void *md_grow(void *at, size_t n, size_t *room, size_t size)
{
    void *p = at;

    if (n < *room)
        return at;
    *room = *room ? 2 * *room : 4;
    if (!(p = realloc(at, *room * size)))
        abort();
    return p;
}

struct blob *md_blob(struct slice s)
{
    struct blob *b = malloc(sizeof *b + s.n + 1);

    if (!b)
        abort();
    b->n = (uint32_t)s.n;
    memcpy(b->p, s.p, s.n);
    b->p[s.n] = '\0';
    return b;
}

int md_compare(struct slice a, struct slice b)
{
    int rc = memcmp(a.p, b.p, a.n < b.n ? a.n : b.n);

    return rc ? rc : (a.n > b.n) - (a.n < b.n);
}

bool md_is(struct slice s, const char *word)
{
    size_t i = 0;

    while (i < s.n && word[i] && tolower((unsigned char)s.p[i]) == word[i])
        i++;
    return i == s.n && !word[i];
}

uint64_t md_hash(struct slice s, uint64_t seed)
{
    uint64_t h = UINT64_C(14695981039346656037) ^ seed, word;
    size_t i = 0;

    for (; i + sizeof word <= s.n; i += sizeof word) { /* names may be long */
        memcpy(&word, s.p + i, sizeof word);
        h = (h ^ word) * UINT64_C(1099511628211);
        h ^= h >> 32;
    }
    for (; i < s.n; i++)
        h = (h ^ (unsigned char)s.p[i]) * UINT64_C(1099511628211);
    return h ^ h >> 29;
}

char *md_room(struct bytes *b, size_t n)
{
    if (b->room - b->n < n) {
        b->room = 2 * b->room + n + 64;
        if (!(b->p = realloc(b->p, b->room)))
            abort();
    }
    return b->p + b->n;
}

void md_add(struct bytes *b, const void *p, size_t n)
{
    if (n == 0)
        return;
    memcpy(md_room(b, n), p, n);
    b->n += n;
}

void md_add_text(struct bytes *b, const char *s)
{
    md_add(b, s, strlen(s));
}

void md_printf(struct bytes *b, const char *format, ...)
{
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    va_start(args, format);
    (void)vsnprintf(md_room(b, (size_t)n + 1), (size_t)n + 1, format, args);
    va_end(args);
    b->n += (size_t)n;
}

void md_bytes_free(struct bytes *b)
{
    free(b->p);
    *b = (struct bytes){NULL, 0, 0};
}

bool md_integer(struct slice s, int64_t *out)
{
    bool minus = s.n > 0 && s.p[0] == '-';
    uint64_t n = 0, most = minus ? (uint64_t)INT64_MAX + 1 : INT64_MAX;

    if (s.n == (size_t)minus || s.n > 20)
        return false;
    if (s.p[minus] == '0' && (s.n > 1))
        return false;
    for (size_t i = minus; i < s.n; i++) {
        uint64_t digit = (uint64_t)(s.p[i] - '0');

        if (s.p[i] < '0' || s.p[i] > '9' || n > (most - digit) / 10)
            return false;
        n = 10 * n + digit;
    }
    *out = minus ? (int64_t)-n : (int64_t)n;
    return true;
}

size_t md_format(char buf[24], int64_t n)
{
    char reversed[24];
    uint64_t u = n < 0 ? -(uint64_t)n : (uint64_t)n;
    size_t len = 0, at = 0;

    do
        reversed[len++] = (char)('0' + u % 10);
    while (u /= 10);
    if (n < 0)
        buf[at++] = '-';
    while (len)
        buf[at++] = reversed[--len];
    buf[at] = '\0';
    return at;
}

bool md_double(struct slice s, double *out)
{
    char text[128], *end;

    if (s.n == 0 || s.n >= sizeof text || isspace((unsigned char)s.p[0]))
        return false;
    memcpy(text, s.p, s.n);
    text[s.n] = '\0';
    *out = strtod(text, &end);
    return end == text + s.n && !isnan(*out);
}

/* ---- globs ---- */

/* One of "[a-z^]"; *p stands behind the bracket, and then behind its end. */
static bool class_has(const char **p, const char *end, char c)
{
    bool is_not = *p < end && **p == '^', found = false;

    *p += is_not;
    for (; *p < end && **p != ']'; (*p)++) {
        if (**p == '\\' && *p + 1 < end)
            found |= *++*p == c;
        else if (*p + 2 < end && (*p)[1] == '-') {
            found |= (*p)[0] <= c && c <= (*p)[2];
            *p += 2;
        } else {
            found |= **p == c;
        }
    }
    *p += *p < end;
    return found != is_not;
}

static bool glob(const char *p, const char *p_end, const char *s,
                 const char *s_end)
{
    while (p < p_end) {
        if (*p == '*') {
            for (const char *rest = s; rest <= s_end; rest++)
                if (glob(p + 1, p_end, rest, s_end))
                    return true;
            return false;
        }
        if (s == s_end)
            return false;
        if (*p == '[') {
            p++;
            if (!class_has(&p, p_end, *s++))
                return false;
            continue;
        }
        p += *p == '\\' && p + 1 < p_end;
        if (*p != '?' && *p != *s)
            return false;
        p++, s++;
    }
    return s == s_end;
}

bool md_glob(struct slice pattern, struct slice s)
{
    return glob(pattern.p, pattern.p + pattern.n, s.p, s.p + s.n);
}

/* ---- SHA-1. Source: RFC 3174 ---- */

static uint32_t rotate(uint32_t x, int n)
{
    return x << n | x >> (32 - n);
}

static uint32_t mixed(int t, uint32_t b, uint32_t c, uint32_t d)
{
    if (t < 20)
        return ((b & c) | (~b & d)) + 0x5A827999;
    if (t < 40)
        return (b ^ c ^ d) + 0x6ED9EBA1;
    if (t < 60)
        return ((b & c) | (b & d) | (c & d)) + 0x8F1BBCDC;
    return (b ^ c ^ d) + 0xCA62C1D6;
}

static void add_block(uint32_t h[5], const unsigned char *block)
{
    uint32_t w[80], v[5];

    for (int t = 0; t < 16; t++)
        w[t] = (uint32_t)block[4 * t] << 24 | (uint32_t)block[4 * t + 1] << 16 |
               (uint32_t)block[4 * t + 2] << 8 | block[4 * t + 3];
    for (int t = 16; t < 80; t++)
        w[t] = rotate(w[t - 3] ^ w[t - 8] ^ w[t - 14] ^ w[t - 16], 1);
    memcpy(v, h, sizeof v);
    for (int t = 0; t < 80; t++) {
        uint32_t x = rotate(v[0], 5) + mixed(t, v[1], v[2], v[3]) + v[4] + w[t];

        v[4] = v[3];
        v[3] = v[2];
        v[2] = rotate(v[1], 30);
        v[1] = v[0];
        v[0] = x;
    }
    for (int i = 0; i < 5; i++)
        h[i] += v[i];
}

void md_sha1_hex(struct slice s, char out[41])
{
    uint32_t h[5] = {0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476,
                     0xC3D2E1F0};
    unsigned char last[128] = {0};
    size_t done = s.n / 64 * 64, rest = s.n - done;
    size_t end = rest < 56 ? 64 : 128;

    for (size_t at = 0; at < done; at += 64)
        add_block(h, (const unsigned char *)s.p + at);
    memcpy(last, s.p + done, rest);
    last[rest] = 0x80;
    for (size_t i = 0; i < 8; i++)
        last[end - 1 - i] = (unsigned char)((uint64_t)s.n * 8 >> 8 * i);
    for (size_t at = 0; at < end; at += 64)
        add_block(h, last + at);
    for (int i = 0; i < 5; i++)
        (void)sprintf(out + 8 * i, "%08x", h[i]);
}
