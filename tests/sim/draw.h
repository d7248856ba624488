/* What plans are drawn with. Each takes the state of its dice (tests/support/dice.h).
 *
 * draw_below(n)      - 0 to n - 1
 * draw_between(a, b) - a to b
 * draw_one_in(n)     - true once in n times
 * draw_spread(a, b)  - a to b, each power of two as likely as the next: mostly
 *                      short, now and then long
 * draw_pick          - one of a table, which has DRAW_COUNT(table) */
#ifndef SIM_DRAW_H
#define SIM_DRAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/support/dice.h"

#define DRAW_COUNT(table) (sizeof(table) / sizeof *(table))

static inline int64_t draw_below(uint64_t *dice, int64_t sides)
{
    return (int64_t)dice_of(dice, (uint64_t)sides);
}

static inline int64_t draw_between(uint64_t *dice, int64_t low, int64_t high)
{
    return low + draw_below(dice, high - low + 1);
}

static inline bool draw_one_in(uint64_t *dice, int64_t sides)
{
    return draw_below(dice, sides) == 0;
}

static inline int64_t draw_spread(uint64_t *dice, int64_t low, int64_t high)
{
    int doublings = 0;
    int64_t bottom;

    while (low << (doublings + 1) <= high)
        doublings++;
    bottom = low << draw_below(dice, doublings + 1);
    return draw_between(dice, bottom, 2 * bottom < high ? 2 * bottom : high);
}

static inline int64_t draw_pick(uint64_t *dice, const int64_t *table,
                                size_t count)
{
    return table[draw_below(dice, (int64_t)count)];
}

#endif
