/* Finds the name that a mistyped word probably means. */
#ifndef CLI_NEAREST_H
#define CLI_NEAREST_H

#include <stddef.h>

/* The best name so far. All zero: none. */
struct cli_nearest {
    const char *name;           /* NULL: no name is near */
    int distance;               /* of `name` from the word */
};

/* cli_nearest_try - sets n->name to `name` if it is near, and nearer to the word than the best
 *   name so far.
 *   word, len  a text of `len` bytes, without a final NUL
 * The distance is the number of characters that are inserted, deleted or replaced, and of
 * neighbours that are exchanged. A name is near if the distance is at most 1, or at most 2 for
 * a word of six bytes or more. The option that another program calls by that word, such as
 * --timeout of flock for --wait, is nearer than any other. A name or word of more than 40 bytes
 * is never near, so the cost is bounded. */
void cli_nearest_try(struct cli_nearest *n, const char *word, size_t len, const char *name);

#endif
