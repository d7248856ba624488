/* The terminal of `holdfast ls`. */
/* Tests: tests/live/cli/test_ls.c. */
#include "cli/ls/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

size_t ls_terminal_width(void)
{
    struct winsize size = {0};

    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

bool ls_terminal_colours(void)
{
    const char *none = getenv("NO_COLOR"), *term = getenv("TERM");

    return isatty(STDOUT_FILENO) && !(none && *none) && term && *term &&
           strcmp(term, "dumb") != 0;
}
