/* A switch of masters. Rules in switch.h. */
/* Tests: tests/live/server/test_lock_switch.c, tests/sim/test_switch.c. */
#include "lock/verb/switch.h"
#include "lock/record/hold.h"
#include "lock/record/hold_lookup.h"
#include "lock/record/table.h"
#include "lock/record/wait_queue.h"
#include "net/base/assert.h"
#include "net/base/moment.h"

#define HOLDS_PER_PORTION 500   /* holds: 5 batches of one kind */
#define PAUSE_MS 1
#define PAUSE_BUSY_MS 25        /* while there are MANY_BATCHES */
#define MANY_BATCHES 50
/* Between two checks of a hold that pushes cause (TRACK-3, TRACK-5). */
#define CHECK_PAUSE_MS 100
#define SHARED_PAUSE_MAX_MS 3200

static void arm_unsure_timer(struct hf_client *client, int64_t in_ms)
{
    hf_loop_arm(client->loop, &client->unsure_timer,
                hf_loop_now(client->loop) + in_ms);
}

static void check_next_unsure_hold(struct hf_client *client, int64_t now)
{
    struct hf_hold_work *work =
        HF_OWNER_OF(client->unsure_holds.next, struct hf_hold_work, unsure_node);
    int64_t at_ms = hf_max_ms(now, work->push_check_from_ms);
    bool is_shared = work->hold->lock->kind->may_have_several_holders;

    hf_list_remove(&work->unsure_node);
    if (!is_shared || at_ms == now)
        work->push_check_pause_ms = CHECK_PAUSE_MS;
    else if (work->push_check_pause_ms < SHARED_PAUSE_MAX_MS)
        work->push_check_pause_ms *= 2;
    work->push_check_from_ms = at_ms + work->push_check_pause_ms;
    if (is_shared && !work->is_unsure_after_switch)
        hf_hold_look_early(work->hold, at_ms);
    else
        hf_hold_renew_early(work->hold, at_ms);
    work->is_unsure_after_switch = false;
}

/* SWITCH-2 */
static void on_unsure_timer(struct hf_timer *timer)
{
    struct hf_client *client =
        HF_OWNER_OF(timer, struct hf_client, unsure_timer);
    int64_t now = hf_loop_now(client->loop);

    for (int i = 0; i < HOLDS_PER_PORTION && !hf_list_is_empty(&client->unsure_holds); i++)
        check_next_unsure_hold(client, now);
    if (!hf_list_is_empty(&client->unsure_holds))
        arm_unsure_timer(client, client->renewal_batches_count < MANY_BATCHES ? PAUSE_MS
                                                         : PAUSE_BUSY_MS);
}

static void queue_switched_hold(struct hf_client *client, struct hf_hold *hold,
                                const struct hf_switched *which)
{
    struct hf_lease copy, *lease = hf_hold_edit_lease(hold, &copy);

    if (!hf_lease_master_switched(lease, hf_switched_has(which->sudden_slots, hold->lock->slot)))
        return;
    hf_hold_store_lease(hold, lease);
    if (hf_hold_ensure_work(hold)) {
        hold->work->push_check_from_ms = 0;
        hold->work->is_unsure_after_switch = true;
    }
    hf_switch_add_unsure_hold(client, hold);
}

void hf_switch_add_unsure_hold(struct hf_client *client, struct hf_hold *hold)
{
    HF_ASSERT(hf_loop_is_locked(client->loop));
    if (!hf_hold_ensure_work(hold)) { /* it is checked without a place in the list */
        hf_hold_renew_early(hold, hf_loop_now(client->loop));
        return;
    }
    if (hf_list_is_empty(&client->unsure_holds))
        arm_unsure_timer(client, 0);
    if (hf_list_is_empty(&hold->work->unsure_node))
        hf_list_push(&client->unsure_holds, &hold->work->unsure_node);
}

void hf_switch_on_switched(void *ctx, const struct hf_switched *which)
{
    struct hf_client *client = ctx;

    for (struct hf_lock *lock = NULL; (lock = hf_lock_next(client, lock));) {
        if (!hf_switched_has(which->switched_slots, lock->slot))
            continue;
        for (struct hf_hold *hold = NULL; (hold = hf_hold_next(lock, hold));)
            queue_switched_hold(client, hold, which);
    }
}

/* TRACK-8 */
static bool waits_for_push(const struct hf_op *op)
{
    return op->queue && hf_wait_queue_first(op->queue) == op &&
           op->lock->kind->steps[STEP_ACQUIRE].reads_key_last;
}

bool hf_switch_is_attentive(void *ctx)
{
    const struct hf_client *client = ctx;
    const struct hf_list *ops = &client->pending_ops;

    if (client->holds_count > 0 || !hf_router_is_tracking(client->router))
        return client->holds_count > 0;
    for (const struct hf_list *l = ops->next; l != ops; l = l->next)
        if (waits_for_push(HF_OWNER_OF(l, struct hf_op, node)))
            return true;
    return false;
}

void hf_switch_init(struct hf_client *client)
{
    hf_list_init(&client->unsure_holds);
    client->unsure_timer = (struct hf_timer){.fire = on_unsure_timer};
}

void hf_switch_fini(struct hf_client *client)
{
    HF_ASSERT(hf_loop_is_locked(client->loop));
    hf_loop_disarm(client->loop, &client->unsure_timer);
}
