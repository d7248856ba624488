/* One scenario of a fair lock: a holder, and waiters of holdfast and of Redisson that come
 * in an order, wait, leave and die. Both sides' scripts are executed by the model of a
 * server (tests/sim/model). No random numbers.
 *
 * Checked after each script: the live waiters are in the queue, in the order in which
 * they came. Redisson's waiters alone do not keep that order (their places end after
 * five minutes), so a waiter of Redisson that loses its place while no waiter of holdfast
 * waits is taken to come anew. In the end each live waiter must have had the lock. */
#ifndef EXHAUST_FAIR_SCENARIO_H
#define EXHAUST_FAIR_SCENARIO_H

#include <stdbool.h>
#include <stdint.h>

#define SCENARIO_WAITERS_MAX 6

enum scenario_fate {
    LIVES,
    CANCELS,                  /* when the holder has had the lock for half its time */
    DIES,                     /* likewise */
    CANCELS_LATE,             /* 3 s after the first release */
    DIES_LATE,
    TIMES_OUT,                /* it waits for SCENARIO_SHORT_MS */
    WAITS_LONG,               /* for two hours: Redisson's tryLock */
    IS_FAR,                   /* no waiter: a place whose time is infinite */
    SCENARIO_FATES
};

#define SCENARIO_SHORT_MS 40000

struct scenario_waiter {
    bool is_ours;
    uint8_t fate;
};

struct scenario {
    struct scenario_waiter waiters[SCENARIO_WAITERS_MAX];
    int count;
    int64_t hold_ms;          /* the first hold */
    int64_t next_hold_ms;     /* each other one */
    int64_t spacing_ms;       /* between two arrivals */
    bool holder_is_ours;
    bool holder_dies;
};

/* scenario_run - runs it; false: a promise was broken, and the reason is printed.
 * scenario_print - one line.
 * scenario_free_ms - for how long a live waiter waited for a free lock, at most. */
bool scenario_run(const struct scenario *s);
void scenario_print(const struct scenario *s);
int64_t scenario_free_ms(void);

#endif
