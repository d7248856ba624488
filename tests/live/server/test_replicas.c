/* A master and its replicas, without sentinels, by redis://a,b,c: what is held and waited
 * for outlasts a switch that an operator makes with REPLICAOF. Rules:
 * net/route/topology_replicas.c. */
#include <hiredis/hiredis.h>

#include "tests/live/test_candidate.h"

#define ANOTHER "6e3814a1-e847-452b-a982-45baf93a1df2:1"
#define WATCHDOG 6000
#define SERVERS 3
#define URL_ROOM 200

static struct server *one, *two, *three;
static struct hf_client *client;
static char url[URL_ROOM];

/* ---- servers ---- */

static void follow(struct server *replica, struct server *master)
{
    ck_assert_str_eq(server_ask(replica, "REPLICAOF 127.0.0.1 %d", server_port(master)),
                     "OK");
}

static void await_replica(struct server *replica, struct server *master)
{
    server_await(replica, AWAIT_MS, "up", "EVAL %s 0",
                 "return redis.call('info','replication'):match"
                 "('master_link_status:(%a+)')");
    (void)server_ask(master, "INCR last");
    server_await(replica, LONG_MS, server_ask(master, "GET last"), "GET last");
}

/* `two` becomes the master. The connections to `one` stay open. */
static void switch_over(void)
{
    await_replica(two, one);
    ck_assert_str_eq(server_ask(two, "REPLICAOF NO ONE"), "OK");
    follow(one, two);
    follow(three, two);
}

static void url_of(char *dst, struct server *a, struct server *b, struct server *c)
{
    (void)snprintf(dst, URL_ROOM, "redis://127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d",
                   server_port(a), server_port(b), server_port(c));
}

static struct hf_client_options options_of(const char *where)
{
    struct hf_client_options o;

    hf_client_options_init(&o);
    o.url = where;
    o.watchdog_ms = WATCHDOG;
    o.request_timeout_ms = LONG_MS;
    return o;
}

static void start(void)
{
    static const char *const at_once[] = {"--repl-diskless-sync-delay", "0", NULL};
    struct hf_client_options o;

    one = server_start(at_once);
    two = server_start(at_once);
    three = server_start(at_once);
    follow(two, one);
    follow(three, one);
    await_replica(two, one);
    await_replica(three, one);
    url_of(url, two, one, three);
    o = options_of(url);
    client = client_with(&o);
}

static void stop(void)
{
    hf_client_free(client);
    server_stop(one);
    server_stop(two);
    server_stop(three);
}

/* ---- locks ---- */

static void let_another_hold(int ttl_ms)
{
    (void)server_ask(one, "HSET " NAME " " ANOTHER " 1");
    (void)server_ask(one, "PEXPIRE " NAME " %d", ttl_ms);
}

/* ---- a switch ---- */

START_TEST(a_hold_is_renewed_at_the_new_master_and_released_there)
{
    struct diary d;
    struct hf_acquire_options o = diary_options(&d, 1);
    struct hf_lock *lock = lock_of_kind(client, lock_kinds[_i], NAME);

    ck_assert_ok(hf_lock_acquire(lock, &o, NULL));
    ck_assert_str_eq(server_ask(one, "EXISTS " NAME), "1");
    switch_over();
    await_next_renewal(client);
    ck_assert_int_gt(hf_lock_safe_ms(lock, 1), 0);
    ck_assert_int_eq(note_read(&d.note, &d.losses), 0);
    ck_assert_int_ge(server_ask_int(two, "PTTL " NAME), 1);
    release(lock, 1);
    ck_assert_str_eq(server_ask(two, "EXISTS " NAME), "0");
    hf_lock_free(lock);
}
END_TEST

/* The server's own switch; a server before 6.2 has none. */
START_TEST(a_hold_outlasts_failover)
{
    struct diary d;
    struct hf_acquire_options o = diary_options(&d, 1);
    struct hf_lock *lock = lock_of_kind(client, HF_KIND_PLAIN, NAME);
    const char *said;

    ck_assert_ok(hf_lock_acquire(lock, &o, NULL));
    said = server_ask(one, "FAILOVER TO 127.0.0.1 %d", server_port(two));
    if (strcmp(said, "OK") != 0)
        ck_assert_ptr_nonnull(strstr(said, "unknown command"));
    else
        server_await(two, AWAIT_MS, "master", "EVAL %s 0",
                     "return redis.call('info','replication'):match('role:(%a+)')");
    await_next_renewal(client);
    ck_assert_int_eq(note_read(&d.note, &d.losses), 0);
    release(lock, 1);
    server_await(two, LONG_MS, "0", "EXISTS " NAME);
    hf_lock_free(lock);
}
END_TEST

/* FAILOVER pauses all writes until the replica has all data; it is stopped for a while. A request
 * that is paused is refused when the master has become a replica. */
START_TEST(calls_outlast_a_failover_that_pauses_writes)
{
    struct diary d;
    struct hf_acquire_options o = diary_options(&d, 1), waits = acquire_options(2);
    struct hf_lock *held = lock_of_kind(client, HF_KIND_PLAIN, "held");
    struct hf_lock *lock = lock_of_kind(client, HF_KIND_PLAIN, NAME);
    uint64_t connects;
    struct call call;
    const char *said;

    ck_assert_ok(hf_lock_acquire(held, &o, NULL));
    await_replica(two, one);
    server_pause(two);
    (void)server_ask(one, "SET late 1");
    said = server_ask(one, "FAILOVER TO 127.0.0.1 %d TIMEOUT 60000", server_port(two));
    if (strcmp(said, "OK") != 0) { /* before 6.2 */
        ck_assert_ptr_nonnull(strstr(said, "unknown command"));
        server_resume(two);
        return;
    }
    waits.wait_ms = LONG_MS;
    connects = stats_of(client).link.connects;
    call_acquire(&call, lock, &waits);
    while (stats_of(client).link.connects == connects) /* a silent connection gets a rival */
        local_poll_rest();
    server_resume(two);
    ck_assert_status(call_await(&call), HF_OK);
    ck_assert_holder(two, lock, 2, 1);
    await_next_renewal(client);
    ck_assert_int_eq(note_read(&d.note, &d.losses), 0);
    release(held, 1);
    release(lock, 2);
    hf_lock_free(held);
    hf_lock_free(lock);
}
END_TEST

/* Before any command has met the replica, and after. */
START_TEST(an_acquire_succeeds_at_the_new_master)
{
    struct hf_lock *lock = lock_of_kind(client, lock_kinds[_i], NAME);

    acquire(lock, 1);
    release(lock, 1);
    switch_over();
    ck_assert_ok(try_acquire(lock, 1, NULL));
    ck_assert_str_eq(server_ask(two, "EXISTS " NAME), "1");
    release(lock, 1);
    ck_assert_str_eq(server_ask(two, "EXISTS " NAME), "0");
    hf_lock_free(lock);
}
END_TEST

START_TEST(a_release_frees_the_lock_at_the_new_master)
{
    struct hf_lock *lock = lock_of_kind(client, lock_kinds[_i], NAME);

    acquire(lock, 1);
    switch_over();
    release(lock, 1);
    ck_assert_str_eq(server_ask(two, "EXISTS " NAME), "0");
    hf_lock_free(lock);
}
END_TEST

/* Its subscription is at the demoted server until the roles are asked again. Row 0: the
 * lock is released; row 1: its TTL ends, and RESP2 is used. */
START_TEST(a_waiter_is_served_by_the_new_master)
{
    struct hf_acquire_options o = acquire_options(1);
    struct hf_client_options options = options_of(url);
    struct hf_client *waiting;
    struct hf_lock *lock;
    struct call call;

    options.protocol = _i ? 2 : 3;
    waiting = client_with(&options);
    lock = lock_of(waiting, NAME);
    let_another_hold(_i ? 3000 : 60000);
    call_acquire(&call, lock, &o);
    await_subscribers(one, CHANNEL, 1);
    switch_over();
    if (_i == 0) {
        (void)server_ask(two, "DEL " NAME);
        (void)server_ask(two, "PUBLISH " CHANNEL " 0");
    }
    ck_assert_status(call_await(&call), HF_OK);
    ck_assert_holder(two, lock, 1, 1);
    release(lock, 1);
    hf_lock_free(lock);
    hf_client_free(waiting);
}
END_TEST

/* `one` neither fails nor closes a connection: what asks for nothing moves, too. */
START_TEST(a_subscription_leaves_the_demoted_server)
{
    struct hf_acquire_options o = acquire_options(1);
    struct hf_lock *lock = lock_of_kind(client, HF_KIND_PLAIN, NAME);
    struct call call;

    let_another_hold(60000);
    call_acquire(&call, lock, &o);
    await_subscribers(one, CHANNEL, 1);
    switch_over();
    await_subscribers(two, CHANNEL, 1);
    (void)server_ask(two, "DEL " NAME);
    (void)server_ask(two, "PUBLISH " CHANNEL " 0");
    ck_assert_status(call_await(&call), HF_OK);
    release(lock, 1);
    hf_lock_free(lock);
}
END_TEST

START_TEST(a_candidate_is_elected_at_the_new_master)
{
    struct hf_lock *lock = lock_of_kind(client, HF_KIND_PLAIN, NAME);
    struct hf_election *election;
    struct candidate c;

    let_another_hold(3000);
    election = candidate_join(&c, lock);
    await_subscribers(one, CHANNEL, 1);
    switch_over();
    note_await(&c.note, &c.elected, 1, "the election");
    ck_assert_int_eq(note_read(&c.note, &c.troubles), 0);
    ck_assert_str_eq(server_ask(two, "HLEN " NAME), "1");
    ck_assert_ok(hf_election_leave(election, NULL));
    hf_lock_free(lock);
}
END_TEST

/* The demoted server has lost its new master, and does not serve old data: it refuses the
 * script before it has written anything. */
START_TEST(a_replica_without_its_master_is_left)
{
    struct hf_lock *lock = lock_of_kind(client, HF_KIND_PLAIN, NAME);

    acquire(lock, 1);
    release(lock, 1);
    await_replica(two, one);
    ck_assert_str_eq(server_ask(one, "CONFIG SET replica-serve-stale-data no"), "OK");
    ck_assert_str_eq(server_ask(two, "REPLICAOF NO ONE"), "OK");
    ck_assert_str_eq(server_ask(one, "REPLICAOF 127.0.0.1 1"), "OK");
    ck_assert_ok(try_acquire(lock, 1, NULL));
    ck_assert_ptr_nonnull(strstr(server_ask(one, "INFO errorstats"), "MASTERDOWN"));
    ck_assert_holder(two, lock, 1, 1);
    release(lock, 1);
    hf_lock_free(lock);
}
END_TEST

/* ---- a server that loads for longer than a call waits ---- */

/* 20,000 keys with a delay each: 30 s, more than LONG_MS. A server before 7 replies to
 * nothing while it loads so few: then false. */
static bool load(struct server *s, struct redisContext **c)
{
    if (strcmp(server_ask(s, "CONFIG SET loading-process-events-interval-bytes 1024"),
               "OK") != 0)
        return false;
    (void)server_ask(s, "DEBUG POPULATE 20000 filler 100");
    (void)server_ask(s, "CONFIG SET key-load-delay 1500");
    *c = server_connect(s);
    ck_assert_int_eq(redisAppendCommand(*c, "DEBUG RELOAD"), REDIS_OK);
    for (int is_sent = 0; !is_sent;)
        ck_assert_int_eq(redisBufferWrite(*c, &is_sent), REDIS_OK);
    while (!strstr(server_ask(s, "PING"), "LOADING"))
        local_poll_rest();
    return true;
}

static void end_load(struct server *s, struct redisContext *c)
{
    (void)server_ask(s, "CONFIG SET key-load-delay 0");
    server_await(s, AWAIT_MS, "PONG", "PING");
    redisFree(c);
}

/* Row 0: a replica loads. Row 1: the master, and a replica is promoted; the client is
 * connected to the old one. Row 2: the same, and the client comes later. */
START_TEST(a_host_that_loads_is_not_waited_for)
{
    struct server *loading = _i ? one : two, *good = _i ? two : one;
    struct hf_client_options o = options_of(url);
    struct hf_client *late;
    struct redisContext *c;
    struct hf_lock *lock;

    acquire(lock = lock_of_kind(client, HF_KIND_PLAIN, NAME), 1);
    release(lock, 1);
    await_replica(two, one);
    if (!load(loading, &c)) {
        hf_lock_free(lock);
        return;
    }
    if (_i)
        ck_assert_str_eq(server_ask(two, "REPLICAOF NO ONE"), "OK");
    late = client_with(&o);
    if (_i != 1) {
        hf_lock_free(lock);
        lock = lock_of(late, NAME);
    }
    ck_assert_ok(try_acquire(lock, 1, NULL));
    ck_assert_ptr_nonnull(strstr(server_ask(loading, "PING"), "LOADING"));
    ck_assert_holder(good, lock, 1, 1);
    release(lock, 1);
    end_load(loading, c);
    hf_lock_free(lock);
    hf_client_free(late);
}
END_TEST

/* No other host is a master. */
START_TEST(a_loading_master_is_reported_after_the_deadline)
{
    struct hf_client_options o = options_of(url);
    struct hf_client *hasty;
    struct redisContext *c;
    struct hf_lock *lock;
    struct hf_error err;

    if (!load(one, &c))
        return;
    o.request_timeout_ms = 2000;
    hasty = client_with(&o);
    lock = lock_of(hasty, NAME);
    ck_assert_status(try_acquire(lock, 1, &err), HF_E_SERVER);
    ck_assert_msg(strstr(err.text, "LOADING") != NULL, "%s", err.text);
    ck_assert_msg(strstr(err.text, "is loading its data") != NULL, "%s", err.text);
    ck_assert(err.is_temporary);
    end_load(one, c);
    ck_assert_ok(try_acquire(lock, 1, NULL));
    release(lock, 1);
    hf_lock_free(lock);
    hf_client_free(hasty);
}
END_TEST

/* ---- a master that fails ---- */

/* The hold and a call that begins meanwhile. Row 1: the master is stopped, not dead, and
 * executes what it has received when it goes on. */
START_TEST(a_failed_master_is_followed_by_the_promoted_replica)
{
    struct diary d;
    struct hf_acquire_options o = diary_options(&d, 1);
    struct hf_acquire_options wait = acquire_options(1);
    struct hf_lock *lock = lock_of_kind(client, HF_KIND_PLAIN, NAME);
    struct hf_lock *fresh = lock_of(client, "fresh");
    struct call call;

    ck_assert_ok(hf_lock_acquire(lock, &o, NULL));
    await_replica(two, one);
    if (_i == 0)
        server_kill(one);
    else
        server_pause(one);
    call_acquire(&call, fresh, &wait);
    ck_assert_str_eq(server_ask(two, "REPLICAOF NO ONE"), "OK");
    follow(three, two);
    ck_assert_status(call_await(&call), HF_OK);
    ck_assert_holder(two, fresh, 1, 1);
    await_next_renewal(client);
    if (_i == 1)
        server_resume(one);
    await_next_renewal(client);
    ck_assert_int_eq(note_read(&d.note, &d.losses), 0);
    release(lock, 1);
    release(fresh, 1);
    ck_assert_str_eq(server_ask(two, "EXISTS " NAME " fresh"), "0");
    hf_lock_free(lock);
    hf_lock_free(fresh);
}
END_TEST

#define SHORT_WATCHDOG 3000

/* REPLICAS-2: the hold is alone in its client, which finds the promoted server by the roles.
 * That server is used although the master has not replied. */
START_TEST(a_short_hold_outlasts_a_suspended_master)
{
    struct hf_client_options options = options_of(url);
    struct diary d;
    struct hf_acquire_options o = diary_options(&d, 1);
    struct hf_client *brief;
    struct hf_lock *lock;

    options.watchdog_ms = SHORT_WATCHDOG;
    options.replicas = 1;
    brief = client_with(&options);
    lock = lock_of(brief, NAME);
    ck_assert_ok(hf_lock_acquire(lock, &o, NULL));
    await_next_renewal(brief);
    await_replica(two, one);
    server_pause(one);
    ck_assert_str_eq(server_ask(two, "REPLICAOF NO ONE"), "OK");
    follow(three, two);
    await_next_renewal(brief);
    ck_assert_int_eq(note_read(&d.note, &d.losses), 0);
    server_resume(one);
    release(lock, 1);
    ck_assert_str_eq(server_ask(two, "EXISTS " NAME), "0");
    hf_lock_free(lock);
    hf_client_free(brief);
}
END_TEST

/* ---- two masters ---- */

struct log {
    struct note note;
    int twos;
    char text[HF_ERROR_TEXT_MAX];
};

static void take_line(void *ctx, enum hf_log_level level, const char *line)
{
    struct log *log = ctx;

    (void)level;
    if (!strstr(line, "two masters"))
        return;
    (void)snprintf(log->text, sizeof log->text, "%s", line);
    note_add(&log->note, &log->twos);
}

/* The old master replies as before, and the client asks for nothing but renewals: it
 * queries the roles while it holds a lock (REPLICAS-1). */
START_TEST(a_hold_leaves_an_old_master_that_still_replies)
{
    struct diary d;
    struct hf_acquire_options o = diary_options(&d, 1);
    struct hf_lock *lock = lock_of_kind(client, HF_KIND_PLAIN, NAME);

    ck_assert_ok(hf_lock_acquire(lock, &o, NULL));
    await_replica(two, one);
    ck_assert_str_eq(server_ask(two, "REPLICAOF NO ONE"), "OK");
    while (script_calls(two) == 0)
        local_poll_rest();
    await_next_renewal(client);
    ck_assert_int_eq(note_read(&d.note, &d.losses), 0);
    release(lock, 1);
    ck_assert_str_eq(server_ask(two, "EXISTS " NAME), "0");
    hf_lock_free(lock);
}
END_TEST

/* The client neither holds nor listens. Row 0: calls that do not wait; row 1: a waiter that
 * polls. */
START_TEST(calls_leave_an_old_master_that_still_replies)
{
    struct hf_lock *lock = lock_of_kind(client, _i ? HF_KIND_SPIN : HF_KIND_PLAIN, NAME);
    struct hf_acquire_options o = acquire_options(1);
    int64_t end_ms = local_now_ms() + AWAIT_MS;
    struct call call;

    let_another_hold(60000);
    await_replica(two, one);
    ck_assert_status(try_acquire(lock, 1, NULL), HF_TIMEOUT);
    if (_i)
        call_acquire(&call, lock, &o);
    ck_assert_str_eq(server_ask(two, "REPLICAOF NO ONE"), "OK");
    (void)server_ask(two, "DEL " NAME);
    while (!_i && try_acquire(lock, 1, NULL) != HF_OK) {
        ck_assert_int_lt(local_now_ms(), end_ms);
        local_rest_us(10000);
    }
    if (_i)
        ck_assert_status(call_await(&call), HF_OK);
    ck_assert_holder(two, lock, 1, 1);
    release(lock, 1);
    hf_lock_free(lock);
}
END_TEST

/* The client has seen both as masters. */
START_TEST(a_reverted_promotion_is_followed)
{
    struct hf_lock *lock = lock_of_kind(client, HF_KIND_PLAIN, NAME);

    acquire(lock, 1);
    release(lock, 1);
    switch_over();
    acquire(lock, 1);
    ck_assert_holder(two, lock, 1, 1);
    await_replica(one, two);
    ck_assert_str_eq(server_ask(one, "REPLICAOF NO ONE"), "OK");
    follow(two, one);
    follow(three, one);
    release(lock, 1);
    ck_assert_str_eq(server_ask(one, "EXISTS " NAME), "0");
    acquire(lock, 1);
    ck_assert_holder(one, lock, 1, 1);
    release(lock, 1);
    hf_lock_free(lock);
}
END_TEST

/* A replica is promoted by mistake, and is a replica again, while the master stays. */
START_TEST(a_promotion_by_mistake_does_not_exclude_the_master)
{
    struct diary d;
    struct hf_acquire_options o = diary_options(&d, 1);
    struct hf_lock *lock = lock_of_kind(client, HF_KIND_PLAIN, NAME);
    struct hf_lock *other = lock_of(client, "other");

    ck_assert_ok(hf_lock_acquire(lock, &o, NULL));
    await_replica(two, one);
    ck_assert_str_eq(server_ask(two, "REPLICAOF NO ONE"), "OK");
    while (script_calls(two) == 0)
        local_poll_rest();
    follow(two, one);
    acquire(other, 1);
    ck_assert_holder(one, other, 1, 1);
    release(other, 1);
    (void)hf_lock_release(lock, 1, NULL);
    hf_lock_free(lock);
    hf_lock_free(other);
}
END_TEST

/* The old master returns: it has other data, or is alive and has executed more since.
 * Whatever the order in the URL, the one that was promoted is used, and the other one is
 * told. */
static void write_much(struct server *to)
{
    for (int i = 0; i < 100; i++)
        ck_assert_str_eq(server_ask(to, "SET more %d", i), "OK");
}

START_TEST(of_two_masters_the_promoted_one_is_used)
{
    struct log log = {.twos = 0};
    struct hf_client_options o;
    struct hf_client *fresh;
    struct hf_lock *lock;
    char where[URL_ROOM], said[100];

    note_init(&log.note);
    if (_i < 2) {
        write_much(one);
        ck_assert_int_eq(server_ask_int(one, "WAIT 2 %d", LONG_MS), 2);
        server_kill(one);
    }
    ck_assert_str_eq(server_ask(two, "REPLICAOF NO ONE"), "OK");
    (void)server_ask(two, "SET more 1");
    if (_i < 2)
        server_restart(one);
    else
        write_much(one);
    url_of(where, _i % 2 ? one : two, _i % 2 ? two : one, three);
    o = options_of(where);
    o.log = take_line;
    o.log_ctx = &log;
    fresh = client_with(&o);
    lock = lock_of(fresh, NAME);
    acquire(lock, 1);
    ck_assert_holder(two, lock, 1, 1);
    ck_assert_str_eq(server_ask(one, "EXISTS " NAME), "0");
    note_await(&log.note, &log.twos, 1, "the warning");
    (void)snprintf(said, sizeof said, "two masters: 127.0.0.1:%d (", server_port(two));
    ck_assert_msg(strstr(log.text, said) != NULL, "%s", log.text);
    release(lock, 1);
    hf_lock_free(lock);
    hf_client_free(fresh);
}
END_TEST

static long long role_calls(struct server *s)
{
    const char *stats = server_ask(s, "INFO commandstats");
    const char *role = strstr(stats, "cmdstat_role:calls=");

    return role ? atoll(strchr(role, '=') + 1) : 0;
}

/* REPLICAS-4: the old master restarted, with another id, and the promoted one is silent. */
START_TEST(a_restarted_master_is_not_used_while_the_promoted_one_is_silent)
{
    struct hf_client_options o = options_of(url);
    struct hf_acquire_options wait = acquire_options(1);
    struct hf_client *fresh;
    struct hf_lock *lock;
    struct call call;
    long long rounds;

    server_kill(one);
    ck_assert_str_eq(server_ask(two, "REPLICAOF NO ONE"), "OK");
    (void)server_ask(two, "SET more 1");
    server_restart(one);
    o.request_timeout_ms = 6 * LONG_MS; /* the rounds below take half of LONG_MS */
    fresh = client_with(&o);
    lock = lock_of(fresh, NAME);
    acquire(lock, 1);
    ck_assert_holder(two, lock, 1, 1);
    release(lock, 1);
    server_pause(two);
    call_acquire(&call, lock, &wait);
    for (rounds = role_calls(one) + 12; role_calls(one) < rounds;)
        local_rest_us(10000);
    ck_assert_str_eq(server_ask(one, "EXISTS " NAME), "0");
    server_resume(two);
    ck_assert_status(call_await(&call), HF_OK);
    ck_assert_holder(two, lock, 1, 1);
    release(lock, 1);
    hf_lock_free(lock);
    hf_client_free(fresh);
}
END_TEST

/* ---- no master, and options ---- */

/* In row 1, the replicas refuse all that asks for data (MASTERDOWN). */
START_TEST(hosts_without_a_master_are_reported_with_their_replies)
{
    struct hf_client_options o = options_of(url);
    struct hf_client *hasty;
    struct hf_error err;
    struct hf_lock *lock;
    char said[100];

    (void)server_ask(two, "CONFIG SET replica-serve-stale-data %s", _i ? "no" : "yes");
    (void)server_ask(three, "CONFIG SET replica-serve-stale-data %s", _i ? "no" : "yes");
    server_kill(one);
    o.request_timeout_ms = 2000;
    hasty = client_with(&o);
    lock = lock_of(hasty, NAME);
    ck_assert_status(try_acquire(lock, 1, &err), HF_E_CONNECT);
    ck_assert_msg(strstr(err.text, "found no master: ") != NULL, "%s", err.text);
    (void)snprintf(said, sizeof said, "127.0.0.1:%d is a replica of 127.0.0.1:%d;",
                   server_port(two), server_port(one));
    ck_assert_msg(strstr(err.text, said) != NULL, "%s", err.text);
    (void)snprintf(said, sizeof said, "127.0.0.1:%d: cannot connect", server_port(one));
    ck_assert_msg(strstr(err.text, said) != NULL, "%s", err.text);
    hf_lock_free(lock);
    hf_client_free(hasty);
}
END_TEST

/* Replicas confirm the lock, before the switch and after it. */
START_TEST(replicas_confirm_a_lock)
{
    struct hf_client_options o = options_of(url);
    struct hf_client *replicated;
    struct hf_lock *lock;

    o.replicas = _i ? HF_REPLICAS_ALL : 2;
    replicated = client_with(&o);
    lock = lock_of(replicated, NAME);
    acquire(lock, 1);
    ck_assert_str_eq(server_ask(two, "EXISTS " NAME), "1");
    ck_assert_str_eq(server_ask(three, "EXISTS " NAME), "1");
    switch_over();
    await_replica(one, two);
    await_replica(three, two);
    release(lock, 1);
    acquire(lock, 1);
    ck_assert_str_eq(server_ask(one, "EXISTS " NAME), "1");
    release(lock, 1);
    hf_lock_free(lock);
    hf_client_free(replicated);
}
END_TEST

/* A user, a password, a database and a user that may not run INFO. */
START_TEST(login_and_database_are_those_of_the_url)
{
    struct server *all[SERVERS] = {one, two, three};
    struct hf_client_options o;
    struct hf_client *other;
    struct hf_lock *lock;
    char where[URL_ROOM];

    for (int i = 0; i < SERVERS; i++)
        (void)server_ask(all[i], "ACL SETUSER me on >pw ~* &* +@all -info");
    (void)snprintf(where, sizeof where,
                   "redis://me:pw@127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d/3",
                   server_port(three), server_port(two), server_port(one));
    o = options_of(where);
    other = client_with(&o);
    lock = lock_of(other, NAME);
    acquire(lock, 1);
    ck_assert_str_eq(server_ask(one, "EXISTS " NAME), "0");
    ck_assert_str_eq(server_ask(one, "EVAL %s 0",
                                "redis.call('select', 3) return redis.call('dbsize')"),
                     "1");
    switch_over();
    release(lock, 1);
    ck_assert_str_eq(server_ask(two, "EVAL %s 0",
                                "redis.call('select', 3) return redis.call('dbsize')"),
                     "0");
    hf_lock_free(lock);
    hf_client_free(other);
}
END_TEST

static void add(Suite *suite)
{
    TCase *c = live_case(suite, "switch", start, stop);

    tcase_add_loop_test(c, a_hold_is_renewed_at_the_new_master_and_released_there, 0,
                        COUNT(lock_kinds));
    tcase_add_loop_test(c, an_acquire_succeeds_at_the_new_master, 0, COUNT(lock_kinds));
    tcase_add_loop_test(c, a_release_frees_the_lock_at_the_new_master, 0, COUNT(lock_kinds));
    tcase_add_loop_test(c, a_waiter_is_served_by_the_new_master, 0, 2);
    tcase_add_test(c, a_subscription_leaves_the_demoted_server);
    tcase_add_test(c, a_candidate_is_elected_at_the_new_master);
    tcase_add_test(c, a_hold_outlasts_failover);
    tcase_add_test(c, calls_outlast_a_failover_that_pauses_writes);
    tcase_add_test(c, a_replica_without_its_master_is_left);
    c = live_case(suite, "loading", start, stop);
    tcase_add_loop_test(c, a_host_that_loads_is_not_waited_for, 0, 3);
    tcase_add_test(c, a_loading_master_is_reported_after_the_deadline);
    c = live_case(suite, "failure", start, stop);
    tcase_add_loop_test(c, a_failed_master_is_followed_by_the_promoted_replica, 0, 2);
    tcase_add_test(c, a_short_hold_outlasts_a_suspended_master);
    tcase_add_loop_test(c, of_two_masters_the_promoted_one_is_used, 0, 4);
    tcase_add_test(c, a_hold_leaves_an_old_master_that_still_replies);
    tcase_add_loop_test(c, calls_leave_an_old_master_that_still_replies, 0, 2);
    tcase_add_test(c, a_restarted_master_is_not_used_while_the_promoted_one_is_silent);
    tcase_add_test(c, a_reverted_promotion_is_followed);
    tcase_add_test(c, a_promotion_by_mistake_does_not_exclude_the_master);
    tcase_add_loop_test(c, hosts_without_a_master_are_reported_with_their_replies, 0, 2);
    c = live_case(suite, "options", start, stop);
    tcase_add_loop_test(c, replicas_confirm_a_lock, 0, 2);
    tcase_add_test(c, login_and_database_are_those_of_the_url);
}

int main(void)
{
    return live_main("a master and its replicas without sentinels", add);
}
