/* A connection that sends and receives bytes without interpreting them. */
#ifndef HF_WIRE_H
#define HF_WIRE_H

#include "net/base/url.h"
#include "net/wire/tls_context.h"

/* A wire sends exactly the given bytes and keeps all bytes that it receives: it has no handshake,
 * no parser and no retry. It is for programs that inspect bytes; other programs use a link.
 *
 * Only one thread at a time may use it. Open, send and read block until `deadline_ms` of
 * hf_clock_ms at most. */
struct hf_wire;

struct hf_wire_options {
    const struct hf_mem *mem;     /* NULL: libc. Borrowed until hf_wire_close */
    const struct hf_url *url;     /* borrowed until then */
    struct hf_tls_context *tls;   /* with rediss://; borrowed until then */
    uint32_t input_max;           /* limit of bytes received and not dropped */
};

/* hf_wire_open  - resolves the name, connects, and makes the handshake of TLS. Sets *out only on
 *                 HF_OK. HF_E_CONNECT, HF_E_TLS, HF_E_NOMEM, HF_E_SYSTEM; the line in *err
 *                 begins with the address. A lookup that hangs remains, in a thread, until the
 *                 system ends it.
 * hf_wire_close - closes the connection. NULL is allowed.
 *
 * hf_wire_send  - sends all bytes, and keeps those that arrive meanwhile, so that neither side
 *                 waits for the other to read.
 * hf_wire_read  - waits until at least one more byte has arrived.
 *   Both return HF_OK; HF_E_NOREPLY: not in time; HF_E_CONNECT, HF_E_TLS: the connection has
 *   ended; HF_E_LIMIT (input_max), HF_E_NOMEM.
 * hf_wire_error - returns the reason of the last failure, without the address.
 *
 * hf_wire_received - returns the bytes that were received and not dropped, and *len; may return
 *                 NULL if there are none. Lent until the next call other than hf_wire_error.
 * hf_wire_drop  - drops the first `len` bytes. */
hf_status hf_wire_open(struct hf_wire **out,
                       const struct hf_wire_options *options,
                       int64_t deadline_ms, struct hf_error *err) HF_MUST_CHECK;
void hf_wire_close(struct hf_wire *wire);
hf_status hf_wire_send(struct hf_wire *wire, const char *ptr, size_t len,
                       int64_t deadline_ms) HF_MUST_CHECK;
hf_status hf_wire_read(struct hf_wire *wire, int64_t deadline_ms) HF_MUST_CHECK;
const char *hf_wire_received(const struct hf_wire *wire, size_t *len);
void hf_wire_drop(struct hf_wire *wire, size_t len);
const struct hf_error *hf_wire_error(const struct hf_wire *wire);

#endif
