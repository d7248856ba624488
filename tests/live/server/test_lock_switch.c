/* A server at a plain address changes its role: it becomes a replica, and a master
 * again. Whatever a client holds there is renewed, or looked at, at once. */
#include "tests/live/test_lock.h"

#define WATCHDOG 60000          /* the next renewal is 15 s away at least */
#define AT_ONCE_MS 4000         /* a 48th of that, twice; a loaded machine */
#define MANY 20000
#define OUTPUT_LEAST (192u << 10)
#define QUEUE_MAX (448u << 10) /* what that counts as (lock/connect.h); names and
                                  owners of MANY are four times that */

static struct server *server_, *other;
static struct hf_client *client;

static void start(void)
{
    static const char *const at_once[] = {"--repl-diskless-sync-delay", "0", NULL};

    server_ = server_start(at_once);
    other = server_start(at_once);
    ck_assert_ptr_nonnull(server_);
    ck_assert_ptr_nonnull(other);
}

static void stop(void)
{
    hf_client_free(client);
    server_stop(server_);
    server_stop(other);
}

static void open_client(void)
{
    struct hf_client_options o;
    char url[SERVER_URL_MAX];

    client_options(&o, url, server_port(server_));
    o.watchdog_ms = WATCHDOG;
    o.output_max = OUTPUT_LEAST;
    client = client_with(&o);
}

static void demote(void)
{
    ck_assert_str_eq(server_ask(server_, "REPLICAOF 127.0.0.1 %d",
                                server_port(other)), "OK");
    server_await(server_, AWAIT_MS, "up", "EVAL %s 0",
                 "return redis.call('info','replication'):match"
                 "('master_link_status:(%a+)')");
}

static void promote(void)
{
    ck_assert_str_eq(server_ask(server_, "REPLICAOF NO ONE"), "OK");
}

/* What shows the client that the server is a replica. */
static void meet_replica(void)
{
    struct hf_lock *lock = lock_of(client, "asked for");
    struct hf_error err;

    ck_assert_status(try_acquire(lock, 1, &err), HF_E_SERVER);
    ck_assert_ptr_nonnull(strstr(err.text, "READONLY"));
    hf_lock_free(lock);
}

static struct hf_lock *held(int i, struct diary *d, int64_t lease_ms)
{
    struct hf_acquire_options o = diary_options(d, 1);
    struct hf_lock *lock;
    char name[40];

    (void)snprintf(name, sizeof name, "held:%d:%lld", i, (long long)lease_ms);
    ck_assert_ok(hf_lock_new_kind(&lock, client, lock_kinds[i], name, strlen(name),
                                  NULL));
    o.lease_ms = lease_ms;
    ck_assert_ok(hf_lock_acquire(lock, &o, NULL));
    return lock;
}

/* SWITCH-1: The other server has no data, so the replica forgets its own. */
START_TEST(holds_that_a_resync_deleted_are_lost_at_once)
{
    struct diary renewed[COUNT(lock_kinds)], leased[COUNT(lock_kinds)];
    struct hf_lock *locks[2 * COUNT(lock_kinds)];
    int64_t since_ms;

    open_client();
    for (size_t i = 0; i < COUNT(lock_kinds); i++) {
        locks[2 * i] = held((int)i, &renewed[i], 0);
        locks[2 * i + 1] = held((int)i, &leased[i], 4 * WATCHDOG);
    }
    demote();
    meet_replica();
    promote();
    since_ms = local_now_ms();
    for (size_t i = 0; i < COUNT(lock_kinds); i++) {
        ck_assert_int_eq(diary_await_loss(&renewed[i]), HF_REASON_DELETED);
        ck_assert_int_eq(diary_await_loss(&leased[i]), HF_REASON_DELETED);
        ck_assert_int_lt(renewed[i].lost_ms - since_ms, AT_ONCE_MS);
        ck_assert_int_lt(leased[i].lost_ms - since_ms, AT_ONCE_MS);
    }
    for (size_t i = 0; i < COUNT(locks); i++)
        hf_lock_free(locks[i]);
}
END_TEST

/* The other server has the data. */
START_TEST(holds_that_a_resync_kept_are_safe)
{
    struct diary renewed[COUNT(lock_kinds)], leased[COUNT(lock_kinds)];
    struct hf_lock *locks[2 * COUNT(lock_kinds)];
    int64_t end_ms;

    (void)server_ask(other, "REPLICAOF 127.0.0.1 %d", server_port(server_));
    open_client();
    for (size_t i = 0; i < COUNT(lock_kinds); i++) {
        locks[2 * i] = held((int)i, &renewed[i], 0);
        locks[2 * i + 1] = held((int)i, &leased[i], 4 * WATCHDOG);
    }
    (void)server_ask(server_, "SET last 1");
    server_await(other, LONG_MS, "1", "GET last");
    (void)server_ask(other, "REPLICAOF NO ONE");
    demote();
    meet_replica();
    promote();
    end_ms = local_now_ms() + AT_ONCE_MS;
    for (size_t i = 0; i < COUNT(locks); i++) {
        while (hf_lock_safe_ms(locks[i], 1) < WATCHDOG / 2) {
            ck_assert_int_lt(local_now_ms(), end_ms);
            local_poll_rest();
        }
        release(locks[i], 1);
        hf_lock_free(locks[i]);
    }
    for (size_t i = 0; i < COUNT(lock_kinds); i++) {
        ck_assert_int_eq(note_read(&renewed[i].note, &renewed[i].losses), 0);
        ck_assert_int_eq(note_read(&leased[i].note, &leased[i].losses), 0);
    }
}
END_TEST

/* SWITCH-2 */
START_TEST(many_holds_are_renewed_without_a_burst)
{
    struct hf_client_stats stats;
    int64_t end_ms;

    open_client();
    for (int i = 0; i < MANY; i++) {
        char name[60];
        struct hf_lock *lock;

        (void)snprintf(name, sizeof name, "a lock with a name of forty bytes:%05d",
                       i);
        lock = lock_of(client, name);
        acquire(lock, 1);
        hf_lock_free(lock);
    }
    (void)server_ask(server_, "REPLICAOF 127.0.0.1 1"); /* there is no such master */
    meet_replica();
    promote();
    end_ms = local_now_ms() + 5 * AT_ONCE_MS;
    do {
        ck_assert_int_lt(local_now_ms(), end_ms);
        local_rest_us(10000);
        hf_client_get_stats(client, &stats);
        ck_assert_uint_le(stats.link.queued_bytes, QUEUE_MAX);
    } while (stats.renewals < MANY);
    ck_assert_uint_eq(stats.holds, MANY);
}
END_TEST

static void add(Suite *suite)
{
    TCase *c = live_case(suite, "role", start, stop);

    tcase_add_test(c, holds_that_a_resync_deleted_are_lost_at_once);
    tcase_add_test(c, holds_that_a_resync_kept_are_safe);
    tcase_add_test(c, many_holds_are_renewed_without_a_burst);
}

int main(void)
{
    return live_main("locks of a server whose role changes", add);
}
