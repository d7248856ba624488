/* Waiters that a push wakes. Nothing else would end their sleep in time: the lock is freed
 * without a notification, its TTL is long, and so is the watchdog's timeout. A kind that polls
 * is woken by a push at least once (push_wakes). */
#include "lock/latch.h"
#include "lock/permits.h"
#include "lock/semaphore.h"
#include "tests/live/test_cluster.h"
#include "tests/live/test_tracking.h"
#include "tests/support/one_server.h"

#define DEAF "app"              /* may not subscribe */

static struct hf_client *client, *other;
static struct call call;

static void start(void)
{
    start_server();
    (void)server_ask(server, "ACL SETUSER " DEAF " on >PASSWORD ~* &* +@all -subscribe "
                             "-ssubscribe");
    client = client_by(server, TRACKING, NULL);
    other = client_by(server, "", NULL);
}

static void stop(void)
{
    hf_client_free(client);
    hf_client_free(other);
    stop_server();
}

/* ---- waiting ---- */

static struct hf_acquire_options patient(int64_t owner)
{
    struct hf_acquire_options o = acquire_options(owner);

    o.wait_ms = HF_FOREVER;
    return o;
}

static struct hf_lock *wait_for(enum hf_lock_kind kind, const char *name)
{
    struct hf_acquire_options o = patient(1);
    struct hf_lock *lock = lock_of_kind(client, kind, name);

    call_acquire(&call, lock, &o);
    return lock;
}

static void hold(enum hf_lock_kind kind, const char *name)
{
    struct hf_lock *lock = lock_of_kind(other, kind, name);

    acquire(lock, 1);
    hf_lock_free(lock);
}

/* A waiter that sleeps, and is tracked. */
static struct hf_lock *wait_tracked(void)
{
    struct hf_lock *lock;

    hold(HF_KIND_PLAIN, NAME);
    lock = wait_for(HF_KIND_PLAIN, NAME);
    await_tracked(server, 1);
    return lock;
}

static void end(struct hf_lock *lock)
{
    ck_assert_ok(call_await(&call));
    release(lock, 1);
    hf_lock_free(lock);
}

/* Changes the key until a push has caused a request. */
static void await_wake(const char *change)
{
    int64_t deadline_ms = local_now_ms() + AWAIT_MS;

    while (stats_of(client).push_wakes == 0) {
        ck_assert_msg(local_now_ms() < deadline_ms, "no push caused a request");
        (void)server_ask(server, change);
        local_poll_rest();
    }
    ck_assert(!call_is_done(&call));
}

/* ---- kinds ---- */

static const struct {
    enum hf_lock_kind kind, holder;
} kinds[] = {
    {HF_KIND_PLAIN, HF_KIND_PLAIN},   {HF_KIND_NONREENTRANT, HF_KIND_PLAIN},
    {HF_KIND_FENCED, HF_KIND_FENCED}, {HF_KIND_READ, HF_KIND_WRITE},
    {HF_KIND_WRITE, HF_KIND_READ},    {HF_KIND_WRITE, HF_KIND_WRITE},
    {HF_KIND_SPIN, HF_KIND_PLAIN},    {HF_KIND_VALUE, HF_KIND_VALUE},
    {HF_KIND_PLAIN, HF_KIND_FAIR},
};

/* TRACK-8 */
START_TEST(track_8_waiter_of_each_kind_is_woken)
{
    struct hf_lock *lock;

    hold(kinds[_i].holder, NAME);
    lock = wait_for(kinds[_i].kind, NAME);
    await_wake("PEXPIRE " NAME " 80000");
    (void)server_ask(server, "DEL " NAME);
    end(lock);
}
END_TEST

START_TEST(track_8_waiter_of_a_semaphore_is_woken)
{
    struct hf_semaphore *semaphore;

    ck_assert_ok(hf_semaphore_new(&semaphore, client, NAME, strlen(NAME), NULL));
    call_init(&call);
    ck_assert_ok(hf_semaphore_acquire_async(semaphore, 2, HF_FOREVER, NULL, call_done, &call));
    await_wake("SET " NAME " 1");
    (void)server_ask(server, "SET " NAME " 2");
    ck_assert_ok(call_await(&call));
    hf_semaphore_free(semaphore);
}
END_TEST

START_TEST(track_8_waiter_of_a_latch_is_woken)
{
    struct hf_latch *latch;

    (void)server_ask(server, "SET " NAME " 2");
    ck_assert_ok(hf_latch_new(&latch, client, NAME, strlen(NAME), NULL));
    call_init(&call);
    ck_assert_ok(hf_latch_await_async(latch, HF_FOREVER, NULL, call_done, &call));
    await_wake("SET " NAME " 1");
    (void)server_ask(server, "DEL " NAME);
    ck_assert_ok(call_await(&call));
    hf_latch_free(latch);
}
END_TEST

/* Their channel wakes them. */
static const enum hf_lock_kind untracked[] = {HF_KIND_FAIR, HF_KIND_PERMIT};

START_TEST(waiters_of_fair_locks_and_permits_are_not_tracked)
{
    struct hf_lock *holder = lock_of_kind(other, untracked[_i], NAME);
    struct hf_lock *lock;
    bool was_set;

    if (untracked[_i] == HF_KIND_PERMIT)
        ck_assert_ok(hf_permits_try_set(holder, 1, &was_set, NULL));
    acquire(holder, 1);
    lock = wait_for(untracked[_i], NAME);
    server_await(server, AWAIT_MS, "1", "EVAL %s 0",
                 "return #redis.call('pubsub', 'channels')");
    release(holder, 1);
    hf_lock_free(holder);
    end(lock);
    ck_assert_uint_eq(stats_of(client).pushes, 0);
}
END_TEST

/* ---- causes ---- */

#define BUSY "for i = 1, 3e6 do end "

static const char *const causes[] = {
    "redis.call('del', '" NAME "')",
    "redis.call('unlink', '" NAME "')",
    "redis.call('rename', '" NAME "', 'x')",
    "redis.call('flushall')",
    "redis.call('pexpire', '" NAME "', '1') " BUSY,
    "redis.call('pexpire', '" NAME "', '500')",     /* its end is awaited */
};

START_TEST(track_8_each_cause_wakes_a_waiter)
{
    struct hf_lock *lock = wait_tracked();

    (void)server_ask(server, "EVAL %s 0", causes[_i]);
    ck_assert_ok(call_await(&call));
    ck_assert_uint_ge(stats_of(client).push_wakes, 1);
    end(lock);
}
END_TEST

/* One push, one request: the grant. */
START_TEST(track_8_push_causes_one_request)
{
    struct hf_lock *lock = wait_tracked();
    long long before = script_calls(server);

    (void)server_ask(server, "DEL " NAME);
    ck_assert_ok(call_await(&call));
    ck_assert_int_eq(script_calls(server) - before, 1);
    ck_assert_uint_eq(stats_of(client).push_wakes, 1);
    end(lock);
}
END_TEST

/* PUSHED-2: no pause follows a request that was granted. With pauses, this would last for
 * longer than a test may. */
START_TEST(pushed_2_grants_by_pushes_follow_each_other)
{
    struct hf_lock *lock;

    for (uint64_t i = 1; i <= 30; i++) {
        (void)server_ask(server, "HSET " NAME " 8743c9c0-0795-4907-87fd-6c719a6b4586:1 1");
        lock = wait_for(HF_KIND_PLAIN, NAME);
        await_tracked(server, 1);
        (void)server_ask(server, "DEL " NAME);
        end(lock);
        ck_assert_uint_eq(stats_of(client).push_wakes, i);
    }
}
END_TEST

START_TEST(track_8_waiter_behind_a_waiter_is_woken_once_it_is_first)
{
    struct hf_acquire_options o = patient(2);
    struct hf_lock *lock = wait_tracked();
    struct call second;

    call_acquire(&second, lock, &o);
    (void)server_ask(server, "DEL " NAME);
    ck_assert_ok(call_await(&call));
    ck_assert(!call_is_done(&second));
    release(lock, 1);
    ck_assert_ok(call_await(&second));
    release(lock, 2);
    hf_lock_free(lock);
}
END_TEST

/* The renewals of the hold are writes of the client itself; they track the key again. */
START_TEST(track_8_waiter_behind_a_hold_of_its_client_is_woken)
{
    struct diary diary;
    struct hf_acquire_options o = diary_options(&diary, 2);
    struct hf_lock *lock = lock_of(client, NAME);

    ck_assert_ok(hf_lock_acquire(lock, &o, NULL));
    o = patient(1);
    call_acquire(&call, lock, &o);
    await_next_renewal(client);
    (void)server_ask(server, "DEL " NAME);
    end(lock);
    (void)diary_await_loss(&diary); /* it was deleted, or taken by the waiter */
}
END_TEST

START_TEST(track_8_flush_wakes_the_waiters_of_all_locks)
{
    struct hf_lock *lock = wait_tracked(), *second = lock_of(client, "second");
    struct hf_acquire_options o = patient(1);
    struct call its;

    hold(HF_KIND_PLAIN, "second");
    call_acquire(&its, second, &o);
    await_tracked(server, 2);
    (void)server_ask(server, "FLUSHALL");
    end(lock);
    ck_assert_ok(call_await(&its));
    hf_lock_free(second);
}
END_TEST

/* ---- how many requests ---- */

/* PUSHED-2: the pauses double: 100 ms, 200 ms, ... */
START_TEST(pushed_2_storm_of_pushes_causes_ever_fewer_requests)
{
    struct hf_lock *lock = wait_tracked();
    long long before = script_calls(server), limit = 3;
    int64_t begin_ms = local_now_ms();

    while (local_now_ms() < begin_ms + 1500)
        (void)server_ask(server, "PEXPIRE " NAME " 80000");
    for (int64_t pauses = 1; pauses * 100 < local_now_ms() - begin_ms; pauses *= 2)
        limit++;
    ck_assert_int_le(script_calls(server) - before, limit);
    ck_assert_uint_ge(stats_of(client).push_wakes, 2);
    (void)server_ask(server, "DEL " NAME);
    end(lock);
}
END_TEST

static bool has_cached(void)
{
    return strstr(server_ask(server, "INFO commandstats"), "client|caching") != NULL;
}

START_TEST(track_8_acquire_of_a_free_lock_is_not_tracked)
{
    struct hf_lock *lock = lock_of(client, NAME);

    for (int i = 0; i < 3; i++) {
        acquire(lock, 1);
        release(lock, 1);
    }
    ck_assert(!has_cached());
    hf_lock_free(lock);
    lock = wait_tracked();
    ck_assert(has_cached());
    (void)server_ask(server, "DEL " NAME);
    end(lock);
}
END_TEST

/* ---- a crowd ---- */

#define CROWD 100
#define FEW 16                  /* FEW_LISTENERS_MAX (lock/machine/channel.h) */
#define RW_CHANNEL "redisson_rwlock:{" NAME "}"

static struct {
    struct hf_client *client;
    struct hf_lock *lock;
    struct call call;
} members[CROWD];
static struct hf_loop *loop;

static void drive_until_calls(long long count)
{
    while (script_calls(server) < count)
        hf_loop_dispatch(loop, 10);
}

/* All of them in one loop of the test's. Each sends one request before it has subscribed, and
 * one after that. The script is loaded. */
static void start_crowd(enum hf_lock_kind kind, const char *channel)
{
    long long before = script_calls(server);
    struct hf_client_options o;
    struct hf_acquire_options patience = patient(1);
    struct hf_loop_options lo = HF_LOOP_OPTIONS_INIT;
    char url[SERVER_URL_MAX + 64], all[100];

    ck_assert_ok(hf_loop_new(&loop, &lo));
    client_options(&o, url, server_port(server));
    (void)strcat(url, TRACKING);
    o.watchdog_ms = WATCHDOG_MS;
    o.loop = loop;
    o.thread = false;
    for (int i = 0; i < CROWD; i++) {
        members[i].client = client_with(&o);
        members[i].lock = lock_of_kind(members[i].client, kind, NAME);
        call_acquire(&members[i].call, members[i].lock, &patience);
    }
    (void)snprintf(all, sizeof all, "%s %d", channel, CROWD);
    while (strcmp(server_ask(server, "PUBSUB NUMSUB %s", channel), all) != 0)
        hf_loop_dispatch(loop, 10);
    drive_until_calls(before + 2 * CROWD);
    (void)server_ask(server, "PUBLISH %s %s", channel, all + strlen(channel) + 1); /* TURN-2 */
}

static void stop_crowd(void)
{
    for (int i = 0; i < CROWD; i++) {
        hf_lock_free(members[i].lock);
        hf_client_free(members[i].client);
    }
    hf_loop_free(loop);
}

static int granted(void)
{
    int count = 0;

    for (int i = 0; i < CROWD; i++)
        count += call_is_done(&members[i].call);
    return count;
}

/* A write that frees nothing: each client that is tracked sends one request. Returns how many
 * of them are tracked again. */
static int touch(void)
{
    long long before = script_calls(server);
    int pushed = tracked_at(server);

    (void)server_ask(server, "PEXPIRE " NAME " 80000");
    drive_until_calls(before + pushed);
    ck_assert_int_eq(script_calls(server), before + pushed);
    return tracked_at(server);
}

/* PUSHED-4: at first all are tracked that came when few listened. */
START_TEST(pushed_4_write_that_frees_nothing_causes_few_requests_in_a_crowd)
{
    long long before;
    int tracked;

    hold(HF_KIND_PLAIN, NAME);
    start_crowd(HF_KIND_PLAIN, CHANNEL);
    (void)touch();
    tracked = touch();
    ck_assert_int_ge(tracked, 1);
    ck_assert_int_le(tracked, 3 * FEW);
    before = script_calls(server);
    (void)server_ask(server, "DEL " NAME);
    while (granted() == 0)
        hf_loop_dispatch(loop, 10);
    ck_assert_int_le(script_calls(server) - before, tracked);
    stop_crowd();
}
END_TEST

/* PUSHED-4: all of them can hold it. */
START_TEST(pushed_4_all_readers_of_a_crowd_are_woken)
{
    struct hf_lock *read = lock_of_kind(other, HF_KIND_READ, NAME);
    long long before;

    acquire(read, 1);
    release(read, 1);
    hf_lock_free(read);
    hold(HF_KIND_WRITE, NAME);
    start_crowd(HF_KIND_READ, RW_CHANNEL);
    before = script_calls(server);
    (void)server_ask(server, "PEXPIRE " NAME " 80000");
    drive_until_calls(before + CROWD);
    (void)server_ask(server, "DEL " NAME);
    while (granted() < CROWD)
        hf_loop_dispatch(loop, 10);
    stop_crowd();
}
END_TEST

/* A waiter that logs in as DEAF is woken by a PEXPIRE, and is granted after a DEL. */
static void check_woken_as_deaf(void)
{
    struct hf_lock *lock;

    hf_client_free(client);
    client = client_by(server, TRACKING, DEAF);
    hold(HF_KIND_PLAIN, NAME);
    lock = wait_for(HF_KIND_PLAIN, NAME);
    await_wake("PEXPIRE " NAME " 80000");
    (void)server_ask(server, "DEL " NAME);
    end(lock);
}

/* PUSHED-5: a user who may not count is refused once, and is woken. */
START_TEST(pushed_5_refused_count_is_no_error_of_a_waiter)
{
    (void)server_ask(server, "ACL SETUSER " DEAF " +subscribe +ssubscribe -pubsub");
    check_woken_as_deaf();
    ck_assert_ptr_nonnull(strstr(server_ask(server, "INFO commandstats"),
                                 "pubsub|numsub:calls=0"));
}
END_TEST

/* ---- without a subscription, without tracking ---- */

START_TEST(track_8_user_who_may_not_subscribe_is_woken)
{
    check_woken_as_deaf();
}
END_TEST

static const char *const without[] = {TRACKING "&protocol=2", "?tracking=off", ""};

START_TEST(tracking_2_waiter_is_woken_by_its_channel_without_tracking)
{
    struct hf_lock *holder = lock_of(other, NAME), *lock;

    hf_client_free(client);
    client = client_by(server, without[_i], NULL);
    acquire(holder, 1);
    lock = wait_for(HF_KIND_PLAIN, NAME);
    await_subscribers(server, CHANNEL, 1);
    release(holder, 1);
    hf_lock_free(holder);
    end(lock);
    ck_assert(!has_cached());
    ck_assert_uint_eq(stats_of(client).pushes + stats_of(client).push_wakes, 0);
}
END_TEST

START_TEST(tracking_2_refused_caching_is_no_error_of_a_waiter)
{
    struct hf_lock *holder = lock_of(other, NAME), *lock;

    (void)server_ask(server, "ACL SETUSER " DEAF " resetchannels &* +@all -client|caching");
    hf_client_free(client);
    client = client_by(server, TRACKING, DEAF);
    acquire(holder, 1);
    lock = wait_for(HF_KIND_PLAIN, NAME);
    await_subscribers(server, CHANNEL, 1);
    release(holder, 1);
    hf_lock_free(holder);
    end(lock);
    ck_assert_uint_eq(stats_of(client).push_wakes, 0);
}
END_TEST

/* ---- a cluster ---- */

static void start_clients(const char *options)
{
    struct hf_client_options o;
    char url[CLUSTER_URL_MAX];

    hf_client_options_init(&o);
    o.url = cluster_url(url, options);
    o.watchdog_ms = WATCHDOG_MS;
    client = client_with(&o);
    o.url = cluster_url(url, "");
    other = client_with(&o);
}

static const char *const sharding[] = {"tracking=on", "tracking=on&sharded=off"};

/* A new connection would cause a request. */
static void connect_to(int node)
{
    struct hf_lock *lock;
    char name[32];
    int i = 0;

    do
        (void)snprintf(name, sizeof name, "n%d", i++);
    while (cluster_owner(cluster, slot_of(name)) != node);
    lock = lock_of(client, name);
    acquire(lock, 1);
    release(lock, 1);
    hf_lock_free(lock);
}

static void await_script_calls(struct server *of, long long count)
{
    int64_t deadline_ms = local_now_ms() + AWAIT_MS;

    while (script_calls(of) < count) {
        ck_assert_msg(local_now_ms() < deadline_ms, "no request came");
        local_poll_rest();
    }
}

/* TRACK-7: MIGRATE removes the key from its node, which reports it. The waiter is refused at the
 * new node, after ASK, each second; when the slot has moved, its request is tracked there. */
START_TEST(track_7_waiter_follows_a_key_that_moves)
{
    int slot = slot_of(NAME), from = cluster_owner(cluster, slot), to = (from + 1) % MASTERS;
    struct server *target = cluster_node(cluster, to);
    struct hf_lock *lock;
    long long before;

    start_clients(sharding[_i]);
    connect_to(to);
    hold(HF_KIND_PLAIN, NAME);
    lock = wait_for(HF_KIND_PLAIN, NAME);
    await_tracked(cluster_node(cluster, from), 1);
    before = script_calls(target);
    cluster_move_begin(cluster, slot, to);
    while (cluster_move_keys(cluster, slot, to, 10) > 0)
        continue;
    await_script_calls(target, before + 3);
    cluster_move_end(cluster, slot, to);
    await_tracked(target, 1);
    (void)server_ask(target, "DEL " NAME);
    end(lock);
    cluster_move(cluster, slot, from);
    hf_client_free(client);
    hf_client_free(other);
}
END_TEST

static void add(Suite *suite)
{
    TCase *c = live_case(suite, "kinds", start, stop);

    tcase_add_loop_test(c, track_8_waiter_of_each_kind_is_woken, 0, ROWS(kinds));
    tcase_add_test(c, track_8_waiter_of_a_semaphore_is_woken);
    tcase_add_test(c, track_8_waiter_of_a_latch_is_woken);
    tcase_add_loop_test(c, waiters_of_fair_locks_and_permits_are_not_tracked, 0,
                        ROWS(untracked));
    c = live_case(suite, "causes", start, stop);
    tcase_add_loop_test(c, track_8_each_cause_wakes_a_waiter, 0, ROWS(causes));
    tcase_add_test(c, track_8_push_causes_one_request);
    tcase_add_test(c, pushed_2_grants_by_pushes_follow_each_other);
    tcase_add_test(c, track_8_waiter_behind_a_waiter_is_woken_once_it_is_first);
    tcase_add_test(c, track_8_waiter_behind_a_hold_of_its_client_is_woken);
    tcase_add_test(c, track_8_flush_wakes_the_waiters_of_all_locks);
    c = live_case(suite, "how many", start, stop);
    tcase_add_test(c, pushed_2_storm_of_pushes_causes_ever_fewer_requests);
    tcase_add_test(c, track_8_acquire_of_a_free_lock_is_not_tracked);
    c = live_case(suite, "a crowd", start, stop);
    tcase_add_test(c, pushed_4_write_that_frees_nothing_causes_few_requests_in_a_crowd);
    tcase_add_test(c, pushed_4_all_readers_of_a_crowd_are_woken);
    tcase_add_test(c, pushed_5_refused_count_is_no_error_of_a_waiter);
    c = live_case(suite, "without it", start, stop);
    tcase_add_test(c, track_8_user_who_may_not_subscribe_is_woken);
    tcase_add_loop_test(c, tracking_2_waiter_is_woken_by_its_channel_without_tracking, 0,
                        ROWS(without));
    tcase_add_test(c, tracking_2_refused_caching_is_no_error_of_a_waiter);
    c = cluster_case(suite, "cluster", false);
    tcase_add_checked_fixture(c, cluster_setup_test, NULL);
    tcase_add_loop_test(c, track_7_waiter_follows_a_key_that_moves, 0, ROWS(sharding));
}

int main(void)
{
    return cluster_main("lock/push of waiters", add);
}
