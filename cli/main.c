/* The command `holdfast`: finds the subcommand and runs it. */
/* Tests: tests/live/cli/test_run.c. */
#include "cli/base/common.h"
#include "cli/base/program.h"
#include "cli/commands.h"

static int run_version(struct cli_args *args, struct cli_common *common)
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

    while ((id = cli_args_next(args, tables, &value)) != CLI_ARGS_WORD) {
        if (id == CLI_ARGS_END)
            return cli_command_usage();
        if (id == VERSION)
            return run_version(args, common);
        if ((rc = cli_common_take_option(common, args, id, value)) != CLI_CONTINUE)
            return rc;
    }
    args->command = cli_command_find(value);
    args->has_only_words = false;
    return args->command ? CLI_CONTINUE : CLI_EXIT_ERROR;
}

int main(int argc, char **argv)
{
    struct cli_args args = {.next_word = argv + (argc > 0), .print_help = cli_command_help};
    struct cli_common common;
    int code;

    cli_program_begin("holdfast");
    cli_common_init(&common);
    code = find_command(&args, &common);
    if (code == CLI_CONTINUE)
        code = args.command->main(&args, &common);
    cli_common_fini(&common);
    return cli_program_end(code);
}
