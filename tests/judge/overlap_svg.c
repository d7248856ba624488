/* Time lines as SVG: one panel for each violation, a row for each track. */
#include "tests/judge/overlap.h"

#include "tests/judge/violation.h"

#define LEFT 220                /* of the rows' labels */
#define WIDTH 720               /* of the time line */
#define ROW 26
#define HEAD 52
#define FOOT 34

static const struct {
    const char *colour;
    int height;
} styles[] = {[OVERLAP_WAITS] = {"#c8ccd2", 6},
              [OVERLAP_HOLDS] = {"#3b76b5", 16},
              [OVERLAP_BELIEVES] = {"#e39434", 16},
              [OVERLAP_SUSPENDED] = {"#7a7f87", 6}};

static void put_text(FILE *out, const char *text)
{
    for (; *text; text++) {
        const char *escaped = *text == '<'   ? "&lt;"
                              : *text == '>' ? "&gt;"
                              : *text == '&' ? "&amp;"
                                             : NULL;

        if (escaped)
            fputs(escaped, out);
        else
            fputc((unsigned char)*text < 0x80 ? *text : '?', out);
    }
}

static void put_label(FILE *out, int x, int y, const char *anchor, const char *text)
{
    fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"%s\">", x, y, anchor);
    put_text(out, text);
    fputs("</text>\n", out);
}

/* In tenths of a pixel from the left. */
static int64_t x_of(const struct overlap *o, int64_t us)
{
    if (us < o->from_us)
        us = o->from_us;
    if (us > o->to_us)
        us = o->to_us;
    return LEFT * 10 + (us - o->from_us) * WIDTH * 10 / (o->to_us - o->from_us);
}

static void put_box(FILE *out, const struct overlap *o, int64_t from_us,
                    int64_t to_us, int y, int height, const char *style)
{
    int64_t from = x_of(o, from_us), width = x_of(o, to_us) - from;

    if (width < 10)
        width = 10;
    fprintf(out,
            "<rect x=\"%d.%d\" y=\"%d\" width=\"%d.%d\" height=\"%d\" %s>",
            (int)(from / 10), (int)(from % 10), y, (int)(width / 10),
            (int)(width % 10), height, style);
}

static void put_span(FILE *out, const struct overlap *o,
                     const struct overlap_span *span, int top)
{
    enum overlap_what what = o->tracks[span->track].what;
    int height = styles[what].height;
    char style[40];

    snprintf(style, sizeof style, "fill=\"%s\"", styles[what].colour);
    put_box(out, o, span->from_us, span->to_us,
            top + HEAD + span->track * ROW + (ROW - height) / 2, height, style);
    fprintf(out, "<title>line %zu: from %s until %s</title></rect>\n", span->line,
            when(span->from_us), when(span->to_us));
}

static int height_of(const struct overlap *o)
{
    return HEAD + o->tracks_count * ROW + FOOT;
}

static void put_both(FILE *out, const struct overlap *o, int top)
{
    if (o->both_from_us == o->both_to_us)
        return;
    put_box(out, o, o->both_from_us, o->both_to_us, top + HEAD,
            o->tracks_count * ROW, "fill=\"#d02020\" fill-opacity=\"0.25\"");
    fprintf(out, "<title>both from %s until %s</title></rect>\n",
            when(o->both_from_us), when(o->both_to_us));
}

static void put_panel(FILE *out, const struct overlap *o, int top)
{
    char title[200];
    int bottom = top + HEAD + o->tracks_count * ROW;
    int64_t x = x_of(o, o->wrong_us);

    snprintf(title, sizeof title, "P%d, %s: lock %s, at %s", o->property,
             report_sentence(o->property), o->lock, when(o->wrong_us));
    put_label(out, 10, top + 20, "start", title);
    put_label(out, LEFT, top + 42, "start", when(o->from_us));
    put_label(out, LEFT + WIDTH, top + 42, "end", when(o->to_us));
    fprintf(out,
            "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"#f4f5f7\"/>\n",
            LEFT, top + HEAD, WIDTH, bottom - top - HEAD);
    for (int i = 0; i < o->tracks_count; i++)
        put_label(out, LEFT - 10, top + HEAD + i * ROW + 18, "end",
                  overlap_label(o, i));
    for (int i = 0; i < o->spans_count; i++)
        put_span(out, o, &o->spans[i], top);
    put_both(out, o, top);
    fprintf(out,
            "<line x1=\"%d.%d\" y1=\"%d\" x2=\"%d.%d\" y2=\"%d\" stroke=\"#d02020\" "
            "stroke-width=\"1.5\"/>\n",
            (int)(x / 10), (int)(x % 10), top + HEAD - 4, (int)(x / 10), (int)(x % 10),
            bottom + 4);
}

/* Visits the violations that can be shown. Returns the height of all. */
static int each_panel(FILE *out, const struct report_file *f,
                      const struct judge *judge)
{
    static struct overlap o;
    const struct judge_violation *v;
    int top = 0;

    for (size_t i = 0; i < OVERLAP_VIOLATIONS_MAX && (v = judge_violation(judge, i));
         i++) {
        if (!overlap_find(&o, f, v))
            continue;
        if (out)
            put_panel(out, &o, top);
        top += height_of(&o);
    }
    return top;
}

void overlap_svg(FILE *out, const struct report_file *f, const struct judge *judge)
{
    int height = each_panel(NULL, f, judge);

    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "font-family=\"sans-serif\" font-size=\"13\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
            LEFT + WIDTH + 20, height + 10);
    (void)each_panel(out, f, judge);
    fputs("</svg>\n", out);
}
