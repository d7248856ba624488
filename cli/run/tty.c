/* The controlling terminal and its foreground process group. TTOU is ignored
 * (signals.c), so that tcsetpgrp also works from the background. */
/* Tests: tests/live/cli/test_run_signals.c. */
#include "cli/run/tty.h"

#include <fcntl.h>
#include <unistd.h>

void cli_tty_open(struct cli_tty *tty)
{
    tty->fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
    tty->is_given_to_command = false;
}

void cli_tty_close(struct cli_tty *tty)
{
    if (tty->fd >= 0)
        (void)close(tty->fd);
    tty->fd = -1;
}

bool cli_tty_exists(void)
{
    struct cli_tty tty;
    bool exists;

    cli_tty_open(&tty);
    exists = tty.fd >= 0;
    cli_tty_close(&tty);
    return exists;
}

/* Are we the foreground? */
static bool is_holdfast_foreground(const struct cli_tty *tty)
{
    return tty->fd >= 0 && tcgetpgrp(tty->fd) == getpgrp();
}

bool cli_tty_is_for_command(const struct cli_tty *tty)
{
    return is_holdfast_foreground(tty) && isatty(STDIN_FILENO) &&
           isatty(STDOUT_FILENO);
}

void cli_tty_become_foreground(const struct cli_tty *tty)
{
    (void)tcsetpgrp(tty->fd, getpgrp()); /* else SIGTTIN makes us give it */
}

bool cli_tty_give_foreground(struct cli_tty *tty, pid_t group)
{
    if (!is_holdfast_foreground(tty))
        return false;
    tty->is_given_to_command = tcsetpgrp(tty->fd, group) == 0;
    return tty->is_given_to_command;
}

void cli_tty_take_foreground(struct cli_tty *tty)
{
    if (tty->is_given_to_command)
        (void)tcsetpgrp(tty->fd, getpgrp()); /* the group has ended */
    tty->is_given_to_command = false;
}
