/* An allocator for the library that counts the bytes that it has requested and not freed, and
 * the most of them. Header only: one program, one counter. */
#ifndef BENCH_COUNT_BYTES_H
#define BENCH_COUNT_BYTES_H

#include <stdatomic.h>
#include <stdlib.h>

#include "resp/base.h"

static atomic_long live_bytes, peak_bytes;

static void *count_resize(void *ctx, void *ptr, size_t old, size_t size)
{
    (void)ctx;
    if (!ptr)
        old = 0;
    if (size == 0) {
        free(ptr);
        live_bytes -= (long)old;
        return NULL;
    }
    ptr = realloc(ptr, size);
    if (ptr)
        live_bytes += (long)size - (long)old;
    if (live_bytes > peak_bytes)
        peak_bytes = live_bytes;
    return ptr;
}

static const struct hf_mem counting = {count_resize, NULL};

#endif
