/* The list of subcommands, and their help. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "cli/base/command.h"

/* cli_command_find  - returns the subcommand of that name. NULL: there is none, and this was
 *                     reported.
 * cli_command_help  - prints the help of a subcommand, or (NULL) the list of all, on standard
 *                     output. Returns CLI_EXIT_OK.
 * cli_command_usage - prints a line on standard error, for a call without arguments. Returns
 *                     CLI_EXIT_ERROR. */
const struct cli_command *cli_command_find(const char *name);
int cli_command_help(const struct cli_command *command);
int cli_command_usage(void);

#endif
