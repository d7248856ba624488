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

#include "tests/support/local.h"

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
START_TEST(command_executes_after_the_guardian_has_said_so)
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
    int64_t sent_ms, took_ms;

    if (!come_to(&m, "echo up")) {
        (void)fprintf(stderr, "  skipped: ptrace is refused: %s\n",
                      strerror(errno));
        return;
    }
    sent_ms = local_now_ms();
    ck_assert_int_eq(kill(pid_of(m.holdfast), SIGTERM), 0);
    ck_assert_int_eq(finish(m.holdfast), 1000 + SIGTERM);
    took_ms = local_now_ms() - sent_ms;
    ck_assert_msg(took_ms < 1000, "it took %d ms", (int)took_ms);
    ck_assert_ptr_nonnull(
        strstr(await_end(m.holdfast, ERR), "a signal came first"));
    ck_assert_str_eq(await_end(m.holdfast, OUT), "");
    server_await(server, PATIENCE_MS, "0", "EXISTS x");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("holdfast run, guardian");
    TCase *c = run_case(s, "its first word");

    tcase_add_test(c, command_executes_after_the_guardian_has_said_so);
    tcase_add_test(c, signal_ends_a_start_that_takes_long);
    return run_suite(s);
}
