/* Counts grants, waits, holds, losses and failed calls. */
/* Tests: tests/live/lock/test_metrics.c, tests/test_lock_metrics.c. */
#include "lock/record/tally_add.h"

#include <assert.h>

#include "lock/record/hold_work.h"
#include "net/base/assert.h"
#include "net/base/mem.h"

#define VALUE(name, value, text) name,
const hf_status hf_tally_statuses[TALLY_STATUSES] = {
    HF_LOCK_STATUS_MAP(VALUE) HF_NET_STATUS_MAP(VALUE) HF_E_PROTOCOL, HF_E_LIMIT, HF_E_TYPE};
#undef VALUE

static_assert(sizeof(struct hf_tally) <= 512, "an idle client takes little memory");

/* NULL: no memory. */
static struct hf_tally_kind *tally_of_kind(struct hf_client *client, const struct hf_kind *kind)
{
    struct hf_tally_kind **at = &client->tally.by_kind[hf_kind_number(kind)].of;

    if (!*at)
        *at = hf_mem_new(client->mem, sizeof **at);
    return *at;
}

static void add_duration_to_times(struct hf_tally_times *times, int64_t ms)
{
    uint64_t span = ms > 0 ? (uint64_t)ms : 0;
    unsigned bits = span > 0 ? 64u - (unsigned)__builtin_clzll(span) : 0;

    times->sum_ms += span;
    times->buckets[bits < TALLY_POWERS ? bits : TALLY_POWERS]++;
}

/* ---- calls ---- */

/* The counters of its kind are shown from its first acquire on, whatever the result. */
static void count_ended_acquire(struct hf_op *op, bool is_granted)
{
    struct hf_tally_kind *of = tally_of_kind(op->client, op->lock->kind);

    if (of && is_granted)
        add_duration_to_times(&of->wait_times, hf_loop_now(op->client->loop) - op->began_ms);
}

void hf_tally_refused(struct hf_client *client, hf_status status)
{
    HF_ASSERT(hf_loop_is_locked(client->loop));
    for (size_t i = 0; i < TALLY_STATUSES; i++)
        client->tally.failures_by_status[i] += hf_tally_statuses[i] == status;
}

void hf_tally_call_ended(struct hf_op *op, hf_status status)
{
    HF_ASSERT(hf_loop_is_locked(op->client->loop));
    if (op->began_ms != 0)
        count_ended_acquire(op, status == HF_OK || (status == HF_UNREPLICATED &&
                                                    op->options.keep_unreplicated));
    if (status < 0 && (op->blocking_waiter || op->done))
        hf_tally_refused(op->client, status);
}

/* ---- waiters ---- */

void hf_tally_woken(struct hf_op *op)
{
    struct hf_client *client = op->client;

    HF_ASSERT(hf_loop_is_locked(client->loop) && op->wait.wake_cause < WAKE_COUNT);
    if (op->wait.wake_cause == WAKE_NONE)
        return;
    client->push_wake_requests += op->wait.was_request_caused_by_push;
    client->tally.wakes_by_cause[op->wait.wake_cause]++;
}

void hf_tally_enter_queue(struct hf_op *op)
{
    HF_ASSERT(hf_loop_is_locked(op->client->loop) && !op->is_queued);
    op->is_queued = true;
    op->client->tally.by_kind[hf_kind_number(op->lock->kind)].waiting++;
}

void hf_tally_leave_queue(struct hf_op *op)
{
    uint32_t *waiting = &op->client->tally.by_kind[hf_kind_number(op->lock->kind)].waiting;

    HF_ASSERT(hf_loop_is_locked(op->client->loop) && *waiting >= op->is_queued);
    *waiting -= op->is_queued;
    op->is_queued = false;
}

/* ---- holds ---- */

void hf_tally_hold_added(struct hf_hold *hold)
{
    struct hf_client *client = hold->lock->client;
    struct hf_lease *lease = &hold->work->lease;

    HF_ASSERT(hf_loop_is_locked(client->loop) && lease->granted_ms == INT64_MIN);
    lease->granted_ms = lease->claims.proved_held_at_ms;
    client->holds_count++;
    client->tally.by_kind[hf_kind_number(hold->lock->kind)].held++;
}

void hf_tally_hold_removed(struct hf_hold *hold)
{
    struct hf_client *client = hold->lock->client;
    uint32_t *held = &client->tally.by_kind[hf_kind_number(hold->lock->kind)].held;

    HF_ASSERT(hf_loop_is_locked(client->loop) && client->holds_count > 0 && *held > 0);
    client->holds_count--;
    --*held;
}

/* A hold ends once: by its release, or by a loss before. */
static void count_ended_hold(struct hf_tally_kind *of, const struct hf_hold *hold,
                             const struct hf_lease *lease)
{
    if (lease->granted_ms != INT64_MIN)
        add_duration_to_times(&of->hold_times,
                              hf_loop_now(hold->lock->client->loop) - lease->granted_ms);
}

void hf_tally_last_release_begins(struct hf_hold *hold)
{
    struct hf_tally_kind *of = tally_of_kind(hold->lock->client, hold->lock->kind);

    HF_ASSERT(hf_loop_is_locked(hold->lock->client->loop));
    if (of)
        count_ended_hold(of, hold, &hold->work->lease);
    hold->work->lease.granted_ms = INT64_MIN;
}

void hf_tally_lost(struct hf_hold *hold)
{
    struct hf_tally_kind *of = tally_of_kind(hold->lock->client, hold->lock->kind);
    struct hf_lease copy;
    const struct hf_lease *lease = hf_hold_lease(hold, &copy);

    HF_ASSERT(hf_loop_is_locked(hold->lock->client->loop));
    HF_ASSERT(lease->state == LEASE_LOST && lease->loss_reason >= HF_REASON_DELETED);
    if (!of)
        return;
    count_ended_hold(of, hold, lease);
    if (lease->loss_reason <= TALLY_REASONS)
        of->losses_by_reason[lease->loss_reason - 1]++;
}

/* ---- the end ---- */

void hf_tally_fini(struct hf_client *client)
{
    HF_ASSERT(hf_loop_is_locked(client->loop));
    for (size_t i = 0; i < HF_KIND_NUMBER_COUNT; i++)
        hf_mem_free(client->mem, client->tally.by_kind[i].of,
                    sizeof *client->tally.by_kind[i].of);
}
