/* What a counter may hold: a whole number up to 2^53. Of anything else every call is
 * an error, and nothing is written. Redisson can make the permits of a semaphore
 * negative (addPermits, setPermits), but not a latch's count. (WIRE 15 to 17.) */
#include "lock/latch.h"
#include "lock/permits.h"
#include "lock/semaphore.h"
#include "lock/token.h"
#include "tests/live/test_lock.h"
#include "tests/support/one_server.h"

#define POOL "pool"
#define OUT "{" POOL "}:timeout"
#define TOKENS "redisson_lock_token:{" POOL "}"
#define MOST "9007199254740992"

static struct hf_client *client;
static struct hf_semaphore *pool;
static struct hf_latch *latch;
static struct hf_lock *permit, *fenced;

static void start(void)
{
    start_server();
    client = client_timed(server_port(server), 60000, 5000);
    ck_assert_ok(hf_semaphore_new(&pool, client, POOL, strlen(POOL), NULL));
    ck_assert_ok(hf_latch_new(&latch, client, POOL, strlen(POOL), NULL));
    ck_assert_ok(hf_lock_new_kind(&permit, client, HF_KIND_PERMIT, POOL,
                                  strlen(POOL), NULL));
    ck_assert_ok(hf_lock_new_kind(&fenced, client, HF_KIND_FENCED, POOL,
                                  strlen(POOL), NULL));
}

static void stop(void)
{
    hf_client_free(client);
    stop_server();
}

/* ---- the calls ---- */

/* Enough for a connection and a reply on a busy machine: a refusal ends a wait at once. */
#define WAIT_MS 2000

static bool was_set;
static int64_t number;

static hf_status set_permits(void)
{
    return hf_semaphore_try_set_permits(pool, 3, &was_set, NULL);
}

static hf_status take(void)
{
    return hf_semaphore_acquire(pool, 1, WAIT_MS, NULL, NULL);
}

static hf_status take_at_once(void)
{
    return hf_semaphore_acquire(pool, 1, 0, NULL, NULL);
}

static hf_status give(void)
{
    return hf_semaphore_release(pool, 1, NULL);
}

static hf_status add_existing(void)
{
    return hf_semaphore_release_if_exists(pool, 1, NULL, NULL);
}

static hf_status reduce(void)
{
    return hf_semaphore_reduce(pool, 1, NULL, NULL);
}

static hf_status drain(void)
{
    return hf_semaphore_drain(pool, &number, NULL);
}

static hf_status delete_semaphore(void)
{
    return hf_semaphore_delete(pool, NULL, NULL);
}

static hf_status available(void)
{
    return hf_semaphore_available(pool, &number, NULL);
}

static hf_status set_count(void)
{
    return hf_latch_try_set_count(latch, 3, &was_set, NULL);
}

static hf_status count_down(void)
{
    return hf_latch_count_down(latch, NULL);
}

static hf_status delete_latch(void)
{
    return hf_latch_delete(latch, NULL, NULL);
}

static hf_status await_latch(void)
{
    return hf_latch_await(latch, WAIT_MS, NULL, NULL);
}

static hf_status count(void)
{
    return hf_latch_count(latch, &number, NULL);
}

static hf_status set_expirable(void)
{
    return hf_permits_try_set(permit, 3, &was_set, NULL);
}

static hf_status resize(void)
{
    return hf_permits_set(permit, 3, NULL);
}

static hf_status expirable(void)
{
    return hf_permits_available(permit, &number, NULL);
}

static hf_status take_permit(void)
{
    return try_acquire(permit, 1, NULL);
}

static hf_status force_permits(void)
{
    return hf_lock_force_release(permit, NULL, 0, NULL);
}

static hf_status inspect_permits(void)
{
    struct hf_lock_info info;

    return hf_lock_inspect(permit, &info, NULL);
}

static hf_status latest_token(void)
{
    return hf_token_latest(fenced, &number, NULL);
}

static hf_status take_fenced(void)
{
    hf_status rc = try_acquire(fenced, 1, NULL);

    if (rc == HF_OK)
        release(fenced, 1);
    return rc;
}

enum counter { OF_SEMAPHORE, OF_PERMITS, OF_LATCH, OF_TOKENS };

static const struct {
    hf_status (*act)(void);
    enum counter of;
    const char *name;
} calls[] = {
    {set_permits, OF_SEMAPHORE, "try_set_permits"},
    {take, OF_SEMAPHORE, "acquire"},
    {take_at_once, OF_SEMAPHORE, "acquire at once"},
    {give, OF_SEMAPHORE, "release"},
    {add_existing, OF_SEMAPHORE, "release if it exists"},
    {reduce, OF_SEMAPHORE, "reduce"},
    {drain, OF_SEMAPHORE, "drain"},
    {delete_semaphore, OF_SEMAPHORE, "delete a semaphore"},
    {available, OF_SEMAPHORE, "available"},
    {set_expirable, OF_PERMITS, "permits try_set"},
    {resize, OF_PERMITS, "permits set"},
    {expirable, OF_PERMITS, "permits available"},
    {take_permit, OF_PERMITS, "permit acquire"},
    {force_permits, OF_PERMITS, "permits by force"},
    {inspect_permits, OF_PERMITS, "permits inspect"},
    {set_count, OF_LATCH, "try_set_count"},
    {count_down, OF_LATCH, "count_down"},
    {delete_latch, OF_LATCH, "delete a latch"},
    {await_latch, OF_LATCH, "await"},
    {count, OF_LATCH, "count"},
    {latest_token, OF_TOKENS, "token latest"},
    {take_fenced, OF_TOKENS, "fenced acquire"},
};

/* ---- what is no number ---- */

static const char *key_of(enum counter of)
{
    return of == OF_TOKENS ? TOKENS : POOL;
}

/* `""`: as the server reads it in a script. */
static void put(enum counter of, const char *lua)
{
    char script[300];

    (void)server_ask(server, "FLUSHALL");
    (void)snprintf(script, sizeof script,
                   "redis.call('set', '%s', %s) return 'done'", key_of(of), lua);
    ck_assert_str_eq(server_ask(server, "EVAL %s 0", script), "done");
    if (of == OF_PERMITS)
        (void)server_ask(server, "ZADD " OUT " 922337203685477 0123456789abcdef "
                                 "1000 fedcba9876543210");
}

/* All keys and what is in them. */
static const char *all_keys(void)
{
    return server_ask(
        server, "EVAL %s 0",
        "local all = {} for _, key in ipairs(redis.call('keys', '*')) do "
        "all[#all + 1] = key .. '=' .. redis.sha1hex(redis.call('dump', key)) "
        "end table.sort(all) return table.concat(all, ' ')");
}

static void refuse(size_t call, const char *lua)
{
    char before[400];
    int64_t is = INT64_C(-77);
    hf_status rc;

    put(calls[call].of, lua);
    (void)snprintf(before, sizeof before, "%s", all_keys());
    number = is;
    rc = calls[call].act();
    ck_assert_msg(rc == HF_E_SERVER, "%s of %s: %s", calls[call].name, lua,
                  hf_status_name(rc));
    ck_assert_msg(number == is, "%s of %s: a number is told", calls[call].name, lua);
    ck_assert_msg(strcmp(all_keys(), before) == 0, "%s of %s writes: %s became %s",
                  calls[call].name, lua, before, all_keys());
}

static const char *const bad[] = {
    "'abc'", "''", "' 5'", "'5 '", "'+5'", "'05'", "'-0'", "'1e3'", "'5.0'", "'0x10'",
    "'nan'", "'inf'", "'-inf'", "'1_000'", "'5\\\\0'", "'٥'", "string.rep('9', 400)",
    "'9223372036854775808'", "'-9223372036854775809'", "'99999999999999999999'",
};
static const char *const too_great[] = {
    "'9007199254740993'", "'9007199254740994'", "'10000000000000000'",
    "'9223372036854775806'", "'9223372036854775807'", "'-9007199254740993'",
    "'-9223372036854775808'",
};
static const char *const below[] = {"'-1'", "'-3'", "'-9007199254740992'"};

START_TEST(value_that_is_not_an_integer_is_refused)
{
    for (int i = 0; i < COUNT(bad); i++)
        refuse((size_t)_i, bad[i]);
    for (int i = 0; i < COUNT(too_great) && calls[_i].of != OF_TOKENS; i++)
        refuse((size_t)_i, too_great[i]);
    for (int i = 0; i < COUNT(below); i++)
        if (calls[_i].of == OF_LATCH || calls[_i].of == OF_TOKENS)
            refuse((size_t)_i, below[i]);
}
END_TEST

/* Another type; and a latch that is waited for becomes one. */
START_TEST(another_type_is_refused)
{
    static const char *const types[] = {"HSET %s a 1", "RPUSH %s 1", "ZADD %s 1 1",
                                        "SADD %s 1", "XADD %s * a 1"};
    char before[400];

    for (int i = 0; i < COUNT(types); i++) {
        hf_status rc;

        (void)server_ask(server, "FLUSHALL");
        (void)server_ask(server, types[i], key_of(calls[_i].of));
        if (calls[_i].of == OF_PERMITS)
            (void)server_ask(server, "ZADD " OUT " 922337203685477 0123456789abcdef");
        (void)snprintf(before, sizeof before, "%s", all_keys());
        rc = calls[_i].act();
        ck_assert_msg(rc == HF_E_SERVER, "%s of %s: %s", calls[_i].name, types[i],
                      hf_status_name(rc));
        ck_assert_str_eq(all_keys(), before);
    }
}
END_TEST

START_TEST(waiters_receive_an_error_if_it_is_not_a_number)
{
    struct call call;

    (void)server_ask(server, "SET " POOL " %d", _i == 0 ? 0 : 1);
    call_init(&call);
    if (_i == 0)
        ck_assert_ok(hf_semaphore_acquire_async(pool, 1, HF_FOREVER, NULL, call_done,
                                                &call));
    else
        ck_assert_ok(hf_latch_await_async(latch, HF_FOREVER, NULL, call_done, &call));
    server_await(server, AWAIT_MS, "1", "EVAL %s 0",
                 "return #redis.call('pubsub', 'channels')");
    (void)server_ask(server, "SET " POOL " abc");
    ck_assert_status(call_await(&call), HF_E_SERVER);
}
END_TEST

/* ---- the greatest numbers ---- */

#define ck_assert_key(expected) \
    ck_assert_str_eq(server_ask(server, "GET " POOL), expected)

START_TEST(no_sum_passes_the_greatest_number)
{
    (void)server_ask(server, "SET " POOL " " MOST);
    ck_assert_status(give(), HF_E_SERVER);
    ck_assert_key(MOST);
    ck_assert_ok(available());
    ck_assert_int_eq(number, INT64_C(9007199254740992));
    ck_assert_ok(take());
    ck_assert_key("9007199254740991");
    ck_assert_status(hf_semaphore_release(pool, 2, NULL), HF_E_SERVER);
    ck_assert_key("9007199254740991");
    ck_assert_ok(give());
    ck_assert_key(MOST);
    (void)server_ask(server, "SET " POOL " 9007197107257346");
    ck_assert_status(hf_semaphore_release(pool, HF_PERMITS_MAX, NULL), HF_E_SERVER);
    ck_assert_ok(hf_semaphore_release(pool, HF_PERMITS_MAX - 1, NULL));
    ck_assert_key(MOST);
}
END_TEST

START_TEST(no_reduction_passes_the_least_number)
{
    (void)server_ask(server, "SET " POOL " -9007199254740991");
    ck_assert_status(hf_semaphore_reduce(pool, 2, NULL, NULL), HF_E_SERVER);
    ck_assert_key("-9007199254740991");
    ck_assert_ok(reduce());
    ck_assert_key("-" MOST);
    ck_assert_status(reduce(), HF_E_SERVER);
    ck_assert_ok(drain());
    ck_assert_int_eq(number, 0);
    ck_assert_key("-" MOST);
    (void)server_ask(server, "SET " POOL " " MOST);
    ck_assert_ok(drain());
    ck_assert_int_eq(number, INT64_C(9007199254740992));
    ck_assert_key("0");
}
END_TEST

START_TEST(latch_counts_down_from_the_greatest_number)
{
    (void)server_ask(server, "SET " POOL " " MOST);
    ck_assert_ok(count());
    ck_assert_int_eq(number, INT64_C(9007199254740992));
    ck_assert_ok(count_down());
    ck_assert_key("9007199254740991");
    ck_assert_status(await_latch(), HF_TIMEOUT);
    (void)server_ask(server, "SET " POOL " 0");
    ck_assert_ok(await_latch());
    ck_assert_ok(count());
    ck_assert_int_eq(number, 0);
    ck_assert_ok(count_down());
    ck_assert_int_eq(server_ask_int(server, "EXISTS " POOL), 0);
}
END_TEST

START_TEST(returned_permits_do_not_exceed_the_greatest_number)
{
    (void)server_ask(server, "SET " POOL " 1");
    ck_assert_ok(take_permit());
    (void)server_ask(server, "SET " POOL " " MOST);
    ck_assert_status(hf_lock_release(permit, 1, NULL), HF_E_SERVER);
    ck_assert_key(MOST);
    ck_assert_int_eq(server_ask_int(server, "ZCARD " OUT), 1);
    (void)server_ask(server, "SET " POOL " 0");
}
END_TEST

/* Redisson: addPermits(-3), setPermits(0). */
START_TEST(permits_below_0_are_redissons)
{
    (void)server_ask(server, "SET " POOL " -3");
    ck_assert_ok(available());
    ck_assert_int_eq(number, -3);
    ck_assert_status(take(), HF_TIMEOUT);
    ck_assert_ok(set_permits());
    ck_assert(!was_set);
    ck_assert_ok(give());
    ck_assert_key("-2");
    ck_assert_ok(hf_semaphore_release(pool, 3, NULL));
    ck_assert_ok(take());
    ck_assert_key("0");
    (void)server_ask(server, "SET " POOL " -3");
    ck_assert_status(take_permit(), HF_TIMEOUT);
    ck_assert_ok(expirable());
    ck_assert_int_eq(number, -3);
    (void)server_ask(server, "SET " POOL " -9007199254740992");
    ck_assert_ok(available());
    ck_assert_int_eq(number, INT64_C(-9007199254740992));
    ck_assert_ok(give());
    ck_assert_key("-9007199254740991");
}
END_TEST

static void add(Suite *s)
{
    TCase *c = live_case(s, "numbers", start, stop);

    tcase_add_loop_test(c, value_that_is_not_an_integer_is_refused, 0, COUNT(calls));
    tcase_add_loop_test(c, another_type_is_refused, 0, COUNT(calls));
    tcase_add_loop_test(c, waiters_receive_an_error_if_it_is_not_a_number, 0, 2);
    tcase_add_test(c, no_sum_passes_the_greatest_number);
    tcase_add_test(c, no_reduction_passes_the_least_number);
    tcase_add_test(c, latch_counts_down_from_the_greatest_number);
    tcase_add_test(c, returned_permits_do_not_exceed_the_greatest_number);
    tcase_add_test(c, permits_below_0_are_redissons);
}

int main(void)
{
    return live_main("numbers that are counted", add);
}
