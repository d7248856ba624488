/* The guardian. It was forked and has not executed: only what is safe then is
 * called here. Its own number of descriptors is two, so that it keeps neither
 * pipes nor the server's connection open. */
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
#include <sys/wait.h>
#include <unistd.h>

#include "cli/run/process_tree.h"

#define SOCKET_FD 0
#define COMMAND_FD 1

struct guard {
    struct cli_kin kin;
    bool wants_empty;
    bool is_alone;              /* holdfast is dead */
};

/* ---- descriptors ---- */

#ifdef SYS_close_range

static void close_from(unsigned first)
{
    (void)syscall(SYS_close_range, first, ~0u, 0); /* before Linux 5.9: open */
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

/* ---- telling ---- */

/* False: holdfast is dead, or has given up. */
static bool tell(enum cli_guard_word word, int number)
{
    struct cli_guard_message m = {.word = word, .number = number};

    return send(SOCKET_FD, &m, sizeof m, MSG_NOSIGNAL) == sizeof m;
}

static int exec_error(void)
{
    int err = 0;

    if (recv(COMMAND_FD, &err, sizeof err, MSG_DONTWAIT) != sizeof err)
        return 0; /* closed by a good exec */
    return err;
}

static void tell_ended(const siginfo_t *info)
{
    struct cli_guard_message m = {.word = GUARD_ENDED,
                                  .number = info->si_status,
                                  .code = info->si_code,
                                  .error = exec_error()};

    (void)send(SOCKET_FD, &m, sizeof m, MSG_NOSIGNAL);
}

/* ---- looking ---- */

static void look_for_stop(const struct guard *g)
{
    siginfo_t info;

    memset(&info, 0, sizeof info);
    if (!g->kin.has_ended &&
        waitid(P_PID, (id_t)g->kin.first, &info, WSTOPPED | WNOHANG) == 0 &&
        info.si_pid != 0)
        (void)tell(GUARD_STOPPED, info.si_status);
}

static void look(struct guard *g)
{
    siginfo_t info;

    while (cli_kin_reap(&g->kin, &info))
        tell_ended(&info);
    look_for_stop(g);
    cli_kin_kill(&g->kin);
    if (g->kin.has_ended && g->wants_empty && !cli_kin_remain(&g->kin)) {
        g->wants_empty = false;
        (void)tell(GUARD_EMPTY, 0);
    }
    if (g->is_alone && !cli_kin_remain(&g->kin))
        _exit(EXIT_SUCCESS);
}

/* ---- listening ---- */

static void signal_group(const struct guard *g, int number)
{
    int err = cli_kin_signal(&g->kin, number);

    if (err != 0 && err != ESRCH) /* it has just ended */
        (void)tell(GUARD_REFUSED, err);
}

static void kill_from_now_on(struct guard *g, bool all)
{
    g->kin.is_killed = true;
    g->kin.is_all |= all;
}

static void obey(struct guard *g, const struct cli_guard_message *m)
{
    switch (m->word) {
    case GUARD_SIGNAL:
        signal_group(g, m->number);
        break;
    case GUARD_DRAIN:
        g->wants_empty = true;
        g->kin.is_all |= m->number != 0;
        break;
    case GUARD_KILL:
        kill_from_now_on(g, m->number != 0);
        signal_group(g, SIGKILL);
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
        obey(g, &m);
    if (n >= 0 || (errno != EAGAIN && errno != EINTR)) {
        g->is_alone = true;
        kill_from_now_on(g, true);
    }
}

/* ---- life ---- */

static void note(int number)
{
    (void)number; /* that ppoll ends is enough */
}

static void hear_only_children(sigset_t *mask)
{
    struct sigaction child = {.sa_handler = note};

    sigfillset(&child.sa_mask);
    (void)sigaction(SIGCHLD, &child, NULL);
    sigfillset(mask);
    (void)sigdelset(mask, SIGCHLD);
}

/* Its own death lets nobody work: nobody has been let go. */
static void let_command_go(const struct guard *g)
{
    const char go = 0;

    if (!tell(GUARD_STARTED, (int)g->kin.first))
        _exit(EXIT_FAILURE);
    (void)send(COMMAND_FD, &go, sizeof go, MSG_NOSIGNAL); /* killed already */
}

_Noreturn void cli_guard(int fd,
                         pid_t (*start)(const void *ctx, int *command_fd),
                         const void *ctx)
{
    struct guard g = {0};
    sigset_t while_waiting;
    int command_fd = -1;
    int err;

    (void)setpgid(0, 0); /* a KILL for holdfast's group is not for us */
    cli_kin_adopt();
    g.kin.first = start(ctx, &command_fd);
    err = errno;
    keep_only(fd, command_fd);
    if (g.kin.first < 0) {
        (void)tell(GUARD_FAILED, err);
        _exit(EXIT_FAILURE);
    }
    hear_only_children(&while_waiting);
    let_command_go(&g);
    for (;;) {
        struct pollfd p = {.fd = g.is_alone ? -1 : SOCKET_FD,
                           .events = POLLIN};

        look(&g);
        if (ppoll(&p, 1, NULL, &while_waiting) > 0)
            listen_to_holdfast(&g);
    }
}
