/* Which subcommands there are, and how each is used. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "cli/base/command.h"

/* cli_command_find  - the subcommand of that name; NULL: reported as unknown.
 * cli_command_help  - prints its text, or (NULL) the list of all, on standard
 *                     output. Returns CLI_OK.
 * cli_command_usage - a line on standard error, for a call without arguments.
 *                     Returns CLI_EXIT_ERROR. */
const struct cli_command *cli_command_find(const char *name);
int cli_command_help(const struct cli_command *command);
int cli_command_usage(void);

#endif
