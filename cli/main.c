/* The command `holdfast`: finds the subcommand and runs it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/common.h"
#include "cli/base/core_dump.h"
#include "cli/base/report.h"
#include "cli/base/signals.h"
#include "cli/commands.h"

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

static int take_version(struct cli_args *args, struct cli_common *common)
{
    args->command = &cli_version_command;
    return cli_version_command.main(args, common);
}

/* Takes options before the subcommand. CLI_CONTINUE: it is in *args. */
static int find_command(struct cli_args *args, struct cli_common *common)
{
    enum { VERSION = 1 };
    static const struct cli_option own[] = {{VERSION, 'V', "version", NULL},
                                            {0}};
    static const struct cli_option *const tables[] = {cli_common_options, own,
                                                      NULL};
    char *value;
    int id, rc;

    while ((id = cli_args_next(args, tables, &value)) != CLI_WORD) {
        if (id == CLI_END)
            return cli_command_usage();
        if (id == VERSION)
            return take_version(args, common);
        if ((rc = cli_common_take(common, args, id, value)) != CLI_CONTINUE)
            return rc;
    }
    args->command = cli_command_find(value);
    args->has_only_words = false;
    return args->command ? CLI_CONTINUE : CLI_EXIT_ERROR;
}

/* A full disk must not look like success. */
static int close_output(int code)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    return cli_fail("cannot write to standard output: %s", strerror(errno));
}

int main(int argc, char **argv)
{
    struct cli_args args = {.next = argv + (argc > 0), .print_help = cli_command_help};
    struct cli_common common;
    int code;

    cli_signals_begin();
    cli_core_forbid();
    occupy_standard_fds();
    cli_common_init(&common);
    code = find_command(&args, &common);
    if (code == CLI_CONTINUE)
        code = args.command->main(&args, &common);
    cli_common_fini(&common);
    return close_output(code);
}
