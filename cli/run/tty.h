/* The controlling terminal and its foreground process group. */
#ifndef CLI_RUN_TTY_H
#define CLI_RUN_TTY_H

#include <stdbool.h>
#include <sys/types.h>

struct cli_tty {
    int fd;                     /* -1: there is no controlling terminal */
    bool is_given_to_command;   /* by us, to the command */
};

/* cli_tty_exists - returns whether there is a controlling terminal.
 * cli_tty_open  - opens it, close-on-exec. cli_tty_close - closes it; also if it is not open.
 * cli_tty_is_for_command - returns whether the command starts in the foreground: only if it reads
 *     and writes the terminal. If its output is a pipe, it becomes the foreground when it uses the
 *     terminal (SIGTTIN, SIGTTOU), because a pager needs the keys.
 * cli_tty_become_foreground - in the command, before it executes: becomes the foreground.
 * cli_tty_give_foreground  - makes `group` the foreground; false: this process was not.
 * cli_tty_take_foreground  - makes this process the foreground again, if it was given. */
bool cli_tty_exists(void);
void cli_tty_open(struct cli_tty *tty);
void cli_tty_close(struct cli_tty *tty);
bool cli_tty_is_for_command(const struct cli_tty *tty);
void cli_tty_become_foreground(const struct cli_tty *tty);
bool cli_tty_give_foreground(struct cli_tty *tty, pid_t group);
void cli_tty_take_foreground(struct cli_tty *tty);

#endif
