/* How long this process did not run, as far as it delayed renewals. A pure
 * computation: each event is compared with the time at which one was wanted. */
#ifndef CLI_RUN_STOPS_H
#define CLI_RUN_STOPS_H

#include <stdbool.h>
#include <stdint.h>

struct cli_stops {
    int64_t next_check_ms;      /* the caller's next look, besides its other timers; HF_NEVER:
                                   none */
    int64_t expected_ms;        /* when the next event is wanted, at the latest */
    int64_t late_ms;            /* how much later than that this event came */
    int64_t suspended_ms;       /* the sum of that since the last renewal */
    int64_t safe_span_ms;       /* for how long the last renewal was safe */
};

/* cli_stops_init    - begins without events.
 * cli_stops_record     - records an event at `now_ms`.
 * cli_stops_renewed - a lock is safe for `safe_span_ms` from now: earlier stops no longer matter.
 * cli_stops_set_next    - returns when the next event is needed, including the beat.
 * cli_stops_matter  - returns whether stops of this process made a renewal in time
 *                     impossible. `is_renewed`: false for a fixed lease, for which a stop
 *                     matters only if it covers this moment. */
void cli_stops_init(struct cli_stops *s);
void cli_stops_record(struct cli_stops *s, int64_t now_ms);
void cli_stops_renewed(struct cli_stops *s, int64_t span_ms);
void cli_stops_set_next(struct cli_stops *s, int64_t next_ms);
bool cli_stops_matter(const struct cli_stops *s, bool is_renewed);

#endif
