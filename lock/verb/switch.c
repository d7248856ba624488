/* A switch of masters. Rules in switch.h. */
/* Tests: tests/live/server/test_lock_switch.c, tests/sim/test_switch.c. */
#include "lock/verb/switch.h"
#include "lock/record/hold.h"
#include "net/base/moment.h"

#define PORTION 500             /* holds: 5 batches of one kind */
#define PAUSE_MS 1
#define PAUSE_BUSY_MS 25        /* while there are MANY_BATCHES */
#define MANY_BATCHES 50
#define CHECK_PAUSE_MS 100      /* between two checks of a hold that pushes cause */

static void arm(struct hf_client *client, int64_t in_ms)
{
    hf_loop_arm(client->loop, &client->unsure_timer,
                hf_loop_now(client->loop) + in_ms);
}

static void take_one(struct hf_client *client, int64_t now)
{
    struct hf_hold *hold =
        HF_OWNER_OF(client->unsure_holds.next, struct hf_hold, unsure_node);

    int64_t at_ms = hf_max_ms(now, hold->check_from_ms);

    hf_list_remove(&hold->unsure_node);
    hold->check_from_ms = at_ms + CHECK_PAUSE_MS;
    hf_lease_rush(&hold->lease, at_ms);
    hf_hold_rearm(hold);
}

/* SWITCH-2 */
static void on_timer(struct hf_timer *timer)
{
    struct hf_client *client =
        HF_OWNER_OF(timer, struct hf_client, unsure_timer);
    int64_t now = hf_loop_now(client->loop);

    for (int i = 0; i < PORTION && !hf_list_is_empty(&client->unsure_holds); i++)
        take_one(client, now);
    if (!hf_list_is_empty(&client->unsure_holds))
        arm(client, client->batches_count < MANY_BATCHES ? PAUSE_MS
                                                         : PAUSE_BUSY_MS);
}

static void note_hold(struct hf_client *client, struct hf_hold *hold,
                      const struct hf_switched *which)
{
    if (!hf_lease_switched(&hold->lease,
                           hf_switched_has(which->sudden, hold->lock->slot)))
        return;
    hold->check_from_ms = 0;
    hf_switch_doubt(client, hold);
}

void hf_switch_doubt(struct hf_client *client, struct hf_hold *hold)
{
    if (hf_list_is_empty(&client->unsure_holds))
        arm(client, 0);
    if (hf_list_is_empty(&hold->unsure_node))
        hf_list_push(&client->unsure_holds, &hold->unsure_node);
}

void hf_switch_note(void *ctx, const struct hf_switched *which)
{
    struct hf_client *client = ctx;

    for (struct hf_list *l = client->locks.next; l != &client->locks;
         l = l->next) {
        struct hf_lock *lock = HF_OWNER_OF(l, struct hf_lock, client_link);

        if (!hf_switched_has(which->slots, lock->slot))
            continue;
        for (struct hf_list *h = lock->holds.next; h != &lock->holds;
             h = h->next)
            note_hold(client, HF_OWNER_OF(h, struct hf_hold, node), which);
    }
}

bool hf_switch_is_attentive(void *ctx)
{
    const struct hf_client *client = ctx;

    return client->holds > 0;
}

void hf_switch_init(struct hf_client *client)
{
    hf_list_init(&client->unsure_holds);
    client->unsure_timer = (struct hf_timer){.fire = on_timer};
}

void hf_switch_fini(struct hf_client *client)
{
    hf_loop_disarm(client->loop, &client->unsure_timer);
}
