/* What hf_metrics_text counts, with a real server: grants, waits, holds, losses by reason, late
 * renewals, wake-ups by cause, failed calls, requests and connections. HF_METRICS_OUT=FILE writes
 * the text of all kinds to FILE and FILE.prom, for tests/metrics/check.sh. */
#include "lock/latch.h"
#include "lock/metrics.h"
#include "lock/semaphore.h"


#include "tests/live/test_lock.h"
#include "tests/live/test_tracking.h"
#include "tests/support/memory.h"
#include "tests/support/one_server.h"
#include "tests/support/openmetrics.h"

#define SHORT_WATCHDOG_MS 1500

static char room[HF_METRICS_MAX + 1];
static struct hf_client *client;
static struct hf_lock *lock;

static void start(void)
{
    start_server();
    client = client_timed(server_port(server), 30000, LONG_MS);
    lock = lock_of(client, NAME);
}

static void stop(void)
{
    hf_client_free(client);
    stop_server();
}

static void open_again(int64_t watchdog_ms)
{
    hf_client_free(client);
    client = client_timed(server_port(server), watchdog_ms, LONG_MS);
    lock = lock_of(client, NAME);
}

static void read_text(void)
{
    static struct openmetrics m;
    struct openmetrics_text t = {room, sizeof room, 0};

    ck_assert_ok(hf_metrics_text(&client, 1, NULL, openmetrics_line, &t));
    ck_assert_msg(openmetrics_parse(&m, room, true), "%s", m.why);
}

/* The value at this moment; -1: there is no such series. */
static double value_of(const char *series)
{
    read_text();
    return openmetrics_value(room, series);
}

static void await_value(const char *series, double least)
{
    int64_t deadline_ms = local_now_ms() + AWAIT_MS;

    while (value_of(series) < least) {
        ck_assert_msg(local_now_ms() < deadline_ms, "%s is %g, not %g", series, value_of(series),
                      least);
        local_poll_rest();
    }
}

/* ---- grants, waits, holds ---- */

START_TEST(grant_and_release_are_counted)
{
    ck_assert_value("holdfast_grants_total{kind=\"plain\"}", -1);
    acquire(lock, 1);
    ck_assert_value("holdfast_grants_total{kind=\"plain\"}", 1);
    ck_assert_value("holdfast_wait_seconds_count{kind=\"plain\"}", 1);
    ck_assert_value("holdfast_holds{kind=\"plain\"}", 1);
    ck_assert_value("holdfast_hold_seconds_count{kind=\"plain\"}", 0);
    acquire(lock, 1); /* a re-entry */
    release(lock, 1);
    ck_assert_value("holdfast_grants_total{kind=\"plain\"}", 1);
    ck_assert_value("holdfast_hold_seconds_count{kind=\"plain\"}", 0);
    release(lock, 1);
    ck_assert_value("holdfast_holds{kind=\"plain\"}", 0);
    ck_assert_value("holdfast_hold_seconds_count{kind=\"plain\"}", 1);
    ck_assert_value("holdfast_losses_total{kind=\"plain\",reason=\"deleted\"}", 0);
    ck_assert_value("holdfast_wakeups_total{cause=\"notification\"}", 0);
    ck_assert_value("holdfast_connections", 1);
    ck_assert_value("holdfast_connects_total", 1);
    ck_assert_value("holdfast_servers", 1);
    ck_assert_value("holdfast_requests_total{outcome=\"unknown\"}", 0);
    ck_assert_double_ge(value_of("holdfast_request_seconds_count"), 4);
    ck_assert_double_gt(value_of("holdfast_sent_bytes_total"), 100);
}
END_TEST

/* Also of a hold that was idle meanwhile, and packed. */
START_TEST(times_of_waits_and_holds_are_measured)
{
    struct hf_acquire_options o = acquire_options(2);
    struct call waiter;
    int64_t from_ms, held_ms;
    double wait, hold;

    from_ms = local_now_ms();
    acquire(lock, 1);
    call_acquire(&waiter, lock, &o);
    await_value("holdfast_waiters{kind=\"plain\"}", 1);
    await_value("holdfast_oldest_wait_seconds", 1.2);
    release(lock, 1);
    ck_assert_status(call_await(&waiter), HF_OK);
    held_ms = local_now_ms() - from_ms;
    ck_assert_value("holdfast_waiters{kind=\"plain\"}", 0);
    ck_assert_value("holdfast_oldest_wait_seconds", 0);
    wait = value_of("holdfast_wait_seconds_sum{kind=\"plain\"}");
    hold = value_of("holdfast_hold_seconds_sum{kind=\"plain\"}");
    ck_assert_double_ge(wait, 1.2);
    ck_assert_double_ge(hold, 1.2);
    ck_assert_double_le(wait, (double)(held_ms + 2) / 1000);
    ck_assert_double_le(hold, (double)(held_ms + 2) / 1000);
    release(lock, 2);
}
END_TEST

static void put_line(void *ctx, const char *line)
{
    ck_assert_int_gt(fprintf(ctx, "%s\n", line), 0);
}

static void put_text(const char *path, const char *suffix, enum hf_metrics_format format)
{
    struct hf_metrics_options o = {.size = sizeof o, .format = format, .name = "order \"42\""};
    char name[512];
    FILE *out;

    (void)snprintf(name, sizeof name, "%s%s", path, suffix);
    out = fopen(name, "w");
    ck_assert_ptr_nonnull(out);
    ck_assert_ok(hf_metrics_text(&client, 1, &o, put_line, out));
    ck_assert_int_eq(fclose(out), 0);
}

static void take_counted(void)
{
    struct hf_semaphore *semaphore;
    struct hf_latch *latch;

    ck_assert_ok(hf_semaphore_new(&semaphore, client, "pool", 4, NULL));
    ck_assert_ok(hf_semaphore_release(semaphore, 1, NULL));
    ck_assert_ok(hf_semaphore_acquire(semaphore, 1, HF_FOREVER, NULL, NULL));
    ck_assert_ok(hf_latch_new(&latch, client, "doors", 5, NULL));
    ck_assert_ok(hf_latch_await(latch, HF_FOREVER, NULL, NULL));
    hf_semaphore_free(semaphore);
    hf_latch_free(latch);
}

/* The order of the series is that of enum hf_lock_kind. */
START_TEST(each_kind_has_its_label)
{
    static const struct {
        enum hf_lock_kind kind;
        const char *label;
    } kinds[] = {
        {HF_KIND_PLAIN, "plain"}, {HF_KIND_FAIR, "fair"}, {HF_KIND_READ, "read"},
        {HF_KIND_WRITE, "write"}, {HF_KIND_NONREENTRANT, "nonreentrant"},
        {HF_KIND_FENCED, "fenced"}, {HF_KIND_NONREENTRANT_FAIR, "nonreentrant_fair"},
        {HF_KIND_SPIN, "spin"}, {HF_KIND_VALUE, "value"},
    };
    const char *path = getenv("HF_METRICS_OUT");
    char series[100];

    for (int i = 0; i < COUNT(kinds); i++) {
        struct hf_lock *one = lock_of_kind(client, kinds[i].kind, kinds[i].label);

        acquire(one, 1);
        release(one, 1);
        hf_lock_free(one);
    }
    take_counted();
    for (int i = 0; i < COUNT(kinds); i++) {
        (void)snprintf(series, sizeof series, "holdfast_hold_seconds_count{kind=\"%s\"}",
                       kinds[i].label);
        ck_assert_value(series, 1);
    }
    ck_assert_value("holdfast_grants_total{kind=\"semaphore\"}", 1);
    ck_assert_value("holdfast_grants_total{kind=\"latch\"}", 1);
    ck_assert_value("holdfast_holds{kind=\"semaphore\"}", 0);
    if (!path)
        return;
    put_text(path, "", HF_METRICS_OPENMETRICS);
    put_text(path, ".prom", HF_METRICS_PROMETHEUS);
}
END_TEST

/* ---- losses ---- */

static void await_loss(const char *reason, struct diary *d)
{
    char series[100];

    note_await(&d->note, &d->losses, 1, "a loss");
    (void)snprintf(series, sizeof series, "holdfast_losses_total{kind=\"plain\",reason=\"%s\"}",
                   reason);
    ck_assert_value(series, 1);
    ck_assert_value("holdfast_hold_seconds_count{kind=\"plain\"}", 1);
    ck_assert_status(hf_lock_release(lock, 1, NULL), HF_LOST);
    ck_assert_value(series, 1);
    ck_assert_value("holdfast_hold_seconds_count{kind=\"plain\"}", 1);
    ck_assert_value("holdfast_holds{kind=\"plain\"}", 0);
    ck_assert_value("holdfast_failed_calls_total{status=\"HF_LOST\"}", 1);
}

/* What another client does to the key, and the reason that the next renewal finds. */
static const struct {
    const char *commands[2];
    const char *reason;
} faults[] = {
    {{"DEL " NAME}, "deleted"},
    {{"PEXPIRE " NAME " 1"}, "deleted"},
    {{"FLUSHALL"}, "deleted"},
    {{"DEL " NAME, "HSET " NAME " 5e8c5c1a-0000-4000-8000-000000000000:7 1"}, "taken"},
    {{"SET " NAME " text"}, "taken"},
};

START_TEST(loss_has_its_reason)
{
    struct hf_acquire_options o;
    struct diary d;

    open_again(SHORT_WATCHDOG_MS);
    o = diary_options(&d, 1);
    ck_assert_ok(hf_lock_acquire(lock, &o, NULL));
    for (int i = 0; i < 2 && faults[_i].commands[i]; i++)
        (void)server_ask(server, faults[_i].commands[i]);
    await_loss(faults[_i].reason, &d);
}
END_TEST

START_TEST(unreachable_server_is_a_loss_after_failed_renewals)
{
    struct hf_acquire_options o;
    struct diary d;

    open_again(SHORT_WATCHDOG_MS);
    o = diary_options(&d, 1);
    ck_assert_ok(hf_lock_acquire(lock, &o, NULL));
    server_kill(server);
    await_loss("unreachable", &d);
    ck_assert_double_ge(value_of("holdfast_failed_renewal_requests_total"), 1);
    ck_assert_value("holdfast_lost_connections_total", 1);
    ck_assert_value("holdfast_connections", 0);
    await_value("holdfast_failed_connects_total", 1);
}
END_TEST

START_TEST(end_of_a_lease_and_of_the_hold_time_are_losses)
{
    struct hf_acquire_options o;
    struct diary d;

    o = diary_options(&d, 1);
    o.lease_ms = 200;
    ck_assert_ok(hf_lock_acquire(lock, &o, NULL));
    await_loss("lease_ended", &d);
    o = diary_options(&d, 1);
    o.max_hold_ms = 50;
    ck_assert_ok(hf_lock_acquire(lock, &o, NULL));
    note_await(&d.note, &d.losses, 1, "a loss");
    ck_assert_value("holdfast_losses_total{kind=\"plain\",reason=\"max_hold\"}", 1);
}
END_TEST

/* on_lost is not called then. */
START_TEST(loss_that_the_release_finds_is_counted)
{
    acquire(lock, 1);
    (void)server_ask(server, "DEL " NAME);
    ck_assert_status(hf_lock_release(lock, 1, NULL), HF_LOST);
    ck_assert_value("holdfast_losses_total{kind=\"plain\",reason=\"deleted\"}", 1);
    ck_assert_value("holdfast_hold_seconds_count{kind=\"plain\"}", 1);
    ck_assert_value("holdfast_holds{kind=\"plain\"}", 0);
}
END_TEST

/* ---- renewals ---- */

START_TEST(renewal_in_time_is_not_late)
{
    open_again(STEADY_WATCHDOG_MS);
    acquire(lock, 1);
    await_next_renewal(client);
    ck_assert_value("holdfast_renewals_total", stats_of(client).renewals);
    ck_assert_value("holdfast_failed_renewal_requests_total", 0);
    release(lock, 1);
}
END_TEST

/* The server is suspended while a renewal is due, until less than half of the lease is left. */
START_TEST(suspended_server_makes_a_renewal_late)
{
    int64_t deadline_ms = local_now_ms() + AWAIT_MS;

    open_again(2 * STEADY_WATCHDOG_MS);
    acquire(lock, 1);
    ck_assert_value("holdfast_late_renewals_total", 0);
    server_pause(server);
    await_value("holdfast_requests_in_flight", 1);
    while (2 * hf_lock_safe_ms(lock, 1) >= 2 * STEADY_WATCHDOG_MS - 400) {
        ck_assert_int_lt(local_now_ms(), deadline_ms);
        local_poll_rest();
    }
    ck_assert_value("holdfast_renewals_total", 0);
    server_resume(server);
    await_value("holdfast_renewals_total", 1);
    ck_assert_value("holdfast_late_renewals_total", 1);
    release(lock, 1);
}
END_TEST

/* ---- waiters ---- */

/* The waiter is another client, whose metrics are read. */
static struct hf_client *other_holder(int64_t lease_ms)
{
    struct hf_client *holder = client_to(server_port(server));

    if (lease_ms > 0)
        acquire_for(lock_of(holder, NAME), 1, lease_ms);
    else
        acquire(lock_of(holder, NAME), 1);
    return holder;
}

static void await_sleep(void)
{
    await_value("holdfast_wakeups_total{cause=\"subscription\"}", 1);
    await_value("holdfast_requests_total{outcome=\"answered\"}", 4); /* with the second acquire */
}

START_TEST(notification_wakes_a_waiter)
{
    struct hf_client *holder = other_holder(0);
    struct hf_acquire_options o = acquire_options(2);
    struct call waiter;

    call_acquire(&waiter, lock, &o);
    await_sleep();
    release(lock_of(holder, NAME), 1);
    ck_assert_status(call_await(&waiter), HF_OK);
    ck_assert_double_ge(value_of("holdfast_wakeups_total{cause=\"notification\"}"), 1);
    ck_assert_double_ge(value_of("holdfast_pushes_total"), 1);
    ck_assert_value("holdfast_wakeups_total{cause=\"push\"}", 0);
    hf_client_free(holder);
}
END_TEST

/* The holder's lease ends, which publishes nothing. */
START_TEST(timer_wakes_a_waiter)
{
    struct hf_client *holder = other_holder(400);
    struct hf_acquire_options o = acquire_options(2);
    struct call waiter;

    call_acquire(&waiter, lock, &o);
    ck_assert_status(call_await(&waiter), HF_OK);
    ck_assert_double_ge(value_of("holdfast_wakeups_total{cause=\"timer\"}"), 1);
    ck_assert_value("holdfast_wakeups_total{cause=\"notification\"}", 0);
    hf_client_free(holder);
}
END_TEST

START_TEST(own_release_gives_a_waiter_its_turn)
{
    struct hf_acquire_options o = acquire_options(2);
    struct call waiter;

    acquire(lock, 1);
    call_acquire(&waiter, lock, &o);
    await_sleep();
    release(lock, 1);
    ck_assert_status(call_await(&waiter), HF_OK);
    ck_assert_double_ge(value_of("holdfast_wakeups_total{cause=\"turn\"}") +
                            value_of("holdfast_wakeups_total{cause=\"notification\"}"),
                        1);
}
END_TEST

/* The user may not subscribe: only the push wakes the waiter at once. */
START_TEST(push_wakes_a_waiter)
{
    struct hf_client *holder = other_holder(0);
    struct hf_acquire_options o = acquire_options(2);
    struct call waiter;

    if (server_ask_int(server, "EVAL %s 0", "return redis.call('command', 'info', 'acl')[1] and "
                                            "1 or 0") == 0)
        return; /* a server without users */
    (void)server_ask(server, "ACL SETUSER deaf on >PASSWORD ~* +@all -subscribe resetchannels");
    hf_client_free(client);
    client = client_by(server, TRACKING, "deaf");
    lock = lock_of(client, NAME);
    call_acquire(&waiter, lock, &o);
    await_tracked(server, 1);
    (void)server_ask(server, "DEL " NAME);
    ck_assert_status(call_await(&waiter), HF_OK);
    ck_assert_double_ge(value_of("holdfast_wakeups_total{cause=\"push\"}") +
                            value_of("holdfast_wakeups_total{cause=\"timer\"}"), 1);
    ck_assert_double_ge(value_of("holdfast_key_pushes_total"), 1);
    hf_client_free(holder);
}
END_TEST

START_TEST(calls_that_fail_are_counted_by_status)
{
    struct hf_client *holder = other_holder(0);
    struct hf_acquire_options o = acquire_options(2);
    struct hf_cancel cancel;
    struct call waiter;

    ck_assert_status(try_acquire(lock, 1, NULL), HF_TIMEOUT);
    ck_assert_value("holdfast_failed_calls_total{status=\"HF_TIMEOUT\"}", 1);
    ck_assert_status(hf_lock_release(lock, 1, NULL), HF_NOT_OWNER);
    ck_assert_value("holdfast_failed_calls_total{status=\"HF_NOT_OWNER\"}", 1);
    hf_cancel_init(&cancel, client);
    o.cancel = &cancel;
    call_acquire(&waiter, lock, &o);
    await_value("holdfast_waiters{kind=\"plain\"}", 1);
    hf_cancel_fire(&cancel);
    ck_assert_status(call_await(&waiter), HF_CANCELLED);
    ck_assert_value("holdfast_failed_calls_total{status=\"HF_CANCELLED\"}", 1);
    ck_assert_value("holdfast_waiters{kind=\"plain\"}", 0);
    ck_assert_value("holdfast_grants_total{kind=\"plain\"}", 0);
    hf_client_free(holder);
    (void)server_ask(server, "SET other text");
    ck_assert_status(try_acquire(lock_of(client, "other"), 1, NULL), HF_E_SERVER);
    ck_assert_value("holdfast_failed_calls_total{status=\"HF_E_SERVER\"}", 1);
    ck_assert_double_ge(value_of("holdfast_error_replies_total"), 1);
}
END_TEST

/* ---- callers, memory ---- */

static void lock_in_line(void *ctx, const char *line)
{
    (void)line;
    (void)stats_of(ctx);
}

START_TEST(write_may_call_the_library)
{
    acquire(lock, 1);
    ck_assert_ok(hf_metrics_text(&client, 1, NULL, lock_in_line, client));
    release(lock, 1);
}
END_TEST

static void count_line(void *ctx, const char *line)
{
    (void)line;
    ++*(int *)ctx;
}

START_TEST(without_memory_nothing_is_written_and_no_call_fails)
{
    static struct memory memory;
    struct hf_client_options o;
    struct hf_client *poor;
    struct hf_lock *its;
    char url[SERVER_URL_MAX];
    int lines = 0;

    memory_init(&memory);
    client_options(&o, url, server_port(server));
    o.mem = &memory.hook;
    poor = client_with(&o);
    its = lock_of(poor, NAME);
    ck_assert_ok(hf_client_connect(poor, NULL));
    memory_fail_at(&memory, 1);
    ck_assert_status(hf_metrics_text(&poor, 1, NULL, count_line, &lines), HF_E_NOMEM);
    ck_assert_int_eq(lines, 0);
    memory_fail_at(&memory, 0);
    acquire(its, 1);
    release(its, 1);
    ck_assert_ok(hf_metrics_text(&poor, 1, NULL, count_line, &lines));
    ck_assert_int_gt(lines, 100);
    hf_client_free(poor);
    ck_assert_pstr_eq(memory_fini(&memory), NULL);
}
END_TEST

static void add(Suite *s)
{
    TCase *c = tcase_create("metrics");

    tcase_add_checked_fixture(c, start, stop);
    tcase_add_test(c, grant_and_release_are_counted);
    tcase_add_test(c, times_of_waits_and_holds_are_measured);
    tcase_add_test(c, each_kind_has_its_label);
    tcase_add_loop_test(c, loss_has_its_reason, 0, COUNT(faults));
    tcase_add_test(c, unreachable_server_is_a_loss_after_failed_renewals);
    tcase_add_test(c, end_of_a_lease_and_of_the_hold_time_are_losses);
    tcase_add_test(c, loss_that_the_release_finds_is_counted);
    tcase_add_test(c, renewal_in_time_is_not_late);
    tcase_add_test(c, suspended_server_makes_a_renewal_late);
    tcase_add_test(c, notification_wakes_a_waiter);
    tcase_add_test(c, timer_wakes_a_waiter);
    tcase_add_test(c, own_release_gives_a_waiter_its_turn);
    tcase_add_test(c, push_wakes_a_waiter);
    tcase_add_test(c, calls_that_fail_are_counted_by_status);
    tcase_add_test(c, write_may_call_the_library);
    tcase_add_test(c, without_memory_nothing_is_written_and_no_call_fails);
    suite_add_tcase(s, c);
}

int main(void)
{
    return live_main("metrics", add);
}
