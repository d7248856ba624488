/* A server that refuses, is busy, is loading or does not know us:
 * each gives its documented status in time and one clear line, and leaves no
 * lock behind (faults X10). */
#include <stdatomic.h>

#include "tests/live/fault/test_lock_refused.h"
#include "tests/support/lua_client.h"

static struct note log_note;
static int alarms;              /* "could not release an abandoned lock" */
static int put_offs;            /* "the request is sent again" */

static void take_line(void *ctx, enum hf_log_level level, const char *line)
{
    (void)ctx;
    (void)level;
    if (strstr(line, "abandoned lock"))
        note_add(&log_note, &alarms);
    if (strstr(line, "the request is sent again"))
        note_add(&log_note, &put_offs);
}

static void listen_for_alarms(struct hf_client_options *o)
{
    note_init(&log_note);
    alarms = put_offs = 0;
    o->log = take_line;
}

/* All that was asked in the background is answered, and all lines are said. */
static void ck_assert_no_alarm(void)
{
    ck_assert_ok(hf_client_close(client, LONG_MS, NULL, NULL));
    ck_assert_int_eq(note_read(&log_note, &alarms), 0);
}

/* " &*" says what goes without saying where there are no rules for channels. */
static void set_user(const char *name, const char *rules)
{
    char words[200];
    char *all;

    (void)snprintf(words, sizeof words, "ACL SETUSER %s on %s", name, rules);
    all = has_channels ? NULL : strstr(words, " &*");
    if (all)
        (void)memmove(all, all + 3, strlen(all + 3) + 1);
    ck_assert_str_eq(server_ask(server, words), "OK");
}

/* Questions, each a line; all are asked. */
static void ask_all(const char *questions)
{
    char *copy = local_copy(questions), *rest = copy, *line;

    while ((line = strsep(&rest, "\n")))
        (void)server_ask(server, line);
    free(copy);
}

/* ---- refusals ---- */

/* The request timeout: what passes (READONLY, MASTERDOWN, BUSY, ...) is repeated
 * so long. A busy machine connects, and acquires before the fault, within that. */
#define PASSES_MS 2000

static const struct {
    const char *word;
    const char *spoil, *repair;
    const char *left;           /* what the key is while it is spoilt */
    hf_status released;         /* what becomes of a release meanwhile */
    bool since_7;               /* also to scripts that have a key to write */
} refusals[] = {
    {"WRONGTYPE", "SET " NAME " x", "DEL " NAME, "string", HF_E_SERVER,
     false},
    {"OOM", "CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0", "none", HF_OK,
     false},
    {"READONLY", "REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE", "none",
     HF_OK, false}, /* its TTL ends while the release is repeated */
    {"NOREPLICAS", "CONFIG SET min-replicas-to-write 1",
     "CONFIG SET min-replicas-to-write 0", "none", HF_E_SERVER, true},
    {"MASTERDOWN",
     "CONFIG SET replica-serve-stale-data no\nREPLICAOF 127.0.0.1 1",
     "REPLICAOF NO ONE", "none", HF_E_SERVER, false},
    {"MISCONF", "CONFIG SET dir /proc\nBGSAVE",
     "CONFIG SET stop-writes-on-bgsave-error no", "none", HF_E_SERVER, true},
};

static void await_failed_save(void)
{
    while (!strstr(server_ask(server, "INFO persistence"),
                   "rdb_last_bgsave_status:err"))
        local_poll_rest();
}

static void spoil(int i)
{
    ask_all(refusals[i].spoil);
    if (strcmp(refusals[i].word, "MISCONF") == 0)
        await_failed_save();
}

START_TEST(a_refused_acquire_reports_why_and_leaves_no_lock)
{
    struct hf_error err;

    if (is_skipped(is_6 && refusals[_i].since_7, refusals[_i].word))
        return;
    open_client(PASSES_MS);
    spoil(_i);
    ck_assert_status(hf_lock_acquire(lock, NULL, &err), HF_E_SERVER);
    ck_assert_int_eq(err.status, HF_E_SERVER);
    ck_assert_clear(&err, refusals[_i].word);
    ck_assert_status(try_acquire(lock, 1, &err), HF_E_SERVER);
    ck_assert_status(hf_lock_release(lock, 1, NULL), HF_NOT_OWNER);
    ask_all(refusals[_i].repair);
    server_await(server, AWAIT_MS, "none", "TYPE " NAME);
    acquire(lock, 1);
    ck_assert_holder(server, lock, 1, 1);
    release(lock, 1);
}
END_TEST

/* Rows whose request is repeated: the last one may go unanswered. */
#define READONLY 2
#define MASTERDOWN 4

/* It is answered, and the server did nothing: nothing is to be released. */
START_TEST(a_refused_acquire_releases_nothing)
{
    struct hf_client_options o;
    char url[SERVER_URL_MAX];
    long long calls;

    if (is_skipped(is_6 && refusals[_i].since_7, refusals[_i].word))
        return;
    client_options(&o, url, server_port(server));
    o.request_timeout_ms = PASSES_MS;
    listen_for_alarms(&o);
    client = client_with(&o);
    lock = lock_of(client, NAME);
    acquire(lock, 1); /* the scripts are known */
    release(lock, 1);
    spoil(_i);
    calls = script_calls(server);
    ck_assert_status(try_acquire(lock, 1, NULL), HF_E_SERVER);
    ck_assert_uint_eq(stats_of(client).orphans, 0);
    ck_assert_no_alarm();
    ck_assert_int_le(script_calls(server) - calls, 1);
    ask_all(refusals[_i].repair);
}
END_TEST

/* The hold is forgotten, and its TTL (or the release in the background) ends it
 * soon after the server can. */
START_TEST(a_refused_release_forgets_the_hold_and_its_ttl_ends_it)
{
    struct hf_error err;
    hf_status rc;

    if (is_skipped(is_6 && refusals[_i].since_7, refusals[_i].word))
        return;
    open_client(PASSES_MS);
    acquire(lock, 1);
    spoil(_i);
    rc = hf_lock_release(lock, 1, &err);
    ck_assert_msg(rc == refusals[_i].released, "%s: %s", hf_status_name(rc),
                  err.text);
    if (rc == HF_E_SERVER)
        ck_assert_clear(&err, refusals[_i].word);
    ck_assert_status(hf_lock_release(lock, 1, NULL), HF_NOT_OWNER);
    ck_assert_uint_eq(stats_of(client).holds, 0);
    ask_all(refusals[_i].repair);
    server_await(server, LONG_MS, "0", "EXISTS " NAME);
}
END_TEST

START_TEST(a_key_of_another_type_is_left_alone)
{
    struct hf_lock_info info;
    struct hf_error err;

    open_client(PASSES_MS);
    (void)server_ask(server, "SET " NAME " x");
    ck_assert_status(hf_lock_inspect(lock, &info, &err), HF_E_SERVER);
    ck_assert_clear(&err, "WRONGTYPE");
    ck_assert_status(hf_lock_force_release(lock, NULL, 0, &err), HF_E_SERVER);
    ck_assert_clear(&err, "WRONGTYPE");
    ck_assert_str_eq(server_ask(server, "GET " NAME), "x");
}
END_TEST

START_TEST(a_hash_that_is_not_a_lock_is_reported)
{
    struct hf_lock_info info;
    struct hf_error err;

    open_client(PASSES_MS);
    (void)server_ask(server, "HSET " NAME " colour red");
    ck_assert_status(hf_lock_inspect(lock, &info, &err), HF_E_SERVER);
    ck_assert_clear(&err, "unexpected field 'colour'");
    ck_assert_status(try_acquire(lock, 1, &err), HF_E_SERVER);
    ck_assert_clear(&err, "unexpected field 'colour'");
    ck_assert_status(hf_lock_acquire(lock, NULL, &err), HF_E_SERVER);
    ck_assert_status(hf_lock_force_release(lock, NULL, 0, &err), HF_E_SERVER);
    ck_assert_clear(&err, "is not a lock");
    ck_assert_str_eq(hash_of(server, NAME), "colour red");
}
END_TEST

/* ---- patience ---- */

/* 10,000 keys with a delay each: 15 s unless let_it_load ends it, far more than
 * PASSES_MS, with the events in between. */
static void keep_loading(redisContext **c)
{
    (void)server_ask(server, "DEBUG POPULATE 10000 filler 100");
    (void)server_ask(server, "CONFIG SET key-load-delay 1500");
    *c = ask_unheard("DEBUG %s", "RELOAD");
    while (!strstr(server_ask(server, "PING"), "LOADING"))
        local_poll_rest();
}

static void let_it_load(void)
{
    (void)server_ask(server, "CONFIG SET key-load-delay 0");
}

static const struct {
    const char *word;
    const char *advice;
    void (*keep)(redisContext **c);
    void (*end)(void);
    bool since_7;               /* that a server says so while it loads a little */
} pauses[] = {
    {"BUSY", "SCRIPT KILL", keep_busy, kill_script, false},
    {"LOADING", "is loading its data", keep_loading, let_it_load, true},
};

/* PATIENCE-1 */
START_TEST(temporary_errors_are_retried_until_the_request_timeout)
{
    struct hf_error err;
    redisContext *c;

    if (is_skipped(is_6 && pauses[_i].since_7, pauses[_i].word))
        return;
    open_client(PASSES_MS);
    pauses[_i].keep(&c);
    ck_assert_status(hf_lock_acquire(lock, NULL, &err), HF_E_SERVER);
    ck_assert_clear(&err, pauses[_i].word);
    pauses[_i].end();
    server_await(server, AWAIT_MS, "PONG", "PING");
    server_await(server, LONG_MS, "0", "EXISTS " NAME);
    redisFree(c);
}
END_TEST

/* Not a try early: the call is over when its wait is. */
START_TEST(busy_server_is_an_error_only_when_the_wait_is_over)
{
    struct hf_acquire_options o = acquire_options(1);
    int64_t began_ms, took_ms;
    struct hf_error err;
    redisContext *c;

    if (is_skipped(is_6 && pauses[_i].since_7, pauses[_i].word))
        return;
    o.wait_ms = 300;
    open_client(LONG_MS);
    pauses[_i].keep(&c);
    began_ms = local_now_ms();
    ck_assert_status(hf_lock_acquire(lock, &o, &err), HF_E_SERVER);
    took_ms = local_now_ms() - began_ms;
    ck_assert_int_ge(took_ms, o.wait_ms);
    ck_assert_clear(&err, pauses[_i].word);
    ck_assert_clear(&err, pauses[_i].advice);
    pauses[_i].end();
    server_await(server, AWAIT_MS, "PONG", "PING");
    server_await(server, LONG_MS, "0", "EXISTS " NAME);
    redisFree(c);
}
END_TEST

/* A waiter looks each second. Its first request is refused until the request timeout, and so is
 * the second one. */
START_TEST(refusals_of_a_waiter_are_logged_once)
{
    struct hf_acquire_options o = acquire_options(1);
    struct hf_client_options options;
    char url[SERVER_URL_MAX];
    struct call call;
    redisContext *c;

    if (is_skipped(is_6 && pauses[_i].since_7, pauses[_i].word))
        return;
    client_options(&options, url, server_port(server));
    options.request_timeout_ms = PASSES_MS;
    options.watchdog_ms = 3000;
    listen_for_alarms(&options);
    client = client_with(&options);
    lock = lock_of(client, NAME);
    (void)server_ask(server, "HSET " NAME " " LUA_HOLDER " 1");
    o.wait_ms = 3 * PASSES_MS;
    call_acquire(&call, lock, &o);
    await_subscribers(server, CHANNEL, 1);
    pauses[_i].keep(&c);
    ck_assert_status(call_await(&call), HF_E_SERVER);
    ck_assert_int_eq(note_read(&log_note, &put_offs), 1);
    pauses[_i].end();
    redisFree(c);
}
END_TEST

/* PATIENCE-1 */
START_TEST(short_temporary_errors_are_not_noticed)
{
    struct hf_acquire_options o = acquire_options(1);
    struct call call;
    redisContext *c;

    if (is_skipped(is_6 && pauses[_i].since_7, pauses[_i].word))
        return;
    open_client(LONG_MS);
    pauses[_i].keep(&c);
    call_acquire(&call, lock, &o);
    ck_assert(!call_is_done(&call));
    pauses[_i].end();
    ck_assert_status(call_await(&call), HF_OK);
    ck_assert_holder(server, lock, 1, 1);
    release(lock, 1);
    redisFree(c);
}
END_TEST

START_TEST(a_cluster_without_slots_is_reported_as_down)
{
    static const char *const extra[] = {"--cluster-enabled", "yes", NULL};
    struct hf_error err;

    stop_server();
    start_server_with(extra);
    open_client(PASSES_MS);
    ck_assert_status(hf_lock_acquire(lock, NULL, &err), HF_E_SERVER);
    ck_assert_clear(&err, "CLUSTERDOWN");
}
END_TEST

/* ---- who we are ---- */

static hf_status connect_as(const char *user, const char *password,
                            struct hf_error *err)
{
    struct hf_client_options o;
    char url[SERVER_URL_MAX];

    client_options(&o, url, server_port(server));
    o.user = user;
    o.password = password;
    o.request_timeout_ms = 60000; /* a refusal does not wait for it */
    client = client_with(&o);
    lock = lock_of(client, NAME);
    return hf_client_connect(client, err);
}

static const struct {
    const char *user, *password, *words;
} strangers[] = {
    {NULL, NULL, "NOAUTH"},
    {NULL, "secret guess", "WRONGPASS"},
    {"nobody", "secret guess", "WRONGPASS"},
};

/* PATIENCE-4 */
START_TEST(unknown_user_is_an_error_at_once)
{
    struct hf_error err;

    set_user("witness", "nopass ~* &* +@all");
    (void)server_ask(server, "CONFIG SET requirepass %s", "secret word");
    ck_assert_status(
        connect_as(strangers[_i].user, strangers[_i].password, &err),
        HF_E_AUTH);
    ck_assert_ptr_nonnull(strstr(err.text, strangers[_i].words));
    ck_assert_ptr_null(strstr(err.text, "secret"));
    ck_assert_status(hf_lock_acquire(lock, NULL, &err), HF_E_AUTH);
    ck_assert_int_eq(err.status, HF_E_AUTH);
    ck_assert_clear(&err, strangers[_i].words);
}
END_TEST

/* Not as `default`, who may more. */
START_TEST(user_without_a_password_is_that_user)
{
    struct hf_error err = {0};

    set_user("eve", "nopass ~* &* +@all");
    ck_assert_msg(connect_as("eve", NULL, &err) == HF_OK, "%s", err.text);
    acquire(lock, 1);
    ck_assert_ptr_nonnull(
        strstr(server_ask(server, "CLIENT LIST"), "user=eve"));
    release(lock, 1);
}
END_TEST

START_TEST(the_right_password_opens)
{
    struct hf_error err = {0};

    set_user("eve", "nopass ~* &* +@all");
    (void)server_ask(server, "ACL SETUSER eve resetpass >%s", "secret word");
    ck_assert_msg(connect_as("eve", "secret word", &err) == HF_OK, "%s",
                  err.text);
    acquire(lock, 1);
    ck_assert_ptr_nonnull(
        strstr(server_ask(server, "CLIENT LIST"), "user=eve"));
    release(lock, 1);
}
END_TEST

static const struct {
    const char *rules, *words;
} lacks[] = {
    {"~* &* +@all -eval -evalsha", "NOPERM"},
    {"~* &* +@all -@scripting", "NOPERM"},
    {"~other* &* +@all", "NOPERM"},
    {"~* &* +@all -hset", " run th"}, /* this command; the 'hset' command */
};

START_TEST(missing_right_is_reported_with_the_message_of_the_server)
{
    struct hf_error err;
    char rules[100];

    (void)snprintf(rules, sizeof rules, "nopass %s", lacks[_i].rules);
    set_user("eve", rules);
    ck_assert_ok(connect_as("eve", "secret", &err));
    ck_assert_status(hf_lock_acquire(lock, NULL, &err), HF_E_SERVER);
    ck_assert_clear(&err, lacks[_i].words);
    ck_assert_clear(&err, "(the ACL of this user lacks a command");
    ck_assert_str_eq(server_ask(server, "EXISTS " NAME), "0");
}
END_TEST

/* The rights of each command are checked when the script comes to it. */
static const char *const needs[] = {"exists", "hset", "pexpire"};

START_TEST(an_acquire_that_is_refused_halfway_leaves_nothing)
{
    struct hf_client_options o;
    char url[SERVER_URL_MAX], rules[100];
    struct hf_error err;

    (void)snprintf(rules, sizeof rules, "nopass ~* &* +@all -%s", needs[_i]);
    set_user("eve", rules);
    client_options(&o, url, server_port(server));
    o.user = "eve";
    listen_for_alarms(&o);
    client = client_with(&o);
    lock = lock_of(client, NAME);
    ck_assert_status(try_acquire(lock, 1, &err), HF_E_SERVER);
    ck_assert_clear(&err, " run th");
    ck_assert_str_eq(server_ask(server, "EXISTS " NAME), "0");
    ck_assert_no_alarm();
}
END_TEST

static void connect_as_eve(void)
{
    struct hf_error err;

    set_user("eve", "nopass ~* &* +@all");
    ck_assert_ok(connect_as("eve", "secret", &err));
}

/* Refused, or not answered: one acquisition less here. Those that are left go on,
 * and the next call sets the server's count right. */
START_TEST(failed_partial_release_is_one_less)
{
    struct hf_error err;

    if (_i) {
        client = client_timed(server_port(server), 30000, 1000);
        lock = lock_of(client, NAME);
    } else {
        connect_as_eve();
    }
    for (int i = 0; i < 3; i++)
        acquire(lock, 1);
    if (_i) {
        server_pause(server);
        ck_assert_int_le(hf_lock_release(lock, 1, &err), HF_E_CONNECT);
        server_resume(server);
        ck_assert_ok(hf_client_connect(client, NULL));
    } else {
        (void)server_ask(server, "ACL SETUSER eve -eval -evalsha");
        ck_assert_status(hf_lock_release(lock, 1, &err), HF_E_SERVER);
        (void)server_ask(server, "ACL SETUSER eve +eval +evalsha");
        ck_assert_holder(server, lock, 1, 3);
    }
    ck_assert_int_gt(hf_lock_safe_ms(lock, 1), 0);
    release(lock, 1);
    ck_assert_holder(server, lock, 1, 1);
    ck_assert_status(try_acquire(lock, 2, NULL), HF_TIMEOUT);
    release(lock, 1);
    ck_assert_str_eq(server_ask(server, "EXISTS " NAME), "0");
    ck_assert_status(hf_lock_release(lock, 1, NULL), HF_NOT_OWNER);
}
END_TEST

/* A re-entry that fails counts nothing. */
START_TEST(failed_reentry_leaves_the_hold_as_it_was)
{
    struct hf_error err;

    connect_as_eve();
    acquire(lock, 1);
    (void)server_ask(server, "ACL SETUSER eve -eval -evalsha");
    ck_assert_status(try_acquire(lock, 1, &err), HF_E_SERVER);
    (void)server_ask(server, "ACL SETUSER eve +eval +evalsha");
    ck_assert_int_gt(hf_lock_safe_ms(lock, 1), 0);
    release(lock, 1);
    ck_assert_str_eq(server_ask(server, "EXISTS " NAME), "0");
    ck_assert_status(hf_lock_release(lock, 1, NULL), HF_NOT_OWNER);
}
END_TEST

/* The lock was freed, so the release succeeded; waiters are woken later. */
START_TEST(a_release_without_the_right_to_publish_succeeds)
{
    struct hf_error err;

    if (is_skipped(!has_channels, "rules for channels"))
        return;
    set_user("eve", "nopass ~* resetchannels +@all");
    ck_assert_ok(connect_as("eve", "secret", &err));
    acquire(lock, 1);
    ck_assert_ok(hf_lock_release(lock, 1, &err));
    ck_assert_status(hf_lock_release(lock, 1, &err), HF_NOT_OWNER);
    server_await(server, LONG_MS, "0", "EXISTS " NAME);
}
END_TEST

/* WAIT-5: without a subscription the waiter asks each second. */
static const char *const deafs[] = {
    "~* &* +@all -subscribe",
    "~* resetchannels &other +@all",
};

/* Another holds the lock; `rule` lets the user of our waiter do all but listen. */
static void wait_without_subscription(struct call *call, const char *rule)
{
    struct hf_acquire_options o = acquire_options(1);
    struct hf_error err;
    char rules[100];

    (void)snprintf(rules, sizeof rules, "nopass %s", rule);
    set_user("eve", rules);
    ck_assert_ok(connect_as("eve", "secret", &err));
    (void)lua_acquire(server, NAME, strlen(NAME), LUA_HOLDER, 60000);
    call_acquire(call, lock, &o);
}

START_TEST(wait_5_waiter_without_a_subscription_polls)
{
    struct call call;

    if (is_skipped(!has_channels && strstr(deafs[_i], "resetchannels"),
                   "rules for channels"))
        return;
    wait_without_subscription(&call, deafs[_i]);
    while (script_calls(server) < 5) /* theirs, two for one, once more, later */
        local_poll_rest();
    ck_assert(!call_is_done(&call));
    (void)server_ask(server, "DEL " NAME);
    ck_assert_status(call_await(&call), HF_OK);
    ck_assert_holder(server, lock, 1, 1);
}
END_TEST

/* It goes on asking for its subscription, and hears once it may. */
START_TEST(wait_5_refused_waiter_subscribes_as_soon_as_it_may)
{
    struct call call;

    if (is_skipped(!has_channels && strstr(deafs[_i], "resetchannels"),
                   "rules for channels"))
        return;
    wait_without_subscription(&call, deafs[_i]);
    while (script_calls(server) < 5)
        local_poll_rest();
    (void)server_ask(server, has_channels ? "ACL SETUSER eve allchannels +@all"
                                          : "ACL SETUSER eve +@all");
    server_await(server, LONG_MS, "redisson_lock__channel:{" NAME "} 1",
                 "PUBSUB NUMSUB redisson_lock__channel:{" NAME "}");
    (void)server_ask(server, "DEL " NAME);
    (void)server_ask(server, "PUBLISH redisson_lock__channel:{" NAME "} 0");
    ck_assert_status(call_await(&call), HF_OK);
}
END_TEST

/* ---- scripts ---- */

START_TEST(scripts_may_be_forgotten_at_any_moment)
{
    struct hf_lock_info info;

    open_client(5000);
    for (int round = 0; round < 5; round++) {
        (void)server_ask(server, "SCRIPT FLUSH");
        acquire(lock, 1);
        (void)server_ask(server, "SCRIPT FLUSH");
        acquire(lock, 1);
        ck_assert_holder(server, lock, 1, 2);
        (void)server_ask(server, "SCRIPT FLUSH");
        ck_assert_ok(hf_lock_inspect(lock, &info, NULL));
        (void)server_ask(server, "SCRIPT FLUSH");
        release(lock, 1);
        (void)server_ask(server, "SCRIPT FLUSH");
        release(lock, 1);
        acquire(lock, 1);
        (void)server_ask(server, "SCRIPT FLUSH");
        ck_assert_ok(hf_lock_force_release(lock, NULL, 0, NULL));
        ck_assert_status(hf_lock_release(lock, 1, NULL), HF_LOST);
    }
}
END_TEST

static void *forget_scripts(void *stop_flag)
{
    while (!atomic_load((atomic_bool *)stop_flag)) {
        (void)server_ask(server, "SCRIPT FLUSH");
        local_rest_us(200);
    }
    return NULL;
}

START_TEST(scripts_may_be_forgotten_all_the_time)
{
    atomic_bool stops = false;
    pthread_t thread;

    open_client(5000);
    ck_assert_int_eq(pthread_create(&thread, NULL, forget_scripts, &stops), 0);
    for (int i = 0; i < 300; i++) {
        acquire(lock, 1);
        acquire(lock, 1);
        release(lock, 1);
        release(lock, 1);
    }
    atomic_store(&stops, true);
    (void)pthread_join(thread, NULL);
    ck_assert_str_eq(hash_of(server, NAME), "");
}
END_TEST

/* ---- */

static void add_cases(Suite *s)
{
    TCase *c = live_case(s, "refusals", start, stop);

    tcase_add_loop_test(c, a_refused_acquire_reports_why_and_leaves_no_lock, 0,
                        COUNT(refusals));
    tcase_add_loop_test(c, a_refused_acquire_releases_nothing, 0, READONLY);
    tcase_add_loop_test(c, a_refused_acquire_releases_nothing, READONLY + 1,
                        MASTERDOWN);
    tcase_add_loop_test(c, a_refused_acquire_releases_nothing, MASTERDOWN + 1,
                        COUNT(refusals));
    tcase_add_loop_test(c, a_refused_release_forgets_the_hold_and_its_ttl_ends_it,
                        0, COUNT(refusals));
    tcase_add_test(c, a_key_of_another_type_is_left_alone);
    tcase_add_test(c, a_hash_that_is_not_a_lock_is_reported);

    c = live_case(s, "patience", start, stop);
    tcase_add_loop_test(c, temporary_errors_are_retried_until_the_request_timeout,
                        0, COUNT(pauses));
    tcase_add_loop_test(c, refusals_of_a_waiter_are_logged_once, 0, COUNT(pauses));
    tcase_add_loop_test(c, busy_server_is_an_error_only_when_the_wait_is_over,
                        0, COUNT(pauses));
    tcase_add_loop_test(c, short_temporary_errors_are_not_noticed, 0,
                        COUNT(pauses));
    tcase_add_test(c, a_cluster_without_slots_is_reported_as_down);

    c = live_case(s, "who we are", start, stop);
    tcase_add_loop_test(c, unknown_user_is_an_error_at_once, 0,
                        COUNT(strangers));
    tcase_add_test(c, user_without_a_password_is_that_user);
    tcase_add_test(c, the_right_password_opens);
    tcase_add_loop_test(c, missing_right_is_reported_with_the_message_of_the_server, 0,
                        COUNT(lacks));
    tcase_add_loop_test(c, an_acquire_that_is_refused_halfway_leaves_nothing,
                        0, COUNT(needs));
    tcase_add_test(c, a_release_without_the_right_to_publish_succeeds);
    tcase_add_loop_test(c, failed_partial_release_is_one_less, 0, 2);
    tcase_add_test(c, failed_reentry_leaves_the_hold_as_it_was);
    tcase_add_loop_test(c, wait_5_waiter_without_a_subscription_polls, 0,
                        COUNT(deafs));
    tcase_add_loop_test(c, wait_5_refused_waiter_subscribes_as_soon_as_it_may, 0,
                        COUNT(deafs));

    c = live_case(s, "scripts", start, stop);
    tcase_add_test(c, scripts_may_be_forgotten_at_any_moment);
    tcase_add_test(c, scripts_may_be_forgotten_all_the_time);
}

int main(void)
{
    return refused_main("lock, errors", add_cases);
}
