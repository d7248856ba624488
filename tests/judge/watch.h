/* What time brings: calls whose lock is free (P5), and what falls due (P2, P5, P7).
 * Private to the judge. */
#ifndef CHECK_WATCH_H
#define CHECK_WATCH_H

#include "tests/judge/state.h"

/* watch_ask  - the lock of the call, or what is around it, has changed: `bound_ms`
 *              counts from now if it is free for the call only now, or if the count
 *              `restarts`.
 * watch_lock - likewise, each call of the lock.
 * watch_all  - after a fault: each call of that client, or of all (0). */
void watch_ask(struct judge *j, struct ask *ask, int64_t bound_ms,
               bool restarts);
void watch_lock(struct judge *j, struct lock *lock, int64_t bound_ms,
                bool restarts);
void watch_all(struct judge *j, uint32_t client);

/* The bounds of the header, or what stands for them. */
int64_t watch_look_ms(const struct judge *j);
int64_t watch_settle_ms(const struct judge *j);

/* watch_time - it is now later than judge.next_due_us: finds what is overdue. */
void watch_time(struct judge *j);

#endif
