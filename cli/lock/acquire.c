/* `holdfast acquire`: takes a lock, prints a handle of it, and leaves it held until
 * its lease ends; `renew` makes that longer, `release` frees it. */
/* Tests: tests/live/cli/test_acquire.c. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/common.h"
#include "cli/base/json.h"
#include "cli/base/kind_options.h"
#include "cli/base/lock_words.h"
#include "cli/base/report.h"
#include "cli/base/signals.h"
#include "cli/lock/handle.h"

/* How long the process stays to release a lock that is granted while it cancels.
 * Without a reply, the lock expires with its lease. */
#define LINGER_MS 1000
/* The same after a signal, of CLI_SIGNALS_LIMIT_MS. */
#define LINGER_AFTER_SIGNAL_MS 50

/* How long the process stays after the handle was printed, to remove its place in the
 * queue and its recorded requests. On the server these expire by themselves. */
#define TIDY_MS 25

struct acquire {
    const struct cli_common *common;
    const char *name;
    struct cli_kind_options kind;
    int64_t lease_ms;           /* 0: not given */
    int64_t wait_ms;
    int conflict_code;

    struct hf_loop *loop;
    struct hf_io signal_io;
    struct hf_client *client;
    struct hf_lock *lock;
    struct hf_cancel cancel;
    int64_t owner;
    bool has_signal;
    bool is_done;
    bool is_held;
    bool is_told;               /* its handle is printed: it stays held, and no
                                   signal ends us otherwise than well */
    int signal;                 /* what ended the wait; 0: nothing */
    int code;
    char last_words[CLI_QUOTE_MAX + 160]; /* if a signal ends us before the server
                                   has answered */
};

/* ---- signals ---- */

static void take_signals(struct acquire *a)
{
    int signal = cli_signals_take_end();

    a->has_signal = false;
    if (a->signal == 0)
        a->signal = signal;
}

static void on_signal(struct hf_io *io, int events)
{
    struct acquire *a = HF_OWNER_OF(io, struct acquire, signal_io);

    (void)events;
    take_signals(a);
    a->has_signal = a->signal != 0;
    if (a->has_signal)
        hf_loop_rewatch(a->loop, io, 0);
}

/* ---- printing the result ---- */

static int print_json(const struct acquire *a, const char *handle,
                      int64_t safe_ms)
{
    struct cli_lock lock = {.name = a->name, .len = strlen(a->name)};
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
static int print_hold(const struct acquire *a, int64_t safe_ms)
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

static void give_back(struct acquire *a)
{
    struct hf_error err = {0};
    hf_status status;

    status = hf_lock_release(a->lock, a->owner, &err);
    if (status < 0 && status != HF_LOST) /* its lease has expired */
        (void)cli_fail_status(status, &err);
}

/* The reader of a pipe may be slow, and a signal does not end a write. False: a signal
 * that ends the program arrived, or the lease has expired. */
static bool await_room(struct acquire *a)
{
    struct pollfd fds[2] = {{.fd = STDOUT_FILENO, .events = POLLOUT},
                            {.fd = a->signal_io.fd, .events = POLLIN}};
    int64_t left_ms;

    while ((left_ms = hf_lock_safe_ms(a->lock, a->owner)) > 0) {
        int ready = poll(fds, 2, left_ms < INT_MAX ? (int)left_ms : INT_MAX);

        if (ready > 0 && fds[1].revents)
            take_signals(a);
        if (a->signal != 0)
            return false;
        if (ready > 0 && fds[0].revents)
            return true;
    }
    return false;
}

/* A lock whose handle was not printed could not be released by another process, so it
 * is released here. */
static int tell(struct acquire *a)
{
    int64_t safe_ms =
        cli_handle_safe_at_end(hf_lock_safe_ms(a->lock, a->owner));
    int rc = print_hold(a, safe_ms);

    if (rc == CLI_CONTINUE && (fflush(stdout) != 0 || ferror(stdout)))
        rc = cli_fail("cannot write to standard output: %s; releasing the lock",
                      strerror(errno));
    if (rc == CLI_CONTINUE && hf_lock_safe_ms(a->lock, a->owner) - TIDY_MS < safe_ms)
        rc = cli_fail("writing to standard output took too long and SAFE_MS is stale; "
                      "releasing the lock");
    a->is_told = rc == CLI_CONTINUE;
    if (a->is_told) {
        cli_signals_limit(false, NULL);
        return CLI_OK;
    }
    clearerr(stdout); /* it is reported */
    give_back(a);
    return rc;
}

/* ---- requests ---- */

static void on_done(void *ctx, hf_status status, const struct hf_error *err)
{
    struct acquire *a = ctx;

    a->is_done = true;
    a->is_held = status == HF_OK;
    a->code = CLI_OK;
    if (status == HF_TIMEOUT)
        cli_verbose("%s", err->text);
    else if (status < 0 && status != HF_CANCELLED)
        a->code = cli_fail_status(status, err);
    if (status == HF_TIMEOUT)
        a->code = a->conflict_code;
    else if (status == HF_CANCELLED)
        a->code = CLI_SIGNAL + a->signal;
}

/* Our end is not the hold's: the client forgets it, and nothing is lost. */
static void on_forgotten(void *ctx, struct hf_lock *lock, int64_t owner,
                         enum hf_lost reason)
{
    (void)ctx;
    (void)lock;
    (void)owner;
    (void)reason;
}

static hf_status request(struct acquire *a)
{
    struct hf_acquire_options options;

    hf_acquire_options_init(&options);
    hf_cancel_init(&a->cancel, a->client);
    options.owner = a->owner = hf_owner_new();
    options.wait_ms = a->wait_ms;
    options.lease_ms = a->lease_ms;
    options.cancel = &a->cancel;
    options.on_lost = on_forgotten;
    return hf_lock_acquire_async(a->lock, &options, on_done, a);
}

#define UNKNOWN                                                                \
    "the server does not reply: %s may stay locked until its lease expires; "   \
    "'holdfast status' shows that"

static void watch_end(struct acquire *a)
{
    char name[CLI_QUOTE_MAX];

    (void)snprintf(a->last_words, sizeof a->last_words,
                   "holdfast: " UNKNOWN "\n",
                   cli_quote(name, a->name, strlen(a->name)));
    cli_signals_limit(true, a->last_words);
}

static int acquire(struct acquire *a)
{
    hf_status status;

    watch_end(a);
    status = request(a);
    if (status < 0)
        return cli_fail("cannot request the lock: %s", hf_status_text(status));
    while (!a->is_done) {
        hf_loop_dispatch(a->loop, -1);
        if (a->has_signal)
            hf_cancel_fire(&a->cancel);
        a->has_signal = false;
    }
    if (!a->is_held)
        return a->code;
    if (a->signal == 0 && await_room(a))
        return tell(a);
    give_back(a);
    return a->signal != 0 ? CLI_SIGNAL + a->signal
                          : cli_fail("standard output was not read before the lease "
                                     "expired; releasing the lock");
}

/* ---- beginning and end ---- */

static int open_loop(struct acquire *a)
{
    struct hf_loop_options options = {.thread = false};
    hf_status rc = hf_loop_new(&a->loop, &options);

    if (rc < 0)
        return cli_fail_what(rc, "cannot make an event loop");
    a->signal_io.fd = cli_signals_open();
    if (a->signal_io.fd < 0)
        return cli_fail_what(HF_E_SYSTEM, "cannot watch for signals");
    hf_loop_lock(a->loop);
    rc = hf_loop_watch(a->loop, &a->signal_io);
    hf_loop_unlock(a->loop);
    return rc < 0 ? cli_fail_what(rc, "cannot watch for signals")
                  : CLI_CONTINUE;
}

static int open_lock(struct acquire *a)
{
    struct hf_client_options options;
    int rc;

    hf_client_options_init(&options);
    options.loop = a->loop;
    options.connect_once = a->wait_ms == 0;
    cli_signals_end_at_once(true); /* nothing is held, and the calls block */
    rc = cli_client_open(&a->client, a->common, &options);
    if (rc == CLI_CONTINUE)
        rc = cli_lock_open(&a->lock, a->client, a->kind.kind, a->name);
    if (rc == CLI_CONTINUE)
        rc = cli_kind_make_permits(&a->kind, a->lock);
    cli_signals_end_at_once(false);
    return rc;
}

/* A lock whose handle was printed stays held; a lock that is granted too late is
 * released. False: no reply arrived, so the server may keep a lock that no process
 * knows. */
static bool close_client(struct acquire *a)
{
    int64_t linger_ms = a->is_told ? TIDY_MS : LINGER_MS;
    hf_status status;

    if (!a->client)
        return true;
    if (a->signal != 0)
        linger_ms = LINGER_AFTER_SIGNAL_MS;
    status = hf_client_close(a->client, linger_ms, NULL, NULL);
    return status == HF_OK || a->is_told;
}

/* Returns the exit code: 125 instead of "not acquired" after an error; otherwise
 * `code`. */
static int report_unknown(const struct acquire *a, int code)
{
    char name[CLI_QUOTE_MAX];
    int trouble =
        cli_fail(UNKNOWN, cli_quote(name, a->name, strlen(a->name)));

    return code == a->conflict_code ? trouble : code;
}

static void free_all(struct acquire *a)
{
    hf_lock_free(a->lock);
    hf_client_free(a->client);
    if (a->loop && a->signal_io.fd >= 0) {
        hf_loop_lock(a->loop);
        hf_loop_unwatch(a->loop, &a->signal_io);
        hf_loop_unlock(a->loop);
    }
    hf_loop_free(a->loop);
}

/* ---- the command line ---- */

enum { LEASE = 1, WAIT, NONBLOCK, CONFLICT };

static const struct cli_option own_options[] = {
    {LEASE, 0, "lease", "DURATION"},
    {WAIT, 'w', "wait", "DURATION"},
    {NONBLOCK, 'n', "nonblock", NULL},
    {CONFLICT, 'E', "conflict-exit-code", "CODE"},
    CLI_KIND_ROWS,
    CLI_KIND_ROWS_OF_MANY,
    {0},
};

static int take_option(void *ctx, const struct cli_args *args, int id,
                       char *value)
{
    struct acquire *a = ctx;

    if (id >= CLI_KIND_OPTION)
        return cli_kind_take(&a->kind, args, id, value);
    switch (id) {
    case LEASE:
        return cli_take_duration(args, "--lease", value, CLI_LEASE_LEAST_MS,
                                 &a->lease_ms);
    case WAIT:
        return cli_take_duration(args, "--wait", value, 0, &a->wait_ms);
    case NONBLOCK:
        a->wait_ms = 0;
        return CLI_CONTINUE;
    case CONFLICT:
        return cli_take_number(args, "--conflict-exit-code", value, 0, 255,
                               &a->conflict_code);
    default:
        if (a->name)
            return cli_usage(args, "unexpected argument '%s': only one NAME", value);
        a->name = value;
        return CLI_CONTINUE;
    }
}

static int check(struct acquire *a, const struct cli_args *args)
{
    if (!a->name)
        return cli_usage(args, "NAME is required");
    if (!*a->name)
        return cli_usage(args, "NAME is empty");
    if (a->lease_ms == 0)
        return cli_usage(args, "--lease is required: this lock is not renewed");
    return cli_kind_check(&a->kind, args);
}

/* A signal that came before the handle was printed. */
static int end(struct acquire *a, int code)
{
    if (!a->is_told && a->signal_io.fd >= 0)
        take_signals(a);
    if (!a->is_told && a->signal != 0)
        cli_signals_die(a->signal, false);
    return code;
}

static int main_acquire(struct cli_args *args, struct cli_common *common)
{
    struct acquire a = {.common = common,
                        .kind = {.kind = HF_KIND_PLAIN},
                        .wait_ms = HF_FOREVER,
                        .conflict_code = CLI_NOT_ACQUIRED,
                        .signal_io = {.fd = -1, .events = HF_READ,
                                      .ready = on_signal}};
    int rc = cli_common_parse(common, args, own_options, take_option, &a);

    if (rc == CLI_CONTINUE)
        rc = check(&a, args);
    if (rc == CLI_CONTINUE)
        rc = cli_common_begin(common);
    if (rc != CLI_CONTINUE)
        return rc;
    rc = open_loop(&a);
    if (rc == CLI_CONTINUE)
        rc = open_lock(&a);
    if (rc == CLI_CONTINUE)
        rc = acquire(&a);
    if (!close_client(&a))
        rc = report_unknown(&a, rc);
    free_all(&a);
    return end(&a, rc);
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
        "lock is then not held. If the server does not reply at that time, a message\n"
        "says that the lock may stay held until its lease expires.\n"
        "\n"
        "  --lease DURATION     hold the lock for DURATION; at least 100ms; required\n"
        "  -w, --wait DURATION  stop waiting after DURATION; default: never\n"
        "  -n, --nonblock       do not wait\n"
        "  -E, --conflict-exit-code N\n"
        "                       exit code if the lock was not acquired; default 75\n"
        CLI_KIND_HELP_SHARED
        CLI_KIND_HELP_FAIR
        "  --fenced             also print a fencing token: 'HANDLE SAFE_MS TOKEN'\n"
        CLI_KIND_HELP_VALUE
        CLI_KIND_HELP_PERMITS
        "\n" CLI_COMMON_HELP,
    .main = main_acquire,
};
