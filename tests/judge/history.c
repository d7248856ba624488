/* The format of a history: tables of its words and keys, and what reads and
 * writes lines by them. */
#include "tests/judge/history.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Words of an enum, by their value. */
#define WORD(name, text) [HISTORY_##name] = text,
static const char *const events[] = {HISTORY_EVENTS(WORD)};
static const char *const kinds[] = {HISTORY_KINDS(WORD)};
static const char *const ops[] = {HISTORY_OPS(WORD)};
static const char *const bys[] = {HISTORY_BYS(WORD)};
static const char *const whys[] = {HISTORY_WHYS(WORD)};
static const char *const states[] = {HISTORY_STATES(WORD)};

struct words {
    const char *const *at;
    unsigned count;
};

#define WORDS(table)                                                          \
    {                                                                         \
        table, sizeof(table) / sizeof *(table)                                \
    }

/* An ID is compared, and not reckoned with: it may be any number. MILLIS are cut off at
 * HISTORY_BOUND_MAX. */
enum type { TEXT, NUMBER, ID, MILLIS, SOURCE, WORD_OF };

enum { EVENTS, KINDS, OPS, BYS, WHYS, STATES };
static const struct words words[] = {WORDS(events), WORDS(kinds), WORDS(ops),
                                     WORDS(bys),    WORDS(whys),  WORDS(states)};

/* In the order in which they are written. */
static const struct key {
    const char *name;
    unsigned char len;
    unsigned char type;
    unsigned char words;
    unsigned short offset;
} keys[] = {
#define KEY(name, type, words, member)                                        \
    {name, sizeof(name) - 1, type, words, offsetof(struct history_event, member)}
    KEY("call", ID, 0, call),
    KEY("op", WORD_OF, OPS, op),
    KEY("lock", TEXT, 0, lock),
    KEY("kind", WORD_OF, KINDS, kind),
    KEY("owner", TEXT, 0, owner),
    KEY("hold", TEXT, 0, hold),
    KEY("count", NUMBER, 0, count),
    KEY("until", NUMBER, 0, until_us),
    KEY("by", WORD_OF, BYS, by),
    KEY("why", WORD_OF, WHYS, why),
    KEY("lease", MILLIS, 0, lease_ms),
    KEY("wait", MILLIS, 0, wait_ms),
    KEY("due", NUMBER, 0, due_us),
    KEY("max_hold", MILLIS, 0, max_hold_ms),
    KEY("status", TEXT, 0, status),
    KEY("token", ID, 0, token),
    KEY("master", NUMBER, 0, master),
    KEY("reason", TEXT, 0, reason),
    KEY("n", NUMBER, 0, n),
    KEY("id", TEXT, 0, id),
    KEY("channel", TEXT, 0, channel),
    KEY("name", TEXT, 0, name),
    KEY("type", TEXT, 0, type),
    KEY("of", TEXT, 0, of),
    KEY("may", TEXT, 0, may),
    KEY("what", TEXT, 0, fault),
    KEY("on", TEXT, 0, on),
    KEY("state", WORD_OF, STATES, state),
    KEY("instead", SOURCE, 0, instead),
    KEY("ppm", NUMBER, 0, ppm),
    KEY("step", NUMBER, 0, step_us),
};

#define KEYS (sizeof keys / sizeof *keys)

static void *member(const struct key *key, struct history_event *event)
{
    return (char *)event + key->offset;
}

static const void *value(const struct key *key,
                         const struct history_event *event)
{
    return (const char *)event + key->offset;
}

struct history_event history_event(int64_t time_us, char role, uint32_t number,
                                   enum history_what what)
{
    return (struct history_event){.time_us = time_us,
                                  .source = {role, number},
                                  .what = what,
                                  .call = HISTORY_NONE,
                                  .lease_ms = HISTORY_NONE,
                                  .wait_ms = HISTORY_NONE,
                                  .due_us = HISTORY_NONE,
                                  .max_hold_ms = HISTORY_NONE,
                                  .until_us = HISTORY_NONE,
                                  .count = HISTORY_NONE,
                                  .n = HISTORY_NONE,
                                  .token = HISTORY_NONE,
                                  .master = HISTORY_NONE,
                                  .ppm = HISTORY_NONE,
                                  .step_us = HISTORY_NONE};
}

struct history_text history_text(const char *string)
{
    return (struct history_text){string, strlen(string)};
}

/* ---- headers ---- */

void history_header_init(struct history_header *header)
{
    *header = (struct history_header){.wake_ms = HISTORY_NONE,
                                      .look_ms = HISTORY_NONE,
                                      .settle_ms = HISTORY_NONE,
                                      .tell_ms = HISTORY_NONE,
                                      .cause_ms = HISTORY_NONE,
                                      .repeat_ms = HISTORY_NONE,
                                      .answer_ms = 1000,
                                      .belief = 50,
                                      .passed = 1000,
                                      .ppm = 10000,
                                      .judged = UINT32_MAX};
}

/* "17" is P1 and P7, and so is "1, 7"; "0" is P10. "P12" is P12 alone. */
static uint32_t properties(const char *text)
{
    uint32_t judged = 0;
    char *end;

    while (*text) {
        if (*text == 'P' && text[1] >= '0' && text[1] <= '9') {
            unsigned long number = strtoul(text + 1, &end, 10);

            judged |= number < 32 ? 1u << number : 0;
            text = end;
            continue;
        }
        if (*text >= '0' && *text <= '9')
            judged |= 1u << (*text == '0' ? 10 : *text - '0');
        text++;
    }
    return judged;
}

static int64_t bound(const char *digits, int64_t most)
{
    int64_t n = strtoll(digits, NULL, 10);

    return n < most ? n : most;
}

void history_header_read(struct history_header *header, const char *line,
                         size_t len)
{
    char text[128], name[32];
    int at = 0;
    const struct {
        const char *name;
        int64_t *to, most;
    } bounds[] = {{"wake_ms", &header->wake_ms, HISTORY_BOUND_MAX},
                  {"look_ms", &header->look_ms, HISTORY_BOUND_MAX},
                  {"settle_ms", &header->settle_ms, HISTORY_BOUND_MAX},
                  {"tell_ms", &header->tell_ms, HISTORY_BOUND_MAX},
                  {"slack_ms", &header->slack_ms, HISTORY_BOUND_MAX},
                  {"cause_ms", &header->cause_ms, HISTORY_BOUND_MAX},
                  {"answer_ms", &header->answer_ms, HISTORY_BOUND_MAX},
                  {"belief", &header->belief, 100},
                  {"passed", &header->passed, HISTORY_BOUND_MAX},
                  {"repeat_ms", &header->repeat_ms, HISTORY_BOUND_MAX},
                  {"ppm", &header->ppm, 1000000}};

    snprintf(text, sizeof text, "%.*s", (int)(len < 127 ? len : 127), line);
    if (sscanf(text, "# %31s %n", name, &at) != 1 || at == 0)
        return;
    if (strcmp(name, "judge") == 0 &&
        (text[at] == 'P' || (text[at] >= '0' && text[at] <= '9')))
        header->judged = properties(text + at);
    if (text[at] < '0' || text[at] > '9')
        return;
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++)
        if (strcmp(name, bounds[i].name) == 0)
            *bounds[i].to = bound(text + at, bounds[i].most);
}

/* ---- reading ---- */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* In place: what is decoded is never longer. False: "%" without two digits. */
static bool decode(struct history_text *text)
{
    char *at = (char *)text->at, *to;

    if (!(to = memchr(at, '%', text->len)))
        return true;
    for (char *from = to, *end = at + text->len; from < end; from++) {
        if (*from != '%') {
            *to++ = *from;
            continue;
        }
        if (end - from < 3 || hex_digit(from[1]) < 0 || hex_digit(from[2]) < 0)
            return false;
        *to++ = (char)(hex_digit(from[1]) * 16 + hex_digit(from[2]));
        from += 2;
    }
    text->len = (size_t)(to - at);
    return true;
}

static bool read_number_to(struct history_text text, uint64_t max, int64_t *out)
{
    uint64_t n = 0;
    bool is_negative = text.len > 1 && text.at[0] == '-';

    if (text.len == 5 && memcmp(text.at, "never", 5) == 0) {
        *out = HISTORY_NEVER;
        return true;
    }
    for (size_t i = is_negative; i < text.len; i++) {
        if (text.at[i] < '0' || text.at[i] > '9')
            return false;
        if (n > (max - (uint64_t)(text.at[i] - '0')) / 10)
            return false;
        n = n * 10 + (uint64_t)(text.at[i] - '0');
    }
    *out = is_negative ? -(int64_t)n : (int64_t)n;
    return text.len > 0;
}

static bool read_number(struct history_text text, int64_t *out)
{
    return read_number_to(text, HISTORY_NUMBER_MAX, out);
}

static int64_t cut_off(int64_t ms)
{
    if (ms > HISTORY_BOUND_MAX)
        return HISTORY_BOUND_MAX;
    return ms < -HISTORY_BOUND_MAX ? -HISTORY_BOUND_MAX : ms;
}

static bool read_millis(struct history_text text, int64_t *out)
{
    int64_t ms;

    if (!read_number(text, &ms))
        return false;
    *out = cut_off(ms);
    return true;
}

static bool read_source(struct history_text text, struct history_source *out)
{
    int64_t number = 0;

    if (text.len == 0 || !memchr("csw", text.at[0], 3) ||
        (text.len > 1 &&
         !read_number((struct history_text){text.at + 1, text.len - 1},
                      &number)) ||
        number < 0 || number > UINT32_MAX)
        return false;
    *out = (struct history_source){text.at[0], (uint32_t)number};
    return true;
}

/* Its place in the table; 0: it is not there. */
static int find_word(unsigned table, struct history_text text)
{
    for (unsigned i = 1; i < words[table].count; i++)
        if (strlen(words[table].at[i]) == text.len &&
            memcmp(words[table].at[i], text.at, text.len) == 0)
            return (int)i;
    return 0;
}

/* The line's next piece without spaces; empty at its end. */
static struct history_text next_piece(char **at, const char *end)
{
    struct history_text piece;
    char *space;

    while (*at < end && **at == ' ')
        ++*at;
    space = memchr(*at, ' ', (size_t)(end - *at));
    piece = (struct history_text){*at, (size_t)((space ? space : end) - *at)};
    *at += piece.len;
    return piece;
}

static const struct key *find_key(const char *name, size_t len)
{
    for (size_t i = 0; i < KEYS; i++)
        if (keys[i].len == len && memcmp(keys[i].name, name, len) == 0)
            return &keys[i];
    return NULL;
}

/* The value's place in its table, or 0. */
static int read_word(struct history_event *out, unsigned table,
                     struct history_text text)
{
    int word = find_word(table, text);

    if (!word && !out->ignored.at)
        out->ignored = text;
    return word;
}

static const char *read_pair(struct history_event *out,
                             struct history_text pair)
{
    const char *equals = memchr(pair.at, '=', pair.len);
    const struct key *key;
    struct history_text text;

    if (!equals)
        return "a word that is no key=value";
    if (!(key = find_key(pair.at, (size_t)(equals - pair.at)))) {
        if (!out->ignored.at)
            out->ignored = pair;
        return NULL;
    }
    text.at = equals + 1;
    text.len = pair.len - (size_t)(text.at - pair.at);
    if (!decode(&text))
        return "a % without two hexadecimal digits";
    switch (key->type) {
    case TEXT:
        *(struct history_text *)member(key, out) = text;
        return NULL;
    case NUMBER:
        return read_number(text, member(key, out)) ? NULL : "no number";
    case ID:
        return read_number_to(text, INT64_MAX - 1, member(key, out)) ? NULL
                                                                     : "no number";
    case MILLIS:
        return read_millis(text, member(key, out)) ? NULL : "no number";
    case SOURCE:
        return read_source(text, member(key, out)) ? NULL : "no source";
    default:
        *(int *)member(key, out) = read_word(out, key->words, text);
        return NULL;
    }
}

const char *history_read(struct history_event *out, char *line, size_t len)
{
    const char *end = line + len, *wrong;
    struct history_text piece;

    static_assert(sizeof(enum history_kind) == sizeof(int), "words are ints");
    *out = history_event(0, 0, 0, HISTORY_OTHER);
    if (!read_number(next_piece(&line, end), &out->time_us))
        return "a line begins with its time";
    if (!read_source(next_piece(&line, end), &out->source))
        return "a source is c, s or w and a number";
    if ((piece = next_piece(&line, end)).len == 0)
        return "a line without an event";
    out->what = (enum history_what)read_word(out, EVENTS, piece);
    while ((piece = next_piece(&line, end)).len > 0)
        if ((wrong = read_pair(out, piece)))
            return wrong;
    return NULL;
}

/* ---- writing ---- */

struct output {
    char *at;
    char *end;                  /* `at` stays there once there is no room */
};

static void put(struct output *o, const char *bytes, size_t len)
{
    if ((size_t)(o->end - o->at) <= len) {
        o->at = o->end;
        return;
    }
    memcpy(o->at, bytes, len);
    o->at += len;
}

static void put_number(struct output *o, int64_t n)
{
    char text[24];

    if (n == HISTORY_NEVER)
        put(o, "never", 5);
    else
        put(o, text, (size_t)snprintf(text, sizeof text, "%lld", (long long)n));
}

static void put_text(struct output *o, struct history_text text)
{
    char code[4];

    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.at[i];

        if (c <= ' ' || c == '%' || c == '=' || c == 0x7f) {
            snprintf(code, sizeof code, "%%%02X", c);
            put(o, code, 3);
        } else {
            put(o, text.at + i, 1);
        }
    }
}

static void put_source(struct output *o, struct history_source source)
{
    put(o, &source.role, 1);
    if (source.number > 0)
        put_number(o, source.number);
}

static bool is_there(const struct key *key, const struct history_event *event)
{
    switch (key->type) {
    case TEXT:
        return ((const struct history_text *)value(key, event))->at;
    case NUMBER:
    case ID:
    case MILLIS:
        return *(const int64_t *)value(key, event) != HISTORY_NONE;
    case SOURCE:
        return ((const struct history_source *)value(key, event))->role;
    default:
        return *(const int *)value(key, event) != 0;
    }
}

static void put_value(struct output *o, const struct key *key,
                      const struct history_event *event)
{
    const char *word;

    switch (key->type) {
    case TEXT:
        put_text(o, *(const struct history_text *)value(key, event));
        return;
    case NUMBER:
    case ID:
    case MILLIS:
        put_number(o, *(const int64_t *)value(key, event));
        return;
    case SOURCE:
        put_source(o, *(const struct history_source *)value(key, event));
        return;
    default:
        word = words[key->words].at[*(const int *)value(key, event)];
        put(o, word, strlen(word));
    }
}

size_t history_write(const struct history_event *event, char *dst, size_t size)
{
    struct output o = {dst, dst + size};

    assert(event->what != HISTORY_OTHER && size > 0);
    put_number(&o, event->time_us);
    put(&o, " ", 1);
    put_source(&o, event->source);
    put(&o, " ", 1);
    put(&o, events[event->what], strlen(events[event->what]));
    for (const struct key *key = keys; key < keys + KEYS; key++) {
        if (!is_there(key, event))
            continue;
        put(&o, " ", 1);
        put(&o, key->name, key->len);
        put(&o, "=", 1);
        put_value(&o, key, event);
    }
    put(&o, "\n", 2);
    return o.at == o.end ? 0 : (size_t)(o.at - dst) - 1;
}
