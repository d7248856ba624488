/* Times that were measured, and their quantiles. */
/* Tests: tests/test_cli_bench.c. */
#include "cli/bench/samples.h"

#include <stdlib.h>

bool bench_samples_reserve(struct bench_samples *s, size_t max)
{
    *s = (struct bench_samples){
        .durations_us = calloc(max, sizeof *s->durations_us), .capacity = max};
    return s->durations_us != NULL;
}

void bench_samples_fini(struct bench_samples *s)
{
    free(s->durations_us);
    *s = (struct bench_samples){0};
}

void bench_samples_add(struct bench_samples *s, int64_t us)
{
    if (s->count == s->capacity)
        return;
    if (us < 0)
        us = 0;
    s->durations_us[s->count++] = us < UINT32_MAX ? (uint32_t)us : UINT32_MAX;
}

static int compare_samples(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

/* `percent` of the samples, rounded up, are not above it. */
static uint32_t quantile(const struct bench_samples *s, size_t percent)
{
    return s->durations_us[(s->count * percent + 99) / 100 - 1];
}

struct bench_times bench_samples_times(struct bench_samples *s)
{
    if (s->count == 0)
        return (struct bench_times){0};
    qsort(s->durations_us, s->count, sizeof *s->durations_us, compare_samples);
    return (struct bench_times){.count = s->count,
                                .least_us = s->durations_us[0],
                                .median_us = quantile(s, 50),
                                .p99_us = quantile(s, 99),
                                .most_us = s->durations_us[s->count - 1]};
}
