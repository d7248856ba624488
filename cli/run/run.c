/* `holdfast run`: carries out what state.c decides. One thread, one loop;
 * what its callbacks note is handled after each turn. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/run/child.h"
#include "cli/run/environment.h"
#include "cli/run/hold.h"
#include "cli/run/process_tree.h"
#include "cli/report.h"
#include "cli/run/run_options.h"
#include "cli/run/state.h"
#include "cli/run/events.h"
#include "cli/signals.h"
#include "cli/run/tty.h"
#include "net/base/error.h"

/* How long we stay to take back what was asked for and not wanted any more: a
 * lock that was granted while we cancelled. Without an answer it ends with its
 * TTL. And, after all that, for a reader of our last lines. */
#define LINGER_MS 1000

struct run {
    const struct cli_run_options *options;
    struct cli_run state;
    struct cli_teller teller;
    struct hf_loop *loop;
    struct hf_client *client;
    struct hf_lock *lock;
    struct cli_hold hold;
    struct cli_child child;
    struct cli_tty tty;
    int notice[2];              /* a pipe: the command has its reading end, as
                                   HOLDFAST_FD; when the hold is lost, we close
                                   the other; -1: closed */
    int64_t asked_ms;           /* when we began to wait */

    /* Noted in a turn of the loop. */
    struct hf_io signal_io;
    struct hf_io guard_io;
    struct hf_timer timer;
    bool has_signal;
    bool has_guard_news;
    bool is_due;
    bool is_in_call;            /* in a call that signals cannot end */
    bool is_refusal_told;       /* that we may not signal the command */
};

static void feed(struct run *run, struct cli_run_event ev);
static void handle_signals(struct run *run);

static void feed_number(struct run *run, enum cli_run_kind kind, int number)
{
    feed(run, (struct cli_run_event){.kind = kind, .number = number});
}

/* ---- the notice ---- */

static void close_end(struct run *run, int which)
{
    if (run->notice[which] >= 0)
        (void)close(run->notice[which]);
    run->notice[which] = -1;
}

static void give_notice(struct run *run)
{
    close_end(run, 1);
}

/* Before all else that opens descriptors: a shell such as dash can name only
 * those below 10. */
static int open_notice(struct run *run)
{
    if (pipe2(run->notice, O_CLOEXEC) == 0)
        return CLI_GO_ON;
    run->notice[0] = run->notice[1] = -1;
    return cli_fail("cannot make a pipe: %s", strerror(errno));
}

/* ---- the guardian ---- */

static void on_guard(struct hf_io *io, int events)
{
    struct run *run = HF_OWNER_OF(io, struct run, guard_io);

    (void)events;
    run->has_guard_news = true;
    hf_loop_rewatch(run->loop, io, 0); /* until it is handled */
}

/* Without memory for it, it is looked at with each signal and renewal. */
static void watch_guard(struct run *run)
{
    run->guard_io = (struct hf_io){
        .fd = run->child.fd, .events = HF_READ, .ready = on_guard};
    hf_loop_lock(run->loop);
    if (hf_loop_watch(run->loop, &run->guard_io) < 0)
        run->guard_io.fd = -1;
    hf_loop_unlock(run->loop);
}

static void listen_to_guard(struct run *run)
{
    hf_loop_lock(run->loop);
    if (run->guard_io.fd >= 0)
        hf_loop_rewatch(run->loop, &run->guard_io, HF_READ);
    hf_loop_unlock(run->loop);
}

static void unwatch_guard(struct run *run)
{
    hf_loop_lock(run->loop);
    if (run->guard_io.fd >= 0)
        hf_loop_unwatch(run->loop, &run->guard_io);
    hf_loop_unlock(run->loop);
    run->guard_io.fd = -1;
    if (run->child.fd >= 0)
        (void)close(run->child.fd);
    run->child.fd = -1;
}

/* ---- starting the command ---- */

static int start_with(struct run *run, char **env, int kept_fd)
{
    struct cli_child_plan plan = {.argv = run->options->argv,
                                  .env = env,
                                  .kept_fd = kept_fd,
                                  .tty = &run->tty};

    int err;

    cli_signals_note_stop();
    err = cli_child_start(&run->child, &plan);
    if (err == 0)
        watch_guard(run);
    return err;
}

static const char *hidden(const struct run *run)
{
    return run->options->hides_url ? CLI_ENV_URL : NULL;
}

/* Tells the command of its lock. 0 or errno. */
static int start_own(struct run *run)
{
    static const char *const names[] = {CLI_ENV_NAME, CLI_ENV_OWNER,
                                        CLI_ENV_FD, CLI_ENV_OUTER};
    enum { COUNT = sizeof names / sizeof *names };
    char digits[12];
    char *outer = cli_hold_outer_new(&run->hold, run->notice[0]);
    const char *values[COUNT] = {run->options->name, run->hold.owner, digits,
                                 outer};
    char **env;
    int err = ENOMEM;

    (void)snprintf(digits, sizeof digits, "%d", run->notice[0]);
    env = outer ? cli_environment_new(names, values, COUNT, hidden(run)) : NULL;
    if (env)
        err = start_with(run, env, run->notice[0]);
    cli_environment_free(env, COUNT);
    free(outer);
    close_end(run, 0);
    return err;
}

/* What the command inherits tells of the outer run. */
static int start_nested(struct run *run)
{
    char **env = cli_environment_new(NULL, NULL, 0, hidden(run));
    int err = env ? start_with(run, env, -1) : ENOMEM;

    cli_environment_free(env, 0);
    return err;
}

static void start(struct run *run)
{
    int err = cli_hold_is_nested(&run->hold) ? start_nested(run)
                                             : start_own(run);

    if (err == 0)
        return;
    (void)cli_fail("cannot start a process: %s",
                   err == ECANCELED ? "its guardian was killed"
                                    : strerror(err));
    feed_number(run, CLI_EV_ENDED, CLI_TROUBLE);
}

/* ---- doing what is decided ---- */

static void forward(struct run *run, int signal)
{
    if (signal == SIGCONT && cli_tty_is_for_command(&run->tty))
        (void)cli_tty_give(&run->tty, run->child.pid);
    cli_child_signal(&run->child, signal);
}

/* Back again, the first thing is to look at the clock: feed does. */
static void suspend(struct run *run)
{
    cli_tty_take(&run->tty);
    cli_signals_suspend();
    feed_number(run, CLI_EV_SIGNAL, SIGCONT);
}

static void leave_command(struct run *run)
{
    cli_tty_take(&run->tty);
    cli_child_leave(&run->child);
}

static void release(struct run *run)
{
    hf_status rc;

    leave_command(run);
    rc = cli_hold_release(&run->hold);
    if (rc < 0)
        run->hold.events->released(run, rc, NULL);
}

static void tell_lost(struct run *run)
{
    give_notice(run);
    cli_tell_lost(&run->teller, run->state.reason,
                  run->state.rules.on_lost);
}

static void tell_max_hold(struct run *run)
{
    give_notice(run);
    cli_tell_max_hold(&run->teller, run->options->max_hold_ms);
}

static void tell_unreleased(struct run *run)
{
    struct hf_error err;

    (void)hf_error_set(&err, HF_E_NOREPLY, "the server has not answered yet");
    cli_tell_released(&run->teller, HF_E_NOREPLY, &err, run->state.is_lost);
}

static void carry_out(struct run *run, unsigned todo, int number)
{
    if (todo & CLI_DO_DRAIN)
        cli_child_drain(&run->child, run->state.is_all);
    if (todo & CLI_DO_KILL)
        cli_child_kill(&run->child, run->state.is_all);
    if (todo & CLI_DO_STOP && !(todo & CLI_DO_KILL))
        cli_child_signal(&run->child, run->options->lost_signal);
    if (todo & CLI_DO_FORWARD)
        forward(run, number);
    if (todo & CLI_DO_TELL_LOST)
        tell_lost(run);
    if (todo & CLI_DO_TELL_MAX_HOLD)
        tell_max_hold(run);
    if (todo & CLI_DO_SUSPEND)
        suspend(run);
    if (todo & CLI_DO_CANCEL)
        cli_hold_cancel(&run->hold);
    if (todo & CLI_DO_START)
        start(run);
    if (todo & CLI_DO_KEEP)
        leave_command(run);
    if (todo & CLI_DO_RELEASE)
        release(run);
    if (todo & CLI_DO_TELL_UNRELEASED)
        tell_unreleased(run);
}

static void rearm(struct run *run)
{
    int64_t next_ms = cli_run_next_ms(&run->state);

    hf_loop_lock(run->loop);
    if (next_ms == HF_NEVER)
        hf_loop_disarm(run->loop, &run->timer);
    else
        hf_loop_arm(run->loop, &run->timer, next_ms);
    hf_loop_unlock(run->loop);
}

static void feed(struct run *run, struct cli_run_event ev)
{
    unsigned todo;

    ev.now_ms = hf_clock_ms();
    ev.safe_ms = cli_hold_safe_ms(&run->hold);
    todo = cli_run_step(&run->state, &ev);
    rearm(run); /* whatever is told must not keep KILL from coming */
    carry_out(run, todo, ev.number);
    cli_report_flush();
}

/* ---- news of the lock ---- */

static void on_waiting(void *ctx, const struct hf_lock_info *info)
{
    struct run *run = ctx;

    cli_tell_waiting(&run->teller, info);
}

static void on_acquired(void *ctx)
{
    struct run *run = ctx;

    handle_signals(run); /* those that came before are not for the command */
    if (run->state.state == CLI_DONE)
        return; /* a nested run that was told to end */
    cli_tell_acquired(&run->teller, hf_clock_ms() - run->asked_ms,
                      cli_hold_is_nested(&run->hold));
    feed_number(run, CLI_EV_ACQUIRED, 0);
}

static void on_refused(void *ctx, hf_status status, const struct hf_error *err)
{
    struct run *run = ctx;

    if (run->state.state == CLI_DONE)
        return; /* a nested run's late answer */
    cli_tell_refused(&run->teller, status, err);
    feed_number(run, CLI_EV_REFUSED, status);
}

static void on_renewed(void *ctx)
{
    struct run *run = ctx;

    cli_tell_renewed(&run->teller, cli_hold_safe_ms(&run->hold));
    feed_number(run, CLI_EV_RENEWED, 0);
}

static void on_lost(void *ctx, enum hf_lost reason)
{
    feed_number(ctx, CLI_EV_LOST, (int)reason);
}

static void on_released(void *ctx, hf_status status, const struct hf_error *err)
{
    struct run *run = ctx;

    if (run->state.state == CLI_DONE)
        return; /* it was not waited for, and that was told */
    cli_tell_released(&run->teller, status, err, run->state.is_lost);
    feed_number(run, CLI_EV_RELEASED, status);
}

static const struct cli_hold_events hold_events = {.waiting = on_waiting,
                                                   .acquired = on_acquired,
                                                   .refused = on_refused,
                                                   .renewed = on_renewed,
                                                   .lost = on_lost,
                                                   .released = on_released};

/* ---- news of the command ---- */

/* It stopped because it wants the terminal, which we could give; or we stop
 * with it, where there is a terminal to continue us from. */
static void command_stopped(struct run *run, int signal)
{
    bool wants_tty = signal == SIGTTIN || signal == SIGTTOU;

    if (wants_tty && cli_tty_give(&run->tty, run->child.pid))
        cli_child_signal(&run->child, SIGCONT);
    else if (run->tty.fd >= 0)
        feed_number(run, CLI_EV_STOPPED, signal);
}

static void command_ended(struct run *run,
                          const struct cli_child_report *report)
{
    if (report->exec_error != 0)
        (void)cli_fail("cannot run %s: %s", run->options->argv[0],
                       strerror(report->exec_error));
    else
        cli_tell_exit(&run->teller, report->number, report->by_signal);
    feed(run, (struct cli_run_event){.kind = CLI_EV_ENDED,
                                     .number = report->number,
                                     .by_signal = report->by_signal,
                                     .had_tty = run->tty.is_given});
}

/* Somebody has killed the guardian, and the system the command with it. */
static void command_is_unguarded(struct run *run)
{
    unwatch_guard(run);
    (void)cli_fail("the command's guardian was killed; so is the command");
    feed_number(run, CLI_EV_UNGUARDED, 0);
}

/* Once: KILL, after TERM, is refused likewise. */
static void tell_refusal(struct run *run, int err)
{
    if (!run->is_refusal_told)
        (void)cli_fail("cannot signal the command: %s; it runs on",
                       strerror(err));
    run->is_refusal_told = true;
}

static void look_at_command(struct run *run)
{
    struct cli_child_report report;

    while ((report = cli_child_look(&run->child)).news != CLI_CHILD_NONE) {
        if (report.news == CLI_CHILD_STOPPED)
            command_stopped(run, report.number);
        else if (report.news == CLI_CHILD_REFUSED)
            tell_refusal(run, report.number);
        else if (report.news == CLI_CHILD_ENDED)
            command_ended(run, &report);
        else if (report.news == CLI_CHILD_UNGUARDED)
            command_is_unguarded(run);
        else
            feed_number(run, CLI_EV_EMPTY, 0);
    }
}

/* ---- turns ---- */

/* The command does not run yet, or has ended: we may just go. */
static void leave_if_told(void)
{
    int signal;

    while ((signal = cli_signals_take()) != 0)
        if (signal == SIGTERM || signal == SIGINT || signal == SIGHUP ||
            signal == SIGQUIT)
            cli_signals_die(signal, false);
}

static void on_signal(struct hf_io *io, int events)
{
    struct run *run = HF_OWNER_OF(io, struct run, signal_io);

    (void)events;
    if (run->is_in_call)
        leave_if_told();
    run->has_signal = true;
    hf_loop_rewatch(run->loop, io, 0); /* until it is handled */
}

static void on_time(struct hf_timer *timer)
{
    HF_OWNER_OF(timer, struct run, timer)->is_due = true;
}

static void handle_signals(struct run *run)
{
    int signal;

    run->has_signal = false;
    while ((signal = cli_signals_take()) != 0) {
        if (signal == SIGCHLD)
            look_at_command(run);
        else
            feed_number(run, CLI_EV_SIGNAL, signal);
    }
    hf_loop_lock(run->loop);
    hf_loop_rewatch(run->loop, &run->signal_io, HF_READ);
    hf_loop_unlock(run->loop);
}

static void take_turn(struct run *run)
{
    hf_loop_dispatch(run->loop, -1);
    if (run->has_signal)
        handle_signals(run);
    if (run->has_guard_news) {
        run->has_guard_news = false;
        look_at_command(run);
        listen_to_guard(run);
    }
    cli_hold_turn(&run->hold);
    if (run->is_due) {
        run->is_due = false;
        feed_number(run, CLI_EV_TIME, 0);
    }
}

/* ---- beginning and end ---- */

static int open_loop(struct run *run)
{
    struct hf_loop_options options = {.thread = false};
    hf_status rc = hf_loop_new(&run->loop, &options);

    if (rc < 0)
        return cli_fail("cannot make an event loop: %s", hf_status_text(rc));
    return CLI_GO_ON;
}

static int open_signals(struct run *run)
{
    hf_status rc;

    run->signal_io.fd = cli_signals_open();
    if (run->signal_io.fd < 0)
        return cli_fail("cannot watch for signals: %s", strerror(errno));
    hf_loop_lock(run->loop);
    rc = hf_loop_watch(run->loop, &run->signal_io);
    hf_loop_unlock(run->loop);
    if (rc < 0)
        return cli_fail("cannot watch for signals: %s", hf_status_text(rc));
    return CLI_GO_ON;
}

static int open_client(struct run *run, const struct cli_common *common)
{
    struct hf_client_options options;
    int rc;

    hf_client_options_init(&options);
    options.loop = run->loop;
    options.watchdog_ms = run->options->ttl_ms;
    options.connect_once = run->options->wait_ms == 0;
    run->is_in_call = true;
    rc = cli_client_open(&run->client, common, &options);
    run->is_in_call = false;
    if (rc != CLI_GO_ON)
        return rc;
    return cli_lock_open(&run->lock, run->client, run->options->name);
}

static int open_all(struct run *run, const struct cli_common *common)
{
    int rc = open_notice(run);

    if (rc == CLI_GO_ON)
        rc = open_loop(run);
    if (rc == CLI_GO_ON)
        rc = open_signals(run);
    if (rc == CLI_GO_ON)
        rc = open_client(run, common);
    if (rc != CLI_GO_ON)
        return rc;
    cli_hold_init(&run->hold, run->client, run->lock, &hold_events, run);
    cli_tell_init(&run->teller, run->options->status_fd, run->options->name,
                  run->hold.owner);
    cli_tty_open(&run->tty);
    run->child.kin.has_strangers = cli_kin_has_strangers();
    cli_kin_adopt(); /* should the guardian die */
    return CLI_GO_ON;
}

/* Takes one that was only half opened. */
static void close_all(struct run *run)
{
    close_end(run, 0);
    close_end(run, 1);
    cli_tty_close(&run->tty);
    cli_hold_fini(&run->hold);
    cli_tell_fini(&run->teller);
    hf_lock_free(run->lock);
    hf_client_free(run->client);
    if (run->loop) {
        unwatch_guard(run);
        hf_loop_lock(run->loop);
        hf_loop_disarm(run->loop, &run->timer);
        if (run->signal_io.fd >= 0)
            hf_loop_unwatch(run->loop, &run->signal_io);
        hf_loop_unlock(run->loop);
    }
    hf_loop_free(run->loop);
}

static void linger(struct run *run)
{
    run->is_in_call = true;
    (void)hf_client_close(run->client, run->state.is_hasty ? 0 : LINGER_MS,
                          NULL, NULL);
    run->is_in_call = false;
}

static int run_opened(struct run *run)
{
    struct cli_hold_ask ask = {.wait_ms = run->options->wait_ms,
                               .lease_ms = run->options->lease_ms};
    hf_status rc;

    run->asked_ms = hf_clock_ms();
    rc = cli_hold_ask(&run->hold, &ask);
    if (rc < 0)
        return cli_fail("cannot ask for the lock: %s", hf_status_text(rc));
    while (run->state.state != CLI_DONE)
        take_turn(run);
    linger(run);
    return run->state.code;
}

static int main_run(struct cli_args *args, struct cli_common *common)
{
    struct cli_run_options options;
    struct cli_run_rules rules;
    struct run run = {.options = &options,
                      .signal_io = {.fd = -1,
                                    .events = HF_READ,
                                    .ready = on_signal},
                      .timer = {.fire = on_time},
                      .child = {.fd = -1},
                      .guard_io = {.fd = -1},
                      .tty = {.fd = -1},
                      .teller = {.status = {.fd = -1, .own_fd = -1}},
                      .notice = {-1, -1}};
    int rc = cli_run_options_parse(&options, args, common);

    if (rc != CLI_GO_ON)
        return rc;
    if ((rc = cli_common_begin(common)) != CLI_GO_ON)
        return rc;
    cli_report_never_wait();
    if (common->is_json && options.status_fd < 0)
        options.status_fd = STDERR_FILENO;
    rules = cli_run_rules_of(&options);
    cli_run_init(&run.state, &rules);
    rc = open_all(&run, common);
    if (rc == CLI_GO_ON)
        rc = run_opened(&run);
    close_all(&run);
    cli_report_end(LINGER_MS);
    if (run.state.die_of != 0)
        cli_signals_die(run.state.die_of, run.state.is_for_all);
    return rc;
}

const struct cli_command cli_run_command = {
    .name = "run",
    .summary = "take a lock, run a command, release the lock",
    .help = cli_run_help,
    .main = main_run,
};
