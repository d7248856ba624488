/* `holdfast-resp` and `holdfast-resp check` as a user runs them: on pipes, against a real
 * server, and against servers that are none. */
#include "tests/live/test_run_kit.h"
#include "tests/support/lateness.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/support/local.h"
#include "tests/support/peer.h"
#include "tests/support/request.h"
#include "tests/test_tools_resp_json.h"

#define COUNT(table) (int)(sizeof(table) / sizeof *(table))

/* ---- decoding ---- */

/* Each reply is shown as soon as its last byte is there; a rest between bytes
 * makes each a read of its own. */
START_TEST(replies_are_shown_as_their_bytes_come)
{
    static const char bytes[] = "*2\r\n:7\r\n$2\r\nok\r\n+OK\r\n";
    struct process *p = holdfast_resp(NULL, NULL);

    for (size_t i = 0; i < strlen(bytes); i++) {
        say(p, (char[]){bytes[i], '\0'});
        local_rest_us(LOCAL_SLICE_REST_US);
        if (i + 1 == strlen("*2\r\n:7\r\n$2\r\nok\r\n"))
            (void)await_line(p, OUT, "8    bulk string");
    }
    ck_assert_str_eq(await_line(p, OUT, "OK"),
                     "        16  simple string \"OK\"");
    shut(p);
    ck_assert_int_eq(finish(p), 0);
}
END_TEST

static const struct {
    const char *input;
    const char *option;
    int code;
    const char *output;         /* a part of it */
    const char *errors;         /* likewise */
} decodings[] = {
    {"", "-3", 0, "", ""},
    {"+OK\r\n", "-2", 0, "simple string \"OK\"\n", ""},
    {"_\r\n", "-3", 0, "null\n", ""},
    {"_\r\n", "-2", 1, "",
     "holdfast-resp: byte 0, in the reply that begins at byte 0: expected one of "
     "+ - : $ *, found \"_\\r\\n\"\n"},
    {"_\r\n", "-2", 1, "", "byte 0"},
    {"+OK\r\n", "-q", 0, "", ""},
    {"+OK\r\n?", "-q", 1, "", "byte 5"},
    {",inf\r\n", "--json", 0,
     "{\"offset\":0,\"type\":\"double\",\"value\":\"inf\"}\n", ""},
    {"+OK\r\n$3\r\nab", "--json", 1,
     "{\"error\":\"truncated\",\"offset\":11,\"reply_offset\":5,"
     "\"expected\":\"the rest of a value\",\"found\":\"\"}\n",
     "the input ends at byte 11, in the middle of the reply that begins at "
     "byte 5"},
    {"$3\r\nabcd\r\n", "--json", 1,
     "{\"error\":\"protocol\",\"offset\":7,\"reply_offset\":0,"
     "\"expected\":\"CR LF behind the string\",\"found\":\"d\\\\r\\\\n\"}\n",
     "byte 7"},
    {"*2147483648\r\n", "--json", 1, "{\"error\":\"limit\",\"offset\":0,",
     "expected fewer elements"},
    {"*1\r\n,-nan\r\n", "-q", 0, "", ""},
    {"*1\r\n,-nan\r\n", "--strict", 1, "", "byte 6"},
    {"", "more", 125, "",
     "holdfast-resp: unexpected argument 'more': only check, help and version are accepted; "
     "see 'holdfast-resp --help'\n"},
    {"", "-V", 0, "holdfast-resp ", ""},
    {"", "version", 0, "holdfast-resp ", ""},
    {"", "help", 0, "usage: holdfast-resp [--json]", ""},
    {"", "-uredis://127.0.0.1:1", 125, "", "-u is for 'holdfast-resp check'"},
    {"", "--help", 0, "usage: holdfast-resp [--json]", ""},
};

START_TEST(input_that_is_not_resp_is_exit_code_1)
{
    struct process *p = holdfast_resp(NULL, decodings[_i].option, NULL);

    say(p, decodings[_i].input);
    shut(p);
    ck_assert_int_eq(finish(p), decodings[_i].code);
    ck_assert_ptr_nonnull(strstr(await_end(p, OUT), decodings[_i].output));
    ck_assert_ptr_nonnull(strstr(await_end(p, ERR), decodings[_i].errors));
    if (!*decodings[_i].output)
        ck_assert_str_eq(await_end(p, OUT), "");
}
END_TEST

/* A peer that waits for us sends nothing behind the error: it is told even
 * so, while the pipe stays open. */
START_TEST(error_is_reported_though_the_input_continues)
{
    struct process *p = holdfast_resp(NULL, NULL);

    say(p, "+OK\r\n?");
    ck_assert_int_eq(finish(p), 1);
    (void)await_line(p, ERR, "byte 5");
}
END_TEST

/* ---- a real server ---- */

/* Released servers that deviate. */
static const struct {
    const char *server, *version, *check;
} known[] = {
    {"valkey", "8.0.1", "error raised with CR LF in it"},  /* CVE-2025-67733 */
    {"valkey", "8.0.1", "UNSUBSCRIBE of nothing"},
    {"redict", "7.3.6", "an invalidation, redirected"},
};

static bool is_known(const char *summary, const char *row)
{
    for (int i = 0; i < COUNT(known); i++)
        if (strstr(summary, known[i].server) &&
            strstr(summary, known[i].version) && strstr(row, known[i].check))
            return true;
    return false;
}

/* The rows that deviate, each of them known; *summary is the last line. */
static int count_deviations(char *text, char **summary)
{
    int count = 0;

    text[strlen(text) - 1] = '\0';
    *summary = strrchr(text, '\n') + 1;
    for (char *row = text, *end; row < *summary; row = end + 1) {
        end = strchr(row, '\n');
        *end = '\0';
        if (!strstr(row, "\"verdict\":\"deviates\""))
            continue;
        count++;
        if (!is_known(*summary, row))
            ck_abort_msg("%s: %s", *summary, row);
    }
    return count;
}

static int number(const char *line, const char *key)
{
    return atoi(member(line, key));
}

START_TEST(released_server_conforms)
{
    struct process *p = holdfast_resp(server, "check", "--json", NULL);
    char *text = local_copy(await_end(p, OUT));
    char *summary;
    int deviations;

    ck_assert_str_eq(await_end(p, ERR), "");
    ck_assert(json_lines_ok(text, strlen(text)));
    deviations = count_deviations(text, &summary);
    ck_assert_int_eq(finish(p), deviations > 0);
    ck_assert_int_eq(number(summary, "deviates"), deviations);
    ck_assert_int_ge(number(summary, "ok"), 145);
    ck_assert_int_le(number(summary, "not_offered"), 10);
    free(text);
}
END_TEST

/* The value behind "key:" in INFO. */
static int info(const char *section, const char *key)
{
    const char *text = server_ask(server, "INFO %s", section);
    const char *at = strstr(text, key);

    return at ? atoi(at + strlen(key) + 1) : -1;
}

START_TEST(nothing_remains)
{
    int clients = info("clients", "connected_clients");

    (void)server_ask(server, "SET mine 1");
    ck_assert_int_le(finish(holdfast_resp(server, "check", "-q", NULL)), 1);
    for (int i = 0; i < 1000; i++) /* the server notices ends in time */
        if (info("clients", "connected_clients") > clients)
            local_poll_rest();
    ck_assert_int_le(info("clients", "connected_clients"), clients);
    ck_assert_int_eq(info("clients", "tracking_clients"), 0);
    ck_assert_int_eq(server_ask_int(server, "DBSIZE"), 1);
    ck_assert_str_eq(server_ask(server, "GET mine"), "1");
    ck_assert_str_eq(server_ask(server, "PUBSUB CHANNELS"), "");
}
END_TEST

static int code_of_stopped_check(void)
{
    struct process *p = holdfast_resp(server, "check", NULL);

    (void)await_line(p, OUT, "bulk string of 1 MiB");
    ck_assert_int_eq(kill(pid_of(p), SIGTERM), 0);
    return finish(p);
}

/* On a busy machine the signal ends it after CLI_SIGNALS_LIMIT_MS, before the server has
 * deleted the keys. That happens to one of several, not to all. */
START_TEST(stopped_check_leaves_no_files)
{
    int code = 1000 + SIGTERM;

    for (int i = 0; i < 5 && code == 1000 + SIGTERM; i++) {
        (void)server_ask(server, "FLUSHALL");
        code = code_of_stopped_check();
    }
    ck_assert_int_eq(code, 128 + SIGTERM);
    ck_assert_int_eq(server_ask_int(server, "DBSIZE"), 0);
}
END_TEST

START_TEST(one_protocol_alone_can_be_checked)
{
    struct process *p = holdfast_resp(server, "check", "-2", NULL);

    ck_assert_ptr_null(strstr(await_end(p, OUT), "\n3  "));
    ck_assert_int_le(finish(p), 1);
    p = holdfast_resp(server, "-3", "check", NULL);
    ck_assert_ptr_null(strstr(await_end(p, OUT), "\n2  "));
    ck_assert_int_le(finish(p), 1);
}
END_TEST

/* Nor a part of it. */
START_TEST(password_that_the_server_repeats_is_not_shown)
{
    static const char *const answers[] = {"-WRONGPASS not open sesame\r\n",
                                          "-WRONGPASS it begins with open\r\n"};
    const struct peer_step script[] = {
        PEER_ACCEPT, PEER_EXPECT("AUTH *"), {.verb = PEER_DO_SEND,
         .text = answers[_i], .number = strlen(answers[_i])},
        PEER_GONE, PEER_END};
    struct peer *peer = peer_start(script);
    char url[64];
    struct process *p;

    (void)snprintf(url, sizeof url, "redis://:open%%20sesame@127.0.0.1:%d",
                   peer_port(peer));
    p = holdfast_resp(NULL, "check", "-3", "-u", url, NULL);
    ck_assert_int_eq(finish(p), 125);
    (void)await_line(p, ERR, "(text that may contain the password)");
    peer_free(peer);
}
END_TEST

/* With a password: what is answered before AUTH can be checked, too. */
START_TEST(password_is_prompted_for_and_used)
{
    static const char *const args[] = {"--requirepass", "secret", NULL};
    struct server *s = server_start(args);
    char url[64];
    struct process *p;

    (void)snprintf(url, sizeof url, "redis://:secret@127.0.0.1:%d/3",
                   server_port(s));
    p = holdfast_resp(NULL, "check", "-u", url, "--json", NULL);
    ck_assert_ptr_nonnull(
        strstr(await_line(p, OUT, "a command before AUTH"), "\"ok\""));
    ck_assert_ptr_nonnull(
        strstr(await_line(p, OUT, "HELLO 3 before AUTH"), "\"ok\""));
    (void)await_end(p, OUT);
    ck_assert_int_le(finish(p), 1);
    (void)snprintf(url, sizeof url, "redis://:wrong@127.0.0.1:%d",
                   server_port(s));
    p = holdfast_resp(NULL, "check", "-u", url, NULL);
    ck_assert_int_eq(finish(p), 125);
    (void)await_line(p, ERR, "check --user and --password-file");
    p = holdfast_resp(s, "check", NULL);
    ck_assert_int_eq(finish(p), 125);
    (void)await_line(p, ERR, "NOAUTH");
    server_stop(s);
}
END_TEST

/* ---- servers that are none ---- */

/* Answers each command in a thread for each connection; gone with the test,
 * which is a process of its own. */
typedef void answerer(FILE *out, const struct request *request);

struct fake {
    int fd;
    answerer *answer;
    pthread_t thread;
};

/* The fake's connection. */
struct caller {
    int fd;
    answerer *answer;
};

static char asked[1 << 16];     /* the commands, a line each */
static pthread_mutex_t asked_mutex = PTHREAD_MUTEX_INITIALIZER;

static void note(const struct request *request)
{
    char *text = request_text(request);
    size_t len;

    (void)pthread_mutex_lock(&asked_mutex);
    len = strlen(asked);
    (void)snprintf(asked + len, sizeof asked - len, "%.64s\n", text);
    (void)pthread_mutex_unlock(&asked_mutex);
    free(text);
}

static bool was_asked(const char *part)
{
    bool it_was;

    (void)pthread_mutex_lock(&asked_mutex);
    it_was = strstr(asked, part) != NULL;
    (void)pthread_mutex_unlock(&asked_mutex);
    return it_was;
}

/* false: the connection is to be closed. */
static bool answer_one(const struct caller *c, const struct request *request)
{
    char *bytes;
    size_t len;
    FILE *out = open_memstream(&bytes, &len);
    bool goes_on;

    note(request);
    c->answer(out, request);
    (void)fclose(out);
    goes_on = len > 0 && send(c->fd, bytes, len, MSG_NOSIGNAL) == (ssize_t)len;
    free(bytes);
    return goes_on && !request_matches(request, "QUIT");
}

static void *serve_caller(void *arg)
{
    struct caller *c = arg;
    struct request *request = local_new(sizeof *request);
    char *in = local_new(4 << 20);
    size_t len = 0;
    ssize_t n;
    bool goes_on = true;
    int on = 1;

    (void)setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    while (goes_on && (n = recv(c->fd, in + len, (4 << 20) - len, 0)) > 0) {
        len += (size_t)n;
        while (goes_on &&
               request_decode(request, in, len) == REQUEST_WHOLE) {
            goes_on = answer_one(c, request);
            len -= request->len;
            memmove(in, in + request->len, len);
        }
        if (goes_on && len > 0 &&
            request_decode(request, in, len) == REQUEST_BROKEN) {
            (void)!write(c->fd, "-ERR Protocol error: no\r\n", 25);
            goes_on = false;
        }
    }
    local_close(c->fd);
    free(request);
    free(in);
    free(c);
    return NULL;
}

static void *serve(void *arg)
{
    struct fake *f = arg;
    pthread_t thread;
    struct pollfd p = {.fd = f->fd, .events = POLLIN};

    while (poll(&p, 1, -1) > 0) {
        struct caller *c = local_new(sizeof *c);

        *c = (struct caller){accept(f->fd, NULL, NULL), f->answer};
        if (c->fd < 0 ||
            pthread_create(&thread, NULL, serve_caller, c) != 0)
            break;
        (void)pthread_detach(thread);
    }
    return NULL;
}

/* How long it may take; of one that is asked until then, as short as can be. */
static const char *patience = "20s";

static struct process *check_fake_at(const char *url, int fd, answerer *answer)
{
    static struct fake f;

    f = (struct fake){.fd = fd, .answer = answer};
    ck_assert_int_ge(f.fd, 0);
    ck_assert_int_eq(pthread_create(&f.thread, NULL, serve, &f), 0);
    return holdfast_resp(NULL, "check", "-u", url, "--connect-timeout",
                    patience, NULL);
}

static struct process *check_fake(answerer *answer)
{
    char url[64];
    int port, fd = local_listen(&port);

    (void)snprintf(url, sizeof url, "redis://127.0.0.1:%d", port);
    return check_fake_at(url, fd, answer);
}

static void know_nothing(FILE *out, const struct request *request)
{
    if (request_matches(request, "PING *"))
        (void)fprintf(out, "$%zu\r\n%.*s\r\n", request->arg[1].len,
                      (int)request->arg[1].len, request->arg[1].ptr);
    else if (request_matches(request, "PING"))
        (void)fputs("+PONG\r\n", out);
    else if (request_matches(request, "QUIT"))
        (void)fputs("+OK\r\n", out);
    else
        (void)fputs("-ERR unknown command 'x'\r\n", out);
}

static void be_before_redis_6(FILE *out, const struct request *request)
{
    static const char text[] = "# Server\r\nredis_version:5.0.14\r\n";

    if (request_matches(request, "INFO server"))
        (void)fprintf(out, "$%zu\r\n%s\r\n", strlen(text), text);
    else
        know_nothing(out, request);
}

static void lie_about_get(FILE *out, const struct request *request)
{
    if (request_matches(request, "GET *"))
        (void)fputs(":5\r\n", out);
    else
        know_nothing(out, request);
}

static void break_get(FILE *out, const struct request *request)
{
    if (request_matches(request, "GET *"))
        (void)fputs("$3\r\nabcd\r\n", out);
    else
        know_nothing(out, request);
}

static void close_at_get(FILE *out, const struct request *request)
{
    if (!request_matches(request, "GET *"))
        know_nothing(out, request);
}

static void be_http(FILE *out, const struct request *request)
{
    (void)request;
    (void)fputs("HTTP/1.1 400 Bad Request\r\n\r\n", out);
}

static void forbid_del(FILE *out, const struct request *request)
{
    if (request_matches(request, "DEL *"))
        (void)fputs("-NOPERM this user has no permissions\r\n", out);
    else if (request_matches(request, "SET ..."))
        (void)fputs("+OK\r\n", out);
    else
        know_nothing(out, request);
}

static const struct {
    answerer *answer;
    int code;
    const char *row;            /* parts of a line of the output */
    const char *came;
} fakes[] = {
    {lie_about_get, 1, "deviates     null: a missing key", ":5"},
    {lie_about_get, 1, "expected", "$-1"},
    {break_get, 1, "deviates     null: a missing key",
     "byte 7: expected CR LF behind the string"},
    {close_at_get, 1, "deviates     null: a missing key", "end of stream"},
    {be_before_redis_6, 0, "redis 5.0.14 at 127.0.0.1:", "0 deviate, "},
    {be_before_redis_6, 0, "3     T2    not offered  HELLO 3", "ERR unknown"},
    {know_nothing, 0, "a server of unknown version at", "0 deviate, "},
    {know_nothing, 0, "ok           simple string ", "+PONG"},
    {know_nothing, 0, "not offered  bulk string ", "-ERR unknown"},
};

START_TEST(deviations_are_shown)
{
    struct process *p = check_fake(fakes[_i].answer);
    const char *line = await_line(p, OUT, fakes[_i].row);

    ck_assert_ptr_nonnull(strstr(line, fakes[_i].came));
    (void)await_end(p, OUT);
    ck_assert_int_eq(finish(p), fakes[_i].code);
}
END_TEST

/* A name that is no file's, of this process. */
START_TEST(abstract_socket_is_reached)
{
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    int len = snprintf(un.sun_path + 1, sizeof un.sun_path - 1,
                       "holdfast-%d", getpid());
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct process *p;
    char url[sizeof un + 8];

    ck_assert_int_eq(
        bind(fd, (struct sockaddr *)&un,
             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1) +
                 (socklen_t)len), 0);
    ck_assert_int_eq(listen(fd, 8), 0);
    (void)snprintf(url, sizeof url, "unix:@%s", un.sun_path + 1);
    p = check_fake_at(url, fd, know_nothing);
    ck_assert_ptr_nonnull(strstr(await_line(p, OUT, "0 deviate, "), url));
    ck_assert_int_eq(finish(p), 0);
}
END_TEST

START_TEST(other_server_is_an_error)
{
    struct process *p;

    patience = "500ms";
    p = check_fake(be_http);
    ck_assert_int_eq(finish(p), 125);
    (void)await_line(p, ERR, "answers HTTP/1.1 400 Bad Request");
}
END_TEST

START_TEST(nothing_is_written_that_could_not_be_deleted)
{
    struct process *p = check_fake(forbid_del);

    ck_assert_int_eq(finish(p), 125);
    (void)await_line(p, ERR, "no permission to DEL");
    ck_assert(!was_asked("SET "));
}
END_TEST

/* A listening socket that nobody accepts from. */
START_TEST(silent_server_is_an_error_in_time)
{
    int64_t before_ms = local_now_ms();
    struct process *p;
    char url[64];
    int port;

    ck_assert_int_ge(local_listen(&port), 0);
    (void)snprintf(url, sizeof url, "redis://127.0.0.1:%d", port);
    p = holdfast_resp(NULL, "check", "-u", url, "--connect-timeout", "200ms",
                 NULL);
    ck_assert_int_eq(finish(p), 125);
    (void)await_line(p, ERR, "does not reply");
    ck_assert_within(before_ms, 5000);
}
END_TEST

static const struct {
    const char *url;
    const char *complaint;
} nowhere[] = {
    {"redis://127.0.0.1:1",
     "127.0.0.1:1: cannot connect: Connection refused"},
    {"redis://nobody.invalid", "nobody.invalid:6379: cannot resolve the name"},
    {"unix:///nowhere/at/all",
     "unix:/nowhere/at/all: cannot connect: No such file or directory"},
    {"unix:@holdfast-nobody",
     "unix:@holdfast-nobody: cannot connect: Connection refused"},
    {"http://127.0.0.1:1", "the URL is wrong at character 1"},
};

START_TEST(missing_server_is_reported_as_an_error)
{
    struct process *p =
        holdfast_resp(NULL, "check", "-u", nowhere[_i].url, NULL);

    ck_assert_int_eq(finish(p), 125);
    (void)await_line(p, ERR, nowhere[_i].complaint);
    ck_assert_str_eq(await_end(p, OUT), "");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("holdfast-resp");
    TCase *c = run_case(s, "decode");

    tcase_add_test(c, replies_are_shown_as_their_bytes_come);
    tcase_add_loop_test(c, input_that_is_not_resp_is_exit_code_1, 0,
                        COUNT(decodings));
    tcase_add_test(c, error_is_reported_though_the_input_continues);
    c = run_case(s, "check");
    tcase_add_test(c, released_server_conforms);
    tcase_add_test(c, nothing_remains);
    tcase_add_test(c, stopped_check_leaves_no_files);
    tcase_add_test(c, one_protocol_alone_can_be_checked);
    tcase_add_loop_test(c, password_that_the_server_repeats_is_not_shown, 0, 2);
    tcase_add_test(c, password_is_prompted_for_and_used);
    c = run_case(s, "no Redis");
    tcase_add_loop_test(c, deviations_are_shown, 0, COUNT(fakes));
    tcase_add_test(c, abstract_socket_is_reached);
    tcase_add_test(c, other_server_is_an_error);
    tcase_add_test(c, nothing_is_written_that_could_not_be_deleted);
    tcase_add_test(c, silent_server_is_an_error_in_time);
    tcase_add_loop_test(c, missing_server_is_reported_as_an_error, 0, COUNT(nowhere));
    return run_suite(s);
}
