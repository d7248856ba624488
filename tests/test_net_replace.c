/* Two connections to one address that lead to two processes (replace.h, REPLACE-4). The peer is
 * the balancer: it says of each connection to which process it leads. */
#include <check.h>

#include "net/route/replace.h"
#include "net/route/server.h"
#include "tests/support/link_kit.h"
#include "tests/support/suite.h"

#define LEADS_TO(run_id) \
    PEER_HANDSHAKE, PEER_EXPECT("INFO server"), \
        PEER_SEND("$22\r\n# Server\r\nrun_id:" run_id "\r\n\r\n"), PEER_HANDSHAKE
#define OLD "old"
#define NEW "new"
#define ECHOES(word) PEER_EXPECT("ECHO " word), PEER_SEND("+" word "\r\n")

/* The clock of the client, which a test sets forward. The linker puts these in place of what the
 * library calls (mk/tests.mk: --wrap). */
static int64_t forward_ms;

int64_t __real_hf_clock_us(void);
int64_t __wrap_hf_clock_us(void);
int64_t __wrap_hf_clock_ms(void);

int64_t __wrap_hf_clock_us(void)
{
    return __real_hf_clock_us() + forward_ms * 1000;
}

int64_t __wrap_hf_clock_ms(void)
{
    return __wrap_hf_clock_us() / 1000;
}

static void set_forward(int64_t ms)
{
    lock();
    forward_ms += ms;
    unlock();
}

static struct hf_router *router;
static struct hf_server *only;
static struct hf_link *waiting;

static void begin(struct peer *peer)
{
    struct hf_router_options o = {.seeds = NULL};
    struct hf_error err;

    forward_ms = 0;
    prepare(peer_port(peer));
    options.protocol = 2;
    o.link = options;
    open_loop(false);
    ck_assert_int_eq(hf_router_new(&router, loop, &o, &err), HF_OK);
    lock();
    only = router->only_server;
    ck_assert_int_eq(hf_server_wait_link(&waiting, only), HF_OK);
    unlock();
}

static void end(struct peer *peer)
{
    ck_assert_pstr_eq(peer_finish(peer), NULL);
    lock();
    hf_loop_quiesce(loop);
    hf_router_free(router);
    hf_loop_resume(loop);
    unlock();
    close_loop();
    peer_free(peer);
}

/* Sends a request over this link of the server. */
static void start_over(struct ask *a, struct hf_link *link, const char *words)
{
    link_ = link;
    start(a, words, LONG_MS);
}

static void must_echo(struct hf_link *link, const char *words, const char *expected)
{
    struct ask a;

    start_over(&a, link, words);
    ck_assert_str_eq(answer(&a), expected);
}

static bool is_back(const struct hf_link *link)
{
    struct hf_link_stats stats;
    bool is_up;

    lock();
    hf_link_get_stats(link, &stats);
    is_up = hf_link_is_up(link);
    unlock();
    return is_up && stats.connects == 2;
}

static bool first_is_back(void)
{
    return is_back(only->link);
}

static bool second_is_back(void)
{
    return is_back(waiting);
}

/* The first connection began before a failover, and its handshake ended after it. */
static const struct peer_step slow_handshake[] = {
    PEER_ACCEPT,     PEER_EXPECT("CLIENT ID"),
    PEER_ACCEPT,     LEADS_TO(NEW),      ECHOES("b"),
    PEER_TURN_TO(1), PEER_SEND(":1\r\n"), LEADS_TO(OLD), PEER_GONE,
    PEER_ACCEPT,     LEADS_TO(NEW),      ECHOES("a"),
    PEER_TURN_TO(2), ECHOES("c"),        PEER_END};

START_TEST(a_connection_that_began_earlier_is_not_newer)
{
    struct peer *peer = peer_start(slow_handshake);

    begin(peer);
    lock();
    hf_link_want(only->link, true);
    unlock();
    drive_until_received(peer, 1);
    must_echo(waiting, "ECHO b", "b");
    drive_until(first_is_back);
    must_echo(only->link, "ECHO a", "a");
    must_echo(waiting, "ECHO c", "c");
    end(peer);
}
END_TEST

/* The balancer changes back and forth once. After the pause the client looks again, and the
 * older connection is replaced; again the new one leads to where the first one led. */
static const struct peer_step changes_back[] = {
    PEER_ACCEPT,     LEADS_TO(OLD), ECHOES("a"),
    PEER_ACCEPT,     LEADS_TO(NEW), PEER_TURN_TO(1), PEER_GONE,
    PEER_ACCEPT,     LEADS_TO(OLD), ECHOES("b"),
    PEER_TURN_TO(2), ECHOES("c"),   PEER_GONE,
    PEER_ACCEPT,     LEADS_TO(OLD), ECHOES("d"),
    PEER_TURN_TO(3), ECHOES("e"),   PEER_END};

START_TEST(after_a_pause_the_older_connection_is_replaced)
{
    struct peer *peer = peer_start(changes_back);

    begin(peer);
    must_echo(only->link, "ECHO a", "a");
    lock();
    hf_link_want(waiting, true);
    unlock();
    drive_until(first_is_back);
    must_echo(only->link, "ECHO b", "b");
    must_echo(waiting, "ECHO c", "c");
    set_forward(REPLACE_PAUSE_MS);
    drive_until(second_is_back);
    must_echo(waiting, "ECHO d", "d");
    must_echo(only->link, "ECHO e", "e");
    end(peer);
}
END_TEST

/* The balancer changes back and forth, and the handshake of the third connection takes longer
 * than most pauses, or not. */
static const struct peer_step changes_back_slowly[] = {
    PEER_ACCEPT,     LEADS_TO(OLD), ECHOES("a"),
    PEER_ACCEPT,     LEADS_TO(NEW), PEER_TURN_TO(1), PEER_GONE,
    PEER_ACCEPT,     PEER_EXPECT("CLIENT ID"), PEER_WAIT,
    PEER_SEND(":3\r\n"), LEADS_TO(OLD), ECHOES("b"),
    PEER_TURN_TO(2), ECHOES("c"), PEER_END};

static const int64_t handshake_ms[] = {0, 900, 1500, 3000};

START_TEST(slow_handshake_does_not_hide_an_address_of_several_servers)
{
    struct peer *peer = peer_start(changes_back_slowly);

    begin(peer);
    must_echo(only->link, "ECHO a", "a");
    lock();
    hf_link_want(waiting, true);
    unlock();
    drive_until_received(peer, 4);
    set_forward(handshake_ms[_i]);
    peer_go(peer);
    drive_until(first_is_back);
    must_echo(only->link, "ECHO b", "b");
    must_echo(waiting, "ECHO c", "c");
    end(peer);
}
END_TEST

/* Each connection leads to the next one of three processes. */
static const struct peer_step in_turn[] = {
    PEER_ACCEPT,     LEADS_TO(OLD), ECHOES("a"),
    PEER_ACCEPT,     LEADS_TO(NEW), PEER_TURN_TO(1), PEER_GONE,
    PEER_ACCEPT,     LEADS_TO("3rd"), ECHOES("b"),
    PEER_TURN_TO(2), ECHOES("c"), PEER_END};

START_TEST(address_of_three_servers_is_recognised_as_well)
{
    struct peer *peer = peer_start(in_turn);

    begin(peer);
    must_echo(only->link, "ECHO a", "a");
    lock();
    hf_link_want(waiting, true);
    unlock();
    drive_until(first_is_back);
    must_echo(only->link, "ECHO b", "b");
    must_echo(waiting, "ECHO c", "c");
    end(peer);
}
END_TEST

/* Without another failover, the client does not take this address for one that leads to several
 * servers. */
static void must_not_pause(void)
{
    lock();
    ck_assert_int_eq(only->replace_pause_until_ms, 0);
    unlock();
}

/* The process to which the first connection leads after a failover does not report its run_id;
 * two others follow. */
static const struct peer_step without_run_id[] = {
    PEER_ACCEPT,     LEADS_TO(OLD), ECHOES("a"),
    PEER_ACCEPT,     LEADS_TO(NEW), PEER_TURN_TO(1), PEER_GONE,
    PEER_ACCEPT,     PEER_HANDSHAKE,PEER_EXPECT("INFO server"), PEER_SEND("$1\r\n#\r\n"),
    PEER_HANDSHAKE,
    ECHOES("b"),     PEER_TURN_TO(2), ECHOES("c"), PEER_CLOSE,
    PEER_ACCEPT,     LEADS_TO("3rd"), ECHOES("d"), PEER_TURN_TO(3), PEER_CLOSE,
    PEER_ACCEPT,     LEADS_TO("4th"), PEER_TURN_TO(4), PEER_GONE,
    PEER_ACCEPT,     LEADS_TO("4th"), ECHOES("e"), PEER_TURN_TO(5), ECHOES("f"), PEER_END};

static bool first_is_down(void)
{
    bool is_down;

    lock();
    is_down = !hf_link_is_up(only->link);
    unlock();
    return is_down;
}

START_TEST(a_process_without_a_run_id_ends_the_absence_of_its_connection)
{
    struct peer *peer = peer_start(without_run_id);
    static struct ask last;

    begin(peer);
    must_echo(only->link, "ECHO a", "a");
    lock();
    hf_link_want(waiting, true);
    unlock();
    drive_until(first_is_back);
    must_echo(only->link, "ECHO b", "b");
    must_echo(waiting, "ECHO c", "c");
    drive_until(second_is_back);
    must_echo(waiting, "ECHO d", "d");
    drive_until(first_is_down);
    start_over(&last, only->link, "ECHO f");
    drive_until_received(peer, 10);
    must_echo(waiting, "ECHO e", "e");
    ck_assert_str_eq(answer(&last), "f");
    must_not_pause();
    end(peer);
}
END_TEST

/* The connection of RESP2 subscriptions was left, and RESP3 needs none: its link was freed. */
static const struct peer_step one_failover[] = {
    PEER_ACCEPT,     LEADS_TO(OLD), ECHOES("a"),
    PEER_ACCEPT,     LEADS_TO(NEW), PEER_TURN_TO(1), PEER_GONE,
    PEER_ACCEPT,     LEADS_TO(NEW), ECHOES("b"), PEER_END};

START_TEST(a_link_that_was_freed_is_not_awaited)
{
    struct peer *peer = peer_start(one_failover);

    begin(peer);
    must_echo(only->link, "ECHO a", "a");
    lock();
    ck_assert_ptr_null(hf_pubsub_own_link(only->pubsub));
    only->replaced_attempts[SERVER_LINKS - 1] = 1;
    hf_link_want(waiting, true);
    unlock();
    drive_until(first_is_back);
    must_echo(only->link, "ECHO b", "b");
    must_not_pause();
    end(peer);
}
END_TEST

/* ---- the connection for messages (RESP2) ---- */

static const struct peer_step no_messages[] = {
    PEER_ACCEPT, LEADS_TO(OLD), ECHOES("a"),
    PEER_ACCEPT, PEER_CLOSE,    PEER_ACCEPT, PEER_CLOSE,    PEER_ACCEPT, PEER_CLOSE,
    PEER_ACCEPT, PEER_HANDSHAKE,PEER_EXPECT("PING"), PEER_SEND("+PONG\r\n"),
    PEER_EXPECT("INFO server"), PEER_SEND("$1\r\n#\r\n"), PEER_HANDSHAKE,
    PEER_EXPECT("SUBSCRIBE c"), PEER_SEND("*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n"),
    PEER_END};

static struct hf_error trouble;
static int troubles;

static void on_trouble(void *ctx, enum hf_trouble about, const struct hf_error *why)
{
    (void)ctx;
    if (about == HF_TROUBLE_LOST)
        return;
    trouble = *why;
    troubles++;
}

static bool is_subscribed;

static void on_live(struct hf_subscription *s, bool is_live)
{
    (void)s;
    is_subscribed = is_live;
}

static void on_no_message(struct hf_subscription *s, const char *ptr, size_t len)
{
    (void)s;
    (void)ptr;
    (void)len;
}

static bool is_live_now(void)
{
    return is_subscribed;
}

START_TEST(a_missing_connection_for_messages_is_reported_once)
{
    static struct hf_subscription s = {.channel = "c", .channel_len = 1,
                                       .on_message = on_no_message, .on_change = on_live};
    struct peer *peer = peer_start(no_messages);

    begin(peer);
    must_echo(only->link, "ECHO a", "a");
    lock();
    router->options.on_trouble = on_trouble;
    ck_assert_int_eq(hf_router_subscribe(router, &s, 0), HF_OK);
    unlock();
    drive_until(is_live_now);
    ck_assert_int_eq(troubles, 1);
    ck_assert_ptr_nonnull(strstr(trouble.text, "no connection for messages"));
    ck_assert_ptr_nonnull(strstr(trouble.text, hf_link_address(only->link)));
    lock();
    hf_router_unsubscribe(&s);
    unlock();
    end(peer);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("net/replace");
    TCase *c = tcase_create("two processes");

    tcase_set_timeout(c, 60);
    tcase_add_test(c, a_connection_that_began_earlier_is_not_newer);
    tcase_add_test(c, after_a_pause_the_older_connection_is_replaced);
    tcase_add_loop_test(c, slow_handshake_does_not_hide_an_address_of_several_servers, 0,
                        sizeof handshake_ms / sizeof *handshake_ms);
    tcase_add_test(c, address_of_three_servers_is_recognised_as_well);
    tcase_add_test(c, a_process_without_a_run_id_ends_the_absence_of_its_connection);
    tcase_add_test(c, a_link_that_was_freed_is_not_awaited);
    tcase_add_test(c, a_missing_connection_for_messages_is_reported_once);
    suite_add_tcase(suite, c);
    return suite_run(suite);
}
