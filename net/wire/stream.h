/* The bytes of a connected socket, plain or through TLS: the four functions
 * between a link and its transport. Private to net/; under the loop's lock. */
#ifndef HF_STREAM_H
#define HF_STREAM_H

#include "net/wire/socket.h"
#include "net/wire/tls.h"

/* A field of its link. */
struct hf_stream {
    int fd;                       /* < 0: closed */
    struct hf_tls *tls;           /* NULL: plain */
    struct hf_error error;        /* why an operation failed */
};

/* hf_stream_open  - over `fd`, which is the stream's from here on, also if this
 *                   fails (it is closed then). `context`: NULL for plain.
 *                   HF_E_NOMEM.
 * hf_stream_start - the handshake, if there is one: as hf_tls_handshake.
 * hf_stream_is_resumed - did it resume an earlier session of TLS?
 * hf_stream_close - a closed one may be closed. `is_polite`: as hf_tls_free. */
hf_status hf_stream_open(struct hf_stream *stream, int fd,
                         struct hf_tls_context *context) HF_MUST_CHECK;
hf_status hf_stream_start(struct hf_stream *stream) HF_MUST_CHECK;
bool hf_stream_is_resumed(const struct hf_stream *stream);
void hf_stream_close(struct hf_stream *stream, bool is_polite);

/* The error of a handshake that took too long. */
#define HF_STREAM_IS_LATE                                                      \
    "connected, but the server did not finish the TLS handshake in time; is "  \
    "this a plain port (redis://)?"

/* hf_stream_read, hf_stream_write - > 0 bytes moved; fewer than there could be:
 *   more would block; 0: it would block; < 0: stream->error says why.
 * hf_stream_wants - the events on which to try again both ways; `has_output`:
 *   there are bytes to be written.
 * hf_stream_has_more - the next read will not wait, whatever the descriptor
 *   says. */
long hf_stream_read(struct hf_stream *stream, void *ptr, size_t room);
long hf_stream_write(struct hf_stream *stream, const void *ptr, size_t len);
int hf_stream_wants(const struct hf_stream *stream, bool has_output);
bool hf_stream_has_more(const struct hf_stream *stream);

#endif
