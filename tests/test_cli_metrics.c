/* The samples of --metrics-file: their grammar, the sums with those of earlier runs, that
 * docs/metrics.md describes them, and how the file is replaced. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/metrics_writer.h"
#include "lock/metrics.h"
#include "net/base/metric_label.h"
#include "tests/support/openmetrics.h"
#include "tests/support/suite.h"

#define PAGE "docs/metrics.md"
#define AWAIT_MS 20000
#define NAME "nightly \"job\""
#define LABEL "name=\"nightly \\\"job\\\"\""
#define RUN(metric) "holdfast_run_" metric "{" LABEL "}"

static char own[CLI_METRICS_OWN_MAX], former[CLI_METRICS_OWN_MAX];
static struct openmetrics metrics;
static char label[METRIC_LABEL_MAX];

static const struct cli_metrics_values failed_run = {.acquired_count = 1,
                                                     .failed_count = 1,
                                                     .acquired_ms = 1700000000123,
                                                     .ended_ms = 1700000005000,
                                                     .exit_code = 7};
static const struct cli_metrics_values good_run = {.acquired_count = 1,
                                                   .acquired_ms = 1700000100000,
                                                   .ended_ms = 1700000100007,
                                                   .last_success_ms = 1700000100007,
                                                   .updated_ms = 1700000100007};
static const struct cli_metrics_values held = {
    .is_held = true, .acquired_count = 1, .acquired_ms = 1700000200000,
        .updated_ms = 1700000215000};

static void compose(const struct cli_metrics_values *v, bool is_election, const char *before)
{
    int len = cli_metrics_compose(own, v, hf_metric_label(label, NAME), is_election, before);

    ck_assert_int_eq(len, (int)strlen(own));
    ck_assert_msg(openmetrics_parse(&metrics, own, false), "%s", metrics.why);
}

static double value_of(const char *series)
{
    return openmetrics_value(own, series);
}

/* ---- samples ---- */

START_TEST(run_that_never_ended_has_no_time_of_it)
{
    compose(&held, false, NULL);
    ck_assert_value(RUN("is_held"), 1);
    ck_assert_value(RUN("starts_total"), 1);
    ck_assert_value(RUN("last_start_timestamp_seconds"), 1700000200);
    ck_assert_value(RUN("last_end_timestamp_seconds"), -1);
    ck_assert_value(RUN("last_exit_code"), -1);
    ck_assert_value(RUN("last_success_timestamp_seconds"), -1);
    ck_assert_value(RUN("updated_timestamp_seconds"), 1700000215);
    compose(&held, true, NULL);
    ck_assert_value("holdfast_elect_is_leader{" LABEL "}", 1);
    ck_assert_value(RUN("is_held"), -1);
}
END_TEST

/* A run after a failed one, another one that succeeds, and one that holds the lock now. */
START_TEST(earlier_runs_are_added)
{
    compose(&failed_run, false, NULL);
    ck_assert_value(RUN("last_exit_code"), 7);
    memcpy(former, own, sizeof own);
    compose(&good_run, false, former);
    ck_assert_value(RUN("starts_total"), 2);
    ck_assert_value(RUN("failures_total"), 1);
    ck_assert_value(RUN("last_exit_code"), 0);
    memcpy(former, own, sizeof own);
    compose(&held, false, former);
    ck_assert_value(RUN("is_held"), 1);
    ck_assert_value(RUN("starts_total"), 3);
    ck_assert_value(RUN("last_start_timestamp_seconds"), 1700000200);
    ck_assert_value(RUN("last_end_timestamp_seconds"), 1700000100.007);
    ck_assert_value(RUN("last_success_timestamp_seconds"), 1700000100.007);
    memcpy(former, own, sizeof own);
    compose(&failed_run, false, former);
    ck_assert_value(RUN("last_exit_code"), 7);
    ck_assert_value(RUN("last_success_timestamp_seconds"), 1700000100.007);
}
END_TEST

/* Not ours: another name, another metric, or no metrics at all. */
static const char *const strange[] = {
    "",
    "\n",
    "holdfast_run_starts_total{name=\"other\"} 5\n",
    "# holdfast_run_starts_total{" LABEL "} 5\n",
    "holdfast_run_starts_total{" LABEL "}",
    "holdfast_run_starts_total{" LABEL "} \n",
    "holdfast_run_starts_total{" LABEL "} text\n",
    "holdfast_run_starts_total{" LABEL "} 99999999999999999999999999999999999999999999\n",
    "holdfast_run_last_end_timestamp_seconds{" LABEL "} -1e300\n",
    "holdfast_run_last_end_timestamp_seconds{" LABEL "} 1e300\n",
    "\xff\xfe{{{",
};

START_TEST(strange_file_counts_nothing)
{
    compose(&held, false, strange[_i]);
    ck_assert_value(RUN("starts_total"), 1);
    ck_assert_value(RUN("last_end_timestamp_seconds"), -1);
}
END_TEST

START_TEST(longest_name_fits)
{
    char name[METRIC_NAME_MAX + 1] = "";
    struct cli_metrics_values v = failed_run;

    memset(name, '"', sizeof name - 1);
    v.acquired_count = v.lost_count = v.failed_count = UINT64_MAX;
    v.last_success_ms = v.ended_ms = INT64_MAX;
    ck_assert_int_lt(cli_metrics_compose(own, &v, hf_metric_label(label, name), false, NULL),
                     CLI_METRICS_OWN_MAX);
    ck_assert_msg(openmetrics_parse(&metrics, own, false), "%s", metrics.why);
}
END_TEST

/* ---- the page ---- */

static const char *text_of(const char *from)
{
    static char text[256 << 10];
    FILE *in = fopen(from, "r");
    size_t len;

    ck_assert_ptr_nonnull(in);
    len = fread(text, 1, sizeof text - 1, in);
    (void)fclose(in);
    text[len] = '\0';
    return text;
}

START_TEST(page_has_a_row_for_each_metric)
{
    const char *text = text_of(PAGE);

    for (int i = 0; i < 2; i++) {
        compose(&good_run, i == 1, NULL);
        ck_assert_uint_eq(metrics.families_count, 9);
        for (size_t f = 0; f < metrics.families_count; f++) {
            char row[600];

            (void)snprintf(row, sizeof row, "| `%s` | %s | `name` | %s",
                           metrics.families[f].name, metrics.families[f].type,
                           metrics.families[f].help);
            ck_assert_msg(strstr(text, row), "%s has no row '%s'", PAGE, row);
        }
    }
}
END_TEST

START_TEST(page_has_no_row_of_a_metric_that_does_not_exist)
{
    static const char *const starts[] = {"\n| `holdfast_run_", "\n| `holdfast_elect_"};

    for (int i = 0; i < 2; i++) {
        const char *at = text_of(PAGE);

        compose(&good_run, i == 1, NULL);
        while ((at = strstr(at, starts[i]))) {
            char name[120];

            at += 4;
            ck_assert_int_eq(sscanf(at, "%119[a-z_]", name), 1);
            ck_assert_msg(openmetrics_has_name(own, name) ||
                              strcmp(name, "holdfast_run_is_held") == 0,
                          "%s has a row of %s", PAGE, name);
        }
    }
}
END_TEST

/* ---- the dashboard and the alerts ---- */

static struct openmetrics_family known[2 * OPENMETRICS_FAMILIES_MAX];
static size_t known_count;

static void know(const char *text)
{
    ck_assert_msg(openmetrics_parse(&metrics, text, false), "%s", metrics.why);
    for (size_t i = 0; i < metrics.families_count; i++)
        known[known_count++] = metrics.families[i];
}

/* All metrics of the library and the command. */
static void know_all(void)
{
    static char room[HF_METRICS_MAX + 1];
    struct hf_metrics_options o = HF_METRICS_OPTIONS_INIT;
    struct openmetrics_text t = {room, sizeof room, 0};
    struct hf_client *client;

    known_count = 0;
    o.format = HF_METRICS_PROMETHEUS;
    ck_assert_int_eq(hf_client_new_url(&client, "redis://127.0.0.1:1", NULL), HF_OK);
    ck_assert_int_eq(hf_metrics_text(&client, 1, &o, openmetrics_line, &t), HF_OK);
    hf_client_free(client);
    know(room);
    for (int i = 0; i < 2; i++) {
        compose(&good_run, i == 1, NULL);
        know(own);
    }
}

static bool is_known(const char *name)
{
    static const char *const ends[] = {"_bucket", "_count", "_sum"};

    for (size_t i = 0; i < known_count; i++) {
        size_t len = strlen(known[i].name);

        if (strcmp(known[i].name, name) == 0)
            return strcmp(known[i].type, "histogram") != 0;
        for (int e = 0; e < 3; e++)
            if (strncmp(known[i].name, name, len) == 0 && strcmp(name + len, ends[e]) == 0)
                return strcmp(known[i].type, "histogram") == 0;
    }
    return false;
}

static const char *const users[] = {"examples/grafana/holdfast.json",
                                    "examples/prometheus/holdfast.rules.yml"};

START_TEST(each_metric_of_the_examples_exists)
{
    const char *at = text_of(users[_i]);
    int count = 0;

    know_all();
    while ((at = strstr(at, "holdfast_"))) {
        char name[120];

        ck_assert_int_eq(sscanf(at, "%119[a-z_]", name), 1);
        at += strlen(name);
        if (name[strlen(name) - 1] == '_')
            continue; /* "holdfast_run_" in a comment */
        ck_assert_msg(is_known(name), "%s: there is no metric %s", users[_i], name);
        count++;
    }
    ck_assert_int_gt(count, 10);
}
END_TEST

START_TEST(names_that_do_not_exist_are_noticed)
{
    know_all();
    ck_assert(is_known("holdfast_grants_total"));
    ck_assert(is_known("holdfast_wait_seconds_bucket"));
    ck_assert(is_known("holdfast_run_is_held"));
    ck_assert(!is_known("holdfast_grants"));
    ck_assert(!is_known("holdfast_wait_seconds"));
    ck_assert(!is_known("holdfast_holds_count"));
    ck_assert(!is_known("holdfast_grants_totals"));
}
END_TEST

/* ---- the file ---- */

static char folder[64], path[128];

static void start(void)
{
    (void)strcpy(folder, "/tmp/hf_metrics_XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/job.prom", folder);
}

static void stop(void)
{
    (void)unlink(path);
    ck_assert_int_eq(rmdir(folder), 0); /* no other file is left */
}

static void put_all(struct cli_metrics_writer *w, const struct cli_metrics_values *v,
                    const char *text)
{
    cli_metrics_writer_put(w, v, text ? strdup(text) : NULL);
    ck_assert(cli_metrics_writer_await(w, AWAIT_MS));
}

START_TEST(file_is_replaced_and_everybody_can_read_it)
{
    struct cli_metrics_writer *w = cli_metrics_writer_new(path, NAME, false);
    char room[CLI_METRICS_ERROR_MAX];
    struct stat before, after;

    (void)umask(022);
    put_all(w, &held, "# first\n");
    ck_assert_int_eq(stat(path, &before), 0);
    ck_assert_int_eq(before.st_mode & 0777, 0644);
    ck_assert_ptr_nonnull(strstr(text_of(path), "# first\n"));
    put_all(w, &good_run, NULL);
    ck_assert_int_eq(stat(path, &after), 0);
    ck_assert_uint_ne(before.st_ino, after.st_ino);
    ck_assert_ptr_null(strstr(text_of(path), "# first\n"));
    ck_assert_ptr_nonnull(strstr(text_of(path), RUN("starts_total") " 1\n"));
    ck_assert_ptr_null(cli_metrics_writer_error(w, room));
    cli_metrics_writer_drop(w);
    w = cli_metrics_writer_new(path, NAME, false); /* the next run */
    put_all(w, &held, NULL);
    ck_assert_ptr_nonnull(strstr(text_of(path), RUN("starts_total") " 2\n"));
    cli_metrics_writer_drop(w);
}
END_TEST

/* A reader never sees a part of a text. */
START_TEST(reader_sees_a_whole_file)
{
    struct cli_metrics_writer *w = cli_metrics_writer_new(path, NAME, false);
    char text[8000];

    memset(text, '#', sizeof text - 1);
    memcpy(text + sizeof text - 6, "\nend\n", 6);
    put_all(w, &held, text);
    for (int i = 0; i < 200; i++) {
        const char *read;

        cli_metrics_writer_put(w, &held, strdup(text));
        read = text_of(path);
        ck_assert_str_eq(read + strlen(read) - 5, "\nend\n");
    }
    ck_assert(cli_metrics_writer_await(w, AWAIT_MS));
    cli_metrics_writer_drop(w);
}
END_TEST

START_TEST(what_is_not_a_regular_file_is_left_alone)
{
    struct cli_metrics_writer *w = cli_metrics_writer_new(path, NAME, false);
    char room[CLI_METRICS_ERROR_MAX];
    struct stat st;

    ck_assert_int_eq(mkfifo(path, 0600), 0);
    put_all(w, &held, NULL);
    ck_assert_ptr_nonnull(strstr(cli_metrics_writer_error(w, room), "not a regular file"));
    ck_assert_int_eq(lstat(path, &st), 0);
    ck_assert(S_ISFIFO(st.st_mode));
    ck_assert_int_eq(unlink(path), 0);
    put_all(w, &held, NULL);
    ck_assert_ptr_null(cli_metrics_writer_error(w, room));
    cli_metrics_writer_drop(w);
}
END_TEST

START_TEST(folder_that_does_not_exist_is_an_error)
{
    struct cli_metrics_writer *w;
    char room[CLI_METRICS_ERROR_MAX], there[150];

    (void)snprintf(there, sizeof there, "%s/none/job.prom", folder);
    w = cli_metrics_writer_new(there, NAME, false);
    put_all(w, &held, NULL);
    ck_assert_str_eq(strrchr(cli_metrics_writer_error(w, room), ':'),
                     ": No such file or directory");
    cli_metrics_writer_drop(w);
}
END_TEST

/* The remains of a process with the same number that was killed while it wrote. */
START_TEST(remains_of_another_process_are_replaced)
{
    struct cli_metrics_writer *w = cli_metrics_writer_new(path, NAME, false);
    char room[CLI_METRICS_ERROR_MAX], remains[200];
    FILE *out;

    (void)snprintf(remains, sizeof remains, "%s/.job.prom.%ld", folder, (long)getpid());
    out = fopen(remains, "w");
    ck_assert_ptr_nonnull(out);
    (void)fclose(out);
    put_all(w, &held, NULL);
    ck_assert_ptr_null(cli_metrics_writer_error(w, room));
    cli_metrics_writer_drop(w);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("cli/metrics");
    TCase *c = tcase_create("samples"), *f = tcase_create("file");

    tcase_add_test(c, run_that_never_ended_has_no_time_of_it);
    tcase_add_test(c, earlier_runs_are_added);
    tcase_add_loop_test(c, strange_file_counts_nothing, 0, ROWS(strange));
    tcase_add_test(c, longest_name_fits);
    tcase_add_test(c, page_has_a_row_for_each_metric);
    tcase_add_test(c, page_has_no_row_of_a_metric_that_does_not_exist);
    tcase_add_loop_test(c, each_metric_of_the_examples_exists, 0, ROWS(users));
    tcase_add_test(c, names_that_do_not_exist_are_noticed);
    suite_add_tcase(s, c);
    tcase_add_checked_fixture(f, start, stop);
    tcase_add_test(f, file_is_replaced_and_everybody_can_read_it);
    tcase_add_test(f, reader_sees_a_whole_file);
    tcase_add_test(f, what_is_not_a_regular_file_is_left_alone);
    tcase_add_test(f, folder_that_does_not_exist_is_an_error);
    tcase_add_test(f, remains_of_another_process_are_replaced);
    suite_add_tcase(s, f);
    return suite_run(s);
}
