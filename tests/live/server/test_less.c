/* Servers and proxies that have less than Redis: no HELLO, no CLIENT, no EVALSHA, no
 * subscriptions beside commands. A gate before a real server refuses these in the
 * words of the servers concerned, or closes the connection. Locks work, a waiter is
 * served, and a hold is renewed. */
#include "tests/live/test_lock.h"
#include "tests/support/gate.h"
#include "tests/support/one_server.h"

#define RULES 4
#define ONLY_SUBSCRIBE                                                            \
    "-ERR Can't execute it: only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT " \
    "are allowed in this context\r\n"
#define ONLY_SUBSCRIBE_5                                                   \
    "-ERR only (P)SUBSCRIBE / (P)UNSUBSCRIBE / PING / QUIT allowed in this " \
    "context\r\n"

#define REFUSES(command, words) {.pattern = (command), .answer = (words)}
#define CLOSES(command) {.pattern = (command)}
#define TO_SUBSCRIBERS(command, words) \
    {.pattern = (command), .answer = (words), .is_for_subscribers = true}

static const struct {
    const char *what;
    struct gate_rule rules[RULES + 1];
    const char *password;     /* of the server; NULL: none */
    bool has_no_messages;     /* waiters look at the lock instead */
    const char *renamed;      /* a command that is not there; NULL: none */
} rows[] = {
    {"Envoy", .rules = {REFUSES("HELLO ...", "-unsupported command 'HELLO'\r\n")}},
    {"redis-cluster-proxy",
     .rules = {REFUSES("HELLO ...", "-ERR unsupported command `hello`\r\n")}},
    {"Codis",
     .rules = {REFUSES("HELLO ...", "-ERR handle request, command 'HELLO' is not allowed\r\n")}},
    {"a cloud's proxy", .rules = {REFUSES("HELLO ...", "-ERR command 'HELLO' not support\r\n")}},
    {"HELLO without AUTH",
     .rules = {REFUSES("HELLO 3 AUTH ...", "-NOAUTH Authentication required.\r\n")},
     .password = "secret"},
    {"HELLO that is a syntax error with AUTH",
     .rules = {REFUSES("HELLO 3 AUTH ...", "-ERR Syntax error in HELLO option 'AUTH'\r\n")},
     .password = "secret"},
    {"closed at HELLO", .rules = {CLOSES("HELLO ...")}},
    {"closed at HELLO, with a password", .rules = {CLOSES("HELLO ...")}, .password = "secret"},
    {"twemproxy",
     .rules = {CLOSES("HELLO ..."), CLOSES("CLIENT ..."), CLOSES("INFO ..."),
      CLOSES("SUBSCRIBE ...")},
     .has_no_messages = true},
    {"twemproxy with a password",
     .rules = {CLOSES("HELLO ..."), CLOSES("CLIENT ..."), CLOSES("INFO ..."),
      CLOSES("SUBSCRIBE ...")},
     .password = "secret", .has_no_messages = true},
    {"closed at INFO", .rules = {CLOSES("INFO ...")}},
    {"closed at CLIENT alone", .rules = {CLOSES("CLIENT ...")}},
    {"an error to CLIENT and INFO",
     .rules = {REFUSES("CLIENT ...", "-ERR unknown command\r\n"),
               REFUSES("INFO ...", "-ERR no\r\n")}},
    {"RESP3, and commands refused after SUBSCRIBE",
     .rules = {TO_SUBSCRIBERS("EVALSHA ...", ONLY_SUBSCRIBE),
               TO_SUBSCRIBERS("EVAL ...", ONLY_SUBSCRIBE)}},
    {"RESP3, and commands refused in Redis 5's words",
     .rules = {TO_SUBSCRIBERS("EVALSHA ...", ONLY_SUBSCRIBE_5),
               TO_SUBSCRIBERS("EVAL ...", ONLY_SUBSCRIBE_5)}},
    {"EVALSHA was renamed", .rules = {{0}}, .renamed = "EVALSHA"},
    {"EVALSHA, as Envoy would say it",
     .rules = {REFUSES("EVALSHA ...", "-unsupported command 'EVALSHA'\r\n")}},
    {"EVALSHA, in small letters",
     .rules = {REFUSES("EVALSHA ...", "-ERR command 'evalsha' not support\r\n")}},
    {"RESP3, and only renewals and releases refused so",
     .rules = {TO_SUBSCRIBERS("EVALSHA * 1 other ...", ONLY_SUBSCRIBE)}},
};

static struct gate *gate;
static struct hf_client *client;

static void start_server_of(int i)
{
    const char *const password[] = {"--requirepass", rows[i].password, NULL};
    const char *const renamed[] = {"--rename-command", rows[i].renamed, "", NULL};

    if (!rows[i].password && !rows[i].renamed)
        return;
    stop_server();
    start_server_with(rows[i].password ? password : renamed);
}

static void open_client_with(int i, bool connects_once)
{
    struct hf_client_options o;
    char url[SERVER_URL_MAX];

    start_server_of(i);
    gate = gate_start(server_port(server), rows[i].rules);
    client_options(&o, url, gate_port(gate));
    o.password = rows[i].password;
    o.watchdog_ms = STEADY_WATCHDOG_MS;
    o.connect_once = connects_once;
    client = client_with(&o);
}

static void open_client(int i)
{
    open_client_with(i, false);
}

static void close_client(void)
{
    hf_client_free(client);
    gate_stop(gate);
}

START_TEST(a_lock_is_taken_and_released)
{
    struct hf_error err;
    struct hf_lock *lock;

    open_client(_i);
    lock = lock_of(client, NAME);
    ck_assert_msg(hf_lock_acquire(lock, NULL, &err) == HF_OK, "%s: %s",
                  rows[_i].what, err.text);
    ck_assert_int_eq(server_ask_int(server, "EXISTS " NAME), 1);
    release(lock, hf_owner_thread());
    ck_assert_int_eq(server_ask_int(server, "EXISTS " NAME), 0);
    close_client();
}
END_TEST

/* As `status` does. */
START_TEST(a_client_that_connects_once_is_connected)
{
    struct hf_lock_info info;
    struct hf_error err;

    open_client_with(_i, true);
    ck_assert_msg(hf_client_connect(client, &err) == HF_OK, "%s: %s", rows[_i].what,
                  err.text);
    ck_assert_msg(hf_lock_inspect(lock_of(client, NAME), &info, &err) == HF_OK,
                  "%s: %s", rows[_i].what, err.text);
    close_client();
}
END_TEST

/* Renewals come at two thirds of the TTL. */
static void await_renewal(const char *name)
{
    static const int some_ms = STEADY_WATCHDOG_MS * 5 / 6;

    while (server_ask_int(server, "PTTL %s", name) > some_ms)
        local_poll_rest();
    while (server_ask_int(server, "PTTL %s", name) <= some_ms)
        local_poll_rest();
}

/* LINK-7: The client holds one lock while it waits for another. */
START_TEST(a_waiter_is_served_and_a_hold_beside_it_is_renewed)
{
    struct diary d;
    struct hf_acquire_options o;
    struct hf_client *direct;
    struct hf_client_options with;
    struct hf_lock *first, *second, *theirs;
    char url[SERVER_URL_MAX];
    struct call call;

    open_client(_i);
    client_options(&with, url, server_port(server));
    with.password = rows[_i].password;
    direct = client_with(&with);
    theirs = lock_of(direct, NAME);
    acquire(theirs, 1);
    first = lock_of(client, "other");
    second = lock_of(client, NAME);
    o = diary_options(&d, 1);
    ck_assert_ok(hf_lock_acquire(first, &o, NULL));
    o.wait_ms = LONG_MS;
    call_acquire(&call, second, &o);
    server_await(server, LONG_MS, rows[_i].has_no_messages ? "0" : "1",
                 "EVAL %s 0 " CHANNEL,
                 "return redis.call('pubsub', 'numsub', ARGV[1])[2]");
    await_renewal("other");
    release(theirs, 1);
    ck_assert_status(call_await(&call), HF_OK);
    release(second, 1);
    release(first, 1);
    ck_assert_int_eq(note_read(&d.note, &d.losses), 0);
    hf_client_free(direct);
    close_client();
}
END_TEST

/* ---- EVALSHA is asked for once ---- */

START_TEST(evalsha_that_is_not_there_is_sent_once)
{
    static const struct gate_rule rules[] = {
        REFUSES("EVALSHA ...", "-ERR unknown command 'EVALSHA'\r\n"), {0}};
    struct hf_lock *lock;

    gate = gate_start(server_port(server), rules);
    client = client_to(gate_port(gate));
    lock = lock_of(client, NAME);
    for (int i = 0; i < 3; i++) {
        acquire(lock, 1);
        release(lock, 1);
    }
    ck_assert_uint_eq(gate_count(gate, 0), 1);
    close_client();
}
END_TEST

/* ---- locks at several servers behind one proxy ---- */

/* Two acquires that a callback of the client makes: they begin in one turn of its loop,
 * so that the watchdog renews the two holds by one call. */
struct pair {
    struct hf_lock *locks[2];
    const struct hf_acquire_options *options;
    struct call calls[2];
    char replies[2][128];       /* to a renewal of both that found only this one */
    struct hf_lock_info info;
};

static struct pair pair;

static void write_half(void *ctx, hf_status status, const struct hf_error *err)
{
    int i = (int)((struct call *)ctx - pair.calls);
    char owner[HF_OWNER_TEXT_MAX];

    (void)hf_lock_owner_text(pair.locks[i], 1, owner);
    (void)snprintf(pair.replies[i], sizeof pair.replies[i],
                   "*3\r\n$%zu\r\n%s\r\n:1\r\n:0\r\n", strlen(owner), owner);
    call_done(ctx, status, err);
}

static void acquire_pair(void *ctx, hf_status status, const struct hf_error *err)
{
    (void)ctx, (void)status, (void)err;
    for (int i = 0; i < 2; i++)
        ck_must(hf_lock_acquire_async(pair.locks[i], pair.options, write_half,
                                      &pair.calls[i]) == HF_OK,
                "a callback can acquire");
}

/* As behind Envoy or twemproxy: a script call goes to the server of its first key, and
 * finds no other lock there. A hold that such a call did not find is asked for alone
 * before it is lost, and from then on each is renewed alone (WATCHDOG-4). */
START_TEST(holds_at_several_servers_of_a_proxy_are_renewed_alone)
{
    static const struct gate_rule rules[] = {REFUSES("EVALSHA * 2 a b ...", pair.replies[0]),
                                             REFUSES("EVALSHA * 2 b a ...", pair.replies[1]),
                                             {0}};
    struct diary d;
    struct hf_acquire_options o = diary_options(&d, 1);
    int64_t end_ms;
    uint64_t renewals;

    gate = gate_start(server_port(server), rules);
    client = client_timed(gate_port(gate), STEADY_WATCHDOG_MS, LONG_MS);
    ck_assert_ok(hf_client_connect(client, NULL));
    pair = (struct pair){.locks = {lock_of(client, "a"), lock_of(client, "b")},
                         .options = &o};
    for (int i = 0; i < 2; i++)
        call_init(&pair.calls[i]);
    ck_assert_ok(hf_lock_inspect_async(pair.locks[0], &pair.info, acquire_pair, NULL));
    for (int i = 0; i < 2; i++)
        ck_assert_status(call_await(&pair.calls[i]), HF_OK);
    await_next_renewal(client);
    end_ms = local_now_ms() + AWAIT_MS;
    for (renewals = stats_of(client).renewals; stats_of(client).renewals < renewals + 6;) {
        ck_assert_int_eq(note_read(&d.note, &d.losses), 0);
        ck_assert_int_lt(local_now_ms(), end_ms);
        local_poll_rest();
    }
    ck_assert_uint_eq(gate_count(gate, 0) + gate_count(gate, 1), 1);
    for (int i = 0; i < 2; i++)
        release(pair.locks[i], 1);
    close_client();
}
END_TEST

/* ---- passwords that are tokens ---- */

static const int lengths[] = {511, 512, 1024, 2048, 3072, HF_LOGIN_MAX};

START_TEST(long_password_is_accepted)
{
    static const struct gate_rule rules[] = {{0}},
                                  no_hello[] = {REFUSES("HELLO ...", "-ERR no\r\n"), {0}},
                                  bare[] = {CLOSES("HELLO ..."), CLOSES("CLIENT ..."), {0}};
    static const struct gate_rule *const ways[] = {rules, no_hello, bare};
    static char password[HF_LOGIN_MAX + 1], url[HF_LOGIN_MAX + 64];
    struct hf_client_options o;

    memset(password, 'A', (size_t)lengths[_i]);
    ck_assert_str_eq(
        server_ask(server, "ACL SETUSER iam reset on >%s ~* &* +@all", password), "OK");
    for (int way = 0; way < COUNT(ways); way++) {
        gate = gate_start(server_port(server), ways[way]);
        (void)snprintf(url, sizeof url, "redis://iam:%s@127.0.0.1:%d", password,
                       gate_port(gate));
        hf_client_options_init(&o);
        o.url = url;
        client = client_with(&o);
        acquire(lock_of(client, NAME), 1);
        release(lock_of(client, NAME), 1);
        close_client();
    }
}
END_TEST

/* ---- commands that are missing or renamed ---- */

static const struct {
    const char *renamed;
    const char *says;         /* of an acquire of a lock that is free, or held */
    bool is_held, is_evalsha_away;
} missing[] = {
    {"HSET", .says = "the server lacks the command HSET of this script"},
    {"EXISTS", .says = "the server lacks the command EXISTS of this script"},
    {"PTTL", .says = "the server lacks the command PTTL of this script", .is_held = true},
    {"PEXPIRE", .says = "PEXPIRE"},   /* the script catches that error */
    {"EVAL", .says = "locks need scripts, but EVAL is missing", .is_evalsha_away = true},
};

START_TEST(message_names_the_command_that_is_missing)
{
    static const struct gate_rule rules[] = {
        REFUSES("EVALSHA ...", "-ERR unknown command 'EVALSHA'\r\n"), {0}};
    static const struct gate_rule none[] = {{0}};
    const char *const args[] = {"--rename-command", missing[_i].renamed, "", NULL};
    struct hf_error err;

    stop_server();
    start_server_with(args);
    if (missing[_i].is_held)
        (void)server_ask(server, "HSET " NAME " 6e3814a1-e847-452b-a982-45baf93a1df2:1 1");
    gate = gate_start(server_port(server), missing[_i].is_evalsha_away ? rules : none);
    client = client_to(gate_port(gate));
    ck_assert_status(try_acquire(lock_of(client, NAME), 1, &err), HF_E_SERVER);
    ck_assert_msg(strstr(err.text, missing[_i].says) != NULL, "%s", err.text);
    if (!missing[_i].is_held && strcmp(missing[_i].renamed, "EXISTS") != 0)
        ck_assert_int_eq(server_ask_int(server, "EXISTS " NAME), 0);
    close_client();
}
END_TEST

/* A service that permits no scripts, in words of its own. */
START_TEST(message_says_that_scripts_are_needed)
{
    static const struct gate_rule rules[] = {
        REFUSES("EVALSHA ...", "-ERR command eval not support for your account\r\n"),
        REFUSES("EVAL ...", "-ERR command eval not support for your account\r\n"), {0}};
    struct hf_error err;

    gate = gate_start(server_port(server), rules);
    client = client_to(gate_port(gate));
    ck_assert_status(try_acquire(lock_of(client, NAME), 1, &err), HF_E_SERVER);
    ck_assert_msg(strstr(err.text, "not support for your account (locks need scripts") != NULL,
                  "%s", err.text);
    close_client();
}
END_TEST

/* A service that counts requests. A hold whose renewals are refused ends with its TTL, and the
 * log has the reason. */
static struct note quota_note;
static int quota_lines;

static void note_quota(void *ctx, enum hf_log_level level, const char *line)
{
    (void)ctx;
    if (level == HF_LOG_WARNING && strstr(line, "ERR max requests limit exceeded"))
        note_add(&quota_note, &quota_lines);
}

START_TEST(renewals_beyond_a_quota_are_told_with_the_words)
{
    static const struct gate_rule rules[] = {
        REFUSES("EVALSHA * 1 " NAME " 3000 ...", "-ERR max requests limit exceeded. Limit: 5\r\n"),
        REFUSES("EVAL * 1 " NAME " 3000 ...", "-ERR max requests limit exceeded. Limit: 5\r\n"),
        {0}};
    struct hf_client_options o;
    struct diary d;
    struct hf_acquire_options holds = diary_options(&d, 1);
    char url[SERVER_URL_MAX];

    note_init(&quota_note);
    quota_lines = 0;
    gate = gate_start(server_port(server), rules);
    client_options(&o, url, gate_port(gate));
    o.watchdog_ms = TOLD_WATCHDOG_MS;
    o.log = note_quota;
    client = client_with(&o);
    ck_assert_ok(hf_lock_acquire(lock_of(client, NAME), &holds, NULL));
    note_await(&d.note, &d.losses, 1, "the loss");
    ck_assert_int_ge(note_read(&quota_note, &quota_lines), 1);
    close_client();
}
END_TEST

/* ---- scripts that are refused ---- */

static const struct {
    const char *words, *advice;
} refusals[] = {
    {"-ERR script tried accessing undeclared key, key: {x}:timeout\r\n",
     "--default_lua_flags=allow-undeclared-keys"},
    {"-ERR Error running script (call to f_01): @user_script:4: script tried accessing "
     "undeclared key, key: x\r\n",
     "--default_lua_flags=allow-undeclared-keys"},
    {"-ERR bad lua script for redis cluster, all the keys that the script uses should be "
     "passed using the KEYS array\r\n",
     "script_check_enable"},
};

START_TEST(error_describes_how_to_permit_scripts)
{
    struct gate_rule rules[] = {REFUSES("EVALSHA ...", refusals[_i].words), {0}};
    struct hf_error err;

    gate = gate_start(server_port(server), rules);
    client = client_to(gate_port(gate));
    ck_assert_status(try_acquire(lock_of(client, NAME), 1, &err), HF_E_SERVER);
    ck_assert_msg(strstr(err.text, refusals[_i].advice) != NULL, "%s", err.text);
    close_client();
}
END_TEST

/* ---- keys that are not declared are refused (Dragonfly) ---- */

static struct hf_client *strict_client(void)
{
    struct hf_client_options o;
    char url[SERVER_URL_MAX];

    client_options(&o, url, gate_port(gate));
    o.watchdog_ms = STEADY_WATCHDOG_MS;
    return client_with(&o);
}

static struct hf_lock *strict_lock(struct hf_client *of, enum hf_lock_kind kind)
{
    struct hf_lock *lock = NULL;

    ck_assert_ok(hf_lock_new_kind(&lock, of, kind, NAME, strlen(NAME), NULL));
    return lock;
}

static const enum hf_lock_kind strict_kinds[] = {
    HF_KIND_PLAIN, HF_KIND_NONREENTRANT, HF_KIND_FENCED, HF_KIND_FAIR,
    HF_KIND_NONREENTRANT_FAIR, HF_KIND_SPIN, HF_KIND_VALUE, HF_KIND_WRITE,
    HF_KIND_FAIR | HF_WITH_TOKEN, HF_KIND_SPIN | HF_WITH_TOKEN,
    HF_KIND_WRITE | HF_WITH_TOKEN, HF_KIND_VALUE | HF_WITH_TOKEN};

/* Each step of a lock's life: it is acquired, waited for, inspected, renewed, released, and
 * released by force. */
START_TEST(strict_server_executes_all_that_a_lock_needs)
{
    enum hf_lock_kind kind = strict_kinds[_i];
    struct hf_acquire_options o = acquire_options(2);
    static struct diary diary;
    struct hf_acquire_options held = diary_options(&diary, 1);
    struct hf_lock *lock, *wanted;
    struct hf_client *other;
    struct hf_lock_info info;
    struct hf_error err = {0};
    struct call call;

    gate = gate_start(server_port(server), gate_strict);
    client = strict_client();
    other = strict_client();
    lock = strict_lock(client, kind);
    wanted = strict_lock(other, kind);
    ck_assert_msg(hf_lock_acquire(lock, &held, &err) == HF_OK, "%s", err.text);
    o.wait_ms = LONG_MS;
    call_acquire(&call, wanted, &o);
    ck_assert_msg(hf_lock_inspect(lock, &info, &err) == HF_OK, "%s", err.text);
    note_await(&diary.note, &diary.renewals, 2, "the second renewal");
    ck_assert(!call_is_done(&call));
    release(lock, 1);
    ck_assert_ok(call_await(&call));
    ck_assert_msg(hf_lock_force_release(lock, NULL, 0, &err) == HF_OK, "%s", err.text);
    ck_assert_int_eq(server_ask_int(server, "EXISTS " NAME), 0);
    hf_client_free(other);
    close_client();
}
END_TEST

static void add(Suite *suite)
{
    TCase *c = live_case(suite, "less than Redis", start_server, stop_server);

    tcase_add_loop_test(c, a_lock_is_taken_and_released, 0, COUNT(rows));
    tcase_add_loop_test(c, a_client_that_connects_once_is_connected, 0,
                        COUNT(rows));
    tcase_add_loop_test(c, a_waiter_is_served_and_a_hold_beside_it_is_renewed, 0,
                        COUNT(rows));
    tcase_add_test(c, evalsha_that_is_not_there_is_sent_once);
    tcase_add_test(c, holds_at_several_servers_of_a_proxy_are_renewed_alone);
    tcase_add_loop_test(c, long_password_is_accepted, 0, COUNT(lengths));
    tcase_add_loop_test(c, error_describes_how_to_permit_scripts, 0, COUNT(refusals));
    tcase_add_loop_test(c, strict_server_executes_all_that_a_lock_needs, 0,
                        COUNT(strict_kinds));
    tcase_add_loop_test(c, message_names_the_command_that_is_missing, 0,
                        COUNT(missing));
    tcase_add_test(c, message_says_that_scripts_are_needed);
    tcase_add_test(c, renewals_beyond_a_quota_are_told_with_the_words);
}

int main(void)
{
    return live_main("less than Redis", add);
}
