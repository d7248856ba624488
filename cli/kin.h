/* Kinship between holdfast and the command: nobody works on alone. Where the
 * system has no means for it, the process group alone must do. */
#ifndef CLI_KIN_H
#define CLI_KIN_H

#include <stdbool.h>
#include <sys/types.h>

/* cli_kin_adopt    - from now on, processes whose parent dies become our
 *                    children instead of init's, if they descend from us.
 * cli_kin_die_with - in a new child: KILL when `parent` dies; it may have. */
void cli_kin_adopt(void);
void cli_kin_die_with(pid_t parent);

/* What is left of a command whose first process is gone: everybody in its
 * group, and everybody whom we adopted in our session (a timeout(1), a job of
 * an interactive shell, a nested run: they have groups of their own). Who made
 * a session of its own (a daemon) has left the command.
 * cli_kin_has_group - is a child of ours in that group? Then the group's number
 *                  cannot be another's.
 * cli_kin_remain - is there anybody?
 * cli_kin_kill   - KILL. Those whose parent it makes us are found by the next
 *                  call: repeat with each SIGCHLD until none remain. */
bool cli_kin_has_group(pid_t group);
bool cli_kin_remain(pid_t group);
void cli_kin_kill(pid_t group);

#endif
