/* The watchdog and the end of a hold: what is renewed, when, and who is told of
 * a loss, once, with which reason (LEASE-1 to LEASE-4). */
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lock/permits.h"
#include "lock/script/scripts.h"
#include "tests/live/test_lock_held.h"
#include "tests/support/feed.h"
#include "tests/support/lua_client.h"
#include "tests/support/proxy.h"

/* Renewals are so far apart. */
#define THIRD (WATCHDOG_MS / 3)

static void await_renewals(int count)
{
    note_await(&diary.note, &diary.renewals, count, "a renewal");
}

static int renewals(void)
{
    return note_read(&diary.note, &diary.renewals);
}

static int losses(void)
{
    return note_read(&diary.note, &diary.losses);
}

/* A watchdog that comes very often loses the hold on a busy machine. */
static void await_renewals_or_loss(int count)
{
    int64_t end_ms = local_now_ms() + AWAIT_MS;

    while (renewals() < count && losses() == 0) {
        ck_must(local_now_ms() < end_ms, "a hold is renewed or lost");
        local_poll_rest();
    }
}

/* Any that come are too many: whatever could come has had its time. */
static void ck_assert_told_once(enum hf_lost reason)
{
    if (reason == HF_REASON_UNREACHABLE || reason == HF_REASON_LEASE_ENDED)
        ck_assert_overdue(&diary, reason);
    else
        ck_assert_int_eq(diary_await_loss(&diary), reason);
    ck_assert_int_eq(diary.owner, 1);
    ck_assert_int_eq(hf_lock_safe_ms(lock, 1), INT64_MIN);
    local_rest_us(2 * THIRD * 1000);
    ck_assert_int_eq(losses(), 1);
}

/* ---- renewals ---- */

START_TEST(while_it_is_held_its_ttl_is_kept_up)
{
    long long most = 0;
    char expected[80];

    hold();
    (void)snprintf(expected, sizeof expected, "%s",
                   hash_of(server, NAME));
    while (renewals() < 6) {
        long long ttl = server_ask_int(server, "PTTL " NAME);

        ck_assert_int_gt(ttl, THIRD); /* 2/3, had nobody else the CPU */
        ck_assert_int_le(ttl, WATCHDOG_MS);
        most = ttl > most ? ttl : most;
    }
    ck_assert_int_gt(most, WATCHDOG_MS - THIRD);
    ck_assert_str_eq(hash_of(server, NAME), expected);
    ck_assert_uint_ge(stats_of(client).renewals, 6);
    ck_assert_int_eq(losses(), 0);
    release(lock, 1);
}
END_TEST

START_TEST(without_a_thread_the_dispatching_thread_renews)
{
    struct hf_client_options o;
    struct hf_client *driven;
    char url[SERVER_URL_MAX];
    struct hf_lock *l;

    client_options(&o, url, server_port(server));
    o.thread = false;
    o.watchdog_ms = WATCHDOG_MS;
    driven = client_with(&o);
    l = lock_of(driven, NAME);
    acquire(l, 1);
    while (stats_of(driven).renewals < 4)
        hf_loop_dispatch(hf_client_loop(driven), 1000);
    ck_assert_holder(server, l, 1, 1);
    ck_assert_ok(hf_lock_release(l, 1, NULL));
    hf_client_free(driven);
}
END_TEST

/* LEASE-1, against the server's own count: our certainty ends before its TTL. */
START_TEST(lease_1_the_safe_moment_comes_before_the_server_lets_go)
{
    hold();
    for (int round = 1; round <= 4; round++) {
        (void)ck_assert_safe_before_ttl(server, lock, 1);
        await_renewals(round);
    }
    release(lock, 1);
}
END_TEST

START_TEST(a_lease_is_not_renewed_and_its_end_is_reported_before)
{
    struct hf_acquire_options o = diary_options(&diary, 1);

    o.lease_ms = TOLD_WATCHDOG_MS;
    diary.server = server;
    diary_hold(&diary, lock, &o);
    ck_assert_told_once(HF_REASON_LEASE_ENDED);
    ck_assert_told_before_end(&diary, TOLD_WATCHDOG_MS);
    ck_assert_int_eq(renewals(), 0);
    ck_assert_status(hf_lock_release(lock, 1, NULL), HF_LOST);
    ck_assert_status(hf_lock_release(lock, 1, NULL), HF_NOT_OWNER);
}
END_TEST

/* What may be done to the key or the server without the hold being lost. */
static const char *const harmless[] = {
    "PERSIST " NAME,
    "PEXPIRE " NAME " 60000",
    "HSET " NAME " stranger 1",
    "SCRIPT FLUSH",
    "CLIENT KILL TYPE normal",
    "CONFIG SET maxmemory 1",
    "CLIENT PAUSE 200",
    "PUBLISH " CHANNEL " 0",
    "DEBUG SLEEP 0.2",
};

/* Shorter than the background thread's rest after a blocking call (DRIVER-4). A thread that
 * rests through the end of a lease is late each time; a busy machine is late often. */
static const int64_t short_leases_ms[] = {6, 10, 15};
#define SHORT_ROUNDS 20
#define SHORT_IN_TIME 3

/* How long after the latest end of the TTL on_lost was called. */
static int64_t told_late_ms(int64_t owner, int64_t lease_ms)
{
    struct hf_acquire_options o = diary_options(&diary, owner);
    int64_t end_ms;

    o.lease_ms = lease_ms;
    local_rest_us(25000); /* the background thread drives by now, */
    acquire(lock, 99);
    release(lock, 99);    /* and rests */
    if (hf_lock_acquire(lock, &o, NULL) != HF_OK)
        return 0; /* a machine that is too busy for such a lease */
    end_ms = local_now_ms() + lease_ms;
    (void)diary_await_loss(&diary);
    (void)hf_lock_release(lock, owner, NULL);
    return diary.lost_ms - end_ms;
}

START_TEST(a_lease_shorter_than_the_background_threads_rest_is_reported_in_time)
{
    int late = 0;

    for (int i = 0; i < SHORT_ROUNDS; i++)
        late += told_late_ms(i + 1, short_leases_ms[_i]) > 0;
    ck_assert_int_le(late, SHORT_ROUNDS - SHORT_IN_TIME);
}
END_TEST

START_TEST(commands_that_keep_the_field_keep_the_hold)
{
    hold();
    await_renewals(1);
    for (int round = 0; round < 2; round++) {
        (void)server_ask(server, harmless[_i]);
        await_renewals(renewals() + 2);
        ck_assert_int_le(server_ask_int(server, "PTTL " NAME), WATCHDOG_MS);
        ck_assert_int_gt(server_ask_int(server, "PTTL " NAME), 0);
    }
    ck_assert_int_eq(losses(), 0);
    release(lock, 1);
}
END_TEST

/* Those that several may have, too: what they write needs no memory, or comes second. */
static const enum hf_lock_kind kinds_on_a_full_server[] = {
    HF_KIND_PLAIN, HF_KIND_FAIR, HF_KIND_VALUE,
    HF_KIND_WRITE, HF_KIND_READ, HF_KIND_PERMIT,
};

START_TEST(a_full_server_renews_every_kind)
{
    struct hf_acquire_options o;
    struct hf_lock *other = NULL;
    bool is_new;

    ck_assert_ok(hf_lock_new_kind(&other, client, kinds_on_a_full_server[_i], NAME,
                                  strlen(NAME), NULL));
    if (kinds_on_a_full_server[_i] == HF_KIND_PERMIT)
        ck_assert_ok(hf_permits_try_set(other, 1, &is_new, NULL));
    o = diary_options(&diary, 1);
    ck_assert_ok(hf_lock_acquire(other, &o, NULL));
    await_renewals(1);
    (void)server_ask(server, "CONFIG SET maxmemory 1");
    await_renewals(renewals() + 4); /* longer than the lease */
    ck_assert_int_eq(losses(), 0);
    release(other, 1);
    hf_lock_free(other);
}
END_TEST

static const struct {
    const char *what;
    enum hf_lost reason;
} fates[] = {
    {"DEL " NAME, HF_REASON_DELETED},
    {"UNLINK " NAME, HF_REASON_DELETED},
    {"FLUSHALL", HF_REASON_DELETED},
    {"PEXPIRE " NAME " 1", HF_REASON_DELETED},
    {"RENAME " NAME " other", HF_REASON_DELETED},
    {"SWAPDB 0 1", HF_REASON_DELETED},
    {"SET " NAME " x", HF_REASON_TAKEN},
    {"COPY stranger " NAME " REPLACE", HF_REASON_TAKEN},
};

START_TEST(a_lost_lock_is_reported_once_with_the_reason)
{
    (void)server_ask(server, "HSET stranger " LUA_HOLDER " 1");
    hold();
    await_renewals(1);
    (void)server_ask(server, fates[_i].what);
    ck_assert_told_once(fates[_i].reason);
    ck_assert_status(hf_lock_release(lock, 1, NULL), HF_LOST);
    ck_assert_status(hf_lock_release(lock, 1, NULL), HF_NOT_OWNER);
    ck_assert_int_eq(losses(), 1);
    ck_assert_uint_eq(stats_of(client).holds, 0);
}
END_TEST

START_TEST(a_server_that_forgot_everything_is_noticed)
{
    hold();
    await_renewals(1);
    server_restart(server);
    ck_assert_told_once(HF_REASON_DELETED);
    ck_assert_status(hf_lock_release(lock, 1, NULL), HF_LOST);
    acquire(lock, 1);
    release(lock, 1);
}
END_TEST

START_TEST(a_silent_server_causes_a_loss_at_the_safe_moment)
{
    hold();
    await_renewals(1);
    server_pause(server);
    ck_assert_told_once(HF_REASON_UNREACHABLE);
    server_resume(server);
    ck_assert_status(hf_lock_release(lock, 1, NULL), HF_LOST);
    server_await(server, LONG_MS, "0", "EXISTS " NAME);
    acquire(lock, 1);
    release(lock, 1);
}
END_TEST

/* Each renewal is refused, and the server says why in the log. */
static atomic_int refusals;

static void note_refusal(void *ctx, enum hf_log_level level, const char *line)
{
    (void)ctx;
    if (level == HF_LOG_WARNING && strstr(line, "READONLY"))
        atomic_fetch_add(&refusals, 1);
}

START_TEST(a_refused_renewal_is_logged_and_tried_until_the_safe_moment)
{
    struct hf_client_options o;
    char url[SERVER_URL_MAX];

    hf_client_free(client);
    client_options(&o, url, server_port(server));
    o.watchdog_ms = WATCHDOG_MS;
    o.log = note_refusal;
    client = client_with(&o);
    lock = lock_of(client, NAME);
    hold();
    await_renewals(1);
    (void)server_ask(server, "REPLICAOF 127.0.0.1 1");
    ck_assert_told_once(HF_REASON_UNREACHABLE);
    ck_assert_int_gt(atomic_load(&refusals), 3);
}
END_TEST

/* Nobody releases, and its TTL has a minute to go. */
START_TEST(max_hold_ends_it_and_frees_it_for_others)
{
    struct hf_client *slow = client_timed(server_port(server), 60000, 5000);
    struct hf_acquire_options o = diary_options(&diary, 1);
    struct hf_acquire_options next = acquire_options(2);

    hf_client_free(client);
    client = slow;
    lock = lock_of(client, NAME);
    if (_i == 1) /* nobody listens, either */
        o.on_lost = NULL;
    o.max_hold_ms = 300;
    next.wait_ms = LONG_MS;
    ck_assert_ok(hf_lock_acquire(lock, &o, NULL));
    ck_assert_ok(hf_lock_acquire(lock, &next, NULL));
    if (_i == 0)
        ck_assert_told_once(HF_REASON_MAX_HOLD);
    ck_assert_holder(server, lock, 2, 1);
    ck_assert_status(hf_lock_release(lock, 1, NULL), HF_LOST);
    ck_assert_status(hf_lock_release(lock, 1, NULL), HF_NOT_OWNER);
    ck_assert_holder(server, lock, 2, 1);
    release(lock, 2);
}
END_TEST

/* The callback comes before the server releases the lock. HOLD-2 */
START_TEST(max_hold_is_reported_while_the_server_still_has_it)
{
    struct hf_acquire_options o = diary_options(&diary, 1);

    o.max_hold_ms = 300;
    diary.server = server;
    ck_assert_ok(hf_lock_acquire(lock, &o, NULL));
    ck_assert_told_once(HF_REASON_MAX_HOLD);
    ck_assert_int_gt(diary.pttl_ms, 0);
    server_await(server, LONG_MS, "0", "EXISTS " NAME);
}
END_TEST

START_TEST(closing_the_client_reports_each_loss_and_releases_none)
{
    struct hf_lock *second = lock_of(client, "second");
    struct hf_acquire_options o;
    struct diary other;

    hold();
    o = diary_options(&other, 2);
    ck_assert_ok(hf_lock_acquire(second, &o, NULL));
    hf_client_free(client);
    client = NULL;
    ck_assert_int_eq(diary.losses, 1);
    ck_assert_int_eq(diary.reason, HF_REASON_CLOSED);
    ck_assert_int_eq(other.losses, 1);
    ck_assert_int_eq(other.reason, HF_REASON_CLOSED);
    ck_assert_int_eq(server_ask_int(server, "DBSIZE"), 2);
    server_await(server, AWAIT_MS, "0", "DBSIZE"); /* by their TTLs */
}
END_TEST

/* ---- a process that does not run ---- */

/* In a process of its own: holds, and whenever it is asked says what it knows,
 * without asking the server. */
static _Noreturn void be_a_holder(int in, int out)
{
    char byte;

    open_client();
    hold();
    for (;;) {
        (void)dprintf(out, "%s", hf_lock_safe_ms(lock, 1) > 0 ? "safe" : "not!");
        if (read(in, &byte, 1) != 1)
            _exit(0);
        if (byte == 'w')
            (void)dprintf(out, "%-4d", (int)diary_await_loss(&diary));
    }
}

static const char *heard(int fd)
{
    static char word[5];
    ssize_t got = 0;

    while (got < 4) {
        ssize_t n = read(fd, word + got, (size_t)(4 - got));

        ck_assert_int_gt(n, 0);
        got += n;
    }
    return word;
}

START_TEST(after_a_stop_the_first_check_reports_unsafe_and_a_loss)
{
    int to[2], from[2], status;
    pid_t child;

    hf_client_free(client); /* the child has its own */
    client = NULL;
    ck_assert_int_eq(pipe(to), 0);
    ck_assert_int_eq(pipe(from), 0);
    child = fork();
    if (child == 0)
        be_a_holder(to[0], from[1]);
    ck_assert_str_eq(heard(from[0]), "safe");
    ck_assert_int_eq(kill(child, SIGSTOP), 0);
    ck_assert_int_eq(waitpid(child, &status, WUNTRACED), child);
    ck_assert_int_eq(write(to[1], "?", 1), 1);
    server_await(server, LONG_MS, "0", "EXISTS " NAME);
    if (_i == 1) { /* continued later, not as soon as the lock is gone */
        (void)lua_acquire(server, NAME, strlen(NAME), LUA_HOLDER, 200);
        server_await(server, LONG_MS, "0", "EXISTS " NAME);
    }
    ck_assert_int_eq(kill(child, SIGCONT), 0);
    ck_assert_str_eq(heard(from[0]), "not!");
    ck_assert_int_eq(write(to[1], "w", 1), 1);
    ck_assert_int_eq(atoi(heard(from[0])), HF_REASON_SUSPENDED);
    (void)kill(child, SIGKILL);
    (void)waitpid(child, &status, 0);
}
END_TEST

/* A callback that does not return keeps the loop: time alone tells. */
static atomic_int is_stuck, may_go;

static void get_stuck(void *ctx, struct hf_lock *stuck, int64_t owner)
{
    diary_renewed(ctx, stuck, owner);
    atomic_store(&is_stuck, 1);
    while (!atomic_load(&may_go))
        local_poll_rest();
}

START_TEST(a_stuck_callback_makes_the_hold_unsafe_by_time_alone)
{
    struct hf_acquire_options o = diary_options(&diary, 1);
    int64_t deadline_ms = local_now_ms() + AWAIT_MS;

    o.on_renewed = get_stuck;
    ck_assert_ok(hf_lock_acquire(lock, &o, NULL));
    await_renewals(1);
    while (hf_lock_safe_ms(lock, 1) > -200 && local_now_ms() < deadline_ms)
        local_poll_rest();
    atomic_store(&may_go, 1);
    ck_assert_told_once(HF_REASON_SUSPENDED);
    ck_assert_status(hf_lock_release(lock, 1, NULL), HF_LOST);
}
END_TEST

/* ---- re-entry ---- */

START_TEST(a_short_lease_of_a_reentry_does_not_lose_a_renewed_hold)
{
    hold();
    acquire_for(lock, 1, 300);
    ck_assert_int_le(server_ask_int(server, "PTTL " NAME), 300);
    await_renewals(3);
    ck_assert_int_eq(losses(), 0);
    ck_assert_holder(server, lock, 1, 2);
    release(lock, 1);
    await_renewals(renewals() + 2);
    release(lock, 1);
}
END_TEST

START_TEST(a_reentry_without_a_lease_has_the_hold_renewed)
{
    struct hf_acquire_options o = diary_options(&diary, 1);

    o.lease_ms = 60000;
    ck_assert_ok(hf_lock_acquire(lock, &o, NULL));
    o.lease_ms = 0;
    ck_assert_ok(hf_lock_acquire(lock, &o, NULL));
    await_renewals(2);
    ck_assert_holder(server, lock, 1, 2);
    release(lock, 1);
    release(lock, 1);
}
END_TEST

/* The server may have cut the lease, though it did not say so. */
START_TEST(an_unanswered_reentry_with_a_short_lease_counts_as_executed)
{
    struct hf_acquire_options o = diary_options(&diary, 1);

    o.lease_ms = 60000;
    ck_assert_ok(hf_lock_acquire(lock, &o, NULL));
    server_pause(server);
    o.lease_ms = 500;
    o.wait_ms = 50;
    ck_assert_status(hf_lock_acquire(lock, &o, NULL), HF_E_NOREPLY);
    ck_assert_int_le(hf_lock_safe_ms(lock, 1), 500);
    server_resume(server);
    ck_assert_told_once(HF_REASON_LEASE_ENDED);
    server_await(server, LONG_MS, "0", "EXISTS " NAME);
}
END_TEST

/* The answer is kept back until the hold has been lost: then it is no hold any
 * more, whatever the server says. */
START_TEST(a_reentry_that_is_answered_after_the_loss_is_lost)
{
    struct proxy *proxy = proxy_start(server_port(server));
    struct hf_client *far = client_to(proxy_port(proxy));
    struct hf_lock *l = lock_of(far, NAME);
    struct hf_acquire_options o = diary_options(&diary, 1);
    struct call call;

    o.lease_ms = 400;
    ck_assert_ok(hf_lock_acquire(l, &o, NULL));
    proxy_hold(proxy, PROXY_TO_CLIENT, true);
    o.lease_ms = 60000;
    call_acquire(&call, l, &o);
    ck_assert_overdue(&diary, HF_REASON_LEASE_ENDED);
    ck_assert_int_gt(server_ask_int(server, "PTTL " NAME), 1000);
    proxy_hold(proxy, PROXY_TO_CLIENT, false);
    ck_assert_status(call_await(&call), HF_LOST);
    ck_assert_status(hf_lock_release(l, 1, NULL), HF_LOST);
    ck_assert_status(hf_lock_release(l, 1, NULL), HF_NOT_OWNER);
    server_await(server, LONG_MS, "0", "EXISTS " NAME);
    hf_client_free(far);
    proxy_stop(proxy);
}
END_TEST

/* LEASE-4: a renewal's good answer that comes after the loss changes nothing. */
START_TEST(lease_4_nothing_is_renewed_after_it_was_lost)
{
    struct proxy *proxy = proxy_start(server_port(server));
    struct hf_client *far = client_timed(proxy_port(proxy), 3000, 5000);
    struct hf_lock *l = lock_of(far, NAME);
    struct hf_acquire_options o = diary_options(&diary, 1);
    struct hf_lock_info info;

    (void)server_ask(server, "SCRIPT LOAD %s", hf_script_renew.text);
    o.max_hold_ms = 1300;
    ck_assert_ok(hf_lock_acquire(l, &o, NULL));
    ck_assert_ok(hf_lock_inspect(l, &info, NULL));
    proxy_hold(proxy, PROXY_TO_CLIENT, true);
    ck_assert(proxy_await(proxy, PROXY_TO_CLIENT, PROXY_KEPT, 1, LONG_MS));
    ck_assert_int_eq(diary_await_loss(&diary), HF_REASON_MAX_HOLD);
    proxy_hold(proxy, PROXY_TO_CLIENT, false);
    ck_assert_ok(hf_lock_inspect(l, &info, NULL));
    ck_assert_uint_eq(stats_of(far).renewals, 0);
    hf_client_free(far);
    ck_assert_int_eq(renewals(), 0);
    ck_assert_int_eq(losses(), 1);
    proxy_stop(proxy);
}
END_TEST

/* ---- release and renewal ---- */

/* WATCHDOG-1, LEASE-3, as the server saw it: behind the release of a hold no renewal of
 * it. */
START_TEST(lease_3_after_its_release_a_hold_is_never_renewed)
{
    struct hf_client *quick = client_timed(server_port(server), 150, 5000);
    struct hf_lock *l = lock_of(quick, NAME);
    struct feed *feed = feed_open(server, "MONITOR");
    const struct feed_event *event;
    bool was_renewed = false, is_over = false;

    for (int round = 0; round < 40; round++) {
        struct hf_acquire_options o = diary_options(&diary, 1);
        char owner[HF_OWNER_TEXT_MAX];

        ck_assert_ok(hf_lock_acquire(l, &o, NULL));
        (void)hf_lock_owner_text(l, 1, owner);
        await_renewals_or_loss(1 + round % 2);
        if (hf_lock_release(l, 1, NULL) == HF_LOST)
            continue; /* a busy machine */
        (void)server_ask(server, "ECHO end-of-round");
        for (is_over = false; (event = feed_next(feed, AWAIT_MS));) {
            if (strstr(event->text, "end-of-round"))
                break;
            if (!strstr(event->text, owner))
                continue;
            is_over |= strstr(event->text, hf_script_release.sha) != NULL;
            if (!strstr(event->text, hf_script_renew.sha))
                continue;
            was_renewed = true;
            ck_assert_msg(!is_over, "after the release: %s", event->text);
        }
    }
    ck_assert(was_renewed);
    hf_client_free(quick);
    feed_close(feed);
}
END_TEST

/* Many threads release while their holds are being renewed. */
static struct hf_client *racing;

static void *race(void *number)
{
    struct hf_lock *l;
    char name[20];

    (void)snprintf(name, sizeof name, "race-%d", *(const int *)number);
    l = lock_of(racing, name);
    for (int i = 0; i < 40; i++) {
        struct hf_error err = {0};
        uint64_t seen = stats_of(racing).renewals;

        if (hf_lock_acquire(l, NULL, &err) < 0)
            ck_abort_msg("acquire: %s", err.text);
        if (i % 10 == 0) /* until something is renewed, perhaps this */
            for (int n = 0; n < 1000; n++) {
                local_rest_us(500);
                if (stats_of(racing).renewals > seen)
                    break;
            }
        if (hf_lock_release(l, hf_owner_thread(), &err) < 0)
            ck_abort_msg("release: %s", err.text);
    }
    hf_lock_free(l);
    return NULL;
}

START_TEST(releases_may_race_with_renewals)
{
    pthread_t threads[8];
    int numbers[8];

    racing = client_timed(server_port(server), 1000, 5000);
    for (int i = 0; i < COUNT(threads); i++) {
        numbers[i] = i;
        ck_assert_int_eq(pthread_create(&threads[i], NULL, race, &numbers[i]),
                         0);
    }
    for (int i = 0; i < COUNT(threads); i++)
        (void)pthread_join(threads[i], NULL);
    ck_assert_int_eq(server_ask_int(server, "DBSIZE"), 0);
    ck_assert_uint_gt(stats_of(racing).renewals, 0);
    ck_assert_uint_eq(stats_of(racing).holds, 0);
    hf_client_free(racing);
}
END_TEST

/* ---- many holds ---- */

START_TEST(a_thousand_holds_are_renewed_with_a_handful_of_writes)
{
    static struct call calls[1000];
    struct hf_client *many = client_timed(server_port(server), 3000, 5000);
    struct hf_acquire_options o = acquire_options(1);
    struct hf_client_stats before, after;
    char name[20];

    for (int i = 0; i < COUNT(calls); i++) {
        (void)snprintf(name, sizeof name, "n%d", i);
        call_acquire(&calls[i], lock_of(many, name), &o);
    }
    for (int i = 0; i < COUNT(calls); i++)
        ck_assert_status(call_await(&calls[i]), HF_OK);
    before = stats_of(many);
    ck_assert_uint_eq(before.holds, COUNT(calls));
    while (stats_of(many).renewals < 3 * COUNT(calls))
        local_poll_rest();
    after = stats_of(many);
    ck_assert_uint_le((after.link.writes - before.link.writes) * 20,
                      after.renewals - before.renewals);
    ck_assert_uint_le((after.renewal_requests - before.renewal_requests) * 20,
                      after.renewals - before.renewals);
    ck_assert_int_eq(server_ask_int(server, "DBSIZE"), COUNT(calls));
    hf_client_free(many);
}
END_TEST

/* Ten batches, and the server has forgotten the script before each round. */
START_TEST(forgotten_scripts_cost_no_hold)
{
    static struct call calls[1000];
    struct hf_client *many = client_timed(server_port(server), 3000, 5000);
    struct hf_acquire_options o = diary_options(&diary, 1);
    uint64_t target;
    char name[20];

    for (int i = 0; i < COUNT(calls); i++) {
        (void)snprintf(name, sizeof name, "n%d", i);
        call_acquire(&calls[i], lock_of(many, name), &o);
    }
    for (int i = 0; i < COUNT(calls); i++)
        ck_assert_status(call_await(&calls[i]), HF_OK);
    for (int round = 0; round < 3; round++) {
        (void)server_ask(server, "SCRIPT FLUSH");
        target = stats_of(many).renewals + COUNT(calls);
        while (stats_of(many).renewals < target)
            local_poll_rest();
    }
    ck_assert_int_eq(losses(), 0);
    ck_assert_int_eq(server_ask_int(server, "DBSIZE"), COUNT(calls));
    hf_client_free(many);
}
END_TEST

/* One of many is lost; its neighbours in the batch are not. */
START_TEST(a_loss_concerns_one_hold_of_a_batch)
{
    static struct diary others;
    struct hf_acquire_options o = diary_options(&others, 5);
    char name[20];

    hold();
    for (int i = 0; i < 20; i++) {
        (void)snprintf(name, sizeof name, "n%d", i);
        ck_assert_ok(hf_lock_acquire(lock_of(client, name), &o, NULL));
    }
    (void)server_ask(server, "SET " NAME " x");
    ck_assert_told_once(HF_REASON_TAKEN);
    note_await(&others.note, &others.renewals, 60, "the others' renewals");
    ck_assert_int_eq(note_read(&others.note, &others.losses), 0);
}
END_TEST

static void release_in_callback(void *ctx, struct hf_lock *lost, int64_t owner,
                                enum hf_lost reason)
{
    ck_must(hf_lock_release(lost, owner, NULL) == HF_LOST,
            "a lost hold is forgotten by releasing it");
    diary_lost(ctx, lost, owner, reason);
}

/* A loop that only tries again is told what to do, and when that is done, it has
 * the lock. */
START_TEST(lost_hold_is_to_be_released_before_it_is_acquired_again)
{
    struct hf_error err;

    hold();
    acquire(lock, 1);
    (void)server_ask(server, "DEL " NAME);
    ck_assert_int_eq(diary_await_loss(&diary), HF_REASON_DELETED);
    for (int left = 2; left > 0; left--) {
        for (int i = 0; i < 3; i++) {
            ck_assert_status(hf_lock_acquire(lock, NULL, &err), HF_OK);
            release(lock, hf_owner_thread()); /* another owner may */
            ck_assert_status(try_acquire(lock, 1, &err), HF_LOST);
            ck_assert_int_eq(err.status, HF_LOST);
            ck_assert_ptr_nonnull(strstr(err.text, NAME));
            ck_assert_ptr_nonnull(
                strstr(err.text, hf_lost_text(HF_REASON_DELETED)));
            ck_assert_ptr_nonnull(
                strstr(err.text, "call hf_lock_release as often"));
        }
        ck_assert_status(hf_lock_release(lock, 1, NULL), HF_LOST);
    }
    ck_assert_status(hf_lock_release(lock, 1, NULL), HF_NOT_OWNER);
    acquire(lock, 1);
    release(lock, 1);
}
END_TEST

START_TEST(on_lost_may_release_the_lost_hold)
{
    struct hf_acquire_options o = diary_options(&diary, 1);

    o.on_lost = release_in_callback;
    ck_assert_ok(hf_lock_acquire(lock, &o, NULL));
    (void)server_ask(server, "DEL " NAME);
    ck_assert_told_once(HF_REASON_DELETED);
    ck_assert_status(hf_lock_release(lock, 1, NULL), HF_NOT_OWNER);
    acquire(lock, 1);
    release(lock, 1);
}
END_TEST

/* ---- */

static void add_cases(Suite *s)
{
    TCase *c = live_case(s, "renewals", start, stop);

    tcase_add_test(c, while_it_is_held_its_ttl_is_kept_up);
    tcase_add_test(c, without_a_thread_the_dispatching_thread_renews);
    tcase_add_test(c, lease_1_the_safe_moment_comes_before_the_server_lets_go);
    tcase_add_loop_test(c, commands_that_keep_the_field_keep_the_hold, 0,
                        COUNT(harmless));
    tcase_add_loop_test(c, a_full_server_renews_every_kind, 0,
                        COUNT(kinds_on_a_full_server));
    tcase_add_test(c, lease_3_after_its_release_a_hold_is_never_renewed);
    tcase_add_test(c, releases_may_race_with_renewals);
    tcase_add_test(c, a_thousand_holds_are_renewed_with_a_handful_of_writes);
    tcase_add_test(c, forgotten_scripts_cost_no_hold);

    c = live_case(s, "losses", start, stop);
    tcase_add_test(c, a_lease_is_not_renewed_and_its_end_is_reported_before);
    tcase_add_loop_test(
        c, a_lease_shorter_than_the_background_threads_rest_is_reported_in_time, 0,
        COUNT(short_leases_ms));
    tcase_add_loop_test(c, a_lost_lock_is_reported_once_with_the_reason, 0,
                        COUNT(fates));
    tcase_add_test(c, a_server_that_forgot_everything_is_noticed);
    tcase_add_test(c, a_silent_server_causes_a_loss_at_the_safe_moment);
    tcase_add_test(c,
                   a_refused_renewal_is_logged_and_tried_until_the_safe_moment);
    tcase_add_loop_test(c, max_hold_ends_it_and_frees_it_for_others, 0, 2);
    tcase_add_test(c, max_hold_is_reported_while_the_server_still_has_it);
    tcase_add_test(c, closing_the_client_reports_each_loss_and_releases_none);
    tcase_add_loop_test(
        c, after_a_stop_the_first_check_reports_unsafe_and_a_loss, 0, 2);
    tcase_add_test(c, a_stuck_callback_makes_the_hold_unsafe_by_time_alone);
    tcase_add_test(c, a_loss_concerns_one_hold_of_a_batch);
    tcase_add_test(c, lost_hold_is_to_be_released_before_it_is_acquired_again);
    tcase_add_test(c, on_lost_may_release_the_lost_hold);
    tcase_add_test(c, lease_4_nothing_is_renewed_after_it_was_lost);

    c = live_case(s, "re-entry", start, stop);
    tcase_add_test(c, a_short_lease_of_a_reentry_does_not_lose_a_renewed_hold);
    tcase_add_test(c, a_reentry_without_a_lease_has_the_hold_renewed);
    tcase_add_test(
        c, an_unanswered_reentry_with_a_short_lease_counts_as_executed);
    tcase_add_test(c, a_reentry_that_is_answered_after_the_loss_is_lost);
}

int main(void)
{
    return live_main("lock, watchdog", add_cases);
}
