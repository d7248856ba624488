/* The processes that descend from a command. Used by the guardian (guard.c), whose
 * child the command is, and by holdfast itself when the guardian was killed.
 * Where the system cannot adopt orphans, only the process group is known.
 *
 * Only what is safe after the fork of a threaded process is called here. */
#ifndef CLI_RUN_PROCESS_TREE_H
#define CLI_RUN_PROCESS_TREE_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

/* cli_kin_adopt    - from now on, processes whose parent dies become our
 *                    children instead of init's, if they descend from us.
 * cli_kin_die_with - in a new child: KILL when `parent` dies; it may have. */
void cli_kin_adopt(void);
void cli_kin_die_with(pid_t parent);

/* Which processes are meant: the command's own group, and all that we adopted in
 * our session (a timeout(1), a job of an interactive shell, a nested run: they
 * have groups of their own). With `is_all`, also those with a session of their
 * own; without it, such a process counts as a daemon that has left the command. */
struct cli_kin {
    pid_t first;                /* also the group */
    bool has_ended;             /* the first process has, and is reaped */
    bool is_killed;             /* each process that is adopted later is killed */
    bool is_all;                /* sessions of their own are meant, too */
    bool has_strangers;         /* some of our children are not the command's:
                                   then only the group is meant */
};

/* cli_kin_has_strangers - have we children already?
 * cli_kin_reap   - reaps whoever has ended; true: the first process was among
 *                  them, and *info is how.
 * cli_kin_kill   - KILL, if is_killed. Those whose parent it makes us are found
 *                  by the next call: again after each cli_kin_reap.
 * cli_kin_signal - to the group, if a child of ours is in it: then its number
 *                  cannot be another's. 0 or errno: nobody got it.
 * cli_kin_remain - is there anybody? */
bool cli_kin_has_strangers(void);
bool cli_kin_reap(struct cli_kin *kin, siginfo_t *info);
void cli_kin_kill(const struct cli_kin *kin);
int cli_kin_signal(const struct cli_kin *kin, int signal);
bool cli_kin_remain(const struct cli_kin *kin);

#endif
