/* The counts of a client. */
/* Tests: tests/live/lock/test_lock_calls.c, tests/live/cluster/test_cluster.c. */
#include "lock/connect.h"

#include "lock/record/op.h"
#include "lock/record/records.h"
#include "net/base/sized.h"

static void read_client_stats(struct hf_client *client, struct hf_client_stats *out)
{
    if (hf_loop_forked(client->loop))
        return; /* the lock may be held by a thread that is not here */
    hf_loop_lock(client->loop);
    out->holds = client->holds_count;
    out->waiters = hf_client_count_calls(client);
    out->orphans = client->background_releases;
    out->renewals = client->renewals;
    out->renewal_requests = client->renewal_requests;
    out->pushes = hf_router_invalidations(client->router);
    out->push_checks = client->push_checks;
    out->push_losses = client->push_losses;
    out->push_wakes = client->push_wake_requests;
    hf_router_stats(client->router, &out->link);
    hf_router_get_counts(client->router, &out->route);
    hf_loop_unlock(client->loop);
    hf_loop_get_stats(client->loop, &out->loop);
}

void hf_client_get_stats_sized(struct hf_client *client, struct hf_client_stats *out,
                               size_t size)
{
    struct hf_client_stats stats = {0};

    read_client_stats(client, &stats);
    hf_sized_write(out, size, &stats, sizeof stats);
}
