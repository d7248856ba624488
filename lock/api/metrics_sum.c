/* Adds up what clients count. */
/* Tests: tests/live/lock/test_metrics.c. */
#include "lock/api/metrics_sum.h"

#include "net/base/assert.h"
#include "net/base/moment.h"
#include "net/link/link.h"
#include "net/route/router.h"

/* The oldest waiter is usually among the first operations. */
#define LOOKS_MAX 1000

static void add_times(struct hf_tally_times *to, const struct hf_tally_times *from)
{
    to->sum_ms += from->sum_ms;
    for (size_t i = 0; i <= TALLY_POWERS; i++)
        to->buckets[i] += from->buckets[i];
}

static void add_kind(struct hf_tally_kind *to, const struct hf_tally_kind *from)
{
    add_times(&to->waits, &from->waits);
    add_times(&to->holds, &from->holds);
    for (size_t i = 0; i < TALLY_REASONS; i++)
        to->losses[i] += from->losses[i];
}

static void add_tally(struct hf_metrics_sum *sum, const struct hf_tally *t)
{
    for (size_t i = 0; i < HF_KIND_NUMBER_COUNT; i++) {
        if (t->kinds[i].of)
            add_kind(&sum->kinds[i], t->kinds[i].of);
        sum->held[i] += t->kinds[i].held;
        sum->waiting[i] += t->kinds[i].waiting;
        sum->is_used[i] |= t->kinds[i].of || t->kinds[i].held > 0 || t->kinds[i].waiting > 0;
    }
    for (size_t i = 0; i < WAKE_COUNT; i++)
        sum->wakes[i] += t->wakes[i];
    for (size_t i = 0; i < TALLY_STATUSES; i++)
        sum->failures[i] += t->failures[i];
    sum->late_renewals += t->late_renewals;
    sum->failed_renewals += t->failed_renewals;
}

/* Operations are in the order in which they began. */
static uint64_t oldest_ms(const struct hf_client *client)
{
    const struct hf_list *l = client->ops.next;

    for (int i = 0; i < LOOKS_MAX && l != &client->ops; i++, l = l->next) {
        const struct hf_op *op = HF_OWNER_OF(l, const struct hf_op, node);

        if (op->is_queued)
            return (uint64_t)hf_max_ms(hf_loop_now(client->loop) - op->began_ms, 0);
    }
    return 0;
}

static void add_network(struct hf_metrics_sum *sum, const struct hf_client *client)
{
    struct hf_link_stats link;
    struct hf_router_counts route;

    hf_router_stats(client->router, &link);
    hf_router_get_counts(client->router, &route);
    hf_link_stats_add(&sum->link, &link);
    sum->connections += link.connects - link.losses;
    sum->servers += route.servers;
    sum->route.moved += route.moved;
    sum->route.asked += route.asked;
    sum->route.maps += route.maps;
}

void hf_metrics_sum_add(struct hf_metrics_sum *sum, const struct hf_client *client)
{
    uint64_t oldest = oldest_ms(client);

    HF_ASSERT(hf_loop_is_locked(client->loop));
    add_tally(sum, &client->tally);
    sum->oldest_ms = oldest > sum->oldest_ms ? oldest : sum->oldest_ms;
    sum->renewals += client->renewals;
    sum->renewal_requests += client->renewal_requests;
    sum->orphans += client->orphans;
    sum->push_checks += client->push_checks;
    sum->push_losses += client->push_losses;
    sum->key_pushes += hf_router_invalidations(client->router);
    add_network(sum, client);
}
