/* The network is as bad as told, and no worse; in front of a real server. */
#include "tests/support/one_server.h"
#include "tests/support/proxy.h"

#include <errno.h>
#include <hiredis/hiredis.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/local.h"
#include "tests/support/self/self.h"
#include "tests/support/server.h"

static struct proxy *proxy;

static void start(void)
{
    start_server();
    proxy = proxy_start(server_port(server));
}

static void stop(void)
{
    proxy_stop(proxy);
    stop_server();
}

#define INCR "*2\r\n$4\r\nINCR\r\n$1\r\nn\r\n"
#define INCR_LEN (sizeof INCR - 1)

/* Until the server has that many connections, the witness's among them. */
static void await_clients(int count)
{
    int64_t deadline_ms = local_now_ms() + LONG_MS;
    int found;

    do {
        const char *at = server_ask(server, "CLIENT LIST");

        for (found = 0; (at = strstr(at, " addr=")); at++)
            found++;
        if (found == count)
            return;
        local_poll_rest();
    } while (local_now_ms() < deadline_ms);
    ck_abort_msg("still %d connections, not %d", found, count);
}

START_TEST(a_proxy_changes_nothing_by_itself)
{
    const size_t len = 3u << 20; /* more than it keeps at a time */
    redisContext *c = hiredis_to(proxy_port(proxy));
    char *value = local_new(len);
    redisReply *reply;

    for (size_t i = 0; i < len; i++)
        value[i] = (char)(i * 31 % 251);
    reply = redisCommand(c, "SET big %b", value, len);
    ck_assert_str_eq(reply->str, "OK");
    freeReplyObject(reply);
    reply = redisCommand(c, "GET big");
    ck_assert_uint_eq(reply->len, len);
    ck_assert(memcmp(reply->str, value, len) == 0);
    freeReplyObject(reply);
    free(value);
    redisFree(c);
    ck_assert_uint_eq(proxy_accepted(proxy), 1);
    await_clients(1);
}
END_TEST

START_TEST(a_proxy_slices)
{
    int fd = connect_to(proxy_port(proxy));

    (void)server_ask(server, "SET k %s", THOUSAND_BYTES);
    proxy_slice(proxy, PROXY_TO_SERVER, 1);
    proxy_slice(proxy, PROXY_TO_CLIENT, 2);
    say(fd, "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n");
    ck_assert_int_gt(hear(fd, "$1000\r\n" THOUSAND_BYTES "\r\n"), 3);
    (void)close(fd);
}
END_TEST

START_TEST(a_proxy_delays_each_way)
{
    int fd = connect_to(proxy_port(proxy));
    int64_t start_ms = local_now_ms();

    proxy_delay(proxy, PROXY_TO_SERVER, 60);
    proxy_delay(proxy, PROXY_TO_CLIENT, 40);
    say(fd, INCR);
    server_await(server, LONG_MS, "1", "GET n");
    ck_assert_int_ge(local_now_ms() - start_ms, 60);
    (void)hear(fd, ":1\r\n");
    ck_assert_int_ge(local_now_ms() - start_ms, 99); /* two roundings */
    proxy_delay(proxy, PROXY_TO_SERVER, 0);
    proxy_delay(proxy, PROXY_TO_CLIENT, 0);
    (void)close(fd);
}
END_TEST

START_TEST(a_proxy_holds_requests_until_released)
{
    int fd = connect_to(proxy_port(proxy));

    proxy_hold(proxy, PROXY_TO_SERVER, true);
    say(fd, INCR);
    say(fd, INCR);
    ck_assert(proxy_await(proxy, PROXY_TO_SERVER, PROXY_KEPT, 2 * INCR_LEN,
                          LONG_MS));
    ck_assert(is_silent(fd));
    ck_assert_str_eq(server_ask(server, "GET n"), "(nil)");
    /* Even what a client left behind and went away is executed then. */
    (void)close(fd);
    proxy_hold(proxy, PROXY_TO_SERVER, false);
    server_await(server, LONG_MS, "2", "GET n");
    ck_assert_uint_eq(proxy_count(proxy, PROXY_TO_SERVER, PROXY_KEPT), 0);
    ck_assert_uint_eq(proxy_count(proxy, PROXY_TO_SERVER, PROXY_PASSED),
                      2 * INCR_LEN);
}
END_TEST

START_TEST(a_proxy_drops_replies_of_executed_requests)
{
    int fd = connect_to(proxy_port(proxy));

    proxy_swallow(proxy, PROXY_TO_CLIENT, true);
    say(fd, INCR);
    ck_assert(proxy_await(proxy, PROXY_TO_CLIENT, PROXY_DROPPED, 4, LONG_MS));
    ck_assert_str_eq(server_ask(server, "GET n"), "1");
    ck_assert(is_silent(fd));
    proxy_swallow(proxy, PROXY_TO_CLIENT, false);
    say(fd, INCR);
    (void)hear(fd, ":2\r\n");
    (void)close(fd);
}
END_TEST

START_TEST(a_proxy_cuts_all_connections)
{
    enum proxy_end end = _i ? PROXY_RESET : PROXY_CLOSE;
    int a = connect_to(proxy_port(proxy)), b = connect_to(proxy_port(proxy));

    say(a, PING);
    say(b, PING);
    (void)hear(a, "+PONG\r\n");
    (void)hear(b, "+PONG\r\n");
    proxy_cut(proxy, end);
    ck_assert_int_eq(hear_end(a), end == PROXY_RESET ? ECONNRESET : 0);
    ck_assert_int_eq(hear_end(b), end == PROXY_RESET ? ECONNRESET : 0);
    (void)close(a);
    (void)close(b);
    a = connect_to(proxy_port(proxy));
    say(a, PING);
    (void)hear(a, "+PONG\r\n");
    (void)close(a);
}
END_TEST

/* Every cut in a request: only the whole one is executed, and no cut brings a
 * reply. */
START_TEST(a_request_is_executed_only_if_all_of_it_passed)
{
    for (size_t n = 0; n <= INCR_LEN; n++) {
        int fd = connect_to(proxy_port(proxy));

        (void)server_ask(server, "SET n 0");
        say(fd, PING);
        (void)hear(fd, "+PONG\r\n"); /* the server knows the connection */
        proxy_cut_after(proxy, PROXY_TO_SERVER, n, PROXY_RESET);
        say(fd, INCR);
        ck_assert_int_eq(hear_end(fd), ECONNRESET);
        ck_assert(proxy_has_cut(proxy));
        (void)close(fd);
        await_clients(1); /* its end is behind its bytes: they were read */
        ck_assert_str_eq(server_ask(server, "GET n"), n < INCR_LEN ? "0" : "1");
    }
}
END_TEST

/* Every cut in a reply: so many bytes of it come, and then the end. */
START_TEST(a_reply_is_cut_after_the_given_byte)
{
    for (size_t n = 0; n <= 7; n++) {
        char part[] = "+PONG\r\n";
        int fd = connect_to(proxy_port(proxy));

        proxy_cut_after(proxy, PROXY_TO_CLIENT, n, PROXY_CLOSE);
        say(fd, PING);
        part[n] = '\0';
        (void)hear(fd, part);
        ck_assert_int_eq(hear_end(fd), 0);
        (void)close(fd);
    }
    ck_assert(proxy_has_cut(proxy));
    proxy_cut_after(proxy, PROXY_TO_CLIENT, 1, PROXY_CLOSE);
    ck_assert(!proxy_has_cut(proxy));
}
END_TEST

START_TEST(a_proxy_closes_and_accepts_with_its_server)
{
    int fd = connect_to(proxy_port(proxy)), late;

    say(fd, PING);
    (void)hear(fd, "+PONG\r\n");
    server_kill(server);
    (void)hear_end(fd);
    (void)close(fd);
    late = connect_to(proxy_port(proxy));
    ck_assert_int_eq(hear_end(late), ECONNRESET);
    (void)close(late);
    server_restart(server);
    fd = connect_to(proxy_port(proxy));
    say(fd, PING);
    (void)hear(fd, "+PONG\r\n");
    proxy_hold(proxy, PROXY_TO_SERVER, true); /* left open and held: */
    say(fd, PING);                            /* stopping must cope */
    (void)close(fd);
}
END_TEST

void add_proxy_tests(Suite *suite)
{
    TCase *tc = add_tcase(suite, "proxy");

    tcase_add_checked_fixture(tc, start, stop);
    tcase_add_test(tc, a_proxy_changes_nothing_by_itself);
    tcase_add_test(tc, a_proxy_slices);
    tcase_add_test(tc, a_proxy_delays_each_way);
    tcase_add_test(tc, a_proxy_holds_requests_until_released);
    tcase_add_test(tc, a_proxy_drops_replies_of_executed_requests);
    tcase_add_loop_test(tc, a_proxy_cuts_all_connections, 0, 2);
    tcase_add_test(tc, a_request_is_executed_only_if_all_of_it_passed);
    tcase_add_test(tc, a_reply_is_cut_after_the_given_byte);
    tcase_add_test(tc, a_proxy_closes_and_accepts_with_its_server);
}
