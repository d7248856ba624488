/* Labels: when a client stores its own, who reads it, and what a timed-out call says; on a real
 * server, beside locks that Redisson holds. */
#include "lock/by_owner.h"
#include "lock/label.h"
#include "tests/live/test_lock.h"
#include "tests/support/lua_client.h"
#include "tests/support/one_server.h"

#define LABEL "web3 4711 backup \xc3\xbc"
#define PREFIX "holdfast_label:"
#define AFTER_MS 500            /* LABEL_AFTER_MS */

static struct hf_client *labelled(int64_t watchdog_ms, const char *label, int protocol)
{
    struct hf_client_options o;
    char url[SERVER_URL_MAX];

    client_options(&o, url, server_port(server));
    o.watchdog_ms = watchdog_ms;
    o.label = label;
    o.protocol = protocol;
    return client_with(&o);
}

/* Calls of a command, refused ones included. */
static long long calls_of(const char *command)
{
    char wanted[64];
    const char *line, *refused;
    long long calls = 0;

    (void)snprintf(wanted, sizeof wanted, "cmdstat_%s:calls=", command);
    line = strstr(server_ask(server, "INFO commandstats"), wanted);
    if (!line)
        return 0;
    calls = atoll(line + strlen(wanted));
    refused = strstr(line, "rejected_calls=");
    return refused ? calls + atoll(refused + strlen("rejected_calls=")) : calls;
}

static char *key_of(const struct hf_client *client, char key[64])
{
    (void)snprintf(key, 64, PREFIX "%s", hf_client_uuid(client));
    return key;
}

static void await_label(const struct hf_client *client, const char *label)
{
    char key[64];

    server_await(server, AWAIT_MS, label, "GET %s", key_of(client, key));
}

static bool is_stored(const struct hf_client *client)
{
    char key[64];

    return server_ask_int(server, "EXISTS %s", key_of(client, key)) == 1;
}

/* ---- the label of this client ---- */

static const int protocols[] = {2, 3};

/* LABEL-2 */
START_TEST(a_held_lock_has_a_label)
{
    struct hf_client *client = labelled(30000, LABEL, protocols[_i]);
    struct hf_lock *lock = lock_of(client, NAME);
    char key[64], label[HF_LABEL_MAX + 1];
    struct hf_lock_info info;
    struct hf_error err;
    long long ttl_ms;

    acquire(lock, 1);
    await_label(client, LABEL);
    ttl_ms = server_ask_int(server, "PTTL %s", key_of(client, key));
    ck_assert_int_gt(ttl_ms, server_ask_int(server, "PTTL %s", NAME));
    ck_assert_int_le(ttl_ms, 60000);
    ck_assert_ok(hf_lock_inspect(lock, &info, &err));
    ck_assert_ok(hf_label_read(client, info.holder, info.holder_len, label, &err));
    ck_assert_str_eq(label, LABEL);
    release(lock, 1);
    ck_assert_ok(hf_client_close(client, LONG_MS, NULL, &err));
    ck_assert_int_eq(server_ask_int(server, "EXISTS %s", key), 0); /* LABEL-3 */
    hf_client_free(client);
}
END_TEST

/* LABEL-1: neither pairs nor the time after them. */
START_TEST(short_holds_cost_no_request)
{
    struct hf_client *client = labelled(30000, LABEL, 3);
    struct hf_lock *lock = lock_of(client, NAME);

    ck_assert_ok(hf_client_connect(client, NULL));
    (void)server_ask(server, "CONFIG RESETSTAT");
    for (int i = 0; i < 10; i++) {
        acquire(lock, 1);
        release(lock, 1);
    }
    local_rest_us((AFTER_MS + A_MOMENT_MS) * 1000);
    ck_assert_int_eq(calls_of("set") + calls_of("get"), 0);
    ck_assert_ok(hf_client_close(client, LONG_MS, NULL, NULL));
    ck_assert_int_eq(calls_of("set") + calls_of("get") + calls_of("del"), 0);
    hf_client_free(client);
}
END_TEST

/* LABEL-2: it outlives each TTL of the lock, and one request serves three renewals. */
START_TEST(the_label_stays_as_long_as_the_hold)
{
    struct hf_client *client = labelled(1500, LABEL, 3);
    struct hf_lock *lock = lock_of(client, NAME);
    long long sets;

    acquire(lock, 1);
    await_label(client, LABEL);
    (void)server_ask(server, "CONFIG RESETSTAT");
    for (int i = 0; i < 12; i++) {
        await_next_renewal(client);
        ck_assert(is_stored(client));
    }
    sets = calls_of("set");
    ck_assert_int_ge(sets, 2);
    ck_assert_int_le(sets, 6);
    release(lock, 1);
    hf_lock_free(lock);
    hf_client_free(client);
}
END_TEST

START_TEST(the_label_outlives_a_long_lease)
{
    struct hf_client *client = labelled(30000, LABEL, 3);
    struct hf_lock *lock = lock_of(client, NAME);
    char key[64];

    acquire_for(lock, 1, 3600000);
    await_label(client, LABEL);
    ck_assert_int_gt(server_ask_int(server, "PTTL %s", key_of(client, key)), 3600000);
    acquire_for(lock, 1, 2 * 3600000); /* a re-entry */
    while (server_ask_int(server, "PTTL %s", key) < 2 * 3600000)
        local_poll_rest();
    hf_client_free(client);
}
END_TEST

/* LABEL-3: the process ends at once, and the lock stays. */
START_TEST(a_hold_that_stays_leaves_its_label)
{
    struct hf_client *client = labelled(30000, LABEL, 3);
    struct hf_lock *lock = lock_of(client, NAME);
    struct hf_client_closed closed;
    char key[64];
    long long ttl_ms;

    acquire_for(lock, 1, 60000);
    ck_assert_ok(hf_client_close(client, LONG_MS, &closed, NULL));
    ck_assert_uint_eq(closed.holds, 1);
    ttl_ms = server_ask_int(server, "PTTL %s", key_of(client, key));
    /* With time to spare: the client does not know the moment at which the lock expires. */
    ck_assert_int_gt(ttl_ms, server_ask_int(server, "PTTL %s", NAME) + 20000);
    ck_assert_int_le(ttl_ms, 90000);
    hf_client_free(client);
}
END_TEST

/* LABEL-3: the test's thread alone drives the loop, so closing begins before the release is
 * sent, while the hold is still there. */
START_TEST(a_release_that_the_close_awaits_takes_the_label_away)
{
    struct hf_client_options o;
    char url[SERVER_URL_MAX], key[64];
    struct hf_client_closed closed;
    struct hf_client *client;
    struct hf_lock *lock;
    struct call call;

    client_options(&o, url, server_port(server));
    o.label = LABEL;
    o.thread = false;
    client = client_with(&o);
    lock = lock_of(client, NAME);
    acquire(lock, 1);
    while (!is_stored(client))
        hf_loop_dispatch(hf_client_loop(client), 1);
    call_release(&call, lock, 1);
    ck_assert_ok(hf_client_close(client, LONG_MS, &closed, NULL));
    ck_assert_ok(call_await(&call));
    ck_assert_uint_eq(closed.holds, 0);
    ck_assert_int_eq(server_ask_int(server, "EXISTS %s", key_of(client, key)), 0);
    hf_client_free(client);
}
END_TEST

/* A client of each kind of lock, and one that waits in the queue of a fair lock. */
START_TEST(each_kind_has_a_label)
{
    struct hf_client *client = labelled(30000, LABEL, 3);
    struct hf_lock *lock = lock_of_kind(client, lock_kinds[_i], NAME);
    char label[HF_LABEL_MAX + 1];
    struct hf_lock_info info;

    acquire(lock, 1);
    await_label(client, LABEL);
    ck_assert_ok(hf_lock_inspect(lock, &info, NULL));
    ck_assert_ok(hf_label_read(client, info.holder, info.holder_len, label, NULL));
    ck_assert_str_eq(label, LABEL);
    hf_client_free(client);
}
END_TEST

START_TEST(a_place_in_a_queue_has_a_label)
{
    struct hf_client *client = labelled(30000, LABEL, 3);
    struct hf_lock *lock = lock_of_kind(client, HF_KIND_FAIR, NAME);
    struct hf_acquire_options o = acquire_options(1);
    struct call call;

    ck_assert_str_eq(lua_acquire(server, NAME, strlen(NAME), LUA_HOLDER, 60000), "(nil)");
    call_acquire(&call, lock, &o);
    await_label(client, LABEL);
    hf_client_free(client);
    ck_assert_status(call_await(&call), HF_E_CLOSED);
}
END_TEST

START_TEST(without_a_label_nothing_is_stored)
{
    struct hf_client *client = labelled(30000, _i ? "" : NULL, 3);
    struct hf_lock *lock = lock_of(client, NAME);

    acquire(lock, 1);
    local_rest_us((AFTER_MS + A_MOMENT_MS) * 1000);
    ck_assert(!is_stored(client));
    hf_client_free(client);
}
END_TEST

/* A server that is away is asked again. */
START_TEST(a_server_that_was_away_gets_the_label)
{
    struct hf_client *client = labelled(STEADY_WATCHDOG_MS, LABEL, 3);
    struct hf_lock *lock = lock_of(client, NAME);

    acquire_for(lock, 1, 3600000);
    server_kill_connections(server);
    await_label(client, LABEL);
    hf_client_free(client);
}
END_TEST

/* ---- rights ---- */

#define USER "ACL SETUSER app on >PASSWORD ~* &* +@all -set -get"

/* LABEL-4: nothing else fails, and the server's log has one entry of each. */
START_TEST(a_client_without_the_right_has_no_label)
{
    struct hf_client_options o;
    struct hf_acquire_options wish = acquire_options(2);
    char url[SERVER_URL_MAX], label[HF_LABEL_MAX + 1];
    struct hf_client *client;
    struct hf_lock *lock;
    struct hf_error err;

    if (strstr(server_ask(server, USER), "(error)"))
        return; /* before 7, "&*" */
    client_options(&o, url, server_port(server));
    o.user = "app";
    o.password = "PASSWORD";
    o.watchdog_ms = 1500;
    o.label = LABEL;
    client = client_with(&o);
    lock = lock_of(client, NAME);
    (void)server_ask(server, "CONFIG RESETSTAT");
    acquire(lock, 1);
    wish.wait_ms = AFTER_MS + 1500;
    ck_assert_status(hf_lock_acquire(lock, &wish, &err), HF_TIMEOUT);
    ck_assert_ptr_nonnull(strstr(err.text, hf_client_uuid(client)));
    ck_assert_ptr_null(strstr(err.text, "("));
    for (int i = 0; i < 4; i++)
        await_next_renewal(client);
    ck_assert_int_eq(calls_of("set"), 1);
    ck_assert_int_eq(calls_of("get"), 1);
    ck_assert_status(hf_label_read(client, hf_client_uuid(client), 36, label, &err), HF_OK);
    ck_assert_str_eq(label, "");
    release(lock, 1);
    ck_assert_ok(hf_client_close(client, LONG_MS, NULL, &err));
    hf_client_free(client);
}
END_TEST

/* ---- what is read ---- */

#define OWNER "6e3814a1-e847-452b-a982-45baf93a1df2:1"

static struct hf_client *reader;

static void start_with_reader(void)
{
    start_server();
    reader = labelled(30000, NULL, 3);
}

static void stop_with_reader(void)
{
    hf_client_free(reader);
    stop_server();
}

static const struct {
    const char *name, *command, *owner, *label;
    hf_status status;
} stored[] = {
    {"none", "PING", OWNER, "", HF_OK},
    {"a label", "SET " PREFIX "6e3814a1-e847-452b-a982-45baf93a1df2 web3", OWNER, "web3", HF_OK},
    {"of a writer", "SET " PREFIX "6e3814a1-e847-452b-a982-45baf93a1df2 web3", OWNER ":write",
     "web3", HF_OK},
    {"a terminal's commands", "EVAL %s 0", OWNER, " [2J?x??? ", HF_OK},
    {"another type", "LPUSH " PREFIX "6e3814a1-e847-452b-a982-45baf93a1df2 web3", OWNER, "",
     HF_E_SERVER},
    {"a value of redis-py", "PING", "f00dcafe", "", HF_OK},
    {"an empty owner", "PING", "", "", HF_OK},
};

START_TEST(any_key_is_read_safely)
{
    char label[HF_LABEL_MAX + 1] = "x";
    struct hf_error err = {.status = HF_E_INVAL};
    struct call call;

    (void)server_ask(server, stored[_i].command,
                     "return redis.call('set', '" PREFIX
                     "6e3814a1-e847-452b-a982-45baf93a1df2', '\\27[2J\\255x\\226\\128\\174\\0')");
    ck_assert_status(hf_label_read(reader, stored[_i].owner, strlen(stored[_i].owner), label,
                                   &err), stored[_i].status);
    ck_assert_str_eq(label, stored[_i].label);
    ck_assert_int_eq(err.status, stored[_i].status);
    call_init(&call);
    ck_assert_ok(hf_label_read_async(reader, stored[_i].owner, strlen(stored[_i].owner), label,
                                     call_done, &call));
    ck_assert_status(call_await(&call), stored[_i].status);
    ck_assert_str_eq(label, stored[_i].label);
}
END_TEST

/* Not within a character. */
START_TEST(a_long_text_is_cut)
{
    char label[HF_LABEL_MAX + 1];

    (void)server_ask(server, "EVAL %s 0", "return redis.call('set', '" PREFIX
                     "6e3814a1-e847-452b-a982-45baf93a1df2', 'x' .. string.rep('\xc3\xbc', 70))");
    ck_assert_ok(hf_label_read(reader, OWNER, strlen(OWNER), label, NULL));
    ck_assert_uint_eq(strlen(label), HF_LABEL_MAX - 1);
}
END_TEST

START_TEST(a_label_is_extended_and_removed)
{
    struct hf_client *client = labelled(30000, LABEL, 3);
    struct hf_lock *lock = lock_of(client, NAME);
    char owner[HF_OWNER_TEXT_MAX], key[64];
    size_t len;

    acquire_for(lock, 1, 60000);
    len = strlen(hf_lock_owner_text(lock, 1, owner));
    (void)key_of(client, key);
    ck_assert_ok(hf_client_close(client, LONG_MS, NULL, NULL));
    hf_client_free(client);
    ck_assert_ok(hf_label_extend(reader, owner, len, 1000, NULL)); /* it has more */
    ck_assert_int_gt(server_ask_int(server, "PTTL %s", key), 30000);
    ck_assert_ok(hf_label_extend(reader, owner, len, 3600000, NULL));
    ck_assert_int_gt(server_ask_int(server, "PTTL %s", key), 3500000);
    ck_assert_ok(hf_label_remove(reader, owner, len, NULL));
    ck_assert_int_eq(server_ask_int(server, "EXISTS %s", key), 0);
    ck_assert_ok(hf_label_extend(reader, owner, len, 1000, NULL));
    ck_assert_int_eq(server_ask_int(server, "EXISTS %s", key), 0);
    ck_assert_status(hf_label_extend(reader, owner, len, 0, NULL), HF_E_INVAL);
}
END_TEST

/* A server that does not reply: the call ends with the client, once. */
START_TEST(the_client_ends_before_the_reply)
{
    char label[HF_LABEL_MAX + 1];
    struct call call;

    ck_assert_ok(hf_client_connect(reader, NULL));
    server_pause(server);
    call_init(&call);
    ck_assert_ok(hf_label_read_async(reader, OWNER, strlen(OWNER), label, call_done, &call));
    if (_i)
        (void)hf_client_close(reader, 0, NULL, NULL);
    else
        hf_client_free(reader);
    ck_assert_status(call_await(&call), HF_E_CLOSED);
    if (_i)
        ck_assert_status(hf_label_read(reader, OWNER, strlen(OWNER), label, NULL), HF_E_CLOSED);
    if (_i)
        hf_client_free(reader);
    reader = NULL;
    server_resume(server);
}
END_TEST

/* The data of a replica that lost its master, and does not serve older data: MASTERDOWN. */
START_TEST(a_temporary_refusal_is_said_to_be_one)
{
    char label[HF_LABEL_MAX + 1];
    struct hf_error err;

    ck_assert_ok(hf_client_connect(reader, NULL));
    (void)server_ask(server, "CONFIG SET replica-serve-stale-data no");
    (void)server_ask(server, "REPLICAOF 127.0.0.1 1");
    ck_assert_status(hf_label_read(reader, OWNER, strlen(OWNER), label, &err), HF_E_SERVER);
    ck_assert_ptr_nonnull(strstr(err.text, ": MASTERDOWN Link with MASTER is down"));
    ck_assert(err.is_temporary);
    (void)server_ask(server, "REPLICAOF NO ONE");
    (void)server_ask(server, "LPUSH " PREFIX "6e3814a1-e847-452b-a982-45baf93a1df2 web3");
    ck_assert_status(hf_label_read(reader, OWNER, strlen(OWNER), label, &err), HF_E_SERVER);
    ck_assert(!err.is_temporary);
}
END_TEST

/* Together with other calls, whose limit it shares. */
START_TEST(too_many_reads_are_refused)
{
    struct hf_client_options o;
    char url[SERVER_URL_MAX], labels[4][HF_LABEL_MAX + 1];
    struct hf_acquire_options ao = acquire_options(1);
    struct hf_client *client;
    struct call calls[3];
    struct hf_error err;
    struct hf_lock *lock;

    client_options(&o, url, server_port(server));
    o.waiters_max = 3;
    client = client_with(&o);
    lock = lock_of(client, NAME);
    ck_assert_ok(hf_client_connect(client, NULL));
    server_pause(server);
    call_acquire(&calls[0], lock, &ao);
    for (int i = 1; i < 3; i++) {
        call_init(&calls[i]);
        ck_assert_ok(hf_label_read_async(client, OWNER, strlen(OWNER), labels[i], call_done,
                                         &calls[i]));
    }
    ck_assert_status(hf_label_read_async(client, OWNER, strlen(OWNER), labels[3], call_done,
                                         NULL), HF_E_LIMIT);
    ck_assert_status(hf_label_read(client, OWNER, strlen(OWNER), labels[3], &err), HF_E_LIMIT);
    ck_assert_ptr_nonnull(strstr(err.text, "too many calls are under way: waiters_max is 3"));
    ck_assert_status(hf_lock_acquire_async(lock, &ao, call_done, NULL), HF_E_LIMIT);
    server_resume(server);
    for (int i = 0; i < 3; i++)
        ck_assert_ok(call_await(&calls[i]));
    ck_assert_ok(hf_label_read(client, OWNER, strlen(OWNER), labels[3], &err));
    hf_client_free(client);
}
END_TEST

/* ---- what a timed-out call says ---- */

/* Both callers, the first in the queue and the one that sends no request, name the holder. */
START_TEST(a_timed_out_call_names_the_holder_and_its_label)
{
    struct hf_client *client = labelled(30000, LABEL, protocols[_i]);
    struct hf_client *other = labelled(30000, "other", protocols[_i]);
    struct hf_lock *lock = lock_of(client, NAME), *wanted = lock_of(other, NAME);
    struct hf_acquire_options o = acquire_options(2);
    struct call calls[2];
    struct hf_error err;

    acquire(lock, 1);
    await_label(client, LABEL);
    o.wait_ms = AFTER_MS + 1500;
    call_acquire(&calls[0], wanted, &o);
    o.owner = 3;
    call_acquire(&calls[1], wanted, &o);
    for (int i = 0; i < 2; i++) {
        ck_assert_status(call_await(&calls[i]), HF_TIMEOUT);
        ck_assert_ptr_nonnull(strstr(calls[i].error.text, hf_client_uuid(client)));
        ck_assert_ptr_nonnull(strstr(calls[i].error.text, "(" LABEL ")"));
    }
    ck_assert_status(try_acquire(wanted, 4, &err), HF_TIMEOUT); /* known by now */
    ck_assert_ptr_nonnull(strstr(err.text, " (" LABEL ") for another "));
    hf_client_free(other);
    hf_client_free(client);
}
END_TEST

START_TEST(a_client_without_a_label_reads_none)
{
    struct hf_acquire_options o = acquire_options(2);
    struct hf_lock *lock = lock_of(reader, NAME);
    struct hf_error err;

    ck_assert_str_eq(lua_acquire(server, NAME, strlen(NAME), LUA_HOLDER, 60000), "(nil)");
    (void)server_ask(server, "CONFIG RESETSTAT");
    o.wait_ms = AFTER_MS + A_MOMENT_MS;
    ck_assert_status(hf_lock_acquire(lock, &o, &err), HF_TIMEOUT);
    ck_assert_ptr_nonnull(strstr(err.text, "timed out waiting for the lock, held by " LUA_HOLDER));
    ck_assert_int_eq(calls_of("get"), 0);
}
END_TEST

START_TEST(a_holder_of_redisson_has_no_label)
{
    struct hf_client *client = labelled(30000, LABEL, 3);
    struct hf_acquire_options o = acquire_options(2);
    struct hf_lock *lock = lock_of(client, NAME);
    struct hf_error err;

    ck_assert_str_eq(lua_acquire(server, NAME, strlen(NAME), LUA_HOLDER, 60000), "(nil)");
    o.wait_ms = AFTER_MS + 1500;
    ck_assert_status(hf_lock_acquire(lock, &o, &err), HF_TIMEOUT);
    ck_assert_ptr_nonnull(strstr(err.text, "held by " LUA_HOLDER));
    ck_assert_ptr_null(strstr(err.text, "("));
    ck_assert_str_eq(lua_release(server, NAME, strlen(NAME), LUA_HOLDER, 30000), "1");
    hf_client_free(client);
}
END_TEST

/* ---- options ---- */

static const struct {
    const char *text, *said;    /* said NULL: it is accepted */
} texts[] = {
    {LABEL, NULL},
    {"a\tb", "without control characters"},
    {"\xff", "without control characters"},
    {"\xe2\x80\xae" "abc", "without control characters"}, /* it would reverse the line */
};

START_TEST(a_label_is_a_line_of_text)
{
    struct hf_client_options o;
    struct hf_client *client = NULL;
    char url[SERVER_URL_MAX], label[2 * HF_LABEL_MAX];
    struct hf_error err;

    client_options(&o, url, server_port(server));
    o.label = texts[_i].text;
    ck_assert_int_eq(hf_client_new(&client, &o, &err), texts[_i].said ? HF_E_INVAL : HF_OK);
    ck_assert(!texts[_i].said || strstr(err.text, texts[_i].said));
    hf_client_free(client);
    o.label = label;
    memset(label, 'x', sizeof label);
    label[HF_LABEL_MAX + 1] = '\0';
    ck_assert_status(hf_client_new(&client, &o, &err), HF_E_INVAL);
    label[HF_LABEL_MAX] = '\0';
    ck_assert_ok(hf_client_new(&client, &o, &err));
    hf_client_free(client);
}
END_TEST

/* By name, in a URL, and by a member, which takes precedence. */
START_TEST(each_way_to_set_it)
{
    static const char *const labels[] = {"by name", "of the URL", "member"};
    struct hf_client_options o;
    struct hf_client *client;
    char url[SERVER_URL_MAX + 64];

    client_options(&o, url, server_port(server));
    if (_i >= 1)
        (void)strcat(url, "?label=of%20the%20URL");
    if (_i == 0)
        ck_assert_ok(hf_client_options_set(&o, "label", "by name", NULL));
    if (_i == 2)
        o.label = "member";
    client = client_with(&o);
    acquire(lock_of(client, NAME), 1);
    await_label(client, labels[_i]);
    hf_client_free(client);
}
END_TEST

static void add_cases(Suite *s)
{
    TCase *c = live_case(s, "own", start_server, stop_server);

    tcase_add_loop_test(c, a_held_lock_has_a_label, 0, COUNT(protocols));
    tcase_add_test(c, short_holds_cost_no_request);
    tcase_add_test(c, the_label_stays_as_long_as_the_hold);
    tcase_add_test(c, the_label_outlives_a_long_lease);
    tcase_add_test(c, a_hold_that_stays_leaves_its_label);
    tcase_add_test(c, a_release_that_the_close_awaits_takes_the_label_away);
    tcase_add_loop_test(c, each_kind_has_a_label, 0, COUNT(lock_kinds));
    tcase_add_test(c, a_place_in_a_queue_has_a_label);
    tcase_add_loop_test(c, without_a_label_nothing_is_stored, 0, 2);
    tcase_add_test(c, a_server_that_was_away_gets_the_label);
    tcase_add_test(c, a_client_without_the_right_has_no_label);
    tcase_add_loop_test(c, a_label_is_a_line_of_text, 0, COUNT(texts));
    tcase_add_loop_test(c, each_way_to_set_it, 0, 3);
    c = live_case(s, "read", start_with_reader, stop_with_reader);
    tcase_add_loop_test(c, any_key_is_read_safely, 0, COUNT(stored));
    tcase_add_test(c, a_long_text_is_cut);
    tcase_add_test(c, a_label_is_extended_and_removed);
    tcase_add_test(c, a_temporary_refusal_is_said_to_be_one);
    tcase_add_test(c, too_many_reads_are_refused);
    tcase_add_loop_test(c, the_client_ends_before_the_reply, 0, 2);
    tcase_add_loop_test(c, a_timed_out_call_names_the_holder_and_its_label, 0, COUNT(protocols));
    tcase_add_test(c, a_client_without_a_label_reads_none);
    tcase_add_test(c, a_holder_of_redisson_has_no_label);
}

int main(void)
{
    return live_main("labels", add_cases);
}
