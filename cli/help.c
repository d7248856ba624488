/* Help: which subcommands there are, and how each is used. */
#include "cli/help.h"

#include <stdio.h>
#include <string.h>

#include "cli/common.h"
#include "cli/options.h"
#include "cli/report.h"

static const struct cli_command *const commands[] = {
    &cli_run_command,    &cli_status_command, &cli_unlock_command,
    &cli_doctor_command, &cli_resp_command,   &cli_slot_command,
    &cli_version_command, &cli_help_command,
};

#define COMMANDS (sizeof commands / sizeof *commands)

/* ---- finding ---- */

static int complain(const char *name)
{
    char list[128] = "";
    size_t len = 0;

    for (size_t i = 0; i < COMMANDS && len < sizeof list; i++)
        len += (size_t)snprintf(list + len, sizeof list - len, "%s%s",
                                i ? ", " : "", commands[i]->name);
    return cli_fail("unknown command '%s'; there are: %s", name, list);
}

const struct cli_command *cli_help_find(const char *name)
{
    for (size_t i = 0; i < COMMANDS; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    (void)complain(name);
    return NULL;
}

/* ---- printing ---- */

static void print_list(void)
{
    (void)puts("holdfast: locks in Redis that processes on many machines "
               "share\n\n"
               "usage: holdfast COMMAND [option]...\n");
    for (size_t i = 0; i < COMMANDS; i++)
        (void)printf("  %-10s %s\n", commands[i]->name, commands[i]->summary);
    (void)puts("\n'holdfast help COMMAND' tells more; so does holdfast(1).");
}

int cli_help_print(const struct cli_command *command)
{
    if (command)
        (void)fputs(command->help, stdout);
    else
        print_list();
    return CLI_OK;
}

int cli_help_usage(void)
{
    return cli_fail("usage: holdfast run NAME COMMAND [ARG]...; there is more "
                    "in 'holdfast help'");
}

/* ---- the subcommand ---- */

static int main_help(struct cli_args *args, struct cli_common *common)
{
    static const struct cli_option *const tables[] = {cli_common_options, NULL};
    const struct cli_command *topic = NULL;
    char *value;
    int id, rc;

    while ((id = cli_args_next(args, tables, &value)) != CLI_END) {
        if (id != CLI_WORD) {
            if ((rc = cli_common_take(common, args, id, value)) != CLI_GO_ON)
                return rc;
            continue;
        }
        if (!(topic = cli_help_find(value)))
            return CLI_TROUBLE;
    }
    return cli_help_print(topic);
}

const struct cli_command cli_help_command = {
    .name = "help",
    .summary = "this list, or a command's own help",
    .help = "usage: holdfast help [COMMAND]\n",
    .main = main_help,
};
