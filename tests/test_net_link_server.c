/* A link and a real server: passwords, cuts at every byte, servers that go, come,
 * stop and are full. */
#include <check.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/base/mem.h"
#include "net/link/pubsub.h"
#include "tests/support/login.h"
#include "tests/support/link_kit.h"
#include "tests/support/proxy.h"
#include "tests/support/server.h"
#include "tests/support/suite.h"

#define PASSWORD "open sesame, please"

static void start_server_with_password(void)
{
    static const char *const args[] = {"--requirepass", PASSWORD, NULL};

    start_server_with(args);
}

START_TEST(real_server_answers)
{
    open_link(server_port(server));
    ck_assert_str_eq(ask("SET k v"), "OK");
    ck_assert_str_eq(ask("GET k"), "v");
    ck_assert_str_eq(ask("GET none"), "(nil)");
    ck_assert_str_eq(ask("INCR k"),
                     "(error) ERR value is not an integer or out of range");
    ck_assert_str_eq(server_ask(server, "GET k"), "v");
    close_link();
}
END_TEST

START_TEST(link_works_over_a_unix_socket)
{
    prepare(1);
    options.url.kind = HF_URL_UNIX;
    options.url.database = 3;
    options.client_name = "by-file";
    (void)snprintf(options.url.path, sizeof options.url.path, "%s",
                   server_unix_path(server));
    open_prepared();
    ck_assert_str_eq(ask("CLIENT GETNAME"), "by-file");
    ck_assert_str_eq(ask("SET k v"), "OK");
    ck_assert_str_eq(server_ask(server, "EXISTS k"), "0"); /* in database 0 */
    close_link();
}
END_TEST

static const struct {
    const char *user;
    const char *password;             /* NULL: none */
    const char *says;                 /* NULL: welcome */
} visitors[] = {
    {"", PASSWORD, NULL},         {"default", PASSWORD, NULL},
    {"", "wrong", "WRONGPASS"},   {"nobody", "wrong", "WRONGPASS"},
    {"nobody", PASSWORD, NULL}, /* a placeholder, as Heroku has it */
    {"", NULL, "NOAUTH"},
};

START_TEST(server_accepts_or_refuses_a_login)
{
    for (int protocol = 2; protocol <= 3; protocol++) {
        const char *password = visitors[_i].password;

        prepare(server_port(server));
        options.protocol = protocol;
        options.url.login = login_of(visitors[_i].user, password);
        open_prepared();
        ck_assert_str_eq(ask("PING"), visitors[_i].says ? "(unsent)" : "PONG");
        ck_assert_int_eq(is_refused(), visitors[_i].says != NULL);
        if (visitors[_i].says) {
            ck_assert_int_eq(error_now().status, HF_E_AUTH);
            ck_assert_ptr_nonnull(strstr(error_now().text, visitors[_i].says));
            ck_assert_ptr_null(strstr(error_now().text, PASSWORD));
        }
        close_link();
    }
}
END_TEST

/* What the allocator gets back is looked at: nobody may find it there. */
static void *resize_and_look(void *ctx, void *ptr, size_t old, size_t size)
{
    if (ptr && size < old)
        ck_must(!memmem((char *)ptr + size, old - size, PASSWORD,
                        strlen(PASSWORD)),
                "freed memory holds no password");
    return hf_mem_libc.resize(ctx, ptr, old, size);
}

START_TEST(password_is_wiped)
{
    static const struct hf_mem looking = {resize_and_look, NULL};

    prepare(server_port(server));
    options.url.login = login_of("", PASSWORD);
    open_with(&looking, false);
    open_pubsub();
    ck_assert_str_eq(ask("PING"), "PONG");
    free_link();
}
END_TEST

/* ---- cuts, at every byte ---- */

#define THREE 3
#define INCR_LEN (sizeof "*2\r\n$4\r\nINCR\r\n$1\r\nn\r\n" - 1)
#define REPLY_LEN (sizeof ":1\r\n" - 1)

static const struct {
    enum proxy_way way;
    enum proxy_end end;
    size_t bytes;                     /* of three requests that way */
} cuts[] = {
    {PROXY_TO_SERVER, PROXY_CLOSE, THREE * INCR_LEN},
    {PROXY_TO_SERVER, PROXY_RESET, THREE * INCR_LEN},
    {PROXY_TO_CLIENT, PROXY_CLOSE, THREE * REPLY_LEN},
    {PROXY_TO_CLIENT, PROXY_RESET, THREE * REPLY_LEN},
};

static int count_now(void)
{
    return (int)server_ask_int(server, "INCRBY n 0");
}

/* What is claimed of three INCR against what the server did. Returns that. */
static int check_claims(struct ask asks[THREE])
{
    int answered = 0, unknown = 0, done;
    char number[16];

    for (int i = 0; i < THREE; i++) {
        const char *text = answer(&asks[i]);

        (void)snprintf(number, sizeof number, "%d", i + 1);
        if (strcmp(text, number) == 0)
            answered++;
        else if (strcmp(text, "(unknown)") == 0)
            unknown++;
        else
            ck_assert_str_eq(text, "(unsent)");
        ck_assert(answered == i + 1 || strcmp(text, number) != 0);
    }
    settle();
    done = count_now();
    ck_assert_int_ge(done, answered);
    ck_assert_int_le(done, answered + unknown);
    return done;
}

START_TEST(outcome_is_true_wherever_the_connection_was_cut)
{
    struct proxy *proxy = proxy_start(server_port(server));
    struct ask asks[THREE];
    int done;

    open_link(proxy_port(proxy));
    for (size_t cut = 0; cut <= cuts[_i].bytes; cut++) {
        settle();
        (void)server_ask(server, "DEL n");
        proxy_cut_after(proxy, cuts[_i].way, cut, cuts[_i].end);
        lock();
        for (int i = 0; i < THREE; i++)
            ck_assert_int_eq(submit(&asks[i], "INCR n", LONG_MS), HF_OK);
        unlock();
        done = check_claims(asks);
        if (cuts[_i].way == PROXY_TO_SERVER)
            ck_assert_int_le(done, (int)(cut / INCR_LEN));
        ck_assert_int_eq(count_now(), done);
        /* The byte in place of which it would be cut may be yet to come. */
        ck_assert(proxy_has_cut(proxy));
    }
    close_link();
    proxy_stop(proxy);
}
END_TEST

/* During the handshake: the request waits, and is done once on the next
 * connection; unless the cut came behind its first byte. */
START_TEST(request_survives_a_cut_in_the_handshake)
{
    struct proxy *proxy = proxy_start(server_port(server));
    bool has_cut = true;

    for (size_t cut = 0; has_cut; cut += cut < 100 ? 1 : 17) {
        const char *text;

        (void)server_ask(server, "DEL n");
        proxy_cut_after(proxy, cuts[_i].way, cut, cuts[_i].end);
        open_link(proxy_port(proxy));
        text = ask("INCR n");
        has_cut = proxy_has_cut(proxy);
        if (strcmp(text, "(unknown)") == 0) {
            settle();
            ck_assert_int_le(count_now(), 1);
        } else {
            ck_assert_str_eq(text, "1");
            ck_assert_int_eq(count_now(), 1);
        }
        close_link();
    }
    proxy_stop(proxy);
}
END_TEST

/* ---- servers that go and come ---- */

START_TEST(link_reconnects_after_its_server_returned)
{
    struct ask a;

    open_link(server_port(server));
    want(true);
    ck_assert_str_eq(ask("SET k v"), "OK");
    server_kill(server);
    drive_until(is_down);
    ck_assert_str_eq(ask_for(30, "GET k"), "(unsent)");
    ck_assert_int_eq(error_now().status, HF_E_CONNECT);
    start(&a, "GET k", LONG_MS);
    server_restart(server);
    ck_assert_str_eq(answer(&a), "(nil)"); /* another life of the server */
    ck_assert_int_eq(error_now().status, HF_OK);
    ck_assert_str_eq(changes, "+-+");
    close_link();
}
END_TEST

START_TEST(killed_client_reconnects)
{
    open_link(server_port(server));
    want(true);
    for (int i = 0; i < 10; i++) {
        ck_assert_str_eq(ask("PING"), "PONG");
        ck_assert_str_eq(
            server_ask(server, "CLIENT KILL TYPE normal SKIPME yes"), "1");
        drive_until(is_down);
        drive_until(is_up);
    }
    ck_assert_uint_eq(stats_now().connects, 11);
    /* None is left behind: the witness and we. */
    ck_assert_str_eq(ask("PING"), "PONG");
    ck_assert_str_eq(server_ask(server, "CLIENT KILL TYPE normal SKIPME yes"),
                     "1");
    close_link();
}
END_TEST

/* A command and its reply, once the buffers are there. */
START_TEST(steady_path_allocates_nothing)
{
    uint64_t before;

    open_link(server_port(server));
    for (int i = 0; i < 100; i++)
        ck_assert_str_eq(ask("ECHO a"), "a");
    before = memory_counts(&memory).asked;
    for (int i = 0; i < 1000; i++)
        ck_must(strcmp(ask("ECHO a"), "a") == 0, "it answers");
    ck_assert_uint_eq(memory_counts(&memory).asked, before);
    close_link();
}
END_TEST

/* In the child; the number of the first broken promise. */
static int use_the_parents_link(void)
{
    struct hf_space_waiter room = {.on_ready = NULL};
    struct hf_pubsub *none = NULL;
    struct hf_link *other = NULL;
    struct ask a;

    alarm(20);
    lock();
    if (submit(&a, "ECHO child", -1) != HF_E_FORKED)
        return 1;
    if (hf_link_await_space(link_, &room, 10) != HF_E_FORKED)
        return 2;
    if (hf_link_new(&other, loop, &options) != HF_E_FORKED || other)
        return 3;
    if (hf_pubsub_new(&none, loop, link_) != HF_E_FORKED || none)
        return 4;
    hf_link_want(link_, false);
    hf_link_condemn(link_, "the child says so");
    unlock();
    free_link();
    return 0;
}

/* A request is in flight, and a second one is queued: the child's end of the
 * link ends its copy of both, and the parent gets its answers. */
START_TEST(child_process_harms_no_link)
{
    struct ask a, b;
    int status;
    pid_t child;

    open_link(server_port(server));
    ck_assert_str_eq(ask("PING"), "PONG");
    server_pause(server);
    start(&a, "ECHO a", LONG_MS);
    start(&b, "ECHO b", LONG_MS);
    child = fork();
    if (child == 0)
        _exit(use_the_parents_link());
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    server_resume(server);
    ck_assert_str_eq(answer(&a), "a");
    ck_assert_str_eq(answer(&b), "b");
    ck_assert_str_eq(ask("ECHO c"), "c");
    ck_assert_str_eq(changes, "+");
    close_link();
}
END_TEST

/* The server says so in place of its first answer, whatever that is for, and
 * hangs up. */
static const struct {
    int protocol;
    const char *password;
} crowded[] = {{3, NULL}, {3, PASSWORD}, {2, NULL}, {2, PASSWORD}};

START_TEST(too_many_clients_is_an_answer_for_now)
{
    if (crowded[_i].password)
        (void)server_ask(server, "CONFIG SET requirepass %s", PASSWORD);
    (void)server_ask(server, "CONFIG SET maxclients 1"); /* the witness */
    prepare(server_port(server));
    options.protocol = crowded[_i].protocol;
    options.url.login = login_of("", crowded[_i].password);
    open_prepared();
    for (int i = 0; i < 5; i++) {
        ck_assert_str_eq(ask_for(50, "PING"), "(unsent)");
        ck_assert_ptr_nonnull(
            strstr(error_now().text, "max number of clients reached"));
        ck_assert(!is_refused());
    }
    (void)server_ask(server, "CONFIG SET maxclients 100");
    ck_assert_str_eq(ask("PING"), "PONG");
    close_link();
}
END_TEST

/* A server that does not read. The kernel's buffers fill, then ours up to the limit, then
 * requests are refused; when the server reads again, every request gets its reply. */
START_TEST(stopped_server_costs_bounded_memory_and_no_answer)
{
    enum { COUNT = 4000, SIZE = 10000 };
    static struct ask asks[COUNT];
    static char words[SIZE + 1];
    hf_status rc;
    int taken = 0;

    prepare(server_port(server));
    options.silence_ms = 4 * LONG_MS;
    options.output_max = 8 << 20; /* more than the kernel takes at once */
    open_prepared();
    (void)memset(words, 'x', SIZE);
    (void)memcpy(words, "ECHO ", 5);
    ck_assert_str_eq(ask("PING"), "PONG");
    server_pause(server);
    lock();
    while ((rc = submit(&asks[taken], words, -1)) == HF_OK)
        ck_must(++taken < COUNT, "there is an end to what is taken");
    unlock();
    ck_assert_int_eq(rc, HF_E_LIMIT);
    for (int i = 0; i < 10; i++)
        hf_loop_dispatch(loop, 1);
    /* Doubled, and the old block while it is copied; and the loop itself. */
    ck_assert_uint_lt(memory_counts(&memory).peak_bytes, 4 * options.output_max);
    server_resume(server);
    for (int i = 0; i < taken; i++)
        ck_must(answer(&asks[i])[0] == 'x', "each is answered");
    ck_assert_str_eq(ask("PING"), "PONG");
    ck_assert_str_eq(changes, "+");
    close_link();
}
END_TEST

/* X1: the kernel's buffers are full, and nobody takes anything. Whether a byte of
 * it was written or not, a request ends at its deadline. */
START_TEST(write_that_is_not_read_has_a_deadline)
{
    enum { COUNT = 3000, SIZE = 10000, TIMEOUT_MS = 100 };
    static struct ask asks[COUNT];
    static char words[SIZE + 1];
    int unsent = 0;

    open_link(server_port(server));
    (void)memset(words, 'x', SIZE);
    (void)memcpy(words, "ECHO ", 5);
    ck_assert_str_eq(ask("PING"), "PONG");
    server_pause(server);
    for (int i = 0; i < COUNT; i++)
        start(&asks[i], words, TIMEOUT_MS);
    for (int i = 0; i < COUNT; i++) {
        const char *text = answer(&asks[i]);

        ck_must(strcmp(text, "(unknown)") == 0 || strcmp(text, "(unsent)") == 0,
                "nothing is answered");
        unsent += strcmp(text, "(unsent)") == 0;
    }
    ck_assert_int_gt(unsent, 0);
    server_resume(server);
    ck_assert_str_eq(ask("PING"), "PONG");
    close_link();
}
END_TEST

static uint64_t bytes_out_before;

static bool has_written(void)
{
    return stats_now().bytes_out > bytes_out_before;
}

/* What a stopped server finds when it goes on: the request of a connection that
 * has ended, and the handshake of the next one. */
START_TEST(request_left_in_a_stopped_server_is_not_done_later)
{
    struct ask a;

    prepare(server_port(server));
    options.silence_ms = 50;
    open_prepared();
    for (int i = 0; i < 20; i++) {
        settle();
        (void)server_ask(server, "DEL k");
        server_pause(server);
        ck_assert_str_eq(ask("SET k late"), "(unknown)");
        bytes_out_before = stats_now().bytes_out;
        start(&a, "GET k", LONG_MS);
        drive_until(has_written); /* HELLO is behind SET now */
        server_resume(server);
        /* A busy machine may leave the server silent for another 50 ms. */
        if (strcmp(answer(&a), "(unknown)") == 0)
            continue;
        for (int n = 0; n < 3; n++)
            ck_assert_str_eq(server_ask(server, "GET k"), a.text);
    }
    close_link();
}
END_TEST

/* A way to the server that holds back what the first connection sends, and its
 * end. Nobody drives it but the test, between turns of the loop. */
static struct relay {
    int listener, port;
    int pairs[4][2];                  /* the client's side, the server's side */
    int count;
    bool is_first_held;
} relay;

static int connect_to_server(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)server_port(server))};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
    local_prepare(fd);
    return fd;
}

/* Moves what there is; an end is passed on, too. */
static void relay_move(int from, int to)
{
    char bytes[4096];
    ssize_t n = recv(from, bytes, sizeof bytes, MSG_DONTWAIT);

    if (n > 0)
        (void)send(to, bytes, (size_t)n, MSG_NOSIGNAL);
    else if (n == 0)
        (void)shutdown(to, SHUT_WR);
}

static void relay_pump(void)
{
    int fd = accept4(relay.listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd >= 0) {
        ck_assert_int_lt(relay.count, 4);
        relay.pairs[relay.count][0] = fd;
        relay.pairs[relay.count++][1] = connect_to_server();
    }
    for (int i = relay.is_first_held; i < relay.count; i++) {
        relay_move(relay.pairs[i][0], relay.pairs[i][1]);
        relay_move(relay.pairs[i][1], relay.pairs[i][0]);
    }
}

static const char *ask_by_relay(const char *words)
{
    static struct ask a;
    int64_t end_ms = local_now_ms() + LONG_MS;

    start(&a, words, LONG_MS);
    while (a.text[0] == '\0') {
        ck_must(local_now_ms() < end_ms, "a request ends");
        relay_pump();
        hf_loop_dispatch(loop, 1);
    }
    return a.text;
}

/* design 11: SET is on its way when its connection is given up, and
 * arrives when GET on the next one was answered. But the next one began with
 * CLIENT KILL: nobody takes it in. */
START_TEST(request_that_arrives_after_its_successor_is_not_done)
{
    relay.listener = local_listen(&relay.port);
    prepare(relay.port);
    options.silence_ms = 1000;
    open_prepared();
    ck_assert_str_eq(ask_by_relay("PING"), "PONG");
    relay.is_first_held = true;
    ck_assert_str_eq(ask_by_relay("SET k late"), "(unknown)");
    ck_assert_str_eq(ask_by_relay("GET k"), "(nil)");
    relay.is_first_held = false;
    for (int i = 0; i < 10; i++)
        ck_assert_str_eq(ask_by_relay("PING"), "PONG");
    ck_assert_str_eq(server_ask(server, "GET k"), "(nil)");
    close_link();
    for (int i = 0; i < relay.count; i++) {
        (void)close(relay.pairs[i][0]);
        (void)close(relay.pairs[i][1]);
    }
    (void)close(relay.listener);
}
END_TEST

static TCase *case_server(void)
{
    TCase *c = tcase_create("a real server");

    tcase_set_timeout(c, 60);
    tcase_add_checked_fixture(c, start_server, stop_server);
    tcase_add_test(c, real_server_answers);
    tcase_add_test(c, link_works_over_a_unix_socket);
    tcase_add_loop_test(c, outcome_is_true_wherever_the_connection_was_cut, 0,
                        ROWS(cuts));
    tcase_add_loop_test(c, request_survives_a_cut_in_the_handshake, 0,
                        ROWS(cuts));
    tcase_add_test(c, link_reconnects_after_its_server_returned);
    tcase_add_test(c, killed_client_reconnects);
    tcase_add_test(c, steady_path_allocates_nothing);
    tcase_add_test(c, child_process_harms_no_link);
    tcase_add_loop_test(c, too_many_clients_is_an_answer_for_now, 0,
                        ROWS(crowded));
    tcase_add_test(c, stopped_server_costs_bounded_memory_and_no_answer);
    tcase_add_test(c, write_that_is_not_read_has_a_deadline);
    tcase_add_test(c, request_left_in_a_stopped_server_is_not_done_later);
    tcase_add_test(c, request_that_arrives_after_its_successor_is_not_done);
    return c;
}

static TCase *case_password(void)
{
    TCase *c = tcase_create("a server with a password");

    tcase_add_checked_fixture(c, start_server_with_password, stop_server);
    tcase_add_loop_test(c, server_accepts_or_refuses_a_login, 0, ROWS(visitors));
    tcase_add_test(c, password_is_wiped);
    return c;
}

int main(void)
{
    Suite *s;

    if (!server_is_installed()) {
        (void)puts("skipped: net/link, a real server (no server installed)");
        return 77;
    }
    s = suite_create("net/link, a real server");
    suite_add_tcase(s, case_server());
    suite_add_tcase(s, case_password());
    return suite_run(s);
}
