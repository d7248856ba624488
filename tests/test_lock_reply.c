/* The one form of what scripts answer, and what has another one. */
#include <check.h>
#include <string.h>

#include "lock/script/reply.h"
#include "tests/support/suite.h"

#define COUNT(table) ((int)(sizeof(table) / sizeof *(table)))
#define NODES 16

static struct hf_resp_node nodes[NODES];

static struct hf_resp_value parsed(const char *bytes)
{
    struct hf_resp_parser parser;
    struct hf_resp_tape tape = {.nodes = nodes, .room = NODES};

    hf_resp_init(&parser, NULL, 3);
    ck_assert_int_eq(hf_resp_parse(&parser, bytes, strlen(bytes), &tape),
                     HF_OK);
    return hf_resp_first(&tape, bytes, 0);
}

/* Behind the echo. */
static const struct {
    const char *bytes;
    bool is_read;
    int64_t count, number;
    const char *field, *value;
} rows[] = {
    {"*2\r\n+e\r\n:1\r\n", true, 1, -1, "", ""},
    {"*2\r\n+e\r\n$1\r\n1\r\n", true, 1, -1, "", ""},
    {"*2\r\n+e\r\n:0\r\n", true, 0, -1, "", ""},
    {"*3\r\n+e\r\n:0\r\n:7\r\n", true, 0, 7, "", ""},
    {"*4\r\n+e\r\n:0\r\n:7\r\n:9\r\n", true, 0, 7, "", ""},
    {"*3\r\n+e\r\n:-1\r\n:30000\r\n", true, -1, 30000, "", ""},
    {"*3\r\n+e\r\n:-1\r\n:-1\r\n", true, -1, -1, "", ""},
    {"*3\r\n+e\r\n:-1\r\n:-2\r\n", true, -1, -2, "", ""},
    {"*5\r\n+e\r\n:-1\r\n:5\r\n+f\r\n+1\r\n", true, -1, 5, "f", "1"},
    {"*4\r\n+e\r\n:-1\r\n:5\r\n+f\r\n", true, -1, 5, "", ""},
    {"*5\r\n+e\r\n:-1\r\n:5\r\n_\r\n+1\r\n", true, -1, 5, "", ""},
    {"*5\r\n+e\r\n:0\r\n:5\r\n+f\r\n+1\r\n", true, 0, 5, "", ""},
    {"*2\r\n+e\r\n:-4\r\n", true, -4, -1, "", ""},
    {"*3\r\n+e\r\n:-5\r\n:2\r\n", true, -5, 2, "", ""},
    {"*1\r\n+e\r\n", false, 0, 0, NULL, NULL},
    {"*2\r\n+e\r\n_\r\n", false, 0, 0, NULL, NULL},
    {"*2\r\n+e\r\n+x\r\n", false, 0, 0, NULL, NULL},
    {"*2\r\n+e\r\n$20\r\n99999999999999999999\r\n", false, 0, 0, NULL,
     NULL},
    {"*3\r\n+e\r\n:0\r\n:-1\r\n", false, 0, 0, NULL, NULL},
    {"*3\r\n+e\r\n:0\r\n+x\r\n", false, 0, 0, NULL, NULL},
    {"*2\r\n+e\r\n:-1\r\n", false, 0, 0, NULL, NULL},
    {"*3\r\n+e\r\n:-1\r\n:-3\r\n", false, 0, 0, NULL, NULL},
};

START_TEST(a_reply_that_a_script_can_return_is_read)
{
    struct hf_answer a;

    ck_assert_int_eq(hf_answer_read(&a, parsed(rows[_i].bytes)),
                     rows[_i].is_read);
    if (!rows[_i].is_read)
        return;
    ck_assert_int_eq(a.count, rows[_i].count);
    ck_assert_int_eq(a.number, rows[_i].number);
    ck_assert_uint_eq(a.field.len, strlen(rows[_i].field));
    ck_assert_mem_eq(a.field.ptr, rows[_i].field, a.field.len);
    ck_assert_uint_eq(a.value.len, strlen(rows[_i].value));
    ck_assert_mem_eq(a.value.ptr, rows[_i].value, a.value.len);
}
END_TEST

static const struct {
    const char *bytes, *mode;
} modes[] = {
    {"*6\r\n+e\r\n:-1\r\n:5\r\n+f\r\n+1\r\n+read\r\n", "read"},
    {"*6\r\n+e\r\n:-1\r\n:5\r\n+f\r\n+1\r\n_\r\n", ""},
    {"*5\r\n+e\r\n:-1\r\n:5\r\n+f\r\n+1\r\n", ""},
    {"*3\r\n+e\r\n:-1\r\n:-2\r\n", ""},
};

START_TEST(mode_follows_the_field_that_a_refusal_names)
{
    struct hf_answer a;

    ck_assert(hf_answer_read(&a, parsed(modes[_i].bytes)));
    ck_assert_uint_eq(a.mode.len, strlen(modes[_i].mode));
    ck_assert_mem_eq(a.mode.ptr, modes[_i].mode, a.mode.len);
}
END_TEST

/* A script cuts what another program wrote; what was cut is no owner's. */
static const struct {
    const char *bytes;
    size_t field_len, value_len;
    bool is_cut;
} lengths[] = {
    {"*8\r\n+e\r\n:-1\r\n:5\r\n+ff\r\n+1\r\n+\r\n:2\r\n:1\r\n", 2, 1, false},
    {"*8\r\n+e\r\n:-1\r\n:5\r\n+ff\r\n+1\r\n+\r\n:20000000\r\n:1\r\n", 20000000, 1,
     true},
    {"*8\r\n+e\r\n:-1\r\n:5\r\n+ff\r\n+1\r\n+\r\n:2\r\n:192\r\n", 2, 192, true},
    {"*8\r\n+e\r\n:-1\r\n:5\r\n+ff\r\n+1\r\n+\r\n:1\r\n:-1\r\n", 2, 1, false},
    {"*8\r\n+e\r\n:-1\r\n:5\r\n+ff\r\n+1\r\n+\r\n_\r\n+x\r\n", 2, 1, false},
    {"*5\r\n+e\r\n:-1\r\n:5\r\n+ff\r\n+1\r\n", 2, 1, false},
    {"*3\r\n+e\r\n:-1\r\n:5\r\n", 0, 0, false},
};

START_TEST(true_lengths_show_which_text_was_cut)
{
    struct hf_answer a;

    ck_assert(hf_answer_read(&a, parsed(lengths[_i].bytes)));
    ck_assert_uint_eq(a.field_full_len, lengths[_i].field_len);
    ck_assert_uint_eq(a.value_full_len, lengths[_i].value_len);
    ck_assert_int_eq(hf_answer_is_cut(&a), lengths[_i].is_cut);
}
END_TEST

static const struct {
    const char *text;
    bool is_integer;
    int64_t value;
} integers[] = {
    {"0", true, 0},
    {"-1", true, -1},
    {"007", true, 7},
    {"999999999999999999", true, INT64_C(999999999999999999)},
    {"1999999999999999999", false, 0},
    {"", false, 0},
    {"-", false, 0},
    {"+1", false, 0},
    {"1 ", false, 0},
    {"1x", false, 0},
};

START_TEST(an_integer_is_strict_decimal_text)
{
    struct hf_bytes text = {integers[_i].text, strlen(integers[_i].text)};
    int64_t value = 0;

    ck_assert_int_eq(hf_text_integer(text, &value), integers[_i].is_integer);
    ck_assert_int_eq(value, integers[_i].value);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("lock/reply");
    TCase *c = tcase_create("form");

    tcase_add_loop_test(c, a_reply_that_a_script_can_return_is_read, 0,
                        COUNT(rows));
    tcase_add_loop_test(c, mode_follows_the_field_that_a_refusal_names, 0,
                        COUNT(modes));
    tcase_add_loop_test(c, true_lengths_show_which_text_was_cut, 0,
                        COUNT(lengths));
    tcase_add_loop_test(c, an_integer_is_strict_decimal_text, 0,
                        COUNT(integers));
    suite_add_tcase(s, c);
    return suite_run(s);
}
