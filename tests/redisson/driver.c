/* Starts Driver.java, or another program of its language, tells it commands, and
 * sorts its answers by thread. */
#include "tests/redisson/driver.h"

#include <check.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/local.h"
#include "tests/support/server.h"

#define LINE_MAX_LEN 256
#define ANSWERS_MAX 8           /* of one thread, not yet asked for */

struct driver {
    pid_t pid;
    int to, from;
    char line[LINE_MAX_LEN];    /* as much as has come of the next one */
    size_t line_len;
    char answers[DRIVER_THREADS + 1][ANSWERS_MAX][LINE_MAX_LEN];
    int count[DRIVER_THREADS + 1];
    char given[LINE_MAX_LEN];   /* what the test reads */
};

/* Also where no test runs. */
static const char *environment(const char *name)
{
    const char *value = getenv(name);

    if (value)
        return value;
    fprintf(stderr, "%s is not set: use make redisson\n", name);
    exit(2);
}

bool driver_has(const char *kind)
{
    const char *kinds = environment("HF_REDISSON_KINDS");
    size_t len = strlen(kind);

    for (const char *at = kinds; (at = strstr(at, kind)) != NULL; at += len)
        if ((at == kinds || at[-1] == ' ') && (at[len] == ' ' || !at[len]))
            return true;
    return false;
}

/* ---- lines ---- */

/* Reads what there is of the next line; true: it is whole, without its end. */
static bool read_line(struct driver *d, int64_t deadline_ms)
{
    struct pollfd p = {.fd = d->from, .events = POLLIN};
    int64_t left_ms = deadline_ms - local_now_ms();

    if (poll(&p, 1, left_ms > 0 ? (int)left_ms : 0) <= 0)
        return false;
    ck_assert_msg(d->line_len < LINE_MAX_LEN - 1 &&
                      read(d->from, d->line + d->line_len, 1) == 1,
                  "the other side has ended, or says too much");
    if (d->line[d->line_len] != '\n')
        return d->line_len++, false;
    d->line[d->line_len] = '\0';
    d->line_len = 0;
    return true;
}

static void sort_line(struct driver *d)
{
    char *text;
    long thread = strtol(d->line, &text, 10);

    ck_assert_msg(thread >= 1 && thread <= DRIVER_THREADS && *text == ' ' &&
                      d->count[thread] < ANSWERS_MAX,
                  "the other side says '%s'", d->line);
    (void)strcpy(d->answers[thread][d->count[thread]++], text + 1);
}

const char *driver_answer(struct driver *d, int thread, int ms)
{
    int64_t deadline_ms = local_now_ms() + ms;

    while (d->count[thread] == 0) {
        if (read_line(d, deadline_ms))
            sort_line(d);
        else if (local_now_ms() >= deadline_ms)
            return NULL;
    }
    (void)strcpy(d->given, d->answers[thread][0]);
    memmove(d->answers[thread][0], d->answers[thread][1],
            (size_t)--d->count[thread] * LINE_MAX_LEN);
    return d->given;
}

static void tell(struct driver *d, int thread, const char *format, va_list args)
{
    char line[LINE_MAX_LEN];
    int n = sprintf(line, "%d ", thread);

    ck_assert(thread >= 1 && thread <= DRIVER_THREADS);
    n += vsnprintf(line + n, sizeof line - (size_t)n - 1, format, args);
    ck_assert_int_lt(n, (int)sizeof line - 1);
    line[n++] = '\n';
    ck_assert_int_eq(write(d->to, line, (size_t)n), n);
}

void driver_tell(struct driver *d, int thread, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    tell(d, thread, format, args);
    va_end(args);
}

const char *driver_ask(struct driver *d, int thread, const char *format, ...)
{
    const char *answer;
    va_list args;

    va_start(args, format);
    tell(d, thread, format, args);
    va_end(args);
    answer = driver_answer(d, thread, DRIVER_MS);
    ck_assert_msg(answer != NULL, "the other side does not answer '%s'", format);
    return answer;
}

/* ---- the process ---- */

static void exec_program(int in, int out, const char *const argv[])
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(in, 0);
    dup2(out, 1);
    execvp(argv[0], (char *const *)argv);
    _exit(127);
}

struct driver *driver_run(const char *const argv[])
{
    struct driver *d = local_new(sizeof *d);
    int64_t deadline_ms = local_now_ms() + DRIVER_MS;
    int in[2], out[2];

    /* Closed in it, else it would keep its own input open. */
    ck_assert(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
    if ((d->pid = fork()) == 0)
        exec_program(in[0], out[1], argv);
    close(in[0]);
    close(out[1]);
    d->to = in[1];
    d->from = out[0];
    while (!read_line(d, deadline_ms))
        ck_assert_msg(local_now_ms() < deadline_ms, "%s does not start",
                      argv[0]);
    ck_assert_msg(strncmp(d->line, "ready", 5) == 0, "%s", d->line);
    return d;
}

struct driver *driver_start(struct server *s, int watchdog_ms)
{
    const char *lib = environment("HF_REDISSON");
    char path[600], watchdog[16], url[SERVER_URL_MAX];
    const char *const argv[] = {"java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", path,
                                "Driver", url, watchdog, NULL};

    (void)snprintf(path, sizeof path, "%s:%s/*", lib, lib);
    (void)snprintf(watchdog, sizeof watchdog, "%d", watchdog_ms);
    server_url(s, url);
    return driver_run(argv);
}

void driver_kill(struct driver *d)
{
    kill(d->pid, SIGKILL);
    waitpid(d->pid, NULL, 0);
    d->pid = 0;
}

void driver_stop(struct driver *d)
{
    if (!d)
        return;
    close(d->to);
    close(d->from);
    if (d->pid)
        waitpid(d->pid, NULL, 0);
    free(d);
}
