/* The holds that a violation is about, on a time line, as text or SVG. Private to
 * build/judge and its tests.
 *
 * A track is one owner's calls (from `ask` to `end`), its beliefs, its holds on one
 * server, or the time in which its process is suspended. At most two owners of one
 * lock are shown: those that the violation's lines name first. */
#ifndef CHECK_OVERLAP_H
#define CHECK_OVERLAP_H

#include "tests/judge/report.h"

#define OVERLAP_VIOLATIONS_MAX 20   /* that are shown; the file is read for each */
#define OVERLAP_TRACKS_MAX 16
#define OVERLAP_SPANS_MAX 256

enum overlap_what { OVERLAP_WAITS, OVERLAP_HOLDS, OVERLAP_BELIEVES, OVERLAP_SUSPENDED };

struct overlap_track {
    enum overlap_what what;
    int owner;                  /* of `owners` */
    uint32_t server;            /* of holds */
};

/* From `from_us` until `to_us`, that moment excluded. */
struct overlap_span {
    int track;
    int64_t from_us, to_us;
    size_t line;                /* that begins it */
};

struct overlap {
    char lock[48];
    char owners[2][48];         /* printable; the second may be empty */
    int owners_count;
    int64_t from_us, to_us;     /* what is shown */
    int64_t wrong_us;
    int property;
    struct overlap_track tracks[OVERLAP_TRACKS_MAX];
    int tracks_count;
    struct overlap_span spans[OVERLAP_SPANS_MAX];
    int spans_count;
    int64_t both_from_us, both_to_us;   /* P1, P9: both owners at once; or equal */
};

/* overlap_find  - the tracks of a violation. False: its lines name no lock and owner.
 * overlap_label - the name of a track: "c1 believes", "s1 holds for c1"; static.
 * overlap_print - finds them and prints them as text; nothing if there are none.
 * overlap_svg   - a picture of the first violations, as one SVG file. */
bool overlap_find(struct overlap *out, const struct report_file *f,
                  const struct judge_violation *v);
const char *overlap_label(const struct overlap *o, int track);
void overlap_print(FILE *out, const struct report_file *f,
                   const struct judge_violation *v);
void overlap_svg(FILE *out, const struct report_file *f, const struct judge *judge);

#endif
