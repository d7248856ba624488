/* What the benches that talk to a server compare: rounds of a given time, by
 * one thread or by several; what each costs; medians of them. */
#ifndef BENCH_ROUNDS_H
#define BENCH_ROUNDS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "bench/measure.h"

static double measure_us;     /* how long a round takes */
static int rounds;

/* Takes [MS [ROUNDS]] from the command line, otherwise these values. */
static inline void rounds_init(int argc, char **argv, double ms, int count)
{
    measure_us = (argc > 1 ? atof(argv[1]) : ms) * 1e3;
    rounds = argc > 2 ? atoi(argv[2]) : count;
    if (measure_us > 0 && rounds >= 1 && rounds <= ROUNDS_MAX)
        return;
    fprintf(stderr, "usage: %s [MS [ROUNDS, to %d]]\n", argv[0], ROUNDS_MAX);
    exit(2);
}

/* ---- one round ---- */

/* How often a command, or a pair of commands, was executed, and the cost of each. */
struct result {
    double per_s;
    double cpu_us;        /* of this process */
    double server_us;     /* CPU of the server */
    double p50_us;        /* 0: not measured */
    double mallocs;       /* 0: not measured */
};

/* At one moment: the clock, and what was used so far. */
struct meter {
    double clock_us, cpu_us, server_us;
};

static inline struct meter meter_look(void)
{
    struct meter m;

    m.clock_us = clock_us(CLOCK_MONOTONIC);
    m.cpu_us = own_cpu_us();
    m.server_us = cpu_us_of(server_pid());
    return m;
}

static inline struct result meter_since(const struct meter *then, long count)
{
    struct meter now = meter_look();
    double n = (double)count;

    return (struct result){
        .per_s = n * 1e6 / (now.clock_us - then->clock_us),
        .cpu_us = (now.cpu_us - then->cpu_us) / n,
        .server_us = (now.server_us - then->server_us) / n,
    };
}

/* ---- by several threads ---- */

/* Works until `stop`. */
struct worker {
    pthread_t thread;
    int number;           /* from 0 */
    void *ctx;            /* what it works with */
    long count;           /* how often it did; it begins at 0 itself */
};

static atomic_bool stop;

static inline struct result threads_round(struct worker *workers, int threads,
                                          void *(*work)(void *worker))
{
    struct timespec pause = {(time_t)(measure_us / 1e6),
                             (long)measure_us % 1000000 * 1000};
    struct meter meter = meter_look();
    long count = 0;

    stop = false;
    for (int i = 0; i < threads; i++)
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
            die("pthread_create", "failed");
    nanosleep(&pause, NULL);
    stop = true;
    for (int i = 0; i < threads; i++) {
        pthread_join(workers[i].thread, NULL);
        count += workers[i].count;
    }
    return meter_since(&meter, count);
}

/* ---- all rounds ---- */

/* Of one field, by its offset. */
static inline double field_of(const struct result *result, size_t field)
{
    return *(const double *)((const char *)result + field);
}

static inline double median_of(const struct result *results, size_t field)
{
    double values[ROUNDS_MAX];

    for (int i = 0; i < rounds; i++)
        values[i] = field_of(&results[i], field);
    return median(values, rounds);
}

/* The median of `who` over `whom`, round by round. */
static inline double ratio(const struct result *who, const struct result *whom,
                           size_t field)
{
    double values[ROUNDS_MAX];

    for (int i = 0; i < rounds; i++)
        values[i] = field_of(&who[i], field) / field_of(&whom[i], field);
    return median(values, rounds);
}

#endif
