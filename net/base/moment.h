/* Two moments, or two lengths of time: which is less? Private to net/ and lock/. */
#ifndef HF_MOMENT_H
#define HF_MOMENT_H

#include <stdint.h>

static inline int64_t hf_min_ms(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t hf_max_ms(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

#endif
