/* Multi-locks: all of their members or none, on one server and on two. */
#include "tests/live/test_lock.h"
#include "tests/support/feed.h"
#include "tests/support/one_server.h"
#include "tests/support/proxy.h"

#include "lock/multi.h"

#define WATCHDOG_MS 3000
#define MEMBERS 4

static struct server *far;      /* a second server, and its client */
static struct hf_client *client, *far_client;
static struct hf_lock *locks[MEMBERS]; /* c, a, d: here; b: there */

static void start(void)
{
    start_server();
    ck_assert_ptr_nonnull(far = server_start(NULL));
    client = client_timed(server_port(server), WATCHDOG_MS, 5000);
    far_client = client_timed(server_port(far), WATCHDOG_MS, 5000);
    locks[0] = lock_of(client, "c");
    locks[1] = lock_of(far_client, "b");
    locks[2] = lock_of_kind(client, HF_KIND_FENCED, "a");
    locks[3] = lock_of_kind(client, HF_KIND_FAIR, "d");
}

static void stop(void)
{
    hf_client_free(client);
    hf_client_free(far_client);
    server_stop(far);
    stop_server();
}

static struct hf_multi *multi_of(struct hf_lock *const *of, size_t count)
{
    struct hf_multi *multi = NULL;
    struct hf_error err = {0};

    ck_assert_msg(hf_multi_new(&multi, of, count, &err) == HF_OK, "%s",
                  err.text);
    return multi;
}

/* In one try. */
static hf_status take(struct hf_multi *multi, int64_t owner,
                      struct hf_error *err)
{
    struct hf_acquire_options o = acquire_options(owner);

    o.wait_ms = 0;
    return hf_multi_acquire(multi, &o, err);
}

/* What is held, here and there. */
static void ck_assert_keys(int here, int there)
{
    ck_assert_int_eq(server_ask_int(server, "EXISTS a c d"), here);
    ck_assert_int_eq(server_ask_int(far, "EXISTS b"), there);
}

/* ---- all or none ---- */

START_TEST(all_are_held_and_all_are_released)
{
    struct hf_multi *multi = multi_of(locks, MEMBERS);

    ck_assert_ok(take(multi, 1, NULL));
    ck_assert_keys(3, 1);
    ck_assert_int_gt(hf_multi_safe_ms(multi, 1), 0);
    ck_assert_int_eq(hf_multi_safe_ms(multi, 2), INT64_MIN);
    ck_assert_int_gt(hf_lock_token(locks[2], 1), 0);
    ck_assert_ok(hf_multi_release(multi, 1, NULL));
    ck_assert_keys(0, 0);
    ck_assert_int_eq(hf_multi_safe_ms(multi, 1), INT64_MIN);
    ck_assert_status(hf_multi_release(multi, 1, NULL), HF_NOT_OWNER);
    hf_multi_free(multi);
}
END_TEST

START_TEST(members_are_sorted_by_name)
{
    struct hf_multi *multi = multi_of(locks, MEMBERS);

    for (size_t i = 0; i < MEMBERS; i++)
        ck_assert_int_eq(hf_lock_name(hf_multi_member(multi, i), NULL)[0],
                         "abcd"[i]);
    ck_assert_ptr_null(hf_multi_member(multi, MEMBERS));
    hf_multi_free(multi);
}
END_TEST

/* Each of them, in its turn, is another's. */
START_TEST(a_missing_member_leaves_none)
{
    struct hf_lock *busy = locks[_i];
    struct hf_multi *multi = multi_of(locks, MEMBERS);
    struct hf_error err;
    size_t len;

    acquire(busy, 2);
    ck_assert_status(take(multi, 1, &err), HF_TIMEOUT);
    ck_assert_ptr_nonnull(strstr(err.text, "member '"));
    ck_assert_ptr_nonnull(strstr(err.text, hf_lock_name(busy, &len)));
    ck_assert_keys(_i != 1, _i == 1);
    release(busy, 2);
    ck_assert_ok(take(multi, 1, NULL));
    ck_assert_ok(hf_multi_release(multi, 1, NULL));
    hf_multi_free(multi);
}
END_TEST

START_TEST(it_is_entered_again)
{
    struct hf_multi *multi = multi_of(locks, MEMBERS);

    ck_assert_ok(take(multi, 1, NULL));
    ck_assert_ok(take(multi, 1, NULL));
    ck_assert_status(take(multi, 2, NULL), HF_TIMEOUT);
    ck_assert_ok(hf_multi_release(multi, 1, NULL));
    ck_assert_keys(3, 1);
    ck_assert_int_gt(hf_multi_safe_ms(multi, 1), 0);
    ck_assert_ok(hf_multi_release(multi, 1, NULL));
    ck_assert_keys(0, 0);
    hf_multi_free(multi);
}
END_TEST

START_TEST(an_unreachable_server_leaves_none)
{
    struct hf_multi *multi = multi_of(locks, MEMBERS);
    struct hf_error err;

    server_stop(far);
    far = NULL;
    ck_assert_status(take(multi, 1, &err), HF_E_CONNECT);
    ck_assert_ptr_nonnull(strstr(err.text, "member 'b'"));
    ck_assert_int_eq(server_ask_int(server, "EXISTS a c d"), 0);
    hf_multi_free(multi);
    ck_assert_ptr_nonnull(far = server_start(NULL));
}
END_TEST

/* ---- waiting ---- */

START_TEST(it_waits_for_each)
{
    struct hf_multi *multi = multi_of(locks, MEMBERS);
    struct hf_acquire_options o;
    struct diary diary;
    struct call call;

    acquire(locks[_i], 2);
    o = diary_options(&diary, 1);
    o.wait_ms = LONG_MS;
    call_init(&call);
    ck_assert_ok(hf_multi_acquire_async(multi, &o, call_done, &call));
    note_await(&diary.note, &diary.waits, 1, "on_wait");
    ck_assert(!call_is_done(&call));
    release(locks[_i], 2);
    ck_assert_status(call_await(&call), HF_OK);
    ck_assert_keys(3, 1);
    call_init(&call);
    ck_assert_ok(hf_multi_release_async(multi, 1, call_done, &call));
    ck_assert_status(call_await(&call), HF_OK);
    ck_assert_keys(0, 0);
    hf_multi_free(multi);
}
END_TEST

/* ---- replies that do not come ---- */

static struct proxy *proxy;
static struct hf_client *silenced;  /* through it; its requests do not time out meanwhile */
static struct hf_multi *its_multi;

static void start_silenced(void)
{
    struct hf_lock *members[MEMBERS];

    start_server();
    proxy = proxy_start(server_port(server));
    silenced = client_timed(proxy_port(proxy), 600000, 600000);
    for (int i = 0; i < MEMBERS; i++)
        members[i] = lock_of(silenced, (char[]){(char)('a' + i), '\0'});
    its_multi = multi_of(members, MEMBERS);
    for (int i = 0; i < MEMBERS; i++)
        hf_lock_free(members[i]);
}

static void stop_silenced(void)
{
    hf_multi_free(its_multi);
    hf_client_free(silenced);
    proxy_stop(proxy);
    stop_server();
}

static void *release_and_block(void *unused)
{
    ck_must(hf_multi_release(its_multi, 1, NULL) == HF_OK, "it is released");
    return unused;
}

/* No reply arrives before the server has executed the last of them. */
START_TEST(releases_are_executed_without_waiting_for_each_others_replies)
{
    struct call call;
    pthread_t thread;

    ck_assert_ok(take(its_multi, 1, NULL));
    ck_assert_ok(hf_multi_release(its_multi, 1, NULL)); /* the server has the scripts */
    ck_assert_ok(take(its_multi, 1, NULL));
    proxy_hold(proxy, PROXY_TO_CLIENT, true);
    call_init(&call);
    if (_i == 0)
        ck_assert_ok(hf_multi_release_async(its_multi, 1, call_done, &call));
    else
        ck_assert_int_eq(pthread_create(&thread, NULL, release_and_block, NULL), 0);
    server_await(server, LONG_MS, "0", "EXISTS a b c d");
    proxy_hold(proxy, PROXY_TO_CLIENT, false);
    if (_i == 0)
        ck_assert_status(call_await(&call), HF_OK);
    else
        pthread_join(thread, NULL);
    ck_assert_int_eq(hf_multi_safe_ms(its_multi, 1), INT64_MIN);
}
END_TEST

START_TEST(a_cancelled_wait_leaves_none)
{
    struct hf_lock *here[] = {locks[0], locks[2], locks[3]};
    struct hf_multi *multi = multi_of(here, COUNT(here));
    struct hf_acquire_options o;
    struct hf_cancel cancel;
    struct diary diary;
    struct call call;

    acquire(locks[3], 2);
    hf_cancel_init(&cancel, client);
    o = diary_options(&diary, 1);
    o.cancel = &cancel;
    call_init(&call);
    ck_assert_ok(hf_multi_acquire_async(multi, &o, call_done, &call));
    note_await(&diary.note, &diary.waits, 1, "on_wait");
    ck_assert_keys(3, 0);
    hf_cancel_fire(&cancel);
    ck_assert_status(call_await(&call), HF_CANCELLED);
    ck_assert_keys(1, 0);
    release(locks[3], 2);
    hf_multi_free(multi);
}
END_TEST

/* Who takes single locks in another order is let by: after its patience the
 * multi-lock gives back what the other waits for. */
START_TEST(waiter_for_its_own_lock_passes)
{
    struct hf_lock *here[] = {locks[0], locks[2]};
    struct hf_multi *multi = multi_of(here, COUNT(here));
    struct hf_acquire_options o;
    struct diary diary;
    struct call call;

    acquire(locks[0], 2);       /* c; then a: the wrong way round */
    o = diary_options(&diary, 1);
    call_init(&call);
    ck_assert_ok(hf_multi_acquire_async(multi, &o, call_done, &call));
    note_await(&diary.note, &diary.waits, 1, "on_wait");
    acquire(locks[2], 2);
    release(locks[2], 2);
    release(locks[0], 2);
    ck_assert_status(call_await(&call), HF_OK);
    ck_assert_ok(hf_multi_release(multi, 1, NULL));
    hf_multi_free(multi);
}
END_TEST

/* ---- many at once ---- */

#define THREADS 4
#define TURNS 40

static int inside;
static pthread_mutex_t inside_mutex = PTHREAD_MUTEX_INITIALIZER;

static int count_inside(int change)
{
    int now;

    pthread_mutex_lock(&inside_mutex);
    now = inside += change;
    pthread_mutex_unlock(&inside_mutex);
    return now;
}

/* Each names the members in another order, and has two of them always. */
static void *take_turns(void *number)
{
    size_t n = (size_t)number;
    struct hf_lock *mine[MEMBERS];
    struct hf_multi *multi;

    for (size_t i = 0; i < MEMBERS; i++)
        mine[i] = locks[n % 2 ? (i + n) % MEMBERS : MEMBERS - 1 - i];
    multi = multi_of(mine, MEMBERS);
    for (int i = 0; i < TURNS; i++) {
        ck_must(hf_multi_acquire(multi, NULL, NULL) == HF_OK, "it is granted");
        ck_must(count_inside(1) == 1, "nobody else is inside");
        (void)count_inside(-1);
        ck_must(hf_multi_release(multi, hf_owner_thread(), NULL) == HF_OK,
                "it is released");
    }
    hf_multi_free(multi);
    return NULL;
}

START_TEST(calls_with_any_order_of_members_exclude_each_other)
{
    pthread_t threads[THREADS];

    for (size_t i = 0; i < THREADS; i++)
        ck_assert_int_eq(
            pthread_create(&threads[i], NULL, take_turns, (void *)i), 0);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    ck_assert_keys(0, 0);
}
END_TEST

/* ---- lost as one ---- */

struct losses {
    struct note note;
    int count;
    char name;                  /* whose */
};

static void note_loss(void *ctx, struct hf_lock *lock, int64_t owner,
                      enum hf_lost reason)
{
    struct losses *losses = ctx;

    (void)owner;
    (void)reason;
    losses->name = *hf_lock_name(lock, NULL);
    note_add(&losses->note, &losses->count);
}

START_TEST(the_first_loss_is_the_loss_of_all)
{
    struct hf_multi *multi = multi_of(locks, MEMBERS);
    struct hf_acquire_options o = acquire_options(1);
    struct losses losses = {.count = 0};
    struct hf_error err;

    note_init(&losses.note);
    o.on_lost = note_loss;
    o.ctx = &losses;
    ck_assert_ok(hf_multi_acquire(multi, &o, NULL));
    server_ask(far, "DEL b");
    note_await(&losses.note, &losses.count, 1, "on_lost");
    ck_assert_int_eq(losses.name, 'b');
    ck_assert_int_eq(hf_multi_safe_ms(multi, 1), INT64_MIN);
    server_ask(server, "DEL a");
    while (hf_lock_safe_ms(locks[2], 1) != INT64_MIN)
        local_poll_rest();
    ck_assert_keys(2, 0);       /* the others are renewed */
    ck_assert_status(hf_multi_release(multi, 1, &err), HF_LOST);
    ck_assert_ptr_nonnull(strstr(err.text, "member '"));
    ck_assert_int_ge(err.member, 1);
    ck_assert_int_le(err.member, 2); /* a or b */
    ck_assert_keys(0, 0);
    ck_assert_int_eq(note_read(&losses.note, &losses.count), 1);
    ck_assert_ok(hf_multi_acquire(multi, &o, NULL));
    ck_assert_int_gt(hf_multi_safe_ms(multi, 1), 0);
    ck_assert_ok(hf_multi_release(multi, 1, NULL));
    hf_multi_free(multi);
}
END_TEST

struct slow_loss {
    struct losses losses;
    int done;                   /* it may return */
};

static void tell_slowly(void *ctx, struct hf_lock *lock, int64_t owner,
                        enum hf_lost reason)
{
    struct slow_loss *slow = ctx;

    note_loss(&slow->losses, lock, owner, reason);
    note_await(&slow->losses.note, &slow->done, 1, "the end of a callback");
}

/* All members end at the same time, each on a thread of its own: while one tells,
 * the other is not let go, but ends by its TTL. */
START_TEST(max_hold_releases_no_member_during_on_lost)
{
    struct hf_multi *multi = multi_of(locks, 2);
    struct hf_acquire_options o = acquire_options(1);
    struct slow_loss slow = {.done = 0};
    struct feed *feeds[2];
    bool is_there;

    for (int i = 0; i < 2; i++) {
        struct server *s = i ? far : server;

        (void)server_ask(s, "CONFIG SET notify-keyspace-events Egx");
        feeds[i] = feed_open(s, "SUBSCRIBE __keyevent@0__:del "
                                "__keyevent@0__:expired");
    }
    note_init(&slow.losses.note);
    o.max_hold_ms = 300;
    o.on_lost = tell_slowly;
    o.ctx = &slow;
    ck_assert_ok(hf_multi_acquire(multi, &o, NULL));
    note_await(&slow.losses.note, &slow.losses.count, 1, "on_lost");
    is_there = slow.losses.name == 'b';
    ck_assert_ptr_nonnull(
        strstr(feed_next(feeds[!is_there], AWAIT_MS)->text, ":expired"));
    note_add(&slow.losses.note, &slow.done);
    ck_assert_status(hf_multi_release(multi, 1, NULL), HF_LOST);
    ck_assert_int_eq(note_read(&slow.losses.note, &slow.losses.count), 1);
    for (int i = 0; i < 2; i++)
        feed_close(feeds[i]);
    server_await(server, LONG_MS, "0", "EXISTS c");
    server_await(far, LONG_MS, "0", "EXISTS b");
    hf_multi_free(multi);
}
END_TEST

START_TEST(a_lease_is_each_members)
{
    struct hf_multi *multi = multi_of(locks, MEMBERS);
    struct hf_acquire_options o = acquire_options(1);

    o.lease_ms = 20000;
    ck_assert_ok(hf_multi_acquire(multi, &o, NULL));
    ck_assert_int_ge(hf_multi_safe_ms(multi, 1), 10000);
    ck_assert_int_gt(server_ask_int(server, "PTTL a"), 10000);
    ck_assert_int_gt(server_ask_int(far, "PTTL b"), 10000);
    ck_assert_ok(hf_multi_release(multi, 1, NULL));
    hf_multi_free(multi);
}
END_TEST

/* ---- what is refused ---- */

START_TEST(members_that_would_wait_for_themselves_are_refused)
{
    struct hf_lock *read = lock_of_kind(client, HF_KIND_READ, "file");
    struct hf_lock *write = lock_of_kind(client, HF_KIND_WRITE, "file");
    struct hf_lock *twice[] = {locks[0], locks[1], locks[0]};
    struct hf_lock *sides[] = {read, write};
    struct hf_multi *multi;
    struct hf_error err;

    ck_assert_status(hf_multi_new(&multi, twice, 3, &err), HF_E_INVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "'c'"));
    ck_assert_status(hf_multi_new(&multi, sides, 2, &err), HF_E_INVAL);
    ck_assert_status(hf_multi_new(&multi, locks, 0, &err), HF_E_INVAL);
    ck_assert_status(hf_multi_new(&multi, locks, HF_MULTI_MAX + 1, &err),
                     HF_E_INVAL);
    hf_multi_free(NULL);
}
END_TEST

START_TEST(options_that_make_no_sense_are_refused)
{
    struct hf_multi *multi = multi_of(locks, MEMBERS);
    struct hf_acquire_options o = acquire_options(1);
    struct hf_cancel cancel;
    struct call call;

    o.keep_unreplicated = true;
    ck_assert_status(hf_multi_acquire(multi, &o, NULL), HF_E_INVAL);
    o = acquire_options(0);
    ck_assert_status(hf_multi_acquire(multi, &o, NULL), HF_E_INVAL);
    o = acquire_options(1);
    o.wait_ms = -2;
    ck_assert_status(hf_multi_acquire(multi, &o, NULL), HF_E_INVAL);
    o = acquire_options(1);
    hf_cancel_init(&cancel, client);
    o.cancel = &cancel;
    ck_assert_status(hf_multi_acquire(multi, &o, NULL), HF_E_INVAL);
    o = acquire_options(hf_owner_thread());
    ck_assert_status(hf_multi_acquire_async(multi, &o, call_done, &call),
                     HF_E_INVAL);
    ck_assert_status(hf_multi_acquire_async(multi, NULL, call_done, &call),
                     HF_E_INVAL);
    ck_assert_status(hf_multi_release(multi, 0, NULL), HF_NOT_OWNER);
    ck_assert_keys(0, 0);
    hf_multi_free(multi);
}
END_TEST

/* The two would not know which of them has what. */
START_TEST(a_second_call_of_one_owner_is_refused)
{
    struct hf_multi *multi = multi_of(locks, MEMBERS);
    struct hf_acquire_options o;
    struct diary diary;
    struct call call;

    acquire(locks[0], 2);
    o = diary_options(&diary, 1);
    call_init(&call);
    ck_assert_ok(hf_multi_acquire_async(multi, &o, call_done, &call));
    note_await(&diary.note, &diary.waits, 1, "on_wait");
    ck_assert_status(take(multi, 1, NULL), HF_E_INVAL);
    release(locks[0], 2);
    ck_assert_status(call_await(&call), HF_OK);
    ck_assert_ok(hf_multi_release(multi, 1, NULL));
    hf_multi_free(multi);
}
END_TEST

/* ---- the suite ---- */

int main(void)
{
    Suite *s = suite_create("multi");
    TCase *c = tcase_create("multi");

    tcase_add_checked_fixture(c, start, stop);
    tcase_set_timeout(c, 60);
    tcase_add_test(c, all_are_held_and_all_are_released);
    tcase_add_test(c, members_are_sorted_by_name);
    tcase_add_loop_test(c, a_missing_member_leaves_none, 0, MEMBERS);
    tcase_add_test(c, it_is_entered_again);
    tcase_add_test(c, an_unreachable_server_leaves_none);
    tcase_add_loop_test(c, it_waits_for_each, 0, MEMBERS);
    tcase_add_test(c, a_cancelled_wait_leaves_none);
    tcase_add_test(c, waiter_for_its_own_lock_passes);
    tcase_add_test(c, calls_with_any_order_of_members_exclude_each_other);
    tcase_add_test(c, the_first_loss_is_the_loss_of_all);
    tcase_add_test(c, max_hold_releases_no_member_during_on_lost);
    tcase_add_test(c, a_lease_is_each_members);
    tcase_add_test(c, members_that_would_wait_for_themselves_are_refused);
    tcase_add_test(c, options_that_make_no_sense_are_refused);
    tcase_add_test(c, a_second_call_of_one_owner_is_refused);
    suite_add_tcase(s, c);
    c = tcase_create("silenced");
    tcase_add_checked_fixture(c, start_silenced, stop_silenced);
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(
        c, releases_are_executed_without_waiting_for_each_others_replies, 0, 2);
    suite_add_tcase(s, c);
    return suite_run(s);
}
