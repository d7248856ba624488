/* The judge of a history (history.h): it is shown one line after the other, and
 * finds what is wrong with them by the properties P1 to P12 (properties.h). It
 * takes about a microsecond a line; its memory is that of what is live: holds,
 * beliefs and calls under way. It ends the program if there is no memory.
 *
 *     struct judge *judge = judge_new(NULL);
 *     while (...)
 *         judge_event(judge, &event);
 *     judge_end(judge);
 *     for (size_t i = 0; i < judge_count(judge); i++)
 *         puts(judge_violation(judge, i)->text);
 *     judge_free(judge);
 *
 * One judge, one thread at a time. */
#ifndef CHECK_JUDGE_H
#define CHECK_JUDGE_H

#include "tests/judge/history.h"

#define JUDGE_LINES_MAX 6       /* that a violation names */
#define JUDGE_VIOLATIONS_MAX 1000 /* that are kept; all are counted */

/* What is wrong, and which lines show it: in the order of time, each once. */
struct judge_violation {
    int property;               /* 1: P1 */
    int64_t time_us;            /* when it was wrong */
    size_t lines[JUDGE_LINES_MAX];
    int lines_count;
    char text[512];             /* a sentence or two, times in seconds */
    char kind[256];             /* its words without names, numbers and times: two
                                   violations of one kind break one rule in one way */
};

struct judge_stats {
    uint64_t events;
    uint64_t ignored;           /* lines with words that the format does not have; */
    size_t ignored_line;        /* the first of them, and its word, cut off */
    char ignored_word[40];
    uint64_t grants;            /* acquires that ended well */
    uint64_t losses;            /* that were told */
    uint64_t leads;             /* of these, while the server still had the hold,
                                   by clients that ran when it ended; */
    int64_t lead_least_us;      /* so long before its end there */
    int64_t lead_median_us;
    int64_t lead_most_us;
    int64_t longest_wait_us;    /* for a lock that was free, to its grant */
};

struct judge;

/* judge_new   - `header`: the bounds; NULL: each default. judge_line takes in those
 *               that stand in the history.
 * judge_free  - takes NULL. */
struct judge *judge_new(const struct history_header *header);
void judge_free(struct judge *judge);

/* judge_event - takes in one line. event->line is its number; 0: one more than
 *               that of the line before. Its texts are copied.
 * judge_line  - likewise, of a text without LF, into which it writes; also headers,
 *               comments and empty lines. Returns NULL, or what is wrong with it.
 * judge_end   - the history is over: judges what only then is certain. Call it
 *               once, after the last event. */
void judge_event(struct judge *judge, const struct history_event *event);
const char *judge_line(struct judge *judge, char *line, size_t len);
void judge_end(struct judge *judge);

/* judge_count     - how many violations there are; it may be more than are kept.
 * judge_violation - the one of number `i`, from 0; NULL: it was not kept. Valid
 *                   until the next event.
 * judge_stats     - of the lines so far. */
size_t judge_count(const struct judge *judge);
const struct judge_violation *judge_violation(const struct judge *judge,
                                              size_t i);
void judge_stats(const struct judge *judge, struct judge_stats *out);

#endif
