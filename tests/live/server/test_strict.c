/* Read-write locks on a server that refuses keys which a request does not declare
 * (declare.h): the data is that of any other server. */
#include <signal.h>

#include "lock/by_owner.h"
#include "tests/live/test_lock.h"
#include "tests/support/cluster.h"
#include "tests/support/gate.h"
#include "tests/support/one_server.h"
#include "tests/support/rw_steps.h"

#define CLIENTS 3

static struct gate *gate;
static struct hf_client *clients[CLIENTS];

static void start(void)
{
    start_server();
    gate = gate_start(server_port(server), gate_strict);
    for (int i = 0; i < CLIENTS; i++)
        clients[i] = client_timed(gate_port(gate), STEADY_WATCHDOG_MS, LONG_MS);
}

static void stop(void)
{
    for (int i = 0; i < CLIENTS; i++)
        hf_client_free(clients[i]);
    gate_stop(gate);
    stop_server();
}

static struct hf_lock *side(int of, enum hf_lock_kind kind)
{
    struct hf_lock *lock = NULL;

    ck_assert_ok(hf_lock_new_kind(&lock, clients[of], kind, NAME, strlen(NAME), NULL));
    return lock;
}

static void ck_assert_free(void)
{
    ck_assert_str_eq(server_ask(server, "KEYS *"), "");
}

/* The number of hold keys, of all owners. */
static int hold_keys(void)
{
    int count = 0;

    for (const char *at = server_ask(server, "KEYS *:rwlock_timeout:*");
         (at = strstr(at, ":rwlock_timeout:")); at++)
        count++;
    return count;
}

/* The last table leaves holds that are lost. */
START_TEST(each_step_leaves_the_state_of_the_contract)
{
    struct rw_party parties[2];

    for (int i = 0; i < 2; i++)
        parties[i] = rw_party_library(server, NAME, clients[i], i + 1);
    rw_run(&rw_tables[_i], parties);
}
END_TEST

/* The hold keys of three holds of one owner, and those of another, are renewed. */
START_TEST(read_holds_are_renewed)
{
    static struct diary diaries[2];
    struct hf_lock *reads[2];

    for (int i = 0; i < 2; i++) {
        struct hf_acquire_options o = diary_options(&diaries[i], 1);

        reads[i] = side(i, HF_KIND_READ);
        ck_assert_ok(hf_lock_acquire(reads[i], &o, NULL));
    }
    acquire(reads[0], 1);
    acquire(reads[0], 1);
    for (int i = 0; i < 2; i++)
        note_await(&diaries[i].note, &diaries[i].renewals, 4, "the fourth renewal");
    ck_assert_int_eq(hold_keys(), 4);
    for (int i = 0; i < 3; i++)
        release(reads[0], 1);
    ck_assert_int_eq(hold_keys(), 1);
    release(reads[1], 1);
    ck_assert_free();
}
END_TEST

/* The first request that needs a key of another is that of a client which has not been
 * refused yet: its lock is released by a handle. */
START_TEST(lock_is_released_by_a_client_that_did_not_acquire_it)
{
    struct hf_lock *reads = side(0, HF_KIND_READ);
    char owner[HF_OWNER_TEXT_MAX];
    struct hf_error err = {0};

    acquire(reads, 1);
    (void)hf_lock_owner_text(reads, 1, owner);
    ck_assert_msg(hf_release_by_owner(side(1, HF_KIND_READ), owner, strlen(owner),
                                      &err) == HF_OK, "%s",
                  err.text);
    ck_assert_free();
}
END_TEST

/* DECLARE-1: in each round half of the owners acquire while the others release, so that holds
 * of others appear between the two requests of a release. */
START_TEST(readers_that_come_and_go_get_no_error)
{
    enum { OWNERS = 4, ALL = CLIENTS * OWNERS, ROUNDS = 40 };
    struct call calls[ALL];
    struct hf_lock *reads[CLIENTS];
    bool holds[ALL] = {false};

    for (int i = 0; i < CLIENTS; i++)
        reads[i] = side(i, HF_KIND_READ);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < ALL; i++) {
            struct hf_acquire_options o = acquire_options(1 + i / CLIENTS);

            if (holds[i])
                call_release(&calls[i], reads[i % CLIENTS], 1 + i / CLIENTS);
            else if (i % 2 == 0 || round > 0)
                call_acquire(&calls[i], reads[i % CLIENTS], &o);
        }
        for (int i = 0; i < ALL; i++)
            if (round > 0 || i % 2 == 0)
                ck_assert_status(call_await(&calls[i]), HF_OK);
        for (int i = 0; i < ALL; i++)
            holds[i] = round == 0 ? i % 2 == 0 : !holds[i];
    }
    for (int i = 0; i < ALL; i++)
        if (holds[i])
            release(reads[i % CLIENTS], 1 + i / CLIENTS);
    ck_assert_free();
}
END_TEST

/* A writer waits for a reader, becomes a reader, and both leave. */
START_TEST(writer_waits_for_readers_and_becomes_one)
{
    struct hf_lock *reads = side(0, HF_KIND_READ), *writes = side(1, HF_KIND_WRITE),
                   *also = side(1, HF_KIND_READ);
    struct hf_acquire_options o = acquire_options(1);
    struct call call;

    acquire(reads, 1);
    o.wait_ms = LONG_MS;
    call_acquire(&call, writes, &o);
    release(reads, 1);
    ck_assert_status(call_await(&call), HF_OK);
    acquire(also, 1);
    release(writes, 1);
    ck_assert_str_eq(server_ask(server, "HGET " NAME " mode"), "read");
    acquire(reads, 1);
    release(also, 1);
    release(reads, 1);
    ck_assert_free();
}
END_TEST

/* In a cluster the queue's key is declared only to such a server, also when a lock is released
 * by force. */
START_TEST(node_of_a_cluster_executes_it)
{
    struct cluster *cluster = cluster_start(&(struct cluster_options){.masters = 1});
    int port = server_port(cluster_node(cluster, 0));
    struct gate *node = gate_start(port, gate_strict);
    struct hf_lock *reads = NULL, *plain;
    struct hf_client_options o;
    struct hf_client *client;
    struct hf_lock_info info;
    struct hf_error err = {0};
    char url[200];

    (void)snprintf(url, sizeof url, "redis+cluster://127.0.0.1:%d?map=127.0.0.1:%d=127.0.0.1:%d",
                   gate_port(node), port, gate_port(node));
    hf_client_options_init(&o);
    o.url = url;
    client = client_with(&o);
    plain = lock_of(client, "plain");
    acquire(plain, 1);
    ck_assert_msg(hf_lock_force_release(plain, NULL, 0, &err) == HF_OK, "%s", err.text);
    ck_assert_msg(hf_lock_inspect(plain, &info, &err) == HF_OK, "%s", err.text);
    ck_assert_int_eq(info.waiters, 0);
    ck_assert_ok(hf_lock_new_kind(&reads, client, HF_KIND_READ, NAME, strlen(NAME), NULL));
    acquire(reads, 1);
    acquire(reads, 2);
    release(reads, 1);
    release(reads, 2);
    ck_assert_str_eq(server_ask(cluster_node(cluster, 0), "KEYS *"), "");
    hf_client_free(client);
    gate_stop(node);
    cluster_stop(cluster);
}
END_TEST

/* DECLARE-2 */
START_TEST(ordinary_server_receives_no_further_keys)
{
    static const struct gate_rule rules[] = {
        {.pattern = "EVAL * 1 " NAME " * 0", .answer = "-ERR listed\r\n"},
        {.pattern = "EVAL * 1 " NAME " * 1", .answer = "-ERR listed\r\n"},
        {.pattern = "EVALSHA * 3 ...", .answer = "-ERR declared\r\n"},
        {0}};
    struct gate *plain = gate_start(server_port(server), rules);
    struct hf_client *client = client_to(gate_port(plain));
    struct hf_lock *reads = NULL;

    ck_assert_ok(hf_lock_new_kind(&reads, client, HF_KIND_READ, NAME, strlen(NAME), NULL));
    acquire(reads, 1);
    acquire(reads, 2);
    release(reads, 1);
    release(reads, 2);
    for (size_t i = 0; i < 3; i++)
        ck_assert_uint_eq(gate_count(plain, i), 0);
    ck_assert_free();
    hf_client_free(client);
    gate_stop(plain);
}
END_TEST

/* A server that refuses the keys even if they are declared: an error in time, with advice. */
START_TEST(refusal_that_lasts_is_reported_with_its_advice)
{
    static const struct gate_rule rules[] = {
        {.pattern = "EVALSHA * 2 ...",
         .answer = "-ERR script tried accessing undeclared key, key: x\r\n"},
        {.pattern = "EVALSHA * 3 ...",
         .answer = "-ERR script tried accessing undeclared key, key: x\r\n"},
        {0}};
    struct gate *refusing = gate_start(server_port(server), rules);
    struct hf_client *client = client_timed(gate_port(refusing), 30000, SET_UP_MS);
    struct hf_lock *reads = NULL;
    struct hf_error err;

    ck_assert_ok(hf_lock_new_kind(&reads, client, HF_KIND_READ, NAME, strlen(NAME), NULL));
    ck_assert_status(try_acquire(reads, 1, &err), HF_E_SERVER);
    ck_assert_msg(strstr(err.text, "allow-undeclared-keys") != NULL, "%s", err.text);
    ck_assert_free();
    hf_client_free(client);
    gate_stop(refusing);
}
END_TEST

static void add(Suite *suite)
{
    TCase *c = live_case(suite, "undeclared keys", start, stop);

    tcase_add_loop_test(c, each_step_leaves_the_state_of_the_contract, 0,
                        rw_tables_count - 1);
    tcase_add_test(c, read_holds_are_renewed);
    tcase_add_test(c, lock_is_released_by_a_client_that_did_not_acquire_it);
    tcase_add_test(c, readers_that_come_and_go_get_no_error);
    tcase_add_test(c, writer_waits_for_readers_and_becomes_one);
    tcase_add_test(c, node_of_a_cluster_executes_it);
    tcase_add_test(c, ordinary_server_receives_no_further_keys);
    tcase_add_test(c, refusal_that_lasts_is_reported_with_its_advice);
}

int main(void)
{
    return live_main("undeclared keys", add);
}
