/* Every order of timers, callers and time, up to a number of events, for the
 * background thread that rests (DRIVER-4): is each timer looked at when it is due?
 *
 * The code is that of net/loop/drive.c. The threads are the model's: where the
 * background thread would sleep, its step is left, and what wakes it is noted. A
 * caller drives from one event to a later one.
 *
 * PROMISE  Whenever a millisecond has passed, each timer that is due is fired by
 *          a thread that drives, or by the background thread when it wakes. */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pthread.h>

static int model_wait(void);
static int model_wake(pthread_cond_t *condition);
#define pthread_cond_timedwait(condition, mutex, until)                        \
    ((void)(until), model_wait())
#define pthread_cond_wait(condition, mutex) ((void)(condition), (void)model_wait())
#define pthread_cond_signal(condition) ((void)model_wake(condition))
#include "net/base/mem.h"
#include "net/loop/drive.c"

/* ---- the background thread ---- */

enum background { READY, RESTS, DOZES, POLLS };

static struct hf_loop the_loop, *loop = &the_loop;
static enum background state;
static bool is_signalled;
static int64_t now_ms = 1000;
static jmp_buf step_is_left;

static int model_wait(void)
{
    state = loop->is_background_paused ? DOZES : RESTS;
    longjmp(step_is_left, 1);
}

static int model_wake(pthread_cond_t *condition)
{
    is_signalled = is_signalled || condition == &loop->background_wake;
    return 0;
}

/* What the library's files do beside drive.c. */
void hf_turn_run(struct hf_loop *l, int64_t until_ms)
{
    (void)l, (void)until_ms;
    state = POLLS;
    longjmp(step_is_left, 1);
}

static unsigned fired;

static void fire(struct hf_timer *timer)
{
    (void)timer;
    fired++;
}

static void fire_due(void)
{
    struct hf_timer *timer;

    hf_wheel_advance(&loop->wheel, now_ms);
    while ((timer = hf_wheel_pop(&loop->wheel)))
        timer->fire(timer);
}

/* It has slept: what follows in the step that was left. */
static void wake_background(void)
{
    if (state == RESTS)
        loop->background_rests_until_ms = NOBODY_SLEEPS;
    else if (state == DOZES)
        loop->is_background_paused = false;
    else
        fire_due();
    if (state == POLLS) {
        loop->has_driver = false;
        offer_driver_role(loop);
    }
    is_signalled = false;
    state = READY;
}

static bool may_wake(void)
{
    if (state == POLLS)
        return hf_wheel_next_ms(&loop->wheel) <= now_ms || loop->quiescing_threads > 0;
    return is_signalled || (state == RESTS && loop->background_rests_until_ms <= now_ms);
}

static void run_background(void)
{
    while (state == READY || may_wake()) {
        if (state != READY)
            wake_background();
        if (setjmp(step_is_left) == 0)
            run_background_step(loop);
    }
}

/* ---- events ---- */

#define TIMERS 3

static struct hf_timer timers[TIMERS];
static bool has_caller;

static void arm(int which, int64_t in_ms)
{
    int64_t due_ms = now_ms + in_ms;

    timers[which].fire = fire;
    hf_wheel_arm(&loop->wheel, &timers[which], due_ms);
    hf_loop_timer_armed(loop, due_ms);
}

static void disarm_all(void)
{
    for (int i = 0; i < TIMERS; i++)
        hf_wheel_cancel(&loop->wheel, &timers[i]);
}

/* A caller that finds another driver sleeps, and is offered to drive later: as one that
 * comes later. */
static void come_or_go(void)
{
    loop->last_caller_ms = now_ms;
    if (has_caller) {
        loop->has_driver = false;
        has_caller = false;
        offer_driver_role(loop);
    } else if (is_driver_role_free(loop)) {
        become_driver(loop, false);
        has_caller = true;
    }
}

static bool is_one_late(void)
{
    for (int i = 0; i < TIMERS; i++)
        if (timers[i].link && timers[i].due_ms <= now_ms)
            return true;
    return false;
}

/* False: the promise is broken. */
static bool pass_ms(int64_t ms)
{
    for (; ms > 0; ms--) {
        now_ms++;
        if (has_caller)
            fire_due();
        run_background();
        if (is_one_late())
            return false;
    }
    return true;
}

static const char *const event_names[] = {
    "1 ms passes",          "8 ms pass",   "a timer in 2 ms", "a timer in 7 ms",
    "a timer in 30 ms",     "no timers",   "a caller comes or goes",
    "callbacks are awaited, or no longer",
};
#define EVENTS ((int)(sizeof event_names / sizeof *event_names))

static bool happen(int event)
{
    switch (event) {
    case 0:
        return pass_ms(1);
    case 1:
        return pass_ms(8);
    case 2:
    case 3:
    case 4:
        arm(event - 2, (const int64_t[]){2, 7, 30}[event - 2]);
        break;
    case 5:
        disarm_all();
        break;
    case 6:
        come_or_go();
        break;
    default:
        if (loop->driver_users_count > 0)
            hf_loop_release_driver(loop);
        else
            hf_loop_retain_driver(loop);
    }
    run_background();
    return true;
}

/* ---- every order ---- */

/* A caller has just left: the thread rests. */
static void begin(void)
{
    disarm_all();
    now_ms += 100;
    hf_wheel_advance(&loop->wheel, now_ms);
    loop->driver_users_count = 0;
    loop->has_driver = has_caller = false;
    loop->is_background_paused = loop->is_timer_due_in_rest = is_signalled = false;
    loop->background_rests_until_ms = NOBODY_SLEEPS;
    loop->last_caller_ms = now_ms;
    state = READY;
    run_background();
}

static void tell(const int *events, int count)
{
    (void)puts("a timer is late:");
    for (int i = 0; i < count; i++)
        (void)printf("  %s\n", event_names[events[i]]);
}

/* Each ends with time enough for all. False: one order breaks the promise. */
static bool try_order(const int *events, int count)
{
    begin();
    for (int i = 0; i < count; i++)
        if (!happen(events[i])) {
            tell(events, i + 1);
            return false;
        }
    if (pass_ms(35))
        return true;
    tell(events, count);
    return false;
}

static bool next_order(int *events, int count)
{
    int i = count - 1;

    while (i >= 0 && ++events[i] == EVENTS)
        events[i--] = 0;
    return i >= 0;
}

static unsigned long long cases;

static bool try_all(int count)
{
    int events[16] = {0};

    do {
        cases++;
        if (!try_order(events, count))
            return false;
    } while (next_order(events, count));
    return true;
}

static void loop_begin(void)
{
    hf_wheel_init(&loop->wheel, &hf_mem_libc, now_ms);
    hf_list_init(&loop->sleeping_waiters);
    hf_list_init(&loop->woken_waiters);
    hf_list_init(&loop->posted_tasks);
    hf_list_init(&loop->urgent_tasks);
    loop->driver_sleeps_until_ms = loop->outer_timeout_until_ms = NOBODY_SLEEPS;
    loop->has_thread = true;
}

int main(int argc, char **argv)
{
    int most = argc > 1 && strcmp(argv[1], "full") == 0 ? 8 : 6;
    bool is_good = true;

    loop_begin();
    for (int count = 1; is_good && count <= most; count++)
        is_good = try_all(count);
    (void)printf("%llu orders, %u timers fired\n", cases, fired);
    return is_good ? 0 : 1;
}

/* ---- in place of loop.c ---- */

int64_t hf_loop_now(struct hf_loop *l)
{
    (void)l;
    return now_ms;
}

bool hf_loop_forked(const struct hf_loop *l)
{
    (void)l;
    return false;
}

bool hf_loop_is_locked(const struct hf_loop *l)
{
    (void)l;
    return true;
}

void hf_loop_lock(struct hf_loop *l)
{
    (void)l;
}

void hf_loop_unlock(struct hf_loop *l)
{
    (void)l;
}

void hf_turn_flush(struct hf_loop *l)
{
    (void)l;
}

void hf_tasks_run(struct hf_loop *l)
{
    (void)l;
}

void hf_wake_driver(struct hf_loop *l)
{
    (void)l; /* may_wake looks at the wheel */
}

void hf_wake_outer(struct hf_loop *l)
{
    (void)l;
}
