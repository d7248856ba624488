/* A connection that sends exactly the bytes it is told to, and keeps all that
 * come: a deadline on everything, no greeting, no parser. */
#ifndef CLI_RESP_WIRE_H
#define CLI_RESP_WIRE_H

#include "net/net.h"

/* Bytes that are kept at once: more than any check asks for. */
#define CLI_WIRE_MAX (16u << 20)

struct cli_wire {
    int fd;                     /* -1: not open */
    char *in;                   /* what has come and was not dropped */
    uint32_t len;
    uint32_t room;
};

/* cli_wire_open  - as cli_dial.
 * cli_wire_close - frees, too. May be closed already.
 *
 * cli_wire_send - all of it; what comes meanwhile is kept, so that neither side
 *                 waits for the other to read.
 * cli_wire_read - until at least one more byte has come.
 *   Both: HF_OK; HF_E_NOREPLY: not in time; HF_E_CONNECT: the peer has closed
 *   or is gone; HF_E_LIMIT, HF_E_NOMEM.
 * cli_wire_drop - forgets the first `len` bytes that came. */
hf_status cli_wire_open(struct cli_wire *w, const struct hf_url *url,
                        int64_t deadline_ms, struct hf_error *err);
void cli_wire_close(struct cli_wire *w);
hf_status cli_wire_send(struct cli_wire *w, const char *ptr, size_t len,
                        int64_t deadline_ms);
hf_status cli_wire_read(struct cli_wire *w, int64_t deadline_ms);
void cli_wire_drop(struct cli_wire *w, size_t len);

#endif
