/* Decides what `holdfast run` does next. A plain computation: it receives events and the time,
 * and returns actions. The diagram and the rules are in state.c. */
#ifndef CLI_RUN_STATE_H
#define CLI_RUN_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/run/stops.h"
#include "lock/lock.h"

enum cli_on_lost { CLI_ON_LOST_STOP_COMMAND, CLI_ON_LOST_WARN, CLI_ON_LOST_IGNORE };

/* Set once, before the first event. */
struct cli_run_rules {
    enum cli_on_lost on_lost;
    int64_t kill_after_ms;       /* from the stop signal to KILL */
    int64_t grace_after_loss_ms; /* the same when the hold is lost: no more than the lease allows */
    int64_t max_hold_ms;         /* 0: no limit */
    int64_t at_least_ms;         /* at_least: the lock is held for this time, even if the command
                                    has ended */
    int conflict_code;           /* exit code when not acquired */
    bool has_lease;              /* never renewed */
};

/* How long a release may take after a signal stopped the command (RUN-10). */
#define CLI_RUN_STOPPED_RELEASE_MS 2000

enum cli_run_state {
    CLI_RUN_WAITING,
    CLI_RUN_CANCELLING,
    CLI_RUN_RUNNING,
    CLI_RUN_STOPPING,
    CLI_RUN_DRAINING,
    CLI_RUN_KEEPING,
    CLI_RUN_RELEASING,
    CLI_RUN_DONE
};

enum cli_run_event_kind {
    CLI_EV_ACQUIRED,
    CLI_EV_REFUSED,             /* number: hf_status */
    CLI_EV_SIGNAL,              /* number: the signal that we got */
    CLI_EV_STOPPED,             /* the first process was stopped (SIGTSTP..) */
    CLI_EV_ENDED,               /* number: its exit code, or 128 + signal */
    CLI_EV_EMPTY,               /* no process of the command is left */
    CLI_EV_UNGUARDED,           /* the guardian is dead */
    CLI_EV_OVERDUE,             /* the guardian's deadline has passed, and it has
                                   killed the command */
    CLI_EV_RENEWED,
    CLI_EV_LOST,                /* number: enum hf_lost */
    CLI_EV_TIME,                /* cli_run_next_ms has come */
    CLI_EV_RELEASED             /* number: hf_status */
};

struct cli_run_event {
    enum cli_run_event_kind kind;
    int number;
    bool ended_by_signal;       /* ENDED: a signal did it */
    bool had_terminal;          /* ENDED: it was the terminal's foreground, so that Ctrl-C reached
                                   it alone */
    int64_t now_ms;
    int64_t safe_ms;            /* hf_lock_safe_ms, read together with now_ms */
};

/* Actions, as a set. They are executed in this order. */
enum cli_run_todo {
    CLI_DO_DRAIN = 1 << 0,      /* say EMPTY when no process is left */
    CLI_DO_KILL = 1 << 1,       /* all that is left of the command, and what
                                   appears later */
    CLI_DO_STOP = 1 << 2,       /* its group, with the stop signal */
    CLI_DO_FORWARD = 1 << 3,    /* the signal of this event, to its group */
    CLI_DO_REPORT_LOST = 1 << 4,
    CLI_DO_REPORT_MAX_HOLD = 1 << 5,
    CLI_DO_SUSPEND = 1 << 6,    /* stop ourselves, if a shell can continue us */
    CLI_DO_CANCEL = 1 << 7,     /* the acquire */
    CLI_DO_START = 1 << 8,      /* the command */
    CLI_DO_RELEASE = 1 << 9,
    CLI_DO_FINISH = 1 << 10,    /* leave with `exit_code` */
    CLI_DO_KEEP = 1 << 11,      /* release the lock; the command has ended */
    CLI_DO_REPORT_UNRELEASED = 1 << 12, /* no answer came, and we wait no longer */
    CLI_DO_REPORT_ABANDONED = 1 << 13 /* killed processes have not ended; the guardian
                                       continues to kill them */
};

struct cli_run {
    struct cli_run_rules rules;
    enum cli_run_state state;
    int exit_code;                /* DONE: the exit code. Before: what it will be if nothing
                                     happens */
    int64_t now_ms;
    int64_t safe_until_ms;        /* HF_NEVER: for ever (a nested run) */
    int64_t keep_until_ms;        /* the end of at_least */
    int64_t hold_until_ms;        /* the end of max_hold; HF_NEVER: none */
    int64_t release_until_ms;     /* when its answer cannot matter any more */
    int64_t leave_by_ms;          /* after a signal: when we leave, whatever was answered by then;
                                     HF_NEVER: no signal came */
    int leave_signal;             /* that signal; 0: none */
    struct cli_stops stops;
    int64_t kill_due_ms;          /* when to KILL; HF_NEVER: not planned */
    enum hf_lost loss_reason;     /* if is_lost */
    bool has_run;                 /* the command was started */
    bool is_lost;
    bool was_max_hold_reached;    /* max_hold ended it */
    bool was_told_to_end;         /* a signal that ends us was forwarded */
    uint64_t forwarded_signals;   /* which: a bit each */
    int late_signal;              /* the first one that ends programs and came when the command had
                                     ended; 0: none */
    bool was_release_wait_cut;    /* a late signal ended the wait for the release */
    int end_by_signal;            /* DONE: if not 0, end by this signal instead of with
                                     `exit_code` */
    bool must_group_end;          /* and so shall our process group */
    bool is_killed;
    bool all_sessions;            /* other sessions also count (process_tree.h) */
    bool was_safe_at_command_end; /* the hold was safe when the command ended */
    bool skips_waiting;           /* DONE: hardly wait for requests */
};

void cli_run_init(struct cli_run *r, const struct cli_run_rules *rules);

/* cli_run_has_command - returns whether a command runs or is being ended.
 * cli_run_step    - processes one event. Returns a set of cli_run_todo.
 * cli_run_guardian_kill_ms - returns when the guardian must kill the command if it receives no
 *                   further message; HF_NEVER: it must not.
 * cli_run_set_next_wake    - sets the next time at which the caller will be awake, which shows how
 *                   long this process was stopped; HF_NEVER: there is none. Call it after a step.
 * cli_run_next_ms - returns when the next CLI_EV_TIME is needed; HF_NEVER: none is needed. */
bool cli_run_has_command(const struct cli_run *r);
unsigned cli_run_step(struct cli_run *r, const struct cli_run_event *ev);
void cli_run_set_next_wake(struct cli_run *r, int64_t ms);
int64_t cli_run_guardian_kill_ms(const struct cli_run *r);
int64_t cli_run_next_ms(const struct cli_run *r);

#endif
