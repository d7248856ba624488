/* The command as a process. Between fork and exec only calls that are safe
 * after the fork of a threaded process: name resolution may have threads. */
#include "cli/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/kin.h"
#include "cli/signals.h"

/* ---- starting ---- */

/* In the child: becomes the program; returns errno if there is none. Both sides
 * make the group: whichever comes first, neither goes on before it is there. */
static int become(const struct cli_child_plan *plan, pid_t parent,
                  bool is_foreground)
{
    (void)setpgid(0, 0);
    if (is_foreground)
        cli_tty_enter(plan->tty);
    cli_kin_die_with(parent);
    cli_signals_inherit();
    if (plan->kept_fd >= 0)
        (void)fcntl(plan->kept_fd, F_SETFD, 0);
    environ = plan->env;
    (void)execvp(plan->argv[0], plan->argv);
    return errno;
}

static int code_of(int exec_errno)
{
    return exec_errno == ENOENT || exec_errno == ENOTDIR ? CLI_NOT_FOUND
                                                         : CLI_NOT_EXECUTABLE;
}

static _Noreturn void run_child(const struct cli_child_plan *plan,
                                pid_t parent, int error_fd, bool is_foreground)
{
    int err = become(plan, parent, is_foreground);
    ssize_t n = write(error_fd, &err, sizeof err);

    (void)n; /* without it, the code must tell */
    _exit(code_of(err));
}

int cli_child_start(struct cli_child *child, const struct cli_child_plan *plan)
{
    bool is_foreground = cli_tty_is_for_command(plan->tty);
    pid_t parent = getpid();
    int fd[2];
    int err;

    if (pipe2(fd, O_CLOEXEC | O_NONBLOCK) < 0)
        return errno;
    cli_signals_hold();
    child->pid = fork();
    err = errno;
    if (child->pid == 0)
        run_child(plan, parent, fd[1], is_foreground);
    (void)close(fd[1]);
    cli_signals_resume();
    if (child->pid < 0) {
        (void)close(fd[0]);
        child->pid = 0;
        return err;
    }
    (void)setpgid(child->pid, child->pid); /* EACCES: it has executed */
    plan->tty->is_given = is_foreground;
    child->error_fd = fd[0];
    return 0;
}

int cli_child_exec_error(struct cli_child *child)
{
    int err = 0;

    if (read(child->error_fd, &err, sizeof err) != sizeof err)
        err = 0; /* closed by a good exec */
    (void)close(child->error_fd);
    child->error_fd = -1;
    return err;
}

/* ---- signalling ---- */

void cli_child_signal(const struct cli_child *child, int signal)
{
    if (!cli_kin_has_group(child->pid))
        return;
    (void)kill(-child->pid, signal); /* EPERM: it runs as another user */
    if (signal == SIGTERM)
        (void)kill(-child->pid, SIGCONT);
}

/* ---- reaping ---- */

static struct cli_child_report ended(const siginfo_t *info)
{
    if (info->si_code == CLD_EXITED)
        return (struct cli_child_report){CLI_CHILD_ENDED, info->si_status,
                                         false};
    return (struct cli_child_report){CLI_CHILD_ENDED,
                                     CLI_SIGNAL + info->si_status, true};
}

static struct cli_child_report look_for_stop(pid_t pid)
{
    siginfo_t info = {0};

    if (waitid(P_PID, (id_t)pid, &info, WSTOPPED | WNOHANG) < 0 ||
        info.si_pid == 0)
        return (struct cli_child_report){CLI_CHILD_NONE, 0, false};
    return (struct cli_child_report){CLI_CHILD_STOPPED, info.si_status, false};
}

/* A zombie that is not the first process is reaped; is there another? */
static bool reap_next(const struct cli_child *child, siginfo_t *info)
{
    memset(info, 0, sizeof *info);
    if (waitid(P_ALL, 0, info, WEXITED | WNOHANG | WNOWAIT) < 0 ||
        info->si_pid == 0)
        return false;
    if (info->si_pid == child->pid && !child->is_reaped)
        return false;
    (void)waitid(P_PID, (id_t)info->si_pid, info, WEXITED | WNOHANG);
    return true;
}

struct cli_child_report cli_child_look(struct cli_child *child)
{
    siginfo_t info;

    while (reap_next(child, &info))
        continue;
    if (child->pid == 0 || child->is_reaped)
        return (struct cli_child_report){CLI_CHILD_NONE, 0, false};
    if (info.si_pid == child->pid)
        return ended(&info);
    return look_for_stop(child->pid);
}

void cli_child_reap(struct cli_child *child)
{
    siginfo_t info;

    (void)waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOHANG);
    child->is_reaped = true;
}
