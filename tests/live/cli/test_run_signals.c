/* `holdfast run` and signals: while waiting, on to the command and its group,
 * on a terminal, and when holdfast itself is killed. That a process is gone is
 * seen by the end of a pipe that it held. */
#include "tests/live/test_run_kit.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "cli/base/signals.h"
#include "tests/support/local.h"
#include "tests/support/proxy.h"
#include "tests/support/suite.h"

#define SH "sh", "-c"
#define HOLDFAST HF_BUILD "/holdfast"

/* ---- this program in other roles ---- */

static char *self(void)
{
    static char path[256];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);

    ck_assert_int_gt(n, 0);
    path[n] = '\0';
    return path;
}

static void say_line(const char *line)
{
    (void)puts(line);
    (void)fflush(stdout);
}

/* ---- while waiting ---- */

static struct process *start_waiting(void)
{
    struct process *p;

    hold_by_other("x", 60000);
    p = holdfast(server, "run", "--status-fd", "3", "x", "echo", "ran", NULL);
    (void)await_line(p, STATUS, "\"waiting\"");
    return p;
}

/* And nothing of it is left: nobody listens, nobody takes the lock later. */
START_TEST(signal_ends_the_wait_at_once)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGQUIT};
    struct process *p = start_waiting();

    ck_assert_int_eq(kill(pid_of(p), signals[_i]), 0);
    ck_assert_int_eq(finish(p), 1000 + signals[_i]);
    ck_assert_str_eq(await_end(p, OUT), "");
    ck_assert_str_eq(await_end(p, ERR), "");
    server_await(server, PATIENCE_MS, "redisson_lock__channel:{x} 0",
                 "PUBSUB NUMSUB redisson_lock__channel:{x}");
    ck_assert_str_eq(server_ask(server, "HLEN x"), "1");
}
END_TEST

START_TEST(signals_for_a_command_do_not_end_the_wait)
{
    struct process *p = start_waiting();

    ck_assert_int_eq(kill(pid_of(p), SIGUSR1), 0);
    ck_assert_int_eq(kill(pid_of(p), SIGUSR2), 0);
    await_state(pid_of(p), 'S'); /* both are dealt with: none is the command's */
    (void)server_ask(server, "DEL x");
    (void)server_ask(server, "PUBLISH redisson_lock__channel:{x} 0");
    ck_assert_int_eq(finish(p), 0);
    ck_assert_str_eq(await_end(p, OUT), "ran\n");
}
END_TEST

/* It came while we waited, and is seen in one turn of the loop with the grant:
 * USR1 means nothing then, and after TERM the lock is given back. */
START_TEST(signal_that_comes_with_the_grant_is_not_for_the_command)
{
    struct proxy *proxy = proxy_start(server_port(server));
    struct process *p;
    uint64_t count;
    char url[64];

    (void)snprintf(url, sizeof url, "redis://127.0.0.1:%d", proxy_port(proxy));
    hold_by_other("x", 60000);
    p = holdfast(NULL, "run", "-u", url, "--status-fd", "3", "x", self(),
                 "--listener", NULL);
    (void)await_line(p, STATUS, "\"waiting\"");
    proxy_hold(proxy, PROXY_TO_SERVER, true);
    (void)server_ask(server, "DEL x");
    (void)server_ask(server, "PUBLISH redisson_lock__channel:{x} 0");
    ck_assert(proxy_await(proxy, PROXY_TO_SERVER, PROXY_KEPT, 1, PATIENCE_MS));
    proxy_hold(proxy, PROXY_TO_CLIENT, true);
    proxy_hold(proxy, PROXY_TO_SERVER, false);
    server_await(server, PATIENCE_MS, "1", "EXISTS x");
    ck_assert(proxy_await(proxy, PROXY_TO_CLIENT, PROXY_KEPT, 1, PATIENCE_MS));
    ck_assert_int_eq(kill(pid_of(p), SIGSTOP), 0);
    await_state(pid_of(p), 'T');
    ck_assert_int_eq(kill(pid_of(p), _i == 0 ? SIGUSR1 : SIGTERM), 0);
    count = proxy_count(proxy, PROXY_TO_CLIENT, PROXY_PASSED);
    proxy_hold(proxy, PROXY_TO_CLIENT, false);
    ck_assert(proxy_await(proxy, PROXY_TO_CLIENT, PROXY_PASSED, count + 1,
                          PATIENCE_MS));
    ck_assert_int_eq(kill(pid_of(p), SIGCONT), 0);
    if (_i == 0)
        (void)await_line(p, OUT, "up");
    shut(p);
    ck_assert_int_eq(finish(p), _i == 0 ? 9 : 1000 + SIGTERM);
    ck_assert_str_eq(await_end(p, OUT), "");
    ck_assert_str_eq(server_ask(server, "EXISTS x"), "0");
    proxy_stop(proxy);
}
END_TEST

START_TEST(ignored_signals_stay_ignored_while_waiting)
{
    char *argv[] = {(char *)"sh", (char *)"-c",
                    (char *)"trap '' HUP; exec " HOLDFAST
                    " run --status-fd 3 x true", NULL};
    struct process *p;

    hold_by_other("x", 60000);
    p = start(server, argv);
    (void)await_line(p, STATUS, "\"waiting\"");
    ck_assert_int_eq(kill(pid_of(p), SIGHUP), 0);
    ck_assert_int_eq(kill(pid_of(p), SIGTERM), 0);
    ck_assert_int_eq(finish(p), 1000 + SIGTERM);
}
END_TEST

/* The answer that grants the lock is still on its way. */
START_TEST(lock_that_is_granted_while_we_cancel_is_released)
{
    struct proxy *proxy = proxy_start(server_port(server));
    struct process *p;
    char url[64];

    (void)snprintf(url, sizeof url, "redis://127.0.0.1:%d", proxy_port(proxy));
    proxy_delay(proxy, PROXY_TO_CLIENT, 200);
    p = holdfast(NULL, "run", "-u", url, "x", "echo", "ran", NULL);
    server_await(server, PATIENCE_MS, "1", "EXISTS x");
    ck_assert_int_eq(kill(pid_of(p), SIGTERM), 0);
    ck_assert_int_eq(finish(p), 1000 + SIGTERM);
    ck_assert_str_eq(server_ask(server, "EXISTS x"), "0");
    ck_assert_str_eq(await_end(p, OUT), "");
    proxy_stop(proxy);
}
END_TEST

/* The server accepts connections and says nothing. */
START_TEST(signal_ends_connecting)
{
    struct process *p;
    int port;
    int fd = local_listen(&port);
    char url[64];

    (void)snprintf(url, sizeof url, "redis://127.0.0.1:%d", port);
    p = holdfast(NULL, "run", "-u", url, "x", "true", NULL);
    await_state(pid_of(p), 'S');
    ck_assert_int_eq(kill(pid_of(p), SIGTERM), 0);
    ck_assert_int_eq(finish(p), 1000 + SIGTERM);
    local_close(fd);
}
END_TEST

/* ---- on to the command ---- */

static const struct {
    int number;
    const char *name;
} forwarded[] = {{SIGTERM, "TERM"}, {SIGINT, "INT"},   {SIGHUP, "HUP"},
                 {SIGQUIT, "QUIT"}, {SIGUSR1, "USR1"}, {SIGUSR2, "USR2"},
                 {SIGCONT, "CONT"}};

/* This program as a command that says which signals it gets, until its input
 * ends. A shell's traps and reads get into each other's way. */
static int be_listener(void)
{
    struct pollfd fds[2] = {{.fd = STDIN_FILENO, .events = POLLIN},
                            {.events = POLLIN}};
    struct signalfd_siginfo info;
    sigset_t all;
    char c;

    (void)sigfillset(&all);
    (void)sigprocmask(SIG_BLOCK, &all, NULL);
    fds[1].fd = signalfd(-1, &all, 0);
    say_line("up");
    while (poll(fds, 2, -1) > 0) {
        if (fds[1].revents && read(fds[1].fd, &info, sizeof info) > 0)
            say_line(sigabbrev_np((int)info.ssi_signo));
        else if (read(STDIN_FILENO, &c, 1) <= 0)
            return 9;
    }
    return 99;
}

START_TEST(signal_reaches_the_command_and_the_lock_stays)
{
    struct process *p =
        holdfast(server, "run", "x", self(), "--listener", NULL);

    (void)await_line(p, OUT, "up");
    ck_assert_int_eq(kill(pid_of(p), forwarded[_i].number), 0);
    (void)await_line(p, OUT, forwarded[_i].name);
    ck_assert_str_eq(server_ask(server, "HLEN x"), "1");
    shut(p);
    ck_assert_int_eq(finish(p), 9);
    ck_assert_str_eq(server_ask(server, "EXISTS x"), "0");
}
END_TEST

/* RUN-10. The server is busy for longer than a signal may take that meets no command. */
START_TEST(release_after_a_stopped_command_awaits_a_busy_server)
{
    struct proxy *proxy = proxy_start(server_port(server));
    struct process *p;
    char url[64];

    (void)snprintf(url, sizeof url, "redis://127.0.0.1:%d", proxy_port(proxy));
    p = holdfast(NULL, "run", "-u", url, "x", self(), "--listener", NULL);
    (void)await_line(p, OUT, "up");
    ck_assert_int_eq(kill(pid_of(p), SIGTERM), 0);
    (void)await_line(p, OUT, "TERM");
    proxy_hold(proxy, PROXY_TO_SERVER, true);
    shut(p);
    ck_assert(proxy_await(proxy, PROXY_TO_SERVER, PROXY_KEPT, 1, PATIENCE_MS));
    local_rest_us(3000 * CLI_SIGNALS_LIMIT_MS);
    proxy_hold(proxy, PROXY_TO_SERVER, false);
    ck_assert_int_eq(finish(p), 9);
    ck_assert_str_eq(server_ask(server, "EXISTS x"), "0");
    proxy_stop(proxy);
}
END_TEST

/* A pipe that this test reads, so that the text is awaited. The command, which would tell
 * of any signal, does not get this one. */
START_TEST(usr1_writes_a_dump_instead_of_reaching_the_command)
{
    char folder[] = "/tmp/holdfast-dump-XXXXXX", path[64], text[65536];
    struct process *p;
    size_t len = 0;
    ssize_t n;
    int fd;

    ck_assert_ptr_nonnull(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/dump", folder);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    fd = open(path, O_RDWR | O_CLOEXEC);
    p = holdfast(server, "run", "--dump", path, "x", self(), "--listener", NULL);
    (void)await_line(p, OUT, "up");
    ck_assert_int_eq(kill(pid_of(p), SIGUSR1), 0);
    do {
        n = read(fd, text + len, sizeof text - len - 1);
        ck_assert_int_gt(n, 0);
        len += (size_t)n;
        text[len] = '\0';
    } while (!strstr(text, "hold of owner "));
    ck_assert_ptr_nonnull(strstr(text, "lock 'x': "));
    ck_assert_int_eq(kill(pid_of(p), SIGUSR2), 0);
    ck_assert_str_eq(await_line(p, OUT, "USR"), "USR2");
    shut(p);
    ck_assert_int_eq(finish(p), 9);
    (void)close(fd);
    (void)unlink(path);
    (void)rmdir(folder);
}
END_TEST

START_TEST(dump_that_cannot_be_written_is_reported)
{
    struct process *p = holdfast(server, "run", "--dump", "/dev/full", "x", self(),
                                 "--listener", NULL);

    (void)await_line(p, OUT, "up");
    ck_assert_int_eq(kill(pid_of(p), SIGUSR1), 0);
    ck_assert_ptr_nonnull(strstr(await_line(p, ERR, "USR1"),
                                 "cannot write /dev/full: No space left on device"));
    shut(p);
    ck_assert_int_eq(finish(p), 9);
}
END_TEST

START_TEST(signal_that_ends_the_command_ends_us)
{
    struct process *p =
        holdfast(server, "run", "x", SH, "echo up; read go", NULL);

    (void)await_line(p, OUT, "up");
    ck_assert_int_eq(kill(pid_of(p), SIGTERM), 0);
    ck_assert_int_eq(finish(p), 1000 + SIGTERM);
    ck_assert_str_eq(server_ask(server, "EXISTS x"), "0");
}
END_TEST

/* As with timeout(1). */
START_TEST(command_that_ignores_a_forwarded_term_is_killed)
{
    struct process *p =
        holdfast(server, "run", "-k", "100ms", "x", SH,
                 "trap '' TERM; echo up; while :; do sleep 100; done", NULL);

    (void)await_line(p, OUT, "up");
    ck_assert_int_eq(kill(pid_of(p), SIGTERM), 0);
    (void)await_end(p, OUT);
    ck_assert_int_eq(finish(p), 128 + SIGKILL);
    ck_assert_str_eq(server_ask(server, "EXISTS x"), "0");
}
END_TEST

/* A stopped one gets TERM, too. */
START_TEST(stopped_command_can_be_ended)
{
    struct process *p =
        holdfast(server, "run", "x", SH, "echo $$; read go", NULL);
    pid_t command = (pid_t)atoi(await_line(p, OUT, ""));

    ck_assert_int_eq(kill(command, SIGSTOP), 0);
    await_state(command, 'T');
    ck_assert_int_eq(kill(pid_of(p), SIGTERM), 0);
    ck_assert_int_eq(finish(p), 1000 + SIGTERM);
}
END_TEST

/* ---- the whole group ---- */

/* All of them hold our standard output: its end is theirs. */
START_TEST(pipeline_leaves_no_process)
{
    struct process *p = holdfast(server, "run", "x", SH,
                                 "echo up; sleep 100 | sleep 100 2>&1", NULL);

    (void)await_line(p, OUT, "up");
    ck_assert_int_eq(kill(pid_of(p), SIGTERM), 0);
    (void)await_end(p, OUT);
    ck_assert_int_eq(finish(p), 1000 + SIGTERM);
}
END_TEST

/* What a stopped command leaves may tidy up, under the lock. */
START_TEST(lock_is_kept_while_others_of_the_group_tidy_up)
{
    struct process *p = holdfast(
        server, "run", "x", SH,
        "exec 4<&0; sh -c 'trap \"echo tidying; read go <&4; exit\" TERM;"
        "echo up;" AWAIT_SIGNALS "' & wait", NULL);

    (void)await_line(p, OUT, "up");
    ck_assert_int_eq(kill(pid_of(p), SIGTERM), 0);
    (void)await_line(p, OUT, "tidying");
    ck_assert_str_eq(server_ask(server, "HLEN x"), "1");
    shut(p);
    ck_assert_int_eq(finish(p), 1000 + SIGTERM);
    ck_assert_str_eq(server_ask(server, "EXISTS x"), "0");
}
END_TEST

START_TEST(stubborn_rest_is_killed_after_a_while)
{
    struct process *p = holdfast(
        server, "run", "-k", "100ms", "x", SH,
        "sh -c 'trap \"\" TERM; echo up; while :; do sleep 100; done' & wait",
        NULL);

    (void)await_line(p, OUT, "up");
    ck_assert_int_eq(kill(pid_of(p), SIGTERM), 0);
    (void)await_end(p, OUT);
    ck_assert_int_eq(finish(p), 1000 + SIGTERM);
}
END_TEST

/* timeout(1) makes a group of its own, as a shell's jobs and nested runs do. */
START_TEST(rest_in_other_groups_is_also_killed)
{
    struct process *p = holdfast(
        server, "run", "-k", "100ms", "x", SH,
        "timeout 100 sh -c 'echo up; while :; do sleep 100; done' & wait",
        NULL);

    (void)await_line(p, OUT, "up");
    ck_assert_int_eq(kill(pid_of(p), SIGTERM), 0);
    (void)await_end(p, OUT);
    ck_assert_int_eq(finish(p), 1000 + SIGTERM);
}
END_TEST

/* Who made a session of its own has left: a daemon that the command started. */
START_TEST(daemon_is_left_alone)
{
    struct process *p = holdfast(
        server, "run", "-k", "100ms", "x", SH,
        "exec 4<&0; setsid sh -c 'echo up; read go <&4; echo alive' & wait",
        NULL);

    (void)await_line(p, OUT, "up");
    ck_assert_int_eq(kill(pid_of(p), SIGTERM), 0);
    ck_assert_int_eq(finish(p), 1000 + SIGTERM);
    shut(p);
    ck_assert_str_eq(await_end(p, OUT), "alive\n");
}
END_TEST

/* As in a shell: what a command leaves in the background when it ends by
 * itself, it leaves. */
START_TEST(background_of_an_ended_command_is_left_alone)
{
    struct process *p = holdfast(server, "run", "-k", "0", "x", SH,
                                 "exec 4<&0; (read go <&4; echo alive) &"
                                 "exit 4", NULL);

    ck_assert_int_eq(finish(p), 4);
    ck_assert_str_eq(server_ask(server, "EXISTS x"), "0");
    shut(p);
    ck_assert_str_eq(await_end(p, OUT), "alive\n");
}
END_TEST

/* A shell that executes us may leave us children of its own. */
START_TEST(children_that_we_had_before_are_left_alone)
{
    char *argv[] = {(char *)"sh", (char *)"-c",
                    (char *)"exec 4<&0; (read go <&4; echo alive >&2) &"
                    "exec " HOLDFAST " run -k 0 x sh -c 'kill -TERM $$'",
                    NULL};
    struct process *p = start(server, argv);

    ck_assert_int_eq(finish(p), 128 + SIGTERM);
    shut(p);
    ck_assert_str_eq(await_end(p, ERR), "alive\n");
}
END_TEST

/* ---- when holdfast is killed ---- */

/* Its command dies with it, and the lock ends with its TTL. */
START_TEST(killed_holdfast_takes_the_command_along)
{
    struct process *p = holdfast(server, "run", "--ttl", "2s", "x", "sh",
                                 "-c", "echo up; read go", NULL);
    struct process *next;

    (void)await_line(p, OUT, "up");
    ck_assert_int_eq(kill(pid_of(p), SIGKILL), 0);
    ck_assert_int_eq(finish(p), 1000 + SIGKILL);
    (void)await_end(p, OUT);
    next = holdfast(server, "run", "x", "true", NULL);
    ck_assert_int_eq(finish(next), 0);
}
END_TEST

/* The only child of a process. */
static pid_t child_of(pid_t pid)
{
    char path[64];
    FILE *file;
    int child = 0;

    (void)snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid,
                   (int)pid);
    file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fscanf(file, "%d", &child), 1);
    (void)fclose(file);
    return child;
}

/* Whatever a command may be: one that ignores signals, forks all the time, has
 * groups and sessions of its own, a parent in between that has ended. All of them
 * hold our standard output. */
static const char *const wild[] = {
    "trap '' TERM INT HUP; while :; do sleep 0.003 & sleep 0.002; done",
    "setsid sh -c 'trap \"\" TERM; sleep 1000; :' & wait",
    "timeout 1000 sh -c 'sleep 1000; :' & sleep 1000",
    "(setsid sh -c 'sleep 1000 & sleep 1000; :' &) ; sleep 1000; :",
    "sh -c 'sleep 1000 & sleep 1000' | sh -c 'trap \"\" TERM; sleep 1000; :'",
    "setsid sh -c 'while :; do (sleep 0.01 &); sleep 0.01; done' & sleep 1000",
};

#define VICTIMS 3               /* holdfast, the guardian, the command */

/* HF_ROUNDS: how often each. */
static int rounds(void)
{
    const char *text = getenv("HF_ROUNDS");

    return text ? atoi(text) : 1;
}

static void kill_one_of_three(const char *script, int victim)
{
    char line[400];
    struct process *p, *next;
    pid_t pids[VICTIMS];

    (void)snprintf(line, sizeof line, "echo up; %s", script);
    p = holdfast(server, "run", "--ttl", "4500ms", "-k", "50ms", "x", SH, line,
                 NULL);
    (void)await_line(p, OUT, "up");
    pids[0] = pid_of(p);
    pids[1] = child_of(pids[0]);
    pids[2] = child_of(pids[1]);
    local_rest_us(rand() % 20000); /* anywhere in its work */
    ck_assert_int_eq(kill(pids[victim], SIGKILL), 0);
    next = holdfast(server, "run", "x", "echo", "held", NULL);
    (void)await_line(next, OUT, "held");
    if (victim > 0) /* it has our pipe until it ends itself, after the release */
        ck_assert_int_eq(finish(p), 128 + SIGKILL);
    ck_assert_msg(is_ended(p, OUT), "at work while another holds: %s", script);
    ck_assert_int_eq(finish(next), 0);
    ck_assert_int_eq(finish(p), victim == 0 ? 1000 + SIGKILL : 128 + SIGKILL);
}

/* One single KILL, and nobody is left who works. */
START_TEST(no_single_death_leaves_a_process_at_work)
{
    srand((unsigned)getpid()); /* other moments in each run */
    for (int i = 0; i < rounds(); i++)
        kill_one_of_three(wild[_i / VICTIMS], _i % VICTIMS);
}
END_TEST

/* ---- on a terminal ---- */

/* "pgrp tpgid" of the command: equal, if it is the foreground. */
#define GROUPS                                                                 \
    "read pid name state ppid pgrp sid tty tpgid rest < /proc/$$/stat;"        \
    "[ $pgrp = $tpgid ] && echo foreground || echo background;"

static struct process *on_terminal(const char *script)
{
    char *argv[] = {(char *)HOLDFAST, (char *)"run", (char *)"x", (char *)"sh",
                    (char *)"-c", (char *)script, NULL};

    return start_on_terminal(server, argv);
}

START_TEST(command_is_the_foreground)
{
    struct process *p = on_terminal(GROUPS "read go; echo read $go");

    (void)await_line(p, OUT, "foreground");
    say(p, "it\n");
    (void)await_line(p, OUT, "read it");
    ck_assert_int_eq(finish(p), 0);
}
END_TEST

/* A second one would be seen before the end of the input, which goes the same
 * way. */
START_TEST(control_c_arrives_once)
{
    char *argv[] = {(char *)HOLDFAST, (char *)"run", (char *)"x", self(),
                    (char *)"--listener", NULL};
    struct process *p = start_on_terminal(server, argv);

    (void)await_line(p, OUT, "up");
    say(p, "\003");
    (void)await_line(p, OUT, "INT");
    say(p, "\004");
    ck_assert_ptr_null(strstr(await_end(p, OUT), "INT"));
    ck_assert_int_eq(finish(p), 9);
}
END_TEST

START_TEST(control_c_ends_an_ordinary_command)
{
    struct process *p = on_terminal("echo up; read go");

    (void)await_line(p, OUT, "up");
    say(p, "\003");
    ck_assert_int_eq(finish(p), 1000 + SIGINT);
    ck_assert_str_eq(server_ask(server, "EXISTS x"), "0");
}
END_TEST

/* ---- Ctrl-C in a script ---- */

static const char *const shells[] = {"sh", "bash"};
static const char *const loops[] = {
    "while :; do " HOLDFAST " run x sh -c 'echo up; exec sleep 100';"
    "echo went on; done",
    "while :; do " HOLDFAST " run x sh -c 'echo up; exec sleep 100' | cat;"
    "echo went on; done",
    "while :; do " HOLDFAST " run --status-fd 1 held echo ran; echo went on;"
    "done",
};

/* As with flock(1): the loop ends, and the lock is released before. */
START_TEST(control_c_ends_a_scripts_loop)
{
    char *argv[] = {(char *)shells[_i % 2], (char *)"-c",
                    (char *)loops[_i / 2], NULL};
    struct process *p;

    hold_by_other("held", 60000);
    p = start_on_terminal(server, argv);
    (void)await_line(p, OUT, _i / 2 == 2 ? "\"waiting\"" : "up");
    say(p, "\003");
    ck_assert_int_eq(finish(p), 1000 + SIGINT);
    ck_assert_ptr_null(strstr(await_end(p, OUT), "went on"));
    server_await(server, PATIENCE_MS, "0", "EXISTS x");
}
END_TEST

/* With its output in a pipe the terminal stays with us, until the command
 * reads from it. */
START_TEST(terminal_is_passed_on_request)
{
    struct process *p = on_terminal("true");
    char *argv[] = {(char *)"sh", (char *)"-c",
                    (char *)HOLDFAST " run x sh -c '" GROUPS
                    "read go; echo read $go; " GROUPS "' | cat", NULL};

    ck_assert_int_eq(finish(p), 0);
    p = start_on_terminal(server, argv);
    (void)await_line(p, OUT, "background");
    say(p, "it\n");
    (void)await_line(p, OUT, "read it");
    (void)await_line(p, OUT, "foreground");
    ck_assert_int_eq(finish(p), 0);
}
END_TEST

/* ---- job control: this test is the shell ---- */

static void to_foreground(pid_t job)
{
    (void)tcsetpgrp(STDIN_FILENO, job);
    (void)kill(-job, SIGCONT);
}

/* Runs a job in the foreground; each time that it stops, says so, awaits a
 * line on the terminal and continues it in the foreground. */
static _Noreturn void be_shell(const char *script)
{
    char line[64];
    pid_t job;
    int status;

    (void)signal(SIGTTOU, SIG_IGN);
    job = fork();
    if (job == 0) {
        (void)setpgid(0, 0);
        (void)tcsetpgrp(STDIN_FILENO, getpid());
        (void)signal(SIGTTOU, SIG_DFL);
        (void)execl(HOLDFAST, "holdfast", "run", "--ttl", "4500ms", "-k", "100ms",
                    "x", "sh", "-c", script, (char *)NULL);
        _exit(99);
    }
    (void)setpgid(job, job);
    while (waitpid(job, &status, WUNTRACED) == job && WIFSTOPPED(status)) {
        (void)tcsetpgrp(STDIN_FILENO, getpgrp());
        say_line("shell: stopped");
        (void)!fgets(line, sizeof line, stdin);
        to_foreground(job);
    }
    (void)printf("shell: ended %d\n", WEXITSTATUS(status));
    (void)fflush(stdout);
    _exit(0);
}

static struct process *start_shell(const char *script)
{
    char *argv[] = {self(), (char *)"--shell", (char *)script, NULL};

    return start_on_terminal(server, argv);
}

START_TEST(control_z_stops_both_and_the_shell_continues_both)
{
    struct process *p = start_shell("echo up; read go; echo read $go; exit 5");

    (void)await_line(p, OUT, "up");
    say(p, "\032");
    (void)await_line(p, OUT, "shell: stopped");
    say(p, "fg\n");
    say(p, "again\n");
    (void)await_line(p, OUT, "read again");
    (void)await_line(p, OUT, "shell: ended 5");
    ck_assert_int_eq(finish(p), 0);
}
END_TEST

/* As the leader of a session there is no shell behind us: who would continue
 * us? */
START_TEST(control_z_without_a_shell_stops_no_process)
{
    struct process *p = on_terminal("echo up; read go; echo read $go; exit 5");

    (void)await_line(p, OUT, "up");
    say(p, "\032");
    say(p, "it\n");
    (void)await_line(p, OUT, "read it");
    ck_assert_int_eq(finish(p), 5);
}
END_TEST

/* Stopped, nobody renews: after the TTL somebody else may hold the lock, and
 * the command must not go on. */
START_TEST(holdfast_that_is_stopped_too_long_has_lost_the_lock)
{
    struct process *p = start_shell("echo up; read go; echo went on; exit 5");

    (void)await_line(p, OUT, "up");
    say(p, "\032");
    (void)await_line(p, OUT, "shell: stopped");
    server_await(server, PATIENCE_MS, "0", "EXISTS x");
    say(p, "fg\n");
    (void)await_line(p, OUT, "lost the lock x");
    (void)await_line(p, OUT, "shell: ended 122");
    ck_assert_int_eq(finish(p), 0);
}
END_TEST

/* SIGSTOP at holdfast alone cannot be helped: but the first thing after
 * SIGCONT is the clock. */
START_TEST(stopped_holdfast_kills_a_command_without_a_lock)
{
    struct process *p = holdfast(
        server, "run", "--ttl", "2s", "x", SH,
        "trap 'echo got CONT' CONT; echo up; " AWAIT_SIGNALS, NULL);

    (void)await_line(p, OUT, "up");
    ck_assert_int_eq(kill(pid_of(p), SIGSTOP), 0);
    server_await(server, PATIENCE_MS, "0", "EXISTS x");
    ck_assert_int_eq(kill(pid_of(p), SIGCONT), 0);
    ck_assert_str_eq(await_end(p, OUT), "");
    ck_assert_int_eq(finish(p), 122);
}
END_TEST

static void add_forwarding(Suite *s)
{
    TCase *waiting = run_case(s, "while waiting");
    TCase *command = run_case(s, "on to the command");

    tcase_add_loop_test(waiting, signal_ends_the_wait_at_once, 0, 3);
    tcase_add_test(waiting, signals_for_a_command_do_not_end_the_wait);
    tcase_add_loop_test(waiting,
                        signal_that_comes_with_the_grant_is_not_for_the_command,
                        0, 2);
    tcase_add_test(waiting, ignored_signals_stay_ignored_while_waiting);
    tcase_add_test(waiting, lock_that_is_granted_while_we_cancel_is_released);
    tcase_add_test(waiting, signal_ends_connecting);
    tcase_add_test(command, release_after_a_stopped_command_awaits_a_busy_server);
    tcase_add_loop_test(command, signal_reaches_the_command_and_the_lock_stays,
                        0, ROWS(forwarded));
    tcase_add_test(command, usr1_writes_a_dump_instead_of_reaching_the_command);
    tcase_add_test(command, dump_that_cannot_be_written_is_reported);
    tcase_add_test(command, signal_that_ends_the_command_ends_us);
    tcase_add_test(command, command_that_ignores_a_forwarded_term_is_killed);
    tcase_add_test(command, stopped_command_can_be_ended);
}

static void add_group(Suite *s)
{
    TCase *c = run_case(s, "the whole group");

    tcase_add_test(c, pipeline_leaves_no_process);
    tcase_add_test(c, lock_is_kept_while_others_of_the_group_tidy_up);
    tcase_add_test(c, stubborn_rest_is_killed_after_a_while);
    tcase_add_test(c, rest_in_other_groups_is_also_killed);
    tcase_add_test(c, daemon_is_left_alone);
    tcase_add_test(c, background_of_an_ended_command_is_left_alone);
    tcase_add_test(c, children_that_we_had_before_are_left_alone);
    tcase_add_test(c, killed_holdfast_takes_the_command_along);
    tcase_add_loop_test(c, no_single_death_leaves_a_process_at_work, 0,
                        VICTIMS * ROWS(wild));
}

static void add_terminal(Suite *s)
{
    TCase *c = run_case(s, "on a terminal");

    tcase_add_test(c, command_is_the_foreground);
    tcase_add_test(c, control_c_arrives_once);
    tcase_add_test(c, control_c_ends_an_ordinary_command);
    tcase_add_loop_test(c, control_c_ends_a_scripts_loop, 0, 6);
    tcase_add_test(c, terminal_is_passed_on_request);
    tcase_add_test(c, control_z_stops_both_and_the_shell_continues_both);
    tcase_add_test(c, control_z_without_a_shell_stops_no_process);
    tcase_add_test(c, holdfast_that_is_stopped_too_long_has_lost_the_lock);
    tcase_add_test(c, stopped_holdfast_kills_a_command_without_a_lock);
}

int main(int argc, char **argv)
{
    Suite *s;

    if (argc == 3 && strcmp(argv[1], "--shell") == 0)
        be_shell(argv[2]);
    if (argc == 2 && strcmp(argv[1], "--listener") == 0)
        return be_listener();
    s = suite_create("holdfast run: signals");
    add_forwarding(s);
    add_group(s);
    add_terminal(s);
    return run_suite(s);
}
