/* One round. One thread, one loop: callbacks record events, and after each turn the
 * session processes them. */
/* Tests: tests/live/cli/test_run.c, tests/live/cli/test_elect.c. */
#include "cli/run/round.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/label.h"
#include "cli/base/report.h"
#include "cli/base/signals.h"
#include "cli/run/session.h"
#include "net/base/error.h"

/* How long we stay to release a lock that was granted while we cancelled;
 * without an answer it ends with its TTL. Then, how long we wait for the reader
 * of our last lines. */
#define LINGER_MS 1000
/* After a release without a reply: enough for the members of a multi-lock, which are
 * released one after the other. */
#define SHORT_TIME_MS 200
/* After a signal, of its limit: for our last lines. */
#define LAST_LINES_MS 10

static void handle_signals(struct cli_session *run);

/* ---- news of the lock ---- */

static void on_waiting(void *ctx, struct hf_lock *lock, const struct hf_lock_info *info)
{
    struct cli_session *run = ctx;

    cli_wait_report_begin(&run->wait_report, cli_locks_client(&run->locks, lock), lock, info);
}

static void report_waiting(void *ctx, const struct cli_wait_report *w)
{
    const struct cli_session *run = ctx;

    cli_event_waiting(&run->log, w);
}

static void on_acquired(void *ctx)
{
    struct cli_session *run = ctx;

    cli_wait_report_end(&run->wait_report);
    handle_signals(run); /* earlier signals are not for the command */
    if (run->state.state == CLI_RUN_DONE)
        return; /* a nested run that was told to end by the outer run */
    cli_event_acquired(&run->log, hf_clock_ms() - run->requested_ms,
                       cli_hold_is_nested(&run->hold), run->hold.token);
    cli_session_handle_number_event(run, CLI_EV_ACQUIRED, 0);
}

/* NULL: it is the only lock, or no single one failed. */
static struct hf_lock *failed_member_of_multi(const struct cli_session *run,
                                              const struct hf_error *err)
{
    return run->locks.multi && err && err->member > 0
               ? hf_multi_member(run->locks.multi, (size_t)err->member - 1)
               : NULL;
}

static struct hf_lock *refused_lock(const struct cli_session *run, const struct hf_error *err)
{
    struct hf_lock *member = failed_member_of_multi(run, err);

    return member ? member : run->locks.locks[0];
}

static void on_refused(void *ctx, hf_status status, const struct hf_error *err)
{
    struct cli_session *run = ctx;

    cli_wait_report_end(&run->wait_report);
    if (run->state.state == CLI_RUN_DONE)
        return; /* a nested run's late answer */
    run->was_refused_temporarily = err && err->is_temporary;
    if (status == HF_TIMEOUT && !run->locks.quorum)
        cli_wait_report_refused(run->locks.clients[0], refused_lock(run, err), &run->wait_report,
                                err);
    else
        cli_event_refused(&run->log, status, err);
    cli_session_handle_number_event(run, CLI_EV_REFUSED, status);
}

static void on_renewed(void *ctx)
{
    struct cli_session *run = ctx;

    cli_event_renewed(&run->log, cli_hold_safe_ms(&run->hold));
    cli_session_handle_number_event(run, CLI_EV_RENEWED, 0);
}

static void on_lost(void *ctx, enum hf_lost reason, const struct hf_lock *lock)
{
    struct cli_session *run = ctx;

    if (lock)
        cli_event_set_lost_member(&run->log,
                                  run->locks.multi ? hf_lock_name(lock, NULL) : NULL,
                                  hf_client_address(cli_locks_client(&run->locks, lock)));
    cli_session_handle_number_event(run, CLI_EV_LOST, (int)reason);
}

static void on_released(void *ctx, hf_status status, const struct hf_error *err)
{
    struct cli_session *run = ctx;
    const struct hf_lock *member;

    if (run->state.state == CLI_RUN_DONE)
        return; /* no reply was awaited, and that was reported */
    member = failed_member_of_multi(run, err);
    cli_event_released(&run->log, status, err, member ? hf_lock_name(member, NULL) : NULL,
                       run->state.is_lost);
    cli_session_handle_number_event(run, CLI_EV_RELEASED, status);
}

static const struct cli_hold_events hold_events = {.on_waiting = on_waiting,
                                                   .on_acquired = on_acquired,
                                                   .on_refused = on_refused,
                                                   .on_renewed = on_renewed,
                                                   .on_lost = on_lost,
                                                   .on_released = on_released};

/* ---- news of the command ---- */

/* A command that stopped because it needs the terminal gets it, if this process has it.
 * Otherwise this process also stops, if there is a terminal from which it can be
 * continued. */
static void handle_stopped_command(struct cli_session *run, int signal)
{
    bool wants_tty = signal == SIGTTIN || signal == SIGTTOU;

    if (wants_tty && cli_tty_give_foreground(&run->tty, run->child.pid))
        cli_child_signal(&run->child, SIGCONT);
    else if (run->tty.fd >= 0)
        cli_session_handle_number_event(run, CLI_EV_STOPPED, signal);
}

/* A person who writes "run NAME cd /srv ..." wants a shell. */
static const char *advice_on_builtin(const char *program)
{
    static const char *const builtins[] = {"cd",    ".",     "source", "export", "set",
                                           "unset", "alias", "eval",   "ulimit", "trap",
                                           "exec",  "if",    "for",    "while",  "umask"};

    for (size_t i = 0; i < sizeof builtins / sizeof *builtins; i++)
        if (strcmp(program, builtins[i]) == 0)
            return "; it is a part of the shell: run NAME -- sh -c '...', or -c '...'";
    return strchr(program, ' ') ? "; a line for the shell is run by sh -c '...', or -c '...'"
                                : "";
}

static void handle_ended_command(struct cli_session *run,
                                 const struct cli_child_report *report)
{
    run->cannot_run = report->exec_error != 0;
    if (run->cannot_run)
        (void)cli_fail("cannot run %s: %s%s", run->options->argv[0],
                       hf_errno_text(report->exec_error),
                       advice_on_builtin(run->options->argv[0]));
    else
        cli_event_exit(&run->log, report->number, report->ended_by_signal);
    cli_session_handle_event(run, (struct cli_run_event){.kind = CLI_EV_ENDED,
                                                         .number = report->number,
                                                         .ended_by_signal = report->ended_by_signal,
                                                         .had_terminal =
                                                             run->tty.is_given_to_command});
}

/* Kills the command. A setuid command survives its guardian, and cannot be killed. Its pid is
 * its own until we reap it, also if we have not adopted it yet; one that has ended may be
 * reaped. */
static bool is_command_kill_refused(const struct cli_session *run)
{
    return cli_tree_signal(&run->child.tree, SIGKILL) == EPERM ||
           (run->state.state != CLI_RUN_DRAINING && kill(run->child.pid, SIGKILL) < 0 &&
            errno == EPERM);
}

/* The guardian was killed, and the system killed the command with it; but not one
 * that has become another user's. */
static void handle_dead_guardian(struct cli_session *run)
{
    cli_session_unwatch_guardian(run);
    if (is_command_kill_refused(run))
        (void)cli_fail("the command's guardian was killed, and the command cannot be "
                       "signalled: %s; it runs on", strerror(EPERM));
    else
        (void)cli_fail("the command's guardian was killed, and the command with it");
    cli_session_handle_number_event(run, CLI_EV_UNGUARDED, 0);
}

/* Reports it once, because KILL is also refused after TERM. */
static void report_refusal(struct cli_session *run, int err)
{
    if (!run->is_refusal_reported)
        (void)cli_fail("cannot signal the command: %s; it runs on",
                       hf_errno_text(err));
    run->is_refusal_reported = true;
}

static void handle_command_news(struct cli_session *run)
{
    struct cli_child_report report;

    while ((report = cli_child_next_news(&run->child)).news != CLI_CHILD_NONE) {
        if (report.news == CLI_CHILD_STOPPED)
            handle_stopped_command(run, report.number);
        else if (report.news == CLI_CHILD_REFUSED)
            report_refusal(run, report.number);
        else if (report.news == CLI_CHILD_OVERDUE)
            cli_session_handle_number_event(run, CLI_EV_OVERDUE, 0);
        else if (report.news == CLI_CHILD_ENDED)
            handle_ended_command(run, &report);
        else if (report.news == CLI_CHILD_UNGUARDED)
            handle_dead_guardian(run);
        else
            cli_session_handle_number_event(run, CLI_EV_EMPTY, 0);
    }
}

/* ---- turns ---- */

static void on_signal_readable(struct hf_io *io, int events)
{
    struct cli_session *run = HF_OWNER_OF(io, struct cli_session, signal_io);

    (void)events;
    run->has_signal = true;
    hf_loop_rewatch(run->loop, io, 0); /* until it is handled */
}

static void on_session_timer(struct hf_timer *timer)
{
    HF_OWNER_OF(timer, struct cli_session, timer)->is_timer_due = true;
}

/* HUP means "read your files again" where it does not end us: to a service, and to the
 * command, which gets it afterwards. */
static void reload_on_hangup(struct cli_session *run)
{
    if (!cli_run_has_command(&run->state) && cli_signals_ends_us(SIGHUP))
        return;
    run->is_hung_up_late = run->state.has_run && !cli_run_has_command(&run->state);
    if (!cli_reload_begin(&run->reload, run->loop, run->common))
        cli_locks_reload(&run->locks);
}

static void handle_signals(struct cli_session *run)
{
    int signal;

    run->has_signal = false;
    while ((signal = cli_signals_take()) != 0) {
        if (signal == SIGHUP)
            reload_on_hangup(run);
        if (signal == SIGUSR1 && run->options->dump_path)
            cli_locks_dump(&run->locks, run->options->dump_path);
        else if (signal == SIGCHLD)
            handle_command_news(run);
        else
            cli_session_handle_number_event(run, CLI_EV_SIGNAL, signal);
    }
    hf_loop_lock(run->loop);
    hf_loop_rewatch(run->loop, &run->signal_io, HF_READ);
    hf_loop_unlock(run->loop);
}

static void run_loop_turn(struct cli_session *run)
{
    hf_loop_dispatch(run->loop, -1);
    if (run->has_signal)
        handle_signals(run);
    if (run->has_guardian_news) {
        run->has_guardian_news = false;
        handle_command_news(run);
        cli_session_rewatch_guardian(run);
    }
    cli_proof_server_after_turn(&run->proof_server);
    cli_notify_after_turn(&run->notify);
    cli_metrics_after_turn(run->options->metrics);
    if (cli_reload_after_turn(&run->reload))
        cli_locks_reload(&run->locks);
    cli_hold_after_turn(&run->hold);
    if (run->is_timer_due) {
        run->is_timer_due = false;
        cli_session_handle_number_event(run, CLI_EV_TIME, 0);
    }
}

/* ---- beginning and end ---- */

static int open_loop(struct cli_session *run)
{
    struct hf_loop_options options = {.size = sizeof options, .thread = false};
    hf_status rc = hf_loop_new(&run->loop, &options);

    if (rc < 0)
        return cli_fail_what(rc, "cannot make an event loop");
    return CLI_CONTINUE;
}

static int open_signals(struct cli_session *run)
{
    hf_status rc;

    run->signal_io.fd = cli_signals_open();
    if (run->signal_io.fd < 0)
        return cli_fail_what(HF_E_SYSTEM, "cannot watch for signals");
    hf_loop_lock(run->loop);
    rc = hf_loop_watch(run->loop, &run->signal_io);
    hf_loop_unlock(run->loop);
    if (rc < 0)
        return cli_fail_what(rc, "cannot watch for signals");
    return CLI_CONTINUE;
}

/* Nothing is held, and the calls block. */
static int open_locks(struct cli_session *run, const struct cli_common *common)
{
    int rc;

    cli_report_flush();
    cli_signals_end_at_once(true);
    rc = cli_locks_open(&run->locks, run->loop, run->options, common);
    run->was_refused_temporarily = run->locks.is_refused_for_now;
    cli_signals_end_at_once(false);
    return rc;
}

static void prepare_last_words(struct cli_session *run)
{
    (void)snprintf(run->last_words, sizeof run->last_words,
                   "holdfast: the server does not reply: %s may stay locked until its "
                   "TTL expires\n", run->log.quoted);
}

static int open_session(struct cli_session *run, const struct cli_common *common)
{
    int rc = cli_session_open_notice(run);

    if (rc == CLI_CONTINUE)
        rc = open_loop(run);
    if (rc == CLI_CONTINUE)
        rc = open_signals(run);
    if (rc == CLI_CONTINUE)
        rc = open_locks(run, common);
    if (rc != CLI_CONTINUE)
        return rc;
    cli_wait_report_init(&run->wait_report, run->loop, cli_label_is_enabled(common));
    run->wait_report.report = report_waiting;
    run->wait_report.ctx = run;
    cli_hold_init(&run->hold, &run->locks, run->options->kind.kind,
                  &hold_events, run);
    cli_event_init(&run->log, run->options->status_fd, run->options->name,
                   run->hold.owner);
    prepare_last_words(run);
    if (!run->locks.quorum)
        cli_event_set_lost_member(&run->log, NULL,
                                  hf_client_address(run->locks.clients[0]));
    cli_tty_open(&run->tty);
    run->child.tree.has_strangers = cli_tree_has_strangers();
    return CLI_CONTINUE;
}

/* Closes a session that may be half open. */
static void close_session(struct cli_session *run)
{
    cli_proof_server_close(&run->proof_server);
    cli_notify_close(&run->notify);
    cli_reload_close(&run->reload);
    cli_session_close_notice(run);
    cli_tty_close(&run->tty);
    cli_hold_fini(&run->hold);
    cli_event_fini(&run->log);
    cli_metrics_detach(run->options->metrics);
    cli_locks_free(&run->locks);
    cli_wait_report_end(&run->wait_report);
    if (run->loop) {
        cli_session_unwatch_guardian(run);
        hf_loop_lock(run->loop);
        hf_loop_disarm(run->loop, &run->timer);
        if (run->signal_io.fd >= 0)
            hf_loop_unwatch(run->loop, &run->signal_io);
        hf_loop_unlock(run->loop);
    }
    hf_loop_free(run->loop);
}

static int64_t time_to_wait_at_close_ms(const struct cli_run *state)
{
    int64_t left_ms = state->leave_by_ms - hf_clock_ms();

    if (state->leave_signal != 0)
        return left_ms > LAST_LINES_MS ? left_ms : LAST_LINES_MS;
    return state->skips_waiting ? SHORT_TIME_MS : LINGER_MS;
}

/* What a command had is released, or was reported (CLI_DO_REPORT_UNRELEASED). */
static void close_locks(struct cli_session *run)
{
    hf_status rc = cli_locks_close(&run->locks, time_to_wait_at_close_ms(&run->state));

    if (rc < 0 && !run->state.has_run)
        cli_warn("%s: %s may stay locked until its TTL expires", cli_close_reason(rc),
                 run->log.quoted);
}

static int run_opened_session(struct cli_session *run)
{
    struct cli_hold_terms terms = {.wait_ms = run->options->wait_ms,
                               .lease_ms = run->options->lease_ms};
    hf_status rc;

    cli_session_update_limit(run);
    cli_metrics_attach(run->options->metrics, run->loop, run->locks.clients,
                       run->locks.clients_count);
    run->requested_ms = hf_clock_ms();
    rc = cli_hold_acquire(&run->hold, &terms);
    if (rc < 0)
        return cli_fail("cannot request the lock: %s", hf_status_text(rc));
    cli_session_handle_number_event(run, CLI_EV_TIME, 0); /* the first beat */
    while (run->state.state != CLI_RUN_DONE)
        run_loop_turn(run);
    close_locks(run);
    if (run->state.has_run)
        cli_metrics_note_end(run->options->metrics, run->state.exit_code);
    return run->state.exit_code;
}

#define BIT(signal) (UINT64_C(1) << (signal))

static bool was_told_to_end(const struct cli_run *state)
{
    return state->end_by_signal != 0 ||
           (state->forwarded_signals & (BIT(SIGTERM) | BIT(SIGINT) | BIT(SIGQUIT))) != 0;
}

struct cli_round cli_round_run(const struct cli_run_options *options,
                               const struct cli_common *common)
{
    struct cli_run_rules rules = cli_run_rules_of(options);
    struct cli_session run = {
        .options = options,
        .common = common,
        .signal_io = {.fd = -1, .events = HF_READ, .ready = on_signal_readable},
        .timer = {.fire = on_session_timer},
        .child = {.guardian_fd = -1},
        .guardian_io = {.fd = -1},
        .proof_server = {.io = {.fd = -1}},
        .tty = {.fd = -1},
        .log = {.status = {.fd = -1, .own_fd = -1}},
        .notice_pipe = {-1, -1}};
    int rc;

    cli_run_init(&run.state, &rules);
    rc = open_session(&run, common);
    if (rc == CLI_CONTINUE)
        rc = run_opened_session(&run);
    close_session(&run);
    cli_signals_record_stop(false);
    return (struct cli_round){.exit_code = rc,
                              .has_run = run.state.has_run,
                              .cannot_run = run.cannot_run,
                              .was_refused_temporarily = run.was_refused_temporarily,
                              .was_ended_by_signal = was_told_to_end(&run.state),
                              .late_signal = run.state.late_signal,
                              .was_release_wait_cut = run.state.was_release_wait_cut,
                              .is_hung_up_late = run.is_hung_up_late,
                              .end_by_signal = run.state.end_by_signal,
                              .must_group_end = run.state.must_group_end};
}

/* What ended the command, its start, or the wait for its release. 0: none. After the
 * command has ended, its code counts if the release was answered; so do the codes of a
 * lost lock and of --max-hold. */
static int ending_signal(const struct cli_round *last)
{
    bool is_ours = last->exit_code == CLI_EXIT_LOST || last->exit_code == CLI_EXIT_MAX_HOLD;
    bool is_late = last->exit_code == CLI_EXIT_ERROR || (last->was_release_wait_cut && !is_ours);

    return last->end_by_signal == 0 && is_late ? last->late_signal : last->end_by_signal;
}

/* What the command has started is adopted by its guardian, and by us if that dies. */
static void report_limits(void)
{
    if (!cli_tree_adopt())
        cli_warn("this system does not let a process adopt orphans: a process that "
                 "leaves the command's process group is not killed with it");
    else if (!cli_tree_proc_lists_children())
        cli_warn("/proc does not list the processes of this run: processes of the "
                 "command are found by trying process numbers, so killing them may "
                 "take longer");
}

int cli_round_main(struct cli_args *args, struct cli_common *common,
                   int (*parse)(struct cli_run_options *, struct cli_args *,
                                struct cli_common *),
                   struct cli_round (*play)(const struct cli_run_options *,
                                            const struct cli_common *))
{
    struct cli_run_options options;
    struct cli_round last;
    int signal;
    int rc = parse(&options, args, common);

    if (rc != CLI_CONTINUE || (rc = cli_common_apply(common)) != CLI_CONTINUE)
        return rc;
    cli_report_never_wait();
    report_limits();
    if (!cli_tty_exists())
        cli_signals_reload_on_hangup();
    if (common->is_json && options.status_fd < 0)
        options.status_fd = STDERR_FILENO;
    options.metrics = cli_metrics_open(&options.metrics_options, options.name);
    last = play(&options, common);
    cli_metrics_close(options.metrics);
    signal = ending_signal(&last);
    cli_report_flush_last(signal || last.late_signal ? LAST_LINES_MS : LINGER_MS);
    if (signal != 0)
        cli_signals_die(signal, last.must_group_end);
    return last.exit_code;
}
