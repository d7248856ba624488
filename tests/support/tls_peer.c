/* An OpenSSL server between two memory BIOs, and a socket pair whose bytes are
 * moved by hand. */
#include "tests/support/tls_peer.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/err.h>

#include "tests/support/must.h"

#define CHUNK 65536

/* ---- a server ---- */

/* Whatever the client offers: the one, or none. */
static int choose_alpn(SSL *ssl, const unsigned char **out,
                       unsigned char *out_len, const unsigned char *offered,
                       unsigned offered_len, void *ctx)
{
    const char *ours = ctx;
    size_t len = strlen(ours);

    (void)ssl;
    if (offered_len != len + 1 || memcmp(offered + 1, ours, len) != 0)
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    *out = offered + 1;
    *out_len = (unsigned char)len;
    return SSL_TLSEXT_ERR_OK;
}

static void ask_certificate(SSL_CTX *ctx, const char *ca, bool is_lenient)
{
    SSL_CTX_set_verify(ctx,
                       is_lenient ? SSL_VERIFY_PEER
                                  : SSL_VERIFY_PEER |
                                        SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
                       NULL);
    must(SSL_CTX_load_verify_locations(ctx, ca, NULL));
}

void tls_peer_init(struct tls_peer *p, const struct tls_peer_options *options)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
    int version = options->version;

    *p = (struct tls_peer){.options = *options, .ctx = ctx, .fd = -1};
    must(ctx);
    SSL_CTX_set_security_level(ctx, 0); /* bad certificates are our business */
    must(SSL_CTX_set_min_proto_version(ctx, version ? version
                                                    : TLS1_2_VERSION) &&
         SSL_CTX_set_max_proto_version(ctx, version) &&
         SSL_CTX_set_session_id_context(ctx, (const void *)"test", 4));
    if (options->cert)
        must(SSL_CTX_use_certificate_chain_file(ctx, options->cert) == 1 &&
             SSL_CTX_use_PrivateKey_file(ctx, options->cert,
                                         SSL_FILETYPE_PEM) == 1);
    if (options->client_ca)
        ask_certificate(ctx, options->client_ca, options->is_lenient);
    if (options->ciphers)
        must(SSL_CTX_set_cipher_list(ctx, options->ciphers));
    if (options->alpn)
        SSL_CTX_set_alpn_select_cb(ctx, choose_alpn, (void *)options->alpn);
}

void tls_peer_fini(struct tls_peer *p)
{
    tls_peer_hang_up(p);
    SSL_CTX_free(p->ctx);
    p->ctx = NULL;
}

/* ---- a connection ---- */

static void open_ssl(struct tls_peer *p)
{
    p->ssl = SSL_new(p->ctx);
    must(p->ssl && BIO_up_ref(p->in) && BIO_up_ref(p->out));
    SSL_set_bio(p->ssl, p->in, p->out);
    SSL_set_accept_state(p->ssl);
}

int tls_peer_connect(struct tls_peer *p)
{
    int fds[2];

    must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0,
                    fds) == 0);
    tls_peer_accept(p, fds[0]);
    return fds[1];
}

void tls_peer_accept(struct tls_peer *p, int fd)
{
    tls_peer_hang_up(p);
    p->fd = fd;
    p->in = BIO_new(BIO_s_mem());
    p->out = BIO_new(BIO_s_mem());
    must(p->in && p->out);
    (void)BIO_set_mem_eof_return(p->in, -1); /* empty: not yet, not the end */
    if (!p->options.is_plain)
        open_ssl(p);
}

void tls_peer_hang_up(struct tls_peer *p)
{
    if (p->fd >= 0)
        (void)close(p->fd);
    p->fd = -1;
    SSL_free(p->ssl);
    p->ssl = NULL;
    (void)BIO_free(p->in);
    (void)BIO_free(p->out);
    p->in = p->out = NULL;
    free(p->heard);
    p->heard = NULL;
    p->heard_len = p->wire_len = 0;
}

/* ---- its turn ---- */

static size_t share(const struct tls_peer *p, size_t len)
{
    return p->step > 0 && p->step < len ? p->step : len;
}

static void take_in(struct tls_peer *p)
{
    char bytes[CHUNK];
    ssize_t n = recv(p->fd, bytes, share(p, sizeof bytes), 0);

    if (n <= 0)
        return;
    must(BIO_write(p->in, bytes, (int)n) == n);
    p->wire_len += (size_t)n;
}

static void give_out(struct tls_peer *p)
{
    char *ptr, sent[CHUNK];
    long len = BIO_get_mem_data(p->out, &ptr);
    size_t most = share(p, len < CHUNK ? (size_t)len : CHUNK);
    ssize_t n = len > 0 ? send(p->fd, ptr, most, MSG_NOSIGNAL) : 0;

    if (n > 0)
        must(BIO_read(p->out, sent, (int)n) == n);
}

static int read_some(struct tls_peer *p, char *dst, int room)
{
    return p->ssl ? SSL_read(p->ssl, dst, room) : BIO_read(p->in, dst, room);
}

static void listen_on(struct tls_peer *p)
{
    char bytes[CHUNK];
    int n;

    while ((n = read_some(p, bytes, sizeof bytes)) > 0) {
        p->heard = realloc(p->heard, p->heard_len + (size_t)n);
        must(p->heard);
        memcpy(p->heard + p->heard_len, bytes, (size_t)n);
        p->heard_len += (size_t)n;
    }
}

/* Its errors stay in the thread's queue, where the client must not trip over
 * them (faults.md T16). */
void tls_peer_turn(struct tls_peer *p)
{
    if (p->fd < 0)
        return;
    take_in(p);
    if (p->ssl && !SSL_is_init_finished(p->ssl))
        (void)SSL_do_handshake(p->ssl);
    if (!p->ssl || SSL_is_init_finished(p->ssl))
        listen_on(p);
    give_out(p);
}

void tls_peer_say(struct tls_peer *p, const void *ptr, size_t len)
{
    must(SSL_write(p->ssl, ptr, (int)len) == (int)len);
}

void tls_peer_say_raw(struct tls_peer *p, const void *ptr, size_t len)
{
    must(BIO_write(p->out, ptr, (int)len) == (int)len);
}

void tls_peer_bye(struct tls_peer *p)
{
    must(SSL_shutdown(p->ssl) >= 0);
}

bool tls_peer_is_met(const struct tls_peer *p)
{
    return p->ssl && SSL_is_init_finished(p->ssl);
}

bool tls_peer_has_goodbye(const struct tls_peer *p)
{
    return p->ssl && SSL_get_shutdown(p->ssl) & SSL_RECEIVED_SHUTDOWN;
}
