/* Locks while slots move from node to node under them (C6, C8, C9, C14, C20): no
 * error reaches a caller, no hold is lost, no count is wrong.
 *
 * HF_SOAK_S in the environment is for how many seconds slots move; else 3. */
#include <hiredis/hiredis.h>
#include <stdatomic.h>

#include "tests/live/test_cluster.h"

#define WATCHDOG_MS 6000        /* renewed each 2 s */
#define HELD 1000               /* all the time */
#define THREADS 4               /* each acquires and releases, in a row, */
#define NAMES 64                /* locks of these many names */
#define RESHARD "300"           /* slots at a time */

static int soak_s(void)
{
    const char *text = getenv("HF_SOAK_S");

    return text ? atoi(text) : 3;
}

/* ---- what the nodes said, counted as it came ---- */

static atomic_int moved, asked, tried_again, lacked_script;

static void on_trace(void *ctx, const struct hf_trace *trace)
{
    (void)ctx;
    if (trace->kind != HF_TRACE_ENDED || trace->outcome != HF_ANSWERED)
        return;
    moved += hf_resp_error_is(trace->reply, "MOVED");
    asked += hf_resp_error_is(trace->reply, "ASK");
    tried_again += hf_resp_error_is(trace->reply, "TRYAGAIN");
    lacked_script += hf_resp_error_is(trace->reply, "NOSCRIPT");
}

static struct hf_client *client_driven_by(bool a_thread, int64_t watchdog_ms)
{
    struct hf_client_options o;
    char url[CLUSTER_URL_MAX];

    cluster_options(&o, url);
    o.watchdog_ms = watchdog_ms;
    o.trace = on_trace;
    o.thread = a_thread;
    return client_with(&o);
}

static struct hf_client *traced_client(void)
{
    return client_driven_by(true, WATCHDOG_MS);
}

/* ---- what is held ---- */

/* As the one node says that has the key, wherever its slot is on its way to: all
 * of them are asked for all they have. */
static int hold_count_at_any(const char *name, struct hf_lock *lock,
                             int64_t owner)
{
    char text[HF_OWNER_TEXT_MAX];
    int count = 0;

    (void)hf_lock_owner_text(lock, owner, text);
    for (int i = 0; i < MASTERS; i++) {
        redisContext *r = server_connect(cluster_node(cluster, i));
        redisReply *asking = redisCommand(r, "ASKING");
        redisReply *reply = redisCommand(r, "HGET %s %s", name, text);

        count += reply->type == REDIS_REPLY_STRING ? atoi(reply->str) : 0;
        freeReplyObject(asking);
        freeReplyObject(reply);
        redisFree(r);
    }
    return count;
}

/* ---- slots that move ---- */

/* As an operator does it. */
static void reshard(int from, int to)
{
    const struct hf_tls_options *tls = tls_wanted();
    char command[2000], files[1000] = "";

    if (tls)
        (void)snprintf(files, sizeof files, "--tls --cacert %s --cert %s "
                       "--key %s", tls->ca_file, tls->cert_file,
                       tls->cert_file);
    (void)snprintf(command, sizeof command,
                   "redis-cli %s --cluster reshard 127.0.0.1:%d "
                   "--cluster-from %s --cluster-to %s --cluster-slots " RESHARD
                   " --cluster-yes >/dev/null 2>&1", files,
                   server_port(cluster_node(cluster, from)),
                   cluster_id(cluster, from), cluster_id(cluster, to));
    ck_assert_int_eq(system(command), 0);
    cluster_await_agreement(cluster);
}

/* ---- holds that are renewed ---- */

struct held {
    struct hf_lock *lock;
    struct diary diary;
    struct call call;
};

static struct held held[HELD];

/* Three of four are alone in their slots, mostly; of four each share one, so that
 * renewing them together needs several keys of a slot on the move. */
static void held_name(int i, char name[32])
{
    (void)sprintf(name, i % 4 ? "held:%d" : "{held:%d}%d",
                  i % 4 ? i : i / 16, i);
}

/* The last quarter is held twice. */
static int64_t held_count(int i)
{
    return i < HELD * 3 / 4 ? 1 : 2;
}

static void await_calls(void)
{
    for (int i = 0; i < HELD; i++)
        ck_assert_int_eq(call_await(&held[i].call), HF_OK);
}

static void hold_all(struct hf_client *client)
{
    char name[32];

    for (int i = 0; i < HELD; i++) {
        struct hf_acquire_options o = diary_options(&held[i].diary, 7);

        held_name(i, name);
        held[i].lock = lock_of(client, name);
        call_acquire(&held[i].call, held[i].lock, &o);
    }
    await_calls();
    for (int i = 0; i < HELD; i++)
        if (held_count(i) == 2)
            acquire(held[i].lock, 7);
}

static void must_be_held(int i)
{
    char name[32];

    held_name(i, name);
    ck_assert_int_eq(note_read(&held[i].diary.note, &held[i].diary.losses), 0);
    ck_assert_int_gt(note_read(&held[i].diary.note, &held[i].diary.renewals),
                     0);
    ck_assert_int_gt(hf_lock_safe_ms(held[i].lock, 7), 0);
    ck_assert_int_eq(hold_count_at_any(name, held[i].lock, 7), held_count(i));
}

static void release_all(void)
{
    for (int i = 0; i < HELD; i++) {
        for (int64_t n = held_count(i); n > 0; n--)
            release(held[i].lock, 7);
        hf_lock_free(held[i].lock);
    }
}

static void must_be_empty(void)
{
    for (int i = 0; i < MASTERS; i++)
        ck_assert_int_eq(server_ask_int(cluster_node(cluster, i), "DBSIZE"),
                         0);
}

/* ---- threads that acquire and release ---- */

static atomic_bool is_over;
static atomic_int inside[NAMES];

struct worker {
    pthread_t thread;
    struct hf_client *client;
    int number;
    int rounds;
    int64_t worst_ms;
};

static void work_once(struct worker *w, unsigned *seed)
{
    int n = rand_r(seed) % NAMES;
    int64_t began_ms = local_now_ms();
    struct hf_error err = {0};
    struct hf_lock *lock;
    char name[32];

    (void)sprintf(name, "work:%d", n);
    ck_must(hf_lock_new(&lock, w->client, name, strlen(name), &err) == HF_OK,
            "a lock");
    if (hf_lock_acquire(lock, NULL, &err) < 0)
        ck_abort_msg("acquire: %s", err.text);
    ck_must(++inside[n] == 1, "one at a time");
    ck_must(--inside[n] == 0, "one at a time");
    if (hf_lock_release(lock, hf_owner_thread(), &err) < 0)
        ck_abort_msg("release: %s", err.text);
    hf_lock_free(lock);
    began_ms = local_now_ms() - began_ms;
    w->worst_ms = w->worst_ms > began_ms ? w->worst_ms : began_ms;
    w->rounds++;
}

static void *work(void *arg)
{
    struct worker *w = arg;
    unsigned seed = (unsigned)w->number;

    while (!is_over)
        work_once(w, &seed);
    return NULL;
}

static struct worker workers[THREADS];

static void workers_start(struct hf_client *clients[2])
{
    for (int i = 0; i < THREADS; i++) {
        workers[i].number = i;
        workers[i].client = clients[i % 2];
        ck_assert_int_eq(pthread_create(&workers[i].thread, NULL, work,
                                        &workers[i]),
                         0);
    }
}

static void workers_end(void)
{
    int64_t worst_ms = 0;
    int rounds = 0;

    is_over = true;
    for (int i = 0; i < THREADS; i++) {
        (void)pthread_join(workers[i].thread, NULL);
        rounds += workers[i].rounds;
        if (workers[i].worst_ms > worst_ms)
            worst_ms = workers[i].worst_ms;
    }
    (void)printf("%d rounds, the longest of %lld ms; %d MOVED, %d ASK, %d "
                 "TRYAGAIN\n",
                 rounds, (long long)worst_ms, moved, asked, tried_again);
    (void)fflush(stdout); /* a failing test ends without */
}

/* A slot that several holds share, half of its keys here and half there, for
 * longer than it takes until all are renewed. */
static void get_stuck(int i)
{
    char name[32];
    int slot, from, to;

    held_name(i, name);
    slot = slot_of(name);
    from = cluster_owner(cluster, slot);
    to = (from + 1) % MASTERS;
    cluster_move_begin(cluster, slot, to);
    (void)cluster_move_keys(cluster, slot, to, 2);
    local_rest_us(WATCHDOG_MS / 3 * 1100);
    (void)cluster_move_keys(cluster, slot, to, 1 << 30);
    cluster_move_end(cluster, slot, to);
}

START_TEST(a_thousand_locks_do_not_notice_that_slots_move)
{
    struct hf_client *clients[2] = {traced_client(), traced_client()};
    int64_t end_ms = local_now_ms() + soak_s() * 1000;
    int from = 0;

    hold_all(clients[0]);
    workers_start(clients);
    do {
        for (int i = 0; i < MASTERS; i++, from = (from + 1) % MASTERS)
            reshard(from, (from + 1) % MASTERS);
        get_stuck(rand() % (HELD / 4) * 4);
    } while (local_now_ms() < end_ms);
    workers_end();
    for (int i = 0; i < HELD; i++)
        must_be_held(i);
    release_all();
    must_be_empty();
    ck_assert_int_gt(moved, 0);
    ck_assert_int_gt(asked, 0);
    hf_client_free(clients[0]);
    hf_client_free(clients[1]);
}
END_TEST

/* ---- a slot that is stuck (C9) ---- */

/* Three locks of one slot of node 0, and one of the keys is at node 1. */
static struct hf_lock *stuck[3];
static struct diary stuck_diaries[3];

#define STUCK "{stuck:%d}%d"

static int stick(struct hf_client *client, int *slot)
{
    char name[32];
    int tag = 0;

    do {
        (void)sprintf(name, STUCK, ++tag, 0);
        *slot = slot_of(name);
    } while (cluster_owner(cluster, *slot) != 0);
    for (int i = 0; i < 3; i++) {
        struct hf_acquire_options o = diary_options(&stuck_diaries[i], 1);

        (void)sprintf(name, STUCK, tag, i);
        stuck[i] = lock_of(client, name);
        ck_assert_ok(hf_lock_acquire(stuck[i], &o, NULL));
    }
    cluster_move_begin(cluster, *slot, 1);
    ck_assert_int_eq(cluster_move_keys(cluster, *slot, 1, 1), 1);
    return tag;
}

/* All three fall due while nobody drives: they are renewed in one turn. */
static void await_renewals(struct hf_client *client, int count,
                           int64_t lease_ms)
{
    int64_t end_ms = local_now_ms() + AWAIT_MS;

    local_rest_us(lease_ms / 3 * 1100);
    for (int i = 0; i < 3; i++)
        while (stuck_diaries[i].renewals < count) {
            ck_assert_int_eq(stuck_diaries[i].losses, 0);
            ck_assert_int_lt(local_now_ms(), end_ms);
            hf_loop_dispatch(hf_client_loop(client), 10);
        }
}

START_TEST(locks_of_a_slot_that_is_stuck_halfway_are_renewed_and_released)
{
    struct hf_client *client = client_driven_by(false, WATCHDOG_MS);
    struct hf_lock *fresh;
    char name[32];
    int slot, tag = stick(client, &slot);

    for (int i = 1; i <= 4; i++) /* longer than the TTL */
        await_renewals(client, i, WATCHDOG_MS);
    ck_assert_int_gt(tried_again, 0);
    (void)sprintf(name, STUCK, tag, 4);
    fresh = lock_of(client, name);
    acquire(fresh, 1);
    acquire(fresh, 1);
    release(fresh, 1);
    release(fresh, 1);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(stuck_diaries[i].losses, 0);
        release(stuck[i], 1);
    }
    cluster_move_stop(cluster, slot, 1);
    must_be_empty();
    hf_client_free(client);
}
END_TEST

/* Refused together, they are tried one by one at once. The watchdog's next
 * beat, 12 s away, would come after the end of the re-entry's lease. */
START_TEST(locks_that_are_refused_together_are_tried_alone_at_once)
{
    struct hf_client *client = client_driven_by(false, 600000);
    const int64_t lease_ms = 6000;
    int slot;

    (void)stick(client, &slot);
    for (int i = 0; i < 3; i++)
        acquire_for(stuck[i], 1, lease_ms);
    await_renewals(client, 1, lease_ms);
    ck_assert_int_gt(tried_again, 0);
    for (int i = 0; i < 6; i++)
        release(stuck[i / 2], 1);
    cluster_move_stop(cluster, slot, 1);
    must_be_empty();
    hf_client_free(client);
}
END_TEST

/* Once the slot's keys are all at one node again. */
START_TEST(locks_that_were_tried_alone_are_renewed_together_again)
{
    struct hf_client *client = client_driven_by(false, WATCHDOG_MS);
    struct hf_client_stats before, after;
    int slot;

    (void)stick(client, &slot);
    await_renewals(client, 1, WATCHDOG_MS);
    ck_assert_int_gt(tried_again, 0);
    ck_assert_int_eq(cluster_move_keys(cluster, slot, 1, 3), 2);
    before = stats_of(client);
    await_renewals(client, 2, WATCHDOG_MS);
    after = stats_of(client);
    ck_assert_uint_eq(after.renewals - before.renewals,
                      3 * (after.renewal_requests - before.renewal_requests));
    for (int i = 0; i < 3; i++)
        release(stuck[i], 1);
    cluster_move_stop(cluster, slot, 1);
    must_be_empty();
    hf_client_free(client);
}
END_TEST

/* CALL-2. No node knows a script. The source replies ASK because it does not have the key. */
START_TEST(a_redirected_request_has_the_text_of_its_script)
{
    struct hf_client *client = traced_client();
    struct hf_lock *lock;
    char name[32];
    int n = 0;

    (void)name_at(0, &n, name);
    for (int i = 0; i < MASTERS; i++)
        (void)server_ask(cluster_node(cluster, i), "SCRIPT FLUSH");
    cluster_move_begin(cluster, slot_of(name), 1);
    lock = lock_of(client, name);
    acquire(lock, 1);
    ck_assert_int_eq(hold_count_at_any(name, lock, 1), 1);
    release(lock, 1);
    ck_assert_int_eq(asked, 2); /* once for each of the two calls */
    ck_assert_int_eq(lacked_script, 0);
    hf_lock_free(lock);
    hf_client_free(client);
    cluster_move_stop(cluster, slot_of(name), 1);
    must_be_empty();
}
END_TEST

/* C6: the map is learned once, however many locks find theirs wrong. */
START_TEST(a_slot_that_has_moved_is_learned_at_once)
{
    struct hf_client *client = traced_client();
    struct hf_lock *lock;
    char name[32];
    int n = 0;

    (void)name_at(0, &n, name);
    lock = lock_of(client, name);
    acquire(lock, 1);
    cluster_move(cluster, slot_of(name), 1);
    for (int i = 0; i < 100; i++) {
        acquire(lock, 1);
        release(lock, 1);
    }
    ck_assert_int_eq(moved, 1);
    release(lock, 1);
    hf_lock_free(lock);
    hf_client_free(client);
    cluster_move(cluster, slot_of(name), 0);
    must_be_empty();
}
END_TEST

static void add_case(Suite *s, const char *name, bool is_resp2)
{
    TCase *c = cluster_case(s, name, is_resp2);

    tcase_add_test(c, a_redirected_request_has_the_text_of_its_script);
    tcase_add_test(c, a_slot_that_has_moved_is_learned_at_once);
    if (is_resp2)
        return;
    tcase_add_test(c,
                   locks_of_a_slot_that_is_stuck_halfway_are_renewed_and_released);
    tcase_add_test(c, locks_that_are_refused_together_are_tried_alone_at_once);
    tcase_add_test(c, locks_that_were_tried_alone_are_renewed_together_again);
    tcase_add_test(c, a_thousand_locks_do_not_notice_that_slots_move);
    tcase_set_timeout(c, soak_s() + 120);
}

static void add_cases(Suite *s)
{
    add_case(s, "moves", false);
    add_case(s, "moves, RESP2", true);
}

int main(void)
{
    return cluster_main("cluster, moves", add_cases);
}
