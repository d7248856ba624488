/* A descriptor that lines are written to without ever waiting for its reader: a
 * full pipe or socket, a terminal that was stopped (Ctrl-S). It may be shared with
 * anybody, so it is not ours to make non-blocking. */
#ifndef CLI_SINK_H
#define CLI_SINK_H

#include <stddef.h>
#include <sys/types.h>

struct cli_sink {
    int fd;                     /* -1: none */
    int own_fd;                 /* the same pipe or terminal, opened by us as
                                   non-blocking; -1: not to be had, or no need */
};

/* cli_sink_open  - `fd` is borrowed; -1: what is written is gone.
 * cli_sink_write - how much was taken, none of it if it would have to wait; -1:
 *                  an error. A pipe takes up to PIPE_BUF bytes at once, or
 *                  nothing. */
void cli_sink_open(struct cli_sink *sink, int fd);
void cli_sink_close(struct cli_sink *sink);
ssize_t cli_sink_write(const struct cli_sink *sink, const char *ptr,
                       size_t len);

#endif
