/* Multi-locks when something fails between two of their members: no memory, no
 * room for a call, a client that is closed, a fork. No member stays held. */
#include "tests/live/test_lock.h"
#include "tests/support/lateness.h"
#include "tests/support/one_server.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lock/multi.h"

#define WATCHDOG_MS 60000       /* what is left stays for longer than a test */
#define OWNER 1
#define OTHERS 2

static struct hf_client *client, *other;
static struct hf_lock *locks[2], *busy; /* a, b: of `client`; b of `other` */
static struct hf_multi *multi;

/* ---- memory that is there or not ---- */

static _Atomic int64_t allocations; /* that may still be made */

static void *resize(void *ctx, void *ptr, size_t old, size_t size)
{
    (void)ctx;
    if (size == 0) {
        if (ptr)
            memset(ptr, 0xA5, old); /* nobody looks at it any more */
        free(ptr);
        return NULL;
    }
    return size > old && allocations-- <= 0 ? NULL : realloc(ptr, size);
}

#define PLENTY (INT64_C(1) << 40)

static const struct hf_mem scarce = {.resize = resize};

/* ---- */

static void open_with(uint32_t waiters_max)
{
    struct hf_client_options o;
    char url[SERVER_URL_MAX];

    start_server();
    allocations = PLENTY;
    client_options(&o, url, server_port(server));
    o.watchdog_ms = WATCHDOG_MS;
    o.waiters_max = waiters_max;
    o.mem = &scarce;
    client = client_with(&o);
    other = client_timed(server_port(server), WATCHDOG_MS, 5000);
    locks[0] = lock_of(client, "a");
    locks[1] = lock_of(client, "b");
    busy = lock_of(other, "b");
    ck_assert_ok(hf_multi_new(&multi, locks, COUNT(locks), NULL));
}

static void start(void)
{
    open_with(1000);
}

static void stop(void)
{
    hf_multi_free(multi);
    hf_client_free(client);
    hf_client_free(other);
    stop_server();
}

static void ck_assert_none_held(void)
{
    server_await(server, LONG_MS, "0", "EXISTS a b");
    ck_assert_uint_eq(stats_of(client).holds, 0);
}

/* It has a, and waits for b. */
static void call_halfway(struct call *call, struct diary *diary,
                         int64_t wait_ms)
{
    struct hf_acquire_options o;

    acquire(busy, OTHERS);
    o = diary_options(diary, OWNER);
    o.wait_ms = wait_ms;
    call_init(call);
    ck_assert_ok(hf_multi_acquire_async(multi, &o, call_done, call));
    note_await(&diary->note, &diary->waits, 1, "on_wait");
    ck_assert_int_eq(server_ask_int(server, "EXISTS a"), 1);
}

/* ---- no memory ---- */

START_TEST(release_without_memory_is_done_or_not_begun)
{
    struct hf_acquire_options o = acquire_options(OWNER);
    struct call call;
    hf_status rc;

    ck_assert_ok(hf_multi_acquire(multi, &o, NULL));
    allocations = _i;
    call_init(&call);
    rc = hf_multi_release_async(multi, OWNER, call_done, &call);
    if (rc == HF_OK)
        rc = call_await(&call);
    allocations = PLENTY;
    if (rc == HF_E_NOMEM) /* nothing was done */
        ck_assert_ok(hf_multi_release(multi, OWNER, NULL));
    ck_assert_none_held();
}
END_TEST

START_TEST(member_is_released_without_memory)
{
    struct diary diary;
    struct call call;

    call_halfway(&call, &diary, 500);
    allocations = 0;
    ck_assert_int_lt(call_await(&call), 0);
    allocations = PLENTY;
    release(busy, OTHERS);
    ck_assert_none_held();
}
END_TEST

/* ---- no room ---- */

static struct hf_lock *crowded; /* another's */
static _Atomic bool is_over;

/* Takes each room that there is. */
static void *crowd(void *unused)
{
    struct hf_acquire_options o = acquire_options(0);

    while (!is_over) {
        o.owner = hf_owner_new();
        o.wait_ms = 1;
        (void)!hf_lock_acquire(crowded, &o, NULL);
    }
    return unused;
}

static void open_crowded(void)
{
    open_with(2);
    crowded = lock_of(client, "x");
    (void)server_ask(server, "HSET x someone:1 1");
    (void)server_ask(server, "HSET b someone:1 1");
    is_over = false;
}

#define CROWD 4

START_TEST(member_is_released_though_no_call_may_begin)
{
    struct hf_acquire_options o = acquire_options(OWNER);
    pthread_t threads[CROWD];

    for (int i = 0; i < CROWD; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, crowd, NULL), 0);
    for (int i = 0; i < 300; i++) {
        o.wait_ms = i % 3;
        ck_assert_int_lt(hf_multi_acquire(multi, &o, NULL), 0);
        server_await(server, LONG_MS, "0", "EXISTS a");
    }
    is_over = true;
    for (int i = 0; i < CROWD; i++)
        pthread_join(threads[i], NULL);
}
END_TEST

/* ---- a client that is closed ---- */

START_TEST(member_is_released_when_its_client_is_closed)
{
    struct diary diary;
    struct call call;

    call_halfway(&call, &diary, HF_FOREVER);
    ck_assert_ok(hf_client_close(client, LONG_MS, NULL, NULL));
    ck_assert_status(call_await(&call), HF_E_CLOSED);
    ck_assert_int_eq(server_ask_int(server, "EXISTS a"), 0);
}
END_TEST

START_TEST(member_that_its_owner_took_by_itself_is_not_waited_for)
{
    int64_t from_ms = local_now_ms();
    struct diary diary;
    struct call call;

    call_halfway(&call, &diary, 500);
    acquire(locks[0], OWNER);
    ck_assert_status(call_await(&call), HF_TIMEOUT);
    ck_assert_ok(hf_client_close(client, LONG_MS, NULL, NULL));
    ck_assert_within(from_ms, LONG_MS);
    ck_assert_int_eq(server_ask_int(server, "EXISTS a"), 1);
}
END_TEST

/* Its callbacks, by which members are given back, are called by the close. */
START_TEST(member_is_released_by_a_close_without_another_driver)
{
    struct hf_acquire_options o = acquire_options(OWNER);
    struct hf_client_options options;
    struct hf_client *idle;
    struct hf_multi *its;
    char url[SERVER_URL_MAX];
    struct call call;

    acquire(busy, OTHERS);
    client_options(&options, url, server_port(server));
    options.watchdog_ms = WATCHDOG_MS;
    options.thread = false;
    idle = client_with(&options);
    locks[0] = lock_of(idle, "a");
    locks[1] = lock_of(idle, "b");
    ck_assert_ok(hf_multi_new(&its, locks, COUNT(locks), NULL));
    call_init(&call);
    ck_assert_ok(hf_multi_acquire_async(its, &o, call_done, &call));
    while (server_ask_int(server, "EXISTS a") == _i)
        hf_loop_dispatch(hf_client_loop(idle), 1);
    ck_assert_ok(hf_client_close(idle, LONG_MS, NULL, NULL));
    ck_assert_status(call_await(&call), HF_E_CLOSED);
    ck_assert_int_eq(server_ask_int(server, "EXISTS a"), 0);
    hf_multi_free(its);
    hf_client_free(idle);
}
END_TEST

static void *block(void *unused)
{
    struct hf_acquire_options o = acquire_options(OWNER);

    ck_must(hf_multi_acquire(multi, &o, NULL) == HF_E_CLOSED, "closed");
    return unused;
}

START_TEST(blocked_caller_releases_when_its_client_is_closed)
{
    pthread_t thread;

    acquire(busy, OTHERS);
    ck_assert_int_eq(pthread_create(&thread, NULL, block, NULL), 0);
    await_subscribers(server, "redisson_lock__channel:{b}", 1);
    ck_assert_ok(hf_client_close(client, LONG_MS, NULL, NULL));
    ck_assert_int_eq(server_ask_int(server, "EXISTS a"), 0);
    pthread_join(thread, NULL);
}
END_TEST

/* What is held stays held then, until the client is freed, which tells of it. */
START_TEST(it_may_be_freed_while_a_closed_client_holds_its_members)
{
    struct hf_acquire_options o;
    struct diary diary;

    o = diary_options(&diary, OWNER);
    ck_assert_ok(hf_multi_acquire(multi, &o, NULL));
    ck_assert_ok(hf_client_close(client, 0, NULL, NULL));
    if (_i == 1)
        ck_assert_status(hf_multi_release(multi, OWNER, NULL), HF_E_CLOSED);
    hf_multi_free(multi);
    multi = NULL;
    hf_client_free(client);
    client = NULL;
    ck_assert_int_eq(diary.losses, 0);
}
END_TEST

/* ---- a fork ---- */

static void *look(void *unused)
{
    while (!is_over)
        (void)hf_multi_safe_ms(multi, OWNER);
    return unused;
}

static void be_child(void)
{
    struct hf_acquire_options o = acquire_options(OWNER);
    struct call call;

    (void)signal(SIGALRM, SIG_DFL);
    (void)alarm(5);
    if (hf_multi_safe_ms(multi, OWNER) != INT64_MIN ||
        hf_multi_acquire(multi, &o, NULL) != HF_E_FORKED ||
        hf_multi_release(multi, OWNER, NULL) != HF_E_FORKED ||
        hf_multi_acquire_async(multi, &o, call_done, &call) != HF_E_FORKED ||
        hf_multi_release_async(multi, OWNER, call_done, &call) != HF_E_FORKED)
        _exit(1);
    hf_multi_free(multi);
    _exit(0);
}

/* Whatever the other threads were about. */
START_TEST(forked_child_fails_at_once)
{
    struct hf_acquire_options o = acquire_options(OWNER);
    pthread_t thread;

    is_over = false;
    ck_assert_ok(hf_multi_acquire(multi, &o, NULL));
    ck_assert_int_eq(pthread_create(&thread, NULL, look, NULL), 0);
    for (int i = 0; i < 50; i++) {
        pid_t child = fork();
        int status;

        if (child == 0)
            be_child();
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert_int_eq(status, 0);
    }
    is_over = true;
    pthread_join(thread, NULL);
    ck_assert_ok(hf_multi_release(multi, OWNER, NULL));
    ck_assert_none_held();
}
END_TEST

/* ---- */

static void add_all(Suite *suite)
{
    TCase *c = live_case(suite, "memory", start, stop);

    tcase_add_loop_test(c, release_without_memory_is_done_or_not_begun, 0, 4);
    tcase_add_test(c, member_is_released_without_memory);
    c = live_case(suite, "room", open_crowded, stop);
    tcase_add_test(c, member_is_released_though_no_call_may_begin);
    c = live_case(suite, "close", start, stop);
    tcase_add_test(c, member_is_released_when_its_client_is_closed);
    tcase_add_test(c, member_that_its_owner_took_by_itself_is_not_waited_for);
    tcase_add_loop_test(
        c, member_is_released_by_a_close_without_another_driver, 0, 2);
    tcase_add_test(c, blocked_caller_releases_when_its_client_is_closed);
    tcase_add_loop_test(
        c, it_may_be_freed_while_a_closed_client_holds_its_members, 0, 2);
    c = live_case(suite, "fork", start, stop);
    tcase_add_test(c, forked_child_fails_at_once);
}

int main(void)
{
    return live_main("multi faults", add_all);
}
