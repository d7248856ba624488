/* The background thread of a loop; a loop without memory; and in a child
 * process. */
#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/base/mem.h"
#include "net/loop/fork.h"
#include "net/loop/loop_inner.h"
#include "tests/support/suite.h"
#include "tests/support/turn_kit.h"

/* ---- the background thread ---- */

START_TEST(without_a_thread_nothing_happens_by_itself)
{
    struct alarm a = {.letter = 't'};

    setup();
    lock();
    hf_loop_retain_driver(loop);
    set(&a, 0);
    hf_loop_release_driver(loop);
    unlock();
    local_rest_us(3000);
    ck_assert_uint_eq(a.fired, 0);
    hf_loop_dispatch(loop, 0);
    ck_assert_uint_eq(a.fired, 1);
    teardown();
}
END_TEST

/* Even when a caller has only just left (DRIVER-4), and attended or not. */
START_TEST(background_thread_works_without_callers)
{
    struct alarm a = {.letter = 't'};
    struct job j = {0};

    setup_thread();
    if (_i & 1)
        wait_ms(1);
    lock();
    if (_i & 2)
        hf_loop_retain_driver(loop);
    if (_i & 4)
        post(&j, 'j');
    else
        set(&a, 1);
    unlock();
    await(something_happened);
    ck_assert_str_eq(trace, _i & 4 ? "j" : "t");
    lock();
    if (_i & 2)
        hf_loop_release_driver(loop);
    unlock();
    teardown();
}
END_TEST

/* Returns with the loop's lock held. A rest takes 20 ms, so a busy machine may miss one. */
static void lock_when_background_rests(void)
{
    for (;;) {
        wait_ms(1);
        local_rest_us(1000);
        lock();
        if (loop->background_rests_until_ms != NOBODY_SLEEPS)
            return;
        unlock();
    }
}

static struct alarm brief;

static bool brief_has_fired(void)
{
    return brief.fired > 0;
}

/* Armed by a thread that leaves, for a time before the rest ends. */
static void arm_brief(struct hf_timer *timer)
{
    set(&brief, 3);
    hf_waiter_wake(HF_OWNER_OF(timer, struct alarm, timer)->waiter);
}

static int64_t late_by_ms(bool is_armed_in_a_turn)
{
    struct hf_waiter w;
    struct alarm a = {.waiter = &w, .timer.fire = arm_brief};

    brief = (struct alarm){.letter = 't'};
    local_rest_us(25000); /* by now the thread drives */
    lock_when_background_rests();
    if (is_armed_in_a_turn) {
        hf_waiter_init(&w, loop);
        set(&a, 1);
        a.timer.fire = arm_brief;
        hf_loop_wait(&w);
    } else {
        set(&brief, 3);
        unlock();
    }
    await(brief_has_fired);
    return brief.fired_ms - brief.timer.due_ms;
}

/* The rest takes 20 ms. A busy machine may be late, but not most times. */
START_TEST(timer_that_is_due_before_the_background_thread_has_rested_is_in_time)
{
    int late = 0;

    setup_thread();
    for (int i = 0; i < 20; i++)
        late += late_by_ms(_i) > 8;
    ck_assert_int_lt(late, 10);
    teardown();
}
END_TEST

static bool are_signals_blocked;

static void look_at_signals(struct hf_timer *timer)
{
    sigset_t mask;

    (void)timer;
    (void)pthread_sigmask(SIG_SETMASK, NULL, &mask);
    are_signals_blocked = sigismember(&mask, SIGTERM) &&
                          sigismember(&mask, SIGINT) &&
                          sigismember(&mask, SIGCHLD);
    tell('x');
}

START_TEST(background_thread_gets_no_signals)
{
    struct hf_timer t = {.fire = look_at_signals};

    setup_thread();
    lock();
    hf_loop_arm(loop, &t, 0);
    unlock();
    await(something_happened);
    ck_assert(are_signals_blocked);
    teardown();
}
END_TEST

/* Dozing, resting, in the poller, in a task: it ends when it is told to. */
START_TEST(loop_may_be_freed_in_any_state_of_its_thread)
{
    for (int i = 0; i < 40; i++) {
        struct job j = {0};

        setup_thread();
        if (i & 1)
            wait_ms(0);
        lock();
        if (i & 2)
            hf_loop_retain_driver(loop);
        if (i & 4)
            post(&j, 'j');
        hf_loop_finish_tasks(loop);
        if (i & 2)
            hf_loop_release_driver(loop);
        unlock();
        if (i & 8)
            await(driver_sleeps);
        teardown();
    }
}
END_TEST

START_TEST(freeing_nothing_is_fine)
{
    hf_loop_free(NULL);
}
END_TEST

/* ---- memory, and another process ---- */

START_TEST(loop_without_memory_is_an_error)
{
    struct hf_loop_options options = {.size = sizeof options, .mem = &memory.hook, .thread = _i};
    struct hf_loop *const untouched = (struct hf_loop *)&options;
    bool has_failed;
    hf_status rc;
    uint64_t n = 0;

    do {
        memory_init(&memory);
        memory_fail_at(&memory, ++n);
        loop = untouched;
        rc = hf_loop_new(&loop, &options);
        if (rc == HF_OK)
            hf_loop_free(loop);
        else
            ck_assert_ptr_eq(loop, untouched);
        has_failed = memory_has_failed(&memory);
        ck_assert(rc == HF_OK || rc == HF_E_NOMEM);
        ck_assert(rc == HF_OK || has_failed); /* the thread does without */
        ck_assert_pstr_eq(memory_fini(&memory), NULL);
    } while (has_failed);
    ck_assert_uint_gt(n, 2);
}
END_TEST

START_TEST(descriptor_without_memory_is_not_watched)
{
    struct pair *p = &pairs[0];
    hf_status rc;
    int n = 0;

    setup();
    lock();
    do {
        struct hf_io failing;
        int fds[2];

        ck_assert_int_eq(pipe(fds), 0);
        failing = (struct hf_io){.fd = fds[0], .events = HF_READ,
                                 .ready = drain};
        memory_fail_at(&memory, 1);
        rc = hf_loop_watch(loop, &failing);
        memory_fail_at(&memory, 0);
        if (rc == HF_OK)
            hf_loop_unwatch(loop, &failing);
        (void)close(fds[0]);
        (void)close(fds[1]);
        pair_open(&p[n++], HF_READ);
        ck_assert_int_lt(n, PAIRS);
    } while (rc == HF_OK);
    ck_assert_int_eq(rc, HF_E_NOMEM);
    unlock();
    for (int i = 0; i < n; i++) {
        ck_assert_int_eq(write(p[i].other, "x", 1), 1);
        ck_assert_int_eq(look(&p[i]), HF_READ);
    }
    lock();
    while (n > 0)
        pair_close(&p[--n]);
    unlock();
    teardown();
}
END_TEST

static bool is_memory_out;

static void *resize_or_not(void *ctx, void *ptr, size_t old, size_t size)
{
    return is_memory_out && size > old ? NULL
                                       : hf_mem_libc.resize(ctx, ptr, old, size);
}

/* Not one byte more, for as long as it lasts: who waits is still told when his
 * time is over, and what is ready is still handled. */
START_TEST(loop_continues_without_any_memory)
{
    static const struct hf_mem scarce = {resize_or_not, NULL};
    struct hf_loop_options options = {.size = sizeof options, .mem = &scarce};

    is_memory_out = false;
    options.size = 0; /* not initialised */
    ck_assert_int_eq(hf_loop_new(&loop, &options), HF_E_INVAL);
    options.size = sizeof options;
    ck_assert_int_eq(hf_loop_new(&loop, &options), HF_OK);
    lock();
    for (int i = 0; i < 20; i++)
        pair_open(&pairs[i], HF_READ);
    is_memory_out = true;
    unlock();
    wait_ms(5);
    is_memory_out = false;
    hf_loop_dispatch(loop, 0);
    ck_assert_int_eq(write(pairs[19].other, "x", 1), 1);
    ck_assert_int_eq(look(&pairs[19]), HF_READ);
    lock();
    for (int i = 0; i < 20; i++)
        pair_close(&pairs[i]);
    unlock();
    hf_loop_free(loop);
}
END_TEST

/* Its mutex may be held by a thread that the child does not have. */
/* Where the kernel wipes a page, and where it does not. */
START_TEST(mark_is_missing_in_children_and_theirs)
{
    struct hf_fork_mark mark;
    int status;
    pid_t child;

    hf_fork_mark_init(&mark);
    if (_i == 1)
        hf_fork_mark_fini(&mark);
    ck_assert(!hf_fork_mark_is_child(&mark));
    child = fork();
    if (child == 0) {
        bool is_noticed = hf_fork_mark_is_child(&mark);

        child = fork();
        if (child == 0)
            _exit(!hf_fork_mark_is_child(&mark));
        (void)waitpid(child, &status, 0);
        _exit(status != 0 || !is_noticed);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert(!hf_fork_mark_is_child(&mark));
    hf_fork_mark_fini(&mark);
}
END_TEST

static void never(struct hf_io *io, int events)
{
    (void)io;
    (void)events;
    _exit(100);
}

/* In the child; returns the number of the first broken promise. A descriptor of
 * the parent's is ready, a timer due. */
static int use_the_parents_loop(struct pair *pair)
{
    struct hf_loop_stats stats;
    struct hf_timer timer = {.fire = look_at_signals};
    struct hf_io io = {.fd = pair->other, .events = HF_READ, .ready = never};
    struct hf_waiter w;

    alarm(20);
    pair->io.ready = never;
    if (hf_loop_timeout(loop) != -1)
        return 1;
    hf_loop_dispatch(loop, 0);
    hf_loop_dispatch(loop, -1);
    hf_loop_lock(loop); /* it is held by a thread that is not here */
    if (hf_loop_watch(loop, &io) != HF_E_FORKED)
        return 2;
    hf_loop_rewatch(loop, &pair->io, 0);
    hf_loop_unwatch(loop, &pair->io);
    hf_loop_arm(loop, &timer, 0);
    hf_loop_disarm(loop, &timer);
    hf_waiter_init(&w, loop);
    hf_loop_retain_driver(loop);
    hf_loop_release_driver(loop);
    hf_loop_quiesce(loop);
    hf_loop_resume(loop);
    hf_loop_finish_tasks(loop);
    hf_loop_wait(&w);
    hf_waiter_wake(&w);
    hf_loop_unlock(loop);
    hf_loop_get_stats(loop, &stats);
    if (stats.turns != 0)
        return 3;
    (void)hf_loop_fd(loop);
    hf_loop_free(loop);
    return 0;
}

/* And the parent's descriptors are watched as before: what is in epoll's set is
 * shared with the child. */
START_TEST(child_process_changes_nothing_of_the_parents)
{
    struct pair *pair = &pairs[0];
    int status;
    pid_t child;

    setup();
    lock();
    pair_open(pair, HF_READ);
    child = fork();
    if (child == 0)
        _exit(use_the_parents_loop(pair));
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    unlock();
    ck_assert_int_eq(write(pair->other, "x", 1), 1);
    ck_assert_int_eq(look(pair), HF_READ);
    lock();
    pair_close(pair);
    unlock();
    teardown();
}
END_TEST

START_TEST(child_process_may_only_free_the_loop)
{
    int status;
    pid_t child;

    setup_thread();
    ck_assert(!hf_loop_forked(loop));
    lock();
    child = fork();
    if (child == 0) {
        if (!hf_loop_forked(loop))
            _exit(1);
        hf_loop_free(loop);
        _exit(memory_fini(&memory) ? 2 : 0);
    }
    unlock();
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    wait_ms(1);
    teardown();
}
END_TEST

static TCase *case_background_thread(void)
{
    TCase *c = tcase_create("the background thread");

    tcase_set_timeout(c, 30);
    tcase_add_test(c, without_a_thread_nothing_happens_by_itself);
    tcase_add_loop_test(c, background_thread_works_without_callers, 0, 8);
    tcase_add_loop_test(
        c, timer_that_is_due_before_the_background_thread_has_rested_is_in_time,
        0, 2);
    tcase_add_test(c, background_thread_gets_no_signals);
    tcase_add_test(c, loop_may_be_freed_in_any_state_of_its_thread);
    tcase_add_test(c, freeing_nothing_is_fine);
    return c;
}

static TCase *case_trouble(void)
{
    TCase *c = tcase_create("trouble");

    tcase_add_loop_test(c, loop_without_memory_is_an_error, 0, 2);
    tcase_add_test(c, descriptor_without_memory_is_not_watched);
    tcase_add_test(c, loop_continues_without_any_memory);
    tcase_add_loop_test(c, mark_is_missing_in_children_and_theirs, 0, 2);
    tcase_add_test(c, child_process_changes_nothing_of_the_parents);
    tcase_add_test(c, child_process_may_only_free_the_loop);
    return c;
}

int main(void)
{
    Suite *s = suite_create("net/loop, its thread");

    suite_add_tcase(s, case_background_thread());
    suite_add_tcase(s, case_trouble());
    return suite_run(s);
}
