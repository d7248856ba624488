/* `holdfast bench`: how fast locks are on this server, from here. */
/* Tests: tests/live/cli/test_bench.c. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cli/base/kind_options.h"
#include "cli/base/program.h"
#include "cli/base/report.h"
#include "cli/base/signals.h"
#include "cli/bench/report.h"

#define TIME_MS 5000
#define TIME_LEAST_MS 100
#define CLIENTS 4
#define PAIRS 10000
#define PAIRS_MAX 1000000       /* 4 bytes of memory for each of four times */
#define PINGS_MAX 1000          /* enough for the 99% that are printed */

struct bench {
    struct cli_common *common;
    struct cli_kind_options kind;
    int64_t time_ms;            /* for each name */
    int clients;
    int pairs_max;              /* of each measurement */
    char **names;
    size_t names_count;
    char last_words[CLI_QUOTE_MAX + 128];

    /* Of one name. */
    struct cli_wait wait;
    struct bench_probe probe;
    struct bench_load load;
    struct bench_report report;
};

/* ---- one name ---- */

static int fail_lock_exists(const struct bench *b, const struct hf_lock_info *info)
{
    char name[CLI_QUOTE_MAX], holder[CLI_QUOTE_MAX];

    (void)cli_quote(name, b->report.name, strlen(b->report.name));
    if (info->is_locked)
        (void)cli_fail("%s is held by %s: not measured, because this would slow its users "
                       "down; use a name that is free", name,
                       cli_quote(holder, info->holder, info->holder_len));
    else
        (void)cli_fail("%s has waiters: not measured, because this would slow them down; use "
                       "a name that is free", name);
    return CLI_EXIT_NOT_ACQUIRED;
}

/* Looks at the name itself, which is not touched. */
static int check_lock_is_free(struct bench *b)
{
    struct hf_client_options options;
    struct hf_client *client;
    struct hf_lock *lock = NULL;
    struct hf_lock_info info;
    struct hf_error err = {0};
    hf_status status;
    int rc;

    hf_client_options_init(&options);
    options.loop = b->wait.loop;
    options.connect_once = true;
    rc = cli_client_open(&client, b->common, &options);
    if (rc == CLI_CONTINUE)
        rc = cli_lock_open(&lock, client, b->kind.kind, b->report.name);
    if (rc == CLI_CONTINUE && (status = hf_lock_inspect(lock, &info, &err)) < 0)
        rc = cli_fail_status(status, &err);
    if (rc == CLI_CONTINUE && (info.is_locked || info.waiters > 0))
        rc = fail_lock_exists(b, &info);
    hf_lock_free(lock);
    hf_client_free(client);
    return rc;
}

/* Nothing is held: a signal ends the process at once. */
static int probe_server(struct bench *b, int64_t end_ms)
{
    int pings = b->pairs_max < PINGS_MAX ? b->pairs_max : PINGS_MAX;
    struct bench_samples samples;
    int rc = bench_probe_facts(&b->probe);

    if (!bench_samples_reserve(&samples, (size_t)pings))
        rc = cli_fail("out of memory");
    if (rc == CLI_CONTINUE)
        rc = bench_probe_ping(&b->probe, &samples, end_ms);
    b->report.ping = bench_samples_times(&samples);
    bench_samples_fini(&samples);
    b->report.facts = b->probe.facts;
    return rc;
}

static int open_all_workers(struct bench *b)
{
    const struct bench_plan plan = {.common = b->common,
                                    .kind = b->kind.kind,
                                    .name = b->report.name,
                                    .workers_count = (size_t)b->clients};
    int rc = check_lock_is_free(b);

    if (rc == CLI_CONTINUE)
        rc = bench_probe_open(&b->probe, b->wait.loop, b->common, b->report.name);
    return rc == CLI_CONTINUE ? bench_load_open(&b->load, &plan) : rc;
}

/* The loads of several clients come last: one client does without them. */
static const struct {
    enum bench_load_form form;
    bool has_one_client;
    size_t result;              /* in struct bench_report */
} loads[] = {
    {LOAD_OWN, true, offsetof(struct bench_report, one_client)},
    {LOAD_OWN, false, offsetof(struct bench_report, many_locks)},
    {LOAD_SHARED, false, offsetof(struct bench_report, one_contended_lock)},
    {LOAD_HANDOVER, false, offsetof(struct bench_report, handover)},
};

static size_t count_loads_to_run(const struct bench *b)
{
    return b->clients > 1 ? sizeof loads / sizeof *loads : 1;
}

static struct bench_result *result_of_load(struct bench *b, size_t i)
{
    return (struct bench_result *)((char *)&b->report + loads[i].result);
}

/* Each measurement has the same part of the time, from its own begin. */
static int measure_all_loads(struct bench *b, int64_t part_ms)
{
    int rc = CLI_CONTINUE;

    cli_signals_end_at_once(false);
    cli_signals_set_end_limit(true, b->last_words);
    for (size_t i = 0; i < count_loads_to_run(b) && rc == CLI_CONTINUE &&
         b->wait.ending_signal == 0; i++)
        rc = bench_load_run(&b->load, loads[i].form,
                            loads[i].has_one_client ? 1 : b->report.clients,
                            (size_t)b->pairs_max, hf_clock_ms() + part_ms, result_of_load(b, i));
    return rc;
}

static int print_results(const struct bench *b)
{
    if (b->common->is_json)
        return bench_report_json(&b->report);
    return b->common->is_quiet ? CLI_CONTINUE : bench_report_print(&b->report);
}

/* Returns CLI_CONTINUE, or the exit code. A signal is in b->wait. */
static int run_bench(struct bench *b)
{
    int64_t part_ms = b->time_ms / (int64_t)(1 + count_loads_to_run(b));
    int rc;

    cli_signals_end_at_once(true);
    rc = open_all_workers(b);
    if (rc == CLI_CONTINUE)
        rc = probe_server(b, hf_clock_ms() + part_ms);
    if (rc == CLI_CONTINUE)
        rc = measure_all_loads(b, part_ms);
    return rc == CLI_CONTINUE && b->wait.ending_signal == 0 ? print_results(b) : rc;
}

#define LEFT "locks named %s:bench:... may stay until their TTL of 10 s expires"

static int close_bench(struct bench *b, int rc)
{
    hf_status why = bench_load_close(&b->load);
    char quoted[CLI_QUOTE_MAX];

    if (why < 0)
        rc = cli_fail("%s: " LEFT, cli_close_reason(why),
                      cli_quote(quoted, b->report.name, strlen(b->report.name)));
    bench_probe_close(&b->probe);
    cli_wait_free(&b->wait);
    return rc;
}

static int bench_name(struct bench *b, const char *name)
{
    char quoted[CLI_QUOTE_MAX];
    int rc;

    b->probe = (struct bench_probe){0};
    b->load = (struct bench_load){.wait = &b->wait};
    b->report = (struct bench_report){
        .name = name, .kind = b->kind.kind, .clients = (size_t)b->clients};
    (void)snprintf(b->last_words, sizeof b->last_words,
                   "holdfast: %s: " LEFT "\n", cli_close_reason(HF_E_NOREPLY),
                   cli_quote(quoted, name, strlen(name)));
    rc = cli_wait_open(&b->wait);
    if (rc == CLI_CONTINUE)
        rc = run_bench(b);
    return close_bench(b, rc);
}

/* A name that is in use does not hide the others. */
static int bench_all_names(struct bench *b)
{
    int code = CLI_EXIT_OK;

    for (size_t i = 0; i < b->names_count; i++) {
        int rc = bench_name(b, b->names[i]);

        if (b->wait.ending_signal != 0)
            cli_signals_die(b->wait.ending_signal, false);
        if (rc == CLI_EXIT_NOT_ACQUIRED)
            code = rc;
        else if (rc != CLI_CONTINUE)
            return rc;
    }
    return code;
}

/* ---- the command line ---- */

enum { OPT_TIME = 1, OPT_CLIENTS, OPT_PAIRS };

static const struct cli_option own_options[] = {
    {OPT_TIME, 0, "time", "DURATION"},
    {OPT_CLIENTS, 0, "clients", "N"},
    {OPT_PAIRS, 0, "pairs", "N"},
    {CLI_OPT_FAIR, 0, "fair", NULL},
    {CLI_OPT_VALUE, 0, "value", NULL},
    {0},
};

static int add_name(struct bench *b, const struct cli_args *args, char *name)
{
    if (!*name)
        return cli_usage(args, "NAME is empty");
    if (strlen(name) > BENCH_NAME_MAX)
        return cli_usage(args, "NAME has more than %d bytes", BENCH_NAME_MAX);
    b->names[b->names_count++] = name;
    return CLI_CONTINUE;
}

static int take_option(void *ctx, const struct cli_args *args, int id, char *value)
{
    struct bench *b = ctx;

    if (id >= CLI_KIND_OPTION)
        return cli_kind_take_option(&b->kind, args, id, value);
    switch (id) {
    case OPT_TIME:
        return cli_take_duration(args, "--time", value, TIME_LEAST_MS, &b->time_ms);
    case OPT_CLIENTS:
        return cli_take_number(args, "--clients", value, 1, BENCH_CLIENTS_MAX, &b->clients);
    case OPT_PAIRS:
        return cli_take_number(args, "--pairs", value, 1, PAIRS_MAX, &b->pairs_max);
    default:
        return add_name(b, args, value);
    }
}

static int parse_options(struct bench *b, struct cli_args *args, struct cli_common *common)
{
    int rc = cli_common_parse(common, args, own_options, take_option, b);

    if (rc == CLI_CONTINUE && b->names_count == 0)
        rc = cli_usage(args, "NAME is required");
    if (rc == CLI_CONTINUE)
        rc = cli_kind_check(&b->kind, args);
    common->label = ""; /* a text for people about holds of less than a second */
    return rc == CLI_CONTINUE ? cli_common_apply(common) : rc;
}

static int main_bench(struct cli_args *args, struct cli_common *common)
{
    static struct bench b = {.kind = {.kind = HF_KIND_PLAIN},
                             .time_ms = TIME_MS,
                             .clients = CLIENTS,
                             .pairs_max = PAIRS};
    int rc;

    b.common = common;
    b.names = args->next_word; /* the names overwrite words that were read */
    rc = parse_options(&b, args, common);
    return rc == CLI_CONTINUE ? bench_all_names(&b) : rc;
}

const struct cli_command cli_bench_command = {
    .name = "bench",
    .summary = "measure how fast locks are on a server",
    .help =
        "usage: holdfast bench [option]... NAME...\n"
        "\n"
        "Measures, from this machine, at the server of each NAME: the round trip of\n"
        "PING; the time of acquire and release without contention; how many pairs of\n"
        "them a second one client and several clients do, with a lock for each and\n"
        "with one lock; and the time from a release to the grant to a waiter. Also\n"
        "reports the server's version and replicas, RESP3, and whether this user may\n"
        "use tracking and WAIT. NAME itself is not touched: the locks have names of\n"
        "their own, NAME:bench:..., in the cluster slot of NAME, and a TTL of 10 s,\n"
        "and are released at the end, also after a signal. A NAME that is held or has\n"
        "waiters is refused. Each client has at most one request under way.\n"
        "Exit code: 0 measured, 75 a NAME is in use, 125 error.\n"
        "\n"
        "  --time DURATION      for each NAME, at most about this time; default 5s\n"
        "  --clients N          number of clients for contention, each with a\n"
        "                       connection; 1 to 64, default 4. 1: no contention\n"
        "  --pairs N            at most N pairs in each measurement; default 10000\n"
        CLI_KIND_HELP_FAIR
        CLI_KIND_HELP_VALUE
        "\n" CLI_COMMON_HELP,
    .main = main_bench,
};
