/* Turn kit: what the tests of the loop share, on loop_kit.h. Timers, tasks and
 * descriptors tell a letter each, into a trace; threads wait, drive and sleep.
 *
 * Threads meet at events, not after so many milliseconds; where one must be
 * asleep first, `await` looks at the loop until it is. */
#ifndef TEST_TURN_KIT_H
#define TEST_TURN_KIT_H

#include <pthread.h>

#include "net/loop/loop.h"
#include "tests/support/loop_kit.h"

#define CALLERS 8

/* Under the lock. */
extern char trace[256];         /* what happened, a letter each */
extern unsigned waits;          /* how many callers have begun to wait */

/* setup - a loop and an empty trace; setup_thread - a loop with a thread of its
 * own; setup_with - the one or the other. teardown - close_loop. */
void setup(void);
void setup_thread(void);
void setup_with(bool thread);
void teardown(void);

/* tell  - one more letter of the trace. [locked]
 * await - looks until it is so, asked under the lock; fails the test after
 *         LONG_MS. The test drives nothing meanwhile. */
void tell(char what);
void await(bool (*is_so)(void));
bool something_happened(void);
bool driver_sleeps(void);

/* A timer that wakes a waiter, or tells its letter.
 * ring - what it fires. set - [locked]. wait_ms - blocks for so long. */
struct alarm {
    struct hf_timer timer;
    struct hf_waiter *waiter;
    char letter;
    unsigned fired;
    int64_t fired_ms;
};
void ring(struct hf_timer *timer);
void set(struct alarm *a, int64_t in_ms);
void wait_ms(int64_t ms);

/* A task that tells its letter, and posts or withdraws another. [locked] */
struct job {
    struct hf_task task;
    char letter;
    struct job *posts;
    struct job *withdraws;
};
void run_job(struct hf_task *task);
void post(struct job *j, char letter);

/* Two ends of a socket, of which the loop watches one.
 * drain - what the loop calls: notes it, and reads a byte.
 * look  - a turn; what was told in it. */
#define PAIRS 200               /* more than are told at once */
struct pair {
    struct hf_io io;
    int other;                  /* the far end of io.fd */
    int events;                 /* what was told, since the last look */
    unsigned told;
};
extern struct pair pairs[PAIRS];
void drain(struct hf_io *io, int events);
void pair_open(struct pair *p, int events);
void pair_close(struct pair *p);
int look(struct pair *p);

/* A thread that waits for `sleeper`, which `alarm_of_sleeper` wakes.
 * one_waits - as the driver, or while another thread is; nobody else waits. */
extern struct hf_waiter sleeper;
extern struct alarm alarm_of_sleeper;
void *sleep_well(void *arg);
bool one_waits(void);

/* CALLERS threads. call_some_times - each blocks for 0, 1, 2, 0, .. ms. */
void start_callers(pthread_t threads[], void *(*call)(void *));
void join_callers(pthread_t threads[]);
void *call_some_times(void *arg);

#endif
