/* Certificates as a table, made by libcrypto. */
#include "tests/support/certs.h"

#include <dirent.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>

#include "tests/support/must.h"

#define DAY (24 * 60 * 60)
#define RSA_BITS 1024
#define FOLDER_MAX (CERTS_PATH_MAX - 50) /* what stands behind it fits */
#define SERVER "DNS:localhost,DNS:*.example.test,IP:127.0.0.1,IP:::1"

/* "localhost", NUL, ".evil.test", as bytes: the notation has no NUL. */
#define NUL_NAME                                                       \
    "DER:30:16:82:14:6c:6f:63:61:6c:68:6f:73:74:00:2e:65:76:69:6c:2e:" \
    "74:65:73:74"

struct identity {
    X509 *cert;
    EVP_PKEY *key;
};

enum signer { BY_CA, BY_OTHER_CA, BY_MIDDLE_CA, BY_ITSELF };
enum flaw { NO_FLAW, RSA_1024, SHA_1 };

/* What differs; 0 is the usual: from yesterday, for ten days, for servers. */
struct spec {
    const char *subject;        /* its CN */
    const char *names;          /* subjectAltName; NULL: none */
    const char *usage;          /* extendedKeyUsage */
    enum signer signer;
    enum flaw flaw;
    long from, until;           /* seconds from now */
    bool is_ca;
};

/* ---- one certificate ---- */

static EVP_PKEY *key_new(bool is_weak)
{
    EVP_PKEY_CTX *ctx =
        EVP_PKEY_CTX_new_id(is_weak ? EVP_PKEY_RSA : EVP_PKEY_EC, NULL);
    EVP_PKEY *key = NULL;

    must(ctx && EVP_PKEY_keygen_init(ctx) > 0);
    if (is_weak)
        must(EVP_PKEY_CTX_set_rsa_keygen_bits(ctx, RSA_BITS) > 0);
    else
        must(EVP_PKEY_CTX_set_ec_paramgen_curve_nid(
                 ctx, NID_X9_62_prime256v1) > 0);
    must(EVP_PKEY_keygen(ctx, &key) > 0);
    EVP_PKEY_CTX_free(ctx);
    return key;
}

static void extend(X509 *cert, int nid, const char *value)
{
    X509_EXTENSION *e;

    if (!value)
        return;
    e = X509V3_EXT_conf_nid(NULL, NULL, nid, value);
    must(e && X509_add_ext(cert, e, -1));
    X509_EXTENSION_free(e);
}

static X509_NAME *name_new(const char *subject)
{
    X509_NAME *name = X509_NAME_new();

    must(name && X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8,
                                            (const unsigned char *)subject, -1,
                                            -1, 0));
    return name;
}

static void set_subject(X509 *cert, const char *subject)
{
    X509_NAME *name = name_new(subject);

    must(X509_set_subject_name(cert, name));
    X509_NAME_free(name);
}

static void set_dates(X509 *cert, const struct spec *s)
{
    must(X509_gmtime_adj(X509_getm_notBefore(cert), s->from ? s->from : -DAY) &&
         X509_gmtime_adj(X509_getm_notAfter(cert),
                         s->until ? s->until : 10 * DAY));
}

/* `by` NULL: it signs itself. */
static struct identity identity_new(const struct spec *s,
                                    const struct identity *by)
{
    static long serial;
    struct identity id = {X509_new(), key_new(s->flaw == RSA_1024)};

    by = by ? by : &id;
    must(id.cert && X509_set_version(id.cert, 2)); /* that is v3 */
    must(ASN1_INTEGER_set(X509_get_serialNumber(id.cert), ++serial));
    set_subject(id.cert, s->subject);
    set_dates(id.cert, s);
    must(X509_set_issuer_name(id.cert, X509_get_subject_name(by->cert)) &&
         X509_set_pubkey(id.cert, id.key));
    if (s->is_ca) {
        extend(id.cert, NID_basic_constraints, "critical,CA:TRUE");
        extend(id.cert, NID_key_usage, "critical,keyCertSign,cRLSign");
    }
    extend(id.cert, NID_subject_alt_name, s->names);
    extend(id.cert, NID_ext_key_usage, s->usage);
    must(X509_sign(id.cert, by->key,
                   s->flaw == SHA_1 ? EVP_sha1() : EVP_sha256()));
    return id;
}

static void identity_free(struct identity *id)
{
    X509_free(id->cert);
    EVP_PKEY_free(id->key);
}

/* ---- files ---- */

static FILE *file_new(const char *path)
{
    FILE *f = fopen(path, "w");

    must(f);
    return f;
}

static void write_key(FILE *f, EVP_PKEY *key, char *password)
{
    int len = password ? (int)strlen(password) : 0;

    must(PEM_write_PKCS8PrivateKey(f, key,
                                   password ? EVP_aes_128_cbc() : NULL,
                                   password, len, NULL, NULL));
}

static void write_all(const char *path, const struct identity *id,
                      X509 *chain, char *password)
{
    FILE *f = file_new(path);

    must(PEM_write_X509(f, id->cert));
    if (chain)
        must(PEM_write_X509(f, chain));
    write_key(f, id->key, password);
    must(fclose(f) == 0);
}

static void write_cert(const char *path, X509 *cert)
{
    FILE *f = file_new(path);

    must(PEM_write_X509(f, cert) && fclose(f) == 0);
}

static void write_key_alone(const char *path, EVP_PKEY *key)
{
    FILE *f = file_new(path);

    write_key(f, key, NULL);
    must(fclose(f) == 0);
}

/* ---- what is revoked ---- */

static X509_REVOKED *entry_of(X509 *cert, const ASN1_TIME *when)
{
    X509_REVOKED *r = X509_REVOKED_new();

    must(r && X509_REVOKED_set_serialNumber(r, X509_get_serialNumber(cert)) &&
         X509_REVOKED_set_revocationDate(r, (ASN1_TIME *)when));
    return r;
}

/* A list of `ca` that holds `cert`; NULL: nothing. */
static void append_crl(FILE *f, const struct identity *ca, X509 *cert,
                       long until)
{
    X509_CRL *crl = X509_CRL_new();
    ASN1_TIME *from = X509_gmtime_adj(NULL, -2 * DAY);
    ASN1_TIME *next = X509_gmtime_adj(NULL, until);

    must(crl && from && next && X509_CRL_set_version(crl, 1) &&
         X509_CRL_set_issuer_name(crl, X509_get_subject_name(ca->cert)) &&
         X509_CRL_set1_lastUpdate(crl, from) &&
         X509_CRL_set1_nextUpdate(crl, next));
    if (cert)
        must(X509_CRL_add0_revoked(crl, entry_of(cert, from)));
    must(X509_CRL_sign(crl, ca->key, EVP_sha256()) &&
         PEM_write_X509_CRL(f, crl));
    ASN1_TIME_free(from);
    ASN1_TIME_free(next);
    X509_CRL_free(crl);
}

static void write_crl(const char *path, const struct identity *ca, X509 *cert,
                      long until)
{
    FILE *f = file_new(path);

    append_crl(f, ca, cert, until);
    must(fclose(f) == 0);
}

static void write_crls(const char *path, const struct identity *ca,
                       const struct identity *middle)
{
    FILE *f = file_new(path);

    append_crl(f, ca, middle->cert, 10 * DAY);
    append_crl(f, middle, NULL, 10 * DAY);
    must(fclose(f) == 0);
}

/* ---- all of them ---- */

static void set_folder(struct certs *c, const char *folder)
{
    const char *tmp = getenv("TMPDIR");

    if (folder)
        (void)snprintf(c->folder, sizeof c->folder, "%s", folder);
    else
        (void)snprintf(c->folder, sizeof c->folder, "%s/holdfast-certs-XXXXXX",
                       tmp ? tmp : "/tmp");
    must(strlen(c->folder) <= FOLDER_MAX && (folder || mkdtemp(c->folder)));
}

static void set_paths(struct certs *c)
{
#define SET_PATH(name)                                                    \
    (void)snprintf(c->name, sizeof c->name, "%.*s/" #name, FOLDER_MAX, \
                   c->folder);
    CERTS_FILES(SET_PATH)
#undef SET_PATH
}

static void make_ca_dir(const struct certs *c, X509 *ca)
{
    char path[CERTS_PATH_MAX + 16];

    (void)snprintf(path, sizeof path, "%s/%08lx.0", c->ca_dir,
                   X509_subject_name_hash(ca));
    must(mkdir(c->ca_dir, 0700) == 0);
    write_cert(path, ca);
}

static const struct spec ca_specs[] = {
    [BY_CA] = {.subject = "holdfast's CA", .is_ca = true},
    [BY_OTHER_CA] = {.subject = "another CA", .is_ca = true},
    [BY_MIDDLE_CA] = {.subject = "a CA between", .is_ca = true},
};
#define AT(field) offsetof(struct certs, field)
/* What most have in common: a name, and whom it is for. */
#define NAMED .names = "DNS:localhost", .usage = "serverAuth"
#define A_SERVER .names = SERVER, .usage = "serverAuth"
#define A_CLIENT .usage = "clientAuth"

static const struct leaf {
    size_t path;                /* in struct certs */
    struct spec spec;
} leaves[] = {
    {AT(server), {.subject = "a server", A_SERVER}},
    {AT(chained), {.subject = "a server", NAMED, .signer = BY_MIDDLE_CA}},
    {AT(expired),
     {.subject = "expired", NAMED, .from = -2 * DAY, .until = -DAY}},
    {AT(early), {.subject = "early", NAMED, .from = DAY}},
    {AT(brief), {.subject = "brief", NAMED, .until = DAY / 24}},
    {AT(stranger), {.subject = "a stranger", NAMED, .signer = BY_OTHER_CA}},
    {AT(self_signed), {.subject = "its own", NAMED, .signer = BY_ITSELF}},
    {AT(for_clients),
     {.subject = "no server", .names = "DNS:localhost", A_CLIENT}},
    {AT(revoked), {.subject = "revoked", NAMED}},
    {AT(weak), {.subject = "weak", NAMED, .flaw = RSA_1024}},
    {AT(sha1), {.subject = "sha1", NAMED, .flaw = SHA_1}},
    {AT(cn_only), {.subject = "localhost", .usage = "serverAuth"}},
    {AT(cn_other),
     {.subject = "localhost",
      .names = "DNS:other.test,DNS:b*.example.test",
      .usage = "serverAuth"}},
    {AT(dns_address),
     {.subject = "host", .names = "DNS:127.0.0.1", .usage = "serverAuth"}},
    {AT(nul), {.subject = "nul", .names = NUL_NAME, .usage = "serverAuth"}},
    {AT(nasty), {.subject = "a\r\n\x1b[31m\", CN=b", A_CLIENT}},
    {AT(client), {.subject = "a client", A_CLIENT}},
    {AT(client_other),
     {.subject = "another client", A_CLIENT, .signer = BY_OTHER_CA}},
};

static const char *path_of(const struct certs *c, const struct leaf *leaf)
{
    return (const char *)c + leaf->path;
}

/* What is made of a certificate besides its own file. */
static void write_more(const struct certs *c, const struct leaf *leaf,
                       const struct identity *id, const struct identity *ca)
{
    static char password[] = CERTS_PASSWORD; /* OpenSSL 1.1.1 has no const */

    if (leaf->path == AT(revoked)) {
        write_crl(c->crl, ca, id->cert, 10 * DAY);
        write_crl(c->crl_old, ca, id->cert, -DAY);
    }
    if (leaf->path == AT(client)) {
        write_all(c->client_locked, id, NULL, password);
        write_cert(c->client_cert, id->cert);
        write_key_alone(c->client_key, id->key);
    }
}

static void make_leaf(const struct certs *c, const struct leaf *leaf,
                      const struct identity *cas)
{
    enum signer signer = leaf->spec.signer;
    struct identity id = identity_new(
        &leaf->spec, signer == BY_ITSELF ? NULL : &cas[signer]);

    write_all(path_of(c, leaf), &id,
              signer == BY_MIDDLE_CA ? cas[BY_MIDDLE_CA].cert : NULL, NULL);
    write_more(c, leaf, &id, &cas[BY_CA]);
    identity_free(&id);
}

static void write_nothing(const char *path)
{
    FILE *f = file_new(path);

    must(fputs("nothing in PEM\n", f) >= 0 && fclose(f) == 0);
}

void certs_make(struct certs *c, const char *folder)
{
    struct identity cas[BY_ITSELF];

    set_folder(c, folder);
    set_paths(c);
    for (int i = 0; i < BY_ITSELF; i++)
        cas[i] = identity_new(&ca_specs[i],
                              i == BY_MIDDLE_CA ? &cas[BY_CA] : NULL);
    write_cert(c->ca, cas[BY_CA].cert);
    write_cert(c->other_ca, cas[BY_OTHER_CA].cert);
    make_ca_dir(c, cas[BY_CA].cert);
    write_crls(c->crl_chain, &cas[BY_CA], &cas[BY_MIDDLE_CA]);
    write_nothing(c->nothing);
    for (size_t i = 0; i < sizeof leaves / sizeof *leaves; i++)
        make_leaf(c, &leaves[i], cas);
    for (int i = 0; i < BY_ITSELF; i++)
        identity_free(&cas[i]);
}

void certs_copy(const char *from, const char *to)
{
    char text[16384];
    FILE *f = fopen(from, "r");
    size_t len;

    must(f != NULL);
    len = fread(text, 1, sizeof text, f);
    (void)fclose(f);
    must(len < sizeof text);
    f = fopen(to, "w");
    must(f != NULL);
    must(fwrite(text, 1, len, f) == len);
    must(fclose(f) == 0);
}

static void remove_folder(const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *entry;

    while (dir && (entry = readdir(dir)) != NULL)
        (void)unlinkat(dirfd(dir), entry->d_name, 0); /* not . and .. */
    if (dir)
        (void)closedir(dir);
    (void)rmdir(path);
}

void certs_remove(const struct certs *c)
{
    remove_folder(c->ca_dir);
    remove_folder(c->folder);
}
