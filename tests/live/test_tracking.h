/* Clients of tests of pushes, and what a server tracks. */
#ifndef TEST_LIVE_TRACKING_H
#define TEST_LIVE_TRACKING_H

#include "tests/live/test_lock.h"

#define WATCHDOG_MS 90000       /* a renewal, or a request of a waiter, each 30 s */
#define TRACKING "?tracking=on"

/* A client with the URL of `of` and these options. `user`: NULL, or one with the password
 * PASSWORD. */
static inline struct hf_client *client_by(struct server *of, const char *options,
                                          const char *user)
{
    struct hf_client_options o;
    char url[SERVER_URL_MAX + 64];

    client_options(&o, url, server_port(of));
    (void)strcat(url, options);
    o.watchdog_ms = WATCHDOG_MS;
    if (user) {
        o.user = user;
        o.password = "PASSWORD";
    }
    return client_with(&o);
}

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
        local_poll_rest();
    }
}

#endif
