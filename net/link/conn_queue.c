/* What a connection sends: its queue of requests, and their bytes. Rules in
 * conn.h. */
/* Tests: tests/test_net_conn.c, tests/test_net_conn_limits.c. */
#include <string.h>

#include "net/base/assert.h"
#include "net/base/mem.h"
#include "net/link/conn.h"

static const char probe[] = "*1\r\n$4\r\nPING\r\n";

#define PROBE_SIZE (sizeof probe - 1)
#define PLACES_FIRST 64   /* the first capacities; both double when needed */
#define OUTPUT_FIRST 4096

/* ---- submitting ---- */

/* A ring that grows is unrolled: the part that had wrapped goes behind. */
static bool double_expected_replies(struct hf_conn *c)
{
    uint32_t old = c->places_capacity;
    size_t want = old ? (size_t)old * 2 : PLACES_FIRST;

    if (!hf_mem_grow(c->options.mem, &c->places, &c->places_capacity,
                     sizeof *c->places, want, want))
        return false;
    for (uint64_t n = c->first; n < c->end; n++)
        if ((n & (old - 1)) != (n & (c->places_capacity - 1)))
            *hf_conn_expected_reply(c, n) = c->places[n & (old - 1)];
    return true;
}

static bool ensure_place_for_reply(struct hf_conn *c)
{
    return c->end - c->first < c->places_capacity || double_expected_replies(c);
}

/* Removes the bytes of withdrawn requests, which were never in flight. */
static void remove_withdrawn_bytes(struct hf_conn *c)
{
    char *from = c->out + c->out_start + c->unwritten_bytes;
    char *to = from;

    for (uint64_t n = c->first_unsent; c->withdrawn_bytes > 0 && n < c->end; n++) {
        struct hf_expected_reply *place = hf_conn_expected_reply(c, n);
        uint32_t size = place->size;

        if (place->is_withdrawn) {
            c->withdrawn_bytes -= size;
            place->size = 0;
        } else {
            memmove(to, from, size);
            to += size;
        }
        from += size;
    }
    memmove(to, from, (size_t)(c->out + c->out_end - from));
    c->out_end -= (size_t)(from - to);
    HF_ASSERT(c->withdrawn_bytes == 0);
}

/* Makes space for `size` more bytes: at the end, or by moving the remaining bytes down.
 * */
static hf_status ensure_output_space(struct hf_conn *c, size_t size)
{
    bool (*grow)(const struct hf_mem *, void *, uint32_t *, size_t, size_t, size_t);
    size_t used;

    if (c->withdrawn_bytes > 0)
        remove_withdrawn_bytes(c);
    used = c->out_end - c->out_start;

    if (size <= c->out_capacity - c->out_end)
        return HF_OK;
    if (c->out_start > 0) {
        memmove(c->out, c->out + c->out_start, used);
        c->out_start = 0;
        c->out_end = used;
    }
    if (used + size < OUTPUT_FIRST)
        size = OUTPUT_FIRST - used;
    grow = c->has_secret ? hf_mem_grow_wiped : hf_mem_grow;
    return grow(c->options.mem, &c->out, &c->out_capacity, 1, used + size, UINT32_MAX)
               ? HF_OK
               : HF_E_NOMEM;
}

/* Is there room for the command whatever digits its lengths have? Mostly so,
 * and then they are not counted before they are written. */
static bool fits_with_longest_digits(const struct hf_conn *c, const struct hf_resp_arg *argv,
                                     size_t argc)
{
    size_t left = c->out_capacity - c->out_end;
    size_t used = c->out_end - c->out_start;

    if (left > c->options.output_max - used)
        left = c->options.output_max - used;
    if (left > HF_COMMAND_SIZE_MAX)
        left = HF_COMMAND_SIZE_MAX;
    for (size_t i = 0; i < argc; i++) {
        if (left < HF_RESP_ARG_EXTRA || argv[i].len > left - HF_RESP_ARG_EXTRA)
            return false;
        left -= argv[i].len + HF_RESP_ARG_EXTRA;
    }
    return left >= HF_RESP_ARG_EXTRA;
}

static hf_status ensure_exact_output_space(struct hf_conn *c, const struct hf_resp_arg *argv,
                                           size_t argc)
{
    size_t size = hf_resp_command_size(argv, argc);

    if (!hf_conn_has_space(c, size) || size > HF_COMMAND_SIZE_MAX)
        return HF_E_LIMIT;
    return ensure_output_space(c, size);
}

hf_status hf_conn_submit(struct hf_conn *c, struct hf_request *request,
                         const struct hf_resp_arg *argv, size_t argc)
{
    struct hf_expected_reply place;
    hf_status rc;
    char *begin;

    if (c->end - c->first >= c->options.requests_max)
        return HF_E_LIMIT;
    if (!fits_with_longest_digits(c, argv, argc) &&
        (rc = ensure_exact_output_space(c, argv, argc)) < 0)
        return rc;
    if (!ensure_place_for_reply(c))
        return HF_E_NOMEM;
    place = (struct hf_expected_reply){.request = request};
    if (request->is_acknowledged_by_push) {
        place.is_acknowledged_by_push = true;
        place.subscribe_push =
            hf_subscribe_push_new(c->options.mem, request, argv, argc);
        if (!place.subscribe_push)
            return HF_E_NOMEM;
    }
    begin = c->out + c->out_end;
    c->out_end = (size_t)(hf_resp_put_command(begin, argv, argc) - c->out);
    place.size = (uint32_t)(c->out + c->out_end - begin) & HF_COMMAND_SIZE_MAX;
    request->number_in_link = c->end;
    request->sent_ms = HF_NEVER;
    *hf_conn_expected_reply(c, c->end++) = place;
    c->stats.requests++;
    HF_ASSERT(hf_conn_ok(c));
    return HF_OK;
}

static bool is_place_withdrawn(const struct hf_conn *c, uint64_t number)
{
    return hf_conn_expected_reply(c, number)->is_withdrawn;
}

/* Withdrawn places at either end are freed, so that requests which time out while there
 * is no server do not fill the ring. Places that are being ended are not freed: later
 * requests do not belong to them. */
static void free_withdrawn_places_at_ends(struct hf_conn *c)
{
    while (c->end > c->first_unsent && c->end > c->ending_below &&
           is_place_withdrawn(c, c->end - 1)) {
        uint32_t size = hf_conn_expected_reply(c, --c->end)->size;

        HF_ASSERT(size <= c->withdrawn_bytes);
        c->out_end -= size;
        c->withdrawn_bytes -= size;
    }
    while (c->first == c->first_unsent && c->first < c->end && c->unwritten_bytes == 0 &&
           is_place_withdrawn(c, c->first)) {
        uint32_t size = hf_conn_expected_reply(c, c->first)->size;

        HF_ASSERT(size <= c->withdrawn_bytes);
        c->out_start += size;
        c->withdrawn_bytes -= size;
        c->first_unsent = ++c->first;
    }
}

/* Its bytes stay until they are in the way: thousands that time out together
 * cost one walk, and not one each. */
static void withdraw_place(struct hf_conn *c, uint64_t number)
{
    struct hf_expected_reply *place = hf_conn_expected_reply(c, number);

    HF_ASSERT(number >= c->first_unsent && number < c->end && !place->is_withdrawn);
    if (place->is_acknowledged_by_push)
        hf_subscribe_push_free(c->options.mem, place->subscribe_push);
    place->is_acknowledged_by_push = false;
    place->request = NULL;
    place->is_withdrawn = true;
    c->withdrawn_bytes += place->size;
    free_withdrawn_places_at_ends(c);
}

enum hf_outcome hf_conn_cancel(struct hf_conn *c, struct hf_request *request)
{
    struct hf_expected_reply *place = hf_conn_expected_reply(c, request->number_in_link);

    HF_ASSERT(request->number_in_link >= c->first && request->number_in_link < c->end);
    HF_ASSERT(hf_expected_reply_request(place) == request);
    HF_ASSERT((request->number_in_link < c->first_unsent) == (request->sent_ms != HF_NEVER));
    if (place->is_acknowledged_by_push)
        place->subscribe_push->request = NULL;
    else
        place->request = NULL;
    c->stats.given_up++;
    if (request->number_in_link < c->first_unsent) {
        c->stats.unknown++;
        return HF_UNKNOWN;
    }
    c->stats.unsent++;
    withdraw_place(c, request->number_in_link);
    return HF_UNSENT;
}

/* ---- sending ---- */

static void count_write_batch(struct hf_conn *c, uint64_t requests)
{
    uint64_t in_flight = hf_conn_in_flight(c);

    hf_histogram_add(&c->stats.batch, requests);
    if (in_flight > c->stats.in_flight_max)
        c->stats.in_flight_max = in_flight;
}

static void mark_requests_sent(struct hf_conn *c, int64_t now_us)
{
    int64_t now_ms = now_us / 1000;
    uint64_t requests = 0;

    if (c->withdrawn_bytes > 0)
        remove_withdrawn_bytes(c);
    for (; c->first_unsent < c->end; c->first_unsent++) {
        struct hf_expected_reply *place = hf_conn_expected_reply(c, c->first_unsent);
        struct hf_request *request = hf_expected_reply_request(place);

        if (request) {
            request->sent_ms = now_ms;
            request->stream = c->stream;
        }
        place->sent_us = (uint32_t)now_us;
        c->unwritten_bytes += place->size;
        requests += !place->is_withdrawn;
    }
    if (requests > 0)
        count_write_batch(c, requests);
    HF_ASSERT(c->unwritten_bytes == c->out_end - c->out_start);
}

hf_status hf_conn_probe(struct hf_conn *c, struct hf_request *request,
                        int64_t now_us)
{
    HF_ASSERT(c->state == HF_CONN_READY && c->first == c->first_unsent);
    if (!ensure_place_for_reply(c))
        return HF_E_NOMEM;
    request->number_in_link = --c->first;
    request->sent_ms = now_us / 1000;
    request->stream = c->stream;
    *hf_conn_expected_reply(c, c->first) = (struct hf_expected_reply){
        .request = request, .sent_us = (uint32_t)now_us};
    c->unwritten_probe_bytes = PROBE_SIZE;
    c->is_probing = true;
    c->stats.requests++;
    return HF_OK;
}

void hf_conn_wipe_output(struct hf_conn *c)
{
    if (c->has_secret && c->out)
        explicit_bzero(c->out, c->out_capacity);
    c->has_secret = false;
}

size_t hf_conn_output(struct hf_conn *c, int64_t now_us, const char **ptr)
{
    if (c->state == HF_CONN_HANDSHAKE) {
        *ptr = c->handshake.output;
        return c->handshake.output_len;
    }
    if (c->state != HF_CONN_READY || c->is_condemned)
        return 0;
    if (c->is_probing) {
        *ptr = probe + PROBE_SIZE - c->unwritten_probe_bytes;
        return c->unwritten_probe_bytes;
    }
    mark_requests_sent(c, now_us);
    if (c->unwritten_bytes > 0) /* else there may be no buffer yet */
        *ptr = c->out + c->out_start;
    return c->unwritten_bytes;
}

void hf_conn_wrote(struct hf_conn *c, size_t n)
{
    if (c->state == HF_CONN_HANDSHAKE) {
        hf_handshake_wrote(&c->handshake, n);
        return;
    }
    HF_ASSERT(n <= (c->is_probing ? c->unwritten_probe_bytes : c->unwritten_bytes));
    if (c->is_probing) {
        c->unwritten_probe_bytes = (uint8_t)(c->unwritten_probe_bytes - n);
        return;
    }
    c->out_start += n;
    c->unwritten_bytes -= n;
    if (c->out_start == c->out_end) {
        c->out_start = c->out_end = 0;
        hf_conn_wipe_output(c);
        hf_mem_free_if_large(c->options.mem, &c->out, &c->out_capacity, 1,
                             HF_CONN_BUFFER_KEEP_MAX);
    }
}
