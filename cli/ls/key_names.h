/* Names of keys that locks have beside their own. */
#ifndef CLI_LS_KEY_NAMES_H
#define CLI_LS_KEY_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/* ls_key_is_auxiliary - is it the name of a string that locks have beside their own:
 *   a counter of tokens, a read hold's TTL, an answer that is kept? Pure.
 *   Source: WIRE 2.3. */
bool ls_key_is_auxiliary(const char *name, size_t len);

#endif
