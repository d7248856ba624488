/* A server that really sends forged lines: Valkey 8.0.1 (CVE-2025-67733) puts a
 * line of a script's choice into the stream of replies. For `make live-each`:
 * any other server has nothing to show, and it is skipped, saying so.
 *
 * Between client and server stands another user of the same connection: a relay
 * that, when told, sends such a script in front of what the client sends next,
 * and keeps for itself the one line that would be its true answer. The rest is
 * the forged line, what the server says behind it, and the client's own answer.
 * Source: faults 0.3. lock_forged has the lies that a
 * scripted peer can tell. */
#include <arpa/inet.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/live/test_lock.h"
#include "tests/support/lua_client.h"
#include "tests/support/one_server.h"

#define WATCHDOG_MS 900

/* In Lua's notation. Behind it the server says " script: ..", which is no RESP,
 * or, with a '+' in front, a simple string. */
static const char *const lines[] = {
    "+OK\\r\\n", ":1\\r\\n", ":0\\r\\n", "$-1\\r\\n", "*0\\r\\n", "*-1\\r\\n",
    "_\\r\\n", "#t\\r\\n", "*2\\r\\n:1\\r\\n:1\\r\\n",
    ">2\\r\\n+message\\r\\n+c\\r\\n",
    ">3\\r\\n+message\\r\\n+" CHANNEL "\\r\\n+0\\r\\n",
    "+OK\\r\\n+", ":1\\r\\n+", "$-1\\r\\n+", "*0\\r\\n+", "_\\r\\n+", "",
    "+", ":1\\r\\n:1\\r\\n+", "*2\\r\\n$-1\\r\\n:1\\r\\n+",
    "*2\\r\\n$-1\\r\\n+", ">2\\r\\n+message\\r\\n+c\\r\\n+",
};

static struct hf_client *client;
static struct hf_lock *lock;

/* ---- the relay ---- */

static struct relay {
    pthread_t thread;
    int listener, port, wake[2];
    int client, server;         /* the connection; -1: none */
    _Atomic(const char *) line; /* to be forged in front of what comes next */
    atomic_int injections;
    bool is_hiding;             /* the script's own answer: one line */
} relay;

static int connect_to_server(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)server_port(server))};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ck_must(connect(fd, (struct sockaddr *)&a, sizeof a) == 0, "a connection");
    local_prepare(fd);
    return fd;
}

static size_t script(char *dst, size_t room, const char *line)
{
    char lua[300];
    int len = snprintf(lua, sizeof lua, "error('x\\r\\n%s')", line);

    return (size_t)snprintf(dst, room,
                            "*3\r\n$4\r\nEVAL\r\n$%d\r\n%s\r\n$1\r\n0\r\n", len,
                            lua);
}

static void hang_up(void)
{
    local_close(relay.client);
    local_close(relay.server);
    relay.client = relay.server = -1;
    relay.is_hiding = false;
}

static void accept_client(void)
{
    int fd = accept4(relay.listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd < 0)
        return;
    hang_up();
    local_prepare(fd);
    relay.client = fd;
    relay.server = connect_to_server();
}

static void pass_up(void)
{
    char bytes[8192], forged[400];
    ssize_t n = recv(relay.client, bytes, sizeof bytes, 0);
    const char *line;

    if (n <= 0) {
        hang_up();
        return;
    }
    line = atomic_exchange(&relay.line, NULL);
    if (line) {
        (void)send(relay.server, forged, script(forged, sizeof forged, line),
                   MSG_NOSIGNAL);
        relay.is_hiding = true;
        atomic_fetch_add(&relay.injections, 1);
    }
    (void)send(relay.server, bytes, (size_t)n, MSG_NOSIGNAL);
}

static void pass_down(void)
{
    char bytes[8192], *from = bytes;
    ssize_t n = recv(relay.server, bytes, sizeof bytes, 0);

    if (n <= 0) {
        hang_up();
        return;
    }
    if (relay.is_hiding && (from = memchr(bytes, '\n', (size_t)n))) {
        from++;
        relay.is_hiding = false;
    }
    if (from)
        (void)send(relay.client, from, (size_t)(bytes + n - from),
                   MSG_NOSIGNAL);
}

static void *run_relay(void *arg)
{
    (void)arg;
    for (;;) {
        struct pollfd fds[4] = {{relay.wake[0], POLLIN, 0},
                                {relay.listener, POLLIN, 0},
                                {relay.client, POLLIN, 0},
                                {relay.server, POLLIN, 0}};

        (void)poll(fds, 4, -1);
        if (fds[0].revents)
            return NULL;
        if (fds[2].revents)
            pass_up();
        else if (fds[3].revents)
            pass_down();
        else if (fds[1].revents)
            accept_client();
    }
}

/* ---- a test's world ---- */

static void start(void)
{
    start_server();
    relay = (struct relay){.client = -1, .server = -1};
    relay.listener = local_listen(&relay.port);
    ck_assert_int_eq(pipe(relay.wake), 0);
    ck_assert_int_eq(pthread_create(&relay.thread, NULL, run_relay, NULL), 0);
    client = client_timed(relay.port, WATCHDOG_MS, 5000);
    lock = lock_of(client, NAME);
    acquire(lock, 9); /* the scripts are known */
    release(lock, 9);
}

static void stop(void)
{
    hf_client_free(client);
    (void)write(relay.wake[1], "", 1);
    (void)pthread_join(relay.thread, NULL);
    hang_up();
    (void)close(relay.listener);
    stop_server();
}

static void forge(const char *line)
{
    atomic_store(&relay.injections, 0);
    atomic_store(&relay.line, line);
}

/* It was told, and believed so little that its connection was given up. */
static void ck_assert_given_up(uint64_t connects, const char *line)
{
    ck_assert_int_eq(atomic_load(&relay.injections), 1);
    ck_assert_msg(stats_of(client).link.connects > connects, "%s", line);
}

static uint64_t connects(void)
{
    return stats_of(client).link.connects;
}

/* ---- what is forged ---- */

START_TEST(no_forged_line_grants_a_held_lock)
{
    struct hf_error err;
    uint64_t before = connects();
    hf_status rc;

    (void)lua_acquire(server, NAME, strlen(NAME), LUA_HOLDER, 60000);
    forge(lines[_i]);
    rc = try_acquire(lock, 1, &err);
    ck_assert_msg(rc == HF_TIMEOUT || rc == HF_E_PROTOCOL, "%s: %s",
                  hf_status_name(rc), err.text);
    ck_assert_given_up(before, lines[_i]);
    ck_assert_int_eq(hf_lock_safe_ms(lock, 1), INT64_MIN);
    ck_assert_str_eq(hash_of(server, NAME), LUA_HOLDER " 1");
}
END_TEST

START_TEST(no_forged_line_spoils_a_count)
{
    uint64_t before = connects();

    forge(lines[_i]);
    acquire(lock, 1);
    ck_assert_given_up(before, lines[_i]);
    ck_assert_holder(server, lock, 1, 1);
    before = connects();
    forge(lines[_i]);
    acquire(lock, 1);
    ck_assert_given_up(before, lines[_i]);
    ck_assert_holder(server, lock, 1, 2);
    release(lock, 1);
    before = connects();
    forge(lines[_i]);
    release(lock, 1);
    ck_assert_given_up(before, lines[_i]);
    ck_assert_str_eq(hash_of(server, NAME), "");
}
END_TEST

START_TEST(no_forged_line_is_a_renewal)
{
    struct diary diary;
    struct hf_acquire_options o = diary_options(&diary, 1);
    uint64_t before = connects();

    ck_assert_ok(hf_lock_acquire(lock, &o, NULL));
    forge(lines[_i]);
    note_await(&diary.note, &diary.renewals, 2, "a renewal");
    ck_assert_given_up(before, lines[_i]);
    (void)ck_assert_safe_before_ttl(server, lock, 1);
    ck_assert_int_eq(note_read(&diary.note, &diary.losses), 0);
    ck_assert_holder(server, lock, 1, 1);
    release(lock, 1);
}
END_TEST

/* ---- */

/* Does this server do it at all? */
static bool is_forger(void)
{
    char bytes[400], answer[400] = "";
    struct pollfd readable = {.events = POLLIN};

    server = server_start(NULL);
    readable.fd = connect_to_server();
    (void)send(readable.fd, bytes, script(bytes, sizeof bytes, "+forged"),
               MSG_NOSIGNAL);
    if (poll(&readable, 1, LONG_MS) == 1)
        (void)recv(readable.fd, answer, sizeof answer - 1, 0);
    (void)close(readable.fd);
    server_stop(server);
    return strstr(answer, "\r\n+forged") != NULL;
}

static void add_cases(Suite *s)
{
    TCase *c = live_case(s, "injected", start, stop);

    tcase_add_loop_test(c, no_forged_line_grants_a_held_lock, 0,
                        COUNT(lines));
    tcase_add_loop_test(c, no_forged_line_spoils_a_count, 0, COUNT(lines));
    tcase_add_loop_test(c, no_forged_line_is_a_renewal, 0, COUNT(lines));
}

int main(void)
{
    if (!server_is_installed() || !is_forger()) {
        (void)printf("skipped: lock, injected (the server forges nothing)\n");
        return 77;
    }
    return live_main("lock, injected", add_cases);
}
