/* The rules of quorums, QUORUM-1 to QUORUM-13: told how each step went, and the
 * time; then everything that can happen to up to four members. */
#include <check.h>
#include <string.h>

#include "lock/machine/quorum_turn.h"
#include "tests/support/dice.h"
#include "tests/support/promise.h"
#include "tests/support/suite.h"

#define NOW INT64_C(1000000)
#define HEAL_MS 10000

static struct hf_quorum_turn turn;

static void begin(uint32_t count, int64_t wait_ms, int64_t lease_ms)
{
    struct hf_quorum_request request = {
        wait_ms, lease_ms, lease_ms ? HF_NEVER : HEAL_MS, 7};

    hf_quorum_turn_init(&turn, count);
    hf_quorum_turn_acquire(&turn, NOW, &request);
}

/* ---- one rule each ---- */

static struct hf_quorum_step next(int64_t now_ms)
{
    return hf_quorum_turn_next(&turn, now_ms);
}

static int64_t ck_assert_asks(uint32_t member, int64_t now_ms)
{
    struct hf_quorum_step step = next(now_ms);

    ck_assert_int_eq(step.action, QUORUM_DO_REQUEST);
    ck_assert_uint_eq(step.member, member);
    return step.wait_ms;
}

static void ck_assert_does(enum hf_quorum_action action, uint32_t member,
                           int64_t now_ms)
{
    struct hf_quorum_step step = next(now_ms);

    ck_assert_int_eq(step.action, action);
    ck_assert_uint_eq(step.member, member);
}

static void ck_assert_rests(int64_t now_ms)
{
    ck_assert_does(QUORUM_DO_NOTHING, turn.count - 1, now_ms);
}

static void ck_assert_ends(hf_status status, int64_t now_ms)
{
    ck_assert_int_eq(next(now_ms).action, QUORUM_DO_END);
    ck_assert_int_eq(turn.status, status);
}

static void ck_assert_all_asked(int64_t now_ms)
{
    for (uint32_t i = 0; i < turn.count; i++)
        ck_assert_int_eq(ck_assert_asks(i, now_ms), 0);
    ck_assert_rests(now_ms);
}

static void say(uint32_t member, hf_status status)
{
    hf_quorum_turn_request_ended(&turn, member, status, NOW);
}

static void ck_assert_held(int64_t now_ms)
{
    ck_assert_int_eq(next(now_ms).action, QUORUM_DO_CHECK_SAFE);
    hf_quorum_turn_safe_checked(&turn, true, now_ms);
    ck_assert_ends(HF_OK, now_ms);
}

static void hold_all(uint32_t count)
{
    begin(count, HF_FOREVER, 0);
    ck_assert_all_asked(NOW);
    for (uint32_t i = 0; i < count; i++)
        say(i, HF_OK);
    ck_assert_held(NOW);
}

/* QUORUM-1 */
START_TEST(most_votes_are_enough_and_the_others_may_come_later)
{
    begin(5, HF_FOREVER, 0);
    ck_assert_all_asked(NOW);
    say(4, HF_OK);
    say(1, HF_OK);
    ck_assert_rests(NOW);
    say(2, HF_OK);
    ck_assert_held(NOW);
    say(0, HF_OK);
    say(3, HF_E_CONNECT);
    ck_assert_rests(NOW);
    ck_assert_uint_eq(hf_quorum_turn_votes(&turn), 4);
}
END_TEST

/* QUORUM-1 */
START_TEST(more_failures_than_a_minority_end_it)
{
    begin(5, HF_FOREVER, 0);
    ck_assert_all_asked(NOW);
    say(0, HF_OK);
    say(1, HF_E_CONNECT);
    say(2, HF_E_NOREPLY);
    ck_assert_rests(NOW);
    say(3, HF_E_AUTH);
    ck_assert_does(QUORUM_DO_RELEASE, 0, NOW);
    ck_assert_does(QUORUM_DO_CANCEL, 4, NOW);
    hf_quorum_turn_release_ended(&turn, 0);
    ck_assert_rests(NOW);
    say(4, HF_CANCELLED);
    ck_assert_ends(HF_E_QUORUM, NOW);
}
END_TEST

/* QUORUM-2 */
START_TEST(owner_of_the_first_member_keeps_its_members_and_waits_for_the_others)
{
    begin(3, HF_FOREVER, 0);
    ck_assert_all_asked(NOW);
    say(0, HF_OK);
    say(1, HF_TIMEOUT);
    ck_assert_rests(NOW);
    say(2, HF_TIMEOUT);
    ck_assert_int_ge(ck_assert_asks(1, NOW), QUORUM_PATIENCE_MS / 2);
    ck_assert_int_le(ck_assert_asks(2, NOW), QUORUM_PATIENCE_MS);
    ck_assert_rests(NOW);
    say(2, HF_OK);
    ck_assert_held(NOW);
}
END_TEST

/* QUORUM-2 */
START_TEST(others_release_all_and_wait_for_the_first_member)
{
    begin(3, 60000, 0);
    ck_assert_all_asked(NOW);
    say(0, HF_TIMEOUT);
    say(1, HF_OK);
    say(2, HF_TIMEOUT);
    ck_assert_int_eq(ck_assert_asks(0, NOW), 60000);
    ck_assert_does(QUORUM_DO_RELEASE, 1, NOW);
    ck_assert_rests(NOW);
    hf_quorum_turn_release_ended(&turn, 1);
    ck_assert_rests(NOW);
    say(0, HF_OK);
    (void)ck_assert_asks(1, NOW);
    (void)ck_assert_asks(2, NOW);
    say(1, HF_OK);
    ck_assert_held(NOW);
}
END_TEST

/* QUORUM-2 */
START_TEST(the_first_is_the_first_that_answers)
{
    begin(5, HF_FOREVER, 0);
    ck_assert_all_asked(NOW);
    say(0, HF_E_CONNECT);
    say(1, HF_TIMEOUT);
    say(2, HF_TIMEOUT);
    say(3, HF_TIMEOUT);
    ck_assert_int_eq(ck_assert_asks(1, NOW), HF_FOREVER);
    ck_assert_does(QUORUM_DO_CANCEL, 4, NOW);
    say(1, HF_E_CONNECT); /* it goes away, too */
    (void)ck_assert_asks(2, NOW);
}
END_TEST

/* QUORUM-4 */
START_TEST(a_long_wait_for_one_member_becomes_a_rush_and_keeps_its_place)
{
    int64_t due;

    begin(3, HF_FOREVER, 0);
    ck_assert_all_asked(NOW);
    say(0, HF_TIMEOUT);
    say(1, HF_TIMEOUT);
    (void)ck_assert_asks(0, NOW);
    ck_assert_does(QUORUM_DO_CANCEL, 2, NOW);
    say(2, HF_CANCELLED);
    ck_assert_rests(NOW);
    due = hf_quorum_turn_due(&turn);
    ck_assert_int_gt(due, NOW);
    ck_assert_int_le(due, NOW + QUORUM_LINE_PATIENCE_MS);
    ck_assert_int_eq(ck_assert_asks(1, due), 0);
    ck_assert_int_eq(ck_assert_asks(2, due), 0);
    say(1, HF_OK);
    say(2, HF_OK);
    ck_assert_held(due);
    hf_quorum_turn_release(&turn);
    ck_assert_does(QUORUM_DO_CANCEL, 0, due); /* the line is left at last */
}
END_TEST

/* QUORUM-3: from half of it to the whole. */
START_TEST(the_length_of_a_patience_is_random)
{
    int64_t least = QUORUM_PATIENCE_MS, most = 0;

    for (uint32_t i = 1; i <= 1000; i++) {
        struct hf_quorum_request request = {HF_FOREVER, 0, HEAL_MS, i * 2654435761u};
        int64_t patience_ms;

        hf_quorum_turn_init(&turn, 3);
        hf_quorum_turn_acquire(&turn, NOW, &request);
        patience_ms = turn.phase_until_ms - NOW;
        least = patience_ms < least ? patience_ms : least;
        most = patience_ms > most ? patience_ms : most;
    }
    ck_assert_int_ge(least, QUORUM_PATIENCE_MS / 2);
    ck_assert_int_le(least, QUORUM_PATIENCE_MS / 2 + 50);
    ck_assert_int_le(most, QUORUM_PATIENCE_MS);
    ck_assert_int_ge(most, QUORUM_PATIENCE_MS - 50);
}
END_TEST

/* QUORUM-3 */
START_TEST(a_fill_that_fails_releases_all)
{
    int64_t due;

    begin(3, HF_FOREVER, 4000);
    ck_assert_all_asked(NOW);
    say(0, HF_OK);
    say(1, HF_TIMEOUT);
    say(2, HF_TIMEOUT);
    ck_assert_int_le(ck_assert_asks(1, NOW), 1000); /* a quarter of the lease */
    (void)ck_assert_asks(2, NOW);
    ck_assert_rests(NOW);
    due = hf_quorum_turn_due(&turn);
    say(1, HF_TIMEOUT);
    ck_assert_rests(due - 1);
    ck_assert_does(QUORUM_DO_RELEASE, 0, due);
    ck_assert_does(QUORUM_DO_CANCEL, 2, due);
    hf_quorum_turn_release_ended(&turn, 0);
    ck_assert_int_eq(ck_assert_asks(0, due), HF_FOREVER);
}
END_TEST

START_TEST(silent_members_are_not_waited_for_while_others_are_in_the_way)
{
    int64_t due;

    begin(5, HF_FOREVER, 0);
    ck_assert_all_asked(NOW);
    ck_assert_int_eq(hf_quorum_turn_due(&turn), HF_NEVER);
    say(0, HF_TIMEOUT);
    say(1, HF_OK);
    ck_assert_rests(NOW);
    due = hf_quorum_turn_due(&turn);
    ck_assert_int_le(due, NOW + QUORUM_PATIENCE_MS);
    ck_assert_int_eq(ck_assert_asks(0, due), HF_FOREVER);
    ck_assert_does(QUORUM_DO_RELEASE, 1, due);
}
END_TEST

/* QUORUM-2: The server may have recovered since that call. */
START_TEST(a_member_that_failed_in_a_call_before_has_its_time_like_any_other)
{
    struct hf_quorum_request request = {HF_FOREVER, 0, HEAL_MS, 7};

    begin(3, HF_FOREVER, 0);
    ck_assert_all_asked(NOW);
    say(0, HF_E_CONNECT);
    say(1, HF_OK);
    say(2, HF_OK);
    ck_assert_held(NOW);
    hf_quorum_turn_release(&turn);
    for (uint32_t i = 1; i < 3; i++) {
        ck_assert_does(QUORUM_DO_RELEASE, i, NOW);
        hf_quorum_turn_release_ended(&turn, i);
    }
    ck_assert_ends(HF_OK, NOW);
    hf_quorum_turn_acquire(&turn, NOW, &request);
    ck_assert_all_asked(NOW);
    say(1, HF_TIMEOUT);
    say(2, HF_OK);
    ck_assert_rests(NOW + 30);
    say(0, HF_OK);
    ck_assert_held(NOW + 30);
}
END_TEST

/* Also a member that was silent in the rush before, in this call. */
START_TEST(each_rush_waits_for_every_member)
{
    int64_t due;

    begin(3, HF_FOREVER, 0);
    ck_assert_all_asked(NOW);
    say(0, HF_TIMEOUT);
    say(1, HF_OK);
    due = hf_quorum_turn_due(&turn);
    ck_assert_int_eq(ck_assert_asks(0, due), HF_FOREVER);
    ck_assert_does(QUORUM_DO_RELEASE, 1, due);
    hf_quorum_turn_release_ended(&turn, 1);
    ck_assert_does(QUORUM_DO_CANCEL, 2, due);
    say(2, HF_CANCELLED);
    ck_assert_rests(due);
    due = hf_quorum_turn_due(&turn);
    ck_assert_int_eq(ck_assert_asks(1, due), 0);
    ck_assert_int_eq(ck_assert_asks(2, due), 0);
    say(1, HF_OK);
    ck_assert_rests(due + 30);
    say(2, HF_OK);
    ck_assert_held(due + 30);
}
END_TEST

/* QUORUM-4 */
START_TEST(a_line_leaves_time_for_a_rush_before_the_wait_ends)
{
    int64_t due;

    begin(3, 1000, 0);
    ck_assert_all_asked(NOW);
    say(0, HF_TIMEOUT);
    say(1, HF_TIMEOUT);
    ck_assert_int_eq(ck_assert_asks(0, NOW), 1000);
    ck_assert_does(QUORUM_DO_CANCEL, 2, NOW);
    say(2, HF_CANCELLED);
    ck_assert_rests(NOW);
    due = hf_quorum_turn_due(&turn);
    ck_assert_int_le(due, NOW + 500);
    ck_assert_int_eq(ck_assert_asks(1, due), 0);
    ck_assert_int_eq(ck_assert_asks(2, due), 0);
    say(1, HF_OK);
    say(2, HF_OK);
    ck_assert_held(due);
}
END_TEST

static void fill_from(int64_t now_ms)
{
    ck_assert_all_asked(now_ms);
    say(0, HF_OK);
    say(1, HF_TIMEOUT);
    say(2, HF_TIMEOUT);
    (void)ck_assert_asks(1, now_ms);
    (void)ck_assert_asks(2, now_ms);
    ck_assert_rests(now_ms);
}

/* QUORUM-8: of a request with a short time, HF_E_NOREPLY says no more than that. */
START_TEST(a_short_request_without_a_reply_is_not_a_failed_server)
{
    begin(3, HF_FOREVER, 0);
    fill_from(NOW);
    say(1, HF_E_NOREPLY);
    say(2, HF_E_CONNECT);
    ck_assert_does(QUORUM_DO_RELEASE, 0, NOW);
    hf_quorum_turn_release_ended(&turn, 0);
    ck_assert_int_eq(ck_assert_asks(0, NOW), HF_FOREVER); /* the line */
}
END_TEST

START_TEST(a_refusal_in_a_fill_is_a_failure)
{
    begin(3, HF_FOREVER, 0);
    fill_from(NOW);
    say(1, HF_E_SERVER);
    say(2, HF_E_AUTH);
    ck_assert_does(QUORUM_DO_RELEASE, 0, NOW);
    hf_quorum_turn_release_ended(&turn, 0);
    ck_assert_ends(HF_E_QUORUM, NOW);
}
END_TEST

/* The rush of a line has just begun; the members were held when last heard of. */
START_TEST(a_wait_that_ends_before_any_reply_to_its_last_round_timed_out)
{
    int64_t due;

    begin(3, 100, 0);
    ck_assert_all_asked(NOW);
    say(0, HF_TIMEOUT);
    say(1, HF_TIMEOUT);
    (void)ck_assert_asks(0, NOW + 1);
    ck_assert_does(QUORUM_DO_CANCEL, 2, NOW + 1);
    say(2, HF_CANCELLED);
    ck_assert_rests(NOW + 1);
    due = hf_quorum_turn_due(&turn);
    ck_assert_int_eq(ck_assert_asks(1, due), 0);
    ck_assert_int_eq(ck_assert_asks(2, due), 0);
    ck_assert_rests(due);
    for (uint32_t i = 0; i < 3; i++)
        ck_assert_does(QUORUM_DO_CANCEL, i, NOW + 100);
    for (uint32_t i = 0; i < 3; i++)
        say(i, HF_CANCELLED);
    ck_assert_ends(HF_TIMEOUT, NOW + 100);
}
END_TEST

START_TEST(one_try_is_one_try_of_each)
{
    begin(3, 0, 0);
    ck_assert_all_asked(NOW);
    say(0, HF_OK);
    say(1, HF_TIMEOUT);
    say(2, HF_TIMEOUT);
    ck_assert_does(QUORUM_DO_RELEASE, 0, NOW);
    hf_quorum_turn_release_ended(&turn, 0);
    ck_assert_ends(HF_TIMEOUT, NOW);
}
END_TEST

/* QUORUM-7 */
START_TEST(the_end_of_the_wait_ends_it_in_each_state)
{
    begin(3, 100, 0);
    ck_assert_all_asked(NOW);
    say(0, HF_TIMEOUT);
    say(1, HF_TIMEOUT);
    ck_assert_int_eq(ck_assert_asks(0, NOW + 40), 60);
    ck_assert_does(QUORUM_DO_CANCEL, 2, NOW + 40);
    say(2, HF_CANCELLED);
    ck_assert_does(QUORUM_DO_CANCEL, 0, NOW + 100);
    say(0, HF_CANCELLED);
    ck_assert_ends(HF_TIMEOUT, NOW + 100);
}
END_TEST

START_TEST(members_that_are_not_safe_are_requested_again_a_few_times)
{
    begin(1, HF_FOREVER, 0);
    for (int i = 0; i <= QUORUM_LATE_MAX; i++) {
        (void)ck_assert_asks(0, NOW);
        say(0, HF_OK);
        ck_assert_int_eq(next(NOW).action, QUORUM_DO_CHECK_SAFE);
        hf_quorum_turn_safe_checked(&turn, false, NOW);
        ck_assert_does(QUORUM_DO_RELEASE, 0, NOW);
        hf_quorum_turn_release_ended(&turn, 0);
    }
    ck_assert_ends(HF_E_NOREPLY, NOW);
}
END_TEST

/* QUORUM-7 */
START_TEST(a_grant_that_crosses_its_cancel_is_released)
{
    begin(3, HF_FOREVER, 0);
    ck_assert_all_asked(NOW);
    hf_quorum_turn_cancel(&turn, HF_CANCELLED);
    for (uint32_t i = 0; i < 3; i++)
        ck_assert_does(QUORUM_DO_CANCEL, i, NOW);
    say(1, HF_OK);
    ck_assert_does(QUORUM_DO_RELEASE, 1, NOW);
    say(0, HF_CANCELLED);
    say(2, HF_CANCELLED);
    ck_assert_rests(NOW);
    hf_quorum_turn_release_ended(&turn, 1);
    ck_assert_ends(HF_CANCELLED, NOW);
}
END_TEST

/* QUORUM-12 */
START_TEST(member_lost_before_the_quorum_is_requested_again)
{
    begin(2, HF_FOREVER, 0);
    ck_assert_all_asked(NOW);
    for (int times = 0; times < QUORUM_LATE_MAX; times++) {
        say(0, HF_OK);
        ck_assert(!hf_quorum_turn_lost(&turn, 0, HF_NEVER));
        ck_assert_does(QUORUM_DO_RELEASE, 0, NOW);
        hf_quorum_turn_release_ended(&turn, 0);
        ck_assert_int_eq(ck_assert_asks(0, NOW), 0);
        ck_assert_rests(NOW);
    }
    say(0, HF_OK);
    ck_assert(!hf_quorum_turn_lost(&turn, 0, HF_NEVER));
    ck_assert_does(QUORUM_DO_RELEASE, 0, NOW);
    ck_assert_does(QUORUM_DO_CANCEL, 1, NOW);
    say(1, HF_CANCELLED);
    hf_quorum_turn_release_ended(&turn, 0);
    ck_assert_ends(HF_E_QUORUM, NOW);
}
END_TEST

/* QUORUM-13 */
START_TEST(member_that_cannot_be_used_is_not_requested_again_in_this_round)
{
    begin(3, HF_FOREVER, 0);
    ck_assert_all_asked(NOW);
    say(0, HF_OK);
    say(1, HF_OK);
    hf_quorum_turn_unusable(&turn, 0);
    ck_assert_does(QUORUM_DO_RELEASE, 0, NOW);
    hf_quorum_turn_release_ended(&turn, 0);
    ck_assert_rests(NOW);
    hf_quorum_turn_unusable(&turn, 1);
    ck_assert_does(QUORUM_DO_RELEASE, 1, NOW);
    ck_assert_does(QUORUM_DO_CANCEL, 2, NOW);
    say(2, HF_CANCELLED);
    hf_quorum_turn_release_ended(&turn, 1);
    ck_assert_ends(HF_E_QUORUM, NOW);
}
END_TEST

/* QUORUM-12: The majority was not safe, so all members are released, and their holds are
 * reported as lost before that. */
START_TEST(a_loss_during_a_release_does_not_count_as_failed)
{
    begin(3, HF_FOREVER, 0);
    ck_assert_all_asked(NOW);
    say(0, HF_OK);
    say(1, HF_OK);
    say(2, HF_OK);
    ck_assert_int_eq(next(NOW).action, QUORUM_DO_CHECK_SAFE);
    hf_quorum_turn_safe_checked(&turn, false, NOW);
    for (uint32_t i = 0; i < 3; i++)
        ck_assert(!hf_quorum_turn_lost(&turn, i, HF_NEVER));
    for (uint32_t i = 0; i < 3; i++)
        ck_assert_does(QUORUM_DO_RELEASE, i, NOW);
    for (uint32_t i = 0; i < 3; i++)
        hf_quorum_turn_release_ended(&turn, i);
    ck_assert_all_asked(NOW);
}
END_TEST

/* QUORUM-5 */
START_TEST(lost_member_is_requested_again_while_a_majority_remains)
{
    hold_all(3);
    ck_assert(!hf_quorum_turn_lost(&turn, 1, HF_NEVER));
    ck_assert_does(QUORUM_DO_RELEASE, 1, NOW);
    hf_quorum_turn_release_ended(&turn, 1);
    ck_assert_rests(NOW);
    ck_assert_int_eq(hf_quorum_turn_due(&turn), NOW + HEAL_MS);
    ck_assert_int_eq(ck_assert_asks(1, NOW + HEAL_MS), 0);
    say(1, HF_OK);
    ck_assert_rests(NOW);
    ck_assert(!hf_quorum_turn_lost(&turn, 0, HF_NEVER)); /* another one: still most */
    ck_assert(hf_quorum_turn_lost(&turn, 2, HF_NEVER));
    ck_assert_int_eq(hf_quorum_turn_due(&turn), HF_NEVER);
}
END_TEST

/* ---- a majority at every moment: QUORUM-9, QUORUM-10 ---- */

#define LATER (NOW + HEAL_MS)

/* The second of three members was forgotten, and is granted again at `LATER`. */
static void acquire_the_second_again(void)
{
    hold_all(3);
    ck_assert(!hf_quorum_turn_lost(&turn, 1, NOW));
    ck_assert_does(QUORUM_DO_RELEASE, 1, NOW);
    hf_quorum_turn_release_ended(&turn, 1);
    ck_assert_int_eq(ck_assert_asks(1, LATER), 0);
    hf_quorum_turn_request_ended(&turn, 1, HF_OK, LATER);
    ck_assert_rests(LATER);
}

/* Both may have been forgotten at one moment: only the third was held then. */
START_TEST(a_loss_before_another_member_was_acquired_again_breaks_it)
{
    acquire_the_second_again();
    ck_assert(hf_quorum_turn_lost(&turn, 2, LATER));
    ck_assert_int_eq(turn.phase, QUORUM_BROKEN);
    ck_assert_int_eq(hf_quorum_turn_due(&turn), HF_NEVER);
}
END_TEST

START_TEST(a_loss_of_a_member_that_was_confirmed_after_that_does_not)
{
    acquire_the_second_again();
    ck_assert(!hf_quorum_turn_lost(&turn, 2, LATER + 1));
    ck_assert_int_eq(turn.phase, QUORUM_HELD);
}
END_TEST

/* The same member may be forgotten again and again: one vote is missing. */
START_TEST(the_same_member_may_be_lost_twice)
{
    acquire_the_second_again();
    ck_assert(!hf_quorum_turn_lost(&turn, 1, NOW));
    ck_assert_int_eq(turn.phase, QUORUM_HELD);
}
END_TEST

START_TEST(the_others_are_confirmed_soon_after_a_late_grant)
{
    acquire_the_second_again();
    ck_assert_int_eq(hf_quorum_turn_due(&turn), LATER + QUORUM_CONFIRM_MS);
    ck_assert_int_eq(turn.last_granted_ms, LATER);
    ck_assert_int_eq(next(LATER + QUORUM_CONFIRM_MS).action, QUORUM_DO_CONFIRM);
    ck_assert_rests(LATER + QUORUM_CONFIRM_MS);
    ck_assert_int_eq(hf_quorum_turn_due(&turn), LATER + HEAL_MS);
}
END_TEST

/* A grant that ends the acquire is no such grant. */
START_TEST(nothing_is_confirmed_after_an_acquire_of_all)
{
    hold_all(3);
    ck_assert_int_eq(hf_quorum_turn_due(&turn), NOW + HEAL_MS);
    ck_assert(!hf_quorum_turn_lost(&turn, 0, NOW - 1));
}
END_TEST

/* The third member's grant comes after the end of the acquire; a member that was
 * forgotten before that may have been missing beside it. */
START_TEST(a_grant_after_the_acquire_counts_from_then_on)
{
    begin(3, HF_FOREVER, 0);
    ck_assert_all_asked(NOW);
    say(0, HF_OK);
    say(1, HF_OK);
    ck_assert_held(NOW);
    hf_quorum_turn_request_ended(&turn, 2, HF_OK, NOW + 5);
    ck_assert_rests(NOW + 5);
    ck_assert_int_eq(hf_quorum_turn_due(&turn), NOW + 5 + QUORUM_CONFIRM_MS);
    ck_assert(hf_quorum_turn_lost(&turn, 0, NOW));
}
END_TEST

/* QUORUM-6: What was lost, too: a server may have it yet, and on_lost may be running. */
START_TEST(a_loss_of_most_is_one_and_all_is_kept_until_the_release)
{
    hold_all(3);
    ck_assert(!hf_quorum_turn_lost(&turn, 0, HF_NEVER));
    ck_assert(hf_quorum_turn_lost(&turn, 2, HF_NEVER));
    ck_assert_rests(NOW);
    ck_assert(!hf_quorum_turn_lost(&turn, 1, HF_NEVER));
    ck_assert_rests(NOW);
    hf_quorum_turn_release(&turn);
    for (uint32_t i = 0; i < 3; i++)
        ck_assert_does(QUORUM_DO_RELEASE, i, NOW);
}
END_TEST

/* QUORUM-6: A member that was being asked again when the quorum broke, and says yes. */
START_TEST(grant_after_a_loss_is_kept_until_the_release)
{
    hold_all(3);
    ck_assert(!hf_quorum_turn_lost(&turn, 1, HF_NEVER));
    ck_assert_does(QUORUM_DO_RELEASE, 1, NOW);
    hf_quorum_turn_release_ended(&turn, 1);
    (void)ck_assert_asks(1, NOW + HEAL_MS);
    ck_assert(hf_quorum_turn_lost(&turn, 0, HF_NEVER));
    ck_assert_does(QUORUM_DO_CANCEL, 1, NOW + HEAL_MS);
    say(1, HF_OK);
    ck_assert_rests(NOW + HEAL_MS);
    hf_quorum_turn_release(&turn);
    for (uint32_t i = 0; i < 3; i++)
        ck_assert_does(QUORUM_DO_RELEASE, i, NOW + HEAL_MS);
}
END_TEST

/* ---- everything that can happen ---- */

enum truth { NOT_ASKED, IS_ASKED, IS_HELD, IS_GIVEN };

struct world {
    struct hf_quorum_turn turn;
    int64_t now_ms;
    enum truth truth[HF_QUORUM_MAX];
    bool was_held;              /* since the acquire began */
    bool was_released;
    bool was_lost;              /* as the user was told */
    bool has_ended;             /* the call that is under way, or the last */
};

/* By its key, of which time is no part but whether the round is over. */
#define SEEN_ROOM (1u << 22)
static uint64_t seen[SEEN_ROOM];
static uint32_t seen_count;

static uint64_t pack(uint64_t key, uint64_t value, unsigned bits)
{
    return key << bits | value;
}

/* is_brief matters only while the member is asked. */
static uint64_t state_of(const struct hf_vote *v)
{
    return v->state == VOTE_REQUESTED && v->has_short_wait ? VOTE_RELEASING + 1 : v->state;
}

static bool was_granted_late(const struct hf_quorum_turn *t, uint32_t member)
{
    return t->phase == QUORUM_HELD && hf_quorum_turn_has_vote(t, member) &&
           t->votes[member].granted_ms != INT64_MIN;
}

static uint64_t key_of(const struct world *w)
{
    const struct hf_quorum_turn *t = &w->turn;
    uint64_t key = 1;

    for (uint32_t i = 0; i < t->count; i++) {
        const struct hf_vote *v = &t->votes[i];

        key = pack(key, state_of(v), 3);
        key = pack(key, v->answer, 2);
        key = pack(key, v->must_be_requested, 1);
        key = pack(key, v->must_be_released, 1);
        key = pack(key, v->is_request_cancelled, 1);
        key = pack(key, v->waits_in_line, 1);
        key = pack(key, v->is_unresponsive, 1);
    }
    for (uint32_t i = 0; i < t->count; i++)
        key = pack(key, was_granted_late(t, i), 1);
    key = pack(key, t->phase == QUORUM_HELD && t->confirm_due_ms != HF_NEVER, 1);
    key = pack(key, t->phase, 3);
    key = pack(key, t->has_pending_call, 1);
    key = pack(key, t->was_refused, 1);
    key = pack(key, t->first_member, 2);
    key = pack(key, t->late_majorities, 3);
    key = pack(key, (uint64_t)-t->status & 7, 3);
    key = pack(key, w->now_ms >= t->phase_until_ms, 1);
    key = pack(key, w->now_ms >= t->deadline_ms, 1);
    key = pack(key, w->was_held, 1);
    key = pack(key, w->was_released, 1);
    key = pack(key, w->was_lost, 1);
    return pack(key, w->has_ended, 1);
}

/* False: it was there. */
static bool see(uint64_t key)
{
    uint32_t at = (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 42);

    for (; seen[at]; at = (at + 1) % SEEN_ROOM)
        if (seen[at] == key)
            return false;
    ck_must(++seen_count < SEEN_ROOM / 2, "there is room for all that is seen");
    seen[at] = key;
    return true;
}

static uint32_t count_truth(const struct world *w, enum truth truth)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < w->turn.count; i++)
        count += w->truth[i] == truth;
    return count;
}

static void ck_end(struct world *w)
{
    uint32_t all = w->turn.count;

    ck_must(!w->has_ended, "a call ends once");
    w->has_ended = true;
    if (w->turn.status == HF_OK && !w->was_released)
        ck_must(count_truth(w, IS_HELD) > all / 2, "most are held");
    else
        ck_must(count_truth(w, NOT_ASKED) == all, "nothing is left");
}

static void ck_line(const struct world *w, struct hf_quorum_step step)
{
    const struct hf_quorum_turn *t = &w->turn;

    if (step.action != QUORUM_DO_NOTHING || t->phase != QUORUM_LINE)
        return;
    ck_must(hf_quorum_turn_votes(t) == 0, "who stands in line keeps nothing");
}

/* Until it rests. */
static void settle(struct world *w, bool are_safe)
{
    for (int i = 0; i < 100; i++) {
        struct hf_quorum_step step = hf_quorum_turn_next(&w->turn, w->now_ms);
        enum truth *truth = &w->truth[step.member];

        ck_line(w, step);
        switch (step.action) {
        case QUORUM_DO_REQUEST:
            ck_must(*truth == NOT_ASKED, "one question at a time");
            *truth = IS_ASKED;
            break;
        case QUORUM_DO_CANCEL:
            ck_must(*truth == IS_ASKED, "what is asked is cancelled");
            break;
        case QUORUM_DO_RELEASE:
            ck_must(*truth == IS_HELD, "what is held is given back");
            *truth = IS_GIVEN;
            break;
        case QUORUM_DO_CHECK_SAFE:
            w->was_held = w->was_held || are_safe;
            hf_quorum_turn_safe_checked(&w->turn, are_safe, w->now_ms);
            break;
        case QUORUM_DO_END:
            ck_end(w);
            break;
        case QUORUM_DO_CONFIRM:
            ck_must(w->was_held && w->turn.phase == QUORUM_HELD,
                    "what is held is confirmed");
            break;
        case QUORUM_DO_NOTHING:
            return;
        }
    }
    ck_must(false, "it rests at last");
}

static void answer(struct world *w, uint32_t member, hf_status status)
{
    w->truth[member] = status == HF_OK ? IS_HELD : NOT_ASKED;
    hf_quorum_turn_request_ended(&w->turn, member, status, w->now_ms);
}

/* What a member says. False: nothing; it is not asked, or lets us stand in
 * line. */
static bool tell(struct world *w, uint32_t member, hf_status status)
{
    const struct hf_vote *vote = &w->turn.votes[member];

    if (w->truth[member] == IS_GIVEN) {
        w->truth[member] = NOT_ASKED;
        hf_quorum_turn_release_ended(&w->turn, member);
        return true;
    }
    if (w->truth[member] != IS_ASKED ||
        (vote->waits_in_line && status == HF_TIMEOUT && !vote->is_request_cancelled))
        return false;
    answer(w, member, vote->is_request_cancelled ? HF_CANCELLED : status);
    return true;
}

/* The same from here on: it ends. */
static void ck_ends_if(struct world w, hf_status status)
{
    for (int i = 0; i < 1000 && w.turn.has_pending_call; i++) {
        bool is_told = false;

        for (uint32_t m = 0; m < w.turn.count && !is_told; m++) {
            is_told = tell(&w, m, status);
        }
        if (!is_told) {
            ck_must(hf_quorum_turn_due(&w.turn) != HF_NEVER,
                    "a timer goes where nothing is heard");
            w.now_ms = hf_quorum_turn_due(&w.turn) > w.now_ms
                           ? hf_quorum_turn_due(&w.turn)
                           : w.now_ms;
        }
        settle(&w, true);
    }
    ck_must(!w.turn.has_pending_call, "it ends");
}

static void explore(const struct world *w);

static void try_answer(const struct world *from, uint32_t member,
                       hf_status status)
{
    struct world w = *from;

    answer(&w, member, status);
    settle(&w, true);
    explore(&w);
    w = *from;
    answer(&w, member, status);
    settle(&w, false);
    explore(&w);
}

static void try_answers(const struct world *from, uint32_t member)
{
    static const hf_status says[] = {HF_OK, HF_TIMEOUT, HF_E_NOREPLY};

    if (from->turn.votes[member].is_request_cancelled) {
        try_answer(from, member, HF_CANCELLED);
        try_answer(from, member, HF_OK);
        return;
    }
    for (size_t i = 0; i < ROWS(says); i++)
        try_answer(from, member, says[i]);
}

static void try_given(const struct world *from, uint32_t member)
{
    struct world w = *from;

    w.truth[member] = NOT_ASKED;
    hf_quorum_turn_release_ended(&w.turn, member);
    settle(&w, true);
    explore(&w);
}

/* The server had the member until `held_ms`. */
static void try_loss(const struct world *from, uint32_t member, int64_t held_ms)
{
    struct world w = *from;
    uint32_t before = hf_quorum_turn_held_since(&w.turn, held_ms);
    bool is_lost = hf_quorum_turn_lost(&w.turn, member, held_ms);
    uint32_t after = hf_quorum_turn_held_since(&w.turn, held_ms);

    ck_must(!is_lost || !w.was_lost, "a loss is told once");
    ck_must(is_lost == (w.turn.phase == QUORUM_BROKEN && !w.was_lost),
            "what breaks it is told");
    ck_must(!is_lost || after < w.turn.votes_needed, "fewer than most were held");
    ck_must(!is_lost || held_ms != HF_NEVER || before == w.turn.votes_needed,
            "it is the one that breaks it");
    w.was_lost = w.was_lost || is_lost;
    settle(&w, true);
    explore(&w);
}

static void try_time(const struct world *from)
{
    struct world w = *from;
    int64_t due = hf_quorum_turn_due(&w.turn);

    if (due == HF_NEVER)
        return;
    w.now_ms = due > w.now_ms ? due : w.now_ms;
    settle(&w, true);
    explore(&w);
}

static void try_calls(const struct world *from)
{
    struct world w = *from;

    if (w.turn.has_pending_call && !w.was_held) {
        hf_quorum_turn_cancel(&w.turn, HF_CANCELLED);
        settle(&w, true);
        explore(&w);
    } else if (w.turn.phase == QUORUM_HELD || w.turn.phase == QUORUM_BROKEN) {
        ck_must(w.has_ended, "it is held when the call has ended");
        w.was_released = true;
        w.has_ended = false;
        hf_quorum_turn_release(&w.turn);
        settle(&w, true);
        explore(&w);
    }
}

static void explore(const struct world *w)
{
    if (!see(key_of(w)))
        return;
    ck_must(!w->was_held || w->was_released || w->was_lost ||
                hf_quorum_turn_votes(&w->turn) >= w->turn.votes_needed,
            "who holds it has most, or was told");
    if (w->turn.has_pending_call) {
        ck_ends_if(*w, HF_OK);
        ck_ends_if(*w, HF_TIMEOUT);
        ck_ends_if(*w, HF_E_NOREPLY);
    }
    for (uint32_t i = 0; i < w->turn.count; i++) {
        if (w->truth[i] == IS_ASKED)
            try_answers(w, i);
        else if (w->truth[i] == IS_GIVEN)
            try_given(w, i);
        else if (w->truth[i] == IS_HELD) {
            try_loss(w, i, HF_NEVER);
            try_loss(w, i, NOW);
        }
    }
    try_time(w);
    try_calls(w);
}

static void explore_all(uint32_t count, int64_t wait_ms)
{
    struct hf_quorum_request request = {wait_ms, 0, HEAL_MS, 7};
    struct world w = {.now_ms = NOW};

    memset(seen, 0, sizeof seen);
    seen_count = 0;
    hf_quorum_turn_init(&w.turn, count);
    hf_quorum_turn_acquire(&w.turn, NOW, &request);
    settle(&w, true);
    explore(&w);
    ck_must(seen_count > 50, "much was seen");
}

START_TEST(whatever_happens_to_a_few_members)
{
    explore_all(1, 20000);
    explore_all(2, 20000);
    explore_all(3, 0);
    explore_all(3, 20000);
    explore_all(4, 20000);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("lock/quorum_turn");
    TCase *c = tcase_create("turns");

    tcase_set_timeout(c, 60);
    tcase_add_test(c, most_votes_are_enough_and_the_others_may_come_later);
    tcase_add_test(c, more_failures_than_a_minority_end_it);
    tcase_add_test(
        c, owner_of_the_first_member_keeps_its_members_and_waits_for_the_others);
    tcase_add_test(c, others_release_all_and_wait_for_the_first_member);
    tcase_add_test(c, the_first_is_the_first_that_answers);
    tcase_add_test(c, a_long_wait_for_one_member_becomes_a_rush_and_keeps_its_place);
    tcase_add_test(c, the_length_of_a_patience_is_random);
    tcase_add_test(c, a_fill_that_fails_releases_all);
    tcase_add_test(
        c, silent_members_are_not_waited_for_while_others_are_in_the_way);
    tcase_add_test(
        c, a_member_that_failed_in_a_call_before_has_its_time_like_any_other);
    tcase_add_test(c, each_rush_waits_for_every_member);
    tcase_add_test(c, a_line_leaves_time_for_a_rush_before_the_wait_ends);
    tcase_add_test(c, a_short_request_without_a_reply_is_not_a_failed_server);
    tcase_add_test(c, a_refusal_in_a_fill_is_a_failure);
    tcase_add_test(
        c, a_wait_that_ends_before_any_reply_to_its_last_round_timed_out);
    tcase_add_test(c, one_try_is_one_try_of_each);
    tcase_add_test(c, the_end_of_the_wait_ends_it_in_each_state);
    tcase_add_test(c, members_that_are_not_safe_are_requested_again_a_few_times);
    tcase_add_test(c, a_grant_that_crosses_its_cancel_is_released);
    tcase_add_test(c, member_lost_before_the_quorum_is_requested_again);
    tcase_add_test(c, member_that_cannot_be_used_is_not_requested_again_in_this_round);
    tcase_add_test(c, a_loss_during_a_release_does_not_count_as_failed);
    tcase_add_test(c, lost_member_is_requested_again_while_a_majority_remains);
    tcase_add_test(c, a_loss_before_another_member_was_acquired_again_breaks_it);
    tcase_add_test(c, a_loss_of_a_member_that_was_confirmed_after_that_does_not);
    tcase_add_test(c, the_same_member_may_be_lost_twice);
    tcase_add_test(c, the_others_are_confirmed_soon_after_a_late_grant);
    tcase_add_test(c, nothing_is_confirmed_after_an_acquire_of_all);
    tcase_add_test(c, a_grant_after_the_acquire_counts_from_then_on);
    tcase_add_test(c,
                   a_loss_of_most_is_one_and_all_is_kept_until_the_release);
    tcase_add_test(c, grant_after_a_loss_is_kept_until_the_release);
    tcase_add_test(c, whatever_happens_to_a_few_members);
    suite_add_tcase(s, c);
    return suite_run(s);
}
