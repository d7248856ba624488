/* TLS: what the two sides agree on. Versions, ciphers, the protocol inside;
 * servers that speak no TLS; sessions, by a clock that is turned by hand; and
 * no memory of ours (none of OpenSSL's: test_net_tls_memory.c).
 * Source: docs/tls.md, rows T. */
#include <time.h>

#include "tests/test_net_tls.h"

#define HOUR 3600

/* ---- a clock turned by hand: the only one that OpenSSL looks at ---- */

static time_t ahead;

HF_API time_t time(time_t *out)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_REALTIME, &t);
    t.tv_sec += ahead;
    if (out)
        *out = t.tv_sec;
    return t.tv_sec;
}

static void turn_clock_back(void)
{
    ahead = 0;
}

/* ---- how we speak ---- */

START_TEST(library_is_reported)
{
    ck_assert_int_eq(strncmp(hf_tls_library(), "OpenSSL ", 8), 0);
}
END_TEST

/* Though openssl.cnf ask for it ("Options = KTLS"). Source: T22. */
START_TEST(kernel_is_kept_out_of_it)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());

    SSL_CTX_set_options(ctx, SSL_OP_ENABLE_KTLS);
    (void)strcpy(options.ca_file, certs.ca);
    ck_assert_int_eq(hf_tls_settings_apply(ctx, &options, &error), HF_OK);
    ck_assert_uint_eq(SSL_CTX_get_options(ctx) & SSL_OP_ENABLE_KTLS, 0);
    SSL_CTX_free(ctx);
}
END_TEST

/* A server of today that may speak 1.1 alone says so in an alert. Source: T9. */
START_TEST(older_tls_is_refused)
{
    struct tls_peer_options of_peer = {.cert = certs.server,
                                       .version = TLS1_1_VERSION,
                                       .ciphers = "ALL:@SECLEVEL=0"};

    (void)strcpy(options.ciphers, "ALL:@SECLEVEL=0");
    tls_peer_init(&peer, &of_peer);
    ck_assert_int_eq(know("localhost"), HF_OK);
    dial();
    ck_assert_int_eq(end_handshake(), HF_E_TLS);
    check_says(hf_tls_error(tls), "the server and we have no version of TLS in "
                                  "common (ours: 1.2, 1.3)");
}
END_TEST

static const struct {
    int version;
    const char *ciphers, *suites;    /* ours */
    const char *theirs;              /* TLS 1.2 */
    const char *chosen;              /* NULL: none in common */
} ciphers[] = {
    {TLS1_2_VERSION, "ECDHE-ECDSA-AES256-GCM-SHA384", "", NULL,
     "ECDHE-ECDSA-AES256-GCM-SHA384"},
    {TLS1_2_VERSION, "ECDHE-ECDSA-AES128-GCM-SHA256", "",
     "ECDHE-ECDSA-AES256-GCM-SHA384", NULL},
    {TLS1_3_VERSION, "", "TLS_CHACHA20_POLY1305_SHA256", NULL,
     "TLS_CHACHA20_POLY1305_SHA256"},
    {TLS1_3_VERSION, "ECDHE-ECDSA-AES256-GCM-SHA384",
     "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384", NULL,
     "TLS_AES_128_GCM_SHA256"},
};

START_TEST(cipher_is_one_of_the_given_list)
{
    struct tls_peer_options of_peer = {.cert = certs.server,
                                       .version = ciphers[_i].version,
                                       .ciphers = ciphers[_i].theirs};

    tls_peer_init(&peer, &of_peer);
    (void)strcpy(options.ciphers, ciphers[_i].ciphers);
    (void)strcpy(options.ciphersuites, ciphers[_i].suites);
    ck_assert_int_eq(know("localhost"), HF_OK);
    dial();
    ck_assert_int_eq(end_handshake(), ciphers[_i].chosen ? HF_OK : HF_E_TLS);
    if (ciphers[_i].chosen)
        ck_assert_str_eq(SSL_get_cipher_name(peer.ssl), ciphers[_i].chosen);
    else
        check_says(hf_tls_error(tls), "the server finds nothing in common*");
}
END_TEST

static const struct {
    const char *asked, *spoken;    /* NULL: the server knows of no ALPN */
    const char *says;
} protocols[] = {
    {"redis", "redis", NULL},
    {"", "redis", NULL},
    {"redis", "http/1.1",
     "the server does not speak the requested protocol (tls_alpn)"},
    {"redis", NULL,
     "the server does not accept the protocol of tls_alpn"},
};

START_TEST(protocol_that_is_requested_must_be_agreed)
{
    struct tls_peer_options of_peer = {.cert = certs.server,
                                       .version = versions[_i % 2],
                                       .alpn = protocols[_i / 2].spoken};
    const char *says = protocols[_i / 2].says;

    tls_peer_init(&peer, &of_peer);
    (void)strcpy(options.alpn, protocols[_i / 2].asked);
    ck_assert_int_eq(know("localhost"), HF_OK);
    dial();
    ck_assert_int_eq(end_handshake(), says ? HF_E_TLS : HF_OK);
    if (says)
        check_says(hf_tls_error(tls), says);
}
END_TEST

/* ---- not a TLS server ---- */

static const struct {
    const char *bytes;
    size_t len;
    hf_status status;
    const char *says;
} aliens[] = {
    {BYTES("-ERR Protocol error: unbalanced quotes\r\n"), HF_E_TLS,
     "the server does not speak TLS here; use redis://"},
    {BYTES("-NOAUTH Authentication required.\r\n"), HF_E_TLS,
     "the server does not speak TLS here; use redis://"},
    {BYTES("HTTP/1.1 400 Bad Request\r\n\r\n"), HF_E_TLS,
     "the server does not speak TLS here; use redis://"},
    {BYTES("SSH-2.0-OpenSSH_9.2p1\r\n"), HF_E_TLS,
     "the server does not speak TLS here; use redis://"},
    {BYTES(""), HF_E_CONNECT, "the server closed the connection in the TLS handshake"},
    {BYTES("-E"), HF_E_CONNECT,
     "the server closed the connection in the TLS handshake"},
    /* Alerts: handshake_failure, close_notify. */
    {BYTES("\x15\x03\x01\x00\x02\x02\x28"), HF_E_TLS,
     "the server finds nothing in common with us*"},
    {BYTES("\x15\x03\x03\x00\x02\x01\x00"), HF_E_CONNECT,
     "the server closed the connection in the TLS handshake"},
    /* A server's hello from before TLS 1.2 (T9). */
    {BYTES("\x16\x03\x02\x00\x2a\x02\x00\x00\x26\x03\x02"
           "0123456789abcdef0123456789abcdef\x00\xc0\x13\x00"),
     HF_E_TLS, "the server offers only an older TLS than 1.2"},
};

/* Source: T11. */
START_TEST(server_without_tls_is_distinguished_from_a_lost_connection)
{
    struct tls_peer_options of_peer = {.is_plain = true};

    tls_peer_init(&peer, &of_peer);
    ck_assert_int_eq(know("localhost"), HF_OK);
    dial();
    ck_assert_int_eq(hf_tls_handshake(tls), HF_RESP_MORE);
    ck_assert_int_eq(hf_tls_wanted_events(tls), HF_READ);
    tls_peer_say_raw(&peer, aliens[_i].bytes, aliens[_i].len);
    turn(1);
    ck_assert_uint_gt(peer.heard_len, 100);
    tls_peer_hang_up(&peer);
    ck_assert_int_eq(end_handshake(), aliens[_i].status);
    ck_assert_int_eq(hf_tls_error(tls)->status, aliens[_i].status);
    check_says(hf_tls_error(tls), aliens[_i].says);
}
END_TEST

START_TEST(reset_in_the_handshake_is_a_lost_connection)
{
    serve(certs.server);
    ck_assert_int_eq(know("localhost"), HF_OK);
    dial();
    ck_assert_int_eq(hf_tls_handshake(tls), HF_RESP_MORE);
    tls_peer_hang_up(&peer);    /* with our bytes unread: a reset */
    ck_assert_int_eq(end_handshake(), HF_E_CONNECT);
    check_says(hf_tls_error(tls),
               "Connection reset by peer in the TLS handshake");
}
END_TEST

/* ---- sessions ---- */

/* With a byte, which brings the tickets along. */
static void meet_again(bool is_resumed)
{
    char byte;

    dial();
    ck_assert_int_eq(end_handshake(), HF_OK);
    ck_assert_int_eq(hf_tls_is_resumed(tls), is_resumed);
    say("x", 1);
    tls_peer_say(&peer, "y", 1);
    ck_assert_int_eq(hear(&byte, 1), 0);
    ck_assert_int_eq(byte, 'y');
}

/* Also after a cut: then it matters most. Source: T19. */
START_TEST(session_is_resumed_also_after_a_cut)
{
    serve_version(AT(server), versions[_i]);
    ck_assert_int_eq(know("localhost"), HF_OK);
    meet_again(false);
    hang_up(true);
    meet_again(true);
    tls_peer_hang_up(&peer);
    await_end(HF_TLS_FAILED);
    meet_again(true);
    hang_up(false);
    meet_again(true);
}
END_TEST

/* Though the server would take it: nothing that somebody could send again.
 * Source: T19. */
START_TEST(no_byte_is_sent_early)
{
    serve_version(AT(server), TLS1_3_VERSION);
    ck_assert_int_eq(SSL_CTX_set_max_early_data(peer.ctx, 1000), 1);
    SSL_CTX_set_options(peer.ctx, SSL_OP_NO_ANTI_REPLAY);
    ck_assert_int_eq(know("localhost"), HF_OK);
    meet_again(false);
    meet_again(true);
    ck_assert_int_eq(SSL_get_early_data_status(peer.ssl),
                     SSL_EARLY_DATA_NOT_SENT);
}
END_TEST

/* Another server has other keys for its tickets. Source: T21. */
START_TEST(session_that_the_server_forgot_costs_nothing)
{
    serve_version(AT(server), versions[_i]);
    ck_assert_int_eq(know("localhost"), HF_OK);
    meet_again(false);
    hang_up(true);
    tls_peer_fini(&peer);
    serve_version(AT(chained), versions[_i]);
    meet_again(false);
    meet_again(true);
}
END_TEST

/* The certificate of a session is judged again. Source: T19. */
START_TEST(session_does_not_outlive_its_certificate)
{
    serve_version(AT(brief), versions[_i % 2]);
    ck_assert_int_eq(know("localhost"), HF_OK);
    meet_again(false);
    hang_up(true);
    if (_i / 2)
        dial();    /* while it was good: what is checked at the end counts */
    ahead = HOUR + 60;
    if (!(_i / 2))
        dial();
    ck_assert_int_eq(end_handshake(), HF_E_TLS);
    ck_assert_int_eq(hf_tls_is_resumed(tls), _i / 2);
    check_says(hf_tls_error(tls), "*certificate has expired*");
}
END_TEST

START_TEST(unverified_session_outlives_its_certificate)
{
    options.is_unverified = true;
    serve_version(AT(brief), versions[_i]);
    ck_assert_int_eq(know("localhost"), HF_OK);
    meet_again(false);
    hang_up(true);
    ahead = HOUR + 60;
    meet_again(true);
}
END_TEST

/* TLS-3 */
START_TEST(session_is_forgotten_when_a_handshake_fails)
{
    serve_version(AT(server), versions[_i]);
    ck_assert_int_eq(know("localhost"), HF_OK);
    meet_again(false);
    dial();
    ck_assert_int_eq(hf_tls_handshake(tls), HF_RESP_MORE);
    tls_peer_say_raw(&peer, "-ERR\r\n", 6);
    turn(1);
    ck_assert_int_eq(end_handshake(), HF_E_TLS);
    meet_again(false);
}
END_TEST

/* ---- files that are read again ---- */

static void read_again(const char *ca)
{
    struct hf_tls_context *latest;

    (void)strcpy(options.ca_file, ca);
    ck_assert_int_eq(hf_tls_context_new(&latest, &memory.hook, &options, "localhost",
                                        &error),
                     HF_OK);
    hf_tls_context_take_settings(context, latest);
    hf_tls_context_free(latest);
}

/* Also one whose handshake is not done. */
START_TEST(connection_keeps_the_files_of_its_time)
{
    serve_version(AT(server), versions[_i]);
    ck_assert_int_eq(know("localhost"), HF_OK);
    dial();
    ck_assert_int_eq(hf_tls_handshake(tls), HF_RESP_MORE);
    read_again(certs.other_ca);
    ck_assert_int_eq(end_handshake(), HF_OK);
    dial();
    ck_assert_int_eq(end_handshake(), HF_E_TLS);
    check_says(hf_tls_error(tls), "*signed by a CA that is not trusted here*");
    read_again(certs.ca);
    meet_again(false);
}
END_TEST

/* Another CA had judged its certificate, and a resumed session shows none. The tickets of
 * TLS 1.3 are read after the files. */
START_TEST(session_is_not_resumed_after_the_files_were_read_again)
{
    char byte;

    serve_version(AT(server), versions[_i]);
    ck_assert_int_eq(know("localhost"), HF_OK);
    meet_again(false);
    meet_again(true);
    read_again(certs.ca);
    meet_again(false);
    dial();
    ck_assert_int_eq(end_handshake(), HF_OK);
    read_again(certs.ca);
    say("x", 1);
    tls_peer_say(&peer, "y", 1);
    ck_assert_int_eq(hear(&byte, 1), 0);
    meet_again(false);
    meet_again(true);
}
END_TEST

/* ---- our own memory ---- */

START_TEST(our_memory_may_fail)
{
    serve(certs.server);
    memory_fail_at(&memory, 1);
    ck_assert_int_eq(know("localhost"), HF_E_NOMEM);
    ck_assert_int_eq(error.status, HF_E_NOMEM);
    ck_assert_int_eq(know("localhost"), HF_OK);
    fd = tls_peer_connect(&peer);
    memory_fail_at(&memory, 1);
    ck_assert_int_eq(hf_tls_new(&tls, context, fd), HF_E_NOMEM);
    ck_assert_ptr_null(tls);
}
END_TEST

START_TEST(nothing_may_be_freed)
{
    hf_tls_context_free(NULL);
    hf_tls_free(NULL, true);
}
END_TEST

/* ---- all of them ---- */

static void add_terms(Suite *s)
{
    TCase *c = tcase(s, "terms");

    tcase_add_test(c, library_is_reported);
    tcase_add_test(c, older_tls_is_refused);
    tcase_add_test(c, kernel_is_kept_out_of_it);
    tcase_add_loop_test(c, cipher_is_one_of_the_given_list, 0,
                        ROWS(ciphers));
    tcase_add_loop_test(c, protocol_that_is_requested_must_be_agreed, 0,
                        2 * ROWS(protocols));
    tcase_add_loop_test(c, server_without_tls_is_distinguished_from_a_lost_connection, 0,
                        ROWS(aliens));
    tcase_add_test(c, reset_in_the_handshake_is_a_lost_connection);
    tcase_add_test(c, our_memory_may_fail);
    tcase_add_test(c, nothing_may_be_freed);
}

static void add_sessions(Suite *s)
{
    TCase *c = tcase(s, "sessions");

    tcase_add_checked_fixture(c, turn_clock_back, NULL);
    tcase_add_loop_test(c, session_is_resumed_also_after_a_cut, 0, 2);
    tcase_add_test(c, no_byte_is_sent_early);
    tcase_add_loop_test(c, session_that_the_server_forgot_costs_nothing, 0, 2);
    tcase_add_loop_test(c, session_does_not_outlive_its_certificate, 0, 4);
    tcase_add_loop_test(c, unverified_session_outlives_its_certificate, 0, 2);
    tcase_add_loop_test(c, session_is_forgotten_when_a_handshake_fails, 0, 2);
    tcase_add_loop_test(c, connection_keeps_the_files_of_its_time, 0, 2);
    tcase_add_loop_test(c, session_is_not_resumed_after_the_files_were_read_again, 0, 2);
}

int main(void)
{
    Suite *s = suite_create("net/tls, handshake");

    add_terms(s);
    add_sessions(s);
    return run_cases(s);
}
