/* A fair lock's queue on the server: what a caller learns of it, and how an operator
 * removes the places of dead waiters. */
#include "lock/queue.h"
#include "tests/live/test_lock_ways.h"
#include "tests/support/lateness.h"
#include "tests/support/one_server.h"

#define QUEUE "redisson_lock_queue:{order:42}"
#define PLACES "redisson_lock_timeout:{order:42}"
#define DEAD "01234567-89ab-cdef-0123-456789abcdef:"

static struct hf_client *client;
static struct hf_lock *lock;

static struct hf_lock *kind_of_lock(struct hf_client *of, enum hf_lock_kind kind)
{
    struct hf_lock *new = NULL;

    ck_assert_ok(hf_lock_new_kind(&new, of, kind, NAME, strlen(NAME), NULL));
    return new;
}

static void start(void)
{
    start_server();
    client = client_to(server_port(server));
    lock = kind_of_lock(client, HF_KIND_FAIR);
}

static void stop(void)
{
    hf_client_free(client);
    stop_server();
}

static long long server_now_ms(void)
{
    long long s = 0, us = 0;

    ck_assert_int_eq(sscanf(server_ask(server, "TIME"), "%lld %lld", &s, &us),
                     2);
    return s * 1000 + us / 1000;
}

static void queue_dead(int number, long long until_ms)
{
    (void)server_ask(server, "RPUSH " QUEUE " " DEAD "%d", number);
    (void)server_ask(server, "ZADD " PLACES " %lld " DEAD "%d", until_ms, number);
}

static void await_queue(int length)
{
    char expected[20];

    (void)snprintf(expected, sizeof expected, "%d", length);
    server_await(server, LONG_MS, expected, "LLEN " QUEUE);
    server_await(server, LONG_MS, expected, "ZCARD " PLACES);
}

static void queue_up(struct call *call, int64_t owner)
{
    struct hf_acquire_options o = acquire_options(owner);
    int before = (int)server_ask_int(server, "LLEN " QUEUE);

    o.wait_ms = HF_FOREVER;
    call_acquire(call, lock, &o);
    await_queue(before + 1);
    server_await(server, AWAIT_MS, "1", "PUBLISH " CHANNEL ":%s 0",
                 server_ask(server, "LINDEX " QUEUE " -1"));
}

static void ck_assert_dropped(const char *waiter, int64_t expected)
{
    int64_t dropped = -1;

    ck_assert_ok(hf_lock_drop_waiter(lock, waiter, waiter ? strlen(waiter) : 0,
                                     &dropped, NULL));
    ck_assert_int_eq(dropped, expected);
}

/* ---- what a caller learns ---- */

START_TEST(info_has_the_first_place_also_if_the_lock_is_free)
{
    struct hf_lock_info info;

    queue_dead(1, server_now_ms() + 100000);
    queue_dead(2, server_now_ms() + 400000);
    ck_assert_ok(hf_lock_inspect(lock, &info, NULL));
    ck_assert(!info.is_locked);
    ck_assert_int_eq(info.waiters, 2);
    ck_assert_str_eq(info.first_waiter, DEAD "1");
    ck_assert_uint_eq(info.first_waiter_len, strlen(DEAD "1"));
    ck_assert_int_gt(info.first_place_ms, 100000 - LONG_MS);
    ck_assert_int_le(info.first_place_ms, 100000);
}
END_TEST

START_TEST(info_has_no_place_without_a_queue)
{
    struct hf_lock_info info;

    acquire(lock, 1);
    ck_assert_ok(hf_lock_inspect(lock, &info, NULL));
    ck_assert_int_eq(info.first_place_ms, -1);
    ck_assert_str_eq(info.first_waiter, "");
    release(lock, 1);
}
END_TEST

static const char *const odd_times[] = {"DEL " PLACES,
                                        "ZADD " PLACES " +inf " DEAD "1"};

START_TEST(time_of_the_first_place_is_unknown_if_it_is_no_time)
{
    struct hf_lock_info info;

    queue_dead(1, server_now_ms() + 100000);
    (void)server_ask(server, odd_times[_i]);
    ck_assert_ok(hf_lock_inspect(lock, &info, NULL));
    ck_assert_int_eq(info.waiters, 1);
    ck_assert_int_eq(info.first_place_ms, -1);
    ck_assert_str_eq(info.first_waiter, DEAD "1");
}
END_TEST

/* ---- removing places ---- */

START_TEST(places_of_the_dead_are_removed_and_the_living_stay)
{
    struct call calls[2];

    acquire(lock, 1);
    queue_dead(1, server_now_ms() + 400000);
    queue_up(&calls[0], 2);
    queue_dead(2, server_now_ms() + 800000);
    queue_up(&calls[1], 3);
    ck_assert_dropped(NULL, 2);
    await_queue(2);
    ck_assert_holder(server, lock, 1, 1);
    ck_assert(!call_is_done(&calls[0]));
    release(lock, 1);
    ck_assert_ok(call_await(&calls[0]));
    ck_assert(!call_is_done(&calls[1]));
    release(lock, 2);
    ck_assert_ok(call_await(&calls[1]));
    release(lock, 3);
    await_queue(0);
}
END_TEST

START_TEST(free_lock_goes_to_the_first_living_waiter_at_once)
{
    struct call call;
    int64_t since_ms;

    acquire(lock, 1);
    queue_dead(1, server_now_ms() + 400000);
    queue_up(&call, 2);
    release(lock, 1);
    since_ms = local_now_ms();
    ck_assert_dropped(NULL, 1);
    ck_assert_ok(call_await(&call));
    ck_assert_within(since_ms, 1000);
    release(lock, 2);
    await_queue(0);
}
END_TEST

START_TEST(place_of_one_waiter_is_removed)
{
    for (int i = 1; i <= 3; i++)
        queue_dead(i, server_now_ms() + 400000);
    ck_assert_dropped(DEAD "2", 1);
    ck_assert_str_eq(server_ask(server, "LINDEX " QUEUE " 1"), DEAD "3");
    ck_assert_int_eq(server_ask_int(server, "ZCARD " PLACES), 2);
    ck_assert_status(hf_lock_drop_waiter(lock, DEAD "2", strlen(DEAD "2"), NULL,
                                         NULL),
                     HF_NOT_OWNER);
}
END_TEST

START_TEST(holder_without_a_place_keeps_the_lock)
{
    char holder[HF_OWNER_TEXT_MAX];

    acquire(lock, 1);
    (void)hf_lock_owner_text(lock, 1, holder);
    ck_assert_status(
        hf_lock_drop_waiter(lock, holder, strlen(holder), NULL, NULL),
        HF_NOT_OWNER);
    ck_assert_dropped(NULL, 0);
    ck_assert_holder(server, lock, 1, 1);
    release(lock, 1);
}
END_TEST

/* More than one call of the script examines. */
START_TEST(long_queue_is_examined_in_parts)
{
    struct call call;

    acquire(lock, 1);
    for (int i = 0; i < 450; i++)
        queue_dead(i, server_now_ms() + 400000);
    queue_up(&call, 2);
    queue_dead(450, server_now_ms() + 400000);
    ck_assert_dropped(DEAD "300", 1);
    ck_assert_dropped(NULL, 450);
    await_queue(1);
    release(lock, 1);
    ck_assert_ok(call_await(&call));
    release(lock, 2);
}
END_TEST

START_TEST(lock_without_a_queue_and_unknown_waiter_are_refused)
{
    static const char *const odd[] = {"", "x", DEAD, DEAD "1 "};
    struct hf_lock *plain = kind_of_lock(client, HF_KIND_PLAIN);

    ck_assert_status(hf_lock_drop_waiter(plain, NULL, 0, NULL, NULL), HF_E_INVAL);
    for (size_t i = 0; i < COUNT(odd); i++)
        ck_assert_status(
            hf_lock_drop_waiter(lock, odd[i], strlen(odd[i]), NULL, NULL),
            HF_E_INVAL);
}
END_TEST

/* ---- times that no place can have ---- */

/* How much longer a free lock may be kept by a dead waiter's place (docs/kinds.md). */
#define DEAD_MS 15000

static const char *const far_times[] = {"+inf", "9e18", "99999999999999",
                                        "1e300"};

static long long time_of(const char *waiter)
{
    return atoll(server_ask(server, "ZSCORE " PLACES " %s", waiter));
}

/* The place is that of a waiter of Redisson's, and holdfast's waits behind it. */
START_TEST(far_place_keeps_a_free_lock_for_seconds)
{
    struct call call;

    (void)server_ask(server, "RPUSH " QUEUE " " DEAD "1");
    (void)server_ask(server, "ZADD " PLACES " %s " DEAD "1", far_times[_i]);
    queue_up(&call, 2);
    ck_assert_int_le(time_of(DEAD "1"), server_now_ms() + DEAD_MS);
    ck_assert_int_gt(time_of(DEAD "1"), server_now_ms());
    ck_assert(!call_is_done(&call));
    (void)server_ask(server, "ZADD " PLACES " 1 " DEAD "1"); /* no need to wait */
    ck_assert_ok(call_await(&call));
    release(lock, 2);
    await_queue(0);
}
END_TEST

/* While the lock is held, a new waiter does not inherit the far time. */
START_TEST(far_place_is_not_inherited)
{
    char waiter[HF_OWNER_TEXT_MAX];
    struct call call;

    acquire(lock, 1);
    (void)server_ask(server, "RPUSH " QUEUE " " DEAD "1");
    (void)server_ask(server, "ZADD " PLACES " %s " DEAD "1", far_times[_i]);
    queue_up(&call, 2);
    (void)snprintf(waiter, sizeof waiter, "%s",
                   server_ask(server, "LINDEX " QUEUE " 1"));
    ck_assert_int_le(time_of(DEAD "1"), server_now_ms() + 300000);
    ck_assert_int_le(time_of(waiter), server_now_ms() + 2 * 300000 + 30000);
    ck_assert_int_gt(time_of(waiter), time_of(DEAD "1"));
    (void)server_ask(server, "ZADD " PLACES " 1 " DEAD "1");
    release(lock, 1);
    ck_assert_ok(call_await(&call));
    release(lock, 2);
}
END_TEST

START_TEST(unlock_by_force_repairs_the_queue_of_a_free_lock)
{
    (void)server_ask(server, "RPUSH " QUEUE " " DEAD "1");
    (void)server_ask(server, "ZADD " PLACES " %s " DEAD "1", far_times[_i]);
    ck_assert_status(hf_lock_force_release(lock, NULL, 0, NULL), HF_NOT_OWNER);
    ck_assert_int_le(time_of(DEAD "1"), server_now_ms() + DEAD_MS);
}
END_TEST

/* Also if its waiter came to a lock that was held. */
START_TEST(release_shortens_the_place_of_a_silent_waiter)
{
    struct call call;

    hf_client_free(client); /* one whose waiters look each second */
    client = client_timed(server_port(server), 3000, 5000);
    lock = kind_of_lock(client, HF_KIND_FAIR);
    acquire(lock, 1);
    queue_dead(1, server_now_ms() + 3600000);
    queue_up(&call, 2);
    ck_assert_int_ge(time_of(DEAD "1"), server_now_ms() + 3500000);
    release(lock, 1);
    ck_assert_int_le(time_of(DEAD "1"), server_now_ms() + DEAD_MS);
    ck_assert(!call_is_done(&call));
    (void)server_ask(server, "ZADD " PLACES " 1 " DEAD "1");
    ck_assert_ok(call_await(&call));
    release(lock, 2);
}
END_TEST

START_TEST(waiter_outside_the_queue_is_left_alone)
{
    struct call calls[2];

    acquire(lock, 1);
    (void)server_ask(server, "ZADD " PLACES " +inf mine");
    queue_dead(1, 1);
    for (int i = 0; i < 2; i++) {
        struct hf_acquire_options o = acquire_options(2 + i);

        o.wait_ms = HF_FOREVER;
        call_acquire(&calls[i], lock, &o);
        server_await(server, LONG_MS, i == 0 ? "1" : "2", "LLEN " QUEUE);
    }
    release(lock, 1);
    for (int i = 0; i < 2; i++) {
        ck_assert_ok(call_await(&calls[i]));
        ck_assert_str_eq(server_ask(server, "ZSCORE " PLACES " mine"), "inf");
        release(lock, 2 + i);
    }
}
END_TEST

/* ---- long queues ---- */

#define MANY 300000
#define PORTION 10000
/* Far more than 200 places cost, far less than MANY do. */
#define SCRIPT_MS 60

static int64_t quick_since_ms;

/* In portions: a busy machine would take too long for one script. */
static void queue_many(long long until_ms)
{
    for (int i = 0; i < MANY; i += PORTION)
        (void)server_ask(
            server,
            "EVAL %s 0 %lld %d %d",
            "for i = ARGV[2] + 1, ARGV[2] + ARGV[3], 100 do "
            "local names, times = {}, {} "
            "for k = 0, 99 do names[k + 1] = '" DEAD "' .. i + k "
            "times[2 * k + 1] = ARGV[1] times[2 * k + 2] = names[k + 1] end "
            "redis.call('rpush', '" QUEUE "', unpack(names)) "
            "redis.call('zadd', '" PLACES "', unpack(times)) end",
            until_ms, i, PORTION);
    (void)server_ask(server, "CONFIG SET slowlog-log-slower-than %d",
                     SCRIPT_MS * 1000);
    (void)server_ask(server, "SLOWLOG RESET");
    quick_since_ms = local_now_ms();
}

/* The server's time for a script includes what the machine was late. */
static void ck_assert_none_was_slow(void)
{
    int64_t worst_us = server_ask_int(
        server, "EVAL %s 0",
        "local worst = 0 for _, entry in ipairs(redis.call('slowlog', 'get', 128)) "
        "do worst = math.max(worst, entry[3]) end return worst");

    ck_assert_msg(worst_us / 1000 <= SCRIPT_MS + lateness_ms(quick_since_ms),
                  "%s", server_ask(server, "SLOWLOG GET 1"));
}

START_TEST(stale_places_are_dropped_by_many_short_scripts)
{
    struct hf_acquire_options o = acquire_options(1);

    queue_many(1);
    o.wait_ms = HF_FOREVER;
    ck_assert_ok(hf_lock_acquire(lock, &o, NULL));
    ck_assert_int_eq(server_ask_int(server, "LLEN " QUEUE), 0);
    release(lock, 1);
    ck_assert_none_was_slow();
}
END_TEST

/* FAIR-7 */
START_TEST(scripts_are_short_beside_many_living_places)
{
    struct call call;

    acquire(lock, 1);
    queue_up(&call, 2);
    queue_many(server_now_ms() + 400000);
    (void)hf_lock_force_release(lock, NULL, 0, NULL);
    ck_assert_ok(call_await(&call));
    ck_assert_int_eq(server_ask_int(server, "LLEN " QUEUE), MANY);
    release(lock, 2);
    ck_assert_none_was_slow();
    (void)hf_lock_release(lock, 1, NULL);
}
END_TEST

static void ck_assert_leaves(struct hf_cancel *cancel, struct call *call)
{
    hf_cancel_fire(cancel);
    ck_assert_status(call_await(call), HF_CANCELLED);
}

/* A waiter leaves before, among and behind the others; those keep their order, and one
 * that was among them is dropped when it is the head. */
START_TEST(waiter_leaves_a_long_queue)
{
    struct hf_acquire_options o = acquire_options(2);
    struct hf_cancel cancel;
    struct call call;
    int before = _i == 0 ? 0 : 300;
    int behind = _i == 2 ? 0 : 300;
    char waiter[HF_OWNER_TEXT_MAX];

    acquire(lock, 1);
    for (int i = 0; i < before; i++)
        queue_dead(i, server_now_ms() + 400000);
    hf_cancel_init(&cancel, client);
    o.cancel = &cancel;
    call_acquire(&call, lock, &o);
    await_queue(before + 1);
    (void)snprintf(waiter, sizeof waiter, "%s",
                   server_ask(server, "LINDEX " QUEUE " -1"));
    for (int i = 0; i < behind; i++)
        queue_dead(1000 + i, server_now_ms() + 400000);
    ck_assert_leaves(&cancel, &call);
    if (before > 0 && behind > 0)
        server_await(server, AWAIT_MS, "1", "ZSCORE " PLACES " %s", waiter);
    else
        await_queue(before + behind);
    if (before > 0)
        ck_assert_str_eq(server_ask(server, "LINDEX " QUEUE " 299"), DEAD "299");
    if (behind > 0)
        ck_assert_str_eq(server_ask(server, "LINDEX " QUEUE " -1"), DEAD "1299");
    release(lock, 1);
}
END_TEST

static void add(Suite *suite)
{
    TCase *c = live_case(suite, "info", start, stop);

    tcase_add_test(c, info_has_the_first_place_also_if_the_lock_is_free);
    tcase_add_test(c, info_has_no_place_without_a_queue);
    tcase_add_loop_test(c, time_of_the_first_place_is_unknown_if_it_is_no_time, 0,
                        COUNT(odd_times));
    c = live_case(suite, "drop", start, stop);
    tcase_add_test(c, places_of_the_dead_are_removed_and_the_living_stay);
    tcase_add_test(c, free_lock_goes_to_the_first_living_waiter_at_once);
    tcase_add_test(c, place_of_one_waiter_is_removed);
    tcase_add_test(c, holder_without_a_place_keeps_the_lock);
    tcase_add_test(c, long_queue_is_examined_in_parts);
    tcase_add_test(c, lock_without_a_queue_and_unknown_waiter_are_refused);
    c = live_case(suite, "far", start, stop);
    tcase_add_loop_test(c, far_place_keeps_a_free_lock_for_seconds, 0,
                        COUNT(far_times));
    tcase_add_loop_test(c, far_place_is_not_inherited, 0, COUNT(far_times));
    tcase_add_loop_test(c, unlock_by_force_repairs_the_queue_of_a_free_lock, 0,
                        COUNT(far_times));
    tcase_add_test(c, release_shortens_the_place_of_a_silent_waiter);
    tcase_add_test(c, waiter_outside_the_queue_is_left_alone);
    c = live_case(suite, "long", start, stop);
    tcase_add_test(c, stale_places_are_dropped_by_many_short_scripts);
    tcase_add_test(c, scripts_are_short_beside_many_living_places);
    tcase_add_loop_test(c, waiter_leaves_a_long_queue, 0, 3);
}

int main(void)
{
    return live_main("fair_queue", add);
}
