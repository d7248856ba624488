/* Streams: only this file distinguishes plain connections and TLS. */
/* Tests: tests/test_net_tls_stream.c, tests/test_net_wire.c. */
#include "net/wire/stream.h"
#include "net/base/error.h"

#include <string.h>

hf_status hf_stream_open(struct hf_stream *stream, int fd,
                         struct hf_tls_context *context)
{
    hf_status rc = HF_OK;

    stream->fd = fd;
    stream->tls = NULL;
    if (context)
        rc = hf_tls_new(&stream->tls, context, fd);
    if (rc < 0) {
        hf_error_set(&stream->error, rc, "out of memory for TLS");
        hf_stream_close(stream, false);
    }
    return rc;
}

static hf_status copy_tls_error(struct hf_stream *stream)
{
    stream->error = *hf_tls_error(stream->tls);
    return stream->error.status;
}

hf_status hf_stream_start(struct hf_stream *stream)
{
    hf_status rc = stream->tls ? hf_tls_handshake(stream->tls) : HF_OK;

    return rc < 0 ? copy_tls_error(stream) : rc;
}

bool hf_stream_is_resumed(const struct hf_stream *stream)
{
    return stream->tls && hf_tls_is_resumed(stream->tls);
}

void hf_stream_close(struct hf_stream *stream, bool is_polite)
{
    hf_tls_free(stream->tls, is_polite);
    stream->tls = NULL;
    if (stream->fd >= 0)
        hf_socket_close(stream->fd);
    stream->fd = -1;
}

static long set_error_of_io_result(struct hf_stream *stream, long n)
{
    if (n == HF_TLS_FAILED)
        (void)copy_tls_error(stream);
    else if (n == HF_SOCKET_EOF)
        hf_error_set(&stream->error, HF_E_CONNECT,
                     "the server closed the connection");
    else if (n < 0)
        hf_error_set(&stream->error, HF_E_CONNECT, "%s", hf_errno_text((int)-n));
    return n;
}

long hf_stream_read(struct hf_stream *stream, void *ptr, size_t room)
{
    return set_error_of_io_result(stream, stream->tls ? hf_tls_read(stream->tls, ptr, room)
                                    : hf_socket_read(stream->fd, ptr, room));
}

long hf_stream_write(struct hf_stream *stream, const void *ptr, size_t len)
{
    return set_error_of_io_result(stream, stream->tls ? hf_tls_write(stream->tls, ptr, len)
                                    : hf_socket_write(stream->fd, ptr, len));
}

int hf_stream_wanted_events(const struct hf_stream *stream, bool has_output)
{
    if (stream->tls)
        return hf_tls_wanted_events(stream->tls);
    return HF_READ | (has_output ? HF_WRITE : 0);
}

bool hf_stream_has_more(const struct hf_stream *stream)
{
    return stream->tls && hf_tls_has_more(stream->tls);
}
