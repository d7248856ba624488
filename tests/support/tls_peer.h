/* The server's end of a TLS connection, in the test's own thread: it does
 * something only in its turn, so a test takes the same course every time, and
 * the network between the two is the test's to cut, slow down and spoil.
 *
 *     tls_peer_init(&peer, &(struct tls_peer_options){.cert = certs.server});
 *     fd = tls_peer_connect(&peer);
 *     while (hf_tls_handshake(tls) == HF_RESP_MORE)
 *         tls_peer_turn(&peer);
 */
#ifndef TEST_TLS_PEER_H
#define TEST_TLS_PEER_H

#include <stdbool.h>
#include <stddef.h>

#include <openssl/ssl.h>

struct tls_peer_options {
    const char *cert;         /* PEM, with its key; NULL: has none */
    const char *client_ca;    /* demands a certificate by it; NULL: asks none */
    bool is_lenient;          /* it asks, and does without */
    int version;              /* TLS1_2_VERSION or another alone; 0: any */
    const char *ciphers;      /* NULL: OpenSSL's own */
    const char *alpn;         /* the one it speaks; NULL: it knows of none */
    bool is_plain;            /* no TLS: what comes and goes is as it is */
};

struct tls_peer {
    struct tls_peer_options options;
    SSL_CTX *ctx;
    size_t step;              /* bytes a turn, in each direction; 0: all */
    /* Of the present connection. */
    SSL *ssl;                 /* NULL: there is none, or it is plain */
    BIO *in, *out;            /* what came, and what is to go: as on the wire */
    int fd;                   /* -1: hung up */
    char *heard;              /* what the client said */
    size_t heard_len;
    size_t wire_len;          /* bytes that came, as on the wire */
};

/* tls_peer_init - `options` are copied, what they point at is borrowed. Ends
 *                 the program if the options make no server. */
void tls_peer_init(struct tls_peer *p, const struct tls_peer_options *options);
void tls_peer_fini(struct tls_peer *p);

/* tls_peer_connect - a new connection; the last one is hung up. The client's
 *   end, non-blocking, the caller's to close. Sessions live on. */
int tls_peer_connect(struct tls_peer *p);

/* tls_peer_accept - the same over `fd`, which the peer takes. */
void tls_peer_accept(struct tls_peer *p, int fd);

/* tls_peer_turn - takes what came, goes on with the handshake or reads, sends
 * what is to go, as far as the socket takes it. */
void tls_peer_turn(struct tls_peer *p);

/* tls_peer_say     - goes out in the next turns.
 * tls_peer_say_raw - as it is, past TLS.
 * tls_peer_bye     - says goodbye, likewise.
 * tls_peer_hang_up - closes the socket, at once. */
void tls_peer_say(struct tls_peer *p, const void *ptr, size_t len);
void tls_peer_say_raw(struct tls_peer *p, const void *ptr, size_t len);
void tls_peer_bye(struct tls_peer *p);
void tls_peer_hang_up(struct tls_peer *p);

/* tls_peer_is_met      - is its handshake done?
 * tls_peer_has_goodbye - has the client said goodbye? */
bool tls_peer_is_met(const struct tls_peer *p);
bool tls_peer_has_goodbye(const struct tls_peer *p);

#endif
