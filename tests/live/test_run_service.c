/* run and ls as an operator finds them: below systemd, and before locks that other
 * programs have taken without a TTL. */
#include "tests/live/test_run_kit.h"

#include <stdio.h>
#include <string.h>

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

/* ---- locks without a TTL ---- */

static const struct {
    const char *taken, *option;
} untimed[] = {
    {"SET x " TOKEN, "--value"},
    {"HSET x " STRANGER " 1", "-v"},
    {"HSET x mode write " STRANGER ":write 1", "--exclusive"},
};

START_TEST(waiter_says_that_the_lock_never_expires)
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
    tcase_add_loop_test(c, waiter_says_that_the_lock_never_expires, 0, ROWS(untimed));
    tcase_add_loop_test(c, ls_lists_value_locks_without_a_ttl, 0, ROWS(strings));
    return s;
}

int main(void)
{
    return run_suite(suite());
}
