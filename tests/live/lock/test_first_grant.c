/* The round trips from a new connection to the first request for a lock: one. The scripted peer
 * replies to nothing before it has received all commands of the handshake; the next command is
 * then the script. */
#include "tests/live/test_lock.h"
#include "tests/support/peer.h"

#define HELLO_OK "%2\r\n+proto\r\n:3\r\n+id\r\n:7\r\n"
#define INFO_OK "$17\r\nrun_id:0123456789\r\n"
#define OK "+OK\r\n"
#define SETINFO                                          \
    PEER_EXPECT("CLIENT SETINFO LIB-NAME holdfast"),     \
        PEER_EXPECT("CLIENT SETINFO LIB-VER " HF_VERSION)
#define REFUSED PEER_SEND("-NOPERM refused\r\n")

static const struct peer_step plain[] = {
    PEER_ACCEPT, PEER_EXPECT("HELLO 3"), PEER_EXPECT("INFO server"),
    PEER_EXPECT("CLIENT SETNAME holdfast"), SETINFO, PEER_SEND(HELLO_OK INFO_OK OK OK OK),
    PEER_EXPECT("EVALSHA ..."), REFUSED, PEER_END};

static const struct peer_step with_all[] = {
    PEER_ACCEPT, PEER_EXPECT("HELLO 3 AUTH me secret"), PEER_EXPECT("SELECT 3"),
    PEER_EXPECT("CLIENT TRACKING ON OPTIN NOLOOP"), PEER_EXPECT("INFO server"),
    PEER_EXPECT("CLIENT SETNAME worker"), SETINFO,
    PEER_SEND(HELLO_OK OK OK INFO_OK OK OK OK), PEER_EXPECT("EVALSHA ..."), REFUSED, PEER_END};

static const struct peer_step resp2[] = {
    PEER_ACCEPT, PEER_EXPECT("AUTH secret"), PEER_EXPECT("CLIENT ID"),
    PEER_EXPECT("INFO server"), PEER_EXPECT("CLIENT SETNAME holdfast"), SETINFO,
    PEER_SEND(OK ":7\r\n" INFO_OK OK OK OK),
    PEER_EXPECT("EVALSHA ..."), REFUSED, PEER_END};

static const struct {
    const char *user, *options;
    const struct peer_step *script;
} rows[] = {
    {"", "", plain},
    {"me:secret@", "/3?tracking=on&client_name=worker", with_all},
    {":secret@", "?protocol=2", resp2},
};

START_TEST(the_first_request_follows_one_round_trip)
{
    struct peer *peer = peer_start(rows[_i].script);
    struct hf_client *client;
    struct hf_error err = {0};
    struct hf_lock *lock;
    char url[200];

    (void)snprintf(url, sizeof url, "redis://%s127.0.0.1:%d%s", rows[_i].user, peer_port(peer),
                   rows[_i].options);
    ck_assert_msg(hf_client_new_url(&client, url, &err) == HF_OK, "%s", err.text);
    ck_assert_msg(hf_client_connect(client, &err) == HF_OK, "%s", err.text);
    lock = lock_of(client, NAME);
    ck_assert_int_eq(hf_lock_acquire(lock, NULL, &err), HF_E_SERVER);
    ck_assert_pstr_eq(peer_finish(peer), NULL);
    hf_lock_free(lock);
    hf_client_free(client);
    peer_free(peer);
}
END_TEST

/* A connection that was open before may be dead: hf_client_connect awaits a reply. */
START_TEST(a_connection_that_was_open_is_checked)
{
    static const struct peer_step script[] = {
        PEER_ACCEPT, PEER_HANDSHAKE, PEER_WAIT, PEER_EXPECT("PING"), PEER_SEND("+PONG\r\n"),
        PEER_END};
    struct peer *peer = peer_start(script);
    struct hf_client *client = client_to(peer_port(peer));
    struct hf_error err = {0};

    ck_assert_msg(hf_client_connect(client, &err) == HF_OK, "%s", err.text);
    peer_go(peer);
    ck_assert_msg(hf_client_connect(client, &err) == HF_OK, "%s", err.text);
    ck_assert_pstr_eq(peer_finish(peer), NULL);
    hf_client_free(client);
    peer_free(peer);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("the first grant");
    TCase *c = tcase_create("round trips");

    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, the_first_request_follows_one_round_trip, 0, ROWS(rows));
    tcase_add_test(c, a_connection_that_was_open_is_checked);
    suite_add_tcase(s, c);
    return suite_run(s);
}
