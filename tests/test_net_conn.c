/* The pure connection: which reply and which push belongs to which request, and
 * what is counted. Sources: RESP-CONFORMANCE, rules V1 to V3; conn.h, rules C. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "net/base/error.h"
#include "tests/support/conn_kit.h"
#include "tests/support/suite.h"

/* ---- correlation: V1 to V3, CONN-1, CONN-2 ---- */

START_TEST(replies_match_requests_in_order)
{
    start();
    ask_all("abc");
    put_out_all();
    ck_assert_str_eq(wire(), "ECHO a|ECHO b|ECHO c");
    ck_assert_int_eq(take("+1\r\n:2\r\n$1\r\n3\r\n"), HF_OK);
    ck_assert_str_eq(trace(), "a=1 b=2 c=3");
    teardown();
}
END_TEST

START_TEST(request_knows_when_it_was_sent)
{
    const char *ptr;

    start();
    ask_all("ab");
    ck_assert_int_eq(t.requests['a'].sent_ms, HF_NEVER);
    (void)hf_conn_output(&t.conn, 5999, &ptr);
    hf_conn_wrote(&t.conn, 1);
    ask_all("c");
    (void)hf_conn_output(&t.conn, 9000, &ptr);
    ck_assert_int_eq(t.requests['a'].sent_ms, 5);
    ck_assert_int_eq(t.requests['b'].sent_ms, 5);
    ck_assert_int_eq(t.requests['c'].sent_ms, 9);
    teardown();
}
END_TEST

/* ---- counters ---- */

static struct hf_link_stats counters(void)
{
    struct hf_link_stats n;

    hf_conn_stats(&t.conn, &n);
    return n;
}

START_TEST(requests_are_counted_by_outcome)
{
    struct hf_link_stats n;

    start();
    ask_all("abcd");
    ck_assert_int_eq(give_up('d'), HF_UNSENT);
    put_out_all();
    ask_all("ef");
    ck_assert_int_eq(give_up('b'), HF_UNKNOWN);
    ck_assert_int_eq(take("+1\r\n-ERR late\r\n>2\r\n+news\r\n:1\r\n"), HF_OK);
    n = counters();
    ck_assert_uint_eq(n.answered, 1);
    ck_assert_uint_eq(n.error_replies, 0);
    ck_assert_uint_eq(n.late_replies, 1);
    ck_assert_uint_eq(n.pushes, 1);
    ck_assert_uint_eq(n.given_up, 2);
    ck_assert_uint_eq(n.in_flight, 1);
    ck_assert_uint_eq(n.in_flight_max, 3);
    ck_assert_uint_eq(n.queued, 2);
    ck_assert_uint_eq(n.queued_bytes, t.conn.out_end - t.conn.out_start);
    ck_assert_uint_gt(n.queued_bytes, 0);
    ck_assert_int_eq(take("-ERR c\r\n"), HF_OK);
    put_out_all();
    close_it();
    n = counters();
    ck_assert_uint_eq(n.requests, 6);
    ck_assert_uint_eq(n.answered, 2);
    ck_assert_uint_eq(n.error_replies, 1);
    ck_assert_uint_eq(n.unsent, 1);
    ck_assert_uint_eq(n.unknown, 3);
    ck_assert_uint_eq(n.in_flight + n.queued + n.queued_bytes, 0);
    teardown();
}
END_TEST

/* The clock's low 32 bits go round between some of them. */
START_TEST(latency_is_from_the_write_to_the_read)
{
    static const int64_t starts[] = {0, 1, UINT32_MAX - 30,
                                     ((int64_t)7 << 32) - 1};

    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        struct hf_histogram h;

        start();
        t.now_us = starts[i];
        ask_all("ab");
        put_out_all();
        t.now_us += 10;
        ask_all("c");
        put_out_all();
        t.now_us += 30;
        ck_assert_int_eq(take("+a\r\n+b\r\n+"), HF_OK);
        t.now_us += 5000;
        ck_assert_int_eq(take("c\r\n"), HF_OK);
        h = counters().latency_us;
        ck_assert_uint_eq(h.count, 3);
        ck_assert_uint_eq(h.sum, 40 + 40 + 5030);
        ck_assert_uint_eq(h.max, 5030);
        teardown();
    }
}
END_TEST

START_TEST(batch_is_one_write)
{
    struct hf_histogram h;

    start();
    ask_all("abc");
    ck_assert_int_eq(give_up('b'), HF_UNSENT);
    (void)put_out(1); /* the rest of it is no batch of its own */
    put_out_all();
    ask_all("d");
    put_out_all();
    h = counters().batch;
    ck_assert_uint_eq(h.count, 2);
    ck_assert_uint_eq(h.sum, 3);
    ck_assert_uint_eq(h.max, 2);
    teardown();
}
END_TEST

/* Every type that a late reply may be of (Redisson 7304 did not know `#`). */
static const struct {
    int protocol;
    const char *bytes;
} late_replies[] = {
    {3, "+late\r\n"},
    {3, "-ERR late\r\n"},
    {3, ":7\r\n"},
    {3, "$4\r\nlate\r\n"},
    {3, "$0\r\n\r\n"},
    {3, "$-1\r\n"},
    {3, "*-1\r\n"},
    {3, "_\r\n"},
    {3, "#t\r\n"},
    {3, ",1.5\r\n"},
    {3, ",-inf\r\n"},
    {3, "(3492890328409238509324850943850943825024385\r\n"},
    {3, "!8\r\nERR late\r\n"},
    {3, "=8\r\ntxt:late\r\n"},
    {3, "*0\r\n"},
    {3, "*2\r\n*1\r\n:1\r\n$6\r\n+b\r\n\r\n\r\n"},
    {3, "~2\r\n:1\r\n:2\r\n"},
    {3, "%2\r\n+k\r\n:1\r\n+l\r\n%0\r\n"},
    {3, "$?\r\n;4\r\nlate\r\n;1\r\n!\r\n;0\r\n"},
    {3, "*?\r\n:1\r\n*?\r\n.\r\n.\r\n"},
    {3, "~?\r\n:1\r\n.\r\n"},
    {3, "%?\r\n+k\r\n:1\r\n.\r\n"},
    {3, "|1\r\n+ttl\r\n:9\r\n+late\r\n"},
    {3, "*2\r\n>2\r\n+message\r\n+b\r\n_\r\n"},
    {2, "+late\r\n"},
    {2, "-ERR late\r\n"},
    {2, ":-7\r\n"},
    {2, "$4\r\nlate\r\n"},
    {2, "$-1\r\n"},
    {2, "*-1\r\n"},
    {2, "*2\r\n*1\r\n:1\r\n$6\r\n+b\r\n\r\n\r\n"},
};

/* However much of it is here when its request is given up; V2, V3. */
START_TEST(late_reply_is_discarded)
{
    const char *late = late_replies[_i].bytes;
    char input[200];
    size_t len =
        (size_t)snprintf(input, sizeof input, "%s+b\r\n%s+d\r\n", late, late);

    for (size_t cut = 0; cut < strlen(late); cut++) {
        setup_with(defaults(), late_replies[_i].protocol);
        open_it();
        ask_all("abcd");
        put_out_all();
        ck_assert_int_eq(give_up('c'), HF_UNKNOWN);
        ck_assert_int_eq(take_in(input, cut), HF_OK);
        ck_assert_int_eq(give_up('a'), HF_UNKNOWN);
        ck_assert_int_eq(take_in(input + cut, len - cut), HF_OK);
        ck_assert_str_eq(trace(), "b=b d=d");
        ck_assert_uint_eq(hf_conn_in_flight(&t.conn), 0);
        teardown();
    }
}
END_TEST

/* All ways to withdraw some of five queued ones, before, between and behind
 * others that go out. */
START_TEST(withdrawn_request_sends_no_byte)
{
    char sent[64] = "ECHO x", told[64] = "x=x", in[64] = "+x\r\n";

    start();
    ask_all("x");
    put_out_all();
    ask_all("abcde");
    for (int i = 0; i < 5; i++) {
        const char name = (char)('a' + i);
        char *end = strchr(sent, '\0');

        if (_i >> i & 1) {
            ck_assert_int_eq(give_up(name), HF_UNSENT);
            continue;
        }
        (void)sprintf(end, "|ECHO %c", name);
        (void)sprintf(strchr(told, '\0'), " %c=%c", name, name);
        (void)sprintf(strchr(in, '\0'), "+%c\r\n", name);
    }
    put_out_all();
    ck_assert_str_eq(wire(), sent);
    ck_assert_int_eq(take(in), HF_OK);
    ck_assert_str_eq(trace(), told);
    ck_assert_int_eq(take("+one too many\r\n"), HF_E_PROTOCOL);
    teardown();
}
END_TEST

/* Places of withdrawn requests are given back even if nothing is ever sent. */
START_TEST(withdrawn_requests_do_not_fill_the_connection)
{
    struct hf_conn_options options = defaults();

    options.requests_max = 4;
    setup_with(options, 3);
    ask_all("k");
    for (int i = 0; i < 1000; i++) {
        ask_all("abc");
        ck_assert_int_eq(give_up("abc"[i % 3]), HF_UNSENT);
        ck_assert_int_eq(give_up("abc"[(i + 1) % 3]), HF_UNSENT);
        ck_assert_int_eq(give_up("abc"[(i + 2) % 3]), HF_UNSENT);
    }
    ck_assert_int_eq(give_up('k'), HF_UNSENT);
    ck_assert_uint_eq(hf_conn_queued(&t.conn), 0);
    open_it();
    put_out_all();
    ck_assert_uint_eq(t.wire_len, 0);
    teardown();
}
END_TEST

/* A ring that grows while it is wrapped, at every offset. */
START_TEST(many_requests_keep_their_order)
{
    char reply[32];

    start();
    for (int i = 0; i < _i; i++) {
        ask_all("a");
        put_out_all();
        ck_assert_int_eq(take("+a\r\n"), HF_OK);
    }
    (void)trace();
    for (int i = 200; i < 400; i++) {
        ck_assert_int_eq(ask(i), HF_OK);
        if (i % 3 == 0)
            put_out_all();
    }
    put_out_all();
    for (int i = 200; i < 400; i += 5)
        ck_assert_int_eq(give_up(i), HF_UNKNOWN);
    for (int i = 200; i < 400; i++) {
        (void)snprintf(reply, sizeof reply, ":%d\r\n", i);
        ck_assert_int_eq(take(reply), HF_OK);
        (void)snprintf(reply, sizeof reply, "%d=%d", i, i);
        ck_assert_str_eq(trace(), i % 5 == 0 ? "" : reply);
    }
    teardown();
}
END_TEST

/* ---- pushes ---- */

static const struct {
    int protocol;
    bool is_subscriber;
    const char *asked;
    const char *input;
    const char *trace;
} deliveries[] = {
    {3, false, "", MESSAGE, ">[message,ch,hi]"},
    {3, false, "ab", MESSAGE "+1\r\n" MESSAGE "+2\r\n" MESSAGE,
     ">[message,ch,hi] a=1 >[message,ch,hi] b=2 >[message,ch,hi]"},
    {3, false, "aSb", "+1\r\n" CONFIRM("+subscribe") "+2\r\n",
     "a=1 S=[subscribe,ch,1] b=2"},
    {3, false, "UV", CONFIRM("$11\r\nunsubscribe") CONFIRM("+ssubscribe"),
     "U=[unsubscribe,ch,1] V=[ssubscribe,ch,1]"},
    {3, false, "W", CONFIRM("+sunsubscribe"), "W=[sunsubscribe,ch,1]"},
    /* A confirmation is that of its kind and channel, and of no other. */
    {3, false, "V", CONFIRM_OTHER("+sunsubscribe") CONFIRM("+ssubscribe"),
     ">[sunsubscribe,cho,1] V=[ssubscribe,ch,1]"},
    {3, false, "V", CONFIRM("+sunsubscribe") CONFIRM("+ssubscribe"),
     ">[sunsubscribe,ch,1] V=[ssubscribe,ch,1]"},
    {3, false, "W", CONFIRM_OTHER("+sunsubscribe") CONFIRM("+sunsubscribe"),
     ">[sunsubscribe,cho,1] W=[sunsubscribe,ch,1]"},
    /* A server that loses the slot sends one before it refuses the command: CONN-9. */
    {3, false, "Xab", CONFIRM("+sunsubscribe") "-MOVED 1 h:1\r\n+1\r\n+2\r\n",
     "X=MOVED 1 h:1 a=1 b=2"},
    {3, false, "Xa",
     CONFIRM("+sunsubscribe") CONFIRM("+sunsubscribe") "+1\r\n",
     "X=[sunsubscribe,ch,1] a=1"},
    {3, false, "XVa",
     CONFIRM("+sunsubscribe") MESSAGE CONFIRM("+sunsubscribe")
         CONFIRM("+sunsubscribe") CONFIRM("+ssubscribe") "+1\r\n",
     ">[message,ch,hi] X=[sunsubscribe,ch,1] >[sunsubscribe,ch,1] "
     "V=[ssubscribe,ch,1] a=1"},
    {2, true, "XV", CONFIRM2("+sunsubscribe") "-MOVED 1 h:1\r\n-MOVED 1 h:1\r\n",
     "X=MOVED 1 h:1 V=MOVED 1 h:1"},
    {3, false, "UaS",
     CONFIRM("+subscribe") CONFIRM("+unsubscribe") "+1\r\n"
         CONFIRM("+ssubscribe") CONFIRM("+subscribe"),
     ">[subscribe,ch,1] U=[unsubscribe,ch,1] a=1 >[ssubscribe,ch,1] "
     "S=[subscribe,ch,1]"},
    {3, false, "S", ">1\r\n+subscribe\r\n" CONFIRM("+subscribe"),
     ">[subscribe] S=[subscribe,ch,1]"},
    /* An error is an answer to SUBSCRIBE, too. */
    {3, false, "Sb", "-NOPERM no\r\n+2\r\n", "S=NOPERM no b=2"},
    /* News may come before the confirmation. */
    {3, false, "S", MESSAGE CONFIRM("+subscribe"),
     ">[message,ch,hi] S=[subscribe,ch,1]"},
    /* Confirmations that nobody awaits are news, and shift nothing. */
    {3, false, "", CONFIRM("+subscribe"), ">[subscribe,ch,1]"},
    {3, false, "a", CONFIRM("+sunsubscribe") "+1\r\n",
     ">[sunsubscribe,ch,1] a=1"},
    {3, false, "aS", CONFIRM("+subscribe") "+1\r\n" CONFIRM("+subscribe"),
     ">[subscribe,ch,1] a=1 S=[subscribe,ch,1]"},
    /* Invalidations, with null for "all" (hiredis b9b9f44). */
    {3, false, "ab",
     ">2\r\n+invalidate\r\n_\r\n+1\r\n>2\r\n+invalidate\r\n*1\r\n+k\r\n+2\r\n",
     ">[invalidate,_] a=1 >[invalidate,[k]] b=2"},
    /* A push of no kind is dropped: pol-push-empty. */
    {3, false, "a", ">0\r\n+1\r\n", "a=1"},
    {3, false, "a", ">1\r\n:5\r\n+1\r\n", ">[5] a=1"},
    /* EXEC with SUBSCRIBE inside: an element, no push. */
    {3, false, "ab", "*2\r\n" CONFIRM("+subscribe") "_\r\n+2\r\n",
     "a=[[subscribe,ch,1],_] b=2"},
    {3, false, "a", "|1\r\n+k\r\n+v\r\n" MESSAGE "+1\r\n",
     ">[message,ch,hi] a=1"},
    /* In RESP2 an array is a reply, but on a connection that subscribes. */
    {2, false, "ab", MESSAGE2 "+2\r\n", "a=[message,ch,hi] b=2"},
    {2, true, "S", CONFIRM2("+subscribe") MESSAGE2,
     "S=[subscribe,ch,1] >[message,ch,hi]"},
    {2, true, "ST", CONFIRM2("$9\r\nsubscribe") MESSAGE2 CONFIRM2("+subscribe"),
     "S=[subscribe,ch,1] >[message,ch,hi] T=[subscribe,ch,1]"},
    {2, true, "S", "-ERR no\r\n", "S=ERR no"},
    {2, true, "S",
     MESSAGE2 "*3\r\n+unsubscribe\r\n$-1\r\n:0\r\n" CONFIRM2("+subscribe"),
     ">[message,ch,hi] >[unsubscribe,_,0] S=[subscribe,ch,1]"},
    /* PING is answered by an array there, too. */
    {2, true, "Sa", CONFIRM2("+subscribe") "*2\r\n$4\r\npong\r\n+x\r\n",
     "S=[subscribe,ch,1] a=[pong,x]"},
    {2, true, "a", MESSAGE2 "*2\r\n$4\r\npong\r\n$0\r\n\r\n" MESSAGE2,
     ">[message,ch,hi] a=[pong,] >[message,ch,hi]"},
    {3, true, "aS", "*1\r\n+x\r\n" CONFIRM("+subscribe"),
     "a=[x] S=[subscribe,ch,1]"},
};

/* CONN-7: The same wherever two cuts fall. */
START_TEST(push_confirms_only_a_request_that_awaits_it)
{
    struct hf_conn_options options = defaults();
    const char *in = deliveries[_i].input;
    size_t len = strlen(in);

    options.is_subscriber = deliveries[_i].is_subscriber;
    for (size_t a = 0; a <= len; a++) {
        for (size_t b = a; b <= len; b += b - a < 3 ? 1 : 7) {
            setup_with(options, deliveries[_i].protocol);
            open_it();
            ask_all(deliveries[_i].asked);
            put_out_all();
            ck_assert_int_eq(take_in(in, a), HF_OK);
            ck_assert_int_eq(take_in(in + a, b - a), HF_OK);
            ck_assert_int_eq(take_in(in + b, len - b), HF_OK);
            ck_assert_str_eq(trace(), deliveries[_i].trace);
            ck_assert_uint_eq(hf_conn_in_flight(&t.conn), 0);
            ck_assert_uint_eq(t.conn.in_len, 0);
            teardown();
        }
    }
}
END_TEST

START_TEST(confirmation_of_a_cancelled_subscribe_is_discarded)
{
    start();
    ask_all("SaT");
    put_out_all();
    (void)give_up('S');
    ck_assert_int_eq(take(CONFIRM("+subscribe") "+1\r\n" CONFIRM("+subscribe")),
                     HF_OK);
    ck_assert_str_eq(trace(), "a=1 T=[subscribe,ch,1]");
    teardown();
}
END_TEST

/* Given up before and after it was sent, it still knows what confirms it. */
START_TEST(cancelled_subscribe_is_confirmed_by_its_own_push_alone)
{
    start();
    ask_all("SU");
    put_out_all();
    (void)give_up('S');
    ask_all("V");
    (void)give_up('V');
    ask_all("T");
    put_out_all();
    ck_assert_int_eq(take(CONFIRM("+unsubscribe") CONFIRM("+subscribe")
                              CONFIRM("+unsubscribe") CONFIRM("+subscribe")),
                     HF_OK);
    ck_assert_str_eq(trace(), ">[unsubscribe,ch,1] U=[unsubscribe,ch,1] "
                              "T=[subscribe,ch,1]");
    teardown();
}
END_TEST

static TCase *case_correlation(void)
{
    TCase *c = tcase_create("correlation");

    tcase_add_test(c, replies_match_requests_in_order);
    tcase_add_test(c, request_knows_when_it_was_sent);
    return c;
}

static TCase *case_counters(void)
{
    TCase *c = tcase_create("counters");

    tcase_add_test(c, requests_are_counted_by_outcome);
    tcase_add_test(c, latency_is_from_the_write_to_the_read);
    tcase_add_test(c, batch_is_one_write);
    tcase_add_loop_test(c, late_reply_is_discarded, 0, ROWS(late_replies));
    tcase_add_loop_test(c, withdrawn_request_sends_no_byte, 0, 1 << 5);
    tcase_add_test(c, withdrawn_requests_do_not_fill_the_connection);
    tcase_add_loop_test(c, many_requests_keep_their_order, 0, 66);
    return c;
}

static TCase *case_pushes(void)
{
    TCase *c = tcase_create("pushes");

    tcase_add_loop_test(c, push_confirms_only_a_request_that_awaits_it, 0,
                        ROWS(deliveries));
    tcase_add_test(c, confirmation_of_a_cancelled_subscribe_is_discarded);
    tcase_add_test(c, cancelled_subscribe_is_confirmed_by_its_own_push_alone);
    return c;
}

int main(void)
{
    Suite *s = suite_create("net/conn");

    suite_add_tcase(s, case_correlation());
    suite_add_tcase(s, case_counters());
    suite_add_tcase(s, case_pushes());
    return suite_run(s);
}
