/* The limits of a connection: writes that stop anywhere, requests, bytes and
 * replies that are too many or too great, memory that is given back, a password
 * that is wiped. Source: conn.h, rules C. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "net/base/error.h"
#include "tests/support/login.h"
#include "tests/support/conn_kit.h"
#include "tests/support/handshake.h"
#include "tests/support/suite.h"

#define PASSWORD "open sesame, please"

/* ---- writing ---- */

/* The kernel takes some bytes, more is asked, it takes some more. */
START_TEST(wire_is_the_same_wherever_a_write_stops)
{
    size_t len = 60; /* two commands, at least */

    for (size_t a = 0; a <= len; a++) {
        for (size_t b = 0; b <= len; b++) {
            start();
            ask_all("ab");
            (void)put_out(a);
            ask_all("cd");
            (void)put_out(b);
            ask_all("e");
            put_out_all();
            ck_assert_str_eq(wire(), "ECHO a|ECHO b|ECHO c|ECHO d|ECHO e");
            teardown();
        }
    }
}
END_TEST

/* ---- limits ---- */

#define ECHO_SIZE (sizeof "*2\r\n$4\r\nECHO\r\n$1\r\na\r\n" - 1)

static const struct {
    size_t output_max;
    uint32_t requests_max;
    int taken;
} limits[] = {
    {3 * ECHO_SIZE - 1, 100, 2}, {3 * ECHO_SIZE, 100, 3},
    {3 * ECHO_SIZE + 1, 100, 3}, {ECHO_SIZE - 1, 100, 0},
    {0, 100, 0},                 {SIZE_MAX, 100, 5},
    {1 << 20, 2, 2},             {1 << 20, 3, 3},
    {1 << 20, 4, 4},             {1 << 20, 0, 0},
    {SIZE_MAX, UINT32_MAX, 5},
};

static int ask_until_full(void)
{
    for (int taken = 0; taken < 5; taken++) {
        hf_status rc = ask('a' + taken);

        if (rc < 0) {
            ck_assert_int_eq(rc, HF_E_LIMIT);
            return taken;
        }
    }
    return 5;
}

/* What is refused leaves no trace; and room comes back. */
START_TEST(limits_are_exact)
{
    struct hf_conn_options options = defaults();
    char expected[64] = "";

    options.output_max = limits[_i].output_max;
    options.requests_max = limits[_i].requests_max;
    setup_with(options, 3);
    ck_assert_int_eq(ask_until_full(), limits[_i].taken);
    open_it();
    put_out_all();
    for (int i = 0; i < limits[_i].taken; i++) {
        (void)sprintf(strchr(expected, '\0'), "%sECHO %c", i ? "|" : "", 'a' + i);
        ck_assert_int_eq(take("+x\r\n"), HF_OK);
    }
    ck_assert_str_eq(wire(), expected);
    ck_assert_int_eq(ask_until_full(), limits[_i].taken);
    teardown();
}
END_TEST

/* Given up or not, what is in flight takes a place until it is answered. */
START_TEST(place_in_flight_counts_until_its_reply_came)
{
    struct hf_conn_options options = defaults();

    options.requests_max = 2;
    setup_with(options, 3);
    open_it();
    ask_all("ab");
    put_out_all();
    (void)give_up('a');
    ck_assert_int_eq(ask('c'), HF_E_LIMIT);
    ck_assert_int_eq(take("+1\r\n"), HF_OK);
    ask_all("c");
    ck_assert_int_eq(ask('d'), HF_E_LIMIT);
    teardown();
}
END_TEST

/* Bytes that the kernel has not taken count, whosever they are. */
START_TEST(unwritten_bytes_count)
{
    struct hf_conn_options options = defaults();

    options.output_max = 2 * ECHO_SIZE;
    setup_with(options, 3);
    open_it();
    ask_all("ab");
    (void)put_out(ECHO_SIZE - 1);
    ck_assert_int_eq(ask('c'), HF_E_LIMIT);
    (void)put_out(1);
    ask_all("c");
    ck_assert_int_eq(ask('d'), HF_E_LIMIT);
    put_out_all();
    ck_assert_str_eq(wire(), "ECHO a|ECHO b|ECHO c");
    teardown();
}
END_TEST

START_TEST(argument_that_no_memory_holds_is_refused)
{
    struct hf_resp_arg argv[2] = {{"ECHO", 4}, {"x", SIZE_MAX - 1}};
    struct hf_conn_options options = defaults();

    options.output_max = SIZE_MAX;
    setup_with(options, 3);
    for (size_t len = SIZE_MAX; len > UINT32_MAX - 64; len /= 2) {
        argv[1].len = len;
        ck_assert_int_eq(hf_conn_submit(&t.conn, &t.requests['a'], argv, 2),
                         HF_E_LIMIT);
        check();
    }
    teardown();
}
END_TEST

/* ---- memory ---- */

/* Headers that announce much, and the first 64 KiB of the announced bytes (issues 1357 of
 * hiredis and 45388 of Envoy). */
static const struct {
    const char *header;
    const char *filling;
} promises[] = {
    {"$536870912\r\n", "x"},
    {"!536870912\r\n", "x"},
    {"=536870912\r\ntxt:", "x"},
    {"*357913941\r\n", ":1\r\n"},
    {"*1000000\r\n*1000000\r\n*1000000\r\n", "+value\r\n"},
    {"%1000000\r\n+k\r\n*1000000\r\n", "_\r\n"},
    {"$?\r\n;500000000\r\n", "x"},
};

START_TEST(memory_follows_received_bytes_not_announced_sizes)
{
    const size_t len = strlen(promises[_i].filling);
    struct hf_conn_options options = defaults();
    size_t before, came = 0;

    options.reply_max = 1u << 30;
    setup_with(options, 3);
    open_it();
    ask_all("a");
    put_out_all();
    before = memory_counts(&t.memory).live_bytes;
    ck_assert_int_eq(take(promises[_i].header), HF_OK);
    for (; came < 64 * 1024; came += len) {
        ck_must(take(promises[_i].filling) == HF_OK, "a promise may be kept");
        if (memory_counts(&t.memory).live_bytes > before + 16 * 1024 + 12 * came)
            ck_abort_msg("%zu bytes of memory for %zu that came",
                         memory_counts(&t.memory).live_bytes - before, came);
    }
    close_it();
    ck_assert_str_eq(trace(), "a?");
    teardown();
}
END_TEST

/* A reply of 8 MiB, and a reply of a million nodes: once they are delivered,
 * what they took is free again, and the connection goes on. */
START_TEST(memory_of_a_large_value_is_freed)
{
    static char piece[64 * 1024];
    size_t before;

    start();
    ask_all("a");
    put_out_all();
    ck_assert_int_eq(take("+a\r\n"), HF_OK);
    before = memory_counts(&t.memory).live_bytes;
    ask_all("bc");
    put_out_all();
    memset(piece, 'x', sizeof piece - 1);
    ck_assert_int_eq(take("$8388480\r\n"), HF_OK);
    for (int i = 0; i < 128; i++)
        ck_assert_int_eq(take(piece), HF_OK);
    ck_assert_uint_gt(memory_counts(&t.memory).live_bytes, before + (4u << 20));
    ck_assert_int_eq(take("\r\n"), HF_OK);
    ck_assert_uint_le(memory_counts(&t.memory).live_bytes, before + (1u << 20));
    ck_assert_int_eq(take("*1048560\r\n"), HF_OK);
    for (size_t i = 0; i + 5 < sizeof piece; i += 5)
        memcpy(piece + i, "+no\r\n", 6);
    for (int i = 0; i < 79; i++)
        ck_assert_int_eq(take(piece), HF_OK);
    ck_assert_uint_gt(memory_counts(&t.memory).live_bytes, before + (4u << 20));
    ck_assert_int_eq(take(piece), HF_OK);
    ck_assert_uint_le(memory_counts(&t.memory).live_bytes, before + (1u << 20));
    close_it();
    teardown();
}
END_TEST

START_TEST(promise_over_the_limit_is_refused_at_once)
{
    static const char *const headers[] = {"$536870913\r\n", "*4294967295\r\n",
                                          "*2147483648\r\n",
                                          "%4294967295\r\n"};

    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        start();
        ask_all("a");
        put_out_all();
        ck_assert_int_eq(take(headers[i]), HF_E_LIMIT);
        ck_assert_int_eq(t.conn.error.status, HF_E_LIMIT);
        teardown();
    }
}
END_TEST

/* The password is on the wire and nowhere else, wherever the write stopped. */
START_TEST(password_is_erased_once_it_is_sent)
{
    const char *ptr;
    size_t len = 1;

    for (size_t a = 0; a < len; a++) {
        setup();
        hf_conn_handshake(&t.conn)->login = login_of("", PASSWORD);
        ck_assert_int_eq(hf_conn_open(&t.conn), HF_OK);
        len = hf_conn_output(&t.conn, t.now_us, &ptr);
        ck_assert_ptr_nonnull(memmem(ptr, len, PASSWORD, strlen(PASSWORD)));
        hf_conn_wrote(&t.conn, a);
        if (a % 2)
            hf_conn_wrote(&t.conn, len - a);
        else
            hf_conn_close(&t.conn);
        ck_assert_ptr_null(
            memmem(&t.conn, sizeof t.conn, PASSWORD, strlen(PASSWORD)));
        teardown();
    }
    ck_assert_uint_gt(len, 50);
}
END_TEST

/* The output grows behind an AUTH: the buffer that it was in is wiped, too. */
START_TEST(password_is_wiped_from_a_buffer_that_was_too_small)
{
    static char bulk[3000];

    start();
    memset(bulk, 'x', sizeof bulk);
    memory_secret(&t.memory, PASSWORD);
    hf_conn_note_secret(&t.conn);
    ck_assert_int_eq(ask_for('a', PASSWORD, strlen(PASSWORD)), HF_OK);
    for (int name = 'b'; name < 'h'; name++)
        ck_assert_int_eq(ask_for(name, bulk, sizeof bulk), HF_OK);
    hf_conn_close(&t.conn);
    hf_conn_fail_queued(&t.conn);
    teardown();
}
END_TEST

/* ---- the handshake ---- */

/* The kernel takes a part of a step, as far as its first `n` commands or a byte
 * less, and the server answers what it has: each answer may come as soon as its
 * question has left, and not before. */
START_TEST(handshake_may_leave_and_be_answered_in_pieces)
{
    static const char *const commands[] = {
        "*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n",
        "*2\r\n$4\r\nINFO\r\n$6\r\nserver\r\n",
        "*3\r\n$6\r\nCLIENT\r\n$7\r\nSETNAME\r\n$4\r\ntest\r\n"};
    static const char *const replies[] = {"%1\r\n+proto\r\n:3\r\n", "$0\r\n\r\n", "+OK\r\n"};
    size_t len = 0;

    for (int n = 0; n < (int)(sizeof commands / sizeof *commands); n++) {
        len += strlen(commands[n]);
        for (int lacks = 0; lacks <= 1; lacks++) {
            setup();
            hf_conn_open(&t.conn);
            ck_assert_uint_eq(put_out(len - (size_t)lacks),
                              len - (size_t)lacks);
            for (int i = 0; i < n; i++)
                ck_assert_int_eq(take(replies[i]), HF_OK);
            ck_assert_int_eq(take(replies[n]), lacks ? HF_E_PROTOCOL : HF_OK);
            close_it();
            teardown();
        }
    }
}
END_TEST

START_TEST(handshake_refuses_pushes_and_surplus_replies)
{
    setup_with(defaults(), 2);
    ck_assert_int_eq(hf_conn_open(&t.conn), HF_OK);
    put_out_all();
    ck_assert_int_eq(take(":7\r\n$0\r\n\r\n+OK\r\n+OK\r\n"), HF_OK);
    ck_assert_int_eq(take("+OK\r\n+OK\r\n"), HF_E_PROTOCOL);
    teardown();

    setup();
    ck_assert_int_eq(hf_conn_open(&t.conn), HF_OK);
    put_out_all();
    ck_assert_int_eq(take(MESSAGE), HF_OK);
    ck_assert_str_eq(trace(), "");
    close_it();
    open_it();
    teardown();
}
END_TEST

static TCase *case_limits(void)
{
    TCase *c = tcase_create("limits");

    tcase_add_test(c, wire_is_the_same_wherever_a_write_stops);
    tcase_add_loop_test(c, limits_are_exact, 0, ROWS(limits));
    tcase_add_test(c, place_in_flight_counts_until_its_reply_came);
    tcase_add_test(c, unwritten_bytes_count);
    tcase_add_test(c, argument_that_no_memory_holds_is_refused);
    tcase_add_test(c, promise_over_the_limit_is_refused_at_once);
    tcase_add_loop_test(c, memory_follows_received_bytes_not_announced_sizes, 0,
                        ROWS(promises));
    tcase_add_test(c, memory_of_a_large_value_is_freed);
    tcase_add_test(c, password_is_erased_once_it_is_sent);
    tcase_add_test(c, password_is_wiped_from_a_buffer_that_was_too_small);
    tcase_add_test(c, handshake_may_leave_and_be_answered_in_pieces);
    tcase_add_test(c, handshake_refuses_pushes_and_surplus_replies);
    return c;
}

int main(void)
{
    Suite *s = suite_create("net/conn, limits");

    suite_add_tcase(s, case_limits());
    return suite_run(s);
}
