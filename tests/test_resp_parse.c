/* What the vectors cannot say: errors in words, limits, what is done with
 * bytes once looked at, buffers and tapes that come and go. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "resp/resp.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define NODES 64

static struct hf_resp_parser parser;
static struct hf_resp_node nodes[NODES];
static struct hf_resp_tape tape;

/* A new parser and an empty tape. */
static void renew(const struct hf_resp_limits *limits, int protocol)
{
    hf_resp_init(&parser, limits, protocol);
    tape = (struct hf_resp_tape){nodes, 0, NODES};
}

static hf_status parse(const char *bytes, size_t len)
{
    return hf_resp_parse(&parser, bytes, len, &tape);
}

/* All the bytes at once; the last answer. */
static hf_status parse_whole(const char *bytes, size_t len)
{
    hf_status status;

    do {
        status = parse(bytes, len);
    } while (status == HF_OK);
    return status;
}

static hf_status parse_bytewise(const char *bytes, size_t len)
{
    hf_status status = HF_RESP_MORE;

    for (size_t end = 1; end <= len && status >= 0; end++)
        status = parse_whole(bytes, end);
    return status;
}

/* ---- errors in words ---- */

static const struct error_row {
    int protocol;
    const char *bytes;
    uint32_t offset;
    const char *expected;
    const char *found;
} error_rows[] = {
    {3, "HTTP/1.1 400 Bad", 0, "a type byte of RESP3", "HTTP/1.1 400 Bad"},
    {2, "_\r\n", 0, "one of + - : $ *", "_\\r\\n"},
    {3, "+OK\n", 3, "CR in front of LF", "\\n"},
    {3, "+OK\rx", 4, "LF behind CR", "x"},
    {3, ":12x\r\n", 3, "a digit of an integer of 64 bits", "x\\r\\n"},
    {3, ":\r\n", 1, "a digit of an integer of 64 bits", "\\r\\n"},
    {3, ":9223372036854775808\r\n", 19, "a digit of an integer of 64 bits",
     "8\\r\\n"},
    {3, "$3x\r\n", 2, "a digit of a length", "x\\r\\n"},
    {3, "$3\r\nabcd\xff\x01", 7, "CR LF behind the string",
     "d\\xff\\x01"},
    {3, "*-2\r\n", 1, "a digit of a count", "-2\\r\\n"},
    {3, "*1\r\n*\r\n", 5, "a digit of a count", "\\r\\n"},
    {3, "_ \r\n", 1, "CR LF behind null", " \\r\\n"},
    {3, "#x\r\n", 1, "t or f", "x\\r\\n"},
    {3, "#tt\r\n", 2, "CR LF behind a boolean", "t\\r\\n"},
    {3, ",1.\r\n", 3, "more of a double", "\\r\\n"},
    {3, "(1.\r\n", 2, "a digit of a big number", ".\\r\\n"},
    {3, "=3\r\ntxt\r\n", 1, "a length of 4 or more", "3\\r\\ntxt\\r\\n"},
    {3, "=5\r\ntxt\\a\r\n", 7, "a colon behind the format", "\\\\a\\r\\n"},
    {3, "$?\r\n+a\r\n", 4, "a chunk", "+a\\r\\n"},
    {3, "*?\r\n;", 4, "a value or the end", ";"},
    {3, "*?\r\n.x\r\n", 5, "CR LF behind the end of a stream", "x\\r\\n"},
    {3, "*?\r\n|0\r\n.", 8, "the value of an attribute", "."},
    {3, "%?\r\n:1\r\n.", 8, "the value of a map's key", "."},
    {3, "@aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 0,
     "a type byte of RESP3", "@aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"},
};

START_TEST(error_says_where_what_and_instead_of_what)
{
    const struct error_row *row = &error_rows[_i];

    renew(NULL, row->protocol);
    ck_assert_int_eq(parse_whole(row->bytes, strlen(row->bytes)),
                     HF_E_PROTOCOL);
    ck_assert_uint_eq(parser.error.offset, row->offset);
    ck_assert_str_eq(parser.error.expected, row->expected);
    ck_assert_str_eq(parser.error.found, row->found);
}
END_TEST

START_TEST(error_is_repeated_until_the_next_init)
{
    renew(NULL, 3);
    ck_assert_int_eq(parse("x", 1), HF_E_PROTOCOL);
    ck_assert_int_eq(parse("+OK\r\n", 5), HF_E_PROTOCOL);
    ck_assert_uint_eq(tape.count, 0);
    hf_resp_init(&parser, NULL, 3);
    ck_assert_int_eq(parse("+OK\r\n", 5), HF_OK);
}
END_TEST

/* ---- limits ---- */

#define NO UINT32_MAX
static const struct hf_resp_limits boundless = {NO, NO, NO, NO, NO};

/* One limit each, at, below and above: `offset` is that of the refusal. */
static const struct limit_row {
    struct hf_resp_limits limits;   /* depth, line, bulk, elements, reply */
    const char *bytes;
    hf_status status;
    uint32_t offset;
} limit_rows[] = {
    {{0, NO, NO, NO, NO}, ":1\r\n", HF_RESP_MORE, 0},
    {{0, NO, NO, NO, NO}, "*0\r\n", HF_E_LIMIT, 0},
    {{1, NO, NO, NO, NO}, "*1\r\n:1\r\n", HF_RESP_MORE, 0},
    {{1, NO, NO, NO, NO}, "*1\r\n*0\r\n", HF_E_LIMIT, 4},
    {{1, NO, NO, NO, NO}, "*1\r\n$?\r\n", HF_E_LIMIT, 4},
    {{1, NO, NO, NO, NO}, "*2\r\n:1\r\n|0\r\n", HF_E_LIMIT, 8},
    {{1, NO, NO, NO, NO}, "|0\r\n|0\r\n*0\r\n", HF_RESP_MORE, 0},
    {{2, NO, NO, NO, NO}, "*2\r\n*1\r\n:1\r\n*1\r\n:1\r\n", HF_RESP_MORE, 0},

    {{NO, 3, NO, NO, NO}, "+ab\r\n", HF_RESP_MORE, 0},
    {{NO, 3, NO, NO, NO}, "+abc\r\n", HF_RESP_MORE, 0},
    {{NO, 3, NO, NO, NO}, "+abcd\r\n", HF_E_LIMIT, 4},
    {{NO, 3, NO, NO, NO}, "-abcd\r\n", HF_E_LIMIT, 4},
    {{NO, 3, NO, NO, NO}, "(1234\r\n", HF_E_LIMIT, 4},
    {{NO, 3, NO, NO, NO}, ",1.25\r\n", HF_E_LIMIT, 4},
    {{NO, 1, NO, NO, NO}, "+OK\r\n", HF_E_LIMIT, 2},
    {{NO, 0, NO, NO, NO}, "+\r\n", HF_RESP_MORE, 0},
    {{NO, 0, NO, NO, NO}, "$3\r\nabc\r\n:1234\r\n", HF_RESP_MORE, 0},

    {{NO, NO, 3, NO, NO}, "$2\r\nab\r\n", HF_RESP_MORE, 0},
    {{NO, NO, 3, NO, NO}, "$3\r\nabc\r\n", HF_RESP_MORE, 0},
    {{NO, NO, 3, NO, NO}, "$4\r\n", HF_E_LIMIT, 0},
    {{NO, NO, 3, NO, NO}, "!4\r\n", HF_E_LIMIT, 0},
    {{NO, NO, 3, NO, NO}, "=4\r\n", HF_E_LIMIT, 0},
    {{NO, NO, 3, NO, NO}, "$?\r\n;2\r\nab\r\n;1\r\nc\r\n;0\r\n", HF_RESP_MORE,
     0},
    {{NO, NO, 3, NO, NO}, "$?\r\n;2\r\nab\r\n;2\r\n", HF_E_LIMIT, 12},

    {{NO, NO, NO, 2, NO}, "*1\r\n:1\r\n", HF_RESP_MORE, 0},
    {{NO, NO, NO, 2, NO}, "*2\r\n:1\r\n|0\r\n:2\r\n", HF_RESP_MORE, 0},
    {{NO, NO, NO, 2, NO}, "*3\r\n", HF_E_LIMIT, 0},
    {{NO, NO, NO, 2, NO}, "~3\r\n", HF_E_LIMIT, 0},
    {{NO, NO, NO, 2, NO}, ">3\r\n", HF_E_LIMIT, 0},
    {{NO, NO, NO, 3, NO}, "%1\r\n:1\r\n:1\r\n", HF_RESP_MORE, 0},
    {{NO, NO, NO, 3, NO}, "%2\r\n", HF_E_LIMIT, 0},
    {{NO, NO, NO, 3, NO}, "|2\r\n", HF_E_LIMIT, 0},
    {{NO, NO, NO, 2, NO}, "*?\r\n:1\r\n:2\r\n.\r\n", HF_RESP_MORE, 0},
    {{NO, NO, NO, 2, NO}, "*?\r\n:1\r\n:2\r\n|0\r\n:3\r\n", HF_E_LIMIT, 16},
    {{NO, NO, NO, 2, NO}, "*?\r\n:1\r\n:2\r\n>0\r\n", HF_E_LIMIT, 12},
    {{NO, NO, NO, 0, NO}, "*0\r\n*?\r\n.\r\n", HF_RESP_MORE, 0},
    {{NO, NO, NO, 1, NO}, "$?\r\n;1\r\na\r\n;1\r\nb\r\n;0\r\n", HF_RESP_MORE,
     0},

    {{NO, NO, NO, NO, 9}, "$3\r\nabc\r\n$3\r\nabc\r\n", HF_RESP_MORE, 0},
    {{NO, NO, NO, NO, 9}, "+OK\r\n$4\r\n", HF_E_LIMIT, 5},
    {{NO, NO, NO, NO, 9}, "+OK\r\n*2\r\n:1\r\n:2\r\n", HF_E_LIMIT, 14},
    {{NO, NO, NO, NO, 9}, "|0\r\n|0\r\n:1\r\n", HF_E_LIMIT, 9},
    {{NO, NO, NO, NO, 5}, "+OK\r\n+OK\r\n", HF_RESP_MORE, 0},
    {{NO, NO, NO, NO, 4}, "+OK\r\n", HF_E_LIMIT, 4},
    {{NO, NO, NO, NO, 0}, "+", HF_E_LIMIT, 0},
};

START_TEST(limit_is_kept_to_the_byte)
{
    const struct limit_row *row = &limit_rows[_i];
    size_t len = strlen(row->bytes);

    renew(&row->limits, 3);
    ck_assert_int_eq(parse_whole(row->bytes, len), row->status);
    ck_assert_uint_eq(parser.error.offset, row->offset);
    renew(&row->limits, 3);
    ck_assert_int_eq(parse_bytewise(row->bytes, len), row->status);
    ck_assert_uint_eq(parser.error.offset, row->offset);
}
END_TEST

/* Limits set to the type's maximum must not overflow (S5). */
static const struct {
    const char *bytes;
    hf_status status;
} boundless_rows[] = {
    {"$4294967295\r\n", HF_E_LIMIT},   /* would end behind offset 2^32 - 1 */
    {"$4294967280\r\n", HF_RESP_MORE},
    {"$4294967281\r\n", HF_E_LIMIT},
    {"$18446744073709551615\r\n", HF_E_LIMIT},
    {"$?\r\n;4294967295\r\n", HF_E_LIMIT},
    {"*4294967295\r\n", HF_RESP_MORE},
    {"*4294967296\r\n", HF_E_LIMIT},
    {"%2147483647\r\n", HF_RESP_MORE},
    {"%2147483648\r\n", HF_E_LIMIT},
    {"%9223372036854775808\r\n", HF_E_LIMIT},
};

START_TEST(limits_without_bound_do_not_overflow)
{
    const char *bytes = boundless_rows[_i].bytes;

    renew(&boundless, 3);
    ck_assert_int_eq(parse_whole(bytes, strlen(bytes)),
                     boundless_rows[_i].status);
}
END_TEST

/* A header's promise costs one node, whatever it promises (S2, S4). */
START_TEST(memory_follows_bytes_not_promises)
{
    static const char bomb[] = "*1000000\r\n*1000000\r\n*1000000\r\n";

    renew(NULL, 3);
    ck_assert_int_eq(parse(bomb, sizeof bomb - 1), HF_RESP_MORE);
    ck_assert_uint_eq(tape.count, 3);
}
END_TEST

/* ---- bytes looked at ---- */

/* Once a page is full it is made unreadable: whoever goes back to it dies.
 * `head`, then 'a's in small pieces, then `tail`. */
static void feed_with_pages_locked(const char *head, size_t len,
                                   const char *tail)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t room = len + 2 * page;
    char *buf = mmap(NULL, room, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    size_t locked = 0, end = strlen(head);

    ck_assert_ptr_ne(buf, MAP_FAILED);
    memcpy(buf, head, end);
    memset(buf + end, 'a', len);
    memcpy(buf + end + len, tail, strlen(tail));
    for (len += end; end < len; end = len - end < 100 ? len : end + 100) {
        ck_assert_int_eq(parse(buf, end), HF_RESP_MORE);
        if (end - locked > page) {
            ck_assert_int_eq(mprotect(buf + locked, page, PROT_NONE), 0);
            locked += page;
        }
    }
    ck_assert_int_eq(parse(buf, end + strlen(tail)), HF_OK);
    munmap(buf, room);
}

START_TEST(byte_of_a_long_string_is_looked_at_once)
{
    renew(NULL, 3);
    feed_with_pages_locked("+", 65536, "\r\n");
    renew(NULL, 3);
    feed_with_pages_locked("-", 65536, "\r\n");
    renew(NULL, 3);
    feed_with_pages_locked("$1000000\r\n", 1000000, "\r\n");
    renew(NULL, 3);
    feed_with_pages_locked("$?\r\n;60000\r\n", 60000, "\r\n;0\r\n");
}
END_TEST

/* ---- buffers and tapes that come and go ---- */

START_TEST(no_bytes_and_no_tape_are_no_error)
{
    hf_resp_init(&parser, NULL, 3);
    tape = (struct hf_resp_tape){NULL, 0, 0};
    ck_assert_int_eq(parse(NULL, 0), HF_RESP_MORE);
    ck_assert_int_eq(parse("+O", 2), HF_RESP_MORE);
    ck_assert_int_eq(parse("+OK\r\n", 5), HF_RESP_ROOM);
    tape = (struct hf_resp_tape){nodes, 0, 1};
    ck_assert_int_eq(parse("+OK\r\n", 5), HF_OK);
}
END_TEST

START_TEST(value_ends_where_pos_says)
{
    static const char bytes[] = "+OK\r\n*1\r\n:7\r\n";

    renew(NULL, 2);
    ck_assert_int_eq(parse(bytes, sizeof bytes - 1), HF_OK);
    ck_assert_uint_eq(parser.pos, 5);
    ck_assert_int_eq(parse(bytes, sizeof bytes - 1), HF_OK);
    ck_assert_uint_eq(parser.pos, 13);
    ck_assert_int_eq(parse(bytes, sizeof bytes - 1), HF_RESP_MORE);
}
END_TEST

START_TEST(drop_keeps_only_the_value_under_way)
{
    static const char bytes[] = "+OK\r\n|1\r\n+k\r\n:5\r\n*2\r\n$2\r\nab\r\n:7";
    static const char rest[] = "|1\r\n+k\r\n:5\r\n*2\r\n$2\r\nab\r\n:7\r\n";
    struct hf_resp_value v, child;
    size_t dropped;

    renew(NULL, 3);
    ck_assert_int_eq(parse_whole(bytes, sizeof bytes - 1), HF_RESP_MORE);
    hf_resp_drop(&parser, &tape, &dropped);
    ck_assert_uint_eq(dropped, 5);
    hf_resp_drop(&parser, &tape, &dropped);
    ck_assert_uint_eq(dropped, 0);
    ck_assert_int_eq(parse(rest, sizeof rest - 1), HF_OK);
    v = hf_resp_first(&tape, rest, 0);
    ck_assert_uint_eq(hf_resp_count(v), 2);
    ck_assert_int_eq(hf_resp_element(v, 0, &child), HF_OK);
    ck_assert(hf_resp_is_text(child, "ab", 2));
    ck_assert_int_eq(hf_resp_attribute(v, "k", 1, &child), HF_OK);
    ck_assert_uint_eq(hf_resp_next_index(&tape, 0), tape.count);
}
END_TEST

START_TEST(drop_after_a_whole_value_leaves_nothing)
{
    size_t dropped;

    renew(NULL, 3);
    ck_assert_int_eq(parse("*1\r\n+a\r\n", 8), HF_OK);
    hf_resp_drop(&parser, &tape, &dropped);
    ck_assert_uint_eq(dropped, 8);
    ck_assert_uint_eq(tape.count, 0);
    ck_assert_int_eq(parse("+OK\r\n", 5), HF_OK);
}
END_TEST

/* The offset stays that of the buffer, which has become shorter. */
START_TEST(drop_behind_an_error_moves_its_offset)
{
    size_t dropped;

    renew(NULL, 3);
    ck_assert_int_eq(parse_whole("+OK\r\n:x\r\n", 9), HF_E_PROTOCOL);
    ck_assert_uint_eq(parser.error.offset, 6);
    hf_resp_drop(&parser, &tape, &dropped);
    ck_assert_uint_eq(dropped, 5);
    ck_assert_uint_eq(parser.error.offset, 1);
    ck_assert_int_eq(parse(":x\r\n", 4), HF_E_PROTOCOL);
}
END_TEST

/* Between two values a caller may empty the tape on its own. */
START_TEST(tape_may_be_emptied_between_values)
{
    static const char bytes[] = "*1\r\n:1\r\n*1\r\n:2";
    size_t dropped;

    renew(NULL, 3);
    ck_assert_int_eq(parse(bytes, sizeof bytes - 1), HF_OK);
    tape.count = 0;
    ck_assert_int_eq(parse(bytes, sizeof bytes - 1), HF_RESP_MORE);
    hf_resp_drop(&parser, &tape, &dropped);
    ck_assert_uint_eq(dropped, 8);
    ck_assert_int_eq(parse("*1\r\n:2\r\n", 8), HF_OK);
    ck_assert_uint_eq(tape.count, 2);
}
END_TEST

START_TEST(protocol_changes_between_values)
{
    renew(NULL, 2);
    ck_assert_int_eq(parse("+OK\r\n%0\r\n", 9), HF_OK);
    hf_resp_set_protocol(&parser, 3);
    ck_assert_int_eq(parse("+OK\r\n%0\r\n", 9), HF_OK);
    hf_resp_set_protocol(&parser, 2);
    ck_assert_int_eq(parse("+OK\r\n%0\r\n_\r\n", 12), HF_E_PROTOCOL);
}
END_TEST

static const struct {
    const char *bytes;
    size_t wanted;
} wanted_rows[] = {
    {"", 1},
    {"+O", 1},
    {"$10\r\n", 12},
    {"$10\r\nabc", 9},
    {"$10\r\n0123456789\r", 1},
    {"$10\r\n0123456789\r\n", 1},
    {"*2\r\n$5\r\nab", 5},
    {"$?\r\n;5\r\nab", 5},
};

START_TEST(wanted_counts_a_string_to_its_end)
{
    const char *bytes = wanted_rows[_i].bytes;

    renew(NULL, 3);
    (void)parse_whole(bytes, strlen(bytes));
    ck_assert_uint_eq(hf_resp_wanted(&parser, strlen(bytes)),
                      wanted_rows[_i].wanted);
}
END_TEST

/* Offsets have 32 bits: what does not end before 4 GiB is refused, unless what
 * stands before it was dropped. The memory is never touched but in places. */
START_TEST(buffer_beyond_4_gib_is_refused_not_wrapped)
{
    static const char head[] = "$500000000\r\n";
    const size_t each = sizeof head - 1 + 500000000 + 2, count = 9;
    size_t room = each * count, dropped;
    char *buf;

    if (sizeof(size_t) < 8)
        return;
    buf = mmap(NULL, room, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ck_assert_ptr_ne(buf, MAP_FAILED);
    for (size_t i = 0; i < count; i++) {
        memcpy(buf + i * each, head, sizeof head - 1);
        memcpy(buf + (i + 1) * each - 2, "\r\n", 2);
    }
    renew(&boundless, 3);
    for (size_t i = 0; i < count - 1; i++)
        ck_assert_int_eq(parse(buf, room), HF_OK);
    hf_resp_drop(&parser, &tape, &dropped);
    ck_assert_int_eq(parse(buf + dropped, room - dropped), HF_OK);

    renew(&boundless, 3);
    ck_assert_int_eq(parse_whole(buf, room), HF_E_LIMIT);
    ck_assert_uint_eq(tape.count, count - 1);
    munmap(buf, room);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("resp parse");
    TCase *errors = tcase_create("errors"), *limits = tcase_create("limits");
    TCase *bytes = tcase_create("bytes"), *drop = tcase_create("drop");

    tcase_add_loop_test(errors, error_says_where_what_and_instead_of_what, 0,
                        COUNT(error_rows));
    tcase_add_test(errors, error_is_repeated_until_the_next_init);
    tcase_add_loop_test(limits, limit_is_kept_to_the_byte, 0,
                        COUNT(limit_rows));
    tcase_add_loop_test(limits, limits_without_bound_do_not_overflow, 0,
                        COUNT(boundless_rows));
    tcase_add_test(limits, memory_follows_bytes_not_promises);
    tcase_add_test(limits, buffer_beyond_4_gib_is_refused_not_wrapped);
    tcase_add_test(bytes, byte_of_a_long_string_is_looked_at_once);
    tcase_add_test(bytes, no_bytes_and_no_tape_are_no_error);
    tcase_add_test(bytes, value_ends_where_pos_says);
    tcase_add_loop_test(bytes, wanted_counts_a_string_to_its_end, 0,
                        COUNT(wanted_rows));
    tcase_add_test(drop, drop_keeps_only_the_value_under_way);
    tcase_add_test(drop, drop_after_a_whole_value_leaves_nothing);
    tcase_add_test(drop, drop_behind_an_error_moves_its_offset);
    tcase_add_test(drop, tape_may_be_emptied_between_values);
    tcase_add_test(drop, protocol_changes_between_values);
    suite_add_tcase(s, errors);
    suite_add_tcase(s, limits);
    suite_add_tcase(s, bytes);
    suite_add_tcase(s, drop);
    return s;
}

int main(void)
{
    SRunner *runner = srunner_create(suite());
    int failed;

    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
