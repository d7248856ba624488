/* The same locks as a real Redisson: each side excludes the other, wakes it and
 * reads its state. */
#include "tests/redisson/both.h"
#include "tests/redisson/monitor.h"
#include "tests/support/lateness.h"

/* ---- one holds, the other waits ---- */

/* A kind of Redisson's and a kind of ours, which exclude each other. */
static const struct pair {
    const char *java;
    enum hf_lock_kind ours;
    bool is_one;                /* they are the same kind */
    int holds;                  /* how often Redisson acquires it */
    const char *name;           /* with braces and without: both sides must spell
                                   the channel alike */
} pairs[] = {
    {"lock", HF_KIND_PLAIN, true, 2, "order:42"},
    {"lock", HF_KIND_PLAIN, true, 2, "shop{eu}lock"},
    {"lock", HF_KIND_PLAIN, true, 2, "{a}{b}"},
    {"lock", HF_KIND_PLAIN, true, 2, "x}y"},
    {"fenced", HF_KIND_FENCED, true, 2, "fenced"},
    {"fenced", HF_KIND_FENCED, true, 2, "fenced{eu}lock"},
    {"fair", HF_KIND_FAIR, true, 2, "fair"},
    {"fair", HF_KIND_FAIR, true, 2, "fair{eu}lock"},
    {"nonreentrant", HF_KIND_NONREENTRANT, true, 1, "once"},
    {"nonreentrant", HF_KIND_PLAIN, true, 1, "once:plain"},
    {"lock", HF_KIND_NONREENTRANT, true, 2, "plain:once"},
    {"spin", HF_KIND_SPIN, true, 2, "spin"},
    {"spin", HF_KIND_SPIN, true, 2, "spin{eu}lock"},
    {"lock", HF_KIND_SPIN, true, 2, "plain:spin"},
    {"write", HF_KIND_WRITE, true, 2, "file:7"},
    {"write", HF_KIND_WRITE, true, 2, "file{eu}"},
    {"read", HF_KIND_WRITE, false, 2, "file:read"},
    {"write", HF_KIND_READ, false, 2, "file{eu}write"},
};
#define PAIRS ((int)(sizeof pairs / sizeof *pairs))

START_TEST(we_wait_until_redisson_releases)
{
    const struct pair *p = &pairs[_i];
    struct hf_lock *lock = lock_on(p->ours, p->name);
    struct hf_lock_info info;

    for (int i = 0; i < p->holds; i++)
        ck_assert_java("ok", 1, "acquire %s %s", p->java, p->name);
    ck_assert_int_eq(hf_lock_inspect(lock, &info, NULL), HF_OK);
    ck_assert(info.is_locked);
    ck_assert_int_eq(info.hold_count, p->holds);
    ck_assert_int_eq(acquire_within(lock, 0), HF_TIMEOUT);
    ck_assert_int_eq(acquire_within(lock, 50), HF_TIMEOUT);

    for (int i = 1; i < p->holds; i++) {
        ck_assert_java("ok", 1, "unlock %s %s", p->java, p->name);
        ck_assert_int_eq(acquire_within(lock, 50), HF_TIMEOUT);
    }
    driver_tell(java, 1, "unlock %s %s", p->java, p->name);
    ck_assert_int_eq(acquire_within(lock, TOLD_MS), HF_OK);
    ck_assert_told("ok", 1);
    release(lock);
    hf_lock_free(lock);
}
END_TEST

START_TEST(redisson_waits_until_we_release)
{
    const struct pair *p = &pairs[_i];
    struct hf_lock *lock = lock_on(p->ours, p->name);

    ck_assert_int_eq(acquire_within(lock, 0), HF_OK);
    if (p->is_one)
        ck_assert_java("true", 1, "locked %s %s", p->java, p->name);
    ck_assert_java("false", 1, "try %s %s", p->java, p->name);
    ck_assert_java("refused", 1, "unlock %s %s", p->java, p->name);

    driver_tell(java, 1, "acquire %s %s", p->java, p->name);
    ck_assert_waits(1);
    release(lock);
    ck_assert_told("ok", 1);
    ck_assert_java("1", 1, "count %s %s", p->java, p->name);
    ck_assert_java("ok", 1, "unlock %s %s", p->java, p->name);
    hf_lock_free(lock);
}
END_TEST

/* The unlock of a fair lock that no longer exists also succeeds. WIRE 11.5. */
static bool is_fair(const struct pair *p)
{
    return strcmp(p->java, "fair") == 0;
}

/* Before Redisson 3.44, the unlock of a write lock that no longer exists succeeds.
 * WIRE 20. */
static bool is_old_write(const struct pair *p)
{
    return strcmp(p->java, "write") == 0 && !driver_has("nonreentrant");
}

START_TEST(either_side_may_force_the_other)
{
    const struct pair *p = &pairs[_i];
    struct hf_lock *lock = lock_on(p->ours, p->name);
    const char *answer;

    ck_assert_java("ok", 1, "acquire %s %s", p->java, p->name);
    ck_assert_int_eq(hf_lock_force_release(lock, NULL, 0, NULL), HF_OK);
    ck_assert_java("0", 1, "count %s %s", p->java, p->name);
    answer = driver_ask(java, 1, "unlock %s %s", p->java, p->name);
    ck_assert(strcmp(answer, "refused") == 0 || is_old_write(p) || is_fair(p));

    ck_assert_int_eq(acquire_within(lock, 0), HF_OK);
    ck_assert_java("true", 1, "force-unlock %s %s", p->java, p->name);
    release_lost(lock);
    hf_lock_free(lock);
}
END_TEST

/* Before Redisson 3.32, a waiter that sends its request just before a lease expires may
 * receive a negative time to sleep, and then sleeps until a release. WIRE 20. */
static bool oversleeps(const struct pair *p)
{
    return is_fair(p) && !driver_has("nonreentrant");
}

/* Late: the server has let go of it. */
static void release_late(struct hf_lock *lock, const char *name,
                         const struct hf_lock_info *held)
{
    server_await(server, TOLD_MS, "0", "HEXISTS %s %s", name, held->holder);
    release_lost(lock);
}

static void take_no_line(void *ctx, const char *line)
{
    (void)ctx;
    (void)line;
}

/* Redisson's lease has an end, or the lines of MONITOR say why it has none. */
static void await_its_end(struct hf_lock *lock)
{
    hf_status status = acquire_within(lock, TOLD_MS);

    monitor_end(take_no_line, NULL);
    if (status != HF_OK)
        monitor_tail();
    ck_assert_int_eq(status, HF_OK);
}

/* A thread that never takes a lock without a lease. If a hold was ended by force,
 * Redisson's watchdog renews once more what the same thread has of that name then: 10 s
 * later, also a lease, which lasts for 30 s by that. */
#define LEASED DRIVER_THREADS

START_TEST(expired_permits_of_one_side_are_available_to_the_other)
{
    const struct pair *p = &pairs[_i];
    struct hf_lock *lock = lock_on(p->ours, p->name);
    struct hf_lock_info info;

    monitor_begin();
    ck_assert_java("ok", LEASED, "acquire %s %s %d", p->java, p->name, SHORT_MS);
    await_its_end(lock);
    ck_assert_java("refused", LEASED, "unlock %s %s", p->java, p->name);
    release(lock);

    acquire_for(lock, SHORT_MS);
    ck_assert_int_eq(hf_lock_inspect(lock, &info, NULL), HF_OK);
    driver_tell(java, 1, "wait %s %s %d", p->java, p->name, TOLD_MS);
    if (oversleeps(p))
        release_late(lock, p->name, &info);
    ck_assert_told("true", 1);
    if (!oversleeps(p))
        release_lost(lock);
    ck_assert_java("ok", 1, "unlock %s %s", p->java, p->name);
    hf_lock_free(lock);
}
END_TEST

/* Its watchdog dies with it. */
START_TEST(redisson_that_is_killed_leaves_its_lock_to_us)
{
    const struct pair *p = &pairs[_i];
    struct hf_lock *lock = lock_on(p->ours, p->name);
    struct driver *other = driver_start(server, 3000);

    ck_assert_str_eq(driver_ask(other, 1, "acquire %s %s", p->java, p->name),
                     "ok");
    ck_assert_int_eq(acquire_within(lock, 0), HF_TIMEOUT);
    driver_kill(other);
    ck_assert_int_eq(acquire_within(lock, TOLD_MS), HF_OK);
    release(lock);
    driver_stop(other);
    hf_lock_free(lock);
}
END_TEST

/* Read, add, write, without any atomicity but the lock's: the sum is the truth. */
#define ADDS 300

static void add_once(struct hf_lock *lock)
{
    char text[32];

    ck_assert_int_eq(acquire_within(lock, TOLD_MS), HF_OK);
    snprintf(text, sizeof text, "%s", server_ask(server, "GET sum"));
    snprintf(text, sizeof text, "%ld", atol(text) + 1);
    server_ask(server, "SET sum %s", text);
    release(lock);
}

START_TEST(both_sides_are_never_inside_at_once)
{
    const struct pair *p = &pairs[_i];
    struct hf_lock *lock = lock_on(p->ours, p->name);

    server_ask(server, "SET sum 0");
    driver_tell(java, 1, "add %s %s sum %d", p->java, p->name, ADDS);
    for (int i = 0; i < ADDS; i++)
        add_once(lock);
    ck_assert_str_eq(driver_answer(java, 1, DRIVER_MS), "ok");
    ck_assert_int_eq(atol(server_ask(server, "GET sum")), 2 * ADDS);
    hf_lock_free(lock);
}
END_TEST

/* ---- re-entry of what does not re-enter ---- */

START_TEST(each_side_refuses_its_own_owner)
{
    struct hf_lock *lock = lock_on(HF_KIND_NONREENTRANT, "once");

    ck_assert_java("ok", 1, "acquire nonreentrant once");
    ck_assert_java("refused", 1, "acquire nonreentrant once");
    ck_assert_java("ok", 1, "unlock nonreentrant once");
    ck_assert_int_eq(acquire_within(lock, 0), HF_OK);
    ck_assert_int_eq(acquire_within(lock, 0), HF_E_INVAL);
    ck_assert_java("false", 1, "try nonreentrant once");
    release(lock);
    ck_assert_java("true", 1, "try nonreentrant once");
    ck_assert_java("ok", 1, "unlock nonreentrant once");
    hf_lock_free(lock);
}
END_TEST

/* ---- fencing tokens ---- */

#define FENCED "tokens"

static int64_t our_token(struct hf_lock *lock)
{
    ck_assert_int_eq(acquire_within(lock, TOLD_MS), HF_OK);
    return hf_lock_token(lock, hf_owner_thread());
}

static int64_t their_token(void)
{
    return atoll(driver_ask(java, 1, "acquire-token fenced " FENCED));
}

START_TEST(tokens_grow_from_one_side_to_the_other)
{
    struct hf_lock *lock = lock_on(HF_KIND_FENCED, FENCED);
    int64_t last = atoll(driver_ask(java, 1, "token fenced " FENCED));

    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(our_token(lock), ++last);
        ck_assert_int_eq(our_token(lock), last); /* a re-entry */
        ck_assert_int_eq(atoll(driver_ask(java, 2, "token fenced " FENCED)),
                         last);
        release(lock);
        release(lock);
        ck_assert_int_eq(their_token(), ++last);
        ck_assert_int_eq(their_token(), ++last); /* Redisson's takes another */
        ck_assert_java("ok", 1, "unlock fenced " FENCED);
        ck_assert_java("ok", 1, "unlock fenced " FENCED);
    }
    hf_lock_free(lock);
}
END_TEST

START_TEST(waiter_has_a_greater_token_than_its_holder)
{
    struct hf_lock *lock = lock_on(HF_KIND_FENCED, FENCED);
    int64_t last = our_token(lock);
    const char *answer;

    driver_tell(java, 1, "acquire-token fenced " FENCED);
    ck_assert_waits(1);
    release(lock);
    answer = driver_answer(java, 1, TOLD_MS);
    ck_assert_ptr_nonnull(answer);
    ck_assert_int_eq(atoll(answer), ++last);

    ck_assert_int_eq(acquire_within(lock, 50), HF_TIMEOUT);
    driver_tell(java, 1, "unlock fenced " FENCED);
    ck_assert_int_eq(our_token(lock), ++last);
    ck_assert_told("ok", 1);
    release(lock);
    hf_lock_free(lock);
}
END_TEST

START_TEST(force_and_expiry_keep_the_counter)
{
    struct hf_lock *lock = lock_on(HF_KIND_FENCED, FENCED);
    int64_t last = our_token(lock);

    ck_assert_java("true", 1, "force-unlock fenced " FENCED);
    release_lost(lock);
    ck_assert_int_eq(their_token(), ++last);
    ck_assert_int_eq(hf_lock_force_release(lock, NULL, 0, NULL), HF_OK);
    ck_assert_java("ok", LEASED, "acquire fenced " FENCED " %d", SHORT_MS);
    ck_assert_int_eq(our_token(lock), last + 2);
    release(lock);
    hf_lock_free(lock);
}
END_TEST

/* Our other kinds with tokens: of one counter with Redisson's fenced lock, and
 * excluded by it. A fair lock's release wakes the next in the queue alone, so
 * nobody waits here. */
static const enum hf_lock_kind with_token[] = {
    HF_KIND_PLAIN, HF_KIND_NONREENTRANT, HF_KIND_FAIR,
    HF_KIND_NONREENTRANT_FAIR, HF_KIND_SPIN};
#define WITH_TOKEN ((int)(sizeof with_token / sizeof *with_token))

START_TEST(redissons_tokens_go_on_after_those_of_our_kinds)
{
    struct hf_lock *lock = lock_on(
        (enum hf_lock_kind)(with_token[_i] | HF_WITH_TOKEN), FENCED);
    int64_t last = atoll(driver_ask(java, 1, "token fenced " FENCED));

    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(our_token(lock), ++last);
        release(lock);
        ck_assert_int_eq(their_token(), ++last);
        ck_assert_int_eq(acquire_within(lock, 0), HF_TIMEOUT);
        ck_assert_java("ok", 1, "unlock fenced " FENCED);
    }
    hf_lock_free(lock);
}
END_TEST

/* Redisson's other kinds take no token: the counter stays where it was. */
START_TEST(redissons_fair_holder_has_no_token)
{
    struct hf_lock *lock = lock_on(
        (enum hf_lock_kind)(HF_KIND_FAIR | HF_WITH_TOKEN), FENCED);
    int64_t last = our_token(lock);

    release(lock);
    ck_assert_java("ok", 1, "acquire fair " FENCED);
    ck_assert_int_eq(acquire_within(lock, 0), HF_TIMEOUT);
    ck_assert_java("ok", 1, "unlock fair " FENCED);
    ck_assert_int_eq(our_token(lock), last + 1);
    release(lock);
    hf_lock_free(lock);
}
END_TEST

/* ---- the suite ---- */

/* Of the kinds that this version of Redisson has. */
static void add_pairs(TCase *tc)
{
    for (int i = 0; i < PAIRS; i++) {
        if (!driver_has(pairs[i].java)) {
            printf("skipped: %s, as %s (this Redisson has none)\n",
                   pairs[i].name, pairs[i].java);
            continue;
        }
        tcase_add_loop_test(tc, we_wait_until_redisson_releases, i, i + 1);
        tcase_add_loop_test(tc, redisson_waits_until_we_release, i, i + 1);
        if (pairs[i].is_one)
            tcase_add_loop_test(tc, either_side_may_force_the_other, i, i + 1);
        tcase_add_loop_test(tc, expired_permits_of_one_side_are_available_to_the_other, i,
                            i + 1);
        tcase_add_loop_test(tc, redisson_that_is_killed_leaves_its_lock_to_us,
                            i, i + 1);
        tcase_add_loop_test(tc, both_sides_are_never_inside_at_once, i, i + 1);
    }
}

static Suite *redisson_suite(void)
{
    Suite *suite = suite_create("redisson");
    TCase *tc = both_case("plain, fenced, non-reentrant");

    add_pairs(tc);
    if (driver_has("nonreentrant"))
        tcase_add_test(tc, each_side_refuses_its_own_owner);
    if (driver_has("fenced")) {
        tcase_add_loop_test(tc, redissons_tokens_go_on_after_those_of_our_kinds, 0,
                            WITH_TOKEN);
        tcase_add_test(tc, redissons_fair_holder_has_no_token);
        tcase_add_test(tc, tokens_grow_from_one_side_to_the_other);
        tcase_add_test(tc, waiter_has_a_greater_token_than_its_holder);
        tcase_add_test(tc, force_and_expiry_keep_the_counter);
    }
    suite_add_tcase(suite, tc);
    suite_add_tcase(suite, fair_case());
    suite_add_tcase(suite, fair_order_case());
    suite_add_tcase(suite, fair_mix_case());
    suite_add_tcase(suite, multi_case());
    suite_add_tcase(suite, counts_case());
    suite_add_tcase(suite, quorum_case());
    suite_add_tcase(suite, read_write_case());
    suite_add_tcase(suite, turnstile_case());
    return suite;
}

int main(void)
{
    SRunner *runner = srunner_create(redisson_suite());
    int failed;

    srunner_set_fork_status(runner, CK_NOFORK); /* one JVM for all of them */
    (void)lateness_start();
    srunner_run_all(runner, CK_NORMAL);
    lateness_stop();
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
