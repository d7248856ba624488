/* Random numbers that are the same at every run. */
#ifndef BENCH_DICE_H
#define BENCH_DICE_H

#include <stdint.h>

/* From 0 to `sides` - 1. Source: Marsaglia, "Xorshift RNGs", 2003. */
static inline uint64_t dice(uint64_t sides)
{
    static uint64_t seed = 88172645463325252u;

    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed % sides;
}

#endif
