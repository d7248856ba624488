/* Computes what happened to a lock between two snapshots, for `holdfast watch`. Pure. */
#ifndef CLI_WATCH_EVENTS_H
#define CLI_WATCH_EVENTS_H

#include "lock/lock.h"

/* The state of a lock, and the times of our clock between which the server read it. */
struct cli_snapshot {
    bool is_first;              /* the first poll: sent_ms, .. are unset */
    int64_t sent_ms, answered_ms;
    struct hf_lock_info info;
};

enum cli_watch_event {
    CLI_WATCH_FREE,             /* at first */
    CLI_WATCH_HELD,             /* at first */
    CLI_WATCH_RELEASED,         /* before its lease could have ended */
    CLI_WATCH_EXPIRED,          /* when its lease may have ended */
    CLI_WATCH_ACQUIRED,
    CLI_WATCH_JOINED,           /* one more reader, one more permit is out */
    CLI_WATCH_LEFT,             /* one fewer */
    CLI_WATCH_REENTERED,        /* by its owner */
    CLI_WATCH_PARTLY_RELEASED, /* its owner released it, and holds it still */
    CLI_WATCH_RENEWED,          /* its lease ends later than it did */
    CLI_WATCH_SHORTENED         /* earlier */
};

/* cli_watch_word    - returns the word of an event, such as "released", which never changes.
 * cli_watch_is_of_earlier_hold - returns whether the event belongs to the hold of the earlier
 *   snapshot.
 * cli_watch_lease_end_ms - returns the earliest end of the lease; HF_NEVER: it does not end, or
 *                     there is none.
 * cli_watch_compare - writes the events between two snapshots to `out`, in their
 *                     order, and returns how many. A hold that began and ended in
 *                     between was not seen. */
#define CLI_WATCH_EVENTS_MAX 2
int64_t cli_watch_lease_end_ms(const struct cli_snapshot *look);
const char *cli_watch_word(enum cli_watch_event event);
bool cli_watch_is_of_earlier_hold(enum cli_watch_event event);
size_t cli_watch_compare(enum cli_watch_event out[CLI_WATCH_EVENTS_MAX],
                         const struct cli_snapshot *before,
                         const struct cli_snapshot *now);

#endif
