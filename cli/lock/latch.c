/* `holdfast latch`: processes wait until a count reaches 0. */
/* Tests: tests/live/cli/test_counted.c. */
#include "lock/latch.h"

#include <string.h>

#include "cli/lock/counted.h"

static hf_status open_latch(struct cli_counted *c, struct hf_client *client,
                            struct hf_error *err)
{
    return hf_latch_new(&c->object.latch, client, c->name, strlen(c->name), err);
}

static void close_latch(struct cli_counted *c)
{
    hf_latch_free(c->object.latch);
}

static int set_latch(struct cli_counted *c)
{
    struct hf_error err = {0};
    bool was_set = false;
    hf_status status = hf_latch_try_set_count(c->object.latch, c->number, &was_set, &err);
    int code = cli_counted_report_change(c, status, &err);

    if (!cli_counted_is_done(status))
        return code;
    if (!was_set)
        cli_warn("the latch %s is set already; nothing is changed", c->quoted);
    return cli_counted_done(c, "set", was_set, was_set ? code : CLI_EXIT_NO);
}

static int read_count(struct cli_counted *c, int64_t *count)
{
    struct hf_error err = {0};
    hf_status status = hf_latch_count(c->object.latch, count, &err);

    return status < 0 ? cli_counted_report_error(c, status, &err, false) : CLI_CONTINUE;
}

static int print_count(struct cli_counted *c)
{
    int64_t count = 0;
    int rc = read_count(c, &count);

    return rc == CLI_CONTINUE
               ? cli_counted_show(c, "count", count, count > 0 ? CLI_EXIT_OK : CLI_EXIT_NO)
               : rc;
}

static int count_down(struct cli_counted *c)
{
    struct hf_error err = {0};
    int64_t count = 0;
    int rc = read_count(c, &count);
    hf_status status;

    if (rc != CLI_CONTINUE)
        return rc;
    if (count == 0)
        return cli_counted_done(c, "counted", false, cli_counted_none(c));
    status = hf_latch_count_down(c->object.latch, &err);
    rc = cli_counted_report_change(c, status, &err);
    return cli_counted_is_done(status) ? cli_counted_done(c, "counted", true, rc) : rc;
}

static int delete_latch(struct cli_counted *c)
{
    struct hf_error err = {0};
    bool was_deleted = false;
    hf_status status = hf_latch_delete(c->object.latch, &was_deleted, &err);

    return cli_counted_deleted(c, status, was_deleted, &err);
}

static int report_wait_result(struct cli_counted *c)
{
    struct cli_wait *w = &c->wait;

    if (w->status == HF_OK)
        return cli_counted_done(c, "open", true, CLI_EXIT_OK);
    if (w->status == HF_CANCELLED)
        return CLI_EXIT_SIGNAL + w->ending_signal;
    if (w->status != HF_TIMEOUT)
        return cli_counted_report_error(c, w->status, &w->error, false);
    cli_verbose("%s", w->error.text);
    return cli_counted_done(c, "open", false, c->wait_options.conflict_code);
}

static int wait_until_open(struct cli_counted *c)
{
    hf_status status = hf_latch_await_async(c->object.latch, c->wait_options.wait_ms,
                                            &c->wait.cancel,
                                            cli_wait_done, &c->wait);

    if (status < 0)
        return cli_fail("cannot wait: %s", hf_status_text(status));
    cli_wait_run_loop(&c->wait);
    return report_wait_result(c);
}

/* ---- the command line ---- */

static const struct cli_counted_action actions[] = {
    {"set", CLI_WITH_NUMBER, 1, false, false, set_latch, false},
    {"down", CLI_WITHOUT_NUMBER, 0, false, true, count_down, false},
    {"wait", CLI_WITHOUT_NUMBER, 0, true, false, wait_until_open, false},
    {"get", CLI_WITHOUT_NUMBER, 0, false, false, print_count, false},
    {"delete", CLI_WITHOUT_NUMBER, 0, false, false, delete_latch, false},
    {0},
};

static const struct cli_counted_kind kind = {
    .noun = "latch", .actions = actions, .open = open_latch, .close = close_latch};

static int main_latch(struct cli_args *args, struct cli_common *common)
{
    return cli_counted_main(args, common, &kind);
}

const struct cli_command cli_latch_command = {
    .name = "latch",
    .summary = "set, count down and wait for a count-down latch",
    .help =
        "usage: holdfast latch [option]... NAME ACTION\n"
        "\n"
        "A latch is a count; waiters pass when the count reaches 0 (Redisson's\n"
        "RCountDownLatch). At 0 the latch is deleted, and can be set again. A latch\n"
        "that does not exist is at 0. Actions:\n"
        "\n"
        "  set N        set the count to N, unless the latch exists\n"
        "  down         count down by 1\n"
        "  wait         wait until the count is 0\n"
        "  get          print the count\n"
        "  delete       delete the latch, whatever its count; waiters pass\n"
        "\n"
        "Exit code: 0 done, and get: the count is not 0; 1 the latch does not exist,\n"
        "or (set) it exists; 75 wait: the time expired; 125 error.\n"
        "\n" CLI_COUNTED_HELP("wait")
        "\n" CLI_COMMON_HELP,
    .main = main_latch,
};
