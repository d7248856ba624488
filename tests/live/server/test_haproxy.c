/* A failover behind HAProxy: open connections still lead to the old master, new ones to
 * the new one. The long run is make soak-one-address. */
#include "tests/live/test_lock.h"
#include "tests/support/haproxy.h"

#define WATCHDOG 9000           /* HAProxy's checks take less than a third of it */
#define HOLDS 10
#define FAILOVERS 2

static struct server *servers[2];
static struct haproxy haproxy;
static struct hf_client *client;

static void setup(void)
{
    static const char *const at_once[] = {"--repl-diskless-sync-delay", "0", NULL};

    for (int i = 0; i < 2; i++)
        ck_assert_ptr_nonnull(servers[i] = server_start(at_once));
    (void)server_ask(servers[1], "REPLICAOF 127.0.0.1 %d", server_port(servers[0]));
    haproxy_start(&haproxy, server_port(servers[0]), server_port(servers[1]));
    client = client_timed(haproxy.port, WATCHDOG, LONG_MS);
}

static void teardown(void)
{
    hf_client_free(client);
    haproxy_stop(&haproxy);
    server_stop(servers[0]);
    server_stop(servers[1]);
}

/* All that `master` has is at the other one, which replaces it. */
static void fail_over(int master)
{
    struct server *old = servers[master], *next = servers[!master];

    server_await(next, AWAIT_MS, "up", "EVAL %s 0",
                 "return redis.call('info','replication'):match"
                 "('master_link_status:(%a+)')");
    (void)server_ask(old, "SET last %d", master);
    server_await(next, LONG_MS, master ? "1" : "0", "GET last");
    ck_assert_str_eq(server_ask(next, "REPLICAOF NO ONE"), "OK");
    ck_assert_str_eq(server_ask(old, "REPLICAOF 127.0.0.1 %d", server_port(next)), "OK");
}

/* REPLACE-1 */
START_TEST(holds_outlast_failovers_of_haproxy)
{
    struct hf_lock *locks[HOLDS];
    struct diary diaries[HOLDS];
    char name[32];

    for (int i = 0; i < HOLDS; i++) {
        struct hf_acquire_options o = diary_options(&diaries[i], 1);

        (void)snprintf(name, sizeof name, "hold:%d", i);
        locks[i] = lock_of(client, name);
        ck_assert_ok(hf_lock_acquire(locks[i], &o, NULL));
    }
    for (int master = 0; master < FAILOVERS; master++) {
        fail_over(master % 2);
        await_next_renewal(client);
        acquire(lock_of(client, "beside"), 1);
        ck_assert_str_eq(server_ask(servers[!(master % 2)], "EXISTS beside"), "1");
        release(lock_of(client, "beside"), 1);
    }
    for (int i = 0; i < HOLDS; i++) {
        ck_assert_int_eq(note_read(&diaries[i].note, &diaries[i].losses), 0);
        release(locks[i], 1);
    }
}
END_TEST

/* ---- connections without traffic are closed ---- */

static void setup_hasty(void)
{
    haproxy.idle = "500ms";
    setup();
}

static void teardown_hasty(void)
{
    teardown();
    haproxy.idle = NULL;
}

/* Nothing is sent while the hold and the waiter sleep, so each of their connections is closed,
 * several times. */
START_TEST(closed_connections_cost_no_hold_and_no_message)
{
    struct hf_acquire_options waits = acquire_options(2);
    struct hf_client_options o;
    struct diary d;
    struct hf_acquire_options holds = diary_options(&d, 1);
    struct hf_client *waiting;
    struct hf_lock *held = lock_of(client, NAME);
    char url[SERVER_URL_MAX];
    struct call call;

    client_options(&o, url, haproxy.port);
    o.protocol = _i;
    waiting = client_with(&o);
    ck_assert_ok(hf_lock_acquire(held, &holds, NULL));
    call_acquire(&call, lock_of(waiting, NAME), &waits);
    while (stats_of(waiting).link.losses < 4)
        local_poll_rest();
    ck_assert(!call_is_done(&call));
    await_next_renewal(client);
    await_subscribers(servers[0], CHANNEL, 1);
    release(held, 1);
    ck_assert_status(call_await(&call), HF_OK);
    ck_assert_int_eq(note_read(&d.note, &d.losses), 0);
    hf_client_free(waiting);
}
END_TEST

static void add(Suite *s)
{
    TCase *c = live_case(s, "haproxy", setup, teardown);

    tcase_add_test(c, holds_outlast_failovers_of_haproxy);
    tcase_set_timeout(c, 120);
    c = live_case(s, "haproxy, in a hurry", setup_hasty, teardown_hasty);
    tcase_add_loop_test(c, closed_connections_cost_no_hold_and_no_message, 2, 4);
    tcase_set_timeout(c, 120);
}

int main(void)
{
    return haproxy_is_installed() ? live_main("haproxy", add) : 77;
}
