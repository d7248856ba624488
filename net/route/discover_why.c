/* The end of probes that wait for a server which cannot be reached; and the reason why there
 * is no map yet, for the messages of commands that wait for it. */
/* Tests: tests/test_net_sentinel.c, tests/test_net_replicas.c. */
#include "net/route/discover.h"

#include "net/base/assert.h"
#include "net/route/server.h"

/* ---- servers that cannot be reached ---- */

static bool has_never_retried_command(const struct hf_router *router)
{
    const struct hf_list *all = &router->commands_awaiting_map;

    for (struct hf_list *l = all->next; l != all; l = l->next)
        if (HF_OWNER_OF(l, struct hf_command, node)->is_never_retried)
            return true;
    return false;
}

static void fail_probe(struct hf_server *server)
{
    struct hf_error why;

    server->router->topology->explain_pending_query(server, &why);
    hf_discover_failed(server, false, &why);
}

/* Several sentinels may name the same master. */
void hf_discover_unreached(struct hf_server *server)
{
    struct hf_router *router = server->router;

    HF_ASSERT(hf_loop_is_locked(server->router->loop));
    if (router->topology->on_unreached && server->probe.is_under_way)
        router->topology->on_unreached(server);
    if (!has_never_retried_command(router))
        return;
    for (struct hf_server *s = NULL; (s = hf_server_next(router, s));)
        if (s->probe.is_under_way && router->topology->server_awaited(s) == server)
            fail_probe(s);
}

/* ---- the reason of a delay ---- */

void hf_discover_report_trouble(struct hf_router *router)
{
    struct hf_discovery *d = &router->discovery;

    HF_ASSERT(hf_loop_is_locked(router->loop));
    if (!router->options.on_trouble || router->map_error.status == HF_OK || d->has_reported_trouble)
        return;
    d->has_reported_trouble = true;
    router->options.on_trouble(router->options.ctx, HF_TROUBLE_FAILURE, &router->map_error);
}

/* Returns a server that is being queried: a reachable one, if there is one
 * (DISCOVER-5). */
static struct hf_server *find_probed_server(struct hf_router *router)
{
    struct hf_server *found = NULL;

    for (struct hf_server *server = NULL;
         (server = hf_server_next(router, server));)
        if (server->probe.is_under_way &&
            (!found || (!hf_link_is_up(found->link) &&
                        hf_link_is_up(server->link))))
            found = server;
    return found;
}

void hf_discover_explain(struct hf_router *router)
{
    struct hf_server *server = find_probed_server(router);

    HF_ASSERT(hf_loop_is_locked(router->loop));
    if (router->map_error.status != HF_OK || !server)
        return;
    router->topology->explain_pending_query(server, &router->map_error);
}
