/* Waiting for a lock of another: who is woken, by what, and who gives up; on a
 * real server, with Redisson's own scripts on the other side (WIRE 7, 8). */
#include <stdatomic.h>

#include "lock/semaphore.h"
#include "tests/live/test_lock.h"
#include "tests/support/feed.h"
#include "tests/support/lua_client.h"
#include "tests/support/one_server.h"
#include "tests/support/proxy.h"

static struct hf_client *client;
static struct hf_lock *lock;

/* The server knows our scripts from here on: a try is one call of a script. */
static void start_with(int protocol)
{
    struct hf_client_options o;
    char url[SERVER_URL_MAX];

    start_server();
    client_options(&o, url, server_port(server));
    o.protocol = protocol;
    client = client_with(&o);
    lock = lock_of(client, NAME);
    acquire(lock, 1);
    release(lock, 1);
}

/* Room for the witness and the client's first connection: the one that should
 * listen is turned away, and comes again. */
static void start_deaf(void)
{
    start_with(2);
    ck_assert_str_eq(server_ask(server, "CONFIG SET maxclients 2"), "OK");
}

static void start(void)
{
    start_with(3);
}

static void start_resp2(void)
{
    start_with(2);
}

static void stop(void)
{
    hf_lock_free(lock);
    hf_client_free(client);
    stop_server();
}

/* ---- Redisson on the other side ---- */

static void redisson_holds(long long lease_ms)
{
    ck_assert_str_eq(
        lua_acquire(server, NAME, strlen(NAME), LUA_HOLDER, lease_ms),
        "(nil)");
}

static void redisson_releases(const char *answer)
{
    ck_assert_str_eq(
        lua_release(server, NAME, strlen(NAME), LUA_HOLDER, 30000), answer);
}

/* A call of `owner` that waits, asleep behind a confirmed subscription. */
static void fall_asleep(struct call *call, int64_t owner)
{
    struct hf_acquire_options o = acquire_options(owner);
    long long calls = script_calls(server);

    call_acquire(call, lock, &o);
    await_subscribers(server, CHANNEL, 1);
    while (script_calls(server) < calls + 2) /* tried, subscribed, tried */
        local_poll_rest();
}

START_TEST(redisson_excludes_us_and_its_release_wakes_us)
{
    struct call call;

    redisson_holds(60000);
    ck_assert_status(try_acquire(lock, 1, NULL), HF_TIMEOUT);
    fall_asleep(&call, 1);
    redisson_releases("1");
    ck_assert_status(call_await(&call), HF_OK);
    ck_assert_holder(server, lock, 1, 1);
    ck_assert_int_gt(
        atoll(lua_acquire(server, NAME, strlen(NAME), LUA_HOLDER, 30000)),
        30000 - LONG_MS);
    release(lock, 1);
    await_subscribers(server, CHANNEL, 0);
}
END_TEST

START_TEST(redissons_hold_count_keeps_us_out_to_the_last)
{
    struct hf_lock_info info;
    struct call call;

    redisson_holds(60000);
    redisson_holds(60000);
    ck_assert_ok(hf_lock_inspect(lock, &info, NULL));
    ck_assert_int_eq(info.hold_count, 2);
    fall_asleep(&call, 1);
    redisson_releases("0");
    ck_assert(!call_is_done(&call));
    ck_assert_str_eq(hash_of(server, NAME), LUA_HOLDER " 1");
    redisson_releases("1");
    ck_assert_status(call_await(&call), HF_OK);
    release(lock, 1);
}
END_TEST

START_TEST(our_release_wakes_redisson)
{
    struct feed *feed = feed_open(server, "SUBSCRIBE " CHANNEL);

    acquire(lock, 1);
    ck_assert_str_eq(lua_renew(server, NAME, strlen(NAME), LUA_HOLDER, 30000),
                     "0");
    redisson_releases("(nil)"); /* not its own */
    ck_assert_holder(server, lock, 1, 1);
    release(lock, 1);
    ck_assert_str_eq(feed_next(feed, AWAIT_MS)->text, "message " CHANNEL " 0");
    redisson_holds(60000);
    redisson_releases("1");
    feed_close(feed);
}
END_TEST

START_TEST(redisson_may_force_our_lock_and_we_learn_of_it)
{
    struct call call;

    acquire(lock, 1);
    fall_asleep(&call, 2);
    ck_assert_str_eq(lua_force_release(server, NAME, strlen(NAME)), "1");
    ck_assert_status(call_await(&call), HF_OK);
    ck_assert_status(hf_lock_release(lock, 1, NULL), HF_LOST);
    ck_assert_holder(server, lock, 2, 1);
    release(lock, 2);
}
END_TEST

/* A holder field that is ours in Redisson's hands: it counts on, and our own
 * numbers stay ours (the target count is sent, not "one less"). */
START_TEST(counts_that_redisson_changed_are_set_right_by_the_next_call)
{
    char holder[HF_OWNER_TEXT_MAX];

    acquire(lock, 1);
    (void)hf_lock_owner_text(lock, 1, holder);
    ck_assert_str_eq(lua_acquire(server, NAME, strlen(NAME), holder, 30000),
                     "(nil)");
    ck_assert_holder(server, lock, 1, 2);
    acquire(lock, 1);
    ck_assert_holder(server, lock, 1, 2);
    ck_assert_str_eq(lua_release(server, NAME, strlen(NAME), holder, 30000),
                     "0");
    release(lock, 1);
    ck_assert_holder(server, lock, 1, 1);
    release(lock, 1);
    ck_assert_str_eq(hash_of(server, NAME), "");
}
END_TEST

/* ---- being woken ---- */

START_TEST(a_release_in_one_client_wakes_the_waiter_in_another)
{
    struct hf_client *other = client_to(server_port(server));
    struct hf_lock *theirs = lock_of(other, NAME);
    struct call call;

    for (int round = 0; round < 20; round++) {
        acquire(theirs, 1);
        fall_asleep(&call, 1);
        release(theirs, 1);
        ck_assert_status(call_await(&call), HF_OK);
        ck_assert_status(try_acquire(theirs, 1, NULL), HF_TIMEOUT);
        release(lock, 1);
        await_subscribers(server, CHANNEL, 0);
    }
    hf_client_free(other);
}
END_TEST

/* More than a second, the beat of a waiter that hears nothing (WAIT-5). */
START_TEST(waiter_sends_no_request_until_it_is_woken)
{
    struct call call;
    long long calls;

    redisson_holds(60000);
    fall_asleep(&call, 1);
    calls = script_calls(server);
    local_rest_us(1300 * 1000);
    ck_assert_int_eq(script_calls(server), calls);
    redisson_releases("1");
    ck_assert_status(call_await(&call), HF_OK);
    ck_assert_int_eq(script_calls(server), calls + 2); /* theirs and ours */
    release(lock, 1);
}
END_TEST

START_TEST(an_expired_lease_wakes_the_waiter_of_a_dead_holder)
{
    struct call call;

    redisson_holds(400);
    fall_asleep(&call, 1);
    ck_assert_status(call_await(&call), HF_OK);
    ck_assert_holder(server, lock, 1, 1);
    release(lock, 1);
}
END_TEST

/* Sleep has a cap (the watchdog's time), even where the holder has no TTL and
 * nobody says a word. */
START_TEST(a_lock_without_a_ttl_is_requested_again_without_a_message)
{
    struct hf_client *quick = client_timed(server_port(server), 1500, 5000);
    struct hf_acquire_options o = acquire_options(1);
    struct hf_lock *theirs = lock_of(quick, NAME);
    struct hf_error err;
    struct call call;

    (void)server_ask(server, "HSET " NAME " " LUA_HOLDER " 1");
    ck_assert_status(try_acquire(theirs, 1, &err), HF_TIMEOUT);
    ck_assert_ptr_null(strstr(err.text, "-1"));
    call_acquire(&call, theirs, &o);
    await_subscribers(server, CHANNEL, 1);
    (void)server_ask(server, "DEL " NAME);
    ck_assert_status(call_await(&call), HF_OK);
    release(theirs, 1);
    hf_client_free(quick);
}
END_TEST

static void await_tries(long long calls)
{
    while (script_calls(server) < calls)
        local_poll_rest();
}

/* WAIT-5, WAIT-6: whose connection for messages is turned away again and again does not
 * sleep until the lease ends. */
START_TEST(waiter_without_a_subscription_polls)
{
    struct hf_acquire_options o = acquire_options(1);
    long long calls;
    struct call call;

    redisson_holds(60000);
    calls = script_calls(server);
    call_acquire(&call, lock, &o);
    await_tries(calls + 1);
    redisson_releases("1");
    ck_assert_status(call_await(&call), HF_OK);
    release(lock, 1);
}
END_TEST

START_TEST(a_release_here_needs_no_message_to_reach_the_next)
{
    struct hf_acquire_options o = acquire_options(1);
    int64_t end_ms = local_now_ms() + AWAIT_MS;
    struct call call;

    acquire(lock, 1);
    for (int i = 2; i <= 50; i++) {
        long long tries = script_calls(server);

        o.owner = i;
        call_acquire(&call, lock, &o);
        await_tries(tries + 1);
        release(lock, i - 1);
        ck_assert_status(call_await(&call), HF_OK);
        ck_assert_int_lt(local_now_ms(), end_ms);
    }
    release(lock, 50);
}
END_TEST

/* The lock goes without a word, and then the waiter's connection: both may have
 * been one fault. */
START_TEST(a_lost_subscription_wakes_the_waiter)
{
    struct call call;

    redisson_holds(60000);
    fall_asleep(&call, 1);
    (void)server_ask(server, "DEL " NAME);
    (void)server_ask(server, "CLIENT KILL TYPE pubsub");
    ck_assert_status(call_await(&call), HF_OK);
    release(lock, 1);
}
END_TEST

START_TEST(a_waiter_receives_messages_after_a_reconnect)
{
    struct call call;
    long long calls;

    redisson_holds(60000);
    fall_asleep(&call, 1);
    calls = script_calls(server);
    server_kill_connections(server);
    await_subscribers(server, CHANNEL, 1);
    while (script_calls(server) < calls + 2)
        local_poll_rest();
    redisson_releases("1");
    ck_assert_status(call_await(&call), HF_OK);
    release(lock, 1);
}
END_TEST

/* The proxy keeps the confirmation of the subscription back. The release comes
 * meanwhile, and no message can tell of it. */
START_TEST(a_release_between_try_and_subscription_is_not_missed)
{
    struct proxy *proxy = proxy_start(server_port(server));
    struct hf_client *far = client_to(proxy_port(proxy));
    struct hf_acquire_options o = acquire_options(1);
    struct hf_lock *theirs = lock_of(far, NAME);
    uint64_t passed;
    struct call call;

    ck_assert_ok(hf_client_connect(far, NULL));
    redisson_holds(60000);
    passed = proxy_count(proxy, PROXY_TO_SERVER, PROXY_PASSED);
    proxy_hold(proxy, PROXY_TO_SERVER, true);
    call_acquire(&call, theirs, &o);
    ck_assert(proxy_await(proxy, PROXY_TO_SERVER, PROXY_KEPT, 1, LONG_MS));
    proxy_hold(proxy, PROXY_TO_CLIENT, true);
    proxy_hold(proxy, PROXY_TO_SERVER, false); /* the try passes */
    ck_assert(proxy_await(proxy, PROXY_TO_CLIENT, PROXY_KEPT, 1, LONG_MS));
    proxy_hold(proxy, PROXY_TO_SERVER, true);
    proxy_hold(proxy, PROXY_TO_CLIENT, false); /* its answer, then EVAL's */
    ck_assert(proxy_await(proxy, PROXY_TO_SERVER, PROXY_KEPT, 1, LONG_MS));
    redisson_releases("1");
    proxy_hold(proxy, PROXY_TO_SERVER, false);
    ck_assert_status(call_await(&call), HF_OK);
    ck_assert_uint_gt(proxy_count(proxy, PROXY_TO_SERVER, PROXY_PASSED),
                      passed);
    release(theirs, 1);
    hf_client_free(far);
    proxy_stop(proxy);
}
END_TEST

/* A client that has no thread: the test drives it. 0: the default timeout. */
static struct hf_client *driven_client(int64_t request_timeout_ms)
{
    struct hf_client_options o;
    char url[SERVER_URL_MAX];

    client_options(&o, url, server_port(server));
    o.thread = false;
    if (request_timeout_ms > 0)
        o.request_timeout_ms = request_timeout_ms;
    return client_with(&o);
}

/* Two calls of one owner: the second one finds the hold of the first one just
 * when that is being released, and has to queue again. */
START_TEST(a_waiter_that_meets_its_owners_release_waits_on)
{
    struct hf_acquire_options o = acquire_options(1);
    struct call sleeper, quick, releasing;
    struct hf_client *driven;
    struct hf_lock *l;
    long long calls = script_calls(server);

    driven = driven_client(0);
    l = lock_of(driven, NAME);
    redisson_holds(60000);
    call_acquire(&sleeper, l, &o);
    while (script_calls(server) < calls + 3) /* theirs and two of ours */
        hf_loop_dispatch(hf_client_loop(driven), 1);
    hf_loop_dispatch(hf_client_loop(driven), A_MOMENT_MS);
    (void)server_ask(server, "DEL " NAME); /* without a word */
    o.wait_ms = 0;
    call_acquire(&quick, l, &o);
    ck_assert_status(call_drive(&quick, driven), HF_OK);
    ck_assert(!call_is_done(&sleeper));
    (void)server_ask(server, "PUBLISH " CHANNEL " 0");
    call_release(&releasing, l, 1);
    ck_assert_status(call_drive(&releasing, driven), HF_OK);
    ck_assert_status(call_drive(&sleeper, driven), HF_OK);
    ck_assert_holder(server, l, 1, 1);
    ck_assert_ok(hf_lock_release(l, 1, NULL));
    hf_client_free(driven);
}
END_TEST

/* Between two calls of one owner another owner waits, which must wait for the release of the
 * first one. */
START_TEST(a_second_call_of_an_owner_does_not_wait_after_another_owner)
{
    struct hf_acquire_options o = acquire_options(1), others = acquire_options(2);
    struct call first, between, second;
    long long calls = script_calls(server);
    struct hf_client *driven;
    struct hf_lock *l;

    driven = driven_client(0);
    l = lock_of(driven, NAME);
    redisson_holds(60000);
    call_acquire(&first, l, &o);
    call_acquire(&between, l, &others);
    o.wait_ms = 5000;
    call_acquire(&second, l, &o);
    while (script_calls(server) < calls + 3) /* theirs and two of the first's */
        hf_loop_dispatch(hf_client_loop(driven), 1);
    redisson_releases("1");
    ck_assert_status(call_drive(&first, driven), HF_OK);
    ck_assert_status(call_drive(&second, driven), HF_OK);
    ck_assert_holder(server, l, 1, 2);
    ck_assert(!call_is_done(&between));
    ck_assert_ok(hf_lock_release(l, 1, NULL));
    ck_assert_ok(hf_lock_release(l, 1, NULL));
    ck_assert_status(call_drive(&between, driven), HF_OK);
    ck_assert_ok(hf_lock_release(l, 2, NULL));
    hf_client_free(driven);
}
END_TEST

/* Three calls of one owner. The first one is granted the lock, the second one
 * enters it again, and the server stops; the third one stands behind, or has just
 * been let in. Its wait is over long before a request would be. */
START_TEST(a_wait_that_became_a_reentry_still_ends_in_time)
{
    struct hf_acquire_options o = acquire_options(1);
    struct call first, second, third;
    long long calls = script_calls(server);
    struct hf_client *driven;
    struct hf_lock *l;
    hf_status rc;

    driven = driven_client(60000);
    l = lock_of(driven, NAME);
    redisson_holds(60000);
    call_acquire(&first, l, &o);
    call_acquire(&second, l, &o);
    o.wait_ms = 1500;
    call_acquire(&third, l, &o);
    while (script_calls(server) < calls + 3) /* theirs and two of the first's */
        hf_loop_dispatch(hf_client_loop(driven), 1);
    hf_loop_dispatch(hf_client_loop(driven), A_MOMENT_MS);
    redisson_releases("1");
    while (script_calls(server) < calls + 5)
        hf_loop_dispatch(hf_client_loop(driven), 1);
    server_pause(server);
    rc = call_drive(&third, driven);
    server_resume(server);
    ck_assert_status(call_drive(&first, driven), HF_OK);
    ck_assert_status(call_drive(&second, driven), HF_OK);
    if (rc == HF_OK) /* it entered before the server was stopped, perhaps before the second */
        ck_assert_holder(server, l, 1, 3);
    else
        ck_assert(rc == HF_TIMEOUT || rc == HF_E_NOREPLY);
    hf_client_free(driven);
}
END_TEST

START_TEST(on_wait_names_the_holder_once)
{
    struct hf_acquire_options o;
    struct diary diary;
    struct call call;

    redisson_holds(60000);
    o = diary_options(&diary, 1);
    call_acquire(&call, lock, &o);
    note_await(&diary.note, &diary.waits, 1, "on_wait");
    await_subscribers(server, CHANNEL, 1);
    (void)server_ask(server, "PUBLISH " CHANNEL " 0"); /* a false alarm */
    redisson_releases("1");
    ck_assert_status(call_await(&call), HF_OK);
    ck_assert_int_eq(diary.waits, 1);
    ck_assert(diary.info.is_locked);
    ck_assert_str_eq(diary.info.holder, LUA_HOLDER);
    ck_assert_int_eq(diary.info.hold_count, 1);
    ck_assert_int_gt(diary.info.ttl_ms, 60000 - LONG_MS);
    release(lock, 1);
}
END_TEST

/* Whatever a message says, looking again is never wrong. */
static const char *const payloads[] = {"0", "1", "-5", "unlock", "\"\""};

START_TEST(any_message_makes_it_look_again)
{
    struct call call;

    redisson_holds(60000);
    fall_asleep(&call, 1);
    (void)server_ask(server, "DEL " NAME);
    ck_assert_int_eq(
        server_ask_int(server, "PUBLISH " CHANNEL " %s", payloads[_i]), 1);
    ck_assert_status(call_await(&call), HF_OK);
    release(lock, 1);
}
END_TEST

/* ---- giving up ---- */

static hf_status wait_for_ms(int64_t owner, int64_t wait_ms,
                             struct hf_error *err)
{
    struct hf_acquire_options o = acquire_options(owner);

    o.wait_ms = wait_ms;
    return hf_lock_acquire(lock, &o, err);
}

/* A wait in which the machine stalled had no reply. */
static void must_wait_in_vain(int64_t owner, int64_t wait_ms, struct hf_error *err)
{
    hf_status rc;

    do
        rc = wait_for_ms(owner, wait_ms, err);
    while (rc == HF_E_NOREPLY);
    ck_assert_status(rc, HF_TIMEOUT);
}

static const int64_t waits[] = {100, 300};

START_TEST(a_wait_ends_when_its_time_is_up_and_leaves_nothing)
{
    struct hf_error err;

    ck_assert_ok(hf_client_connect(client, NULL));
    redisson_holds(60000);
    must_wait_in_vain(1, waits[_i], &err);
    ck_assert_int_eq(err.status, HF_TIMEOUT);
    ck_assert_ptr_nonnull(strstr(err.text, NAME));
    ck_assert_str_eq(hash_of(server, NAME), LUA_HOLDER " 1");
    server_await(server, AWAIT_MS, "", "PUBSUB CHANNELS");
    ck_assert_uint_eq(stats_of(client).waiters, 0);
    redisson_releases("1");
    acquire(lock, 1);
    release(lock, 1);
}
END_TEST

START_TEST(a_wait_ends_in_time_after_another_in_the_line)
{
    struct call first;

    redisson_holds(60000);
    fall_asleep(&first, 1);
    must_wait_in_vain(2, 50, NULL);
    ck_assert(!call_is_done(&first));
    redisson_releases("1");
    ck_assert_status(call_await(&first), HF_OK);
    release(lock, 1);
}
END_TEST

/* The server is silent. Whoever may wait 50 ms does not wait for the request
 * timeout, wherever it stands. */
static const struct {
    const char *where;
    bool is_held;      /* by Redisson; else by owner 1 */
    int64_t first, second;
} places[] = {
    {"asking", true, 0, 2},
    {"behind another in the line", true, 1, 2},
    {"re-entering", false, 0, 1},
    {"behind another re-entry", false, 1, 1},
};

START_TEST(a_wait_ends_in_time_though_the_server_is_silent)
{
    struct hf_acquire_options o = acquire_options(places[_i].first);
    struct call first;
    hf_status rc;

    if (places[_i].is_held)
        redisson_holds(60000);
    else
        acquire(lock, 1);
    ck_assert_ok(hf_client_connect(client, NULL));
    server_pause(server);
    call_init(&first);
    if (places[_i].first)
        call_acquire(&first, lock, &o);
    rc = wait_for_ms(places[_i].second, 50, NULL);
    ck_assert_msg(rc == HF_TIMEOUT || rc == HF_E_NOREPLY, "%s: %s",
                  places[_i].where, hf_status_name(rc));
    ck_assert(!call_is_done(&first)); /* its five seconds are not over */
    server_resume(server);
    if (places[_i].is_held)
        redisson_releases("1");
    if (places[_i].first)
        ck_assert_status(call_await(&first), HF_OK);
    if (!places[_i].is_held || places[_i].first)
        release(lock, 1);
    if (!places[_i].is_held && places[_i].first)
        release(lock, 1);
    server_await(server, LONG_MS, "0", "EXISTS " NAME);
}
END_TEST

/* ---- cancelling ---- */

static struct hf_cancel cancel;

static void call_cancellable(struct call *call, int64_t owner)
{
    struct hf_acquire_options o = acquire_options(owner);

    o.cancel = &cancel;
    call_acquire(call, lock, &o);
}

static void *fire(void *none)
{
    (void)none;
    hf_cancel_fire(&cancel);
    return NULL;
}

static void fire_elsewhere(void)
{
    pthread_t thread;

    ck_assert_int_eq(pthread_create(&thread, NULL, fire, NULL), 0);
    (void)pthread_join(thread, NULL);
}

START_TEST(a_cancel_before_the_call_counts_and_sends_no_request)
{
    struct hf_acquire_options o = acquire_options(1);
    uint64_t requests;

    ck_assert_ok(hf_client_connect(client, NULL));
    requests = stats_of(client).link.requests;
    hf_cancel_init(&cancel, client);
    hf_cancel_fire(&cancel);
    o.cancel = &cancel;
    ck_assert_status(hf_lock_acquire(lock, &o, NULL), HF_CANCELLED);
    o.wait_ms = 0;
    ck_assert_status(hf_lock_acquire(lock, &o, NULL), HF_CANCELLED);
    ck_assert_uint_eq(stats_of(client).link.requests, requests);
    hf_cancel_init(&cancel, client); /* as new */
    ck_assert_ok(hf_lock_acquire(lock, &o, NULL));
    hf_cancel_fire(&cancel); /* too late to matter */
    ck_assert_holder(server, lock, 1, 1);
    release(lock, 1);
}
END_TEST

START_TEST(a_cancel_of_another_client_is_refused)
{
    struct hf_client *other = client_to(server_port(server));
    struct hf_acquire_options o = acquire_options(1);
    struct hf_semaphore *semaphore = NULL;
    struct hf_error err = {0};

    hf_cancel_init(&cancel, other);
    o.cancel = &cancel;
    ck_assert_status(hf_lock_acquire(lock, &o, &err), HF_E_INVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "another client"));
    ck_assert_status(hf_lock_acquire_async(lock, &o, call_done, NULL),
                     HF_E_INVAL);
    ck_assert_ok(hf_semaphore_new(&semaphore, client, "s", 1, NULL));
    ck_assert_status(hf_semaphore_acquire(semaphore, 1, 0, &cancel, NULL),
                     HF_E_INVAL);
    hf_semaphore_free(semaphore);
    ck_assert_str_eq(hash_of(server, NAME), "");
    hf_client_free(other);
}
END_TEST

START_TEST(a_cancel_ends_all_its_waits_asleep_and_in_the_line)
{
    struct call sleeper, second, third, other;
    struct hf_acquire_options o = acquire_options(9);

    hf_cancel_init(&cancel, client);
    redisson_holds(60000);
    call_cancellable(&sleeper, 1);
    call_cancellable(&second, 2);
    call_acquire(&other, lock, &o); /* without a cancel */
    call_cancellable(&third, 3);
    await_subscribers(server, CHANNEL, 1);
    fire_elsewhere();
    ck_assert_status(call_await(&sleeper), HF_CANCELLED);
    ck_assert_int_eq(sleeper.error.status, HF_CANCELLED);
    ck_assert_ptr_nonnull(strstr(sleeper.error.text, NAME));
    ck_assert_status(call_await(&second), HF_CANCELLED);
    ck_assert_status(call_await(&third), HF_CANCELLED);
    ck_assert(!call_is_done(&other));
    redisson_releases("1");
    ck_assert_status(call_await(&other), HF_OK);
    release(lock, 9);
}
END_TEST

/* The question lies in the stopped server's buffer when it is cancelled. */
START_TEST(a_cancel_during_a_request_leaves_no_lock)
{
    struct call call;

    hf_cancel_init(&cancel, client);
    ck_assert_ok(hf_client_connect(client, NULL));
    if (_i == 1) /* asked by EVALSHA, then by EVAL */
        (void)server_ask(server, "SCRIPT FLUSH");
    server_pause(server);
    call_cancellable(&call, 1);
    fire_elsewhere();
    ck_assert_status(call_await(&call), HF_CANCELLED);
    server_resume(server);
    acquire(lock, 2); /* behind whatever was under way */
    ck_assert_holder(server, lock, 2, 1);
    release(lock, 2);
    server_await(server, LONG_MS, "0", "EXISTS " NAME);
    ck_assert_uint_eq(stats_of(client).holds, 0);
}
END_TEST

START_TEST(a_cancelled_reentry_leaves_the_hold_as_it_was)
{
    struct call call, behind;

    hf_cancel_init(&cancel, client);
    acquire(lock, 1);
    server_pause(server);
    call_cancellable(&call, 1);
    call_cancellable(&behind, 1);
    fire_elsewhere();
    ck_assert_status(call_await(&call), HF_CANCELLED);
    ck_assert_status(call_await(&behind), HF_CANCELLED);
    server_resume(server);
    acquire(lock, 1);
    ck_assert_holder(server, lock, 1, 2);
    release(lock, 1);
    release(lock, 1);
    ck_assert_str_eq(hash_of(server, NAME), "");
}
END_TEST

/* Both that were before it are cancelled at once: its turn has come. */
START_TEST(a_call_after_two_cancelled_ones_continues)
{
    struct call first, second, third;

    hf_cancel_init(&cancel, client);
    acquire(lock, 1);
    server_pause(server);
    call_cancellable(&first, 1);
    call_cancellable(&second, 1);
    call_release(&third, lock, 1);
    fire_elsewhere();
    server_resume(server);
    ck_assert_status(call_await(&first), HF_CANCELLED);
    ck_assert_status(call_await(&second), HF_CANCELLED);
    ck_assert_status(call_await(&third), HF_OK);
    ck_assert_str_eq(hash_of(server, NAME), "");
}
END_TEST

static void *acquire_blocked(void *ctx)
{
    struct call *call = ctx;
    struct hf_acquire_options o = acquire_options(4);
    hf_status rc;

    o.cancel = &cancel;
    rc = hf_lock_acquire(lock, &o, &call->error);
    call_done(call, rc, NULL);
    return NULL;
}

START_TEST(a_cancel_ends_a_blocked_caller)
{
    struct call call;
    pthread_t thread;

    hf_cancel_init(&cancel, client);
    redisson_holds(60000);
    call_init(&call);
    ck_assert_int_eq(pthread_create(&thread, NULL, acquire_blocked, &call), 0);
    await_subscribers(server, CHANNEL, 1);
    hf_cancel_fire(&cancel);
    ck_assert_status(call_await(&call), HF_CANCELLED);
    (void)pthread_join(thread, NULL);
    redisson_releases("1");
}
END_TEST

/* ---- WAIT-1: the turn is passed on ---- */

START_TEST(waiter_that_leaves_passes_its_turn_on)
{
    struct hf_acquire_options o = acquire_options(2);
    struct call first, second;

    hf_cancel_init(&cancel, client);
    redisson_holds(60000);
    call_cancellable(&first, 1);
    await_subscribers(server, CHANNEL, 1);
    call_acquire(&second, lock, &o);
    hf_cancel_fire(&cancel);
    ck_assert_status(call_await(&first), HF_CANCELLED);
    redisson_releases("1");
    ck_assert_status(call_await(&second), HF_OK);
    release(lock, 2);
}
END_TEST

/* The message has woken the first, which has asked, and is cancelled before the
 * answer comes: the only wake-up there will be is not lost with it. */
START_TEST(woken_waiter_that_leaves_passes_the_wakeup_on)
{
    struct proxy *proxy = proxy_start(server_port(server));
    struct hf_client *far = client_to(proxy_port(proxy));
    struct hf_acquire_options o = acquire_options(1);
    struct hf_cancel theirs;
    struct call first, second;
    struct hf_lock *l = lock_of(far, NAME);
    long long calls;

    hf_cancel_init(&theirs, far);
    redisson_holds(60000);
    calls = script_calls(server);
    o.cancel = &theirs;
    call_acquire(&first, l, &o);
    while (script_calls(server) < calls + 2)
        local_poll_rest();
    o.owner = 2;
    o.cancel = NULL;
    call_acquire(&second, l, &o);
    proxy_hold(proxy, PROXY_TO_SERVER, true);
    redisson_releases("1");
    ck_assert(proxy_await(proxy, PROXY_TO_SERVER, PROXY_KEPT, 1, LONG_MS));
    hf_cancel_fire(&theirs);
    proxy_hold(proxy, PROXY_TO_SERVER, false);
    ck_assert_status(call_await(&first), HF_CANCELLED);
    ck_assert_status(call_await(&second), HF_OK);
    ck_assert_holder(server, l, 2, 1);
    release(l, 2);
    hf_client_free(far);
    proxy_stop(proxy);
}
END_TEST

START_TEST(local_waiters_have_it_in_the_order_in_which_they_came)
{
    struct hf_acquire_options o = acquire_options(1);
    struct call calls[10];

    redisson_holds(60000);
    for (int i = 0; i < COUNT(calls); i++) {
        o.owner = i + 1;
        call_acquire(&calls[i], lock, &o);
    }
    await_subscribers(server, CHANNEL, 1);
    redisson_releases("1");
    for (int i = 0; i < COUNT(calls); i++) {
        ck_assert_status(call_await(&calls[i]), HF_OK);
        if (i + 1 < COUNT(calls))
            ck_assert(!call_is_done(&calls[i + 1]));
        release(lock, i + 1);
    }
    ck_assert_str_eq(hash_of(server, NAME), "");
}
END_TEST

/* A thousand waiters of one lock that all end at once stand on no stack. */
START_TEST(a_thousand_waiters_may_end_at_once)
{
    static struct call calls[1000];

    hf_cancel_init(&cancel, client);
    redisson_holds(60000);
    for (int i = 0; i < COUNT(calls); i++)
        call_cancellable(&calls[i], i + 1);
    await_subscribers(server, CHANNEL, 1);
    hf_cancel_fire(&cancel);
    for (int i = 0; i < COUNT(calls); i++)
        ck_assert_status(call_await(&calls[i]), HF_CANCELLED);
    redisson_releases("1");
    await_subscribers(server, CHANNEL, 0);
}
END_TEST

/* ---- many threads ---- */

#define THREADS 64
#define ROUNDS 20

static int count;               /* guarded by nothing but the lock */
static atomic_int inside;

static void *count_up(void *arg)
{
    struct hf_lock *mine = arg;

    for (int i = 0; i < ROUNDS; i++) {
        struct hf_error err = {0};
        int seen;

        if (hf_lock_acquire(mine, NULL, &err) < 0)
            ck_abort_msg("acquire: %s", err.text);
        ck_must(atomic_fetch_add(&inside, 1) == 0, "never two inside");
        seen = count;
        sched_yield();
        count = seen + 1;
        atomic_fetch_sub(&inside, 1);
        if (hf_lock_release(mine, hf_owner_thread(), &err) < 0)
            ck_abort_msg("release: %s", err.text);
    }
    return NULL;
}

static void count_with(int n, struct hf_lock *const *locks, int locks_count)
{
    pthread_t threads[THREADS];

    for (int i = 0; i < n; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, count_up,
                                        locks[i % locks_count]),
                         0);
    for (int i = 0; i < n; i++)
        (void)pthread_join(threads[i], NULL);
}

START_TEST(sixty_four_threads_are_never_two_inside)
{
    struct hf_client_stats stats;

    count_with(THREADS, &lock, 1);
    ck_assert_int_eq(count, THREADS * ROUNDS);
    ck_assert_str_eq(hash_of(server, NAME), "");
    stats = stats_of(client);
    ck_assert_uint_eq(stats.waiters, 0);
    ck_assert_uint_eq(stats.holds, 0);
    ck_assert_uint_eq(stats.link.connects, 1);
}
END_TEST

START_TEST(sixty_four_waiters_share_one_subscription)
{
    struct feed *feed;
    struct call calls[THREADS];

    hf_cancel_init(&cancel, client);
    redisson_holds(60000);
    feed = feed_open(server, "MONITOR");
    for (int i = 0; i < THREADS; i++)
        call_cancellable(&calls[i], i + 1);
    await_subscribers(server, CHANNEL, 1);
    (void)server_ask(server, "ECHO that-is-all");
    for (int subscribes = 0;;) {
        const struct feed_event *event = feed_next(feed, AWAIT_MS);

        ck_assert_ptr_nonnull(event);
        if (strstr(event->text, "that-is-all"))
            break;
        subscribes += strstr(event->text, "\"SUBSCRIBE\"") != NULL;
        ck_assert_int_le(subscribes, 1);
    }
    hf_cancel_fire(&cancel);
    for (int i = 0; i < THREADS; i++)
        ck_assert_status(call_await(&calls[i]), HF_CANCELLED);
    redisson_releases("1");
    feed_close(feed);
}
END_TEST

/* Threads of four clients, and of Redisson, which spins. */
static void *redisson_counts(void *stop_flag)
{
    atomic_int *stops = stop_flag;

    while (!atomic_load(stops)) {
        if (strcmp(lua_acquire(server, NAME, strlen(NAME), LUA_HOLDER, 30000),
                   "(nil)") != 0)
            continue;
        ck_must(atomic_fetch_add(&inside, 1) == 0, "never two inside");
        count++;
        sched_yield();
        count--;
        atomic_fetch_sub(&inside, 1);
        ck_must(strcmp(lua_release(server, NAME, strlen(NAME), LUA_HOLDER,
                                   30000),
                       "1") == 0,
                "Redisson's hold is its own");
    }
    return NULL;
}

START_TEST(clients_and_redisson_are_never_two_inside)
{
    struct hf_client *clients[4];
    struct hf_lock *locks[4];
    atomic_int stops = 0;
    pthread_t redisson;

    for (int i = 0; i < COUNT(clients); i++) {
        clients[i] = client_to(server_port(server));
        locks[i] = lock_of(clients[i], NAME);
    }
    ck_assert_int_eq(
        pthread_create(&redisson, NULL, redisson_counts, &stops), 0);
    count_with(16, locks, COUNT(locks));
    atomic_store(&stops, 1);
    (void)pthread_join(redisson, NULL);
    ck_assert_int_eq(count, 16 * ROUNDS);
    ck_assert_str_eq(hash_of(server, NAME), "");
    for (int i = 0; i < COUNT(clients); i++)
        hf_client_free(clients[i]);
}
END_TEST

/* ---- */

static void add_waking(TCase *c)
{
    tcase_add_test(c, redisson_excludes_us_and_its_release_wakes_us);
    tcase_add_test(c, redissons_hold_count_keeps_us_out_to_the_last);
    tcase_add_test(c, our_release_wakes_redisson);
    tcase_add_test(c, redisson_may_force_our_lock_and_we_learn_of_it);
    tcase_add_test(c,
                   counts_that_redisson_changed_are_set_right_by_the_next_call);
    tcase_add_test(c, a_release_in_one_client_wakes_the_waiter_in_another);
    tcase_add_test(c, waiter_sends_no_request_until_it_is_woken);
    tcase_add_test(c, an_expired_lease_wakes_the_waiter_of_a_dead_holder);
    tcase_add_test(c, a_lost_subscription_wakes_the_waiter);
    tcase_add_test(c, a_waiter_receives_messages_after_a_reconnect);
    tcase_add_test(c, on_wait_names_the_holder_once);
    tcase_add_loop_test(c, any_message_makes_it_look_again, 0,
                        COUNT(payloads));
}

static void add_giving_up(TCase *c)
{
    tcase_add_loop_test(c, a_wait_ends_when_its_time_is_up_and_leaves_nothing,
                        0, COUNT(waits));
    tcase_add_test(c, a_wait_ends_in_time_after_another_in_the_line);
    tcase_add_loop_test(c, a_wait_ends_in_time_though_the_server_is_silent, 0,
                        COUNT(places));
    tcase_add_test(c, a_cancel_before_the_call_counts_and_sends_no_request);
    tcase_add_test(c, a_cancel_of_another_client_is_refused);
    tcase_add_test(c, a_cancel_ends_all_its_waits_asleep_and_in_the_line);
    tcase_add_loop_test(c, a_cancel_during_a_request_leaves_no_lock, 0, 2);
    tcase_add_test(c, a_cancelled_reentry_leaves_the_hold_as_it_was);
    tcase_add_test(c, a_call_after_two_cancelled_ones_continues);
    tcase_add_test(c, a_cancel_ends_a_blocked_caller);
    tcase_add_test(c, waiter_that_leaves_passes_its_turn_on);
    tcase_add_test(c, local_waiters_have_it_in_the_order_in_which_they_came);
    tcase_add_test(c, a_thousand_waiters_may_end_at_once);
}

static void add_cases(Suite *s)
{
    TCase *c;

    add_waking(live_case(s, "waking", start, stop));
    add_waking(live_case(s, "waking, RESP2", start_resp2, stop));
    c = live_case(s, "waking, at odd moments", start, stop);
    tcase_add_test(c,
                   a_lock_without_a_ttl_is_requested_again_without_a_message);
    tcase_add_test(c, a_release_between_try_and_subscription_is_not_missed);
    tcase_add_test(c, woken_waiter_that_leaves_passes_the_wakeup_on);
    tcase_add_test(c, a_waiter_that_meets_its_owners_release_waits_on);
    tcase_add_test(c, a_second_call_of_an_owner_does_not_wait_after_another_owner);
    tcase_add_test(c, a_wait_that_became_a_reentry_still_ends_in_time);

    c = live_case(s, "waking, without messages", start_deaf, stop);
    tcase_add_test(c, waiter_without_a_subscription_polls);
    tcase_add_test(c, a_release_here_needs_no_message_to_reach_the_next);

    add_giving_up(live_case(s, "giving up", start, stop));
    add_giving_up(live_case(s, "giving up, RESP2", start_resp2, stop));

    c = live_case(s, "many threads", start, stop);
    tcase_add_test(c, sixty_four_threads_are_never_two_inside);
    tcase_add_test(c, sixty_four_waiters_share_one_subscription);
    tcase_add_test(c, clients_and_redisson_are_never_two_inside);
}

int main(void)
{
    return live_main("lock, waiting", add_cases);
}
