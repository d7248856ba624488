/* Functions that the three files which use OpenSSL share: tls_openssl.c (connections),
 * tls_openssl_settings.c and tls_openssl_words.c (error messages). Private to them. */
#ifndef HF_TLS_OPENSSL_H
#define HF_TLS_OPENSSL_H

#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "net/wire/tls.h"

#if OPENSSL_VERSION_NUMBER < 0x10101000L
#error "TLS needs OpenSSL 1.1.1 or newer; build with TLS=no"
#endif

/* OpenSSL 1.1.1 does not define it. */
#ifndef SSL_OP_ENABLE_KTLS
#define SSL_OP_ENABLE_KTLS 0
#endif

/* RFC 6125 6.4.3 permits "db*.a.test", which is not needed. */
#define HF_TLS_HOST_FLAGS X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS

/* The name that the certificate must have. */
struct hf_tls_name {
    char host[256];
    bool is_address;
};

/* hf_tls_name_set - sets the name to options->server_name or, without it, to `host`. HF_E_INVAL,
 * with a line: no certificate could have that name. */
hf_status hf_tls_name_set(struct hf_tls_name *name,
                          const struct hf_tls_options *options,
                          const char *host, struct hf_error *err) HF_MUST_CHECK;

/* hf_tls_settings_apply - applies the fixed settings and then the options. Statuses of
 *   hf_tls_context_new.
 * hf_tls_expect_name - lets the handshake fail if the certificate does not have this name.
 *   False: no memory. */
hf_status hf_tls_settings_apply(SSL_CTX *ctx,
                                const struct hf_tls_options *options,
                                struct hf_error *err) HF_MUST_CHECK;
bool hf_tls_expect_name(SSL *ssl, const struct hf_tls_name *name);

/* hf_tls_fill_queue - writes the errors in OpenSSL's queue to *err, and empties the queue: "OF:
 *   No such file or directory" if they contain an errno, otherwise "OF: WHAT (OpenSSL's first
 *   reason)"; or HF_E_NOMEM. */
hf_status hf_tls_fill_queue(struct hf_error *err, const char *of,
                           const char *what);

/* hf_tls_fill_failure - writes the errors of a connection to *err, and empties the queue.
 *   Alerts are explained, with what to do. */
struct hf_tls_failure_context {
    bool is_in_handshake;              /* the handshake is not complete */
    bool is_certificate_missing;       /* the server requested one from us */
};
hf_status hf_tls_fill_failure(struct hf_error *err,
                             struct hf_tls_failure_context at);

/* hf_tls_fill_certificate - writes the fault of a certificate to *err: of the server (depth 0)
 *   or of a CA. `why` is an X509_V_ERR_. `cert` may be NULL. */
hf_status hf_tls_fill_certificate(struct hf_error *err, int why, X509 *cert,
                                 int depth, const struct hf_tls_name *name);

#endif
