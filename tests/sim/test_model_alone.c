/* The model of a server by itself: what no comparison with a real server can
 * show, because it needs a clock that is set, or faults. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/model/model.h"
#include "tests/support/suite.h"

#define START_US INT64_C(1700000000000000)
#define MS INT64_C(1000)

static struct model *m;
static int64_t now_us;

/* What one connection has heard. */
static struct heard {
    char text[4096];
    size_t n;
    bool is_closed;
} first, second;

static void on_write(void *ctx, const char *bytes, size_t len)
{
    struct heard *h = ctx;

    ck_assert_uint_lt(h->n + len, sizeof h->text);
    memcpy(h->text + h->n, bytes, len);
    h->n += len;
    h->text[h->n] = '\0';
}

static void on_close(void *ctx)
{
    ((struct heard *)ctx)->is_closed = true;
}

static struct model_client *join(struct heard *h)
{
    *h = (struct heard){.n = 0};
    return model_accept(m, on_write, on_close, h);
}

static void setup(void)
{
    m = model_new(&(struct model_options){.version = MODEL_REDIS_7_0});
    now_us = START_US;
    model_set_time(m, now_us);
}

static void teardown(void)
{
    model_free(m);
}

/* Lets `ms` pass, with all that the server does meanwhile. */
static void pass(int64_t ms)
{
    int64_t end = now_us + ms * MS;

    while (model_next_us(m) <= end) {
        now_us = model_next_us(m);
        model_set_time(m, now_us);
        model_tick(m);
    }
    now_us = end;
    model_set_time(m, now_us);
}

/* One inline command, and what it answers. */
static const char *ask(struct model_client *c, struct heard *h,
                       const char *command)
{
    h->n = 0;
    h->text[0] = '\0';
    model_feed(c, command, strlen(command));
    model_feed(c, "\r\n", 2);
    return h->text;
}

START_TEST(requests_are_executed_wherever_the_bytes_are_cut)
{
    static const char request[] =
        "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$4\r\nx\r\ny\r\n*2\r\n$3\r\nGET\r\n"
        "$1\r\na\r\n";

    for (size_t cut = 0; cut < sizeof request; cut++) {
        struct model_client *c = join(&first);

        model_feed(c, request, cut);
        model_feed(c, request + cut, sizeof request - 1 - cut);
        ck_assert_str_eq(first.text, "+OK\r\n$4\r\nx\r\ny\r\n");
        model_hang_up(c);
    }
}
END_TEST

static int changes, expiries;

static void on_change(void *ctx, struct model *of,
                      const struct model_change *change)
{
    (void)ctx;
    ck_assert_ptr_eq(of, m);
    changes++;
    expiries += change->cause == MODEL_BY_EXPIRY;
}

START_TEST(key_expires_by_itself_and_the_observer_is_notified)
{
    struct model_observer observer = {.on_change = on_change};
    struct model_client *c = join(&first);
    struct model_key key;

    changes = expiries = 0;
    model_observe(m, &observer);
    (void)ask(c, &first, "SET a 1 PX 1000");
    ck_assert_int_eq(changes, 1);
    pass(1000);
    ck_assert_str_eq(ask(c, &first, "PTTL a"), ":0\r\n");
    pass(200);
    ck_assert_int_eq(expiries, 1);
    ck_assert(!model_look(m, 0, "a", 1, &key));
    ck_assert_int_eq(model_next_us(m), INT64_MAX);
}
END_TEST

/* One look does not delete; a command does. */
START_TEST(expired_key_is_absent_before_it_is_deleted)
{
    struct model_client *c = join(&first);
    struct model_key key;

    (void)ask(c, &first, "SET a 1 PX 10");
    now_us += 11 * MS;
    model_set_time(m, now_us);
    ck_assert(model_look(m, 0, "a", 1, &key));
    ck_assert(key.is_expired);
    ck_assert_str_eq(ask(c, &first, "EXISTS a"), ":0\r\n");
    ck_assert(!model_look(m, 0, "a", 1, &key));
}
END_TEST

START_TEST(message_reaches_subscribers_in_their_own_protocol)
{
    struct model_client *a = join(&first), *b = join(&second);

    (void)ask(a, &first, "HELLO 3");
    ck_assert_str_eq(ask(a, &first, "SUBSCRIBE ch"),
                     ">3\r\n$9\r\nsubscribe\r\n$2\r\nch\r\n:1\r\n");
    (void)ask(a, &first, "PING");
    ck_assert_str_eq(ask(b, &second, "PUBLISH ch 0"), ":1\r\n");
    ck_assert_str_eq(first.text, "+PONG\r\n>3\r\n$7\r\nmessage\r\n$2\r\nch\r\n"
                                 "$1\r\n0\r\n");
    model_hang_up(a);
    ck_assert_str_eq(ask(b, &second, "PUBLISH ch 0"), ":0\r\n");
}
END_TEST

START_TEST(frozen_server_executes_requests_of_closed_connections)
{
    struct model_client *a = join(&first), *b = join(&second);

    model_freeze(m);
    ck_assert_str_eq(ask(a, &first, "SET a 1 PX 50"), "");
    model_hang_up(a);
    (void)ask(b, &second, "SET b 1");
    model_reset(b);
    ck_assert_int_eq(model_next_us(m), INT64_MAX);
    pass(1000);
    model_continue(m);
    b = join(&second);
    ck_assert_str_eq(ask(b, &second, "PTTL a"), ":50\r\n");
    ck_assert_str_eq(ask(b, &second, "EXISTS b"), ":0\r\n");
    ck_assert_uint_eq(first.n, 0);
}
END_TEST

START_TEST(client_that_is_killed_is_closed)
{
    struct model_client *a = join(&first), *b = join(&second);

    (void)ask(a, &first, "CLIENT ID");
    ck_assert_str_eq(first.text, ":1\r\n");
    ck_assert_str_eq(ask(b, &second, "CLIENT KILL ID 1"), ":1\r\n");
    ck_assert(first.is_closed);
    ck_assert(!second.is_closed);
}
END_TEST

START_TEST(restart_closes_all_and_forgets_scripts_and_perhaps_data)
{
    struct model_client *c = join(&first);

    (void)ask(c, &first, "SCRIPT LOAD return(1)");
    (void)ask(c, &first, "SET a 1");
    model_restart(m, _i == 0);
    ck_assert(first.is_closed);
    c = join(&first);
    ck_assert_str_eq(ask(c, &first, "EXISTS a"), _i == 0 ? ":1\r\n" : ":0\r\n");
    ck_assert_str_eq(
        ask(c, &first, "EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0"),
        "-NOSCRIPT No matching script. Please use EVAL.\r\n");
}
END_TEST

START_TEST(loading_server_answers_commands_without_data)
{
    struct model_client *c = join(&first);

    model_set_loading(m, true);
    ck_assert_str_eq(ask(c, &first, "GET a"),
                     "-LOADING Redis is loading the dataset in memory\r\n");
    ck_assert_str_eq(ask(c, &first, "CLIENT ID"), ":1\r\n");
    model_set_loading(m, false);
    ck_assert_str_eq(ask(c, &first, "GET a"), "$-1\r\n");
}
END_TEST

START_TEST(permission_that_is_taken_away_is_missed_at_the_next_command)
{
    struct model_client *c = join(&first);

    ck_assert(model_acl(m, "SETUSER app on >pw ~* &* +@all"));
    ck_assert_str_eq(ask(c, &first, "AUTH app pw"), "+OK\r\n");
    ck_assert_str_eq(ask(c, &first, "GET a"), "$-1\r\n");
    ck_assert(model_acl(m, "SETUSER app -get"));
    ck_assert_int_eq(strncmp(ask(c, &first, "GET a"), "-NOPERM", 7), 0);
    ck_assert(!model_acl(m, "SETUSER app nonsense"));
    ck_assert(model_acl(m, "DELUSER app"));
    ck_assert(first.is_closed);
}
END_TEST

START_TEST(paused_server_answers_when_the_pause_is_over)
{
    struct model_client *a = join(&first), *b = join(&second);

    (void)ask(a, &first, "CLIENT PAUSE 100");
    ck_assert_str_eq(ask(b, &second, "PING"), "");
    pass(99);
    ck_assert_str_eq(second.text, "");
    pass(1);
    ck_assert_str_eq(second.text, "+PONG\r\n");
}
END_TEST

/* "42" of "*2\r\n$2\r\n42\r\n*..." */
static unsigned long long cursor_of(const char *reply)
{
    return strtoull(strchr(strchr(reply, '$'), '\n') + 1, NULL, 10);
}

static int lines_of(const char *text)
{
    int n = 0;

    for (; (text = strchr(text, '\n')); text++)
        n++;
    return n;
}

/* Each element of the reply has two lines, and its fields two elements; array,
 * cursor and array have four. */
START_TEST(large_hash_is_scanned_in_parts_that_make_the_whole)
{
    struct model_client *c = join(&first);
    unsigned long long cursor = 0;
    char command[64];
    int fields = 0, parts = 0;

    for (int i = 0; i < 300; i++) {
        (void)sprintf(command, "HSET h field%d %d", i, i);
        (void)ask(c, &first, command);
    }
    do {
        (void)sprintf(command, "HSCAN h %llu COUNT 7", cursor);
        fields += (lines_of(ask(c, &first, command)) - 4) / 4;
        cursor = cursor_of(first.text);
        parts++;
    } while (cursor != 0);
    ck_assert_int_eq(fields, 300);
    ck_assert_int_gt(parts, 30);
}
END_TEST

/* ---- replication ---- */

static struct heard stream;

static void open_replica(struct model **replica, struct model_link **link)
{
    *replica = model_new(&(struct model_options){.version = MODEL_REDIS_7_0});
    model_set_time(*replica, now_us);
    stream.n = 0;
    *link = model_follow(*replica, m, on_write, &stream);
}

static bool replica_has(struct model *replica, const char *key)
{
    struct model_key found;

    return model_look(replica, 0, key, strlen(key), &found);
}

START_TEST(wait_ends_when_a_replica_acknowledges)
{
    struct model_client *c = join(&first);
    struct model *replica;
    struct model_link *link;

    open_replica(&replica, &link);
    (void)ask(c, &first, "SET a 1 PX 100000");
    ck_assert_str_eq(ask(c, &first, "WAIT 1 1000"), "");
    (void)ask(c, &first, "PING");
    ck_assert_uint_eq(first.n, 0);
    model_apply(replica, stream.text, stream.n);
    ck_assert(replica_has(replica, "a"));
    model_ack(link, model_offset(replica));
    ck_assert_str_eq(first.text, ":1\r\n+PONG\r\n");
    (void)ask(c, &first, "SET a 2");
    ck_assert_str_eq(ask(c, &first, "WAIT 1 1000"), "");
    pass(1000);
    ck_assert_str_eq(first.text, ":0\r\n");
    model_free(replica);
}
END_TEST

START_TEST(effects_of_a_script_reach_replicas_completely_or_not_at_all)
{
    static const char script[] = "redis.call('set', 'a', 1) "
                                 "redis.call('hset', 'b', 'x', 'y')";
    char text[200];
    size_t len = (size_t)sprintf(text,
                                 "*3\r\n$4\r\nEVAL\r\n$%zu\r\n%s\r\n"
                                 "$1\r\n0\r\n",
                                 sizeof script - 1, script);
    struct model_client *c = join(&first);
    struct model *replica;
    struct model_link *link;

    open_replica(&replica, &link);
    model_feed(c, text, len);
    for (size_t i = 0; i < stream.n; i++) {
        ck_assert(!replica_has(replica, "a"));
        ck_assert(!replica_has(replica, "b"));
        ck_assert_int_eq(model_offset(replica), 0);
        model_apply(replica, stream.text + i, 1);
    }
    ck_assert(replica_has(replica, "a"));
    ck_assert(replica_has(replica, "b"));
    ck_assert_int_eq(model_offset(replica), (int64_t)stream.n);
    model_free(replica);
}
END_TEST

START_TEST(replica_refuses_writes_until_it_is_promoted)
{
    struct model *master = m, *replica;
    struct model_link *link;
    struct model_client *c;

    open_replica(&replica, &link);
    m = replica;
    c = join(&first);
    ck_assert_str_eq(ask(c, &first, "SET a 1"),
                     "-READONLY You can't write against a read only replica."
                     "\r\n");
    model_promote(m);
    ck_assert_str_eq(ask(c, &first, "SET a 1"), "+OK\r\n");
    model_free(replica);
    m = master;
}
END_TEST

int main(void)
{
    Suite *s = suite_create("model_alone");
    TCase *t = tcase_create("model");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, requests_are_executed_wherever_the_bytes_are_cut);
    tcase_add_test(t, key_expires_by_itself_and_the_observer_is_notified);
    tcase_add_test(t, expired_key_is_absent_before_it_is_deleted);
    tcase_add_test(t, message_reaches_subscribers_in_their_own_protocol);
    tcase_add_test(t, frozen_server_executes_requests_of_closed_connections);
    tcase_add_test(t, client_that_is_killed_is_closed);
    tcase_add_loop_test(
        t, restart_closes_all_and_forgets_scripts_and_perhaps_data, 0, 2);
    tcase_add_test(t, loading_server_answers_commands_without_data);
    tcase_add_test(t,
                   permission_that_is_taken_away_is_missed_at_the_next_command);
    tcase_add_test(t, paused_server_answers_when_the_pause_is_over);
    tcase_add_test(t, large_hash_is_scanned_in_parts_that_make_the_whole);
    tcase_add_test(t, wait_ends_when_a_replica_acknowledges);
    tcase_add_test(t, effects_of_a_script_reach_replicas_completely_or_not_at_all);
    tcase_add_test(t, replica_refuses_writes_until_it_is_promoted);
    suite_add_tcase(s, t);
    return suite_run(s);
}
