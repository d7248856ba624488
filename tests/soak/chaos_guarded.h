/* Commands that "holdfast run" guards, in make chaos: one of them runs at a time, also
 * while holdfast or its guardian is stopped or killed. */
#ifndef CHAOS_GUARDED_H
#define CHAOS_GUARDED_H

#include "tests/soak/chaos_run.h"

/* guarded_start    - the runs of a round, and again those that have ended.
 * guarded_stopped  - holdfast, or its guardian, is stopped for `ms`, and continues.
 * guarded_killed   - one of them is killed.
 * guarded_end      - all runs end; nothing of them is left. */
void guarded_start(struct run *r);
void guarded_stopped(struct run *r, bool is_guardian, int64_t ms);
void guarded_killed(struct run *r, bool is_guardian);
void guarded_end(struct run *r);

#endif
