/* What `holdfast run` tells of its course: a JSON line for each event to a
 * program, lines on standard error to a person. Whoever reads slowly or has
 * gone away misses events; he never holds us up. */
#ifndef CLI_RUN_EVENTS_H
#define CLI_RUN_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/report.h"
#include "cli/run/state.h"
#include "cli/sink.h"

struct cli_teller {
    struct cli_sink status;
    const char *name;
    const char *owner;          /* ours, "" before there is one. Borrowed */
    bool is_nested;             /* the outer run's; known when acquired */
    char quoted[CLI_QUOTE_MAX]; /* the name, for a person */
};

/* cli_tell_init - `name` and `owner` are borrowed for as long as it is used.
 * cli_tell_fini - takes one that is all zero but for its status.fd, -1. */
void cli_tell_init(struct cli_teller *t, int status_fd, const char *name,
                   const char *owner);
void cli_tell_fini(struct cli_teller *t);

void cli_tell_waiting(const struct cli_teller *t,
                      const struct hf_lock_info *info);
void cli_tell_acquired(struct cli_teller *t, int64_t waited_ms,
                       bool is_nested);
void cli_tell_refused(const struct cli_teller *t, hf_status status,
                      const struct hf_error *err);
void cli_tell_renewed(const struct cli_teller *t, int64_t safe_ms);
void cli_tell_lost(const struct cli_teller *t, enum hf_lost reason,
                   enum cli_on_lost on_lost);
void cli_tell_max_hold(const struct cli_teller *t, int64_t max_hold_ms);
void cli_tell_exit(const struct cli_teller *t, int code, bool by_signal);

/* `is_known`: that it was lost has been told. */
void cli_tell_released(const struct cli_teller *t, hf_status status,
                       const struct hf_error *err, bool is_known);

#endif
