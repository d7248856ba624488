/* Keys of another program, with texts of 20 MB and many elements: they cost our other
 * locks nothing, and the calls on them return in time. */
#include <inttypes.h>

#include "tests/live/test_lock.h"
#include "tests/support/one_server.h"

#define LARGE 20000000
#define LARGE_TEXT "('x'):rep(20000000)"
#define MANY "100000"
#define IN_TIME_MS 5000         /* before a third of the watchdog: WAIT-4 */

static struct hf_client *client;
static struct hf_lock *ours;    /* held all along */
static struct diary diary;

static void make(const char *lua)
{
    ck_assert_str_eq(server_ask(server, "EVAL %s 0", lua), "1");
}

static void start_timed(int64_t watchdog_ms)
{
    struct hf_acquire_options o = diary_options(&diary, 1);

    start_server();
    client = client_timed(server_port(server), watchdog_ms, 5000);
    ours = lock_of(client, "ours");
    ck_assert_ok(hf_lock_acquire(ours, &o, NULL));
}

/* A hash's field of 20 MB is copied by the server in each call: a busy machine needs
 * seconds for some of them. */
static void start(void)
{
    start_timed(30000);
}

/* Renewed each 3 s. With a shorter TTL a busy machine loses the hold by itself: one call
 * on the large value may take a second there. */
static void start_steady(void)
{
    start_timed(9000);
}

static void stop(void)
{
    hf_client_free(client);
    stop_server();
}

static void ck_assert_unharmed(void)
{
    ck_assert_int_eq(note_read(&diary.note, &diary.losses), 0);
    ck_assert_uint_eq(stats_of(client).link.losses, 0);
    ck_assert_int_gt(hf_lock_safe_ms(ours, 1), 0);
}

/* ---- what stands in the reply ---- */

#define OWNER "6e3814a1-e847-452b-a982-45baf93a1df2:1"
#define QUEUE "redisson_lock_queue:{" NAME "}"

static const struct {
    enum hf_lock_kind kind;
    const char *lua;            /* makes the key */
    size_t full_len;            /* of the holder that is reported; 0: not looked at */
    hf_status inspected;
} keys[] = {
    {HF_KIND_VALUE, "redis.call('set', '" NAME "', " LARGE_TEXT ") return 1", LARGE, HF_OK},
    {HF_KIND_VALUE, "redis.call('set', '" NAME "', ('x'):rep(192)) return 1", 192, HF_OK},
    {HF_KIND_VALUE, "redis.call('set', '" NAME "', ('x'):rep(191)) return 1", 191, HF_OK},
    {HF_KIND_PLAIN, "redis.call('hset', '" NAME "', " LARGE_TEXT ", 1) return 1", LARGE,
     HF_E_SERVER},
    {HF_KIND_PLAIN, "redis.call('hset', '" NAME "', '" OWNER "', " LARGE_TEXT ") return 1",
     38, HF_E_SERVER},
    {HF_KIND_PLAIN, "redis.call('hset', '" NAME "', '" OWNER "' .. ('7'):rep(200), 1) "
                    "return 1", 238, HF_E_SERVER},
    {HF_KIND_READ, "redis.call('hset', '" NAME "', 'mode', " LARGE_TEXT ", '" OWNER
                   "', 1) return 1", 38, HF_OK},
    {HF_KIND_WRITE, "redis.call('hset', '" NAME "', 'mode', 'read', " LARGE_TEXT
                    ", 1) return 1", LARGE, HF_E_SERVER},
    {HF_KIND_FAIR, "redis.call('rpush', '" QUEUE "', " LARGE_TEXT ") "
                   "redis.call('zadd', 'redisson_lock_timeout:{" NAME "}', 9e13, "
                   LARGE_TEXT ") return 1", 0, HF_OK},
    {HF_KIND_SPIN, "redis.call('hset', '" NAME "', 'f', " LARGE_TEXT ") return 1", 1,
     HF_E_SERVER},
};

/* A text that is cut is no owner, and its true length is told. */
START_TEST(large_text_of_another_program_is_cut)
{
    struct hf_lock *lock = lock_of_kind(client, keys[_i].kind, NAME);
    struct hf_acquire_options o = acquire_options(7);
    struct hf_lock_info info = {0};

    make(keys[_i].lua);
    ck_assert_status(hf_lock_inspect(lock, &info, NULL), keys[_i].inspected);
    if (keys[_i].full_len > 0)
        ck_assert_uint_eq(info.holder_full_len, keys[_i].full_len);
    ck_assert_uint_le(info.holder_len, 191);
    o.wait_ms = 300;
    ck_assert_int_lt(hf_lock_acquire(lock, &o, NULL), 0);
    (void)hf_lock_release(lock, 7, NULL);
    (void)hf_lock_force_release(lock, NULL, 0, NULL);
    ck_assert_unharmed();
    ck_assert_uint_lt(stats_of(client).link.bytes_in, 100000);
    hf_lock_free(lock);
}
END_TEST

/* Until the lock was renewed as often as its watchdog timeout holds. */
START_TEST(looking_at_a_large_value_costs_no_other_lock)
{
    struct hf_lock *value = lock_of_kind(client, HF_KIND_VALUE, NAME);
    int64_t end_ms = local_now_ms() + 60000;
    struct hf_lock_info info;

    make("redis.call('set', '" NAME "', " LARGE_TEXT ") return 1");
    while (note_read(&diary.note, &diary.renewals) < 3) {
        ck_assert_int_lt(local_now_ms(), end_ms);
        ck_assert_status(try_acquire(value, 2, NULL), HF_TIMEOUT);
        ck_assert_ok(hf_lock_inspect(value, &info, NULL));
    }
    ck_assert_unharmed();
    hf_lock_free(value);
}
END_TEST

/* ---- messages ---- */

/* The lock is freed without a message. What another program sends on the channel is
 * skipped, and may have been one: each waiter looks. */
START_TEST(large_message_wakes_waiters_and_costs_no_lock)
{
    struct hf_client *waiting = client_timed(server_port(server), 60000, 5000);
    struct hf_lock *lock = lock_of(waiting, NAME);
    struct hf_acquire_options o = acquire_options(1);
    struct call call;
    int64_t freed_ms;

    make("return redis.call('hset', '" NAME "', '" OWNER "', 1)");
    make("return redis.call('pexpire', '" NAME "', 900000)");
    call_acquire(&call, lock, &o);
    server_await(server, AWAIT_MS, "1", "EVAL %s 0",
                 "return #redis.call('pubsub', 'channels', '" CHANNEL "')");
    local_rest_us(200000);
    ck_assert_str_eq(server_ask(server, "DEL " NAME), "1");
    freed_ms = local_now_ms();
    make("return redis.call('publish', '" CHANNEL "', " LARGE_TEXT ")");
    ck_assert_ok(call_await(&call));
    ck_assert_int_lt(local_now_ms() - freed_ms, IN_TIME_MS);
    ck_assert_uint_eq(stats_of(waiting).link.losses, 0);
    hf_client_free(waiting);
}
END_TEST

/* ---- many elements ---- */

#define READERS "redis.call('hset', '" NAME "', 'mode', 'read') " \
    "for i = 1, " MANY " do redis.call('hset', '" NAME "', " \
    "('%08x-e847-452b-a982-45baf93a1df2:1'):format(i), 1000) end " \
    "redis.call('pexpire', '" NAME "', 600000) return 1"

static int64_t slowest_us(void)
{
    const char *stats = server_ask(server, "INFO commandstats");
    const char *at = strstr(stats, "cmdstat_evalsha:calls=");
    long long calls = 0, us = 0;

    if (at)
        (void)sscanf(at, "cmdstat_evalsha:calls=%lld,usec=%lld", &calls, &us);
    return us;
}

/* All of these calls together are shorter than the one was. */
START_TEST(lock_with_many_readers_of_others_does_not_block_the_server)
{
    struct hf_lock *read = lock_of_kind(client, HF_KIND_READ, NAME);

    acquire(read, 1);
    make(READERS);
    ck_assert_str_eq(server_ask(server, "CONFIG RESETSTAT"), "OK");
    for (int i = 0; i < 5; i++) {
        acquire(read, 1);
        release(read, 1);
    }
    release(read, 1);
    ck_assert_int_lt(slowest_us(), 500000);
    ck_assert_unharmed();
    hf_lock_free(read);
}
END_TEST

/* Dead readers are removed by and by, and the last call frees the lock. */
START_TEST(dead_readers_are_removed_a_few_hundred_at_a_time)
{
    struct hf_lock *read = lock_of_kind(client, HF_KIND_READ, NAME);
    int calls = 0;

    make("redis.call('hset', '" NAME "', 'mode', 'read') for i = 1, 2000 do "
         "redis.call('hset', '" NAME "', "
         "('%08x-e847-452b-a982-45baf93a1df2:1'):format(i), 1) end "
         "redis.call('pexpire', '" NAME "', 600000) return 1");
    do {
        acquire(read, 1);
        release(read, 1);
        ck_assert_int_lt(++calls, 20);
    } while (strcmp(server_ask(server, "EXISTS " NAME), "1") == 0);
    ck_assert_int_gt(calls, 3);
    hf_lock_free(read);
}
END_TEST

/* One that lives is never removed, and keeps the lock. */
START_TEST(living_readers_among_the_dead_keep_the_lock)
{
    struct hf_lock *read = lock_of_kind(client, HF_KIND_READ, NAME);
    struct hf_lock *write = lock_of_kind(client, HF_KIND_WRITE, NAME);
    int count = 500;

    for (int i = 0; i < count; i++)
        acquire(read, 100 + i);
    make("for i = 1, 3000 do redis.call('hset', '" NAME "', "
         "('%08x-e847-452b-a982-45baf93a1df2:1'):format(i), 1) end return 1");
    while (count > 0) {
        ck_assert_status(try_acquire(write, 1, NULL), HF_TIMEOUT);
        for (int n = 0; n < 50; n++)
            release(read, 100 + --count);
    }
    for (int i = 0; i < 20; i++) {
        acquire(read, 1);
        release(read, 1);
    }
    ck_assert_str_eq(server_ask(server, "EXISTS " NAME), "0");
    ck_assert_ok(try_acquire(write, 1, NULL));
    release(write, 1);
    hf_lock_free(read);
    hf_lock_free(write);
}
END_TEST

START_TEST(plain_lock_with_many_fields_of_others_is_released_in_time)
{
    struct hf_lock *lock = lock_of(client, NAME);

    acquire(lock, 1);
    make("for i = 1, " MANY " do redis.call('hset', '" NAME "', i, i) end return 1");
    ck_assert_str_eq(server_ask(server, "CONFIG RESETSTAT"), "OK");
    release(lock, 1);
    ck_assert_int_lt(slowest_us(), 20000);
    ck_assert_str_eq(server_ask(server, "EXISTS " NAME), "0");
    hf_lock_free(lock);
}
END_TEST

/* As a field of a multi-lock begins, and long: to compare it must not take the square of
 * its length. */
START_TEST(long_field_like_that_of_a_multi_lock_does_not_block_the_server)
{
    static const char *const fields[] = {
        "'a:" OWNER "' .. ('1'):rep(100000)",
        "'a:" OWNER "' .. (':l'):rep(100000)",
        "'a:" OWNER "' .. (':lo'):rep(100000) .. '1'",
        "('a'):rep(100000) .. ':" OWNER "' .. ('1'):rep(100000)",
    };
    struct hf_lock *lock = lock_of(client, NAME);
    char lua[300];

    for (int i = 0; i < COUNT(fields); i++) {
        (void)server_ask(server, "DEL " NAME);
        (void)snprintf(lua, sizeof lua, "redis.call('hset', '" NAME "', %s, 1) return 1",
                       fields[i]);
        make(lua);
        ck_assert_status(hf_lock_force_release(lock, NULL, 0, NULL), HF_E_SERVER);
        ck_assert_status(hf_lock_force_release(lock, OWNER, strlen(OWNER), NULL),
                         HF_E_SERVER);
        ck_assert_str_eq(server_ask(server, "EXISTS " NAME), "1");
    }
    ck_assert_unharmed();
    hf_lock_free(lock);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("lock, keys of others");
    TCase *c = tcase_create("foreign"), *steady = tcase_create("steady");

    tcase_set_timeout(steady, 120);
    tcase_add_checked_fixture(steady, start_steady, stop);
    tcase_add_test(steady, looking_at_a_large_value_costs_no_other_lock);
    suite_add_tcase(s, steady);

    tcase_set_timeout(c, 120);
    tcase_add_checked_fixture(c, start, stop);
    tcase_add_loop_test(c, large_text_of_another_program_is_cut, 0, ROWS(keys));
    tcase_add_test(c, large_message_wakes_waiters_and_costs_no_lock);
    tcase_add_test(c, lock_with_many_readers_of_others_does_not_block_the_server);
    tcase_add_test(c, dead_readers_are_removed_a_few_hundred_at_a_time);
    tcase_add_test(c, living_readers_among_the_dead_keep_the_lock);
    tcase_add_test(c, plain_lock_with_many_fields_of_others_is_released_in_time);
    tcase_add_test(c, long_field_like_that_of_a_multi_lock_does_not_block_the_server);
    suite_add_tcase(s, c);
    return suite_run(s);
}
