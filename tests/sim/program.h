/* A program of a run: a process with a client, which does what operations say
 * and writes down what it asked, what it was told, and what it may believe. */
#ifndef SIM_PROGRAM_H
#define SIM_PROGRAM_H

#include "tests/sim/sim.h"

struct owner;

/* program_new     - with a client. program_free: when the run is over.
 * program_uuid    - of its first client.
 * program_can_do  - not while it is suspended; and it closes one client at a
 *                   time.
 * program_do      - one operation.
 * program_watch   - writes down what is believed, if that has changed, when a turn
 *                   ends.
 * program_set_all - makes each semaphore that there is not.
 * program_probe   - asks for each lock once, as an owner of its own.
 * program_settle  - each hold is entered and left once more: lock.h says that
 *                   the server's count is right then.
 * program_stop_waiting - cancels what waits.
 * program_count   - writes down what is held.
 * program_give_up - cancels what waits, releases what is held.
 * program_is_calling - a call is under way.
 * program_is_idle - none is, and nothing is held. */
struct program *program_new(struct sim *sim, int64_t index);
void program_free(struct program *p);
bool program_can_do(const struct program *p, const struct plan_op *op);
void program_do(struct program *p, const struct plan_op *op);
void program_watch(struct program *p);
void program_set_all(struct program *p);
void program_probe(struct program *p);
void program_settle(struct program *p);
void program_stop_waiting(struct program *p);
void program_count(struct program *p);
void program_give_up(struct program *p);
bool program_is_calling(const struct program *p);
bool program_is_idle(const struct program *p);

/* program_sim, _process - what it belongs to, what it runs in.
 * program_event  - a line of its history.
 * program_master - the number of the server that its client takes for this lock's
 *                  master; 0: it knows of none; HISTORY_NONE: there is but one.
 * program_beside - calls of this owner's number that are under way on the same
 *                  name.
 * program_asks_within - so soon it will acquire that name again. */
struct sim *program_sim(const struct program *p);
const char *program_uuid(const struct program *p);
struct process *program_process(const struct program *p);
struct history_event program_event(const struct program *p,
                                   enum history_what what);
int64_t program_master(const struct program *p, const struct hf_lock *lock);
int64_t program_beside(const struct program *p, const struct owner *o);
bool program_asks_within(const struct program *p, const struct owner *o,
                         int64_t ms);

/* program_suspend   - for so long.
 * program_set_rate  - of its clock; if that is beyond what is assumed, for so
 *                     long, else for good.
 * program_kill      - as by kill -9; so much later it begins anew, with another client.
 * program_stall     - it is stopped for so long before its next write; or when its next
 *                     callback returns.
 * program_stall_callback - called there.
 * program_unstall   - a stop that has not come yet does not come.
 * program_starve    - its n-th allocation from now fails. program_feed: none does. */
void program_suspend(struct program *p, int64_t for_ms);
void program_set_rate(struct program *p, int64_t ppm, int64_t for_ms,
                      bool is_beyond);
void program_kill(struct program *p, int64_t for_ms);
void program_stall(struct program *p, int64_t for_ms, bool in_callback);
void program_stall_callback(struct program *p);
void program_unstall(struct program *p);
void program_starve(struct program *p, int64_t nth);
void program_feed(struct program *p);

#endif
