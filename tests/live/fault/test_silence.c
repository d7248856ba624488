/* A connection that swallows bytes, as one that a firewall or a proxy has forgotten: it
 * is noticed in time for the lease and for the request (LINK-8, LINK-9). The server
 * lives, and connections that are made later work. */
#include "lock/election.h"
#include "lock/permits.h"
#include "lock/quorum.h"
#include "tests/live/test_sentinel.h"
#include "net/route/slot.h"
#include "tests/support/cluster.h"
#include "tests/support/lua_client.h"
#include "tests/support/proxy.h"

#define TTL_MS 4500
#define REQUEST_MS 5000
#define LISTEN_MS 3000          /* a silent subscription is probed after that */

static struct server *server;
static struct proxy *proxy;
static struct hf_client *client;
static struct diary diary;

static void setup(void)
{
    server = server_start(NULL);
    proxy = proxy_start(server_port(server));
}

static void teardown(void)
{
    hf_client_free(client);
    proxy_stop(proxy);
    server_stop(server);
}

static void open_client(int64_t ttl_ms, int64_t idle_check_ms, int protocol)
{
    struct hf_client_options o;
    char url[SERVER_URL_MAX];

    client_options(&o, url, proxy_port(proxy));
    o.watchdog_ms = ttl_ms;
    o.request_timeout_ms = REQUEST_MS;
    o.idle_check_ms = idle_check_ms;
    o.protocol = protocol;
    client = client_with(&o);
}

static struct hf_lock *lock_kind(struct hf_client *c, enum hf_lock_kind kind)
{
    struct hf_lock *lock = NULL;

    ck_assert_ok(hf_lock_new_kind(&lock, c, kind, "k", 1, NULL));
    return lock;
}

/* ---- holds ---- */

static const enum hf_lock_kind kinds[] = {
    HF_KIND_PLAIN, HF_KIND_NONREENTRANT, HF_KIND_READ, HF_KIND_WRITE,
    HF_KIND_FAIR,  HF_KIND_VALUE,        HF_KIND_SPIN, HF_KIND_PERMIT};

/* Two renewals more are twice a third of the TTL: without another connection the hold
 * would be lost by then. */
START_TEST(a_hold_outlives_a_forgotten_connection)
{
    struct hf_acquire_options o = diary_options(&diary, 1);
    struct hf_lock *lock;
    int renewals;

    open_client(TTL_MS, 0, 3);
    lock = lock_kind(client, kinds[_i]);
    if (kinds[_i] == HF_KIND_PERMIT)
        ck_assert_ok(hf_permits_try_set(lock, 1, NULL, NULL));
    ck_assert_ok(hf_lock_acquire(lock, &o, NULL));
    for (int i = 0; i < 2; i++) {
        renewals = note_read(&diary.note, &diary.renewals);
        proxy_forget(proxy);
        note_await(&diary.note, &diary.renewals, renewals + 2, "a renewal");
    }
    ck_assert_int_eq(note_read(&diary.note, &diary.losses), 0);
    ck_assert_int_gt(hf_lock_safe_ms(lock, 1), 0);
    release(lock, 1);
    ck_assert_uint_eq(stats_of(client).link.losses, 2);
}
END_TEST

/* The server is stopped for a while, and so are all its connections. */
START_TEST(a_server_that_was_stopped_keeps_its_connection)
{
    struct hf_acquire_options o = diary_options(&diary, 1);
    struct call call;
    struct hf_lock *lock;

    open_client(9000, 0, 3);
    lock = lock_of(client, "a");
    ck_assert_ok(hf_lock_acquire(lock, &o, NULL));
    server_pause(server);
    call_acquire(&call, lock_of(client, "b"), &o);
    local_rest_us(2000000);
    server_resume(server);
    ck_assert_status(call_await(&call), HF_OK);
    ck_assert_uint_eq(stats_of(client).link.losses, 0);
    ck_assert_uint_le(proxy_accepted(proxy), 2);
    ck_assert_int_eq(note_read(&diary.note, &diary.losses), 0);
}
END_TEST

/* ---- calls ---- */

START_TEST(calls_are_retried_within_their_own_time)
{
    struct hf_lock *a, *b;

    open_client(30000, 0, _i + 2);
    a = lock_of(client, "a");
    b = lock_of(client, "b");
    acquire(a, 1);
    proxy_forget(proxy);
    acquire(b, 1);
    proxy_forget(proxy);
    release(a, 1);
    ck_assert_str_eq(server_ask(server, "EXISTS a"), "0");
    proxy_forget(proxy);
    acquire(b, 1);
    ck_assert_str_eq(server_ask(server, "HVALS b"), "2");
    ck_assert_uint_eq(stats_of(client).link.losses, 3);
}
END_TEST

/* It was not sent before the reply to PING, so nothing is unknown but the PING. */
START_TEST(the_first_call_after_an_idle_time_is_sent_once)
{
    open_client(30000, 50, 3);
    acquire(lock_of(client, "a"), 1);
    local_rest_us(60000);
    proxy_forget(proxy);
    acquire(lock_of(client, "b"), 1);
    ck_assert_uint_eq(stats_of(client).link.unknown, 1);
    ck_assert_uint_eq(stats_of(client).link.losses, 1);
}
END_TEST

/* ---- subscriptions ---- */

/* Its holder has released it, and the message was swallowed. */
START_TEST(a_waiter_is_woken)
{
    struct hf_acquire_options o = acquire_options(1);
    struct hf_client *other = client_timed(server_port(server), 60000, REQUEST_MS);
    struct hf_lock *held = lock_of(other, "w");
    struct call call;

    acquire_for(held, 9, 60000);
    open_client(60000, 0, _i + 2);
    call_acquire(&call, lock_of(client, "w"), &o);
    await_subscribers(server, "redisson_lock__channel:{w}", 1);
    proxy_forget(proxy);
    release(held, 9);
    ck_assert_status(call_await(&call), HF_OK);
    hf_client_free(other);
}
END_TEST

/* ---- a quorum ---- */

START_TEST(a_member_of_a_quorum_stays)
{
    struct hf_acquire_options o = diary_options(&diary, 1);
    struct server *others[2] = {server_start(NULL), server_start(NULL)};
    struct hf_client *clients[3];
    struct hf_lock *locks[3];
    struct hf_quorum *quorum;
    int renewals;

    open_client(TTL_MS, 0, 3);
    clients[0] = client;
    for (int i = 0; i < 3; i++) {
        if (i > 0)
            clients[i] = client_timed(server_port(others[i - 1]), TTL_MS, REQUEST_MS);
        locks[i] = lock_of(clients[i], "q");
    }
    ck_assert_ok(hf_quorum_new(&quorum, locks, 3, NULL));
    ck_assert_ok(hf_quorum_acquire(quorum, &o, NULL));
    server_kill(others[1]); /* so that each of the others is needed */
    proxy_forget(proxy);
    renewals = (int)stats_of(client).renewals;
    while ((int)stats_of(client).renewals < renewals + 2) {
        ck_assert_int_eq(note_read(&diary.note, &diary.losses), 0);
        local_poll_rest();
    }
    ck_assert_int_gt(hf_quorum_safe_ms(quorum, 1), 0);
    ck_assert_ok(hf_quorum_release(quorum, 1, NULL));
    hf_quorum_free(quorum);
    hf_client_free(clients[1]);
    hf_client_free(clients[2]);
    server_stop(others[0]);
    server_stop(others[1]);
}
END_TEST

/* ---- elections, sentinels, clusters ---- */

static void on_deposed(void *ctx, struct hf_election *election, enum hf_lost reason)
{
    (void)ctx;
    (void)election;
    (void)reason;
    note_add(&diary.note, &diary.losses);
}

START_TEST(a_leader_stays)
{
    const struct hf_election_options o = {.size = sizeof o, .on_deposed = on_deposed};
    struct hf_election *election;
    uint64_t renewals;

    open_client(TTL_MS, 0, 3);
    (void)diary_options(&diary, 1);
    ck_assert_ok(hf_election_join(&election, lock_of(client, "e"), &o, NULL));
    while (hf_election_safe_ms(election) <= 0)
        local_poll_rest();
    for (int i = 0; i < 2; i++) {
        proxy_forget(proxy);
        renewals = stats_of(client).renewals;
        while (stats_of(client).renewals < renewals + 2) {
            ck_assert_int_eq(note_read(&diary.note, &diary.losses), 0);
            local_poll_rest();
        }
    }
    ck_assert_int_gt(hf_election_safe_ms(election), 0);
    ck_assert_ok(hf_election_leave(election, NULL));
}
END_TEST

/* A hold at a server that others name, whose address is mapped to the proxy. */
static void must_outlive(const char *url)
{
    struct hf_acquire_options o = diary_options(&diary, 1);
    struct hf_client_options options;
    struct hf_lock *lock;

    hf_client_options_init(&options);
    options.url = url;
    options.watchdog_ms = TTL_MS;
    options.request_timeout_ms = REQUEST_MS;
    client = client_with(&options);
    lock = lock_of(client, "k");
    ck_assert_ok(hf_lock_acquire(lock, &o, NULL));
    for (int i = 0; i < 2; i++) {
        int renewals = note_read(&diary.note, &diary.renewals);

        proxy_forget(proxy);
        note_await(&diary.note, &diary.renewals, renewals + 2, "a renewal");
    }
    proxy_forget(proxy);
    acquire(lock_of(client, "2{k}"), 1); /* within its own time */
    ck_assert_int_eq(note_read(&diary.note, &diary.losses), 0);
    ck_assert_int_gt(hf_lock_safe_ms(lock, 1), 0);
    release(lock, 1);
    hf_client_free(client);
    client = NULL;
}

START_TEST(a_hold_at_the_master_of_sentinels_stays)
{
    struct sentinels *s =
        sentinels_start(&(struct sentinels_options){.sentinels = 1, .quorum = 1});
    int master = server_port(sentinels_server(s, 0));
    char url[URL_ROOM];

    proxy = proxy_start(master);
    (void)snprintf(url, sizeof url,
                   "redis+sentinel://127.0.0.1:%d/" SENTINELS_NAME
                   "?map=127.0.0.1:%d=127.0.0.1:%d",
                   server_port(sentinels_sentinel(s, 0)), master, proxy_port(proxy));
    must_outlive(url);
    proxy_stop(proxy);
    sentinels_stop(s);
}
END_TEST

START_TEST(a_hold_at_a_node_of_a_cluster_stays)
{
    struct cluster *c = cluster_start(&(struct cluster_options){.masters = 3});
    int owner = cluster_owner(c, hf_slot_of("k", 1));
    int port = server_port(cluster_node(c, owner));
    char url[URL_ROOM];

    proxy = proxy_start(port);
    (void)snprintf(url, sizeof url,
                   "redis+cluster://127.0.0.1:%d?map=127.0.0.1:%d=127.0.0.1:%d",
                   server_port(cluster_node(c, (owner + 1) % 3)), port,
                   proxy_port(proxy));
    must_outlive(url);
    proxy_stop(proxy);
    cluster_stop(c);
}
END_TEST

static void add(Suite *s)
{
    TCase *c = live_case(s, "silence", setup, teardown);

    tcase_add_loop_test(c, a_hold_outlives_a_forgotten_connection, 0, ROWS(kinds));
    tcase_add_test(c, a_server_that_was_stopped_keeps_its_connection);
    tcase_add_loop_test(c, calls_are_retried_within_their_own_time, 0, 2);
    tcase_add_test(c, the_first_call_after_an_idle_time_is_sent_once);
    tcase_add_loop_test(c, a_waiter_is_woken, 0, 2);
    tcase_add_test(c, a_member_of_a_quorum_stays);
    tcase_add_test(c, a_leader_stays);
    c = live_case(s, "silence of a server that others name", NULL, NULL);
    tcase_set_timeout(c, 2 * SENTINELS_PATIENCE_MS / 1000);
    tcase_add_test(c, a_hold_at_the_master_of_sentinels_stays);
    tcase_add_test(c, a_hold_at_a_node_of_a_cluster_stays);
}

int main(void)
{
    return live_main("silence", add);
}
