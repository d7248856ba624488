/* Semaphores and latches beside Redisson's: one number, and one message. */
#include <pthread.h>

#include "lock/by_owner.h"
#include "tests/redisson/both.h"
#include "tests/support/local.h"

static const char *const names[] = {"counts", "shop{eu}counts"};

static const char *ask_java(int thread, const char *verb, const char *kind,
                            const char *name, int number)
{
    return driver_ask(java, thread, "%s %s %s %d", verb, kind, name, number);
}

/* ---- semaphores ---- */

static struct hf_semaphore *semaphore_on(const char *name)
{
    struct hf_semaphore *semaphore = NULL;

    server_ask(server, "DEL %s", name);
    ck_assert_int_eq(hf_semaphore_new(&semaphore, client, name, strlen(name),
                                      NULL),
                     HF_OK);
    return semaphore;
}

static void take(struct hf_semaphore *semaphore, int permits)
{
    ck_assert_int_eq(
        hf_semaphore_acquire(semaphore, permits, TOLD_MS, NULL, NULL), HF_OK);
}

static void give(struct hf_semaphore *semaphore, int permits)
{
    ck_assert_int_eq(hf_semaphore_release(semaphore, permits, NULL), HF_OK);
}

static int64_t available(struct hf_semaphore *semaphore)
{
    int64_t out = -1;

    ck_assert_int_eq(hf_semaphore_available(semaphore, &out, NULL), HF_OK);
    return out;
}

START_TEST(both_sides_take_from_one_number)
{
    const char *name = names[_i];
    struct hf_semaphore *semaphore = semaphore_on(name);
    bool was_set = true;

    ck_assert_str_eq(ask_java(1, "set", "semaphore", name, 5), "true");
    ck_assert_int_eq(
        hf_semaphore_try_set_permits(semaphore, 9, &was_set, NULL), HF_OK);
    ck_assert(!was_set);
    take(semaphore, 2);
    ck_assert_str_eq(ask_java(1, "try", "semaphore", name, 4), "false");
    ck_assert_str_eq(ask_java(1, "try", "semaphore", name, 3), "true");
    ck_assert_java("0", 1, "count semaphore %s", name);
    ck_assert_int_eq(hf_semaphore_acquire(semaphore, 1, 0, NULL, NULL),
                     HF_TIMEOUT);
    ck_assert_str_eq(ask_java(1, "unlock", "semaphore", name, 5), "ok");
    ck_assert_int_eq(available(semaphore), 5);
    hf_semaphore_free(semaphore);
}
END_TEST

/* Redisson's trySetPermits(permits, ttl) sets the same key in the same way: WIRE 15. */
START_TEST(a_ttl_lasts_beside_redisson)
{
    const char *name = names[_i];
    struct hf_semaphore *semaphore = semaphore_on(name);
    bool was_set = false;

    ck_assert_int_eq(hf_semaphore_try_set_permits_ttl(semaphore, 5, 60000, &was_set, NULL), HF_OK);
    ck_assert(was_set);
    ck_assert_str_eq(ask_java(1, "set", "semaphore", name, 9), "false");
    ck_assert_str_eq(ask_java(1, "try", "semaphore", name, 4), "true");
    take(semaphore, 1);
    ck_assert_str_eq(ask_java(1, "unlock", "semaphore", name, 4), "ok");
    give(semaphore, 1);
    ck_assert_java("5", 1, "count semaphore %s", name);
    ck_assert_int_gt(server_ask_int(server, "PTTL %s", name), 1000);
    hf_semaphore_free(semaphore);
}
END_TEST

START_TEST(redisson_is_woken_by_our_release)
{
    const char *name = names[_i];
    struct hf_semaphore *semaphore = semaphore_on(name);

    give(semaphore, 1);
    take(semaphore, 1);
    driver_tell(java, 1, "acquire semaphore %s 1", name);
    driver_tell(java, 2, "acquire semaphore %s 2", name);
    ck_assert_waits(1);
    give(semaphore, 3);
    ck_assert_told("ok", 1);
    ck_assert_told("ok", 2);
    ck_assert_int_eq(available(semaphore), 0);
    driver_tell(java, 1, "wait semaphore %s 1 %d", name, TOLD_MS);
    ck_assert_waits(1);
    give(semaphore, 1);
    ck_assert_told("true", 1);
    hf_semaphore_free(semaphore);
}
END_TEST

static void *give_to_us(void *name)
{
    local_rest_us(A_MOMENT_MS * 1000);
    driver_tell(java, 1, "unlock semaphore %s 2", (const char *)name);
    return NULL;
}

/* In less than the time after which it would look by itself. */
START_TEST(we_are_woken_by_redissons_release)
{
    const char *name = names[_i];
    struct hf_semaphore *semaphore = semaphore_on(name);
    pthread_t thread;

    ck_assert_str_eq(ask_java(1, "set", "semaphore", name, 0), "true");
    ck_assert_int_eq(pthread_create(&thread, NULL, give_to_us, (void *)name), 0);
    ck_assert_int_eq(hf_semaphore_acquire(semaphore, 2, 2500, NULL, NULL),
                     HF_OK);
    (void)pthread_join(thread, NULL);
    ck_assert_told("ok", 1);
    hf_semaphore_free(semaphore);
}
END_TEST

/* Both take and give, and wait for each other: not one permit more or less. */
#define TURNS 300

START_TEST(no_permit_is_lost_or_made)
{
    const char *name = names[_i];
    struct hf_semaphore *semaphore = semaphore_on(name);

    ck_assert_str_eq(ask_java(1, "set", "semaphore", name, 2), "true");
    for (int thread = 1; thread <= 3; thread++)
        driver_tell(java, thread, "turns semaphore %s %d", name, TURNS);
    for (int i = 0; i < TURNS; i++) {
        take(semaphore, 1 + i % 2);
        ck_assert_int_le(available(semaphore), 1);
        give(semaphore, 1 + i % 2);
    }
    for (int thread = 1; thread <= 3; thread++)
        ck_assert_str_eq(driver_answer(java, thread, DRIVER_MS), "ok");
    ck_assert_int_eq(available(semaphore), 2);
    hf_semaphore_free(semaphore);
}
END_TEST

START_TEST(permits_that_we_remove_are_not_redissons)
{
    const char *name = names[_i];
    struct hf_semaphore *semaphore = semaphore_on(name);
    bool was_deleted = false;
    int64_t taken = -1;

    ck_assert_str_eq(ask_java(1, "set", "semaphore", name, 3), "true");
    ck_assert_int_eq(hf_semaphore_reduce(semaphore, 5, NULL, NULL), HF_OK);
    ck_assert_java("-2", 1, "count semaphore %s", name);
    ck_assert_str_eq(ask_java(1, "try", "semaphore", name, 1), "false");
    ck_assert_str_eq(ask_java(1, "unlock", "semaphore", name, 6), "ok");
    ck_assert_int_eq(hf_semaphore_drain(semaphore, &taken, NULL), HF_OK);
    ck_assert_int_eq(taken, 4);
    driver_tell(java, 1, "acquire semaphore %s 1", name);
    ck_assert_waits(1);
    ck_assert_int_eq(hf_semaphore_delete(semaphore, &was_deleted, NULL), HF_OK);
    ck_assert(was_deleted);
    ck_assert_str_eq(ask_java(2, "set", "semaphore", name, 1), "true");
    ck_assert_told("ok", 1);
    hf_semaphore_free(semaphore);
}
END_TEST

/* ---- latches ---- */

static struct hf_latch *latch_on(const char *name)
{
    struct hf_latch *latch = NULL;

    server_ask(server, "DEL %s", name);
    ck_assert_int_eq(hf_latch_new(&latch, client, name, strlen(name), NULL),
                     HF_OK);
    return latch;
}

static void count_down(struct hf_latch *latch)
{
    ck_assert_int_eq(hf_latch_count_down(latch, NULL), HF_OK);
}

START_TEST(both_sides_count_one_number_down)
{
    const char *name = names[_i];
    struct hf_latch *latch = latch_on(name);
    bool was_set = true;
    int64_t count;

    ck_assert_str_eq(ask_java(1, "set", "latch", name, 3), "true");
    ck_assert_int_eq(hf_latch_try_set_count(latch, 9, &was_set, NULL), HF_OK);
    ck_assert(!was_set);
    count_down(latch);
    ck_assert_java("2", 1, "count latch %s", name);
    ck_assert_java("ok", 1, "unlock latch %s", name);
    ck_assert_int_eq(hf_latch_count(latch, &count, NULL), HF_OK);
    ck_assert_int_eq(count, 1);
    driver_tell(java, 1, "acquire latch %s", name);
    driver_tell(java, 2, "wait latch %s %d", name, TOLD_MS);
    ck_assert_waits(1);
    count_down(latch);
    ck_assert_told("ok", 1);
    ck_assert_told("true", 2);
    ck_assert_java("0", 1, "count latch %s", name);

    ck_assert_int_eq(hf_latch_try_set_count(latch, 2, &was_set, NULL), HF_OK);
    ck_assert(was_set);
    ck_assert_str_eq(ask_java(1, "set", "latch", name, 3), "false");
    driver_tell(java, 1, "acquire latch %s", name); /* closed again */
    ck_assert_waits(1);
    count_down(latch);
    count_down(latch);
    ck_assert_told("ok", 1);
    hf_latch_free(latch);
}
END_TEST

static void *count_for_us(void *name)
{
    local_rest_us(A_MOMENT_MS * 1000);
    driver_tell(java, 1, "unlock latch %s", (const char *)name);
    return NULL;
}

/* The same for a deletion, which lets no waiter of Redisson's pass. */
static void *delete_for_us(void *name)
{
    local_rest_us(A_MOMENT_MS * 1000);
    driver_tell(java, 1, "delete latch %s", (const char *)name);
    return NULL;
}

START_TEST(we_are_woken_when_redisson_opens_a_latch)
{
    const char *name = names[_i / 2];
    struct hf_latch *latch = latch_on(name);
    pthread_t thread;

    ck_assert_str_eq(ask_java(1, "set", "latch", name, 1), "true");
    ck_assert_int_eq(pthread_create(&thread, NULL,
                                    _i % 2 ? delete_for_us : count_for_us,
                                    (void *)name),
                     0);
    ck_assert_int_eq(hf_latch_await(latch, 2500, NULL, NULL), HF_OK);
    (void)pthread_join(thread, NULL);
    ck_assert_told(_i % 2 ? "true" : "ok", 1);
    hf_latch_free(latch);
}
END_TEST

/* As after its own deletion, a waiter of Redisson waits for the next latch. */
START_TEST(latch_that_we_delete_is_none_of_redissons)
{
    const char *name = names[_i];
    struct hf_latch *latch = latch_on(name);
    bool was_deleted = false;

    ck_assert_str_eq(ask_java(1, "set", "latch", name, 2), "true");
    driver_tell(java, 1, "acquire latch %s", name);
    ck_assert_waits(1);
    ck_assert_int_eq(hf_latch_delete(latch, &was_deleted, NULL), HF_OK);
    ck_assert(was_deleted);
    ck_assert_java("0", 2, "count latch %s", name);
    ck_assert_str_eq(ask_java(2, "set", "latch", name, 1), "true");
    count_down(latch);
    ck_assert_told("ok", 1);
    hf_latch_free(latch);
}
END_TEST

/* ---- expirable permits ---- */

static struct hf_lock *permit_on(const char *name, int permits)
{
    struct hf_lock *permit = lock_on(HF_KIND_PERMIT, name);

    server_ask(server, "DEL %s %s%s%s:timeout", name, strchr(name, '{') ? "" : "{",
               name, strchr(name, '{') ? "" : "}");
    ck_assert_str_eq(ask_java(1, "set", "permit", name, permits), "true");
    return permit;
}

static int64_t permits_left(struct hf_lock *permit)
{
    int64_t out = -1;

    ck_assert_int_eq(hf_permits_available(permit, &out, NULL), HF_OK);
    return out;
}

/* Lent until the next but one. */
static const char *their_permit(const char *name, int lease_ms)
{
    static char ids[2][64];
    static int turn;

    turn = !turn;
    (void)snprintf(ids[turn], sizeof ids[turn], "%s",
                   ask_java(1, "acquire", "permit", name, lease_ms));
    return ids[turn];
}

START_TEST(expirable_permits_are_shared)
{
    const char *name = names[_i];
    struct hf_lock *permit = permit_on(name, 3);
    const char *one = their_permit(name, 60000);
    const char *two = their_permit(name, 60000);

    ck_assert_int_eq(acquire_within(permit, 0), HF_OK);
    ck_assert_java("0", 1, "count permit %s", name);
    ck_assert_java("null", 1, "wait permit %s 50 1000", name);
    ck_assert_java("true", 1, "unlock permit %s %s", name, one);
    ck_assert_java("1", 1, "count permit %s", name);
    ck_assert_int_eq(permits_left(permit), 1);
    release(permit);
    ck_assert_java("2", 1, "count permit %s", name);
    ck_assert_java("true", 1, "unlock permit %s %s", name, two);
    ck_assert_java("false", 1, "unlock permit %s %s", name, two);
    ck_assert_int_eq(permits_left(permit), 3);
    hf_lock_free(permit);
}
END_TEST

START_TEST(number_that_we_set_is_redissons)
{
    const char *name = names[_i];
    struct hf_lock *permit = permit_on(name, 1);
    const char *id = their_permit(name, 60000);

    driver_tell(java, 2, "wait permit %s %d 60000", name, TOLD_MS);
    ck_assert_waits(2);
    ck_assert_int_eq(hf_permits_set(permit, 3, NULL), HF_OK);
    ck_assert_ptr_nonnull(driver_answer(java, 2, TOLD_MS));
    ck_assert_java("1", 1, "count permit %s", name);
    ck_assert_int_eq(hf_permits_set(permit, 1, NULL), HF_OK);
    ck_assert_java("true", 1, "unlock permit %s %s", name, id);
    ck_assert_java("0", 1, "count permit %s", name);
    hf_lock_free(permit);
}
END_TEST

/* Before 3.17, Redisson stored the id as text: it is then not found, and nothing changes. */
START_TEST(their_permit_is_ours_to_release)
{
    const char *name = names[_i];
    struct hf_lock *permit = permit_on(name, 1);
    const char *id = their_permit(name, 60000);
    bool has_bytes = server_ask_int(server, "EVAL %s 1 %s%s%s:timeout",
                                    "return #redis.call('zrange', KEYS[1], 0, 0)[1]",
                                    strchr(name, '{') ? "" : "{", name,
                                    strchr(name, '{') ? "" : "}") == 16;
    hf_status done = has_bytes ? HF_OK : HF_NOT_OWNER;

    ck_assert_uint_eq(strlen(id), 32);
    ck_assert_int_eq(hf_renew_by_owner(permit, id, 32, 120000, NULL, NULL), done);
    ck_assert_int_eq(hf_release_by_owner(permit, id, 32, NULL), done);
    ck_assert_java(has_bytes ? "1" : "0", 1, "count permit %s", name);
    ck_assert_java(has_bytes ? "false" : "true", 1, "unlock permit %s %s", name, id);
    hf_lock_free(permit);
}
END_TEST

struct giver {
    const char *name, *id;
};

static void *give_permit(void *arg)
{
    const struct giver *giver = arg;

    local_rest_us(A_MOMENT_MS * 1000);
    driver_tell(java, 1, "unlock permit %s %s", giver->name, giver->id);
    return NULL;
}

START_TEST(each_side_wakes_the_other_that_wants_a_permit)
{
    const char *name = names[_i];
    struct hf_lock *permit = permit_on(name, 1);
    static struct giver giver; /* its thread outlives a failed assertion (CK_NOFORK) */
    const char *answer;
    pthread_t thread;

    giver = (struct giver){name, their_permit(name, 60000)};
    ck_assert_int_eq(pthread_create(&thread, NULL, give_permit, &giver), 0);
    ck_assert_int_eq(acquire_within(permit, 800), HF_OK);
    (void)pthread_join(thread, NULL);
    ck_assert_told("true", 1);

    driver_tell(java, 2, "wait permit %s %d 60000", name, TOLD_MS);
    ck_assert_waits(2);
    release(permit);
    answer = driver_answer(java, 2, 2000);
    ck_assert(answer && strcmp(answer, "null") != 0);
    hf_lock_free(permit);
}
END_TEST

/* Nobody publishes that a permit has lapsed. */
START_TEST(lapsed_permit_is_the_other_sides)
{
    const char *name = names[_i];
    struct hf_lock *permit = permit_on(name, 1);
    const char *theirs = their_permit(name, SHORT_MS), *answer;

    ck_assert_int_eq(acquire_within(permit, TOLD_MS), HF_OK);
    ck_assert_java("false", 1, "unlock permit %s %s", name, theirs);
    release(permit);
    acquire_for(permit, SHORT_MS);
    driver_tell(java, 2, "wait permit %s %d 60000", name, TOLD_MS);
    answer = driver_answer(java, 2, TOLD_MS);
    ck_assert(answer && strcmp(answer, "null") != 0);
    release_lost(permit);
    ck_assert_int_eq(permits_left(permit), 0);
    hf_lock_free(permit);
}
END_TEST

/* Renewed three times in the time in which it would have lapsed. */
START_TEST(permit_of_ours_is_renewed)
{
    struct hf_lock *permit = permit_on("renewed", 1);

    ck_assert_int_eq(acquire_within(permit, 0), HF_OK);
    ck_assert_java("null", 1, "wait permit renewed %d 1000",
                   OUR_WATCHDOG_MS + 500);
    release(permit);
    hf_lock_free(permit);
}
END_TEST

TCase *counts_case(void)
{
    TCase *tc = both_case("semaphores, latches");

    tcase_add_loop_test(tc, both_sides_take_from_one_number, 0, 2);
    tcase_add_loop_test(tc, a_ttl_lasts_beside_redisson, 0, 2);
    tcase_add_loop_test(tc, redisson_is_woken_by_our_release, 0, 2);
    tcase_add_loop_test(tc, we_are_woken_by_redissons_release, 0, 2);
    tcase_add_loop_test(tc, no_permit_is_lost_or_made, 0, 2);
    tcase_add_loop_test(tc, permits_that_we_remove_are_not_redissons, 0, 2);
    tcase_add_loop_test(tc, both_sides_count_one_number_down, 0, 2);
    tcase_add_loop_test(tc, we_are_woken_when_redisson_opens_a_latch, 0, 4);
    tcase_add_loop_test(tc, latch_that_we_delete_is_none_of_redissons, 0, 2);
    tcase_add_loop_test(tc, expirable_permits_are_shared, 0, 2);
    tcase_add_loop_test(tc, number_that_we_set_is_redissons, 0, 2);
    tcase_add_loop_test(tc, their_permit_is_ours_to_release, 0, 2);
    tcase_add_loop_test(tc, each_side_wakes_the_other_that_wants_a_permit, 0, 2);
    tcase_add_loop_test(tc, lapsed_permit_is_the_other_sides, 0, 2);
    tcase_add_test(tc, permit_of_ours_is_renewed);
    return tc;
}
