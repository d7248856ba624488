/* What each program of ours does first and last. */
/* Tests: tests/live/cli/test_run.c, tests/live/cli/test_descriptors.c. */
#include "cli/base/program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/command.h"
#include "cli/base/core_dump.h"
#include "cli/base/report.h"
#include "cli/base/signals.h"

/* If one of the first three were closed, a socket of ours would get its number,
 * and error messages would go to the server. Close-on-exec keeps them closed
 * for a command. What is printed to a closed standard output fails, as it would
 * have; messages go nowhere. */
static void occupy_standard_fds(void)
{
    static const int modes[] = {[STDIN_FILENO] = O_RDONLY,
                                [STDOUT_FILENO] = O_RDONLY,
                                [STDERR_FILENO] = O_WRONLY};

    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0) /* the lowest that is closed */
            (void)open("/dev/null", modes[fd] | O_CLOEXEC);
}

void cli_program_begin(const char *name)
{
    cli_report_name(name);
    cli_signals_end_from_start();
    cli_core_dump_forbid();
    occupy_standard_fds();
}

static bool flush_output(void)
{
    return fflush(stdout) == 0 && !ferror(stdout);
}

int cli_program_flush(const char *consequence)
{
    if (flush_output())
        return CLI_CONTINUE;
    (void)cli_fail("cannot write to standard output: %s; %s", strerror(errno), consequence);
    clearerr(stdout);
    return CLI_EXIT_ERROR;
}

int cli_program_end(int code)
{
    if (flush_output())
        return code;
    return cli_fail("cannot write to standard output: %s", strerror(errno));
}
