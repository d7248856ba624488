/* One pipelined connection as a pure machine: bytes and the time go in, bytes
 * and finished requests come out. Owns no socket and reads no clock. Private
 * to net/.
 *
 *   CLOSED -open-> GREETING -greeted-> READY -close-> CLOSED
 *
 * CONN-1  Replies answer requests in order; the places are the only judge.
 * CONN-2  A request that was given up keeps its place until its reply came or
 *         the connection is gone (RESP-CONFORMANCE V2).
 * CONN-3  Nothing of a read is delivered before all of it has parsed (V4), or all
 *         that comes before a value that is too large (CONN-8).
 * CONN-4  A reply that nobody asked for is fatal (V4).
 * CONN-5  Buffers, parser and places in flight die with the connection (V5).
 *         What was not written at all waits for the next one.
 * CONN-6  A place whose first byte was handed out is in flight; its request
 *         ends ANSWERED or UNKNOWN. One before that ends UNSENT.
 * CONN-7  A push confirms the first place in flight if that awaits one of its
 *         kind for its channel. Any other push is news: a server ends a sharded
 *         subscription unasked when the slot leaves.
 * CONN-8  A value beyond reply_max, or beyond another limit of the parser, is
 *         skipped as it comes: it costs its own request (hf_too_large) or, if it
 *         is a push, on_push_lost, and no memory. Both are told as soon as its
 *         type is known, before its end.
 * CONN-9  A command that names its channel twice is confirmed by the second push.
 *         The first one may be an unsolicited sunsubscribe: then the server replies
 *         to the command with MOVED, which would shift all later replies by one.
 * CONN-10 A probe is a PING that goes before all queued requests. Until its reply
 *         comes, nothing else is handed out, so those are still UNSENT if the
 *         connection is dead. */
#ifndef HF_CONN_H
#define HF_CONN_H

#include "net/link/confirmation.h"
#include "net/link/greet.h"
#include "net/link/request.h"
#include "net/link/skip.h"
#include "net/net.h"

/* Where a request waits for its reply. Four of them to a cache line. */
struct hf_expected_reply {
    union {
        struct hf_request *request;           /* NULL: given up */
        struct hf_confirmation *confirmation; /* is_acknowledged_by_push */
    };
    uint32_t size : 30;           /* bytes in the output */
    uint32_t is_withdrawn : 1;    /* before it was handed out: its bytes are not
                                     sent, no reply will come */
    uint32_t is_acknowledged_by_push : 1;
    uint32_t sent_us;             /* the clock's low 32 bits: they go round in 71
                                     minutes, and a reply that takes longer is
                                     only counted among the quicker ones */
};
#define HF_COMMAND_SIZE_MAX ((1 << 30) - 1)

/* NULL: given up. */
static inline struct hf_request *
hf_expected_reply_request(const struct hf_expected_reply *place)
{
    return place->is_acknowledged_by_push ? place->confirmation->request
                                          : place->request;
}

#define HF_CONN_KEEP_MAX (1u << 20) /* bytes of an empty buffer that are kept */

struct hf_conn_options {
    const struct hf_mem *mem;
    size_t output_max;
    uint32_t requests_max;
    size_t reply_max;
    bool is_subscriber;
    struct hf_predecessor predecessor; /* that it begins with */
    void (*on_push)(void *ctx, struct hf_resp_value push);
    /* A push was too large. NULL: it is dropped. */
    void (*on_push_lost)(void *ctx);
    /* A reply to a request that was given up; NULL: nobody looks. */
    void (*on_late)(void *ctx, uint64_t place, struct hf_resp_value reply);
    /* A request has ended and its place is free; calls its `done`. */
    void (*on_end)(void *ctx, struct hf_request *request,
                   enum hf_outcome outcome, struct hf_resp_value reply);
    void *ctx;
};

struct hf_conn {
    struct hf_conn_options options;
    enum { HF_CONN_CLOSED, HF_CONN_GREETING, HF_CONN_READY } state;
    struct hf_greeting greeting;
    struct hf_predecessor predecessor;
    uint64_t stream;              /* of requests handed out: set by the owner */
    struct hf_error error;        /* why hf_conn_took failed */
    bool delivers_rest;           /* condemned, and what was read before is delivered */
    bool is_condemned;            /* the error is set: nothing more is delivered
                                     or handed out */

    /* Bytes received, and the values in them. */
    struct hf_resp_parser parser;
    struct hf_resp_tape tape;
    struct hf_skip skip;          /* CONN-8 */
    bool is_skipping;             /* `in` begins within that value */
    bool is_skip_told;
    char *in;
    uint32_t in_room;
    size_t in_len;

    /* Bytes to send: out[out_start..out_end). */
    char *out;
    uint32_t out_room;
    size_t out_start;
    size_t out_end;
    bool has_secret;              /* a password is in it, or was */

    /* Requests in order: a ring. [first, unsent) is in flight, [unsent, last)
     * queued; `written` bytes of the one at unsent - 1 may be partial. */
    struct hf_expected_reply *places;
    uint32_t places_capacity;         /* a power of two */
    uint64_t first;               /* from 1, so that a probe has a number */
    uint64_t unsent;
    uint64_t last;
    uint64_t ending;              /* places below it are being ended UNSENT */
    size_t unwritten;             /* bytes of [first, unsent) still in `out` */
    size_t garbage;               /* of withdrawn ones behind them, not yet cut
                                     out */
    bool is_probing;              /* CONN-10 */
    uint8_t probe_unwritten;      /* bytes of that PING */

    /* Counted here and by the link; what is of now is filled in by
     * hf_conn_stats. */
    struct hf_link_stats stats;
    uint32_t read_us;             /* when what is being delivered came */
    uint32_t latency_us;          /* of the reply that is being delivered */
};

/* hf_conn_place - the place of this number. */
static inline struct hf_expected_reply *hf_conn_place(const struct hf_conn *c,
                                             uint64_t number)
{
    return &c->places[number & (c->places_capacity - 1)];
}

/* hf_conn_init - CLOSED. hf_conn_fini - nothing may be queued. */
void hf_conn_init(struct hf_conn *c, const struct hf_conn_options *options);
void hf_conn_fini(struct hf_conn *c);

/* hf_conn_open  - the socket is connected: greet. HF_E_NOMEM: to be closed.
 * hf_conn_close - the socket is gone: what was in flight ends UNKNOWN, `done`
 *                 is called; what is queued stays. */
hf_status hf_conn_open(struct hf_conn *c);
void hf_conn_close(struct hf_conn *c);

/* hf_conn_adopt - this closed connection is READY with the socket of `from`, which
 *                was greeted there and has no requests. `from` can only be closed
 *                and freed after that. */
void hf_conn_adopt(struct hf_conn *c, struct hf_conn *from);

/* hf_conn_fail_queued - what is queued ends UNSENT. */
void hf_conn_fail_queued(struct hf_conn *c);

/* hf_conn_has_space - would a command of `size` bytes be taken now? */
static inline bool hf_conn_has_space(const struct hf_conn *c, size_t size)
{
    size_t used = c->out_end - c->out_start - c->garbage;

    return c->last - c->first < c->options.requests_max &&
           size <= c->options.output_max &&
           used <= c->options.output_max - size;
}

/* hf_conn_submit - queues a command. HF_E_LIMIT, HF_E_NOMEM, HF_E_INVAL.
 * hf_conn_forget - its owner gives it up: HF_UNSENT (withdrawn, its bytes will
 *                  not be sent) or HF_UNKNOWN. `done` is not called. */
hf_status hf_conn_submit(struct hf_conn *c, struct hf_request *request,
                         const struct hf_resp_arg *argv, size_t argc)
    HF_MUST_CHECK;
enum hf_outcome hf_conn_forget(struct hf_conn *c, struct hf_request *request);

/* hf_conn_probe       - sends PING for this request before all that is queued
 *                       (CONN-10). Nothing is in flight. HF_E_NOMEM.
 * hf_conn_probe_ended - its owner calls this when the request has ended. */
hf_status hf_conn_probe(struct hf_conn *c, struct hf_request *request,
                        int64_t now_us) HF_MUST_CHECK;

static inline void hf_conn_probe_ended(struct hf_conn *c)
{
    c->is_probing = false;
}

static inline uint64_t hf_conn_in_flight(const struct hf_conn *c)
{
    return c->unsent - c->first;
}

static inline uint64_t hf_conn_queued(const struct hf_conn *c)
{
    return c->last - c->unsent;
}

/* hf_conn_output - the bytes to write now; 0: none. All that was queued counts
 *                  as in flight from here on, sent at `now_us`.
 * hf_conn_wrote  - so many of them were taken.
 * hf_conn_wipe   - an output buffer that held a password, and is no longer needed. */
void hf_conn_wipe(struct hf_conn *c);
size_t hf_conn_output(struct hf_conn *c, int64_t now_us, const char **ptr);
void hf_conn_wrote(struct hf_conn *c, size_t n);

/* hf_conn_room - where to read to, and how much; 0: no memory.
 * hf_conn_took - so many bytes were read, at `now_us`. Calls `done` and
 *                on_push. HF_OK, or a failure for good with c->error set:
 *                close. */
size_t hf_conn_room(struct hf_conn *c, char **ptr);
hf_status hf_conn_took(struct hf_conn *c, size_t n, int64_t now_us)
    HF_MUST_CHECK;

/* What the owner of the socket says and asks:
 *
 * hf_conn_greeting     - its settings are to be filled in before hf_conn_open;
 *                        its results may be read.
 * hf_conn_begin_stream - it is READY: a stream by this number, but if the
 *                        server has confirmed that the predecessor is gone, and
 *                        that was ours, too.
 * hf_conn_condemn      - nothing more is delivered or handed out; the owner
 *                        closes it, with this error.
 * hf_conn_has_output   - are there bytes that were handed out, or a greeting?
 * hf_conn_counters     - for the owner to count in. */
static inline struct hf_greeting *hf_conn_greeting(struct hf_conn *c)
{
    return &c->greeting;
}

static inline void hf_conn_begin_stream(struct hf_conn *c, uint64_t serial)
{
    if (!c->greeting.has_killed || c->stream == 0)
        c->stream = serial;
}

void hf_conn_condemn(struct hf_conn *c, hf_status status, const char *why);

/* hf_conn_note_secret - the next command holds a password: the buffer is wiped when all of
 * it was written. */
static inline void hf_conn_note_secret(struct hf_conn *c)
{
    c->has_secret = true;
}

static inline bool hf_conn_is_condemned(const struct hf_conn *c)
{
    return c->is_condemned;
}

static inline bool hf_conn_has_output(const struct hf_conn *c)
{
    return c->state == HF_CONN_GREETING ? c->greeting.output_len > 0
                                        : c->unwritten + c->probe_unwritten > 0;
}

static inline struct hf_link_stats *hf_conn_counters(struct hf_conn *c)
{
    return &c->stats;
}

/* hf_conn_is_skipping - do the bytes that come belong to nobody? (CONN-8) */
static inline bool hf_conn_is_skipping(const struct hf_conn *c)
{
    return c->is_skipping;
}

/* hf_conn_stats - a copy of the counters, with how it stands. */
void hf_conn_stats(const struct hf_conn *c, struct hf_link_stats *out);

/* hf_conn_ok - the rules above, for assert and tests. */
bool hf_conn_ok(const struct hf_conn *c);

#endif
