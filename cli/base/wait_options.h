/* The options of a subcommand that waits: for how long, and its exit code if it waited in vain. */
#ifndef CLI_WAIT_OPTIONS_H
#define CLI_WAIT_OPTIONS_H

#include <stdint.h>

#include "cli/base/command.h"
#include "cli/base/options.h"
#include "lock/lock.h"

struct cli_wait_options {
    int64_t wait_ms;
    int conflict_code;
    const char *last_option;    /* the last of them on the command line; NULL: none */
};

#define CLI_WAIT_OPTIONS_INIT {.wait_ms = HF_FOREVER, .conflict_code = CLI_EXIT_NOT_ACQUIRED}

enum {
    CLI_WAIT_OPTION = 400,
    CLI_OPT_WAIT = CLI_WAIT_OPTION,
    CLI_OPT_NONBLOCK,
    CLI_OPT_CONFLICT
};

#define CLI_WAIT_ROWS \
    {CLI_OPT_WAIT, 'w', "wait", "DURATION"}, {CLI_OPT_WAIT, 0, "timeout", "DURATION"}, \
        {CLI_OPT_NONBLOCK, 'n', "nonblock", NULL}, {CLI_OPT_NONBLOCK, 0, "nb", NULL}, \
        {CLI_OPT_CONFLICT, 'E', "conflict-exit-code", "CODE"}

/* cli_wait_take_option - takes the option `id`, one of CLI_WAIT_ROWS. Returns CLI_CONTINUE, or
 *   CLI_EXIT_ERROR after reporting a wrong value. */
int cli_wait_take_option(struct cli_wait_options *o, const struct cli_args *args, int id,
                         const char *value);

#endif
