/* Certificates for tests: a CA and what it signed, good and bad, made afresh in
 * some hundredths of a second. Only where TLS is built in.
 *
 *     struct certs certs;
 *
 *     certs_make(&certs, NULL);
 *     ... --tls-cert-file certs.server --tls-key-file certs.server
 *         --tls-ca-cert-file certs.ca ...
 *     certs_remove(&certs);
 */
#ifndef TEST_CERTS_H
#define TEST_CERTS_H

/* PEM files; a certificate is followed by its key, unless it is said to have
 * none. All but the first two are signed by `ca`, if not said otherwise; those
 * of servers are for localhost.
 *
 *   ca             a CA, without its key
 *   other_ca       another one, that nobody trusts, without its key
 *   server         localhost, *.example.test, 127.0.0.1, ::1; for serverAuth
 *   chained        by a CA that `ca` signed and that stands behind it
 *   expired, early until yesterday; from tomorrow
 *   brief          for an hour
 *   stranger       signed by `other_ca`
 *   self_signed    by itself
 *   for_clients    for clientAuth alone
 *   revoked        it is in `crl`
 *   weak           its key is RSA of 1024 bits
 *   sha1           is signed by that
 *   cn_only        its subject is localhost, and it holds no other name
 *   cn_other       its subject is localhost, the names that it holds are
 *                  other.test and b*.example.test
 *   dns_address    holds 127.0.0.1 as the name of a host
 *   nul            localhost, NUL, .evil.test
 *   nasty          its subject holds control characters and quotes
 *   client         for clientAuth
 *   client_locked  the same with its key encrypted, by CERTS_PASSWORD
 *   client_cert, client_key   the two parts of `client` alone
 *   client_other   for clientAuth, signed by `other_ca`
 *   crl, crl_old   what `ca` revoked; the same list, outdated
 *   crl_chain      `ca` revoked the CA of `chained`, and that CA nothing
 *   ca_dir         a folder that holds `ca` as c_rehash(1) would
 *   nothing        a file without anything in PEM */
#define CERTS_FILES(X)                                                        \
    X(ca) X(other_ca) X(server) X(chained) X(expired) X(early) X(brief)       \
    X(stranger) X(self_signed) X(for_clients) X(revoked) X(weak) X(sha1)      \
    X(cn_only) X(cn_other) X(dns_address) X(nul) X(nasty) X(client)           \
    X(client_locked) X(client_cert) X(client_key) X(client_other) X(crl)      \
    X(crl_old) X(crl_chain) X(ca_dir) X(nothing)

#define CERTS_PASSWORD "open sesame, please"
#define CERTS_PATH_MAX 200

struct certs {
    char folder[CERTS_PATH_MAX];
#define CERTS_FIELD(name) char name[CERTS_PATH_MAX];
    CERTS_FILES(CERTS_FIELD)
#undef CERTS_FIELD
};

/* certs_make   - the files, in `folder`, which is there; NULL: in a new one,
 *                for the time being. Ends the program if that is not possible.
 * certs_copy   - overwrites the file `to` with the bytes of `from`, as an operator who
 *                replaces a certificate. Ends the program if it cannot.
 * certs_remove - the files and the folder. */
void certs_make(struct certs *c, const char *folder);
void certs_copy(const char *from, const char *to);
void certs_remove(const struct certs *c);

#endif
