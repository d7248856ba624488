/* What the owner of a link wants: requests, space in its output, connections. */
/* Tests: tests/test_net_link_request.c, tests/test_net_room.c. */
#include "net/base/error.h"
#include "net/base/assert.h"
#include "net/link/link_inner.h"

static const struct hf_resp_value no_reply;

static enum hf_outcome forget_request(struct hf_request *request)
{
    struct hf_link *link = request->link;
    enum hf_outcome outcome = hf_conn_cancel(&link->conn, request);

    hf_deadlines_forget(&link->deadlines, request);
    hf_link_serve_space_later(link);
    if (link->options.on_trace)
        hf_link_trace_end(request, outcome, no_reply);
    return outcome;
}

void hf_link_on_overdue(struct hf_request *request)
{
    struct hf_link *link = request->link;
    enum hf_outcome outcome;

    /* The first attempt may be under way yet: it has no error of its own. */
    if (link->error.status == HF_OK)
        hf_link_name_late_step(link);
    outcome = forget_request(request);
    request->done(request, outcome, no_reply);
}

hf_status hf_link_submit(struct hf_link *link, struct hf_request *request,
                         const struct hf_resp_arg *argv, size_t argc,
                         int64_t deadline_ms)
{
    hf_status rc;

    HF_ASSERT(hf_loop_is_locked(link->loop));
    if (hf_loop_forked(link->loop))
        return HF_E_FORKED;
    if ((rc = hf_conn_submit(&link->conn, request, argv, argc)) < 0)
        return rc;
    request->link = link;
    hf_deadlines_add(&link->deadlines, request, deadline_ms);
    if (link->options.on_trace)
        hf_link_trace_queued(link, request, argv, argc);
    hf_loop_at_turn_end(link->loop, &link->turn_end_hook);
    return HF_OK;
}

enum hf_outcome hf_link_cancel(struct hf_request *request)
{
    return forget_request(request);
}

void hf_link_want(struct hf_link *link, bool is_wanted)
{
    HF_ASSERT(hf_loop_is_locked(link->loop));
    link->is_wanted = is_wanted;
    hf_loop_at_turn_end(link->loop, &link->turn_end_hook);
}

void hf_link_reconnect_once(struct hf_link *link, bool comes_back)
{
    HF_ASSERT(hf_loop_is_locked(link->loop));
    link->reconnects_once = comes_back;
    if (comes_back && link->state == HF_LINK_IDLE)
        hf_link_back_off(link);
}

/* ---- waiting for space ---- */

hf_status hf_link_await_space(struct hf_link *link,
                              struct hf_space_waiter *waiter, size_t bytes)
{
    HF_ASSERT(hf_loop_is_locked(link->loop));
    if (hf_loop_forked(link->loop))
        return HF_E_FORKED;
    if (bytes > link->options.output_max || bytes > HF_COMMAND_SIZE_MAX)
        return HF_E_LIMIT;
    waiter->link = link;
    waiter->bytes = bytes;
    hf_space_queue_add(&link->space_queue, waiter);
    hf_loop_at_turn_end(link->loop, &link->turn_end_hook);
    return HF_OK;
}

/* The next one may need less. */
void hf_link_stop_awaiting_space(struct hf_space_waiter *waiter)
{
    if (hf_list_is_empty(&waiter->node))
        return;
    hf_list_remove(&waiter->node);
    hf_link_serve_space_later(waiter->link);
}

bool hf_link_has_space_waiters(const struct hf_link *link)
{
    HF_ASSERT(hf_loop_is_locked(link->loop));
    return !hf_space_queue_is_empty(&link->space_queue);
}

/* ---- connections ---- */

/* Outside of a read, the timer closes at the next turn (LINK-1). */
static void condemn_connection(struct hf_link *link, hf_status status, const char *why)
{
    if (link->state != HF_LINK_READY)
        return;
    hf_conn_condemn(&link->conn, status, why);
    hf_link_fill_error(link, status, why, "");
    hf_loop_arm(link->loop, &link->timer, 0);
}

void hf_link_condemn(struct hf_link *link, const char *why)
{
    HF_ASSERT(hf_loop_is_locked(link->loop));
    condemn_connection(link, HF_E_PROTOCOL, why);
}

/* Replies that follow the refusal count. If they were unknown, a release that was
 * refused would be repeated at another server, which may not have the lock, and would
 * count as done. */
void hf_link_replace(struct hf_link *link, const char *why)
{
    HF_ASSERT(hf_loop_is_locked(link->loop));
    if (link->state != HF_LINK_READY || hf_conn_is_condemned(&link->conn))
        return;
    link->is_replaced = true;
    hf_dial_avoid_address(&link->dial);
    condemn_connection(link, HF_E_CONNECT, why);
    link->conn.delivers_despite_error = true;
}

void hf_link_note_serving(struct hf_link *link)
{
    HF_ASSERT(hf_loop_is_locked(link->loop));
    if (!link->is_replaced)
        return;
    link->is_replaced = false;
    if (link->state == HF_LINK_READY)
        hf_dial_worked(&link->dial);
}
