/* Many threads, owners and clients on a few locks, while connections are killed,
 * scripts forgotten and waits cancelled at random: never two inside, every call
 * ends, counts are exact, and nothing stays locked. */
#include <stdatomic.h>

#include "tests/live/test_lock.h"
#include "tests/support/dice.h"
#include "tests/support/lua_client.h"
#include "tests/support/one_server.h"
#include "tests/support/proxy.h"

/* The default TTL: longer than anyone stays inside, however long the calls that
 * are made in there go unanswered. So who is inside is safe all the time, and
 * what an unknown outcome leaves behind must be cleaned up long before. */
#define LOCKS 3
#define CLIENTS 3
#define THREADS 12
#define ROUNDS 40

static struct proxy *proxy;
static struct hf_client *clients[CLIENTS];
static atomic_int inside[LOCKS];
static atomic_int grants, refusals, unknowns;
static struct hf_cancel cancels[THREADS];
static pthread_mutex_t cancels_mutex = PTHREAD_MUTEX_INITIALIZER;

static void start(void)
{
    start_server();
    proxy = proxy_start(server_port(server));
}

static void stop(void)
{
    proxy_stop(proxy);
    stop_server();
}

struct worker {
    pthread_t thread;
    int number;
    uint64_t seed;
    struct hf_client *client;
};

static const char *name_of(int lock)
{
    static const char *const names[LOCKS] = {"red", "green", "blue"};

    return names[lock];
}

/* A cancel is not to be fired while it is made as new. */
static struct hf_cancel *fresh_cancel(const struct worker *w)
{
    (void)pthread_mutex_lock(&cancels_mutex);
    hf_cancel_init(&cancels[w->number], w->client);
    (void)pthread_mutex_unlock(&cancels_mutex);
    return &cancels[w->number];
}

static void fire_one(int number)
{
    (void)pthread_mutex_lock(&cancels_mutex);
    hf_cancel_fire(&cancels[number]);
    (void)pthread_mutex_unlock(&cancels_mutex);
}

/* Inside, where nobody else is: perhaps once more, or looking. */
static void be_inside(struct worker *w, struct hf_lock *lock, int which,
                      int64_t owner)
{
    struct hf_acquire_options o = acquire_options(owner);
    int64_t count;

    ck_must(atomic_fetch_add(&inside[which], 1) == 0, "never two inside");
    switch (dice_of(&w->seed, 4)) {
    case 0:
        if (hf_lock_acquire(lock, &o, NULL) == HF_OK)
            (void)hf_lock_release(lock, owner, NULL); /* may be unanswered */
        break;
    case 1:
        if (hf_lock_hold_count(lock, owner, &count, NULL) == HF_OK)
            ck_must(count == 1, "the count is exact");
        break;
    default:
        sched_yield();
        break;
    }
    ck_must(hf_lock_safe_ms(lock, owner) > 0, "who is inside is safe");
    ck_must(atomic_fetch_sub(&inside[which], 1) == 1, "never two inside");
}

static void one_round(struct worker *w)
{
    int which = (int)dice_of(&w->seed, LOCKS);
    struct hf_lock *lock = lock_of(w->client, name_of(which));
    struct hf_acquire_options o = acquire_options(w->number + 1);
    struct hf_error err = {0};
    hf_status rc;

    o.cancel = fresh_cancel(w);
    o.wait_ms =
        dice_of(&w->seed, 2) ? HF_FOREVER : (int64_t)dice_of(&w->seed, 30);
    o.lease_ms = dice_of(&w->seed, 3) ? 0 : 60000;
    rc = hf_lock_acquire(lock, &o, &err);
    if (rc == HF_OK) {
        atomic_fetch_add(&grants, 1);
        be_inside(w, lock, which, w->number + 1);
        rc = hf_lock_release(lock, w->number + 1, &err);
        ck_must(rc == HF_OK || rc <= HF_E_CONNECT,
                "what is inside is not lost");
    } else if (rc == HF_TIMEOUT || rc == HF_CANCELLED) {
        atomic_fetch_add(&refusals, 1);
    }
    if (rc <= HF_E_CONNECT)
        atomic_fetch_add(&unknowns, 1);
    ck_must(hf_lock_release(lock, w->number + 1, NULL) == HF_NOT_OWNER,
            "nothing is left to release");
    hf_lock_free(lock);
}

static atomic_int running;

static void *work(void *arg)
{
    struct worker *w = arg;

    for (int i = 0; i < ROUNDS; i++)
        one_round(w);
    atomic_fetch_sub(&running, 1);
    return NULL;
}

/* What goes wrong, at random, until all have worked their rounds. */
static void make_trouble(struct worker *chaos)
{
    while (atomic_load(&running) > 0) {
        switch (dice_of(&chaos->seed, 7)) {
        case 0:
            proxy_cut(proxy,
                      dice_of(&chaos->seed, 2) ? PROXY_CLOSE : PROXY_RESET);
            break;
        case 1:
            proxy_cut_after(proxy, dice_of(&chaos->seed, 2) ? PROXY_TO_SERVER
                                                  : PROXY_TO_CLIENT,
                            dice_of(&chaos->seed, 2000), PROXY_CLOSE);
            break;
        case 2:
            (void)server_ask(server, "SCRIPT FLUSH");
            break;
        case 3:
            (void)server_ask(server, "CLIENT KILL TYPE pubsub");
            break;
        case 4:
            proxy_delay(proxy, PROXY_TO_CLIENT, (int)dice_of(&chaos->seed, 10));
            break;
        default:
            fire_one((int)dice_of(&chaos->seed, THREADS));
            break;
        }
        local_rest_us((int)dice_of(&chaos->seed, 60000));
    }
}

static void open_clients(void)
{
    for (int i = 0; i < CLIENTS; i++) {
        struct hf_client_options o;
        char url[SERVER_URL_MAX];

        client_options(&o, url, i == 0 ? server_port(server)
                                       : proxy_port(proxy));
        o.protocol = i == 2 ? 2 : 3;
        clients[i] = client_with(&o);
    }
}

START_TEST(there_are_never_two_holders)
{
    static struct worker workers[THREADS];
    struct worker chaos = {.seed = 1000003u + (uint64_t)_i};

    open_clients();
    atomic_store(&running, THREADS);
    for (int i = 0; i < THREADS; i++) {
        workers[i].number = i;
        workers[i].client = clients[i % CLIENTS];
        workers[i].seed = DICE_SEED + (uint64_t)(_i * THREADS + i);
        (void)fresh_cancel(&workers[i]);
    }
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&workers[i].thread, NULL, work,
                                        &workers[i]),
                         0);
    make_trouble(&chaos);
    for (int i = 0; i < THREADS; i++)
        (void)pthread_join(workers[i].thread, NULL);
    ck_assert_int_gt(atomic_load(&grants), THREADS);
    for (int i = 0; i < CLIENTS; i++)
        ck_assert_uint_eq(stats_of(clients[i]).holds, 0);
    proxy_delay(proxy, PROXY_TO_CLIENT, 0);
    for (int i = 0; i < LOCKS; i++) { /* G4 */
        struct hf_lock *lock = lock_of(clients[0], name_of(i));

        acquire(lock, 1000);
        release(lock, 1000);
    }
    for (int i = 0; i < CLIENTS; i++)
        hf_client_free(clients[i]);
}
END_TEST

static void add_cases(Suite *s)
{
    TCase *c = live_case(s, "soak", start, stop);

    tcase_set_timeout(c, 240);
    tcase_add_loop_test(c, there_are_never_two_holders, 0,
                        8);
}

int main(void)
{
    return live_main("lock, soak", add_cases);
}
