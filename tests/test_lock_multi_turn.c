/* The rules of multi-locks, MULTI-1 to MULTI-8: told how each step went, and the
 * time. */
#include <check.h>

#include "lock/machine/multi_turn.h"
#include "tests/support/dice.h"
#include "tests/support/promise.h"
#include "tests/support/suite.h"

#define NOW INT64_C(1000000)

static struct hf_multi_turn turn;

static struct hf_multi_step next(int64_t now_ms)
{
    return hf_multi_turn_next(&turn, now_ms);
}

static void ck_assert_take(uint32_t member, int64_t wait_ms, int64_t now_ms)
{
    struct hf_multi_step step = next(now_ms);

    ck_assert_int_eq(step.action, MULTI_DO_ACQUIRE);
    ck_assert_uint_eq(step.member, member);
    ck_assert_int_eq(step.wait_ms, wait_ms);
}

static void ck_assert_gives(uint32_t member)
{
    struct hf_multi_step step = next(NOW);

    ck_assert_int_eq(step.action, MULTI_DO_RELEASE);
    ck_assert_uint_eq(step.member, member);
    hf_multi_turn_release_ended(&turn, member);
}

static void ck_assert_ends(hf_status status)
{
    ck_assert_int_eq(next(NOW).action, MULTI_DO_END);
    ck_assert_int_eq(turn.status, status);
}

static void took(hf_status status, int64_t now_ms)
{
    hf_multi_turn_acquire_ended(&turn, status, now_ms);
}

/* ---- one rule each ---- */

/* MULTI-1 */
START_TEST(all_are_taken_in_order)
{
    hf_multi_turn_init(&turn, 3, NOW, HF_FOREVER, 0);
    ck_assert_take(0, HF_FOREVER, NOW);
    took(HF_OK, NOW);
    ck_assert_take(1, MULTI_PATIENCE_MS, NOW);
    took(HF_OK, NOW + 1000);
    ck_assert_take(2, MULTI_PATIENCE_MS - 1000, NOW + 1000);
    took(HF_OK, NOW + 1000);
    ck_assert_ends(HF_OK);
}
END_TEST

START_TEST(patience_is_a_quarter_of_a_short_lease_and_ends_with_the_wait)
{
    hf_multi_turn_init(&turn, 2, NOW, 500, 4000);
    ck_assert_take(0, 500, NOW);
    took(HF_OK, NOW);
    ck_assert_take(1, 500, NOW);
    hf_multi_turn_init(&turn, 2, NOW, 5000, 4000);
    ck_assert_take(0, 5000, NOW);
    took(HF_OK, NOW);
    ck_assert_take(1, 1000, NOW);
}
END_TEST

/* MULTI-2 */
START_TEST(one_try_is_one_try_of_each)
{
    hf_multi_turn_init(&turn, 3, NOW, 0, 0);
    ck_assert_take(0, 0, NOW);
    took(HF_OK, NOW);
    ck_assert_take(1, 0, NOW);
    took(HF_TIMEOUT, NOW);
    ck_assert_gives(0);
    ck_assert_ends(HF_TIMEOUT);
}
END_TEST

/* MULTI-2, MULTI-3 */
START_TEST(missing_member_is_waited_for_without_holding_others)
{
    hf_multi_turn_init(&turn, 4, NOW, 60000, 0);
    took(next(NOW).member == 0 ? HF_OK : HF_E_INVAL, NOW);
    ck_assert_take(1, MULTI_PATIENCE_MS, NOW);
    took(HF_OK, NOW);
    ck_assert_take(2, MULTI_PATIENCE_MS, NOW);
    took(HF_TIMEOUT, NOW + MULTI_PATIENCE_MS);
    ck_assert_gives(1);
    ck_assert_gives(0);
    ck_assert_take(2, 60000 - 3000, NOW + 3000);
    took(HF_OK, NOW + 4000);
    ck_assert_take(0, 0, NOW + 4000);
    took(HF_OK, NOW + 4000);
    ck_assert_take(1, 0, NOW + 4000);
    took(HF_TIMEOUT, NOW + 4000);
    ck_assert_gives(2);
    ck_assert_gives(0);
    ck_assert_take(0, 60000 - 4000, NOW + 4000); /* in the order again */
    took(HF_OK, NOW + 4000);
    ck_assert_take(1, MULTI_PATIENCE_MS, NOW + 4000);
}
END_TEST

/* MULTI-5 */
START_TEST(a_member_that_fails_ends_it)
{
    hf_multi_turn_init(&turn, 2, NOW, HF_FOREVER, 0);
    (void)next(NOW);
    took(HF_OK, NOW);
    (void)next(NOW);
    took(HF_E_CONNECT, NOW);
    ck_assert_gives(0);
    ck_assert_ends(HF_E_CONNECT);
}
END_TEST

static void take_both(void)
{
    (void)next(NOW);
    took(HF_OK, NOW);
    (void)next(NOW);
    took(HF_OK, NOW);
    ck_assert_ends(HF_OK);
}

/* MULTI-4 */
START_TEST(members_that_are_no_longer_safe_are_acquired_again_a_few_times)
{
    hf_multi_turn_init(&turn, 2, NOW, HF_FOREVER, 0);
    for (int i = 0; i < MULTI_LATE_MAX; i++) {
        take_both();
        hf_multi_turn_unsafe(&turn, NOW);
        ck_assert_gives(1);
        ck_assert_gives(0);
    }
    take_both();
    hf_multi_turn_unsafe(&turn, NOW);
    ck_assert_gives(1);
    ck_assert_gives(0);
    ck_assert_ends(HF_E_NOREPLY);
}
END_TEST

/* MULTI-7: not even if it is the only thing that was heard of the server. */
START_TEST(a_request_that_patience_cuts_off_ends_the_round_only)
{
    hf_multi_turn_init(&turn, 2, NOW, HF_FOREVER, 0);
    (void)next(NOW);
    took(HF_OK, NOW);
    ck_assert_take(1, 1, NOW + MULTI_PATIENCE_MS - 1);
    took(HF_E_NOREPLY, NOW + MULTI_PATIENCE_MS);
    ck_assert_gives(0);
    ck_assert_take(1, HF_FOREVER, NOW + MULTI_PATIENCE_MS);
    took(HF_OK, NOW + MULTI_PATIENCE_MS);
    ck_assert_take(0, 0, NOW + MULTI_PATIENCE_MS);
    took(HF_OK, NOW + MULTI_PATIENCE_MS);
    ck_assert_ends(HF_OK);
}
END_TEST

static const hf_status silences[] = {HF_E_NOREPLY, HF_E_CONNECT, HF_E_SERVER};

START_TEST(a_request_with_little_time_before_the_end_of_the_wait_timed_out)
{
    hf_multi_turn_init(&turn, 2, NOW, 1000, 0);
    (void)next(NOW);
    took(HF_OK, NOW + 990);
    ck_assert_take(1, 10, NOW + 990);
    took(silences[_i], NOW + 1000);
    ck_assert_gives(0);
    ck_assert_ends(HF_TIMEOUT);
}
END_TEST

/* Also over two rounds. */
START_TEST(a_server_that_is_silent_for_most_of_the_wait_has_failed)
{
    hf_multi_turn_init(&turn, 2, NOW, 5000, 0);
    (void)next(NOW);
    took(HF_OK, NOW);
    ck_assert_take(1, 3000, NOW);
    took(silences[_i], NOW + 3000);
    ck_assert_gives(0);
    ck_assert_take(1, 2000, NOW + 3000);
    took(silences[_i], NOW + 5000);
    ck_assert_ends(silences[_i]);
}
END_TEST

/* The server has replied within the time of the request. */
START_TEST(an_error_that_comes_in_time_is_one)
{
    hf_multi_turn_init(&turn, 2, NOW, 1000, 0);
    (void)next(NOW);
    took(HF_OK, NOW + 990);
    (void)next(NOW + 990);
    took(silences[_i], NOW + 999);
    ck_assert_gives(0);
    ck_assert_ends(silences[_i]);
}
END_TEST

START_TEST(nothing_is_requested_after_the_end_of_the_wait)
{
    hf_multi_turn_init(&turn, 2, NOW, 1000, 0);
    (void)next(NOW);
    took(HF_OK, NOW + 1000);
    ck_assert_int_eq(next(NOW + 1000).action, MULTI_DO_RELEASE);
    hf_multi_turn_release_ended(&turn, 0);
    ck_assert_ends(HF_TIMEOUT);
}
END_TEST

/* MULTI-6 */
START_TEST(the_length_of_a_patience_is_random)
{
    int64_t least = MULTI_PATIENCE_MS, most = 0;

    for (uint32_t i = 1; i <= 1000; i++) {
        int64_t wait_ms;

        hf_multi_turn_init(&turn, 2, NOW, HF_FOREVER, 0);
        turn.random_state = i * 2654435761u;
        (void)next(NOW);
        took(HF_OK, NOW);
        wait_ms = next(NOW).wait_ms;
        least = wait_ms < least ? wait_ms : least;
        most = wait_ms > most ? wait_ms : most;
    }
    ck_assert_int_ge(least, MULTI_PATIENCE_MS / 2);
    ck_assert_int_le(least, MULTI_PATIENCE_MS / 2 + 100);
    ck_assert_int_le(most, MULTI_PATIENCE_MS);
    ck_assert_int_ge(most, MULTI_PATIENCE_MS - 100);
}
END_TEST

START_TEST(a_release_releases_the_last_member_first)
{
    hf_multi_turn_release(&turn, HF_MULTI_MAX);
    for (uint32_t i = HF_MULTI_MAX; i-- > 0;)
        ck_assert_gives(i);
    ck_assert_ends(HF_OK);
}
END_TEST

/* The replies may come in any order. */
START_TEST(releases_do_not_wait_for_each_other) /* MULTI-8 */
{
    static const uint32_t order[] = {1, 2, 0, 3};

    hf_multi_turn_release(&turn, 4);
    turn.releases_at_once_max = 4;
    for (uint32_t i = 4; i-- > 0;) {
        struct hf_multi_step step = next(NOW);

        ck_assert_int_eq(step.action, MULTI_DO_RELEASE);
        ck_assert_uint_eq(step.member, i);
    }
    for (size_t i = 0; i < ROWS(order); i++) {
        ck_assert_int_eq(next(NOW).action, MULTI_DO_AWAIT);
        hf_multi_turn_release_ended(&turn, order[i]);
    }
    ck_assert_ends(HF_OK);
}
END_TEST

/* MULTI-8: without memory, one is pending at a time. */
START_TEST(a_release_may_wait_for_the_one_before)
{
    hf_multi_turn_release(&turn, 2);
    ck_assert_int_eq(next(NOW).action, MULTI_DO_RELEASE);
    ck_assert_int_eq(next(NOW).action, MULTI_DO_AWAIT);
    hf_multi_turn_release_ended(&turn, 1);
    ck_assert_gives(0);
    ck_assert_ends(HF_OK);
}
END_TEST

/* ---- any course of things ---- */

#define COURSES 20000
#define STEPS 400

static uint64_t held;           /* what the servers would say */
static uint64_t pending;        /* releases without a reply */

static void ck_step(struct hf_multi_step step)
{
    uint64_t bit = UINT64_C(1) << step.member;

    if (step.action == MULTI_DO_ACQUIRE) {
        ck_must(!(held & bit), "what is held is not taken again");
        ck_must(step.member < turn.count, "there is such a member");
        ck_must(!held || step.wait_ms <= turn.patience_max_ms,
                "who holds some waits no longer than its patience");
        ck_must(!held || step.wait_ms == 0 || held < bit,
                "who holds some waits for one behind them");
    } else if (step.action == MULTI_DO_RELEASE) {
        ck_must(held & bit, "what is held is given back");
        ck_must(held >> step.member == 1, "the last one first");
    } else if (step.action == MULTI_DO_AWAIT) {
        ck_must(pending, "a reply comes");
    }
    ck_must(step.action == MULTI_DO_RELEASE || step.action == MULTI_DO_AWAIT || !pending,
            "each reply is awaited");
}

/* Any of them. */
static void reply_to_release(void)
{
    uint32_t member = (uint32_t)dice(turn.count);

    while (!(pending & (UINT64_C(1) << member)))
        member = (member + 1) % turn.count;
    pending &= ~(UINT64_C(1) << member);
    hf_multi_turn_release_ended(&turn, member);
}

static hf_status fate(void)
{
    uint64_t n = dice(20);

    return n == 0 ? HF_E_NOREPLY : n < 8 ? HF_TIMEOUT : HF_OK;
}

static void go_through(int64_t wait_ms)
{
    int64_t now_ms = NOW;

    held = pending = 0;
    hf_multi_turn_init(&turn, 1 + (uint32_t)dice(5), now_ms, wait_ms, 0);
    turn.releases_at_once_max = 1 + (uint32_t)dice(turn.count);
    for (int i = 0; i < STEPS; i++) {
        struct hf_multi_step step = next(now_ms);
        hf_status status = fate();

        ck_step(step);
        if (step.action == MULTI_DO_END)
            break;
        now_ms += status == HF_TIMEOUT && step.wait_ms > 0 ? step.wait_ms : 1;
        if (step.action == MULTI_DO_RELEASE) {
            held &= ~(UINT64_C(1) << step.member);
            pending |= UINT64_C(1) << step.member;
            continue;
        }
        if (step.action == MULTI_DO_AWAIT) {
            reply_to_release();
            continue;
        }
        held |= (uint64_t)(status == HF_OK) << step.member;
        took(status, now_ms);
        if (held == (UINT64_C(1) << turn.count) - 1 && dice(4) == 0)
            hf_multi_turn_unsafe(&turn, now_ms);
    }
    ck_must(next(now_ms).action == MULTI_DO_END, "it ends");
    ck_must(turn.status == HF_OK ? held == (UINT64_C(1) << turn.count) - 1
                                 : held == 0,
            "all or none");
}

START_TEST(all_members_or_none)
{
    static const int64_t waits[] = {0, 1, 5000, 100000};

    for (int i = 0; i < COURSES; i++)
        go_through(waits[i % ROWS(waits)]);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("lock/multi_turn");
    TCase *c = tcase_create("turns");

    tcase_add_test(c, all_are_taken_in_order);
    tcase_add_test(c,
                   patience_is_a_quarter_of_a_short_lease_and_ends_with_the_wait);
    tcase_add_test(c, one_try_is_one_try_of_each);
    tcase_add_test(c, missing_member_is_waited_for_without_holding_others);
    tcase_add_test(c, a_member_that_fails_ends_it);
    tcase_add_test(c, members_that_are_no_longer_safe_are_acquired_again_a_few_times);
    tcase_add_test(c, a_request_that_patience_cuts_off_ends_the_round_only);
    tcase_add_loop_test(
        c, a_request_with_little_time_before_the_end_of_the_wait_timed_out, 0,
        ROWS(silences));
    tcase_add_loop_test(
        c, a_server_that_is_silent_for_most_of_the_wait_has_failed, 0,
        ROWS(silences));
    tcase_add_loop_test(c, an_error_that_comes_in_time_is_one, 0,
                        ROWS(silences));
    tcase_add_test(c, nothing_is_requested_after_the_end_of_the_wait);
    tcase_add_test(c, the_length_of_a_patience_is_random);
    tcase_add_test(c, a_release_releases_the_last_member_first);
    tcase_add_test(c, releases_do_not_wait_for_each_other);
    tcase_add_test(c, a_release_may_wait_for_the_one_before);
    tcase_add_test(c, all_members_or_none);
    suite_add_tcase(s, c);
    return suite_run(s);
}
