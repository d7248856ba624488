/* A master that changes: news, demotions, connections that are lost, and the end
 * of the router meanwhile. Scripted peers; real ones:
 * tests/live/sentinel/test_sentinel_failover.c. Sources: faults S4, S5, S10. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "net/route/router.h"
#include "tests/support/sentinel_kit.h"
#include "tests/support/suite.h"

#define A_MOMENT_MS 100         /* for what should not happen */

/* ---- news (S5) ---- */

/* `one` serves "a", `other` what comes after it; the first tells. */
static void two_masters(void)
{
    take_in(&one);
    have_role(&one, MASTER);
    serve(&one, "ECHO a", "+a\r\n");
    fake_start(&one);
    take_in(&other);
    have_role(&other, MASTER);
    serve(&other, "ECHO b", "+b\r\n");
    fake_start(&other);
}

/* In RESP2 a connection takes either commands or messages. */
static void switch_by_a_second_connection(void)
{
    char news[200] = "*3\r\n$7\r\nmessage\r\n$14\r\n+switch-master\r\n";
    char text[100];

    take_in(&first);
    name_when_asked(&first, port_of(&one));
    take_in(&first);
    expect(&first, "SUBSCRIBE +switch-master");
    say(&first, "*3\r\n$9\r\nsubscribe\r\n$14\r\n+switch-master\r\n:1\r\n");
    add(&first, PEER_DO_WAIT, "");
    (void)snprintf(text, sizeof text, NAME " 127.0.0.1 %d 127.0.0.1 %d",
                   port_of(&one), port_of(&other));
    put_bulk(news, sizeof news, text);
    say(&first, news);
    first.steps[first.count++] = (struct peer_step)PEER_TURN_TO(1);
    name_when_asked(&first, port_of(&other));
    fake_start(&first);
}

START_TEST(switch_messages_are_followed_at_once)
{
    bool is_resp2 = _i == 1;

    two_masters();
    if (is_resp2)
        switch_by_a_second_connection();
    else
        switch_when_let_go();
    open_router_at(port_of(&first), 0, is_resp2 ? 2 : 3);
    ask_and_get("a");
    drive_until_received(&first, 3);
    peer_go(first.peer);
    drive_until_received(&other, 1);
    ask_and_get("b");
    ck_assert_uint_eq(counts().maps, 2);
    close_router();
}
END_TEST

/* The first one is behind the times. */
START_TEST(sentinel_that_sent_a_message_is_queried)
{
    two_masters();
    name_and_subscribe(&first, port_of(&one));
    fake_start(&first);
    take_in(&second);
    be_subscribed(&second);
    add(&second, PEER_DO_WAIT, "");
    tell_switch(&second, NAME, port_of(&one), port_of(&other));
    name_when_asked(&second, port_of(&other));
    fake_start(&second);
    open_router();
    ask_and_get("a");
    drive_until_received(&second, 1);
    peer_go(second.peer);
    drive_until_received(&other, 1);
    ask_and_get("b");
    ck_assert_int_eq(questions[1], port_of(&second));
    close_router();
}
END_TEST

/* Of another master, of where we are already, of nothing at all. */
static const char *const no_news[] = {
    "other 127.0.0.1 1 127.0.0.1 2",
    "",
    NAME,
    NAME " 127.0.0.1 1 127.0.0.1 0",
    NAME " 127.0.0.1 1 127.0.0.1 2 3",
    NAME "  127.0.0.1 1 127.0.0.1",
};

START_TEST(other_messages_are_not_followed)
{
    take_in(&one);
    have_role(&one, MASTER);
    serve(&one, "ECHO a", "+a\r\n");
    serve(&one, "ECHO b", "+b\r\n");
    fake_start(&one);
    name_and_subscribe(&first, port_of(&one));
    for (int i = 0; i < ROWS(no_news); i++)
        tell_news(&first, no_news[i]);
    tell_switch(&first, NAME, 1, port_of(&one));
    fake_start(&first);
    open_router();
    ask_and_get("a");
    ck_assert_pstr_eq(peer_finish(first.peer), NULL);
    drive_for(A_MOMENT_MS);
    ck_assert_uint_eq(counts().refreshes, 1);
    ask_and_get("b");
    close_router();
}
END_TEST

/* What comes behind the news does not go to the old master, though nobody has
 * confirmed the new one yet. */
START_TEST(nothing_is_sent_to_the_old_master_after_a_switch_message)
{
    struct question q;

    two_masters();
    name_and_subscribe(&first, port_of(&one));
    add(&first, PEER_DO_WAIT, "");
    tell_switch(&first, NAME, port_of(&one), port_of(&other));
    be_asked(&first, "*0\r\n");
    add(&first, PEER_DO_WAIT, "");
    name_master(&first, port_of(&other));
    fake_start(&first);
    open_router();
    ask_and_get("a");
    peer_go(first.peer);
    drive_until_received(&first, 5);
    ask(&q, "b", LONG_MS);
    drive_for(20);
    ck_assert(!q.is_done);
    peer_go(first.peer);
    must_answer(&q, "b");
    close_router();
}
END_TEST

/* ROUTE-3: the silence of the old master need not be waited for. */
START_TEST(unanswered_requests_of_an_old_master_are_unknown)
{
    struct question q;

    take_in(&one);
    have_role(&one, MASTER);
    expect(&one, "ECHO a");
    fake_start(&one);
    take_in(&other);
    have_role(&other, MASTER);
    serve(&other, "ECHO b", "+b\r\n");
    fake_start(&other);
    switch_when_let_go();
    open_router();
    ask(&q, "a", 2 * LONG_MS);
    drive_until_received(&one, 2);
    peer_go(first.peer);
    drive_until_true(&q.is_done, "an end");
    ck_assert_int_eq(q.outcome, HF_UNKNOWN);
    ask_and_get("b");
    close_router();
}
END_TEST

/* ROUTE-5: a master that was stopped and replaced continues, and answers what it was
 * sent. Nobody has confirmed the new one yet. */
START_TEST(replies_of_an_old_master_after_a_switch_are_unknown)
{
    struct question q;

    take_in(&one);
    have_role(&one, MASTER);
    expect(&one, "ECHO a");
    add(&one, PEER_DO_WAIT, "");
    say(&one, "+a\r\n");
    fake_start(&one);
    take_in(&other);
    expect(&other, "ROLE");
    add(&other, PEER_DO_WAIT, "");
    say(&other, MASTER);
    serve(&other, "ECHO b", "+b\r\n");
    fake_start(&other);
    switch_when_let_go();
    open_router();
    ask(&q, "a", 2 * LONG_MS);
    drive_until_received(&one, 2);
    peer_go(first.peer);
    drive_until_received(&other, 1);
    peer_go(one.peer);
    drive_until_true(&q.is_done, "an end");
    ck_assert_int_eq(q.outcome, HF_UNKNOWN);
    peer_go(other.peer);
    ask_and_get("b");
    close_router();
}
END_TEST

static void on_acknowledged(struct hf_command *command, enum hf_outcome outcome,
                            struct hf_resp_value reply, uint32_t wanted)
{
    (void)command;
    (void)outcome;
    (void)reply;
    (void)wanted;
    ck_abort_msg("its replicas count");
}

/* A master that answers at once, and WAIT when it is let go. */
static void grant_and_wait(void)
{
    take_in(&one);
    have_role(&one, MASTER);
    serve(&one, "ECHO a", "+a\r\n");
    take_in(&one); /* the slow connection */
    expect(&one, "ECHO b");
    expect(&one, "WAIT 1 100");
    say(&one, "+b\r\n");
    add(&one, PEER_DO_WAIT, "");
    say(&one, ":1\r\n");
    fake_start(&one);
}

static void ask_replicas(struct question *q)
{
    ask_and_get("a");
    prepare_question(q, "b", LONG_MS);
    q->command.replicas = 1;
    q->command.replicas_timeout_ms = 100;
    q->command.on_replicas = on_acknowledged;
    send_question(q);
    must_answer(q, "b");
    q->is_done = false;
}

/* ROUTE-5: the same of WAIT. The replicas that an old master counts follow the new one
 * soon, and lose what they have. Nobody has confirmed the new one yet. */
START_TEST(confirmations_of_an_old_master_are_unknown)
{
    struct question q;

    grant_and_wait();
    take_in(&other);
    expect(&other, "ROLE");
    add(&other, PEER_DO_WAIT, "");
    say(&other, MASTER);
    serve(&other, "ECHO c", "+c\r\n");
    fake_start(&other);
    switch_when_let_go();
    open_router();
    ask_replicas(&q);
    peer_go(first.peer);
    drive_until_received(&other, 1);
    peer_go(one.peer);
    drive_until_true(&q.is_done, "another end");
    ck_assert_int_eq(q.outcome, HF_UNKNOWN);
    peer_go(other.peer);
    ask_and_get("c");
    close_router();
}
END_TEST

/* ROUTE-3 */
START_TEST(replicas_of_an_old_master_are_not_waited_for)
{
    struct question q;

    grant_and_wait();
    take_in(&other);
    have_role(&other, MASTER);
    serve(&other, "ECHO c", "+c\r\n");
    fake_start(&other);
    switch_when_let_go();
    open_router();
    ask_replicas(&q);
    peer_go(first.peer);
    drive_until_true(&q.is_done, "another end");
    ck_assert_int_eq(q.outcome, HF_UNKNOWN);
    ask_and_get("c");
    peer_go(one.peer);
    drive_for(20);
    close_router();
}
END_TEST

/* It may have missed some while it was away. */
START_TEST(a_sentinel_that_returns_is_queried)
{
    two_masters();
    name_and_subscribe(&first, port_of(&one));
    add(&first, PEER_DO_WAIT, "");
    add(&first, PEER_DO_CLOSE, "");
    take_in(&first);
    be_subscribed(&first);
    name_when_asked(&first, port_of(&other));
    fake_start(&first);
    open_router();
    ask_and_get("a");
    drive_until_received(&first, 3);
    drive_for(20); /* the confirmation */
    peer_go(first.peer);
    while (counts().maps < 2)
        drive_for(5);
    ask_and_get("b");
    close_router();
}
END_TEST

/* ---- a master that is none any more (S10) ---- */

static const char readonly[] =
    "-READONLY You can't write against a read only replica.\r\n";

START_TEST(a_command_that_meets_a_replica_goes_to_the_master)
{
    take_in(&one);
    have_role(&one, MASTER);
    serve(&one, "ECHO a", readonly);
    fake_start(&one);
    take_in(&other);
    have_role(&other, MASTER);
    serve(&other, "ECHO a", "+a\r\n");
    fake_start(&other);
    name_and_subscribe(&first, port_of(&one));
    name_when_asked(&first, port_of(&other));
    fake_start(&first);
    open_router();
    ask_and_get("a");
    close_router();
}
END_TEST

/* One that contradicts itself for good is not asked for ever. */
START_TEST(a_command_follows_a_limited_number_of_masters)
{
    struct question q;

    take_in(&one);
    take_in(&first);
    for (int i = 0; i < 6; i++) {
        have_role(&one, MASTER);
        serve(&one, "ECHO a", readonly);
    }
    fake_start(&one);
    for (int i = 0; i < 6; i++) {
        name_when_asked(&first, port_of(&one));
        if (i == 0)
            be_subscribed(&first);
    }
    fake_start(&first);
    open_router();
    ask(&q, "a", LONG_MS);
    drive_until_true(&q.is_done, "an answer");
    ck_assert_int_eq(q.outcome, HF_ANSWERED);
    ck_assert_ptr_nonnull(strstr(q.answer, "READONLY"));
    close_router();
}
END_TEST

/* ---- a second connection to it ---- */

/* That of commands which wait for replicas. Who comes back to a master over it
 * asks first who that is, and whether it is one, as over any other; though the
 * first connection is still there, and nobody else is silent. */
START_TEST(loss_of_a_slow_connection_queries_the_master)
{
    struct question q;
    char lost[60];

    take_in(&one);
    have_role(&one, MASTER);
    take_in(&one);
    serve(&one, "ECHO a", "+a\r\n");
    add(&one, PEER_DO_WAIT, "");
    add(&one, PEER_DO_CLOSE, "");
    fake_start(&one);
    take_in(&other);
    have_role(&other, MASTER);
    take_in(&other);
    serve(&other, "ECHO b", "+b\r\n");
    fake_start(&other);
    name_and_subscribe(&first, port_of(&one));
    name_when_asked(&first, port_of(&other));
    fake_start(&first);
    open_router();
    ask_over(&q, "a", LONG_MS, true);
    must_answer(&q, "a");
    peer_go(one.peer);
    (void)snprintf(lost, sizeof lost, "connection lost: 127.0.0.1:%d: ",
                   port_of(&one));
    must_tell(HF_E_CONNECT, lost);
    drive_until_received(&first, 5);
    ask_over(&q, "b", LONG_MS, true);
    must_answer(&q, "b");
    ck_assert_uint_eq(counts().maps, 2);
    close_router();
}
END_TEST

/* ---- its end ---- */

/* While sentinels, or the master, are being asked: nothing is left. */
START_TEST(it_can_be_freed_at_any_time)
{
    struct question q;

    if (_i > 0) {
        take_in(&first);
        be_asked(&first, "*0\r\n");
    }
    if (_i > 1) {
        take_in(&one);
        expect(&one, "ROLE");
        fake_start(&one);
        name_master(&first, port_of(&one));
    }
    fake_start(&first);
    open_router();
    ask(&q, "a", LONG_MS);
    if (_i == 1)
        drive_until_received(&first, 2);
    if (_i == 2)
        drive_until_received(&one, 1);
    close_router();
    ck_assert(q.is_done);
    ck_assert_int_eq(q.outcome, HF_UNSENT);
}
END_TEST

static TCase *case_news(void)
{
    TCase *c = tcase_create("news");

    tcase_set_timeout(c, 60);
    tcase_add_checked_fixture(c, set_up, tear_down);
    tcase_add_loop_test(c, switch_messages_are_followed_at_once, 0, 2);
    tcase_add_test(c, sentinel_that_sent_a_message_is_queried);
    tcase_add_test(c, other_messages_are_not_followed);
    tcase_add_test(c, nothing_is_sent_to_the_old_master_after_a_switch_message);
    tcase_add_test(c, unanswered_requests_of_an_old_master_are_unknown);
    tcase_add_test(c, replies_of_an_old_master_after_a_switch_are_unknown);
    tcase_add_test(c, confirmations_of_an_old_master_are_unknown);
    tcase_add_test(c, replicas_of_an_old_master_are_not_waited_for);
    tcase_add_test(c, a_sentinel_that_returns_is_queried);
    return c;
}

static TCase *case_master_no_more(void)
{
    TCase *c = tcase_create("a master no more");

    tcase_set_timeout(c, 60);
    tcase_add_checked_fixture(c, set_up, tear_down);
    tcase_add_test(c, a_command_that_meets_a_replica_goes_to_the_master);
    tcase_add_test(c, a_command_follows_a_limited_number_of_masters);
    tcase_add_test(
        c, loss_of_a_slow_connection_queries_the_master);
    tcase_add_loop_test(c, it_can_be_freed_at_any_time, 0, 3);
    return c;
}

int main(void)
{
    Suite *s = suite_create("net/sentinel, news");

    suite_add_tcase(s, case_news());
    suite_add_tcase(s, case_master_no_more());
    return suite_run(s);
}
