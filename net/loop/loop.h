/* The loop as the other files of net/ and lock/ use it: time, tasks, turn hooks and blocked
 * callers. net.h has the calls by which a program drives it. */
#ifndef HF_LOOP_H
#define HF_LOOP_H

#include <semaphore.h>

#include "net/net.h"

/* hf_loop_mem        - returns the allocator that the loop was made with.
 * hf_loop_has_thread - returns whether the loop has a background thread. */
const struct hf_mem *hf_loop_mem(const struct hf_loop *loop);
bool hf_loop_has_thread(const struct hf_loop *loop);

/* hf_loop_forked - returns whether this process is a child of the one that made the loop.
 * Everything then belongs to the parent: calls return HF_E_FORKED or do nothing,
 * hf_loop_timeout returns -1, and hf_loop_wait returns at once. Nothing is written to the
 * parent's sockets, and its poller is not changed. A child can only free the loop, which
 * returns its copies of memory and descriptors. The call needs no lock, and costs one read of
 * memory (before Linux 4.14: getpid). */
bool hf_loop_forked(const struct hf_loop *loop);

/* hf_loop_is_locked - returns whether this thread has the loop's lock, for HF_ASSERT: a
 *   function marked [locked] asserts it. True also in a forked child. */
bool hf_loop_is_locked(const struct hf_loop *loop);

/* hf_loop_timers - returns the number of armed timers. Sets *next_ms to the time at which the
 *   loop checks them next; HF_NEVER if there is none. [locked] */
size_t hf_loop_timers(const struct hf_loop *loop, int64_t *next_ms);

/* hf_loop_now, hf_loop_now_us - return the time of the first of these calls since the lock was
 *   taken: a whole turn uses one reading of the clock. [locked]
 * hf_loop_next_serial - returns a number that it has not returned before, from 1 on. [locked]
 * hf_loop_hash   - returns a hash by the loop's own random key, for tables. Any thread. */
int64_t hf_loop_now(struct hf_loop *loop);
int64_t hf_loop_now_us(struct hf_loop *loop);
uint64_t hf_loop_next_serial(struct hf_loop *loop);
uint32_t hf_loop_hash(const struct hf_loop *loop, const void *ptr, size_t len);

/* A callback of the user that is called after this turn: by the background thread or by a
 * thread in hf_loop_dispatch, never by a blocked caller. Tasks run in order, one at a time. A
 * task that is posted again before it ran runs once. `run` is called [locked]. It copies what
 * it needs and releases the lock during the callback, because the task's memory may be freed
 * meanwhile. */
struct hf_task {
    struct hf_list node;
    void (*run)(struct hf_task *task);
};

/* hf_task_init            - sets the function of a task that is not posted.
 * hf_loop_post            - posts the task after all others. [locked]
 * hf_loop_post_first      - posts the task before all that hf_loop_post has posted. [locked]
 * hf_loop_unpost          - removes the task if it is posted. [locked]
 * hf_loop_finish_tasks    - waits until the background thread has run all posted tasks;
 *                           without such a thread, runs them. Not from a task. [locked]
 * hf_loop_runs_tasks_here - returns whether the calling thread runs a task now. [locked] */
void hf_task_init(struct hf_task *task, void (*run)(struct hf_task *task));
void hf_loop_post(struct hf_loop *loop, struct hf_task *task);
void hf_loop_post_first(struct hf_loop *loop, struct hf_task *task);
void hf_loop_unpost(struct hf_loop *loop, struct hf_task *task);
void hf_loop_finish_tasks(struct hf_loop *loop);
bool hf_loop_runs_tasks_here(const struct hf_loop *loop);

/* A function that is called [locked] at the end of each turn in which it was requested, before
 * output is flushed: for work that is done in batches. */
struct hf_turn_hook {
    struct hf_list node;
    void (*on_turn_end)(struct hf_turn_hook *turn);
};

/* hf_turn_hook_init    - sets the function of a hook that is not requested.
 * hf_loop_at_turn_end  - requests the hook, once for this turn. [locked]
 * hf_loop_cancel_turn_end  - cancels the request, if there is one. [locked] */
void hf_turn_hook_init(struct hf_turn_hook *turn,
                       void (*end)(struct hf_turn_hook *turn));
void hf_loop_at_turn_end(struct hf_loop *loop, struct hf_turn_hook *turn);
void hf_loop_cancel_turn_end(struct hf_loop *loop, struct hf_turn_hook *turn);

/* A blocked caller, in memory of its stack.
 * hf_waiter_init - prepares one wait.
 * hf_loop_wait   - drives the loop, or sleeps while another thread does, until hf_waiter_wake
 *                  was called. It is called [locked], and returns without the lock.
 * hf_waiter_wake - ends the wait, also if it has not begun. [locked]
 * hf_loop_set_task_waiter - while it is set, this wait also ends if a task is posted that no other
 *                  thread would run: its caller calls hf_loop_finish_tasks. NULL: none. [locked] */
struct hf_waiter {
    struct hf_list node;
    struct hf_loop *loop;
    sem_t wake_semaphore;
    bool is_woken;
    bool is_asleep;
    bool is_offered_driver_role;
};
void hf_waiter_init(struct hf_waiter *w, struct hf_loop *loop);
void hf_loop_wait(struct hf_waiter *w);
void hf_waiter_wake(struct hf_waiter *w);
void hf_loop_set_task_waiter(struct hf_loop *loop, struct hf_waiter *w);

/* hf_loop_retain_driver  - counts one more object that needs callbacks without a blocked
 *   caller. While there is one, the background thread drives whenever no other thread does.
 *   Otherwise it waits a moment after each blocked caller, so that a single caller needs no
 *   switch of threads. [locked]
 * hf_loop_release_driver - counts one object less. [locked] */
void hf_loop_retain_driver(struct hf_loop *loop);
void hf_loop_release_driver(struct hf_loop *loop);

/* hf_loop_quiesce - waits until no other thread drives, and drives, so that objects can
 *                   be freed. [locked]
 * hf_loop_resume  - stops driving. [locked] */
void hf_loop_quiesce(struct hf_loop *loop);
void hf_loop_resume(struct hf_loop *loop);

#endif
