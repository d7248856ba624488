/* One call of the library that may wait, for a subcommand that ends with it: a signal that ends
 * the program cancels it first. */
#ifndef CLI_WAIT_H
#define CLI_WAIT_H

#include "cli/base/common.h"
#include "cli/base/kind_options.h"
#include "cli/base/wait_report.h"

/* How long the process stays after a request without a reply, or cancelled, so that the client
 * can undo it; and the same after a signal, of CLI_SIGNALS_LIMIT_MS. */
#define CLI_WAIT_LINGER_MS 1000
#define CLI_WAIT_AFTER_SIGNAL_MS 50
/* How long it stays after a call that succeeded, to remove its place in the queue and its
 * recorded requests. On the server these expire by themselves. */
#define CLI_WAIT_TIDY_MS 25

struct cli_wait {
    struct hf_loop *loop;
    struct hf_io signal_io;
    struct hf_client *client;   /* on that loop; NULL: not opened */
    struct hf_cancel cancel;    /* for the call */
    bool must_cancel;           /* a callback of the loop noted that the wait must end */
    bool is_done;
    int ending_signal;          /* what ended the wait; 0: nothing */
    struct cli_wait_report wait_report; /* what is reported meanwhile; begun in on_wait */
    hf_status status;           /* of the call, and its error */
    struct hf_error error;
};

/* cli_wait_open   - makes the event loop, which notices signals from now on. Returns
 *                   CLI_CONTINUE, or CLI_EXIT_ERROR after reporting the error. Call
 *                   cli_wait_free in both cases.
 * cli_wait_open_client - opens the client. `is_patient`: a server that cannot be reached is
 *                   retried. ttl_ms: the TTL of locks that it renews; 0: the default. Until then,
 *                   and during calls that block, use cli_signals_end_at_once. Returns as
 *                   cli_client_open.
 * cli_wait_open_lock   - opens the client, and with it the lock `name` of a kind, as
 *                   cli_wait_open_client, cli_lock_open and cli_kind_make_permits do. Nothing is
 *                   held yet: a signal ends the process at once. *lock may be set also after an
 *                   error.
 * cli_wait_watch  - adds `io` to the loop, which calls io->ready; returns as hf_loop_watch.
 *                   cli_wait_unwatch removes it.
 * cli_wait_begin  - is called before the call, which takes w->cancel, cli_wait_done and w.
 *                   A signal ends the program after CLI_SIGNALS_LIMIT_MS with `last_words`.
 * cli_wait_run_loop    - runs the loop until the call ends.
 * cli_wait_take_signals - notes a signal that has arrived since, in w->ending_signal.
 * cli_wait_close  - closes the client within linger_ms; after a signal, sooner. Returns as
 *                   hf_client_close: below HF_OK, a request has no reply yet, or was not undone.
 * cli_wait_end    - returns `code`; if a signal arrived, the process ends by it instead. */
int cli_wait_open(struct cli_wait *w);
int cli_wait_open_client(struct cli_wait *w, const struct cli_common *common, bool is_patient,
                         int64_t ttl_ms);
int cli_wait_open_lock(struct cli_wait *w, const struct cli_common *common, bool is_patient,
                       int64_t ttl_ms, const struct cli_kind_options *kind, const char *name,
                       struct hf_lock **lock);
hf_status cli_wait_watch(struct cli_wait *w, struct hf_io *io);
void cli_wait_unwatch(struct cli_wait *w, struct hf_io *io);
void cli_wait_begin(struct cli_wait *w, const char *last_words);
hf_done cli_wait_done;
void cli_wait_run_loop(struct cli_wait *w);
void cli_wait_take_signals(struct cli_wait *w);
hf_status cli_wait_close(struct cli_wait *w, int64_t linger_ms);
void cli_wait_free(struct cli_wait *w);
int cli_wait_end(struct cli_wait *w, int code);

#endif
