/* `holdfast run`: one round. */
/* Tests: tests/live/cli/test_run.c. */
#include "cli/run/round.h"

static int main_run(struct cli_args *args, struct cli_common *common)
{
    return cli_round_main(args, common, cli_run_options_parse, cli_round_run);
}

const struct cli_command cli_run_command = {
    .name = "run",
    .summary = "take a lock, run a command, release the lock",
    .help = cli_run_help,
    .main = main_run,
};
