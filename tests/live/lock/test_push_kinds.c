/* Losses that the server reports, for each kind of lock and each cause. Renewals are so rare
 * that no test waits for one, so each loss was reported by a push. */
#include "lock/election.h"
#include "lock/multi.h"
#include "lock/permits.h"
#include "lock/quorum.h"
#include "tests/live/test_cluster.h"
#include "tests/live/test_tracking.h"
#include "tests/support/one_server.h"

#define SERVERS 3

static struct hf_client *client, *other;
static struct server *servers[SERVERS];
static struct hf_client *clients[SERVERS];

static void start(void)
{
    start_server();
    client = client_by(server, TRACKING, NULL);
    other = client_by(server, TRACKING, NULL);
}

static void stop(void)
{
    hf_client_free(client);
    hf_client_free(other);
    stop_server();
}

static void await_checks(struct hf_client *of, uint64_t count)
{
    int64_t deadline_ms = local_now_ms() + AWAIT_MS;

    while (stats_of(of).push_checks < count) {
        ck_assert_msg(local_now_ms() < deadline_ms, "no push caused a check");
        local_poll_rest();
    }
}

static void await_renewal(void)
{
    int64_t deadline_ms = local_now_ms() + AWAIT_MS;

    while (stats_of(client).renewals == 0) {
        ck_assert_msg(local_now_ms() < deadline_ms, "no renewal came");
        local_poll_rest();
    }
}

/* After a switch a hold is not safe until the new node has replied. */
static void await_safe(struct hf_lock *lock)
{
    int64_t deadline_ms = local_now_ms() + AWAIT_MS;

    while (hf_lock_safe_ms(lock, 1) <= 0) {
        ck_assert_msg(local_now_ms() < deadline_ms, "the hold is not safe");
        local_poll_rest();
    }
}

/* ---- each kind, each cause ---- */

static const struct {
    enum hf_lock_kind kind;
    const char *name, *key;
} kinds[] = {
    {HF_KIND_PLAIN, "plain", "plain"},
    {HF_KIND_NONREENTRANT, "nonreentrant", "nonreentrant"},
    {HF_KIND_FENCED, "fenced", "fenced"},
    {HF_KIND_FAIR, "fair", "fair"},
    {HF_KIND_WRITE, "write", "write"},
    {HF_KIND_SPIN, "spin", "spin"},
    {HF_KIND_VALUE, "value", "value"},
    {HF_KIND_READ, "read", "read"},
    {HF_KIND_PERMIT, "permit", "{permit}:timeout"},
    {HF_KIND_PERMIT, "a{permit}", "a{permit}:timeout"},
};

#define KINDS ROWS(kinds)
#define IS_PERMIT(K) (kinds[K].kind == HF_KIND_PERMIT)

static struct hf_lock *locks[KINDS];
static struct diary diaries[KINDS];

static void hold_one(size_t k, int64_t owner, int64_t lease_ms)
{
    struct hf_acquire_options o = diary_options(&diaries[k], owner);
    bool was_set;

    locks[k] = lock_of_kind(client, kinds[k].kind, kinds[k].name);
    if (IS_PERMIT(k))
        ck_assert_ok(hf_permits_try_set(locks[k], 5, &was_set, NULL));
    o.lease_ms = lease_ms;
    ck_assert_ok(hf_lock_acquire(locks[k], &o, NULL));
}

/* A look at a read lock also reads the key of the hold. */
static void hold_all(int64_t lease_ms)
{
    for (size_t k = 0; k < KINDS; k++)
        hold_one(k, 1, lease_ms);
    await_tracked(server, KINDS + 1);
}

static void script(size_t k, const char *text)
{
    const char *answer = server_ask(server, "EVAL %s 1 %s", text, kinds[k].key);

    ck_assert_msg(!strstr(answer, "error"), "%s: %s", kinds[k].name, answer);
}

#define BUSY "for i = 1, 1e6 do end "
#define KEY "KEYS[1]"

static void by_del(size_t k)
{
    script(k, "redis.call('del', " KEY ")");
}

static void by_unlink(size_t k)
{
    script(k, "redis.call('unlink', " KEY ")");
}

static void by_set(size_t k)
{
    script(k, "redis.call('set', " KEY ", 'x')");
}

static void by_expiry(size_t k)
{
    script(k, "redis.call('pexpire', " KEY ", '1') " BUSY);
}

static void by_rename(size_t k)
{
    script(k, "redis.call('rename', " KEY ", " KEY " .. ':')");
}

static void by_another(size_t k)
{
    script(k, "redis.call('del', " KEY ") redis.call('hset', " KEY ", 'x', '1')");
}

static void by_flushall(size_t k)
{
    if (k == 0)
        (void)server_ask(server, "FLUSHALL");
}

static void by_flushdb(size_t k)
{
    if (k == 0)
        (void)server_ask(server, "FLUSHDB");
}

static void by_eviction(size_t k)
{
    if (k > 0)
        return;
    (void)server_ask(server, "CONFIG SET maxmemory-policy allkeys-random");
    (void)server_ask(server, "CONFIG SET maxmemory 1");
    server_await(server, AWAIT_MS, "0", "DBSIZE");
    (void)server_ask(server, "CONFIG SET maxmemory 0");
}

static void force(struct hf_client *by, size_t k)
{
    struct hf_lock *lock = lock_of_kind(by, kinds[k].kind, kinds[k].name);

    ck_assert_ok(hf_lock_force_release(lock, NULL, 0, NULL));
    hf_lock_free(lock);
}

static void by_force(size_t k)
{
    force(other, k);
}

static void by_own_force(size_t k)
{
    force(client, k);
}

static const struct {
    void (*lose)(size_t k);
    bool is_taken;              /* the key has another content */
} causes[] = {
    {by_del, false},      {by_unlink, false},   {by_set, true},
    {by_expiry, false},   {by_rename, false},   {by_another, true},
    {by_flushall, false}, {by_flushdb, false},  {by_eviction, false},
    {by_force, false},    {by_own_force, false},
};

static void ck_assert_all_lost(int cause)
{
    hold_all(cause % 2 ? WATCHDOG_MS : 0);
    for (size_t k = 0; k < KINDS; k++)
        causes[cause / 2].lose(k);
    for (size_t k = 0; k < KINDS; k++) {
        note_await(&diaries[k].note, &diaries[k].losses, 1, kinds[k].name);
        ck_assert_int_eq(diaries[k].reason, causes[cause / 2].is_taken && !IS_PERMIT(k)
                                                ? HF_REASON_TAKEN
                                                : HF_REASON_DELETED);
        hf_lock_free(locks[k]);
    }
    if (causes[cause / 2].lose != by_own_force)
        ck_assert_uint_eq(stats_of(client).push_losses, KINDS);
}

/* TRACK-2, TRACK-6: with and without a lease. */
START_TEST(track_2_each_cause_of_a_loss_is_reported_for_each_kind)
{
    ck_assert_all_lost(_i);
}
END_TEST

/* ---- several owners of one key ---- */

static const size_t shared[] = {7, 8};

/* TRACK-6: the release is a write of the client itself, and ends the tracking. */
START_TEST(track_6_key_is_tracked_after_another_owner_of_the_client_released)
{
    size_t k = shared[_i];

    hold_one(k, 2, 0);
    hold_one(k, 1, 0);
    await_tracked(server, IS_PERMIT(k) ? 1 : 3);
    ck_assert_ok(hf_lock_release(locks[k], 2, NULL));
    await_tracked(server, IS_PERMIT(k) ? 1 : 2);
    by_del(k);
    ck_assert_int_eq(diary_await_loss(&diaries[k]), HF_REASON_DELETED);
}
END_TEST

/* TRACK-5: two clients that hold it do not check each other's checks. */
START_TEST(track_5_check_of_a_shared_key_writes_nothing)
{
    size_t k = shared[_i];
    struct hf_lock *lock = lock_of_kind(other, kinds[k].kind, kinds[k].name);

    hold_one(k, 1, 0);
    acquire(lock, 1);
    await_tracked(server, IS_PERMIT(k) ? 2 : 4);
    for (uint64_t i = 0; i < 5; i++) {
        uint64_t checks = stats_of(client).push_checks;

        (void)server_ask(server, "PEXPIRE %s 900000", kinds[k].key);
        await_checks(client, checks + 1);
        await_tracked(server, IS_PERMIT(k) ? 2 : 4);
    }
    ck_assert_uint_eq(stats_of(client).renewals + stats_of(other).renewals, 0);
    ck_assert_int_eq(note_read(&diaries[k].note, &diaries[k].losses), 0);
    by_del(k);
    ck_assert_int_eq(diary_await_loss(&diaries[k]), HF_REASON_DELETED);
    hf_lock_free(lock);
}
END_TEST

/* TRACK-5: the pauses between checks double: 100 ms, 200 ms, ... */
START_TEST(track_5_storm_of_pushes_causes_ever_fewer_checks)
{
    size_t k = shared[_i];
    int64_t begin_ms, pauses = 1;
    uint64_t before, limit = 3;

    hold_one(k, 1, 0);
    await_tracked(server, IS_PERMIT(k) ? 1 : 2);
    before = stats_of(client).renewal_requests;
    begin_ms = local_now_ms();
    while (local_now_ms() < begin_ms + 1500)
        (void)server_ask(server, "PEXPIRE %s 900000", kinds[k].key);
    for (; pauses * 100 < local_now_ms() - begin_ms; pauses *= 2)
        limit++;
    ck_assert_uint_le(stats_of(client).renewal_requests - before, limit);
    by_del(k);
    ck_assert_int_eq(diary_await_loss(&diaries[k]), HF_REASON_DELETED);
}
END_TEST

/* LEASE-6: a look that finds a TTL that is too short causes a renewal. */
START_TEST(lease_6_shortened_ttl_of_a_shared_hold_is_renewed)
{
    size_t k = 7;

    hold_one(k, 1, 0);
    await_tracked(server, 2);
    (void)server_ask(server, "PEXPIRE %s 60000", kinds[k].key);
    await_renewal();
    ck_assert_int_gt(server_ask_int(server, "PTTL %s", kinds[k].key), 60000);
    ck_assert_int_eq(note_read(&diaries[k].note, &diaries[k].losses), 0);
}
END_TEST

/* ---- sets and elections ---- */

static void deposed(void *ctx, struct hf_election *election, enum hf_lost reason)
{
    (void)election;
    (void)reason;
    note_add(&((struct diary *)ctx)->note, &((struct diary *)ctx)->losses);
}

START_TEST(leader_is_deposed_by_a_push)
{
    struct diary diary;
    struct hf_election_options o = {.size = sizeof o, .on_deposed = deposed, .ctx = &diary};
    struct hf_election *election;

    (void)diary_options(&diary, 1);
    ck_assert_ok(hf_election_join(&election, lock_of(client, NAME), &o, NULL));
    await_tracked(server, 1);
    (void)server_ask(server, "DEL " NAME);
    note_await(&diary.note, &diary.losses, 1, "on_deposed");
    ck_assert_uint_eq(stats_of(client).push_losses, 1);
    (void)hf_election_leave(election, NULL);
}
END_TEST

START_TEST(multi_lock_reports_a_member_that_a_push_reported)
{
    struct diary diary;
    struct hf_acquire_options o = diary_options(&diary, 1);
    struct hf_multi *multi;

    locks[0] = lock_of(client, "first");
    locks[1] = lock_of_kind(client, HF_KIND_READ, "second");
    ck_assert_ok(hf_multi_new(&multi, locks, 2, NULL));
    ck_assert_ok(hf_multi_acquire(multi, &o, NULL));
    await_tracked(server, 3);
    (void)server_ask(server, "DEL second");
    ck_assert_int_eq(diary_await_loss(&diary), HF_REASON_DELETED);
    ck_assert_uint_eq(stats_of(client).push_losses, 1);
    (void)hf_multi_release(multi, 1, NULL);
    hf_multi_free(multi);
}
END_TEST

static void start_servers(void)
{
    for (int i = 0; i < SERVERS; i++) {
        servers[i] = server_start(NULL);
        clients[i] = client_by(servers[i], TRACKING, NULL);
    }
}

static void stop_servers(void)
{
    for (int i = 0; i < SERVERS; i++) {
        hf_client_free(clients[i]);
        server_stop(servers[i]);
    }
}

static const enum hf_lock_kind member_kinds[] = {HF_KIND_PLAIN, HF_KIND_READ, HF_KIND_VALUE};

START_TEST(quorum_is_lost_by_pushes_of_its_members)
{
    struct diary diary;
    struct hf_acquire_options o = diary_options(&diary, 1);
    struct hf_quorum *quorum;

    for (int i = 0; i < SERVERS; i++)
        locks[i] = lock_of_kind(clients[i], member_kinds[_i], NAME);
    ck_assert_ok(hf_quorum_new(&quorum, locks, SERVERS, NULL));
    ck_assert_ok(hf_quorum_acquire(quorum, &o, NULL));
    for (int i = 0; i < SERVERS; i++)
        await_tracked(servers[i], member_kinds[_i] == HF_KIND_READ ? 2 : 1);
    for (int i = 0; i < SERVERS - 1; i++)
        (void)server_ask(servers[i], "DEL " NAME);
    ck_assert_int_eq(diary_await_loss(&diary), HF_REASON_DELETED);
    ck_assert_uint_ge(stats_of(clients[0]).push_losses + stats_of(clients[1]).push_losses, 2);
    (void)hf_quorum_release(quorum, 1, NULL);
    hf_quorum_free(quorum);
}
END_TEST

/* ---- a cluster ---- */

static void start_cluster_client(void)
{
    struct hf_client_options o;
    char url[CLUSTER_URL_MAX];

    cluster_setup_test();
    hf_client_options_init(&o);
    o.url = cluster_url(url, "tracking=on");
    o.watchdog_ms = WATCHDOG_MS;
    client = client_with(&o);
}

/* TRACK-7: MIGRATE removes the key from its node, which reports it. The check finds it at the new
 * node, and tracks it there. */
START_TEST(key_that_moves_to_another_node_is_not_lost)
{
    const char *name = kinds[_i].key;
    int slot = slot_of(name), from = cluster_owner(cluster, slot), to = (from + 1) % MASTERS;

    hold_one((size_t)_i, 1, _i % 2 ? WATCHDOG_MS : 0);
    await_tracked(cluster_node(cluster, from), kinds[_i].kind == HF_KIND_READ ? 2 : 1);
    cluster_move_begin(cluster, slot, to);
    while (cluster_move_keys(cluster, slot, to, 10) > 0)
        continue;
    await_checks(client, 1);
    cluster_move_end(cluster, slot, to);
    await_tracked(cluster_node(cluster, to), kinds[_i].kind == HF_KIND_READ ? 2 : 1);
    ck_assert_int_eq(note_read(&diaries[_i].note, &diaries[_i].losses), 0);
    await_safe(locks[_i]);
    (void)server_ask(cluster_node(cluster, to), "DEL %s", name);
    ck_assert_int_eq(diary_await_loss(&diaries[_i]), HF_REASON_DELETED);
    ck_assert_uint_eq(stats_of(client).push_losses, 1);
    cluster_move(cluster, slot, from);
    hf_client_free(client);
}
END_TEST

static void add(Suite *suite)
{
    TCase *c = live_case(suite, "kinds and causes", start, stop);

    tcase_add_loop_test(c, track_2_each_cause_of_a_loss_is_reported_for_each_kind, 0,
                        2 * ROWS(causes));
    c = live_case(suite, "shared", start, stop);
    tcase_add_loop_test(c, track_6_key_is_tracked_after_another_owner_of_the_client_released,
                        0, ROWS(shared));
    tcase_add_loop_test(c, track_5_check_of_a_shared_key_writes_nothing, 0, ROWS(shared));
    tcase_add_loop_test(c, track_5_storm_of_pushes_causes_ever_fewer_checks, 0,
                        ROWS(shared));
    tcase_add_test(c, lease_6_shortened_ttl_of_a_shared_hold_is_renewed);
    c = live_case(suite, "sets", start, stop);
    tcase_add_test(c, leader_is_deposed_by_a_push);
    tcase_add_test(c, multi_lock_reports_a_member_that_a_push_reported);
    c = live_case(suite, "quorum", start_servers, stop_servers);
    tcase_add_loop_test(c, quorum_is_lost_by_pushes_of_its_members, 0, ROWS(member_kinds));
    c = cluster_case(suite, "cluster", false);
    tcase_add_checked_fixture(c, start_cluster_client, NULL);
    tcase_add_loop_test(c, key_that_moves_to_another_node_is_not_lost, 0, ROWS(kinds));
}

int main(void)
{
    return cluster_main("lock/push of kinds", add);
}
