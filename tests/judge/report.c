/* Gives a history to the judge, and prints what it finds. */
#include "tests/judge/report.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "tests/judge/overlap.h"
#include "tests/judge/violation.h"

static const char *const sentences[] = {
    NULL,
    "two owners are never both safe",
    "a loss is told before the server lets go, or in time",
    "client and server count the same when all is quiet",
    "no renewal after the release",
    "nobody waits for a lock that is free",
    "nothing is left when all is quiet",
    "each call ends in time",
    "fencing tokens grow",
    "one owner, or readers, on the server",
    "nothing is believed that was not granted",
    "permits and counts are neither made nor lost",
    "nothing fails, and nothing is lost, without a cause"};

static_assert(sizeof sentences / sizeof *sentences == 1 + HISTORY_PROPERTIES,
              "each property has its sentence");

const char *report_sentence(int property)
{
    return sentences[property];
}

/* ---- lines ---- */

const char *report_next_line(const struct report_file *f, size_t *at, size_t *len)
{
    const char *line = f->bytes + *at;
    const char *end = f->len > *at ? memchr(line, '\n', f->len - *at) : NULL;

    *len = end ? (size_t)(end - line) : f->len - *at;
    *at += *len + 1;
    return line;
}

static bool is_first_line(const char *line, size_t len)
{
    return len == strlen(HISTORY_FIRST_LINE) &&
           memcmp(line, HISTORY_FIRST_LINE, len) == 0;
}

const char *report_judge(struct judge *judge, const struct report_file *f,
                         size_t *number)
{
    static char copy[HISTORY_LINE_MAX];
    size_t at = 0, len;

    *number = 0;
    do {
        const char *line = report_next_line(f, &at, &len), *wrong;

        if (++*number == 1 && !is_first_line(line, len))
            return "the first line of a history is \"" HISTORY_FIRST_LINE "\"";
        if (len >= sizeof copy)
            return "a line is too long";
        memcpy(copy, line, len);
        if ((wrong = judge_line(judge, copy, len)))
            return wrong;
    } while (at < f->len);
    judge_end(judge);
    return NULL;
}

/* ---- what is printed ---- */

static void print_lines(FILE *out, const struct report_file *f,
                        const struct judge_violation *v)
{
    size_t at = 0, len, number = 1;

    for (int i = 0; at < f->len && i < v->lines_count; number++) {
        const char *line = report_next_line(f, &at, &len);

        if (number == v->lines[i]) {
            fprintf(out, "    %zu: %.*s\n", number, (int)len, line);
            i++;
        }
    }
}

static void print_violations(FILE *out, const struct report_file *f,
                             const struct judge *judge, bool has_overlap)
{
    const struct judge_violation *v;
    size_t i;

    for (i = 0; (v = judge_violation(judge, i)); i++) {
        fprintf(out, "%s: P%d, %s:\n  at %s: %s\n", f->name, v->property,
                sentences[v->property], when(v->time_us), v->text);
        print_lines(out, f, v);
        if (has_overlap && i < OVERLAP_VIOLATIONS_MAX)
            overlap_print(out, f, v);
    }
    if (i < judge_count(judge))
        fprintf(out, "%s: and %zu more\n", f->name, judge_count(judge) - i);
}

static double ms(int64_t us)
{
    return (double)us / 1000;
}

static void print_stats(FILE *out, const struct report_file *f,
                        const struct judge *judge)
{
    struct judge_stats s;

    judge_stats(judge, &s);
    fprintf(out,
            "%s: %" PRIu64 " events, %" PRIu64 " grants, %" PRIu64 " losses told\n",
            f->name, s.events, s.grants, s.losses);
    if (s.leads > 0)
        fprintf(out,
                "  told before the server's end: least %.3f ms, median %.3f, "
                "most %.3f (%" PRIu64 " of them)\n",
                ms(s.lead_least_us), ms(s.lead_median_us), ms(s.lead_most_us),
                s.leads);
    fprintf(out, "  longest wait for a lock that was free: %.3f ms\n",
            ms(s.longest_wait_us));
}

void report_print(FILE *out, const struct report_file *f, const struct judge *judge,
                  const struct report_options *options)
{
    print_violations(out, f, judge, options->has_overlap);
    if (options->has_stats)
        print_stats(out, f, judge);
}

void report_warn(FILE *out, const struct report_file *f, const struct judge *judge)
{
    struct judge_stats s;

    judge_stats(judge, &s);
    if (s.ignored > 0)
        fprintf(out,
                "judge: %s:%zu: ignored, for it is not in the format: %s (%" PRIu64
                " lines have such words)\n",
                f->name, s.ignored_line, s.ignored_word, s.ignored);
}
