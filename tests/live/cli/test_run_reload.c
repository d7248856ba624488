/* SIGHUP of run and elect: a service reads its files again, and a terminal that is hung up
 * ends what waits. Each process that is not started on a terminal has none: setsid(1). */
#include "tests/live/test_tls.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
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
                          ARG("--ttl"), ARG("4500ms"), ARG("--status-fd"), ARG("3"),
                          ARG("-u"), url, ARG("--tls-ca"), live_ca, ARG("x"), ARG("--"),
                          ARG("sh"), ARG("-c"),
                          ARG("exec 4<&0; trap 'echo hup' HUP;"
                              "(trap '' HUP; echo up; read go <&4; :) &"
                              "until wait $!; do :; done"),
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
    ck_assert_int_eq(unlink(live_ca), 0);
    (void)await_line(p, STATUS, "\"renewed\"");
    (void)await_line(p, STATUS, "\"renewed\"");
    end_holder(p, 0);
}
END_TEST

/* Nobody can open the file, as on a file system that does not answer. */
START_TEST(file_that_hangs_does_not_stop_renewals)
{
    struct process *p = start_holder();
    int fd = hung_file(live_ca);

    if (fd < 0)
        return;
    ck_assert_int_eq(kill(pid_of(p), SIGHUP), 0);
    hung_file_await(fd);
    for (int i = 0; i < 3; i++)
        (void)await_line(p, STATUS, "\"renewed\"");
    ck_assert_int_eq(kill(pid_of(p), SIGHUP), 0);
    (void)await_line(p, ERR, "HUP: the TLS files are still being read");
    ck_assert_int_eq(close(fd), 0);
    (void)await_line(p, ERR, READ_AGAIN);
    end_holder(p, 0);
}
END_TEST

/* The command ends while the file is still awaited: nothing waits for it. */
START_TEST(file_that_hangs_does_not_delay_the_end)
{
    struct process *p = start_holder();
    int fd = hung_file(live_ca);

    if (fd < 0)
        return;
    ck_assert_int_eq(kill(pid_of(p), SIGHUP), 0);
    hung_file_await(fd);
    end_holder(p, 0);
    ck_assert_int_eq(close(fd), 0);
}
END_TEST

/* ---- a password file that hangs ---- */

static char password[CERTS_PATH_MAX + 16];

static void write_password(const char *text)
{
    FILE *f = fopen(password, "w");

    ck_assert_ptr_nonnull(f);
    (void)fputs(text, f);
    (void)fclose(f);
    ck_assert_int_eq(chmod(password, 0600), 0);
}

static struct process *start_with_password(void)
{
    char *const argv[] = {ARG("setsid"), ARG(HOLDFAST), ARG("run"), ARG("--user"),
                          ARG("rot"), ARG("--password-file"), password, ARG("--ttl"),
                          ARG("4500ms"), ARG("--status-fd"), ARG("3"), ARG("x"), ARG("sh"),
                          ARG("-c"), ARG("echo up; read go"), NULL};
    struct process *p;

    (void)snprintf(password, sizeof password, "%s/run_password", certs.folder);
    write_password("one\n");
    (void)server_ask(server, "ACL SETUSER rot reset on >one ~* &* +@all");
    p = start(server, argv);
    (void)await_line(p, OUT, "up");
    return p;
}

/* The connection is lost while nobody can open the file: the hold is renewed over the next
 * connection, with the password that was read before. */
START_TEST(password_file_that_hangs_does_not_stop_renewals)
{
    struct process *p = start_with_password();
    char says[CERTS_PATH_MAX + 100];
    int fd = hung_file(password);

    if (fd < 0)
        return;
    (void)snprintf(says, sizeof says, "password file %s could not be read within", password);
    for (int i = 0; i < 2; i++) {
        (void)server_ask(server, "CLIENT KILL USER rot");
        (void)await_line(p, STATUS, "\"renewed\"");
        (void)await_line(p, STATUS, "\"renewed\"");
    }
    (void)await_line(p, ERR, says);
    ck_assert_int_eq(close(fd), 0);
    say(p, "go\n");
    ck_assert_int_eq(finish(p), 0);
    (void)server_ask(server, "ACL DELUSER rot");
}
END_TEST

/* The same, and there is no file. */
START_TEST(password_file_that_was_removed_does_not_stop_renewals)
{
    struct process *p = start_with_password();

    ck_assert_int_eq(unlink(password), 0);
    for (int i = 0; i < 2; i++) {
        (void)server_ask(server, "CLIENT KILL USER rot");
        (void)await_line(p, STATUS, "\"renewed\"");
        (void)await_line(p, STATUS, "\"renewed\"");
    }
    (void)await_line(p, ERR, "; the password that was read before is used");
    say(p, "go\n");
    ck_assert_int_eq(finish(p), 0);
    (void)server_ask(server, "ACL DELUSER rot");
}
END_TEST

/* The server refuses that password: the file is named, and the new password is used when the
 * file can be read. */
START_TEST(password_file_that_hangs_is_named_and_read_later)
{
    struct process *p = start_with_password();
    char says[CERTS_PATH_MAX + 100];
    int fd;

    write_password("two\n");
    fd = hung_file(password);
    if (fd < 0)
        return;
    (void)snprintf(says, sizeof says,
                   "cannot use password file %s: it is still being read", password);
    (void)server_ask(server, "ACL SETUSER rot resetpass >two");
    (void)server_ask(server, "CLIENT KILL USER rot");
    (void)await_line(p, ERR, says);
    ck_assert_int_eq(close(fd), 0);
    (void)await_line(p, STATUS, "\"renewed\"");
    say(p, "go\n");
    ck_assert_int_eq(finish(p), 0);
    (void)server_ask(server, "ACL DELUSER rot");
}
END_TEST

/* The command ends while the file is still awaited: nothing waits for it. */
START_TEST(password_file_that_hangs_does_not_delay_the_end)
{
    struct process *p = start_with_password();
    int fd = hung_file(password);

    if (fd < 0)
        return;
    (void)server_ask(server, "CLIENT KILL USER rot");
    hung_file_await(fd);
    (void)await_line(p, STATUS, "\"renewed\"");
    say(p, "go\n");
    ck_assert_int_eq(finish(p), 0);
    ck_assert_int_eq(close(fd), 0);
    (void)server_ask(server, "ACL DELUSER rot");
}
END_TEST

/* ---- while the lock is awaited ---- */

/* Until that process catches the signal. */
static void await_caught(pid_t pid, int signal)
{
    int64_t end = local_now_ms() + PATIENCE_MS;
    unsigned long long caught = 0;

    while (!(caught >> (signal - 1) & 1)) {
        char path[64], line[200];
        FILE *status;

        (void)snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
        status = fopen(path, "r");
        ck_assert_ptr_nonnull(status);
        while (fgets(line, sizeof line, status))
            if (strncmp(line, "SigCgt:", 7) == 0)
                caught = strtoull(line + 7, NULL, 16);
        (void)fclose(status);
        ck_assert_int_lt(local_now_ms(), end);
        local_poll_rest();
    }
}

/* They are answered when the first connection is made. */
START_TEST(signals_during_the_first_connection_are_answered_after_it)
{
    char path[] = "/tmp/holdfast-dump-XXXXXX";
    char *const argv[] = {ARG("setsid"), ARG(HOLDFAST), ARG("run"), ARG("-v"),
                          ARG("--dump"), path, ARG("x"), ARG("sh"), ARG("-c"),
                          ARG("trap : HUP USR1; while [ ! -s \"$0\" ]; do sleep 0.01; done"),
                          path, NULL};
    struct process *p;

    (void)close(mkstemp(path));
    server_pause(server);
    p = start(server, argv);
    await_caught(pid_of(p), SIGHUP);
    await_caught(pid_of(p), SIGUSR1);
    ck_assert_int_eq(kill(pid_of(p), SIGHUP), 0);
    ck_assert_int_eq(kill(pid_of(p), SIGUSR1), 0);
    server_resume(server);
    (void)await_line(p, ERR, READ_AGAIN);
    ck_assert_int_eq(finish(p), 0);
    (void)unlink(path);
}
END_TEST


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

/* The command has ended, and the server has not answered the release. */
START_TEST(hup_during_the_release_begins_the_next_term)
{
    char *const argv[] = {ARG("setsid"), ARG(HOLDFAST), ARG("elect"), ARG("-v"),
                          ARG("--pause"), ARG("1h"), ARG("--status-fd"), ARG("3"),
                          ARG("free"), ARG("sh"), ARG("-c"), ARG("echo up; read go"), NULL};
    struct process *p = start(server, argv);

    (void)await_line(p, OUT, "up");
    server_pause(server);
    say(p, "go\n");
    (void)await_line(p, STATUS, "\"exit\"");
    ck_assert_int_eq(kill(pid_of(p), SIGHUP), 0);
    (void)await_line(p, ERR, READ_AGAIN);
    server_resume(server);
    (void)await_line(p, OUT, "up");
    say(p, "go\n");
    (void)await_line(p, STATUS, "\"released\"");
    (void)await_line(p, STATUS, "\"released\"");
    ck_assert_int_eq(kill(pid_of(p), SIGTERM), 0);
    ck_assert_int_eq(finish(p), 1000 + SIGTERM);
}
END_TEST

START_TEST(closed_terminal_ends_the_wait)
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
    tcase_add_test(c, file_that_hangs_does_not_stop_renewals);
    tcase_add_test(c, file_that_hangs_does_not_delay_the_end);
    tcase_add_test(c, password_file_that_hangs_does_not_stop_renewals);
    tcase_add_test(c, password_file_that_was_removed_does_not_stop_renewals);
    tcase_add_test(c, password_file_that_hangs_is_named_and_read_later);
    tcase_add_test(c, password_file_that_hangs_does_not_delay_the_end);
    tcase_add_test(c, signals_during_the_first_connection_are_answered_after_it);
    tcase_add_loop_test(c, service_that_waits_reads_its_files_again, 0, ROWS(waiting));
    tcase_add_test(c, hup_between_two_terms_begins_the_next_one);
    tcase_add_test(c, hup_during_the_release_begins_the_next_term);
    tcase_add_loop_test(c, closed_terminal_ends_the_wait, 0, ROWS(waiting));
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
