/* TLS against an OpenSSL server that acts only when it is told to
 * (support/tls_peer.h): names, certificates, files, bytes in all sorts of
 * pieces, ends of all kinds, sessions. The clock is turned by hand. What happens
 * when OpenSSL has no memory: test_net_tls_memory.c.
 * Source: faults.md 3.3, rows T. */
#include <check.h>
#include <errno.h>
#include <fnmatch.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <openssl/err.h>

#include "net/socket.h"
#include "net/tls_openssl.h"
#include "tests/support/certs.h"
#include "tests/support/local.h"
#include "tests/support/memory.h"
#include "tests/support/suite.h"
#include "tests/support/tls_peer.h"

#define ROWS(table) ((int)(sizeof(table) / sizeof *(table)))

/* Turns until something must have happened: a handshake is some 5000 bytes. */
#define TURNS_MAX 100000

#define RECORD_MAX 16384
#define HOUR 3600

static struct certs certs;    /* made once */
static struct memory memory;
static struct hf_tls_options options;
static struct tls_peer peer;
static struct hf_tls_context *context;
static struct hf_tls *tls;
static struct hf_error error;
static int fd;

/* A file among the certificates, as a constant for tables. 0: the folder. */
#define AT(field) offsetof(struct certs, field)

static const char *path(size_t at)
{
    return (const char *)&certs + at;
}

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

/* ---- a client and a server ---- */

static void setup(void)
{
    memory_init(&memory);
    memset(&options, 0, sizeof options);
    (void)strcpy(options.ca_file, certs.ca);
    fd = -1;
    ahead = 0;
}

static void hang_up(bool is_polite)
{
    hf_tls_free(tls, is_polite);
    tls = NULL;
    if (fd >= 0)
        (void)close(fd);
    fd = -1;
}

static void forget(void)
{
    hang_up(false);
    hf_tls_context_free(context);
    context = NULL;
}

static void teardown(void)
{
    forget();
    tls_peer_fini(&peer);
    ck_assert_pstr_eq(memory_fini(&memory), NULL);
}

static void serve(const char *cert)
{
    struct tls_peer_options of_peer = {.cert = cert};

    tls_peer_init(&peer, &of_peer);
}

static hf_status know(const char *host)
{
    return hf_tls_context_new(&context, &memory.hook, &options, host, &error);
}

static void dial(void)
{
    hang_up(false);
    fd = tls_peer_connect(&peer);
    ck_assert_int_eq(hf_tls_new(&tls, context, fd), HF_OK);
}

static void turn(int count)
{
    while (count-- > 0)
        tls_peer_turn(&peer);
}

static hf_status greet(void)
{
    hf_status rc = HF_RESP_MORE;

    for (int i = 0; rc == HF_RESP_MORE && i < TURNS_MAX; i++) {
        rc = hf_tls_handshake(tls);
        tls_peer_turn(&peer);
    }
    ck_assert_msg(rc != HF_RESP_MORE, "a handshake without an end");
    return rc;
}

/* To a server of localhost, all well. */
static void meet(void)
{
    ck_assert_int_eq(know("localhost"), HF_OK);
    dial();
    ck_assert_int_eq(greet(), HF_OK);
    for (int i = 0; !tls_peer_is_met(&peer) && i < TURNS_MAX; i++)
        tls_peer_turn(&peer);
    ck_assert(tls_peer_is_met(&peer));
}

static void check_says(const struct hf_error *e, const char *pattern)
{
    ck_assert_msg(fnmatch(pattern, e->text, 0) == 0, "it says: %s", e->text);
}

/* Reads until `len` bytes are there, or an end: which is returned; 0: all. */
static long hear(char *dst, size_t len)
{
    size_t have = 0;
    long n;

    for (int i = 0; have < len && i < TURNS_MAX; i++) {
        n = hf_tls_read(tls, dst + have, len - have);
        if (n < 0)
            return n;
        have += (size_t)n;
        if (n == 0)
            tls_peer_turn(&peer);
    }
    ck_assert_uint_eq(have, len);
    return 0;
}

static void await_end(long end)
{
    char byte;
    long n = 0;

    for (int i = 0; n == 0 && i < TURNS_MAX; i++) {
        n = hf_tls_read(tls, &byte, 1);
        tls_peer_turn(&peer);
    }
    ck_assert_int_eq(n, end);
}

/* Writes it all; the server hears it. */
static void say(const char *ptr, size_t len)
{
    size_t at = peer.heard_len, sent = 0;
    long n;

    for (int i = 0; peer.heard_len < at + len && i < TURNS_MAX; i++) {
        n = sent < len ? hf_tls_write(tls, ptr + sent, len - sent) : 0;
        ck_assert_int_ge(n, 0);
        sent += (size_t)n;
        tls_peer_turn(&peer);
    }
    ck_assert_uint_eq(peer.heard_len, at + len);
    ck_assert_mem_eq(peer.heard + at, ptr, len);
}

static char *noise(size_t len)
{
    char *bytes = local_new(len);

    for (size_t i = 0; i < len; i++)
        bytes[i] = (char)(i * 7 + i / 251);
    return bytes;
}

/* With a byte, which brings the tickets along. */
static void meet_again(bool is_resumed)
{
    char byte;

    dial();
    ck_assert_int_eq(greet(), HF_OK);
    ck_assert_int_eq(hf_tls_is_resumed(tls), is_resumed);
    say("x", 1);
    tls_peer_say(&peer, "y", 1);
    ck_assert_int_eq(hear(&byte, 1), 0);
    ck_assert_int_eq(byte, 'y');
}

#define BYTES(b) "" b, sizeof("" b) - 1

static const struct {
    const char *bytes;
    size_t len;
    const char *says;
} forgeries[] = {
    {BYTES("\x17\x03\x03\x00\x20" "................................"),
     "bytes were changed on their way to us (bad record MAC)"},
    {BYTES("+OK\r\n+OK\r\n"), "TLS failed: *"},
};

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
     "*'b\\\\xc3\\\\xbccher.test': it is not ASCII: write its xn-- form (IDNA)"},
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
    ck_assert_int_eq(greet(), HF_OK);
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
     "IP Address:0:0:0:0:0:0:0:1" BEHIND("a server")},
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
     "*is not for other.test; it holds no name but its subject's (subject "
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

static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};

static void serve_version(size_t cert, int version)
{
    struct tls_peer_options of_peer = {.cert = path(cert), .version = version};

    tls_peer_init(&peer, &of_peer);
}

/* Sources: T1-T4, T7. */
START_TEST(certificate_is_taken_or_refused_in_words)
{
    int i = _i / 2;
    const char *says = identities[i].says;

    serve_version(identities[i].cert, versions[_i % 2]);
    ck_assert_int_eq(know(identities[i].host), HF_OK);
    dial();
    ck_assert_int_eq(greet(), says ? HF_E_TLS : HF_OK);
    if (says)
        check_says(hf_tls_error(tls), says);
    ck_assert_int_eq(hf_tls_handshake(tls), says ? HF_E_TLS : HF_OK);
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
    ck_assert_int_eq(greet(), HF_OK);
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
    ck_assert_int_eq(greet(), HF_E_TLS);
    check_says(hf_tls_error(tls), "the server shows no certificate");
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
START_TEST(what_is_revoked_is_refused)
{
    const char *says = revocations[_i].says;

    (void)strcpy(options.crl_file, path(revocations[_i].crl));
    serve(path(revocations[_i].cert));
    ck_assert_int_eq(know("localhost"), HF_OK);
    dial();
    ck_assert_int_eq(greet(), says ? HF_E_TLS : HF_OK);
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
    ck_assert_int_eq(greet(), HF_E_TLS);
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

START_TEST(bad_file_is_named_with_what_is_wrong)
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
START_TEST(who_must_can_lower_the_level)
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

/* ---- how we speak ---- */

START_TEST(library_is_told)
{
    ck_assert_int_eq(strncmp(hf_tls_library(), "OpenSSL ", 8), 0);
}
END_TEST

/* Though openssl.cnf ask for it ("Options = KTLS"). Source: T22. */
START_TEST(kernel_is_kept_out_of_it)
{
    struct hf_tls_name name = {.text = "localhost"};
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());

    SSL_CTX_set_options(ctx, SSL_OP_ENABLE_KTLS);
    (void)strcpy(options.ca_file, certs.ca);
    ck_assert_int_eq(hf_tls_settings_apply(ctx, &options, &name, &error),
                     HF_OK);
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
    ck_assert_int_eq(greet(), HF_E_TLS);
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

START_TEST(cipher_is_one_of_those_that_are_given)
{
    struct tls_peer_options of_peer = {.cert = certs.server,
                                       .version = ciphers[_i].version,
                                       .ciphers = ciphers[_i].theirs};

    tls_peer_init(&peer, &of_peer);
    (void)strcpy(options.ciphers, ciphers[_i].ciphers);
    (void)strcpy(options.ciphersuites, ciphers[_i].suites);
    ck_assert_int_eq(know("localhost"), HF_OK);
    dial();
    ck_assert_int_eq(greet(), ciphers[_i].chosen ? HF_OK : HF_E_TLS);
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
     "the server does not speak the protocol asked for (tls_alpn)"},
    {"redis", NULL,
     "the server does not agree to the protocol asked for (tls_alpn)"},
};

START_TEST(protocol_that_is_asked_for_must_be_agreed)
{
    struct tls_peer_options of_peer = {.cert = certs.server,
                                       .version = versions[_i % 2],
                                       .alpn = protocols[_i / 2].spoken};
    const char *says = protocols[_i / 2].says;

    tls_peer_init(&peer, &of_peer);
    (void)strcpy(options.alpn, protocols[_i / 2].asked);
    ck_assert_int_eq(know("localhost"), HF_OK);
    dial();
    ck_assert_int_eq(greet(), says ? HF_E_TLS : HF_OK);
    if (says)
        check_says(hf_tls_error(tls), says);
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
START_TEST(certificate_that_the_server_wants_is_asked_for_in_words)
{
    bool is_late = versions[_i % 2] == TLS1_3_VERSION;
    const char *says = callers[_i / 2].says;
    char byte;

    if (callers[_i / 2].ours)
        (void)strcpy(options.cert_file, path(callers[_i / 2].ours));
    serve_callers(versions[_i % 2]);
    ck_assert_int_eq(greet(), says && !is_late ? HF_E_TLS : HF_OK);
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
    check_says(hf_tls_error(tls), "*; it had asked for a client certificate "
                                  "(tls_cert, tls_key)");
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

/* Somebody wrote into our connection. */
START_TEST(bytes_changed_on_their_way_are_told)
{
    meet_lenient();
    ck_assert_int_eq(hf_socket_write(fd, forgeries[0].bytes, forgeries[0].len),
                     forgeries[0].len);
    await_end(HF_TLS_FAILED);
    check_says(hf_tls_error(tls), "bytes were changed on their way to the "
                                  "server (bad record MAC)");
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
START_TEST(server_without_tls_is_told_from_a_lost_connection)
{
    struct tls_peer_options of_peer = {.is_plain = true};

    tls_peer_init(&peer, &of_peer);
    ck_assert_int_eq(know("localhost"), HF_OK);
    dial();
    ck_assert_int_eq(hf_tls_handshake(tls), HF_RESP_MORE);
    ck_assert_int_eq(hf_tls_wants(tls), HF_READ);
    tls_peer_say_raw(&peer, aliens[_i].bytes, aliens[_i].len);
    turn(1);
    ck_assert_uint_gt(peer.heard_len, 100);
    tls_peer_hang_up(&peer);
    ck_assert_int_eq(greet(), aliens[_i].status);
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
    ck_assert_int_eq(greet(), HF_E_CONNECT);
    check_says(hf_tls_error(tls),
               "Connection reset by peer in the TLS handshake");
}
END_TEST

/* Source: T24. */
START_TEST(nothing_is_said_before_we_know_to_whom)
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
        ck_assert_int_eq(greet(), HF_E_TLS);
    }
}
END_TEST

/* ---- bytes ---- */

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

/* Source: T13. */
START_TEST(bytes_inside_are_told_though_the_descriptor_is_silent)
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
    ck_assert_int_eq(hf_tls_wants(tls), HF_READ);
    ck_assert_mem_eq(got, sent, RECORD_MAX);
    free(sent);
    free(got);
}
END_TEST

/* Also where they are whole records that nobody has looked into yet. */
START_TEST(record_inside_is_told)
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

/* One read takes all that has come, however many records it is. */
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
    ck_assert_int_eq(hf_tls_read(tls, got, len), len);
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
    ck_assert_int_eq(hf_tls_wants(tls), HF_READ);
    n = hf_tls_write(tls, sent, len);
    ck_assert_int_ge(n, RECORD_MAX);
    ck_assert_int_lt(n, len);
    ck_assert_int_eq(hf_tls_wants(tls), HF_READ | HF_WRITE);
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
START_TEST(write_goes_on_from_a_buffer_that_grows_and_moves)
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
            ck_assert_int_eq(hf_tls_wants(tls), HF_READ | HF_WRITE);
        o.sent += (size_t)n;
        o.grown += o.grown + 30000 < o.len ? 30000 : o.len - o.grown;
        if (i % 3 == 0)
            turn(1);
    }
    turn(2);
    ck_assert_int_gt(blocked, 10);
    ck_assert_int_eq(hf_tls_wants(tls), HF_READ);
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
        ck_assert_int_eq(hf_tls_wants(tls), HF_WRITE);
    }
    drain_socket(junk);
    ck_assert_int_eq(greet(), HF_OK);
    say("x", 1);
}
END_TEST

/* The server wants new keys in both directions: our answer needs room that is
 * not there, and what was to be read is read all the same. Source: T14. */
START_TEST(read_goes_on_while_there_is_no_room_to_write)
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
    ck_assert(hf_tls_wants(tls) & HF_WRITE);
    ck_assert_int_eq(hear(got, 5), 0);
    ck_assert_mem_eq(got, "hello", 5);
    ck_assert_int_eq(hf_tls_write(tls, "and you", 7), 0);
    ck_assert_int_eq(hf_tls_wants(tls), HF_READ | HF_WRITE);
    drain_socket(junk);
    say("and you", 7);
    ck_assert_int_eq(hf_tls_wants(tls), HF_READ);
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

/* As another user of OpenSSL in this thread may leave it. */
static void leave_an_error(void)
{
    ck_assert_ptr_null(BIO_new_file("/nowhere", "r"));
    ck_assert_uint_ne(ERR_peek_error(), 0);
}

/* Source: T16. */
START_TEST(error_of_somebody_else_does_not_end_a_connection)
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
    ck_assert_int_eq(hf_tls_wants(tls), HF_READ | HF_WRITE);
}
END_TEST

/* And we leave none to others. */
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

START_TEST(reset_is_told_as_by_a_socket)
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
START_TEST(write_to_nobody_is_an_error_and_no_signal)
{
    serve(certs.server);
    meet();
    tls_peer_hang_up(&peer);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(hf_tls_write(tls, "x", 1), -EPIPE);
    hang_up(true);
}
END_TEST

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

START_TEST(goodbye_is_said_only_if_polite)
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

/* ---- sessions ---- */

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
    ck_assert_int_eq(greet(), HF_E_TLS);
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

START_TEST(session_is_forgotten_when_a_handshake_fails)
{
    serve_version(AT(server), versions[_i]);
    ck_assert_int_eq(know("localhost"), HF_OK);
    meet_again(false);
    dial();
    ck_assert_int_eq(hf_tls_handshake(tls), HF_RESP_MORE);
    tls_peer_say_raw(&peer, "-ERR\r\n", 6);
    turn(1);
    ck_assert_int_eq(greet(), HF_E_TLS);
    meet_again(false);
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

static TCase *tcase(Suite *s, const char *name)
{
    TCase *c = tcase_create(name);

    tcase_add_checked_fixture(c, setup, teardown);
    tcase_set_timeout(c, 60);
    suite_add_tcase(s, c);
    return c;
}

static void add_identity(Suite *s)
{
    TCase *c = tcase(s, "whom we see");

    tcase_add_loop_test(c, only_a_name_that_a_certificate_can_hold_is_taken, 0,
                        ROWS(hosts));
    tcase_add_test(c, name_has_its_lengths);
    tcase_add_loop_test(c, server_is_called_by_its_name_but_not_by_an_address,
                        0, ROWS(sent_names));
    tcase_add_loop_test(c, certificate_is_taken_or_refused_in_words, 0,
                        2 * ROWS(identities));
    tcase_add_loop_test(c, unverified_any_certificate_will_do, 0,
                        2 * ROWS(identities));
    tcase_add_test(c, no_certificate_at_all_is_refused);
    tcase_add_loop_test(c, what_is_revoked_is_refused, 0, ROWS(revocations));
    tcase_add_test(c, folder_of_authorities_is_as_good_as_a_file);
}

static void add_settings(Suite *s)
{
    TCase *c = tcase(s, "settings");

    tcase_add_loop_test(c, bad_file_is_named_with_what_is_wrong, 0,
                        ROWS(bad_settings));
    tcase_add_loop_test(c, key_comes_with_its_certificate_and_password, 0,
                        ROWS(keys));
    tcase_add_test(c, who_must_can_lower_the_level);
    tcase_add_test(c, library_is_told);
    tcase_add_test(c, older_tls_is_refused);
    tcase_add_test(c, kernel_is_kept_out_of_it);
    tcase_add_loop_test(c, cipher_is_one_of_those_that_are_given, 0,
                        ROWS(ciphers));
    tcase_add_loop_test(c, protocol_that_is_asked_for_must_be_agreed, 0,
                        2 * ROWS(protocols));
    tcase_add_test(c, our_memory_may_fail);
    tcase_add_test(c, nothing_may_be_freed);
}

static void add_handshake(Suite *s)
{
    TCase *c = tcase(s, "handshake");

    tcase_add_test(c, renegotiation_is_declined);
    tcase_add_loop_test(c,
                        certificate_that_the_server_wants_is_asked_for_in_words,
                        0, 2 * ROWS(callers));
    tcase_add_test(c, lost_refusal_is_guessed);
    tcase_add_test(c, nothing_is_guessed_of_a_server_that_has_spoken);
    tcase_add_test(c, bytes_changed_on_their_way_are_told);
    tcase_add_loop_test(c, server_without_tls_is_told_from_a_lost_connection, 0,
                        ROWS(aliens));
    tcase_add_test(c, reset_in_the_handshake_is_a_lost_connection);
    tcase_add_test(c, nothing_is_said_before_we_know_to_whom);
}

static void add_bytes(Suite *s)
{
    TCase *c = tcase(s, "bytes");

    tcase_add_loop_test(c, bytes_are_the_same_in_whatever_pieces_they_come, 0,
                        2 * ROWS(steps));
    tcase_add_loop_test(c, bytes_inside_are_told_though_the_descriptor_is_silent,
                        0, 2);
    tcase_add_loop_test(c, record_inside_is_told, 0, 2);
    tcase_add_loop_test(c, part_of_a_record_is_nothing_to_read, 0, 2);
    tcase_add_test(c, read_fills_its_room);
    tcase_add_loop_test(c, write_fills_the_socket, 0, 2);
    tcase_add_loop_test(c, write_goes_on_from_a_buffer_that_grows_and_moves, 0,
                        2);
    tcase_add_test(c, handshake_waits_for_room_to_write);
    tcase_add_test(c, read_goes_on_while_there_is_no_room_to_write);
    tcase_add_test(c, new_keys_do_not_spoil_a_write_under_way);
    tcase_add_test(c, error_of_somebody_else_does_not_end_a_connection);
    tcase_add_test(c, no_error_is_left_for_others);
}

static void add_ends(Suite *s)
{
    TCase *c = tcase(s, "ends");

    tcase_add_loop_test(c, goodbye_is_the_end, 0, 2);
    tcase_add_loop_test(c, end_without_a_goodbye_is_an_error, 0, 2);
    tcase_add_test(c, reset_is_told_as_by_a_socket);
    tcase_add_test(c, write_to_nobody_is_an_error_and_no_signal);
    tcase_add_loop_test(c, forged_bytes_are_not_delivered, 0,
                        2 * ROWS(forgeries));
    tcase_add_loop_test(c, goodbye_is_said_only_if_polite, 0, 4);
    tcase_add_test(c, goodbye_never_waits);
    tcase_add_test(c, goodbye_in_the_handshake_is_harmless);
}

static void add_sessions(Suite *s)
{
    TCase *c = tcase(s, "sessions");

    tcase_add_loop_test(c, session_is_resumed_also_after_a_cut, 0, 2);
    tcase_add_test(c, no_byte_is_sent_early);
    tcase_add_loop_test(c, session_that_the_server_forgot_costs_nothing, 0, 2);
    tcase_add_loop_test(c, session_does_not_outlive_its_certificate, 0, 4);
    tcase_add_loop_test(c, unverified_session_outlives_its_certificate, 0, 2);
    tcase_add_loop_test(c, session_is_forgotten_when_a_handshake_fails, 0, 2);
}

int main(void)
{
    Suite *s = suite_create("net/tls");
    int rc;

    certs_make(&certs, NULL);
    add_identity(s);
    add_settings(s);
    add_handshake(s);
    add_bytes(s);
    add_ends(s);
    add_sessions(s);
    rc = suite_run(s);
    certs_remove(&certs);
    return rc;
}
