/* Values that are too large: each costs its own request, and not the connection,
 * wherever the bytes are cut. Source: conn.h, CONN-8. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/link/too_large.h"
#include "tests/support/conn_kit.h"
#include "tests/support/suite.h"

#define REPLY_MAX 2000
#define SKIPPED "TOOLARGE the reply was too large and was skipped"

static void start_small(int protocol, bool is_subscriber)
{
    struct hf_conn_options options = defaults();

    options.reply_max = REPLY_MAX;
    options.is_subscriber = is_subscriber;
    setup_with(options, protocol);
    open_it();
}

/* `text` times `count`, for free(). */
static char *repeat(const char *text, size_t count)
{
    size_t len = strlen(text);
    char *all = malloc(len * count + 1);

    ck_assert_ptr_nonnull(all);
    for (size_t i = 0; i < count; i++)
        memcpy(all + i * len, text, len);
    all[len * count] = '\0';
    return all;
}

/* A head, so many times a body, an end. */
struct large {
    const char *head, *body;
    size_t count;
    const char *end;
};

static char *bytes_of(const struct large *large)
{
    char *body = repeat(large->body, large->count);
    char *all = NULL;

    ck_assert_int_gt(asprintf(&all, "%s%s%s", large->head, body, large->end), 0);
    free(body);
    return all;
}

static hf_status take_in_steps(const char *bytes, size_t step)
{
    hf_status rc = HF_OK;

    for (size_t len = strlen(bytes), n; len > 0 && rc == HF_OK; len -= n) {
        n = len < step ? len : step;
        rc = take_in(bytes, n);
        bytes += n;
    }
    return rc;
}

static const struct large replies[] = {
    {"$5000\r\n", "x", 5000, "\r\n"},
    {"$2001\r\n", "\r", 2001, "\r\n"},
    {"$50000\r\n", "$5\r\n", 12500, "\r\n"},
    {"*1000\r\n", ":1\r\n", 1000, ""},
    {"*600\r\n", "$3\r\nabc\r\n", 600, ""},
    {"*100\r\n", "*2\r\n$8\r\n$1\r\n\r\n\r\n\r\n+ok\r\n", 100, ""},
    {"*3\r\n:1\r\n$5000\r\n", "\n", 5000, "\r\n:2\r\n"},
    {"", "*1\r\n", 600, ":1\r\n"},
    {"-ERR ", "x", 5000, "\r\n"},
    {"+", "y", 70000, "\r\n"},
    {"!5000\r\n", "x", 5000, "\r\n"},
    {"=5000\r\ntxt:", "x", 4996, "\r\n"},
    {"%700\r\n", "+k\r\n_\r\n", 700, ""},
    {"~700\r\n", "#t\r\n", 700, ""},
    {"$?\r\n", ";2\r\nxx\r\n", 700, ";0\r\n"},
    {"*?\r\n", ":1\r\n", 1500, ".\r\n"},
    {"|1\r\n+k\r\n$5000\r\n", "x", 5000, "\r\n+v\r\n"},
    {"(", "1", 5000, "\r\n"},
};

/* Those in front and behind are answered, in their order. */
START_TEST(reply_that_is_too_large_costs_its_request_alone)
{
    static const size_t steps[] = {1, 7, 100, 2000, 1 << 20};
    char *large = bytes_of(&replies[_i]), *all = NULL;

    ck_assert_int_gt(asprintf(&all, "+1\r\n%s+3\r\n%s+5\r\n", large, large), 0);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        start_small(3, false);
        ask_all("abcde");
        put_out_all();
        ck_assert_int_eq(take_in_steps(all, steps[i]), HF_OK);
        ck_assert_str_eq(trace(), "a=1 b=" SKIPPED " c=3 d=" SKIPPED " e=5");
        ck_assert(!hf_conn_is_skipping(&t.conn));
        teardown();
    }
    free(large);
    free(all);
}
END_TEST

START_TEST(kinds_of_resp2_are_skipped_in_resp2)
{
    char *large = bytes_of(&replies[_i]);

    start_small(2, false);
    ask_all("ab");
    put_out_all();
    ck_assert_int_eq(take(large), HF_OK);
    ck_assert_int_eq(take("+2\r\n"), HF_OK);
    ck_assert_str_eq(trace(), "a=" SKIPPED " b=2");
    teardown();
    free(large);
}
END_TEST

/* What a header promises is refused at the header: nobody awaits the bytes. */
START_TEST(request_ends_as_soon_as_the_header_is_there)
{
    static const char *const headers[] = {"$2001\r\n", "*667\r\n", "%334\r\n",
                                          "$536870912\r\n", "*2147483647\r\n"};

    start_small(3, false);
    ask_all("ab");
    put_out_all();
    ck_assert_int_eq(take(headers[_i]), HF_OK);
    ck_assert_str_eq(trace(), "a=" SKIPPED);
    ck_assert(hf_conn_is_skipping(&t.conn));
    close_it();
    ck_assert_str_eq(trace(), "b?");
    teardown();
}
END_TEST

/* 20 MB go by, and some kilobytes are kept. */
START_TEST(skipped_bytes_take_no_memory)
{
    static char piece[64 * 1024];
    uint64_t before;

    memset(piece, 'x', sizeof piece);
    start_small(3, false);
    ask_all("ab");
    put_out_all();
    before = memory_counts(&t.memory).live_bytes;
    ck_assert_int_eq(take("$20971520\r\n"), HF_OK);
    for (int i = 0; i < 320; i++) {
        ck_assert_int_eq(take_in(piece, sizeof piece), HF_OK);
        ck_assert_uint_le(memory_counts(&t.memory).live_bytes, before + (64u << 10));
    }
    ck_assert_int_eq(take("\r\n+2\r\n"), HF_OK);
    ck_assert_str_eq(trace(), "a=" SKIPPED " b=2");
    teardown();
}
END_TEST

/* Of a value that is within the limits nothing is lost, and one byte more is. */
START_TEST(limit_is_exact)
{
    for (int more = 0; more < 2; more++) {
        char *body = repeat("x", (size_t)(REPLY_MAX - 9 + more)), *all = NULL;

        ck_assert_int_gt(asprintf(&all, "$%zu\r\n%s\r\n", strlen(body), body), 0);
        start_small(3, false);
        ask_all("a");
        put_out_all();
        ck_assert_int_eq(take(all), HF_OK);
        ck_assert_int_eq(strcmp(trace(), "a=" SKIPPED) == 0, more);
        teardown();
        free(body);
        free(all);
    }
}
END_TEST

static const struct {
    int protocol;
    bool is_subscriber;
    struct large push;
} pushes[] = {
    {3, false, {">3\r\n$7\r\nmessage\r\n$2\r\nch\r\n$5000\r\n", "x", 5000, "\r\n"}},
    {3, false, {">3\r\n$7\r\nmessage\r\n$5000\r\n", "x", 5000, "\r\n$1\r\n1\r\n"}},
    {3, false, {">1000\r\n", "+x\r\n", 1000, ""}},
    {3, false, {"|1\r\n+k\r\n$5000\r\n", "x", 5000, "\r\n>1\r\n+x\r\n"}},
    {2, true, {"*3\r\n$7\r\nmessage\r\n$2\r\nch\r\n$5000\r\n", "x", 5000, "\r\n"}},
};

START_TEST(push_that_is_too_large_is_reported_and_no_request_ends)
{
    char *large = bytes_of(&pushes[_i].push), *all = NULL;
    int protocol = pushes[_i].protocol;

    ck_assert_int_gt(asprintf(&all, "%s%s%s", large,
                              protocol == 3 ? CONFIRM("+subscribe")
                                            : CONFIRM2("+subscribe"),
                              protocol == 3 ? MESSAGE : MESSAGE2), 0);
    for (size_t step = 1; step < 6000; step = step * 3 + 1) {
        start_small(protocol, pushes[_i].is_subscriber);
        ask_all("S");
        put_out_all();
        ck_assert_int_eq(take_in_steps(all, step), HF_OK);
        ck_assert_str_eq(trace(), ">? S=[subscribe,ch,1] >[message,ch,hi]");
        teardown();
    }
    free(large);
    free(all);
}
END_TEST

START_TEST(large_reply_to_a_cancelled_request_is_dropped)
{
    start_small(3, false);
    ask_all("ab");
    put_out_all();
    ck_assert_int_eq(give_up('a'), HF_UNKNOWN);
    ck_assert_int_eq(take("*1000\r\n"), HF_OK);
    for (int i = 0; i < 1000; i++)
        ck_assert_int_eq(take("_\r\n"), HF_OK);
    ck_assert_int_eq(take("+2\r\n"), HF_OK);
    ck_assert_str_eq(trace(), "b=2");
    ck_assert_uint_eq(t.conn.stats.late_replies, 1);
    teardown();
}
END_TEST

START_TEST(large_reply_without_a_request_is_fatal)
{
    start_small(3, false);
    ck_assert_int_eq(take("$5000\r\n"), HF_E_PROTOCOL);
    close_it();
    teardown();
}
END_TEST

START_TEST(skipped_bytes_that_are_not_resp_are_fatal)
{
    static const char *const bytes[] = {"*1000\r\nx", "$2001\r\n", "*1000\r\n+a\n"};
    char *body = repeat("y", 3000);

    start_small(3, false);
    ask_all("ab");
    put_out_all();
    (void)take(bytes[_i]);
    ck_assert_int_eq(_i == 1 ? take(body) : take("\n\n"), HF_E_PROTOCOL);
    ck_assert_ptr_nonnull(strstr(t.conn.error.text, "not RESP"));
    close_it();
    teardown();
    free(body);
}
END_TEST

/* The place is free, and a request that its owner adds is answered in its turn. */
static void ask_another(int name)
{
    if (name == 'a')
        ask_all("b");
}

START_TEST(callback_may_send_a_request_while_bytes_are_skipped)
{
    char *body = repeat("x", 5000);

    start_small(3, false);
    t.on_done = ask_another;
    ask_all("a");
    put_out_all();
    ck_assert_int_eq(take("$5000\r\n"), HF_OK);
    put_out_all();
    ck_assert_int_eq(take(body), HF_OK);
    ck_assert_int_eq(take("\r\n+2\r\n"), HF_OK);
    ck_assert_str_eq(trace(), "a=" SKIPPED " b=2");
    t.on_done = NULL;
    teardown();
    free(body);
}
END_TEST

START_TEST(next_connection_skips_nothing)
{
    start_small(3, false);
    ask_all("a");
    put_out_all();
    ck_assert_int_eq(take("$5000\r\nxxx"), HF_OK);
    close_it();
    open_it();
    ask_all("b");
    put_out_all();
    ck_assert_int_eq(take("+2\r\n"), HF_OK);
    ck_assert_str_eq(trace(), "a=" SKIPPED " b=2");
    teardown();
}
END_TEST

/* ---- the handshake ---- */

#define HELLO "%1\r\n$2\r\nid\r\n:42\r\n"

static void begin_handshake(void)
{
    struct hf_conn_options options = defaults();

    options.reply_max = REPLY_MAX;
    setup_with(options, 3);
    ck_assert_int_eq(hf_conn_open(&t.conn), HF_OK);
    put_out_all();
}

/* The run_id in the reply to INFO is useful, not required. After the header of the last
 * reply, the connection is ready, and its next bytes are those of the reply. */
START_TEST(large_replies_to_settings_do_not_end_the_handshake)
{
    char *body = repeat("x", 5000);

    begin_handshake();
    ck_assert_int_eq(take(HELLO "$5000\r\n"), HF_OK);
    ck_assert_int_eq(take(body), HF_OK);
    ck_assert_int_eq(take("\r\n+OK\r\n+OK\r\n"), HF_OK);
    ck_assert_int_eq(t.conn.state, HF_CONN_HANDSHAKE);
    ck_assert_int_eq(take("$5000\r\n"), HF_OK);
    ck_assert_int_eq(t.conn.state, HF_CONN_READY);
    ask_all("a");
    put_out_all();
    ck_assert_int_eq(take(body), HF_OK);
    ck_assert_int_eq(take("\r\n+1\r\n"), HF_OK);
    ck_assert_str_eq(trace(), "a=1");
    teardown();
    free(body);
}
END_TEST

START_TEST(large_reply_to_hello_is_a_refusal)
{
    begin_handshake();
    ck_assert_int_eq(take("%1000\r\n"), HF_E_SERVER);
    ck_assert_ptr_nonnull(strstr(t.conn.error.text, "too large"));
    close_it();
    teardown();
}
END_TEST

START_TEST(large_push_in_the_handshake_is_dropped)
{
    char *body = repeat("+x\r\n", 1000);

    begin_handshake();
    ck_assert_int_eq(take(">1000\r\n"), HF_OK);
    ck_assert_int_eq(take(body), HF_OK);
    ck_assert_int_eq(take(HELLO "$0\r\n\r\n+OK\r\n+OK\r\n+OK\r\n"), HF_OK);
    ck_assert_int_eq(t.conn.state, HF_CONN_READY);
    ck_assert_str_eq(trace(), "");
    teardown();
    free(body);
}
END_TEST

START_TEST(no_reply_of_a_server_is_the_one_for_skipped_ones)
{
    struct hf_resp_node node;
    struct hf_resp_tape tape = {.nodes = &node, .room = 1};
    static const char bytes[] = "-" SKIPPED "\r\n";
    struct hf_resp_parser p;

    hf_resp_init(&p, NULL, 3);
    ck_assert_int_eq(hf_resp_parse(&p, bytes, strlen(bytes), &tape), HF_OK);
    ck_assert(!hf_is_too_large_reply(hf_resp_first(&tape, bytes, 0)));
    ck_assert(hf_is_too_large_reply(hf_too_large_reply()));
    ck_assert(hf_resp_is_error(hf_too_large_reply()));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("net/conn, skipping");
    TCase *c = tcase_create("skip");

    tcase_add_loop_test(c, reply_that_is_too_large_costs_its_request_alone, 0,
                        ROWS(replies));
    tcase_add_loop_test(c, kinds_of_resp2_are_skipped_in_resp2, 0, 10);
    tcase_add_loop_test(c, request_ends_as_soon_as_the_header_is_there, 0, 5);
    tcase_add_test(c, skipped_bytes_take_no_memory);
    tcase_add_test(c, limit_is_exact);
    tcase_add_loop_test(c, push_that_is_too_large_is_reported_and_no_request_ends, 0,
                        ROWS(pushes));
    tcase_add_test(c, large_reply_to_a_cancelled_request_is_dropped);
    tcase_add_test(c, large_reply_without_a_request_is_fatal);
    tcase_add_loop_test(c, skipped_bytes_that_are_not_resp_are_fatal, 0, 3);
    tcase_add_test(c, callback_may_send_a_request_while_bytes_are_skipped);
    tcase_add_test(c, next_connection_skips_nothing);
    tcase_add_test(c, large_replies_to_settings_do_not_end_the_handshake);
    tcase_add_test(c, large_reply_to_hello_is_a_refusal);
    tcase_add_test(c, large_push_in_the_handshake_is_dropped);
    tcase_add_test(c, no_reply_of_a_server_is_the_one_for_skipped_ones);
    suite_add_tcase(s, c);
    return suite_run(s);
}
