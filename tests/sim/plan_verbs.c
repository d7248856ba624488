/* Rare verbs, drawn when all else is, from a stream of their own: some calls on what is counted,
 * and inspections, become others. */

#include "tests/sim/draw.h"
#include "tests/sim/plan_inner.h"

#define VERBS_ONE_IN 10
#define AGAIN_MS 2000 /* what was deleted is created again within this time */

static bool is_mild(const struct plan *plan)
{
    return plan->head.profile == PROFILE_MILD;
}

/* What waits for a semaphore that was deleted waits for the next one. */
static void create_again(struct plan *plan, const struct plan_op *deleted, uint64_t *dice)
{
    struct plan_op *op;

    if (plan->op_count == PLAN_OPS_DRAWN)
        return;
    op = &plan->ops[plan->op_count++];
    *op = *deleted;
    op->verb = OP_SET;
    op->at_ms += draw_spread(dice, 1, AGAIN_MS);
}

/* Without faults, all waiters must be granted. */
static void vary_semaphore(struct plan *plan, struct plan_op *op, uint64_t *dice)
{
    static const int64_t verbs[] = {OP_REDUCE, OP_REDUCE, OP_DRAIN, OP_DRAIN, OP_DELETE};
    int64_t verb = draw_pick(dice, verbs, DRAW_COUNT(verbs) - is_mild(plan));

    if (op->verb != OP_ACQUIRE && op->verb != OP_INSPECT)
        return;
    if (op->verb == OP_INSPECT)
        op->hold_ms = 1;
    op->verb = verb;
    op->n = draw_between(dice, 1, plan->locks[op->lock].permits + 1);
    if (verb == OP_DELETE)
        create_again(plan, op, dice);
}

/* Who waits for the next one must not pass because the last one is deleted again. */
static void vary_latch(struct plan *plan, struct plan_op *op, uint64_t *dice)
{
    if (op->verb != OP_GIVE && op->verb != OP_SET && op->verb != OP_INSPECT)
        return;
    op->verb = OP_DELETE;
    if (!is_mild(plan) && !draw_one_in(dice, 3))
        create_again(plan, op, dice);
}

static void vary_permits(struct plan *plan, struct plan_op *op, uint64_t *dice)
{
    static const int64_t verbs[] = {OP_AVAILABLE, OP_RESIZE, OP_RESIZE, OP_DELETE};

    if (op->verb != OP_ACQUIRE && op->verb != OP_INSPECT && op->verb != OP_SET)
        return;
    op->verb = draw_pick(dice, verbs, DRAW_COUNT(verbs) - is_mild(plan));
    op->n = draw_between(dice, is_mild(plan), plan->locks[op->lock].permits + 2);
    if (op->verb == OP_DELETE)
        create_again(plan, op, dice);
}

/* By its id, as Redisson knows it. */
static void name_by_id(struct plan_op *op, uint64_t *dice)
{
    if ((op->verb == OP_RENEW_OWNER || op->verb == OP_RELEASE_OWNER) && draw_one_in(dice, 2))
        op->flags |= FLAG_BY_ID;
}

/* A counter that expires is 0 afterwards. */
static void read_tokens(const struct plan *plan, struct plan_op *op, uint64_t *dice)
{
    bool has_tokens = plan->locks[op->lock].has_tokens ||
                      plan->locks[op->lock].family == FAMILY_FENCED;

    if (op->verb == OP_INSPECT && has_tokens && !plan->head.retains_tokens && !plan_is_set(plan, op->lock) &&
        draw_one_in(dice, 2))
        op->verb = OP_TOKEN;
}

static bool may_extend(const struct plan *plan, const struct plan_op *op)
{
    return op->verb == OP_ACQUIRE && op->lease_ms > 0 &&
           plan->locks[op->lock].family != FAMILY_ELECTION && !plan_is_counted(plan, op->lock) &&
           plan->op_count < PLAN_OPS_DRAWN;
}

/* An owner with a lease extends it, perhaps more than once, or too late. In a mild plan it might
 * have no hold. */
static void draw_extensions(struct plan *plan, uint64_t seed)
{
    uint64_t dice = dice_stream(seed, "extensions");
    size_t count = plan->op_count;

    for (size_t i = 0; i < count && !is_mild(plan); i++) {
        int64_t at_ms = plan->ops[i].at_ms;

        while (may_extend(plan, &plan->ops[i]) && draw_one_in(&dice, 2)) {
            struct plan_op *op = &plan->ops[plan->op_count++];

            *op = (struct plan_op){.verb = OP_EXTEND,
                                   .program = plan->ops[i].program,
                                   .lock = plan->ops[i].lock,
                                   .side = plan->ops[i].side,
                                   .owner = plan->ops[i].owner};
            at_ms += draw_spread(&dice, 1, plan->ops[i].lease_ms);
            op->at_ms = at_ms;
            op->lease_ms = draw_spread(&dice, 100, 8 * plan->head.watchdog_ms);
        }
    }
    if (plan->op_count > count)
        plan_sort_ops(plan);
}

void plan_draw_verbs(struct plan *plan, uint64_t seed)
{
    uint64_t dice = dice_stream(seed, "verbs");
    size_t count = plan->op_count;

    if (plan->head.is_crowd || plan->head.scenario == SCENARIO_OUTAGE)
        return;
    for (size_t i = 0; i < count; i++) {
        struct plan_op *op = &plan->ops[i];
        int64_t family = plan->locks[op->lock].family;

        if (family == FAMILY_PERMIT)
            name_by_id(op, &dice);
        read_tokens(plan, op, &dice);
        if (!draw_one_in(&dice, VERBS_ONE_IN))
            continue;
        if (family == FAMILY_SEMAPHORE)
            vary_semaphore(plan, op, &dice);
        else if (family == FAMILY_LATCH)
            vary_latch(plan, op, &dice);
        else if (family == FAMILY_PERMIT)
            vary_permits(plan, op, &dice);
    }
    if (plan->op_count > count)
        plan_sort_ops(plan);
    draw_extensions(plan, seed);
}
