/* Hash slots: CRC16 of a key or of its hash tag, eight bytes in a step.
 *
 * The CRC of a byte followed by zeros is the sum (by XOR) of those of its bits, and the CRC of
 * bit b followed by k zero bytes is x^(16 + b + 8k) modulo the polynomial. So the whole table
 * follows from 64 powers of x, and those from the first: the compiler computes all of it.
 *
 * Sources: CLUSTER "Key distribution model", "Hash tags"; slicing: Kounavis & Berry 2005. */
/* Tests: tests/test_net_slot.c, tests/live/cluster/test_slot.c. */
#include "net/route/slot.h"

#include <string.h>

#include "net/net.h"

/* x^16 + x^12 + x^5 + 1, without x^16: what x^16 is modulo it ("XMODEM"). */
#define POLYNOMIAL 0x1021
#define TIMES_X(p) (((p) << 1 & 0xffff) ^ ((p) & 0x8000 ? POLYNOMIAL : 0))

enum {
    x16 = POLYNOMIAL,
    x17 = TIMES_X(x16), x18 = TIMES_X(x17), x19 = TIMES_X(x18),
    x20 = TIMES_X(x19), x21 = TIMES_X(x20), x22 = TIMES_X(x21),
    x23 = TIMES_X(x22), x24 = TIMES_X(x23), x25 = TIMES_X(x24),
    x26 = TIMES_X(x25), x27 = TIMES_X(x26), x28 = TIMES_X(x27),
    x29 = TIMES_X(x28), x30 = TIMES_X(x29), x31 = TIMES_X(x30),
    x32 = TIMES_X(x31), x33 = TIMES_X(x32), x34 = TIMES_X(x33),
    x35 = TIMES_X(x34), x36 = TIMES_X(x35), x37 = TIMES_X(x36),
    x38 = TIMES_X(x37), x39 = TIMES_X(x38), x40 = TIMES_X(x39),
    x41 = TIMES_X(x40), x42 = TIMES_X(x41), x43 = TIMES_X(x42),
    x44 = TIMES_X(x43), x45 = TIMES_X(x44), x46 = TIMES_X(x45),
    x47 = TIMES_X(x46), x48 = TIMES_X(x47), x49 = TIMES_X(x48),
    x50 = TIMES_X(x49), x51 = TIMES_X(x50), x52 = TIMES_X(x51),
    x53 = TIMES_X(x52), x54 = TIMES_X(x53), x55 = TIMES_X(x54),
    x56 = TIMES_X(x55), x57 = TIMES_X(x56), x58 = TIMES_X(x57),
    x59 = TIMES_X(x58), x60 = TIMES_X(x59), x61 = TIMES_X(x60),
    x62 = TIMES_X(x61), x63 = TIMES_X(x62), x64 = TIMES_X(x63),
    x65 = TIMES_X(x64), x66 = TIMES_X(x65), x67 = TIMES_X(x66),
    x68 = TIMES_X(x67), x69 = TIMES_X(x68), x70 = TIMES_X(x69),
    x71 = TIMES_X(x70), x72 = TIMES_X(x71), x73 = TIMES_X(x72),
    x74 = TIMES_X(x73), x75 = TIMES_X(x74), x76 = TIMES_X(x75),
    x77 = TIMES_X(x76), x78 = TIMES_X(x77), x79 = TIMES_X(x78),
};

/* The sums of all choices of powers, counted in binary: the first of them is
 * the lowest bit. */
#define SUMS1(s, a) s, (s) ^ a
#define SUMS2(s, a, b) SUMS1(s, a), SUMS1((s) ^ b, a)
#define SUMS3(s, a, b, c) SUMS2(s, a, b), SUMS2((s) ^ c, a, b)
#define SUMS4(s, a, b, c, d) SUMS3(s, a, b, c), SUMS3((s) ^ d, a, b, c)
#define SUMS5(s, a, b, c, d, e)                                               \
    SUMS4(s, a, b, c, d), SUMS4((s) ^ e, a, b, c, d)
#define SUMS6(s, a, b, c, d, e, f)                                            \
    SUMS5(s, a, b, c, d, e), SUMS5((s) ^ f, a, b, c, d, e)
#define SUMS7(s, a, b, c, d, e, f, g)                                         \
    SUMS6(s, a, b, c, d, e, f), SUMS6((s) ^ g, a, b, c, d, e, f)
#define SUMS8(a, b, c, d, e, f, g, h)                                         \
    SUMS7(0, a, b, c, d, e, f, g), SUMS7(h, a, b, c, d, e, f, g)

/* crc_of[k][byte]: the CRC of the byte followed by k zero bytes. 4 KiB. */
static const uint16_t crc_of[8][256] = {
    {SUMS8(x16, x17, x18, x19, x20, x21, x22, x23)},
    {SUMS8(x24, x25, x26, x27, x28, x29, x30, x31)},
    {SUMS8(x32, x33, x34, x35, x36, x37, x38, x39)},
    {SUMS8(x40, x41, x42, x43, x44, x45, x46, x47)},
    {SUMS8(x48, x49, x50, x51, x52, x53, x54, x55)},
    {SUMS8(x56, x57, x58, x59, x60, x61, x62, x63)},
    {SUMS8(x64, x65, x66, x67, x68, x69, x70, x71)},
    {SUMS8(x72, x73, x74, x75, x76, x77, x78, x79)},
};

/* The first two bytes with the CRC so far added to them. Bytes are read one by
 * one: the order of a machine's own does not matter. */
static unsigned xor_first_two_bytes(unsigned crc, const unsigned char *p)
{
    return crc ^ ((unsigned)p[0] << 8 | p[1]);
}

/* Only the first two bytes wait for the CRC so far. */
static unsigned add_8_bytes(unsigned crc, const unsigned char *p)
{
    unsigned first = xor_first_two_bytes(crc, p);
    unsigned rest = crc_of[5][p[2]] ^ crc_of[4][p[3]] ^ crc_of[3][p[4]] ^
                    crc_of[2][p[5]] ^ crc_of[1][p[6]] ^ crc_of[0][p[7]];

    return rest ^ crc_of[7][first >> 8] ^ crc_of[6][first & 255];
}

static unsigned add_4_bytes(unsigned crc, const unsigned char *p)
{
    unsigned first = xor_first_two_bytes(crc, p);
    unsigned rest = crc_of[1][p[2]] ^ crc_of[0][p[3]];

    return rest ^ crc_of[3][first >> 8] ^ crc_of[2][first & 255];
}

static unsigned crc16(const unsigned char *p, size_t len)
{
    unsigned crc = 0;

    for (; len >= 8; p += 8, len -= 8)
        crc = add_8_bytes(crc, p);
    if (len >= 4) {
        crc = add_4_bytes(crc, p);
        p += 4;
        len -= 4;
    }
    for (; len > 0; p++, len--)
        crc = (crc << 8 & 0xffff) ^ crc_of[0][*p ^ crc >> 8];
    return crc;
}

uint16_t hf_slot_of(const void *key, size_t len)
{
    const unsigned char *from = key;
    const unsigned char *open, *close;

    if (len == 0)
        return 0; /* `key` may be NULL, which memchr must not be given */
    open = memchr(from, '{', len);
    if (open) {
        open++;
        close = memchr(open, '}', (size_t)(from + len - open));
        if (close && close > open) {
            from = open;
            len = (size_t)(close - open);
        }
    }
    return (uint16_t)(crc16(from, len) % HF_SLOTS);
}
