/* Structs that grow: each begins with its size (net/version.h). The program and the library may
 * have different sizes of one struct; the members that both have are the same. */
#ifndef HF_SIZED_H
#define HF_SIZED_H

#include "net/net.h"

/* One of the options structs. `size_least` is the end of the members that every version has:
 * a smaller size is that of no version, so the struct was not initialised. */
struct hf_sized {
    const char *name;           /* "hf_acquire_options" */
    size_t size;                /* in this library */
    size_t size_least;
};

/* The same for a struct; every version has the members up to `member`. */
#define HF_SIZED(type, member)                                                \
    {#type, sizeof(struct type),                                              \
     offsetof(struct type, member) + sizeof(((struct type *)0)->member)}

/* hf_sized_read - copies the options of the program to *to, which has the defaults of the
 *   members that the program may not have, and sets its size. HF_E_INVAL: they were not
 *   initialised, or they have a member that this library does not have and that is not 0;
 *   *to is unchanged. */
hf_status hf_sized_read(void *to, const struct hf_sized *type, const void *from,
                        struct hf_error *err) HF_MUST_CHECK;

/* hf_sized_write - copies a struct of the library, of `own` bytes, to one of `size` bytes of
 *   the program. The rest of that is 0. Its size becomes the number of bytes copied. */
void hf_sized_write(void *to, size_t size, const void *from, size_t own);

#endif
