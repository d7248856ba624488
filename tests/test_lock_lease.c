/* Rules LEASE-1 to LEASE-4, told answers and the time: no server, no clock. */
#include <check.h>

#include "lock/machine/lease.h"
#include "tests/support/dice.h"
#include "tests/support/promise.h"
#include "tests/support/suite.h"

#define COUNT(table) ((int)(sizeof(table) / sizeof *(table)))

#define START INT64_C(1000000) /* no multiple of a third or a tick */
#define WATCHDOG 30000
#define THIRD 10000
#define TICK (THIRD / 16)
#define DRIFT 302
#define SAFE (START + WATCHDOG - DRIFT)

static struct hf_sending sent(int64_t ms)
{
    return (struct hf_sending){.sent_ms = ms, .stream = 1};
}

/* A call that was asked and granted. */
static void grant(struct hf_lease *h, int64_t count, int64_t sent_ms,
                  int64_t lease_ms, bool is_renewed, unsigned spread)
{
    struct hf_sending how = sent(sent_ms);

    hf_lease_grant_requested(h, sent_ms, lease_ms);
    hf_lease_granted(h, count, &how, is_renewed, spread);
}

static void renewed_at(struct hf_lease *h, int64_t sent_ms)
{
    struct hf_sending how = sent(sent_ms);

    hf_lease_renewed(h, &how);
}

static void retry_at(struct hf_lease *h, int64_t now_ms)
{
    struct hf_sending how = sent(now_ms);

    hf_lease_retry(h, now_ms, &how);
}

/* A hold of the watchdog, acquired at START. */
static struct hf_lease renewed_hold(void)
{
    struct hf_lease h;

    hf_lease_init(&h, WATCHDOG);
    grant(&h, 1, START, WATCHDOG, true, 0);
    return h;
}

static struct hf_lease leased_hold(int64_t lease_ms)
{
    struct hf_lease h;

    hf_lease_init(&h, WATCHDOG);
    grant(&h, 1, START, lease_ms, false, 0);
    return h;
}

/* ---- LEASE-1 ---- */

static const struct {
    int64_t lease_ms, now_ms, safe_ms;
} spans[] = {
    {WATCHDOG, START, WATCHDOG - DRIFT},
    {WATCHDOG, START + 5000, WATCHDOG - DRIFT - 5000},
    {WATCHDOG, SAFE, 0},
    {WATCHDOG, SAFE + 7, -7},
    {100, START, 97},
    {1, START, -1}, /* too short to be used at all */
};

START_TEST(lease_1_is_safe_from_sending_until_lease_less_margin)
{
    struct hf_lease h = leased_hold(spans[_i].lease_ms);

    ck_assert_int_eq(hf_lease_safe_ms(&h, spans[_i].now_ms), spans[_i].safe_ms);
}
END_TEST

START_TEST(lease_1_a_renewal_counts_from_when_it_was_sent)
{
    struct hf_lease h = renewed_hold();

    ck_assert_int_eq(hf_lease_take_todo(&h, START + THIRD), LEASE_DO_RENEW);
    renewed_at(&h, START + THIRD);
    ck_assert_int_eq(h.claims.end_ms, SAFE + THIRD);
}
END_TEST

START_TEST(lease_1_a_reentry_sets_the_lease_even_if_it_is_shorter)
{
    struct hf_lease h = leased_hold(60000);

    grant(&h, 2, START + 10, 500, false, 0);
    ck_assert_int_eq(h.hold_count, 2);
    ck_assert_int_eq(h.claims.answered_lease_ms, 500);
    ck_assert_int_eq(h.claims.end_ms, START + 10 + 500 - 7);
}
END_TEST

START_TEST(lease_1_a_hold_whose_last_release_was_handed_out_is_not_safe)
{
    struct hf_lease h = renewed_hold();

    hf_lease_last_release_submitted(&h);
    ck_assert_int_eq(hf_lease_safe_ms(&h, START), INT64_MIN);
}
END_TEST

/* For the metrics: half of the lease is left, or less. */
START_TEST(renewal_with_less_than_half_of_the_lease_left_is_late)
{
    struct hf_lease h = renewed_hold(), short_one = leased_hold(1000);

    ck_assert(!hf_lease_is_renewal_late(&h, START + THIRD));
    ck_assert(!hf_lease_is_renewal_late(&h, SAFE - WATCHDOG / 2));
    ck_assert(hf_lease_is_renewal_late(&h, SAFE - WATCHDOG / 2 + 1));
    ck_assert(!hf_lease_is_renewal_late(&short_one, START));
    ck_assert(hf_lease_is_renewal_late(&short_one, START + 500));
}
END_TEST

/* ---- LEASE-2 ---- */

/* Whatever the delays of the loop, the schedule neither drifts nor doubles. */
START_TEST(lease_2_renewals_stay_on_one_absolute_schedule)
{
    struct hf_lease h = renewed_hold();
    int64_t first = hf_lease_next_ms(&h);

    for (int i = 0; i < 1000; i++) {
        int64_t due = first + (int64_t)i * THIRD;
        int64_t late = i * 37 % 5000;

        ck_assert_int_eq(hf_lease_next_ms(&h), due);
        ck_assert_int_eq(hf_lease_take_todo(&h, due - 1), LEASE_DO_NOTHING);
        ck_assert_int_eq(hf_lease_take_todo(&h, due + late), LEASE_DO_RENEW);
        ck_assert_int_eq(hf_lease_take_todo(&h, due + late), LEASE_DO_NOTHING);
        renewed_at(&h, due + late);
    }
}
END_TEST

START_TEST(lease_2_renewals_that_were_slept_through_are_not_made_up_for)
{
    struct hf_lease h = renewed_hold();
    int64_t first = h.next_renewal_ms;

    ck_assert_int_eq(hf_lease_take_todo(&h, first + THIRD + 1), LEASE_DO_RENEW);
    renewed_at(&h, first + THIRD + 1);
    ck_assert_int_eq(hf_lease_next_ms(&h), first + 2 * THIRD);
}
END_TEST

START_TEST(lease_2_renewals_due_within_a_tick_are_due_together)
{
    struct hf_lease a, b;
    int64_t start = START - START % TICK;

    hf_lease_init(&a, WATCHDOG);
    hf_lease_init(&b, WATCHDOG);
    grant(&a, 1, start, WATCHDOG, true, 0);
    grant(&b, 1, start + TICK - 1, WATCHDOG, true, 0);
    ck_assert_int_eq(a.next_renewal_ms, b.next_renewal_ms);
    grant(&b, 1, start + TICK, WATCHDOG, true, 0);
    ck_assert_int_eq(a.next_renewal_ms, b.next_renewal_ms); /* a re-entry moves nothing */
}
END_TEST

static const int64_t watchdogs[] = {1, 2, 3, 47, 48, 100, 600, 30000,
                                    INT64_C(1000000000000)};

START_TEST(lease_2_the_first_renewal_is_within_the_first_third)
{
    int64_t watchdog = watchdogs[_i], third = watchdog / 3;
    unsigned spreads[] = {0, 1, 2, 3, 4, 17, UINT32_MAX};

    for (int i = 0; i < COUNT(spreads); i++)
        for (int64_t sent = START; sent < START + 50; sent++) {
            struct hf_lease h;

            hf_lease_init(&h, watchdog);
            grant(&h, 1, sent, watchdog, true, spreads[i]);
            ck_must(h.next_renewal_ms <= sent + third, "within the first third");
            ck_must(h.next_renewal_ms >= sent + third - third / 4 - 1,
                    "in its last quarter");
        }
}
END_TEST

START_TEST(lease_2_first_renewals_are_spread_over_four_ticks)
{
    struct hf_lease h[8];

    for (unsigned i = 0; i < 8; i++) {
        hf_lease_init(&h[i], WATCHDOG);
        grant(&h[i], 1, START, WATCHDOG, true, i);
    }
    for (unsigned i = 0; i < 8; i++)
        ck_assert_int_eq(h[0].next_renewal_ms - h[i].next_renewal_ms,
                         (int64_t)(i % 4) * TICK);
}
END_TEST

START_TEST(lease_2_a_reentry_that_cuts_the_lease_brings_the_renewal_forward)
{
    struct hf_lease h = renewed_hold();

    grant(&h, 2, START + 10, 600, false, 0);
    ck_assert_int_eq(hf_lease_next_ms(&h), START + 10 + 200);
    ck_assert_int_eq(hf_lease_take_todo(&h, START + 210), LEASE_DO_RENEW);
    renewed_at(&h, START + 210);
    ck_assert_int_eq(h.claims.answered_lease_ms, WATCHDOG); /* WIRE 6: exactly the watchdog's */
}
END_TEST

START_TEST(lease_2_a_reentry_with_a_longer_lease_puts_nothing_off)
{
    struct hf_lease h = renewed_hold();
    int64_t due = h.next_renewal_ms;

    grant(&h, 2, START + 10, 3600000, false, 0);
    ck_assert_int_eq(hf_lease_next_ms(&h), due);
}
END_TEST

START_TEST(lease_2_a_hold_with_a_lease_is_renewed_from_a_reentry_without_one)
{
    struct hf_lease h = leased_hold(5000);

    ck_assert_int_eq(hf_lease_next_ms(&h), h.claims.end_ms);
    grant(&h, 2, START + 100, WATCHDOG, true, 0);
    ck_assert_int_le(hf_lease_next_ms(&h), START + 100 + THIRD);
    ck_assert_int_eq(hf_lease_take_todo(&h, START + 100 + THIRD), LEASE_DO_RENEW);
}
END_TEST

START_TEST(lease_2_no_renewal_begins_while_another_has_no_answer)
{
    struct hf_lease h = renewed_hold();

    ck_assert_int_eq(hf_lease_take_todo(&h, START + THIRD), LEASE_DO_RENEW);
    for (int64_t now = START + THIRD; now < SAFE; now += 100)
        ck_assert_int_eq(hf_lease_take_todo(&h, now), LEASE_DO_NOTHING);
    renewed_at(&h, START + THIRD);
    ck_assert_int_eq(hf_lease_take_todo(&h, SAFE), LEASE_DO_RENEW);
}
END_TEST

START_TEST(lease_2_a_failed_renewal_is_tried_again_a_tick_later_until_it_is_lost)
{
    struct hf_lease h = renewed_hold();
    int64_t now = hf_lease_next_ms(&h);
    int tries = 0;

    for (; hf_lease_take_todo(&h, now) == LEASE_DO_RENEW; now = hf_lease_next_ms(&h)) {
        tries++;
        retry_at(&h, now);
        ck_assert_int_gt(hf_lease_next_ms(&h), now);
        ck_assert_int_le(hf_lease_next_ms(&h), now + TICK + 1);
    }
    ck_assert_int_ge(tries, (WATCHDOG - THIRD) / (TICK + 1));
    ck_assert_int_eq(now, SAFE);
    ck_assert_int_eq(h.loss_reason, HF_REASON_UNREACHABLE);
}
END_TEST

START_TEST(lease_2_a_renewal_that_failed_late_does_not_put_off_the_next)
{
    struct hf_lease h = renewed_hold();
    int64_t first = h.next_renewal_ms;

    ck_assert_int_eq(hf_lease_take_todo(&h, first), LEASE_DO_RENEW);
    retry_at(&h, first + THIRD - 1);
    ck_assert_int_eq(hf_lease_next_ms(&h), first + THIRD);
}
END_TEST

/* ---- LEASE-3 ---- */

START_TEST(lease_3_while_releasing_nothing_is_renewed)
{
    struct hf_lease h = renewed_hold();

    hf_lease_last_release_submitted(&h);
    ck_assert_int_eq(hf_lease_next_ms(&h), SAFE);
    for (int64_t now = START; now < SAFE; now += 100)
        ck_assert_int_eq(hf_lease_take_todo(&h, now), LEASE_DO_NOTHING);
}
END_TEST

START_TEST(lease_3_one_acquisition_less_leaves_it_held_and_renewed)
{
    struct hf_lease h = renewed_hold();
    int64_t due = h.next_renewal_ms;

    grant(&h, 1, START + 50, WATCHDOG, false, 0);
    ck_assert_int_eq(h.state, LEASE_HELD);
    ck_assert_int_eq(h.claims.end_ms, SAFE + 50);
    ck_assert_int_eq(hf_lease_next_ms(&h), due);
    ck_assert_int_eq(hf_lease_take_todo(&h, due), LEASE_DO_RENEW);
}
END_TEST

/* ---- being lost ---- */

/* LEASE-5: the renewal was due long before. One that is under way, or that is to be
 * repeated soon, is the server's fault. */
START_TEST(renewal_that_was_not_sent_in_time_is_our_fault)
{
    struct hf_lease h = renewed_hold();

    hf_lease_note_sleep(&h, SAFE + _i);
    ck_assert_int_eq(hf_lease_take_todo(&h, SAFE + _i), LEASE_DO_REPORT_LOST);
    ck_assert_int_eq(h.loss_reason, HF_REASON_SUSPENDED);
    h = renewed_hold();
    ck_assert_int_eq(hf_lease_take_todo(&h, hf_lease_next_ms(&h)), LEASE_DO_RENEW);
    hf_lease_note_sleep(&h, SAFE + _i);
    ck_assert_int_eq(hf_lease_take_todo(&h, SAFE + _i), LEASE_DO_REPORT_LOST);
    ck_assert_int_eq(h.loss_reason, HF_REASON_UNREACHABLE);
    h = renewed_hold();
    ck_assert_int_eq(hf_lease_take_todo(&h, hf_lease_next_ms(&h)), LEASE_DO_RENEW);
    hf_lease_retry(&h, SAFE - 2 * (WATCHDOG / 3 / 16), NULL);
    hf_lease_note_sleep(&h, SAFE + _i);
    ck_assert_int_eq(hf_lease_take_todo(&h, SAFE + _i), LEASE_DO_REPORT_LOST);
    ck_assert_int_eq(h.loss_reason, HF_REASON_UNREACHABLE);
}
END_TEST

/* Seen within the margin and 50 ms, it was the server that was silent; later,
 * it was we who did not run. */
static const struct {
    bool is_renewed;
    int64_t late_ms;
    enum hf_lease_todo todo;
    enum hf_lost reason;
} ends[] = {
    {true, -1, LEASE_DO_RENEW, 0},
    {true, 0, LEASE_DO_REPORT_LOST, HF_REASON_UNREACHABLE},
    {true, DRIFT + 50, LEASE_DO_REPORT_LOST, HF_REASON_UNREACHABLE},
    {true, DRIFT + 51, LEASE_DO_REPORT_LOST, HF_REASON_SUSPENDED},
    {true, 86400000, LEASE_DO_REPORT_LOST, HF_REASON_SUSPENDED},
    {false, -1, LEASE_DO_NOTHING, 0},
    {false, 0, LEASE_DO_REPORT_LOST, HF_REASON_LEASE_ENDED},
    {false, DRIFT + 50, LEASE_DO_REPORT_LOST, HF_REASON_LEASE_ENDED},
    {false, DRIFT + 51, LEASE_DO_REPORT_LOST, HF_REASON_SUSPENDED},
};

START_TEST(the_passed_safe_moment_is_lost_with_the_reason)
{
    struct hf_lease h = ends[_i].is_renewed ? renewed_hold()
                                                : leased_hold(WATCHDOG);

    ck_assert_int_eq(hf_lease_take_todo(&h, SAFE + ends[_i].late_ms), ends[_i].todo);
    if (ends[_i].todo == LEASE_DO_REPORT_LOST)
        ck_assert_int_eq(h.loss_reason, ends[_i].reason);
    else
        ck_assert_int_eq(h.state, LEASE_HELD);
}
END_TEST

START_TEST(a_renewal_under_way_does_not_hide_the_safe_moment)
{
    struct hf_lease h = renewed_hold();

    ck_assert_int_eq(hf_lease_take_todo(&h, SAFE - 1), LEASE_DO_RENEW);
    ck_assert_int_eq(hf_lease_next_ms(&h), SAFE);
    ck_assert_int_eq(hf_lease_take_todo(&h, SAFE), LEASE_DO_REPORT_LOST);
}
END_TEST

/* max_hold_ms ends a hold that is safe, once, and it is renewed until then. */
START_TEST(max_hold_ends_a_hold_that_is_still_safe)
{
    struct hf_lease h = renewed_hold();

    h.max_hold_until_ms = START + 15000;
    ck_assert_int_eq(hf_lease_take_todo(&h, hf_lease_next_ms(&h)), LEASE_DO_RENEW);
    renewed_at(&h, START + THIRD);
    ck_assert_int_eq(hf_lease_next_ms(&h), START + 15000);
    ck_assert_int_eq(hf_lease_take_todo(&h, START + 14999), LEASE_DO_NOTHING);
    ck_assert_int_eq(hf_lease_take_todo(&h, START + 15000), LEASE_DO_REPORT_LOST);
    ck_assert_int_eq(h.loss_reason, HF_REASON_MAX_HOLD);
}
END_TEST

static const struct {
    enum hf_lost reason;
    bool may_remain;
} losses[] = {
    {HF_REASON_DELETED, false},   {HF_REASON_TAKEN, false},
    {HF_REASON_UNREACHABLE, true}, {HF_REASON_SUSPENDED, true},
    {HF_REASON_LEASE_ENDED, true}, {HF_REASON_MAX_HOLD, true},
    {HF_REASON_CLOSED, true},
};

START_TEST(a_lost_hold_is_never_safe_whatever_the_reason)
{
    struct hf_lease h = renewed_hold();

    ck_assert(hf_lease_lose(&h, losses[_i].reason));
    ck_assert_int_eq(hf_lease_safe_ms(&h, START), INT64_MIN);
    ck_assert_int_eq(hf_lease_safe_ms(&h, SAFE + 1), INT64_MIN);
}
END_TEST

START_TEST(hold_that_may_remain_is_released)
{
    struct hf_lease h = renewed_hold();

    ck_assert(hf_lease_lose(&h, losses[_i].reason));
    ck_assert_int_eq(hf_lease_may_remain(&h), losses[_i].may_remain);
}
END_TEST

START_TEST(lease_4_loss_is_final_and_reported_once)
{
    struct hf_lease h = renewed_hold();

    ck_assert(hf_lease_lose(&h, losses[_i].reason));
    ck_assert_int_eq(hf_lease_next_ms(&h), HF_NEVER);
    for (int i = 0; i < COUNT(losses); i++)
        ck_assert(!hf_lease_lose(&h, losses[i].reason));
    grant(&h, 2, START + 10, WATCHDOG, true, 0);
    renewed_at(&h, START + 20);
    retry_at(&h, START + 30);
    hf_lease_grant_requested(&h, START + 40, 100);
    hf_lease_grant_refused(&h);
    ck_assert_int_eq(hf_lease_take_todo(&h, START + THIRD), LEASE_DO_NOTHING);
    ck_assert_int_eq(hf_lease_take_todo(&h, 2 * SAFE), LEASE_DO_NOTHING);
    ck_assert_int_eq(h.state, LEASE_LOST);
    ck_assert_int_eq(h.loss_reason, losses[_i].reason);
    ck_assert_int_eq(hf_lease_next_ms(&h), HF_NEVER);
    ck_assert_int_eq(hf_lease_safe_ms(&h, START), INT64_MIN);
}
END_TEST

/* ---- LEASE-8 ---- */

/* Holds that were acquired at any time are renewed together from the second renewal on, and each
 * once more at most. */
START_TEST(lease_8_aligned_renewals_of_a_group_are_due_together)
{
    int64_t end = START - START % THIRD + 5 * THIRD;

    for (int64_t granted = START; granted < START + THIRD; granted += 77)
        for (unsigned group = 0; group < 32; group++) {
            struct hf_lease h;
            int renewals = 0;

            hf_lease_init(&h, WATCHDOG);
            grant(&h, 1, granted, WATCHDOG, true, group);
            while (hf_lease_next_ms(&h) < end) {
                int64_t now = hf_lease_next_ms(&h) + granted % 3, next;

                ck_assert_int_eq(hf_lease_take_todo(&h, now), LEASE_DO_RENEW);
                next = h.next_renewal_ms;
                hf_lease_align(&h, now, group);
                ck_assert_int_le(h.next_renewal_ms, next);
                ck_assert_int_gt(h.next_renewal_ms, now);
                renewed_at(&h, now);
                renewals++;
            }
            ck_assert_int_le(renewals, (end - granted) / THIRD + 2);
            ck_assert_int_eq(hf_lease_next_ms(&h) % THIRD, group % 16 * TICK);
        }
}
END_TEST

START_TEST(lease_8_a_time_that_has_passed_is_not_taken)
{
    struct hf_lease h = renewed_hold();
    int64_t now = h.next_renewal_ms, next;

    ck_assert_int_eq(hf_lease_take_todo(&h, now), LEASE_DO_RENEW);
    next = h.next_renewal_ms;
    hf_lease_align(&h, next - 1, 0); /* its time was earlier */
    ck_assert_int_eq(h.next_renewal_ms, next);
}
END_TEST

/* ---- LEASE-6, LEASE-7 ---- */

START_TEST(lease_6_a_switch_makes_a_renewal_due_and_moves_no_other)
{
    struct hf_lease h = renewed_hold();
    int64_t due = hf_lease_next_ms(&h);

    ck_assert(hf_lease_master_switched(&h, false));
    ck_assert_int_eq(hf_lease_next_ms(&h), due);
    hf_lease_renew_early(&h, START + 5);
    ck_assert_int_eq(hf_lease_next_ms(&h), START + 5);
    ck_assert_int_eq(hf_lease_take_todo(&h, START + 5), LEASE_DO_RENEW);
    renewed_at(&h, START + 5);
    ck_assert_int_eq(hf_lease_next_ms(&h), due);
    ck_assert_int_eq(hf_lease_safe_ms(&h, START + 5), WATCHDOG - DRIFT);
}
END_TEST

/* The one under way is of the former master, and its outcome is unknown. */
START_TEST(lease_6_a_renewal_under_way_is_followed_by_another_one_at_once)
{
    struct hf_lease h = renewed_hold();
    int64_t due = hf_lease_next_ms(&h);

    ck_assert_int_eq(hf_lease_take_todo(&h, due), LEASE_DO_RENEW);
    ck_assert(hf_lease_master_switched(&h, false));
    hf_lease_renew_early(&h, due + 5);
    ck_assert_int_eq(hf_lease_take_todo(&h, due + 5), LEASE_DO_NOTHING);
    retry_at(&h, due + 6);
    ck_assert_int_eq(hf_lease_take_todo(&h, due + 6), LEASE_DO_RENEW);
}
END_TEST

START_TEST(lease_6_a_hold_with_a_lease_is_looked_at)
{
    struct hf_lease h = leased_hold(60000);
    struct hf_sending how = sent(START + 7);

    ck_assert_int_eq(hf_lease_next_ms(&h), START + 60000 - 602);
    ck_assert(hf_lease_master_switched(&h, false));
    hf_lease_renew_early(&h, START + 5);
    ck_assert_int_eq(hf_lease_take_todo(&h, START + 5), LEASE_DO_LOOK);
    hf_lease_look_found_hold(&h, &how, 20000, how.sent_ms); /* less than it had */
    ck_assert_int_eq(hf_lease_safe_ms(&h, START + 7), 20000 - 202);
    ck_assert_int_eq(h.claims.owner_lease_ms, 60000);
    ck_assert_int_eq(hf_lease_next_ms(&h), START + 7 + 20000 - 202);
}
END_TEST

/* The look is answered first, on another connection: was the lease set before it or after? */
START_TEST(lease_6_a_look_that_crosses_a_re_entry_is_repeated)
{
    struct hf_lease h = leased_hold(60000);
    struct hf_sending look = sent(START + 40005), call = {START + 40008, 2, 0};

    hf_lease_grant_requested(&h, START + 40000, 30000);
    hf_lease_renew_early(&h, START + 40005);
    ck_assert_int_eq(hf_lease_take_todo(&h, START + 40005), LEASE_DO_LOOK);
    hf_lease_look_found_hold(&h, &look, 20000, look.sent_ms);
    hf_lease_granted(&h, 2, &call, false, 0);
    ck_assert_int_eq(h.claims.owner_lease_ms, 30000); /* a partial release sets it */
    ck_assert_int_le(hf_lease_safe_ms(&h, call.sent_ms), 20000);
    ck_assert_int_eq(hf_lease_take_todo(&h, START + 40009), LEASE_DO_LOOK);
    look = sent(START + 40009);
    hf_lease_look_found_hold(&h, &look, 29999, look.sent_ms);
    ck_assert_int_gt(hf_lease_safe_ms(&h, START + 40009), 29000);
    ck_assert_int_eq(hf_lease_next_ms(&h), hf_lease_safe_until_ms(&h)); /* no other look */
}
END_TEST

START_TEST(lease_6_a_look_that_crosses_an_extension_is_repeated)
{
    struct hf_lease h = leased_hold(60000);
    struct hf_sending look = sent(START + 40005), extension = {START + 40003, 2, 0};

    hf_lease_renew_early(&h, START + 40000);
    ck_assert_int_eq(hf_lease_take_todo(&h, START + 40000), LEASE_DO_LOOK);
    hf_lease_extension_submitted(&h);
    hf_lease_extended(&h, &extension, 50000, 50000, extension.sent_ms);
    hf_lease_look_found_hold(&h, &look, 20000, look.sent_ms); /* its reply is the later one */
    ck_assert_int_le(hf_lease_safe_ms(&h, look.sent_ms), 20000);
    ck_assert_int_eq(hf_lease_take_todo(&h, START + 40006), LEASE_DO_LOOK);
    look = sent(START + 40006);
    hf_lease_look_found_hold(&h, &look, 49997, look.sent_ms);
    ck_assert_int_gt(hf_lease_safe_ms(&h, START + 40006), 49000);
}
END_TEST

START_TEST(lease_6_a_look_prolongs_no_lease)
{
    struct hf_lease h = leased_hold(1000);
    struct hf_sending how = sent(START + 7);

    ck_assert(hf_lease_master_switched(&h, false));
    hf_lease_renew_early(&h, START + 5);
    ck_assert_int_eq(hf_lease_take_todo(&h, START + 5), LEASE_DO_LOOK);
    hf_lease_look_found_hold(&h, &how, 90000, how.sent_ms); /* an operator has made it longer */
    ck_assert_int_le(hf_lease_safe_ms(&h, START + 7), 1000 - 12);
}
END_TEST

START_TEST(lease_6_a_look_is_enough_for_a_push_also_if_the_watchdog_renews)
{
    struct hf_lease h = renewed_hold();
    struct hf_sending how = sent(START + 1000);
    int64_t due = hf_lease_next_ms(&h);

    hf_lease_look_early(&h, START + 1000);
    ck_assert_int_eq(hf_lease_take_todo(&h, START + 1000), LEASE_DO_LOOK);
    hf_lease_look_found_hold(&h, &how, WATCHDOG - 1000, how.sent_ms); /* as expected */
    ck_assert_int_eq(hf_lease_next_ms(&h), due);
    ck_assert_int_eq(hf_lease_safe_ms(&h, START + 1000), WATCHDOG - DRIFT - 1000);
    ck_assert_int_eq(hf_lease_take_todo(&h, due), LEASE_DO_RENEW);
}
END_TEST

START_TEST(lease_6_a_look_that_finds_less_time_causes_a_renewal)
{
    struct hf_lease h = renewed_hold();
    struct hf_sending how = sent(START + 1000);

    hf_lease_look_early(&h, START + 1000);
    ck_assert_int_eq(hf_lease_take_todo(&h, START + 1000), LEASE_DO_LOOK);
    hf_lease_look_found_hold(&h, &how, 2000, how.sent_ms);
    ck_assert_int_le(hf_lease_safe_ms(&h, START + 1000), 2000);
    ck_assert_int_eq(hf_lease_take_todo(&h, START + 1001), LEASE_DO_RENEW);
    renewed_at(&h, START + 1001);
    ck_assert_int_eq(hf_lease_safe_ms(&h, START + 1001), WATCHDOG - DRIFT);
}
END_TEST

/* The server may have read the TTL when it received the request, or 900 ms later. */
START_TEST(lease_6_a_slow_reply_to_a_look_causes_no_renewal)
{
    struct hf_lease h = renewed_hold();
    struct hf_sending how = sent(START + 1000);
    int64_t due = hf_lease_next_ms(&h);

    hf_lease_look_early(&h, START + 1000);
    ck_assert_int_eq(hf_lease_take_todo(&h, START + 1000), LEASE_DO_LOOK);
    hf_lease_look_found_hold(&h, &how, WATCHDOG - 1900, START + 1900);
    ck_assert_int_eq(hf_lease_next_ms(&h), due);
    ck_assert_int_le(hf_lease_safe_ms(&h, START + 1000), WATCHDOG - 1900);
    hf_lease_look_early(&h, START + 2000);
    ck_assert_int_eq(hf_lease_take_todo(&h, START + 2000), LEASE_DO_LOOK);
    how = sent(START + 2000);
    hf_lease_look_found_hold(&h, &how, WATCHDOG - 4000, START + 2500);
    ck_assert_int_eq(hf_lease_take_todo(&h, START + 2501), LEASE_DO_RENEW);
}
END_TEST

START_TEST(lease_6_a_renewal_that_is_due_does_not_wait_for_a_look)
{
    struct hf_lease h = renewed_hold();
    int64_t due = hf_lease_next_ms(&h);

    hf_lease_look_early(&h, due - 1);
    ck_assert_int_eq(hf_lease_take_todo(&h, due - 1), LEASE_DO_LOOK);
    ck_assert_int_eq(hf_lease_next_ms(&h), due);
    ck_assert_int_eq(hf_lease_take_todo(&h, due), LEASE_DO_RENEW);
    ck_assert_int_gt(hf_lease_next_ms(&h), due + THIRD);
    renewed_at(&h, due);
    ck_assert_int_eq(hf_lease_safe_ms(&h, due), WATCHDOG - DRIFT);
}
END_TEST

START_TEST(lease_6_a_renewal_after_a_switch_does_not_wait_for_a_look)
{
    struct hf_lease h = renewed_hold();

    hf_lease_look_early(&h, START + 1000);
    ck_assert_int_eq(hf_lease_take_todo(&h, START + 1000), LEASE_DO_LOOK);
    hf_lease_look_early(&h, START + 1001); /* that is another look */
    ck_assert_int_eq(hf_lease_take_todo(&h, START + 1001), LEASE_DO_NOTHING);
    ck_assert(hf_lease_master_switched(&h, false));
    hf_lease_renew_early(&h, START + 1002);
    ck_assert_int_eq(hf_lease_take_todo(&h, START + 1002), LEASE_DO_RENEW);
}
END_TEST

START_TEST(lease_6_a_look_is_not_enough_after_a_switch)
{
    struct hf_lease h = renewed_hold();

    hf_lease_look_early(&h, START + 1000);
    ck_assert(hf_lease_master_switched(&h, false));
    hf_lease_renew_early(&h, START + 1000);
    hf_lease_look_early(&h, START + 900);
    ck_assert_int_eq(hf_lease_take_todo(&h, START + 1000), LEASE_DO_RENEW);
}
END_TEST

START_TEST(lease_6_a_look_that_failed_is_followed_by_a_look)
{
    struct hf_lease h = renewed_hold();
    int64_t due = hf_lease_next_ms(&h);

    hf_lease_look_early(&h, START + 1000);
    ck_assert_int_eq(hf_lease_take_todo(&h, START + 1000), LEASE_DO_LOOK);
    hf_lease_retry(&h, START + 1001, NULL);
    ck_assert_int_lt(hf_lease_next_ms(&h), due);
    ck_assert_int_eq(hf_lease_take_todo(&h, hf_lease_next_ms(&h)), LEASE_DO_LOOK);
}
END_TEST

START_TEST(lease_6_a_look_without_an_answer_is_repeated_soon)
{
    struct hf_lease h = leased_hold(60000);

    ck_assert(hf_lease_master_switched(&h, false));
    hf_lease_renew_early(&h, START + 5);
    ck_assert_int_eq(hf_lease_take_todo(&h, START + 5), LEASE_DO_LOOK);
    hf_lease_retry(&h, START + 5, NULL);
    ck_assert_int_le(hf_lease_next_ms(&h), START + 5 + WATCHDOG / 3);
    ck_assert_int_eq(hf_lease_take_todo(&h, hf_lease_next_ms(&h)), LEASE_DO_LOOK);
}
END_TEST

START_TEST(lease_7_the_last_answer_before_a_sudden_switch_does_not_count)
{
    struct hf_lease h = renewed_hold();

    ck_assert_int_eq(hf_lease_take_todo(&h, START + THIRD), LEASE_DO_RENEW);
    renewed_at(&h, START + THIRD);
    ck_assert(hf_lease_master_switched(&h, true));
    ck_assert_int_eq(hf_lease_safe_ms(&h, START + THIRD),
                     WATCHDOG - DRIFT - THIRD);
    ck_assert_int_eq(hf_lease_safe_ms(&h, SAFE), 0);
    ck_assert_int_eq(hf_lease_take_todo(&h, SAFE), LEASE_DO_RENEW); /* not lost */
    renewed_at(&h, SAFE);
    ck_assert_int_eq(hf_lease_safe_ms(&h, SAFE), WATCHDOG - DRIFT);
}
END_TEST

START_TEST(lease_7_a_hold_that_was_just_granted_is_not_safe_after_a_sudden_switch)
{
    struct hf_lease h = leased_hold(60000);
    struct hf_sending how = sent(START + 7);

    ck_assert(hf_lease_master_switched(&h, true));
    ck_assert_int_eq(hf_lease_safe_ms(&h, START), 0);
    hf_lease_renew_early(&h, START + 5);
    ck_assert_int_eq(hf_lease_take_todo(&h, START + 5), LEASE_DO_LOOK);
    hf_lease_look_found_hold(&h, &how, 59000, how.sent_ms);
    ck_assert_int_eq(hf_lease_safe_ms(&h, START + 7), 59000 - 592);
}
END_TEST

/* The former master was isolated, and so was the next one, perhaps from the beginning. */
START_TEST(lease_7_after_two_sudden_switches_neither_of_the_two_last_answers_counts)
{
    struct hf_lease h = renewed_hold();

    ck_assert_int_eq(hf_lease_take_todo(&h, START + THIRD), LEASE_DO_RENEW);
    renewed_at(&h, START + THIRD);
    ck_assert(hf_lease_master_switched(&h, true));
    hf_lease_renew_early(&h, START + THIRD + 5);
    ck_assert_int_eq(hf_lease_take_todo(&h, START + THIRD + 5), LEASE_DO_RENEW);
    renewed_at(&h, START + THIRD + 5);
    ck_assert_int_eq(hf_lease_safe_until_ms(&h), SAFE + THIRD + 5);
    ck_assert(hf_lease_master_switched(&h, true));
    ck_assert_int_eq(hf_lease_safe_until_ms(&h), SAFE);
    ck_assert_int_eq(hf_lease_proved_ms(&h), START);
}
END_TEST

/* A longer lease by hand, of which only the two former masters knew. */
START_TEST(lease_7_after_two_sudden_switches_an_extension_does_not_count)
{
    struct hf_lease h = leased_hold(10000);
    struct hf_sending first = sent(START + 5), second = sent(START + 1000),
                      third = sent(START + 2000);

    hf_lease_extension_submitted(&h);
    hf_lease_extended(&h, &first, 10000, 10000, first.sent_ms);
    hf_lease_extension_submitted(&h);
    hf_lease_extended(&h, &second, 60000, 60000, second.sent_ms);
    ck_assert(hf_lease_master_switched(&h, true));
    hf_lease_renew_early(&h, third.sent_ms);
    ck_assert_int_eq(hf_lease_take_todo(&h, third.sent_ms), LEASE_DO_LOOK);
    hf_lease_look_found_hold(&h, &third, 59000, third.sent_ms);
    ck_assert(hf_lease_master_switched(&h, true));
    ck_assert_int_eq(hf_lease_safe_until_ms(&h), START + 5 + 10000 - 102);
}
END_TEST

/* The former master may have been isolated when it answered. */
START_TEST(lease_7_a_doubted_answer_does_not_prove_that_the_new_master_had_the_hold)
{
    struct hf_lease h = renewed_hold();

    ck_assert_int_eq(hf_lease_take_todo(&h, START + THIRD), LEASE_DO_RENEW);
    renewed_at(&h, START + THIRD);
    ck_assert_int_eq(hf_lease_proved_ms(&h), START + THIRD);
    ck_assert(hf_lease_master_switched(&h, true));
    ck_assert_int_eq(hf_lease_proved_ms(&h), START);
    ck_assert(hf_lease_lose(&h, HF_REASON_DELETED));
    ck_assert_int_eq(hf_lease_had_until_ms(&h), START);
}
END_TEST

START_TEST(lease_7_the_answer_of_the_new_master_is_a_proof_again)
{
    struct hf_lease h = renewed_hold();

    ck_assert(hf_lease_master_switched(&h, true));
    hf_lease_renew_early(&h, START + 5);
    ck_assert_int_eq(hf_lease_take_todo(&h, START + 5), LEASE_DO_RENEW);
    renewed_at(&h, START + 5);
    ck_assert(hf_lease_lose(&h, HF_REASON_DELETED));
    ck_assert_int_eq(hf_lease_had_until_ms(&h), START + 5);
}
END_TEST

START_TEST(lease_3_a_switch_renews_nothing_that_is_being_released)
{
    struct hf_lease h = renewed_hold();

    hf_lease_last_release_submitted(&h);
    ck_assert(!hf_lease_master_switched(&h, true));
}
END_TEST

/* ---- random events ---- */

struct life {
    struct hf_lease h;
    int64_t now;
    int64_t sent;             /* the renewal under way */
    int64_t executed;         /* when the server did so last, at the earliest */
    int64_t server_until;     /* until when the server keeps it, at the least */
    bool was_lost;
    enum hf_lost reason;
    int told;
};

static void check_life(struct life *l)
{
    int64_t next = hf_lease_next_ms(&l->h);

    ck_must(!l->was_lost || l->h.state == LEASE_LOST,
            "LEASE-4: lost stays lost");
    ck_must(!l->was_lost || l->h.loss_reason == l->reason,
            "LEASE-4: so does the reason");
    ck_must(l->told <= 1, "LEASE-4: it is told once");
    if (l->h.state == LEASE_LOST) {
        ck_must(next == HF_NEVER, "LEASE-4: a lost hold wants nothing");
        return;
    }
    ck_must(next <= l->h.claims.end_ms,
            "next_ms is never after the safe moment");
    ck_must(l->h.claims.end_ms < l->server_until,
            "LEASE-1: safe ends before the server's count");
}

static void note_loss(struct life *l, bool is_new)
{
    l->was_lost = true;
    if (!is_new)
        return;
    l->told++;
    l->reason = l->h.loss_reason;
}

/* The server's count begins when it executes the command: after that was sent,
 * and after what it executed before. */
static void server_counts(struct life *l, int64_t sent_ms, int64_t lease)
{
    if (sent_ms > l->executed)
        l->executed = sent_ms;
    l->server_until = l->executed + lease;
}

static void come_due(struct life *l)
{
    switch (hf_lease_take_todo(&l->h, l->now)) {
    case LEASE_DO_RENEW:
        ck_must(l->h.state == LEASE_HELD,
                "LEASE-3: only what is held is renewed");
        l->sent = l->now;
        if (dice(2))
            hf_lease_align(&l->h, l->now, (unsigned)dice(100));
        ck_must(l->h.next_renewal_ms > l->now && l->h.next_renewal_ms <= l->now + THIRD,
                "LEASE-8: the next renewal is due within a third");
        break;
    case LEASE_DO_LOOK:
        ck_must(l->h.state == LEASE_HELD && !l->h.is_renewed_by_watchdog,
                "LEASE-6: only what is held and not renewed is looked at");
        l->sent = l->now;
        break;
    case LEASE_DO_REPORT_LOST:
        note_loss(l, true);
        break;
    case LEASE_DO_NOTHING:
        break;
    }
    ck_must(hf_lease_next_ms(&l->h) > l->now, "what was due is done");
}

static void something_happens(struct life *l)
{
    int64_t lease = dice(2) ? WATCHDOG : 50 + (int64_t)dice(90000);

    switch (dice(8)) {
    case 5: /* another server is the master, and has it, too */
        if (hf_lease_master_switched(&l->h, dice(2)))
            hf_lease_renew_early(&l->h, l->now);
        break;
    case 0: /* a re-entry or a partial release */
        if (l->was_lost || l->h.state == LEASE_RELEASING)
            break;
        server_counts(l, l->now, lease);
        grant(&l->h, 1 + (int64_t)dice(5), l->now, lease,
                        lease == WATCHDOG, (unsigned)dice(100));
        break;
    case 1:
        if (l->h.has_pending_renewal_or_look && l->h.state == LEASE_HELD) {
            server_counts(l, l->sent, WATCHDOG);
            renewed_at(&l->h, l->sent);
        }
        break;
    case 2: /* it may have been executed */
        if (!l->h.has_pending_renewal_or_look)
            break;
        if (dice(2))
            server_counts(l, l->sent, WATCHDOG);
        retry_at(&l->h, l->now);
        break;
    case 3:
        if (dice(40) == 0)
            note_loss(l, hf_lease_lose(&l->h, HF_REASON_DELETED +
                                                 (enum hf_lost)dice(7)));
        break;
    case 4:
        if (dice(40) == 0 && l->h.state == LEASE_HELD)
            hf_lease_last_release_submitted(&l->h);
        break;
    default: /* time passes, mostly to where we asked for */
        l->now += dice(3) ? (int64_t)dice(2000) : 0;
        if (hf_lease_next_ms(&l->h) != HF_NEVER && dice(2))
            l->now = l->now > hf_lease_next_ms(&l->h) ? l->now
                                                     : hf_lease_next_ms(&l->h);
        come_due(l);
        break;
    }
}

START_TEST(random_lives_keep_the_rules)
{
    dice_seed = DICE_SEED + (uint64_t)_i;
    for (int life = 0; life < 2000; life++) {
        struct life l = {.h = renewed_hold(), .now = START};

        server_counts(&l, START, WATCHDOG);
        if (dice(4) == 0)
            l.h.max_hold_until_ms = START + (int64_t)dice(200000);
        for (int i = 0; i < 300; i++) {
            something_happens(&l);
            check_life(&l);
        }
    }
}
END_TEST

/* A re-entry with a shorter lease, on another connection, nobody knows of: each
 * renewal counts only so long, and the next one is due in time. */
START_TEST(lease_2_while_a_shorter_lease_may_be_in_force_renewals_are_closer)
{
    struct hf_lease h = renewed_hold();
    struct hf_sending how = {.sent_ms = HF_NEVER, .stream = 2};
    int64_t now = START + 300;

    hf_lease_grant_requested(&h, now, 600);
    ck_assert_int_eq(hf_lease_next_ms(&h), now + 200);
    hf_lease_grant_unknown(&h, &how);
    for (int i = 0; i < 100; i++) {
        now = hf_lease_next_ms(&h);
        ck_assert_int_eq(hf_lease_take_todo(&h, now), LEASE_DO_RENEW);
        renewed_at(&h, now);
        ck_assert_int_eq(hf_lease_safe_ms(&h, now),
                         600 - hf_claims_drift_ms(600));
        ck_assert_int_eq(hf_lease_next_ms(&h), now + 200);
    }
    ck_assert_int_eq(now, START + 300 + 100 * 200);
}
END_TEST

START_TEST(a_shorter_lease_of_a_reentry_is_the_reason_of_the_loss)
{
    struct hf_lease h = renewed_hold();

    hf_lease_grant_requested(&h, START + 10, 600);
    ck_assert_int_eq(hf_lease_take_todo(&h, START + 10 + 600 - 8), LEASE_DO_REPORT_LOST);
    ck_assert_int_eq(h.loss_reason, HF_REASON_LEASE_ENDED);
}
END_TEST

/* ---- */

static TCase *case_safe(void)
{
    TCase *c = tcase_create("safe");

    tcase_add_loop_test(c, lease_1_is_safe_from_sending_until_lease_less_margin, 0,
                        COUNT(spans));
    tcase_add_test(c, lease_1_a_renewal_counts_from_when_it_was_sent);
    tcase_add_test(c, lease_1_a_reentry_sets_the_lease_even_if_it_is_shorter);
    tcase_add_test(c, lease_1_a_hold_whose_last_release_was_handed_out_is_not_safe);
    return c;
}

static TCase *case_renewals(void)
{
    TCase *c = tcase_create("renewals");

    tcase_add_test(c, lease_8_aligned_renewals_of_a_group_are_due_together);
    tcase_add_test(c, lease_8_a_time_that_has_passed_is_not_taken);
    tcase_add_test(c, lease_2_renewals_stay_on_one_absolute_schedule);
    tcase_add_test(c, lease_2_renewals_that_were_slept_through_are_not_made_up_for);
    tcase_add_test(c, lease_2_renewals_due_within_a_tick_are_due_together);
    tcase_add_loop_test(c, lease_2_the_first_renewal_is_within_the_first_third, 0,
                        COUNT(watchdogs));
    tcase_add_test(c, lease_2_first_renewals_are_spread_over_four_ticks);
    tcase_add_test(
        c, lease_2_a_reentry_that_cuts_the_lease_brings_the_renewal_forward);
    tcase_add_test(c, lease_2_a_reentry_with_a_longer_lease_puts_nothing_off);
    tcase_add_test(
        c, lease_2_a_hold_with_a_lease_is_renewed_from_a_reentry_without_one);
    tcase_add_test(c, lease_2_no_renewal_begins_while_another_has_no_answer);
    tcase_add_test(
        c, lease_2_a_failed_renewal_is_tried_again_a_tick_later_until_it_is_lost);
    tcase_add_test(c, lease_2_a_renewal_that_failed_late_does_not_put_off_the_next);
    tcase_add_test(
        c, lease_2_while_a_shorter_lease_may_be_in_force_renewals_are_closer);
    tcase_add_test(c, lease_3_while_releasing_nothing_is_renewed);
    tcase_add_test(c, lease_3_one_acquisition_less_leaves_it_held_and_renewed);
    return c;
}

static TCase *case_lost(void)
{
    TCase *c = tcase_create("lost");

    tcase_add_loop_test(c, renewal_that_was_not_sent_in_time_is_our_fault, 0, 3);
    tcase_add_loop_test(c, the_passed_safe_moment_is_lost_with_the_reason, 0,
                        COUNT(ends));
    tcase_add_test(c, a_renewal_under_way_does_not_hide_the_safe_moment);
    tcase_add_test(c, max_hold_ends_a_hold_that_is_still_safe);
    tcase_add_test(c, renewal_with_less_than_half_of_the_lease_left_is_late);
    tcase_add_loop_test(c, a_lost_hold_is_never_safe_whatever_the_reason, 0,
                        COUNT(losses));
    tcase_add_loop_test(c, hold_that_may_remain_is_released,
                        0, COUNT(losses));
    tcase_add_test(c, a_shorter_lease_of_a_reentry_is_the_reason_of_the_loss);
    tcase_add_loop_test(c, lease_4_loss_is_final_and_reported_once, 0,
                        COUNT(losses));
    return c;
}

static TCase *case_switch(void)
{
    TCase *t = tcase_create("switch");

    tcase_add_test(t, lease_6_a_switch_makes_a_renewal_due_and_moves_no_other);
    tcase_add_test(
        t, lease_6_a_renewal_under_way_is_followed_by_another_one_at_once);
    tcase_add_test(t, lease_6_a_hold_with_a_lease_is_looked_at);
    tcase_add_test(t, lease_6_a_renewal_that_is_due_does_not_wait_for_a_look);
    tcase_add_test(t, lease_6_a_renewal_after_a_switch_does_not_wait_for_a_look);
    tcase_add_test(t, lease_6_a_look_is_enough_for_a_push_also_if_the_watchdog_renews);
    tcase_add_test(t, lease_6_a_look_that_finds_less_time_causes_a_renewal);
    tcase_add_test(t, lease_6_a_slow_reply_to_a_look_causes_no_renewal);
    tcase_add_test(t, lease_6_a_look_is_not_enough_after_a_switch);
    tcase_add_test(t, lease_6_a_look_that_failed_is_followed_by_a_look);
    tcase_add_test(t, lease_6_a_look_that_crosses_a_re_entry_is_repeated);
    tcase_add_test(t, lease_6_a_look_that_crosses_an_extension_is_repeated);
    tcase_add_test(t, lease_6_a_look_prolongs_no_lease);
    tcase_add_test(t, lease_6_a_look_without_an_answer_is_repeated_soon);
    tcase_add_test(
        t, lease_7_the_last_answer_before_a_sudden_switch_does_not_count);
    tcase_add_test(
        t, lease_7_a_hold_that_was_just_granted_is_not_safe_after_a_sudden_switch);
    tcase_add_test(
        t, lease_7_after_two_sudden_switches_neither_of_the_two_last_answers_counts);
    tcase_add_test(t, lease_7_after_two_sudden_switches_an_extension_does_not_count);
    tcase_add_test(t, lease_3_a_switch_renews_nothing_that_is_being_released);
    tcase_add_test(t, lease_7_a_doubted_answer_does_not_prove_that_the_new_master_had_the_hold);
    tcase_add_test(t, lease_7_the_answer_of_the_new_master_is_a_proof_again);
    return t;
}

static TCase *case_random(void)
{
    TCase *c = tcase_create("random");

    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, random_lives_keep_the_rules, 0, 4);
    return c;
}

int main(void)
{
    Suite *s = suite_create("lock/lease");

    suite_add_tcase(s, case_safe());
    suite_add_tcase(s, case_renewals());
    suite_add_tcase(s, case_lost());
    suite_add_tcase(s, case_switch());
    suite_add_tcase(s, case_random());
    return suite_run(s);
}
