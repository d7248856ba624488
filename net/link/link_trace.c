/* What a link reports to the callbacks that trace it. */
/* Tests: tests/test_net_trace.c. */
#include "net/link/link_inner.h"
#include "net/base/assert.h"
#include "net/link/trace.h"

void hf_link_trace(struct hf_link *link, struct hf_trace trace)
{
    HF_ASSERT(hf_loop_is_locked(link->loop));
    if (hf_loop_forked(link->loop))
        return; /* an earlier one has forked */
    trace.size = sizeof trace;
    trace.address = link->address;
    link->options.on_trace(link->options.trace_ctx, &trace);
}

static void trace_command(struct hf_link *link, enum hf_trace_kind kind,
                          uint64_t number, const struct hf_resp_arg *argv,
                          size_t argc)
{
    struct hf_resp_arg masked[TRACE_MASKED_MAX];
    size_t count = hf_trace_mask(masked, argv, argc);

    hf_link_trace(link,
                  (struct hf_trace){.kind = kind,
                                    .number = number,
                                    .argv = count > 0 ? masked : argv,
                                    .argc = count > 0 ? count : argc});
}

void hf_link_trace_lost(struct hf_link *link)
{
    HF_ASSERT(hf_loop_is_locked(link->loop));
    if (link->options.on_trace)
        hf_link_trace(link, (struct hf_trace){.kind = HF_TRACE_LOST,
                                              .why = link->error.text});
}

/* ---- requests ---- */

static uint64_t trace_number_of(const struct hf_request *request)
{
    return request == &request->link->probe_request ? 0 : request->number_in_link;
}

void hf_link_trace_queued(struct hf_link *link,
                          const struct hf_request *request,
                          const struct hf_resp_arg *argv, size_t argc)
{
    HF_ASSERT(hf_loop_is_locked(link->loop));
    trace_command(link, HF_TRACE_QUEUED, trace_number_of(request), argv, argc);
}

void hf_link_trace_end(const struct hf_request *request,
                       enum hf_outcome outcome, struct hf_resp_value reply)
{
    struct hf_link *link = request->link;

    hf_link_trace(link, (struct hf_trace){.kind = HF_TRACE_ENDED,
                                          .number = trace_number_of(request),
                                          .outcome = outcome,
                                          .reply = reply,
                                          .latency_us =
                                              link->conn.last_latency_us});
}

void hf_link_trace_late(void *ctx, uint64_t place, struct hf_resp_value reply)
{
    hf_link_trace(ctx, (struct hf_trace){.kind = HF_TRACE_LATE,
                                         .number = place,
                                         .reply = reply});
}

/* ---- the handshake ---- */

static void on_handshake_command(void *ctx, const struct hf_resp_arg *argv, size_t argc)
{
    trace_command(ctx, HF_TRACE_HANDSHAKE, 0, argv, argc);
}

static void on_handshake_reply(void *ctx, struct hf_resp_value reply, bool is_secret)
{
    struct hf_trace trace = {.kind = HF_TRACE_HANDSHAKE_REPLY};

    if (is_secret)
        trace.why = "(words that may hold the password)";
    else
        trace.reply = reply;
    hf_link_trace(ctx, trace);
}

void hf_link_set_handshake_trace(struct hf_link *link)
{
    struct hf_handshake *handshake = hf_conn_handshake(&link->conn);

    HF_ASSERT(hf_loop_is_locked(link->loop));
    handshake->on_command = on_handshake_command;
    handshake->on_reply = on_handshake_reply;
    handshake->ctx = link;
}
