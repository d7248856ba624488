/* Candidates of elections, as owners of the lock that they stand for. Standing is an
 * acquire that waits; being deposed is a loss, after which it stands again; leaving is a
 * release, or the end of the wait. */
#ifndef SIM_CANDIDATES_H
#define SIM_CANDIDATES_H

#include "tests/sim/program_inner.h"

/* candidate_does  - of an owner that is a candidate: what an operation says. False: it is
 *                   not one, or it does the same as other owners.
 * candidate_leave - leaves, now or as soon as it can. The world goes on meanwhile.
 * candidates_stop - all that are not elected leave. _leave: all do.
 * candidates_end  - likewise, at once, before the client is freed; in a call that may
 *                   block. */
bool candidate_does(struct program *p, struct owner *o, const struct plan_op *op);
void candidate_leave(struct owner *o);
void candidates_stop(struct program *p);
void candidates_leave(struct program *p);
void candidates_end(struct program *p);

#endif
