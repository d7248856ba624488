/* How clients that all want one lock share it (TURN-1, TURN-2): judged by the order of
 * the grants and by the server's count of commands. Each client here is as a
 * process of its own: only the server is between them. */
#include <stdatomic.h>

#include "tests/live/test_lock.h"
#include "tests/support/one_server.h"

#define CLIENTS 3
#define THREADS 4
#define GRANTS 600
#define CROWD 200

/* ---- shares ---- */

static atomic_int grants;               /* of all */
static atomic_int grants_of[CLIENTS];

struct contender {
    pthread_t thread;
    struct hf_lock *lock;
    int client;
};

/* A hold that takes a while, so that others have time to ask. */
static void *contend(void *arg)
{
    struct contender *c = arg;

    while (grants < GRANTS) {
        int64_t owner = hf_owner_thread();
        struct hf_acquire_options o = acquire_options(owner);

        ck_must(hf_lock_acquire(c->lock, &o, NULL) == HF_OK, "acquired");
        if (grants++ < GRANTS)
            grants_of[c->client]++;
        local_rest_us(1000);
        ck_must(hf_lock_release(c->lock, owner, NULL) == HF_OK, "released");
    }
    return NULL;
}

static void run_contenders(int clients, int threads)
{
    struct contender all[CLIENTS * THREADS];
    struct hf_client *client[CLIENTS];

    grants = 0;
    for (int i = 0; i < clients * threads; i++) {
        struct contender *c = &all[i];

        c->client = i / threads;
        if (i % threads == 0) {
            grants_of[c->client] = 0;
            client[c->client] = client_to(server_port(server));
        }
        c->lock = lock_of(client[c->client], NAME);
    }
    for (int i = 0; i < clients * threads; i++)
        ck_must(pthread_create(&all[i].thread, NULL, contend, &all[i]) == 0,
                "a thread begins");
    for (int i = 0; i < clients * threads; i++)
        (void)pthread_join(all[i].thread, NULL);
    for (int i = 0; i < clients; i++)
        hf_client_free(client[i]);
}

/* Without turns one of them has nine tenths, or all. With turns, and a machine that
 * runs one of them less than the others, each has a third of its share, at
 * least. */
static const struct {
    int clients, threads;
} fields[] = {{2, 1}, {2, THREADS}, {3, 1}, {3, THREADS}};

START_TEST(clients_that_contend_have_equal_shares)
{
    int clients = fields[_i].clients;

    run_contenders(clients, fields[_i].threads);
    for (int i = 0; i < clients; i++)
        ck_assert_msg(grants_of[i] * clients * 3 >= GRANTS,
                      "client %d of %d had %d of %d grants", i, clients,
                      (int)grants_of[i], GRANTS);
}
END_TEST

/* ---- a crowd ---- */

/* One after the other: each acquires, and releases when it has. */
struct member {
    struct call acquired, released;
    struct hf_client *client;
    struct hf_lock *lock;
};

static struct member members[CROWD];

static void on_released(void *ctx, hf_status status, const struct hf_error *err)
{
    struct member *m = ctx;

    call_done(&m->released, status, err);
}

static void on_acquired(void *ctx, hf_status status, const struct hf_error *err)
{
    struct member *m = ctx;

    call_done(&m->acquired, status, err);
    ck_must(status == HF_OK, "each is granted");
    ck_must(hf_lock_release_async(m->lock, 1, on_released, m) == HF_OK,
            "and releases");
}

/* All of them in one loop of the test's: a thread for each would be a bench of
 * the machine. */
static struct hf_client *member_client(struct hf_loop *loop)
{
    struct hf_client_options o;
    char url[SERVER_URL_MAX];

    client_options(&o, url, server_port(server));
    o.loop = loop;
    o.thread = false;
    return client_with(&o);
}

static void drive_until_released(struct hf_loop *loop)
{
    for (int i = 0; i < CROWD; i++)
        while (!call_is_done(&members[i].released))
            hf_loop_dispatch(loop, 100);
}

static void drive_until_all_listen(struct hf_loop *loop)
{
    char all[100];

    (void)snprintf(all, sizeof all, CHANNEL " %d", CROWD);
    while (strcmp(server_ask(server, "PUBSUB NUMSUB " CHANNEL), all) != 0)
        hf_loop_dispatch(loop, 10);
}

/* TURN-3: those that wait in a crowd, and later none. */
static void drive_until_registered(struct hf_loop *loop, bool is_any)
{
    static const char none[] = CHANNEL ":waiters 0";

    while ((strcmp(server_ask(server, "PUBSUB NUMSUB " CHANNEL ":waiters"), none) != 0) != is_any)
        hf_loop_dispatch(loop, 10);
}

/* TURN-2, TURN-3 */
START_TEST(a_crowd_sends_few_requests_for_a_release)
{
    struct hf_client *holder = client_to(server_port(server));
    struct hf_lock *held = lock_of(holder, NAME);
    struct hf_loop_options lo = {.size = sizeof lo};
    struct hf_loop *loop = NULL;
    long long calls;

    acquire(held, 1);
    ck_assert_ok(hf_loop_new(&loop, &lo));
    for (int i = 0; i < CROWD; i++) {
        struct hf_acquire_options o = acquire_options(1);

        members[i].client = member_client(loop);
        members[i].lock = lock_of(members[i].client, NAME);
        call_init(&members[i].acquired);
        call_init(&members[i].released);
        ck_assert_ok(hf_lock_acquire_async(members[i].lock, &o, on_acquired,
                                           &members[i]));
    }
    drive_until_all_listen(loop);
    drive_until_registered(loop, true);
    calls = script_calls(server);
    release(held, 1);
    drive_until_released(loop);
    calls = script_calls(server) - calls;
    ck_assert_msg(calls <= 50 * CROWD, "%lld calls for %d releases", calls,
                  CROWD);
    drive_until_registered(loop, false);
    for (int i = 0; i < CROWD; i++)
        hf_client_free(members[i].client);
    hf_loop_free(loop);
    hf_client_free(holder);
}
END_TEST

/* ---- */

static void add_all(Suite *suite)
{
    TCase *c = live_case(suite, "share", start_server, stop_server);

    tcase_add_loop_test(c, clients_that_contend_have_equal_shares, 0,
                        COUNT(fields));
    tcase_add_test(c, a_crowd_sends_few_requests_for_a_release);
}

int main(void)
{
    return live_main("lock, share", add_all);
}
