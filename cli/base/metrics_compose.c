/* The samples of a command: its own, and the sums with those of earlier runs. */
/* Tests: tests/test_cli_metrics.c. */
#include "cli/base/metrics_writer.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/base/metric_label.h"

#define METRICS 9
#define VALUE_MAX 32
#define FIXED_MAX 400           /* a metric without its label: the help, the names, the value */

static_assert(METRICS * (FIXED_MAX + METRIC_LABEL_MAX) < CLI_METRICS_OWN_MAX, "all fit");

struct output {
    char *dst;
    int len;
    const char *label;
};

/* ---- the former file ---- */

/* Copies the value of this metric to dst. False: the file has none. */
static bool read_value(char dst[VALUE_MAX], const char *before, const char *metric,
                       const char *label)
{
    char start[100 + METRIC_LABEL_MAX];
    const char *at = before;
    size_t len = (size_t)snprintf(start, sizeof start, "%s{%s} ", metric, label), n;

    while (at && strncmp(at, start, len) != 0) {
        at = strchr(at, '\n');
        at += at != NULL;
    }
    if (!at)
        return false;
    n = strcspn(at += len, "\n");
    if (n == 0 || n >= VALUE_MAX)
        return false;
    memcpy(dst, at, n);
    dst[n] = '\0';
    return true;
}

static uint64_t count_before(const char *before, const char *metric, const char *label)
{
    char text[VALUE_MAX];

    return read_value(text, before, metric, label) ? strtoull(text, NULL, 10) : 0;
}

/* A time, with three digits after the point. */
static int64_t time_before(const char *before, const char *metric, const char *label)
{
    char text[VALUE_MAX];
    double seconds = read_value(text, before, metric, label) ? strtod(text, NULL) : 0;

    return seconds > 0 && seconds < 1e12 ? (int64_t)(seconds * 1000 + 0.5) : 0;
}

static struct cli_metrics_values with_before(const struct cli_metrics_values *values,
                                             const char *label, const char *before)
{
    struct cli_metrics_values v = *values;

    v.starts += count_before(before, "holdfast_run_starts_total", label);
    v.losses += count_before(before, "holdfast_run_losses_total", label);
    v.failures += count_before(before, "holdfast_run_failures_total", label);
    if (v.start_ms == 0)
        v.start_ms = time_before(before, "holdfast_run_last_start_timestamp_seconds", label);
    if (v.success_ms == 0)
        v.success_ms = time_before(before, "holdfast_run_last_success_timestamp_seconds", label);
    if (v.end_ms == 0) {
        v.end_ms = time_before(before, "holdfast_run_last_end_timestamp_seconds", label);
        v.exit_code = (int)count_before(before, "holdfast_run_last_exit_code", label);
    }
    return v;
}

/* ---- the samples ---- */

static void put_metric(struct output *o, const char *metric, const char *type, const char *help,
                       const char *value)
{
    o->len += snprintf(o->dst + o->len, (size_t)(CLI_METRICS_OWN_MAX - o->len),
                       "# TYPE %s %s\n# HELP %s %s\n%s{%s} %s\n", metric, type, metric, help,
                       metric, o->label, value);
}

static void put_number(struct output *o, const char *metric, const char *type, const char *help,
                       uint64_t number)
{
    char value[VALUE_MAX];

    (void)snprintf(value, sizeof value, "%" PRIu64, number);
    put_metric(o, metric, type, help, value);
}

/* What never happened has no sample: 0 would be a time in 1970. */
static void put_time(struct output *o, const char *metric, const char *help, int64_t ms)
{
    char value[VALUE_MAX];

    if (ms == 0)
        return;
    (void)snprintf(value, sizeof value, "%" PRId64 ".%03d", ms / 1000, (int)(ms % 1000));
    put_metric(o, metric, "gauge", help, value);
}

int cli_metrics_compose(char dst[CLI_METRICS_OWN_MAX], const struct cli_metrics_values *values,
                        const char *label, bool is_election, const char *before)
{
    struct cli_metrics_values v = with_before(values, label, before);
    struct output o = {.dst = dst, .label = label};

    if (is_election)
        put_number(&o, "holdfast_elect_is_leader", "gauge", "1: this process leads.", v.is_held);
    else
        put_number(&o, "holdfast_run_is_held", "gauge", "1: this process holds the lock.",
                   v.is_held);
    put_number(&o, "holdfast_run_starts_total", "counter", "Times that the lock was acquired.",
               v.starts);
    put_number(&o, "holdfast_run_losses_total", "counter",
               "Times that the lock was lost while it was held.", v.losses);
    put_number(&o, "holdfast_run_failures_total", "counter",
               "Runs that ended with another exit code than 0.", v.failures);
    put_time(&o, "holdfast_run_last_start_timestamp_seconds",
             "When the lock was acquired for the last run.", v.start_ms);
    put_time(&o, "holdfast_run_last_end_timestamp_seconds", "When the last run ended.", v.end_ms);
    if (v.end_ms != 0)
        put_number(&o, "holdfast_run_last_exit_code", "gauge",
                   "Exit code of the last run that ended.", (uint64_t)v.exit_code);
    put_time(&o, "holdfast_run_last_success_timestamp_seconds",
             "When a run last ended with the exit code 0.", v.success_ms);
    put_time(&o, "holdfast_run_updated_timestamp_seconds", "When this file was written.",
             v.updated_ms);
    return o.len;
}
