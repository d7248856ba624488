/* A run: executes a plan in a new world, and judges its history. */
#ifndef SIM_RUN_H
#define SIM_RUN_H

#include "tests/sim/effects.h"
#include "tests/sim/plan.h"

struct run_result {
    bool has_failed;
    char property[16]; /* "P1" to "P12"; "mild": a call of a plan without faults
                          failed; "leak"; ... */
    char text[512];
    char kind[256]; /* the text without names and numbers (judge.h) */
    uint64_t calls; /* the number of lock operations */
    uint64_t calls_of[PLAN_KINDS]; /* the same by the kind of the lock */
    uint64_t granted;
    int64_t simulated_us;
    unsigned faults[FAULT_KINDS]; /* how often each kind began */
    unsigned effects[EFFECTS];   /* how often each was seen */
};

/* run_is_alike - returns whether two runs violate the same property in the same way. */
bool run_is_alike(const struct run_result *a, const struct run_result *b);

/* run_show_wire - sets whether histories have a comment for each command of each client, with
 *                 its outcome. */
void run_show_wire(bool shows);

/* run_plan - executes the plan, writes the history to `history` (NULL: only to the judge), and
 *            fills in the result. The same plan gives the same history, byte for byte. */
void run_plan(const struct plan *plan, FILE *history, struct run_result *result);

#endif
