/* Tracked holds. Rules in track.h. */
/* Tests: tests/live/lock/test_lock_push.c, tests/sim/test_push.c. */
#include "lock/verb/track.h"

#include "lock/record/table.h"
#include "lock/verb/switch.h"
#include "net/base/moment.h"

#define FIRST_MS 1000           /* TRACK-1 */
#define TICK_MS 64              /* first requests that are due within it go together */

bool hf_track_is_kind(const struct hf_kind *kind)
{
    return kind->steps[STEP_RENEW].reads_last;
}

void hf_track_granted(struct hf_hold *hold)
{
    const struct hf_client *client = hold->lock->client;
    int64_t at_ms = hf_loop_now(client->loop) + FIRST_MS;

    if (hf_router_is_tracking(client->router) && hf_track_is_kind(hold->lock->kind))
        hf_lease_rush(&hold->lease, at_ms + TICK_MS - at_ms % TICK_MS);
}

/* TRACK-3 */
static bool is_due(const struct hf_hold *hold)
{
    int64_t now = hf_loop_now(hold->lock->client->loop);

    return !hf_list_is_empty(&hold->unsure_node) ||
           hold->lease.rush_ms <= hf_max_ms(now, hold->check_from_ms);
}

static void check(struct hf_client *client, struct hf_hold *hold)
{
    if (hold->lease.state != LEASE_HELD)
        return;
    hold->is_pushed = true;
    if (is_due(hold))
        return;
    client->push_checks++;
    hf_switch_doubt(client, hold);
}

static void check_lock(struct hf_lock *lock)
{
    if (!hf_track_is_kind(lock->kind))
        return;
    for (struct hf_list *h = lock->holds.next; h != &lock->holds; h = h->next)
        check(lock->client, HF_OWNER_OF(h, struct hf_hold, node));
}

/* TRACK-4 */
static void check_all(struct hf_client *client, const struct hf_server *server)
{
    for (struct hf_list *l = client->locks.next; l != &client->locks; l = l->next) {
        struct hf_lock *lock = HF_OWNER_OF(l, struct hf_lock, client_link);

        if (hf_router_serves(client->router, server, lock->slot))
            check_lock(lock);
    }
}

void hf_track_note(void *ctx, const struct hf_server *server, const char *key, size_t len)
{
    struct hf_client *client = ctx;
    struct hf_lock *lock = NULL;

    if (!key) {
        check_all(client, server);
        return;
    }
    while ((lock = hf_lock_next_named(client, key, len, lock)))
        check_lock(lock);
}
