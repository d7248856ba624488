/* A URL's text, read strictly. See url_scan.h; the rules U are in url.c. */
/* Tests: tests/test_net_url.c. */
#include "net/base/url_scan.h"

#include <stdlib.h>
#include <string.h>

#include "net/base/error.h"

#define DATABASE_MAX INT32_MAX /* the server keeps it in an int */

hf_status hf_scan_refuse(const struct hf_scan *s, const char *at,
                         const char *why)
{
    if (s->option_name)
        return hf_error_set(s->err, HF_E_INVAL, "option %s: %s", s->option_name, why);
    return hf_error_set(s->err, HF_E_INVAL,
                        "the URL is wrong at character %zu: %s",
                        (size_t)(at - s->text) + 1, why);
}

/* ---- text ---- */

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* Returns the byte of %XX, or -1. It stops at the first byte that is not a hexadecimal
 * digit, such as a delimiter or the end of the text. */
static int decode_percent(const char *percent)
{
    int high = hex_value(percent[1]);
    int low = high < 0 ? -1 : hex_value(percent[2]);

    return low < 0 ? -1 : high * 16 + low;
}

hf_status hf_scan_decode(const struct hf_scan *s, struct hf_span part,
                         char *dst, size_t room, bool (*may_be)(unsigned char))
{
    size_t len = 0;

    for (const char *p = part.from; p < part.to; p++) {
        const char *start = p;
        int c = (unsigned char)*p;

        if (c == '%') {
            c = decode_percent(p);
            p += 2;
        }
        if (c < 0)
            return hf_scan_refuse(s, start,
                                  "after % come two hexadecimal digits");
        if (c == '\0' || (may_be && !may_be((unsigned char)c)))
            return hf_scan_refuse(s, start,
                                  "this character is not allowed here");
        if (len + 1 == room)
            return hf_scan_refuse(s, start, "this part of the URL is too long");
        dst[len++] = (char)c;
    }
    dst[len] = '\0';
    return HF_OK;
}

hf_status hf_scan_secret(const struct hf_scan *s, struct hf_span part, char **out)
{
    size_t len = (size_t)(part.to - part.from);
    size_t room = (len < HF_LOGIN_MAX ? len : HF_LOGIN_MAX) + 1;
    char *text = malloc(room);
    hf_status rc;

    if (!text)
        return hf_error_set(s->err, HF_E_NOMEM, "out of memory");
    text[0] = '\0';
    rc = hf_scan_decode(s, part, text, room, NULL);
    if (rc < 0) {
        explicit_bzero(text, room);
        free(text);
        return rc;
    }
    *out = text;
    return HF_OK;
}

void hf_scan_free_secret(char *text)
{
    if (text)
        explicit_bzero(text, strlen(text));
    free(text);
}

void hf_scan_free_secrets(struct hf_scan *s)
{
    hf_scan_free_secret(s->sentinel_user);
    hf_scan_free_secret(s->sentinel_password);
    hf_scan_free_secret(s->url);
    hf_scan_free_secret(s->user);
    hf_scan_free_secret(s->password);
}

/* ---- numbers ---- */

hf_status hf_scan_number(const struct hf_scan *s, struct hf_span part,
                         uint32_t least, uint32_t most, const char *why,
                         uint32_t *out)
{
    uint64_t n = 0;

    if (part.from == part.to)
        return hf_scan_refuse(s, part.from, why);
    for (const char *p = part.from; p < part.to; p++) {
        bool is_digit = *p >= '0' && *p <= '9';

        if (!is_digit || (n == 0 && p > part.from))
            return hf_scan_refuse(s, p, why);
        n = n * 10 + (uint64_t)(*p - '0');
        if (n > most)
            return hf_scan_refuse(s, p, why);
    }
    if (n < least)
        return hf_scan_refuse(s, part.from, why);
    *out = (uint32_t)n;
    return HF_OK;
}

hf_status hf_scan_database(const struct hf_scan *s, struct hf_span part,
                           uint32_t *out)
{
    return hf_scan_number(s, part, 0, DATABASE_MAX,
                          "the database is a number from 0", out);
}
