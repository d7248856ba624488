/* Subscriptions on top of a link: they live again after each loss, whatever
 * protocol the server speaks, and whichever allocation fails.
 * Source: RESP-CONFORMANCE, rules V. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/link/pubsub.h"
#include "tests/support/link_kit.h"
#include "tests/support/proxy.h"
#include "tests/support/server.h"
#include "tests/support/suite.h"

struct ear {
    struct hf_subscription s;
    char trace[256];                  /* + live, - lost, and the messages */
};
static struct ear ears[100];

static void on_message(struct hf_subscription *s, const char *ptr, size_t len)
{
    struct ear *ear = HF_OWNER_OF(s, struct ear, s);
    char text[32];

    (void)snprintf(text, sizeof text, "%.*s", (int)len, ptr);
    append(ear->trace, sizeof ear->trace, text);
}

static void on_ear_change(struct hf_subscription *s, bool is_live)
{
    struct ear *ear = HF_OWNER_OF(s, struct ear, s);

    append(ear->trace, sizeof ear->trace, is_live ? "+" : "-");
}

/* [locked] */
static hf_status listen_as(struct ear *ear, const char *channel,
                           bool is_sharded)
{
    memset(ear, 0, sizeof *ear);
    ear->s.is_sharded = is_sharded;
    ear->s.channel = channel;
    ear->s.channel_len = strlen(channel);
    ear->s.on_message = on_message;
    ear->s.on_change = on_ear_change;
    return hf_pubsub_add(pubsub, &ear->s);
}

/* [locked] */
static hf_status listen_to(struct ear *ear, const char *channel)
{
    return listen_as(ear, channel, false);
}

static void start_listening(struct ear *ear, const char *channel)
{
    lock();
    ck_assert_int_eq(listen_to(ear, channel), HF_OK);
    unlock();
}

static void stop_listening(struct ear *ear)
{
    lock();
    hf_pubsub_drop(&ear->s);
    unlock();
}

/* Drives until the ear's trace is this one. */
static void await_trace(struct ear *ear, const char *expected)
{
    int64_t end_ms = local_now_ms() + LONG_MS;

    while (strcmp(ear->trace, expected) != 0) {
        if (local_now_ms() > end_ms)
            ck_abort_msg("it hears '%s', not '%s'", ear->trace, expected);
        hf_loop_dispatch(loop, 5);
    }
}

/* Servers with RESP3, with RESP2 asked for, and with no HELLO at all. */
static const char *const no_hello[] = {"--rename-command", "HELLO", "", NULL};
static const struct {
    const char *const *args;
    int protocol;
} worlds[] = {{NULL, 3}, {NULL, 2}, {no_hello, 3}};

static void open_world(int i)
{
    start_server_with(worlds[i].args);
    prepare(server_port(server));
    options.protocol = worlds[i].protocol;
    open_prepared();
    open_pubsub();
}

static void close_world(void)
{
    close_link();
    stop_server();
}

/* Begun before the first connection, or after. */
START_TEST(subscription_lives_again_after_each_loss)
{
    struct ear *ear = &ears[0];

    open_world(_i / 2);
    if (_i % 2)
        ck_assert_str_eq(ask("PING"), "PONG");
    start_listening(ear, "ch");
    for (int i = 0; i < 5; i++) {
        await_trace(ear, "+");
        ck_assert_str_eq(server_ask(server, "PUBLISH ch hello"), "1");
        await_trace(ear, "+hello");
        server_kill_connections(server);
        await_trace(ear, "+hello-");
        ear->trace[0] = '\0';
    }
    await_trace(ear, "+");
    stop_listening(ear);
    ck_assert_str_eq(ask("ECHO a"), "a");
    while (strcmp(server_ask(server, "PUBLISH ch x"), "0") != 0)
        hf_loop_dispatch(loop, 1);
    ck_assert_str_eq(ear->trace, "+");
    ck_assert_str_eq(ask("ECHO b"), "b");
    close_world();
}
END_TEST

START_TEST(each_channel_has_its_own_listeners)
{
    enum { COUNT = sizeof ears / sizeof *ears };
    static char names[COUNT][8];

    open_world(_i);
    for (int i = 0; i < COUNT; i++) {
        (void)sprintf(names[i], "ch%d", i);
        start_listening(&ears[i], names[i]);
    }
    for (int i = 0; i < COUNT; i++)
        await_trace(&ears[i], "+");
    server_kill_connections(server);
    for (int i = 0; i < COUNT; i++)
        await_trace(&ears[i], "+-+");
    for (int i = 0; i < COUNT; i++)
        ck_assert_str_eq(server_ask(server, "PUBLISH ch%d %d", i, i), "1");
    for (int i = 0; i < COUNT; i++) {
        char trace[16];

        (void)sprintf(trace, "+-+%d", i);
        await_trace(&ears[i], trace);
        stop_listening(&ears[i]);
    }
    ck_assert_str_eq(ask("ECHO a"), "a");
    close_world();
}
END_TEST

/* PUBSUB-2: SUBSCRIBE, UNSUBSCRIBE, SUBSCRIBE on their way at once. */
START_TEST(channel_may_be_left_and_taken_again_at_once)
{
    open_world(_i);
    ck_assert_str_eq(ask("PING"), "PONG");
    start_listening(&ears[0], "ch");
    for (int i = 0; i < 20; i++) {
        lock();
        hf_pubsub_drop(&ears[0].s);
        ck_assert_int_eq(listen_to(&ears[0], "ch"), HF_OK);
        unlock();
        if (i % 3 == 0)
            hf_loop_dispatch(loop, 0);
    }
    await_trace(&ears[0], "+");
    ck_assert_str_eq(ask("ECHO a"), "a");
    ck_assert_str_eq(server_ask(server, "PUBLISH ch hello"), "1");
    await_trace(&ears[0], "+hello");
    stop_listening(&ears[0]);
    close_world();
}
END_TEST

static struct ear *ear_awaited;
static int protocol_awaited;

static bool ear_lives(void)
{
    bool it_does;

    lock();
    it_does = ear_awaited->s.is_live &&
              hf_link_protocol(link_) == protocol_awaited;
    unlock();
    return it_does;
}

/* It hears a message once, and whoever asks is answered. */
static void check_ear(struct ear *ear, int protocol)
{
    ear_awaited = ear;
    protocol_awaited = protocol;
    drive_until(ear_lives);
    ck_assert_str_eq(ask("ECHO a"), "a");
    ear->trace[0] = '\0';
    ck_assert_str_eq(server_ask(server, "PUBLISH %s hello", ear->s.channel),
                     "1");
    await_trace(ear, "hello");
}

/* PUBSUB-1: Two servers take turns at one port: one with HELLO, one without. */
START_TEST(subscription_survives_a_change_of_protocol)
{
    char port[16];
    const char *const args[] = {"--port", port, "--rename-command",
                                "HELLO",  "",   NULL};
    struct server *old;

    open_world(0);
    (void)snprintf(port, sizeof port, "%d", server_port(server));
    start_listening(&ears[0], "ch");
    for (int i = 0; i < 2; i++) {
        check_ear(&ears[0], 3);
        server_kill(server);
        old = server;
        server = server_start(args);
        check_ear(&ears[0], 2);
        stop_server();
        server = old;
        drive_until(is_down);
        start_listening(&ears[1], "other"); /* in RESP2, as things stand */
        server_restart(server);
        check_ear(&ears[0], 3);
        check_ear(&ears[1], 3);
        stop_listening(&ears[1]);
    }
    stop_listening(&ears[0]);
    close_world();
}
END_TEST

/* On a server without HELLO, while the main link is about to find that out
 * again: a SUBSCRIBE must not get onto a connection that would do nothing else
 * from then on. */
START_TEST(subscription_begun_while_handshake_finds_its_own_link)
{
    struct proxy *proxy;
    uint64_t passed;

    start_server_with(no_hello);
    proxy = proxy_start(server_port(server));
    prepare(proxy_port(proxy));
    open_prepared();
    open_pubsub();
    if (_i)
        ck_assert_str_eq(ask("ECHO a"), "a");
    want(true);
    proxy_hold(proxy, PROXY_TO_CLIENT, true);
    passed = proxy_count(proxy, PROXY_TO_SERVER, PROXY_PASSED);
    server_kill_connections(server);
    if (_i) {
        proxy_cut(proxy, PROXY_CLOSE);
        drive_until(is_down);
    }
    while (proxy_count(proxy, PROXY_TO_SERVER, PROXY_PASSED) == passed)
        hf_loop_dispatch(loop, 1);
    start_listening(&ears[0], "ch");
    proxy_hold(proxy, PROXY_TO_CLIENT, false);
    ck_assert_str_eq(ask("ECHO b"), "b");
    await_trace(&ears[0], "+");
    ck_assert_str_eq(ask("ECHO c"), "c");
    stop_listening(&ears[0]);
    close_link();
    proxy_stop(proxy);
    stop_server();
}
END_TEST

/* The same in the other direction: it spoke RESP3, and is about to speak RESP2,
 * for which there is no link yet. */
START_TEST(subscription_dropped_during_the_handshake_is_removed)
{
    static const struct peer_step script[] = {
        PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("SUBSCRIBE ch"),
        PEER_SEND(">3\r\n+subscribe\r\n+ch\r\n:1\r\n"), PEER_CLOSE,
        PEER_ACCEPT, PEER_EXPECT("HELLO 3"), PEER_SEND("-NOPROTO sorry\r\n"),
        PEER_HANDSHAKE, PEER_EXPECT("CLIENT ID"), PEER_WAIT, PEER_SEND(":2\r\n"), PEER_HANDSHAKE,
        PEER_EXPECT("ECHO a"), PEER_SEND("+a\r\n"), PEER_END};
    struct peer *peer = peer_start(script);
    struct ask a;

    open_link(peer_port(peer));
    open_pubsub();
    start_listening(&ears[0], "ch");
    await_trace(&ears[0], "+-");
    start(&a, "ECHO a", LONG_MS);
    drive_until_received(peer, 3);
    stop_listening(&ears[0]);
    peer_go(peer);
    ck_assert_str_eq(answer(&a), "a");
    end_with_peer(peer);
}
END_TEST

#define CONFIRMED ">3\r\n+subscribe\r\n+ch\r\n:1\r\n"
#define CONFIRMED2 "*3\r\n$9\r\nsubscribe\r\n$2\r\nch\r\n:1\r\n"

/* PUBSUB-3. No room for it on a connection that is up, and behind what was queued
 * while there was none. */
START_TEST(subscription_waits_for_room)
{
    static const struct peer_step script[] = {
        PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("ECHO a"), PEER_EXPECT("ECHO b"),
        PEER_WAIT, PEER_SEND("+a\r\n+b\r\n"), PEER_EXPECT("SUBSCRIBE ch"),
        PEER_SEND(CONFIRMED), PEER_WAIT, PEER_CLOSE,
        PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("ECHO c"), PEER_EXPECT("ECHO d"),
        PEER_SEND("+c\r\n+d\r\n"), PEER_EXPECT("SUBSCRIBE ch"),
        PEER_SEND(CONFIRMED), PEER_END};
    struct peer *peer = peer_start(script);
    struct ask a, b, c, d;

    prepare(peer_port(peer));
    options.requests_max = 2;
    open_prepared();
    open_pubsub();
    start(&a, "ECHO a", LONG_MS);
    start(&b, "ECHO b", LONG_MS);
    drive_until_received(peer, 2);
    start_listening(&ears[0], "ch");
    peer_go(peer);
    await_trace(&ears[0], "+");
    peer_go(peer);
    drive_until(is_down);
    start(&c, "ECHO c", LONG_MS);
    start(&d, "ECHO d", LONG_MS);
    await_trace(&ears[0], "+-+");
    stop_listening(&ears[0]);
    end_with_peer(peer);
}
END_TEST

/* PUBSUB-3. A server that runs a script refuses SUBSCRIBE, too; and one may end what
 * it has confirmed. */
START_TEST(subscription_that_is_refused_or_ended_is_retried)
{
    static const struct peer_step script[] = {
        PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("SUBSCRIBE ch"),
        PEER_SEND("-BUSY a script is running\r\n"),
        PEER_EXPECT("SUBSCRIBE ch"), PEER_SEND(CONFIRMED),
        PEER_SEND(">3\r\n+sunsubscribe\r\n+ch\r\n:0\r\n"),
        PEER_SEND(">3\r\n+unsubscribe\r\n+ch\r\n:0\r\n"),
        PEER_EXPECT("SUBSCRIBE ch"), PEER_SEND(CONFIRMED), PEER_END};
    struct peer *peer = peer_start(script);

    open_link(peer_port(peer));
    open_pubsub();
    start_listening(&ears[0], "ch");
    await_trace(&ears[0], "-+-+");
    stop_listening(&ears[0]);
    end_with_peer(peer);
}
END_TEST

/* PUBSUB-3. Whatever there was no memory for when it began. */
START_TEST(subscription_lives_though_an_allocation_failed)
{
    open_world(_i % 3);
    ck_assert_str_eq(ask("PING"), "PONG");
    memory_fail_at(&memory, (uint64_t)(1 + _i / 3));
    start_listening(&ears[0], "ch");
    await_trace(&ears[0], "+");
    ck_assert_str_eq(server_ask(server, "PUBLISH ch hello"), "1");
    await_trace(&ears[0], "+hello");
    memory_fail_at(&memory, 0);
    stop_listening(&ears[0]);
    close_world();
}
END_TEST

/* PUBSUB-4: nothing is in flight, and the peer is gone, as a proxy hides it. */
START_TEST(silent_peer_loses_its_subscriber)
{
    static const struct peer_step resp3[] = {
        PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("SUBSCRIBE ch"),
        PEER_SEND(CONFIRMED), PEER_EXPECT("PING"), PEER_SEND("+PONG\r\n"),
        PEER_EXPECT("PING"), PEER_GONE,
        PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("SUBSCRIBE ch"),
        PEER_SEND(CONFIRMED), PEER_END};
    static const struct peer_step resp2[] = {
        PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("ECHO a"), PEER_SEND("+a\r\n"),
        PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("SUBSCRIBE ch"),
        PEER_SEND(CONFIRMED2), PEER_EXPECT("PING"),
        PEER_SEND("*2\r\n$4\r\npong\r\n$0\r\n\r\n"), PEER_EXPECT("PING"),
        PEER_GONE,
        PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("SUBSCRIBE ch"),
        PEER_SEND(CONFIRMED2), PEER_END};
    struct peer *peer = peer_start(_i ? resp2 : resp3);

    prepare(peer_port(peer));
    options.protocol = _i ? 2 : 3;
    options.listen_ms = 20;
    options.silence_ms = 1000;
    open_prepared();
    open_pubsub();
    if (_i)
        ck_assert_str_eq(ask("ECHO a"), "a");
    start_listening(&ears[0], "ch");
    await_trace(&ears[0], "+-+");
    stop_listening(&ears[0]);
    end_with_peer(peer);
}
END_TEST

/* How often the server has been asked PING. */
static int pings(void)
{
    const char *stats = server_ask(server, "INFO commandstats");
    const char *at = strstr(stats, "cmdstat_ping:calls=");

    return at ? atoi(at + strlen("cmdstat_ping:calls=")) : 0;
}

/* P4, as servers answer it; and no more once nobody listens. */
START_TEST(idle_subscriber_receives_a_ping)
{
    int64_t end_ms = local_now_ms() + LONG_MS;
    int so_far;

    start_server_with(worlds[_i].args);
    prepare(server_port(server));
    options.protocol = worlds[_i].protocol;
    options.listen_ms = 20;
    open_prepared();
    open_pubsub();
    ck_assert_str_eq(ask("ECHO a"), "a");
    start_listening(&ears[0], "ch");
    while (pings() < 3) {
        ck_must(local_now_ms() < end_ms, "an idle subscriber is asked");
        hf_loop_dispatch(loop, 5);
    }
    ck_assert_str_eq(server_ask(server, "PUBLISH ch hello"), "1");
    await_trace(&ears[0], "+hello");
    stop_listening(&ears[0]);
    while (strcmp(server_ask(server, "PUBLISH ch x"), "0") != 0)
        hf_loop_dispatch(loop, 1);
    ck_assert_str_eq(ask("ECHO b"), "b");
    so_far = pings();
    for (int i = 0; i < 10; i++)
        hf_loop_dispatch(loop, 10);
    ck_assert_int_eq(pings(), so_far);
    close_world();
}
END_TEST

START_TEST(refused_subscription_is_reported)
{
    open_world(_i);
    ck_assert_str_eq(ask("PING"), "PONG");
    (void)server_ask(server, "ACL SETUSER default resetchannels");
    start_listening(&ears[0], "ch");
    await_trace(&ears[0], "-");
    ck_assert_str_eq(ask("ECHO a"), "a");
    stop_listening(&ears[0]);
    close_world();
}
END_TEST

static void open_world_for_small_replies(int i)
{
    start_server_with(worlds[i].args);
    prepare(server_port(server));
    (void)server_ask(server, "EVAL %s 0",
                     "redis.call('set', 'large', ('x'):rep(20000000)) "
                     "for i = 1, 9000 do redis.call('rpush', 'list', i) end");
    options.protocol = worlds[i].protocol;
    options.reply_max = 4000;
    open_prepared();
    open_pubsub();
}

static void ck_assert_no_losses(void)
{
    struct hf_link_stats stats;

    lock();
    hf_link_get_stats(link_, &stats);
    unlock();
    ck_assert_uint_eq(stats.losses, 0);
}

/* No message is lost without a word: each subscription of the connection is told
 * that one may be, and the connection stays. */
START_TEST(message_that_is_too_large_is_reported_as_a_loss)
{
    open_world_for_small_replies(_i);
    start_listening(&ears[0], "ch");
    start_listening(&ears[1], "other");
    await_trace(&ears[0], "+");
    await_trace(&ears[1], "+");
    for (int i = 0; i < 2; i++)
        (void)server_ask(server, "EVAL %s 0",
                         "return redis.call('publish', 'ch', ('x'):rep(100000))");
    (void)server_ask(server, "PUBLISH ch hello");
    await_trace(&ears[0], "+++hello");
    await_trace(&ears[1], "+++");
    ck_assert_str_eq(ask("ECHO a"), "a");
    ck_assert_no_losses();
    stop_listening(&ears[0]);
    stop_listening(&ears[1]);
    close_world();
}
END_TEST

/* Requests in front of it and behind it are answered, over one connection. */
START_TEST(reply_that_is_too_large_fails_its_own_request_alone)
{
    open_world_for_small_replies(_i);
    for (int i = 0; i < 3; i++) {
        ck_assert_str_eq(ask("ECHO a"), "a");
        ck_assert_ptr_nonnull(strstr(ask("GET large"), "too large"));
        ck_assert_ptr_nonnull(strstr(ask("LRANGE list 0 -1"), "too large"));
    }
    ck_assert_str_eq(ask("ECHO b"), "b");
    ck_assert_no_losses();
    close_world();
}
END_TEST

static struct ear *dropped_with;      /* by the first that hears of a loss */

/* As a lock's whose last waiter leaves: both of its subscriptions go. */
static void drop_both(struct hf_subscription *s, bool is_live)
{
    struct ear *ear = HF_OWNER_OF(s, struct ear, s);

    on_ear_change(s, is_live);
    if (is_live)
        return;
    ck_must(dropped_with != NULL, "what was dropped is told nothing");
    hf_pubsub_drop(&dropped_with->s);
    hf_pubsub_drop(&ear->s);
    dropped_with = NULL;
}

/* A channel and its sharded namesake: whichever hears first that the connection
 * is lost. */
START_TEST(subscription_may_be_dropped_by_another_that_is_notified_of_a_loss)
{
    open_world(_i / 2);
    ck_assert_str_eq(ask("PING"), "PONG");
    for (int i = 0; i < 2; i++) {
        lock();
        ck_assert_int_eq(listen_as(&ears[i], "ch", i == _i % 2), HF_OK);
        ears[i].s.on_change = drop_both;
        unlock();
        await_trace(&ears[i], "+");
    }
    dropped_with = &ears[1];
    server_kill_connections(server);
    await_trace(&ears[0], "+-");
    ck_assert_str_eq(ask("ECHO a"), "a");
    ck_assert_str_eq(ears[1].trace, "+");
    close_world();
}
END_TEST

/* ---- several subscriptions for one channel ---- */

static void await_listeners(int count)
{
    char expected[2] = {(char)('0' + count), '\0'};
    int64_t end_ms = local_now_ms() + LONG_MS;

    while (strcmp(server_ask(server, "PUBLISH ch x"), expected) != 0) {
        ck_assert_int_lt(local_now_ms(), end_ms);
        hf_loop_dispatch(loop, 1);
    }
}

/* PUBSUB-5: Either may be dropped first. */
START_TEST(channel_is_left_with_its_last_subscription)
{
    struct ear *first = &ears[_i % 2], *last = &ears[1 - _i % 2];

    open_world(_i / 2);
    ck_assert_str_eq(ask("PING"), "PONG");
    start_listening(&ears[0], "ch");
    start_listening(&ears[1], "ch");
    await_trace(&ears[0], "+");
    await_trace(&ears[1], "+");
    ck_assert_str_eq(server_ask(server, "PUBLISH ch both"), "1");
    await_trace(&ears[0], "+both");
    await_trace(&ears[1], "+both");
    stop_listening(first);
    ck_assert_str_eq(ask("ECHO a"), "a");
    ck_assert_str_eq(server_ask(server, "PUBLISH ch one"), "1");
    await_trace(last, "+bothone");
    ck_assert_str_eq(first->trace, "+both");
    server_kill_connections(server);
    await_trace(last, "+bothone-+");
    ck_assert_str_eq(server_ask(server, "PUBLISH ch again"), "1");
    await_trace(last, "+bothone-+again");
    stop_listening(last);
    await_listeners(0);
    close_world();
}
END_TEST

/* PUBSUB-5: Whether its own SUBSCRIBE was sent, or only that of one that was dropped. */
START_TEST(channel_is_left_though_the_last_subscription_was_never_sent)
{
    open_world(_i);
    ck_assert_str_eq(ask("PING"), "PONG");
    start_listening(&ears[0], "ch");
    await_trace(&ears[0], "+");
    lock();
    ck_assert_int_eq(listen_to(&ears[1], "ch"), HF_OK);
    hf_pubsub_drop(&ears[0].s);
    hf_pubsub_drop(&ears[1].s);
    unlock();
    await_listeners(0);
    ck_assert_str_eq(ask("ECHO a"), "a");
    close_world();
}
END_TEST

/* The first is dropped while the SUBSCRIBE of both, or of one, is under way. */
START_TEST(channel_is_kept_for_one_that_came_while_another_was_dropped)
{
    open_world(_i / 3);
    ck_assert_str_eq(ask("PING"), "PONG");
    lock();
    ck_assert_int_eq(listen_to(&ears[0], "ch"), HF_OK);
    unlock();
    if (_i % 3 == 0)
        await_trace(&ears[0], "+");
    lock();
    if (_i % 3 == 2)
        hf_pubsub_drop(&ears[0].s);
    ck_assert_int_eq(listen_to(&ears[1], "ch"), HF_OK);
    if (_i % 3 < 2)
        hf_pubsub_drop(&ears[0].s);
    unlock();
    await_trace(&ears[1], "+");
    ck_assert_str_eq(ask("ECHO a"), "a");
    ck_assert_str_eq(server_ask(server, "PUBLISH ch x"), "1");
    await_trace(&ears[1], "+x");
    stop_listening(&ears[1]);
    await_listeners(0);
    close_world();
}
END_TEST

/* What a message's callback does: drops itself, another, or both, or takes the
 * channel again. */
enum { DROPS_ITSELF, DROPS_OTHER, DROPS_BOTH, RETURNS, DEEDS };
static int deed;
static bool is_dropped[2];

static void drop_ear(int i)
{
    if (!is_dropped[i])
        hf_pubsub_drop(&ears[i].s);
    is_dropped[i] = true;
}

static void act_on_message(struct hf_subscription *s, const char *ptr,
                           size_t len)
{
    int i = (int)(HF_OWNER_OF(s, struct ear, s) - ears);

    on_message(s, ptr, len);
    if (deed != DROPS_OTHER)
        drop_ear(i);
    if (deed == DROPS_OTHER || deed == DROPS_BOTH)
        drop_ear(1 - i);
    if (deed != RETURNS)
        return;
    is_dropped[i] = false;
    ck_assert_int_eq(hf_pubsub_add(pubsub, s), HF_OK);
}

static int times_heard(const char *word)
{
    return !!strstr(ears[0].trace, word) + !!strstr(ears[1].trace, word);
}

START_TEST(callback_of_a_message_may_drop_and_add_subscriptions)
{
    static const int heard[DEEDS] = {2, 1, 1, 2};

    deed = _i % DEEDS;
    open_world(_i / DEEDS);
    for (int i = 0; i < 2; i++) {
        is_dropped[i] = false;
        start_listening(&ears[i], "ch");
        ears[i].s.on_message = act_on_message;
        await_trace(&ears[i], "+");
    }
    ck_assert_str_eq(server_ask(server, "PUBLISH ch x"), "1");
    while (times_heard("x") < heard[deed])
        hf_loop_dispatch(loop, 5);
    ck_assert_str_eq(ask("ECHO a"), "a");
    ck_assert_int_eq(times_heard("x"), heard[deed]);
    ck_assert_int_eq(times_heard("xx"), 0);
    lock();
    drop_ear(0);
    drop_ear(1);
    unlock();
    await_listeners(0);
    close_world();
}
END_TEST

/* ---- memory ---- */

/* Asks until there is an answer; an allocation may fail, once. */
static void ask_patiently(const char *words, const char *expected)
{
    for (int i = 0; i < 5; i++) {
        static struct ask a;
        hf_status rc;

        lock();
        rc = submit(&a, words, LONG_MS);
        unlock();
        ck_must(rc == HF_OK || rc == HF_E_NOMEM, "without memory, an error");
        if (rc == HF_OK && answer(&a)[0] != '(') {
            ck_assert_str_eq(a.text, expected);
            return;
        }
        if (rc == HF_OK && expected[0] == '(' && strcmp(a.text, expected) == 0)
            return;
    }
    ck_abort_msg("no answer to %s", words);
}

/* Connects, asks, subscribes, loses the connection, does it all again. */
static void live_a_life(void)
{
    hf_status rc;

    lock();
    rc = hf_pubsub_new(&pubsub, loop, link_);
    if (rc < 0)
        rc = hf_pubsub_new(&pubsub, loop, link_);
    ck_assert_int_eq(rc, HF_OK);
    rc = listen_to(&ears[0], "ch");
    unlock();
    ck_assert(rc == HF_OK || rc == HF_E_NOMEM);
    ask_patiently("ECHO one", "one");
    ask_patiently("LRANGE list 0 -1", "(3000 elements)");
    server_kill_connections(server);
    ask_patiently("ECHO two", "two");
    ask_patiently("LRANGE list 0 -1", "(3000 elements)");
    lock();
    if (rc == HF_OK)
        hf_pubsub_drop(&ears[0].s);
    unlock();
    ask_patiently("ECHO three", "three");
}

/* True: the allocation failed. */
static bool live_with_failure_at(uint64_t n)
{
    struct hf_loop_options of_loop = {.size = sizeof of_loop, .mem = &memory.hook};
    bool has_failed;
    hf_status rc;

    memory_init(&memory);
    memory_fail_at(&memory, n);
    rc = hf_loop_new(&loop, &of_loop);
    if (rc == HF_OK) {
        lock();
        link_ = NULL;
        rc = hf_link_new(&link_, loop, &options);
        unlock();
        ck_assert_int_eq(rc == HF_OK, link_ != NULL);
        if (rc == HF_OK)
            live_a_life();
        has_failed = memory_has_failed(&memory);
        free_link();
    } else {
        has_failed = true;
    }
    ck_assert(rc == HF_OK || rc == HF_E_NOMEM);
    ck_assert_pstr_eq(memory_fini(&memory), NULL);
    return has_failed;
}

START_TEST(any_allocation_may_fail)
{
    int descriptors;
    uint64_t n = 1;

    start_server_with(worlds[_i].args);
    for (int i = 0; i < 300; i++)
        (void)server_ask(server, "RPUSH list a b c d e f g h i j");
    prepare(server_port(server));
    options.protocol = worlds[_i].protocol;
    descriptors = count_descriptors();
    while (live_with_failure_at(n)) {
        n++;
        ck_assert_int_eq(count_descriptors(), descriptors);
    }
    ck_assert_uint_gt(n, 12);
    stop_server();
}
END_TEST

static TCase *case_subscriptions(void)
{
    TCase *c = tcase_create("subscriptions");

    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, subscription_lives_again_after_each_loss, 0,
                        2 * ROWS(worlds));
    tcase_add_loop_test(c, each_channel_has_its_own_listeners, 0, ROWS(worlds));
    tcase_add_loop_test(c, channel_may_be_left_and_taken_again_at_once, 0,
                        ROWS(worlds));
    tcase_add_test(c, subscription_survives_a_change_of_protocol);
    tcase_add_loop_test(c, subscription_begun_while_handshake_finds_its_own_link,
                        0, 2);
    tcase_add_test(c, subscription_waits_for_room);
    tcase_add_test(c, subscription_that_is_refused_or_ended_is_retried);
    tcase_add_loop_test(c, subscription_lives_though_an_allocation_failed, 0,
                        12);
    tcase_add_loop_test(c, silent_peer_loses_its_subscriber, 0, 2);
    tcase_add_loop_test(c, idle_subscriber_receives_a_ping, 0,
                        ROWS(worlds));
    tcase_add_loop_test(c, refused_subscription_is_reported, 0,
                        ROWS(worlds));
    tcase_add_loop_test(c, message_that_is_too_large_is_reported_as_a_loss, 0,
                        ROWS(worlds));
    tcase_add_loop_test(c, reply_that_is_too_large_fails_its_own_request_alone, 0,
                        ROWS(worlds));
    tcase_add_loop_test(
        c, subscription_may_be_dropped_by_another_that_is_notified_of_a_loss, 0, 4);
    tcase_add_loop_test(c, channel_is_left_with_its_last_subscription, 0,
                        2 * ROWS(worlds));
    tcase_add_loop_test(
        c, channel_is_left_though_the_last_subscription_was_never_sent, 0,
        ROWS(worlds));
    tcase_add_loop_test(
        c, channel_is_kept_for_one_that_came_while_another_was_dropped, 0,
        3 * ROWS(worlds));
    tcase_add_loop_test(c, callback_of_a_message_may_drop_and_add_subscriptions,
                        0, DEEDS * ROWS(worlds));
    tcase_add_loop_test(c, any_allocation_may_fail, 0, ROWS(worlds));
    return c;
}

static TCase *case_scripted(void)
{
    TCase *c = tcase_create("a scripted peer");

    tcase_set_timeout(c, 60);
    tcase_add_test(c, subscription_dropped_during_the_handshake_is_removed);
    return c;
}

int main(void)
{
    Suite *s = suite_create("net/pubsub");

    suite_add_tcase(s, case_scripted());
    if (server_is_installed())
        suite_add_tcase(s, case_subscriptions());
    else
        (void)puts("skipped: all tests with a real server (none installed)");
    return suite_run(s);
}
