/* Which thread calls back, when, and in which order: rule DRIVER-9 of net/loop/drive.c as a
 * user of locks meets it. */
#include <semaphore.h>

#include "tests/live/test_lock.h"
#include "tests/support/one_server.h"

#define ANOTHER "00000000-0000-4000-8000-000000000000:1"

#define WATCHDOG_MS 4500        /* a renewal each 1.5 s */
#define RENEWALS 4

static struct hf_client *client;

static void open_client(bool thread)
{
    struct hf_client_options o;
    char url[SERVER_URL_MAX];

    client_options(&o, url, server_port(server));
    o.watchdog_ms = WATCHDOG_MS;
    o.thread = thread;
    client = client_with(&o);
}

static void use(struct hf_lock *lock)
{
    acquire(lock, 1);
    release(lock, 1);
}

static uint64_t renewals(void)
{
    return stats_of(client).renewals;
}

/* Calls until so many renewals were answered; there is an end to it. */
static void use_until_renewed(struct hf_lock *lock, uint64_t count)
{
    int64_t deadline_ms = local_now_ms() + AWAIT_MS;

    while (renewals() < count) {
        ck_assert_msg(local_now_ms() < deadline_ms, "nothing is renewed");
        use(lock);
        local_rest_us(1000); /* still hundreds of calls for each renewal, and time for other tests */
    }
}

/* ---- with a background thread ---- */

struct threads {
    struct note note;
    pthread_t first;
    int calls;
    int elsewhere;              /* not by the thread of the first */
};

static void note_thread(struct threads *t)
{
    if (t->calls == 0)
        t->first = pthread_self();
    if (!pthread_equal(t->first, pthread_self()))
        t->elsewhere++;
    note_add(&t->note, &t->calls);
}

static void thread_renewed(void *ctx, struct hf_lock *lock, int64_t owner)
{
    (void)lock;
    (void)owner;
    note_thread(ctx);
}

static void thread_lost(void *ctx, struct hf_lock *lock, int64_t owner,
                        enum hf_lost reason)
{
    (void)lock;
    (void)owner;
    (void)reason;
    note_thread(ctx);
}

static void thread_wait(void *ctx, struct hf_lock *lock,
                        const struct hf_lock_info *info)
{
    (void)lock;
    (void)info;
    note_thread(ctx);
}

static void thread_done(void *ctx, hf_status status, const struct hf_error *err)
{
    (void)status;
    (void)err;
    note_thread(ctx);
}

static struct hf_acquire_options thread_options(struct threads *t,
                                                int64_t owner)
{
    struct hf_acquire_options o = acquire_options(owner);

    o.on_renewed = thread_renewed;
    o.on_lost = thread_lost;
    o.on_wait = thread_wait;
    o.ctx = t;
    return o;
}

/* However busy the caller's thread is with calls that drive the loop. */
START_TEST(callbacks_come_from_the_background_thread)
{
    struct threads t = {.calls = 0};
    struct hf_acquire_options o = thread_options(&t, 7);
    struct hf_lock *held, *other;

    note_init(&t.note);
    open_client(true);
    held = lock_of(client, "held");
    other = lock_of(client, "other");
    ck_assert_ok(hf_lock_acquire(held, &o, NULL));
    use_until_renewed(other, RENEWALS);
    o.owner = 8; /* waits, and gives up */
    o.wait_ms = A_MOMENT_MS;
    must_time_out(held, &o);
    ck_assert_ok(hf_lock_acquire_async(held, &o, thread_done, &t));
    use_until_renewed(other, renewals() + 2);
    hf_client_free(client);
    ck_assert_int_ge(t.calls, RENEWALS + 3); /* a wait, a done, a loss */
    ck_assert_int_eq(t.elsewhere, 0);
    ck_assert(!pthread_equal(t.first, pthread_self()));
}
END_TEST

struct gate {
    pthread_mutex_t mutex;
    struct note note;
    int calls;
};

static void through_the_gate(void *ctx, struct hf_lock *lock, int64_t owner)
{
    struct gate *gate = ctx;

    (void)lock;
    (void)owner;
    (void)pthread_mutex_lock(&gate->mutex);
    (void)pthread_mutex_unlock(&gate->mutex);
    note_add(&gate->note, &gate->calls);
}

/* A mutex that the callback wants is held across calls: none of them waits for
 * the callback. */
START_TEST(callback_that_blocks_holds_up_no_call)
{
    struct gate gate = {.calls = 0};
    struct hf_acquire_options o = acquire_options(7);
    struct hf_lock *held, *other;

    (void)pthread_mutex_init(&gate.mutex, NULL);
    note_init(&gate.note);
    o.on_renewed = through_the_gate;
    o.ctx = &gate;
    open_client(true);
    held = lock_of(client, "held");
    other = lock_of(client, "other");
    ck_assert_ok(hf_lock_acquire(held, &o, NULL));
    (void)pthread_mutex_lock(&gate.mutex);
    use_until_renewed(other, 3);
    for (int i = 0; i < 100; i++)
        use(other);
    ck_assert_int_eq(note_read(&gate.note, &gate.calls), 0);
    (void)pthread_mutex_unlock(&gate.mutex);
    note_await(&gate.note, &gate.calls, 1, "on_renewed");
    release(held, 7);
    hf_client_free(client);
}
END_TEST

struct nested {
    struct note note;
    struct hf_lock *other;
    int pairs;
};

static void use_another(void *ctx, struct hf_lock *lock, int64_t owner)
{
    struct nested *n = ctx;

    (void)lock;
    (void)owner;
    if (hf_lock_acquire(n->other, NULL, NULL) == HF_OK &&
        hf_lock_release(n->other, hf_owner_thread(), NULL) == HF_OK)
        note_add(&n->note, &n->pairs);
}

/* A callback waits for a lock that a blocked caller holds and gives back. */
START_TEST(callback_may_wait_for_a_lock)
{
    struct nested n = {.pairs = 0};
    struct hf_acquire_options o = acquire_options(7);
    struct hf_lock *held;

    note_init(&n.note);
    o.on_renewed = use_another;
    o.ctx = &n;
    open_client(true);
    held = lock_of(client, "held");
    n.other = lock_of(client, "other");
    ck_assert_ok(hf_lock_acquire(held, &o, NULL));
    use_until_renewed(n.other, RENEWALS);
    note_await(&n.note, &n.pairs, 2, "what the callback does");
    release(held, 7);
    hf_client_free(client);
}
END_TEST

static void slow_done(void *ctx, hf_status status, const struct hf_error *err)
{
    (void)status;
    (void)err;
    local_rest_us(2000);
    note_thread(ctx);
}

/* hf_client_close and hf_client_free return when all callbacks have. */
START_TEST(closing_waits_for_the_background_thread)
{
    struct threads t = {.calls = 0};
    struct hf_acquire_options o;
    struct hf_lock *lock;

    note_init(&t.note);
    open_client(true);
    lock = lock_of(client, NAME);
    acquire(lock, 1);
    for (int64_t owner = 2; owner < 12; owner++) {
        o = acquire_options(owner);
        ck_assert_ok(hf_lock_acquire_async(lock, &o, slow_done, &t));
    }
    if (_i == 0) {
        (void)hf_client_close(client, 0, NULL, NULL);
        ck_assert_int_eq(t.calls, 10);
    }
    hf_client_free(client);
    ck_assert_int_eq(t.calls, 10);
    ck_assert_int_eq(t.elsewhere, 0);
    ck_assert(!pthread_equal(t.first, pthread_self()));
}
END_TEST

/* ---- without ---- */

/* They wait for whoever dispatches: another thread, or none until later. */
START_TEST(blocking_calls_leave_callbacks_to_dispatch)
{
    struct threads t = {.calls = 0};
    struct hf_acquire_options o = thread_options(&t, 7);
    struct hf_lock *held, *other;

    note_init(&t.note);
    open_client(false);
    held = lock_of(client, "held");
    other = lock_of(client, "other");
    ck_assert_ok(hf_lock_acquire(held, &o, NULL));
    use_until_renewed(other, 3);
    ck_assert_int_eq(t.calls, 0);
    ck_assert_int_eq(hf_loop_timeout(hf_client_loop(client)), 0);
    hf_loop_dispatch(hf_client_loop(client), 0);
    ck_assert_int_eq(t.calls, 1);
    ck_assert(pthread_equal(t.first, pthread_self()));
    use_until_renewed(other, renewals() + 1);
    hf_client_free(client); /* tells the loss; the renewal means nothing now */
    ck_assert_int_eq(t.calls, 2);
    ck_assert_int_eq(t.elsewhere, 0);
}
END_TEST

static void *dispatch_until_lost(void *arg)
{
    struct diary *d = arg;

    while (note_read(&d->note, &d->losses) == 0)
        hf_loop_dispatch(hf_client_loop(client), 50);
    return NULL;
}

/* A caller drives for long, waiting for another lock. The loss is told
 * by the thread that dispatches, and while the server keeps the lock. */
START_TEST(loss_is_reported_while_a_caller_is_blocked)
{
    struct diary d;
    struct hf_acquire_options o = diary_options(&d, 7);
    struct hf_lock *held, *busy;
    pthread_t dispatcher;

    open_client(false);
    held = lock_of(client, "held");
    busy = lock_of(client, "busy");
    (void)server_ask(server, "HSET busy " ANOTHER " 1");
    o.lease_ms = 400;
    d.server = server;
    diary_hold(&d, held, &o);
    (void)pthread_create(&dispatcher, NULL, dispatch_until_lost, &d);
    o = acquire_options(8);
    o.wait_ms = 1000;
    must_time_out(busy, &o);
    (void)pthread_join(dispatcher, NULL);
    ck_assert_overdue(&d, HF_REASON_LEASE_ENDED);
    hf_client_free(client);
}
END_TEST

/* on_wait is withdrawn when its call has ended: ctx may be gone. */
START_TEST(on_wait_does_not_come_after_its_call)
{
    struct threads t = {.calls = 0};
    struct hf_acquire_options o = thread_options(&t, 7);
    struct hf_lock *busy;

    note_init(&t.note);
    open_client(false);
    busy = lock_of(client, "busy");
    (void)server_ask(server, "HSET busy " ANOTHER " 1");
    o.wait_ms = A_MOMENT_MS; /* enough to hear that another holds it */
    for (int i = 0; i < 3; i++)
        must_time_out(busy, &o);
    hf_loop_dispatch(hf_client_loop(client), 0);
    ck_assert_int_eq(t.calls, 0);
    hf_client_free(client);
}
END_TEST

/* A call is under way until `done` was called: who never dispatches meets the
 * limit, not the end of memory. */
START_TEST(calls_whose_done_waits_count_as_under_way)
{
    enum { CALLS = 10 };
    struct threads t = {.calls = 0};
    struct hf_client_options o;
    struct hf_lock *lock;
    char url[SERVER_URL_MAX];

    note_init(&t.note);
    client_options(&o, url, server_port(server));
    o.thread = false;
    o.waiters_max = CALLS + 1;
    client = client_with(&o);
    lock = lock_of(client, NAME);
    for (int i = 0; i < CALLS; i++) {
        ck_assert_ok(hf_lock_release_async(lock, 1, thread_done, &t));
        use(lock);
    }
    ck_assert_ok(hf_lock_release_async(lock, 1, thread_done, &t));
    ck_assert_status(hf_lock_acquire(lock, NULL, NULL), HF_E_LIMIT);
    hf_loop_dispatch(hf_client_loop(client), 0);
    ck_assert_int_eq(t.calls, CALLS + 1);
    use(lock);
    hf_client_free(client);
}
END_TEST

/* ---- losses and log lines ---- */

#define HOLDS 2000              /* whose losses on_lost is told */
#define LINES 500               /* and those that are logged: too many */

struct slow_log {
    struct note note;
    sem_t may_go_on;
    int lines, losses;
    int lines_before_last_loss;
    bool holds_up;
    char last[400];
};

static void log_slowly(void *ctx, enum hf_log_level level, const char *line)
{
    struct slow_log *log = ctx;

    (void)level;
    (void)snprintf(log->last, sizeof log->last, "%s", line);
    if (log->holds_up)
        while (sem_wait(&log->may_go_on) < 0)
            continue;
    log->holds_up = false;
    note_add(&log->note, &log->lines);
}

static void count_loss(void *ctx, struct hf_lock *lock, int64_t owner,
                       enum hf_lost reason)
{
    struct slow_log *log = ctx;

    (void)lock;
    (void)owner;
    (void)reason;
    log->lines_before_last_loss = note_read(&log->note, &log->lines);
    note_add(&log->note, &log->losses);
}

/* All leases end while one line is being logged: then come all losses, then the
 * lines, of which no more wait than may, and one that says how many more. */
START_TEST(losses_are_reported_before_log_lines)
{
    static struct slow_log log = {.holds_up = true};
    struct hf_client_options o;
    struct hf_acquire_options a;
    struct hf_lock *lock;
    char url[SERVER_URL_MAX], expected[100];

    note_init(&log.note);
    (void)sem_init(&log.may_go_on, 0, 0);
    client_options(&o, url, server_port(server));
    o.log = log_slowly;
    o.log_ctx = &log;
    client = client_with(&o);
    lock = lock_of(client, "first"); /* its loss is a line, and no callback */
    acquire_for(lock, 1, 100);
    for (int i = 0; i < HOLDS; i++) {
        char name[20];

        (void)snprintf(name, sizeof name, "n%d", i);
        a = acquire_options(i + 1);
        a.lease_ms = 2000;
        a.on_lost = count_loss;
        a.ctx = &log;
        ck_assert_ok(hf_lock_acquire(lock_of(client, name), &a, NULL));
    }
    for (int i = 0; i < LINES; i++) {
        char name[20];

        (void)snprintf(name, sizeof name, "l%d", i);
        acquire_for(lock_of(client, name), 1, 2000);
    }
    lock = lock_of(client, "busy"); /* a caller drives meanwhile */
    (void)server_ask(server, "HSET busy " ANOTHER " 1");
    a = acquire_options(1);
    a.wait_ms = 3000;
    must_time_out(lock, &a);
    (void)sem_post(&log.may_go_on);
    note_await(&log.note, &log.losses, HOLDS, "the last loss");
    ck_assert_int_eq(log.lines_before_last_loss, 1);
    hf_client_free(client);
    ck_assert_int_eq(log.lines, 1 + 256 + 1);
    (void)snprintf(expected, sizeof expected,
                   "%d more lines were left out: too many at once",
                   LINES - 256);
    ck_assert_str_eq(log.last, expected);
}
END_TEST

struct told {
    struct diary diary;
    int lines;                  /* of losses */
};

static void take_line(void *ctx, enum hf_log_level level, const char *line)
{
    struct told *told = ctx;

    (void)level;
    if (strstr(line, "is lost"))
        note_add(&told->diary.note, &told->lines);
}

/* By its on_lost; or by a line, if it has none. */
START_TEST(a_loss_is_reported_in_one_way)
{
    struct hf_client_options o;
    struct hf_acquire_options a;
    char url[SERVER_URL_MAX];
    struct told told = {0};

    client_options(&o, url, server_port(server));
    o.log = take_line;
    o.log_ctx = &told;
    client = client_with(&o);
    a = diary_options(&told.diary, 1);
    a.lease_ms = 100;
    if (_i == 1)
        a.on_lost = NULL;
    ck_assert_ok(hf_lock_acquire(lock_of(client, NAME), &a, NULL));
    note_await(&told.diary.note, _i == 0 ? &told.diary.losses : &told.lines, 1,
               "the loss");
    hf_client_free(client);
    ck_assert_int_eq(told.diary.losses, _i == 0);
    ck_assert_int_eq(told.lines, _i == 1);
}
END_TEST

static void add(Suite *suite)
{
    TCase *c =
        live_case(suite, "a background thread", start_server, stop_server);

    tcase_add_test(c, callbacks_come_from_the_background_thread);
    tcase_add_test(c, callback_that_blocks_holds_up_no_call);
    tcase_add_test(c, callback_may_wait_for_a_lock);
    tcase_add_loop_test(c, closing_waits_for_the_background_thread, 0, 2);
    c = live_case(suite, "no background thread", start_server, stop_server);
    tcase_add_test(c, blocking_calls_leave_callbacks_to_dispatch);
    tcase_add_test(c, loss_is_reported_while_a_caller_is_blocked);
    tcase_add_test(c, on_wait_does_not_come_after_its_call);
    tcase_add_test(c, calls_whose_done_waits_count_as_under_way);
    c = live_case(suite, "losses and log lines", start_server, stop_server);
    tcase_add_test(c, losses_are_reported_before_log_lines);
    tcase_add_loop_test(c, a_loss_is_reported_in_one_way, 0, 2);
}

int main(void)
{
    return live_main("lock/callbacks", add);
}
