/* The ways of calling lock.h, against a real server: without blocking, in a scope,
 * looked on by counters and traces, at the limits of each argument. */
#include <poll.h>

#include "lock/scope.h"
#include "tests/live/lock/test_lock_one.h"
#include "tests/support/lua_client.h"

/* ---- without blocking ---- */

/* Nobody but this thread drives: each call does all that its twin does. */
START_TEST(every_call_has_a_twin_that_does_not_block)
{
    struct hf_acquire_options o = acquire_options(3);
    struct hf_lock_info info;
    struct call call;

    open_client(&ways[_i]);
    call_acquire(&call, lock, &o);
    ck_assert_status(call_drive(&call, client), HF_OK);
    ck_assert_holder(server, lock, 3, 1);

    call_init(&call);
    ck_assert_ok(hf_lock_inspect_async(lock, &info, call_done, &call));
    ck_assert_status(call_drive(&call, client), HF_OK);
    ck_assert_int_eq(info.hold_count, 1);

    o.owner = 4;
    o.wait_ms = 0;
    call_acquire(&call, lock, &o);
    ck_assert_status(call_drive(&call, client), HF_TIMEOUT);
    ck_assert_int_eq(call.error.status, HF_TIMEOUT);

    call_release(&call, lock, 3);
    ck_assert_status(call_drive(&call, client), HF_OK);
    call_release(&call, lock, 3);
    ck_assert_status(call_drive(&call, client), HF_NOT_OWNER);
    ck_assert_ptr_nonnull(strstr(call.error.text, NAME));

    call_init(&call);
    ck_assert_ok(
        hf_lock_force_release_async(lock, NULL, 0, call_done, &call));
    ck_assert_status(call_drive(&call, client), HF_NOT_OWNER);
    close_client();
}
END_TEST

/* As another event loop would: its poll(2) on our descriptor, our timeout. A
 * build with poll(2) has no descriptor to give, and says so. */
START_TEST(another_event_loop_can_drive)
{
    struct hf_acquire_options o = acquire_options(3);
    struct hf_loop *loop;
    struct call call;
    int turns = 0;

    open_client(&ways[2]);
    loop = hf_client_loop(client);
    (void)lua_acquire(server, NAME, strlen(NAME), LUA_HOLDER, 100);
    call_acquire(&call, lock, &o); /* ends with that lease */
    if (hf_loop_fd(loop) < 0)
        (void)call_drive(&call, client);
    while (!call_is_done(&call)) {
        struct pollfd p = {.fd = hf_loop_fd(loop), .events = POLLIN};

        ck_assert_int_lt(turns++, 1000); /* it sleeps in between */
        ck_assert_int_ge(poll(&p, 1, hf_loop_timeout(loop)), 0);
        hf_loop_dispatch(loop, 0);
    }
    ck_assert_status(call_await(&call), HF_OK);
    release(lock, 3);
    close_client();
}
END_TEST

/* A thousand calls at once share a few writes, and each ends once. */
START_TEST(many_calls_may_be_under_way)
{
    static struct call calls[1000];
    struct hf_lock *locks[COUNT(calls)];
    struct hf_acquire_options o = acquire_options(1);
    char name[20];
    uint64_t writes;

    open_client(&ways[_i]);
    ck_assert_ok(hf_client_connect(client, NULL));
    writes = stats_of(client).link.writes;
    for (int i = 0; i < COUNT(calls); i++) {
        (void)snprintf(name, sizeof name, "n%d", i);
        locks[i] = lock_of(client, name);
        call_acquire(&calls[i], locks[i], &o);
    }
    for (int i = 0; i < COUNT(calls); i++)
        ck_assert_status(call_drive(&calls[i], client), HF_OK);
    ck_assert_int_eq(server_ask_int(server, "DBSIZE"), COUNT(calls));
    ck_assert_uint_lt(stats_of(client).link.writes - writes,
                      COUNT(calls));
    for (int i = 0; i < COUNT(calls); i++)
        call_release(&calls[i], locks[i], 1);
    for (int i = 0; i < COUNT(calls); i++)
        ck_assert_status(call_drive(&calls[i], client), HF_OK);
    ck_assert_int_eq(server_ask_int(server, "DBSIZE"), 0);
    for (int i = 0; i < COUNT(calls); i++)
        hf_lock_free(locks[i]);
    close_client();
}
END_TEST

/* Two calls of one owner at once are two acquisitions of one hold. HOLD-1 */
START_TEST(calls_of_one_owner_at_once_all_count)
{
    struct hf_acquire_options o = acquire_options(1);
    struct call calls[8];

    open_client(&ways[_i]);
    for (int i = 0; i < COUNT(calls); i++) {
        o.wait_ms = i % 2 ? 0 : HF_FOREVER;
        call_acquire(&calls[i], lock, &o);
    }
    for (int i = 0; i < COUNT(calls); i++)
        ck_assert_status(call_drive(&calls[i], client), HF_OK);
    ck_assert_holder(server, lock, 1, COUNT(calls));
    for (int i = 0; i < COUNT(calls); i++)
        call_release(&calls[i], lock, 1);
    for (int i = 0; i < COUNT(calls); i++)
        ck_assert_status(call_drive(&calls[i], client), HF_OK);
    ck_assert_str_eq(hash_of(server, NAME), "");
    close_client();
}
END_TEST

/* A call, and as which one of its kind it ended. */
struct placed {
    struct call call;
    int place;
};

static _Atomic int places;

static void note_place(void *ctx, hf_status status, const struct hf_error *err)
{
    struct placed *p = ctx;

    p->place = ++places;
    call_done(&p->call, status, err);
}

/* Another owner holds it. When the first of them is granted, the others enter its hold. */
START_TEST(calls_of_one_owner_enter_in_the_order_in_which_they_waited)
{
    struct hf_acquire_options o = acquire_options(1);
    struct placed all[8];

    open_client(&ways[_i]);
    (void)lua_acquire(server, NAME, strlen(NAME), LUA_HOLDER, 60000);
    o.wait_ms = HF_FOREVER;
    places = 0;
    for (int i = 0; i < COUNT(all); i++) {
        call_init(&all[i].call);
        ck_assert_ok(hf_lock_acquire_async(lock, &o, note_place, &all[i]));
    }
    while (strcmp(server_ask(server, "PUBSUB CHANNELS"), CHANNEL) != 0)
        hf_loop_dispatch(hf_client_loop(client), 1);
    ck_assert_str_eq(lua_release(server, NAME, strlen(NAME), LUA_HOLDER, 60000), "1");
    for (int i = 0; i < COUNT(all); i++) {
        ck_assert_status(call_drive(&all[i].call, client), HF_OK);
        ck_assert_int_eq(all[i].place, i + 1);
    }
    ck_assert_holder(server, lock, 1, COUNT(all));
    close_client();
}
END_TEST

/* A callback may use the library, also what blocks. */
struct relay {
    struct hf_lock *next;
    struct call call;
};

static void use_the_library(void *ctx, hf_status status,
                            const struct hf_error *err)
{
    struct relay *relay = ctx;

    acquire(relay->next, 1);
    release(relay->next, 1);
    call_done(&relay->call, status, err);
}

START_TEST(a_callback_may_use_blocking_calls)
{
    struct hf_acquire_options o = acquire_options(1);
    struct relay relay;

    open_client(&ways[_i]);
    call_init(&relay.call);
    relay.next = lock_of(client, "next");
    ck_assert_ok(hf_lock_acquire_async(lock, &o, use_the_library, &relay));
    ck_assert_status(call_drive(&relay.call, client), HF_OK);
    release(lock, 1);
    hf_lock_free(relay.next);
    close_client();
}
END_TEST

/* ---- scoped ---- */

struct scene {
    bool admits;
    bool releases;      /* the body does, so that the scope cannot */
    hf_status exit;
    int bodies, exits;
};

static bool on_acquire(void *ctx, struct hf_lock *held)
{
    struct scene *scene = ctx;

    ck_assert_holder(server, held, hf_owner_thread(), 1);
    return scene->admits;
}

static int body(void *ctx, struct hf_lock *held)
{
    struct scene *scene = ctx;

    ck_assert_holder(server, held, hf_owner_thread(), 1);
    if (scene->releases)
        release(held, hf_owner_thread());
    scene->bodies++;
    return 42;
}

static void on_exit_of(void *ctx, struct hf_lock *held, hf_status released)
{
    struct scene *scene = ctx;

    (void)held;
    scene->exit = released;
    scene->exits++;
}

static const struct {
    bool admits, releases;
    hf_status status;
    int bodies, result;
} scenes[] = {
    {true, false, HF_OK, 1, 42},
    {false, false, HF_OK, 0, 0},
    {true, true, HF_NOT_OWNER, 1, 42},
};

START_TEST(a_scope_releases_on_every_path)
{
    struct scene scene = {.admits = scenes[_i].admits,
                          .releases = scenes[_i].releases};
    struct hf_scope scope = {sizeof scope, on_acquire, body, on_exit_of, &scene};
    int result = -1;

    open_client(&ways[0]);
    ck_assert_status(hf_lock_with(lock, NULL, &(struct hf_scope)HF_SCOPE_INIT, &result, NULL),
                     HF_E_INVAL); /* it has no body */
    ck_assert_status(hf_client_new_url(&(struct hf_client *){NULL}, NULL, NULL), HF_E_INVAL);
    ck_assert_status(hf_lock_with(lock, NULL, &scope, &result, NULL),
                     scenes[_i].status);
    ck_assert_int_eq(result, scenes[_i].result);
    ck_assert_int_eq(scene.bodies, scenes[_i].bodies);
    ck_assert_int_eq(scene.exits, 1);
    ck_assert_int_eq(scene.exit, scenes[_i].status);
    ck_assert_str_eq(hash_of(server, NAME), "");
    close_client();
}
END_TEST

START_TEST(a_scope_that_is_refused_runs_nothing)
{
    struct hf_acquire_options o = acquire_options(9);
    struct scene scene = {.admits = true};
    struct hf_scope scope = {sizeof scope, NULL, body, NULL, &scene};
    int result = -1;

    open_client(&ways[0]);
    acquire(lock, 1);
    o.wait_ms = 0;
    ck_assert_status(hf_lock_with(lock, &o, &scope, &result, NULL),
                     HF_TIMEOUT);
    ck_assert_int_eq(scene.bodies, 0);
    ck_assert_int_eq(result, -1);
    release(lock, 1);
    close_client();
}
END_TEST

/* ---- counters ---- */

/* 20 pairs of one thread: a command and a turn each, and nothing else. */
START_TEST(counters_match_the_requests_of_the_client)
{
    struct hf_client_stats before, after;
    uint64_t median, tail;

    open_client(&ways[_i]);
    acquire(lock, 1);
    release(lock, 1);
    before = stats_of(client);
    for (int i = 0; i < 20; i++) {
        acquire(lock, 1);
        release(lock, 1);
    }
    after = stats_of(client);
    ck_assert_uint_eq(after.link.requests - before.link.requests, 40);
    ck_assert_uint_eq(after.link.answered - before.link.answered, 40);
    ck_assert_uint_eq(after.link.latency_us.count -
                          before.link.latency_us.count, 40);
    ck_assert_uint_eq(after.link.batch.sum - before.link.batch.sum, 40);
    ck_assert_uint_eq(after.link.unsent + after.link.unknown, 0);
    ck_assert_uint_eq(after.link.in_flight + after.link.queued, 0);
    ck_assert_uint_eq(after.link.connects, 1);
    ck_assert_uint_gt(after.loop.turns, before.loop.turns);
    median = hf_histogram_quantile(&after.link.latency_us, 0.5);
    tail = hf_histogram_quantile(&after.link.latency_us, 0.99);
    ck_assert_uint_gt(median, 0);
    ck_assert_uint_le(median, tail);
    ck_assert_uint_le(tail, after.link.latency_us.max);
    ck_assert_uint_lt(after.link.latency_us.max, LONG_MS * 1000);
    close_client();
}
END_TEST

/* ---- who looks on ---- */

#define PASSWORD "open-sesame"

struct lines {
    int commands, answers, secrets, leaks;    /* under the loop's lock */
};

static void note_line(void *ctx, const struct hf_trace *trace)
{
    char text[HF_TRACE_TEXT_MAX];
    struct lines *lines = ctx;

    (void)hf_trace_text(text, trace);
    lines->commands += strstr(text, " > EVALSHA ") != NULL;
    lines->answers += strstr(text, " < [ ") != NULL;
    lines->secrets += strstr(text, "(secret)") != NULL;
    lines->leaks += strstr(text, PASSWORD) != NULL;
}

/* In the URL or beside it, by HELLO or by AUTH, on one connection or on two. */
START_TEST(trace_shows_all_except_the_password)
{
    const char *const args[] = {"--requirepass", PASSWORD, NULL};
    struct server *locked = server_start(args);
    bool is_in_url = _i & 1;
    struct hf_client_options o;
    struct lines lines = {0};
    struct hf_client *traced;
    struct call waiter;
    struct hf_lock *l;
    struct hf_acquire_options ao = acquire_options(2);
    char url[SERVER_URL_MAX], with[100];

    client_options(&o, url, server_port(locked));
    (void)snprintf(with, sizeof with, "%s://:" PASSWORD "@%s",
                   o.tls ? "rediss" : "redis", strstr(url, "://") + 3);
    o.protocol = _i & 2 ? 3 : 2;
    if (is_in_url)
        o.url = with;
    else
        o.password = PASSWORD;
    o.trace = note_line;
    o.trace_ctx = &lines;
    traced = client_with(&o);
    l = lock_of(traced, NAME);
    acquire(l, 1);
    call_acquire(&waiter, l, &ao);
    await_subscribers(locked, CHANNEL, 1);
    release(l, 1);
    ck_assert_status(call_await(&waiter), HF_OK);
    release(l, 2);
    hf_client_free(traced);
    ck_assert_int_ge(lines.commands, 4);
    ck_assert_int_ge(lines.answers, 4);
    ck_assert_int_eq(lines.secrets, o.protocol == 3 ? 1 : 2);
    ck_assert_int_eq(lines.leaks, 0);
    server_stop(locked);
}
END_TEST

/* ---- limits, arguments ---- */

START_TEST(locks_and_calls_have_their_limits)
{
    struct hf_acquire_options o = acquire_options(2);
    struct hf_client_options options;
    struct hf_lock *second, *third = NULL;
    struct hf_error err;
    struct call call;
    char url[SERVER_URL_MAX];

    client_options(&options, url, server_port(server));
    options.locks_max = 2;
    options.waiters_max = 1;
    client = client_with(&options);
    lock = lock_of(client, NAME);
    second = lock_of(client, "second");
    ck_assert_status(hf_lock_new(&third, client, "third", 5, &err),
                     HF_E_LIMIT);
    hf_lock_free(second);
    third = lock_of(client, "third");
    acquire(lock, 1);
    call_acquire(&call, lock, &o);
    ck_assert_status(hf_lock_release(lock, 1, &err), HF_E_LIMIT);
    ck_assert_str_ne(err.text, "");
    ck_assert_status(hf_lock_release_async(lock, 1, call_done, &call),
                     HF_E_LIMIT);
    (void)server_ask(server, "DEL " NAME);
    (void)server_ask(server, "PUBLISH " CHANNEL " 0");
    ck_assert_status(call_await(&call), HF_OK);
    ck_assert_status(hf_lock_release(lock, 1, NULL), HF_LOST);
    release(lock, 2);
    hf_lock_free(third);
    close_client();
}
END_TEST

static const struct {
    int64_t wait_ms, lease_ms, max_hold_ms;
} senseless[] = {
    {HF_SPAN_MAX_MS + 1, 0, 0}, {0, HF_SPAN_MAX_MS + 1, 0},
    {0, 0, HF_SPAN_MAX_MS + 1},
    {-2, 0, 0},        {INT64_MIN, 0, 0}, {INT64_MAX, 0, 0}, {0, -1, 0},
    {0, INT64_MAX, 0}, {0, INT64_MIN, 0}, {0, 0, -1},        {0, 0, INT64_MAX},
};

START_TEST(greatest_times_are_taken)
{
    struct hf_acquire_options o = acquire_options(1);

    o.wait_ms = o.lease_ms = o.max_hold_ms = HF_SPAN_MAX_MS;
    open_client(&ways[0]);
    ck_assert_ok(hf_lock_acquire(lock, &o, NULL));
    ck_assert_int_gt(pttl(), HF_SPAN_MAX_MS - LONG_MS);
    ck_assert_int_gt(hf_lock_safe_ms(lock, 1), HF_SPAN_MAX_MS / 2);
    release(lock, 1);
    close_client();
}
END_TEST

START_TEST(invalid_times_are_refused)
{
    struct hf_acquire_options o = acquire_options(1);
    struct hf_error err = {0};
    struct call call;

    o.wait_ms = senseless[_i].wait_ms;
    o.lease_ms = senseless[_i].lease_ms;
    o.max_hold_ms = senseless[_i].max_hold_ms;
    open_client(&ways[0]);
    call_init(&call);
    ck_assert_status(hf_lock_acquire(lock, &o, &err), HF_E_INVAL);
    ck_assert_int_eq(err.status, HF_E_INVAL);
    ck_assert_status(hf_lock_acquire_async(lock, &o, call_done, &call),
                     HF_E_INVAL);
    ck_assert_str_eq(hash_of(server, NAME), "");
    close_client();
}
END_TEST

#define LONGER_THAN_255                                                       \
    "0123456789012345678901234567890123456789012345678901234567890123"        \
    "0123456789012345678901234567890123456789012345678901234567890123"        \
    "0123456789012345678901234567890123456789012345678901234567890123"        \
    "0123456789012345678901234567890123456789012345678901234567890123"

static void bad_url(struct hf_client_options *o)
{
    o->url = "http://x";
}

static void bad_watchdog(struct hf_client_options *o)
{
    o->watchdog_ms = 99;
}

static void huge_watchdog(struct hf_client_options *o)
{
    o->watchdog_ms = INT64_MAX;
}
static void negative_request_time(struct hf_client_options *o)
{
    o->request_timeout_ms = -1;
}
static void huge_request_time(struct hf_client_options *o)
{
    o->request_timeout_ms = INT64_MAX;
}
static void negative_connect_time(struct hf_client_options *o)
{
    o->connect_timeout_ms = -1;
}
static void huge_connect_time(struct hf_client_options *o)
{
    o->connect_timeout_ms = INT64_MAX;
}

static void negative_idle_check(struct hf_client_options *o)
{
    o->idle_check_ms = -1;
}
static void too_many_replicas(struct hf_client_options *o)
{
    o->replicas = 1025;
}
static void negative_replicas_time(struct hf_client_options *o)
{
    o->replicas = 1;
    o->replicas_timeout_ms = -1;
}

static void bad_protocol(struct hf_client_options *o)
{
    o->protocol = 4;
}

static void long_user(struct hf_client_options *o)
{
    static char user[HF_LOGIN_MAX + 2];

    memset(user, 'x', sizeof user - 1);
    o->user = user;
}
static void long_password(struct hf_client_options *o)
{
    static char password[HF_LOGIN_MAX + 2];

    memset(password, 'x', sizeof password - 1);
    o->password = password;
}
static void long_client_name(struct hf_client_options *o)
{
    o->name = LONGER_THAN_255;
}

static const struct {
    const char *what;
    void (*spoil)(struct hf_client_options *o);
    const char *says;
} spoilers[] = {
    {"url", bad_url, "URL"},
    {"watchdog 99", bad_watchdog, "watchdog"},
    {"watchdog of ages", huge_watchdog, "watchdog"},
    {"request timeout -1", negative_request_time, "request_timeout_ms must be 1 to "},
    {"request timeout of ages", huge_request_time, "request_timeout_ms must be 1 to "},
    {"connect timeout -1", negative_connect_time, "connect_timeout_ms must be 1 to "},
    {"connect timeout of ages", huge_connect_time, "connect_timeout_ms must be 1 to "},
    {"idle check -1", negative_idle_check, "idle_check_ms must be 1 to "},
    {"1,025 replicas", too_many_replicas, "replicas must be 0 to 1024, all or majority"},
    {"replicas timeout -1", negative_replicas_time, "replicas_timeout_ms must be 1 to "},
    {"protocol 4", bad_protocol, "protocol"},
    {"user of 65,537 bytes", long_user, "user"},
    {"password of 65,537 bytes", long_password, "password"},
    {"name of 256 bytes", long_client_name, "name"},
};

START_TEST(invalid_options_make_no_client)
{
    struct hf_client *none = NULL;
    struct hf_client_options o;
    struct hf_error err = {0};

    hf_client_options_init(&o);
    spoilers[_i].spoil(&o);
    ck_assert_msg(hf_client_new(&none, &o, &err) == HF_E_INVAL, "%s",
                  spoilers[_i].what);
    ck_assert_int_eq(err.status, HF_E_INVAL);
    ck_assert_msg(strstr(err.text, spoilers[_i].says), "%s: %s", spoilers[_i].what, err.text);
    ck_assert_ptr_null(strstr(err.text, "0123456789"));
    ck_assert_ptr_null(none);
}
END_TEST

START_TEST(the_least_watchdog_is_100_ms)
{
    struct hf_client *least = client_timed(server_port(server), 100, 5000);

    hf_client_free(least);
}
END_TEST

START_TEST(error_arguments_may_be_null)
{
    open_client(&ways[_i]);
    acquire(lock, 1);
    ck_assert_status(try_acquire(lock, 2, NULL), HF_TIMEOUT);
    ck_assert_status(hf_lock_release(lock, 2, NULL), HF_NOT_OWNER);
    (void)server_ask(server, "SET " NAME " x");
    ck_assert_status(hf_lock_inspect(lock, &(struct hf_lock_info){0}, NULL),
                     HF_E_SERVER);
    ck_assert_status(hf_lock_release(lock, 1, NULL), HF_E_SERVER);
    hf_client_free(client); /* which still tries to release it */
}
END_TEST

START_TEST(each_loss_has_a_text)
{
    for (int reason = HF_REASON_DELETED; reason <= HF_REASON_CLOSED; reason++)
        for (int other = -1; other < reason; other++)
            ck_assert_str_ne(hf_lost_text((enum hf_lost)reason),
                             hf_lost_text((enum hf_lost)other));
    ck_assert_ptr_nonnull(hf_lost_text((enum hf_lost)99));
}
END_TEST

START_TEST(clients_differ_and_know_their_server)
{
    struct hf_client *a = client_to(server_port(server));
    struct hf_client *b = client_to(server_port(server));
    char address[40];

    (void)snprintf(address, sizeof address, "127.0.0.1:%d",
                   server_port(server));
    ck_assert_str_ne(hf_client_uuid(a), hf_client_uuid(b));
    ck_assert_uint_eq(strlen(hf_client_uuid(a)), 36);
    ck_assert_str_eq(hf_client_address(a), address);
    ck_assert_ok(hf_client_connect(a, NULL));
    ck_assert_ptr_nonnull(
        strstr(server_ask(server, "CLIENT LIST"), "name=holdfast"));
    hf_client_free(a);
    hf_client_free(b);
}
END_TEST

/* ---- */

static void add_cases(Suite *s)
{
    TCase *c = live_case(s, "without blocking", start_server, stop_server);

    add_in_all_ways(c, every_call_has_a_twin_that_does_not_block);
    tcase_add_test(c, another_event_loop_can_drive);
    add_in_all_ways(c, many_calls_may_be_under_way);
    add_in_all_ways(c, calls_of_one_owner_at_once_all_count);
    add_in_all_ways(c, calls_of_one_owner_enter_in_the_order_in_which_they_waited);
    add_in_all_ways(c, a_callback_may_use_blocking_calls);

    c = live_case(s, "scope", start_server, stop_server);
    tcase_add_loop_test(c, a_scope_releases_on_every_path, 0, COUNT(scenes));
    tcase_add_test(c, a_scope_that_is_refused_runs_nothing);

    c = live_case(s, "seeing", start_server, stop_server);
    add_in_all_ways(c, counters_match_the_requests_of_the_client);
    tcase_add_loop_test(c, trace_shows_all_except_the_password, 0, 4);

    c = live_case(s, "limits", start_server, stop_server);
    tcase_add_test(c, locks_and_calls_have_their_limits);
    tcase_add_test(c, greatest_times_are_taken);
    tcase_add_loop_test(c, invalid_times_are_refused, 0, COUNT(senseless));
    tcase_add_loop_test(c, invalid_options_make_no_client, 0,
                        COUNT(spoilers));
    tcase_add_test(c, the_least_watchdog_is_100_ms);
    add_in_all_ways(c, error_arguments_may_be_null);
    tcase_add_test(c, each_loss_has_a_text);
    tcase_add_test(c, clients_differ_and_know_their_server);
}

int main(void)
{
    return live_main("lock, calls", add_cases);
}
