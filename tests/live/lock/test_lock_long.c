/* The longest names with the least output_max: every kind is acquired, renewed
 * and released, by the text of its scripts as well. */
#include "lock/latch.h"
#include "lock/permits.h"
#include "lock/semaphore.h"
#include "tests/live/test_lock.h"
#include "tests/support/one_server.h"

#define OUTPUT_LEAST (192u << 10)

static const enum hf_lock_kind kinds[] = {
    HF_KIND_PLAIN, HF_KIND_NONREENTRANT,      HF_KIND_FENCED, HF_KIND_READ,
    HF_KIND_WRITE, HF_KIND_FAIR,              HF_KIND_SPIN,   HF_KIND_VALUE,
    HF_KIND_FAIR | HF_WITH_TOKEN,             HF_KIND_NONREENTRANT_FAIR,
    HF_KIND_WRITE | HF_WITH_TOKEN,            HF_KIND_VALUE | HF_WITH_TOKEN,
};

static char name[HF_LOCK_NAME_MAX];
static struct hf_client *client;

static void open_client(void)
{
    struct hf_client_options o;
    char url[SERVER_URL_MAX];

    start_server();
    memset(name, 'n', sizeof name);
    client_options(&o, url, server_port(server));
    o.output_max = OUTPUT_LEAST;
    o.watchdog_ms = STEADY_WATCHDOG_MS;
    client = client_with(&o);
}

static void close_client(void)
{
    hf_client_free(client);
    stop_server();
}

static bool reenters(enum hf_lock_kind kind)
{
    kind &= ~(unsigned)HF_WITH_TOKEN;
    return kind != HF_KIND_NONREENTRANT && kind != HF_KIND_NONREENTRANT_FAIR &&
           kind != HF_KIND_VALUE;
}

/* Each script is sent as a text first. */
START_TEST(lock_of_the_longest_name_is_held_and_released)
{
    struct diary diary;
    struct hf_acquire_options o = diary_options(&diary, 1);
    struct hf_lock_info info;
    struct hf_lock *lock = NULL;
    int times = reenters(kinds[_i]) ? 2 : 1;

    ck_assert_ok(hf_lock_new_kind(&lock, client, kinds[_i], name, sizeof name,
                                  NULL));
    for (int i = 0; i < times; i++)
        ck_assert_ok(hf_lock_acquire(lock, &o, NULL));
    note_await(&diary.note, &diary.renewals, 1, "a renewal");
    ck_assert_ok(hf_lock_inspect(lock, &info, NULL));
    for (int i = 0; i < times; i++)
        release(lock, 1);
    ck_assert_status(hf_lock_release(lock, 1, NULL), HF_NOT_OWNER);
    ck_assert_ok(hf_lock_acquire(lock, &o, NULL));
    ck_assert_ok(hf_lock_force_release(lock, NULL, 0, NULL));
    ck_assert_status(hf_lock_release(lock, 1, NULL), HF_LOST);
    ck_assert_ok(hf_lock_acquire(lock, &o, NULL));
    release(lock, 1);
    hf_lock_free(lock);
}
END_TEST

/* One waits, and one gives up. */
START_TEST(lock_of_the_longest_name_is_waited_for)
{
    struct hf_acquire_options o = acquire_options(2);
    struct hf_lock *lock = NULL;
    struct call call;

    ck_assert_ok(hf_lock_new_kind(&lock, client, kinds[_i], name, sizeof name,
                                  NULL));
    if ((kinds[_i] & ~(unsigned)HF_WITH_TOKEN) == HF_KIND_READ)
        return; /* readers hold it together */
    acquire(lock, 1);
    o.wait_ms = 100;
    must_time_out(lock, &o);
    o.wait_ms = LONG_MS;
    call_acquire(&call, lock, &o);
    local_rest_us(A_MOMENT_MS * 1000);
    release(lock, 1);
    ck_assert_status(call_await(&call), HF_OK);
    release(lock, 2);
    hf_lock_free(lock);
}
END_TEST

START_TEST(counters_of_the_longest_name_are_changed)
{
    struct hf_semaphore *semaphore = NULL;
    struct hf_latch *latch = NULL;
    bool yes;

    ck_assert_ok(hf_semaphore_new(&semaphore, client, name, sizeof name, NULL));
    ck_assert_ok(hf_semaphore_try_set_permits(semaphore, 2, &yes, NULL));
    ck_assert_ok(hf_semaphore_acquire(semaphore, 2, 0, NULL, NULL));
    ck_assert_ok(hf_semaphore_release(semaphore, 2, NULL));
    hf_semaphore_free(semaphore);
    name[0] = 'l';
    ck_assert_ok(hf_latch_new(&latch, client, name, sizeof name, NULL));
    ck_assert_ok(hf_latch_try_set_count(latch, 1, &yes, NULL));
    ck_assert_ok(hf_latch_count_down(latch, NULL));
    ck_assert_ok(hf_latch_await(latch, LONG_MS, NULL, NULL));
    hf_latch_free(latch);
}
END_TEST

static void add_cases(Suite *s)
{
    TCase *c = live_case(s, "the longest names", open_client, close_client);

    tcase_add_loop_test(c, lock_of_the_longest_name_is_held_and_released, 0,
                        COUNT(kinds));
    tcase_add_loop_test(c, lock_of_the_longest_name_is_waited_for, 0,
                        COUNT(kinds));
    tcase_add_test(c, counters_of_the_longest_name_are_changed);
}

int main(void)
{
    return live_main("lock, long names", add_cases);
}
