/* Writes without waiting. Source: pipe(7), "PIPE_BUF"; proc(5), "/proc/pid/fd":
 * opening it makes a new open file with its own flags. */
/* Tests: tests/live/cli/test_run_loss.c, tests/live/cli/test_run.c. */
#include "cli/base/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static bool can_write_block(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && (S_ISFIFO(st.st_mode) || isatty(fd));
}

void cli_sink_open(struct cli_sink *sink, int fd)
{
    char path[40];

    *sink = (struct cli_sink){.fd = fd, .own_fd = -1};
    if (fd < 0 || !can_write_block(fd))
        return;
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    sink->own_fd = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

void cli_sink_close(struct cli_sink *sink)
{
    if (sink->own_fd >= 0)
        (void)close(sink->own_fd);
    *sink = (struct cli_sink){.fd = -1, .own_fd = -1};
}

/* Another writer may still come between. There is no better way if the
 * descriptor cannot be opened again. */
static bool is_fd_writable(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLOUT};

    return poll(&p, 1, 0) == 1 && (p.revents & POLLOUT);
}

static ssize_t write_without_blocking(const struct cli_sink *sink, const char *ptr,
                                      size_t len)
{
    ssize_t n;

    if (sink->own_fd >= 0)
        return write(sink->own_fd, ptr, len);
    n = send(sink->fd, ptr, len, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n >= 0 || errno != ENOTSOCK)
        return n;
    return is_fd_writable(sink->fd) ? write(sink->fd, ptr, len) : 0;
}

ssize_t cli_sink_write(const struct cli_sink *sink, const char *ptr, size_t len)
{
    ssize_t n;

    if (sink->fd < 0)
        return -1;
    n = write_without_blocking(sink, ptr, len);
    return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) ? 0 : n;
}
