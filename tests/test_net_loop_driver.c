/* Which thread takes the turns of a loop: another event loop, or callers that
 * drive for each other, and who is woken when. Rules DRIVER-1 to DRIVER-6 and DRIVER-8
 * of drive.c. */
#include <check.h>
#include <poll.h>
#include <stdatomic.h>
#include <unistd.h>

#include "net/loop/loop_inner.h"
#include "tests/support/dice.h"
#include "tests/support/suite.h"
#include "tests/support/turn_kit.h"

/* ---- another event loop drives: hf_loop_fd, _timeout, _dispatch ---- */

START_TEST(timeout_is_the_next_dispatch)
{
    struct alarm a = {0};
    struct job j = {0};
    int timeout;

    setup();
    ck_assert_int_eq(hf_loop_timeout(loop), -1);
    lock();
    set(&a, 1000);
    unlock();
    timeout = hf_loop_timeout(loop);
    ck_assert(timeout > 500 && timeout <= 1000);
    lock();
    set(&a, INT64_C(1) << 40);
    unlock();
    ck_assert_int_ge(hf_loop_timeout(loop), 0);
    lock();
    post(&j, 'a');
    unlock();
    ck_assert_int_eq(hf_loop_timeout(loop), 0);
    hf_loop_dispatch(loop, 0);
    lock();
    hf_loop_disarm(loop, &a.timer);
    set(&a, -5);
    unlock();
    ck_assert_int_eq(hf_loop_timeout(loop), 0);
    hf_loop_dispatch(loop, 0);
    ck_assert_int_eq(hf_loop_timeout(loop), -1);
    ck_assert_uint_eq(a.fired, 1);
    teardown();
}
END_TEST

/* As somebody else's event loop would: poll(2) on our descriptor and on theirs.
 * In a build with poll(2) there is none, and it comes by from time to time. */
START_TEST(foreign_loop_is_notified_of_every_event)
{
    struct alarm a = {.letter = 't'};
    struct pair *p = &pairs[0];
    struct pollfd theirs = {.events = POLLIN};

    setup();
    theirs.fd = hf_loop_fd(loop);
    lock();
    pair_open(p, HF_READ);
    set(&a, 3);
    unlock();
    for (int round = 0; round < 20; round++) {
        while (!a.fired || !p->told) {
            int timeout = hf_loop_timeout(loop);

            if (theirs.fd < 0)
                timeout = timeout < 0 || timeout > 1 ? 1 : timeout;
            ck_assert(timeout >= 0 || !a.timer.link);
            (void)poll(&theirs, theirs.fd >= 0, timeout);
            hf_loop_dispatch(loop, 0);
            if (a.fired && !p->told)
                (void)write(p->other, "x", 1);
        }
        a.fired = 0;
        p->told = 0;
        lock();
        set(&a, round % 4);
        unlock();
        trace[0] = '\0';
    }
    lock();
    hf_loop_disarm(loop, &a.timer);
    pair_close(p);
    unlock();
    teardown();
}
END_TEST

/* A timer, a task or a descriptor of another thread wakes it. */
static void *poll_and_dispatch(void *arg)
{
    struct pollfd ours = {.fd = hf_loop_fd(loop), .events = POLLIN};

    do {
        (void)poll(&ours, 1, hf_loop_timeout(loop));
        hf_loop_dispatch(loop, 0);
        lock();
        ours.revents = (short)(trace[0] != '\0');
        unlock();
    } while (!ours.revents);
    return arg;
}

static bool nobody_drives(void)
{
    return !loop->has_driver && loop->driver_sleeps_until_ms == HF_NEVER;
}

START_TEST(foreign_loop_is_woken_by_other_threads)
{
    struct alarm a = {.letter = 't'};
    struct job j = {0};
    pthread_t thread;

    setup();
    if (hf_loop_fd(loop) >= 0) {
        (void)pthread_create(&thread, NULL, poll_and_dispatch, NULL);
        await(nobody_drives);
        lock();
        if (_i)
            post(&j, 'p');
        else
            set(&a, 1);
        unlock();
        (void)pthread_join(thread, NULL);
        ck_assert_str_eq(trace, _i ? "p" : "t");
    }
    teardown();
}
END_TEST

static struct alarm left_behind;

static void leave_a_timer(struct hf_timer *timer)
{
    (void)timer;
    set(&left_behind, LONG_MS);
}

/* It was told to sleep for ever, and then a caller drove: what that left behind,
 * or what comes after it, is heard; and if there is nothing, it sleeps. */
START_TEST(foreign_loop_is_woken_after_a_blocked_caller)
{
    enum { TIMER, TASK, NOTHING } what = (unsigned)_i;
    struct hf_timer t = {.fire = leave_a_timer};
    struct job j = {0};
    struct pollfd ours = {.events = POLLIN};

    setup();
    if ((ours.fd = hf_loop_fd(loop)) >= 0) {
        ck_assert_int_eq(hf_loop_timeout(loop), -1);
        lock();
        if (what == TIMER)
            hf_loop_arm(loop, &t, 0);
        unlock();
        wait_ms(3);
        ck_assert_int_eq(poll(&ours, 1, 0), what == TIMER);
        lock();
        if (what == TASK)
            post(&j, 'p');
        unlock();
        ck_assert_int_eq(poll(&ours, 1, 0), what != NOTHING);
        hf_loop_dispatch(loop, 0);
        ck_assert_str_eq(trace, what == TASK ? "p" : "");
        ck_assert_int_eq(poll(&ours, 1, 0), 0);
        lock();
        hf_loop_disarm(loop, &left_behind.timer);
        unlock();
    }
    teardown();
}
END_TEST

START_TEST(dispatch_waits_for_the_given_time)
{
    int64_t start_ms = local_now_ms();

    setup();
    hf_loop_dispatch(loop, 0);
    hf_loop_dispatch(loop, 30);
    ck_assert_int_ge(local_now_ms(), start_ms + 30);
    teardown();
}
END_TEST

/* ---- waking the one that sleeps ---- */

static void wake_sleeper(void)
{
    hf_waiter_wake(&sleeper);
}

static void ready_wake(struct hf_io *io, int events)
{
    drain(io, events);
    hf_waiter_wake(&sleeper);
}

static void by_timer(void)
{
    set(&alarm_of_sleeper, 0);
}

static struct alarm victim = {.letter = 'v'};

/* The sleeper's turn is to end in an hour. */
static void by_earlier_timer(void)
{
    set(&victim, 1);
    hf_loop_disarm(loop, &victim.timer);
    set(&alarm_of_sleeper, 2);
}

static void by_new_descriptor(void)
{
    pair_open(&pairs[0], HF_READ);
    pairs[0].io.ready = ready_wake;
    (void)write(pairs[0].other, "x", 1);
}

static void by_rewatched_descriptor(void)
{
    pairs[1].io.ready = ready_wake;
    hf_loop_rewatch(loop, &pairs[1].io, HF_WRITE);
}

static void by_descriptor(void)
{
    pairs[1].io.ready = ready_wake;
    (void)write(pairs[1].other, "x", 1);
}

static void after_quiesce(void)
{
    hf_loop_quiesce(loop);
    hf_loop_resume(loop);
    hf_waiter_wake(&sleeper);
}

static void (*const wakings[])(void) = {
    wake_sleeper,      by_timer,                by_earlier_timer,
    by_new_descriptor, by_rewatched_descriptor, by_descriptor,
    after_quiesce,
};

START_TEST(sleeping_driver_is_woken)
{
    struct alarm far = {.letter = 'x'};
    pthread_t thread;

    setup_with(_i % 2); /* a background thread must not change a thing */
    pairs[0].io.fd = -1;
    lock();
    pair_open(&pairs[1], HF_READ);
    set(&far, 3600000);
    unlock();
    (void)pthread_create(&thread, NULL, sleep_well, NULL);
    await(one_waits);
    lock();
    wakings[_i / 2]();
    unlock();
    (void)pthread_join(thread, NULL);
    lock();
    hf_loop_disarm(loop, &far.timer);
    pair_close(&pairs[1]);
    if (pairs[0].io.fd >= 0)
        pair_close(&pairs[0]);
    unlock();
    teardown();
}
END_TEST

START_TEST(waiter_woken_before_it_waits_does_not_wait)
{
    struct hf_waiter w;

    setup();
    lock();
    hf_waiter_init(&w, loop);
    hf_waiter_wake(&w);
    hf_waiter_wake(&w);
    hf_loop_wait(&w);
    lock(); /* it is free */
    unlock();
    teardown();
}
END_TEST

static struct hf_waiter dozer;
static atomic_bool has_returned;

static void *doze(void *arg)
{
    lock();
    hf_waiter_init(&dozer, loop);
    hf_loop_wait(&dozer);
    atomic_store(&has_returned, true);
    return arg;
}

static bool one_sleeps(void)
{
    return !hf_list_is_empty(&loop->sleeping_waiters);
}

static void doze_once(void)
{
    int64_t end_ms = local_now_ms() + LONG_MS;
    pthread_t thread;

    atomic_store(&has_returned, false);
    (void)pthread_create(&thread, NULL, doze, NULL);
    await(one_sleeps);
    lock();
    hf_waiter_wake(&dozer);
    unlock();
    lock();
    while (!atomic_load(&has_returned)) {
        ck_assert_msg(local_now_ms() < end_ms, "the sleeper waits for the mutex");
        local_rest_us(10);
    }
    unlock();
    (void)pthread_join(thread, NULL);
}

/* The test drives, and locks the mutex again as soon as the sleeper was posted. A
 * sleeper that locks it, too, is sometimes the first, but not each time. */
START_TEST(driver_5_a_sleeper_that_has_its_reply_does_not_lock_the_mutex)
{
    setup();
    lock();
    hf_loop_quiesce(loop);
    unlock();
    for (int i = 0; i < 100; i++)
        doze_once();
    lock();
    hf_loop_resume(loop);
    unlock();
    teardown();
}
END_TEST

/* ---- callers that drive for each other ---- */

static void *call_often(void *arg)
{
    uint64_t seed = DICE_SEED + (uintptr_t)arg;

    for (int i = 0; i < 200; i++)
        wait_ms((int64_t)dice_of(&seed, 4));
    return NULL;
}

/* Each has an answer of its own to wait for; wait_ms says if it is not it. */
START_TEST(callers_drive_for_each_other)
{
    pthread_t threads[CALLERS];

    setup_with(_i & 1);
    if (_i & 2) {
        lock();
        hf_loop_retain_driver(loop);
        unlock();
    }
    start_callers(threads, call_often);
    join_callers(threads);
    if (_i & 2) {
        lock();
        hf_loop_release_driver(loop);
        unlock();
    }
    ck_assert_uint_eq(loop->wheel.timers_count, 0);
    ck_assert(hf_list_is_empty(&loop->sleeping_waiters));
    teardown();
}
END_TEST

static struct hf_waiter ring_of_waiters[CALLERS];
static unsigned token, laps;

/* Nothing but the others wakes it: who holds the token passes it on. */
static void *pass_token(void *arg)
{
    unsigned me = (unsigned)((uintptr_t)arg - 1), next = (me + 1) % CALLERS;

    for (;;) {
        lock();
        if (token != me && laps > 0) {
            hf_loop_wait(&ring_of_waiters[me]);
            lock();
        }
        hf_waiter_init(&ring_of_waiters[me], loop);
        ck_must(token == me || laps == 0, "who is woken holds the token");
        if (laps == 0)
            break;
        laps--;
        token = next;
        hf_waiter_wake(&ring_of_waiters[next]);
        unlock();
    }
    token = next;
    hf_waiter_wake(&ring_of_waiters[next]);
    unlock();
    return NULL;
}

START_TEST(no_thread_is_left_asleep)
{
    pthread_t threads[CALLERS];

    setup_with(_i);
    token = 0;
    laps = 3000;
    for (int i = 0; i < CALLERS; i++)
        hf_waiter_init(&ring_of_waiters[i], loop);
    start_callers(threads, pass_token);
    join_callers(threads);
    teardown();
}
END_TEST

static pthread_t whose;

static void note_thread(struct hf_timer *timer)
{
    whose = pthread_self();
    ring(timer);
}

/* DRIVER-4: no switch of threads for a lone caller, but when the machine has kept it
 * from its work for so long that the background thread stepped in. */
static const struct {
    int calls;
    int64_t wait_ms;
    int pause_us;
} lone_calls[] = {
    {100, 0, 0},
    {100, 1, 100},
    {10, 30, 2000}, /* longer than it rests, but it has only just gone */
};

/* DRIVER-2 */
START_TEST(lone_caller_drives_for_itself)
{
    int by_itself = 0;

    setup_thread();
    for (int i = 0; i < lone_calls[_i].calls; i++) {
        struct hf_waiter w;
        struct alarm a = {.waiter = &w};
        bool has_no_driver;

        lock();
        hf_waiter_init(&w, loop);
        set(&a, lone_calls[_i].wait_ms);
        a.timer.fire = note_thread;
        has_no_driver = !loop->has_driver;
        hf_loop_wait(&w);
        by_itself += has_no_driver && pthread_equal(whose, pthread_self());
        local_rest_us(lone_calls[_i].pause_us);
    }
    ck_assert_int_gt(by_itself, lone_calls[_i].calls / 2);
    teardown();
}
END_TEST

/* A caller that drives waits in the poller, and is woken out of it; one that
 * finds it driving sleeps, and drives when the first one stops. */
START_TEST(work_of_threads_is_counted)
{
    struct hf_loop_stats before, after;
    pthread_t thread;

    setup();
    hf_loop_get_stats(loop, &before);
    hf_loop_dispatch(loop, 0);
    hf_loop_get_stats(loop, &after);
    ck_assert_uint_eq(after.turns - before.turns, 1);
    ck_assert_uint_eq(after.waits, before.waits);
    ck_assert_uint_eq(after.sleeps + after.driver_changes, 0);
    (void)pthread_create(&thread, NULL, sleep_well, NULL);
    await(one_waits);
    lock();
    wake_sleeper();
    unlock();
    (void)pthread_join(thread, NULL);
    hf_loop_get_stats(loop, &after);
    ck_assert_uint_ge(after.waits - before.waits, 1);
    ck_assert_uint_ge(after.wakeups - before.wakeups, 1);
    teardown();
}
END_TEST

START_TEST(changes_of_driver_and_sleeps_are_counted)
{
    pthread_t threads[CALLERS];
    struct hf_loop_stats stats;

    setup();
    token = 0;
    laps = 300;
    for (int i = 0; i < CALLERS; i++)
        hf_waiter_init(&ring_of_waiters[i], loop);
    start_callers(threads, pass_token);
    join_callers(threads);
    hf_loop_get_stats(loop, &stats);
    ck_assert_uint_gt(stats.sleeps, 0);
    ck_assert_uint_gt(stats.driver_changes, 0);
    ck_assert_uint_ge(stats.turns, stats.waits);
    teardown();
}
END_TEST

static TCase *case_foreign_loop(void)
{
    TCase *c = tcase_create("a foreign loop");

    tcase_set_timeout(c, 30);
    tcase_add_test(c, timeout_is_the_next_dispatch);
    tcase_add_test(c, foreign_loop_is_notified_of_every_event);
    tcase_add_loop_test(c, foreign_loop_is_woken_by_other_threads, 0, 2);
    tcase_add_loop_test(c, foreign_loop_is_woken_after_a_blocked_caller, 0, 3);
    tcase_add_test(c, dispatch_waits_for_the_given_time);
    return c;
}

static TCase *case_callers(void)
{
    TCase *c = tcase_create("callers");

    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, sleeping_driver_is_woken, 0, 2 * ROWS(wakings));
    tcase_add_test(c, waiter_woken_before_it_waits_does_not_wait);
    tcase_add_test(c, driver_5_a_sleeper_that_has_its_reply_does_not_lock_the_mutex);
    tcase_add_loop_test(c, callers_drive_for_each_other, 0, 4);
    tcase_add_loop_test(c, no_thread_is_left_asleep, 0, 2);
    tcase_add_loop_test(c, lone_caller_drives_for_itself, 0,
                        ROWS(lone_calls));
    tcase_add_test(c, work_of_threads_is_counted);
    tcase_add_test(c, changes_of_driver_and_sleeps_are_counted);
    return c;
}

int main(void)
{
    Suite *s = suite_create("net/loop, the driver");

    suite_add_tcase(s, case_foreign_loop());
    suite_add_tcase(s, case_callers());
    return suite_run(s);
}
