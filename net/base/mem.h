/* Memory by the user's hook; the one place where arrays grow. */
#ifndef HF_MEM_H
#define HF_MEM_H

#include "resp/base.h"

/* The libc's allocator as a hook. */
extern const struct hf_mem hf_mem_libc;

/* hf_mem_new  - zeroed memory, or NULL. hf_mem_free - takes NULL too.
 * hf_mem_grow - *ptr from *room elements of `size` bytes to at least `want`,
 *               at least doubled, never over `max`; contents kept, *room set.
 *               false: nothing changed. The one place where arrays grow.
 * hf_mem_give_back - frees the array at *ptr if it has more than `keep` bytes:
 *                    a rare great value needed them. */
void *hf_mem_new(const struct hf_mem *mem, size_t size) HF_MUST_CHECK;
void hf_mem_free(const struct hf_mem *mem, void *ptr, size_t size);
bool hf_mem_grow(const struct hf_mem *mem, void *ptr, uint32_t *room,
                 size_t size, size_t want, size_t max) HF_MUST_CHECK;
static inline void hf_mem_give_back(const struct hf_mem *mem, void *ptr,
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
