/* The examples that keep a lock within an event loop of their own: what each of
 * them says, and how it ends. */
#include "tests/live/test_run_kit.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/live/test_lock.h"

static const char *const programs[] = {
    HF_BUILD "/examples/loop_epoll",
    HF_BUILD "/examples/loop_uv",
    HF_BUILD "/examples/loop_event",
};

/* A waiter looks by itself when it is over: long after our patience is. */
#define LONG_TTL "60000"
/* Renewed each 200 ms. */
#define SHORT_TTL "4500"
#define FOR_EVER "0"

static struct process *example(int which, const char *url,
                               const char *watchdog_ms, const char *renewals)
{
    const char *const argv[] = {programs[which % COUNT(programs)], url,
                                watchdog_ms, renewals, NULL};

    return start(server, (char *const *)argv);
}

static struct process *contender(int which, const char *watchdog_ms,
                                 const char *renewals)
{
    char url[SERVER_URL_MAX];

    return example(which, server_url(server, url), watchdog_ms, renewals);
}

static struct process *holder(int which, const char *watchdog_ms)
{
    struct process *p = contender(which, watchdog_ms, FOR_EVER);

    (void)await_line(p, OUT, "held");
    return p;
}

static void send_signal(struct process *p, int signal)
{
    ck_assert_int_eq(kill(pid_of(p), signal), 0);
}

/* ---- holding ---- */

START_TEST(hold_is_renewed_while_the_loop_works_and_released)
{
    struct process *p = contender(_i, SHORT_TTL, "3");
    unsigned ticks = 0;

    (void)await_line(p, OUT, "held");
    for (int i = 0; i < 3; i++)
        (void)await_line(p, OUT, "renewed");
    ck_assert_int_eq(sscanf(await_line(p, OUT, "released"),
                            "released after %u ticks", &ticks), 1);
    ck_assert_uint_gt(ticks, 0);
    ck_assert_int_eq(finish(p), 0);
    ck_assert_str_eq(await_end(p, ERR), "");
    ck_assert_str_eq(hash_of(server, NAME), "");
}
END_TEST

START_TEST(signal_releases_the_lock)
{
    struct process *p = holder(_i, LONG_TTL);

    send_signal(p, SIGINT);
    (void)await_line(p, OUT, "released");
    ck_assert_int_eq(finish(p), 0);
    ck_assert_str_eq(hash_of(server, NAME), "");
}
END_TEST

/* ---- waiting ---- */

/* It has subscribed and was refused once more: it sleeps, and nothing but the
 * message of the release can wake it in time. */
static struct process *sleeper(int which)
{
    long long calls = script_calls(server);
    struct process *p = contender(which, LONG_TTL, FOR_EVER);
    int64_t end_ms = local_now_ms() + PATIENCE_MS;

    (void)await_line(p, OUT, "waiting for ");
    await_subscribers(server, CHANNEL, 1);
    while (script_calls(server) < calls + 2) {
        ck_must(local_now_ms() < end_ms,
                "a waiter asks behind its subscription");
        local_poll_rest();
    }
    return p;
}

START_TEST(release_of_one_wakes_the_other)
{
    struct process *first = holder(_i, LONG_TTL);
    struct process *second = sleeper(_i + 1);

    send_signal(first, SIGTERM);
    (void)await_line(first, OUT, "released");
    (void)await_line(second, OUT, "held");
    send_signal(second, SIGTERM);
    (void)await_line(second, OUT, "released");
    ck_assert_int_eq(finish(first), 0);
    ck_assert_int_eq(finish(second), 0);
    ck_assert_str_eq(hash_of(server, NAME), "");
}
END_TEST

START_TEST(signal_ends_the_wait_and_leaves_the_holder_alone)
{
    struct process *first = holder(_i, LONG_TTL);
    struct process *second = sleeper(_i + 1);

    send_signal(second, SIGTERM);
    (void)await_line(second, ERR, "cancelled");
    ck_assert_int_eq(finish(second), 1);
    ck_assert_int_eq(server_ask_int(server, "HLEN " NAME), 1);
    send_signal(first, SIGTERM);
    ck_assert_int_eq(finish(first), 0);
}
END_TEST

/* ---- losing ---- */

START_TEST(deleted_lock_is_lost)
{
    struct process *p = holder(_i, SHORT_TTL);

    (void)server_ask(server, "DEL " NAME);
    (void)await_line(p, OUT, "lost: the lock no longer exists on the server");
    ck_assert_int_eq(finish(p), 1);
    ck_assert_ptr_nonnull(strstr(await_end(p, ERR), NAME));
}
END_TEST

/* Nothing becomes readable: it is told by the time that it asked for. */
START_TEST(silent_server_loses_the_lock)
{
    struct process *p = holder(_i, SHORT_TTL);

    server_pause(server);
    (void)await_either(p, OUT, "lost: no renewal succeeded in time",
                       "lost: this process did not run in time");
    ck_assert_int_eq(finish(p), 1);
    server_resume(server);
}
END_TEST

/* ---- errors ---- */

START_TEST(server_that_is_not_there_is_an_error)
{
    struct process *p;
    char url[200];

    (void)snprintf(url, sizeof url, "unix://%s/nobody?timeout=300ms",
                   server_folder(server));
    p = example(_i, url, LONG_TTL, FOR_EVER);
    (void)await_line(p, ERR, "/nobody: cannot connect");
    ck_assert_int_eq(finish(p), 1);
    ck_assert_str_eq(await_end(p, OUT), "");
}
END_TEST

START_TEST(wrong_arguments_are_an_error)
{
    struct process *url = example(_i, "nonsense", NULL, NULL);
    struct process *time = contender(_i, "nonsense", NULL);

    (void)await_line(url, ERR, "the URL is wrong");
    ck_assert_int_eq(finish(url), 1);
    (void)await_line(time, ERR, "the watchdog timeout");
    ck_assert_int_eq(finish(time), 1);
}
END_TEST

/* ---- descriptors ---- */

/* Its standard ones and STATUS, and what we have got ourselves from wherever
 * this test was started. */
static bool is_from_us(int fd)
{
    int flags = fcntl(fd, F_GETFD);

    return fd <= STATUS || (flags >= 0 && !(flags & FD_CLOEXEC));
}

static bool is_closed_by_exec(pid_t pid, const char *fd)
{
    char path[300], text[200] = "";
    const char *flags;
    FILE *file;

    (void)snprintf(path, sizeof path, "/proc/%d/fdinfo/%s", (int)pid, fd);
    file = fopen(path, "r");
    if (!file)
        return true; /* closed meanwhile */
    (void)!fread(text, 1, sizeof text - 1, file);
    (void)fclose(file);
    flags = strstr(text, "flags:");
    ck_must(flags != NULL, "a descriptor has flags");
    return strtoul(flags + strlen("flags:"), NULL, 8) & O_CLOEXEC;
}

/* How many it has opened; each is for itself alone. */
static int descriptors(struct process *p)
{
    char path[100];
    struct dirent *entry;
    int n = 0;
    DIR *dir;

    (void)snprintf(path, sizeof path, "/proc/%d/fd", (int)pid_of(p));
    dir = opendir(path);
    ck_assert_ptr_nonnull(dir);
    while ((entry = readdir(dir))) {
        if (entry->d_name[0] == '.' || is_from_us(atoi(entry->d_name)))
            continue;
        ck_must(is_closed_by_exec(pid_of(p), entry->d_name),
                "a program that it starts inherits none");
        n++;
    }
    (void)closedir(dir);
    return n;
}

/* A connection that is lost is closed, and the next one takes its place. */
START_TEST(descriptors_stay_as_many_as_they_were)
{
    struct process *p = holder(_i, SHORT_TTL);
    int64_t end_ms = local_now_ms() + PATIENCE_MS;
    int n;

    (void)await_line(p, OUT, "renewed");
    n = descriptors(p);
    ck_assert_int_gt(n, 0);
    for (int round = 0; round < 2; round++) {
        ck_assert_int_gt(server_ask_int(server, "CLIENT KILL TYPE normal"), 0);
        for (int i = 0; i < 2; i++)
            (void)await_line(p, OUT, "renewed");
    }
    while (descriptors(p) != n) {
        ck_must(local_now_ms() < end_ms, "none is left open");
        local_poll_rest();
    }
    send_signal(p, SIGTERM);
    ck_assert_int_eq(finish(p), 0);
}
END_TEST

/* ---- a build with poll(2) ---- */

START_TEST(build_without_a_descriptor_reports_it)
{
    struct process *p = contender(_i, LONG_TTL, FOR_EVER);

    (void)await_line(p, ERR, "poll(2)");
    ck_assert_int_eq(finish(p), 1);
    ck_assert_str_eq(await_end(p, OUT), "");
}
END_TEST

/* ---- */

static bool has_descriptor(void)
{
    struct hf_loop_options options = {.size = sizeof options, .thread = false};
    struct hf_loop *loop;
    bool has;

    if (hf_loop_new(&loop, &options) < 0)
        return false;
    has = hf_loop_fd(loop) >= 0;
    hf_loop_free(loop);
    return has;
}

/* ---- spans of OpenTelemetry ---- */

static struct process *otel(void)
{
    static char url[SERVER_URL_MAX];
    char *const argv[] = {(char *)HF_BUILD "/examples/otel", server_url(server, url), (char *)NAME,
                          NULL};

    return start(server, argv);
}

START_TEST(each_command_is_a_span)
{
    char want[200];
    struct process *p = otel();

    (void)snprintf(want, sizeof want, "server.address=127.0.0.1 server.port=%d",
                   server_port(server));
    ck_assert_ptr_nonnull(strstr(await_line(p, OUT, "db.system.name=redis"), want));
    ck_assert_int_eq(finish(p), 0);
    ck_assert_ptr_null(strstr(await_end(p, OUT), NAME)); /* names are not collected */
}
END_TEST

START_TEST(error_reply_is_the_status_of_its_span)
{
    struct process *p;

    (void)server_ask(server, "SET " NAME " text");
    p = otel();
    (void)await_line(p, OUT, "db.response.status_code=WRONGTYPE error.type=WRONGTYPE");
    ck_assert_int_eq(finish(p), 1);
}
END_TEST

static void add_cases(Suite *s)
{
    TCase *spans = run_case(s, "spans");
    TCase *locks = run_case(s, "holding and waiting");
    TCase *errors = run_case(s, "errors");
    TCase *losses = run_case(s, "losing"); /* last: a server may stay silent */
    int n = COUNT(programs);

    tcase_add_test(spans, each_command_is_a_span);
    tcase_add_test(spans, error_reply_is_the_status_of_its_span);
    tcase_add_loop_test(locks,
                        hold_is_renewed_while_the_loop_works_and_released, 0,
                        n);
    tcase_add_loop_test(locks, signal_releases_the_lock, 0, n);
    tcase_add_loop_test(locks, release_of_one_wakes_the_other, 0, n);
    tcase_add_loop_test(locks, signal_ends_the_wait_and_leaves_the_holder_alone,
                        0, n);
    tcase_add_loop_test(locks, descriptors_stay_as_many_as_they_were, 0, n);
    tcase_add_loop_test(errors, server_that_is_not_there_is_an_error, 0, n);
    tcase_add_loop_test(errors, wrong_arguments_are_an_error, 0, n);
    tcase_add_loop_test(losses, deleted_lock_is_lost, 0, n);
    tcase_add_loop_test(losses, silent_server_loses_the_lock, 0, n);
}

int main(void)
{
    Suite *s = suite_create("examples");

    if (has_descriptor())
        add_cases(s);
    else
        tcase_add_loop_test(run_case(s, "without a descriptor"),
                            build_without_a_descriptor_reports_it, 0,
                            COUNT(programs));
    return run_suite(s);
}
