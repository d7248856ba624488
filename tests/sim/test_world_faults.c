/* Faults of the simulated network and of processes, as the library meets them. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/world_kit.h"
#include "tests/support/suite.h"

START_TEST(delayed_bytes_arrive_when_they_are_released)
{
    struct program p;
    enum way way = _i ? TO_CLIENT : TO_SERVER;

    kit_begin(1);
    program_start(&p, "c1", URL, 0);
    ask_acquire(&p, 0);
    kit_run(SECOND);
    ask_release(&p);
    link_hold(p.link, way, true);
    kit_run(SECOND);
    ck_assert_uint_eq(p.ended, 1);
    link_hold(p.link, way, false);
    kit_run(RTT_US);
    ck_assert_uint_eq(p.ended, 2);
    ck_assert_int_eq(p.status, HF_OK);
    program_free(&p);
    kit_end();
}
END_TEST

START_TEST(a_connect_is_also_delayed)
{
    struct program p;
    enum way way = _i ? TO_CLIENT : TO_SERVER;

    kit_begin(1);
    program_start(&p, "c1", URL, 0);
    link_hold(p.link, way, true);
    ask_acquire(&p, 0);
    kit_run(SECOND);
    link_hold(p.link, way, false);
    kit_run(10 * RTT_US);
    ck_assert_int_eq(p.status, HF_OK);
    ck_assert_uint_eq(p.ended, 1);
    program_free(&p);
    kit_end();
}
END_TEST

static const struct {
    enum door door;
    hf_status status;
    int64_t after_ms;
} doors[] = {
    {DOOR_REFUSES, HF_E_CONNECT, 5000},
    {DOOR_IGNORES, HF_E_CONNECT, 5000},
    {DOOR_CLOSES, HF_E_CONNECT, 5000},
};

START_TEST(a_closed_door_is_reported_by_the_deadline)
{
    struct program p;

    kit_begin(1);
    program_start(&p, "c1", URL, 0);
    link_set_door(p.link, doors[_i].door);
    ask_acquire(&p, 0);
    kit_run(10 * SECOND);
    ck_assert_uint_eq(p.ended, 1);
    ck_assert_int_eq(p.status, doors[_i].status);
    ck_assert_int_le(p.ended_us - WORLD_BEGIN_US, 5001 * 1000);
    program_free(&p);
    kit_end();
}
END_TEST

/* However often, and although no connection has worked yet. */
START_TEST(a_connection_that_was_closed_at_once_is_made_again)
{
    struct program p;

    kit_begin(1);
    program_start(&p, "c1", URL, 0);
    link_set_door(p.link, DOOR_CLOSES);
    ask_acquire(&p, 0);
    kit_run(3 * SECOND);
    ck_assert_uint_eq(p.ended, 0);
    ck_assert_uint_gt(link_hangups(p.link), 3);
    link_set_door(p.link, DOOR_OPEN);
    kit_run(2 * SECOND);
    ck_assert_uint_eq(p.ended, 1);
    ck_assert_int_eq(p.status, HF_OK);
    program_free(&p);
    kit_end();
}
END_TEST

START_TEST(a_connect_that_was_ignored_is_repeated)
{
    struct program p;

    kit_begin(1);
    program_start(&p, "c1", URL, 0);
    link_set_door(p.link, DOOR_IGNORES);
    ask_acquire(&p, 0);
    kit_run(SECOND / 2);
    link_set_door(p.link, DOOR_OPEN);
    kit_run(SECOND);
    ck_assert_uint_eq(p.ended, 1);
    ck_assert_int_eq(p.status, HF_OK);
    ck_assert_int_eq(p.ended_us - WORLD_BEGIN_US, SECOND + 3 * RTT_US);
    program_free(&p);
    kit_end();
}
END_TEST

/* Cut at every byte of what goes to and fro: the call is repeated, and ends. */
START_TEST(a_connection_is_cut_at_any_byte)
{
    struct program p;

    for (size_t bytes = 0; bytes < 400; bytes += 7) {
        kit_begin(1);
        program_start(&p, "c1", URL, 0);
        link_cut_after(p.link, _i ? TO_CLIENT : TO_SERVER, bytes, NULL);
        ask_acquire(&p, HF_FOREVER);
        kit_run(5 * SECOND);
        ck_assert_uint_eq(p.ended, 1);
        ck_assert_int_eq(p.status, HF_OK);
        program_free(&p);
        kit_end();
    }
}
END_TEST

static void hold_one(struct connection *c)
{
    connection_hold(c, TO_CLIENT);
}

static void slow_one(struct connection *c)
{
    connection_slow(c, TO_CLIENT, 100 * SECOND);
}

static void cut_one(struct connection *c)
{
    connection_cut_after(c, TO_CLIENT, 0, NULL);
}

static void forget_one(struct connection *c)
{
    connection_forget(c, TO_CLIENT);
}

static void (*const of_one[])(struct connection *c) = {
    hold_one,   slow_one,         cut_one,
    forget_one, connection_reset, connection_drop};

/* Of two connections of one link the older is disturbed: the newer answers at
 * once. */
START_TEST(a_connection_is_disturbed_alone)
{
    struct program older, newer;

    kit_begin(1);
    program_start(&older, "c1", URL, 0);
    ask_acquire(&older, 0);
    kit_run(SECOND);
    program_start_beside(&newer, &older, URL);
    ask_acquire(&newer, 0);
    kit_run(SECOND);
    of_one[_i](link_connection(older.link, 3));
    ask_release(&newer);
    ask_release(&older);
    kit_run(SECOND / 10);
    ck_assert_uint_eq(newer.ended, 2);
    ck_assert_int_eq(newer.ended_us - WORLD_BEGIN_US, 2 * SECOND + RTT_US);
    kit_run(20 * SECOND);
    ck_assert_uint_eq(older.ended, 2);
    ck_assert_int_gt(older.ended_us, newer.ended_us);
    program_free(&newer);
    program_free(&older);
    kit_free();
}
END_TEST

START_TEST(delayed_bytes_of_one_connection_arrive_when_its_link_is_released)
{
    struct program p;

    kit_begin(1);
    program_start(&p, "c1", URL, 0);
    ck_assert_ptr_null(link_connection(p.link, 1));
    ask_acquire(&p, 0);
    kit_run(SECOND);
    connection_hold(link_connection(p.link, 1), _i ? TO_CLIENT : TO_SERVER);
    ask_release(&p);
    kit_run(SECOND / 2); /* before a rival is opened */
    ck_assert_uint_eq(p.ended, 1);
    link_hold(p.link, _i ? TO_CLIENT : TO_SERVER, false);
    kit_run(RTT_US);
    ck_assert_uint_eq(p.ended, 2);
    program_free(&p);
    kit_end();
}
END_TEST

/* The loss is reported before the lease ends, and the kernel closes the connection by itself. */
START_TEST(a_half_open_connection_costs_the_lock_in_time)
{
    struct program p;

    kit_begin(1);
    program_start(&p, "c1", URL, 0);
    ask_acquire(&p, 0);
    kit_run(SECOND);
    link_forget(p.link, _i ? TO_CLIENT : TO_SERVER);
    link_set_door(p.link, DOOR_IGNORES);
    kit_run(31 * SECOND);
    ck_assert_uint_eq(p.lost, 1);
    ck_assert_int_eq(p.reason, HF_REASON_UNREACHABLE);
    program_free(&p);
    kit_run(SECOND);
    if (!_i) { /* the server has not heard of it, and never will */
        ck_assert_uint_ge(kit_connections, 1);
        kit_free();
        return;
    }
    kit_end();
}
END_TEST

START_TEST(a_server_that_dies_is_connected_to_again)
{
    struct program p;

    kit_begin(1);
    program_start(&p, "c1", URL, 0);
    ask_acquire(&p, 0);
    kit_run(SECOND);
    listener_close_all(listener);
    kit_connections = 0; /* `closed` is not called: this one is lost with its server */
    kit_run(60 * SECOND);
    ck_assert_uint_eq(p.lost, 0);
    ck_assert_uint_ge(kit_renewals, 5);
    program_free(&p);
    kit_end();
}
END_TEST

START_TEST(a_suspended_process_learns_of_its_loss_when_it_continues)
{
    struct program p;

    kit_begin(1);
    program_start(&p, "c1", URL, 0);
    ask_acquire(&p, 0);
    kit_run(SECOND);
    process_suspend(p.process);
    kit_run(100 * SECOND);
    ck_assert_uint_eq(p.lost, 0);
    ck_assert_int_le(safe_ms(&p), 0);
    process_resume(p.process);
    kit_run(0);
    ck_assert_uint_eq(p.lost, 1);
    ck_assert_int_eq(p.reason, HF_REASON_SUSPENDED);
    program_free(&p);
    kit_end();
}
END_TEST

START_TEST(server_notices_the_end_of_a_process)
{
    struct program p;

    kit_begin(1);
    program_start(&p, "c1", URL, 0);
    ask_acquire(&p, 0);
    kit_run(SECOND);
    ck_assert_uint_eq(kit_connections, 1);
    process_die(p.process);
    kit_run(SECOND);
    ck_assert_uint_eq(kit_connections, 0);
    kit_run(100 * SECOND);
    ck_assert_uint_eq(kit_renewals, 0);
    program_free(&p);
    kit_end();
}
END_TEST

static void stop_for_3_s(void *ctx)
{
    struct program *p = ctx;

    process_suspend(p->process);
    kit_run(3 * SECOND);
    process_resume(p->process);
}

START_TEST(a_process_may_be_stopped_before_it_writes)
{
    struct program p;
    int64_t before_us;

    kit_begin(1);
    program_start(&p, "c1", URL, 0);
    ask_acquire(&p, 0);
    kit_run(SECOND);
    ck_assert_uint_eq(p.ended, 1);
    process_before_write(p.process, stop_for_3_s, &p);
    before_us = world_now_us(world);
    ask_acquire(&p, 0);
    kit_run(SECOND);
    ck_assert_uint_eq(p.ended, 2);
    ck_assert_int_eq(p.status, HF_OK);
    ck_assert_int_ge(world_now_us(world) - before_us, 3 * SECOND);
    program_free(&p);
    kit_end();
}
END_TEST

static TCase *faults_case(void)
{
    TCase *t = tcase_create("faults");

    tcase_add_loop_test(t, delayed_bytes_arrive_when_they_are_released, 0,
                        2);
    tcase_add_loop_test(t, a_connect_is_also_delayed, 0, 2);
    tcase_add_loop_test(t, a_closed_door_is_reported_by_the_deadline, 0,
                        ROWS(doors));
    tcase_add_test(t, a_connection_that_was_closed_at_once_is_made_again);
    tcase_add_test(t, a_connect_that_was_ignored_is_repeated);
    tcase_add_loop_test(t, a_connection_is_cut_at_any_byte, 0, 2);
    tcase_add_loop_test(t, a_connection_is_disturbed_alone, 0, ROWS(of_one));
    tcase_add_loop_test(
        t, delayed_bytes_of_one_connection_arrive_when_its_link_is_released, 0,
        2);
    tcase_add_loop_test(t, a_half_open_connection_costs_the_lock_in_time, 0, 2);
    tcase_add_test(t, a_server_that_dies_is_connected_to_again);
    tcase_add_test(t, a_suspended_process_learns_of_its_loss_when_it_continues);
    tcase_add_test(t, a_process_may_be_stopped_before_it_writes);
    tcase_add_test(t, server_notices_the_end_of_a_process);
    return t;
}

int main(void)
{
    Suite *s = suite_create("sim, faults of the world");

    suite_add_tcase(s, faults_case());
    return suite_run(s);
}
