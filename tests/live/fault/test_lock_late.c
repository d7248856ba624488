/* Requests whose fate is unknown: answered too late, executed too late, or lost
 * on the way. Counts stay exact, no lock stays that nobody holds, and no later
 * hold is harmed (design 4, 11, 12). */
#include "tests/live/test_lock.h"
#include "tests/support/lua_client.h"
#include "tests/support/one_server.h"
#include "tests/support/proxy.h"

static struct hf_client *client;
static struct hf_lock *lock;

static void stop(void)
{
    hf_client_free(client);
    client = NULL;
    stop_server();
}

/* ---- executed late ---- */

/* May the client kill its predecessor on the server? */
static const char *const rules[] = {"~* &* +@all",
                                    "~* &* +@all -client|kill"};

#define LEASE 900               /* of a lock that only its lease can end */
#define ROUNDS 12               /* in half of them the late one comes late */

/* With patience for the time in which it connects anew. */
static void acquire_patiently(int64_t owner)
{
    int64_t deadline_ms = local_now_ms() + AWAIT_MS;
    struct hf_error err = {0};
    hf_status rc = HF_E_NOREPLY;

    while (rc <= HF_E_CONNECT && local_now_ms() < deadline_ms) {
        struct hf_acquire_options o = acquire_options(owner);

        rc = hf_lock_acquire(lock, &o, &err);
    }
    ck_assert_msg(rc == HF_OK, "%s: %s", hf_status_name(rc), err.text);
}

/* Its last acquisition: without an answer, the client repeats the release. */
static void release_patiently(int64_t owner)
{
    hf_status rc = hf_lock_release(lock, owner, NULL);

    ck_assert_msg(rc == HF_OK || rc == HF_E_NOREPLY || rc == HF_E_CONNECT, "%s",
                  hf_status_name(rc));
    server_await(server, LONG_MS, "0", "EXISTS " NAME);
}

static void open_client(int rule, int64_t watchdog_ms)
{
    struct hf_client_options o;
    char url[SERVER_URL_MAX], text[100];

    (void)snprintf(text, sizeof text, "ACL SETUSER eve on nopass %s",
                   rules[rule]);
    (void)server_ask(server, text);
    client_options(&o, url, server_port(server));
    o.user = "eve";
    o.password = "any";
    o.request_timeout_ms = 150;
    o.connect_timeout_ms = 2000;
    o.watchdog_ms = watchdog_ms;
    client = client_with(&o);
    lock = lock_of(client, NAME);
    acquire_patiently(99);      /* the scripts are known */
    release_patiently(99);
}

/* Until the connections of the past are gone, and what lay in their buffers is
 * executed or forgotten. */
static int connections(void)
{
    const char *list = server_ask(server, "CLIENT LIST");
    int n = 0;

    while ((list = strstr(list, "user=eve"))) {
        list++;
        n++;
    }
    return n;
}

static void await_quiet(void)
{
    int64_t deadline_ms = local_now_ms() + AWAIT_MS;

    while (connections() > 1) {
        ck_assert_msg(local_now_ms() < deadline_ms,
                      "old connections do not go");
        local_poll_rest();
    }
}

/* The acquire lies in the stopped server's buffer; its caller gave up. Who asks
 * next does not wait for the lease. */
START_TEST(a_late_acquire_leaves_no_orphan)
{
    open_client(_i, 60000);
    for (int round = 0; round < ROUNDS; round++) {
        connect_patiently(client);
        server_pause(server);
        local_rest_us(2000);
        ck_assert_int_lt(try_acquire(lock, 1, NULL), 0);
        ck_assert_str_eq(
            hf_lock_owner_text(lock, 1, (char[HF_OWNER_TEXT_MAX]){0}), "");
        server_resume(server);
        acquire_patiently(2);
        await_quiet();
        ck_assert_holder(server, lock, 2, 1);
        release_patiently(2);
    }
    ck_assert_uint_eq(stats_of(client).holds, 0);
}
END_TEST

/* Where the old connection may be killed, not even the lease is waited for. */
START_TEST(a_late_acquire_of_a_killed_connection_is_never_executed)
{
    open_client(0, 60000);
    for (int round = 0; round < ROUNDS; round++) {
        connect_patiently(client);
        server_pause(server);
        local_rest_us(2000);
        ck_assert_int_lt(try_acquire(lock, 1, NULL), 0);
        server_resume(server);
        connect_patiently(client);
        await_quiet();
        server_await(server, LONG_MS, "0", "EXISTS " NAME);
    }
}
END_TEST

START_TEST(a_late_release_does_not_end_the_next_hold)
{
    open_client(_i, 60000);
    for (int round = 0; round < ROUNDS; round++) {
        acquire_patiently(1);
        server_pause(server);
        local_rest_us(2000);
        ck_assert_int_lt(hf_lock_release(lock, 1, NULL), 0);
        ck_assert_status(hf_lock_release(lock, 1, NULL), HF_NOT_OWNER);
        server_resume(server);
        acquire_patiently(1); /* free by the late one, or by its repetition */
        await_quiet();
        ck_assert_holder(server, lock, 1, 1);
        release_patiently(1);
    }
}
END_TEST

START_TEST(a_late_reentry_or_partial_release_revives_nothing)
{
    open_client(_i, 60000);
    for (int round = 0; round < ROUNDS; round++) {
        acquire_patiently(1);
        if (round % 2)
            acquire_patiently(1);
        server_pause(server);
        local_rest_us(2000);
        if (round % 2)
            ck_assert_int_lt(hf_lock_release(lock, 1, NULL), 0);
        else
            ck_assert_int_lt(try_acquire(lock, 1, NULL), 0);
        server_resume(server);
        connect_patiently(client);
        release_patiently(1); /* the last one */
        await_quiet();
        ck_assert_status(hf_lock_release(lock, 1, NULL), HF_NOT_OWNER);
    }
}
END_TEST

START_TEST(a_late_renewal_prolongs_nothing)
{
    struct diary diary;
    struct hf_acquire_options o;

    open_client(_i, LEASE);
    for (int round = 0; round < 3; round++) {
        o = diary_options(&diary, 1);
        acquire_patiently(5); /* it is connected */
        release_patiently(5);
        ck_assert_ok(hf_lock_acquire(lock, &o, NULL));
        server_pause(server);
        ck_assert_unreached(&diary);
        ck_assert_uint_gt(stats_of(client).renewal_requests, 0);
        ck_assert_status(hf_lock_release(lock, 1, NULL), HF_LOST);
        server_resume(server);
        server_await(server, AWAIT_MS, "(nil)", "EVAL %s 1 " NAME " 2000 "
                     LUA_HOLDER,
                     "if redis.call('exists', KEYS[1]) == 1 then return 0 end "
                     "redis.call('hincrby', KEYS[1], ARGV[2], 1) "
                     "redis.call('pexpire', KEYS[1], ARGV[1]) return nil");
        connect_patiently(client);
        await_quiet();
        ck_assert_str_eq(hash_of(server, NAME), LUA_HOLDER " 1");
        ck_assert_int_le(server_ask_int(server, "PTTL " NAME), 2000);
        (void)lua_force_release(server, NAME, strlen(NAME));
        ck_assert_int_eq(diary.losses, 1);
    }
}
END_TEST

/* ---- answered into the void ---- */

static struct proxy *proxy;

static void start_far(void)
{
    start_server();
    proxy = proxy_start(server_port(server));
    client = client_to(proxy_port(proxy));
    lock = lock_of(client, NAME);
}

static void stop_far(void)
{
    hf_client_free(client);
    client = NULL;
    proxy_stop(proxy);
    stop_server();
}

/* What the server answers in between is lost, with its connection. */
static uint64_t dropped;

static void deafen(void)
{
    dropped = proxy_count(proxy, PROXY_TO_CLIENT, PROXY_DROPPED);
    proxy_swallow(proxy, PROXY_TO_CLIENT, true);
}

static void await_lost_answer(void)
{
    ck_assert(proxy_await(proxy, PROXY_TO_CLIENT, PROXY_DROPPED, dropped + 1,
                          LONG_MS));
}

static void connect_anew(void)
{
    proxy_cut(proxy, PROXY_RESET);
    proxy_swallow(proxy, PROXY_TO_CLIENT, false);
}

static void acquire_unheard(int64_t owner)
{
    struct hf_acquire_options o = acquire_options(owner);
    struct call call;

    deafen();
    call_acquire(&call, lock, &o);
    await_lost_answer();
    connect_anew();
    ck_assert_status(call_await(&call), HF_OK);
}

static hf_status release_unheard(int64_t owner)
{
    struct call call;

    deafen();
    call_release(&call, lock, owner);
    await_lost_answer();
    connect_anew();
    return call_await(&call);
}

START_TEST(lost_answers_leave_every_count_exact)
{
    acquire(lock, 9);
    release(lock, 9);
    for (int n = 1; n <= 4; n++) {
        acquire_unheard(1);
        ck_assert_holder(server, lock, 1, n);
    }
    for (int n = 3; n >= 1; n--) {
        ck_assert_status(release_unheard(1), HF_OK);
        ck_assert_holder(server, lock, 1, n);
    }
    ck_assert_status(release_unheard(1), HF_OK); /* design 12 */
    ck_assert_str_eq(hash_of(server, NAME), "");
    ck_assert_status(hf_lock_release(lock, 1, NULL), HF_NOT_OWNER);
}
END_TEST

/* Between the lost answer and the repetition another takes it. */
START_TEST(an_unanswered_release_is_ok_though_another_client_holds_it)
{
    struct call call;

    acquire(lock, 1);
    release(lock, 1);
    acquire(lock, 1);
    deafen();
    call_release(&call, lock, 1);
    await_lost_answer();
    ck_assert_str_eq(
        lua_acquire(server, NAME, strlen(NAME), LUA_HOLDER, 30000), "(nil)");
    connect_anew();
    ck_assert_status(call_await(&call), HF_OK);
    ck_assert_str_eq(hash_of(server, NAME), LUA_HOLDER " 1");
}
END_TEST

START_TEST(an_unanswered_partial_release_of_a_missing_lock_is_lost)
{
    struct diary diary;
    struct hf_acquire_options o = diary_options(&diary, 1);
    struct call call;

    ck_assert_ok(hf_lock_acquire(lock, &o, NULL));
    ck_assert_ok(hf_lock_acquire(lock, &o, NULL));
    deafen();
    call_release(&call, lock, 1);
    await_lost_answer();
    (void)server_ask(server, "DEL " NAME);
    connect_anew();
    ck_assert_status(call_await(&call), HF_LOST);
    ck_assert_int_eq(diary_await_loss(&diary), HF_REASON_DELETED);
    ck_assert_status(hf_lock_release(lock, 1, NULL), HF_LOST);
    ck_assert_status(hf_lock_release(lock, 1, NULL), HF_NOT_OWNER);
}
END_TEST

/* Nobody drove while the lease ended: when it is first asked, the hold is not
 * safe, and what is found gone may have been another's doing. */
START_TEST(an_unheard_release_after_the_safe_moment_is_lost)
{
    struct hf_client_options o;
    char url[SERVER_URL_MAX];
    struct call call;

    hf_client_free(client);
    client_options(&o, url, proxy_port(proxy));
    o.thread = false;
    client = client_with(&o);
    lock = lock_of(client, NAME);
    acquire(lock, 1);
    release(lock, 1);
    acquire_for(lock, 1, 200);
    server_await(server, LONG_MS, "0", "EXISTS " NAME);
    deafen();
    call_release(&call, lock, 1);
    await_lost_answer();
    connect_anew();
    ck_assert_status(call_drive(&call, client), HF_LOST);
}
END_TEST

/* The client reads the lock first. That reply arrives, and the release is on its way then. */
START_TEST(an_unanswered_force_without_a_holder_is_not_repeated)
{
    struct hf_lock_info info;
    struct call call;
    uint64_t heard;

    (void)lua_acquire(server, NAME, strlen(NAME), LUA_HOLDER, 30000);
    ck_assert_ok(hf_lock_force_release(lock, NULL, 0, NULL));
    (void)lua_acquire(server, NAME, strlen(NAME), LUA_HOLDER, 30000);
    proxy_delay(proxy, PROXY_TO_SERVER, 700);
    heard = proxy_count(proxy, PROXY_TO_CLIENT, PROXY_PASSED);
    call_init(&call);
    ck_assert_ok(
        hf_lock_force_release_async(lock, NULL, 0, call_done, &call));
    ck_assert(proxy_await(proxy, PROXY_TO_CLIENT, PROXY_PASSED, heard + 1, LONG_MS));
    deafen();
    await_lost_answer();
    proxy_delay(proxy, PROXY_TO_SERVER, 0);
    (void)lua_acquire(server, NAME, strlen(NAME), LUA_HOLDER_2, 30000);
    connect_anew();
    ck_assert_status(call_await(&call), HF_E_NOREPLY);
    ck_assert_ptr_nonnull(strstr(call.error.text, "check the lock before you retry"));
    ck_assert_ok(hf_lock_inspect(lock, &info, NULL));
    ck_assert_str_eq(info.holder, LUA_HOLDER_2);
}
END_TEST

/* The answer comes, but after the caller has given up: it finds its place taken
 * by nobody, and the next answers are the right ones. */
START_TEST(late_answers_are_discarded)
{
    struct hf_lock *other = lock_of(client, "other");
    struct hf_lock_info info;

    acquire(lock, 1);
    acquire(lock, 1);
    proxy_delay(proxy, PROXY_TO_CLIENT, 5);
    for (int round = 0; round < 40; round++) {
        struct hf_acquire_options o = acquire_options(2);
        struct hf_cancel cancel;
        struct call call;

        hf_cancel_init(&cancel, client);
        o.cancel = &cancel;
        call_acquire(&call, round % 2 ? lock : other, &o);
        hf_cancel_fire(&cancel);
        ck_assert_status(call_await(&call), HF_CANCELLED);
        ck_assert_ok(hf_lock_inspect(lock, &info, NULL));
        ck_assert_int_eq(info.hold_count, 2);
        ck_assert_holder(server, lock, 1, 2);
    }
    server_await(server, LONG_MS, "0", "EXISTS other");
    ck_assert_uint_eq(stats_of(client).link.connects, 1);
    release(lock, 1);
    release(lock, 1);
    server_await(server, LONG_MS, "0", "EXISTS " NAME);
}
END_TEST

/* An answer that took longer than the lease grants nothing. */
START_TEST(a_grant_after_its_lease_is_not_a_hold)
{
    struct hf_acquire_options o = acquire_options(1);
    struct hf_error err;

    acquire(lock, 9);
    release(lock, 9);
    o.lease_ms = 200;
    proxy_delay(proxy, PROXY_TO_CLIENT, 300);
    ck_assert_status(hf_lock_acquire(lock, &o, &err), HF_E_NOREPLY);
    ck_assert_ptr_nonnull(strstr(err.text, "lease"));
    ck_assert_status(hf_lock_release(lock, 1, NULL), HF_NOT_OWNER);
    server_await(server, LONG_MS, "0", "EXISTS " NAME);
}
END_TEST

/* ---- cut anywhere ---- */

static void pass_through(void)
{
    acquire(lock, 1);
    ck_assert_holder(server, lock, 1, 1);
    acquire(lock, 1);
    ck_assert_holder(server, lock, 1, 2);
    release(lock, 1);
    ck_assert_holder(server, lock, 1, 1);
    release(lock, 1);
    ck_assert_str_eq(hash_of(server, NAME), "");
}

static const struct {
    enum proxy_way way;
    enum proxy_end end;
    uint64_t step;
} cuts[] = {
    {PROXY_TO_SERVER, PROXY_CLOSE, 1},
    {PROXY_TO_CLIENT, PROXY_CLOSE, 1},
    {PROXY_TO_SERVER, PROXY_RESET, 5},
    {PROXY_TO_CLIENT, PROXY_RESET, 1},
};

/* A client that has seen no misfortune yet connects anew in no time. */
static void start_afresh(void)
{
    hf_client_free(client);
    client = client_to(proxy_port(proxy));
    lock = lock_of(client, NAME);
    ck_assert_ok(hf_client_connect(client, NULL));
}

/* The connection ends behind each byte of acquire, re-entry and both releases,
 * in turn; all of them succeed, and the counts are right after each. */
START_TEST(a_cut_after_any_byte_is_not_noticed)
{
    uint64_t before, bytes;

    pass_through();
    before = proxy_count(proxy, cuts[_i].way, PROXY_PASSED);
    pass_through();
    bytes = proxy_count(proxy, cuts[_i].way, PROXY_PASSED) - before;
    ck_assert_uint_gt(bytes, 100);
    for (uint64_t n = 0; n < bytes; n += cuts[_i].step) {
        start_afresh();
        proxy_cut_after(proxy, cuts[_i].way, n, cuts[_i].end);
        pass_through();
        ck_assert(proxy_has_cut(proxy));
        ck_assert_uint_eq(stats_of(client).link.connects, 2);
        ck_assert_uint_eq(stats_of(client).holds, 0);
    }
}
END_TEST

/* The same while the bytes come in small pieces. */
START_TEST(a_cut_of_a_dripping_connection_is_not_noticed)
{
    pass_through();
    proxy_slice(proxy, PROXY_TO_CLIENT, 3);
    proxy_slice(proxy, PROXY_TO_SERVER, 11);
    for (uint64_t n = 1; n < 600; n += 83) {
        start_afresh();
        proxy_cut_after(proxy, PROXY_TO_SERVER, n, PROXY_CLOSE);
        pass_through();
        start_afresh();
        proxy_cut_after(proxy, PROXY_TO_CLIENT, n / 3, PROXY_RESET);
        pass_through();
    }
}
END_TEST

/* ---- */

static void add_cases(Suite *s)
{
    TCase *c = live_case(s, "executed late", start_server, stop);

    tcase_add_loop_test(c, a_late_acquire_leaves_no_orphan, 0,
                        COUNT(rules));
    tcase_add_test(c, a_late_acquire_of_a_killed_connection_is_never_executed);
    tcase_add_loop_test(c, a_late_release_does_not_end_the_next_hold, 0,
                        COUNT(rules));
    tcase_add_loop_test(c, a_late_reentry_or_partial_release_revives_nothing,
                        0, COUNT(rules));
    tcase_add_loop_test(c, a_late_renewal_prolongs_nothing, 0, COUNT(rules));

    c = live_case(s, "answered into the void", start_far, stop_far);
    tcase_add_test(c, lost_answers_leave_every_count_exact);
    tcase_add_test(c, an_unanswered_release_is_ok_though_another_client_holds_it);
    tcase_add_test(c, an_unanswered_partial_release_of_a_missing_lock_is_lost);
    tcase_add_test(c, an_unheard_release_after_the_safe_moment_is_lost);
    tcase_add_test(c, an_unanswered_force_without_a_holder_is_not_repeated);
    tcase_add_test(c, late_answers_are_discarded);
    tcase_add_test(c, a_grant_after_its_lease_is_not_a_hold);

    c = live_case(s, "cut anywhere", start_far, stop_far);
    tcase_set_timeout(c, 240);
    tcase_add_loop_test(c, a_cut_after_any_byte_is_not_noticed, 0,
                        COUNT(cuts));
    tcase_add_test(c, a_cut_of_a_dripping_connection_is_not_noticed);
}

int main(void)
{
    return live_main("lock, late", add_cases);
}
