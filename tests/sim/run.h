/* A run: a plan is executed in a world of its own, and judged. */
#ifndef SIM_RUN_H
#define SIM_RUN_H

#include "tests/sim/effects.h"
#include "tests/sim/plan.h"

struct run_result {
    bool has_failed;
    char property[16]; /* "P1" to "P10"; "mild": a call failed though
                          nothing was wrong; "leak" */
    char text[512];
    char kind[256]; /* the text without names and numbers (judge.h) */
    uint64_t calls; /* lock operations that were asked for */
    uint64_t calls_of[PLAN_KINDS]; /* by the kind of their lock */
    uint64_t granted;
    int64_t simulated_us;
    unsigned faults[FAULT_KINDS]; /* how often each was done */
    unsigned effects[EFFECTS];   /* how often each happened */
};

/* run_is_alike - do two runs fail by one property, in one way? */
bool run_is_alike(const struct run_result *a, const struct run_result *b);

/* run_show_wire - from now on histories have comments: each command of each
 *                  client, and what became of it. */
void run_show_wire(bool shows);

/* run_plan - executes the plan, writes the history to `history` (NULL: to nobody
 *            but the judge), and fills in the result. The same plan gives the same
 *            history, byte for byte. */
void run_plan(const struct plan *plan, FILE *history, struct run_result *result);

#endif
