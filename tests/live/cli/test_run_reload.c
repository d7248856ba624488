/* SIGHUP of run and elect: a service reads its files again, and a terminal that is hung up
 * ends what waits. Each process that is not started on a terminal has none: setsid(1). */
#include "tests/live/test_tls.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/live/test_run_kit.h"
#include "tests/support/suite.h"

#define HOLDFAST HF_BUILD "/holdfast"
#define READ_AGAIN "new connections use the files as they are now"
#define ARG(text) ((char *)(text))

/* ---- TLS files ---- */

static char live_ca[CERTS_PATH_MAX + 16], live_server[CERTS_PATH_MAX + 16];
static char url[TLS_URL_MAX];
static struct server *tls;

static void place_files(const char *ca, const char *cert)
{
    (void)snprintf(live_ca, sizeof live_ca, "%s/run_ca", certs.folder);
    (void)snprintf(live_server, sizeof live_server, "%s/run_server", certs.folder);
    certs_copy(ca, live_ca);
    certs_copy(cert, live_server);
}

/* A server that keeps its data when it is started again, and a command that holds a lock
 * there, and prints "hup" when it gets that signal. */
static struct process *start_holder(void)
{
    static const char *const args[] = {"--appendonly", "yes", "--appendfsync", "always",
                                       NULL};
    char *const argv[] = {ARG("setsid"), ARG(HOLDFAST), ARG("run"), ARG("-v"),
                          ARG("--ttl"), ARG("3s"), ARG("--status-fd"), ARG("3"),
                          ARG("-u"), url, ARG("--tls-ca"), live_ca, ARG("x"), ARG("--"),
                          ARG("sh"), ARG("-c"),
                          ARG("trap 'echo hup' HUP; echo up; "
                              "while [ \"$go\" != go ]; do read go; done"),
                          NULL};
    struct process *p;

    place_files(certs.ca, certs.server);
    tls = tls_server(live_server, false, args);
    (void)snprintf(url, sizeof url, "rediss://localhost:%d", server_port(tls));
    p = start(NULL, argv);
    (void)await_line(p, OUT, "up");
    return p;
}

static void end_holder(struct process *p, int code)
{
    say(p, "go\n");
    ck_assert_int_eq(finish(p), code);
    server_stop(tls);
}

START_TEST(hold_outlives_a_new_ca_if_hup_comes)
{
    struct process *p = start_holder();
    bool is_told = _i == 1;

    place_files(certs.other_ca, certs.stranger);
    server_restart(tls);
    if (is_told) {
        ck_assert_int_eq(kill(pid_of(p), SIGHUP), 0);
        (void)await_line(p, ERR, READ_AGAIN);
        (void)await_line(p, OUT, "hup");
        (void)await_line(p, STATUS, "\"renewed\"");
        (void)await_line(p, STATUS, "\"renewed\"");
    } else {
        (void)await_line(p, STATUS, "\"lost\"");
    }
    end_holder(p, is_told ? 0 : 122);
}
END_TEST

START_TEST(file_that_cannot_be_read_is_named_and_the_hold_stays)
{
    struct process *p = start_holder();
    char says[CERTS_PATH_MAX + 200];

    (void)snprintf(says, sizeof says,
                   "tls_ca %s: No such file or directory; the TLS files are used as they "
                   "were read before",
                   live_ca);
    ck_assert_int_eq(unlink(live_ca), 0);
    ck_assert_int_eq(kill(pid_of(p), SIGHUP), 0);
    (void)await_line(p, ERR, says);
    server_kill_connections(tls);
    (void)await_line(p, STATUS, "\"renewed\"");
    (void)await_line(p, STATUS, "\"renewed\"");
    end_holder(p, 0);
}
END_TEST

/* OpenSSL would wait for a writer of the pipe, and the hold would be lost meanwhile. */
START_TEST(pipe_in_place_of_a_file_is_refused_and_the_hold_stays)
{
    struct process *p = start_holder();
    char says[CERTS_PATH_MAX + 200];

    (void)snprintf(says, sizeof says, "tls_ca %s: it is not a regular file", live_ca);
    ck_assert_int_eq(unlink(live_ca), 0);
    ck_assert_int_eq(mkfifo(live_ca, 0600), 0);
    ck_assert_int_eq(kill(pid_of(p), SIGHUP), 0);
    (void)await_line(p, ERR, says);
    (void)await_line(p, STATUS, "\"renewed\"");
    (void)await_line(p, STATUS, "\"renewed\"");
    end_holder(p, 0);
}
END_TEST

/* ---- while the lock is awaited ---- */

static const char *const waiting[] = {"run", "elect"};

START_TEST(service_that_waits_reads_its_files_again)
{
    char *const argv[] = {ARG("setsid"), ARG(HOLDFAST), ARG(waiting[_i]), ARG("-v"),
                          ARG("--status-fd"), ARG("3"), ARG("x"), ARG("echo"), ARG("ran"),
                          NULL};
    struct process *p;

    hold_by_other("x", 60000);
    p = start(server, argv);
    (void)await_line(p, STATUS, "\"waiting\"");
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(kill(pid_of(p), SIGHUP), 0);
        (void)await_line(p, ERR, READ_AGAIN);
    }
    ck_assert_int_eq(kill(pid_of(p), SIGTERM), 0);
    ck_assert_int_eq(finish(p), 1000 + SIGTERM);
    ck_assert_str_eq(await_end(p, OUT), "");
}
END_TEST

/* Each term reads the files; the next one is not waited for. */
START_TEST(hup_between_two_terms_begins_the_next_one)
{
    char *const argv[] = {ARG("setsid"), ARG(HOLDFAST), ARG("elect"), ARG("--pause"),
                          ARG("1h"), ARG("--status-fd"), ARG("3"), ARG("free"), ARG("true"),
                          NULL};
    struct process *p = start(server, argv);

    for (int i = 0; i < 2; i++) {
        (void)await_line(p, STATUS, "\"released\"");
        ck_assert_int_eq(kill(pid_of(p), SIGHUP), 0);
    }
    (void)await_line(p, STATUS, "\"released\"");
    ck_assert_int_eq(kill(pid_of(p), SIGTERM), 0);
    ck_assert_int_eq(finish(p), 1000 + SIGTERM);
}
END_TEST

START_TEST(terminal_that_is_hung_up_ends_the_wait)
{
    char *const argv[] = {ARG(HOLDFAST), ARG(waiting[_i]), ARG("-v"), ARG("x"),
                          ARG("echo"), ARG("ran"), NULL};
    struct process *p;

    hold_by_other("x", 60000);
    p = start_on_terminal(server, argv);
    (void)await_line(p, OUT, "waiting");
    ck_assert_int_eq(kill(pid_of(p), SIGHUP), 0);
    ck_assert_int_eq(finish(p), 1000 + SIGHUP);
}
END_TEST

/* It is the command's, and ends holdfast only with it. */
START_TEST(command_that_dies_of_hup_ends_holdfast_by_it)
{
    char *const argv[] = {ARG("setsid"), ARG(HOLDFAST), ARG("run"), ARG("x"), ARG("sh"),
                          ARG("-c"), ARG("echo up; exec cat"), NULL};
    struct process *p = start(server, argv);

    (void)await_line(p, OUT, "up");
    ck_assert_int_eq(kill(pid_of(p), SIGHUP), 0);
    ck_assert_int_eq(finish(p), 1000 + SIGHUP);
    ck_assert_str_eq(server_ask(server, "EXISTS x"), "0");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("run, files that are read again");
    TCase *c = run_case(s, "SIGHUP");

    tcase_add_loop_test(c, hold_outlives_a_new_ca_if_hup_comes, 0, 2);
    tcase_add_test(c, file_that_cannot_be_read_is_named_and_the_hold_stays);
    tcase_add_test(c, pipe_in_place_of_a_file_is_refused_and_the_hold_stays);
    tcase_add_loop_test(c, service_that_waits_reads_its_files_again, 0, ROWS(waiting));
    tcase_add_test(c, hup_between_two_terms_begins_the_next_one);
    tcase_add_loop_test(c, terminal_that_is_hung_up_ends_the_wait, 0, ROWS(waiting));
    tcase_add_test(c, command_that_dies_of_hup_ends_holdfast_by_it);
    return s;
}

static int run(void)
{
    return run_suite(suite());
}

int main(void)
{
    return tls_main("run, files that are read again", run);
}
