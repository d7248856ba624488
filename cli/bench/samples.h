/* Measured times, of which the median and other quantiles are exact. */
#ifndef CLI_BENCH_SAMPLES_H
#define CLI_BENCH_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bench_samples {          /* zeroed: empty */
    uint32_t *durations_us;
    size_t count, capacity;
};

/* What a person reads of them. Without samples all are 0. */
struct bench_times {
    size_t count;
    uint32_t least_us, median_us, p99_us, most_us;
};

/* bench_samples_reserve - makes space for `max` samples, more than 0. False: no memory. Call
 *   bench_samples_fini in both cases.
 * bench_samples_add - adds a time; it is dropped if there is no space. A negative time counts as
 *   0, and one of more than 2^32 - 1 us as that.
 * bench_samples_times - sorts the samples. Quantile q is the smallest sample that is not below a
 *   part q of all samples. */
bool bench_samples_reserve(struct bench_samples *s, size_t max);
void bench_samples_fini(struct bench_samples *s);
void bench_samples_add(struct bench_samples *s, int64_t us);
struct bench_times bench_samples_times(struct bench_samples *s);

#endif
