/* Does a hold survive a failover? HF_ROUNDS masters are killed while two clients
 * take locks of theirs as fast as they can: one has each grant acknowledged by
 * all replicas, the other does not. Before each kill the replica is stopped for a
 * moment, as by a slow disk or network.
 *
 * Of the first no hold may be lost. Of the second some are, or the run has shown
 * nothing; and each holder must be told. (faults S8.) */
#include <stdatomic.h>

#include "tests/live/test_cluster.h"

#define ROUNDS 50
#define HOLDS_MAX 20000
#define WARM_MS 60             /* of granting with a replica that listens */
#define DEAF_MS 120            /* and with one that does not */
#define WATCHDOG_MS 6000

struct taker {
    pthread_t thread;
    const char *what;
    struct hf_client *client;
    const char *prefix;
    int count;                 /* of grants */
    int refused;               /* unreplicated, or no answer */
    struct hf_lock *locks[HOLDS_MAX];
    struct note note;
    int losses;                /* told */
    int lost;                  /* gone from the server */
    int sum_count, sum_lost, sum_told;
};

static struct taker acknowledged = {.what = "acknowledged", .prefix = "a"};
static struct taker plain = {.what = "plain", .prefix = "p"};
static atomic_bool is_over;

/* ---- taking ---- */

/* In the slot that the round is about. */
static void name_of(const struct taker *t, int round, int n, char name[64])
{
    (void)snprintf(name, 64, "{%s}:%s:%d:%d", "06S", t->prefix, round, n);
}

static void on_lost(void *ctx, struct hf_lock *lock, int64_t owner,
                    enum hf_lost reason)
{
    struct taker *t = ctx;

    (void)lock;
    (void)owner;
    ck_must(reason == HF_REASON_DELETED,
            "what the new master does not know is gone");
    note_add(&t->note, &t->losses);
}

static int round_now;

static void *take(void *arg)
{
    struct taker *t = arg;
    struct hf_acquire_options o = acquire_options(1);
    char name[64];

    o.on_lost = on_lost;
    o.ctx = t;
    o.wait_ms = 0;
    for (int n = 0; !is_over && t->count < HOLDS_MAX; n++) {
        struct hf_lock *lock;

        name_of(t, round_now, n, name);
        ck_must(hf_lock_new(&lock, t->client, name, strlen(name), NULL) ==
                HF_OK,
                "a lock");
        if (hf_lock_acquire(lock, &o, NULL) == HF_OK) {
            t->locks[t->count++] = lock;
        } else {
            t->refused++;
            hf_lock_free(lock);
        }
    }
    return NULL;
}

static struct hf_client *client_of(const char *option)
{
    struct hf_client_options o;
    char url[CLUSTER_URL_MAX];

    cluster_options(&o, url);
    (void)cluster_url(url, option);
    o.watchdog_ms = WATCHDOG_MS;
    o.request_timeout_ms = 2000;
    return client_with(&o);
}

static void begin(struct taker *t, const char *option)
{
    t->client = client_of(option);
    t->count = t->refused = t->losses = t->lost = 0;
    note_init(&t->note);
    ck_assert_ok(hf_client_connect(t->client, NULL));
    (void)pthread_create(&t->thread, NULL, take, t);
}

/* ---- judging ---- */

static void judge(struct taker *t, struct server *master)
{
    char owner[HF_OWNER_TEXT_MAX];

    for (int i = 0; i < t->count; i++) {
        size_t len;
        const char *name = hf_lock_name(t->locks[i], &len);

        (void)hf_lock_owner_text(t->locks[i], 1, owner);
        if (!owner[0] || server_ask_int(master, "HEXISTS %b %s", name, len,
                                        owner) == 0)
            t->lost++;
    }
}

/* Each holder is told by its next renewal; nobody else is. */
static void end(struct taker *t)
{
    note_await(&t->note, &t->losses, t->lost, "on_lost of what was lost");
    for (int i = 0; i < t->count; i++) {
        hf_status rc = hf_lock_release(t->locks[i], 1, NULL);

        if (rc != HF_OK && rc != HF_LOST)
            ck_abort_msg("release: %s", hf_status_name(rc));
        hf_lock_free(t->locks[i]);
    }
    ck_assert_int_eq(note_read(&t->note, &t->losses), t->lost);
    hf_client_free(t->client);
    t->sum_count += t->count;
    t->sum_lost += t->lost;
    t->sum_told += t->losses;
}

static int partner_of(int node)
{
    return node < MASTERS ? cluster_replica(cluster, node, 0) : 0;
}

static void run_round(int round)
{
    int slot = slot_of("{06S}");
    int master = cluster_owner(cluster, slot);
    int replica = partner_of(master);

    for (int i = 0; i < MASTERS; i++)
        if (cluster_replica(cluster, i, 0) == master)
            replica = i;
    round_now = round;
    is_over = false;
    begin(&acknowledged, "replicas=all&replicas_timeout=300ms");
    begin(&plain, "");
    local_rest_us(WARM_MS * 1000);
    server_pause(cluster_node(cluster, replica));
    local_rest_us(DEAF_MS * 1000);
    server_kill(cluster_node(cluster, master));
    server_resume(cluster_node(cluster, replica));
    cluster_await_owner(cluster, slot, replica);
    is_over = true;
    (void)pthread_join(acknowledged.thread, NULL);
    (void)pthread_join(plain.thread, NULL);
    judge(&acknowledged, cluster_node(cluster, replica));
    judge(&plain, cluster_node(cluster, replica));
    (void)printf("round %d: acknowledged %d, lost %d; plain %d, lost %d\n",
                 round, acknowledged.count, acknowledged.lost, plain.count,
                 plain.lost);
    (void)fflush(stdout);
    end(&acknowledged);
    end(&plain);
}

/* The replica takes part again: what is written now gets there. */
static void await_acknowledgement(struct server *master)
{
    (void)server_ask(master, "SET %s 1", "{06S}");
    server_await(master, LONG_MS, "1", "WAIT 1 100");
    (void)server_ask(master, "DEL %s", "{06S}");
}

START_TEST(acknowledged_holds_survive)
{
    const char *text = getenv("HF_ROUNDS");
    int rounds = text ? atoi(text) : ROUNDS;

    for (int i = 0; i < rounds; i++) {
        run_round(i);
        cluster_mend(cluster);
        await_acknowledgement(cluster_node(
            cluster, cluster_owner(cluster, slot_of("{06S}"))));
    }
    (void)printf("%d failovers: of %d acknowledged holds %d were lost; of %d "
                 "plain ones %d, of which %d holders were told\n",
                 rounds, acknowledged.sum_count, acknowledged.sum_lost,
                 plain.sum_count, plain.sum_lost, plain.sum_told);
    ck_assert_int_eq(acknowledged.sum_lost, 0);
    ck_assert_int_gt(plain.sum_lost, 0);
    ck_assert_int_eq(plain.sum_told, plain.sum_lost);
}
END_TEST

static void add(Suite *suite)
{
    TCase *c = cluster_case(suite, "failover", false);

    tcase_set_timeout(c, 0);
    tcase_add_test(c, acknowledged_holds_survive);
}

int main(void)
{
    return cluster_main("failovers", add);
}
