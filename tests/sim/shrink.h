/* Shrinking: the fewest operations and faults, with the simplest numbers, of
 * which a plan still fails. Source: Zeller and Hildebrandt, "Simplifying and
 * Isolating Failure-Inducing Input", 2002. */
#ifndef SIM_SHRINK_H
#define SIM_SHRINK_H

#include "tests/sim/plan.h"

/* shrink - makes `plan`, which fails, smaller as long as `fails` says that it
 *          still does, by at most `runs_max` calls of it. Faults go first, then
 *          operations: halves, quarters, ... single ones, until none can be
 *          left out; then each number is tried at 0 and at its half.
 * Returns how many calls it took. */
int shrink(struct plan *plan, bool (*fails)(void *ctx, const struct plan *plan),
           void *ctx, int runs_max);

#endif
