/* Arrays that grow. */
#ifndef CLI_LS_ARRAY_H
#define CLI_LS_ARRAY_H

#include <stddef.h>

/* ls_array_grow - makes space for one more element of `size` bytes behind `count` others, and
 *   returns the array, which may have moved; free() it. NULL: no memory, and the array is
 *   unchanged. *room is the number of elements that have space; an empty array is NULL and 0. */
void *ls_array_grow(void *array, size_t count, size_t *room, size_t size);

#endif
