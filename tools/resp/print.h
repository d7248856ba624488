/* Replies, written out: for a person, and for a program. */
#ifndef TOOLS_RESP_PRINT_H
#define TOOLS_RESP_PRINT_H

#include <stdio.h>

#include "tools/resp/walk.h"

/* Writes one reply to `out`. The caller looks at its errors. */
typedef void cli_print(FILE *out, const struct cli_reply *reply);

/* cli_print_text - a line for each value: the offset of its first byte in the
 *   stream, then the value, indented by its depth. A key's value stands under
 *   it, behind "=>". ASCII only.
 *
 *          0  map of 1 pair
 *          4    bulk string "answer"
 *         16    => integer 42
 *
 * cli_print_json - a line for each reply, an object:
 *   offset      of its first byte, from 0; of children, too
 *   type        as the protocol calls it: "bulk string", "push", ..
 *   value       a number for an integer and a finite double, else a double is
 *               "inf", "-inf" or "nan"; a string for a big number; true, false,
 *               null; an array of such objects for what has children, in a map
 *               or attribute an array of [key, value]
 *   escaped     true: not all bytes are UTF-8. The others stand as \xHH, and a
 *               backslash as two. Of a verbatim string this holds for `format`,
 *               too
 *   format      of a verbatim string
 *   form        of null: "_", "$-1" or "*-1"
 *   streamed    true: an aggregate whose count was not announced. A streamed
 *               string has an array of chunks as its value
 *   attributes  those before it, objects of type "attribute"
 *
 * Cost: in the reply's bytes; neither uses memory or call stack for depth. */
cli_print cli_print_text;
cli_print cli_print_json;

/* cli_print_escaped - bytes as C would spell them: \r \n \t \\ \" \xHH. */
void cli_print_escaped(FILE *out, const char *ptr, size_t len);

#endif
