/* `--metrics-file`: the metrics of a command under a lock, for the textfile collector of
 * node_exporter. The file is written when the lock is acquired or lost, each interval, and at
 * the end. It stays then, so that an alert can use when the last run ended, and how. */
#ifndef CLI_METRICS_H
#define CLI_METRICS_H

#include <stdbool.h>

#include "cli/base/options.h"
#include "lock/lock.h"

struct cli_metrics_options {
    const char *path;           /* NULL: no file */
    int64_t interval_ms;        /* 0: the default */
    bool is_election;           /* elect: its candidates are shown too */
};

/* Rows of a table of options, and their ids. */
enum { CLI_METRICS_OPTION = 300, CLI_OPT_METRICS_FILE = CLI_METRICS_OPTION,
       CLI_OPT_METRICS_INTERVAL, CLI_METRICS_OPTIONS_END };
#define CLI_METRICS_ROWS                                                      \
    {CLI_OPT_METRICS_FILE, 0, "metrics-file", "FILE"},                        \
    {CLI_OPT_METRICS_INTERVAL, 0, "metrics-interval", "DURATION"}
#define CLI_METRICS_HELP                                                      \
    "  --metrics-file FILE  write metrics for node_exporter to FILE (NAME.prom)\n" \
    "  --metrics-interval D time between two writes; default 15s\n"

struct cli_metrics;

/* All functions accept NULL for the metrics, and then do nothing.
 *
 * cli_metrics_take_option  - processes one of these options. Returns CLI_CONTINUE, or
 *                     CLI_EXIT_ERROR after reporting the error.
 * cli_metrics_check - returns the same for the options together.
 * cli_metrics_open  - opens them for a lock; returns NULL without a file, or, after a note, without
 *                     memory. Nothing is written before the lock is acquired, except in an
 *                     election.
 * cli_metrics_close - waits, a bounded time, until the file is written, and reports errors. */
int cli_metrics_take_option(struct cli_metrics_options *o, const struct cli_args *args, int id,
                            const char *value);
int cli_metrics_check(const struct cli_metrics_options *o, const struct cli_args *args);
struct cli_metrics *cli_metrics_open(const struct cli_metrics_options *o, const char *name);
void cli_metrics_close(struct cli_metrics *m);

/* cli_metrics_attach - from now on the counters of these clients, which are borrowed, are also
 *                      written; and the timer of the loop begins. For elect: in each term.
 * cli_metrics_detach - ends both, before the clients are freed.
 * cli_metrics_after_turn   - writes the file if it is time. Call it after each turn of the loop. */
void cli_metrics_attach(struct cli_metrics *m, struct hf_loop *loop,
                        struct hf_client *const *clients, size_t count);
void cli_metrics_detach(struct cli_metrics *m);
void cli_metrics_after_turn(struct cli_metrics *m);

/* cli_metrics_note_held, cli_metrics_note_lost, cli_metrics_note_end - what happened: the file is
 *   written. The end follows only after the former. `code`: the exit code. */
void cli_metrics_note_held(struct cli_metrics *m);
void cli_metrics_note_lost(struct cli_metrics *m);
void cli_metrics_note_end(struct cli_metrics *m, int code);

#endif
