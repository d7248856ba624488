/* What programs do with semaphores, latches and the number of expirable permits. */
#ifndef SIM_COUNTED_H
#define SIM_COUNTED_H

#include "tests/sim/call.h"
#include "tests/sim/program_inner.h"

/* counted_set       - creates it, unless it exists.
 * counted_does      - does the operation. False: it is one of a lock, or means the same there.
 * counted_give_back - releases all that was taken. */
void counted_set(struct owner *o);
bool counted_does(struct owner *o, const struct plan_op *op);
void counted_give_back(struct program *p);

#endif
