/* Redirections: every row of RESP-CONFORMANCE 5, and every prefix of each. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/route/redirect.h"
#include "net/route/slot.h"
#include "tests/support/suite.h"

#define COUNT(table) ((int)(sizeof(table) / sizeof *(table)))
#define TEXT(text) text, sizeof text - 1

/* ---- what is one ---- */

static const struct {
    const char *text;
    size_t len;
    struct hf_redirection want;
} good[] = {
    {TEXT("MOVED 3999 127.0.0.1:6381"),
     {HF_MOVED, 3999, 6381, HF_HOST_KNOWN, "127.0.0.1"}},
    {TEXT("MOVED 3999 :6380"), {HF_MOVED, 3999, 6380, HF_HOST_SAME, ""}},
    {TEXT("MOVED 3999 ::1:6380"),
     {HF_MOVED, 3999, 6380, HF_HOST_KNOWN, "::1"}},
    {TEXT("MOVED 16383 2001:db8::2:1:7001"),
     {HF_MOVED, 16383, 7001, HF_HOST_KNOWN, "2001:db8::2:1"}},
    {TEXT("ASK 0 h0.example:65535"),
     {HF_ASK, 0, 65535, HF_HOST_KNOWN, "h0.example"}},
    {TEXT("MOVED 3999 0.0.0.0:6380"), {HF_MOVED, 3999, 6380, HF_HOST_SAME, ""}},
    {TEXT("MOVED 3999 :::6380"), {HF_MOVED, 3999, 6380, HF_HOST_SAME, ""}},
    {TEXT("MOVED 3999 ?:6380"), {HF_MOVED, 3999, 6380, HF_HOST_UNKNOWN, ""}},
    {TEXT("ASK 1 ?:1"), {HF_ASK, 1, 1, HF_HOST_UNKNOWN, ""}},
    {TEXT("MOVED 1 h:1 and more: of:2"),
     {HF_MOVED, 1, 1, HF_HOST_KNOWN, "h"}},
    {TEXT("MOVED 1 h:1 "), {HF_MOVED, 1, 1, HF_HOST_KNOWN, "h"}},
    {TEXT("MOVED 1 fe80::1%eth0:1"),
     {HF_MOVED, 1, 1, HF_HOST_KNOWN, "fe80::1%eth0"}},
    {TEXT("MOVED 1 ::ffff:1.2.3.4:1"),
     {HF_MOVED, 1, 1, HF_HOST_KNOWN, "::ffff:1.2.3.4"}},
    {TEXT("MOVED 1 redis_1.a-b:1"),
     {HF_MOVED, 1, 1, HF_HOST_KNOWN, "redis_1.a-b"}},
};

static void must_be(const struct hf_redirection *got,
                    const struct hf_redirection *want)
{
    ck_assert_int_eq(got->kind, want->kind);
    ck_assert_uint_eq(got->slot, want->slot);
    ck_assert_uint_eq(got->port, want->port);
    ck_assert_int_eq(got->host_kind, want->host_kind);
    ck_assert_str_eq(got->host, want->host);
}

START_TEST(a_redirection_is_read)
{
    struct hf_redirection got;

    ck_assert(hf_redirection_parse(&got, good[_i].text, good[_i].len));
    must_be(&got, &good[_i].want);
}
END_TEST

/* ---- what is none ---- */

static const struct {
    const char *text;
    size_t len;
} bad[] = {
    /* brackets are not the grammar */
    {TEXT("MOVED 3999 [::1]:6380")},
    /* slots */
    {TEXT("MOVED 16384 h:1")},
    {TEXT("MOVED -1 h:1")},
    {TEXT("MOVED 18446744073709551616 h:1")},
    {TEXT("MOVED 18446744073709551617 h:1")},
    {TEXT("MOVED 4294967296 h:1")},
    {TEXT("MOVED x h:1")},
    {TEXT("MOVED 1x h:1")},
    {TEXT("MOVED +1 h:1")},
    {TEXT("MOVED 01 h:1")},
    /* ports and ends */
    {TEXT("MOVED 1 h:0")},
    {TEXT("MOVED 1 h:65536")},
    {TEXT("MOVED 1 h:4294967297")},
    {TEXT("MOVED 1 h:+1")},
    {TEXT("MOVED 1 h:-1")},
    {TEXT("MOVED 1 h:01")},
    {TEXT("MOVED 1 h:1x")},
    {TEXT("MOVED 1 h:")},
    {TEXT("MOVED 1 h")},
    {TEXT("MOVED 1 :")},
    {TEXT("MOVED 1 ")},
    {TEXT("MOVED 1")},
    {TEXT("MOVED ")},
    {TEXT("MOVED")},
    {TEXT("MOVE")},
    {TEXT("MO")},
    {TEXT("M")},
    {TEXT("")},
    /* spaces and codes */
    {TEXT("MOVED  1 h:1")},
    {TEXT("MOVED  h:1")},
    {TEXT("MOVED 1  h:1")},
    {TEXT(" MOVED 1 h:1")},
    {TEXT("MOVEDX 1 h:1")},
    {TEXT("moved 1 h:1")},
    {TEXT("ASKING 1 h:1")},
    {TEXT("AS 1 h:1")},
    {TEXT("-MOVED 1 h:1")},
    /* hosts */
    {TEXT("MOVED 1 h\0x:1")},
    {TEXT("MOVED 1 h\0:1")},
    {TEXT("MOVED 1 \0:1")},
    {TEXT("MOVED 1 h:1:1")},
    {TEXT("MOVED 1 ::g:1")},
    {TEXT("MOVED 1 1:2:3:4:5:6:7:8:9:1")},
    {TEXT("MOVED 1 fe80::1%:1")},
    {TEXT("MOVED 1 h%eth0:1")},
    {TEXT("MOVED 1 ??:1")},
    {TEXT("MOVED 1 user@h:1")},
    {TEXT("MOVED 1 h/..:1")},
    {TEXT("MOVED 1 h\r\n:1")},
    {TEXT("MOVED 1 h\xc3\xa4:1")},
    /* other errors */
    {TEXT("TRYAGAIN")},
    {TEXT("TRYAGAI")},
    {TEXT("TRYAGAIN 1 h:1")},
    {TEXT("CLUSTERDOWN Hash slot not served")},
    {TEXT("CROSSSLOT Keys in request don't hash to the same slot")},
};

static void must_be_none(const char *text, size_t len)
{
    struct hf_redirection out, before;

    memset(&out, 0x5a, sizeof out);
    before = out;
    ck_assert(!hf_redirection_parse(&out, text, len));
    ck_assert_mem_eq(&out, &before, sizeof out);
}

START_TEST(invalid_redirection_is_refused_and_changes_nothing)
{
    must_be_none(bad[_i].text, bad[_i].len);
}
END_TEST

/* ---- limits ---- */

static size_t long_host(char *text, size_t host_len)
{
    char *at = text + sprintf(text, "MOVED 1 ");

    memset(at, 'h', host_len);
    return (size_t)(at - text) + host_len +
           (size_t)sprintf(at + host_len, ":1");
}

START_TEST(a_host_has_253_bytes_at_most)
{
    char *text = malloc(70100);
    struct hf_redirection got;

    ck_assert(hf_redirection_parse(&got, text, long_host(text, HF_HOST_MAX)));
    ck_assert_uint_eq(strlen(got.host), HF_HOST_MAX);
    must_be_none(text, long_host(text, HF_HOST_MAX + 1));
    must_be_none(text, long_host(text, 70000));
    free(text);
}
END_TEST

/* ---- every prefix, and other damage ---- */

static size_t write_again(char *dst, const struct hf_redirection *r)
{
    const char *host = r->host_kind == HF_HOST_UNKNOWN ? "?" : r->host;

    return (size_t)sprintf(dst, "%s %u %s:%u",
                           r->kind == HF_MOVED ? "MOVED" : "ASK",
                           (unsigned)r->slot, host, (unsigned)r->port);
}

/* In a block of its very size; what is taken is what stands there. */
static void must_be_itself(const char *text, size_t len)
{
    char *bytes = malloc(len ? len : 1), again[HF_HOST_MAX + 32];
    struct hf_redirection got;

    memcpy(bytes, text, len);
    if (hf_redirection_parse(&got, bytes, len)) {
        size_t n = write_again(again, &got);

        ck_assert_uint_le(n, len);
        if (got.host_kind != HF_HOST_SAME) { /* that has three spellings */
            ck_assert_mem_eq(again, bytes, n);
            ck_assert(n == len || bytes[n] == ' ');
        }
        ck_assert_uint_lt(got.slot, HF_SLOTS);
        ck_assert_uint_gt(got.port, 0);
        ck_assert_int_eq(got.host[0] != '\0', got.host_kind == HF_HOST_KNOWN);
    }
    free(bytes);
}

START_TEST(every_prefix_is_parsed_correctly)
{
    for (int i = 0; i < COUNT(good); i++)
        for (size_t len = 0; len <= good[i].len; len++)
            must_be_itself(good[i].text, len);
    for (int i = 0; i < COUNT(bad); i++)
        for (size_t len = 0; len <= bad[i].len; len++)
            must_be_itself(bad[i].text, len);
}
END_TEST

/* One byte after the other is made every byte. */
START_TEST(every_changed_byte_is_parsed_correctly)
{
    char text[64];

    for (int i = 0; i < COUNT(good); i++)
        for (size_t at = 0; at < good[i].len; at++)
            for (int byte = 0; byte < 256; byte++) {
                memcpy(text, good[i].text, good[i].len);
                text[at] = (char)byte;
                must_be_itself(text, good[i].len);
            }
}
END_TEST

/* ---- of a reply ---- */

static bool read_reply(struct hf_redirection *out, const char *bytes)
{
    struct hf_resp_node nodes[8];
    struct hf_resp_tape tape = {nodes, 0, COUNT(nodes)};
    struct hf_resp_parser p;

    hf_resp_init(&p, NULL, 3);
    ck_assert_int_eq(hf_resp_parse(&p, bytes, strlen(bytes), &tape), HF_OK);
    return hf_redirection_read(out, hf_resp_first(&tape, bytes, 0));
}

START_TEST(only_an_error_at_top_level_is_one)
{
    struct hf_redirection got;

    ck_assert(read_reply(&got, "-MOVED 1 h:2\r\n"));
    ck_assert_uint_eq(got.port, 2);
    ck_assert(read_reply(&got, "!11\r\nASK 3 h:444\r\n"));
    ck_assert_uint_eq(got.port, 444);
    ck_assert(!read_reply(&got, "+MOVED 1 h:2\r\n"));
    ck_assert(!read_reply(&got, "$11\r\nMOVED 1 h:2\r\n"));
    ck_assert(!read_reply(&got, "*1\r\n-MOVED 1 h:2\r\n"));
    ck_assert(!read_reply(&got, "-ERR MOVED 1 h:2\r\n"));
    ck_assert(!read_reply(&got, "_\r\n"));
}
END_TEST

/* ---- */

int main(void)
{
    Suite *s = suite_create("net/redirect");
    TCase *c = tcase_create("redirections");

    tcase_add_loop_test(c, a_redirection_is_read, 0, COUNT(good));
    tcase_add_loop_test(c,
                        invalid_redirection_is_refused_and_changes_nothing,
                        0, COUNT(bad));
    tcase_add_test(c, a_host_has_253_bytes_at_most);
    tcase_add_test(c, every_prefix_is_parsed_correctly);
    tcase_add_test(c, every_changed_byte_is_parsed_correctly);
    tcase_add_test(c, only_an_error_at_top_level_is_one);
    suite_add_tcase(s, c);
    return suite_run(s);
}
