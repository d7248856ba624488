/* A quorum that was acquired with a lease is renewed by hand: a majority decides, and no lease is
 * shortened. */
#include "tests/live/set/test_quorum_kit.h"

#include "lock/renew.h"

#define MINUTE_MS 60000
#define HOUR_MS 3600000
#define OWNER 7

static struct diary diary;

static void hold_for(int64_t lease_ms)
{
    struct hf_acquire_options o = diary_options(&diary, OWNER);

    o.lease_ms = lease_ms;
    ck_assert_ok(hf_quorum_acquire(here.quorum, &o, NULL));
    await_keys(0, SERVERS, "1");
}

static int count_kept(int64_t ms)
{
    int count = 0;

    for (int i = 0; i < SERVERS; i++)
        count += server_ask_int(servers[i], "PTTL " NAME) > ms;
    return count;
}

static void await_kept(int count, int64_t ms)
{
    int64_t deadline_ms = local_now_ms() + AWAIT_MS;

    while (count_kept(ms) < count) {
        ck_assert(local_now_ms() < deadline_ms);
        local_poll_rest();
    }
}

/* QRENEW-1 */
START_TEST(a_majority_is_extended_and_then_all)
{
    hold_for(MINUTE_MS);
    ck_assert_ok(hf_quorum_renew(here.quorum, OWNER, HOUR_MS, NULL));
    ck_assert_int_ge(count_kept(MINUTE_MS), MOST);
    ck_assert_int_gt(hf_quorum_safe_ms(here.quorum, OWNER), HOUR_MS / 2);
    await_kept(SERVERS, MINUTE_MS);
    ck_assert_ok(hf_quorum_renew(here.quorum, OWNER, 1000, NULL));
    ck_assert_int_eq(count_kept(MINUTE_MS), SERVERS);
    ck_assert_int_gt(hf_quorum_safe_ms(here.quorum, OWNER), HOUR_MS / 2);
    ck_assert_ok(hf_quorum_release(here.quorum, OWNER, NULL));
    await_keys(0, SERVERS, "0");
}
END_TEST

/* QRENEW-2, QRENEW-3. Two of five do not reply: the calls, and a release, do not wait for them. */
START_TEST(a_silent_minority_is_not_waited_for)
{
    int64_t began_ms;

    hold_for(MINUTE_MS);
    each(3, 2, server_pause);
    began_ms = local_now_ms();
    ck_assert_ok(hf_quorum_renew(here.quorum, OWNER, HOUR_MS, NULL));
    ck_assert_ok(hf_quorum_renew(here.quorum, OWNER, 2 * HOUR_MS, NULL));
    ck_assert_int_lt(local_now_ms() - began_ms, TIMEOUT_MS);
    ck_assert_int_gt(hf_quorum_safe_ms(here.quorum, OWNER), HOUR_MS);
    each(3, 2, server_resume);
    ck_assert_ok(hf_quorum_release(here.quorum, OWNER, NULL));
    await_keys(0, SERVERS, "0");
}
END_TEST

/* QRENEW-2: one of two members whose requests were pending replies to the earlier one, and is
 * requested again. */
START_TEST(a_reply_to_an_earlier_request_does_not_count)
{
    struct call call;

    hold_for(MINUTE_MS);
    each(3, 2, server_pause);
    ck_assert_ok(hf_quorum_renew(here.quorum, OWNER, HOUR_MS, NULL));
    each(2, 1, server_pause);
    call_init(&call);
    ck_assert_ok(hf_quorum_renew_async(here.quorum, OWNER, 2 * HOUR_MS, call_done, &call));
    each(3, 1, server_resume);
    ck_assert_ok(call_await(&call));
    each(2, 1, server_resume);
    each(4, 1, server_resume);
    ck_assert_int_ge(count_kept(HOUR_MS), MOST);
    ck_assert_ok(hf_quorum_release(here.quorum, OWNER, NULL));
}
END_TEST

/* The quorum is held until its earlier safe time, and the call can be repeated. */
START_TEST(fewer_than_a_majority_change_nothing)
{
    struct hf_error err;

    hold_for(MINUTE_MS);
    each(2, 3, server_pause);
    ck_assert_status(hf_quorum_renew(here.quorum, OWNER, HOUR_MS, &err), HF_E_QUORUM);
    ck_assert_ptr_nonnull(strstr(err.text, "2 of 5 servers renewed the lock, 3 required"));
    ck_assert_int_gt(hf_quorum_safe_ms(here.quorum, OWNER), MINUTE_MS / 2);
    ck_assert_int_lt(hf_quorum_safe_ms(here.quorum, OWNER), MINUTE_MS);
    each(2, 3, server_resume);
    ck_assert_ok(hf_quorum_renew(here.quorum, OWNER, HOUR_MS, NULL));
    ck_assert_int_gt(hf_quorum_safe_ms(here.quorum, OWNER), HOUR_MS / 2);
    ck_assert_ok(hf_quorum_release(here.quorum, OWNER, NULL));
}
END_TEST

/* A call that waits for silent servers ends when the quorum is lost. */
START_TEST(a_quorum_that_is_lost_meanwhile_is_not_renewed)
{
    struct call call;

    hold_for(_i ? 1500 : MINUTE_MS);
    call_init(&call);
    if (_i)
        each(0, SERVERS, server_pause);
    else
        for (int i = 0; i < MOST; i++)
            (void)server_ask(servers[i], "DEL " NAME);
    ck_assert_ok(hf_quorum_renew_async(here.quorum, OWNER, HOUR_MS, call_done, &call));
    ck_assert_status(call_await(&call), HF_LOST);
    (void)diary_await_loss(&diary);
    ck_assert_status(hf_quorum_renew(here.quorum, OWNER, HOUR_MS, NULL), HF_LOST);
    each(0, _i ? SERVERS : 0, server_resume);
    ck_assert_status(hf_quorum_release(here.quorum, OWNER, NULL), HF_LOST);
    await_keys(0, SERVERS, "0");
}
END_TEST

/* QRENEW-1: a member that was extended and lost meanwhile has no vote. */
START_TEST(a_member_that_is_lost_after_its_extension_does_not_count)
{
    struct call call;

    hold_for(MINUTE_MS);
    each(2, 3, server_pause);
    call_init(&call);
    ck_assert_ok(hf_quorum_renew_async(here.quorum, OWNER, HOUR_MS, call_done, &call));
    /* A later call of the member follows the pending one. */
    ck_assert_ok(hf_lock_renew(here.locks[1], OWNER, HOUR_MS, NULL));
    ck_assert_ok(hf_lock_renew(here.locks[0], OWNER, HOUR_MS, NULL));
    (void)server_ask(servers[0], "DEL " NAME);
    ck_assert_status(hf_lock_renew(here.locks[0], OWNER, HOUR_MS, NULL), HF_LOST);
    each(2, 1, server_resume);
    ck_assert_ok(hf_lock_renew(here.locks[2], OWNER, HOUR_MS, NULL));
    ck_assert_int_eq(call.done, 0);
    each(3, 2, server_resume);
    ck_assert_ok(call_await(&call));
    ck_assert_int_gt(hf_quorum_safe_ms(here.quorum, OWNER), HOUR_MS / 2);
    ck_assert_ok(hf_quorum_release(here.quorum, OWNER, NULL));
}
END_TEST

START_TEST(what_cannot_be_renewed_is_refused)
{
    struct hf_acquire_options o = acquire_options(OWNER);
    struct hf_error err;

    ck_assert_status(hf_quorum_renew(here.quorum, OWNER, HOUR_MS, NULL), HF_NOT_OWNER);
    ck_assert_status(hf_quorum_renew(here.quorum, 0, HOUR_MS, NULL), HF_NOT_OWNER);
    ck_assert_ok(hf_quorum_acquire(here.quorum, &o, NULL));
    ck_assert_status(hf_quorum_renew(here.quorum, OWNER, HOUR_MS, &err), HF_E_INVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "lease_ms 0"));
    ck_assert_status(hf_quorum_renew(here.quorum, OWNER, 0, NULL), HF_E_INVAL);
    ck_assert_ok(hf_quorum_release(here.quorum, OWNER, NULL));
}
END_TEST

/* While one is pending, the owner has no other call; then all of them can follow. */
START_TEST(calls_of_one_owner_do_not_overlap)
{
    struct call call;

    hold_for(MINUTE_MS);
    each(0, SERVERS, server_pause);
    call_init(&call);
    ck_assert_ok(hf_quorum_renew_async(here.quorum, OWNER, HOUR_MS, call_done, &call));
    ck_assert_status(hf_quorum_renew(here.quorum, OWNER, HOUR_MS, NULL), HF_E_INVAL);
    ck_assert_status(hf_quorum_release(here.quorum, OWNER, NULL), HF_E_INVAL);
    each(0, SERVERS, server_resume);
    ck_assert_ok(call_await(&call));
    ck_assert_ok(hf_quorum_release(here.quorum, OWNER, NULL));
    await_keys(0, SERVERS, "0");
    hold_for(MINUTE_MS); /* the same owner again */
    ck_assert_ok(hf_quorum_renew(here.quorum, OWNER, HOUR_MS, NULL));
    ck_assert_ok(hf_quorum_release(here.quorum, OWNER, NULL));
}
END_TEST

static void add(Suite *s)
{
    TCase *c = live_case(s, "renew", start, stop);

    tcase_add_test(c, a_majority_is_extended_and_then_all);
    tcase_add_test(c, a_silent_minority_is_not_waited_for);
    tcase_add_test(c, a_reply_to_an_earlier_request_does_not_count);
    tcase_add_test(c, fewer_than_a_majority_change_nothing);
    tcase_add_loop_test(c, a_quorum_that_is_lost_meanwhile_is_not_renewed, 0, 2);
    tcase_add_test(c, a_member_that_is_lost_after_its_extension_does_not_count);
    tcase_add_test(c, what_cannot_be_renewed_is_refused);
    tcase_add_test(c, calls_of_one_owner_do_not_overlap);
}

int main(void)
{
    return live_main("quorum renew", add);
}
