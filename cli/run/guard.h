/* The guardian: a process between holdfast and the command. It is the command's
 * parent. It adopts the processes that the command leaves behind, tells holdfast
 * when they have ended, and signals or kills them when holdfast says so. When
 * holdfast dies, for any reason, the guardian kills them all; when the guardian
 * dies, holdfast does. So no single death leaves a process of the command at
 * work. */
#ifndef CLI_RUN_GUARD_H
#define CLI_RUN_GUARD_H

#include <stdbool.h>
#include <sys/types.h>

/* What goes over their socket, each as a message of its own. */
enum cli_guard_word {
    /* holdfast says */
    GUARD_SIGNAL,               /* number: to the command's group */
    GUARD_DRAIN,                /* number: 1 for all (process_tree.h). Say EMPTY */
    GUARD_KILL,                 /* number: 1 for all. Those adopted later, too */
    GUARD_LEAVE,                /* the rest may live on; go */
    /* the guardian says */
    GUARD_STARTED,              /* number: the command's pid and group */
    GUARD_FAILED,               /* number: errno of fork */
    GUARD_STOPPED,              /* number: the signal */
    GUARD_REFUSED,              /* number: errno of kill, of a SIGNAL or KILL */
    GUARD_ENDED,                /* number: si_status; code: si_code; error:
                                   exec's errno or 0 */
    GUARD_EMPTY                 /* once after each DRAIN */
};
struct cli_guard_message {
    enum cli_guard_word word;
    int number;
    int code;
    int error;
};

/* The guardian's life, in a new process, with all signals blocked.
 *   fd     of the socket to holdfast
 *   start  forks the command; its pid, or -1 and errno. *command_fd: a socket to
 *          it. It executes after it has received a byte there, and not at all
 *          after the end; exec's errno comes back */
_Noreturn void cli_guard(int fd,
                         pid_t (*start)(const void *ctx, int *command_fd),
                         const void *ctx);

#endif
