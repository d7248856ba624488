/* The counters of links. See hf_link_stats (link.h). */
/* Tests: tests/test_net_link_request.c, tests/test_net_link_rival.c. */
#include "net/link/link_inner.h"

#include "net/base/assert.h"

void hf_link_get_stats(const struct hf_link *link, struct hf_link_stats *out)
{
    HF_ASSERT(hf_loop_is_locked(link->loop));
    hf_conn_stats(&link->conn, out);
}

/* A peer that accepts a connection only to close it is dialed less and less often. */
void hf_link_count_loss(struct hf_link *link)
{
    HF_ASSERT(hf_loop_is_locked(link->loop));
    if (link->has_answered_since_ready)
        link->consecutive_failures = 0;
    hf_conn_counters(&link->conn)->losses++;
    hf_link_trace_lost(link);
}

void hf_link_count_end(struct hf_link *link)
{
    HF_ASSERT(hf_loop_is_locked(link->loop));
    if (link->state == HF_LINK_READY) {
        hf_link_count_loss(link);
        hf_link_forget_handshake_mode(link);
    } else {
        hf_conn_counters(&link->conn)->failures++;
        hf_link_trace_lost(link);
    }
}

static void set_to_greater(uint64_t *to, uint64_t from)
{
    *to = *to > from ? *to : from;
}

void hf_link_stats_add(struct hf_link_stats *to,
                       const struct hf_link_stats *from)
{
    to->connects += from->connects;
    to->failures += from->failures;
    to->losses += from->losses;
    to->resumed += from->resumed;
    to->writes += from->writes;
    to->reads += from->reads;
    to->bytes_out += from->bytes_out;
    to->bytes_in += from->bytes_in;
    to->requests += from->requests;
    to->answered += from->answered;
    to->error_replies += from->error_replies;
    to->unsent += from->unsent;
    to->unknown += from->unknown;
    to->given_up += from->given_up;
    to->late_replies += from->late_replies;
    to->pushes += from->pushes;
    to->in_flight += from->in_flight;
    set_to_greater(&to->in_flight_max, from->in_flight_max);
    to->queued += from->queued;
    to->queued_bytes += from->queued_bytes;
    hf_histogram_merge(&to->latency_us, &from->latency_us);
    hf_histogram_merge(&to->batch, &from->batch);
}

/* ---- what a link knows ---- */

int64_t hf_link_heard_ms(const struct hf_link *link)
{
    HF_ASSERT(hf_loop_is_locked(link->loop));
    return link->last_received_ms;
}

bool hf_link_is_refused(const struct hf_link *link)
{
    HF_ASSERT(hf_loop_is_locked(link->loop));
    return link->is_failure_final;
}

bool hf_link_is_up(const struct hf_link *link)
{
    HF_ASSERT(hf_loop_is_locked(link->loop));
    return link->state == HF_LINK_READY;
}

const struct hf_link_options *hf_link_options(const struct hf_link *link)
{
    HF_ASSERT(hf_loop_is_locked(link->loop));
    return &link->options;
}

bool hf_link_is_tracking(const struct hf_link *link)
{
    HF_ASSERT(hf_loop_is_locked(link->loop));
    return link->state == HF_LINK_READY && link->conn.handshake.is_tracking;
}

void hf_link_stop_tracking(struct hf_link *link)
{
    HF_ASSERT(hf_loop_is_locked(link->loop));
    hf_conn_handshake(&link->conn)->is_tracking = false;
}

int hf_link_protocol(const struct hf_link *link)
{
    HF_ASSERT(hf_loop_is_locked(link->loop));
    return link->last_protocol;
}

const struct hf_error *hf_link_error(const struct hf_link *link)
{
    HF_ASSERT(hf_loop_is_locked(link->loop));
    return &link->error;
}

const char *hf_link_address(const struct hf_link *link)
{
    return link->address;
}

uint64_t hf_link_attempt_number(const struct hf_link *link)
{
    return link->attempt_number;
}

const struct hf_predecessor *hf_link_predecessor(const struct hf_link *link)
{
    HF_ASSERT(hf_loop_is_locked(link->loop));
    return &link->conn.predecessor;
}
