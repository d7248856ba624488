/* What `holdfast-resp` prints of a stream. Sources: RESP, RESP3. */
#include <check.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tools/resp/decode.h"
#include "tools/resp/line.h"
#include "tests/support/suite.h"
#include "tests/test_tools_resp_json.h"

/* Tables may hold NULs. */
#define BYTES(literal) (literal), sizeof(literal) - 1
#define COUNT(table) (int)(sizeof(table) / sizeof *(table))

/* What a stream came to. */
struct outcome {
    char *text;
    size_t len;
    hf_status status;
    struct cli_decode_error error;
    char found[CLI_FOUND_MAX + 1];
    uint32_t room;
    uint32_t nodes;
};

static void end(struct cli_decoder *d, struct outcome *o, FILE *out)
{
    o->error = (struct cli_decode_error){.status = HF_OK};
    o->status = cli_decoder_end(d, &o->error);
    memset(o->found, 0, sizeof o->found);
    if (o->error.found_len > 0)
        memcpy(o->found, o->error.found, o->error.found_len);
    o->room = d->room;
    o->nodes = d->tape.room;
    cli_decoder_fini(d);
    ck_assert_int_eq(fclose(out), 0);
}

/* Fed `first` bytes, then the rest, `step` bytes at a time. */
static void decode(struct outcome *o, const char *bytes, size_t len,
                   size_t first, size_t step, int protocol, cli_print *print)
{
    FILE *out = open_memstream(&o->text, &o->len);
    struct cli_decoder d;

    cli_decoder_init(&d, protocol, print, out);
    (void)cli_decoder_feed(&d, bytes, first);
    for (size_t i = first; i < len; i += step)
        (void)cli_decoder_feed(&d, bytes + i, len - i < step ? len - i : step);
    end(&d, o, out);
}

/* ---- every type ---- */

static const struct {
    const char *bytes;
    size_t len;
    const char *text;           /* without its newline; column 0 is offset 0 */
    const char *json;           /* likewise */
} values[] = {
    {BYTES("+OK\r\n"), "         0  simple string \"OK\"",
     "{\"offset\":0,\"type\":\"simple string\",\"value\":\"OK\"}"},
    {BYTES("+a\0\x80\"\\\r\n"), "         0  simple string \"a\\x00\\x80\\\"\\\\\"",
     "{\"offset\":0,\"type\":\"simple string\",\"escaped\":true,"
     "\"value\":\"a\\u0000\\\\x80\\\"\\\\\\\\\"}"},
    {BYTES("-ERR no\r\n"), "         0  error \"ERR no\"",
     "{\"offset\":0,\"type\":\"error\",\"value\":\"ERR no\"}"},
    {BYTES(":-9223372036854775808\r\n"),
     "         0  integer -9223372036854775808",
     "{\"offset\":0,\"type\":\"integer\",\"value\":-9223372036854775808}"},
    {BYTES("$4\r\na\r\nb\r\n"), "         0  bulk string \"a\\r\\nb\"",
     "{\"offset\":0,\"type\":\"bulk string\",\"value\":\"a\\u000d\\u000ab\"}"},
    {BYTES("$6\r\n\xc3\xa9\xe2\x82\xac\\\r\n"),
     "         0  bulk string \"\\xc3\\xa9\\xe2\\x82\\xac\\\\\"",
     "{\"offset\":0,\"type\":\"bulk string\","
     "\"value\":\"\xc3\xa9\xe2\x82\xac\\\\\"}"},
    {BYTES("$0\r\n\r\n"), "         0  bulk string \"\"",
     "{\"offset\":0,\"type\":\"bulk string\",\"value\":\"\"}"},
    {BYTES("_\r\n"), "         0  null",
     "{\"offset\":0,\"type\":\"null\",\"form\":\"_\",\"value\":null}"},
    {BYTES("$-1\r\n"), "         0  null ($-1)",
     "{\"offset\":0,\"type\":\"null\",\"form\":\"$-1\",\"value\":null}"},
    {BYTES("*-1\r\n"), "         0  null (*-1)",
     "{\"offset\":0,\"type\":\"null\",\"form\":\"*-1\",\"value\":null}"},
    {BYTES("#t\r\n"), "         0  boolean true",
     "{\"offset\":0,\"type\":\"boolean\",\"value\":true}"},
    {BYTES("#f\r\n"), "         0  boolean false",
     "{\"offset\":0,\"type\":\"boolean\",\"value\":false}"},
    {BYTES(",-1.50e-3\r\n"), "         0  double -1.50e-3",
     "{\"offset\":0,\"type\":\"double\",\"value\":-1.50e-3}"},
    {BYTES(",+007\r\n"), "         0  double +007",
     "{\"offset\":0,\"type\":\"double\",\"value\":7}"},
    {BYTES(",00.5E+1\r\n"), "         0  double 00.5E+1",
     "{\"offset\":0,\"type\":\"double\",\"value\":0.5E+1}"},
    {BYTES(",-0\r\n"), "         0  double -0",
     "{\"offset\":0,\"type\":\"double\",\"value\":-0}"},
    {BYTES(",inf\r\n"), "         0  double inf",
     "{\"offset\":0,\"type\":\"double\",\"value\":\"inf\"}"},
    {BYTES(",-inf\r\n"), "         0  double -inf",
     "{\"offset\":0,\"type\":\"double\",\"value\":\"-inf\"}"},
    {BYTES(",-nan\r\n"), "         0  double -nan",
     "{\"offset\":0,\"type\":\"double\",\"value\":\"nan\"}"},
    {BYTES("(-12345678901234567890123\r\n"),
     "         0  big number -12345678901234567890123",
     "{\"offset\":0,\"type\":\"big number\","
     "\"value\":\"-12345678901234567890123\"}"},
    {BYTES("!5\r\nERR x\r\n"), "         0  bulk error \"ERR x\"",
     "{\"offset\":0,\"type\":\"bulk error\",\"value\":\"ERR x\"}"},
    {BYTES("=6\r\ntxt:hi\r\n"), "         0  verbatim string \"txt\" \"hi\"",
     "{\"offset\":0,\"type\":\"verbatim string\",\"format\":\"txt\","
     "\"value\":\"hi\"}"},
    {BYTES("=5\r\n\xff\r\\::\r\n"),
     "         0  verbatim string \"\\xff\\r\\\\\" \":\"",
     "{\"offset\":0,\"type\":\"verbatim string\",\"escaped\":true,"
     "\"format\":\"\\\\xff\\u000d\\\\\\\\\",\"value\":\":\"}"},
    {BYTES("*2\r\n:7\r\n*1\r\n$2\r\nok\r\n"),
     "         0  array of 2\n"
     "         4    integer 7\n"
     "         8    array of 1\n"
     "        12      bulk string \"ok\"",
     "{\"offset\":0,\"type\":\"array\",\"value\":["
     "{\"offset\":4,\"type\":\"integer\",\"value\":7},"
     "{\"offset\":8,\"type\":\"array\",\"value\":["
     "{\"offset\":12,\"type\":\"bulk string\",\"value\":\"ok\"}]}]}"},
    {BYTES("*0\r\n"), "         0  array of 0",
     "{\"offset\":0,\"type\":\"array\",\"value\":[]}"},
    {BYTES("~1\r\n#t\r\n"),
     "         0  set of 1\n"
     "         4    boolean true",
     "{\"offset\":0,\"type\":\"set\",\"value\":["
     "{\"offset\":4,\"type\":\"boolean\",\"value\":true}]}"},
    {BYTES("%2\r\n+a\r\n:1\r\n*0\r\n%0\r\n"),
     "         0  map of 2 pairs\n"
     "         4    simple string \"a\"\n"
     "         8    => integer 1\n"
     "        12    array of 0\n"
     "        16    => map of 0 pairs",
     "{\"offset\":0,\"type\":\"map\",\"value\":["
     "[{\"offset\":4,\"type\":\"simple string\",\"value\":\"a\"},"
     "{\"offset\":8,\"type\":\"integer\",\"value\":1}],"
     "[{\"offset\":12,\"type\":\"array\",\"value\":[]},"
     "{\"offset\":16,\"type\":\"map\",\"value\":[]}]]}"},
    {BYTES(">2\r\n+m\r\n_\r\n"),
     "         0  push of 2\n"
     "         4    simple string \"m\"\n"
     "         8    null",
     "{\"offset\":0,\"type\":\"push\",\"value\":["
     "{\"offset\":4,\"type\":\"simple string\",\"value\":\"m\"},"
     "{\"offset\":8,\"type\":\"null\",\"form\":\"_\",\"value\":null}]}"},
    {BYTES("|1\r\n+a\r\n:1\r\n|0\r\n+OK\r\n"),
     "         0  attribute of 1 pair, of the next value\n"
     "         4    simple string \"a\"\n"
     "         8    => integer 1\n"
     "        12  attribute of 0 pairs, of the next value\n"
     "        16  simple string \"OK\"",
     "{\"attributes\":[{\"offset\":0,\"type\":\"attribute\",\"value\":["
     "[{\"offset\":4,\"type\":\"simple string\",\"value\":\"a\"},"
     "{\"offset\":8,\"type\":\"integer\",\"value\":1}]]},"
     "{\"offset\":12,\"type\":\"attribute\",\"value\":[]}],"
     "\"offset\":16,\"type\":\"simple string\",\"value\":\"OK\"}"},
    /* On a key, a value and an element; each counts as none (K2). */
    {BYTES("*2\r\n%1\r\n|0\r\n+k\r\n|0\r\n+v\r\n|0\r\n:1\r\n"),
     "         0  array of 2\n"
     "         4    map of 1 pair\n"
     "         8      attribute of 0 pairs, of the next value\n"
     "        12      simple string \"k\"\n"
     "        16      attribute of 0 pairs, of the next value\n"
     "        20      => simple string \"v\"\n"
     "        24    attribute of 0 pairs, of the next value\n"
     "        28    integer 1",
     "{\"offset\":0,\"type\":\"array\",\"value\":["
     "{\"offset\":4,\"type\":\"map\",\"value\":[["
     "{\"attributes\":[{\"offset\":8,\"type\":\"attribute\",\"value\":[]}],"
     "\"offset\":12,\"type\":\"simple string\",\"value\":\"k\"},"
     "{\"attributes\":[{\"offset\":16,\"type\":\"attribute\",\"value\":[]}],"
     "\"offset\":20,\"type\":\"simple string\",\"value\":\"v\"}]]},"
     "{\"attributes\":[{\"offset\":24,\"type\":\"attribute\",\"value\":[]}],"
     "\"offset\":28,\"type\":\"integer\",\"value\":1}]}"},
    {BYTES("$?\r\n;1\r\na\r\n;2\r\n\r\n\r\n;0\r\n"),
     "         0  streamed string of 2 chunks\n"
     "         4    chunk \"a\"\n"
     "        11    chunk \"\\r\\n\"",
     "{\"offset\":0,\"type\":\"streamed string\",\"value\":["
     "{\"offset\":4,\"type\":\"chunk\",\"value\":\"a\"},"
     "{\"offset\":11,\"type\":\"chunk\",\"value\":\"\\u000d\\u000a\"}]}"},
    {BYTES("*?\r\n%?\r\n+k\r\n~?\r\n.\r\n.\r\n:1\r\n.\r\n"),
     "         0  array of 2, streamed\n"
     "         4    map of 1 pair, streamed\n"
     "         8      simple string \"k\"\n"
     "        12      => set of 0, streamed\n"
     "        22    integer 1",
     "{\"offset\":0,\"type\":\"array\",\"streamed\":true,\"value\":["
     "{\"offset\":4,\"type\":\"map\",\"streamed\":true,\"value\":[["
     "{\"offset\":8,\"type\":\"simple string\",\"value\":\"k\"},"
     "{\"offset\":12,\"type\":\"set\",\"streamed\":true,\"value\":[]}]]},"
     "{\"offset\":22,\"type\":\"integer\",\"value\":1}]}"},
};

static void check_print(const char *bytes, size_t len, const char *expected,
                        size_t cut, size_t step, cli_print *print)
{
    struct outcome o;

    decode(&o, bytes, len, cut, step, 3, print);
    ck_assert_int_eq(o.status, HF_OK);
    ck_assert_uint_gt(o.len, 0);
    o.text[o.len - 1] = '\0'; /* the last newline */
    ck_assert_str_eq(o.text, expected);
    free(o.text);
}

START_TEST(every_type_is_printed_wherever_it_is_cut)
{
    size_t len = values[_i].len;

    for (size_t cut = 0; cut <= len; cut++) {
        check_print(values[_i].bytes, len, values[_i].text, cut, len,
                    cli_print_text);
        check_print(values[_i].bytes, len, values[_i].json, cut, len,
                    cli_print_json);
    }
    check_print(values[_i].bytes, len, values[_i].text, 0, 1, cli_print_text);
    check_print(values[_i].bytes, len, values[_i].json, 0, 1, cli_print_json);
    ck_assert(json_value(values[_i].json,
                         values[_i].json + strlen(values[_i].json)));
}
END_TEST

/* All values as one stream: offsets go on, replies keep their order. */
START_TEST(offsets_count_from_the_first_byte_of_the_stream)
{
    struct outcome alone, behind;
    char stream[4096];
    size_t before = 0;

    for (int i = 0; i < COUNT(values); i++) {
        memcpy(stream + before, values[i].bytes, values[i].len);
        before += values[i].len;
    }
    decode(&alone, stream, before, 0, before, 3, cli_print_json);
    decode(&behind, stream, before, 0, 1, 3, cli_print_json);
    ck_assert_str_eq(alone.text, behind.text);
    ck_assert(json_lines_ok(alone.text, alone.len));
    ck_assert_ptr_nonnull(strstr(alone.text, "{\"offset\":5,\"type\":\"simple"));
    ck_assert_ptr_nonnull(strstr(alone.text, "{\"offset\":13,\"type\":\"error"));
    free(alone.text);
    free(behind.text);
}
END_TEST

/* ---- bytes in JSON ---- */

/* The bytes of a JSON string as `holdfast-resp` writes it: first as any reader
 * of JSON would, then \xHH and double backslashes, if `escaped`. Characters
 * above U+007F are written as they are. */
static size_t read_string(char *dst, const char *at, bool escaped)
{
    size_t len = 0, to = 0;
    unsigned code;

    for (; *at != '"'; at++) {
        if (*at != '\\') {
            dst[len++] = *at;
        } else if (*++at == 'u') {
            ck_assert_int_eq(sscanf(at, "u%4x", &code), 1);
            dst[len++] = (char)code;
            at += 4;
        } else {
            dst[len++] = *at;
        }
    }
    for (size_t i = 0; escaped && i < len; i++, to++) {
        dst[to] = dst[i];
        if (dst[i] == '\\' && dst[++i] == 'x') {
            ck_assert_int_eq(sscanf(dst + i, "x%2x", &code), 1);
            dst[to] = (char)code;
            i += 2;
        }
    }
    return escaped ? to : len;
}

static void check_kept(const char *bytes, size_t len)
{
    static const char key[] = "\"value\":\"";
    char reply[64], back[256];
    size_t head = (size_t)snprintf(reply, sizeof reply, "$%zu\r\n", len);
    struct outcome o;
    const char *at;

    memcpy(reply + head, bytes, len);
    memcpy(reply + head + len, "\r\n", 2);
    decode(&o, reply, head + len + 2, 0, 64, 3, cli_print_json);
    ck_assert(json_lines_ok(o.text, o.len));
    at = strstr(o.text, key);
    ck_assert_ptr_nonnull(at);
    ck_assert_uint_eq(read_string(back, at + strlen(key),
                                  strstr(o.text, "\"escaped\":true") != NULL),
                      len);
    ck_assert_mem_eq(back, bytes, len);
    free(o.text);
}

/* Alone, and where text that looks like an escape stands beside it. */
START_TEST(no_byte_is_lost_in_json)
{
    const char c = (char)_i;
    const char around[] = {'\\', 'x', '4', '1', c, '\\', c, 'u', '"'};
    const char pair[] = {'\xc3', c, '\xe2', '\x82', c};

    check_kept(&c, 1);
    check_kept(around, sizeof around);
    check_kept(pair, sizeof pair);
}
END_TEST

/* ---- errors ---- */

static const struct {
    const char *bytes;
    size_t len;
    int protocol;
    hf_status status;
    uint64_t offset, reply_offset;
    const char *expected;
    const char *found;
} errors[] = {
    {BYTES("+OK\r\nHTTP/1.1 400\r\n"), 3, HF_E_PROTOCOL, 5, 5,
     "a type byte of RESP3", "HTTP/1.1 400\r\n"},
    {BYTES("_\r\n"), 2, HF_E_PROTOCOL, 0, 0, "one of + - : $ *", "_\r\n"},
    {BYTES(":12a4\r\n"), 3, HF_E_PROTOCOL, 3, 0,
     "a digit of an integer of 64 bits", "a4\r\n"},
    {BYTES("*2\r\n+a\r\n$3\r\nabcd\r\n+OK\r\n"), 2, HF_E_PROTOCOL, 15, 0,
     "CR LF behind the string", "d\r\n+OK\r\n"},
    {BYTES("+OK\r\n+a\nb\r\n"), 3, HF_E_PROTOCOL, 7, 5, "CR in front of LF",
     "\nb\r\n"},
    {BYTES("+OK\r\r\n"), 3, HF_E_PROTOCOL, 4, 0, "LF behind CR", "\r\n"},
    {BYTES("*2147483648\r\n"), 3, HF_E_LIMIT, 0, 0, "fewer elements",
     "*2147483648\r\n"},
    {BYTES(":1\r\n$536870913\r\n"), 3, HF_E_LIMIT, 4, 4,
     "fewer bytes of a string", "$536870913\r\n"},
    {BYTES("+OK\r\n$5\r\nhel"), 3, HF_RESP_MORE, 12, 5, "the rest of a value",
     ""},
    {BYTES("+OK\r"), 3, HF_RESP_MORE, 4, 0, "the rest of a value", ""},
    {BYTES("*2\r\n:1\r\n"), 3, HF_RESP_MORE, 8, 0, "the rest of a value", ""},
    {BYTES("|1\r\n+a\r\n:1\r\n"), 3, HF_RESP_MORE, 12, 0,
     "the rest of a value", ""},
    {BYTES("@01234567890123456789012345678"), 3, HF_E_PROTOCOL, 0, 0,
     "a type byte of RESP3", "@01234567890123456789012"},
};

static void check_error(int i, size_t cut, size_t step)
{
    struct outcome o;

    decode(&o, errors[i].bytes, errors[i].len, cut, step, errors[i].protocol,
           cli_print_text);
    ck_assert_int_eq(o.status, errors[i].status);
    ck_assert_int_eq(o.error.status, errors[i].status);
    ck_assert_uint_eq(o.error.offset, errors[i].offset);
    ck_assert_uint_eq(o.error.reply_offset, errors[i].reply_offset);
    ck_assert_str_eq(o.error.expected, errors[i].expected);
    ck_assert_str_eq(o.found, errors[i].found);
    free(o.text);
}

START_TEST(error_names_its_byte_wherever_the_stream_is_cut)
{
    for (size_t cut = 0; cut <= errors[_i].len; cut++)
        check_error(_i, cut, errors[_i].len);
    check_error(_i, 0, 1);
}
END_TEST

START_TEST(values_before_an_error_are_printed)
{
    struct outcome o;

    decode(&o, "+OK\r\n:1\r\n@:2\r\n+no\r\n", 20, 0, 3, 3, cli_print_text);
    ck_assert_str_eq(o.text, "         0  simple string \"OK\"\n"
                             "         5  integer 1\n");
    free(o.text);
}
END_TEST

START_TEST(empty_stream_is_no_error)
{
    struct outcome o;

    decode(&o, "", 0, 0, 1, 3, cli_print_json);
    ck_assert_int_eq(o.status, HF_OK);
    ck_assert_uint_eq(o.len, 0);
    free(o.text);
}
END_TEST

/* An error far behind is found at its offset, which no longer fits in the
 * buffer: 8 MiB of replies were dropped in front of it. */
START_TEST(offset_of_an_error_counts_dropped_bytes)
{
    enum { REPLIES = 1 << 21 };
    char *bytes = malloc(4 * REPLIES + 1);
    struct outcome o;

    for (size_t i = 0; i < REPLIES; i++)
        memcpy(bytes + 4 * i, ":1\r\n", 4);
    bytes[4 * REPLIES] = '?';
    decode(&o, bytes, 4 * REPLIES + 1, 0, 10007, 3, cli_print_text);
    ck_assert_int_eq(o.status, HF_E_PROTOCOL);
    ck_assert_uint_eq(o.error.offset, 4 * REPLIES);
    ck_assert_str_eq(o.found, "?");
    ck_assert_uint_le(o.room, 2 * 10007 + 4); /* memory: what came at once */
    ck_assert_uint_le(o.nodes, 256);
    free(o.text);
    free(bytes);
}
END_TEST

/* ---- memory and depth ---- */

/* S2: nothing is set aside for what a header only promises. */
START_TEST(memory_follows_the_bytes_not_the_promise)
{
    static const char promise[] = "*1000000\r\n*1000000\r\n$536870912\r\nx";
    struct outcome o;

    decode(&o, promise, strlen(promise), 0, 7, 3, cli_print_text);
    ck_assert_int_eq(o.status, HF_RESP_MORE);
    ck_assert_uint_le(o.room, 2 * strlen(promise));
    ck_assert_uint_le(o.nodes, 256);
    free(o.text);
}
END_TEST

/* An integer in so many arrays. */
static char *nested(size_t depth, size_t *len)
{
    char *bytes = malloc(4 * depth + 5);

    for (size_t i = 0; i < depth; i++)
        memcpy(bytes + 4 * i, "*1\r\n", 4);
    memcpy(bytes + 4 * depth, ":1\r\n", 4);
    *len = 4 * depth + 4;
    return bytes;
}

static void *print_nested(void *arg)
{
    static cli_print *const prints[] = {cli_print_text, cli_print_json,
                                        cli_print_read};
    struct outcome *o = arg;
    size_t len;
    char *bytes = nested(CLI_DEPTH_MAX, &len);

    for (int i = 0; i < 3; i++)
        decode(&o[i], bytes, len, 0, 100, 3, prints[i]);
    free(bytes);
    return NULL;
}

/* On a stack that no recursion over 512 levels fits in, not even one that
 * takes as little as 256 bytes a level. */
START_TEST(deepest_reply_is_printed_without_call_stack)
{
    struct outcome o[3];
    pthread_attr_t attr;
    pthread_t thread;

    ck_assert_int_eq(pthread_attr_init(&attr), 0);
    ck_assert_int_eq(pthread_attr_setstacksize(&attr, 128 * 1024), 0);
    ck_assert_int_eq(pthread_create(&thread, &attr, print_nested, o), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(o[i].status, HF_OK);
    ck_assert_ptr_nonnull(strstr(o[0].text, " integer 1\n"));
    ck_assert(json_lines_ok(o[1].text, o[1].len));
    for (int i = 0; i < 3; i++)
        free(o[i].text);
    (void)pthread_attr_destroy(&attr);
}
END_TEST

START_TEST(one_level_more_is_an_error)
{
    struct outcome o;
    size_t len;
    char *bytes = nested(CLI_DEPTH_MAX + 1, &len);

    decode(&o, bytes, len, 0, len, 3, cli_print_text);
    ck_assert_int_eq(o.status, HF_E_LIMIT);
    ck_assert_uint_eq(o.error.offset, 4 * CLI_DEPTH_MAX);
    free(o.text);
    free(bytes);
}
END_TEST

/* ---- lines close to the wire ---- */

/* What every value looks like from the bytes and from the tape: the same, but
 * for the few forms that are not the only ones. */
START_TEST(parser_reads_sent_commands)
{
    struct outcome sent, read;

    decode(&sent, values[_i].bytes, values[_i].len, 0, 1, 3, cli_print_sent);
    decode(&read, values[_i].bytes, values[_i].len, 0, 1, 3, cli_print_read);
    ck_assert_str_eq(sent.text, read.text);
    free(sent.text);
    free(read.text);
}
END_TEST

START_TEST(line_is_the_wire_with_spaces)
{
    static const char bytes[] = "*2\r\n$3\r\na\rb\r\n+\x01 \r\n";
    struct outcome o;

    decode(&o, bytes, strlen(bytes), 0, 1, 3, cli_print_sent);
    ck_assert_str_eq(o.text, "*2 $3 a\\x0db +\\x01 \n");
    free(o.text);
}
END_TEST

static void add_values(Suite *s)
{
    TCase *c = tcase_create("values");

    tcase_add_loop_test(c, every_type_is_printed_wherever_it_is_cut, 0,
                        COUNT(values));
    tcase_add_test(c, offsets_count_from_the_first_byte_of_the_stream);
    tcase_add_loop_test(c, no_byte_is_lost_in_json, 0, 256);
    tcase_add_loop_test(c, parser_reads_sent_commands, 0, COUNT(values));
    tcase_add_test(c, line_is_the_wire_with_spaces);
    suite_add_tcase(s, c);
}

static void add_errors(Suite *s)
{
    TCase *c = tcase_create("errors");

    tcase_add_loop_test(c, error_names_its_byte_wherever_the_stream_is_cut, 0,
                        COUNT(errors));
    tcase_add_test(c, values_before_an_error_are_printed);
    tcase_add_test(c, empty_stream_is_no_error);
    tcase_add_test(c, offset_of_an_error_counts_dropped_bytes);
    suite_add_tcase(s, c);
}

static void add_limits(Suite *s)
{
    TCase *c = tcase_create("limits");

    tcase_add_test(c, memory_follows_the_bytes_not_the_promise);
    tcase_add_test(c, deepest_reply_is_printed_without_call_stack);
    tcase_add_test(c, one_level_more_is_an_error);
    suite_add_tcase(s, c);
}

int main(void)
{
    Suite *s = suite_create("tools/resp");

    add_values(s);
    add_errors(s);
    add_limits(s);
    return suite_run(s);
}
