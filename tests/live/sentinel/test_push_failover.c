/* Waiters by push (tracking=on) when a replica is promoted: the waiter follows, is tracked at the
 * new master, and finds a lock that the new master does not know. Nothing else ends its sleep
 * in time: the TTL is long, and so is the watchdog's timeout. */
#include "tests/live/test_sentinel.h"
#include "tests/live/test_tracking.h"

#define DEAF "app"              /* may not subscribe */
#define HOLDER "8743c9c0-0795-4907-87fd-6c719a6b4586:1"

static struct hf_client *client;
static struct hf_lock *lock;
static struct call call;

static struct server *server_at(int i)
{
    return sentinels_server(sentinels, i);
}

static void start(void)
{
    sentinels = sentinels_start(&(struct sentinels_options){.replicas = 1, .sentinels = 1});
    for (int i = 0; i <= 1; i++)
        (void)server_ask(server_at(i), "ACL SETUSER " DEAF " on >PASSWORD ~* &* +@all -subscribe "
                                       "-ssubscribe");
}

static void stop(void)
{
    hf_client_free(client);
    sentinels_stop(sentinels);
}

static void open_client(const char *user, int replicas)
{
    char url[URL_ROOM];
    struct hf_client_options o = sentinel_options(strcat(url_of(url, 1), TRACKING), 3);

    o.watchdog_ms = WATCHDOG_MS;
    o.replicas = replicas;
    o.user = user;
    o.password = user ? "PASSWORD" : NULL;
    client = client_with(&o);
}

/* Another program holds it, for longer than a test may last; the waiter is tracked. */
static void wait_tracked(const char *user, int replicas)
{
    struct hf_acquire_options o = acquire_options(1);
    struct server *master = master_now();

    o.wait_ms = HF_FOREVER;
    open_client(user, replicas);
    (void)server_ask(master, "HSET " NAME " " HOLDER " 1");
    (void)server_ask(master, "PEXPIRE " NAME " 600000");
    for (int i = 0; i <= 1; i++)
        server_await(server_at(i), LONG_MS, "1", "EXISTS " NAME);
    lock = lock_of(client, NAME);
    call_acquire(&call, lock, &o);
    await_tracked(master, 1);
}

/* The new master reports a change to the waiter, which it has told so by its request. */
static void await_push(struct server *master)
{
    int64_t deadline_ms = local_now_ms() + LONG_MS;

    while (stats_of(client).pushes == 0) {
        ck_assert_msg(local_now_ms() < deadline_ms, "no push came");
        (void)server_ask(master, "PEXPIRE " NAME " 600000");
        local_poll_rest();
    }
    ck_assert(!call_is_done(&call));
}

static void end(void)
{
    ck_assert_ok(call_await(&call));
    release(lock, 1);
    hf_lock_free(lock);
}

static const char *const users[] = {NULL, DEAF};

/* TRACK-4, TRACK-8 */
START_TEST(track_8_waiter_is_tracked_at_a_promoted_replica)
{
    wait_tracked(users[_i], 0);
    (void)sentinels_failover(sentinels);
    await_push(master_now());
    (void)server_ask(master_now(), "DEL " NAME);
    end();
}
END_TEST

/* As if the master had died before it could tell its replica. */
START_TEST(track_8_waiter_is_granted_what_a_promoted_replica_does_not_know)
{
    struct server *replica = server_at(1 - sentinels_master(sentinels));

    wait_tracked(users[_i], 0);
    (void)server_ask(replica, "CONFIG SET replica-read-only no");
    ck_assert_str_eq(server_ask(replica, "DEL " NAME), "1");
    (void)server_ask(replica, "CONFIG SET replica-read-only yes");
    (void)sentinels_failover(sentinels);
    end();
    ck_assert_uint_ge(stats_of(client).push_wakes, 1);
}
END_TEST

/* The connections are lost, and the master stays. TRACKING-5: the waiter's requests go over a
 * connection of their own if replicas must confirm them. */
START_TEST(track_8_waiter_is_tracked_again_after_a_reconnect)
{
    wait_tracked(users[_i % 2], _i / 2);
    server_kill_connections(master_now());
    await_push(master_now());
    (void)server_ask(master_now(), "DEL " NAME);
    end();
}
END_TEST

START_TEST(track_8_waiter_is_granted_what_was_deleted_during_a_reconnect)
{
    wait_tracked(users[_i % 2], _i / 2);
    (void)server_ask(master_now(), "MULTI");
    (void)server_ask(master_now(), "CLIENT KILL TYPE normal SKIPME yes");
    (void)server_ask(master_now(), "DEL " NAME);
    (void)server_ask(master_now(), "EXEC");
    end();
    ck_assert_uint_ge(stats_of(client).push_wakes, 1);
}
END_TEST

static void add(Suite *suite)
{
    TCase *c = live_case(suite, "pushes", start, stop);

    tcase_add_loop_test(c, track_8_waiter_is_tracked_at_a_promoted_replica, 0, ROWS(users));
    tcase_add_loop_test(c, track_8_waiter_is_granted_what_a_promoted_replica_does_not_know, 0,
                        ROWS(users));
    tcase_add_loop_test(c, track_8_waiter_is_tracked_again_after_a_reconnect, 0, 2 * ROWS(users));
    tcase_add_loop_test(c, track_8_waiter_is_granted_what_was_deleted_during_a_reconnect, 0,
                        2 * ROWS(users));
}

int main(void)
{
    return live_main("push after a failover", add);
}
