/* Every line of tests/vectors/resp.txt, fed in every way that a network, a
 * caller and an allocator can make up. A run's answer is written out as text
 * (the values, and how it ended), so that two runs are compared by strcmp. */
#include <check.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "resp/resp.h"

#ifndef HF_VECTORS
#define HF_VECTORS "tests/vectors/resp.txt"
#endif

/* A vector longer than this is cut at some places, not at all of them. */
#define CUT_EVERYWHERE_MAX 2048
#define SAMPLED_CUTS 48

struct vector {
    char *name;
    char *verdict;
    char *expected;
    char *bytes;
    size_t len;
    int protocol;
};

static struct vector *vectors;
static int vector_count;

/* ---- the file ---- */

static void *grown(void *ptr, size_t size)
{
    ptr = realloc(ptr, size);
    if (!ptr)
        abort();
    return ptr;
}

/* One byte as the file spells it; returns the character behind it. */
static const char *take_byte(const char *at, char *byte)
{
    static const char letters[] = "rnsp\\", bytes[] = "\r\n |\\";
    char hex[3];

    if (*at != '\\') {
        *byte = *at;
        return at + 1;
    }
    if (at[1] == 'x') {
        memcpy(hex, at + 2, 2);
        hex[2] = '\0';
        *byte = (char)strtol(hex, NULL, 16);
        return at + 4;
    }
    *byte = bytes[strchr(letters, at[1]) - letters];
    return at + 2;
}

/* As it stands: for `expected`, where a backslash means itself. */
static const char *take_verbatim(const char *at, char *byte)
{
    *byte = *at;
    return at + 1;
}

typedef const char *taker(const char *at, char *byte);

static void put_range(FILE *out, const char *at, const char *end, taker *take)
{
    char byte;

    while (at < end) {
        at = take(at, &byte);
        fputc(byte, out);
    }
}

/* Writes out `@{N*text}` N times; returns the character behind it. */
static const char *put_repeated(FILE *out, const char *at, taker *take)
{
    char *text;
    const char *end = strchr(at, '}');
    long n = strtol(at + 2, &text, 10);

    while (n-- > 0)
        put_range(out, text + 1, end, take);
    return end + 1;
}

static char *expand(const char *at, size_t *len, taker *take)
{
    char *text;
    FILE *out = open_memstream(&text, len);
    char byte;

    while (*at) {
        if (strncmp(at, "@{", 2) == 0) {
            at = put_repeated(out, at, take);
            continue;
        }
        at = take(at, &byte);
        fputc(byte, out);
    }
    fclose(out);
    return text;
}

static void add_vector(char **field, int protocol)
{
    struct vector v = {.protocol = protocol};
    size_t unused;

    v.name = strdup(field[0]);
    v.verdict = strdup(field[1]);
    v.bytes = expand(field[3], &v.len, take_byte);
    v.expected = expand(field[4], &unused, take_verbatim);
    vectors = grown(vectors, sizeof v * (size_t)(vector_count + 1));
    vectors[vector_count++] = v;
}

static void read_vector(char *line)
{
    char *field[5] = {line};

    for (int i = 1; i < 5; i++) {
        char *bar = strstr(field[i - 1], " | ");

        if (!bar) {
            fprintf(stderr, "%s: not a vector: %s\n", HF_VECTORS, line);
            exit(2);
        }
        *bar = '\0';
        field[i] = bar + 3;
    }
    for (const char *protocol = field[2]; *protocol; protocol++)
        add_vector(field, *protocol - '0');
}

static void read_vectors(void)
{
    FILE *in = fopen(HF_VECTORS, "r");
    char *line = NULL;
    size_t room = 0;
    ssize_t len;

    if (!in) {
        perror(HF_VECTORS);
        exit(2);
    }
    while ((len = getline(&line, &room, in)) > 0) {
        line[len - 1] = '\0';
        if (*line != '#')
            read_vector(line);
    }
    free(line);
    fclose(in);
}

/* ---- values as text ---- */

static void print_bytes(FILE *out, const char *bytes, size_t len)
{
    fputc('"', out);
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)bytes[i];

        if (c == '\r')
            fputs("\\r", out);
        else if (c == '\n')
            fputs("\\n", out);
        else if (c < ' ' || c > '~')
            fprintf(out, "\\x%02x", c);
        else
            fputc(c, out);
    }
    fputc('"', out);
}

/* The shortest text that reads back as `n`, with a point or an exponent (from
 * 1e16 up and 1e-4 down). */
static void print_double(FILE *out, double n)
{
    char text[64] = "nan";
    bool is_plain = fabs(n) >= 1e-4 && fabs(n) < 1e16;

    for (int digits = is_plain ? DBL_DIG : 1; digits < 18 && n == n; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, n);
        if (strtod(text, NULL) == n)
            break;
    }
    if (strchr(text, ','))
        *strchr(text, ',') = '.';
    fprintf(out, "dbl:%s%s", text, strpbrk(text, ".ein") ? "" : ".0");
}

static void print_text(FILE *out, const char *name, struct hf_resp_value v)
{
    size_t len;
    char *copy;

    (void)hf_resp_copy_bytes(v, NULL, 0, &len);
    copy = grown(NULL, len + 1);
    ck_assert_int_eq(hf_resp_copy_bytes(v, copy, len, &len), HF_OK);
    fprintf(out, "%s:", name);
    print_bytes(out, copy, len);
    free(copy);
}

static void print_verbatim(FILE *out, struct hf_resp_value v)
{
    const char *format;

    ck_assert_int_eq(hf_resp_verbatim_format(v, &format), HF_OK);
    fputs("verb:", out);
    print_bytes(out, format, HF_RESP_FORMAT_LEN);
    print_text(out, "", v);
}

static void print_value(FILE *out, struct hf_resp_value v);

static void print_children(FILE *out, struct hf_resp_value v)
{
    struct hf_resp_iter it = hf_resp_iter(v);
    struct hf_resp_value child;
    size_t i = 0;

    for (; hf_resp_next(&it, &child); i++) {
        fputs(i ? "," : "", out);
        print_value(out, child);
    }
    ck_assert_uint_eq(i, hf_resp_count(v));
}

static size_t print_pairs(FILE *out, struct hf_resp_value v, size_t before)
{
    struct hf_resp_iter it = hf_resp_iter(v);
    struct hf_resp_value key, value;

    for (; hf_resp_next(&it, &key) && hf_resp_next(&it, &value); before++) {
        fputs(before ? "," : "", out);
        print_value(out, key);
        fputs("=>", out);
        print_value(out, value);
    }
    return before;
}

static void print_attributes(FILE *out, struct hf_resp_value v)
{
    struct hf_resp_value map;
    size_t pairs = 0;

    if (!v.attribute)
        return;
    fputs("attr{", out);
    for (size_t i = 0; hf_resp_attributes(v, i, &map) == HF_OK; i++)
        pairs = print_pairs(out, map, pairs);
    fputs("}+", out);
}

static void print_integer(FILE *out, struct hf_resp_value v)
{
    int64_t n;

    ck_assert_int_eq(hf_resp_integer(v, &n), HF_OK);
    fprintf(out, "int:%lld", (long long)n);
}

static void print_boolean(FILE *out, struct hf_resp_value v)
{
    bool b;

    ck_assert_int_eq(hf_resp_boolean(v, &b), HF_OK);
    fputs(b ? "true" : "false", out);
}

static void print_number(FILE *out, struct hf_resp_value v)
{
    double n;

    ck_assert_int_eq(hf_resp_double(v, &n), HF_OK);
    print_double(out, n);
}

static void print_aggregate(FILE *out, struct hf_resp_value v)
{
    static const char *const names[] = {
        [HF_RESP_ARRAY] = "arr[]", [HF_RESP_SET] = "set()",
        [HF_RESP_MAP] = "map{}",   [HF_RESP_PUSH] = "push[]",
    };
    const char *name = names[hf_resp_type(v)];
    size_t len = strlen(name);

    fprintf(out, "%.*s", (int)len - 1, name);
    if (hf_resp_type(v) == HF_RESP_MAP)
        (void)print_pairs(out, v, 0);
    else
        print_children(out, v);
    fputc(name[len - 1], out);
}

static void print_value(FILE *out, struct hf_resp_value v)
{
    static const char *const texts[] = {
        [HF_RESP_SIMPLE] = "simple",      [HF_RESP_ERROR] = "err",
        [HF_RESP_BULK] = "str",           [HF_RESP_STREAM] = "str",
        [HF_RESP_BULK_ERROR] = "bulkerr", [HF_RESP_BIG] = "big",
        [HF_RESP_ATTRIBUTE] = NULL,
    };

    print_attributes(out, v);
    if (texts[hf_resp_type(v)])
        print_text(out, texts[hf_resp_type(v)], v);
    else if (hf_resp_type(v) == HF_RESP_INTEGER)
        print_integer(out, v);
    else if (hf_resp_type(v) == HF_RESP_NULL)
        fputs("null", out);
    else if (hf_resp_type(v) == HF_RESP_BOOLEAN)
        print_boolean(out, v);
    else if (hf_resp_type(v) == HF_RESP_DOUBLE)
        print_number(out, v);
    else if (hf_resp_type(v) == HF_RESP_VERBATIM)
        print_verbatim(out, v);
    else
        print_aggregate(out, v);
}

/* ---- a run ---- */

/* A tape large enough for most; with none at all, no value would ever be read
 * in the fast way. */
#define ROOM_FIRST 64

/* How bytes are fed. Zero is the plainest way: all at once, tape large. */
struct way {
    const size_t *cuts;    /* ascending; the whole length comes behind them */
    size_t count;
    bool drops;            /* hf_resp_drop after every call */
    bool is_guarded;       /* ends at an unmapped page, else at a heap block */
    bool is_tight;         /* the tape begins with `room` nodes, grows by one */
    uint32_t room;
    size_t base;           /* the byte from which an error's place is counted */
};

struct run {
    struct hf_resp_parser parser;
    struct hf_resp_tape tape;
    FILE *out;
    size_t dropped;        /* bytes, by all hf_resp_drop together */
    size_t values;
    uint32_t next;         /* tape index of the next value to be printed */
    hf_status status;
};

/* Pages followed by one that faults; made once, for the longest vector. */
#define GUARDED_SIZE ((size_t)1 << 20)
static char *guarded;

static void make_guarded(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    guarded = mmap(NULL, GUARDED_SIZE + page, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (guarded == MAP_FAILED ||
        mprotect(guarded + GUARDED_SIZE, page, PROT_NONE) < 0)
        abort();
}

/* Bytes in a place of exactly their size, another one at every call. */
static char *place(const struct way *way, const char *bytes, size_t len)
{
    char *copy = way->is_guarded ? guarded + GUARDED_SIZE - len
                                 : grown(NULL, len ? len : 1);

    return memcpy(copy, bytes, len);
}

static void unplace(const struct way *way, char *copy)
{
    if (!way->is_guarded)
        free(copy);
}

static void print_next(struct run *r, const char *buf)
{
    fputs(r->values++ ? " ;; " : "", r->out);
    print_value(r->out, hf_resp_first(&r->tape, buf, r->next));
    r->next = hf_resp_next_index(&r->tape, r->next);
    ck_assert_uint_eq(r->next, r->tape.count);
}

/* Exactly as large as asked for, so that a write behind it is seen. */
static void give_room(struct run *r, uint32_t room)
{
    r->tape.nodes = grown(r->tape.nodes,
                          (room ? room : 1) * sizeof *r->tape.nodes);
    r->tape.room = room;
}

static void parse_all(struct run *r, const struct way *way, const char *buf,
                      size_t len)
{
    do {
        r->status = hf_resp_parse(&r->parser, buf, len, &r->tape);
        if (r->status == HF_OK)
            print_next(r, buf);
        if (r->status == HF_RESP_ROOM) {
            ck_assert_uint_eq(r->tape.count, r->tape.room);
            give_room(r, way->is_tight ? r->tape.room + 1 : r->tape.room * 2);
        }
    } while (r->status == HF_OK || r->status == HF_RESP_ROOM);
}

static void drop(struct run *r)
{
    size_t bytes;

    hf_resp_drop(&r->parser, &r->tape, &bytes);
    r->dropped += bytes;
    r->next = 0;
}

static void feed(struct run *r, const struct way *way, const char *bytes,
                 size_t len)
{
    char *buf = place(way, bytes + r->dropped, len - r->dropped);

    parse_all(r, way, buf, len - r->dropped);
    if (way->drops)
        drop(r);
    unplace(way, buf);
}

static void feed_cuts(struct run *r, const struct way *way, const char *bytes,
                      size_t len)
{
    for (size_t i = 0; i < way->count; i++) {
        feed(r, way, bytes, way->cuts[i]);
    }
    feed(r, way, bytes, len);
}

static void print_end(struct run *r, size_t base)
{
    const struct hf_resp_parser *p = &r->parser;

    if (r->status == HF_RESP_MORE)
        fputs(p->pos == p->start ? " accept" : " incomplete", r->out);
    else
        fprintf(r->out, " reject %s at %zu, not %s",
                r->status == HF_E_LIMIT ? "limit" : "protocol",
                p->error.offset + r->dropped - base, p->error.expected);
}

/* The answer to bytes fed in one way; the caller frees it. */
static char *answer(const char *bytes, size_t len, int protocol,
                    const struct way *way)
{
    char *text;
    size_t text_len;
    struct run r = {.out = open_memstream(&text, &text_len)};

    hf_resp_init(&r.parser, NULL, protocol);
    give_room(&r, way->is_tight ? way->room : ROOM_FIRST);
    feed_cuts(&r, way, bytes, len);
    print_end(&r, way->base);
    fclose(r.out);
    free(r.tape.nodes);
    return text;
}

static const struct way whole;

static void check_way(const struct vector *v, const char *want,
                      const struct way *way)
{
    char *got = answer(v->bytes, v->len, v->protocol, way);

    ck_assert_msg(strcmp(got, want) == 0,
                  "%s (RESP%d), first cut %zu of %zu: %s\n  whole: %s",
                  v->name, v->protocol, way->count ? way->cuts[0] : 0,
                  way->count, got, want);
    free(got);
}

/* Fed in these pieces, dropped or not, ending at a page or in a block. */
static void check_cuts(const struct vector *v, const char *want,
                       const size_t *cuts, size_t count)
{
    for (unsigned i = 0; i < 4; i++) {
        struct way way = {cuts, count, .drops = i & 1, .is_guarded = i & 2};

        check_way(v, want, &way);
    }
}

static bool begins_with(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* ---- the promises ---- */

/* What the file says is what comes out, and nothing else. */
START_TEST(vector_has_its_verdict_and_values)
{
    const struct vector *v = &vectors[_i];
    char *got = answer(v->bytes, v->len, v->protocol, &whole);
    char want[64];

    if (strcmp(v->verdict, "accept") == 0) {
        ck_assert_msg(begins_with(got, v->expected), "%s: %s", v->name, got);
        ck_assert_str_eq(got + strlen(v->expected), " accept");
    } else if (strcmp(v->verdict, "incomplete") == 0) {
        ck_assert_msg(strcmp(got, " incomplete") == 0, "%s: %s", v->name, got);
    } else {
        snprintf(want, sizeof want, " reject %s at", v->expected);
        ck_assert_msg(strstr(got, want) != NULL, "%s: %s", v->name, got);
    }
    free(got);
}
END_TEST

/* However the network cuts, the answer is the same. A short vector is cut at
 * every place, a long one at some. */
START_TEST(answer_is_the_same_for_every_cut_in_two)
{
    const struct vector *v = &vectors[_i];
    char *want = answer(v->bytes, v->len, v->protocol, &whole);
    size_t step = v->len <= CUT_EVERYWHERE_MAX ? 1 : v->len / SAMPLED_CUTS;

    for (size_t cut = 0; cut <= v->len; cut += step)
        check_cuts(v, want, &cut, 1);
    free(want);
}
END_TEST

START_TEST(answer_is_the_same_for_random_cuts_in_three)
{
    const struct vector *v = &vectors[_i];
    char *want = answer(v->bytes, v->len, v->protocol, &whole);

    srand((unsigned)_i);
    for (int i = 0; i < SAMPLED_CUTS; i++) {
        size_t a = (size_t)rand() % (v->len + 1);
        size_t cuts[2] = {(size_t)rand() % (a + 1), a};

        check_cuts(v, want, cuts, 2);
    }
    free(want);
}
END_TEST

START_TEST(answer_is_the_same_byte_by_byte)
{
    const struct vector *v = &vectors[_i];
    char *want = answer(v->bytes, v->len, v->protocol, &whole);
    size_t step = v->len <= CUT_EVERYWHERE_MAX ? 1 : 61;
    size_t *cuts = grown(NULL, (v->len + 1) * sizeof *cuts);
    size_t count = 0;

    for (size_t cut = 0; cut <= v->len; cut += step)
        cuts[count++] = cut;
    check_cuts(v, want, cuts, count);
    free(cuts);
    free(want);
}
END_TEST

/* Parses the first `len` bytes of an accepted vector: more is wanted, and no
 * more than it has. */
static void check_prefix(const struct vector *v, size_t len)
{
    struct run r = {.out = fopen("/dev/null", "w")};

    hf_resp_init(&r.parser, NULL, v->protocol);
    give_room(&r, ROOM_FIRST);
    feed(&r, &whole, v->bytes, len);
    ck_assert_msg(r.status == HF_RESP_MORE, "%s, %zu bytes", v->name, len);
    ck_assert_uint_le(len + hf_resp_wanted(&r.parser, len), v->len);
    fclose(r.out);
    free(r.tape.nodes);
}

/* No lookahead may be mistaken for an error. */
START_TEST(prefix_of_a_good_reply_is_never_refused)
{
    const struct vector *v = &vectors[_i];
    size_t step = v->len <= CUT_EVERYWHERE_MAX ? 1 : v->len / SAMPLED_CUTS;

    if (!begins_with(v->verdict, "accept"))
        return;
    for (size_t len = 0; len < v->len; len += step)
        check_prefix(v, len);
}
END_TEST

/* Nothing is lost or doubled when the tape is too small, whatever its size. */
START_TEST(tape_may_be_full_at_any_node)
{
    const struct vector *v = &vectors[_i];
    char *want = answer(v->bytes, v->len, v->protocol, &whole);

    for (uint32_t room = 0; room < 16; room++) {
        struct way way = {.is_tight = true, .room = room};
        size_t half = v->len / 2;

        check_way(v, want, &way);
        way.cuts = &half;
        way.count = 1;
        way.drops = room & 1;
        check_way(v, want, &way);
    }
    free(want);
}
END_TEST

static char *join(const char *a, size_t a_len, const char *b, size_t b_len)
{
    char *both = grown(NULL, a_len + b_len + 1);

    memcpy(both, a, a_len);
    memcpy(both + a_len, b, b_len);
    both[a_len + b_len] = '\0';
    return both;
}

/* The answer to `v` behind `front` is that to `front`, then that to `v`. */
static void check_behind(const struct vector *front, const struct vector *v)
{
    const struct way way = {.base = front->len};
    char *alone = answer(v->bytes, v->len, v->protocol, &whole);
    const char *between = *alone == ' ' ? "" : " ;; ";
    char *bytes = join(front->bytes, front->len, v->bytes, v->len);
    char *got = answer(bytes, front->len + v->len, v->protocol, &way);
    size_t head = strlen(front->expected);

    ck_assert_msg(begins_with(got, front->expected) &&
                      begins_with(got + head, between) &&
                      strcmp(got + head + strlen(between), alone) == 0,
                  "%s, then %s: %s", front->name, v->name, got);
    free(bytes);
    free(got);
    free(alone);
}

/* No state leaks from one reply into the next. */
START_TEST(reply_in_front_changes_nothing)
{
    const struct vector *v = &vectors[_i];

    for (int i = 1; i <= 12; i++) {
        const struct vector *front = &vectors[(_i + i * 7) % vector_count];

        if (begins_with(front->verdict, "accept") &&
            front->protocol == v->protocol)
            check_behind(front, v);
    }
}
END_TEST

/* After an error there is no next value (A5). What comes behind is long enough
 * for the parser's fast ways, which must not miss the error. */
START_TEST(error_stays_whatever_comes_behind)
{
    static const char behind[] = "+OK\r\n+OK\r\n+OK\r\n+OK\r\n+OK\r\n+OK\r\n";
    const struct vector *v = &vectors[_i];
    const size_t cuts[2] = {v->len, v->len + 3};
    struct vector longer = {.name = v->name, .protocol = v->protocol};
    char *want = answer(v->bytes, v->len, v->protocol, &whole);

    longer.bytes = join(v->bytes, v->len, behind, sizeof behind - 1);
    longer.len = v->len + sizeof behind - 1;
    if (begins_with(v->verdict, "reject")) {
        check_way(&longer, want, &whole);
        check_cuts(&longer, want, cuts, 2);
    }
    free(longer.bytes);
    free(want);
}
END_TEST

static const char *set_comma_locale(void)
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE", "fr_FR.UTF-8",
                                        "nl_NL.UTF-8", "sv_SE.UTF-8",
                                        "es_ES.UTF-8", "pt_BR.UTF-8"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (setlocale(LC_ALL, names[i]) &&
            *localeconv()->decimal_point == ',')
            return names[i];
    }
    return NULL;
}

START_TEST(answer_is_the_same_where_the_decimal_point_is_a_comma)
{
    for (int i = 0; i < vector_count; i++) {
        const struct vector *v = &vectors[i];
        char *want = answer(v->bytes, v->len, v->protocol, &whole);

        (void)set_comma_locale();
        check_way(v, want, &whole);
        setlocale(LC_ALL, "C");
        free(want);
    }
}
END_TEST

static void add_loop(Suite *s, const char *name, const TTest *test)
{
    TCase *c = tcase_create(name);

    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, test, 0, vector_count);
    suite_add_tcase(s, c);
}

static void add_locale(Suite *s)
{
    TCase *c;

    if (!set_comma_locale()) {
        fprintf(stderr, "skipped: no locale with a decimal comma here\n");
        return;
    }
    setlocale(LC_ALL, "C");
    c = tcase_create("locale");
    tcase_add_test(c, answer_is_the_same_where_the_decimal_point_is_a_comma);
    suite_add_tcase(s, c);
}

int main(void)
{
    Suite *s = suite_create("resp vectors");
    SRunner *runner;
    int failed;

    read_vectors();
    make_guarded();
    add_loop(s, "verdict", vector_has_its_verdict_and_values);
    add_loop(s, "two", answer_is_the_same_for_every_cut_in_two);
    add_loop(s, "three", answer_is_the_same_for_random_cuts_in_three);
    add_loop(s, "bytes", answer_is_the_same_byte_by_byte);
    add_loop(s, "prefix", prefix_of_a_good_reply_is_never_refused);
    add_loop(s, "room", tape_may_be_full_at_any_node);
    add_loop(s, "front", reply_in_front_changes_nothing);
    add_loop(s, "error", error_stays_whatever_comes_behind);
    add_locale(s);
    runner = srunner_create(s);
    srunner_set_fork_status(runner, CK_NOFORK);   /* thousands of tests */
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
