/* A server that is not there, goes away, is silent or is busy for a while: its
 * waiters wait for it, all others are told in time (faults X10). */
#include "tests/live/fault/test_lock_refused.h"
#include "tests/support/lua_client.h"
#include "tests/support/peer.h"
#include "tests/support/proxy.h"

START_TEST(a_server_that_is_not_there_is_named_in_time)
{
    struct hf_lock_info info;
    struct hf_error err;

    client = client_timed(server_port(server), 900, SET_UP_MS);
    lock = lock_of(client, NAME);
    server_kill(server);
    ck_assert_status(hf_lock_acquire(lock, NULL, &err), HF_E_CONNECT);
    ck_assert_int_eq(err.status, HF_E_CONNECT);
    ck_assert_clear(&err, "refused");
    ck_assert_status(try_acquire(lock, 1, &err), HF_E_CONNECT);
    ck_assert_status(hf_lock_inspect(lock, &info, &err), HF_E_CONNECT);
    ck_assert_clear(&err, "refused");
    ck_assert_status(hf_lock_force_release(lock, NULL, 0, &err),
                     HF_E_CONNECT);
}
END_TEST

START_TEST(a_server_that_is_not_there_fails_a_connect)
{
    struct hf_client_options o;
    struct hf_error err;
    char url[SERVER_URL_MAX];

    client_options(&o, url, server_port(server));
    o.connect_timeout_ms = 200;
    client = client_with(&o);
    if (_i == 0)
        server_kill(server);
    else
        server_pause(server);
    ck_assert_status(hf_client_connect(client, &err), HF_E_CONNECT);
    ck_assert_ptr_nonnull(strstr(err.text, hf_client_address(client)));
}
END_TEST

START_TEST(a_server_that_comes_in_time_is_not_missed)
{
    struct hf_acquire_options o = acquire_options(1);
    struct call call;

    client = client_timed(server_port(server), 900, LONG_MS);
    lock = lock_of(client, NAME);
    server_kill(server);
    call_acquire(&call, lock, &o);
    server_restart(server);
    ck_assert_status(call_await(&call), HF_OK);
    ck_assert_holder(server, lock, 1, 1);
    release(lock, 1);
}
END_TEST

/* The second one is never sent: nothing that the server may still do. */
START_TEST(a_silent_server_sends_no_reply_in_time)
{
    struct hf_error err;

    client = client_timed(server_port(server), 60000, SET_UP_MS);
    lock = lock_of(client, NAME);
    acquire(lock, 1);
    server_pause(server);
    local_rest_us(2000); /* so that what was heard is older than what is sent */
    ck_assert_status(hf_lock_acquire(lock, NULL, &err), HF_E_NOREPLY);
    ck_assert_clear(&err, "the server may have executed it");
    ck_assert_status(hf_lock_release(lock, 1, &err), HF_E_CONNECT);
    ck_assert_clear(&err, "does not answer");
    ck_assert_status(hf_lock_release(lock, 1, &err), HF_NOT_OWNER);
    server_resume(server);
    server_await(server, LONG_MS, "0", "EXISTS " NAME);
}
END_TEST

/* The server is killed while it waits, and comes back, empty. */
START_TEST(a_waiter_outlives_its_server)
{
    struct hf_acquire_options o = acquire_options(1);
    struct call call;

    open_client(LONG_MS);
    (void)lua_acquire(server, NAME, strlen(NAME), LUA_HOLDER, 60000);
    call_acquire(&call, lock, &o);
    await_subscribers(server, CHANNEL, 1);
    server_restart(server);
    ck_assert_status(call_await(&call), HF_OK);
    ck_assert_holder(server, lock, 1, 1);
    release(lock, 1);
}
END_TEST

/* Questions that ended at their deadline. */
static void await_given_up(uint64_t count)
{
    int64_t end_ms = local_now_ms() + AWAIT_MS;

    while (stats_of(client).link.given_up < count) {
        ck_assert_int_lt(local_now_ms(), end_ms);
        local_poll_rest();
    }
}

static void kill_server(void)
{
    server_kill(server);
}

static void pause_server(void)
{
    server_pause(server);
}

/* Who has begun to wait does so for ever, if it was told to: past any number of
 * request timeouts. */
static const struct {
    void (*away)(void);
    void (*back)(struct server *);
} absences[] = {{kill_server, server_restart}, {pause_server, server_resume}};

START_TEST(a_waiter_also_waits_for_its_server)
{
    struct hf_acquire_options o = acquire_options(1);
    struct call call;

    open_client(1000); /* a busy machine answers within that */
    (void)lua_acquire(server, NAME, strlen(NAME), LUA_HOLDER, 1500);
    call_acquire(&call, lock, &o);
    await_subscribers(server, CHANNEL, 1);
    absences[_i].away();
    await_given_up(2);
    ck_assert(!call_is_done(&call));
    absences[_i].back(server);
    ck_assert_status(call_await(&call), HF_OK);
    ck_assert_int_eq(call.error.status, HF_OK);
    ck_assert_holder(server, lock, 1, 1);
    release(lock, 1);
    ck_assert_str_eq(hash_of(server, NAME), "");
}
END_TEST

START_TEST(a_waiter_whose_server_stays_unreachable_fails_at_its_deadline)
{
    struct hf_acquire_options o = acquire_options(1);
    struct call call;

    open_client(SET_UP_MS);
    (void)lua_acquire(server, NAME, strlen(NAME), LUA_HOLDER, 60000);
    o.wait_ms = 6000; /* to ask more than once when the server is gone */
    call_acquire(&call, lock, &o);
    await_subscribers(server, CHANNEL, 1);
    server_kill(server);
    ck_assert_status(call_await(&call), HF_E_CONNECT);
    ck_assert_int_eq(call.error.status, HF_E_CONNECT);
    ck_assert_clear(&call.error, "refused");
}
END_TEST

/* Also where no question had the time to fail before the wait was over; and one
 * who stood behind, and asked nothing at all, is told the same. */
START_TEST(a_wait_that_ends_without_its_server_reports_it)
{
    struct hf_acquire_options o = acquire_options(1);
    struct call calls[2];

    open_client(LONG_MS);
    (void)lua_acquire(server, NAME, strlen(NAME), LUA_HOLDER, 60000);
    o.wait_ms = 4000;
    call_acquire(&calls[0], lock, &o);
    await_subscribers(server, CHANNEL, 1);
    o.owner = 2;
    o.wait_ms = 6000;
    call_acquire(&calls[1], lock, &o);
    server_kill(server);
    for (int i = 0; i < 2; i++) {
        hf_status rc = call_await(&calls[i]);

        ck_assert(rc == HF_E_CONNECT || rc == HF_E_NOREPLY);
        ck_assert_int_eq(calls[i].error.status, rc);
    }
}
END_TEST

/* PATIENCE-2: With its replicas gone a master refuses, until one is back. */
START_TEST(a_waiter_also_waits_for_replicas)
{
    struct hf_acquire_options o = acquire_options(1);
    struct call call;
    uint64_t refused;

    if (is_skipped(is_6, "NOREPLICAS"))
        return;
    open_client(LONG_MS);
    (void)lua_acquire(server, NAME, strlen(NAME), LUA_HOLDER, 3000);
    call_acquire(&call, lock, &o);
    await_subscribers(server, CHANNEL, 1);
    refused = stats_of(client).link.error_replies;
    (void)server_ask(server, "CONFIG SET min-replicas-to-write 1");
    while (stats_of(client).link.error_replies < refused + 2)
        local_poll_rest();
    ck_assert(!call_is_done(&call));
    (void)server_ask(server, "CONFIG SET min-replicas-to-write 0");
    ck_assert_status(call_await(&call), HF_OK);
    release(lock, 1);
}
END_TEST

/* What it said before somebody began to wait does not count. */
START_TEST(a_wait_that_begins_without_a_server_fails_at_once)
{
    struct hf_error err;

    open_client(SET_UP_MS);
    ck_assert_status(try_acquire(lock, 1, NULL), HF_OK);
    ck_assert_status(try_acquire(lock, 2, NULL), HF_TIMEOUT);
    release(lock, 1);
    acquire(lock, 1);
    release(lock, 1);
    server_kill(server);
    ck_assert_int_le(hf_lock_acquire(lock, NULL, &err), HF_E_CONNECT);
    ck_assert_clear(&err, "refused");
}
END_TEST

/* Though nobody has refused these two themselves, who stood behind another. */
START_TEST(queued_waiter_also_waits_for_its_server)
{
    struct hf_acquire_options first = acquire_options(1);
    struct hf_acquire_options o = acquire_options(2);
    struct call calls[3];

    open_client(SET_UP_MS);
    (void)lua_acquire(server, NAME, strlen(NAME), LUA_HOLDER, 60000);
    first.wait_ms = 1500;
    call_acquire(&calls[0], lock, &first);
    await_subscribers(server, CHANNEL, 1);
    call_acquire(&calls[1], lock, &o);
    o.owner = 3;
    call_acquire(&calls[2], lock, &o);
    server_kill(server);
    ck_assert_int_lt(call_await(calls), 0);
    await_given_up(2); /* one of the next one's requests at least */
    ck_assert(!call_is_done(calls + 1));
    ck_assert(!call_is_done(calls + 2));
    server_restart(server);
    ck_assert_status(call_await(calls + 1), HF_OK);
    release(lock, 2);
    ck_assert_status(call_await(calls + 2), HF_OK);
    release(lock, 3);
    ck_assert_str_eq(hash_of(server, NAME), "");
}
END_TEST

/* A script that does not end, and a connection that does: BUSY is the answer to
 * the handshake of the next one. */
START_TEST(a_waiter_also_waits_for_a_busy_server)
{
    struct proxy *proxy = proxy_start(server_port(server));
    struct hf_acquire_options o = acquire_options(1);
    redisContext *script;
    struct call call;

    client = client_timed(proxy_port(proxy), 900, SET_UP_MS);
    lock = lock_of(client, NAME);
    (void)lua_acquire(server, NAME, strlen(NAME), LUA_HOLDER, 60000);
    call_acquire(&call, lock, &o);
    await_subscribers(server, CHANNEL, 1);
    keep_busy(&script);
    proxy_cut(proxy, PROXY_CLOSE);
    await_given_up(2);
    ck_assert(!call_is_done(&call));
    kill_script();
    redisFree(script);
    server_await(server, AWAIT_MS, "PONG", "PING");
    ck_assert_str_eq(lua_force_release(server, NAME, strlen(NAME)), "1");
    ck_assert_status(call_await(&call), HF_OK);
    release(lock, 1);
    proxy_stop(proxy);
}
END_TEST

/* That it does not let us in any more will not pass; nor for those behind. */
START_TEST(a_queue_whose_login_is_refused_fails_at_once)
{
    struct hf_acquire_options o = acquire_options(1);
    struct call calls[100];

    open_client(LONG_MS);
    (void)lua_acquire(server, NAME, strlen(NAME), LUA_HOLDER, 60000);
    for (int i = 0; i < COUNT(calls); i++, o.owner++)
        call_acquire(&calls[i], lock, &o);
    await_subscribers(server, CHANNEL, 1);
    (void)server_ask(server, "CONFIG SET requirepass x");
    server_kill_connections(server);
    for (int i = 0; i < COUNT(calls); i++) {
        ck_assert_status(call_await(&calls[i]), HF_E_AUTH);
        ck_assert_clear(&calls[i].error, "NOAUTH");
    }
    ck_assert_uint_lt(stats_of(client).link.failures, COUNT(calls) / 2);
}
END_TEST

START_TEST(a_full_server_reports_it)
{
    struct hf_error err;

    client = client_timed(server_port(server), 900, SET_UP_MS);
    lock = lock_of(client, NAME);
    (void)server_ask(server, "CONFIG SET maxclients 1");
    ck_assert_int_lt(hf_lock_acquire(lock, NULL, &err), 0);
    ck_assert_clear(&err, "max number of clients");
}
END_TEST

/* A cluster's node sends us elsewhere: not a thing that this client can do. */
static const struct peer_step moved[] = {
    PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("EVALSHA ..."),
    PEER_SEND("-MOVED 3999 127.0.0.1:6381\r\n"), PEER_END};

START_TEST(a_redirection_is_shown_with_advice)
{
    struct peer *peer = peer_start(moved);
    struct hf_error err;

    client = client_to(peer_port(peer));
    lock = lock_of(client, NAME);
    ck_assert_status(hf_lock_acquire(lock, NULL, &err), HF_E_SERVER);
    ck_assert_ptr_nonnull(strstr(err.text, "MOVED 3999 127.0.0.1:6381"));
    ck_assert_ptr_nonnull(strstr(err.text, "cluster"));
    ck_assert_pstr_eq(peer_finish(peer), NULL);
    peer_free(peer);
}
END_TEST

static void add_cases(Suite *s)
{
    TCase *c = live_case(s, "nobody there", start, stop);

    tcase_add_test(c, a_server_that_is_not_there_is_named_in_time);
    tcase_add_loop_test(c, a_server_that_is_not_there_fails_a_connect, 0, 2);
    tcase_add_test(c, a_server_that_comes_in_time_is_not_missed);
    tcase_add_test(c, a_silent_server_sends_no_reply_in_time);
    tcase_add_test(c, a_waiter_outlives_its_server);
    tcase_add_loop_test(c, a_waiter_also_waits_for_its_server, 0,
                        COUNT(absences));
    tcase_add_test(
        c, a_waiter_whose_server_stays_unreachable_fails_at_its_deadline);
    tcase_add_test(c, a_wait_that_ends_without_its_server_reports_it);
    tcase_add_test(c, a_waiter_also_waits_for_replicas);
    tcase_add_test(
        c, a_wait_that_begins_without_a_server_fails_at_once);
    tcase_add_test(c, queued_waiter_also_waits_for_its_server);
    tcase_add_test(c, a_waiter_also_waits_for_a_busy_server);
    tcase_add_test(c, a_queue_whose_login_is_refused_fails_at_once);
    tcase_add_test(c, a_full_server_reports_it);
    tcase_add_test(c, a_redirection_is_shown_with_advice);
}

int main(void)
{
    return refused_main("lock, absent servers", add_cases);
}
