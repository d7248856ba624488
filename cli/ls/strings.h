/* Finds the strings that may be value locks or counters. */
#ifndef CLI_LS_STRINGS_H
#define CLI_LS_STRINGS_H

#include "cli/ls/page.h"

/* ls_strings_find - adds those strings of the page to the list that look like a requested kind: a
 *   value lock (a TTL, and a text of 1 to CLI_HOLDER_MAX bytes) or a counter (no TTL, and an
 *   integer). Strings of other programs may look the same; further keys of locks are left out. */
void ls_strings_find(struct ls_page *page);

#endif
