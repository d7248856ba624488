/* A slot moves to another node, key by key. */
#ifndef SIM_RESHARD_H
#define SIM_RESHARD_H

#include "tests/sim/fault.h"

/* reshard - FAULT_MOVE_SLOT: if f->is_on, begins to move the slot, and its keys move one by one;
 * otherwise moves the remaining keys, and the new node owns the slot. */
void reshard(struct fault *f);

#endif
