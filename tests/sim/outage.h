/* Changes of semaphores and latches that are repeated, and given up (COUNT-4), in plans of
 * outages (scenario_outage.c). */
#ifndef SIM_OUTAGE_H
#define SIM_OUTAGE_H

#include "tests/sim/call.h"

/* How long a change is repeated (semaphores.md). */
#define REPEATED_MS (INT64_C(15) * 24 * 3600 * 1000)

/* outage_ended - a call has ended: counts a change of unknown outcome.
 * outage_logged - a client has written this line to its log: counts a change that was given up.
 * outage_check - at the end: the changes that were given up are those of unknown outcome, if the
 *                outage was longer than they are repeated; otherwise none. */
void outage_ended(const struct call *c, hf_status status);
void outage_logged(struct sim *sim, const char *line);
void outage_check(struct sim *sim);

#endif
