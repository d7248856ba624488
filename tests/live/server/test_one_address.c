/* One address that leads to several servers, one after the other: a load balancer, a
 * virtual address, the name of a managed service. And servers that refuse for a
 * while. Whoever waits waits on, whoever holds goes on holding. */
#include "lock/quorum.h"
#include "tests/live/test_candidate.h"
#include "tests/support/proxy.h"

#define ANOTHER "6e3814a1-e847-452b-a982-45baf93a1df2:1"
#define WATCHDOG 9000           /* a failover on a busy machine takes less than two thirds of it */
#define HANGUPS 6

static struct server *one, *two;
static struct proxy *proxy;
static struct hf_client *client;

static void start(void)
{
    static const char *const at_once[] = {"--repl-diskless-sync-delay", "0", NULL};

    one = server_start(at_once);
    two = server_start(at_once);
    ck_assert_ptr_nonnull(one);
    ck_assert_ptr_nonnull(two);
    proxy = proxy_start(server_port(one));
    client = client_timed(proxy_port(proxy), WATCHDOG, LONG_MS);
}

static void stop(void)
{
    hf_client_free(client);
    proxy_stop(proxy);
    server_stop(one);
    server_stop(two);
}

/* EVALSHA, EVAL because the script was unknown, and the request after the subscription
 * was confirmed (WAIT-2): it sleeps. */
static void await_waiter(void)
{
    server_await(one, LONG_MS, CHANNEL " 1", "PUBSUB NUMSUB " CHANNEL);
    while (script_calls(one) < 3)
        local_poll_rest();
}

static void replicate(void)
{
    (void)server_ask(two, "REPLICAOF 127.0.0.1 %d", server_port(one));
    server_await(two, AWAIT_MS, "up", "EVAL %s 0",
                 "return redis.call('info','replication'):match"
                 "('master_link_status:(%a+)')");
    (void)server_ask(one, "SET last 1");
    server_await(two, LONG_MS, "1", "GET last");
}

/* `two` is the master; connections that are open still lead to `one`. */
static void fail_over(void)
{
    ck_assert_str_eq(server_ask(two, "REPLICAOF NO ONE"), "OK");
    ck_assert_str_eq(server_ask(one, "REPLICAOF 127.0.0.1 %d", server_port(two)),
                     "OK");
    proxy_lead(proxy, server_port(two));
}

/* REPLACE-1 */
START_TEST(a_hold_is_renewed_at_the_new_master_and_released_there)
{
    struct diary d;
    struct hf_acquire_options o = diary_options(&d, 1);
    struct hf_lock *lock = lock_of_kind(client, lock_kinds[_i], NAME);

    ck_assert_ok(hf_lock_acquire(lock, &o, NULL));
    replicate();
    fail_over();
    await_next_renewal(client);
    ck_assert_int_gt(hf_lock_safe_ms(lock, 1), 0);
    ck_assert_int_eq(note_read(&d.note, &d.losses), 0);
    ck_assert_int_ge(server_ask_int(two, "PTTL " NAME), 1);
    release(lock, 1);
    ck_assert_str_eq(server_ask(two, "EXISTS " NAME), "0");
    hf_lock_free(lock);
}
END_TEST

START_TEST(an_acquire_that_meets_a_replica_succeeds_at_the_new_master)
{
    struct hf_lock *lock = lock_of_kind(client, lock_kinds[_i], NAME);

    acquire(lock, 1);
    release(lock, 1); /* the connection leads to `one` */
    replicate();
    fail_over();
    ck_assert_ok(try_acquire(lock, 1, NULL));
    ck_assert_str_eq(server_ask(two, "EXISTS " NAME), "1");
    release(lock, 1);
    hf_lock_free(lock);
}
END_TEST

START_TEST(a_release_frees_the_lock_at_the_new_master)
{
    struct hf_lock *lock = lock_of_kind(client, lock_kinds[_i], NAME);

    acquire(lock, 1);
    replicate();
    fail_over();
    release(lock, 1);
    ck_assert_str_eq(server_ask(two, "EXISTS " NAME), "0");
    hf_lock_free(lock);
}
END_TEST

/* It has never led, and it reports no error. */
START_TEST(a_candidate_is_elected_at_the_new_master)
{
    struct hf_lock *lock = lock_of_kind(client, HF_KIND_PLAIN, NAME);
    struct hf_election *election;
    struct candidate c;

    (void)server_ask(one, "HSET " NAME " " ANOTHER " 1");
    (void)server_ask(one, "PEXPIRE " NAME " 4000");
    election = candidate_join(&c, lock);
    await_waiter();
    replicate();
    fail_over();
    note_await(&c.note, &c.elected, 1, "the election");
    ck_assert_int_eq(note_read(&c.note, &c.troubles), 0);
    ck_assert_str_eq(server_ask(two, "HLEN " NAME), "1");
    ck_assert_ok(hf_election_leave(election, NULL));
    ck_assert_str_eq(server_ask(two, "EXISTS " NAME), "0");
    hf_lock_free(lock);
}
END_TEST

#define MEMBERS 3

/* One member is down, so each of the others counts. */
START_TEST(a_quorum_keeps_a_member_at_the_new_master)
{
    struct server *other = server_start(NULL);
    struct hf_client *clients[MEMBERS] = {
        client, client_timed(server_port(other), WATCHDOG, LONG_MS),
        client_timed(local_dead_port(), WATCHDOG, LONG_MS)};
    struct hf_lock *locks[MEMBERS];
    struct hf_quorum *quorum;
    struct hf_acquire_options o;
    struct diary d;

    for (int i = 0; i < MEMBERS; i++)
        locks[i] = lock_of(clients[i], NAME);
    ck_assert_ok(hf_quorum_new(&quorum, locks, MEMBERS, NULL));
    o = diary_options(&d, 1);
    ck_assert_ok(hf_quorum_acquire(quorum, &o, NULL));
    replicate();
    fail_over();
    await_next_renewal(client);
    ck_assert_int_gt(hf_quorum_safe_ms(quorum, 1), 0);
    ck_assert_int_eq(note_read(&d.note, &d.losses), 0);
    ck_assert_ok(hf_quorum_release(quorum, 1, NULL));
    ck_assert_str_eq(server_ask(two, "EXISTS " NAME), "0");
    hf_quorum_free(quorum);
    for (int i = 0; i < MEMBERS; i++)
        hf_lock_free(locks[i]);
    for (int i = 1; i < MEMBERS; i++)
        hf_client_free(clients[i]);
    server_stop(other);
}
END_TEST

START_TEST(a_waiter_gets_its_turn_at_the_new_master)
{
    struct hf_acquire_options o = acquire_options(1);
    struct hf_lock *lock = lock_of_kind(client, HF_KIND_PLAIN, NAME);
    struct call call;

    (void)server_ask(one, "HSET " NAME " " ANOTHER " 1");
    (void)server_ask(one, "PEXPIRE " NAME " 4000");
    call_acquire(&call, lock, &o);
    await_waiter();
    replicate();
    fail_over();
    ck_assert_status(call_await(&call), HF_OK);
    ck_assert_str_eq(server_ask(two, "HLEN " NAME), "1");
    release(lock, 1);
    hf_lock_free(lock);
}
END_TEST

/* The last address is a replica for good: the server's own words, in time. */
/* Nor does the check of WAIT, which `run` makes with replicas, end at it. */
START_TEST(a_client_with_replicas_connects_to_a_replica_first)
{
    struct hf_client_options o;
    struct hf_client *replicated;
    struct hf_lock *lock;
    struct hf_error err;
    char url[SERVER_URL_MAX];

    replicate();
    proxy_lead(proxy, server_port(two));
    client_options(&o, url, proxy_port(proxy));
    o.replicas = 1;
    replicated = client_with(&o);
    ck_assert_msg(hf_client_connect(replicated, &err) == HF_OK, "%s", err.text);
    proxy_lead(proxy, server_port(one));
    lock = lock_of(replicated, NAME);
    ck_assert_ok(try_acquire(lock, 1, NULL));
    ck_assert_str_eq(server_ask(one, "EXISTS " NAME), "1");
    release(lock, 1);
    hf_client_free(replicated);
}
END_TEST

static struct hf_client *client_with_replicas(void)
{
    struct hf_client_options o;
    char url[SERVER_URL_MAX];

    client_options(&o, url, proxy_port(proxy));
    o.watchdog_ms = WATCHDOG;
    o.request_timeout_ms = LONG_MS;
    o.replicas = 1;
    o.replicas_timeout_ms = WATCHDOG / 6;
    return client_with(&o);
}

static void await_blocked(void)
{
    server_await(one, AWAIT_MS, "1", "EVAL %s 0",
                 "return redis.call('info','clients'):match('blocked_clients:(%d+)')");
}

/* CALL-1: The script was executed, and WAIT ends because the master becomes a replica. It is
 * busy copying the new master's data, so it may not confirm the change in time. */
START_TEST(an_acquire_that_waits_for_replicas_is_sent_again_to_the_new_master)
{
    struct hf_client *replicated = client_with_replicas();
    struct hf_acquire_options o = acquire_options(1);
    struct hf_lock *lock = lock_of(replicated, NAME);
    struct call call;

    o.wait_ms = 0;
    o.keep_unreplicated = true;
    replicate();
    acquire(lock, 1); /* the server knows the script from now on */
    release(lock, 1);
    server_pause(two);
    call_acquire(&call, lock, &o);
    await_blocked();
    ck_assert_str_eq(server_ask(one, "REPLICAOF 127.0.0.1 %d", server_port(two)), "OK");
    server_resume(two);
    ck_assert_str_eq(server_ask(two, "REPLICAOF NO ONE"), "OK");
    proxy_lead(proxy, server_port(two));
    ck_assert_int_ge(call_await(&call), 0);
    ck_assert_holder(two, lock, 1, 1);
    release(lock, 1);
    ck_assert_str_eq(server_ask(two, "EXISTS " NAME), "0");
    hf_lock_free(lock);
    hf_client_free(replicated);
}
END_TEST

/* CALL-1: A replica that accepts writes executes the script, and refuses WAIT. */
START_TEST(a_writable_replica_is_not_used_forever)
{
    struct hf_client *replicated = client_with_replicas();
    struct hf_lock *lock = lock_of(replicated, NAME);
    struct hf_error err;

    (void)server_ask(one, "CONFIG SET replica-read-only no");
    (void)server_ask(one, "REPLICAOF 127.0.0.1 1");
    ck_assert_status(try_acquire(lock, 1, &err), HF_E_SERVER);
    ck_assert_ptr_nonnull(strstr(err.text, "WAIT cannot be used with"));
    hf_lock_free(lock);
    hf_client_free(replicated);
}
END_TEST

START_TEST(a_replica_for_good_is_named_when_the_time_is_over)
{
    struct hf_client *hasty = client_timed(proxy_port(proxy), WATCHDOG, 2000);
    struct hf_lock *lock = lock_of(hasty, NAME);
    struct hf_error err;

    (void)server_ask(one, "REPLICAOF 127.0.0.1 1");
    ck_assert_status(try_acquire(lock, 1, &err), HF_E_SERVER);
    ck_assert_ptr_nonnull(strstr(err.text, "READONLY"));
    ck_assert_ptr_nonnull(strstr(err.text, "give the master's address"));
    ck_assert(err.is_temporary);
    ck_assert_uint_ge(proxy_accepted(proxy), 3); /* it connected anew */
    ck_assert_uint_le(proxy_accepted(proxy), 12);
    hf_lock_free(lock);
    hf_client_free(hasty);
}
END_TEST

/* A replica also answers requests that only read: they do not shorten the pause between
 * two connections (REPLACE-2). */
START_TEST(replies_of_a_replica_do_not_hasten_new_connections)
{
    struct hf_client *hasty = client_timed(proxy_port(proxy), WATCHDOG, 2000);
    struct hf_lock *lock = lock_of(hasty, NAME);
    struct hf_acquire_options o = acquire_options(1);
    struct call call;
    bool is_locked;

    (void)server_ask(one, "REPLICAOF 127.0.0.1 1");
    o.wait_ms = 0;
    call_acquire(&call, lock, &o);
    while (!call_is_done(&call)) {
        ck_assert_ok(hf_lock_is_locked(lock, &is_locked, NULL));
        local_rest_us(5000);
    }
    ck_assert_status(call_await(&call), HF_E_SERVER);
    ck_assert_uint_ge(proxy_accepted(proxy), 3);
    ck_assert_uint_le(proxy_accepted(proxy), 12);
    hf_lock_free(lock);
    hf_client_free(hasty);
}
END_TEST

/* A call that waits for a lock that another owner has at `one`, and two locks. In RESP2 its
 * subscription has a connection of its own, which also leads to the old master. */
struct waiting {
    struct hf_client *client;
    struct hf_lock *lock, *other;
    struct call call;
};

static void begin_waiting(struct waiting *w, bool is_resp2, int replicas)
{
    struct hf_acquire_options o = acquire_options(1);
    char url[SERVER_URL_MAX + 20];
    struct hf_client_options options;

    client_options(&options, url, proxy_port(proxy));
    (void)strcat(url, is_resp2 ? "?protocol=2" : "");
    options.request_timeout_ms = LONG_MS;
    options.replicas = replicas;
    w->client = client_with(&options);
    w->lock = lock_of(w->client, NAME);
    w->other = lock_of(w->client, "another");
    (void)server_ask(one, "HSET " NAME " " ANOTHER " 1");
    call_acquire(&w->call, w->lock, &o);
    await_waiter();
}

/* A request of this client has led a connection to `two`. */
static void must_be_subscribed_at_two(void)
{
    server_await(two, LONG_MS, CHANNEL " 1", "PUBSUB NUMSUB " CHANNEL);
}

static void end_waiting(struct waiting *w)
{
    (void)server_ask(two, "DEL " NAME);
    (void)server_ask(two, "PUBLISH " CHANNEL " 0");
    ck_assert_status(call_await(&w->call), HF_OK);
    release(w->lock, 1);
    release(w->other, 1);
    hf_lock_free(w->lock);
    hf_lock_free(w->other);
    hf_client_free(w->client);
}

START_TEST(subscriptions_move_to_the_new_master)
{
    struct waiting w;

    begin_waiting(&w, _i == 0, 0);
    replicate();
    fail_over();
    acquire(w.other, 1);
    must_be_subscribed_at_two();
    end_waiting(&w);
}
END_TEST

/* REPLACE-4: the connection with the subscription stays open, and is sent nothing that the former
 * master could refuse; all others end. */
START_TEST(a_later_connection_takes_subscriptions_to_the_new_master)
{
    struct waiting w;

    replicate();
    begin_waiting(&w, _i == 0, 1);
    fail_over();
    ck_assert_int_ge(server_ask_int(one, "CLIENT KILL TYPE normal"), 1);
    acquire(w.other, 1);
    must_be_subscribed_at_two();
    ck_assert_ptr_null(strstr(server_ask(one, "INFO errorstats"), "READONLY"));
    end_waiting(&w);
}
END_TEST

/* The proxy is there, and the server behind it is not yet. */
START_TEST(a_connection_that_is_accepted_and_closed_is_tried_again)
{
    struct hf_acquire_options o = acquire_options(1);
    struct hf_lock *lock = lock_of_kind(client, HF_KIND_PLAIN, NAME);
    struct call call;

    proxy_lead(proxy, local_dead_port());
    call_acquire(&call, lock, &o);
    while (proxy_accepted(proxy) < HANGUPS)
        local_poll_rest();
    proxy_lead(proxy, server_port(one));
    ck_assert_status(call_await(&call), HF_OK);
    release(lock, 1);
    hf_lock_free(lock);
}
END_TEST

/* The server behind the proxy is away for a while. */
START_TEST(a_hold_outlasts_connections_that_are_accepted_and_closed)
{
    struct diary d;
    struct hf_acquire_options o = diary_options(&d, 1);
    struct hf_lock *lock = lock_of_kind(client, lock_kinds[_i], NAME);
    size_t accepted;

    ck_assert_ok(hf_lock_acquire(lock, &o, NULL));
    proxy_lead(proxy, local_dead_port());
    accepted = proxy_accepted(proxy);
    proxy_cut(proxy, PROXY_CLOSE);
    while (proxy_accepted(proxy) < accepted + 2)
        local_poll_rest();
    proxy_lead(proxy, server_port(one));
    await_next_renewal(client);
    ck_assert_int_eq(note_read(&d.note, &d.losses), 0);
    release(lock, 1);
    ck_assert_str_eq(server_ask(one, "EXISTS " NAME), "0");
    hf_lock_free(lock);
}
END_TEST

static const struct {
    const char *word;
    const char *spoil, *repair;
    const char *first;          /* NULL, or what is asked before `spoil` */
    bool is_cured;              /* perhaps, by another connection */
} refusals[] = {
    {"OOM", "CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0", NULL, false},
    {"NOREPLICAS", "CONFIG SET min-replicas-to-write 1",
     "CONFIG SET min-replicas-to-write 0", NULL, false},
    {"READONLY", "REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE", NULL, true},
    {"MASTERDOWN", "REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE",
     "CONFIG SET replica-serve-stale-data no", true},
};

static void spoil(int i)
{
    if (refusals[i].first)
        ck_assert_str_eq(server_ask(one, refusals[i].first), "OK");
    ck_assert_str_eq(server_ask(one, refusals[i].spoil), "OK");
}

/* Its turn comes while the server refuses, and passes: the refusal is no end. */
START_TEST(a_waiter_outlasts_a_refusal)
{
    struct hf_acquire_options o = acquire_options(1);
    struct hf_lock *lock = lock_of_kind(client, HF_KIND_PLAIN, NAME);
    struct call call;

    (void)server_ask(one, "HSET " NAME " " ANOTHER " 1");
    call_acquire(&call, lock, &o);
    await_waiter();
    (void)server_ask(one, "DEL " NAME);
    spoil(_i);
    (void)server_ask(one, "PUBLISH " CHANNEL " 0");
    while (!strstr(server_ask(one, "INFO errorstats"), refusals[_i].word))
        local_poll_rest();
    ck_assert_str_eq(server_ask(one, refusals[_i].repair), "OK");
    ck_assert_status(call_await(&call), HF_OK);
    release(lock, 1);
    hf_lock_free(lock);
}
END_TEST

/* A candidate that has never led learns that the refusal is temporary, and tries again. */
START_TEST(a_first_refusal_does_not_end_a_candidate)
{
    struct hf_lock *lock = lock_of_kind(client, HF_KIND_PLAIN, NAME);
    struct hf_election *election;
    struct candidate c;

    spoil(_i);
    election = candidate_join(&c, lock);
    if (refusals[_i].is_cured) {
        while (proxy_accepted(proxy) < 3) /* it connects again */
            local_poll_rest();
    } else {
        note_await(&c.note, &c.troubles, 1, "the refusal");
        ck_assert(c.last.is_temporary);
    }
    ck_assert_str_eq(server_ask(one, refusals[_i].repair), "OK");
    note_await(&c.note, &c.elected, 1, "the election");
    ck_assert_ok(hf_election_leave(election, NULL));
    hf_lock_free(lock);
}
END_TEST

/* Who has heard nothing yet is told at once, and that it may pass. */
START_TEST(a_first_refusal_is_reported_as_temporary)
{
    struct hf_lock *lock = lock_of_kind(client, HF_KIND_PLAIN, NAME);
    struct hf_error err;

    ck_assert_str_eq(server_ask(one, "CONFIG SET maxmemory 1"), "OK");
    ck_assert_status(hf_lock_acquire(lock, NULL, &err), HF_E_SERVER);
    ck_assert(err.is_temporary);
    ck_assert_str_eq(server_ask(one, "CONFIG SET maxmemory 0"), "OK");
    (void)server_ask(one, "SET " NAME " x");
    ck_assert_status(hf_lock_acquire(lock, NULL, &err), HF_E_SERVER);
    ck_assert(!err.is_temporary);
    hf_lock_free(lock);
}
END_TEST

static void add(Suite *suite)
{
    TCase *c = live_case(suite, "address", start, stop);

    tcase_add_loop_test(c, a_hold_is_renewed_at_the_new_master_and_released_there, 0,
                        COUNT(lock_kinds));
    tcase_add_loop_test(c, an_acquire_that_meets_a_replica_succeeds_at_the_new_master,
                        0, COUNT(lock_kinds));
    tcase_add_loop_test(c, a_release_frees_the_lock_at_the_new_master, 0,
                        COUNT(lock_kinds));
    tcase_add_test(c, a_candidate_is_elected_at_the_new_master);
    tcase_add_test(c, a_quorum_keeps_a_member_at_the_new_master);
    tcase_add_test(c, a_waiter_gets_its_turn_at_the_new_master);
    tcase_add_test(c, a_client_with_replicas_connects_to_a_replica_first);
    tcase_add_test(c, an_acquire_that_waits_for_replicas_is_sent_again_to_the_new_master);
    tcase_add_test(c, a_writable_replica_is_not_used_forever);
    tcase_add_test(c, a_replica_for_good_is_named_when_the_time_is_over);
    tcase_add_test(c, replies_of_a_replica_do_not_hasten_new_connections);
    tcase_add_loop_test(c, subscriptions_move_to_the_new_master, 0, 2);
    tcase_add_loop_test(c, a_later_connection_takes_subscriptions_to_the_new_master, 0, 2);
    tcase_add_test(c, a_connection_that_is_accepted_and_closed_is_tried_again);
    tcase_add_loop_test(c, a_hold_outlasts_connections_that_are_accepted_and_closed,
                        0, COUNT(lock_kinds));
    tcase_add_loop_test(c, a_first_refusal_does_not_end_a_candidate, 0,
                        COUNT(refusals));
    tcase_add_loop_test(c, a_waiter_outlasts_a_refusal, 0, COUNT(refusals));
    tcase_add_test(c, a_first_refusal_is_reported_as_temporary);
}

int main(void)
{
    return live_main("one address, several servers", add);
}
