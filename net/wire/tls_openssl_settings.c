/* From options to an SSL_CTX: the host's name, files, ciphers. A line about a
 * file or list begins with the option's name in a URL. */
/* Tests: tests/test_net_tls_certs.c. */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <openssl/err.h>

#include "net/base/error.h"
#include "net/wire/tls_openssl.h"

/* RFC 1035 2.3.4: 255 bytes on the wire, which is 253 of text; labels. */
#define HOST_MAX 253
#define LABEL_MAX 63

/* 112 bits: no RSA under 2048, no SHA-1. Some builds of OpenSSL begin lower;
 * so can a user who has to, by "@SECLEVEL=1" in tls_ciphers. */
#define SECURITY_LEVEL 2

/* ---- the name ---- */

static bool is_host_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '-' || c == '_';
}

/* NULL: it is fine. A name that begins with a dot means "any name under it" to
 * OpenSSL, so an empty label is not only ugly. */
static const char *fault_of_label(const char *label, size_t len)
{
    if (len == 0)
        return "it holds an empty label, or ends in a dot";
    if (len > LABEL_MAX)
        return "a label of it is longer than 63 bytes";
    for (size_t i = 0; i < len; i++) {
        if ((unsigned char)label[i] > 127)
            return "it is not ASCII: write its xn-- form (IDNA)";
        if (!is_host_char(label[i]))
            return "it holds a character that no host name holds";
    }
    return NULL;
}

static const char *fault_of_host(const char *host)
{
    const char *label, *fault;
    size_t len;

    if (strlen(host) > HOST_MAX)
        return "it is longer than 253 bytes";
    for (label = host;; label += len + 1) {
        len = strcspn(label, ".");
        if ((fault = fault_of_label(label, len)) != NULL)
            return fault;
        if (!label[len])
            break;
    }
    if (strspn(label, "0123456789") == len)    /* no top level is a number */
        return "it is neither a name nor an address";
    return NULL;
}

/* The address without its zone, which is local to this machine and in no certificate.
 * */
static bool copy_address_without_zone(struct hf_tls_name *name, const char *host)
{
    unsigned char address[sizeof(struct in6_addr)];
    size_t len = strcspn(host, "%");

    if (len >= sizeof name->host)
        return false;
    (void)snprintf(name->host, sizeof name->host, "%.*s", (int)len, host);
    return inet_pton(AF_INET6, name->host, address) == 1 ||
           (!host[len] && inet_pton(AF_INET, name->host, address) == 1);
}

hf_status hf_tls_name_set(struct hf_tls_name *name,
                          const struct hf_tls_options *options,
                          const char *host, struct hf_error *err)
{
    char quoted[80];
    const char *fault;

    if (options->server_name[0])
        host = options->server_name;
    if (!host[0])
        return hf_error_set(err, HF_E_INVAL,
                            "no host name to check the server's certificate "
                            "against");
    name->is_address = copy_address_without_zone(name, host);
    if (name->is_address)
        return HF_OK;
    fault = fault_of_host(host);
    if (fault)
        return hf_error_set(err, HF_E_INVAL,
                            "no certificate can be for the host name '%s': %s",
                            hf_error_quote(quoted, sizeof quoted, host,
                                           strlen(host)),
                            fault);
    (void)strcpy(name->host, host);    /* HOST_MAX fits */
    return HF_OK;
}

/* ---- words ---- */

/* For example "tls_ca /etc/ca.pem: No such file or directory". */
static hf_status set_error_of_option(struct hf_error *err, const char *option,
                        const char *value, const char *what)
{
    char quoted[HF_URL_FILE_MAX], of[HF_ERROR_TEXT_MAX];

    (void)hf_error_quote(quoted, sizeof quoted, value, strlen(value));
    (void)snprintf(of, sizeof of, "%s %s", option, quoted);
    return hf_tls_fill_queue(err, of, what);
}

/* ---- files ---- */

/* Much more than a bundle of all public CAs. */
#define FILE_MAX ((off_t)16 << 20)

/* OpenSSL would wait for the writer of a pipe, while nothing else is done in this thread. */
static hf_status check_readable_file(const char *option, const char *path, struct hf_error *err)
{
    char quoted[HF_URL_FILE_MAX];
    const char *why = NULL;
    struct stat st;

    if (stat(path, &st) != 0)
        why = hf_errno_text(errno);
    else if (!S_ISREG(st.st_mode))
        why = "it is not a regular file, and a pipe could not be read again";
    else if (st.st_size > FILE_MAX)
        why = "it is larger than 16 MiB";
    if (!why)
        return HF_OK;
    return hf_error_set(err, HF_E_TLS, "%s %s: %s", option,
                        hf_error_quote(quoted, sizeof quoted, path, strlen(path)), why);
}

static hf_status check_readable_files(SSL_CTX *ctx, const struct hf_tls_options *options,
                                      struct hf_error *err)
{
    const struct {
        const char *option, *path;
    } files[] = {{"tls_ca", options->ca_file},
                 {"tls_crl", options->crl_file},
                 {"tls_cert", options->cert_file},
                 {"tls_key", options->key_file}};
    hf_status rc = HF_OK;

    (void)ctx;
    for (size_t i = 0; rc == HF_OK && i < sizeof files / sizeof *files; i++)
        if (files[i].path[0])
            rc = check_readable_file(files[i].option, files[i].path, err);
    return rc;
}

/* ---- trust ---- */

/* OpenSSL takes a folder that is not there for an empty one. */
static hf_status check_folder_readable(const char *path, struct hf_error *err)
{
    DIR *dir = opendir(path);
    char quoted[HF_URL_FILE_MAX];

    if (!dir)
        return hf_error_set(err, HF_E_TLS, "tls_ca_dir %s: %s",
                            hf_error_quote(quoted, sizeof quoted, path,
                                           strlen(path)),
                            hf_errno_text(errno));
    (void)closedir(dir);
    return HF_OK;
}

static hf_status load_trusted_cas(SSL_CTX *ctx, const struct hf_tls_options *options,
                                  struct hf_error *err)
{
    const char *file = options->ca_file, *dir = options->ca_dir;

    if (!file[0] && !dir[0])
        return SSL_CTX_set_default_verify_paths(ctx)
                   ? HF_OK
                   : hf_tls_fill_queue(err, "the system's CA certificates",
                                      "cannot be loaded");
    if (file[0] && !SSL_CTX_load_verify_locations(ctx, file, NULL))
        return set_error_of_option(err, "tls_ca", file, "no CA certificate in it");
    if (dir[0] && !SSL_CTX_load_verify_locations(ctx, NULL, dir))
        return set_error_of_option(err, "tls_ca_dir", dir, "cannot be used");
    return dir[0] ? check_folder_readable(dir, err) : HF_OK;
}

/* Every certificate of a chain is looked up, so every issuer needs a list. */
static hf_status load_revocation_lists(SSL_CTX *ctx, const struct hf_tls_options *options,
                                       struct hf_error *err)
{
    X509_STORE *store = SSL_CTX_get_cert_store(ctx);
    X509_LOOKUP *lookup;

    if (!options->crl_file[0])
        return HF_OK;
    lookup = X509_STORE_add_lookup(store, X509_LOOKUP_file());
    if (!lookup ||
        X509_load_crl_file(lookup, options->crl_file, X509_FILETYPE_PEM) <= 0 ||
        !X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK |
                                         X509_V_FLAG_CRL_CHECK_ALL))
        return set_error_of_option(err, "tls_crl", options->crl_file,
                      "no list of revoked certificates in it");
    return HF_OK;
}

bool hf_tls_expect_name(SSL *ssl, const struct hf_tls_name *name)
{
    X509_VERIFY_PARAM *param = SSL_get0_param(ssl);

    X509_VERIFY_PARAM_set_hostflags(param, HF_TLS_HOST_FLAGS);
    return name->is_address
               ? X509_VERIFY_PARAM_set1_ip_asc(param, name->host)
               : X509_VERIFY_PARAM_set1_host(param, name->host, 0);
}

/* ---- our own certificate ---- */

/* The state of the password callback while a file is read. */
struct key_password {
    const char *text;
    bool was_requested;
};

/* Never prompts on the terminal, as OpenSSL would do. */
static int copy_key_password(char *dst, int room, int is_writing, void *ctx)
{
    struct key_password *p = ctx;
    size_t len;

    (void)is_writing;
    p->was_requested = true;
    len = strlen(p->text);
    if (len == 0 || len > (size_t)room)
        return -1;
    memcpy(dst, p->text, len);
    return (int)len;
}

static hf_status set_error_of_key(const struct hf_tls_options *options,
                            const char *file, bool is_locked,
                            struct hf_error *err)
{
    const char *option = options->key_file[0] ? "tls_key" : "tls_cert";

    if (is_locked && !options->key_password[0])
        return set_error_of_option(err, option, file,
                      "the key is encrypted: give tls_key_password");
    if (is_locked)
        return set_error_of_option(err, option, file,
                      "the key cannot be decrypted: tls_key_password is wrong");
    return set_error_of_option(err, option, file, "no private key for the certificate");
}

static hf_status load_certificate_and_key(SSL_CTX *ctx,
                                          const struct hf_tls_options *options,
                                          struct key_password *password, struct hf_error *err)
{
    const char *cert = options->cert_file;
    const char *key = options->key_file[0] ? options->key_file : cert;

    if (SSL_CTX_use_certificate_chain_file(ctx, cert) != 1)
        return set_error_of_option(err, "tls_cert", cert, "no certificate to use in it");
    password->was_requested = false;
    if (SSL_CTX_use_PrivateKey_file(ctx, key, SSL_FILETYPE_PEM) != 1)
        return set_error_of_key(options, key, password->was_requested, err);
    return HF_OK;
}

static hf_status load_client_certificate(SSL_CTX *ctx, const struct hf_tls_options *options,
                                         struct hf_error *err)
{
    struct key_password password = {.text = options->key_password};
    hf_status rc;

    if (!options->cert_file[0] && options->key_file[0])
        return hf_error_set(err, HF_E_INVAL,
                            "tls_key without tls_cert: a key is for a "
                            "certificate");
    if (!options->cert_file[0])
        return HF_OK;
    SSL_CTX_set_default_passwd_cb(ctx, copy_key_password);
    SSL_CTX_set_default_passwd_cb_userdata(ctx, &password);
    rc = load_certificate_and_key(ctx, options, &password, err);
    SSL_CTX_set_default_passwd_cb_userdata(ctx, NULL);
    SSL_CTX_set_default_passwd_cb(ctx, NULL);
    return rc;
}

/* ---- how we speak ---- */

/* The system's settings (openssl.cnf) may add requirements, but must not enable TLS in
 * the kernel: that needs descriptors, and our reads and writes use a stream. Buffers
 * are kept: releasing them after each record (SSL_MODE_RELEASE_BUFFERS) would save 17
 * to 33 KB for each connection, of which a client has one or two, and cost each command
 * a tenth more (bench_tls). */
static hf_status set_protocol_limits(SSL_CTX *ctx, struct hf_error *err)
{
    SSL_CTX_clear_options(ctx, SSL_OP_ENABLE_KTLS);
    SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE |
                              SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_read_ahead(ctx, 1);    /* one recv(2) a record, not two */
    if (SSL_CTX_get_security_level(ctx) < SECURITY_LEVEL)
        SSL_CTX_set_security_level(ctx, SECURITY_LEVEL);
    if (SSL_CTX_get_min_proto_version(ctx) < TLS1_2_VERSION &&
        !SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION))
        return hf_tls_fill_queue(err, "OpenSSL", "cannot speak TLS 1.2");
    return HF_OK;
}

static hf_status choose_ciphers(SSL_CTX *ctx,
                                const struct hf_tls_options *options,
                                struct hf_error *err)
{
    const char *list = options->ciphers, *suites = options->ciphersuites;

    if (list[0] && !SSL_CTX_set_cipher_list(ctx, list))
        return set_error_of_option(err, "tls_ciphers", list, "no cipher in it");
    if (suites[0] && !SSL_CTX_set_ciphersuites(ctx, suites))
        return set_error_of_option(err, "tls_ciphersuites", suites, "no suite in it");
    return HF_OK;
}

/* On the wire a name has its length in front (RFC 7301 3.1). */
static hf_status offer_alpn(SSL_CTX *ctx, const struct hf_tls_options *options,
                            struct hf_error *err)
{
    unsigned char wire[1 + sizeof options->alpn];
    size_t len = strlen(options->alpn);

    wire[0] = (unsigned char)len;
    memcpy(wire + 1, options->alpn, len);
    if (len > 0 && SSL_CTX_set_alpn_protos(ctx, wire, (unsigned)len + 1) != 0)
        return set_error_of_option(err, "tls_alpn", options->alpn, "cannot be offered");
    return HF_OK;
}

/* A cipher list may move the security level, by which keys are judged:
 * first. */
hf_status hf_tls_settings_apply(SSL_CTX *ctx,
                                const struct hf_tls_options *options,
                                struct hf_error *err)
{
    static hf_status (*const steps[])(SSL_CTX *, const struct hf_tls_options *,
                                      struct hf_error *) = {
        choose_ciphers, check_readable_files, load_trusted_cas, load_revocation_lists,
        load_client_certificate, offer_alpn,
    };
    hf_status rc = set_protocol_limits(ctx, err);

    for (size_t i = 0; rc == HF_OK && i < sizeof steps / sizeof *steps; i++)
        rc = steps[i](ctx, options, err);
    return rc;
}
