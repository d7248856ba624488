/* Rules PACK-1 and PACK-2: twins live through the same random events, and one of them is packed
 * and unpacked before each event for which that is possible. */
#include <check.h>
#include <string.h>

#include "lock/machine/lease_pack.h"
#include "tests/support/dice.h"
#include "tests/support/suite.h"

#define WATCHDOG 30000
#define START INT64_C(1000000)

struct twins {
    struct hf_lease whole, packed;
    int64_t now;
    bool has_call;
    uint64_t packs;
};

/* ---- one lease ---- */

static void repack(struct twins *t)
{
    struct hf_lease_packed p;

    if (!hf_lease_pack(&p, &t->packed))
        return;
    memset(&t->packed, 0xa5, sizeof t->packed);
    hf_lease_unpack(&t->packed, &p, WATCHDOG);
    t->packs++;
}

static void ck_assert_equal(const struct twins *t)
{
    const struct hf_lease *a = &t->whole, *b = &t->packed;

    ck_assert_int_eq(a->state, b->state);
    ck_assert_int_eq(a->loss_reason, b->loss_reason);
    ck_assert_int_eq(a->hold_count, b->hold_count);
    ck_assert_int_eq(a->is_renewed_by_watchdog, b->is_renewed_by_watchdog);
    ck_assert_int_eq(a->has_pending_renewal_or_look, b->has_pending_renewal_or_look);
    ck_assert_int_eq(a->claims.end_ms, b->claims.end_ms);
    ck_assert_int_eq(a->claims.owner_lease_ms, b->claims.owner_lease_ms);
    ck_assert_int_eq(hf_lease_next_ms(a), hf_lease_next_ms(b));
    ck_assert_int_eq(hf_lease_safe_ms(a, t->now), hf_lease_safe_ms(b, t->now));
    ck_assert_int_eq(hf_lease_proved_ms(a), hf_lease_proved_ms(b));
    ck_assert_int_eq(hf_lease_had_until_ms(a), hf_lease_had_until_ms(b));
    ck_assert_int_eq(a->granted_ms, b->granted_ms);
}

/* ---- events of both ---- */

static struct hf_sending sent(const struct twins *t)
{
    return (struct hf_sending){.sent_ms = t->now - (int64_t)dice(20),
                               .stream = 1 + dice(2),
                               .unanswered_stream = dice(8) ? 0 : 3};
}

static void call(struct twins *t)
{
    int64_t lease = dice(2) ? WATCHDOG : 50 + (int64_t)dice(90000);

    if (t->has_call || t->whole.state != LEASE_HELD)
        return;
    hf_lease_grant_requested(&t->whole, t->now, lease);
    hf_lease_grant_requested(&t->packed, t->now, lease);
    t->has_call = true;
}

static void end_call(struct twins *t)
{
    struct hf_sending how = sent(t);
    bool is_renewed = dice(2), is_known = dice(4) != 0;

    if (!t->has_call)
        return;
    t->has_call = false;
    if (is_known) {
        hf_lease_granted(&t->whole, 1, &how, is_renewed, 3);
        hf_lease_granted(&t->packed, 1, &how, is_renewed, 3);
    } else {
        hf_lease_grant_unknown(&t->whole, &how);
        hf_lease_grant_unknown(&t->packed, &how);
    }
}

static void fire(struct twins *t)
{
    hf_lease_note_sleep(&t->whole, t->now);
    hf_lease_note_sleep(&t->packed, t->now);
    ck_assert_int_eq(hf_lease_take_todo(&t->whole, t->now), hf_lease_take_todo(&t->packed, t->now));
}

static void end_renewal(struct twins *t)
{
    struct hf_sending how = sent(t);
    bool is_known = dice(4) != 0, is_sent = dice(2);
    int64_t ttl_ms = dice(2) ? 1000 : WATCHDOG;

    if (!t->whole.has_pending_renewal_or_look || t->whole.state != LEASE_HELD)
        return;
    if (!is_known) {
        hf_lease_retry(&t->whole, t->now, is_sent ? &how : NULL);
        hf_lease_retry(&t->packed, t->now, is_sent ? &how : NULL);
    } else if (t->whole.claims.sent[CLAIM_BY_RENEWAL].lease_ms > 0) {
        hf_lease_renewed(&t->whole, &how);
        hf_lease_renewed(&t->packed, &how);
    } else {
        hf_lease_look_found_hold(&t->whole, &how, ttl_ms, t->now);
        hf_lease_look_found_hold(&t->packed, &how, ttl_ms, t->now);
    }
}

static void switch_masters(struct twins *t)
{
    bool is_sudden = dice(2);

    if (hf_lease_master_switched(&t->whole, is_sudden)) {
        (void)hf_lease_master_switched(&t->packed, is_sudden);
        hf_lease_renew_early(&t->whole, t->now + 5);
        hf_lease_renew_early(&t->packed, t->now + 5);
    }
}

static void push(struct twins *t)
{
    hf_lease_look_early(&t->whole, t->now + 5);
    hf_lease_look_early(&t->packed, t->now + 5);
}

static void lose(struct twins *t)
{
    enum hf_lost reason = (enum hf_lost)(HF_REASON_DELETED + dice(7));

    if (dice(50) == 0)
        ck_assert_int_eq(hf_lease_lose(&t->whole, reason),
                         hf_lease_lose(&t->packed, reason));
}

static void (*const events[])(struct twins *) = {call, end_call, end_call, fire, fire,
                                                 end_renewal, end_renewal,
                                                 switch_masters, push, lose};

static void be_granted(struct twins *t)
{
    struct hf_sending how = {.sent_ms = t->now, .stream = 1};

    hf_lease_init(&t->whole, WATCHDOG);
    hf_lease_grant_requested(&t->whole, t->now, WATCHDOG);
    hf_lease_granted(&t->whole, 1, &how, dice(2), 0);
    t->whole.granted_ms = dice(4) ? t->now : INT64_MIN;
    t->packed = t->whole;
}

static uint64_t live(void)
{
    struct twins t = {.now = START};

    be_granted(&t);
    for (int i = 0; i < 200; i++) {
        t.now += (int64_t)dice(dice(10) ? 3000 : 20000);
        if (!t.has_call)
            repack(&t);
        ck_assert_equal(&t);
        events[dice(ROWS(events))](&t);
        ck_assert_equal(&t);
    }
    return t.packs;
}

START_TEST(pack_1_a_lease_that_was_packed_lives_on_as_before)
{
    uint64_t packs = 0;

    dice_seed = DICE_SEED + (uint64_t)_i;
    for (int i = 0; i < 200; i++)
        packs += live();
    ck_assert_uint_gt(packs, 2000);
}
END_TEST

/* ---- what is not packed ---- */

static struct hf_lease held(int64_t lease_ms)
{
    struct hf_sending how = {.sent_ms = START, .stream = 1};
    struct hf_lease l;

    hf_lease_init(&l, WATCHDOG);
    hf_lease_grant_requested(&l, START, lease_ms);
    hf_lease_granted(&l, 1, &how, lease_ms == WATCHDOG, 0);
    return l;
}

START_TEST(pack_2_a_lease_is_not_packed_while_a_command_is_pending)
{
    struct hf_lease_packed p;
    struct hf_lease l = held(WATCHDOG);

    ck_assert(hf_lease_pack(&p, &l));
    hf_lease_grant_requested(&l, START + 1, WATCHDOG);
    ck_assert(!hf_lease_pack(&p, &l));
    hf_lease_grant_unknown(&l, &(struct hf_sending){.sent_ms = START + 1, .stream = 1});
    ck_assert(!hf_lease_pack(&p, &l));
}
END_TEST

START_TEST(pack_2_a_lease_is_not_packed_during_a_release)
{
    struct hf_lease_packed p;
    struct hf_lease l = held(WATCHDOG);

    hf_lease_last_release_submitted(&l);
    ck_assert(!hf_lease_pack(&p, &l));
}
END_TEST

START_TEST(pack_2_a_lease_with_a_great_number_is_not_packed)
{
    struct hf_lease_packed p;
    struct hf_lease l = held(INT64_C(1) << 33);

    ck_assert(!hf_lease_pack(&p, &l));
    l = held(INT64_C(1) << 31); /* a look in its last days would be too far from its begin */
    ck_assert(!hf_lease_pack(&p, &l));
    l = held(WATCHDOG);
    l.hold_count = 2;
    ck_assert(!hf_lease_pack(&p, &l));
    l.hold_count = 1;
    l.max_hold_until_ms = START + 1;
    ck_assert(!hf_lease_pack(&p, &l));
}
END_TEST

/* The moments of the lease itself are exact. */
START_TEST(pack_3_a_time_of_more_than_49_days_is_cut)
{
    int64_t most = UINT32_MAX - 1;
    struct hf_lease_packed p;
    struct hf_lease l = held(WATCHDOG), again;

    for (int64_t ms = most - 1; ms <= most + 1; ms++) {
        l.granted_ms = START - ms;
        ck_assert(hf_lease_pack(&p, &l));
        hf_lease_unpack(&again, &p, WATCHDOG);
        ck_assert_int_eq(again.granted_ms, START - (ms < most ? ms : most));
        ck_assert_int_eq(hf_lease_next_ms(&again), hf_lease_next_ms(&l));
    }
    l.granted_ms = INT64_MIN;
    ck_assert(hf_lease_pack(&p, &l));
    hf_lease_unpack(&again, &p, WATCHDOG);
    ck_assert_int_eq(again.granted_ms, INT64_MIN);
}
END_TEST

START_TEST(pack_2_a_lease_of_a_stream_with_a_great_number_is_not_packed)
{
    struct hf_lease_packed p;
    struct hf_lease l = held(WATCHDOG);

    l.claims.answered_stream = UINT32_MAX;
    ck_assert(hf_lease_pack(&p, &l));
    l.claims.answered_stream++;
    ck_assert(!hf_lease_pack(&p, &l));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("lock/lease_pack");
    TCase *c = tcase_create("pack");

    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, pack_1_a_lease_that_was_packed_lives_on_as_before, 0, 4);
    tcase_add_test(c, pack_2_a_lease_is_not_packed_while_a_command_is_pending);
    tcase_add_test(c, pack_2_a_lease_is_not_packed_during_a_release);
    tcase_add_test(c, pack_2_a_lease_with_a_great_number_is_not_packed);
    tcase_add_test(c, pack_2_a_lease_of_a_stream_with_a_great_number_is_not_packed);
    tcase_add_test(c, pack_3_a_time_of_more_than_49_days_is_cut);
    suite_add_tcase(s, c);
    return suite_run(s);
}
