/* The loop: what one turn is. Which thread takes it: drive.c. */
/* Tests: tests/test_net_loop.c. */
#include "net/loop/loop.h"

#include <limits.h>
#include <sched.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "net/base/assert.h"
#include "net/base/mem.h"
#include "net/base/random.h"
#include "net/base/sized.h"
#include "net/loop/clock.h"
#include "net/loop/loop_inner.h"
#include "net/loop/wake_pipe.h"

/* An event's key: 16 bits of index, 16 of generation. */
#define WATCHED_MAX 65536u

/* Any callback of the user's may have forked: in the child nothing more is done. */
static bool is_forked_child(const struct hf_loop *loop)
{
    return hf_fork_mark_is_child(&loop->fork_mark);
}

/* ---- waking ---- */

static void drain_wake_pipe(struct hf_io *io, int events)
{
    struct hf_loop *loop = HF_OWNER_OF(io, struct hf_loop, wake_io);

    (void)events;
    hf_wake_pipe_drain(loop->wake_pipe);
    loop->is_wake_sent = false;
    loop->stats.wakeups++;
}

void hf_wake_driver(struct hf_loop *loop)
{
    HF_ASSERT(hf_loop_is_locked(loop));
    if (loop->is_in_turn || loop->is_wake_sent ||
        loop->driver_sleeps_until_ms == NOBODY_SLEEPS || hf_loop_forked(loop))
        return;
    loop->is_wake_sent = hf_wake_pipe_write(loop->wake_pipe);
}

static hf_status open_wake_pipe(struct hf_loop *loop)
{
    hf_status rc = hf_wake_pipe_open(loop->wake_pipe);

    if (rc < 0)
        return rc;
    loop->wake_io = (struct hf_io){
        .fd = loop->wake_pipe[0], .events = HF_READ, .ready = drain_wake_pipe};
    hf_note_locker(loop); /* no other thread has the loop yet */
    rc = hf_loop_watch(loop, &loop->wake_io);
    hf_note_unlocked(loop);
    return rc;
}

/* ---- new, free ---- */

/* Takes a half-made loop. In a forked child only memory and descriptors: its
 * mutex may be held by a thread that does not exist there. */
static void free_loop(struct hf_loop *loop)
{
    if (!hf_loop_forked(loop))
        hf_drive_fini(loop);
    hf_poller_fini(&loop->poller);
    hf_wake_pipe_close(loop->wake_pipe);
    hf_fork_mark_fini(&loop->fork_mark);
    hf_mem_free(loop->mem, loop->watched,
                loop->watched_capacity * sizeof *loop->watched);
    hf_wheel_fini(&loop->wheel);
    hf_mem_free(loop->mem, loop, sizeof *loop);
}

static hf_status init_loop(struct hf_loop *loop, bool wants_thread)
{
    hf_status rc;

    hf_list_init(&loop->posted_tasks);
    hf_list_init(&loop->urgent_tasks);
    hf_list_init(&loop->turn_hooks);
    hf_wheel_init(&loop->wheel, loop->mem, hf_clock_ms());
    hf_spin_init(&loop->spin, sysconf(_SC_NPROCESSORS_ONLN));
    if ((rc = hf_poller_init(&loop->poller, loop->mem)) < 0 ||
        (rc = open_wake_pipe(loop)) < 0)
        return rc;
    if (!hf_random_bytes(&loop->hash_key, sizeof loop->hash_key))
        return HF_E_SYSTEM;
    if (!wants_thread && (rc = hf_poller_open_outer(&loop->poller)) < 0)
        return rc;
    return wants_thread ? hf_drive_start(loop) : HF_OK;
}

static const struct hf_sized options_size = HF_SIZED(hf_loop_options, mem);

hf_status hf_loop_new(struct hf_loop **out, const struct hf_loop_options *given)
{
    struct hf_loop_options options = {.size = sizeof options};
    hf_status rc = hf_sized_read(&options, &options_size, given, NULL);
    const struct hf_mem *mem = options.mem ? options.mem : &hf_mem_libc;
    struct hf_loop *loop = rc < 0 ? NULL : hf_mem_new(mem, sizeof *loop);

    if (!loop)
        return rc < 0 ? rc : HF_E_NOMEM;
    loop->mem = mem;
    hf_fork_mark_init(&loop->fork_mark);
    loop->wake_pipe[0] = loop->wake_pipe[1] = -1;
    loop->poller.fd = loop->poller.timer_fd = -1;
    loop->poller.outer_fd = loop->poller.outer_signal_fd = -1;
    loop->poller.mem = mem;
    loop->driver_sleeps_until_ms = NOBODY_SLEEPS;
    loop->outer_timeout_until_ms = NOBODY_SLEEPS;
    loop->background_rests_until_ms = NOBODY_SLEEPS;
    if ((rc = hf_drive_init(loop)) < 0) {
        hf_fork_mark_fini(&loop->fork_mark);
        hf_mem_free(mem, loop, sizeof *loop);
        return rc;
    }
    if ((rc = init_loop(loop, options.thread)) < 0) {
        int why = errno;

        free_loop(loop);
        errno = why;
        return rc;
    }
    *out = loop;
    return HF_OK;
}

void hf_loop_free(struct hf_loop *loop)
{
    if (!loop)
        return;
    if (!hf_loop_forked(loop))
        hf_drive_stop(loop);
    free_loop(loop);
}

size_t hf_loop_timers(const struct hf_loop *loop, int64_t *next_ms)
{
    HF_ASSERT(hf_loop_is_locked(loop));
    *next_ms = hf_wheel_next_ms(&loop->wheel);
    return loop->wheel.timers_count;
}

const struct hf_mem *hf_loop_mem(const struct hf_loop *loop)
{
    return loop->mem;
}

bool hf_loop_has_thread(const struct hf_loop *loop)
{
    return loop->has_thread;
}

bool hf_loop_forked(const struct hf_loop *loop)
{
    return hf_fork_mark_is_child(&loop->fork_mark);
}

/* ---- descriptors ---- */

static uint32_t find_free_watch_slot(const struct hf_loop *loop)
{
    uint32_t i = 0;

    while (i < loop->watched_capacity && loop->watched[i].io)
        i++;
    return i;
}

static uint32_t key_of_watch_slot(const struct hf_loop *loop, uint32_t index)
{
    return index | loop->watched[index].generation << 16;
}

hf_status hf_loop_watch(struct hf_loop *loop, struct hf_io *io)
{
    uint32_t old = loop->watched_capacity;
    uint32_t index = find_free_watch_slot(loop);
    hf_status rc;

    HF_ASSERT(hf_loop_is_locked(loop));
    if (hf_loop_forked(loop))
        return HF_E_FORKED; /* the set of the poller is shared with the parent */
    if (!hf_mem_grow(loop->mem, &loop->watched, &loop->watched_capacity,
                     sizeof *loop->watched, (size_t)index + 1, WATCHED_MAX))
        return HF_E_NOMEM;
    memset(loop->watched + old, 0,
           (loop->watched_capacity - old) * sizeof *loop->watched);
    rc = hf_poller_add(&loop->poller, io->fd, io->events, key_of_watch_slot(loop, index));
    if (rc < 0)
        return rc;
    io->index = index;
    loop->watched[index].io = io;
    hf_wake_driver(loop);
    return HF_OK;
}

void hf_loop_rewatch(struct hf_loop *loop, struct hf_io *io, int events)
{
    HF_ASSERT(hf_loop_is_locked(loop));
    if (io->events == events || hf_loop_forked(loop))
        return;
    io->events = events;
    hf_poller_change(&loop->poller, io->fd, events, key_of_watch_slot(loop, io->index));
    if (loop->poller.fd < 0) /* poll(2) looks at a copy */
        hf_wake_driver(loop);
}

void hf_loop_unwatch(struct hf_loop *loop, struct hf_io *io)
{
    struct hf_watched *slot = &loop->watched[io->index];

    HF_ASSERT(hf_loop_is_locked(loop));
    if (hf_loop_forked(loop))
        return;
    hf_poller_remove(&loop->poller, io->fd);
    slot->io = NULL;
    slot->generation = (slot->generation + 1) & 0xffff;
    if (loop->poller.fd < 0)
        hf_wake_driver(loop);
}

static void handle_event(struct hf_loop *loop, const struct hf_poller_event *event)
{
    const struct hf_watched *slot = &loop->watched[event->key & 0xffff];

    if (slot->io && slot->generation == event->key >> 16)
        slot->io->ready(slot->io, event->events);
}

/* ---- time ---- */

static void read_clock(struct hf_loop *loop)
{
    loop->now_us = hf_clock_us();
    loop->now_ms = loop->now_us / 1000;
    loop->is_now_known = true;
}

int64_t hf_loop_now_us(struct hf_loop *loop)
{
    HF_ASSERT(hf_loop_is_locked(loop));
    if (!loop->is_now_known)
        read_clock(loop);
    return loop->now_us;
}

int64_t hf_loop_now(struct hf_loop *loop)
{
    HF_ASSERT(hf_loop_is_locked(loop));
    if (!loop->is_now_known)
        read_clock(loop);
    return loop->now_ms;
}

uint64_t hf_loop_next_serial(struct hf_loop *loop)
{
    HF_ASSERT(hf_loop_is_locked(loop));
    return ++loop->last_serial;
}

uint32_t hf_loop_hash(const struct hf_loop *loop, const void *ptr, size_t len)
{
    return (uint32_t)hf_hash(&loop->hash_key, ptr, len);
}

void hf_loop_arm(struct hf_loop *loop, struct hf_timer *timer, int64_t due_ms)
{
    HF_ASSERT(hf_loop_is_locked(loop) && timer->fire);
    hf_wheel_arm(&loop->wheel, timer, due_ms);
    if (due_ms < loop->driver_sleeps_until_ms)
        hf_wake_driver(loop);
    hf_loop_timer_armed(loop, due_ms);
}

void hf_loop_disarm(struct hf_loop *loop, struct hf_timer *timer)
{
    HF_ASSERT(hf_loop_is_locked(loop));
    hf_wheel_cancel(&loop->wheel, timer);
}

static void fire_due_timers(struct hf_loop *loop)
{
    struct hf_timer *timer;

    hf_wheel_advance(&loop->wheel, hf_loop_now(loop));
    while (!is_forked_child(loop) && (timer = hf_wheel_pop(&loop->wheel)))
        timer->fire(timer);
}

/* ---- tasks and turn ends ---- */

void hf_task_init(struct hf_task *task, void (*run)(struct hf_task *task))
{
    hf_list_init(&task->node);
    task->run = run;
}

static void queue_task(struct hf_loop *loop, struct hf_list *tasks,
                       struct hf_task *task)
{
    if (!hf_list_is_empty(&task->node))
        return;
    hf_list_push(tasks, &task->node);
    if (!loop->is_running_tasks) /* else the running thread looks again */
        hf_wake_task_runner(loop);
}

void hf_loop_post(struct hf_loop *loop, struct hf_task *task)
{
    HF_ASSERT(hf_loop_is_locked(loop));
    queue_task(loop, &loop->posted_tasks, task);
}

void hf_loop_post_first(struct hf_loop *loop, struct hf_task *task)
{
    HF_ASSERT(hf_loop_is_locked(loop));
    queue_task(loop, &loop->urgent_tasks, task);
}

void hf_loop_unpost(struct hf_loop *loop, struct hf_task *task)
{
    HF_ASSERT(hf_loop_is_locked(loop));
    (void)loop;
    hf_list_remove(&task->node);
}

static struct hf_task *remove_first_task(struct hf_loop *loop, struct hf_list *due)
{
    struct hf_list *from =
        hf_list_is_empty(&loop->urgent_tasks) ? due : &loop->urgent_tasks;
    struct hf_task *task;

    if (hf_list_is_empty(from))
        return NULL;
    task = HF_OWNER_OF(from->next, struct hf_task, node);
    hf_list_remove(&task->node);
    return task;
}

/* Gathers the tasks first: a task that posts itself again waits for the next turn. In a
 * child that a callback has forked, the gathered tasks are kept, because memory that is
 * freed there is still in a list. */
void hf_tasks_run(struct hf_loop *loop)
{
    struct hf_list due;
    struct hf_task *task;

    HF_ASSERT(hf_loop_is_locked(loop));
    if (!hf_tasks_are_due(loop))
        return;
    loop->is_running_tasks = true;
    loop->task_runner = pthread_self();
    hf_list_init(&due);
    hf_list_join(&due, &loop->posted_tasks);
    while (!is_forked_child(loop) && (task = remove_first_task(loop, &due)))
        task->run(task);
    hf_list_join(&loop->posted_tasks, &due);
    loop->is_running_tasks = false;
    if (is_forked_child(loop))
        return;
    pthread_cond_broadcast(&loop->tasks_are_done);
    if (hf_tasks_are_due(loop))
        hf_wake_task_runner(loop);
}

bool hf_loop_runs_tasks_here(const struct hf_loop *loop)
{
    HF_ASSERT(hf_loop_is_locked(loop));
    return loop->is_running_tasks &&
           pthread_equal(loop->task_runner, pthread_self());
}

void hf_loop_finish_tasks(struct hf_loop *loop)
{
    HF_ASSERT(hf_loop_is_locked(loop));
    while (!hf_loop_forked(loop) &&
           (loop->is_running_tasks || hf_tasks_are_due(loop))) {
        if (loop->is_running_tasks || loop->has_thread)
            hf_loop_wait_condition(loop, &loop->tasks_are_done);
        else
            hf_tasks_run(loop);
    }
}

void hf_turn_hook_init(struct hf_turn_hook *turn,
                       void (*end)(struct hf_turn_hook *turn))
{
    hf_list_init(&turn->node);
    turn->on_turn_end = end;
}

void hf_loop_at_turn_end(struct hf_loop *loop, struct hf_turn_hook *turn)
{
    HF_ASSERT(hf_loop_is_locked(loop));
    if (hf_list_is_empty(&turn->node))
        hf_list_push(&loop->turn_hooks, &turn->node);
}

void hf_loop_cancel_turn_end(struct hf_loop *loop, struct hf_turn_hook *turn)
{
    HF_ASSERT(hf_loop_is_locked(loop));
    (void)loop;
    hf_list_remove(&turn->node);
}

/* Until none is left: a batch that is sent makes its link want to flush. */
void hf_turn_flush(struct hf_loop *loop)
{
    HF_ASSERT(hf_loop_is_locked(loop));
    while (!hf_list_is_empty(&loop->turn_hooks) && !is_forked_child(loop)) {
        struct hf_turn_hook *turn =
            HF_OWNER_OF(loop->turn_hooks.next, struct hf_turn_hook, node);

        hf_list_remove(&turn->node);
        turn->on_turn_end(turn);
    }
}

/* ---- a turn ---- */

/* When something is next due, tasks included. */
static int64_t next_due_ms(struct hf_loop *loop)
{
    return hf_tasks_are_due(loop) ? 0 : hf_wheel_next_ms(&loop->wheel);
}

/* A point in time as a poller's timeout. */
static int poller_timeout_until(struct hf_loop *loop, int64_t until_ms)
{
    int64_t left;

    if (until_ms == HF_NEVER)
        return -1;
    left = until_ms - hf_loop_now(loop);
    if (left <= 0)
        return 0;
    return left < INT_MAX ? (int)left : INT_MAX;
}

/* Polls for this time, without sleeping. Before each poll, also the first, it yields to
 * threads that wait for this processor: one may be the server, or have a command that
 * can share a write with ours. If a server ran while this thread wrote, the reply is
 * there; if it were taken at once, each caller in turn would use the connection alone.
 * */
static int busy_poll(struct hf_loop *loop, struct hf_poller_event *events,
                int64_t until_us)
{
    int n;

    do {
        (void)sched_yield();
        n = hf_poller_wait(&loop->poller, events, 0, 0);
    } while (n == 0 && hf_clock_us() < until_us);
    return n;
}

/* Waits as planned, and fills `wait` except for its result. */
static int wait_for_events(struct hf_loop *loop, struct hf_poller_event *events,
                           int timeout_ms, int64_t now_ms, struct hf_spin_plan plan,
                           struct hf_spin_result *wait)
{
    bool is_timed = plan.is_measured || plan.look_us > 0;
    int64_t cpu_us = plan.is_measured ? hf_clock_thread_us() : 0;
    int64_t began_us = is_timed ? hf_clock_us() : 0;
    int n = 0;

    if (plan.look_us > 0)
        n = busy_poll(loop, events, began_us + plan.look_us);
    wait->is_found_by_looking = n > 0;
    if (n == 0)
        n = hf_poller_wait(&loop->poller, events, timeout_ms, now_ms);
    if (plan.is_measured)
        wait->cpu_us = hf_clock_thread_us() - cpu_us;
    if (plan.is_measured || (plan.look_us > 0 && !wait->is_found_by_looking))
        wait->duration_us = hf_clock_us() - began_us;
    if (plan.is_measured && loop->last_wait_ended_us > 0)
        wait->between_us = began_us - loop->last_wait_ended_us;
    loop->last_wait_ended_us = plan.is_measured ? began_us + wait->duration_us : 0;
    return n;
}

/* Handles events, timers that are due, and work that either has put off. */
static void handle_events_and_timers(struct hf_loop *loop,
                                     const struct hf_poller_event *events, int count)
{
    loop->is_in_turn = true;
    for (int i = 0; i < count && !is_forked_child(loop); i++)
        handle_event(loop, &events[i]);
    fire_due_timers(loop);
    hf_turn_flush(loop);
    loop->is_in_turn = false;
}

void hf_turn_run(struct hf_loop *loop, int64_t until_ms)
{
    struct hf_poller_event events[POLLER_BATCH];
    struct hf_spin_plan plan = {0, false};
    struct hf_spin_result wait = {0};
    uint32_t answered;
    int64_t due, now_ms;
    int n, timeout_ms;

    HF_ASSERT(hf_loop_is_locked(loop));
    if (is_forked_child(loop))
        return;
    hf_turn_flush(loop);
    due = loop->does_driver_run_tasks ? next_due_ms(loop)
                                      : hf_wheel_next_ms(&loop->wheel);
    if (due < until_ms)
        until_ms = due;
    timeout_ms = poller_timeout_until(loop, until_ms);
    now_ms = hf_loop_now(loop);
    loop->stats.turns++;
    loop->stats.waits += timeout_ms != 0;
    if (!loop->does_driver_run_tasks && timeout_ms != 0)
        plan = hf_spin_plan(&loop->spin);
    hf_poller_prepare(&loop->poller);
    loop->driver_sleeps_until_ms = until_ms;
    hf_unlock_and_post(loop);
    n = wait_for_events(loop, events, timeout_ms, now_ms, plan, &wait);
    hf_loop_lock(loop);
    loop->driver_sleeps_until_ms = loop->outer_timeout_until_ms;
    answered = loop->callers_woken;
    handle_events_and_timers(loop, events, n);
    wait.callers_answered = loop->callers_woken - answered;
    if (plan.look_us > 0 || plan.is_measured)
        hf_spin_note(&loop->spin, plan, &wait);
}

int hf_loop_fd(const struct hf_loop *loop)
{
    return loop->poller.outer_fd;
}

int hf_loop_timeout(struct hf_loop *loop)
{
    int64_t due;
    int timeout_ms;

    if (hf_loop_forked(loop))
        return -1;
    hf_loop_lock(loop);
    hf_turn_flush(loop);
    due = next_due_ms(loop);
    timeout_ms = poller_timeout_until(loop, due);
    /* An earlier timer makes hf_loop_fd readable. */
    loop->driver_sleeps_until_ms = loop->outer_timeout_until_ms = due;
    hf_loop_unlock(loop);
    return timeout_ms;
}

/* What came up while a blocked caller drove. */
void hf_wake_outer(struct hf_loop *loop)
{
    HF_ASSERT(hf_loop_is_locked(loop));
    if (loop->outer_timeout_until_ms != NOBODY_SLEEPS &&
        next_due_ms(loop) < loop->outer_timeout_until_ms)
        hf_wake_driver(loop);
}

bool hf_loop_is_locked(const struct hf_loop *loop)
{
    return hf_loop_forked(loop) ||
           (loop->is_locked && pthread_equal(loop->lock_holder, pthread_self()));
}

/* In a child a thread that is not there may hold it for ever. */
void hf_loop_lock(struct hf_loop *loop)
{
    if (!hf_loop_forked(loop))
        pthread_mutex_lock(&loop->mutex);
    hf_note_relocked(loop);
}

void hf_loop_unlock(struct hf_loop *loop)
{
    if (hf_loop_forked(loop))
        return;
    if (!loop->is_in_turn)
        hf_turn_flush(loop);
    hf_unlock_and_post(loop);
}

void hf_loop_get_stats(struct hf_loop *loop, struct hf_loop_stats *out)
{
    memset(out, 0, sizeof *out);
    if (hf_loop_forked(loop))
        return; /* the lock may be held by a thread that is not here */
    hf_loop_lock(loop);
    *out = loop->stats;
    hf_loop_unlock(loop);
}
