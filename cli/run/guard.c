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
    bool wants_empty;
    bool is_alone;              /* holdfast is dead */
    void (*clean_up)(const void *ctx);
    const void *ctx;
};

/* ---- descriptors ---- */

#ifdef SYS_close_range

static void close_from(unsigned first)
{
    (void)syscall(SYS_close_range, first, ~0u, 0); /* before Linux 5.9 they stay
                                                      open */
}

#else

static void close_from(unsigned first)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur > 65536)
        limit.rlim_cur = 65536;
    for (unsigned fd = first; fd < limit.rlim_cur; fd++)
        (void)close((int)fd);
}

#endif

static void keep_only(int socket_fd, int command_fd)
{
    int high_socket = fcntl(socket_fd, F_DUPFD, 10);
    int high_command = fcntl(command_fd, F_DUPFD, 10);

    (void)dup2(high_socket, SOCKET_FD);
    (void)dup2(high_command, COMMAND_FD);
    close_from(COMMAND_FD + 1);
}

/* ---- to holdfast ---- */

/* Sends a message. False: holdfast has died, or has closed the socket. */
static bool send_word(enum cli_guard_message_kind word, int number)
{
    struct cli_guard_message m = {.word = word, .number = number};

    return send(SOCKET_FD, &m, sizeof m, MSG_NOSIGNAL) == sizeof m;
}

static int exec_error(void)
{
    int err = 0;

    if (recv(COMMAND_FD, &err, sizeof err, MSG_DONTWAIT) != sizeof err)
        return 0; /* exec closed it */
    return err;
}

static void send_ended(const siginfo_t *info)
{
    struct cli_guard_message m = {.word = GUARD_ENDED,
                                  .number = info->si_status,
                                  .code = info->si_code,
                                  .error = exec_error()};

    (void)send(SOCKET_FD, &m, sizeof m, MSG_NOSIGNAL);
}

/* ---- children ---- */

static void report_if_stopped(const struct guard *g)
{
    siginfo_t info;

    memset(&info, 0, sizeof info);
    if (!g->tree.has_ended &&
        waitid(P_PID, (id_t)g->tree.first, &info, WSTOPPED | WNOHANG) == 0 &&
        info.si_pid != 0)
        (void)send_word(GUARD_STOPPED, info.si_status);
}

static void reap_and_report(struct guard *g)
{
    siginfo_t info;

    while (cli_tree_reap(&g->tree, &info))
        send_ended(&info);
    report_if_stopped(g);
    cli_tree_kill(&g->tree);
    if (g->tree.has_ended && g->wants_empty && !cli_tree_has_processes(&g->tree)) {
        g->wants_empty = false;
        (void)send_word(GUARD_EMPTY, 0);
    }
    if (g->is_alone && !cli_tree_has_processes(&g->tree))
        _exit(EXIT_SUCCESS);
}

/* ---- killing ---- */

static void signal_group(const struct guard *g, int number)
{
    int err = cli_tree_signal(&g->tree, number);

    if (err != 0 && err != ESRCH) /* the group has just ended */
        (void)send_word(GUARD_REFUSED, err);
}

static void kill_from_now_on(struct guard *g, bool all)
{
    g->tree.is_killed = true;
    g->tree.is_all |= all;
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
    (void)send_word(GUARD_OVERDUE, 0);
    kill_from_now_on(g, true);
    signal_group(g, SIGKILL);
}

/* ---- from holdfast ---- */

static void obey_message(struct guard *g, const struct cli_guard_message *m)
{
    switch (m->word) {
    case GUARD_SIGNAL:
        signal_group(g, m->number);
        break;
    case GUARD_DRAIN:
        g->wants_empty = true;
        g->tree.is_all |= m->number != 0;
        break;
    case GUARD_KILL:
        kill_from_now_on(g, m->number != 0);
        signal_group(g, SIGKILL);
        break;
    case GUARD_DEADLINE:
        set_deadline(g, m->ms);
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
        kill_from_now_on(g, true);
        reap_and_report(g);
        g->is_alone = true;
        g->clean_up(g->ctx); /* it may wait for a file system */
    }
}

/* ---- life ---- */

static void on_child(int number)
{
    (void)number; /* it is enough that ppoll returns */
}

static void hear_only_children(sigset_t *mask)
{
    struct sigaction child = {.sa_handler = on_child};

    sigfillset(&child.sa_mask);
    (void)sigaction(SIGCHLD, &child, NULL);
    sigfillset(mask);
    (void)sigdelset(mask, SIGCHLD);
}

/* If holdfast is dead, the command never executes. */
static void let_command_go(const struct guard *g)
{
    const char go = 0;

    if (!send_word(GUARD_STARTED, (int)g->tree.first))
        _exit(EXIT_FAILURE);
    (void)send(COMMAND_FD, &go, sizeof go, MSG_NOSIGNAL); /* killed already */
}

/* Until the deadline, without a timer; NULL: there is one, or no deadline. */
static struct timespec *timeout_of(const struct guard *g, struct timespec *out)
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
static void take_turn(struct guard *g, const sigset_t *while_waiting)
{
    bool is_timed = g->has_timer && g->deadline_ms != HF_NEVER;
    struct pollfd p[2] = {{.fd = g->is_alone ? -1 : SOCKET_FD,
                           .events = POLLIN},
                          {.fd = is_timed ? TIMER_FD : -1, .events = POLLIN}};
    struct timespec timeout;

    int ready;

    reap_and_report(g);
    ready = ppoll(p, 2, timeout_of(g, &timeout), while_waiting);
    if (!g->is_alone && ((ready > 0 && p[0].revents) || is_overdue(g)))
        listen_to_holdfast(g);
    kill_if_overdue(g);
}

_Noreturn void cli_guardian_run(int fd,
                                pid_t (*start)(const void *ctx, int *command_fd),
                                void (*clean_up)(const void *ctx), const void *ctx,
                                int64_t deadline_ms)
{
    struct guard g = {.clean_up = clean_up, .ctx = ctx};
    sigset_t while_waiting;
    int command_fd = -1;
    int err;

    (void)setpgid(0, 0); /* so that a KILL for holdfast's group spares us */
    cli_tree_adopt();
    g.tree.first = start(ctx, &command_fd);
    err = errno;
    keep_only(fd, command_fd);
    if (g.tree.first < 0) {
        (void)send_word(GUARD_FAILED, err);
        _exit(EXIT_FAILURE);
    }
    hear_only_children(&while_waiting);
    open_timer(&g);
    set_deadline(&g, deadline_ms);
    let_command_go(&g);
    for (;;)
        take_turn(&g, &while_waiting);
}
