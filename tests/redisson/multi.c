/* Multi-locks beside Redisson's MultiLock: the same members exclude each other,
 * whoever takes them. */
#include "tests/redisson/both.h"

#define THEIRS "multi:b+multi:a"

static struct hf_lock *members[2];
static struct hf_multi *multi;

static void start_multi(void)
{
    members[0] = lock_on(HF_KIND_PLAIN, "multi:a");
    members[1] = lock_on(HF_KIND_PLAIN, "multi:b");
    ck_assert_int_eq(hf_multi_new(&multi, members, 2, NULL), HF_OK);
}

static void stop_multi(void)
{
    hf_multi_free(multi);
    hf_lock_free(members[0]);
    hf_lock_free(members[1]);
}

static hf_status multi_within(int64_t wait_ms)
{
    struct hf_acquire_options o;

    hf_acquire_options_init(&o);
    o.wait_ms = wait_ms;
    return hf_multi_acquire(multi, &o, NULL);
}

static void release_multi(void)
{
    ck_assert_int_eq(hf_multi_release(multi, hf_owner_thread(), NULL), HF_OK);
}

START_TEST(their_multi_lock_excludes_ours)
{
    ck_assert_java("ok", 1, "acquire multi " THEIRS);
    ck_assert_int_eq(multi_within(0), HF_TIMEOUT);
    driver_tell(java, 1, "unlock multi " THEIRS);
    ck_assert_int_eq(multi_within(TOLD_MS), HF_OK);
    ck_assert_told("ok", 1);
    release_multi();
}
END_TEST

START_TEST(our_multi_lock_excludes_theirs)
{
    ck_assert_int_eq(multi_within(0), HF_OK);
    ck_assert_java("false", 1, "try multi " THEIRS);
    ck_assert_java("false", 1, "try lock multi:a");
    ck_assert_java("false", 1, "try lock multi:b");
    driver_tell(java, 1, "acquire multi " THEIRS);
    ck_assert_waits(1);
    release_multi();
    ck_assert_told("ok", 1);
    ck_assert_java("1", 1, "count lock multi:a");
    ck_assert_java("1", 1, "count lock multi:b");
    ck_assert_java("ok", 1, "unlock multi " THEIRS);
}
END_TEST

/* Read, add, write, without any atomicity but the locks'. */
#define ADDS 100

START_TEST(both_sides_add_up)
{
    server_ask(server, "SET sum 0");
    driver_tell(java, 1, "add multi " THEIRS " sum %d", ADDS);
    for (int i = 0; i < ADDS; i++) {
        long long sum;

        ck_assert_int_eq(multi_within(DRIVER_MS), HF_OK);
        sum = atoll(server_ask(server, "GET sum"));
        server_ask(server, "SET sum %lld", sum + 1);
        release_multi();
    }
    ck_assert_str_eq(driver_answer(java, 1, DRIVER_MS), "ok");
    ck_assert_int_eq(atoi(server_ask(server, "GET sum")), 2 * ADDS);
}
END_TEST

TCase *multi_case(void)
{
    TCase *tc = both_case("multi");

    tcase_add_checked_fixture(tc, start_multi, stop_multi);
    tcase_add_test(tc, their_multi_lock_excludes_ours);
    tcase_add_test(tc, our_multi_lock_excludes_theirs);
    tcase_add_test(tc, both_sides_add_up);
    return tc;
}
