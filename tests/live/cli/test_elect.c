/* `holdfast elect`: one of many runs the command, and another when that one
 * ends, is stopped, or dies. */
#include "tests/live/test_run_kit.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/local.h"

#define SH "sh", "-c"
#define QUICK "--ttl", "4500ms", "--pause", "10ms"
#define OBEDIENT SH, "echo up; read go; echo down"

static struct process *candidate(void)
{
    return holdfast(server, "elect", QUICK, "--status-fd", "3", "x", OBEDIENT, NULL);
}

static void stop_by(struct process *p, int signal)
{
    (void)kill(pid_of(p), signal);
    ck_assert_int_eq(finish(p), 1000 + signal);
}

/* ---- again and again ---- */

START_TEST(command_runs_in_each_term)
{
    struct process *p = candidate();

    for (int i = 0; i < 3; i++) {
        (void)await_line(p, OUT, "up");
        say(p, "go\n");
        (void)await_line(p, OUT, "down");
        (void)await_line(p, STATUS, "\"released\"");
    }
    (void)await_line(p, OUT, "up");
    stop_by(p, SIGTERM);
    ck_assert_int_eq(server_ask_int(server, "EXISTS x"), 0);
}
END_TEST

/* Otherwise a command that fails at once is run again for ever, and nothing shows it. */
START_TEST(exit_code_is_reported_when_it_changes)
{
    struct process *p = holdfast(server, "elect", QUICK, "x", SH,
                                 "echo up; read code; exit $code", NULL);
    const char *const codes[] = {"0", "3", "3", "4", "0"};
    const char *said;

    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        (void)await_line(p, OUT, "up");
        say(p, codes[i]);
        say(p, "\n");
    }
    (void)await_line(p, OUT, "up");
    (void)kill(pid_of(p), SIGTERM);
    (void)finish(p);
    said = await_end(p, ERR);
    ck_assert_msg(strncmp(said, "holdfast: the command ended with exit code 3 and is run again",
                          60) == 0, "%s", said);
    said = strchr(said, '\n');
    ck_assert_msg(strncmp(said + 1, "holdfast: the command ended with exit code 4 ", 45) == 0 &&
                      !strchr(said + 1, '\n')[1], "%s", said);
}
END_TEST

START_TEST(another_leads_when_the_leader_ends)
{
    struct process *a = candidate(), *b;

    (void)await_line(a, OUT, "up");
    b = candidate();
    (void)await_line(b, STATUS, "\"waiting\"");
    stop_by(a, SIGTERM);
    (void)await_line(b, OUT, "up");
    stop_by(b, SIGTERM);
}
END_TEST

START_TEST(another_leads_when_the_leader_is_killed)
{
    struct process *a = candidate(), *b;

    (void)await_line(a, OUT, "up");
    b = candidate();
    (void)await_line(b, STATUS, "\"waiting\"");
    ck_assert_int_eq(kill(pid_of(a), SIGKILL), 0);
    (void)await_end(a, OUT); /* its command is dead, too */
    (void)await_line(b, OUT, "up");
    ck_assert_int_eq(finish(a), 1000 + SIGKILL);
    stop_by(b, SIGTERM);
}
END_TEST

START_TEST(a_deposed_leader_becomes_a_candidate_again)
{
    struct process *p = candidate();

    for (int i = 0; i < 2; i++) {
        (void)await_line(p, OUT, "up");
        (void)server_ask(server, "DEL x");
        ck_assert_str_eq(member(await_line(p, STATUS, "\"lost\""), "reason"),
                         "deleted");
    }
    (void)await_line(p, OUT, "up");
    stop_by(p, SIGTERM);
}
END_TEST

START_TEST(a_term_has_its_limit)
{
    struct process *p = holdfast(server, "elect", QUICK, "--max-hold", "50ms", "x",
                                 OBEDIENT, NULL);
    int code;

    for (int i = 0; i < 3; i++)
        (void)await_line(p, OUT, "up");
    (void)kill(pid_of(p), SIGTERM);
    code = finish(p);
    ck_assert_msg(code == 1000 + SIGTERM || code == 124 /* it was first */, "%d", code);
}
END_TEST

START_TEST(once_is_one_term)
{
    struct process *p = holdfast(server, "elect", QUICK, "--once", "x", SH, "exit 7",
                                 NULL);

    ck_assert_int_eq(finish(p), 7);
}
END_TEST

/* ---- ends ---- */

START_TEST(a_signal_ends_it_while_it_waits)
{
    struct process *p;

    hold_by_other("x", 60000);
    p = candidate();
    (void)await_line(p, STATUS, "\"waiting\"");
    stop_by(p, _i);
}
END_TEST

/* TERM that the command handles: its code, and no other term. */
START_TEST(a_command_that_ends_by_a_signal_is_the_last)
{
    struct process *p = holdfast(server, "elect", QUICK, "x", SH,
                                 "trap 'exit 5' TERM; echo up; " AWAIT_SIGNALS, NULL);

    (void)await_line(p, OUT, "up");
    (void)kill(pid_of(p), SIGTERM);
    ck_assert_int_eq(finish(p), 5);
}
END_TEST

START_TEST(a_signal_ends_it_between_two_terms)
{
    struct process *p = holdfast(server, "elect", "--pause", "1h", "--status-fd",
                                 "3", "x", "true", NULL);

    (void)await_line(p, STATUS, "\"released\"");
    stop_by(p, SIGTERM);
}
END_TEST

/* The command has ended; the server does not say that the lock is free. */
START_TEST(a_signal_ends_it_while_it_releases)
{
    struct process *p = holdfast(server, "elect", QUICK, "--status-fd", "3", "x",
                                 SH, "echo up; read go", NULL);

    (void)await_line(p, OUT, "up");
    server_pause(server);
    say(p, "go\n");
    (void)await_line(p, STATUS, "\"exit\"");
    (void)kill(pid_of(p), SIGTERM);
    ck_assert_int_eq(finish(p), 1000 + SIGTERM);
    server_resume(server);
}
END_TEST

START_TEST(permanent_error_ends_it)
{
    static const struct {
        const char *command;
        int code;
    } rows[] = {{"/no/such/program", 127}, {"/etc/passwd", 126}};
    struct process *p = holdfast(server, "elect", QUICK, "x", rows[_i].command, NULL);

    ck_assert_int_eq(finish(p), rows[_i].code);
}
END_TEST

/* So a shell says that it could not run its own command, as we say of ours. */
START_TEST(a_command_that_ends_with_126_or_127_is_run_again)
{
    struct process *p = holdfast(server, "elect", QUICK, "x", "sh", "-c",
                                 _i ? "echo led; exit 126"
                                    : "echo led; exit 127", NULL);

    (void)await_line(p, OUT, "led");
    (void)await_line(p, OUT, "led");
    (void)kill(pid_of(p), SIGTERM);
    (void)finish(p);            /* by that, or as the last term did: both are right */
}
END_TEST

START_TEST(a_server_that_never_answered_ends_it)
{
    struct process *p = holdfast(server, "elect", "--url", "redis://127.0.0.1:1",
                                 "x", "true", NULL);

    ck_assert_int_eq(finish(p), 125);
}
END_TEST

START_TEST(a_server_that_returns_is_queried_again)
{
    struct process *p = candidate();

    (void)await_line(p, OUT, "up");
    server_kill(server);
    (void)await_line(p, STATUS, "\"lost\"");
    (void)await_line(p, ERR, "onnect");
    server_restart(server);
    (void)await_line(p, OUT, "up");
    stop_by(p, SIGTERM);
}
END_TEST

static const struct {
    const char *word, *spoil, *repair;
} refusals[] = {
    {"OOM", "CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0"},
    {"NOREPLICAS", "CONFIG SET min-replicas-to-write 1",
     "CONFIG SET min-replicas-to-write 0"},
};

/* The first reply that it receives. */
START_TEST(a_candidate_that_has_never_led_outlasts_a_refusal)
{
    struct process *p;

    (void)server_ask(server, refusals[_i].spoil);
    p = candidate();
    (void)await_line(p, ERR, refusals[_i].word);
    (void)server_ask(server, refusals[_i].repair);
    (void)await_line(p, OUT, "up");
    stop_by(p, SIGTERM);
}
END_TEST

/* No connection is left, not even for the first request. */
START_TEST(a_candidate_outlasts_a_server_without_a_free_connection)
{
    struct server *full = server_start((const char *const[]){NULL});
    struct process *p;
    char url[60];

    (void)snprintf(url, sizeof url, "redis://127.0.0.1:%d?connect_timeout=500ms",
                   server_port(full));
    (void)server_ask(full, "CONFIG SET maxclients 1");
    p = holdfast(NULL, "elect", "-u", url, "x", "-c", "echo up; read go", NULL);
    (void)await_line(p, ERR, "max number of clients");
    (void)await_line(p, ERR, "max number of clients");
    (void)server_ask(full, "CONFIG SET maxclients 100");
    (void)await_line(p, OUT, "up");
    stop_by(p, SIGTERM);
    server_stop(full);
}
END_TEST

/* ---- options ---- */

START_TEST(options_of_run_that_mean_nothing_here_are_refused)
{
    static const char *const words[] = {"-n", "--shared", "--wait=1", "--lease=1"};
    struct process *p = holdfast(server, "elect", words[_i], "x", "true", NULL);
    const char *line = await_line(p, ERR, "holdfast help elect");

    ck_assert_ptr_nonnull(line);
    ck_assert_int_eq(finish(p), 125);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("elect");
    TCase *c = run_case(s, "terms");

    tcase_add_test(c, command_runs_in_each_term);
    tcase_add_test(c, exit_code_is_reported_when_it_changes);
    tcase_add_test(c, another_leads_when_the_leader_ends);
    tcase_add_test(c, another_leads_when_the_leader_is_killed);
    tcase_add_test(c, a_deposed_leader_becomes_a_candidate_again);
    tcase_add_test(c, a_term_has_its_limit);
    tcase_add_test(c, once_is_one_term);
    c = run_case(s, "ends");
    tcase_add_loop_test(c, a_signal_ends_it_while_it_waits, SIGINT, SIGQUIT + 1);
    tcase_add_test(c, a_command_that_ends_by_a_signal_is_the_last);
    tcase_add_test(c, a_signal_ends_it_between_two_terms);
    tcase_add_test(c, a_signal_ends_it_while_it_releases);
    tcase_add_loop_test(c, a_command_that_ends_with_126_or_127_is_run_again, 0, 2);
    tcase_add_loop_test(c, permanent_error_ends_it, 0, 2);
    tcase_add_test(c, a_server_that_never_answered_ends_it);
    tcase_add_test(c, a_server_that_returns_is_queried_again);
    tcase_add_loop_test(c, a_candidate_that_has_never_led_outlasts_a_refusal, 0, 2);
    tcase_add_test(c, a_candidate_outlasts_a_server_without_a_free_connection);
    c = run_case(s, "options");
    tcase_add_loop_test(c, options_of_run_that_mean_nothing_here_are_refused, 0, 4);
    return run_suite(s);
}
