/* A connection that sends exactly the bytes it is told to. */
#include "cli/resp_wire.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/resp_dial.h"

/* Free room in front of each read. */
#define READ_MIN 65536

hf_status cli_wire_open(struct cli_wire *w, const struct hf_url *url,
                        int64_t deadline_ms, struct hf_error *err)
{
    *w = (struct cli_wire){.fd = -1};
    return cli_dial(&w->fd, url, deadline_ms, err);
}

void cli_wire_close(struct cli_wire *w)
{
    if (w->fd >= 0)
        (void)close(w->fd);
    hf_mem_free(&hf_mem_libc, w->in, w->room);
    *w = (struct cli_wire){.fd = -1};
}

void cli_wire_drop(struct cli_wire *w, size_t len)
{
    w->len -= (uint32_t)len;
    memmove(w->in, w->in + len, w->len);
}

/* ---- reading and writing without waiting ---- */

static bool would_block(void)
{
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

static hf_status receive(struct cli_wire *w)
{
    ssize_t n;

    if (w->len + READ_MIN > CLI_WIRE_MAX)
        return HF_E_LIMIT;
    if (!hf_mem_grow(&hf_mem_libc, &w->in, &w->room, 1, w->len + READ_MIN,
                     CLI_WIRE_MAX))
        return HF_E_NOMEM;
    n = recv(w->fd, w->in + w->len, w->room - w->len, 0);
    if (n <= 0)
        return n < 0 && would_block() ? HF_OK : HF_E_CONNECT;
    w->len += (uint32_t)n;
    return HF_OK;
}

static hf_status send_some(const struct cli_wire *w, const char *ptr,
                           size_t len, size_t *sent)
{
    ssize_t n = send(w->fd, ptr, len, MSG_NOSIGNAL);

    if (n < 0)
        return would_block() ? HF_OK : HF_E_CONNECT;
    *sent += (size_t)n;
    return HF_OK;
}

/* ---- waiting ---- */

hf_status cli_wire_send(struct cli_wire *w, const char *ptr, size_t len,
                        int64_t deadline_ms)
{
    hf_status rc = HF_OK;
    size_t sent = 0;

    while (sent < len && rc == HF_OK) {
        int ready = cli_poll(w->fd, POLLIN | POLLOUT, deadline_ms);

        if (ready == 0)
            return HF_E_NOREPLY;
        if (ready & POLLIN)
            rc = receive(w);
        if (rc == HF_OK && (ready & ~POLLIN))
            rc = send_some(w, ptr + sent, len - sent, &sent);
    }
    return rc;
}

hf_status cli_wire_read(struct cli_wire *w, int64_t deadline_ms)
{
    uint32_t before = w->len;
    hf_status rc = HF_OK;

    while (rc == HF_OK && w->len == before)
        rc = cli_poll(w->fd, POLLIN, deadline_ms) ? receive(w) : HF_E_NOREPLY;
    return rc;
}
