/* --metrics-file of run, elect and hold: when the file is written, what it says, and that a file
 * system that does not reply delays neither renewals nor the end. */
#include "tests/live/test_tls.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/live/test_run_kit.h"
#include "tests/support/local.h"
#include "tests/support/openmetrics.h"
#include "tests/support/suite.h"

#define ARG(text) ((char *)(text))
#define RUN(metric) "holdfast_run_" metric "{name=\"x\"}"
#define LEADS "holdfast_elect_is_leader{name=\"x\"}"

static char folder[64], path[128], text[600 << 10];

static void begin(void)
{
    (void)strcpy(folder, "/tmp/hf_metrics_XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/job.prom", folder);
}

/* No other file is left. */
static void end(void)
{
    (void)unlink(path);
    ck_assert_int_eq(rmdir(folder), 0);
}

/* False: there is no file. */
static bool read_file(void)
{
    static struct openmetrics m;
    FILE *in = fopen(path, "r");
    size_t len;

    if (!in)
        return false;
    len = fread(text, 1, sizeof text - 1, in);
    (void)fclose(in);
    text[len] = '\0';
    ck_assert_msg(openmetrics_parse(&m, text, false), "%s", m.why);
    return true;
}

/* -1: there is none, or no file. */
static double value_of(const char *series)
{
    return read_file() ? openmetrics_value(text, series) : -1;
}

static void await_value(const char *series, double expected)
{
    int64_t deadline_ms = local_now_ms() + PATIENCE_MS;

    while (value_of(series) != expected) {
        ck_assert_msg(local_now_ms() < deadline_ms, "%s is %g, not %g", series, value_of(series),
                      expected);
        local_poll_rest();
    }
}

static double now_s(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- run ---- */

START_TEST(run_is_shown_while_it_holds_the_lock_and_afterwards)
{
    double from_s = now_s();
    struct process *p = holdfast(server, "run", "--metrics-file", path, "x", "sh", "-c",
                                 "echo up; read go; exit 3", NULL);

    (void)await_line(p, OUT, "up");
    await_value(RUN("is_held"), 1);
    ck_assert_value(RUN("starts_total"), 1);
    ck_assert_value("holdfast_holds{kind=\"plain\",name=\"x\"}", 1);
    ck_assert_value("holdfast_grants_total{kind=\"plain\",name=\"x\"}", 1);
    ck_assert_value(RUN("last_exit_code"), -1);
    ck_assert_double_ge(value_of(RUN("last_start_timestamp_seconds")), from_s - 0.001);
    say(p, "go\n");
    ck_assert_int_eq(finish(p), 3);
    ck_assert_value(RUN("is_held"), 0);
    ck_assert_value(RUN("last_exit_code"), 3);
    ck_assert_value(RUN("failures_total"), 1);
    ck_assert_value(RUN("last_success_timestamp_seconds"), -1);
    ck_assert_value("holdfast_holds{kind=\"plain\",name=\"x\"}", 0);
    ck_assert_double_ge(value_of(RUN("last_end_timestamp_seconds")),
                        value_of(RUN("last_start_timestamp_seconds")));
    ck_assert_double_le(value_of(RUN("last_end_timestamp_seconds")), now_s());
    ck_assert_int_eq(finish(holdfast(server, "run", "--metrics-file", path, "x", "true", NULL)),
                     0);
    ck_assert_value(RUN("starts_total"), 2);
    ck_assert_value(RUN("last_exit_code"), 0);
    ck_assert_value(RUN("last_success_timestamp_seconds"),
                    value_of(RUN("last_end_timestamp_seconds")));
    ck_assert_str_eq(await_end(p, ERR), "");
}
END_TEST

/* The file is that of the holder, which may be on the same machine. */
START_TEST(run_that_does_not_get_the_lock_leaves_the_file_alone)
{
    hold_by_other("x", 60000);
    ck_assert_int_eq(finish(holdfast(server, "run", "-n", "--metrics-file", path, "x", "true",
                                     NULL)), 75);
    ck_assert(!read_file());
}
END_TEST

START_TEST(loss_is_shown_at_once)
{
    struct process *p = holdfast(server, "run", "--metrics-file", path, "--on-lost", "warn",
                                 "--ttl", "1500ms", "x", "sh", "-c", "echo up; read go", NULL);

    (void)await_line(p, OUT, "up");
    (void)server_ask(server, "DEL x");
    (void)await_line(p, ERR, "lost the lock");
    await_value(RUN("is_held"), 0);
    ck_assert_value(RUN("losses_total"), 1);
    ck_assert_value("holdfast_losses_total{kind=\"plain\",reason=\"deleted\",name=\"x\"}", 1);
    say(p, "go\n");
    ck_assert_int_eq(finish(p), 122);
    ck_assert_value(RUN("last_exit_code"), 122);
}
END_TEST

/* A stopped process renews nothing until its lock has expired. */
START_TEST(suspended_process_is_the_reason_of_the_loss)
{
    struct process *p = holdfast(server, "run", "--metrics-file", path, "--on-lost", "warn",
                                 "--ttl", "1500ms", "x", "sh", "-c", "echo up; read go", NULL);

    (void)await_line(p, OUT, "up");
    await_value(RUN("is_held"), 1);
    (void)kill(pid_of(p), SIGSTOP);
    server_await(server, PATIENCE_MS, "0", "EXISTS x");
    (void)kill(pid_of(p), SIGCONT);
    (void)await_line(p, ERR, "lost the lock");
    await_value(RUN("losses_total"), 1);
    say(p, "go\n");
    ck_assert_int_eq(finish(p), 122);
    ck_assert_value("holdfast_losses_total{kind=\"plain\",reason=\"suspended\",name=\"x\"}", 1);
    ck_assert_value(RUN("is_held"), 0);
}
END_TEST

START_TEST(file_is_written_each_interval)
{
    struct process *p = holdfast(server, "run", "--metrics-file", path, "--metrics-interval",
                                 "1s", "--ttl", "1200ms", "x", "sh", "-c", "echo up; read go",
                                 NULL);
    double renewals, updated_s;

    (void)await_line(p, OUT, "up");
    await_value(RUN("is_held"), 1);
    updated_s = value_of(RUN("updated_timestamp_seconds"));
    renewals = value_of("holdfast_renewals_total{name=\"x\"}");
    while (value_of("holdfast_renewals_total{name=\"x\"}") < renewals + 4)
        local_poll_rest();
    ck_assert_double_gt(value_of(RUN("updated_timestamp_seconds")), updated_s);
    say(p, "go\n");
    ck_assert_int_eq(finish(p), 0);
}
END_TEST

/* The alerts take a candidate whose file is no longer written for dead. */
START_TEST(file_of_a_candidate_is_written_each_interval)
{
    struct process *p;
    double updated_s;

    hold_by_other("x", 600000);
    p = holdfast(server, "elect", "--metrics-file", path, "--metrics-interval", "1s", "x", "true",
                 NULL);
    await_value(LEADS, 0);
    updated_s = value_of(RUN("updated_timestamp_seconds"));
    while (value_of(RUN("updated_timestamp_seconds")) < updated_s + 1)
        local_rest_us(10000);
    (void)kill(pid_of(p), SIGTERM);
    ck_assert_int_eq(finish(p), 1000 + SIGTERM);
}
END_TEST

/* A service that is stopped. */
START_TEST(signal_that_ends_the_command_is_the_exit_code)
{
    struct process *p = holdfast(server, "run", "--metrics-file", path, "x", "sh", "-c",
                                 "echo up; exec sleep 1000", NULL);

    (void)await_line(p, OUT, "up");
    await_value(RUN("is_held"), 1);
    (void)kill(pid_of(p), SIGTERM);
    ck_assert_int_eq(finish(p), 1000 + SIGTERM);
    ck_assert_value(RUN("is_held"), 0);
    ck_assert_value(RUN("last_exit_code"), 128 + SIGTERM);
}
END_TEST

START_TEST(error_is_reported_once_and_the_command_runs)
{
    char bad[150];
    struct process *p;
    const char *said;

    (void)snprintf(bad, sizeof bad, "%s/none/job.prom", folder);
    p = holdfast(server, "run", "--metrics-file", bad, "--metrics-interval", "1s", "--ttl",
                 "1200ms", "--status-fd", "3", "x", "sh", "-c", "echo up; read go", NULL);
    (void)await_line(p, OUT, "up");
    said = await_line(p, ERR, "cannot write metrics file ");
    ck_assert_ptr_nonnull(strstr(said, "none/job.prom: No such file or directory"));
    for (int i = 0; i < 8; i++)
        (void)await_line(p, STATUS, "\"renewed\"");
    say(p, "go\n");
    ck_assert_int_eq(finish(p), 0);
    ck_assert_str_eq(await_end(p, ERR), "");
}
END_TEST

/* The textfile collector would not read it, and nobody would be told. */
START_TEST(name_that_node_exporter_ignores_is_reported)
{
    static const char *const names[] = {"job.txt", "job.prom.new", "prom", ".prom"};
    char bad[150];
    struct process *p;

    (void)snprintf(bad, sizeof bad, "%s/%s", folder, names[_i]);
    p = holdfast(server, "run", "--metrics-file", bad, "x", "true", NULL);
    if (_i < 3)
        (void)await_line(p, ERR, "does not end in .prom: node_exporter does not read it");
    ck_assert_int_eq(finish(p), 0);
    if (_i == 3)
        ck_assert_str_eq(await_end(p, ERR), "");
    ck_assert_int_eq(unlink(bad), 0);
}
END_TEST

static void make_file(void)
{
    FILE *out = fopen(path, "w");

    ck_assert_ptr_nonnull(out);
    (void)fclose(out);
}

/* Nobody can open the former file, as on a file system that does not reply. */
START_TEST(file_that_hangs_stops_no_renewal_and_no_end)
{
    struct process *p;
    int fd;

    make_file();
    if ((fd = hung_file(path)) < 0)
        return;
    p = holdfast(server, "run", "--metrics-file", path, "--metrics-interval", "1s", "--ttl",
                 "1200ms", "--status-fd", "3", "x", "sh", "-c", "echo up; read go", NULL);
    (void)await_line(p, OUT, "up");
    hung_file_await(fd);
    (void)await_line(p, ERR, "job.prom is still being written; does its file system reply?");
    for (int i = 0; i < 4; i++)
        (void)await_line(p, STATUS, "\"renewed\"");
    say(p, "go\n");
    ck_assert_int_eq(finish(p), 0);
    ck_assert_str_eq(await_end(p, ERR), "");
    ck_assert_int_eq(close(fd), 0);
}
END_TEST

START_TEST(file_that_hung_is_written_afterwards)
{
    struct process *p;
    int fd;

    make_file();
    if ((fd = hung_file(path)) < 0)
        return;
    p = holdfast(server, "run", "--metrics-file", path, "x", "sh", "-c", "echo up; read go", NULL);
    (void)await_line(p, OUT, "up");
    hung_file_await(fd);
    ck_assert_int_eq(close(fd), 0);
    await_value(RUN("is_held"), 1);
    say(p, "go\n");
    ck_assert_int_eq(finish(p), 0);
    ck_assert_value(RUN("last_exit_code"), 0);
}
END_TEST

START_TEST(quorum_is_the_sum_of_its_members)
{
    struct server *others[2] = {server_start(NULL), server_start(NULL)};
    char urls[3][SERVER_URL_MAX];

    (void)server_url(server, urls[0]);
    for (int i = 0; i < 2; i++)
        (void)server_url(others[i], urls[i + 1]);
    ck_assert_int_eq(finish(holdfast(NULL, "run", "--quorum", "-u", urls[0], "-u", urls[1], "-u",
                                     urls[2], "--metrics-file", path, "x", "true", NULL)), 0);
    ck_assert_value(RUN("starts_total"), 1);
    ck_assert_value("holdfast_servers{name=\"x\"}", 3);
    ck_assert_double_ge(value_of("holdfast_grants_total{kind=\"plain\",name=\"x\"}"), 2);
    for (int i = 0; i < 2; i++)
        server_stop(others[i]);
}
END_TEST

/* ---- elect, hold ---- */

/* A candidate is shown, each term counts, and a signal while it waits leaves it as it was. */
START_TEST(election_shows_candidates_and_terms)
{
    struct process *p;

    hold_by_other("x", 600000);
    p = holdfast(server, "elect", "--pause", "10ms", "--metrics-file", path, "x", "sh", "-c",
                 "echo up; read go", NULL);
    await_value(LEADS, 0);
    ck_assert_value(RUN("starts_total"), 0);
    (void)server_ask(server, "DEL x");
    (void)server_ask(server, "PUBLISH redisson_lock__channel:{x} 0");
    (void)await_line(p, OUT, "up");
    await_value(LEADS, 1);
    say(p, "go\n");
    (void)await_line(p, OUT, "up");
    await_value(RUN("starts_total"), 2);
    await_value(LEADS, 1);
    ck_assert_value(RUN("last_exit_code"), 0);
    (void)kill(pid_of(p), SIGTERM);
    ck_assert_int_eq(finish(p), 1000 + SIGTERM);
    ck_assert_value(LEADS, 0);
}
END_TEST

START_TEST(hold_is_shown_until_it_ends)
{
    struct process *p = holdfast(server, "hold", "--metrics-file", path, "x", NULL);

    (void)await_line(p, OUT, "held ");
    await_value(RUN("is_held"), 1);
    ck_assert_value("holdfast_holds{kind=\"plain\",name=\"x\"}", 1);
    (void)kill(pid_of(p), SIGTERM);
    ck_assert_int_eq(finish(p), 0);
    ck_assert_value(RUN("is_held"), 0);
    ck_assert_value(RUN("last_exit_code"), 0);
    p = holdfast(server, "hold", "--ttl", "1500ms", "--metrics-file", path, "x", NULL);
    (void)await_line(p, OUT, "held ");
    (void)server_ask(server, "DEL x");
    ck_assert_int_eq(finish(p), 122);
    ck_assert_value(RUN("losses_total"), 1);
    ck_assert_value(RUN("starts_total"), 2);
    ck_assert_value(RUN("last_exit_code"), 122);
}
END_TEST

/* ---- the command line ---- */

static const struct {
    const char *option, *value, *says;
} wrong[] = {
    {"--metrics-interval", "5s", "--metrics-interval needs --metrics-file"},
    {"--metrics-file", "", "FILE is empty"},
    {"--metrics-interval", "1ms", "--metrics-interval"},
};

START_TEST(wrong_options_are_refused)
{
    static const char *const commands[] = {"run", "elect", "hold"};

    for (int i = 0; i < 3; i++) {
        struct process *p =
            i == 2 ? holdfast(NULL, commands[i], wrong[_i].option, wrong[_i].value, "x", NULL)
                   : holdfast(NULL, commands[i], wrong[_i].option, wrong[_i].value, "x", "true",
                              NULL);

        (void)await_line(p, ERR, wrong[_i].says);
        ck_assert_int_eq(finish(p), 125);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("run, metrics");
    TCase *c = run_case(s, "metrics");

    tcase_add_checked_fixture(c, begin, end);
    tcase_add_test(c, run_is_shown_while_it_holds_the_lock_and_afterwards);
    tcase_add_test(c, run_that_does_not_get_the_lock_leaves_the_file_alone);
    tcase_add_test(c, loss_is_shown_at_once);
    tcase_add_test(c, suspended_process_is_the_reason_of_the_loss);
    tcase_add_test(c, file_is_written_each_interval);
    tcase_add_test(c, file_of_a_candidate_is_written_each_interval);
    tcase_add_test(c, signal_that_ends_the_command_is_the_exit_code);
    tcase_add_test(c, error_is_reported_once_and_the_command_runs);
    tcase_add_loop_test(c, name_that_node_exporter_ignores_is_reported, 0, 4);
    tcase_add_test(c, file_that_hangs_stops_no_renewal_and_no_end);
    tcase_add_test(c, file_that_hung_is_written_afterwards);
    tcase_add_test(c, quorum_is_the_sum_of_its_members);
    tcase_add_test(c, election_shows_candidates_and_terms);
    tcase_add_test(c, hold_is_shown_until_it_ends);
    tcase_add_loop_test(c, wrong_options_are_refused, 0, ROWS(wrong));
    return run_suite(s);
}
