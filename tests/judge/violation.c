/* Violations, and their words. */
#include "tests/judge/violation.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Room for one more. Most histories have few, or none. */
static void make_room(struct judge *j)
{
    if (j->violations_count < j->violations_room)
        return;
    j->violations_room = j->violations_room ? 2 * j->violations_room : 4;
    j->violations = must_have(
        realloc(j->violations, j->violations_room * sizeof *j->violations));
}

struct judge_violation *violate(struct judge *j, int property,
                                       int64_t time_us)
{
    struct judge_violation *v = &j->unjudged;

    if (j->header.judged >> property & 1) {
        if (j->violations_count < JUDGE_VIOLATIONS_MAX) {
            make_room(j);
            v = &j->violations[j->violations_count];
        }
        j->violations_count++;
    }
    *v = (struct judge_violation){.property = property, .time_us = time_us};
    return v;
}

void show(struct judge_violation *v, struct moment at)
{
    int i = v->lines_count;

    for (int k = 0; k < v->lines_count; k++)
        if (v->lines[k] == at.line)
            return;
    if (at.line == 0 || i == JUDGE_LINES_MAX)
        return;
    for (; i > 0 && v->lines[i - 1] > at.line; i--)
        v->lines[i] = v->lines[i - 1];
    v->lines[i] = at.line;
    v->lines_count++;
}

/* What stands in a format in place of its arguments. */
static size_t conversion(const char *format)
{
    return *format == '%' ? strcspn(format, "diusc") + 1 : 0;
}

static void add_kind(struct judge_violation *v, const char *format)
{
    size_t len = strlen(v->kind), skipped;

    for (; *format && len + 1 < sizeof v->kind; format += skipped > 0 ? skipped : 1)
        if ((skipped = conversion(format)) == 0)
            v->kind[len++] = *format;
    v->kind[len] = '\0';
}

void say(struct judge_violation *v, const char *format, ...)
{
    size_t len = strlen(v->text);
    va_list args;

    va_start(args, format);
    vsnprintf(v->text + len, sizeof v->text - len, format, args);
    va_end(args);
    add_kind(v, format);
}

void say_words(struct judge_violation *v, const char *words)
{
    say(v, "%s", words);
    add_kind(v, words);
}

const char *word(struct history_text text)
{
    static char words[8][48];
    static unsigned turn;
    char *at = words[turn++ % 8];
    size_t len = text.len < 40 ? text.len : 40;

    for (size_t i = 0; i < len; i++)
        at[i] = text.at[i] > ' ' && text.at[i] < 0x7f ? text.at[i] : '?';
    strcpy(at + len, len < text.len ? "..." : "");
    return at;
}

const char *when(int64_t us)
{
    static char times[8][32];
    static unsigned turn;
    char *at = times[turn++ % 8];

    if (us == HISTORY_NEVER)
        return "further notice";
    snprintf(at, sizeof times[0], "%s%" PRId64 ".%06d s", us < 0 ? "-" : "",
             us < 0 ? -(us / 1000000) : us / 1000000, abs((int)(us % 1000000)));
    return at;
}
