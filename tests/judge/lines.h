/* What each line does to the judge's state. Private to the judge. */
#ifndef CHECK_LINES_H
#define CHECK_LINES_H

#include "tests/judge/state.h"

/* on_client, on_server - takes in a line of that party.
 * on_clock             - of either. */
void on_client(struct judge *j, struct party *p, const struct history_event *e);
void on_server(struct judge *j, struct party *p, const struct history_event *e);
void on_clock(struct judge *j, struct party *p, const struct history_event *e);

/* hold_of      - the hold that a line names.
 * each_hold    - calls `visit` for each hold of all locks. Slow: after faults.
 * excuse       - from the line `at` on, if it is one, the hold's owner may believe
 *                in what is not so.
 * excuse_clock - likewise, because of clocks.
 * note_rates   - of a call that is asked, or a clock line: are the rates of its
 *                client and of its lock's server too far apart while it is under way?
 * clocks_apart - the clock line that puts the rates of the hold's client and of a
 *                server that has it, or had it last, too far apart; line 0: none
 *                does. */
struct hold *hold_of(struct judge *j, const struct history_event *e);
void each_hold(struct judge *j,
               void (*visit)(struct judge *j, struct hold *hold,
                             const struct party *party),
               const struct party *party);
void excuse(struct hold *hold, enum excuse_reason reason, struct moment at);
void excuse_clock(struct hold *hold, struct moment at);
void note_rates(const struct judge *j, struct ask *ask);
struct moment clocks_apart(struct judge *j, const struct hold *hold);

#endif
