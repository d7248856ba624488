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
