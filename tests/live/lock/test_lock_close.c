/* hf_client_close: what is under way may end, what only waits does not begin,
 * and the deadline holds (lock.h; close.c, CLOSE-1 to CLOSE-3). */
#include "tests/live/test_lock_ways.h"
#include "tests/support/lateness.h"
#include "tests/support/lua_client.h"
#include "tests/support/memory.h"
#include "tests/support/one_server.h"
#include "tests/support/proxy.h"

#define CALLS 3
#define BRIEF_MS 150            /* a deadline that passes */
#define PLENTY 500              /* more allocations than the scene makes */

static struct memory memory;
static struct hf_client *client;
static struct hf_lock *lock;
static struct call calls[CALLS];
static struct hf_client_closed closed;

static void open_to(int port, const struct way *way)
{
    struct hf_client_options o;
    char url[SERVER_URL_MAX];

    memory_init(&memory);
    way_options(&o, url, port, way);
    o.mem = &memory.hook;
    o.watchdog_ms = 1500;
    o.request_timeout_ms = LONG_MS;
    client = client_with(&o);
    lock = lock_of(client, NAME);
}

static void open_client(int way)
{
    open_to(server_port(server), &ways[way]);
}

static void free_client(void)
{
    hf_client_free(client);
    ck_assert_pstr_eq(memory_fini(&memory), NULL);
}

static void ck_assert_closed(uint64_t finished, uint64_t cancelled,
                             uint64_t unknown, uint64_t holds)
{
    ck_assert_uint_eq(closed.finished, finished);
    ck_assert_uint_eq(closed.cancelled, cancelled);
    ck_assert_uint_eq(closed.unknown, unknown);
    ck_assert_uint_eq(closed.holds, holds);
}

/* It must not come to that deadline. */
static hf_status close_client(void)
{
    int64_t begun_ms = local_now_ms();
    hf_status rc = hf_client_close(client, 10 * LONG_MS, &closed, NULL);

    ck_assert_within(begun_ms, LONG_MS);
    return rc;
}

static hf_status close_late(struct hf_error *err)
{
    int64_t begun_ms = local_now_ms();
    hf_status rc = hf_client_close(client, BRIEF_MS, &closed, err);

    ck_assert_int_ge(local_now_ms() - begun_ms, BRIEF_MS - 1);
    return rc;
}

/* ---- nothing under way ---- */

START_TEST(idle_client_is_closed_at_once)
{
    open_client(_i);
    if (_i % 2) {
        acquire(lock, 1);
        release(lock, 1);
    }
    ck_assert_ok(close_client());
    ck_assert_closed(0, 0, 0, 0);
    free_client();
}
END_TEST

/* CLOSE-1 */
START_TEST(closed_client_takes_no_calls)
{
    struct hf_acquire_options o = acquire_options(1);
    struct hf_lock_info info;
    struct hf_error err;

    open_client(_i);
    acquire(lock, 1);
    ck_assert_status(hf_client_close(client, -1, NULL, &err), HF_E_INVAL);
    ck_assert_status(hf_client_close(client, INT64_MAX, NULL, &err),
                     HF_E_INVAL);
    release(lock, 1);
    ck_assert_ok(hf_client_close(client, 0, NULL, NULL));
    ck_assert_status(hf_lock_acquire(lock, &o, &err), HF_E_CLOSED);
    ck_assert_status(hf_lock_release(lock, 1, &err), HF_E_CLOSED);
    ck_assert_status(hf_lock_inspect(lock, &info, &err), HF_E_CLOSED);
    ck_assert_status(hf_lock_force_release(lock, NULL, 0, &err), HF_E_CLOSED);
    ck_assert_status(hf_lock_acquire_async(lock, &o, call_done, NULL),
                     HF_E_CLOSED);
    ck_assert_status(hf_client_connect(client, &err), HF_E_CLOSED);
    ck_assert_status(hf_client_close(client, 0, &closed, &err), HF_E_CLOSED);
    free_client();
}
END_TEST

/* Its holder may still be at work: it is told by hf_client_free only. */
START_TEST(holds_stay_held_and_renewed)
{
    struct hf_acquire_options o;
    static struct diary diary;
    int renewals;

    open_client(0);
    o = diary_options(&diary, 1);
    ck_assert_ok(hf_lock_acquire(lock, &o, NULL));
    ck_assert_ok(close_client());
    ck_assert_closed(0, 0, 0, 1);
    renewals = note_read(&diary.note, &diary.renewals);
    note_await(&diary.note, &diary.renewals, renewals + 2, "renewals");
    ck_assert_int_eq(note_read(&diary.note, &diary.losses), 0);
    ck_assert_int_gt(hf_lock_safe_ms(lock, 1), 0);
    free_client();
    ck_assert_int_eq(diary.losses, 1);
    ck_assert_int_eq(diary.reason, HF_REASON_CLOSED);
}
END_TEST

/* ---- who only waits ---- */

START_TEST(waiters_are_cancelled_at_once)
{
    struct hf_acquire_options o;

    open_client(_i);
    (void)lua_acquire(server, NAME, strlen(NAME), LUA_HOLDER, 60000);
    for (int i = 0; i < CALLS; i++) {
        o = acquire_options(i + 1);
        call_acquire(&calls[i], lock, &o);
    }
    while (strcmp(server_ask(server, "PUBSUB CHANNELS"), CHANNEL) != 0)
        hf_loop_dispatch(hf_client_loop(client), 1);
    ck_assert_ok(close_client());
    for (int i = 0; i < CALLS; i++)
        ck_assert_status(calls[i].status, HF_E_CLOSED);
    ck_assert_uint_eq(closed.finished + closed.cancelled, CALLS);
    ck_assert_uint_eq(closed.unknown + closed.holds, 0);
    ck_assert_str_eq(server_ask(server, "PUBSUB CHANNELS"), "");
    ck_assert_str_eq(hash_of(server, NAME), LUA_HOLDER " 1");
    free_client();
}
END_TEST

static void *block(void *owner)
{
    struct hf_acquire_options o = acquire_options((intptr_t)owner);

    ck_must(hf_lock_acquire(lock, &o, NULL) == HF_E_CLOSED, "closed");
    return NULL;
}

START_TEST(blocked_callers_are_sent_away)
{
    pthread_t threads[CALLS];

    open_client(_i);
    (void)lua_acquire(server, NAME, strlen(NAME), LUA_HOLDER, 60000);
    for (intptr_t i = 0; i < CALLS; i++)
        (void)pthread_create(&threads[i], NULL, block, (void *)(i + 1));
    await_subscribers(server, CHANNEL, 1);
    while (stats_of(client).waiters < CALLS)
        local_poll_rest();
    ck_assert_ok(close_client());
    for (int i = 0; i < CALLS; i++)
        (void)pthread_join(threads[i], NULL);
    free_client();
}
END_TEST

/* ---- what may end ---- */

static void *resume_soon(void *arg)
{
    local_rest_us(50000);
    server_resume(arg);
    return NULL;
}

/* CLOSE-2: A release, an acquire, and the release in the background that gives back
 * what it got. */
START_TEST(sent_requests_are_answered)
{
    struct hf_acquire_options o = acquire_options(2);
    struct hf_lock *other;
    pthread_t thread;

    open_client(_i);
    other = lock_of(client, "other");
    acquire(other, 1);
    release(other, 1);
    acquire(lock, 1);
    server_pause(server);
    call_release(&calls[0], lock, 1);
    call_acquire(&calls[1], other, &o);
    (void)pthread_create(&thread, NULL, resume_soon, server);
    ck_assert_ok(close_client());
    (void)pthread_join(thread, NULL);
    ck_assert_status(calls[0].status, HF_OK);
    ck_assert_status(calls[1].status, HF_E_CLOSED);
    ck_assert_closed(3, 0, 0, 0);
    ck_assert_int_eq(server_ask_int(server, "DBSIZE"), 0);
    free_client();
}
END_TEST

static void *let_go_soon(void *arg)
{
    local_rest_us(50000);
    proxy_hold(arg, PROXY_TO_CLIENT, false);
    return NULL;
}

/* Executed long ago, and the answer is under way. */
START_TEST(answers_that_the_network_delays_are_awaited)
{
    struct proxy *proxy = proxy_start(server_port(server));
    struct hf_acquire_options o = acquire_options(2);
    struct hf_lock *other;
    pthread_t thread;

    open_to(proxy_port(proxy), &ways[_i]);
    other = lock_of(client, "other");
    acquire(other, 1);
    release(other, 1);
    acquire(lock, 1);
    proxy_hold(proxy, PROXY_TO_CLIENT, true);
    call_release(&calls[0], lock, 1);
    call_acquire(&calls[1], other, &o);
    server_await(server, LONG_MS, "1", "EXISTS other");
    (void)pthread_create(&thread, NULL, let_go_soon, proxy);
    ck_assert_ok(close_client());
    (void)pthread_join(thread, NULL);
    ck_assert_status(calls[0].status, HF_OK);
    ck_assert_status(calls[1].status, HF_E_CLOSED);
    ck_assert_closed(3, 0, 0, 0);
    ck_assert_int_eq(server_ask_int(server, "DBSIZE"), 0);
    free_client();
    proxy_stop(proxy);
}
END_TEST

static void resume_server(void *ctx, hf_status status, const struct hf_error *err)
{
    call_done(ctx, status, err);
    server_resume(server);
}

/* CLOSE-4: the callback of a call that has ended is what lets the other call end. */
START_TEST(callbacks_run_while_it_waits)
{
    open_client(_i);
    acquire(lock, 1);
    server_pause(server);
    call_release(&calls[0], lock, 1);
    call_init(&calls[1]);
    ck_assert_ok(hf_lock_release_async(lock, 2, resume_server, &calls[1]));
    ck_assert_ok(close_client());
    ck_assert_status(calls[1].status, HF_NOT_OWNER);
    ck_assert_status(calls[0].status, HF_OK);
    free_client();
}
END_TEST

/* CLOSE-1, CLOSE-2: A cancelled acquire may have got it: that release is waited for,
 * too. */
START_TEST(release_in_the_background_is_awaited)
{
    struct hf_acquire_options o = acquire_options(1);
    struct hf_cancel cancel;
    pthread_t thread;

    open_client(_i);
    acquire(lock, 1);
    release(lock, 1);
    hf_cancel_init(&cancel, client);
    o.cancel = &cancel;
    server_pause(server);
    call_acquire(&calls[0], lock, &o);
    hf_cancel_fire(&cancel);
    (void)pthread_create(&thread, NULL, resume_soon, server);
    ck_assert_ok(close_client());
    (void)pthread_join(thread, NULL);
    ck_assert_status(calls[0].status, HF_CANCELLED);
    ck_assert_closed(1, 0, 0, 0);
    ck_assert_int_eq(server_ask_int(server, "DBSIZE"), 0);
    free_client();
}
END_TEST

/* ---- the deadline ---- */

START_TEST(stopped_server_is_left_at_the_deadline)
{
    struct hf_acquire_options o = acquire_options(2);
    struct hf_error err;

    open_client(_i);
    acquire(lock, 1);
    server_pause(server);
    call_release(&calls[0], lock, 1);
    call_acquire(&calls[1], lock, &o);
    ck_assert_status(close_late(&err), HF_E_NOREPLY);
    ck_assert_ptr_nonnull(strstr(err.text, "calls had no reply: 2;"));
    ck_assert_closed(0, 0, 2, 0);
    for (int i = 0; i < 2; i++)
        ck_assert_status(calls[i].status, HF_E_CLOSED);
    free_client();
}
END_TEST

/* Two of the same hold: the second one was never asked. */
START_TEST(release_after_another_one_is_cancelled_unsent)
{
    open_client(_i);
    acquire(lock, 1);
    acquire(lock, 1);
    server_pause(server);
    call_release(&calls[0], lock, 1);
    call_release(&calls[1], lock, 1);
    ck_assert_status(close_late(NULL), HF_E_NOREPLY);
    ck_assert_closed(0, 1, 1, 0);
    for (int i = 0; i < 2; i++)
        ck_assert_status(calls[i].status, HF_E_CLOSED);
    free_client();
}
END_TEST

/* The first one is the last release of the hold. */
START_TEST(release_of_a_released_hold_is_not_owner)
{
    open_client(_i);
    acquire(lock, 1);
    server_pause(server);
    call_release(&calls[0], lock, 1);
    call_release(&calls[1], lock, 1);
    ck_assert_status(close_late(NULL), HF_E_NOREPLY);
    ck_assert_status(calls[0].status, HF_E_CLOSED);
    ck_assert_status(calls[1].status, HF_NOT_OWNER);
    free_client();
}
END_TEST

/* The connection was lost, so at the close it waits to be sent again, and its undoing with it. */
START_TEST(acquire_without_a_reply_is_not_called_unsent)
{
    struct hf_acquire_options o = acquire_options(1);
    struct hf_error err;

    open_client(_i);
    acquire(lock, 2);
    release(lock, 2);
    server_pause(server);
    call_acquire(&calls[0], lock, &o);
    server_kill(server);
    while (stats_of(client).link.losses == 0)
        if (ways[_i].thread)
            local_poll_rest();
        else
            hf_loop_dispatch(hf_client_loop(client), LONG_MS);
    ck_assert_status(close_late(&err), HF_E_NOREPLY);
    ck_assert_ptr_nonnull(strstr(err.text, "calls had no reply: 1;"));
    ck_assert_closed(0, 1, 1, 0);
    ck_assert_status(calls[0].status, HF_E_CLOSED);
    free_client();
}
END_TEST

START_TEST(server_that_is_not_there_is_left_at_the_deadline)
{
    struct hf_lock_info info;
    struct hf_error err;

    open_client(_i);
    server_kill(server);
    call_init(&calls[0]);
    ck_assert_ok(hf_lock_inspect_async(lock, &info, call_done, &calls[0]));
    ck_assert_status(close_late(&err), HF_E_CONNECT);
    ck_assert_ptr_nonnull(strstr(err.text, "closed before all calls were sent; not sent: 1"));
    ck_assert_closed(0, 1, 0, 0);
    ck_assert_status(calls[0].status, HF_E_CLOSED);
    free_client();
}
END_TEST

/* ---- any allocation may fail ---- */

static bool close_with_failure_at(uint64_t n, int way)
{
    struct hf_acquire_options o = acquire_options(2);
    struct hf_lock *other;
    bool has_failed;

    open_client(way);
    other = lock_of(client, "other");
    acquire(lock, 1);
    acquire(other, 1);
    call_release(&calls[0], lock, 1);
    call_acquire(&calls[1], other, &o);
    call_acquire(&calls[2], lock, &o);
    memory_fail_at(&memory, n);
    ck_assert_ok(close_client());
    ck_assert_uint_ge(closed.holds, 1);
    for (int i = 0; i < CALLS; i++)
        ck_assert_int_eq(calls[i].done, 1);
    has_failed = memory_has_failed(&memory);
    free_client();
    (void)server_ask(server, "FLUSHALL");
    return has_failed;
}

START_TEST(any_allocation_may_fail)
{
    uint64_t n = 1;

    while (n < PLENTY && close_with_failure_at(n, _i))
        n++;
    ck_assert_uint_lt(n, PLENTY);
}
END_TEST

/* ---- */

static void add_cases(Suite *s)
{
    TCase *c = live_case(s, "close", start_server, stop_server);

    tcase_add_loop_test(c, idle_client_is_closed_at_once, 0, COUNT(ways));
    tcase_add_loop_test(c, closed_client_takes_no_calls, 0, COUNT(ways));
    tcase_add_test(c, holds_stay_held_and_renewed);
    tcase_add_loop_test(c, waiters_are_cancelled_at_once, 0,
                        COUNT(ways));
    tcase_add_loop_test(c, blocked_callers_are_sent_away, 0, COUNT(ways));
    tcase_add_loop_test(c, sent_requests_are_answered, 0, COUNT(ways));
    tcase_add_loop_test(c, answers_that_the_network_delays_are_awaited, 0,
                        COUNT(ways));
    tcase_add_loop_test(c, release_in_the_background_is_awaited, 0,
                        COUNT(ways));
    tcase_add_loop_test(c, callbacks_run_while_it_waits, 0, COUNT(ways));
    tcase_add_loop_test(c, acquire_without_a_reply_is_not_called_unsent, 0, COUNT(ways));
    tcase_add_loop_test(c, stopped_server_is_left_at_the_deadline, 0,
                        COUNT(ways));
    tcase_add_loop_test(c, release_after_another_one_is_cancelled_unsent, 0,
                        COUNT(ways));
    tcase_add_loop_test(c, release_of_a_released_hold_is_not_owner, 0,
                        COUNT(ways));
    tcase_add_loop_test(c, server_that_is_not_there_is_left_at_the_deadline, 0,
                        COUNT(ways));
    tcase_add_loop_test(c, any_allocation_may_fail, 0, COUNT(ways));
}

int main(void)
{
    return live_main("lock, close", add_cases);
}
