/* Kinds of faults that have files of their own. Private to kind*.c. */
#ifndef SIM_FAULT_KINDS_H
#define SIM_FAULT_KINDS_H

#include "tests/sim/fault.h"

/* Each begins its fault if f->is_on, otherwise ends it (fault_server.c). */
void fault_deny(struct fault *f);
void fault_password(struct fault *f);
void fault_refuse_writes(struct fault *f);
void fault_evict(struct fault *f);
void fault_close_some(struct fault *f);
void fault_demote(struct fault *f);
void fault_power(struct fault *f);
void fault_rotate(struct fault *f);
void fault_switchover(struct fault *f);
void fault_proxy(struct fault *f);

/* The same (disagree.c). */
void fault_disagree(struct fault *f);

/* The same (names.c). */
void fault_names(struct fault *f);

#endif
