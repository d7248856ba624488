/* Code that stops in the middle and goes on later, on a stack of its own.
 * Private to this folder. One thread; no fiber starts another one. */
#ifndef SIM_FIBER_H
#define SIM_FIBER_H

#include <stdbool.h>

struct fiber;

/* fiber_start  - runs `fn` until it returns or parks.
 * fiber_resume - a parked one, likewise.
 * fiber_park   - by the code of a fiber: the caller of its start or resume goes on.
 * fiber_now    - whose code runs; NULL: of none. */
void fiber_start(void (*fn)(void *ctx), void *ctx);
void fiber_resume(struct fiber *fiber);
void fiber_park(void);
struct fiber *fiber_now(void);

/* fiber_free_spares - gives back the stacks that were kept. */
void fiber_free_spares(void);

#endif
