/* The text of metrics of clients that have never connected: its grammar, its limits, and that
 * docs/metrics.md describes it. What is counted: tests/live/lock/test_metrics.c. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lock/api/metrics_sum.h"
#include "lock/metrics.h"
#include "lock/record/tally_add.h"
#include "net/base/histogram.h"
#include "net/base/mem.h"
#include "tests/support/openmetrics.h"
#include "tests/support/suite.h"

#define PAGE "docs/metrics.md"

static char room[HF_METRICS_MAX + 1];
static struct openmetrics metrics;
static struct hf_client *client;

static void start(void)
{
    struct hf_error err = {0};

    ck_assert_msg(hf_client_new_url(&client, "redis://127.0.0.1:1", &err) == HF_OK, "%s",
                  err.text);
}

static void stop(void)
{
    hf_client_free(client);
}

static const char *text_of(const struct hf_metrics_options *o)
{
    struct openmetrics_text t = {room, sizeof room, 0};

    ck_assert_int_eq(hf_metrics_text(&client, 1, o, openmetrics_line, &t), HF_OK);
    return room;
}

static void must_parse(const char *text, bool is_open)
{
    ck_assert_msg(openmetrics_parse(&metrics, text, is_open), "%s", metrics.why);
}

/* ---- the judge ---- */

static const struct {
    const char *text;
    bool is_ok;
} samples[] = {
    {"# TYPE a counter\na_total 1\n# EOF\n", true},
    {"# TYPE a counter\n# HELP a Text.\na_total{b=\"c\",d=\"\\\\\\\"\\n\"} 1\n# EOF\n", true},
    {"# TYPE a_seconds gauge\n# UNIT a_seconds seconds\na_seconds -1.5\n# EOF\n", true},
    {"# TYPE a histogram\na_bucket{le=\"0.5\"} 1\na_bucket{le=\"+Inf\"} 2\na_count 2\na_sum 3\n"
     "# EOF\n", true},
    {"# TYPE a info\na_info{b=\"c\"} 1\n# EOF\n", true},
    {"# TYPE a counter\n# EOF\n", true},
    {"# TYPE a counter\na_total 1\n", false},
    {"# TYPE a counter\na_total 1\n# EOF", false},
    {"# TYPE a counter\na_total 1\n# EOF\n# EOF\n", false},
    {"# TYPE a counter\na 1\n# EOF\n", false},
    {"# TYPE a counter\na_total -1\n# EOF\n", false},
    {"# TYPE a counter\na_total 1\na_total 2\n# EOF\n", false},
    {"# TYPE a counter\na_total{b=\"c\"} 1\na_total{b=\"d\"} 2\n# EOF\n", true},
    {"# TYPE a counter\na_total{b=\"\\x\"} 1\n# EOF\n", false},
    {"# TYPE a counter\na_total{b=\"c} 1\n# EOF\n", false},
    {"# TYPE a counter\na_total{b:=\"c\"} 1\n# EOF\n", false},
    {"# TYPE a counter\na_total NaN\n# EOF\n", false},
    {"# TYPE a counter\na_total\n# EOF\n", false},
    {"# TYPE a counter\n# TYPE a counter\n# EOF\n", false},
    {"# TYPE a number\n# EOF\n", false},
    {"# TYPE a counter\na_total 1\n# HELP a Text.\n# EOF\n", false},
    {"# TYPE a gauge\n# UNIT a seconds\na 1\n# EOF\n", false},
    {"a 1\n# EOF\n", false},
    {"# a comment\n# EOF\n", false},
    {"# TYPE a histogram\na_bucket{le=\"0.5\"} 3\na_bucket{le=\"+Inf\"} 2\na_count 2\n# EOF\n",
     false},
    {"# TYPE a histogram\na_bucket{le=\"0.5\"} 1\na_bucket{le=\"+Inf\"} 2\na_count 3\n# EOF\n",
     false},
    {"# TYPE a histogram\na_bucket{le=\"0.5\"} 1\na_count 1\n# EOF\n", false},
    {"# TYPE a histogram\na_bucket{le=\"5\"} 1\na_bucket{le=\"+Inf\"} 2\na_count 2\n# EOF\n",
     false},
};

START_TEST(the_judge_accepts_and_refuses)
{
    ck_assert_msg(openmetrics_parse(&metrics, samples[_i].text, true) == samples[_i].is_ok,
                  "%s: %s", samples[_i].text, metrics.why);
}
END_TEST

/* ---- the text ---- */

static const struct hf_metrics_options formats[] = {
    {.size = sizeof(struct hf_metrics_options)},
    {.size = sizeof(struct hf_metrics_options), .format = HF_METRICS_PROMETHEUS},
    {.size = sizeof(struct hf_metrics_options), .name = "nightly"},
    {.size = sizeof(struct hf_metrics_options), .format = HF_METRICS_PROMETHEUS,
     .name = "nightly"},
};

START_TEST(text_of_a_new_client_is_valid)
{
    const struct hf_metrics_options *o = &formats[_i];
    bool is_open = o->format == HF_METRICS_OPENMETRICS;

    must_parse(text_of(o), is_open);
    ck_assert_uint_gt(metrics.families_count, 30);
    ck_assert_int_eq((int)openmetrics_value(room, o->name
                                                      ? "holdfast_connects_total{name=\"nightly\"}"
                                                      : "holdfast_connects_total"), 0);
    ck_assert(openmetrics_has_name(room, is_open ? "holdfast_grants" : "holdfast_grants_total"));
    ck_assert_ptr_null(strstr(room, "127.0.0.1"));
}
END_TEST

/* Quotes and backslashes are escaped, control characters are not printed, and a long name is
 * cut. */
static const struct {
    const char *name, *label;
} names[] = {
    {"a", "{name=\"a\"} "},
    {"", "{name=\"\"} "},
    {"a \"b\"", "{name=\"a \\\"b\\\"\"} "},
    {"a\\b", "{name=\"a\\\\x5cb\"} "},
    {"a\nb", "{name=\"a\\\\x0ab\"} "},
    {"\xff", "{name=\"\\\\xff\"} "},
    {"gr\xc3\xbc\xc3\x9f", "{name=\"gr\xc3\xbc\xc3\x9f\"} "},
};

START_TEST(name_is_escaped)
{
    struct hf_metrics_options o = HF_METRICS_OPTIONS_INIT;

    o.name = names[_i].name;
    must_parse(text_of(&o), true);
    ck_assert_msg(strstr(room, names[_i].label), "no %s in %.600s", names[_i].label, room);
}
END_TEST

START_TEST(long_name_is_cut)
{
    struct hf_metrics_options o = HF_METRICS_OPTIONS_INIT;
    static char name[70000];
    const char *from, *to;

    memset(name, '"', sizeof name - 1);
    o.name = name;
    must_parse(text_of(&o), true);
    from = strstr(room, "name=\"");
    to = strstr(from, "} ");
    ck_assert_int_le(to - from, 2 * HF_METRICS_NAME_MAX + 8);
}
END_TEST

/* Every kind, the longest numbers and the longest name. */
START_TEST(text_is_never_longer_than_its_limit)
{
    struct hf_metrics_options o = HF_METRICS_OPTIONS_INIT;
    char name[HF_METRICS_NAME_MAX + 1] = "";

    memset(name, '"', sizeof name - 1);
    o.name = name;
    hf_loop_lock(client->loop);
    for (size_t i = 0; i < HF_KIND_NUMBER_COUNT; i++) {
        struct hf_tally_kind *of = hf_mem_new(client->mem, sizeof *of);

        ck_assert_ptr_nonnull(of);
        of->wait_times.sum_ms = of->hold_times.sum_ms = UINT64_MAX;
        of->wait_times.buckets[0] = of->hold_times.buckets[0] = UINT64_MAX;
        memset(of->losses_by_reason, 0xff, sizeof of->losses_by_reason);
        client->tally.by_kind[i].of = of;
        client->tally.by_kind[i].held = client->tally.by_kind[i].waiting = UINT32_MAX;
    }
    hf_loop_unlock(client->loop);
    must_parse(text_of(&o), true);
    ck_assert_uint_gt(metrics.samples, 700);
    ck_assert_uint_lt(strlen(room), HF_METRICS_MAX);
}
END_TEST

static void refuse_line(void *ctx, const char *line)
{
    (void)ctx;
    ck_abort_msg("a line: %s", line);
}

START_TEST(invalid_arguments_are_refused)
{
    struct hf_metrics_options o = {0};

    ck_assert_int_eq(hf_metrics_text(&client, 0, NULL, refuse_line, NULL), HF_E_INVAL);
    ck_assert_int_eq(hf_metrics_text(&client, 1, &o, refuse_line, NULL), HF_E_INVAL);
}
END_TEST

/* ---- durations ---- */

/* An acquire that began this long ago is granted now. */
static void grant_after(int64_t ms)
{
    struct hf_lock *lock;
    struct hf_op op = {.client = client};

    ck_assert_int_eq(hf_lock_new(&lock, client, "x", 1, NULL), HF_OK);
    hf_loop_lock(client->loop);
    op.lock = lock;
    op.began_ms = hf_loop_now(client->loop) - ms;
    hf_tally_call_ended(&op, HF_OK);
    hf_loop_unlock(client->loop);
    hf_lock_free(lock);
}

static double waits_up_to(const char *bound)
{
    char series[100];

    (void)snprintf(series, sizeof series, "holdfast_wait_seconds_bucket{kind=\"plain\",le=\"%s\"}",
                   bound);
    return openmetrics_value(room, series);
}

static const struct {
    int64_t ms;
    const char *bound, *before; /* the first bucket that has it, and the one before; or NULL */
} waits[] = {
    {0, "0.001", NULL},
    {-1, "0.001", NULL},
    {1, "0.002", "0.001"},
    {3, "0.004", "0.002"},
    {4, "0.008", "0.004"},
    {1023, "1.024", "0.512"},
    {1024, "2.048", "1.024"},
    {(INT64_C(1) << 26) - 1, "67108.864", "33554.432"},
    {INT64_C(1) << 26, "+Inf", "67108.864"},
    {INT64_C(1) << 40, "+Inf", "67108.864"},
};

START_TEST(a_duration_is_in_the_bucket_of_its_bound)
{
    grant_after(waits[_i].ms);
    must_parse(text_of(NULL), true);
    ck_assert_int_eq((int)waits_up_to(waits[_i].bound), 1);
    if (waits[_i].before)
        ck_assert_int_eq((int)waits_up_to(waits[_i].before), 0);
    ck_assert_int_eq((int)waits_up_to("+Inf"), 1);
    ck_assert_double_eq(openmetrics_value(room, "holdfast_wait_seconds_sum{kind=\"plain\"}"),
                        waits[_i].ms > 0 ? (double)waits[_i].ms / 1000 : 0);
    ck_assert_int_eq((int)openmetrics_value(room, "holdfast_grants_total{kind=\"plain\"}"), 1);
}
END_TEST

START_TEST(clients_are_added_up)
{
    struct hf_client *both[2] = {client};
    struct openmetrics_text t = {room, sizeof room, 0};

    grant_after(5);
    ck_assert_int_eq(hf_client_new_url(&both[1], "redis://127.0.0.1:1", NULL), HF_OK);
    client = both[1];
    grant_after(2000);
    grant_after(0);
    ck_assert_int_eq(hf_metrics_text(both, 2, NULL, openmetrics_line, &t), HF_OK);
    must_parse(room, true);
    ck_assert_int_eq((int)openmetrics_value(room, "holdfast_grants_total{kind=\"plain\"}"), 3);
    ck_assert_double_eq(openmetrics_value(room, "holdfast_wait_seconds_sum{kind=\"plain\"}"),
                        2.005);
    hf_client_free(both[1]);
    client = both[0];
}
END_TEST

/* ---- the page ---- */

/* Reads a whole file into static memory. */
static const char *page(const char *path)
{
    static char text[256 << 10];
    FILE *in = fopen(path, "r");
    size_t len;

    ck_assert_msg(in, "cannot read %s", path);
    len = fread(text, 1, sizeof text - 1, in);
    (void)fclose(in);
    ck_assert_uint_lt(len, sizeof text - 1);
    text[len] = '\0';
    return text;
}

/* The name by which samples of a family are found, without the suffixes of histograms. */
static void shown_name(char dst[120], const struct openmetrics_family *f)
{
    (void)snprintf(dst, 120, "%s%s", f->name,
                   strcmp(f->type, "counter") == 0 ? "_total"
                   : strcmp(f->type, "info") == 0  ? "_info"
                                                   : "");
}

START_TEST(page_has_a_row_for_each_metric)
{
    const char *text = page(PAGE);

    must_parse(text_of(NULL), true);
    for (size_t i = 0; i < metrics.families_count; i++) {
        const struct openmetrics_family *f = &metrics.families[i];
        char name[120], row[600];

        shown_name(name, f);
        (void)snprintf(row, sizeof row, "| `%s` | %s | ", name, f->type);
        ck_assert_msg(strstr(text, row), "%s has no row '%s'", PAGE, row);
        row[strlen(row) - 1] = '\0';
        ck_assert_msg(strstr(strstr(text, row), f->help), "%s does not say: %s", PAGE, f->help);
    }
}
END_TEST

/* The rows of the command's own metrics are compared by test_cli_metrics. */
START_TEST(page_has_no_row_of_a_metric_that_does_not_exist)
{
    const char *at = page(PAGE);

    must_parse(text_of(NULL), true);
    while ((at = strstr(at, "\n| `holdfast_"))) {
        char name[120], shown[120];
        bool is_known = strncmp(at + 4, "holdfast_run_", 13) == 0 ||
                        strncmp(at + 4, "holdfast_elect_", 15) == 0;

        at += 4;
        ck_assert_int_eq(sscanf(at, "%119[a-z_]", name), 1);
        for (size_t i = 0; i < metrics.families_count; i++) {
            shown_name(shown, &metrics.families[i]);
            is_known |= strcmp(shown, name) == 0;
        }
        ck_assert_msg(is_known, "%s has a row of %s", PAGE, name);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("lock/metrics");
    TCase *c = tcase_create("text");

    tcase_add_checked_fixture(c, start, stop);
    tcase_add_loop_test(c, the_judge_accepts_and_refuses, 0, ROWS(samples));
    tcase_add_loop_test(c, text_of_a_new_client_is_valid, 0, ROWS(formats));
    tcase_add_loop_test(c, name_is_escaped, 0, ROWS(names));
    tcase_add_test(c, long_name_is_cut);
    tcase_add_test(c, text_is_never_longer_than_its_limit);
    tcase_add_test(c, invalid_arguments_are_refused);
    tcase_add_loop_test(c, a_duration_is_in_the_bucket_of_its_bound, 0, ROWS(waits));
    tcase_add_test(c, clients_are_added_up);
    tcase_add_test(c, page_has_a_row_for_each_metric);
    tcase_add_test(c, page_has_no_row_of_a_metric_that_does_not_exist);
    suite_add_tcase(s, c);
    return suite_run(s);
}
