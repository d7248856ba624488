/* The guardian. It was forked and has not executed, so that only
 * async-signal-safe functions are called here. It keeps three descriptors, and
 * so holds neither pipes nor the server's connection open. */
/* Tests: tests/live/cli/test_run_guard.c. */
#include "cli/run/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/run/process_tree.h"
#include "net/loop/clock.h"
#include "net/net.h"

#define SOCKET_FD 0   /* the descriptors of the guardian */
#define COMMAND_FD 1
#define TIMER_FD 2

struct guard {
    struct cli_process_tree tree;
    int64_t deadline_ms;
    bool has_timer;
    bool must_report_empty;
    bool is_holdfast_dead;      /* holdfast is dead */
    void (*clean_up_files)(const void *ctx);
    const void *ctx;
};

/* ---- descriptors ---- */

#ifdef SYS_close_range

static void close_fds_from(unsigned first)
{
    (void)syscall(SYS_close_range, first, ~0u, 0); /* before Linux 5.9 they stay
                                                      open */
}

#else

static void close_fds_from(unsigned first)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur > 65536)
        limit.rlim_cur = 65536;
    for (unsigned fd = first; fd < limit.rlim_cur; fd++)
        (void)close((int)fd);
}

#endif

static void keep_only_fds(int socket_fd, int command_fd)
{
    int high_socket = fcntl(socket_fd, F_DUPFD, 10);
    int high_command = fcntl(command_fd, F_DUPFD, 10);

    (void)dup2(high_socket, SOCKET_FD);
    (void)dup2(high_command, COMMAND_FD);
    close_fds_from(COMMAND_FD + 1);
}

/* ---- to holdfast ---- */

/* Sends a message. False: holdfast has died, or has closed the socket. */
static bool send_message_word(enum cli_guard_message_kind word, int number)
{
    struct cli_guard_message m = {.kind = word, .number = number};

    return send(SOCKET_FD, &m, sizeof m, MSG_NOSIGNAL) == sizeof m;
}

static int receive_exec_error(void)
{
    int err = 0;

    if (recv(COMMAND_FD, &err, sizeof err, MSG_DONTWAIT) != sizeof err)
        return 0; /* exec closed it */
    return err;
}

static void send_ended(const siginfo_t *info)
{
    struct cli_guard_message m = {.kind = GUARD_ENDED,
                                  .number = info->si_status,
                                  .code = info->si_code,
                                  .error = receive_exec_error()};

    (void)send(SOCKET_FD, &m, sizeof m, MSG_NOSIGNAL);
}

/* ---- children ---- */

static void report_if_stopped(const struct guard *g)
{
    siginfo_t info;

    memset(&info, 0, sizeof info);
    if (!g->tree.has_ended &&
        waitid(P_PID, (id_t)g->tree.first_pid, &info, WSTOPPED | WNOHANG) == 0 &&
        info.si_pid != 0)
        (void)send_message_word(GUARD_STOPPED, info.si_status);
}

static void reap_and_report(struct guard *g)
{
    siginfo_t info;

    while (cli_tree_reap(&g->tree, &info))
        send_ended(&info);
    report_if_stopped(g);
    cli_tree_kill(&g->tree);
    if (g->tree.has_ended && g->must_report_empty && !cli_tree_has_processes(&g->tree)) {
        g->must_report_empty = false;
        (void)send_message_word(GUARD_EMPTY, 0);
    }
    if (g->is_holdfast_dead && !cli_tree_has_processes(&g->tree))
        _exit(EXIT_SUCCESS);
}

/* ---- killing ---- */

static void signal_group(const struct guard *g, int number)
{
    int err = cli_tree_signal(&g->tree, number);

    if (err != 0 && err != ESRCH) /* the group has just ended */
        (void)send_message_word(GUARD_REFUSED, err);
}

static void kill_all_from_now_on(struct guard *g, bool all)
{
    g->tree.kills_adopted = true;
    g->tree.includes_other_sessions |= all;
}

/* ---- the deadline ---- */

/* On a clock that runs on while the machine sleeps (since Linux 3.15). */
static void open_timer(struct guard *g)
{
    int fd = timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);

    g->has_timer = fd >= 0 && dup2(fd, TIMER_FD) == TIMER_FD;
    if (fd >= 0 && fd != TIMER_FD)
        (void)close(fd);
}

/* HF_NEVER disarms it. */
static void set_deadline(struct guard *g, int64_t ms)
{
    struct itimerspec at = {.it_value = {0}};

    g->deadline_ms = ms;
    if (ms != HF_NEVER) {
        at.it_value.tv_sec = (time_t)(ms / 1000);
        at.it_value.tv_nsec = (long)(ms % 1000) * 1000000;
    }
    (void)timerfd_settime(TIMER_FD, TFD_TIMER_ABSTIME, &at, NULL);
}

static bool is_overdue(const struct guard *g)
{
    return g->deadline_ms != HF_NEVER && hf_clock_ms() >= g->deadline_ms;
}

static void kill_if_overdue(struct guard *g)
{
    if (!is_overdue(g))
        return;
    set_deadline(g, HF_NEVER);
    (void)send_message_word(GUARD_OVERDUE, 0);
    kill_all_from_now_on(g, true);
    signal_group(g, SIGKILL);
}

/* ---- from holdfast ---- */

static void obey_message(struct guard *g, const struct cli_guard_message *m)
{
    switch (m->kind) {
    case GUARD_SIGNAL:
        signal_group(g, m->number);
        break;
    case GUARD_DRAIN:
        g->must_report_empty = true;
        g->tree.includes_other_sessions |= m->number != 0;
        break;
    case GUARD_KILL:
        kill_all_from_now_on(g, m->number != 0);
        signal_group(g, SIGKILL);
        break;
    case GUARD_DEADLINE:
        set_deadline(g, m->deadline_ms);
        break;
    case GUARD_LEAVE:
        _exit(EXIT_SUCCESS);
    default:
        break;
    }
}

static void listen_to_holdfast(struct guard *g)
{
    struct cli_guard_message m;
    ssize_t n;

    while ((n = recv(SOCKET_FD, &m, sizeof m, MSG_DONTWAIT)) == sizeof m)
        obey_message(g, &m);
    if (n >= 0 || (errno != EAGAIN && errno != EINTR)) {
        kill_all_from_now_on(g, true);
        reap_and_report(g);
        g->is_holdfast_dead = true;
        g->clean_up_files(g->ctx); /* it may wait for a file system */
    }
}

/* ---- life ---- */

static void ignore_child_signal(int number)
{
    (void)number; /* it is enough that ppoll returns */
}

static void block_all_signals_except_children(sigset_t *mask)
{
    struct sigaction child = {.sa_handler = ignore_child_signal};

    sigfillset(&child.sa_mask);
    (void)sigaction(SIGCHLD, &child, NULL);
    sigfillset(mask);
    (void)sigdelset(mask, SIGCHLD);
}

/* If holdfast is dead, the command never executes. */
static void let_command_execute(const struct guard *g)
{
    const char go = 0;

    if (!send_message_word(GUARD_STARTED, (int)g->tree.first_pid))
        _exit(EXIT_FAILURE);
    (void)send(COMMAND_FD, &go, sizeof go, MSG_NOSIGNAL); /* killed already */
}

/* Until the deadline, without a timer; NULL: there is one, or no deadline. */
static struct timespec *poll_timeout_of(const struct guard *g, struct timespec *out)
{
    int64_t left_ms = g->deadline_ms - hf_clock_ms();

    if (g->has_timer || g->deadline_ms == HF_NEVER)
        return NULL;
    left_ms = left_ms > 0 ? left_ms : 0;
    *out = (struct timespec){.tv_sec = (time_t)(left_ms / 1000),
                             .tv_nsec = (long)(left_ms % 1000) * 1000000};
    return out;
}

/* A later deadline that has arrived counts. */
static void wait_and_handle_events(struct guard *g, const sigset_t *while_waiting)
{
    bool is_timed = g->has_timer && g->deadline_ms != HF_NEVER;
    struct pollfd p[2] = {{.fd = g->is_holdfast_dead ? -1 : SOCKET_FD,
                           .events = POLLIN},
                          {.fd = is_timed ? TIMER_FD : -1, .events = POLLIN}};
    struct timespec timeout;

    int ready;

    reap_and_report(g);
    ready = ppoll(p, 2, poll_timeout_of(g, &timeout), while_waiting);
    if (!g->is_holdfast_dead && ((ready > 0 && p[0].revents) || is_overdue(g)))
        listen_to_holdfast(g);
    kill_if_overdue(g);
}

_Noreturn void cli_guardian_run(int fd,
                                pid_t (*start)(const void *ctx, int *command_fd),
                                void (*clean_up)(const void *ctx), const void *ctx,
                                int64_t deadline_ms)
{
    struct guard g = {.clean_up_files = clean_up, .ctx = ctx};
    sigset_t while_waiting;
    int command_fd = -1;
    int err;

    (void)setpgid(0, 0); /* so that a KILL for holdfast's group spares us */
    cli_tree_adopt();
    g.tree.first_pid = start(ctx, &command_fd);
    err = errno;
    keep_only_fds(fd, command_fd);
    if (g.tree.first_pid < 0) {
        (void)send_message_word(GUARD_FAILED, err);
        _exit(EXIT_FAILURE);
    }
    block_all_signals_except_children(&while_waiting);
    open_timer(&g);
    set_deadline(&g, deadline_ms);
    let_command_execute(&g);
    for (;;)
        wait_and_handle_events(&g, &while_waiting);
}
