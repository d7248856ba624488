/* What the tests over TLS share: certificates, servers that speak it, clients
 * that do. A server without TLS makes the program say "skipped". */
#ifndef TEST_LIVE_TLS_H
#define TEST_LIVE_TLS_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>

#include "tests/live/test_lock.h"
#include "tests/support/certs.h"

#define TLS_URL_MAX 1024

/* Made by the parent of all tests. */
static struct certs certs;

/* ---- servers ---- */

#define TLS_ARGS_MAX 32

/* Of the certificate in `cert`, on a TLS port alone; a client without a
 * certificate by our CA is refused if `is_mutual`. `more` of its command line;
 * NULL: none. */
static inline struct server *tls_server(const char *cert, bool is_mutual,
                                        const char *const *more)
{
    const char *args[TLS_ARGS_MAX] = {
        "--port", "0", "--tls-port", SERVER_PORT, "--tls-cert-file", cert,
        "--tls-key-file", cert, "--tls-ca-cert-file", certs.ca,
        "--tls-auth-clients", is_mutual ? "yes" : "no"};
    size_t n = 12;
    struct server *s;

    for (; more && *more; more++) {
        ck_assert_uint_lt(n, TLS_ARGS_MAX - 1);
        args[n++] = *more;
    }
    s = server_start(args);
    ck_assert_ptr_nonnull(s);
    return s;
}

/* ---- files ---- */

/* hung_file - a regular file that others wait for when they open it, as on a file system that
 * does not answer, until the descriptor is closed (fcntl(2), leases); -1: the file system has
 * no leases, and the test is skipped. hung_file_await - until somebody waits. */
static inline int hung_file(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);

    (void)signal(SIGIO, SIG_IGN);   /* that somebody waits */
    if (fcntl(fd, F_SETLEASE, F_WRLCK) == 0)
        return fd;
    ck_assert(errno == EINVAL || errno == EAGAIN || errno == EOPNOTSUPP || errno == ENOLCK);
    (void)printf("skipped: no lease of %s: %s\n", path, strerror(errno));
    (void)close(fd);
    return -1;
}

static inline void hung_file_await(int fd)
{
    int64_t end = local_now_ms() + LONG_MS;

    while (fcntl(fd, F_GETLEASE) == F_WRLCK) {
        ck_assert_int_lt(local_now_ms(), end);
        local_poll_rest();
    }
}

/* ---- clients ---- */

static inline struct hf_tls_options tls_options(bool is_mutual)
{
    struct hf_tls_options tls = {.ca_file = ""};

    (void)snprintf(tls.ca_file, sizeof tls.ca_file, "%s", certs.ca);
    if (is_mutual)
        (void)snprintf(tls.cert_file, sizeof tls.cert_file, "%s",
                       certs.client);
    return tls;
}

static inline void tls_client_options(struct hf_client_options *o,
                                      char url[TLS_URL_MAX], int port,
                                      const struct hf_tls_options *tls)
{
    hf_client_options_init(o);
    (void)snprintf(url, TLS_URL_MAX, "rediss://localhost:%d", port);
    o->url = url;
    o->tls = tls;
}

/* ---- a suite's main ---- */

static inline bool server_speaks_tls(void)
{
    struct server *s = server_start(NULL);
    bool it_does = s && *server_ask(s, "CONFIG GET tls-port");

    server_stop(s);
    return it_does;
}

static inline int tls_main(const char *name, int (*run)(void))
{
    int rc;

    if (!server_speaks_tls()) {
        (void)printf("skipped: %s (no server with TLS installed)\n", name);
        return 77;
    }
    certs_make(&certs, NULL);
    rc = run();
    certs_remove(&certs);
    return rc;
}

#endif
