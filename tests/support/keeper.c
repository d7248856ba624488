/* The keeper: both sides of it. Above, what runs in the keeper's process, which
 * may have been forked off a process with many threads and therefore calls
 * nothing but async-signal-safe functions; below, what gives it orders. */
#include "tests/support/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/local.h"

/* What every server since Redis 2 says once its sockets listen and its data is
 * loaded; newer ones add " tcp". */
#define READY_TEXT "Ready to accept connections"
#define SENTINEL_READY_TEXT "Sentinel ID is"

/* As a shell has it: the program is not there. */
#define EXIT_MISSING 127

/* An order's answer comes within this, or the keeper has gone wrong. */
#define ANSWER_SECONDS (KEEPER_START_MS / 1000 + 10)

/* The control socket's place in the keeper, next to stdin, out and err. */
#define CONTROL_FD 3

/* ---- the keeper's process ------------------------------------------------ */

struct kept {
    const char *log_path;
    char *const *argv;
    int log;                    /* -1: none */
    int output;                 /* the server's stdout and stderr; -1: none */
    pid_t server;               /* 0: none */
    bool is_paused;
    bool is_ready;
    char line[256];             /* of the output, as much as has come */
    size_t line_len;
};

static void take_line_byte(struct kept *k, char byte)
{
    if (byte == '\n') {
        k->line[k->line_len] = '\0';
        k->is_ready |= strstr(k->line, READY_TEXT) != NULL ||
                       strstr(k->line, SENTINEL_READY_TEXT) != NULL;
        k->line_len = 0;
    } else if (k->line_len < sizeof k->line - 1) {
        k->line[k->line_len++] = byte;
    }
}

/* Moves output to the log. Returns how many bytes, 0 at its end, or less than 0
 * if there are none at present. */
static ssize_t drain(struct kept *k)
{
    char bytes[4096];
    ssize_t n = read(k->output, bytes, sizeof bytes);

    for (ssize_t i = 0; i < n; i++)
        take_line_byte(k, bytes[i]);
    if (n > 0 && write(k->log, bytes, (size_t)n) < 0)
        return n; /* a full disk costs us the log, nothing else */
    return n;
}

static void close_output(struct kept *k)
{
    (void)close(k->output);
    (void)close(k->log);
    k->output = k->log = -1;
}

/* Ends the server and its children (it has a process group of its own), and
 * reads the last that they said. Returns the server's wait status. */
static int end_server(struct kept *k)
{
    int status = 0;

    if (!k->server)
        return 0;
    (void)kill(-k->server, SIGKILL);
    while (waitpid(k->server, &status, 0) < 0 && errno == EINTR)
        ;
    k->server = 0;
    k->is_paused = false;
    while (drain(k) > 0)
        ;
    close_output(k);
    return status;
}

/* The server has closed its output: it is gone or about to go. Its own exit
 * status is awaited first, or else a kill could overtake it. */
static int bury_server(struct kept *k)
{
    siginfo_t info;

    for (int rests = 0; rests < 1000; rests++) {
        info.si_pid = 0;
        if (waitid(P_PID, (id_t)k->server, &info,
                   WEXITED | WNOHANG | WNOWAIT) == 0 &&
            info.si_pid)
            break;
        local_rest_us(1000);
    }
    return end_server(k);
}

static _Noreturn void become_server(const struct kept *k, int output,
                                    pid_t keeper)
{
    (void)setpgid(0, 0); /* here and in start_server: whoever comes first */
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != keeper) /* died before prctl could help */
        _exit(EXIT_MISSING);
    (void)dup2(output, STDOUT_FILENO);
    (void)dup2(output, STDERR_FILENO);
    (void)execvp(k->argv[0], k->argv);
    _exit(errno == ENOENT ? EXIT_MISSING : 1);
}

/* Reads the output until the server is ready, has ended or is late. */
static enum keeper_result await_ready(struct kept *k)
{
    int64_t deadline_ms = local_now_ms() + KEEPER_START_MS;
    int status;

    while (!k->is_ready) {
        struct pollfd output = {.fd = k->output, .events = POLLIN};
        int64_t left_ms = deadline_ms - local_now_ms();

        if (left_ms <= 0) {
            (void)end_server(k);
            return KEEPER_LATE;
        }
        if (poll(&output, 1, (int)left_ms) > 0 && drain(k) == 0) {
            status = bury_server(k);
            return WIFEXITED(status) && WEXITSTATUS(status) == EXIT_MISSING
                       ? KEEPER_MISSING
                       : KEEPER_DIED;
        }
    }
    return KEEPER_DONE;
}

static enum keeper_result start_server(struct kept *k)
{
    int ends[2];
    pid_t keeper = getpid();

    (void)end_server(k);
    if (pipe2(ends, O_CLOEXEC) < 0)
        return KEEPER_DIED;
    k->log = open(k->log_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    k->output = ends[0];
    (void)fcntl(k->output, F_SETFL, O_NONBLOCK);
    k->is_ready = false;
    k->line_len = 0;
    k->server = fork();
    if (k->server == 0)
        become_server(k, ends[1], keeper);
    (void)close(ends[1]);
    if (k->server < 0) {
        k->server = 0;
        close_output(k);
        return KEEPER_DIED;
    }
    (void)setpgid(k->server, k->server);
    return await_ready(k);
}

/* Sends a signal to the server and all its children, and waits until the
 * server itself shows it. */
static enum keeper_result signal_server(struct kept *k, int number, int shown)
{
    siginfo_t info;

    if (!k->server)
        return KEEPER_DIED;
    (void)kill(-k->server, number);
    while (waitid(P_PID, (id_t)k->server, &info, shown | WEXITED | WNOWAIT) < 0)
        if (errno != EINTR)
            return KEEPER_DIED;
    if (info.si_code == CLD_STOPPED || info.si_code == CLD_CONTINUED) {
        k->is_paused = info.si_code == CLD_STOPPED;
        /* Taken now, so that the next wait does not see it again. */
        (void)waitid(P_PID, (id_t)k->server, &info, shown | WNOHANG);
        return KEEPER_DONE;
    }
    (void)end_server(k);
    return KEEPER_DIED;
}

static enum keeper_result obey(struct kept *k, enum keeper_order order)
{
    switch (order) {
    case KEEPER_START:
        return start_server(k);
    case KEEPER_PAUSE:
        return k->is_paused ? KEEPER_DONE : signal_server(k, SIGSTOP, WSTOPPED);
    case KEEPER_RESUME:
        return k->is_paused ? signal_server(k, SIGCONT, WCONTINUED)
                            : KEEPER_DONE;
    case KEEPER_KILL:
    case KEEPER_QUIT:
        (void)end_server(k);
        return KEEPER_DONE;
    case KEEPER_WHO:
        return k->server ? KEEPER_DONE : KEEPER_DIED;
    }
    return KEEPER_DIED;
}

/* One order from whoever holds the other end; false: nobody holds it any more,
 * or it was the last. */
static bool take_order(struct kept *k)
{
    struct keeper_answer answer = {KEEPER_DONE, 0};
    enum keeper_order order;

    if (recv(CONTROL_FD, &order, sizeof order, 0) != (ssize_t)sizeof order)
        return false;
    if (order == KEEPER_QUIT)
        return false;
    answer.result = obey(k, order);
    answer.pid = k->server;
    return send(CONTROL_FD, &answer, sizeof answer, MSG_NOSIGNAL) > 0;
}

static void keep(struct kept *k)
{
    bool goes_on = true;

    while (goes_on) {
        struct pollfd watched[] = {
            {.fd = CONTROL_FD, .events = POLLIN},
            {.fd = k->output, .events = POLLIN},
        };

        if (poll(watched, 2, -1) < 0)
            continue; /* EINTR */
        if (watched[1].revents && drain(k) == 0)
            (void)bury_server(k);
        if (watched[0].revents)
            goes_on = take_order(k);
    }
    (void)end_server(k);
}

/* The keeper keeps nothing of the test open (a connection that the test closes
 * must close), stands apart from its process group (libcheck kills that group
 * after each test) and hands no odd signal settings to the server. */
static void stand_apart(int control)
{
    sigset_t none;
    int null;

    (void)setsid();
    for (int i = 1; i < NSIG; i++)
        (void)signal(i, SIG_DFL); /* refused for SIGKILL and its like */
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    if (control != CONTROL_FD)
        (void)dup2(control, CONTROL_FD);
    (void)close_range(CONTROL_FD + 1, ~0u, 0);
    (void)fcntl(CONTROL_FD, F_SETFD, FD_CLOEXEC);
    null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        (void)dup2(null, fd);
    (void)close(null);
}

/* Removes the log and the files that the command line names. Returns whether the folder had no
 * others: most servers then need no process of rm. */
static bool remove_folder(const char *folder, const char *log_path, char *const *argv)
{
    size_t len = strlen(folder);

    (void)unlink(log_path);
    for (; *argv; argv++)
        if (strncmp(*argv, folder, len) == 0 && (*argv)[len] == '/')
            (void)unlink(*argv);
    return rmdir(folder) == 0;
}

static _Noreturn void become_keeper(int control, const char *folder,
                                    const char *log_path, char *const *argv)
{
    struct kept kept = {
        .log_path = log_path,
        .argv = argv,
        .log = -1,
        .output = -1,
    };

    stand_apart(control);
    keep(&kept);
    if (remove_folder(folder, log_path, argv))
        _exit(0);
    /* rm keeps the control socket: it ends with rm, which is how keeper_close
     * knows that the folder has gone. */
    (void)fcntl(CONTROL_FD, F_SETFD, 0);
    (void)execlp("rm", "rm", "-rf", "--", folder, (char *)NULL);
    _exit(1);
}

/* ---- the test's process -------------------------------------------------- */

bool keeper_open(struct keeper *k, const char *folder, const char *log,
                 char *const *argv)
{
    struct timeval patience = {.tv_sec = ANSWER_SECONDS};
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return false;
    k->opener = getpid();
    k->pid = fork();
    if (k->pid == 0)
        become_keeper(ends[1], folder, log, argv);
    (void)close(ends[1]);
    k->control = ends[0];
    (void)setsockopt(k->control, SOL_SOCKET, SO_RCVTIMEO, &patience,
                     sizeof patience);
    if (k->pid > 0)
        return true;
    (void)close(k->control);
    return false;
}

/* recv, and again after a signal. */
static ssize_t receive(int fd, void *ptr, size_t len)
{
    ssize_t n;

    do
        n = recv(fd, ptr, len, 0);
    while (n < 0 && errno == EINTR);
    return n;
}

struct keeper_answer keeper_order(struct keeper *k, enum keeper_order order)
{
    struct keeper_answer answer;
    struct keeper_answer lost = {KEEPER_LOST, 0};

    if (send(k->control, &order, sizeof order, MSG_NOSIGNAL) < 0 ||
        receive(k->control, &answer, sizeof answer) != (ssize_t)sizeof answer)
        return lost;
    return answer;
}

void keeper_close(struct keeper *k)
{
    enum keeper_order order = KEEPER_QUIT;
    char end;

    (void)send(k->control, &order, sizeof order, MSG_NOSIGNAL);
    (void)receive(k->control, &end, sizeof end);
    (void)close(k->control);
    if (k->opener != getpid())
        return; /* the opener reaps it, or init does */
    while (waitpid(k->pid, NULL, 0) < 0 && errno == EINTR)
        ;
}
