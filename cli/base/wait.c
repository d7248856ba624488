/* One call of the library that may wait, and signals that cancel it. */
/* Tests: tests/live/cli/test_acquire.c, tests/live/cli/test_counted.c. */
#include "cli/base/wait.h"

#include "cli/base/label.h"
#include "cli/base/report.h"
#include "cli/base/signals.h"

void cli_wait_take_signals(struct cli_wait *w)
{
    int signal = cli_signals_take_end_signal();

    w->must_cancel = false;
    if (w->ending_signal == 0)
        w->ending_signal = signal;
}

static void on_signal_readable(struct hf_io *io, int events)
{
    struct cli_wait *w = HF_OWNER_OF(io, struct cli_wait, signal_io);

    (void)events;
    cli_wait_take_signals(w);
    w->must_cancel = w->ending_signal != 0;
    if (w->must_cancel)
        hf_loop_rewatch(w->loop, io, 0);
}

hf_status cli_wait_watch(struct cli_wait *w, struct hf_io *io)
{
    hf_status rc;

    hf_loop_lock(w->loop);
    rc = hf_loop_watch(w->loop, io);
    hf_loop_unlock(w->loop);
    return rc;
}

void cli_wait_unwatch(struct cli_wait *w, struct hf_io *io)
{
    hf_loop_lock(w->loop);
    hf_loop_unwatch(w->loop, io);
    hf_loop_unlock(w->loop);
}

int cli_wait_open(struct cli_wait *w)
{
    struct hf_loop_options options = {.size = sizeof options, .thread = false};
    hf_status rc;

    *w = (struct cli_wait){
        .signal_io = {.fd = -1, .events = HF_READ, .ready = on_signal_readable}};
    if ((rc = hf_loop_new(&w->loop, &options)) < 0)
        return cli_fail_what(rc, "cannot make an event loop");
    w->signal_io.fd = cli_signals_open();
    if (w->signal_io.fd < 0)
        return cli_fail_what(HF_E_SYSTEM, "cannot watch for signals");
    rc = cli_wait_watch(w, &w->signal_io);
    return rc < 0 ? cli_fail_what(rc, "cannot watch for signals")
                  : CLI_CONTINUE;
}

int cli_wait_open_client(struct cli_wait *w, const struct cli_common *common, bool is_patient,
                         int64_t ttl_ms)
{
    struct hf_client_options options;

    hf_client_options_init(&options);
    options.loop = w->loop;
    options.connect_once = !is_patient;
    if (ttl_ms > 0)
        options.watchdog_ms = ttl_ms;
    return cli_client_open(&w->client, common, &options);
}

int cli_wait_open_lock(struct cli_wait *w, const struct cli_common *common, bool is_patient,
                       int64_t ttl_ms, const struct cli_kind_options *kind, const char *name,
                       struct hf_lock **lock)
{
    int rc;

    cli_wait_report_init(&w->wait_report, w->loop, cli_label_is_enabled(common));
    cli_signals_end_at_once(true); /* the calls block */
    rc = cli_wait_open_client(w, common, is_patient, ttl_ms);
    if (rc == CLI_CONTINUE)
        rc = cli_lock_open(lock, w->client, kind->kind, name);
    if (rc == CLI_CONTINUE)
        rc = cli_kind_make_permits(kind, *lock);
    cli_signals_end_at_once(false);
    return rc;
}

void cli_wait_begin(struct cli_wait *w, const char *last_words)
{
    w->is_done = false;
    hf_cancel_init(&w->cancel, w->client);
    cli_signals_set_end_limit(true, last_words);
}

void cli_wait_done(void *ctx, hf_status status, const struct hf_error *err)
{
    struct cli_wait *w = ctx;

    w->is_done = true;
    w->status = status;
    if (err)
        w->error = *err;
}

void cli_wait_run_loop(struct cli_wait *w)
{
    while (!w->is_done) {
        hf_loop_dispatch(w->loop, -1);
        if (w->must_cancel)
            hf_cancel_fire(&w->cancel);
        w->must_cancel = false;
    }
    cli_wait_report_end(&w->wait_report);
}

hf_status cli_wait_close(struct cli_wait *w, int64_t linger_ms)
{
    if (!w->client)
        return HF_OK;
    if (w->ending_signal != 0)
        linger_ms = CLI_WAIT_AFTER_SIGNAL_MS;
    return hf_client_close(w->client, linger_ms, NULL, NULL);
}

void cli_wait_free(struct cli_wait *w)
{
    hf_client_free(w->client);
    cli_wait_report_end(&w->wait_report);
    if (w->loop && w->signal_io.fd >= 0)
        cli_wait_unwatch(w, &w->signal_io);
    hf_loop_free(w->loop);
}

int cli_wait_end(struct cli_wait *w, int code)
{
    if (w->signal_io.fd >= 0)
        cli_wait_take_signals(w);
    if (w->ending_signal != 0)
        cli_signals_die(w->ending_signal, false);
    return code;
}
