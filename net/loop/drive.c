/* Which thread takes the turns of the loop: the driver.
 *
 * DRIVER-1  At most one thread drives (has_driver), and only this thread waits in the poller. The
 *           mutex is free while it waits and while it runs tasks. While it runs tasks it does not
 *           drive, so a callback may make a blocking call. (Which threads run tasks: DRIVER-9.)
 * DRIVER-2  A blocked caller drives if no other thread does. Otherwise it sleeps until it has its
 *           reply or is offered to drive.
 * DRIVER-3  A thread that stops driving offers it to the caller that has slept longest, otherwise
 *           to a thread in hf_loop_dispatch, otherwise to the background thread if it is needed.
 * DRIVER-4  The background thread does not drive for BACKGROUND_REST_MS after a blocked caller,
 *           unless the loop is attended or a timer is due: a single caller then needs a write and
 *           a read, and no switch of threads. A timer that is armed for a time before the rest ends
 *           shortens the rest: at once if no thread drives, otherwise when the driver stops.
 * DRIVER-5  A sleeping thread is posted after the mutex was released, and if it has its reply it
 *           does not lock the mutex again: it would only wait for the driver.
 * DRIVER-6  While another thread drives for longer than BACKGROUND_REST_MS, the background thread
 *           dozes; it is called when that thread stops driving.
 * DRIVER-7  A blocked caller that drives may poll for replies before it sleeps, if that is cheaper
 *           (spin.h). The background thread never does: an idle client uses no processor time.
 * DRIVER-8  An outer event loop sleeps for the time that hf_loop_timeout returned. A thread that
 *           stops driving and offers it to no thread wakes that loop if it would sleep too long.
 * DRIVER-9  Tasks are the user's callbacks. The background thread and threads in hf_loop_dispatch
 *           run them, whether they drive or not. A blocked caller never does: it may hold a mutex
 *           that the callback locks, and it has a deadline. While a blocked caller drives, each
 *           post calls a thread that runs them. hf_client_close is different: its contract says
 *           that it runs callbacks. Its wait ends for them (task_waiter).
 * DRIVER-10 A callback may fork. In the child no thread drives: the background thread, if the child
 *           has it, ends when the callback returns, and other calls return. That thread blocks no
 *           signals there.
 *
 * Source: performance, 6. */
/* Tests: tests/test_net_loop_driver.c, tests/test_net_loop_tasks.c,
 *        tests/test_net_loop_thread.c, tests/sim/test_threads.c. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "net/base/thread.h"
#include "net/base/assert.h"
#include "net/loop/loop.h"
#include "net/loop/loop_inner.h"

/* DRIVER-4. Longer than a round trip and the work between two calls, so that a caller that
 * sends one request after another remains the driver; short beside any timeout. */
#define BACKGROUND_REST_MS 20

/* ---- the driver ---- */

static bool needs_background_thread(const struct hf_loop *loop)
{
    return loop->driver_users_count > 0 || loop->is_background_paused ||
           hf_tasks_are_due(loop);
}

/* DRIVER-4. True: the thread in the background must look again. */
static bool is_timer_due_before_rest_ends(struct hf_loop *loop)
{
    if (!loop->is_timer_due_in_rest)
        return false;
    loop->is_timer_due_in_rest = false;
    return hf_wheel_next_ms(&loop->wheel) < loop->background_rests_until_ms;
}

void hf_shorten_background_rest(struct hf_loop *loop)
{
    HF_ASSERT(hf_loop_is_locked(loop));
    loop->is_timer_due_in_rest = true;
    if (!loop->has_driver && is_timer_due_before_rest_ends(loop))
        pthread_cond_signal(&loop->background_wake);
}

/* Wakes an outer event loop by a descriptor of its own: a blocked caller that drives
 * would consume what is written to the driver's descriptor. */
void hf_wake_task_runner(struct hf_loop *loop)
{
    HF_ASSERT(hf_loop_is_locked(loop));
    if (hf_loop_forked(loop))
        return;
    if (loop->has_driver && loop->does_driver_run_tasks)
        hf_wake_driver(loop);
    else if (loop->has_thread)
        pthread_cond_signal(&loop->background_wake);
    else if (loop->dispatching_threads > 0)
        pthread_cond_signal(&loop->driver_role_is_offered);
    else if (loop->task_waiter)
        hf_waiter_wake(loop->task_waiter);
    else if (loop->outer_timeout_until_ms != NOBODY_SLEEPS)
        hf_poller_signal_outer(&loop->poller);
}

/* Takes it from among the sleepers; the post follows with the next unlock. */
static void move_to_woken_waiters(struct hf_waiter *w)
{
    w->is_asleep = false;
    hf_list_remove(&w->node);
    hf_list_push(&w->loop->woken_waiters, &w->node);
}

static void post_woken_waiters(struct hf_list *woken_waiters)
{
    while (!hf_list_is_empty(woken_waiters)) {
        struct hf_waiter *w =
            HF_OWNER_OF(woken_waiters->next, struct hf_waiter, node);

        hf_list_remove(&w->node);
        (void)sem_post(&w->wake_semaphore); /* its memory may be gone from here on */
    }
}

void hf_unlock_and_post(struct hf_loop *loop)
{
    struct hf_list woken_waiters;

    hf_list_init(&woken_waiters);
    hf_list_join(&woken_waiters, &loop->woken_waiters);
    hf_note_unlocked(loop);
    pthread_mutex_unlock(&loop->mutex);
    post_woken_waiters(&woken_waiters);
}

void hf_loop_wait_condition(struct hf_loop *loop, pthread_cond_t *condition)
{
    post_woken_waiters(&loop->woken_waiters);
    pthread_cond_wait(condition, &loop->mutex);
    hf_note_relocked(loop);
}

static void offer_driver_role(struct hf_loop *loop)
{
    struct hf_waiter *next;

    if (loop->has_driver || hf_loop_forked(loop))
        return;
    if (loop->quiescing_threads > 0) {
        pthread_cond_broadcast(&loop->driver_role_is_free);
    } else if (!hf_list_is_empty(&loop->sleeping_waiters)) {
        loop->stats.driver_changes++;
        next = HF_OWNER_OF(loop->sleeping_waiters.next, struct hf_waiter, node);
        next->is_offered_driver_role = true;
        move_to_woken_waiters(next);
    } else if (loop->dispatching_threads > 0) {
        loop->stats.driver_changes++;
        pthread_cond_signal(&loop->driver_role_is_offered);
    } else if (loop->has_thread &&
               (needs_background_thread(loop) || is_timer_due_before_rest_ends(loop))) {
        loop->stats.driver_changes++;
        pthread_cond_signal(&loop->background_wake);
    } else {
        hf_wake_outer(loop);
    }
}

static void become_driver(struct hf_loop *loop, bool runs_tasks)
{
    loop->has_driver = true;
    loop->does_driver_run_tasks = runs_tasks;
}

/* A blocked caller takes one turn. Threads that quiesce are offered to drive,
 * because the next thing that a caller does is sleep. */
static void drive_one_turn(struct hf_loop *loop)
{
    become_driver(loop, false);
    hf_turn_run(loop, HF_NEVER);
    loop->has_driver = false;
    if (loop->quiescing_threads > 0)
        offer_driver_role(loop);
}

/* All others. Another thread is offered to drive before the tasks are run, which may take
 * their time. */
static void drive_and_run_tasks(struct hf_loop *loop, int64_t until_ms)
{
    become_driver(loop, true);
    hf_turn_run(loop, until_ms);
    loop->has_driver = false;
    if (loop->quiescing_threads > 0 || hf_tasks_are_due(loop))
        offer_driver_role(loop);
    hf_tasks_run(loop);
}

static bool is_driver_role_free(const struct hf_loop *loop)
{
    return !loop->has_driver && loop->quiescing_threads == 0;
}

/* Sleeps until it is offered to drive, there are tasks, or the time has passed. */
static void wait_for_driver_role(struct hf_loop *loop, int64_t until_ms)
{
    struct timespec until;

    post_woken_waiters(&loop->woken_waiters);
    loop->dispatching_threads++;
    if (until_ms == HF_NEVER) {
        pthread_cond_wait(&loop->driver_role_is_offered, &loop->mutex);
    } else {
        until = hf_thread_deadline(until_ms - hf_loop_now(loop));
        (void)pthread_cond_timedwait(&loop->driver_role_is_offered, &loop->mutex,
                                     &until);
    }
    hf_note_relocked(loop);
    loop->dispatching_threads--;
}

void hf_loop_dispatch(struct hf_loop *loop, int timeout_ms)
{
    int64_t until =
        timeout_ms < 0 ? HF_NEVER : hf_clock_ms() + (int64_t)timeout_ms;

    if (hf_loop_forked(loop))
        return;
    hf_loop_lock(loop);
    loop->outer_timeout_until_ms = NOBODY_SLEEPS; /* it will call again */
    hf_poller_clear_outer(&loop->poller);
    while (!is_driver_role_free(loop) && !hf_tasks_are_due(loop) &&
           hf_loop_now(loop) < until)
        wait_for_driver_role(loop, until);
    if (is_driver_role_free(loop))
        drive_and_run_tasks(loop, until);
    else
        hf_tasks_run(loop);
    offer_driver_role(loop);
    hf_loop_unlock(loop);
}

/* ---- blocked callers ---- */

void hf_waiter_init(struct hf_waiter *w, struct hf_loop *loop)
{
    hf_list_init(&w->node);
    w->loop = loop;
    w->is_woken = false;
    w->is_asleep = false;
    w->is_offered_driver_role = false;
}

void hf_waiter_wake(struct hf_waiter *w)
{
    HF_ASSERT(hf_loop_is_locked(w->loop));
    w->loop->callers_woken += !w->is_woken;
    w->is_woken = true;
    if (w->is_asleep)
        move_to_woken_waiters(w);
    else
        hf_wake_driver(w->loop); /* it may be the driver, asleep */
}

void hf_loop_set_task_waiter(struct hf_loop *loop, struct hf_waiter *w)
{
    HF_ASSERT(hf_loop_is_locked(loop) && (!w || !loop->task_waiter));
    loop->task_waiter = w;
}

/* Gives the lock up. True: it was offered to drive, and has the lock again. */
static bool sleep_until_posted(struct hf_waiter *w)
{
    struct hf_loop *loop = w->loop;
    bool is_offered;

    (void)sem_init(&w->wake_semaphore, 0, 0); /* fails only for a value out of range */
    w->is_asleep = true;
    w->is_offered_driver_role = false;
    loop->stats.sleeps++;
    hf_list_push(&loop->sleeping_waiters, &w->node);
    hf_unlock_and_post(loop);
    while (sem_wait(&w->wake_semaphore) < 0)
        continue; /* EINTR */
    (void)sem_destroy(&w->wake_semaphore);
    is_offered = w->is_offered_driver_role;
    if (is_offered)
        hf_loop_lock(loop);
    return is_offered;
}

void hf_loop_wait(struct hf_waiter *w)
{
    struct hf_loop *loop = w->loop;

    if (hf_loop_forked(loop))
        return; /* nothing will come */
    hf_turn_flush(loop);
    while (!w->is_woken && !hf_loop_forked(loop)) {
        loop->last_caller_ms = hf_loop_now(loop);
        if (is_driver_role_free(loop))
            drive_one_turn(loop);
        else if (!sleep_until_posted(w))
            return; /* DRIVER-5 */
    }
    loop->last_caller_ms = hf_loop_now(loop);
    offer_driver_role(loop);
    hf_loop_unlock(loop);
}

/* ---- quiescing ---- */

void hf_loop_quiesce(struct hf_loop *loop)
{
    HF_ASSERT(hf_loop_is_locked(loop));
    if (hf_loop_forked(loop))
        return; /* its driver is not here */
    loop->quiescing_threads++;
    while (loop->has_driver) {
        hf_wake_driver(loop);
        hf_loop_wait_condition(loop, &loop->driver_role_is_free);
    }
    loop->quiescing_threads--;
    become_driver(loop, false);
}

void hf_loop_resume(struct hf_loop *loop)
{
    HF_ASSERT(hf_loop_is_locked(loop));
    if (hf_loop_forked(loop))
        return;
    loop->has_driver = false;
    offer_driver_role(loop);
}

/* ---- the background thread ---- */

void hf_loop_retain_driver(struct hf_loop *loop)
{
    HF_ASSERT(hf_loop_is_locked(loop));
    if (loop->driver_users_count++ == 0 && loop->has_thread && !loop->has_driver &&
        !hf_loop_forked(loop))
        pthread_cond_signal(&loop->background_wake);
}

void hf_loop_release_driver(struct hf_loop *loop)
{
    HF_ASSERT(hf_loop_is_locked(loop));
    loop->driver_users_count--;
}

static void rest_background_thread(struct hf_loop *loop, int64_t ms)
{
    struct timespec until = hf_thread_deadline(ms);

    post_woken_waiters(&loop->woken_waiters);
    loop->background_rests_until_ms = hf_loop_now(loop) + ms;
    loop->is_timer_due_in_rest = false;
    (void)pthread_cond_timedwait(&loop->background_wake, &loop->mutex, &until);
    loop->background_rests_until_ms = NOBODY_SLEEPS;
    hf_note_relocked(loop);
}

static void pause_background_thread(struct hf_loop *loop)
{
    loop->is_background_paused = true;
    hf_loop_wait_condition(loop, &loop->background_wake);
    loop->is_background_paused = false;
}

/* How long the thread still lets callers drive; 0: it drives now (DRIVER-4). */
static int64_t time_left_to_callers_ms(struct hf_loop *loop)
{
    int64_t now = hf_loop_now(loop);
    int64_t left = loop->last_caller_ms + BACKGROUND_REST_MS - now;
    int64_t due = hf_wheel_next_ms(&loop->wheel);

    if (left <= 0 || needs_background_thread(loop) || due <= now)
        return 0;
    return due - now < left ? due - now : left;
}

static void run_background_step(struct hf_loop *loop)
{
    int64_t left;

    if (hf_tasks_are_due(loop)) {
        hf_tasks_run(loop); /* beside a caller that drives, if there is one */
    } else if ((left = time_left_to_callers_ms(loop)) > 0) {
        rest_background_thread(loop, left);
    } else if (!is_driver_role_free(loop)) {
        pause_background_thread(loop);
    } else {
        drive_and_run_tasks(loop, HF_NEVER);
        offer_driver_role(loop);
    }
}

/* In a background thread: the signals that its maker blocked. */
static _Thread_local const sigset_t *mask_of_maker;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

/* The only thread of a child is a copy of the one that forked (DRIVER-10). */
static void unblock_signals(void)
{
    if (mask_of_maker)
        (void)pthread_sigmask(SIG_SETMASK, mask_of_maker, NULL);
}

static void install_fork_handler(void)
{
    (void)pthread_atfork(NULL, NULL, unblock_signals);
}

static void *background_thread(void *arg)
{
    struct hf_loop *loop = arg;

    mask_of_maker = &loop->creator_signal_mask;
    hf_loop_lock(loop);
    while (!loop->is_closing && !hf_loop_forked(loop)) /* DRIVER-10 */
        run_background_step(loop);
    hf_loop_unlock(loop);
    return NULL;
}

hf_status hf_drive_init(struct hf_loop *loop)
{
    pthread_condattr_t monotonic;

    hf_list_init(&loop->sleeping_waiters);
    hf_list_init(&loop->woken_waiters);
    if (pthread_condattr_init(&monotonic) != 0)
        return HF_E_NOMEM;
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    /* Without attributes that need memory, these calls cannot fail on Linux or BSD. */
    (void)pthread_mutex_init(&loop->mutex, NULL);
    (void)pthread_cond_init(&loop->tasks_are_done, NULL);
    (void)pthread_cond_init(&loop->driver_role_is_free, NULL);
    (void)pthread_cond_init(&loop->driver_role_is_offered, &monotonic);
    (void)pthread_cond_init(&loop->background_wake, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    return HF_OK;
}

hf_status hf_drive_start(struct hf_loop *loop)
{
    int rc;

    (void)pthread_once(&fork_once, install_fork_handler);
    rc = hf_thread_start(&loop->thread, background_thread, loop, &loop->creator_signal_mask);
    errno = rc;
    if (rc != 0)
        return rc == EAGAIN ? HF_E_NOMEM : HF_E_SYSTEM;
    loop->has_thread = true;
    return HF_OK;
}

void hf_drive_stop(struct hf_loop *loop)
{
    if (!loop->has_thread)
        return;
    hf_loop_lock(loop);
    loop->is_closing = true;
    pthread_cond_signal(&loop->background_wake);
    hf_wake_driver(loop);
    hf_loop_unlock(loop);
    (void)pthread_join(loop->thread, NULL);
    loop->has_thread = false;
}

void hf_drive_fini(struct hf_loop *loop)
{
    (void)pthread_cond_destroy(&loop->background_wake);
    (void)pthread_cond_destroy(&loop->driver_role_is_offered);
    (void)pthread_cond_destroy(&loop->driver_role_is_free);
    (void)pthread_cond_destroy(&loop->tasks_are_done);
    (void)pthread_mutex_destroy(&loop->mutex);
}
