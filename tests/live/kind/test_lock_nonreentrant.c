/* The non-reentrant lock: one hold an owner; on the server, a plain lock. WIRE 9.1. */
#include "tests/live/test_lock.h"

static struct server *server;
static struct hf_client *client;
static struct hf_lock *lock;    /* non-reentrant */
static struct hf_lock *plain;   /* of the same name and client */

static void start(void)
{
    server = server_start(NULL);
    ck_assert_ptr_nonnull(server);
    client = client_timed(server_port(server), STEADY_WATCHDOG_MS, 5000);
    lock = lock_of_kind(client, HF_KIND_NONREENTRANT, NAME);
    plain = lock_of(client, NAME);
}

static void stop(void)
{
    hf_client_free(client);
    server_stop(server);
}

static const char *count_of(struct hf_lock *of, int64_t owner)
{
    char text[HF_OWNER_TEXT_MAX];

    return server_ask(server, "HGET " NAME " %s",
                      hf_lock_owner_text(of, owner, text));
}

/* ---- what it is on the server ---- */

START_TEST(it_is_a_plain_lock_with_a_count_of_1)
{
    struct hf_lock_info info;

    acquire(lock, 1);
    ck_assert_int_eq(server_ask_int(server, "HLEN " NAME), 1);
    ck_assert_str_eq(count_of(lock, 1), "1");
    ck_assert_int_gt(server_ask_int(server, "PTTL " NAME), 0);
    ck_assert_ok(hf_lock_inspect(lock, &info, NULL));
    ck_assert_int_eq(info.kind, HF_KIND_PLAIN);
    ck_assert_int_eq(info.hold_count, 1);
    release(lock, 1);
    ck_assert_int_eq(server_ask_int(server, "EXISTS " NAME), 0);
}
END_TEST

START_TEST(it_is_renewed_beside_a_plain_lock)
{
    struct hf_lock *other = lock_of(client, "other");
    struct diary diary;
    struct hf_acquire_options o = diary_options(&diary, 1);

    ck_assert_ok(hf_lock_acquire(lock, &o, NULL));
    acquire(other, 1);
    note_await(&diary.note, &diary.renewals, 2, "renewals");
    ck_assert_int_gt(hf_lock_safe_ms(lock, 1), 0);
    ck_assert_int_gt(hf_lock_safe_ms(other, 1), 0);
    ck_assert_int_eq(diary.losses, 0);
    release(lock, 1);
    release(other, 1);
}
END_TEST

/* ---- its owner is refused ---- */

static void ck_assert_refused(struct hf_lock *of, int64_t wait_ms)
{
    struct hf_acquire_options o = acquire_options(1);
    struct hf_error err;

    o.wait_ms = wait_ms;
    ck_assert_status(hf_lock_acquire(of, &o, &err), HF_E_INVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "this owner already holds"));
    ck_assert_ptr_nonnull(strstr(err.text, NAME));
}

static const int64_t waits[] = {0, LONG_MS, HF_FOREVER};

START_TEST(an_owner_that_holds_it_is_refused_at_once)
{
    acquire(lock, 1);
    ck_assert_refused(lock, waits[_i]);
    ck_assert_str_eq(count_of(lock, 1), "1");
    ck_assert_int_gt(hf_lock_safe_ms(lock, 1), 0);
    release(lock, 1);
    acquire(lock, 1);
    release(lock, 1);
    ck_assert_status(hf_lock_release(lock, 1, NULL), HF_NOT_OWNER);
}
END_TEST

START_TEST(a_callback_also_reports_it)
{
    struct hf_acquire_options o = acquire_options(1);
    struct call call;

    acquire(lock, 1);
    call_acquire(&call, lock, &o);
    ck_assert_status(call_await(&call), HF_E_INVAL);
    ck_assert_ptr_nonnull(strstr(call.error.text, "non-reentrant lock"));
    release(lock, 1);
}
END_TEST

/* Also where others wait: it does not stand in line behind them for what only it
 * can give up. */
START_TEST(an_owner_does_not_wait_for_its_hold_of_another_kind)
{
    struct hf_lock *held = _i == 0 ? lock : plain;
    struct hf_lock *wanted = _i == 0 ? plain : lock;
    struct hf_acquire_options o = acquire_options(2);
    struct call call;

    acquire(held, 1);
    call_acquire(&call, wanted, &o);
    await_subscribers(server, CHANNEL, 1);
    for (int i = 0; i < COUNT(waits); i++)
        ck_assert_refused(wanted, waits[i]);
    ck_assert_str_eq(count_of(held, 1), "1");
    release(held, 1);
    ck_assert_status(call_await(&call), HF_OK);
    release(wanted, 2);
    acquire(wanted, 1);
    release(wanted, 1);
}
END_TEST

/* Two calls of one owner wait for what another holds. The second one finds that the
 * first was granted. */
START_TEST(of_two_calls_of_one_owner_one_is_granted)
{
    struct hf_acquire_options o = acquire_options(1);
    struct call calls[2];
    int granted, refused;

    acquire(lock, 2);
    call_acquire(&calls[0], lock, &o);
    call_acquire(&calls[1], _i == 0 ? lock : plain, &o);
    await_subscribers(server, CHANNEL, 1);
    release(lock, 2);
    granted = call_await(&calls[0]) == HF_OK ? 0 : 1;
    refused = 1 - granted;
    ck_assert_status(call_await(&calls[granted]), HF_OK);
    ck_assert_status(call_await(&calls[refused]), HF_E_INVAL);
    ck_assert_uint_eq(stats_of(client).holds, 1);
}
END_TEST

START_TEST(a_lost_hold_is_released_before_the_next_acquire)
{
    struct diary diary;
    struct hf_acquire_options o = diary_options(&diary, 1);

    ck_assert_ok(hf_lock_acquire(lock, &o, NULL));
    (void)server_ask(server, "DEL " NAME);
    note_await(&diary.note, &diary.losses, 1, "the loss");
    ck_assert_status(try_acquire(lock, 1, NULL), HF_LOST);
    ck_assert_status(try_acquire(plain, 1, NULL), HF_OK);
    release(plain, 1);
    ck_assert_status(hf_lock_release(lock, 1, NULL), HF_LOST);
    acquire(lock, 1);
    release(lock, 1);
}
END_TEST

/* ---- beside plain locks ---- */

/* Who holds, who waits, and whether they share a client. Only a message wakes the
 * waiter in time: a poll would come after the watchdog's third. */
static const struct {
    enum hf_lock_kind holds, waits;
    bool is_one_client;
} pairs[] = {
    {HF_KIND_NONREENTRANT, HF_KIND_NONREENTRANT, true},
    {HF_KIND_NONREENTRANT, HF_KIND_PLAIN, true},
    {HF_KIND_PLAIN, HF_KIND_NONREENTRANT, true},
    {HF_KIND_NONREENTRANT, HF_KIND_NONREENTRANT, false},
    {HF_KIND_NONREENTRANT, HF_KIND_PLAIN, false},
    {HF_KIND_PLAIN, HF_KIND_NONREENTRANT, false},
};

START_TEST(it_excludes_and_wakes_plain_locks_of_its_name)
{
    struct hf_client *here = client_timed(server_port(server), 60000, 5000);
    struct hf_client *there = pairs[_i].is_one_client
                                  ? here
                                  : client_timed(server_port(server), 60000,
                                                 5000);
    struct hf_lock *held = lock_of_kind(here, pairs[_i].holds, NAME);
    struct hf_lock *wanted = lock_of_kind(there, pairs[_i].waits, NAME);
    struct hf_acquire_options o = acquire_options(2);
    struct hf_error err;
    struct call call;

    acquire(held, 1);
    ck_assert_status(try_acquire(wanted, 2, &err), HF_TIMEOUT);
    call_acquire(&call, wanted, &o);
    await_subscribers(server, CHANNEL, 1);
    ck_assert(!call_is_done(&call));
    release(held, 1);
    ck_assert_status(call_await(&call), HF_OK);
    ck_assert_str_eq(count_of(wanted, 2), "1");
    release(wanted, 2);
    if (there != here)
        hf_client_free(there);
    hf_client_free(here);
}
END_TEST

/* In one client they stand in one line, and are granted in its order. */
START_TEST(waiters_of_both_kinds_wait_in_one_queue)
{
    struct hf_acquire_options o;
    struct call calls[6];

    acquire(lock, 1);
    for (int i = 0; i < COUNT(calls); i++) {
        o = acquire_options(10 + i);
        call_acquire(&calls[i], i % 2 == 0 ? lock : plain, &o);
    }
    await_subscribers(server, CHANNEL, 1);
    release(lock, 1);
    for (int i = 0; i < COUNT(calls); i++) {
        ck_assert_status(call_await(&calls[i]), HF_OK);
        for (int j = i + 1; j < COUNT(calls); j++)
            ck_assert(!call_is_done(&calls[j]));
        release(i % 2 == 0 ? lock : plain, 10 + i);
    }
}
END_TEST

/* The line is a part of the older lock, which lasts as long as the other. */
START_TEST(handles_may_be_freed_in_any_order)
{
    struct hf_lock *a = NULL, *b = NULL;
    struct hf_acquire_options o = acquire_options(2);
    struct call call;

    ck_assert_ok(hf_lock_new(&a, client, "n", 1, NULL));
    ck_assert_ok(
        hf_lock_new_kind(&b, client, HF_KIND_NONREENTRANT, "n", 1, NULL));
    acquire(b, 1);
    if (_i == 0)
        hf_lock_free(a);
    call_acquire(&call, b, &o);
    await_subscribers(server, "redisson_lock__channel:{n}", 1);
    release(b, 1);
    ck_assert_status(call_await(&call), HF_OK);
    release(b, 2);
    hf_lock_free(b);
    if (_i != 0) {
        acquire(a, 1);
        release(a, 1);
        hf_lock_free(a);
    }
}
END_TEST

START_TEST(it_can_be_freed_by_force_through_either_handle)
{
    acquire(lock, 1);
    ck_assert_ok(
        hf_lock_force_release(_i == 0 ? lock : plain, NULL, 0, NULL));
    ck_assert_int_eq(server_ask_int(server, "EXISTS " NAME), 0);
    ck_assert_status(hf_lock_release(lock, 1, NULL), HF_LOST);
}
END_TEST

/* ---- handles ---- */

START_TEST(a_handle_is_of_one_name_and_kind)
{
    ck_assert_ptr_ne(lock, plain);
    ck_assert_ptr_eq(lock, lock_of_kind(client, HF_KIND_NONREENTRANT, NAME));
    ck_assert_ptr_eq(plain, lock_of_kind(client, HF_KIND_PLAIN, NAME));
}
END_TEST

START_TEST(invalid_acquire_is_refused)
{
    static const enum hf_lock_kind kinds[] = {HF_KIND_NONE, HF_KIND_MULTI,
                                              (enum hf_lock_kind)99};
    struct hf_lock *none = NULL;
    struct hf_error err;

    for (int i = 0; i < COUNT(kinds); i++) {
        ck_assert_status(
            hf_lock_new_kind(&none, client, kinds[i], "n", 1, &err),
            HF_E_INVAL);
        ck_assert_ptr_nonnull(
            strstr(err.text, hf_lock_kind_text(kinds[i])));
        ck_assert_ptr_null(none);
    }
}
END_TEST

/* ---- */

static void add_all(Suite *suite)
{
    TCase *c = live_case(suite, "non-reentrant", start, stop);

    tcase_add_test(c, it_is_a_plain_lock_with_a_count_of_1);
    tcase_add_test(c, it_is_renewed_beside_a_plain_lock);
    tcase_add_loop_test(c, an_owner_that_holds_it_is_refused_at_once, 0,
                        COUNT(waits));
    tcase_add_test(c, a_callback_also_reports_it);
    tcase_add_loop_test(c, an_owner_does_not_wait_for_its_hold_of_another_kind,
                        0, 2);
    tcase_add_loop_test(c, of_two_calls_of_one_owner_one_is_granted, 0, 2);
    tcase_add_test(c, a_lost_hold_is_released_before_the_next_acquire);
    tcase_add_loop_test(c, it_excludes_and_wakes_plain_locks_of_its_name, 0,
                        COUNT(pairs));
    tcase_add_test(c, waiters_of_both_kinds_wait_in_one_queue);
    tcase_add_loop_test(c, handles_may_be_freed_in_any_order, 0, 2);
    tcase_add_loop_test(c, it_can_be_freed_by_force_through_either_handle, 0,
                        2);
    tcase_add_test(c, a_handle_is_of_one_name_and_kind);
    tcase_add_test(c, invalid_acquire_is_refused);
}

int main(void)
{
    return live_main("lock, non-reentrant", add_all);
}
