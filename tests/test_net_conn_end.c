/* How a connection ends: by a reply that nobody asked for, by its link; and what
 * becomes of its requests. Sources: RESP-CONFORMANCE, rules V4 and V5; conn.h. */
#include <check.h>
#include <string.h>

#include "net/base/error.h"
#include "tests/support/conn_kit.h"
#include "tests/support/suite.h"

/* ---- forgeries: V4, CONN-3, CONN-4 ---- */

#define SPLIT_ERROR(forged)                                      \
    "-ERR user_script:1: x\r\n" forged " script: 6f1ed002ab, on" \
    " @user_script:1.\r\n:29939\r\n"

/* What Valkey 8.0.1 makes of error("x\r\n<forged>\r\n"): CVE-2025-67733. */
static const char *const forgeries[] = {
    SPLIT_ERROR("+OK\r\n"),
    SPLIT_ERROR(":1\r\n"),
    SPLIT_ERROR("$-1\r\n"),
    SPLIT_ERROR("*0\r\n"),
    SPLIT_ERROR("_\r\n"),
    SPLIT_ERROR("#t\r\n"),
    SPLIT_ERROR(MESSAGE),
    SPLIT_ERROR(CONFIRM("+subscribe")),
    SPLIT_ERROR("*2\r\n$1\r\na\r\n:1\r\n"),
    "+1\r\nHTTP/1.1 400 Bad Request\r\n",
    ":1\r\n:x\r\n",
    "$1\r\n1\r\n$2\r\n123\r\n",
    "+1\r\n\r\n",
};

START_TEST(nothing_of_a_read_is_delivered_before_all_has_parsed)
{
    start();
    ask_all("aSb");
    put_out_all();
    ask_all("c");
    ck_assert_int_eq(take(forgeries[_i]), HF_E_PROTOCOL);
    ck_assert_int_eq(t.conn.error.status, HF_E_PROTOCOL);
    ck_assert_ptr_nonnull(strstr(t.conn.error.text, "not RESP"));
    ck_assert_str_eq(trace(), "");
    close_it();
    ck_assert_str_eq(trace(), "a? S? b?");
    teardown();
}
END_TEST

static const struct {
    const char *asked;
    const char *queued;
    const char *given_up;
    const char *input;
    const char *trace;
} unasked[] = {
    {"", "", "", "+x\r\n", ""},
    {"", "", "", "$-1\r\n", ""},
    {"", "", "", "-ERR max number of clients reached\r\n", ""},
    {"", "a", "", "+x\r\n", ""},
    {"a", "", "", "+1\r\n+x\r\n", "a=1"},
    {"a", "b", "", "+1\r\n+x\r\n", "a=1"},
    {"a", "", "a", "+1\r\n+x\r\n", ""},
    {"a", "bc", "b", "+1\r\n+x\r\n", "a=1"},
};

START_TEST(reply_without_a_request_is_fatal)
{
    start();
    ask_all(unasked[_i].asked);
    put_out_all();
    ask_all(unasked[_i].queued);
    for (const char *name = unasked[_i].given_up; *name; name++)
        (void)give_up(*name);
    ck_assert_int_eq(take(unasked[_i].input), HF_E_PROTOCOL);
    ck_assert_ptr_nonnull(strstr(t.conn.error.text, "without a request"));
    ck_assert_str_eq(trace(), unasked[_i].trace);
    teardown();
}
END_TEST

static void condemn(int name)
{
    (void)name;
    t.conn.is_condemned = true;
    (void)hf_error_set(&t.conn.error, HF_E_PROTOCOL, "condemned");
}

START_TEST(nothing_more_is_delivered_once_condemned)
{
    start();
    ask_all("abc");
    put_out_all();
    t.on_done = condemn;
    ck_assert_int_eq(take("+1\r\n+2\r\n" MESSAGE), HF_E_PROTOCOL);
    ck_assert_str_eq(trace(), "a=1");
    t.on_done = NULL;
    close_it();
    ck_assert_str_eq(trace(), "b? c?");
    teardown();
}
END_TEST

/* Condemned outside of a read: what comes before the close is not believed, and
 * what is queued waits for a better connection. */
START_TEST(failed_connection_neither_reads_nor_writes)
{
    start();
    ask_all("a");
    put_out_all();
    condemn('a');
    ask_all("b");
    put_out_all();
    ck_assert_str_eq(wire(), "ECHO a");
    ck_assert_int_eq(take("+1\r\n"), HF_E_PROTOCOL);
    close_it();
    ck_assert_str_eq(trace(), "a?");
    open_it();
    put_out_all();
    ck_assert_str_eq(wire(), "ECHO b");
    ck_assert_int_eq(take("+2\r\n"), HF_OK);
    ck_assert_str_eq(trace(), "b=2");
    teardown();
}
END_TEST

/* ---- the end of a connection: CONN-5, CONN-6, V5 ---- */

/* Wherever the last write stopped. */
START_TEST(close_makes_written_requests_unknown_and_keeps_the_rest)
{
    size_t written = 0, len = 1;

    for (; written <= len; written++) {
        start();
        ask_all("ab");
        len = t.conn.out_end - t.conn.out_start;
        (void)put_out(written);
        ask_all("cd");
        close_it();
        ck_assert_str_eq(trace(), "a? b?");
        ck_assert_uint_eq(hf_conn_queued(&t.conn), 2);
        open_it();
        put_out_all();
        ck_assert_str_eq(wire(), "ECHO c|ECHO d");
        ck_assert_int_eq(take("+3\r\n+4\r\n"), HF_OK);
        ck_assert_str_eq(trace(), "c=3 d=4");
        teardown();
    }
    ck_assert_uint_gt(written, 20);
}
END_TEST

START_TEST(queued_requests_wait_for_the_handshake_and_survive_its_failure)
{
    setup();
    ask_all("a");
    ck_assert_int_eq(hf_conn_open(&t.conn), HF_OK);
    put_out_all();
    ask_all("b");
    put_out_all();
    ck_assert_str_eq(wire(), "HELLO 3|INFO server|CLIENT SETNAME test|"
                             "CLIENT SETINFO LIB-NAME holdfast|"
                             "CLIENT SETINFO LIB-VER " HF_VERSION);
    ck_assert_int_eq(take("-LOADING later\r\n"), HF_E_SERVER);
    close_it();
    ck_assert_str_eq(trace(), "");
    open_it();
    put_out_all();
    ck_assert_str_eq(wire(), "ECHO a|ECHO b");
    teardown();
}
END_TEST

/* redis-py 4283, 4106: half a reply of the old connection must not be glued to
 * the new one's. */
START_TEST(half_a_reply_dies_with_its_connection)
{
    static const char reply[] = "*2\r\n$3\r\nold\r\n%1\r\n+k\r\n:1\r\n";

    for (size_t cut = 0; cut < sizeof reply - 1; cut++) {
        start();
        ask_all("a");
        put_out_all();
        ck_assert_int_eq(take_in(reply, cut), HF_OK);
        close_it();
        ask_all("b");
        open_it();
        put_out_all();
        ck_assert_int_eq(take(reply), HF_OK);
        ck_assert_str_eq(trace(), "a? b=[old,[k,1]]");
        teardown();
    }
}
END_TEST

static void ask_again(int name)
{
    ck_assert_int_eq(ask(name), HF_OK);
}

/* What a lock does with an outcome that is not known. */
START_TEST(request_may_be_repeated_from_its_callback)
{
    start();
    ask_all("abc");
    put_out_all();
    t.on_done = ask_again;
    close_it();
    ck_assert_str_eq(trace(), "a? b? c?");
    open_it();
    put_out_all();
    ck_assert_str_eq(wire(), "ECHO a|ECHO b|ECHO c");
    ck_assert_int_eq(take("+1\r\n"), HF_OK);
    put_out_all();
    ck_assert_str_eq(wire(), "ECHO a|ECHO b|ECHO c|ECHO a");
    close_it();
    ck_assert_str_eq(trace(), "a=1 b? c? a?");
    hf_conn_fail_queued(&t.conn);
    check();
    ck_assert_str_eq(trace(), "b! c! a!");
    ck_assert_uint_eq(hf_conn_queued(&t.conn), 3);
    t.on_done = NULL;
    teardown();
}
END_TEST

static const char *victims;

static void give_up_victims(int name)
{
    (void)name;
    t.on_done = NULL;
    for (const char *victim = victims; *victim; victim++)
        ck_assert_int_eq(give_up(*victim), t.conn.first < t.conn.first_unsent
                                               ? HF_UNKNOWN
                                               : HF_UNSENT);
    ck_assert_int_eq(ask('z'), HF_OK);
}

static const struct {
    const char *victims;
    const char *lost;       /* if all four were in flight */
    const char *failed;     /* if they were queued */
} neighbours[] = {
    {"", "a? b? c? d?", "a! b! c! d!"}, {"b", "a? c? d?", "a! c! d!"},
    {"c", "a? b? d?", "a! b! d!"},      {"d", "a? b? c?", "a! b! c!"},
    {"bc", "a? d?", "a! d!"},           {"cd", "a? b?", "a! b!"},
    {"dc", "a? b?", "a! b!"},           {"bcd", "a?", "a!"},
    {"dbc", "a?", "a!"},
};

/* `a` ends, gives up others and asks something new: none is told twice, none
 * is forgotten, and the new one waits. */
START_TEST(callback_of_a_request_may_cancel_its_neighbours)
{
    victims = neighbours[_i].victims;
    for (int is_queued = 0; is_queued < 2; is_queued++) {
        start();
        ask_all("abcd");
        if (!is_queued)
            put_out_all();
        t.on_done = give_up_victims;
        close_it();
        if (is_queued)
            hf_conn_fail_queued(&t.conn);
        check();
        ck_assert_str_eq(trace(), is_queued ? neighbours[_i].failed
                                            : neighbours[_i].lost);
        ck_assert_uint_eq(hf_conn_queued(&t.conn), 1);
        open_it();
        put_out_all();
        ck_assert_str_eq(wire(), "ECHO z");
        teardown();
    }
}
END_TEST

static TCase *case_forgeries(void)
{
    TCase *c = tcase_create("forgeries");

    tcase_add_loop_test(c,
                        nothing_of_a_read_is_delivered_before_all_has_parsed,
                        0, ROWS(forgeries));
    tcase_add_loop_test(c, reply_without_a_request_is_fatal, 0,
                        ROWS(unasked));
    tcase_add_test(c, nothing_more_is_delivered_once_condemned);
    tcase_add_test(c, failed_connection_neither_reads_nor_writes);
    return c;
}

static TCase *case_ends(void)
{
    TCase *c = tcase_create("ends");

    tcase_add_test(c,
                   close_makes_written_requests_unknown_and_keeps_the_rest);
    tcase_add_test(c,
                   queued_requests_wait_for_the_handshake_and_survive_its_failure);
    tcase_add_test(c, half_a_reply_dies_with_its_connection);
    tcase_add_test(c, request_may_be_repeated_from_its_callback);
    tcase_add_loop_test(c, callback_of_a_request_may_cancel_its_neighbours, 0,
                        ROWS(neighbours));
    return c;
}

int main(void)
{
    Suite *s = suite_create("net/conn, ends");

    suite_add_tcase(s, case_forgeries());
    suite_add_tcase(s, case_ends());
    return suite_run(s);
}
