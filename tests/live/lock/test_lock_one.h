/* A client of one server, in one of the ways of using it, and its lock. */
#ifndef TEST_LIVE_LOCK_ONE_H
#define TEST_LIVE_LOCK_ONE_H

#include "tests/live/test_lock_ways.h"
#include "tests/support/one_server.h"

static struct hf_client *client;
static struct hf_lock *lock;

static inline void open_client(const struct way *way)
{
    struct hf_client_options o;
    char url[SERVER_URL_MAX];

    way_options(&o, url, server_port(server), way);
    client = client_with(&o);
    lock = lock_of(client, NAME);
}

static inline void close_client(void)
{
    struct hf_client_stats stats = stats_of(client);

    ck_assert_uint_eq(stats.waiters, 0);
    hf_lock_free(lock);
    hf_client_free(client);
}

static inline long long pttl(void)
{
    return server_ask_int(server, "PTTL " NAME);
}

/* Once for each of `ways`. */
#define add_in_all_ways(c, test) tcase_add_loop_test(c, test, 0, COUNT(ways))

#endif
