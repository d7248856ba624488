/* The workers of make chaos, as processes. */
#include "tests/soak/chaos_run.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/soak/chaos_sets.h"
#include "tests/support/dice.h"
#include "tests/support/local.h"

#define PROGRAM HF_BUILD "/tests/soak/chaos_worker"
#define PROGRAM_OF_SETS HF_BUILD "/tests/soak/chaos_sets"
#define ARGS_MAX (8 + PLACE_PROXIED_MAX)

void run_line(struct run *r, const char *format, ...)
{
    va_list args;

    (void)fprintf(r->lines, "%" PRId64 " ", chaos_now_us());
    va_start(args, format);
    (void)vfprintf(r->lines, format, args);
    va_end(args);
    (void)fputc('\n', r->lines);
}

char *run_path(const struct run *r, const char *name, unsigned number,
               char dst[RUN_PATH_ROOM])
{
    (void)snprintf(dst, RUN_PATH_ROOM, "%s/%s%u", r->folder, name, number);
    return dst;
}

/* ---- a worker's life ---- */

static _Noreturn void be_worker(char **argv, int in, int out)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0)
        _exit(127);
    (void)execv(argv[0], argv);
    _exit(127);
}

static void spawn(struct run_worker *w, char **argv)
{
    int to[2], from[2];

    ck_assert_int_eq(pipe2(to, O_CLOEXEC), 0);
    ck_assert_int_eq(pipe2(from, O_CLOEXEC), 0);
    w->pid = fork();
    ck_assert_int_ge(w->pid, 0);
    if (w->pid == 0)
        be_worker(argv, to[0], from[1]);
    (void)close(to[0]);
    (void)close(from[1]);
    w->in = to[1];
    w->out = from[0];
}

/* Every second one wants a replica to have what it is granted. */
void run_start(struct run *r, int i)
{
    struct run_worker *w = &r->workers[i];
    bool has_replicas = !r->place->standalone && !r->place->is_independent &&
                        i / PLACE_SIDES % 2;
    char source[16], path[RUN_PATH_ROOM], seed[24], *argv[ARGS_MAX] = {NULL};
    int argc = 0;

    ck_assert_uint_lt(r->clients, RUN_CLIENTS_MAX);
    w->client = ++r->clients;
    (void)snprintf(source, sizeof source, "c%u", w->client);
    (void)snprintf(seed, sizeof seed, "%" PRIu64, dice_bits(&r->seed));
    argv[argc++] = (char *)(r->place->is_independent ? PROGRAM_OF_SETS : PROGRAM);
    argv[argc++] = source;
    argv[argc++] = run_path(r, "client", w->client, path);
    argv[argc++] = seed;
    argv[argc++] = r->place->url;
    argv[argc++] = (char *)(has_replicas ? "1" : "0");
    argv[argc++] = (char *)(i < RUN_WORKERS ? "busy" : "patient");
    for (int n = 0; n < r->place->proxied_count; n++)
        argv[argc++] = place_port(r->place, n, i % PLACE_SIDES);
    spawn(w, argv);
    while (argc > 7)
        free(argv[--argc]);
}

static void forget(struct run_worker *w)
{
    (void)close(w->in);
    (void)close(w->out);
    w->pid = 0;
    w->is_stopped = false;
}

void run_stop(struct run *r, int i)
{
    struct run_worker *w = &r->workers[i];

    run_line(r, "c%u stop", w->client);
    (void)kill(w->pid, SIGSTOP);
    (void)waitpid(w->pid, NULL, WUNTRACED);
    w->is_stopped = true;
}

void run_go(struct run *r, int i)
{
    struct run_worker *w = &r->workers[i];

    if (!w->is_stopped)
        return;
    (void)kill(w->pid, SIGCONT);
    run_line(r, "c%u go", w->client);
    w->is_stopped = false;
}

void run_kill(struct run *r, int i)
{
    struct run_worker *w = &r->workers[i];

    (void)kill(w->pid, SIGKILL);
    (void)waitpid(w->pid, NULL, 0);
    run_line(r, "c%u died", w->client);
    forget(w);
    r->kills++;
    if (r->place->is_independent) /* permits that nobody will release */
        (void)server_ask(r->place->servers[0],
                         "INCRBY " CHAOS_SETS_SEMAPHORE " %d", RUN_PERMITS_LOST);
}

/* It has one request timeout for what is under way. */
void run_close(struct run *r, int i)
{
    struct run_worker *w = &r->workers[i];
    int status = 0;

    (void)close(w->in);
    w->in = -1;
    (void)waitpid(w->pid, &status, 0);
    run_line(r, "c%u died", w->client);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0,
                  "worker c%u ended with status %x", w->client,
                  (unsigned)status);
    forget(w);
}

/* ---- orders ---- */

static bool has_answered(struct run_worker *w, const char *answer,
                         int64_t end_ms)
{
    struct pollfd fd = {.fd = w->out, .events = POLLIN};
    int64_t left = end_ms - local_now_ms();
    char text[16];
    ssize_t n;

    if (poll(&fd, 1, left > 0 ? (int)left : 0) != 1)
        return false;
    n = read(w->out, text, sizeof text);
    return n == (ssize_t)strlen(answer) && memcmp(text, answer, (size_t)n) == 0;
}

bool run_order(struct run *r, char order, const char *answer, int timeout_ms)
{
    int64_t end_ms = local_now_ms() + timeout_ms;
    bool is_done = true;

    for (int i = 0; i < RUN_ALL; i++)
        (void)!write(r->workers[i].in, &order, 1);
    for (int i = 0; i < RUN_ALL; i++)
        if (!has_answered(&r->workers[i], answer, end_ms)) {
            (void)printf("worker c%u does not say %s", r->workers[i].client,
                         answer);
            is_done = false;
        }
    return is_done;
}
