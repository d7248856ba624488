/* Servers live, answer and die as told; feeds tell what they did. */
#include "tests/support/one_server.h"
#include "tests/support/server.h"

#include <errno.h>
#include <hiredis/hiredis.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/feed.h"
#include "tests/support/local.h"
#include "tests/support/self/self.h"

static bool exists(pid_t pid)
{
    return kill(pid, 0) == 0;
}

static bool is_folder(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0;
}

static const struct {
    const char *question;
    const char *answer;
} answers[] = {
    {"PING", "PONG"},
    {"GET none", "(nil)"},
    {"INCR number", "1"},
    {"ECHO two", "two"},
    {"LRANGE none 0 -1", ""},
    {"MGET none none", "(nil) (nil)"},
    {"GET", "(error) ERR wrong number of arguments for 'get' command"},
    {"CONFIG GET appendonly", "appendonly no"},
    {"CONFIG GET save", "save "},
    {"COMMAND INFO none", "(nil)"},
    {"DEBUG SLEEP 0", "OK"},
};

START_TEST(an_answer_comes_as_text)
{
    ck_assert_str_eq(server_ask(server, answers[_i].question),
                     answers[_i].answer);
}
END_TEST

START_TEST(arguments_are_formatted_as_in_hiredis)
{
    ck_assert_str_eq(server_ask(server, "SET %s %b", "a key", "a\0b", 3), "OK");
    ck_assert_int_eq(server_ask_int(server, "STRLEN %s", "a key"), 3);
    ck_assert_str_eq(server_ask(server, "GET %s", "a key"), "a\\0b");
}
END_TEST

START_TEST(the_last_answers_stay_readable)
{
    const char *first = server_ask(server, "ECHO first");

    for (int i = 1; i < SERVER_ANSWERS; i++)
        (void)server_ask(server, "ECHO %d", i);
    ck_assert_str_eq(first, "first");
}
END_TEST

START_TEST(awaiting_ends_when_the_state_is_reached)
{
    (void)server_ask(server, "SET k v PX 50");
    server_await(server, LONG_MS, "(nil)", "GET k");
    ck_assert_int_eq(server_ask_int(server, "EXISTS k"), 0);
}
END_TEST

START_TEST(it_listens_at_its_address)
{
    char url[SERVER_URL_MAX], expected[SERVER_URL_MAX];
    redisContext *c = hiredis_to(server_port(server));
    redisContext *local = server_connect(server);

    (void)snprintf(expected, sizeof expected, "redis://127.0.0.1:%d",
                   server_port(server));
    ck_assert_str_eq(server_url(server, url), expected);
    ck_assert_ptr_nonnull(local);
    redisFree(local);
    freeReplyObject(redisCommand(c, "SET k v"));
    ck_assert_str_eq(server_ask(server, "GET k"), "v");
    redisFree(c);
}
END_TEST

START_TEST(a_paused_server_answers_only_when_resumed)
{
    int fd = connect_to(server_port(server));
    int late;

    server_pause(server);
    server_pause(server); /* already is */
    say(fd, "PING\r\n");
    late = connect_to(server_port(server)); /* the backlog takes it */
    ck_assert(is_silent(fd));
    server_resume(server);
    server_resume(server);
    (void)hear(fd, "+PONG\r\n");
    say(late, "PING\r\n");
    (void)hear(late, "+PONG\r\n");
    (void)close(late);
    (void)close(fd);
}
END_TEST

START_TEST(a_killed_server_refuses_and_a_restarted_one_is_new)
{
    pid_t first = server_pid(server);
    int port = server_port(server), fd = connect_to(port);

    ck_assert(exists(first));
    (void)server_ask(server, "SET k v");
    server_kill(server);
    ck_assert(!exists(first));
    ck_assert_int_eq(server_pid(server), 0);
    (void)hear_end(fd);
    (void)close(fd);
    ck_assert_int_eq(try_connect(server_port(server)), -1);
    ck_assert_int_eq(errno, ECONNREFUSED);
    ck_assert(!local_reserve(&port)); /* another test does not get it */

    server_restart(server);
    ck_assert_int_ne(server_pid(server), first);
    ck_assert_str_eq(server_ask(server, "GET k"), "(nil)");
    (void)close(connect_to(server_port(server)));
}
END_TEST

START_TEST(a_running_or_paused_server_can_be_restarted)
{
    server_restart(server);
    ck_assert_str_eq(server_ask(server, "PING"), "PONG");
    server_pause(server);
    server_restart(server);
    ck_assert_str_eq(server_ask(server, "PING"), "PONG");
}
END_TEST

START_TEST(a_server_that_ends_by_itself_can_be_restarted)
{
    redisContext *c = server_connect(server);
    int64_t deadline_ms = local_now_ms() + LONG_MS;

    ck_assert_ptr_null(redisCommand(c, "SHUTDOWN NOSAVE"));
    redisFree(c);
    while (server_pid(server) != 0 && local_now_ms() < deadline_ms)
        local_poll_rest();
    ck_assert_int_eq(server_pid(server), 0);
    server_restart(server);
    ck_assert_str_eq(server_ask(server, "PING"), "PONG");
}
END_TEST

START_TEST(extra_arguments_win_and_are_kept)
{
    const char *const extra[] = {"--appendonly", "yes", "--appendfsync",
                                 "always", "--requirepass", "secret", NULL};
    struct server *s = server_start(extra);
    int fd = connect_to(server_port(s));

    say(fd, "GET k\r\n");
    (void)hear(fd, "-NOAUTH Authentication required.\r\n");
    (void)close(fd);
    ck_assert_str_eq(server_ask(s, "SET k v"), "OK");
    server_kill(s);
    server_restart(s);
    ck_assert_str_eq(server_ask(s, "GET k"), "v");
    server_stop(s);
}
END_TEST

/* No server, no keeper, no folder: a stopped one, and one whose test was
 * killed in the worst way and in the worst moment. */
START_TEST(a_stopped_server_leaves_nothing)
{
    struct server *s = server_start(NULL);
    char *folder = local_copy(server_folder(s));
    pid_t pid = server_pid(s);

    server_pause(s);
    server_stop(s);
    ck_assert(!exists(pid));
    ck_assert(!is_folder(folder));
    ck_assert_int_eq(waitpid(-1, NULL, 0), -1);
    ck_assert_int_eq(errno, ECHILD);
    free(folder);
}
END_TEST

/* In a process of its own: says where its server is, and dies. */
static _Noreturn void start_and_die(int out, int signal_number)
{
    struct server *s = server_start(NULL);

    (void)dprintf(out, "%d %s", (int)server_pid(s), server_folder(s));
    server_pause(s);
    if (signal_number) {
        /* libcheck's handler of SIGTERM would end the test, too. */
        (void)signal(signal_number, SIG_DFL);
        (void)raise(signal_number);
    }
    _exit(1); /* as libcheck does after a failed assertion */
}

static const int deaths[] = {0, SIGKILL, SIGTERM, SIGSEGV};

START_TEST(a_server_ends_with_its_test)
{
    int64_t deadline_ms = local_now_ms() + LONG_MS;
    char text[200] = "", folder[200];
    int ends[2], pid = 0;
    pid_t child;

    ck_assert_int_eq(pipe(ends), 0);
    child = fork();
    if (child == 0)
        start_and_die(ends[1], deaths[_i]);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    ck_assert_int_gt(read(ends[0], text, sizeof text - 1), 0);
    ck_assert_int_eq(sscanf(text, "%d %199s", &pid, folder), 2);
    while ((exists(pid) || is_folder(folder)) && local_now_ms() < deadline_ms)
        local_poll_rest();
    ck_assert(!exists(pid));
    ck_assert(!is_folder(folder));
}
END_TEST

START_TEST(a_missing_server_is_reported_by_null)
{
    const char *given = getenv("HF_TEST_SERVER");
    char *kept = given ? local_copy(given) : NULL;

    (void)setenv("HF_TEST_SERVER", "/no/such/server", 1);
    ck_assert_ptr_null(server_start(NULL));
    ck_assert(!server_is_installed());
    if (kept)
        (void)setenv("HF_TEST_SERVER", kept, 1);
    else
        (void)unsetenv("HF_TEST_SERVER");
    free(kept);
}
END_TEST

START_TEST(the_port_of_a_stopped_server_stays_reserved)
{
    struct server *s = server_start(NULL);
    int port = server_port(s);

    server_stop(s);
    ck_assert(!local_reserve(&port));
    ck_assert_int_eq(try_connect(port), -1);
    ck_assert_int_eq(errno, ECONNREFUSED);
}
END_TEST

START_TEST(the_port_of_a_closed_listener_stays_reserved)
{
    int port, fd = local_listen(&port);

    (void)close(connect_to(port));
    (void)close(fd);
    ck_assert(!local_reserve(&port));
    ck_assert_int_eq(try_connect(port), -1);
    ck_assert_int_eq(errno, ECONNREFUSED);
}
END_TEST

/* The keeper is forked off a process with threads then. */
START_TEST(a_server_may_be_started_beside_threads)
{
    struct server *first = server_start(NULL), *second;
    struct feed *f = feed_open(first, "SUBSCRIBE a");

    second = server_start(NULL);
    ck_assert_int_ne(server_port(first), server_port(second));
    ck_assert_int_eq(server_ask_int(first, "PUBLISH a one"), 1);
    ck_assert_int_eq(server_ask_int(second, "PUBLISH a two"), 0);
    ck_assert_str_eq(feed_next(f, LONG_MS)->text, "message a one");
    server_stop(first);
    ck_assert_ptr_null(feed_next(f, LONG_MS)); /* its last copy was ours */
    ck_assert_str_eq(server_ask(second, "PING"), "PONG");
    feed_close(f);
    server_stop(second);
}
END_TEST

/* `server` is the parent's here, and these tests run one after the other, in
 * children of it: what one does to the server, the next one sees. */
START_TEST(the_parents_server_can_be_used)
{
    if (_i == 0)
        ck_assert_str_eq(server_ask(server, "SET k v"), "OK");
    if (_i == 1)
        ck_assert_str_eq(server_ask(server, "GET k"), "v");
    if (_i == 2)
        server_pause(server);
    if (_i == 3)
        server_resume(server);
    if (_i == 4)
        server_kill(server);
    if (_i == 5)
        server_restart(server);
    if (_i == 6)
        ck_assert_str_eq(server_ask(server, "GET k"), "(nil)");
}
END_TEST

/* ---- feed ---------------------------------------------------------------- */

START_TEST(a_feed_reports_messages_and_when_they_came)
{
    struct feed *f = feed_open(server, "SUBSCRIBE a b");
    int64_t before_ms = local_now_ms();
    const struct feed_event *event;

    ck_assert_int_eq(server_ask_int(server, "PUBLISH a one"), 1);
    ck_assert_int_eq(server_ask_int(server, "PUBLISH b two"), 1);
    local_rest_us(3 * A_MOMENT_MS * 1000); /* read late: the time is true */
    event = feed_next(f, LONG_MS);
    ck_assert_str_eq(event->text, "message a one");
    ck_assert_int_ge(event->at_ms, before_ms);
    ck_assert_int_lt(event->at_ms, local_now_ms() - A_MOMENT_MS);
    ck_assert_str_eq(feed_next(f, LONG_MS)->text, "message b two");
    ck_assert_ptr_null(feed_next(f, 0));
    feed_close(f);
}
END_TEST

START_TEST(a_feed_shows_executed_commands)
{
    struct feed *f = feed_open(server, "MONITOR");
    redisContext *c = hiredis_to(server_port(server));

    freeReplyObject(redisCommand(c, "SET k v"));
    ck_assert_ptr_nonnull(strstr(feed_await(f, LONG_MS, "\"SET\"")->text,
                                 "\"SET\" \"k\" \"v\""));
    server_kill(server);
    ck_assert_ptr_null(feed_next(f, LONG_MS)); /* at once */
    feed_close(f);
    redisFree(c);
}
END_TEST

void add_server_tests(Suite *suite)
{
    TCase *tc = add_tcase(suite, "server");

    tcase_add_checked_fixture(tc, start_server, stop_server);
    tcase_add_loop_test(tc, an_answer_comes_as_text, 0, COUNT(answers));
    tcase_add_test(tc, arguments_are_formatted_as_in_hiredis);
    tcase_add_test(tc, the_last_answers_stay_readable);
    tcase_add_test(tc, awaiting_ends_when_the_state_is_reached);
    tcase_add_test(tc, it_listens_at_its_address);
    tcase_add_test(tc, a_paused_server_answers_only_when_resumed);
    tcase_add_test(tc, a_killed_server_refuses_and_a_restarted_one_is_new);
    tcase_add_test(tc, the_port_of_a_stopped_server_stays_reserved);
    tcase_add_test(tc, the_port_of_a_closed_listener_stays_reserved);
    tcase_add_test(tc, a_running_or_paused_server_can_be_restarted);
    tcase_add_test(tc, a_server_that_ends_by_itself_can_be_restarted);
    tcase_add_test(tc, a_feed_reports_messages_and_when_they_came);
    tcase_add_test(tc, a_feed_shows_executed_commands);

    tc = add_tcase(suite, "server's life");
    tcase_add_test(tc, extra_arguments_win_and_are_kept);
    tcase_add_test(tc, a_stopped_server_leaves_nothing);
    tcase_add_test(tc, a_missing_server_is_reported_by_null);
    tcase_add_test(tc, a_server_may_be_started_beside_threads);
    tcase_add_loop_test(tc, a_server_ends_with_its_test, 0,
                        COUNT(deaths));

    tc = add_tcase(suite, "the parent's server");
    tcase_add_unchecked_fixture(tc, start_server, stop_server);
    tcase_add_loop_test(tc, the_parents_server_can_be_used, 0, 7);
}
