/* `holdfast run` against a real server: exit codes, waiting, what the command
 * sees, what programs are told, and what is said when something is wrong. */
#include "tests/live/test_run_kit.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/feed.h"
#include "tests/support/local.h"
#include "tests/support/peer.h"
#include "tests/support/suite.h"

#define SH "sh", "-c"

/* ---- exit codes ---- */

static const struct {
    const char *script;
    int code;
} ends[] = {
    {"true", 0},          {"exit 1", 1},         {"exit 75", 75},
    {"exit 122", 122},    {"exit 255", 255},     {"kill -TERM $$", 128 + 15},
    {"kill -KILL $$", 137}, {"exec /nonexistent", 127},
};

START_TEST(code_of_the_command_is_ours)
{
    struct process *p =
        holdfast(server, "run", "x", SH, ends[_i].script, NULL);

    ck_assert_int_eq(finish(p), ends[_i].code);
    ck_assert_str_eq(server_ask(server, "EXISTS x"), "0");
}
END_TEST

static const struct {
    const char *program;
    int code;
    const char *said;
} missing[] = {
    {"/nonexistent", 127, "cannot run /nonexistent: No such file"},
    {"no-such-program-anywhere", 127, "No such file"},
    {"/etc/passwd", 126, "cannot run /etc/passwd: Permission denied"},
    {"/", 126, "Permission denied"},
    {"/etc/passwd/x", 127, "Not a directory"},
    {"source", 127, "it is a part of the shell: run NAME -- sh -c '...'"},
    {"export", 127, "sh -c '...'"},
    {"./report.sh | mail root", 127, "a line for the shell is run by sh -c '...'"},
};

/* And the lock is free again at once. */
START_TEST(command_that_cannot_be_executed_is_126_or_127)
{
    struct process *p =
        holdfast(server, "run", "x", missing[_i].program, NULL);

    ck_assert_int_eq(finish(p), missing[_i].code);
    ck_assert_ptr_nonnull(strstr(await_end(p, ERR), missing[_i].said));
    ck_assert_str_eq(server_ask(server, "EXISTS x"), "0");
}
END_TEST

START_TEST(dash_c_runs_a_shell_line)
{
    struct process *p =
        holdfast(server, "run", "x", "-c", "echo a b | tr a-z A-Z", NULL);

    ck_assert_int_eq(finish(p), 0);
    ck_assert_str_eq(await_end(p, OUT), "A B\n");
}
END_TEST

/* Also without -v, and once. */
START_TEST(two_masters_are_named)
{
    struct server *other = server_start((const char *const[]){NULL});
    struct process *p;
    char url[100];
    const char *said;

    (void)snprintf(url, sizeof url, "redis://127.0.0.1:%d,127.0.0.1:%d", server_port(server),
                   server_port(other));
    p = holdfast(NULL, "run", "-u", url, "x", "true", NULL);
    ck_assert_int_eq(finish(p), 0);
    said = await_end(p, ERR);
    ck_assert_msg(strstr(said, "holdfast: two masters: ") == said, "%s", said);
    server_stop(other);
}
END_TEST

/* It explains no loss: the reason of a loss is another line. */
START_TEST(two_masters_are_not_the_reason_of_a_loss)
{
    struct server *one = server_start((const char *const[]){NULL});
    struct server *two = server_start((const char *const[]){NULL});
    struct process *p;
    char url[100];
    const char *why;

    (void)snprintf(url, sizeof url, "redis://127.0.0.1:%d,127.0.0.1:%d", server_port(one),
                   server_port(two));
    p = holdfast(NULL, "run", "-u", url, "--ttl", "4500ms", "x", "-c", "echo up; read go",
                 NULL);
    (void)await_line(p, OUT, "up");
    (void)await_line(p, ERR, "two masters: ");
    server_stop(one);
    server_stop(two);
    why = await_line(p, ERR, "holdfast: ");
    ck_assert_msg(!strstr(why, "two masters") && !strstr(why, "lost the lock"), "%s", why);
    (void)await_line(p, ERR, "lost the lock x");
    ck_assert_int_eq(finish(p), 122);
}
END_TEST

/* ---- a password file that changes ---- */

static void replace_file(const char *path, const char *text)
{
    char beside[64];
    FILE *f;

    (void)snprintf(beside, sizeof beside, "%s.new", path);
    f = fopen(beside, "w");
    ck_assert_ptr_nonnull(f);
    (void)fputs(text, f);
    (void)fclose(f);
    ck_assert_int_eq(chmod(beside, 0600), 0);
    ck_assert_int_eq(rename(beside, path), 0);
}

/* The file is away when the connection is cut, and comes back with the new password: the
 * hold is renewed, and the command ends by itself. */
START_TEST(password_file_is_read_again_for_each_connection)
{
    char path[] = "/tmp/holdfast-run-XXXXXX";
    struct process *p;

    (void)close(mkstemp(path));
    replace_file(path, "one\n");
    (void)server_ask(server, "ACL SETUSER rot reset on >one ~* &* +@all");
    p = holdfast(server, "run", "-v", "--user", "rot", "--password-file", path, "--ttl",
                 "9s", "--status-fd", "3", "x", "-c", "echo ready; read go", NULL);
    (void)await_line(p, OUT, "ready");
    ck_assert_int_eq(unlink(path), 0);
    (void)server_ask(server, "ACL SETUSER rot resetpass >two");
    (void)server_ask(server, "CLIENT KILL USER rot");
    replace_file(path, "two\n");
    (void)await_line(p, STATUS, "\"renewed\"");
    say(p, "go\n");
    ck_assert_int_eq(finish(p), 0);
    (void)unlink(path);
    (void)server_ask(server, "ACL DELUSER rot");
}
END_TEST

/* The password of the server changes for good, and the connection ends. */
START_TEST(refused_password_is_reported_with_the_loss_and_the_release)
{
    char path[] = "/tmp/holdfast-run-XXXXXX";
    struct process *p;

    (void)close(mkstemp(path));
    replace_file(path, "one\n");
    (void)server_ask(server, "ACL SETUSER rot reset on >one ~* &* +@all");
    p = holdfast(server, "run", "--user", "rot", "--password-file", path, "--ttl",
                 "4500ms", "x", "-c", "echo ready; read go", NULL);
    (void)await_line(p, OUT, "ready");
    (void)server_ask(server, "ACL SETUSER rot resetpass >two");
    (void)server_ask(server, "CLIENT KILL USER rot");
    (void)await_line(p, ERR, "WRONGPASS");
    (void)await_line(p, ERR, "lost the lock x: ");
    ck_assert_ptr_nonnull(strstr(
        await_line(p, ERR, "could not confirm the release of x; "), "WRONGPASS"));
    ck_assert_int_eq(finish(p), 122);
    (void)unlink(path);
    (void)server_ask(server, "ACL DELUSER rot");
}
END_TEST

/* The sentinels' password changes while they have no connection to holdfast: it comes back
 * with the new one. */
START_TEST(sentinel_password_file_is_read_again)
{
    struct server *sentinel = server_start((const char *const[]){"--sentinel", NULL});
    char path[] = "/tmp/holdfast-run-XXXXXX", url[160];
    struct process *p;

    (void)close(mkstemp(path));
    replace_file(path, "one\n");
    ck_assert_str_eq(server_ask(sentinel, "SENTINEL MONITOR m 127.0.0.1 %d 1",
                                server_port(server)), "OK");
    (void)server_ask(sentinel, "ACL SETUSER rot reset on >one &* +@all");
    (void)snprintf(url, sizeof url, "redis+sentinel://127.0.0.1:%d/m?sentinel_user=rot",
                   server_port(sentinel));
    p = holdfast(NULL, "run", "-v", "-u", url, "--sentinel-password-file", path,
                 "--status-fd", "3", "x", "-c", "echo ready; read go", NULL);
    (void)await_line(p, OUT, "ready");
    (void)server_ask(sentinel, "ACL SETUSER rot resetpass >two");
    (void)server_ask(sentinel, "ACL SETUSER rot off");
    (void)server_ask(sentinel, "CLIENT KILL USER rot");
    replace_file(path, "two\n");
    (void)server_ask(sentinel, "ACL SETUSER rot on");
    for (int64_t end = local_now_ms() + PATIENCE_MS;
         !strstr(server_ask(sentinel, "CLIENT LIST"), " user=rot ");) {
        ck_assert_int_lt(local_now_ms(), end);
        local_poll_rest();
    }
    say(p, "go\n");
    ck_assert_int_eq(finish(p), 0);
    (void)unlink(path);
    server_stop(sentinel);
}
END_TEST

/* The server refuses the last password: the file is named before the lock is lost. */
START_TEST(missing_password_file_is_named)
{
    char path[] = "/tmp/holdfast-run-XXXXXX", says[100];
    struct process *p;

    (void)close(mkstemp(path));
    replace_file(path, "one\n");
    (void)server_ask(server, "ACL SETUSER rot reset on >one ~* &* +@all");
    p = holdfast(server, "run", "-q", "--user", "rot", "--password-file", path, "--ttl",
                 "3s", "x", "-c", "echo ready; read go", NULL);
    (void)await_line(p, OUT, "ready");
    ck_assert_int_eq(unlink(path), 0);
    (void)server_ask(server, "ACL SETUSER rot resetpass >two");
    (void)server_ask(server, "CLIENT KILL USER rot");
    (void)snprintf(says, sizeof says, "cannot use password file %s: No such file", path);
    (void)await_line(p, ERR, says);
    (void)await_line(p, ERR, "lost the lock x");
    ck_assert_int_eq(finish(p), 122);
    (void)server_ask(server, "ACL DELUSER rot");
}
END_TEST

/* ---- waiting ---- */

static const struct {
    const char *option, *value;
    int code;
} refusals[] = {
    {"-n", "-q", 75},      {"-w", "0", 75}, {"-w", "50ms", 75},
    {"-E1", "-n", 1},      {"-nE", "0", 0},
};

START_TEST(not_acquired_has_a_code_and_no_message)
{
    struct process *p;

    hold_by_other("x", 60000);
    p = holdfast(server, "run", refusals[_i].option, refusals[_i].value, "x",
                 "echo", "ran", NULL);
    ck_assert_int_eq(finish(p), refusals[_i].code);
    ck_assert_str_eq(await_end(p, OUT), "");
    ck_assert_str_eq(await_end(p, ERR), "");
    ck_assert_str_eq(server_ask(server, "HGET x " STRANGER), "1");
}
END_TEST

START_TEST(verbose_names_the_holder)
{
    struct process *p;

    hold_by_other("x", 60000);
    p = holdfast(server, "run", "-v", "x", "true", NULL);
    (void)await_line(p, ERR, "waiting for x: held by " STRANGER ", TTL ");
    (void)kill(pid_of(p), SIGTERM);
    ck_assert_int_eq(finish(p), 1000 + SIGTERM);
}
END_TEST

/* A process whose renewals are our clock: one each 1.5 s. */
static struct process *start_clock(void)
{
    struct process *p = holdfast(server, "run", "--ttl", "4500ms",
                                 "--status-fd", "3", "clock", "cat", NULL);

    (void)await_line(p, STATUS, "\"acquired\"");
    return p;
}

/* Is this line of MONITOR a question about lock x? The clock asks, too. */
static bool is_question(const struct feed_event *event)
{
    return strstr(event->text, "\"EVALSHA\"") &&
           strstr(event->text, " \"x\" ");
}

static int count_questions(struct feed *feed)
{
    const struct feed_event *event;
    int count = 0;

    while ((event = feed_next(feed, 0)))
        count += is_question(event);
    return count;
}

static const struct feed_event *await_question(struct feed *feed)
{
    const struct feed_event *event;

    do
        event = feed_await(feed, PATIENCE_MS, " \"x\" ");
    while (!is_question(event));
    return event;
}

/* While it waits it asks nothing at all, and one question after the release
 * gets it the lock: nobody looks now and then. */
START_TEST(second_run_starts_by_message)
{
    struct process *clock = start_clock();
    struct process *first, *second;
    struct feed *feed;
    const struct feed_event *event;
    int64_t released_ms;

    first = holdfast(server, "run", "x", SH, "echo up; read go", NULL);
    (void)await_line(first, OUT, "up");
    second = holdfast(server, "run", "--status-fd", "3", "x", "cat", NULL);
    (void)await_line(second, STATUS, "\"waiting\"");
    server_await(server, PATIENCE_MS, "redisson_lock__channel:{x} 1",
                 "PUBSUB NUMSUB redisson_lock__channel:{x}");
    (void)await_line(clock, STATUS, "\"renewed\""); /* asked behind that, too */
    feed = feed_open(server, "MONITOR");
    for (int i = 0; i < 2; i++)
        (void)await_line(clock, STATUS, "\"renewed\"");
    ck_assert_int_eq(count_questions(feed), 0);

    say(first, "go\n");
    event = feed_await(feed, PATIENCE_MS, "\"PUBLISH\"");
    released_ms = event->at_ms;
    event = await_question(feed);
    ck_assert_ptr_null(strstr(event->text, "\"PUBLISH\""));
    (void)await_line(second, STATUS, "\"acquired\"");
    printf("  the next run had the lock %d ms after the release\n",
           (int)(local_now_ms() - released_ms));
    shut(second);
    ck_assert_int_eq(finish(second), 0);
    event = await_question(feed);
    ck_assert_ptr_nonnull(strstr(event->text, "\"PUBLISH\"")); /* released */
    feed_close(feed);
}
END_TEST

/* Each writes two lines; were two inside, theirs would mix. */
START_TEST(twenty_runs_never_overlap)
{
    enum { RUNS = 20 };
    static const char script[] =
        "echo begin $$ >> \"$FILE\"; read none; echo end $$ >> \"$FILE\"";
    struct process *runs[RUNS];
    char path[128], verb[8], line[64];
    int pid = 0, last = 0, pairs = 0;
    FILE *file;

    (void)snprintf(path, sizeof path, "%s/overlap", server_folder(server));
    (void)setenv("FILE", path, 1);
    for (int i = 0; i < RUNS; i++) {
        runs[i] = holdfast(server, "run", "x", SH, script, NULL);
        shut(runs[i]);
    }
    for (int i = 0; i < RUNS; i++)
        ck_assert_int_eq(finish(runs[i]), 0);
    file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    while (fgets(line, sizeof line, file)) {
        ck_assert_int_eq(sscanf(line, "%7s %d", verb, &pid), 2);
        ck_assert_str_eq(verb, last ? "end" : "begin");
        ck_assert_int_eq(last ? last : pid, pid);
        pairs += last != 0;
        last = last ? 0 : pid;
    }
    (void)fclose(file);
    ck_assert_int_eq(pairs, RUNS);
}
END_TEST

/* ---- what the command sees ---- */

START_TEST(command_knows_its_lock)
{
    struct process *p = holdfast(
        server, "run", "a b", SH,
        "echo name $HOLDFAST_NAME; echo owner $HOLDFAST_OWNER;"
        "test -p /proc/self/fd/$HOLDFAST_FD && echo pipe; read go", NULL);
    char owner[128];

    (void)await_line(p, OUT, "name a b");
    (void)snprintf(owner, sizeof owner, "%s",
                   await_line(p, OUT, "owner ") + strlen("owner "));
    (void)await_line(p, OUT, "pipe");
    ck_assert_str_eq(server_ask(server, "HGET %s %s", "a b", owner), "1");
    shut(p);
    ck_assert_int_eq(finish(p), 1);
}
END_TEST

/* The command has ended long before. */
START_TEST(loss_while_the_lock_is_kept_is_reported)
{
    struct process *p = holdfast(server, "run", "--ttl", "4500ms", "--at-least",
                                 "1h", "--status-fd", "3", "x", "true", NULL);

    (void)await_line(p, STATUS, "\"exit\"");
    (void)server_ask(server, "DEL x");
    ck_assert_str_eq(await_line(p, ERR, ""),
                     "holdfast: the lock x no longer existed at the release");
    ck_assert_int_eq(finish(p), 0);
}
END_TEST

/* Row 1: in a nested run, which has nothing to add of its own. */
START_TEST(url_can_be_hidden_from_the_command)
{
    static const char show[] = "echo ${HOLDFAST_URL-hidden} ${HOME-hidden} "
                               "$HOLDFAST_NAME";
    struct process *p =
        _i == 0 ? holdfast(server, "run", "--hide-url", "x", "-c", show, NULL)
                : holdfast(server, "run", "x", HF_BUILD "/holdfast", "run",
                           "--hide-url", "x", "-c", show, NULL);
    char line[300];

    (void)snprintf(line, sizeof line, "hidden %s x", getenv("HOME"));
    ck_assert_str_eq(await_line(p, OUT, ""), line);
    ck_assert_int_eq(finish(p), 0);
}
END_TEST

/* Otherwise a nested run would silently use another server. What is read from files is not in it. */
START_TEST(url_of_the_option_is_that_of_a_nested_run)
{
    char url[SERVER_URL_MAX];
    struct process *p;

    (void)server_url(server, url);
    p = holdfast(NULL, "run", "-u", url, _i ? "--hide-url" : "--map=127.0.0.9=127.0.0.8", "x",
                 "-c", "echo ${HOLDFAST_URL-hidden}", NULL);
    ck_assert_str_eq(await_line(p, OUT, ""), _i ? "hidden" : url);
    ck_assert_int_eq(finish(p), 0);
    p = holdfast(NULL, "run", "-u", url, "x", HF_BUILD "/holdfast", "run", "-n", "x", "-c",
                 "echo $HOLDFAST_NAME", NULL);
    ck_assert_str_eq(await_line(p, OUT, ""), "x");
    ck_assert_int_eq(finish(p), 0);
}
END_TEST

/* Nothing of ours but the notice; everything of our caller's. */
START_TEST(descriptors_are_inherited_untouched)
{
    static const char list[] =
        "for f in /proc/self/fd/*; do n=${f##*/};"
        "[ -e $f ] && [ $n != ${HOLDFAST_FD-none} ] && printf '%s ' $n; done";
    char *argv[] = {(char *)"sh", (char *)"-c", (char *)list, NULL};
    struct process *with, *without;

    ck_assert_int_eq(dup2(STDERR_FILENO, 9), 9);
    without = start(server, argv);
    with = holdfast(server, "run", "x", SH, list, NULL);
    ck_assert_str_eq(await_end(with, OUT), await_end(without, OUT));
    ck_assert_ptr_nonnull(strstr(await_end(with, OUT), " 9 "));
    ck_assert_int_eq(finish(with), 0);
}
END_TEST

START_TEST(standard_input_is_the_commands)
{
    struct process *p = holdfast(server, "run", "x", "cat", NULL);

    say(p, "some\nlines\n");
    shut(p);
    ck_assert_str_eq(await_end(p, OUT), "some\nlines\n");
    ck_assert_int_eq(finish(p), 0);
}
END_TEST

/* What a caller closed stays closed, and no socket of ours takes its place. */
START_TEST(closed_descriptors_stay_closed)
{
    char *argv[] = {(char *)"sh", (char *)"-c",
                    (char *)"exec 0<&- 2>&-; exec " HF_BUILD
                    "/holdfast run x sh -c '"
                    "[ -e /proc/self/fd/0 ] || echo no 0;"
                    "[ -e /proc/self/fd/2 ] || echo no 2'", NULL};
    struct process *p = start(server, argv);

    ck_assert_str_eq(await_end(p, OUT), "no 0\nno 2\n");
    ck_assert_int_eq(finish(p), 0);
}
END_TEST

/* Blocked and ignored signals as without holdfast, also with nohup. */
START_TEST(signals_are_inherited_untouched)
{
    static const char *const wraps[] = {
        "", "trap '' HUP;", "trap '' HUP INT QUIT PIPE TERM USR1 TTOU TSTP;"};
    static const char grep[] = "grep -E '^Sig(Blk|Ign)' /proc/self/status";
    char script[512];
    char *argv[] = {(char *)"sh", (char *)"-c", script, NULL};
    struct process *with, *without;

    (void)snprintf(script, sizeof script, "%s exec %s", wraps[_i], grep);
    without = start(server, argv);
    (void)snprintf(script, sizeof script,
                   "%s exec " HF_BUILD "/holdfast run x %s", wraps[_i], grep);
    with = start(server, argv);
    ck_assert_str_eq(await_end(with, OUT), await_end(without, OUT));
    ck_assert_int_eq(finish(with), 0);
    ck_assert_int_eq(finish(without), 0);
}
END_TEST

/* ---- what programs are told ---- */

START_TEST(events_come_in_their_order)
{
    struct process *p = holdfast(server, "run", "--ttl", "4500ms",
                                 "--status-fd", "3", "x \"y\"\\", SH,
                                 "read go; exit 7", NULL);
    const char *line = await_line(p, STATUS, "");
    char owner[128];

    ck_assert_str_eq(member(line, "event"), "acquired");
    ck_assert_ptr_nonnull(strstr(line, "\"name\":\"x \\\"y\\\"\\\\\""));
    (void)snprintf(owner, sizeof owner, "%s", member(line, "owner"));
    ck_assert_str_eq(server_ask(server, "HGET %s %s", "x \"y\"\\", owner), "1");
    line = await_line(p, STATUS, "");
    ck_assert_str_eq(member(line, "event"), "renewed");
    shut(p);
    line = await_line(p, STATUS, "\"exit\"");
    ck_assert_str_eq(member(line, "code"), "7");
    line = await_line(p, STATUS, "");
    ck_assert_str_eq(member(line, "event"), "released");
    ck_assert_str_eq(member(line, "status"), "HF_OK");
    ck_assert_str_eq(member(line, "owner"), owner);
    ck_assert_str_eq(await_end(p, STATUS), "");
    ck_assert_int_eq(finish(p), 7);
}
END_TEST

START_TEST(json_is_the_same_on_standard_error)
{
    struct process *p = holdfast(server, "run", "--json", "x", "true", NULL);

    (void)await_line(p, ERR, "{\"event\":\"acquired\"");
    (void)await_line(p, ERR, "{\"event\":\"exit\"");
    (void)await_line(p, ERR, "{\"event\":\"released\"");
    ck_assert_int_eq(finish(p), 0);
}
END_TEST

START_TEST(events_without_a_reader_change_nothing)
{
    struct process *p = holdfast(server, "run", "--status-fd", "3", "x", SH,
                                 "read go; exit 3", NULL);

    (void)await_line(p, STATUS, "\"acquired\"");
    deafen(p, STATUS);
    shut(p);
    ck_assert_int_eq(finish(p), 3);
}
END_TEST

/* The pipe is full before the first event. */
START_TEST(full_pipe_does_not_delay_the_end)
{
    static const char script[] =
        "timeout 0.2 cat /dev/zero >&3;" /* until it blocks */
        "exec " HF_BUILD "/holdfast run --status-fd 3 x sh -c 'exit 3'";
    char *argv[] = {(char *)"sh", (char *)"-c", (char *)script, NULL};
    struct process *p = start(server, argv);

    ck_assert_int_eq(finish(p), 3);
}
END_TEST

/* An empty variable is one that is not set. */
START_TEST(empty_owner_is_no_outer_run)
{
    char *argv[] = {(char *)"env", (char *)"HOLDFAST_NAME=x",
                    (char *)"HOLDFAST_OWNER=", (char *)HF_BUILD "/holdfast",
                    (char *)"run", (char *)"-v", (char *)"x", (char *)"true",
                    NULL};
    struct process *p = start(server, argv);

    (void)await_line(p, ERR, "acquired x");
    ck_assert_int_eq(finish(p), 0);
}
END_TEST

static int64_t cpu_ms_of_children(void)
{
    struct rusage u;

    ck_assert_int_eq(getrusage(RUSAGE_CHILDREN, &u), 0);
    return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000 +
           (u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1000;
}

/* The socket of the guardian, which has left, is readable for ever. */
START_TEST(keeping_the_lock_costs_no_processor)
{
    int64_t before_ms = cpu_ms_of_children();
    struct process *p =
        holdfast(server, "run", "--at-least", "2s", "x", "true", NULL);

    ck_assert_int_eq(finish(p), 0);
    ck_assert_int_lt(cpu_ms_of_children() - before_ms, 1500);
}
END_TEST

/* The command has ended, and others still do not get the lock. */
START_TEST(lock_is_kept_at_least_so_long)
{
    struct process *p =
        holdfast(server, "run", "--ttl", "4500ms", "--at-least", "1h",
                 "--status-fd", "3", "x", SH, "exit 3", NULL);

    (void)await_line(p, STATUS, "\"exit\"");
    (void)await_line(p, STATUS, "\"renewed\"");
    ck_assert_int_eq(
        finish(holdfast(server, "run", "-n", "x", "true", NULL)), 75);
    ck_assert_int_eq(kill(pid_of(p), SIGTERM), 0);
    ck_assert_int_eq(finish(p), 3);
    ck_assert_str_eq(server_ask(server, "EXISTS x"), "0");
    p = holdfast(server, "run", "--at-least", "100ms", "x", "true", NULL);
    ck_assert_int_eq(finish(p), 0);
}
END_TEST

/* Or it could tell of a loss that is none. */
START_TEST(command_cannot_write_events)
{
    struct process *p = holdfast(server, "run", "--status-fd", "3", "x", SH,
                                 "echo forged >&3", NULL);

    ck_assert_int_ne(finish(p), 0);
    ck_assert_ptr_null(strstr(await_end(p, STATUS), "forged"));
}
END_TEST

/* ---- what goes wrong ---- */

static void fails(struct process *p, const char *said)
{
    const char *all;

    ck_assert_int_eq(finish(p), 125);
    all = await_end(p, ERR);
    ck_assert_msg(strstr(all, said), "\"%s\" is not in: %s", said, all);
    ck_assert_msg(strncmp(all, "holdfast: ", 10) == 0 ||
                      strncmp(all, "holdfast-resp: ", 15) == 0,
                  "%s", all);
    ck_assert_msg(strchr(all, '\n') == all + strlen(all) - 1, "%s", all);
    ck_assert_str_eq(await_end(p, OUT), "");
}

START_TEST(unreachable_server_is_named)
{
    char url[64], said[64];
    int port = local_dead_port();

    (void)snprintf(url, sizeof url, "redis://127.0.0.1:%d", port);
    (void)snprintf(said, sizeof said, "127.0.0.1:%d: cannot connect", port);
    fails(holdfast(NULL, "run", "--connect-timeout", "100ms", "-u", url, "x",
                   "echo", "ran", NULL),
          said);
}
END_TEST

START_TEST(unreachable_server_is_named_once_for_all_locks)
{
    char url[64];

    (void)snprintf(url, sizeof url, "redis://127.0.0.1:%d", local_dead_port());
    fails(holdfast(NULL, "status", "-u", url, "a", "b", "c", NULL),
          "cannot connect: Connection refused");
}
END_TEST

/* Another lock may live on a node that can be reached. */
START_TEST(unreachable_cluster_is_tried_for_each_lock)
{
    struct process *p;
    const char *first;
    char url[64];

    (void)snprintf(url, sizeof url, "redis+cluster://127.0.0.1:%d",
                   local_dead_port());
    p = holdfast(NULL, "status", "-u", url, "--connect-timeout", "200ms", "a",
                 "b", NULL);
    ck_assert_int_eq(finish(p), 125);
    first = strstr(await_end(p, ERR), "Connection refused");
    ck_assert_ptr_nonnull(first);
    ck_assert_ptr_nonnull(strstr(first + 1, "Connection refused"));
}
END_TEST

/* Who asks once waits for no server: an hour to connect would be too long for
 * this test. */
START_TEST(nonblocking_run_reports_a_refusal_at_once)
{
    static const char *const lines[][6] = {
        {"run", "-n", "x", "echo", "ran"},
        {"run", "-w", "0", "x", "echo", "ran"},
        {"status", "x"},
        {"unlock", "x", "--owner", STRANGER},
        {"unlock", "x", "--force", "-y"},
    };
    static const char *const urls[] = {
        "redis://127.0.0.1:%d", "redis+cluster://127.0.0.1:%d,127.0.0.1:%d",
        "redis+sentinel://127.0.0.1:%d,127.0.0.1:%d/main"};
    const char *const *l = lines[_i];
    int port = local_dead_port(), other = local_dead_port();

    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        char url[100];
        struct process *p;
        const char *all;

        (void)snprintf(url, sizeof url, urls[i], port, other);
        p = holdfast(NULL, l[0], "--connect-timeout", "1h", "-u", url, l[1],
                     l[2], l[3], l[4], l[5], NULL);
        ck_assert_int_eq(finish(p), 125);
        all = await_end(p, ERR);
        ck_assert_msg(strstr(all, "127.0.0.1:") &&
                          strstr(all, "cannot connect: Connection refused"),
                      "%s", all);
        ck_assert_str_eq(await_end(p, OUT), "");
    }
}
END_TEST


static int accept_soon(int listener)
{
    struct pollfd p = {.fd = listener, .events = POLLIN};

    ck_assert_int_eq(poll(&p, 1, PATIENCE_MS), 1);
    return accept(listener, NULL, NULL);
}

/* The server may be starting. */
START_TEST(waiter_also_waits_for_an_unreachable_server)
{
    char url[64];
    int port;
    int listener = local_listen(&port);
    struct process *p;

    (void)snprintf(url, sizeof url, "redis://127.0.0.1:%d", port);
    p = holdfast(NULL, "run", "-w", "1h", "--connect-timeout", "1h", "-u", url,
                 "x", "echo", "ran", NULL);
    local_reset(accept_soon(listener));
    local_close(accept_soon(listener));
    ck_assert_int_eq(kill(pid_of(p), SIGTERM), 0);
    ck_assert_int_eq(finish(p), 1000 + SIGTERM);
    local_close(listener);
}
END_TEST

START_TEST(key_of_another_type_is_named)
{
    static const char said[] = "a type that is not used for locks";

    (void)server_ask(server, "RPUSH x value");
    fails(holdfast(server, "run", "x", "echo", "ran", NULL), "WRONGTYPE");
    fails(holdfast(server, "status", "x", NULL), said);
    fails(holdfast(server, "unlock", "x", "--owner", STRANGER, NULL), said);
    ck_assert_str_eq(server_ask(server, "LINDEX x 0"), "value");
}
END_TEST

START_TEST(server_that_is_not_redis_is_named)
{
    static const struct peer_step script[] = {
        PEER_ACCEPT, PEER_SEND("HTTP/1.1 400 Bad Request\r\n\r\n"), PEER_GONE,
        PEER_END};
    struct peer *peer = peer_start(script);
    char url[64];

    (void)snprintf(url, sizeof url, "redis://127.0.0.1:%d", peer_port(peer));
    fails(holdfast(NULL, "run", "-u", url, "x", "echo", "ran", NULL),
          "this is the port of a Redis server");
    peer_free(peer);
}
END_TEST

START_TEST(tls_options_are_for_a_url_of_tls)
{
    static const char said[] = "the URL does not begin with rediss";

    fails(holdfast(server, "run", "--tls-ca", "ca.pem", "x", "echo", "ran",
                   NULL),
          said);
    fails(holdfast_resp(server, "check", "--tls-sni", "h", NULL), said);
}
END_TEST

START_TEST(options_of_the_url_reach_the_server)
{
    char url[SERVER_URL_MAX + 64];
    struct process *p;

    (void)snprintf(url, sizeof url, "redis://127.0.0.1:%d?client_name=nightly",
                   server_port(server));
    p = holdfast(NULL, "run", "-u", url, "x", "sh", "-c", "echo in; read end",
                 NULL);
    (void)await_line(p, OUT, "in");
    ck_assert_ptr_nonnull(
        strstr(server_ask(server, "CLIENT LIST"), " name=nightly "));
    say(p, "end\n");
    ck_assert_int_eq(finish(p), 0);
}
END_TEST

START_TEST(bad_url_is_refused_without_its_password)
{
    struct process *p = holdfast(NULL, "run", "-u", "redis://u:hush@h:port",
                                 "x", "true", NULL);

    ck_assert_int_eq(finish(p), 125);
    ck_assert_ptr_null(strstr(await_end(p, ERR), "hush"));
}
END_TEST

/* ---- passwords ---- */

static struct server *start_with_password(void)
{
    static const char *const args[] = {"--requirepass", "hush-hush", NULL};

    return server_start(args);
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fchmod(fileno(file), 0600), 0);
    (void)fputs(text, file);
    (void)fclose(file);
}

START_TEST(wrong_password_is_reported_without_being_shown)
{
    struct server *closed = start_with_password();
    char url[64];

    (void)snprintf(url, sizeof url, "redis://:guess@127.0.0.1:%d",
                   server_port(closed));
    fails(holdfast(closed, "run", "x", "true", NULL), "--password-file");
    fails(holdfast(NULL, "run", "-u", url, "x", "true", NULL), "WRONGPASS");
    server_stop(closed);
}
END_TEST

START_TEST(password_comes_from_a_file)
{
    struct server *closed = start_with_password();
    char path[128];
    struct process *p;

    (void)snprintf(path, sizeof path, "%s/password", server_folder(closed));
    write_file(path, "hush-hush\n");
    p = holdfast(closed, "run", "--password-file", path, "x", "echo", "in",
                 NULL);
    ck_assert_int_eq(finish(p), 0);
    ck_assert_str_eq(await_end(p, OUT), "in\n");
    write_file(path, "guess\n");
    fails(holdfast(closed, "run", "--password-file", path, "x", "true", NULL),
          "WRONGPASS");
    (void)unlink(path);
    fails(holdfast(closed, "run", "--password-file", path, "x", "true", NULL),
          "No such file");
    server_stop(closed);
}
END_TEST

/* They let us in, and know no master of that name: another error. */
START_TEST(password_of_sentinels_comes_from_a_file)
{
    struct server *sentinel = server_start((const char *const[]){
        "--sentinel", "--requirepass", "hush %&#", NULL});
    char url[128], path[128];

    (void)snprintf(path, sizeof path, "%s/password", server_folder(sentinel));
    (void)snprintf(url, sizeof url, "redis+sentinel://127.0.0.1:%d/m%s",
                   server_port(sentinel), _i ? "?timeout=5s" : "");
    write_file(path, "wrong\n");
    fails(holdfast(NULL, "status", "--sentinel-password-file", path, "-u", url,
                   "x", NULL), "WRONGPASS");
    write_file(path, "hush %&#\n");
    fails(holdfast(NULL, "status", "--sentinel-password-file", path, "-u", url,
                   "x", NULL), "do not know 'm'");
    server_stop(sentinel);
}
END_TEST

/* As ssh looks at its keys; but it is a note, for secrets that a container gets
 * are readable by all inside. The server has no password: what is said of that does
 * not matter here. */
static const struct {
    mode_t mode;
    const char *option, *level;
    bool is_told;
} modes[] = {{0600, "--password-file", "--json", false},
             {0640, "--password-file", "--json", false},
             {0644, "--password-file", "--json", true},
             {0602, "--password-file", "--json", true},
             {0604, "--tls-key-password-file", "--json", true},
             {0660, "--password-file", "--json", true},
             {0644, "--password-file", "-q", false}};

START_TEST(password_file_that_all_can_read_is_reported)
{
    const char *said;
    char path[128];
    struct process *p;

    (void)snprintf(path, sizeof path, "%s/password", server_folder(server));
    write_file(path, "hush-hush\n");
    ck_assert_int_eq(chmod(path, modes[_i].mode), 0);
    p = holdfast(server, "status", modes[_i].option, path, modes[_i].level, "x",
                 NULL);
    (void)finish(p);
    said = strstr(await_end(p, ERR), "chmod 600");
    ck_assert_int_eq(!said, !modes[_i].is_told);
    ck_assert_ptr_null(strstr(await_end(p, ERR), "hush-hush"));
    (void)unlink(path);
}
END_TEST

/* Neither of ours nor of the command's arguments can it be read. */
START_TEST(password_is_not_in_any_command_line)
{
    struct server *closed = start_with_password();
    struct process *p;
    char url[64];

    (void)snprintf(url, sizeof url, "redis://:hush-hush@127.0.0.1:%d",
                   server_port(closed));
    p = holdfast(NULL, "run", "-v", "-u", url, "x", SH,
                 "tr '\\0' ' ' < /proc/$PPID/cmdline; echo;"
                 "tr '\\0' ' ' < /proc/$$/cmdline; env", NULL);
    ck_assert_int_eq(finish(p), 0);
    ck_assert_ptr_null(strstr(await_end(p, OUT), "hush-hush"));
    ck_assert_ptr_nonnull(strstr(await_end(p, OUT), "redis://:*********@"));
    ck_assert_ptr_null(strstr(await_end(p, ERR), "hush-hush"));
    server_stop(closed);
}
END_TEST

/* The password is in the memory of holdfast and of its guardian, the command's
 * parent; the command may have what limit it was given. */
START_TEST(only_the_command_may_dump_core)
{
    struct rlimit limit, before;
    struct process *p;

    ck_assert_int_eq(getrlimit(RLIMIT_CORE, &before), 0);
    limit = before;
    limit.rlim_cur = 4096;
    if (before.rlim_max < limit.rlim_cur)
        return; /* nobody may here */
    ck_assert_int_eq(setrlimit(RLIMIT_CORE, &limit), 0);
    /* A sanitized holdfast would set it to 0 before main(). */
    ck_assert_int_eq(setenv("ASAN_OPTIONS", "disable_coredump=0", 1), 0);
    p = holdfast(server, "run", "x", SH,
                 "guard=$PPID; read -r _ _ _ ours _ </proc/$guard/stat;"
                 "awk '/core file/ {print $5}' /proc/$$/limits "
                 "/proc/$guard/limits /proc/$ours/limits", NULL);
    ck_assert_int_eq(setrlimit(RLIMIT_CORE, &before), 0);
    ck_assert_int_eq(finish(p), 0);
    ck_assert_str_eq(await_end(p, OUT), "4096\n0\n0\n");
}
END_TEST

/* A core_pattern that is a pipe does not obey the limit. Of a process that is not
 * dumpable, the files in /proc/PID belong to root; the command is as before. A shell's <(...) can
 * still be opened. */
START_TEST(neither_holdfast_nor_its_guardian_is_dumpable)
{
    char *argv[] = {(char *)"setpriv", (char *)"--reuid=65534", (char *)"--regid=65534",
                    (char *)"--clear-groups", (char *)"bash", (char *)"-c",
                    (char *)HF_BUILD "/holdfast run --password-file <(echo hush-hush) "
                    "x -c \"$PROBE\"", NULL};
    struct server *guarded;
    struct process *p;
    int code;

    if (geteuid() != 0) {
        (void)fprintf(stderr, "  skipped: only root can become another user\n");
        return;
    }
    ck_assert_int_eq(setenv("PROBE", "guard=$PPID; read -r _ _ _ ours _ </proc/$guard/stat;"
                            "stat -c %u /proc/$$/io /proc/$guard/io /proc/$ours/io", 1), 0);
    guarded = start_with_password();
    p = start(guarded, argv);
    code = finish(p);
    if (code == 126 || code == 127)
        (void)fprintf(stderr, "  skipped: another user cannot execute " HF_BUILD
                              "/holdfast\n");
    else
        ck_assert_str_eq(await_end(p, OUT), "65534\n0\n0\n");
    server_stop(guarded);
}
END_TEST

/* ---- the other subcommands' words ---- */

START_TEST(help_and_version_are_on_standard_output)
{
    static const char *const words[][3] = {{"help", NULL, "usage:"},
                                           {"--help", NULL, "usage:"},
                                           {"help", "run", "--max-hold"},
                                           {"run", "--help", "--max-hold"},
                                           {"status", "-h", "usage:"},
                                           {"unlock", "--help", "usage:"},
                                           {"version", NULL, "holdfast "},
                                           {"--version", NULL, "holdfast "},
                                           {"version", "--json", "\"tls\":"}};
    struct process *p =
        holdfast(NULL, words[_i][0], words[_i][1], NULL);

    ck_assert_int_eq(finish(p), 0);
    ck_assert_ptr_nonnull(strstr(await_end(p, OUT), words[_i][2]));
    ck_assert_str_eq(await_end(p, ERR), "");
}
END_TEST

START_TEST(no_or_unknown_command_is_an_error)
{
    fails(holdfast(NULL, NULL), "usage: holdfast run NAME");
    fails(holdfast(NULL, "frobnicate", NULL),
          "unknown command 'frobnicate'; commands: run, elect, hold, acquire, ");
    fails(holdfast(NULL, "elect", "--shared", "x", "true", NULL),
          "--shared and --permits have no meaning in an election");
    fails(holdfast(NULL, "elect", "-n", "x", "true", NULL),
          "--nonblock and --wait have no meaning in an election, because a candidate waits");
    fails(holdfast(NULL, "run", "-u", "", "x", "true", NULL),
          "-u: the URL is wrong at character 1: it is empty");
    fails(holdfast(NULL, "stauts", NULL), "unknown command 'stauts'; did you mean 'status'?");
    fails(holdfast(NULL, "list", NULL), "unknown command 'list'; did you mean 'ls'?");
    fails(holdfast(NULL, "-u", "redis://h", NULL), "usage:");
    fails(holdfast(NULL, "status", NULL), "NAME is required");
    fails(holdfast(NULL, "version", "x", NULL), "unexpected argument");
}
END_TEST

START_TEST(full_disk_is_not_success)
{
    char *argv[] = {(char *)"sh", (char *)"-c",
                    (char *)"exec " HF_BUILD "/holdfast version >/dev/full",
                    NULL};
    struct process *p = start(NULL, argv);

    ck_assert_int_eq(finish(p), 125);
    ck_assert_ptr_nonnull(strstr(await_end(p, ERR), "standard output"));
}
END_TEST

static void add_course(Suite *s)
{
    TCase *c = run_case(s, "exit codes and waiting");

    tcase_add_loop_test(c, code_of_the_command_is_ours, 0, ROWS(ends));
    tcase_add_loop_test(c, command_that_cannot_be_executed_is_126_or_127, 0,
                        ROWS(missing));
    tcase_add_test(c, two_masters_are_named);
    tcase_add_test(c, two_masters_are_not_the_reason_of_a_loss);
    tcase_add_test(c, password_file_is_read_again_for_each_connection);
    tcase_add_test(c, refused_password_is_reported_with_the_loss_and_the_release);
    tcase_add_test(c, sentinel_password_file_is_read_again);
    tcase_add_test(c, missing_password_file_is_named);
    tcase_add_test(c, dash_c_runs_a_shell_line);
    tcase_add_loop_test(c, not_acquired_has_a_code_and_no_message, 0,
                        ROWS(refusals));
    tcase_add_test(c, verbose_names_the_holder);
    tcase_add_test(c, second_run_starts_by_message);
    tcase_add_test(c, twenty_runs_never_overlap);
}

static void add_command(Suite *s)
{
    TCase *c = run_case(s, "what the command sees, what programs are told");

    tcase_add_test(c, command_knows_its_lock);
    tcase_add_test(c, loss_while_the_lock_is_kept_is_reported);
    tcase_add_loop_test(c, url_can_be_hidden_from_the_command, 0, 2);
    tcase_add_loop_test(c, url_of_the_option_is_that_of_a_nested_run, 0, 2);
    tcase_add_test(c, descriptors_are_inherited_untouched);
    tcase_add_test(c, standard_input_is_the_commands);
    tcase_add_test(c, closed_descriptors_stay_closed);
    tcase_add_loop_test(c, signals_are_inherited_untouched, 0, 3);
    tcase_add_test(c, events_come_in_their_order);
    tcase_add_test(c, json_is_the_same_on_standard_error);
    tcase_add_test(c, events_without_a_reader_change_nothing);
    tcase_add_test(c, full_pipe_does_not_delay_the_end);
}

static void add_trouble(Suite *s)
{
    TCase *c = run_case(s, "trouble");

    tcase_add_test(c, unreachable_server_is_named);
    tcase_add_test(c, unreachable_server_is_named_once_for_all_locks);
    tcase_add_test(c, unreachable_cluster_is_tried_for_each_lock);
    tcase_add_loop_test(c, nonblocking_run_reports_a_refusal_at_once, 0, 5);
    tcase_add_test(c, waiter_also_waits_for_an_unreachable_server);
    tcase_add_test(c, lock_is_kept_at_least_so_long);
    tcase_add_test(c, keeping_the_lock_costs_no_processor);
    tcase_add_test(c, command_cannot_write_events);
    tcase_add_test(c, empty_owner_is_no_outer_run);
    tcase_add_test(c, key_of_another_type_is_named);
    tcase_add_test(c, server_that_is_not_redis_is_named);
    tcase_add_test(c, tls_options_are_for_a_url_of_tls);
    tcase_add_test(c, options_of_the_url_reach_the_server);
    tcase_add_test(c, bad_url_is_refused_without_its_password);
    tcase_add_test(c, wrong_password_is_reported_without_being_shown);
    tcase_add_test(c, password_comes_from_a_file);
    tcase_add_loop_test(c, password_file_that_all_can_read_is_reported, 0,
                        sizeof modes / sizeof *modes);
    tcase_add_loop_test(c, password_of_sentinels_comes_from_a_file, 0, 2);
    tcase_add_test(c, password_is_not_in_any_command_line);
    tcase_add_test(c, only_the_command_may_dump_core);
    tcase_add_test(c, neither_holdfast_nor_its_guardian_is_dumpable);
    tcase_add_loop_test(c, help_and_version_are_on_standard_output, 0, 9);
    tcase_add_test(c, no_or_unknown_command_is_an_error);
    tcase_add_test(c, full_disk_is_not_success);
}

int main(void)
{
    Suite *s = suite_create("holdfast run");

    add_course(s);
    add_command(s);
    add_trouble(s);
    return run_suite(s);
}
