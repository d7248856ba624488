/* Masters that die, stop, or are replaced under load (C12, C13, C17): new locks
 * work again soon after, holds that the new master knows go on, and those that it
 * does not know are reported lost. */
#include <stdatomic.h>

#include "tests/live/test_cluster.h"
#include "tests/support/lateness.h"

#define WATCHDOG_MS 6000        /* renewed each 2 s; longer than a failover */
#define THREADS 3
/* A master that is asked to fail over blocks its clients for up to 5 s, and in vain
 * if the election is lost. So this is not what finds out that one is silent. */
#define REQUEST_MS 12000
/* From when all nodes know the new master until a lock there is ours. */
#define AFTER_MS 4000

/* Node 0 goes; this one takes its place. */
#define REPLICA cluster_replica(cluster, 0, 0)

/* At node 0. What workers have released may be locked again afterwards, by an
 * acquire that was replicated and a release that was not, until its TTL ends: so
 * nobody works on the last. */
static char name_a[32], name_b[32], name_c[32], name_d[32], name_free[32];
static char elsewhere[32];

static void set_names(void)
{
    int n = 0;

    (void)name_at(0, &n, name_a);
    (void)name_at(0, &n, name_b);
    (void)name_at(0, &n, name_c);
    (void)name_at(0, &n, name_d);
    (void)name_at(0, &n, name_free);
    (void)name_at(1, &n, elsewhere);
}

static struct hf_client *client_of(int64_t watchdog_ms, bool is_single_seed)
{
    struct hf_client_options o;
    char url[CLUSTER_URL_MAX];

    cluster_options(&o, url);
    if (is_single_seed)
        (void)cluster_seed(url, server_port(cluster_node(cluster, 0)));
    o.watchdog_ms = watchdog_ms;
    o.request_timeout_ms = REQUEST_MS;
    return client_with(&o);
}

/* ---- load ---- */

static atomic_bool is_over;

struct worker {
    pthread_t thread;
    struct hf_client *client;
    const char *name;
    int rounds;
    int64_t worst_ms;
};

static void *work(void *arg)
{
    struct worker *w = arg;
    struct hf_error err = {0};
    struct hf_lock *lock;

    ck_must(hf_lock_new(&lock, w->client, w->name, strlen(w->name), &err) ==
                HF_OK,
            "a lock");
    while (!is_over) {
        int64_t began_ms = local_now_ms(), took_ms;
        hf_status rc;

        if (hf_lock_acquire(lock, NULL, &err) < 0)
            ck_abort_msg("acquire: %s", err.text);
        rc = hf_lock_release(lock, hf_owner_thread(), &err);
        if (rc < 0 && rc != HF_LOST) /* not replicated in time */
            ck_abort_msg("release: %s", err.text);
        took_ms = local_now_ms() - began_ms;
        w->worst_ms = took_ms > w->worst_ms ? took_ms : w->worst_ms;
        w->rounds++;
        local_rest_us(1000); /* the election needs the processor, too */
    }
    hf_lock_free(lock);
    return NULL;
}

static void workers_start(struct worker workers[THREADS],
                          struct hf_client *client)
{
    const char *names[THREADS] = {name_c, name_d, elsewhere};

    memset(workers, 0, THREADS * sizeof *workers);
    is_over = false;
    for (int i = 0; i < THREADS; i++) {
        workers[i].client = client;
        workers[i].name = names[i];
        ck_assert_int_eq(
            pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
}

static void workers_end(struct worker workers[THREADS])
{
    is_over = true;
    for (int i = 0; i < THREADS; i++) {
        (void)pthread_join(workers[i].thread, NULL);
        ck_assert_int_gt(workers[i].rounds, 0);
    }
}

/* ---- a master goes ---- */

static void hold(struct hf_client *client, const char *name, struct diary *d,
                 struct hf_lock **lock)
{
    struct hf_acquire_options o = diary_options(d, 1);

    *lock = lock_of(client, name);
    ck_assert_ok(hf_lock_acquire(*lock, &o, NULL));
}

static void replicate(void)
{
    ck_assert_int_gt(server_ask_int(cluster_node(cluster, 0), "WAIT 1 5000"),
                     0);
}

/* What comes next is in the master alone, not even on its way. */
static void cut_off_replica(void)
{
    server_pause(cluster_node(cluster, REPLICA));
    (void)server_ask(cluster_node(cluster, 0), "CLIENT KILL TYPE replica");
}

static void go(bool is_killed)
{
    if (is_killed)
        server_kill(cluster_node(cluster, 0));
    else
        server_pause(cluster_node(cluster, 0));
    server_resume(cluster_node(cluster, REPLICA));
    cluster_await_owner(cluster, slot_of(name_a), REPLICA);
}

/* In what time a lock of node 0 can be had. */
static int64_t time_of(struct hf_client *client, const char *name)
{
    struct hf_lock *lock = lock_of(client, name);
    int64_t began_ms = local_now_ms();

    acquire(lock, 9);
    release(lock, 9);
    hf_lock_free(lock);
    return local_now_ms() - began_ms;
}

/* One that knows the way, and has been at node 1 alone; and one that has been at
 * node 0 alone, and was told of nobody else. */
static void strangers_init(struct hf_client *strangers[2])
{
    strangers[0] = client_of(WATCHDOG_MS, false);
    strangers[1] = client_of(WATCHDOG_MS, true);
    (void)time_of(strangers[0], elsewhere);
    (void)time_of(strangers[1], name_free);
}

static void strangers_fini(struct hf_client *strangers[2])
{
    for (int i = 0; i < 2; i++) {
        int64_t took_ms = time_of(strangers[i], name_free);

        ck_assert_msg(took_ms < AFTER_MS, "stranger %d: %lld ms", i,
                      (long long)took_ms);
        hf_client_free(strangers[i]);
    }
}

/* `known` is in the replica, too, `unknown` is not. */
static void a_master_goes(bool is_killed)
{
    struct hf_client *client = client_of(WATCHDOG_MS, false);
    struct hf_client *strangers[2];
    struct hf_lock *known, *unknown;
    struct diary of_known, of_unknown;
    struct worker workers[THREADS];
    int renewals;

    set_names();
    strangers_init(strangers);
    hold(client, name_a, &of_known, &known);
    replicate();
    workers_start(workers, client);
    cut_off_replica();
    hold(client, name_b, &of_unknown, &unknown);
    renewals = note_read(&of_known.note, &of_known.renewals);
    go(is_killed);
    ck_assert_int_lt(time_of(client, name_free), AFTER_MS);
    strangers_fini(strangers);
    note_await(&of_known.note, &of_known.renewals, renewals + 1, "a renewal");
    ck_assert_int_eq(diary_await_loss(&of_unknown), HF_REASON_DELETED);
    workers_end(workers);
    ck_assert_int_lt(workers[2].worst_ms, AFTER_MS); /* nothing of it there */
    ck_assert_int_eq(of_known.losses, 0);
    release(known, 1);
    ck_assert_status(hf_lock_release(unknown, 1, NULL), HF_LOST);
    hf_lock_free(known);
    hf_lock_free(unknown);
    hf_client_free(client);
}

START_TEST(a_master_that_dies_under_load_is_followed_by_its_replica)
{
    a_master_goes(true);
}
END_TEST

START_TEST(a_master_that_stops_under_load_is_followed_by_its_replica)
{
    a_master_goes(false);
}
END_TEST

/* ---- replaced on purpose ---- */

static const char *const hows[] = {"", "FORCE", "TAKEOVER"};

START_TEST(a_failover_on_purpose_costs_no_hold)
{
    struct hf_client *client = client_of(WATCHDOG_MS, false);
    struct worker workers[THREADS];
    struct hf_lock *lock;
    struct diary d;

    set_names();
    hold(client, name_a, &d, &lock);
    replicate();
    workers_start(workers, client);
    cluster_failover(cluster, REPLICA, hows[_i]);
    ck_assert_int_lt(time_of(client, name_free), AFTER_MS);
    workers_end(workers);
    acquire(lock, 1);
    ck_assert_holder(cluster_node(cluster, REPLICA), lock, 1, 2);
    release(lock, 1);
    release(lock, 1);
    ck_assert_int_eq(d.losses, 0);
    hf_lock_free(lock);
    hf_client_free(client);
}
END_TEST

/* ---- nobody takes its place ---- */

/* The state of a cluster with a part missing: ok, or fail. */
static void require_full_coverage(const char *yes_or_no)
{
    for (int i = 0; i < NODES; i++)
        (void)server_ask(cluster_node(cluster, i),
                         "CONFIG SET cluster-require-full-coverage %s",
                         yes_or_no);
}

/* Neither the master nor its replica answers: what they hold is lost before the
 * server can let go of it; the others' holds never notice (C17). And what is new
 * to the lost slots is refused at its deadline, with their names. */
static void must_be_refused(struct hf_client *client, const char *name)
{
    struct hf_acquire_options o = acquire_options(1);
    struct hf_lock *lock = lock_of(client, name);
    int64_t began_ms = local_now_ms();
    struct hf_error err = {0};
    hf_status rc;

    o.wait_ms = 500;
    rc = hf_lock_acquire(lock, &o, &err);
    ck_assert_msg(rc == HF_E_NOREPLY || rc == HF_E_CONNECT, "%d: %s", rc,
                  err.text);
    ck_assert_within(began_ms, IN_TIME_MS);
    hf_lock_free(lock);
}

START_TEST(only_holds_of_the_failed_master_are_lost)
{
    struct hf_client *client = client_of(1500, false);
    struct diary here, there;
    struct hf_lock *a, *b;

    set_names();
    require_full_coverage("no");
    hold(client, name_a, &here, &a);
    hold(client, elsewhere, &there, &b);
    server_pause(cluster_node(cluster, 0));
    server_pause(cluster_node(cluster, REPLICA));
    ck_assert_unreached(&here);
    ck_assert_int_gt(note_read(&there.note, &there.renewals), 0);
    ck_assert_int_gt(hf_lock_safe_ms(b, 1), 0);
    ck_assert_int_eq(hf_lock_safe_ms(a, 1), INT64_MIN);
    must_be_refused(client, name_b);
    release(b, 1);
    cluster_mend(cluster);
    require_full_coverage("yes");
    ck_assert_status(hf_lock_release(a, 1, NULL), HF_LOST);
    hf_lock_free(a);
    hf_lock_free(b);
    hf_client_free(client);
}
END_TEST

/* ---- no majority (C12) ---- */

static void pause_all_but(int node)
{
    for (int i = 0; i < NODES; i++)
        if (i != node)
            server_pause(cluster_node(cluster, i));
    cluster_await_state(cluster, node, "fail");
}

START_TEST(a_cluster_without_a_majority_reports_it_and_works_again)
{
    struct hf_client *client = client_of(WATCHDOG_MS, false);
    struct hf_acquire_options o = acquire_options(1);
    struct hf_error err = {0};
    struct hf_lock *lock;
    int64_t began_ms;

    set_names();
    lock = lock_of(client, name_a);
    acquire(lock, 1);
    release(lock, 1);
    pause_all_but(0);
    o.wait_ms = SET_UP_MS;
    began_ms = local_now_ms();
    ck_assert_status(hf_lock_acquire(lock, &o, &err), HF_E_SERVER);
    ck_assert_within(began_ms, IN_TIME_MS);
    ck_assert_msg(strstr(err.text, "CLUSTERDOWN") != NULL, "%s", err.text);
    cluster_mend(cluster);
    ck_assert_int_lt(time_of(client, name_free), AFTER_MS);
    hf_lock_free(lock);
    hf_client_free(client);
}
END_TEST

static void await_error_replies(struct hf_client *client, uint64_t count)
{
    int64_t end_ms = local_now_ms() + CLUSTER_PATIENCE_MS;

    while (stats_of(client).link.error_replies < count) {
        ck_assert_int_lt(local_now_ms(), end_ms);
        local_poll_rest();
    }
}

/* The shortest pause between two retries, after the first ones (lock/script/call.c). */
#define RETRY_MS 80

/* More refusals than one request receives before its timeout. */
START_TEST(a_waiter_outlives_a_cluster_without_a_majority)
{
    struct hf_client_options options;
    struct hf_acquire_options o;
    char url[CLUSTER_URL_MAX];
    struct hf_client *client, *holder;
    struct hf_lock *lock, *held;
    struct diary diary;
    struct call call;

    o = diary_options(&diary, 1);
    set_names();
    cluster_options(&options, url);
    options.request_timeout_ms = SET_UP_MS;
    client = client_with(&options);
    lock = lock_of(client, name_a);
    holder = client_of(60000, false);
    held = lock_of(holder, name_a);
    acquire(held, 1);
    call_acquire(&call, lock, &o);
    note_await(&diary.note, &diary.waits, 1, "on_wait");
    pause_all_but(0);
    server_kill_connections(cluster_node(cluster, 0)); /* makes it look again */
    await_error_replies(client, SET_UP_MS / RETRY_MS * 3 / 2);
    ck_assert(!call_is_done(&call));
    cluster_mend(cluster);
    release(held, 1);
    ck_assert_status(call_await(&call), HF_OK);
    release(lock, 1);
    hf_client_free(client);
    hf_client_free(holder);
}
END_TEST

static void add_cases(Suite *s)
{
    TCase *c = cluster_case(s, "failover", false);

    tcase_add_test(c, a_master_that_dies_under_load_is_followed_by_its_replica);
    tcase_add_loop_test(c, a_failover_on_purpose_costs_no_hold, 0, COUNT(hows));
    tcase_add_test(
        c,
        only_holds_of_the_failed_master_are_lost);
    tcase_add_test(c, a_cluster_without_a_majority_reports_it_and_works_again);
    tcase_add_test(c, a_waiter_outlives_a_cluster_without_a_majority);

    c = cluster_case(s, "failover, RESP2", true);
    tcase_add_test(c,
                   a_master_that_stops_under_load_is_followed_by_its_replica);
}

int main(void)
{
    return cluster_main("cluster, failover", add_cases);
}
