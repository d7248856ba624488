/* `holdfast elect`: one term after another. The holder of the lock leads. */
/* Tests: tests/live/cli/test_elect.c. */
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include "cli/base/report.h"
#include "cli/base/signals.h"
#include "cli/run/round.h"
#include "net/loop/clock.h"

/* While the server is unreachable, the pause doubles each time. */
#define REST_MAX_MS 30000

/* ---- between two rounds ---- */

/* Daemons that a command has left are children of this process now, also those that
 * have ended. */
static void reap_children(void)
{
    while (waitpid(-1, NULL, WNOHANG) > 0)
        continue;
}

/* Returns a signal that ends us, or 0. A HUP that does not end us ends the rest: each round
 * reads the files of TLS. */
static int take_end_signal(bool *is_rested)
{
    int signal;

    while ((signal = cli_signals_take()) != 0) {
        if (cli_signals_ends_us(signal))
            return signal;
        *is_rested |= signal == SIGHUP;
    }
    return 0;
}

/* Rests, and ends with the signal that comes meanwhile; 0: none has. */
static int pause_between_terms(int64_t ms)
{
    struct pollfd signals = {.fd = cli_signals_open(), .events = POLLIN};
    int64_t until_ms = hf_clock_ms() + ms, left_ms = ms;
    bool is_rested = false;
    int signal = take_end_signal(&is_rested);

    cli_report_flush();
    while (signal == 0 && !is_rested && left_ms > 0) {
        (void)poll(&signals, 1, left_ms < INT_MAX ? (int)left_ms : INT_MAX);
        signal = take_end_signal(&is_rested);
        left_ms = until_ms - hf_clock_ms();
    }
    reap_children();
    return signal;
}

/* ---- rounds ---- */

/* A command that cannot be run, or a server that sent no reply, or refused for good:
 * it would be so again. A server that refused for now, or in an earlier round
 * granted the lock, may do so later. */
static bool is_retry_hopeless(const struct cli_round *round, bool has_led)
{
    return round->was_ended_by_signal || round->cannot_run ||
           (round->exit_code == CLI_EXIT_ERROR && !round->has_run && !has_led &&
            !round->was_refused_temporarily);
}

static int64_t next_pause_ms(const struct cli_run_options *options,
                             const struct cli_round *round, int64_t last_ms)
{
    if (round->has_run)
        return options->rest_ms;
    if (last_ms > REST_MAX_MS / 2)
        return REST_MAX_MS;
    return last_ms > 0 ? 2 * last_ms : 1;
}

/* A command that fails at once is run again for ever: its exit code is printed once, until it
 * changes. A loss and --max-hold have been reported, and so has a command that cannot run. */
static int report_exit_code(const struct cli_round *round, int last_code)
{
    if (!round->has_run || round->cannot_run || round->exit_code == CLI_EXIT_LOST ||
        round->exit_code == CLI_EXIT_MAX_HOLD)
        return last_code;
    if (round->exit_code != 0 && round->exit_code != last_code)
        cli_warn("the command ended with exit code %d and is run again; the same code is not "
                 "reported again", round->exit_code);
    return round->exit_code;
}

static struct cli_round run_all_terms(const struct cli_run_options *options,
                                      const struct cli_common *common)
{
    int64_t rest_ms = options->rest_ms;
    struct cli_round round;
    bool has_led = false;
    int signal, code = 0;

    for (;;) {
        round = cli_round_run(options, common);
        if (options->is_once || is_retry_hopeless(&round, has_led))
            return round;
        code = report_exit_code(&round, code);
        has_led = has_led || round.has_run;
        rest_ms = next_pause_ms(options, &round, rest_ms);
        signal = round.late_signal ? round.late_signal
                                   : pause_between_terms(round.is_hung_up_late ? 0 : rest_ms);
        if (signal != 0)
            return (struct cli_round){.exit_code = CLI_EXIT_SIGNAL + signal,
                                      .end_by_signal = signal};
    }
}

static int main_elect(struct cli_args *args, struct cli_common *common)
{
    return cli_round_main(args, common, cli_elect_options_parse, run_all_terms);
}

const struct cli_command cli_elect_command = {
    .name = "elect",
    .summary = "elect a leader: run a command on one of many machines",
    .help = cli_elect_help,
    .main = main_elect,
};
