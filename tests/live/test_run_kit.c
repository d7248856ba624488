/* `holdfast` as a process whose words are awaited. See test_run_kit.h. */
#include "tests/live/test_run_kit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/local.h"
#include "tests/support/witness.h"

#ifndef HF_BUILD
#define HF_BUILD "build"
#endif

#define ARGS_MAX 64
#define PROCESSES_MAX 64
#define TEXT_MAX (1 << 20)

struct process {
    pid_t pid;
    int in;
    int fd[4];                  /* OUT, ERR, STATUS */
    char *text[4];              /* read from there and not yet handed out */
    size_t len[4];
    char *line;
    bool is_reaped;
    bool stays_deaf;            /* nothing reads standard error */
    int status;
};

static struct process processes[PROCESSES_MAX];
static size_t process_count;

/* ---- starting ---- */

static struct process *new_process(void)
{
    struct process *p = &processes[process_count++];

    ck_assert_uint_le(process_count, PROCESSES_MAX);
    *p = (struct process){.in = -1, .fd = {-1, -1, -1, -1}};
    for (int i = OUT; i <= STATUS; i++)
        p->text[i] = local_new(TEXT_MAX + 1);
    p->line = local_new(TEXT_MAX + 1);
    return p;
}

static void name_server(struct server *s)
{
    char url[SERVER_URL_MAX];

    if (s)
        (void)setenv("HOLDFAST_URL", server_url(s, url), 1);
    (void)unsetenv("REDIS_URL");
}

/* In the background of a shell, INT and QUIT are ignored, and HUP behind
 * nohup(1): not our matter. */
static void prepare(struct server *s)
{
    (void)signal(SIGHUP, SIG_DFL);
    (void)signal(SIGINT, SIG_DFL);
    (void)signal(SIGQUIT, SIG_DFL);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* gone with a test that fails */
    name_server(s);
}

/* The child's ends become 0 to 3. */
static _Noreturn void become(struct server *s, char *const *argv,
                             const int ends[4])
{
    for (int i = 0; i < 4; i++)
        if (dup2(ends[i], i) < 0)
            _exit(99);
    prepare(s);
    (void)execvp(argv[0], argv);
    _exit(99);
}

static void make_pipe(int *ours, int *theirs, bool we_read)
{
    int fd[2];

    ck_assert_int_eq(pipe2(fd, O_CLOEXEC), 0);
    *ours = we_read ? fd[0] : fd[1];
    *theirs = we_read ? fd[1] : fd[0];
    /* Out of the way of the numbers that the child uses. */
    *theirs = fcntl(*theirs, F_DUPFD_CLOEXEC, 20);
    (void)close(we_read ? fd[1] : fd[0]);
}

static void make_socket(int *ours, int *its)
{
    int fd[2];

    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
    *ours = fd[0];
    *its = fd[1];
}

static pid_t plain_fork(void)
{
    return fork();
}

/* As fork, but the child is PID 1. */
static pid_t fork_init(void)
{
    return (pid_t)syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, NULL, NULL, NULL,
                          NULL);
}

static struct process *start_with(struct server *s, char *const *argv,
                                  bool is_socket, pid_t (*new_child)(void))
{
    struct process *p = new_process();
    int ends[4];

    make_pipe(&p->in, &ends[0], false);
    for (int i = OUT; i <= STATUS; i++)
        if (i == ERR && is_socket)
            make_socket(&p->fd[i], &ends[i]);
        else
            make_pipe(&p->fd[i], &ends[i], true);
    p->pid = new_child();
    if (p->pid == 0)
        become(s, argv, ends);
    for (int i = 0; i < 4; i++)
        (void)close(ends[i]);
    return p;
}

struct process *start(struct server *s, char *const *argv)
{
    return start_with(s, argv, false, plain_fork);
}

/* A process that was not made is not killed by forget_all. */
struct process *start_as_init(struct server *s, char *const *argv)
{
    struct process *p = start_with(s, argv, false, fork_init);

    p->is_reaped = p->pid < 0;
    return p->is_reaped ? NULL : p;
}

struct process *start_deaf(struct server *s, char *const *argv, bool is_socket)
{
    static const char fill[] = "timeout 0.2 cat /dev/zero >&2; exec \"$0\" \"$@\"";
    struct process *p;
    char *all[ARGS_MAX + 4] = {(char *)"sh", (char *)"-c", (char *)fill};
    size_t n = 3;

    for (; *argv && n < ARGS_MAX + 3; argv++)
        all[n++] = *argv;
    ck_assert_ptr_null(*argv);
    p = start_with(s, all, is_socket, plain_fork);
    p->stays_deaf = true;
    return p;
}

static struct process *start_words(struct server *s, const char *program, va_list list)
{
    char *argv[ARGS_MAX] = {(char *)program};
    size_t n = 1;

    while (n < ARGS_MAX && (argv[n] = va_arg(list, char *)))
        n++;
    ck_assert_uint_lt(n, ARGS_MAX);
    return start(s, argv);
}

struct process *holdfast(struct server *s, ...)
{
    struct process *p;
    va_list list;

    va_start(list, s);
    p = start_words(s, HF_BUILD "/holdfast", list);
    va_end(list);
    return p;
}

struct process *holdfast_resp(struct server *s, ...)
{
    struct process *p;
    va_list list;

    va_start(list, s);
    p = start_words(s, HF_BUILD "/holdfast-resp", list);
    va_end(list);
    return p;
}

struct process *start_on_terminal(struct server *s, char *const *argv)
{
    struct process *p = new_process();
    int master;

    p->pid = forkpty(&master, NULL, NULL, NULL);
    if (p->pid == 0) {
        prepare(s);
        (void)execvp(argv[0], argv);
        _exit(99);
    }
    (void)fcntl(master, F_SETFD, FD_CLOEXEC);
    p->in = master;
    p->fd[OUT] = fcntl(master, F_DUPFD_CLOEXEC, 0);
    return p;
}

pid_t pid_of(const struct process *p)
{
    return p->pid;
}

/* ---- talking ---- */

static bool is_readable(const struct process *p, enum stream stream, int64_t until_ms)
{
    struct pollfd poll_fd = {.fd = p->fd[stream], .events = POLLIN};
    int64_t left = until_ms - local_now_ms();

    return poll(&poll_fd, 1, left > 0 ? (int)left : 0) > 0;
}

/* A pseudo terminal whose other side is closed reads as EIO. */
static bool read_more(struct process *p, enum stream stream, int64_t until_ms)
{
    ssize_t n;

    if (!is_readable(p, stream, until_ms))
        ck_abort_msg("nothing more on stream %d; so far: %s", stream,
                     p->text[stream]);
    n = read(p->fd[stream], p->text[stream] + p->len[stream],
             TEXT_MAX - p->len[stream]);
    if (n > 0)
        p->len[stream] += (size_t)n;
    p->text[stream][p->len[stream]] = '\0';
    return n > 0;
}

/* Its standard error so far, for the message of a failed test. */
static const char *what_it_said(struct process *p)
{
    int64_t until_ms = local_now_ms() + 1000;

    while (p->fd[ERR] >= 0 && is_readable(p, ERR, until_ms) && read_more(p, ERR, until_ms))
        continue;
    return p->text[ERR] ? p->text[ERR] : "";
}

/* A process that has ended is a failure with a message, and not the end of the test by
 * SIGPIPE. */
void say(struct process *p, const char *text)
{
    sigset_t before;
    ssize_t n;
    int err;

    witness_writes(&before);
    n = write(p->in, text, strlen(text));
    err = errno;
    witness_written(&before);
    ck_assert_msg(n == (ssize_t)strlen(text), "nothing reads '%s' (%s); standard error: %s", text,
                  strerror(err), what_it_said(p));
}

void shut(struct process *p)
{
    if (p->in >= 0)
        (void)close(p->in);
    p->in = -1;
}

void deafen(struct process *p, enum stream stream)
{
    (void)close(p->fd[stream]);
    p->fd[stream] = -1;
}

/* Moves the next whole line to p->line. */
static bool take_line(struct process *p, enum stream stream)
{
    char *text = p->text[stream];
    char *end = memchr(text, '\n', p->len[stream]);
    size_t len = end ? (size_t)(end - text) : 0;

    if (!end)
        return false;
    memcpy(p->line, text, len);
    p->line[len] = '\0';
    p->len[stream] -= len + 1;
    memmove(text, end + 1, p->len[stream] + 1);
    return true;
}

const char *await_either(struct process *p, enum stream stream, const char *part,
                         const char *other)
{
    int64_t until_ms = local_now_ms() + PATIENCE_MS;

    for (;;) {
        while (take_line(p, stream))
            if (strstr(p->line, part) || strstr(p->line, other))
                return p->line;
        if (!read_more(p, stream, until_ms))
            ck_abort_msg("stream %d ended before \"%s\" came; standard error: "
                         "%s", stream, part, what_it_said(p));
    }
}

const char *await_line(struct process *p, enum stream stream, const char *part)
{
    return await_either(p, stream, part, part);
}

const char *await_first(struct process *p, enum stream stream)
{
    int64_t until_ms = local_now_ms() + PATIENCE_MS;

    while (!take_line(p, stream))
        if (!read_more(p, stream, until_ms))
            return NULL;
    return p->line;
}

const char *await_end(struct process *p, enum stream stream)
{
    int64_t until_ms = local_now_ms() + PATIENCE_MS;

    while (read_more(p, stream, until_ms))
        continue;
    return p->text[stream];
}

bool is_ended(struct process *p, enum stream stream)
{
    struct pollfd poll_fd = {.fd = p->fd[stream], .events = POLLIN};

    while (poll(&poll_fd, 1, 0) > 0)
        if (!read_more(p, stream, 0))
            return true;
    return false;
}

/* ---- ending ---- */

/* Reads meanwhile what it writes, because a full pipe would stop it. */
static bool await_exit(struct process *p, int pidfd)
{
    int64_t until_ms = local_now_ms() + PATIENCE_MS;
    struct pollfd fds[] = {{.fd = pidfd, .events = POLLIN},
                           [OUT] = {.fd = p->fd[OUT], .events = POLLIN},
                           [ERR] = {.fd = p->stays_deaf ? -1 : p->fd[ERR], .events = POLLIN}};
    int64_t left_ms;

    while (!fds[0].revents && (left_ms = until_ms - local_now_ms()) > 0 &&
           poll(fds, 3, (int)left_ms) > 0)
        for (int i = OUT; i <= ERR; i++)
            if (fds[i].revents && (p->len[i] == TEXT_MAX || !read_more(p, (enum stream)i, until_ms)))
                fds[i].fd = -1; /* poll ignores it */
    return fds[0].revents != 0;
}

int finish(struct process *p)
{
    int pidfd = pidfd_open(p->pid, 0);

    if (!p->is_reaped && !await_exit(p, pidfd))
        ck_abort_msg("process %d does not end; standard error: %s", (int)p->pid, what_it_said(p));
    (void)close(pidfd);
    if (!p->is_reaped)
        ck_assert_int_eq(waitpid(p->pid, &p->status, 0), p->pid);
    p->is_reaped = true;
    if (WIFSIGNALED(p->status))
        return 1000 + WTERMSIG(p->status);
    return WEXITSTATUS(p->status);
}

/* KILL takes the command with it (PR_SET_PDEATHSIG). */
static void forget_all(void)
{
    for (size_t i = 0; i < process_count; i++) {
        struct process *p = &processes[i];

        if (!p->is_reaped && kill(p->pid, SIGKILL) == 0)
            (void)waitpid(p->pid, NULL, 0);
        shut(p);
        for (int k = OUT; k <= STATUS; k++) {
            if (p->fd[k] >= 0)
                (void)close(p->fd[k]);
            free(p->text[k]);
        }
        free(p->line);
    }
    process_count = 0;
}

/* ---- looking ---- */

const char *member(const char *line, const char *key)
{
    static char value[256];
    char pattern[64];
    const char *at;

    (void)snprintf(pattern, sizeof pattern, "\"%s\":", key);
    at = strstr(line, pattern);
    if (!at)
        ck_abort_msg("no member %s in %s", key, line);
    at += strlen(pattern);
    at += *at == '"';
    (void)snprintf(value, sizeof value, "%.*s", (int)strcspn(at, "\",}"), at);
    return value;
}

static char state_of(pid_t pid)
{
    char path[64], text[512] = "";
    const char *end;
    FILE *file;

    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    file = fopen(path, "r");
    if (!file)
        return 'X';
    (void)!fread(text, 1, sizeof text - 1, file);
    (void)fclose(file);
    end = strrchr(text, ')');
    return end ? end[2] : 'X';
}

bool is_dead(pid_t pid)
{
    return strchr("ZX", state_of(pid)) != NULL;
}

void await_state(pid_t pid, char state)
{
    int64_t until_ms = local_now_ms() + PATIENCE_MS;

    while (state_of(pid) != state) {
        if (local_now_ms() > until_ms)
            ck_abort_msg("process %d is %c, not %c", (int)pid, state_of(pid),
                         state);
        local_poll_rest();
    }
}

void hold_by_other(const char *name, int ttl_ms)
{
    (void)server_ask(server, "HSET %s " STRANGER " 1", name);
    (void)server_ask(server, "PEXPIRE %s %d", name, ttl_ms);
}

/* ---- the suite ---- */

static void empty_server(void)
{
    server_resume(server); /* a test that failed may have left it so */
    (void)server_ask(server, "REPLICAOF NO ONE");
    (void)server_ask(server, "FLUSHALL");
}

TCase *run_case(Suite *suite, const char *name)
{
    TCase *c = tcase_create(name);

    tcase_set_timeout(c, 60);
    tcase_add_checked_fixture(c, empty_server, forget_all);
    suite_add_tcase(suite, c);
    return c;
}

TCase *run_case_in(Suite *suite, const char *name, void (*begin)(void),
                   void (*end)(void))
{
    TCase *c = run_case(suite, name);

    tcase_add_unchecked_fixture(c, begin, end);
    return c;
}

int run_suite(Suite *suite)
{
    SRunner *r = srunner_create(suite);
    int failed;

    server = server_start(NULL);
    if (!server) {
        srunner_free(r);
        return 77;
    }
    srunner_run_all(r, CK_ENV);
    failed = srunner_ntests_failed(r);
    srunner_free(r);
    stop_server();
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
