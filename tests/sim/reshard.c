/* Resharding, of one slot. */
#include "tests/sim/reshard.h"
#include "tests/sim/nodes.h"

#define STEPS 5        /* a key moves after each of so many parts of the time */
#define AGAIN_US 50000 /* servers that do not run now */

static const char *key_of(const struct trouble *t)
{
    return plan_lock_name(t->sim->plan, t->fault->lock);
}

static struct nodes *nodes_of(const struct trouble *t)
{
    return t->sim->site->nodes;
}

static void on_step(void *ctx)
{
    struct trouble *t = ctx;

    (void)nodes_move(nodes_of(t), key_of(t));
    world_after(t->sim->world, &t->again, t->fault->for_ms * 1000 / STEPS);
}

static bool is_falling(const struct site *site, const struct server *one,
                       const struct server *other)
{
    const struct server *falling = site->falling;

    return falling &&
           (falling->shard == one->shard || falling->shard == other->shard);
}

/* Where nothing else is wrong, a waiter has no excuse before the slot is given,
 * nor long after the nodes know. But a script of two keys is refused (TRYAGAIN)
 * from the beginning. */
static bool is_told_at_once(const struct trouble *t, int64_t lock)
{
    return !plan_is_calm(t->sim->plan) ||
           plan_needs_two_keys(t->sim->plan, lock);
}

static bool is_in_slot(const struct trouble *t, int64_t lock)
{
    return nodes_have_one_slot(plan_lock_name(t->sim->plan, lock), key_of(t));
}

/* Two locks may be in one slot. */
static void tell_begin(const struct trouble *t, bool is_at_once)
{
    for (int64_t i = 0; i < (int64_t)t->sim->plan->lock_count; i++)
        if (is_in_slot(t, i) && is_told_at_once(t, i) == is_at_once)
            trouble_tell_of(t, HISTORY_STATE_BEGIN, i);
}

static void begin(struct trouble *t)
{
    struct site *site = t->sim->site;
    const struct server *from = nodes_owner(site->nodes, key_of(t));
    struct server *to =
        site_master_of_shard(site, from->shard + 1 + t->fault->server % 2);

    t->old = NULL;
    if (is_falling(site, from, to) ||
        !nodes_open(site->nodes, key_of(t), to))
        return;
    t->old = to;
    tell_begin(t, true);
    t->again = (struct event){.happen = on_step, .ctx = t};
    world_after(t->sim->world, &t->again, t->fault->for_ms * 1000 / STEPS);
}

static void all_know(void *ctx)
{
    const struct trouble *t = ctx;

    for (int64_t i = 0; i < (int64_t)t->sim->plan->lock_count; i++)
        if (is_in_slot(t, i))
            trouble_tell_of(t, HISTORY_STATE_END, i);
}

static void give(void *ctx)
{
    struct trouble *t = ctx;
    int64_t late_us = t->fault->for_ms * 1000 / 4;

    if (!nodes_give(nodes_of(t), key_of(t), late_us)) {
        world_after(t->sim->world, &t->again, AGAIN_US);
    } else {
        tell_begin(t, false);
        t->again.happen = all_know;
        world_after(t->sim->world, &t->again, late_us);
    }
}

void reshard(struct trouble *t)
{
    if (t->is_on) {
        begin(t);
    } else if (t->old) {
        world_cancel(t->sim->world, &t->again);
        t->again = (struct event){.happen = give, .ctx = t};
        give(t);
    }
}
