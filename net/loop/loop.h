/* The loop, for what is built on it: time, tasks, turn hooks and blocked
 * callers. What a user of the library drives it by is in net.h. */
#ifndef HF_LOOP_H
#define HF_LOOP_H

#include <semaphore.h>

#include "net/net.h"

/* hf_loop_mem        - the allocator that the loop was made with.
 * hf_loop_has_thread - a background thread drives it. */
const struct hf_mem *hf_loop_mem(const struct hf_loop *loop);
bool hf_loop_has_thread(const struct hf_loop *loop);

/* hf_loop_forked - are we in a child of the process that made the loop? Then
 * all of it is the parent's. What would do something returns HF_E_FORKED, or
 * does nothing; hf_loop_timeout is -1, and hf_loop_wait returns at once.
 * Nothing is written to the parent's sockets, its poller is not touched. What
 * is left to do is to free, which gives the child's copy of memory and
 * descriptors back. No lock needed. Costs a look into memory (Linux 4.14; else
 * getpid). */
bool hf_loop_forked(const struct hf_loop *loop);

/* hf_loop_timers - returns how many timers are armed; *next_ms is when the loop looks at
 *   them next, HF_NEVER if there is none. [locked] */
size_t hf_loop_timers(const struct hf_loop *loop, int64_t *next_ms);

/* hf_loop_now, hf_loop_now_us - the clock, as it was when either was first
 *   called under the lock that is held: one reading serves a whole turn.
 *   [locked]
 * hf_loop_serial - a number that it has not given before; from 1. [locked]
 * hf_loop_hash - by its own random key, for tables. Any thread. */
int64_t hf_loop_now(struct hf_loop *loop);
int64_t hf_loop_now_us(struct hf_loop *loop);
uint64_t hf_loop_serial(struct hf_loop *loop);
uint32_t hf_loop_hash(const struct hf_loop *loop, const void *ptr, size_t len);

/* A callback of the user's that is to be made once this turn is handled: by the
 * background thread, or by a thread in hf_loop_dispatch, never by a blocked
 * caller. In order, one at a time, each once; one that is posted again before
 * it ran runs once. `run` is called [locked], and gives the lock up around the
 * callback, having copied what it needs: the task's memory may be freed
 * meanwhile. */
struct hf_task {
    struct hf_list node;
    void (*run)(struct hf_task *task);
};

/* hf_task_init         - not posted.
 * hf_loop_post         - behind all that are posted. [locked]
 * hf_loop_post_first   - before all that were not posted by this. [locked]
 * hf_loop_unpost       - takes it back; one that is not posted is left alone.
 *                        [locked]
 * hf_loop_finish_tasks - waits until all that is posted has been run: by the
 *                        background thread; without one it does so itself. Not
 *                        from a task. [locked]
 * hf_loop_runs_tasks_here - is the calling thread in one of its tasks? [locked] */
void hf_task_init(struct hf_task *task, void (*run)(struct hf_task *task));
void hf_loop_post(struct hf_loop *loop, struct hf_task *task);
void hf_loop_post_first(struct hf_loop *loop, struct hf_task *task);
void hf_loop_unpost(struct hf_loop *loop, struct hf_task *task);
void hf_loop_finish_tasks(struct hf_loop *loop);
bool hf_loop_runs_tasks_here(const struct hf_loop *loop);

/* A turn hook is called [locked] at the end of each turn in which it was
 * requested, before output is flushed: for work that is done in batches. */
struct hf_turn_hook {
    struct hf_list node;
    void (*end)(struct hf_turn_hook *turn);
};

/* hf_turn_hook_init         - not requested.
 * hf_loop_at_turn_end  - requests it, once for this turn. [locked]
 * hf_loop_forget_turn  - takes the request back, if there is one. [locked] */
void hf_turn_hook_init(struct hf_turn_hook *turn,
                       void (*end)(struct hf_turn_hook *turn));
void hf_loop_at_turn_end(struct hf_loop *loop, struct hf_turn_hook *turn);
void hf_loop_forget_turn(struct hf_loop *loop, struct hf_turn_hook *turn);

/* A blocked caller. Memory of the caller's stack.
 * hf_loop_wait - drives the loop, or sleeps while another does, until
 *                hf_waiter_wake was called. [locked] when called; the lock is
 *                free when it returns.
 * hf_waiter_wake - any time, also before the wait. [locked] */
struct hf_waiter {
    struct hf_list node;
    struct hf_loop *loop;
    sem_t post;
    bool is_woken;
    bool is_asleep;
    bool is_offered_seat;
};
void hf_waiter_init(struct hf_waiter *w, struct hf_loop *loop);
void hf_loop_wait(struct hf_waiter *w);
void hf_waiter_wake(struct hf_waiter *w);

/* hf_loop_retain_driver - somebody relies on callbacks, not on a blocked caller: while
 * attended (a counter), the background thread drives whenever nobody else does.
 * Otherwise it leaves the loop alone for a moment after each blocked caller, so
 * that a lone caller's write and read cost no switch of threads.
 * hf_loop_release_driver - one of them relies on it no more. Both [locked] */
void hf_loop_retain_driver(struct hf_loop *loop);
void hf_loop_release_driver(struct hf_loop *loop);

/* hf_loop_quiesce - waits until no other thread drives, and keeps the seat;
 * hf_loop_resume gives it back. For taking things apart. [locked] */
void hf_loop_quiesce(struct hf_loop *loop);
void hf_loop_resume(struct hf_loop *loop);

#endif
