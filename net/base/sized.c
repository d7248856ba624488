/* Copies structs between a program and a library that may have different versions. */
/* Tests: tests/test_net_sized.c. */
#include "net/base/sized.h"

#include <string.h>

#include "net/base/assert.h"
#include "net/base/error.h"

/* No struct of a later version is so large: the size was not initialised. As a random number
 * is not a multiple of a pointer's size either. */
#define SIZE_MOST 65536

static size_t read_size_member(const void *from)
{
    size_t size;

    memcpy(&size, from, sizeof size);
    return size;
}

/* Returns whether the program uses no member that this library does not have. */
static bool are_unknown_members_zero(const char *from, size_t own, size_t size)
{
    for (size_t i = own; i < size; i++)
        if (from[i])
            return false;
    return true;
}

hf_status hf_sized_read(void *to, const struct hf_sized *type, const void *from,
                        struct hf_error *err)
{
    size_t size = read_size_member(from);

    HF_ASSERT(type->size_least > sizeof size && type->size_least <= type->size);
    if (size < type->size_least || size > SIZE_MOST || size % sizeof(void *) != 0)
        return hf_error_set(err, HF_E_INVAL,
                            "struct %s was not initialised: its size is %zu, not %zu "
                            "(use its initializer or init function)",
                            type->name, size, type->size);
    if (!are_unknown_members_zero(from, type->size, size))
        return hf_error_set(err, HF_E_INVAL,
                            "the program sets a member of struct %s that this library, "
                            "version %s, does not have: it needs a later version",
                            type->name, hf_version());
    memcpy(to, from, size < type->size ? size : type->size);
    memcpy(to, &type->size, sizeof type->size);
    return HF_OK;
}

void hf_sized_write(void *to, size_t size, const void *from, size_t own)
{
    size_t both = size < own ? size : own;

    memset(to, 0, size);
    memcpy(to, from, both);
    if (both >= sizeof both)
        memcpy(to, &both, sizeof both);
}
