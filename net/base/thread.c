/* Starts threads. See thread.h. */
/* Tests: tests/test_net_loop_thread.c, tests/test_net_resolve.c. */
#include "net/base/thread.h"

int hf_thread_start(pthread_t *thread, void *(*run)(void *), void *arg, sigset_t *before)
{
    sigset_t all, mask;
    int error;

    if (!before)
        before = &mask;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, before);
    error = pthread_create(thread, NULL, run, arg);
    (void)pthread_sigmask(SIG_SETMASK, before, NULL);
    return error;
}

struct timespec hf_thread_deadline(int64_t ms)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_sec += (time_t)(ms / 1000);
    t.tv_nsec += (long)(ms % 1000) * 1000000;
    if (t.tv_nsec >= 1000000000) {
        t.tv_sec++;
        t.tv_nsec -= 1000000000;
    }
    return t;
}
