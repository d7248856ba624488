/* A time line as text: a row for each track, 64 columns wide. */
#include "tests/judge/overlap.h"

#include <string.h>

#include "tests/judge/violation.h"

#define COLUMNS 64

/* The column of a moment; -1 and COLUMNS: before and after what is shown. */
static int column_of(const struct overlap *o, int64_t us)
{
    if (us < o->from_us)
        return -1;
    if (us >= o->to_us)
        return COLUMNS;
    return (int)((us - o->from_us) * COLUMNS / (o->to_us - o->from_us));
}

/* A span has one column at least. "[": it begins, ")": it has ended by then. */
static void draw(char *row, const struct overlap *o, int64_t from_us, int64_t to_us,
                 char fill)
{
    int from = column_of(o, from_us), to = column_of(o, to_us);

    for (int i = from < 0 ? 0 : from; i < COLUMNS && (i < to || i == from); i++)
        row[i] = fill;
    if (to > from + 1 && to < COLUMNS)
        row[to - 1] = ')';
    if (from >= 0)
        row[from] = to > from + 1 ? '[' : '|';
}

static void print_row(FILE *out, const char *label, const char *row)
{
    int len = COLUMNS;

    while (len > 0 && row[len - 1] == ' ')
        len--;
    fprintf(out, "    %-24.24s %.*s\n", label, len, row);
}

static void print_track(FILE *out, const struct overlap *o, int track)
{
    static const char fill[] = {[OVERLAP_WAITS] = '.',
                                [OVERLAP_HOLDS] = '=',
                                [OVERLAP_BELIEVES] = '#',
                                [OVERLAP_SUSPENDED] = '~'};
    char row[COLUMNS];

    memset(row, ' ', sizeof row);
    for (int i = 0; i < o->spans_count; i++)
        if (o->spans[i].track == track)
            draw(row, o, o->spans[i].from_us, o->spans[i].to_us,
                 fill[o->tracks[track].what]);
    print_row(out, overlap_label(o, track), row);
}

static void print_both(FILE *out, const struct overlap *o)
{
    char row[COLUMNS];

    if (o->both_from_us == o->both_to_us)
        return;
    memset(row, ' ', sizeof row);
    draw(row, o, o->both_from_us, o->both_to_us, 'X');
    print_row(out, "both at once", row);
    fprintf(out, "    both from %s until %s\n", when(o->both_from_us),
            when(o->both_to_us));
}

void overlap_print(FILE *out, const struct report_file *f,
                   const struct judge_violation *v)
{
    static struct overlap o;
    char row[COLUMNS];

    if (!overlap_find(&o, f, v))
        return;
    fprintf(out, "  lock %s from %s to %s:\n", o.lock, when(o.from_us),
            when(o.to_us));
    for (int i = 0; i < o.tracks_count; i++)
        print_track(out, &o, i);
    memset(row, ' ', sizeof row);
    row[column_of(&o, o.wrong_us)] = '^';
    print_row(out, "wrong", row);
    print_both(out, &o);
}
