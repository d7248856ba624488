/* Help: which subcommands there are, and how each is used. */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include <stdbool.h>

#include "cli/command.h"

/* cli_help_print - a subcommand's text, or (NULL) the list of all, on standard
 *                  output. Returns CLI_OK.
 * cli_help_usage - two lines on standard error, for a call without arguments.
 *                  Returns CLI_TROUBLE.
 * cli_help_find  - the subcommand of that name; NULL: reported as unknown. */
int cli_help_print(const struct cli_command *command);
int cli_help_usage(void);
const struct cli_command *cli_help_find(const char *name);

extern const struct cli_command cli_help_command;

#endif
