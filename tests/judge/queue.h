/* Queues of fair locks: what their lines change. Private to the judge. */
#ifndef CHECK_QUEUE_H
#define CHECK_QUEUE_H

#include "tests/judge/state.h"

/* on_wait, on_queued, on_head, on_place - take in such a line.
 * queue_freed - an owner has given its hold up, or lost it: its calls that stood in
 *             the queue meanwhile enter that hold, and lose their places. */
void on_wait(struct judge *j, const struct history_event *e);
void on_queued(struct judge *j, const struct history_event *e);
void on_head(struct judge *j, const struct history_event *e);
void on_place(struct judge *j, const struct history_event *e);
void queue_freed(const struct hold *hold);

#endif
