/* How `holdfast-resp check` asks and judges, without a server. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "tools/resp/judge.h"
#include "tools/resp/probe.h"
#include "tools/resp/request.h"
#include "tools/resp/try.h"
#include "tests/support/request.h"
#include "tests/support/suite.h"

#define BYTES(literal) (literal), sizeof(literal) - 1
#define COUNT(table) (int)(sizeof(table) / sizeof *(table))

/* ---- patterns ---- */

static const struct {
    const char *pattern;
    const char *line;
    bool matches;
} patterns[] = {
    {"", "", true},           {"", "a", false},
    {"abc", "abc", true},     {"abc", "ab", false},
    {"abc", "abcd", false},   {"...", "", true},
    {"...", "abc", true},     {"a...", "a", true},
    {"a...", "ba", false},    {"...c", "abc", true},
    {"...c", "cb", false},    {"a...c", "ac", true},
    {"a...c", "abbc", true},  {"a...c", "abbcd", false},
    {"ab...ba", "aba", false},                   /* no byte serves twice */
    {"ab...ba", "abba", true},
    {"a...b...c", "axbyc", true},
    {"a...b...c", "axcyb", false},
    {"a...b...b", "ab", false},
    {"a...b...b", "abb", true},
    {"a......b", "ab", true},
    {"*1 *1 ... *0", "*1 *1 *1 *0", true},
};

START_TEST(dots_mean_anything)
{
    const char *pattern = patterns[_i].pattern, *line = patterns[_i].line;

    ck_assert_int_eq(
        cli_matches(pattern, strlen(pattern), line, strlen(line)),
        patterns[_i].matches);
}
END_TEST

/* ---- verdicts ---- */

static const struct {
    const char *bytes;
    size_t len;
    int end;
    const char *expected;
    const char *absent;
    int protocol;
    enum cli_verdict verdict;
    const char *came;
} answers[] = {
    {BYTES("+OK\r\n"), CLI_WHOLE, "+OK", NULL, 3, CLI_CONFORMS, "+OK"},
    {BYTES("+OK\r\n$1\r\na\r\n"), CLI_WHOLE, "+OK / $1 a", NULL, 2,
     CLI_CONFORMS, "+OK / $1 a"},
    {BYTES(",0.1\r\n"), CLI_WHOLE, ",0.10000000000000001 or ,0.1", NULL, 3,
     CLI_CONFORMS, ",0.1"},
    {BYTES("+OK\r\n"), CLI_ENDED, "+OK / end of stream", NULL, 3, CLI_CONFORMS,
     "+OK / end of stream"},
    {BYTES("$0\r\n\r\n:1\r\n"), CLI_WHOLE, "$0  / :1", NULL, 2, CLI_CONFORMS,
     "$0  / :1"},
    /* Other values, more, fewer, or in another order. */
    {BYTES("$-1\r\n"), CLI_WHOLE, "_", NULL, 3, CLI_DEVIATES, "$-1"},
    {BYTES("+OK\r\n:1\r\n"), CLI_WHOLE, "+OK", NULL, 3, CLI_DEVIATES,
     "+OK / :1"},
    {BYTES("+OK\r\n"), CLI_WHOLE, "+OK / :1", NULL, 3, CLI_DEVIATES, "+OK"},
    {BYTES(""), CLI_WHOLE, "+OK", NULL, 3, CLI_DEVIATES, ""},
    {BYTES(":1\r\n+OK\r\n"), CLI_WHOLE, "+OK / :1", NULL, 3, CLI_DEVIATES,
     ":1 / +OK"},
    {BYTES("-MOVE\r\n+a\r\n"), CLI_WHOLE, "-... ...", NULL, 3, CLI_DEVIATES,
     "-MOVE / +a"},
    /* No RESP, or not in this protocol, or not to the end. */
    {BYTES("$3\r\nabcd\r\n"), CLI_WHOLE, "$3 abc", NULL, 3, CLI_DEVIATES,
     "byte 7: expected CR LF behind the string"},
    {BYTES("_\r\n"), CLI_WHOLE, "_", NULL, 2, CLI_DEVIATES,
     "byte 0: expected one of + - : $ *"},
    {BYTES("-ERR x\r\n+INJECTED\r\n behind\r\n"), CLI_WHOLE,
     "-ERR x  +INJECTED  behind", NULL, 3, CLI_DEVIATES,
     "-ERR x / +INJECTED / byte 19: expected a type byte of RESP3"},
    {BYTES("+OK\r\n$3\r\nab"), CLI_ENDED, "+OK / $3 abc", NULL, 3,
     CLI_DEVIATES, "+OK / a reply that is cut short / end of stream"},
    {BYTES("+OK\r\n"), CLI_SILENT, "+OK / :1", NULL, 3, CLI_DEVIATES,
     "+OK / nothing more in time"},
    {BYTES("+OK\r\n"), CLI_SILENT, "+OK", NULL, 3, CLI_DEVIATES,
     "+OK / nothing more in time"},
    /* Legal, but no server writes it so: the bytes and the tape differ. */
    {BYTES(":+1\r\n"), CLI_WHOLE, ":1", NULL, 3, CLI_DEVIATES,
     ":+1 / the parser reads: :1"},
    /* Not there, or not for us. */
    {BYTES("-ERR unknown command\r\n"), CLI_WHOLE, "+OK", NULL, 3,
     CLI_NOT_OFFERED, "-ERR unknown command"},
    {BYTES("+OK\r\n-NOPERM no\r\n"), CLI_WHOLE, "+OK / +QUEUED", NULL, 3,
     CLI_NOT_OFFERED, "+OK / -NOPERM no"},
    {BYTES("*0\r\n"), CLI_WHOLE, "(1", "*0", 3, CLI_NOT_OFFERED, "*0"},
    {BYTES("-NOSUB no\r\n"), CLI_WHOLE, "+OK", NULL, 3, CLI_DEVIATES,
     "-NOSUB no"},
    {BYTES("-ERR no\r\n"), CLI_SILENT, "+OK", NULL, 3, CLI_DEVIATES,
     "-ERR no / nothing more in time"},
};

START_TEST(verdict_is_about_all_that_came)
{
    struct cli_answer answer = {answers[_i].bytes, answers[_i].len,
                                (unsigned)answers[_i].end};
    struct cli_expectation e = {answers[_i].expected, answers[_i].absent,
                                answers[_i].protocol};
    char *came;

    ck_assert_int_eq(cli_judge(&answer, &e, &came), answers[_i].verdict);
    ck_assert_str_eq(came, answers[_i].came);
    free(came);
}
END_TEST

/* ---- requests ---- */

static const struct cli_terms terms = {
    .key = "our-key", .protocol = 3, .id = 42, .number = 1234};

static char *request_of(const char *text, size_t *len)
{
    char *bytes;
    FILE *out = open_memstream(&bytes, len);

    cli_request_put(out, text, strlen(text), &terms);
    ck_assert_int_eq(fclose(out), 0);
    return bytes;
}

START_TEST(words_mean_themselves)
{
    static struct request request;
    size_t len;
    char *bytes = request_of("SET KEY EMPTY\nHELLO PROTO\nX ID\nE NUMBER", &len);
    const char *expected[] = {"SET our-key \"\"", "HELLO 3", "X 42", "E 1234"};
    size_t at = 0;

    for (int i = 0; i < COUNT(expected); i++) {
        ck_assert_int_eq(request_decode(&request, bytes + at, len - at),
                         REQUEST_WHOLE);
        ck_assert(request_matches(&request, expected[i]));
        at += request.len;
    }
    ck_assert_uint_eq(at, len);
    free(bytes);
}
END_TEST

START_TEST(large_words_are_whole)
{
    static struct request request;
    size_t len;
    char *bytes = request_of("ECHO BYTES MEGA SCRIPT", &len);

    ck_assert_int_eq(request_decode(&request, bytes, len), REQUEST_WHOLE);
    ck_assert_uint_eq(request.len, len);
    ck_assert_uint_eq(request.argc, 4);
    ck_assert_uint_eq(request.arg[1].len, 256);
    for (int i = 0; i < 256; i++)
        ck_assert_int_eq((unsigned char)request.arg[1].ptr[i], i);
    ck_assert_uint_eq(request.arg[2].len, 1 << 20);
    ck_assert_uint_eq(request.arg[3].len, strlen(cli_probe_script));
    free(bytes);
}
END_TEST

START_TEST(expected_keys_are_bulk_strings)
{
    char *text;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    cli_expected_put(out, ">2 KEY :NUMBER / +OK", &terms);
    ck_assert_int_eq(fclose(out), 0);
    ck_assert_str_eq(text, ">2 $7 our-key :1234 / +OK");
    free(text);
}
END_TEST

/* ---- the table ---- */

/* Redis 6.0.16 fails an assertion, and ends, when it is to push in RESP2. */
START_TEST(no_request_ends_a_server)
{
    for (size_t i = 0; i < cli_probe_count; i++)
        if (strcmp(cli_probes[i].request, "DEBUG PROTOCOL push") == 0)
            ck_assert_ptr_null(cli_try_expects(&cli_probes[i], 2));
}
END_TEST

START_TEST(each_check_has_a_name_of_its_own_and_an_expectation)
{
    for (size_t i = 0; i < cli_probe_count; i++) {
        ck_assert(cli_try_expects(&cli_probes[i], 2) ||
                  cli_try_expects(&cli_probes[i], 3));
        for (size_t k = 0; k < i; k++)
            ck_assert_str_ne(cli_probes[i].name, cli_probes[k].name);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("tools/resp check");
    TCase *c = tcase_create("judge");

    tcase_add_loop_test(c, dots_mean_anything, 0, COUNT(patterns));
    tcase_add_loop_test(c, verdict_is_about_all_that_came, 0, COUNT(answers));
    suite_add_tcase(s, c);
    c = tcase_create("ask");
    tcase_add_test(c, words_mean_themselves);
    tcase_add_test(c, large_words_are_whole);
    tcase_add_test(c, expected_keys_are_bulk_strings);
    tcase_add_test(c, no_request_ends_a_server);
    tcase_add_test(c, each_check_has_a_name_of_its_own_and_an_expectation);
    suite_add_tcase(s, c);
    return suite_run(s);
}
