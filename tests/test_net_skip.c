/* Where a value ends that is not kept: what hf_resp_parse takes, wherever the bytes
 * are cut. Source: skip.h. */
#include <stdio.h>
#include <string.h>

#include "net/link/skip.h"
#include "tests/support/dice.h"
#include "tests/support/suite.h"

#define NODES 4096
#define RANDOM_VALUES 1000
#define SPOILED_EACH 4
#define BYTES_MAX 16384

static struct hf_resp_node nodes[NODES];

/* Bytes of the first value; 0: it is not whole; < 0: why it is none. */
static long parsed(const char *bytes, size_t len, int protocol)
{
    struct hf_resp_parser p;
    struct hf_resp_tape tape = {.nodes = nodes, .room = NODES};
    hf_status rc;

    hf_resp_init(&p, NULL, protocol);
    rc = hf_resp_parse(&p, bytes, len, &tape);
    ck_assert_int_ne(rc, HF_RESP_ROOM);
    return rc == HF_OK ? (long)p.pos : rc == HF_RESP_MORE ? 0 : rc;
}

/* In pieces of `step` bytes. */
static long skipped(const char *bytes, size_t len, int protocol, size_t step,
                    char *outermost)
{
    hf_status rc = HF_RESP_MORE;
    struct hf_skip s;
    size_t at = 0;

    hf_skip_begin(&s, protocol);
    while (rc == HF_RESP_MORE && at < len) {
        size_t n = len - at < step ? len - at : step, used;

        rc = hf_skip_bytes(&s, bytes + at, n, &used);
        ck_assert_uint_le(used, n);
        ck_assert(rc != HF_RESP_MORE || used == n);
        at += used;
    }
    *outermost = s.outermost_type;
    return rc == HF_OK ? (long)at : rc == HF_RESP_MORE ? 0 : rc;
}

/* What the parser takes ends there; what it awaits more of has not ended. */
static void compare(const char *bytes, size_t len, int protocol)
{
    static const size_t steps[] = {1, 2, 3, 7, BYTES_MAX};
    long taken = parsed(bytes, len, protocol);
    char outermost;

    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        long end = skipped(bytes, len, protocol, steps[i], &outermost);

        if (taken > 0)
            ck_assert_int_eq(end, taken);
        else if (taken == 0)
            ck_assert_int_le(end, 0);
    }
}

/* Values, each with the first byte of its outermost one. */
static const struct {
    const char *bytes;
    char outermost;
} values[] = {
    {"+OK\r\n", '+'}, {"+\r\n", '+'}, {"-ERR x\r\n", '-'}, {":1\r\n", ':'},
    {"$3\r\nabc\r\n", '$'}, {"$0\r\n\r\n", '$'}, {"$4\r\n\r\n\r\n\r\n", '$'},
    {"$-1\r\n", '$'}, {"*-1\r\n", '*'}, {"*0\r\n", '*'},
    {"*2\r\n:1\r\n$1\r\n\r\r\n", '*'}, {"*1\r\n*1\r\n*1\r\n*0\r\n", '*'},
    {"*2\r\n*2\r\n:1\r\n:2\r\n*0\r\n", '*'}, {"_\r\n", '_'}, {"#t\r\n", '#'},
    {",1.5\r\n", ','}, {"(123\r\n", '('}, {"!3\r\nERR\r\n", '!'},
    {"=5\r\ntxt:x\r\n", '='}, {"~2\r\n:1\r\n:2\r\n", '~'},
    {"%1\r\n+k\r\n*1\r\n:1\r\n", '%'}, {"%0\r\n", '%'},
    {">3\r\n+message\r\n+ch\r\n+x\r\n", '>'},
    {"|1\r\n+k\r\n+v\r\n:1\r\n", ':'}, {"|0\r\n*1\r\n_\r\n", '*'},
    {"|1\r\n+k\r\n*2\r\n:1\r\n:2\r\n>1\r\n+x\r\n", '>'},
    {"*1\r\n|1\r\n+k\r\n+v\r\n:1\r\n", '*'},
    {"|1\r\n|1\r\n+a\r\n+b\r\n+k\r\n+v\r\n$1\r\nx\r\n", '$'},
    {"*?\r\n.\r\n", '*'}, {"*?\r\n:1\r\n*2\r\n:1\r\n:2\r\n.\r\n", '*'},
    {"~?\r\n*?\r\n.\r\n%?\r\n+k\r\n+v\r\n.\r\n.\r\n", '~'},
    {"$?\r\n;3\r\nabc\r\n;1\r\nx\r\n;0\r\n", '$'}, {"$?\r\n;0\r\n", '$'},
    {"*2\r\n$?\r\n;1\r\nx\r\n;0\r\n:1\r\n", '*'},
    {"*?\r\n|1\r\n+k\r\n+v\r\n:1\r\n.\r\n", '*'},
};

/* SKIP-1 */
START_TEST(value_ends_at_the_position_of_the_parser)
{
    char bytes[200], outermost;
    size_t len;

    (void)snprintf(bytes, sizeof bytes, "%s+next\r\n", values[_i].bytes);
    len = strlen(values[_i].bytes);
    compare(bytes, strlen(bytes), 3);
    compare(bytes, strlen(bytes), 2);
    for (size_t cut = 0; cut < len; cut++)
        compare(bytes, cut, 3);
    for (size_t step = 1; step <= len; step++) {
        ck_assert_int_eq(skipped(bytes, strlen(bytes), 3, step, &outermost), (long)len);
        ck_assert_int_eq(outermost, values[_i].outermost);
    }
}
END_TEST

static const char *const spoiled[] = {
    "x", "\r\n", ".\r\n", ";1\r\nx\r\n", "$x\r\n", "$\r\n", "$-2\r\n", "*1x\r\n",
    "+a\nb\r\n", "+a\rb\r\n", "$1\r\nab\r\n", "$1\r\nx\rx", "*1\r\n.\r\n",
    "*?\r\n*2\r\n:1\r\n.\r\n", "%?\r\n$x\r\n", "*-1x\r\n", "*9999999999999999999\r\n",
    "*00000000000000000000000000000000001\r\n",
    "|9\r\n.\r\n", "*?\r\n|1\r\n+k\r\n+v\r\n.\r\n",
};

/* SKIP-1 */
START_TEST(bytes_that_are_no_value_are_refused)
{
    char outermost;

    for (size_t step = 1; step < 40; step++)
        ck_assert_int_lt(skipped(spoiled[_i], strlen(spoiled[_i]), 3, step,
                                 &outermost), 0);
}
END_TEST

START_TEST(types_of_resp3_are_refused_in_resp2)
{
    static const char *const bytes[] = {"_\r\n", "%1\r\n", "=4\r\n", "*?\r\n", "$?\r\n",
                                        "|1\r\n", ">1\r\n", "~1\r\n"};
    char outermost;

    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++)
        ck_assert_int_eq(skipped(bytes[i], strlen(bytes[i]), 2, 1, &outermost),
                         HF_E_PROTOCOL);
}
END_TEST

/* SKIP-2: Nesting costs nothing; only that of streams is limited. */
START_TEST(depth_is_not_limited_but_that_of_streams_is)
{
    static char bytes[5 * 100000 + 10];
    size_t len = 0;
    char outermost;

    for (int i = 0; i < 100000; i++)
        len += (size_t)sprintf(bytes + len, "*1\r\n");
    len += (size_t)sprintf(bytes + len, ":1\r\n");
    ck_assert_int_eq(skipped(bytes, len, 3, 1000, &outermost), (long)len);
    len = 0;
    for (int i = 0; i <= HF_SKIP_STREAMS_MAX; i++)
        len += (size_t)sprintf(bytes + len, "*?\r\n");
    ck_assert_int_eq(skipped(bytes, len, 3, 1, &outermost), HF_E_LIMIT);
}
END_TEST

/* SKIP-3: What hf_resp_parse would not take with any memory is not waited for. */
START_TEST(length_or_count_that_no_server_sends_is_refused)
{
    static const char *const bytes[] = {"$536870913\r\n", "*2147483648\r\n",
                                        "%1073741824\r\n", "|1073741824\r\n",
                                        "*1\r\n$999999999999999999\r\n",
                                        "=536870913\r\n", "$?\r\n;536870913\r\n"};
    char outermost;

    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++)
        ck_assert_int_eq(skipped(bytes[i], strlen(bytes[i]), 3, 1, &outermost),
                         HF_E_LIMIT);
}
END_TEST

/* ---- random values ---- */

static void put_value(FILE *out, int depth);

static void put_children(FILE *out, unsigned count, int depth)
{
    while (count-- > 0)
        put_value(out, depth + 1);
}

static void put_scalar(FILE *out)
{
    static const char *const all[] = {"+text\r\n", ":12\r\n", "_\r\n", "#f\r\n",
                                      "$5\r\na\r\n\r\n\r\n", "$-1\r\n", ",3\r\n",
                                      "=4\r\ntxt:\r\n", "=7\r\ntxt:\r\n.\r\n",
                                      "(1\r\n", "-E\r\n", "$0\r\n\r\n",
                                      "$?\r\n;2\r\n\r\n\r\n;0\r\n"};

    (void)fputs(all[dice(sizeof all / sizeof *all)], out);
}

static void put_aggregate(FILE *out, int depth)
{
    char type = "*~%|"[dice(4)];
    unsigned count = (unsigned)dice(4), per = type == '%' || type == '|' ? 2 : 1;
    bool is_streamed = type != '|' && dice(6) == 0;

    if (is_streamed)
        (void)fprintf(out, "%c?\r\n", type);
    else
        (void)fprintf(out, "%c%u\r\n", type, count);
    put_children(out, count * per, depth);
    if (is_streamed)
        (void)fputs(".\r\n", out);
    if (type == '|')
        put_value(out, depth + 1);
}

static void put_value(FILE *out, int depth)
{
    if (depth < 4 && dice(2))
        put_aggregate(out, depth);
    else
        put_scalar(out);
}

START_TEST(random_values_end_at_the_position_of_the_parser)
{
    static char bytes[BYTES_MAX];

    for (int i = 0; i < RANDOM_VALUES; i++) {
        FILE *out = fmemopen(bytes, sizeof bytes, "w");
        size_t len;

        dice_seed = DICE_SEED + (uint64_t)i;
        put_value(out, 0);
        put_scalar(out);
        len = (size_t)ftell(out);
        (void)fclose(out);
        compare(bytes, len, 3);
        for (int n = 0; n < SPOILED_EACH; n++) {
            bytes[dice(len)] = "+-:$*?.;|\r\n0129"[dice(15)];
            compare(bytes, dice(len) + 1, 3);
        }
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("net/skip");
    TCase *c = tcase_create("skip");

    tcase_add_loop_test(c, value_ends_at_the_position_of_the_parser, 0, ROWS(values));
    tcase_add_loop_test(c, bytes_that_are_no_value_are_refused, 0, ROWS(spoiled));
    tcase_add_test(c, types_of_resp3_are_refused_in_resp2);
    tcase_add_test(c, depth_is_not_limited_but_that_of_streams_is);
    tcase_add_test(c, length_or_count_that_no_server_sends_is_refused);
    tcase_add_test(c, random_values_end_at_the_position_of_the_parser);
    suite_add_tcase(s, c);
    return suite_run(s);
}
