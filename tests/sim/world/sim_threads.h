/* Threads in the simulated world: one runs at a time, and a seed decides which.
 *
 * In a program that links sim_threads.c, the library's calls of pthread_mutex_*,
 * pthread_cond_*, sem_* and pthread_join lead here (by the linker's --wrap), and
 * hf_thread_start creates a thread of this kind. Each thread is a fiber. Between two of
 * these calls a thread is not interrupted; in each of them, and in the poller, another
 * thread may run. Unprotected reads and writes are therefore found only if they are
 * separated by such a call. (make check SANITIZE=thread finds the others.)
 *
 * THREADS-1  The seed decides which thread runs next, which of several threads a signal
 *            wakes, and whether a condition wakes a thread without a signal.
 * THREADS-2  Time passes when no thread can run. While one can, only events of the next
 *            `stall_us` may happen before it runs: so long may a thread be kept from running.
 * THREADS-3  A mutex that another thread owns is not released, destroyed or waited with,
 *            and a semaphore is not posted after it was destroyed: this ends the program. */
#ifndef SIM_THREADS_H
#define SIM_THREADS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct process;
struct world;

#define THREADS_MAX 16

/* How a run is scheduled. */
struct threads_options {
    uint64_t seed;
    int64_t stall_us;           /* THREADS-2 */
    int64_t stay;               /* a thread that may go on does so in stay of stay + 1 cases */
    FILE *story;                /* receives a line for each call; NULL: none */
};

/* threads_begin - no thread exists yet. `process` is the one whose code they run.
 * threads_end   - all threads are over.
 * threads_start - starts a thread, called `name` in the story. From any thread, or before
 *                 threads_run. Returns its number, from 0.
 * threads_run   - runs threads and the world until all threads are over. False: this time
 *                 has passed, nothing will ever happen, or time stands still although
 *                 threads run.
 * threads_watch - `fn` is called after each step, by no thread.
 * threads_list  - writes who waits for what, in one line. */
void threads_begin(struct world *world, struct process *process,
                   const struct threads_options *options);
void threads_end(void);
int threads_start(const char *name, void (*run)(void *ctx), void *ctx);
bool threads_run(int64_t until_us);
void threads_watch(void (*fn)(void));
void threads_list(char *dst, size_t room);

/* By a thread:
 * threads_sleep - for this time.
 * threads_join  - until that thread is over.
 * threads_tell  - writes a line to the story, with the time and the thread's name. */
void threads_sleep(int64_t us);
void threads_join(int number);
void threads_tell(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
