/* Threads that a program does not notice. Private to net/ and cli/. */
#ifndef HF_THREAD_H
#define HF_THREAD_H

#include <pthread.h>
#include <signal.h>

/* hf_thread_start - starts a thread in which all signals are blocked: they are for the
 *   program's own threads, and SIGPIPE must not end the process.
 *
 *   before  set to the mask of the calling thread; NULL is allowed
 *
 * Returns 0 or errno. The caller joins or detaches the thread. */
int hf_thread_start(pthread_t *thread, void *(*run)(void *), void *arg, sigset_t *before);

#endif
