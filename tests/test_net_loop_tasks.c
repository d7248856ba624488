/* Which thread runs the tasks of a loop while another drives, and how
 * tasks are finished and threads kept out. Rule DRIVER-9 of drive.c. */
#include <check.h>
#include <poll.h>
#include <semaphore.h>
#include <string.h>

#include "net/loop/loop_inner.h"
#include "tests/support/suite.h"
#include "tests/support/turn_kit.h"

/* ---- dispatching next to callers ---- */

static sem_t is_running, may_end;

static void run_slowly(struct hf_task *task)
{
    (void)task;
    unlock();
    (void)sem_post(&is_running);
    while (sem_wait(&may_end) < 0)
        continue;
    lock();
    tell('s');
}

static void *dispatch_once(void *arg)
{
    hf_loop_dispatch(loop, -1);
    return arg;
}

static void *dispatch_until_told(void *arg)
{
    bool is_told = false;

    while (!is_told) {
        hf_loop_dispatch(loop, -1);
        lock();
        is_told = something_happened();
        unlock();
    }
    return arg;
}

static void *wait_a_little(void *arg)
{
    wait_ms(20);
    return arg;
}

static void post_slow(struct hf_task *slow)
{
    (void)sem_init(&is_running, 0, 0);
    (void)sem_init(&may_end, 0, 0);
    hf_task_init(slow, run_slowly);
    lock();
    hf_loop_post(loop, slow);
    unlock();
}

static void await_slow(void)
{
    while (sem_wait(&is_running) < 0)
        continue;
}

static bool dispatcher_waits(void)
{
    return loop->dispatching_threads == 1;
}

static void start_sleeper(pthread_t *caller)
{
    (void)pthread_create(caller, NULL, sleep_well, NULL);
    await(one_waits);
}

static void end_sleeper(pthread_t caller)
{
    lock();
    hf_waiter_wake(&sleeper);
    unlock();
    (void)pthread_join(caller, NULL);
}

/* DRIVER-1, DRIVER-3: a callback that takes its time does not delay a caller. Here the
 * driver runs it while a caller is already asleep. */
START_TEST(slow_task_does_not_keep_the_driver_role)
{
    struct hf_task slow;
    pthread_t dispatcher, caller;

    setup_with(_i);
    if (_i) {
        lock();
        hf_loop_retain_driver(loop);
        unlock();
    } else {
        (void)pthread_create(&dispatcher, NULL, dispatch_until_told, NULL);
    }
    await(driver_sleeps);
    (void)pthread_create(&caller, NULL, wait_a_little, NULL);
    await(one_waits);
    post_slow(&slow);
    await_slow();
    (void)pthread_join(caller, NULL);
    ck_assert_str_eq(trace, "");
    (void)sem_post(&may_end);
    if (_i) {
        lock();
        hf_loop_release_driver(loop);
        hf_loop_finish_tasks(loop);
        unlock();
    } else {
        (void)pthread_join(dispatcher, NULL);
    }
    ck_assert_str_eq(trace, "s");
    teardown();
}
END_TEST

/* ---- DRIVER-9: tasks while a caller drives ---- */

struct whose_job {
    struct hf_task task;
    pthread_t thread;
};

static void note_runner(struct hf_task *task)
{
    HF_OWNER_OF(task, struct whose_job, task)->thread = pthread_self();
    tell('w');
}

static void post_whose(struct whose_job *job)
{
    hf_task_init(&job->task, note_runner);
    hf_loop_post(loop, &job->task);
}

static struct whose_job job;

static void post_in_a_turn(struct hf_timer *timer)
{
    (void)timer;
    post_whose(&job);
}

static bool caller_drives(void)
{
    if (loop->does_driver_run_tasks)
        hf_wake_driver(loop); /* the background thread came first: it leaves */
    return waits == 1 && driver_sleeps() && !loop->does_driver_run_tasks;
}

static bool background_dozes(void)
{
    return loop->is_background_paused;
}

/* Posted from outside, or in the turn of the caller that drives; the background
 * thread rests or dozes. */
START_TEST(blocked_caller_runs_no_task)
{
    struct hf_timer in_a_turn = {.fire = post_in_a_turn};
    pthread_t caller;

    setup_thread();
    (void)pthread_create(&caller, NULL, sleep_well, NULL);
    await(caller_drives);
    if (_i & 2)
        await(background_dozes);
    lock();
    if (_i & 1)
        hf_loop_arm(loop, &in_a_turn, 0);
    else
        post_whose(&job);
    unlock();
    await(something_happened);
    ck_assert(pthread_equal(job.thread, loop->thread));
    end_sleeper(caller);
    teardown();
}
END_TEST

/* A thread that dispatches runs it beside the caller that drives. */
START_TEST(dispatcher_runs_tasks_beside_a_caller)
{
    pthread_t caller, dispatcher;

    setup();
    start_sleeper(&caller);
    (void)pthread_create(&dispatcher, NULL, dispatch_once, NULL);
    await(dispatcher_waits);
    lock();
    post_whose(&job);
    unlock();
    (void)pthread_join(dispatcher, NULL);
    ck_assert_str_eq(trace, "w");
    ck_assert(pthread_equal(job.thread, dispatcher));
    end_sleeper(caller);
    teardown();
}
END_TEST

/* Another event loop that sleeps on hf_loop_fd is woken, each time, though the
 * caller that drives sleeps on the same descriptors. */
START_TEST(foreign_loop_runs_tasks_beside_a_caller)
{
    struct pollfd ours = {.events = POLLIN};
    pthread_t caller;

    setup();
    start_sleeper(&caller);
    ours.fd = hf_loop_fd(loop);
    for (int i = 0; i < 20 && ours.fd >= 0; i++) {
        (void)hf_loop_timeout(loop);
        ck_assert_int_eq(poll(&ours, 1, 0), 0);
        lock();
        post_whose(&job);
        unlock();
        await(driver_sleeps); /* the caller has had its chance to swallow it */
        ck_assert_int_eq(poll(&ours, 1, LONG_MS), 1);
        ck_assert_int_eq(hf_loop_timeout(loop), 0);
        hf_loop_dispatch(loop, 0);
        ck_assert_uint_eq(strlen(trace), (size_t)i + 1);
        ck_assert(pthread_equal(job.thread, pthread_self()));
    }
    end_sleeper(caller);
    teardown();
}
END_TEST

/* Posted while another task runs: before all that wait. */
START_TEST(first_tasks_run_before_all_others)
{
    struct job a = {.letter = 'a'}, b = {0}, c = {0};
    struct hf_task slow;
    pthread_t dispatcher;

    setup();
    post_slow(&slow);
    lock();
    post(&b, 'b');
    unlock();
    (void)pthread_create(&dispatcher, NULL, dispatch_once, NULL);
    await_slow();
    hf_task_init(&a.task, run_job);
    lock();
    post(&c, 'c');
    hf_loop_post_first(loop, &a.task);
    hf_loop_post_first(loop, &a.task);
    unlock();
    (void)sem_post(&may_end);
    (void)pthread_join(dispatcher, NULL);
    hf_loop_dispatch(loop, 0);
    ck_assert_str_eq(trace, "sabc");
    teardown();
}
END_TEST

static void post_another(struct hf_task *task)
{
    (void)task;
    unlock();
    await(driver_sleeps);
    lock();
    post_whose(&job);
}

/* The background thread sleeps while another thread runs tasks, and hears of
 * what those leave behind. */
START_TEST(task_posted_while_another_thread_runs_tasks_is_run)
{
    struct hf_task task;

    setup_thread();
    hf_task_init(&task, post_another);
    lock();
    hf_loop_post(loop, &task);
    hf_tasks_run(loop); /* as hf_loop_dispatch does */
    unlock();
    await(something_happened);
    ck_assert(pthread_equal(job.thread, loop->thread));
    teardown();
}
END_TEST


/* "Waits until there is something": not in circles while another drives. */
START_TEST(dispatch_next_to_a_driver_waits)
{
    int64_t start_ms;
    pthread_t driver, other;

    setup();
    (void)pthread_create(&driver, NULL, sleep_well, NULL);
    await(one_waits);
    start_ms = local_now_ms();
    hf_loop_dispatch(loop, 0);
    hf_loop_dispatch(loop, 30);
    ck_assert_int_ge(local_now_ms(), start_ms + 30);
    /* When the driver leaves, it takes over. */
    (void)pthread_create(&other, NULL, dispatch_once, NULL);
    await(dispatcher_waits);
    lock();
    hf_waiter_wake(&sleeper);
    unlock();
    (void)pthread_join(driver, NULL);
    await(driver_sleeps);
    lock();
    set(&alarm_of_sleeper, 0);
    alarm_of_sleeper.waiter = NULL;
    unlock();
    (void)pthread_join(other, NULL);
    teardown();
}
END_TEST

/* ---- finishing tasks ---- */

static void *finish(void *arg)
{
    lock();
    hf_loop_finish_tasks(loop);
    tell('f');
    unlock();
    return arg;
}

static bool finisher_waits(void)
{
    return loop->is_running_tasks;
}

START_TEST(finishing_waits_for_the_task_of_another_thread)
{
    struct hf_task slow;
    struct job j = {0};
    pthread_t driver, finisher;

    setup();
    (void)sem_init(&is_running, 0, 0);
    (void)sem_init(&may_end, 0, 0);
    hf_task_init(&slow, run_slowly);
    lock();
    hf_loop_post(loop, &slow);
    unlock();
    (void)pthread_create(&driver, NULL, dispatch_once, NULL);
    while (sem_wait(&is_running) < 0)
        continue;
    lock();
    post(&j, 'j'); /* posted meanwhile: finished, too */
    unlock();
    (void)pthread_create(&finisher, NULL, finish, NULL);
    await(finisher_waits);
    (void)sem_post(&may_end);
    (void)pthread_join(finisher, NULL);
    (void)pthread_join(driver, NULL);
    ck_assert_str_eq(trace, "sjf");
    teardown();
}
END_TEST

START_TEST(finishing_runs_posted_tasks)
{
    struct job a = {0}, b = {0};

    setup();
    a.posts = &b;
    hf_task_init(&b.task, run_job);
    b.letter = 'b';
    lock();
    post(&a, 'a');
    hf_loop_finish_tasks(loop);
    ck_assert_str_eq(trace, "ab");
    hf_loop_finish_tasks(loop);
    unlock();
    ck_assert_str_eq(trace, "ab");
    teardown();
}
END_TEST

/* ---- quiescing ---- */

/* DRIVER-6: Nobody handles a thing between quiesce and resume, whoever drove before. */
START_TEST(nothing_happens_while_quiesced)
{
    struct alarm a = {.letter = 't'};
    pthread_t driver, caller;
    bool has_callers = _i != 1;

    setup_with(_i > 0);
    if (has_callers) {
        (void)pthread_create(&driver, NULL, sleep_well, NULL);
        await(one_waits);
        (void)pthread_create(&caller, NULL, wait_a_little, NULL);
    }
    lock();
    if (_i > 0)
        hf_loop_retain_driver(loop);
    hf_loop_quiesce(loop);
    set(&a, 0);
    unlock();
    local_rest_us(3000);
    lock();
    ck_assert_uint_eq(a.fired, 0);
    hf_loop_resume(loop);
    if (has_callers)
        a.waiter = &sleeper;
    unlock();
    if (has_callers) {
        (void)pthread_join(driver, NULL);
        (void)pthread_join(caller, NULL);
    }
    await(something_happened);
    ck_assert_str_eq(trace, "t");
    lock();
    if (_i > 0)
        hf_loop_release_driver(loop);
    unlock();
    teardown();
}
END_TEST

static void *quiesce_often(void *arg)
{
    for (int i = 0; i < 100; i++) {
        lock();
        hf_loop_quiesce(loop);
        ck_must(loop->has_driver, "it drives still");
        unlock();
        lock();
        ck_must(loop->has_driver, "it drives still");
        hf_loop_resume(loop);
        unlock();
    }
    return arg;
}

/* No thread drives but the background thread, which begins after BACKGROUND_REST_MS;
 * and whoever calls then is answered. */
static void check_driver(bool has_thread)
{
    lock();
    ck_must(has_thread || !loop->has_driver, "no thread drives");
    unlock();
    wait_ms(1);
}

START_TEST(all_that_quiesce_and_all_that_call_finish)
{
    pthread_t callers[CALLERS], quiescers[3];

    setup_with(_i);
    start_callers(callers, call_some_times);
    for (int i = 0; i < 3; i++)
        (void)pthread_create(&quiescers[i], NULL, quiesce_often, NULL);
    for (int i = 0; i < 3; i++)
        (void)pthread_join(quiescers[i], NULL);
    join_callers(callers);
    check_driver(_i == 1);
    teardown();
}
END_TEST

static TCase *case_tasks_beside_callers(void)
{
    TCase *c = tcase_create("tasks beside callers");

    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, slow_task_does_not_keep_the_driver_role, 0, 2);
    tcase_add_loop_test(c, blocked_caller_runs_no_task, 0, 4);
    tcase_add_test(c, dispatcher_runs_tasks_beside_a_caller);
    tcase_add_test(c, foreign_loop_runs_tasks_beside_a_caller);
    tcase_add_test(c, first_tasks_run_before_all_others);
    tcase_add_test(c, task_posted_while_another_thread_runs_tasks_is_run);
    tcase_add_test(c, dispatch_next_to_a_driver_waits);
    tcase_add_test(c, finishing_waits_for_the_task_of_another_thread);
    tcase_add_test(c, finishing_runs_posted_tasks);
    tcase_add_loop_test(c, nothing_happens_while_quiesced, 0, 3);
    tcase_add_loop_test(c, all_that_quiesce_and_all_that_call_finish, 0, 2);
    return c;
}

int main(void)
{
    Suite *s = suite_create("net/loop, tasks");

    suite_add_tcase(s, case_tasks_beside_callers());
    return suite_run(s);
}
