/* The options of a subcommand that waits. */
/* Tests: tests/live/cli/test_acquire.c, tests/live/cli/test_counted.c. */
#include "cli/base/wait_options.h"

int cli_wait_take_option(struct cli_wait_options *o, const struct cli_args *args, int id,
                         const char *value)
{
    switch (id) {
    case CLI_OPT_WAIT:
        o->last_option = "--wait";
        return cli_take_duration(args, "--wait", value, 0, &o->wait_ms);
    case CLI_OPT_NONBLOCK:
        o->last_option = "--nonblock";
        o->wait_ms = 0;
        return CLI_CONTINUE;
    default:
        o->last_option = "--conflict-exit-code";
        return cli_take_number(args, "--conflict-exit-code", value, 0, 255, &o->conflict_code);
    }
}
