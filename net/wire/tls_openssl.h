/* What the three files that know OpenSSL share: connections (tls_openssl.c),
 * settings (tls_openssl_settings.c), words (tls_openssl_words.c). Private to
 * them. */
#ifndef HF_TLS_OPENSSL_H
#define HF_TLS_OPENSSL_H

#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "net/wire/tls.h"

#if OPENSSL_VERSION_NUMBER < 0x10101000L
#error "TLS needs OpenSSL 1.1.1 or newer; build with TLS=no"
#endif

/* OpenSSL 1.1.1 has none. */
#ifndef SSL_OP_ENABLE_KTLS
#define SSL_OP_ENABLE_KTLS 0
#endif

/* RFC 6125 6.4.3 permits "db*.a.test"; nobody needs it. */
#define HF_TLS_HOST_FLAGS X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS

/* The name that the certificate must have. */
struct hf_tls_name {
    char text[256];
    bool is_address;
};

/* hf_tls_name_set - of options->server_name or else `host`. HF_E_INVAL, with a
 * line, for what no certificate could hold. */
hf_status hf_tls_name_set(struct hf_tls_name *name,
                          const struct hf_tls_options *options,
                          const char *host, struct hf_error *err) HF_MUST_CHECK;

/* hf_tls_settings_apply - all that is ours to decide about a context, and then
 * the options. Statuses of hf_tls_context_new.
 * hf_tls_check_name - has a connection check the server's. False: no memory. */
hf_status hf_tls_settings_apply(SSL_CTX *ctx,
                                const struct hf_tls_options *options,
                                struct hf_error *err) HF_MUST_CHECK;
bool hf_tls_check_name(SSL *ssl, const struct hf_tls_name *name);

/* hf_tls_fill_queue - what OpenSSL has in its queue, which is empty after:
 *   "OF: No such file or directory" if there is an errno in it, else "OF: WHAT
 *   (OpenSSL's first reason)"; or HF_E_NOMEM. */
hf_status hf_tls_fill_queue(struct hf_error *err, const char *of,
                           const char *what);

/* hf_tls_fill_failure - likewise, of a connection: alerts and the like in words
 *   that say what to do. */
struct hf_tls_circumstances {
    bool is_greeting;                  /* the handshake is not done */
    bool is_certificate_missing;       /* the server asked for one of ours */
};
hf_status hf_tls_fill_failure(struct hf_error *err,
                             struct hf_tls_circumstances at);

/* hf_tls_fill_certificate - what is wrong with the server's (depth 0) or a
 *   CA's: `why` is an X509_V_ERR_. `cert` may be NULL. */
hf_status hf_tls_fill_certificate(struct hf_error *err, int why, X509 *cert,
                                 int depth, const struct hf_tls_name *name);

#endif
