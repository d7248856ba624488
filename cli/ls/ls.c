/* `holdfast ls`: the locks that are held. */
/* Tests: tests/live/cli/test_ls.c. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/report.h"
#include "cli/ls/classify.h"
#include "cli/ls/labels.h"
#include "cli/ls/ls_options.h"
#include "cli/ls/queues.h"
#include "cli/ls/waiters.h"
#include "net/loop/clock.h"

/* Keys of one SCAN. A server is busy with it for a millisecond at most, and
 * serves others in between. */
#define PAGE_KEYS 1000
#define PAGE_KEYS_MIN 10

#define PAUSE_MAX_MS 1000 /* a wait is an int */

struct ls {
    const struct cli_common *common;
    const struct ls_options *options;
    struct hf_loop *loop;
    struct hf_client *client;
    struct ls_scan *scan;
    struct ls_classifier *classifier;
    struct ls_list list;
    struct ls_waiters waiters;
    int64_t end_ms;             /* HF_NEVER: no limit */
    int64_t keys_looked_at;     /* keys, about */
    const char *limit_reached;  /* the limit that ended it; NULL: none did */
};

/* ---- the pace ---- */

/* Pages of each walk. A low rate has small pages, at least PAGE_KEYS_MIN. */
static int64_t keys_per_page(const struct ls *ls)
{
    int64_t walks = ls_scan_count(ls->scan) / ls_scan_servers(ls->scan);
    int64_t size = ls->options->rate / walks;
    int64_t left;

    if (size > PAGE_KEYS)
        size = PAGE_KEYS;
    if (size < PAGE_KEYS_MIN)
        size = PAGE_KEYS_MIN;
    if (ls->options->limit == 0)
        return size;
    left = (ls->options->limit - ls->keys_looked_at) / ls_scan_open_count(ls->scan);
    if (left < 1)
        left = 1;
    return left < size ? left : size;
}

/* Rests until the server that had most to do has had its time for it. */
static void pause_for_rate(const struct ls *ls, int64_t begun_ms, int64_t cost)
{
    int64_t until_ms = begun_ms + cost * 1000 / ls->options->rate;
    int64_t now_ms;

    if (until_ms > ls->end_ms)
        until_ms = ls->end_ms;
    while ((now_ms = hf_clock_ms()) < until_ms)
        hf_loop_dispatch(ls->loop, until_ms - now_ms < PAUSE_MAX_MS
                                       ? (int)(until_ms - now_ms)
                                       : PAUSE_MAX_MS);
}

static bool has_time_ended(const struct ls *ls)
{
    return hf_clock_ms() >= ls->end_ms;
}

static const char *limit_that_was_reached(const struct ls *ls)
{
    if (has_time_ended(ls))
        return "--time";
    if (ls->options->limit > 0 && ls->keys_looked_at >= ls->options->limit)
        return "--limit";
    return NULL;
}

/* ---- classifying ---- */

static hf_status classify_next_page(struct ls *ls, int64_t size)
{
    hf_status rc;

    ls->keys_looked_at += size * ls_scan_open_count(ls->scan);
    rc = ls_scan_next(ls->scan, (int)size);
    return rc == HF_OK ? ls_classify_page(ls->classifier, ls->scan) : rc;
}

static int classify_all_pages(struct ls *ls)
{
    while (ls_scan_open_count(ls->scan) > 0) {
        int64_t begun_ms = hf_clock_ms();
        int64_t size = keys_per_page(ls);
        hf_status rc;

        if ((ls->limit_reached = limit_that_was_reached(ls)))
            break;
        if ((rc = classify_next_page(ls, size)) < 0)
            return cli_fail("%s", hf_status_text(rc));
        if (ls_scan_open_count(ls->scan) > 0)
            pause_for_rate(ls, begun_ms, ls_scan_cost(ls->scan, size));
    }
    return CLI_CONTINUE;
}

/* The locks of the list have their final indices. */
static int read_all_waiters(struct ls *ls)
{
    struct ls_waiters *waiters = &ls->waiters;

    *waiters = (struct ls_waiters){.list = &ls->list,
                                   .requests = ls_scan_requests(ls->scan),
                                   .is_cluster = ls->options->is_cluster};
    while (waiters->next_lock < ls->list.locks_count && !has_time_ended(ls)) {
        int64_t begun_ms = hf_clock_ms(), cost;
        hf_status rc = ls_waiters_next(waiters, &cost);

        if (rc < 0)
            return cli_fail("%s", hf_status_text(rc));
        if (waiters->next_lock < ls->list.locks_count)
            pause_for_rate(ls, begun_ms, cost);
    }
    if (waiters->next_lock < ls->list.locks_count)
        ls->limit_reached = "--time";
    ls_list_sort_waiters(&ls->list);
    return CLI_CONTINUE;
}

static int sort_and_complete_list(struct ls *ls)
{
    ls_list_sort(&ls->list);
    ls_queue_drop_twins(&ls->list);
    return ls->options->has_waiters ? read_all_waiters(ls) : CLI_CONTINUE;
}

/* ---- results ---- */

static int print_list(struct ls *ls)
{
    enum ls_form form = LS_TABS;

    if (ls->common->is_quiet && !ls->common->is_json)
        return CLI_CONTINUE;
    if (ls->common->is_json)
        form = LS_JSON;
    else if (isatty(STDOUT_FILENO))
        form = LS_TABLE;
    if ((ls->options->is_long || ls->options->has_waiters || form != LS_TABS) &&
        ls_labels_read(&ls->list, ls->client) != CLI_CONTINUE)
        return CLI_EXIT_ERROR;
    return ls_list_print(&ls->list, form, ls->options->is_long);
}

/* The walks of a server follow each other; the error of one often also ends the next.
 * */
static bool is_new_error(const struct ls *ls, uint32_t i)
{
    const struct hf_error *why = ls_scan_error(ls->scan, i);
    const struct hf_error *before = i > 0 ? ls_scan_error(ls->scan, i - 1)
                                          : NULL;

    return why && !(before && strcmp(why->text, before->text) == 0);
}

/* Each server that was not looked through, and what could not be looked into. */
static int report_failures(const struct ls *ls)
{
    const struct hf_error *why;
    uint64_t refused = ls_classifier_refused(ls->classifier, &why);
    int code = CLI_EXIT_OK;

    if (refused > 0)
        code = cli_fail("the list is incomplete; keys that could not be inspected: "
                        "%llu, the first: %s",
                        (unsigned long long)refused, why->text);
    if (ls->waiters.unknown_locks > 0)
        code = cli_fail("locks whose waiters are unknown: %llu, the first: %s",
                        (unsigned long long)ls->waiters.unknown_locks,
                        ls->waiters.first_error.text);
    for (uint32_t i = 0; i < ls_scan_count(ls->scan); i++)
        if (is_new_error(ls, i)) {
            why = ls_scan_error(ls->scan, i);
            code = cli_fail_status(why->status, why);
        }
    return code;
}

static int report_failures_and_limit(const struct ls *ls)
{
    int code = report_failures(ls);
    const char *lost = ls_scan_lost(ls->scan);

    cli_verbose("servers: %u, keys read: about %lld, locks: %zu",
                (unsigned)ls_scan_servers(ls->scan), (long long)ls->keys_looked_at,
                ls->list.locks_count);
    if (code != CLI_EXIT_OK)
        return code;
    if (ls->limit_reached)
        cli_warn("the list is incomplete: %s was reached; keys read: about %lld",
                 ls->limit_reached, (long long)ls->keys_looked_at);
    else if (lost)
        cli_warn("the list may be incomplete: a connection was lost and "
                 "re-established: %s", lost);
    return ls->limit_reached || lost ? CLI_EXIT_NO : CLI_EXIT_OK;
}

/* ---- the subcommand ---- */

static int open_client(struct ls *ls)
{
    struct hf_client_options options;
    int rc;

    hf_client_options_init(&options);
    options.loop = ls->loop;
    options.connect_once = true;
    rc = cli_client_open(&ls->client, ls->common, &options);
    if (rc != CLI_CONTINUE)
        return rc;
    ls->classifier = ls_classifier_new(ls->client, &ls->list, ls->options);
    return ls->classifier ? CLI_CONTINUE : cli_fail("out of memory");
}

static int open_scan(struct ls *ls)
{
    struct hf_seeds seeds = {0};
    struct hf_url url = {0};
    struct hf_error err;
    int rc = cli_common_parse_url(&url, &seeds, ls->common);

    if (rc == CLI_CONTINUE &&
        ls_scan_open(&ls->scan, ls->loop, &url, &seeds, &ls->options->filter,
                     &err) < 0)
        rc = cli_fail_status(err.status, &err);
    hf_url_wipe(&url);
    hf_seeds_wipe(&seeds);
    return rc;
}

static int list_locks(struct ls *ls)
{
    const struct hf_loop_options options = {.size = sizeof options, .thread = false};
    hf_status status = hf_loop_new(&ls->loop, &options);
    int rc;

    if (status < 0)
        return cli_fail_what(status, "cannot make an event loop");
    if (ls->options->time_ms > 0)
        ls->end_ms = hf_clock_ms() + ls->options->time_ms;
    if ((rc = open_client(ls)) == CLI_CONTINUE &&
        (rc = open_scan(ls)) == CLI_CONTINUE &&
        (rc = classify_all_pages(ls)) == CLI_CONTINUE &&
        (rc = sort_and_complete_list(ls)) == CLI_CONTINUE &&
        (rc = print_list(ls)) == CLI_CONTINUE) {
        (void)fflush(stdout); /* before messages about it; main checks */
        rc = report_failures_and_limit(ls);
    }
    return rc;
}

static int main_ls(struct cli_args *args, struct cli_common *common)
{
    struct ls_options options;
    struct ls ls = {
        .common = common, .options = &options, .end_ms = HF_NEVER};
    int rc = ls_options_parse(&options, args, common);

    if (rc == CLI_CONTINUE)
        rc = cli_common_apply(common);
    if (rc == CLI_CONTINUE)
        rc = list_locks(&ls);
    ls_scan_free(ls.scan);
    hf_client_free(ls.client);
    ls_classifier_free(ls.classifier);
    ls_list_fini(&ls.list);
    hf_loop_free(ls.loop);
    return rc;
}

const struct cli_command cli_ls_command = {
    .name = "ls",
    .summary = "list held locks",
    .help = ls_help,
    .main = main_ls,
};
