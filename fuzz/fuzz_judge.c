/* Any bytes as a history for the judge (tests/judge/). It ends, takes bounded memory,
 * reports violations that are whole, and prints them. A line that is read is written and
 * read again with the same meaning; a line that is refused changes nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/judge/overlap.h"
#include "tests/judge/report.h"
#include "tests/support/must.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A copy in a block of its own length. */
static char *copy_of(const char *bytes, size_t len)
{
    char *copy = must_alloc(len > 0 ? len : 1);

    memcpy(copy, bytes, len);
    return copy;
}

/* ---- lines ---- */

/* A byte is written as three at most. */
static void must_be_written(const struct history_event *e, size_t read_len)
{
    size_t room = 2 * (3 * read_len + 64), len;
    char *first = must_alloc(room), *second = must_alloc(room);
    struct history_event again;

    len = history_write(e, first, room);
    must(len > 1 && first[len - 1] == '\n' && first[len] == '\0');
    memcpy(second, first, len);
    must(history_read(&again, second, len - 1) == NULL);
    must(history_write(&again, second + len, room - len) == len);
    must(memcmp(first, second + len, len) == 0);
    free(first);
    free(second);
}

static void read_line(const char *line, size_t len)
{
    char *copy = copy_of(line, len);
    struct history_event e;

    if (history_read(&e, copy, len) == NULL && e.what != HISTORY_OTHER)
        must_be_written(&e, len);
    free(copy);
}

/* ---- violations ---- */

static void must_be_whole(const struct judge_violation *v, size_t lines)
{
    must(v->property >= 1 && v->property <= HISTORY_PROPERTIES);
    must(v->lines_count >= 0 && v->lines_count <= JUDGE_LINES_MAX);
    must(memchr(v->text, '\0', sizeof v->text) != NULL && v->text[0] != '\0');
    for (int i = 0; i < v->lines_count; i++) {
        must(v->lines[i] >= 1 && v->lines[i] <= lines);
        must(i == 0 || v->lines[i - 1] < v->lines[i]);
    }
}

static void must_be_sound(const struct judge *judge, size_t lines)
{
    const struct judge_violation *v;
    size_t i = 0;

    while ((v = judge_violation(judge, i))) {
        must_be_whole(v, lines);
        i++;
    }
    must(i == judge_count(judge) || i == JUDGE_VIOLATIONS_MAX);
}

static void print(const struct report_file *f, const struct judge *judge)
{
    static const struct report_options all = {true, true};
    static FILE *out;

    if (!out)
        must((out = fopen("/dev/null", "w")) != NULL);
    report_print(out, f, judge, &all);
    report_warn(out, f, judge);
    overlap_svg(out, f, judge);
}

/* ---- histories ---- */

/* As build/judge does: the first line that is wrong ends it. */
static void judge_as_the_program(const struct report_file *f)
{
    struct judge *judge = judge_new(NULL);
    size_t number;

    if (report_judge(judge, f, &number) == NULL) {
        must_be_sound(judge, number);
        print(f, judge);
    }
    judge_free(judge);
}

/* Lines that are wrong are left out, so that more of the others are judged. */
static void judge_each_line(const struct report_file *f)
{
    struct judge *judge = judge_new(NULL);
    size_t at = 0, len, number = 0;

    while (at < f->len) {
        const char *line = report_next_line(f, &at, &len);
        char *copy = copy_of(line, len);

        read_line(line, len);
        (void)judge_line(judge, copy, len);
        free(copy);
        number++;
    }
    judge_end(judge);
    must_be_sound(judge, number);
    judge_free(judge);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct report_file f = {"history", (const char *)data, size};

    if (size == 0)
        return 0;
    judge_as_the_program(&f);
    judge_each_line(&f);
    return 0;
}
