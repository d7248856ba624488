/* Which bytes are UTF-8. Source: RFC 3629, section 4. */
#include "cli/resp_utf8.h"

/* How a character beyond ASCII begins; the second byte's range keeps out
 * overlong forms, surrogates and what is above U+10FFFF. */
static const struct {
    unsigned char first_min, first_max, second_min, second_max;
    size_t len;
} sequences[] = {{0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
                 {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3},
                 {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
                 {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4}};

static bool is_tail(const unsigned char *p, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if ((p[i] & 0xc0) != 0x80)
            return false;
    return true;
}

size_t cli_utf8_len(const char *ptr, size_t len)
{
    const unsigned char *p = (const unsigned char *)ptr;

    if (p[0] < 128)
        return 1;
    for (size_t i = 0; i < sizeof sequences / sizeof *sequences; i++) {
        size_t want = sequences[i].len;

        if (p[0] < sequences[i].first_min || p[0] > sequences[i].first_max)
            continue;
        if (len < want || p[1] < sequences[i].second_min ||
            p[1] > sequences[i].second_max || !is_tail(p + 2, want - 2))
            return 0;
        return want;
    }
    return 0;
}

bool cli_utf8_ok(const char *ptr, size_t len)
{
    for (size_t i = 0, step; i < len; i += step)
        if ((step = cli_utf8_len(ptr + i, len - i)) == 0)
            return false;
    return true;
}
