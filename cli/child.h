/* The command as a process: how it is started, signalled and reaped. */
#ifndef CLI_CHILD_H
#define CLI_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

#include "cli/tty.h"

struct cli_child {
    pid_t pid;                  /* also its process group; 0: none */
    int error_fd;               /* where exec's errno comes from */
    bool is_reaped;             /* the first process is */
};

struct cli_child_plan {
    char *const *argv;
    char **env;
    int kept_fd;                /* -1, or given to the command all the same */
    struct cli_tty *tty;
};

/* cli_child_start - forks; 0 or errno. Whether the program could be executed
 *                   is known when it has ended: cli_child_exec_error.
 * cli_child_exec_error - 0, or exec's errno. Once.
 * cli_child_signal - to the whole group; TERM continues what is stopped. */
int cli_child_start(struct cli_child *child, const struct cli_child_plan *plan);
int cli_child_exec_error(struct cli_child *child);
void cli_child_signal(const struct cli_child *child, int signal);

/* What has happened to our children. The first process stays a zombie, and its
 * group's number with it, until cli_child_reap. Others, which became ours when
 * their parent died, are reaped on the way. */
enum cli_child_news { CLI_CHILD_NONE, CLI_CHILD_STOPPED, CLI_CHILD_ENDED };
struct cli_child_report {
    enum cli_child_news news;
    int number;                 /* STOPPED: the signal; ENDED: its code, or 128
                                   + signal */
    bool by_signal;             /* ENDED: a signal did it */
};
struct cli_child_report cli_child_look(struct cli_child *child);
void cli_child_reap(struct cli_child *child);

#endif
