/* How a request on a link ends: by an answer, its deadline, a silent peer, a
 * cancellation, the end of its connection or of the link. Peers are scripted. */
#include <check.h>
#include <poll.h>
#include <string.h>

#include "net/link/link_inner.h"
#include "tests/support/login.h"
#include "tests/support/link_kit.h"
#include "tests/support/suite.h"

/* LINK-3. With a second request behind it, or not. */
START_TEST(silent_peer_loses_the_connection)
{
    static const struct peer_step script[] = {
        PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("ECHO a"), PEER_GONE,
        PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("ECHO c"), PEER_SEND("+c\r\n"),
        PEER_END};
    struct peer *peer = peer_start(script);
    struct ask a, b;

    prepare(peer_port(peer));
    options.silence_ms = 500;
    open_prepared();
    start(&a, "ECHO a", -1);
    drive_until_received(peer, 1);
    start(&b, "ECHO b", -1);
    ck_assert_str_eq(answer(&a), "(unknown)");
    ck_assert_str_eq(answer(&b), "(unknown)");
    ck_assert_int_eq(error_now().status, HF_E_NOREPLY);
    ck_assert_str_eq(ask("ECHO c"), "c");
    ck_assert_str_eq(changes, "+-+");
    end_with_peer(peer);
}
END_TEST

#define PUSH ">2\r\n+hello\r\n+you\r\n"

/* V2: redis-py CVE-2023-28858. Something was heard since it was sent, so the
 * peer lives; what was given up keeps its place. */
START_TEST(late_reply_of_a_talking_peer_is_discarded)
{
    static const struct peer_step script[] = {
        PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("ECHO a"), PEER_WAIT,
        PEER_SEND(PUSH), PEER_EXPECT("ECHO b"), PEER_WAIT,
        PEER_SEND("+a\r\n+b\r\n"), PEER_END};
    struct peer *peer = peer_start(script);
    struct ask a, b;

    open_link(peer_port(peer));
    start(&a, "ECHO a", 1000);
    drive_until_received(peer, 1);
    peer_go(peer);
    while (pushed[0] == '\0')
        hf_loop_dispatch(loop, 1);
    ck_assert_str_eq(answer(&a), "(unknown)");
    start(&b, "ECHO b", LONG_MS);
    drive_until_received(peer, 2);
    peer_go(peer);
    ck_assert_str_eq(answer(&b), "b");
    ck_assert_str_eq(changes, "+");
    end_with_peer(peer);
}
END_TEST

/* Requests without a deadline are in flight, fewer wait behind them (LINK-2), and
 * the peer is silent: those that wait must not time out for ever. */
START_TEST(queued_requests_survive_a_silent_peer)
{
    static const struct peer_step script[] = {
        PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("ECHO a"), PEER_EXPECT("ECHO b"),
        PEER_GONE, PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("ECHO d"),
        PEER_SEND("+d\r\n"), PEER_END};
    struct peer *peer = peer_start(script);
    struct ask a, b;

    prepare(peer_port(peer));
    options.silence_ms = 1000;
    open_prepared();
    start(&a, "ECHO a", -1);
    start(&b, "ECHO b", -1);
    drive_until_received(peer, 2);
    ck_assert_str_eq(ask_for(20, "ECHO c"), "(unsent)");
    ck_assert_str_eq(answer(&a), "(unknown)");
    ck_assert_str_eq(answer(&b), "(unknown)");
    ck_assert_str_eq(ask("ECHO d"), "d");
    end_with_peer(peer);
}
END_TEST

/* LOGIN-4: A proxy, or a server, that has forgotten the login: the request was not
 * executed. */
START_TEST(noauth_on_a_connection_that_was_logged_in_ends_it)
{
    static const struct peer_step script[] = {
        PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("ECHO a"),
        PEER_SEND("-NOAUTH Authentication required.\r\n"), PEER_GONE,
        PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("ECHO b"), PEER_SEND("+b\r\n"), PEER_END};
    struct peer *peer = peer_start(script);

    prepare(peer_port(peer));
    options.url.login = login_of("", "secret");
    open_prepared();
    ck_assert_str_eq(ask("ECHO a"), "(unknown)");
    ck_assert_str_eq(ask("ECHO b"), "b");
    end_with_peer(peer);
}
END_TEST

/* Nothing was awaited while nothing was asked. */
START_TEST(idle_link_is_not_taken_for_silent)
{
    static const struct peer_step script[] = {
        PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("ECHO a"), PEER_SEND("+a\r\n"),
        PEER_EXPECT("ECHO b"), PEER_WAIT, PEER_SEND("+b\r\n"), PEER_END};
    struct peer *peer = peer_start(script);
    struct ask b;

    prepare(peer_port(peer));
    options.silence_ms = 1000;
    open_prepared();
    ck_assert_str_eq(ask("ECHO a"), "a");
    local_rest_us(1100000);
    start(&b, "ECHO b", LONG_MS);
    drive_until_received(peer, 2);
    hf_loop_dispatch(loop, 1);
    peer_go(peer);
    ck_assert_str_eq(answer(&b), "b");
    ck_assert_str_eq(changes, "+");
    end_with_peer(peer);
}
END_TEST

static const struct {
    const char *words;
    uint64_t writes;                  /* so far, when it was asked */
} turns[] = {
    {"ECHO a", 1}, /* alone */
    {"ECHO b", 2}, /* one is queued, one in flight */
    {"ECHO c", 2}, {"ECHO d", 3}, /* two and two */
    {"ECHO e", 3}, {"ECHO f", 3}, /* two and four */
};

/* LINK-2: under load a batch waits for the one before it; alone, nothing waits. */
START_TEST(queued_requests_go_when_no_more_is_in_flight)
{
    enum { COUNT = sizeof turns / sizeof *turns };
    static const struct peer_step script[] = {
        PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("PING"), PEER_SEND("+PONG\r\n"),
        PEER_EXPECT("ECHO a"), PEER_EXPECT("ECHO b"), PEER_EXPECT("ECHO c"),
        PEER_EXPECT("ECHO d"), PEER_WAIT, PEER_SEND("+a\r\n+b\r\n"),
        PEER_EXPECT("ECHO e"), PEER_EXPECT("ECHO f"),
        PEER_SEND("+c\r\n+d\r\n+e\r\n+f\r\n"), PEER_END};
    struct peer *peer = peer_start(script);
    struct ask asks[COUNT];
    uint64_t writes;

    open_link(peer_port(peer));
    ck_assert_str_eq(ask("PING"), "PONG");
    writes = stats_now().writes;
    for (int i = 0; i < COUNT; i++) {
        start(&asks[i], turns[i].words, LONG_MS);
        ck_assert_uint_eq(stats_now().writes - writes,
                          turns[i].writes);
    }
    peer_go(peer);
    for (int i = 0; i < COUNT; i++)
        ck_assert_str_eq(answer(&asks[i]), turns[i].words + 5);
    ck_assert_uint_eq(stats_now().writes - writes, 4);
    end_with_peer(peer);
}
END_TEST

/* What an operator reads: connections that came and went, and why they did not
 * come. */
START_TEST(connections_are_counted)
{
    static const struct peer_step script[] = {
        PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("ECHO a"), PEER_SEND("+a\r\n"),
        PEER_CLOSE, PEER_ACCEPT, PEER_CLOSE, PEER_ACCEPT, PEER_EXPECT("PING"),
        PEER_SEND("+PONG\r\n"), PEER_HANDSHAKE, /* LINK-6 */
        PEER_EXPECT("ECHO b"), PEER_SEND("+b\r\n"), PEER_END};
    struct peer *peer = peer_start(script);
    struct hf_link_stats stats;

    open_link(peer_port(peer));
    ck_assert_str_eq(ask("ECHO a"), "a");
    drive_until(is_down);
    ck_assert_str_eq(ask("ECHO b"), "b");
    stats = stats_now();
    ck_assert_uint_eq(stats.connects, 2);
    ck_assert_uint_eq(stats.losses, 1);
    ck_assert_uint_eq(stats.failures, 1);
    ck_assert_uint_eq(stats.answered, 2);
    ck_assert_uint_eq(stats.latency_us.count, 2);
    ck_assert_uint_eq(stats.batch.count, 2);
    end_with_peer(peer);
}
END_TEST

/* Whatever it says, it is there. */
START_TEST(slow_peer_that_talks_is_not_left)
{
    static const struct peer_step script[] = {
        PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("ECHO a"),
        PEER_WAIT, PEER_SEND(PUSH), PEER_WAIT, PEER_SEND(PUSH),
        PEER_WAIT, PEER_SEND(PUSH), PEER_WAIT, PEER_SEND("+a\r\n"), PEER_END};
    struct peer *peer = peer_start(script);
    struct ask a;

    prepare(peer_port(peer));
    options.silence_ms = 2000;
    open_prepared();
    start(&a, "ECHO a", LONG_MS);
    drive_until_received(peer, 1);
    for (int i = 0; i < 4; i++) {
        drive_for(600);
        peer_go(peer);
    }
    ck_assert_str_eq(answer(&a), "a");
    ck_assert_str_eq(changes, "+");
    end_with_peer(peer);
}
END_TEST

START_TEST(cancelled_request_is_over)
{
    static const struct peer_step script[] = {
        PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("ECHO b"), PEER_EXPECT("ECHO c"),
        PEER_WAIT, PEER_SEND("+b\r\n+c\r\n"), PEER_EXPECT("ECHO d"),
        PEER_SEND("+d\r\n"), PEER_END};
    struct peer *peer = peer_start(script);
    struct ask a, b, c;

    open_link(peer_port(peer));
    lock();
    ck_assert_int_eq(submit(&a, "ECHO a", 1000), HF_OK);
    ck_assert_int_eq(submit(&b, "ECHO b", 1000), HF_OK);
    ck_assert_int_eq(submit(&c, "ECHO c", LONG_MS), HF_OK);
    ck_assert_int_eq(hf_link_cancel(&a.request), HF_UNSENT);
    unlock();
    drive_until_received(peer, 2);
    lock();
    ck_assert_int_eq(hf_link_cancel(&b.request), HF_UNKNOWN);
    unlock();
    peer_go(peer);
    ck_assert_str_eq(answer(&c), "c");
    ck_assert_str_eq(ask("ECHO d"), "d");
    drive_for(1000); /* past the deadlines of the cancelled */
    ck_assert_str_eq(a.text, "");
    ck_assert_str_eq(b.text, "");
    end_with_peer(peer);
}
END_TEST

/* LINK-1: Unlocking the loop writes what was queued, and the write fails. */
START_TEST(caller_whose_write_fails_does_not_close_the_connection)
{
    static const struct peer_step script[] = {
        PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("ECHO a"), PEER_SEND("+a\r\n"), PEER_RESET,
        PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("ECHO c"), PEER_SEND("+c\r\n"), PEER_END};
    struct peer *peer = peer_start(script);
    struct pollfd reset = {.events = POLLIN};
    struct ask b;

    open_link(peer_port(peer));
    ck_assert_str_eq(ask("ECHO a"), "a");
    lock();
    reset.fd = link_->io.fd;
    unlock();
    ck_assert_int_eq(poll(&reset, 1, LONG_MS), 1);
    ck_assert(reset.revents & (POLLERR | POLLHUP));
    lock();
    ck_assert_int_eq(submit(&b, "ECHO b", LONG_MS), HF_OK);
    unlock();
    ck_assert_str_eq(changes, "+");
    ck_assert_str_eq(answer(&b), "(unknown)");
    ck_assert_str_eq(ask("ECHO c"), "c");
    ck_assert_str_eq(changes, "+-+");
    end_with_peer(peer);
}
END_TEST

START_TEST(free_ends_all_requests)
{
    static const struct peer_step script[] = {PEER_ACCEPT, PEER_HANDSHAKE,
                                              PEER_EXPECT("ECHO a"), PEER_END};
    struct peer *peer = peer_start(script);
    struct ask a, b, c;

    open_link(peer_port(peer));
    start(&a, "ECHO a", -1);
    drive_until_received(peer, 1);
    start(&b, "ECHO b", LONG_MS);
    lock();
    ck_assert_int_eq(submit(&c, "ECHO c", LONG_MS), HF_OK);
    hf_loop_quiesce(loop);
    hf_link_free(link_);
    hf_link_free(NULL);
    hf_loop_resume(loop);
    unlock();
    hf_loop_free(loop);
    ck_assert_str_eq(a.text, "(unknown)");
    ck_assert_str_eq(b.text, "(unknown)");
    ck_assert_str_eq(c.text, "(unsent)");
    ck_assert_pstr_eq(memory_fini(&memory), NULL);
    peer_free(peer);
}
END_TEST

static void condemn_when_done(struct hf_request *request,
                              enum hf_outcome outcome,
                              struct hf_resp_value reply)
{
    ask_done(request, outcome, reply);
    if (outcome == HF_ANSWERED)
        hf_link_condemn(link_, "that was no answer");
}

/* From within a read: nothing more of it is believed. */
START_TEST(condemned_link_connects_again)
{
    static const struct peer_step script[] = {
        PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("ECHO a"), PEER_EXPECT("ECHO b"),
        PEER_SEND("+forged\r\n+a\r\n"), PEER_GONE,
        PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("ECHO c"), PEER_SEND("+c\r\n"),
        PEER_END};
    struct peer *peer = peer_start(script);
    struct ask a, b;

    open_link(peer_port(peer));
    lock();
    ck_assert_int_eq(submit(&a, "ECHO a", LONG_MS), HF_OK);
    ck_assert_int_eq(submit(&b, "ECHO b", LONG_MS), HF_OK);
    a.request.done = condemn_when_done;
    unlock();
    ck_assert_str_eq(answer(&a), "forged");
    ck_assert_str_eq(answer(&b), "(unknown)");
    ck_assert_int_eq(error_now().status, HF_E_PROTOCOL);
    ck_assert_ptr_nonnull(strstr(error_now().text, "that was no answer"));
    ck_assert_str_eq(ask("ECHO c"), "c");
    ck_assert_str_eq(changes, "+-+");
    end_with_peer(peer);
}
END_TEST

static void replace_when_done(struct hf_request *request, enum hf_outcome outcome,
                              struct hf_resp_value reply)
{
    ask_done(request, outcome, reply);
    if (outcome == HF_ANSWERED)
        hf_link_replace(link_, "this server is a replica");
}

static bool was_down(void)
{
    return strchr(changes, '-') != NULL;
}

/* Were they unknown, a refused release would be sent again, to another server. */
START_TEST(replies_that_were_read_with_the_refusal_count)
{
    static const struct peer_step script[] = {
        PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("ECHO a"), PEER_EXPECT("ECHO b"),
        PEER_SEND("+refused\r\n+b\r\n"), PEER_GONE, PEER_ACCEPT, PEER_HANDSHAKE,
        PEER_EXPECT("ECHO c"), PEER_SEND("+c\r\n"), PEER_END};
    struct peer *peer = peer_start(script);
    struct ask a, b;

    open_link(peer_port(peer));
    lock();
    ck_assert_int_eq(submit(&a, "ECHO a", LONG_MS), HF_OK);
    ck_assert_int_eq(submit(&b, "ECHO b", LONG_MS), HF_OK);
    a.request.done = replace_when_done;
    unlock();
    ck_assert_str_eq(answer(&a), "refused");
    ck_assert_str_eq(answer(&b), "b");
    ck_assert_str_eq(ask("ECHO c"), "c");
    ck_assert_str_eq(changes, "+-+");
    end_with_peer(peer);
}
END_TEST

/* The peer broke no rule: the error is not of the protocol. */
START_TEST(replaced_link_connects_again)
{
    static const struct peer_step script[] = {
        PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("ECHO a"), PEER_SEND("+a\r\n"),
        PEER_GONE, PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("ECHO b"),
        PEER_SEND("+b\r\n"), PEER_END};
    struct peer *peer = peer_start(script);
    struct ask a;

    open_link(peer_port(peer));
    lock();
    ck_assert_int_eq(submit(&a, "ECHO a", LONG_MS), HF_OK);
    a.request.done = replace_when_done;
    unlock();
    ck_assert_str_eq(answer(&a), "a");
    drive_until(was_down);
    ck_assert_int_eq(error_now().status, HF_E_CONNECT);
    ck_assert_ptr_nonnull(strstr(error_now().text, "this server is a replica"));
    ck_assert_str_eq(ask("ECHO b"), "b");
    ck_assert_str_eq(changes, "+-+");
    end_with_peer(peer);
}
END_TEST

/* And from a caller: it takes effect in the next turn. */
START_TEST(link_may_be_condemned_between_replies)
{
    static const struct peer_step script[] = {
        PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("ECHO a"), PEER_SEND("+a\r\n"),
        PEER_GONE, PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("ECHO b"),
        PEER_SEND("+b\r\n"), PEER_END};
    struct peer *peer = peer_start(script);

    open_link(peer_port(peer));
    ck_assert_str_eq(ask("ECHO a"), "a");
    lock();
    hf_link_condemn(link_, "it lies");
    unlock();
    ck_assert_str_eq(ask("ECHO b"), "b");
    ck_assert_str_eq(changes, "+-+");
    end_with_peer(peer);
}
END_TEST

START_TEST(full_link_takes_no_more)
{
    struct ask a, b, c;

    prepare(local_dead_port());
    options.requests_max = 2;
    open_prepared();
    lock();
    ck_assert_int_eq(submit(&a, "ECHO a", 20), HF_OK);
    ck_assert_int_eq(submit(&b, "ECHO b", 40), HF_OK);
    ck_assert_int_eq(submit(&c, "ECHO c", 20), HF_E_LIMIT);
    unlock();
    ck_assert_str_eq(answer(&a), "(unsent)");
    start(&c, "ECHO c", 20);
    ck_assert_str_eq(answer(&c), "(unsent)");
    ck_assert_str_eq(answer(&b), "(unsent)");
    close_link();
}
END_TEST

static TCase *case_requests(void)
{
    TCase *c = tcase_create("requests");

    tcase_set_timeout(c, 60);
    tcase_add_test(c, silent_peer_loses_the_connection);
    tcase_add_test(c, late_reply_of_a_talking_peer_is_discarded);
    tcase_add_test(c, queued_requests_survive_a_silent_peer);
    tcase_add_test(c, noauth_on_a_connection_that_was_logged_in_ends_it);
    tcase_add_test(c, idle_link_is_not_taken_for_silent);
    tcase_add_test(c, queued_requests_go_when_no_more_is_in_flight);
    tcase_add_test(c, connections_are_counted);
    tcase_add_test(c, slow_peer_that_talks_is_not_left);
    tcase_add_test(c, cancelled_request_is_over);
    tcase_add_test(c, caller_whose_write_fails_does_not_close_the_connection);
    tcase_add_test(c, free_ends_all_requests);
    tcase_add_test(c, condemned_link_connects_again);
    tcase_add_test(c, replaced_link_connects_again);
    tcase_add_test(c, replies_that_were_read_with_the_refusal_count);
    tcase_add_test(c, link_may_be_condemned_between_replies);
    tcase_add_test(c, full_link_takes_no_more);
    return c;
}

int main(void)
{
    Suite *s = suite_create("net/link, requests");

    suite_add_tcase(s, case_requests());
    return suite_run(s);
}
