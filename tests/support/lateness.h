/* How late this machine is: time bounds that a busy machine may stretch.
 *
 * A probe, a process of its own, sleeps 10 ms again and again and notes by how
 * much each sleep was longer. suite_run starts it before the tests and ends it
 * after them. A test with a time bound adds the delay that the probe measured in
 * the same window, so the bound can be tight and still holds beside other load.
 * Threads: any. */
#ifndef TEST_LATENESS_H
#define TEST_LATENESS_H

#include <check.h>
#include <stdint.h>
#include <sys/types.h>

#include "tests/support/local.h"

/* lateness_start - starts the probe and returns its pid. Without it (no memory, no
 *                  process) it returns 0, and the machine counts as punctual.
 * lateness_stop  - ends it. */
pid_t lateness_start(void);
void lateness_stop(void);

/* lateness_ms - the delays that the probe measured since from_ms (the clock of
 *               local_now_ms), in milliseconds, times LATENESS_HOPS. Windows of
 *               more than two minutes count as their last two. */
int64_t lateness_ms(int64_t from_ms);

/* A call crosses several processes, one after the other: client, server, proxy,
 * and the thread that waits. Each may wait for a processor as long as the probe. */
#define LATENESS_HOPS 4

/* Fails the test unless less than bound_ms, and what the machine was late, has
 * passed since from_ms. */
#define ck_assert_within(from_ms, bound_ms)                                    \
    lateness_ck_within((from_ms), (bound_ms), #bound_ms, __FILE__, __LINE__)

static inline void lateness_ck_within(int64_t from_ms, int64_t bound_ms,
                                      const char *bound, const char *file,
                                      int line)
{
    int64_t took_ms = local_now_ms() - from_ms;
    int64_t late_ms = lateness_ms(from_ms);

    ck_assert_msg(took_ms < bound_ms + late_ms,
                  "%s:%d: took %lld ms, not less than %s (%lld ms) and the "
                  "machine's delay of %lld ms",
                  file, line, (long long)took_ms, bound, (long long)bound_ms,
                  (long long)late_ms);
}

#endif
