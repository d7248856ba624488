/* Non-blocking stream sockets, TCP and Unix. */
/* Tests: tests/test_net_socket.c. */
#include "net/wire/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <unistd.h>

/* These options are not required: a socket without them also works. The kernel detects
 * a peer that has vanished after half a minute, whether bytes wait for it or probes are
 * sent: after 15 s of silence, and every 5 s. TCP_USER_TIMEOUT applies to both: less
 * than 30 s would end a connection at the first probe that is lost, whatever
 * TCP_KEEPCNT is (tcp(7)). */
static const struct {
    int level;
    int name;
    int value;
} tcp_wishes[] = {
    {IPPROTO_TCP, TCP_NODELAY, 1},
    {SOL_SOCKET, SO_KEEPALIVE, 1},
#ifdef TCP_KEEPIDLE
    {IPPROTO_TCP, TCP_KEEPIDLE, 15},    /* seconds */
    {IPPROTO_TCP, TCP_KEEPINTVL, 5},    /* seconds */
    {IPPROTO_TCP, TCP_KEEPCNT, 3},
#endif
#ifdef TCP_USER_TIMEOUT
    {IPPROTO_TCP, TCP_USER_TIMEOUT, 30000},    /* ms */
#endif
};

static void tune_tcp(int fd)
{
    for (size_t i = 0; i < sizeof tcp_wishes / sizeof *tcp_wishes; i++)
        (void)setsockopt(fd, tcp_wishes[i].level, tcp_wishes[i].name,
                         &tcp_wishes[i].value, sizeof tcp_wishes[i].value);
}

hf_status hf_socket_connect(int *out, const struct sockaddr *address,
                            socklen_t len)
{
    int fd = socket(address->sa_family,
                    SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int why;

    if (fd < 0)
        return HF_E_CONNECT;
    if (address->sa_family != AF_UNIX)
        tune_tcp(fd);
    if (connect(fd, address, len) == 0 || errno == EINPROGRESS) {
        *out = fd;
        return HF_OK;
    }
    why = errno;
    hf_socket_close(fd);
    errno = why;
    return HF_E_CONNECT;
}

static bool is_connected_to_itself(const struct sockaddr_storage *peer, socklen_t len, int fd)
{
    struct sockaddr_storage own;
    socklen_t own_len = sizeof own;

    return getsockname(fd, (struct sockaddr *)&own, &own_len) == 0 &&
           own_len == len && memcmp(peer, &own, len) == 0;
}

int hf_socket_error(int fd)
{
    struct sockaddr_storage peer;
    socklen_t len = sizeof(int);
    int error = 0;

    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
        return errno;
    if (error != 0)
        return error;
    len = sizeof peer;
    if (getpeername(fd, (struct sockaddr *)&peer, &len) < 0)
        return errno;
    return is_connected_to_itself(&peer, len, fd) ? ECONNREFUSED : 0;
}

void hf_socket_close(int fd)
{
    (void)close(fd);
}

static long io_result(ssize_t n)
{
    if (n >= 0)
        return (long)n;
    return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : -(long)errno;
}

long hf_socket_read(int fd, void *ptr, size_t room)
{
    ssize_t n;

    do
        n = recv(fd, ptr, room, 0);
    while (n < 0 && errno == EINTR);
    return n == 0 ? HF_SOCKET_EOF : io_result(n);
}

long hf_socket_write(int fd, const void *ptr, size_t len)
{
    ssize_t n;

    do
        n = send(fd, ptr, len, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return io_result(n);
}
