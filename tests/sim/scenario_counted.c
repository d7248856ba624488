/* A scenario of semaphores, latches and permits: calls without answers, which are sent
 * again, or overtaken by what undoes them. */
#include "tests/sim/scenario.h"

/* For longer than servers once remembered what they had answered. */
#define LONG_OUTAGE_MS 601000
#define LONG_OUTAGE_MORE_MS 1000000

/* A request that one old connection delivers later than ten minutes after its answer may be
 * executed again (semaphores.md). */
#define LONG_DELIVERY_MS 540000

static bool is_late_delivery(const struct plan_fault *f)
{
    return f->kind == FAULT_HOLD_BACK && f->connection != 0;
}

static bool is_outage(const struct plan_fault *f)
{
    return f->kind == FAULT_HOLD_BACK || f->kind == FAULT_HALF_OPEN ||
           f->kind == FAULT_IGNORE || f->kind == FAULT_REFUSE;
}

static void long_outage(struct plan *plan, uint64_t *dice)
{
    scenario_unanswered(plan, dice);
    for (size_t i = 0; i < plan->fault_count; i++)
        if (is_outage(&plan->faults[i]) && draw_one_in(dice, 2)) {
            int64_t ms = LONG_OUTAGE_MS + draw_below(dice, LONG_OUTAGE_MORE_MS);

            plan->faults[i].for_ms =
                is_late_delivery(&plan->faults[i]) ? LONG_DELIVERY_MS : ms;
        }
}

static void (*const scenarios[])(struct plan *plan, uint64_t *dice) = {
    scenario_unanswered, scenario_overtaken, scenario_late, long_outage};

/* All locks have one side and one key until plan.c sets their families. */
void scenario_counted(struct plan *plan, uint64_t *dice)
{
    for (size_t i = 0; i < plan->lock_count; i++)
        plan->locks[i].family = FAMILY_PLAIN;
    scenarios[draw_below(dice, DRAW_COUNT(scenarios))](plan, dice);
}
