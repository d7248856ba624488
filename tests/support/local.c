/* The clock, loopback sockets and memory that is there. */
#include "tests/support/local.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* local_poll_rest */
#define POLLS 20                /* with a short rest */
#define SHORT_REST_US 1000
#define LONG_REST_US 5000
#define IN_SUCCESSION_MS 50     /* between the ends of two rests */

/* As many as the server's own default: more clients at once are a test of the
 * kernel, not of ours. */
#define LISTEN_BACKLOG 511

static int64_t clock_ms(clockid_t id)
{
    struct timespec t;

    (void)clock_gettime(id, &t); /* fails only for a bad clock id */
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int64_t local_now_ms(void)
{
    return clock_ms(CLOCK_BOOTTIME);
}

void local_rest_us(int64_t us)
{
    struct timespec t = {us / 1000000, us % 1000000 * 1000};

    while (nanosleep(&t, &t) < 0 && errno == EINTR)
        ;
}

void local_poll_rest(void)
{
    static _Thread_local int64_t rested_ms;
    static _Thread_local int polls;

    polls = local_now_ms() - rested_ms < IN_SUCCESSION_MS ? polls + 1 : 0;
    local_rest_us(polls < POLLS ? SHORT_REST_US : LONG_REST_US);
    rested_ms = local_now_ms();
}

static void *must(void *ptr)
{
    if (ptr)
        return ptr;
    perror("tests/support");
    abort();
}

void *local_new(size_t size)
{
    return must(calloc(1, size));
}

char *local_copy(const char *text)
{
    return must(strdup(text));
}

/* *port 0: one that the kernel chooses, which goes there. */
static bool bind_to(int fd, int *port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)*port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    socklen_t len = sizeof address;

    if (bind(fd, (struct sockaddr *)&address, len) < 0 ||
        getsockname(fd, (struct sockaddr *)&address, &len) < 0)
        return false;
    *port = ntohs(address.sin_port);
    return true;
}

static int bound_socket(int *port)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd >= 0 && !bind_to(fd, port)) {
        (void)close(fd);
        fd = -1;
    }
    return fd;
}

/* A socket that is bound with SO_REUSEADDR and does not listen allows a listener with
 * SO_REUSEADDR at its port (socket(7)), and nobody who binds without it. The option is set
 * after bind, so that two reservations of one port exclude each other. */
static void allow_reuse(int fd)
{
    int yes = 1;

    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
}

bool local_reserve(int *port)
{
    int fd = bound_socket(port); /* stays open until this process ends */

    if (fd >= 0)
        allow_reuse(fd);
    return fd >= 0;
}

static int listen_to(int fd)
{
    if (fd >= 0 && listen(fd, LISTEN_BACKLOG) < 0) {
        (void)close(fd);
        fd = -1;
    }
    return fd;
}

int local_listen_once(int *port)
{
    *port = 0;
    return listen_to(bound_socket(port));
}

int local_listen(int *port)
{
    int fd;

    *port = 0;
    if (!local_reserve(port))
        return -1;
    fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    allow_reuse(fd);
    if (bind_to(fd, port))
        return listen_to(fd);
    (void)close(fd);
    return -1;
}

int local_dead_port(void)
{
    int port = 0;

    (void)bound_socket(&port); /* stays open until this process ends */
    return port;
}

void local_prepare(int fd)
{
    int yes = 1;

    /* Neither fails on a socket. */
    (void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

void local_close(int fd)
{
    char unread[4096];

    if (fd < 0)
        return;
    (void)shutdown(fd, SHUT_WR);
    while (recv(fd, unread, sizeof unread, MSG_DONTWAIT) > 0)
        ;
    (void)close(fd);
}

void local_reset(int fd)
{
    struct linger at_once = {.l_onoff = 1, .l_linger = 0};

    if (fd < 0)
        return;
    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    (void)close(fd);
}

void local_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t attr;

    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(cond, &attr);
    (void)pthread_condattr_destroy(&attr);
}

bool local_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex,
                     int64_t deadline_ms)
{
    int64_t left_ms = deadline_ms - local_now_ms();
    int64_t until_ms = clock_ms(CLOCK_MONOTONIC) + left_ms;
    struct timespec until = {(time_t)(until_ms / 1000),
                             (long)(until_ms % 1000) * 1000000};

    if (left_ms <= 0)
        return false;
    return pthread_cond_timedwait(cond, mutex, &until) != ETIMEDOUT;
}
