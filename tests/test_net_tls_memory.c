/* OpenSSL without memory: each of its allocations that is made in a call of ours
 * fails once, in turn. Then there is an error, or none, but no crash, no wait
 * without an end, and above all nobody is let in who should not be: OpenSSL 3.0
 * forgets the name to check if there is no memory to copy it.
 *
 * There are some 15000 allocations in the settings, 4000 in a handshake: where
 * nothing hangs on each of them, every few are tried, and all with HF_EVERY=1.
 * A program of its own: the allocator is OpenSSL's from its first call on.
 * Source: faults.md T23. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <openssl/crypto.h>

#include "net/base/mem.h"
#include "net/wire/tls.h"
#include "tests/support/certs.h"
#include "tests/support/must.h"
#include "tests/support/suite.h"
#include "tests/support/tls_peer.h"

#define TURNS_MAX 1000

/* Primes: what comes in fours and eights is met at each of its places. */
#define STRIDE_SETTINGS 31
#define STRIDE_CONNECTION 11
#define STRIDE_RESUMING 3
#define STRIDE_STRANGER 23

static struct certs certs;    /* made once */
static struct tls_peer peer;
static struct hf_tls_options options;
static struct hf_tls_context *context;
static struct hf_tls *tls;
static struct hf_error error;
static int fd = -1;

/* ---- OpenSSL's allocator ---- */

static struct {
    bool is_ours;       /* the call under way is one of ours */
    unsigned long asked;
    unsigned long fail_at;    /* 0: never */
} heap;

static bool is_refused(void)
{
    return heap.is_ours && ++heap.asked == heap.fail_at;
}

static void *take(size_t size, const char *file, int line)
{
    (void)file;
    (void)line;
    return is_refused() ? NULL : malloc(size);
}

static void *resize(void *ptr, size_t size, const char *file, int line)
{
    (void)file;
    (void)line;
    return is_refused() ? NULL : realloc(ptr, size);
}

static void give_back(void *ptr, const char *file, int line)
{
    (void)file;
    (void)line;
    free(ptr);
}

static void fail_at(unsigned long n)
{
    heap.asked = 0;
    heap.fail_at = n;
}

static bool has_failed(void)
{
    return heap.asked >= heap.fail_at;
}

static unsigned long every(unsigned long stride)
{
    return getenv("HF_EVERY") ? 1 : stride;
}

/* ---- calls of ours ---- */

static hf_status know(const char *host)
{
    hf_status rc;

    heap.is_ours = true;
    rc = hf_tls_context_new(&context, &hf_mem_libc, &options, host, &error);
    heap.is_ours = false;
    return rc;
}

static hf_status dial(void)
{
    hf_status rc;

    fd = tls_peer_connect(&peer);
    heap.is_ours = true;
    rc = hf_tls_new(&tls, context, fd);
    heap.is_ours = false;
    return rc;
}

static hf_status end_handshake(void)
{
    hf_status rc = HF_RESP_MORE;

    for (int i = 0; rc == HF_RESP_MORE && i < TURNS_MAX; i++) {
        heap.is_ours = true;
        rc = hf_tls_handshake(tls);
        heap.is_ours = false;
        tls_peer_turn(&peer);
    }
    ck_assert_int_ne(rc, HF_RESP_MORE);
    return rc;
}

static long say(const char *ptr, size_t len)
{
    long n;

    heap.is_ours = true;
    n = hf_tls_write(tls, ptr, len);
    heap.is_ours = false;
    tls_peer_turn(&peer);
    return n;
}

static long hear(char *dst, size_t room)
{
    long n = 0;

    for (int i = 0; n == 0 && i < TURNS_MAX; i++) {
        heap.is_ours = true;
        n = hf_tls_read(tls, dst, room);
        heap.is_ours = false;
        tls_peer_turn(&peer);
    }
    return n;
}

static void hang_up(void)
{
    heap.is_ours = true;
    hf_tls_free(tls, true);
    heap.is_ours = false;
    tls = NULL;
    (void)close(fd);
}

static void forget(void)
{
    hf_tls_context_free(context);
    context = NULL;
}

static void check_error(const struct hf_error *e)
{
    ck_assert(e->status == HF_E_NOMEM || e->status == HF_E_TLS);
    ck_assert_str_ne(e->text, "");
}

/* ---- the tests ---- */

static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};

static void serve(const char *cert, int version)
{
    struct tls_peer_options of_peer = {
        .cert = cert, .client_ca = certs.ca, .version = version};

    tls_peer_init(&peer, &of_peer);
}

static void teardown(void)
{
    forget();
    tls_peer_fini(&peer);
}

static void set_all_options(void)
{
    memset(&options, 0, sizeof options);
    (void)strcpy(options.ca_file, certs.ca);
    (void)strcpy(options.crl_file, certs.crl);
    (void)strcpy(options.cert_file, certs.client_cert);
    (void)strcpy(options.key_file, certs.client_locked);
    (void)strcpy(options.key_password, CERTS_PASSWORD);
    (void)strcpy(options.ciphers, "ECDHE-ECDSA-AES256-GCM-SHA384");
    (void)strcpy(options.ciphersuites, "TLS_AES_256_GCM_SHA384");
}

START_TEST(settings_without_memory_are_an_error)
{
    unsigned long n = 1, nomem = 0;
    hf_status rc;

    set_all_options();
    do {
        fail_at(n);
        rc = know("localhost");
        if (rc < 0)
            check_error(&error);
        nomem += rc == HF_E_NOMEM;
        forget();
        n += every(STRIDE_SETTINGS);
    } while (has_failed());
    ck_assert_int_eq(rc, HF_OK);
    ck_assert_uint_gt(nomem, 10);
}
END_TEST

/* All that one does on a connection; 0, or what went wrong. */
static hf_status converse(void)
{
    char got[5];
    hf_status rc = end_handshake();
    long n;

    if (rc < 0)
        return rc;
    n = say("hello", 5);
    if (n == 5) {
        /* Without memory to send our certificate, the server refuses us. */
        ck_assert(peer.heard_len == 5 || !tls_peer_is_met(&peer));
        if (peer.heard_len == 5)
            tls_peer_say(&peer, "world", 5);
        n = hear(got, 5);
    }
    if (n == 5) {
        ck_assert_mem_eq(got, "world", 5);
        return HF_OK;
    }
    /* For good, and the reader is told, also of a write. */
    ck_assert_int_eq(n, HF_TLS_FAILED);
    ck_assert(hf_tls_has_more(tls));
    ck_assert_int_eq(hear(got, 5), HF_TLS_FAILED);
    return hf_tls_error(tls)->status;
}

/* One of ours and its server; the context has no session to resume, or one. */
static hf_status meet_once(unsigned long n)
{
    hf_status rc;

    fail_at(n);
    rc = dial();
    if (rc == HF_OK && (rc = converse()) < 0)
        check_error(hf_tls_error(tls));
    hang_up();
    return rc;
}

START_TEST(connection_without_memory_is_an_error)
{
    bool is_resuming = _i / 2;
    unsigned long n = 1, nomem = 0;
    hf_status rc;

    set_all_options();
    serve(certs.server, versions[_i % 2]);
    if (!is_resuming)
        SSL_CTX_set_options(peer.ctx, SSL_OP_NO_TICKET);
    ck_assert_int_eq(know("localhost"), HF_OK);
    do {
        if (is_resuming)
            ck_assert_int_eq(meet_once(0), HF_OK);
        rc = meet_once(n);
        nomem += rc == HF_E_NOMEM;
        n += every(is_resuming ? STRIDE_RESUMING : STRIDE_CONNECTION);
    } while (has_failed());
    ck_assert_int_eq(rc, HF_OK);
    ck_assert_uint_gt(nomem, 10);
}
END_TEST

#define AT(field) offsetof(struct certs, field)

static const struct {
    size_t cert;
    const char *host;
    int version;
    unsigned long stride;
} strangers[] = {
    {AT(server), "other.test", TLS1_2_VERSION, 1},
    {AT(server), "127.0.0.2", TLS1_3_VERSION, 5},
    {AT(stranger), "localhost", TLS1_2_VERSION, STRIDE_STRANGER},
    {AT(revoked), "localhost", TLS1_3_VERSION, STRIDE_STRANGER},
};

START_TEST(missing_memory_accepts_no_peer)
{
    unsigned long n = 1;

    set_all_options();
    serve((const char *)&certs + strangers[_i].cert, strangers[_i].version);
    ck_assert_int_eq(know(strangers[_i].host), HF_OK);
    do {
        fail_at(n);
        if (dial() == HF_OK) {
            ck_assert_int_lt(end_handshake(), 0);
            check_error(hf_tls_error(tls));
        }
        hang_up();
        n += every(strangers[_i].stride);
    } while (has_failed());
    ck_assert_uint_gt(n, 100);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("net/tls without memory");
    TCase *c = tcase_create("memory");
    int rc;

    must(CRYPTO_set_mem_functions(take, resize, give_back));
    certs_make(&certs, NULL);
    tcase_add_checked_fixture(c, NULL, teardown);
    tcase_set_timeout(c, 300);
    tcase_add_test(c, settings_without_memory_are_an_error);
    tcase_add_loop_test(c, connection_without_memory_is_an_error, 0,
                        2 * ROWS(versions));
    tcase_add_loop_test(c, missing_memory_accepts_no_peer, 0,
                        ROWS(strangers));
    suite_add_tcase(s, c);
    rc = suite_run(s);
    certs_remove(&certs);
    return rc;
}
