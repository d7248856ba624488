/* A master and its replicas, without sentinels: scripted peers. Real servers:
 * tests/live/server/test_replicas.c. Rules: net/route/topology_replicas.c. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "net/base/address_map.h"
#include "net/route/lineage.h"
#include "net/route/discover.h"
#include "net/route/router.h"
#include "net/route/server.h"
#include "tests/support/lateness.h"
#include "tests/support/reply.h"
#include "tests/support/sentinel_kit.h"
#include "tests/support/suite.h"

#define NO_LINEAGE "-NOPERM no permissions to run the 'info' command\r\n"

/* ---- scripts ---- */

static void be_asked_for_role(struct fake *a, const char *info, const char *role)
{
    expect(a, "INFO replication");
    say(a, info);
    have_role(a, role);
}

static void be_a_replica(struct fake *a)
{
    be_asked_for_role(a, NO_LINEAGE, REPLICA);
}

static void be_the_master(struct fake *a)
{
    be_asked_for_role(a, NO_LINEAGE, MASTER);
}

static void start_replica(struct fake *a, int times)
{
    take_in(a);
    for (int i = 0; i < times; i++)
        be_a_replica(a);
    fake_start(a);
}

static void start_master(struct fake *a, const char *word)
{
    char reply[20], echo[20];

    (void)snprintf(reply, sizeof reply, "+%s\r\n", word);
    (void)snprintf(echo, sizeof echo, "ECHO %s", word);
    take_in(a);
    be_the_master(a);
    serve(a, echo, reply);
    fake_start(a);
}

static void open_among(int port, int second_port, int third_port)
{
    const int ports[] = {port, second_port, third_port};

    open_router_among(ports, 3, NULL);
}

/* ---- which host ---- */

START_TEST(the_host_that_is_the_master_is_used)
{
    int at[3];

    start_replica(&first, 1);
    start_replica(&second, 1);
    start_master(&one, "a");
    at[_i] = port_of(&one);
    at[(_i + 1) % 3] = port_of(&first);
    at[(_i + 2) % 3] = port_of(&second);
    open_router_among(at, 3, NULL);
    ask_and_get("a");
    must_tell_nothing();
    ck_assert_uint_eq(counts().refreshes, 1);
    close_router();
}
END_TEST

START_TEST(a_host_that_cannot_be_reached_delays_nothing)
{
    int dead = local_dead_port();

    start_master(&one, "a");
    open_among(_i ? dead : port_of(&one), _i ? port_of(&one) : dead, 0);
    ask_and_get("a");
    must_tell_nothing();
    ck_assert_uint_eq(counts().refreshes, 1);
    close_router();
}
END_TEST

/* REPLICAS-2: it might be another master. How often the others are asked meanwhile is not
 * fixed. The replica replies before the master, which is no trouble. */
START_TEST(a_silent_host_is_waited_for_briefly)
{
    struct question q;

    take_in(&first);
    expect(&first, "INFO replication");
    expect(&first, "ROLE");
    fake_start(&first);
    take_in(&one);
    add(&one, PEER_DO_HOLD, "");
    for (int i = 0; i < 12; i++)
        be_the_master(&one);
    fake_start(&one);
    start_replica(&other, 12);
    open_among(port_of(&first), port_of(&other), port_of(&one));
    ask(&q, "a", LONG_MS);
    drive_until_received(&other, 2);
    peer_go(one.peer);
    for (int64_t end_ms = 0; counts().maps == 0;)
        drive_on(&end_ms, "a master");
    ck_assert_uint_gt(counts().refreshes, 1);
    must_tell_nothing();
    close_router();
    peer_free(one.peer);
    peer_free(other.peer);
    one.peer = other.peer = NULL;
}
END_TEST

/* ---- two masters (REPLICAS-3) ---- */

#define INFO_OF(id, former)                                                          \
    "# Replication\r\nrole:master\r\nmaster_replid:" id "\r\nmaster_replid2:" former \
    "\r\nmaster_repl_offset:1\r\n"
#define UNKNOWN "0000000000000000000000000000000000000000"
#define OLD INFO_OF("aaaa", UNKNOWN)
#define NEW INFO_OF("bbbb", "aaaa")
#define FOREIGN INFO_OF("cccc", UNKNOWN)
#define RESTARTED INFO_OF("dddd", "aaaa")
#define MASTER_AT(offset) "*3\r\n$6\r\nmaster\r\n:" offset "\r\n*0\r\n"
#define MASTER_OF_ONE(offset)                                                        \
    "*3\r\n$6\r\nmaster\r\n:" offset                                                 \
    "\r\n*1\r\n*3\r\n$1\r\nh\r\n$1\r\n1\r\n$1\r\n0\r\n"

static const struct {
    const char *info[2], *role[2];
    int used;
    const char *said;
} pairs[] = {
    /* what was promoted later, although the old one has executed more */
    {{OLD, NEW}, {MASTER_OF_ONE("900"), MASTER_AT("100")}, 1, "offset 900"},
    {{NEW, OLD}, {MASTER_AT("100"), MASTER_OF_ONE("900")}, 0, "1 replica,"},
    /* the histories say nothing: the offset */
    {{OLD, FOREIGN}, {MASTER_AT("100"), MASTER_AT("101")}, 1, "0 replicas, offset 101"},
    {{FOREIGN, OLD}, {MASTER_OF_ONE("100"), MASTER_AT("101")}, 1, "offset 100"},
    {{NULL, NEW}, {MASTER_AT("9"), MASTER_AT("10")}, 1, "offset 9"},
    {{NULL, NULL}, {MASTER_AT("11"), MASTER_AT("2")}, 0, "offset 11"},
    /* then the replicas */
    {{NULL, NULL}, {MASTER_AT("5"), MASTER_OF_ONE("5")}, 1, "1 replica,"},
    /* then the URL */
    {{NULL, NULL}, {MASTER_AT("5"), MASTER_AT("5")}, 0, "REPLICAOF"},
    /* one server with two names */
    {{OLD, OLD}, {MASTER_AT("0"), MASTER_AT("0")}, 0, NULL},
};

static void say_info(struct fake *a, const char *info)
{
    char text[400] = "";

    expect(a, "INFO replication");
    if (info)
        put_bulk(text, sizeof text, info);
    say(a, info ? text : NO_LINEAGE);
}

START_TEST(of_two_masters_all_clients_use_the_same_one)
{
    struct fake *fakes[] = {&first, &second};
    struct fake *used = fakes[pairs[_i].used], *unused = fakes[1 - pairs[_i].used];
    char said[200];

    for (int i = 0; i < 2; i++) {
        take_in(fakes[i]);
        say_info(fakes[i], pairs[_i].info[i]);
        have_role(fakes[i], pairs[_i].role[i]);
    }
    serve(used, "ECHO a", "+a\r\n");
    fake_start(&first);
    fake_start(&second);
    open_among(port_of(&first), port_of(&second), 0);
    ask_and_get("a");
    if (!pairs[_i].said) {
        must_tell_nothing();
        close_router();
        return;
    }
    must_tell(HF_E_SERVER, pairs[_i].said);
    (void)snprintf(said, sizeof said, "two masters: 127.0.0.1:%d (", port_of(used));
    ck_assert_ptr_nonnull(strstr(trouble.text, said));
    (void)snprintf(said, sizeof said, "is used, and not 127.0.0.1:%d (", port_of(unused));
    ck_assert_ptr_nonnull(strstr(trouble.text, said));
    close_router();
}
END_TEST

/* REPLICAS-2: `first` was the master, and is silent. In row 0, `second` was promoted from its
 * replica, and is used in the first round that finds it. In row 1 it has another history. */
START_TEST(a_promoted_host_does_not_wait_for_its_silent_master)
{
    struct question q;

    take_in(&first);
    say_info(&first, OLD);
    have_role(&first, MASTER_AT("100"));
    serve(&first, "ECHO a", "+a\r\n");
    expect(&first, "ECHO b");
    expect(&first, "INFO replication");
    expect(&first, "ROLE");
    fake_start(&first);
    take_in(&second);
    say_info(&second, OLD);
    have_role(&second, REPLICA);
    for (int i = 0; i < (_i ? 12 : 1); i++) {
        say_info(&second, _i ? FOREIGN : NEW);
        have_role(&second, MASTER_AT("100"));
    }
    if (_i == 0)
        serve(&second, "ECHO c", "+c\r\n");
    fake_start(&second);
    open_among(port_of(&first), port_of(&second), 0);
    ask_and_get("a");
    ask(&q, "b", LONG_MS);
    for (int64_t end_ms = 0; counts().maps < 2;)
        drive_on(&end_ms, "another master");
    if (_i == 0)
        ask_and_get("c");
    else
        ck_assert_uint_gt(counts().refreshes, 3);
    close_router();
    if (_i)
        peer_free(second.peer);
    if (_i)
        second.peer = NULL;
}
END_TEST

#define LOADING "-LOADING Redis is loading the dataset\r\n"

/* What the old master replies when `second` replies, and later. */
static const struct {
    const char *info[2], *role[2];
} replaced[] = {
    {{OLD, OLD}, {MASTER_AT("900"), MASTER_AT("900")}},
    {{RESTARTED, RESTARTED}, {MASTER_AT("90"), MASTER_AT("90")}},
    /* its history was not stored; then a replica connects to it */
    {{FOREIGN, FOREIGN}, {MASTER_AT("90"), MASTER_AT("90")}},
    {{FOREIGN, INFO_OF("dddd", UNKNOWN)}, {MASTER_AT("90"), MASTER_AT("90")}},
    /* it restarts while `second` is silent */
    {{OLD, RESTARTED}, {LOADING, MASTER_AT("90")}},
};

/* REPLICAS-4: `second` was promoted and is loading, so `first` is not used. Then it is a
 * replica of that, which is used. */
START_TEST(a_replaced_master_is_used_only_if_its_successor_is_a_replica)
{
    take_in(&first);
    for (int i = 0; i < 3; i++) {
        say_info(&first, replaced[_i].info[i > 0]);
        have_role(&first, replaced[_i].role[i > 0]);
    }
    serve(&first, "ECHO b", "+b\r\n");
    fake_start(&first);
    take_in(&second);
    say_info(&second, NEW);
    have_role(&second, MASTER_AT("100"));
    serve(&second, "ECHO a", "+a\r\n");
    add(&second, PEER_DO_WAIT, "");
    add(&second, PEER_DO_CLOSE, "");
    take_in(&second);
    be_asked_for_role(&second, LOADING, LOADING);
    say_info(&second, OLD);
    have_role(&second, REPLICA);
    fake_start(&second);
    open_among(port_of(&first), port_of(&second), 0);
    ask_and_get("a");
    peer_go(second.peer);
    drive_until_received(&second, 5);
    ask_and_get("b");
    close_router();
}
END_TEST

/* ---- another master (REPLICAS-1) ---- */

static const char *const demotions[] = {
    "-READONLY You can't write against a read only replica.\r\n",
    "-MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.\r\n",
    ("-ERR Error running script (call to f_1): @user_script:4: @user_script: 4: -READONLY "
     "You can't write against a read only replica.\r\n"),
};

/* The first answer to the second question for roles is older than the promotion. */
START_TEST(a_demoted_master_is_left)
{
    take_in(&one);
    be_the_master(&one);
    serve(&one, "ECHO a", "+a\r\n");
    serve(&one, "ECHO b", demotions[_i]);
    be_a_replica(&one);
    be_a_replica(&one);
    fake_start(&one);
    take_in(&other);
    be_a_replica(&other);
    be_a_replica(&other);
    be_the_master(&other);
    serve(&other, "ECHO b", "+b\r\n");
    fake_start(&other);
    open_among(port_of(&one), port_of(&other), 0);
    ask_and_get("a");
    ask_and_get("b");
    ck_assert_uint_eq(counts().maps, 2);
    close_router();
}
END_TEST

START_TEST(a_lost_master_is_followed_by_a_promoted_replica)
{
    take_in(&one);
    be_the_master(&one);
    serve(&one, "ECHO a", "+a\r\n");
    add(&one, PEER_DO_WAIT, "");
    add(&one, PEER_DO_CLOSE, "");
    take_in(&one);
    be_asked_for_role(&one, NO_LINEAGE, LOADING);
    fake_start(&one);
    take_in(&other);
    be_a_replica(&other);
    be_the_master(&other);
    serve(&other, "ECHO b", "+b\r\n");
    fake_start(&other);
    open_among(port_of(&one), port_of(&other), 0);
    ask_and_get("a");
    peer_go(one.peer);
    drive_until_received(&other, 4);
    ask_and_get("b");
    close_router();
}
END_TEST

/* Its connection ended, and it is the master still. */
START_TEST(a_master_that_is_still_the_master_is_used_again)
{
    take_in(&one);
    be_the_master(&one);
    serve(&one, "ECHO a", "+a\r\n");
    add(&one, PEER_DO_WAIT, "");
    add(&one, PEER_DO_CLOSE, "");
    take_in(&one);
    be_the_master(&one);
    serve(&one, "ECHO b", "+b\r\n");
    fake_start(&one);
    start_replica(&other, 2);
    open_among(port_of(&other), port_of(&one), 0);
    ask_and_get("a");
    peer_go(one.peer);
    drive_until_received(&one, 5);
    ask_and_get("b");
    close_router();
}
END_TEST

/* ---- the connection for WAIT ---- */

/* An attempt to connect to the server failed, and the round has not ended. */
static bool has_failed(const struct hf_server *server)
{
    bool it_has;

    lock();
    it_has = server->never_retried_until != 0;
    unlock();
    return it_has;
}

/* The query of the role is pending at the main connection, which is open. */
START_TEST(a_failed_connection_for_wait_ends_no_query)
{
    struct hf_server *server;
    struct hf_link *wait_link;

    take_in(&one);
    be_the_master(&one);
    serve(&one, "ECHO a", "+a\r\n");
    expect(&one, "INFO replication");
    expect(&one, "ROLE");
    for (int i = 0; i < 2; i++) { /* the second handshake is another one (LINK-6) */
        add(&one, PEER_DO_ACCEPT, "");
        add(&one, PEER_DO_RESET, "");
    }
    add(&one, PEER_DO_WAIT, "");
    fake_start(&one);
    start_replica(&other, 12);
    open_among(port_of(&other), port_of(&one), 0);
    ask_and_get("a");
    lock();
    server = hf_server_find(router, "127.0.0.1", (uint16_t)port_of(&one), false);
    hf_discover_want(router, NULL);
    unlock();
    drive_until_received(&one, 5);
    lock();
    ck_assert_int_eq(hf_server_wait_link(&wait_link, server), HF_OK);
    hf_link_want(wait_link, true);
    unlock();
    for (int64_t end_ms = 0; !has_failed(server);)
        drive_on(&end_ms, "a failure of the connection for WAIT");
    lock();
    ck_assert(server->probe.is_under_way);
    unlock();
    must_tell_nothing();
    close_router();
    peer_go(one.peer);
    peer_free(one.peer);
    peer_free(other.peer);
    one.peer = other.peer = NULL;
}
END_TEST

/* ---- no master ---- */

static const struct {
    const char *role;
    const char *said;
    hf_status status;
} others[] = {
    {REPLICA, "is a replica of ", HF_E_CONNECT},
    {REPLICA, ", which is not in the URL", HF_E_CONNECT},
    {"*2\r\n$8\r\nsentinel\r\n*0\r\n", "is a sentinel (redis+sentinel://", HF_E_CONNECT},
    {"-NOPERM this user has no permissions\r\n", "ROLE: NOPERM this user", HF_E_CONNECT},
    {"-ERR unknown command 'ROLE'\r\n", "unknown command", HF_E_CONNECT},
    {LOADING, "ROLE: LOADING", HF_E_CONNECT},
    {"*0\r\n", "the reply has no role", HF_E_CONNECT},
};

/* Each host is named with its reply. */
START_TEST(replies_of_all_hosts_are_reported)
{
    struct question q;
    char said[100];
    int dead = local_dead_port();

    take_in(&first);
    be_asked_for_role(&first, NO_LINEAGE, others[_i].role);
    fake_start(&first);
    open_among(port_of(&first), dead, 0);
    ask(&q, "a", LONG_MS);
    must_tell(others[_i].status, others[_i].said);
    ck_assert_msg(strncmp(trouble.text, "found no master: ", 17) == 0, "%s", trouble.text);
    (void)snprintf(said, sizeof said, "127.0.0.1:%d", port_of(&first));
    ck_assert_ptr_nonnull(strstr(trouble.text, said));
    (void)snprintf(said, sizeof said, "127.0.0.1:%d: cannot connect", dead);
    ck_assert_ptr_nonnull(strstr(trouble.text, said));
    ck_assert(!q.is_done);
    close_router();
}
END_TEST

/* At once: nothing will change it. */
START_TEST(refusals_for_good_are_reported_at_once)
{
    struct question q;
    int64_t began_ms = local_now_ms();

    take_in(&first);
    be_asked_for_role(&first, NO_LINEAGE, "-NOPERM this user has no permissions\r\n");
    fake_start(&first);
    add(&second, PEER_DO_ACCEPT, "");
    expect(&second, "HELLO ...");
    say(&second, "-WRONGPASS invalid username-password pair\r\n");
    fake_start(&second);
    open_among(port_of(&first), port_of(&second), 0);
    ask(&q, "a", 2 * LONG_MS);
    must_fail(&q, HF_E_AUTH, "WRONGPASS");
    ck_assert_ptr_nonnull(strstr(q.answer, "NOPERM"));
    ck_assert_within(began_ms, LONG_MS);
    close_router();
}
END_TEST

START_TEST(a_wrong_password_at_all_hosts_has_its_status)
{
    struct fake *fakes[] = {&first, &second};
    struct question q;

    for (int i = 0; i < 2; i++) {
        add(fakes[i], PEER_DO_ACCEPT, "");
        expect(fakes[i], "HELLO ...");
        say(fakes[i], "-WRONGPASS invalid username-password pair\r\n");
        fake_start(fakes[i]);
    }
    open_among(port_of(&first), port_of(&second), 0);
    ask(&q, "a", 2 * LONG_MS);
    must_fail(&q, HF_E_AUTH, "WRONGPASS");
    close_router();
}
END_TEST

/* The other host is a replica, or is down. */
START_TEST(a_wrong_password_at_the_master_has_its_status)
{
    struct question q;

    add(&first, PEER_DO_ACCEPT, "");
    expect(&first, "HELLO ...");
    say(&first, "-WRONGPASS invalid username-password pair\r\n");
    fake_start(&first);
    if (_i == 0)
        start_replica(&second, 1);
    open_among(port_of(&first), _i == 0 ? port_of(&second) : local_dead_port(), 0);
    prepare_question(&q, "a", 2 * LONG_MS);
    q.command.is_never_retried = true;
    send_question(&q);
    must_fail(&q, HF_E_AUTH, "WRONGPASS");
    close_router();
}
END_TEST

START_TEST(a_command_that_is_sent_once_ends_with_the_first_round)
{
    struct question q;

    start_replica(&first, 12); /* if the machine stops, a later round is the first with a reply */
    open_among(port_of(&first), local_dead_port(), 0);
    prepare_question(&q, "a", 2 * LONG_MS); /* longer than must_fail waits */
    q.command.is_never_retried = true;
    send_question(&q);
    must_fail(&q, HF_E_CONNECT, "is a replica of ");
    close_router();
    peer_free(first.peer);
    first.peer = NULL;
}
END_TEST

/* REPLICAS-5: it is not connected. In row 1, the map leads to a host of the URL. */
START_TEST(a_master_that_is_not_in_the_url_is_reported)
{
    struct hf_address_map *map = _i ? hf_address_map_new() : NULL;
    static const char entry[] = "10.9.9.9=127.0.0.1";
    int dead = local_dead_port(), ports[2] = {0, dead};
    char role[200], said[100];
    struct question q;

    (void)snprintf(role, sizeof role,
                   "*5\r\n$5\r\nslave\r\n$8\r\n10.9.9.9\r\n:%d\r\n$9\r\nconnected\r\n"
                   ":1\r\n",
                   dead);
    take_in(&first);
    be_asked_for_role(&first, NO_LINEAGE, role);
    fake_start(&first);
    ports[0] = port_of(&first);
    if (map)
        ck_assert_ptr_null(
            hf_address_map_add(map, (struct hf_text){entry, strlen(entry)}));
    open_router_among(ports, 2, map);
    ask(&q, "a", LONG_MS);
    (void)snprintf(said, sizeof said, "is a replica of %s:%d%s",
                   _i ? "127.0.0.1" : "10.9.9.9", dead,
                   _i ? ";" : ", which is not in the URL;");
    must_tell(HF_E_CONNECT, said);
    ck_assert_uint_eq(counts().servers, 2);
    close_router();
}
END_TEST

/* ---- histories ---- */

START_TEST(ids_of_histories_are_read)
{
    static const struct {
        const char *notation, *id, *former;
    } rows[] = {
        {"'# Replication\r\nmaster_replid:aa\r\nmaster_replid2:bb\r\n'", "aa", "bb"},
        {"'master_replid:aa'", "aa", ""},
        {"'master_replid2:bb\r\nmaster_replid:aa'", "aa", "bb"},
        {"''", "", ""},
        {"!'NOPERM no'", "", ""},
        {"[]", "", ""},
        {"nil", "", ""},
        {"'master_replid:"
         "0123456789012345678901234567890123456789012345678901234567890123'", "", ""},
    };

    for (int i = 0; i < ROWS(rows); i++) {
        struct reply reply = reply_of(rows[i].notation, 3);
        struct hf_lineage out;

        memset(&out, 0x5a, sizeof out);
        hf_lineage_read(&out, reply.value);
        ck_assert_str_eq(out.id, rows[i].id);
        ck_assert_str_eq(out.former_id, rows[i].former);
        reply_fini(&reply);
    }
}
END_TEST

START_TEST(siblings_continue_one_history)
{
    static const struct {
        struct hf_lineage a, b;
        bool are;
    } rows[] = {
        {{"bb", "aa"}, {"dd", "aa"}, true},
        {{"bb", "aa"}, {"bb", "aa"}, false},    /* one server with two names */
        {{"bb", "aa"}, {"dd", "cc"}, false},
        {{"bb", "0000"}, {"dd", "0000"}, false},
        {{"bb", ""}, {"dd", ""}, false},
    };

    for (int i = 0; i < ROWS(rows); i++)
        ck_assert_int_eq(hf_lineage_are_siblings(&rows[i].a, &rows[i].b), rows[i].are);
}
END_TEST

static TCase *case_named(const char *name, void (*begin)(void))
{
    TCase *c = tcase_create(name);

    tcase_set_timeout(c, 60);
    tcase_add_checked_fixture(c, begin, tear_down);
    return c;
}

int main(void)
{
    Suite *s = suite_create("net/replicas");
    TCase *which = case_named("which host", set_up),
          *change = case_named("another master", set_up),
          *none = case_named("no master", set_up_slow);

    tcase_add_loop_test(which, the_host_that_is_the_master_is_used, 0, 3);
    tcase_add_loop_test(which, a_host_that_cannot_be_reached_delays_nothing, 0, 2);
    tcase_add_test(which, a_silent_host_is_waited_for_briefly);
    tcase_add_loop_test(which, of_two_masters_all_clients_use_the_same_one, 0, ROWS(pairs));
    tcase_add_loop_test(which, a_replaced_master_is_used_only_if_its_successor_is_a_replica,
                        0, ROWS(replaced));
    tcase_add_loop_test(which, a_promoted_host_does_not_wait_for_its_silent_master, 0, 2);
    tcase_add_test(which, siblings_continue_one_history);
    tcase_add_test(which, ids_of_histories_are_read);
    suite_add_tcase(s, which);
    tcase_add_loop_test(change, a_demoted_master_is_left, 0, ROWS(demotions));
    tcase_add_test(change, a_lost_master_is_followed_by_a_promoted_replica);
    tcase_add_test(change, a_master_that_is_still_the_master_is_used_again);
    tcase_add_test(change, a_failed_connection_for_wait_ends_no_query);
    suite_add_tcase(s, change);
    tcase_add_loop_test(none, replies_of_all_hosts_are_reported, 0, ROWS(others));
    tcase_add_test(none, refusals_for_good_are_reported_at_once);
    tcase_add_test(none, a_wrong_password_at_all_hosts_has_its_status);
    tcase_add_loop_test(none, a_wrong_password_at_the_master_has_its_status, 0, 2);
    tcase_add_test(none, a_command_that_is_sent_once_ends_with_the_first_round);
    tcase_add_loop_test(none, a_master_that_is_not_in_the_url_is_reported, 0, 2);
    suite_add_tcase(s, none);
    return suite_run(s);
}
