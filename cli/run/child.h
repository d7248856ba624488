/* The command as a process: it is started, signalled and reaped by its guardian
 * (guard.h). */
#ifndef CLI_RUN_CHILD_H
#define CLI_RUN_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/run/notify.h"
#include "cli/run/process_tree.h"
#include "cli/run/tty.h"

struct cli_child {
    pid_t pid;                  /* also its process group; 0: none */
    int guardian_fd;            /* the guardian's socket, readable when there is news; -1: there is
                                   no guardian any more */
    pid_t guardian_pid;
    struct cli_process_tree tree;   /* ours if the guardian is dead */
    bool is_unguarded;          /* the guardian is dead */
    bool must_report_empty;
    int64_t deadline_ms;        /* the guardian's */
};

struct cli_child_plan {
    char *const *argv;
    char **env;
    int kept_fd;                /* stays open in the command; -1: none */
    struct cli_tty *tty;
    const struct cli_notify *notify;
    int64_t deadline_ms;        /* as cli_child_set_deadline */
};

/* cli_child_start - forks. Returns 0 or errno: ECANCELED if the guardian was killed, EINTR if a
 *                   signal that ends programs came first; then nothing was executed. The event
 *                   ENDED shows whether the program could be executed.
 * cli_child_signal - sends a signal to the whole group; TERM also continues stopped processes.
 * cli_child_drain - requests the event EMPTY. `all` as in process_tree.h.
 * cli_child_kill  - kills all remaining processes, and those that appear later.
 * cli_child_set_deadline - sets the time at which the guardian kills all processes by itself,
 *                   also while this process is stopped; HF_NEVER: it does not.
 * cli_child_leave - lets the remaining processes continue. Also if none was started. */
int cli_child_start(struct cli_child *child, const struct cli_child_plan *plan);
void cli_child_signal(const struct cli_child *child, int signal);
void cli_child_drain(struct cli_child *child, bool all);
void cli_child_kill(struct cli_child *child, bool all);
void cli_child_set_deadline(struct cli_child *child, int64_t ms);
void cli_child_leave(struct cli_child *child);

/* cli_child_next_news - returns what has happened to the command. Call it until it returns
 * NONE, when `guardian_fd` is readable and after each SIGCHLD. */
enum cli_child_news {
    CLI_CHILD_NONE,
    CLI_CHILD_STOPPED,
    CLI_CHILD_REFUSED,          /* we may not signal it; number: errno */
    CLI_CHILD_OVERDUE,          /* the deadline has passed: all is killed */
    CLI_CHILD_ENDED,            /* its first process has ended */
    CLI_CHILD_EMPTY,            /* all have ended; after cli_child_drain */
    CLI_CHILD_UNGUARDED         /* the guardian is dead, and the command with
                                   it; drain and kill the rest */
};
struct cli_child_report {
    enum cli_child_news news;
    int number;                 /* STOPPED: the signal; ENDED: its code, or 128 + signal */
    bool ended_by_signal;       /* ENDED: a signal did it */
    int exec_error;             /* ENDED: errno, if it could not be executed */
};
struct cli_child_report cli_child_next_news(struct cli_child *child);

#endif
