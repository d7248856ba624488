/* The score finds what is wrong with a parser, each fault in the way that is
 * there for it: adapters that are holdfast's but for one fault. */
#include <check.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/suite.h"
#include "tests/vectors/holdfast.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static struct vec_file all;

/* ---- faults ---- */

/* Begins anew with each piece. */
static struct vec_answer forgetful(const struct vec_piece *pieces,
                                   size_t count, int protocol, FILE *values)
{
    struct vec_answer a = {.offset = VEC_UNKNOWN};

    for (size_t i = 0; i < count; i++)
        a = holdfast_adapter(&pieces[i], 1, protocol, values);
    return a;
}

/* Looks at the byte behind a piece. A sanitizer would see it without a page. */
__attribute__((no_sanitize_address)) static struct vec_answer
overreading(const struct vec_piece *pieces, size_t count, int protocol,
            FILE *values)
{
    for (size_t i = 0; i < count; i++)
        (void)((const volatile char *)pieces[i].ptr)[pieces[i].len];
    return holdfast_adapter(pieces, count, protocol, values);
}

/* Goes on behind a piece with an error in it. */
static struct vec_answer reviving(const struct vec_piece *pieces,
                                  size_t count, int protocol, FILE *values)
{
    FILE *nowhere = fopen("/dev/null", "w");
    struct vec_answer a;
    size_t i = 0;

    do {
        a = holdfast_adapter(pieces, ++i, protocol, nowhere);
    } while (i < count && a.verdict < VEC_PROTOCOL);
    fclose(nowhere);
    a = holdfast_adapter(pieces, i, protocol, values);
    if (i < count)
        a = holdfast_adapter(pieces + i, count - i, protocol, values);
    return a;
}

/* Takes bytes that end in CR for an error. */
static struct vec_answer hasty(const struct vec_piece *pieces, size_t count,
                               int protocol, FILE *values)
{
    struct vec_answer a = holdfast_adapter(pieces, count, protocol, values);
    const struct vec_piece *last = &pieces[count - 1];

    if (a.verdict == VEC_INCOMPLETE && last->len &&
        last->ptr[last->len - 1] == '\r')
        a.verdict = VEC_REJECT;
    return a;
}

/* Writes what the sound adapter writes, changed. */
static struct vec_answer rewritten(const struct vec_piece *pieces,
                                   size_t count, int protocol, FILE *values,
                                   void (*put)(FILE *out, const char *line))
{
    size_t len, room = 0;
    char *text, *line = NULL;
    FILE *out = open_memstream(&text, &len), *in;
    struct vec_answer a = holdfast_adapter(pieces, count, protocol, out);

    fclose(out);
    in = fmemopen(text, len ? len : 1, "r");
    while (len && getline(&line, &room, in) > 0)
        put(values, line);
    fclose(in);
    free(line);
    free(text);
    return a;
}

static int lines;

/* The second value is the first, once more. */
static void put_leaking(FILE *out, const char *line)
{
    fputs(lines++ == 1 ? "simple:\"stale\"\n" : line, out);
}

static struct vec_answer leaking(const struct vec_piece *pieces, size_t count,
                                 int protocol, FILE *values)
{
    lines = 0;
    return rewritten(pieces, count, protocol, values, put_leaking);
}

/* As printf writes it where it runs. */
static void put_local(FILE *out, const char *line)
{
    if (strncmp(line, "dbl:", 4) == 0)
        fprintf(out, "dbl:%g\n", 1.23);
    else
        fputs(line, out);
}

static struct vec_answer localised(const struct vec_piece *pieces,
                                   size_t count, int protocol, FILE *values)
{
    return rewritten(pieces, count, protocol, values, put_local);
}

/* Counts an error's offset from the last piece. */
static struct vec_answer misplacing(const struct vec_piece *pieces,
                                    size_t count, int protocol, FILE *values)
{
    struct vec_answer a = holdfast_adapter(pieces, count, protocol, values);

    if (a.offset != VEC_UNKNOWN)
        a.offset -= a.offset < pieces[0].len ? 0 : pieces[0].len;
    return a;
}

/* Makes room at once for all that is promised. */
static struct vec_answer believing(const struct vec_piece *pieces,
                                   size_t count, int protocol, FILE *values)
{
    struct vec_answer a = {.verdict = VEC_FAILED, .offset = VEC_UNKNOWN};
    size_t promised = pieces[0].len > 1 ? strtoul(pieces[0].ptr + 1, NULL, 10)
                                        : 0;
    char *room = malloc(promised * 16);

    if (room || promised == 0)
        a = holdfast_adapter(pieces, count, protocol, values);
    free(room);
    return a;
}

/* Takes `:+42` for an error. */
static struct vec_answer narrow(const struct vec_piece *pieces, size_t count,
                                int protocol, FILE *values)
{
    struct vec_answer a = holdfast_adapter(pieces, count, protocol, values);

    if (pieces[0].len > 1 && pieces[0].ptr[1] == '+')
        a.verdict = VEC_REJECT;
    return a;
}

static struct vec_answer crashing(const struct vec_piece *pieces, size_t count,
                                  int protocol, FILE *values)
{
    if (pieces[0].len > 0 && pieces[0].ptr[0] == '*')
        abort();
    return holdfast_adapter(pieces, count, protocol, values);
}

static struct vec_answer leaving(const struct vec_piece *pieces, size_t count,
                                 int protocol, FILE *values)
{
    if (pieces[0].len > 0 && pieces[0].ptr[0] == '*')
        exit(0);
    return holdfast_adapter(pieces, count, protocol, values);
}

static struct vec_answer hanging(const struct vec_piece *pieces, size_t count,
                                 int protocol, FILE *values)
{
    while (pieces[0].len > 0 && pieces[0].ptr[0] == '*')
        pause();
    return holdfast_adapter(pieces, count, protocol, values);
}

/* ---- what is found ---- */

/* The vectors that show the faults, as a file of their own. */
static const char *const few[] = {"sim-ok",     "dbl-simple",
                                  "int-plus",   "frm-lf-only",
                                  "arr-nested", "arr-1m-declared"};

static struct vec_file some(void)
{
    struct vec_file f = {NULL, 0};

    for (size_t i = 0; i < all.count * COUNT(few); i++) {
        const struct vec_vector *v = &all.vectors[i % all.count];

        if (strcmp(v->name, few[i / all.count]) != 0)
            continue;
        f.vectors = vec_alloc(f.vectors, sizeof *v * (f.count + 1));
        f.vectors[f.count++] = *v;
    }
    return f;
}

/* What the score says of an adapter; the caller frees it. */
static char *score(vec_adapter *adapter, size_t *deviating)
{
    const struct vec_parser p = {"one", adapter};
    struct vec_file f = some();
    size_t len;
    char *text;
    FILE *out = open_memstream(&text, &len);

    *deviating = vec_score(&f, &p, 1, out);
    fclose(out);
    free(f.vectors);
    return text;
}

static const struct row {
    vec_adapter *adapter;
    int way;               /* VEC_WAYS: any */
    const char *line;      /* which the score must have */
} rows[] = {
    {forgetful, VEC_TWO, "sim-ok | RESP2 | two | "},
    {forgetful, VEC_THREE, "sim-ok | RESP2 | three | "},
    {forgetful, VEC_BYTES, "sim-ok | RESP2 | bytes | "},
    {overreading, VEC_PAGE, "sim-ok | RESP2 | page | it "},
    {reviving, VEC_AFTER, "frm-lf-only | RESP3 | after | in 2 pieces, "},
    {hasty, VEC_PREFIX, "int-plus | RESP3 | prefix | 5 bytes: reject"},
    {leaking, VEC_BETWEEN, "sim-ok | RESP2 | between | behind "},
    {localised, VEC_COMMA, "dbl-simple | RESP3 | comma | dbl:1,23"},
    {misplacing, VEC_TWO, "frm-lf-only | RESP2 | two | in 2 pieces, "},
    {believing, VEC_MEMORY, "arr-1m-declared | RESP2 | memory | no answer"},
    {narrow, VEC_WHOLE, "int-plus | RESP2 | whole | int:42 ;; reject, not "},
    {crashing, VEC_WHOLE, "arr-nested | RESP2 | whole | it "},
    {leaving, VEC_WHOLE, "arr-nested | RESP2 | whole | it ends the program: "},
    {hanging, VEC_WHOLE, "arr-nested | RESP2 | whole | it comes to no end"},
};

static bool can_be_asked(int way)
{
    const struct vec_vector *v = &all.vectors[0];
    char *want = vec_ask(holdfast_adapter, v);
    struct vec_trial t = {.file = &all, .vector = v, .want = want,
                          .adapter = holdfast_adapter};
    bool is_asked = vec_ways[way].run(&t) != VEC_NOT_ASKED;

    free(want);
    return is_asked;
}

START_TEST(fault_is_found_in_the_way_that_is_there_for_it)
{
    const struct row *row = &rows[_i];
    size_t deviating;
    char *text;

    if ((row->way == VEC_COMMA || row->way == VEC_MEMORY) &&
        !can_be_asked(row->way)) {
        fprintf(stderr, "skipped: %s\n", row->line);
        return;
    }
    text = score(row->adapter, &deviating);
    ck_assert_msg(strstr(text, row->line) != NULL, "%s: not in:\n%s",
                  row->line, text);
    ck_assert_uint_ge(deviating, 1);
    free(text);
}
END_TEST

START_TEST(parser_without_a_fault_deviates_nowhere)
{
    size_t deviating;
    char *text = score(holdfast_adapter, &deviating);

    ck_assert_uint_eq(deviating, 0);
    ck_assert_ptr_nonnull(strstr(text, "name: 6 of 6\n"));
    ck_assert_ptr_null(strstr(text, " | "));
    free(text);
}
END_TEST

/* The sums are of what was asked: a prefix of accepted vectors alone. */
START_TEST(sums_count_the_selected_vectors)
{
    size_t deviating;
    char *text = score(narrow, &deviating);

    ck_assert_uint_eq(deviating, 1);
    ck_assert_ptr_nonnull(strstr(text, "  whole      4 of   5     5 of   6 "));
    ck_assert_ptr_nonnull(strstr(text, "  prefix     2 of   2     3 of   3 "));
    ck_assert_ptr_nonnull(strstr(text, "name: 5 of 6\n"));
    free(text);
}
END_TEST

/* ---- the notation ---- */

static const struct {
    double n;
    const char *text;
} doubles[] = {
    {1.5, "dbl:1.5"},      {10, "dbl:10.0"},      {-0.0, "dbl:-0.0"},
    {1e-9, "dbl:1e-09"},   {1e16, "dbl:1e+16"},   {5e-324, "dbl:5e-324"},
    {INFINITY, "dbl:inf"}, {-INFINITY, "dbl:-inf"}, {NAN, "dbl:nan"},
    {0.1 + 0.2, "dbl:0.30000000000000004"},
};

START_TEST(double_is_written_as_short_as_it_can_be)
{
    char text[64];
    FILE *out = fmemopen(text, sizeof text, "w");

    vec_put_double(out, doubles[_i].n);
    fclose(out);
    ck_assert_str_eq(text, doubles[_i].text);
}
END_TEST

static const char *const no_vectors[] = {
    "name | accept | 3 | +OK\\r\\n",
    "name | acept | 3 | +OK\\r\\n | simple:\"OK\"",
    "name | accept | 9 | +OK\\r\\n | simple:\"OK\"",
    "name | accept |  | +OK\\r\\n | simple:\"OK\"",
    "name | accept | 3 | +\\q\\r\\n | simple:\"q\"",
    "name | accept | 3 | +\\x4\\r\\n | simple:\"4\"",
    "name | accept | 3 | +OK\\r\\ | simple:\"OK\"",
    "name | accept | 3 | +@{5*a\\r\\n | simple:\"aaaaa\"",
    "name | accept | 3 | +@{*a}\\r\\n | simple:\"\"",
    "name | reject | 3 | +OK\\n | limits",
    "name | incomplete | 3 | +OK | nothing",
};

/* check(3) wants the exit code 2 of it. */
START_TEST(invalid_vector_ends_the_program)
{
    char path[] = "/tmp/holdfast-vector-XXXXXX";
    int fd = mkstemp(path);
    char open_path[40];

    ck_assert_int_ge(fd, 0);
    (void)unlink(path);
    dprintf(fd, "%s\n", no_vectors[_i]);
    (void)snprintf(open_path, sizeof open_path, "/dev/fd/%d", fd);
    (void)vec_read(open_path);
}
END_TEST

START_TEST(bytes_are_escaped)
{
    char text[64];
    FILE *out = fmemopen(text, sizeof text, "w");

    vec_put_bytes(out, "a \r\n\0\x7f\xff", 7);
    fclose(out);
    ck_assert_str_eq(text, "\"a \\r\\n\\x00\\x7f\\xff\"");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("vectors");
    TCase *found = tcase_create("score"), *notation = tcase_create("notation");
    int rc;

    all = vec_read("tests/vectors/resp.txt");
    tcase_set_timeout(found, 60);
    tcase_add_loop_test(found, fault_is_found_in_the_way_that_is_there_for_it,
                        0, COUNT(rows));
    tcase_add_test(found, parser_without_a_fault_deviates_nowhere);
    tcase_add_test(found, sums_count_the_selected_vectors);
    tcase_add_loop_test(notation, double_is_written_as_short_as_it_can_be, 0,
                        COUNT(doubles));
    tcase_add_test(notation, bytes_are_escaped);
    tcase_add_loop_exit_test(notation, invalid_vector_ends_the_program, 2,
                             0, COUNT(no_vectors));
    suite_add_tcase(s, found);
    suite_add_tcase(s, notation);
    rc = suite_run(s);
    vec_free(&all);
    return rc;
}
