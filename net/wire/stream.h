/* Reads and writes the bytes of a connected socket, plain or through TLS, for a link. Private to
 * net/; under the loop's lock. */
#ifndef HF_STREAM_H
#define HF_STREAM_H

#include "net/wire/socket.h"
#include "net/wire/tls.h"

/* A field of its link. */
struct hf_stream {
    int fd;                       /* < 0: closed */
    struct hf_tls *tls;           /* NULL: plain */
    struct hf_error error;        /* why the last call failed */
};

/* hf_stream_open       - opens a stream over `fd`, which then belongs to the stream; if this
 *                        fails, `fd` is closed. `context`: NULL without TLS. HF_E_NOMEM.
 * hf_stream_start      - makes the handshake of TLS, as hf_tls_handshake; HF_OK without TLS.
 * hf_stream_is_resumed - returns whether it resumed an earlier session of TLS.
 * hf_stream_close      - closes the stream, as hf_tls_free. A closed stream is allowed. */
hf_status hf_stream_open(struct hf_stream *stream, int fd,
                         struct hf_tls_context *context) HF_MUST_CHECK;
hf_status hf_stream_start(struct hf_stream *stream) HF_MUST_CHECK;
bool hf_stream_is_resumed(const struct hf_stream *stream);
void hf_stream_close(struct hf_stream *stream, bool is_polite);

/* The error of a handshake that takes too long. */
#define HF_STREAM_IS_LATE                                                      \
    "connected, but the server did not finish the TLS handshake in time; is "  \
    "this a plain port (redis://)?"

/* hf_stream_read, hf_stream_write - return the number of bytes, which is less than requested if
 *   more would block; 0: it would block; < 0: stream->error says why.
 * hf_stream_wanted_events    - returns the events after which to read and write again.
 *   `has_output`: there are bytes to write.
 * hf_stream_has_more - returns whether the next read will not wait, although the descriptor may
 *   not be readable. */
long hf_stream_read(struct hf_stream *stream, void *ptr, size_t room);
long hf_stream_write(struct hf_stream *stream, const void *ptr, size_t len);
int hf_stream_wanted_events(const struct hf_stream *stream, bool has_output);
bool hf_stream_has_more(const struct hf_stream *stream);

#endif
