/* The timing wheel against a dumb twin: an array that is searched from end to
 * end, and so cannot be wrong. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "net/base/mem.h"
#include "net/loop/wheel.h"
#include "net/net.h"
#include "tests/support/dice.h"
#include "tests/support/promise.h"
#include "tests/support/suite.h"

#define LOW (INT64_C(1) << HF_WHEEL_LOW_BITS)
#define MIDDLE (LOW << HF_WHEEL_UP_BITS)
#define TOP (MIDDLE << HF_WHEEL_UP_BITS)
#define DAY INT64_C(86400000)
/* How far the last bucket of the top level is away. */
#define LAST (((INT64_C(1) << HF_WHEEL_UP_BITS) - 1) * MIDDLE)

/* ---- a wheel, its timers and their twins ---- */

#define TIMERS 96

struct twin {
    struct hf_timer timer;
    bool is_armed;
    bool waits_for_next;      /* armed for the past since the last advance */
    int64_t due_ms;
    int64_t comes_ms;         /* due_ms; when it was armed, if that is later */
    uint64_t past_serial;     /* a greater number for each that is armed for the past; 0 */
};

struct world {
    struct hf_wheel wheel;
    struct twin twins[TIMERS];
    size_t fired;
    uint64_t past_serials, past_popped;     /* the last past_serial, and the last popped */
};

static struct world *world;
static size_t many_from = 1;    /* timers from which on the lowest level is large */

static void no_fire(struct hf_timer *timer)
{
    (void)timer;
}

static void world_open(int64_t now_ms)
{
    world = calloc(1, sizeof *world);
    ck_assert_ptr_nonnull(world);
    hf_wheel_init(&world->wheel, &hf_mem_libc, now_ms);
    world->wheel.many_from_count = many_from;
    for (int i = 0; i < TIMERS; i++)
        world->twins[i].timer.fire = no_fire;
    dice_seed = DICE_SEED;
}

static void world_close(void)
{
    hf_wheel_fini(&world->wheel);
    free(world);
    world = NULL;
}

static int64_t now(void)
{
    return world->wheel.now_ms;
}

/* a + b, stopping at the ends of time. */
static int64_t plus(int64_t a, int64_t b)
{
    if (b > 0 && a > INT64_MAX - b)
        return INT64_MAX;
    if (b < 0 && a < INT64_MIN - b)
        return INT64_MIN;
    return a + b;
}

static void arm(struct twin *t, int64_t due_ms)
{
    hf_wheel_arm(&world->wheel, &t->timer, due_ms);
    t->is_armed = true;
    t->due_ms = due_ms;
    t->comes_ms = due_ms > now() ? due_ms : now();
    t->waits_for_next = due_ms <= now();
    t->past_serial = t->waits_for_next ? ++world->past_serials : 0;
}

static void cancel(struct twin *t)
{
    hf_wheel_cancel(&world->wheel, &t->timer);
    t->is_armed = false;
}

static struct twin *pop(void)
{
    struct hf_timer *timer = hf_wheel_pop(&world->wheel);
    struct twin *t;

    if (!timer)
        return NULL;
    t = HF_OWNER_OF(timer, struct twin, timer);
    ck_must(t->is_armed, "what was cancelled is not handed out");
    ck_must(t->due_ms <= now(), "no timer is early");
    ck_must(!t->waits_for_next, "arming for the past cannot starve the loop");
    ck_must(!timer->link, "a popped timer is unarmed");
    ck_must(t->past_serial == 0 || t->past_serial > world->past_popped, "TIMER-5");
    world->past_popped = t->past_serial ? t->past_serial : world->past_popped;
    t->is_armed = false;
    world->fired++;
    return t;
}

static void advance(int64_t now_ms)
{
    hf_wheel_advance(&world->wheel, now_ms);
    for (int i = 0; i < TIMERS && now_ms >= now(); i++)
        world->twins[i].waits_for_next = false;
}

/* ---- what must hold at any time ---- */

static void check_next(void)
{
    int64_t next = hf_wheel_next_ms(&world->wheel);
    int64_t first = HF_NEVER;
    size_t count = 0;

    for (int i = 0; i < TIMERS; i++) {
        const struct twin *t = &world->twins[i];

        if (!t->is_armed)
            continue;
        count++;
        if (t->comes_ms < first)
            first = t->comes_ms;
    }
    ck_must(world->wheel.timers_count == count, "the wheel knows how many are armed");
    ck_must(next <= first, "the loop does not sleep past a timer");
    ck_must(next >= now(), "the loop is not sent into the past");
    ck_must(count > 0 || next == HF_NEVER, "nobody is woken for nothing");
}

static bool bit_of(const uint64_t *words, size_t index)
{
    return words[index / 64] >> index % 64 & 1;
}

static size_t check_list(struct hf_timer *const *head)
{
    size_t count = 0;

    for (; *head; head = &(*head)->next, count++)
        ck_must((*head)->link == head, "a timer knows what points at it");
    return count;
}

/* Rule TIMER-4, and that no timer is lost. */
static void check_buckets(void)
{
    const struct hf_wheel *w = &world->wheel;
    size_t count = check_list(&w->due_timers), low = (size_t)1 << w->lowest_level.bucket_bits;

    for (size_t i = 0; i < low; i++) {
        ck_must(bit_of(w->lowest_level.used_bits, i) == (w->lowest_level.buckets[i] != NULL),
                "TIMER-4");
        count += check_list(&w->lowest_level.buckets[i]);
    }
    for (size_t i = 0; i < low / 64; i++)
        ck_must(bit_of(w->lowest_level.summary, i) == (w->lowest_level.used_bits[i] != 0),
                "TIMER-4");
    for (int level = 0; level < HF_WHEEL_UPPER; level++) {
        for (size_t i = 0; i < 1 << HF_WHEEL_UP_BITS; i++) {
            ck_must(bit_of(w->upper_used_bits[level], i) == (w->upper_buckets[level][i] != NULL),
                    "TIMER-4");
            count += check_list(&w->upper_buckets[level][i]);
        }
    }
    ck_must(count == w->timers_count, "no timer is lost");
}

/* After everything was popped: nothing that is due was left behind. */
static void check_none_is_late(void)
{
    for (int i = 0; i < TIMERS; i++) {
        const struct twin *t = &world->twins[i];

        ck_must(!t->is_armed || t->waits_for_next || t->due_ms > now(),
                "no timer is late");
    }
}

/* ---- random lives ---- */

static int64_t some_distance(void)
{
    static const int64_t scales[] = {
        1, 2, 10, 200, LOW - 1, LOW, LOW + 1, 3 * LOW, MIDDLE - 1, MIDDLE,
        DAY, TOP - 1, TOP, TOP + 1, 40 * TOP, 500 * TOP,
    };
    int64_t scale = scales[dice(sizeof scales / sizeof *scales)];

    switch (dice(4)) {
    case 0:
        return scale;
    case 1: /* at or next to the first millisecond of a bucket */
        return plus(scale - now() % scale, (int64_t)dice(3) - 1);
    default:
        return (int64_t)dice((uint64_t)scale + 1);
    }
}

static int64_t some_due(const struct twin *t)
{
    switch (dice(16)) {
    case 0:
        return HF_NEVER;
    case 1:
        return INT64_MIN;
    case 2:
    case 3:
        return plus(now(), -some_distance());
    case 4:
    case 5:
        return plus(t->due_ms, some_distance());
    case 6:
        return plus(t->due_ms, -some_distance());
    default:
        return plus(now(), some_distance());
    }
}

static struct twin *some_twin(void)
{
    return &world->twins[dice(TIMERS)];
}

/* What a callback may do: arm itself or another, cancel another that may be
 * due and waiting behind it. */
static void meddle(struct twin *t)
{
    struct twin *other = some_twin();

    switch (dice(4)) {
    case 0:
        arm(t, some_due(t));
        break;
    case 1:
        arm(other, some_due(other));
        break;
    case 2:
        cancel(other);
        break;
    default:
        break;
    }
}

static void pop_all(void)
{
    int64_t last = INT64_MIN;
    struct twin *t;

    while ((t = pop())) {
        ck_must(t->comes_ms >= last, "timers come in the order of time");
        last = t->comes_ms;
        meddle(t);
    }
    check_none_is_late();
}

static int64_t some_time(void)
{
    switch (dice(8)) {
    case 0:
        return plus(now(), some_distance());
    case 1:
        return plus(now(), -some_distance());
    case 2:
    case 3: /* the loop's own way, bounded so that the world stays busy */
        if (hf_wheel_next_ms(&world->wheel) - now() < 1000 * TOP)
            return hf_wheel_next_ms(&world->wheel);
        return now();
    default:
        return now() + (int64_t)dice(300);
    }
}

static void live_a_little(void)
{
    struct twin *t = some_twin();

    switch (dice(8)) {
    case 0:
        cancel(t);
        break;
    case 1:
    case 2:
    case 3:
        advance(some_time());
        pop_all();
        break;
    default:
        arm(t, some_due(t));
        break;
    }
}

/* All are many; some become many; all are few. */
static const size_t sizes[] = {1, TIMERS / 3, TIMERS + 1};

/* TIMER-2: A million operations of all kinds. Each is followed by the rules that a twin
 * can judge; the buckets, which are many, are looked through now and then. */
START_TEST(wheel_matches_a_plain_list)
{
    int lives = sizes[_i] > TIMERS ? 20000 : 1000000; /* years have many buckets */

    many_from = sizes[_i];
    world_open(1000);
    for (int i = 0; i < lives; i++) {
        live_a_little();
        check_next();
        if (i % 1000 == 0)
            check_buckets();
    }
    ck_assert_uint_gt(world->fired, (uint64_t)lives / 10);
    world_close();
}
END_TEST

/* ---- one timer, at every border ---- */

static const int64_t starts[] = {
    0, 1, -1, LOW - 1, LOW, -LOW, MIDDLE - 1, TOP - 1, 255 * TOP + 12345,
    INT64_C(1700000000000), -INT64_C(1700000000001),
    INT64_MAX - 1000 * TOP, INT64_MAX - TOP, INT64_MAX - LOW, INT64_MAX - 1,
};

static const int64_t distances[] = {
    1, 2, 63, 64, 65, 4095, 4096, LOW - 1, LOW, LOW + 1,
    255 * LOW, MIDDLE - LOW, MIDDLE - 1, MIDDLE, MIDDLE + 1, 255 * MIDDLE,
    TOP - MIDDLE, TOP - 1, TOP, TOP + 1, 255 * TOP, 256 * TOP, 257 * TOP,
    10000 * TOP,
};

#define STARTS ((int)(sizeof starts / sizeof *starts))
#define DISTANCES ((int)(sizeof distances / sizeof *distances))

/* TIMER-1, TIMER-2 */
START_TEST(timer_fires_at_its_millisecond_and_not_before)
{
    for (int i = 0; i < DISTANCES; i++) {
        int64_t due = plus(starts[_i], distances[i]);

        world_open(starts[_i]);
        arm(&world->twins[0], due);
        advance(due - 1);
        ck_assert_ptr_null(pop());
        check_next();
        advance(due);
        ck_assert_ptr_eq(pop(), &world->twins[0]);
        ck_assert_ptr_null(pop());
        check_buckets();
        world_close();
    }
}
END_TEST

/* TIMER-1: The loop that sleeps until next_ms, and no longer, ever: each waking moves
 * the timer down or fires it. Beyond the top level it goes round first. */
START_TEST(sleeping_until_next_ms_ends_at_the_timer)
{
    for (int i = 0; i < DISTANCES; i++) {
        int64_t due = plus(starts[_i], distances[i]);
        int64_t rounds = distances[i] / LAST;
        int wakes = 0;

        world_open(starts[_i]);
        arm(&world->twins[0], due);
        do {
            advance(hf_wheel_next_ms(&world->wheel));
            wakes++;
        } while (!pop());
        ck_assert_int_eq(now(), due);
        ck_assert_int_le(wakes, 2 + HF_WHEEL_UPPER + rounds);
        ck_assert_int_eq(hf_wheel_next_ms(&world->wheel), HF_NEVER);
        world_close();
    }
}
END_TEST

/* A far timer that is not the only one: the jump lands beyond both. */
START_TEST(one_jump_hands_out_near_and_far_in_order_of_time)
{
    for (int i = 0; i < DISTANCES - 1; i++) {
        int64_t near = plus(starts[_i], distances[i]);
        int64_t far = plus(starts[_i], distances[i + 1]);

        struct twin *first, *second;

        world_open(starts[_i]);
        arm(&world->twins[1], far);
        arm(&world->twins[0], near);
        advance(far);
        first = pop();
        second = pop();
        ck_assert(first && second && !pop());
        ck_assert_int_le(first->due_ms, second->due_ms);
        world_close();
    }
}
END_TEST

/* TIMER-5: also of those, one is cancelled. */
START_TEST(timers_of_one_millisecond_fire_in_the_order_in_which_they_were_armed)
{
    static const int64_t distances_of_low[] = {-1, 0, 1, 63, 255};

    for (size_t k = 0; k < ROWS(distances_of_low); k++) {
        int64_t due = plus(starts[_i], distances_of_low[k]);

        world_open(starts[_i]);
        for (int i = 0; i < 5; i++)
            arm(&world->twins[i], due);
        cancel(&world->twins[2]);
        advance(due > now() ? due : now());
        for (int i = 0; i < 5; i++)
            ck_assert(i == 2 || pop() == &world->twins[i]);
        ck_assert_ptr_null(pop());
        world_close();
    }
}
END_TEST

START_TEST(timer_at_never_stays_armed_and_may_be_cancelled)
{
    world_open(starts[_i]);
    arm(&world->twins[0], HF_NEVER);
    advance(plus(now(), 3 * TOP));
    if (now() < HF_NEVER)
        ck_assert_ptr_null(pop());
    cancel(&world->twins[0]);
    check_next();
    check_buckets();
    world_close();
}
END_TEST

/* ---- the contract's other sentences ---- */

/* TIMER-3 */
START_TEST(timer_armed_for_the_past_is_due_at_the_next_advance)
{
    static const int64_t late_ms[] = {0, 1, 100, LOW, TOP, INT64_MAX};

    for (size_t i = 0; i < sizeof late_ms / sizeof *late_ms; i++) {
        world_open(5000);
        arm(&world->twins[0], 5000 - late_ms[i]);
        ck_assert_ptr_null(pop());
        ck_assert_int_eq(hf_wheel_next_ms(&world->wheel), 5000);
        advance(5000);
        ck_assert_ptr_eq(pop(), &world->twins[0]);
        world_close();
    }
}
END_TEST

/* TIMER-4: it stayed in the bucket of its first time. */
START_TEST(timer_that_was_armed_again_and_cancelled_wakes_no_thread)
{
    struct hf_timer t = {.fire = NULL};
    struct hf_wheel *w = calloc(1, sizeof *w);

    ck_assert_ptr_nonnull(w);
    hf_wheel_init(w, &hf_mem_libc, 1000);
    hf_wheel_arm(w, &t, 1100);
    hf_wheel_advance(w, 1001);
    hf_wheel_arm(w, &t, 5000);
    hf_wheel_cancel(w, &t);
    ck_assert_int_eq(hf_wheel_next_ms(w), HF_NEVER);
    hf_wheel_fini(w);
    free(w);
}
END_TEST

START_TEST(time_going_backwards_changes_nothing)
{
    world_open(5000);
    arm(&world->twins[0], 5001);
    arm(&world->twins[1], 4000);
    advance(4999);
    advance(INT64_MIN);
    ck_assert_int_eq(now(), 5000);
    ck_assert_ptr_null(pop());
    check_buckets();
    world_close();
}
END_TEST

/* TIMER-2: A watchdog: its deadline moves away each time, and the wheel is told of it
 * without being touched. One early waking is the price. */
START_TEST(pushing_a_timer_later_costs_one_early_waking)
{
    int wakes = 0;

    world_open(0);
    arm(&world->twins[0], 10000);
    for (int64_t due = 10001; due <= 16000; due++)
        arm(&world->twins[0], due);
    do {
        advance(hf_wheel_next_ms(&world->wheel));
        wakes++;
    } while (!pop());
    ck_assert_int_eq(now(), 16000);
    ck_assert_int_eq(wakes, 2);
    world_close();
}
END_TEST

START_TEST(due_timer_that_is_cancelled_or_rearmed_is_not_popped)
{
    world_open(0);
    for (int i = 0; i < 4; i++)
        arm(&world->twins[i], 10 + i);
    advance(20);
    arm(&world->twins[0], 30);
    cancel(&world->twins[3]);     /* the last one: its end must move */
    arm(&world->twins[2], 5);     /* due, and armed for the past again */
    ck_assert_ptr_eq(pop(), &world->twins[1]);
    ck_assert_ptr_null(pop());
    advance(20);
    ck_assert_ptr_eq(pop(), &world->twins[2]);
    advance(30);
    ck_assert_ptr_eq(pop(), &world->twins[0]);
    check_buckets();
    world_close();
}
END_TEST

/* What is gathered and not yet popped is not forgotten by another advance. */
START_TEST(timers_not_popped_come_first_later)
{
    world_open(0);
    arm(&world->twins[0], 10);
    arm(&world->twins[1], 20);
    advance(10);
    ck_assert_int_eq(hf_wheel_next_ms(&world->wheel), 10);
    advance(20);
    ck_assert_ptr_eq(pop(), &world->twins[0]);
    ck_assert_ptr_eq(pop(), &world->twins[1]);
    world_close();
}
END_TEST

START_TEST(cancelled_timers_wake_no_thread)
{
    world_open(0);
    for (int i = 0; i < TIMERS; i++)
        arm(&world->twins[i], plus(1, (int64_t)1 << i % 50));
    for (int i = 0; i < TIMERS; i++)
        cancel(&world->twins[i]);
    cancel(&world->twins[0]);     /* an unarmed one is left alone */
    check_next();
    check_buckets();
    world_close();
}
END_TEST

/* Each waking of a loop that follows next_ms moves at least one timer down a
 * level, moves one that was re-armed, or fires one; and time never stands. */
START_TEST(wakings_are_bounded_by_the_timers)
{
    int64_t last = -1;
    size_t wakes = 0, rounds = 0;

    world_open(0);
    for (int i = 0; i < TIMERS; i++) {
        arm(&world->twins[i], 1 + (int64_t)dice(20 * TOP));
        rounds += (size_t)(world->twins[i].due_ms / LAST + 1);
    }
    for (int i = 0; i < TIMERS; i += 2)
        arm(&world->twins[i], plus(world->twins[i].due_ms, LOW));
    while (world->wheel.timers_count > 0) {
        advance(hf_wheel_next_ms(&world->wheel));
        ck_assert_int_gt(now(), last);
        last = now();
        wakes++;
        for (struct twin *t; (t = pop());)
            ck_assert_int_eq(t->due_ms, now());
    }
    ck_assert_uint_eq(world->fired, TIMERS);
    ck_assert_uint_le(wakes, 2 * TIMERS * (1 + HF_WHEEL_UPPER) + rounds);
    world_close();
}
END_TEST

/* A year at a time, ten thousand of them: this ends only if time is not walked
 * millisecond by millisecond. */
START_TEST(years_pass_in_no_time)
{
    world_open(0);
    arm(&world->twins[0], 10001 * 365 * DAY);
    for (int64_t year = 1; year <= 10000; year++) {
        advance(year * 365 * DAY);
        ck_assert_ptr_null(pop());
    }
    advance(10001 * 365 * DAY);
    ck_assert_ptr_eq(pop(), &world->twins[0]);
    world_close();
}
END_TEST

static TCase *case_contract(void)
{
    TCase *c = tcase_create("contract");

    tcase_add_test(c, timer_armed_for_the_past_is_due_at_the_next_advance);
    tcase_add_test(c, timer_that_was_armed_again_and_cancelled_wakes_no_thread);
    tcase_add_test(c, time_going_backwards_changes_nothing);
    tcase_add_test(c, pushing_a_timer_later_costs_one_early_waking);
    tcase_add_test(c, due_timer_that_is_cancelled_or_rearmed_is_not_popped);
    tcase_add_test(c, timers_not_popped_come_first_later);
    tcase_add_test(c, cancelled_timers_wake_no_thread);
    tcase_add_test(c, wakings_are_bounded_by_the_timers);
    tcase_add_test(c, years_pass_in_no_time);
    return c;
}

static TCase *case_borders(void)
{
    TCase *c = tcase_create("borders");

    tcase_add_loop_test(c, timer_fires_at_its_millisecond_and_not_before, 0,
                        STARTS);
    tcase_add_loop_test(c, sleeping_until_next_ms_ends_at_the_timer, 0, STARTS);
    tcase_add_loop_test(c, one_jump_hands_out_near_and_far_in_order_of_time, 0,
                        STARTS);
    tcase_add_loop_test(
        c, timers_of_one_millisecond_fire_in_the_order_in_which_they_were_armed, 0, STARTS);
    tcase_add_loop_test(c, timer_at_never_stays_armed_and_may_be_cancelled, 0,
                        STARTS);
    return c;
}

static TCase *case_random(void)
{
    TCase *c = tcase_create("random");

    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, wheel_matches_a_plain_list, 0, ROWS(sizes));
    return c;
}

int main(void)
{
    Suite *s = suite_create("net/wheel");

    suite_add_tcase(s, case_contract());
    suite_add_tcase(s, case_borders());
    suite_add_tcase(s, case_random());
    return suite_run(s);
}
