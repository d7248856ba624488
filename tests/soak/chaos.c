/* Are two owners ever both safe? HF_SECONDS long, on a cluster or (HF_CHAOS=
 * sentinel) on a master that sentinels watch: threads with a client each take the
 * same few locks, for long and short, again and less, with leases that become
 * shorter; meanwhile servers stop and continue, connections are cut, scripts are
 * forgotten, slots move, masters are replaced.
 *
 * The judge looks at hf_lock_safe_ms of all of them. Two that are safe at one
 * instant are an overlap. A failover explains one if a master was lost since one of
 * the two was asked for: Redis replicates behind its answers, and a master that
 * continues serves beside its successor until it is told. Any other is a fault of
 * ours. */
#include <hiredis/hiredis.h>
#include <stdatomic.h>

#include "tests/live/test_cluster.h"
#include "tests/support/dice.h"
#include "tests/support/sentinels.h"

#define SECONDS 60
#define WORKERS 8
#define LOCKS 4
#define WATCHDOG_MS 3000
#define WAIT_MS_MAX 2000

static struct sentinels *sentinels; /* NULL: a cluster */

/* Of one worker. The judge reads safe moments by the lock's own functions. */
struct worker {
    pthread_t thread;
    struct hf_client *client;
    struct hf_lock *locks[LOCKS];
    uint64_t seed;
    int64_t owner;
    atomic_int granted_at[LOCKS];   /* how many masters had been lost then */
    atomic_ulong followed_at[LOCKS];/* and how many failovers followed */
    atomic_long acquired, refused, lost, told;
};

static struct worker workers[WORKERS];
static atomic_int masters_lost;
static atomic_bool is_over;

static void rest_ms(uint64_t ms)
{
    local_rest_us((int64_t)ms * 1000);
}

/* By all clients. Sentinels replace a master by themselves, too, where a busy
 * machine keeps it from answering. In a cluster a map changes with each slot. */
static unsigned long followed(void)
{
    unsigned long sum = 0;

    for (int i = 0; sentinels && i < WORKERS; i++)
        sum += stats_of(workers[i].client).route.maps;
    return sum;
}

/* ---- those who want locks ---- */

static void on_lost(void *ctx, struct hf_lock *lock, int64_t owner,
                    enum hf_lost reason)
{
    struct worker *w = ctx;

    (void)lock;
    (void)owner;
    (void)reason;
    w->told++;
}

static struct hf_acquire_options wish(struct worker *w)
{
    struct hf_acquire_options o = acquire_options(w->owner);

    o.wait_ms = (int64_t)dice_of(&w->seed, WAIT_MS_MAX);
    if (dice_of(&w->seed, 3) == 0)
        o.lease_ms = 200 + (int64_t)dice_of(&w->seed, 4000);
    o.on_lost = on_lost;
    o.ctx = w;
    return o;
}

static void hold_a_while(struct worker *w)
{
    rest_ms(dice_of(&w->seed, 20) == 0 ? dice_of(&w->seed, 2500)
                                    : dice_of(&w->seed, 60));
}

/* Returns how often it is held more. */
static int hold_again(struct worker *w, struct hf_lock *lock)
{
    struct hf_acquire_options o = wish(w);

    if (dice_of(&w->seed, 3) != 0)
        return 0;
    return hf_lock_acquire(lock, &o, NULL) == HF_OK;
}

static void use(struct worker *w, int i)
{
    struct hf_acquire_options o = wish(w);
    struct hf_lock *lock = w->locks[i];
    int held = 1;

    w->granted_at[i] = masters_lost; /* by now, at the latest */
    w->followed_at[i] = followed();
    if (hf_lock_acquire(lock, &o, NULL) != HF_OK) {
        w->refused++;
        return;
    }
    w->acquired++;
    hold_a_while(w);
    held += hold_again(w, lock);
    hold_a_while(w);
    for (; held > 0; held--)
        if (hf_lock_release(lock, w->owner, NULL) == HF_LOST)
            w->lost++;
}

static void *work(void *arg)
{
    struct worker *w = arg;

    while (!is_over)
        use(w, (int)dice_of(&w->seed, LOCKS));
    return NULL;
}

static void open_client(struct worker *w, int number)
{
    struct hf_client_options o;
    char url[CLUSTER_URL_MAX], name[32];

    hf_client_options_init(&o);
    if (sentinels)
        (void)snprintf(url, sizeof url,
                       "redis+sentinel://127.0.0.1:%d,127.0.0.1:%d/" SENTINELS_NAME,
                       server_port(sentinels_sentinel(sentinels, 0)),
                       server_port(sentinels_sentinel(sentinels, 1)));
    else
        (void)cluster_url(url, "");
    o.url = url;
    o.log = cluster_log;
    o.protocol = number % 4 == 3 ? 2 : 3;
    o.watchdog_ms = WATCHDOG_MS;
    o.request_timeout_ms = 1000;
    o.replicas = number % 2;
    o.replicas_timeout_ms = number % 2 ? 300 : 0;
    w->client = client_with(&o);
    w->owner = 1 + number;
    w->seed = DICE_SEED + (uint64_t)number * 7919;
    for (int i = 0; i < LOCKS; i++) {
        (void)snprintf(name, sizeof name, "chaos:%d", i);
        w->locks[i] = lock_of(w->client, name);
    }
}

/* ---- the judge ---- */

static long overlaps, explained;
static int64_t longest_ms;

static int64_t safe_ms(const struct worker *w, int i)
{
    return hf_lock_safe_ms(w->locks[i], w->owner);
}

/* Is it the same hold, by the number in its owner field? */
static bool is_still(const struct worker *w, int i, const char *text)
{
    char now[HF_OWNER_TEXT_MAX];

    return strcmp(hf_lock_owner_text(w->locks[i], w->owner, now), text) == 0;
}

/* Since the hold was asked for, or just now: an odd number means that one is
 * away, and two may serve when it continues. */
static bool was_a_master_lost(const struct worker *w, int i)
{
    return masters_lost % 2 || w->granted_at[i] != masters_lost ||
           w->followed_at[i] != followed();
}

/* Of the two the one that was safe before and after the other was asked. */
static void compare(struct worker *a, struct worker *b, int i)
{
    char text[HF_OWNER_TEXT_MAX];
    int64_t left_a, left_b;

    (void)hf_lock_owner_text(a->locks[i], a->owner, text);
    if (!text[0] || safe_ms(a, i) <= 0 || (left_b = safe_ms(b, i)) <= 0 ||
        (left_a = safe_ms(a, i)) <= 0 || !is_still(a, i, text))
        return;
    overlaps++;
    if (left_b < left_a)
        left_a = left_b;
    if (left_a > longest_ms)
        longest_ms = left_a;
    if (was_a_master_lost(a, i) || was_a_master_lost(b, i))
        explained++;
    else
        (void)printf("overlap on lock %d: workers %d and %d, both for %lld ms\n",
                     i, (int)(a - workers), (int)(b - workers),
                     (long long)left_a);
    (void)fflush(stdout);
}

static void *judge(void *arg)
{
    (void)arg;
    while (!is_over) {
        for (int i = 0; i < LOCKS; i++)
            for (int a = 0; a < WORKERS; a++)
                for (int b = 0; b < a; b++)
                    compare(&workers[a], &workers[b], i);
        local_rest_us(500);
    }
    return NULL;
}

/* ---- what goes wrong ---- */

static uint64_t fate = 2463534242u;

static int count_servers(void)
{
    return sentinels ? 3 : NODES;
}

static struct server *any_server(void)
{
    int i = (int)dice_of(&fate, (uint64_t)count_servers());

    return sentinels ? sentinels_server(sentinels, i)
                     : cluster_node(cluster, i);
}

/* Less long than it takes to be replaced. */
static void stop_for_a_moment(void)
{
    struct server *s = any_server();

    server_pause(s);
    rest_ms(20 + dice_of(&fate, 400));
    server_resume(s);
}

/* Sentinels may hang up on us meanwhile, for a server that they demote. */
static void ask_anyhow(const char *words)
{
    redisContext *c = server_connect(any_server());

    if (!c)
        return;
    freeReplyObject(redisCommand(c, words));
    redisFree(c);
}

static void cut_connections(void)
{
    ask_anyhow("CLIENT KILL TYPE normal SKIPME yes");
    ask_anyhow("CLIENT KILL TYPE pubsub SKIPME yes");
}

static void forget_scripts(void)
{
    ask_anyhow("SCRIPT FLUSH");
}

/* In order, so that nothing is lost; but not every client hears of it at once. */
static void move_or_hand_over(void)
{
    char name[32];
    int slot, from;

    if (sentinels)
        return;
    (void)snprintf(name, sizeof name, "chaos:%d", (int)dice_of(&fate, LOCKS));
    slot = slot_of(name);
    from = cluster_owner(cluster, slot);
    for (int i = 0; i < NODES; i++)
        if (i != from && cluster_owner(cluster, HF_SLOTS * i / NODES) == i) {
            cluster_move(cluster, slot, i);
            return;
        }
}

static struct server *master_now(void)
{
    char name[32];

    if (sentinels)
        return sentinels_server(sentinels, sentinels_master(sentinels));
    (void)snprintf(name, sizeof name, "chaos:%d", (int)dice_of(&fate, LOCKS));
    return cluster_node(cluster, cluster_owner_of(cluster, name));
}

static void mend(void)
{
    if (!sentinels) {
        cluster_mend(cluster);
        return;
    }
    for (int i = 0; i < 3; i++)
        if (!server_is_running(sentinels_server(sentinels, i)))
            server_restart(sentinels_server(sentinels, i));
    local_rest_us(8000000); /* sentinels allow no other failover before */
}

/* Writes that had no time to get to the replica are gone. */
static void lose_a_master(void)
{
    struct server *s = master_now();
    bool is_killed = dice_of(&fate, 2);

    masters_lost++;
    if (is_killed)
        server_kill(s);
    else
        server_pause(s);
    rest_ms(2500 + dice_of(&fate, 1500));
    if (!is_killed)
        server_resume(s);
    mend();
    masters_lost++; /* what was granted meanwhile may be lost, too */
}

static void go_wrong(void)
{
    static void (*const ways[])(void) = {
        stop_for_a_moment, stop_for_a_moment, cut_connections, cut_connections,
        forget_scripts,    move_or_hand_over,
    };

    if (dice_of(&fate, 40) == 0)
        lose_a_master();
    else
        ways[dice_of(&fate, sizeof ways / sizeof *ways)]();
    rest_ms(dice_of(&fate, 300));
}

/* ---- */

static void tell(void)
{
    long acquired = 0, refused = 0, lost = 0, told = 0;

    for (int i = 0; i < WORKERS; i++) {
        acquired += workers[i].acquired;
        refused += workers[i].refused;
        lost += workers[i].lost;
        told += workers[i].told;
    }
    (void)printf("%s: %ld acquired, %ld not, %ld lost, %ld told; %d masters "
                 "lost; %ld overlaps, %ld of them explained by a failover, the "
                 "longest %lld ms\n",
                 sentinels ? "sentinels" : "cluster", acquired, refused, lost,
                 told, masters_lost / 2, overlaps, explained,
                 (long long)longest_ms);
}

static void run(void)
{
    const char *text = getenv("HF_SECONDS");
    int64_t end_ms = local_now_ms() + 1000 * (text ? atoll(text) : SECONDS);
    pthread_t judging;

    for (int i = 0; i < WORKERS; i++)
        open_client(&workers[i], i);
    for (int i = 0; i < WORKERS; i++)
        (void)pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    (void)pthread_create(&judging, NULL, judge, NULL);
    while (local_now_ms() < end_ms)
        go_wrong();
    is_over = true;
    for (int i = 0; i < WORKERS; i++)
        (void)pthread_join(workers[i].thread, NULL);
    (void)pthread_join(judging, NULL);
    for (int i = 0; i < WORKERS; i++)
        hf_client_free(workers[i].client);
    tell();
    ck_assert_int_eq(overlaps, explained);
}

START_TEST(two_owners_are_never_both_safe)
{
    sentinels = sentinels_start(
        &(struct sentinels_options){.replicas = 2, .sentinels = 3});
    run();
    sentinels_stop(sentinels);
}
END_TEST

START_TEST(two_owners_are_never_both_safe_in_a_cluster)
{
    run();
}
END_TEST

static void add(Suite *suite)
{
    const char *what = getenv("HF_CHAOS");
    bool is_sentinel = what && strcmp(what, "sentinel") == 0;
    TCase *c = is_sentinel ? tcase_create("sentinels")
                           : cluster_case(suite, "cluster", false);

    tcase_set_timeout(c, 0);
    if (is_sentinel) {
        tcase_add_test(c, two_owners_are_never_both_safe);
        suite_add_tcase(suite, c);
    } else {
        tcase_add_test(c, two_owners_are_never_both_safe_in_a_cluster);
    }
}

int main(void)
{
    return cluster_main("chaos", add);
}
