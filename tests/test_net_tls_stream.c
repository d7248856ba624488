/* TLS: the stream, once there is one. Bytes in all sorts of pieces, reads that
 * wait for room to write and the reverse, keys and peers that would change on
 * the way, and ends of all kinds.
 * Source: docs/tls.md, rows T. */
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include <openssl/err.h>

#include "net/wire/socket.h"
#include "tests/support/local.h"
#include "tests/test_net_tls.h"

#define RECORD_MAX 16384

/* ---- bytes ---- */

static char *noise(size_t len)
{
    char *bytes = local_new(len);

    for (size_t i = 0; i < len; i++)
        bytes[i] = (char)(i * 7 + i / 251);
    return bytes;
}

static const size_t steps[] = {0, 1, 2, 3, 7, 100, 4096};

/* Source: T20. */
START_TEST(bytes_are_the_same_in_whatever_pieces_they_come)
{
    size_t len = 20000;
    char *sent = noise(len), *got = local_new(len);

    serve_version(AT(server), versions[_i % 2]);
    peer.step = steps[_i / 2];
    meet();
    say(sent, len);
    tls_peer_say(&peer, sent, len / 2);
    tls_peer_say(&peer, sent + len / 2, len - len / 2);
    ck_assert_int_eq(hear(got, len), 0);
    ck_assert_mem_eq(got, sent, len);
    tls_peer_bye(&peer);
    await_end(HF_SOCKET_EOF);
    free(sent);
    free(got);
}
END_TEST

static bool is_readable(void)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};

    return poll(&p, 1, 0) == 1;
}

/* TLS-4: Source: T13. */
START_TEST(bytes_in_the_tls_buffer_are_reported_without_a_ready_descriptor)
{
    char *sent = noise(RECORD_MAX), *got = local_new(RECORD_MAX);

    serve_version(AT(server), versions[_i]);
    meet();
    ck_assert_int_eq(hf_tls_read(tls, got, 1), 0);
    ck_assert(!hf_tls_has_more(tls));
    tls_peer_say(&peer, sent, RECORD_MAX);
    turn(2);
    ck_assert_int_eq(hf_tls_read(tls, got, 10), 10);
    ck_assert(!is_readable());
    ck_assert(hf_tls_has_more(tls));
    ck_assert_int_eq(hf_tls_read(tls, got + 10, RECORD_MAX), RECORD_MAX - 10);
    ck_assert(!hf_tls_has_more(tls));
    ck_assert_int_eq(hf_tls_wanted_events(tls), HF_READ);
    ck_assert_mem_eq(got, sent, RECORD_MAX);
    free(sent);
    free(got);
}
END_TEST

/* Also where they are whole records that nobody has looked into yet. */
START_TEST(record_inside_is_reported)
{
    char got;

    serve_version(AT(server), versions[_i]);
    meet();
    ck_assert_int_eq(hf_tls_read(tls, &got, 1), 0);
    tls_peer_say(&peer, "a", 1);
    tls_peer_say(&peer, "b", 1);
    turn(1);
    ck_assert_int_eq(hf_tls_read(tls, &got, 1), 1);
    ck_assert(!is_readable());
    ck_assert(hf_tls_has_more(tls));
    ck_assert_int_eq(hf_tls_read(tls, &got, 1), 1);
    ck_assert_int_eq(got, 'b');
    ck_assert(!hf_tls_has_more(tls));
}
END_TEST

/* Else the caller would read again and again until the rest has come. */
START_TEST(part_of_a_record_is_nothing_to_read)
{
    char got;

    serve_version(AT(server), versions[_i]);
    meet();
    ck_assert_int_eq(hf_tls_read(tls, &got, 1), 0);
    tls_peer_say(&peer, "a", 1);
    for (peer.step = 3; hf_tls_read(tls, &got, 1) == 0; turn(1))
        ck_assert(!hf_tls_has_more(tls));
    ck_assert_int_eq(got, 'a');
}
END_TEST

/* TLS-4: One read takes all that has come, however many records it is. */
START_TEST(read_fills_its_room)
{
    size_t len = 5 * RECORD_MAX;
    char *sent = noise(len), *got = local_new(len);

    serve(certs.server);
    meet();
    for (size_t at = 0; at < len; at += len / 100 + 1)
        tls_peer_say(&peer, sent + at,
                     len - at < len / 100 + 1 ? len - at : len / 100 + 1);
    for (int i = 0; i < 100; i++)
        turn(1);
    ck_assert_int_eq(hf_tls_read(tls, got, len), (long)len);
    ck_assert_mem_eq(got, sent, len);
    free(sent);
    free(got);
}
END_TEST

/* And one write gives all that is taken, however many records it becomes. */
START_TEST(write_fills_the_socket)
{
    size_t len = 2000000;
    char *sent = noise(len);
    long n;

    serve_version(AT(server), versions[_i]);
    meet();
    ck_assert_int_eq(hf_tls_write(tls, sent, 3 * RECORD_MAX), 3 * RECORD_MAX);
    ck_assert_int_eq(hf_tls_wanted_events(tls), HF_READ);
    n = hf_tls_write(tls, sent, len);
    ck_assert_int_ge(n, RECORD_MAX);
    ck_assert_int_lt(n, (long)len);
    ck_assert_int_eq(hf_tls_wanted_events(tls), HF_READ | HF_WRITE);
    free(sent);
}
END_TEST

/* The smallest that the kernel gives: some kilobytes. */
static void narrow(void)
{
    int least = 1;

    ck_assert_int_eq(
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &least, sizeof least), 0);
}

/* The end of what is sent: at another address each time, with more behind. */
struct outgoing {
    const char *all;
    size_t len, sent, grown;
};

static long write_from_elsewhere(struct outgoing *o)
{
    size_t len = o->grown - o->sent;
    char *moved = local_new(len);
    long n;

    memcpy(moved, o->all + o->sent, len);
    n = hf_tls_write(tls, moved, len);
    memset(moved, '?', len);
    free(moved);
    return n;
}

/* Source: T15. */
START_TEST(write_continues_from_a_buffer_that_grows_and_moves)
{
    struct outgoing o = {.len = 1000000, .grown = 1};
    int blocked = 0;
    char *all = noise(o.len);
    long n;

    o.all = all;
    serve_version(AT(server), versions[_i]);
    meet();
    narrow();
    for (int i = 0; o.sent < o.len && i < TURNS_MAX; i++) {
        n = write_from_elsewhere(&o);
        ck_assert_int_ge(n, 0);
        blocked += n == 0;
        if ((size_t)n < o.grown - o.sent)
            ck_assert_int_eq(hf_tls_wanted_events(tls), HF_READ | HF_WRITE);
        o.sent += (size_t)n;
        o.grown += o.grown + 30000 < o.len ? 30000 : o.len - o.grown;
        if (i % 3 == 0)
            turn(1);
    }
    turn(2);
    ck_assert_int_gt(blocked, 10);
    ck_assert_int_eq(hf_tls_wanted_events(tls), HF_READ);
    ck_assert_uint_eq(peer.heard_len, o.len);
    ck_assert_mem_eq(peer.heard, all, o.len);
    free(all);
}
END_TEST

/* To the last byte. */
static void fill_socket(size_t *len)
{
    static const char junk[1000];
    long n;

    *len = 0;
    for (size_t most = sizeof junk; most > 0; most /= 2) {
        while ((n = hf_socket_write(fd, junk, most)) > 0)
            *len += (size_t)n;
        ck_assert_int_eq(n, 0);
    }
}

static void drain_socket(size_t len)
{
    char bytes[1000];
    ssize_t n;

    for (; len > 0; len -= (size_t)n) {
        n = recv(peer.fd, bytes, len < sizeof bytes ? len : sizeof bytes, 0);
        ck_assert_int_gt(n, 0);
    }
}

/* Source: T14. */
START_TEST(handshake_waits_for_room_to_write)
{
    size_t junk;

    serve(certs.server);
    ck_assert_int_eq(know("localhost"), HF_OK);
    dial();
    fill_socket(&junk);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(hf_tls_handshake(tls), HF_RESP_MORE);
        ck_assert_int_eq(hf_tls_wanted_events(tls), HF_WRITE);
    }
    drain_socket(junk);
    ck_assert_int_eq(end_handshake(), HF_OK);
    say("x", 1);
}
END_TEST

/* The server wants new keys in both directions: our answer needs room that is
 * not there, and what was to be read is read all the same. Source: T14. */
START_TEST(read_continues_while_the_output_is_full)
{
    char got[5];
    size_t junk;

    serve_version(AT(server), TLS1_3_VERSION);
    meet();
    ck_assert_int_eq(SSL_key_update(peer.ssl, SSL_KEY_UPDATE_REQUESTED), 1);
    tls_peer_say(&peer, "hello", 5);
    turn(1);
    fill_socket(&junk);
    ck_assert_int_eq(hf_tls_write(tls, "and you", 7), 0);
    ck_assert(hf_tls_wanted_events(tls) & HF_WRITE);
    ck_assert_int_eq(hear(got, 5), 0);
    ck_assert_mem_eq(got, "hello", 5);
    ck_assert_int_eq(hf_tls_write(tls, "and you", 7), 0);
    ck_assert_int_eq(hf_tls_wanted_events(tls), HF_READ | HF_WRITE);
    drain_socket(junk);
    say("and you", 7);
    ck_assert_int_eq(hf_tls_wanted_events(tls), HF_READ);
}
END_TEST

/* The same in the middle of a record of ours that the socket did not take. */
START_TEST(new_keys_do_not_spoil_a_write_under_way)
{
    size_t len = 300000, sent;
    char *bytes = noise(len), got[5];
    long n;

    serve_version(AT(server), TLS1_3_VERSION);
    meet();
    narrow();
    n = hf_tls_write(tls, bytes, len);
    ck_assert_int_ge(n, 0);
    ck_assert_int_eq(SSL_key_update(peer.ssl, SSL_KEY_UPDATE_REQUESTED), 1);
    tls_peer_say(&peer, "hello", 5);
    for (sent = (size_t)n; sent < len; sent += (size_t)n) {
        (void)hf_tls_read(tls, got, 0);
        turn(1);
        n = hf_tls_write(tls, bytes + sent, len - sent);
        ck_assert_int_ge(n, 0);
    }
    ck_assert_int_eq(hear(got, 5), 0);
    turn(10);
    ck_assert_uint_eq(peer.heard_len, len);
    ck_assert_mem_eq(peer.heard, bytes, len);
    free(bytes);
}
END_TEST

/* Renegotiation would let the other side change who it is. Source: T14. */
START_TEST(renegotiation_is_declined)
{
    char byte;

    serve_version(AT(server), TLS1_2_VERSION);
    meet();
    ERR_clear_error();
    ck_assert_int_eq(SSL_renegotiate(peer.ssl), 1);
    (void)SSL_do_handshake(peer.ssl);
    turn(1);
    ck_assert_int_eq(hf_tls_read(tls, &byte, 1), 0);
    turn(1);
    ck_assert_int_eq(ERR_GET_REASON(ERR_peek_last_error()),
                     SSL_R_NO_RENEGOTIATION);
}
END_TEST

/* As another user of OpenSSL in this thread may leave it. */
static void leave_an_error(void)
{
    ck_assert_ptr_null(BIO_new_file("/nowhere", "r"));
    ck_assert_uint_ne(ERR_peek_error(), 0);
}

/* TLS-1: Source: T16. */
START_TEST(error_of_another_library_does_not_end_a_connection)
{
    hf_status rc = HF_RESP_MORE;
    char byte;

    serve(certs.server);
    ck_assert_int_eq(know("localhost"), HF_OK);
    dial();
    for (int i = 0; rc == HF_RESP_MORE && i < TURNS_MAX; i++) {
        leave_an_error();
        rc = hf_tls_handshake(tls);
        turn(1);
    }
    ck_assert_int_eq(rc, HF_OK);
    for (int i = 0; i < 2; i++) {    /* the first takes the tickets */
        leave_an_error();
        ck_assert_int_eq(hf_tls_read(tls, &byte, 1), 0);
    }
    narrow();
    do
        leave_an_error();
    while (hf_tls_write(tls, (char[1000]){0}, 1000) > 0);
    ck_assert_int_eq(hf_tls_wanted_events(tls), HF_READ | HF_WRITE);
}
END_TEST

/* TLS-1: And we leave none to others. */
START_TEST(no_error_is_left_for_others)
{
    serve(certs.expired);
    ck_assert_int_eq(know("localhost"), HF_OK);
    dial();
    ck_assert_int_eq(hf_tls_handshake(tls), HF_RESP_MORE);
    turn(1);
    ERR_clear_error();
    while (hf_tls_handshake(tls) == HF_RESP_MORE)
        ;
    ck_assert_uint_eq(ERR_peek_error(), 0);
    hang_up(true);
    ck_assert_uint_eq(ERR_peek_error(), 0);
}
END_TEST

/* ---- ends ---- */

/* Source: T18. */
START_TEST(goodbye_is_the_end)
{
    char got[2];

    serve_version(AT(server), versions[_i]);
    meet();
    tls_peer_say(&peer, "x", 1);
    tls_peer_bye(&peer);
    turn(1);
    ck_assert_int_eq(hf_tls_read(tls, got, 2), 1);
    ck_assert(hf_tls_has_more(tls));    /* namely the end */
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(hf_tls_read(tls, got, 2), HF_SOCKET_EOF);
}
END_TEST

/* Somebody may have cut the reply short. Source: T18. */
START_TEST(end_without_a_goodbye_is_an_error)
{
    char got[2];

    serve_version(AT(server), versions[_i]);
    meet();
    tls_peer_say(&peer, "x", 1);
    turn(1);
    tls_peer_hang_up(&peer);
    ck_assert_int_eq(hf_tls_read(tls, got, 2), 1);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(hf_tls_read(tls, got, 2), HF_TLS_FAILED);
    ck_assert_int_eq(hf_tls_error(tls)->status, HF_E_CONNECT);
    check_says(hf_tls_error(tls), "the server closed the connection without a "
                                  "TLS goodbye (close_notify)");
}
END_TEST

/* A server may ask and do without: then all other words are about other things. */
static void meet_lenient(void)
{
    struct tls_peer_options of_peer = {
        .cert = certs.server, .client_ca = certs.ca, .is_lenient = true};
    char byte;

    tls_peer_init(&peer, &of_peer);
    meet();
    tls_peer_say(&peer, "x", 1);
    ck_assert_int_eq(hear(&byte, 1), 0);
}

START_TEST(nothing_is_guessed_of_a_server_that_has_spoken)
{
    char byte;

    meet_lenient();
    tls_peer_hang_up(&peer);
    ck_assert_int_eq(hf_tls_read(tls, &byte, 1), HF_TLS_FAILED);
    check_says(hf_tls_error(tls), "*without a TLS goodbye (close_notify)");
}
END_TEST

START_TEST(reset_is_reported_as_by_a_socket)
{
    char got[2];

    serve(certs.server);
    meet();
    ck_assert_int_eq(hf_tls_read(tls, got, 2), 0);
    ck_assert_int_eq(hf_tls_write(tls, "x", 1), 1);
    tls_peer_hang_up(&peer);    /* with our byte unread */
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(hf_tls_read(tls, got, 2), -ECONNRESET);
}
END_TEST

/* No signal ends the test. Source: T17. */
START_TEST(write_to_a_closed_connection_is_an_error_and_no_signal)
{
    serve(certs.server);
    meet();
    tls_peer_hang_up(&peer);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(hf_tls_write(tls, "x", 1), -EPIPE);
    hang_up(true);
}
END_TEST

static const struct {
    const char *bytes;
    size_t len;
    const char *says;
} forgeries[] = {
    {BYTES("\x17\x03\x03\x00\x20" "................................"),
     "bytes were changed on their way to us (bad record MAC)"},
    {BYTES("+OK\r\n+OK\r\n"), "TLS failed: *"},
};

START_TEST(forged_bytes_are_not_delivered)
{
    char got[2];

    serve_version(AT(server), versions[_i % 2]);
    meet();
    tls_peer_say(&peer, "x", 1);
    tls_peer_say_raw(&peer, forgeries[_i / 2].bytes, forgeries[_i / 2].len);
    turn(1);
    ck_assert_int_eq(hf_tls_read(tls, got, 2), 1);
    ck_assert(hf_tls_has_more(tls));
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(hf_tls_read(tls, got, 2), HF_TLS_FAILED);
    check_says(hf_tls_error(tls), forgeries[_i / 2].says);
    ck_assert_int_eq(hf_tls_write(tls, "x", 1), HF_TLS_FAILED);
}
END_TEST

/* Somebody wrote into our connection. */
START_TEST(changed_bytes_are_detected)
{
    meet_lenient();
    ck_assert_int_eq(hf_socket_write(fd, forgeries[0].bytes, forgeries[0].len),
                     (long)forgeries[0].len);
    await_end(HF_TLS_FAILED);
    check_says(hf_tls_error(tls), "bytes were changed on their way to the "
                                  "server (bad record MAC)");
}
END_TEST

START_TEST(close_notify_is_sent_only_if_polite)
{
    bool is_polite = _i % 2;

    serve_version(AT(server), versions[_i / 2]);
    meet();
    hang_up(is_polite);
    turn(1);
    ck_assert_int_eq(tls_peer_has_goodbye(&peer), is_polite);
}
END_TEST

/* It could only go behind the rest of a record that the socket did not take. */
START_TEST(goodbye_never_waits)
{
    size_t junk;

    serve(certs.server);
    meet();
    fill_socket(&junk);
    ck_assert_int_eq(hf_tls_write(tls, "x", 1), 0);
    hang_up(true);
    drain_socket(junk);
    turn(1);
    ck_assert_uint_eq(peer.heard_len, 0);
}
END_TEST

START_TEST(goodbye_in_the_handshake_is_harmless)
{
    serve(certs.server);
    ck_assert_int_eq(know("localhost"), HF_OK);
    dial();
    hang_up(true);    /* before it began */
    dial();
    ck_assert_int_eq(hf_tls_handshake(tls), HF_RESP_MORE);
    turn(1);
    hang_up(true);
    turn(1);
    ck_assert(!tls_peer_is_met(&peer));
}
END_TEST

/* ---- all of them ---- */

static void add_bytes(Suite *s)
{
    TCase *c = tcase(s, "bytes");

    tcase_add_loop_test(c, bytes_are_the_same_in_whatever_pieces_they_come, 0,
                        2 * ROWS(steps));
    tcase_add_loop_test(c, bytes_in_the_tls_buffer_are_reported_without_a_ready_descriptor,
                        0, 2);
    tcase_add_loop_test(c, record_inside_is_reported, 0, 2);
    tcase_add_loop_test(c, part_of_a_record_is_nothing_to_read, 0, 2);
    tcase_add_test(c, read_fills_its_room);
    tcase_add_loop_test(c, write_fills_the_socket, 0, 2);
    tcase_add_loop_test(c, write_continues_from_a_buffer_that_grows_and_moves, 0,
                        2);
    tcase_add_test(c, handshake_waits_for_room_to_write);
    tcase_add_test(c, read_continues_while_the_output_is_full);
    tcase_add_test(c, new_keys_do_not_spoil_a_write_under_way);
    tcase_add_test(c, renegotiation_is_declined);
    tcase_add_test(c, error_of_another_library_does_not_end_a_connection);
    tcase_add_test(c, no_error_is_left_for_others);
}

static void add_ends(Suite *s)
{
    TCase *c = tcase(s, "ends");

    tcase_add_loop_test(c, goodbye_is_the_end, 0, 2);
    tcase_add_loop_test(c, end_without_a_goodbye_is_an_error, 0, 2);
    tcase_add_test(c, nothing_is_guessed_of_a_server_that_has_spoken);
    tcase_add_test(c, reset_is_reported_as_by_a_socket);
    tcase_add_test(c, write_to_a_closed_connection_is_an_error_and_no_signal);
    tcase_add_loop_test(c, forged_bytes_are_not_delivered, 0,
                        2 * ROWS(forgeries));
    tcase_add_test(c, changed_bytes_are_detected);
    tcase_add_loop_test(c, close_notify_is_sent_only_if_polite, 0, 4);
    tcase_add_test(c, goodbye_never_waits);
    tcase_add_test(c, goodbye_in_the_handshake_is_harmless);
}

int main(void)
{
    Suite *s = suite_create("net/tls, stream");

    add_bytes(s);
    add_ends(s);
    return run_cases(s);
}
