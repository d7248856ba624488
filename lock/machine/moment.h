/* Two moments, or two lengths of time: which is less? Private to lock/. */
#ifndef HF_MOMENT_H
#define HF_MOMENT_H

#include <stdint.h>

static inline int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

#endif
