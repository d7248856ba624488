/* `holdfast acquire`: takes a lock, prints its owner, and leaves the lock held
 * until its lease ends, or until `holdfast release`. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/common.h"
#include "cli/json.h"
#include "cli/report.h"
#include "cli/signals.h"

#define LEASE_LEAST_MS 100

/* How long we stay to give back a lock that is granted while we cancel; without
 * an answer it ends with its lease. */
#define LINGER_MS 1000

struct acquire {
    const struct cli_common *common;
    const char *name;
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
    bool is_in_call;            /* a call that blocks: a signal just ends us */
    bool is_done;
    bool is_held;
    int signal;                 /* what ended the wait; 0: nothing */
    int code;
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
    if (a->is_in_call && a->signal != 0)
        cli_signals_die(a->signal, false);
    a->has_signal = a->signal != 0;
    if (a->has_signal)
        hf_loop_rewatch(a->loop, io, 0);
}

/* ---- saying what is held ---- */

/* The safe time is in whole milliseconds: a shell can calculate with it. */
static int print_hold(const struct acquire *a)
{
    char owner[HF_OWNER_TEXT_MAX];
    int64_t safe_ms = hf_lock_safe_ms(a->lock, a->owner);
    struct cli_json j;

    if (safe_ms <= 0)
        return cli_fail("the lease has ended before it could be used");
    (void)hf_lock_owner_text(a->lock, a->owner, owner);
    if (!a->common->is_json) {
        (void)printf("%s %lld\n", owner, (long long)safe_ms);
        return CLI_GO_ON;
    }
    cli_json_init(&j);
    cli_json_text(&j, "name", a->name);
    cli_json_text(&j, "owner", owner);
    cli_json_integer(&j, "safe_ms", safe_ms);
    return cli_json_print(&j);
}

static void give_back(struct acquire *a)
{
    struct hf_error err = {0};
    hf_status status;

    a->is_in_call = true;
    status = hf_lock_release(a->lock, a->owner, &err);
    a->is_in_call = false;
    if (status < 0)
        (void)cli_fail_status(status, &err);
}

/* A lock whose owner nobody was told of would only be in the way. */
static int tell(struct acquire *a)
{
    int rc = print_hold(a);

    if (rc == CLI_GO_ON && (fflush(stdout) != 0 || ferror(stdout)))
        rc = cli_fail("cannot write to standard output: %s; the lock is "
                      "given back", strerror(errno));
    if (rc == CLI_GO_ON)
        return CLI_OK;
    clearerr(stdout); /* it is reported */
    give_back(a);
    return rc;
}

/* ---- asking ---- */

static void on_done(void *ctx, hf_status status, const struct hf_error *err)
{
    struct acquire *a = ctx;

    a->is_done = true;
    a->is_held = status == HF_OK;
    a->code = CLI_OK;
    if (status == HF_TIMEOUT)
        cli_step("%s", err->text);
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

static hf_status ask(struct acquire *a)
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

static int acquire(struct acquire *a)
{
    hf_status status = ask(a);

    if (status < 0)
        return cli_fail("cannot ask for the lock: %s", hf_status_text(status));
    while (!a->is_done) {
        hf_loop_dispatch(a->loop, -1);
        if (a->has_signal)
            hf_cancel_fire(&a->cancel);
        a->has_signal = false;
    }
    if (!a->is_held)
        return a->code;
    if (a->signal == 0)
        return tell(a);
    give_back(a);
    return CLI_SIGNAL + a->signal;
}

/* ---- beginning and end ---- */

static int open_loop(struct acquire *a)
{
    struct hf_loop_options options = {.thread = false};
    hf_status rc = hf_loop_new(&a->loop, &options);

    if (rc < 0)
        return cli_fail("cannot make an event loop: %s", hf_status_text(rc));
    a->signal_io.fd = cli_signals_open();
    if (a->signal_io.fd < 0)
        return cli_fail("cannot watch for signals: %s", strerror(errno));
    hf_loop_lock(a->loop);
    rc = hf_loop_watch(a->loop, &a->signal_io);
    hf_loop_unlock(a->loop);
    return rc < 0 ? cli_fail("cannot watch for signals: %s", hf_status_text(rc))
                  : CLI_GO_ON;
}

static int open_lock(struct acquire *a)
{
    struct hf_client_options options;
    int rc;

    hf_client_options_init(&options);
    options.loop = a->loop;
    options.connect_once = a->wait_ms == 0;
    a->is_in_call = true;
    rc = cli_client_open(&a->client, a->common, &options);
    if (rc == CLI_GO_ON)
        rc = cli_lock_open(&a->lock, a->client, HF_KIND_PLAIN, a->name);
    a->is_in_call = false;
    return rc;
}

/* What is held stays held; what is granted too late is given back. */
static void close_all(struct acquire *a)
{
    a->is_in_call = true;
    if (a->client)
        (void)hf_client_close(a->client, LINGER_MS, NULL, NULL);
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
    {0},
};

static int take_option(void *ctx, const struct cli_args *args, int id,
                       char *value)
{
    struct acquire *a = ctx;

    switch (id) {
    case LEASE:
        return cli_take_duration(args, "--lease", value, LEASE_LEAST_MS,
                                 &a->lease_ms);
    case WAIT:
        return cli_take_duration(args, "--wait", value, 0, &a->wait_ms);
    case NONBLOCK:
        a->wait_ms = 0;
        return CLI_GO_ON;
    case CONFLICT:
        return cli_take_number(args, "--conflict-exit-code", value, 0, 255,
                               &a->conflict_code);
    default:
        if (a->name)
            return cli_usage(args, "one NAME only; '%s' is too much", value);
        a->name = value;
        return CLI_GO_ON;
    }
}

static int check(const struct acquire *a, const struct cli_args *args)
{
    if (!a->name)
        return cli_usage(args, "which lock? NAME is missing");
    if (a->lease_ms == 0)
        return cli_usage(args, "--lease is missing: nobody renews the lock, so "
                               "it must end by itself");
    return CLI_GO_ON;
}

static int main_acquire(struct cli_args *args, struct cli_common *common)
{
    struct acquire a = {.common = common,
                        .wait_ms = HF_FOREVER,
                        .conflict_code = CLI_NOT_ACQUIRED,
                        .signal_io = {.fd = -1, .events = HF_READ,
                                      .ready = on_signal}};
    int rc = cli_common_parse(common, args, own_options, take_option, &a);

    if (rc == CLI_GO_ON)
        rc = check(&a, args);
    if (rc == CLI_GO_ON)
        rc = cli_common_begin(common);
    if (rc != CLI_GO_ON)
        return rc;
    rc = open_loop(&a);
    if (rc == CLI_GO_ON)
        rc = open_lock(&a);
    if (rc == CLI_GO_ON)
        rc = acquire(&a);
    close_all(&a);
    if (a.signal != 0 && rc == CLI_SIGNAL + a.signal)
        cli_signals_die(a.signal, false);
    return rc;
}

const struct cli_command cli_acquire_command = {
    .name = "acquire",
    .summary = "take a lock for a lease, for scripts that 'run' cannot wrap",
    .help =
        "usage: holdfast acquire [option]... NAME --lease DURATION\n"
        "\n"
        "Takes a plain lock, prints 'OWNER SAFE_MS' and ends. The lock stays\n"
        "held until its lease ends or 'holdfast release NAME OWNER' frees it;\n"
        "nobody renews it. Work under it for SAFE_MS milliseconds at most.\n"
        "OWNER names this hold and is no secret: 'status' shows it, too.\n"
        "Exit code: 0 held, 75 not acquired, 125 trouble; stopped by a signal\n"
        "while it waits, it dies of that and holds nothing.\n"
        "\n"
        "  --lease DURATION     how long it is held; at least 100ms\n"
        "  -w, --wait DURATION  wait at most so long; default: for ever\n"
        "  -n, --nonblock       do not wait\n"
        "  -E, --conflict-exit-code N\n"
        "                       the exit code if it is not acquired\n"
        "\n" CLI_COMMON_HELP,
    .main = main_acquire,
};
