/* Core dumps: none of ours, for passwords are in our memory while we run.
 *
 * By the limit, and not by PR_SET_DUMPABLE: that makes /proc/PID root's, so that
 * holdfast could not open the pipe of a shell's <(...), and nobody could look
 * into a holdfast of his own with a debugger. */
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
    none.rlim_cur = 0; /* the other stays, so that it can be taken back */
    is_changed = setrlimit(RLIMIT_CORE, &none) == 0;
}

void cli_core_inherit(void)
{
    if (is_changed)
        (void)setrlimit(RLIMIT_CORE, &before);
}
