/* What a turn of the loop does: timers, tasks, hooks at its end, descriptors. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/loop/poller.h"
#include "tests/support/suite.h"
#include "tests/support/turn_kit.h"

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
    ck_assert_str_eq(trace, "abcdef");
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
    ck_assert_str_eq(trace, "ttt");
    lock();
    hf_loop_disarm(loop, &t);
    unlock();
    hf_loop_dispatch(loop, 0);
    ck_assert_str_eq(trace, "ttt");
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
    ck_assert_str_eq(trace, "k");
    teardown();
}
END_TEST

/* ---- tasks ---- */

START_TEST(tasks_run_in_order_each_once)
{
    struct job j[3] = {0};

    setup();
    lock();
    for (int i = 0; i < 3; i++)
        post(&j[i], (char)('a' + i));
    hf_loop_post(loop, &j[0].task); /* it has not run yet */
    unlock();
    ck_assert_str_eq(trace, "");
    hf_loop_dispatch(loop, 0);
    ck_assert_str_eq(trace, "abc");
    hf_loop_dispatch(loop, 0);
    ck_assert_str_eq(trace, "abc");
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
    ck_assert_str_eq(trace, "abaa");
    lock();
    hf_loop_unpost(loop, &a.task);
    unlock();
    hf_loop_dispatch(loop, 0);
    ck_assert_str_eq(trace, "abaa");
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
    ck_assert_str_eq(trace, "ac");
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
    ck_assert_str_eq(trace, "abc");
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

/* DRIVER-1: a lock's callback may take another lock. Others wait for their turn. */
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
    ck_assert_str_eq(trace, "ab");
    teardown();
}
END_TEST

/* ---- the end of a turn ---- */

struct hook {
    struct hf_turn_hook turn;
    char letter;
    int again;                        /* asks for itself so often */
};

static void end_turn(struct hf_turn_hook *turn)
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
    hf_turn_hook_init(&hook.turn, end_turn);
    lock();
    hf_loop_arm(loop, &t[0], 0);
    hf_loop_arm(loop, &t[1], 0);
    unlock();
    hf_loop_dispatch(loop, 0);
    hf_loop_dispatch(loop, 0);
    ck_assert_str_eq(trace, "tth");
    teardown();
}
END_TEST

START_TEST(hook_runs_before_the_lock_is_released)
{
    struct hook a = {.letter = 'a', .again = 1}, b = {.letter = 'b'},
                c = {.letter = 'c'};

    setup();
    hf_turn_hook_init(&a.turn, end_turn);
    hf_turn_hook_init(&b.turn, end_turn);
    hf_turn_hook_init(&c.turn, end_turn);
    lock();
    hf_loop_at_turn_end(loop, &a.turn);
    hf_loop_at_turn_end(loop, &b.turn);
    hf_loop_at_turn_end(loop, &c.turn);
    hf_loop_at_turn_end(loop, &a.turn);
    hf_loop_cancel_turn_end(loop, &c.turn);
    hf_loop_cancel_turn_end(loop, &c.turn);
    ck_assert_str_eq(trace, "");
    unlock();
    ck_assert_str_eq(trace, "aba");
    lock();
    hf_loop_at_turn_end(loop, &c.turn);
    unlock();
    ck_assert_str_eq(trace, "abac");
    teardown();
}
END_TEST

/* ---- descriptors ---- */

START_TEST(descriptor_reports_the_requested_events)
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

START_TEST(all_ready_descriptors_are_reported_in_a_few_turns)
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
    tcase_add_test(c, hook_runs_before_the_lock_is_released);
    return c;
}

static TCase *case_descriptors(void)
{
    TCase *c = tcase_create("descriptors");

    tcase_add_test(c, descriptor_reports_the_requested_events);
    tcase_add_test(c,
                   event_of_a_closed_descriptor_does_not_reach_its_successor);
    tcase_add_test(c, all_ready_descriptors_are_reported_in_a_few_turns);
    return c;
}

int main(void)
{
    Suite *s = suite_create("net/loop");

    suite_add_tcase(s, case_turns());
    suite_add_tcase(s, case_descriptors());
    return suite_run(s);
}
