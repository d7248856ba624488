/* Which scenarios there are, and what they are put together with. */
#include "tests/sim/scenario.h"

#include <string.h>

#include "net/route/slot.h"

#define EVERYWHERE ((1u << DEPLOYMENTS) - 1)
#define IN_CLUSTERS (1u << DEPLOY_CLUSTER | 1u << DEPLOY_SHARDED)
#define WITH_FAILOVERS (1u << DEPLOY_SENTINEL | IN_CLUSTERS)

static const struct scenario {
    void (*draw)(struct plan *plan, uint64_t *dice);
    unsigned deployments; /* a bit for each */
} scenarios[SCENARIOS] = {
    [SCENARIO_UNANSWERED] = {scenario_unanswered, EVERYWHERE},
    [SCENARIO_OVERTAKEN] = {scenario_overtaken, EVERYWHERE},
    [SCENARIO_RENEWING] = {scenario_renewing, EVERYWHERE},
    [SCENARIO_SLOTS] = {scenario_slots, IN_CLUSTERS},
    [SCENARIO_CROSSING] = {scenario_crossing, EVERYWHERE},
    [SCENARIO_FAILOVER] = {scenario_failover, WITH_FAILOVERS},
    [SCENARIO_MESSAGES] = {scenario_messages, EVERYWHERE},
    [SCENARIO_RETURNS] = {scenario_returns, 1u << DEPLOY_SHARDED},
    [SCENARIO_UNHEARD] = {scenario_unheard, EVERYWHERE},
    [SCENARIO_LATE] = {scenario_late, EVERYWHERE},
    [SCENARIO_FORMER] = {scenario_former, WITH_FAILOVERS},
    [SCENARIO_QUEUE] = {scenario_queue, EVERYWHERE},
    [SCENARIO_COUNTED] = {scenario_counted, EVERYWHERE},
    [SCENARIO_REDIRECT] = {scenario_redirect, IN_CLUSTERS},
    [SCENARIO_SILENCE] = {scenario_silence, EVERYWHERE},
    [SCENARIO_CREDENTIALS] = {scenario_credentials, EVERYWHERE},
    [SCENARIO_SWITCHOVER] = {scenario_switchover, 1u << DEPLOY_REPLICAS},
    [SCENARIO_PROXY] = {scenario_proxy, 1u << DEPLOY_STANDALONE},
    [SCENARIO_DISAGREE] = {scenario_disagree, IN_CLUSTERS},
    [SCENARIO_NAMES] = {scenario_names, 1u << DEPLOY_STANDALONE},
    [SCENARIO_OUTAGE] = {scenario_outage, 1u << DEPLOY_STANDALONE},
    [SCENARIO_REPLACED] = {scenario_replaced, 1u << DEPLOY_STANDALONE}, /* then DEPLOY_HOSTS */
};

int64_t scenario_pick(uint64_t *dice)
{
    return draw_between(dice, SCENARIO_NONE + 1, SCENARIOS_DRAWN - 1);
}

int64_t scenario_deployment(int64_t scenario, uint64_t *dice)
{
    int64_t deployment;

    do {
        deployment = draw_below(dice, DEPLOYMENTS_DRAWN);
    } while ((scenarios[scenario].deployments >> deployment & 1) == 0);
    return deployment;
}

void scenario_draw(struct plan *plan, uint64_t *dice)
{
    scenarios[plan->head.scenario].draw(plan, dice);
}

struct plan_op *scenario_op(struct plan *plan, int64_t at_ms, int64_t verb,
                            int64_t owner)
{
    static struct plan_op lost;
    struct plan_op *op = plan->op_count < PLAN_OPS_DRAWN
                             ? &plan->ops[plan->op_count++]
                             : &lost;

    *op = (struct plan_op){.at_ms = at_ms, .verb = verb, .owner = owner};
    return op;
}

struct plan_fault *scenario_fault(struct plan *plan, int64_t at_ms,
                                  int64_t kind, int64_t for_ms)
{
    static struct plan_fault lost;
    struct plan_fault *fault = plan->fault_count < PLAN_FAULTS_MAX
                                   ? &plan->faults[plan->fault_count++]
                                   : &lost;

    *fault = (struct plan_fault){.at_ms = at_ms > 0 ? at_ms : 0,
                                 .kind = kind,
                                 .for_ms = plan_lasts(kind) ? for_ms : 0};
    return fault;
}

static const int64_t rare_verbs[] = {OP_RELEASE, OP_FORCE, OP_INSPECT,
                                     OP_CANCEL,  OP_CLOSE, OP_FREE};

struct plan_op *scenario_user(struct plan *plan, int64_t at_ms, int64_t span_ms,
                              int64_t lock, uint64_t *dice)
{
    struct plan_op *op =
        scenario_op(plan, at_ms, OP_ACQUIRE, draw_between(dice, 1, PLAN_OWNERS));

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

int64_t scenario_server_of(const struct plan *plan, int64_t lock)
{
    const char *name = plan_lock_name(plan, lock);

    if (plan->head.deployment < DEPLOY_CLUSTER)
        return 0;
    return hf_slot_of(name, strlen(name)) * SCENARIO_SHARDS / HF_SLOTS;
}

size_t scenario_repeats(struct plan *plan, int64_t times_ms[SCENARIO_REPEATS_MAX],
                        uint64_t *dice)
{
    size_t repeats = (size_t)draw_between(dice, 1, SCENARIO_REPEATS_MAX);
    int64_t part_ms = plan->head.length_ms / (int64_t)repeats;

    for (size_t i = 0; i < repeats; i++)
        times_ms[i] = (int64_t)i * part_ms + draw_below(dice, part_ms / 2 + 1);
    return repeats;
}
