/* Arrays whose space doubles. */
/* Tests: tests/test_cli_ls.c, tests/live/cli/test_ls.c. */
#include "cli/ls/array.h"

#include <stdlib.h>

#define ROOM_MIN 64             /* elements */

void *ls_array_grow(void *array, size_t count, size_t *room, size_t size)
{
    size_t more = *room ? 2 * *room : ROOM_MIN;
    void *grown;

    if (count < *room)
        return array;
    grown = reallocarray(array, more, size);
    if (grown)
        *room = more;
    return grown;
}
