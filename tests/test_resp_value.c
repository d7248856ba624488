/* The accessors: what each type answers to each question. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "resp/resp.h"
#include "tests/support/suite.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define NODES 64

static struct hf_resp_node nodes[NODES];
static struct hf_resp_tape tape;

/* The one value that `bytes` are; the tape is good until the next call. */
static struct hf_resp_value value_of(const char *bytes)
{
    struct hf_resp_parser p;
    size_t len = strlen(bytes);

    hf_resp_init(&p, NULL, 3);
    tape = (struct hf_resp_tape){nodes, 0, NODES};
    ck_assert_int_eq(hf_resp_parse(&p, bytes, len, &tape), HF_OK);
    ck_assert_uint_eq(p.pos, len);
    return hf_resp_first(&tape, bytes, 0);
}

/* ---- every question to every type ---- */

enum {
    INTEGER = 1,
    DOUBLE = 2,
    BOOLEAN = 4,
    BYTES = 8,
    FORMAT = 16,
    COPY = 32,
    ELEMENT = 64,
    MAP = 128,
    NULL_ = 256,
    ERROR = 512
};

static const struct type_row {
    const char *bytes;
    enum hf_resp_type type;
    int answers;
} type_rows[] = {
    {"+k\r\n", HF_RESP_SIMPLE, BYTES | COPY},
    {"-ERR\r\n", HF_RESP_ERROR, BYTES | COPY | ERROR},
    {":7\r\n", HF_RESP_INTEGER, INTEGER | DOUBLE},
    {"$1\r\nk\r\n", HF_RESP_BULK, BYTES | COPY},
    {"$?\r\n;1\r\nk\r\n;0\r\n", HF_RESP_STREAM, COPY},
    {"_\r\n", HF_RESP_NULL, NULL_},
    {"$-1\r\n", HF_RESP_NULL, NULL_},
    {"*-1\r\n", HF_RESP_NULL, NULL_},
    {"#t\r\n", HF_RESP_BOOLEAN, BOOLEAN},
    {",1.5\r\n", HF_RESP_DOUBLE, DOUBLE | BYTES | COPY},
    {"(1\r\n", HF_RESP_BIG, BYTES | COPY},
    {"!3\r\nERR\r\n", HF_RESP_BULK_ERROR, BYTES | COPY | ERROR},
    {"=4\r\ntxt:\r\n", HF_RESP_VERBATIM, BYTES | COPY | FORMAT},
    {"*2\r\n+k\r\n:1\r\n", HF_RESP_ARRAY, ELEMENT | MAP},
    {"~2\r\n+k\r\n:1\r\n", HF_RESP_SET, ELEMENT},
    {"%1\r\n+k\r\n:1\r\n", HF_RESP_MAP, ELEMENT | MAP},
    {">2\r\n+k\r\n:1\r\n", HF_RESP_PUSH, ELEMENT},
    {"*0\r\n", HF_RESP_ARRAY, 0},
};

/* Which questions are answered HF_OK; all others must be HF_E_TYPE. */
static int answers_of(struct hf_resp_value v)
{
    union {
        int64_t integer;
        double number;
        bool boolean;
        size_t len;
    } out;
    struct hf_resp_value child;
    const char *ptr;
    char copy[16];
    const hf_status status[] = {
        hf_resp_integer(v, &out.integer),
        hf_resp_double(v, &out.number),
        hf_resp_boolean(v, &out.boolean),
        hf_resp_bytes(v, &ptr, &out.len),
        hf_resp_verbatim_format(v, &ptr),
        hf_resp_copy_bytes(v, copy, sizeof copy, &out.len),
        hf_resp_element(v, 1, &child),
        hf_resp_map_get(v, "k", 1, &child),
    };
    int answers = hf_resp_is_null(v) ? NULL_ : 0;

    for (size_t i = 0; i < COUNT(status); i++) {
        ck_assert(status[i] == HF_OK || status[i] == HF_E_TYPE);
        answers |= status[i] == HF_OK ? 1 << i : 0;
    }
    return answers | (hf_resp_is_error(v) ? ERROR : 0);
}

START_TEST(accessor_accepts_its_own_type_alone)
{
    const struct type_row *row = &type_rows[_i];
    struct hf_resp_value v = value_of(row->bytes);

    ck_assert_int_eq(hf_resp_type(v), row->type);
    ck_assert_int_eq(answers_of(v), row->answers);
}
END_TEST

/* A question of the wrong type leaves the caller's variables alone. */
START_TEST(refused_accessor_changes_nothing)
{
    struct hf_resp_value v = value_of("*0\r\n"), out = {"", nodes};
    int64_t integer = 5;
    double number = 0.5;
    bool boolean = true;
    const char *ptr = "x";
    size_t len = 9;

    ck_assert_int_eq(hf_resp_integer(v, &integer), HF_E_TYPE);
    ck_assert_int_eq(hf_resp_double(v, &number), HF_E_TYPE);
    ck_assert_int_eq(hf_resp_boolean(v, &boolean), HF_E_TYPE);
    ck_assert_int_eq(hf_resp_bytes(v, &ptr, &len), HF_E_TYPE);
    ck_assert_int_eq(hf_resp_copy_bytes(v, NULL, 0, &len), HF_E_TYPE);
    ck_assert_int_eq(hf_resp_element(v, 0, &out), HF_E_TYPE);
    ck_assert_int_eq(hf_resp_map_get(v, "k", 1, &out), HF_E_TYPE);
    ck_assert_int_eq(hf_resp_attribute(v, "k", 1, &out), HF_E_TYPE);
    ck_assert_int_eq(hf_resp_attributes(v, 0, &out), HF_E_TYPE);
    ck_assert(integer == 5 && number == 0.5 && boolean && *ptr == 'x');
    ck_assert(len == 9 && out.node == nodes && *out.buf == '\0');
}
END_TEST

/* ---- doubles ---- */

/* The text is `head`, then `zeros` zeros, then `tail`. */
static const struct double_row {
    const char *head;
    int zeros;
    const char *tail;
    double value;
} double_rows[] = {
    {"0.1", 0, "", 0x1.999999999999ap-4},
    {"-2.5", 0, "", -2.5},
    {"+12", 0, "", 12},
    {"1e23", 0, "", 0x1.52d02c7e14af6p+76},
    /* Halfway between two doubles: to the even one, unless a digit far behind
     * says otherwise. */
    {"9007199254740993", 0, "", 9007199254740992.0},
    {"9007199254740993.", 2000, "", 9007199254740992.0},
    {"9007199254740993.", 2000, "1", 9007199254740994.0},
    {"9007199254740993", 1200, "e-1200", 9007199254740992.0},
    {"9007199254740993", 1200, "1e-1201", 9007199254740994.0},
    {"2.2250738585072011e-308", 0, "", 0x0.fffffffffffffp-1022},
    {"2.2250738585072012e-308", 0, "", 0x1p-1022},
    {"2.4703282292062327e-324", 0, "", 0.0},
    {"2.4703282292062328e-324", 0, "", 0x1p-1074},
    {"1.7976931348623157e308", 0, "", 0x1.fffffffffffffp+1023},
    {"1.7976931348623159e308", 0, "", HUGE_VAL},
    /* Zeros and exponents that cancel. */
    {"1", 5000, "e-5000", 1},
    {"0.", 5000, "1e5001", 1},
    {"0.", 5000, "1e-5001", 0},
    {"", 5000, "7", 7},
    {"0.", 5000, "", 0},
    {"0e", 0, "99999999999999999999999999", 0},
    {"1e", 5000, "3", 1000},
    {"1e-", 5000, "1", 0.1},
    {"1e99999999999999999999999999", 0, "", HUGE_VAL},
    {"-1e99999999999999999999999999", 0, "", -HUGE_VAL},
    {"1e-99999999999999999999999999", 0, "", 0},
    {"1e9223372036854775808", 0, "", HUGE_VAL},
    {"inf", 0, "", HUGE_VAL},
    {"-inf", 0, "", -HUGE_VAL},
};

static char *double_text(const struct double_row *row)
{
    char *text;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    fprintf(out, ",%s", row->head);
    for (int i = 0; i < row->zeros; i++)
        fputc('0', out);
    fprintf(out, "%s\r\n", row->tail);
    fclose(out);
    return text;
}

START_TEST(double_is_correctly_rounded)
{
    char *text = double_text(&double_rows[_i]);
    double n;

    ck_assert_int_eq(hf_resp_double(value_of(text), &n), HF_OK);
    ck_assert_double_eq(n, double_rows[_i].value);
    free(text);
}
END_TEST

START_TEST(zero_keeps_its_sign_and_nan_is_nan)
{
    static const char *const nans[] = {",nan\r\n", ",-nan\r\n", ",NAN\r\n",
                                       ",-nan(0x8)\r\n", ",nan(_09azAZ)\r\n",
                                       ",nan()\r\n"};
    double n;

    ck_assert_int_eq(hf_resp_double(value_of(",-0.0\r\n"), &n), HF_OK);
    ck_assert(n == 0 && signbit(n));
    ck_assert_int_eq(hf_resp_double(value_of(",0e5\r\n"), &n), HF_OK);
    ck_assert(n == 0 && !signbit(n));
    for (size_t i = 0; i < COUNT(nans); i++) {
        ck_assert_int_eq(hf_resp_double(value_of(nans[i]), &n), HF_OK);
        ck_assert_double_nan(n);
    }
}
END_TEST

/* In the C locale strtod of the whole text is the judge. */
START_TEST(double_equals_strtod)
{
    char text[80];
    double n;

    srand(7);
    for (int i = 0; i < 20000; i++) {
        int len = snprintf(text, sizeof text, ",%s%d.%d%de%d\r\n",
                           &"-"[rand() % 2], rand() % 1000, rand(), rand(),
                           rand() % 660 - 330);

        ck_assert_int_lt(len, sizeof text);
        ck_assert_int_eq(hf_resp_double(value_of(text), &n), HF_OK);
        ck_assert_double_eq(n, strtod(text + 1, NULL));
    }
}
END_TEST

START_TEST(integer_is_also_a_double)
{
    double n;

    ck_assert_int_eq(hf_resp_double(value_of(":-3\r\n"), &n), HF_OK);
    ck_assert_double_eq(n, -3);
    ck_assert_int_eq(hf_resp_double(value_of(":9007199254740993\r\n"), &n),
                     HF_OK);
    ck_assert_double_eq(n, 9007199254740992.0);
}
END_TEST

/* ---- text ---- */

START_TEST(verbatim_string_is_format_and_text)
{
    struct hf_resp_value v = value_of("=8\r\nmkd:# hi\r\n");
    const char *ptr;
    size_t len;

    ck_assert_int_eq(hf_resp_verbatim_format(v, &ptr), HF_OK);
    ck_assert_mem_eq(ptr, "mkd", HF_RESP_FORMAT_LEN);
    ck_assert_int_eq(hf_resp_bytes(v, &ptr, &len), HF_OK);
    ck_assert_uint_eq(len, 4);
    ck_assert_mem_eq(ptr, "# hi", 4);
}
END_TEST

static const char *const copy_rows[] = {
    "$?\r\n;3\r\nabc\r\n;2\r\nde\r\n;0\r\n",
    "$5\r\nabcde\r\n",
    "=9\r\ntxt:abcde\r\n",
};

START_TEST(copy_fits_or_returns_the_size)
{
    char copy[6] = "?????";
    size_t len = 0;

    struct hf_resp_value v = value_of(copy_rows[_i]);

    ck_assert_int_eq(hf_resp_copy_bytes(v, NULL, 0, &len), HF_RESP_ROOM);
    ck_assert_uint_eq(len, 5);
    ck_assert_int_eq(hf_resp_copy_bytes(v, copy, 4, &len), HF_RESP_ROOM);
    ck_assert_uint_eq(len, 5);
    ck_assert_str_eq(copy, "?????");
    ck_assert_int_eq(hf_resp_copy_bytes(v, copy, 5, &len), HF_OK);
    ck_assert_str_eq(copy, "abcde");
}
END_TEST

START_TEST(empty_text_needs_no_memory)
{
    size_t len = 1;

    ck_assert_int_eq(hf_resp_copy_bytes(value_of("$?\r\n;0\r\n"), NULL, 0,
                                        &len), HF_OK);
    ck_assert_uint_eq(len, 0);
    ck_assert_int_eq(hf_resp_copy_bytes(value_of("+\r\n"), NULL, 0, &len),
                     HF_OK);
    ck_assert_uint_eq(len, 0);
    ck_assert(hf_resp_is_text(value_of("+\r\n"), NULL, 0));
}
END_TEST

/* The code is compared whole and never read beyond the text (B3, B4). */
static const struct {
    const char *bytes;
    const char *code;
    bool is;
} code_rows[] = {
    {"-MOVED 1 h:1\r\n", "MOVED", true},
    {"-MOVED\r\n", "MOVED", true},
    {"!7\r\nMOVED x\r\n", "MOVED", true},
    {"-MOVEDX 1 h:1\r\n", "MOVED", false},
    {"-MOVE\r\n", "MOVED", false},
    {"-MO\r\n", "MOVED", false},
    {"-\r\n", "MOVED", false},
    {"-moved 1 h:1\r\n", "MOVED", false},
    {"- MOVED\r\n", "MOVED", false},
    {"- x\r\n", "", true},
    {"-\r\n", "", true},
    {"+MOVED 1\r\n", "MOVED", false},
    {"$5\r\nMOVED\r\n", "MOVED", false},
    {"*0\r\n", "MOVED", false},
};

START_TEST(error_code_is_compared_whole)
{
    ck_assert_int_eq(hf_resp_error_is(value_of(code_rows[_i].bytes),
                                      code_rows[_i].code), code_rows[_i].is);
}
END_TEST

START_TEST(text_is_equal_in_all_its_bytes)
{
    struct hf_resp_value v = value_of("$3\r\nabc\r\n");

    ck_assert(hf_resp_is_text(v, "abc", 3));
    ck_assert(!hf_resp_is_text(v, "abc", 2));
    ck_assert(!hf_resp_is_text(v, "abcd", 4));
    ck_assert(!hf_resp_is_text(v, "abd", 3));
    ck_assert(!hf_resp_is_text(value_of(":1\r\n"), "1", 1));
}
END_TEST

/* ---- children ---- */

/* What an integer child, reached in some way, holds. */
static int64_t integer_of(hf_status status, struct hf_resp_value v)
{
    int64_t n = 0;

    ck_assert_int_eq(status, HF_OK);
    ck_assert_int_eq(hf_resp_integer(v, &n), HF_OK);
    return n;
}

START_TEST(children_are_found_after_nested_values)
{
    struct hf_resp_value v = value_of("*4\r\n*2\r\n:1\r\n*1\r\n:2\r\n"
                                      "|1\r\n+a\r\n*1\r\n:3\r\n:4\r\n"
                                      "$?\r\n;1\r\nx\r\n;0\r\n:5\r\n");
    struct hf_resp_value child = v;
    struct hf_resp_iter it = hf_resp_children(v);
    size_t count = 0;

    ck_assert_uint_eq(hf_resp_count(v), 4);
    ck_assert_int_eq(integer_of(hf_resp_element(v, 1, &child), child), 4);
    ck_assert_int_eq(integer_of(hf_resp_element(v, 3, &child), child), 5);
    ck_assert_int_eq(hf_resp_element(v, 4, &child), HF_E_TYPE);
    ck_assert_int_eq(hf_resp_element(v, SIZE_MAX, &child), HF_E_TYPE);
    while (hf_resp_next(&it, &child))
        count++;
    ck_assert_uint_eq(count, 4);
    ck_assert(!hf_resp_next(&it, &child));
}
END_TEST

START_TEST(value_without_children_has_none_to_walk)
{
    struct hf_resp_value child, v = value_of("$?\r\n;1\r\nx\r\n;0\r\n");
    struct hf_resp_iter it = hf_resp_children(v);

    ck_assert_uint_eq(hf_resp_count(v), 0);
    ck_assert(!hf_resp_next(&it, &child));
    it = hf_resp_children(value_of(":1\r\n"));
    ck_assert(!hf_resp_next(&it, &child));
}
END_TEST

static const char *const map_rows[] = {
    "%3\r\n+x\r\n:1\r\n$3\r\nkey\r\n:2\r\n+key\r\n:3\r\n",
    "*6\r\n+x\r\n:1\r\n$3\r\nkey\r\n:2\r\n+key\r\n:3\r\n",
    "*7\r\n+x\r\n:1\r\n$3\r\nkey\r\n:2\r\n+key\r\n:3\r\n+odd\r\n",
    "%2\r\n*1\r\n+key\r\n+key\r\n|1\r\n+key\r\n:9\r\n+key\r\n:2\r\n",
    "%?\r\n_\r\n+key\r\n!3\r\nkey\r\n:2\r\n.\r\n",
};

/* The first of two equal keys; a value that looks like the key is no key. */
START_TEST(map_returns_the_first_value_of_a_key)
{
    struct hf_resp_value v = value_of(map_rows[_i]), out = v;

    ck_assert_int_eq(integer_of(hf_resp_map_get(v, "key", 3, &out), out), 2);
    ck_assert_int_eq(hf_resp_map_get(v, "ke", 2, &out), HF_E_TYPE);
    ck_assert_int_eq(hf_resp_map_get(v, "odd", 3, &out), HF_E_TYPE);
}
END_TEST

START_TEST(attributes_belong_to_the_value_after_them)
{
    struct hf_resp_value v = value_of("|2\r\n+a\r\n:1\r\n+a\r\n:2\r\n"
                                      "|2\r\n+b\r\n:3\r\n+a\r\n:4\r\n"
                                      "*2\r\n|1\r\n+c\r\n:5\r\n+x\r\n+y\r\n");
    struct hf_resp_value out = v, child = v;

    ck_assert_int_eq(hf_resp_type(v), HF_RESP_ARRAY);
    ck_assert_int_eq(integer_of(hf_resp_attribute(v, "a", 1, &out), out), 4);
    ck_assert_int_eq(integer_of(hf_resp_attribute(v, "b", 1, &out), out), 3);
    ck_assert_int_eq(hf_resp_attribute(v, "c", 1, &out), HF_E_TYPE);
    ck_assert_int_eq(hf_resp_attributes(v, 0, &out), HF_OK);
    ck_assert_int_eq(integer_of(hf_resp_map_get(out, "a", 1, &out), out), 1);
    ck_assert_int_eq(hf_resp_attributes(v, 1, &out), HF_OK);
    ck_assert_uint_eq(hf_resp_count(out), 4);
    ck_assert_int_eq(hf_resp_attributes(v, 2, &out), HF_E_TYPE);
    ck_assert_int_eq(hf_resp_element(v, 0, &child), HF_OK);
    ck_assert_int_eq(integer_of(hf_resp_attribute(child, "c", 1, &out), out),
                     5);
    ck_assert_int_eq(hf_resp_element(v, 1, &child), HF_OK);
    ck_assert_int_eq(hf_resp_attributes(child, 0, &out), HF_E_TYPE);
    ck_assert_uint_eq(hf_resp_next_index(&tape, 0), tape.count);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("resp value");
    TCase *types = tcase_create("types"), *doubles = tcase_create("doubles");
    TCase *text = tcase_create("text"), *children = tcase_create("children");

    tcase_add_loop_test(types, accessor_accepts_its_own_type_alone, 0,
                        COUNT(type_rows));
    tcase_add_test(types, refused_accessor_changes_nothing);
    tcase_add_loop_test(doubles, double_is_correctly_rounded, 0,
                        COUNT(double_rows));
    tcase_add_test(doubles, zero_keeps_its_sign_and_nan_is_nan);
    tcase_add_test(doubles, double_equals_strtod);
    tcase_add_test(doubles, integer_is_also_a_double);
    tcase_add_test(text, verbatim_string_is_format_and_text);
    tcase_add_loop_test(text, copy_fits_or_returns_the_size, 0,
                        COUNT(copy_rows));
    tcase_add_test(text, empty_text_needs_no_memory);
    tcase_add_loop_test(text, error_code_is_compared_whole, 0,
                        COUNT(code_rows));
    tcase_add_test(text, text_is_equal_in_all_its_bytes);
    tcase_add_test(children, children_are_found_after_nested_values);
    tcase_add_test(children, value_without_children_has_none_to_walk);
    tcase_add_loop_test(children, map_returns_the_first_value_of_a_key, 0,
                        COUNT(map_rows));
    tcase_add_test(children, attributes_belong_to_the_value_after_them);
    suite_add_tcase(s, types);
    suite_add_tcase(s, doubles);
    suite_add_tcase(s, text);
    suite_add_tcase(s, children);
    return s;
}

int main(void)
{
    return suite_run(suite());
}
