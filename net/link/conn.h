/* One pipelined connection as a pure machine: it receives bytes and the time, and returns
 * bytes and finished requests. It owns no socket and reads no clock. Private to net/.
 *
 *   CLOSED -hf_conn_open-> HANDSHAKE -handshake ended-> READY -hf_conn_close-> CLOSED
 *
 * Terms. Place: the entry of a request in the queue of the connection. In flight: bytes of
 * the request were passed to the owner for writing. To deliver: to call `done` or on_push.
 *
 * CONN-1  Replies belong to requests in order, as the places say; nothing else decides it.
 * CONN-2  A request that was cancelled keeps its place until its reply has arrived or the
 *         connection is closed (RESP-CONFORMANCE V2).
 * CONN-3  Replies of one read are delivered only after all of its bytes were parsed (V4), or
 *         all bytes before a value that is too large (CONN-8).
 * CONN-4  A reply without a request is a fatal error (V4).
 * CONN-5  Buffers, parser and places in flight end with the connection (V5). Requests of
 *         which nothing was written wait for the next connection.
 * CONN-6  A place is in flight from its first byte on; its request ends ANSWERED or UNKNOWN.
 *         A request that is not in flight ends UNSENT.
 * CONN-7  A push confirms the first place in flight if that place awaits a push of this kind
 *         and channel. Any other push is passed to on_push: a server also ends a sharded
 *         subscription by itself, when the slot moves.
 * CONN-8  A value beyond reply_max, or beyond another limit of the parser, is skipped without
 *         using memory. Its request receives hf_too_large_reply; for a push, on_push_lost is
 *         called. Both happen as soon as the type of the value is known, before its end.
 * CONN-9  A command that names its channel twice is confirmed by the second push. The first
 *         push may be an unsolicited sunsubscribe: then the server replies to the command
 *         with MOVED, which would shift all later replies by one.
 * CONN-10 A probe is a PING that is sent before all queued requests. Until its reply arrives,
 *         nothing else is sent, so the queued requests are still UNSENT if the connection is
 *         dead. */
#ifndef HF_CONN_H
#define HF_CONN_H

#include "net/base/assert.h"
#include "net/link/subscribe_push.h"
#include "net/link/handshake.h"
#include "net/link/request.h"
#include "net/link/skip.h"
#include "net/net.h"

/* The place of a request. Four of them fit into a cache line. */
struct hf_expected_reply {
    union {
        struct hf_request *request;           /* NULL: cancelled */
        struct hf_subscribe_push *subscribe_push; /* is_acknowledged_by_push */
    };
    uint32_t size : 30;           /* bytes in the output */
    uint32_t is_withdrawn : 1;    /* cancelled before it was in flight: its bytes are not
                                     sent, and no reply will arrive */
    uint32_t is_acknowledged_by_push : 1;
    uint32_t sent_us;             /* the low 32 bits of the clock, which wrap after 71
                                     minutes: the statistics count a reply that takes
                                     longer as a quicker one */
};
#define HF_COMMAND_SIZE_MAX ((1 << 30) - 1)     /* `size` has 30 bits */

/* hf_expected_reply_request - returns the request of a place; NULL: it was cancelled. */
static inline struct hf_request *
hf_expected_reply_request(const struct hf_expected_reply *place)
{
    return place->is_acknowledged_by_push ? place->subscribe_push->request
                                          : place->request;
}

#define HF_CONN_BUFFER_KEEP_MAX (1u << 20) /* a larger buffer is freed when it is empty */

struct hf_conn_options {
    const struct hf_mem *mem;
    size_t output_max;
    uint32_t requests_max;
    size_t reply_max;
    bool is_subscriber;
    struct hf_predecessor predecessor; /* of the first connection */
    void (*on_push)(void *ctx, struct hf_resp_value push);
    /* A push was too large. NULL: not called. */
    void (*on_push_lost)(void *ctx);
    /* The reply to a request that was cancelled. NULL: not called. */
    void (*on_late_reply)(void *ctx, uint64_t place, struct hf_resp_value reply);
    /* A request has ended and its place is free. It must call `done` of the request. */
    void (*on_request_end)(void *ctx, struct hf_request *request,
                           enum hf_outcome outcome, struct hf_resp_value reply);
    void *ctx;
};

enum hf_conn_state { HF_CONN_CLOSED, HF_CONN_HANDSHAKE, HF_CONN_READY };

struct hf_conn {
    struct hf_conn_options options;
    enum hf_conn_state state;
    struct hf_handshake handshake;
    struct hf_predecessor predecessor;
    uint64_t stream;              /* of requests that are sent now: hf_conn_begin_stream */
    struct hf_error error;        /* why hf_conn_received failed */
    bool delivers_despite_error;  /* condemned, but replies read before are delivered */
    bool is_condemned;            /* the error is set: nothing more is delivered or sent */

    /* Bytes received, and the values in them. */
    struct hf_resp_parser parser;
    struct hf_resp_tape tape;
    struct hf_skip skipped_value; /* CONN-8 */
    bool is_skipping;             /* `in` begins within that value */
    bool is_skip_reported;        /* hf_too_large_reply was delivered, or on_push_lost called */
    char *in;
    uint32_t in_capacity;
    size_t in_len;

    /* Bytes to send: out[out_start..out_end). */
    char *out;
    uint32_t out_capacity;
    size_t out_start;
    size_t out_end;
    bool has_secret;              /* `out` contains a password, or did */

    /* The places in order, in a ring: [first, first_unsent) is in flight, [first_unsent, end) is
     * queued. The place at first_unsent - 1 may be written in part. */
    struct hf_expected_reply *places;
    uint32_t places_capacity;         /* a power of two */
    uint64_t first;                /* begins at 1, so that a probe has a number */
    uint64_t first_unsent;
    uint64_t end;
    uint64_t ending_below;         /* places below this number are being ended UNSENT */
    size_t unwritten_bytes;        /* bytes of [first, first_unsent) that are still in `out` */
    size_t withdrawn_bytes;        /* bytes of withdrawn places after them, not yet removed from
                                      `out` */
    bool is_probing;               /* CONN-10 */
    uint8_t unwritten_probe_bytes; /* bytes of that PING not yet written */

    /* Counted here and by the link. hf_conn_stats adds the current sizes. */
    struct hf_link_stats stats;
    uint32_t last_read_us;        /* when the bytes that are being delivered arrived */
    uint32_t last_latency_us;     /* of the reply that is being delivered */
};

/* hf_conn_expected_reply - returns the place with this number. */
static inline struct hf_expected_reply *hf_conn_expected_reply(const struct hf_conn *c,
                                             uint64_t number)
{
    return &c->places[number & (c->places_capacity - 1)];
}

/* hf_conn_init - begins in the state CLOSED. */
void hf_conn_init(struct hf_conn *c, const struct hf_conn_options *options);

/* hf_conn_fini - frees the buffers. No request may be queued. */
void hf_conn_fini(struct hf_conn *c);

/* hf_conn_shrink - frees most of the buffers, if no request is queued or has no reply. A long
 *   command, reply or push allocates them again. */
void hf_conn_shrink(struct hf_conn *c);

/* hf_conn_open - the socket is connected: begins the handshake. HF_E_NOMEM: the owner must
 *   close the connection. */
hf_status hf_conn_open(struct hf_conn *c);

/* hf_conn_close - the socket is closed: requests in flight end UNKNOWN, and `done` is called.
 *   Queued requests remain. */
void hf_conn_close(struct hf_conn *c);

/* hf_conn_adopt - makes this closed connection READY with the state of `from`, which has
 *   ended its handshake and has no requests. After that, `from` must be closed and freed. */
void hf_conn_adopt(struct hf_conn *c, struct hf_conn *from);

/* hf_conn_fail_queued - ends all queued requests as UNSENT. */
void hf_conn_fail_queued(struct hf_conn *c);

/* hf_conn_has_space - returns whether hf_conn_submit would accept a command of `size` bytes
 *   now. */
static inline bool hf_conn_has_space(const struct hf_conn *c, size_t size)
{
    size_t used = c->out_end - c->out_start - c->withdrawn_bytes;

    return c->end - c->first < c->options.requests_max &&
           size <= c->options.output_max &&
           used <= c->options.output_max - size;
}

/* hf_conn_submit - queues a command. HF_E_LIMIT (full), HF_E_NOMEM, HF_E_INVAL. */
hf_status hf_conn_submit(struct hf_conn *c, struct hf_request *request,
                         const struct hf_resp_arg *argv, size_t argc)
    HF_MUST_CHECK;

/* hf_conn_cancel - cancels a request. Returns HF_UNSENT (its bytes will not be sent) or
 *   HF_UNKNOWN. `done` is not called. */
enum hf_outcome hf_conn_cancel(struct hf_conn *c, struct hf_request *request);

/* hf_conn_probe - sends PING as this request before all queued requests (CONN-10). Nothing
 *   may be in flight. HF_E_NOMEM. */
hf_status hf_conn_probe(struct hf_conn *c, struct hf_request *request,
                        int64_t now_us) HF_MUST_CHECK;

/* hf_conn_probe_ended - the owner calls this when the request of hf_conn_probe has ended. */
static inline void hf_conn_probe_ended(struct hf_conn *c)
{
    c->is_probing = false;
}

/* hf_conn_in_flight - returns the number of places in flight. */
static inline uint64_t hf_conn_in_flight(const struct hf_conn *c)
{
    return c->first_unsent - c->first;
}

/* hf_conn_queued - returns the number of queued places. */
static inline uint64_t hf_conn_queued(const struct hf_conn *c)
{
    return c->end - c->first_unsent;
}

/* hf_conn_wipe_output - overwrites the output buffer, if it contained a password. Its bytes are no
 *   longer needed. */
void hf_conn_wipe_output(struct hf_conn *c);

/* hf_conn_output - returns the number of bytes to write now, and their address in *ptr; 0:
 *   there are none. All queued requests are in flight from now on, sent at `now_us`. */
size_t hf_conn_output(struct hf_conn *c, int64_t now_us, const char **ptr);

/* hf_conn_wrote - `n` of these bytes were written. */
void hf_conn_wrote(struct hf_conn *c, size_t n);

/* hf_conn_input - returns how many bytes may be read, and the address for them in *ptr; 0: no
 *   memory. */
size_t hf_conn_input(struct hf_conn *c, char **ptr);

/* hf_conn_received - `n` bytes were read at `now_us`. Calls `done` and on_push. After an error,
 *   which is in c->error, the owner must close the connection. */
hf_status hf_conn_received(struct hf_conn *c, size_t n, int64_t now_us)
    HF_MUST_CHECK;

/* hf_conn_handshake - returns the handshake: the owner fills in its settings before
 *   hf_conn_open, and may read its results. */
static inline struct hf_handshake *hf_conn_handshake(struct hf_conn *c)
{
    return &c->handshake;
}

/* hf_conn_begin_stream - the connection is READY: begins the stream with this number. If the
 *   server confirmed that the predecessor is closed, and it was a connection of `c`, its
 *   stream continues. */
static inline void hf_conn_begin_stream(struct hf_conn *c, uint64_t serial)
{
    if (!c->handshake.has_closed_predecessor || c->stream == 0)
        c->stream = serial;
    HF_ASSERT(c->stream == serial || c->handshake.has_closed_predecessor);
}

/* hf_conn_condemn - sets the error. Nothing more is delivered or sent, and the owner must
 *   close the connection. */
void hf_conn_condemn(struct hf_conn *c, hf_status status, const char *why);

/* hf_conn_note_secret - the next command contains a password: the buffer is overwritten when
 *   all of it was written. */
static inline void hf_conn_note_secret(struct hf_conn *c)
{
    c->has_secret = true;
}

/* hf_conn_is_condemned - returns whether hf_conn_condemn was called, or hf_conn_received failed. */
static inline bool hf_conn_is_condemned(const struct hf_conn *c)
{
    return c->is_condemned;
}

/* hf_conn_has_output - returns whether bytes in flight, or of the handshake, must be
 *   written. */
static inline bool hf_conn_has_output(const struct hf_conn *c)
{
    return c->state == HF_CONN_HANDSHAKE ? c->handshake.output_len > 0
                                        : c->unwritten_bytes + c->unwritten_probe_bytes > 0;
}

/* hf_conn_counters - returns the counters, which the owner also increments. */
static inline struct hf_link_stats *hf_conn_counters(struct hf_conn *c)
{
    return &c->stats;
}

/* hf_conn_is_skipping - returns whether the next bytes belong to a value that is skipped
 *   (CONN-8). */
static inline bool hf_conn_is_skipping(const struct hf_conn *c)
{
    return c->is_skipping;
}

/* hf_conn_stats - copies the counters, and adds the current number of requests and bytes. */
void hf_conn_stats(const struct hf_conn *c, struct hf_link_stats *out);

/* hf_conn_ok - returns whether the rules above are true; for assertions and tests. */
bool hf_conn_ok(const struct hf_conn *c);

#endif
