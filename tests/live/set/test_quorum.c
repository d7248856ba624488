/* Quorums on five servers: which may be down, what is told, and what no such
 * lock can promise. */
#include "tests/live/set/test_quorum_kit.h"
#include "tests/support/lateness.h"
#include "tests/support/one_clock.h"

#define DEAD "0d1b8c1e-35b1-4fd6-8d4c-7a6f2c2f0a11:1"  /* an owner that died */

/* ---- most of them ---- */

START_TEST(all_are_taken_and_all_are_released)
{
    ck_assert_taken(&here, 1);
    await_keys(0, SERVERS, "1");
    ck_assert_int_eq(hf_quorum_safe_ms(here.quorum, 2), INT64_MIN);
    ck_assert_given(&here, 1);
    await_keys(0, SERVERS, "0"); /* one whose answer was not heard yet: soon */
    ck_assert_status(hf_quorum_release(here.quorum, 1, NULL), HF_NOT_OWNER);
    ck_assert_ptr_eq(hf_quorum_member(here.quorum, 4), here.locks[4]);
    ck_assert_ptr_null(hf_quorum_member(here.quorum, SERVERS));
}
END_TEST

static void ck_assert_most_do_without(int first, int count,
                                      void (*stops)(struct server *))
{
    each(first, count, stops);
    ck_assert_taken(&here, 1);
    ck_assert_status(take(&there, 1, 0, NULL), HF_TIMEOUT);
    await_keys((first + count) % SERVERS, SERVERS - count - first, "1");
    ck_assert_given(&here, 1);
    ck_assert_taken(&there, 1);
    ck_assert_given(&there, 1);
}

START_TEST(two_may_be_down)
{
    ck_assert_most_do_without(0, 2, server_kill);
}
END_TEST

/* Its answer is waited for: it is the third. */
START_TEST(two_may_be_down_and_one_slow)
{
    struct call call;
    struct hf_acquire_options o = acquire_options(7);

    each(0, 2, server_kill);
    server_pause(servers[4]);
    call_init(&call);
    ck_assert_ok(hf_quorum_acquire_async(here.quorum, &o, call_done, &call));
    await_keys(2, 2, "1");
    ck_assert(!call_is_done(&call));
    server_resume(servers[4]);
    ck_assert_status(call_await(&call), HF_OK);
    ck_assert_given(&here, 7);
}
END_TEST

START_TEST(two_may_be_silent)
{
    ck_assert_most_do_without(0, 2, server_pause);
    each(0, 2, server_resume);
}
END_TEST

static void ck_assert_refused(void (*stops)(struct server *),
                              const char *what)
{
    int64_t begun_ms = local_now_ms();
    struct hf_error err = {0};

    each(2, 3, stops);
    ck_assert_status(take(&here, 1, HF_FOREVER, &err), HF_E_QUORUM);
    ck_assert_within(begun_ms, TIMEOUT_MS + LONG_MS);
    ck_assert_msg(strstr(err.text, "2 of 5 servers granted the lock, 3 required: 127.0.0.1:"),
                  "%s", err.text);
    ck_assert_msg(strstr(err.text, ": granted; 127.0.0.1:"), "%s", err.text);
    ck_assert_msg(strstr(err.text, what), "%s", err.text);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(server_ask_int(servers[i], "EXISTS " NAME), 0);
}

START_TEST(with_three_down_it_refuses_in_time)
{
    ck_assert_refused(server_kill, "refused");
}
END_TEST

START_TEST(with_three_silent_it_refuses_in_time)
{
    ck_assert_refused(server_pause, "did not answer");
    each(2, 3, server_resume);
    await_keys(2, 3, "0");      /* released in the background */
}
END_TEST

/* ---- the others ---- */

START_TEST(holder_is_named)
{
    struct hf_error err = {0};

    ck_assert_taken(&here, 1);
    await_keys(0, SERVERS, "1");
    ck_assert_status(take(&there, 1, 0, &err), HF_TIMEOUT);
    ck_assert_ptr_nonnull(strstr(err.text, "0 of 5 servers granted the lock"));
    ck_assert_ptr_nonnull(strstr(err.text, "is held by"));
    ck_assert_status(take(&there, 1, A_MOMENT_MS, &err), HF_TIMEOUT);
    ck_assert_given(&here, 1);
}
END_TEST

START_TEST(waiter_gets_it_when_it_is_released)
{
    struct hf_acquire_options o;
    struct diary diary;
    struct call call;

    ck_assert_taken(&here, 1);
    await_keys(0, SERVERS, "1");
    o = diary_options(&diary, 7);
    call_init(&call);
    ck_assert_ok(
        hf_quorum_acquire_async(there.quorum, &o, call_done, &call));
    note_await(&diary.note, &diary.waits, 1, "on_wait");
    ck_assert(!call_is_done(&call));
    ck_assert_given(&here, 1);
    ck_assert_status(call_await(&call), HF_OK);
    call_init(&call);
    ck_assert_ok(hf_quorum_release_async(there.quorum, 7, call_done, &call));
    ck_assert_status(call_await(&call), HF_OK);
}
END_TEST

START_TEST(a_wait_is_cancelled)
{
    struct hf_acquire_options o;
    struct diary diary;
    struct call call;

    ck_assert_taken(&here, 1);
    o = diary_options(&diary, 7);
    call_init(&call);
    ck_assert_ok(
        hf_quorum_acquire_async(there.quorum, &o, call_done, &call));
    note_await(&diary.note, &diary.waits, 1, "on_wait");
    hf_quorum_cancel(there.quorum, 8); /* another's */
    hf_quorum_cancel(there.quorum, 7);
    ck_assert_status(call_await(&call), HF_CANCELLED);
    ck_assert_given(&here, 1);
}
END_TEST

/* Members of a minority that nobody gives back do not stop anybody. */
START_TEST(members_of_a_dead_process_on_a_minority_block_nothing)
{
    for (int i = 0; i < 2; i++)
        (void)server_ask(servers[i], "HSET " NAME " " DEAD " 1");
    ck_assert_taken(&here, 1);
    ck_assert_given(&here, 1);
}
END_TEST

/* Who waits at the first server is not stopped by what is left there alone. */
START_TEST(quorum_is_reached_without_a_first_member_that_stays_held)
{
    struct hf_acquire_options o;
    struct diary diary;
    struct call call;

    for (int i = 0; i < MOST; i++)
        (void)server_ask(servers[i], "HSET " NAME " " DEAD " 1");
    o = diary_options(&diary, 7);
    call_init(&call);
    ck_assert_ok(hf_quorum_acquire_async(here.quorum, &o, call_done, &call));
    note_await(&diary.note, &diary.waits, 1, "on_wait");
    (void)server_ask(servers[2], "DEL " NAME);
    ck_assert_status(call_await(&call), HF_OK);
    call_init(&call);
    ck_assert_ok(hf_quorum_release_async(here.quorum, 7, call_done, &call));
    ck_assert_status(call_await(&call), HF_OK);
}
END_TEST

#define CROWD 4

static int inside, turns, turns_each;
static struct note crowd_note;

/* Without a lock of its own: what the quorum protects. */
static void *worker(void *arg)
{
    struct party p;

    party_open(&p, HF_KIND_PLAIN, *(int *)arg);
    for (int i = 0; i < turns_each; i++) {
        struct hf_error err = {0};
        hf_status rc = take(&p, 1, HF_FOREVER, &err);

        ck_must(rc == HF_OK, err.text);
        note_add(&crowd_note, &inside);
        ck_must(note_read(&crowd_note, &inside) == 1, "one at a time");
        (void)pthread_mutex_lock(&crowd_note.mutex);
        inside--;
        turns++;
        (void)pthread_mutex_unlock(&crowd_note.mutex);
        ck_must(hf_quorum_release(p.quorum, 1, &err) == HF_OK, err.text);
    }
    party_close(&p);
    return NULL;
}

static void crowd(const int *firsts, int each_goes)
{
    pthread_t threads[CROWD];
    int args[CROWD];

    note_init(&crowd_note);
    inside = turns = 0;
    turns_each = each_goes;
    for (int i = 0; i < CROWD; i++) {
        args[i] = firsts[i];
        ck_assert_int_eq(pthread_create(&threads[i], NULL, worker, &args[i]),
                         0);
    }
    for (int i = 0; i < CROWD; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    ck_assert_int_eq(turns, CROWD * each_goes);
}

START_TEST(a_crowd_enters_one_by_one)
{
    crowd((int[CROWD]){0}, 20);
}
END_TEST

/* Each asks another server first. */
START_TEST(a_crowd_without_one_order_enters_one_by_one)
{
    crowd((int[CROWD]){0, 1, 2, 3}, 5);
}
END_TEST

START_TEST(a_crowd_enters_while_two_servers_are_down)
{
    each(0, 2, server_kill);
    crowd((int[CROWD]){0}, 20);
}
END_TEST

/* ---- what is held ---- */

START_TEST(it_is_renewed_and_may_lose_one_server_after_the_other)
{
    struct hf_acquire_options o;
    struct diary diary;

    o = diary_options(&diary, 1);
    ck_assert_ok(hf_quorum_acquire(here.quorum, &o, NULL));
    await_keys(0, SERVERS, "1");
    for (int i = 0; i < SERVERS; i++) {
        note_await(&diary.note, &diary.renewals, (i + 1) * SERVERS, "renewals");
        server_restart(servers[i]); /* and has lost its data */
        await_keys(i, 1, "1");
    }
    ck_assert_int_eq(diary.losses, 0);
    ck_assert_int_gt(hf_quorum_safe_ms(here.quorum, 1), 0);
    ck_assert_given(&here, 1);
}
END_TEST

START_TEST(it_is_lost_with_most_of_them)
{
    struct hf_acquire_options o;
    struct hf_error err = {0};
    struct diary diary;

    o = diary_options(&diary, 1);
    ck_assert_ok(hf_quorum_acquire(here.quorum, &o, NULL));
    await_keys(0, SERVERS, "1");
    each(0, MOST, server_pause);
    note_await(&diary.note, &diary.losses, 1, "on_lost");
    ck_assert_int_eq(hf_quorum_safe_ms(here.quorum, 1), INT64_MIN);
    ck_assert_status(take(&here, 1, 0, &err), HF_LOST);
    each(0, MOST, server_resume);
    ck_assert_status(hf_quorum_release(here.quorum, 1, &err), HF_LOST);
    ck_assert_int_eq(diary.losses, 1);
    ck_assert_taken(&here, 1);
    ck_assert_given(&here, 1);
}
END_TEST

START_TEST(one_with_a_lease_ends_with_it)
{
    struct hf_acquire_options o;
    struct diary diary;

    o = diary_options(&diary, 1);
    o.lease_ms = 500;
    ck_assert_ok(hf_quorum_acquire(here.quorum, &o, NULL));
    ck_assert_int_le(hf_quorum_safe_ms(here.quorum, 1), 500);
    note_await(&diary.note, &diary.losses, 1, "on_lost");
    ck_assert_int_eq(diary.renewals, 0);
    ck_assert_status(hf_quorum_release(here.quorum, 1, NULL), HF_LOST);
}
END_TEST

START_TEST(max_hold_ends_it)
{
    struct hf_acquire_options o;
    struct diary diary;

    o = diary_options(&diary, 1);
    o.max_hold_ms = 500;
    ck_assert_ok(hf_quorum_acquire(here.quorum, &o, NULL));
    note_await(&diary.note, &diary.losses, 1, "on_lost");
    ck_assert_status(hf_quorum_release(here.quorum, 1, NULL), HF_LOST);
    await_keys(0, SERVERS, "0");
}
END_TEST

/* The time begins when it is granted, however long it was waited for. */
START_TEST(max_hold_does_not_count_the_wait)
{
    struct hf_acquire_options o;
    struct diary diary;
    struct call call;

    ck_assert_taken(&here, 1);
    o = diary_options(&diary, 7);
    o.max_hold_ms = 3000;
    call_init(&call);
    ck_assert_ok(
        hf_quorum_acquire_async(there.quorum, &o, call_done, &call));
    note_await(&diary.note, &diary.waits, 1, "on_wait");
    local_rest_us(3500 * 1000);
    ck_assert_given(&here, 1);
    ck_assert_status(call_await(&call), HF_OK);
    local_rest_us(500 * 1000);
    ck_assert_int_eq(note_read(&diary.note, &diary.losses), 0);
    call_init(&call);
    ck_assert_ok(hf_quorum_release_async(there.quorum, 7, call_done, &call));
    ck_assert_status(call_await(&call), HF_OK);
}
END_TEST

START_TEST(a_closed_client_is_a_member_less)
{
    ck_assert_taken(&here, 1);
    await_keys(0, SERVERS, "1");
    (void)hf_client_close(here.clients[3], 1000, NULL, NULL);
    ck_assert_int_gt(hf_quorum_safe_ms(here.quorum, 1), 0);
    ck_assert_given(&here, 1);
    ck_assert_taken(&here, 1);
    ck_assert_given(&here, 1);
}
END_TEST

/* ---- clocks that are set ---- */

#define HOUR_US (INT64_C(3600) * 1000000)

static void start_a_few_with_clocks(void)
{
    start_with(SERVERS - MOST);
}

static void start_most_with_clocks(void)
{
    start_with(MOST);
}

static void step_clocks(int64_t by_us)
{
    server_clock_set((int64_t)time(NULL) * 1000000 + by_us);
}

START_TEST(clocks_of_a_few_may_be_set)
{
    struct hf_acquire_options o;
    struct diary diary;

    o = diary_options(&diary, 1);
    ck_assert_ok(hf_quorum_acquire(here.quorum, &o, NULL));
    await_keys(0, SERVERS, "1");
    note_await(&diary.note, &diary.renewals, SERVERS, "renewals"); /* QUORUM-10 */
    step_clocks(HOUR_US);
    ck_assert_status(take(&there, 1, 0, NULL), HF_TIMEOUT);
    note_await(&diary.note, &diary.renewals, 3 * SERVERS, "renewals");
    step_clocks(-HOUR_US);
    ck_assert_status(take(&there, 1, 0, NULL), HF_TIMEOUT);
    ck_assert_int_eq(diary.losses, 0);
    ck_assert_int_gt(hf_quorum_safe_ms(here.quorum, 1), 0);
    ck_assert_given(&here, 1);
}
END_TEST

/* ---- what no quorum promises ---- */

START_TEST(clocks_of_most_that_are_set_let_two_in)
{
    struct hf_acquire_options o = acquire_options(1);

    o.lease_ms = LONG_MS;
    ck_assert_ok(hf_quorum_acquire(here.quorum, &o, NULL));
    await_keys(0, SERVERS, "1");
    step_clocks(HOUR_US);
    ck_assert_taken(&there, 1);
    ck_assert_int_gt(hf_quorum_safe_ms(here.quorum, 1), 0);
    ck_assert_given(&there, 1);
    (void)hf_quorum_release(here.quorum, 1, NULL);
}
END_TEST

static void await_unasked(struct party *p, int index)
{
    while (stats_of(p->clients[index]).waiters > 0)
        local_poll_rest();
}

/* Two are down; one of those that granted it comes back without its data before
 * the lease is over, and votes twice. So both believe, as docs/quorum.md says. */
START_TEST(a_server_that_restarts_empty_at_once_lets_two_in)
{
    struct hf_acquire_options o = acquire_options(1);

    each(3, 2, server_kill);
    o.lease_ms = LONG_MS;
    ck_assert_ok(hf_quorum_acquire(here.quorum, &o, NULL));
    await_unasked(&here, 3);
    await_unasked(&here, 4);
    each(2, 3, server_restart);
    ck_assert_taken(&there, 1);
    ck_assert_int_gt(hf_quorum_safe_ms(here.quorum, 1), 0);
    ck_assert_int_gt(hf_quorum_safe_ms(there.quorum, 1), 0);
    ck_assert_given(&there, 1);
    ck_assert_status(hf_quorum_release(here.quorum, 1, NULL), HF_LOST);
}
END_TEST

/* ---- what is refused ---- */

START_TEST(invalid_quorum_is_refused)
{
    struct hf_lock *twice[] = {here.locks[0], here.locks[1], here.locks[0]};
    struct hf_acquire_options o = acquire_options(1);
    struct hf_quorum *quorum;
    struct hf_cancel cancel;
    struct hf_error err = {0};

    ck_assert_status(hf_quorum_new(&quorum, twice, 3, &err), HF_E_INVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "would have two votes"));
    ck_assert_status(hf_quorum_new(&quorum, twice, 0, &err), HF_E_INVAL);
    hf_cancel_init(&cancel, here.clients[0]);
    o.cancel = &cancel;
    ck_assert_status(hf_quorum_acquire(here.quorum, &o, &err), HF_E_INVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "hf_quorum_cancel"));
    o = acquire_options(0);
    ck_assert_status(hf_quorum_acquire(here.quorum, &o, &err), HF_E_INVAL);
    ck_assert_status(hf_quorum_acquire_async(here.quorum, NULL, NULL, NULL),
                     HF_E_INVAL);
    ck_assert_taken(&here, 1);
    ck_assert_status(take(&here, 1, 0, &err), HF_E_INVAL);
    ck_assert_given(&here, 1);
}
END_TEST

/* Each server has permits of its own. */
static const struct {
    enum hf_lock_kind kind;
    const char *why;            /* NULL: a quorum of it is sound */
} kinds[] = {
    {HF_KIND_PLAIN, NULL},
    {HF_KIND_FAIR, NULL},
    {HF_KIND_READ, NULL},
    {HF_KIND_WRITE, NULL},
    {HF_KIND_NONREENTRANT, NULL},
    {HF_KIND_NONREENTRANT_FAIR, NULL},
    {HF_KIND_SPIN, NULL},
    {HF_KIND_VALUE, NULL},
    {HF_KIND_PERMIT, "more permits"},
    {HF_KIND_FENCED, NULL},
    {HF_KIND_PLAIN | HF_WITH_TOKEN, NULL},
    {HF_KIND_FAIR | HF_WITH_TOKEN, NULL},
    {HF_KIND_WRITE | HF_WITH_TOKEN, NULL},
    {HF_KIND_VALUE | HF_WITH_TOKEN, NULL},
    {HF_KIND_SPIN | HF_WITH_TOKEN, NULL},
};

static struct hf_lock *lock_at(int i, enum hf_lock_kind kind)
{
    struct hf_lock *lock;

    ck_assert_ok(hf_lock_new_kind(&lock, here.clients[i], kind, "kinds", 5, NULL));
    return lock;
}

/* The last member is of that kind, the others of `kind`. */
static hf_status quorum_with(struct hf_quorum **out, enum hf_lock_kind kind,
                             enum hf_lock_kind last, struct hf_error *err)
{
    struct hf_lock *locks[3];
    hf_status rc;

    for (int i = 0; i < 3; i++)
        locks[i] = lock_at(i, i == 2 ? last : kind);
    rc = hf_quorum_new(out, locks, 3, err);
    for (int i = 0; i < 3; i++)
        hf_lock_free(locks[i]);
    return rc;
}

START_TEST(kinds_with_counters_are_refused)
{
    struct hf_error err = {0};
    struct hf_quorum *quorum;
    hf_status rc = quorum_with(&quorum, kinds[_i].kind, kinds[_i].kind, &err);

    if (!kinds[_i].why) {
        ck_assert_ok(rc);
        hf_quorum_free(quorum);
        return;
    }
    ck_assert_status(rc, HF_E_INVAL);
    ck_assert_msg(strstr(err.text, kinds[_i].why) != NULL, "%s", err.text);
    ck_assert_status(quorum_with(&quorum, HF_KIND_PLAIN, kinds[_i].kind, &err),
                     HF_E_INVAL);
}
END_TEST

/* The token, once it is held by one owner and released. */
static int64_t token_of(struct hf_quorum *quorum, int64_t owner)
{
    struct hf_acquire_options o = acquire_options(owner);
    struct hf_error err = {0};
    int64_t token;

    ck_assert_msg(hf_quorum_acquire(quorum, &o, &err) == HF_OK, "%s", err.text);
    token = hf_quorum_token(quorum, owner);
    ck_assert_int_gt(token, 0);
    ck_assert_int_eq(hf_quorum_token(quorum, owner + 1), 0);
    ck_assert_ok(hf_quorum_release(quorum, owner, NULL));
    ck_assert_int_eq(hf_quorum_token(quorum, owner), 0);
    return token;
}

static const enum hf_lock_kind fenced[] = {
    HF_KIND_FENCED,
    HF_KIND_FAIR | HF_WITH_TOKEN,
    HF_KIND_NONREENTRANT | HF_WITH_TOKEN,
    HF_KIND_NONREENTRANT_FAIR | HF_WITH_TOKEN,
    HF_KIND_WRITE | HF_WITH_TOKEN,
    HF_KIND_SPIN | HF_WITH_TOKEN,
    HF_KIND_VALUE | HF_WITH_TOKEN,
};

/* QTOKEN-1, QTOKEN-3: Each server counts differently, and each holder has another
 * majority. The last counter is greater than Lua's numbers are exact. */
START_TEST(tokens_grow_on_whichever_majority)
{
    static const char *const counters[SERVERS] = {
        "100", "7", "3000", "5", "9007199254740995"};
    struct party p;
    int64_t last = 0;

    for (int i = 0; i < SERVERS; i++)
        (void)server_ask(servers[i], "SET redisson_lock_token:{" NAME "} %s",
                         counters[(i + _i) % SERVERS]);
    party_open(&p, fenced[_i], 0);
    for (int i = 0; i < 2 * SERVERS; i++) {
        struct server *down[] = {servers[i % SERVERS],
                                 servers[(i + 2) % SERVERS]};
        int64_t token;

        server_pause(down[0]);
        server_pause(down[1]);
        token = token_of(p.quorum, 1 + i);
        ck_assert_int_gt(token, last);
        last = token;
        server_resume(down[0]);
        server_resume(down[1]);
    }
    party_close(&p);
}
END_TEST

/* QTOKEN-4 */
START_TEST(counter_of_a_member_that_is_granted_later_is_raised)
{
    struct hf_acquire_options o = acquire_options(1);
    struct party p;
    char token[24];

    for (int i = 0; i < SERVERS; i++)
        (void)server_ask(servers[i], "SET redisson_lock_token:{" NAME "} %d", i == 0 ? 7 : 3000);
    party_open(&p, HF_KIND_FENCED, 0);
    server_pause(servers[0]);
    ck_assert_ok(hf_quorum_acquire(p.quorum, &o, NULL));
    (void)snprintf(token, sizeof token, "%lld", (long long)hf_quorum_token(p.quorum, 1));
    ck_assert_str_eq(token, "3001");
    server_resume(servers[0]);
    server_await(servers[0], LONG_MS, token, "GET redisson_lock_token:{" NAME "}");
    ck_assert_ok(hf_quorum_release(p.quorum, 1, NULL));
    party_close(&p);
}
END_TEST

#define AN_HOUR_MS 3600000

/* CLOSE-2: it is not provisional, so nothing is awaited. Its counter is raised after the grant. */
START_TEST(a_member_that_is_granted_later_delays_no_close)
{
    struct hf_acquire_options o = acquire_options(1);
    struct hf_client_closed closed;
    struct party p;

    party_open(&p, HF_KIND_FENCED, 0);
    (void)server_ask(servers[1], "SET redisson_lock_token:{" NAME "} 7");
    server_pause(servers[0]);
    ck_assert_ok(hf_quorum_acquire(p.quorum, &o, NULL));
    server_resume(servers[0]);
    server_await(servers[0], LONG_MS, "8", "GET redisson_lock_token:{" NAME "}");
    ck_assert_ok(hf_client_close(p.clients[0], AN_HOUR_MS, &closed, NULL));
    ck_assert_uint_eq(closed.holds, 1);
    (void)hf_quorum_release(p.quorum, 1, NULL);
    party_close(&p);
}
END_TEST

/* QTOKEN-2: Without +set no counter can be raised, and the error says so. */
START_TEST(a_counter_that_cannot_be_raised_is_named)
{
    struct hf_error err = {0};
    struct party p;

    for (int i = 0; i < SERVERS; i++) {
        (void)server_ask(servers[i], "SET redisson_lock_token:{" NAME "} %d",
                         10 * (i + 1));
        (void)server_ask(servers[i], "ACL SETUSER default -set");
    }
    party_open(&p, HF_KIND_FENCED, 0);
    ck_assert_status(take(&p, 1, LONG_MS, &err), HF_E_QUORUM);
    ck_assert_msg(strstr(err.text, "can't run this command") ||
                      strstr(err.text, "ermission"),
                  "%s", err.text);
    await_keys(0, SERVERS, "0");
    party_close(&p);
}
END_TEST

START_TEST(locks_with_and_without_tokens_are_refused)
{
    struct hf_error err = {0};
    struct hf_quorum *quorum;

    ck_assert_status(quorum_with(&quorum, HF_KIND_PLAIN, HF_KIND_FENCED, &err),
                     HF_E_INVAL);
    ck_assert_msg(strstr(err.text, "others have none") != NULL, "%s", err.text);
}
END_TEST

START_TEST(read_locks_beside_others_are_refused)
{
    struct hf_error err = {0};
    struct hf_quorum *quorum;

    ck_assert_status(quorum_with(&quorum, HF_KIND_READ, HF_KIND_WRITE, &err),
                     HF_E_INVAL);
    ck_assert_msg(strstr(err.text, "read locks") != NULL, "%s", err.text);
    ck_assert_status(quorum_with(&quorum, HF_KIND_WRITE, HF_KIND_READ, &err),
                     HF_E_INVAL);
}
END_TEST

/* A majority of readers keeps each majority with a writer out, and the reverse. */
START_TEST(readers_hold_a_quorum_together_and_a_writer_alone)
{
    struct hf_acquire_options o = acquire_options(1);
    struct hf_quorum *readers, *writers;

    o.wait_ms = 0;
    ck_assert_ok(quorum_with(&readers, HF_KIND_READ, HF_KIND_READ, NULL));
    ck_assert_ok(quorum_with(&writers, HF_KIND_WRITE, HF_KIND_WRITE, NULL));
    ck_assert_ok(hf_quorum_acquire(readers, &o, NULL));
    o.owner = 2;
    ck_assert_ok(hf_quorum_acquire(readers, &o, NULL));
    o.owner = 3;
    ck_assert_status(hf_quorum_acquire(writers, &o, NULL), HF_TIMEOUT);
    ck_assert_ok(hf_quorum_release(readers, 1, NULL));
    ck_assert_ok(hf_quorum_release(readers, 2, NULL));
    ck_assert_ok(hf_quorum_acquire(writers, &o, NULL));
    o.owner = 4;
    ck_assert_status(hf_quorum_acquire(readers, &o, NULL), HF_TIMEOUT);
    ck_assert_ok(hf_quorum_release(writers, 3, NULL));
    hf_quorum_free(readers);
    hf_quorum_free(writers);
}
END_TEST

START_TEST(a_client_without_a_thread_does_not_block)
{
    struct hf_client_options o;
    struct hf_quorum *quorum;
    struct hf_client *client;
    struct hf_lock *lock;
    struct hf_error err = {0};
    struct call call;
    struct hf_acquire_options wanted = acquire_options(7);
    char url[SERVER_URL_MAX];

    client_options(&o, url, server_port(servers[0]));
    o.thread = false;
    client = client_with(&o);
    lock = lock_of(client, NAME);
    ck_assert_ok(hf_quorum_new(&quorum, &lock, 1, NULL));
    ck_assert_status(hf_quorum_acquire(quorum, NULL, &err), HF_E_INVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "no background thread"));
    call_init(&call);
    ck_assert_ok(hf_quorum_acquire_async(quorum, &wanted, call_done, &call));
    ck_assert_status(call_drive(&call, client), HF_OK);
    call_init(&call);
    ck_assert_ok(hf_quorum_release_async(quorum, 7, call_done, &call));
    ck_assert_status(call_drive(&call, client), HF_OK);
    hf_quorum_free(quorum);
    hf_client_free(client);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("quorum");
    TCase *c = tcase_create("quorum");

    tcase_add_checked_fixture(c, start, stop);
    tcase_set_timeout(c, 60);
    tcase_add_test(c, all_are_taken_and_all_are_released);
    tcase_add_test(c, two_may_be_down);
    tcase_add_test(c, two_may_be_down_and_one_slow);
    tcase_add_test(c, two_may_be_silent);
    tcase_add_test(c, with_three_down_it_refuses_in_time);
    tcase_add_test(c, with_three_silent_it_refuses_in_time);
    tcase_add_test(c, holder_is_named);
    tcase_add_test(c, waiter_gets_it_when_it_is_released);
    tcase_add_test(c, a_wait_is_cancelled);
    tcase_add_test(
        c, members_of_a_dead_process_on_a_minority_block_nothing);
    tcase_add_test(c, quorum_is_reached_without_a_first_member_that_stays_held);
    tcase_add_test(c, a_crowd_enters_one_by_one);
    tcase_add_test(c, a_crowd_without_one_order_enters_one_by_one);
    tcase_add_test(c, a_crowd_enters_while_two_servers_are_down);
    tcase_add_test(c, it_is_renewed_and_may_lose_one_server_after_the_other);
    tcase_add_test(c, it_is_lost_with_most_of_them);
    tcase_add_test(c, one_with_a_lease_ends_with_it);
    tcase_add_test(c, max_hold_ends_it);
    tcase_add_test(c, max_hold_does_not_count_the_wait);
    tcase_add_test(c, a_closed_client_is_a_member_less);
    tcase_add_test(c, a_server_that_restarts_empty_at_once_lets_two_in);
    tcase_add_test(c, invalid_quorum_is_refused);
    tcase_add_loop_test(c, kinds_with_counters_are_refused, 0,
                        ROWS(kinds));
    tcase_add_loop_test(c, tokens_grow_on_whichever_majority, 0, ROWS(fenced));
    tcase_add_test(c, counter_of_a_member_that_is_granted_later_is_raised);
    tcase_add_test(c, a_member_that_is_granted_later_delays_no_close);
    tcase_add_test(c, a_counter_that_cannot_be_raised_is_named);
    tcase_add_test(c, locks_with_and_without_tokens_are_refused);
    tcase_add_test(c, read_locks_beside_others_are_refused);
    tcase_add_test(c, readers_hold_a_quorum_together_and_a_writer_alone);
    tcase_add_test(c, a_client_without_a_thread_does_not_block);
    suite_add_tcase(s, c);
    c = tcase_create("a few clocks");
    tcase_add_checked_fixture(c, start_a_few_with_clocks, stop);
    tcase_set_timeout(c, 60);
    tcase_add_test(c, clocks_of_a_few_may_be_set);
    suite_add_tcase(s, c);
    c = tcase_create("most clocks");
    tcase_add_checked_fixture(c, start_most_with_clocks, stop);
    tcase_set_timeout(c, 60);
    tcase_add_test(c, clocks_of_most_that_are_set_let_two_in);
    suite_add_tcase(s, c);
    return suite_run(s);
}
