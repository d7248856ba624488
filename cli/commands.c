/* The table of subcommands, and their help. */
/* Tests: tests/live/cli/test_run.c. */
#include "cli/commands.h"

#include <stdio.h>
#include <string.h>

#include "cli/base/nearest.h"
#include "cli/base/report.h"

static const struct cli_command *const commands[] = {
    &cli_run_command,     &cli_elect_command,     &cli_hold_command,  &cli_acquire_command,
    &cli_renew_command,   &cli_release_command,   &cli_status_command, &cli_watch_command,
    &cli_ls_command,      &cli_unlock_command,    &cli_fence_command,
    &cli_semaphore_command, &cli_latch_command,   &cli_doctor_command, &cli_bench_command,
    &cli_slot_command,    &cli_version_command,   &cli_help_command,
};

#define COMMANDS (sizeof commands / sizeof *commands)

/* ---- finding ---- */

static int report_unknown_command(const char *name)
{
    struct cli_nearest nearest = {0};
    char list[256] = "";
    size_t len = 0;

    for (size_t i = 0; i < COMMANDS; i++)
        cli_nearest_try(&nearest, name, strlen(name), commands[i]->name);
    if (nearest.name)
        return cli_fail("unknown command '%s'; did you mean '%s'?", name, nearest.name);
    for (size_t i = 0; i < COMMANDS && len < sizeof list; i++)
        len += (size_t)snprintf(list + len, sizeof list - len, "%s%s",
                                i ? ", " : "", commands[i]->name);
    return cli_fail("unknown command '%s'; commands: %s", name, list);
}

const struct cli_command *cli_command_find(const char *name)
{
    for (size_t i = 0; i < COMMANDS; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    (void)report_unknown_command(name);
    return NULL;
}

/* ---- printing ---- */

static void print_command_list(void)
{
    (void)puts("holdfast: distributed locks in Redis and Valkey\n\n"
               "usage: holdfast COMMAND [option]...\n");
    for (size_t i = 0; i < COMMANDS; i++)
        (void)printf("  %-10s %s\n", commands[i]->name, commands[i]->summary);
    (void)puts("\n'holdfast help COMMAND' shows the options of a command. The manual page is\n"
               "holdfast(1).");
}

int cli_command_help(const struct cli_command *command)
{
    if (command)
        (void)fputs(command->help, stdout);
    else
        print_command_list();
    return CLI_EXIT_OK;
}

int cli_command_usage(void)
{
    return cli_fail("usage: holdfast run NAME COMMAND [ARG]...; see "
                    "'holdfast help'");
}
