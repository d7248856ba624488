/* Forbids our core dumps, because passwords are in our memory while we run. It
 * sets the limit and not PR_SET_DUMPABLE: that gives /proc/PID to root, so that
 * holdfast could not open the pipe of a shell's <(...), and users could not
 * debug their own holdfast. */
#include "cli/core.h"

#include <stdbool.h>
#include <sys/resource.h>

static struct rlimit before;
static bool is_changed;

void cli_core_forbid(void)
{
    struct rlimit none;

    if (getrlimit(RLIMIT_CORE, &before) < 0)
        return;
    none = before;
    none.rlim_cur = 0; /* the hard limit stays, so that this can be undone */
    is_changed = setrlimit(RLIMIT_CORE, &none) == 0;
}

void cli_core_inherit(void)
{
    if (is_changed)
        (void)setrlimit(RLIMIT_CORE, &before);
}
