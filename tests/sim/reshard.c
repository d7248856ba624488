/* Resharding, of one slot. */
#include "tests/sim/reshard.h"
#include "tests/sim/nodes.h"

#define STEPS 5        /* parts of the time; a key moves after each */
#define AGAIN_US 50000 /* servers that do not run now */

static const char *key_of(const struct fault *f)
{
    return plan_lock_name(f->sim->plan, f->planned->lock);
}

static struct nodes *nodes_of(const struct fault *f)
{
    return f->sim->site->nodes;
}

static void on_step(void *ctx)
{
    struct fault *f = ctx;

    (void)nodes_move(nodes_of(f), key_of(f));
    world_after(f->sim->world, &f->again, f->planned->for_ms * 1000 / STEPS);
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
static bool is_told_at_once(const struct fault *f, int64_t lock)
{
    return !plan_is_calm(f->sim->plan) ||
           plan_needs_two_keys(f->sim->plan, lock);
}

static bool is_in_slot(const struct fault *f, int64_t lock)
{
    return nodes_have_one_slot(plan_lock_name(f->sim->plan, lock), key_of(f));
}

/* Two locks may be in one slot. */
static void tell_begin(const struct fault *f, bool is_at_once)
{
    for (int64_t i = 0; i < (int64_t)f->sim->plan->lock_count; i++)
        if (is_in_slot(f, i) && is_told_at_once(f, i) == is_at_once)
            fault_write_for(f, HISTORY_STATE_BEGIN, i);
}

static void begin(struct fault *f)
{
    struct site *site = f->sim->site;
    const struct server *from = nodes_owner(site->nodes, key_of(f));
    struct server *to =
        site_master_of_shard(site, from->shard + 1 + f->planned->server % 2);

    f->old = NULL;
    if (is_falling(site, from, to) ||
        !nodes_open(site->nodes, key_of(f), to))
        return;
    f->old = to;
    tell_begin(f, true);
    f->again = (struct event){.happen = on_step, .ctx = f};
    world_after(f->sim->world, &f->again, f->planned->for_ms * 1000 / STEPS);
}

static void all_know(void *ctx)
{
    const struct fault *f = ctx;

    for (int64_t i = 0; i < (int64_t)f->sim->plan->lock_count; i++)
        if (is_in_slot(f, i))
            fault_write_for(f, HISTORY_STATE_END, i);
}

static void give(void *ctx)
{
    struct fault *f = ctx;
    int64_t late_us = f->planned->for_ms * 1000 / 4;

    if (!nodes_give(nodes_of(f), key_of(f), late_us)) {
        world_after(f->sim->world, &f->again, AGAIN_US);
    } else {
        tell_begin(f, false);
        f->again.happen = all_know;
        world_after(f->sim->world, &f->again, late_us);
    }
}

void reshard(struct fault *f)
{
    if (f->is_on) {
        begin(f);
    } else if (f->old) {
        world_cancel(f->sim->world, &f->again);
        f->again = (struct event){.happen = give, .ctx = f};
        give(f);
    }
}
