/* What `holdfast run` does next.
 *
 *   WAITING ----acquired----> RUNNING ------ended by itself-------+
 *    |  |                      |   |                              |
 *    |  +-refused-> DONE       |   +-ended after a signal --+     |
 *    |                         |                            |     |
 *    |      lost, short, max hold, TERM                     |     |
 *    |                         v                            v     v
 *    |                     STOPPING ---ended--> DRAINING --empty-> RELEASING
 *    |                                                            ^   |
 *  signal                                                         |   |
 *    |                                                            |   v
 *    +-> CANCELLING -------acquired nevertheless------------------+ released:
 *         +-refused, signal again, overdue-> DONE     signal, overdue-> DONE
 *
 * KEEPING comes before RELEASING while at_least has not passed. It ends with that time, with a
 * signal that ends programs, or when the lock is lost.
 *
 * Rules:
 * RUN-1  The command starts after the lock is acquired, and the lock is released after the
 *        command has ended: always its first process, and also all its other processes (DRAINING)
 *        if it did not end by itself.
 * RUN-2  With on_lost = stop, all processes are killed no later than at the safe moment, and no
 *        later than grace_after_loss_ms after the loss is detected.
 * RUN-3  Before any other decision, the clock is compared with the safe moment, because this
 *        process may have been stopped or suspended for long. Each event has its delay, so that
 *        the reason of a loss does not depend on which event comes first after a stop.
 * RUN-4  A command that ended by itself before the safe moment keeps its code.
 * RUN-5  Short: the stop signal is sent grace_after_loss_ms before the safe moment, if no renewal
 *        has moved it by then. A stop signal is not withdrawn.
 * RUN-6  max_hold: the command is stopped, but the lock is renewed until it has ended (RUN-1);
 *        also after TERM was sent. It is killed kill_after_ms later.
 * RUN-7  A signal that ended the wait, or ended the command after it was forwarded, also ends
 *        this process, so that Ctrl-C ends a shell's loop. If the terminal sent the signal only
 *        to the command, it is passed on to our own group.
 * RUN-8  Processes with a session of their own (daemons) continue, unless the lock is lost, the
 *        guardian has died, or the command was killed by a signal that was not forwarded: then
 *        every process that it has started is killed.
 * RUN-9  The reply to a release is awaited until the lease has ended on the server; later it has
 *        no effect. A signal that ends programs ends that wait at once.
 * RUN-10 A signal that ends programs ends this process within CLI_SIGNALS_PROMPT_MS, except while
 *        a command runs that has not been killed. If a request has no reply by then, the lock
 *        expires with its TTL. After a command that TERM, INT or QUIT ended, or a signal in
 *        KEEPING, the release has CLI_RUN_STOPPED_RELEASE_MS: a service that is stopped must
 *        not leave its lock locked only because the server is far away or busy for a moment.
 * RUN-11 After a switch of masters a hold is safe for 0 ms until the new master replies. This is
 *        not a loss, and the command continues. */
/* Tests: tests/test_cli_run_state.c. */
#include "cli/run/state.h"

#include <assert.h>
#include <signal.h>

#include "cli/base/command.h"
#include "cli/base/signals.h"

bool cli_run_has_command(const struct cli_run *r)
{
    return r->state == CLI_RUN_RUNNING || r->state == CLI_RUN_STOPPING ||
           r->state == CLI_RUN_DRAINING;
}

static bool run_ok(const struct cli_run *r)
{
    return (cli_run_has_command(r) || r->state >= CLI_RUN_RELEASING ||
            r->kill_due_ms == HF_NEVER) &&
           (!r->was_max_hold_reached || r->state >= CLI_RUN_STOPPING) &&
           r->rules.grace_after_loss_ms <= r->rules.kill_after_ms;
}

void cli_run_init(struct cli_run *r, const struct cli_run_rules *rules)
{
    *r = (struct cli_run){.rules = *rules,
                          .state = CLI_RUN_WAITING,
                          .safe_until_ms = HF_NEVER,
                          .hold_until_ms = HF_NEVER,
                          .release_until_ms = HF_NEVER,
                          .leave_by_ms = HF_NEVER,
                          .kill_due_ms = HF_NEVER};
    cli_stops_init(&r->stops);
}

static unsigned enter_state(struct cli_run *r, enum cli_run_state state, unsigned todo)
{
    r->state = state;
    return todo;
}

static unsigned finish_run(struct cli_run *r, int code)
{
    r->exit_code = code;
    if (code != CLI_EXIT_SIGNAL + r->end_by_signal)
        r->end_by_signal = 0;
    return enter_state(r, CLI_RUN_DONE, CLI_DO_FINISH);
}

static int64_t add_ms(int64_t from_ms, int64_t span_ms)
{
    return span_ms < HF_NEVER - from_ms ? from_ms + span_ms : HF_NEVER;
}

static int64_t earlier_ms(int64_t a_ms, int64_t b_ms)
{
    return a_ms < b_ms ? a_ms : b_ms;
}

/* RUN-10 */
static void set_deadline_after_signal(struct cli_run *r, int signal)
{
    r->leave_by_ms = earlier_ms(r->leave_by_ms, add_ms(r->now_ms, CLI_SIGNALS_PROMPT_MS));
    if (r->leave_signal == 0)
        r->leave_signal = signal;
}

/* ---- stopping the command ---- */

static unsigned kill_if_due(struct cli_run *r)
{
    if (r->now_ms < r->kill_due_ms)
        return 0;
    r->kill_due_ms = HF_NEVER;
    r->is_killed = true;
    return CLI_DO_KILL;
}

static unsigned stop_command(struct cli_run *r, int64_t kill_ms)
{
    unsigned todo = 0;

    if (r->state == CLI_RUN_RUNNING)
        todo = enter_state(r, CLI_RUN_STOPPING, CLI_DO_STOP);
    if (!r->is_killed)
        r->kill_due_ms = earlier_ms(r->kill_due_ms, kill_ms);
    return todo | kill_if_due(r);
}

/* Keeps the first reason. */
static unsigned begin_loss(struct cli_run *r, enum hf_lost reason, int64_t kill_ms)
{
    unsigned todo = r->is_lost ? 0 : CLI_DO_REPORT_LOST;

    if (!r->is_lost)
        r->loss_reason = reason;
    r->is_lost = true;
    if (r->rules.on_lost != CLI_ON_LOST_STOP_COMMAND)
        return todo;
    r->all_sessions = true;
    return todo | stop_command(r, kill_ms);
}

/* If we see the safe moment well after it came, we slept through it. */
#define SUSPENDED_AFTER_MS 200

static bool was_suspended(const struct cli_run *r)
{
    if (r->safe_until_ms != HF_NEVER && r->now_ms - r->safe_until_ms > SUSPENDED_AFTER_MS)
        return true;
    return cli_stops_matter(&r->stops,
                            !r->rules.has_lease && r->state != CLI_RUN_WAITING);
}

static enum hf_lost reason_of_overdue_loss(const struct cli_run *r)
{
    if (was_suspended(r))
        return HF_REASON_SUSPENDED;
    return r->rules.has_lease ? HF_REASON_LEASE_ENDED : HF_REASON_UNREACHABLE;
}

/* Deleted or taken: it is too late already, so the command may tidy up until
 * the safe moment. In all other cases the safe moment is now (RUN-2). */
static unsigned handle_loss(struct cli_run *r, enum hf_lost reason)
{
    int64_t kill_ms = r->now_ms;

    if ((reason == HF_REASON_UNREACHABLE || reason == HF_REASON_LEASE_ENDED) &&
        was_suspended(r))
        reason = HF_REASON_SUSPENDED;
    if (reason == HF_REASON_DELETED || reason == HF_REASON_TAKEN)
        kill_ms = earlier_ms(add_ms(r->now_ms, r->rules.grace_after_loss_ms), r->safe_until_ms);
    return begin_loss(r, reason, kill_ms);
}

/* The guardian has killed the command. If the safe moment is later now, a renewal
 * was answered that we could not report to the guardian, as we did not run. */
static unsigned handle_overdue_kill(struct cli_run *r)
{
    unsigned todo = 0;

    if (!r->is_lost)
        todo = begin_loss(r, r->now_ms < r->safe_until_ms ? HF_REASON_SUSPENDED
                                                    : reason_of_overdue_loss(r), r->now_ms);
    r->is_killed = true;
    r->kill_due_ms = HF_NEVER;
    return todo;
}

static unsigned reach_max_hold(struct cli_run *r)
{
    r->was_max_hold_reached = true;
    r->hold_until_ms = HF_NEVER;
    return CLI_DO_REPORT_MAX_HOLD |
           stop_command(r, add_ms(r->now_ms, r->rules.kill_after_ms));
}

/* ---- time ---- */

/* When the stop signal is due because no renewal came (RUN-5). */
static int64_t stop_due_ms(const struct cli_run *r)
{
    if (r->rules.on_lost != CLI_ON_LOST_STOP_COMMAND || r->safe_until_ms == HF_NEVER)
        return r->safe_until_ms;
    return r->safe_until_ms - r->rules.grace_after_loss_ms;
}

static unsigned check_running_command(struct cli_run *r)
{
    if (!r->is_lost && r->now_ms >= stop_due_ms(r))
        return begin_loss(r, reason_of_overdue_loss(r), r->safe_until_ms);
    if (r->now_ms >= r->hold_until_ms)
        return reach_max_hold(r);
    return 0;
}

/* RUN-3. If the command ends when the clock does, it has ended by itself
 * (RUN-4), so that only the safe moment counts. */
static unsigned check_times_first(struct cli_run *r, enum cli_run_event_kind kind)
{
    if (!cli_run_has_command(r))
        return 0;
    if (!r->is_lost && r->now_ms >= r->safe_until_ms)
        return begin_loss(r, reason_of_overdue_loss(r), r->now_ms);
    if (r->state == CLI_RUN_RUNNING && kind != CLI_EV_ENDED &&
        kind != CLI_EV_LOST)
        return check_running_command(r);
    return kill_if_due(r);
}

int64_t cli_run_next_ms(const struct cli_run *r)
{
    int64_t next = r->kill_due_ms;

    if (r->state == CLI_RUN_KEEPING)
        return r->keep_until_ms;
    if (r->state == CLI_RUN_RELEASING)
        return r->release_until_ms;
    if (r->state == CLI_RUN_CANCELLING)
        return r->leave_by_ms;
    if (!cli_run_has_command(r))
        return HF_NEVER;
    next = earlier_ms(next, r->leave_by_ms);
    if (r->state == CLI_RUN_RUNNING)
        next = earlier_ms(next, r->hold_until_ms);
    if (r->is_lost)
        return next;
    return earlier_ms(next,
                      r->state == CLI_RUN_RUNNING ? stop_due_ms(r) : r->safe_until_ms);
}

/* The same moment, computed twice, may differ by a millisecond. */
#define RENEWED_MS 2

/* RUN-2, while we are stopped. */
int64_t cli_run_guardian_kill_ms(const struct cli_run *r)
{
    if (r->rules.on_lost != CLI_ON_LOST_STOP_COMMAND)
        return HF_NEVER;
    return r->is_lost ? earlier_ms(r->kill_due_ms, r->safe_until_ms) : r->safe_until_ms;
}

/* RUN-11 */
static bool is_new_master_silent(const struct cli_run *r, int64_t safe_ms)
{
    return safe_ms == 0 && r->safe_until_ms != HF_NEVER &&
           r->now_ms < r->safe_until_ms;
}

/* INT64_MIN: lost, and the LOST event follows. Keep what we knew. */
static void update_safe_moment(struct cli_run *r, int64_t safe_ms)
{
    int64_t until_ms;

    if (safe_ms == INT64_MIN || is_new_master_silent(r, safe_ms))
        return;
    until_ms = add_ms(r->now_ms, safe_ms);
    if (r->state == CLI_RUN_WAITING || until_ms - RENEWED_MS > r->safe_until_ms)
        cli_stops_renewed(&r->stops, until_ms == HF_NEVER ? 0 : safe_ms);
    r->safe_until_ms = until_ms;
}

static void update_times(struct cli_run *r, const struct cli_run_event *ev)
{
    r->now_ms = ev->now_ms;
    cli_stops_record(&r->stops, r->now_ms);
    update_safe_moment(r, ev->safe_ms);
}

/* ---- releasing ---- */

/* The server counts the lease a little longer than we do, and its answer takes a moment. */
#define LET_GO_MS 200

static unsigned begin_release(struct cli_run *r)
{
    int64_t until_ms =
        r->safe_until_ms > r->now_ms ? r->safe_until_ms : r->now_ms;

    r->release_until_ms = earlier_ms(add_ms(until_ms, LET_GO_MS), r->leave_by_ms);
    return enter_state(r, CLI_RUN_RELEASING, CLI_DO_RELEASE);
}

/* ---- events ---- */

/* The hold may be over already (a tiny lease, a long pause). Then nothing is started. */
static unsigned handle_acquired(struct cli_run *r)
{
    if (r->now_ms >= r->safe_until_ms) {
        r->exit_code = CLI_EXIT_LOST;
        return begin_loss(r, reason_of_overdue_loss(r), HF_NEVER) | begin_release(r);
    }
    r->has_run = true;
    r->keep_until_ms = add_ms(r->now_ms, r->rules.at_least_ms);
    if (r->rules.max_hold_ms > 0)
        r->hold_until_ms = add_ms(r->now_ms, r->rules.max_hold_ms);
    return enter_state(r, CLI_RUN_RUNNING, CLI_DO_START);
}

/* HF_LOST comes to a nested run whose outer run has lost the lock. */
static unsigned handle_refused(struct cli_run *r, int status)
{
    if (status == HF_TIMEOUT)
        return finish_run(r, r->rules.conflict_code);
    return finish_run(r, status == HF_LOST ? CLI_EXIT_LOST : CLI_EXIT_ERROR);
}

/* The other signals are for the command, which has not started. */
static unsigned handle_signal_while_waiting(struct cli_run *r, int signal)
{
    if (!cli_signals_ends_us(signal))
        return 0;
    r->exit_code = CLI_EXIT_SIGNAL + signal;
    r->end_by_signal = signal;
    set_deadline_after_signal(r, signal);
    return enter_state(r, CLI_RUN_CANCELLING, CLI_DO_CANCEL);
}

static unsigned stop_waiting_for_cancel_if_due(struct cli_run *r)
{
    r->skips_waiting = r->skips_waiting || r->now_ms >= r->leave_by_ms;
    return r->skips_waiting ? finish_run(r, r->exit_code) : 0;
}

static unsigned handle_second_signal(struct cli_run *r, int signal)
{
    if (!cli_signals_ends_us(signal))
        return 0;
    r->skips_waiting = true;
    return finish_run(r, r->exit_code);
}

#define BIT(signal) (UINT64_C(1) << (signal))

/* Only TERM requests every program to end: HUP may mean "read your files again", and a
 * program may prompt its user after INT or QUIT (RUN-6). */
static unsigned forward_signal(struct cli_run *r, int signal)
{
    r->was_told_to_end |= cli_signals_ends_us(signal);
    if (cli_signals_is_end_signal(signal))
        r->forwarded_signals |= BIT(signal);
    if (cli_signals_ends_us(signal) && r->is_killed)
        set_deadline_after_signal(r, signal);
    if (signal != SIGTERM || r->state == CLI_RUN_DRAINING)
        return CLI_DO_FORWARD;
    return enter_state(r, CLI_RUN_STOPPING, CLI_DO_FORWARD) |
           stop_command(r, add_ms(r->now_ms, r->rules.kill_after_ms));
}

/* The command has ended: this is for us alone. */
static bool record_late_signal(struct cli_run *r, int signal)
{
    bool ends = cli_signals_ends_us(signal);

    if (ends && r->late_signal == 0)
        r->late_signal = signal;
    if (ends && r->state == CLI_RUN_KEEPING) /* RUN-10 */
        r->leave_by_ms = add_ms(r->now_ms, CLI_RUN_STOPPED_RELEASE_MS);
    else if (ends)
        set_deadline_after_signal(r, signal);
    return ends;
}

/* A signal that we forwarded ended the command. */
static bool was_forwarded(const struct cli_run *r, const struct cli_run_event *ev)
{
    return ev->ended_by_signal && (r->forwarded_signals & BIT(ev->number - CLI_EXIT_SIGNAL));
}

/* RUN-7 */
static void choose_end_signal(struct cli_run *r, const struct cli_run_event *ev)
{
    int signal = ev->number - CLI_EXIT_SIGNAL;

    if (!ev->ended_by_signal)
        return;
    r->must_group_end = ev->had_terminal && (signal == SIGINT || signal == SIGQUIT);
    if (r->must_group_end || was_forwarded(r, ev))
        r->end_by_signal = signal;
}

/* Keeps the lock until at_least has passed; not after a signal that ends programs, and
 * not in a nested run, whose outer run keeps it. */
static bool must_keep_lock(const struct cli_run *r)
{
    return r->now_ms < r->keep_until_ms && !r->was_told_to_end && r->end_by_signal == 0 &&
           !r->is_lost && !r->was_max_hold_reached && r->safe_until_ms != HF_NEVER;
}

/* Returns the signal that must end the command, or 0. HUP may have another meaning. */
static int final_signal(const struct cli_run *r)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGQUIT};

    for (size_t i = 0; r->end_by_signal == 0 && i < 3; i++)
        if (r->forwarded_signals & BIT(signals[i]))
            return signals[i];
    return r->end_by_signal;
}

static unsigned release_lock(struct cli_run *r)
{
    r->kill_due_ms = HF_NEVER;
    if (final_signal(r) != 0)
        r->leave_by_ms = earlier_ms(r->leave_by_ms, add_ms(r->now_ms, CLI_RUN_STOPPED_RELEASE_MS));
    if (must_keep_lock(r))
        return enter_state(r, CLI_RUN_KEEPING, CLI_DO_KEEP);
    return begin_release(r);
}

static unsigned handle_command_ended(struct cli_run *r, const struct cli_run_event *ev)
{
    bool by_itself = r->state == CLI_RUN_RUNNING && !r->was_told_to_end && !ev->ended_by_signal;

    r->exit_code = ev->number;
    choose_end_signal(r, ev);
    r->was_safe_at_command_end = !r->is_lost && r->now_ms < r->safe_until_ms;
    if (by_itself)
        return release_lock(r);
    r->all_sessions |= r->state == CLI_RUN_RUNNING && !r->was_told_to_end && !was_forwarded(r, ev);
    if (!r->is_killed)
        r->kill_due_ms = earlier_ms(r->kill_due_ms,
                                    add_ms(r->now_ms, r->rules.kill_after_ms));
    return enter_state(r, CLI_RUN_DRAINING, CLI_DO_DRAIN);
}

/* The command died with its guardian. Kill what it had started (RUN-8). */
static unsigned handle_guardian_death(struct cli_run *r)
{
    r->is_killed = r->all_sessions = true;
    r->kill_due_ms = HF_NEVER;
    if (r->state == CLI_RUN_DRAINING)
        return CLI_DO_DRAIN | CLI_DO_KILL;
    r->exit_code = CLI_EXIT_SIGNAL + SIGKILL;
    r->was_safe_at_command_end = !r->is_lost && r->now_ms < r->safe_until_ms;
    return enter_state(r, CLI_RUN_DRAINING, CLI_DO_DRAIN | CLI_DO_KILL);
}

/* RUN-10. Not released: the rest of the command may run for a moment (RUN-1). */
static unsigned abandon_command(struct cli_run *r)
{
    bool tells_loss = r->is_lost && r->rules.on_lost != CLI_ON_LOST_IGNORE;

    r->skips_waiting = true;
    r->end_by_signal = r->leave_signal;
    return CLI_DO_REPORT_ABANDONED |
           finish_run(r, tells_loss ? CLI_EXIT_LOST : CLI_EXIT_SIGNAL + r->leave_signal);
}

static unsigned abandon_if_due(struct cli_run *r)
{
    return r->now_ms >= r->leave_by_ms ? abandon_command(r) : 0;
}

static unsigned release_if_kept_long_enough(struct cli_run *r)
{
    return r->now_ms >= r->keep_until_ms ? begin_release(r) : 0;
}

static unsigned handle_released(struct cli_run *r, int status)
{
    bool is_gone = r->is_lost || (status < 0 && !r->was_safe_at_command_end);

    if (!r->has_run)
        return finish_run(r, r->exit_code);
    if (is_gone && r->rules.on_lost != CLI_ON_LOST_IGNORE)
        return finish_run(r, CLI_EXIT_LOST);
    return finish_run(r, r->was_max_hold_reached ? CLI_EXIT_MAX_HOLD : r->exit_code);
}

/* RUN-9. Without a reply, only our clock shows whether the hold lasted. */
static unsigned stop_waiting_for_release(struct cli_run *r)
{
    r->skips_waiting = true;
    r->was_release_wait_cut = r->late_signal != 0;
    r->release_until_ms = HF_NEVER;
    return CLI_DO_REPORT_UNRELEASED | handle_released(r, HF_E_NOREPLY);
}

static unsigned stop_waiting_for_release_if_due(struct cli_run *r)
{
    return r->now_ms >= r->release_until_ms ? stop_waiting_for_release(r) : 0;
}

#define KINDS (CLI_EV_RELEASED + 1)
#define EDGE(state, kind) ((int)(state) * KINDS + (int)(kind))

static unsigned run_transition(struct cli_run *r, const struct cli_run_event *ev)
{
    switch (EDGE(r->state, ev->kind)) {
    case EDGE(CLI_RUN_WAITING, CLI_EV_ACQUIRED):
        return handle_acquired(r);
    case EDGE(CLI_RUN_WAITING, CLI_EV_REFUSED):
        return handle_refused(r, ev->number);
    case EDGE(CLI_RUN_WAITING, CLI_EV_SIGNAL):
        return handle_signal_while_waiting(r, ev->number);

    case EDGE(CLI_RUN_CANCELLING, CLI_EV_ACQUIRED):
        return begin_release(r);
    case EDGE(CLI_RUN_CANCELLING, CLI_EV_REFUSED):
        return finish_run(r, r->exit_code);
    case EDGE(CLI_RUN_CANCELLING, CLI_EV_SIGNAL):
        return handle_second_signal(r, ev->number);
    case EDGE(CLI_RUN_CANCELLING, CLI_EV_TIME):
        return stop_waiting_for_cancel_if_due(r);

    case EDGE(CLI_RUN_RUNNING, CLI_EV_SIGNAL):
    case EDGE(CLI_RUN_STOPPING, CLI_EV_SIGNAL):
    case EDGE(CLI_RUN_DRAINING, CLI_EV_SIGNAL):
        return forward_signal(r, ev->number);
    case EDGE(CLI_RUN_RUNNING, CLI_EV_STOPPED):
        return CLI_DO_SUSPEND;
    case EDGE(CLI_RUN_RUNNING, CLI_EV_LOST):
    case EDGE(CLI_RUN_STOPPING, CLI_EV_LOST):
    case EDGE(CLI_RUN_DRAINING, CLI_EV_LOST):
        return handle_loss(r, (enum hf_lost)ev->number);
    case EDGE(CLI_RUN_RUNNING, CLI_EV_OVERDUE):
    case EDGE(CLI_RUN_STOPPING, CLI_EV_OVERDUE):
    case EDGE(CLI_RUN_DRAINING, CLI_EV_OVERDUE):
        return handle_overdue_kill(r);
    case EDGE(CLI_RUN_RUNNING, CLI_EV_ENDED):
    case EDGE(CLI_RUN_STOPPING, CLI_EV_ENDED):
        return handle_command_ended(r, ev);
    case EDGE(CLI_RUN_RUNNING, CLI_EV_UNGUARDED):
    case EDGE(CLI_RUN_STOPPING, CLI_EV_UNGUARDED):
    case EDGE(CLI_RUN_DRAINING, CLI_EV_UNGUARDED):
        return handle_guardian_death(r);
    case EDGE(CLI_RUN_DRAINING, CLI_EV_EMPTY):
        return release_lock(r);
    case EDGE(CLI_RUN_STOPPING, CLI_EV_TIME):
    case EDGE(CLI_RUN_DRAINING, CLI_EV_TIME):
        return abandon_if_due(r);

    case EDGE(CLI_RUN_KEEPING, CLI_EV_SIGNAL):
        return record_late_signal(r, ev->number) ? begin_release(r) : 0;
    case EDGE(CLI_RUN_KEEPING, CLI_EV_LOST): /* RUN-4: keep its code */
        return begin_release(r);
    case EDGE(CLI_RUN_KEEPING, CLI_EV_TIME):
        return release_if_kept_long_enough(r);

    case EDGE(CLI_RUN_RELEASING, CLI_EV_RELEASED):
        return handle_released(r, ev->number);
    case EDGE(CLI_RUN_RELEASING, CLI_EV_SIGNAL):
        return record_late_signal(r, ev->number) ? stop_waiting_for_release(r) : 0;
    case EDGE(CLI_RUN_RELEASING, CLI_EV_TIME):
        return stop_waiting_for_release_if_due(r);

    case EDGE(CLI_RUN_DONE, CLI_EV_SIGNAL):
        (void)record_late_signal(r, ev->number);
        return 0;
    default: /* late events, and TIME, which was handled */
        return 0;
    }
}

unsigned cli_run_step(struct cli_run *r, const struct cli_run_event *ev)
{
    unsigned todo;

    assert(run_ok(r));
    update_times(r, ev);
    todo = check_times_first(r, ev->kind);
    todo |= run_transition(r, ev);
    cli_stops_set_next(&r->stops, cli_run_next_ms(r));
    assert(run_ok(r));
    return todo;
}

void cli_run_set_next_wake(struct cli_run *r, int64_t ms)
{
    r->stops.next_check_ms = ms;
    cli_stops_set_next(&r->stops, cli_run_next_ms(r));
}
