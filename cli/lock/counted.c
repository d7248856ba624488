/* The command line of `holdfast semaphore` and `holdfast latch`, and their messages. */
/* Tests: tests/live/cli/test_counted.c. */
#include "cli/lock/counted.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "cli/base/json.h"
#include "cli/base/lock_words.h"
#include "cli/base/nearest.h"
#include "cli/base/signals.h"
#include "cli/base/values.h"

/* ---- results ---- */

/* The text of the server comes last. */
static const char *explain_error(const struct hf_error *err)
{
    if (strstr(err->text, ": WRONGTYPE Operation against"))
        return "its key has another type, perhaps that of a lock ('holdfast status' shows it)";
    if (strstr(err->text, "ERR value is not an integer from"))
        return "its key holds something other than a count";
    return NULL;
}

static bool is_outcome_unknown(hf_status status)
{
    return status == HF_E_NOREPLY || status == HF_E_CONNECT || status == HF_E_PROTOCOL;
}

int cli_counted_report_error(struct cli_counted *c, hf_status status,
                             const struct hf_error *err, bool changes)
{
    const char *wrong = status == HF_E_SERVER ? explain_error(err) : NULL;
    int rc;

    if (wrong)
        return cli_fail("%s is not a %s: %s; it is not changed", c->quoted, c->kind->noun,
                        wrong);
    rc = cli_fail_status(status, err);
    c->is_outcome_unknown = changes && is_outcome_unknown(status);
    if (changes && status == HF_UNREPLICATED)
        rc = cli_fail("it is done; do not repeat it unless a failover lost it");
    return rc;
}

int cli_counted_report_change(struct cli_counted *c, hf_status status, const struct hf_error *err)
{
    return status < 0 ? cli_counted_report_error(c, status, err, true) : CLI_EXIT_OK;
}

bool cli_counted_is_done(hf_status status)
{
    return status >= 0 || status == HF_UNREPLICATED;
}

int cli_counted_none(const struct cli_counted *c)
{
    cli_warn("there is no %s %s; nothing is changed", c->kind->noun, c->quoted);
    return CLI_EXIT_NO;
}

static void begin_json(const struct cli_counted *c, struct cli_json *j)
{
    struct cli_lock lock = {.name = c->name, .name_len = strlen(c->name)};

    cli_json_init(j);
    cli_lock_put_name(j, &lock);
}

static int end_json(struct cli_json *j, int code)
{
    int rc = cli_json_print(j);

    return rc == CLI_CONTINUE ? code : rc;
}

int cli_counted_done(const struct cli_counted *c, const char *done, bool is_done, int code)
{
    struct cli_json j;

    if (!c->common->is_json)
        return code;
    begin_json(c, &j);
    cli_json_bool(&j, done, is_done);
    if (c->number > 0 || c->action->number_wanted == CLI_WITH_NUMBER)
        cli_json_integer(&j, "number", c->number);
    return end_json(&j, code);
}

int cli_counted_deleted(struct cli_counted *c, hf_status status, bool was_deleted,
                        const struct hf_error *err)
{
    int code = cli_counted_report_change(c, status, err);

    if (!cli_counted_is_done(status))
        return code;
    if (!was_deleted)
        code = cli_counted_none(c);
    return cli_counted_done(c, "deleted", was_deleted, code);
}

int cli_counted_show(const struct cli_counted *c, const char *member, int64_t number, int code)
{
    struct cli_json j;

    if (c->common->is_json) {
        begin_json(c, &j);
        cli_json_integer(&j, member, number);
        return end_json(&j, code);
    }
    if (!c->common->is_quiet)
        (void)printf("%lld\n", (long long)number);
    return code;
}

/* ---- one call, or one that waits ---- */

static int open_object(struct cli_counted *c, struct hf_client *client)
{
    struct hf_error err = {0};
    struct hf_lock *lock;
    hf_status status;
    int rc = cli_lock_open(&lock, client, HF_KIND_PLAIN, c->name); /* connects */

    hf_lock_free(lock);
    c->client = client;
    if (rc == CLI_CONTINUE && (status = c->kind->open(c, client, &err)) < 0)
        rc = cli_fail_status(status, &err);
    return rc;
}

/* The library logs a repeated request that failed. */
static int fail_unknown_outcome(const struct cli_counted *c, bool has_ended)
{
    if (has_ended && c->action->repeats_after_lost_reply &&
        !strstr(cli_warning_last(), "outcome of an operation"))
        return cli_fail("the request was sent again, and the server replied: it is done, unless "
                        "there is no such %s; do not repeat it", c->kind->noun);
    return cli_fail("whether the server did this is unknown: 'holdfast %s %s get' shows the "
                    "count", c->kind->noun, c->quoted);
}

static int run_action_at_once(struct cli_counted *c)
{
    bool has_ended;
    struct hf_client *client;
    int rc = cli_client_open_no_retry(&client, c->common);

    if (rc == CLI_CONTINUE)
        rc = open_object(c, client);
    if (rc == CLI_CONTINUE) {
        rc = c->action->run(c);
        has_ended = hf_client_close(client, rc == CLI_EXIT_OK ? CLI_WAIT_TIDY_MS
                                                               : CLI_WAIT_LINGER_MS,
                                    NULL, NULL) == HF_OK;
        if (c->is_outcome_unknown)
            rc = fail_unknown_outcome(c, has_ended);
    }
    c->kind->close(c);
    hf_client_free(client);
    return rc;
}

#define UNKNOWN "%s: 'holdfast %s %s get' shows the count"

/* Nothing was changed yet when a call blocks here. */
static int open_client_to_wait(struct cli_counted *c)
{
    int rc;

    cli_signals_end_at_once(true);
    rc = cli_wait_open_client(&c->wait, c->common, c->wait_options.wait_ms != 0, 0);
    if (rc == CLI_CONTINUE)
        rc = open_object(c, c->wait.client);
    cli_signals_end_at_once(false);
    return rc;
}

static int run_action_and_wait(struct cli_counted *c)
{
    int rc = cli_wait_open(&c->wait);
    hf_status why;

    (void)snprintf(c->last_words, sizeof c->last_words, "holdfast: " UNKNOWN "\n",
                   cli_close_reason(HF_E_NOREPLY), c->kind->noun, c->quoted);
    if (rc == CLI_CONTINUE)
        rc = open_client_to_wait(c);
    if (rc == CLI_CONTINUE) {
        cli_wait_begin(&c->wait, c->last_words);
        rc = c->action->run(c);
    }
    why = cli_wait_close(&c->wait, rc == CLI_EXIT_OK ? CLI_WAIT_TIDY_MS : CLI_WAIT_LINGER_MS);
    if (why < 0 && rc != CLI_EXIT_OK)
        rc = cli_fail(UNKNOWN, cli_close_reason(why), c->kind->noun, c->quoted);
    c->kind->close(c);
    cli_wait_free(&c->wait);
    return rc == CLI_EXIT_OK ? rc : cli_wait_end(&c->wait, rc);
}

/* ---- the command line ---- */

enum { CLI_COUNTED_TTL = CLI_WAIT_OPTION - 1 };

static const struct cli_option own_options[] = {
    CLI_WAIT_ROWS, {CLI_COUNTED_TTL, 0, "ttl", "DURATION"}, {0}};

static int set_number(struct cli_counted *c, const struct cli_args *args, const char *word)
{
    const struct cli_counted_action *a = c->action;

    if (a->number_wanted == CLI_WITHOUT_NUMBER || c->number >= 0)
        return cli_usage(args, "unexpected argument '%s' after '%s'", word, a->name);
    if (!cli_number_parse(word, a->number_min, INT_MAX, &c->number))
        return cli_usage(args, "%s '%s': write a number from %d to %d", a->name, word,
                         a->number_min, INT_MAX);
    return CLI_CONTINUE;
}

static int report_unknown_action(const struct cli_counted *c, const struct cli_args *args,
                                 const char *word)
{
    struct cli_nearest nearest = {0};
    char list[128] = "";
    size_t len = 0;

    for (const struct cli_counted_action *a = c->kind->actions; a->name; a++) {
        cli_nearest_try(&nearest, word, strlen(word), a->name);
        len += (size_t)snprintf(list + len, sizeof list - len, "%s%s", len ? ", " : "",
                                a->name);
    }
    if (nearest.name)
        return cli_usage(args, "unknown action '%s'; did you mean '%s'?", word, nearest.name);
    return cli_usage(args, "unknown action '%s'; actions: %s", word, list);
}

static int set_action(struct cli_counted *c, const struct cli_args *args, const char *word)
{
    for (const struct cli_counted_action *a = c->kind->actions; a->name; a++)
        if (strcmp(a->name, word) == 0) {
            c->action = a;
            return CLI_CONTINUE;
        }
    return report_unknown_action(c, args, word);
}

static int set_word(struct cli_counted *c, const struct cli_args *args, const char *word)
{
    if (c->action)
        return set_number(c, args, word);
    if (c->name)
        return set_action(c, args, word);
    if (*word == '-' && !args->has_only_words)
        return cli_usage(args, "unknown option '%s'", word);
    c->name = word;
    return CLI_CONTINUE;
}

static int take_option(void *ctx, const struct cli_args *args, int id, char *value)
{
    struct cli_counted *c = ctx;

    if (id == CLI_COUNTED_TTL)
        return cli_take_duration(args, "--ttl", value, 1, &c->ttl_ms);
    return id >= CLI_WAIT_OPTION ? cli_wait_take_option(&c->wait_options, args, id, value)
                                 : set_word(c, args, value);
}

static int check_arguments(struct cli_counted *c, const struct cli_args *args)
{
    if (!c->name || !*c->name)
        return cli_usage(args, c->name ? "NAME is empty" : "NAME is required");
    if (!c->action)
        return cli_usage(args, "what to do with %s? An action is required after NAME",
                         c->quoted);
    if (c->number < 0 && c->action->number_wanted == CLI_WITH_NUMBER)
        return cli_usage(args, "'%s' needs a number", c->action->name);
    if (c->wait_options.last_option && !c->action->waits)
        return cli_usage(args, "%s has no meaning for '%s', which does not wait",
                         c->wait_options.last_option, c->action->name);
    if (c->ttl_ms > 0 && !c->action->takes_ttl)
        return cli_usage(args, "--ttl has no meaning for '%s %s'", c->kind->noun, c->action->name);
    if (c->number < 0)
        c->number = c->action->number_wanted == CLI_NUMBER_OR_ONE ? 1 : 0;
    return CLI_CONTINUE;
}

int cli_counted_main(struct cli_args *args, struct cli_common *common,
                     const struct cli_counted_kind *of)
{
    struct cli_counted c = {.common = common,
                            .kind = of,
                            .number = -1,
                            .wait_options = CLI_WAIT_OPTIONS_INIT};
    int rc;

    args->has_numbers = true; /* set_number refuses one that is out of range */
    rc = cli_common_parse(common, args, own_options, take_option, &c);
    if (rc == CLI_CONTINUE) {
        if (c.name)
            (void)cli_quote(c.quoted, c.name, strlen(c.name));
        rc = check_arguments(&c, args);
    }
    if (rc == CLI_CONTINUE)
        rc = cli_common_apply(common);
    if (rc != CLI_CONTINUE)
        return rc;
    return c.action->waits ? run_action_and_wait(&c) : run_action_at_once(&c);
}
