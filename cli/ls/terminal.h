/* What the table of `holdfast ls` depends on: the width of the terminal, and colours. */
#ifndef CLI_LS_TERMINAL_H
#define CLI_LS_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

/* ls_terminal_width   - returns the columns of the terminal at standard output; 0: unknown.
 * ls_terminal_colours - returns whether standard output is a terminal that shows colours: not if
 *                       NO_COLOR is set, or TERM is not set or "dumb" (no-color.org). */
size_t ls_terminal_width(void);
bool ls_terminal_colours(void);

#endif
