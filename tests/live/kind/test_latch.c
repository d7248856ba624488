/* The count-down latch: who waits passes when the count has come to 0. WIRE 17. */
#include "lock/latch.h"

#include "tests/live/test_lock.h"
#include "tests/support/lateness.h"
#include "tests/support/one_server.h"
#include "tests/support/proxy.h"

#define DOORS "doors"
#define CHANNEL_OF_DOORS "redisson_countdownlatch__channel__{doors}"
/* Sooner than a waiter would ask by itself. */
#define TOLD_MS 2000

static struct hf_client *client, *other;
static struct hf_latch *latch, *latch_of_other;

static struct hf_latch *latch_of(struct hf_client *of, const char *name)
{
    struct hf_latch *new = NULL;

    ck_assert_ok(hf_latch_new(&new, of, name, strlen(name), NULL));
    return new;
}

static void start(void)
{
    start_server();
    client = client_timed(server_port(server), 60000, 5000);
    other = client_timed(server_port(server), 60000, 5000);
    latch = latch_of(client, DOORS);
    latch_of_other = latch_of(other, DOORS);
}

static void stop(void)
{
    hf_client_free(client);
    hf_client_free(other);
    stop_server();
}

static void set(struct hf_latch *of, int64_t count)
{
    bool was_set = false;

    ck_assert_ok(hf_latch_try_set_count(of, count, &was_set, NULL));
    ck_assert(was_set);
}

static void count_down(struct hf_latch *of)
{
    ck_assert_ok(hf_latch_count_down(of, NULL));
}

static int64_t count_of(struct hf_latch *of)
{
    int64_t count = -1;

    ck_assert_ok(hf_latch_count(of, &count, NULL));
    return count;
}

static void call_await_latch(struct call *call, struct hf_latch *of,
                             int64_t wait_ms, struct hf_cancel *cancel)
{
    call_init(call);
    ck_assert_ok(hf_latch_await_async(of, wait_ms, cancel, call_done, call));
}

static void await_listeners(int count)
{
    await_subscribers(server, CHANNEL_OF_DOORS, count);
}

/* ---- one call ---- */

START_TEST(count_is_set_once_and_counts_down_to_0)
{
    bool was_set = true;

    ck_assert_int_eq(count_of(latch), 0);
    set(latch, 3);
    ck_assert_ok(hf_latch_try_set_count(latch_of_other, 9, &was_set, NULL));
    ck_assert(!was_set);
    for (int left = 2; left >= 0; left--) {
        count_down(left % 2 ? latch : latch_of_other);
        ck_assert_int_eq(count_of(latch), left);
    }
    server_await(server, AWAIT_MS, "", "KEYS *");
    count_down(latch); /* there is none */
    server_await(server, AWAIT_MS, "", "KEYS *");
    set(latch, 1);
}
END_TEST

START_TEST(wait_of_0_returns_whether_it_is_open)
{
    struct hf_error err = {0};

    ck_assert_ok(hf_latch_await(latch, 0, NULL, NULL));
    set(latch, 1);
    ck_assert_status(hf_latch_await(latch, 0, NULL, &err), HF_TIMEOUT);
    ck_assert_ptr_nonnull(strstr(err.text, "latch '" DOORS "'"));
    count_down(latch);
    ck_assert_ok(hf_latch_await(latch, 0, NULL, NULL));
}
END_TEST

START_TEST(numbers_and_waits_out_of_range_are_refused)
{
    static const int64_t numbers[] = {-1, 0, HF_LATCH_COUNT_MAX + 1, INT64_MAX};
    struct hf_latch *none = NULL;
    struct hf_error err;
    bool was_set;

    for (int i = 0; i < COUNT(numbers); i++)
        ck_assert_status(
            hf_latch_try_set_count(latch, numbers[i], &was_set, &err),
            HF_E_INVAL);
    ck_assert_status(hf_latch_await(latch, -2, NULL, &err), HF_E_INVAL);
    ck_assert_status(hf_latch_new(&none, client, "", 0, &err), HF_E_INVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "latch's name"));
    hf_latch_free(NULL);
}
END_TEST

static const char *const others_data[] = {"HSET " DOORS " a b",
                                          "SET " DOORS " x",
                                          "RPUSH " DOORS " 5"};

START_TEST(key_that_is_not_a_latch_is_left_alone)
{
    const char *dump;

    (void)server_ask(server, others_data[_i]);
    dump = server_ask(server, "DUMP " DOORS);
    ck_assert_status(hf_latch_count_down(latch, NULL), HF_E_SERVER);
    ck_assert_int_lt(hf_latch_await(latch, 50, NULL, NULL), 0);
    ck_assert_str_eq(server_ask(server, "DUMP " DOORS), dump);
}
END_TEST

/* ---- waiting ---- */

START_TEST(all_waiters_pass_at_0)
{
    struct call here[20], there[20];
    int64_t from_ms;

    set(latch, 2);
    for (int i = 0; i < COUNT(here); i++) {
        call_await_latch(&here[i], latch, HF_FOREVER, NULL);
        call_await_latch(&there[i], latch_of_other, LONG_MS, NULL);
    }
    await_listeners(2);
    count_down(latch);
    local_rest_us(A_MOMENT_MS * 1000);
    for (int i = 0; i < COUNT(here); i++)
        ck_assert(!call_is_done(&here[i]) && !call_is_done(&there[i]));
    from_ms = local_now_ms();
    count_down(latch_of_other);
    for (int i = 0; i < COUNT(here); i++) {
        ck_assert_status(call_await(&here[i]), HF_OK);
        ck_assert_status(call_await(&there[i]), HF_OK);
    }
    ck_assert_within(from_ms, TOLD_MS);
    await_listeners(0);
}
END_TEST

/* Those of one client ask together: a hundred cost a question or two. */
START_TEST(one_answer_serves_all_waiters_of_a_client)
{
    struct call calls[100];
    long long before;

    set(latch, 1);
    for (int i = 0; i < COUNT(calls); i++)
        call_await_latch(&calls[i], latch, HF_FOREVER, NULL);
    await_listeners(1);
    count_of(latch); /* behind whatever they asked */
    before = script_calls(server);
    count_down(latch_of_other);
    for (int i = 0; i < COUNT(calls); i++)
        ck_assert_status(call_await(&calls[i]), HF_OK);
    ck_assert_int_le(script_calls(server) - before, 4);
}
END_TEST

static void delete(struct hf_latch *of, bool is_there)
{
    bool was_deleted = !is_there;

    ck_assert_ok(hf_latch_delete(of, &was_deleted, NULL));
    ck_assert_int_eq(was_deleted, is_there);
}

START_TEST(deleted_latch_can_be_set_again)
{
    delete(latch, false);
    set(latch, 3);
    delete(latch, true);
    ck_assert_int_eq(count_of(latch_of_other), 0);
    set(latch_of_other, 2);
    ck_assert_int_eq(count_of(latch), 2);
    ck_assert_ok(hf_latch_delete(latch, NULL, NULL));
    server_await(server, LONG_MS, "", "KEYS *");
}
END_TEST

/* Redisson's waiters sleep on: its message says that the latch is closed. */
START_TEST(deletion_lets_waiters_pass)
{
    struct call call;
    int64_t from_ms;

    set(latch, 1);
    call_await_latch(&call, latch, HF_FOREVER, NULL);
    await_listeners(1);
    from_ms = local_now_ms();
    if (_i == 2)
        delete(latch_of_other, true);
    else
        (void)server_ask(server, "DEL " DOORS);
    if (_i == 0)
        (void)server_ask(server, "PUBLISH " CHANNEL_OF_DOORS " 1");
    ck_assert_status(call_await(&call), HF_OK);
    if (_i != 1)
        ck_assert_within(from_ms, TOLD_MS);
}
END_TEST

START_TEST(wait_ends_by_its_time_a_cancel_or_the_close)
{
    struct hf_client_closed closed;
    struct call timed, cancelled, closing;
    struct hf_cancel cancel;

    set(latch, 1);
    hf_cancel_init(&cancel, client);
    call_await_latch(&timed, latch, 100, NULL);
    call_await_latch(&cancelled, latch, HF_FOREVER, &cancel);
    call_await_latch(&closing, latch, HF_FOREVER, NULL);
    ck_assert_status(call_await(&timed), HF_TIMEOUT);
    hf_cancel_fire(&cancel);
    ck_assert_status(call_await(&cancelled), HF_CANCELLED);
    ck_assert_ok(hf_client_close(client, LONG_MS, &closed, NULL));
    ck_assert_status(call_await(&closing), HF_E_CLOSED);
    ck_assert_status(hf_latch_await(latch, 0, NULL, NULL), HF_E_CLOSED);
    ck_assert_int_eq(count_of(latch_of_other), 1);
}
END_TEST

START_TEST(waiter_outlives_its_server)
{
    struct call call;

    set(latch, 1);
    call_await_latch(&call, latch, HF_FOREVER, NULL);
    await_listeners(1);
    server_kill(server);
    local_rest_us(A_MOMENT_MS * 1000);
    ck_assert(!call_is_done(&call));
    server_restart(server); /* without the latch */
    ck_assert_status(call_await(&call), HF_OK);
}
END_TEST

/* ---- without blocking ---- */

START_TEST(calls_without_blocking_return_the_same)
{
    bool was_set = false;
    int64_t count = 0;
    struct call call;

    call_init(&call);
    ck_assert_ok(
        hf_latch_try_set_count_async(latch, 2, &was_set, call_done, &call));
    ck_assert_status(call_await(&call), HF_OK);
    ck_assert(was_set);
    call_init(&call);
    ck_assert_ok(hf_latch_count_down_async(latch, call_done, &call));
    ck_assert_status(call_await(&call), HF_OK);
    call_init(&call);
    ck_assert_ok(hf_latch_count_async(latch, &count, call_done, &call));
    ck_assert_status(call_await(&call), HF_OK);
    ck_assert_int_eq(count, 1);
    call_await_latch(&call, latch, 0, NULL);
    ck_assert_status(call_await(&call), HF_TIMEOUT);
    call_init(&call);
    was_set = false;
    ck_assert_ok(hf_latch_delete_async(latch, &was_set, call_done, &call));
    ck_assert_status(call_await(&call), HF_OK);
    ck_assert(was_set);
    ck_assert_status(
        hf_latch_try_set_count_async(latch, 0, &was_set, call_done, &call),
        HF_E_INVAL);
    ck_assert_status(
        hf_latch_await_async(latch, -2, NULL, call_done, &call), HF_E_INVAL);
}
END_TEST

/* ---- a bad network ---- */

static const enum proxy_way ways[] = {PROXY_TO_SERVER, PROXY_TO_CLIENT};

START_TEST(cut_anywhere_a_step_counts_once)
{
    struct proxy *proxy = proxy_start(server_port(server));
    struct hf_client *cut_client = client_timed(proxy_port(proxy), 60000, 5000);
    struct hf_latch *cut = latch_of(cut_client, DOORS);
    uint64_t bytes;

    set(cut, 1000);
    count_down(cut);
    bytes = proxy_count(proxy, ways[_i], PROXY_PASSED);
    count_down(cut);
    bytes = proxy_count(proxy, ways[_i], PROXY_PASSED) - bytes;
    for (uint64_t n = 0; n <= bytes; n += 3) {
        int64_t before = count_of(latch);

        proxy_cut_after(proxy, ways[_i], n, PROXY_CLOSE);
        count_down(cut);
        ck_assert_int_eq(count_of(latch), before - 1);
        proxy_cut_after(proxy, ways[_i], UINT64_MAX, PROXY_CLOSE);
    }
    hf_client_free(cut_client);
    proxy_stop(proxy);
}
END_TEST

START_TEST(step_without_an_answer_continues_in_the_background)
{
    struct proxy *proxy = proxy_start(server_port(server));
    struct hf_client *cut_client = client_timed(proxy_port(proxy), 60000, SET_UP_MS);
    struct hf_latch *cut = latch_of(cut_client, DOORS);

    set(cut, 5);
    count_down(cut);
    proxy_swallow(proxy, PROXY_TO_SERVER, true);
    ck_assert_status(hf_latch_count_down(cut, NULL), HF_E_NOREPLY);
    ck_assert_int_eq(count_of(latch), 4);
    proxy_cut(proxy, PROXY_CLOSE);
    proxy_swallow(proxy, PROXY_TO_SERVER, false);
    server_await(server, LONG_MS, "3", "GET " DOORS);
    ck_assert_ok(hf_client_close(cut_client, LONG_MS, NULL, NULL));
    ck_assert_int_eq(count_of(latch), 3);
    hf_client_free(cut_client);
    proxy_stop(proxy);
}
END_TEST

/* Less is one await, more are two. */
#define QUESTION 200

/* One that came earlier, and was answered later, stands before one whose own
 * question is under way: the answer to the first ends both. */
START_TEST(error_for_all_ends_a_pending_request)
{
    struct proxy *proxy = proxy_start(server_port(server));
    struct hf_client *slow = client_timed(proxy_port(proxy), 60000, 30000);
    struct hf_latch *its = latch_of(slow, DOORS);
    struct call first, second;
    uint64_t kept;

    set(latch, 1);
    ck_assert_ok(hf_client_connect(slow, NULL));
    (void)server_ask(server, "SCRIPT FLUSH");
    proxy_hold(proxy, PROXY_TO_CLIENT, true);
    call_await_latch(&first, its, HF_FOREVER, NULL); /* NOSCRIPT */
    ck_assert(proxy_await(proxy, PROXY_TO_CLIENT, PROXY_KEPT, 1, LONG_MS));
    ck_assert_status(hf_latch_await(latch_of_other, 0, NULL, NULL), HF_TIMEOUT);
    kept = proxy_count(proxy, PROXY_TO_CLIENT, PROXY_KEPT);
    call_await_latch(&second, its, HF_FOREVER, NULL);
    ck_assert(proxy_await(proxy, PROXY_TO_CLIENT, PROXY_KEPT, kept + 1, LONG_MS));
    proxy_hold(proxy, PROXY_TO_CLIENT, false);
    await_listeners(1);
    local_rest_us(A_MOMENT_MS * 1000);
    proxy_hold(proxy, PROXY_TO_SERVER, true);
    (void)server_ask(server, "PUBLISH " CHANNEL_OF_DOORS " 1");
    ck_assert(proxy_await(proxy, PROXY_TO_SERVER, PROXY_KEPT, QUESTION + 1,
                          2 * LONG_MS)); /* the second asks by itself */
    count_down(latch);
    proxy_hold(proxy, PROXY_TO_SERVER, false);
    ck_assert_status(call_await(&first), HF_OK);
    ck_assert_status(call_await(&second), HF_OK);
    local_rest_us(A_MOMENT_MS * 1000);
    ck_assert_ok(hf_latch_await(its, LONG_MS, NULL, NULL));
    hf_client_free(slow);
    proxy_stop(proxy);
}
END_TEST

/* ---- */

static void add_all(Suite *suite)
{
    TCase *c = live_case(suite, "calls", start, stop);

    tcase_add_test(c, count_is_set_once_and_counts_down_to_0);
    tcase_add_test(c, wait_of_0_returns_whether_it_is_open);
    tcase_add_test(c, numbers_and_waits_out_of_range_are_refused);
    tcase_add_loop_test(c, key_that_is_not_a_latch_is_left_alone, 0,
                        COUNT(others_data));
    tcase_add_test(c, calls_without_blocking_return_the_same);
    c = live_case(suite, "waits", start, stop);
    tcase_add_test(c, all_waiters_pass_at_0);
    tcase_add_test(c, one_answer_serves_all_waiters_of_a_client);
    tcase_add_test(c, deleted_latch_can_be_set_again);
    tcase_add_loop_test(c, deletion_lets_waiters_pass, 0, 3);
    tcase_add_test(c, wait_ends_by_its_time_a_cancel_or_the_close);
    c = live_case(suite, "faults", start, stop);
    tcase_add_test(c, waiter_outlives_its_server);
    tcase_add_loop_test(c, cut_anywhere_a_step_counts_once, 0, COUNT(ways));
    tcase_add_test(c, step_without_an_answer_continues_in_the_background);
    tcase_add_test(c, error_for_all_ends_a_pending_request);
}

int main(void)
{
    return live_main("latch", add_all);
}
