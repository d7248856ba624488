/* A slot moves to another node, key by key. */
#ifndef SIM_RESHARD_H
#define SIM_RESHARD_H

#include "tests/sim/fault.h"

/* reshard - what FAULT_MOVE_SLOT does: the slot is opened if f->is_on, and its
 * keys move one by one; otherwise what is left moves, and it is given. */
void reshard(struct fault *f);

#endif
