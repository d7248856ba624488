/* `holdfast help`. */
/* Tests: tests/live/cli/test_run.c. */
#include "cli/base/common.h"
#include "cli/commands.h"

static int set_topic(void *ctx, const struct cli_args *args, int id,
                     char *value)
{
    const struct cli_command **topic = ctx;

    (void)id;
    if (*topic)
        return cli_usage(args, "unexpected argument '%s': only one COMMAND", value);
    *topic = cli_command_find(value);
    return *topic ? CLI_CONTINUE : CLI_EXIT_ERROR;
}

static int main_help(struct cli_args *args, struct cli_common *common)
{
    const struct cli_command *topic = NULL;
    int rc = cli_common_parse(common, args, NULL, set_topic, &topic);

    return rc == CLI_CONTINUE ? cli_command_help(topic) : rc;
}

const struct cli_command cli_help_command = {
    .name = "help",
    .summary = "show this list, or the help of a command",
    .help = "usage: holdfast help [COMMAND]\n",
    .main = main_help,
};
