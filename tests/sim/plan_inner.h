/* What the files that draw a plan share: plan.c, and plan_*.c for its parts. Private to them. */
#ifndef SIM_PLAN_INNER_H
#define SIM_PLAN_INNER_H

#include "tests/sim/plan.h"

/* plan_sort_ops, plan_sort_faults - put the operations, or the faults, in order of time. */
void plan_sort_ops(struct plan *plan);
void plan_sort_faults(struct plan *plan);

/* plan_takes_scenario  - are there such scenarios, of the one family that is selected?
 * plan_family_first - before the operations are drawn: names of the selected family.
 * plan_family_last  - afterwards: families that are drawn in place of others. */
/* plan_draw_verbs   - last of all: rare verbs (plan_verbs.c). */
void plan_draw_verbs(struct plan *plan, uint64_t seed);

bool plan_takes_scenario(int64_t scenario);
void plan_family_first(struct plan *plan);
void plan_family_last(struct plan *plan, uint64_t seed);

/* plan_sets_take_scenario, _first, _last - the same for plans of quorums, multi-locks or
 *                     elections (plan_sets.c). */
bool plan_sets_take_scenario(int64_t family, int64_t scenario);
void plan_sets_first(struct plan *plan, int64_t family);
void plan_sets_last(struct plan *plan, int64_t family);

#endif
