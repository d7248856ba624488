/* The judge: takes in lines one by one, and what the world says of itself. */
#include "tests/judge/judge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/judge/cause.h"
#include "tests/judge/count.h"
#include "tests/judge/lines.h"
#include "tests/judge/properties.h"
#include "tests/judge/watch.h"

struct judge *judge_new(const struct history_header *header)
{
    struct judge *j = must_have(calloc(1, sizeof *j));

    if (header)
        j->header = *header;
    else
        history_header_init(&j->header);
    j->next_due_us = HISTORY_NEVER;
    /* No lookup has to ask whether there are buckets or parties. */
    (void)state_lock(j, history_text(""), false);
    (void)state_party(j, (struct history_source){'c', 0});
    (void)state_party(j, (struct history_source){'s', 0});
    return j;
}

void judge_free(struct judge *j)
{
    if (!j)
        return;
    state_free(j);
    free(j->violations);
    free(j->leads);
    free(j->spots);
    free(j);
}

/* ---- the world ---- */

static void take_fault(struct judge *j, struct trouble *t, enum history_state s)
{
    t->last = j->now;
    if (s == HISTORY_STATE_BEGIN)
        t->open++;
    else if (s == HISTORY_STATE_END && t->open > 0)
        t->open--;
}

/* "c1,s2": the next of them; role 0 at the end, another letter for what is none. */
static struct history_source next_source(struct history_text *on)
{
    struct history_source source = {0, 0};

    if (on->len > 0)
        source.role = *on->at;
    for (; on->len > 0 && *on->at != ','; on->at++, on->len--)
        if (*on->at >= '0' && *on->at <= '9')
            source.number =
                source.number * 10 + (uint32_t)(*on->at - '0');
    if (on->len > 0) {
        on->at++;
        on->len--;
    }
    return source;
}

/* The named clients at the named servers; all, where none is named. */
static void take_spots(struct judge *j, const struct history_event *e)
{
    struct history_text on = e->on;
    uint32_t client = 0, server = 0;

    while (on.len > 0) {
        struct history_source source = next_source(&on);

        if (source.role == 'n')
            return;
        if (source.role == 'c' && client != 0)
            take_fault(j, trouble_spot(j, client, server), e->state);
        if (source.role == 's' && server != 0)
            take_fault(j, trouble_spot(j, client, server), e->state);
        if (source.role == 'c')
            client = source.number;
        else if (source.role == 's')
            server = source.number;
    }
    take_fault(j, trouble_spot(j, client, server), e->state);
}

static void on_fault(struct judge *j, const struct history_event *e)
{
    struct history_text on = e->on;
    bool has_client = false;

    if (e->lock.at) {
        take_fault(j, &state_lock(j, e->lock, true)->trouble, e->state);
        watch_lock(j, state_lock(j, e->lock, true), watch_settle_ms(j), true);
        return;
    }
    take_spots(j, e);
    while (on.len > 0) {
        struct history_source source = next_source(&on);
        struct party *p = source.role == 'c' ? state_party(j, source) : NULL;

        has_client = has_client || source.role == 'n'; /* "nobody" */
        if (!p)
            continue;
        has_client = true;
        take_fault(j, &p->trouble, e->state);
        watch_all(j, p->source.number);
    }
    if (has_client)
        return;
    take_fault(j, &j->trouble, e->state);
    watch_all(j, 0);
}

static void look_at_rest(struct judge *j, struct hold *hold,
                         const struct party *party)
{
    (void)party;
    cause_rest(j, hold);
    p3_counts(j, hold);
    p6_left(j, hold);
}

static void look_at_cause(struct judge *j, struct hold *hold,
                          const struct party *party)
{
    (void)party;
    cause_rest(j, hold);
}

static void on_quiet(struct judge *j)
{
    j->quiet = j->now;
    j->is_quiet = true;
}

static bool ends_quiet(enum history_what what)
{
    return what == HISTORY_ASK || what == HISTORY_FAULT ||
           what == HISTORY_DIED || what == HISTORY_START ||
           what == HISTORY_FREED;
}

/* By then all clients have said how they count. */
static void end_quiet(struct judge *j)
{
    j->is_quiet = false;
    each_hold(j, look_at_rest, NULL);
    count_rest(j);
}

static void on_over(struct judge *j)
{
    if (j->over.line)
        return;
    j->over = j->now;
    if (j->quiet.line)
        end_quiet(j);
    else
        each_hold(j, look_at_cause, NULL);
}

/* ---- a line ---- */

static void on_world(struct judge *j, const struct history_event *e)
{
    if (e->what == HISTORY_FAULT)
        on_fault(j, e);
    else if (e->what == HISTORY_QUIET)
        on_quiet(j);
    else if (e->what == HISTORY_OVER)
        on_over(j);
}

/* Its lines of calls and holds name what they must. */
static bool is_whole(const struct history_event *e)
{
    switch (e->what) {
    case HISTORY_ASK:
    case HISTORY_END:
        return e->call != HISTORY_NONE;
    case HISTORY_SAFE:
        return e->lock.at && e->owner.at && e->until_us != HISTORY_NONE;
    case HISTORY_HELD:
        return e->lock.at && e->owner.at && e->until_us != HISTORY_NONE &&
               e->count != HISTORY_NONE;
    case HISTORY_COUNT:
        return e->lock.at && e->owner.at && e->n != HISTORY_NONE;
    case HISTORY_FREED:
    case HISTORY_LOST:
        return e->lock.at && e->owner.at;
    case HISTORY_CANCEL:
        return e->call != HISTORY_NONE;
    case HISTORY_WAIT:
        return e->call != HISTORY_NONE && e->hold.at;
    case HISTORY_QUEUED:
    case HISTORY_PLACE:
        return e->lock.at && e->hold.at;
    case HISTORY_RESET:
    case HISTORY_HEAD:
    case HISTORY_STOCK:
        return e->lock.at;
    default:
        return true;
    }
}

/* A client that has died, or begun again, has no calls any more. */
static bool is_unasked_end(struct judge *j, const struct history_event *e)
{
    return e->what == HISTORY_END && e->source.role == 'c' &&
           !state_ask(j, e->source.number, e->call);
}

void judge_event(struct judge *j, const struct history_event *e)
{
    struct party *p;

    j->stats.events++;
    j->now.line = e->line ? e->line : j->now.line + 1;
    if (e->time_us > j->now.us)
        j->now.us = e->time_us;
    if (j->now.us > j->next_due_us)
        watch_time(j);
    if (!is_whole(e))
        return;
    if (j->is_quiet && ends_quiet(e->what))
        end_quiet(j);
    if (e->source.role == 'w')
        on_world(j, e);
    else if (!(p = state_party(j, e->source)))
        return;
    else if (e->source.role == 'c')
        on_client(j, p, e);
    else
        on_server(j, p, e);
}

static void note_ignored(struct judge *j, struct history_text word)
{
    struct judge_stats *s = &j->stats;

    if (word.at && s->ignored++ == 0) {
        s->ignored_line = j->now.line;
        snprintf(s->ignored_word, sizeof s->ignored_word, "%.*s", (int)word.len,
                 word.at);
    }
}

const char *judge_line(struct judge *j, char *line, size_t len)
{
    struct history_event event;
    const char *wrong;

    if (len == 0 || line[0] == '#') {
        j->now.line++;
        if (j->stats.events == 0)
            history_header_read(&j->header, line, len);
        return NULL;
    }
    if ((wrong = history_read(&event, line, len)))
        return wrong;
    if (event.time_us < j->now.us)
        return "a line is earlier than the one before it";
    if (event.source.number >= PARTIES_MAX)
        return "the number of a source is below 65536";
    if (!is_whole(&event))
        return "a line does not say what it must";
    if (is_unasked_end(j, &event))
        return "the call that ends here was not asked, or has ended already";
    judge_event(j, &event);
    note_ignored(j, event.ignored);
    return NULL;
}

void judge_end(struct judge *j)
{
    watch_time(j);
    on_over(j);
}

size_t judge_count(const struct judge *j)
{
    return j->violations_count;
}

const struct judge_violation *judge_violation(const struct judge *j, size_t i)
{
    return i < j->violations_count && i < JUDGE_VIOLATIONS_MAX
               ? &j->violations[i]
               : NULL;
}

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

void judge_stats(const struct judge *j, struct judge_stats *out)
{
    size_t count = j->stats.leads < LEADS_MAX ? j->stats.leads : LEADS_MAX;

    *out = j->stats;
    if (count == 0)
        return;
    qsort(j->leads, count, sizeof *j->leads, by_size);
    out->lead_median_us = j->leads[count / 2];
}
