/* Commands as bytes: the rules W1 to W5, and sizes that cannot be had. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "resp/resp.h"
#include "tests/support/suite.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define ARGS_MAX 12

/* A command in a block of exactly the size announced: one byte more is seen
 * by the sanitizer. The caller frees it. */
static char *encode(const struct hf_resp_arg *argv, size_t argc, size_t *len)
{
    char *dst;

    *len = hf_resp_command_size(argv, argc);
    dst = malloc(*len);
    ck_assert_ptr_nonnull(dst);
    ck_assert_ptr_eq(hf_resp_put_command(dst, argv, argc), dst + *len);
    return dst;
}

/* ---- W1 to W3 ---- */

#define ARG(text) {text, sizeof(text) - 1}

static const struct command_row {
    struct hf_resp_arg argv[3];
    size_t argc;
    struct hf_resp_arg bytes;
} command_rows[] = {
    {{ARG("PING")}, 1, ARG("*1\r\n$4\r\nPING\r\n")},
    {{ARG("SET"), ARG("k"), ARG("")}, 3,
     ARG("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$0\r\n\r\n")},
    {{ARG("SET"), ARG("k"), {NULL, 0}}, 3,
     ARG("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$0\r\n\r\n")},
    {{ARG("GET"), ARG("a\r\nDEL b")}, 2,
     ARG("*2\r\n$3\r\nGET\r\n$8\r\na\r\nDEL b\r\n")},
    {{ARG("ECHO"), ARG("\x00\xff")}, 2,
     ARG("*2\r\n$4\r\nECHO\r\n$2\r\n\x00\xff\r\n")},
    {{ARG("$3\r\n"), ARG("*1\r\n")}, 2,
     ARG("*2\r\n$4\r\n$3\r\n\r\n$4\r\n*1\r\n\r\n")},
};

START_TEST(command_is_an_array_of_bulk_strings)
{
    const struct command_row *row = &command_rows[_i];
    size_t len;
    char *bytes = encode(row->argv, row->argc, &len);

    ck_assert_uint_eq(len, row->bytes.len);
    ck_assert_mem_eq(bytes, row->bytes.ptr, len);
    free(bytes);
}
END_TEST

/* ---- argument after argument ---- */

START_TEST(appended_arguments_make_the_command_that_was_opened)
{
    static const char want[] = "*5\r\n$4\r\nZADD\r\n$1\r\nk\r\n$3\r\n0.1\r\n"
                               "$20\r\n-9223372036854775808\r\n$1\r\n0\r\n";
    size_t size = hf_resp_header_size(5);
    char *bytes, *end;

    size = hf_resp_add_size(size, hf_resp_bulk_size(4));
    size = hf_resp_add_size(size, hf_resp_bulk_size(1));
    size = hf_resp_add_size(size, hf_resp_bulk_double_size(0.1));
    size = hf_resp_add_size(size, hf_resp_bulk_integer_size(INT64_MIN));
    size = hf_resp_add_size(size, hf_resp_bulk_integer_size(0));
    ck_assert_uint_eq(size, sizeof want - 1);
    bytes = malloc(size);
    ck_assert_ptr_nonnull(bytes);
    end = hf_resp_put_header(bytes, 5);
    end = hf_resp_put_bulk(end, "ZADD", 4);
    end = hf_resp_put_bulk(end, "k", 1);
    end = hf_resp_put_bulk_double(end, 0.1);
    end = hf_resp_put_bulk_integer(end, INT64_MIN);
    end = hf_resp_put_bulk_integer(end, 0);
    ck_assert_ptr_eq(end, bytes + size);
    ck_assert_mem_eq(bytes, want, size);
    free(bytes);
}
END_TEST

/* Whatever part of it is made beforehand, the command is the same. */
START_TEST(prefix_and_the_rest_are_the_command)
{
    const struct hf_resp_arg argv[] = {ARG("EVALSHA"), ARG("5f3a"), ARG("1"),
                                       ARG("key"), ARG("")};
    size_t ready = (size_t)_i, len, size;
    char *whole = encode(argv, COUNT(argv), &len), *parts = malloc(len), *end;

    ck_assert_ptr_nonnull(parts);
    size = hf_resp_prefix_size(COUNT(argv), argv, ready);
    end = hf_resp_put_prefix(parts, COUNT(argv), argv, ready);
    ck_assert_ptr_eq(end, parts + size);
    for (size_t i = ready; i < COUNT(argv); i++)
        end = hf_resp_put_bulk(end, argv[i].ptr, argv[i].len);
    ck_assert_ptr_eq(end, parts + len);
    ck_assert_mem_eq(parts, whole, len);
    free(parts);
    free(whole);
}
END_TEST

/* ---- W4 ---- */

static const struct {
    size_t len;
    size_t size;
} size_rows[] = {
    {0, 6},
    {9, 15},
    {10, 17},
    {99, 106},
    {100, 108},
    {999999, 999999 + 11},
    {1000000, 1000000 + 12},
    {UINT32_MAX, (size_t)UINT32_MAX + (sizeof(size_t) > 4 ? 15 : 0)},
    {SIZE_MAX, SIZE_MAX},
    {SIZE_MAX - 5, SIZE_MAX},
    {SIZE_MAX - 14, SIZE_MAX},
    {SIZE_MAX / 2, SIZE_MAX / 2 + (sizeof(size_t) > 4 ? 24 : 15)},
};

START_TEST(bulk_size_is_exact_or_refused)
{
    ck_assert_uint_eq(hf_resp_bulk_size(size_rows[_i].len),
                      size_rows[_i].size);
}
END_TEST

START_TEST(sum_that_overflows_stays_size_max)
{
    const struct hf_resp_arg half = {NULL, SIZE_MAX / 2};
    const struct hf_resp_arg argv[] = {half, half, {NULL, 1}};

    ck_assert_uint_eq(hf_resp_add_size(1, 2), 3);
    ck_assert_uint_eq(hf_resp_add_size(SIZE_MAX - 1, 1), SIZE_MAX);
    ck_assert_uint_eq(hf_resp_add_size(SIZE_MAX - 1, 2), SIZE_MAX);
    ck_assert_uint_eq(hf_resp_add_size(SIZE_MAX, 0), SIZE_MAX);
    ck_assert_uint_eq(hf_resp_add_size(5, SIZE_MAX), SIZE_MAX);
    ck_assert_uint_eq(hf_resp_command_size(argv, 1),
                      hf_resp_header_size(1) +
                          hf_resp_bulk_size(SIZE_MAX / 2));
    ck_assert_uint_eq(hf_resp_command_size(argv, 2), SIZE_MAX);
    ck_assert_uint_eq(hf_resp_command_size(argv, 3), SIZE_MAX);
}
END_TEST

static const struct {
    size_t argc;
    const char *bytes;
} header_rows[] = {
    {1, "*1\r\n"},
    {9, "*9\r\n"},
    {10, "*10\r\n"},
    {1048576, "*1048576\r\n"},
    {UINT32_MAX, "*4294967295\r\n"},
};

START_TEST(header_has_the_size_announced)
{
    const char *want = header_rows[_i].bytes;
    char bytes[32];
    char *end = hf_resp_put_header(bytes, header_rows[_i].argc);

    ck_assert_ptr_eq(end, bytes + strlen(want));
    ck_assert_uint_eq(hf_resp_header_size(header_rows[_i].argc),
                      strlen(want));
    ck_assert_mem_eq(bytes, want, strlen(want));
}
END_TEST

/* ---- W5 ---- */

static void random_args(struct hf_resp_arg *argv, size_t argc)
{
    for (size_t i = 0; i < argc; i++) {
        size_t len = (size_t)rand() % (rand() % 8 ? 20 : 3000);
        char *ptr = malloc(len + 1);

        ck_assert_ptr_nonnull(ptr);
        for (size_t k = 0; k < len; k++)
            ptr[k] = rand() % 3 ? (char)rand() : "\r\n$*0"[rand() % 5];
        argv[i] = (struct hf_resp_arg){ptr, len};
    }
}

static void check_decoded(const char *bytes, size_t len,
                          const struct hf_resp_arg *argv, size_t argc)
{
    struct hf_resp_node nodes[ARGS_MAX + 1];
    struct hf_resp_tape tape = {nodes, 0, ARGS_MAX + 1};
    struct hf_resp_parser p;
    struct hf_resp_iter it;
    struct hf_resp_value v, arg;

    hf_resp_init(&p, NULL, 2);
    ck_assert_int_eq(hf_resp_parse(&p, bytes, len, &tape), HF_OK);
    ck_assert_uint_eq(p.pos, len);
    v = hf_resp_first(&tape, bytes, 0);
    ck_assert_int_eq(hf_resp_type(v), HF_RESP_ARRAY);
    ck_assert_uint_eq(hf_resp_count(v), argc);
    it = hf_resp_children(v);
    for (size_t i = 0; i < argc; i++) {
        ck_assert(hf_resp_next(&it, &arg));
        ck_assert_int_eq(hf_resp_type(arg), HF_RESP_BULK);
        ck_assert(hf_resp_is_text(arg, argv[i].ptr, argv[i].len));
    }
}

/* Whatever the arguments hold, the parser gives them back. */
START_TEST(decoded_command_is_the_command)
{
    struct hf_resp_arg argv[ARGS_MAX];
    size_t argc, len;
    char *bytes;

    srand((unsigned)_i);
    argc = 1 + (size_t)rand() % ARGS_MAX;
    random_args(argv, argc);
    bytes = encode(argv, argc, &len);
    check_decoded(bytes, len, argv, argc);
    free(bytes);
    while (argc-- > 0)
        free((void *)(uintptr_t)argv[argc].ptr);
}
END_TEST

/* ---- integers ---- */

static const struct {
    int64_t n;
    const char *text;
} integer_rows[] = {
    {0, "0"},
    {7, "7"},
    {-7, "-7"},
    {10, "10"},
    {-99, "-99"},
    {100, "100"},
    {INT64_MAX, "9223372036854775807"},
    {INT64_MIN, "-9223372036854775808"},
};

START_TEST(integer_is_written_in_decimal)
{
    const char *want = integer_rows[_i].text;
    char text[HF_RESP_INTEGER_MAX];
    size_t len = hf_resp_format_integer(text, integer_rows[_i].n);

    ck_assert_uint_eq(len, strlen(want));
    ck_assert_mem_eq(text, want, len);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("resp encode");
    TCase *command = tcase_create("command"), *size = tcase_create("size");

    tcase_add_loop_test(command, command_is_an_array_of_bulk_strings, 0,
                        COUNT(command_rows));
    tcase_add_test(command, appended_arguments_make_the_command_that_was_opened);
    tcase_add_loop_test(command, prefix_and_the_rest_are_the_command, 0, 6);
    tcase_add_loop_test(command, decoded_command_is_the_command, 0, 100);
    tcase_add_loop_test(command, integer_is_written_in_decimal, 0,
                        COUNT(integer_rows));
    tcase_add_loop_test(size, bulk_size_is_exact_or_refused, 0,
                        COUNT(size_rows));
    tcase_add_test(size, sum_that_overflows_stays_size_max);
    tcase_add_loop_test(size, header_has_the_size_announced, 0,
                        COUNT(header_rows));
    suite_add_tcase(s, command);
    suite_add_tcase(s, size);
    return s;
}

int main(void)
{
    return suite_run(suite());
}
