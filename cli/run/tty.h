/* The controlling terminal and its foreground process group. */
#ifndef CLI_RUN_TTY_H
#define CLI_RUN_TTY_H

#include <stdbool.h>
#include <sys/types.h>

struct cli_tty {
    int fd;                     /* -1: there is no controlling terminal */
    bool is_given;              /* by us, to the command */
};

/* cli_tty_exists - have we a controlling terminal?
 * cli_tty_open  - close-on-exec. cli_tty_close - also if it is not open.
 * cli_tty_is_for_command - shall the command start in the foreground? Only if
 *     it reads and writes the terminal. With its output in a pipe it gets the
 *     foreground when it asks (SIGTTIN, SIGTTOU): a pager needs the keys.
 * cli_tty_enter - in the command, before it executes: becomes the foreground.
 * cli_tty_give  - makes `group` the foreground; false: we were not.
 * cli_tty_take  - makes us the foreground again, if it was given. */
bool cli_tty_exists(void);
void cli_tty_open(struct cli_tty *tty);
void cli_tty_close(struct cli_tty *tty);
bool cli_tty_is_for_command(const struct cli_tty *tty);
void cli_tty_enter(const struct cli_tty *tty);
bool cli_tty_give(struct cli_tty *tty, pid_t group);
void cli_tty_take(struct cli_tty *tty);

#endif
