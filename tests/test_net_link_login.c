/* The login of a link: which connection uses which answer of the program, and when the
 * program is asked. Rules: link_login.c, LINK-8. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "net/link/link_inner.h"
#include "tests/support/link_kit.h"
#include "tests/support/suite.h"

#define SUSPECT_MS 100
#define SILENCE_MS 20000          /* longer than a test */
#define HELLO_OK PEER_SEND("%1\r\n+proto\r\n:3\r\n"), PEER_HANDSHAKE

/* ---- a program that knows passwords ---- */

static struct {
    int queries;
    uint64_t id;                /* of the last one */
    int later_from;             /* this query and the following ones are answered later */
    const char *user;
    int64_t expires_in_ms;
} provider;

static hf_status provide(void *ctx, const struct hf_credentials_query *query,
                         struct hf_credentials *out, struct hf_error *err)
{
    (void)ctx;
    (void)err;
    ck_assert_uint_eq(query->size, sizeof *query);
    ck_assert_uint_eq(out->size, sizeof *out);
    provider.id = query->id;
    out->user = provider.user;
    out->password = "first";
    out->expires_in_ms = provider.expires_in_ms;
    return ++provider.queries < provider.later_from ? HF_OK : HF_CREDENTIALS_LATER;
}

static void open_provided(struct peer *peer, int later_from)
{
    provider.queries = 0;
    provider.later_from = later_from;
    prepare(peer_port(peer));
    options.suspect_ms = SUSPECT_MS;
    options.silence_ms = SILENCE_MS;
    options.credentials = provide;
    open_prepared();
}

static bool give_for(const char *password, int64_t expires_in_ms)
{
    struct hf_credentials c = {.size = sizeof c,
                               .password = password,
                               .expires_in_ms = expires_in_ms};
    bool is_taken;

    lock();
    is_taken = hf_link_answer_credentials(link_, provider.id, &c, NULL);
    unlock();
    return is_taken;
}

static bool give(const char *password)
{
    return give_for(password, 0);
}

static void drive_until_asked(int queries)
{
    while (provider.queries < queries)
        drive_for(1);
}

/* ---- rivals ---- */

/* The program takes a long time for its answer, and meanwhile the silent server speaks.
 * The next rival waits for the same answer. */
START_TEST(query_of_a_rival_that_was_stopped_is_not_lost)
{
    static const struct peer_step script[] = {
        PEER_ACCEPT, PEER_EXPECT("HELLO 3 AUTH default first"),
        HELLO_OK, PEER_EXPECT("ECHO a"), PEER_WAIT,
        PEER_SEND("+a\r\n"), PEER_EXPECT("ECHO b"),
        PEER_ACCEPT, PEER_EXPECT("HELLO 3 AUTH default second"),
        HELLO_OK, PEER_EXPECT("ECHO c"),
        PEER_SEND("+c\r\n"), PEER_END};
    struct peer *peer = peer_start(script);
    struct ask a, b;

    open_provided(peer, 2);
    start(&a, "ECHO a", LONG_MS);
    drive_until_asked(2); /* by the rival */
    peer_go(peer);
    ck_assert_str_eq(answer(&a), "a");
    start(&b, "ECHO b", LONG_MS);
    drive_for(4 * SUSPECT_MS);
    ck_assert_int_eq(provider.queries, 2);
    ck_assert(give("second"));
    ck_assert_str_eq(answer(&b), "(unknown)");
    ck_assert_str_eq(ask("ECHO c"), "c");
    ck_assert_int_eq(provider.queries, 2);
    end_with_peer(peer);
}
END_TEST

/* It came while no connection was made: the next one has it. */
START_TEST(answer_after_its_rival_was_stopped_is_used)
{
    static const struct peer_step script[] = {
        PEER_ACCEPT, PEER_EXPECT("HELLO 3 AUTH default first"),
        HELLO_OK, PEER_EXPECT("ECHO a"), PEER_WAIT,
        PEER_SEND("+a\r\n"), PEER_WAIT, PEER_CLOSE,
        PEER_ACCEPT, PEER_EXPECT("HELLO 3 AUTH default second"),
        HELLO_OK, PEER_EXPECT("ECHO b"),
        PEER_SEND("+b\r\n"), PEER_END};
    struct peer *peer = peer_start(script);
    struct ask a;

    open_provided(peer, 2);
    start(&a, "ECHO a", LONG_MS);
    drive_until_asked(2);
    peer_go(peer);
    ck_assert_str_eq(answer(&a), "a");
    ck_assert(give("second"));
    peer_go(peer);
    drive_until(is_down);
    ck_assert_str_eq(ask("ECHO b"), "b");
    ck_assert_int_eq(provider.queries, 2);
    end_with_peer(peer);
}
END_TEST

static bool has_rival(void)
{
    bool it_has;

    lock();
    it_has = link_->rival != NULL;
    unlock();
    return it_has;
}

static bool rival_dials(void)
{
    bool it_does;

    lock();
    it_does = link_->rival && link_->rival->state >= HF_LINK_DIALING;
    unlock();
    return it_does;
}

/* A login that expires is replaced, although the rival took the query along and got the
 * answer before it was stopped (LOGIN-3). */
START_TEST(login_is_replaced_after_its_rival_was_stopped)
{
    static const struct peer_step script[] = {
        PEER_ACCEPT, PEER_EXPECT("HELLO 3 AUTH default first"),
        HELLO_OK, PEER_EXPECT("ECHO a"), PEER_WAIT,
        PEER_SEND("+a\r\n"), PEER_EXPECT("AUTH second"), PEER_SEND("+OK\r\n"),
        PEER_END};
    struct peer *peer = peer_start(script);
    struct ask a;

    provider.expires_in_ms = 400;
    open_provided(peer, 2);
    want(true);
    drive_until_asked(2); /* by the link */
    start(&a, "ECHO a", LONG_MS);
    drive_until(has_rival);
    ck_assert(give("second"));
    peer_go(peer);
    ck_assert_str_eq(answer(&a), "a");
    drive_until_received(peer, 3);
    ck_assert_int_eq(provider.queries, 2);
    end_with_peer(peer);
}
END_TEST

/* LOGIN-1: the answer is as old as it is, also when a rival has begun with it. */
START_TEST(old_answer_of_a_rival_that_was_stopped_is_not_used)
{
    static const struct peer_step script[] = {
        PEER_ACCEPT, PEER_EXPECT("HELLO 3 AUTH default first"),
        HELLO_OK, PEER_EXPECT("ECHO a"), PEER_ACCEPT, PEER_WAIT, PEER_TURN_TO(1),
        PEER_SEND("+a\r\n"), PEER_WAIT, PEER_CLOSE,
        PEER_ACCEPT, PEER_EXPECT("HELLO 3 AUTH default third"),
        HELLO_OK, PEER_EXPECT("ECHO b"),
        PEER_SEND("+b\r\n"), PEER_END};
    struct peer *peer = peer_start(script);
    struct ask a, b;

    open_provided(peer, 2);
    start(&a, "ECHO a", LONG_MS);
    drive_until_asked(2); /* by the rival */
    ck_assert(give("second"));
    drive_until(rival_dials);
    lock();
    link_->rival->login_received_ms -= 20000;
    unlock();
    peer_go(peer);
    ck_assert_str_eq(answer(&a), "a");
    peer_go(peer);
    drive_until(is_down);
    start(&b, "ECHO b", LONG_MS);
    drive_until_asked(3);
    ck_assert(give("third"));
    ck_assert_str_eq(answer(&b), "b");
    end_with_peer(peer);
}
END_TEST

#define LIFE_MS 8000 /* CREDENTIALS_FRESH_MS is more */

/* An answer that no connection has used, of this age. */
static void leave_answer(struct peer *peer, int64_t age_ms)
{
    struct ask a;

    open_provided(peer, 2);
    start(&a, "ECHO a", LONG_MS);
    drive_until_asked(2); /* by the rival */
    peer_go(peer);
    ck_assert_str_eq(answer(&a), "a");
    ck_assert(give_for("second", LIFE_MS));
    lock();
    link_->login_received_ms -= age_ms;
    link_->next_login_expires_ms -= age_ms;
    unlock();
    peer_go(peer);
    drive_until(is_down);
}

/* LOGIN-3: after three quarters of its life, a login that no connection has used yet begins
 * none. */
START_TEST(login_that_must_be_replaced_begins_no_connection)
{
    static const struct peer_step script[] = {
        PEER_ACCEPT, PEER_EXPECT("HELLO 3 AUTH default first"),
        HELLO_OK, PEER_EXPECT("ECHO a"), PEER_WAIT,
        PEER_SEND("+a\r\n"), PEER_WAIT, PEER_CLOSE,
        PEER_ACCEPT, PEER_EXPECT("HELLO 3 AUTH default third"),
        HELLO_OK, PEER_EXPECT("ECHO b"),
        PEER_SEND("+b\r\n"), PEER_END};
    struct peer *peer = peer_start(script);
    struct ask b;

    leave_answer(peer, LIFE_MS / 4 * 3 + 1);
    start(&b, "ECHO b", LONG_MS);
    drive_until_asked(3);
    ck_assert(give("third"));
    ck_assert_str_eq(answer(&b), "b");
    end_with_peer(peer);
}
END_TEST

/* LOGIN-3: its life began with the answer, not with the connection. */
START_TEST(login_is_replaced_after_three_quarters_of_its_whole_life)
{
    static const struct peer_step script[] = {
        PEER_ACCEPT, PEER_EXPECT("HELLO 3 AUTH default first"),
        HELLO_OK, PEER_EXPECT("ECHO a"), PEER_WAIT,
        PEER_SEND("+a\r\n"), PEER_WAIT, PEER_CLOSE,
        PEER_ACCEPT, PEER_EXPECT("HELLO 3 AUTH default second"),
        HELLO_OK, PEER_EXPECT("ECHO b"),
        PEER_SEND("+b\r\n"), PEER_END};
    struct peer *peer = peer_start(script);

    leave_answer(peer, LIFE_MS / 2);
    ck_assert_str_eq(ask("ECHO b"), "b");
    ck_assert_int_eq(provider.queries, 2);
    lock();
    ck_assert_int_eq(link_->login_timer.due_ms, link_->login_received_ms + LIFE_MS / 4 * 3);
    unlock();
    end_with_peer(peer);
}
END_TEST

/* The server has forgotten the user when the rival connects, but the default user has the
 * same password. */
START_TEST(placeholder_is_known_of_a_rivals_connection)
{
#define PLACEHOLDER_LOGIN                                                              \
    PEER_EXPECT("HELLO 3 AUTH app first"), PEER_SEND("-WRONGPASS invalid\r\n"),        \
        PEER_HANDSHAKE,                                                                \
        PEER_EXPECT("INFO server"), PEER_SEND("-NOAUTH Authentication required.\r\n"), \
        PEER_EXPECT("HELLO 3 AUTH default first"), HELLO_OK
    static const struct peer_step script[] = {
        PEER_ACCEPT, PEER_EXPECT("HELLO 3 AUTH app first"), HELLO_OK, PEER_EXPECT("ECHO a"),
        PEER_ACCEPT, PLACEHOLDER_LOGIN, PEER_EXPECT("ECHO b"), PEER_SEND("+b\r\n"),
        PEER_END};
    struct peer *peer = peer_start(script);
    struct ask a;

    provider.user = "app";
    open_provided(peer, 100);
    start(&a, "ECHO a", LONG_MS);
    ck_assert_str_eq(answer(&a), "(unknown)");
    ck_assert_str_eq(ask("ECHO b"), "b");
    lock();
    ck_assert_pstr_eq(hf_link_refused_user(link_), "app");
    unlock();
    end_with_peer(peer);
}
END_TEST

/* ---- credentials that expire ---- */

static bool is_up_again(void)
{
    return strcmp(changes, "+-+") == 0;
}

/* In RESP2 a connection with subscriptions is replaced. The new one uses the answer that
 * was the reason. */
START_TEST(subscribed_connection_is_replaced_with_one_query)
{
    static const struct peer_step script[] = {
        PEER_ACCEPT, PEER_HANDSHAKE, PEER_WAIT, PEER_GONE, PEER_ACCEPT, PEER_HANDSHAKE, PEER_WAIT,
        PEER_END};
    struct peer *peer = peer_start(script);

    provider.expires_in_ms = 400;
    open_provided(peer, 3);
    free_link();
    options.protocol = 2;
    options.is_subscriber = true;
    open_prepared();
    want(true);
    drive_until(is_up);
    peer_go(peer);
    drive_until(is_up_again);
    ck_assert_int_eq(provider.queries, 2);
    peer_go(peer);
    end_with_peer(peer);
}
END_TEST

START_TEST(credentials_that_have_expired_are_refused)
{
    static const struct peer_step script[] = {PEER_END};
    struct peer *peer = peer_start(script);

    provider.expires_in_ms = -1;
    open_provided(peer, 100);
    ck_assert_str_eq(ask_for(300, "ECHO a"), "(unsent)");
    ck_assert_ptr_nonnull(strstr(error_now().text, "expired already"));
    end_with_peer(peer);
}
END_TEST

static void forget_provider(void)
{
    memset(&provider, 0, sizeof provider);
}

int main(void)
{
    Suite *s = suite_create("net link login");
    TCase *t = tcase_create("login");

    tcase_add_checked_fixture(t, forget_provider, NULL);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, query_of_a_rival_that_was_stopped_is_not_lost);
    tcase_add_test(t, answer_after_its_rival_was_stopped_is_used);
    tcase_add_test(t, login_is_replaced_after_its_rival_was_stopped);
    tcase_add_test(t, old_answer_of_a_rival_that_was_stopped_is_not_used);
    tcase_add_test(t, login_that_must_be_replaced_begins_no_connection);
    tcase_add_test(t, login_is_replaced_after_three_quarters_of_its_whole_life);
    tcase_add_test(t, placeholder_is_known_of_a_rivals_connection);
    tcase_add_test(t, subscribed_connection_is_replaced_with_one_query);
    tcase_add_test(t, credentials_that_have_expired_are_refused);
    suite_add_tcase(s, t);
    return suite_run(s);
}
