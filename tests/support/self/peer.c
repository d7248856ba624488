/* Requests are decoded, scripts played, and their breach is told. */
#include "tests/support/peer.h"

#include <errno.h>
#include <hiredis/hiredis.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/handshake.h"
#include "tests/support/request.h"
#include "tests/support/self/self.h"

/* ---- requests ------------------------------------------------------------ */

static const char sample[] = "*3\r\n$3\r\nSET\r\n$0\r\n\r\n$4\r\na\r\nb\r\n";

START_TEST(a_request_is_the_same_wherever_it_is_cut)
{
    struct request r;
    char *text;

    for (size_t len = 0; len < sizeof sample - 1; len++)
        ck_assert_int_eq(request_decode(&r, sample, len), REQUEST_MORE);
    ck_assert_int_eq(request_decode(&r, sample, sizeof sample), REQUEST_WHOLE);
    ck_assert_uint_eq(r.len, sizeof sample - 1);
    text = request_text(&r);
    ck_assert_str_eq(text, "SET \"\" a\\x0D\\x0Ab");
    free(text);
}
END_TEST

static const char *const broken[] = {
    "PING\r\n",           "*0\r\n",           "*-1\r\n",
    "*1\n$4\r\nPING\r\n", "*\r\n",            "*1\r\n:1\r\n",
    "*1\r\n$-1\r\n",      "*1\r\n$1\r\nab\r", "*99999\r\n",
    "*1x\r\n",            "*000000000000000000000000000001",
    "*1\r\n$99999999\r\n",
};

START_TEST(invalid_request_is_refused)
{
    struct request r;

    ck_assert_int_eq(request_decode(&r, broken[_i], strlen(broken[_i])),
                     REQUEST_BROKEN);
}
END_TEST

static const struct {
    const char *pattern;
    bool matches;
} patterns[] = {
    {"SET \"\" *", true},  {"* * *", true},        {"...", true},
    {"SET ...", true},     {"SET * * ...", true},  {"SET", false},
    {"SET * *  ", true},   {"SET * * *", false},   {"GET ...", false},
    {"SE * *", false},     {"SET \"\" a", false},  {"", false},
};

START_TEST(a_pattern_matches_its_own_texts)
{
    struct request r;

    (void)request_decode(&r, sample, sizeof sample - 1);
    ck_assert_int_eq(request_matches(&r, patterns[_i].pattern),
                     patterns[_i].matches);
}
END_TEST

/* ---- peer ---------------------------------------------------------------- */

#define HELLO_3 "*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n"
#define HELLO_3_ANSWER                                                        \
    "%7\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$6\r\n7.0.15\r\n"  \
    "$5\r\nproto\r\n:3\r\n$2\r\nid\r\n:1\r\n$4\r\nmode\r\n$10\r\nstandalone"  \
    "\r\n$4\r\nrole\r\n$6\r\nmaster\r\n$7\r\nmodules\r\n*0\r\n"

START_TEST(a_peer_plays_its_script)
{
    static const struct peer_step script[] = {
        PEER_ACCEPT,
        PEER_EXPECT("SET key * NX"),
        PEER_SEND("+OK\r\n"),
        PEER_EXPECT("GET ..."),
        PEER_SEND("$3\r\na\0b\r\n"),
        PEER_GONE,
        PEER_END,
    };
    struct peer *peer = peer_start(script);
    redisContext *c = hiredis_to(peer_port(peer));
    redisReply *reply = redisCommand(c, "SET key value NX");

    ck_assert_str_eq(reply->str, "OK");
    freeReplyObject(reply);
    reply = redisCommand(c, "GET key");
    ck_assert_uint_eq(reply->len, 3);
    ck_assert_mem_eq(reply->str, "a\0b", 3);
    freeReplyObject(reply);
    redisFree(c);
    ck_assert_pstr_eq(peer_finish(peer), NULL);
    ck_assert_uint_eq(peer_received_count(peer), 2);
    ck_assert_str_eq(peer_received(peer, 0), "SET key value NX");
    ck_assert_str_eq(peer_received(peer, 1), "GET key");
    ck_assert_ptr_null(peer_received(peer, 2));
    peer_free(peer);
}
END_TEST

START_TEST(a_peer_complains_of_the_wrong_command_and_hangs_up)
{
    static const struct peer_step script[] = {
        PEER_ACCEPT, PEER_EXPECT("GET *"), PEER_SEND("$-1\r\n"), PEER_END};
    struct peer *peer = peer_start(script);
    int fd = connect_to(peer_port(peer));

    say(fd, PING);
    ck_assert_int_eq(hear_end(fd), 0);
    ck_assert_pstr_eq(peer_finish(peer),
                      "step 1 (EXPECT GET *): there came: PING");
    ck_assert_uint_eq(peer_received_count(peer), 0);
    ck_assert_int_eq(try_connect(peer_port(peer)), -1);
    peer_free(peer);
    (void)close(fd);
}
END_TEST

START_TEST(a_peer_complains_of_a_client_that_has_left)
{
    static const struct peer_step script[] = {PEER_ACCEPT, PEER_EXPECT("PING"),
                                              PEER_END};
    struct peer *peer = peer_start(script);
    int fd = connect_to(peer_port(peer));

    say(fd, "*1\r\n$4\r\nPI");
    (void)close(fd);
    ck_assert_pstr_eq(peer_finish(peer),
                      "step 1 (EXPECT PING): the client has gone");
    peer_free(peer);
}
END_TEST

/* The slow ones, all at once: a peer complains of what does not come. */
START_TEST(a_step_that_does_not_happen_is_a_complaint)
{
    static const struct peer_step unvisited[] = {PEER_ACCEPT, PEER_END};
    static const struct peer_step unasked[] = {
        PEER_ACCEPT, PEER_EXPECT("PING"), PEER_END};
    static const struct peer_step untold[] = {PEER_WAIT, PEER_END};
    static const struct peer_step lost[] = {PEER_SEND("x"), PEER_END};
    struct peer *a = peer_start(unvisited), *b = peer_start(unasked);
    struct peer *c = peer_start(untold), *d = peer_start(lost);
    int fd = connect_to(peer_port(b));

    ck_assert(!peer_await(b, 1));
    ck_assert_pstr_eq(peer_finish(a), "step 0 (ACCEPT): nobody has connected");
    ck_assert_pstr_eq(peer_finish(b),
                      "step 1 (EXPECT PING): it did not come in 5000 ms");
    ck_assert_pstr_eq(peer_finish(c),
                      "step 0 (WAIT): it did not come in 5000 ms");
    ck_assert_pstr_eq(peer_finish(d), "step 0 (SEND): there is no connection");
    peer_free(a);
    peer_free(b);
    peer_free(c);
    peer_free(d);
    (void)close(fd);
}
END_TEST

/* A busy machine may let bytes melt together, but not that many. */
START_TEST(a_peer_sends_slowly_one_byte_a_time)
{
    static const struct peer_step script[] = {
        PEER_ACCEPT, PEER_SEND_SLOWLY(THOUSAND_BYTES), PEER_END};
    struct peer *peer = peer_start(script);
    int fd = connect_to(peer_port(peer));

    ck_assert_int_gt(hear(fd, THOUSAND_BYTES), 3);
    ck_assert_pstr_eq(peer_finish(peer), NULL);
    peer_free(peer);
    (void)close(fd);
}
END_TEST

/* The client has written what nobody reads: an orderly end must not become a
 * reset by that. */
START_TEST(a_peer_ends_a_connection_as_scripted)
{
    static const struct peer_step script[] = {
        PEER_ACCEPT, PEER_WAIT, PEER_SEND("+a\r\n"), PEER_CLOSE,
        PEER_ACCEPT, PEER_WAIT, PEER_RESET, PEER_END};
    struct peer *peer = peer_start(script);
    int fd = connect_to(peer_port(peer));

    say(fd, PING);
    peer_go(peer);
    (void)hear(fd, "+a\r\n");
    ck_assert_int_eq(hear_end(fd), 0);
    (void)close(fd);
    fd = connect_to(peer_port(peer)); /* before the reset, which would fail it */
    peer_go(peer); /* may come before the step */
    ck_assert_int_eq(hear_end(fd), ECONNRESET);
    (void)close(fd);
    ck_assert_pstr_eq(peer_finish(peer), NULL);
    ck_assert_uint_eq(peer_received_count(peer), 0);
    peer_free(peer);
}
END_TEST

/* Raw bytes, so that each kind of reply is seen as it is. */
static const struct {
    const char *question;
    const char *answer;
} handshakes[] = {
    {HELLO_3, HELLO_3_ANSWER},
    {"*2\r\n$5\r\nHELLO\r\n$1\r\n4\r\n",
     "-NOPROTO unsupported protocol version\r\n"},
    {"*3\r\n$4\r\nauth\r\n$1\r\nu\r\n$1\r\np\r\n", "+OK\r\n"},
    {"*2\r\n$6\r\nCLIENT\r\n$2\r\nID\r\n", ":1\r\n"},
    {"*3\r\n$6\r\nCLIENT\r\n$7\r\nSETNAME\r\n$1\r\nn\r\n", "+OK\r\n"},
    {"*4\r\n$6\r\nCLIENT\r\n$4\r\nKILL\r\n$2\r\nID\r\n$1\r\n7\r\n", ":1\r\n"},
    {"*2\r\n$6\r\nSELECT\r\n$1\r\n3\r\n", "+OK\r\n"},
    {"*2\r\n$4\r\nINFO\r\n$6\r\nserver\r\n",
     "$81\r\n# Server\r\nredis_version:7.0.15\r\nrun_id:" HANDSHAKE_RUN_ID
     "\r\n\r\n"},
    {HELLO_3 "*1\r\n$4\r\nINFO\r\n",
     HELLO_3_ANSWER "=85\r\ntxt:# Server\r\nredis_version:7.0.15\r\nrun_id:"
     HANDSHAKE_RUN_ID "\r\n\r\n"},
};

START_TEST(a_client_may_begin_as_it_likes_after_the_handshake)
{
    static const struct peer_step script[] = {
        PEER_ACCEPT, PEER_HANDSHAKE, PEER_EXPECT("..."), PEER_SEND("+PONG\r\n"),
        PEER_END};
    struct peer *peer = peer_start(script);
    int fd = connect_to(peer_port(peer));

    say(fd, handshakes[_i].question);
    say(fd, PING);
    (void)hear(fd, handshakes[_i].answer);
    (void)hear(fd, "+PONG\r\n");
    ck_assert_pstr_eq(peer_finish(peer), NULL);
    ck_assert_str_eq(peer_received(peer, 0), "PING");
    peer_free(peer);
    (void)close(fd);
}
END_TEST

START_TEST(a_handshake_command_can_be_expected_by_name)
{
    static const struct peer_step script[] = {
        PEER_ACCEPT,           PEER_HANDSHAKE, PEER_EXPECT("HELLO 3"),
        PEER_SEND("-ERR\r\n"), PEER_WAIT,  PEER_END};
    struct peer *peer = peer_start(script);
    int fd = connect_to(peer_port(peer));

    say(fd, HELLO_3);
    (void)hear(fd, "-ERR\r\n");
    ck_assert(peer_await(peer, 1));
    say(fd, HELLO_3); /* during WAIT, handshakes are answered */
    (void)hear(fd, HELLO_3_ANSWER);
    peer_go(peer);
    ck_assert_pstr_eq(peer_finish(peer), NULL);
    ck_assert_uint_eq(peer_received_count(peer), 1);
    peer_free(peer);
    (void)close(fd);
}
END_TEST

START_TEST(a_peer_turns_from_one_connection_to_another)
{
    static const struct peer_step script[] = {
        PEER_ACCEPT,         PEER_HANDSHAKE,          PEER_EXPECT("PING"),
        PEER_ACCEPT,         PEER_HANDSHAKE,          PEER_EXPECT("PING"),
        PEER_TURN_TO(1),     PEER_SEND("+1\r\n"), PEER_TURN_TO(2),
        PEER_SEND("+2\r\n"), PEER_CLOSE,          PEER_TURN_TO(1),
        PEER_EXPECT("PING"), PEER_SEND("+3\r\n"), PEER_END};
    struct peer *peer = peer_start(script);
    int first = connect_to(peer_port(peer)), second;

    say(first, PING);
    second = connect_to(peer_port(peer));
    say(second, PING);
    (void)hear(first, "+1\r\n");
    (void)hear(second, "+2\r\n");
    ck_assert_int_eq(hear_end(second), 0);
    say(first, PING);
    (void)hear(first, "+3\r\n");
    ck_assert_pstr_eq(peer_finish(peer), NULL);
    peer_free(peer);
    (void)close(first);
    (void)close(second);
}
END_TEST

/* Writes until the kernel takes no more for `timeout_ms`, or `most` bytes. */
static size_t write_until_full(int fd, size_t most, int timeout_ms)
{
    static char bytes[65536];
    size_t sum = 0;

    while (sum < most) {
        struct pollfd p = {.fd = fd, .events = POLLOUT};
        ssize_t n;

        if (poll(&p, 1, timeout_ms) == 0)
            break;
        n = send(fd, bytes, sizeof bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
        ck_assert(n > 0 || errno == EAGAIN);
        sum += n > 0 ? (size_t)n : 0;
    }
    return sum;
}

START_TEST(a_holding_peer_reads_nothing_and_a_waiting_one_all)
{
    static const struct peer_step script[] = {
        PEER_ACCEPT, PEER_HOLD, PEER_WAIT, PEER_END};
    const size_t much = 24u << 20; /* more than any kernel's buffers */
    struct peer *peer = peer_start(script);
    int fd = connect_to(peer_port(peer));
    size_t sum = write_until_full(fd, much, A_MOMENT_MS);

    ck_assert_uint_lt(sum, much);
    peer_go(peer);
    ck_assert_uint_ge(sum + write_until_full(fd, much - sum, LONG_MS), much);
    peer_go(peer);
    ck_assert_pstr_eq(peer_finish(peer), NULL);
    peer_free(peer);
    (void)close(fd);
}
END_TEST

void add_peer_tests(Suite *suite)
{
    TCase *tc = add_tcase(suite, "request");

    tcase_add_test(tc, a_request_is_the_same_wherever_it_is_cut);
    tcase_add_loop_test(tc, invalid_request_is_refused, 0, COUNT(broken));
    tcase_add_loop_test(tc, a_pattern_matches_its_own_texts, 0, COUNT(patterns));

    tc = add_tcase(suite, "peer");
    tcase_add_test(tc, a_peer_plays_its_script);
    tcase_add_test(tc, a_peer_complains_of_the_wrong_command_and_hangs_up);
    tcase_add_test(tc, a_peer_complains_of_a_client_that_has_left);
    tcase_add_test(tc, a_step_that_does_not_happen_is_a_complaint);
    tcase_add_test(tc, a_peer_sends_slowly_one_byte_a_time);
    tcase_add_test(tc, a_peer_ends_a_connection_as_scripted);
    tcase_add_loop_test(tc, a_client_may_begin_as_it_likes_after_the_handshake, 0,
                        COUNT(handshakes));
    tcase_add_test(tc, a_handshake_command_can_be_expected_by_name);
    tcase_add_test(tc, a_peer_turns_from_one_connection_to_another);
    tcase_add_test(tc, a_holding_peer_reads_nothing_and_a_waiting_one_all);
}
