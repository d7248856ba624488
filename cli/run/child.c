/* The command as a process. Between fork and exec only calls are made that are
 * safe after the fork of a threaded process: name resolution may have
 * threads. */
/* Tests: tests/live/cli/test_run.c, tests/live/cli/test_run_signals.c. */
#include "cli/run/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/command.h"
#include "cli/base/core_dump.h"
#include "cli/base/signals.h"
#include "cli/run/environment.h"
#include "cli/run/guard.h"
#include "net/loop/clock.h"

/* Time for the guardian to fork and to say so. One that needs longer is stopped
 * or dying. */
#define START_MS 10000
#define START_AFTER_SIGNAL_MS 20 /* of CLI_SIGNALS_LIMIT_MS */
#define EXEC_CHECK_MS 10        /* how late a signal may be seen */

/* ---- starting ---- */

struct command_start {
    const struct cli_child_plan *plan;
    bool is_foreground;
};

/* Waits for the byte of the guardian. From then on holdfast knows this process, and
 * kills what remains of it if the guardian dies. False: the guardian has died. */
static bool wait_for_go(int guard_fd)
{
    char go;

    return recv(guard_fd, &go, sizeof go, 0) == sizeof go;
}

/* In the child: becomes the program; returns errno if it cannot. Parent and
 * child both make the process group, so that it exists before either
 * continues. */
static int execute_command(const struct command_start *start, pid_t parent, int guard_fd)
{
    const struct cli_child_plan *plan = start->plan;

    (void)setpgid(0, 0);
    cli_tree_die_with(parent);
    if (!wait_for_go(guard_fd))
        return ECANCELED;
    if (start->is_foreground)
        cli_tty_become_foreground(plan->tty);
    cli_signals_restore_original();
    cli_core_dump_restore();
    if (plan->kept_fd >= 0)
        (void)fcntl(plan->kept_fd, F_SETFD, 0);
    environ = plan->env;
    cli_environment_put_pid(environ, getpid());
    (void)execvp(plan->argv[0], plan->argv);
    return errno;
}

static int exit_code_of_exec_error(int exec_errno)
{
    return exec_errno == ENOENT || exec_errno == ENOTDIR ? CLI_EXIT_NOT_FOUND
                                                         : CLI_EXIT_NOT_EXECUTABLE;
}

static _Noreturn void run_command_in_child(const struct command_start *start, pid_t parent,
                                           int guard_fd)
{
    int err = execute_command(start, parent, guard_fd);

    /* If standard error is closed, only the exit code shows this. */
    (void)send(guard_fd, &err, sizeof err, MSG_NOSIGNAL);
    _exit(exit_code_of_exec_error(err));
}

/* In the guardian. */
static pid_t fork_command(const void *ctx, int *command_fd)
{
    pid_t parent = getpid(), pid;
    int fd[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd) < 0)
        return -1;
    pid = fork();
    if (pid == 0) {
        (void)close(fd[0]); /* or the guardian's end would have no end */
        run_command_in_child(ctx, parent, fd[1]);
    }
    (void)close(fd[1]);
    if (pid > 0)
        (void)setpgid(pid, pid); /* EACCES: it has executed */
    *command_fd = fd[0];
    return pid;
}

/* In the guardian, when holdfast is dead. */
static void remove_notify_socket(const void *ctx)
{
    const struct command_start *start = ctx;

    cli_notify_remove(start->plan->notify);
}

/* Waits for the guardian's first message. After a signal that ends programs, only a
 * little longer. False: *err is ETIMEDOUT or EINTR. */
static bool wait_for_first_message(int fd, int *err)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    int64_t until_ms = hf_clock_ms() + START_MS, left_ms;

    *err = ETIMEDOUT;
    while ((left_ms = until_ms - hf_clock_ms()) > 0) {
        if (*err != EINTR && cli_signals_has_end_signal()) {
            *err = EINTR;
            until_ms = hf_clock_ms() + START_AFTER_SIGNAL_MS;
            continue;
        }
        if (poll(&p, 1, left_ms < EXEC_CHECK_MS ? (int)left_ms : EXEC_CHECK_MS) > 0)
            return true;
    }
    return false;
}

/* Returns the command's pid, or 0 and errno in *err. */
static pid_t wait_for_start(int fd, int *err)
{
    struct cli_guard_message m;

    if (!wait_for_first_message(fd, err))
        return 0;
    *err = ECANCELED;
    if (recv(fd, &m, sizeof m, 0) != sizeof m)
        return 0;
    *err = m.kind == GUARD_FAILED ? m.number : 0;
    return m.kind == GUARD_STARTED ? m.number : 0;
}

/* No message of the guardian arrives after that, so that it lets no command
 * execute; and the command dies with it. */
static void kill_guardian(const struct cli_child *child, int fd)
{
    (void)shutdown(fd, SHUT_RDWR);
    if (child->guardian_pid > 0)
        (void)kill(child->guardian_pid, SIGKILL); /* our child, not reaped */
    (void)close(fd);
}

int cli_child_start(struct cli_child *child, const struct cli_child_plan *plan)
{
    struct command_start start = {plan, cli_tty_is_for_command(plan->tty)};
    int fd[2];
    int err;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd) < 0)
        return errno;
    cli_signals_block_all();
    child->guardian_pid = fork();
    err = errno;
    if (child->guardian_pid == 0) {
        (void)close(fd[0]);
        cli_guardian_run(fd[1], fork_command, remove_notify_socket, &start, plan->deadline_ms);
    }
    (void)close(fd[1]);
    cli_signals_unblock();
    if (child->guardian_pid > 0)
        child->pid = wait_for_start(fd[0], &err);
    if (child->pid == 0) {
        kill_guardian(child, fd[0]);
        return err;
    }
    child->tree.first_pid = child->pid;
    child->deadline_ms = plan->deadline_ms;
    plan->tty->is_given_to_command = start.is_foreground;
    child->guardian_fd = fd[0];
    return 0;
}

/* ---- to the guardian ---- */

/* Sends a message, and continues a stopped guardian. The guardian is our child
 * and not reaped, so that its pid is not reused. */
static void send_message(const struct cli_child *child,
                         const struct cli_guard_message *m)
{
    if (child->guardian_fd < 0)
        return;
    (void)send(child->guardian_fd, m, sizeof *m, MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)kill(child->guardian_pid, SIGCONT);
}

static void send_message_word(const struct cli_child *child, enum cli_guard_message_kind word,
                              int number)
{
    send_message(child,
                 &(struct cli_guard_message){.kind = word, .number = number});
}

void cli_child_signal(const struct cli_child *child, int signal)
{
    send_message_word(child, GUARD_SIGNAL, signal);
    if (child->is_unguarded)
        (void)cli_tree_signal(&child->tree, signal); /* it was killed with its
                                                        guardian */
}

void cli_child_drain(struct cli_child *child, bool all)
{
    send_message_word(child, GUARD_DRAIN, all);
    child->must_report_empty = true;
    child->tree.includes_other_sessions |= all;
}

void cli_child_kill(struct cli_child *child, bool all)
{
    send_message_word(child, GUARD_KILL, all);
    child->tree.kills_adopted = true;
    child->tree.includes_other_sessions |= all;
    if (child->is_unguarded)
        cli_tree_kill(&child->tree);
}

/* Times of one moment that are computed at different moments differ a little. */
#define SAME_MS 2

void cli_child_set_deadline(struct cli_child *child, int64_t ms)
{
    if (ms >= child->deadline_ms && ms - child->deadline_ms <= SAME_MS)
        return;
    child->deadline_ms = ms;
    send_message(child, &(struct cli_guard_message){.kind = GUARD_DEADLINE,
                                                    .deadline_ms = ms});
}

void cli_child_leave(struct cli_child *child)
{
    send_message_word(child, GUARD_LEAVE, 0);
    child->pid = 0;
}

/* ---- news ---- */

static struct cli_child_report make_report(enum cli_child_news news, int number)
{
    return (struct cli_child_report){.news = news, .number = number};
}

static struct cli_child_report report_of_end(const struct cli_guard_message *m)
{
    bool by_signal = m->code != CLD_EXITED;

    return (struct cli_child_report){CLI_CHILD_ENDED,
                                     m->number + (by_signal ? CLI_EXIT_SIGNAL : 0),
                                     by_signal, m->error};
}

static struct cli_child_report report_of_message(const struct cli_guard_message *m)
{
    if (m->kind == GUARD_ENDED)
        return report_of_end(m);
    if (m->kind == GUARD_STOPPED)
        return make_report(CLI_CHILD_STOPPED, m->number);
    if (m->kind == GUARD_OVERDUE)
        return make_report(CLI_CHILD_OVERDUE, 0);
    if (m->kind == GUARD_REFUSED)
        return make_report(CLI_CHILD_REFUSED, m->number);
    return make_report(CLI_CHILD_EMPTY, 0);
}

/* We have adopted the guardian's children. Its socket is silent but stays open:
 * its owner has to close it. */
static struct cli_child_report become_unguarded(struct cli_child *child)
{
    child->is_unguarded = true;
    return make_report(CLI_CHILD_UNGUARDED, 0);
}

static struct cli_child_report next_news_unguarded(struct cli_child *child)
{
    siginfo_t info;

    (void)cli_tree_reap(&child->tree, &info); /* the command died with its
                                                 guardian */
    (void)cli_tree_reap(&child->tree, &info);
    cli_tree_kill(&child->tree);
    if (!child->must_report_empty || cli_tree_has_processes(&child->tree))
        return make_report(CLI_CHILD_NONE, 0);
    child->must_report_empty = false;
    return make_report(CLI_CHILD_EMPTY, 0);
}

struct cli_child_report cli_child_next_news(struct cli_child *child)
{
    struct cli_guard_message m;
    ssize_t n;

    if (child->pid == 0)
        return make_report(CLI_CHILD_NONE, 0);
    if (child->is_unguarded)
        return next_news_unguarded(child);
    n = recv(child->guardian_fd, &m, sizeof m, MSG_DONTWAIT);
    if (n == sizeof m)
        return report_of_message(&m);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return make_report(CLI_CHILD_NONE, 0);
    return become_unguarded(child);
}
