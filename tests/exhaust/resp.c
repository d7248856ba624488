/* The parser of RESP, exhaustively: every string of a few bytes, whole, byte by
 * byte, and in two pieces at every cut, against its slow and simple twin
 * (tests/support/resp_twin.h): the same values, the same errors in the same
 * places, the same number of bytes taken.
 *
 *     resp check          up to 4 bytes in each mode, 2 behind each opening:
 *                         seconds
 *     resp full [PART PARTS]   up to 6 bytes; 5 in the modes that refuse more,
 *                         4 behind each opening: minutes
 *     resp LENGTH [PART PARTS] up to so many everywhere; 7: hours
 *
 * PART of PARTS (from 0) takes some of the first bytes, so that several
 * processes share the work.
 *
 * Strings that begin alike share their beginning: what the parser is after it
 * was fed once, it is copied. A string that begins with one that is refused is
 * fed all the same, for a parser that looks ahead may take it for another. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/must.h"
#include "tests/support/resp_twin.h"

#define LENGTH_MAX 8
#define OPENING_MAX 24
#define CLOSING_MAX 32
#define BYTES_MAX (OPENING_MAX + LENGTH_MAX + CLOSING_MAX)
#define NODES_MAX (BYTES_MAX / 3 + 1)
/* The longest strings behind which the closings are tried, too. */
#define CLOSED_MAX 3

/* All that the grammar knows: the types of RESP2 and RESP3, the chunk and the
 * end of what is streamed, CR and LF, "?", the digits that make a length (0: of
 * nothing, 1 and 2: what fits into the string, 9: more than that), the letters
 * of t, f, inf, nan and of an exponent; - + . : stand among the types. Any other
 * byte is to the parser as a letter in the wrong place. */
static const char alphabet[] = "+-:$*_#,(!=~%>|;.?\r\n0129tfinae";
#define LETTERS ((int)sizeof alphabet - 1)

static const struct hf_resp_limits small = {
    .depth = 1, .line = 2, .bulk = 1, .elements = 2, .reply = 11};

static const struct mode {
    const char *name;
    const struct hf_resp_limits *limits;
    int protocol;
    bool strict;
    size_t length;              /* with "full" */
} modes[] = {
    {"RESP3", &hf_resp_default_limits, 3, false, 6},
    {"RESP3, strict", &hf_resp_default_limits, 3, true, 5},
    {"RESP3, small limits", &small, 3, false, 5},
    {"RESP2", &hf_resp_default_limits, 2, false, 5},
};
#define MODES ((int)(sizeof modes / sizeof *modes))

/* What stands before each string: a few bytes alone do not reach what is inside
 * of an aggregate, or the limits of numbers. "" is the first. */
static const char *const openings[] = {
    "", "*1\r\n", "*2\r\n:1\r\n", "*1\r\n*2\r\n", "%1\r\n+k\r\n",
    "|1\r\n+k\r\n:1\r\n", "*1\r\n|1\r\n+k\r\n", ">1\r\n", "$?\r\n",
    "$?\r\n;1\r\na\r\n", "*?\r\n", "*?\r\n*?\r\n", "%?\r\n",
    "*?\r\n*1\r\n", "*?\r\n*?\r\n.\r\n", "*0\r\n*0\r",
    "%?\r\n+k\r\n", "~?\r\n$?\r\n", "$2\r\n", "=4\r\n", "=5\r\ntxt:", "!1\r\n",
    ":92233720368547758", ":-92233720368547758", "$429496729",
    "$1844674407370955161", "*429496729", ":1234567", ",1", ",1e", ",in",
    ",-", "+OK\r\n", "+OK"};
#define OPENINGS (sizeof openings / sizeof *openings)

/* What stands behind it: a parser has faster ways where more bytes are at
 * hand. */
static const char *const closings[] = {
    "\r\n+OK\r\n:12345678\r\n$1\r\nx\r\n", "+OK\r\n:-1\r\n*1\r\n$2\r\nab\r\n"};
#define CLOSINGS (sizeof closings / sizeof *closings)

/* A parser that was fed, and what it has said. */
struct run {
    struct hf_resp_parser parser;
    uint32_t count;             /* nodes of whole values */
    uint32_t used;              /* with the parser's own */
    uint32_t end;               /* bytes of whole values */
    hf_status status;
    struct hf_resp_node nodes[NODES_MAX];
};

static struct input in;         /* the string behind its opening; the mode */
static char bytes[BYTES_MAX];
static size_t opening;          /* bytes of it */
static size_t most;             /* bytes with it */
static int part, parts = 1;
/* Of the first so many bytes: */
static struct run whole[BYTES_MAX + 1];
static struct run bytewise[BYTES_MAX + 1];
static size_t due[BYTES_MAX + 1]; /* no value is whole before, it said */
static uint64_t strings, refused, feeds;

/* ---- the parser ---- */

static void copy(struct run *to, const struct run *from)
{
    memcpy(to, from,
           offsetof(struct run, nodes) + from->used * sizeof *from->nodes);
}

static void begin(struct run *r)
{
    r->count = r->used = r->end = 0;
    hf_resp_init(&r->parser, &in.limits, in.protocol);
    hf_resp_set_strict(&r->parser, in.strict);
    r->status = HF_RESP_MORE;
}

/* All bytes up to `len`. */
static void feed(struct run *r, size_t len)
{
    struct hf_resp_tape tape = {r->nodes, r->used, NODES_MAX};

    feeds++;
    while ((r->status = hf_resp_parse(&r->parser, bytes, len, &tape)) ==
           HF_OK) {
        r->count = tape.count;
        r->end = r->parser.pos;
    }
    r->used = tape.count;
}

/* ---- is it what the twin says? ---- */

static bool is_same_node(const struct hf_resp_node *a,
                         const struct hf_resp_node *b)
{
    if (a->type != b->type || a->flag != b->flag || a->before != b->before ||
        a->skip != b->skip)
        return false;
    switch (a->type) {
    case HF_RESP_NULL:
    case HF_RESP_BOOLEAN:
        return true;
    case HF_RESP_INTEGER:
        return a->as.integer == b->as.integer;
    case HF_RESP_STREAM:
    case HF_RESP_ARRAY:
    case HF_RESP_SET:
    case HF_RESP_MAP:
    case HF_RESP_PUSH:
    case HF_RESP_ATTRIBUTE:
        return a->as.children.count == b->as.children.count;
    default:
        return a->as.bytes.offset == b->as.bytes.offset &&
               a->as.bytes.length == b->as.bytes.length;
    }
}

static bool is_same(const struct run *got, const struct reading *want)
{
    if (got->status != want->status || got->count != want->count ||
        got->end != want->end)
        return false;
    if (got->status < 0 && want->error_at != ANY_PLACE &&
        got->parser.error.offset != want->error_at)
        return false;
    for (uint32_t i = 0; i < got->count; i++)
        if (!is_same_node(&got->nodes[i], &want->nodes[i]))
            return false;
    return true;
}

static void fail(const char *what, size_t cut)
{
    printf("not ok 1 - tests/exhaust:after %llu strings:%s, cut at %zu: \"",
           (unsigned long long)strings, what, cut);
    for (size_t i = 0; i < in.len; i++)
        if (bytes[i] == '\r' || bytes[i] == '\n')
            fputs(bytes[i] == '\r' ? "\\r" : "\\n", stdout);
        else
            putchar(bytes[i]);
    printf("\"\n");
    exit(1);
}

static void check(const struct run *got, const struct reading *want, size_t cut)
{
    if (!is_same(got, want))
        fail("not as the twin", cut);
}

/* What hf_resp_wanted said of the beginnings of a value that is whole now. */
static void check_due(size_t begin, size_t end)
{
    for (size_t at = begin; at < end; at++)
        if (due[at] > end)
            fail("less was wanted", at);
}

/* ---- one string ---- */

/* In two pieces, of which the first is not refused. */
static void check_cuts(const struct reading *want, size_t cuts)
{
    for (size_t cut = 1; cut < cuts; cut++) {
        struct run r;

        copy(&r, &whole[cut]);
        feed(&r, in.len);
        check(&r, want, cut);
    }
}

static void check_whole(const struct reading *want)
{
    struct run *r = &whole[in.len];

    begin(r);
    feed(r, in.len);
    check(r, want, 0);
}

static void check_bytewise(const struct reading *want)
{
    struct run *r = &bytewise[in.len];

    copy(r, &bytewise[in.len - 1]);
    feed(r, in.len);
    check(r, want, in.len - 1);
    if (r->end > bytewise[in.len - 1].end)
        check_due(bytewise[in.len - 1].end, r->end);
    if (r->status == HF_RESP_MORE)
        due[in.len] = in.len + hf_resp_wanted(&r->parser, in.len);
}

/* With more behind it, at once and in its turn. */
static void check_closed(const char *closing)
{
    size_t len = in.len;
    struct reading want;
    struct run r;

    memcpy(bytes + len, closing, strlen(closing));
    in.len = len + strlen(closing);
    want = reading_of_twin(&in);
    begin(&r);
    feed(&r, in.len);
    check(&r, &want, 0);
    copy(&r, &whole[len]);
    feed(&r, in.len);
    check(&r, &want, len);
    reading_fini(&want);
    in.len = len;
}

/* ---- all strings ---- */

static void extend_refused(const struct reading *want, size_t live);

/* Strings whose first `live` bytes are not refused, and with one more are. */
static void check_refused(const struct reading *want, size_t live)
{
    struct run r;

    strings++;
    refused++;
    begin(&r);
    feed(&r, in.len);
    check(&r, want, 0);
    check_cuts(want, live + 1);
    extend_refused(want, live);
}

static void extend_refused(const struct reading *want, size_t live)
{
    if (in.len == most)
        return;
    in.len++;
    for (int i = 0; i < LETTERS; i++) {
        bytes[in.len - 1] = alphabet[i];
        check_refused(want, live);
    }
    in.len--;
}

/* True: it goes on. */
static bool check_string(struct reading *twin)
{
    *twin = reading_of_twin(&in);
    strings++;
    check_whole(twin);
    check_cuts(twin, in.len);
    check_bytewise(twin);
    for (size_t i = 0; i < CLOSINGS && in.len - opening <= CLOSED_MAX; i++)
        check_closed(closings[i]);
    return twin->status == HF_RESP_MORE;
}

static void extend(void)
{
    struct reading twin;

    if (in.len == most)
        return;
    in.len++;
    for (int i = 0; i < LETTERS; i++) {
        if (in.len == opening + 1 && i % parts != part)
            continue;
        bytes[in.len - 1] = alphabet[i];
        if (check_string(&twin)) {
            extend();
        } else {
            refused++;
            extend_refused(&twin, in.len - 1);
        }
        reading_fini(&twin);
    }
    in.len--;
}

/* ---- modes ---- */

static void begin_mode(const struct mode *mode)
{
    in = (struct input){.bytes = bytes,
                        .limits = *mode->limits,
                        .protocol = mode->protocol,
                        .strict = mode->strict};
    strings = refused = feeds = 0;
    begin(&whole[0]);
    begin(&bytewise[0]);
    due[0] = hf_resp_wanted(&bytewise[0].parser, 0);
}

/* Some are refused in some modes. */
static void try_opening(const char *text, size_t bytes_max)
{
    struct reading twin;
    bool goes_on = true;

    opening = strlen(text);
    memcpy(bytes, text, opening);
    for (in.len = 1; goes_on && in.len <= opening; in.len++) {
        goes_on = check_string(&twin);
        reading_fini(&twin);
    }
    if (!goes_on)
        return;
    in.len = opening;
    most = opening + bytes_max;
    extend();
}

static void try_mode(const struct mode *mode, size_t bytes_max,
                     size_t behind_max)
{
    begin_mode(mode);
    try_opening(openings[0], bytes_max);
    for (size_t i = 1; i < OPENINGS; i++)
        try_opening(openings[i], behind_max);
    printf("%s, %zu bytes of %d letters, %zu behind %zu openings: "
           "%llu strings, %llu refused, fed %llu times\n",
           mode->name, bytes_max, LETTERS, behind_max, OPENINGS - 1,
           (unsigned long long)strings, (unsigned long long)refused,
           (unsigned long long)feeds);
    fflush(stdout);
}

static int usage(void)
{
    fprintf(stderr, "usage: resp check|full|LENGTH [PART PARTS]; LENGTH is 1 "
                    "to %d\n", LENGTH_MAX);
    return 2;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "check";
    bool is_full = strcmp(how, "full") == 0;
    bool is_check = strcmp(how, "check") == 0;
    int length = is_check ? 4 : atoi(how);

    if (argc == 4) {
        part = atoi(argv[2]);
        parts = atoi(argv[3]);
    }
    if ((!is_full && (length < 1 || length > LENGTH_MAX)) || parts < 1)
        return usage();
    for (int i = 0; i < MODES; i++)
        try_mode(&modes[i], is_full ? modes[i].length : (size_t)length,
                 is_full ? 4 : is_check ? 2 : (size_t)length);
    return 0;
}
