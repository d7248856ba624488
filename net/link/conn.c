/* A pipelined connection's state: places, buffers, delivery. Rules in conn.h. */
#include <assert.h>
#include <string.h>
#include <strings.h>

#include "net/link/conn.h"
#include "net/base/error.h"
#include "net/base/mem.h"

#define READ_MIN (16 * 1024)      /* room for one read; stays in the L1 cache */
#define IN_MAX UINT32_MAX         /* the parser's limits refuse long before */
#define TAPE_FIRST 256            /* nodes */
#define TAPE_MAX (1u << 28)
#define PLACES_FIRST 64
#define OUT_FIRST 4096
#define KEEP_MAX (1u << 20)       /* bytes of an empty buffer that are kept */

static_assert(sizeof(struct hf_place) <= 16, "four to a cache line");

/* ---- places ---- */

static struct hf_place *place_at(const struct hf_conn *c, uint64_t number)
{
    return &c->places[number & (c->places_room - 1)];
}

bool hf_conn_ok(const struct hf_conn *c)
{
    return c->first <= c->unsent && c->unsent <= c->last &&
           c->last - c->first <= c->places_room &&
           c->out_start <= c->out_end && c->out_end <= c->out_room &&
           c->unwritten + c->garbage <= c->out_end - c->out_start &&
           c->in_len <= c->in_room &&
           (c->state == HF_CONN_READY || c->first == c->unsent);
}

/* A ring that grows is unrolled: the part that had wrapped goes behind. */
static bool places_grow(struct hf_conn *c)
{
    uint32_t old = c->places_room;
    size_t want = old ? (size_t)old * 2 : PLACES_FIRST;

    if (c->last - c->first < old)
        return true;
    if (!hf_mem_grow(c->options.mem, &c->places, &c->places_room,
                     sizeof *c->places, want, want))
        return false;
    for (uint64_t n = c->first; n < c->last; n++)
        if ((n & (old - 1)) != (n & (c->places_room - 1)))
            *place_at(c, n) = c->places[n & (old - 1)];
    return true;
}

static void count_unanswered(struct hf_conn *c, enum hf_outcome outcome)
{
    if (outcome == HF_UNSENT)
        c->stats.unsent++;
    else
        c->stats.unknown++;
}

/* The place is free before its owner hears of it, who may submit again. */
static void end_request(struct hf_conn *c, struct hf_request *request,
                        enum hf_outcome outcome, struct hf_resp_value reply)
{
    if (!request)
        return;
    if (outcome != HF_ANSWERED)
        count_unanswered(c, outcome);
    c->options.on_end(c->options.ctx, request, outcome, reply);
}

/* What a rare great value needed is given back once it has gone. */
static void give_back(struct hf_conn *c, void *array, uint32_t *room,
                      size_t size)
{
    void **ptr = array;

    if (*room * size <= KEEP_MAX)
        return;
    hf_mem_free(c->options.mem, *ptr, *room * size);
    *ptr = NULL;
    *room = 0;
}

static const struct hf_resp_value no_reply;

static void skip_withdrawn(struct hf_conn *c)
{
    while (c->first < c->unsent && place_at(c, c->first)->is_withdrawn)
        c->first++;
}

/* ---- confirmations (C7) ---- */

static size_t confirmation_size(size_t kind_len, size_t channel_len)
{
    return sizeof(struct hf_confirmation) + kind_len + channel_len;
}

/* A confirmation's kind is the command's name. */
static struct hf_confirmation *
confirmation_new(struct hf_conn *c, struct hf_request *request,
                 const struct hf_resp_arg *argv, size_t argc)
{
    struct hf_resp_arg channel =
        argc > 1 ? argv[1] : (struct hf_resp_arg){"", 0};
    struct hf_confirmation *x = hf_mem_new(
        c->options.mem, confirmation_size(argv[0].len, channel.len));

    if (!x)
        return NULL;
    x->request = request;
    x->kind_len = (uint32_t)argv[0].len;
    x->channel_len = (uint32_t)channel.len;
    memcpy(x->text, argv[0].ptr, argv[0].len);
    memcpy(x->text + x->kind_len, channel.ptr, channel.len);
    return x;
}

static void confirmation_free(struct hf_conn *c, struct hf_confirmation *x)
{
    hf_mem_free(c->options.mem, x,
                confirmation_size(x->kind_len, x->channel_len));
}

static bool is_confirmation_of(const struct hf_place *place,
                               struct hf_resp_value push)
{
    const struct hf_confirmation *x = place->confirmation;
    struct hf_resp_value kind, channel;
    const char *ptr;
    size_t len;

    return place->is_acknowledged_by_push &&
           hf_resp_element(push, 0, &kind) == HF_OK &&
           hf_resp_element(push, 1, &channel) == HF_OK &&
           hf_resp_bytes(kind, &ptr, &len) == HF_OK && len == x->kind_len &&
           strncasecmp(ptr, x->text, len) == 0 &&
           hf_resp_is_text(channel, x->text + x->kind_len, x->channel_len);
}

/* ---- the first place ---- */

static struct hf_request *take_first(struct hf_conn *c)
{
    struct hf_place *place = place_at(c, c->first);
    struct hf_request *request = hf_place_request(place);

    if (place->is_acknowledged_by_push)
        confirmation_free(c, place->confirmation);
    c->first++;
    return request;
}

/* ---- opening, closing ---- */

void hf_conn_init(struct hf_conn *c, const struct hf_conn_options *options)
{
    memset(c, 0, sizeof *c);
    c->options = *options;
}

void hf_conn_fini(struct hf_conn *c)
{
    const struct hf_mem *mem = c->options.mem;

    hf_greet_wipe(&c->greeting);
    hf_mem_free(mem, c->in, c->in_room);
    hf_mem_free(mem, c->out, c->out_room);
    hf_mem_free(mem, c->tape.nodes, c->tape.room * sizeof *c->tape.nodes);
    hf_mem_free(mem, c->places, c->places_room * sizeof *c->places);
}

void hf_conn_open(struct hf_conn *c)
{
    assert(c->state == HF_CONN_CLOSED);
    c->state = HF_CONN_GREETING;
    c->in_len = 0;
    c->tape.count = 0;
    c->is_condemned = false;
    c->greeting.predecessor = &c->predecessor;
    hf_greet_start(&c->greeting);
    hf_resp_init(&c->parser, NULL, c->greeting.protocol);
}

static void drop_unwritten(struct hf_conn *c)
{
    c->out_start += c->unwritten;
    c->unwritten = 0;
}

/* Closed last: until then there are places in flight, and the owners that are
 * told may submit again. */
void hf_conn_close(struct hf_conn *c)
{
    uint64_t until = c->unsent;

    hf_greet_wipe(&c->greeting);
    drop_unwritten(c);
    while (c->first < until) {
        skip_withdrawn(c);
        if (c->first < until)
            end_request(c, take_first(c), HF_UNKNOWN, no_reply);
    }
    c->is_condemned = false;
    c->state = HF_CONN_CLOSED;
    assert(hf_conn_ok(c));
}

void hf_conn_fail_queued(struct hf_conn *c)
{
    uint64_t until = c->last;

    assert(c->first == c->unsent);
    c->ending = until;
    while (c->first < until) {
        struct hf_place *place = place_at(c, c->first);

        c->out_start += place->size;
        c->unsent = c->first + 1;
        if (place->is_withdrawn) {
            c->garbage -= place->size;
            c->first++;
        }
        else
            end_request(c, take_first(c), HF_UNSENT, no_reply);
    }
}

/* ---- submitting ---- */

/* Cuts out what was withdrawn: bytes that were never handed out. */
static void compact(struct hf_conn *c)
{
    char *from = c->out + c->out_start + c->unwritten;
    char *to = from;

    for (uint64_t n = c->unsent; c->garbage > 0 && n < c->last; n++) {
        struct hf_place *place = place_at(c, n);
        uint32_t size = place->size;

        if (place->is_withdrawn) {
            c->garbage -= size;
            place->size = 0;
        } else {
            memmove(to, from, size);
            to += size;
        }
        from += size;
    }
    memmove(to, from, (size_t)(c->out + c->out_end - from));
    c->out_end -= (size_t)(from - to);
}

/* Room for `size` more bytes: at the end, or by moving what is left down. */
static hf_status output_room(struct hf_conn *c, size_t size)
{
    size_t used;

    if (c->garbage > 0)
        compact(c);
    used = c->out_end - c->out_start;

    if (size <= c->out_room - c->out_end)
        return HF_OK;
    if (c->out_start > 0) {
        memmove(c->out, c->out + c->out_start, used);
        c->out_start = 0;
        c->out_end = used;
    }
    if (used + size < OUT_FIRST)
        size = OUT_FIRST - used;
    return hf_mem_grow(c->options.mem, &c->out, &c->out_room, 1, used + size,
                       UINT32_MAX)
               ? HF_OK
               : HF_E_NOMEM;
}

/* Is there room for the command whatever digits its lengths have? Mostly so,
 * and then they are not counted before they are written. */
static bool fits_surely(const struct hf_conn *c, const struct hf_resp_arg *argv,
                        size_t argc)
{
    size_t left = c->out_room - c->out_end;
    size_t used = c->out_end - c->out_start;

    if (left > c->options.output_max - used)
        left = c->options.output_max - used;
    if (left > HF_PLACE_SIZE_MAX)
        left = HF_PLACE_SIZE_MAX;
    for (size_t i = 0; i < argc; i++) {
        if (left < HF_RESP_ARG_EXTRA || argv[i].len > left - HF_RESP_ARG_EXTRA)
            return false;
        left -= argv[i].len + HF_RESP_ARG_EXTRA;
    }
    return left >= HF_RESP_ARG_EXTRA;
}

static hf_status exact_room(struct hf_conn *c, const struct hf_resp_arg *argv,
                            size_t argc)
{
    size_t size = hf_resp_command_size(argv, argc);

    if (!hf_conn_has_room(c, size) || size > HF_PLACE_SIZE_MAX)
        return HF_E_LIMIT;
    return output_room(c, size);
}

hf_status hf_conn_submit(struct hf_conn *c, struct hf_request *request,
                         const struct hf_resp_arg *argv, size_t argc)
{
    struct hf_place place;
    hf_status rc;
    char *begin;

    if (c->last - c->first >= c->options.requests_max)
        return HF_E_LIMIT;
    if (!fits_surely(c, argv, argc) && (rc = exact_room(c, argv, argc)) < 0)
        return rc;
    if (!places_grow(c))
        return HF_E_NOMEM;
    place = (struct hf_place){.request = request};
    if (request->is_acknowledged_by_push) {
        place.is_acknowledged_by_push = true;
        place.confirmation = confirmation_new(c, request, argv, argc);
        if (!place.confirmation)
            return HF_E_NOMEM;
    }
    begin = c->out + c->out_end;
    c->out_end = (size_t)(hf_resp_put_command(begin, argv, argc) - c->out);
    place.size = (uint32_t)(c->out + c->out_end - begin) & HF_PLACE_SIZE_MAX;
    request->place = c->last;
    request->sent_ms = HF_NEVER;
    *place_at(c, c->last++) = place;
    c->stats.requests++;
    return HF_OK;
}

static bool is_withdrawn_at(const struct hf_conn *c, uint64_t number)
{
    return place_at(c, number)->is_withdrawn;
}

/* Withdrawn places at either end are given back, so that requests which time
 * out while there is no server do not fill the ring. Not those that are being
 * ended: who comes after them is not among them. */
static void trim(struct hf_conn *c)
{
    while (c->last > c->unsent && c->last > c->ending &&
           is_withdrawn_at(c, c->last - 1)) {
        uint32_t size = place_at(c, --c->last)->size;

        c->out_end -= size;
        c->garbage -= size;
    }
    while (c->first == c->unsent && c->first < c->last && c->unwritten == 0 &&
           is_withdrawn_at(c, c->first)) {
        uint32_t size = place_at(c, c->first)->size;

        c->out_start += size;
        c->garbage -= size;
        c->unsent = ++c->first;
    }
}

/* Its bytes stay until they are in the way: thousands that time out together
 * cost one walk, and not one each. */
static void withdraw(struct hf_conn *c, uint64_t number)
{
    struct hf_place *place = place_at(c, number);

    if (place->is_acknowledged_by_push)
        confirmation_free(c, place->confirmation);
    place->is_acknowledged_by_push = false;
    place->request = NULL;
    place->is_withdrawn = true;
    c->garbage += place->size;
    trim(c);
}

enum hf_outcome hf_conn_forget(struct hf_conn *c, struct hf_request *request)
{
    struct hf_place *place = place_at(c, request->place);

    assert(hf_place_request(place) == request);
    if (place->is_acknowledged_by_push)
        place->confirmation->request = NULL;
    else
        place->request = NULL;
    c->stats.given_up++;
    if (request->place < c->unsent) {
        count_unanswered(c, HF_UNKNOWN);
        return HF_UNKNOWN;
    }
    count_unanswered(c, HF_UNSENT);
    withdraw(c, request->place);
    return HF_UNSENT;
}

/* ---- sending ---- */

static void count_batch(struct hf_conn *c, uint64_t requests)
{
    uint64_t in_flight = hf_conn_in_flight(c);

    hf_histogram_add(&c->stats.batch, requests);
    if (in_flight > c->stats.in_flight_max)
        c->stats.in_flight_max = in_flight;
}

static void hand_out(struct hf_conn *c, int64_t now_us)
{
    int64_t now_ms = now_us / 1000;
    uint64_t requests = 0;

    if (c->garbage > 0)
        compact(c);
    for (; c->unsent < c->last; c->unsent++) {
        struct hf_place *place = place_at(c, c->unsent);
        struct hf_request *request = hf_place_request(place);

        if (request) {
            request->sent_ms = now_ms;
            request->stream = c->stream;
        }
        place->sent_us = (uint32_t)now_us;
        c->unwritten += place->size;
        requests += !place->is_withdrawn;
    }
    if (requests > 0)
        count_batch(c, requests);
}

size_t hf_conn_output(struct hf_conn *c, int64_t now_us, const char **ptr)
{
    if (c->state == HF_CONN_GREETING) {
        *ptr = c->greeting.output;
        return c->greeting.output_len;
    }
    if (c->state != HF_CONN_READY || c->is_condemned)
        return 0;
    hand_out(c, now_us);
    if (c->unwritten > 0) /* else there may be no buffer yet */
        *ptr = c->out + c->out_start;
    return c->unwritten;
}

static void greeting_wrote(struct hf_greeting *g, size_t n)
{
    memmove(g->output, g->output + n, g->output_len - n);
    g->output_len -= n;
    if (g->output_len == 0)
        hf_greet_wipe(g);
}

void hf_conn_wrote(struct hf_conn *c, size_t n)
{
    if (c->state == HF_CONN_GREETING) {
        greeting_wrote(&c->greeting, n);
        return;
    }
    c->out_start += n;
    c->unwritten -= n;
    if (c->out_start == c->out_end) {
        c->out_start = c->out_end = 0;
        give_back(c, &c->out, &c->out_room, 1);
    }
}

/* ---- receiving ---- */

/* Doubles when full: memory follows the bytes received, not those promised. */
size_t hf_conn_room(struct hf_conn *c, char **ptr)
{
    if (c->in_room - c->in_len < READ_MIN / 2 &&
        !hf_mem_grow(c->options.mem, &c->in, &c->in_room, 1,
                     c->in_len + READ_MIN, IN_MAX))
        return 0;
    *ptr = c->in + c->in_len;
    return c->in_room - c->in_len;
}

static hf_status broken(struct hf_conn *c, hf_status status)
{
    if (status == HF_E_NOMEM)
        return hf_error_set(&c->error, status,
                            "out of memory while reading a reply");
    /* 0x15 is a TLS alert's first byte, the answer to plain text. */
    if (c->in_len > 0 && c->in[0] == 0x15)
        return hf_error_set(&c->error, HF_E_PROTOCOL,
                            "the server speaks TLS here; use rediss://");
    return hf_error_set(&c->error, status,
                        "not RESP: byte %u: expected %s, found '%s'",
                        (unsigned)c->parser.error.offset,
                        c->parser.error.expected, c->parser.error.found);
}

/* Parses all there is; *whole is how many nodes belong to complete values. */
static hf_status parse_all(struct hf_conn *c, uint32_t *whole)
{
    hf_status rc;

    *whole = 0;
    while ((rc = hf_resp_parse(&c->parser, c->in, c->in_len, &c->tape)) !=
           HF_RESP_MORE) {
        if (rc == HF_OK)
            *whole = c->tape.count;
        else if (rc != HF_RESP_ROOM)
            return broken(c, rc);
        else if (!hf_mem_grow(c->options.mem, &c->tape.nodes, &c->tape.room,
                              sizeof *c->tape.nodes,
                              c->tape.room ? (size_t)c->tape.room + 1
                                           : TAPE_FIRST,
                              TAPE_MAX))
            return broken(c, HF_E_NOMEM);
    }
    return HF_OK;
}

/* In RESP2 a subscribed connection's pushes look like arrays, and so does the
 * reply to PING. */
static bool is_push(const struct hf_conn *c, struct hf_resp_value v)
{
    struct hf_resp_value kind;

    if (hf_resp_type(v) == HF_RESP_PUSH)
        return true;
    return c->options.is_subscriber && c->greeting.protocol == 2 &&
           hf_resp_type(v) == HF_RESP_ARRAY &&
           !(hf_resp_element(v, 0, &kind) == HF_OK &&
             hf_resp_is_text(kind, "pong", 4));
}

static hf_status unasked(struct hf_conn *c, struct hf_resp_value v)
{
    char words[200];
    const char *ptr = "";
    size_t len = 0;

    (void)hf_resp_bytes(v, &ptr, &len);
    return hf_error_set(&c->error, HF_E_PROTOCOL,
                        "the server sent a reply that nobody asked for: %s",
                        hf_error_quote(words, sizeof words, ptr, len));
}

static void count_reply(struct hf_conn *c, struct hf_resp_value v)
{
    const struct hf_place *place = place_at(c, c->first);

    c->latency_us = c->read_us - place->sent_us;
    hf_histogram_add(&c->stats.latency_us, c->latency_us);
    if (hf_place_request(place)) {
        c->stats.answered++;
        c->stats.error_replies += hf_resp_is_error(v);
    } else {
        c->stats.late_replies++;
        if (c->options.on_late)
            c->options.on_late(c->options.ctx, c->first, v);
    }
}

static hf_status deliver_reply(struct hf_conn *c, struct hf_resp_value v)
{
    skip_withdrawn(c);
    if (c->first == c->unsent)
        return unasked(c, v);
    count_reply(c, v);
    end_request(c, take_first(c), HF_ANSWERED, v);
    return HF_OK;
}

static hf_status deliver_push(struct hf_conn *c, struct hf_resp_value v)
{
    struct hf_resp_value kind;

    if (hf_resp_element(v, 0, &kind) < 0)
        return HF_OK; /* no kind: dropped (RESP-CONFORMANCE pol-push-empty) */
    skip_withdrawn(c);
    if (c->first < c->unsent && is_confirmation_of(place_at(c, c->first), v))
        return deliver_reply(c, v);
    c->stats.pushes++;
    c->options.on_push(c->options.ctx, v);
    return HF_OK;
}

static hf_status deliver_greeting(struct hf_conn *c, struct hf_resp_value v)
{
    enum hf_greet_answer answer;

    if (hf_resp_type(v) == HF_RESP_PUSH)
        return HF_OK;
    if (!hf_greet_is_asked(&c->greeting))
        return unasked(c, v);
    answer = hf_greet_reply(&c->greeting, v);
    hf_resp_set_protocol(&c->parser, c->greeting.protocol);
    if (answer == GREET_READY)
        c->state = HF_CONN_READY;
    if (answer != GREET_FAILED)
        return HF_OK;
    c->error = c->greeting.error;
    return c->error.status;
}

static hf_status deliver(struct hf_conn *c, struct hf_resp_value v)
{
    if (c->state == HF_CONN_GREETING)
        return deliver_greeting(c, v);
    return is_push(c, v) ? deliver_push(c, v) : deliver_reply(c, v);
}

static hf_status deliver_all(struct hf_conn *c, uint32_t whole)
{
    hf_status rc;

    for (uint32_t i = 0; i < whole && !c->is_condemned;
         i = hf_resp_next_index(&c->tape, i)) {
        rc = deliver(c, hf_resp_first(&c->tape, c->in, i));
        if (rc < 0)
            return rc;
    }
    return c->is_condemned ? c->error.status : HF_OK;
}

/* Nothing moves while a great value comes in. */
static void drop_input(struct hf_conn *c, size_t used)
{
    c->in_len -= used;
    if (used > 0 && c->in_len > 0)
        memmove(c->in, c->in + used, c->in_len);
    if (c->in_len > 0)
        return;
    give_back(c, &c->in, &c->in_room, 1);
    give_back(c, &c->tape.nodes, &c->tape.room, sizeof *c->tape.nodes);
    if (c->first == c->last)
        give_back(c, &c->places, &c->places_room, sizeof *c->places);
}

hf_status hf_conn_took(struct hf_conn *c, size_t n, int64_t now_us)
{
    uint32_t whole;
    size_t used;
    hf_status rc;

    c->read_us = (uint32_t)now_us;
    c->in_len += n;
    if ((rc = parse_all(c, &whole)) < 0 || (rc = deliver_all(c, whole)) < 0)
        return rc;
    hf_resp_drop(&c->parser, &c->tape, &used);
    drop_input(c, used);
    assert(hf_conn_ok(c));
    if (c->in_len > c->options.reply_max)
        return hf_error_set(&c->error, HF_E_LIMIT,
                            "a reply of more than %zu bytes",
                            c->options.reply_max);
    return HF_OK;
}

/* ---- counters ---- */

void hf_conn_stats(const struct hf_conn *c, struct hf_link_stats *out)
{
    *out = c->stats;
    out->in_flight = hf_conn_in_flight(c);
    out->queued = 0;
    for (uint64_t n = c->unsent; n < c->last; n++)
        out->queued += !place_at(c, n)->is_withdrawn;
    out->queued_bytes = c->out_end - c->out_start - c->garbage;
}
