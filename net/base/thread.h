/* Starts threads without effects on the signals of a program. Private to net/ and cli/. */
#ifndef HF_THREAD_H
#define HF_THREAD_H

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <time.h>

/* hf_thread_start - starts a thread in which all signals are blocked: they are for the
 *   program's own threads, and SIGPIPE must not end the process.
 *
 *   before  set to the mask of the calling thread; NULL is allowed
 *
 * Returns 0 or errno. The caller joins or detaches the thread. */
int hf_thread_start(pthread_t *thread, void *(*run)(void *), void *arg, sigset_t *before);

/* hf_thread_deadline - returns the time on CLOCK_MONOTONIC after `ms` more milliseconds, for
 *   pthread_cond_timedwait. */
struct timespec hf_thread_deadline(int64_t ms);

#endif
