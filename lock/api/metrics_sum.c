/* Adds up what clients count. */
/* Tests: tests/live/lock/test_metrics.c. */
#include "lock/api/metrics_sum.h"

#include "net/base/assert.h"
#include "net/base/moment.h"
#include "net/link/link.h"
#include "net/route/router.h"

/* The oldest waiter is usually among the first operations. */
#define OPS_EXAMINED_MAX 1000

static void add_tally_times(struct hf_tally_times *to, const struct hf_tally_times *from)
{
    to->sum_ms += from->sum_ms;
    for (size_t i = 0; i <= TALLY_POWERS; i++)
        to->buckets[i] += from->buckets[i];
}

static void add_tally_of_kind(struct hf_tally_kind *to, const struct hf_tally_kind *from)
{
    add_tally_times(&to->wait_times, &from->wait_times);
    add_tally_times(&to->hold_times, &from->hold_times);
    for (size_t i = 0; i < TALLY_REASONS; i++)
        to->losses_by_reason[i] += from->losses_by_reason[i];
}

static void add_tally(struct hf_metrics_sum *sum, const struct hf_tally *t)
{
    for (size_t i = 0; i < HF_KIND_NUMBER_COUNT; i++) {
        if (t->by_kind[i].of)
            add_tally_of_kind(&sum->tally_by_kind[i], t->by_kind[i].of);
        sum->held_by_kind[i] += t->by_kind[i].held;
        sum->waiting_by_kind[i] += t->by_kind[i].waiting;
        sum->is_kind_used[i] |= t->by_kind[i].of || t->by_kind[i].held > 0 ||
            t->by_kind[i].waiting > 0;
    }
    for (size_t i = 0; i < WAKE_COUNT; i++)
        sum->wakes[i] += t->wakes_by_cause[i];
    for (size_t i = 0; i < TALLY_STATUSES; i++)
        sum->failures_by_status[i] += t->failures_by_status[i];
    sum->late_renewals += t->late_renewals;
    sum->failed_renewals += t->failed_renewals;
}

/* Operations are in the order in which they began. */
static uint64_t oldest_wait_ms(const struct hf_client *client)
{
    const struct hf_list *l = client->pending_ops.next;

    for (int i = 0; i < OPS_EXAMINED_MAX && l != &client->pending_ops; i++, l = l->next) {
        const struct hf_op *op = HF_OWNER_OF(l, const struct hf_op, node);

        if (op->is_queued)
            return (uint64_t)hf_max_ms(hf_loop_now(client->loop) - op->began_ms, 0);
    }
    return 0;
}

static void add_network_counters(struct hf_metrics_sum *sum, const struct hf_client *client)
{
    struct hf_link_stats link;
    struct hf_router_counts route;

    hf_router_stats(client->router, &link);
    hf_router_get_counts(client->router, &route);
    hf_link_stats_add(&sum->link_stats, &link);
    sum->connections += link.connects - link.losses;
    sum->servers += route.servers;
    sum->router_counts.moved += route.moved;
    sum->router_counts.asked += route.asked;
    sum->router_counts.maps += route.maps;
}

void hf_metrics_sum_add(struct hf_metrics_sum *sum, const struct hf_client *client)
{
    uint64_t oldest = oldest_wait_ms(client);

    HF_ASSERT(hf_loop_is_locked(client->loop));
    add_tally(sum, &client->tally);
    sum->oldest_wait_ms = oldest > sum->oldest_wait_ms ? oldest : sum->oldest_wait_ms;
    sum->renewals += client->renewals;
    sum->renewal_requests += client->renewal_requests;
    sum->orphans += client->background_releases;
    sum->push_checks += client->push_checks;
    sum->push_losses += client->push_losses;
    sum->key_pushes += hf_router_invalidations(client->router);
    add_network_counters(sum, client);
}
