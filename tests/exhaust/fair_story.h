/* One story of a fair lock: a holder, and waiters of holdfast and of Redisson that come
 * in an order, wait, leave and die. Both sides' scripts are executed by the model of a
 * server (tests/sim/model). No random numbers.
 *
 * Checked after each script: the live waiters are in the queue, in the order in which
 * they came. Redisson's waiters alone do not keep that order (their places end after
 * five minutes), so a waiter of Redisson that loses its place while no waiter of holdfast
 * waits is taken to come anew. In the end each live waiter must have had the lock. */
#ifndef EXHAUST_FAIR_STORY_H
#define EXHAUST_FAIR_STORY_H

#include <stdbool.h>
#include <stdint.h>

#define STORY_WAITERS_MAX 6

enum story_fate {
    LIVES,
    CANCELS,                  /* when the holder has had the lock for half its time */
    DIES,                     /* likewise */
    CANCELS_LATE,             /* 3 s after the first release */
    DIES_LATE,
    TIMES_OUT,                /* it waits for STORY_SHORT_MS */
    WAITS_LONG,               /* for two hours: Redisson's tryLock */
    IS_FAR,                   /* no waiter: a place whose time is infinite */
    STORY_FATES
};

#define STORY_SHORT_MS 40000

struct story_waiter {
    bool is_ours;
    uint8_t fate;
};

struct story {
    struct story_waiter waiters[STORY_WAITERS_MAX];
    int count;
    int64_t hold_ms;          /* the first hold */
    int64_t next_hold_ms;     /* each other one */
    int64_t spacing_ms;       /* between two arrivals */
    bool holder_is_ours;
    bool holder_dies;
};

/* story_play - plays it; false: a promise was broken, and the reason is printed.
 * story_print - one line.
 * story_free_ms - for how long a live waiter waited for a free lock, at most. */
bool story_play(const struct story *s);
void story_print(const struct story *s);
int64_t story_free_ms(void);

#endif
