/* What OpenSSL says, for a person. All that comes from the other side (names in
 * certificates) is quoted. */
/* Tests: tests/test_net_tls_certs.c, tests/live/tls/test_tls_refused.c. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <openssl/err.h>

#include "net/base/error.h"
#include "net/wire/tls_openssl.h"

#define NAME_SIZE 120           /* a subject, an issuer: three fit in an error */
#define DATE_SIZE 24

/* ---- OpenSSL's queue of errors ---- */

struct openssl_reasons {
    unsigned long first_error;  /* the cause; later ones are consequences */
    int first_ssl_reason;       /* the first of its TLS part; 0: none */
    int system_errno;           /* an errno; 0: none */
    bool is_nomem;
};

static void add_error_to_reasons(struct openssl_reasons *r, unsigned long e)
{
    int reason = ERR_GET_REASON(e);

    if (!r->first_error)
        r->first_error = e;
    if (!r->first_ssl_reason && ERR_GET_LIB(e) == ERR_LIB_SSL)
        r->first_ssl_reason = reason;
    if (!r->system_errno && ERR_GET_LIB(e) == ERR_LIB_SYS)
        r->system_errno = reason;
    r->is_nomem = r->is_nomem || reason == ERR_R_MALLOC_FAILURE;
}

static struct openssl_reasons take_openssl_errors(void)
{
    struct openssl_reasons r = {0};
    unsigned long e;

    while ((e = ERR_get_error()) != 0)
        add_error_to_reasons(&r, e);
    r.is_nomem = r.is_nomem || r.system_errno == ENOMEM;
    return r;
}

static const char *first_reason(const struct openssl_reasons *r)
{
    const char *text = ERR_reason_error_string(r->first_error);

    return text ? text : "a reason without a name";
}

static hf_status set_nomem_error(struct hf_error *err)
{
    return hf_error_set(err, HF_E_NOMEM, "out of memory in TLS");
}

hf_status hf_tls_fill_queue(struct hf_error *err, const char *of,
                           const char *what)
{
    struct openssl_reasons r = take_openssl_errors();

    if (r.is_nomem)
        return set_nomem_error(err);
    if (r.system_errno)
        return hf_error_set(err, HF_E_TLS, "%s: %s", of, hf_errno_text(r.system_errno));
    if (!r.first_error)
        return hf_error_set(err, HF_E_TLS, "%s: %s", of, what);
    return hf_error_set(err, HF_E_TLS, "%s: %s (%s)", of, what,
                        first_reason(&r));
}

/* ---- a connection ---- */

#define ALERT(name) (SSL_AD_REASON_OFFSET + SSL_AD_##name)

#define CERTIFICATE_WANTED \
    "the server wants a client certificate (tls_cert, tls_key)"
#define OURS_REFUSED "the server does not accept our certificate (tls_cert): "

static const struct reason_row {
    int reason;
    const char *text;
    bool may_mean_missing_certificate; /* also said of a certificate not sent */
} words[] = {
    {SSL_R_UNSUPPORTED_PROTOCOL,
     "the server offers only an older TLS than 1.2", false},
    {ALERT(PROTOCOL_VERSION),
     "the server and we have no version of TLS in common (ours: 1.2, 1.3)",
     false},
    {ALERT(HANDSHAKE_FAILURE),
     "the server finds nothing in common with us: ciphers (tls_ciphers, "
     "tls_ciphersuites) or certificates",
     true},
    {ALERT(INSUFFICIENT_SECURITY),
     "the server wants stronger ciphers than ours (tls_ciphers)", false},
    {ALERT(UNRECOGNIZED_NAME),
     "the server does not know the name that we call it by (tls_sni)", false},
    {ALERT(NO_APPLICATION_PROTOCOL),
     "the server does not speak the requested protocol (tls_alpn)", false},
    {ALERT(CERTIFICATE_REQUIRED), CERTIFICATE_WANTED, true},
    {ALERT(UNKNOWN_CA), OURS_REFUSED "its CA is not trusted there", true},
    {ALERT(CERTIFICATE_EXPIRED), OURS_REFUSED "it has expired", false},
    {ALERT(CERTIFICATE_REVOKED), OURS_REFUSED "it was revoked", false},
    {ALERT(BAD_CERTIFICATE), OURS_REFUSED "it is damaged or too weak", true},
    {ALERT(UNSUPPORTED_CERTIFICATE), OURS_REFUSED "it is not for clients",
     false},
    {ALERT(CERTIFICATE_UNKNOWN), OURS_REFUSED "no reason is given", true},
    {ALERT(ACCESS_DENIED), OURS_REFUSED "access denied", true},
    {SSL_R_DECRYPTION_FAILED_OR_BAD_RECORD_MAC,
     "bytes were changed on their way to us (bad record MAC)", false},
    {ALERT(BAD_RECORD_MAC),
     "bytes were changed on their way to the server (bad record MAC)", false},
};

static const struct reason_row *find_reason_row(int reason)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (words[i].reason == reason)
            return &words[i];
    return NULL;
}

/* The first bytes were of another protocol. */
static bool is_other_protocol_error(int reason)
{
    return reason == SSL_R_WRONG_VERSION_NUMBER ||
           reason == SSL_R_HTTP_REQUEST ||
           reason == SSL_R_HTTPS_PROXY_REQUEST ||
           reason == SSL_R_PACKET_LENGTH_TOO_LONG ||
           reason == SSL_R_BAD_RECORD_TYPE;
}

hf_status hf_tls_fill_failure(struct hf_error *err,
                             struct hf_tls_failure_context at)
{
    struct openssl_reasons r = take_openssl_errors();
    const struct reason_row *known = find_reason_row(r.first_ssl_reason);

    /* It fails without a word only if it cannot even note why. */
    if (r.is_nomem || !r.first_error)
        return set_nomem_error(err);
    if (at.is_in_handshake && is_other_protocol_error(r.first_ssl_reason))
        return hf_error_set(err, HF_E_TLS,
                            "the server does not speak TLS here; use redis://");
    if (known && known->may_mean_missing_certificate && at.is_certificate_missing)
        return hf_error_set(err, HF_E_TLS, "%s", CERTIFICATE_WANTED);
    if (known)
        return hf_error_set(err, HF_E_TLS, "%s", known->text);
    return hf_error_set(err, HF_E_TLS, "TLS failed: %s", first_reason(&r));
}

/* ---- certificates ---- */

static const struct {
    int why;
    const char *text;
} verdicts[] = {
    {X509_V_ERR_CERT_HAS_EXPIRED, "has expired"},
    {X509_V_ERR_CERT_NOT_YET_VALID,
     "is not valid yet; is this machine's clock right?"},
    {X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT,
     "is signed by a CA that is not trusted here (tls_ca)"},
    {X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
     "is signed by a CA that is not trusted here (tls_ca)"},
    {X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE,
     "is signed by a CA that is not trusted here (tls_ca)"},
    {X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT,
     "is self-signed and not trusted here (tls_ca)"},
    {X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN, "is not trusted here (tls_ca)"},
    {X509_V_ERR_INVALID_PURPOSE, "is not meant for servers (key usage)"},
    {X509_V_ERR_INVALID_CA, "is not that of a CA"},
    {X509_V_ERR_CERT_REVOKED, "was revoked"},
    {X509_V_ERR_UNABLE_TO_GET_CRL, "has an issuer without a list in tls_crl"},
    {X509_V_ERR_CRL_HAS_EXPIRED, "cannot be checked: the tls_crl has expired"},
    {X509_V_ERR_EE_KEY_TOO_SMALL, "has too short a key"},
    {X509_V_ERR_CA_KEY_TOO_SMALL, "has too short a key"},
    {X509_V_ERR_CA_MD_TOO_WEAK, "is signed with too weak a hash"},
    {X509_V_ERR_CERT_SIGNATURE_FAILURE, "has a signature that is not true"},
};

static const char *text_of_verify_error(int why)
{
    for (size_t i = 0; i < sizeof verdicts / sizeof *verdicts; i++)
        if (verdicts[i].why == why)
            return verdicts[i].text;
    return X509_verify_cert_error_string(why);
}

/* What was printed into `bio`, which is freed. NULL: there was no memory. */
static void quote_printed_bio(char *dst, size_t room, BIO *bio)
{
    char *ptr = NULL;
    long len = bio ? BIO_get_mem_data(bio, &ptr) : 0;

    (void)hf_error_quote(dst, room, ptr, len > 0 ? (size_t)len : 0);
    (void)BIO_free(bio);
}

/* For example "O="Locks, Ltd.",CN=a.test". */
static void print_name(char *dst, size_t room, const X509_NAME *name)
{
    BIO *bio = BIO_new(BIO_s_mem());

    if (bio)
        (void)X509_NAME_print_ex(
            bio, name, 0,
            XN_FLAG_SEP_COMMA_PLUS | ASN1_STRFLGS_ESC_2253 |
                ASN1_STRFLGS_ESC_QUOTE | ASN1_STRFLGS_UTF8_CONVERT);
    quote_printed_bio(dst, room, bio);
}

static void print_date(char dst[DATE_SIZE], const ASN1_TIME *date)
{
    struct tm tm;

    if (!ASN1_TIME_to_tm(date, &tm) ||
        strftime(dst, DATE_SIZE, "%Y-%m-%d %H:%M:%S", &tm) == 0)
        (void)strcpy(dst, "?");
}

/* "DNS:a.test, IP Address:127.0.0.1". */
static void print_subject_alt_names(char *dst, size_t room, X509 *cert)
{
    int at = X509_get_ext_by_NID(cert, NID_subject_alt_name, -1);
    BIO *bio = at < 0 ? NULL : BIO_new(BIO_s_mem());

    if (bio)
        (void)X509V3_EXT_print(bio, X509_get_ext(cert, at), 0, 0);
    quote_printed_bio(dst, room, bio);
    if (!dst[0])
        (void)strcpy(dst, "no name but its subject's");
}

static bool is_name_mismatch(int why)
{
    return why == X509_V_ERR_HOSTNAME_MISMATCH ||
           why == X509_V_ERR_IP_ADDRESS_MISMATCH;
}

/* The most important part comes first, because a long line is cut. */
static void set_certificate_error(struct hf_error *err, int why, X509 *cert, int depth,
                                  const struct hf_tls_name *name)
{
    char what[HF_ERROR_TEXT_MAX], subject[NAME_SIZE], issuer[NAME_SIZE];
    char from[DATE_SIZE], until[DATE_SIZE], holders[NAME_SIZE];

    print_name(subject, sizeof subject, X509_get_subject_name(cert));
    print_name(issuer, sizeof issuer, X509_get_issuer_name(cert));
    print_date(from, X509_get0_notBefore(cert));
    print_date(until, X509_get0_notAfter(cert));
    (void)snprintf(what, sizeof what, "%s", text_of_verify_error(why));
    if (is_name_mismatch(why)) {
        print_subject_alt_names(holders, sizeof holders, cert);
        (void)snprintf(what, sizeof what,
                       "is not for %s; it holds %s; tls_sni=NAME in the URL checks another "
                       "name, --map FROM=TO uses another address",
                       name->host, holders);
    }
    hf_error_set(err, HF_E_TLS,
                       "%s %s (subject %s; issuer %s; valid from %s until %s "
                       "UTC)",
                       depth == 0 ? "the server's certificate"
                                  : "a CA certificate behind the server's",
                       what, subject, issuer, from, until);
}

hf_status hf_tls_fill_certificate(struct hf_error *err, int why, X509 *cert,
                                 int depth, const struct hf_tls_name *name)
{
    if (why == X509_V_ERR_OUT_OF_MEM)
        return set_nomem_error(err);
    if (!cert)
        return hf_error_set(err, HF_E_TLS, "the server sent no certificate");
    set_certificate_error(err, why, cert, depth, name);
    ERR_clear_error();
    return HF_E_TLS;
}
