/* What plan.c (how a plan is drawn) and plan_family.c (which families its names get)
 * share. Private to these two. */
#ifndef SIM_PLAN_INNER_H
#define SIM_PLAN_INNER_H

#include "tests/sim/plan.h"

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
