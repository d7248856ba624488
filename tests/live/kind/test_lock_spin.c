/* The spin lock: on the server a plain lock; its waiters subscribe to nothing.
 * WIRE 9.2. */
#include "tests/live/test_lock.h"
#include "tests/support/lateness.h"

/* So long that only asking again and again, or a message, is in time. */
#define LONG_WATCHDOG_MS 60000
#define IN_TIME_MS 1000

static struct server *server;
static struct hf_client *client, *other;
static struct hf_lock *lock, *plain;    /* of one name */

static struct hf_lock *spin_lock_of(struct hf_client *of)
{
    struct hf_lock *new = NULL;

    ck_assert_ok(hf_lock_new_kind(&new, of, HF_KIND_SPIN, NAME, strlen(NAME),
                                  NULL));
    return new;
}

static void start(void)
{
    server = server_start(NULL);
    ck_assert_ptr_nonnull(server);
    client = client_timed(server_port(server), LONG_WATCHDOG_MS, 5000);
    other = client_timed(server_port(server), LONG_WATCHDOG_MS, 5000);
    lock = spin_lock_of(client);
    plain = lock_of(other, NAME);
}

static void stop(void)
{
    hf_client_free(client);
    hf_client_free(other);
    server_stop(server);
}

static int count_calls(void)
{
    const char *stats = server_ask(server, "INFO commandstats");
    const char *at = strstr(stats, "cmdstat_evalsha:calls=");

    return at ? atoi(at + strlen("cmdstat_evalsha:calls=")) : 0;
}

START_TEST(it_is_a_plain_lock_that_re_enters)
{
    struct hf_lock_info info;

    acquire(lock, 1);
    acquire(lock, 1);
    ck_assert_ok(hf_lock_inspect(plain, &info, NULL));
    ck_assert_int_eq(info.kind, HF_KIND_PLAIN);
    ck_assert_int_eq(info.hold_count, 2);
    ck_assert_status(try_acquire(plain, 1, NULL), HF_TIMEOUT);
    release(lock, 1);
    release(lock, 1);
    acquire(plain, 1);
    ck_assert_status(try_acquire(lock, 1, NULL), HF_TIMEOUT);
    release(plain, 1);
}
END_TEST

/* As Redisson's spin lock is released: nothing is published. */
START_TEST(waiter_detects_a_release_without_a_message)
{
    struct hf_acquire_options o = acquire_options(2);
    struct call call;
    int64_t freed_ms;

    acquire(plain, 1);
    call_acquire(&call, lock, &o);
    local_rest_us(A_MOMENT_MS * 1000);
    ck_assert(!call_is_done(&call));
    ck_assert_str_eq(server_ask(server, "PUBSUB CHANNELS redisson*"), "");
    (void)server_ask(server, "DEL " NAME);
    freed_ms = local_now_ms();
    ck_assert_status(call_await(&call), HF_OK);
    ck_assert_within(freed_ms, IN_TIME_MS);
    release(lock, 2);
    ck_assert_status(hf_lock_release(plain, 1, NULL), HF_LOST);
}
END_TEST

/* 1, 2, 4 ... 128 ms, and then 128: some 15 questions in a second. */
START_TEST(waiter_sends_requests_less_and_less_often)
{
    struct hf_acquire_options o = acquire_options(2);
    int before;

    acquire(plain, 1);
    ck_assert_status(try_acquire(lock, 2, NULL), HF_TIMEOUT);
    before = count_calls();
    o.wait_ms = 1000;
    ck_assert_status(hf_lock_acquire(lock, &o, NULL), HF_TIMEOUT);
    ck_assert_int_ge(count_calls() - before, 5);
    ck_assert_int_le(count_calls() - before, 18);
    release(plain, 1);
}
END_TEST

START_TEST(one_of_many_local_waiters_sends_requests)
{
    struct hf_acquire_options o;
    struct call calls[10];
    int before;

    acquire(plain, 1);
    ck_assert_status(try_acquire(lock, 2, NULL), HF_TIMEOUT);
    before = count_calls();
    for (int i = 0; i < COUNT(calls); i++) {
        o = acquire_options(10 + i);
        call_acquire(&calls[i], lock, &o);
    }
    local_rest_us(1000000);
    ck_assert_int_le(count_calls() - before, 18);
    release(plain, 1);
    for (int i = 0; i < COUNT(calls); i++) {
        ck_assert_status(call_await(&calls[i]), HF_OK);
        release(lock, 10 + i);
    }
}
END_TEST

START_TEST(release_wakes_waiters_of_a_plain_lock)
{
    struct hf_acquire_options o = acquire_options(2);
    int64_t freed_ms;
    struct call call;

    acquire(lock, 1);
    call_acquire(&call, plain, &o);
    server_await(server, LONG_MS, CHANNEL " 1", "PUBSUB NUMSUB " CHANNEL);
    release(lock, 1);
    freed_ms = local_now_ms();
    ck_assert_status(call_await(&call), HF_OK);
    ck_assert_within(freed_ms, IN_TIME_MS);
    release(plain, 2);
}
END_TEST

/* In one client they stand in one line: whoever is first, and of whatever kind. */
START_TEST(both_kinds_wait_in_one_line)
{
    struct hf_lock *here = lock_of(client, NAME);
    struct hf_acquire_options o;
    struct call calls[6];

    acquire(plain, 1);
    for (int i = 0; i < COUNT(calls); i++) {
        o = acquire_options(10 + i);
        call_acquire(&calls[i], (i + _i) % 2 == 0 ? lock : here, &o);
    }
    release(plain, 1);
    for (int i = 0; i < COUNT(calls); i++) {
        ck_assert_status(call_await(&calls[i]), HF_OK);
        release((i + _i) % 2 == 0 ? lock : here, 10 + i);
    }
}
END_TEST

START_TEST(wait_can_be_cancelled)
{
    struct hf_acquire_options o = acquire_options(2);
    struct hf_cancel cancel;
    struct call call;

    acquire(plain, 1);
    hf_cancel_init(&cancel, client);
    o.cancel = &cancel;
    call_acquire(&call, lock, &o);
    hf_cancel_fire(&cancel);
    ck_assert_status(call_await(&call), HF_CANCELLED);
    release(plain, 1);
}
END_TEST

static void add_all(Suite *suite)
{
    TCase *c = live_case(suite, "spin", start, stop);

    tcase_add_test(c, it_is_a_plain_lock_that_re_enters);
    tcase_add_test(c, waiter_detects_a_release_without_a_message);
    tcase_add_test(c, waiter_sends_requests_less_and_less_often);
    tcase_add_test(c, one_of_many_local_waiters_sends_requests);
    tcase_add_test(c, release_wakes_waiters_of_a_plain_lock);
    tcase_add_loop_test(c, both_kinds_wait_in_one_line, 0, 2);
    tcase_add_test(c, wait_can_be_cancelled);
}

int main(void)
{
    return live_main("lock, spin", add_all);
}
