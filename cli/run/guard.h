/* The guardian: a process between holdfast and the command, and the parent of the command. It
 * adopts the processes that the command leaves, reports to holdfast when they have ended, and
 * signals or kills them when holdfast requests it. If holdfast dies, the guardian kills them all;
 * if the guardian dies, holdfast does. So no single death leaves a process of the command
 * running. The guardian has its own deadline, the safe moment of the lock, because a holdfast
 * that is stopped cannot kill the command in time. */
#ifndef CLI_RUN_GUARD_H
#define CLI_RUN_GUARD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The messages between holdfast and the guardian. */
enum cli_guard_message_kind {
    /* holdfast says */
    GUARD_SIGNAL,               /* number: to the command's group */
    GUARD_DRAIN,                /* number: all_sessions (process_tree.h). Say EMPTY */
    GUARD_KILL,                 /* number: all_sessions. Also kills later processes */
    GUARD_LEAVE,                /* the rest may live on; exit */
    GUARD_DEADLINE,             /* ms: kill all at that time of hf_clock_ms, if
                                   no other time comes before; HF_NEVER: do not */
    /* the guardian says */
    GUARD_STARTED,              /* number: the command's pid and group */
    GUARD_FAILED,               /* number: errno of fork */
    GUARD_STOPPED,              /* number: the signal */
    GUARD_REFUSED,              /* number: errno of kill, of a SIGNAL or KILL */
    GUARD_ENDED,                /* number: si_status; code: si_code; error:
                                   exec's errno or 0 */
    GUARD_OVERDUE,              /* the deadline has passed: all is killed */
    GUARD_EMPTY                 /* once after each DRAIN */
};
struct cli_guard_message {
    enum cli_guard_message_kind kind;
    int number;
    int code;
    int error;
    int64_t deadline_ms;
};

/* cli_guardian_run - runs the guardian, in a new process, with all signals blocked.
 *
 *   fd     the socket to holdfast
 *   start  forks the command. Returns its pid, or -1 and errno; *command_fd is a socket to it.
 *          The command executes after it has received a byte there, and never after the end of
 *          the stream; the errno of exec is sent back.
 *   deadline_ms  as GUARD_DEADLINE, until the first one arrives
 *   clean_up  removes files that holdfast leaves if it was killed. It does not wait for the
 *          command, which may be a process that cannot end */
_Noreturn void cli_guardian_run(int fd,
                                pid_t (*start)(const void *ctx, int *command_fd),
                                void (*clean_up)(const void *ctx), const void *ctx,
                                int64_t deadline_ms);

#endif
