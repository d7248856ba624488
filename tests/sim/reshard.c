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

static void begin(struct trouble *t)
{
    struct site *site = t->sim->site;
    const struct server *from = nodes_owner(site->nodes, key_of(t));
    struct server *to =
        site_master_of_shard(site, from->shard + 1 + t->fault->server % 2);

    t->old = NULL;
    if (site->is_failing_over || !nodes_open(site->nodes, key_of(t), to))
        return;
    t->old = to;
    t->again = (struct event){.happen = on_step, .ctx = t};
    world_after(t->sim->world, &t->again, t->fault->for_ms * 1000 / STEPS);
}

static void give(void *ctx)
{
    struct trouble *t = ctx;

    if (!nodes_give(nodes_of(t), key_of(t), t->fault->for_ms * 1000 / 4))
        world_after(t->sim->world, &t->again, AGAIN_US);
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
