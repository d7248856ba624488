/* Names of keys. */
#ifndef CLI_LS_TEXT_H
#define CLI_LS_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* ls_text_is_ours - is it the name of a string that locks have beside their own:
 *   a counter of tokens, a read hold's TTL, an answer that is kept? Pure.
 *   Source: WIRE 2.3. */
bool ls_text_is_ours(const char *name, size_t len);

#endif
