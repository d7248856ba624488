/* Replies as one line each, close to the protocol: every CR LF is a space, except the last,
 * which is left out; other bytes that are not printable are escaped.
 *
 *     *2 $3 foo :7
 *     -ERR unknown command 'x'
 */
#ifndef TOOLS_RESP_LINE_H
#define TOOLS_RESP_LINE_H

#include "tools/resp/print.h"

/* cli_print_sent - from the bytes.
 * cli_print_read - from the tape. Equal lines mean that the parser has missed
 *                  nothing and invented nothing. */
cli_print cli_print_sent;
cli_print cli_print_read;

#endif
