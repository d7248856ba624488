/* The simulated world, tried with the library as it is: events, clocks, calls
 * that block, the same run twice. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/world_kit.h"
#include "tests/support/must.h"
#include "tests/support/suite.h"

/* ---- events ---- */

struct step {
    struct event event;
    int number;
};

static int steps[8];
static int steps_count;

static void on_step(void *ctx)
{
    const struct step *s = ctx;

    steps[steps_count++] = s->number;
}

START_TEST(events_happen_by_time_then_by_the_order_of_arming)
{
    static const int64_t at[] = {30, 10, 20, 10, 40};
    static const int order[] = {1, 3, 2, 0};
    struct step s[ROWS(at)];

    kit_begin(1);
    steps_count = 0;
    for (int i = 0; i < ROWS(at); i++) {
        s[i] = (struct step){.event = {on_step, &s[i], 0, 0, 0}, .number = i};
        world_after(world, &s[i].event, at[i]);
    }
    world_cancel(world, &s[4].event);
    kit_run(100);
    ck_assert_int_eq(steps_count, ROWS(order));
    for (int i = 0; i < ROWS(order); i++)
        ck_assert_int_eq(steps[i], order[i]);
    ck_assert_int_eq(world_now_us(world), WORLD_BEGIN_US + 100);
    kit_end();
}
END_TEST

static const int rates[] = {0, 1, -1, 100, -100, 250000, -900000};

START_TEST(a_clock_shows_a_time_when_the_world_reaches_it)
{
    struct process *p;
    int64_t then;

    kit_begin(1);
    p = process_new(world, "a", 5, rates[_i]);
    ck_assert_int_eq(process_clock_us(p), 5);
    for (int64_t clock_us = 6; clock_us < 1000 * SECOND; clock_us *= 3) {
        then = process_true_us(p, clock_us);
        world_run(world, then - 1);
        ck_assert_int_lt(process_clock_us(p), clock_us);
        world_run(world, then);
        ck_assert_int_ge(process_clock_us(p), clock_us);
    }
    kit_end();
}
END_TEST

/* ---- a client ---- */

START_TEST(a_lock_takes_the_round_trips_that_it_needs)
{
    struct program p;

    kit_begin(1);
    program_start(&p, "c1", URL, 0);
    ask_acquire(&p, 0);
    kit_run(SECOND);
    ck_assert_int_eq(p.status, HF_OK);
    /* To connect, the handshake, and the command. */
    ck_assert_int_eq(p.ended_us - WORLD_BEGIN_US, 3 * RTT_US);
    ck_assert_int_eq(safe_ms(&p) > 28000, true);
    ask_release(&p);
    kit_run(RTT_US);
    ck_assert_int_eq(p.status, HF_OK);
    ck_assert_uint_eq(p.ended, 2);
    program_free(&p);
    kit_end();
}
END_TEST

START_TEST(a_name_is_found_or_not)
{
    struct program p;

    kit_begin(1);
    network_name(world, "redis.example", "10.0.0.9"); /* no server is there */
    network_name(world, "redis.example", "10.0.0.1");
    if (_i)
        network_set_names(world, NAMES_FAIL, 10);
    program_start(&p, "c1", "redis://redis.example:6379", 0);
    ask_acquire(&p, 0);
    kit_run(10 * SECOND);
    ck_assert_int_eq(p.status, _i ? HF_E_CONNECT : HF_OK);
    program_free(&p);
    kit_end();
}
END_TEST

/* The clock of the process decides when it renews, and whether it is right to
 * believe. An hour is executed in some milliseconds. */
START_TEST(a_lock_is_held_for_an_hour)
{
    struct program p;

    kit_begin(1);
    program_start(&p, "c1", URL, 200);
    ask_acquire(&p, 0);
    kit_run(3600 * SECOND);
    ck_assert_uint_eq(p.lost, 0);
    ck_assert_uint_ge(kit_renewals, 359);
    ck_assert_uint_le(kit_renewals, 361);
    program_free(&p);
    kit_end();
}
END_TEST

/* ---- calls that block ---- */

/* The answer to the release is a second away; the other process holds its lock
 * meanwhile, and both see the same time. */
START_TEST(a_blocked_call_lets_the_others_go_on)
{
    struct hf_client_closed closed;
    struct program one, other;
    struct hf_error err;
    int64_t before;

    kit_begin(1);
    program_start(&one, "c1", URL, 0);
    program_start(&other, "c2", URL, 0);
    ask_acquire(&one, 0);
    kit_run(SECOND);
    link_hold(one.link, TO_CLIENT, true);
    ask_release(&one);
    ask_acquire(&other, 0);
    before = world_now_us(world);
    (void)process_enter(one.process);
    ck_assert_int_eq(hf_client_close(one.client, 3000, &closed, &err),
                     HF_E_NOREPLY);
    (void)process_enter(NULL);
    ck_assert_int_ge(world_now_us(world) - before, 3 * SECOND);
    ck_assert_int_lt(world_now_us(world) - before, 3 * SECOND + 2000);
    ck_assert_uint_eq(closed.unknown, 1);
    ck_assert_uint_eq(other.ended, 1);
    ck_assert_int_eq(other.status, HF_OK);
    program_free(&one);
    program_free(&other);
    link_hold(one.link, TO_CLIENT, false);
    kit_end();
}
END_TEST

struct caller {
    struct program program;
    hf_status acquired;
    hf_status closed;
    int64_t closed_us;
};

/* As a thread of a program would: takes the lock, then closes the client while
 * the answer to a release is held back. */
static void live(void *ctx)
{
    struct caller *c = ctx;
    struct hf_acquire_options options;
    struct hf_error err;

    hf_acquire_options_init(&options);
    options.owner = OWNER;
    c->acquired = hf_lock_acquire(c->program.lock, &options, &err);
    link_hold(c->program.link, TO_CLIENT, true);
    ask_release(&c->program);
    c->closed = hf_client_close(c->program.client, 3000, NULL, &err);
    c->closed_us = world_now_us(world);
}

/* Many at a time, each for itself: none ends later because of another. The
 * callback of the release is made while the client is closed, or by that. */
START_TEST(many_calls_block_at_a_time)
{
    struct caller callers[5];
    char name[16];

    kit_begin(1);
    for (int i = 0; i < ROWS(callers); i++) {
        (void)snprintf(name, sizeof name, "c%d", i);
        program_start(&callers[i].program, name, URL, 0);
        process_call(callers[i].program.process, live, &callers[i]);
        kit_run(SECOND / 2);
    }
    kit_run(10 * SECOND);
    for (int i = 0; i < ROWS(callers); i++) {
        int64_t began_us = WORLD_BEGIN_US + i * SECOND / 2 + 4 * RTT_US;

        ck_assert_int_eq(callers[i].acquired, HF_OK);
        ck_assert_int_eq(callers[i].closed, HF_E_NOREPLY);
        ck_assert_int_gt(callers[i].closed_us - began_us, 3 * SECOND - 1000);
        ck_assert_int_lt(callers[i].closed_us - began_us, 3 * SECOND + 2000);
        ck_assert_uint_eq(callers[i].program.ended, 1);
        ck_assert_int_eq(callers[i].program.status, HF_E_CLOSED);
        program_free(&callers[i].program);
        link_hold(callers[i].program.link, TO_CLIENT, false);
    }
    kit_end();
}
END_TEST

/* The connection is lost while a call waits for a lock that it will not get:
 * the loss of another hold of the program is nevertheless reported in time. */
static void wait_long(void *ctx)
{
    struct caller *c = ctx;
    struct hf_acquire_options options;
    struct hf_error err;

    hf_acquire_options_init(&options);
    options.owner = OWNER + 1;
    options.wait_ms = 100000;
    c->acquired = hf_lock_acquire(c->program.lock, &options, &err);
}

static int64_t least_safe_ms;

static void on_turn(void *ctx)
{
    const struct program *p = ctx;
    int64_t ms = hf_lock_safe_ms(p->lock, OWNER);

    if (ms < least_safe_ms)
        least_safe_ms = ms;
}

START_TEST(a_loss_is_reported_while_a_call_blocks)
{
    struct caller c;

    kit_begin(1);
    program_start(&c.program, "c1", URL, 0);
    ask_acquire(&c.program, 0);
    kit_run(SECOND);
    link_hold(c.program.link, TO_CLIENT, true);
    link_set_door(c.program.link, DOOR_REFUSES);
    c.acquired = HF_OK + 1;
    least_safe_ms = INT64_MAX;
    process_on_turn(c.program.process, on_turn, &c.program);
    process_call(c.program.process, wait_long, &c);
    kit_run(31 * SECOND);
    ck_assert_uint_eq(c.program.lost, 1);
    ck_assert_int_eq(least_safe_ms, INT64_MIN);
    kit_run(100 * SECOND);
    ck_assert_int_lt(c.acquired, 0);
    program_free(&c.program);
    link_hold(c.program.link, TO_CLIENT, false);
    kit_end();
}
END_TEST

/* ---- the same again ---- */

struct trace {
    char *text;
    size_t len;
    FILE *file;
};

static void on_news(void *ctx, const struct network_news *news)
{
    struct trace *t = ctx;

    (void)fprintf(t->file, "%lld %s %d %d ", (long long)world_now_us(world),
                  process_name(link_process(news->link)), (int)news->event,
                  (int)news->way);
    (void)fwrite(news->ptr ? news->ptr : "", 1, news->len, t->file);
    (void)fputc('\n', t->file);
}

/* Two clients, a bad network: each acquires and releases a hundred times. */
static void run(struct trace *t, uint64_t seed)
{
    static const struct link_shape bad = {
        .delay_us = 100, .jitter_us = 20000, .piece_max = 11, .window = 31};
    struct program p[2];

    t->file = open_memstream(&t->text, &t->len);
    kit_begin(seed);
    network_tap(world, on_news, t);
    program_start(&p[0], "c1", URL, 100);
    program_start(&p[1], "c2", URL, -100);
    for (int i = 0; i < 2; i++)
        for (int way = 0; way < 2; way++) /* the window: less than a command */
            link_set_shape(p[i].link, (enum way)way, &bad);
    for (int round = 0; round < 100; round++) {
        link_cut_after(p[round % 2].link, TO_CLIENT, (size_t)round, NULL);
        for (int i = 0; i < 2; i++)
            ask_acquire(&p[i], HF_FOREVER);
        kit_run(10 * SECOND);
        for (int i = 0; i < 2; i++)
            ask_release(&p[i]);
        kit_run(10 * SECOND);
    }
    for (int i = 0; i < 2; i++) {
        ck_assert_uint_eq(p[i].ended, 200);
        program_free(&p[i]);
    }
    kit_end();
    ck_assert_int_eq(fclose(t->file), 0);
}

START_TEST(the_same_seed_gives_the_same_bytes_at_the_same_times)
{
    struct trace a, b, c;

    run(&a, 42);
    run(&b, 42);
    run(&c, 43);
    ck_assert_uint_gt(a.len, 100000);
    ck_assert_uint_eq(a.len, b.len);
    ck_assert_mem_eq(a.text, b.text, a.len);
    ck_assert(a.len != c.len || memcmp(a.text, c.text, a.len) != 0);
    free(a.text);
    free(b.text);
    free(c.text);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("sim, world");
    TCase *t = tcase_create("world");

    tcase_add_test(t, events_happen_by_time_then_by_the_order_of_arming);
    tcase_add_loop_test(t, a_clock_shows_a_time_when_the_world_reaches_it, 0,
                        ROWS(rates));
    tcase_add_test(t, a_lock_takes_the_round_trips_that_it_needs);
    tcase_add_loop_test(t, a_name_is_found_or_not, 0, 2);
    tcase_add_test(t, a_lock_is_held_for_an_hour);
    tcase_add_test(t, a_blocked_call_lets_the_others_go_on);
    tcase_add_test(t, many_calls_block_at_a_time);
    tcase_add_test(t, a_loss_is_reported_while_a_call_blocks);
    tcase_add_test(t, the_same_seed_gives_the_same_bytes_at_the_same_times);
    suite_add_tcase(s, t);
    return suite_run(s);
}
