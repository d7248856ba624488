/* The ways of running a vector. Each says whether the answer is what it is when
 * the vector comes whole; what that must be, the file says. An answer is text
 * (the values, then how it ended), so that two of them are compared by
 * strcmp. */
#include <locale.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/vectors/vectors.h"

/* Freed memory back to the system, so that what is asked for next is seen. */
#ifdef __GLIBC__
#include <malloc.h>
static void give_back(void)
{
    malloc_trim(0);
}
#else
static void give_back(void)
{
}
#endif

/* A vector longer than this is cut at some places, not at all of them. */
#define CUT_EVERYWHERE_MAX 2048
#define SAMPLED_CUTS 48
/* Bytes of a long vector's pieces where others are fed one by one. */
#define LONG_PIECE 61
#define NEIGHBOURS 12

/* ---- pieces ---- */

/* Bytes, cut at these places, each piece in a place of exactly its size. */
struct feed {
    const char *bytes;
    size_t len;
    const size_t *cuts;    /* ascending */
    size_t count;
    bool at_page;          /* each ends at a page that faults, else in a block
                              of the heap */
    size_t base;           /* the byte from which an offset is counted */
};

char *vec_page_end(unsigned area, size_t len)
{
    static char *areas[VEC_AREAS];
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *at = areas[area];

    if (!at) {
        at = mmap(NULL, VEC_PAGE_ROOM + page, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (at == MAP_FAILED ||
            mprotect(at + VEC_PAGE_ROOM, page, PROT_NONE) < 0)
            abort();
        areas[area] = at;
    }
    if (len > VEC_PAGE_ROOM)
        abort();
    return at + VEC_PAGE_ROOM - len;
}

static struct vec_piece *cut(const struct feed *f)
{
    struct vec_piece *pieces = vec_alloc(NULL,
                                         (f->count + 1) * sizeof *pieces);
    size_t start = 0;

    for (size_t i = 0; i <= f->count; i++) {
        size_t end = i < f->count ? f->cuts[i] : f->len, len = end - start;
        char *copy = f->at_page ? vec_page_end((unsigned)i, len)
                                : vec_alloc(NULL, len);

        memcpy(copy, f->bytes + start, len);
        pieces[i] = (struct vec_piece){copy, len};
        start = end;
    }
    return pieces;
}

static void uncut(const struct feed *f, struct vec_piece *pieces)
{
    for (size_t i = 0; i <= f->count && !f->at_page; i++)
        free((void *)(uintptr_t)pieces[i].ptr);
    free(pieces);
}

static struct feed whole(const struct vec_vector *v)
{
    return (struct feed){.bytes = v->bytes, .len = v->len};
}

/* ---- answers ---- */

static bool is_error(const struct vec_answer *a)
{
    return a->verdict == VEC_PROTOCOL || a->verdict == VEC_LIMIT ||
           a->verdict == VEC_REJECT;
}

static bool begins_with(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static void put_end(FILE *out, const struct vec_answer *a, size_t base)
{
    static const char *const names[] = {
        [VEC_ACCEPT] = "accept",          [VEC_INCOMPLETE] = "incomplete",
        [VEC_PROTOCOL] = "reject protocol", [VEC_LIMIT] = "reject limit",
        [VEC_REJECT] = "reject",          [VEC_FAILED] = "no answer",
    };

    fputs(names[a->verdict], out);
    if (is_error(a) && a->offset != VEC_UNKNOWN)
        fprintf(out, " at %zu", a->offset - base);
    if (*a->reason)
        fprintf(out, " (%s)", a->reason);
    fputc('\n', out);
}

/* The caller frees it. */
static char *ask(const struct vec_trial *t, const struct feed *f,
                 struct vec_answer *a)
{
    struct vec_piece *pieces = cut(f);
    char *text;
    size_t len;
    FILE *values = open_memstream(&text, &len);

    *a = t->adapter(pieces, f->count + 1, t->vector->protocol, values);
    put_end(values, a, f->base);
    fclose(values);
    uncut(f, pieces);
    return text;
}

/* The last line: how it ended. */
static const char *end_of(const char *text)
{
    const char *at = text + strlen(text) - 1;

    while (at > text && at[-1] != '\n')
        at--;
    return at;
}

static bool is_accepted(const char *text)
{
    return strcmp(end_of(text), "accept\n") == 0;
}

/* ---- what deviates, in words ---- */

#define SHORT_MAX 100

/* On one line, cut where it is long. */
static void put_short(FILE *out, const char *text)
{
    size_t len = strlen(text), i;

    len -= len > 0 && text[len - 1] == '\n';
    for (i = 0; i < len && i < SHORT_MAX; i++) {
        if (text[i] == '\n')
            fputs(" ;;", out);
        fputc(text[i] == '\n' ? ' ' : text[i], out);
    }
    fputs(i < len ? "..." : "", out);
}

/* `where`: at what place, or "". */
static enum vec_outcome deviates(struct vec_trial *t, const char *where,
                                 const char *got, const char *want)
{
    FILE *why = fmemopen(t->why, sizeof t->why - 1, "w");

    fputs(where, why);
    put_short(why, got);
    fputs(", not ", why);
    put_short(why, want);
    fclose(why);
    t->why[sizeof t->why - 1] = '\0';
    return VEC_DEVIATES;
}

static void name_pieces(char *name, size_t room, const struct feed *f)
{
    *name = '\0';
    if (f->count)
        snprintf(name, room, "in %zu pieces, the first of %zu bytes: ",
                 f->count + 1, f->cuts[0]);
}

/* Is the answer to this feed that to the whole vector? */
static enum vec_outcome compare(struct vec_trial *t, const struct feed *f)
{
    enum vec_outcome outcome = VEC_KEPT;
    struct vec_answer a;
    char *got = ask(t, f, &a), pieces[80];

    name_pieces(pieces, sizeof pieces, f);
    if (strcmp(got, t->want) != 0)
        outcome = deviates(t, pieces, got, t->want);
    free(got);
    return outcome;
}

/* ---- whole ---- */

static bool is_good(const struct vec_vector *v)
{
    return strcmp(v->verdict, "accept") == 0;
}

static bool is_right(const struct vec_vector *v, const char *got,
                     const struct vec_answer *a)
{
    if (is_good(v))
        return a->verdict == VEC_ACCEPT && begins_with(got, v->expected) &&
               end_of(got) == got + strlen(v->expected);
    if (strcmp(v->verdict, "incomplete") == 0)
        return a->verdict == VEC_INCOMPLETE && end_of(got) == got;
    return a->verdict == VEC_REJECT ||
           a->verdict == (*v->expected == 'l' ? VEC_LIMIT : VEC_PROTOCOL);
}

static enum vec_outcome in_one(struct vec_trial *t)
{
    const struct feed f = whole(t->vector);
    enum vec_outcome outcome = VEC_KEPT;
    struct vec_answer a;
    const struct vec_vector *v = t->vector;
    char *got = ask(t, &f, &a);

    if (!is_right(v, got, &a))
        outcome = deviates(t, "", got, is_good(v) ? v->expected : v->verdict);
    free(got);
    return outcome;
}

char *vec_ask(vec_adapter *adapter, const struct vec_vector *v)
{
    const struct vec_trial t = {.vector = v, .adapter = adapter};
    const struct feed f = whole(v);
    struct vec_answer unused;

    return ask(&t, &f, &unused);
}

/* ---- cuts ---- */

/* How far the next place to be tried is from the last. */
static size_t step(size_t len)
{
    return len <= CUT_EVERYWHERE_MAX ? 1 : len / SAMPLED_CUTS;
}

static enum vec_outcome cut_once(struct vec_trial *t, bool at_page)
{
    struct feed f = whole(t->vector);
    enum vec_outcome outcome = VEC_KEPT;
    size_t at = 0;

    f.cuts = &at;
    f.count = 1;
    f.at_page = at_page;
    for (; at <= f.len && outcome == VEC_KEPT; at += step(f.len))
        outcome = compare(t, &f);
    return outcome;
}

/* Random places, the same for a vector in each run. */
static enum vec_outcome cut_twice(struct vec_trial *t, bool at_page)
{
    struct feed f = whole(t->vector);
    enum vec_outcome outcome = VEC_KEPT;
    size_t cuts[2];

    f.cuts = cuts;
    f.count = 2;
    f.at_page = at_page;
    srand((unsigned)(t->vector - t->file->vectors));
    for (int i = 0; i < SAMPLED_CUTS && outcome == VEC_KEPT; i++) {
        cuts[1] = (size_t)rand() % (f.len + 1);
        cuts[0] = (size_t)rand() % (cuts[1] + 1);
        outcome = compare(t, &f);
    }
    return outcome;
}

static enum vec_outcome in_two(struct vec_trial *t)
{
    return cut_once(t, false);
}

static enum vec_outcome in_three(struct vec_trial *t)
{
    return cut_twice(t, false);
}

static enum vec_outcome at_a_page(struct vec_trial *t)
{
    enum vec_outcome outcome = cut_once(t, true);

    return outcome == VEC_KEPT ? cut_twice(t, true) : outcome;
}

static enum vec_outcome byte_by_byte(struct vec_trial *t)
{
    struct feed f = whole(t->vector);
    size_t each = f.len <= CUT_EVERYWHERE_MAX ? 1 : LONG_PIECE;
    size_t *cuts = vec_alloc(NULL, (f.len + 1) * sizeof *cuts);
    enum vec_outcome outcome;

    for (size_t at = 0; at <= f.len; at += each)
        cuts[f.count++] = at;
    f.cuts = cuts;
    outcome = compare(t, &f);
    free(cuts);
    return outcome;
}

/* ---- prefixes ---- */

static enum vec_outcome check_prefix(struct vec_trial *t, size_t len)
{
    const struct feed f = {.bytes = t->vector->bytes, .len = len};
    enum vec_outcome outcome = VEC_KEPT;
    struct vec_answer a;
    char *got = ask(t, &f, &a), where[40];

    snprintf(where, sizeof where, "%zu bytes: ", len);
    if ((a.verdict != VEC_ACCEPT && a.verdict != VEC_INCOMPLETE) ||
        strncmp(got, t->want, (size_t)(end_of(got) - got)) != 0)
        outcome = deviates(t, where, got, "a beginning");
    free(got);
    return outcome;
}

static enum vec_outcome beginnings(struct vec_trial *t)
{
    enum vec_outcome outcome = VEC_KEPT;
    size_t len = t->vector->len;

    if (!is_accepted(t->want))
        return VEC_NOT_ASKED;
    for (size_t i = 0; i < len && outcome == VEC_KEPT; i += step(len))
        outcome = check_prefix(t, i);
    return outcome;
}

/* ---- neighbours ---- */

static char *join(const char *a, size_t a_len, const char *b, size_t b_len)
{
    char *both = vec_alloc(NULL, a_len + b_len + 1);

    memcpy(both, a, a_len);
    memcpy(both + a_len, b, b_len);
    both[a_len + b_len] = '\0';
    return both;
}

/* The answer to `front` and then this vector is that to `front`, but for its
 * end, and then that to this vector. */
static enum vec_outcome check_behind(struct vec_trial *t,
                                     const struct vec_vector *front,
                                     const char *said)
{
    const struct vec_vector *v = t->vector;
    char *bytes = join(front->bytes, front->len, v->bytes, v->len);
    char *want = join(said, (size_t)(end_of(said) - said), t->want,
                      strlen(t->want));
    const struct feed f = {.bytes = bytes, .len = front->len + v->len,
                           .base = front->len};
    enum vec_outcome outcome = VEC_KEPT;
    struct vec_answer a;
    char *got = ask(t, &f, &a), where[60];

    snprintf(where, sizeof where, "behind %s: ", front->name);
    if (strcmp(got, want) != 0)
        outcome = deviates(t, where, got, want);
    free(got);
    free(want);
    free(bytes);
    return outcome;
}

static enum vec_outcome try_behind(struct vec_trial *t,
                                   const struct vec_vector *front)
{
    enum vec_outcome outcome = VEC_KEPT;
    char *said;

    if (front->protocol != t->vector->protocol || !is_good(front))
        return VEC_KEPT;
    said = vec_ask(t->adapter, front);
    if (is_accepted(said))
        outcome = check_behind(t, front, said);
    free(said);
    return outcome;
}

/* Behind some others; since each vector is in front of some, too, this is with
 * one in front and one behind. */
static enum vec_outcome between_others(struct vec_trial *t)
{
    const struct vec_file *file = t->file;
    size_t index = (size_t)(t->vector - file->vectors);
    enum vec_outcome outcome = VEC_KEPT;

    for (size_t i = 1; i <= NEIGHBOURS && outcome == VEC_KEPT; i++)
        outcome = try_behind(t, &file->vectors[(index + i * 7) % file->count]);
    return outcome;
}

/* ---- behind an error ---- */

/* What comes behind is long enough for a parser's fast ways, which must not
 * miss the error (RESP-CONFORMANCE A5). */
static enum vec_outcome after_an_error(struct vec_trial *t)
{
    static const char behind[] = "+OK\r\n+OK\r\n+OK\r\n+OK\r\n+OK\r\n+OK\r\n";
    const struct vec_vector *v = t->vector;
    const size_t cuts[] = {v->len, v->len + 3};
    struct feed f = {.len = v->len + sizeof behind - 1};
    enum vec_outcome outcome;
    char *bytes;

    if (!begins_with(end_of(t->want), "reject"))
        return VEC_NOT_ASKED;
    bytes = join(v->bytes, v->len, behind, sizeof behind - 1);
    f.bytes = bytes;
    f.cuts = cuts;
    for (outcome = VEC_KEPT; f.count <= 2 && outcome == VEC_KEPT; f.count++)
        outcome = compare(t, &f);
    free(bytes);
    return outcome;
}

/* ---- a decimal comma ---- */

/* A folder with a locale called `comma`, for a machine that has none of its
 * own. */
#ifndef VEC_LOCALES
#define VEC_LOCALES ""
#endif

static bool set_comma_locale(void)
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE", "fr_FR.UTF-8",
                                        "nl_NL.UTF-8", "sv_SE.UTF-8",
                                        "es_ES.UTF-8", "pt_BR.UTF-8", "comma"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(names[i], "comma") == 0)
            setenv("LOCPATH", VEC_LOCALES, 0);
        if (setlocale(LC_ALL, names[i]) &&
            *localeconv()->decimal_point == ',')
            return true;
    }
    setlocale(LC_ALL, "C");
    return false;
}

static enum vec_outcome with_a_comma(struct vec_trial *t)
{
    const struct feed f = whole(t->vector);
    enum vec_outcome outcome;

    if (!set_comma_locale())
        return VEC_NOT_ASKED;
    outcome = compare(t, &f);
    setlocale(LC_ALL, "C");
    return outcome;
}

/* ---- memory ---- */

/* What a parser may take (RESP-CONFORMANCE S2, P6): this much, and some bytes
 * for each that it was given. */
#define MEMORY_BASE ((size_t)1 << 20)
#define MEMORY_EACH 4

/* With a sanitizer a program reserves more than this many pages. */
#define PAGES_MAX ((size_t)1 << 24)

size_t vec_address_space(void)
{
    FILE *in = fopen("/proc/self/statm", "r");
    size_t pages = 0;

    if (!in)
        return 0;
    if (fscanf(in, "%zu", &pages) != 1 || pages > PAGES_MAX)
        pages = 0;
    fclose(in);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* Sets what may be used beyond what is; false if it cannot be known. */
static bool set_allowance(size_t len)
{
    struct rlimit limit;
    size_t used;

    give_back();
    used = vec_address_space();
    if (!used || getrlimit(RLIMIT_AS, &limit) < 0)
        return false;
    limit.rlim_cur = used + MEMORY_BASE + MEMORY_EACH * len;
    return setrlimit(RLIMIT_AS, &limit) == 0;
}

/* The values go nowhere: they are not the parser's memory. */
static struct vec_answer ask_for_the_end(struct vec_trial *t)
{
    static char buffer[4096];
    FILE *nowhere = fopen("/dev/null", "w");
    const struct feed f = whole(t->vector);
    struct vec_piece *pieces = cut(&f);
    struct vec_answer a = {.verdict = VEC_FAILED};
    struct rlimit before;

    setvbuf(nowhere, buffer, _IOFBF, sizeof buffer);
    getrlimit(RLIMIT_AS, &before);
    if (set_allowance(f.len))
        a = t->adapter(pieces, 1, t->vector->protocol, nowhere);
    setrlimit(RLIMIT_AS, &before);
    fclose(nowhere);
    uncut(&f, pieces);
    return a;
}

static enum vec_outcome in_little_memory(struct vec_trial *t)
{
    char end[256];
    FILE *out;
    struct vec_answer a;

    if (!vec_address_space())
        return VEC_NOT_ASKED;
    out = fmemopen(end, sizeof end, "w");
    a = ask_for_the_end(t);
    put_end(out, &a, 0);
    fclose(out);
    return strcmp(end, end_of(t->want)) == 0
               ? VEC_KEPT
               : deviates(t, "", end, end_of(t->want));
}

const struct vec_way vec_ways[VEC_WAYS] = {
    [VEC_WHOLE] = {"whole", "the answer is what the file says", in_one},
    [VEC_BYTES] = {"bytes", "the same byte by byte", byte_by_byte},
    [VEC_TWO] = {"two", "the same wherever it is cut in two", in_two},
    [VEC_THREE] = {"three", "the same cut in three at random", in_three},
    [VEC_PAGE] = {"page", "nothing is read behind the end", at_a_page},
    [VEC_PREFIX] = {"prefix", "no beginning of it is refused", beginnings},
    [VEC_BETWEEN] = {"between", "the same with others around", between_others},
    [VEC_AFTER] = {"after", "an error stays whatever comes", after_an_error},
    [VEC_COMMA] = {"comma", "the same with a decimal comma", with_a_comma},
    [VEC_MEMORY] = {"memory", "memory follows bytes", in_little_memory},
};
