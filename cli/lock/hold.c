/* `holdfast hold`: holds a lock, and renews it, until it is interrupted. */
/* Tests: tests/live/cli/test_hold.c. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/common.h"
#include "cli/base/json.h"
#include "cli/base/kind_options.h"
#include "cli/base/label.h"
#include "cli/base/lock_words.h"
#include "cli/base/metrics.h"
#include "cli/base/program.h"
#include "cli/base/report.h"
#include "cli/base/signals.h"
#include "cli/base/wait.h"
#include "cli/base/wait_options.h"

#define TTL_MS 30000            /* the default of --ttl, as that of run */
#define TTL_LEAST_MS 100        /* the library's own limit */

struct hold {
    const struct cli_common *common;
    const char *name;
    struct cli_kind_options kind;
    int64_t ttl_ms;
    struct cli_wait_options wait_options;
    struct cli_metrics_options metrics_options;
    struct cli_metrics *metrics;
    bool follows_input;         /* --stdin */

    struct cli_wait wait;
    struct hf_lock *lock;
    int64_t owner;
    struct hf_io input_io;      /* fd -1: not watched */
    struct hf_io output_io;     /* watched until there is room for the line */
    bool is_output_writable;
    bool has_input_ended;
    bool was_hold_lost;
    enum hf_lost reason;
    char quoted[CLI_QUOTE_MAX]; /* the name, for messages */
    char last_words[CLI_QUOTE_MAX + 100];
};

/* ---- events ---- */

/* A hold that this process releases, or closes with its client, is not lost. */
static void on_lost(void *ctx, struct hf_lock *lock, int64_t owner, enum hf_lost reason)
{
    struct hold *h = ctx;

    (void)lock;
    (void)owner;
    if (reason == HF_REASON_CLOSED)
        return;
    h->was_hold_lost = true;
    h->reason = reason;
}

static void on_wait(void *ctx, struct hf_lock *lock, const struct hf_lock_info *info)
{
    struct hold *h = ctx;

    cli_wait_report_begin(&h->wait.wait_report, h->wait.client, lock, info);
}

/* What is read does not matter. A terminal that was closed is an end. */
static void read_input(struct hold *h)
{
    char bytes[4096];
    ssize_t n = read(STDIN_FILENO, bytes, sizeof bytes);

    h->has_input_ended = n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

static void on_input(struct hf_io *io, int events)
{
    struct hold *h = HF_OWNER_OF(io, struct hold, input_io);

    (void)events;
    read_input(h);
    if (h->has_input_ended) {
        hf_loop_rewatch(h->wait.loop, io, 0);
        h->wait.must_cancel = true;
    }
}

/* epoll takes neither files, whose end counts as reached, nor devices such as /dev/null and
 * /dev/zero: the first read tells whether such a device has an end. */
static void read_input_unwatched(struct hold *h)
{
    struct stat stat;

    h->input_io.fd = -1;
    read_input(h);
    h->has_input_ended |= fstat(STDIN_FILENO, &stat) == 0 && S_ISREG(stat.st_mode);
    if (h->has_input_ended)
        hf_cancel_fire(&h->wait.cancel);
}

static void watch_input(struct hold *h)
{
    h->input_io.fd = STDIN_FILENO;
    if (cli_wait_watch(&h->wait, &h->input_io) != HF_OK)
        read_input_unwatched(h);
}

static void on_output_writable(struct hf_io *io, int events)
{
    struct hold *h = HF_OWNER_OF(io, struct hold, output_io);

    (void)events;
    h->is_output_writable = true;
    hf_loop_rewatch(h->wait.loop, io, 0);
}

/* ---- while it is held ---- */

static bool must_hold_end(const struct hold *h)
{
    return h->wait.ending_signal != 0 || h->has_input_ended || h->was_hold_lost;
}

static void run_loop_turn(struct hold *h)
{
    hf_loop_dispatch(h->wait.loop, -1);
    cli_metrics_after_turn(h->metrics);
}

/* The reader of a pipe may be slow and a terminal may be stopped; a write would then delay
 * renewals, and a signal would not end it. epoll does not take files, which always have room.
 * False: the hold must end before its line is printed. */
static bool wait_until_output_writable(struct hold *h)
{
    if (cli_wait_watch(&h->wait, &h->output_io) < 0)
        return true;
    while (!h->is_output_writable && !must_hold_end(h))
        run_loop_turn(h);
    cli_wait_unwatch(&h->wait, &h->output_io);
    return h->is_output_writable;
}

static int print_held_line(struct hold *h)
{
    struct cli_lock lock = {.name = h->name, .name_len = strlen(h->name)};
    char owner[HF_OWNER_TEXT_MAX];
    struct cli_json j;

    (void)hf_lock_owner_text(h->lock, h->owner, owner);
    if (h->common->is_json) {
        cli_json_init(&j);
        cli_lock_put_name(&j, &lock);
        cli_json_text(&j, "owner", owner);
        if (h->kind.is_fenced)
            cli_json_integer(&j, "token", hf_lock_token(h->lock, h->owner));
        return cli_json_print(&j);
    }
    if (h->common->is_quiet)
        return CLI_CONTINUE;
    (void)printf("held %s", owner);
    if (h->kind.is_fenced)
        (void)printf(" %lld", (long long)hf_lock_token(h->lock, h->owner));
    (void)putchar('\n');
    return CLI_CONTINUE;
}

static int print_held_and_flush(struct hold *h)
{
    int rc = print_held_line(h);

    return rc == CLI_CONTINUE ? cli_program_flush("releasing the lock") : rc;
}

static int report_loss(const struct hold *h)
{
    (void)cli_fail("lost the lock %s: %s", h->quoted, hf_lost_text(h->reason));
    return CLI_EXIT_LOST;
}

/* From now on a second signal ends the process at once. Also after a loss: the server may
 * still have the hold. */
static int release_lock(struct hold *h)
{
    struct hf_error err = {0};
    hf_status status;

    cli_wait_take_signals(&h->wait);
    cli_signals_end_at_once(true);
    status = hf_lock_release(h->lock, h->owner, &err);
    if (status == HF_OK)
        return CLI_EXIT_OK;
    if (status == HF_LOST) {
        if (!h->was_hold_lost)
            (void)cli_fail("the lock %s was lost before it was released", h->quoted);
        return CLI_EXIT_LOST;
    }
    (void)cli_fail_status(status, &err);
    return cli_fail("%s may stay locked until its TTL expires", h->quoted);
}

static int hold_until_end(struct hold *h)
{
    int rc = CLI_CONTINUE, end;

    cli_signals_set_end_limit(false, NULL);
    cli_metrics_attach(h->metrics, h->wait.loop, &h->wait.client, 1);
    cli_metrics_note_held(h->metrics);
    if (wait_until_output_writable(h))
        rc = print_held_and_flush(h);
    while (rc == CLI_CONTINUE && !must_hold_end(h))
        run_loop_turn(h);
    if (h->was_hold_lost)
        cli_metrics_note_lost(h->metrics);
    if (rc == CLI_CONTINUE && h->was_hold_lost)
        rc = report_loss(h);
    end = release_lock(h);
    rc = rc == CLI_CONTINUE ? end : rc;
    cli_metrics_note_end(h->metrics, rc);
    cli_metrics_detach(h->metrics);
    return rc;
}

/* ---- acquiring ---- */

/* The exit code of a call that did not get the lock. */
static int report_not_acquired(const struct hold *h)
{
    const struct cli_wait *w = &h->wait;

    if (w->status == HF_CANCELLED && w->ending_signal != 0)
        return CLI_EXIT_SIGNAL + w->ending_signal;
    if (w->status != HF_TIMEOUT && w->status != HF_CANCELLED)
        return cli_fail_status(w->status, &w->error);
    if (w->status == HF_TIMEOUT)
        cli_wait_report_refused(w->client, h->lock, &w->wait_report, &w->error);
    else
        cli_verbose("standard input ended before the lock was acquired");
    return h->wait_options.conflict_code;
}

static hf_status submit_acquire(struct hold *h)
{
    struct hf_acquire_options options;

    hf_acquire_options_init(&options);
    options.owner = h->owner = hf_owner_new();
    options.wait_ms = h->wait_options.wait_ms;
    options.cancel = &h->wait.cancel;
    options.on_lost = on_lost;
    options.on_wait = on_wait;
    options.ctx = h;
    return hf_lock_acquire_async(h->lock, &options, cli_wait_done, &h->wait);
}

static int acquire_and_hold(struct hold *h)
{
    hf_status status;

    (void)snprintf(h->last_words, sizeof h->last_words,
                   "holdfast: the server does not reply: %s may stay locked until its "
                   "TTL expires\n", h->quoted);
    cli_wait_begin(&h->wait, h->last_words);
    if (h->follows_input)
        watch_input(h);
    if ((status = submit_acquire(h)) < 0)
        return cli_fail("cannot request the lock: %s", hf_status_text(status));
    cli_wait_run_loop(&h->wait);
    return h->wait.status == HF_OK ? hold_until_end(h) : report_not_acquired(h);
}

/* ---- the command line ---- */

enum { TTL = 1, INPUT };

static const struct cli_option own_options[] = {
    {TTL, 0, "ttl", "DURATION"},
    CLI_WAIT_ROWS,
    CLI_LABEL_ROW,
    {INPUT, 0, "stdin", NULL},
    CLI_KIND_ROWS,
    CLI_KIND_ROWS_OF_MANY,
    CLI_METRICS_ROWS,
    {0},
};

static int take_option(void *ctx, const struct cli_args *args, int id, char *value)
{
    struct hold *h = ctx;

    if (id >= CLI_KIND_OPTION)
        return cli_kind_take_option(&h->kind, args, id, value);
    if (id >= CLI_WAIT_OPTION)
        return cli_wait_take_option(&h->wait_options, args, id, value);
    if (id >= CLI_METRICS_OPTION)
        return cli_metrics_take_option(&h->metrics_options, args, id, value);
    switch (id) {
    case TTL:
        return cli_take_duration(args, "--ttl", value, TTL_LEAST_MS, &h->ttl_ms);
    case INPUT:
        h->follows_input = true;
        return CLI_CONTINUE;
    default:
        if (h->name)
            return cli_usage(args, "unexpected argument '%s': to run a command under the "
                                   "lock, use 'holdfast run'", value);
        h->name = value;
        return CLI_CONTINUE;
    }
}

static int check_options(struct hold *h, const struct cli_args *args)
{
    if (!h->name)
        return cli_usage(args, "NAME is required");
    if (!*h->name)
        return cli_usage(args, "NAME is empty");
    (void)cli_quote(h->quoted, h->name, strlen(h->name));
    if (cli_metrics_check(&h->metrics_options, args) != CLI_CONTINUE)
        return CLI_EXIT_ERROR;
    return cli_kind_check(&h->kind, args);
}

/* A signal that ends a hold is its ordinary end. */
static int close_hold(struct hold *h, int code)
{
    bool was_held = h->wait.is_done && h->wait.status == HF_OK;
    hf_status rc;

    if (h->input_io.fd >= 0)
        cli_wait_unwatch(&h->wait, &h->input_io);
    rc = cli_wait_close(&h->wait, code == CLI_EXIT_OK ? CLI_WAIT_TIDY_MS : CLI_WAIT_LINGER_MS);
    if (rc < 0 && !was_held)
        code = cli_fail("%s: %s may stay locked until its TTL expires", cli_close_reason(rc),
                        h->quoted);
    hf_lock_free(h->lock);
    cli_wait_free(&h->wait);
    cli_metrics_close(h->metrics);
    return was_held ? code : cli_wait_end(&h->wait, code);
}

static int main_hold(struct cli_args *args, struct cli_common *common)
{
    struct hold h = {.common = common,
                     .kind = {.kind = HF_KIND_PLAIN},
                     .ttl_ms = TTL_MS,
                     .wait_options = CLI_WAIT_OPTIONS_INIT,
                     .input_io = {.fd = -1, .events = HF_READ, .ready = on_input},
                     .output_io = {.fd = STDOUT_FILENO, .events = HF_WRITE,
                                   .ready = on_output_writable}};
    int rc = cli_common_parse(common, args, own_options, take_option, &h);

    if (rc == CLI_CONTINUE)
        rc = check_options(&h, args);
    if (rc == CLI_CONTINUE)
        rc = cli_common_apply(common);
    if (rc != CLI_CONTINUE)
        return rc;
    cli_label_choose(common, getpid(), "holdfast");
    h.metrics = cli_metrics_open(&h.metrics_options, h.name);
    rc = cli_wait_open(&h.wait);
    if (rc == CLI_CONTINUE)
        rc = cli_wait_open_lock(&h.wait, common, h.wait_options.wait_ms != 0, h.ttl_ms, &h.kind,
                                h.name,
                                &h.lock);
    if (rc == CLI_CONTINUE)
        rc = acquire_and_hold(&h);
    return close_hold(&h, rc);
}

const struct cli_command cli_hold_command = {
    .name = "hold",
    .summary = "hold a lock until interrupted",
    .help =
        "usage: holdfast hold [option]... NAME\n"
        "\n"
        "Takes the lock NAME, prints 'held OWNER', and renews the lock until INT,\n"
        "TERM, HUP or QUIT arrives. Then it releases the lock. Use hold by hand, to\n"
        "keep other processes out, or beside a program that 'holdfast run' cannot\n"
        "start. When the lock is lost, hold exits, and does not stop that program.\n"
        "Exit code: 0 released; 75 not acquired; 122 the lock was lost; 125 error. A\n"
        "signal before the lock is held ends the process.\n"
        "\n"
        "  --stdin              also release the lock when standard input ends\n"
        "  -n, --nonblock       do not wait for the lock\n"
        "  -w, --wait DURATION  stop waiting after DURATION; default: never\n"
        "  --timeout DURATION   the same as --wait\n"
        "  -E, --conflict-exit-code N\n"
        "                       exit code if the lock was not acquired; default 75\n"
        "  --ttl DURATION       TTL of the lock; renewed every third of it;\n"
        "                       default 30s\n"
        CLI_KIND_HELP_SHARED
        CLI_KIND_HELP_FAIR
        "  --fenced             also print a fencing token: 'held OWNER TOKEN'\n"
        CLI_KIND_HELP_VALUE
        CLI_KIND_HELP_PERMITS
        CLI_LABEL_HELP
        CLI_METRICS_HELP
        "\n" CLI_COMMON_HELP,
    .main = main_hold,
};
