/* Locks that replicas must confirm: a real master and two real replicas, which
 * are paused, and a master that refuses WAIT (WIRE 4). */
#include "lock/by_owner.h"
#include "lock/latch.h"
#include "lock/permits.h"
#include "lock/scope.h"
#include "lock/semaphore.h"
#include "tests/live/test_lock.h"
#include "tests/support/gate.h"
#include "tests/support/lua_client.h"
#include "tests/support/memory.h"

#define WAIT_MS 5000           /* that replicas have, */
#define SHORT_MS 300           /* and where they will not do it */
#define PLENTY 3000            /* more allocations than the scene makes */

static struct server *master, *replicas[2];
static struct hf_client *client;
static struct hf_lock *lock_;
static int64_t wait_ms;        /* of the clients to come */

/* Replicates at once, not five seconds after it was asked to. */
static const char *const at_once[] = {"--repl-diskless-sync-delay", "0",
                                      "--repl-timeout", "60", NULL};

static struct server *replica_of(int port)
{
    char text[16];
    const char *args[] = {"--replicaof", "127.0.0.1", text, NULL};

    (void)snprintf(text, sizeof text, "%d", port);
    return server_start(args);
}

/* Outside of the tests: one set for all of them. */
static void start(void)
{
    master = server_start(at_once);
    ck_assert_ptr_nonnull(master);
    for (int i = 0; i < 2; i++)
        replicas[i] = replica_of(server_port(master));
    (void)server_ask(master, "SET x 1");
    server_await(master, AWAIT_MS, "2", "WAIT 2 100");
}

static void set_long(void)
{
    wait_ms = WAIT_MS;
}

static void set_short(void)
{
    wait_ms = SHORT_MS;
}

static void stop(void)
{
    for (int i = 0; i < 2; i++)
        server_stop(replicas[i]);
    server_stop(master);
}

static void options_with(struct hf_client_options *o, char *url, int count)
{
    client_options(o, url, server_port(master));
    o->replicas = count;
    o->replicas_timeout_ms = count ? wait_ms : 0;
}

static void open_with(int count, int protocol)
{
    struct hf_client_options o;
    char url[SERVER_URL_MAX];

    (void)server_ask(master, "FLUSHALL");
    options_with(&o, url, count);
    o.protocol = protocol;
    client = client_with(&o);
    ck_assert_ok(hf_client_connect(client, NULL));
    lock_ = lock_of(client, NAME);
}

static void close_client(void)
{
    hf_lock_free(lock_);
    hf_client_free(client);
}

/* Bytes that it does not read cannot be acknowledged. */
static void pause_replicas(int count)
{
    for (int i = 0; i < count; i++)
        server_pause(replicas[i]);
}

static void resume_replicas(void)
{
    for (int i = 0; i < 2; i++)
        server_resume(replicas[i]);
    server_await(master, AWAIT_MS, "2", "WAIT 2 100");
}

/* ---- granted ---- */

START_TEST(acquired_locks_are_at_the_replicas)
{
    open_with(2, _i);
    for (int i = 0; i < 50; i++) {
        acquire(lock_, 1);
        ck_assert_holder(replicas[0], lock_, 1, 1);
        ck_assert_holder(replicas[1], lock_, 1, 1);
        release(lock_, 1);
    }
    close_client();
}
END_TEST

START_TEST(the_requested_number_is_enough)
{
    open_with(1, 3);
    pause_replicas(1);
    acquire(lock_, 1);
    ck_assert_holder(replicas[1], lock_, 1, 1);
    release(lock_, 1);
    resume_replicas();
    close_client();
}
END_TEST

/* WAIT goes with the first acquire alone. */
START_TEST(majority_counts_the_master)
{
    open_with(HF_REPLICAS_MAJORITY, _i);
    pause_replicas(1);
    acquire(lock_, 1); /* two of three have it */
    ck_assert_holder(replicas[1], lock_, 1, 1);
    release(lock_, 1);
    pause_replicas(2);
    ck_assert_status(try_acquire(lock_, 1, NULL), HF_UNREPLICATED);
    resume_replicas();
    close_client();
}
END_TEST

START_TEST(all_have_it)
{
    open_with(HF_REPLICAS_ALL, _i);
    for (int i = 0; i < 20; i++) {
        acquire(lock_, 1);
        ck_assert_holder(replicas[0], lock_, 1, 1);
        ck_assert_holder(replicas[1], lock_, 1, 1);
        release(lock_, 1);
    }
    close_client();
}
END_TEST

START_TEST(reentry_renewal_and_release_do_not_wait)
{
    open_with(2, 3);
    acquire(lock_, 1);
    pause_replicas(2);
    acquire(lock_, 1);
    ck_assert_holder(master, lock_, 1, 2);
    release(lock_, 1);
    release(lock_, 1);
    ck_assert_str_eq(hash_of(master, NAME), "");
    resume_replicas();
    close_client();
}
END_TEST

/* Of a hold that nobody looks after: no later renewal would repair it. */
START_TEST(a_renewal_by_owner_is_at_the_replicas)
{
    const char *owner = LUA_HOLDER;

    open_with(2, _i);
    (void)lua_acquire(master, NAME, strlen(NAME), owner, 30000);
    for (int minutes = 1; minutes <= 5; minutes++) {
        ck_assert_ok(hf_renew_by_owner(lock_, owner, strlen(owner),
                                       minutes * 60000, NULL, NULL));
        for (int i = 0; i < 2; i++)
            ck_assert_int_gt(server_ask_int(replicas[i], "PTTL " NAME),
                             minutes * 60000 - 30000);
    }
    ck_assert_status(hf_renew_by_owner(lock_, LUA_HOLDER_2, strlen(LUA_HOLDER_2),
                                       1000, NULL, NULL), HF_NOT_OWNER);
    close_client();
}
END_TEST

/* ---- too few ---- */

/* Nor is it said to be at the replicas when it is not. */
START_TEST(a_renewal_by_owner_that_too_few_replicas_have_is_reported)
{
    const char *owner = LUA_HOLDER;
    struct hf_error err = {0};

    open_with(2, _i);
    (void)lua_acquire(master, NAME, strlen(NAME), owner, 30000);
    pause_replicas(1);
    ck_assert_status(hf_renew_by_owner(lock_, owner, strlen(owner), 60000, NULL,
                                       &err), HF_UNREPLICATED);
    ck_assert_ptr_nonnull(strstr(err.text, " of 2 replicas have it"));
    ck_assert_int_gt(server_ask_int(master, "PTTL " NAME), 30000);
    resume_replicas();
    close_client();
}
END_TEST

/* Since Redis 7.2 a server confirms only what the connection has written. */
START_TEST(a_renewal_by_owner_that_finds_a_longer_lease_is_also_confirmed)
{
    const char *holder = LUA_HOLDER;
    hf_status rc;

    open_with(2, _i);
    rc = hf_renew_by_owner(lock_, holder, strlen(holder), 1000, NULL, NULL);
    ck_assert_status(rc, HF_NOT_OWNER);
    pause_replicas(2);
    (void)lua_acquire(master, NAME, strlen(NAME), holder, 600000);
    rc = hf_renew_by_owner(lock_, holder, strlen(holder), 60000, NULL, NULL);
    ck_assert_status(rc, HF_UNREPLICATED);
    resume_replicas();
    close_client();
}
END_TEST

/* ---- counts ---- */

static struct hf_semaphore *pool;
static struct hf_latch *doors;
static struct hf_lock *permit;

static void open_counts(int count, int protocol)
{
    open_with(count, protocol);
    ck_assert_ok(hf_semaphore_new(&pool, client, "pool", 4, NULL));
    ck_assert_ok(hf_latch_new(&doors, client, "doors", 5, NULL));
    ck_assert_ok(hf_lock_new_kind(&permit, client, HF_KIND_PERMIT, "permits", 7, NULL));
}

static void close_counts(void)
{
    hf_semaphore_free(pool);
    hf_latch_free(doors);
    hf_lock_free(permit);
    close_client();
}

static hf_status add_two(struct hf_error *err)
{
    return hf_semaphore_release(pool, 2, err);
}

static hf_status remove_two(struct hf_error *err)
{
    return hf_semaphore_reduce(pool, 2, NULL, err);
}

static hf_status drain(struct hf_error *err)
{
    int64_t taken = 0;
    hf_status rc = hf_semaphore_drain(pool, &taken, err);

    ck_assert_int_eq(taken, 5);
    return rc;
}

static hf_status delete_pool(struct hf_error *err)
{
    bool was_deleted = false;
    hf_status rc = hf_semaphore_delete(pool, &was_deleted, err);

    ck_assert(was_deleted);
    return rc;
}

static hf_status delete_doors(struct hf_error *err)
{
    bool was_deleted = false;
    hf_status rc = hf_latch_delete(doors, &was_deleted, err);

    ck_assert(was_deleted);
    return rc;
}

static hf_status set_pool(struct hf_error *err)
{
    bool was_set = false;
    hf_status rc = hf_semaphore_try_set_permits(pool, 2, &was_set, err);

    ck_assert(was_set);
    return rc;
}

static hf_status set_doors(struct hf_error *err)
{
    bool was_set = false;
    hf_status rc = hf_latch_try_set_count(doors, 2, &was_set, err);

    ck_assert(was_set);
    return rc;
}

static hf_status set_expirable(struct hf_error *err)
{
    bool was_set = false;
    hf_status rc = hf_permits_try_set(permit, 2, &was_set, err);

    ck_assert(was_set);
    return rc;
}

static hf_status resize(struct hf_error *err)
{
    return hf_permits_set(permit, 2, err);
}

static hf_status count_down(struct hf_error *err)
{
    return hf_latch_count_down(doors, err);
}

static const struct {
    hf_status (*act)(struct hf_error *err);
    const char *before, *key, *after;
} changes[] = {
    {add_two, "SET pool 1", "pool", "3"},
    {add_two, "DEL pool", "pool", "2"},
    {remove_two, "SET pool 1", "pool", "-1"},
    {drain, "SET pool 5", "pool", "0"},
    {delete_pool, "SET pool 5", "pool", "(nil)"},
    {delete_doors, "SET doors 3", "doors", "(nil)"},
    {set_pool, "DEL pool", "pool", "2"},
    {set_doors, "DEL doors", "doors", "2"},
    {set_expirable, "DEL permits", "permits", "2"},
    {resize, "SET permits 7", "permits", "2"},
    {count_down, "SET doors 3", "doors", "2"},
    {count_down, "SET doors 1", "doors", "(nil)"},
};

/* No TTL would repair what a failover forgets. */
START_TEST(each_change_of_a_count_is_at_the_replicas)
{
    open_counts(2, 2 + _i % 2);
    for (int n = 0; n < 20; n++) {
        (void)server_ask(master, changes[_i / 2].before);
        ck_assert_ok(changes[_i / 2].act(NULL));
        for (int i = 0; i < 2; i++)
            ck_assert_str_eq(server_ask(replicas[i], "GET %s", changes[_i / 2].key),
                             changes[_i / 2].after);
    }
    close_counts();
}
END_TEST

/* It is done, and the status says that it may be forgotten. */
START_TEST(change_of_a_count_that_too_few_replicas_have_is_reported)
{
    struct hf_error err = {0};

    open_counts(2, 2 + _i % 2);
    (void)server_ask(master, changes[_i / 2].before);
    server_await(master, AWAIT_MS, "2", "WAIT 2 100");
    pause_replicas(1);
    ck_assert_status(changes[_i / 2].act(&err), HF_UNREPLICATED);
    ck_assert_ptr_nonnull(strstr(err.text, " of 2 replicas have it"));
    ck_assert_str_eq(server_ask(master, "GET %s", changes[_i / 2].key),
                     changes[_i / 2].after);
    resume_replicas();
    close_counts();
}
END_TEST

/* The change is made before WAIT is refused. */
START_TEST(change_of_a_count_is_done_where_wait_is_refused)
{
    struct hf_error err = {0};

    open_counts(2, 3);
    (void)server_ask(master, changes[_i].before);
    (void)server_ask(master, "ACL SETUSER default -wait");
    ck_assert_status(changes[_i].act(&err), HF_UNREPLICATED);
    ck_assert_ptr_nonnull(strstr(err.text, "WAIT"));
    (void)server_ask(master, "ACL SETUSER default +wait");
    ck_assert_str_eq(server_ask(master, "GET %s", changes[_i].key), changes[_i].after);
    close_counts();
}
END_TEST

/* PATIENCE-5: a proxy loses its server between the script and WAIT. In row 1 it has none until
 * the deadline. */
START_TEST(error_of_a_proxy_to_wait_is_as_a_lost_reply)
{
    const struct gate_rule rules[] = {
        {.pattern = "WAIT ...", .answer = "-upstream failure\r\n", .times = _i == 0 ? 2 : 0},
        {0}};
    struct gate *gate = gate_start(server_port(master), rules);
    struct hf_client_options o;
    struct hf_error err = {0};
    char url[SERVER_URL_MAX];

    (void)server_ask(master, "FLUSHALL");
    client_options(&o, url, gate_port(gate));
    o.replicas = 1;
    o.replicas_timeout_ms = WAIT_MS;
    o.request_timeout_ms = _i == 0 ? LONG_MS : SET_UP_MS;
    client = client_with(&o);
    lock_ = lock_of(client, NAME);
    if (_i == 0) {
        acquire(lock_, 1);
        ck_assert_uint_ge(gate_count(gate, 0), 2);
        release(lock_, 1);
    } else {
        ck_assert_status(try_acquire(lock_, 1, &err), HF_E_NOREPLY);
        ck_assert_msg(strstr(err.text, "upstream failure") != NULL, "%s", err.text);
    }
    close_client();
    gate_stop(gate);
}
END_TEST

/* Also the permits that go back. */
START_TEST(released_permits_are_at_the_replicas_in_the_end)
{
    open_counts(2, 3);
    (void)server_ask(master, "SET pool 3");
    pause_replicas(2);
    ck_assert_status(hf_semaphore_acquire(pool, 2, 0, NULL, NULL), HF_UNREPLICATED);
    server_await(master, LONG_MS, "3", "GET pool");
    ck_assert_uint_eq(stats_of(client).waiters, 0);
    resume_replicas();
    for (int i = 0; i < 2; i++)
        server_await(replicas[i], LONG_MS, "3", "GET pool");
    close_counts();
}
END_TEST

START_TEST(too_few_replicas_and_it_is_released)
{
    struct hf_error err = {0};

    open_with(2, _i);
    pause_replicas(1);
    ck_assert_status(try_acquire(lock_, 1, &err), HF_UNREPLICATED);
    ck_assert_ptr_nonnull(strstr(err.text, " of 2 replicas have it"));
    ck_assert_ptr_nonnull(strstr(err.text, NAME));
    server_await(master, LONG_MS, "", "HGETALL %s", NAME);
    ck_assert_status(hf_lock_release(lock_, 1, NULL), HF_NOT_OWNER);
    resume_replicas();
    close_client();
}
END_TEST

/* Nobody said how many there are: the master does, at each grant. */
START_TEST(all_are_those_that_are_attached)
{
    struct hf_error err = {0};

    open_with(HF_REPLICAS_ALL, _i);
    pause_replicas(1);
    ck_assert_status(try_acquire(lock_, 1, &err), HF_UNREPLICATED);
    ck_assert_ptr_nonnull(strstr(err.text, "of 2 replicas have it"));
    server_await(master, LONG_MS, "", "HGETALL %s", NAME);
    resume_replicas();
    close_client();
}
END_TEST

START_TEST(master_without_replicas_grants_nothing)
{
    static const int counts[] = {HF_REPLICAS_ALL, HF_REPLICAS_MAJORITY, 1};
    struct server *alone = server_start(NULL);
    struct hf_client_options o;
    char url[SERVER_URL_MAX];
    struct hf_error err = {0};

    client_options(&o, url, server_port(alone));
    o.replicas = counts[_i];
    o.replicas_timeout_ms = 50;
    client = client_with(&o);
    lock_ = lock_of(client, NAME);
    ck_assert_status(try_acquire(lock_, 1, &err), HF_UNREPLICATED);
    ck_assert_ptr_nonnull(strstr(err.text, "0 of 1 replicas have it"));
    close_client();
    server_stop(alone);
}
END_TEST

START_TEST(too_few_replicas_and_it_is_kept)
{
    struct hf_acquire_options o = acquire_options(1);

    open_with(2, 3);
    pause_replicas(2);
    o.keep_unreplicated = true;
    ck_assert_status(hf_lock_acquire(lock_, &o, NULL), HF_UNREPLICATED);
    ck_assert_holder(master, lock_, 1, 1);
    ck_assert_int_gt(hf_lock_safe_ms(lock_, 1), 0);
    release(lock_, 1);
    ck_assert_str_eq(hash_of(master, NAME), "");
    resume_replicas();
    close_client();
}
END_TEST

/* A WAIT blocks its connection on the server: others have one of their own. */
START_TEST(other_requests_do_not_wait_for_replicas)
{
    struct hf_acquire_options o = acquire_options(1);
    struct hf_lock_info info;
    struct call slow;

    set_long();
    open_with(2, 3);
    pause_replicas(2);
    call_acquire(&slow, lock_, &o);
    server_await(master, LONG_MS, "1", "EXISTS %s", NAME);
    for (int i = 0; i < 20; i++)
        ck_assert_ok(hf_lock_inspect(lock_, &info, NULL));
    ck_assert(!call_is_done(&slow));
    resume_replicas();
    if (call_await(&slow) == HF_OK)
        release(lock_, 1);
    close_client();
}
END_TEST

/* Acquires and re-entries go over the connection on which the server waits for
 * replicas, renewals over the other: an answer there proves nothing of a re-entry
 * that is still to be executed here (LEASE-4). The server is asked first: what is
 * left there can only be less by the time that we are asked. */
START_TEST(late_reentry_is_not_forgotten_over_a_renewal)
{
    struct diary diary;
    struct hf_acquire_options o = diary_options(&diary, 1);
    struct hf_lock *other;
    struct call slow;
    int64_t kept_ms;

    open_with(2, _i);
    other = lock_of(client, "other");
    ck_assert_ok(hf_lock_acquire(lock_, &o, NULL));
    pause_replicas(2);
    call_acquire(&slow, other, &o);
    server_await(master, LONG_MS, "1", "EXISTS other");
    o.lease_ms = 3000;
    o.wait_ms = 100;
    ck_assert_status(hf_lock_acquire(lock_, &o, NULL), HF_E_NOREPLY);
    note_await(&diary.note, &diary.renewals, 1, "a renewal");
    ck_assert_int_le(hf_lock_safe_ms(lock_, 1), 3000);
    resume_replicas();
    ck_assert_ok(call_await(&slow));
    kept_ms = server_ask_int(master, "PTTL " NAME);
    ck_assert_int_le(hf_lock_safe_ms(lock_, 1), kept_ms);
    ck_assert_int_eq(note_read(&diary.note, &diary.losses), 0);
    release(lock_, 1);
    close_client();
}
END_TEST

START_TEST(connection_lost_while_replicas_are_awaited)
{
    struct hf_acquire_options o = acquire_options(1);
    struct call call;

    open_with(2, 3);
    pause_replicas(2);
    call_acquire(&call, lock_, &o);
    server_await(master, LONG_MS, "1", "EXISTS %s", NAME);
    (void)server_ask(master, "CLIENT KILL TYPE normal SKIPME yes");
    ck_assert_int_eq(call_await(&call), HF_UNREPLICATED);
    server_await(master, LONG_MS, "", "HGETALL %s", NAME);
    resume_replicas();
    close_client();
}
END_TEST

START_TEST(cancel_while_replicas_are_awaited)
{
    struct hf_acquire_options o = acquire_options(1);
    struct hf_cancel cancel;
    struct call call;

    open_with(2, 3);
    hf_cancel_init(&cancel, client);
    o.cancel = &cancel;
    pause_replicas(2);
    call_acquire(&call, lock_, &o);
    server_await(master, LONG_MS, "1", "EXISTS %s", NAME);
    hf_cancel_fire(&cancel);
    ck_assert_int_eq(call_await(&call), HF_CANCELLED);
    server_await(master, LONG_MS, "", "HGETALL %s", NAME);
    resume_replicas();
    close_client();
}
END_TEST

START_TEST(client_is_freed_while_replicas_are_awaited)
{
    struct hf_acquire_options o = acquire_options(1);
    struct call call;

    open_with(2, 3);
    pause_replicas(2);
    call_acquire(&call, lock_, &o);
    server_await(master, LONG_MS, "1", "EXISTS %s", NAME);
    hf_client_free(client);
    ck_assert_int_eq(call_await(&call), HF_E_CLOSED);
    resume_replicas();
}
END_TEST

/* ---- refused ---- */

START_TEST(acl_without_wait_is_found_at_connect)
{
    struct hf_error err = {0};

    open_with(1, 3);
    (void)server_ask(master, "ACL SETUSER default -wait");
    ck_assert_status(hf_client_connect(client, &err), HF_E_SERVER);
    ck_assert_ptr_nonnull(strstr(err.text, "WAIT"));
    ck_assert_ptr_nonnull(strstr(err.text, "NOPERM"));
    ck_assert_status(try_acquire(lock_, 1, &err), HF_E_SERVER);
    ck_assert_ptr_nonnull(strstr(err.text, "NOPERM"));
    server_await(master, LONG_MS, "", "HGETALL %s", NAME);
    (void)server_ask(master, "ACL SETUSER default +wait");
    acquire(lock_, 1);
    release(lock_, 1);
    close_client();
}
END_TEST

static const struct {
    int count;
    int64_t timeout_ms, watchdog_ms;
} wrong[] = {
    {-3, 0, 30000}, {1025, 0, 30000}, {1, -1, 30000}, {1, 5001, 30000},
};

START_TEST(impossible_options_are_refused_before_a_request)
{
    struct hf_client *made = NULL;
    struct hf_client_options o;
    struct hf_error err = {0};
    char url[SERVER_URL_MAX];

    options_with(&o, url, wrong[_i].count);
    o.replicas_timeout_ms = wrong[_i].timeout_ms;
    o.watchdog_ms = wrong[_i].watchdog_ms;
    ck_assert_status(hf_client_new(&made, &o, &err), HF_E_INVAL);
    ck_assert_ptr_null(made);
    ck_assert_ptr_nonnull(strstr(err.text, _i < 2 ? "replicas" : "timeout"));
}
END_TEST

static int no_body(void *ctx, struct hf_lock *lock)
{
    (void)lock;
    *(bool *)ctx = true;
    return 0;
}

/* A scope releases on every path: it cannot keep what it did not get. */
START_TEST(scope_keeps_nothing_that_it_would_not_release)
{
    struct hf_acquire_options o = acquire_options(1);
    bool is_called = false;
    struct hf_scope scope = {.size = sizeof scope, .body = no_body, .ctx = &is_called};

    open_with(2, 3);
    o.keep_unreplicated = true;
    ck_assert_status(hf_lock_with(lock_, &o, &scope, NULL, NULL), HF_E_INVAL);
    ck_assert(!is_called);
    ck_assert_str_eq(hash_of(master, NAME), "");
    close_client();
}
END_TEST

/* ---- memory ---- */

static hf_status live_once(const struct hf_client_options *o)
{
    struct hf_client *one;
    struct hf_lock *lock;
    hf_status rc;

    if ((rc = hf_client_new(&one, o, NULL)) < 0)
        return rc;
    rc = hf_lock_new(&lock, one, NAME, strlen(NAME), NULL);
    if (rc == HF_OK)
        rc = try_acquire(lock, 1, NULL);
    if (rc == HF_OK)
        rc = hf_lock_release(lock, 1, NULL);
    hf_client_free(one);
    return rc;
}

START_TEST(any_allocation_may_fail)
{
    struct hf_client_options o;
    char url[SERVER_URL_MAX];
    struct memory memory;
    hf_status rc = HF_E_NOMEM;
    unsigned n;

    options_with(&o, url, 2);
    for (n = 1; rc != HF_OK && n < PLENTY; n++) {
        (void)server_ask(master, "DEL %s", NAME);
        memory_init(&memory);
        memory_fail_at(&memory, n);
        o.mem = &memory.hook;
        rc = live_once(&o);
        ck_assert_pstr_eq(memory_fini(&memory), NULL);
    }
    ck_assert_int_eq(rc, HF_OK);
}
END_TEST

static void add(Suite *suite)
{
    TCase *enough = tcase_create("enough");
    TCase *few = tcase_create("too few");

    tcase_add_unchecked_fixture(enough, start, stop);
    tcase_add_checked_fixture(enough, set_long, NULL);
    tcase_set_timeout(enough, 60);
    tcase_add_loop_test(enough, acquired_locks_are_at_the_replicas, 2, 4);
    tcase_add_test(enough, the_requested_number_is_enough);
    tcase_add_loop_test(enough, all_have_it, 2, 4);
    tcase_add_loop_test(enough, a_renewal_by_owner_is_at_the_replicas, 2, 4);
    tcase_add_test(enough, reentry_renewal_and_release_do_not_wait);
    tcase_add_loop_test(enough, each_change_of_a_count_is_at_the_replicas, 0,
                        2 * COUNT(changes));
    tcase_add_loop_test(enough, late_reentry_is_not_forgotten_over_a_renewal, 2,
                        4);
    tcase_add_test(enough, acl_without_wait_is_found_at_connect);
    tcase_add_loop_test(enough,
                        impossible_options_are_refused_before_a_request, 0,
                        COUNT(wrong));
    tcase_add_test(enough, scope_keeps_nothing_that_it_would_not_release);
    tcase_add_test(enough, any_allocation_may_fail);
    suite_add_tcase(suite, enough);

    tcase_add_unchecked_fixture(few, start, stop);
    tcase_add_checked_fixture(few, set_short, NULL);
    tcase_set_timeout(few, 60);
    tcase_add_loop_test(few, a_renewal_by_owner_that_too_few_replicas_have_is_reported,
                        2, 4);
    tcase_add_loop_test(few,
                        a_renewal_by_owner_that_finds_a_longer_lease_is_also_confirmed,
                        2, 4);
    tcase_add_loop_test(few, change_of_a_count_that_too_few_replicas_have_is_reported, 0,
                        2 * COUNT(changes));
    tcase_add_loop_test(few, change_of_a_count_is_done_where_wait_is_refused, 0,
                        COUNT(changes));
    tcase_add_loop_test(few, error_of_a_proxy_to_wait_is_as_a_lost_reply, 0, 2);
    tcase_add_test(few, released_permits_are_at_the_replicas_in_the_end);
    tcase_add_loop_test(few, too_few_replicas_and_it_is_released, 2, 4);
    tcase_add_loop_test(few, all_are_those_that_are_attached, 2, 4);
    tcase_add_loop_test(few, majority_counts_the_master, 2, 4);
    tcase_add_loop_test(few, master_without_replicas_grants_nothing, 0, 3);
    tcase_add_test(few, too_few_replicas_and_it_is_kept);
    tcase_add_test(few, other_requests_do_not_wait_for_replicas);
    tcase_add_test(few, connection_lost_while_replicas_are_awaited);
    tcase_add_test(few, cancel_while_replicas_are_awaited);
    tcase_add_test(few, client_is_freed_while_replicas_are_awaited);
    suite_add_tcase(suite, few);
}

int main(void)
{
    return live_main("lock, replicas", add);
}
