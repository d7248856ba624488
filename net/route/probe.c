/* Probes: see probe.h. The topology writes the requests; discovery chooses the server.
 * */
/* Tests: tests/test_net_router_maps.c, tests/test_net_sentinel.c. */
#include "net/route/probe.h"
#include "net/base/assert.h"
#include "net/route/round.h"

hf_status hf_probe_send(struct hf_server *server, unsigned index,
                        struct hf_link *link, const struct hf_resp_arg *argv,
                        size_t argc, int64_t deadline_ms,
                        void (*done)(struct hf_request *, enum hf_outcome,
                                     struct hf_resp_value))
{
    struct hf_probe *probe = &server->probe;
    struct hf_request *request = &probe->requests[index];
    hf_status rc;

    request->done = done;
    request->is_acknowledged_by_push = false;
    rc = hf_link_submit(link, request, argv, argc, deadline_ms);
    probe->is_sent[index] = rc == HF_OK;
    return rc;
}

struct hf_server *hf_probe_request_ended(struct hf_request *request, unsigned index)
{
    struct hf_probe *probe =
        HF_OWNER_OF(request - index, struct hf_probe, requests[0]);

    probe->is_sent[index] = false;
    return HF_OWNER_OF(probe, struct hf_server, probe);
}

void hf_probe_cancel(struct hf_server *server)
{
    struct hf_probe *probe = &server->probe;

    HF_ASSERT(hf_loop_is_locked(server->router->loop));
    for (unsigned i = 0; i < PROBE_REQUESTS; i++) {
        if (probe->is_sent[i])
            (void)hf_link_cancel(&probe->requests[i]);
        probe->is_sent[i] = false;
    }
    if (probe->is_under_way)
        hf_round_probe_ended(&server->router->discovery.round);
    probe->is_under_way = false;
}

void hf_probe_unsubscribe(struct hf_server *server)
{
    struct hf_subscription *news = &server->probe.switch_subscription;

    HF_ASSERT(hf_loop_is_locked(server->router->loop));
    if (news->pubsub)
        hf_pubsub_drop(news);
    news->pubsub = NULL;
}
