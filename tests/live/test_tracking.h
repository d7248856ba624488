/* What a server tracks, for tests of pushes. */
#ifndef TEST_LIVE_TRACKING_H
#define TEST_LIVE_TRACKING_H

#include "tests/live/test_lock.h"

/* Each key counts once for each client that has read it. */
static inline int tracked_at(struct server *of)
{
    const char *line = strstr(server_ask(of, "INFO stats"), "tracking_total_items:");

    ck_assert_ptr_nonnull(line);
    return atoi(strchr(line, ':') + 1);
}

static inline void await_tracked(struct server *of, int count)
{
    int64_t deadline_ms = local_now_ms() + AWAIT_MS;

    while (tracked_at(of) != count) {
        ck_assert_msg(local_now_ms() < deadline_ms, "%d reads are tracked, not %d",
                      tracked_at(of), count);
        local_rest_us(1000);
    }
}

#endif
