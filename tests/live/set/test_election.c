/* Leader election: one leads, the next one follows, and the leader is told in
 * time. */
#include "tests/live/test_lock.h"
#include "tests/support/one_server.h"

#include "lock/election.h"

#define CANDIDATES 4

struct candidate {
    struct note note;
    struct hf_client *client;
    struct hf_lock *lock;
    struct hf_election *election;
    int elected, deposed, troubles;
    enum hf_lost reason;
    hf_status trouble;
    int64_t pttl_ms;            /* what the server kept when it was deposed */
    void (*when_elected)(struct candidate *c);
};

static struct candidate all[CANDIDATES];
static int leaders;             /* at this moment; under `told` */
static int at_once;             /* at most */
static int elections;
static struct candidate *elected_last;
static struct note told;

static void count_leaders(int by)
{
    (void)pthread_mutex_lock(&told.mutex);
    leaders += by;
    at_once = leaders > at_once ? leaders : at_once;
    (void)pthread_mutex_unlock(&told.mutex);
}

static void on_elected(void *ctx, struct hf_election *election)
{
    struct candidate *c = ctx;

    ck_must(election == c->election, "it is this election's");
    ck_must(hf_election_safe_ms(election) > 0, "who is elected, leads");
    count_leaders(1);
    if (c->when_elected)
        c->when_elected(c);
    elected_last = c;
    note_add(&c->note, &c->elected);
    note_add(&told, &elections);
}

static void on_deposed(void *ctx, struct hf_election *election, enum hf_lost reason)
{
    struct candidate *c = ctx;

    ck_must(hf_election_safe_ms(election) == INT64_MIN, "who is deposed, leads no more");
    c->reason = reason;
    count_leaders(-1);
    note_add(&c->note, &c->deposed);
}

static void on_trouble(void *ctx, struct hf_election *election,
                       const struct hf_error *err)
{
    struct candidate *c = ctx;

    (void)election;
    c->trouble = err->status;
    note_add(&c->note, &c->troubles);
}

static void open_candidate(struct candidate *c, enum hf_lock_kind kind)
{
    c->client = client_timed(server_port(server), STEADY_WATCHDOG_MS, SET_UP_MS);
    ck_assert_ok(hf_lock_new_kind(&c->lock, c->client, kind, NAME, strlen(NAME),
                                  NULL));
}

static void start_kind(enum hf_lock_kind kind)
{
    start_server();
    memset(all, 0, sizeof all);
    note_init(&told);
    leaders = at_once = elections = 0;
    for (int i = 0; i < CANDIDATES; i++) {
        note_init(&all[i].note);
        open_candidate(&all[i], kind);
    }
}

static void start(void)
{
    start_kind(HF_KIND_PLAIN);
}

static void stop(void)
{
    for (int i = 0; i < CANDIDATES; i++)
        hf_client_free(all[i].client);
    stop_server();
}

static void join(struct candidate *c)
{
    struct hf_election_options o = {.size = sizeof o, .on_elected = on_elected,
                                    .on_deposed = on_deposed,
                                    .on_trouble = on_trouble,
                                    .ctx = c};
    struct hf_error err = {0};

    ck_assert_msg(hf_election_join(&c->election, c->lock, &o, &err) == HF_OK, "%s",
                  err.text);
}

static void leave(struct candidate *c)
{
    if (hf_election_safe_ms(c->election) > 0)
        count_leaders(-1); /* its work is done */
    ck_assert_ok(hf_election_leave(c->election, NULL));
}

/* Who stands in line listens. */
static void await_listener(void)
{
    server_await(server, LONG_MS, CHANNEL " 1", "PUBSUB NUMSUB " CHANNEL);
}

static void await_elected(struct candidate *c, int times)
{
    note_await(&c->note, &c->elected, times, "the election");
}

static void await_deposed(struct candidate *c, int times)
{
    note_await(&c->note, &c->deposed, times, "being deposed");
}

/* ---- one leads ---- */

/* In some order: the lock is no fair one. */
START_TEST(a_leader_that_leaves_is_followed_by_another)
{
    for (int i = 0; i < CANDIDATES; i++)
        join(&all[i]);
    for (int i = 1; i <= CANDIDATES; i++) {
        struct candidate *c;

        note_await(&told, &elections, i, "the next election");
        c = elected_last;
        leave(c);
        ck_assert_int_eq(note_read(&c->note, &c->elected), 1);
    }
    ck_assert_int_eq(at_once, 1);
    ck_assert_int_eq(server_ask_int(server, "EXISTS " NAME), 0);
}
END_TEST

/* By a message: the TTL is longer than the test may take. */
START_TEST(waiter_of_a_client_is_woken)
{
    struct hf_client *patient;
    struct candidate *c = &all[1];

    patient = client_timed(server_port(server), 10 * LONG_MS, 5000);
    hf_client_free(c->client);
    c->client = patient;
    c->lock = lock_of(patient, NAME);
    acquire_for(all[0].lock, 1, 10 * LONG_MS);
    join(c);
    await_listener();
    release(all[0].lock, 1);
    await_elected(c, 1);
    leave(c);
}
END_TEST

START_TEST(the_leader_has_an_owner)
{
    struct candidate *c = &all[0];
    char text[HF_OWNER_TEXT_MAX];

    join(c);
    await_elected(c, 1);
    ck_assert_int_gt(hf_lock_safe_ms(c->lock, hf_election_owner(c->election)), 0);
    ck_assert_int_eq(server_ask_int(server, "HEXISTS " NAME " %s",
                                    hf_lock_owner_text(c->lock,
                                                       hf_election_owner(c->election),
                                                       text)),
                     1);
    leave(c);
    ck_assert_int_eq(server_ask_int(server, "EXISTS " NAME), 0);
}
END_TEST

/* ---- losing it ---- */

/* ELECT-3 */
START_TEST(a_deposed_leader_requests_the_lock_again)
{
    struct candidate *c = &all[0];

    join(c);
    for (int i = 1; i <= 3; i++) {
        await_elected(c, i);
        (void)server_ask(server, "DEL " NAME);
        await_deposed(c, i);
        ck_assert_int_eq(c->reason, HF_REASON_DELETED);
    }
    await_elected(c, 4);
    leave(c);
    ck_assert_int_eq(note_read(&c->note, &c->deposed), 3); /* leaving is no news */
}
END_TEST

/* The next renewal is far away: the release finds it. */
START_TEST(a_loss_that_the_leave_finds_is_an_error)
{
    struct candidate *c = &all[0];

    join(c);
    await_elected(c, 1);
    (void)server_ask(server, "DEL " NAME);
    ck_assert_status(hf_election_leave(c->election, NULL), HF_LOST);
    ck_assert_int_eq(note_read(&c->note, &c->deposed), 0);
    count_leaders(-1);
}
END_TEST

START_TEST(a_leader_without_its_server_is_notified_before_the_next_is_elected)
{
    struct candidate *c = &all[0];

    join(c);
    await_elected(c, 1);
    server_pause(server);
    await_deposed(c, 1);
    ck_assert_int_eq(c->reason, HF_REASON_UNREACHABLE);
    join(&all[1]);
    server_resume(server);
    note_await(&told, &elections, 2, "the next election");
    leave(elected_last);
    note_await(&told, &elections, 3, "the last election");
    leave(elected_last);
    ck_assert_int_eq(at_once, 1);
}
END_TEST

static void delete_it(struct candidate *c)
{
    if (note_read(&c->note, &c->elected) == 0)
        (void)server_ask(server, "DEL " NAME);
}

/* It is told so when it has heard that it leads. */
START_TEST(a_loss_in_the_callback_comes_after_it)
{
    struct candidate *c = &all[0];

    c->when_elected = delete_it;
    join(c);
    await_deposed(c, 1);
    ck_assert_int_ge(note_read(&c->note, &c->elected), 1);
    await_elected(c, 2);
    leave(c);
}
END_TEST

/* The callback of another lock's leader, and what it waits for. */
static struct note other_told;
static int other_elected, may_return;

static void occupy(void *ctx, struct hf_election *election)
{
    (void)ctx, (void)election;
    note_add(&other_told, &other_elected);
    note_await(&other_told, &may_return, 1, "being let go");
}

/* Blocking calls of another owner drive the client meanwhile, but run no callback. */
static void await_safe(struct candidate *c, struct hf_lock *driving)
{
    int64_t end_ms = local_now_ms() + AWAIT_MS;

    while (hf_lock_safe_ms(c->lock, hf_election_owner(c->election)) <= 0) {
        ck_assert_int_lt(local_now_ms(), end_ms);
        acquire(driving, 7);
        release(driving, 7);
    }
}

static void await_unsafe(struct candidate *c)
{
    int64_t end_ms = local_now_ms() + AWAIT_MS;

    while (hf_lock_safe_ms(c->lock, hf_election_owner(c->election)) > 0) {
        ck_assert_int_lt(local_now_ms(), end_ms);
        local_poll_rest();
    }
}

/* ELECT-2: The thread that runs callbacks is occupied when the hold is granted, and nothing
 * renews the hold meanwhile. on_elected checks that the candidate leads. */
START_TEST(hold_that_ended_before_its_callback_never_led)
{
    struct hf_election_options o = {.size = sizeof o, .on_elected = occupy};
    struct candidate *c = &all[0];
    struct hf_lock *locks[] = {lock_of(c->client, "other"), lock_of(c->client, "third")};
    struct hf_election *other;

    note_init(&other_told);
    other_elected = may_return = 0;
    acquire(all[1].lock, 1);
    join(c);
    await_listener();
    ck_assert_ok(hf_election_join(&other, locks[0], &o, NULL));
    note_await(&other_told, &other_elected, 1, "the other election");
    release(all[1].lock, 1);
    await_safe(c, locks[1]);
    await_unsafe(c);
    note_add(&other_told, &may_return);
    await_elected(c, 1);
    ck_assert_int_eq(note_read(&c->note, &c->deposed), 0);
    leave(c);
    (void)hf_election_leave(other, NULL);
    hf_lock_free(locks[0]);
    hf_lock_free(locks[1]);
}
END_TEST

/* ---- trouble ---- */

START_TEST(an_unreachable_server_is_tried_again)
{
    struct candidate *c = &all[0];

    server_kill(server);
    join(c);
    note_await(&c->note, &c->troubles, 1, "trouble");
    ck_assert_int_lt(c->trouble, 0);
    ck_assert_int_eq(hf_election_safe_ms(c->election), INT64_MIN);
    server_restart(server);
    await_elected(c, 1);
    leave(c);
}
END_TEST

START_TEST(a_key_that_is_not_a_lock_is_an_error_until_it_is_deleted)
{
    struct candidate *c = &all[0];

    (void)server_ask(server, "SET " NAME " 1");
    join(c);
    note_await(&c->note, &c->troubles, 1, "trouble");
    ck_assert_int_eq(c->trouble, HF_E_SERVER);
    (void)server_ask(server, "DEL " NAME);
    await_elected(c, 1);
    leave(c);
}
END_TEST

START_TEST(an_election_of_a_closed_client_sends_no_request)
{
    struct candidate *c = &all[0], *other = &all[1];

    acquire(other->lock, 1);
    join(c);
    await_listener();
    ck_assert_ok(hf_client_close(c->client, 1000, NULL, NULL));
    note_await(&c->note, &c->troubles, 1, "trouble");
    ck_assert_int_eq(c->trouble, HF_E_CLOSED);
    release(other->lock, 1);
    ck_assert_int_eq(note_read(&c->note, &c->elected), 0);
    (void)hf_election_leave(c->election, NULL);
}
END_TEST

/* Its lock is let go of with the client, and that is told to nobody. */
START_TEST(a_leader_that_left_a_closed_client_gets_no_callback)
{
    struct candidate *c = &all[0];
    struct hf_client *client = c->client;

    join(c);
    await_elected(c, 1);
    ck_assert_ok(hf_client_close(client, 1000, NULL, NULL));
    ck_assert_status(hf_election_leave(c->election, NULL), HF_E_CLOSED);
    c->client = NULL;
    hf_client_free(client);
    ck_assert_int_eq(note_read(&c->note, &c->deposed), 0);
}
END_TEST

/* ---- leaving ---- */

/* SENT: the request for the lock is sent, and the server executes it later. */
enum moment { AT_ONCE, SENT, IN_LINE, IN_A_PAUSE, WHEN_LOST, MOMENTS };

static void join_a_paused_server(struct candidate *c)
{
    int64_t end_ms = local_now_ms() + AWAIT_MS;

    ck_assert_ok(hf_client_connect(c->client, NULL));
    server_pause(server);
    join(c);
    while (stats_of(c->client).link.in_flight == 0) {
        ck_assert_int_lt(local_now_ms(), end_ms);
        local_poll_rest();
    }
}

static void reach(struct candidate *c, enum moment moment)
{
    if (moment == IN_LINE) {
        acquire(all[1].lock, 1);
        join(c);
        await_listener();
        return;
    }
    if (moment == SENT) {
        join_a_paused_server(c);
        return;
    }
    if (moment == IN_A_PAUSE)
        (void)server_ask(server, "SET " NAME " 1");
    join(c);
    if (moment == IN_A_PAUSE)
        note_await(&c->note, &c->troubles, 1, "trouble");
    if (moment != WHEN_LOST)
        return;
    await_elected(c, 1);
    (void)server_ask(server, "DEL " NAME);
}

/* ELECT-4: No callback comes later. A grant that arrives after the leave is released in the
 * background, so the next owner may have to wait for that. */
START_TEST(it_can_be_left_at_any_moment)
{
    struct candidate *c = &all[0];
    hf_status rc;
    int elected;

    reach(c, (enum moment)_i);
    rc = hf_election_leave(c->election, NULL);
    ck_assert_msg(rc == HF_OK || (rc == HF_LOST && _i == WHEN_LOST), "%s", hf_status_name(rc));
    elected = note_read(&c->note, &c->elected);
    if (_i == IN_LINE)
        release(all[1].lock, 1);
    if (_i == SENT)
        server_resume(server);
    if (_i == IN_A_PAUSE)
        (void)server_ask(server, "DEL " NAME); /* it is not a lock */
    acquire(c->lock, 7); /* over the same connection */
    release(c->lock, 7);
    ck_assert_int_eq(note_read(&c->note, &c->elected), elected);
    server_await(server, LONG_MS, "0", "EXISTS " NAME);
}
END_TEST

static struct note leaving;
static int has_begun;

static void on_deposed_slowly(void *ctx, struct hf_election *election,
                              enum hf_lost reason)
{
    on_deposed(ctx, election, reason);
    note_await(&leaving, &has_begun, 1, "leaving");
    local_rest_us(100000); /* leave() has begun by then, or nothing is shown */
}

/* Its caller knows: it is no loss more. */
START_TEST(leave_during_the_callback_of_a_loss)
{
    struct candidate *c = &all[0];
    struct hf_election_options o = {.size = sizeof o, .on_elected = on_elected,
                                    .on_deposed = on_deposed_slowly,
                                    .ctx = c};

    note_init(&leaving);
    has_begun = 0;
    ck_assert_ok(hf_election_join(&c->election, c->lock, &o, NULL));
    await_elected(c, 1);
    (void)server_ask(server, "DEL " NAME);
    note_await(&c->note, &c->deposed, 1, "deposed");
    note_add(&leaving, &has_begun);
    ck_assert_ok(hf_election_leave(c->election, NULL));
}
END_TEST

/* What it may leave behind is described above. */
START_TEST(it_is_left_while_the_callback_runs)
{
    for (int i = 0; i < 100; i++) {
        struct candidate *c = &all[i & 1];

        join(c);
        ck_assert_ok(hf_election_leave(c->election, NULL));
    }
    server_await(server, LONG_MS, "0", "EXISTS " NAME);
}
END_TEST

/* ---- without a background thread ---- */

START_TEST(one_loop_of_the_users_drives_it)
{
    struct hf_client_options o;
    char url[SERVER_URL_MAX];
    struct candidate *c = &all[0];
    struct hf_loop_options none = {.size = sizeof none, .thread = false};
    struct hf_client *client;
    struct hf_loop *loop;
    int64_t deadline_ms = local_now_ms() + AWAIT_MS;

    ck_assert_ok(hf_loop_new(&loop, &none));
    client_options(&o, url, server_port(server));
    o.loop = loop;
    client = client_with(&o);
    hf_lock_free(c->lock);
    c->lock = lock_of(client, NAME);
    join(c);
    while (note_read(&c->note, &c->elected) == 0) {
        ck_assert(local_now_ms() < deadline_ms);
        hf_loop_dispatch(loop, 100);
    }
    leave(c); /* it drives the loop itself */
    ck_assert_int_eq(server_ask_int(server, "EXISTS " NAME), 0);
    hf_lock_free(c->lock);
    hf_client_free(client);
    hf_loop_free(loop);
}
END_TEST

/* ---- kinds ---- */

START_TEST(it_needs_a_lock_of_one)
{
    static const enum hf_lock_kind many[] = {HF_KIND_READ, HF_KIND_PERMIT};
    struct hf_election_options o = {.size = sizeof o};
    struct hf_error err;
    struct hf_lock *lock;

    ck_assert_ok(hf_lock_new_kind(&lock, all[0].client, many[_i], "many", 4, NULL));
    ck_assert_status(hf_election_join(&all[0].election, lock, &o, &err), HF_E_INVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "cannot elect a leader"));
    o.size = 0;
    ck_assert_status(hf_election_join(&all[0].election, all[0].lock, &o, &err), HF_E_INVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "hf_election_options was not initialised"));
    ck_assert_ok(hf_election_leave(NULL, NULL));
    hf_lock_free(lock);
}
END_TEST

static const enum hf_lock_kind kinds[] = {HF_KIND_FAIR, HF_KIND_FENCED, HF_KIND_WRITE,
                                          HF_KIND_NONREENTRANT, HF_KIND_VALUE};

START_TEST(each_kind_of_one_serves)
{
    struct candidate *c = &all[0];

    for (int i = 0; i < 2; i++) {
        hf_client_free(all[i].client);
        open_candidate(&all[i], kinds[_i]);
        join(&all[i]);
        await_elected(c, 1);
    }
    if (kinds[_i] == HF_KIND_FENCED)
        ck_assert_int_eq(hf_lock_token(c->lock, hf_election_owner(c->election)), 1);
    leave(c);
    await_elected(&all[1], 1);
    leave(&all[1]);
    ck_assert_int_eq(at_once, 1);
}
END_TEST

/* ---- the suite ---- */

int main(void)
{
    Suite *s = suite_create("election");
    TCase *c = tcase_create("election");

    tcase_add_checked_fixture(c, start, stop);
    tcase_set_timeout(c, 60);
    tcase_add_test(c, a_leader_that_leaves_is_followed_by_another);
    tcase_add_test(c, waiter_of_a_client_is_woken);
    tcase_add_test(c, the_leader_has_an_owner);
    tcase_add_test(c, a_deposed_leader_requests_the_lock_again);
    tcase_add_test(c, a_loss_that_the_leave_finds_is_an_error);
    tcase_add_test(c, a_leader_without_its_server_is_notified_before_the_next_is_elected);
    tcase_add_test(c, a_loss_in_the_callback_comes_after_it);
    tcase_add_test(c, hold_that_ended_before_its_callback_never_led);
    tcase_add_test(c, an_unreachable_server_is_tried_again);
    tcase_add_test(c, a_key_that_is_not_a_lock_is_an_error_until_it_is_deleted);
    tcase_add_test(c, an_election_of_a_closed_client_sends_no_request);
    tcase_add_test(c, a_leader_that_left_a_closed_client_gets_no_callback);
    tcase_add_loop_test(c, it_can_be_left_at_any_moment, 0, MOMENTS);
    tcase_add_test(c, it_is_left_while_the_callback_runs);
    tcase_add_test(c, leave_during_the_callback_of_a_loss);
    tcase_add_test(c, one_loop_of_the_users_drives_it);
    tcase_add_loop_test(c, it_needs_a_lock_of_one, 0, 2);
    tcase_add_loop_test(c, each_kind_of_one_serves, 0, COUNT(kinds));
    suite_add_tcase(s, c);
    return suite_run(s);
}
