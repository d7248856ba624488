/* The bounds by which a run is judged, as its plan and the documentation give them. */
#ifndef SIM_BOUNDS_H
#define SIM_BOUNDS_H

#include "tests/judge/judge.h"
#include "tests/sim/plan.h"

#define BOUNDS_SETTLE_MS 30000 /* the kernel gives a silent connection up */
#define BOUNDS_WAITS 12 /* pending ones on one connection */

/* bounds_of                - the header of the plan's history.
 * bounds_is_handshake_slow - a client may never connect again. */
struct history_header bounds_of(const struct plan *plan);
bool bounds_is_handshake_slow(const struct plan_head *h);

#endif
