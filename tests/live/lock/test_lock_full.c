/* More calls than the queue takes: they wait for room, in order, no longer than
 * they may (lock/script/call.h). Names are long, so that a queue of the least size is
 * full with three. */
#include "tests/live/test_lock.h"
#include "tests/support/memory.h"
#include "tests/support/one_server.h"
#include "tests/support/proxy.h"

#define OUTPUT_MAX (192u << 10)
#define QUEUE_MAX (448u << 10) /* what the least output_max counts as: lock/connect.h */
#define NAME_LEN 60000
#define LOCKS 80
#define FEW 16                 /* more than the kernel and the queue take over the Unix socket */
#define PLENTY 3000            /* more allocations than the scene makes */

static struct hf_client *client;
static struct hf_lock *locks[LOCKS];
static struct call calls[LOCKS + 1];

static struct hf_lock *long_lock(int i)
{
    static char name[NAME_LEN];

    (void)memset(name, 'n', sizeof name);
    (void)snprintf(name, 20, "%d", i);
    return lock_named(client, name, sizeof name);
}

static void options_to(struct hf_client_options *o, char *url, int port)
{
    client_options(o, url, port);
    o->output_max = OUTPUT_MAX;
    o->request_timeout_ms = LONG_MS;
}

#define UNIX_URL_MAX 256

/* Over the Unix socket: the kernel keeps some 200 KiB for it. For a TCP connection
 * it may keep all requests of this file: how many it takes depends on the machine. */
static void options_over_unix(struct hf_client_options *o, char url[UNIX_URL_MAX])
{
    options_to(o, url, 0);
    o->tls = false;
    (void)snprintf(url, UNIX_URL_MAX, "unix://%s", server_unix_path(server));
}

static void open_client_of(const struct hf_client_options *o, int count)
{
    client = client_with(o);
    for (int i = 0; i < count; i++)
        locks[i] = long_lock(i);
    acquire(locks[0], 1); /* connected, and the scripts are known */
    release(locks[0], 1);
}

static void open_client(const struct hf_client_options *o)
{
    open_client_of(o, LOCKS);
}

static void open_to(int port)
{
    struct hf_client_options o;
    char url[SERVER_URL_MAX];

    options_to(&o, url, port);
    open_client(&o);
}

/* ---- served in order ---- */

static struct note order_note;
static int order[LOCKS + 1], orders;
static unsigned orders_before_renewal;  /* whose replies came before that of the second renewal */

static void note_order(void *ctx, hf_status status, const struct hf_error *err)
{
    ck_must(status == HF_OK, err->text);
    orders_before_renewal += stats_of(client).renewals < 2;
    order[orders] = (int)((struct call *)ctx - calls);
    note_add(&order_note, &orders);
}

static void call_in_order(void)
{
    struct hf_acquire_options o = acquire_options(1);

    note_init(&order_note);
    for (int i = 0; i < LOCKS; i++)
        ck_assert_ok(hf_lock_acquire_async(locks[i], &o, note_order,
                                           &calls[i]));
}

/* The last one has a short name, for which there would be room. */
START_TEST(all_are_served_in_order_when_the_server_continues)
{
    struct hf_acquire_options o = acquire_options(1);
    struct hf_lock *small;
    struct hf_link_stats stats;

    open_to(server_port(server));
    small = lock_of(client, NAME);
    server_pause(server);
    call_in_order();
    ck_assert_ok(hf_lock_acquire_async(small, &o, note_order, &calls[LOCKS]));
    stats = stats_of(client).link;
    ck_assert_uint_le(stats.queued_bytes, QUEUE_MAX);
    ck_assert_uint_lt(stats.queued + stats.in_flight, LOCKS / 2);
    ck_assert_uint_eq(stats_of(client).waiters, LOCKS + 1);
    server_resume(server);
    note_await(&order_note, &orders, LOCKS + 1, "the end of all calls");
    for (int i = 0; i < LOCKS + 1; i++)
        ck_assert_int_eq(order[i], i);
    release(small, 1);
    for (int i = 0; i < LOCKS; i++)
        release(locks[i], 1);
    hf_client_free(client);
}
END_TEST

static void *pairs(void *arg)
{
    struct hf_lock *lock = arg;

    for (int i = 0; i < 5; i++) {
        ck_must(hf_lock_acquire(lock, NULL, NULL) == HF_OK, "acquired");
        ck_must(hf_lock_release(lock, hf_owner_thread(), NULL) == HF_OK,
                "released");
    }
    return NULL;
}

START_TEST(blocked_callers_are_served_after_a_stalled_network)
{
    struct proxy *proxy = proxy_start(server_port(server));
    pthread_t threads[LOCKS];

    open_to(proxy_port(proxy));
    proxy_hold(proxy, PROXY_TO_SERVER, true);
    for (int i = 0; i < LOCKS; i++)
        (void)pthread_create(&threads[i], NULL, pairs, locks[i]);
    while (stats_of(client).waiters < LOCKS)
        local_poll_rest();
    proxy_hold(proxy, PROXY_TO_SERVER, false);
    for (int i = 0; i < LOCKS; i++)
        (void)pthread_join(threads[i], NULL);
    ck_assert_int_eq(server_ask_int(server, "DBSIZE"), 0);
    hf_client_free(client);
    proxy_stop(proxy);
}
END_TEST

/* ---- no longer than they may ---- */

/* More requests than the kernel and the queue take. They have time: a request that ends
 * without its reply ends the connection, and the rest would not wait for room. */
#define FILLERS 10

START_TEST(deadline_ends_the_wait_for_room)
{
    struct hf_acquire_options o = acquire_options(1);
    struct hf_client_options co;
    char url[UNIX_URL_MAX];
    int64_t begun_ms;

    options_over_unix(&co, url);
    open_client(&co);
    server_pause(server);
    for (int i = 0; i < FILLERS; i++)
        call_acquire(&calls[i], locks[i], &o);
    o.wait_ms = 300;
    begun_ms = local_now_ms();
    for (int i = FILLERS; i < LOCKS; i++)
        call_acquire(&calls[i], locks[i], &o);
    for (int i = FILLERS; i < LOCKS; i++) {
        ck_assert_status(call_await(&calls[i]), HF_E_CONNECT);
        ck_assert_int_ge(local_now_ms() - begun_ms, 299);
        ck_assert_ptr_nonnull(strstr(calls[i].error.text, "queue was full"));
    }
    ck_assert_uint_eq(stats_of(client).holds, 0);
    server_resume(server);
    for (int i = 0; i < FILLERS; i++)
        ck_assert_status(call_await(&calls[i]), HF_OK);
    acquire(locks[LOCKS - 1], 1); /* all is well after */
    release(locks[LOCKS - 1], 1);
    hf_client_free(client);
}
END_TEST

START_TEST(cancel_ends_the_wait_for_room)
{
    struct hf_acquire_options o = acquire_options(1);
    struct hf_cancel cancel;

    open_to(server_port(server));
    hf_cancel_init(&cancel, client);
    o.cancel = &cancel;
    server_pause(server);
    for (int i = 0; i < LOCKS; i++)
        call_acquire(&calls[i], locks[i], &o);
    hf_cancel_fire(&cancel);
    for (int i = 0; i < LOCKS; i++)
        ck_assert_status(call_await(&calls[i]), HF_CANCELLED);
    server_resume(server);
    server_await(server, AWAIT_MS, "0", "DBSIZE");
    hf_client_free(client);
}
END_TEST

START_TEST(freed_client_ends_the_wait_for_room)
{
    struct hf_acquire_options o = acquire_options(1);

    open_to(server_port(server));
    server_pause(server);
    for (int i = 0; i < LOCKS; i++)
        call_acquire(&calls[i], locks[i], &o);
    hf_client_free(client);
    for (int i = 0; i < LOCKS; i++)
        ck_assert_status(call_await(&calls[i]), HF_E_CLOSED);
}
END_TEST

START_TEST(too_many_that_wait_are_too_many)
{
    struct hf_acquire_options ao = acquire_options(1);
    struct hf_client_options o;
    char url[SERVER_URL_MAX];

    options_to(&o, url, server_port(server));
    o.waiters_max = 10;
    open_client(&o);
    server_pause(server);
    for (int i = 0; i < 10; i++)
        call_acquire(&calls[i], locks[i], &ao);
    ck_assert_status(hf_lock_acquire_async(locks[10], &ao, call_done, NULL),
                     HF_E_LIMIT);
    server_resume(server);
    for (int i = 0; i < 10; i++)
        ck_assert_status(call_await(&calls[i]), HF_OK);
    hf_client_free(client);
}
END_TEST

/* ---- what cannot wait ---- */

static void note_renewed(void *ctx, struct hf_lock *lock, int64_t owner)
{
    (void)lock;
    (void)owner;
    note_add(&order_note, ctx);
}

/* A renewal goes before all who wait, or no hold would outlive a rush. */
START_TEST(renewal_precedes_queued_requests)
{
    struct hf_acquire_options ao = acquire_options(1);
    struct hf_client_options o;
    char url[UNIX_URL_MAX];
    struct hf_link_stats sent;
    uint64_t requests;
    int renewals = 0;

    options_over_unix(&o, url);
    o.watchdog_ms = 3000;
    open_client(&o);
    ao.on_renewed = note_renewed;
    ao.ctx = &renewals;
    ck_assert_ok(hf_lock_acquire(lock_of(client, NAME), &ao, NULL));
    while (stats_of(client).renewals == 0) /* then the server knows the script */
        local_poll_rest();
    requests = stats_of(client).renewal_requests;
    server_pause(server);
    call_in_order();
    while (stats_of(client).renewal_requests == requests)
        local_poll_rest();
    sent = stats_of(client).link;
    ck_assert_uint_lt(sent.in_flight + sent.queued, LOCKS / 2); /* the others wait */
    server_resume(server);
    note_await(&order_note, &orders, LOCKS, "the end of all calls");
    note_await(&order_note, &renewals, 1, "a renewal");
    ck_assert_uint_gt(orders_before_renewal, 0);
    ck_assert_uint_le(orders_before_renewal, sent.in_flight + sent.queued);
    hf_client_free(client);
}
END_TEST

/* Of the longest names a batch holds fewer, so that it fits. */
START_TEST(holds_with_long_names_are_renewed)
{
    struct hf_client_options o;
    struct hf_acquire_options ao;
    static struct diary diary;
    char url[SERVER_URL_MAX];

    options_to(&o, url, server_port(server));
    o.watchdog_ms = STEADY_WATCHDOG_MS;
    open_client(&o);
    ao = diary_options(&diary, 1);
    for (int i = 0; i < 20; i++)
        ck_assert_ok(hf_lock_acquire(locks[i], &ao, NULL));
    note_await(&diary.note, &diary.renewals, 60, "renewals");
    ck_assert_int_eq(note_read(&diary.note, &diary.losses), 0);
    hf_client_free(client);
}
END_TEST

START_TEST(output_max_has_a_least)
{
    struct hf_client_options o;
    struct hf_client *none = NULL;
    struct hf_error err;
    char url[SERVER_URL_MAX];

    client_options(&o, url, server_port(server));
    o.output_max = OUTPUT_MAX - 1;
    ck_assert_status(hf_client_new(&none, &o, &err), HF_E_INVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "output_max"));
    ck_assert_ptr_null(none);
}
END_TEST

/* ---- any allocation may fail ---- */

static struct memory memory;

/* True: it did. */
static bool live_with_failure_at(uint64_t n)
{
    struct hf_acquire_options ao = acquire_options(1);
    struct hf_client_options o;
    struct hf_link_stats stats;
    hf_status rc[FEW];
    char url[UNIX_URL_MAX];
    const char *complaint;
    bool has_failed;

    memory_init(&memory);
    options_over_unix(&o, url);
    o.mem = &memory.hook;
    o.thread = false;
    open_client_of(&o, FEW);
    ao.wait_ms = 0;
    memory_fail_at(&memory, n);
    server_pause(server);
    for (int i = 0; i < FEW; i++) {
        call_init(&calls[i]);
        rc[i] = hf_lock_acquire_async(locks[i], &ao, call_done, &calls[i]);
    }
    stats = stats_of(client).link;
    ck_assert_uint_lt(stats.queued + stats.in_flight, FEW);
    server_resume(server);
    for (int i = 0; i < FEW; i++) {
        if (rc[i] == HF_OK)
            rc[i] = call_drive(&calls[i], client);
        ck_assert(rc[i] == HF_OK || rc[i] == HF_E_NOMEM ||
                  rc[i] == HF_E_NOREPLY || rc[i] == HF_E_CONNECT);
        if (rc[i] == HF_OK)
            (void)hf_lock_release(locks[i], 1, NULL);
    }
    has_failed = memory_has_failed(&memory);
    hf_client_free(client);
    complaint = memory_fini(&memory);
    ck_assert_msg(!complaint, "%llu: %s", (unsigned long long)n, complaint);
    (void)server_ask(server, "FLUSHALL");
    return has_failed;
}

START_TEST(any_allocation_may_fail)
{
    uint64_t n = 1;

    while (n < PLENTY && live_with_failure_at(n))
        n++;
    ck_assert_uint_gt(n, FEW);
    ck_assert_uint_lt(n, PLENTY);
}
END_TEST

/* ---- */

static void add_cases(Suite *s)
{
    TCase *c = live_case(s, "full", start_server, stop_server);

    tcase_add_test(c, all_are_served_in_order_when_the_server_continues);
    tcase_add_test(
        c, blocked_callers_are_served_after_a_stalled_network);
    tcase_add_test(c, deadline_ends_the_wait_for_room);
    tcase_add_test(c, cancel_ends_the_wait_for_room);
    tcase_add_test(c, freed_client_ends_the_wait_for_room);
    tcase_add_test(c, too_many_that_wait_are_too_many);
    tcase_add_test(c, renewal_precedes_queued_requests);
    tcase_add_test(c, holds_with_long_names_are_renewed);
    tcase_add_test(c, output_max_has_a_least);
    tcase_add_test(c, any_allocation_may_fail);
}

int main(void)
{
    return live_main("lock, full", add_cases);
}
