/* What an inspection may report (P12g, cause.h). Private to the judge. */
#ifndef CHECK_SIGHT_H
#define CHECK_SIGHT_H

#include "tests/judge/state.h"

/* sight_begin - the call is asked: notes what servers have.
 * sight_add   - the lock has changed: for each inspection under way.
 * sight_end   - the call has ended well: is what it reports among that?
 * sight_free  - forgets what was noted. */
void sight_begin(const struct judge *j, struct ask *ask);
void sight_add(const struct judge *j, struct lock *lock);
void sight_end(struct judge *j, struct ask *ask, const struct history_event *e);
void sight_free(struct ask *ask);

#endif
