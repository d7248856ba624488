/* The allocation hook's three verbs, and the one place where arrays grow. */
/* Tests: tests/test_net_mem.c. */
#include "net/base/mem.h"

#include <stdlib.h>
#include <string.h>

#include "net/net.h"

static void *libc_resize(void *ctx, void *ptr, size_t old, size_t size)
{
    (void)ctx;
    (void)old;
    if (size == 0) {
        free(ptr);
        return NULL;
    }
    return realloc(ptr, size);
}

const struct hf_mem hf_mem_libc = {libc_resize, NULL};

void *hf_mem_new(const struct hf_mem *mem, size_t size)
{
    void *ptr = mem->resize(mem->ctx, NULL, 0, size);

    if (ptr)
        memset(ptr, 0, size);
    return ptr;
}

void hf_mem_free(const struct hf_mem *mem, void *ptr, size_t size)
{
    if (ptr)
        (void)mem->resize(mem->ctx, ptr, size, 0);
}

/* Returns the new size: double, so that growing costs O(1) for each element, but at
 * least the requested and at most the permitted size. */
static size_t grown_capacity(size_t room, size_t want, size_t max)
{
    size_t twice = room <= max / 2 ? room * 2 : max;

    return twice > want ? twice : want;
}

/* An allocator's resize frees the old block as it is. */
static void *resize_and_wipe_old(const struct hf_mem *mem, void *old, size_t old_size, size_t size)
{
    void *grown = mem->resize(mem->ctx, NULL, 0, size);

    if (!grown || !old)
        return grown;
    memcpy(grown, old, old_size);
    explicit_bzero(old, old_size);
    (void)mem->resize(mem->ctx, old, old_size, 0);
    return grown;
}

static bool grow_array(const struct hf_mem *mem, void *ptr, uint32_t *room, size_t size,
                       size_t want, size_t max, bool is_wiped)
{
    void *old, *grown;
    size_t next;

    if (want <= *room)
        return true;
    if (max > UINT32_MAX)
        max = UINT32_MAX;
    if (max > SIZE_MAX / size)
        max = SIZE_MAX / size;
    if (want > max)
        return false;
    next = grown_capacity(*room, want, max);
    /* `ptr` is the address of a pointer to any type: copied, not cast. */
    memcpy(&old, ptr, sizeof old);
    grown = is_wiped ? resize_and_wipe_old(mem, old, *room * size, next * size)
                     : mem->resize(mem->ctx, old, *room * size, next * size);
    if (!grown)
        return false;
    memcpy(ptr, &grown, sizeof grown);
    *room = (uint32_t)next;
    return true;
}

bool hf_mem_grow(const struct hf_mem *mem, void *ptr, uint32_t *room,
                 size_t size, size_t want, size_t max)
{
    return grow_array(mem, ptr, room, size, want, max, false);
}

bool hf_mem_grow_wiped(const struct hf_mem *mem, void *ptr, uint32_t *room,
                       size_t size, size_t want, size_t max)
{
    return grow_array(mem, ptr, room, size, want, max, true);
}
