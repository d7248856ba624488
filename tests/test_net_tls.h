/* What the tests of TLS share: a client of ours and an OpenSSL server that acts
 * only when it is told to (support/tls_peer.h), in one thread, so that a test
 * takes the same course every time. */
#ifndef TEST_NET_TLS_H
#define TEST_NET_TLS_H

#include <check.h>
#include <fnmatch.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "net/wire/tls_openssl.h"
#include "tests/support/certs.h"
#include "tests/support/memory.h"
#include "tests/support/suite.h"
#include "tests/support/tls_peer.h"

/* Turns until something must have happened: a handshake is some 5000 bytes. */
#define TURNS_MAX 100000

/* A constant's bytes and their number, for tables. */
#define BYTES(b) "" b, sizeof("" b) - 1

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

static inline const char *path(size_t at)
{
    return (const char *)&certs + at;
}

/* ---- a client and a server ---- */

static inline void setup(void)
{
    memory_init(&memory);
    memset(&options, 0, sizeof options);
    (void)strcpy(options.ca_file, certs.ca);
    fd = -1;
}

static inline void hang_up(bool is_polite)
{
    hf_tls_free(tls, is_polite);
    tls = NULL;
    if (fd >= 0)
        (void)close(fd);
    fd = -1;
}

static inline void forget(void)
{
    hang_up(false);
    hf_tls_context_free(context);
    context = NULL;
}

static inline void teardown(void)
{
    forget();
    tls_peer_fini(&peer);
    ck_assert_pstr_eq(memory_fini(&memory), NULL);
}

static inline void serve(const char *cert)
{
    struct tls_peer_options of_peer = {.cert = cert};

    tls_peer_init(&peer, &of_peer);
}

static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};

static inline void serve_version(size_t cert, int version)
{
    struct tls_peer_options of_peer = {.cert = path(cert), .version = version};

    tls_peer_init(&peer, &of_peer);
}

static inline hf_status know(const char *host)
{
    return hf_tls_context_new(&context, &memory.hook, &options, host, &error);
}

static inline void dial(void)
{
    hang_up(false);
    fd = tls_peer_connect(&peer);
    ck_assert_int_eq(hf_tls_new(&tls, context, fd), HF_OK);
}

static inline void turn(int count)
{
    while (count-- > 0)
        tls_peer_turn(&peer);
}

static inline hf_status end_handshake(void)
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
static inline void meet(void)
{
    ck_assert_int_eq(know("localhost"), HF_OK);
    dial();
    ck_assert_int_eq(end_handshake(), HF_OK);
    for (int i = 0; !tls_peer_is_met(&peer) && i < TURNS_MAX; i++)
        tls_peer_turn(&peer);
    ck_assert(tls_peer_is_met(&peer));
}

static inline void check_says(const struct hf_error *e, const char *pattern)
{
    ck_assert_msg(fnmatch(pattern, e->text, 0) == 0, "it says: %s", e->text);
}

/* Reads until `len` bytes are there, or an end: which is returned; 0: all. */
static inline long hear(char *dst, size_t len)
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

static inline void await_end(long end)
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
static inline void say(const char *ptr, size_t len)
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

/* ---- a suite ---- */

static inline TCase *tcase(Suite *s, const char *name)
{
    TCase *c = tcase_create(name);

    tcase_add_checked_fixture(c, setup, teardown);
    tcase_set_timeout(c, 60);
    suite_add_tcase(s, c);
    return c;
}

static inline int run_cases(Suite *s)
{
    int rc;

    certs_make(&certs, NULL);
    rc = suite_run(s);
    certs_remove(&certs);
    return rc;
}

#endif
