/* Carries out what state.c decides. */
/* Tests: tests/test_cli_run_state.c, tests/live/cli/test_run.c. */
#include "cli/run/session.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/report.h"
#include "cli/base/signals.h"
#include "cli/run/environment.h"
#include "net/base/error.h"

/* ---- the notice ---- */

static void close_notice_end(struct cli_session *run, int which)
{
    if (run->notice_pipe[which] >= 0)
        (void)close(run->notice_pipe[which]);
    run->notice_pipe[which] = -1;
}

static void close_notice_for_loss(struct cli_session *run)
{
    close_notice_end(run, 1);
}

int cli_session_open_notice(struct cli_session *run)
{
    if (pipe2(run->notice_pipe, O_CLOEXEC) == 0)
        return CLI_CONTINUE;
    run->notice_pipe[0] = run->notice_pipe[1] = -1;
    return cli_fail_what(HF_E_SYSTEM, "cannot make a pipe");
}

void cli_session_close_notice(struct cli_session *run)
{
    close_notice_end(run, 0);
    close_notice_end(run, 1);
}

/* ---- the guardian ---- */

static void on_guardian_readable(struct hf_io *io, int events)
{
    struct cli_session *run = HF_OWNER_OF(io, struct cli_session, guardian_io);

    (void)events;
    run->has_guardian_news = true;
    hf_loop_rewatch(run->loop, io, 0); /* until it is handled */
}

/* If there is no memory to watch it, its socket is read after each signal and renewal.
 * */
static void watch_guardian(struct cli_session *run)
{
    run->guardian_io = (struct hf_io){
        .fd = run->child.guardian_fd, .events = HF_READ, .ready = on_guardian_readable};
    hf_loop_lock(run->loop);
    if (hf_loop_watch(run->loop, &run->guardian_io) < 0)
        run->guardian_io.fd = -1;
    hf_loop_unlock(run->loop);
}

void cli_session_rewatch_guardian(struct cli_session *run)
{
    hf_loop_lock(run->loop);
    if (run->guardian_io.fd >= 0)
        hf_loop_rewatch(run->loop, &run->guardian_io, HF_READ);
    hf_loop_unlock(run->loop);
}

void cli_session_unwatch_guardian(struct cli_session *run)
{
    hf_loop_lock(run->loop);
    if (run->guardian_io.fd >= 0)
        hf_loop_unwatch(run->loop, &run->guardian_io);
    hf_loop_unlock(run->loop);
    run->guardian_io.fd = -1;
    if (run->child.guardian_fd >= 0)
        (void)close(run->child.guardian_fd);
    run->child.guardian_fd = -1;
}

/* ---- starting the command ---- */

static int start_child_with(struct cli_session *run, char **env, int kept_fd)
{
    struct cli_child_plan plan = {.argv = run->options->argv,
                                  .env = env,
                                  .kept_fd = kept_fd,
                                  .deadline_ms = cli_run_guardian_kill_ms(&run->state),
                                  .tty = &run->tty,
                                  .notify = &run->notify};
    int err;

    cli_signals_record_stop(true);
    err = cli_child_start(&run->child, &plan);
    if (err == 0)
        watch_guardian(run);
    return err;
}

/* NULL: there is none. That of an outer run, on another name, is not ours. */
static const char *token_text_or_null(const struct cli_session *run, char dst[24])
{
    (void)snprintf(dst, 24, "%lld", (long long)run->hold.token);
    return run->hold.token > 0 ? dst : NULL;
}

/* A nested run uses the server of -u. Of a quorum, no URL alone is right. */
static const char *url_for_nested_runs(const struct cli_session *run)
{
    const char *given = run->common->given_url;

    if (run->options->hides_url)
        return NULL;
    return given ? given : getenv(CLI_ENV_URL);
}

/* What the command's environment says of its lock; NULL: nothing. */
struct command_env_values {
    const char *fd, *outer, *token;
};

/* Starts a command with its lock described in its environment. 0 or errno. */
static int start_with_env(struct cli_session *run, struct command_env_values d, int kept_fd)
{
    static const char *const names[] = {CLI_ENV_NAME, CLI_ENV_OWNER, CLI_ENV_FD,
                                        CLI_ENV_OUTER, CLI_ENV_TOKEN,
                                        CLI_ENV_URL, CLI_ENV_NOTIFY, "LISTEN_PID",
                                        "WATCHDOG_PID"};
    enum { COUNT = sizeof names / sizeof *names };
    const char *values[COUNT] = {run->options->name, run->hold.owner, d.fd,
                                 d.outer, d.token, url_for_nested_runs(run),
                                 cli_notify_value(&run->notify),
                                 cli_environment_pid_value("LISTEN_PID"),
                                 cli_environment_pid_value("WATCHDOG_PID")};
    char **env = cli_environment_new(names, values, COUNT);
    int err = env ? start_child_with(run, env, kept_fd) : ENOMEM;

    cli_environment_free(env, values, COUNT);
    return err;
}

static const char *fd_text_or_null(int fd, char dst[12])
{
    (void)snprintf(dst, 12, "%d", fd);
    return fd < 0 ? NULL : dst;
}

static bool holds_lock(void *ctx, const char *name, size_t len, const char *owner,
                       int64_t *token)
{
    struct cli_session *run = ctx;

    return !run->state.is_lost && cli_run_has_command(&run->state) &&
           cli_hold_holds(&run->hold, name, len, owner, token);
}

static char *describe_for_runs_inside(struct cli_session *run)
{
    cli_proof_server_open(&run->proof_server, run->loop, run->notice_pipe[1], holds_lock, run);
    return cli_hold_new_outer_list(&run->hold, run->notice_pipe[0], run->proof_server.address);
}

static int start_with_own_lock(struct cli_session *run)
{
    char digits[12], token[24];
    char *outer = describe_for_runs_inside(run);
    struct command_env_values d = {fd_text_or_null(run->notice_pipe[0], digits), outer,
                            token_text_or_null(run, token)};
    int err = outer ? start_with_env(run, d, run->notice_pipe[0]) : ENOMEM;

    free(outer);
    close_notice_end(run, 0);
    return err;
}

/* A nested command inherits the command_env_values of the outer lock; not that of another
 * one, whose run is in between. */
static int start_with_outer_lock(struct cli_session *run)
{
    bool is_innermost = cli_hold_is_innermost(&run->hold);
    char digits[12];
    struct command_env_values d = {is_innermost ? getenv(CLI_ENV_FD)
                                         : fd_text_or_null(run->hold.notice_io.fd, digits),
                            getenv(CLI_ENV_OUTER),
                            is_innermost ? getenv(CLI_ENV_TOKEN) : NULL};

    return start_with_env(run, d, -1);
}

static void warn_ignored_options(const struct cli_run_options *options)
{
    if (options->lease_ms > 0 || options->at_least_ms > 0)
        cli_warn("%s has no effect: the outer run renews and releases this lock",
                 options->lease_ms > 0 ? "--lease" : "--at-least");
}

static const char *why_not_started(int err)
{
    if (err == ECANCELED)
        return "its guardian was killed";
    return err == EINTR ? "a signal came first" : hf_errno_text(err);
}

static void start_command(struct cli_session *run)
{
    bool is_nested = cli_hold_is_nested(&run->hold);
    int err;

    cli_notify_open(&run->notify, run->loop);
    if (is_nested)
        warn_ignored_options(run->options);
    err = is_nested ? start_with_outer_lock(run) : start_with_own_lock(run);
    cli_metrics_note_held(run->options->metrics); /* its thread begins after the fork */
    if (err == 0)
        return;
    (void)cli_fail("cannot start a process: %s", why_not_started(err));
    cli_session_handle_number_event(run, CLI_EV_ENDED, CLI_EXIT_ERROR);
}

/* ---- actions ---- */

static void forward_signal(struct cli_session *run, int signal)
{
    if (signal == SIGCONT && cli_tty_is_for_command(&run->tty))
        (void)cli_tty_give_foreground(&run->tty, run->child.pid);
    cli_child_signal(&run->child, signal);
}

/* After the stop, the next event looks at the clock first (RUN-3). */
static void suspend_holdfast(struct cli_session *run)
{
    cli_tty_take_foreground(&run->tty);
    cli_signals_suspend();
    cli_session_handle_number_event(run, CLI_EV_SIGNAL, SIGCONT);
}

static void leave_command(struct cli_session *run)
{
    cli_tty_take_foreground(&run->tty);
    cli_proof_server_close(&run->proof_server);
    cli_notify_close(&run->notify);
    cli_child_leave(&run->child);
    cli_session_unwatch_guardian(run); /* a socket that has ended is always readable */
}

static void release_lock(struct cli_session *run)
{
    hf_status rc;

    leave_command(run);
    rc = cli_hold_release(&run->hold);
    if (rc < 0)
        run->hold.events->on_released(run, rc, NULL);
}

static void report_lost(struct cli_session *run)
{
    close_notice_for_loss(run);
    cli_metrics_note_lost(run->options->metrics);
    cli_event_lost(&run->log, run->state.loss_reason, run->state.rules.on_lost);
}

static void report_max_hold(struct cli_session *run)
{
    close_notice_for_loss(run);
    cli_event_max_hold(&run->log, run->options->max_hold_ms);
}

static void report_unreleased(struct cli_session *run)
{
    const char *why = cli_warning_last();
    struct hf_error err;

    (void)hf_error_set(&err, HF_E_NOREPLY, "%s",
                       why[0] ? why : "the server has not replied yet");
    cli_event_released(&run->log, HF_E_NOREPLY, &err, NULL, run->state.is_lost);
}

static void report_abandoned(const struct cli_session *run)
{
    (void)cli_fail("the command was killed and has not ended; %s stays locked until "
                   "its TTL expires", run->log.quoted);
}

static void execute_todo(struct cli_session *run, unsigned todo, int number)
{
    if (todo & CLI_DO_DRAIN)
        cli_child_drain(&run->child, run->state.all_sessions);
    if (todo & CLI_DO_KILL)
        cli_child_kill(&run->child, run->state.all_sessions);
    if (todo & CLI_DO_STOP && !(todo & CLI_DO_KILL))
        cli_child_signal(&run->child, run->options->lost_signal);
    if (todo & CLI_DO_FORWARD)
        forward_signal(run, number);
    if (todo & CLI_DO_REPORT_LOST)
        report_lost(run);
    if (todo & CLI_DO_REPORT_MAX_HOLD)
        report_max_hold(run);
    if (todo & CLI_DO_SUSPEND)
        suspend_holdfast(run);
    if (todo & CLI_DO_CANCEL)
        cli_hold_cancel(&run->hold);
    if (todo & CLI_DO_START)
        start_command(run);
    if (todo & CLI_DO_KEEP)
        leave_command(run);
    if (todo & CLI_DO_RELEASE)
        release_lock(run);
    if (todo & CLI_DO_REPORT_UNRELEASED)
        report_unreleased(run);
    if (todo & CLI_DO_REPORT_ABANDONED)
        report_abandoned(run);
}

/* While a lock is requested or held, the process wakes often enough to notice each stop
 * that could delay a renewal. */
#define BEATS 16
#define BEAT_LEAST_MS 10

static void set_next_safety_check(struct cli_session *run, int64_t now_ms)
{
    const struct cli_run_options *o = run->options;
    int64_t part_ms = (o->lease_ms > 0 ? o->lease_ms : o->ttl_ms) / BEATS;
    bool is_wanted = run->state.state < CLI_RUN_KEEPING && !run->state.is_lost &&
                     !cli_hold_is_nested(&run->hold);

    if (!is_wanted)
        cli_run_set_next_wake(&run->state, HF_NEVER);
    else if (run->state.stops.next_check_ms <= now_ms ||
             run->state.stops.next_check_ms == HF_NEVER)
        cli_run_set_next_wake(&run->state,
                              now_ms + (part_ms > BEAT_LEAST_MS ? part_ms : BEAT_LEAST_MS));
}

static void rearm_timer(struct cli_session *run)
{
    int64_t next_ms = cli_run_next_ms(&run->state);

    if (run->state.stops.next_check_ms < next_ms)
        next_ms = run->state.stops.next_check_ms;
    hf_loop_lock(run->loop);
    if (next_ms == HF_NEVER)
        hf_loop_disarm(run->loop, &run->timer);
    else
        hf_loop_arm(run->loop, &run->timer, next_ms);
    hf_loop_unlock(run->loop);
}

void cli_session_update_limit(struct cli_session *run)
{
    const struct cli_run *r = &run->state;
    bool on = !cli_run_has_command(r) && r->state != CLI_RUN_KEEPING;

    cli_signals_set_end_limit(on, run->last_words);
    if (on && r->leave_signal != 0)
        cli_signals_start_limit(r->leave_signal);
}

void cli_session_handle_event(struct cli_session *run, struct cli_run_event ev)
{
    unsigned todo;

    ev.now_ms = hf_clock_ms();
    ev.safe_ms = cli_hold_safe_ms(&run->hold);
    todo = cli_run_step(&run->state, &ev);
    set_next_safety_check(run, ev.now_ms);
    rearm_timer(run); /* no message may delay KILL */
    cli_session_update_limit(run);
    execute_todo(run, todo, ev.number);
    if (cli_run_has_command(&run->state))
        cli_child_set_deadline(&run->child, cli_run_guardian_kill_ms(&run->state));
    cli_report_flush();
}

void cli_session_handle_number_event(struct cli_session *run, enum cli_run_event_kind kind,
                                     int number)
{
    cli_session_handle_event(run,
                             (struct cli_run_event){.kind = kind, .number = number});
}
