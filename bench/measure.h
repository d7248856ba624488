/* What the benches that talk to a server share: clocks, processors, medians,
 * that server. Header only: a bench is one program and one file. */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "lock/script/scripts.h"
#include "net/net.h"

#define ROUNDS_MAX 31

static void die(const char *what, const char *why)
{
    fprintf(stderr, "bench: %s: %s\n", what, why);
    exit(1);
}

/* ---- clocks ---- */

static inline double clock_us(clockid_t clock)
{
    struct timespec t;

    (void)clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* The processor time of all threads of this process, kernel included. */
static inline double own_cpu_us(void)
{
    return clock_us(CLOCK_PROCESS_CPUTIME_ID);
}

/* That of the server: the first number of schedstat, in nanoseconds. */
static inline double cpu_us_of(pid_t pid)
{
    char path[64], text[64] = "";
    int fd;

    snprintf(path, sizeof path, "/proc/%d/schedstat", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, text, sizeof text - 1) < 0)
        die(path, "cannot be read");
    close(fd);
    return atof(text) / 1e3;
}

/* ---- processors ---- */

/* One for both, or one for each. 1cpu shows what a client costs, 2cpu how
 * latency and overlap are. */
struct layout {
    const char *name;
    size_t server_cpu;
    size_t client_cpu;
};

static const struct layout layouts[] = {{"1cpu", 0, 0}, {"2cpu", 1, 0}};

static inline void pin(pid_t pid, size_t cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(pid, sizeof set, &set) < 0)
        die("sched_setaffinity", "not permitted");
}

/* Before threads are made: they inherit it. */
static inline void arrange(const struct layout *layout, pid_t server)
{
    pin(server, layout->server_cpu);
    pin(0, layout->client_cpu);
}

/* ---- medians ---- */

static inline int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static inline double median(const double *values, int count)
{
    double sorted[ROUNDS_MAX];

    for (int i = 0; i < count; i++)
        sorted[i] = values[i];
    qsort(sorted, (size_t)count, sizeof *sorted, by_value);
    return sorted[count / 2];
}

/* ---- the server, as run.sh started it ---- */

static inline const char *given(const char *name)
{
    const char *value = getenv(name);

    if (!value)
        die(name, "is not set; bench/run.sh sets it");
    return value;
}

static inline pid_t server_pid(void)
{
    return (pid_t)atoi(given("BENCH_PID"));
}

static inline int server_port(void)
{
    return atoi(given("BENCH_PORT"));
}

/* For who knows the digest only. */
static inline void load_script(const struct hf_script *script)
{
    redisContext *c = redisConnect("127.0.0.1", server_port());
    redisReply *reply =
        redisCommand(c, "SCRIPT LOAD %b", script->text, script->len);

    if (!reply)
        die("SCRIPT LOAD", c->errstr);
    freeReplyObject(reply);
    redisFree(c);
}

#endif
