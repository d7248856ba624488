/* A program of a run: a process with a client. It executes operations, and writes its calls,
 * their results and its belief to the history. */
#ifndef SIM_PROGRAM_H
#define SIM_PROGRAM_H

#include "tests/sim/sim.h"

struct owner;

/* program_new     - creates a program with a client. program_free: at the end of the run.
 * program_uuid    - returns the UUID of its first client.
 * program_can_do  - returns whether the operation is possible now: not while the program is
 *                   suspended, nor a second close during a close.
 * program_do      - begins one operation.
 * program_watch   - called at the end of a turn: writes its beliefs that have changed.
 * program_set_all - creates each semaphore that does not exist.
 * program_probe   - requests each lock once, as a new owner.
 * program_check_writers - P6: a write hold whose release ended is not kept by its owner's read
 *                   hold, which is renewed.
 * program_settle  - re-enters and releases each hold once: lock.h promises that the server's
 *                   count is right after that.
 * program_stop_waiting - cancels all calls that wait.
 * program_count   - writes the counts of all holds.
 * program_give_up - cancels all calls that wait, and releases all holds.
 * program_is_calling - returns whether a call is pending.
 * program_is_idle - returns whether no call is pending and nothing is held. */
struct program *program_new(struct sim *sim, int64_t index);
void program_free(struct program *p);
bool program_can_do(const struct program *p, const struct plan_op *op);
void program_do(struct program *p, const struct plan_op *op);
void program_watch(struct program *p);
void program_set_all(struct program *p);
void program_probe(struct program *p);
void program_settle(struct program *p);
void program_stop_waiting(struct program *p);
void program_check_writers(struct program *p);
void program_count(struct program *p);
void program_give_up(struct program *p);
bool program_is_calling(const struct program *p);
bool program_is_idle(const struct program *p);

/* program_sim, _process - return its run and its process.
 * program_event  - returns a line of its history.
 * program_master - returns the number of the server that its client considers the master of this
 *                  lock; 0: it knows none; HISTORY_NONE: there is only one.
 * program_semaphore - returns the semaphore whose name this lock's expirable permits have; NULL:
 *                  it is another kind of lock.
 * program_beside - returns the number of pending calls on the same name with this owner's
 *                  number.
 * program_asks_within - returns whether the owner will acquire that name again within `ms`. */
struct sim *program_sim(const struct program *p);
const char *program_uuid(const struct program *p);
struct process *program_process(const struct program *p);
struct history_event program_event(const struct program *p,
                                   enum history_what what);
int64_t program_master(const struct program *p, const struct hf_lock *lock);
struct hf_semaphore *program_semaphore(const struct program *p, int64_t lock);
int64_t program_beside(const struct program *p, const struct owner *o);
bool program_asks_within(const struct program *p, const struct owner *o,
                         int64_t ms);

/* program_suspend   - stops the process for for_ms.
 * program_set_rate  - sets the rate of its clock: for for_ms if the rate is beyond the
 *                     assumption, otherwise permanently.
 * program_kill      - kill -9; after for_ms it restarts, with another client.
 * program_stall     - stops it for for_ms before its next write; or when its next callback
 *                     returns, which then calls program_stall_callback.
 * program_unstall   - cancels a stop that has not begun.
 * program_starve    - makes its n-th allocation from now fail. program_feed cancels this. */
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
