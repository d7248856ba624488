/* A parser of metrics that is as strict as those that read them. */
#include "tests/support/openmetrics.h"

#include <check.h>
#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MAX_BYTES 4096
#define SERIES_MAX 4000

/* ---- the text ---- */

void openmetrics_line(void *ctx, const char *line)
{
    struct openmetrics_text *t = ctx;
    size_t len = strlen(line);

    ck_assert_ptr_null(strchr(line, '\n'));
    ck_assert_uint_lt(t->len + len + 1, t->room);
    memcpy(t->text + t->len, line, len);
    t->len += len;
    t->text[t->len++] = '\n';
    t->text[t->len] = '\0';
}

/* ---- one line ---- */

/* What is being read. */
struct reading {
    struct openmetrics *m;
    const char *at;
    char line[LINE_MAX_BYTES];
    struct openmetrics_family *family;  /* the last one; or NULL */
    bool has_samples;                   /* of that family */
    char *series[SERIES_MAX];           /* all that were seen, copied */
    size_t series_count;

    /* A histogram, over its buckets of the same labels. */
    double bound, count;
    bool is_in_buckets;
};

static bool refuse(struct reading *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool refuse(struct reading *r, const char *format, ...)
{
    char what[150];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(what, sizeof what, format, args);
    va_end(args);
    (void)snprintf(r->m->why, sizeof r->m->why, "%s: %.200s", what, r->line);
    return false;
}

/* Returns the length of a name at `text`; labels have no colon. */
static size_t name_len(const char *text, bool is_label)
{
    size_t n = 0;

    while (isalpha((unsigned char)text[n]) || text[n] == '_' || (!is_label && text[n] == ':') ||
           (n > 0 && isdigit((unsigned char)text[n])))
        n++;
    return n;
}

/* A value of a label, or a help text: \\, \" and \n are the only escapes. */
static bool is_escaped_ok(const char *ptr, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (ptr[i] == '\\' && (++i >= len || !strchr("\\\"n", ptr[i])))
            return false;
    return true;
}

static bool take_value(const char *text, double *out)
{
    char *end;

    if (strcmp(text, "+Inf") == 0 || strcmp(text, "NaN") == 0)
        return false; /* holdfast has none */
    if (!isdigit((unsigned char)*text) && *text != '-')
        return false;
    *out = strtod(text, &end);
    return *end == '\0' && isfinite(*out);
}

/* Copies the value of a label to dst, still escaped. False: there is none. */
static bool label_value(const char *labels, const char *name, char *dst, size_t room)
{
    char want[64];
    const char *at;
    size_t n;

    (void)snprintf(want, sizeof want, "%s=\"", name);
    for (at = strstr(labels, want); at; at = strstr(at + 1, want))
        if (at == labels || at[-1] == ',' || at[-1] == '{')
            break;
    if (!at)
        return false;
    at += strlen(want);
    for (n = 0; at[n] && at[n] != '"'; n += at[n] == '\\' ? 2 : 1)
        continue;
    ck_assert_uint_lt(n, room);
    memcpy(dst, at, n);
    dst[n] = '\0';
    return true;
}

/* Skips `{a="b",...}`. NULL: it is wrong. */
static const char *skip_labels(const char *at)
{
    if (*at != '{')
        return at;
    do {
        size_t n = name_len(++at, true), len = 0;

        if (n == 0 || at[n] != '=' || at[n + 1] != '"')
            return NULL;
        at += n + 2;
        while (at[len] && at[len] != '"')
            len += at[len] == '\\' && at[len + 1] ? 2 : 1;
        if (at[len] != '"' || !is_escaped_ok(at, len))
            return NULL;
        at += len + 1;
    } while (*at == ',');
    return *at == '}' ? at + 1 : NULL;
}

/* ---- families ---- */

static bool is_known_type(const struct reading *r, const char *type)
{
    static const char *const types[] = {"counter", "gauge", "histogram"};

    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i], type) == 0)
            return true;
    return r->m->is_open && strcmp(type, "info") == 0;
}

static bool begin_family(struct reading *r, const char *name, const char *type)
{
    struct openmetrics *m = r->m;

    for (size_t i = 0; i < m->families_count; i++)
        if (strcmp(m->families[i].name, name) == 0)
            return refuse(r, "a second TYPE of this family");
    if (!is_known_type(r, type))
        return refuse(r, "unknown type '%s'", type);
    if (m->families_count == OPENMETRICS_FAMILIES_MAX)
        return refuse(r, "too many families");
    r->family = &m->families[m->families_count++];
    *r->family = (struct openmetrics_family){0};
    (void)snprintf(r->family->name, sizeof r->family->name, "%s", name);
    (void)snprintf(r->family->type, sizeof r->family->type, "%s", type);
    r->has_samples = false;
    return true;
}

static bool ends_in(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);

    return n >= m && strcmp(text + n - m, end) == 0;
}

static bool take_unit(struct reading *r, const char *unit)
{
    char end[40];

    (void)snprintf(end, sizeof end, "_%s", unit);
    if (!r->m->is_open)
        return refuse(r, "this format has no UNIT");
    if (!*unit || !ends_in(r->family->name, end))
        return refuse(r, "the name does not end in the unit");
    (void)snprintf(r->family->unit, sizeof r->family->unit, "%s", unit);
    return true;
}

/* "# TYPE name rest" */
static bool take_comment(struct reading *r)
{
    const char *at = r->line + 2, *what = at;
    char name[100];
    size_t n;

    if (strncmp(r->line, "# ", 2) != 0 || !(at = strchr(at, ' ')))
        return refuse(r, "a comment that is not TYPE, UNIT or HELP");
    n = name_len(++at, false);
    if (n == 0 || n >= sizeof name || at[n] != ' ')
        return refuse(r, "an invalid name");
    memcpy(name, at, n);
    name[n] = '\0';
    at += n + 1;
    if (strncmp(what, "TYPE ", 5) == 0)
        return begin_family(r, name, at);
    if (!r->family || strcmp(r->family->name, name) != 0 || r->has_samples)
        return refuse(r, "not after the TYPE of this family");
    if (strncmp(what, "UNIT ", 5) == 0)
        return take_unit(r, at);
    if (strncmp(what, "HELP ", 5) != 0 || r->family->help[0] || !*at)
        return refuse(r, "a comment that is not TYPE, UNIT or HELP, or a second HELP");
    if (!is_escaped_ok(at, strlen(at)))
        return refuse(r, "an invalid escape");
    if (strlen(at) >= sizeof r->family->help)
        return refuse(r, "a HELP that is too long");
    memcpy(r->family->help, at, strlen(at) + 1);
    return true;
}

/* ---- samples ---- */

/* Returns what follows the family's name in that of a sample; NULL: it is another family's. */
static const char *suffix_of(const struct reading *r, const char *name)
{
    size_t n = strlen(r->family->name);

    return strncmp(name, r->family->name, n) == 0 ? name + n : NULL;
}

static bool is_suffix_ok(const struct reading *r, const char *suffix)
{
    const char *type = r->family->type;

    if (strcmp(type, "histogram") == 0)
        return strcmp(suffix, "_bucket") == 0 || strcmp(suffix, "_count") == 0 ||
               strcmp(suffix, "_sum") == 0;
    if (!r->m->is_open)
        return !*suffix && (strcmp(type, "counter") != 0 || ends_in(r->family->name, "_total"));
    if (strcmp(type, "counter") == 0)
        return strcmp(suffix, "_total") == 0;
    return strcmp(suffix, strcmp(type, "info") == 0 ? "_info" : "") == 0;
}

static bool note_series(struct reading *r, const char *series)
{
    for (size_t i = 0; i < r->series_count; i++)
        if (strcmp(r->series[i], series) == 0)
            return refuse(r, "this series is there twice");
    if (r->series_count == SERIES_MAX)
        return refuse(r, "too many series");
    r->series[r->series_count++] = strdup(series);
    return true;
}

static bool take_bucket(struct reading *r, const char *labels, double value)
{
    char le[40];
    double bound;

    if (!label_value(labels, "le", le, sizeof le))
        return refuse(r, "a bucket without le");
    if (strcmp(le, "+Inf") == 0)
        bound = INFINITY;
    else if (!take_value(le, &bound) || !strchr(le, '.'))
        return refuse(r, "le is not a canonical number");
    if (r->is_in_buckets && (bound <= r->bound || value < r->count))
        return refuse(r, "buckets that do not grow");
    r->bound = bound;
    r->count = value;
    r->is_in_buckets = true;
    return true;
}

/* Each series of a histogram ends with its bucket +Inf, its count and its sum. */
static bool take_histogram(struct reading *r, const char *suffix, const char *labels,
                           double value)
{
    bool is_count = strcmp(suffix, "_count") == 0;

    if (strcmp(suffix, "_bucket") == 0)
        return take_bucket(r, labels, value);
    if (is_count && (!r->is_in_buckets || !isinf(r->bound) || r->count != value))
        return refuse(r, "the count is not that of the bucket +Inf");
    r->is_in_buckets = false;
    return true;
}

static bool take_sample(struct reading *r)
{
    size_t n = name_len(r->line, false);
    const char *end = n > 0 ? skip_labels(r->line + n) : NULL;
    char name[100], series[LINE_MAX_BYTES];
    const char *suffix;
    double value;

    if (!end || *end != ' ' || n >= sizeof name)
        return refuse(r, "not a sample");
    if (!take_value(end + 1, &value))
        return refuse(r, "an invalid value");
    memcpy(name, r->line, n);
    name[n] = '\0';
    memcpy(series, r->line, (size_t)(end - r->line));
    series[end - r->line] = '\0';
    if (!r->family || !(suffix = suffix_of(r, name)) || !is_suffix_ok(r, suffix))
        return refuse(r, "a sample outside its family");
    if (strcmp(r->family->type, "gauge") != 0 && value < 0)
        return refuse(r, "it is negative");
    r->has_samples = true;
    r->m->samples++;
    if (strcmp(r->family->type, "histogram") == 0 &&
        !take_histogram(r, suffix, series + n, value))
        return false;
    return note_series(r, series);
}

/* ---- all ---- */

/* Copies the next line. False: the text does not end in a newline, or the line is too long. */
static bool next_line(struct reading *r)
{
    const char *end = strchr(r->at, '\n');

    if (!end || (size_t)(end - r->at) >= sizeof r->line)
        return refuse(r, "the last line has no end, or a line is too long");
    memcpy(r->line, r->at, (size_t)(end - r->at));
    r->line[end - r->at] = '\0';
    r->at = end + 1;
    return true;
}

static bool read_all(struct reading *r)
{
    bool is_over = false;

    while (*r->at) {
        if (!next_line(r))
            return false;
        if (is_over)
            return refuse(r, "a line after # EOF");
        is_over = r->m->is_open && strcmp(r->line, "# EOF") == 0;
        if (is_over)
            continue;
        if (r->line[0] == '#' ? !take_comment(r) : !take_sample(r))
            return false;
    }
    return is_over == r->m->is_open || refuse(r, "# EOF is missing");
}

bool openmetrics_parse(struct openmetrics *m, const char *text, bool is_open)
{
    struct reading *r = calloc(1, sizeof *r);
    bool is_ok;

    ck_assert_ptr_nonnull(r);
    *m = (struct openmetrics){.is_open = is_open};
    r->m = m;
    r->at = text;
    is_ok = read_all(r);
    for (size_t i = 0; i < r->series_count; i++)
        free(r->series[i]);
    free(r);
    return is_ok;
}

double openmetrics_value(const char *text, const char *series)
{
    size_t len = strlen(series);

    for (const char *at = text; at && *at; at = strchr(at, '\n'), at += at != NULL)
        if (strncmp(at, series, len) == 0 && at[len] == ' ')
            return strtod(at + len, NULL);
    return -1;
}

bool openmetrics_has_name(const char *text, const char *name)
{
    size_t len = strlen(name);

    for (const char *at = text; at && *at; at = strchr(at, '\n'), at += at != NULL) {
        const char *word = strncmp(at, "# TYPE ", 7) == 0 ? at + 7 : at;

        if (strncmp(word, name, len) == 0 && (word[len] == ' ' || word[len] == '{'))
            return true;
    }
    return false;
}
