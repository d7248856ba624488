/* The history of a run, and what the judge (tests/judge) says of it. */
#ifndef CHAOS_VERDICT_H
#define CHAOS_VERDICT_H

#include "tests/judge/judge.h"
#include "tests/soak/chaos_model.h"
#include "tests/soak/chaos_run.h"

#define VERDICT_PROPERTIES (1 + HISTORY_PROPERTIES)

struct verdict {
    struct judge_stats stats;
    struct chaos_model_counts model;
    size_t violations;
    size_t violations_of[VERDICT_PROPERTIES];       /* of those kept, by number */
};

/* verdict_of - after the end of all workers and watches: writes the history to
 *              "history" in the run's folder, and judges it. Says on stdout what is
 *              wrong. */
struct verdict verdict_of(struct run *r);

#endif
