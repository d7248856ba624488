/* The state of a link: the facts that hold in each state, and the step to READY. Diagram in
 * link.h. */
/* Tests: tests/test_net_link_connect.c, tests/test_net_link_rival.c. */
#include "net/base/assert.h"
#include "net/base/random.h"
#include "net/link/link_inner.h"

static bool has_open_socket(const struct hf_link *link)
{
    return link->stream.fd >= 0;
}

static bool is_timer_armed(const struct hf_link *link)
{
    return link->timer.link != NULL;
}

bool hf_link_ok(const struct hf_link *link)
{
    bool is_open = link->conn.state != HF_CONN_CLOSED;

    switch (link->state) {
    case HF_LINK_IDLE:
        return !is_open && !has_open_socket(link) && !is_timer_armed(link) && !link->rival;
    case HF_LINK_FETCHING:
    case HF_LINK_DIALING:
        return !is_open && !has_open_socket(link) && is_timer_armed(link);
    case HF_LINK_SECURING:
        return !is_open && has_open_socket(link) && is_timer_armed(link);
    case HF_LINK_HANDSHAKE: /* LINK-8: it may wait for the handshake of its rival */
        return is_timer_armed(link) && (has_open_socket(link) ? is_open : !is_open && link->rival);
    case HF_LINK_READY:
        return link->conn.state == HF_CONN_READY && has_open_socket(link);
    case HF_LINK_BACKOFF:
        return !is_open && !has_open_socket(link) && is_timer_armed(link) && !link->rival;
    }
    return false;
}

void hf_link_set_state(struct hf_link *link, enum hf_link_state state)
{
    HF_ASSERT(hf_loop_is_locked(link->loop));
    link->state = state;
}

void hf_link_become_ready(struct hf_link *link)
{
    HF_ASSERT(hf_loop_is_locked(link->loop));
    hf_rival_stop(link);
    hf_link_set_state(link, HF_LINK_READY);
    link->reconnects_once = false;
    hf_conn_begin_stream(&link->conn, hf_loop_next_serial(link->loop));
    link->has_answered_since_ready = false;
    link->last_protocol = hf_conn_handshake(&link->conn)->protocol;
    link->used_best_mode =
        link->used_best_mode ||
        hf_conn_handshake(&link->conn)->mode == hf_link_best_handshake_mode(link);
    hf_conn_handshake(&link->conn)->probes_with_ping_first = false;
    hf_conn_counters(&link->conn)->connects++;
    link->error.status = HF_OK;
    if (!link->is_replaced)
        hf_dial_worked(&link->dial);
    hf_loop_arm(link->loop, &link->timer,
                hf_loop_now(link->loop) + link->silence_check_ms); /* to shrink */
    (void)hf_random_bytes(&link->suspect_jitter, sizeof link->suspect_jitter);
    hf_link_login_worked(link);
    hf_loop_at_turn_end(link->loop, &link->turn_end_hook);
    if (link->options.on_trace)
        hf_link_trace(link, (struct hf_trace){.kind = HF_TRACE_CONNECTED,
                                     .protocol = link->last_protocol});
    if (link->options.on_change)
        link->options.on_change(link->options.ctx, true);
}
