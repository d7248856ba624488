/* Which bytes are UTF-8, and which characters a terminal shows rather than
 * obeys.
 * Source: RFC 3629, section 4. */
/* Tests: tests/test_net_mem.c. */
#include "net/base/utf8.h"
#include "net/net.h"

/* The first bytes of characters beyond ASCII; the range of the second byte excludes
 * overlong forms, surrogates and codes above U+10FFFF. */
static const struct {
    unsigned char first_min, first_max, second_min, second_max;
    size_t len;
} sequences[] = {{0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
                 {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3},
                 {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
                 {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4}};

static bool is_continuation_byte(unsigned char c)
{
    return (c & 0xc0) == 0x80;
}

/* The length of a sequence that begins with p[0] and p[1]; 0: there is none. */
static size_t sequence_len(const unsigned char *p)
{
    for (size_t i = 0; i < sizeof sequences / sizeof *sequences; i++)
        if (p[0] >= sequences[i].first_min && p[0] <= sequences[i].first_max)
            return p[1] >= sequences[i].second_min &&
                           p[1] <= sequences[i].second_max
                       ? sequences[i].len
                       : 0;
    return 0;
}

size_t hf_utf8_read(uint32_t *code, const char *ptr, size_t len)
{
    const unsigned char *p = (const unsigned char *)ptr;
    size_t want;

    *code = p[0];
    if (p[0] < 128)
        return 1;
    want = len > 1 ? sequence_len(p) : 0;
    if (want == 0 || want > len)
        return 0;
    *code = p[0] & (0x7fu >> want); /* a lead byte: `want` ones and a zero */
    for (size_t i = 1; i < want; i++) {
        if (!is_continuation_byte(p[i]))
            return 0;
        *code = *code << 6 | (p[i] & 0x3fu);
    }
    return want;
}

bool hf_utf8_ok(const char *ptr, size_t len)
{
    uint32_t code;

    for (size_t i = 0, step; i < len; i += step)
        if ((step = hf_utf8_read(&code, ptr + i, len - i)) == 0)
            return false;
    return true;
}

size_t hf_utf8_complete_len(const char *ptr, size_t len)
{
    size_t last = len;
    uint32_t code;

    for (size_t back = 0; back < 3 && last > 0; back++)
        if (!is_continuation_byte((unsigned char)ptr[--last]))
            break;
    return len > 0 && hf_utf8_read(&code, ptr + last, len - last) == 0 ? last
                                                                       : len;
}

/* A terminal executes C0, DEL and C1; the others reorder the text around them
 * (Unicode's Bidi_Control) or end a line. Sources: ECMA-48, section 5; Unicode Standard
 * Annex 9, section 2. */
bool hf_utf8_is_printable(uint32_t code)
{
    return code >= ' ' && !(code >= 127 && code < 0xa0) && code != 0x061c &&
           code != 0x200e && code != 0x200f &&
           !(code >= 0x2028 && code <= 0x202e) &&
           !(code >= 0x2066 && code <= 0x2069);
}
