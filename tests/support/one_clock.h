/* One server (one_server.h) whose clock a test sets: what it takes for the time
 * of day is told to it by a library that is loaded before it (server_clock.c).
 * Between two settings no time passes there. */
#ifndef TEST_ONE_CLOCK_H
#define TEST_ONE_CLOCK_H

#include <stdint.h>

/* start_server_with_clock - as start_server_with; the clock is the machine's until
 *                           it is set.
 * server_clock_set        - Unix time in us, at once; 0: the machine's. */
void start_server_with_clock(const char *const *extra_args);
void server_clock_set(int64_t unix_us);

#endif
