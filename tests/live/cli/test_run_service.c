/* run and ls as an operator finds them: below systemd, and before locks that other
 * programs have taken without a TTL. */
#include "tests/live/test_run_kit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/local.h"
#include "tests/support/suite.h"

#define HOLDFAST HF_BUILD "/holdfast"
#define TOKEN "c1f0a8d2e5b611eea5d70242ac120002"

/* ---- variables that name a process ---- */

static const struct {
    const char *before;         /* in the shell that executes holdfast; $$ is its pid */
    const char *prints;         /* what the command finds */
} variables[] = {
    {"export LISTEN_FDS=1 LISTEN_PID=$$", "L:mine W:"},
    {"export WATCHDOG_USEC=5000000 WATCHDOG_PID=$$", "L: W:mine"},
    {"export LISTEN_PID=$$ WATCHDOG_PID=$$", "L:mine W:mine"},
    {"export LISTEN_PID=1 WATCHDOG_PID=2", "L:1 W:2"},
    {"unset LISTEN_PID WATCHDOG_PID", "L: W:"},
};

START_TEST(variables_of_systemd_name_the_command)
{
    static const char command[] =
        "[ \"$LISTEN_PID\" = $$ ] && LISTEN_PID=mine; "
        "[ \"$WATCHDOG_PID\" = $$ ] && WATCHDOG_PID=mine; "
        "echo \"L:$LISTEN_PID W:$WATCHDOG_PID\"";
    char url[SERVER_URL_MAX], script[600];
    char *const argv[] = {(char *)"sh", (char *)"-c", script, (char *)"sh",
                          (char *)command, NULL};
    struct process *p;

    (void)snprintf(script, sizeof script,
                   "%s; exec " HOLDFAST " run -u %s x -- sh -c \"$1\"",
                   variables[_i].before, server_url(server, url));
    p = start(server, argv);
    (void)await_line(p, OUT, variables[_i].prints);
    ck_assert_int_eq(finish(p), 0);
}
END_TEST

START_TEST(sockets_of_systemd_are_passed_on)
{
    char url[SERVER_URL_MAX], script[600];
    char *const argv[] = {(char *)"sh", (char *)"-c", script, NULL};
    struct process *p;

    (void)snprintf(script, sizeof script,
                   "exec 3<<END\nfrom the socket\nEND\n"
                   "export LISTEN_FDS=1 LISTEN_PID=$$ LISTEN_FDNAMES=web; exec " HOLDFAST
                   " run -u %s x -- sh -c '[ $LISTEN_PID = $$ ] && "
                   "echo $LISTEN_FDS $LISTEN_FDNAMES: && cat <&3'",
                   server_url(server, url));
    p = start(server, argv);
    (void)await_line(p, OUT, "1 web:");
    (void)await_line(p, OUT, "from the socket");
    ck_assert_int_eq(finish(p), 0);
}
END_TEST

/* ---- notices ---- */

static char *self(void)
{
    static char path[400];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);

    ck_assert_int_gt(n, 0);
    path[n] = '\0';
    return path;
}

/* This program as a command: sends each argument as a notice, with its standard input if
 * that begins with FDSTORE, and "*N" N times. By itself it knows no abstract names. */
static int be_notifier(char **texts)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {{0}};
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0), in = STDIN_FILENO;

    (void)snprintf(at.sun_path, sizeof at.sun_path, "%s", getenv("NOTIFY_SOCKET"));
    if (connect(fd, (struct sockaddr *)&at, sizeof at) < 0)
        return 3;
    for (; *texts; texts++) {
        struct iovec part = {*texts, strlen(*texts)};
        struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};
        int times = **texts == '*' ? atoi(*texts + 1) : 1;

        if (strncmp(*texts, "FDSTORE", 7) == 0) {
            m.msg_control = &control;
            m.msg_controllen = sizeof control;
            control.head.cmsg_level = SOL_SOCKET;
            control.head.cmsg_type = SCM_RIGHTS;
            control.head.cmsg_len = CMSG_LEN(sizeof in);
            memcpy(CMSG_DATA(&control.head), &in, sizeof in);
        }
        while (times-- > 0)
            if (sendmsg(fd, &m, 0) < 0)
                return 4;
    }
    return 0;
}

/* The service manager: its socket, and what came last. */
static struct manager {
    char folder[64], path[80];
    int fd;
    char text[5000];
    pid_t sender;
    int passed;                 /* a descriptor; -1: none */
} manager;

static void start_manager(bool is_abstract)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    const int on = 1;
    size_t len;

    (void)strcpy(manager.folder, "/tmp/hf-notify-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(manager.folder));
    (void)snprintf(manager.path, sizeof manager.path, "%s%s/n", is_abstract ? "@" : "",
                   manager.folder);
    (void)strcpy(at.sun_path, manager.path);
    len = strlen(manager.path);
    if (is_abstract)
        at.sun_path[0] = '\0';
    manager.fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(manager.fd, (struct sockaddr *)&at,
                          (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len +
                                      !is_abstract)),
                     0);
    ck_assert_int_eq(setsockopt(manager.fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof on), 0);
    (void)setenv("NOTIFY_SOCKET", manager.path, 1);
    (void)setenv("RUNTIME_DIRECTORY", manager.folder, 1);
}

/* Nothing is left where the relay had its socket. A guardian removes it after its command,
 * whose end may be seen before. */
static void stop_manager(void)
{
    int64_t end_ms = local_now_ms() + PATIENCE_MS;

    (void)close(manager.fd);
    (void)unlink(manager.path);
    while (rmdir(manager.folder) < 0) {
        ck_assert_int_eq(errno, ENOTEMPTY);
        ck_assert_int_lt(local_now_ms(), end_ms);
        local_poll_rest();
    }
}

static void await_notice(void)
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec part = {manager.text, sizeof manager.text - 1};
    struct msghdr m = {.msg_iov = &part,
                       .msg_iovlen = 1,
                       .msg_control = &control,
                       .msg_controllen = sizeof control};
    struct pollfd p = {.fd = manager.fd, .events = POLLIN};
    struct ucred who = {0};
    ssize_t n;

    ck_assert_int_eq(poll(&p, 1, PATIENCE_MS), 1);
    n = recvmsg(manager.fd, &m, MSG_CMSG_CLOEXEC);
    ck_assert_int_ge(n, 0);
    manager.text[n] = '\0';
    manager.passed = -1;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c))
        if (c->cmsg_type == SCM_RIGHTS)
            memcpy(&manager.passed, CMSG_DATA(c), sizeof manager.passed);
        else
            memcpy(&who, CMSG_DATA(c), sizeof who);
    manager.sender = who.pid;
}

static void ck_assert_notice(const struct process *p, const char *text)
{
    await_notice();
    ck_assert_str_eq(manager.text, text);
    ck_assert_int_eq(manager.sender, pid_of(p));
}

static const struct {
    const char *sent, *arrives; /* NULL: nothing */
} notices[] = {
    {"READY=1", "READY=1"},
    {"READY=1\nSTATUS=up and running\n", "READY=1\nSTATUS=up and running\n"},
    {"READY=1\nMAINPID=77\nSTATUS=x", "READY=1\nSTATUS=x"},
    {"MAINPID=77\nREADY=1", "READY=1"},
    {"MAINPID=77", NULL},
    {"", NULL},
};

START_TEST(notice_comes_from_the_main_process)
{
    struct process *p;

    start_manager(_i % 2);
    p = holdfast(server, _i / 2 % 2 ? "elect" : "run", _i / 2 % 2 ? "--once" : "-q", "x",
                 self(), "--notify", notices[_i / 4].sent, "STOPPING=1", NULL);
    if (notices[_i / 4].arrives)
        ck_assert_notice(p, notices[_i / 4].arrives);
    ck_assert_notice(p, "STOPPING=1");
    ck_assert_int_eq(finish(p), 0);
    stop_manager();
}
END_TEST

START_TEST(descriptor_comes_with_its_notice)
{
    struct process *p;

    start_manager(false);
    p = holdfast(server, "run", "x", self(), "--notify", "FDSTORE=1\nFDNAME=web", NULL);
    ck_assert_notice(p, "FDSTORE=1\nFDNAME=web");
    ck_assert_int_ge(manager.passed, 0);
    (void)close(manager.passed);
    ck_assert_int_eq(finish(p), 0);
    stop_manager();
}
END_TEST

/* systemd is busy, and its queue is full; the command waits, and nothing is lost. */
START_TEST(notices_wait_for_a_busy_manager)
{
    struct process *p;

    start_manager(false);
    p = holdfast(server, "run", "--status-fd", "3", "x", self(), "--notify", "*300",
                 "READY=1", NULL);
    (void)await_line(p, STATUS, "\"acquired\"");
    for (int i = 0; i < 300; i++)
        ck_assert_notice(p, "*300");
    ck_assert_notice(p, "READY=1");
    ck_assert_int_eq(finish(p), 0);
    stop_manager();
}
END_TEST

/* How many notices a socket's queue has room for. */
static int queue_of_sockets(void)
{
    FILE *f = fopen("/proc/sys/net/unix/max_dgram_qlen", "re");
    int len = 0;

    ck_assert_ptr_nonnull(f);
    ck_assert_int_eq(fscanf(f, "%d", &len), 1);
    (void)fclose(f);
    return len + 1;
}

/* It is busy until the command has ended, and some of the notices have found no room. */
START_TEST(last_notices_wait_for_a_busy_manager)
{
    int count = queue_of_sockets() + 5;
    struct process *p;
    char some[20];

    (void)snprintf(some, sizeof some, "*%d", count);
    start_manager(false);
    p = holdfast(server, "run", "--status-fd", "3", "x", self(), "--notify", some,
                 "STOPPING=1", NULL);
    (void)await_line(p, STATUS, "\"exit\"");
    while (count-- > 0)
        ck_assert_notice(p, some);
    ck_assert_notice(p, "STOPPING=1");
    ck_assert_int_eq(finish(p), 0);
    stop_manager();
}
END_TEST

/* A run inside another has a relay of its own, whose notices the outer one relays. */
START_TEST(notice_of_a_nested_run_comes_from_the_outer_one)
{
    struct process *p;

    start_manager(false);
    p = holdfast(server, "run", "x", HOLDFAST, "run", "x", HOLDFAST, "run", "y", self(),
                 "--notify", "READY=1", NULL);
    ck_assert_notice(p, "READY=1");
    ck_assert_int_eq(finish(p), 0);
    stop_manager();
}
END_TEST

/* Its guardian removes the socket. */
START_TEST(killed_holdfast_leaves_no_socket)
{
    struct process *p;

    start_manager(false);
    p = holdfast(server, "run", "x", "sh", "-c", "echo up; read go", NULL);
    (void)await_line(p, OUT, "up");
    ck_assert_int_eq(kill(pid_of(p), SIGKILL), 0);
    (void)await_end(p, OUT); /* the guardian has killed the command */
    (void)finish(p);
    stop_manager();
}
END_TEST

/* Appends the only name in `path` that begins so. */
static void enter(char path[300], const char *prefix)
{
    DIR *d = opendir(path);
    size_t len = strlen(path);
    struct dirent *e;

    ck_assert_ptr_nonnull(d);
    while ((e = readdir(d)))
        if (e->d_name[0] != '.' && strncmp(e->d_name, prefix, strlen(prefix)) == 0)
            (void)snprintf(path + len, 300 - len, "/%.60s", e->d_name);
    (void)closedir(d);
    ck_assert_uint_gt(strlen(path), len);
}

/* The path of the relay's socket. */
static const char *relay_path(void)
{
    static char path[300];

    (void)strcpy(path, manager.folder);
    enter(path, "holdfast-");
    enter(path, "");
    return path;
}

static bool is_in_file(const char *file, const char *text)
{
    char line[600];
    FILE *f = fopen(file, "r");
    bool is_found = false;

    ck_assert_ptr_nonnull(f);
    while (!is_found && fgets(line, sizeof line, f))
        is_found = strstr(line, text) != NULL;
    (void)fclose(f);
    return is_found;
}

static mode_t mode_of(const char *path)
{
    struct stat st;

    ck_assert_int_eq(stat(path, &st), 0);
    return st.st_mode & 07777;
}

/* Only a command of root can become another user; then a stranger may not find it. */
START_TEST(socket_is_not_for_strangers)
{
    bool is_root = geteuid() == 0;
    char path[300];
    struct process *p;

    start_manager(false);
    p = holdfast(server, "run", "x", "sh", "-c", "echo $NOTIFY_SOCKET; read go", NULL);
    (void)await_line(p, OUT, manager.folder);
    (void)snprintf(path, sizeof path, "%s", relay_path());
    ck_assert_uint_eq(mode_of(path), is_root ? 0666 : 0600);
    ck_assert(is_in_file("/proc/net/unix", manager.path));
    ck_assert(!is_in_file("/proc/net/unix", path));
    *strrchr(path, '/') = '\0';
    ck_assert_uint_eq(mode_of(path), is_root ? 0711 : 0700);
    say(p, "go\n");
    ck_assert_int_eq(finish(p), 0);
    stop_manager();
}
END_TEST

/* From another user's process that is not below this run. */
static void send_as_nobody(const char *path)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        char *texts[] = {(char *)"READY=1", NULL};

        (void)setenv("NOTIFY_SOCKET", path, 1);
        _exit(setuid(65534) == 0 ? be_notifier(texts) : 5);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
}

/* Unless it runs below the command, which may have become another user. It must still run
 * when its notice is read, as systemd also requires. */
START_TEST(notice_of_a_stranger_is_ignored)
{
    struct process *p;

    if (geteuid() != 0)
        return; /* an ordinary user cannot become another one */
    start_manager(false);
    ck_assert_int_eq(chmod(manager.folder, 0755), 0);
    p = holdfast(server, "run", "x", self(), "--notify-as-nobody", NULL);
    (void)await_line(p, OUT, "up");
    send_as_nobody(relay_path());
    say(p, "go\n");
    ck_assert_notice(p, "STATUS=of the command");
    say(p, "go\n");
    ck_assert_int_eq(finish(p), 0);
    stop_manager();
}
END_TEST

static int be_notifier_as_nobody(void)
{
    char *texts[] = {(char *)"STATUS=of the command", NULL};
    char go[8];

    if (setuid(65534) < 0)
        return 5;
    (void)puts("up");
    (void)fflush(stdout);
    for (int i = 0; i < 2; i++) {
        if (read(STDIN_FILENO, go, sizeof go) < 1)
            return 6;
        if (i == 0 && be_notifier(texts) != 0)
            return 7;
    }
    return 0;
}

static void leave_manager(void)
{
    (void)unsetenv("NOTIFY_SOCKET");
    (void)unsetenv("RUNTIME_DIRECTORY");
}

/* ---- locks without a TTL ---- */

static const struct {
    const char *taken, *option;
} untimed[] = {
    {"SET x " TOKEN, "--value"},
    {"HSET x " STRANGER " 1", "-v"},
    {"HSET x mode write " STRANGER ":write 1", "--exclusive"},
};

START_TEST(waiter_reports_that_the_lock_never_expires)
{
    struct process *p;

    (void)server_ask(server, untimed[_i].taken);
    p = holdfast(server, "run", "-w", "200ms", untimed[_i].option, "x", "true", NULL);
    (void)await_line(p, ERR, "without a TTL, so it never expires");
    ck_assert_int_eq(finish(p), 75);
}
END_TEST

static const struct {
    const char *text;
    bool is_listed;             /* by ls --kind value */
} strings[] = {
    {TOKEN, true},
    {"Rk9PQkFSMTIzNDU2Nzg5MA==", true},
    {"short", false},
    {"12345678901234567", false},
    {"{\"json\":\"of.an.application\"}", false},
};

START_TEST(ls_lists_value_locks_without_a_ttl)
{
    struct process *p;

    (void)server_ask(server, "SET py:lock %s", strings[_i].text);
    p = holdfast(server, "ls", "--kind", "value", NULL);
    ck_assert_int_eq(strstr(await_end(p, OUT), "py:lock") != NULL,
                     strings[_i].is_listed);
    ck_assert_int_eq(finish(p), 0);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("run as a service");
    TCase *c = run_case(s, "operators");

    tcase_add_loop_test(c, variables_of_systemd_name_the_command, 0, ROWS(variables));
    tcase_add_test(c, sockets_of_systemd_are_passed_on);
    tcase_add_loop_test(c, waiter_reports_that_the_lock_never_expires, 0, ROWS(untimed));
    tcase_add_loop_test(c, ls_lists_value_locks_without_a_ttl, 0, ROWS(strings));
    c = run_case(s, "notices");
    tcase_add_checked_fixture(c, NULL, leave_manager);
    tcase_add_loop_test(c, notice_comes_from_the_main_process, 0, 4 * ROWS(notices));
    tcase_add_test(c, descriptor_comes_with_its_notice);
    tcase_add_test(c, notices_wait_for_a_busy_manager);
    tcase_add_test(c, last_notices_wait_for_a_busy_manager);
    tcase_add_test(c, notice_of_a_nested_run_comes_from_the_outer_one);
    tcase_add_test(c, killed_holdfast_leaves_no_socket);
    tcase_add_test(c, socket_is_not_for_strangers);
    tcase_add_test(c, notice_of_a_stranger_is_ignored);
    return s;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--notify") == 0)
        return be_notifier(argv + 2);
    if (argc > 1 && strcmp(argv[1], "--notify-as-nobody") == 0)
        return be_notifier_as_nobody();
    return run_suite(suite());
}
