/* Which scenes there are, and what they are put together with. */
#include "tests/sim/scene.h"

#define EVERYWHERE ((1u << DEPLOYMENTS) - 1)
#define IN_CLUSTERS (1u << DEPLOY_CLUSTER | 1u << DEPLOY_SHARDED)
#define WITH_FAILOVERS (1u << DEPLOY_SENTINEL | IN_CLUSTERS)

static const struct scene {
    void (*draw)(struct plan *plan, uint64_t *dice);
    unsigned deployments; /* a bit for each */
} scenes[SCENES] = {
    [SCENE_UNANSWERED] = {scene_unanswered, EVERYWHERE},
    [SCENE_OVERTAKEN] = {scene_overtaken, EVERYWHERE},
    [SCENE_RENEWING] = {scene_renewing, EVERYWHERE},
    [SCENE_SLOTS] = {scene_slots, IN_CLUSTERS},
    [SCENE_CROSSING] = {scene_crossing, EVERYWHERE},
    [SCENE_FAILOVER] = {scene_failover, WITH_FAILOVERS},
    [SCENE_MESSAGES] = {scene_messages, EVERYWHERE},
    [SCENE_RETURNS] = {scene_returns, 1u << DEPLOY_SHARDED},
    [SCENE_UNHEARD] = {scene_unheard, EVERYWHERE},
    [SCENE_LATE] = {scene_late, EVERYWHERE},
    [SCENE_FORMER] = {scene_former, WITH_FAILOVERS},
    [SCENE_QUEUE] = {scene_queue, EVERYWHERE},
    [SCENE_COUNTED] = {scene_counted, EVERYWHERE},
    [SCENE_REDIRECT] = {scene_redirect, IN_CLUSTERS},
    [SCENE_SILENCE] = {scene_silence, EVERYWHERE},
    [SCENE_CREDENTIALS] = {scene_credentials, EVERYWHERE},
    [SCENE_SWITCHOVER] = {scene_switchover, 1u << DEPLOY_REPLICAS},
};

int64_t scene_pick(uint64_t *dice)
{
    return draw_between(dice, SCENE_NONE + 1, SCENES_DRAWN - 1);
}

int64_t scene_deployment(int64_t scene, uint64_t *dice)
{
    int64_t deployment;

    do {
        deployment = draw_below(dice, DEPLOYMENTS_DRAWN);
    } while ((scenes[scene].deployments >> deployment & 1) == 0);
    return deployment;
}

void scene_draw(struct plan *plan, uint64_t *dice)
{
    scenes[plan->head.scene].draw(plan, dice);
}

struct plan_op *scene_op(struct plan *plan, int64_t at_ms, int64_t verb,
                         int64_t owner)
{
    static struct plan_op lost;
    struct plan_op *op = plan->op_count < PLAN_OPS_DRAWN
                             ? &plan->ops[plan->op_count++]
                             : &lost;

    *op = (struct plan_op){.at_ms = at_ms, .verb = verb, .owner = owner};
    return op;
}

struct plan_fault *scene_fault(struct plan *plan, int64_t at_ms,
                               int64_t trouble, int64_t for_ms)
{
    static struct plan_fault lost;
    struct plan_fault *fault = plan->fault_count < PLAN_FAULTS_MAX
                                   ? &plan->faults[plan->fault_count++]
                                   : &lost;

    *fault = (struct plan_fault){.at_ms = at_ms > 0 ? at_ms : 0,
                                 .trouble = trouble,
                                 .for_ms = plan_lasts(trouble) ? for_ms : 0};
    return fault;
}

static const int64_t rare_verbs[] = {OP_RELEASE, OP_FORCE, OP_INSPECT,
                                     OP_CANCEL,  OP_CLOSE, OP_FREE};

struct plan_op *scene_user(struct plan *plan, int64_t at_ms, int64_t span_ms,
                           int64_t lock, uint64_t *dice)
{
    struct plan_op *op =
        scene_op(plan, at_ms, OP_ACQUIRE, draw_between(dice, 1, PLAN_OWNERS));

    op->lock = lock;
    op->program = draw_below(dice, (int64_t)plan->program_count);
    if (plan_has_sides(plan->locks[lock].family))
        op->side = draw_below(dice, 2);
    if (draw_one_in(dice, 2))
        op->lease_ms = plan->head.watchdog_ms * draw_between(dice, 1, 20);
    if (!draw_one_in(dice, 8))
        op->wait_ms = draw_spread(dice, span_ms, 16 * span_ms);
    op->hold_ms = draw_spread(dice, 1 + span_ms / 50, 2 * span_ms);
    if (draw_one_in(dice, 12)) {
        op->verb = draw_pick(dice, rare_verbs, DRAW_COUNT(rare_verbs));
        op->n = draw_below(dice, 2);
    }
    return op;
}

size_t scene_acts(struct plan *plan, int64_t times_ms[SCENE_ACTS_MAX],
                  uint64_t *dice)
{
    size_t acts = (size_t)draw_between(dice, 1, SCENE_ACTS_MAX);
    int64_t part_ms = plan->head.length_ms / (int64_t)acts;

    for (size_t i = 0; i < acts; i++)
        times_ms[i] = (int64_t)i * part_ms + draw_below(dice, part_ms / 2 + 1);
    return acts;
}
