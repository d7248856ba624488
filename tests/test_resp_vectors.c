/* Every line of tests/vectors/resp.txt, in every way of tests/vectors/ways.c
 * and in those that only a parser with a tape and a buffer of its caller has:
 * bytes that are dropped once read, a buffer that is another one at each call,
 * a tape that is full. In all of them the values, the verdict, the offset of an
 * error and its words are the same. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/vectors/holdfast.h"

#ifndef HF_VECTORS
#define HF_VECTORS "tests/vectors/resp.txt"
#endif

static struct vec_file file;

/* ---- a strict adapter ---- */

/* A tape large enough for most; with none at all, no value would ever be read
 * in the fast way. */
#define ROOM_FIRST 64

/* How the strict adapter feeds the parser. */
static struct how {
    bool drops;            /* hf_resp_drop after every piece */
    bool is_guarded;       /* the buffer ends at a page that faults, else at the
                              end of a block of the heap */
    bool is_tight;         /* the tape begins with `room` nodes, grows by one */
    uint32_t room;
} how;

struct run {
    struct hf_resp_parser parser;
    struct hf_resp_tape tape;
    FILE *values;
    char *bytes;           /* of all pieces so far */
    size_t len;
    size_t dropped;        /* bytes, by all hf_resp_drop together */
    uint32_t next;         /* tape index of the next value to be written */
    hf_status status;
};

/* Bytes in a place of exactly their size, another one at every call. */
static char *place(const char *bytes, size_t len)
{
    char *copy = how.is_guarded ? vec_page_end(VEC_AREAS - 1, len)
                                : vec_alloc(NULL, len);

    return memcpy(copy, bytes, len);
}

static void unplace(char *copy)
{
    if (!how.is_guarded)
        free(copy);
}

/* Exactly as large as asked for, so that a write behind it is seen. */
static void give_room(struct run *r, uint32_t room)
{
    r->tape.nodes = vec_alloc(r->tape.nodes, room * sizeof *r->tape.nodes);
    r->tape.room = room;
}

static void put_next(struct run *r, const char *buf)
{
    holdfast_put_value(r->values, hf_resp_first(&r->tape, buf, r->next));
    fputc('\n', r->values);
    r->next = hf_resp_next_index(&r->tape, r->next);
    ck_assert_uint_eq(r->next, r->tape.count);
}

static void parse_all(struct run *r, const char *buf, size_t len)
{
    do {
        r->status = hf_resp_parse(&r->parser, buf, len, &r->tape);
        if (r->status == HF_OK)
            put_next(r, buf);
        if (r->status == HF_RESP_ROOM) {
            ck_assert_uint_eq(r->tape.count, r->tape.room);
            give_room(r, how.is_tight ? r->tape.room + 1 : r->tape.room * 2);
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

static void feed(struct run *r, const struct vec_piece *piece)
{
    char *buf;

    memcpy(r->bytes + r->len, piece->ptr, piece->len);
    r->len += piece->len;
    buf = place(r->bytes + r->dropped, r->len - r->dropped);
    parse_all(r, buf, r->len - r->dropped);
    if (how.drops)
        drop(r);
    unplace(buf);
}

/* For `len` bytes in all. */
static void begin(struct run *r, size_t len, int protocol, FILE *values)
{
    *r = (struct run){.values = values, .bytes = vec_alloc(NULL, len)};
    hf_resp_init(&r->parser, NULL, protocol);
    give_room(r, how.is_tight ? how.room : ROOM_FIRST);
}

static void end(struct run *r)
{
    free(r->tape.nodes);
    free(r->bytes);
}

static struct vec_answer strict_adapter(const struct vec_piece *pieces,
                                        size_t count, int protocol,
                                        FILE *values)
{
    struct run r;
    size_t len = 0;

    for (size_t i = 0; i < count; i++)
        len += pieces[i].len;
    begin(&r, len, protocol, values);
    for (size_t i = 0; i < count; i++)
        feed(&r, &pieces[i]);
    end(&r);
    return holdfast_answer(&r.parser, r.status, r.dropped);
}

/* ---- trials ---- */

static const struct how plain;

/* The answer to a vector in the plainest way; the caller frees it. */
static char *plain_answer(const struct vec_vector *v)
{
    how = plain;
    return vec_ask(strict_adapter, v);
}

static void check_way(const struct vec_vector *v, const char *want, int way)
{
    struct vec_trial t = {.file = &file, .vector = v,
                          .adapter = strict_adapter, .want = want};

    ck_assert_msg(vec_ways[way].run(&t) != VEC_DEVIATES,
                  "%s (RESP%d), %s%s%s: %s", v->name, v->protocol,
                  vec_ways[way].name, how.drops ? ", dropped" : "",
                  how.is_guarded ? ", guarded" : "", t.why);
}

/* Dropped or not, ending at a page or in a block. */
static void check(int index, int way)
{
    const struct vec_vector *v = &file.vectors[index];
    char *want = plain_answer(v);

    for (unsigned i = 0; i < 4; i++) {
        how = (struct how){.drops = i & 1, .is_guarded = i & 2};
        check_way(v, want, way);
    }
    free(want);
}

/* ---- the promises ---- */

/* What the file says is what comes out, and nothing else. */
START_TEST(vector_has_its_verdict_and_values)
{
    check(_i, VEC_WHOLE);
}
END_TEST

/* However the network cuts, the answer is the same. A short vector is cut at
 * every place, a long one at some. */
START_TEST(answer_is_the_same_for_every_cut_in_two)
{
    check(_i, VEC_TWO);
}
END_TEST

START_TEST(answer_is_the_same_for_random_cuts_in_three)
{
    check(_i, VEC_THREE);
}
END_TEST

START_TEST(answer_is_the_same_byte_by_byte)
{
    check(_i, VEC_BYTES);
}
END_TEST

/* No state leaks from one reply into the next. */
START_TEST(reply_in_front_changes_nothing)
{
    check(_i, VEC_BETWEEN);
}
END_TEST

/* After an error there is no next value (A5). */
START_TEST(error_stays_whatever_follows)
{
    check(_i, VEC_AFTER);
}
END_TEST

/* The first `len` bytes of an accepted vector: more is wanted, and no more than
 * it has. */
static void check_prefix(const struct vec_vector *v, size_t len)
{
    const struct vec_piece piece = {v->bytes, len};
    FILE *nowhere = fopen("/dev/null", "w");
    struct run r;

    begin(&r, len, v->protocol, nowhere);
    feed(&r, &piece);
    ck_assert_msg(r.status == HF_RESP_MORE, "%s, %zu bytes", v->name, len);
    ck_assert_uint_le(len + hf_resp_wanted(&r.parser, len), v->len);
    end(&r);
    fclose(nowhere);
}

/* No lookahead may be mistaken for an error. */
START_TEST(prefix_of_a_good_reply_is_never_refused)
{
    const struct vec_vector *v = &file.vectors[_i];
    size_t step = v->len <= 2048 ? 1 : v->len / 48;

    check(_i, VEC_PREFIX);
    how = plain;
    if (strcmp(v->verdict, "accept") != 0)
        return;
    for (size_t len = 0; len < v->len; len += step)
        check_prefix(v, len);
}
END_TEST

/* Nothing is lost or doubled when the tape is too small, whatever its size. */
START_TEST(tape_may_be_full_at_any_node)
{
    const struct vec_vector *v = &file.vectors[_i];
    char *want = plain_answer(v), *got;

    for (uint32_t room = 0; room < 16; room++) {
        how = (struct how){.is_tight = true, .room = room, .drops = room & 1};
        got = vec_ask(strict_adapter, v);
        ck_assert_msg(strcmp(got, want) == 0, "%s, room %u: %s", v->name,
                      (unsigned)room, got);
        free(got);
        check_way(v, want, VEC_THREE);
    }
    free(want);
}
END_TEST

START_TEST(answer_is_the_same_where_the_decimal_point_is_a_comma)
{
    const struct vec_vector *v = &file.vectors[_i];
    char *want = plain_answer(v);
    struct vec_trial t = {.file = &file, .vector = v,
                          .adapter = strict_adapter, .want = want};
    enum vec_outcome outcome = vec_ways[VEC_COMMA].run(&t);

    ck_assert_msg(outcome != VEC_DEVIATES, "%s: %s", v->name, t.why);
    if (outcome == VEC_NOT_ASKED && _i == 0)
        fprintf(stderr, "skipped: no locale with a decimal comma here\n");
    free(want);
}
END_TEST

/* ---- encoded anew ---- */

static void encode(FILE *out, struct hf_resp_value v, int protocol);

static void encode_children(FILE *out, struct hf_resp_value v, int protocol)
{
    struct hf_resp_iter it = hf_resp_children(v);
    struct hf_resp_value child;

    while (hf_resp_next(&it, &child))
        encode(out, child, protocol);
}

/* Streamed ones are counted ones now. */
static void encode_aggregate(FILE *out, char type, struct hf_resp_value v,
                             int protocol)
{
    size_t each = type == '%' || type == '|' ? 2 : 1;

    fprintf(out, "%c%zu\r\n", type, hf_resp_count(v) / each);
    encode_children(out, v, protocol);
}

static void encode_line(FILE *out, char type, struct hf_resp_value v)
{
    const char *ptr = NULL;
    size_t len = 0;

    ck_assert_int_eq(hf_resp_bytes(v, &ptr, &len), HF_OK);
    fprintf(out, "%c", type);
    fwrite(ptr, 1, len, out);
    fputs("\r\n", out);
}

static void encode_string(FILE *out, char type, struct hf_resp_value v)
{
    const char *format = "";
    size_t len, more = 0;
    char *copy;

    (void)hf_resp_copy_bytes(v, NULL, 0, &len);
    copy = vec_alloc(NULL, len);
    ck_assert_int_eq(hf_resp_copy_bytes(v, copy, len, &len), HF_OK);
    if (hf_resp_verbatim_format(v, &format) == HF_OK)
        more = HF_RESP_FORMAT_LEN + 1;
    fprintf(out, "%c%zu\r\n", type, len + more);
    fwrite(format, 1, more, out);
    fwrite(copy, 1, len, out);
    fputs("\r\n", out);
    free(copy);
}

static void encode_scalar(FILE *out, struct hf_resp_value v, int protocol)
{
    int64_t n;
    bool b;

    if (hf_resp_is_null(v))
        fputs(protocol == 2 ? "$-1\r\n" : "_\r\n", out);
    else if (hf_resp_boolean(v, &b) == HF_OK)
        fputs(b ? "#t\r\n" : "#f\r\n", out);
    else if (hf_resp_integer(v, &n) == HF_OK)
        fprintf(out, ":%lld\r\n", (long long)n);
    else
        ck_assert_msg(false, "type %d has no bytes", (int)hf_resp_type(v));
}

static void encode(FILE *out, struct hf_resp_value v, int protocol)
{
    static const char types[] = {
        [HF_RESP_SIMPLE] = '+', [HF_RESP_ERROR] = '-',  [HF_RESP_DOUBLE] = ',',
        [HF_RESP_BIG] = '(',    [HF_RESP_BULK] = '$',   [HF_RESP_STREAM] = '$',
        [HF_RESP_ARRAY] = '*',  [HF_RESP_SET] = '~',    [HF_RESP_MAP] = '%',
        [HF_RESP_PUSH] = '>',   [HF_RESP_VERBATIM] = '=',
        [HF_RESP_BULK_ERROR] = '!', [HF_RESP_ATTRIBUTE] = '|',
    };
    char type = types[hf_resp_type(v)];
    struct hf_resp_value map;

    for (size_t i = 0; hf_resp_attributes(v, i, &map) == HF_OK; i++)
        encode_aggregate(out, '|', map, protocol);
    if (type == '\0')
        encode_scalar(out, v, protocol);
    else if (strchr("+-,(", type))
        encode_line(out, type, v);
    else if (strchr("$=!", type))
        encode_string(out, type, v);
    else
        encode_aggregate(out, type, v, protocol);
}

/* All values of a vector's bytes, encoded anew; the caller frees them. */
static char *encoded_anew(const struct vec_vector *v, size_t *len)
{
    struct hf_resp_tape tape = {NULL, 0, 0};
    struct hf_resp_parser p;
    char *bytes;
    FILE *out = open_memstream(&bytes, len);
    hf_status status;

    hf_resp_init(&p, NULL, v->protocol);
    do {
        status = hf_resp_parse(&p, v->bytes, v->len, &tape);
        if (status == HF_RESP_ROOM) {
            tape.room += ROOM_FIRST;
            tape.nodes = vec_alloc(tape.nodes, tape.room * sizeof *tape.nodes);
        }
        if (status == HF_OK) {
            encode(out, hf_resp_first(&tape, v->bytes, 0), v->protocol);
            tape.count = 0;
        }
    } while (status == HF_OK || status == HF_RESP_ROOM);
    fclose(out);
    free(tape.nodes);
    return bytes;
}

/* P3. And what is canonical stays as it is. */
START_TEST(value_encoded_again_is_the_same_value)
{
    const struct vec_vector *v = &file.vectors[_i];
    struct vec_vector canonical = *v, again = *v;
    char *want, *got;

    if (strcmp(v->verdict, "accept") != 0)
        return;
    canonical.bytes = encoded_anew(v, &canonical.len);
    again.bytes = encoded_anew(&canonical, &again.len);
    want = plain_answer(v);
    got = plain_answer(&canonical);
    ck_assert_str_eq(got, want);
    ck_assert_uint_eq(again.len, canonical.len);
    ck_assert_mem_eq(again.bytes, canonical.bytes, again.len);
    free(got);
    free(want);
    free(again.bytes);
    free(canonical.bytes);
}
END_TEST

/* So that what others compare themselves with is what is tested here. */
START_TEST(adapter_for_the_score_answers_the_same)
{
    const struct vec_vector *v = &file.vectors[_i];
    char *want = plain_answer(v), *got = vec_ask(holdfast_adapter, v);

    ck_assert_str_eq(got, want);
    free(got);
    free(want);
}
END_TEST

static void add_loop(Suite *s, const char *name, const TTest *test)
{
    TCase *c = tcase_create(name);

    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, test, 0, (int)file.count);
    suite_add_tcase(s, c);
}

int main(void)
{
    Suite *s = suite_create("resp vectors");
    SRunner *runner;
    int failed;

    file = vec_read(HF_VECTORS);
    add_loop(s, "verdict", vector_has_its_verdict_and_values);
    add_loop(s, "two", answer_is_the_same_for_every_cut_in_two);
    add_loop(s, "three", answer_is_the_same_for_random_cuts_in_three);
    add_loop(s, "bytes", answer_is_the_same_byte_by_byte);
    add_loop(s, "prefix", prefix_of_a_good_reply_is_never_refused);
    add_loop(s, "room", tape_may_be_full_at_any_node);
    add_loop(s, "front", reply_in_front_changes_nothing);
    add_loop(s, "error", error_stays_whatever_follows);
    add_loop(s, "comma", answer_is_the_same_where_the_decimal_point_is_a_comma);
    add_loop(s, "encoded", value_encoded_again_is_the_same_value);
    add_loop(s, "adapter", adapter_for_the_score_answers_the_same);
    runner = srunner_create(s);
    srunner_set_fork_status(runner, CK_NOFORK);   /* thousands of tests */
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    vec_free(&file);
    return failed != 0;
}
