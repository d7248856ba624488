/* The processes that descend from a command. The guardian (guard.c) uses this,
 * and holdfast itself if the guardian was killed. Where the system cannot adopt
 * orphans, only the process group is known. Children are found in /proc, or, where
 * that is missing, empty or of other process numbers, by trying the numbers. A child
 * is killed by its number only while it is ours and not reaped, so that the number
 * cannot be another process's. Only async-signal-safe functions are called here. */
#ifndef CLI_RUN_PROCESS_TREE_H
#define CLI_RUN_PROCESS_TREE_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

/* cli_tree_adopt    - makes descendants whose parent dies our children, instead of children of
 *                     init. False: the system cannot do this.
 * cli_tree_proc_lists_children - returns whether /proc lists our children.
 * cli_tree_die_with - is called in a new child: the child is killed when `parent` dies, or at
 *                     once if it has died. */
bool cli_tree_adopt(void);
bool cli_tree_proc_lists_children(void);
void cli_tree_die_with(pid_t parent);

/* Which processes count: the group of the command, and all that were adopted in our
 * session (a timeout(1), a job of an interactive shell, a nested run: they have their
 * own groups). With `includes_other_sessions`, processes with a session of their own also count;
 * without it, such a process is a daemon that has left the command. */
struct cli_process_tree {
    pid_t first_pid;              /* also the group */
    bool has_ended;               /* the first process has ended and is reaped */
    bool kills_adopted;           /* kill each process that is adopted later */
    bool includes_other_sessions; /* sessions of their own also count */
    bool has_strangers;           /* some of our children are not the command's: only the group
                                     counts */
};

/* cli_tree_has_strangers - returns whether this process already has children.
 * cli_tree_reap   - reaps processes that have ended. True: the first process was among them, and
 *                   *info has its status.
 * cli_tree_kill   - kills them, if kills_adopted. The next call finds processes that become
 *                   children by this: call it after each cli_tree_reap.
 * cli_tree_signal - sends a signal to the group, if one of our children is in it, so that its
 *                   number cannot belong to another group. Returns 0, or errno: no process
 *                   received it.
 * cli_tree_has_processes - returns whether any process remains. */
bool cli_tree_has_strangers(void);
bool cli_tree_reap(struct cli_process_tree *tree, siginfo_t *info);
void cli_tree_kill(const struct cli_process_tree *tree);
int cli_tree_signal(const struct cli_process_tree *tree, int signal);
bool cli_tree_has_processes(const struct cli_process_tree *tree);

#endif
