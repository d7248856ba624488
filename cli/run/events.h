/* Reports what happens in `holdfast run`: a JSON line for each event to a
 * program, lines on standard error to a person. A slow reader misses events and
 * never blocks us. */
#ifndef CLI_RUN_EVENTS_H
#define CLI_RUN_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/base/report.h"
#include "cli/base/sink.h"
#include "cli/base/wait_report.h"
#include "cli/run/state.h"

struct cli_event_log {
    struct cli_sink status;
    const char *name;
    const char *owner;          /* ours, "" before there is one. Borrowed */
    bool is_nested;             /* the outer run's; known when acquired */
    char quoted[CLI_QUOTE_MAX]; /* the name, for a person */
    const char *lost_name;      /* of several locks, that of the lost one; or NULL.
                                   Borrowed */
    const char *server;         /* its address, or NULL. Borrowed */
};

/* cli_event_init - borrows `name` and `owner` until cli_event_fini.
 * cli_event_fini - also for a log that is all zero, with status.fd -1. */
void cli_event_init(struct cli_event_log *t, int status_fd, const char *name,
                   const char *owner);
void cli_event_fini(struct cli_event_log *t);

void cli_event_waiting(const struct cli_event_log *t, const struct cli_wait_report *w);
void cli_event_acquired(struct cli_event_log *t, int64_t waited_ms,
                        bool is_nested, int64_t token);
void cli_event_refused(const struct cli_event_log *t, hf_status status,
                      const struct hf_error *err);
void cli_event_renewed(const struct cli_event_log *t, int64_t safe_ms);
void cli_event_lost(const struct cli_event_log *t, enum hf_lost reason,
                   enum cli_on_lost on_lost);
/* The data of cli_event_lost: the name of the lost lock, if there are several, or NULL;
 * and the address of its server. */
void cli_event_set_lost_member(struct cli_event_log *t, const char *name,
                               const char *server);
void cli_event_max_hold(const struct cli_event_log *t, int64_t max_hold_ms);
void cli_event_exit(const struct cli_event_log *t, int code, bool by_signal);

/* `is_known`: the loss has been reported. `member`: of several locks, the one whose release
 * failed, or NULL. */
void cli_event_released(struct cli_event_log *t, hf_status status, const struct hf_error *err,
                        const char *member, bool is_known);

#endif
