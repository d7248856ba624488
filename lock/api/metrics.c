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

enum type { COUNTER, GAUGE, HISTOGRAM, INFO };

struct text;

struct metric {
    const char *name;           /* without "holdfast_", and without the "_total" of a counter */
    enum type type;
    const char *unit;           /* NULL: none. The name ends in it */
    const char *help;
    size_t at;                  /* its number in struct hf_metrics_sum, if it is one number */
    void (*put)(struct text *t, const struct hf_metrics_sum *sum);  /* or NULL */
    void (*put_kind)(struct text *t, const char *labels, const struct hf_metrics_sum *sum,
                     unsigned kind);    /* its samples of one kind; or NULL */
};

/* The text that is being written. */
struct text {
    void (*write)(void *ctx, const char *line);
    void *ctx;
    enum hf_metrics_format format;
    const struct metric *metric;
    char name[METRIC_LABEL_MAX]; /* the label `name`; "": none */
    char line[LINE_MAX_BYTES];
};

/* ---- lines ---- */

/* `labels`: such as kind="fair"; "": none. */
static void put_sample(struct text *t, const char *suffix, const char *labels, const char *value)
{
    bool has_both = labels[0] && t->name[0], has_any = labels[0] || t->name[0];

    (void)snprintf(t->line, sizeof t->line, "holdfast_%s%s%s%s%s%s%s %s", t->metric->name, suffix,
                   has_any ? "{" : "", labels, has_both ? "," : "", t->name, has_any ? "}" : "",
                   value);
    t->write(t->ctx, t->line);
}

static const char *suffix_of(const struct metric *m)
{
    return m->type == COUNTER ? "_total" : m->type == INFO ? "_info" : "";
}

static void put_count(struct text *t, const char *suffix, const char *labels, uint64_t count)
{
    char value[VALUE_MAX];

    (void)snprintf(value, sizeof value, "%" PRIu64, count);
    put_sample(t, suffix, labels, value);
}

static void put_number(struct text *t, const char *labels, uint64_t number)
{
    put_count(t, suffix_of(t->metric), labels, number);
}

/* Writes a number of milliseconds or microseconds in seconds. */
static const char *format_seconds(char dst[VALUE_MAX], uint64_t number, unsigned in_a_second)
{
    int digits = in_a_second == 1000 ? 3 : 6;

    (void)snprintf(dst, VALUE_MAX, "%" PRIu64 ".%0*" PRIu64, number / in_a_second, digits,
                   number % in_a_second);
    return dst;
}

static void put_one_label(struct text *t, const char *label, const char *word, uint64_t number)
{
    char labels[LABELS_MAX];

    (void)snprintf(labels, sizeof labels, "%s=\"%s\"", label, word);
    put_number(t, labels, number);
}

/* ---- histograms ---- */

/* A bucket of all numbers up to `bound`; "+Inf": of all. */
static void put_bucket(struct text *t, const char *labels, const char *bound, uint64_t number)
{
    char all[LABELS_MAX + VALUE_MAX];

    (void)snprintf(all, sizeof all, "%s%sle=\"%s\"", labels, labels[0] ? "," : "", bound);
    put_count(t, "_bucket", all, number);
}

static void put_total(struct text *t, const char *labels, uint64_t count, const char *sum)
{
    put_bucket(t, labels, "+Inf", count);
    put_count(t, "_count", labels, count);
    put_sample(t, "_sum", labels, sum);
}

static uint64_t count_of(const struct hf_tally_times *times)
{
    uint64_t count = 0;

    for (size_t i = 0; i <= TALLY_POWERS; i++)
        count += times->buckets[i];
    return count;
}

static void put_times(struct text *t, const char *labels, const struct hf_tally_times *times)
{
    char room[VALUE_MAX];
    uint64_t count = 0;

    for (unsigned i = 0; i < TALLY_POWERS; i++) {
        count += times->buckets[i];
        put_bucket(t, labels, format_seconds(room, UINT64_C(1) << i, 1000), count);
    }
    put_total(t, labels, count_of(times), format_seconds(room, times->sum_ms, 1000));
}

static void put_latency(struct text *t, const struct hf_metrics_sum *sum)
{
    const struct hf_histogram *h = &sum->link.latency_us;
    char room[VALUE_MAX];

    for (unsigned bits = LATENCY_FIRST; bits <= LATENCY_LAST; bits++)
        put_bucket(t, "", format_seconds(room, UINT64_C(1) << bits, 1000000),
                   hf_histogram_count_below(h, bits));
    put_total(t, "", h->count, format_seconds(room, h->sum, 1000000));
}

/* ---- by kind ---- */

static void put_waits(struct text *t, const char *labels, const struct hf_metrics_sum *sum,
                      unsigned kind)
{
    put_times(t, labels, &sum->kinds[kind].waits);
}

static void put_holds(struct text *t, const char *labels, const struct hf_metrics_sum *sum,
                      unsigned kind)
{
    put_times(t, labels, &sum->kinds[kind].holds);
}

static void put_grants(struct text *t, const char *labels, const struct hf_metrics_sum *sum,
                       unsigned kind)
{
    put_number(t, labels, count_of(&sum->kinds[kind].waits));
}

static void put_held(struct text *t, const char *labels, const struct hf_metrics_sum *sum,
                     unsigned kind)
{
    put_number(t, labels, sum->held[kind]);
}

static void put_waiting(struct text *t, const char *labels, const struct hf_metrics_sum *sum,
                        unsigned kind)
{
    put_number(t, labels, sum->waiting[kind]);
}

static void put_losses(struct text *t, const char *labels, const struct hf_metrics_sum *sum,
                       unsigned kind)
{
    static const char *const reasons[TALLY_REASONS] = {
        "deleted", "taken", "unreachable", "suspended", "lease_ended", "max_hold"};
    char both[2 * LABELS_MAX];

    for (size_t i = 0; i < TALLY_REASONS; i++) {
        (void)snprintf(both, sizeof both, "%s,reason=\"%s\"", labels, reasons[i]);
        put_number(t, both, sum->kinds[kind].losses[i]);
    }
}

/* Writes the samples of each kind that was used. */
static void put_kinds(struct text *t, const struct hf_metrics_sum *sum)
{
    char labels[LABELS_MAX];

    for (unsigned kind = 0; kind < HF_KIND_NUMBER_COUNT; kind++) {
        if (!sum->is_used[kind] || !hf_kind_label(kind))
            continue;
        (void)snprintf(labels, sizeof labels, "kind=\"%s\"", hf_kind_label(kind));
        t->metric->put_kind(t, labels, sum, kind);
    }
}

/* ---- by other labels ---- */

static void put_build(struct text *t, const struct hf_metrics_sum *sum)
{
    (void)sum;
    put_one_label(t, "version", hf_version(), 1);
}

static void put_oldest(struct text *t, const struct hf_metrics_sum *sum)
{
    char room[VALUE_MAX];

    put_sample(t, "", "", format_seconds(room, sum->oldest_ms, 1000));
}

static void put_wakes(struct text *t, const struct hf_metrics_sum *sum)
{
    static const char *const causes[WAKE_COUNT] = {[WAKE_NOTIFICATION] = "notification",
                                                   [WAKE_PUSH] = "push",
                                                   [WAKE_TIMER] = "timer",
                                                   [WAKE_TURN] = "turn",
                                                   [WAKE_SUBSCRIPTION] = "subscription"};

    for (size_t i = WAKE_NONE + 1; i < WAKE_COUNT; i++)
        put_one_label(t, "cause", causes[i], sum->wakes[i]);
}

static void put_failures(struct text *t, const struct hf_metrics_sum *sum)
{
    for (size_t i = 0; i < TALLY_STATUSES; i++)
        put_one_label(t, "status", hf_status_name(hf_tally_statuses[i]), sum->failures[i]);
}

static void put_requests(struct text *t, const struct hf_metrics_sum *sum)
{
    put_one_label(t, "outcome", "answered", sum->link.answered);
    put_one_label(t, "outcome", "unsent", sum->link.unsent);
    put_one_label(t, "outcome", "unknown", sum->link.unknown);
}

static void put_redirections(struct text *t, const struct hf_metrics_sum *sum)
{
    put_one_label(t, "type", "ASK", sum->route.asked);
    put_one_label(t, "type", "MOVED", sum->route.moved);
}

/* ---- the table ---- */

#define AT(member) .at = offsetof(struct hf_metrics_sum, member)

static const struct metric metrics[] = {
    {"build", INFO, NULL, "Version of the library.", .put = put_build},
    {"grants", COUNTER, NULL, "Acquires that were granted, re-entries excluded.",
     .put_kind = put_grants},
    {"wait_seconds", HISTOGRAM, "seconds", "Time from the call to the grant.",
     .put_kind = put_waits},
    {"hold_seconds", HISTOGRAM, "seconds", "Time from the grant to the last release or the loss.",
     .put_kind = put_holds},
    {"losses", COUNTER, NULL, "Holds that were lost.", .put_kind = put_losses},
    {"holds", GAUGE, NULL, "Holds of this process.", .put_kind = put_held},
    {"waiters", GAUGE, NULL, "Acquires of this process that wait.", .put_kind = put_waiting},
    {"oldest_wait_seconds", GAUGE, "seconds", "How long the oldest waiter has waited.",
     .put = put_oldest},
    {"wakeups", COUNTER, NULL, "Requests that waiters repeated, by cause.", .put = put_wakes},
    {"failed_calls", COUNTER, NULL, "Calls that returned an error or a refusal.",
     .put = put_failures},
    {"renewals", COUNTER, NULL, "Holds that were renewed.", AT(renewals)},
    {"late_renewals", COUNTER, NULL,
     "Holds that were renewed with less than half of the lease left.", AT(late_renewals)},
    {"renewal_requests", COUNTER, NULL, "Requests that renew or check holds.",
     AT(renewal_requests)},
    {"failed_renewal_requests", COUNTER, NULL,
     "Requests to renew without a reply, or that the server refused.", AT(failed_renewals)},
    {"background_releases", GAUGE, NULL, "Abandoned locks that are being released.", AT(orphans)},
    {"push_checks", COUNTER, NULL, "Checks of holds because the server reported a change.",
     AT(push_checks)},
    {"push_losses", COUNTER, NULL, "Losses that such a check found.", AT(push_losses)},
    {"servers", GAUGE, NULL, "Servers that the clients know.", AT(servers)},
    {"connections", GAUGE, NULL, "Connections that are ready for requests.", AT(connections)},
    {"connects", COUNTER, NULL, "Connections that became ready.", AT(link.connects)},
    {"failed_connects", COUNTER, NULL, "Attempts to connect that failed.", AT(link.failures)},
    {"lost_connections", COUNTER, NULL, "Ready connections that were closed or lost.",
     AT(link.losses)},
    {"requests", COUNTER, NULL, "Requests that have ended, by outcome.", .put = put_requests},
    {"request_seconds", HISTOGRAM, "seconds", "Time from the write of a request to its reply.",
     .put = put_latency},
    {"error_replies", COUNTER, NULL, "Replies that were errors.", AT(link.error_replies)},
    {"late_replies", COUNTER, NULL, "Replies to requests that had ended.", AT(link.late_replies)},
    {"requests_in_flight", GAUGE, NULL, "Requests that were sent and have no reply.",
     AT(link.in_flight)},
    {"requests_queued", GAUGE, NULL, "Requests that were not sent yet.", AT(link.queued)},
    {"queued_bytes", GAUGE, "bytes", "Bytes that were not sent yet.", AT(link.queued_bytes)},
    {"sent_bytes", COUNTER, "bytes", "Bytes that were sent.", AT(link.bytes_out)},
    {"received_bytes", COUNTER, "bytes", "Bytes that were received.", AT(link.bytes_in)},
    {"pushes", COUNTER, NULL, "Notifications and other pushes that were received.",
     AT(link.pushes)},
    {"key_pushes", COUNTER, NULL, "Reports of changed keys (tracking=on).", AT(key_pushes)},
    {"redirections", COUNTER, NULL, "Redirections of a cluster that were followed.",
     .put = put_redirections},
    {"map_changes", COUNTER, NULL, "Changes of the map of servers.", AT(route.maps)},
};

/* ---- all ---- */

static void put_comment(struct text *t, const char *what, const char *rest)
{
    bool is_open = t->format == HF_METRICS_OPENMETRICS;

    (void)snprintf(t->line, sizeof t->line, "# %s holdfast_%s%s %s", what, t->metric->name,
                   is_open ? "" : suffix_of(t->metric), rest);
    t->write(t->ctx, t->line);
}

static void put_metric(struct text *t, const struct hf_metrics_sum *sum)
{
    static const char *const types[] = {[COUNTER] = "counter", [GAUGE] = "gauge",
                                        [HISTOGRAM] = "histogram", [INFO] = "info"};
    bool is_open = t->format == HF_METRICS_OPENMETRICS;
    const struct metric *m = t->metric;

    put_comment(t, "TYPE", m->type == INFO && !is_open ? "gauge" : types[m->type]);
    if (m->unit && is_open)
        put_comment(t, "UNIT", m->unit);
    put_comment(t, "HELP", m->help);
    if (m->put)
        m->put(t, sum);
    else if (m->put_kind)
        put_kinds(t, sum);
    else
        put_number(t, "", *(const uint64_t *)((const char *)sum + m->at));
}

static void put_all(struct text *t, const struct hf_metrics_sum *sum)
{
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++) {
        t->metric = &metrics[i];
        put_metric(t, sum);
    }
    if (t->format == HF_METRICS_OPENMETRICS)
        t->write(t->ctx, "# EOF");
}

static struct hf_metrics_sum *sum_new(struct hf_client *client)
{
    struct hf_metrics_sum *sum;

    hf_loop_lock(client->loop); /* for the user's allocator */
    sum = hf_mem_new(client->mem, sizeof *sum);
    hf_loop_unlock(client->loop);
    return sum;
}

static void sum_free(struct hf_client *client, struct hf_metrics_sum *sum)
{
    hf_loop_lock(client->loop);
    hf_mem_free(client->mem, sum, sizeof *sum);
    hf_loop_unlock(client->loop);
}

static bool is_any_forked(struct hf_client *const *clients, size_t count)
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
    struct text t;
    hf_status rc = options ? hf_sized_read(&o, &options_size, options, NULL) : HF_OK;

    if (rc < 0 || count == 0)
        return HF_E_INVAL;
    if (is_any_forked(clients, count))
        return HF_E_FORKED;
    if (!(sum = sum_new(clients[0])))
        return HF_E_NOMEM;
    for (size_t i = 0; i < count; i++) {
        hf_loop_lock(clients[i]->loop);
        hf_metrics_sum_add(sum, clients[i]);
        hf_loop_unlock(clients[i]->loop);
    }
    t.write = write;
    t.ctx = ctx;
    t.format = o.format;
    (void)hf_metric_label(t.name, o.name);
    put_all(&t, sum);
    sum_free(clients[0], sum);
    return HF_OK;
}
