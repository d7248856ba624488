/* Leases that become shorter: a re-entry, a renewal, a release that is under way
 * or was never answered. Whatever the order, a hold is never believed longer than
 * the server keeps it (CLAIM-1 to CLAIM-4; faults 6). */
#include "tests/live/test_lock.h"
#include "tests/support/one_server.h"
#include "tests/support/proxy.h"

#define WATCHDOG_MS 3000
#define LONG_LEASE 60000

static struct proxy *proxy;
static struct hf_client *client;
static struct hf_lock *lock;
static struct diary diary;

static void start(void)
{
    start_server();
    proxy = proxy_start(server_port(server));
    client = client_timed(proxy_port(proxy), WATCHDOG_MS, LONG_MS);
    lock = lock_of(client, NAME);
}

static void stop(void)
{
    hf_client_free(client);
    proxy_stop(proxy);
    stop_server();
}

static void hold_for(int64_t lease_ms)
{
    struct hf_acquire_options o = diary_options(&diary, 1);

    o.lease_ms = lease_ms;
    ck_assert_ok(hf_lock_acquire(lock, &o, NULL));
}

static void reenter(struct call *call, int64_t lease_ms)
{
    struct hf_acquire_options o = acquire_options(1);

    o.lease_ms = lease_ms;
    call_acquire(call, lock, &o);
}

/* P1. The server is asked first: what is left there can only be less by the time
 * that we are asked; but where a renewal comes in between, on a busy machine, both
 * are asked again. A belief that is too long stays so. */
static void ck_assert_not_believed_too_long(void)
{
    int64_t kept_ms = 0, safe_ms = 1;

    for (int i = 0; i < 3 && safe_ms > kept_ms; i++) {
        kept_ms = server_ask_int(server, "PTTL " NAME);
        safe_ms = hf_lock_safe_ms(lock, 1);
    }
    ck_assert_msg(safe_ms <= kept_ms, "safe for %lld ms, kept for %lld ms",
                  (long long)safe_ms, (long long)kept_ms);
}

static void await_pttl_below(int64_t ms)
{
    int64_t deadline_ms = local_now_ms() + AWAIT_MS;

    while (server_ask_int(server, "PTTL " NAME) > ms)
        ck_assert_msg(local_now_ms() < deadline_ms, "the TTL was not cut");
}

/* ---- re-entries ---- */

START_TEST(a_shorter_reentry_counts_while_it_is_under_way)
{
    struct call call;

    hold_for(LONG_LEASE);
    proxy_hold(proxy, PROXY_TO_CLIENT, true);
    reenter(&call, 1000);
    ck_assert_int_le(hf_lock_safe_ms(lock, 1), 1000);
    await_pttl_below(1000);
    ck_assert_not_believed_too_long();
    ck_assert_overdue(&diary, HF_REASON_LEASE_ENDED);
    proxy_hold(proxy, PROXY_TO_CLIENT, false);
    ck_assert_status(call_await(&call), HF_LOST);
}
END_TEST

START_TEST(a_shorter_reentry_that_is_refused_cuts_nothing)
{
    struct call call;

    hold_for(LONG_LEASE);
    (void)server_ask(server, "SET maxmemory-is-not-needed 1");
    (void)server_ask(server, "CONFIG SET maxmemory 1");
    reenter(&call, 1000);
    ck_assert_status(call_await(&call), HF_E_SERVER);
    (void)server_ask(server, "CONFIG SET maxmemory 0");
    reenter(&call, LONG_LEASE);
    ck_assert_ok(call_await(&call));
    ck_assert_int_gt(hf_lock_safe_ms(lock, 1), 2 * WATCHDOG_MS);
    release(lock, 1);
    release(lock, 1);
}
END_TEST

/* ---- renewals ---- */

/* The renewal is executed, its answer lost, and then nothing passes. */
START_TEST(a_renewal_that_cuts_a_longer_lease_counts_though_unanswered)
{
    struct call call;

    hold_for(0);
    note_await(&diary.note, &diary.renewals, 1, "a renewal"); /* is known now */
    reenter(&call, LONG_LEASE);
    ck_assert_ok(call_await(&call));
    ck_assert_int_gt(hf_lock_safe_ms(lock, 1), 2 * WATCHDOG_MS);
    proxy_swallow(proxy, PROXY_TO_CLIENT, true);
    await_pttl_below(WATCHDOG_MS);
    proxy_hold(proxy, PROXY_TO_SERVER, true);
    ck_assert_not_believed_too_long();
    proxy_cut(proxy, PROXY_RESET);
    ck_assert_not_believed_too_long();
    ck_assert_unreached(&diary);
    proxy_hold(proxy, PROXY_TO_SERVER, false);
}
END_TEST

/* ---- releases ---- */

START_TEST(a_hold_is_not_safe_while_its_last_release_is_under_way)
{
    struct call call;

    hold_for(0);
    ck_assert_int_gt(hf_lock_safe_ms(lock, 1), 0);
    proxy_hold(proxy, PROXY_TO_SERVER, true);
    call_release(&call, lock, 1);
    ck_assert_int_eq(hf_lock_safe_ms(lock, 1), INT64_MIN);
    proxy_hold(proxy, PROXY_TO_SERVER, false);
    ck_assert_ok(call_await(&call));
}
END_TEST

START_TEST(a_partial_release_keeps_the_hold_and_its_lease)
{
    hold_for(LONG_LEASE);
    acquire_for(lock, 1, LONG_LEASE);
    release(lock, 1);
    ck_assert_int_gt(hf_lock_safe_ms(lock, 1), 2 * WATCHDOG_MS);
    ck_assert_not_believed_too_long();
    release(lock, 1);
}
END_TEST

/* ---- late grants ---- */

static int64_t asked(void)
{
    return script_calls(server);
}

/* Begins to acquire, and lets the server answer when `ms` have gone by. */
static void acquire_from_a_frozen_server(struct call *call, int64_t wait_ms,
                                         int64_t ms)
{
    struct hf_acquire_options o = diary_options(&diary, 1);
    int64_t begin_ms;

    acquire(lock, 9); /* the script is known to the server */
    release(lock, 9);
    (void)server_ask(server, "CONFIG RESETSTAT");
    server_pause(server);
    o.wait_ms = wait_ms;
    begin_ms = local_now_ms();
    call_acquire(call, lock, &o);
    while (local_now_ms() < begin_ms + ms) {
        (void)hf_lock_safe_ms(lock, 1);
        local_rest_us(500);
    }
    server_resume(server);
}

static const struct {
    int64_t wait_ms, frozen_ms;
} late[] = {
    {HF_FOREVER, WATCHDOG_MS * 6 / 10},
    {HF_FOREVER, WATCHDOG_MS + 500}, /* the lease has ended */
    {60000, WATCHDOG_MS * 6 / 10},
    {0, WATCHDOG_MS * 6 / 10},
};

START_TEST(a_late_grant_is_requested_again)
{
    struct call call;

    acquire_from_a_frozen_server(&call, late[_i].wait_ms, late[_i].frozen_ms);
    ck_assert_ok(call_await(&call));
    ck_assert_int_ge(asked(), 2);
    ck_assert_not_believed_too_long();
    ck_assert_int_gt(hf_lock_safe_ms(lock, 1), 0);
    ck_assert_holder(server, lock, 1, 1);
    release(lock, 1);
    ck_assert_str_eq(hash_of(server, NAME), "");
}
END_TEST

START_TEST(a_grant_in_time_is_requested_once)
{
    (void)server_ask(server, "CONFIG RESETSTAT");
    acquire(lock, 1);
    ck_assert_int_le(asked(), 2); /* EVALSHA, and EVAL where it is not known */
    release(lock, 1);
}
END_TEST

/* ---- renewals that wait for room ---- */

#define MANY 100              /* more than are kept for the next acquire */
#define LONG_NAME 60000

/* Names so long that only some of the renewals find room while the server stands
 * still. The holds are lost, released, and freed while the others still wait:
 * what these point at must last (WATCHDOG-3), or they must not be sent (WATCHDOG-2). */
START_TEST(renewals_that_wait_for_room_outlive_the_holds_that_they_are_for)
{
    struct hf_client_options o;
    char url[SERVER_URL_MAX];
    struct hf_client *narrow;
    struct hf_lock *locks[MANY];
    static char name[LONG_NAME];
    struct diary diaries[MANY];

    client_options(&o, url, server_port(server));
    o.watchdog_ms = 1200;
    o.output_max = 192u << 10;
    narrow = client_with(&o);
    memset(name, 'n', sizeof name);
    for (int i = 0; i < MANY; i++) {
        struct hf_acquire_options a = diary_options(&diaries[i], 1);

        name[0] = (char)i;
        locks[i] = lock_named(narrow, name, sizeof name);
        ck_assert_ok(hf_lock_acquire(locks[i], &a, NULL));
    }
    server_pause(server);
    for (int i = 0; i < MANY; i++) {
        struct call call;

        ck_assert_unreached(&diaries[i]);
        call_release(&call, locks[i], 1);
        ck_assert_status(call_await(&call), HF_LOST);
        hf_lock_free(locks[i]);
    }
    server_resume(server);
    locks[0] = lock_of(narrow, NAME);
    acquire(locks[0], 1);
    release(locks[0], 1);
    /* The silent connection may have been replaced, if the second one was faster. */
    ck_assert_uint_le(stats_of(narrow).link.losses, 1);
    hf_client_free(narrow);
}
END_TEST

static void add(Suite *s)
{
    TCase *c = live_case(s, "shorter", start, stop);

    tcase_add_test(c, a_shorter_reentry_counts_while_it_is_under_way);
    tcase_add_test(c, a_shorter_reentry_that_is_refused_cuts_nothing);
    tcase_add_test(
        c, a_renewal_that_cuts_a_longer_lease_counts_though_unanswered);
    tcase_add_test(c, a_hold_is_not_safe_while_its_last_release_is_under_way);
    tcase_add_test(c, a_partial_release_keeps_the_hold_and_its_lease);
    tcase_add_loop_test(c, a_late_grant_is_requested_again, 0, COUNT(late));
    tcase_add_test(c, a_grant_in_time_is_requested_once);
    tcase_add_test(
        c, renewals_that_wait_for_room_outlive_the_holds_that_they_are_for);
}

int main(void)
{
    return live_main("lock, shorter leases", add);
}
