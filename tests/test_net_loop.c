/* The loop: what a turn does, and which thread takes it. Rules SEAT-1 to
 * SEAT-6, SEAT-8 and SEAT-9
 * of drive.c. Threads meet at events, not after so many milliseconds; where one
 * must be asleep first, the test looks at the loop until it is. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/base/mem.h"
#include "net/loop/loop.h"
#include "net/loop/loop_inner.h"
#include "tests/support/local.h"
#include "tests/support/memory.h"
#include "tests/support/promise.h"
#include "tests/support/suite.h"

#define LONG_MS 10000     /* longer than anything here takes */
#define CALLERS 8

static struct memory memory;
static struct hf_loop *loop;
/* Under the lock. */
static char story[256];   /* what happened, a letter each */
static unsigned waits;    /* how many callers have begun to wait */

static void setup_with(bool thread)
{
    struct hf_loop_options options = {.mem = &memory.hook, .thread = thread};

    memory_init(&memory);
    ck_assert_int_eq(hf_loop_new(&loop, &options), HF_OK);
    story[0] = '\0';
}

static void setup(void)
{
    setup_with(false);
}

static void setup_thread(void)
{
    setup_with(true);
}

static void teardown(void)
{
    hf_loop_free(loop);
    ck_assert_pstr_eq(memory_fini(&memory), NULL);
}

static void tell(char what)
{
    size_t len = strlen(story);

    must(len + 1 < sizeof story, "the story is short");
    story[len] = what;
    story[len + 1] = '\0';
}

static void lock(void)
{
    hf_loop_lock(loop);
}

static void unlock(void)
{
    hf_loop_unlock(loop);
}

/* Looks until it is so, which must not take long. */
static void await(bool (*is_so)(void))
{
    int64_t end_ms = local_now_ms() + LONG_MS;
    bool it_is;

    for (;;) {
        lock();
        it_is = is_so();
        unlock();
        if (it_is)
            return;
        must(local_now_ms() < end_ms, "what is awaited comes");
        local_rest_us(100);
    }
}

static bool something_happened(void)
{
    return story[0] != '\0';
}

static bool driver_sleeps(void)
{
    return loop->is_driven && loop->sleeps_until_ms != NOBODY_SLEEPS;
}

/* ---- alarms: a timer that wakes a waiter, or tells its letter ---- */

struct alarm {
    struct hf_timer timer;
    struct hf_waiter *waiter;
    char letter;
    unsigned fired;
    int64_t fired_ms;
};

static void ring(struct hf_timer *timer)
{
    struct alarm *a = HF_OWNER_OF(timer, struct alarm, timer);

    a->fired++;
    a->fired_ms = hf_loop_now(loop);
    if (a->letter)
        tell(a->letter);
    if (a->waiter)
        hf_waiter_wake(a->waiter);
}

static void set(struct alarm *a, int64_t in_ms)
{
    a->timer.fire = ring;
    hf_loop_arm(loop, &a->timer, hf_loop_now(loop) + in_ms);
}

/* Blocks for so long. */
static void wait_ms(int64_t ms)
{
    struct hf_waiter w;
    struct alarm a = {.waiter = &w};

    lock();
    hf_waiter_init(&w, loop);
    set(&a, ms);
    waits++;
    hf_loop_wait(&w);
    must(a.fired == 1, "a caller returns when it was woken, and then alone");
}

/* ---- timers ---- */

START_TEST(timer_fires_at_its_time_and_not_before)
{
    static const int64_t delays[] = {30, 0, 7, 1, 9, 3};
    struct alarm a[6] = {{.letter = 'f'}, {.letter = 'a'}, {.letter = 'd'},
                         {.letter = 'b'}, {.letter = 'e'}, {.letter = 'c'}};
    int64_t start_ms;

    setup();
    lock();
    start_ms = hf_loop_now(loop);
    for (int i = 0; i < 6; i++)
        set(&a[i], delays[i]);
    unlock();
    while (!a[0].fired)
        hf_loop_dispatch(loop, -1);
    for (int i = 0; i < 6; i++) {
        ck_assert_uint_eq(a[i].fired, 1);
        ck_assert_int_ge(a[i].fired_ms, start_ms + delays[i]);
    }
    ck_assert_str_eq(story, "abcdef");
    teardown();
}
END_TEST

static void ring_at_once(struct hf_timer *timer)
{
    tell('t');
    hf_loop_arm(loop, timer, 0);
}

START_TEST(timer_armed_for_the_past_waits_for_the_next_turn)
{
    struct hf_timer t = {.fire = ring_at_once};

    setup();
    lock();
    hf_loop_arm(loop, &t, 0);
    unlock();
    for (int i = 0; i < 3; i++)
        hf_loop_dispatch(loop, 0);
    ck_assert_str_eq(story, "ttt");
    lock();
    hf_loop_disarm(loop, &t);
    unlock();
    hf_loop_dispatch(loop, 0);
    ck_assert_str_eq(story, "ttt");
    teardown();
}
END_TEST

static struct alarm victim = {.letter = 'v'};

static void ring_and_disarm(struct hf_timer *timer)
{
    (void)timer;
    tell('k');
    hf_loop_disarm(loop, &victim.timer);
}

START_TEST(timer_may_disarm_another_that_is_due)
{
    struct hf_timer t = {.fire = ring_and_disarm};

    setup();
    lock();
    hf_loop_arm(loop, &t, 0);
    set(&victim, 1);
    unlock();
    local_rest_us(3000); /* both are due now, the earlier one first */
    hf_loop_dispatch(loop, 0);
    hf_loop_dispatch(loop, 0);
    ck_assert_str_eq(story, "k");
    teardown();
}
END_TEST

/* ---- tasks ---- */

struct job {
    struct hf_task task;
    char letter;
    struct job *posts;
    struct job *withdraws;
};

static void run_job(struct hf_task *task)
{
    struct job *j = HF_OWNER_OF(task, struct job, task);

    tell(j->letter);
    if (j->withdraws)
        hf_loop_unpost(loop, &j->withdraws->task);
    if (j->posts)
        hf_loop_post(loop, &j->posts->task);
}

static void post(struct job *j, char letter)
{
    hf_task_init(&j->task, run_job);
    j->letter = letter;
    hf_loop_post(loop, &j->task);
}

START_TEST(tasks_run_in_order_each_once)
{
    struct job j[3] = {0};

    setup();
    lock();
    for (int i = 0; i < 3; i++)
        post(&j[i], (char)('a' + i));
    hf_loop_post(loop, &j[0].task); /* it has not run yet */
    unlock();
    ck_assert_str_eq(story, "");
    hf_loop_dispatch(loop, 0);
    ck_assert_str_eq(story, "abc");
    hf_loop_dispatch(loop, 0);
    ck_assert_str_eq(story, "abc");
    teardown();
}
END_TEST

START_TEST(task_posted_by_a_task_waits_for_the_next_turn)
{
    struct job a = {0}, b = {0};

    setup();
    a.posts = &a;
    lock();
    post(&a, 'a');
    post(&b, 'b');
    unlock();
    for (int i = 1; i <= 3; i++)
        hf_loop_dispatch(loop, 0);
    ck_assert_str_eq(story, "abaa");
    lock();
    hf_loop_unpost(loop, &a.task);
    unlock();
    hf_loop_dispatch(loop, 0);
    ck_assert_str_eq(story, "abaa");
    teardown();
}
END_TEST

START_TEST(task_may_withdraw_another)
{
    struct job a = {0}, b = {0}, c = {0};

    setup();
    a.withdraws = &b;
    c.withdraws = &c;
    lock();
    post(&a, 'a');
    post(&b, 'b');
    post(&c, 'c');
    unlock();
    hf_loop_dispatch(loop, 0);
    hf_loop_dispatch(loop, 0);
    ck_assert_str_eq(story, "ac");
    teardown();
}
END_TEST

/* As a user's callback is made: without the lock, and the user frees it. */
static void run_and_free(struct hf_task *task)
{
    struct job *j = HF_OWNER_OF(task, struct job, task);
    char letter = j->letter;

    unlock();
    memset(j, 0x5a, sizeof *j);
    free(j);
    lock();
    tell(letter);
}

START_TEST(task_may_be_freed_while_it_runs)
{
    setup();
    lock();
    for (char letter = 'a'; letter <= 'c'; letter++) {
        struct job *j = local_new(sizeof *j);

        j->letter = letter;
        hf_task_init(&j->task, run_and_free);
        hf_loop_post(loop, &j->task);
    }
    unlock();
    hf_loop_dispatch(loop, 0);
    ck_assert_str_eq(story, "abc");
    teardown();
}
END_TEST

static void run_and_block(struct hf_task *task)
{
    (void)task;
    unlock();
    wait_ms(2);
    lock();
    tell('a');
}

/* SEAT-1: a lock's callback may take another lock. Others wait for their turn. */
START_TEST(task_may_block_on_the_loop)
{
    struct hf_task task;
    struct job b = {0};

    setup();
    hf_task_init(&task, run_and_block);
    lock();
    hf_loop_post(loop, &task);
    post(&b, 'b');
    unlock();
    hf_loop_dispatch(loop, 0);
    ck_assert_str_eq(story, "ab");
    teardown();
}
END_TEST

/* ---- the end of a turn ---- */

struct hook {
    struct hf_turn turn;
    char letter;
    int again;                        /* asks for itself so often */
};

static void end_turn(struct hf_turn *turn)
{
    struct hook *h = HF_OWNER_OF(turn, struct hook, turn);

    tell(h->letter);
    if (h->again-- > 0)
        hf_loop_at_turn_end(loop, turn);
}

static struct hook hook;

static void ring_and_hook(struct hf_timer *timer)
{
    (void)timer;
    tell('t');
    hf_loop_at_turn_end(loop, &hook.turn);
}

START_TEST(hook_comes_once_at_the_end_of_the_turn)
{
    struct hf_timer t[2] = {{.fire = ring_and_hook}, {.fire = ring_and_hook}};

    setup();
    hook = (struct hook){.letter = 'h'};
    hf_turn_init(&hook.turn, end_turn);
    lock();
    hf_loop_arm(loop, &t[0], 0);
    hf_loop_arm(loop, &t[1], 0);
    unlock();
    hf_loop_dispatch(loop, 0);
    hf_loop_dispatch(loop, 0);
    ck_assert_str_eq(story, "tth");
    teardown();
}
END_TEST

START_TEST(hook_comes_before_the_lock_is_given_up)
{
    struct hook a = {.letter = 'a', .again = 1}, b = {.letter = 'b'},
                c = {.letter = 'c'};

    setup();
    hf_turn_init(&a.turn, end_turn);
    hf_turn_init(&b.turn, end_turn);
    hf_turn_init(&c.turn, end_turn);
    lock();
    hf_loop_at_turn_end(loop, &a.turn);
    hf_loop_at_turn_end(loop, &b.turn);
    hf_loop_at_turn_end(loop, &c.turn);
    hf_loop_at_turn_end(loop, &a.turn);
    hf_loop_forget_turn(loop, &c.turn);
    hf_loop_forget_turn(loop, &c.turn);
    ck_assert_str_eq(story, "");
    unlock();
    ck_assert_str_eq(story, "aba");
    lock();
    hf_loop_at_turn_end(loop, &c.turn);
    unlock();
    ck_assert_str_eq(story, "abac");
    teardown();
}
END_TEST

/* ---- descriptors ---- */

#define PAIRS 200                     /* more than are told at once */

struct pair {
    struct hf_io io;
    int other;                        /* the far end of io.fd */
    int events;                       /* what was told, since the last look */
    unsigned told;
};
static struct pair pairs[PAIRS];

static void drain(struct hf_io *io, int events)
{
    struct pair *p = HF_OWNER_OF(io, struct pair, io);
    char c;

    p->events |= events;
    p->told++;
    if (events & HF_READ)
        (void)read(io->fd, &c, 1);
}

static void pair_open(struct pair *p, int events)
{
    int fds[2];

    ck_assert_int_eq(
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds),
        0);
    *p = (struct pair){.io = {.fd = fds[0], .events = events, .ready = drain},
                       .other = fds[1]};
    ck_assert_int_eq(hf_loop_watch(loop, &p->io), HF_OK);
}

static void pair_close(struct pair *p)
{
    hf_loop_unwatch(loop, &p->io);
    (void)close(p->io.fd);
    (void)close(p->other);
}

static int look(struct pair *p)
{
    int events;

    p->events = 0;
    hf_loop_dispatch(loop, 0);
    events = p->events;
    return events;
}

START_TEST(descriptor_tells_what_was_asked)
{
    struct pair *p = &pairs[0];

    setup();
    lock();
    pair_open(p, HF_READ);
    unlock();
    ck_assert_int_eq(look(p), 0);
    ck_assert_int_eq(write(p->other, "x", 1), 1);
    ck_assert_int_eq(look(p), HF_READ);
    ck_assert_int_eq(look(p), 0);
    lock();
    hf_loop_rewatch(loop, &p->io, HF_WRITE);
    unlock();
    ck_assert_int_eq(look(p), HF_WRITE);
    ck_assert_int_eq(write(p->other, "x", 1), 1);
    ck_assert_int_eq(look(p), HF_WRITE);
    lock();
    hf_loop_rewatch(loop, &p->io, HF_READ | HF_WRITE);
    unlock();
    ck_assert_int_eq(look(p), HF_READ | HF_WRITE);
    lock();
    hf_loop_rewatch(loop, &p->io, HF_READ);
    unlock();
    ck_assert_int_eq(look(p), 0);
    ck_assert_int_eq(shutdown(p->other, SHUT_WR), 0);
    ck_assert_int_eq(look(p) & HF_READ, HF_READ);
    (void)close(p->other);
    ck_assert_int_eq(look(p), HF_READ | HF_WRITE); /* hung up */
    p->other = -1;
    lock();
    pair_close(p);
    unlock();
    ck_assert_int_eq(look(p), 0);
    teardown();
}
END_TEST

/* The first that is told replaces all others, which were ready, too, by new
 * ones with the same numbers, which are not. */
static void replace_others(struct hf_io *io, int events)
{
    struct pair *p = HF_OWNER_OF(io, struct pair, io);

    drain(io, events);
    for (int i = 0; i < 10; i++)
        if (&pairs[i] != p)
            pair_close(&pairs[i]);
    for (int i = 0; i < 10; i++)
        if (&pairs[i] != p)
            pair_open(&pairs[i], HF_READ);
}

START_TEST(event_of_a_closed_descriptor_does_not_reach_its_successor)
{
    unsigned told = 0;

    setup();
    lock();
    for (int i = 0; i < 10; i++) {
        pair_open(&pairs[i], HF_READ);
        pairs[i].io.ready = replace_others;
        ck_assert_int_eq(write(pairs[i].other, "x", 1), 1);
    }
    unlock();
    hf_loop_dispatch(loop, 0);
    hf_loop_dispatch(loop, 0);
    for (int i = 0; i < 10; i++) {
        told += pairs[i].told;
        ck_assert_int_eq(write(pairs[i].other, "y", 1), 1);
        pairs[i].io.ready = drain;
    }
    ck_assert_uint_eq(told, 1);
    hf_loop_dispatch(loop, 0);
    for (int i = 0; i < 10; i++)
        ck_assert_uint_ge(pairs[i].told, 1);
    lock();
    for (int i = 0; i < 10; i++)
        pair_close(&pairs[i]);
    unlock();
    teardown();
}
END_TEST

START_TEST(all_ready_descriptors_are_told_in_a_few_turns)
{
    unsigned told = 0;

    setup();
    lock();
    for (int i = 0; i < PAIRS; i++) {
        pair_open(&pairs[i], HF_READ);
        ck_assert_int_eq(write(pairs[i].other, "x", 1), 1);
    }
    unlock();
    for (int i = 0; i <= PAIRS / POLLER_BATCH; i++)
        hf_loop_dispatch(loop, 0);
    for (int i = 0; i < PAIRS; i++)
        told += pairs[i].told;
    ck_assert_uint_eq(told, PAIRS);
    lock();
    for (int i = 0; i < PAIRS; i++)
        pair_close(&pairs[i]);
    unlock();
    teardown();
}
END_TEST

/* ---- another event loop drives: hf_loop_fd, _timeout, _dispatch ---- */

START_TEST(timeout_says_when_to_come_again)
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

static void *call_some_times(void *arg)
{
    for (int i = 0; i < 50; i++)
        wait_ms(i % 3);
    return arg;
}

/* As somebody else's event loop would: poll(2) on our descriptor and on theirs.
 * In a build with poll(2) there is none, and it comes by from time to time. */
START_TEST(foreign_loop_hears_of_everything)
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
        story[0] = '\0';
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
        ours.revents = (short)(story[0] != '\0');
        unlock();
    } while (!ours.revents);
    return arg;
}

static bool nobody_drives(void)
{
    return !loop->is_driven && loop->sleeps_until_ms == HF_NEVER;
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
        ck_assert_str_eq(story, _i ? "p" : "t");
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
    enum { TIMER, TASK, NOTHING } what = _i;
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
        ck_assert_str_eq(story, what == TASK ? "p" : "");
        ck_assert_int_eq(poll(&ours, 1, 0), 0);
        lock();
        hf_loop_disarm(loop, &left_behind.timer);
        unlock();
    }
    teardown();
}
END_TEST

START_TEST(dispatch_waits_as_long_as_it_was_told)
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

static struct hf_waiter sleeper;
static struct alarm alarm_of_sleeper = {.waiter = &sleeper};

static void *sleep_well(void *arg)
{
    lock();
    hf_waiter_init(&sleeper, loop);
    waits++;
    hf_loop_wait(&sleeper);
    return arg;
}

/* In the seat, or while another is. */
static bool one_waits(void)
{
    return waits == 1 && driver_sleeps();
}

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

START_TEST(sleeping_driver_hears_of_it)
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

/* ---- callers that drive for each other ---- */

static void *call_often(void *arg)
{
    uint64_t seed = (uintptr_t)arg;

    for (int i = 0; i < 200; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        wait_ms((int64_t)(seed >> 62));
    }
    return NULL;
}

static void start_callers(pthread_t threads[], void *(*call)(void *))
{
    for (uintptr_t i = 0; i < CALLERS; i++)
        (void)pthread_create(&threads[i], NULL, call, (void *)(i + 1));
}

static void join_callers(pthread_t threads[])
{
    for (int i = 0; i < CALLERS; i++)
        (void)pthread_join(threads[i], NULL);
}

/* Each has an answer of its own to wait for; wait_ms says if it is not it. */
START_TEST(callers_drive_for_each_other)
{
    pthread_t threads[CALLERS];

    setup_with(_i & 1);
    if (_i & 2) {
        lock();
        hf_loop_attend(loop);
        unlock();
    }
    start_callers(threads, call_often);
    join_callers(threads);
    if (_i & 2) {
        lock();
        hf_loop_unattend(loop);
        unlock();
    }
    ck_assert_uint_eq(loop->wheel.count, 0);
    ck_assert(hf_list_is_empty(&loop->sleepers));
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
        must(token == me || laps == 0, "who is woken holds the token");
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

START_TEST(nobody_is_left_asleep)
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

/* SEAT-4: no switch of threads for a lone caller, but when the machine has kept it
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

START_TEST(lone_caller_drives_for_itself)
{
    int by_itself = 0;

    setup_thread();
    for (int i = 0; i < lone_calls[_i].calls; i++) {
        struct hf_waiter w;
        struct alarm a = {.waiter = &w};
        bool is_seat_free;

        lock();
        hf_waiter_init(&w, loop);
        set(&a, lone_calls[_i].wait_ms);
        a.timer.fire = note_thread;
        is_seat_free = !loop->is_driven;
        hf_loop_wait(&w);
        by_itself += is_seat_free && pthread_equal(whose, pthread_self());
        local_rest_us(lone_calls[_i].pause_us);
    }
    ck_assert_int_gt(by_itself, lone_calls[_i].calls / 2);
    teardown();
}
END_TEST

/* A caller that drives waits in the poller, and is woken out of it; one that
 * finds it driving sleeps, and has the seat when the first one leaves. */
START_TEST(what_threads_do_is_counted)
{
    struct hf_loop_stats before, after;
    pthread_t thread;

    setup();
    hf_loop_stats(loop, &before);
    hf_loop_dispatch(loop, 0);
    hf_loop_stats(loop, &after);
    ck_assert_uint_eq(after.turns - before.turns, 1);
    ck_assert_uint_eq(after.waits, before.waits);
    ck_assert_uint_eq(after.sleeps + after.seats_passed, 0);
    (void)pthread_create(&thread, NULL, sleep_well, NULL);
    await(one_waits);
    lock();
    wake_sleeper();
    unlock();
    (void)pthread_join(thread, NULL);
    hf_loop_stats(loop, &after);
    ck_assert_uint_ge(after.waits - before.waits, 1);
    ck_assert_uint_ge(after.wakeups - before.wakeups, 1);
    teardown();
}
END_TEST

START_TEST(seats_and_sleeps_are_counted)
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
    hf_loop_stats(loop, &stats);
    ck_assert_uint_gt(stats.sleeps, 0);
    ck_assert_uint_gt(stats.seats_passed, 0);
    ck_assert_uint_ge(stats.turns, stats.waits);
    teardown();
}
END_TEST

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
    return loop->dispatchers == 1;
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

/* SEAT-1, SEAT-3: a callback that takes its time does not delay a caller. Here the
 * thread in the seat runs it while a caller is already asleep. */
START_TEST(slow_task_does_not_keep_the_seat)
{
    struct hf_task slow;
    pthread_t dispatcher, caller;

    setup_with(_i);
    if (_i) {
        lock();
        hf_loop_attend(loop);
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
    ck_assert_str_eq(story, "");
    (void)sem_post(&may_end);
    if (_i) {
        lock();
        hf_loop_unattend(loop);
        hf_loop_finish_tasks(loop);
        unlock();
    } else {
        (void)pthread_join(dispatcher, NULL);
    }
    ck_assert_str_eq(story, "s");
    teardown();
}
END_TEST

/* ---- SEAT-9: tasks while a caller drives ---- */

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
    return loop->does_background_doze;
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

/* A thread that dispatches runs it beside the caller that keeps the seat. */
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
    ck_assert_str_eq(story, "w");
    ck_assert(pthread_equal(job.thread, dispatcher));
    end_sleeper(caller);
    teardown();
}
END_TEST

/* Another event loop that sleeps on hf_loop_fd is woken, each time, though the
 * caller in the seat sleeps on the same descriptors. */
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
        ck_assert_uint_eq(strlen(story), (size_t)i + 1);
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
    ck_assert_str_eq(story, "sabc");
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
    by_timer();
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
    ck_assert_str_eq(story, "sjf");
    teardown();
}
END_TEST

START_TEST(finishing_runs_what_is_posted)
{
    struct job a = {0}, b = {0};

    setup();
    a.posts = &b;
    hf_task_init(&b.task, run_job);
    b.letter = 'b';
    lock();
    post(&a, 'a');
    hf_loop_finish_tasks(loop);
    ck_assert_str_eq(story, "ab");
    hf_loop_finish_tasks(loop);
    unlock();
    ck_assert_str_eq(story, "ab");
    teardown();
}
END_TEST

/* ---- quiescing ---- */

/* Nobody handles a thing between quiesce and resume, whoever drove before. */
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
        hf_loop_attend(loop);
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
    ck_assert_str_eq(story, "t");
    lock();
    if (_i > 0)
        hf_loop_unattend(loop);
    unlock();
    teardown();
}
END_TEST

static void *quiesce_often(void *arg)
{
    for (int i = 0; i < 100; i++) {
        lock();
        hf_loop_quiesce(loop);
        must(loop->is_driven, "the seat is kept");
        unlock();
        lock();
        must(loop->is_driven, "the seat is kept");
        hf_loop_resume(loop);
        unlock();
    }
    return arg;
}

/* Nobody keeps the seat but the background thread, which takes it after REST_MS;
 * and whoever calls then is answered. */
static void check_seat(bool has_thread)
{
    lock();
    must(has_thread || !loop->is_driven, "the seat is left");
    unlock();
    wait_ms(1);
}

START_TEST(all_who_quiesce_and_all_who_call_come_through)
{
    pthread_t callers[CALLERS], quiescers[3];

    setup_with(_i);
    start_callers(callers, call_some_times);
    for (int i = 0; i < 3; i++)
        (void)pthread_create(&quiescers[i], NULL, quiesce_often, NULL);
    for (int i = 0; i < 3; i++)
        (void)pthread_join(quiescers[i], NULL);
    join_callers(callers);
    check_seat(_i == 1);
    teardown();
}
END_TEST

/* ---- the background thread ---- */

START_TEST(without_a_thread_nothing_happens_by_itself)
{
    struct alarm a = {.letter = 't'};

    setup();
    lock();
    hf_loop_attend(loop);
    set(&a, 0);
    hf_loop_unattend(loop);
    unlock();
    local_rest_us(3000);
    ck_assert_uint_eq(a.fired, 0);
    hf_loop_dispatch(loop, 0);
    ck_assert_uint_eq(a.fired, 1);
    teardown();
}
END_TEST

/* Even when a caller has only just left (SEAT-4), and attended or not. */
START_TEST(background_thread_does_what_no_caller_does)
{
    struct alarm a = {.letter = 't'};
    struct job j = {0};

    setup_thread();
    if (_i & 1)
        wait_ms(1);
    lock();
    if (_i & 2)
        hf_loop_attend(loop);
    if (_i & 4)
        post(&j, 'j');
    else
        set(&a, 1);
    unlock();
    await(something_happened);
    ck_assert_str_eq(story, _i & 4 ? "j" : "t");
    lock();
    if (_i & 2)
        hf_loop_unattend(loop);
    unlock();
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
            hf_loop_attend(loop);
        if (i & 4)
            post(&j, 'j');
        hf_loop_finish_tasks(loop);
        if (i & 2)
            hf_loop_unattend(loop);
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
    struct hf_loop_options options = {.mem = &memory.hook, .thread = _i};
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
START_TEST(loop_goes_on_without_any_memory)
{
    static const struct hf_mem scarce = {resize_or_not, NULL};
    struct hf_loop_options options = {.mem = &scarce};

    is_memory_out = false;
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
    struct hf_timer timer = {.fire = NULL};
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
    hf_loop_attend(loop);
    hf_loop_unattend(loop);
    hf_loop_quiesce(loop);
    hf_loop_resume(loop);
    hf_loop_finish_tasks(loop);
    hf_loop_wait(&w);
    hf_waiter_wake(&w);
    hf_loop_unlock(loop);
    hf_loop_stats(loop, &stats);
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

static TCase *case_turns(void)
{
    TCase *c = tcase_create("turns");

    tcase_add_test(c, timer_fires_at_its_time_and_not_before);
    tcase_add_test(c, timer_armed_for_the_past_waits_for_the_next_turn);
    tcase_add_test(c, timer_may_disarm_another_that_is_due);
    tcase_add_test(c, tasks_run_in_order_each_once);
    tcase_add_test(c, task_posted_by_a_task_waits_for_the_next_turn);
    tcase_add_test(c, task_may_withdraw_another);
    tcase_add_test(c, task_may_be_freed_while_it_runs);
    tcase_add_test(c, task_may_block_on_the_loop);
    tcase_add_test(c, hook_comes_once_at_the_end_of_the_turn);
    tcase_add_test(c, hook_comes_before_the_lock_is_given_up);
    return c;
}

static TCase *case_descriptors(void)
{
    TCase *c = tcase_create("descriptors");

    tcase_add_test(c, descriptor_tells_what_was_asked);
    tcase_add_test(c,
                   event_of_a_closed_descriptor_does_not_reach_its_successor);
    tcase_add_test(c, all_ready_descriptors_are_told_in_a_few_turns);
    return c;
}

static TCase *case_foreign(void)
{
    TCase *c = tcase_create("a foreign loop");

    tcase_set_timeout(c, 30);
    tcase_add_test(c, timeout_says_when_to_come_again);
    tcase_add_test(c, foreign_loop_hears_of_everything);
    tcase_add_loop_test(c, foreign_loop_is_woken_by_other_threads, 0, 2);
    tcase_add_loop_test(c, foreign_loop_is_woken_after_a_blocked_caller, 0, 3);
    tcase_add_test(c, dispatch_waits_as_long_as_it_was_told);
    tcase_add_test(c, dispatch_next_to_a_driver_waits);
    return c;
}

static TCase *case_callers(void)
{
    TCase *c = tcase_create("callers");

    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, sleeping_driver_hears_of_it, 0, 2 * ROWS(wakings));
    tcase_add_test(c, waiter_woken_before_it_waits_does_not_wait);
    tcase_add_loop_test(c, callers_drive_for_each_other, 0, 4);
    tcase_add_loop_test(c, nobody_is_left_asleep, 0, 2);
    tcase_add_test(c, what_threads_do_is_counted);
    tcase_add_test(c, seats_and_sleeps_are_counted);
    tcase_add_loop_test(c, lone_caller_drives_for_itself, 0,
                        ROWS(lone_calls));
    tcase_add_loop_test(c, slow_task_does_not_keep_the_seat, 0, 2);
    tcase_add_loop_test(c, blocked_caller_runs_no_task, 0, 4);
    tcase_add_test(c, dispatcher_runs_tasks_beside_a_caller);
    tcase_add_test(c, foreign_loop_runs_tasks_beside_a_caller);
    tcase_add_test(c, first_tasks_run_before_all_others);
    tcase_add_test(c, task_posted_while_another_thread_runs_tasks_is_run);
    tcase_add_test(c, finishing_waits_for_the_task_of_another_thread);
    tcase_add_test(c, finishing_runs_what_is_posted);
    tcase_add_loop_test(c, nothing_happens_while_quiesced, 0, 3);
    tcase_add_loop_test(c, all_who_quiesce_and_all_who_call_come_through, 0, 2);
    return c;
}

static TCase *case_background(void)
{
    TCase *c = tcase_create("the background thread");

    tcase_set_timeout(c, 30);
    tcase_add_test(c, without_a_thread_nothing_happens_by_itself);
    tcase_add_loop_test(c, background_thread_does_what_no_caller_does, 0, 8);
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
    tcase_add_test(c, loop_goes_on_without_any_memory);
    tcase_add_loop_test(c, mark_is_missing_in_children_and_theirs, 0, 2);
    tcase_add_test(c, child_process_changes_nothing_of_the_parents);
    tcase_add_test(c, child_process_may_only_free_the_loop);
    return c;
}

int main(void)
{
    Suite *s = suite_create("net/loop");

    suite_add_tcase(s, case_turns());
    suite_add_tcase(s, case_descriptors());
    suite_add_tcase(s, case_foreign());
    suite_add_tcase(s, case_callers());
    suite_add_tcase(s, case_background());
    suite_add_tcase(s, case_trouble());
    return suite_run(s);
}
