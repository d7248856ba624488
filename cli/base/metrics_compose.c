/* The samples of a command: its own, and the sums with those of earlier runs. */
/* Tests: tests/test_cli_metrics.c. */
#include "cli/base/metrics_writer.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/base/metric_label.h"

#define OWN_METRICS 9
#define VALUE_MAX 32
#define FIXED_MAX 400           /* a metric without its label: the help, the names, the value */

static_assert(OWN_METRICS * (FIXED_MAX + METRIC_LABEL_MAX) < CLI_METRICS_OWN_MAX, "all fit");

struct output {
    char *dst;
    int len;
    const char *label;
};

/* ---- the former file ---- */

/* Copies the value of this metric to dst. False: the file has none. */
static bool read_earlier_value(char dst[VALUE_MAX], const char *before, const char *metric,
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

static uint64_t earlier_count(const char *before, const char *metric, const char *label)
{
    char text[VALUE_MAX];

    return read_earlier_value(text, before, metric, label) ? strtoull(text, NULL, 10) : 0;
}

/* A time, with three digits after the point. */
static int64_t earlier_time_ms(const char *before, const char *metric, const char *label)
{
    char text[VALUE_MAX];
    double seconds = read_earlier_value(text, before, metric, label) ? strtod(text, NULL) : 0;

    return seconds > 0 && seconds < 1e12 ? (int64_t)(seconds * 1000 + 0.5) : 0;
}

static struct cli_metrics_values add_earlier_values(const struct cli_metrics_values *values,
                                                    const char *label, const char *before)
{
    struct cli_metrics_values v = *values;

    v.acquired_count += earlier_count(before, "holdfast_run_starts_total", label);
    v.lost_count += earlier_count(before, "holdfast_run_losses_total", label);
    v.failed_count += earlier_count(before, "holdfast_run_failures_total", label);
    if (v.acquired_ms == 0)
        v.acquired_ms = earlier_time_ms(before, "holdfast_run_last_start_timestamp_seconds", label);
    if (v.last_success_ms == 0)
        v.last_success_ms = earlier_time_ms(before, "holdfast_run_last_success_timestamp_seconds",
                                            label);
    if (v.ended_ms == 0) {
        v.ended_ms = earlier_time_ms(before, "holdfast_run_last_end_timestamp_seconds", label);
        v.exit_code = (int)earlier_count(before, "holdfast_run_last_exit_code", label);
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

static void put_number_metric(struct output *o, const char *metric, const char *type,
                              const char *help,
                              uint64_t number)
{
    char value[VALUE_MAX];

    (void)snprintf(value, sizeof value, "%" PRIu64, number);
    put_metric(o, metric, type, help, value);
}

/* What never happened has no sample: 0 would be a time in 1970. */
static void put_time_metric(struct output *o, const char *metric, const char *help, int64_t ms)
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
    struct cli_metrics_values v = add_earlier_values(values, label, before);
    struct output o = {.dst = dst, .label = label};

    if (is_election)
        put_number_metric(&o, "holdfast_elect_is_leader", "gauge", "1: this process leads.",
                          v.is_held);
    else
        put_number_metric(&o, "holdfast_run_is_held", "gauge", "1: this process holds the lock.",
                          v.is_held);
    put_number_metric(&o, "holdfast_run_starts_total", "counter",
                      "Times that the lock was acquired.",
                      v.acquired_count);
    put_number_metric(&o, "holdfast_run_losses_total", "counter",
                      "Times that the lock was lost while it was held.", v.lost_count);
    put_number_metric(&o, "holdfast_run_failures_total", "counter",
                      "Runs that ended with another exit code than 0.", v.failed_count);
    put_time_metric(&o, "holdfast_run_last_start_timestamp_seconds",
                    "When the lock was acquired for the last run.", v.acquired_ms);
    put_time_metric(&o, "holdfast_run_last_end_timestamp_seconds", "When the last run ended.",
                    v.ended_ms);
    if (v.ended_ms != 0)
        put_number_metric(&o, "holdfast_run_last_exit_code", "gauge",
                          "Exit code of the last run that ended.", (uint64_t)v.exit_code);
    put_time_metric(&o, "holdfast_run_last_success_timestamp_seconds",
                    "When a run last ended with the exit code 0.", v.last_success_ms);
    put_time_metric(&o, "holdfast_run_updated_timestamp_seconds", "When this file was written.",
                    v.updated_ms);
    return o.len;
}
