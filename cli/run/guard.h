/* The guardian: a process between holdfast and the command, and the command's
 * parent. It adopts the processes that the command leaves behind, tells
 * holdfast when they have ended, and signals or kills them when holdfast says
 * so. If holdfast dies, the guardian kills them all; if the guardian dies,
 * holdfast does. So no single death leaves a process of the command at work. */
#ifndef CLI_RUN_GUARD_H
#define CLI_RUN_GUARD_H

#include <stdbool.h>
#include <sys/types.h>

/* The messages between holdfast and the guardian. */
enum cli_guard_word {
    /* holdfast says */
    GUARD_SIGNAL,               /* number: to the command's group */
    GUARD_DRAIN,                /* number: is_all (process_tree.h). Say EMPTY */
    GUARD_KILL,                 /* number: is_all. Kill later ones, too */
    GUARD_LEAVE,                /* the rest may live on; exit */
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

/* cli_guard - the guardian, in a new process, with all signals blocked.
 *
 *   fd     the socket to holdfast
 *   start  forks the command. Returns its pid, or -1 and errno; *command_fd is
 *          a socket to it. The command executes after it has received a byte
 *          there, and not at all after the end; exec's errno comes back. */
_Noreturn void cli_guard(int fd,
                         pid_t (*start)(const void *ctx, int *command_fd),
                         const void *ctx);

#endif
