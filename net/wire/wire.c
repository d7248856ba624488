/* A wire: a connection that is opened like that of a link, and then sends and receives bytes.
 *
 * BYTES-1  Bytes that have arrived are read before anything is written, and while a write waits:
 *          so neither side waits for the other to read, and the last bytes that a server sends
 *          before it closes are not missed.
 * BYTES-2  The wire has its own loop, which turns only while a call waits: between two calls
 *          nothing happens, and no other thread locks the mutex. */
/* Tests: tests/test_net_wire.c. */
#include "net/wire/wire.h"

#include <limits.h>
#include <string.h>

#include "net/base/assert.h"
#include "net/base/error.h"
#include "net/base/mem.h"
#include "net/loop/loop.h"
#include "net/wire/dial.h"
#include "net/wire/stream.h"

/* Free room in front of each read. */
#define READ_MIN 65536

struct hf_wire {
    /* Set once. */
    struct hf_wire_options options;
    struct hf_loop *loop;

    struct hf_dial dial;
    struct hf_stream stream;    /* its error is ours, of dialing too */
    struct hf_io io;            /* watched while the stream is open */
    bool has_event;             /* the awaited event has happened */
    char *input;                /* received bytes that were not dropped */
    uint32_t input_len;
    uint32_t input_capacity;
};

/* ---- waiting ---- */

/* false: nothing has happened in time. */
static bool dispatch_until_event(struct hf_wire *w, int64_t deadline_ms)
{
    int64_t left;

    w->has_event = false;
    do {
        left = deadline_ms - hf_clock_ms();
        if (left < 0)
            left = 0;
        hf_loop_dispatch(w->loop, left < INT_MAX ? (int)left : INT_MAX);
    } while (!w->has_event && left > 0);
    return w->has_event;
}

/* Until the descriptor is ready for what the stream wants. */
static bool wait_for_stream(struct hf_wire *w, bool has_output,
                            int64_t deadline_ms)
{
    hf_loop_lock(w->loop);
    hf_loop_rewatch(w->loop, &w->io, hf_stream_wanted_events(&w->stream, has_output));
    hf_loop_unlock(w->loop);
    return dispatch_until_event(w, deadline_ms);
}

static void on_ready(struct hf_io *io, int events)
{
    (void)events;
    HF_OWNER_OF(io, struct hf_wire, io)->has_event = true;
}

/* ---- opening ---- */

static void on_dialed(struct hf_dial *dial, int fd)
{
    struct hf_wire *w = HF_OWNER_OF(dial, struct hf_wire, dial);

    w->has_event = true;
    w->io = (struct hf_io){.fd = fd, .events = HF_READ, .ready = on_ready};
}

static hf_status fail_wire(struct hf_wire *w, hf_status status, const char *why)
{
    return hf_error_set(&w->stream.error, status, "%s", why);
}

static hf_status dial_server(struct hf_wire *w, int64_t deadline_ms)
{
    char why[HF_ERROR_TEXT_MAX];
    bool is_done;

    hf_loop_lock(w->loop);
    hf_dial_start(&w->dial);
    hf_loop_unlock(w->loop);
    is_done = dispatch_until_event(w, deadline_ms);
    if (is_done && w->io.fd >= 0)
        return HF_OK;
    (void)hf_dial_error(&w->dial, why, sizeof why);
    return fail_wire(w, HF_E_CONNECT, hf_errno_name_limit(why, sizeof why));
}

/* Takes the socket that was dialed, in any case. */
static hf_status open_stream(struct hf_wire *w)
{
    hf_status rc = hf_stream_open(&w->stream, w->io.fd, w->options.tls);

    if (rc < 0)
        return rc;
    hf_loop_lock(w->loop);
    rc = hf_loop_watch(w->loop, &w->io);
    hf_loop_unlock(w->loop);
    if (rc < 0) {
        hf_stream_close(&w->stream, false);
        return fail_wire(w, rc, hf_net_status_text(rc));
    }
    return HF_OK;
}

static hf_status make_tls_handshake(struct hf_wire *w, int64_t deadline_ms)
{
    hf_status rc;

    while ((rc = hf_stream_start(&w->stream)) == HF_RESP_MORE)
        if (!wait_for_stream(w, false, deadline_ms))
            return fail_wire(w, HF_E_CONNECT, HF_STREAM_IS_LATE);
    return rc;
}

static hf_status make_wire(struct hf_wire **out,
                           const struct hf_wire_options *options)
{
    struct hf_loop_options of_loop = {.size = sizeof of_loop, .mem = options->mem};
    struct hf_loop *loop;
    struct hf_wire *w;
    hf_status rc = hf_loop_new(&loop, &of_loop);

    if (rc < 0)
        return rc;
    w = hf_mem_new(hf_loop_mem(loop), sizeof *w);
    if (!w) {
        hf_loop_free(loop);
        return HF_E_NOMEM;
    }
    w->loop = loop;
    w->options = *options;
    w->io.fd = -1;
    w->stream.fd = -1;
    hf_dial_init(&w->dial, loop, options->url, on_dialed);
    *out = w;
    return HF_OK;
}

hf_status hf_wire_open(struct hf_wire **out,
                       const struct hf_wire_options *options,
                       int64_t deadline_ms, struct hf_error *err)
{
    char address[HF_ERROR_TEXT_MAX];
    struct hf_wire *w = NULL;
    hf_status rc = make_wire(&w, options);

    (void)hf_url_address(options->url, address, sizeof address);
    if (rc < 0)
        return hf_error_status(err, rc, address);
    rc = dial_server(w, deadline_ms);
    if (rc == HF_OK)
        rc = open_stream(w);
    if (rc == HF_OK)
        rc = make_tls_handshake(w, deadline_ms);
    if (rc == HF_OK) {
        *out = w;
        return HF_OK;
    }
    (void)hf_error_set(err, rc, "%s: %s", address, w->stream.error.text);
    hf_wire_close(w);
    return rc;
}

void hf_wire_close(struct hf_wire *w)
{
    struct hf_loop *loop;

    if (!w)
        return;
    loop = w->loop;
    hf_loop_lock(loop);
    hf_dial_stop(&w->dial);
    if (w->stream.fd >= 0)
        hf_loop_unwatch(loop, &w->io);
    hf_loop_unlock(loop);
    hf_stream_close(&w->stream, true);
    hf_mem_free(hf_loop_mem(loop), w->input, w->input_capacity);
    hf_mem_free(hf_loop_mem(loop), w, sizeof *w);
    hf_loop_free(loop);
}

/* ---- bytes ---- */

/* Bytes that TLS has read cause no event. */
static bool wait_for_more_input(struct hf_wire *w, bool has_output, int64_t deadline_ms)
{
    return hf_stream_has_more(&w->stream) ||
           wait_for_stream(w, has_output, deadline_ms);
}

static hf_status status_of_io(const struct hf_wire *w, long n)
{
    return n < 0 ? w->stream.error.status : HF_OK;
}

/* Whatever is there, without waiting. */
static hf_status receive_available(struct hf_wire *w)
{
    size_t want = (size_t)w->input_len + READ_MIN;
    long n;

    if (want > w->options.input_max)
        return fail_wire(w, HF_E_LIMIT, "too many bytes at once");
    if (!hf_mem_grow(hf_loop_mem(w->loop), &w->input, &w->input_capacity, 1, want,
                     w->options.input_max))
        return fail_wire(w, HF_E_NOMEM, "out of memory while reading");
    n = hf_stream_read(&w->stream, w->input + w->input_len, w->input_capacity - w->input_len);
    if (n > 0)
        w->input_len += (uint32_t)n;
    return status_of_io(w, n);
}

static hf_status send_some_bytes(struct hf_wire *w, const char *ptr, size_t len,
                                 size_t *sent)
{
    long n = hf_stream_write(&w->stream, ptr, len);

    if (n > 0)
        *sent += (size_t)n;
    return status_of_io(w, n);
}

static hf_status fail_reply_late(struct hf_wire *w)
{
    return fail_wire(w, HF_E_NOREPLY, "the server does not answer in time");
}

hf_status hf_wire_send(struct hf_wire *w, const char *ptr, size_t len,
                       int64_t deadline_ms)
{
    size_t sent = 0;
    hf_status rc = HF_OK;

    while (rc == HF_OK && sent < len) {
        rc = receive_available(w); /* BYTES-1 */
        if (rc == HF_OK)
            rc = send_some_bytes(w, ptr + sent, len - sent, &sent);
        if (rc == HF_OK && sent < len && !wait_for_more_input(w, true, deadline_ms))
            rc = fail_reply_late(w);
    }
    return rc;
}

hf_status hf_wire_read(struct hf_wire *w, int64_t deadline_ms)
{
    uint32_t before = w->input_len;
    hf_status rc = receive_available(w);

    while (rc == HF_OK && w->input_len == before)
        rc = wait_for_more_input(w, false, deadline_ms) ? receive_available(w) : fail_reply_late(w);
    return rc;
}

const char *hf_wire_received(const struct hf_wire *w, size_t *len)
{
    *len = w->input_len;
    return w->input;
}

void hf_wire_drop(struct hf_wire *w, size_t len)
{
    HF_ASSERT(len <= w->input_len);
    w->input_len -= (uint32_t)len;
    memmove(w->input, w->input + len, w->input_len);
}

const struct hf_error *hf_wire_error(const struct hf_wire *w)
{
    return &w->stream.error;
}
