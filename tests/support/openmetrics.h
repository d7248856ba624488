/* Reads metrics as text: OpenMetrics 1.0, and the Prometheus text format 0.0.4, as strictly as
 * the parsers of Prometheus do, and as far as holdfast uses them (no timestamps, no exemplars).
 * Source: OpenMetrics 1.0.0, "ABNF" and "Metric Types". */
#ifndef TEST_OPENMETRICS_H
#define TEST_OPENMETRICS_H

#include <check.h>
#include <stdbool.h>
#include <stddef.h>

#define OPENMETRICS_FAMILIES_MAX 100
#define OPENMETRICS_WHY_MAX 400

/* A text, for the write callback openmetrics_line. */
struct openmetrics_text {
    char *text;                 /* of `room` bytes */
    size_t room, len;
};

/* openmetrics_line - appends a line, and a newline. Fails the test if there is no room. */
void openmetrics_line(void *ctx, const char *line);

struct openmetrics_family {
    char name[100];             /* as in its TYPE line */
    char type[20];
    char unit[20];              /* "": none */
    char help[300];
};

struct openmetrics {
    bool is_open;               /* OpenMetrics; false: the older format */
    struct openmetrics_family families[OPENMETRICS_FAMILIES_MAX];
    size_t families_count;
    size_t samples;
    char why[OPENMETRICS_WHY_MAX];  /* what is wrong, with the line; "": nothing */
};

/* openmetrics_parse - returns whether the text is valid; fills in *m. */
bool openmetrics_parse(struct openmetrics *m, const char *text, bool is_open);

/* openmetrics_value - returns the value of a series, spelled as in the text, such as
 *   "holdfast_grants_total{kind=\"plain\"}"; -1: there is no such series. */
double openmetrics_value(const char *text, const char *series);

/* Fails the test unless value_of(series), a function of the test program, is `expected`. */
#define ck_assert_value(series, expected)                                     \
    do {                                                                      \
        double real_value = value_of(series);                                 \
        ck_assert_msg(real_value == (double)(expected), "%s is %g, not %g",   \
                      series, real_value, (double)(expected));                \
    } while (0)

/* openmetrics_has_name - returns whether a sample or a family of the text has this name. */
bool openmetrics_has_name(const char *text, const char *name);

#endif
