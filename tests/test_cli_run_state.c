/* The decisions of `holdfast run`: each arrow of the picture in state.c by
 * itself, and its rules over random courses of events, with a judge that knows
 * nothing of states. */
#include <check.h>
#include <signal.h>
#include <string.h>

#include "cli/base/command.h"
#include "cli/base/signals.h"
#include "cli/run/state.h"
#include "tests/support/dice.h"
#include "tests/support/promise.h"
#include "tests/support/suite.h"

static struct cli_run run;
static int64_t now_ms;
static int64_t safe_until_ms;

#define TTL 30000
#define GRACE 4000
#define KILL_AFTER 5000

static struct cli_run_rules rules = {.on_lost = CLI_ON_LOST_STOP_COMMAND,
                                     .kill_after_ms = KILL_AFTER,
                                     .grace_after_loss_ms = GRACE,
                                     .conflict_code = 75};

static void begin(void)
{
    now_ms = 1000000;
    safe_until_ms = now_ms + TTL;
    rules.on_lost = CLI_ON_LOST_STOP_COMMAND;
    rules.max_hold_ms = 0;
    rules.has_lease = false;
    cli_run_init(&run, &rules);
}

static void begin_with(enum cli_on_lost on_lost, int64_t max_hold_ms)
{
    begin();
    rules.on_lost = on_lost;
    rules.max_hold_ms = max_hold_ms;
    cli_run_init(&run, &rules);
}

static unsigned step(struct cli_run_event ev)
{
    ev.now_ms = now_ms;
    ev.safe_ms = safe_until_ms - now_ms;
    return cli_run_step(&run, &ev);
}

static unsigned happens(enum cli_run_event_kind kind, int number)
{
    return step((struct cli_run_event){.kind = kind, .number = number});
}

static unsigned ends_by_signal(int signal)
{
    return step((struct cli_run_event){.kind = CLI_EV_ENDED,
                                       .number = CLI_EXIT_SIGNAL + signal,
                                       .ended_by_signal = true});
}

static void run_command(void)
{
    ck_assert_uint_eq(happens(CLI_EV_ACQUIRED, 0), CLI_DO_START);
}

static void leaves_with(int code)
{
    ck_assert_int_eq(run.state, CLI_RUN_DONE);
    ck_assert_int_eq(run.exit_code, code);
}

/* ---- waiting ---- */

START_TEST(refusal_has_its_exit_code)
{
    static const struct {
        int status, code;
    } rows[] = {{HF_TIMEOUT, 75},       {HF_E_CONNECT, 125},
                {HF_E_SERVER, 125},     {HF_E_AUTH, 125},
                {HF_LOST, 122}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        begin();
        ck_assert_uint_eq(happens(CLI_EV_REFUSED, rows[i].status),
                          CLI_DO_FINISH);
        leaves_with(rows[i].code);
    }
}
END_TEST

START_TEST(signal_while_waiting_cancels)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};

    begin();
    ck_assert_uint_eq(happens(CLI_EV_SIGNAL, signals[_i]), CLI_DO_CANCEL);
    ck_assert_uint_eq(happens(CLI_EV_REFUSED, HF_CANCELLED), CLI_DO_FINISH);
    leaves_with(128 + signals[_i]);
    ck_assert_int_eq(run.end_by_signal, signals[_i]);
    ck_assert(!run.must_group_end);
}
END_TEST

START_TEST(lock_that_comes_with_the_cancel_is_released)
{
    begin();
    (void)happens(CLI_EV_SIGNAL, SIGTERM);
    ck_assert_uint_eq(happens(CLI_EV_ACQUIRED, 0), CLI_DO_RELEASE);
    ck_assert_uint_eq(happens(CLI_EV_RELEASED, HF_E_NOREPLY), CLI_DO_FINISH);
    leaves_with(128 + SIGTERM);
}
END_TEST

START_TEST(second_signal_while_cancelling_leaves_at_once)
{
    begin();
    (void)happens(CLI_EV_SIGNAL, SIGINT);
    ck_assert_uint_eq(happens(CLI_EV_SIGNAL, SIGTERM), CLI_DO_FINISH);
    leaves_with(128 + SIGINT);
}
END_TEST

/* RUN-10 */
START_TEST(cancel_that_is_not_answered_is_left_in_time)
{
    begin();
    (void)happens(CLI_EV_SIGNAL, SIGTERM);
    ck_assert_int_eq(cli_run_next_ms(&run), now_ms + CLI_SIGNALS_PROMPT_MS);
    now_ms += CLI_SIGNALS_PROMPT_MS - 1;
    ck_assert_uint_eq(happens(CLI_EV_TIME, 0), 0);
    now_ms++;
    ck_assert_uint_eq(happens(CLI_EV_TIME, 0), CLI_DO_FINISH);
    leaves_with(128 + SIGTERM);
    ck_assert_int_eq(run.end_by_signal, SIGTERM);
    ck_assert(run.skips_waiting);
}
END_TEST

START_TEST(signals_for_a_command_do_not_wait)
{
    begin();
    ck_assert_uint_eq(happens(CLI_EV_SIGNAL, SIGUSR1), 0);
    ck_assert_uint_eq(happens(CLI_EV_SIGNAL, SIGCONT), 0);
    ck_assert_int_eq(run.state, CLI_RUN_WAITING);
    ck_assert_int_eq(cli_run_next_ms(&run), HF_NEVER);
}
END_TEST

START_TEST(lease_that_ended_before_the_start_starts_nothing)
{
    begin();
    now_ms = safe_until_ms;
    ck_assert_uint_eq(happens(CLI_EV_ACQUIRED, 0),
                      CLI_DO_REPORT_LOST | CLI_DO_RELEASE);
    (void)happens(CLI_EV_RELEASED, HF_LOST);
    leaves_with(122);
}
END_TEST

/* ---- the command ends by itself ---- */

/* RUN-4. */
START_TEST(own_end_keeps_its_code)
{
    static const struct {
        int code;
        int released;
        int64_t late_ms;        /* the end, after the safe moment */
        int expected;
    } rows[] = {
        {0, HF_OK, -1, 0},          {3, HF_OK, -1, 3},
        {3, HF_LOST, -1, 3},        {3, HF_E_NOREPLY, -1, 3},
        {3, HF_NOT_OWNER, -1, 3},   {0, HF_LOST, 0, 122},
        {3, HF_OK, 0, 122},         {3, HF_E_NOREPLY, 9999, 122},
        {126, HF_OK, -1, 126},      {127, HF_OK, -1, 127},
    };

    begin();
    run_command();
    now_ms = safe_until_ms + rows[_i].late_ms;
    (void)happens(CLI_EV_ENDED, rows[_i].code);
    if (run.state == CLI_RUN_DRAINING)
        (void)happens(CLI_EV_EMPTY, 0);
    ck_assert_int_eq(run.state, CLI_RUN_RELEASING);
    ck_assert_uint_eq(happens(CLI_EV_RELEASED, rows[_i].released),
                      CLI_DO_FINISH);
    leaves_with(rows[_i].expected);
}
END_TEST

START_TEST(signal_is_forwarded_and_its_death_reported)
{
    begin();
    run_command();
    ck_assert_uint_eq(happens(CLI_EV_SIGNAL, SIGTERM), CLI_DO_FORWARD);
    ck_assert_uint_eq(ends_by_signal(SIGTERM), CLI_DO_DRAIN);
    ck_assert_uint_eq(happens(CLI_EV_EMPTY, 0), CLI_DO_RELEASE);
    (void)happens(CLI_EV_RELEASED, HF_OK);
    leaves_with(128 + SIGTERM);
    ck_assert_int_eq(run.end_by_signal, SIGTERM);
}
END_TEST

/* `elect` has to end by it, wherever the round stands. */
START_TEST(signal_after_the_command_is_recorded)
{
    begin();
    run_command();
    (void)happens(CLI_EV_ENDED, 0);
    (void)happens(CLI_EV_EMPTY, 0);
    ck_assert_int_eq(run.state, CLI_RUN_RELEASING);
    if (_i == 1)
        (void)happens(CLI_EV_RELEASED, HF_OK);
    (void)happens(CLI_EV_SIGNAL, SIGUSR1);
    ck_assert_int_eq(run.late_signal, 0);
    (void)happens(CLI_EV_SIGNAL, SIGTERM);
    ck_assert_int_eq(run.state, CLI_RUN_DONE);
    (void)happens(CLI_EV_SIGNAL, SIGHUP);
    ck_assert_int_eq(run.late_signal, SIGTERM);
    leaves_with(0);
}
END_TEST

/* RUN-6: the time from TERM to KILL, whoever sent it; but not from INT. */
START_TEST(command_that_ignores_term_is_killed_and_one_that_ignores_int_is_not)
{
    begin();
    run_command();
    ck_assert_uint_eq(happens(CLI_EV_SIGNAL, SIGINT), CLI_DO_FORWARD);
    ck_assert_int_eq(cli_run_next_ms(&run), safe_until_ms - GRACE);
    now_ms += 10;
    ck_assert_uint_eq(happens(CLI_EV_SIGNAL, SIGTERM), CLI_DO_FORWARD);
    ck_assert_int_eq(cli_run_next_ms(&run), now_ms + KILL_AFTER);
    ck_assert_uint_eq(happens(CLI_EV_SIGNAL, SIGTERM), CLI_DO_FORWARD);
    now_ms += KILL_AFTER - 1;
    ck_assert_uint_eq(happens(CLI_EV_TIME, 0), 0);
    ck_assert_uint_eq(happens(CLI_EV_SIGNAL, SIGTERM), CLI_DO_FORWARD);
    now_ms++;
    ck_assert_uint_eq(happens(CLI_EV_TIME, 0), CLI_DO_KILL);
    ck_assert_uint_eq(ends_by_signal(SIGKILL), CLI_DO_DRAIN);
    ck_assert_uint_eq(happens(CLI_EV_EMPTY, 0), CLI_DO_RELEASE);
    (void)happens(CLI_EV_RELEASED, HF_OK);
    leaves_with(128 + SIGKILL);
    ck_assert_int_eq(run.end_by_signal, 0);
}
END_TEST

/* RUN-7 */
static const struct {
    int told, died;             /* 0: not */
    bool had_tty;
    int end_by_signal;
    bool ends_group;
} deaths[] = {
    {SIGTERM, SIGTERM, false, SIGTERM, false},
    {SIGINT, SIGINT, false, SIGINT, false},
    {SIGTERM, SIGSEGV, false, 0, false},
    {0, SIGTERM, true, 0, false},
    {0, SIGINT, false, 0, false},
    {0, SIGINT, true, SIGINT, true},
    {0, SIGQUIT, true, SIGQUIT, true},
    {SIGTERM, SIGINT, true, SIGINT, true},
    {SIGINT, 0, true, 0, false},
};

START_TEST(signal_that_ended_the_command_ends_us_if_it_was_meant_for_us)
{
    int died = deaths[_i].died;

    begin();
    run_command();
    if (deaths[_i].told != 0)
        (void)happens(CLI_EV_SIGNAL, deaths[_i].told);
    (void)step((struct cli_run_event){.kind = CLI_EV_ENDED,
                                      .number = died ? CLI_EXIT_SIGNAL + died : 3,
                                      .ended_by_signal = died != 0,
                                      .had_terminal = deaths[_i].had_tty});
    (void)happens(CLI_EV_EMPTY, 0);
    (void)happens(CLI_EV_RELEASED, HF_OK);
    leaves_with(died ? CLI_EXIT_SIGNAL + died : 3);
    ck_assert_int_eq(run.end_by_signal, deaths[_i].end_by_signal);
    ck_assert_int_eq(run.end_by_signal != 0 && run.must_group_end, deaths[_i].ends_group);
}
END_TEST

START_TEST(loss_decides_the_exit_code_before_a_signal)
{
    begin();
    run_command();
    (void)happens(CLI_EV_SIGNAL, SIGTERM);
    (void)happens(CLI_EV_LOST, HF_REASON_TAKEN);
    (void)ends_by_signal(SIGTERM);
    (void)happens(CLI_EV_EMPTY, 0);
    (void)happens(CLI_EV_RELEASED, HF_LOST);
    leaves_with(122);
    ck_assert_int_eq(run.end_by_signal, 0);
}
END_TEST

/* RUN-1: a pipeline's others may tidy up, for so long. */
START_TEST(rest_of_a_stopped_command_is_awaited_then_killed)
{
    begin();
    run_command();
    (void)happens(CLI_EV_SIGNAL, SIGINT);
    ck_assert_uint_eq(ends_by_signal(SIGINT), CLI_DO_DRAIN);
    ck_assert_int_eq(cli_run_next_ms(&run), now_ms + KILL_AFTER);
    now_ms += KILL_AFTER;
    ck_assert_uint_eq(happens(CLI_EV_TIME, 0), CLI_DO_KILL);
    ck_assert_uint_eq(happens(CLI_EV_EMPTY, 0), CLI_DO_RELEASE);
    (void)happens(CLI_EV_RELEASED, HF_OK);
    leaves_with(128 + SIGINT);
}
END_TEST

/* RUN-8: whatever the command was doing. */
START_TEST(death_of_the_guardian_is_that_of_all_the_command_started)
{
    begin();
    run_command();
    if (_i > 0)
        (void)happens(CLI_EV_SIGNAL, SIGTERM);
    if (_i > 1)
        (void)ends_by_signal(SIGTERM);
    ck_assert(!run.all_sessions);
    ck_assert_uint_eq(happens(CLI_EV_UNGUARDED, 0),
                      CLI_DO_DRAIN | CLI_DO_KILL);
    ck_assert(run.all_sessions);
    ck_assert_int_eq(cli_run_next_ms(&run), safe_until_ms);
    ck_assert_uint_eq(happens(CLI_EV_EMPTY, 0), CLI_DO_RELEASE);
    (void)happens(CLI_EV_RELEASED, HF_OK);
    leaves_with(128 + (_i > 1 ? SIGTERM : SIGKILL));
}
END_TEST

/* RUN-8: a death that nobody asked for, and a loss; not a TERM. */
START_TEST(daemons_are_spared_by_an_end_in_order_alone)
{
    begin();
    run_command();
    if (_i == 0)
        (void)happens(CLI_EV_SIGNAL, SIGTERM);
    if (_i == 2)
        (void)happens(CLI_EV_LOST, HF_REASON_TAKEN);
    (void)ends_by_signal(_i == 1 ? SIGKILL : SIGTERM);
    ck_assert_int_eq(run.all_sessions, _i > 0);
}
END_TEST

/* RUN-9: its answer is awaited until the server has let go by itself; or until a
 * signal comes. `is_late`: when the command ended, the safe moment had passed. */
static const struct {
    bool is_late, by_signal;
    int code;
} unanswered[] = {{false, false, 3}, {false, true, 3},
                  {true, false, 122}, {true, true, 122}};

START_TEST(release_is_awaited_no_longer_than_the_lock_lasts)
{
    bool is_late = unanswered[_i].is_late;
    int64_t until_ms;

    begin();
    run_command();
    now_ms = is_late ? safe_until_ms : now_ms + 10;
    (void)happens(CLI_EV_ENDED, 3);
    (void)happens(CLI_EV_EMPTY, 0);
    until_ms = cli_run_next_ms(&run);
    ck_assert_int_ge(until_ms, safe_until_ms + 1);
    ck_assert_int_le(until_ms, safe_until_ms + TTL / 100);
    ck_assert_uint_eq(happens(CLI_EV_SIGNAL, SIGUSR1), 0);
    now_ms = unanswered[_i].by_signal ? now_ms + 1 : until_ms - 1;
    ck_assert_uint_eq(happens(CLI_EV_TIME, 0), 0);
    now_ms = unanswered[_i].by_signal ? now_ms : until_ms;
    ck_assert_uint_eq(unanswered[_i].by_signal
                          ? happens(CLI_EV_SIGNAL, SIGTERM)
                          : happens(CLI_EV_TIME, 0),
                      CLI_DO_REPORT_UNRELEASED | CLI_DO_FINISH);
    leaves_with(unanswered[_i].code);
    ck_assert(run.skips_waiting);
    ck_assert_int_eq(cli_run_next_ms(&run), HF_NEVER);
}
END_TEST

/* RUN-10: TERM ended the command. HUP may have meant something else. */
START_TEST(release_after_a_stopped_command_is_abandoned_in_time)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGQUIT, SIGHUP};
    int64_t until_ms;

    begin();
    run_command();
    (void)happens(CLI_EV_SIGNAL, signals[_i]);
    (void)happens(CLI_EV_ENDED, 5);
    (void)happens(CLI_EV_EMPTY, 0);
    until_ms = signals[_i] == SIGHUP ? safe_until_ms
                                     : now_ms + CLI_RUN_STOPPED_RELEASE_MS;
    ck_assert_int_ge(cli_run_next_ms(&run), until_ms);
    ck_assert_int_le(cli_run_next_ms(&run), until_ms + TTL / 100);
    now_ms = cli_run_next_ms(&run);
    ck_assert_uint_eq(happens(CLI_EV_TIME, 0),
                      CLI_DO_REPORT_UNRELEASED | CLI_DO_FINISH);
    leaves_with(5);
}
END_TEST

/* RUN-10: KILL was sent. The lock is not released (RUN-1). */
START_TEST(command_that_was_killed_and_does_not_end_is_left_in_time)
{
    begin();
    run_command();
    (void)happens(CLI_EV_SIGNAL, SIGTERM);
    if (_i == 1)
        (void)happens(CLI_EV_ENDED, 0);
    now_ms += KILL_AFTER;
    ck_assert(happens(CLI_EV_TIME, 0) & CLI_DO_KILL);
    ck_assert_uint_eq(happens(CLI_EV_SIGNAL, SIGINT), CLI_DO_FORWARD);
    ck_assert_int_eq(cli_run_next_ms(&run), now_ms + CLI_SIGNALS_PROMPT_MS);
    now_ms += CLI_SIGNALS_PROMPT_MS;
    ck_assert_uint_eq(happens(CLI_EV_TIME, 0),
                      CLI_DO_REPORT_ABANDONED | CLI_DO_FINISH);
    leaves_with(128 + SIGINT);
    ck_assert_int_eq(run.end_by_signal, SIGINT);
}
END_TEST

/* --at-least: ended by time, a signal, a loss; the code is the command's. */
static const struct {
    enum cli_run_event_kind kind;
    int number, code;
} keeps[] = {{CLI_EV_TIME, 0, HF_OK},
             {CLI_EV_SIGNAL, SIGTERM, HF_OK},
             {CLI_EV_LOST, HF_REASON_TAKEN, HF_LOST}};

START_TEST(lock_is_kept_at_least_so_long)
{
    begin();
    run.rules.at_least_ms = 60000;
    run_command();
    now_ms += 10;
    ck_assert_uint_eq(happens(CLI_EV_ENDED, 3), CLI_DO_KEEP);
    ck_assert_int_eq(cli_run_next_ms(&run), now_ms + 60000 - 10);
    ck_assert_uint_eq(happens(CLI_EV_TIME, 0), 0);
    ck_assert_uint_eq(happens(CLI_EV_RENEWED, 0), 0);
    ck_assert_uint_eq(happens(CLI_EV_SIGNAL, SIGUSR1), 0);
    if (_i == 0)
        now_ms += 60000 - 10;
    ck_assert_uint_eq(happens(keeps[_i].kind, keeps[_i].number),
                      CLI_DO_RELEASE);
    if (keeps[_i].kind == CLI_EV_SIGNAL) /* RUN-10 */
        ck_assert_int_eq(cli_run_next_ms(&run), now_ms + CLI_RUN_STOPPED_RELEASE_MS);
    (void)happens(CLI_EV_RELEASED, keeps[_i].code);
    leaves_with(3);
}
END_TEST

START_TEST(stopped_command_keeps_no_lock)
{
    begin();
    run.rules.at_least_ms = 60000;
    run_command();
    (void)happens(CLI_EV_SIGNAL, SIGTERM);
    (void)happens(CLI_EV_ENDED, 0);
    ck_assert_uint_eq(happens(CLI_EV_EMPTY, 0), CLI_DO_RELEASE);
}
END_TEST

/* Ctrl-C on a terminal reaches the command, and not us. */
START_TEST(command_that_ctrl_c_ended_keeps_no_lock)
{
    begin();
    run.rules.at_least_ms = 60000;
    run_command();
    (void)step((struct cli_run_event){.kind = CLI_EV_ENDED, .number = CLI_EXIT_SIGNAL + SIGINT,
                                      .ended_by_signal = true, .had_terminal = true});
    ck_assert_uint_eq(happens(CLI_EV_EMPTY, 0), CLI_DO_RELEASE);
    ck_assert_int_eq(cli_run_next_ms(&run), now_ms + CLI_RUN_STOPPED_RELEASE_MS);
}
END_TEST

/* HUP that only makes us read the files again does not tell the command to end. */
START_TEST(hup_that_reads_files_again_keeps_the_lock_at_least_so_long)
{
    cli_signals_reload_on_hangup();
    begin();
    run.rules.at_least_ms = 60000;
    run_command();
    ck_assert_uint_eq(happens(CLI_EV_SIGNAL, SIGHUP), CLI_DO_FORWARD);
    now_ms += 10;
    ck_assert_uint_eq(happens(CLI_EV_ENDED, 3), CLI_DO_KEEP);
}
END_TEST

/* RUN-7, RUN-8: the processes that it left have no other reason to end. */
START_TEST(command_that_dies_of_hup_leaves_its_daemons)
{
    cli_signals_reload_on_hangup();
    begin();
    run_command();
    (void)happens(CLI_EV_SIGNAL, SIGHUP);
    if (_i == 1) {
        ck_assert_uint_eq(ends_by_signal(SIGKILL), CLI_DO_DRAIN);
        ck_assert(run.all_sessions);
    } else {
        ck_assert_uint_eq(ends_by_signal(SIGHUP), CLI_DO_DRAIN);
        ck_assert(!run.all_sessions);
        ck_assert_int_eq(run.end_by_signal, SIGHUP);
    }
}
END_TEST

START_TEST(background_processes_are_left_alone)
{
    begin();
    run_command();
    ck_assert_uint_eq(happens(CLI_EV_SIGNAL, SIGUSR1), CLI_DO_FORWARD);
    ck_assert_uint_eq(happens(CLI_EV_ENDED, 0), CLI_DO_RELEASE);
}
END_TEST

START_TEST(stopped_command_stops_us)
{
    begin();
    run_command();
    ck_assert_uint_eq(happens(CLI_EV_STOPPED, 0), CLI_DO_SUSPEND);
    ck_assert_uint_eq(happens(CLI_EV_SIGNAL, SIGCONT), CLI_DO_FORWARD);
}
END_TEST

/* ---- losing ---- */

/* RUN-5, RUN-2: TERM so long before the safe moment, KILL at it. */
START_TEST(command_without_renewals_is_killed_at_the_safe_moment)
{
    begin();
    run_command();
    ck_assert_int_eq(cli_run_next_ms(&run), safe_until_ms - GRACE);
    now_ms = safe_until_ms - GRACE - 1;
    ck_assert_uint_eq(happens(CLI_EV_TIME, 0), 0);
    now_ms++;
    ck_assert_uint_eq(happens(CLI_EV_TIME, 0),
                      CLI_DO_STOP | CLI_DO_REPORT_LOST);
    ck_assert_int_eq(run.loss_reason, HF_REASON_UNREACHABLE);
    ck_assert_int_eq(cli_run_next_ms(&run), safe_until_ms);
    now_ms = safe_until_ms;
    ck_assert_uint_eq(happens(CLI_EV_TIME, 0), CLI_DO_KILL);
    ck_assert_uint_eq(ends_by_signal(SIGKILL), CLI_DO_DRAIN);
    ck_assert_uint_eq(happens(CLI_EV_EMPTY, 0), CLI_DO_RELEASE);
    (void)happens(CLI_EV_RELEASED, HF_LOST);
    leaves_with(122);
}
END_TEST

START_TEST(renewal_moves_the_safe_moment)
{
    begin();
    run_command();
    safe_until_ms += TTL / 3;
    ck_assert_uint_eq(happens(CLI_EV_RENEWED, 0), 0);
    ck_assert_int_eq(cli_run_next_ms(&run), safe_until_ms - GRACE);
}
END_TEST

START_TEST(lease_ends_for_its_own_reason)
{
    begin();
    rules.has_lease = true;
    cli_run_init(&run, &rules);
    run_command();
    now_ms = safe_until_ms - GRACE;
    ck_assert_uint_eq(happens(CLI_EV_TIME, 0),
                      CLI_DO_STOP | CLI_DO_REPORT_LOST);
    ck_assert_int_eq(run.loss_reason, HF_REASON_LEASE_ENDED);
}
END_TEST

/* The server has let go already: a moment to tidy up, and no more. */
START_TEST(deleted_or_taken_is_term_then_kill)
{
    static const enum hf_lost reasons[] = {HF_REASON_DELETED, HF_REASON_TAKEN};

    begin();
    run_command();
    ck_assert_uint_eq(happens(CLI_EV_LOST, (int)reasons[_i]),
                      CLI_DO_STOP | CLI_DO_REPORT_LOST);
    ck_assert_int_eq(run.loss_reason, reasons[_i]);
    ck_assert_int_eq(cli_run_next_ms(&run), now_ms + GRACE);
    now_ms += GRACE;
    ck_assert_uint_eq(happens(CLI_EV_TIME, 0), CLI_DO_KILL);
    (void)ends_by_signal(SIGKILL);
    (void)happens(CLI_EV_EMPTY, 0);
    (void)happens(CLI_EV_RELEASED, HF_LOST);
    leaves_with(122);
}
END_TEST

START_TEST(overdue_hold_kills_the_command)
{
    static const enum hf_lost reasons[] = {
        HF_REASON_UNREACHABLE, HF_REASON_SUSPENDED, HF_REASON_LEASE_ENDED};

    begin();
    run_command();
    ck_assert_uint_eq(happens(CLI_EV_LOST, (int)reasons[_i]),
                      CLI_DO_STOP | CLI_DO_KILL | CLI_DO_REPORT_LOST);
    ck_assert_uint_eq(happens(CLI_EV_LOST, (int)reasons[_i]), 0);
}
END_TEST

/* RUN-3: we slept over it. Whatever comes first, KILL comes before it. */
START_TEST(after_a_pause_the_clock_comes_first)
{
    static const struct {
        enum cli_run_event_kind kind;
        int number;
    } firsts[] = {{CLI_EV_SIGNAL, SIGCONT}, {CLI_EV_TIME, 0},
                  {CLI_EV_RENEWED, 0},      {CLI_EV_STOPPED, SIGTSTP},
                  {CLI_EV_SIGNAL, SIGUSR1}};

    begin();
    run_command();
    now_ms = safe_until_ms;
    ck_assert(happens(firsts[_i].kind, firsts[_i].number) & CLI_DO_KILL);
}
END_TEST

/* RUN-3: a stop that leaves no time for a renewal is the reason, whichever event
 * comes first and however soon after the safe moment, or after the moment of the stop
 * signal. */
static const struct {
    enum cli_run_event_kind kind;
    int number;
} first_after_a_stop[] = {
    {CLI_EV_SIGNAL, SIGCONT},
    {CLI_EV_TIME, 0},
    {CLI_EV_RENEWED, 0},
    {CLI_EV_LOST, HF_REASON_UNREACHABLE},
    {CLI_EV_LOST, HF_REASON_SUSPENDED},
    {CLI_EV_LOST, HF_REASON_LEASE_ENDED},
    {CLI_EV_LOST, HF_REASON_DELETED},
    {CLI_EV_LOST, HF_REASON_TAKEN},
    {CLI_EV_OVERDUE, 0},
    {CLI_EV_UNGUARDED, 0},
    {CLI_EV_ENDED, CLI_EXIT_SIGNAL + SIGKILL},
    {CLI_EV_STOPPED, SIGTSTP},
};

START_TEST(reason_after_a_stop_is_the_stop)
{
    for (int64_t late_ms = 0; late_ms < 250; late_ms++) {
        begin_with(CLI_ON_LOST_STOP_COMMAND, 0);
        rules.has_lease = dice(2);
        cli_run_init(&run, &rules);
        run_command();
        cli_run_set_next_wake(&run, now_ms + TTL / 16);
        now_ms = safe_until_ms + late_ms;
        (void)happens(first_after_a_stop[_i].kind, first_after_a_stop[_i].number);
        ck_assert(run.is_lost);
        ck_assert_int_eq(run.loss_reason, HF_REASON_SUSPENDED);
    }
    rules.has_lease = false;
}
END_TEST

/* The safe moment is still to come. */
START_TEST(stop_until_the_stop_signal_is_the_reason)
{
    begin();
    run_command();
    cli_run_set_next_wake(&run, now_ms + TTL / 16);
    now_ms = safe_until_ms - GRACE + _i;
    ck_assert(happens(CLI_EV_SIGNAL, SIGCONT) & CLI_DO_STOP);
    ck_assert_int_eq(run.loss_reason, HF_REASON_SUSPENDED);
}
END_TEST

/* A busy machine wakes us late, and the server is silent. */
START_TEST(short_delays_are_not_the_reason)
{
    begin();
    run_command();
    while (run.state == CLI_RUN_RUNNING) {
        int64_t next_ms = cli_run_next_ms(&run);

        cli_run_set_next_wake(&run, now_ms + TTL / 16);
        now_ms = run.stops.expected_ms < next_ms ? run.stops.expected_ms : next_ms;
        now_ms += (int)dice(TTL / 12 / 4);
        (void)happens(CLI_EV_TIME, 0);
    }
    ck_assert_int_eq(run.loss_reason, HF_REASON_UNREACHABLE);
}
END_TEST

/* A renewal after a short stop: the next loss has its own reason. */
START_TEST(stop_before_a_renewal_is_forgotten)
{
    begin();
    run_command();
    cli_run_set_next_wake(&run, now_ms + TTL / 16);
    now_ms += TTL / 3;
    safe_until_ms += TTL / 3;
    (void)happens(CLI_EV_RENEWED, 0);
    cli_run_set_next_wake(&run, HF_NEVER);
    now_ms = cli_run_next_ms(&run);
    (void)happens(CLI_EV_TIME, 0);
    ck_assert_int_eq(run.loss_reason, HF_REASON_UNREACHABLE);
}
END_TEST

/* The guardian kills at the safe moment; a renewal has moved that since, and the
 * guardian could not be told. */
START_TEST(guardian_that_kills_before_the_safe_moment_had_no_messages)
{
    begin();
    run_command();
    ck_assert_int_eq(cli_run_guardian_kill_ms(&run), safe_until_ms);
    now_ms = safe_until_ms;
    safe_until_ms += TTL / 3;
    ck_assert(happens(CLI_EV_OVERDUE, 0) & CLI_DO_REPORT_LOST);
    ck_assert_int_eq(run.loss_reason, HF_REASON_SUSPENDED);
    (void)ends_by_signal(SIGKILL);
    (void)happens(CLI_EV_EMPTY, 0);
    (void)happens(CLI_EV_RELEASED, HF_OK);
    leaves_with(122);
}
END_TEST

START_TEST(guardian_has_a_deadline_only_if_a_loss_stops_the_command)
{
    begin_with((enum cli_on_lost)_i, 0);
    run_command();
    ck_assert_int_eq(cli_run_guardian_kill_ms(&run),
                     _i == CLI_ON_LOST_STOP_COMMAND ? safe_until_ms : HF_NEVER);
}
END_TEST

/* The lock floor knows that it is lost, and its notice is not here yet. */
START_TEST(unknown_safe_moment_is_the_last_known)
{
    struct cli_run_event ev = {.kind = CLI_EV_SIGNAL,
                               .number = SIGCONT,
                               .safe_ms = INT64_MIN};

    begin();
    run_command();
    ev.now_ms = safe_until_ms - GRACE - 1;
    ck_assert_uint_eq(cli_run_step(&run, &ev), CLI_DO_FORWARD);
    ev.now_ms = safe_until_ms;
    ck_assert(cli_run_step(&run, &ev) & CLI_DO_KILL);
}
END_TEST

/* RUN-11: until the new master answers, or the lease ends. */
START_TEST(doubt_after_a_switch_of_masters_stops_no_command)
{
    struct cli_run_event ev = {.kind = CLI_EV_SIGNAL, .number = SIGCONT};

    begin();
    run_command();
    ev.now_ms = now_ms + 1;
    ck_assert_uint_eq(cli_run_step(&run, &ev), CLI_DO_FORWARD);
    ck_assert_int_eq(cli_run_guardian_kill_ms(&run), safe_until_ms);
    ck_assert_int_eq(cli_run_next_ms(&run), safe_until_ms - GRACE);
    ev.now_ms = safe_until_ms;
    ck_assert(cli_run_step(&run, &ev) & CLI_DO_KILL);
}
END_TEST

START_TEST(warned_command_continues_and_ends_with_122)
{
    begin_with(CLI_ON_LOST_WARN, 0);
    run_command();
    ck_assert_uint_eq(happens(CLI_EV_LOST, HF_REASON_DELETED), CLI_DO_REPORT_LOST);
    ck_assert_int_eq(cli_run_next_ms(&run), HF_NEVER);
    ck_assert_uint_eq(happens(CLI_EV_ENDED, 0), CLI_DO_RELEASE);
    (void)happens(CLI_EV_RELEASED, HF_LOST);
    leaves_with(122);
}
END_TEST

START_TEST(ignored_loss_leaves_the_code_alone)
{
    begin_with(CLI_ON_LOST_IGNORE, 0);
    run_command();
    now_ms = safe_until_ms;
    ck_assert_uint_eq(happens(CLI_EV_TIME, 0), CLI_DO_REPORT_LOST);
    ck_assert_uint_eq(happens(CLI_EV_LOST, HF_REASON_UNREACHABLE), 0);
    (void)happens(CLI_EV_ENDED, 3);
    (void)happens(CLI_EV_RELEASED, HF_LOST);
    leaves_with(3);
}
END_TEST

/* ---- max_hold ---- */

/* RUN-6. */
START_TEST(max_hold_stops_the_command_and_keeps_the_lock_until_it_ended)
{
    begin_with(CLI_ON_LOST_STOP_COMMAND, 10000);
    run_command();
    ck_assert_int_eq(cli_run_next_ms(&run), now_ms + 10000);
    now_ms += 10000;
    ck_assert_uint_eq(happens(CLI_EV_TIME, 0),
                      CLI_DO_STOP | CLI_DO_REPORT_MAX_HOLD);
    ck_assert_int_eq(cli_run_next_ms(&run), now_ms + KILL_AFTER);
    ck_assert_uint_eq(happens(CLI_EV_ENDED, 0), CLI_DO_DRAIN);
    ck_assert_uint_eq(happens(CLI_EV_EMPTY, 0), CLI_DO_RELEASE);
    (void)happens(CLI_EV_RELEASED, HF_OK);
    leaves_with(124);
}
END_TEST

START_TEST(loss_weighs_more_than_max_hold)
{
    begin_with(CLI_ON_LOST_STOP_COMMAND, 10000);
    run_command();
    now_ms += 10000;
    (void)happens(CLI_EV_TIME, 0);
    ck_assert(happens(CLI_EV_LOST, HF_REASON_DELETED) & CLI_DO_REPORT_LOST);
    ck_assert_int_eq(cli_run_next_ms(&run), now_ms + GRACE);
    (void)happens(CLI_EV_ENDED, 0);
    (void)happens(CLI_EV_EMPTY, 0);
    (void)happens(CLI_EV_RELEASED, HF_LOST);
    leaves_with(122);
}
END_TEST

/* A nested run has no clock of its own. */
START_TEST(hold_without_an_end_is_never_short)
{
    struct cli_run_event ev = {.kind = CLI_EV_ACQUIRED,
                               .now_ms = 1,
                               .safe_ms = INT64_MAX};

    begin();
    (void)cli_run_step(&run, &ev);
    ck_assert_int_eq(cli_run_next_ms(&run), HF_NEVER);
}
END_TEST

/* ---- random courses ---- */

/* What the judge saw. */
static struct {
    bool is_alive;              /* the first process */
    bool has_rest;              /* others of the command */
    bool is_killed;
    bool is_released;
    bool was_told;
    bool is_finished;
    int64_t gone_ms;            /* when we learned that the server let go */
} world;

static void judge(unsigned todo)
{
    if (todo & CLI_DO_START)
        world.is_alive = world.has_rest = true;
    if (todo & (CLI_DO_KILL | CLI_DO_STOP))
        ck_must(!world.is_released, "RUN-1: what was released runs no more");
    world.is_killed |= (todo & CLI_DO_KILL) != 0;
    world.was_told |= (todo & CLI_DO_STOP) != 0;
    if (todo & CLI_DO_RELEASE) {
        ck_must(!world.is_released, "released once");
        ck_must(!world.is_alive, "RUN-1: no first process at the release");
        ck_must(!world.has_rest || !world.was_told,
                "RUN-1: nobody of a stopped command at the release");
        world.is_released = true;
    }
    world.is_finished |= (todo & CLI_DO_FINISH) != 0;
    if (rules.on_lost != CLI_ON_LOST_STOP_COMMAND || !world.is_alive)
        return;
    ck_must(world.is_killed || now_ms < safe_until_ms,
            "RUN-2: the safe moment");
    ck_must(world.is_killed || now_ms < world.gone_ms + GRACE,
            "RUN-2: the grace");
    ck_must(world.is_killed || cli_run_next_ms(&run) <= safe_until_ms,
            "RUN-2: it asks to be called in time");
}

static void happen_by_chance(void)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGUSR1, SIGCONT};
    bool by_signal = dice(2);
    int which = (int)dice(9);

    if (which == 0 && world.is_alive) {
        world.is_alive = false;
        world.has_rest = dice(2);
        world.was_told |= by_signal;
        judge(step((struct cli_run_event){.kind = CLI_EV_ENDED,
                                          .number = by_signal ? 143 : 3,
                                          .ended_by_signal = by_signal}));
    } else if (which == 1 && run.state == CLI_RUN_DRAINING) {
        world.has_rest = world.has_rest && dice(2);
        if (!world.has_rest)
            judge(happens(CLI_EV_EMPTY, 0));
    } else if (which == 2 && world.gone_ms == INT64_MAX / 2) {
        safe_until_ms = now_ms < safe_until_ms ? now_ms + TTL : safe_until_ms;
        judge(happens(CLI_EV_RENEWED, 0));
    } else if (which == 3 && dice(8) == 0 && world.is_alive) {
        if (world.gone_ms == INT64_MAX / 2)
            world.gone_ms = now_ms;
        judge(happens(CLI_EV_LOST, HF_REASON_TAKEN));
    } else if (which == 4 && dice(4) == 0) {
        int signal = signals[dice(4)];

        world.was_told |= signal == SIGTERM || signal == SIGINT;
        judge(happens(CLI_EV_SIGNAL, signal));
    } else if (which == 5) {
        judge(happens(CLI_EV_STOPPED, SIGTSTP));
    } else if (which == 6 && world.is_released) {
        judge(happens(CLI_EV_RELEASED, dice(2) ? HF_OK : HF_LOST));
    } else {
        judge(happens(CLI_EV_TIME, 0));
    }
}

/* Mostly on time, now and then after a pause. */
static void time_passes(void)
{
    int64_t next = cli_run_next_ms(&run);
    int64_t to = now_ms + (int)dice(6000);

    if (next < to && dice(10) != 0)
        to = next > now_ms ? next : now_ms;
    now_ms = to;
}

START_TEST(rules_hold_over_random_courses)
{
    for (int round = 0; round < 4000; round++) {
        dice_seed = DICE_SEED + (uint64_t)(_i * 4000 + round);
        for (int i = 0; i < 8; i++)
            (void)dice(2);
        begin_with((enum cli_on_lost)dice(3),
                   dice(3) ? 0 : 1 + (int)dice(60000));
        memset(&world, 0, sizeof world);
        world.gone_ms = INT64_MAX / 2;
        judge(happens(CLI_EV_ACQUIRED, 0));
        for (int i = 0; i < 200 && !world.is_finished; i++) {
            time_passes();
            happen_by_chance();
        }
    }
}
END_TEST

/* ---- */

static TCase *case_waiting(void)
{
    TCase *c = tcase_create("waiting");

    tcase_add_test(c, refusal_has_its_exit_code);
    tcase_add_loop_test(c, signal_while_waiting_cancels, 0, 4);
    tcase_add_test(c, lock_that_comes_with_the_cancel_is_released);
    tcase_add_test(c, second_signal_while_cancelling_leaves_at_once);
    tcase_add_test(c, cancel_that_is_not_answered_is_left_in_time);
    tcase_add_test(c, signals_for_a_command_do_not_wait);
    tcase_add_test(c, lease_that_ended_before_the_start_starts_nothing);
    return c;
}

static TCase *case_end(void)
{
    TCase *c = tcase_create("the end");

    tcase_add_loop_test(c, own_end_keeps_its_code, 0, 10);
    tcase_add_test(c, signal_is_forwarded_and_its_death_reported);
    tcase_add_loop_test(c, signal_after_the_command_is_recorded, 0, 2);
    tcase_add_test(
        c, command_that_ignores_term_is_killed_and_one_that_ignores_int_is_not);
    tcase_add_loop_test(c,
                        signal_that_ended_the_command_ends_us_if_it_was_meant_for_us,
                        0, (int)(sizeof deaths / sizeof *deaths));
    tcase_add_test(c, loss_decides_the_exit_code_before_a_signal);
    tcase_add_test(c, rest_of_a_stopped_command_is_awaited_then_killed);
    tcase_add_loop_test(
        c, death_of_the_guardian_is_that_of_all_the_command_started, 0, 3);
    tcase_add_loop_test(c, daemons_are_spared_by_an_end_in_order_alone, 0, 3);
    tcase_add_loop_test(c, release_is_awaited_no_longer_than_the_lock_lasts, 0,
                        4);
    tcase_add_loop_test(
        c, release_after_a_stopped_command_is_abandoned_in_time, 0, 4);
    tcase_add_loop_test(
        c, command_that_was_killed_and_does_not_end_is_left_in_time, 0, 2);
    tcase_add_loop_test(c, lock_is_kept_at_least_so_long, 0, 3);
    tcase_add_test(c, stopped_command_keeps_no_lock);
    tcase_add_test(c, background_processes_are_left_alone);
    tcase_add_test(c, stopped_command_stops_us);
    return c;
}

static TCase *case_lost(void)
{
    TCase *c = tcase_create("lost");

    tcase_add_test(c, command_without_renewals_is_killed_at_the_safe_moment);
    tcase_add_test(c, renewal_moves_the_safe_moment);
    tcase_add_test(c, lease_ends_for_its_own_reason);
    tcase_add_loop_test(c, reason_after_a_stop_is_the_stop, 0,
                        ROWS(first_after_a_stop));
    tcase_add_loop_test(c, stop_until_the_stop_signal_is_the_reason, 0, 3);
    tcase_add_test(c, short_delays_are_not_the_reason);
    tcase_add_test(c, stop_before_a_renewal_is_forgotten);
    tcase_add_test(c, guardian_that_kills_before_the_safe_moment_had_no_messages);
    tcase_add_loop_test(
        c, guardian_has_a_deadline_only_if_a_loss_stops_the_command, 0, 3);
    tcase_add_loop_test(c, deleted_or_taken_is_term_then_kill, 0, 2);
    tcase_add_loop_test(c, overdue_hold_kills_the_command, 0, 3);
    tcase_add_loop_test(c, after_a_pause_the_clock_comes_first, 0, 5);
    tcase_add_test(c, unknown_safe_moment_is_the_last_known);
    tcase_add_test(c, doubt_after_a_switch_of_masters_stops_no_command);
    tcase_add_test(c, warned_command_continues_and_ends_with_122);
    tcase_add_test(c, ignored_loss_leaves_the_code_alone);
    tcase_add_test(c, max_hold_stops_the_command_and_keeps_the_lock_until_it_ended);
    tcase_add_test(c, loss_weighs_more_than_max_hold);
    tcase_add_test(c, hold_without_an_end_is_never_short);
    return c;
}

static TCase *case_random(void)
{
    TCase *c = tcase_create("random");

    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, rules_hold_over_random_courses, 0, 10);
    return c;
}

/* Last: it cannot be undone that HUP reads the files again. */
static TCase *case_reload(void)
{
    TCase *c = tcase_create("reload");

    tcase_add_test(c, command_that_ctrl_c_ended_keeps_no_lock);
    tcase_add_test(c, hup_that_reads_files_again_keeps_the_lock_at_least_so_long);
    tcase_add_loop_test(c, command_that_dies_of_hup_leaves_its_daemons, 0, 2);
    return c;
}

int main(void)
{
    Suite *s = suite_create("cli/run_state");

    suite_add_tcase(s, case_waiting());
    suite_add_tcase(s, case_end());
    suite_add_tcase(s, case_lost());
    suite_add_tcase(s, case_random());
    suite_add_tcase(s, case_reload());
    return suite_run(s);
}
