/* Tracked keys. Rules in tracking.h. */
/* Tests: tests/live/lock/test_lock_push.c, tests/sim/test_push.c. */
#include "net/route/tracking.h"
#include "net/base/assert.h"

static void report_invalidated_key(const struct hf_router *router, const struct hf_server *server,
                                   const char *key, size_t len)
{
    if (router->options.on_invalidated)
        router->options.on_invalidated(router->options.ctx, server, key, len);
}

/* A push without keys has null in their place. */
static void report_invalidated_keys(struct hf_router *router, const struct hf_server *server,
                                    struct hf_resp_value push)
{
    struct hf_resp_value keys, key;
    const char *ptr;
    size_t len;

    if (hf_resp_element(push, 1, &keys) < 0 || hf_resp_type(keys) != HF_RESP_ARRAY) {
        hf_tracking_invalidate_all(router, server);
        return;
    }
    for (size_t i = 0; i < hf_resp_count(keys); i++)
        if (hf_resp_element(keys, i, &key) == HF_OK &&
            hf_resp_bytes(key, &ptr, &len) == HF_OK)
            report_invalidated_key(router, server, ptr, len);
}

bool hf_tracking_push(struct hf_router *router, const struct hf_server *server,
                      struct hf_resp_value push)
{
    struct hf_resp_value kind;

    HF_ASSERT(hf_loop_is_locked(router->loop));
    if (hf_resp_element(push, 0, &kind) < 0 || !hf_resp_is_text(kind, "invalidate", 10))
        return false;
    router->invalidation_pushes++;
    report_invalidated_keys(router, server, push);
    return true;
}

void hf_tracking_invalidate_all(struct hf_router *router, const struct hf_server *server)
{
    HF_ASSERT(hf_loop_is_locked(router->loop));
    report_invalidated_key(router, server, NULL, 0);
}

void hf_tracking_link_up(struct hf_router *router, const struct hf_server *server,
                         const struct hf_link *link)
{
    HF_ASSERT(hf_loop_is_locked(router->loop));
    router->is_tracking = hf_link_is_tracking(link);
    if (router->is_tracking)
        hf_tracking_invalidate_all(router, server);
}

void hf_tracking_link_down(struct hf_router *router, struct hf_link *link)
{
    const struct hf_router_options *options = &router->options;

    HF_ASSERT(hf_loop_is_locked(router->loop));
    if (router->is_tracking)
        hf_link_reconnect_once(link, options->must_detect_switch &&
                                    options->must_detect_switch(options->ctx));
}

hf_status hf_tracking_submit(struct hf_link *link, struct hf_request *request,
                             int64_t deadline_ms)
{
    static const struct hf_resp_arg caching[] = {
        {"CLIENT", 6}, {"CACHING", 7}, {"YES", 3}};

    request->is_acknowledged_by_push = false;
    return hf_link_submit(link, request, caching, 3, deadline_ms);
}

/* A server that is busy refuses the command behind it also. */
void hf_tracking_reply(struct hf_router *router, struct hf_link *link,
                       struct hf_resp_value reply)
{
    HF_ASSERT(hf_loop_is_locked(router->loop));
    if (!hf_resp_is_error(reply) || hf_resp_error_is(reply, "BUSY") ||
        hf_resp_error_is(reply, "LOADING"))
        return;
    hf_link_stop_tracking(link);
    router->is_tracking = false;
}
