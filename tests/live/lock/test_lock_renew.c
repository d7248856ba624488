/* A hold that was acquired with a lease is renewed by hand (lock/renew.h), of each kind. Whatever
 * the reply, it is never believed longer than the server keeps it (CLAIM-5). */
#include "lock/renew.h"

#include "lock/permits.h"
#include "tests/live/test_lock.h"
#include "tests/support/one_server.h"
#include "tests/support/proxy.h"

#define MINUTE_MS 60000
#define HOUR_MS 3600000
#define OWNER 1

static const enum hf_lock_kind kinds[] = {
    HF_KIND_PLAIN, HF_KIND_FAIR,  HF_KIND_NONREENTRANT, HF_KIND_SPIN,
    HF_KIND_VALUE, HF_KIND_WRITE, HF_KIND_READ,         HF_KIND_FENCED,
    HF_KIND_PERMIT,
};

static struct proxy *proxy;
static struct hf_client *client;
static struct diary diary;

static void start(void)
{
    start_server();
    proxy = proxy_start(server_port(server));
    client = client_timed(proxy_port(proxy), MINUTE_MS, LONG_MS);
}

static void stop(void)
{
    hf_client_free(client);
    proxy_stop(proxy);
    stop_server();
}

static struct hf_lock *lock_in(enum hf_lock_kind kind)
{
    struct hf_lock *lock = lock_of_kind(client, kind, NAME);
    bool is_new;

    if (kind == HF_KIND_PERMIT)
        ck_assert_ok(hf_permits_try_set(lock, 1, &is_new, NULL));
    return lock;
}

static struct hf_lock *held(enum hf_lock_kind kind, int64_t lease_ms)
{
    struct hf_lock *lock = lock_in(kind);
    struct hf_acquire_options o = diary_options(&diary, OWNER);

    o.lease_ms = lease_ms;
    ck_assert_ok(hf_lock_acquire(lock, &o, NULL));
    return lock;
}

static int64_t kept_ms(struct hf_lock *lock)
{
    struct hf_lock_info info;

    ck_assert_ok(hf_lock_inspect(lock, &info, NULL));
    return info.ttl_ms;
}

/* The server is asked first: what it keeps can only be less afterwards. */
static void ck_assert_safe(struct hf_lock *lock, int64_t least_ms)
{
    int64_t kept = kept_ms(lock), safe_ms = hf_lock_safe_ms(lock, OWNER);

    ck_assert_int_ge(safe_ms, least_ms);
    ck_assert_int_le(safe_ms, kept);
}

START_TEST(it_lasts_longer)
{
    struct hf_lock *lock = held(kinds[_i], MINUTE_MS);

    ck_assert_ok(hf_lock_renew(lock, OWNER, HOUR_MS, NULL));
    ck_assert_safe(lock, HOUR_MS - MINUTE_MS);
    ck_assert_int_eq(diary.renewals, 0);
    ck_assert_ok(hf_lock_release(lock, OWNER, NULL));
    ck_assert_int_eq(kept_ms(lock), -2);
    hf_lock_free(lock);
}
END_TEST

START_TEST(it_is_never_shortened)
{
    struct hf_lock *lock = held(kinds[_i], HOUR_MS);

    ck_assert_ok(hf_lock_renew(lock, OWNER, 1000, NULL));
    ck_assert_safe(lock, HOUR_MS - 2 * MINUTE_MS);
    ck_assert_int_gt(kept_ms(lock), HOUR_MS - MINUTE_MS);
    hf_lock_free(lock);
}
END_TEST

/* An operator has cut it. The reply says so, and the client believes it. */
START_TEST(a_ttl_that_was_cut_counts)
{
    struct hf_lock *lock = held(HF_KIND_PLAIN, HOUR_MS);

    (void)server_ask(server, "PEXPIRE " NAME " 50000");
    ck_assert_ok(hf_lock_renew(lock, OWNER, 1000, NULL));
    ck_assert_safe(lock, 10000);
    hf_lock_free(lock);
}
END_TEST

/* Of another program: the lock is certain for no longer than a call of its owner would set. */
START_TEST(a_hold_without_a_ttl_is_safe_for_its_lease)
{
    struct hf_lock *lock = held(HF_KIND_PLAIN, MINUTE_MS);

    (void)server_ask(server, "PERSIST " NAME);
    ck_assert_ok(hf_lock_renew(lock, OWNER, 1000, NULL));
    ck_assert_int_gt(hf_lock_safe_ms(lock, OWNER), MINUTE_MS / 2);
    ck_assert_int_le(hf_lock_safe_ms(lock, OWNER), MINUTE_MS);
    ck_assert_int_eq(kept_ms(lock), -1);
    hf_lock_free(lock);
}
END_TEST

START_TEST(a_partial_release_keeps_the_new_lease)
{
    struct hf_lock *lock = held(HF_KIND_PLAIN, MINUTE_MS);

    acquire_for(lock, OWNER, MINUTE_MS);
    ck_assert_ok(hf_lock_renew(lock, OWNER, HOUR_MS, NULL));
    release(lock, OWNER);
    ck_assert_safe(lock, HOUR_MS - MINUTE_MS);
    release(lock, OWNER);
    hf_lock_free(lock);
}
END_TEST

START_TEST(what_is_not_held_is_not_renewed)
{
    struct hf_lock *lock = held(kinds[_i], MINUTE_MS);

    ck_assert_status(hf_lock_renew(lock, OWNER + 1, HOUR_MS, NULL), HF_NOT_OWNER);
    release(lock, OWNER);
    ck_assert_status(hf_lock_renew(lock, OWNER, HOUR_MS, NULL), HF_NOT_OWNER);
    hf_lock_free(lock);
}
END_TEST

START_TEST(a_hold_that_was_taken_away_is_lost)
{
    struct hf_lock *lock = held(kinds[_i], MINUTE_MS);
    struct hf_error err;

    ck_assert_ok(hf_lock_force_release(lock, NULL, 0, NULL));
    ck_assert_status(hf_lock_renew(lock, OWNER, HOUR_MS, &err), HF_LOST);
    ck_assert_ptr_nonnull(strstr(err.text, "hf_lock_release"));
    ck_assert_int_eq(diary_await_loss(&diary), HF_REASON_DELETED);
    ck_assert_status(hf_lock_renew(lock, OWNER, HOUR_MS, NULL), HF_LOST);
    ck_assert_status(hf_lock_release(lock, OWNER, NULL), HF_LOST);
    ck_assert_int_eq(kept_ms(lock), -2);
    hf_lock_free(lock);
}
END_TEST

START_TEST(a_hold_that_the_client_renews_is_refused)
{
    struct hf_lock *lock = held(HF_KIND_PLAIN, _i ? MINUTE_MS : 0);
    struct hf_error err;

    if (_i)
        acquire_for(lock, OWNER, 0);
    ck_assert_status(hf_lock_renew(lock, OWNER, HOUR_MS, &err), HF_E_INVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "by itself"));
    ck_assert_int_le(kept_ms(lock), MINUTE_MS);
    hf_lock_free(lock);
}
END_TEST

static const int64_t no_leases[] = {0, -1, HF_SPAN_MAX_MS + 1};

START_TEST(no_lease_is_refused)
{
    struct hf_lock *lock = held(HF_KIND_PLAIN, MINUTE_MS);
    struct call call;

    call_init(&call);
    ck_assert_status(hf_lock_renew(lock, OWNER, no_leases[_i], NULL), HF_E_INVAL);
    ck_assert_status(hf_lock_renew_async(lock, OWNER, no_leases[_i], call_done, &call),
                     HF_E_INVAL);
    hf_lock_free(lock);
}
END_TEST

/* While it has no reply, and if it gets none, the lease is what it was: CLAIM-5. */
START_TEST(without_a_reply_nothing_is_shortened)
{
    struct hf_lock *lock = held(HF_KIND_PLAIN, MINUTE_MS);
    struct call call;

    call_init(&call);
    proxy_hold(proxy, PROXY_TO_CLIENT, true);
    ck_assert_ok(hf_lock_renew_async(lock, OWNER, 1000, call_done, &call));
    ck_assert_int_gt(hf_lock_safe_ms(lock, OWNER), MINUTE_MS / 2);
    proxy_hold(proxy, PROXY_TO_CLIENT, false);
    ck_assert_ok(call_await(&call));
    ck_assert_safe(lock, MINUTE_MS / 2);
    hf_lock_free(lock);
}
END_TEST

/* With its connection: it is sent again. */
START_TEST(a_request_whose_reply_is_lost_is_repeated)
{
    struct hf_lock *lock = held(HF_KIND_PLAIN, MINUTE_MS);

    ck_assert_ok(hf_lock_renew(lock, OWNER, MINUTE_MS, NULL)); /* it has the script */
    proxy_cut_after(proxy, PROXY_TO_CLIENT, 0, PROXY_CLOSE);
    ck_assert_ok(hf_lock_renew(lock, OWNER, HOUR_MS, NULL));
    ck_assert(proxy_has_cut(proxy));
    ck_assert_safe(lock, HOUR_MS - MINUTE_MS);
    hf_lock_free(lock);
}
END_TEST

/* It does not outlast the hold. What the server extended all the same is released. */
START_TEST(it_ends_with_the_lease)
{
    struct hf_lock *lock = held(HF_KIND_PLAIN, 1500);

    ck_assert_ok(hf_lock_renew(lock, OWNER, 1500, NULL)); /* it has the script */
    proxy_hold(proxy, PROXY_TO_CLIENT, true);
    ck_assert_status(hf_lock_renew(lock, OWNER, HOUR_MS, NULL), HF_LOST);
    ck_assert_int_gt(server_ask_int(server, "PTTL " NAME), MINUTE_MS);
    (void)diary_await_loss(&diary);
    ck_assert_status(hf_lock_release(lock, OWNER, NULL), HF_LOST);
    proxy_hold(proxy, PROXY_TO_CLIENT, false);
    acquire_for(lock, OWNER + 1, 1000); /* before that hour has passed */
    hf_lock_free(lock);
}
END_TEST

/* A call of the owner is pending: the renewal follows it. */
START_TEST(calls_of_one_owner_follow_each_other)
{
    struct hf_lock *lock = held(HF_KIND_PLAIN, MINUTE_MS);
    struct call first, last;

    call_init(&last);
    proxy_hold(proxy, PROXY_TO_SERVER, true);
    call_release(&first, lock, OWNER);
    ck_assert_ok(hf_lock_renew_async(lock, OWNER, HOUR_MS, call_done, &last));
    proxy_hold(proxy, PROXY_TO_SERVER, false);
    ck_assert_ok(call_await(&first));
    ck_assert_status(call_await(&last), HF_NOT_OWNER);
    hf_lock_free(lock);
}
END_TEST

/* The clients of several threads, and the end of a client. */
START_TEST(a_client_may_be_closed_meanwhile)
{
    struct hf_client *other = client_timed(proxy_port(proxy), MINUTE_MS, LONG_MS);
    struct hf_lock *lock = lock_of(other, NAME);
    struct call call;

    acquire_for(lock, OWNER, MINUTE_MS);
    call_init(&call);
    proxy_hold(proxy, PROXY_TO_CLIENT, true);
    ck_assert_ok(hf_lock_renew_async(lock, OWNER, HOUR_MS, call_done, &call));
    if (_i)
        ck_assert_int_lt(hf_client_close(other, 0, NULL, NULL), 0);
    hf_client_free(other);
    ck_assert_status(call_await(&call), HF_E_CLOSED);
    proxy_hold(proxy, PROXY_TO_CLIENT, false);
}
END_TEST

static void add(Suite *s)
{
    TCase *c = live_case(s, "renew", start, stop);

    tcase_add_loop_test(c, it_lasts_longer, 0, COUNT(kinds));
    tcase_add_loop_test(c, it_is_never_shortened, 0, COUNT(kinds));
    tcase_add_test(c, a_ttl_that_was_cut_counts);
    tcase_add_test(c, a_hold_without_a_ttl_is_safe_for_its_lease);
    tcase_add_test(c, a_partial_release_keeps_the_new_lease);
    c = live_case(s, "refused", start, stop);
    tcase_add_loop_test(c, what_is_not_held_is_not_renewed, 0, COUNT(kinds));
    tcase_add_loop_test(c, a_hold_that_was_taken_away_is_lost, 0, COUNT(kinds));
    tcase_add_loop_test(c, a_hold_that_the_client_renews_is_refused, 0, 2);
    tcase_add_loop_test(c, no_lease_is_refused, 0, COUNT(no_leases));
    c = live_case(s, "replies", start, stop);
    tcase_add_test(c, without_a_reply_nothing_is_shortened);
    tcase_add_test(c, a_request_whose_reply_is_lost_is_repeated);
    tcase_add_test(c, it_ends_with_the_lease);
    tcase_add_test(c, calls_of_one_owner_follow_each_other);
    tcase_add_loop_test(c, a_client_may_be_closed_meanwhile, 0, 2);
}

int main(void)
{
    return live_main("renew", add);
}
