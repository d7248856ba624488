/* Quorums that are lost: told once and in time, and nothing is free before. Calls in
 * callbacks. */
#include "tests/live/set/test_quorum_kit.h"

/* ---- loops that the test drives ---- */

#define THREE 3

static int64_t watchdog_ms = WATCHDOG_MS;

/* Three members whose loops the test drives. */
static void open_driven(struct party *p)
{
    struct hf_client_options o;
    char url[SERVER_URL_MAX];

    for (int i = 0; i < THREE; i++) {
        client_options(&o, url, server_port(servers[i]));
        o.thread = false;
        o.watchdog_ms = watchdog_ms;
        o.request_timeout_ms = TIMEOUT_MS;
        p->clients[i] = client_with(&o);
        p->locks[i] = lock_of(p->clients[i], NAME);
    }
    ck_assert_ok(hf_quorum_new(&p->quorum, p->locks, THREE, NULL));
}

/* By calls that block: callbacks wait meanwhile. */
static void await_safe_without_callbacks(struct hf_lock *lock, int64_t owner,
                                         bool is_safe)
{
    int64_t deadline_ms = local_now_ms() + AWAIT_MS;
    struct hf_lock_info info;

    while ((hf_lock_safe_ms(lock, owner) > 0) != is_safe) {
        ck_assert(local_now_ms() < deadline_ms);
        ck_assert_ok(hf_lock_inspect(lock, &info, NULL));
        local_poll_rest();
    }
}

static void close_driven(struct party *p)
{
    for (int i = 0; i < THREE; i++)
        (void)hf_client_close(p->clients[i], 0, NULL, NULL);
    hf_quorum_free(p->quorum);
    for (int i = 0; i < THREE; i++)
        hf_client_free(p->clients[i]);
}

/* A turn of each of the first `count` clients. */
static void dispatch(struct party *p, int count, int64_t deadline_ms)
{
    ck_assert(local_now_ms() < deadline_ms);
    for (int i = 0; i < count; i++)
        hf_loop_dispatch(hf_client_loop(p->clients[i]), 10);
}

static void drive_to_end(struct party *p, int count, struct call *call)
{
    int64_t deadline_ms = local_now_ms() + AWAIT_MS;

    while (!call_is_done(call))
        dispatch(p, count, deadline_ms);
}

static void drive_until_lost(struct party *p, int count, int member,
                             int64_t owner)
{
    int64_t deadline_ms = local_now_ms() + AWAIT_MS;

    while (hf_lock_safe_ms(p->locks[member], owner) > 0)
        dispatch(p, count, deadline_ms);
}

/* By owner 7, on all three; the first `heard` of them hear of it. */
static void acquire_driven(struct party *p, const struct hf_acquire_options *o,
                           int heard)
{
    struct call call;

    open_driven(p);
    call_init(&call);
    ck_assert_ok(hf_quorum_acquire_async(p->quorum, o, call_done, &call));
    if (heard < THREE)
        await_safe_without_callbacks(p->locks[2], 7, true);
    drive_to_end(p, heard, &call);
    ck_assert_status(call_await(&call), HF_OK);
}

/* Its callback waits. */
static void lose_the_third(struct party *p)
{
    (void)server_ask(servers[2], "DEL " NAME);
    await_safe_without_callbacks(p->locks[2], 7, false);
}

static void ck_assert_the_second_loss_is_told(struct party *p,
                                              const struct diary *diary)
{
    (void)server_ask(servers[1], "DEL " NAME);
    drive_until_lost(p, 2, 1, 7);
    hf_loop_dispatch(hf_client_loop(p->clients[1]), 10);
    ck_assert_int_eq(hf_quorum_safe_ms(p->quorum, 7), INT64_MIN);
    ck_assert_int_eq(diary->losses, 1);
}

/* The third member is granted, and lost, while its callbacks wait; a loss is told
 * before all others. It is no member of the majority from then on. */
START_TEST(a_member_lost_before_its_answer_is_heard_does_not_count)
{
    struct hf_acquire_options o;
    struct diary diary;
    struct party p;

    o = diary_options(&diary, 7);
    acquire_driven(&p, &o, 2);
    lose_the_third(&p);
    hf_loop_dispatch(hf_client_loop(p.clients[2]), 0);
    ck_assert_int_eq(diary.losses, 0);
    ck_assert_the_second_loss_is_told(&p, &diary);
    close_driven(&p);
}
END_TEST

/* The third member's grant is heard when all are given back: it is no answer to
 * that. Two of three do not answer. */
START_TEST(a_grant_that_is_heard_late_is_no_answer_to_a_release)
{
    struct hf_acquire_options o = acquire_options(7);
    struct party p;
    struct call call;

    acquire_driven(&p, &o, 2);
    each(1, 2, server_pause);
    call_init(&call);
    ck_assert_ok(hf_quorum_release_async(p.quorum, 7, call_done, &call));
    drive_to_end(&p, THREE, &call);
    ck_assert_status(call_await(&call), HF_E_QUORUM);
    each(1, 2, server_resume);
    close_driven(&p);
}
END_TEST

/* The fenced member 2 was granted late, so that its counter is raised, without a reply. While the
 * release waits for that reply, the longest hold time of the member ends: no request was sent to
 * its server, which still has the lock. */
START_TEST(a_member_that_is_lost_during_the_release_is_not_released)
{
    struct hf_acquire_options o;
    struct hf_client_options co;
    char url[SERVER_URL_MAX];
    struct diary diary;
    struct party p;
    struct call call;

    for (int i = 0; i < THREE; i++) {
        (void)server_ask(servers[i], "SET redisson_lock_token:{" NAME "} %d", i == 2 ? 7 : 3000);
        client_options(&co, url, server_port(servers[i]));
        co.thread = false;
        co.watchdog_ms = 30000;
        co.request_timeout_ms = 2000;
        p.clients[i] = client_with(&co);
        p.locks[i] = lock_of_kind(p.clients[i], HF_KIND_FENCED, NAME);
    }
    ck_assert_ok(hf_quorum_new(&p.quorum, p.locks, THREE, NULL));
    o = diary_options(&diary, 7);
    o.max_hold_ms = 800;
    call_init(&call);
    ck_assert_ok(hf_quorum_acquire_async(p.quorum, &o, call_done, &call));
    await_safe_without_callbacks(p.locks[2], 7, true);
    drive_to_end(&p, 2, &call);
    ck_assert_status(call_await(&call), HF_OK);
    server_pause(servers[2]);
    server_pause(servers[1]);
    for (int i = 0; i < 5; i++)
        hf_loop_dispatch(hf_client_loop(p.clients[2]), 5);
    call_init(&call);
    ck_assert_ok(hf_quorum_release_async(p.quorum, 7, call_done, &call));
    drive_to_end(&p, THREE, &call);
    ck_assert_status(call_await(&call), HF_E_QUORUM);
    server_resume(servers[1]);
    server_resume(servers[2]);
    close_driven(&p);
}
END_TEST

/* The third member is lost, but its callback waits, when the second one's is told. */
START_TEST(a_loss_that_is_not_reported_yet_counts)
{
    struct hf_acquire_options o;
    struct diary diary;
    struct party p;

    o = diary_options(&diary, 7);
    acquire_driven(&p, &o, THREE);
    await_safe_without_callbacks(p.locks[2], 7, true);
    for (int i = 0; i < 20; i++) /* its grant is heard, too */
        hf_loop_dispatch(hf_client_loop(p.clients[2]), 5);
    lose_the_third(&p);
    ck_assert_the_second_loss_is_told(&p, &diary);
    close_driven(&p);
}
END_TEST

/* ---- members that are forgotten one after the other ---- */

static bool has_key(int server)
{
    return strcmp(server_ask(servers[server], "EXISTS " NAME), "1") == 0;
}

/* The first `count` clients run until the first member, which was forgotten, is held
 * again. */
static void acquire_the_first_again(struct party *p, int count)
{
    int64_t deadline_ms = local_now_ms() + AWAIT_MS;

    (void)server_ask(servers[0], "FLUSHALL");
    drive_until_lost(p, count, 0, 7);
    while (!has_key(0) || hf_lock_safe_ms(p->locks[0], 7) <= 0)
        dispatch(p, count, deadline_ms);
}

/* Two members end the acquire, and the third one's grant comes after that. */
static void await_confirmation(struct party *p, const struct diary *diary)
{
    int64_t deadline_ms = local_now_ms() + AWAIT_MS;

    while (diary->renewals < THREE - 1)
        dispatch(p, THREE, deadline_ms);
}

/* The watchdog's next renewal is minutes away. */
START_TEST(the_others_are_confirmed_soon_after_a_late_grant)
{
    struct hf_acquire_options o;
    struct diary diary;
    struct party p;

    watchdog_ms = 600000;
    o = diary_options(&diary, 7);
    o.allow_same_server = true; /* no comparison of servers lets the third grant come first */
    acquire_driven(&p, &o, THREE);
    await_confirmation(&p, &diary);
    close_driven(&p);
}
END_TEST

/* Another owner could have had the first and the second. */
START_TEST(a_member_forgotten_before_another_was_acquired_again_is_a_loss)
{
    struct hf_acquire_options o;
    struct diary diary;
    struct party p;
    struct call call;

    o = diary_options(&diary, 7);
    o.allow_same_server = true; /* no comparison of servers lets the third grant come first */
    acquire_driven(&p, &o, THREE);
    await_confirmation(&p, &diary);
    (void)server_ask(servers[1], "FLUSHALL");
    acquire_the_first_again(&p, 1);
    ck_assert_int_eq(diary.losses, 0);
    drive_until_lost(&p, THREE, 1, 7);
    dispatch(&p, THREE, local_now_ms() + LONG_MS);
    ck_assert_int_eq(diary.losses, 1);
    ck_assert_int_eq(hf_quorum_safe_ms(p.quorum, 7), INT64_MIN);
    call_init(&call);
    ck_assert_ok(hf_quorum_release_async(p.quorum, 7, call_done, &call));
    drive_to_end(&p, THREE, &call);
    ck_assert_status(call_await(&call), HF_LOST);
    close_driven(&p);
}
END_TEST

/* All are confirmed before the second is forgotten. */
START_TEST(a_member_forgotten_after_it_was_confirmed_is_a_vote_less)
{
    struct hf_acquire_options o;
    struct diary diary;
    struct party p;
    int64_t deadline_ms = local_now_ms() + AWAIT_MS;
    int renewals;

    o = diary_options(&diary, 7);
    o.allow_same_server = true; /* no comparison of servers lets the third grant come first */
    acquire_driven(&p, &o, THREE);
    await_confirmation(&p, &diary);
    acquire_the_first_again(&p, THREE);
    renewals = diary.renewals;
    while (diary.renewals < renewals + THREE)
        dispatch(&p, THREE, deadline_ms);
    (void)server_ask(servers[1], "FLUSHALL");
    drive_until_lost(&p, THREE, 1, 7);
    while (!has_key(1))
        dispatch(&p, THREE, deadline_ms);
    ck_assert_int_eq(diary.losses, 0);
    ck_assert_int_gt(hf_quorum_safe_ms(p.quorum, 7), 0);
    close_driven(&p);
}
END_TEST

/* ---- a release that finds a forgotten member: QUORUM-11 ---- */

static hf_status release_driven(struct party *p)
{
    struct call call;

    call_init(&call);
    ck_assert_ok(hf_quorum_release_async(p->quorum, 7, call_done, &call));
    drive_to_end(p, THREE, &call);
    return call_await(&call);
}

/* All three are confirmed; the second is forgotten, and the first is forgotten and
 * acquired again. Another owner could have had both. */
static void forget_the_first_two(struct party *p, struct diary *diary)
{
    struct hf_acquire_options o = diary_options(diary, 7);

    watchdog_ms = WATCHDOG_MS;
    o.allow_same_server = true; /* no comparison of servers lets the third grant come first */
    acquire_driven(p, &o, THREE);
    await_confirmation(p, diary);
    (void)server_ask(servers[1], "FLUSHALL");
    acquire_the_first_again(p, 1);
}

START_TEST(quorum_11_a_release_finds_a_member_forgotten_before_another_was_acquired_again)
{
    struct diary diary;
    struct party p;

    forget_the_first_two(&p, &diary);
    ck_assert_status(release_driven(&p), HF_LOST);
    ck_assert_int_eq(diary.losses, 0);
    close_driven(&p);
}
END_TEST

/* The client has noticed the loss of the second. */
START_TEST(quorum_11_a_release_takes_in_losses_whose_callbacks_are_late)
{
    struct diary diary;
    struct party p;

    forget_the_first_two(&p, &diary);
    await_safe_without_callbacks(p.locks[1], 7, false);
    ck_assert_status(release_driven(&p), HF_LOST);
    close_driven(&p);
}
END_TEST

/* The members that are left were held all the time. */
START_TEST(quorum_11_a_release_that_finds_one_member_of_three_forgotten_is_no_loss)
{
    struct hf_acquire_options o;
    struct diary diary;
    struct party p;

    watchdog_ms = WATCHDOG_MS;
    o = diary_options(&diary, 7);
    o.allow_same_server = true; /* no comparison of servers lets the third grant come first */
    acquire_driven(&p, &o, THREE);
    await_confirmation(&p, &diary);
    (void)server_ask(servers[1], "FLUSHALL");
    ck_assert_status(release_driven(&p), HF_OK);
    close_driven(&p);
}
END_TEST

/* ---- while on_lost runs ---- */

struct slow_loss {
    struct note note;
    int begun, ended;
    int64_t rest_ms;
};

static void on_lost_slow(void *ctx, struct hf_lock *lock, int64_t owner,
                         enum hf_lost reason)
{
    struct slow_loss *s = ctx;

    (void)lock;
    (void)owner;
    (void)reason;
    note_add(&s->note, &s->begun);
    local_rest_us(s->rest_ms * 1000);
    note_add(&s->note, &s->ended);
}

/* Its members stay held by the server for `for_ms` since they were asked for. */
static void ck_assert_nobody_gets_in(struct hf_acquire_options *o, int64_t for_ms)
{
    struct slow_loss s = {.rest_ms = 300};
    int64_t sent_ms = local_now_ms();
    hf_status rc = HF_TIMEOUT;

    note_init(&s.note);
    o->on_lost = on_lost_slow;
    o->ctx = &s;
    ck_assert_ok(hf_quorum_acquire(here.quorum, o, NULL));
    note_await(&s.note, &s.begun, 1, "on_lost");
    while (rc != HF_OK && local_now_ms() < sent_ms + for_ms)
        rc = take(&there, 2, 0, NULL);
    ck_assert_msg(rc != HF_OK || local_now_ms() >= sent_ms + for_ms,
                  "another owner has it, and the servers keep it yet");
    note_await(&s.note, &s.ended, 1, "the end of on_lost");
    ck_assert_status(hf_quorum_release(here.quorum, 1, NULL), HF_LOST);
}

START_TEST(max_hold_frees_nothing_before_the_release)
{
    struct hf_acquire_options o = acquire_options(1);

    o.max_hold_ms = 1000;
    ck_assert_nobody_gets_in(&o, WATCHDOG_MS);
}
END_TEST

/* The safe time ends 22 ms before the lease: 1 % of it, and 2 ms. */
START_TEST(a_lease_that_ends_frees_nothing_before_the_release)
{
    struct hf_acquire_options o = acquire_options(1);

    o.lease_ms = 2000;
    ck_assert_nobody_gets_in(&o, o.lease_ms);
}
END_TEST

/* ---- releases of what was lost ---- */

START_TEST(the_release_of_a_lost_quorum_is_reported_by_done)
{
    struct hf_acquire_options o;
    struct diary diary;
    struct call call;

    o = diary_options(&diary, 7);
    call_init(&call);
    ck_assert_ok(hf_quorum_acquire_async(here.quorum, &o, call_done, &call));
    ck_assert_status(call_await(&call), HF_OK);
    await_keys(0, SERVERS, "1");
    for (int i = 0; i < SERVERS; i++)
        (void)server_ask(servers[i], "DEL " NAME);
    note_await(&diary.note, &diary.losses, 1, "on_lost");
    for (int i = 0; i < SERVERS; i++)
        while (hf_lock_safe_ms(here.locks[i], 7) > 0)
            local_poll_rest();
    call_init(&call);
    ck_assert_ok(hf_quorum_release_async(here.quorum, 7, call_done, &call));
    ck_assert_status(call_await(&call), HF_LOST);
}
END_TEST

struct in_callback {
    struct note note;
    int ended;
    hf_status blocking, posted;
    struct hf_error err;
    struct call call;
};

static void release_in_on_lost(void *ctx, struct hf_lock *lock, int64_t owner,
                               enum hf_lost reason)
{
    struct in_callback *c = ctx;

    (void)lock;
    (void)reason;
    c->blocking = hf_quorum_release(here.quorum, owner, &c->err);
    c->posted = hf_quorum_release_async(here.quorum, owner, call_done, &c->call);
    note_add(&c->note, &c->ended);
}

/* What blocks would wait for an answer that nobody hears. */
START_TEST(a_callback_releases_without_blocking)
{
    struct in_callback c = {.blocking = HF_OK};
    struct hf_acquire_options o = acquire_options(1);

    note_init(&c.note);
    call_init(&c.call);
    o.lease_ms = 500;
    o.on_lost = release_in_on_lost;
    o.ctx = &c;
    ck_assert_ok(hf_quorum_acquire(here.quorum, &o, NULL));
    note_await(&c.note, &c.ended, 1, "the end of on_lost");
    ck_assert_status(c.blocking, HF_E_INVAL);
    ck_assert_ptr_nonnull(strstr(c.err.text, "use the call that does not block"));
    ck_assert_ok(c.posted);
    ck_assert_status(call_await(&c.call), HF_LOST);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("quorum, lost");
    TCase *c = tcase_create("lost");

    tcase_add_checked_fixture(c, start, stop);
    tcase_set_timeout(c, 60);
    tcase_add_test(c, a_member_that_is_lost_during_the_release_is_not_released);
    tcase_add_test(c, a_grant_that_is_heard_late_is_no_answer_to_a_release);
    tcase_add_test(c, a_member_lost_before_its_answer_is_heard_does_not_count);
    tcase_add_test(c, a_loss_that_is_not_reported_yet_counts);
    tcase_add_test(c, the_others_are_confirmed_soon_after_a_late_grant);
    tcase_add_test(c, a_member_forgotten_before_another_was_acquired_again_is_a_loss);
    tcase_add_test(c, a_member_forgotten_after_it_was_confirmed_is_a_vote_less);
    tcase_add_test(
        c, quorum_11_a_release_finds_a_member_forgotten_before_another_was_acquired_again);
    tcase_add_test(c, quorum_11_a_release_takes_in_losses_whose_callbacks_are_late);
    tcase_add_test(c, quorum_11_a_release_that_finds_one_member_of_three_forgotten_is_no_loss);
    tcase_add_test(c, max_hold_frees_nothing_before_the_release);
    tcase_add_test(c, a_lease_that_ends_frees_nothing_before_the_release);
    tcase_add_test(c, the_release_of_a_lost_quorum_is_reported_by_done);
    tcase_add_test(c, a_callback_releases_without_blocking);
    suite_add_tcase(s, c);
    return suite_run(s);
}
