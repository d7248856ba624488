/* One server, which the URL names: there is no map, and no server is queried. The
 * address may be that of a load balancer or of a managed service, which leads to
 * another server after a failover, and a name may have several addresses. */
/* Tests: tests/live/lock/test_lock.c, tests/live/server/test_one_address.c. */
#include "net/base/error.h"
#include "net/route/replace.h"
#include "net/route/router_inner.h"
#include "net/route/server.h"

static void describe_standalone(const struct hf_router *router, char *dst, size_t room)
{
    (void)hf_url_address(&router->options.link.url, dst, room);
}

static hf_status start_standalone(struct hf_router *router, struct hf_error *err)
{
    const struct hf_url *url = &router->options.link.url;
    hf_status rc =
        hf_server_get(&router->only_server, router, url->host, url->port, false);

    router->was_map_known = true;
    if (rc < 0 && router->map_error.status == rc)
        return hf_error_set(err, rc, "%s", router->map_error.text);
    return rc < 0 ? hf_error_set(err, rc, "%s", hf_net_status_text(rc)) : HF_OK;
}

static enum hf_verdict classify_error_reply(struct hf_redirection *out,
                                            struct hf_resp_value reply)
{
    (void)out;
    return hf_replace_may_help(reply) ? HF_VERDICT_RECONNECT : HF_VERDICT_RESULT;
}

const struct hf_topology hf_topology_standalone = {
    .describe = describe_standalone,
    .start = start_standalone,
    .classify_error_reply = classify_error_reply,
};
