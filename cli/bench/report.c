/* What was measured, as text and as JSON. */
/* Tests: tests/test_cli_bench.c, tests/live/cli/test_bench.c. */
#include "cli/bench/report.h"

#include <stdio.h>
#include <string.h>

#include "cli/base/json.h"
#include "cli/base/lock_words.h"
#include "cli/base/report.h"

char *bench_duration_text(char dst[BENCH_DURATION_TEXT_MAX], uint32_t us)
{
    if (us < 1000)
        (void)snprintf(dst, BENCH_DURATION_TEXT_MAX, "%u us", (unsigned)us);
    else if (us < 1000000)
        (void)snprintf(dst, BENCH_DURATION_TEXT_MAX, "%u.%02u ms", (unsigned)(us / 1000),
                       (unsigned)(us % 1000 / 10));
    else
        (void)snprintf(dst, BENCH_DURATION_TEXT_MAX, "%u.%02u s", (unsigned)(us / 1000000),
                       (unsigned)(us % 1000000 / 10000));
    return dst;
}

/* ---- text ---- */

static void print_times(const char *what, const struct bench_times *t)
{
    char least[BENCH_DURATION_TEXT_MAX], median[BENCH_DURATION_TEXT_MAX],
        p99[BENCH_DURATION_TEXT_MAX];

    if (t->count == 0)
        (void)printf("  %-24s not measured\n", what);
    else
        (void)printf("  %-24s median %s, 99%% within %s, least %s; number: %zu\n", what,
                     bench_duration_text(median, t->median_us), bench_duration_text(p99, t->p99_us),
                     bench_duration_text(least, t->least_us), t->count);
}

static void print_rate(const char *what, size_t clients, const struct bench_result *result)
{
    (void)printf("  %-24s %.0f a second (clients: %zu)\n", what, result->pairs_per_second,
                 clients);
}

static const char *yes_or_no(bool is_so)
{
    return is_so ? "yes" : "no";
}

static void print_facts(const struct bench_report *r)
{
    const struct bench_facts *f = &r->facts;
    char quoted[CLI_QUOTE_MAX];

    (void)printf("%s: %s lock at %s", cli_quote(quoted, r->name, strlen(r->name)),
                 cli_kind_word(r->kind), f->address);
    if (f->version[0])
        (void)printf(", %s", f->version);
    (void)printf("\n  RESP%d; tracking: %s; WAIT: %s; replicas: ", f->protocol,
                 yes_or_no(f->has_tracking), yes_or_no(f->has_wait));
    if (f->replicas >= 0)
        (void)printf("%lld\n", (long long)f->replicas);
    else
        (void)puts("unknown");
}

int bench_report_print(const struct bench_report *r)
{
    print_facts(r);
    print_times("PING", &r->ping);
    print_times("acquire", &r->one_client.acquires);
    print_times("release", &r->one_client.releases);
    print_times("acquire and release", &r->one_client.acquires_and_releases);
    print_rate("pairs, one lock", 1, &r->one_client);
    if (r->clients > 1) {
        print_rate("pairs, a lock for each", r->clients, &r->many_locks);
        print_rate("pairs, one lock", r->clients, &r->one_contended_lock);
        print_times("release to next grant", &r->handover.handovers);
    }
    return CLI_CONTINUE;
}

/* ---- JSON ---- */

static void put_number_member(struct cli_json *j, const char *what, const char *which,
                              int64_t number)
{
    char key[64];

    (void)snprintf(key, sizeof key, "%s%s", what, which);
    cli_json_integer(j, key, number);
}

/* Nothing if there are no samples. */
static void put_times_members(struct cli_json *j, const char *what, const struct bench_times *t)
{
    put_number_member(j, what, "_count", (int64_t)t->count);
    if (t->count == 0)
        return;
    put_number_member(j, what, "_min_us", t->least_us);
    put_number_member(j, what, "_median_us", t->median_us);
    put_number_member(j, what, "_p99_us", t->p99_us);
    put_number_member(j, what, "_max_us", t->most_us);
}

static void put_facts_members(struct cli_json *j, const struct bench_report *r)
{
    const struct bench_facts *f = &r->facts;

    cli_json_choose_escaping(j, r->name, strlen(r->name));
    cli_json_text(j, "name", r->name);
    cli_json_text(j, "kind", cli_kind_word(r->kind));
    cli_json_text(j, "address", f->address);
    if (f->version[0])
        cli_json_text(j, "version", f->version);
    cli_json_integer(j, "protocol", f->protocol);
    cli_json_bool(j, "tracking", f->has_tracking);
    cli_json_bool(j, "wait", f->has_wait);
    if (f->replicas >= 0)
        cli_json_integer(j, "replicas", f->replicas);
}

static void put_rate_member(struct cli_json *j, const char *what, const struct bench_result *result)
{
    put_number_member(j, what, "_per_second", (int64_t)(result->pairs_per_second + 0.5));
}

int bench_report_json(const struct bench_report *r)
{
    struct cli_json j;

    cli_json_init(&j);
    put_facts_members(&j, r);
    put_times_members(&j, "ping", &r->ping);
    put_times_members(&j, "acquire", &r->one_client.acquires);
    put_times_members(&j, "release", &r->one_client.releases);
    put_times_members(&j, "pair", &r->one_client.acquires_and_releases);
    put_rate_member(&j, "pairs", &r->one_client);
    cli_json_integer(&j, "clients", (int64_t)r->clients);
    if (r->clients > 1) {
        put_rate_member(&j, "clients_pairs", &r->many_locks);
        put_rate_member(&j, "contended_pairs", &r->one_contended_lock);
        put_times_members(&j, "handover", &r->handover.handovers);
    }
    return cli_json_print(&j);
}
