/* Every allocation fails once, in turn: through a client's whole life nothing
 * crashes, hangs, leaks or stays locked, and each call says what became of it. */
#include "lock/by_owner.h"
#include "lock/latch.h"
#include "lock/multi.h"
#include "lock/permits.h"
#include "lock/quorum.h"
#include "lock/semaphore.h"
#include "tests/live/test_lock_ways.h"
#include "tests/support/fds.h"
#include "tests/support/lua_client.h"
#include "tests/support/memory.h"
#include "tests/support/one_server.h"
#include "tests/support/proxy.h"

#define BRIEF_WATCHDOG_MS 300   /* renewals come soon, and a loss is no fault */
#define PLENTY 2000             /* more than any scene allocates */

static struct memory memory;
static int64_t watchdog_ms, request_ms = 3000; /* of the next client */

static hf_status open_client(struct hf_client **client, const struct way *way)
{
    struct hf_client_options o;
    char url[SERVER_URL_MAX];

    way_options(&o, url, server_port(server), way);
    o.mem = &memory.hook;
    o.watchdog_ms = watchdog_ms;
    o.request_timeout_ms = request_ms;
    return hf_client_new(client, &o, NULL);
}

/* What is out of memory may say so, or that it could not reach the server;
 * never that another holds what nobody holds. */
static void ck_assert_honest(hf_status rc)
{
    ck_assert_msg(rc == HF_OK || rc == HF_E_NOMEM || rc == HF_E_NOREPLY ||
                      rc == HF_E_CONNECT,
                  "%s", hf_status_name(rc));
}

/* ---- scenes: each is a piece of a client's life ---- */

static void take_and_give_back(struct hf_client *client, struct hf_lock *lock)
{
    hf_status first, second;

    (void)client;
    first = hf_lock_acquire(lock, NULL, NULL);
    ck_assert_honest(first);
    if (first < 0)
        return;
    ck_assert_holder(server, lock, hf_owner_thread(), 1);
    second = hf_lock_acquire(lock, NULL, NULL);
    ck_assert_honest(second);
    if (second == HF_OK) {
        ck_assert_holder(server, lock, hf_owner_thread(), 2);
        second = hf_lock_release(lock, hf_owner_thread(), NULL);
        ck_assert_honest(second);
    }
    ck_assert_honest(hf_lock_release(lock, hf_owner_thread(), NULL));
    ck_assert_status(hf_lock_release(lock, hf_owner_thread(), NULL),
                     HF_NOT_OWNER);
}

static void look_and_force(struct hf_client *client, struct hf_lock *lock)
{
    struct hf_lock_info info;
    struct call call;
    hf_status rc;

    (void)lua_acquire(server, NAME, strlen(NAME), LUA_HOLDER, 60000);
    rc = hf_lock_inspect(lock, &info, NULL);
    ck_assert_honest(rc);
    if (rc == HF_OK)
        ck_assert_str_eq(info.holder, LUA_HOLDER);
    call_init(&call);
    rc = hf_lock_force_release_async(lock, LUA_HOLDER, strlen(LUA_HOLDER),
                                     call_done, &call);
    if (rc == HF_OK)
        rc = call_drive(&call, client);
    ck_assert_honest(rc);
    (void)lua_force_release(server, NAME, strlen(NAME));
}

static void renew_and_release_anothers(struct hf_client *client,
                                       struct hf_lock *lock)
{
    const char *owner = LUA_HOLDER;
    struct call call;
    hf_status rc;

    (void)lua_acquire(server, NAME, strlen(NAME), owner, 60000);
    ck_assert_honest(hf_renew_by_owner(lock, owner, strlen(owner), 90000, NULL,
                                       NULL));
    call_init(&call);
    rc = hf_release_by_owner_async(lock, owner, strlen(owner), call_done, &call);
    if (rc == HF_OK)
        rc = call_drive(&call, client);
    ck_assert_honest(rc);
    (void)lua_force_release(server, NAME, strlen(NAME));
}

/* Two calls that wait for Redisson, one behind the other, and both have it in
 * the end, unless they could not even ask. */
static void wait_in_line(struct hf_client *client, struct hf_lock *lock)
{
    struct hf_acquire_options o = acquire_options(1);
    struct call calls[2];
    hf_status rc[2];

    (void)lua_acquire(server, NAME, strlen(NAME), LUA_HOLDER, 400);
    for (int i = 0; i < 2; i++) {
        o.owner = i + 1;
        call_init(&calls[i]);
        rc[i] = hf_lock_acquire_async(lock, &o, call_done, &calls[i]);
    }
    for (int i = 0; i < 2; i++) {
        if (rc[i] == HF_OK)
            rc[i] = call_drive(&calls[i], client);
        ck_assert_honest(rc[i]);
        if (rc[i] == HF_OK)
            ck_assert_honest(hf_lock_release(lock, i + 1, NULL));
    }
}

/* Held until it was renewed twice, or is lost and told so: never neither. */
static void be_renewed(struct hf_client *client, struct hf_lock *lock)
{
    static struct diary diary;
    struct hf_acquire_options o = diary_options(&diary, 1);
    int64_t deadline_ms = local_now_ms() + AWAIT_MS;
    hf_status rc = hf_lock_acquire(lock, &o, NULL);

    ck_assert_honest(rc);
    if (rc < 0)
        return;
    while (note_read(&diary.note, &diary.renewals) < 2 &&
           note_read(&diary.note, &diary.losses) == 0) {
        ck_assert_msg(local_now_ms() < deadline_ms, "neither renewed nor lost");
        hf_loop_dispatch(hf_client_loop(client), 20);
    }
    rc = hf_lock_release(lock, 1, NULL);
    if (rc != HF_LOST)
        ck_assert_honest(rc);
}

/* The hold outlives its connection, and ends by the next one. */
static void come_back(struct hf_client *client, struct hf_lock *lock)
{
    hf_status rc = hf_lock_acquire(lock, NULL, NULL);

    (void)client;
    ck_assert_honest(rc);
    (void)fds_count(); /* they end with an exec */
    if (rc < 0)
        return;
    (void)server_ask(server, "CLIENT KILL TYPE normal SKIPME yes");
    ck_assert_honest(hf_lock_release(lock, hf_owner_thread(), NULL));
}

/* What is not given back for want of memory says so. */
static void count(struct hf_client *client, struct hf_lock *lock)
{
    struct hf_semaphore *semaphore = NULL;
    hf_status taken, given = HF_OK;

    (void)lock;
    (void)server_ask(server, "SET pool 5");
    taken = hf_semaphore_new(&semaphore, client, "pool", 4, NULL);
    if (taken == HF_OK)
        taken = hf_semaphore_acquire(semaphore, 2, 0, NULL, NULL);
    ck_assert_honest(taken);
    if (taken == HF_OK)
        given = hf_semaphore_release(semaphore, 2, NULL);
    ck_assert_honest(given);
    server_await(server, LONG_MS, given == HF_E_NOMEM ? "3" : "5", "GET pool");
    hf_semaphore_free(semaphore);
}

static void count_down(struct hf_client *client, struct hf_lock *lock)
{
    struct hf_latch *latch = NULL;
    bool was_set = false;
    hf_status rc;

    (void)lock;
    (void)server_ask(server, "SET doors 2");
    rc = hf_latch_new(&latch, client, "doors", 5, NULL);
    ck_assert_honest(rc);
    if (rc < 0)
        return;
    rc = hf_latch_try_set_count(latch, 3, &was_set, NULL);
    ck_assert_honest(rc);
    ck_assert(!was_set);
    rc = hf_latch_count_down(latch, NULL);
    ck_assert_honest(rc);
    server_await(server, LONG_MS, rc == HF_E_NOMEM ? "2" : "1", "GET doors");
    (void)server_ask(server, "DEL doors");
    ck_assert_honest(hf_latch_await(latch, HF_FOREVER, NULL, NULL));
    hf_latch_free(latch);
}

/* A permit that was taken has a lease: no more is lost than its time. */
static void hold_permit(struct hf_client *client, struct hf_lock *lock)
{
    struct hf_lock *permit = NULL;
    bool was_set = false;
    int64_t left = 0;
    hf_status rc;

    (void)lock;
    (void)server_ask(server, "DEL passes {passes}:timeout");
    rc = hf_lock_new_kind(&permit, client, HF_KIND_PERMIT, "passes", 6, NULL);
    ck_assert_honest(rc);
    if (rc < 0)
        return;
    rc = hf_permits_try_set(permit, 2, &was_set, NULL);
    ck_assert_honest(rc);
    if (rc == HF_OK) {
        ck_assert(was_set);
        rc = hf_lock_acquire(permit, NULL, NULL);
        ck_assert_honest(rc);
        if (rc == HF_OK)
            ck_assert_honest(
                hf_lock_release(permit, hf_owner_thread(), NULL));
        ck_assert_honest(hf_permits_available(permit, &left, NULL));
        server_await(server, LONG_MS, "2", "GET passes");
    }
    hf_lock_free(permit);
}

static void hold_value(struct hf_client *client, struct hf_lock *lock)
{
    struct hf_lock *value = NULL;
    struct hf_lock_info info;
    hf_status rc =
        hf_lock_new_kind(&value, client, HF_KIND_VALUE, "v", 1, NULL);

    (void)lock;
    ck_assert_honest(rc);
    if (rc < 0)
        return;
    rc = hf_lock_acquire(value, NULL, NULL);
    ck_assert_honest(rc);
    if (rc == HF_OK) {
        ck_assert_honest(hf_lock_inspect(value, &info, NULL));
        ck_assert_honest(hf_lock_release(value, hf_owner_thread(), NULL));
    }
    server_await(server, LONG_MS, "0", "EXISTS v");
    hf_lock_free(value);
}

/* Both calls of a multi-lock, waiting for the answer or not. */
static void hold_both(struct hf_client *client, struct hf_multi *multi)
{
    struct hf_acquire_options o = acquire_options(1);
    struct call call;
    hf_status rc = hf_multi_acquire(multi, &o, NULL);

    ck_assert_honest(rc);
    if (rc == HF_OK)
        ck_assert_honest(hf_multi_release(multi, 1, NULL));
    call_init(&call);
    rc = hf_multi_acquire_async(multi, &o, call_done, &call);
    if (rc == HF_OK)
        rc = call_drive(&call, client);
    ck_assert_honest(rc);
    if (rc < 0)
        return;
    call_init(&call);
    rc = hf_multi_release_async(multi, 1, call_done, &call);
    ck_assert_honest(rc);
    if (rc == HF_OK)
        ck_assert_honest(call_drive(&call, client));
    else
        ck_assert_honest(hf_multi_release(multi, 1, NULL));
}

static void hold_several(struct hf_client *client, struct hf_lock *lock)
{
    struct hf_lock *both[] = {lock, NULL};
    struct hf_multi *multi = NULL;
    hf_status rc = hf_lock_new(&both[1], client, "z", 1, NULL);

    ck_assert_honest(rc);
    if (rc < 0)
        return;
    rc = hf_multi_new(&multi, both, COUNT(both), NULL);
    ck_assert_honest(rc);
    if (rc == HF_OK)
        hold_both(client, multi);
    server_await(server, LONG_MS, "0", "EXISTS z " NAME);
    hf_multi_free(multi);
    hf_lock_free(both[1]);
}

/* A release needs no memory. */
static void hold_most_of(struct hf_client *client, struct hf_quorum *quorum)
{
    struct hf_acquire_options o = acquire_options(1);
    struct call call;
    hf_status rc;

    o.allow_same_server = true; /* each name has a client, and all one server */
    call_init(&call);
    rc = hf_quorum_acquire_async(quorum, &o, call_done, &call);
    if (rc == HF_OK)
        rc = call_drive(&call, client);
    ck_assert_honest(rc);
    if (rc < 0)
        return;
    ck_assert_int_gt(hf_quorum_safe_ms(quorum, 1), 0);
    call_init(&call);
    ck_assert_ok(hf_quorum_release_async(quorum, 1, call_done, &call));
    ck_assert_ok(call_drive(&call, client));
}

/* Clients of one loop; names stand for servers. */
static void hold_most(struct hf_client *client, struct hf_lock *lock)
{
    static const char *const names[] = {NAME, "y", "z"};
    struct hf_client *clients[COUNT(names)] = {client};
    struct hf_lock *locks[COUNT(names)] = {lock};
    struct hf_quorum *quorum = NULL;
    struct hf_client_options o;
    char url[SERVER_URL_MAX];
    hf_status rc = HF_OK;

    client_options(&o, url, server_port(server));
    o.mem = &memory.hook;
    o.loop = hf_client_loop(client);
    o.watchdog_ms = watchdog_ms;
    for (size_t i = 1; i < COUNT(names) && rc == HF_OK; i++) {
        rc = hf_client_new(&clients[i], &o, NULL);
        if (rc == HF_OK)
            rc = hf_lock_new(&locks[i], clients[i], names[i], 1, NULL);
        ck_assert_honest(rc);
    }
    if (rc == HF_OK) {
        rc = hf_quorum_new(&quorum, locks, COUNT(names), NULL);
        ck_assert_honest(rc);
    }
    if (rc == HF_OK)
        hold_most_of(client, quorum);
    server_await(server, LONG_MS, "0", "EXISTS y z " NAME);
    hf_quorum_free(quorum);
    for (size_t i = 1; i < COUNT(names); i++) {
        hf_lock_free(locks[i]);
        hf_client_free(clients[i]);
    }
}

static const struct scene {
    const char *name;
    void (*play)(struct hf_client *client, struct hf_lock *lock);
    int64_t watchdog_ms;
} scenes[] = {
    {"take and give back", take_and_give_back, STEADY_WATCHDOG_MS},
    {"look and force", look_and_force, STEADY_WATCHDOG_MS},
    {"renew and release another's", renew_and_release_anothers,
     STEADY_WATCHDOG_MS},
    {"wait in line", wait_in_line, STEADY_WATCHDOG_MS},
    {"be renewed", be_renewed, BRIEF_WATCHDOG_MS},
    {"come back", come_back, STEADY_WATCHDOG_MS},
    {"count", count, STEADY_WATCHDOG_MS},
    {"count down", count_down, STEADY_WATCHDOG_MS},
    {"hold permit", hold_permit, STEADY_WATCHDOG_MS},
    {"hold value", hold_value, STEADY_WATCHDOG_MS},
    {"hold several", hold_several, STEADY_WATCHDOG_MS},
    {"hold most", hold_most, STEADY_WATCHDOG_MS},
};

/* ---- */

static void play(const struct scene *scene, const struct way *way)
{
    struct hf_client *client;
    struct hf_lock *lock;
    hf_status rc = open_client(&client, way);

    ck_assert_honest(rc);
    if (rc < 0)
        return;
    rc = hf_lock_new(&lock, client, NAME, strlen(NAME), NULL);
    ck_assert_honest(rc);
    if (rc == HF_OK) {
        scene->play(client, lock);
        hf_lock_free(lock);
    }
    hf_client_free(client);
}

#define GAMES (COUNT(scenes) * COUNT(ways))

START_TEST(each_allocation_may_fail)
{
    const struct scene *scene = &scenes[_i % COUNT(scenes)];
    const struct way *way = &ways[_i / COUNT(scenes)];
    bool has_failed = true;
    const char *complaint;
    int n;

    watchdog_ms = scene->watchdog_ms;
    (void)server_ask(server, "PING"); /* by a connection that stays */
    fds_note();
    for (n = 1; has_failed && n < PLENTY; n++) {
        memory_init(&memory);
        memory_fail_at(&memory, (uint64_t)n);
        play(scene, way);
        has_failed = memory_has_failed(&memory);
        complaint = memory_fini(&memory);
        ck_assert_msg(!complaint, "%s, %d: %s", scene->name, n, complaint);
        fds_await_none();
        server_await(server, LONG_MS, "0", "EXISTS " NAME);
    }
    ck_assert_int_gt(n, 10);
    ck_assert_int_lt(n, PLENTY);
}
END_TEST

/* Its caller has given up, and what the server did is to be undone, or to be
 * done for certain: nobody owns it, so no lease would end it. */
START_TEST(permits_are_not_lost_for_want_of_memory)
{
    struct proxy *proxy = proxy_start(server_port(server));
    struct hf_client_options o;
    struct hf_client *client;
    struct hf_semaphore *semaphore;
    char url[SERVER_URL_MAX];
    struct call call;

    memory_init(&memory);
    client_options(&o, url, proxy_port(proxy));
    o.mem = &memory.hook;
    o.request_timeout_ms = SET_UP_MS;
    client = client_with(&o);
    ck_assert_ok(hf_semaphore_new(&semaphore, client, "pool", 4, NULL));
    (void)server_ask(server, "SET pool 5");
    ck_assert_ok(hf_semaphore_acquire(semaphore, 2, 0, NULL, NULL));
    ck_assert_ok(hf_semaphore_release(semaphore, 1, NULL));
    server_await(server, AWAIT_MS, "pool", "KEYS *");
    proxy_hold(proxy, PROXY_TO_CLIENT, true);
    proxy_hold(proxy, PROXY_TO_SERVER, _i == 1);
    call_init(&call);
    if (_i == 0)
        ck_assert_ok(hf_semaphore_acquire_async(semaphore, 3, 0, NULL,
                                                call_done, &call));
    else
        ck_assert_ok(
            hf_semaphore_release_async(semaphore, 1, call_done, &call));
    server_await(server, LONG_MS, _i == 0 ? "1" : "4", "GET pool");
    local_rest_us(A_MOMENT_MS * 1000);
    memory_fail_at(&memory, 1);
    ck_assert_status(call_await(&call), HF_E_NOREPLY);
    memory_fail_at(&memory, 0);
    if (_i == 1)
        proxy_cut(proxy, PROXY_CLOSE);
    proxy_hold(proxy, PROXY_TO_SERVER, false);
    proxy_hold(proxy, PROXY_TO_CLIENT, false);
    server_await(server, LONG_MS, _i == 0 ? "4" : "5", "GET pool");
    hf_client_free(client);
    ck_assert_pstr_eq(memory_fini(&memory), NULL);
    proxy_stop(proxy);
}
END_TEST

static void pairs(struct hf_lock *lock, const struct hf_acquire_options *o, int count)
{
    for (int i = 0; i < count; i++) {
        ck_assert_ok(hf_lock_acquire(lock, o, NULL));
        release(lock, o->owner);
    }
}

/* On the steady path nothing is allocated at all, with callbacks neither. */
START_TEST(a_pair_that_was_made_before_allocates_nothing)
{
    struct diary d;
    const struct hf_acquire_options ways_to_acquire[] = {acquire_options(1),
                                                         diary_options(&d, 1)};
    struct hf_client *client;
    struct hf_lock *lock;
    uint64_t before;

    memory_init(&memory);
    watchdog_ms = 3 * LONG_MS; /* the first renewal makes room for renewals, */
    request_ms = 3 * LONG_MS;  /* and a late reply for a second connection */
    ck_assert_ok(open_client(&client, &ways[_i]));
    lock = lock_of(client, NAME);
    for (int i = 0; i < COUNT(ways_to_acquire); i++) {
        pairs(lock, &ways_to_acquire[i], 3);
        before = memory_counts(&memory).asked;
        pairs(lock, &ways_to_acquire[i], 1000);
        ck_assert_uint_eq(memory_counts(&memory).asked, before);
    }
    hf_lock_free(lock);
    hf_client_free(client);
    ck_assert_pstr_eq(memory_fini(&memory), NULL);
}
END_TEST

/* The memory of a client that is connected and has nothing to do (README): its own part, before
 * and after its buffer shrinks, and the loop. OpenSSL's memory is not included. */
#define LOOP_BYTES_MAX (8u << 10)
#define CLIENT_BYTES_MAX (80u << 10)
#define IDLE_BYTES_MAX (65u << 10)

static void await_bytes(size_t most)
{
    int64_t deadline_ms = local_now_ms() + AWAIT_MS;

    while (memory_counts(&memory).live_bytes > most) {
        ck_assert_msg(local_now_ms() < deadline_ms, "the buffer did not shrink");
        local_poll_rest();
    }
}

START_TEST(memory_of_an_idle_client_is_bounded)
{
    struct hf_loop_options lo = {.size = sizeof lo, .mem = &memory.hook, .thread = true};
    struct hf_client_options o;
    struct hf_client *client;
    struct hf_loop *loop;
    size_t of_loop, of_client;
    char url[SERVER_URL_MAX];

    memory_init(&memory);
    ck_assert_ok(hf_loop_new(&loop, &lo));
    of_loop = memory_counts(&memory).live_bytes;
    client_options(&o, url, server_port(server));
    o.loop = loop;
    client = client_with(&o);
    ck_assert_ok(hf_client_connect(client, NULL));
    of_client = memory_counts(&memory).live_bytes - of_loop;
    (void)printf("loop %zu bytes, idle client %zu\n", of_loop, of_client);
    ck_assert_uint_le(of_loop, LOOP_BYTES_MAX);
    ck_assert_uint_le(of_client, CLIENT_BYTES_MAX);
    await_bytes(of_loop + IDLE_BYTES_MAX);
    hf_client_free(client);
    hf_loop_free(loop);
    ck_assert_pstr_eq(memory_fini(&memory), NULL);
}
END_TEST

/* Names come and go: what was used for them is given back. */
START_TEST(used_memory_is_freed)
{
    struct hf_client *client;
    size_t before;
    char name[20];

    memory_init(&memory);
    watchdog_ms = request_ms = 3 * LONG_MS; /* no renewal and no second connection */
    ck_assert_ok(open_client(&client, &ways[_i]));
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 200; i++) {
            struct hf_lock *lock;

            (void)snprintf(name, sizeof name, "n%d", i);
            lock = lock_of(client, name);
            acquire(lock, 1);
            release(lock, 1);
            hf_lock_free(lock);
        }
        if (round == 1)
            before = memory_counts(&memory).live_bytes;
    }
    ck_assert_uint_eq(memory_counts(&memory).live_bytes, before);
    hf_client_free(client);
    ck_assert_pstr_eq(memory_fini(&memory), NULL);
}
END_TEST

static void add_cases(Suite *s)
{
    TCase *c = live_case(s, "memory", start_server, stop_server);

    tcase_set_timeout(c, 300);
    tcase_add_loop_test(c, each_allocation_may_fail, 0, GAMES);
    tcase_add_loop_test(c, a_pair_that_was_made_before_allocates_nothing, 0,
                        COUNT(ways));
    tcase_add_loop_test(c, permits_are_not_lost_for_want_of_memory, 0, 2);
    tcase_add_test(c, memory_of_an_idle_client_is_bounded);
    tcase_add_loop_test(c, used_memory_is_freed, 0, COUNT(ways));
}

int main(void)
{
    return live_main("lock, memory", add_cases);
}
