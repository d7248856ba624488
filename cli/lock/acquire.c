/* `holdfast acquire`: takes a lock, prints a handle of it, and leaves it held until
 * its lease ends; `renew` makes that longer, `release` frees it. */
/* Tests: tests/live/cli/test_acquire.c. */
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/common.h"
#include "cli/base/json.h"
#include "cli/base/kind_options.h"
#include "cli/base/label.h"
#include "cli/base/lock_words.h"
#include "cli/base/program.h"
#include "cli/base/report.h"
#include "cli/base/signals.h"
#include "cli/base/wait.h"
#include "cli/base/wait_options.h"
#include "cli/lock/handle.h"

struct acquire_and_print {
    const struct cli_common *common;
    const char *name;
    struct cli_kind_options kind;
    int64_t lease_ms;           /* 0: not given */
    struct cli_wait_options wait_options;

    struct cli_wait wait;
    struct hf_lock *lock;
    int64_t owner;
    bool is_handle_printed;     /* its handle is printed: it stays held, and no signal ends us
                                   otherwise than well */
    char last_words[CLI_QUOTE_MAX + 160]; /* if a signal ends us before the server
                                   has answered */
};

/* ---- printing the result ---- */

static int print_json(const struct acquire_and_print *a, const char *handle,
                      int64_t safe_ms)
{
    struct cli_lock lock = {.name = a->name, .name_len = strlen(a->name)};
    char owner[HF_OWNER_TEXT_MAX];
    struct cli_json j;

    cli_json_init(&j);
    cli_lock_put_name(&j, &lock);
    cli_json_text(&j, "handle", handle);
    cli_json_text(&j, "kind", cli_handle_kind(a->kind.kind));
    cli_json_text(&j, "owner", hf_lock_owner_text(a->lock, a->owner, owner));
    cli_json_integer(&j, "safe_ms", safe_ms);
    if (a->kind.is_fenced)
        cli_json_integer(&j, "token", hf_lock_token(a->lock, a->owner));
    return cli_json_print(&j);
}

/* The safe time is in whole milliseconds: a shell can calculate with it. */
static int print_hold(const struct acquire_and_print *a, int64_t safe_ms)
{
    char owner[HF_OWNER_TEXT_MAX], handle[CLI_HANDLE_MAX];

    if (safe_ms <= 0)
        return cli_fail("the lease expired before the lock could be used; use a longer "
                        "--lease");
    (void)cli_handle_format(handle, a->kind.kind,
                            hf_lock_owner_text(a->lock, a->owner, owner));
    if (a->common->is_json)
        return print_json(a, handle, safe_ms);
    (void)printf("%s %lld", handle, (long long)safe_ms);
    if (a->kind.is_fenced)
        (void)printf(" %lld", (long long)hf_lock_token(a->lock, a->owner));
    (void)putchar('\n');
    return CLI_CONTINUE;
}

static void release_unprinted_lock(struct acquire_and_print *a)
{
    struct hf_error err = {0};
    hf_status status;

    status = hf_lock_release(a->lock, a->owner, &err);
    if (status < 0 && status != HF_LOST) /* its lease has expired */
        (void)cli_fail_status(status, &err);
}

/* The reader of a pipe may be slow, and a signal does not end a write. False: a signal
 * that ends the program arrived, or the lease has expired. */
static bool wait_until_output_writable(struct acquire_and_print *a)
{
    struct pollfd fds[2] = {{.fd = STDOUT_FILENO, .events = POLLOUT},
                            {.fd = a->wait.signal_io.fd, .events = POLLIN}};
    int64_t left_ms;

    while ((left_ms = hf_lock_safe_ms(a->lock, a->owner)) > 0) {
        int ready = poll(fds, 2, left_ms < INT_MAX ? (int)left_ms : INT_MAX);

        if (ready > 0 && fds[1].revents)
            cli_wait_take_signals(&a->wait);
        if (a->wait.ending_signal != 0)
            return false;
        if (ready > 0 && fds[0].revents)
            return true;
    }
    return false;
}

/* A lock whose handle was not printed could not be released by another process, so it
 * is released here. */
static int print_handle_or_release(struct acquire_and_print *a)
{
    int64_t safe_ms =
        cli_handle_safe_at_end(hf_lock_safe_ms(a->lock, a->owner));
    int rc = print_hold(a, safe_ms);

    if (rc == CLI_CONTINUE)
        rc = cli_program_flush("releasing the lock");
    if (rc == CLI_CONTINUE && hf_lock_safe_ms(a->lock, a->owner) - CLI_WAIT_TIDY_MS < safe_ms)
        rc = cli_fail("writing to standard output took too long and SAFE_MS is stale; "
                      "releasing the lock");
    a->is_handle_printed = rc == CLI_CONTINUE;
    if (a->is_handle_printed) {
        cli_signals_set_end_limit(false, NULL);
        return CLI_EXIT_OK;
    }
    release_unprinted_lock(a);
    return rc;
}

/* ---- requests ---- */

/* Returns the exit code of a call that did not get the lock. */
static int report_not_acquired(struct acquire_and_print *a)
{
    const struct cli_wait *w = &a->wait;

    if (w->status == HF_CANCELLED)
        return CLI_EXIT_SIGNAL + w->ending_signal;
    if (w->status != HF_TIMEOUT)
        return cli_fail_status(w->status, &w->error);
    cli_wait_report_refused(w->client, a->lock, &w->wait_report, &w->error);
    return a->wait_options.conflict_code;
}

/* Our end is not the hold's: the client forgets it, and nothing is lost. */
static void ignore_loss(void *ctx, struct hf_lock *lock, int64_t owner,
                        enum hf_lost reason)
{
    (void)ctx;
    (void)lock;
    (void)owner;
    (void)reason;
}

static void on_wait(void *ctx, struct hf_lock *lock, const struct hf_lock_info *info)
{
    struct acquire_and_print *a = ctx;

    cli_wait_report_begin(&a->wait.wait_report, a->wait.client, lock, info);
}

static hf_status submit_acquire(struct acquire_and_print *a)
{
    struct hf_acquire_options options;

    hf_acquire_options_init(&options);
    options.owner = a->owner = hf_owner_new();
    options.wait_ms = a->wait_options.wait_ms;
    options.lease_ms = a->lease_ms;
    options.cancel = &a->wait.cancel;
    options.on_lost = ignore_loss;
    options.on_wait = on_wait;
    options.ctx = a;
    return hf_lock_acquire_async(a->lock, &options, cli_wait_done, &a->wait);
}

#define UNKNOWN "may stay locked until its lease expires; 'holdfast status' shows that"

static void prepare_last_words(struct acquire_and_print *a)
{
    char name[CLI_QUOTE_MAX];

    (void)snprintf(a->last_words, sizeof a->last_words,
                   "holdfast: the server does not reply: %s " UNKNOWN "\n",
                   cli_quote(name, a->name, strlen(a->name)));
    cli_wait_begin(&a->wait, a->last_words);
}

static int acquire_and_print(struct acquire_and_print *a)
{
    hf_status status;

    prepare_last_words(a);
    status = submit_acquire(a);
    if (status < 0)
        return cli_fail("cannot request the lock: %s", hf_status_text(status));
    cli_wait_run_loop(&a->wait);
    if (a->wait.status != HF_OK)
        return report_not_acquired(a);
    if (a->wait.ending_signal == 0 && wait_until_output_writable(a))
        return print_handle_or_release(a);
    release_unprinted_lock(a);
    return a->wait.ending_signal != 0 ? CLI_EXIT_SIGNAL + a->wait.ending_signal
                               : cli_fail("standard output was not read before the lease "
                                          "expired; releasing the lock");
}

/* ---- beginning and end ---- */

/* A lock whose handle was printed stays held; a lock that is granted too late is
 * released. Below HF_OK: the server may keep a lock that no process knows. */
static hf_status close_client(struct acquire_and_print *a)
{
    hf_status rc =
        cli_wait_close(&a->wait, a->is_handle_printed ? CLI_WAIT_TIDY_MS : CLI_WAIT_LINGER_MS);

    return a->is_handle_printed ? HF_OK : rc;
}

/* Returns the exit code: 125 instead of "not acquired" after an error; otherwise
 * `code`. */
static int report_unknown_outcome(const struct acquire_and_print *a, hf_status why, int code)
{
    char name[CLI_QUOTE_MAX];
    int trouble = cli_fail("%s: %s " UNKNOWN, cli_close_reason(why),
                           cli_quote(name, a->name, strlen(a->name)));

    return code == a->wait_options.conflict_code ? trouble : code;
}

/* ---- the command line ---- */

enum { LEASE = 1 };

static const struct cli_option own_options[] = {
    {LEASE, 0, "lease", "DURATION"},
    CLI_WAIT_ROWS,
    CLI_LABEL_ROW,
    CLI_KIND_ROWS,
    CLI_KIND_ROWS_OF_MANY,
    {0},
};

static int take_option(void *ctx, const struct cli_args *args, int id,
                       char *value)
{
    struct acquire_and_print *a = ctx;

    if (id >= CLI_KIND_OPTION)
        return cli_kind_take_option(&a->kind, args, id, value);
    if (id >= CLI_WAIT_OPTION)
        return cli_wait_take_option(&a->wait_options, args, id, value);
    if (id == LEASE)
        return cli_take_duration(args, "--lease", value, CLI_LEASE_LEAST_MS,
                                 &a->lease_ms);
    if (a->name)
        return cli_usage(args, "unexpected argument '%s': only one NAME", value);
    a->name = value;
    return CLI_CONTINUE;
}

static int check_options(struct acquire_and_print *a, const struct cli_args *args)
{
    if (!a->name)
        return cli_usage(args, "NAME is required");
    if (!*a->name)
        return cli_usage(args, "NAME is empty");
    if (a->lease_ms == 0)
        return cli_usage(args, "--lease is required: this lock is not renewed");
    return cli_kind_check(&a->kind, args);
}

static int main_acquire(struct cli_args *args, struct cli_common *common)
{
    struct acquire_and_print a = {.common = common,
                                  .kind = {.kind = HF_KIND_PLAIN},
                                  .wait_options = CLI_WAIT_OPTIONS_INIT};
    hf_status why;
    int rc = cli_common_parse(common, args, own_options, take_option, &a);

    if (rc == CLI_CONTINUE)
        rc = check_options(&a, args);
    if (rc == CLI_CONTINUE)
        rc = cli_common_apply(common);
    if (rc != CLI_CONTINUE)
        return rc;
    cli_label_choose_parent(common);
    rc = cli_wait_open(&a.wait);
    if (rc == CLI_CONTINUE)
        rc = cli_wait_open_lock(&a.wait, common, a.wait_options.wait_ms != 0, 0, &a.kind, a.name,
                                &a.lock);
    if (rc == CLI_CONTINUE)
        rc = acquire_and_print(&a);
    if ((why = close_client(&a)) < 0)
        rc = report_unknown_outcome(&a, why, rc);
    hf_lock_free(a.lock);
    cli_wait_free(&a.wait);
    return a.is_handle_printed ? rc : cli_wait_end(&a.wait, rc); /* a signal before the handle */
}

const struct cli_command cli_acquire_command = {
    .name = "acquire",
    .summary = "take a lock for a fixed lease and exit (for scripts)",
    .help =
        "usage: holdfast acquire [option]... NAME --lease DURATION\n"
        "\n"
        "Takes a lock, prints 'HANDLE SAFE_MS' and exits. The lock stays held until\n"
        "its lease expires or 'holdfast release NAME HANDLE' releases it. 'holdfast\n"
        "renew' extends the lease; nothing else renews it. The lock is safe for\n"
        "SAFE_MS milliseconds after the command ends. HANDLE identifies this hold;\n"
        "it is not a secret.\n"
        "Exit code: 0 held, 75 not acquired, 125 error. A signal ends the wait; the\n"
        "lock is then not held. If the server does not reply when the wait ends, a\n"
        "message says that the lock may stay held until its lease expires.\n"
        "\n"
        "  --lease DURATION     hold the lock for DURATION; at least 100ms; required\n"
        "  -w, --wait DURATION  stop waiting after DURATION; default: never\n"
        "  --timeout DURATION   the same as --wait\n"
        "  -n, --nonblock       do not wait\n"
        "  -E, --conflict-exit-code N\n"
        "                       exit code if the lock was not acquired; default 75\n"
        CLI_KIND_HELP_SHARED
        CLI_KIND_HELP_FAIR
        "  --fenced             also print a fencing token: 'HANDLE SAFE_MS TOKEN'\n"
        CLI_KIND_HELP_VALUE
        CLI_KIND_HELP_PERMITS
        CLI_LABEL_HELP
        "\n" CLI_COMMON_HELP,
    .main = main_acquire,
};
