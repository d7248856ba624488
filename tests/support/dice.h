/* Random numbers that are the same at every run. Whoever wants another
 * sequence, or one for each thread, keeps a seed of his own. */
#ifndef TEST_DICE_H
#define TEST_DICE_H

#include <stdint.h>

/* Any but 0 is a seed. DICE_SEED + 1, + 2, ... begin other sequences. */
#define DICE_SEED UINT64_C(88172645463325252)

/* dice_bits - 64 random bits. Source: Marsaglia, "Xorshift RNGs", 2003.
 * dice_of   - from 0 to `sides` - 1.
 * dice_stream - the seed of one of many sequences that are told apart by name:
 *               what one of them is asked for moves no other. */
static inline uint64_t dice_bits(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

static inline uint64_t dice_of(uint64_t *seed, uint64_t sides)
{
    return dice_bits(seed) % sides;
}

static inline uint64_t dice_stream(uint64_t seed, const char *name)
{
    uint64_t mixed = seed ^ DICE_SEED;

    for (; *name; name++) /* FNV-1a */
        mixed = (mixed ^ (unsigned char)*name) * UINT64_C(1099511628211);
    mixed = (mixed ^ mixed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
    mixed ^= mixed >> 31; /* splitmix64's end: neighbours look alike no more */
    return mixed ? mixed : DICE_SEED;
}

/* The same by one seed for a whole file, which a test may set. */
static uint64_t dice_seed = DICE_SEED;

static inline uint64_t dice(uint64_t sides)
{
    return dice_of(&dice_seed, sides);
}

#endif
