/* Locks on a bad network: packets that are lost, late, doubled, overtaken, or
 * that come one way only; connections that the kernel destroys; no route, no
 * port. In a network namespace of its own; where there can be none, skipped,
 * saying so. Source: faults X1, X3, X4, X5. */
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <arpa/inet.h>
#include <unistd.h>

#include "tests/live/test_lock.h"
#include "tests/support/lateness.h"
#include "tests/support/network.h"
#include "tests/support/one_server.h"

#define WATCHDOG_MS STEADY_WATCHDOG_MS

static int64_t watchdog_ms = WATCHDOG_MS; /* of the next client */

static struct network *network;
static struct hf_client *client;
static struct hf_lock *lock;
static struct diary diary;

static void start(void)
{
    static const char *const extra[] = {"--bind", NETWORK_NEAR,
                                        "--protected-mode", "no", NULL};

    network = network_start();
    start_server_with(extra);
}

static void stop(void)
{
    hf_client_free(client);
    client = NULL;
    stop_server();
    network_stop(network);
}

static struct hf_client *client_at(const char *host, int64_t timeout_ms)
{
    struct hf_client_options o;
    char url[SERVER_URL_MAX];

    hf_client_options_init(&o);
    (void)snprintf(url, sizeof url, "redis://%s:%d", host,
                   server_port(server));
    o.url = url;
    o.watchdog_ms = watchdog_ms;
    o.request_timeout_ms = timeout_ms;
    o.connect_timeout_ms = timeout_ms < 300 ? timeout_ms : 300;
    return client_with(&o);
}

/* Its attempts are short, for the tests' sake: a busy machine may need several. */
static void open_client(int64_t timeout_ms)
{
    int64_t deadline_ms = local_now_ms() + AWAIT_MS;

    client = client_at(NETWORK_FAR, timeout_ms);
    lock = lock_of(client, NAME);
    while (hf_client_connect(client, NULL) != HF_OK)
        ck_assert_int_lt(local_now_ms(), deadline_ms);
}

static void spoil(enum network_way way, struct network_fault fault)
{
    network_spoil(network, server_port(server), way, fault);
}

static const struct network_fault good, cut = {.loss_percent = 100};

static void heal(void)
{
    spoil(NETWORK_TO_SERVER, good);
    spoil(NETWORK_TO_CLIENT, good);
}

static void hold(void)
{
    struct hf_acquire_options o = diary_options(&diary, 1);

    (void)server_ask(server, "PING"); /* the witness is there */
    diary.server = server;
    diary_hold(&diary, lock, &o);
}

static void acquire_soon(int64_t owner)
{
    int64_t deadline_ms = local_now_ms() + AWAIT_MS;
    struct hf_error err = {0};

    while (try_acquire(lock, owner, &err) < 0)
        ck_assert_msg(local_now_ms() < deadline_ms, "%s", err.text);
    ck_assert_holder(server, lock, owner, 1);
    release(lock, owner);
}

/* ---- packets ---- */

static const struct network_fault faults[] = {
    {.loss_percent = 1},
    {.loss_percent = 5},
    {.loss_percent = 20},
    {.delay_ms = 1},
    {.delay_ms = 30, .jitter_ms = 20},
    {.jitter_ms = 5, .twice_percent = 30},
    {.loss_percent = 5, .delay_ms = 3, .jitter_ms = 10, .twice_percent = 10},
    {.kbit = 256},
};

#define RUN_MS 250

static atomic_int inside;
static atomic_bool is_over;

struct worker {
    pthread_t thread;
    struct hf_client *client;
    int grants;
};

static void *work(void *arg)
{
    struct worker *w = arg;
    struct hf_lock *l = lock_of(w->client, NAME);
    struct hf_error err;
    hf_status rc;

    while (!atomic_load(&is_over)) {
        struct hf_acquire_options o = acquire_options(1);

        rc = hf_lock_acquire(l, &o, &err);
        if (rc != HF_OK)
            ck_abort_msg("not acquired: %s: %s", hf_status_name(rc), err.text);
        ck_must(atomic_fetch_add(&inside, 1) == 0, "never two inside");
        ck_must(hf_lock_safe_ms(l, 1) > 0, "who is inside is safe");
        ck_must(atomic_fetch_sub(&inside, 1) == 1, "never two inside");
        rc = hf_lock_release(l, 1, NULL);
        ck_must(rc == HF_OK, "and given back");
        w->grants++;
        local_rest_us(2000); /* its news would fill a slow wire else */
    }
    return NULL;
}

/* Two clients over the bad network and one beside it want the same lock; the
 * latter not where the news of what it does would fill a narrow wire. (A delay
 * of half a second, X4's longest, is a matter of the timeout that was asked
 * for.) */
START_TEST(locks_are_exact_on_a_bad_network)
{
    struct worker workers[3] = {{.grants = 0}};
    int count = faults[_i].kbit ? 2 : 3;

    for (int i = 0; i < count; i++) {
        workers[i].client =
            client_at(i < 2 ? NETWORK_FAR : NETWORK_NEAR, LONG_MS);
        ck_assert_ok(hf_client_connect(workers[i].client, NULL));
    }
    spoil(NETWORK_TO_SERVER, faults[_i]);
    spoil(NETWORK_TO_CLIENT, faults[_i]);
    for (int i = 0; i < count; i++)
        ck_assert_int_eq(
            pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    local_rest_us(RUN_MS * 1000);
    atomic_store(&is_over, true);
    for (int i = 0; i < count; i++) {
        (void)pthread_join(workers[i].thread, NULL);
        ck_assert_int_gt(workers[i].grants, 0);
    }
    heal();
    (void)printf("network %d: %d, %d and %d grants\n", _i, workers[0].grants,
                 workers[1].grants, workers[2].grants);
    ck_assert_str_eq(hash_of(server, NAME), "");
    for (int i = 0; i < count; i++)
        hf_client_free(workers[i].client);
}
END_TEST

/* ---- partitions ---- */

static const struct {
    bool to_server, to_client;
} partitions[] = {{true, false}, {false, true}, {true, true}};

static void part(int i)
{
    if (partitions[i].to_server)
        spoil(NETWORK_TO_SERVER, cut);
    if (partitions[i].to_client)
        spoil(NETWORK_TO_CLIENT, cut);
}

/* Longer than the lease. Where requests come through and answers do not, the
 * server keeps the lock, and its holder is told all the same. */
START_TEST(a_partition_loses_the_hold_before_the_server_lets_go)
{
    struct hf_error err;

    watchdog_ms = TOLD_WATCHDOG_MS;
    open_client(SET_UP_MS);
    hold();
    part(_i);
    ck_assert_unreached(&diary);
    ck_assert_told_before_end(&diary, TOLD_WATCHDOG_MS);
    ck_assert_status(hf_lock_release(lock, 1, NULL), HF_LOST);
    ck_assert_int_lt(try_acquire(lock, 1, &err), 0);
    ck_assert(err.status == HF_E_CONNECT || err.status == HF_E_NOREPLY);
    heal();
    acquire_soon(2);
    server_await(server, LONG_MS, "", "HGETALL " NAME);
}
END_TEST

START_TEST(a_partition_shorter_than_the_lease_costs_nothing)
{
    open_client(5000);
    hold();
    note_await(&diary.note, &diary.renewals, 1, "a renewal");
    part(_i);
    local_rest_us(200000);
    heal();
    note_await(&diary.note, &diary.renewals, 3, "renewals");
    ck_assert_int_eq(note_read(&diary.note, &diary.losses), 0);
    release(lock, 1);
    ck_assert_str_eq(hash_of(server, NAME), "");
}
END_TEST

/* X1: no answer to a SYN; and a close of what nobody answers. */
START_TEST(no_call_waits_forever_for_a_lost_network)
{
    struct hf_error err;
    int64_t start_ms;

    part(2);
    client = client_at(NETWORK_FAR, 200);
    lock = lock_of(client, NAME);
    start_ms = local_now_ms();
    ck_assert_status(hf_client_connect(client, &err), HF_E_CONNECT);
    ck_assert_ptr_nonnull(strstr(err.text, "cannot connect in time"));
    ck_assert_status(try_acquire(lock, 1, &err), HF_E_CONNECT);
    heal();
    acquire_soon(1);
    hold();
    part(2);
    ck_assert_int_lt(hf_lock_release(lock, 1, &err), 0);
    hf_client_free(client);
    client = NULL;
    ck_assert_within(start_ms, LONG_MS);
}
END_TEST

/* ---- the kernel ---- */

/* X3: the socket is destroyed under us. */
START_TEST(a_destroyed_connection_is_not_noticed)
{
    char command[80];

    open_client(5000);
    acquire(lock, 1);
    (void)snprintf(command, sizeof command,
                   "ss -K dst %s dport = %d >/dev/null 2>&1", NETWORK_FAR,
                   server_port(server));
    if (system(command) != 0) {
        (void)printf("skipped: there is no ss -K\n");
        return;
    }
    for (int i = 0; i < 10; i++) {
        acquire(lock, 1);
        release(lock, 1);
        ck_assert_int_eq(system(command), 0);
    }
    release(lock, 1);
    ck_assert_uint_gt(stats_of(client).link.connects, 5);
    ck_assert_str_eq(hash_of(server, NAME), "");
}
END_TEST

START_TEST(no_route_is_reported_at_once)
{
    struct hf_error err;

    client = client_at("10.88.0.1", 200);
    lock = lock_of(client, NAME);
    ck_assert_status(try_acquire(lock, 1, &err), HF_E_CONNECT);
    ck_assert_ptr_nonnull(strstr(err.text, "Network is unreachable"));
}
END_TEST

/* All local ports of the range are taken to that server; then some are free. */
START_TEST(no_free_port_is_reported_and_waited_for)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)server_port(server))};
    struct hf_error err;
    int fds[2];

    (void)inet_pton(AF_INET, NETWORK_FAR, &a.sin_addr);
    ck_assert(network_set("ip_local_port_range", "40000 40001"));
    for (int i = 0; i < 2; i++) {
        fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        ck_assert_int_eq(connect(fds[i], (struct sockaddr *)&a, sizeof a), 0);
    }
    client = client_at(NETWORK_FAR, 200);
    lock = lock_of(client, NAME);
    ck_assert_status(try_acquire(lock, 1, &err), HF_E_CONNECT);
    ck_assert_ptr_nonnull(strstr(err.text, "Cannot assign requested address"));
    ck_assert(network_set("ip_local_port_range", "32768 60999"));
    acquire_soon(1);
    (void)close(fds[0]);
    (void)close(fds[1]);
}
END_TEST

/* ---- */

static void add_cases(Suite *s)
{
    TCase *c = live_case(s, "network", start, stop);

    tcase_add_loop_test(c, locks_are_exact_on_a_bad_network, 0, COUNT(faults));
    tcase_add_loop_test(c, a_partition_loses_the_hold_before_the_server_lets_go,
                        0, COUNT(partitions));
    tcase_add_loop_test(c, a_partition_shorter_than_the_lease_costs_nothing, 0,
                        COUNT(partitions));
    tcase_add_test(c, no_call_waits_forever_for_a_lost_network);
    tcase_add_test(c, a_destroyed_connection_is_not_noticed);
    tcase_add_test(c, no_route_is_reported_at_once);
    tcase_add_test(c, no_free_port_is_reported_and_waited_for);
}

int main(void)
{
    const char *why_not = network_enter();

    if (why_not) {
        (void)printf("skipped: lock, network (%s)\n", why_not);
        return 77;
    }
    return live_main("lock, network", add_cases);
}
