/* What precedes a command in the same write. */
/* Tests: tests/live/lock/test_lock_push.c, tests/sim/test_push.c. */
#include "net/route/preamble.h"

#include "net/base/assert.h"
#include "net/route/server.h"
#include "net/route/tracking.h"

#define ASKING_SIZE 16          /* in the output, at most */

static void on_asking_reply(struct hf_request *request, enum hf_outcome outcome,
                            struct hf_resp_value reply)
{
    struct hf_command *c = HF_OWNER_OF(request, struct hf_command, preamble_request);

    c->preamble_request.done = NULL;
    c->is_error_temporary = outcome == HF_ANSWERED &&
                     (hf_resp_error_is(reply, "BUSY") ||
                      hf_resp_error_is(reply, "LOADING"));
}

static void on_caching_reply(struct hf_request *request, enum hf_outcome outcome,
                             struct hf_resp_value reply)
{
    struct hf_command *c = HF_OWNER_OF(request, struct hf_command, preamble_request);

    c->preamble_request.done = NULL;
    if (outcome == HF_ANSWERED)
        hf_tracking_reply(c->router, c->server->link, reply);
}

static hf_status submit_asking(struct hf_command *c, struct hf_link *link)
{
    static const struct hf_resp_arg asking = {"ASKING", 6};

    c->preamble_request.done = on_asking_reply;
    c->preamble_request.is_acknowledged_by_push = false;
    return hf_link_submit(link, &c->preamble_request, &asking, 1, c->deadline_ms);
}

hf_status hf_preamble_submit(struct hf_command *c, struct hf_link *link)
{
    HF_ASSERT(hf_loop_is_locked(c->router->loop));
    if (c->was_redirected_by_ask)
        return submit_asking(c, link);
    if (!c->is_tracked || !hf_link_is_tracking(link))
        return HF_OK;
    c->preamble_request.done = on_caching_reply;
    return hf_tracking_submit(link, &c->preamble_request, c->deadline_ms);
}

size_t hf_preamble_size(const struct hf_command *c)
{
    if (c->was_redirected_by_ask)
        return ASKING_SIZE;
    return c->is_tracked ? HF_TRACKING_SIZE : 0;
}
