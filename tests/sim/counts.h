/* Semaphores and latches of programs: which call of the library is which. Each
 * function begins a call, whose status comes to `done` with `c`, unless the function
 * itself fails. */
#ifndef SIM_COUNTS_H
#define SIM_COUNTS_H

#include "tests/sim/call.h"

/* count_open - a handle, as a lock's.
 * count_take - takes c->n permits, or awaits the latch.
 * count_give - adds n, or counts down.
 * count_add  - adds n, if the semaphore exists: c->exists.
 * count_set  - makes it, with n.
 * count_reduce - removes c->n permits, if the semaphore exists: c->exists.
 * count_drain - takes all that are available: c->value.
 * count_delete - deletes it: c->was_deleted.
 * count_look - how many there are: c->value. Of a semaphore also whether there is one. */
struct hf_lock *count_open(struct hf_client *client, int64_t family,
                           const char *name);
hf_status count_take(struct owner *o, struct call *c, hf_done *done);
hf_status count_give(struct owner *o, struct call *c, int64_t n, hf_done *done);
hf_status count_add(struct owner *o, struct call *c, int64_t n, hf_done *done);
hf_status count_set(struct owner *o, struct call *c, int64_t n, hf_done *done);
hf_status count_reduce(struct owner *o, struct call *c, hf_done *done);
hf_status count_drain(struct owner *o, struct call *c, hf_done *done);
hf_status count_delete(struct owner *o, struct call *c, hf_done *done);
hf_status count_look(struct owner *o, struct call *c, hf_done *done);

#endif
