/* Expirable permits: a hold that several owners may have. WIRE 16. */
#include "lock/by_owner.h"
#include "lock/permits.h"

#include <stdatomic.h>

#include "tests/live/test_acl.h"
#include "tests/support/lateness.h"
#include "tests/support/one_server.h"
#include "tests/support/proxy.h"

#define POOL "pool"
#define OUT_OF_POOL "{pool}:timeout"
#define CHANNEL_OF_POOL "redisson_sc:{pool}"
#define TOLD_MS 2000
#define SHORT_LEASE_MS 400

static struct hf_client *client, *other;
static struct hf_lock *permit, *permit_of_other;

static struct hf_lock *permit_of(struct hf_client *of)
{
    struct hf_lock *new = NULL;

    ck_assert_ok(hf_lock_new_kind(&new, of, HF_KIND_PERMIT, POOL, strlen(POOL),
                                  NULL));
    return new;
}

static void start_with(int64_t watchdog_ms)
{
    start_server();
    client = client_timed(server_port(server), watchdog_ms, 5000);
    other = client_timed(server_port(server), watchdog_ms, 5000);
    permit = permit_of(client);
    permit_of_other = permit_of(other);
}

static void start(void)
{
    start_with(STEADY_WATCHDOG_MS);
}

/* A waiter that hears nothing asks after a third of this. */
static void start_to_wait(void)
{
    start_with(60000);
}

static void stop(void)
{
    hf_client_free(client);
    hf_client_free(other);
    stop_server();
}

static void set_permits(int64_t permits)
{
    bool was_set = false;

    ck_assert_ok(hf_permits_try_set(permit, permits, &was_set, NULL));
    ck_assert(was_set);
}

static int64_t available(struct hf_lock *of)
{
    int64_t out = -1;

    ck_assert_ok(hf_permits_available(of, &out, NULL));
    return out;
}

#define ck_assert_stands(free, out)                                           \
    do {                                                                      \
        ck_assert_str_eq(server_ask(server, "GET " POOL), #free);             \
        ck_assert_int_eq(server_ask_int(server, "ZCARD " OUT_OF_POOL), out);  \
    } while (0)

/* ---- one call ---- */

START_TEST(permits_are_set_acquired_and_released)
{
    bool was_set = true;

    ck_assert_int_eq(available(permit), 0);
    ck_assert_status(try_acquire(permit, 1, NULL), HF_TIMEOUT);
    set_permits(2);
    ck_assert_ok(hf_permits_try_set(permit_of_other, 9, &was_set, NULL));
    ck_assert(!was_set);
    acquire(permit, 1);
    acquire(permit_of_other, 1);
    ck_assert_stands(0, 2);
    ck_assert_int_eq(available(permit), 0);
    ck_assert_status(try_acquire(permit, 2, NULL), HF_TIMEOUT);
    release(permit_of_other, 1);
    acquire(permit, 2);
    release(permit, 1);
    release(permit, 2);
    ck_assert_stands(2, 0);
    ck_assert_status(hf_lock_release(permit, 1, NULL), HF_NOT_OWNER);
}
END_TEST

static void resize(struct hf_lock *of, int64_t permits)
{
    ck_assert_ok(hf_permits_set(of, permits, NULL));
}

START_TEST(number_includes_the_permits_in_use)
{
    resize(permit, 3); /* it is created */
    ck_assert_stands(3, 0);
    acquire(permit, 1);
    acquire(permit, 2);
    resize(permit_of_other, 5);
    ck_assert_stands(3, 2);
    resize(permit_of_other, 1);
    ck_assert_stands(-1, 2);
    ck_assert_status(try_acquire(permit, 3, NULL), HF_TIMEOUT);
    release(permit, 1);
    ck_assert_stands(0, 1);
    release(permit, 2);
    ck_assert_stands(1, 0);
    ck_assert_status(hf_permits_set(permit, -1, NULL), HF_E_INVAL);
    ck_assert_status(hf_permits_set(permit, INT64_C(1) << 31, NULL), HF_E_INVAL);
    ck_assert_stands(1, 0);
    resize(permit, 0);
    ck_assert_stands(0, 0);
}
END_TEST

/* The key of the count was deleted, and its holders release into the new one. */
START_TEST(number_repairs_a_count_that_was_deleted)
{
    set_permits(2);
    acquire(permit, 1);
    (void)server_ask(server, "DEL " POOL);
    resize(permit_of_other, 2);
    ck_assert_stands(1, 1);
    release(permit, 1);
    ck_assert_stands(2, 0);
}
END_TEST

START_TEST(ttl_survives_a_new_number)
{
    set_permits(2);
    (void)server_ask(server, "PEXPIRE " POOL " 60000");
    resize(permit, 5);
    ck_assert_int_gt(server_ask_int(server, "PTTL " POOL), 0);
}
END_TEST

/* When the only permit ends, after now: both by the server's clock. */
static long long ends_in_ms(void)
{
    return server_ask_int(
        server, "EVAL %s 1 " OUT_OF_POOL,
        "local now = redis.call('time') "
        "return redis.call('zrange',KEYS[1],0,0,'withscores')[2]"
        " - now[1] * 1000 - math.floor(now[2] / 1000)");
}

/* PERMIT-2: As Redisson's: 16 bytes. PERMIT-3: The server's clock says when it ends. */
START_TEST(id_has_16_bytes)
{

    set_permits(1);
    acquire_for(permit, 1, 60000);
    ck_assert_int_eq(
        server_ask_int(server, "EVAL %s 1 " OUT_OF_POOL,
                       "return #redis.call('zrange',KEYS[1],0,0)[1]"),
        16);
    ck_assert_int_gt(ends_in_ms(), 50000);
    ck_assert_int_le(ends_in_ms(), 60000);
    release(permit, 1);
}
END_TEST

#define ID "00ff7b3a5c00112233445566778899e1"

/* Redisson's, of 16 bytes that the id spells. */
static void take_by_redisson(long long ends_ms)
{
    (void)server_ask(server, "EVAL %s 0",
                     "local id = ('" ID "'):gsub('%x%x', function(b) "
                     "return string.char(tonumber(b, 16)) end) "
                     "redis.call('zadd', '" OUT_OF_POOL "', 9000000000000, id)");
    (void)server_ask(server, "DECR " POOL);
    if (ends_ms > 0)
        ck_assert_ok(hf_renew_by_owner(permit, ID, strlen(ID), ends_ms, NULL, NULL));
}

START_TEST(permit_of_redisson_is_released_by_its_id)
{
    static const char other_id[] = "00ff7b3a5c00112233445566778899e2";

    set_permits(2);
    take_by_redisson(0);
    acquire(permit, 1);
    ck_assert_stands(0, 2);
    ck_assert_status(hf_release_by_owner(permit, other_id, strlen(other_id), NULL),
                     HF_NOT_OWNER);
    ck_assert_stands(0, 2);
    ck_assert_ok(hf_release_by_owner(permit, ID, strlen(ID), NULL));
    ck_assert_stands(1, 1);
    ck_assert_status(hf_release_by_owner(permit, ID, strlen(ID), NULL), HF_NOT_OWNER);
    ck_assert_int_gt(hf_lock_safe_ms(permit, 1), 0);
    release(permit, 1);
    ck_assert_stands(2, 0);
}
END_TEST

START_TEST(permit_of_redisson_is_renewed_by_its_id)
{
    int64_t safe_ms = 0;

    set_permits(1);
    take_by_redisson(1000);
    ck_assert_int_gt(ends_in_ms(), 1000000); /* a renewal never shortens it */
    (void)server_ask(server, "EVAL %s 1 " OUT_OF_POOL,
                     "redis.call('zadd', KEYS[1], 1, redis.call('zrange', KEYS[1], 0, 0)[1])");
    ck_assert_ok(hf_renew_by_owner(permit_of_other, ID, strlen(ID), 60000, &safe_ms, NULL));
    ck_assert_int_gt(safe_ms, 0);
    ck_assert_int_gt(ends_in_ms(), 30000);
    ck_assert_int_le(ends_in_ms(), 60000);
}
END_TEST

/* 31 and 33 digits, a digit that is none, and capital letters. */
static const char *const no_ids[] = {
    "00ff7b3a5c00112233445566778899e", "00ff7b3a5c00112233445566778899e10",
    "00ff7b3a5c0011223344556677889xe1", "00FF7B3A5C00112233445566778899E1"};

START_TEST(text_that_is_not_an_id_is_refused)
{
    struct hf_error err;

    ck_assert_status(hf_release_by_owner(permit, no_ids[_i], strlen(no_ids[_i]), &err),
                     HF_E_INVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "a permit's id has 32 hexadecimal digits"));
}
END_TEST

START_TEST(owner_has_one_permit_at_a_time)
{
    struct hf_acquire_options o = acquire_options(1);
    struct hf_error err;

    set_permits(5);
    acquire(permit, 1);
    ck_assert_status(hf_lock_acquire(permit, &o, &err), HF_E_INVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "this owner already holds"));
    ck_assert_stands(4, 1);
    release(permit, 1);
}
END_TEST

#define MANY 300

/* So many that holds are found by a hash of their owners. */
START_TEST(each_of_many_permits_of_a_client_has_its_hold)
{
    set_permits(MANY);
    for (int i = 1; i <= MANY; i++)
        acquire(permit, i);
    for (int i = 2; i <= MANY; i += 2)
        release(permit, i);
    for (int i = 1; i <= MANY; i++) {
        ck_assert_int_eq(hf_lock_safe_ms(permit, i) > 0, i % 2);
        if (i % 2 == 0)
            ck_assert_status(hf_lock_release(permit, i, NULL), HF_NOT_OWNER);
    }
    for (int i = 2; i <= MANY; i += 2)
        acquire(permit, i);
    for (int i = MANY; i >= 1; i--)
        release(permit, i);
    ck_assert_uint_eq(stats_of(client).holds, 0);
    acquire(permit, 7);
    release(permit, 7);
    ck_assert_int_eq(available(permit), MANY);
}
END_TEST

START_TEST(inspect_counts_and_force_releases_all)
{
    char text[HF_OWNER_TEXT_MAX];
    struct hf_lock_info info;
    int64_t count = -1;
    bool is_held;

    set_permits(3);
    ck_assert_ok(hf_lock_inspect(permit, &info, NULL));
    ck_assert(!info.is_locked);
    acquire(permit, 1);
    acquire_for(permit_of_other, 1, 60000);
    ck_assert_ok(hf_lock_inspect(permit, &info, NULL));
    ck_assert(info.is_locked);
    ck_assert_int_eq(info.kind, HF_KIND_PERMIT);
    ck_assert_int_eq(info.holders, 2);
    ck_assert_int_gt(info.ttl_ms, 50000);
    ck_assert_ok(hf_lock_hold_count(permit, 1, &count, NULL));
    ck_assert_int_eq(count, 1);
    ck_assert_ok(hf_lock_is_held_by(permit, 2, &is_held, NULL));
    ck_assert(!is_held);
    (void)hf_lock_owner_text(permit, 1, text);
    ck_assert_ok(hf_lock_force_release(permit, text, strlen(text), NULL));
    ck_assert_stands(2, 1);
    ck_assert_status(hf_lock_release(permit, 1, NULL), HF_LOST);
    acquire(permit, 1);
    ck_assert_ok(hf_lock_force_release(permit, NULL, 0, NULL));
    ck_assert_stands(3, 0);
    ck_assert_status(hf_lock_force_release(permit, NULL, 0, NULL), HF_NOT_OWNER);
    ck_assert_status(hf_lock_release(permit, 1, NULL), HF_LOST);
    ck_assert_status(hf_lock_release(permit_of_other, 1, NULL), HF_LOST);
    ck_assert_stands(3, 0);
}
END_TEST

START_TEST(other_kinds_and_numbers_are_refused)
{
    struct hf_lock *lock = lock_of(client, NAME);
    struct hf_error err;
    bool was_set;
    int64_t out;

    ck_assert_status(hf_permits_try_set(lock, 1, &was_set, &err), HF_E_INVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "plain lock"));
    ck_assert_status(hf_permits_available(lock, &out, &err), HF_E_INVAL);
    ck_assert_status(hf_permits_try_set(permit, -1, &was_set, &err),
                     HF_E_INVAL);
}
END_TEST

/* ---- waiting ---- */

static void await_listeners(int count)
{
    await_subscribers(server, CHANNEL_OF_POOL, count);
}

START_TEST(release_elsewhere_wakes_a_waiter)
{
    struct hf_acquire_options o = acquire_options(2);
    struct call call;
    int64_t from_ms;

    set_permits(1);
    acquire_for(permit_of_other, 1, 60000);
    call_acquire(&call, permit, &o);
    await_listeners(1);
    from_ms = local_now_ms();
    release(permit_of_other, 1);
    ck_assert_status(call_await(&call), HF_OK);
    ck_assert_within(from_ms, TOLD_MS);
    release(permit, 2);
    ck_assert_stands(1, 0);
}
END_TEST

START_TEST(greater_number_wakes_a_waiter)
{
    struct hf_acquire_options o = acquire_options(2);
    struct call call, set;

    set_permits(1);
    acquire(permit_of_other, 1);
    call_init(&call);
    ck_assert_ok(hf_lock_acquire_async(permit, &o, call_done, &call));
    await_subscribers(server, CHANNEL_OF_POOL, 1);
    call_init(&set);
    ck_assert_ok(hf_permits_set_async(permit_of_other, 2, call_done, &set));
    ck_assert_status(call_await(&set), HF_OK);
    ck_assert_status(call_await(&call), HF_OK);
    ck_assert_stands(0, 2);
}
END_TEST

START_TEST(permits_that_are_set_wake_waiters)
{
    struct hf_acquire_options o = acquire_options(2);
    struct call calls[2];
    int64_t from_ms;

    call_acquire(&calls[0], permit, &o);
    o.owner = 3;
    call_acquire(&calls[1], permit, &o);
    await_listeners(1);
    from_ms = local_now_ms();
    set_permits(20);
    ck_assert_status(call_await(&calls[0]), HF_OK);
    ck_assert_status(call_await(&calls[1]), HF_OK);
    ck_assert_within(from_ms, TOLD_MS);
    release(permit, 2);
    release(permit, 3);
}
END_TEST

/* PERMIT-1: Its holder died: nobody publishes, and nobody counts it back but who wants
 * it. */
START_TEST(expired_permit_is_acquired_by_a_waiter)
{
    struct hf_acquire_options o = acquire_options(2);
    int64_t from_ms;

    set_permits(1);
    ck_assert_str_eq(server_ask(server, "DECR " POOL), "0");
    from_ms = local_now_ms();
    (void)server_ask(server, "EVAL %s 1 " OUT_OF_POOL,
                     "local t=redis.call('time') return redis.call('zadd',"
                     "KEYS[1],t[1]*1000+700,'0123456789abcdef')");
    ck_assert_ok(hf_lock_acquire(permit, &o, NULL));
    ck_assert_within(from_ms, TOLD_MS);
    ck_assert_stands(0, 1);
    release(permit, 2);
    ck_assert_stands(1, 0);
}
END_TEST

START_TEST(expired_permit_counts_as_available)
{
    struct hf_lock_info info;

    set_permits(1);
    ck_assert_str_eq(server_ask(server, "DECR " POOL), "0");
    (void)server_ask(server, "ZADD " OUT_OF_POOL " 1000 0123456789abcdef");
    ck_assert_int_eq(available(permit), 1);
    ck_assert_ok(hf_lock_inspect(permit, &info, NULL));
    ck_assert(!info.is_locked);
    ck_assert_stands(0, 1); /* nobody wanted it */
}
END_TEST

START_TEST(permit_without_a_lease_never_lapses)
{
    struct hf_lock_info info;

    set_permits(1);
    (void)server_ask(server, "DECR " POOL);
    (void)server_ask(server, "ZADD " OUT_OF_POOL
                             " 922337203685477 0123456789abcdef");
    ck_assert_status(try_acquire(permit, 1, NULL), HF_TIMEOUT);
    ck_assert_int_eq(available(permit), 0);
    ck_assert_ok(hf_lock_inspect(permit, &info, NULL));
    ck_assert_int_eq(info.ttl_ms, -1);
    ck_assert_int_eq(info.holders, 1);
    ck_assert_stands(0, 1);
}
END_TEST

/* They are made available a thousand at a time. */
START_TEST(many_that_have_lapsed_become_available)
{
    (void)server_ask(server, "SET " POOL " -2500");
    (void)server_ask(server, "EVAL %s 1 " OUT_OF_POOL,
                     "for i = 1, 2501 do redis.call('zadd', KEYS[1], 1000, "
                     "string.format('%016d', i)) end");
    acquire(permit, 1);
    ck_assert_int_eq(available(permit), 0);
    release(permit, 1);
}
END_TEST

/* ---- leases ---- */

/* PERMIT-3, PERMIT-4: The script of renewals takes the sorted set alone. */
START_TEST(permit_is_renewed_and_safe)
{
    struct hf_lock *lock = lock_of(client, NAME);
    struct hf_acquire_options o;
    struct diary diary;

    set_permits(2);
    o = diary_options(&diary, 1);
    ck_assert_ok(hf_lock_acquire(permit, &o, NULL));
    acquire(permit, 2);
    acquire(lock, 1);
    note_await(&diary.note, &diary.renewals, 4, "renewals");
    ck_assert_int_le(ends_in_ms(), STEADY_WATCHDOG_MS);
    ck_assert_int_gt(hf_lock_safe_ms(permit, 1), 0);
    ck_assert_int_gt(hf_lock_safe_ms(permit, 2), 0);
    ck_assert_int_gt(hf_lock_safe_ms(lock, 1), 0);
    ck_assert_int_eq(note_read(&diary.note, &diary.losses), 0);
    ck_assert_status(try_acquire(permit_of_other, 3, NULL), HF_TIMEOUT);
    ck_assert_stands(0, 2);
    release(permit, 1);
    release(permit, 2);
    release(lock, 1);
    ck_assert_stands(2, 0);
}
END_TEST

/* PERMIT-3: Redisson has made it available, because its clock is fast. */
START_TEST(loss_is_reported_at_the_next_renewal)
{
    struct hf_acquire_options o;
    struct diary diary;

    set_permits(1);
    o = diary_options(&diary, 1);
    ck_assert_ok(hf_lock_acquire(permit, &o, NULL));
    (void)server_ask(server, "DEL " OUT_OF_POOL);
    (void)server_ask(server, "INCR " POOL);
    ck_assert_int_eq(diary_await_loss(&diary), HF_REASON_DELETED);
    ck_assert_status(try_acquire(permit, 1, NULL), HF_LOST);
    ck_assert_status(hf_lock_release(permit, 1, NULL), HF_LOST);
    ck_assert_stands(1, 0);
}
END_TEST

START_TEST(lease_that_ends_is_a_loss)
{
    struct hf_acquire_options o;
    struct diary diary;

    set_permits(1);
    o = diary_options(&diary, 1);
    o.lease_ms = SHORT_LEASE_MS;
    ck_assert_ok(hf_lock_acquire(permit, &o, NULL));
    acquire(permit_of_other, 1); /* takes what has lapsed */
    note_await(&diary.note, &diary.losses, 1, "the loss");
    ck_assert_status(hf_lock_release(permit, 1, NULL), HF_LOST);
    ck_assert_stands(0, 1);
    release(permit_of_other, 1);
    ck_assert_stands(1, 0);
}
END_TEST

/* ---- many, and a bad network ---- */

#define THREADS 8
#define TURNS 100
#define PERMITS 3

static atomic_int inside, most_inside;

static void *take_turns(void *arg)
{
    struct hf_lock *of = arg;

    for (int i = 0; i < TURNS; i++) {
        int now;

        acquire(of, hf_owner_thread());
        now = atomic_fetch_add(&inside, 1) + 1;
        if (now > atomic_load(&most_inside))
            atomic_store(&most_inside, now);
        atomic_fetch_sub(&inside, 1);
        release(of, hf_owner_thread());
    }
    return NULL;
}

START_TEST(no_more_are_inside_than_there_are_permits)
{
    pthread_t threads[THREADS];

    set_permits(PERMITS);
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, take_turns,
                                        i % 2 ? permit : permit_of_other),
                         0);
    for (int i = 0; i < THREADS; i++)
        (void)pthread_join(threads[i], NULL);
    ck_assert_int_le(atomic_load(&most_inside), PERMITS);
    ck_assert_stands(3, 0);
}
END_TEST

static const enum proxy_way ways[] = {PROXY_TO_SERVER, PROXY_TO_CLIENT};

START_TEST(cut_anywhere_each_call_counts_once)
{
    struct proxy *proxy = proxy_start(server_port(server));
    struct hf_client *cut_client = client_timed(proxy_port(proxy), 60000, 5000);
    struct hf_lock *cut = permit_of(cut_client);
    uint64_t bytes;

    set_permits(3);
    acquire(cut, 1);
    release(cut, 1);
    bytes = proxy_count(proxy, ways[_i], PROXY_PASSED);
    acquire(cut, 1);
    release(cut, 1);
    bytes = proxy_count(proxy, ways[_i], PROXY_PASSED) - bytes;
    for (uint64_t n = 0; n <= bytes; n += 5) {
        proxy_cut_after(proxy, ways[_i], n, PROXY_CLOSE);
        acquire(cut, 1);
        ck_assert_stands(2, 1);
        release(cut, 1);
        ck_assert_stands(3, 0);
        proxy_cut_after(proxy, ways[_i], UINT64_MAX, PROXY_CLOSE);
    }
    hf_client_free(cut_client);
    proxy_stop(proxy);
}
END_TEST

/* What the server grants after all is given back in the background. */
START_TEST(grant_without_an_answer_is_released)
{
    struct proxy *proxy = proxy_start(server_port(server));
    struct hf_client *cut_client = client_timed(proxy_port(proxy), 60000, SET_UP_MS);
    struct hf_lock *cut = permit_of(cut_client);

    set_permits(2);
    acquire(cut, 1);
    proxy_hold(proxy, PROXY_TO_CLIENT, true);
    ck_assert_status(try_acquire(cut, 2, NULL), HF_E_NOREPLY);
    server_await(server, LONG_MS, "0", "GET " POOL);
    proxy_hold(proxy, PROXY_TO_CLIENT, false);
    server_await(server, LONG_MS, "1", "GET " POOL);
    release(cut, 1);
    ck_assert_stands(2, 0);
    hf_client_free(cut_client);
    proxy_stop(proxy);
}
END_TEST

START_TEST(calls_without_blocking_return_the_same)
{
    bool was_set = false;
    struct call call;
    int64_t out = -1;

    call_init(&call);
    ck_assert_ok(
        hf_permits_try_set_async(permit, 4, &was_set, call_done, &call));
    ck_assert_status(call_await(&call), HF_OK);
    ck_assert(was_set);
    call_init(&call);
    ck_assert_ok(hf_permits_available_async(permit, &out, call_done, &call));
    ck_assert_status(call_await(&call), HF_OK);
    ck_assert_int_eq(out, 4);
    ck_assert_status(
        hf_permits_try_set_async(permit, -1, &was_set, call_done, &call),
        HF_E_INVAL);
    ck_assert_status(hf_permits_available_async(lock_of(client, NAME), &out,
                                                call_done, &call),
                     HF_E_INVAL);
}
END_TEST

/* ---- rights ---- */

START_TEST(they_work_with_the_rights_that_the_readme_names)
{
    struct hf_client *holder, *waiter;
    struct hf_lock *held, *wanted;
    struct hf_acquire_options o;
    struct hf_lock_info info;
    struct diary diary;
    struct call call;
    bool was_set;

    acl_make_user(server, "--for permits");
    holder = acl_client(server, 3, 600, 0);
    waiter = acl_client(server, 3, 600, 0);
    held = permit_of(holder);
    wanted = permit_of(waiter);
    ck_assert_ok(hf_permits_try_set(held, 1, &was_set, NULL));
    o = diary_options(&diary, 1);
    ck_assert_ok(hf_lock_acquire(held, &o, NULL));
    note_await(&diary.note, &diary.renewals, 1, "a renewal");
    o = acquire_options(2);
    call_acquire(&call, wanted, &o);
    await_listeners(1);
    release(held, 1);
    ck_assert_status(call_await(&call), HF_OK);
    ck_assert_ok(hf_lock_inspect(held, &info, NULL));
    ck_assert_ok(hf_lock_force_release(held, NULL, 0, NULL));
    ck_assert_int_eq(available(held), 1);
    acquire_for(held, 3, 100); /* lapses, and is counted back */
    ck_assert_status(hf_lock_release(wanted, 2, NULL), HF_LOST);
    acquire(wanted, 3);
    ck_assert_no_denial(server, "permits");
    hf_client_free(holder);
    hf_client_free(waiter);
}
END_TEST

/* ---- */

static void add_all(Suite *suite)
{
    TCase *c = live_case(suite, "calls", start, stop);

    tcase_add_test(c, permits_are_set_acquired_and_released);
    tcase_add_test(c, number_includes_the_permits_in_use);
    tcase_add_test(c, number_repairs_a_count_that_was_deleted);
    tcase_add_test(c, ttl_survives_a_new_number);
    tcase_add_test(c, id_has_16_bytes);
    tcase_add_test(c, permit_of_redisson_is_released_by_its_id);
    tcase_add_test(c, permit_of_redisson_is_renewed_by_its_id);
    tcase_add_loop_test(c, text_that_is_not_an_id_is_refused, 0, COUNT(no_ids));
    tcase_add_test(c, owner_has_one_permit_at_a_time);
    tcase_add_test(c, each_of_many_permits_of_a_client_has_its_hold);
    tcase_add_test(c, inspect_counts_and_force_releases_all);
    tcase_add_test(c, other_kinds_and_numbers_are_refused);
    tcase_add_test(c, calls_without_blocking_return_the_same);
    c = live_case(suite, "waits", start_to_wait, stop);
    tcase_add_test(c, release_elsewhere_wakes_a_waiter);
    tcase_add_test(c, greater_number_wakes_a_waiter);
    tcase_add_test(c, permits_that_are_set_wake_waiters);
    tcase_add_test(c, expired_permit_is_acquired_by_a_waiter);
    tcase_add_test(c, expired_permit_counts_as_available);
    tcase_add_test(c, permit_without_a_lease_never_lapses);
    tcase_add_test(c, many_that_have_lapsed_become_available);
    c = live_case(suite, "leases", start, stop);
    tcase_add_test(c, permit_is_renewed_and_safe);
    tcase_add_test(c, loss_is_reported_at_the_next_renewal);
    tcase_add_test(c, lease_that_ends_is_a_loss);
    c = live_case(suite, "faults", start, stop);
    tcase_add_test(c, no_more_are_inside_than_there_are_permits);
    tcase_add_test(c, they_work_with_the_rights_that_the_readme_names);
    tcase_add_loop_test(c, cut_anywhere_each_call_counts_once, 0, COUNT(ways));
    tcase_add_test(c, grant_without_an_answer_is_released);
}

int main(void)
{
    return live_main("permits", add_all);
}
