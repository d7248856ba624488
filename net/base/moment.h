/* The lesser and the greater of two times. Private to net/ and lock/. */
#ifndef HF_MOMENT_H
#define HF_MOMENT_H

#include <stdint.h>

/* hf_min_ms - returns the earlier time, or the shorter duration. */
static inline int64_t hf_min_ms(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* hf_max_ms - returns the later time, or the longer duration. */
static inline int64_t hf_max_ms(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

#endif
