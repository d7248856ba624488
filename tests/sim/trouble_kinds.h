/* Kinds of faults that have files of their own. Private to trouble*.c. */
#ifndef SIM_TROUBLE_KINDS_H
#define SIM_TROUBLE_KINDS_H

#include "tests/sim/trouble.h"

/* Each begins its fault if t->is_on, otherwise ends it (trouble_server.c). */
void trouble_deny(struct trouble *t);
void trouble_password(struct trouble *t);
void trouble_refuse_writes(struct trouble *t);
void trouble_evict(struct trouble *t);
void trouble_close_some(struct trouble *t);
void trouble_demote(struct trouble *t);
void trouble_power(struct trouble *t);
void trouble_rotate(struct trouble *t);
void trouble_switchover(struct trouble *t);

#endif
