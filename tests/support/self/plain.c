/* A plain client. */
#include "tests/support/self/self.h"

#include <arpa/inet.h>
#include <errno.h>
#include <hiredis/hiredis.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Above all steps' deadlines. */
#define TIMEOUT_S 30

TCase *add_tcase(Suite *suite, const char *name)
{
    TCase *tc = tcase_create(name);

    tcase_set_timeout(tc, TIMEOUT_S);
    suite_add_tcase(suite, tc);
    return tc;
}

int try_connect(int port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    ck_assert_int_ge(fd, 0);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    (void)close(fd);
    return -1;
}

int connect_to(int port)
{
    int fd = try_connect(port);

    ck_assert_msg(fd >= 0, "no connection to port %d", port);
    return fd;
}

void say(int fd, const char *text)
{
    ck_assert_int_eq(send(fd, text, strlen(text), MSG_NOSIGNAL),
                     (ssize_t)strlen(text));
}

bool is_readable(int fd, int timeout_ms)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};

    return poll(&p, 1, timeout_ms) > 0;
}

int hear(int fd, const char *text)
{
    char bytes[4096];
    size_t len = strlen(text), got = 0;
    int reads = 0;

    ck_assert_uint_le(len, sizeof bytes);
    while (got < len) {
        ssize_t n = 0;

        ck_assert_msg(is_readable(fd, LONG_MS), "only %zu bytes came", got);
        n = recv(fd, bytes, len - got, 0);
        ck_assert_msg(n > 0, "the end after %zu bytes", got);
        ck_assert_mem_eq(bytes, text + got, (size_t)n);
        got += (size_t)n;
        reads++;
    }
    return reads;
}

int hear_end(int fd)
{
    char byte;
    ssize_t n;

    ck_assert(is_readable(fd, LONG_MS));
    n = recv(fd, &byte, 1, 0);
    ck_assert_int_le(n, 0);
    return n < 0 ? errno : 0;
}

bool is_silent(int fd)
{
    return !is_readable(fd, A_MOMENT_MS);
}

redisContext *hiredis_to(int port)
{
    struct timeval patience = {LONG_MS / 1000, 0};
    redisContext *c = redisConnect("127.0.0.1", port);

    ck_assert_ptr_nonnull(c);
    ck_assert_msg(!c->err, "%s", c->errstr);
    ck_assert_int_eq(redisSetTimeout(c, patience), REDIS_OK);
    return c;
}
