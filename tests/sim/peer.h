/* A program that behaves as Redisson and wants a lock of the plan. Source: WIRE 8.1, 8.2; fair
 * locks: WIRE 11. */
#ifndef SIM_PEER_H
#define SIM_PEER_H

#include "tests/sim/fault.h"

/* peer_enter - requests the lock. True: a fair lock; call peer_look each PEER_LOOK_US.
 * peer_look  - requests the lock again.
 * peer_leave - releases the lock, and leaves the queue. If f->planned->n is 1, it dies instead:
 *              its place in the queue remains for as long as it was there. If it cannot leave,
 *              its place remains for PEER_PLACE_MS. */
#define PEER_LOOK_US 50000
#define PEER_PLACE_MS 300000
bool peer_enter(struct fault *f);
void peer_look(struct fault *f);
void peer_leave(struct fault *f);

#endif
