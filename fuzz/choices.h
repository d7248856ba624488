/* What a stream of replies begins with in these harnesses: three bytes that
 * choose how all others are to be taken. */
#ifndef FUZZ_CHOICES_H
#define FUZZ_CHOICES_H

#include "tests/support/resp_reading.h"

#define CHOICES 3

/* The bits of the first byte; the two highest choose the limits, 0 those that
 * nobody chose. The second is the length of a piece, the third by how many
 * nodes the tape grows. */
enum { RESP2 = 1, STRICT = 2, DROPS = 4, UNEVEN = 8, JSON = 16, LIMITS = 64 };

/* false: there are not even three bytes. */
static inline bool choose(const uint8_t *data, size_t size, struct input *in,
                          struct cuts *cuts)
{
    static const struct hf_resp_limits low[] = {
        {4, 10, 4, 3, 60}, {0, 3, 12, 0, 20}, {8, 70, 40, 12, 300}};

    if (size < CHOICES)
        return false;
    *in = (struct input){
        .bytes = (const char *)data + CHOICES,
        .len = size - CHOICES,
        .limits = data[0] / LIMITS ? low[data[0] / LIMITS - 1]
                                   : hf_resp_default_limits,
        .protocol = data[0] & RESP2 ? 2 : 3,
        .strict = data[0] & STRICT,
    };
    *cuts = (struct cuts){
        .piece = 1u + data[1],
        .step = data[2],
        .drops = data[0] & DROPS,
        .uneven = data[0] & UNEVEN,
    };
    return true;
}

#endif
