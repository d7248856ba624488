/* Forbids our core dumps, because passwords are in our memory while we run. A limit
 * of 0 prevents a file, but not a core_pattern that is a pipe (core(5)):
 * PR_SET_DUMPABLE prevents both. The files in /proc/PID then belong to root, but a
 * process may still open its own /proc/self/fd, such as the pipe of a shell's <(...). */
/* Tests: tests/live/cli/test_run.c. */
#include "cli/base/core_dump.h"

#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/resource.h>

static struct rlimit before;
static bool is_changed;

static void forbid_core_file(void)
{
    struct rlimit none;

    if (getrlimit(RLIMIT_CORE, &before) < 0)
        return;
    none = before;
    none.rlim_cur = 0; /* the hard limit stays, so that this can be undone */
    is_changed = setrlimit(RLIMIT_CORE, &none) == 0;
}

void cli_core_dump_forbid(void)
{
    forbid_core_file();
    (void)prctl(PR_SET_DUMPABLE, 0);
}

/* The command's program is dumpable again once it executes (prctl(2)). */
void cli_core_dump_restore(void)
{
    if (is_changed)
        (void)setrlimit(RLIMIT_CORE, &before);
}
