/* Finds the tracks and spans of a violation in its history. */
#include "tests/judge/overlap.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tests/judge/violation.h"

#define PAD_US 1000             /* around lines of one moment */

/* The file is read once more. Names are kept as they were decoded. */
struct finder {
    struct overlap *o;
    struct history_text lock, owners[2];    /* of our own memory */
    bool has_client[2];
    uint32_t clients[2];
    int64_t calls[2];           /* of an acquire under way; or NONE */
    struct overlap_span open[OVERLAP_TRACKS_MAX];
    bool is_open[OVERLAP_TRACKS_MAX];
};

/* ---- lines ---- */

/* Reads a line of the file into `copy`. False: it is not an event. */
static bool read_event(struct history_event *e, char *copy, const char *line,
                       size_t len, size_t number)
{
    if (len == 0 || len >= HISTORY_LINE_MAX || line[0] == '#')
        return false;
    memcpy(copy, line, len);
    if (history_read(e, copy, len))
        return false;
    e->line = number;
    return true;
}

static void each_event(struct finder *f, const struct report_file *file,
                       void (*visit)(struct finder *f, const struct history_event *e))
{
    static char copy[HISTORY_LINE_MAX];
    size_t at = 0, len, number = 1;
    struct history_event e;

    for (; at < file->len; number++) {
        const char *line = report_next_line(file, &at, &len);

        if (read_event(&e, copy, line, len, number))
            visit(f, &e);
    }
}

/* ---- which lock, which owners, which time ---- */

static struct history_text kept(struct history_text text)
{
    char *bytes = must_have(malloc(text.len + 1));

    memcpy(bytes, text.at, text.len);
    return (struct history_text){bytes, text.len};
}

static int owner_of(const struct finder *f, struct history_text owner)
{
    for (int i = 0; i < f->o->owners_count; i++)
        if (text_is(f->owners[i], owner))
            return i;
    return -1;
}

static void take_names(struct finder *f, const struct history_event *e)
{
    struct overlap *o = f->o;

    if (!e->lock.at || !e->owner.at)
        return;
    if (!f->lock.at) {
        f->lock = kept(e->lock);
        snprintf(o->lock, sizeof o->lock, "%s", word(e->lock));
    }
    if (!text_is(f->lock, e->lock) || o->owners_count == 2 ||
        owner_of(f, e->owner) >= 0)
        return;
    f->owners[o->owners_count] = kept(e->owner);
    snprintf(o->owners[o->owners_count++], sizeof o->owners[0], "%s", word(e->owner));
}

static void take_time(struct overlap *o, int64_t us)
{
    if (us < o->from_us)
        o->from_us = us;
    if (us > o->to_us)
        o->to_us = us;
}

/* The lines that the violation shows. */
static void take_shown(struct finder *f, const struct report_file *file,
                       const struct judge_violation *v)
{
    static char copy[HISTORY_LINE_MAX];
    size_t at = 0, len, number = 1;
    struct history_event e;

    for (int i = 0; at < file->len && i < v->lines_count; number++) {
        const char *line = report_next_line(file, &at, &len);

        if (number != v->lines[i])
            continue;
        i++;
        if (!read_event(&e, copy, line, len, number))
            continue;
        take_names(f, &e);
        take_time(f->o, e.time_us);
    }
}

static void pad(struct overlap *o)
{
    int64_t by_us = (o->to_us - o->from_us) / 8;

    if (by_us < PAD_US)
        by_us = PAD_US;
    o->from_us = o->from_us >= 0 && o->from_us < by_us ? 0 : o->from_us - by_us;
    o->to_us += by_us;
}

/* ---- spans ---- */

/* -1: there are too many tracks. */
static int track_of(struct overlap *o, enum overlap_what what, int owner,
                    uint32_t server)
{
    for (int i = 0; i < o->tracks_count; i++)
        if (o->tracks[i].what == what && o->tracks[i].owner == owner &&
            o->tracks[i].server == server)
            return i;
    if (o->tracks_count == OVERLAP_TRACKS_MAX)
        return -1;
    o->tracks[o->tracks_count] = (struct overlap_track){what, owner, server};
    return o->tracks_count++;
}

static void keep_span(struct overlap *o, struct overlap_span span)
{
    if (span.to_us > o->from_us && span.from_us < o->to_us &&
        span.from_us < span.to_us && o->spans_count < OVERLAP_SPANS_MAX)
        o->spans[o->spans_count++] = span;
}

static void end_span(struct finder *f, int track, int64_t us)
{
    if (track < 0 || !f->is_open[track])
        return;
    if (us < f->open[track].to_us)
        f->open[track].to_us = us;
    keep_span(f->o, f->open[track]);
    f->is_open[track] = false;
}

/* Begins a span, or moves the end of the one that lasts. */
static void set_span(struct finder *f, int track, const struct history_event *e,
                     int64_t to_us)
{
    if (track < 0)
        return;
    if (f->is_open[track] && f->open[track].to_us <= e->time_us)
        end_span(f, track, e->time_us);
    if (f->is_open[track])
        f->open[track].to_us = to_us;
    else
        f->open[track] = (struct overlap_span){track, e->time_us, to_us, e->line};
    f->is_open[track] = true;
}

static void end_client(struct finder *f, int owner, int64_t us)
{
    end_span(f, track_of(f->o, OVERLAP_WAITS, owner, 0), us);
    end_span(f, track_of(f->o, OVERLAP_BELIEVES, owner, 0), us);
    end_span(f, track_of(f->o, OVERLAP_SUSPENDED, owner, 0), us);
    f->calls[owner] = HISTORY_NONE;
}

/* ---- events ---- */

static void on_process(struct finder *f, int owner, const struct history_event *e)
{
    int suspended = track_of(f->o, OVERLAP_SUSPENDED, owner, 0);

    if (e->what == HISTORY_STOP)
        set_span(f, suspended, e, HISTORY_NEVER);
    else if (e->what == HISTORY_GO)
        end_span(f, suspended, e->time_us);
    else if (e->what == HISTORY_DIED || e->what == HISTORY_START)
        end_client(f, owner, e->time_us);
    else if (e->what == HISTORY_END && e->call == f->calls[owner])
        end_span(f, track_of(f->o, OVERLAP_WAITS, owner, 0), e->time_us);
}

static void on_own(struct finder *f, int owner, const struct history_event *e)
{
    int holds = track_of(f->o, OVERLAP_HOLDS, owner, e->source.number);

    if (e->what == HISTORY_ASK && e->op == HISTORY_OP_ACQUIRE) {
        f->calls[owner] = e->call;
        set_span(f, track_of(f->o, OVERLAP_WAITS, owner, 0), e, HISTORY_NEVER);
    } else if (e->what == HISTORY_SAFE && e->until_us > e->time_us) {
        set_span(f, track_of(f->o, OVERLAP_BELIEVES, owner, 0), e, e->until_us);
    } else if (e->what == HISTORY_SAFE) {
        end_span(f, track_of(f->o, OVERLAP_BELIEVES, owner, 0), e->time_us);
    } else if (e->what == HISTORY_HELD) {
        set_span(f, holds, e, e->until_us);
    } else if (e->what == HISTORY_FREED) {
        end_span(f, holds, e->time_us);
    }
}

static void take_event(struct finder *f, const struct history_event *e)
{
    int owner = e->owner.at ? owner_of(f, e->owner) : -1;

    if (owner >= 0 && e->lock.at && text_is(e->lock, f->lock)) {
        if (e->source.role == 'c') {
            f->clients[owner] = e->source.number;
            f->has_client[owner] = true;
        }
        on_own(f, owner, e);
    }
    for (int i = 0; i < f->o->owners_count; i++)
        if (e->source.role == 'c' && f->has_client[i] &&
            f->clients[i] == e->source.number)
            on_process(f, i, e);
}

/* ---- all of it ---- */

/* The property of a violation is about beliefs (P1) or a server's holds (P9). */
static bool is_in_question(const struct overlap *o, const struct overlap_span *s)
{
    enum overlap_what what = o->tracks[s->track].what;

    return (o->property == 1 && what == OVERLAP_BELIEVES) ||
           (o->property == 9 && what == OVERLAP_HOLDS);
}

static void find_both(struct overlap *o)
{
    for (int a = 0; a < o->spans_count; a++)
        for (int b = 0; b < o->spans_count; b++) {
            const struct overlap_span *x = &o->spans[a], *y = &o->spans[b];
            int64_t from = x->from_us > y->from_us ? x->from_us : y->from_us;
            int64_t to = x->to_us < y->to_us ? x->to_us : y->to_us;

            if (o->tracks[x->track].owner == 0 && o->tracks[y->track].owner == 1 &&
                is_in_question(o, x) && is_in_question(o, y) &&
                o->tracks[x->track].server == o->tracks[y->track].server &&
                from <= o->wrong_us && o->wrong_us < to) {
                o->both_from_us = from;
                o->both_to_us = to;
            }
        }
}

static bool has_span(const struct overlap *o, int track)
{
    for (int i = 0; i < o->spans_count; i++)
        if (o->spans[i].track == track)
            return true;
    return false;
}

static int by_owner(const void *a, const void *b)
{
    const struct overlap_track *x = a, *y = b;

    if (x->owner != y->owner)
        return x->owner - y->owner;
    if (x->what != y->what)
        return (int)x->what - (int)y->what;
    return (x->server > y->server) - (x->server < y->server);
}

/* Tracks without a span are left out, and the others are sorted. */
static void sort_tracks(struct overlap *o)
{
    struct overlap_track old[OVERLAP_TRACKS_MAX];
    int count = o->tracks_count;

    memcpy(old, o->tracks, sizeof old);
    o->tracks_count = 0;
    for (int i = 0; i < count; i++)
        if (has_span(o, i))
            o->tracks[o->tracks_count++] = old[i];
    qsort(o->tracks, (size_t)o->tracks_count, sizeof *o->tracks, by_owner);
    for (int i = 0; i < o->spans_count; i++) {
        const struct overlap_track *t = &old[o->spans[i].track];

        o->spans[i].track = track_of(o, t->what, t->owner, t->server);
    }
}

static void free_names(struct finder *f)
{
    free((char *)f->lock.at);
    free((char *)f->owners[0].at);
    free((char *)f->owners[1].at);
}

bool overlap_find(struct overlap *out, const struct report_file *file,
                  const struct judge_violation *v)
{
    struct finder f = {.o = out, .calls = {HISTORY_NONE, HISTORY_NONE}};

    *out = (struct overlap){.from_us = v->time_us,
                            .to_us = v->time_us,
                            .wrong_us = v->time_us,
                            .property = v->property};
    take_shown(&f, file, v);
    pad(out);
    if (out->owners_count > 0)
        each_event(&f, file, take_event);
    for (int i = 0; i < out->tracks_count; i++)
        end_span(&f, i, HISTORY_NEVER);
    free_names(&f);
    sort_tracks(out);
    find_both(out);
    return out->spans_count > 0;
}

const char *overlap_label(const struct overlap *o, int track)
{
    static char label[80];
    const struct overlap_track *t = &o->tracks[track];
    const char *owner = o->owners[t->owner];

    if (t->what == OVERLAP_HOLDS)
        snprintf(label, sizeof label, "s%" PRIu32 " holds for %s", t->server, owner);
    else
        snprintf(label, sizeof label, "%s %s", owner,
                 t->what == OVERLAP_WAITS      ? "acquires"
                 : t->what == OVERLAP_BELIEVES ? "believes"
                                               : "is suspended");
    return label;
}
