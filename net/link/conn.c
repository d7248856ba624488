/* A pipelined connection: its states, and what it receives. Rules in conn.h. */
/* Tests: tests/test_net_conn.c, tests/test_net_conn_end.c, tests/test_net_conn_life.c. */
#include "net/link/conn.h"

#include <assert.h>
#include <string.h>

#include "net/base/assert.h"
#include "net/base/error.h"
#include "net/base/mem.h"
#include "net/link/too_large.h"

#define READ_MIN (16 * 1024)      /* room for one read; stays in the L1 cache */
#define READ_LEAST 1024           /* room that is kept while nothing arrives */
#define INPUT_MAX UINT32_MAX      /* the parser's limits refuse long before */
#define WRITE_LEAST 1024          /* the same for commands */
#define TAPE_LEAST 64             /* the same, nodes */
#define TAPE_FIRST 256            /* nodes */
#define TAPE_MAX (1u << 28)

static_assert(sizeof(struct hf_expected_reply) <= 16, "four to a cache line");

/* ---- places ---- */

bool hf_conn_ok(const struct hf_conn *c)
{
    return c->first <= c->first_unsent && c->first_unsent <= c->end &&
           c->end - c->first <= c->places_capacity &&
           c->out_start <= c->out_end && c->out_end <= c->out_capacity &&
           c->unwritten_bytes + c->withdrawn_bytes <= c->out_end - c->out_start &&
           c->in_len <= c->in_capacity &&
           (c->state == HF_CONN_READY || c->first == c->first_unsent);
}

static void set_conn_state(struct hf_conn *c, enum hf_conn_state state)
{
    c->state = state;
}

static void count_ended_without_reply(struct hf_conn *c, enum hf_outcome outcome)
{
    if (outcome == HF_UNSENT)
        c->stats.unsent++;
    else
        c->stats.unknown++;
}

/* The place is free before its owner hears of it: the owner may submit again. */
static void end_request_of_place(struct hf_conn *c, struct hf_request *request,
                                 enum hf_outcome outcome, struct hf_resp_value reply)
{
    if (!request)
        return;
    HF_ASSERT((outcome == HF_UNSENT) == (request->sent_ms == HF_NEVER)); /* no byte has left */
    if (outcome != HF_ANSWERED)
        count_ended_without_reply(c, outcome);
    c->options.on_request_end(c->options.ctx, request, outcome, reply);
}

static const struct hf_resp_value no_reply;

static void skip_withdrawn_requests(struct hf_conn *c)
{
    while (c->first < c->first_unsent && hf_conn_expected_reply(c, c->first)->is_withdrawn)
        c->first++;
}

/* ---- the first place ---- */

static struct hf_request *remove_first_in_flight(struct hf_conn *c)
{
    struct hf_expected_reply *place = hf_conn_expected_reply(c, c->first);
    struct hf_request *request = hf_expected_reply_request(place);

    HF_ASSERT(c->first < c->end && !place->is_withdrawn);
    if (place->is_acknowledged_by_push)
        hf_subscribe_push_free(c->options.mem, place->subscribe_push);
    c->first++;
    return request;
}

/* ---- opening, closing ---- */

void hf_conn_init(struct hf_conn *c, const struct hf_conn_options *options)
{
    memset(c, 0, sizeof *c);
    c->options = *options;
    c->predecessor = options->predecessor;
    c->handshake.mem = options->mem;
    c->first = c->first_unsent = c->end = 1;
}

void hf_conn_fini(struct hf_conn *c)
{
    const struct hf_mem *mem = c->options.mem;

    hf_handshake_wipe(&c->handshake);
    hf_mem_free(mem, c->in, c->in_capacity);
    hf_conn_wipe_output(c);
    hf_mem_free(mem, c->out, c->out_capacity);
    hf_mem_free(mem, c->tape.nodes, c->tape.room * sizeof *c->tape.nodes);
    hf_mem_free(mem, c->places, c->places_capacity * sizeof *c->places);
}

/* Small ones remain, so that a client without memory still sends short commands and receives
 * their replies. */
static void *resize_buffer(struct hf_conn *c, void *ptr, size_t size, size_t least)
{
    return c->options.mem->resize(c->options.mem->ctx, ptr, size, least);
}

static void shrink_input(struct hf_conn *c)
{
    char *in;

    if (c->in_capacity <= READ_LEAST || !(in = resize_buffer(c, c->in, c->in_capacity, READ_LEAST)))
        return;
    c->in = in;
    c->in_capacity = READ_LEAST;
}

static void shrink_output(struct hf_conn *c)
{
    char *out;

    if (c->out_capacity <= WRITE_LEAST || c->out_end > c->out_start || c->has_secret ||
        !(out = resize_buffer(c, c->out, c->out_capacity, WRITE_LEAST)))
        return;
    c->out = out;
    c->out_capacity = WRITE_LEAST;
    c->out_start = c->out_end = 0;
}

static void shrink_tape(struct hf_conn *c)
{
    size_t size = sizeof *c->tape.nodes;
    void *nodes;

    if (c->tape.room <= TAPE_LEAST || c->tape.count > 0 ||
        !(nodes = resize_buffer(c, c->tape.nodes, c->tape.room * size, TAPE_LEAST * size)))
        return;
    c->tape.nodes = nodes;
    c->tape.room = TAPE_LEAST;
}

void hf_conn_shrink(struct hf_conn *c)
{
    if (c->state == HF_CONN_READY && c->first == c->end && c->in_len == 0 &&
        !c->is_skipping) {
        shrink_input(c);
        shrink_output(c);
        shrink_tape(c);
    }
}

static uint32_t limit_to_bytes(uint32_t limit, size_t bytes)
{
    return bytes < limit ? (uint32_t)bytes : limit;
}

/* What cannot be part of a reply of reply_max bytes is refused at its header. An
 * element has 3 bytes at least. */
static void init_parser(struct hf_conn *c)
{
    struct hf_resp_limits limits = hf_resp_default_limits;
    size_t max = c->options.reply_max;

    limits.line = limit_to_bytes(limits.line, max);
    limits.bulk = limit_to_bytes(limits.bulk, max);
    limits.elements = limit_to_bytes(limits.elements, max / 3);
    limits.reply = limit_to_bytes(limits.reply, max);
    hf_resp_init(&c->parser, &limits, c->handshake.protocol);
}

hf_status hf_conn_open(struct hf_conn *c)
{
    hf_status rc;

    HF_ASSERT(c->state == HF_CONN_CLOSED);
    set_conn_state(c, HF_CONN_HANDSHAKE);
    c->in_len = 0;
    c->tape.count = 0;
    c->is_condemned = c->delivers_despite_error = false;
    c->is_skipping = false;
    c->handshake.predecessor = &c->predecessor;
    rc = hf_handshake_start(&c->handshake);
    init_parser(c);
    HF_ASSERT(c->in_len == 0 && c->tape.count == 0 && c->unwritten_bytes == 0 && hf_conn_ok(c));
    return rc;
}

static size_t queued_bytes(const struct hf_conn *c)
{
    size_t bytes = 0;

    for (uint64_t n = c->first_unsent; n < c->end; n++)
        bytes += hf_conn_expected_reply(c, n)->size;
    return bytes;
}

static void drop_unwritten_bytes(struct hf_conn *c)
{
    c->out_start += c->unwritten_bytes;
    c->unwritten_bytes = 0;
    c->unwritten_probe_bytes = 0;
    HF_ASSERT(c->out_end - c->out_start == queued_bytes(c)); /* only what was not handed out */
}

/* The state becomes CLOSED last: until then there are places in flight, and `done` may
 * submit requests again. */
void hf_conn_close(struct hf_conn *c)
{
    uint64_t until = c->first_unsent;

    hf_handshake_wipe(&c->handshake);
    drop_unwritten_bytes(c);
    while (c->first < until) {
        skip_withdrawn_requests(c);
        if (c->first < until)
            end_request_of_place(c, remove_first_in_flight(c), HF_UNKNOWN, no_reply);
    }
    c->is_condemned = c->delivers_despite_error = false;
    set_conn_state(c, HF_CONN_CLOSED);
    HF_ASSERT(hf_conn_ok(c));
}

static void copy_handshake_result(struct hf_handshake *g, const struct hf_handshake *from)
{
    g->mode = from->mode;
    g->probes_with_ping_first = from->probes_with_ping_first;
    g->protocol = from->protocol;
    g->has_closed_predecessor = from->has_closed_predecessor;
    g->is_tracking = from->is_tracking;
    g->has_answered = from->has_answered;
    g->uses_default_user = from->uses_default_user;
}

static void take_input_of_other_conn(struct hf_conn *c, struct hf_conn *from)
{
    const struct hf_mem *mem = c->options.mem;

    hf_mem_free(mem, c->in, c->in_capacity);
    hf_mem_free(mem, c->tape.nodes, c->tape.room * sizeof *c->tape.nodes);
    c->in = from->in;
    c->in_capacity = from->in_capacity;
    c->in_len = from->in_len;
    c->tape = from->tape;
    c->parser = from->parser;
    c->skipped_value = from->skipped_value;
    c->is_skipping = from->is_skipping;
    c->is_skip_reported = from->is_skip_reported;
    from->in = NULL;
    from->in_capacity = 0;
    from->in_len = 0;
    memset(&from->tape, 0, sizeof from->tape);
}

void hf_conn_adopt(struct hf_conn *c, struct hf_conn *from)
{
    HF_ASSERT(c->state == HF_CONN_CLOSED && from->state == HF_CONN_READY &&
              from->first == from->end);
    set_conn_state(c, HF_CONN_READY);
    c->predecessor = from->predecessor;
    copy_handshake_result(&c->handshake, &from->handshake);
    take_input_of_other_conn(c, from);
    HF_ASSERT(hf_conn_ok(c) && hf_conn_ok(from));
}

void hf_conn_fail_queued(struct hf_conn *c)
{
    uint64_t until = c->end;

    HF_ASSERT(c->first == c->first_unsent);
    c->ending_below = until;
    while (c->first < until) {
        struct hf_expected_reply *place = hf_conn_expected_reply(c, c->first);

        c->out_start += place->size;
        c->first_unsent = c->first + 1;
        if (place->is_withdrawn) {
            c->withdrawn_bytes -= place->size;
            c->first++;
        } else
            end_request_of_place(c, remove_first_in_flight(c), HF_UNSENT, no_reply);
    }
    HF_ASSERT(hf_conn_ok(c));
}

/* ---- receiving ---- */

/* Doubles when full: memory follows the bytes received, not those promised. */
size_t hf_conn_input(struct hf_conn *c, char **ptr)
{
    if (c->in_capacity - c->in_len < READ_MIN / 2) /* without memory: what is left */
        (void)!hf_mem_grow(c->options.mem, &c->in, &c->in_capacity, 1,
                           c->in_len + READ_MIN, INPUT_MAX);
    *ptr = c->in + c->in_len;
    return c->in_capacity - c->in_len;
}

static hf_status fail_broken_stream(struct hf_conn *c, hf_status status)
{
    const char *found = c->parser.error.found;

    if (status == HF_E_NOMEM)
        return hf_error_set(&c->error, status,
                            "out of memory while reading a reply");
    /* 0x15 is a TLS alert's first byte, the answer to plain text. */
    if (c->in_len > 0 && c->in[0] == 0x15)
        return hf_error_set(&c->error, HF_E_PROTOCOL,
                            "the server speaks TLS here; use rediss://");
    if (hf_login_appears_in(c->handshake.login, c->in, c->in_len))
        found = "(words that may hold the password)";
    return hf_error_set(&c->error, status,
                        "not RESP: byte %u: expected %s, found '%s'",
                        (unsigned)c->parser.error.offset,
                        c->parser.error.expected, found);
}

/* Parses all there is; *whole is how many nodes belong to complete values.
 * HF_E_LIMIT: what follows them is too large. */
static hf_status parse_whole_values(struct hf_conn *c, uint32_t *whole)
{
    hf_status rc;

    *whole = 0;
    while ((rc = hf_resp_parse(&c->parser, c->in, c->in_len, &c->tape)) !=
           HF_RESP_MORE) {
        if (rc == HF_OK)
            *whole = c->tape.count;
        else if (rc == HF_E_LIMIT)
            return rc;
        else if (rc != HF_RESP_ROOM)
            return fail_broken_stream(c, rc);
        else if (!hf_mem_grow(c->options.mem, &c->tape.nodes, &c->tape.room,
                              sizeof *c->tape.nodes,
                              c->tape.room ? (size_t)c->tape.room + 1 : TAPE_FIRST, TAPE_MAX))
            return fail_broken_stream(c, HF_E_NOMEM);
    }
    return HF_OK;
}

/* In RESP2 a subscribed connection's pushes look like arrays, and so does the reply to PING. */
static bool is_push(const struct hf_conn *c, struct hf_resp_value v)
{
    struct hf_resp_value kind;

    if (hf_resp_type(v) == HF_RESP_PUSH)
        return true;
    return c->options.is_subscriber && c->handshake.protocol == 2 &&
           hf_resp_type(v) == HF_RESP_ARRAY &&
           !(hf_resp_element(v, 0, &kind) == HF_OK &&
             hf_resp_is_text(kind, "pong", 4));
}

static hf_status fail_unrequested_reply(struct hf_conn *c, struct hf_resp_value v)
{
    char words[200];
    const char *ptr = "";
    size_t len = 0;

    (void)hf_resp_bytes(v, &ptr, &len);
    return hf_error_set(&c->error, HF_E_PROTOCOL,
                        "the server sent a reply without a request: %s",
                        hf_error_quote(words, sizeof words, ptr, len));
}

static void count_reply(struct hf_conn *c, struct hf_resp_value v)
{
    const struct hf_expected_reply *place = hf_conn_expected_reply(c, c->first);

    c->last_latency_us = c->last_read_us - place->sent_us;
    hf_histogram_add(&c->stats.latency_us, c->last_latency_us);
    if (hf_expected_reply_request(place)) {
        c->stats.answered++;
        c->stats.error_replies += hf_resp_is_error(v);
    } else {
        c->stats.late_replies++;
        if (c->options.on_late_reply)
            c->options.on_late_reply(c->options.ctx, c->first, v);
    }
}

static hf_status deliver_reply(struct hf_conn *c, struct hf_resp_value v)
{
    skip_withdrawn_requests(c);
    if (c->first == c->first_unsent)
        return fail_unrequested_reply(c, v);
    count_reply(c, v);
    end_request_of_place(c, remove_first_in_flight(c), HF_ANSWERED, v);
    return HF_OK;
}

static bool is_subscribe_confirmation(const struct hf_conn *c, struct hf_resp_value push)
{
    const struct hf_expected_reply *place = hf_conn_expected_reply(c, c->first);

    return c->first < c->first_unsent && place->is_acknowledged_by_push &&
           hf_subscribe_push_matches(place->subscribe_push, push);
}

/* CONN-9 */
static hf_status end_subscribe_when_confirmed(struct hf_conn *c, struct hf_resp_value push)
{
    HF_ASSERT(hf_conn_expected_reply(c, c->first)->subscribe_push->pushes_awaited > 0);
    if (--hf_conn_expected_reply(c, c->first)->subscribe_push->pushes_awaited > 0)
        return HF_OK;
    return deliver_reply(c, push);
}

static hf_status deliver_push(struct hf_conn *c, struct hf_resp_value v)
{
    struct hf_resp_value kind;

    if (hf_resp_element(v, 0, &kind) < 0)
        return HF_OK; /* no kind: dropped (RESP-CONFORMANCE pol-push-empty) */
    skip_withdrawn_requests(c);
    if (is_subscribe_confirmation(c, v))
        return end_subscribe_when_confirmed(c, v);
    c->stats.pushes++;
    c->options.on_push(c->options.ctx, v);
    return HF_OK;
}

static hf_status deliver_handshake(struct hf_conn *c, struct hf_resp_value v)
{
    enum hf_handshake_result answer;

    if (hf_resp_type(v) == HF_RESP_PUSH)
        return HF_OK;
    if (!hf_handshake_awaited_is_sent(&c->handshake))
        return fail_unrequested_reply(c, v);
    answer = hf_handshake_reply(&c->handshake, v);
    hf_resp_set_protocol(&c->parser, c->handshake.protocol);
    if (answer == HANDSHAKE_READY)
        set_conn_state(c, HF_CONN_READY);
    if (answer != HANDSHAKE_FAILED)
        return HF_OK;
    c->error = c->handshake.error;
    return c->error.status;
}

static hf_status deliver_value(struct hf_conn *c, struct hf_resp_value v)
{
    if (c->state == HF_CONN_HANDSHAKE)
        return deliver_handshake(c, v);
    return is_push(c, v) ? deliver_push(c, v) : deliver_reply(c, v);
}

static hf_status deliver_whole_values(struct hf_conn *c, uint32_t whole)
{
    hf_status rc;

    for (uint32_t i = 0; i < whole && (!c->is_condemned || c->delivers_despite_error);
         i = hf_resp_next_index(&c->tape, i)) {
        rc = deliver_value(c, hf_resp_first(&c->tape, c->in, i));
        if (rc < 0)
            return rc;
    }
    return c->is_condemned ? c->error.status : HF_OK;
}

/* Nothing moves while a great value comes in. */
static void drop_used_input(struct hf_conn *c, size_t used)
{
    const struct hf_mem *mem = c->options.mem;

    HF_ASSERT(used <= c->in_len);
    c->in_len -= used;
    if (used > 0 && c->in_len > 0)
        memmove(c->in, c->in + used, c->in_len);
    if (c->in_len > 0)
        return;
    hf_mem_free_if_large(mem, &c->in, &c->in_capacity, 1, HF_CONN_BUFFER_KEEP_MAX);
    hf_mem_free_if_large(mem, &c->tape.nodes, &c->tape.room,
                         sizeof *c->tape.nodes, HF_CONN_BUFFER_KEEP_MAX);
    if (c->first == c->end)
        hf_mem_free_if_large(mem, &c->places, &c->places_capacity, sizeof *c->places,
                             HF_CONN_BUFFER_KEEP_MAX);
}

/* ---- a value that is too large (CONN-8) ---- */

static void begin_skipping_value(struct hf_conn *c)
{
    drop_used_input(c, c->parser.start);
    c->tape.count = 0;
    init_parser(c);
    hf_skip_begin(&c->skipped_value, c->handshake.protocol);
    c->is_skipping = true;
    c->is_skip_reported = false;
}

/* In RESP2 a subscribed connection's only other array is a pong, which is small. */
static bool is_skipped_value_push(const struct hf_conn *c)
{
    return c->skipped_value.outermost_type == '>' ||
           (c->options.is_subscriber && c->handshake.protocol == 2 &&
            c->skipped_value.outermost_type == '*');
}

static void report_lost_push(struct hf_conn *c)
{
    c->stats.pushes++;
    if (c->state == HF_CONN_READY && c->options.on_push_lost)
        c->options.on_push_lost(c->options.ctx);
}

static hf_status report_skipped_value(struct hf_conn *c)
{
    hf_status rc = HF_OK;

    if (c->is_skip_reported || !c->skipped_value.outermost_type)
        return HF_OK;
    c->is_skip_reported = true;
    if (is_skipped_value_push(c))
        report_lost_push(c);
    else
        rc = c->state == HF_CONN_HANDSHAKE ? deliver_handshake(c, hf_too_large_reply())
                                          : deliver_reply(c, hf_too_large_reply());
    return c->is_condemned ? c->error.status : rc;
}

static hf_status fail_skipping(struct hf_conn *c, hf_status status)
{
    return hf_error_set(&c->error, status,
                        "a value of more than %zu bytes cannot be skipped: "
                        "it is not RESP",
                        c->options.reply_max);
}

static hf_status continue_skipping(struct hf_conn *c)
{
    size_t used;
    hf_status rc = hf_skip_bytes(&c->skipped_value, c->in, c->in_len, &used), told;

    if (rc < 0)
        return fail_skipping(c, rc);
    if ((told = report_skipped_value(c)) < 0)
        return told;
    c->is_skipping = rc == HF_RESP_MORE;
    drop_used_input(c, used);
    return HF_OK;
}

static hf_status parse_and_deliver(struct hf_conn *c)
{
    hf_status parsed, rc;
    uint32_t whole;
    size_t used;

    parsed = parse_whole_values(c, &whole);
    if (parsed < 0 && parsed != HF_E_LIMIT)
        return parsed;
    if ((rc = deliver_whole_values(c, whole)) < 0)
        return rc;
    if (parsed == HF_E_LIMIT) {
        begin_skipping_value(c);
        return HF_OK;
    }
    hf_resp_drop(&c->parser, &c->tape, &used);
    drop_used_input(c, used);
    return HF_OK;
}

/* Continues while there are bytes after a value that ends, or before one that is skipped. */
hf_status hf_conn_received(struct hf_conn *c, size_t n, int64_t now_us)
{
    bool was_skipping;
    hf_status rc;

    HF_ASSERT(c->state != HF_CONN_CLOSED && n <= c->in_capacity - c->in_len);
    c->last_read_us = (uint32_t)now_us;
    c->in_len += n;
    do {
        was_skipping = c->is_skipping;
        rc = was_skipping ? continue_skipping(c) : parse_and_deliver(c);
    } while (rc == HF_OK && was_skipping != c->is_skipping && c->in_len > 0);
    HF_ASSERT(rc < 0 || hf_conn_ok(c));
    return rc;
}

void hf_conn_condemn(struct hf_conn *c, hf_status status, const char *why)
{
    c->is_condemned = true;
    c->delivers_despite_error = false;
    hf_error_set(&c->error, status, "%s", why);
}

/* ---- counters ---- */

void hf_conn_stats(const struct hf_conn *c, struct hf_link_stats *out)
{
    *out = c->stats;
    out->in_flight = hf_conn_in_flight(c);
    out->queued = 0;
    for (uint64_t n = c->first_unsent; n < c->end; n++)
        out->queued += !hf_conn_expected_reply(c, n)->is_withdrawn;
    out->queued_bytes = c->out_end - c->out_start - c->withdrawn_bytes;
}
