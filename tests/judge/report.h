/* A history in memory, and what the judge finds in it, as text. Private to build/judge
 * and its tests. */
#ifndef CHECK_REPORT_H
#define CHECK_REPORT_H

#include <stdio.h>

#include "tests/judge/judge.h"

/* A whole file, so that its lines can be printed. The bytes are the caller's. */
struct report_file {
    const char *name;
    const char *bytes;
    size_t len;
};

/* What the program was told to print. */
struct report_options {
    bool has_stats;
    bool has_overlap;           /* a time line after each violation */
};

/* report_next_line - the line at offset *at, without its LF. *at moves to the next
 *                  line; at the end of the file it is beyond `len`.
 * report_judge    - gives all lines to the judge and ends it. Returns NULL, or what is
 *                 wrong with line *number, which ends it there.
 * report_sentence - what the property says, in a few words.
 * report_print    - violations with their lines, and what the options name.
 * report_warn     - the first word that the format does not have. */
const char *report_next_line(const struct report_file *f, size_t *at, size_t *len);
const char *report_judge(struct judge *judge, const struct report_file *f,
                         size_t *number);
const char *report_sentence(int property);
void report_print(FILE *out, const struct report_file *f, const struct judge *judge,
                  const struct report_options *options);
void report_warn(FILE *out, const struct report_file *f, const struct judge *judge);

#endif
