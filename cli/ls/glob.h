/* Patterns as SCAN MATCH takes them. */
#ifndef CLI_LS_GLOB_H
#define CLI_LS_GLOB_H

#include <stdbool.h>
#include <stddef.h>

/* ls_glob_matches - as the server's own: '*' any bytes, '?' one, "[a-z]" one of
 *   these, "[^a-z]" one of the others, '\' takes the next byte literally. `name`
 *   has `len` bytes of any value. Pure. */
bool ls_glob_matches(const char *pattern, const char *name, size_t len);

#endif
