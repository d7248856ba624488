/* Failover behind one address under load: HAProxy leads connections to whichever of
 * two servers is the master, as its tcp-check finds it. HF_SWITCHES times the replica
 * is promoted and the old master follows it, while clients take, hold, renew and
 * release locks with replicas=1. Connections that are open still lead to the old
 * master.
 *
 * No hold may be lost that the new master has; every acquire ends in time; each client
 * goes on without being made anew. (issue 25, "It must show" 3.) */
#include <stdatomic.h>

#include "tests/live/test_lock.h"
#include "tests/support/haproxy.h"
#include "tests/support/lateness.h"

#define SWITCHES 20
#define WORKERS 4
#define HELD_MAX 16             /* locks that a worker holds at a time */
#define WATCHDOG_MS 9000        /* a switch takes less than a third of it */
#define REQUEST_MS 5000
#define URL_MAX 128
#define LOAD_MS 1000            /* between two switches */

static struct server *servers[2];
static int master;              /* index of it */
static struct haproxy haproxy;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool is_over;

struct worker {
    pthread_t thread;
    int number;
    struct hf_client *client;
    struct note note;
    int losses, wrong_losses;   /* wrong: the master has the hold */
    int granted;
    int64_t refused, longest_ms, beyond_ms;
    struct hf_lock *held[HELD_MAX];
    int count;
};

static struct worker workers[WORKERS];

static int64_t greater(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* ---- load ---- */

/* A hold that the master has is lost only if the client is wrong. */
static void on_lost(void *ctx, struct hf_lock *lock, int64_t owner, enum hf_lost reason)
{
    struct worker *w = ctx;
    size_t len;
    const char *name = hf_lock_name(lock, &len);
    struct server *now;

    (void)owner;
    (void)pthread_mutex_lock(&mutex);
    now = servers[master];
    (void)pthread_mutex_unlock(&mutex);
    if (server_ask_int(now, "EXISTS %b", name, len) == 1)
        note_add(&w->note, &w->wrong_losses);
    (void)printf("lost: %.*s (%s)\n", (int)len, name, hf_lost_text(reason));
    note_add(&w->note, &w->losses);
}

static void take_one(struct worker *w, int64_t n)
{
    struct hf_acquire_options o = acquire_options(1);
    struct hf_error err = {0};
    struct hf_lock *lock;
    int64_t began = local_now_ms(), took_ms;
    char name[64];

    o.on_lost = on_lost;
    o.ctx = w;
    o.wait_ms = 0;
    (void)snprintf(name, sizeof name, "w%d:%lld", w->number, (long long)n);
    ck_must(hf_lock_new(&lock, w->client, name, strlen(name), NULL) == HF_OK, "a lock");
    if (hf_lock_acquire(lock, &o, &err) == HF_OK) {
        w->held[w->count++] = lock;
        note_add(&w->note, &w->granted);
    } else {
        w->refused++;
        hf_lock_free(lock);
    }
    took_ms = local_now_ms() - began;
    w->longest_ms = greater(w->longest_ms, took_ms);
    w->beyond_ms =
        greater(w->beyond_ms, took_ms - REQUEST_MS - 1000 - lateness_ms(began));
}

/* The first half stays held over switches, and is renewed. */
static void release_some(struct worker *w)
{
    while (w->count > HELD_MAX / 2) {
        struct hf_lock *lock = w->held[--w->count];

        (void)hf_lock_release(lock, 1, NULL);
        hf_lock_free(lock);
    }
}

static void *work(void *arg)
{
    struct worker *w = arg;

    for (int64_t n = 0; !is_over; n++) {
        take_one(w, n);
        if (w->count == HELD_MAX)
            release_some(w);
        local_rest_us(2000); /* load, not a benchmark: renewals take part */
    }
    return NULL;
}

static void start_worker(struct worker *w, int number)
{
    struct hf_client_options o;
    struct hf_error err;
    char url[URL_MAX];

    w->number = number;
    note_init(&w->note);
    hf_client_options_init(&o);
    (void)snprintf(url, sizeof url,
                   "redis://127.0.0.1:%d?replicas=1&replicas_timeout=500ms", haproxy.port);
    o.url = url;
    o.watchdog_ms = WATCHDOG_MS;
    o.request_timeout_ms = REQUEST_MS;
    o.connect_timeout_ms = LONG_MS;
    w->client = client_with(&o);
    ck_assert_msg(hf_client_connect(w->client, &err) == HF_OK, "%s", err.text);
    (void)pthread_create(&w->thread, NULL, work, w);
}

/* ---- switches ---- */

static void await_replica(struct server *replica)
{
    server_await(replica, LONG_MS, "up", "EVAL %s 0",
                 "return redis.call('info','replication'):match"
                 "('master_link_status:(%a+)')");
}

static void switch_over(void)
{
    struct server *old = servers[master], *new = servers[1 - master];

    ck_assert_str_eq(server_ask(new, "REPLICAOF NO ONE"), "OK");
    (void)pthread_mutex_lock(&mutex);
    master = 1 - master;
    (void)pthread_mutex_unlock(&mutex);
    ck_assert_str_eq(server_ask(old, "REPLICAOF 127.0.0.1 %d", server_port(new)), "OK");
    await_replica(old);
}

/* Each worker gets locks again, and each of its holds is renewed: no client is made
 * anew. */
static void await_all_work(void)
{
    int64_t end_ms = local_now_ms() + 2 * LONG_MS;

    for (int i = 0; i < WORKERS; i++) {
        struct worker *w = &workers[i];
        uint64_t renewals = stats_of(w->client).renewals;
        int granted = note_read(&w->note, &w->granted);

        while (stats_of(w->client).renewals == renewals ||
               note_read(&w->note, &w->granted) == granted) {
            ck_assert_msg(local_now_ms() < end_ms, "worker %d does not go on", i);
            local_rest_us(10000);
        }
    }
}

static void end_worker(struct worker *w)
{
    (void)pthread_join(w->thread, NULL);
    for (int i = 0; i < w->count; i++) {
        ck_assert_int_gt(hf_lock_safe_ms(w->held[i], 1), 0);
        ck_assert_ok(hf_lock_release(w->held[i], 1, NULL));
        hf_lock_free(w->held[i]);
    }
    hf_client_free(w->client);
}

static void report(int switches)
{
    struct worker sum = {0};

    for (int i = 0; i < WORKERS; i++) {
        struct worker *w = &workers[i];

        sum.granted += note_read(&w->note, &w->granted);
        sum.refused += w->refused;
        sum.losses += note_read(&w->note, &w->losses);
        sum.wrong_losses += note_read(&w->note, &w->wrong_losses);
        sum.longest_ms = greater(sum.longest_ms, w->longest_ms);
        sum.beyond_ms = greater(sum.beyond_ms, w->beyond_ms);
    }
    (void)printf("%d switches behind HAProxy: %d locks granted, %lld acquires failed "
                 "in time, longest acquire %lld ms, %d holds lost, %d of them though "
                 "the new master had them\n",
                 switches, sum.granted, (long long)sum.refused,
                 (long long)sum.longest_ms, sum.losses, sum.wrong_losses);
    ck_assert_int_eq(sum.wrong_losses, 0);
    ck_assert_int_eq(sum.losses, 0); /* each was acknowledged by the new master */
    ck_assert_int_le(sum.beyond_ms, 0);
}

START_TEST(holds_and_acquires_survive_switches)
{
    static const char *const at_once[] = {"--repl-diskless-sync-delay", "0", NULL};
    const char *text = getenv("HF_SWITCHES");
    int switches = text ? atoi(text) : SWITCHES;

    for (int i = 0; i < 2; i++)
        servers[i] = server_start(at_once);
    (void)server_ask(servers[1], "REPLICAOF 127.0.0.1 %d", server_port(servers[0]));
    await_replica(servers[1]);
    haproxy_start(&haproxy, server_port(servers[0]), server_port(servers[1]));
    for (int i = 0; i < WORKERS; i++)
        start_worker(&workers[i], i);
    for (int i = 0; i < switches; i++) {
        local_rest_us(LOAD_MS * 1000);
        switch_over();
        await_all_work();
    }
    is_over = true;
    for (int i = 0; i < WORKERS; i++)
        end_worker(&workers[i]);
    report(switches);
    haproxy_stop(&haproxy);
    server_stop(servers[0]);
    server_stop(servers[1]);
}
END_TEST

static void nothing(void)
{
}

static void add(Suite *suite)
{
    TCase *c = live_case(suite, "switches", nothing, nothing);

    tcase_set_timeout(c, 0);
    tcase_add_test(c, holds_and_acquires_survive_switches);
}

int main(void)
{
    if (!haproxy_is_installed())
        return 77;
    return live_main("failover behind one address", add);
}
