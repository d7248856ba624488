/* Which of many strings may be value locks, or counters. */
#ifndef CLI_LS_STRINGS_H
#define CLI_LS_STRINGS_H

#include "cli/ls/looking.h"

/* The longest value that is taken for a holder: what hf_lock_info has room for. */
#define LS_HOLDER_MAX (sizeof((struct hf_lock_info *)0)->holder - 1)

/* ls_strings_look - puts those strings among the names of the page on the list
 *   that look like what is asked for: a value lock (a TTL, and a text of 1 to
 *   LS_HOLDER_MAX bytes), a counter (no TTL, and an integer). Those of another
 *   program look the same; what locks have beside their own keys is left out. */
void ls_strings_look(struct ls_looking *looking);

#endif
