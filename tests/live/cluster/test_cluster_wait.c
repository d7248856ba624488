/* Waiters in a cluster: woken by message, in the sharded way and in the plain one,
 * wherever their slot goes meanwhile (C10, C15; WIRE 2.5, 5.1). */
#include "tests/live/test_cluster.h"

#include "lock/by_owner.h"
#include "lock/latch.h"
#include "lock/permits.h"
#include "lock/semaphore.h"
#include "tests/support/lateness.h"
#include "tests/support/lua_client.h"

/* Who waits without a message looks again when the holder's TTL ends: 30 s. */
#define SOON_MS 5000

/* How its clients are woken, and what a server calls that. */
static const struct way {
    const char *options;
    const char *count;          /* subscribers of a channel */
    bool is_sharded;
} ways[] = {
    {"sharded=on", "PUBSUB SHARDNUMSUB %b", true},
    {"sharded=auto", "PUBSUB SHARDNUMSUB %b", true},
    {"sharded=off", "PUBSUB NUMSUB %b", false},
    {"sharded=both", "PUBSUB SHARDNUMSUB %b", true},
};
enum { ON, AUTO, OFF, BOTH };

struct pair {
    struct hf_client *clients[2];
    struct hf_lock *holder;
    struct hf_lock *waiter;
    struct call call;
};

static void await_listener(struct server *s, const struct way *way,
                           const void *name, size_t len)
{
    size_t channel_len;
    char *channel = lua_channel(name, len, &channel_len);
    int64_t end_ms = local_now_ms() + AWAIT_MS;
    const char *answer;

    do {
        answer = server_ask(s, way->count, channel, channel_len);
        ck_assert_msg(local_now_ms() < end_ms, "nobody listens: %s", answer);
    } while (answer[strlen(answer) - 1] != '1');
    free(channel);
}

/* One holds the lock, and another waits for it, and hears. */
static void pair_hold(struct pair *p, const struct way *holders,
                      const struct way *waiters, const void *name, size_t len)
{
    p->clients[0] = cluster_client(holders->options);
    p->clients[1] = cluster_client(waiters->options);
    p->holder = lock_named(p->clients[0], name, len);
    p->waiter = lock_named(p->clients[1], name, len);
    acquire(p->holder, 1);
}

static void pair_wait(struct pair *p, const struct way *waiters,
                      const void *name, size_t len, int node)
{
    struct hf_acquire_options o = acquire_options(2);

    call_acquire(&p->call, p->waiter, &o);
    await_listener(cluster_node(cluster, node), waiters, name, len);
    if (waiters == &ways[BOTH])
        await_listener(cluster_node(cluster, node), &ways[OFF], name, len);
    ck_assert(!call_is_done(&p->call));
}

static void pair_begin(struct pair *p, const struct way *way, const void *name,
                       size_t len, int node)
{
    pair_hold(p, way, way, name, len);
    pair_wait(p, way, name, len, node);
}

/* Returns in what time. */
static int64_t pair_wake(struct pair *p)
{
    int64_t released_ms;

    release(p->holder, 1);
    released_ms = local_now_ms();
    ck_assert_int_eq(call_await(&p->call), HF_OK);
    return local_now_ms() - released_ms;
}

static void pair_end(struct pair *p)
{
    release(p->waiter, 2);
    for (int i = 0; i < 2; i++) {
        hf_lock_free(i ? p->waiter : p->holder);
        hf_client_free(p->clients[i]);
    }
}

static bool is_there(const struct way *way)
{
    return !way->is_sharded || has_sharded();
}

START_TEST(a_release_wakes_a_waiter_by_message)
{
    const struct way *way = &ways[_i];
    struct pair p;
    char name[32];
    int n = 0;

    for (int node = 0; node < MASTERS && is_there(way); node++) {
        (void)name_at(node, &n, name);
        pair_begin(&p, way, name, strlen(name), node);
        ck_assert_int_lt(pair_wake(&p), SOON_MS);
        pair_end(&p);
    }
}
END_TEST

/* Of clients that do not agree, those with sharded=both wake all, and are woken
 * by all. */
static const struct {
    int holder, waiter;
} mixed[] = {{ON, BOTH}, {OFF, BOTH}, {BOTH, ON}, {BOTH, OFF}};

START_TEST(sharded_both_sends_and_receives_either_kind)
{
    struct pair p;
    char name[32];
    int n = 0;

    if (!has_sharded())
        return;
    (void)name_at(2, &n, name);
    for (int i = 0; i < 3; i++) {
        const struct way *waiter = &ways[mixed[_i].waiter];

        pair_hold(&p, &ways[mixed[_i].holder], waiter, name, strlen(name));
        pair_wait(&p, waiter, name, strlen(name), 2);
        ck_assert_int_lt(pair_wake(&p), SOON_MS);
        pair_end(&p);
    }
}
END_TEST

START_TEST(a_waiter_is_woken_after_its_slot_has_moved)
{
    const struct way *way = &ways[_i];
    struct pair p;
    char name[32];
    int n = 0;

    if (!is_there(way))
        return;
    (void)name_at(0, &n, name);
    pair_begin(&p, way, name, strlen(name), 0);
    cluster_move(cluster, slot_of(name), 1);
    if (way->is_sharded)
        await_listener(cluster_node(cluster, 1), way, name, strlen(name));
    ck_assert_int_lt(pair_wake(&p), SOON_MS);
    pair_end(&p);
    cluster_move(cluster, slot_of(name), 0);
}
END_TEST

/* The server ends a sharded subscription when the slot goes: nobody need move
 * anything else for us to hear of it. */
START_TEST(a_waiter_is_woken_while_its_slot_is_on_the_move)
{
    const struct way *way = &ways[_i];
    struct pair p;
    char name[32];
    int n = 0;

    if (!is_there(way))
        return;
    (void)name_at(0, &n, name);
    pair_begin(&p, way, name, strlen(name), 0);
    cluster_move_begin(cluster, slot_of(name), 2);
    ck_assert_int_lt(pair_wake(&p), SOON_MS);
    (void)cluster_move_keys(cluster, slot_of(name), 2, 1);
    pair_end(&p); /* the key is there, and the slot not yet */
    cluster_move_end(cluster, slot_of(name), 2);
    cluster_move(cluster, slot_of(name), 0);
}
END_TEST

/* ---- the key at the target, its slot not yet ---- */

/* The slot of the waiter's lock is on its way from 0 to 2, the key is there. */
static void move_halfway(const char *name)
{
    cluster_move_begin(cluster, slot_of(name), 2);
    ck_assert_int_eq(cluster_move_keys(cluster, slot_of(name), 2, 1), 1);
}

static void move_back(const char *name)
{
    (void)cluster_move_keys(cluster, slot_of(name), 2, 1 << 30); /* what came meanwhile */
    cluster_move_end(cluster, slot_of(name), 2);
    cluster_move(cluster, slot_of(name), 0);
}

/* The release follows ASK, and speaks where nobody listens. */
#define SPUBLISHES                                                            \
    "return tonumber(redis.call('info','commandstats'):match('cmdstat_spublish:calls=(%d+)') " \
    "or 0)"

static long long messages_at(int node)
{
    return server_ask_int(cluster_node(cluster, node), "EVAL %s 0", SPUBLISHES);
}

/* WAKE-1: one message, at the owner of the slot. */
START_TEST(a_release_by_ask_wakes_a_waiter_at_the_source)
{
    const struct way *way = &ways[_i];
    struct pair p;
    char name[32];
    int n = 0;

    if (!is_there(way))
        return;
    (void)name_at(0, &n, name);
    pair_begin(&p, way, name, strlen(name), 0);
    move_halfway(name);
    (void)server_ask(cluster_node(cluster, 0), "CONFIG RESETSTAT");
    ck_assert_int_lt(pair_wake(&p), SOON_MS);
    if (way->is_sharded)
        server_await(cluster_node(cluster, 0), AWAIT_MS, "1", "EVAL %s 0", SPUBLISHES);
    ck_assert_int_eq(messages_at(0), way->is_sharded);
    pair_end(&p);
    move_back(name);
}
END_TEST

/* As Redisson does: at the target, and nowhere else. */
static void redisson_releases_by_ask(const char *name)
{
    struct server *target = cluster_node(cluster, 2);
    size_t len;
    char *channel = lua_channel(name, strlen(name), &len);

    (void)server_ask(target, "ASKING");
    ck_assert_str_eq(server_ask(target, "DEL %s", name), "1");
    (void)server_ask(target, "ASKING");
    (void)server_ask(target, "SPUBLISH %b 0", channel, len);
    free(channel);
}

/* The key leaves while the waiter sleeps, or before it comes. No message reaches
 * the waiter: it looks by itself, long before the TTL of 30 s ends. */
START_TEST(a_waiter_looks_by_itself_while_its_slot_is_on_the_move)
{
    const struct way *way = &ways[ON];
    int64_t began_ms;
    struct pair p;
    char name[32];
    int n = 0;

    if (!is_there(way))
        return;
    (void)name_at(0, &n, name);
    pair_hold(&p, way, way, name, strlen(name));
    if (_i == 1)
        move_halfway(name);
    pair_wait(&p, way, name, strlen(name), 0);
    if (_i == 0)
        move_halfway(name);
    began_ms = local_now_ms();
    redisson_releases_by_ask(name);
    ck_assert_int_eq(call_await(&p.call), HF_OK);
    ck_assert_within(began_ms, LONG_MS);
    pair_end(&p);
    move_back(name);
}
END_TEST

START_TEST(a_waiter_is_woken_after_a_failover)
{
    const struct way *way = &ways[_i];
    int replica = cluster_replica(cluster, 0, 0);
    struct pair p;
    char name[32];
    int n = 0;

    if (!is_there(way))
        return;
    (void)name_at(0, &n, name);
    pair_begin(&p, way, name, strlen(name), 0);
    cluster_failover(cluster, replica, "");
    await_listener(cluster_node(cluster, replica), way, name, strlen(name));
    ck_assert_int_lt(pair_wake(&p), SOON_MS);
    pair_end(&p);
}
END_TEST

/* Nobody has a command under way, and the silent server does not say that it has
 * been replaced. */
START_TEST(a_waiter_alone_learns_that_its_master_was_paused_and_replaced)
{
    const struct way *way = &ways[0];
    int replica = cluster_replica(cluster, 0, 0);
    struct pair p;
    char name[32];
    int n = 0;

    if (!is_there(way))
        return;
    (void)name_at(0, &n, name);
    pair_begin(&p, way, name, strlen(name), 0);
    server_pause(cluster_node(cluster, 0));
    cluster_await_owner(cluster, slot_of(name), replica);
    await_listener(cluster_node(cluster, replica), way, name, strlen(name));
    ck_assert_int_lt(pair_wake(&p), SOON_MS);
    pair_end(&p);
}
END_TEST

/* ---- odd names: WIRE 2.5 ---- */

static const struct {
    const char *name;
    size_t len;
} odd[] = {
    {"a{b", 3}, {"a}b", 3}, {"{}x", 3}, {"}{", 2}, {"{", 1}, {"}", 1},
    {"{}{a}", 5}, {"x}y{z}", 6}, {"{a}{b}", 6}, {"a{b}c", 5},
    {"\0\r\n\xff", 4}, {" ", 1},
};

static void must_wake_a_waiter(const void *name, size_t len)
{
    int node = cluster_owner(cluster, hf_slot_of(name, len));
    struct hf_acquire_options o = acquire_options(2);
    struct diary d;
    struct pair p;

    o = diary_options(&d, 2);
    for (int i = 0; i < 2; i++)
        p.clients[i] = cluster_client("");
    p.holder = lock_named(p.clients[0], name, len);
    p.waiter = lock_named(p.clients[1], name, len);
    acquire(p.holder, 1);
    ck_assert_holder(cluster_node(cluster, node), p.holder, 1, 1);
    call_acquire(&p.call, p.waiter, &o);
    note_await(&d.note, &d.waits, 1, "on_wait");
    ck_assert_int_lt(pair_wake(&p), SOON_MS);
    ck_assert_holder(cluster_node(cluster, node), p.waiter, 2, 1);
    pair_end(&p);
    ck_assert_int_eq(server_ask_int(cluster_node(cluster, node), "EXISTS %b",
                                    name, len),
                     0);
}

START_TEST(a_lock_of_any_name_is_acquired_awaited_and_released)
{
    must_wake_a_waiter(odd[_i].name, odd[_i].len);
}
END_TEST

START_TEST(so_is_a_lock_of_the_longest_name)
{
    char *name = local_new(HF_LOCK_NAME_MAX);

    memset(name, '{', HF_LOCK_NAME_MAX);
    must_wake_a_waiter(name, HF_LOCK_NAME_MAX);
    free(name);
}
END_TEST

/* Fenced locks and the read side have further keys, in the slot of another tag:
 * no script can use both. */
static const struct {
    enum hf_lock_kind kind;
    const char *name;
    bool is_served;
} two_slots[] = {
    {HF_KIND_FENCED, "a{b", false}, {HF_KIND_FENCED, "a}b", false},
    {HF_KIND_READ, "a{b", false},   {HF_KIND_READ, "{}x", false},
    {HF_KIND_PERMIT, "a{b", false}, {HF_KIND_SPIN, "a{b", true},
    {HF_KIND_VALUE, "a{b", true},   {HF_KIND_VALUE, "{}x", true},
    {HF_KIND_WRITE, "a{b", true},   {HF_KIND_NONREENTRANT, "a{b", true},
};

START_TEST(name_with_keys_in_two_slots_is_refused_with_advice)
{
    struct hf_client *client = cluster_client("");
    const char *name = two_slots[_i].name;
    struct hf_lock *lock = NULL;
    struct hf_error err;

    ck_assert_ok(hf_lock_new_kind(&lock, client, two_slots[_i].kind, name,
                                  strlen(name), NULL));
    if (two_slots[_i].is_served) {
        acquire(lock, 1);
        release(lock, 1);
    } else {
        ck_assert_status(try_acquire(lock, 1, &err), HF_E_SERVER);
        ck_assert_ptr_nonnull(strstr(err.text, "CROSSSLOT"));
        ck_assert_ptr_nonnull(strstr(err.text, "such as {this})"));
    }
    ck_assert_int_eq(server_ask_int(server_of(name), "EXISTS %s", name), 0);
    hf_client_free(client);
}
END_TEST

/* ---- what nobody owns ---- */

/* Sooner than a waiter of these would ask by itself. */
#define TOLD_MS 2000

static void await_one_listener(const char *name, const char *count,
                               const char *channel)
{
    int64_t end_ms = local_now_ms() + AWAIT_MS;
    const char *answer = "";

    do {
        ck_assert_msg(local_now_ms() < end_ms, "nobody listens: %s", answer);
        answer = server_ask(server_of(name), count, channel, strlen(channel));
    } while (answer[strlen(answer) - 1] != '1');
}

START_TEST(released_permits_wake_a_waiter_by_message)
{
    const struct way *way = &ways[_i];
    struct hf_client *taker, *giver;
    struct hf_semaphore *wanted, *given;
    char name[32], channel[64];
    int64_t from_ms;
    struct call call;
    int n = 0;

    if (!is_there(way))
        return;
    (void)name_at(2, &n, name);
    (void)snprintf(channel, sizeof channel, "redisson_sc:{%s}", name);
    taker = cluster_client(way->options);
    giver = cluster_client(way->options);
    ck_assert_ok(
        hf_semaphore_new(&wanted, taker, name, strlen(name), NULL));
    ck_assert_ok(hf_semaphore_new(&given, giver, name, strlen(name), NULL));
    call_init(&call);
    ck_assert_ok(hf_semaphore_acquire_async(wanted, 20, HF_FOREVER, NULL,
                                            call_done, &call));
    await_one_listener(name, way->count, channel);
    from_ms = local_now_ms();
    ck_assert_ok(hf_semaphore_release(given, 20, NULL)); /* its first call */
    ck_assert_int_eq(call_await(&call), HF_OK);
    ck_assert_within(from_ms, TOLD_MS);
    ck_assert_str_eq(server_ask(server_of(name), "GET %s", name), "0");
    (void)server_ask(server_of(name), "DEL %s", name);
    hf_client_free(taker);
    hf_client_free(giver);
}
END_TEST

#define RELEASES 20

/* WAKE-2: The replies to most of these releases arrive together. One permit remains in use,
 * because a node refuses a script whose keys are not all there while their slot moves. */
START_TEST(releases_by_ask_at_once_share_a_message)
{
    struct hf_client *client;
    struct call calls[RELEASES];
    struct hf_lock *permit;
    bool was_set;
    char name[32];
    int n = 0;

    if (!has_sharded())
        return;
    (void)name_at(0, &n, name);
    client = cluster_client("sharded=on");
    ck_assert_ok(
        hf_lock_new_kind(&permit, client, HF_KIND_PERMIT, name, strlen(name), NULL));
    ck_assert_ok(hf_permits_try_set(permit, RELEASES + 1, &was_set, NULL));
    for (int owner = 1; owner <= RELEASES + 1; owner++)
        acquire(permit, owner);
    cluster_move_begin(cluster, slot_of(name), 2);
    ck_assert_int_eq(cluster_move_keys(cluster, slot_of(name), 2, 2), 2);
    (void)server_ask(cluster_node(cluster, 0), "CONFIG RESETSTAT");
    for (int i = 0; i < RELEASES; i++)
        call_release(&calls[i], permit, i + 1);
    for (int i = 0; i < RELEASES; i++)
        ck_assert_int_eq(call_await(&calls[i]), HF_OK);
    ck_assert_int_ge(messages_at(0), 1);
    ck_assert_int_le(messages_at(0), RELEASES / 2);
    release(permit, RELEASES + 1);
    hf_lock_free(permit);
    hf_client_free(client);
    move_back(name);
    (void)server_ask(server_of(name), "DEL %s", name);
}
END_TEST

/* The channel of a name with a hash tag lies in another slot than the latch. */
static const struct {
    const char *name, *channel, *count;
} latches[] = {
    {"doors", "redisson_countdownlatch__channel__{doors}",
     "PUBSUB SHARDNUMSUB %b"},
    {"shop{eu}", "redisson_countdownlatch__channel__{shop{eu}}",
     "PUBSUB NUMSUB %b"},
};

START_TEST(latch_that_opens_wakes_a_waiter_by_message)
{
    const char *name = latches[_i].name;
    struct hf_client *waiting, *counting;
    struct hf_latch *awaited, *counted;
    int64_t from_ms;
    struct call call;
    bool was_set;

    if (!has_sharded())
        return;
    waiting = cluster_client("");
    counting = cluster_client("");
    ck_assert_ok(hf_latch_new(&awaited, waiting, name, strlen(name), NULL));
    ck_assert_ok(hf_latch_new(&counted, counting, name, strlen(name), NULL));
    ck_assert_ok(hf_latch_try_set_count(counted, 1, &was_set, NULL));
    ck_assert(was_set);
    call_init(&call);
    ck_assert_ok(
        hf_latch_await_async(awaited, HF_FOREVER, NULL, call_done, &call));
    /* A plain subscription may be at any node: one that nobody sees costs the
     * waiter 3 s. */
    if (_i == 0)
        await_one_listener(name, latches[_i].count, latches[_i].channel);
    from_ms = local_now_ms();
    ck_assert_ok(hf_latch_count_down(counted, NULL));
    ck_assert_int_eq(call_await(&call), HF_OK);
    ck_assert_within(from_ms, _i == 0 ? TOLD_MS : SOON_MS);
    hf_client_free(waiting);
    hf_client_free(counting);
}
END_TEST

START_TEST(semaphore_with_keys_in_two_slots_is_refused_with_advice)
{
    struct hf_client *client = cluster_client("");
    struct hf_semaphore *semaphore;
    struct hf_error err;

    ck_assert_ok(hf_semaphore_new(&semaphore, client, "a{b", 3, NULL));
    ck_assert_status(hf_semaphore_release(semaphore, 1, &err), HF_E_SERVER);
    ck_assert_ptr_nonnull(strstr(err.text, "CROSSSLOT"));
    ck_assert_status(hf_semaphore_acquire(semaphore, 1, 0, NULL, &err),
                     HF_E_SERVER);
    ck_assert_int_eq(server_ask_int(server_of("a{b"), "EXISTS a{b"), 0);
    hf_client_free(client);
}
END_TEST

static hf_status by_force(struct hf_lock *lock, struct hf_lock *held)
{
    (void)held;
    return hf_lock_force_release(lock, NULL, 0, NULL);
}

static hf_status by_owner(struct hf_lock *lock, struct hf_lock *held)
{
    char owner[HF_OWNER_TEXT_MAX];

    (void)hf_lock_owner_text(held, 1, owner);
    return hf_release_by_owner(lock, owner, strlen(owner), NULL);
}

/* The first thing that the client asks: how waiters are woken, it has yet to
 * learn. */
static void free_from_elsewhere(const struct way *way,
                                hf_status (*free_it)(struct hf_lock *lock,
                                                     struct hf_lock *held))
{
    struct hf_client *stranger;
    struct hf_lock *lock;
    struct pair p;
    char name[32];
    int n = 0;

    (void)name_at(1, &n, name);
    pair_begin(&p, way, name, strlen(name), 1);
    stranger = cluster_client(way->options);
    lock = lock_of(stranger, name);
    ck_assert_ok(free_it(lock, p.holder));
    ck_assert_int_eq(call_await(&p.call), HF_OK);
    hf_lock_free(lock);
    hf_client_free(stranger);
    ck_assert_status(hf_lock_release(p.holder, 1, NULL), HF_LOST);
    pair_end(&p);
}

START_TEST(a_force_release_wakes_waiters_of_a_cluster)
{
    if (is_there(&ways[_i]))
        free_from_elsewhere(&ways[_i], by_force);
}
END_TEST

START_TEST(release_by_owner_wakes_waiters_of_a_cluster)
{
    if (is_there(&ways[_i]))
        free_from_elsewhere(&ways[_i], by_owner);
}
END_TEST

static void add_case(Suite *s, const char *name, bool is_resp2)
{
    TCase *c = cluster_case(s, name, is_resp2);

    /* First: a replica that was elected less than two timeouts ago takes the old
     * votes for new ones, under the old epoch, and then nobody follows it (seen
     * in Redis 7.0.15). */
    if (!is_resp2)
        tcase_add_test(
            c,
            a_waiter_alone_learns_that_its_master_was_paused_and_replaced);
    tcase_add_loop_test(c, a_release_wakes_a_waiter_by_message, 0,
                        COUNT(ways));
    tcase_add_loop_test(c, a_waiter_is_woken_after_its_slot_has_moved, 0,
                        COUNT(ways));
    tcase_add_loop_test(c, a_waiter_is_woken_while_its_slot_is_on_the_move, 0,
                        COUNT(ways));
    tcase_add_loop_test(c, sharded_both_sends_and_receives_either_kind, 0,
                        COUNT(mixed));
    tcase_add_loop_test(c, a_release_by_ask_wakes_a_waiter_at_the_source, 0,
                        COUNT(ways));
    tcase_add_loop_test(
        c, a_waiter_looks_by_itself_while_its_slot_is_on_the_move, 0, 2);
    tcase_add_loop_test(c, a_lock_of_any_name_is_acquired_awaited_and_released,
                        0, COUNT(odd));
    tcase_add_test(c, so_is_a_lock_of_the_longest_name);
    tcase_add_loop_test(c, name_with_keys_in_two_slots_is_refused_with_advice,
                        0, COUNT(two_slots));
    tcase_add_loop_test(c, a_force_release_wakes_waiters_of_a_cluster, 0,
                        COUNT(ways));
    tcase_add_loop_test(c, release_by_owner_wakes_waiters_of_a_cluster, 0, COUNT(ways));
    tcase_add_loop_test(c, released_permits_wake_a_waiter_by_message, 0,
                        COUNT(ways));
    tcase_add_test(c, releases_by_ask_at_once_share_a_message);
    tcase_add_loop_test(c, latch_that_opens_wakes_a_waiter_by_message, 0,
                        COUNT(latches));
    tcase_add_test(c, semaphore_with_keys_in_two_slots_is_refused_with_advice);
    tcase_add_loop_test(c, a_waiter_is_woken_after_a_failover, 0, 1);
}

static void add_cases(Suite *s)
{
    add_case(s, "waiting", false);
    add_case(s, "waiting, RESP2", true);
}

int main(void)
{
    return cluster_main("cluster, waiting", add_cases);
}
