/* Which of many strings may be value locks, or counters. */
#ifndef CLI_LS_STRINGS_H
#define CLI_LS_STRINGS_H

#include "cli/ls/page.h"

/* ls_strings_look - puts those strings among the names of the page on the list
 *   that look like what is asked for: a value lock (a TTL, and a text of 1 to
 *   CLI_HOLDER_MAX bytes), a counter (no TTL, and an integer). Those of another
 *   program look the same; what locks have beside their own keys is left out. */
void ls_strings_look(struct ls_looking *looking);

#endif
