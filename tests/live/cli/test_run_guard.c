/* The guardian of `holdfast run` at one certain moment: it has forked the command
 * and has not yet said so. A tracer stops it there. */
#include "tests/live/test_run_kit.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/lateness.h"
#include "tests/support/local.h"
#include "tests/support/suite.h"

/* ---- tracing ---- */

/* The next stop of a process that is traced; its signals are passed on. */
static int next_event(pid_t pid)
{
    int status;

    for (;;) {
        ck_assert_int_eq(waitpid(pid, &status, __WALL), pid);
        ck_assert(WIFSTOPPED(status));
        if (status >> 16 != 0)
            return status >> 16;
        ck_assert_int_eq(ptrace(PTRACE_CONT, pid, 0, WSTOPSIG(status)), 0);
    }
}

/* It forks, and stands still then, as does the child, which is returned. */
static pid_t await_fork(pid_t pid)
{
    unsigned long child = 0;

    ck_assert_int_eq(next_event(pid), PTRACE_EVENT_FORK);
    ck_assert_int_eq(ptrace(PTRACE_GETEVENTMSG, pid, 0, &child), 0);
    ck_assert_int_eq(next_event((pid_t)child), PTRACE_EVENT_STOP);
    return (pid_t)child;
}

static void let_go(pid_t pid)
{
    ck_assert_int_eq(ptrace(PTRACE_DETACH, pid, 0, 0), 0);
}

/* ---- the moment ---- */

struct moment {
    struct process *holdfast;
    pid_t guardian;             /* stopped */
    pid_t command;              /* runs */
};

/* holdfast waits for the lock while it is seized. False: nobody may trace here. */
static bool come_to(struct moment *m, const char *script)
{
    pid_t pid;

    hold_by_other("x", 60000);
    m->holdfast = holdfast(server, "run", "--status-fd", "3", "x", "sh", "-c",
                           script, NULL);
    (void)await_line(m->holdfast, STATUS, "\"waiting\"");
    pid = pid_of(m->holdfast);
    if (ptrace(PTRACE_SEIZE, pid, 0, PTRACE_O_TRACEFORK) < 0)
        return false;
    (void)server_ask(server, "DEL x");
    (void)server_ask(server, "PUBLISH redisson_lock__channel:{x} 0");
    m->guardian = await_fork(pid);
    let_go(pid);
    ck_assert_int_eq(ptrace(PTRACE_CONT, m->guardian, 0, 0), 0);
    m->command = await_fork(m->guardian);
    let_go(m->command);
    return true;
}

/* A command that worked by now would leave somebody behind, who has our standard
 * output. */
START_TEST(command_executes_after_the_guardian_is_ready)
{
    struct moment m;
    struct process *next;

    if (!come_to(&m, "setsid sleep 1000 & echo up; wait")) {
        (void)fprintf(stderr, "  skipped: ptrace is refused: %s\n",
                      strerror(errno));
        return;
    }
    await_state(m.command, 'S');
    ck_assert_int_eq(kill(m.guardian, SIGKILL), 0);
    ck_assert_int_eq(waitpid(m.guardian, NULL, __WALL), m.guardian);
    ck_assert_int_eq(finish(m.holdfast), 125);
    ck_assert_ptr_nonnull(
        strstr(await_end(m.holdfast, ERR), "its guardian was killed"));
    ck_assert(is_ended(m.holdfast, OUT));
    ck_assert_str_eq(await_end(m.holdfast, OUT), "");
    next = holdfast(server, "run", "-n", "x", "true", NULL);
    ck_assert_int_eq(finish(next), 0);
}
END_TEST

/* The guardian does nothing: the command is not started, and the lock is
 * released. */
START_TEST(signal_ends_a_start_that_takes_long)
{
    struct moment m;
    int64_t sent_ms;

    if (!come_to(&m, "echo up")) {
        (void)fprintf(stderr, "  skipped: ptrace is refused: %s\n",
                      strerror(errno));
        return;
    }
    sent_ms = local_now_ms();
    ck_assert_int_eq(kill(pid_of(m.holdfast), SIGTERM), 0);
    ck_assert_int_eq(finish(m.holdfast), 1000 + SIGTERM);
    ck_assert_within(sent_ms, 1000);
    ck_assert_ptr_nonnull(
        strstr(await_end(m.holdfast, ERR), "a signal came first"));
    ck_assert_str_eq(await_end(m.holdfast, OUT), "");
    server_await(server, PATIENCE_MS, "0", "EXISTS x");
}
END_TEST

/* ---- holdfast is stopped while the lease ends ---- */

#define HOLDFAST HF_BUILD "/holdfast"

/* The guardian kills some 30 ms before a lease of 3 s ends. A machine with much else to
 * do may let it, or those that it kills, run later than that. With -k10s a guardian
 * that waits for the end of the command's own time is late by 10 s. */
#define LATE_MS 2000

static void await_death(pid_t pid)
{
    int64_t until_ms = local_now_ms() + LATE_MS;

    while (!is_dead(pid)) {
        ck_assert_msg(local_now_ms() < until_ms, "process %d runs on", (int)pid);
        local_poll_rest();
    }
}

/* The first process, one of its group, one with a session of its own. */
START_TEST(command_of_a_stopped_holdfast_is_dead_in_time)
{
    struct process *p = holdfast(
        server, "run", "--ttl", "3s", _i == 0 ? "-k0" : "-k10s", "x", "sh", "-c",
        "trap '' TERM; setsid sleep 1000 & echo $!; sleep 1000 & echo $!;"
        "echo $$; wait", NULL);
    pid_t pids[3];

    for (int i = 0; i < 3; i++)
        pids[i] = (pid_t)atoi(await_line(p, OUT, ""));
    ck_assert_int_eq(kill(pid_of(p), SIGSTOP), 0);
    server_await(server, PATIENCE_MS, "0", "EXISTS x");
    for (int i = 0; i < 3; i++)
        await_death(pids[i]);
    ck_assert_int_eq(kill(pid_of(p), SIGCONT), 0);
    ck_assert_int_eq(finish(p), 122);
    (void)await_line(p, ERR, "this process did not run in time");
}
END_TEST

/* It is told of each renewal, and kills nothing that has a lock. */
START_TEST(guardian_does_not_kill_a_renewed_command)
{
    struct process *p = holdfast(server, "run", "--ttl", "4500ms", "--status-fd",
                                 "3", "x", "sh", "-c", "echo up; read go", NULL);

    (void)await_line(p, OUT, "up");
    for (int i = 0; i < 4; i++)
        (void)await_line(p, STATUS, "\"renewed\"");
    say(p, "go\n");
    ck_assert_int_eq(finish(p), 0);
}
END_TEST

/* The command may go on without the lock, if it is told to. */
START_TEST(guardian_has_no_deadline_if_a_loss_is_no_end)
{
    struct process *p = holdfast(server, "run", "--ttl", "1s", "--on-lost",
                                 "warn", "x", "sh", "-c", "echo up; read go; exit 5",
                                 NULL);

    (void)await_line(p, OUT, "up");
    ck_assert_int_eq(kill(pid_of(p), SIGSTOP), 0);
    server_await(server, PATIENCE_MS, "0", "EXISTS x");
    local_rest_us(100000);
    ck_assert_int_eq(kill(pid_of(p), SIGCONT), 0);
    (void)await_line(p, ERR, "this process did not run in time");
    say(p, "go\n");
    ck_assert_int_eq(finish(p), 122);
}
END_TEST

/* ---- the reason of a loss is the stop ---- */

/* Stopped at different moments of a renewal, and continued as soon as the lock is
 * gone, or a little later. */
#define STOPS 5

static void stop_past_the_ttl(const char *const *words, int64_t rest_us)
{
    char *argv[16] = {(char *)HOLDFAST, (char *)"run", (char *)"--status-fd",
                      (char *)"3"};
    struct process *p;
    size_t n = 4;

    while (*words)
        argv[n++] = (char *)*words++;
    p = start(server, argv);
    (void)await_line(p, OUT, "up");
    local_rest_us(rest_us % 200000);
    ck_assert_int_eq(kill(pid_of(p), SIGSTOP), 0);
    server_await(server, PATIENCE_MS, "0", "EXISTS x");
    local_rest_us(rest_us % 50000);
    ck_assert_int_eq(kill(pid_of(p), SIGCONT), 0);
    ck_assert_str_eq(member(await_line(p, STATUS, "\"lost\""), "reason"),
                     "suspended");
    shut(p);
    (void)finish(p);
}

static const char *const stopped[][9] = {
    {"--ttl", "1s", "x", "sh", "-c", "echo up; read go"},
    {"--ttl", "1s", "-k0", "x", "sh", "-c", "echo up; read go"},
    {"--ttl", "1s", "--on-lost=warn", "x", "sh", "-c", "echo up; read go"},
    {"--lease", "1s", "-k0", "x", "sh", "-c", "echo up; read go"},
};

START_TEST(reason_of_a_loss_is_the_stop)
{
    for (int i = 0; i < STOPS; i++)
        stop_past_the_ttl(stopped[_i], i * 50000);
}
END_TEST

START_TEST(reason_of_a_loss_is_the_silent_server)
{
    struct process *p = holdfast(server, "run", "--ttl", "3s", "--status-fd", "3",
                                 "x", "sh", "-c", "echo up; read go", NULL);

    (void)await_line(p, OUT, "up");
    server_pause(server);
    (void)await_either(p, STATUS, "\"reason\":\"unreachable\"",
                       "\"reason\":\"suspended\"");
    server_resume(server);
    (void)finish(p);
}
END_TEST

/* ---- without /proc ---- */

/* Whatever hides the processes: no /proc, an empty one, one that shows no other
 * user's, and one of another PID namespace. */
static const char *const hidings[] = {
    "umount -l /proc", "mount -t tmpfs none /proc",
    "mount -t proc -o hidepid=2 proc /proc", "true"};
#define OTHER_NUMBERS 3

/* Groups and sessions of their own, and a parent in between that has ended. All hold
 * our standard output. */
#define WILD "(setsid sh -c 'sleep 1000 & sleep 1000; :' &); " \
             "timeout 1000 sleep 1000 & echo up; read go; exit 5"

/* The leak check at the end needs /proc, and fails with 1. */
#ifdef __SANITIZE_ADDRESS__
#define CODE_WITHOUT_PROC 1
#else
#define CODE_WITHOUT_PROC 122
#endif

static struct process *start_hidden(int hiding)
{
    char script[900];
    char *argv[] = {(char *)"unshare", (char *)(hiding == OTHER_NUMBERS ? "-pf" : "-m"),
                    (char *)"sh", (char *)"-c", script, NULL};

    (void)snprintf(script, sizeof script,
                   "%s || exit 77; exec " HOLDFAST " run --ttl 2s -k 50ms x sh -c "
                   "\"%s\"", hidings[hiding], WILD);
    return start(server, argv);
}

static bool comes_up(struct process *p)
{
    int64_t until_ms = local_now_ms() + PATIENCE_MS;

    while (local_now_ms() < until_ms && !is_ended(p, OUT))
        if (strcmp(server_ask(server, "EXISTS x"), "1") == 0) {
            (void)await_line(p, OUT, "up");
            return true;
        }
    (void)fprintf(stderr, "  skipped: no namespace: %s\n", await_end(p, ERR));
    return false;
}

START_TEST(nothing_outlives_a_lost_lock_without_proc)
{
    struct process *p = start_hidden(_i);

    if (!comes_up(p))
        return;
    (void)server_ask(server, "DEL x");
    (void)await_end(p, OUT);
    ck_assert_int_eq(finish(p), _i < 2 ? CODE_WITHOUT_PROC : 122);
    if (_i != 2)
        (void)await_line(p, ERR, "/proc does not list the processes");
}
END_TEST

/* `unshare -m` is replaced by holdfast; a new PID namespace ends with its first
 * process in any case. */
START_TEST(nothing_outlives_holdfast_without_proc)
{
    struct process *p = start_hidden(_i);

    if (!comes_up(p))
        return;
    ck_assert_int_eq(kill(pid_of(p), SIGKILL), 0);
    (void)await_end(p, OUT);
}
END_TEST

/* ---- a command of another user ---- */

/* setpriv with the mode of a setuid program, in a folder that all may enter: it
 * becomes root entirely, so that its user cannot kill it, and the death of its parent
 * does not. False: this folder takes no such programs. */
static bool make_programs(char folder[64])
{
    char command[600];

    (void)strcpy(folder, "/tmp/holdfast-setuid-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    (void)snprintf(command, sizeof command,
                   "chmod 755 %s && cp " HF_BUILD "/holdfast %s && "
                   "cp $(command -v setpriv) %s/become && chmod 4755 %s/become && "
                   "test $(setpriv --reuid=65534 --clear-groups %s/become --reuid=0 "
                   "id -u) = 0", folder, folder, folder, folder, folder);
    return system(command) == 0;
}

static void remove_programs(const char *folder)
{
    char command[100];

    (void)snprintf(command, sizeof command, "rm -rf %s", folder);
    (void)!system(command);
}

static struct process *run_as_other(const char *folder)
{
    char path[2][100];
    char *argv[] = {(char *)"setpriv", (char *)"--reuid=65534", (char *)"--regid=65534",
                    (char *)"--clear-groups", path[0], (char *)"run", (char *)"x",
                    path[1], (char *)"--reuid=0", (char *)"sh", (char *)"-c",
                    (char *)"echo up $$ $PPID; exec sleep 3", NULL};

    (void)snprintf(path[0], sizeof path[0], "%s/holdfast", folder);
    (void)snprintf(path[1], sizeof path[1], "%s/become", folder);
    return start(server, argv);
}

START_TEST(setuid_command_that_survives_is_reported_as_that)
{
    int command = 0, guardian = 0;
    struct process *p;
    char folder[64];
    const char *said;

    if (geteuid() != 0 || !make_programs(folder)) {
        (void)fprintf(stderr, "  skipped: no setuid program can be made\n");
        return;
    }
    p = run_as_other(folder);
    ck_assert_int_eq(sscanf(await_line(p, OUT, "up "), "up %d %d", &command, &guardian),
                     2);
    ck_assert_int_eq(kill(guardian, SIGKILL), 0);
    said = await_line(p, ERR, "guardian was killed");
    ck_assert_ptr_nonnull(strstr(said, "it runs on"));
    ck_assert_int_eq(kill(command, 0), 0);
    ck_assert_int_eq(kill(command, SIGKILL), 0);
    (void)finish(p);
    ck_assert_ptr_null(strstr(await_end(p, ERR), "so is the command"));
    remove_programs(folder);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("holdfast run, guardian");
    TCase *c = run_case(s, "its first word");

    tcase_add_test(c, command_executes_after_the_guardian_is_ready);
    tcase_add_test(c, signal_ends_a_start_that_takes_long);
    c = run_case(s, "its deadline");
    tcase_add_loop_test(c, command_of_a_stopped_holdfast_is_dead_in_time, 0, 2);
    tcase_add_test(c, guardian_does_not_kill_a_renewed_command);
    tcase_add_test(c, guardian_has_no_deadline_if_a_loss_is_no_end);
    tcase_add_loop_test(c, reason_of_a_loss_is_the_stop, 0, ROWS(stopped));
    tcase_add_test(c, reason_of_a_loss_is_the_silent_server);
    c = run_case(s, "without /proc");
    tcase_add_loop_test(c, nothing_outlives_a_lost_lock_without_proc, 0,
                        ROWS(hidings));
    tcase_add_loop_test(c, nothing_outlives_holdfast_without_proc, 0,
                        OTHER_NUMBERS);
    c = run_case(s, "a command of another user");
    tcase_add_test(c, setuid_command_that_survives_is_reported_as_that);
    return run_suite(s);
}
