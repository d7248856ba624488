/* Writes lines to a descriptor without waiting for its reader (a full pipe or socket, a stopped
 * terminal). Other processes may share the descriptor, so O_NONBLOCK must not be set on it. */
#ifndef CLI_SINK_H
#define CLI_SINK_H

#include <stddef.h>
#include <sys/types.h>

struct cli_sink {
    int fd;                     /* -1: none */
    int own_fd;                 /* the same pipe or terminal, opened by us as
                                   non-blocking; -1: impossible or not needed */
};

/* cli_sink_open  - uses `fd`, which is borrowed; -1: lines are dropped.
 * cli_sink_write - returns the number of bytes that were written: 0 if it would have to wait;
 *                  -1: an error. A pipe accepts up to PIPE_BUF bytes at once, or none. */
void cli_sink_open(struct cli_sink *sink, int fd);
void cli_sink_close(struct cli_sink *sink);
ssize_t cli_sink_write(const struct cli_sink *sink, const char *ptr,
                       size_t len);

#endif
