/* The one clock. */
/* Tests: tests/test_net_loop.c, tests/live/fault/test_lock_clock.c. */
#include "net/loop/clock.h"

#include <time.h>

#include "net/net.h"

/* Leases run on while a machine sleeps, so the clock must too. */
#ifdef CLOCK_BOOTTIME
#define LEASE_CLOCK CLOCK_BOOTTIME
#else
#define LEASE_CLOCK CLOCK_MONOTONIC
#endif

int64_t hf_clock_us(void)
{
    struct timespec t;

    (void)clock_gettime(LEASE_CLOCK, &t); /* fails only for a bad clock id */
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int64_t hf_clock_ms(void)
{
    return hf_clock_us() / 1000;
}

int64_t hf_clock_thread_us(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); /* never fails: POSIX */
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}
