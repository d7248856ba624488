/* What follows from the verdict of a topology on an error reply. */
/* Tests: tests/test_net_router.c, tests/test_net_sentinel_news.c. */
#include "net/route/verdict.h"

#include <string.h>

#include "net/base/assert.h"
#include "net/route/announced.h"
#include "net/route/discover.h"
#include "net/route/replace.h"
#include "net/route/server.h"

/* To the address at which its sender was reached: it would say so again. */
static bool is_redirected_to_itself(const struct hf_command *c, const struct hf_redirection *r)
{
    return r->kind == HF_MOVED && r->port == c->server->port &&
           (r->host_kind == HF_HOST_SAME ||
            (r->host_kind == HF_HOST_KNOWN &&
             strcmp(r->host, c->server->host) == 0));
}

/* The map of the node may be wrong for a time, as in a failover; or the address
 * leads to several nodes. */
static void record_redirection_to_itself(struct hf_command *c)
{
    c->is_error_temporary = c->was_redirected_to_itself = true;
    hf_announced_note_denied(c->server, c->slot);
    hf_replace_connections(c->server, "this node redirects to itself");
    hf_discover_want(c->router, NULL);
}

bool hf_verdict_ends_command(struct hf_command *c, enum hf_verdict verdict,
                             const struct hf_redirection *r, struct hf_resp_value reply)
{
    HF_ASSERT(hf_loop_is_locked(c->router->loop));
    if (verdict == HF_VERDICT_RECONNECT) {
        hf_announced_note_denied(c->server, c->slot);
        hf_replace_on_refusal(c->server, reply);
        hf_discover_want(c->router, NULL);
        return true;
    }
    if (verdict == HF_VERDICT_RESULT || c->redirections_followed == HOPS_STOPPED)
        return true;
    if (verdict == HF_VERDICT_REDIRECT && is_redirected_to_itself(c, r)) {
        record_redirection_to_itself(c);
        return true;
    }
    c->is_error_temporary = c->redirections_followed >= HOPS_MAX; /* until the servers agree */
    return c->is_error_temporary;
}
