/* `holdfast renew`: a lock that `holdfast acquire` took is held for longer. */
/* Tests: tests/live/cli/test_acquire.c. */
#include <stdio.h>
#include <string.h>

#include "cli/base/common.h"
#include "cli/base/label.h"
#include "cli/base/report.h"
#include "cli/lock/handle.h"
#include "lock/by_owner.h"
#include "net/loop/clock.h"

struct renew_handle {
    const struct cli_common *common;
    const char *name;
    const char *handle;
    int64_t lease_ms;           /* 0: not given */
};

/* ---- requests ---- */

/* A full pipe may delay the output. */
static int report_renewed(const struct renew_handle *r, const struct cli_handle *h,
                          int64_t safe_ms)
{
    int64_t until_ms = hf_clock_ms() + safe_ms;
    int64_t told_ms = cli_handle_safe_at_end(safe_ms);
    int rc;

    if (told_ms <= 0)
        return cli_fail("the reply took longer than the lease: the lock may be free "
                        "again; use a longer --lease");
    rc = cli_handle_report(h, r->common, "renewed", true, told_ms);
    (void)fflush(stdout); /* main looks */
    if (rc == CLI_EXIT_OK && until_ms - hf_clock_ms() < told_ms)
        rc = cli_fail("writing to standard output took too long and SAFE_MS is stale; "
                      "renew again");
    return rc;
}

/* The label must not end before the lock. Returns the time that this took. */
static int64_t extend_label(const struct renew_handle *r, const struct cli_handle *h)
{
    int64_t begun_ms = hf_clock_ms();

    cli_label_extend(h->client, h->owner, r->lease_ms);
    return hf_clock_ms() - begun_ms;
}

static int renew_lock_of_handle(const struct renew_handle *r, struct cli_handle *h)
{
    struct hf_error err = {0};
    int64_t safe_ms = 0;
    hf_status status = hf_renew_by_owner(h->lock, h->owner, strlen(h->owner),
                                         r->lease_ms, &safe_ms, &err);

    if (status == HF_OK)
        return report_renewed(r, h, safe_ms - extend_label(r, h));
    return status == HF_NOT_OWNER
               ? cli_handle_report(h, r->common, "renewed", false, 0)
               : cli_handle_fail(h, status, &err);
}

static int open_and_renew_handle(const struct renew_handle *r)
{
    struct cli_handle handle;
    int rc = cli_handle_open(&handle, r->common, r->name, r->handle);

    if (rc == CLI_CONTINUE)
        rc = renew_lock_of_handle(r, &handle);
    cli_handle_close(&handle);
    return rc;
}

/* ---- the command line ---- */

enum { LEASE = 1 };

static const struct cli_option own_options[] = {
    {LEASE, 0, "lease", "DURATION"},
    {0},
};

static int take_option(void *ctx, const struct cli_args *args, int id,
                       char *value)
{
    struct renew_handle *r = ctx;

    if (id == LEASE)
        return cli_take_duration(args, "--lease", value, CLI_LEASE_LEAST_MS,
                                 &r->lease_ms);
    if (r->handle)
        return cli_handle_extra_word(args, value);
    *(r->name ? &r->handle : &r->name) = value;
    return CLI_CONTINUE;
}

static int check_options(const struct renew_handle *r, const struct cli_args *args)
{
    int rc = cli_handle_check(args, r->name, r->handle);

    if (rc == CLI_CONTINUE && r->lease_ms == 0)
        rc = cli_usage(args, "--lease is required");
    return rc;
}

static int main_renew(struct cli_args *args, struct cli_common *common)
{
    struct renew_handle r = {.common = common};
    int rc = cli_common_parse(common, args, own_options, take_option, &r);

    if (rc == CLI_CONTINUE)
        rc = check_options(&r, args);
    if (rc == CLI_CONTINUE)
        rc = cli_common_apply(common);
    return rc == CLI_CONTINUE ? open_and_renew_handle(&r) : rc;
}

const struct cli_command cli_renew_command = {
    .name = "renew",
    .summary = "extend the lease of a lock that 'acquire' took",
    .help =
        "usage: holdfast renew [option]... NAME HANDLE --lease DURATION\n"
        "\n"
        "Extends the lease to DURATION from now if HANDLE, as printed by 'holdfast\n"
        "acquire', still holds the lock. A longer lease is not shortened. Prints\n"
        "SAFE_MS: the lock is safe for that many milliseconds after the command\n"
        "ends. If HANDLE no longer holds the lock, nothing is changed; another\n"
        "owner may have held the lock since.\n"
        "Exit code: 0 renewed, 122 HANDLE no longer holds the lock, 125 error (the\n"
        "lock may be renewed; retry).\n"
        "\n"
        "  --lease DURATION     new lease; at least 100ms\n"
        "\n" CLI_COMMON_HELP,
    .main = main_renew,
};
