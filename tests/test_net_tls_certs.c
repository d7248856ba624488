/* TLS: whom we see and who we are. Names that a certificate can hold,
 * certificates of all kinds, lists of revoked ones, the files that they come
 * from, and what is said when something is wrong with them.
 * Source: docs/tls.md, rows T. */
#include "tests/test_net_tls.h"

/* ---- whom we want to see ---- */

static const struct {
    const char *host;
    const char *says;     /* NULL: it is fine */
} hosts[] = {
    {"localhost", NULL},
    {"a-1.b_2.example", NULL},
    {"4f2a9c", NULL},
    {"1.example", NULL},
    {"127.0.0.1", NULL},
    {"::1", NULL},
    {"fe80::1%eth0", NULL},
    {"", "no host name to check*"},
    {"localhost.", "*'localhost.': it holds an empty label, or ends in a dot"},
    {".example.test", "*empty label*"},
    {"a..test", "*empty label*"},
    {".", "*empty label*"},
    {"b\xc3\xbc" "cher.test",
     "*'b\xc3\xbc" "cher.test': it is not ASCII: write its xn-- form (IDNA)"},
    {"*.example.test", "*a character that no host name holds"},
    {"a b", "*a character that no host name holds"},
    {"a\x7f" "b", "*a character that no host name holds"},
    {"a/b", "*a character that no host name holds"},
    {"127.1", "*neither a name nor an address"},
    {"127.0.0.1%eth0", "*a character that no host name holds"},
    {"1.2.3.4.5", "*neither a name nor an address"},
    {"0x7f.1", "*neither a name nor an address"},
    {"host%eth0", "*a character that no host name holds"},
};

/* Sources: T5, T6. */
START_TEST(only_a_name_that_a_certificate_can_hold_is_taken)
{
    const char *says = hosts[_i].says;

    ck_assert_int_eq(know(hosts[_i].host), says ? HF_E_INVAL : HF_OK);
    if (says)
        check_says(&error, says);
    forget();
    options.is_unverified = true;    /* the same: it is sent, at least */
    ck_assert_int_eq(know(hosts[_i].host), says ? HF_E_INVAL : HF_OK);
    forget();
    (void)strcpy(options.server_name, hosts[_i].host);
    ck_assert_int_eq(know("localhost"),
                     says && hosts[_i].host[0] ? HF_E_INVAL : HF_OK);
}
END_TEST

/* 63 bytes a label, 253 a name. */
START_TEST(name_has_its_lengths)
{
    char host[256];

    memset(host, 'a', sizeof host);
    host[63] = host[127] = host[191] = '.';
    host[253] = '\0';
    ck_assert_int_eq(know(host), HF_OK);
    forget();
    host[253] = 'a';
    host[254] = '\0';
    ck_assert_int_eq(know(host), HF_E_INVAL);
    check_says(&error, "*longer than 253 bytes");
    host[63] = 'a';
    host[64] = '\0';
    ck_assert_int_eq(know(host), HF_E_INVAL);
    check_says(&error, "*longer than 63 bytes");
    host[63] = '\0';
    ck_assert_int_eq(know(host), HF_OK);
}
END_TEST

static const struct {
    const char *host;
    const char *server_name;
    const char *sent;      /* NULL: nothing */
} sent_names[] = {
    {"localhost", "", "localhost"},
    {"127.0.0.1", "", NULL},
    {"::1", "", NULL},
    {"192.0.2.1", "localhost", "localhost"},
    {"localhost", "a.example.test", "a.example.test"},
    {"localhost", "127.0.0.1", NULL},
};

/* RFC 6066 3: no literal is sent as a server's name. Source: T3. */
START_TEST(server_is_called_by_its_name_but_not_by_an_address)
{
    (void)strcpy(options.server_name, sent_names[_i].server_name);
    serve(certs.server);
    ck_assert_int_eq(know(sent_names[_i].host), HF_OK);
    dial();
    ck_assert_int_eq(end_handshake(), HF_OK);
    ck_assert_pstr_eq(SSL_get_servername(peer.ssl, TLSEXT_NAMETYPE_host_name),
                      sent_names[_i].sent);
}
END_TEST

/* ---- whom we see ---- */

#define TWO "[0-9][0-9]"
#define DATE TWO TWO "-" TWO "-" TWO " " TWO ":" TWO ":" TWO
#define BEHIND(cn)                                                            \
    " (subject CN=" cn "; issuer CN=holdfast's CA; valid from " DATE " until " \
    DATE " UTC)"

static const struct {
    size_t cert;
    const char *host;
    const char *says;      /* NULL: welcome */
} identities[] = {
    {AT(server), "localhost", NULL},
    {AT(server), "LocalHost", NULL},
    {AT(server), "a.example.test", NULL},
    {AT(server), "a.b.example.test",
     "the server's certificate is not for a.b.example.test; it holds "
     "DNS:localhost, DNS:\\*.example.test, IP Address:127.0.0.1, "
     "IP Address:0:0:0:0:0:0:0:1; tls_sni=NAME in the URL checks another name, --map FROM=TO uses "
     "another address" BEHIND("a server")},
    {AT(server), "example.test", "*is not for example.test*"},
    {AT(server), "other.test", "*is not for other.test*"},
    {AT(server), "127.0.0.1", NULL},
    {AT(server), "::1", NULL},
    {AT(server), "0:0::1", NULL},
    {AT(server), "::1%lo", NULL},
    {AT(server), "127.0.0.2", "*is not for 127.0.0.2*"},
    {AT(server), "::2", "*is not for ::2*"},
    {AT(dns_address), "127.0.0.1", "*is not for 127.0.0.1; it holds DNS:127*"},
    {AT(nul), "localhost", "*is not for localhost*"},
    {AT(cn_only), "localhost", NULL},
    {AT(cn_only), "other.test",
     "*is not for other.test; it holds no name but its subject's; tls_sni=*(subject "
     "CN=localhost;*"},
    {AT(cn_only), "127.0.0.1", "*is not for 127.0.0.1*"},
    {AT(cn_other), "localhost", "*is not for localhost; it holds DNS:other*"},
    {AT(cn_other), "other.test", NULL},
    {AT(cn_other), "bc.example.test", "*is not for bc.example.test*"},
    {AT(chained), "localhost", NULL},
    {AT(expired), "localhost",
     "the server's certificate has expired" BEHIND("expired")},
    {AT(early), "localhost",
     "the server's certificate is not valid yet; is this machine's clock "
     "right?" BEHIND("early")},
    {AT(stranger), "localhost",
     "the server's certificate is signed by a CA that is not trusted here "
     "(tls_ca) (subject CN=a stranger; issuer CN=another CA;*"},
    {AT(self_signed), "localhost",
     "the server's certificate is self-signed and not trusted here (tls_ca) "
     "(subject CN=its own; issuer CN=its own;*"},
    {AT(for_clients), "localhost",
     "the server's certificate is not meant for servers (key usage)*"},
    {AT(weak), "localhost", "*has too short a key" BEHIND("weak")},
    {AT(sha1), "localhost", "*is signed with too weak a hash" BEHIND("sha1")},
    /* Its own words cannot break the line, nor pretend to be ours. */
    {AT(nasty), "localhost",
     "*(subject CN=\"a\\\\x0d\\\\x0a\\\\x1b\\[31m\\\\x5c\", CN=b\"; issuer*"},
};

/* Sources: T1-T4, T7. */
START_TEST(certificate_is_accepted_or_refused_with_a_message)
{
    int i = _i / 2;
    const char *says = identities[i].says;

    serve_version(identities[i].cert, versions[_i % 2]);
    ck_assert_int_eq(know(identities[i].host), HF_OK);
    dial();
    ck_assert_int_eq(end_handshake(), says ? HF_E_TLS : HF_OK);
    if (says)
        check_says(hf_tls_error(tls), says);
    ck_assert_int_eq(hf_tls_handshake(tls), says ? HF_E_TLS : HF_OK);
}
END_TEST

/* As one of many hosts that a cluster announces. The first context may go. */
START_TEST(shared_context_checks_its_own_host_and_reads_no_file)
{
    struct hf_tls_context *of;
    const char *says = identities[_i].says;

    serve_version(identities[_i].cert, TLS1_3_VERSION);
    ck_assert_int_eq(know("another.example"), HF_OK);
    of = context;
    context = NULL;
    (void)strcpy(options.ca_file, "/nowhere");
    ck_assert_int_eq(hf_tls_context_share(&context, of, &options,
                                          identities[_i].host, &error),
                     HF_OK);
    hf_tls_context_free(of);
    dial();
    ck_assert_int_eq(end_handshake(), says ? HF_E_TLS : HF_OK);
    if (says)
        check_says(hf_tls_error(tls), says);
}
END_TEST

/* Source: T8. */
START_TEST(unverified_any_certificate_will_do)
{
    int i = _i / 2;

    options.is_unverified = true;
    serve_version(identities[i].cert, versions[_i % 2]);
    ck_assert_int_eq(know(identities[i].host), HF_OK);
    dial();
    ck_assert_int_eq(end_handshake(), HF_OK);
    say("x", 1);
}
END_TEST

START_TEST(no_certificate_at_all_is_refused)
{
    struct tls_peer_options of_peer = {.version = TLS1_2_VERSION,
                                       .ciphers = "aNULL:@SECLEVEL=0"};

    (void)strcpy(options.ciphers, "aNULL:@SECLEVEL=0");
    tls_peer_init(&peer, &of_peer);
    ck_assert_int_eq(know("localhost"), HF_OK);
    dial();
    ck_assert_int_eq(end_handshake(), HF_E_TLS);
    check_says(hf_tls_error(tls), "the server sent no certificate");
}
END_TEST

static const struct {
    size_t cert, crl;
    const char *says;
} revocations[] = {
    {AT(server), AT(crl), NULL},
    {AT(revoked), AT(crl), "*certificate was revoked" BEHIND("revoked")},
    {AT(server), AT(crl_old),
     "*certificate cannot be checked: the tls_crl has expired*"},
    {AT(chained), AT(crl), "*has an issuer without a list in tls_crl*"},
    {AT(chained), AT(crl_chain),
     "a CA certificate behind the server's was revoked" BEHIND("a CA between")},
};

/* Source: T7. */
START_TEST(revoked_certificate_is_refused)
{
    const char *says = revocations[_i].says;

    (void)strcpy(options.crl_file, path(revocations[_i].crl));
    serve(path(revocations[_i].cert));
    ck_assert_int_eq(know("localhost"), HF_OK);
    dial();
    ck_assert_int_eq(end_handshake(), says ? HF_E_TLS : HF_OK);
    if (says)
        check_says(hf_tls_error(tls), says);
}
END_TEST

START_TEST(folder_of_authorities_is_as_good_as_a_file)
{
    options.ca_file[0] = '\0';
    (void)strcpy(options.ca_dir, certs.ca_dir);
    serve(certs.server);
    meet();
    forget();
    options.ca_dir[0] = '\0';    /* the system's do not know ours */
    ck_assert_int_eq(know("localhost"), HF_OK);
    dial();
    ck_assert_int_eq(end_handshake(), HF_E_TLS);
    check_says(hf_tls_error(tls), "*a CA that is not trusted here (tls_ca)*");
}
END_TEST

/* ---- files that are no good ---- */

#define OPTION(field) offsetof(struct hf_tls_options, field)
#define NOWHERE "/nowhere/a\nb.pem"

static const struct {
    size_t option;
    size_t file;           /* 0: the text below */
    const char *text;
    const char *says;
} bad_settings[] = {
    {OPTION(ca_file), 0, NOWHERE,
     "tls_ca /nowhere/a\\\\x0ab.pem: No such file or directory"},
    {OPTION(ca_file), AT(nothing), "",
     "tls_ca */nothing: no CA certificate in it*"},
    {OPTION(ca_file), AT(ca_dir), "", "tls_ca */ca_dir: *"},
    {OPTION(ca_dir), 0, "/nowhere",
     "tls_ca_dir /nowhere: No such file or directory"},
    {OPTION(ca_dir), AT(ca), "", "tls_ca_dir */ca: Not a directory"},
    {OPTION(crl_file), 0, "/nowhere",
     "tls_crl /nowhere: No such file or directory"},
    {OPTION(crl_file), AT(nothing), "",
     "tls_crl */nothing: no list of revoked certificates in it*"},
    {OPTION(crl_file), AT(ca), "",
     "tls_crl */ca: no list of revoked certificates in it*"},
    {OPTION(cert_file), 0, "/nowhere",
     "tls_cert /nowhere: No such file or directory"},
    {OPTION(cert_file), AT(nothing), "",
     "tls_cert */nothing: no certificate to use in it*"},
    {OPTION(cert_file), AT(weak), "",
     "tls_cert */weak: no certificate to use in it (ee key too small)"},
    {OPTION(cert_file), AT(client_cert), "",
     "tls_cert */client_cert: no private key for the certificate*"},
    {OPTION(ciphers), 0, "NO-SUCH-CIPHER",
     "tls_ciphers NO-SUCH-CIPHER: no cipher in it (no cipher match)"},
    {OPTION(ciphersuites), 0, "TLS_NO_SUCH",
     "tls_ciphersuites TLS_NO_SUCH: no suite in it*"},
};

START_TEST(bad_file_is_named_with_its_fault)
{
    const char *file = path(bad_settings[_i].file);

    (void)strcpy((char *)&options + bad_settings[_i].option,
                 bad_settings[_i].file ? file : bad_settings[_i].text);
    ck_assert_int_eq(know("localhost"), HF_E_TLS);
    check_says(&error, bad_settings[_i].says);
    ck_assert_ptr_null(context);
    ck_assert_int_eq(hf_tls_context_new(&context, &memory.hook, &options,
                                        "localhost", NULL),
                     HF_E_TLS);
}
END_TEST

static const struct {
    size_t cert, key;      /* 0: none */
    const char *password;
    hf_status status;
    const char *says;
} keys[] = {
    {AT(client), 0, "", HF_OK, NULL},
    {AT(client_cert), AT(client_key), "", HF_OK, NULL},
    {AT(client_cert), AT(client_locked), CERTS_PASSWORD, HF_OK, NULL},
    {AT(client_locked), 0, CERTS_PASSWORD, HF_OK, NULL},
    {AT(client_locked), 0, "", HF_E_TLS,
     "tls_cert */client_locked: the key is encrypted: give tls_key_password*"},
    {AT(client_cert), AT(client_locked), "wrong", HF_E_TLS,
     "tls_key */client_locked: the key cannot be decrypted: tls_key_password "
     "is wrong*"},
    {AT(client_cert), AT(server), "", HF_E_TLS,
     "tls_key */server: no private key for the certificate (key values "
     "mismatch)"},
    {AT(client_cert), AT(nothing), "", HF_E_TLS,
     "tls_key */nothing: no private key for the certificate*"},
    {0, AT(client_key), "", HF_E_INVAL, "tls_key without tls_cert*"},
};

/* A cipher list moves the level by which keys are judged, ours too. */
START_TEST(security_level_can_be_lowered)
{
    (void)strcpy(options.cert_file, certs.weak);
    (void)strcpy(options.ciphers, "DEFAULT:@SECLEVEL=0");
    serve(certs.weak);
    meet();
}
END_TEST

/* A key without its password is never asked for on a terminal: there is one
 * here when a person runs this, and the test would hang. */
START_TEST(key_comes_with_its_certificate_and_password)
{
    if (keys[_i].cert)
        (void)strcpy(options.cert_file, path(keys[_i].cert));
    if (keys[_i].key)
        (void)strcpy(options.key_file, path(keys[_i].key));
    (void)strcpy(options.key_password, keys[_i].password);
    ck_assert_int_eq(know("localhost"), keys[_i].status);
    if (keys[_i].says)
        check_says(&error, keys[_i].says);
    ck_assert_ptr_null(strstr(error.text, CERTS_PASSWORD));
}
END_TEST

/* ---- who we are ---- */

static const struct {
    size_t ours;           /* 0: none */
    const char *says;      /* NULL: welcome */
} callers[] = {
    {AT(client), NULL},
    {0, "the server wants a client certificate (tls_cert, tls_key)"},
    {AT(client_other), "the server does not accept our certificate (tls_cert): "
                       "its CA is not trusted there"},
    {AT(expired), "the server does not accept our certificate (tls_cert): *"},
};

static void serve_callers(int version)
{
    struct tls_peer_options of_peer = {
        .cert = certs.server, .client_ca = certs.ca, .version = version};

    tls_peer_init(&peer, &of_peer);
    ck_assert_int_eq(know("localhost"), HF_OK);
    dial();
}

/* In TLS 1.3 the server judges us when we are done: its refusal comes with the
 * first read, after a write that may have failed. Source: T10. */
START_TEST(certificate_that_the_server_wants_is_requested_with_a_message)
{
    bool is_late = versions[_i % 2] == TLS1_3_VERSION;
    const char *says = callers[_i / 2].says;
    char byte;

    if (callers[_i / 2].ours)
        (void)strcpy(options.cert_file, path(callers[_i / 2].ours));
    serve_callers(versions[_i % 2]);
    ck_assert_int_eq(end_handshake(), says && !is_late ? HF_E_TLS : HF_OK);
    if (!says) {
        say("HELLO", 5);
        return;
    }
    turn(1);
    (void)close(peer.fd);
    peer.fd = -1;
    if (is_late) {
        ck_assert_int_lt(hf_tls_write(tls, "HELLO", 5), 0);
        ck_assert_int_eq(hf_tls_read(tls, &byte, 1), HF_TLS_FAILED);
    }
    ck_assert_int_eq(hf_tls_error(tls)->status, HF_E_TLS);
    check_says(hf_tls_error(tls), says);
}
END_TEST

/* A server may also hang up without a word, or its word may be lost. */
START_TEST(lost_refusal_is_guessed)
{
    char byte;

    serve_callers(TLS1_3_VERSION);
    while (hf_tls_handshake(tls) == HF_RESP_MORE)
        turn(1);
    tls_peer_hang_up(&peer);
    ck_assert_int_eq(hf_tls_read(tls, &byte, 1), HF_TLS_FAILED);
    check_says(hf_tls_error(tls), "*; it had requested a client certificate "
                                  "(tls_cert, tls_key)");
}
END_TEST

/* TLS-2: Source: T24. */
START_TEST(nothing_is_sent_before_the_peer_is_verified)
{
    char byte;

    serve(certs.server);
    ck_assert_int_eq(know("other.test"), HF_OK);
    dial();
    for (int i = 0; i < 2; i++) {    /* before, and after it has failed */
        size_t before = peer.wire_len;

        ck_assert_int_eq(hf_tls_write(tls, "AUTH secret", 11), HF_TLS_FAILED);
        ck_assert_int_eq(hf_tls_read(tls, &byte, 1), HF_TLS_FAILED);
        check_says(hf_tls_error(tls), i == 0 ? "the TLS handshake is not done"
                                             : "*is not for other.test*");
        turn(1);
        ck_assert_uint_eq(peer.wire_len, before);
        ck_assert_int_eq(end_handshake(), HF_E_TLS);
    }
}
END_TEST

/* ---- all of them ---- */

static void add_identity(Suite *s)
{
    TCase *c = tcase(s, "whom we see");

    tcase_add_loop_test(c, only_a_name_that_a_certificate_can_hold_is_taken, 0,
                        ROWS(hosts));
    tcase_add_test(c, name_has_its_lengths);
    tcase_add_loop_test(c, server_is_called_by_its_name_but_not_by_an_address,
                        0, ROWS(sent_names));
    tcase_add_loop_test(c, certificate_is_accepted_or_refused_with_a_message, 0,
                        2 * ROWS(identities));
    tcase_add_loop_test(c, shared_context_checks_its_own_host_and_reads_no_file,
                        0, ROWS(identities));
    tcase_add_loop_test(c, unverified_any_certificate_will_do, 0,
                        2 * ROWS(identities));
    tcase_add_test(c, no_certificate_at_all_is_refused);
    tcase_add_loop_test(c, revoked_certificate_is_refused, 0, ROWS(revocations));
    tcase_add_test(c, folder_of_authorities_is_as_good_as_a_file);
}

static void add_settings(Suite *s)
{
    TCase *c = tcase(s, "settings");

    tcase_add_loop_test(c, bad_file_is_named_with_its_fault, 0,
                        ROWS(bad_settings));
    tcase_add_loop_test(c, key_comes_with_its_certificate_and_password, 0,
                        ROWS(keys));
    tcase_add_test(c, security_level_can_be_lowered);
}

static void add_callers(Suite *s)
{
    TCase *c = tcase(s, "who we are");

    tcase_add_loop_test(c,
                        certificate_that_the_server_wants_is_requested_with_a_message,
                        0, 2 * ROWS(callers));
    tcase_add_test(c, lost_refusal_is_guessed);
    tcase_add_test(c, nothing_is_sent_before_the_peer_is_verified);
}

int main(void)
{
    Suite *s = suite_create("net/tls, certificates");

    add_identity(s);
    add_settings(s);
    add_callers(s);
    return run_cases(s);
}
