/* A connected socket, or an error in time. */
#ifndef CLI_RESP_DIAL_H
#define CLI_RESP_DIAL_H

#include "net/net.h"

/* cli_dial - resolves and connects, each address in turn, until `deadline_ms`
 *            of hf_clock_ms. *fd is non-blocking and close-on-exec, for
 *            close(). HF_E_CONNECT, HF_E_NOMEM, HF_E_SYSTEM; HF_E_INVAL:
 *            rediss://, which needs TLS. A lookup that hangs is left behind, in
 *            a thread, until the system ends it. */
hf_status cli_dial(int *fd, const struct hf_url *url, int64_t deadline_ms,
                   struct hf_error *err);

/* cli_poll - waits until `fd` is ready for one of `events` (or broken) or the
 *            deadline has passed; what it is ready for, 0: late. */
int cli_poll(int fd, int events, int64_t deadline_ms);

#endif
