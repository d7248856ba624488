/* The pure connection: bytes in, bytes out, and who is told what. The tests
 * play the link above it and the server behind it; no socket, no clock.
 *
 * Requests have one-letter names, `ECHO a` on the wire; a capital one awaits a
 * push as its answer: S and T are `SUBSCRIBE ch`, U is `UNSUBSCRIBE ch`, V
 * `SSUBSCRIBE ch`, W `SUNSUBSCRIBE ch`. What happens is written down as text:
 *     a=1     `a` was answered with 1        a?   ended UNKNOWN
 *     >[x,y]  a push came                    a!   ended UNSENT
 * Sources: RESP-CONFORMANCE, rules V; conn.h, rules C. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/base/error.h"
#include "net/link/conn.h"
#include "tests/support/dice.h"
#include "tests/support/greeting.h"
#include "tests/support/memory.h"
#include "tests/support/promise.h"
#include "tests/support/request.h"
#include "tests/support/suite.h"

#define NOW_US 1000000
#define NAMES 4096                    /* requests of a test; letters are names */
#define WIRE_MAX (1 << 20)
#define PASSWORD "open sesame, please"

static struct {
    struct memory memory;
    struct hf_url url;
    struct hf_conn conn;
    struct hf_request requests[NAMES];
    int protocol;
    int64_t now_us;
    void (*on_done)(int name);        /* what an owner does when told */
    char wire[WIRE_MAX];              /* what this connection wrote */
    size_t wire_len;
    FILE *story;
    char *story_text;
    size_t story_len;
} t;

/* ---- what happens, as text ---- */

static void tell_value(struct hf_resp_value v)
{
    static const char marks[] = "?+-:$$;_#,(!=*~%>|";
    struct hf_resp_iter it = hf_resp_children(v);
    struct hf_resp_value child;
    const char *sep = "", *ptr;
    size_t len;
    int64_t n;

    if (hf_resp_integer(v, &n) == HF_OK) {
        (void)fprintf(t.story, "%lld", (long long)n);
    } else if (hf_resp_bytes(v, &ptr, &len) == HF_OK) {
        (void)fprintf(t.story, "%.*s", (int)len, ptr);
    } else if (hf_resp_count(v) == 0) {
        (void)fputc(marks[hf_resp_type(v)], t.story);
    } else {
        for (; hf_resp_next(&it, &child); sep = ",") {
            (void)fputs(sep[0] ? sep : "[", t.story);
            tell_value(child);
        }
        (void)fputc(']', t.story);
    }
}

static void tell_name(int name)
{
    if (name < 128)
        (void)fprintf(t.story, " %c", name);
    else
        (void)fprintf(t.story, " %d", name);
}

static void on_push(void *ctx, struct hf_resp_value push)
{
    (void)ctx;
    (void)fputs(" >", t.story);
    tell_value(push);
}

static void on_end(void *ctx, struct hf_request *request,
                   enum hf_outcome outcome, struct hf_resp_value reply)
{
    int name = (int)(request - t.requests);

    (void)ctx;
    tell_name(name);
    if (outcome == HF_ANSWERED) {
        (void)fputc('=', t.story);
        tell_value(reply);
    } else {
        (void)fputc(outcome == HF_UNKNOWN ? '?' : '!', t.story);
    }
    if (t.on_done)
        t.on_done(name);
}

/* All since the last time. */
static const char *story(void)
{
    static char told[1 << 20];

    (void)fclose(t.story);
    (void)snprintf(told, sizeof told, "%s",
                   t.story_text[0] ? t.story_text + 1 : "");
    free(t.story_text);
    t.story = open_memstream(&t.story_text, &t.story_len);
    return told;
}

/* ---- what must hold at any time ---- */

static void check_output(void)
{
    const struct hf_conn *c = &t.conn;
    size_t queued = 0;

    for (uint64_t n = c->unsent; n < c->last; n++)
        queued += c->places[n & (c->places_room - 1)].size;
    must(c->unwritten + queued == c->out_end - c->out_start,
         "every byte of the output belongs to a request that will send it");
}

/* Each request that was taken has ended in one way, or waits for its end. */
static void check_counters(void)
{
    const struct hf_conn *c = &t.conn;
    const struct hf_link_stats *n = &c->stats;
    uint64_t waiting = 0;

    for (uint64_t at = c->first; at < c->last; at++)
        waiting += hf_place_request(
                       &c->places[at & (c->places_room - 1)]) != NULL;
    must(n->requests == n->answered + n->unsent + n->unknown + waiting,
         "every request is counted, by its outcome");
    must(n->latency_us.count == n->answered + n->late_replies,
         "every reply has its latency");
    must(n->given_up <= n->unsent + n->unknown, "who is given up has ended");
}

static void check(void)
{
    must(hf_conn_ok(&t.conn), "the rules of conn.h");
    check_output();
    check_counters();
}

/* ---- the link's part ---- */

static struct hf_conn_options defaults(void)
{
    return (struct hf_conn_options){
        .mem = &t.memory.hook,
        .output_max = 1 << 20,
        .requests_max = NAMES,
        .reply_max = 64u << 20,
        .on_push = on_push,
        .on_end = on_end,
    };
}

static void setup_with(struct hf_conn_options options, int protocol)
{
    t.protocol = protocol;
    t.now_us = NOW_US;
    t.story = open_memstream(&t.story_text, &t.story_len);
    memory_init(&t.memory);
    hf_conn_init(&t.conn, &options);
    t.conn.greeting.url = &t.url;
    t.conn.greeting.client_name = "test";
    t.conn.greeting.wanted_protocol = protocol;
    check();
}

static void setup(void)
{
    setup_with(defaults(), 3);
}

static void teardown(void)
{
    if (t.conn.state != HF_CONN_CLOSED)
        hf_conn_close(&t.conn);
    hf_conn_fail_queued(&t.conn);
    check();
    hf_conn_fini(&t.conn);
    ck_assert_pstr_eq(memory_fini(&t.memory), NULL);
    (void)fclose(t.story);
    free(t.story_text);
}

/* Takes in bytes, as many at once as there is room for. */
static hf_status take_in(const char *bytes, size_t len)
{
    hf_status rc = HF_OK;

    while (len > 0 && rc == HF_OK) {
        char *ptr;
        size_t room = hf_conn_room(&t.conn, &ptr);
        size_t n = len < room ? len : room;

        if (room == 0)
            return HF_E_NOMEM;
        memcpy(ptr, bytes, n);
        rc = hf_conn_took(&t.conn, n, t.now_us);
        check();
        bytes += n;
        len -= n;
    }
    return rc;
}

static hf_status take(const char *text)
{
    return take_in(text, strlen(text));
}

/* Puts out at most `n` bytes of what is queued; the kernel may take less than
 * it was given. Returns how many. */
static size_t put_out(size_t n)
{
    const char *ptr;
    size_t len = hf_conn_output(&t.conn, t.now_us, &ptr);

    check();
    if (n > len)
        n = len;
    must(t.wire_len + n <= WIRE_MAX, "the wire is long enough");
    if (n > 0)
        memcpy(t.wire + t.wire_len, ptr, n);
    t.wire_len += n;
    hf_conn_wrote(&t.conn, n);
    check();
    return n;
}

static void put_out_all(void)
{
    (void)put_out(SIZE_MAX);
}

/* The commands on the wire, with bars between. */
static const char *wire(void)
{
    static char text[WIRE_MAX];
    struct request *r = malloc(sizeof *r);
    size_t at = 0, end = 0;

    text[0] = '\0';
    while (at < t.wire_len) {
        char *one;

        ck_assert_int_eq(request_decode(r, t.wire + at, t.wire_len - at),
                         REQUEST_WHOLE);
        one = request_text(r);
        end += (size_t)snprintf(text + end, sizeof text - end, "%s%s",
                                at ? "|" : "", one);
        free(one);
        at += r->len;
    }
    free(r);
    return text;
}

/* Answers the commands of a greeting, until the connection is ready. */
static hf_status open_slowly(void)
{
    struct greeting g = {.protocol = 2, .id = 7};
    struct request *r = malloc(sizeof *r);
    char answer[GREETING_MAX];
    hf_status rc = HF_OK;
    size_t at = 0;

    t.wire_len = 0;
    hf_conn_open(&t.conn);
    while (rc == HF_OK && t.conn.state == HF_CONN_GREETING) {
        if (at == t.wire_len)
            put_out_all();
        must(request_decode(r, t.wire + at, t.wire_len - at) == REQUEST_WHOLE,
             "a greeting is written whole");
        at += r->len;
        rc = take_in(answer, greeting_answer(&g, r, answer));
    }
    free(r);
    t.wire_len = 0;
    return rc;
}

static void open_it(void)
{
    ck_assert_int_eq(open_slowly(), HF_OK);
    ck_assert_int_eq(t.conn.greeting.protocol, t.protocol);
}

static void start(void)
{
    setup();
    open_it();
}

static void close_it(void)
{
    hf_conn_close(&t.conn);
    check();
}

/* "": it is answered by a reply. */
static const char *subscribing_verb(int name)
{
    return name == 'S' || name == 'T' ? "SUBSCRIBE"
           : name == 'U'              ? "UNSUBSCRIBE"
           : name == 'V'              ? "SSUBSCRIBE"
           : name == 'W'              ? "SUNSUBSCRIBE"
                                      : "";
}

static hf_status ask_for(int name, const char *ptr, size_t len)
{
    struct hf_resp_arg argv[2] = {{"ECHO", 4}, {ptr, len}};
    const char *verb = subscribing_verb(name);
    struct hf_request *request = &t.requests[name];
    hf_status rc;

    request->is_acknowledged_by_push = verb[0] != '\0';
    if (verb[0]) {
        argv[0] = (struct hf_resp_arg){verb, strlen(verb)};
        argv[1] = (struct hf_resp_arg){"ch", 2};
    }
    rc = hf_conn_submit(&t.conn, request, argv, 2);
    check();
    return rc;
}

static hf_status ask(int name)
{
    char text[16];
    int len = name < 128 ? snprintf(text, sizeof text, "%c", name)
                         : snprintf(text, sizeof text, "%d", name);

    return ask_for(name, text, (size_t)len);
}

static void ask_all(const char *names)
{
    for (; *names; names++)
        ck_assert_int_eq(ask(*names), HF_OK);
}

static enum hf_outcome give_up(int name)
{
    enum hf_outcome outcome = hf_conn_forget(&t.conn, &t.requests[name]);

    check();
    return outcome;
}

/* ---- correlation: V1 to V3, C1, C2 ---- */

START_TEST(replies_match_requests_in_order)
{
    start();
    ask_all("abc");
    put_out_all();
    ck_assert_str_eq(wire(), "ECHO a|ECHO b|ECHO c");
    ck_assert_int_eq(take("+1\r\n:2\r\n$1\r\n3\r\n"), HF_OK);
    ck_assert_str_eq(story(), "a=1 b=2 c=3");
    teardown();
}
END_TEST

START_TEST(request_knows_when_it_was_sent)
{
    const char *ptr;

    start();
    ask_all("ab");
    ck_assert_int_eq(t.requests['a'].sent_ms, HF_NEVER);
    (void)hf_conn_output(&t.conn, 5999, &ptr);
    hf_conn_wrote(&t.conn, 1);
    ask_all("c");
    (void)hf_conn_output(&t.conn, 9000, &ptr);
    ck_assert_int_eq(t.requests['a'].sent_ms, 5);
    ck_assert_int_eq(t.requests['b'].sent_ms, 5);
    ck_assert_int_eq(t.requests['c'].sent_ms, 9);
    teardown();
}
END_TEST

/* ---- counters ---- */

static struct hf_link_stats counters(void)
{
    struct hf_link_stats n;

    hf_conn_stats(&t.conn, &n);
    return n;
}

START_TEST(requests_are_counted_by_outcome)
{
    struct hf_link_stats n;

    start();
    ask_all("abcd");
    ck_assert_int_eq(give_up('d'), HF_UNSENT);
    put_out_all();
    ask_all("ef");
    ck_assert_int_eq(give_up('b'), HF_UNKNOWN);
    ck_assert_int_eq(take("+1\r\n-ERR late\r\n>2\r\n+news\r\n:1\r\n"), HF_OK);
    n = counters();
    ck_assert_uint_eq(n.answered, 1);
    ck_assert_uint_eq(n.error_replies, 0);
    ck_assert_uint_eq(n.late_replies, 1);
    ck_assert_uint_eq(n.pushes, 1);
    ck_assert_uint_eq(n.given_up, 2);
    ck_assert_uint_eq(n.in_flight, 1);
    ck_assert_uint_eq(n.in_flight_max, 3);
    ck_assert_uint_eq(n.queued, 2);
    ck_assert_uint_eq(n.queued_bytes, t.conn.out_end - t.conn.out_start);
    ck_assert_uint_gt(n.queued_bytes, 0);
    ck_assert_int_eq(take("-ERR c\r\n"), HF_OK);
    put_out_all();
    close_it();
    n = counters();
    ck_assert_uint_eq(n.requests, 6);
    ck_assert_uint_eq(n.answered, 2);
    ck_assert_uint_eq(n.error_replies, 1);
    ck_assert_uint_eq(n.unsent, 1);
    ck_assert_uint_eq(n.unknown, 3);
    ck_assert_uint_eq(n.in_flight + n.queued + n.queued_bytes, 0);
    teardown();
}
END_TEST

/* The clock's low 32 bits go round between some of them. */
START_TEST(latency_is_from_the_write_to_the_read)
{
    static const int64_t starts[] = {0, 1, UINT32_MAX - 30,
                                     ((int64_t)7 << 32) - 1};

    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        struct hf_histogram h;

        start();
        t.now_us = starts[i];
        ask_all("ab");
        put_out_all();
        t.now_us += 10;
        ask_all("c");
        put_out_all();
        t.now_us += 30;
        ck_assert_int_eq(take("+a\r\n+b\r\n+"), HF_OK);
        t.now_us += 5000;
        ck_assert_int_eq(take("c\r\n"), HF_OK);
        h = counters().latency_us;
        ck_assert_uint_eq(h.count, 3);
        ck_assert_uint_eq(h.sum, 40 + 40 + 5030);
        ck_assert_uint_eq(h.max, 5030);
        teardown();
    }
}
END_TEST

START_TEST(batch_is_what_one_write_carries)
{
    struct hf_histogram h;

    start();
    ask_all("abc");
    ck_assert_int_eq(give_up('b'), HF_UNSENT);
    (void)put_out(1); /* the rest of it is no batch of its own */
    put_out_all();
    ask_all("d");
    put_out_all();
    h = counters().batch;
    ck_assert_uint_eq(h.count, 2);
    ck_assert_uint_eq(h.sum, 3);
    ck_assert_uint_eq(h.max, 2);
    teardown();
}
END_TEST

/* Every type that a late reply may be of (Redisson 7304 did not know `#`). */
static const struct {
    int protocol;
    const char *bytes;
} late_replies[] = {
    {3, "+late\r\n"},
    {3, "-ERR late\r\n"},
    {3, ":7\r\n"},
    {3, "$4\r\nlate\r\n"},
    {3, "$0\r\n\r\n"},
    {3, "$-1\r\n"},
    {3, "*-1\r\n"},
    {3, "_\r\n"},
    {3, "#t\r\n"},
    {3, ",1.5\r\n"},
    {3, ",-inf\r\n"},
    {3, "(3492890328409238509324850943850943825024385\r\n"},
    {3, "!8\r\nERR late\r\n"},
    {3, "=8\r\ntxt:late\r\n"},
    {3, "*0\r\n"},
    {3, "*2\r\n*1\r\n:1\r\n$6\r\n+b\r\n\r\n\r\n"},
    {3, "~2\r\n:1\r\n:2\r\n"},
    {3, "%2\r\n+k\r\n:1\r\n+l\r\n%0\r\n"},
    {3, "$?\r\n;4\r\nlate\r\n;1\r\n!\r\n;0\r\n"},
    {3, "*?\r\n:1\r\n*?\r\n.\r\n.\r\n"},
    {3, "~?\r\n:1\r\n.\r\n"},
    {3, "%?\r\n+k\r\n:1\r\n.\r\n"},
    {3, "|1\r\n+ttl\r\n:9\r\n+late\r\n"},
    {3, "*2\r\n>2\r\n+message\r\n+b\r\n_\r\n"},
    {2, "+late\r\n"},
    {2, "-ERR late\r\n"},
    {2, ":-7\r\n"},
    {2, "$4\r\nlate\r\n"},
    {2, "$-1\r\n"},
    {2, "*-1\r\n"},
    {2, "*2\r\n*1\r\n:1\r\n$6\r\n+b\r\n\r\n\r\n"},
};

/* However much of it is here when its request is given up; V2, V3. */
START_TEST(late_reply_goes_to_nobody)
{
    const char *late = late_replies[_i].bytes;
    char input[200];
    size_t len =
        (size_t)snprintf(input, sizeof input, "%s+b\r\n%s+d\r\n", late, late);

    for (size_t cut = 0; cut < strlen(late); cut++) {
        setup_with(defaults(), late_replies[_i].protocol);
        open_it();
        ask_all("abcd");
        put_out_all();
        ck_assert_int_eq(give_up('c'), HF_UNKNOWN);
        ck_assert_int_eq(take_in(input, cut), HF_OK);
        ck_assert_int_eq(give_up('a'), HF_UNKNOWN);
        ck_assert_int_eq(take_in(input + cut, len - cut), HF_OK);
        ck_assert_str_eq(story(), "b=b d=d");
        ck_assert_uint_eq(hf_conn_in_flight(&t.conn), 0);
        teardown();
    }
}
END_TEST

/* All ways to withdraw some of five queued ones, before, between and behind
 * others that go out. */
START_TEST(withdrawn_request_sends_no_byte)
{
    char sent[64] = "ECHO x", told[64] = "x=x", in[64] = "+x\r\n";

    start();
    ask_all("x");
    put_out_all();
    ask_all("abcde");
    for (int i = 0; i < 5; i++) {
        const char name = (char)('a' + i);
        char *end = strchr(sent, '\0');

        if (_i >> i & 1) {
            ck_assert_int_eq(give_up(name), HF_UNSENT);
            continue;
        }
        (void)sprintf(end, "|ECHO %c", name);
        (void)sprintf(strchr(told, '\0'), " %c=%c", name, name);
        (void)sprintf(strchr(in, '\0'), "+%c\r\n", name);
    }
    put_out_all();
    ck_assert_str_eq(wire(), sent);
    ck_assert_int_eq(take(in), HF_OK);
    ck_assert_str_eq(story(), told);
    ck_assert_int_eq(take("+one too many\r\n"), HF_E_PROTOCOL);
    teardown();
}
END_TEST

/* Places of withdrawn requests are given back even if nothing is ever sent. */
START_TEST(withdrawn_requests_do_not_fill_the_connection)
{
    struct hf_conn_options options = defaults();

    options.requests_max = 4;
    setup_with(options, 3);
    ask_all("k");
    for (int i = 0; i < 1000; i++) {
        ask_all("abc");
        ck_assert_int_eq(give_up("abc"[i % 3]), HF_UNSENT);
        ck_assert_int_eq(give_up("abc"[(i + 1) % 3]), HF_UNSENT);
        ck_assert_int_eq(give_up("abc"[(i + 2) % 3]), HF_UNSENT);
    }
    ck_assert_int_eq(give_up('k'), HF_UNSENT);
    ck_assert_uint_eq(hf_conn_queued(&t.conn), 0);
    open_it();
    put_out_all();
    ck_assert_uint_eq(t.wire_len, 0);
    teardown();
}
END_TEST

/* A ring that grows while it is wrapped, at every offset. */
START_TEST(many_requests_keep_their_order)
{
    char reply[32];

    start();
    for (int i = 0; i < _i; i++) {
        ask_all("a");
        put_out_all();
        ck_assert_int_eq(take("+a\r\n"), HF_OK);
    }
    (void)story();
    for (int i = 200; i < 400; i++) {
        ck_assert_int_eq(ask(i), HF_OK);
        if (i % 3 == 0)
            put_out_all();
    }
    put_out_all();
    for (int i = 200; i < 400; i += 5)
        ck_assert_int_eq(give_up(i), HF_UNKNOWN);
    for (int i = 200; i < 400; i++) {
        (void)snprintf(reply, sizeof reply, ":%d\r\n", i);
        ck_assert_int_eq(take(reply), HF_OK);
        (void)snprintf(reply, sizeof reply, "%d=%d", i, i);
        ck_assert_str_eq(story(), i % 5 == 0 ? "" : reply);
    }
    teardown();
}
END_TEST

/* ---- pushes ---- */

#define MESSAGE ">3\r\n$7\r\nmessage\r\n$2\r\nch\r\n$2\r\nhi\r\n"
#define MESSAGE2 "*3\r\n$7\r\nmessage\r\n$2\r\nch\r\n$2\r\nhi\r\n"
#define CONFIRM(verb) ">3\r\n" verb "\r\n$2\r\nch\r\n:1\r\n"
#define CONFIRM_OTHER(verb) ">3\r\n" verb "\r\n$3\r\ncho\r\n:1\r\n"
#define CONFIRM2(verb) "*3\r\n" verb "\r\n$2\r\nch\r\n:1\r\n"

static const struct {
    int protocol;
    bool is_subscriber;
    const char *asked;
    const char *input;
    const char *story;
} deliveries[] = {
    {3, false, "", MESSAGE, ">[message,ch,hi]"},
    {3, false, "ab", MESSAGE "+1\r\n" MESSAGE "+2\r\n" MESSAGE,
     ">[message,ch,hi] a=1 >[message,ch,hi] b=2 >[message,ch,hi]"},
    {3, false, "aSb", "+1\r\n" CONFIRM("+subscribe") "+2\r\n",
     "a=1 S=[subscribe,ch,1] b=2"},
    {3, false, "UV", CONFIRM("$11\r\nunsubscribe") CONFIRM("+ssubscribe"),
     "U=[unsubscribe,ch,1] V=[ssubscribe,ch,1]"},
    {3, false, "W", CONFIRM("+sunsubscribe"), "W=[sunsubscribe,ch,1]"},
    /* A confirmation is that of its kind and channel, and of no other. */
    {3, false, "V", CONFIRM_OTHER("+sunsubscribe") CONFIRM("+ssubscribe"),
     ">[sunsubscribe,cho,1] V=[ssubscribe,ch,1]"},
    {3, false, "V", CONFIRM("+sunsubscribe") CONFIRM("+ssubscribe"),
     ">[sunsubscribe,ch,1] V=[ssubscribe,ch,1]"},
    {3, false, "W", CONFIRM_OTHER("+sunsubscribe") CONFIRM("+sunsubscribe"),
     ">[sunsubscribe,cho,1] W=[sunsubscribe,ch,1]"},
    {3, false, "UaS",
     CONFIRM("+subscribe") CONFIRM("+unsubscribe") "+1\r\n"
         CONFIRM("+ssubscribe") CONFIRM("+subscribe"),
     ">[subscribe,ch,1] U=[unsubscribe,ch,1] a=1 >[ssubscribe,ch,1] "
     "S=[subscribe,ch,1]"},
    {3, false, "S", ">1\r\n+subscribe\r\n" CONFIRM("+subscribe"),
     ">[subscribe] S=[subscribe,ch,1]"},
    /* An error is an answer to SUBSCRIBE, too. */
    {3, false, "Sb", "-NOPERM no\r\n+2\r\n", "S=NOPERM no b=2"},
    /* News may come before the confirmation. */
    {3, false, "S", MESSAGE CONFIRM("+subscribe"),
     ">[message,ch,hi] S=[subscribe,ch,1]"},
    /* Confirmations that nobody awaits are news, and shift nothing. */
    {3, false, "", CONFIRM("+subscribe"), ">[subscribe,ch,1]"},
    {3, false, "a", CONFIRM("+sunsubscribe") "+1\r\n",
     ">[sunsubscribe,ch,1] a=1"},
    {3, false, "aS", CONFIRM("+subscribe") "+1\r\n" CONFIRM("+subscribe"),
     ">[subscribe,ch,1] a=1 S=[subscribe,ch,1]"},
    /* Invalidations, with null for "all" (hiredis b9b9f44). */
    {3, false, "ab",
     ">2\r\n+invalidate\r\n_\r\n+1\r\n>2\r\n+invalidate\r\n*1\r\n+k\r\n+2\r\n",
     ">[invalidate,_] a=1 >[invalidate,[k]] b=2"},
    /* A push of no kind is dropped: pol-push-empty. */
    {3, false, "a", ">0\r\n+1\r\n", "a=1"},
    {3, false, "a", ">1\r\n:5\r\n+1\r\n", ">[5] a=1"},
    /* EXEC with SUBSCRIBE inside: an element, no push. */
    {3, false, "ab", "*2\r\n" CONFIRM("+subscribe") "_\r\n+2\r\n",
     "a=[[subscribe,ch,1],_] b=2"},
    {3, false, "a", "|1\r\n+k\r\n+v\r\n" MESSAGE "+1\r\n",
     ">[message,ch,hi] a=1"},
    /* In RESP2 an array is a reply, but on a connection that subscribes. */
    {2, false, "ab", MESSAGE2 "+2\r\n", "a=[message,ch,hi] b=2"},
    {2, true, "S", CONFIRM2("+subscribe") MESSAGE2,
     "S=[subscribe,ch,1] >[message,ch,hi]"},
    {2, true, "ST", CONFIRM2("$9\r\nsubscribe") MESSAGE2 CONFIRM2("+subscribe"),
     "S=[subscribe,ch,1] >[message,ch,hi] T=[subscribe,ch,1]"},
    {2, true, "S", "-ERR no\r\n", "S=ERR no"},
    {2, true, "S",
     MESSAGE2 "*3\r\n+unsubscribe\r\n$-1\r\n:0\r\n" CONFIRM2("+subscribe"),
     ">[message,ch,hi] >[unsubscribe,_,0] S=[subscribe,ch,1]"},
    /* PING is answered by an array there, too. */
    {2, true, "Sa", CONFIRM2("+subscribe") "*2\r\n$4\r\npong\r\n+x\r\n",
     "S=[subscribe,ch,1] a=[pong,x]"},
    {2, true, "a", MESSAGE2 "*2\r\n$4\r\npong\r\n$0\r\n\r\n" MESSAGE2,
     ">[message,ch,hi] a=[pong,] >[message,ch,hi]"},
    {3, true, "aS", "*1\r\n+x\r\n" CONFIRM("+subscribe"),
     "a=[x] S=[subscribe,ch,1]"},
};

/* The same wherever two cuts fall. */
START_TEST(push_answers_nobody_but_who_awaits_it)
{
    struct hf_conn_options options = defaults();
    const char *in = deliveries[_i].input;
    size_t len = strlen(in);

    options.is_subscriber = deliveries[_i].is_subscriber;
    for (size_t a = 0; a <= len; a++) {
        for (size_t b = a; b <= len; b += b - a < 3 ? 1 : 7) {
            setup_with(options, deliveries[_i].protocol);
            open_it();
            ask_all(deliveries[_i].asked);
            put_out_all();
            ck_assert_int_eq(take_in(in, a), HF_OK);
            ck_assert_int_eq(take_in(in + a, b - a), HF_OK);
            ck_assert_int_eq(take_in(in + b, len - b), HF_OK);
            ck_assert_str_eq(story(), deliveries[_i].story);
            ck_assert_uint_eq(hf_conn_in_flight(&t.conn), 0);
            ck_assert_uint_eq(t.conn.in_len, 0);
            teardown();
        }
    }
}
END_TEST

START_TEST(confirmation_of_a_given_up_subscribe_goes_to_nobody)
{
    start();
    ask_all("SaT");
    put_out_all();
    (void)give_up('S');
    ck_assert_int_eq(take(CONFIRM("+subscribe") "+1\r\n" CONFIRM("+subscribe")),
                     HF_OK);
    ck_assert_str_eq(story(), "a=1 T=[subscribe,ch,1]");
    teardown();
}
END_TEST

/* Given up before and after it was sent, it still knows what confirms it. */
START_TEST(given_up_subscribe_is_confirmed_by_its_own_push_alone)
{
    start();
    ask_all("SU");
    put_out_all();
    (void)give_up('S');
    ask_all("V");
    (void)give_up('V');
    ask_all("T");
    put_out_all();
    ck_assert_int_eq(take(CONFIRM("+unsubscribe") CONFIRM("+subscribe")
                              CONFIRM("+unsubscribe") CONFIRM("+subscribe")),
                     HF_OK);
    ck_assert_str_eq(story(), ">[unsubscribe,ch,1] U=[unsubscribe,ch,1] "
                              "T=[subscribe,ch,1]");
    teardown();
}
END_TEST

/* ---- forgeries: V4, C3, C4 ---- */

#define SPLIT_ERROR(forged)                                      \
    "-ERR user_script:1: x\r\n" forged " script: 6f1ed002ab, on" \
    " @user_script:1.\r\n:29939\r\n"

/* What Valkey 8.0.1 makes of error("x\r\n<forged>\r\n"): CVE-2025-67733. */
static const char *const forgeries[] = {
    SPLIT_ERROR("+OK\r\n"),
    SPLIT_ERROR(":1\r\n"),
    SPLIT_ERROR("$-1\r\n"),
    SPLIT_ERROR("*0\r\n"),
    SPLIT_ERROR("_\r\n"),
    SPLIT_ERROR("#t\r\n"),
    SPLIT_ERROR(MESSAGE),
    SPLIT_ERROR(CONFIRM("+subscribe")),
    SPLIT_ERROR("*2\r\n$1\r\na\r\n:1\r\n"),
    "+1\r\nHTTP/1.1 400 Bad Request\r\n",
    ":1\r\n:x\r\n",
    "$1\r\n1\r\n$2\r\n123\r\n",
    "+1\r\n\r\n",
};

START_TEST(nothing_of_a_read_is_delivered_before_all_has_parsed)
{
    start();
    ask_all("aSb");
    put_out_all();
    ask_all("c");
    ck_assert_int_eq(take(forgeries[_i]), HF_E_PROTOCOL);
    ck_assert_int_eq(t.conn.error.status, HF_E_PROTOCOL);
    ck_assert_ptr_nonnull(strstr(t.conn.error.text, "not RESP"));
    ck_assert_str_eq(story(), "");
    close_it();
    ck_assert_str_eq(story(), "a? S? b?");
    teardown();
}
END_TEST

static const struct {
    const char *asked;
    const char *queued;
    const char *given_up;
    const char *input;
    const char *story;
} unasked[] = {
    {"", "", "", "+x\r\n", ""},
    {"", "", "", "$-1\r\n", ""},
    {"", "", "", "-ERR max number of clients reached\r\n", ""},
    {"", "a", "", "+x\r\n", ""},
    {"a", "", "", "+1\r\n+x\r\n", "a=1"},
    {"a", "b", "", "+1\r\n+x\r\n", "a=1"},
    {"a", "", "a", "+1\r\n+x\r\n", ""},
    {"a", "bc", "b", "+1\r\n+x\r\n", "a=1"},
};

START_TEST(reply_that_nobody_asked_for_is_fatal)
{
    start();
    ask_all(unasked[_i].asked);
    put_out_all();
    ask_all(unasked[_i].queued);
    for (const char *name = unasked[_i].given_up; *name; name++)
        (void)give_up(*name);
    ck_assert_int_eq(take(unasked[_i].input), HF_E_PROTOCOL);
    ck_assert_ptr_nonnull(strstr(t.conn.error.text, "nobody asked for"));
    ck_assert_str_eq(story(), unasked[_i].story);
    teardown();
}
END_TEST

static void condemn(int name)
{
    (void)name;
    t.conn.is_condemned = true;
    (void)hf_error_set(&t.conn.error, HF_E_PROTOCOL, "condemned");
}

START_TEST(nothing_more_is_delivered_once_condemned)
{
    start();
    ask_all("abc");
    put_out_all();
    t.on_done = condemn;
    ck_assert_int_eq(take("+1\r\n+2\r\n" MESSAGE), HF_E_PROTOCOL);
    ck_assert_str_eq(story(), "a=1");
    t.on_done = NULL;
    close_it();
    ck_assert_str_eq(story(), "b? c?");
    teardown();
}
END_TEST

/* Condemned outside of a read: what comes before the close is not believed, and
 * what is queued waits for a better connection. */
START_TEST(condemned_connection_neither_hears_nor_speaks)
{
    start();
    ask_all("a");
    put_out_all();
    condemn('a');
    ask_all("b");
    put_out_all();
    ck_assert_str_eq(wire(), "ECHO a");
    ck_assert_int_eq(take("+1\r\n"), HF_E_PROTOCOL);
    close_it();
    ck_assert_str_eq(story(), "a?");
    open_it();
    put_out_all();
    ck_assert_str_eq(wire(), "ECHO b");
    ck_assert_int_eq(take("+2\r\n"), HF_OK);
    ck_assert_str_eq(story(), "b=2");
    teardown();
}
END_TEST

/* ---- the end of a connection: C5, C6, V5 ---- */

/* Wherever the last write stopped. */
START_TEST(close_makes_what_was_handed_out_unknown_and_keeps_the_rest)
{
    size_t written = 0, len = 1;

    for (; written <= len; written++) {
        start();
        ask_all("ab");
        len = t.conn.out_end - t.conn.out_start;
        (void)put_out(written);
        ask_all("cd");
        close_it();
        ck_assert_str_eq(story(), "a? b?");
        ck_assert_uint_eq(hf_conn_queued(&t.conn), 2);
        open_it();
        put_out_all();
        ck_assert_str_eq(wire(), "ECHO c|ECHO d");
        ck_assert_int_eq(take("+3\r\n+4\r\n"), HF_OK);
        ck_assert_str_eq(story(), "c=3 d=4");
        teardown();
    }
    ck_assert_uint_gt(written, 20);
}
END_TEST

START_TEST(queued_requests_wait_for_the_greeting_and_survive_its_failure)
{
    setup();
    ask_all("a");
    hf_conn_open(&t.conn);
    put_out_all();
    ask_all("b");
    put_out_all();
    ck_assert_str_eq(wire(), "HELLO 3");
    ck_assert_int_eq(take("-LOADING later\r\n"), HF_E_SERVER);
    close_it();
    ck_assert_str_eq(story(), "");
    open_it();
    put_out_all();
    ck_assert_str_eq(wire(), "ECHO a|ECHO b");
    teardown();
}
END_TEST

/* redis-py 4283, 4106: half a reply of the old connection must not be glued to
 * the new one's. */
START_TEST(half_a_reply_dies_with_its_connection)
{
    static const char reply[] = "*2\r\n$3\r\nold\r\n%1\r\n+k\r\n:1\r\n";

    for (size_t cut = 0; cut < sizeof reply - 1; cut++) {
        start();
        ask_all("a");
        put_out_all();
        ck_assert_int_eq(take_in(reply, cut), HF_OK);
        close_it();
        ask_all("b");
        open_it();
        put_out_all();
        ck_assert_int_eq(take(reply), HF_OK);
        ck_assert_str_eq(story(), "a? b=[old,[k,1]]");
        teardown();
    }
}
END_TEST

static void ask_again(int name)
{
    ck_assert_int_eq(ask(name), HF_OK);
}

/* What a lock does with an outcome that is not known. */
START_TEST(request_may_be_asked_again_from_its_end)
{
    start();
    ask_all("abc");
    put_out_all();
    t.on_done = ask_again;
    close_it();
    ck_assert_str_eq(story(), "a? b? c?");
    open_it();
    put_out_all();
    ck_assert_str_eq(wire(), "ECHO a|ECHO b|ECHO c");
    ck_assert_int_eq(take("+1\r\n"), HF_OK);
    put_out_all();
    ck_assert_str_eq(wire(), "ECHO a|ECHO b|ECHO c|ECHO a");
    close_it();
    ck_assert_str_eq(story(), "a=1 b? c? a?");
    hf_conn_fail_queued(&t.conn);
    check();
    ck_assert_str_eq(story(), "b! c! a!");
    ck_assert_uint_eq(hf_conn_queued(&t.conn), 3);
    t.on_done = NULL;
    teardown();
}
END_TEST

static const char *victims;

static void give_up_victims(int name)
{
    (void)name;
    t.on_done = NULL;
    for (const char *victim = victims; *victim; victim++)
        ck_assert_int_eq(give_up(*victim), t.conn.first < t.conn.unsent
                                               ? HF_UNKNOWN
                                               : HF_UNSENT);
    ck_assert_int_eq(ask('z'), HF_OK);
}

static const struct {
    const char *victims;
    const char *lost;       /* if all four were in flight */
    const char *failed;     /* if they were queued */
} neighbours[] = {
    {"", "a? b? c? d?", "a! b! c! d!"}, {"b", "a? c? d?", "a! c! d!"},
    {"c", "a? b? d?", "a! b! d!"},      {"d", "a? b? c?", "a! b! c!"},
    {"bc", "a? d?", "a! d!"},           {"cd", "a? b?", "a! b!"},
    {"dc", "a? b?", "a! b!"},           {"bcd", "a?", "a!"},
    {"dbc", "a?", "a!"},
};

/* `a` ends, gives up others and asks something new: none is told twice, none
 * is forgotten, and the new one waits. */
START_TEST(request_that_ends_may_give_up_its_neighbours)
{
    victims = neighbours[_i].victims;
    for (int is_queued = 0; is_queued < 2; is_queued++) {
        start();
        ask_all("abcd");
        if (!is_queued)
            put_out_all();
        t.on_done = give_up_victims;
        close_it();
        if (is_queued)
            hf_conn_fail_queued(&t.conn);
        check();
        ck_assert_str_eq(story(), is_queued ? neighbours[_i].failed
                                            : neighbours[_i].lost);
        ck_assert_uint_eq(hf_conn_queued(&t.conn), 1);
        open_it();
        put_out_all();
        ck_assert_str_eq(wire(), "ECHO z");
        teardown();
    }
}
END_TEST

/* ---- writing ---- */

/* The kernel takes some bytes, more is asked, it takes some more. */
START_TEST(wire_is_the_same_wherever_a_write_stops)
{
    size_t len = 60; /* two commands, at least */

    for (size_t a = 0; a <= len; a++) {
        for (size_t b = 0; b <= len; b++) {
            start();
            ask_all("ab");
            (void)put_out(a);
            ask_all("cd");
            (void)put_out(b);
            ask_all("e");
            put_out_all();
            ck_assert_str_eq(wire(), "ECHO a|ECHO b|ECHO c|ECHO d|ECHO e");
            teardown();
        }
    }
}
END_TEST

/* ---- limits ---- */

#define ECHO_SIZE (sizeof "*2\r\n$4\r\nECHO\r\n$1\r\na\r\n" - 1)

static const struct {
    size_t output_max;
    uint32_t requests_max;
    int taken;
} limits[] = {
    {3 * ECHO_SIZE - 1, 100, 2}, {3 * ECHO_SIZE, 100, 3},
    {3 * ECHO_SIZE + 1, 100, 3}, {ECHO_SIZE - 1, 100, 0},
    {0, 100, 0},                 {SIZE_MAX, 100, 5},
    {1 << 20, 2, 2},             {1 << 20, 3, 3},
    {1 << 20, 4, 4},             {1 << 20, 0, 0},
    {SIZE_MAX, UINT32_MAX, 5},
};

static int ask_until_full(void)
{
    for (int taken = 0; taken < 5; taken++) {
        hf_status rc = ask('a' + taken);

        if (rc < 0) {
            ck_assert_int_eq(rc, HF_E_LIMIT);
            return taken;
        }
    }
    return 5;
}

/* What is refused leaves no trace; and room comes back. */
START_TEST(limits_are_exact)
{
    struct hf_conn_options options = defaults();
    char expected[64] = "";

    options.output_max = limits[_i].output_max;
    options.requests_max = limits[_i].requests_max;
    setup_with(options, 3);
    ck_assert_int_eq(ask_until_full(), limits[_i].taken);
    open_it();
    put_out_all();
    for (int i = 0; i < limits[_i].taken; i++) {
        (void)sprintf(strchr(expected, '\0'), "%sECHO %c", i ? "|" : "", 'a' + i);
        ck_assert_int_eq(take("+x\r\n"), HF_OK);
    }
    ck_assert_str_eq(wire(), expected);
    ck_assert_int_eq(ask_until_full(), limits[_i].taken);
    teardown();
}
END_TEST

/* Given up or not, what is in flight takes a place until it is answered. */
START_TEST(place_in_flight_counts_until_its_reply_came)
{
    struct hf_conn_options options = defaults();

    options.requests_max = 2;
    setup_with(options, 3);
    open_it();
    ask_all("ab");
    put_out_all();
    (void)give_up('a');
    ck_assert_int_eq(ask('c'), HF_E_LIMIT);
    ck_assert_int_eq(take("+1\r\n"), HF_OK);
    ask_all("c");
    ck_assert_int_eq(ask('d'), HF_E_LIMIT);
    teardown();
}
END_TEST

/* Bytes that the kernel has not taken count, whosever they are. */
START_TEST(unwritten_bytes_count)
{
    struct hf_conn_options options = defaults();

    options.output_max = 2 * ECHO_SIZE;
    setup_with(options, 3);
    open_it();
    ask_all("ab");
    (void)put_out(ECHO_SIZE - 1);
    ck_assert_int_eq(ask('c'), HF_E_LIMIT);
    (void)put_out(1);
    ask_all("c");
    ck_assert_int_eq(ask('d'), HF_E_LIMIT);
    put_out_all();
    ck_assert_str_eq(wire(), "ECHO a|ECHO b|ECHO c");
    teardown();
}
END_TEST

START_TEST(argument_that_no_memory_holds_is_refused)
{
    struct hf_resp_arg argv[2] = {{"ECHO", 4}, {"x", SIZE_MAX - 1}};
    struct hf_conn_options options = defaults();

    options.output_max = SIZE_MAX;
    setup_with(options, 3);
    for (size_t len = SIZE_MAX; len > UINT32_MAX - 64; len /= 2) {
        argv[1].len = len;
        ck_assert_int_eq(hf_conn_submit(&t.conn, &t.requests['a'], argv, 2),
                         HF_E_LIMIT);
        check();
    }
    teardown();
}
END_TEST

/* ---- memory ---- */

/* Headers that promise much (faults 7: hiredis 1357, Envoy 45388), and 64 KiB
 * of what they promise. */
static const struct {
    const char *header;
    const char *filling;
} promises[] = {
    {"$536870912\r\n", "x"},
    {"!536870912\r\n", "x"},
    {"=536870912\r\ntxt:", "x"},
    {"*2147483647\r\n", ":1\r\n"},
    {"*1000000\r\n*1000000\r\n*1000000\r\n", "+value\r\n"},
    {"%1000000\r\n+k\r\n*1000000\r\n", "_\r\n"},
    {"$?\r\n;500000000\r\n", "x"},
};

START_TEST(memory_follows_what_came_not_what_was_promised)
{
    const size_t len = strlen(promises[_i].filling);
    size_t before, came = 0;

    start();
    ask_all("a");
    put_out_all();
    before = memory_counts(&t.memory).live_bytes;
    ck_assert_int_eq(take(promises[_i].header), HF_OK);
    for (; came < 64 * 1024; came += len) {
        must(take(promises[_i].filling) == HF_OK, "a promise may be kept");
        if (memory_counts(&t.memory).live_bytes > before + 16 * 1024 + 12 * came)
            ck_abort_msg("%zu bytes of memory for %zu that came",
                         memory_counts(&t.memory).live_bytes - before, came);
    }
    close_it();
    ck_assert_str_eq(story(), "a?");
    teardown();
}
END_TEST

/* A reply of 8 MiB, and a reply of a million nodes: once they are delivered,
 * what they took is free again, and the connection goes on. */
START_TEST(what_a_great_value_took_is_given_back)
{
    static char piece[64 * 1024];
    size_t before;

    start();
    ask_all("a");
    put_out_all();
    ck_assert_int_eq(take("+a\r\n"), HF_OK);
    before = memory_counts(&t.memory).live_bytes;
    ask_all("bc");
    put_out_all();
    memset(piece, 'x', sizeof piece - 1);
    ck_assert_int_eq(take("$8388480\r\n"), HF_OK);
    for (int i = 0; i < 128; i++)
        ck_assert_int_eq(take(piece), HF_OK);
    ck_assert_uint_gt(memory_counts(&t.memory).live_bytes, before + (4u << 20));
    ck_assert_int_eq(take("\r\n"), HF_OK);
    ck_assert_uint_le(memory_counts(&t.memory).live_bytes, before + (1u << 20));
    ck_assert_int_eq(take("*1048560\r\n"), HF_OK);
    for (size_t i = 0; i + 5 < sizeof piece; i += 5)
        memcpy(piece + i, "+no\r\n", 6);
    for (int i = 0; i < 79; i++)
        ck_assert_int_eq(take(piece), HF_OK);
    ck_assert_uint_gt(memory_counts(&t.memory).live_bytes, before + (4u << 20));
    ck_assert_int_eq(take(piece), HF_OK);
    ck_assert_uint_le(memory_counts(&t.memory).live_bytes, before + (1u << 20));
    close_it();
    teardown();
}
END_TEST

/* What is promised is not kept in memory for ever: neither one long string, nor
 * ever more small values. */
static const char *const endless[] = {"$5000\r\n", "*5000\r\n", "$?\r\n"};
static const char *const fillings[] = {"xxxxxxxxxx", ":1\r\n", ";1\r\nx\r\n"};

START_TEST(reply_that_is_too_great_ends_the_connection)
{
    struct hf_conn_options options = defaults();
    hf_status rc = HF_OK;
    size_t came;

    options.reply_max = 1000;
    setup_with(options, 3);
    open_it();
    ask_all("a");
    put_out_all();
    ck_assert_int_eq(take(endless[_i]), HF_OK);
    for (came = strlen(endless[_i]); rc == HF_OK && came < 4000;
         came += strlen(fillings[_i]))
        rc = take(fillings[_i]);
    ck_assert_int_eq(rc, HF_E_LIMIT);
    ck_assert_uint_gt(came, 1000);
    ck_assert_uint_lt(came, 1100);
    ck_assert_ptr_nonnull(strstr(t.conn.error.text, "more than 1000 bytes"));
    close_it();
    ck_assert_str_eq(story(), "a?");
    teardown();
}
END_TEST

START_TEST(promise_over_the_limit_is_refused_at_once)
{
    static const char *const headers[] = {"$536870913\r\n", "*4294967295\r\n",
                                          "*2147483648\r\n",
                                          "%4294967295\r\n"};

    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        start();
        ask_all("a");
        put_out_all();
        ck_assert_int_eq(take(headers[i]), HF_E_LIMIT);
        ck_assert_int_eq(t.conn.error.status, HF_E_LIMIT);
        teardown();
    }
}
END_TEST

/* The password is on the wire and nowhere else, wherever the write stopped. */
START_TEST(password_is_gone_once_it_is_sent)
{
    const char *ptr;
    size_t len = 1;

    for (size_t a = 0; a < len; a++) {
        t.url = (struct hf_url){.has_password = true, .password = PASSWORD};
        setup();
        hf_conn_open(&t.conn);
        len = hf_conn_output(&t.conn, t.now_us, &ptr);
        ck_assert_ptr_nonnull(memmem(ptr, len, PASSWORD, strlen(PASSWORD)));
        hf_conn_wrote(&t.conn, a);
        if (a % 2)
            hf_conn_wrote(&t.conn, len - a);
        else
            hf_conn_close(&t.conn);
        ck_assert_ptr_null(
            memmem(&t.conn, sizeof t.conn, PASSWORD, strlen(PASSWORD)));
        teardown();
    }
    ck_assert_uint_gt(len, 50);
}
END_TEST

/* ---- the greeting ---- */

/* The kernel takes a part of a step, as far as its first `n` commands or a byte
 * less, and the server answers what it has: each answer may come as soon as its
 * question has left, and not before. */
START_TEST(greeting_may_leave_and_be_answered_in_pieces)
{
    static const char *const commands[] = {
        "*3\r\n$6\r\nCLIENT\r\n$7\r\nSETNAME\r\n$4\r\ntest\r\n",
        "*4\r\n$6\r\nCLIENT\r\n$7\r\nSETINFO\r\n$8\r\nLIB-NAME\r\n"
        "$8\r\nholdfast\r\n"};
    size_t len = 0;

    for (int n = 0; n < (int)(sizeof commands / sizeof *commands); n++) {
        len += strlen(commands[n]);
        for (int lacks = 0; lacks <= 1; lacks++) {
            setup();
            hf_conn_open(&t.conn);
            put_out_all();
            ck_assert_int_eq(take("%1\r\n+proto\r\n:3\r\n"), HF_OK);
            ck_assert_uint_eq(put_out(len - (size_t)lacks),
                              len - (size_t)lacks);
            for (int i = 0; i < n; i++)
                ck_assert_int_eq(take("+OK\r\n"), HF_OK);
            ck_assert_int_eq(take("+OK\r\n"), lacks ? HF_E_PROTOCOL : HF_OK);
            close_it();
            teardown();
        }
    }
}
END_TEST

START_TEST(greeting_hears_no_pushes_and_no_answer_too_many)
{
    setup_with(defaults(), 2);
    hf_conn_open(&t.conn);
    put_out_all();
    ck_assert_str_eq(wire(), "CLIENT ID");
    ck_assert_int_eq(take(":7\r\n+OK\r\n"), HF_E_PROTOCOL);
    teardown();

    setup();
    hf_conn_open(&t.conn);
    put_out_all();
    ck_assert_int_eq(take(MESSAGE), HF_OK);
    ck_assert_str_eq(story(), "");
    close_it();
    open_it();
    teardown();
}
END_TEST

/* ---- any life of a connection, against a dumb twin ---- */

#define ALIVE_MAX 600
#define INBOUND_MAX (1 << 20)
#define LONG_REPLY 40000

/* One request as it should go. */
struct twin {
    int name;
    int number;                       /* what it asks for */
    bool is_given_up;
    bool awaits_push;
};

/* What should happen, in arrays that are searched and moved. */
static struct {
    bool may_fail;                    /* an allocation will, once */
    bool is_asking[NAMES];
    int last_number;
    struct twin queued[ALIVE_MAX], sent[4 * ALIVE_MAX];
    size_t queued_count, sent_count;
    size_t read;                      /* of `sent`, by the server */
    size_t served;                    /* of `sent`, answered by the server */
    int pushed, heard;
    char inbound[INBOUND_MAX];        /* on its way to us */
    size_t inbound_len;
    unsigned answered, unknown, unsent, reconnects;
} w;

/* The number that a value carries, whatever its type: its first one. */
static int number_in(struct hf_resp_value v)
{
    struct hf_resp_value child;
    char text[16] = "";
    const char *ptr;
    int64_t n = 0;
    size_t len;

    if (hf_resp_integer(v, &n) == HF_OK)
        return (int)n;
    if (hf_resp_bytes(v, &ptr, &len) == HF_OK)
        memcpy(text, ptr, len < 15 ? len : 15);
    else if (hf_resp_count(v) > 0 &&
             hf_resp_element(v, hf_resp_type(v) == HF_RESP_PUSH, &child) ==
                 HF_OK)
        return number_in(child);
    else
        must(hf_resp_copy_bytes(v, text, 15, &len) == HF_OK, "it is text");
    return atoi(text);
}

static void forget_twin(struct twin *from, size_t *count, size_t at)
{
    memmove(from + at, from + at + 1, (*count - at - 1) * sizeof *from);
    --*count;
}

static void forget_served(void)
{
    must(w.served > 0, "nothing is answered before the server has");
    w.served--;
    w.read--;
    forget_twin(w.sent, &w.sent_count, 0);
}

static void world_push(void *ctx, struct hf_resp_value push)
{
    (void)ctx;
    must(number_in(push) == ++w.heard, "pushes come all, and in order");
}

/* The first of the list that still has an owner is `name`, and is no more. */
static void must_be_first(struct twin *list, size_t *count, int name)
{
    while (*count > 0 && list[0].is_given_up)
        forget_twin(list, count, 0);
    must(*count > 0 && list[0].name == name, "requests end in order");
    forget_twin(list, count, 0);
}

static void must_be_answered(int name, struct hf_resp_value reply)
{
    while (w.sent_count > 0 && w.sent[0].is_given_up)
        forget_served();
    must(w.sent_count > 0 && w.sent[0].name == name, "replies come in order");
    must(number_in(reply) == w.sent[0].number, "the answer fits the question");
    forget_served();
}

static void world_end(void *ctx, struct hf_request *request,
                      enum hf_outcome outcome, struct hf_resp_value reply)
{
    int name = (int)(request - t.requests);

    (void)ctx;
    must(w.is_asking[name], "a request ends once");
    w.is_asking[name] = false;
    if (outcome == HF_ANSWERED) {
        must_be_answered(name, reply);
        w.answered++;
    } else if (outcome == HF_UNKNOWN) {
        must_be_first(w.sent, &w.sent_count, name);
        w.unknown++;
    } else {
        must_be_first(w.queued, &w.queued_count, name);
        w.unsent++;
    }
}

static void world_ask(void)
{
    static char padding[2000];
    char text[16];
    struct hf_resp_arg argv[3] = {{"ECHO", 4}, {text, 0}, {padding, dice(2000)}};
    int name = (int)dice(NAMES);
    struct hf_request *request = &t.requests[name];
    struct hf_conn before = t.conn;
    hf_status rc;

    if (w.is_asking[name] || w.queued_count == ALIVE_MAX)
        return;
    argv[1].len = (size_t)sprintf(text, "%d", ++w.last_number);
    request->is_acknowledged_by_push = dice(8) == 0;
    if (request->is_acknowledged_by_push)
        argv[0] = (struct hf_resp_arg){"SUBSCRIBE", 9};
    rc = hf_conn_submit(&t.conn, request, argv, dice(9) ? 2 : 3);
    if (rc == HF_OK) {
        w.is_asking[name] = true;
        w.queued[w.queued_count++] =
            (struct twin){.name = name,
                          .number = w.last_number,
                          .awaits_push = request->is_acknowledged_by_push};
        return;
    }
    must(rc == HF_E_LIMIT || (rc == HF_E_NOMEM && w.may_fail), "there is room");
    must(before.last == t.conn.last && before.unsent == t.conn.unsent &&
             before.first == t.conn.first &&
             before.out_end - before.out_start - before.garbage ==
                 t.conn.out_end - t.conn.out_start - t.conn.garbage,
         "what is refused leaves no trace");
}

/* Gives up one of the twins, or none. */
static void world_give_up(void)
{
    size_t i = dice(w.queued_count + w.sent_count + 1);
    struct twin *twin = i < w.queued_count ? &w.queued[i]
                                           : &w.sent[i - w.queued_count];

    if (i == w.queued_count + w.sent_count || twin->is_given_up)
        return;
    must(hf_conn_forget(&t.conn, &t.requests[twin->name]) ==
             (i < w.queued_count ? HF_UNSENT : HF_UNKNOWN),
         "only what was not handed out can be withdrawn");
    w.is_asking[twin->name] = false;
    twin->is_given_up = true;
    if (i < w.queued_count)
        forget_twin(w.queued, &w.queued_count, i);
}

static void world_write(void)
{
    if (w.sent_count + w.queued_count > 4 * ALIVE_MAX ||
        t.wire_len > WIRE_MAX / 2)
        return;
    (void)put_out(dice(3) ? dice(200) : SIZE_MAX);
    memcpy(w.sent + w.sent_count, w.queued, w.queued_count * sizeof *w.queued);
    w.sent_count += w.queued_count;
    w.queued_count = 0;
}

/* The server reads what is whole: what was sent, in order, and no other. */
static void world_read(void)
{
    static struct request r;
    size_t at = 0;

    while (request_decode(&r, t.wire + at, t.wire_len - at) == REQUEST_WHOLE) {
        must(w.read < w.sent_count && r.argc >= 2 &&
                 atoi(r.arg[1].ptr) == w.sent[w.read].number,
             "the wire has what was asked and not withdrawn");
        w.read++;
        at += r.len;
    }
    memmove(t.wire, t.wire + at, t.wire_len - at);
    t.wire_len -= at;
}

static const char *const reply_formats[] = {
    ":%d\r\n",
    "+%d\r\n",
    "-%d was wrong\r\n",
    "(%d\r\n",
    "*3\r\n*1\r\n:%d\r\n_\r\n#f\r\n",
    "%%1\r\n:%d\r\n~1\r\n+x\r\n",
    "|1\r\n+a\r\n:0\r\n*?\r\n:%d\r\n.\r\n",
    "$9\r\n%-9d\r\n",
    "=13\r\ntxt:%-9d\r\n",
    "$?\r\n;9\r\n%-9d\r\n;2\r\nxx\r\n;0\r\n",
};
#define REPLY_FORMATS (sizeof reply_formats / sizeof *reply_formats)

static void world_serve_one(const struct twin *twin)
{
    const char *format = reply_formats[dice(REPLY_FORMATS)];
    char *end = w.inbound + w.inbound_len;

    if (twin->awaits_push)
        format = ">3\r\n+subscribe\r\n+%d\r\n:1\r\n";
    else if (dice(50) == 0)
        format = "*1000\r\n:%d\r\n"; /* for the tape to grow */
    end += sprintf(end, format, twin->number);
    for (int i = 1; format[1] == '1' && format[4] == '0' && i < 1000; i++)
        end += sprintf(end, "+%d\r\n", i);
    w.inbound_len = (size_t)(end - w.inbound);
}

/* Pushes stand between replies; some look like the confirmation of another. */
static void world_serve(void)
{
    static const char *const kinds[] = {"message", "sunsubscribe",
                                        "unsubscribe", "ssubscribe"};

    world_read();
    for (size_t n = dice(8); n > 0 && w.inbound_len < INBOUND_MAX / 2; n--) {
        if (dice(20) == 0)
            w.inbound_len += (size_t)sprintf(
                w.inbound + w.inbound_len,
                ">3\r\n+%s\r\n+%d\r\n+hi\r\n", kinds[dice(4)], ++w.pushed);
        else if (w.served < w.read)
            world_serve_one(&w.sent[w.served++]);
    }
}

static void world_reconnect(void)
{
    hf_conn_close(&t.conn);
    for (size_t i = 0; i < w.sent_count; i++)
        must(w.sent[i].is_given_up, "all in flight were told");
    w.sent_count = w.read = w.served = w.inbound_len = 0;
    w.heard = w.pushed;
    w.reconnects++;
    if (dice(2)) {
        hf_conn_fail_queued(&t.conn);
        must(w.queued_count == 0, "all queued were told");
    }
    check();
    while (open_slowly() < 0) {
        must(w.may_fail, "there is memory");
        hf_conn_close(&t.conn);
    }
}

static void world_hear(void)
{
    size_t n = dice(3) ? dice(300) : SIZE_MAX;
    hf_status rc;

    if (n > w.inbound_len)
        n = w.inbound_len;
    rc = take_in(w.inbound, n);
    if (rc < 0) {
        must(rc == HF_E_NOMEM && w.may_fail, "what the server says is right");
        world_reconnect();
        return;
    }
    memmove(w.inbound, w.inbound + n, w.inbound_len - n);
    w.inbound_len -= n;
}

/* A reply too many, when all others have come. */
static void world_forge(void)
{
    if (w.served < w.sent_count || w.inbound_len > 0)
        return;
    must(take("+forged\r\n") == HF_E_PROTOCOL, "nobody asked for it");
    world_reconnect();
}

static void world_step(void)
{
    size_t n = dice(1000);

    if (n < 300)
        world_ask();
    else if (n < 350)
        world_give_up();
    else if (n < 550)
        world_write();
    else if (n < 750)
        world_serve();
    else if (n < 998)
        world_hear();
    else if (n < 999)
        world_forge();
    else
        world_reconnect();
    check();
}

/* One life of so many steps; the fail_at-th allocation fails. True: it did. */
static bool world_run(uint64_t seed, int steps, uint64_t fail_at)
{
    struct hf_conn_options options = defaults();
    bool has_failed;

    memset(&w, 0, sizeof w);
    dice_seed = seed;
    w.may_fail = fail_at > 0;
    options.on_push = world_push;
    options.on_end = world_end;
    setup_with(options, 3);
    memory_fail_at(&t.memory, fail_at);
    while (open_slowly() < 0)
        hf_conn_close(&t.conn);
    for (int i = 0; i < steps; i++)
        world_step();
    has_failed = memory_has_failed(&t.memory);
    world_reconnect();
    teardown();
    return has_failed;
}

START_TEST(million_steps_and_no_answer_is_another_ones)
{
    (void)world_run(88172645463325252u, 1000000, 0);
    ck_assert_uint_gt(w.answered, 100000);
    ck_assert_uint_gt(w.unknown, 1000);
    ck_assert_uint_gt(w.unsent, 100);
    ck_assert_int_gt(w.heard, 1000);
}
END_TEST

/* V6; StackExchange.Redis 2804, 2883, 2919: after a failed allocation, answers
 * reached others. */
START_TEST(memory_that_fails_once_mixes_up_nothing)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        uint64_t n = 1;

        while (world_run(seed * 362436069, 2000, n))
            n++;
        ck_assert_uint_gt(n, 5);
    }
}
END_TEST

static TCase *case_correlation(void)
{
    TCase *c = tcase_create("correlation");

    tcase_add_test(c, replies_match_requests_in_order);
    tcase_add_test(c, request_knows_when_it_was_sent);
    tcase_add_loop_test(c, late_reply_goes_to_nobody, 0, ROWS(late_replies));
    tcase_add_loop_test(c, withdrawn_request_sends_no_byte, 0, 1 << 5);
    tcase_add_test(c, withdrawn_requests_do_not_fill_the_connection);
    tcase_add_loop_test(c, many_requests_keep_their_order, 0, 66);
    tcase_add_loop_test(c, push_answers_nobody_but_who_awaits_it, 0,
                        ROWS(deliveries));
    tcase_add_test(c, confirmation_of_a_given_up_subscribe_goes_to_nobody);
    tcase_add_test(c, given_up_subscribe_is_confirmed_by_its_own_push_alone);
    return c;
}

static TCase *case_counters(void)
{
    TCase *c = tcase_create("counters");

    tcase_add_test(c, requests_are_counted_by_outcome);
    tcase_add_test(c, latency_is_from_the_write_to_the_read);
    tcase_add_test(c, batch_is_what_one_write_carries);
    return c;
}

static TCase *case_forgeries(void)
{
    TCase *c = tcase_create("forgeries");

    tcase_add_loop_test(c,
                        nothing_of_a_read_is_delivered_before_all_has_parsed,
                        0, ROWS(forgeries));
    tcase_add_loop_test(c, reply_that_nobody_asked_for_is_fatal, 0,
                        ROWS(unasked));
    tcase_add_test(c, nothing_more_is_delivered_once_condemned);
    tcase_add_test(c, condemned_connection_neither_hears_nor_speaks);
    tcase_add_test(c, greeting_may_leave_and_be_answered_in_pieces);
    tcase_add_test(c, greeting_hears_no_pushes_and_no_answer_too_many);
    return c;
}

static TCase *case_ends(void)
{
    TCase *c = tcase_create("ends");

    tcase_add_test(c,
                   close_makes_what_was_handed_out_unknown_and_keeps_the_rest);
    tcase_add_test(c,
                   queued_requests_wait_for_the_greeting_and_survive_its_failure);
    tcase_add_test(c, half_a_reply_dies_with_its_connection);
    tcase_add_test(c, request_may_be_asked_again_from_its_end);
    tcase_add_loop_test(c, request_that_ends_may_give_up_its_neighbours, 0,
                        ROWS(neighbours));
    return c;
}

static TCase *case_limits(void)
{
    TCase *c = tcase_create("limits");

    tcase_add_test(c, wire_is_the_same_wherever_a_write_stops);
    tcase_add_loop_test(c, limits_are_exact, 0, ROWS(limits));
    tcase_add_test(c, place_in_flight_counts_until_its_reply_came);
    tcase_add_test(c, unwritten_bytes_count);
    tcase_add_test(c, argument_that_no_memory_holds_is_refused);
    tcase_add_loop_test(c, memory_follows_what_came_not_what_was_promised, 0,
                        ROWS(promises));
    tcase_add_test(c, what_a_great_value_took_is_given_back);
    tcase_add_loop_test(c, reply_that_is_too_great_ends_the_connection, 0, 3);
    tcase_add_test(c, promise_over_the_limit_is_refused_at_once);
    tcase_add_test(c, password_is_gone_once_it_is_sent);
    return c;
}

static TCase *case_any_life(void)
{
    TCase *c = tcase_create("any life");

    tcase_set_timeout(c, 60);
    tcase_add_test(c, million_steps_and_no_answer_is_another_ones);
    tcase_add_test(c, memory_that_fails_once_mixes_up_nothing);
    return c;
}

int main(void)
{
    Suite *s = suite_create("net/conn");

    suite_add_tcase(s, case_correlation());
    suite_add_tcase(s, case_counters());
    suite_add_tcase(s, case_forgeries());
    suite_add_tcase(s, case_ends());
    suite_add_tcase(s, case_limits());
    suite_add_tcase(s, case_any_life());
    return suite_run(s);
}
