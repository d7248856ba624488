/* What witness.c (holds) and witness_queue.c (queues) share. Private to these two. */
#ifndef SIM_WITNESS_INNER_H
#define SIM_WITNESS_INNER_H

#include "tests/sim/witness.h"

/* witness_owner      - who a field of a hash, or an element of a queue, belongs
 *                      to; the text is in `out`.
 * witness_queue_look - writes what a change has made of a lock's queue, if it
 *                      is of that.
 * witness_queue_promoted - the server is a master now: who is the first in each
 *                      queue. */
struct history_text witness_owner(const char *field,
                                  char out[WITNESS_HOLD_MAX]);
void witness_queue_look(struct witness *w, struct model *m, size_t lock,
                        const struct model_change *c, enum history_by by);
void witness_queue_promoted(struct witness *w, struct model *m);

#endif
