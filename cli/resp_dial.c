/* A connected socket, or an error in time.
 *
 * Nobody can interrupt getaddrinfo, so it runs in a thread: who drops a lookup
 * last, frees it. */
#include "cli/resp_dial.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static hf_status refuse(struct hf_error *err, const struct hf_url *url,
                        const char *why)
{
    char address[HF_ERROR_TEXT_MAX / 2];

    return hf_error_set(err, HF_E_CONNECT, "cannot connect to %s: %s",
                        hf_url_address(url, address, sizeof address), why);
}

int cli_poll(int fd, int events, int64_t deadline_ms)
{
    struct pollfd p = {.fd = fd, .events = (short)events};
    int64_t left;
    int n;

    do {
        left = deadline_ms - hf_clock_ms();
        if (left < 0)
            left = 0;
        n = poll(&p, 1, left < INT_MAX ? (int)left : INT_MAX);
    } while (n < 0 && errno == EINTR);
    return n > 0 ? p.revents : 0;
}

/* ---- the lookup ---- */

struct lookup {
    char host[sizeof((struct hf_url *)0)->host];
    char port[sizeof "65535"];
    int pipe[2]; /* the thread closes its end when it is done */
    atomic_int holders;
    atomic_bool is_done; /* what follows is the thread's until then */
    int error; /* getaddrinfo's */
    struct addrinfo *found;
};

static void lookup_drop(struct lookup *l)
{
    if (atomic_fetch_sub(&l->holders, 1) > 1)
        return;
    if (l->found)
        freeaddrinfo(l->found);
    (void)close(l->pipe[0]);
    free(l);
}

static void *lookup_run(void *arg)
{
    static const struct addrinfo hints = {.ai_family = AF_UNSPEC,
                                          .ai_socktype = SOCK_STREAM};
    struct lookup *l = arg;
    int done = l->pipe[1];

    l->error = getaddrinfo(l->host, l->port, &hints, &l->found);
    atomic_store(&l->is_done, true);
    (void)close(done);
    lookup_drop(l);
    return NULL;
}

static struct lookup *lookup_new(const struct hf_url *url)
{
    struct lookup *l = calloc(1, sizeof *l);

    if (!l || pipe2(l->pipe, O_CLOEXEC) < 0) {
        free(l);
        return NULL;
    }
    memcpy(l->host, url->host, sizeof l->host);
    (void)snprintf(l->port, sizeof l->port, "%u", (unsigned)url->port);
    atomic_init(&l->holders, 2);
    atomic_init(&l->is_done, false);
    return l;
}

static hf_status lookup_start(struct lookup **out, const struct hf_url *url)
{
    struct lookup *l = lookup_new(url);
    pthread_t thread;

    if (!l)
        return HF_E_NOMEM;
    if (pthread_create(&thread, NULL, lookup_run, l) != 0) {
        (void)close(l->pipe[1]);
        atomic_store(&l->holders, 1);
        lookup_drop(l);
        return HF_E_SYSTEM;
    }
    (void)pthread_detach(thread);
    *out = l;
    return HF_OK;
}

/* ---- connecting ---- */

static int socket_error(int fd)
{
    int error = 0;
    socklen_t len = sizeof error;

    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0 ? errno
                                                                  : error;
}

/* 0, or an errno. */
static int connect_in_time(int fd, const struct sockaddr *address,
                           socklen_t len, int64_t deadline_ms)
{
    if (connect(fd, address, len) == 0)
        return 0;
    if (errno != EINPROGRESS)
        return errno;
    if (cli_poll(fd, POLLOUT, deadline_ms) == 0)
        return ETIMEDOUT;
    return socket_error(fd);
}

/* Bytes leave one by one where a check cuts a request into bytes. */
static void set_no_delay(int fd)
{
    int on = 1;

    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

/* The socket, or a negative errno. */
static int try_address(const struct sockaddr *address, socklen_t len,
                       int64_t deadline_ms)
{
    int fd = socket(address->sa_family,
                    SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int error;

    if (fd < 0)
        return -errno;
    error = connect_in_time(fd, address, len, deadline_ms);
    if (error) {
        (void)close(fd);
        return -error;
    }
    set_no_delay(fd);
    return fd;
}

static hf_status dial_unix(int *fd, const struct hf_url *url,
                           int64_t deadline_ms, struct hf_error *err)
{
    struct sockaddr_un address;
    size_t len = hf_url_sockaddr(url, &address);

    *fd = try_address((const struct sockaddr *)&address, (socklen_t)len,
                      deadline_ms);
    return *fd < 0 ? refuse(err, url, strerror(-*fd)) : HF_OK;
}

static hf_status dial_found(int *fd, const struct hf_url *url,
                            const struct lookup *l, int64_t deadline_ms,
                            struct hf_error *err)
{
    if (l->error)
        return refuse(err, url, gai_strerror(l->error));
    *fd = -EADDRNOTAVAIL;
    for (const struct addrinfo *a = l->found; a && *fd < 0; a = a->ai_next)
        *fd = try_address(a->ai_addr, a->ai_addrlen, deadline_ms);
    return *fd < 0 ? refuse(err, url, strerror(-*fd)) : HF_OK;
}

static hf_status dial_tcp(int *fd, const struct hf_url *url,
                          int64_t deadline_ms, struct hf_error *err)
{
    struct lookup *l;
    hf_status rc = lookup_start(&l, url);

    if (rc != HF_OK)
        return hf_error_set(err, rc, "cannot look up the server's name");
    (void)cli_poll(l->pipe[0], POLLIN, deadline_ms);
    if (!atomic_load(&l->is_done))
        rc = refuse(err, url, "its name is not resolved in time");
    else
        rc = dial_found(fd, url, l, deadline_ms, err);
    lookup_drop(l);
    return rc;
}

hf_status cli_dial(int *fd, const struct hf_url *url, int64_t deadline_ms,
                   struct hf_error *err)
{
    if (url->kind == HF_URL_TLS)
        return hf_error_set(err, HF_E_INVAL,
                            "'resp check' speaks no TLS: give a redis:// or "
                            "unix:// URL of the same server");
    if (url->kind == HF_URL_UNIX)
        return dial_unix(fd, url, deadline_ms, err);
    return dial_tcp(fd, url, deadline_ms, err);
}
