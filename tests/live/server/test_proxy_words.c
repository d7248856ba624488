/* A proxy replies with an error of its own when it has no connection to the server, or
 * loses it: the request may have been executed. A gate before a real server replies in the
 * words of Envoy, twemproxy, Predixy, Codis, redis-cluster-proxy and Corvus. */
#include "tests/live/test_lock.h"
#include "tests/support/gate.h"
#include "tests/support/one_server.h"

#define SOME 3 /* requests get the proxy's error before one is passed on */

static const char *const words[] = {
    "no upstream host",
    "upstream failure",
    "upstream protocol error",
    "ERR Connection refused",
    "ERR Connection reset by peer",
    "ERR Connection timed out",
    "ERR Broken pipe",
    "ERR Host is down",
    "ERR No route to host",
    "ERR Network is unreachable",
    "ERR server connection close",
    "ERR no server avaliable",
    "ERR deliver request fail",
    "ERR no server connection avaliable",
    "ERR no server connection available",
    "ERR handle response, backend conn reset",
    "ERR handle request, slot is not ready, may be offline",
    "ERR Cluster node disconnected: 10.0.0.1:7000",
    "ERR Cluster node disconnected",
    "ERR Failed to connect to node 10.0.0.1:7000",
    "ERR Could not connect to node",
    "ERR Failed to get node for query",
    "ERR Failed to write to cluster",
    "ERR Failed to read reply",
    "ERR Proxy error",
    "ERR Proxy fail to forward command",
    "ERR Proxy fail to get server",
    "ERR Proxy redirecting error",
    "ERR Proxy timed out",
};

static struct gate_rule rules[2];
static char answer[100];
static struct gate *gate;
static struct hf_client *client;

/* The first `times` requests that match get the i-th error; 0: all of them. */
static void open_client(int i, const char *pattern, size_t times, bool is_executed,
                        int64_t request_ms)
{
    (void)snprintf(answer, sizeof answer, "-%s\r\n", words[i]);
    rules[0] = (struct gate_rule){.pattern = pattern,
                                  .answer = answer,
                                  .times = times,
                                  .is_executed = is_executed};
    gate = gate_start(server_port(server), rules);
    client = client_timed(gate_port(gate), STEADY_WATCHDOG_MS, request_ms);
    ck_assert_ok(hf_client_connect(client, NULL));
}

static void close_client(void)
{
    ck_assert_uint_eq(gate_accepted(gate), 1); /* the connection was not replaced */
    hf_client_free(client);
    gate_stop(gate);
}

static void load_scripts(void)
{
    struct hf_client *direct = client_to(server_port(server));
    struct hf_lock *lock = lock_of(direct, "other");

    acquire(lock, 1);
    release(lock, 1);
    hf_client_free(direct);
}

/* PATIENCE-5 */
START_TEST(acquire_is_repeated_until_the_proxy_has_its_server)
{
    struct hf_lock *lock;

    open_client(_i, "EVALSHA ...", SOME, false, LONG_MS);
    lock = lock_of(client, NAME);
    acquire(lock, 1);
    ck_assert_uint_eq(gate_count(gate, 0), SOME);
    ck_assert_int_eq(server_ask_int(server, "EXISTS " NAME), 1);
    release(lock, 1);
    close_client();
}
END_TEST

/* Two acquires and a release are executed, and their replies are lost. */
START_TEST(request_that_was_executed_is_repeated_without_harm)
{
    struct hf_lock *lock;

    load_scripts();
    open_client(_i, "EVALSHA * 1 " NAME " ...", SOME, true, LONG_MS);
    lock = lock_of(client, NAME);
    rules[0].times = 2;
    acquire(lock, 1);
    ck_assert_uint_eq(gate_count(gate, 0), 2);
    ck_assert_str_eq(server_ask(server, "EVAL %s 1 " NAME,
                                "return redis.call('hvals', KEYS[1])[1]"), "1");
    rules[0].times = SOME;
    release(lock, 1);
    ck_assert_uint_eq(gate_count(gate, 0), SOME);
    ck_assert_int_eq(server_ask_int(server, "EXISTS " NAME), 0);
    close_client();
}
END_TEST

/* One error after another, until a renewal succeeds within the TTL. */
START_TEST(hold_outlasts_a_proxy_without_its_server)
{
    struct diary d;
    struct hf_acquire_options o = diary_options(&d, 1);
    int64_t end_ms = local_now_ms() + AWAIT_MS;
    struct hf_lock *lock;
    char renewal[100];
    uint64_t renewals;

    (void)snprintf(renewal, sizeof renewal, "EVALSHA * 1 %s %d ...", NAME, STEADY_WATCHDOG_MS);
    load_scripts();
    open_client(_i, renewal, SOME, _i % 2 == 0, LONG_MS);
    lock = lock_of(client, NAME);
    ck_assert_ok(hf_lock_acquire(lock, &o, NULL));
    renewals = stats_of(client).renewals;
    while (gate_count(gate, 0) < SOME || stats_of(client).renewals <= renewals + SOME) {
        ck_assert_int_eq(note_read(&d.note, &d.losses), 0);
        ck_assert_int_lt(local_now_ms(), end_ms);
        local_poll_rest();
    }
    release(lock, 1);
    close_client();
}
END_TEST

START_TEST(error_after_the_deadline_reports_a_possible_execution)
{
    struct hf_error err;

    open_client(_i, "EVALSHA ...", 0, false, 2000);
    ck_assert_status(try_acquire(lock_of(client, NAME), 1, &err), HF_E_NOREPLY);
    ck_assert_msg(strstr(err.text, words[_i]) && strstr(err.text, "a proxy has no"),
                  "%s", err.text);
    ck_assert_uint_gt(gate_count(gate, 0), 1);
    close_client();
}
END_TEST

/* The last reply decides, and it is not the proxy's. */
START_TEST(refusal_by_the_server_after_an_error_of_the_proxy_is_reported_as_its_own)
{
    struct hf_error err;

    (void)server_ask(server, "SET " NAME " 1");
    open_client(_i, "EVALSHA ...", 1, false, LONG_MS);
    ck_assert_status(try_acquire(lock_of(client, NAME), 1, &err), HF_E_SERVER);
    ck_assert_msg(strstr(err.text, "WRONGTYPE") != NULL, "%s", err.text);
    close_client();
}
END_TEST

/* Repeated, it could free the lock of the next holder. Its script has two keys, and that of the
 * inspection before it has one. */
START_TEST(forced_release_without_a_holder_is_not_repeated)
{
    struct hf_error err;

    open_client(_i, "EVALSHA * 2 ...", 0, false, LONG_MS);
    ck_assert_status(hf_lock_force_release(lock_of(client, NAME), NULL, 0, &err),
                     HF_E_NOREPLY);
    ck_assert_msg(strstr(err.text, words[_i]) != NULL, "%s", err.text);
    ck_assert_uint_eq(gate_count(gate, 0), 1);
    close_client();
}
END_TEST

static void add(Suite *suite)
{
    TCase *c = live_case(suite, "proxy", start_server, stop_server);
    const int all = COUNT(words);

    tcase_add_loop_test(c, acquire_is_repeated_until_the_proxy_has_its_server, 0, all);
    tcase_add_loop_test(c, request_that_was_executed_is_repeated_without_harm, 0, 2);
    tcase_add_loop_test(c, hold_outlasts_a_proxy_without_its_server, 0, 2);
    tcase_add_loop_test(c, error_after_the_deadline_reports_a_possible_execution,
                        0, 2);
    tcase_add_loop_test(c, refusal_by_the_server_after_an_error_of_the_proxy_is_reported_as_its_own,
                        0, 2);
    tcase_add_loop_test(c, forced_release_without_a_holder_is_not_repeated, 0, 2);
}

int main(void)
{
    return live_main("proxy words", add);
}
