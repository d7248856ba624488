/* A play: a plan is carried out in a world of its own, and judged. */
#ifndef SIM_PLAY_H
#define SIM_PLAY_H

#include "tests/sim/effects.h"
#include "tests/sim/plan.h"

struct play_result {
    bool has_failed;
    char property[16]; /* "P1" to "P10"; "mild": a call failed though
                          nothing was wrong; "leak" */
    char text[512];
    char kind[256]; /* the text without names and numbers (judge.h) */
    uint64_t calls; /* lock operations that were asked for */
    uint64_t calls_of[PLAN_KINDS]; /* by the kind of their lock */
    uint64_t granted;
    int64_t simulated_us;
    unsigned troubles[TROUBLES]; /* how often each was done */
    unsigned effects[EFFECTS];   /* how often each happened */
};

/* play_is_alike - do two plays fail by one property, in one way? */
bool play_is_alike(const struct play_result *a, const struct play_result *b);

/* play_show_wire - from now on histories have comments: each command of each
 *                  client, and what became of it. */
void play_show_wire(bool shows);

/* play - carries out the plan, writes the history to `history` (NULL: to nobody
 *        but the judge), and fills in the result. The same plan gives the same
 *        history, byte for byte. */
void play(const struct plan *plan, FILE *history, struct play_result *result);

#endif
