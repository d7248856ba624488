/* The state that loop.c (a turn: wait, handle, flush) and drive.c (which thread drives) share.
 * Private to net/. */
#ifndef HF_LOOP_INNER_H
#define HF_LOOP_INNER_H

#include <pthread.h>
#include <signal.h>

#include "net/base/hash.h"
#include "net/loop/fork.h"
#include "net/loop/wheel.h"
#include "net/net.h"
#include "net/loop/poller.h"
#include "net/loop/spin.h"

#define NOBODY_SLEEPS INT64_MIN

struct hf_loop {
    /* Set once. */
    const struct hf_mem *mem;
    struct hf_fork_mark fork_mark;
    struct hf_hash_key hash_key;
    pthread_mutex_t mutex;
    bool is_locked;               /* with HF_ASSERTS: by `lock_holder` */
    pthread_t lock_holder;
    bool has_thread;
    pthread_t thread;
    sigset_t creator_signal_mask; /* signals that the thread's maker blocked */

    /* Under `mutex`: the time, if it was read since the lock was taken. */
    int64_t now_us;
    int64_t now_ms;
    bool is_now_known;
    uint64_t last_serial;         /* the last one that was returned */

    /* Under `mutex`: watched descriptors, timers and tasks. */
    struct hf_poller poller;
    struct hf_wheel wheel;
    struct hf_watched {
        struct hf_io *io;         /* NULL: free */
        uint32_t generation;      /* shows that an event belongs to a former holder */
    } *watched;
    uint32_t watched_capacity;
    struct hf_list posted_tasks;
    struct hf_list urgent_tasks;  /* before all others */
    struct hf_list turn_hooks;
    bool is_in_turn;
    bool is_running_tasks;
    pthread_t task_runner;        /* valid while is_running_tasks */
    pthread_cond_t tasks_are_done;
    struct hf_waiter *task_waiter; /* a blocked caller that runs tasks, or NULL (DRIVER-9) */

    /* Under `mutex`: waking a driver that sleeps in the poller. */
    int wake_pipe[2];
    struct hf_io wake_io;
    bool is_wake_sent;
    int64_t driver_sleeps_until_ms; /* NOBODY_SLEEPS, or when it wakes by itself */
    int64_t outer_timeout_until_ms; /* what hf_loop_timeout returned, until the next
                                       hf_loop_dispatch; else NOBODY_SLEEPS */

    /* Under `mutex`: which thread drives (drive.c). */
    bool has_driver;
    bool does_driver_run_tasks;         /* it is not a blocked caller */
    bool is_closing;
    bool is_background_paused;
    int64_t background_rests_until_ms;  /* NOBODY_SLEEPS, or when the background thread ends its
                                           rest */
    bool is_timer_due_in_rest;          /* a timer was armed for a time before that */
    uint32_t driver_users_count;
    uint32_t quiescing_threads;
    uint32_t dispatching_threads;       /* waiting in hf_loop_dispatch to drive */
    struct hf_spin spin;
    int64_t last_wait_ended_us;         /* end of the last wait; 0: not measured */
    uint32_t callers_woken;             /* blocked callers that were woken; it wraps */
    int64_t last_caller_ms;             /* when a blocked caller last came or went */
    struct hf_list sleeping_waiters;    /* blocked callers, longest waiting first */
    struct hf_list woken_waiters;       /* posted when the lock is released */
    pthread_cond_t driver_role_is_free; /* for threads that quiesce */
    pthread_cond_t driver_role_is_offered; /* for threads that dispatch */
    pthread_cond_t background_wake; /* for the background thread */

    struct hf_loop_stats stats;
};

/* hf_turn_run - takes one turn: flushes, waits until `until_ms` at most, handles events and
 * timers, and flushes. The driver calls it. A blocked caller may poll before it
 * sleeps (spin.h), which delays a timer by SPIN_MAX_US at most. [locked] */
void hf_turn_run(struct hf_loop *loop, int64_t until_ms);

/* hf_turn_flush - does the work that was deferred to the end of the turn. [locked] */
void hf_turn_flush(struct hf_loop *loop);

/* hf_tasks_run     - runs the user's callbacks, in the background thread or in the thread that
 *                    dispatches (DRIVER-9). Does nothing while another thread runs some. [locked]
 * hf_tasks_are_due - returns whether hf_tasks_run has work. [locked] */
void hf_tasks_run(struct hf_loop *loop);
static inline bool hf_tasks_are_due(const struct hf_loop *loop)
{
    return !loop->is_running_tasks && (!hf_list_is_empty(&loop->posted_tasks) ||
                                       !hf_list_is_empty(&loop->urgent_tasks));
}

/* hf_wake_task_runner - wakes the thread that runs tasks, because there are some. In drive.c.
 * [locked] */
void hf_wake_task_runner(struct hf_loop *loop);

/* hf_shorten_background_rest - ends the rest of the background thread earlier, because a timer is
 *                   due before (DRIVER-4). In drive.c. [locked]
 * hf_loop_timer_armed   - does this if a timer for `due_ms` needs it. [locked] */
void hf_shorten_background_rest(struct hf_loop *loop);
static inline void hf_loop_timer_armed(struct hf_loop *loop, int64_t due_ms)
{
    if (due_ms < loop->background_rests_until_ms)
        hf_shorten_background_rest(loop);
}

/* hf_wake_driver - wakes the thread that sleeps in the poller, so that it checks again.
 *                  [locked]
 * hf_wake_outer  - wakes an outer event loop if it would sleep too long. [locked] */
void hf_wake_driver(struct hf_loop *loop);
void hf_wake_outer(struct hf_loop *loop);

/* hf_note_locker   - notes that this thread has the lock.
 * hf_note_unlocked - notes that no thread has it. Both are for hf_loop_is_locked, and
 *                    [locked]. */
#ifdef HF_ASSERTS
static inline void hf_note_locker(struct hf_loop *loop)
{
    loop->lock_holder = pthread_self();
    loop->is_locked = true;
}

static inline void hf_note_unlocked(struct hf_loop *loop)
{
    loop->is_locked = false;
}
#else
static inline void hf_note_locker(struct hf_loop *loop)
{
    (void)loop;
}

static inline void hf_note_unlocked(struct hf_loop *loop)
{
    (void)loop;
}
#endif

/* hf_note_relocked - notes that the lock was taken again, so the time must be read again.
 * [locked] */
static inline void hf_note_relocked(struct hf_loop *loop)
{
    hf_note_locker(loop);
    loop->is_now_known = false;
}

/* hf_unlock_and_post - releases the lock, then posts the sleepers in `roused`.
 * hf_loop_wait_condition         - waits for a condition of the loop's mutex. [locked] */
void hf_unlock_and_post(struct hf_loop *loop);
void hf_loop_wait_condition(struct hf_loop *loop, pthread_cond_t *condition);

/* In drive.c:
 * hf_drive_init  - initializes the conditions.
 * hf_drive_start - starts the background thread.
 * hf_drive_stop  - ends the background thread.
 * hf_drive_fini  - destroys the conditions. */
hf_status hf_drive_init(struct hf_loop *loop) HF_MUST_CHECK;
hf_status hf_drive_start(struct hf_loop *loop) HF_MUST_CHECK;
void hf_drive_stop(struct hf_loop *loop);
void hf_drive_fini(struct hf_loop *loop);

#endif
