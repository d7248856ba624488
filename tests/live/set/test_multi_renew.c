/* A multi-lock that was acquired with a lease is renewed by hand: each member, at once. */
#include "tests/live/test_lock.h"
#include "tests/support/one_server.h"

#include "lock/multi.h"
#include "lock/renew.h"

#define MINUTE_MS 60000
#define HOUR_MS 3600000
#define TIMEOUT_MS 2000
#define MEMBERS 3
#define OWNER 1

static struct server *far; /* a second server, and its client */
static struct hf_client *client, *far_client;
static struct hf_multi *multi;

static struct hf_client *client_of(int port, bool has_thread)
{
    struct hf_client_options o;
    char url[SERVER_URL_MAX];

    client_options(&o, url, port);
    o.thread = has_thread;
    o.request_timeout_ms = TIMEOUT_MS;
    return client_with(&o);
}

static void open(bool has_thread)
{
    struct hf_lock *locks[MEMBERS];

    start_server();
    ck_assert_ptr_nonnull(far = server_start(NULL));
    client = client_of(server_port(server), has_thread);
    far_client = client_of(server_port(far), has_thread);
    locks[0] = lock_of(client, "a");
    locks[1] = lock_of(far_client, "b");
    locks[2] = lock_of_kind(client, HF_KIND_READ, "c");
    ck_assert_ok(hf_multi_new(&multi, locks, MEMBERS, NULL));
}

static void start(void)
{
    open(true);
}

static void stop(void)
{
    hf_multi_free(multi);
    hf_client_free(client);
    hf_client_free(far_client);
    server_stop(far);
    stop_server();
}

static void hold_for(int64_t lease_ms)
{
    struct hf_acquire_options o = acquire_options(OWNER);

    o.lease_ms = lease_ms;
    ck_assert_ok(hf_multi_acquire(multi, &o, NULL));
}

static int64_t least_kept_ms(void)
{
    int64_t a = server_ask_int(server, "PTTL a"), b = server_ask_int(far, "PTTL b");
    int64_t c = server_ask_int(server, "PTTL c");

    a = a < b ? a : b;
    return a < c ? a : c;
}

static void ck_assert_renewed(void)
{
    ck_assert_int_gt(least_kept_ms(), HOUR_MS / 2);
    ck_assert_int_gt(hf_multi_safe_ms(multi, OWNER), HOUR_MS / 2);
    ck_assert_ok(hf_multi_release(multi, OWNER, NULL));
    ck_assert_int_eq(least_kept_ms(), -2);
}

START_TEST(each_member_is_extended)
{
    hold_for(MINUTE_MS);
    ck_assert_ok(hf_multi_renew(multi, OWNER, HOUR_MS, NULL));
    ck_assert_ok(hf_multi_renew(multi, OWNER, 1000, NULL));
    ck_assert_renewed();
}
END_TEST

START_TEST(it_has_a_call_without_blocking)
{
    struct call call;

    hold_for(MINUTE_MS);
    call_init(&call);
    server_pause(far);
    ck_assert_ok(hf_multi_renew_async(multi, OWNER, HOUR_MS, call_done, &call));
    ck_assert_status(hf_multi_renew(multi, OWNER, HOUR_MS, NULL), HF_E_INVAL);
    ck_assert_status(hf_multi_release(multi, OWNER, NULL), HF_E_INVAL);
    server_resume(far);
    ck_assert_ok(call_await(&call));
    ck_assert_renewed();
}
END_TEST

/* No thread drives the loops but the caller. */
START_TEST(loops_without_threads_are_driven)
{
    open(false);
    hold_for(MINUTE_MS);
    ck_assert_ok(hf_multi_renew(multi, OWNER, HOUR_MS, NULL));
    ck_assert_renewed();
    stop();
}
END_TEST

START_TEST(a_member_without_a_reply_keeps_its_lease)
{
    struct hf_error err;

    hold_for(MINUTE_MS);
    server_pause(far);
    ck_assert_status(hf_multi_renew(multi, OWNER, HOUR_MS, &err), HF_E_NOREPLY);
    ck_assert_ptr_nonnull(strstr(err.text, "member 'b'"));
    ck_assert_int_eq(err.member, 2);
    ck_assert_int_gt(hf_multi_safe_ms(multi, OWNER), MINUTE_MS / 2);
    ck_assert_int_lt(hf_multi_safe_ms(multi, OWNER), MINUTE_MS);
    server_resume(far);
    ck_assert_ok(hf_multi_renew(multi, OWNER, HOUR_MS, NULL));
    ck_assert_renewed();
}
END_TEST

START_TEST(a_member_that_is_lost_after_its_extension_is_a_loss)
{
    struct hf_lock *member = lock_of(client, "a");
    struct call call;

    hold_for(MINUTE_MS);
    server_pause(far);
    call_init(&call);
    ck_assert_ok(hf_multi_renew_async(multi, OWNER, HOUR_MS, call_done, &call));
    ck_assert_ok(hf_lock_renew(member, OWNER, HOUR_MS, NULL)); /* it follows the pending one */
    (void)server_ask(server, "DEL a");
    ck_assert_status(hf_lock_renew(member, OWNER, HOUR_MS, NULL), HF_LOST);
    server_resume(far);
    ck_assert_status(call_await(&call), HF_LOST);
    ck_assert_ptr_nonnull(strstr(call.error.text, "member 'a'"));
    ck_assert_status(hf_multi_release(multi, OWNER, NULL), HF_LOST);
}
END_TEST

/* The loss is reported although another member has no reply. */
START_TEST(a_member_that_is_gone_is_a_loss)
{
    struct hf_error err;

    hold_for(MINUTE_MS);
    (void)server_ask(server, "DEL c");
    server_pause(far);
    ck_assert_status(hf_multi_renew(multi, OWNER, HOUR_MS, &err), HF_LOST);
    ck_assert_ptr_nonnull(strstr(err.text, "member 'c'"));
    ck_assert_int_eq(err.member, 3);
    server_resume(far);
    ck_assert_status(hf_multi_release(multi, OWNER, NULL), HF_LOST);
    ck_assert_int_eq(least_kept_ms(), -2);
}
END_TEST

START_TEST(what_cannot_be_renewed_is_refused)
{
    struct hf_error err;

    ck_assert_status(hf_multi_renew(multi, OWNER, HOUR_MS, NULL), HF_NOT_OWNER);
    ck_assert_status(hf_multi_renew(multi, 0, HOUR_MS, NULL), HF_NOT_OWNER);
    hold_for(0);
    ck_assert_status(hf_multi_renew(multi, OWNER, HOUR_MS, &err), HF_E_INVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "by itself"));
    ck_assert_status(hf_multi_renew(multi, OWNER, 0, NULL), HF_E_INVAL);
    ck_assert_ok(hf_multi_release(multi, OWNER, NULL));
}
END_TEST

static void add(Suite *s)
{
    TCase *c = live_case(s, "renew", start, stop);

    tcase_add_test(c, each_member_is_extended);
    tcase_add_test(c, it_has_a_call_without_blocking);
    tcase_add_test(c, a_member_without_a_reply_keeps_its_lease);
    tcase_add_test(c, a_member_that_is_lost_after_its_extension_is_a_loss);
    tcase_add_test(c, a_member_that_is_gone_is_a_loss);
    tcase_add_test(c, what_cannot_be_renewed_is_refused);
    c = live_case(s, "driven", NULL, NULL);
    tcase_add_test(c, loops_without_threads_are_driven);
}

int main(void)
{
    return live_main("multi renew", add);
}
