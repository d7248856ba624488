/* Tracked holds and waiters. Rules in track.h. */
/* Tests: tests/live/lock/test_lock_push.c, tests/live/lock/test_push_kinds.c,
 * tests/sim/test_push.c. */
#include "lock/verb/track.h"

#include <string.h>

#include "lock/record/hold.h"
#include "lock/record/hold_lookup.h"
#include "lock/record/table.h"
#include "lock/record/wait_queue.h"
#include "lock/verb/switch.h"
#include "net/base/assert.h"
#include "net/base/moment.h"

#define FIRST_CHECK_MS 1000     /* TRACK-1 */
#define TICK_MS 64              /* first requests that are due within it go together */

bool hf_track_tracks_kind(const struct hf_kind *kind)
{
    return kind->steps[STEP_RENEW].reads_key_last;
}

static int64_t first_check_ms(const struct hf_client *client)
{
    int64_t at_ms = hf_loop_now(client->loop) + FIRST_CHECK_MS;

    return at_ms + TICK_MS - at_ms % TICK_MS;
}

static bool is_hold_held(const struct hf_hold *hold)
{
    struct hf_lease copy;

    return hf_hold_lease(hold, &copy)->state == LEASE_HELD;
}

void hf_track_granted(struct hf_hold *hold)
{
    const struct hf_client *client = hold->lock->client;
    int64_t at_ms;

    HF_ASSERT(hf_loop_is_locked(hold->lock->client->loop));
    if (!hf_router_is_tracking(client->router) || !hf_track_tracks_kind(hold->lock->kind))
        return;
    at_ms = first_check_ms(client);
    if (hold->lock->kind->may_have_several_holders)
        hf_lease_look_early(&hold->work->lease, at_ms);
    else
        hf_lease_renew_early(&hold->work->lease, at_ms);
}

/* TRACK-6: one look tracks the key for all holds of the client. */
void hf_track_after_release(const struct hf_lock *lock)
{
    struct hf_client *client = lock->client;
    struct hf_lock *other = NULL;
    struct hf_hold *hold;

    HF_ASSERT(hf_loop_is_locked(client->loop));
    if (!hf_router_is_tracking(client->router))
        return;
    while ((other = hf_lock_next_of_name(lock, other)))
        if (other->kind->may_have_several_holders && (hold = hf_hold_next(other, NULL)))
            hf_hold_look_early(hold, first_check_ms(client));
}

void hf_track_after_forced_release(const struct hf_lock *lock)
{
    struct hf_client *client = lock->client;
    struct hf_lock *other = NULL;

    HF_ASSERT(hf_loop_is_locked(client->loop));
    if (!hf_router_is_tracking(client->router))
        return;
    while ((other = hf_lock_next_of_name(lock, other)))
        for (struct hf_hold *hold = NULL; (hold = hf_hold_next(other, hold));)
            if (is_hold_held(hold))
                hf_switch_add_unsure_hold(client, hold);
}

/* TRACK-3 */
static bool is_check_due(const struct hf_hold *hold, const struct hf_lease *lease)
{
    const struct hf_hold_work *work = hold->work;
    int64_t now = hf_loop_now(hold->lock->client->loop);

    if (!work)
        return lease->early_check_ms <= now;
    return !hf_list_is_empty(&work->unsure_node) ||
           lease->early_check_ms <= hf_max_ms(now, work->push_check_from_ms);
}

static void check_hold_after_push(struct hf_client *client, struct hf_hold *hold)
{
    struct hf_lease copy;
    const struct hf_lease *lease = hf_hold_lease(hold, &copy);

    if (lease->state != LEASE_HELD)
        return;
    hold->has_pending_push_check = true;
    if (is_check_due(hold, lease))
        return;
    client->push_checks++;
    hf_switch_add_unsure_hold(client, hold);
}

/* TRACK-8. Locks that share a queue have one name. */
static void wake_first_waiter(struct hf_lock *lock)
{
    if (lock->kind->steps[STEP_ACQUIRE].reads_key_last)
        hf_wait_queue_pushed(lock->wait_queue);
}

static void check_holds_of_lock(struct hf_lock *lock)
{
    if (!hf_track_tracks_kind(lock->kind))
        return;
    for (struct hf_hold *hold = NULL; (hold = hf_hold_next(lock, hold));)
        check_hold_after_push(lock->client, hold);
}

/* TRACK-4 */
static void check_locks_of_server(struct hf_client *client, const struct hf_server *server)
{
    for (struct hf_lock *lock = NULL; (lock = hf_lock_next(client, lock));)
        if (hf_router_server_serves(client->router, server, lock->slot)) {
            check_holds_of_lock(lock);
            wake_first_waiter(lock);
        }
}

/* The key whose change the server reports, of a lock whose kind is tracked. */
static struct hf_bytes tracked_key_of_lock(const struct hf_lock *lock)
{
    const char *key = lock->kind->key_names[0];

    if (!lock->kind->steps[STEP_RENEW].is_without_name)
        return (struct hf_bytes){lock->texts, lock->name_len};
    return (struct hf_bytes){hf_lock_keys(lock, NULL),
                             hf_key_size(key, lock->texts, lock->name_len)};
}

static void check_locks_of_key(struct hf_client *client, struct hf_bytes name, struct hf_bytes key)
{
    struct hf_lock *lock = NULL;

    while ((lock = hf_lock_next_named(client, name.ptr, name.len, lock))) {
        struct hf_bytes its;

        if (!hf_track_tracks_kind(lock->kind))
            continue;
        its = tracked_key_of_lock(lock);
        if (its.len == key.len && memcmp(its.ptr, key.ptr, key.len) == 0)
            check_holds_of_lock(lock);
    }
}

static void wake_waiters_of_name(struct hf_client *client, struct hf_bytes name)
{
    struct hf_lock *lock = NULL;

    while ((lock = hf_lock_next_named(client, name.ptr, name.len, lock)))
        wake_first_waiter(lock);
}

void hf_track_on_invalidated(void *ctx, const struct hf_server *server, const char *text,
                             size_t len)
{
    struct hf_bytes key = {text, len};

    if (!text) {
        check_locks_of_server(ctx, server);
        return;
    }
    check_locks_of_key(ctx, key, key);
    wake_waiters_of_name(ctx, key);
    for (int i = 0; i <= 1; i++) {
        struct hf_bytes name;

        if ((name.len = hf_key_find_name(&name.ptr, text, len, i)) > 0)
            check_locks_of_key(ctx, name, key);
    }
}
