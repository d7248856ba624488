/* The faults of a plan: causes each of them in the world, and ends it. */
#ifndef SIM_FAULT_H
#define SIM_FAULT_H

#include "tests/sim/site.h"

/* faults_arm - arms a timer for the begin and the end of each fault of the plan.
 *               `faults` is borrowed until the world is freed; each fault uses one.
 * fault_write - writes the line of the fault to the history.
 * fault_write_for - the same for another lock than the one that the plan names.
 * faults_end_us - returns when the last of the plan's faults ends. */
struct fault {
    struct sim *sim;
    const struct plan_fault *planned;
    struct event event, again;
    struct server *old; /* the replaced server, or the target of a slot; NULL: none */
    bool is_on;
    bool is_aside; /* it affects no client */
    bool is_end_written; /* long after its end, it affects a client again */
};
void faults_arm(struct sim *sim, struct fault faults[PLAN_FAULTS_MAX]);
void fault_write(struct fault *f, enum history_state state);
void fault_write_for(const struct fault *f, enum history_state state,
                     int64_t lock);
int64_t faults_end_us(const struct plan *plan);

#endif
