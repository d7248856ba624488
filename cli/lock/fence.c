/* `holdfast fence`: the counter of a lock's fencing tokens. */
/* Tests: tests/live/cli/test_run_fence.c. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/common.h"
#include "cli/base/json.h"
#include "cli/base/report.h"
#include "lock/token.h"

/* TOKEN is above the counter: tokens that were granted are greater than the next. */
enum { EXIT_COUNTER_LOST = 2 };

struct fence {
    const struct cli_common *common;
    const char *name;
    int64_t token_to_check;     /* to check; 0: none */
    int64_t latest_token;       /* 0: there is none yet */
};

/* ---- words ---- */

/* A number of 63 bits, as tokens are. */
static bool parse_token(const char *text, int64_t *out)
{
    size_t digits = strspn(text, "0123456789");

    errno = 0;
    *out = strtoll(text, NULL, 10);
    return digits > 0 && !text[digits] && errno == 0 && *out > 0;
}

static int set_name_and_token(struct fence *f, const struct cli_args *args,
                              char *const *words)
{
    if (!words[0])
        return cli_usage(args, "NAME is required");
    f->name = words[0];
    if (!words[1])
        return CLI_CONTINUE;
    if (strcmp(words[1], "check") != 0 || !words[2] || words[3])
        return cli_usage(args, "only 'check TOKEN' can follow NAME");
    if (!parse_token(words[2], &f->token_to_check))
        return cli_usage(args, "'%s' is not a token: a token is a number from 1 to "
                               "9223372036854775807", words[2]);
    return CLI_CONTINUE;
}

/* ---- output ---- */

static bool is_token_stale(const struct fence *f)
{
    return f->token_to_check > 0 && f->token_to_check < f->latest_token;
}

static bool is_counter_lost(const struct fence *f)
{
    return f->token_to_check > f->latest_token;
}

static void print_text(const struct fence *f)
{
    char quoted[CLI_QUOTE_MAX];
    long long latest = f->latest_token, token = f->token_to_check;

    (void)printf("%s: ", cli_quote(quoted, f->name, strlen(f->name)));
    if (token == 0 && latest == 0)
        (void)puts("no token yet");
    else if (token == 0)
        (void)printf("token %lld\n", latest);
    else if (token == latest)
        (void)printf("token %lld is the latest\n", token);
    else if (token < latest)
        (void)printf("token %lld is stale: the latest is %lld\n", token, latest);
    else
        (void)printf("token %lld is greater than the counter (%lld): the server lost "
                     "the counter\n", token, latest);
}

/* `name` comes first, for people. */
static int print_json(const struct fence *f)
{
    struct cli_json j;

    cli_json_init(&j);
    cli_json_choose_escaping(&j, f->name, strlen(f->name));
    cli_json_text(&j, "name", f->name);
    cli_json_integer(&j, "latest", f->latest_token);
    if (f->token_to_check > 0) {
        cli_json_integer(&j, "token", f->token_to_check);
        cli_json_bool(&j, "stale", is_token_stale(f));
        cli_json_bool(&j, "counter_lost", is_counter_lost(f));
    }
    return cli_json_print(&j);
}

static int print_token(const struct fence *f)
{
    int rc = CLI_CONTINUE;

    if (f->common->is_json)
        rc = print_json(f);
    else if (!f->common->is_quiet)
        print_text(f);
    if (rc != CLI_CONTINUE)
        return rc;
    if (is_counter_lost(f))
        return EXIT_COUNTER_LOST;
    return is_token_stale(f) || (f->token_to_check == 0 && f->latest_token == 0) ? CLI_EXIT_NO
           : CLI_EXIT_OK;
}

/* ---- the server ---- */

static int read_latest(struct fence *f, struct hf_client *client)
{
    struct hf_error err = {0};
    struct hf_lock *lock;
    int rc = cli_lock_open(&lock, client, HF_KIND_FENCED, f->name);
    hf_status status;

    if (rc == CLI_CONTINUE && (status = hf_token_latest(lock, &f->latest_token, &err)) < 0)
        rc = cli_fail_status(status, &err);
    hf_lock_free(lock);
    return rc;
}

static int read_and_print(struct fence *f)
{
    struct hf_client *client;
    int rc = cli_client_open_no_retry(&client, f->common);

    if (rc == CLI_CONTINUE)
        rc = read_latest(f, client);
    hf_client_free(client);
    return rc == CLI_CONTINUE ? print_token(f) : rc;
}

static int main_fence(struct cli_args *args, struct cli_common *common)
{
    struct fence f = {.common = common};
    char **words;
    int rc = cli_common_parse_words(common, args, &words);

    if (rc == CLI_CONTINUE)
        rc = set_name_and_token(&f, args, words);
    if (rc == CLI_CONTINUE)
        rc = cli_common_apply(common);
    return rc == CLI_CONTINUE ? read_and_print(&f) : rc;
}

const struct cli_command cli_fence_command = {
    .name = "fence",
    .summary = "show or check the latest fencing token of a lock",
    .help =
        "usage: holdfast fence [option]... NAME\n"
        "       holdfast fence [option]... NAME check TOKEN\n"
        "\n"
        "Shows the fencing token of the latest grant of NAME to 'run --fenced' or\n"
        "another fenced holder, including Redisson's. With check: tests whether\n"
        "TOKEN is smaller (stale). A check before a write does not protect the\n"
        "write, because another holder can get the lock in between: the resource\n"
        "itself must compare tokens (docs/fencing.md).\n"
        "Exit code: 0 a token exists, or TOKEN is the latest; 1 no token exists, or\n"
        "TOKEN is stale; 2 TOKEN is greater than the counter, which was lost;\n"
        "125 error.\n"
        "\n" CLI_COMMON_HELP,
    .main = main_fence,
};
