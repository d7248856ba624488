/* Faults: how each is done to the world, and undone. */
#ifndef SIM_TROUBLE_H
#define SIM_TROUBLE_H

#include "tests/sim/site.h"

/* trouble_arm - every fault of the plan will be done at its time, and ends by
 *               itself. The memory is the caller's, until the world is freed:
 *               one for each fault.
 * trouble_tell - its line in the history.
 * trouble_tell_of - likewise, for another lock than the one that the plan names.
 * trouble_end_us - when the last of them is over. */
struct trouble {
    struct sim *sim;
    const struct plan_fault *fault;
    struct event event, again;
    struct server *old; /* that is replaced; where a slot goes; NULL */
    bool is_on;
    bool is_aside; /* it touches nobody */
    bool is_told_over; /* long after that, it touches somebody again */
};
void trouble_arm(struct sim *sim, struct trouble troubles[PLAN_FAULTS_MAX]);
void trouble_tell(struct trouble *t, enum history_state state);
void trouble_tell_of(const struct trouble *t, enum history_state state,
                     int64_t lock);
int64_t trouble_end_us(const struct plan *plan);

#endif
