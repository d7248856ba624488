/* Rules CLAIM-1 to CLAIM-5 by example. In every order of a few commands:
 * tests/exhaust/lease.c. */
#include <check.h>

#include "lock/machine/claims.h"
#include "tests/support/suite.h"

#define COUNT(table) ((int)(sizeof(table) / sizeof *(table)))

#define WATCHDOG 3000
#define START INT64_C(1000000)
#define MAIN 1                  /* streams */
#define OTHER 2

/* ---- by example ---- */

static struct hf_sending sent(int64_t ms, uint64_t stream)
{
    return (struct hf_sending){.sent_ms = ms, .stream = stream};
}

static int64_t end_of(int64_t since_ms, int64_t lease_ms)
{
    return since_ms + lease_ms - hf_claims_drift_ms(lease_ms);
}

static void ask(struct hf_claims *l, int64_t ms, int64_t lease_ms)
{
    hf_claims_add(l, CLAIM_BY_CALL, START + ms, lease_ms);
}

static void answer(struct hf_claims *l, int64_t ms, uint64_t stream)
{
    struct hf_sending how = sent(START + ms, stream);

    hf_claims_answered(l, CLAIM_BY_CALL, &how);
}

static void end_unknown(struct hf_claims *l, uint64_t stream)
{
    struct hf_sending how = sent(0, stream);

    hf_claims_unknown(l, CLAIM_BY_CALL, &how);
}

static void renewal(struct hf_claims *l, int64_t ms)
{
    hf_claims_add(l, CLAIM_BY_RENEWAL, START + ms, WATCHDOG);
}

static void renewed(struct hf_claims *l, int64_t ms, uint64_t stream)
{
    struct hf_sending how = sent(START + ms, stream);

    hf_claims_answered(l, CLAIM_BY_RENEWAL, &how);
}

static struct hf_claims granted(int64_t lease_ms)
{
    struct hf_claims l;

    hf_claims_init(&l);
    ask(&l, 0, lease_ms);
    answer(&l, 0, MAIN);
    return l;
}

static const struct {
    int64_t lease_ms, drift_ms;
} margins[] = {
    {1, 2}, {99, 2}, {100, 3}, {3000, 32}, {30000, 302},
    {INT64_C(1000000000000), INT64_C(10000000002)},
};

/* CLAIM-2 */
START_TEST(the_margin_is_a_hundredth_and_two_milliseconds)
{
    ck_assert_int_eq(hf_claims_drift_ms(margins[_i].lease_ms),
                     margins[_i].drift_ms);
}
END_TEST

START_TEST(nothing_is_safe_before_the_first_grant)
{
    struct hf_claims l;

    hf_claims_init(&l);
    ck_assert_int_eq(l.end_ms, INT64_MIN);
    ask(&l, 0, WATCHDOG);
    ck_assert_int_eq(l.end_ms, INT64_MIN);
    end_unknown(&l, MAIN);
    ck_assert_int_eq(l.end_ms, INT64_MIN);
}
END_TEST

START_TEST(claim_1_a_shorter_lease_counts_from_the_moment_it_is_handed_out)
{
    struct hf_claims l = granted(60000);

    ask(&l, 10, 500);
    ck_assert_int_eq(l.end_ms, end_of(START + 10, 500));
    hf_claims_refused(&l, CLAIM_BY_CALL);
    ck_assert_int_eq(l.end_ms, end_of(START, 60000));
}
END_TEST

START_TEST(claim_1_a_renewal_that_shortens_a_lease_also_counts)
{
    struct hf_claims l = granted(60000);
    struct hf_sending how = sent(0, MAIN);

    renewal(&l, 10);
    ck_assert_int_eq(l.end_ms, end_of(START + 10, WATCHDOG));
    hf_claims_unknown(&l, CLAIM_BY_RENEWAL, &how);
    ck_assert_int_eq(l.end_ms, end_of(START + 10, WATCHDOG));
}
END_TEST

/* Two links: which of the two was executed last, nobody knows. */
START_TEST(claim_2_an_older_renewals_answer_does_not_lengthen_a_newer_lease)
{
    struct hf_claims l = granted(WATCHDOG);

    renewal(&l, 100);
    ask(&l, 200, 500);
    answer(&l, 200, OTHER);
    renewed(&l, 100, MAIN);
    ck_assert_int_eq(l.end_ms, end_of(START + 200, 500));
}
END_TEST

START_TEST(claim_3_later_claims_count_from_the_last_answered_sending)
{
    struct hf_claims l = granted(WATCHDOG);

    ask(&l, 100, 500);
    end_unknown(&l, OTHER);
    renewal(&l, 300);
    renewed(&l, 300, MAIN);
    ck_assert_int_eq(l.end_ms, end_of(START + 300, 500));
}
END_TEST

START_TEST(claim_4_an_answer_on_the_same_stream_ends_an_unknown_claim)
{
    struct hf_claims l = granted(WATCHDOG);

    ask(&l, 100, 500);
    end_unknown(&l, MAIN);
    renewal(&l, 300);
    renewed(&l, 300, MAIN);
    ck_assert_int_eq(l.end_ms, end_of(START + 300, WATCHDOG));
}
END_TEST

START_TEST(claim_4_on_one_stream_the_later_answer_counts)
{
    struct hf_claims l = granted(WATCHDOG);

    ask(&l, 100, 500);
    renewal(&l, 150);
    answer(&l, 100, MAIN);
    renewed(&l, 150, MAIN);
    ck_assert_int_eq(l.end_ms, end_of(START + 150, WATCHDOG));
}
END_TEST

/* The renewal was handed out while the call was under way: it may stand before
 * it in the stream. */
/* Of two streams the claims are merged in the last place: an answer on either of
 * them proves nothing of the other's. */
START_TEST(claim_4_merged_claims_of_two_streams_are_ended_by_no_answer)
{
    struct hf_claims l = granted(60000);

    for (uint64_t i = 0; i <= CLAIM_UNKNOWNS_MAX; i++) {
        ask(&l, 10, i == CLAIM_UNKNOWNS_MAX - 1 ? 500 : 50000);
        end_unknown(&l, OTHER + i);
    }
    ask(&l, 20, 60000);
    answer(&l, 20, OTHER + CLAIM_UNKNOWNS_MAX);
    ck_assert_int_eq(l.lease_of_first_end_ms, 500);
    ck_assert_int_eq(l.end_ms, end_of(START + 20, 500));
}
END_TEST

START_TEST(call_that_was_never_sent_is_no_claim)
{
    struct hf_claims l = granted(60000);

    ask(&l, 10, 500);
    end_unknown(&l, 0);
    ck_assert_int_eq(l.end_ms, end_of(START, 60000));
}
END_TEST

START_TEST(claim_4_not_if_it_was_handed_out_before_the_other_had_ended)
{
    struct hf_claims l = granted(WATCHDOG);

    renewal(&l, 50);
    ask(&l, 100, 500);
    end_unknown(&l, MAIN);
    renewed(&l, 50, MAIN);
    ck_assert_int_eq(l.end_ms, end_of(START + 100, 500));
}
END_TEST

START_TEST(claim_4_a_stray_sending_stays_a_claim_though_the_call_was_answered)
{
    struct hf_claims l = granted(WATCHDOG);
    struct hf_sending how = sent(START + 200, OTHER);

    ask(&l, 100, 500);
    how.unanswered_stream = MAIN;
    hf_claims_answered(&l, CLAIM_BY_CALL, &how);
    renewal(&l, 300);
    renewed(&l, 300, OTHER);
    ck_assert_int_eq(l.end_ms, end_of(START + 300, 500));
    ask(&l, 400, WATCHDOG);
    answer(&l, 400, MAIN);
    ck_assert_int_eq(l.end_ms, end_of(START + 400, WATCHDOG));
}
END_TEST

/* More unknown claims than there are places: together they are as short as the
 * shortest, and no answer ends them. */
START_TEST(claims_that_are_merged_lose_nothing)
{
    struct hf_claims l = granted(WATCHDOG);

    for (int i = 0; i < 5; i++) {
        ask(&l, i, 500 + 100 * i);
        end_unknown(&l, (uint64_t)(10 + i));
    }
    renewal(&l, 100);
    renewed(&l, 100, MAIN);
    ck_assert_int_eq(l.end_ms, end_of(START + 100, 500));
    ask(&l, 200, WATCHDOG);
    answer(&l, 200, 10);
    ck_assert_int_eq(l.end_ms, end_of(START + 200, 600));
}
END_TEST

static void extended(struct hf_claims *l, int64_t ms, int64_t ttl_ms, int64_t lease_ms,
                     uint64_t stream)
{
    struct hf_sending how = sent(START + ms, stream);

    hf_claims_extended(l, &how, ttl_ms, lease_ms);
}

/* A call with a long lease, and a later renewal with a short one, both without a reply: merged,
 * they do not end before the first of them. */
START_TEST(claims_that_are_merged_end_with_the_first_of_them)
{
    struct hf_claims l = granted(60000);
    struct hf_sending how = sent(0, MAIN);

    ask(&l, 100, 60000);
    renewal(&l, 5000);
    hf_claims_unknown(&l, CLAIM_BY_RENEWAL, &how);
    ck_assert_int_eq(l.end_ms, end_of(START + 5000, WATCHDOG));
    end_unknown(&l, MAIN);
    ck_assert_int_eq(l.end_ms, end_of(START + 5000, WATCHDOG));
    ask(&l, 6000, 60000); /* a reply elsewhere: each claim counts from its sending (CLAIM-3) */
    answer(&l, 6000, OTHER);
    ck_assert_int_eq(l.end_ms, end_of(START + 6000, WATCHDOG));
}
END_TEST

START_TEST(claim_5_an_extension_is_no_claim_before_its_reply)
{
    struct hf_claims l = granted(60000);

    hf_claims_extend(&l);
    ck_assert_int_eq(l.end_ms, end_of(START, 60000));
    ck_assert(hf_claims_are_settled(&l));
    extended(&l, 100, 90000, 90000, MAIN);
    ck_assert_int_eq(l.end_ms, end_of(START + 100, 90000));
    ck_assert_int_eq(l.owner_lease_ms, 90000);
}
END_TEST

START_TEST(claim_5_a_longer_ttl_than_a_call_has_set_does_not_count)
{
    struct hf_claims l = granted(60000);

    hf_claims_extend(&l);
    extended(&l, 100, 3600000, 1000, MAIN);
    ck_assert_int_eq(l.end_ms, end_of(START + 100, 60000));
    ck_assert_int_eq(l.owner_lease_ms, 60000);
}
END_TEST

/* CLAIM-4: a command that may be executed later than the extension remains a claim. */
START_TEST(claim_5_an_extension_ends_no_claim_of_another_stream)
{
    struct hf_claims l = granted(60000);

    ask(&l, 10, 500);
    end_unknown(&l, _i ? OTHER : MAIN);
    hf_claims_extend(&l);
    extended(&l, 100, 90000, 90000, MAIN);
    ck_assert_int_eq(l.end_ms, _i ? end_of(START + 100, 500) : end_of(START + 100, 90000));
}
END_TEST

/* ---- */

int main(void)
{
    Suite *s = suite_create("lock/claims");
    TCase *rules = tcase_create("rules");

    tcase_add_loop_test(rules, the_margin_is_a_hundredth_and_two_milliseconds,
                        0, COUNT(margins));
    tcase_add_test(rules, nothing_is_safe_before_the_first_grant);
    tcase_add_test(
        rules, claim_1_a_shorter_lease_counts_from_the_moment_it_is_handed_out);
    tcase_add_test(rules,
                   claim_1_a_renewal_that_shortens_a_lease_also_counts);
    tcase_add_test(
        rules,
        claim_2_an_older_renewals_answer_does_not_lengthen_a_newer_lease);
    tcase_add_test(rules,
                   claim_3_later_claims_count_from_the_last_answered_sending);
    tcase_add_test(rules,
                   claim_4_an_answer_on_the_same_stream_ends_an_unknown_claim);
    tcase_add_test(rules, claim_4_on_one_stream_the_later_answer_counts);
    tcase_add_test(rules,
                   claim_4_merged_claims_of_two_streams_are_ended_by_no_answer);
    tcase_add_test(rules, call_that_was_never_sent_is_no_claim);
    tcase_add_test(
        rules, claim_4_not_if_it_was_handed_out_before_the_other_had_ended);
    tcase_add_test(
        rules,
        claim_4_a_stray_sending_stays_a_claim_though_the_call_was_answered);
    tcase_add_test(rules, claims_that_are_merged_lose_nothing);
    tcase_add_test(rules, claims_that_are_merged_end_with_the_first_of_them);
    tcase_add_test(rules, claim_5_an_extension_is_no_claim_before_its_reply);
    tcase_add_test(rules, claim_5_a_longer_ttl_than_a_call_has_set_does_not_count);
    tcase_add_loop_test(rules, claim_5_an_extension_ends_no_claim_of_another_stream, 0, 2);
    suite_add_tcase(s, rules);
    return suite_run(s);
}
