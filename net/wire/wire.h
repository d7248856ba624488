/* Bytes to and from a server, and nothing else. */
#ifndef HF_WIRE_H
#define HF_WIRE_H

#include "net/base/url.h"
#include "net/wire/tls_context.h"

/* A wire is one connection that sends exactly the bytes that it is told to and
 * keeps all that come: no greeting, no parser, no second attempt. For programs
 * that look at bytes; those that want replies have a link.
 *
 * Threads: one at a time. Open, send and read block until `deadline_ms` of
 * hf_clock_ms at most. */
struct hf_wire;

struct hf_wire_options {
    const struct hf_mem *mem;     /* NULL: libc. Borrowed until hf_wire_close, */
    const struct hf_url *url;     /* and so is this, and this: */
    struct hf_tls_context *tls;   /* with rediss:// */
    uint32_t in_max;              /* bytes that came and were not dropped */
};

/* hf_wire_open  - resolves, connects, and has TLS's handshake; *out is set only
 *                 on HF_OK. HF_E_CONNECT, HF_E_TLS, HF_E_NOMEM, HF_E_SYSTEM;
 *                 the line in *err begins with the address. A lookup that hangs
 *                 is left behind, in a thread, until the system ends it.
 * hf_wire_close - takes NULL.
 *
 * hf_wire_send  - all of it. What comes meanwhile is kept, so that neither side
 *                 waits for the other to read.
 * hf_wire_read  - until at least one more byte has come.
 *   Both: HF_OK; HF_E_NOREPLY: not in time; HF_E_CONNECT, HF_E_TLS: the
 *   connection has ended; HF_E_LIMIT (in_max), HF_E_NOMEM. hf_wire_error says
 *   what was the matter, without the address.
 *
 * hf_wire_bytes - what has come and was not dropped; NULL, perhaps, if that is
 *                 nothing. Lent until the next call but hf_wire_error.
 * hf_wire_drop  - forgets the first `len` of them. */
hf_status hf_wire_open(struct hf_wire **out,
                       const struct hf_wire_options *options,
                       int64_t deadline_ms, struct hf_error *err) HF_MUST_CHECK;
void hf_wire_close(struct hf_wire *wire);
hf_status hf_wire_send(struct hf_wire *wire, const char *ptr, size_t len,
                       int64_t deadline_ms) HF_MUST_CHECK;
hf_status hf_wire_read(struct hf_wire *wire, int64_t deadline_ms) HF_MUST_CHECK;
const char *hf_wire_bytes(const struct hf_wire *wire, size_t *len);
void hf_wire_drop(struct hf_wire *wire, size_t len);
const struct hf_error *hf_wire_error(const struct hf_wire *wire);

#endif
