/* `holdfast run` when its lock is lost, or has been held long enough, and runs
 * inside a run. Nothing works on without its lock: the ends of commands are
 * seen by the end of a pipe that they hold. */
#include "tests/live/test_run_kit.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/feed.h"
#include "tests/support/lateness.h"
#include "tests/support/local.h"

#define SH "sh", "-c"
#define HOLDFAST HF_BUILD "/holdfast"

/* Renewed each 1.5 s, so that a loss is found soon, and a stall of 2 s is none. */
#define TTL "--ttl", "4500ms"

/* A command that ends with its input, or with TERM. */
#define OBEDIENT SH, "echo up; read go"
/* One that has to be killed. */
#define STUBBORN SH, "trap 'echo got TERM' TERM; echo up;" AWAIT_SIGNALS

/* If the standard error is full, the shell would block when it reports there that its `sleep`
 * was terminated. */
#define STUBBORN_ARGV                                                         \
    (char *)"sh", (char *)"-c",                                               \
        (char *)"exec 2>/dev/null; trap 'echo got TERM' TERM; echo up;" AWAIT_SIGNALS

static void steal(const char *name)
{
    (void)server_ask(server, "EVAL %s 1 %s",
                     "redis.call('del', KEYS[1])"
                     "redis.call('hset', KEYS[1], '" STRANGER "', 1)"
                     "return redis.call('pexpire', KEYS[1], 60000)",
                     name);
}

/* ---- deleted, taken ---- */

START_TEST(deleted_lock_stops_the_command)
{
    struct process *p = holdfast(server, "run", TTL, "--status-fd", "3", "x",
                                 OBEDIENT, NULL);

    (void)await_line(p, OUT, "up");
    (void)server_ask(server, "DEL x");
    ck_assert_str_eq(member(await_line(p, STATUS, "\"lost\""), "reason"),
                     "deleted");
    (void)await_end(p, OUT);
    ck_assert_int_eq(finish(p), 122);
    ck_assert_ptr_nonnull(strstr(await_end(p, ERR), "lost the lock x"));
}
END_TEST

/* Root without CAP_KILL may not signal another user's process, which is what any
 * user's holdfast meets behind sudo(8). The shell that starts as root becomes
 * that user's, in the same process. */
START_TEST(stop_without_permission_to_signal_is_not_reported_as_done)
{
    struct process *p;

    if (geteuid() != 0 || access("/usr/bin/setpriv", X_OK) < 0)
        return;
    ck_assert_int_eq(prctl(PR_CAPBSET_DROP, 5 /* CAP_KILL */), 0);
    p = holdfast(server, "run", TTL, "-k", "100ms", "x", "/usr/bin/setpriv",
                 "--reuid=65534", "--clear-groups", OBEDIENT, NULL);
    (void)await_line(p, OUT, "up");
    (void)server_ask(server, "DEL x");
    ck_assert_ptr_null(strstr(await_line(p, ERR, "lost the lock x"),
                              "is stopped"));
    (void)await_line(p, ERR, "cannot signal the command: Operation not "
                             "permitted; it runs on");
    say(p, "go\n");
    ck_assert_int_eq(finish(p), 122);
    ck_assert_ptr_null(strstr(await_end(p, ERR), "cannot signal")); /* again */
}
END_TEST

/* The system does not kill it with its guardian either. */
START_TEST(kill_without_permission_to_signal_is_not_reported_as_done)
{
    struct process *p;
    char path[64];
    FILE *file;
    int guard = 0;

    if (geteuid() != 0 || access("/usr/bin/setpriv", X_OK) < 0)
        return;
    ck_assert_int_eq(prctl(PR_CAPBSET_DROP, 5 /* CAP_KILL */), 0);
    p = holdfast(server, "run", TTL, "-k", "100ms", "x", "/usr/bin/setpriv",
                 "--reuid=65534", "--clear-groups", OBEDIENT, NULL);
    (void)await_line(p, OUT, "up");
    (void)snprintf(path, sizeof path, "/proc/%d/task/%d/children", pid_of(p),
                   pid_of(p));
    ck_assert_ptr_nonnull(file = fopen(path, "r"));
    ck_assert_int_eq(fscanf(file, "%d", &guard), 1);
    (void)fclose(file);
    ck_assert_int_eq(kill(guard, SIGKILL), 0);
    (void)await_line(p, ERR, "cannot be signalled: Operation not permitted");
    ck_assert(!is_ended(p, OUT));
    say(p, "go\n");
    ck_assert_int_eq(finish(p), 128 + SIGKILL);
    ck_assert_ptr_null(strstr(await_end(p, ERR), "so is the command"));
}
END_TEST

/* And the thief keeps it. */
START_TEST(taken_lock_stops_the_command)
{
    struct process *p = holdfast(server, "run", TTL, "--status-fd", "3", "x",
                                 OBEDIENT, NULL);

    (void)await_line(p, OUT, "up");
    steal("x");
    ck_assert_str_eq(member(await_line(p, STATUS, "\"lost\""), "reason"),
                     "taken");
    ck_assert_int_eq(finish(p), 122);
    ck_assert_str_eq(server_ask(server, "HGET x " STRANGER), "1");
}
END_TEST

START_TEST(stubborn_command_is_killed_with_its_group)
{
    struct process *p = holdfast(server, "run", TTL, "-k", "1s", "x", SH,
                                 "trap 'echo got TERM' TERM; trap '' INT;"
                                 "(trap '' TERM; sleep 100) & echo up;"
                                 "while :; do wait; done", NULL);

    (void)await_line(p, OUT, "up");
    (void)server_ask(server, "DEL x");
    (void)await_line(p, OUT, "got TERM");
    (void)await_end(p, OUT);
    ck_assert_int_eq(finish(p), 122);
}
END_TEST

START_TEST(lost_signal_is_the_one_that_was_chosen)
{
    struct process *p =
        holdfast(server, "run", TTL, "--lost-signal", "USR1", "x", SH,
                 "trap 'echo got USR1; exit' USR1; echo up;" AWAIT_SIGNALS, NULL);

    (void)await_line(p, OUT, "up");
    (void)server_ask(server, "DEL x");
    (void)await_line(p, OUT, "got USR1");
    ck_assert_int_eq(finish(p), 122);
}
END_TEST

/* Who reads the notice needs no signal. */
START_TEST(notice_becomes_readable)
{
    struct process *p =
        holdfast(server, "run", TTL, "--on-lost", "warn", "x", SH,
                 "echo up; eval \"cat <&$HOLDFAST_FD\"; echo noticed; exit 5",
                 NULL);

    (void)await_line(p, OUT, "up");
    (void)server_ask(server, "DEL x");
    (void)await_line(p, OUT, "noticed");
    ck_assert_int_eq(finish(p), 122);
    ck_assert_ptr_nonnull(strstr(await_end(p, ERR), "continues without it"));
}
END_TEST

START_TEST(ignored_loss_is_reported_to_programs_only)
{
    struct process *p = holdfast(server, "run", TTL, "--on-lost", "ignore",
                                 "--status-fd", "3", "x", SH,
                                 "echo up; read go; exit 5", NULL);

    (void)await_line(p, OUT, "up");
    (void)server_ask(server, "DEL x");
    (void)await_line(p, STATUS, "\"lost\"");
    shut(p);
    ck_assert_int_eq(finish(p), 5);
    ck_assert_str_eq(await_end(p, ERR), "");
}
END_TEST

/* It ended while the hold was safe for all that we knew. */
START_TEST(lock_missing_at_the_release_keeps_the_exit_code)
{
    struct process *p =
        holdfast(server, "run", "x", SH, "echo up; read go; exit 5", NULL);

    (void)await_line(p, OUT, "up");
    (void)server_ask(server, "DEL x");
    shut(p);
    ck_assert_int_eq(finish(p), 5);
    ck_assert_ptr_nonnull(strstr(await_end(p, ERR), "no longer existed"));
}
END_TEST

/* ---- unreachable ---- */

static int witness_fd;

static void make_witness(void)
{
    char path[128];

    (void)snprintf(path, sizeof path, "%s/fifo", server_folder(server));
    (void)unlink(path);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    (void)setenv("FIFO", path, 1);
    witness_fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    ck_assert_int_ge(witness_fd, 0);
}

/* A FIFO hangs up when its last writer is gone. */
static void await_death(void)
{
    struct pollfd hangup = {.fd = witness_fd, .events = POLLIN};

    ck_assert_int_eq(poll(&hangup, 1, PATIENCE_MS), 1);
    ck_assert_int_eq(hangup.revents, POLLHUP);
}

static int64_t wall_clock_ms(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* When the server last prolonged the lock before `until_ms`, by its own clock,
 * which MONITOR shows; what it had in its buffers when it was paused comes
 * late. */
static int64_t last_prolonged_ms(struct feed *feed, int64_t until_ms)
{
    const struct feed_event *event;
    int64_t last_ms = 0;

    while ((event = feed_next(feed, 100))) {
        int64_t at_ms = (int64_t)(strtod(event->text, NULL) * 1000);

        if (strstr(event->text, "\"pexpire\" \"x\"") && at_ms < until_ms)
            last_ms = at_ms;
    }
    ck_assert_int_ne(last_ms, 0);
    return last_ms;
}

/* From here on this process and its children run before all others, so that what is
 * late is not the fault of a busy machine. Nothing changes where that is not
 * permitted. */
static void run_before_others(void)
{
    const struct sched_param least = {.sched_priority = 1};

    (void)sched_setscheduler(0, SCHED_RR, &least);
}

/* holdfast has the command's descriptors, too, so that the end of the command
 * and of all that it started is seen at a FIFO that the command itself
 * opens. */
static void dies_before_the_ttl(const char *ttl, const char *kill_after,
                                const char *script, int ttl_ms)
{
    struct feed *feed = feed_open(server, "MONITOR");
    int64_t dead_ms, last_ms, from_ms, late_ms;
    struct process *p;

    make_witness();
    run_before_others();
    (void)lateness_start();
    p = holdfast(server, "run", "--ttl", ttl, "-k", kill_after, "--status-fd",
                 "3", "x", SH, script, NULL);
    (void)await_line(p, OUT, "up");
    (void)await_line(p, STATUS, "\"renewed\"");
    server_pause(server);
    from_ms = local_now_ms();
    await_death();
    dead_ms = wall_clock_ms();
    late_ms = lateness_ms(from_ms); /* all processes were stopped, not only ours */
    lateness_stop();
    server_resume(server);
    (void)await_either(p, ERR, "no renewal succeeded in time (127.0.0.1:",
                       "this process did not run in time");
    ck_assert_int_eq(finish(p), 122);
    last_ms = last_prolonged_ms(feed, dead_ms);
    printf("  dead %d ms before its TTL of %d ms had passed\n",
           (int)(last_ms + ttl_ms - dead_ms), ttl_ms);
    ck_assert_int_lt(dead_ms - late_ms, last_ms + ttl_ms);
    feed_close(feed);
}

START_TEST(command_is_notified_before_the_safe_moment)
{
    dies_before_the_ttl("3s", "1s",
                        "exec 8>$FIFO; sleep 100 | sleep 100 & echo up; wait",
                        3000);
}
END_TEST

/* A hundredth of the TTL is left for us to run, and to look. */
START_TEST(stubborn_command_is_dead_at_the_safe_moment)
{
    dies_before_the_ttl("10", "500ms",
                        "exec 8>$FIFO; trap '' TERM; sleep 100 | sleep 100 &"
                        "echo up; while :; do wait; done",
                        10000);
}
END_TEST

/* One that comes while the last process of the command is reaped is for the command,
 * and lost. */
static void end_by_term(struct process *p)
{
    siginfo_t info = {.si_pid = 0};

    while (waitid(P_PID, (id_t)pid_of(p), &info,
                  WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0) {
        ck_assert_int_eq(kill(pid_of(p), SIGTERM), 0);
        local_rest_us(10000);
    }
}

/* The server has a minute for an answer, and the lock 3 s: the command is stopped,
 * and holdfast goes when the release cannot matter any more, or at once with a
 * second TERM. */
START_TEST(frozen_server_does_not_extend_a_run_beyond_its_lock)
{
    char url[SERVER_URL_MAX + 16], plain[SERVER_URL_MAX];
    struct process *p;

    (void)snprintf(url, sizeof url, "%s?timeout=60s",
                   server_url(server, plain));
    p = holdfast(NULL, "run", "-u", url, "--ttl", _i == 0 ? "3s" : "50s", "-k",
                 "1s", "--status-fd", "3", "x", OBEDIENT, NULL);
    (void)await_line(p, OUT, "up");
    server_pause(server);
    if (_i == 1)
        ck_assert_int_eq(kill(pid_of(p), SIGTERM), 0);
    (void)await_line(p, STATUS, "\"exit\"");
    if (_i == 1)
        end_by_term(p);
    ck_assert_int_eq(finish(p), _i == 0 ? 122 : 1000 + SIGTERM);
    ck_assert_str_eq(member(await_line(p, STATUS, "\"released\""), "status"),
                     "HF_E_NOREPLY");
    server_resume(server);
}
END_TEST

START_TEST(server_that_returns_in_time_causes_no_loss)
{
    struct process *p = holdfast(server, "run", TTL, "-k", "100ms",
                                 "--status-fd", "3", "x", OBEDIENT, NULL);

    (void)await_line(p, OUT, "up");
    for (int i = 0; i < 3; i++) {
        server_pause(server);
        local_rest_us(100000); /* a part of what is allowed */
        server_resume(server);
        (void)await_line(p, STATUS, "\"renewed\"");
    }
    shut(p);
    ck_assert_int_eq(finish(p), 1);
}
END_TEST

/* ---- leases and limits ---- */

START_TEST(lease_is_not_renewed_and_ends_the_command)
{
    struct feed *feed = feed_open(server, "MONITOR");
    struct process *p = holdfast(server, "run", "--lease", "600ms", "-k",
                                 "100ms", "--status-fd", "3", "x", OBEDIENT,
                                 NULL);
    int prolonged = 0;
    const struct feed_event *event;

    (void)await_either(p, STATUS, "\"reason\":\"lease_ended\"",
                       "\"reason\":\"suspended\"");
    ck_assert_int_eq(finish(p), 122);
    (void)server_ask(server, "PING");
    while ((event = feed_next(feed, 100)))
        prolonged += strstr(event->text, "\"pexpire\" \"x\"") != NULL;
    ck_assert_int_eq(prolonged, 1);
    feed_close(feed);
}
END_TEST

START_TEST(lease_that_suffices_is_like_any_lock)
{
    struct process *p =
        holdfast(server, "run", "--lease", "1m", "x", SH, "exit 3", NULL);

    ck_assert_int_eq(finish(p), 3);
    ck_assert_str_eq(server_ask(server, "EXISTS x"), "0");
}
END_TEST

/* The lock is kept until the command is gone: this is not a loss. */
START_TEST(max_hold_is_124)
{
    const char *events;
    struct process *p = holdfast(
        server, "run", TTL, "--max-hold", "300ms", "--status-fd", "3", "x", SH,
        "trap 'echo got TERM; read go <&4; exit 0' TERM; exec 4<&0;"
        "echo up;" AWAIT_SIGNALS, NULL);

    (void)await_line(p, OUT, "got TERM");
    ck_assert_str_eq(server_ask(server, "HLEN x"), "1");
    shut(p);
    ck_assert_int_eq(finish(p), 124);
    ck_assert_str_eq(server_ask(server, "EXISTS x"), "0");
    ck_assert_ptr_nonnull(strstr(await_end(p, ERR), "--max-hold"));
    events = await_end(p, STATUS);
    ck_assert_ptr_nonnull(strstr(events, "\"event\":\"max_hold\""));
    ck_assert_ptr_nonnull(strstr(events, "\"max_hold_ms\":300}"));
    ck_assert_ptr_null(strstr(events, "\"lost\""));
}
END_TEST

START_TEST(max_hold_kills_a_command_that_ignores_term)
{
    struct process *p = holdfast(server, "run", "--max-hold", "500ms", "-k",
                                 "1s", "x", STUBBORN, NULL);

    (void)await_line(p, OUT, "got TERM");
    (void)await_end(p, OUT);
    ck_assert_int_eq(finish(p), 124);
}
END_TEST

/* ---- a run inside a run ---- */

START_TEST(nested_run_uses_the_outer_lock)
{
    struct feed *feed = feed_open(server, "MONITOR");
    struct process *p = holdfast(
        server, "run", "x", SH,
        HOLDFAST " run --status-fd 3 x sh -c 'echo inner $HOLDFAST_OWNER;"
                 "exit 6'; echo code $?; echo outer $HOLDFAST_OWNER;"
                 "read go", NULL);
    const struct feed_event *event;
    char inner[128];
    int prolonged = 0;

    ck_assert_str_eq(member(await_line(p, STATUS, "\"acquired\""), "nested"),
                     "true");
    (void)snprintf(inner, sizeof inner, "%s",
                   await_line(p, OUT, "inner ") + strlen("inner "));
    (void)await_line(p, OUT, "code 6");
    ck_assert_str_eq(await_line(p, OUT, "outer ") + strlen("outer "), inner);
    ck_assert_str_eq(server_ask(server, "HGET x %s", inner), "1");
    shut(p);
    ck_assert_int_eq(finish(p), 1);
    while ((event = feed_next(feed, 100)))
        prolonged += strstr(event->text, "\"pexpire\" \"x\"") != NULL;
    ck_assert_int_eq(prolonged, 1); /* the outer one took it, nobody else */
    feed_close(feed);
}
END_TEST

START_TEST(nested_run_on_another_name_is_a_run_of_its_own)
{
    struct process *p =
        holdfast(server, "run", "x", SH,
                 HOLDFAST " run y sh -c 'echo up; read go'", NULL);

    (void)await_line(p, OUT, "up");
    ck_assert_str_eq(server_ask(server, "EXISTS x y"), "2");
    shut(p);
    ck_assert_int_eq(finish(p), 1);
    ck_assert_str_eq(server_ask(server, "EXISTS x y"), "0");
}
END_TEST

/* ---- nobody reads what we say ---- */

START_TEST(full_standard_error_does_not_prevent_the_kill)
{
    char *argv[] = {(char *)HOLDFAST, (char *)"run", (char *)"-v",
                    (char *)"--ttl", (char *)"4500ms", (char *)"-k",
                    (char *)"1s", (char *)"x", STUBBORN_ARGV, NULL};
    struct process *p = start_deaf(server, argv, _i == 1);

    (void)await_line(p, OUT, "up");
    steal("x");
    (void)await_line(p, OUT, "got TERM");
    ck_assert_str_eq(await_end(p, OUT), "");
    ck_assert_int_eq(finish(p), 122);
}
END_TEST

/* And signals are still heard. */
START_TEST(full_standard_error_keeps_no_signal_from_the_command)
{
    char *argv[] = {(char *)HOLDFAST, (char *)"run", (char *)"-v", (char *)"x",
                    (char *)"sh", (char *)"-c", (char *)"echo up; read go",
                    NULL};
    struct process *p = start_deaf(server, argv, _i == 1);

    (void)await_line(p, OUT, "up");
    (void)server_ask(server, "CLIENT KILL TYPE normal SKIPME yes");
    ck_assert_int_eq(kill(pid_of(p), SIGTERM), 0);
    (void)await_end(p, OUT);
    ck_assert_int_ne(finish(p), 0);
    ck_assert_str_eq(server_ask(server, "EXISTS x"), "0");
}
END_TEST

/* Ctrl-S: the terminal takes nothing any more. */
START_TEST(stopped_terminal_does_not_prevent_the_kill)
{
    char *argv[] = {(char *)HOLDFAST, (char *)"run", (char *)"-v",
                    (char *)"--ttl", (char *)"3s", (char *)"-k",
                    (char *)"100ms", (char *)"x", STUBBORN_ARGV, NULL};
    struct process *p = start_on_terminal(server, argv);

    (void)await_line(p, OUT, "up");
    say(p, "\023");
    steal("x");
    ck_assert_int_eq(finish(p), 122);
}
END_TEST

/* The number is another pipe's now, and data in it is no loss. */
START_TEST(nested_run_listens_to_no_other_pipe)
{
    struct process *p = holdfast(
        server, "run", "x", SH,
        "HOLDFAST_FD=0 " HOLDFAST " run x sh -c 'echo up; sleep 0.1; read go;"
        "echo got $go'", NULL);

    say(p, "data\n");
    (void)await_line(p, OUT, "got data");
    ck_assert_int_eq(finish(p), 0);
}
END_TEST

/* Its command does not start beside the thief's. */
START_TEST(nested_run_does_not_start_when_the_outer_hold_is_taken)
{
    struct process *p = holdfast(server, "run", TTL, "x", SH,
                                 "echo up; read go; exec " HOLDFAST
                                 " run x echo ran", NULL);

    (void)await_line(p, OUT, "up");
    steal("x");
    say(p, "go\n");
    ck_assert_int_eq(finish(p), 122);
    ck_assert_str_eq(await_end(p, OUT), "");
}
END_TEST

/* In the background, when the outer run has ended: told what to do, and that
 * works. */
START_TEST(nested_run_without_its_outer_run_gets_advice)
{
    struct process *p = holdfast(
        server, "run", "x", SH,
        "exec 4<&0; (read go <&4; " HOLDFAST " run x echo ran; echo code $?;"
        "env -u HOLDFAST_OWNER " HOLDFAST " run x echo ran apart) &", NULL);

    ck_assert_int_eq(finish(p), 0);
    say(p, "go\n");
    ck_assert_str_eq(await_line(p, OUT, ""), "code 122");
    (void)await_line(p, OUT, "ran apart");
    ck_assert_ptr_nonnull(strstr(await_end(p, ERR), "env -u HOLDFAST_OWNER"));
}
END_TEST

/* x in y in x. */
START_TEST(nested_run_knows_all_runs_around_it)
{
    struct process *p = holdfast(server, "run", "x", SH,
                                 HOLDFAST " run y " HOLDFAST
                                 " run -n --status-fd 3 x " HOLDFAST
                                 " run -n y echo ran", NULL);

    ck_assert_str_eq(member(await_line(p, STATUS, "\"acquired\""), "nested"),
                     "true");
    (void)await_line(p, OUT, "ran");
    ck_assert_int_eq(finish(p), 0);
}
END_TEST

START_TEST(same_name_on_another_server_is_another_lock)
{
    struct server *other = server_start(NULL);
    char script[300], url[SERVER_URL_MAX];
    struct process *p;

    (void)snprintf(script, sizeof script,
                   HOLDFAST " run -u %s --status-fd 3 x " HOLDFAST
                   " run x echo ran",
                   server_url(other, url));
    p = holdfast(server, "run", "x", SH, script, NULL);
    ck_assert_str_eq(member(await_line(p, STATUS, "\"acquired\""), "nested"),
                     "false");
    ck_assert_int_eq(finish(p), 0);
    server_stop(other);
}
END_TEST

/* The outer one only warns; the inner one stops by itself, on notice. */
START_TEST(nested_run_listens_to_the_notice)
{
    struct process *p =
        holdfast(server, "run", TTL, "--on-lost", "warn", "x", SH,
                 HOLDFAST " run x sh -c 'echo up; read go; echo went on';"
                          "echo inner $?", NULL);

    (void)await_line(p, OUT, "up");
    (void)server_ask(server, "DEL x");
    (void)await_line(p, OUT, "inner 122");
    ck_assert_int_eq(finish(p), 122);
}
END_TEST

/* Nobody of either is left: the inner command has a group of its own. */
START_TEST(lost_outer_run_takes_the_inner_one_along)
{
    struct process *p = holdfast(
        server, "run", TTL, "-k", "0", "x", SH,
        HOLDFAST " run x sh -c '(trap \"\" TERM; echo up; sleep 100) & wait';"
                 "read go", NULL);

    (void)await_line(p, OUT, "up");
    (void)server_ask(server, "DEL x");
    (void)await_end(p, OUT);
    ck_assert_int_eq(finish(p), 122);
}
END_TEST

/* ---- */

/* No option is needed to see why no renewal succeeded. */
START_TEST(loss_is_reported_with_the_message_of_the_server)
{
    struct process *p = holdfast(server, "run", TTL, "-k", "100ms", "x", OBEDIENT,
                                 NULL);

    (void)await_line(p, OUT, "up");
    (void)server_ask(server, "REPLICAOF 127.0.0.1 1");
    ck_assert_int_eq(finish(p), 122);
    /* "replica": the refusal, or the connection's end after it */
    if (strstr(await_either(p, ERR, "replica", "this process did not run in time"), "replica"))
        (void)await_either(p, ERR, "lost the lock x: no renewal succeeded in time (127.0.0.1:",
                           "lost the lock x: this process did not run in time");
    (void)server_ask(server, "REPLICAOF NO ONE");
}
END_TEST

static int count_of_readonly(void)
{
    static const char word[] = "errorstat_READONLY:count=";
    const char *found = strstr(server_ask(server, "INFO errorstats"), word);

    return found ? atoi(found + sizeof word - 1) : 0;
}

/* Renewals were refused, and then the process was stopped: the message contains both. After the
 * second refusal more than half of the TTL is left to stop the process: it must not report the loss
 * before. */
START_TEST(loss_of_a_stopped_process_is_reported_with_the_refusal_before)
{
    struct process *p = holdfast(server, "run", "--ttl", "9s", "-k", "100ms", "x", OBEDIENT,
                                 NULL);
    int64_t until_ms = local_now_ms() + PATIENCE_MS;

    (void)await_line(p, OUT, "up");
    (void)server_ask(server, "CONFIG RESETSTAT");
    (void)server_ask(server, "REPLICAOF 127.0.0.1 1");
    while (count_of_readonly() < 2) { /* it has read the first */
        ck_assert_int_lt(local_now_ms(), until_ms);
        local_poll_rest();
    }
    ck_assert_int_eq(kill(pid_of(p), SIGSTOP), 0);
    server_await(server, PATIENCE_MS, "0", "EXISTS x");
    local_rest_us(1000000); /* a short delay is not a suspension */
    ck_assert_int_eq(kill(pid_of(p), SIGCONT), 0);
    (void)await_line(p, ERR, "replica"); /* the refusal, or the connection's end after it */
    (void)await_line(p, ERR, "lost the lock x: this process did not run in time");
    ck_assert_int_eq(finish(p), 122);
}
END_TEST

/* After TERM, the release is not awaited for long. */
START_TEST(refused_release_is_reported_with_the_message_of_the_server)
{
    struct process *p = holdfast(server, "run", "x", OBEDIENT, NULL);

    (void)await_line(p, OUT, "up");
    (void)server_ask(server, "REPLICAOF 127.0.0.1 1");
    ck_assert_int_eq(kill(pid_of(p), SIGTERM), 0);
    ck_assert_int_eq(finish(p), 1000 + SIGTERM);
    (void)server_ask(server, "REPLICAOF NO ONE");
    ck_assert_ptr_nonnull(strstr(
        await_line(p, ERR, "could not confirm the release of x; "), "READONLY"));
}
END_TEST

static void add_losses(Suite *s)
{
    TCase *gone = run_case(s, "deleted, taken");
    TCase *away = run_case(s, "unreachable");

    tcase_add_test(gone, deleted_lock_stops_the_command);
    tcase_add_test(gone,
                   stop_without_permission_to_signal_is_not_reported_as_done);
    tcase_add_test(gone,
                   kill_without_permission_to_signal_is_not_reported_as_done);
    tcase_add_test(gone, taken_lock_stops_the_command);
    tcase_add_test(gone, stubborn_command_is_killed_with_its_group);
    tcase_add_test(gone, lost_signal_is_the_one_that_was_chosen);
    tcase_add_test(gone, notice_becomes_readable);
    tcase_add_test(gone, ignored_loss_is_reported_to_programs_only);
    tcase_add_test(gone, lock_missing_at_the_release_keeps_the_exit_code);
    tcase_add_test(away, command_is_notified_before_the_safe_moment);
    tcase_add_test(away, stubborn_command_is_dead_at_the_safe_moment);
    tcase_add_test(away, loss_is_reported_with_the_message_of_the_server);
    tcase_add_test(away, loss_of_a_stopped_process_is_reported_with_the_refusal_before);
    tcase_add_test(away, refused_release_is_reported_with_the_message_of_the_server);
    tcase_add_test(away, server_that_returns_in_time_causes_no_loss);
    tcase_add_loop_test(away, frozen_server_does_not_extend_a_run_beyond_its_lock,
                        0, 2);
}

static void add_limits(Suite *s)
{
    TCase *limits = run_case(s, "leases and limits");
    TCase *nested = run_case(s, "a run inside a run");
    TCase *unread = run_case(s, "nobody reads what we say");

    tcase_add_test(limits, lease_is_not_renewed_and_ends_the_command);
    tcase_add_test(limits, lease_that_suffices_is_like_any_lock);
    tcase_add_test(limits, max_hold_is_124);
    tcase_add_test(limits, max_hold_kills_a_command_that_ignores_term);
    tcase_add_loop_test(unread,
                        full_standard_error_does_not_prevent_the_kill, 0, 2);
    tcase_add_loop_test(unread,
                        full_standard_error_keeps_no_signal_from_the_command, 0, 2);
    tcase_add_test(unread, stopped_terminal_does_not_prevent_the_kill);
    tcase_add_test(nested, nested_run_uses_the_outer_lock);
    tcase_add_test(nested, nested_run_on_another_name_is_a_run_of_its_own);
    tcase_add_test(nested, nested_run_listens_to_no_other_pipe);
    tcase_add_test(nested,
                   nested_run_does_not_start_when_the_outer_hold_is_taken);
    tcase_add_test(nested, nested_run_without_its_outer_run_gets_advice);
    tcase_add_test(nested, nested_run_knows_all_runs_around_it);
    tcase_add_test(nested, same_name_on_another_server_is_another_lock);
    tcase_add_test(nested, nested_run_listens_to_the_notice);
    tcase_add_test(nested, lost_outer_run_takes_the_inner_one_along);
}

int main(void)
{
    Suite *s = suite_create("holdfast run: loss");

    add_losses(s);
    add_limits(s);
    return run_suite(s);
}
