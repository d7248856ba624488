/* Faults: how each is done to the world, and undone. */
#ifndef SIM_FAULT_H
#define SIM_FAULT_H

#include "tests/sim/site.h"

/* faults_arm - every fault of the plan will be done at its time, and ends by
 *               itself. The memory is the caller's, until the world is freed:
 *               one for each fault.
 * fault_write - its line in the history.
 * fault_write_for - likewise, for another lock than the one that the plan names.
 * faults_end_us - when the last of them is over. */
struct fault {
    struct sim *sim;
    const struct plan_fault *planned;
    struct event event, again;
    struct server *old; /* that is replaced; where a slot goes; NULL */
    bool is_on;
    bool is_aside; /* it touches nobody */
    bool is_end_written; /* long after that, it touches somebody again */
};
void faults_arm(struct sim *sim, struct fault faults[PLAN_FAULTS_MAX]);
void fault_write(struct fault *f, enum history_state state);
void fault_write_for(const struct fault *f, enum history_state state,
                     int64_t lock);
int64_t faults_end_us(const struct plan *plan);

#endif
