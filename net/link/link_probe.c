/* Probes connections that were idle.
 *
 * LINK-9  A connection on which nothing was heard for idle_check_ms is sent PING before
 *         the next request (CONN-10). If it is dead, the request was not sent, and
 *         LINK-8 finds out. */
/* Tests: tests/test_net_link_rival.c, tests/live/fault/test_silence.c. */
#include "net/link/link_inner.h"

#include "net/base/assert.h"

/* Any reply will do. Without one the connection has ended. */
static void on_probed(struct hf_request *request, enum hf_outcome outcome,
                      struct hf_resp_value reply)
{
    (void)outcome;
    (void)reply;
    hf_conn_probe_ended(&request->link->conn);
}

/* If there is no memory, the requests are sent without it. */
void hf_link_probe(struct hf_link *link)
{
    static const struct hf_resp_arg ping = {"PING", 4};

    HF_ASSERT(hf_loop_is_locked(link->loop));
    link->probe_request = (struct hf_request){.done = on_probed, .link = link};
    hf_deadlines_add(&link->deadlines, &link->probe_request, HF_NEVER);
    if (hf_conn_probe(&link->conn, &link->probe_request, hf_loop_now_us(link->loop)) ==
            HF_OK &&
        link->options.on_trace)
        hf_link_trace_queued(link, &link->probe_request, &ping, 1);
}
