/* A Redisson-like program that wants a lock of the plan, by the contract: WIRE 8.1,
 * 8.2, of fair locks 11. */
#ifndef SIM_PEER_H
#define SIM_PEER_H

#include "tests/sim/fault.h"

/* peer_enter - it wants the lock, and takes it if it is free. True: a fair lock, at
 *              which it looks each PEER_LOOK_US.
 * peer_look  - it asks again: it may be its turn.
 * peer_leave - it gives the lock up, and leaves the queue; if f->planned->n is 1, it
 *              has died, and its place in the queue lasts for as long as it was
 *              there; otherwise, should it fail to leave, for PEER_PLACE_MS. */
#define PEER_LOOK_US 50000
#define PEER_PLACE_MS 300000
bool peer_enter(struct fault *f);
void peer_look(struct fault *f);
void peer_leave(struct fault *f);

#endif
