/* The environment of the command. */
#ifndef CLI_RUN_ENVIRONMENT_H
#define CLI_RUN_ENVIRONMENT_H

#include <stddef.h>
#include <sys/types.h>

/* cli_environment_new - returns a copy of our environment with `count` variables set to `values`,
 *   and without those whose value is NULL. The array ends in NULL; the texts of the other
 *   variables are shared with environ. NULL: out of memory.
 * cli_environment_free - frees it; takes the same arguments. */
char **cli_environment_new(const char *const *names, const char *const *values,
                           size_t count);
void cli_environment_free(char **env, const char *const *values, size_t count);

/* Variables that name the process for which they are meant (systemd: LISTEN_PID, WATCHDOG_PID).
 *
 * cli_environment_pid_value - returns the value of the command's variable: if ours names this
 *                            process, space for a pid; otherwise ours, or NULL.
 * cli_environment_put_pid  - writes the pid into that space, in the command's process before it
 *                            executes. May be called after fork. */
const char *cli_environment_pid_value(const char *name);
void cli_environment_put_pid(char **env, pid_t pid);

#endif
