/* What sentinels say, and what it takes to be believed: scripted peers say what
 * real ones say seldom, late, or never. Real ones: tests/live/sentinel/test_sentinel.c.
 * Sources: faults S1 to S3, S14; SENTINEL "Guidelines for Redis clients". */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "net/route/router_inner.h"
#include "tests/support/lateness.h"
#include "tests/support/sentinel_kit.h"
#include "tests/support/suite.h"

#define A_MOMENT_MS 100         /* for what should not happen */

/* ---- what it takes to be believed (S2, S3) ---- */

START_TEST(a_server_with_the_role_of_a_master_is_the_master)
{
    take_in(&one);
    have_role(&one, MASTER);
    serve(&one, "ECHO a", "+a\r\n");
    fake_start(&one);
    take_in(&first);
    name_when_asked(&first, port_of(&one));
    fake_start(&first);
    open_router();
    ask_and_get("a");
    close_router();
}
END_TEST

/* It may have been promoted a moment later; though another sentinel is not
 * there, who might come yet. */
START_TEST(a_replica_is_queried_again)
{
    take_in(&one);
    have_role(&one, REPLICA);
    have_role(&one, MASTER);
    serve(&one, "ECHO a", "+a\r\n");
    fake_start(&one);
    take_in(&first);
    name_when_asked(&first, port_of(&one));
    name_when_asked(&first, port_of(&one));
    fake_start(&first);
    open_router_at(port_of(&first), _i ? local_dead_port() : 0, 3);
    ask_and_get("a");
    close_router();
}
END_TEST

static const struct {
    const char *reply;
    const char *said;
} no_masters[] = {
    {REPLICA, "it reports that it is not a master"},
    {"*2\r\n$8\r\nsentinel\r\n*0\r\n", "it reports that it is not a master"},
    {"*1\r\n$6\r\nmaster\r\n", "no role that is known"},
    {"*0\r\n", "the reply has no role"},
    {"+master\r\n", "the reply is not an array"},
    {"_\r\n", "the reply is not an array"},
    {"-NOPERM this user has no permissions\r\n", "ROLE: NOPERM"},
    {"-LOADING Redis is loading the dataset\r\n", "ROLE: LOADING"},
};

START_TEST(server_without_the_role_of_a_master_is_refused)
{
    struct question q;
    char where[80];

    take_in(&one);
    have_role(&one, no_masters[_i].reply);
    fake_start(&one);
    take_in(&first);
    name_when_asked(&first, port_of(&one));
    fake_start(&first);
    open_router();
    ask(&q, "a", LONG_MS);
    must_tell(HF_E_CONNECT, no_masters[_i].said);
    (void)snprintf(where, sizeof where,
                   "sentinel 127.0.0.1:%d names the master 127.0.0.1:%d: ",
                   port_of(&first), port_of(&one));
    ck_assert_msg(strncmp(trouble.text, where, strlen(where)) == 0, "%s",
                  trouble.text);
    ck_assert(!q.is_done);
    close_router();
}
END_TEST

static const struct {
    const char *reply;
    hf_status status;
    const char *said;
} no_names[] = {
    {"_\r\n", HF_E_INVAL, "the sentinels do not know 'main'"},
    {"*-1\r\n", HF_E_INVAL, "the sentinels do not know 'main'"},
    {"$-1\r\n", HF_E_INVAL, "the sentinels do not know 'main'"},
    {"*0\r\n", HF_E_PROTOCOL, "the reply is no address"},
    {"*2\r\n$9\r\n127.0.0.1\r\n$1\r\n0\r\n", HF_E_PROTOCOL, "no address"},
    {"*2\r\n$9\r\n127.0.0.1\r\n$5\r\n65536\r\n", HF_E_PROTOCOL, "no address"},
    {"*2\r\n$0\r\n\r\n$4\r\n6379\r\n", HF_E_PROTOCOL, "no address"},
    {"*2\r\n$4\r\na\r\nb\r\n$4\r\n6379\r\n", HF_E_PROTOCOL, "no address"},
    {"+127.0.0.1 6379\r\n", HF_E_PROTOCOL, "not an array"},
    {"-ERR unknown command 'SENTINEL'\r\n", HF_E_SERVER, "unknown command"},
    {"-NOPERM no permissions\r\n", HF_E_SERVER, "NOPERM"},
};

/* At once, since nothing will change it: long before the deadline. */
START_TEST(a_sentinel_that_names_no_master_is_reported)
{
    struct question q;
    int64_t began_ms = local_now_ms();

    take_in(&first);
    be_asked(&first, "*0\r\n");
    say(&first, no_names[_i].reply);
    fake_start(&first);
    open_router();
    ask(&q, "a", 2 * LONG_MS);
    must_fail(&q, no_names[_i].status, no_names[_i].said);
    ck_assert_within(began_ms, LONG_MS);
    close_router();
}
END_TEST

START_TEST(a_master_that_refuses_the_password_is_reported)
{
    struct question q;

    add(&one, PEER_DO_ACCEPT, "");
    expect(&one, "HELLO ...");
    say(&one, "-WRONGPASS invalid username-password pair\r\n");
    fake_start(&one);
    take_in(&first);
    name_when_asked(&first, port_of(&one));
    fake_start(&first);
    open_router();
    ask(&q, "a", 2 * LONG_MS);
    must_fail(&q, HF_E_AUTH, "WRONGPASS");
    close_router();
}
END_TEST

/* ---- whom to ask (S1) ---- */

/* A good one is found though the first says nothing, or names one that says
 * nothing. */
START_TEST(one_silent_sentinel_delays_nothing)
{
    take_in(&other);
    have_role(&other, MASTER);
    serve(&other, "ECHO a", "+a\r\n");
    fake_start(&other);
    take_in(&first);
    be_asked(&first, "*0\r\n");
    if (_i == 1) {
        take_in(&one);
        fake_start(&one);
        name_master(&first, port_of(&one));
    }
    fake_start(&first);
    take_in(&second);
    name_when_asked(&second, port_of(&other));
    fake_start(&second);
    open_router();
    ask_and_get("a");
    close_router();
}
END_TEST

/* DISCOVER-2: The second one helped: it alone is asked when the master is lost. */
START_TEST(last_useful_sentinel_is_queried_first)
{
    take_in(&one);
    have_role(&one, MASTER);
    serve(&one, "ECHO a", "+a\r\n");
    add(&one, PEER_DO_WAIT, "");
    add(&one, PEER_DO_CLOSE, "");
    take_in(&one);
    have_role(&one, MASTER);
    serve(&one, "ECHO b", "+b\r\n");
    fake_start(&one);
    take_in(&first);
    be_asked(&first, "*0\r\n");
    say(&first, "_\r\n");
    be_subscribed(&first);
    fake_start(&first);
    take_in(&second);
    name_when_asked(&second, port_of(&one));
    be_subscribed(&second);
    name_when_asked(&second, port_of(&one));
    fake_start(&second);
    open_router();
    ask_and_get("a");
    peer_go(one.peer);
    drive_until_received(&second, 5);
    ask_and_get("b");
    ck_assert_int_eq(questions[2], port_of(&second)); /* behind the first two */
    close_router();
}
END_TEST

/* What one says is worth more than that the other is not there. */
START_TEST(one_error_is_reported_for_all_sentinels)
{
    struct question q;

    take_in(&first);
    be_asked(&first, "*0\r\n");
    say(&first, "_\r\n");
    fake_start(&first);
    open_router_at(local_dead_port(), port_of(&first), 3);
    ask(&q, "a", LONG_MS);
    must_tell(HF_E_INVAL, "do not know");
    ck_assert(!q.is_done); /* the other might know */
    close_router();
}
END_TEST

/* DISCOVER-5: Nor does the other's end, in a later round, before that has heard
 * anything. */
START_TEST(error_of_a_sentinel_is_reported_until_it_changes)
{
    struct question patient, q;
    int port = local_dead_port();

    take_in(&first);
    for (int i = 0; i < 3; i++) {
        be_asked(&first, "*0\r\n");
        if (i < 2)
            say(&first, "_\r\n");
    }
    add(&first, PEER_DO_WAIT, "");
    fake_start(&first);
    probe_ms = 1500; /* the third question comes after 900 */
    open_router_at(port, port_of(&first), 3);
    ask(&patient, "a", LONG_MS);
    while (ended_port != port)
        hf_loop_dispatch(loop, 5);
    ask(&q, "b", A_MOMENT_MS);
    must_fail(&q, HF_E_INVAL, "do not know");
    peer_go(first.peer);
    close_router();
}
END_TEST

/* During the round whose error is "do not know". The round ends, and no other follows. */
static void withdraw(struct question *q)
{
    for (int64_t end_ms = 0; router->map_error.status != HF_E_INVAL;)
        drive_on(&end_ms, "an error");
    lock();
    (void)hf_router_cancel(&q->command);
    unlock();
    for (int64_t end_ms = 0; router->discovery.round.is_running ||
         router->discovery.was_followed_at_once;)
        drive_on(&end_ms, "the last round");
}

/* DISCOVER-5: But an error of an earlier wait is not the reason of a later delay. The
 * second sentinel is silent, so that the first round lasts. */
START_TEST(an_old_error_does_not_explain_a_later_delay)
{
    struct question q, patient;

    take_in(&first);
    be_asked(&first, "*0\r\n");
    say(&first, "_\r\n");
    add(&first, PEER_DO_WAIT, "");
    fake_start(&first);
    add(&second, PEER_DO_ACCEPT, "");
    add(&second, PEER_DO_WAIT, "");
    fake_start(&second);
    open_router();
    ask(&q, "a", LONG_MS);
    withdraw(&q);
    ask(&patient, "b", LONG_MS);
    for (int64_t end_ms = 0; !router->discovery.round.is_running;)
        drive_on(&end_ms, "another round");
    ask(&q, "c", A_MOMENT_MS);
    must_fail(&q, HF_E_CONNECT, "no reply in time");
    peer_go(first.peer);
    peer_go(second.peer);
    close_router();
}
END_TEST

/* DISCOVER-5: Nor that it does not let us in. */
START_TEST(one_refusal_is_reported_for_all_that_refuse)
{
    struct question q;

    take_in(&first);
    be_asked(&first, "*0\r\n");
    say(&first, "_\r\n");
    fake_start(&first);
    add(&second, PEER_DO_ACCEPT, "");
    expect(&second, "HELLO ...");
    say(&second, "-WRONGPASS invalid username-password pair\r\n");
    fake_start(&second);
    open_router();
    ask(&q, "a", 2 * LONG_MS);
    must_fail(&q, HF_E_INVAL, "do not know");
    close_router();
}
END_TEST

/* The round is not over: what keeps it is told. */
START_TEST(a_deadline_that_comes_early_is_explained)
{
    struct question patient, q;
    char where[80];

    take_in(&first);
    be_asked(&first, "*0\r\n");
    if (_i == 1) {
        take_in(&one);
        expect(&one, "ROLE");
        fake_start(&one);
        name_master(&first, port_of(&one));
    }
    fake_start(&first);
    open_router();
    ask(&patient, "b", LONG_MS);
    drive_until_received(_i ? &one : &first, _i ? 1 : 2);
    ask(&q, "a", A_MOMENT_MS);
    must_fail(&q, HF_E_CONNECT, "no reply in time");
    (void)snprintf(where, sizeof where, "127.0.0.1:%d: no reply in time",
                   port_of(_i ? &one : &first));
    ck_assert_ptr_nonnull(strstr(q.answer, where));
    close_router();
}
END_TEST

/* Row 0: no sentinel is there. Row 1: the master that one names is not. */
START_TEST(a_command_that_is_sent_once_ends_with_the_first_round)
{
    int dead = local_dead_port();
    struct question q;
    char said[160];

    (void)snprintf(said, sizeof said, "127.0.0.1:%d: cannot connect", dead);
    if (_i == 1) {
        take_in(&first);
        name_when_asked(&first, dead);
        fake_start(&first);
        (void)snprintf(said, sizeof said,
                       "sentinel 127.0.0.1:%d names the master 127.0.0.1:%d: "
                       "cannot connect: Connection refused",
                       port_of(&first), dead);
    }
    open_router_at(_i ? port_of(&first) : local_dead_port(), dead, 3);
    prepare_question(&q, "a", 2 * LONG_MS); /* longer than must_fail waits */
    q.command.is_never_retried = true;
    send_question(&q);
    must_fail(&q, HF_E_CONNECT, said);
    close_router();
}
END_TEST

/* ---- how many (S14) ---- */

static void list_of(char *dst, size_t room, int count, int port)
{
    int len = snprintf(dst, room, "*%d\r\n", count);

    for (int i = 0; i < count; i++)
        len += snprintf(dst + len, room - (size_t)len,
                        "*4\r\n$2\r\nip\r\n$9\r\n127.0.0.1\r\n"
                        "$4\r\nport\r\n$5\r\n%d\r\n",
                        port + i);
}

/* More than there is room for. */
START_TEST(the_number_of_queried_sentinels_is_limited)
{
    char list[3000];

    take_in(&one);
    have_role(&one, MASTER);
    serve(&one, "ECHO a", "+a\r\n");
    fake_start(&one);
    take_in(&first);
    list_of(list, sizeof list, 31, 10001);
    be_asked(&first, list);
    name_master(&first, port_of(&one));
    fake_start(&first);
    open_router();
    ask_and_get("a");
    ck_assert_uint_eq(counts().servers, HF_SEEDS_MAX + 1);
    close_router();
}
END_TEST

static void serve_until_told(struct fake *a, const char *command,
                             const char *reply)
{
    take_in(a);
    have_role(a, MASTER);
    serve(a, command, reply);
    add(a, PEER_DO_WAIT, "");
    add(a, PEER_DO_CLOSE, "");
}

/* Sentinels that have moved: the old ones do not take up the room. The second
 * one is known by the second list alone, and by then the first is silent. */
START_TEST(newly_named_sentinels_are_queried)
{
    char list[3000];

    serve_until_told(&one, "ECHO a", "+a\r\n");
    serve_until_told(&one, "ECHO b", "+b\r\n");
    fake_start(&one);
    take_in(&other);
    have_role(&other, MASTER);
    serve(&other, "ECHO c", "+c\r\n");
    fake_start(&other);
    take_in(&second);
    be_subscribed(&second);
    name_when_asked(&second, port_of(&other));
    fake_start(&second);
    take_in(&first);
    list_of(list, sizeof list, 31, 10001);
    be_asked(&first, list);
    name_master(&first, port_of(&one));
    be_subscribed(&first);
    list_of(list, sizeof list, 1, port_of(&second));
    be_asked(&first, list);
    name_master(&first, port_of(&one));
    fake_start(&first);
    open_router_at(port_of(&first), 0, 3);
    ask_and_get("a");
    drive_until_received(&first, 3);
    peer_go(one.peer);
    drive_until_received(&first, 5);
    ask_and_get("b");
    drive_until_received(&second, 1);
    peer_go(one.peer);
    drive_until_received(&second, 3);
    ask_and_get("c");
    close_router();
}
END_TEST

static TCase *case_master(void)
{
    TCase *c = tcase_create("a master");

    tcase_set_timeout(c, 60);
    tcase_add_checked_fixture(c, set_up, tear_down);
    tcase_add_test(c, a_server_with_the_role_of_a_master_is_the_master);
    tcase_add_loop_test(c, a_replica_is_queried_again, 0, 2);
    tcase_add_loop_test(c, server_without_the_role_of_a_master_is_refused,
                        0, ROWS(no_masters));
    tcase_add_loop_test(c, a_sentinel_that_names_no_master_is_reported, 0,
                        ROWS(no_names));
    tcase_add_test(c, a_master_that_refuses_the_password_is_reported);
    return c;
}

static TCase *case_whom_to_ask(void)
{
    TCase *c = tcase_create("whom to ask");

    tcase_set_timeout(c, 60);
    tcase_add_checked_fixture(c, set_up, tear_down);
    tcase_add_loop_test(c, one_silent_sentinel_delays_nothing, 0, 2);
    tcase_add_test(c, last_useful_sentinel_is_queried_first);
    tcase_add_test(c, one_error_is_reported_for_all_sentinels);
    tcase_add_test(c, error_of_a_sentinel_is_reported_until_it_changes);
    tcase_add_test(c, an_old_error_does_not_explain_a_later_delay);
    tcase_add_test(c, one_refusal_is_reported_for_all_that_refuse);
    tcase_add_loop_test(c, a_deadline_that_comes_early_is_explained, 0, 2);
    tcase_add_loop_test(
        c, a_command_that_is_sent_once_ends_with_the_first_round, 0, 2);
    return c;
}

static TCase *case_how_many(void)
{
    TCase *c = tcase_create("how many");

    tcase_set_timeout(c, 60);
    tcase_add_checked_fixture(c, set_up, tear_down);
    tcase_add_test(c, the_number_of_queried_sentinels_is_limited);
    tcase_add_test(c, newly_named_sentinels_are_queried);
    return c;
}

int main(void)
{
    Suite *s = suite_create("net/sentinel");

    suite_add_tcase(s, case_master());
    suite_add_tcase(s, case_whom_to_ask());
    suite_add_tcase(s, case_how_many());
    return suite_run(s);
}
