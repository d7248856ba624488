/* What the vectors cannot say: errors in words, limits, what is done with
 * bytes once looked at, buffers and tapes that come and go. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "resp/resp.h"
#include "tests/support/suite.h"

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
    {2, "*?\r\n", 1, "a digit of a count", "?\\r\\n"},
    {2, "$?\r\n", 1, "a digit of a length", "?\\r\\n"},
    {3, "_ \r\n", 1, "CR LF behind null", " \\r\\n"},
    {3, "#x\r\n", 1, "t or f", "x\\r\\n"},
    {3, "#tt\r\n", 2, "CR LF behind a boolean", "t\\r\\n"},
    {3, ",1.\r\n", 3, "more of a double", "\\r\\n"},
    {3, ",nx\r\n", 2, "more of a double", "x\\r\\n"},
    {3, ",na\r\n", 3, "more of a double", "\\r\\n"},
    {3, ",nan(z{)\r\n", 6, "more of a double", "{)\\r\\n"},
    {3, ",nan(Z[)\r\n", 6, "more of a double", "[)\\r\\n"},
    {3, ",nan(@)\r\n", 5, "more of a double", "@)\\r\\n"},
    {3, ",nan(_\r\n", 6, "more of a double", "\\r\\n"},
    {3, "(1.\r\n", 2, "a digit of a big number", ".\\r\\n"},
    {3, "=3\r\ntxt\r\n", 1, "a length of 4 or more", "3\\r\\ntxt\\r\\n"},
    {3, "=1\r\na\r\n:1\r\n:1\r\n", 1, "a length of 4 or more",
     "1\\r\\na\\r\\n:1\\r\\n:1\\r\\n"},
    {3, "=5\r\ntxt\\a\r\n", 7, "a colon behind the format", "\\\\a\\r\\n"},
    {3, "$?\r\n+a\r\n", 4, "a chunk", "+a\\r\\n"},
    {3, "*?\r\n;", 4, "a value or the end", ";"},
    {3, "*?\r\n.x\r\n", 5, "CR LF behind the end of a stream", "x\\r\\n"},
    {3, "*?\r\n|0\r\n.", 8, "the value of an attribute", "."},
    {3, "%?\r\n:1\r\n.", 8, "the value of a map's key", "."},
    {3, "@aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 0,
     "a type byte of RESP3", "@aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"},
};

START_TEST(error_names_position_byte_and_expectation)
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

/* What servers send and the texts do not have. The lines that are the same in
 * both modes are in the vectors. */
static const struct error_row strict_rows[] = {
    {3, ",-nan\r\n", 2, "more of a double", "nan\\r\\n"},
    {3, ",NAN\r\n", 1, "more of a double", "NAN\\r\\n"},
    {3, ",nan(1)\r\n", 4, "more of a double", "(1)\\r\\n"},
    {3, "*2\r\n>1\r\n+a\r\n_\r\n", 4, "a type byte of RESP3 but >",
     ">1\\r\\n+a\\r\\n_\\r\\n"},
    {3, "*?\r\n>1\r\n+a\r\n.\r\n", 4, "a value or the end",
     ">1\\r\\n+a\\r\\n.\\r\\n"},
    {3, ">0\r\n", 1, "the kind of a push", "0\\r\\n"},
};

START_TEST(strict_parser_accepts_only_specified_forms)
{
    const struct error_row *row = &strict_rows[_i];
    size_t len = strlen(row->bytes);

    renew(NULL, row->protocol);
    ck_assert_int_eq(parse_whole(row->bytes, len), HF_RESP_MORE);
    ck_assert_uint_eq(parser.start, len);
    renew(NULL, row->protocol);
    hf_resp_set_strict(&parser, true);
    ck_assert_int_eq(parse_whole(row->bytes, len), HF_E_PROTOCOL);
    ck_assert_uint_eq(parser.error.offset, row->offset);
    ck_assert_str_eq(parser.error.expected, row->expected);
    ck_assert_str_eq(parser.error.found, row->found);
}
END_TEST

START_TEST(strict_parser_takes_all_that_the_texts_have)
{
    static const char bytes[] =
        ",nan\r\n,inf\r\n,-inf\r\n,-0\r\n,+1.5e3\r\n>1\r\n+a\r\n$005\r\nhello\r\n"
        "|1\r\n+a\r\n:1\r\n>2\r\n+a\r\n:+5\r\n$-1\r\n*0\r\n%?\r\n.\r\n";

    renew(NULL, 3);
    hf_resp_set_strict(&parser, true);
    ck_assert_int_eq(parse_whole(bytes, sizeof bytes - 1), HF_RESP_MORE);
    ck_assert_uint_eq(parser.start, sizeof bytes - 1);
    renew(NULL, 3);
    hf_resp_set_strict(&parser, true);
    ck_assert_int_eq(parse_bytewise(bytes, sizeof bytes - 1), HF_RESP_MORE);
    ck_assert_uint_eq(parser.start, sizeof bytes - 1);
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

/* ---- integers ---- */

#define INTEGER_SIGNS 3
#define INTEGER_DIGITS 19

/* Zeros, as many as may be, in front of every count of other digits; with bytes
 * enough behind for what reads fast, and without. */
START_TEST(integer_is_the_same_however_many_digits_it_has)
{
    static const char digits[] = "1234567890123456789";
    const char sign = "-+"[_i % INTEGER_SIGNS];
    const char *tail = &digits[_i / INTEGER_SIGNS];
    int64_t want = sign == '-' ? -strtoll(tail, NULL, 10)
                               : strtoll(tail, NULL, 10);
    char bytes[100];

    for (int zeros = !*tail; zeros < 40; zeros++) {
        int len = snprintf(bytes, sizeof bytes, ":%.1s%.*d%s\r\n", &sign,
                           zeros, 0, tail);

        memset(bytes + len, '+', sizeof bytes - (size_t)len);
        for (size_t behind = 0; behind <= 32; behind += 32) {
            renew(NULL, 3);
            ck_assert_int_eq(parse(bytes, (size_t)len + behind), HF_OK);
            ck_assert_uint_eq(parser.pos, (size_t)len);
            ck_assert_int_eq(nodes[0].type, HF_RESP_INTEGER);
            ck_assert_int_eq(nodes[0].as.integer, want);
        }
    }
}
END_TEST

static const char *const beyond_rows[] = {
    "9223372036854775808",   "-9223372036854775809", "18446744073709551615",
    "18446744073709551616",  "18446744073709551617", "-18446744073709551617",
    "36893488147419103233",  "99999999999999999999", "100000000000000000000",
    "0018446744073709551617", "340282366920938463463374607431768211457",
};

START_TEST(integer_beyond_64_bits_is_refused)
{
    char bytes[100];
    int len = snprintf(bytes, sizeof bytes, ":%s\r\n%032d", beyond_rows[_i],
                       0);

    ck_assert_int_lt(len, sizeof bytes);
    for (int behind = 0; behind <= 32; behind += 32) {
        renew(NULL, 3);
        ck_assert_int_eq(parse(bytes, (size_t)(len - behind)), HF_E_PROTOCOL);
    }
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
    {{NO, NO, 3, NO, NO}, "$4\r\nabcd\r\n", HF_E_LIMIT, 0},
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

/* What reads fast looks at bytes behind a value; it must not miss a limit. */
START_TEST(limit_is_kept_with_any_following_bytes)
{
    const struct limit_row *row = &limit_rows[_i];
    char bytes[100];
    int len = snprintf(bytes, sizeof bytes, "%s%s", row->bytes,
                       "+OK\r\n+OK\r\n+OK\r\n+OK\r\n+OK\r\n+OK\r\n");

    ck_assert_int_lt(len, sizeof bytes);
    if (row->status != HF_E_LIMIT)
        return;
    renew(&row->limits, 3);
    ck_assert_int_eq(parse_whole(bytes, (size_t)len), HF_E_LIMIT);
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

/* An attribute of as many nodes as may stand before a value, then `rest`. */
static char *many_attributes(const char *rest, size_t *len)
{
    const size_t children = HF_RESP_ATTRIBUTES_MAX - 1;
    char *bytes = malloc(children * 4 + 40), *end = bytes;

    ck_assert_ptr_nonnull(bytes);
    end += sprintf(end, "|%u\r\n", (unsigned)children / 2);
    for (size_t i = 0; i < children; i++, end += 4)
        memcpy(end, ":1\r\n", 4);
    end += sprintf(end, "%s", rest);
    *len = (size_t)(end - bytes);
    return bytes;
}

static const struct {
    const char *rest;
    hf_status status;
    uint32_t left;         /* bytes from the refused value on */
} attributes_rows[] = {
    {"+a\r\n", HF_OK, 0},
    {"|0\r\n+a\r\n", HF_E_LIMIT, 4},
};

START_TEST(attributes_are_as_many_as_a_value_can_count)
{
    size_t len;
    char *bytes = many_attributes(attributes_rows[_i].rest, &len);
    struct hf_resp_value v, attribute;

    renew(NULL, 3);
    tape.room = HF_RESP_ATTRIBUTES_MAX + 2;
    tape.nodes = malloc(tape.room * sizeof *tape.nodes);
    ck_assert_ptr_nonnull(tape.nodes);
    ck_assert_int_eq(parse(bytes, len), attributes_rows[_i].status);
    if (parser.broken) {
        ck_assert_uint_eq(parser.error.offset, len - attributes_rows[_i].left);
    } else {
        v = hf_resp_first(&tape, bytes, 0);
        ck_assert(hf_resp_is_text(v, "a", 1));
        ck_assert_int_eq(hf_resp_attributes(v, 0, &attribute), HF_OK);
        ck_assert_uint_eq(hf_resp_count(attribute), HF_RESP_ATTRIBUTES_MAX - 1);
    }
    free(tape.nodes);
    free(bytes);
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

START_TEST(value_ends_at_pos)
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
START_TEST(drop_after_an_error_moves_its_offset)
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

/* They are of no use to the connection that begins, wherever they come from. */
START_TEST(drop_forgets_nodes_of_the_connection_before)
{
    static const char bytes[] = "*2\r\n:1\r\n:2\r\n";
    struct hf_resp_value child;
    size_t dropped;
    int64_t n;

    renew(NULL, 3);
    ck_assert_int_eq(parse("*2\r\n+a\r\n+b\r\n", 12), HF_OK);
    hf_resp_init(&parser, NULL, 3);
    ck_assert_int_eq(parse(bytes, 8), HF_RESP_MORE);
    ck_assert_uint_eq(tape.count, 5);
    hf_resp_drop(&parser, &tape, &dropped);
    ck_assert_uint_eq(dropped, 0);
    ck_assert_uint_eq(tape.count, 2);
    ck_assert_int_eq(parse(bytes, sizeof bytes - 1), HF_OK);
    ck_assert_uint_eq(tape.count, 3);
    ck_assert_int_eq(hf_resp_element(hf_resp_first(&tape, bytes, 0), 1, &child),
                     HF_OK);
    ck_assert_int_eq(hf_resp_integer(child, &n), HF_OK);
    ck_assert_int_eq(n, 2);
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

START_TEST(bytes_that_came_since_are_not_wanted)
{
    renew(NULL, 3);
    ck_assert_int_eq(parse("$5\r\nab", 6), HF_RESP_MORE);
    ck_assert_uint_eq(hf_resp_wanted(&parser, 6), 5);
    ck_assert_uint_eq(hf_resp_wanted(&parser, 9), 2);
    ck_assert_uint_eq(hf_resp_wanted(&parser, 10), 1);
    ck_assert_uint_eq(hf_resp_wanted(&parser, 11), 1);
    ck_assert_uint_eq(hf_resp_wanted(&parser, 99), 1);
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

/* "+OK" behind a string that ends `before` bytes before the last offset. */
static const struct {
    uint32_t before;
    hf_status status;
} last_rows[] = {
    {6, HF_OK},
    {5, HF_OK},
    {4, HF_E_LIMIT},
    {1, HF_E_LIMIT},
    {0, HF_E_LIMIT},
};

START_TEST(value_may_end_at_the_last_offset_and_not_after)
{
    uint32_t begin = UINT32_MAX - last_rows[_i].before;
    size_t room = (size_t)UINT32_MAX + 4096;
    char *buf;
    int head;

    if (sizeof(size_t) < 8)
        return;
    buf = mmap(NULL, room, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ck_assert_ptr_ne(buf, MAP_FAILED);
    head = sprintf(buf, "$%u\r\n", (unsigned)begin - 15);
    ck_assert_int_eq(head, 13);
    memcpy(buf + begin - 2, "\r\n+OK\r\n", 7);
    renew(&boundless, 3);
    ck_assert_int_eq(parse(buf, room), HF_OK);
    ck_assert_uint_eq(parser.pos, begin);
    ck_assert_int_eq(parse(buf, room), last_rows[_i].status);
    ck_assert_uint_eq(tape.count, last_rows[_i].status == HF_OK ? 2 : 1);
    munmap(buf, room);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("resp parse");
    TCase *errors = tcase_create("errors"), *limits = tcase_create("limits");
    TCase *bytes = tcase_create("bytes"), *drop = tcase_create("drop");

    tcase_add_loop_test(errors, error_names_position_byte_and_expectation, 0,
                        COUNT(error_rows));
    tcase_add_loop_test(errors, strict_parser_accepts_only_specified_forms, 0,
                        COUNT(strict_rows));
    tcase_add_test(errors, strict_parser_takes_all_that_the_texts_have);
    tcase_add_test(errors, error_is_repeated_until_the_next_init);
    tcase_add_loop_test(limits, limit_is_kept_to_the_byte, 0,
                        COUNT(limit_rows));
    tcase_add_loop_test(limits, limit_is_kept_with_any_following_bytes, 0,
                        COUNT(limit_rows));
    tcase_add_loop_test(limits, limits_without_bound_do_not_overflow, 0,
                        COUNT(boundless_rows));
    tcase_set_timeout(limits, 60);
    tcase_add_loop_test(limits, attributes_are_as_many_as_a_value_can_count, 0,
                        COUNT(attributes_rows));
    tcase_add_test(limits, memory_follows_bytes_not_promises);
    tcase_add_test(limits, buffer_beyond_4_gib_is_refused_not_wrapped);
    tcase_add_loop_test(limits, value_may_end_at_the_last_offset_and_not_after,
                        0, COUNT(last_rows));
    tcase_add_test(bytes, byte_of_a_long_string_is_looked_at_once);
    tcase_add_test(bytes, no_bytes_and_no_tape_are_no_error);
    tcase_add_test(bytes, value_ends_at_pos);
    tcase_add_loop_test(bytes, wanted_counts_a_string_to_its_end, 0,
                        COUNT(wanted_rows));
    tcase_add_loop_test(bytes, integer_is_the_same_however_many_digits_it_has,
                        0, INTEGER_SIGNS * (INTEGER_DIGITS + 1));
    tcase_add_loop_test(bytes, integer_beyond_64_bits_is_refused, 0,
                        COUNT(beyond_rows));
    tcase_add_test(bytes, bytes_that_came_since_are_not_wanted);
    tcase_add_test(drop, drop_keeps_only_the_value_under_way);
    tcase_add_test(drop, drop_after_a_whole_value_leaves_nothing);
    tcase_add_test(drop, drop_forgets_nodes_of_the_connection_before);
    tcase_add_test(drop, drop_after_an_error_moves_its_offset);
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
    return suite_run(suite());
}
