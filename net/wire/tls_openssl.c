/* TLS connections, by OpenSSL over our own sockets.
 *
 * TLS-1  OpenSSL judges by the first error of the thread's queue: the queue is
 *        emptied before each call, and left empty.
 * TLS-2  Nothing is read or written before the handshake is done and the
 *        certificate is judged by us: `end` says so until then.
 * TLS-3  A session is forgotten if its handshake fails, and when the files are read
 *        again.
 * TLS-4  Reads and writes go on until they are done or would block: bytes
 *        inside of OpenSSL make no descriptor ready. */
/* Tests: tests/test_net_tls_handshake.c, tests/test_net_tls_stream.c,
 *        tests/test_net_tls_memory.c. */
#include "net/wire/tls_openssl.h"

#include <string.h>

#include <openssl/bio.h>
#include <openssl/err.h>

#include "net/base/error.h"
#include "net/base/mem.h"
#include "net/wire/socket.h"

struct hf_tls_context {
    /* Set once. */
    const struct hf_mem *mem;
    BIO_METHOD *socket;
    struct hf_tls_name name;
    bool is_unverified;
    char alpn[sizeof((struct hf_tls_options *)0)->alpn];
    /* Under the loop's lock. */
    SSL_CTX *ctx;                 /* for new connections; each refers to its own */
    SSL_SESSION *session;         /* the latest of a connection of `ctx`; NULL: none */
};

struct hf_tls {
    struct hf_tls_context *context;
    SSL *ssl;
    int fd;
    bool is_in_handshake;         /* the handshake is not done (TLS-2) */
    bool is_certificate_missing;  /* the server requested a client certificate */
    bool has_heard;               /* a byte, since the handshake */
    bool is_drained;              /* the socket returned less than requested */
    long broken;                  /* the socket's last failure; 0: none */
    int read_wants;
    int write_wants;
    long end;                     /* what reads come to; 0: not yet */
    struct hf_error error;
};

const char *hf_tls_library(void)
{
    return OpenSSL_version(OPENSSL_VERSION);
}

/* ---- our socket as OpenSSL's ---- */

/* After a short read the socket counts as empty, which saves the system call that would
 * confirm it: poll(2) reports if more has arrived. */
static int socket_read(BIO *bio, char *dst, int room)
{
    struct hf_tls *tls = BIO_get_data(bio);
    long n = 0;

    BIO_clear_retry_flags(bio);
    if (!tls->is_drained)
        n = hf_socket_read(tls->fd, dst, (size_t)room);
    if (n == 0)
        BIO_set_retry_read(bio);
    if (n < 0)
        tls->broken = n;
    tls->is_drained = n < room;
    return n > 0 ? (int)n : -1;
}

static int socket_write(BIO *bio, const char *ptr, int len)
{
    struct hf_tls *tls = BIO_get_data(bio);
    long n = hf_socket_write(tls->fd, ptr, (size_t)len);

    BIO_clear_retry_flags(bio);
    if (n == 0)
        BIO_set_retry_write(bio);
    if (n < 0)
        tls->broken = n;
    return n > 0 ? (int)n : -1;
}

/* The only command that matters is to flush, and no byte is ever held back. */
static long socket_control(BIO *bio, int command, long number, void *ptr)
{
    (void)bio;
    (void)number;
    (void)ptr;
    return command == BIO_CTRL_FLUSH;
}

/* Not with an ex_data index: there are few of them, and they are never freed. */
static BIO_METHOD *socket_method_new(void)
{
    BIO_METHOD *m = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "holdfast");

    if (m && BIO_meth_set_read(m, socket_read) &&
        BIO_meth_set_write(m, socket_write) &&
        BIO_meth_set_ctrl(m, socket_control))
        return m;
    BIO_meth_free(m);
    return NULL;
}

/* ---- the certificate ---- */

/* OpenSSL's own verdict, while it verifies. It ends at the first fault. */
static int on_verify(int is_fine, X509_STORE_CTX *store)
{
    SSL *ssl = X509_STORE_CTX_get_ex_data(
        store, SSL_get_ex_data_X509_STORE_CTX_idx());
    struct hf_tls *tls = SSL_get_app_data(ssl);

    if (!is_fine)
        hf_tls_fill_certificate(&tls->error, X509_STORE_CTX_get_error(store),
                               X509_STORE_CTX_get_current_cert(store),
                               X509_STORE_CTX_get_error_depth(store),
                               &tls->context->name);
    return is_fine;
}

static int date_fault_of_certificate(X509 *cert)
{
    if (X509_cmp_current_time(X509_get0_notBefore(cert)) >= 0)
        return X509_V_ERR_CERT_NOT_YET_VALID;
    if (X509_cmp_current_time(X509_get0_notAfter(cert)) <= 0)
        return X509_V_ERR_CERT_HAS_EXPIRED;
    return X509_V_OK;
}

static int name_fault_of_certificate(X509 *cert, const struct hf_tls_name *name)
{
    if (name->is_address)
        return X509_check_ip_asc(cert, name->host, 0) == 1
                   ? X509_V_OK
                   : X509_V_ERR_IP_ADDRESS_MISMATCH;
    return X509_check_host(cert, name->host, 0, HF_TLS_HOST_FLAGS, NULL) == 1
               ? X509_V_OK
               : X509_V_ERR_HOSTNAME_MISMATCH;
}

/* Our own check, after that of OpenSSL. A resumed session is not verified again, and
 * its certificate may have expired since; a cipher without certificates has nothing to
 * verify; and if memory runs out at the wrong moment, OpenSSL forgets the name to check
 * and continues (ssl_cert.c ignores every result of X509_VERIFY_PARAM_set1). */
static int verify_certificate(const struct hf_tls *tls, X509 *cert)
{
    int why = (int)SSL_get_verify_result(tls->ssl);

    if (!cert)
        return X509_V_ERR_UNSPECIFIED;
    if (why == X509_V_OK)
        why = date_fault_of_certificate(cert);
    return why == X509_V_OK ? name_fault_of_certificate(cert, &tls->context->name) : why;
}

static X509 *certificate_of_session(SSL_SESSION *session)
{
    return session ? SSL_SESSION_get0_peer(session) : NULL;
}

/* ---- sessions ---- */

static void forget_session(struct hf_tls_context *c)
{
    SSL_SESSION_free(c->session);
    c->session = NULL;
}

/* TLS 1.2: in the handshake. TLS 1.3: with what is read after it, perhaps when the files
 * were read again (TLS-3). */
static int on_new_session(SSL *ssl, SSL_SESSION *session)
{
    struct hf_tls *tls = SSL_get_app_data(ssl);

    if (SSL_get_SSL_CTX(ssl) != tls->context->ctx)
        return 0;
    forget_session(tls->context);
    tls->context->session = session;
    return 1;    /* it is ours now */
}

/* With a certificate that has expired, the server is to show a new one. */
static void offer_saved_session(struct hf_tls *tls)
{
    struct hf_tls_context *c = tls->context;
    X509 *cert = certificate_of_session(c->session);

    if (cert && !c->is_unverified && date_fault_of_certificate(cert) != X509_V_OK)
        forget_session(c);
    if (c->session)
        (void)SSL_set_session(tls->ssl, c->session);    /* else a full one */
}

/* ---- a context ---- */

static int on_certificate_wanted(SSL *ssl, X509 **cert, EVP_PKEY **key)
{
    struct hf_tls *tls = SSL_get_app_data(ssl);

    (void)cert;
    (void)key;
    tls->is_certificate_missing = true;
    return 0;    /* there is none: the server decides */
}

static hf_status read_settings(struct hf_tls_context *c,
                               const struct hf_tls_options *options,
                               struct hf_error *err)
{
    ERR_clear_error();
    c->socket = socket_method_new();
    c->ctx = SSL_CTX_new(TLS_client_method());
    if (!c->socket || !c->ctx)
        return hf_tls_fill_queue(err, "OpenSSL", "cannot be set up");
    SSL_CTX_set_verify(c->ctx,
                       c->is_unverified ? SSL_VERIFY_NONE : SSL_VERIFY_PEER,
                       c->is_unverified ? NULL : on_verify);
    SSL_CTX_set_session_cache_mode(c->ctx, SSL_SESS_CACHE_CLIENT |
                                               SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(c->ctx, on_new_session);
    SSL_CTX_set_client_cert_cb(c->ctx, on_certificate_wanted);
    return hf_tls_settings_apply(c->ctx, options, err);
}

static hf_status use_settings_of(struct hf_tls_context *c,
                                 const struct hf_tls_context *of, struct hf_error *err)
{
    ERR_clear_error();
    c->socket = socket_method_new();
    if (!c->socket || !SSL_CTX_up_ref(of->ctx))
        return hf_tls_fill_queue(err, "OpenSSL", "cannot be set up");
    c->ctx = of->ctx;
    return HF_OK;
}

/* `of`: whose settings it shares; NULL: they are read. */
static hf_status new_tls_context(struct hf_tls_context **out,
                                 const struct hf_mem *mem,
                                 const struct hf_tls_context *of,
                                 const struct hf_tls_options *options,
                                 const char *host, struct hf_error *err)
{
    struct hf_tls_context *c = hf_mem_new(mem, sizeof *c);
    hf_status rc;

    if (!c)
        return hf_error_set(err, HF_E_NOMEM, "out of memory in TLS");
    c->mem = mem;
    c->is_unverified = options->is_unverified;
    memcpy(c->alpn, options->alpn, sizeof c->alpn);
    rc = hf_tls_name_set(&c->name, options, host, err);
    if (rc == HF_OK)
        rc = of ? use_settings_of(c, of, err) : read_settings(c, options, err);
    if (rc < 0)
        hf_tls_context_free(c);
    else
        *out = c;
    return rc;
}

hf_status hf_tls_context_new(struct hf_tls_context **out,
                             const struct hf_mem *mem,
                             const struct hf_tls_options *options,
                             const char *host, struct hf_error *err)
{
    return new_tls_context(out, mem, NULL, options, host, err);
}

hf_status hf_tls_context_share(struct hf_tls_context **out,
                               const struct hf_tls_context *of,
                               const struct hf_tls_options *options,
                               const char *host, struct hf_error *err)
{
    return new_tls_context(out, of->mem, of, options, host, err);
}

void hf_tls_context_take_settings(struct hf_tls_context *c,
                                  const struct hf_tls_context *of)
{
    SSL_CTX *earlier = c->ctx;

    (void)SSL_CTX_up_ref(of->ctx); /* fails only for a session without references */
    c->ctx = of->ctx;
    forget_session(c);
    SSL_CTX_free(earlier);
}

void hf_tls_context_free(struct hf_tls_context *c)
{
    if (!c)
        return;
    forget_session(c);
    SSL_CTX_free(c->ctx);
    BIO_meth_free(c->socket);
    hf_mem_free(c->mem, c, sizeof *c);
}

/* ---- a connection, new and free ---- */

static bool create_ssl(struct hf_tls *tls)
{
    const struct hf_tls_name *name = &tls->context->name;
    BIO *bio = BIO_new(tls->context->socket);

    tls->ssl = SSL_new(tls->context->ctx);
    if (!tls->ssl || !bio) {
        (void)BIO_free(bio);
        return false;
    }
    BIO_set_data(bio, tls);
    SSL_set_bio(tls->ssl, bio, bio);    /* takes it */
    SSL_set_connect_state(tls->ssl);
    if (!SSL_set_app_data(tls->ssl, tls) || !hf_tls_expect_name(tls->ssl, name))
        return false;
    /* An address is not sent (RFC 6066 3). */
    return name->is_address || SSL_set_tlsext_host_name(tls->ssl, name->host);
}

hf_status hf_tls_new(struct hf_tls **out, struct hf_tls_context *context,
                     int fd)
{
    struct hf_tls *tls = hf_mem_new(context->mem, sizeof *tls);
    bool is_open;

    if (!tls)
        return HF_E_NOMEM;
    tls->context = context;
    tls->fd = fd;
    tls->is_in_handshake = true;
    tls->end = HF_TLS_FAILED;
    hf_error_set(&tls->error, HF_OK, "the TLS handshake is not done");
    is_open = create_ssl(tls);
    if (is_open)
        offer_saved_session(tls);
    ERR_clear_error();
    if (!is_open) {
        hf_tls_free(tls, false);
        return HF_E_NOMEM;
    }
    *out = tls;
    return HF_OK;
}

/* A connection that was cut does not invalidate its session (RFC 5246 7.2.1), but
 * OpenSSL must be told this. */
void hf_tls_free(struct hf_tls *tls, bool is_polite)
{
    if (!tls)
        return;
    ERR_clear_error();
    if (is_polite && tls->end != HF_TLS_FAILED)
        (void)SSL_shutdown(tls->ssl);    /* sent if it can be, not waited for */
    if (tls->ssl)
        SSL_set_shutdown(tls->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    SSL_free(tls->ssl);
    ERR_clear_error();
    hf_mem_free(tls->context->mem, tls, sizeof *tls);
}

/* ---- how an operation ends ---- */

/* The socket has failed, or ended without a close_notify; `broken` says which. */
#define SOCKET_BROKEN (-100002)

static void clear_socket_state(struct hf_tls *tls)
{
    tls->broken = 0;
    tls->is_drained = false;
}

/* The last call did not get on. 0: it would block, and *wants is set.
 * HF_SOCKET_EOF: the peer said goodbye. HF_TLS_FAILED: the error is set.
 * BROKEN. */
static long handle_ssl_error(struct hf_tls *tls, int rc, int *wants)
{
    struct hf_tls_failure_context at = {
        .is_in_handshake = tls->is_in_handshake,
        .is_certificate_missing = tls->is_certificate_missing,
    };

    switch (SSL_get_error(tls->ssl, rc)) {
    case SSL_ERROR_WANT_READ:
        *wants = HF_READ;
        return 0;
    case SSL_ERROR_WANT_WRITE:
        *wants = HF_WRITE;
        return 0;
    case SSL_ERROR_ZERO_RETURN:
        if (!tls->is_in_handshake)
            return HF_SOCKET_EOF;
        tls->broken = HF_SOCKET_EOF;
        return SOCKET_BROKEN;
    case SSL_ERROR_SYSCALL:
        if (tls->broken)
            return SOCKET_BROKEN;
        break;
    }
    if (tls->error.status == HF_OK)    /* else on_verify knows better */
        hf_tls_fill_failure(&tls->error, at);
    ERR_clear_error();
    return HF_TLS_FAILED;
}

/* Perhaps the server ended it because we showed no certificate. */
static bool may_lack_client_certificate(const struct hf_tls *tls)
{
    return tls->is_certificate_missing && !tls->has_heard;
}

static void set_error_of_broken_socket(struct hf_tls *tls)
{
    bool is_eof = tls->broken == HF_SOCKET_EOF;

    hf_error_set(&tls->error, HF_E_CONNECT, "%s %s%s",
                 is_eof ? "the server closed the connection"
                        : hf_errno_text((int)-tls->broken),
                 tls->is_in_handshake ? "in the TLS handshake"
                                  : "without a TLS goodbye (close_notify)",
                 may_lack_client_certificate(tls) ? "; it had requested a client certificate "
                                   "(tls_cert, tls_key)"
                                 : "");
}

/* ---- the handshake ---- */

static bool is_protocol_agreed(const struct hf_tls *tls)
{
    const char *offered = tls->context->alpn;
    const unsigned char *chosen;
    unsigned len;

    SSL_get0_alpn_selected(tls->ssl, &chosen, &len);
    return !offered[0] ||
           (len == strlen(offered) && memcmp(chosen, offered, len) == 0);
}

/* OpenSSL is content; are we? */
static void finish_handshake(struct hf_tls *tls)
{
    const struct hf_tls_context *c = tls->context;
    X509 *cert = certificate_of_session(SSL_get_session(tls->ssl));
    int why = c->is_unverified ? X509_V_OK : verify_certificate(tls, cert);

    if (why != X509_V_OK) {
        hf_tls_fill_certificate(&tls->error, why, cert, 0, &c->name);
        return;
    }
    if (!is_protocol_agreed(tls)) {
        hf_error_set(&tls->error, HF_E_TLS,
                     "the server does not accept the protocol of tls_alpn");
        return;
    }
    tls->is_in_handshake = false;
    tls->end = 0;
}

hf_status hf_tls_handshake(struct hf_tls *tls)
{
    long code = 0;
    int rc;

    if (tls->error.status < 0 || !tls->is_in_handshake)
        return tls->error.status;
    clear_socket_state(tls);
    ERR_clear_error();
    tls->read_wants = 0;
    rc = SSL_do_handshake(tls->ssl);
    if (rc != 1)
        code = handle_ssl_error(tls, rc, &tls->read_wants);
    if (rc != 1 && code == 0)
        return HF_RESP_MORE;
    if (rc == 1)
        finish_handshake(tls);
    if (code == SOCKET_BROKEN)
        set_error_of_broken_socket(tls);
    if (tls->error.status < 0)
        forget_session(tls->context);    /* TLS-3 */
    return tls->error.status;
}

/* ---- bytes ---- */

/* A reset is reported as for a plain socket, unless more is known. */
static long result_of_ended_stream(struct hf_tls *tls, long code)
{
    if (code != SOCKET_BROKEN)
        return code;
    set_error_of_broken_socket(tls);
    return tls->broken == HF_SOCKET_EOF || may_lack_client_certificate(tls) ? HF_TLS_FAILED
                                                           : tls->broken;
}

long hf_tls_read(struct hf_tls *tls, void *ptr, size_t room)
{
    size_t total = 0, n;

    clear_socket_state(tls);
    tls->read_wants = 0;
    while (tls->end == 0 && tls->read_wants == 0 && total < room) {
        ERR_clear_error();
        if (SSL_read_ex(tls->ssl, (char *)ptr + total, room - total, &n))
            total += n;
        else
            tls->end = result_of_ended_stream(tls, handle_ssl_error(tls, 0, &tls->read_wants));
        tls->has_heard = tls->has_heard || total > 0;
    }
    return total > 0 ? (long)total : tls->end;
}

/* When the socket fails, what the peer said last may still wait to be read:
 * only a read ends the connection. */
long hf_tls_write(struct hf_tls *tls, const void *ptr, size_t len)
{
    size_t total = 0, n;
    long code = 0;

    clear_socket_state(tls);
    tls->write_wants = 0;
    while (tls->end == 0 && code == 0 && tls->write_wants == 0 &&
           total < len) {
        ERR_clear_error();
        if (SSL_write_ex(tls->ssl, (const char *)ptr + total, len - total, &n))
            total += n;
        else
            code = handle_ssl_error(tls, 0, &tls->write_wants);
    }
    if (code == HF_TLS_FAILED)
        tls->end = code;
    if (total > 0)
        return (long)total;
    return code == SOCKET_BROKEN ? tls->broken : tls->end;
}

int hf_tls_wanted_events(const struct hf_tls *tls)
{
    return (tls->read_wants ? tls->read_wants : HF_READ) | tls->write_wants;
}

bool hf_tls_has_more(const struct hf_tls *tls)
{
    return tls->end != 0 ||
           (tls->read_wants == 0 && SSL_has_pending(tls->ssl));
}

const struct hf_error *hf_tls_error(const struct hf_tls *tls)
{
    return &tls->error;
}

bool hf_tls_is_resumed(const struct hf_tls *tls)
{
    return SSL_session_reused(tls->ssl);
}
