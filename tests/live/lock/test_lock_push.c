/* The loss of a held lock, reported by the server. Renewals are so rare that no test waits for
 * one: what is detected was detected because of a push. */
#include "lock/script/kind.h"
#include "tests/live/test_acl.h"
#include "tests/live/test_sentinel.h"
#include "tests/live/test_tracking.h"
#include "tests/support/one_server.h"


static struct hf_client *client;
static struct diary diary;

static void start(void)
{
    start_server();
    client = client_by(server, TRACKING, NULL);
}

static void stop(void)
{
    hf_client_free(client);
    stop_server();
}

static bool info_has(const char *line)
{
    return strstr(server_ask(server, "INFO"), line) != NULL;
}

static void await_info(const char *line)
{
    int64_t deadline_ms = local_now_ms() + AWAIT_MS;

    while (!info_has(line)) {
        ck_assert_msg(local_now_ms() < deadline_ms, "INFO never contained %s", line);
        local_poll_rest();
    }
}

static void await_renewals(uint64_t count)
{
    int64_t deadline_ms = local_now_ms() + AWAIT_MS;

    while (stats_of(client).renewals < count) {
        ck_assert_msg(local_now_ms() < deadline_ms, "no renewal came");
        local_poll_rest();
    }
}

/* Acquires a lock, and waits until the server tracks its key. */
static struct hf_lock *hold_of_kind(enum hf_lock_kind kind, int64_t lease_ms)
{
    struct hf_acquire_options o = diary_options(&diary, 1);
    struct hf_lock *lock;

    ck_assert_ok(hf_lock_new_kind(&lock, client, kind, NAME, strlen(NAME), NULL));
    o.lease_ms = lease_ms;
    ck_assert_ok(hf_lock_acquire(lock, &o, NULL));
    await_info("tracking_total_keys:1\r");
    if (lease_ms == 0)
        await_renewals(1);
    return lock;
}

/* ---- what is lost ---- */

#define BUSY "for i = 1, 3e6 do end "

static const struct {
    const char *script;
    enum hf_lost reason;
} losses[] = {
    {"redis.call('del', '" NAME "')", HF_REASON_DELETED},
    {"redis.call('set', '" NAME "', 'x')", HF_REASON_TAKEN},
    {"redis.call('flushall')", HF_REASON_DELETED},
    {"redis.call('pexpire', '" NAME "', '1') " BUSY, HF_REASON_DELETED},
    {"redis.call('del', '" NAME "') redis.call('hset', '" NAME "', 'x', '1')",
     HF_REASON_TAKEN},
};

static void lose(int64_t lease_ms, int row)
{
    struct hf_lock *lock = hold_of_kind(HF_KIND_PLAIN, lease_ms);
    struct hf_client_stats stats;

    (void)server_ask(server, "EVAL %s 0", losses[row].script);
    ck_assert_int_eq(diary_await_loss(&diary), losses[row].reason);
    stats = stats_of(client);
    ck_assert_uint_ge(stats.pushes, 1);
    ck_assert_uint_ge(stats.push_checks, 1);
    ck_assert_uint_eq(stats.push_losses, 1);
    ck_assert_int_eq(hf_lock_safe_ms(lock, 1), INT64_MIN);
    hf_lock_free(lock);
}

/* TRACK-1, TRACK-2 */
START_TEST(track_2_loss_is_reported_without_a_renewal)
{
    lose(0, _i);
}
END_TEST

START_TEST(track_2_loss_of_a_leased_hold_is_reported)
{
    lose(WATCHDOG_MS, _i);
}
END_TEST

static const unsigned kinds[] = {
    HF_KIND_NONREENTRANT, HF_KIND_FENCED, HF_KIND_FAIR,
    HF_KIND_WRITE,        HF_KIND_SPIN,   HF_KIND_VALUE,
};

START_TEST(track_2_loss_of_each_tracked_kind)
{
    struct hf_lock *lock = hold_of_kind((enum hf_lock_kind)kinds[_i], 0);

    (void)server_ask(server, "DEL " NAME);
    ck_assert_int_eq(diary_await_loss(&diary), HF_REASON_DELETED);
    hf_lock_free(lock);
}
END_TEST

/* ---- what is not lost ---- */

static const char *const changes[] = {
    ("HSET " NAME " stranger 1"),
    ("PEXPIRE " NAME " 60000"),
    ("PERSIST " NAME),
};

START_TEST(track_2_push_is_not_a_verdict)
{
    struct hf_lock *lock = hold_of_kind(HF_KIND_PLAIN, 0);

    for (int round = 1; round <= 3; round++) { /* it is tracked again each time */
        (void)server_ask(server, changes[_i]);
        await_renewals((uint64_t)round + 1);
        if (_i == 0)
            (void)server_ask(server, "HDEL " NAME " stranger");
        ck_assert_int_gt(server_ask_int(server, "PTTL " NAME), 60000);
    }
    ck_assert_int_eq(note_read(&diary.note, &diary.losses), 0);
    release(lock, 1);
    hf_lock_free(lock);
}
END_TEST

START_TEST(track_2_look_shortens_the_safe_time_of_a_leased_hold)
{
    struct hf_lock *lock = hold_of_kind(HF_KIND_PLAIN, WATCHDOG_MS);
    int64_t deadline_ms = local_now_ms() + AWAIT_MS;

    (void)server_ask(server, "PEXPIRE " NAME " 60000");
    while (hf_lock_safe_ms(lock, 1) > 60000) {
        ck_assert_msg(local_now_ms() < deadline_ms, "no look was sent");
        local_poll_rest();
    }
    release(lock, 1);
    hf_lock_free(lock);
}
END_TEST

START_TEST(own_writes_are_not_reported)
{
    struct hf_lock *lock = hold_of_kind(HF_KIND_PLAIN, 0);

    acquire(lock, 1);
    release(lock, 1);
    await_renewals(2); /* the tracking begins again */
    release(lock, 1);
    acquire(lock, 1);
    release(lock, 1);
    ck_assert_str_eq(server_ask(server, "GET " NAME), "(nil)");
    ck_assert_uint_eq(stats_of(client).pushes, 0);
    hf_lock_free(lock);
}
END_TEST

/* ---- how many requests ---- */

/* TRACK-3 */
START_TEST(track_3_storm_of_pushes_causes_few_requests)
{
    struct hf_lock *lock = hold_of_kind(HF_KIND_PLAIN, 0);
    uint64_t before = stats_of(client).renewal_requests, limit;
    int64_t begin_ms = local_now_ms();

    for (int i = 0; i < 3000; i++)
        (void)server_ask(server, "PEXPIRE " NAME " 60000");
    limit = (uint64_t)(local_now_ms() - begin_ms) / 100 + 2;
    ck_assert_uint_le(stats_of(client).renewal_requests - before, limit);
    (void)server_ask(server, "DEL " NAME);
    ck_assert_int_eq(diary_await_loss(&diary), HF_REASON_DELETED);
    hf_lock_free(lock);
}
END_TEST

#define MANY 1000

/* TRACK-4, TRACKING-1: each of the commands that renew them is tracked. */
START_TEST(track_4_flush_reports_all_holds)
{
    struct hf_acquire_options o = diary_options(&diary, 1);
    uint64_t before;
    char name[40];

    for (int i = 0; i < MANY; i++) {
        struct hf_lock *lock;

        (void)snprintf(name, sizeof name, "many:%d", i);
        lock = lock_of(client, name);
        ck_assert_ok(hf_lock_acquire(lock, &o, NULL));
        hf_lock_free(lock);
    }
    await_renewals(MANY);
    before = stats_of(client).renewal_requests;
    (void)server_ask(server, "FLUSHALL");
    note_await(&diary.note, &diary.losses, MANY, "on_lost of all");
    ck_assert_uint_le(stats_of(client).renewal_requests - before,
                      MANY + 2 * MANY / 100); /* WATCHDOG-4 */
}
END_TEST

/* ---- new connections ---- */

static void ck_assert_tracked_after_a_reconnect(void)
{
    struct hf_lock *lock = hold_of_kind(HF_KIND_PLAIN, 0);

    server_kill_connections(server);
    await_renewals(2);
    (void)server_ask(server, "DEL " NAME);
    ck_assert_int_eq(diary_await_loss(&diary), HF_REASON_DELETED);
    hf_lock_free(lock);
}

/* TRACKING-3, TRACKING-4 */
START_TEST(tracking_3_holds_are_tracked_again_after_a_reconnect)
{
    ck_assert_tracked_after_a_reconnect();
}
END_TEST

START_TEST(tracking_3_loss_during_a_reconnect_is_reported)
{
    struct hf_lock *lock = hold_of_kind(HF_KIND_PLAIN, 0);

    server_kill_connections(server);
    (void)server_ask(server, "DEL " NAME);
    ck_assert_int_eq(diary_await_loss(&diary), HF_REASON_DELETED);
    hf_lock_free(lock);
}
END_TEST

/* The master is connected before the sentinels have named it again. */
static void start_sentinels(void)
{
    char url[URL_ROOM];
    struct hf_client_options o;

    sentinels = sentinels_start(&(struct sentinels_options){.replicas = 1, .sentinels = 1});
    server = master_now();
    o = sentinel_options(strcat(url_of(url, 1), TRACKING), 3);
    o.watchdog_ms = WATCHDOG_MS;
    client = client_with(&o);
}

static void stop_sentinels(void)
{
    hf_client_free(client);
    sentinels_stop(sentinels);
    server = NULL;
}

START_TEST(tracking_3_loss_during_a_reconnect_is_reported_behind_sentinels)
{
    struct hf_lock *lock = hold_of_kind(HF_KIND_PLAIN, 0);

    (void)server_ask(server, "MULTI");
    (void)server_ask(server, "CLIENT KILL TYPE normal SKIPME yes");
    (void)server_ask(server, "DEL " NAME);
    (void)server_ask(server, "EXEC");
    ck_assert_int_eq(diary_await_loss(&diary), HF_REASON_DELETED);
    ck_assert_uint_eq(stats_of(client).link.losses, 1);
    hf_lock_free(lock);
}
END_TEST

START_TEST(tracking_3_holds_are_tracked_again_behind_sentinels)
{
    ck_assert_tracked_after_a_reconnect();
}
END_TEST

/* ---- own writes without a reply ---- */

static void await_in_flight(void)
{
    int64_t deadline_ms = local_now_ms() + AWAIT_MS;

    while (stats_of(client).link.in_flight == 0) {
        ck_assert_msg(local_now_ms() < deadline_ms, "no request was sent");
        local_poll_rest();
    }
}

/* TRACK-1: whether it was executed is not known. */
START_TEST(track_1_hold_is_tracked_again_after_a_cancelled_reentry)
{
    struct hf_lock *lock = hold_of_kind(HF_KIND_PLAIN, 0);
    struct hf_acquire_options o = acquire_options(1);
    struct hf_cancel cancel;
    struct call call;

    hf_cancel_init(&cancel, client);
    o.cancel = &cancel;
    server_pause(server);
    call_acquire(&call, lock, &o);
    await_in_flight();
    hf_cancel_fire(&cancel);
    ck_assert_status(call_await(&call), HF_CANCELLED);
    server_resume(server);
    await_renewals(2);
    (void)server_ask(server, "DEL " NAME);
    ck_assert_int_eq(diary_await_loss(&diary), HF_REASON_DELETED);
    ck_assert_uint_eq(stats_of(client).link.losses, 0);
    hf_lock_free(lock);
}
END_TEST

/* ---- without it ---- */

static void use_without_tracking(const char *options, const char *user)
{
    struct hf_client *other = client_by(server, options, user);
    struct hf_lock *lock = lock_of(other, NAME);

    acquire(lock, 1);
    acquire(lock, 1);
    release(lock, 1);
    ck_assert(info_has("tracking_clients:0\r"));
    release(lock, 1);
    ck_assert_uint_eq(stats_of(other).pushes, 0);
    hf_lock_free(lock);
    hf_client_free(other);
}

/* TRACKING-2 */
START_TEST(tracking_2_resp2_does_without)
{
    use_without_tracking(TRACKING "&protocol=2", NULL);
}
END_TEST

START_TEST(it_is_off_by_default)
{
    use_without_tracking("", NULL);
    use_without_tracking("?tracking=off", NULL);
}
END_TEST

START_TEST(tracking_2_user_without_the_right_does_without)
{
    ck_assert_str_eq(server_ask(server, "ACL SETUSER app on >PASSWORD ~* &* +@all "
                                        "-client|tracking"), "OK");
    use_without_tracking(TRACKING, "app");
}
END_TEST

START_TEST(tracking_2_refused_caching_is_no_error)
{
    struct hf_lock *lock;

    ck_assert_str_eq(server_ask(server, "ACL SETUSER app on >PASSWORD ~* &* +@all "
                                        "-client|caching"), "OK");
    hf_client_free(client);
    client = client_by(server, TRACKING, "app");
    lock = lock_of(client, NAME);
    acquire(lock, 1);
    await_renewals(1);
    ck_assert(info_has("tracking_total_keys:0\r"));
    acquire(lock, 1);
    release(lock, 1);
    release(lock, 1);
    ck_assert_uint_eq(stats_of(client).link.losses, 0);
    hf_lock_free(lock);
}
END_TEST

START_TEST(all_kinds_with_holds_are_tracked)
{
    for (int id = 1; id < 32; id++) {
        const struct hf_kind *kind = hf_kind_row((enum hf_lock_kind)id);

        if (kind)
            ck_assert(kind->steps[STEP_RENEW].reads_key_last);
    }
}
END_TEST

/* ---- what doctor says ---- */

static const char *doctor(const char *words)
{
    static char output[65536];
    char url[SERVER_URL_MAX], command[512];
    size_t len;
    FILE *p;

    (void)snprintf(command, sizeof command,
                   HF_BUILD "/holdfast doctor -u '%s%s%s", server_url(server, url),
                   TRACKING, words);
    p = popen(command, "r");
    ck_assert_ptr_nonnull(p);
    len = fread(output, 1, sizeof output - 1, p);
    output[len] = '\0';
    (void)pclose(p);
    return output;
}

START_TEST(doctor_reports_whether_the_server_supports_it)
{
    ck_assert_ptr_nonnull(strstr(doctor("' -v"), "reports the loss of a held lock"));
    ck_assert_ptr_nonnull(strstr(doctor("&protocol=2'"), "tracking=on has no effect"));
    ck_assert_str_eq(server_ask(server, "ACL SETUSER default -client|caching"), "OK");
    ck_assert_ptr_nonnull(strstr(doctor("'"), "refuses CLIENT CACHING"));
}
END_TEST

START_TEST(rights_that_doctor_prints_are_enough)
{
    char *rule = strdup(doctor("' --acl"));
    struct hf_lock *lock;

    rule[strcspn(rule, "\n")] = '\0';
    acl_set(server, rule);
    free(rule);
    hf_client_free(client);
    client = client_by(server, TRACKING, ACL_USER);
    lock = hold_of_kind(HF_KIND_PLAIN, 0);
    ck_assert_no_denial(server, "a tracked hold");
    (void)server_ask(server, "DEL " NAME);
    ck_assert_int_eq(diary_await_loss(&diary), HF_REASON_DELETED);
    hf_lock_free(lock);
}
END_TEST

static void add(Suite *suite)
{
    TCase *c = live_case(suite, "losses", start, stop);

    tcase_add_loop_test(c, track_2_loss_is_reported_without_a_renewal, 0, ROWS(losses));
    tcase_add_loop_test(c, track_2_loss_of_a_leased_hold_is_reported, 0, ROWS(losses));
    tcase_add_loop_test(c, track_2_loss_of_each_tracked_kind, 0, ROWS(kinds));
    c = live_case(suite, "no losses", start, stop);
    tcase_add_loop_test(c, track_2_push_is_not_a_verdict, 0, ROWS(changes));
    tcase_add_test(c, track_2_look_shortens_the_safe_time_of_a_leased_hold);
    tcase_add_test(c, own_writes_are_not_reported);
    c = live_case(suite, "how many", start, stop);
    tcase_add_test(c, track_3_storm_of_pushes_causes_few_requests);
    tcase_add_test(c, track_4_flush_reports_all_holds);
    c = live_case(suite, "new connections", start, stop);
    tcase_add_test(c, tracking_3_holds_are_tracked_again_after_a_reconnect);
    tcase_add_test(c, tracking_3_loss_during_a_reconnect_is_reported);
    c = live_case(suite, "new connections, sentinels", start_sentinels, stop_sentinels);
    tcase_add_test(c, tracking_3_loss_during_a_reconnect_is_reported_behind_sentinels);
    tcase_add_test(c, tracking_3_holds_are_tracked_again_behind_sentinels);
    c = live_case(suite, "no reply", start, stop);
    tcase_add_test(c, track_1_hold_is_tracked_again_after_a_cancelled_reentry);
    c = live_case(suite, "without it", start_server, stop_server);
    tcase_add_test(c, tracking_2_resp2_does_without);
    tcase_add_test(c, it_is_off_by_default);
    tcase_add_test(c, tracking_2_user_without_the_right_does_without);
    tcase_add_test(c, all_kinds_with_holds_are_tracked);
    tcase_add_test(c, doctor_reports_whether_the_server_supports_it);
    c = live_case(suite, "refused", start, stop);
    tcase_add_test(c, tracking_2_refused_caching_is_no_error);
    tcase_add_test(c, rights_that_doctor_prints_are_enough);
}

int main(void)
{
    return live_main("lock/push", add);
}
