/* The trail of a search: the steps that led to the present state, to be told if a
 * promise is broken there. */
#ifndef EXHAUST_TRAIL_H
#define EXHAUST_TRAIL_H

#include <stdbool.h>
#include <stdint.h>

/* trail_push - one step more. `text` is a format for the two numbers; it is not
 *              copied.
 * trail_pop  - the last step is taken back.
 * trail_must - ends the program with the trace unless it holds. */
void trail_push(const char *text, unsigned a, unsigned b);
void trail_pop(void);
void trail_fail(const char *promise);

static inline void trail_must(bool holds, const char *promise)
{
    if (!holds)
        trail_fail(promise);
}

/* How many cases were tried, for the trace's end. */
extern uint64_t trail_cases;

#endif
