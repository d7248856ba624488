/* A link as text. */
/* Tests: tests/live/lock/test_dump.c. */
#include <inttypes.h>

#include "net/base/dump.h"
#include "net/base/assert.h"
#include "net/link/link_inner.h"

static const char *const states[] = {
    [HF_LINK_IDLE] = "idle",
    [HF_LINK_FETCHING] = "awaits credentials",
    [HF_LINK_DIALING] = "connects",
    [HF_LINK_SECURING] = "in the TLS handshake",
    [HF_LINK_HANDSHAKE] = "in the Redis handshake",
    [HF_LINK_READY] = "ready",
    [HF_LINK_BACKOFF] = "waits before the next attempt",
};

#define REQUESTS_SHOWN 20

/* The time of sending of a place has 32 bits. */
static void dump_request_in_flight(const struct hf_link *link,
                                   const struct hf_expected_reply *place,
                                   struct hf_dump *dump, int depth)
{
    uint32_t age_us = (uint32_t)hf_loop_now_us(link->loop) - place->sent_us;
    char sent[HF_DUMP_TIME_MAX];

    hf_dump_line(dump, depth, "request in flight: sent %s, bytes %u%s",
                 hf_dump_time(dump, sent, dump->now_ms - age_us / 1000),
                 (unsigned)place->size,
                 hf_expected_reply_request(place) ? "" : ", its reply will be ignored");
}

static void dump_requests_in_flight(const struct hf_link *link, struct hf_dump *dump, int depth)
{
    const struct hf_conn *c = &link->conn;

    for (uint64_t i = c->first; i < c->first_unsent && i < c->first + REQUESTS_SHOWN; i++)
        dump_request_in_flight(link, hf_conn_expected_reply(c, i), dump, depth);
}

void hf_link_dump(const struct hf_link *link, struct hf_dump *dump, int depth,
                  const char *what)
{
    const struct hf_conn *c = &link->conn;
    char heard[HF_DUMP_TIME_MAX], due[HF_DUMP_TIME_MAX];

    HF_ASSERT(hf_loop_is_locked(link->loop));
    hf_dump_line(dump, depth,
                 "%s to %s: %s, RESP%d, stream %" PRIu64 ", requests in flight %" PRIu64
                 ", requests queued %" PRIu64 ", bytes to send %zu, "
                 "last received byte, or first request after a rest: %s, next timer %s",
                 what, link->address, states[link->state], link->last_protocol, c->stream,
                 c->first_unsent - c->first, c->end - c->first_unsent, c->out_end - c->out_start,
                 hf_dump_time(dump, heard,
                              link->last_received_ms ? link->last_received_ms : HF_NEVER),
                 hf_dump_time(dump, due,
                              link->timer.link ? link->timer.due_ms : HF_NEVER));
    if (link->state != HF_LINK_READY && link->error.status != HF_OK)
        hf_dump_line(dump, depth + 1, "last error: %s", link->error.text);
    dump_requests_in_flight(link, dump, depth + 1);
    if (link->rival)
        hf_link_dump(link->rival, dump, depth + 1, "second connection");
}
