/* Allocates memory with the user's hook, and enlarges arrays. */
#ifndef HF_MEM_H
#define HF_MEM_H

#include "resp/base.h"

/* The allocator of libc as a hook. */
extern const struct hf_mem hf_mem_libc;

/* hf_mem_new - returns zeroed memory, or NULL. */
void *hf_mem_new(const struct hf_mem *mem, size_t size) HF_MUST_CHECK;

/* hf_mem_free - frees it. `size` is the size with which it was allocated. NULL is allowed. */
void hf_mem_free(const struct hf_mem *mem, void *ptr, size_t size);

/* hf_mem_grow - enlarges the array at *ptr from *room elements of `size` bytes to at least
 *   `want` elements: it at least doubles, up to `max`. The contents are kept, and *room is
 *   set. False: nothing was changed. */
bool hf_mem_grow(const struct hf_mem *mem, void *ptr, uint32_t *room,
                 size_t size, size_t want, size_t max) HF_MUST_CHECK;

/* hf_mem_grow_wiped - as hf_mem_grow, for memory that contains a secret: it is overwritten
 *   before it is freed. */
bool hf_mem_grow_wiped(const struct hf_mem *mem, void *ptr, uint32_t *room,
                       size_t size, size_t want, size_t max) HF_MUST_CHECK;

/* hf_mem_free_if_large - frees the array at *ptr if it has more than `keep` bytes, after a rare
 *   large value needed them. */
static inline void hf_mem_free_if_large(const struct hf_mem *mem, void *ptr,
                                        uint32_t *room, size_t size, size_t keep)
{
    void **array = ptr;

    if (*room * size <= keep)
        return;
    hf_mem_free(mem, *array, *room * size);
    *array = NULL;
    *room = 0;
}

#endif
