/* Connections that are dead without a sign: a rival is opened beside a silent one
 * (LINK-8) or a silent attempt (LINK-10), an idle one is probed (LINK-9), and the next
 * handshake is as good as the first (LINK-6). */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/link_kit.h"
#include "tests/support/suite.h"

#define SUSPECT_MS 400            /* the handshake of a busy peer is shorter */
#define IDLE_MS 1000              /* and so is the time from there to the first request */
#define SILENCE_MS 20000          /* longer than a test */

static void open_unconnected(struct peer *peer)
{
    prepare(peer_port(peer));
    options.suspect_ms = SUSPECT_MS;
    options.silence_ms = SILENCE_MS;
    open_prepared();
}

/* No request waits for the connection, so a slow handshake opens no rival. */
static void connect_first(void)
{
    want(true);
    drive_until(is_up);
    want(false);
}

static void open_suspicious(struct peer *peer)
{
    open_unconnected(peer);
    connect_first();
}

/* ---- rivals ---- */

/* The second request is queued when the first one is in flight, and is sent over the new
 * connection. The new connection keeps the stream: the old one was killed. */
START_TEST(silent_connection_loses_to_a_rival)
{
    static const struct peer_step script[] = {
        PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("ECHO a"),
        PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("ECHO b"), PEER_SEND("+b\r\n"),
        PEER_TURN_TO(1), PEER_GONE, PEER_END};
    struct peer *peer = peer_start(script);
    struct ask a, b;

    open_suspicious(peer);
    start(&a, "ECHO a", -1);
    drive_until_received(peer, 1);
    ck_assert_str_eq(answer(&a), "(unknown)");
    ck_assert_int_eq(error_now().status, HF_OK);
    start(&b, "ECHO b", LONG_MS);
    ck_assert_str_eq(answer(&b), "b");
    ck_assert_uint_eq(a.request.stream, b.request.stream);
    ck_assert_str_eq(changes, "+-+");
    ck_assert_uint_eq(stats_now().connects, 2);
    ck_assert_uint_eq(stats_now().losses, 1);
    end_with_peer(peer);
}
END_TEST

/* The rival connects, and the server replies over the first connection before the handshake
 * of the rival ends. */
START_TEST(slow_server_keeps_its_connection)
{
    static const struct peer_step script[] = {
        PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("ECHO a"),
        PEER_ACCEPT, PEER_TURN_TO(1), PEER_SEND("+a\r\n"),
        PEER_TURN_TO(2), PEER_GONE,
        PEER_TURN_TO(1), PEER_EXPECT("ECHO b"), PEER_SEND("+b\r\n"), PEER_END};
    struct peer *peer = peer_start(script);
    struct ask a;

    open_suspicious(peer);
    start(&a, "ECHO a", LONG_MS);
    ck_assert_str_eq(answer(&a), "a");
    ck_assert_str_eq(ask("ECHO b"), "b");
    ck_assert_str_eq(changes, "+");
    ck_assert_uint_eq(stats_now().losses, 0);
    end_with_peer(peer);
}
END_TEST

/* A message shows that the way from the server works, and nothing of the way to it. */
START_TEST(message_does_not_end_the_silence)
{
    static const struct peer_step script[] = {
        PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("ECHO a"), PEER_ACCEPT, PEER_TURN_TO(1),
        PEER_SEND(">3\r\n+message\r\n+c\r\n+m\r\n"), PEER_TURN_TO(2), PEER_HANDSHAKE,
        PEER_EXPECT("ECHO b"), PEER_SEND("+b\r\n"), PEER_TURN_TO(1), PEER_GONE, PEER_END};
    struct peer *peer = peer_start(script);
    struct ask a;

    open_suspicious(peer);
    start(&a, "ECHO a", LONG_MS);
    ck_assert_str_eq(answer(&a), "(unknown)");
    ck_assert_str_eq(ask("ECHO b"), "b");
    ck_assert_str_eq(changes, "+-+");
    end_with_peer(peer);
}
END_TEST

/* The first connection ends during the rival's handshake: the link connects as usual. */
START_TEST(connection_that_ends_takes_its_rival_along)
{
    static const struct peer_step script[] = {
        PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("ECHO a"),
        PEER_ACCEPT, PEER_TURN_TO(1), PEER_RESET, PEER_TURN_TO(2), PEER_GONE,
        PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("ECHO b"), PEER_SEND("+b\r\n"),
        PEER_END};
    struct peer *peer = peer_start(script);
    struct ask a;

    open_suspicious(peer);
    start(&a, "ECHO a", LONG_MS);
    ck_assert_str_eq(answer(&a), "(unknown)");
    ck_assert_str_eq(ask("ECHO b"), "b");
    ck_assert_str_eq(changes, "+-+");
    end_with_peer(peer);
}
END_TEST

/* Also during the handshake of a rival. */
START_TEST(link_with_a_rival_may_be_freed)
{
    static const struct peer_step script[] = {
        PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("ECHO a"), PEER_ACCEPT,
        PEER_EXPECT("HELLO ..."), PEER_WAIT, PEER_END};
    struct peer *peer = peer_start(script);
    struct ask a;

    open_suspicious(peer);
    start(&a, "ECHO a", -1);
    drive_until_received(peer, 2);
    peer_go(peer);
    end_with_peer(peer);
    ck_assert_str_eq(a.text, "(unknown)");
}
END_TEST

/* Whatever there was no memory for, the request ends, and the link serves. */
START_TEST(rival_may_lack_memory)
{
    struct ask a;

    start_server();
    prepare(server_port(server));
    options.suspect_ms = SUSPECT_MS;
    options.silence_ms = 10 * SUSPECT_MS;
    open_prepared();
    ck_assert_str_eq(ask("ECHO a"), "a");
    server_pause(server);
    start(&a, "ECHO b", LONG_MS);
    memory_fail_at(&memory, (uint64_t)_i + 1);
    for (int i = 0; i < 10; i++)
        drive_for(SUSPECT_MS / 5);
    memory_fail_at(&memory, 0);
    server_resume(server);
    ck_assert_str_eq(answer(&a), "b");
    ck_assert_str_eq(ask("ECHO c"), "c");
    close_link();
    stop_server();
}
END_TEST

/* A server that pauses writes accepts the handshake of each rival. Each rival that replaced
 * the connection in vain doubles the time before the next one. */
START_TEST(rivals_in_vain_become_rarer)
{
    int64_t began_ms;
    struct ask a;

    start_server();
    prepare(server_port(server));
    options.suspect_ms = 50;
    options.silence_ms = SILENCE_MS;
    open_prepared();
    ck_assert_str_eq(ask("SET k v"), "OK");
    (void)server_ask(server, "CLIENT PAUSE 60000 WRITE");
    began_ms = local_now_ms();
    while (stats_now().losses < 4) {
        ck_assert_int_lt(local_now_ms() - began_ms, SILENCE_MS);
        start(&a, "SET k w", 3000);
        (void)answer(&a);
    }
    ck_assert_int_ge(local_now_ms() - began_ms, 560); /* 50, 100, 200, 400, and a quarter less */
    (void)server_ask(server, "CLIENT UNPAUSE");
    ck_assert_str_eq(ask("SET k x"), "OK");
    close_link();
    stop_server();
}
END_TEST

/* The first connection speaks once more, and a reply is still due: the next silence is
 * noticed as soon as the first one. */
START_TEST(silence_after_a_rival_that_was_stopped_is_noticed)
{
    static const struct peer_step script[] = {
        PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("ECHO a"), PEER_EXPECT("ECHO b"),
        PEER_ACCEPT, PEER_TURN_TO(1), PEER_SEND("+a\r\n"),
        PEER_TURN_TO(2), PEER_GONE,
        PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("ECHO c"), PEER_SEND("+c\r\n"), PEER_END};
    struct peer *peer = peer_start(script);
    struct ask a, b, c;

    open_suspicious(peer);
    start(&a, "ECHO a", LONG_MS);
    start(&b, "ECHO b", LONG_MS);
    ck_assert_str_eq(answer(&a), "a");
    ck_assert_str_eq(answer(&b), "(unknown)");
    start(&c, "ECHO c", LONG_MS);
    ck_assert_str_eq(answer(&c), "c");
    end_with_peer(peer);
}
END_TEST

/* A proxy replies to the handshake at once, and its server to requests after a time: the
 * third connection waits that long, and so does the next request. */
START_TEST(slow_replies_do_not_open_rivals_again)
{
    static const struct peer_step script[] = {
        PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("ECHO a"),
        PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("ECHO b"),
        PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("ECHO c"), PEER_WAIT, PEER_SEND("+c\r\n"),
        PEER_EXPECT("ECHO d"), PEER_WAIT, PEER_SEND("+d\r\n"),
        PEER_EXPECT("ECHO e"), PEER_SEND("+e\r\n"),
        PEER_EXPECT("ECHO f"), PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("ECHO g"),
        PEER_SEND("+g\r\n"), PEER_END};
    static const char *const lost[] = {"ECHO a", "ECHO b"};
    struct peer *peer = peer_start(script);
    struct ask a;

    open_suspicious(peer);
    for (int i = 0; i < 2; i++) {
        start(&a, lost[i], LONG_MS);
        ck_assert_str_eq(answer(&a), "(unknown)");
    }
    for (int i = 0; i < 2; i++) {
        start(&a, i == 0 ? "ECHO c" : "ECHO d", LONG_MS);
        drive_for(2 * SUSPECT_MS + 10); /* 4 * SUSPECT_MS * 3 / 4 at least are allowed */
        peer_go(peer);
        ck_assert_str_eq(answer(&a), i == 0 ? "c" : "d");
    }
    ck_assert_str_eq(ask("ECHO e"), "e"); /* a fast one: as at first */
    start(&a, "ECHO f", LONG_MS);
    ck_assert_str_eq(answer(&a), "(unknown)");
    ck_assert_str_eq(ask("ECHO g"), "g");
    ck_assert_str_eq(changes, "+-+-+-+");
    end_with_peer(peer);
}
END_TEST

/* ---- attempts that are silent (LINK-10) ---- */

START_TEST(silent_attempt_loses_to_a_rival)
{
    static const struct peer_step script[] = {
        PEER_ACCEPT, PEER_EXPECT("HELLO ..."), PEER_ACCEPT, PEER_HANDSHAKE,
        PEER_EXPECT("ECHO a"), PEER_SEND("+a\r\n"), PEER_TURN_TO(1), PEER_GONE, PEER_END};
    struct peer *peer = peer_start(script);
    struct ask a;

    open_unconnected(peer);
    start(&a, "ECHO a", LONG_MS);
    ck_assert_str_eq(answer(&a), "a");
    ck_assert_str_eq(changes, "+");
    ck_assert_uint_eq(stats_now().connects, 1);
    ck_assert_uint_eq(stats_now().failures, 1);
    end_with_peer(peer);
}
END_TEST

/* The server was only slow: the first attempt is used, and its request is sent once. */
START_TEST(slow_attempt_is_used_although_it_has_a_rival)
{
    static const struct peer_step script[] = {
        PEER_ACCEPT, PEER_ACCEPT, PEER_TURN_TO(1), PEER_HANDSHAKE, PEER_EXPECT("ECHO a"),
        PEER_SEND("+a\r\n"), PEER_TURN_TO(2), PEER_GONE, PEER_END};
    struct peer *peer = peer_start(script);
    struct ask a;

    open_unconnected(peer);
    start(&a, "ECHO a", LONG_MS);
    ck_assert_str_eq(answer(&a), "a");
    ck_assert_str_eq(changes, "+");
    end_with_peer(peer);
}
END_TEST

static const struct peer_step silent_then_handshake[] = {
    PEER_ACCEPT, PEER_EXPECT("HELLO ..."), PEER_WAIT, PEER_ACCEPT, PEER_HANDSHAKE,
    PEER_EXPECT("ECHO a"), PEER_SEND("+a\r\n"), PEER_END};

/* The request comes when the attempt has been silent for long. */
START_TEST(silent_attempt_has_a_rival_as_soon_as_a_request_waits)
{
    struct peer *peer = peer_start(silent_then_handshake);
    struct ask a;

    open_unconnected(peer);
    want(true);
    drive_until_received(peer, 1);
    drive_for(3 * SUSPECT_MS);
    ck_assert_uint_eq(stats_now().failures, 0);
    peer_go(peer);
    start(&a, "ECHO a", LONG_MS);
    ck_assert_str_eq(answer(&a), "a");
    end_with_peer(peer);
}
END_TEST

static uint64_t refused;
static void *(*memory_resize)(void *ctx, void *ptr, size_t old, size_t size);

static void *refuse(void *ctx, void *ptr, size_t old, size_t size)
{
    if (size > 0 && (!ptr || size > old)) {
        refused++;
        return NULL;
    }
    return memory_resize(ctx, ptr, old, size);
}

/* Without memory for a rival it is tried again after a time, and not in each turn. */
START_TEST(silent_attempt_has_a_rival_when_there_is_memory)
{
    struct peer *peer = peer_start(silent_then_handshake);
    int64_t began_ms;
    struct ask a;

    open_unconnected(peer);
    start(&a, "ECHO a", LONG_MS);
    drive_until_received(peer, 1);
    memory_resize = memory.hook.resize;
    memory.hook.resize = refuse;
    began_ms = local_now_ms();
    drive_for(5 * SUSPECT_MS);
    memory.hook.resize = memory_resize;
    ck_assert_uint_gt(refused, 0); /* and less than two for each SUSPECT_MS */
    ck_assert_int_lt((int64_t)refused * SUSPECT_MS, 2 * (local_now_ms() - began_ms));
    peer_go(peer);
    ck_assert_str_eq(answer(&a), "a");
    end_with_peer(peer);
}
END_TEST

/* The handshake of the second rival succeeds. */
START_TEST(silent_rival_is_replaced)
{
    static const struct peer_step script[] = {
        PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("ECHO a"), PEER_ACCEPT,
        PEER_EXPECT("HELLO ..."), PEER_GONE, PEER_ACCEPT, PEER_HANDSHAKE,
        PEER_EXPECT("ECHO b"), PEER_SEND("+b\r\n"), PEER_TURN_TO(1), PEER_GONE, PEER_END};
    struct peer *peer = peer_start(script);
    struct ask a;

    open_suspicious(peer);
    start(&a, "ECHO a", LONG_MS);
    ck_assert_str_eq(answer(&a), "(unknown)");
    ck_assert_str_eq(ask("ECHO b"), "b");
    ck_assert_str_eq(changes, "+-+");
    end_with_peer(peer);
}
END_TEST

/* One attempt of 640 ms, and rivals of 20, 40, 80, 160 and 320 ms. */
START_TEST(server_without_a_handshake_gets_few_attempts)
{
    static const struct peer_step script[] = {PEER_ACCEPT, PEER_WAIT, PEER_END};
    struct peer *peer = peer_start(script);
    struct ask a;

    prepare(peer_port(peer));
    options.suspect_ms = 20;
    options.silence_ms = SILENCE_MS;
    options.connect_timeout_ms = 640;
    options.backoff_min_ms = options.backoff_max_ms = LONG_MS;
    open_prepared();
    start(&a, "ECHO a", 2000);
    ck_assert_str_eq(answer(&a), "(unsent)");
    ck_assert_uint_ge(stats_now().failures, 3);
    ck_assert_uint_le(stats_now().failures, 7);
    peer_go(peer);
    end_with_peer(peer);
}
END_TEST

/* ---- probes ---- */

static void open_probing(struct peer *peer)
{
    prepare(peer_port(peer));
    options.suspect_ms = SUSPECT_MS;
    options.silence_ms = SILENCE_MS;
    options.idle_check_ms = IDLE_MS;
    open_prepared();
    connect_first();
}

/* CONN-10 */
START_TEST(idle_connection_is_probed_once)
{
    static const struct peer_step script[] = {
        PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("ECHO a"), PEER_SEND("+a\r\n"),
        PEER_EXPECT("PING"), PEER_SEND("+PONG\r\n"), PEER_EXPECT("ECHO b"),
        PEER_EXPECT("ECHO c"), PEER_SEND("+b\r\n+c\r\n"), PEER_EXPECT("ECHO d"),
        PEER_SEND("+d\r\n"), PEER_END};
    struct peer *peer = peer_start(script);
    struct ask b, c;

    open_probing(peer);
    options.suspect_ms = 0;
    ck_assert_str_eq(ask("ECHO a"), "a");
    local_rest_us((IDLE_MS + 10) * 1000);
    start(&b, "ECHO b", LONG_MS);
    start(&c, "ECHO c", LONG_MS);
    ck_assert_str_eq(answer(&b), "b");
    ck_assert_str_eq(answer(&c), "c");
    ck_assert_str_eq(ask("ECHO d"), "d");
    ck_assert_str_eq(changes, "+");
    end_with_peer(peer);
}
END_TEST

/* It was not sent over the dead connection, so it has its reply over the rival. A second
 * one was cancelled meanwhile. */
START_TEST(request_after_an_idle_time_is_not_lost)
{
    static const struct peer_step script[] = {
        PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("ECHO a"), PEER_SEND("+a\r\n"),
        PEER_EXPECT("PING"), PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("ECHO b"),
        PEER_SEND("+b\r\n"), PEER_TURN_TO(1), PEER_GONE, PEER_END};
    struct peer *peer = peer_start(script);
    struct ask b, c;

    open_probing(peer);
    ck_assert_str_eq(ask("ECHO a"), "a");
    local_rest_us((IDLE_MS + 10) * 1000);
    start(&c, "ECHO c", LONG_MS);
    start(&b, "ECHO b", LONG_MS);
    lock();
    ck_assert_int_eq(hf_link_cancel(&c.request), HF_UNSENT);
    unlock();
    ck_assert_str_eq(answer(&b), "b");
    ck_assert_str_eq(changes, "+-+");
    ck_assert_uint_eq(stats_now().unknown, 1); /* the PING */
    end_with_peer(peer);
}
END_TEST

/* ---- manners (LINK-6) ---- */

#define HELLO_REFUSED \
    PEER_EXPECT("HELLO ..."), PEER_SEND("-ERR unknown command\r\n"), PEER_HANDSHAKE
#define PINGED PEER_EXPECT("PING"), PEER_SEND("+PONG\r\n")

/* It was closed at CLIENT: a proxy was restarted, say. The connection before has an id,
 * so it must be killed, and BARE cannot. */
START_TEST(link_with_a_predecessor_has_no_bare_handshake)
{
    static const struct peer_step script[] = {
        PEER_ACCEPT, PEER_EXPECT("HELLO ..."), PEER_CLOSE,
        PEER_ACCEPT, PINGED, PEER_EXPECT("HELLO ..."), PEER_CLOSE,
        PEER_ACCEPT, PINGED, PEER_HANDSHAKE, PEER_EXPECT("ECHO a"),
        PEER_SEND("+a\r\n"), PEER_CLOSE,
        PEER_ACCEPT, PINGED, PEER_EXPECT("HELLO ..."), PEER_CLOSE,
        PEER_ACCEPT, PINGED, PEER_EXPECT("CLIENT ID"), PEER_CLOSE,
        PEER_ACCEPT, PINGED, PEER_EXPECT("CLIENT ID"), PEER_SEND(":7\r\n"),
        PEER_HANDSHAKE, PEER_EXPECT("ECHO b"), PEER_SEND("+b\r\n"), PEER_END};
    struct peer *peer = peer_start(script);

    open_link(peer_port(peer));
    ck_assert_str_eq(ask("ECHO a"), "a");
    drive_until(is_down);
    ck_assert_str_eq(ask("ECHO b"), "b");
    end_with_peer(peer);
}
END_TEST

/* The cause of the BARE handshake may have ended: PING, HELLO. */
START_TEST(best_manner_is_tried_again_after_a_loss)
{
    static const struct peer_step script[] = {
        PEER_ACCEPT, HELLO_REFUSED, PEER_EXPECT("CLIENT ID"), PEER_CLOSE,
        PEER_ACCEPT, PEER_EXPECT("CLIENT ID"), PEER_SEND(":7\r\n"),
        PEER_EXPECT("INFO server"), PEER_CLOSE,
        PEER_ACCEPT, PINGED, PEER_EXPECT("ECHO a"), PEER_SEND("+a\r\n"),
        PEER_CLOSE,
        PEER_ACCEPT, PINGED, PEER_HANDSHAKE, PEER_EXPECT("ECHO b"),
        PEER_SEND("+b\r\n"), PEER_END};
    struct peer *peer = peer_start(script);

    open_link(peer_port(peer));
    ck_assert_str_eq(ask("ECHO a"), "a");
    drive_until(is_down);
    ck_assert_str_eq(ask("ECHO b"), "b");
    ck_assert_int_eq(protocol_now(), 3);
    end_with_peer(peer);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("net link rival");
    TCase *t = tcase_create("rival");

    tcase_set_timeout(t, 60);
    tcase_add_test(t, silent_connection_loses_to_a_rival);
    tcase_add_test(t, slow_server_keeps_its_connection);
    tcase_add_test(t, message_does_not_end_the_silence);
    tcase_add_test(t, connection_that_ends_takes_its_rival_along);
    tcase_add_test(t, link_with_a_rival_may_be_freed);
    tcase_add_test(t, silence_after_a_rival_that_was_stopped_is_noticed);
    tcase_add_test(t, slow_replies_do_not_open_rivals_again);
    tcase_add_test(t, silent_attempt_loses_to_a_rival);
    tcase_add_test(t, slow_attempt_is_used_although_it_has_a_rival);
    tcase_add_test(t, silent_attempt_has_a_rival_as_soon_as_a_request_waits);
    tcase_add_test(t, silent_attempt_has_a_rival_when_there_is_memory);
    tcase_add_test(t, silent_rival_is_replaced);
    tcase_add_test(t, server_without_a_handshake_gets_few_attempts);
    tcase_add_test(t, idle_connection_is_probed_once);
    tcase_add_test(t, request_after_an_idle_time_is_not_lost);
    tcase_add_test(t, link_with_a_predecessor_has_no_bare_handshake);
    tcase_add_test(t, best_manner_is_tried_again_after_a_loss);
    if (server_is_installed()) {
        tcase_add_loop_test(t, rival_may_lack_memory, 0, 8);
        tcase_add_test(t, rivals_in_vain_become_rarer);
    } else
        (void)puts("skipped: no server is installed");
    suite_add_tcase(s, t);
    return suite_run(s);
}
