/* Which kinds of faults the plans of a family have. */
#include "tests/sim/plan.h"

#define SEEDS 3000
#define OFTEN 12 /* in so many plans: others with as many seeds are not all without it */

static void count_kinds(int64_t family, int64_t plans[FAULT_KINDS])
{
    static struct plan plan;
    int64_t before = plan_only_is();

    plan_only_number(family);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        bool has[FAULT_KINDS] = {false};

        plan_draw(&plan, seed);
        for (size_t i = 0; i < plan.fault_count; i++)
            has[plan.faults[i].kind] = true;
        for (int kind = 0; kind < FAULT_KINDS; kind++)
            plans[kind] += has[kind];
    }
    plan_only_number(before);
}

/* Of all families, every kind that needs no world: that it is drawn at all is a test. */
void plan_kinds_of(int64_t family, bool can_have[FAULT_KINDS])
{
    int64_t plans[FAULT_KINDS] = {0};

    if (family >= 0)
        count_kinds(family, plans);
    for (int kind = 0; kind < FAULT_KINDS; kind++)
        can_have[kind] = family < 0 ? plan_fault_world(kind) < 0 : plans[kind] >= OFTEN;
}
