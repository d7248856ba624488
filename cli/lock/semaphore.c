/* `holdfast semaphore`: a number of permits without owners, for scripts and operators. */
/* Tests: tests/live/cli/test_counted.c. */
#include "lock/semaphore.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli/base/program.h"
#include "cli/base/signals.h"
#include "cli/lock/counted.h"
#include "lock/permits.h"

static hf_status open_semaphore(struct cli_counted *c, struct hf_client *client,
                                struct hf_error *err)
{
    return hf_semaphore_new(&c->object.semaphore, client, c->name, strlen(c->name), err);
}

static void close_semaphore(struct cli_counted *c)
{
    hf_semaphore_free(c->object.semaphore);
}

/* ---- reading ---- */

static int inspect_semaphore(struct cli_counted *c, int64_t *available, bool *exists)
{
    struct hf_error err = {0};
    hf_status status = hf_semaphore_inspect(c->object.semaphore, available, exists, &err);

    return status < 0 ? cli_counted_report_error(c, status, &err, false) : CLI_CONTINUE;
}

static int print_available(struct cli_counted *c)
{
    int64_t available = 0;
    bool exists = false;
    int rc = inspect_semaphore(c, &available, &exists);

    if (rc != CLI_CONTINUE)
        return rc;
    if (exists)
        return cli_counted_show(c, "available", available, CLI_EXIT_OK);
    cli_warn("there is no semaphore %s", c->quoted);
    return cli_counted_done(c, "exists", false, CLI_EXIT_NO);
}

/* ---- changing ---- */

static int set_permits(struct cli_counted *c)
{
    struct hf_error err = {0};
    bool was_set = false;
    hf_status status;
    int code;

    if (c->ttl_ms > 0)
        status = hf_semaphore_try_set_permits_ttl(c->object.semaphore, c->number, c->ttl_ms,
                                                  &was_set, &err);
    else
        status = hf_semaphore_try_set_permits(c->object.semaphore, c->number, &was_set, &err);
    code = cli_counted_report_change(c, status, &err);
    if (!cli_counted_is_done(status))
        return code;
    if (!was_set)
        cli_warn("the semaphore %s exists; nothing is changed. Use add or reduce to change "
                 "the number of permits", c->quoted);
    return cli_counted_done(c, "set", was_set, was_set ? code : CLI_EXIT_NO);
}

/* A name that is misspelt must not become a semaphore. */
static int change_permits_with(struct cli_counted *c, const char *done,
                               hf_status (*by)(struct hf_semaphore *, int64_t, bool *,
                                               struct hf_error *))
{
    struct hf_error err = {0};
    bool existed = false;
    hf_status status = by(c->object.semaphore, c->number, &existed, &err);
    int code = cli_counted_report_change(c, status, &err);

    if (!cli_counted_is_done(status))
        return code;
    return cli_counted_done(c, done, existed, existed ? code : cli_counted_none(c));
}

static int add_permits(struct cli_counted *c)
{
    return change_permits_with(c, "added", hf_semaphore_release_if_exists);
}

static int reduce_permits(struct cli_counted *c)
{
    return change_permits_with(c, "reduced", hf_semaphore_reduce);
}

static int release_permits(struct cli_counted *c)
{
    return change_permits_with(c, "released", hf_semaphore_release_if_exists);
}

static int print_permits_taken(struct cli_counted *c, int64_t taken, int code)
{
    char unprinted[60];

    (void)signal(SIGPIPE, SIG_IGN); /* a pipe without a reader is reported, too */
    code = cli_counted_show(c, "taken", taken, code);
    (void)snprintf(unprinted, sizeof unprinted, "permits taken: %lld", (long long)taken);
    return cli_program_flush(unprinted) == CLI_CONTINUE ? code : CLI_EXIT_ERROR;
}

static int drain_permits(struct cli_counted *c)
{
    struct hf_error err = {0};
    int64_t available, taken = 0;
    bool exists = true;
    hf_status status = hf_semaphore_drain(c->object.semaphore, &taken, &err);
    int code = cli_counted_report_change(c, status, &err), rc = CLI_CONTINUE;

    if (!cli_counted_is_done(status))
        return code;
    if (taken == 0) /* was there one? */
        rc = inspect_semaphore(c, &available, &exists);
    if (rc != CLI_CONTINUE)
        return rc;
    return exists ? print_permits_taken(c, taken, code)
                  : cli_counted_done(c, "drained", false, cli_counted_none(c));
}

/* ---- expirable permits: they have the same key, and one more ---- */

static int resize_semaphore(struct cli_counted *c)
{
    struct hf_error err = {0};
    struct hf_lock *permits = NULL;
    hf_status status = hf_lock_new_kind(&permits, c->client, HF_KIND_PERMIT, c->name,
                                        strlen(c->name), &err);
    int code;

    if (status == HF_OK)
        status = hf_permits_set(permits, c->number, &err);
    hf_lock_free(permits);
    code = cli_counted_report_change(c, status, &err);
    return cli_counted_is_done(status) ? cli_counted_done(c, "resized", true, code) : code;
}

static int delete_semaphore(struct cli_counted *c)
{
    struct hf_error err = {0};
    bool was_deleted = false;
    hf_status status = hf_semaphore_delete(c->object.semaphore, &was_deleted, &err);

    if (status == HF_IN_USE)
        return cli_fail("%s is not deleted: %s, by 'run --permits' or others that renew them; "
                        "'holdfast status' shows them", c->quoted, err.text);
    return cli_counted_deleted(c, status, was_deleted, &err);
}

/* ---- acquiring ---- */

static void release_unprinted_permits(struct cli_counted *c)
{
    struct hf_error err = {0};
    hf_status status = hf_semaphore_release(c->object.semaphore, c->number, &err);

    if (status < 0)
        (void)cli_counted_report_error(c, status, &err, true);
}

/* A script that does not learn of its permits cannot release them. */
static int print_acquired_or_release(struct cli_counted *c)
{
    int rc = cli_counted_done(c, "acquired", true, CLI_EXIT_OK);

    if (rc == CLI_EXIT_OK && cli_program_flush("releasing the permits") == CLI_CONTINUE)
        return CLI_EXIT_OK;
    release_unprinted_permits(c);
    return CLI_EXIT_ERROR;
}

static int report_acquire_result(struct cli_counted *c)
{
    struct cli_wait *w = &c->wait;

    cli_wait_take_signals(w);
    if (w->status == HF_OK && w->ending_signal == 0)
        return print_acquired_or_release(c);
    if (w->status == HF_OK)
        release_unprinted_permits(c);
    if (w->status == HF_OK || w->status == HF_CANCELLED)
        return CLI_EXIT_SIGNAL + w->ending_signal;
    if (w->status == HF_UNREPLICATED) {
        (void)cli_counted_report_error(c, w->status, &w->error, false);
        return cli_fail("no permit was acquired: those that the server granted are released "
                        "again");
    }
    if (w->status != HF_TIMEOUT)
        return cli_counted_report_error(c, w->status, &w->error, false);
    if (c->was_semaphore_absent && c->wait_options.wait_ms == 0)
        cli_warn("there is no semaphore %s; its action 'set N' creates it", c->quoted);
    cli_verbose("%s", w->error.text);
    return cli_counted_done(c, "acquired", false, c->wait_options.conflict_code);
}

/* A name that is misspelt is not waited for, or refused, in silence. */
static int check_semaphore_exists(struct cli_counted *c)
{
    int64_t available;
    bool exists = true;
    int rc;

    cli_signals_end_at_once(true); /* nothing is taken, and the call blocks */
    rc = inspect_semaphore(c, &available, &exists);
    cli_signals_end_at_once(false);
    c->was_semaphore_absent = rc == CLI_CONTINUE && !exists;
    if (c->was_semaphore_absent && c->wait_options.wait_ms != 0)
        cli_warn("there is no semaphore %s yet; waiting for it (its action 'set N' creates it)",
                 c->quoted);
    return rc;
}

static int acquire_permits(struct cli_counted *c)
{
    int rc = check_semaphore_exists(c);
    hf_status status;

    if (rc != CLI_CONTINUE)
        return rc;
    status = hf_semaphore_acquire_async(c->object.semaphore, c->number, c->wait_options.wait_ms,
                                        &c->wait.cancel, cli_wait_done, &c->wait);
    if (status < 0)
        return cli_fail("cannot request permits: %s", hf_status_text(status));
    cli_wait_run_loop(&c->wait);
    return report_acquire_result(c);
}

/* ---- the command line ---- */

static const struct cli_counted_action actions[] = {
    {"set", CLI_WITH_NUMBER, 0, false, false, set_permits, true},
    {"add", CLI_WITH_NUMBER, 1, false, true, add_permits, false},
    {"reduce", CLI_WITH_NUMBER, 1, false, true, reduce_permits, false},
    {"get", CLI_WITHOUT_NUMBER, 0, false, false, print_available, false},
    {"acquire", CLI_NUMBER_OR_ONE, 1, true, false, acquire_permits, false},
    {"release", CLI_NUMBER_OR_ONE, 1, false, true, release_permits, false},
    {"resize", CLI_WITH_NUMBER, 0, false, false, resize_semaphore, false},
    {"drain", CLI_WITHOUT_NUMBER, 0, false, true, drain_permits, false},
    {"delete", CLI_WITHOUT_NUMBER, 0, false, false, delete_semaphore, false},
    {0},
};

static const struct cli_counted_kind kind = {
    .noun = "semaphore", .actions = actions, .open = open_semaphore, .close = close_semaphore};

static int main_semaphore(struct cli_args *args, struct cli_common *common)
{
    return cli_counted_main(args, common, &kind);
}

const struct cli_command cli_semaphore_command = {
    .name = "semaphore",
    .summary = "create, change, take and delete permits without owners",
    .help =
        "usage: holdfast semaphore [option]... NAME ACTION\n"
        "\n"
        "A semaphore is a number of permits (Redisson's RSemaphore). A permit has no\n"
        "owner and no lease: if a process dies, its permits stay taken until another\n"
        "process releases them. 'holdfast run --permits' takes a permit that expires.\n"
        "Actions:\n"
        "\n"
        "  set N        create the semaphore with N permits, unless it exists\n"
        "  get          print how many permits are available\n"
        "  acquire [N]  take N permits (default 1), all or none; wait for them\n"
        "  release [N]  add N permits (default 1), and wake waiters\n"
        "  add N        the same\n"
        "  reduce N     remove N permits without waiting, even below 0\n"
        "  drain        take all available permits, and print their number\n"
        "  resize N     set the number of expirable permits (run --permits) to N, those\n"
        "               in use included\n"
        "  delete       delete the semaphore; waiters keep waiting\n"
        "\n"
        "Exit code: 0 done; 1 the semaphore does not exist, or (set) it exists;\n"
        "75 acquire: too few permits; 125 error. A signal ends acquire, which then\n"
        "takes nothing.\n"
        "\n" CLI_COUNTED_HELP("acquire")
        "  --ttl DURATION       set: the semaphore expires after DURATION; default: never\n"
        "\n" CLI_COMMON_HELP,
    .main = main_semaphore,
};
