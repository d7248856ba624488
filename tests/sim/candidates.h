/* Candidates of elections, as owners of the lock of their election. A candidate that waits is a
 * pending acquire; deposition is a loss, after which it is a candidate again; leaving is a
 * release, or the end of the wait. */
#ifndef SIM_CANDIDATES_H
#define SIM_CANDIDATES_H

#include "tests/sim/program_inner.h"

/* candidate_does  - executes an operation of an owner that is a candidate. False: it is not
 *                   one, or the operation is that of other owners.
 * candidate_leave - leaves, now or as soon as it can. The world continues meanwhile.
 * candidates_stop - all candidates that are not elected leave.
 * candidates_leave - all candidates leave.
 * candidates_end  - all leave at once, before the client is freed, in a call that may block. */
bool candidate_does(struct program *p, struct owner *o, const struct plan_op *op);
void candidate_leave(struct owner *o);
void candidates_stop(struct program *p);
void candidates_leave(struct program *p);
void candidates_end(struct program *p);

#endif
