/* A real Redisson beside a bench: tests/redisson/Driver.java, where `make redisson`
 * has put it (BENCH_REDISSON, by bench/run.sh). */
#ifndef BENCH_REDISSON_H
#define BENCH_REDISSON_H

#include <sys/wait.h>

#include "bench/measure.h"

static FILE *to_redisson, *from_redisson;
static pid_t redisson;

static inline bool redisson_is_there(void)
{
    return access(given("BENCH_REDISSON"), R_OK) == 0;
}

/* It takes its time to be ready, so it says when. */
static inline void redisson_start(void)
{
    char path[600], address[64], line[200];
    int to[2], from[2];

    if (pipe(to) < 0 || pipe(from) < 0)
        die("pipe", "failed");
    snprintf(path, sizeof path, "%s:%s/*", given("BENCH_REDISSON"),
             given("BENCH_REDISSON"));
    snprintf(address, sizeof address, "redis://127.0.0.1:%d", server_port());
    redisson = fork();
    if (redisson == 0) {
        dup2(to[0], 0);
        dup2(from[1], 1);
        close(to[1]); /* else it would never see the end */
        execlp("java", "java", "-cp", path, "Driver", address, "30000", NULL);
        die("java", "cannot be started");
    }
    close(to[0]);
    close(from[1]);
    to_redisson = fdopen(to[1], "w");
    from_redisson = fdopen(from[0], "r");
    if (!fgets(line, sizeof line, from_redisson))
        die("Redisson", "does not start");
}

/* Lets `threads` threads take turns for `ms`. */
static inline void redisson_contend(const char *kind, const char *name,
                                    int threads, long hold_us, double ms)
{
    fprintf(to_redisson, "1 contend %s %s %d %ld %.0f\n", kind, name, threads,
            hold_us, ms);
    fflush(to_redisson);
}

/* Makes a semaphore or the like. */
static inline void redisson_set(const char *kind, const char *name, int count)
{
    char answer[16];

    fprintf(to_redisson, "1 set %s %s %d\n", kind, name, count);
    fflush(to_redisson);
    if (fscanf(from_redisson, "%*d %15s", answer) != 1)
        die("Redisson", "says nothing");
}

/* Their grants, the median wait and the longest in us. */
#define redisson_read(format, ...)                                            \
    do {                                                                      \
        if (fscanf(from_redisson, format, __VA_ARGS__) != 3)                  \
            die("Redisson", "says nothing");                                  \
    } while (0)

static inline void redisson_stop(void)
{
    fclose(to_redisson);
    (void)waitpid(redisson, NULL, 0);
}

#endif
