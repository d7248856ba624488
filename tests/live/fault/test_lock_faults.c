/* What happens to a server and to a process: pauses, evictions, rights and
 * passwords that change, a shutdown, another port; a client that is stopped;
 * very many holds, waiters and clients. Each has its outcome and its words, and
 * it all goes on afterwards. Source: faults X7, X10, X11 (lock_errors has
 * the refusals of X10). */
#include <dirent.h>
#include <hiredis/hiredis.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/live/test_lock.h"
#include "tests/support/lua_client.h"
#include "tests/support/memory.h"
#include "tests/support/one_server.h"

#define WATCHDOG_MS STEADY_WATCHDOG_MS

static int64_t watchdog_ms = WATCHDOG_MS; /* of the next client */

static struct hf_client *client;
static struct hf_lock *lock;
static struct diary diary;

static void stop(void)
{
    hf_client_free(client);
    client = NULL;
    stop_server();
}

static void open_client(const char *user, int64_t request_timeout_ms)
{
    struct hf_client_options o;
    char url[SERVER_URL_MAX];

    client_options(&o, url, server_port(server));
    o.user = user;
    o.password = user ? "old secret" : NULL;
    o.watchdog_ms = watchdog_ms;
    o.request_timeout_ms = request_timeout_ms;
    client = client_with(&o);
    lock = lock_of(client, NAME);
    ck_assert_ok(hf_client_connect(client, NULL));
}

/* At its loss the witness looks what the server has kept, if there is one. */
static void hold_watched(int64_t owner, struct server *witness)
{
    struct hf_acquire_options o = diary_options(&diary, owner);

    if (witness)
        (void)server_ask(witness, "PING"); /* it is there */
    diary.server = witness;
    diary_hold(&diary, lock, &o);
}

static void hold(int64_t owner)
{
    hold_watched(owner, NULL);
}

/* With patience for the time in which it connects anew. */
static void acquire_soon(int64_t owner)
{
    int64_t deadline_ms = local_now_ms() + AWAIT_MS;
    struct hf_error err = {0};

    while (try_acquire(lock, owner, &err) < 0)
        ck_assert_msg(local_now_ms() < deadline_ms, "%s", err.text);
    ck_assert_holder(server, lock, owner, 1);
    release(lock, owner);
    ck_assert_str_eq(hash_of(server, NAME), "");
}

static void ck_assert_says(const struct hf_error *err, const char *words)
{
    ck_assert_msg(strstr(err->text, words) != NULL, "%s", err->text);
    ck_assert_ptr_null(strstr(err->text, "secret"));
}

/* ---- a server that pauses ---- */

static redisContext *other;

/* Before Redis 6.2 all is paused, or nothing. */
static bool is_known(const char *command)
{
    return !strstr(command, "WRITE") ||
           strcmp(server_ask(server, "CLIENT PAUSE 0 WRITE"), "OK") == 0;
}

/* Not by the witness, who is to be free. */
static void pause_by(const char *command)
{
    int is_written = 0;

    other = server_connect(server);
    ck_assert_ptr_nonnull(other);
    ck_assert_int_eq(redisAppendCommand(other, command), REDIS_OK);
    while (!is_written)
        ck_assert_int_eq(redisBufferWrite(other, &is_written), REDIS_OK);
    local_rest_us(20000); /* until it has taken effect */
}

static const struct {
    const char *shortly, *long_;
} pauses[] = {
    {"CLIENT PAUSE 250", "CLIENT PAUSE 5000"},
    {"CLIENT PAUSE 250 WRITE", "CLIENT PAUSE 5000 WRITE"},
    {"DEBUG SLEEP 0.25", "DEBUG SLEEP 5"},
};

START_TEST(a_short_pause_is_waited_for_and_costs_no_hold)
{
    struct hf_lock *another;

    if (!is_known(pauses[_i].shortly)) {
        (void)printf("skipped: %s\n", pauses[_i].shortly);
        return;
    }
    open_client(NULL, 5000);
    another = lock_of(client, "another");
    hold(1);
    pause_by(pauses[_i].shortly);
    acquire(another, 1);
    release(another, 1);
    ck_assert_int_gt(hf_lock_safe_ms(lock, 1), 0);
    note_await(&diary.note, &diary.renewals,
               note_read(&diary.note, &diary.renewals) + 2, "renewals");
    ck_assert_int_eq(note_read(&diary.note, &diary.losses), 0);
    release(lock, 1);
    redisFree(other);
}
END_TEST

START_TEST(a_long_pause_is_no_reply_and_over_when_it_is_over)
{
    struct hf_error err;
    hf_status rc;

    if (!is_known(pauses[_i].long_)) {
        (void)printf("skipped: %s\n", pauses[_i].long_);
        return;
    }
    open_client(NULL, SET_UP_MS);
    acquire(lock, 9); /* the scripts are known */
    release(lock, 9);
    pause_by(pauses[_i].long_);
    rc = try_acquire(lock, 1, &err);
    ck_assert_msg(rc == HF_E_NOREPLY || rc == HF_E_CONNECT, "%s: %s",
                  hf_status_name(rc), err.text);
    ck_assert_says(&err, NAME);
    acquire_soon(2);
    ck_assert_status(hf_lock_release(lock, 1, NULL), HF_NOT_OWNER);
    redisFree(other);
}
END_TEST

/* ---- a server that forgets ---- */

START_TEST(a_lock_that_was_evicted_is_lost)
{
    open_client(NULL, 5000);
    hold(1);
    (void)server_ask(server, "CONFIG SET maxmemory-policy allkeys-lru");
    (void)server_ask(server, "CONFIG SET maxmemory 1");
    server_await(server, LONG_MS, "0", "EXISTS " NAME);
    (void)server_ask(server, "CONFIG SET maxmemory 0");
    ck_assert_int_eq(diary_await_loss(&diary), HF_REASON_DELETED);
    ck_assert_status(hf_lock_release(lock, 1, NULL), HF_LOST);
    acquire_soon(1);
}
END_TEST

/* ---- rights and passwords that change ---- */

/* Channels are a right of their own since Redis 6.2. */
static void let_eve_in(void)
{
    (void)server_ask(server, "ACL SETUSER eve on >%s ~* +@all", "old secret");
    (void)server_ask(server, "ACL SETUSER eve &*");
}

/* What a renewal needs. A refusal says nothing of who holds the lock. */
static const char *const rights[] = {"evalsha", "hexists", "pexpire"};

START_TEST(a_right_that_is_taken_away_loses_the_hold_at_its_safe_moment)
{
    struct hf_error err;

    watchdog_ms = TOLD_WATCHDOG_MS;
    let_eve_in();
    open_client("eve", SET_UP_MS);
    hold_watched(1, server);
    (void)server_ask(server, "ACL SETUSER eve -%s", rights[_i]);
    if (_i == 0) {
        ck_assert_status(try_acquire(lock_of(client, "another"), 1, &err),
                         HF_E_SERVER);
        ck_assert_says(&err, "NOPERM");
    }
    ck_assert_unreached(&diary);
    ck_assert_told_before_end(&diary, TOLD_WATCHDOG_MS);
    (void)hf_lock_release(lock, 1, NULL);
    (void)server_ask(server, "ACL SETUSER eve +%s", rights[_i]);
    acquire_soon(1);
}
END_TEST

/* The connection goes with the user, the next one is refused. */
START_TEST(a_removed_user_is_reported_and_may_return)
{
    struct hf_error err;

    let_eve_in();
    open_client("eve", SET_UP_MS);
    hold(1);
    (void)server_ask(server, "ACL DELUSER eve");
    ck_assert_unreached(&diary);
    (void)hf_lock_release(lock, 1, NULL);
    ck_assert_status(try_acquire(lock, 1, &err), HF_E_AUTH);
    ck_assert_says(&err, "WRONGPASS");
    let_eve_in();
    acquire_soon(1);
}
END_TEST

/* Nobody notices until the next connection. */
START_TEST(a_changed_password_is_reported_at_the_next_connection)
{
    struct hf_error err;

    let_eve_in();
    open_client("eve", SET_UP_MS);
    (void)server_ask(server, "ACL SETUSER eve resetpass >%s", "new secret");
    acquire(lock, 1);
    release(lock, 1);
    (void)server_ask(server, "CLIENT KILL USER eve");
    while (try_acquire(lock, 1, &err) == HF_OK) /* it may not know yet */
        release(lock, 1);
    ck_assert_status(try_acquire(lock, 1, &err), HF_E_AUTH);
    ck_assert_says(&err, "WRONGPASS");
    (void)server_ask(server, "ACL SETUSER eve >%s", "old secret");
    acquire_soon(1);
}
END_TEST

/* Rights come and go under the calls of many threads: each call ends with the
 * right status, and afterwards nothing is held that nobody knows of. */
static void *work(void *arg)
{
    char name[16];
    struct hf_lock *l;
    struct hf_error err;
    int i = *(int *)arg;
    hf_status rc;

    (void)snprintf(name, sizeof name, "load:%d", i);
    l = lock_of(client, name);
    for (int n = 0; n < 200; n++) {
        rc = try_acquire(l, i + 1, &err);
        if (rc == HF_OK)
            rc = hf_lock_release(l, i + 1, &err);
        /* What was not given back stays locked for a while. */
        if (rc != HF_OK && rc != HF_TIMEOUT &&
            (rc != HF_E_SERVER || !strstr(err.text, "NOPERM")))
            ck_abort_msg("%s: %s", hf_status_name(rc), err.text);
    }
    return NULL;
}

START_TEST(rights_may_change_under_load)
{
    pthread_t threads[8];
    int numbers[8];

    watchdog_ms = STEADY_WATCHDOG_MS;
    let_eve_in();
    open_client("eve", 5000);
    for (int i = 0; i < 8; i++) {
        numbers[i] = i;
        ck_assert_int_eq(pthread_create(&threads[i], NULL, work, &numbers[i]),
                         0);
    }
    for (int i = 0; i < 20; i++) {
        (void)server_ask(server, "ACL SETUSER eve -eval -evalsha");
        (void)server_ask(server, "ACL SETUSER eve +eval +evalsha");
        local_rest_us(1000);
    }
    for (int i = 0; i < 8; i++)
        (void)pthread_join(threads[i], NULL);
    server_await(server, AWAIT_MS, "0", "DBSIZE"); /* by release, or its TTL */
    ck_assert_uint_eq(stats_of(client).holds, 0);
}
END_TEST

/* ---- a server that goes, or moves ---- */

START_TEST(a_shutdown_is_an_unreachable_server_until_it_returns)
{
    struct hf_error err;
    redisContext *c;

    open_client(NULL, SET_UP_MS);
    hold(1);
    c = server_connect(server);
    ck_assert_ptr_nonnull(c);
    freeReplyObject(redisCommand(c, "SHUTDOWN NOSAVE"));
    redisFree(c);
    ck_assert_unreached(&diary);
    ck_assert_status(hf_lock_release(lock, 1, NULL), HF_LOST);
    ck_assert_status(try_acquire(lock, 1, &err), HF_E_CONNECT);
    ck_assert_says(&err, "refused");
    server_restart(server);
    acquire_soon(1);
}
END_TEST

/* What is connected stays; who connects anew finds nobody. */
START_TEST(a_server_that_moves_to_another_port_is_lost_at_the_next_connection)
{
    struct hf_error err;
    const char *port = tls_wanted() ? "tls-port" : "port";

    open_client(NULL, SET_UP_MS);
    if (strcmp(server_ask(server, "CONFIG SET %s 0", port), "OK") != 0) {
        (void)printf("skipped: the port cannot be set (before Redis 7)\n");
        return;
    }
    acquire(lock, 1);
    release(lock, 1);
    (void)server_ask(server, "CLIENT KILL TYPE normal SKIPME yes");
    while (try_acquire(lock, 1, &err) == HF_OK)
        release(lock, 1);
    ck_assert_status(try_acquire(lock, 1, &err), HF_E_CONNECT);
    ck_assert_says(&err, "refused");
    (void)server_ask(server, "CONFIG SET %s %d", port, server_port(server));
    acquire_soon(1);
}
END_TEST

/* ---- a client that is stopped ---- */

#define STOPPED 3
#define STOPPED_WATCHDOG_MS 2400

struct stopped {
    int percent;                /* of the lease */
    bool is_lost;
    pid_t pid;
    int to, from;
};

/* It looks first of all when it goes on, then tells how it ended. */
static _Noreturn void be_stopped(struct stopped *s, int number)
{
    char name[24], text[48], byte;
    bool is_safe;

    alarm(30);
    client = client_timed(server_port(server), STOPPED_WATCHDOG_MS, 2000);
    (void)snprintf(name, sizeof name, "stopped:%d", number);
    lock = lock_of(client, name);
    hold(1);
    (void)write(s->from, "held", 4);
    (void)read(s->to, &byte, 1); /* it is stopped in here */
    is_safe = hf_lock_safe_ms(lock, 1) > 0;
    if (s->is_lost)
        (void)diary_await_loss(&diary);
    else
        note_await(&diary.note, &diary.renewals,
                   note_read(&diary.note, &diary.renewals) + 2, "renewals");
    (void)snprintf(text, sizeof text, "%s %d %d %s",
                   is_safe ? "safe" : "unsafe", diary.losses, diary.reason,
                   hf_status_name(hf_lock_release(lock, 1, NULL)));
    (void)write(s->from, text, strlen(text));
    _exit(0);
}

static const char *hear(const struct stopped *s)
{
    static char text[48];
    ssize_t n = read(s->from, text, sizeof text - 1);

    text[n > 0 ? n : 0] = '\0';
    return text;
}

static void start_stopped(struct stopped *s, int number)
{
    int to[2], from[2], status;

    ck_assert_int_eq(pipe(to), 0);
    ck_assert_int_eq(pipe(from), 0);
    s->pid = fork();
    if (s->pid == 0) {
        s->to = to[0];
        s->from = from[1];
        be_stopped(s, number);
    }
    s->to = to[1];
    s->from = from[0];
    ck_assert_str_eq(hear(s), "held");
    ck_assert_int_eq(kill(s->pid, SIGSTOP), 0);
    ck_assert_int_eq(waitpid(s->pid, &status, WUNTRACED), s->pid);
    ck_assert_int_eq(write(s->to, "?", 1), 1);
}

static void finish_stopped(struct stopped *s)
{
    char lost[48];
    int status;

    (void)snprintf(lost, sizeof lost, "unsafe 1 %d HF_LOST",
                   HF_REASON_SUSPENDED);
    ck_assert_int_eq(kill(s->pid, SIGCONT), 0);
    ck_assert_str_eq(hear(s), s->is_lost ? lost : "safe 0 0 HF_OK");
    ck_assert_int_eq(waitpid(s->pid, &status, 0), s->pid);
    ck_assert_int_eq(status, 0);
}

/* For half, once (and a little: a safe moment that has just passed was not
 * slept through, and a busy machine may have renewed it once before the stop) and
 * twice its lease. A hold is lost if and only if it had to
 * be, and the first look says so, before anything was read or written. */
START_TEST(a_client_that_was_stopped_reports_its_losses)
{
    struct stopped stopped[STOPPED] = {
        {.percent = 50}, {.percent = 110, .is_lost = true},
        {.percent = 200, .is_lost = true}};
    int64_t start_ms = local_now_ms();

    for (int i = 0; i < STOPPED; i++)
        start_stopped(&stopped[i], i);
    for (int i = 0; i < STOPPED; i++) {
        int64_t end_ms =
            start_ms + STOPPED_WATCHDOG_MS * stopped[i].percent / 100;

        while (local_now_ms() < end_ms)
            local_rest_us(5000);
        if (stopped[i].is_lost) {
            server_await(server, LONG_MS, "0", "EXISTS stopped:%d", i);
            local_rest_us(2 * SLEPT_MS * 1000);
        }
        finish_stopped(&stopped[i]);
    }
    server_await(server, AWAIT_MS, "0", "DBSIZE");
}
END_TEST

/* ---- very many ---- */

/* Under a sanitizer a call costs many times as much. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define MANY(few, all) (few)
#else
#define MANY(few, all) (all)
#endif

/* What so many calls may take on a busy machine, all sent at once. */
#define MANY_MS 200000

static int entries_of(const char *folder)
{
    DIR *dir = opendir(folder);
    int n = 0;

    ck_assert_ptr_nonnull(dir);
    while (readdir(dir))
        n++;
    (void)closedir(dir);
    return n;
}

/* Each client has four descriptors here, and one of the server's. */
static int clients_allowed(int count)
{
    struct rlimit limit;

    (void)getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
    return limit.rlim_max / 5 > (rlim_t)count ? count
                                              : (int)(limit.rlim_max / 5);
}

struct crowd {
    struct note note;
    int done, failed;
};

static void crowd_done(void *ctx, hf_status status, const struct hf_error *err)
{
    struct crowd *c = ctx;

    (void)err;
    if (status < 0)
        c->failed++;
    note_add(&c->note, &c->done);
}

static void crowd_await(struct crowd *c, int count)
{
    int64_t deadline_ms = local_now_ms() + MANY_MS;

    while (note_read(&c->note, &c->done) < count) {
        ck_assert_msg(local_now_ms() < deadline_ms, "%d of %d",
                      note_read(&c->note, &c->done), count);
        local_poll_rest();
    }
    ck_assert_int_eq(c->failed, 0);
    c->done = 0;
}

static void open_counted(struct memory *memory)
{
    struct hf_client_options o;
    char url[SERVER_URL_MAX];

    memory_init(memory);
    client_options(&o, url, server_port(server));
    o.mem = &memory->hook;
    o.request_timeout_ms = MANY_MS;
    o.watchdog_ms = 3 * MANY_MS; /* no hold expires, however late it would be renewed */
    client = client_with(&o);
}

START_TEST(a_hundred_thousand_holds_leave_nothing)
{
    int count = MANY(3000, 100000);
    struct hf_lock **locks = local_new((size_t)count * sizeof *locks);
    struct hf_acquire_options o = acquire_options(1);
    struct crowd crowd = {.done = 0};
    struct memory memory;
    char name[24];

    note_init(&crowd.note);
    open_counted(&memory);
    for (int i = 0; i < count; i++) {
        (void)snprintf(name, sizeof name, "hold:%d", i);
        locks[i] = lock_of(client, name);
        ck_must(hf_lock_acquire_async(locks[i], &o, crowd_done, &crowd) ==
                HF_OK,
                "a call is taken");
    }
    crowd_await(&crowd, count);
    ck_assert_uint_eq(stats_of(client).holds, (uint64_t)count);
    ck_assert_int_eq(server_ask_int(server, "DBSIZE"), count);
    for (int i = 0; i < count; i++)
        ck_must(hf_lock_release_async(locks[i], 1, crowd_done, &crowd) == HF_OK,
                "a call is taken");
    crowd_await(&crowd, count);
    ck_assert_uint_eq(stats_of(client).holds, 0);
    server_await(server, AWAIT_MS, "0", "DBSIZE");
    (void)printf("%d holds: %zu KB at most\n", count,
                 memory_counts(&memory).peak_bytes / 1024);
    hf_client_free(client);
    client = NULL;
    ck_assert_pstr_eq(memory_fini(&memory), NULL);
    free(locks);
}
END_TEST

/* On one lock: it goes from hand to hand. */
START_TEST(ten_thousand_waiters_leave_nothing)
{
    int count = MANY(1000, 10000);
    struct crowd crowd = {.done = 0}, gone = {.done = 0};
    struct memory memory;

    note_init(&crowd.note);
    note_init(&gone.note);
    open_counted(&memory);
    lock = lock_of(client, NAME);
    acquire(lock, INT64_MAX);
    for (int i = 0; i < count; i++) {
        struct hf_acquire_options o = acquire_options(i + 1);

        ck_must(hf_lock_acquire_async(lock, &o, crowd_done, &crowd) == HF_OK,
                "a call is taken");
    }
    ck_assert_uint_eq(stats_of(client).waiters, (uint64_t)count);
    release(lock, INT64_MAX);
    for (int i = 0; i < count; i++) {
        note_await(&crowd.note, &crowd.done, i + 1, "the next turn");
        ck_must(hf_lock_release_async(lock, i + 1, crowd_done, &gone) == HF_OK,
                "they have it in the order in which they came");
    }
    crowd_await(&gone, count);
    crowd_await(&crowd, count);
    ck_assert_uint_eq(stats_of(client).waiters, 0);
    ck_assert_str_eq(hash_of(server, NAME), "");
    hf_client_free(client);
    client = NULL;
    ck_assert_pstr_eq(memory_fini(&memory), NULL);
}
END_TEST

START_TEST(a_thousand_clients_leave_nothing)
{
    int count = clients_allowed(MANY(60, 1000));
    struct hf_client **clients = local_new((size_t)count * sizeof *clients);
    int descriptors, threads;

    hf_client_free(client_to(server_port(server)));
    (void)server_ask(server, "PING");
    descriptors = entries_of("/proc/self/fd");
    threads = entries_of("/proc/self/task");
    for (int i = 0; i < count; i++) {
        clients[i] = client_timed(server_port(server), 30000, 30000);
        lock = lock_of(clients[i], NAME);
        acquire(lock, 1);
        release(lock, 1);
    }
    ck_assert_int_ge(entries_of("/proc/self/fd"), descriptors + count);
    for (int i = 0; i < count; i++)
        hf_client_free(clients[i]);
    ck_assert_int_eq(entries_of("/proc/self/fd"), descriptors);
    ck_assert_int_eq(entries_of("/proc/self/task"), threads);
    free(clients);
}
END_TEST

/* ---- */

static void add_cases(Suite *s)
{
    TCase *c = live_case(s, "the server", start_server, stop);

    tcase_add_loop_test(c, a_short_pause_is_waited_for_and_costs_no_hold, 0,
                        COUNT(pauses));
    tcase_add_loop_test(c, a_long_pause_is_no_reply_and_over_when_it_is_over, 0,
                        COUNT(pauses));
    tcase_add_test(c, a_lock_that_was_evicted_is_lost);
    tcase_add_loop_test(
        c, a_right_that_is_taken_away_loses_the_hold_at_its_safe_moment, 0,
        COUNT(rights));
    tcase_add_test(c, a_removed_user_is_reported_and_may_return);
    tcase_add_test(
        c, a_changed_password_is_reported_at_the_next_connection);
    tcase_add_test(c, rights_may_change_under_load);
    tcase_add_test(c, a_shutdown_is_an_unreachable_server_until_it_returns);
    tcase_add_test(
        c, a_server_that_moves_to_another_port_is_lost_at_the_next_connection);

    c = live_case(s, "the client", start_server, stop);
    tcase_set_timeout(c, 240);
    tcase_add_test(c, a_client_that_was_stopped_reports_its_losses);
    tcase_add_test(c, a_hundred_thousand_holds_leave_nothing);
    tcase_add_test(c, ten_thousand_waiters_leave_nothing);
    tcase_add_test(c, a_thousand_clients_leave_nothing);
}

int main(void)
{
    return live_main("lock, faults", add_cases);
}
