/* How soon does a client follow when a master stops and says nothing? HF_TRIALS
 * times a master gets SIGSTOP and its replica takes its place, in three ways:
 *
 *   alone     nothing else happens
 *   replica   the replica of another master is stopped, too
 *   moved     one slot changes its owner while the cluster's state is "fail"
 *
 * The delay is from when the new master serves until it grants a lock that was
 * asked for when the old one stopped: two TTLs of the new master tell both, so
 * its own clock judges.
 *
 * A lock that the new master does not have was granted by the old one, which
 * continues RESUME_MS later and executes what it was sent: a false grant. Then
 * another client asks for a lock that is held, and whose renewal was due while
 * the old master was stopped: an overlap is a grant while the holder believes
 * that it is safe. */
#include "tests/live/test_cluster.h"

#define TRIALS 24
#define WATCHDOG_MS 6000
#define HELD_MS 1800           /* until the next renewal is due */
#define RESUME_MS 600
#define MARK_MS 100000
#define LEASE_MS 60000
#define CONTEND_MS 5000        /* the watchdog's lease ends before */
#define SLOW_MS 1000           /* a delay that is worth a name */

enum way { ALONE, REPLICA, MOVED, WAYS };
static const char *const ways[] = {"alone", "replica", "moved"};

struct trial {
    hf_status status;          /* of the acquire */
    bool is_false;
    long long delay_ms;
    int losses;                /* of the hold */
    int64_t overlap_ms;        /* how long the holder was still to be safe */
};

static int new_master(void)
{
    return cluster_replica(cluster, 0, 0);
}

static struct hf_client *new_client(void)
{
    struct hf_client_options o;
    char url[CLUSTER_URL_MAX];

    cluster_options(&o, url);
    o.watchdog_ms = WATCHDOG_MS;
    return client_with(&o);
}

/* ---- what happens ---- */

#define MOVED_SLOT (HF_SLOTS / MASTERS + 7)

/* From node 1 to node 2, or back: whoever runs is told so. */
static void change_owner_of_a_slot(void)
{
    int to = cluster_owner(cluster, MOVED_SLOT) == 1 ? 2 : 1;

    cluster_await_state(cluster, 1, "fail");
    for (int i = 1; i < NODES; i++)
        (void)server_ask(cluster_node(cluster, i), "CLUSTER SETSLOT %d NODE %s",
                         MOVED_SLOT, cluster_id(cluster, to));
}

/* A greater epoch tells the node that was stopped then, and replicas, which take
 * no SETSLOT. */
static void make_all_agree(void)
{
    for (int node = 1; node < MASTERS; node++)
        if (cluster_view(cluster, node, MOVED_SLOT) == node)
            (void)server_ask(cluster_node(cluster, node), "CLUSTER BUMPEPOCH");
}

static void stop(enum way way)
{
    server_pause(cluster_node(cluster, 0));
    if (way == REPLICA)
        server_pause(cluster_node(cluster, cluster_replica(cluster, 1, 0)));
    if (way == MOVED)
        change_owner_of_a_slot();
}

/* ---- what is measured ---- */

static void await_service(const char *mark)
{
    server_await(cluster_node(cluster, new_master()), LONG_MS, "OK",
                 "SET %s 1 NX PX %d", mark, MARK_MS);
}

static bool is_there(const char *name)
{
    return server_ask_int(cluster_node(cluster, new_master()), "EXISTS %s",
                          name) == 1;
}

static long long age_of(const char *name, long long lease_ms)
{
    return lease_ms -
           server_ask_int(cluster_node(cluster, new_master()), "PTTL %s", name);
}

/* What another gets while the holder believes in its hold. */
static int64_t overlap_of(struct hf_lock *held, const char *name)
{
    struct hf_client *client = new_client();
    struct hf_lock *lock = lock_of(client, name);
    struct hf_acquire_options o = acquire_options(2);
    int64_t overlap_ms = 0;

    o.wait_ms = CONTEND_MS;
    if (hf_lock_acquire(lock, &o, NULL) == HF_OK) {
        overlap_ms = hf_lock_safe_ms(held, 1);
        release(lock, 2);
    }
    hf_lock_free(lock);
    hf_client_free(client);
    return overlap_ms > 0 ? overlap_ms : 0;
}

static struct trial try(enum way way)
{
    struct trial t = {0};
    struct hf_client *client = new_client();
    char mark[32], wanted[32], held[32];
    struct hf_lock *lock, *hold;
    struct hf_acquire_options o;
    struct diary diary;
    struct call call;
    int n = 0;

    o = diary_options(&diary, 1);
    hold = lock_of(client, name_at(0, &n, held));
    lock = lock_of(client, name_at(0, &n, wanted));
    (void)name_at(0, &n, mark);
    ck_assert_ok(hf_lock_acquire(hold, &o, NULL));
    (void)server_ask_int(cluster_node(cluster, 0), "WAIT 1 1000");
    local_rest_us(HELD_MS * 1000);
    stop(way);
    o = acquire_options(1);
    o.lease_ms = LEASE_MS;
    o.wait_ms = LONG_MS - 500;
    call_acquire(&call, lock, &o);
    await_service(mark);
    local_rest_us(RESUME_MS * 1000);
    server_resume(cluster_node(cluster, 0));
    t.overlap_ms = overlap_of(hold, held);
    t.losses = note_read(&diary.note, &diary.losses);
    t.status = call_await(&call);
    t.is_false = t.status == HF_OK && !is_there(wanted);
    t.delay_ms = age_of(mark, MARK_MS) - age_of(wanted, LEASE_MS);
    if (way == MOVED)
        make_all_agree();
    hf_lock_free(lock);
    hf_lock_free(hold);
    hf_client_free(client);
    return t;
}

/* ---- the table ---- */

struct sum {
    int count, granted, is_false, slow, lost, overlaps;
    long long least_ms, most_ms;
    int64_t overlap_ms;
};

static void add_to(struct sum *s, const struct trial *t)
{
    s->count++;
    s->lost += t->losses;
    s->overlaps += t->overlap_ms > 0;
    s->overlap_ms =
        t->overlap_ms > s->overlap_ms ? t->overlap_ms : s->overlap_ms;
    s->is_false += t->is_false;
    if (t->status != HF_OK || t->is_false)
        return;
    s->least_ms = s->granted == 0 || t->delay_ms < s->least_ms ? t->delay_ms
                                                               : s->least_ms;
    s->most_ms = t->delay_ms > s->most_ms ? t->delay_ms : s->most_ms;
    s->granted++;
    s->slow += t->delay_ms > SLOW_MS;
}

START_TEST(a_silent_master_is_followed)
{
    const char *text = getenv("HF_TRIALS");
    int trials = text ? atoi(text) : TRIALS;
    struct sum sum = {0};

    for (int i = 0; i < trials; i++) {
        struct trial t = try((enum way)_i);

        (void)printf("%s %d: %s%s after %lld ms, %d lost, overlap %lld ms\n",
                     ways[_i], i, hf_status_name(t.status),
                     t.is_false ? " by the old master" : "", t.delay_ms,
                     t.losses, (long long)t.overlap_ms);
        (void)fflush(stdout);
        add_to(&sum, &t);
        cluster_clean();
    }
    (void)printf("%s: %d of %d granted, after %lld to %lld ms, %d of them after "
                 "more than %d; %d by the old master; %d holds lost; %d overlaps, "
                 "up to %lld ms\n",
                 ways[_i], sum.granted, sum.count, sum.least_ms, sum.most_ms,
                 sum.slow, SLOW_MS, sum.is_false, sum.lost, sum.overlaps,
                 (long long)sum.overlap_ms);
    ck_assert_int_eq(sum.granted - sum.slow, sum.count);
    ck_assert_int_eq(sum.overlaps, 0);
}
END_TEST

/* A case for each way: CK_RUN_CASE chooses. */
static void add(Suite *suite)
{
    for (int way = 0; way < WAYS; way++) {
        TCase *c = cluster_case(suite, ways[way], false);

        tcase_set_timeout(c, 0);
        tcase_add_loop_test(c, a_silent_master_is_followed, way, way + 1);
    }
}

int main(void)
{
    return cluster_main("silence", add);
}
