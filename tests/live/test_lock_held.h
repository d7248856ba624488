/* A server, a client whose watchdog comes often, its lock, and a diary of what
 * the hold's callbacks say. */
#ifndef TEST_LIVE_LOCK_HELD_H
#define TEST_LIVE_LOCK_HELD_H

#include "tests/live/test_lock.h"
#include "tests/support/one_server.h"

/* Renewed each second; a stall of almost 2 s costs no hold. */
#define WATCHDOG_MS 3000

static struct hf_client *client;
static struct hf_lock *lock;
static struct diary diary;

static inline void open_client(void)
{
    client = client_timed(server_port(server), WATCHDOG_MS, 5000);
    lock = lock_of(client, NAME);
}

static inline void start(void)
{
    start_server();
    open_client();
}

static inline void stop(void)
{
    hf_client_free(client);
    stop_server();
}

/* By owner 1, until it is released. */
static inline void hold(void)
{
    struct hf_acquire_options o = diary_options(&diary, 1);

    ck_assert_ok(hf_lock_acquire(lock, &o, NULL));
}

#endif
