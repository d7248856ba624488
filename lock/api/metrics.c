/* The counters of clients as text: hf_metrics_text. docs/metrics.md has the same table, and a
 * test compares them. */
/* Tests: tests/test_lock_metrics.c, tests/live/lock/test_metrics.c. */
#include "lock/metrics.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "lock/api/metrics_sum.h"
#include "net/base/histogram.h"
#include "net/base/mem.h"
#include "net/base/metric_label.h"
#include "net/base/sized.h"

#define LINE_MAX_BYTES 1024
#define LABELS_MAX 100
#define VALUE_MAX 48

static_assert(METRIC_NAME_MAX == HF_METRICS_NAME_MAX, "the header says so");

/* The bounds of request times: 2^4 us (16 us) to 2^24 us (17 s). */
#define LATENCY_FIRST 4
#define LATENCY_LAST 24

enum metric_type { COUNTER, GAUGE, HISTOGRAM, INFO };

struct metrics_text;

struct metric_row {
    const char *name;           /* without "holdfast_", and without the "_total" of a counter */
    enum metric_type type;
    const char *unit;           /* NULL: none. The name ends in it */
    const char *help;
    size_t sum_offset;          /* its number in struct hf_metrics_sum, if it is one number */
    void (*put_samples)(struct metrics_text *t, const struct hf_metrics_sum *sum); /* or NULL */
    void (*put_samples_of_kind)(struct metrics_text *t, const char *labels,
                                const struct hf_metrics_sum *sum,
                                unsigned kind); /* its samples of one kind; or NULL */
};

/* The text that is being written. */
struct metrics_text {
    void (*write)(void *ctx, const char *line);
    void *ctx;
    enum hf_metrics_format format;
    const struct metric_row *current_metric;
    char name_label[METRIC_LABEL_MAX]; /* the label `name`; "": none */
    char line[LINE_MAX_BYTES];
};

/* ---- lines ---- */

/* `labels`: such as kind="fair"; "": none. */
static void put_sample(struct metrics_text *t, const char *suffix, const char *labels,
                       const char *value)
{
    bool has_both = labels[0] && t->name_label[0], has_any = labels[0] || t->name_label[0];

    (void)snprintf(t->line, sizeof t->line, "holdfast_%s%s%s%s%s%s%s %s", t->current_metric->name,
                   suffix,
                   has_any ? "{" : "", labels, has_both ? "," : "", t->name_label, has_any ? "}"
                       : "",
                   value);
    t->write(t->ctx, t->line);
}

static const char *suffix_of_metric_type(const struct metric_row *m)
{
    return m->type == COUNTER ? "_total" : m->type == INFO ? "_info" : "";
}

static void put_count(struct metrics_text *t, const char *suffix, const char *labels,
                      uint64_t count)
{
    char value[VALUE_MAX];

    (void)snprintf(value, sizeof value, "%" PRIu64, count);
    put_sample(t, suffix, labels, value);
}

static void put_number(struct metrics_text *t, const char *labels, uint64_t number)
{
    put_count(t, suffix_of_metric_type(t->current_metric), labels, number);
}

/* Writes a number of milliseconds or microseconds in seconds. */
static const char *format_seconds(char dst[VALUE_MAX], uint64_t number, unsigned in_a_second)
{
    int digits = in_a_second == 1000 ? 3 : 6;

    (void)snprintf(dst, VALUE_MAX, "%" PRIu64 ".%0*" PRIu64, number / in_a_second, digits,
                   number % in_a_second);
    return dst;
}

static void put_number_with_label(struct metrics_text *t, const char *label, const char *word,
                                  uint64_t number)
{
    char labels[LABELS_MAX];

    (void)snprintf(labels, sizeof labels, "%s=\"%s\"", label, word);
    put_number(t, labels, number);
}

/* ---- histograms ---- */

/* A bucket of all numbers up to `bound`; "+Inf": of all. */
static void put_bucket(struct metrics_text *t, const char *labels, const char *bound,
                       uint64_t number)
{
    char all[LABELS_MAX + VALUE_MAX];

    (void)snprintf(all, sizeof all, "%s%sle=\"%s\"", labels, labels[0] ? "," : "", bound);
    put_count(t, "_bucket", all, number);
}

static void put_histogram_totals(struct metrics_text *t, const char *labels, uint64_t count,
                                 const char *sum)
{
    put_bucket(t, labels, "+Inf", count);
    put_count(t, "_count", labels, count);
    put_sample(t, "_sum", labels, sum);
}

static uint64_t count_of_times(const struct hf_tally_times *times)
{
    uint64_t count = 0;

    for (size_t i = 0; i <= TALLY_POWERS; i++)
        count += times->buckets[i];
    return count;
}

static void put_times_histogram(struct metrics_text *t, const char *labels,
                                const struct hf_tally_times *times)
{
    char room[VALUE_MAX];
    uint64_t count = 0;

    for (unsigned i = 0; i < TALLY_POWERS; i++) {
        count += times->buckets[i];
        put_bucket(t, labels, format_seconds(room, UINT64_C(1) << i, 1000), count);
    }
    put_histogram_totals(t, labels, count_of_times(times),
                         format_seconds(room, times->sum_ms, 1000));
}

static void put_latency_histogram(struct metrics_text *t, const struct hf_metrics_sum *sum)
{
    const struct hf_histogram *h = &sum->link_stats.latency_us;
    char room[VALUE_MAX];

    for (unsigned bits = LATENCY_FIRST; bits <= LATENCY_LAST; bits++)
        put_bucket(t, "", format_seconds(room, UINT64_C(1) << bits, 1000000),
                   hf_histogram_count_below(h, bits));
    put_histogram_totals(t, "", h->count, format_seconds(room, h->sum, 1000000));
}

/* ---- by kind ---- */

static void put_wait_times(struct metrics_text *t, const char *labels,
                           const struct hf_metrics_sum *sum,
                           unsigned kind)
{
    put_times_histogram(t, labels, &sum->tally_by_kind[kind].wait_times);
}

static void put_hold_times(struct metrics_text *t, const char *labels,
                           const struct hf_metrics_sum *sum,
                           unsigned kind)
{
    put_times_histogram(t, labels, &sum->tally_by_kind[kind].hold_times);
}

static void put_grant_count(struct metrics_text *t, const char *labels,
                            const struct hf_metrics_sum *sum,
                            unsigned kind)
{
    put_number(t, labels, count_of_times(&sum->tally_by_kind[kind].wait_times));
}

static void put_held_count(struct metrics_text *t, const char *labels,
                           const struct hf_metrics_sum *sum,
                           unsigned kind)
{
    put_number(t, labels, sum->held_by_kind[kind]);
}

static void put_waiting_count(struct metrics_text *t, const char *labels,
                              const struct hf_metrics_sum *sum,
                              unsigned kind)
{
    put_number(t, labels, sum->waiting_by_kind[kind]);
}

static void put_loss_counts(struct metrics_text *t, const char *labels,
                            const struct hf_metrics_sum *sum,
                            unsigned kind)
{
    static const char *const reasons[TALLY_REASONS] = {
        "deleted", "taken", "unreachable", "suspended", "lease_ended", "max_hold"};
    char both[2 * LABELS_MAX];

    for (size_t i = 0; i < TALLY_REASONS; i++) {
        (void)snprintf(both, sizeof both, "%s,reason=\"%s\"", labels, reasons[i]);
        put_number(t, both, sum->tally_by_kind[kind].losses_by_reason[i]);
    }
}

/* Writes the samples of each kind that was used. */
static void put_kinds_in_use(struct metrics_text *t, const struct hf_metrics_sum *sum)
{
    char labels[LABELS_MAX];

    for (unsigned kind = 0; kind < HF_KIND_NUMBER_COUNT; kind++) {
        if (!sum->is_kind_used[kind] || !hf_kind_label(kind))
            continue;
        (void)snprintf(labels, sizeof labels, "kind=\"%s\"", hf_kind_label(kind));
        t->current_metric->put_samples_of_kind(t, labels, sum, kind);
    }
}

/* ---- by other labels ---- */

static void put_build_version(struct metrics_text *t, const struct hf_metrics_sum *sum)
{
    (void)sum;
    put_number_with_label(t, "version", hf_version(), 1);
}

static void put_oldest_wait(struct metrics_text *t, const struct hf_metrics_sum *sum)
{
    char room[VALUE_MAX];

    put_sample(t, "", "", format_seconds(room, sum->oldest_wait_ms, 1000));
}

static void put_wake_counts(struct metrics_text *t, const struct hf_metrics_sum *sum)
{
    static const char *const causes[WAKE_COUNT] = {[WAKE_NOTIFICATION] = "notification",
                                                   [WAKE_PUSH] = "push",
                                                   [WAKE_TIMER] = "timer",
                                                   [WAKE_TURN] = "turn",
                                                   [WAKE_SUBSCRIPTION] = "subscription"};

    for (size_t i = WAKE_NONE + 1; i < WAKE_COUNT; i++)
        put_number_with_label(t, "cause", causes[i], sum->wakes[i]);
}

static void put_failure_counts(struct metrics_text *t, const struct hf_metrics_sum *sum)
{
    for (size_t i = 0; i < TALLY_STATUSES; i++)
        put_number_with_label(t, "status", hf_status_name(hf_tally_statuses[i]),
                              sum->failures_by_status[i]);
}

static void put_request_counts(struct metrics_text *t, const struct hf_metrics_sum *sum)
{
    put_number_with_label(t, "outcome", "answered", sum->link_stats.answered);
    put_number_with_label(t, "outcome", "unsent", sum->link_stats.unsent);
    put_number_with_label(t, "outcome", "unknown", sum->link_stats.unknown);
}

static void put_redirection_counts(struct metrics_text *t, const struct hf_metrics_sum *sum)
{
    put_number_with_label(t, "type", "ASK", sum->router_counts.asked);
    put_number_with_label(t, "type", "MOVED", sum->router_counts.moved);
}

/* ---- the table ---- */

#define OFFSET_IN_SUM(member) .sum_offset = offsetof(struct hf_metrics_sum, member)

static const struct metric_row metrics[] = {
    {"build", INFO, NULL, "Version of the library.", .put_samples = put_build_version},
    {"grants", COUNTER, NULL, "Acquires that were granted, re-entries excluded.",
     .put_samples_of_kind = put_grant_count},
    {"wait_seconds", HISTOGRAM, "seconds", "Time from the call to the grant.",
     .put_samples_of_kind = put_wait_times},
    {"hold_seconds", HISTOGRAM, "seconds", "Time from the grant to the last release or the loss.",
     .put_samples_of_kind = put_hold_times},
    {"losses", COUNTER, NULL, "Holds that were lost.", .put_samples_of_kind = put_loss_counts},
    {"holds", GAUGE, NULL, "Holds of this process.", .put_samples_of_kind = put_held_count},
    {"waiters", GAUGE, NULL, "Acquires of this process that wait.",
     .put_samples_of_kind = put_waiting_count},
    {"oldest_wait_seconds", GAUGE, "seconds", "How long the oldest waiter has waited.",
     .put_samples = put_oldest_wait},
    {"wakeups", COUNTER, NULL, "Requests that waiters repeated, by cause.",
     .put_samples = put_wake_counts},
    {"failed_calls", COUNTER, NULL, "Calls that returned an error or a refusal.",
     .put_samples = put_failure_counts},
    {"renewals", COUNTER, NULL, "Holds that were renewed.", OFFSET_IN_SUM(renewals)},
    {"late_renewals", COUNTER, NULL,
     "Holds that were renewed with less than half of the lease left.",
     OFFSET_IN_SUM(late_renewals)},
    {"renewal_requests", COUNTER, NULL, "Requests that renew or check holds.",
     OFFSET_IN_SUM(renewal_requests)},
    {"failed_renewal_requests", COUNTER, NULL,
     "Requests to renew without a reply, or that the server refused.",
     OFFSET_IN_SUM(failed_renewals)},
    {"background_releases", GAUGE, NULL, "Abandoned locks that are being released.",
     OFFSET_IN_SUM(orphans)},
    {"push_checks", COUNTER, NULL, "Checks of holds because the server reported a change.",
     OFFSET_IN_SUM(push_checks)},
    {"push_losses", COUNTER, NULL, "Losses that such a check found.", OFFSET_IN_SUM(push_losses)},
    {"servers", GAUGE, NULL, "Servers that the clients know.", OFFSET_IN_SUM(servers)},
    {"connections", GAUGE, NULL, "Connections that are ready for requests.",
     OFFSET_IN_SUM(connections)},
    {"connects", COUNTER, NULL, "Connections that became ready.",
     OFFSET_IN_SUM(link_stats.connects)},
    {"failed_connects", COUNTER, NULL, "Attempts to connect that failed.",
     OFFSET_IN_SUM(link_stats.failures)},
    {"lost_connections", COUNTER, NULL, "Ready connections that were closed or lost.",
     OFFSET_IN_SUM(link_stats.losses)},
    {"requests", COUNTER, NULL, "Requests that have ended, by outcome.",
     .put_samples = put_request_counts},
    {"request_seconds", HISTOGRAM, "seconds", "Time from the write of a request to its reply.",
     .put_samples = put_latency_histogram},
    {"error_replies", COUNTER, NULL, "Replies that were errors.",
     OFFSET_IN_SUM(link_stats.error_replies)},
    {"late_replies", COUNTER, NULL, "Replies to requests that had ended.",
     OFFSET_IN_SUM(link_stats.late_replies)},
    {"requests_in_flight", GAUGE, NULL, "Requests that were sent and have no reply.",
     OFFSET_IN_SUM(link_stats.in_flight)},
    {"requests_queued", GAUGE, NULL, "Requests that were not sent yet.",
     OFFSET_IN_SUM(link_stats.queued)},
    {"queued_bytes", GAUGE, "bytes", "Bytes that were not sent yet.",
     OFFSET_IN_SUM(link_stats.queued_bytes)},
    {"sent_bytes", COUNTER, "bytes", "Bytes that were sent.", OFFSET_IN_SUM(link_stats.bytes_out)},
    {"received_bytes", COUNTER, "bytes", "Bytes that were received.",
     OFFSET_IN_SUM(link_stats.bytes_in)},
    {"pushes", COUNTER, NULL, "Notifications and other pushes that were received.",
     OFFSET_IN_SUM(link_stats.pushes)},
    {"key_pushes", COUNTER, NULL, "Reports of changed keys (tracking=on).",
     OFFSET_IN_SUM(key_pushes)},
    {"redirections", COUNTER, NULL, "Redirections of a cluster that were followed.",
     .put_samples = put_redirection_counts},
    {"map_changes", COUNTER, NULL, "Changes of the map of servers.",
     OFFSET_IN_SUM(router_counts.maps)},
};

/* ---- all ---- */

static void put_comment_line(struct metrics_text *t, const char *what, const char *rest)
{
    bool is_open = t->format == HF_METRICS_OPENMETRICS;

    (void)snprintf(t->line, sizeof t->line, "# %s holdfast_%s%s %s", what, t->current_metric->name,
                   is_open ? "" : suffix_of_metric_type(t->current_metric), rest);
    t->write(t->ctx, t->line);
}

static void put_one_metric(struct metrics_text *t, const struct hf_metrics_sum *sum)
{
    static const char *const types[] = {[COUNTER] = "counter", [GAUGE] = "gauge",
                                        [HISTOGRAM] = "histogram", [INFO] = "info"};
    bool is_open = t->format == HF_METRICS_OPENMETRICS;
    const struct metric_row *m = t->current_metric;

    put_comment_line(t, "TYPE", m->type == INFO && !is_open ? "gauge" : types[m->type]);
    if (m->unit && is_open)
        put_comment_line(t, "UNIT", m->unit);
    put_comment_line(t, "HELP", m->help);
    if (m->put_samples)
        m->put_samples(t, sum);
    else if (m->put_samples_of_kind)
        put_kinds_in_use(t, sum);
    else
        put_number(t, "", *(const uint64_t *)((const char *)sum + m->sum_offset));
}

static void put_all_metrics(struct metrics_text *t, const struct hf_metrics_sum *sum)
{
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++) {
        t->current_metric = &metrics[i];
        put_one_metric(t, sum);
    }
    if (t->format == HF_METRICS_OPENMETRICS)
        t->write(t->ctx, "# EOF");
}

static struct hf_metrics_sum *new_metrics_sum(struct hf_client *client)
{
    struct hf_metrics_sum *sum;

    hf_loop_lock(client->loop); /* for the user's allocator */
    sum = hf_mem_new(client->mem, sizeof *sum);
    hf_loop_unlock(client->loop);
    return sum;
}

static void free_metrics_sum(struct hf_client *client, struct hf_metrics_sum *sum)
{
    hf_loop_lock(client->loop);
    hf_mem_free(client->mem, sum, sizeof *sum);
    hf_loop_unlock(client->loop);
}

static bool is_any_client_forked(struct hf_client *const *clients, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (hf_loop_forked(clients[i]->loop))
            return true;
    return false;
}

static const struct hf_sized options_size = HF_SIZED(hf_metrics_options, name);

hf_status hf_metrics_text(struct hf_client *const *clients, size_t count,
                          const struct hf_metrics_options *options,
                          void (*write)(void *ctx, const char *line), void *ctx)
{
    struct hf_metrics_options o = HF_METRICS_OPTIONS_INIT;
    struct hf_metrics_sum *sum;
    struct metrics_text t;
    hf_status rc = options ? hf_sized_read(&o, &options_size, options, NULL) : HF_OK;

    if (rc < 0 || count == 0)
        return HF_E_INVAL;
    if (is_any_client_forked(clients, count))
        return HF_E_FORKED;
    if (!(sum = new_metrics_sum(clients[0])))
        return HF_E_NOMEM;
    for (size_t i = 0; i < count; i++) {
        hf_loop_lock(clients[i]->loop);
        hf_metrics_sum_add(sum, clients[i]);
        hf_loop_unlock(clients[i]->loop);
    }
    t.write = write;
    t.ctx = ctx;
    t.format = o.format;
    (void)hf_metric_label(t.name_label, o.name);
    put_all_metrics(&t, sum);
    free_metrics_sum(clients[0], sum);
    return HF_OK;
}
