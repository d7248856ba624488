/* The results of `holdfast bench`, for a person and as JSON. */
#ifndef CLI_BENCH_REPORT_H
#define CLI_BENCH_REPORT_H

#include "cli/bench/load.h"
#include "cli/bench/probe.h"

struct bench_report {
    const char *name;
    enum hf_lock_kind kind;
    size_t clients;             /* 1: the last three were not measured */
    struct bench_facts facts;
    struct bench_times ping;
    struct bench_result one_client, many_locks, one_contended_lock, handover;
};

/* bench_report_print - prints a paragraph; bench_report_json - a line. Return CLI_CONTINUE, or
 *   CLI_EXIT_ERROR after reporting the error.
 * bench_duration_text - writes a time for a person: "85 us", "1.25 ms". Returns dst. */
#define BENCH_DURATION_TEXT_MAX 24
int bench_report_print(const struct bench_report *r);
int bench_report_json(const struct bench_report *r);
char *bench_duration_text(char dst[BENCH_DURATION_TEXT_MAX], uint32_t us);

#endif
