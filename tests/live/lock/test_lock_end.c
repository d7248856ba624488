/* How it ends: a client that is closed in any state, a child of a fork, a loop
 * that is shared (faults X6, X11, X12). */
#include <dirent.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lock/scope.h"
#include "lock/script/scripts.h"
#include "tests/live/test_lock_ways.h"
#include "tests/support/feed.h"
#include "tests/support/lua_client.h"
#include "tests/support/memory.h"
#include "tests/support/one_server.h"
#include "tests/support/proxy.h"

static struct memory memory;
static struct hf_client *client;
static struct hf_lock *lock;

static void open_client_to(int port, const struct way *way)
{
    struct hf_client_options o;
    char url[SERVER_URL_MAX];

    memory_init(&memory);
    way_options(&o, url, port, way);
    o.mem = &memory.hook;
    o.watchdog_ms = 3000;
    client = client_with(&o);
    lock = lock_of(client, NAME);
}

static void open_client(const struct way *way)
{
    open_client_to(server_port(server), way);
}

static void close_client(void)
{
    hf_client_free(client);
    ck_assert_pstr_eq(memory_fini(&memory), NULL);
}

/* ---- closed with calls under way ---- */

#define CALLS 4

static struct call calls[CALLS];
static struct hf_lock_info info;

static void begin_acquire(int i, int64_t owner)
{
    struct hf_acquire_options o = acquire_options(owner);

    call_acquire(&calls[i], lock, &o);
}

static void never_connected(void)
{
}

static void connecting(void)
{
    server_pause(server);
    begin_acquire(0, 1);
    begin_acquire(1, 2);
}

static void in_backoff(void)
{
    server_kill(server);
    begin_acquire(0, 1);
}

static void asking(void)
{
    acquire(lock, 1);
    release(lock, 1);
    server_pause(server);
    begin_acquire(0, 1);
    begin_acquire(1, 2); /* in the line behind it */
}

static void asleep(void)
{
    (void)lua_acquire(server, NAME, strlen(NAME), LUA_HOLDER, 60000);
    begin_acquire(0, 1);
    begin_acquire(1, 2);
    while (strcmp(server_ask(server, "PUBSUB CHANNELS"), CHANNEL) != 0)
        hf_loop_dispatch(hf_client_loop(client), 1);
}

static void subscribing(void)
{
    (void)lua_acquire(server, NAME, strlen(NAME), LUA_HOLDER, 60000);
    ck_assert_status(try_acquire(lock, 1, NULL), HF_TIMEOUT);
    begin_acquire(0, 1);
    server_pause(server);
}

static void reentering(void)
{
    acquire(lock, 1);
    server_pause(server);
    begin_acquire(0, 1);
    begin_acquire(1, 1);
    call_release(&calls[2], lock, 1);
}

static void releasing(void)
{
    acquire(lock, 1);
    server_pause(server);
    call_release(&calls[0], lock, 1);
    call_release(&calls[1], lock, 1);
    begin_acquire(2, 1);
}

static void inspecting(void)
{
    ck_assert_ok(hf_client_connect(client, NULL));
    server_pause(server);
    call_init(&calls[0]);
    ck_assert_ok(hf_lock_inspect_async(lock, &info, call_done, &calls[0]));
    call_init(&calls[1]);
    ck_assert_ok(hf_lock_force_release_async(lock, NULL, 0, call_done,
                                             &calls[1]));
}

static void cleaning_up(void)
{
    struct hf_cancel cancel;
    struct hf_acquire_options o = acquire_options(1);

    ck_assert_ok(hf_client_connect(client, NULL));
    hf_cancel_init(&cancel, client);
    o.cancel = &cancel;
    server_pause(server);
    call_acquire(&calls[0], lock, &o);
    hf_cancel_fire(&cancel); /* leaves a release in the background */
}

static void renewing(void)
{
    acquire(lock, 1);
    server_pause(server);
    while (stats_of(client).renewal_requests == 0)
        hf_loop_dispatch(hf_client_loop(client), 10);
}

static void at_any_moment(void)
{
    begin_acquire(0, 1);
}

static const struct {
    const char *name;
    void (*prepare)(void);
    hf_status first;            /* what the first call may have ended with */
    hf_status second;           /* and the one after it; HF_OK: as the first */
} states[] = {
    {"never connected", never_connected, HF_E_CLOSED, HF_OK},
    {"connecting", connecting, HF_E_CLOSED, HF_OK},
    {"in backoff", in_backoff, HF_E_CLOSED, HF_OK},
    {"asking", asking, HF_E_CLOSED, HF_OK},
    {"asleep", asleep, HF_E_CLOSED, HF_OK},
    {"subscribing", subscribing, HF_E_CLOSED, HF_OK},
    {"re-entering", reentering, HF_E_CLOSED, HF_OK},
    /* The second release finds no hold: the first one was its last. */
    {"releasing", releasing, HF_E_CLOSED, HF_NOT_OWNER},
    {"inspecting", inspecting, HF_E_CLOSED, HF_OK},
    {"cleaning up", cleaning_up, HF_CANCELLED, HF_OK},
    {"renewing", renewing, HF_E_CLOSED, HF_OK},
    {"any moment", at_any_moment, HF_OK, HF_OK},
};

#define CLOSINGS (COUNT(states) * COUNT(ways))

static void begin_state(int index)
{
    for (int i = 0; i < CALLS; i++)
        calls[i].done = -1; /* not begun */
    open_client(&ways[index / COUNT(states)]);
    states[index % COUNT(states)].prepare();
}

static void ck_assert_each_ended_once(int index)
{
    int state = index % COUNT(states);

    for (int i = 0; i < CALLS; i++) {
        if (calls[i].done < 0)
            continue;
        ck_assert_int_eq(calls[i].done, 1);
        ck_assert_msg(calls[i].status == HF_E_CLOSED ||
                          calls[i].status == states[state].first ||
                          (i == 1 && states[state].second != HF_OK &&
                           calls[i].status == states[state].second),
                      "%s, call %d: %s", states[state].name, i,
                      hf_status_name(calls[i].status));
    }
}

START_TEST(closing_ends_every_call_once)
{
    begin_state(_i);
    close_client();
    ck_assert_each_ended_once(_i);
}
END_TEST

/* CLOSE-3: Before it returns: freeing the client then has none left to end. */
START_TEST(closing_in_time_ends_every_call_once)
{
    struct hf_client_closed closed;

    for (int timeout_ms = 0; timeout_ms <= 30; timeout_ms += 30) {
        begin_state(_i);
        (void)hf_client_close(client, timeout_ms, &closed, NULL);
        ck_assert_each_ended_once(_i);
        ck_assert_uint_eq(stats_of(client).waiters, 0);
        close_client();
        ck_assert_each_ended_once(_i);
        server_restart(server);
    }
}
END_TEST

START_TEST(nothing_is_no_client_and_no_lock)
{
    hf_client_free(NULL);
    hf_lock_free(NULL);
}
END_TEST

/* Its handle was freed, so the last of the lock goes with the wait. */
START_TEST(a_wait_without_a_handle_ends_with_the_client)
{
    struct hf_client *waiting = client_to(server_port(server));
    struct hf_lock *wanted = lock_of(waiting, "wanted");
    struct hf_acquire_options o = acquire_options(2);
    struct hf_lock *held;
    struct call call;

    open_client(&ways[_i]);
    held = lock_of(client, "wanted");
    acquire(held, 1);
    call_acquire(&call, wanted, &o);
    hf_lock_free(wanted);
    await_subscribers(server, "redisson_lock__channel:{wanted}", 1);
    hf_client_free(waiting);
    ck_assert_status(call_await(&call), HF_E_CLOSED);
    release(held, 1);
    close_client();
}
END_TEST

/* From a callback of the closing: it may call us, and is told that it is over. */
static void call_us(void *ctx, struct hf_lock *lost, int64_t owner,
                    enum hf_lost reason)
{
    struct hf_lock_info seen;

    ck_must(hf_lock_release(lost, owner, NULL) == HF_E_CLOSED,
            "release: closed");
    ck_must(hf_lock_acquire(lost, NULL, NULL) == HF_E_CLOSED,
            "acquire: closed");
    ck_must(hf_lock_inspect(lost, &seen, NULL) == HF_E_CLOSED,
            "inspect: closed");
    diary_lost(ctx, lost, owner, reason);
}

START_TEST(a_callback_of_the_closing_may_call_us)
{
    struct hf_acquire_options o;
    struct diary diary;

    open_client(&ways[_i]);
    o = diary_options(&diary, 1);
    o.on_lost = call_us;
    ck_assert_ok(hf_lock_acquire(lock, &o, NULL));
    close_client();
    ck_assert_int_eq(diary.losses, 1);
    ck_assert_int_eq(diary.reason, HF_REASON_CLOSED);
}
END_TEST

/* ---- what the log says of a hold that ends with its client ---- */

static char log_text[500];

static void keep_line(void *ctx, enum hf_log_level level, const char *line)
{
    (void)ctx;
    (void)level;
    (void)snprintf(log_text, sizeof log_text, "%s", line);
}

static void release_without_reply(void)
{
    server_pause(server);
    call_release(&calls[0], lock, 1);
}

/* The server keeps both, so neither is "lost". */
static const struct {
    void (*begin)(void);
    const char *line;
} last_lines[] = {
    {release_without_reply, "may stay locked until its TTL expires: the client was closed before "
                            "the server replied to the release"},
    {never_connected, "stays locked until its TTL expires: the client was closed before the "
                      "lock was released"},
};

START_TEST(the_log_says_what_a_closed_client_leaves_on_the_server)
{
    struct hf_client_options o;
    char url[SERVER_URL_MAX];

    log_text[0] = '\0';
    client_options(&o, url, server_port(server));
    o.log = keep_line;
    client = client_with(&o);
    lock = lock_of(client, NAME);
    acquire(lock, 1);
    last_lines[_i].begin();
    hf_client_free(client);
    ck_assert_msg(strstr(log_text, last_lines[_i].line), "the log says \"%s\"", log_text);
    ck_assert_ptr_null(strstr(log_text, "lost"));
    if (_i == 0)
        server_resume(server);
}
END_TEST

static int open_files(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int n = 0;

    ck_assert_ptr_nonnull(dir);
    while (readdir(dir))
        n++;
    (void)closedir(dir);
    return n;
}

static int threads(void)
{
    DIR *dir = opendir("/proc/self/task");
    int n = 0;

    ck_assert_ptr_nonnull(dir);
    while (readdir(dir))
        n++;
    (void)closedir(dir);
    return n;
}

START_TEST(clients_leave_no_file_and_no_thread)
{
    struct hf_client *clients[20];
    int files, tasks;

    hf_client_free(client_to(server_port(server)));
    (void)server_ask(server, "PING");
    files = open_files();
    tasks = threads();
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < COUNT(clients); i++) {
            clients[i] = client_to(server_port(server));
            acquire(lock_of(clients[i], NAME), 1);
            ck_assert_ok(
                hf_lock_release(lock_of(clients[i], NAME), 1, NULL));
        }
        for (int i = 0; i < COUNT(clients); i++)
            hf_client_free(clients[i]);
    }
    ck_assert_int_eq(open_files(), files);
    ck_assert_int_eq(threads(), tasks);
}
END_TEST

/* ---- a loop of the caller's ---- */

START_TEST(two_clients_share_a_loop_and_one_may_go)
{
    struct hf_loop_options lo = {.size = sizeof lo, .thread = _i % 2 == 0};
    struct hf_client_options o;
    struct hf_client *a, *b;
    struct hf_loop *loop;
    struct hf_lock *theirs;
    struct diary diary;
    struct hf_acquire_options ao = diary_options(&diary, 1);
    struct call waiter;
    char url[SERVER_URL_MAX];

    memory_init(&memory);
    lo.mem = &memory.hook;
    ck_assert_ok(hf_loop_new(&loop, &lo));
    client_options(&o, url, server_port(server));
    o.loop = loop;
    a = client_with(&o);
    b = client_with(&o);
    ck_assert_ptr_eq(hf_client_loop(a), loop);
    ck_assert_ok(hf_lock_acquire(lock_of(a, NAME), &ao, NULL));
    theirs = lock_of(b, NAME);
    ao = acquire_options(2);
    call_acquire(&waiter, theirs, &ao);
    hf_client_free(a);
    ck_assert_int_eq(diary.losses, 1);
    (void)server_ask(server, "DEL " NAME);
    (void)server_ask(server, "PUBLISH " CHANNEL " 0");
    ck_assert_status(call_drive(&waiter, b), HF_OK);
    release(theirs, 2);
    hf_client_free(b);
    hf_loop_free(loop);
    ck_assert_pstr_eq(memory_fini(&memory), NULL);
}
END_TEST

/* ---- fork ---- */

static int never_called(void *ctx, struct hf_lock *lock_)
{
    (void)ctx, (void)lock_;
    abort();
}

/* In the child. Its exit code is the number of the first broken promise. */
static int try_everything(void)
{
    struct hf_acquire_options o = acquire_options(1);
    struct hf_error err = {0};
    struct hf_lock_info seen;
    struct hf_lock *none = NULL;
    struct hf_client_closed closed;
    struct hf_scope scope = {.size = sizeof scope, .body = never_called};
    struct hf_client_options co;
    struct hf_client *second = NULL;
    struct hf_cancel cancel;
    struct call call;
    char text[HF_OWNER_TEXT_MAX];
    int64_t number;
    bool yes;

    call_init(&call);
    if (hf_lock_acquire(lock, &o, &err) != HF_E_FORKED || !err.text[0])
        return 1;
    if (hf_lock_release(lock, 1, &err) != HF_E_FORKED)
        return 2;
    if (hf_lock_force_release(lock, NULL, 0, &err) != HF_E_FORKED)
        return 3;
    if (hf_lock_inspect(lock, &seen, &err) != HF_E_FORKED ||
        hf_lock_is_locked(lock, &yes, &err) != HF_E_FORKED ||
        hf_lock_remaining_ms(lock, &number, &err) != HF_E_FORKED)
        return 4;
    if (hf_lock_hold_count(lock, 1, &number, &err) != HF_E_FORKED ||
        hf_lock_is_held_by(lock, 1, &yes, &err) != HF_E_FORKED)
        return 5;
    if (hf_lock_acquire_async(lock, &o, call_done, &call) != HF_E_FORKED ||
        hf_lock_release_async(lock, 1, call_done, &call) != HF_E_FORKED ||
        hf_lock_force_release_async(lock, NULL, 0, call_done, &call) !=
            HF_E_FORKED ||
        hf_lock_inspect_async(lock, &seen, call_done, &call) != HF_E_FORKED)
        return 6;
    if (call.done != 0)
        return 7;
    if (hf_lock_safe_ms(lock, 1) != INT64_MIN ||
        *hf_lock_owner_text(lock, 1, text))
        return 8;
    if (hf_lock_new(&none, client, "other", 5, &err) != HF_E_FORKED || none)
        return 9;
    if (hf_client_connect(client, &err) != HF_E_FORKED)
        return 10;
    if (hf_client_close(client, 100, &closed, &err) != HF_E_FORKED)
        return 11;
    if (hf_lock_with(lock, &o, &scope, NULL, &err) != HF_E_FORKED)
        return 12;
    hf_client_options_init(&co);
    co.loop = hf_client_loop(client);
    if (hf_client_new(&second, &co, &err) != HF_E_FORKED || second)
        return 13;
    if (hf_loop_timeout(co.loop) != -1)
        return 14;
    hf_loop_dispatch(co.loop, -1);
    hf_cancel_init(&cancel, client);
    hf_cancel_fire(&cancel);
    (void)stats_of(client);
    (void)hf_client_uuid(client);
    (void)hf_client_address(client);
    hf_lock_free(lock);
    hf_client_free(client);
    return 0;
}

static void *keep_locking(void *stop_flag)
{
    struct hf_lock *other = lock_of(client, "other");

    while (!__atomic_load_n((bool *)stop_flag, __ATOMIC_SEQ_CST)) {
        acquire(other, 7);
        release(other, 7);
    }
    return NULL;
}

static int exit_code_of(pid_t child)
{
    int status;

    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* Forked in the midst of what other threads do: the loop's lock may be held by
 * one of them for ever. */
START_TEST(a_child_can_do_nothing_and_hangs_nowhere)
{
    bool stops = false;
    pthread_t thread;
    pid_t child;

    open_client(&ways[_i]);
    acquire(lock, 1);
    ck_assert_int_eq(pthread_create(&thread, NULL, keep_locking, &stops), 0);
    for (int i = 0; i < 20; i++) {
        child = fork();
        if (child == 0) {
            alarm(20);
            _exit(try_everything());
        }
        ck_assert_int_eq(exit_code_of(child), 0);
    }
    __atomic_store_n(&stops, true, __ATOMIC_SEQ_CST);
    (void)pthread_join(thread, NULL);
    ck_assert_holder(server, lock, 1, 1);
    ck_assert_uint_eq(stats_of(client).link.connects, 1);
    release(lock, 1);
    close_client();
}
END_TEST

/* All that the server hears while the child lives. */
START_TEST(a_child_writes_nothing_and_the_parent_continues)
{
    struct hf_acquire_options o;
    static struct diary diary;
    const struct feed_event *event;
    struct feed *feed;
    pid_t child;

    open_client(&ways[0]);
    o = diary_options(&diary, 1);
    ck_assert_ok(hf_lock_acquire(lock, &o, NULL));
    note_await(&diary.note, &diary.renewals, 1, "a renewal");
    feed = feed_open(server, "MONITOR");
    child = fork();
    if (child == 0)
        _exit(try_everything());
    ck_assert_int_eq(exit_code_of(child), 0);
    (void)server_ask(server, "ECHO the-child-is-gone");
    while ((event = feed_next(feed, AWAIT_MS))) {
        if (strstr(event->text, "the-child-is-gone"))
            break;
        ck_assert_msg(strstr(event->text, hf_script_renew.sha) ||
                          strstr(event->text, "lua]") ||
                          strstr(event->text, "unix:"),
                      "%s", event->text);
    }
    note_await(&diary.note, &diary.renewals, 3, "the parent's renewals");
    ck_assert_int_eq(note_read(&diary.note, &diary.losses), 0);
    release(lock, 1);
    close_client();
    feed_close(feed);
}
END_TEST

/* ---- forked in each state ---- */

static struct proxy *proxy;

/* The parent drives only by hand, so that nothing but the child could write. */
static void drive_until_sent(uint64_t count)
{
    int64_t end_ms = local_now_ms() + AWAIT_MS;

    while (proxy_count(proxy, PROXY_TO_SERVER, PROXY_PASSED) < count) {
        ck_must(local_now_ms() < end_ms, "bytes are sent");
        hf_loop_dispatch(hf_client_loop(client), 1);
    }
}

static uint64_t sent(void)
{
    return proxy_count(proxy, PROXY_TO_SERVER, PROXY_PASSED) +
           proxy_count(proxy, PROXY_TO_SERVER, PROXY_KEPT);
}

static void at_rest(void)
{
    acquire(lock, 2);
    release(lock, 2);
}

static void handshake(void)
{
    proxy_hold(proxy, PROXY_TO_CLIENT, true);
    begin_acquire(0, 1);
    drive_until_sent(1);
}

static void ask_without_answer(void)
{
    uint64_t before = sent();

    proxy_hold(proxy, PROXY_TO_CLIENT, true);
    begin_acquire(0, 1);
    drive_until_sent(before + 1);
}

static void in_flight(void)
{
    at_rest();
    ask_without_answer();
    begin_acquire(1, 2); /* in the line */
}

static void waiting(void)
{
    asleep();
    while (stats_of(client).link.in_flight > 0)
        hf_loop_dispatch(hf_client_loop(client), 1);
    (void)server_ask(server, "DEL " NAME);
}

static void holding(void)
{
    acquire(lock, 1);
    ask_without_answer(); /* a re-entry */
}

static void (*const forkings[])(void) = {
    never_connected, at_rest, at_any_moment, handshake,
    in_flight,       waiting, holding,
};

static void wake_waiters(void)
{
    (void)server_ask(server, "PUBLISH " CHANNEL " 0");
}

/* It has done what it could, its copies are closed; and every byte that went to
 * the server, the parent wrote. */
START_TEST(a_child_forked_in_any_state_harms_nothing)
{
    void (*prepare)(void) = forkings[_i % COUNT(forkings)];
    struct way way = {.protocol = _i < COUNT(forkings) ? 3 : 2};
    uint64_t before;
    size_t accepted;
    pid_t child;

    proxy = proxy_start(server_port(server));
    for (int i = 0; i < CALLS; i++)
        calls[i].done = -1; /* not begun */
    open_client_to(proxy_port(proxy), &way);
    prepare();
    before = sent();
    accepted = proxy_accepted(proxy);
    child = fork();
    if (child == 0) {
        alarm(20);
        _exit(try_everything());
    }
    ck_assert_int_eq(exit_code_of(child), 0);
    ck_assert_uint_eq(sent(), before);
    if (prepare != at_any_moment) /* its connect may be under way */
        ck_assert_uint_eq(proxy_accepted(proxy), accepted);
    proxy_hold(proxy, PROXY_TO_CLIENT, false);
    if (prepare == waiting)
        wake_waiters();
    for (int i = 0; i < CALLS; i++) {
        if (calls[i].done < 0)
            continue;
        ck_assert_status(call_drive(&calls[i], client), HF_OK);
        release(lock, prepare == holding ? 1 : i + 1);
    }
    ck_assert_uint_eq(stats_of(client).link.losses, 0);
    close_client();
    proxy_stop(proxy);
}
END_TEST

START_TEST(a_child_may_have_a_client_of_its_own)
{
    pid_t child;

    open_client(&ways[0]);
    acquire(lock, 1);
    child = fork();
    if (child == 0) {
        struct hf_client_options o;
        char url[SERVER_URL_MAX];
        struct hf_client *own;
        struct hf_lock *l;

        client_options(&o, url, server_port(server));
        o.thread = false; /* TSan knows no threads in a child of threads */
        if (hf_client_new(&own, &o, NULL) < 0 ||
            hf_lock_new(&l, own, NAME, strlen(NAME), NULL) < 0)
            _exit(1);
        if (strcmp(hf_client_uuid(own), hf_client_uuid(client)) == 0)
            _exit(2);
        if (try_acquire(l, 1, NULL) != HF_TIMEOUT)
            _exit(3);
        hf_client_free(own);
        _exit(0);
    }
    ck_assert_int_eq(exit_code_of(child), 0);
    ck_assert_holder(server, lock, 1, 1);
    release(lock, 1);
    close_client();
}
END_TEST

/* ---- */

static void add_cases(Suite *s)
{
    TCase *c = live_case(s, "closing", start_server, stop_server);

    tcase_add_loop_test(c, closing_ends_every_call_once, 0, CLOSINGS);
    tcase_add_loop_test(c, closing_in_time_ends_every_call_once, 0, CLOSINGS);
    tcase_add_test(c, nothing_is_no_client_and_no_lock);
    tcase_add_loop_test(c, a_wait_without_a_handle_ends_with_the_client, 0,
                        COUNT(ways));
    tcase_add_loop_test(c, a_callback_of_the_closing_may_call_us, 0,
                        COUNT(ways));
    tcase_add_loop_test(c, the_log_says_what_a_closed_client_leaves_on_the_server, 0,
                        COUNT(last_lines));
    tcase_add_test(c, clients_leave_no_file_and_no_thread);

    c = live_case(s, "a shared loop", start_server, stop_server);
    tcase_add_loop_test(c, two_clients_share_a_loop_and_one_may_go, 0, 2);

    c = live_case(s, "fork", start_server, stop_server);
    tcase_add_loop_test(c, a_child_can_do_nothing_and_hangs_nowhere, 0,
                        COUNT(ways));
    tcase_add_test(c, a_child_writes_nothing_and_the_parent_continues);
    tcase_add_loop_test(c, a_child_forked_in_any_state_harms_nothing, 0,
                        2 * COUNT(forkings));
    tcase_add_test(c, a_child_may_have_a_client_of_its_own);
}

int main(void)
{
    return live_main("lock, end", add_cases);
}
