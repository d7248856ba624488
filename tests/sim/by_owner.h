/* Holds of clients that have died, or of other programs, which a program renews and
 * releases by their owners' texts (lock/by_owner.h). */
#ifndef SIM_BY_OWNER_H
#define SIM_BY_OWNER_H

#include "tests/sim/program_inner.h"

/* left_note     - what a client holds when it is freed.
 * left_free     - with the run.
 * by_owner_does - what an operation says. False: it is another verb. */
void left_note(struct program *p);
void left_free(struct sim *sim);
bool by_owner_does(struct program *p, struct owner *o, const struct plan_op *op);

#endif
