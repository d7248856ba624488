/* Servers whose clock a test sets: what they take for the time of day is told to
 * them by a library that is loaded before them (server_clock.c). Between two
 * settings no time passes there. */
#ifndef TEST_ONE_CLOCK_H
#define TEST_ONE_CLOCK_H

#include <stdint.h>

#include "tests/support/server.h"

/* server_start_with_clock - as server_start; all that are started so have one
 *                           clock, the machine's until it is set.
 * server_clock_set        - Unix time in us, at once; 0: the machine's. */
struct server *server_start_with_clock(const char *const *extra_args);
void server_clock_set(int64_t unix_us);

#endif
