/* Connection kit. */
#include "tests/support/conn_kit.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/link/conn.h"
#include "tests/support/handshake.h"
#include "tests/support/promise.h"
#include "tests/support/request.h"

#define NOW_US 1000000

struct conn_test t;

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
        (void)fprintf(t.trace, "%lld", (long long)n);
    } else if (hf_resp_bytes(v, &ptr, &len) == HF_OK) {
        (void)fprintf(t.trace, "%.*s", (int)len, ptr);
    } else if (hf_resp_count(v) == 0) {
        (void)fputc(marks[hf_resp_type(v)], t.trace);
    } else {
        for (; hf_resp_next(&it, &child); sep = ",") {
            (void)fputs(sep[0] ? sep : "[", t.trace);
            tell_value(child);
        }
        (void)fputc(']', t.trace);
    }
}

static void tell_name(int name)
{
    if (name < 128)
        (void)fprintf(t.trace, " %c", name);
    else
        (void)fprintf(t.trace, " %d", name);
}

static void on_push(void *ctx, struct hf_resp_value push)
{
    (void)ctx;
    (void)fputs(" >", t.trace);
    tell_value(push);
}

static void on_push_lost(void *ctx)
{
    (void)ctx;
    (void)fputs(" >?", t.trace);
}

static void on_end(void *ctx, struct hf_request *request,
                   enum hf_outcome outcome, struct hf_resp_value reply)
{
    int name = (int)(request - t.requests);

    (void)ctx;
    tell_name(name);
    if (outcome == HF_ANSWERED) {
        (void)fputc('=', t.trace);
        tell_value(reply);
    } else {
        (void)fputc(outcome == HF_UNKNOWN ? '?' : '!', t.trace);
    }
    if (t.on_done)
        t.on_done(name);
}

const char *trace(void)
{
    static char told[1 << 20];

    (void)fclose(t.trace);
    (void)snprintf(told, sizeof told, "%s",
                   t.story_text[0] ? t.story_text + 1 : "");
    free(t.story_text);
    t.trace = open_memstream(&t.story_text, &t.story_len);
    return told;
}

/* ---- what must hold at any time ---- */

static void check_output(void)
{
    const struct hf_conn *c = &t.conn;
    size_t queued = 0;

    for (uint64_t n = c->first_unsent; n < c->end; n++)
        queued += c->places[n & (c->places_capacity - 1)].size;
    ck_must(c->unwritten_bytes + queued == c->out_end - c->out_start,
            "every byte of the output belongs to a request that will send it");
}

/* Each request that was taken has ended in one way, or waits for its end. */
static void check_counters(void)
{
    const struct hf_conn *c = &t.conn;
    const struct hf_link_stats *n = &c->stats;
    uint64_t waiting = 0;

    for (uint64_t at = c->first; at < c->end; at++)
        waiting += hf_expected_reply_request(
                       &c->places[at & (c->places_capacity - 1)]) != NULL;
    ck_must(n->requests == n->answered + n->unsent + n->unknown + waiting,
            "every request is counted, by its outcome");
    ck_must(n->latency_us.count == n->answered + n->late_replies,
            "every reply has its latency");
    ck_must(n->given_up <= n->unsent + n->unknown, "who is given up has ended");
}

void check(void)
{
    ck_must(hf_conn_ok(&t.conn), "the rules of conn.h");
    check_output();
    check_counters();
}

/* ---- the link's part ---- */

struct hf_conn_options defaults(void)
{
    return (struct hf_conn_options){
        .mem = &t.memory.hook,
        .output_max = 1 << 20,
        .requests_max = NAMES,
        .reply_max = 64u << 20,
        .on_push = on_push,
        .on_push_lost = on_push_lost,
        .on_request_end = on_end,
    };
}

void setup_with(struct hf_conn_options options, int protocol)
{
    t.protocol = protocol;
    t.now_us = NOW_US;
    t.trace = open_memstream(&t.story_text, &t.story_len);
    memory_init(&t.memory);
    hf_conn_init(&t.conn, &options);
    t.conn.handshake.client_name = "test";
    t.conn.handshake.mode = protocol == 2 ? HANDSHAKE_RESP2 : HANDSHAKE_RESP3;
    check();
}

void setup(void)
{
    setup_with(defaults(), 3);
}

void teardown(void)
{
    if (t.conn.state != HF_CONN_CLOSED)
        hf_conn_close(&t.conn);
    hf_conn_fail_queued(&t.conn);
    check();
    hf_conn_fini(&t.conn);
    ck_assert_pstr_eq(memory_fini(&t.memory), NULL);
    (void)fclose(t.trace);
    free(t.story_text);
}

hf_status take_in(const char *bytes, size_t len)
{
    hf_status rc = HF_OK;

    while (len > 0 && rc == HF_OK) {
        char *ptr;
        size_t room = hf_conn_input(&t.conn, &ptr);
        size_t n = len < room ? len : room;

        if (room == 0)
            return HF_E_NOMEM;
        memcpy(ptr, bytes, n);
        rc = hf_conn_received(&t.conn, n, t.now_us);
        check();
        bytes += n;
        len -= n;
    }
    return rc;
}

hf_status take(const char *text)
{
    return take_in(text, strlen(text));
}

/* Puts out at most `n` bytes of what is queued; the kernel may take less than
 * it was given. Returns how many. */
size_t put_out(size_t n)
{
    const char *ptr;
    size_t len = hf_conn_output(&t.conn, t.now_us, &ptr);

    check();
    if (n > len)
        n = len;
    ck_must(t.wire_len + n <= WIRE_MAX, "the wire is long enough");
    if (n > 0)
        memcpy(t.wire + t.wire_len, ptr, n);
    t.wire_len += n;
    hf_conn_wrote(&t.conn, n);
    check();
    return n;
}

void put_out_all(void)
{
    (void)put_out(SIZE_MAX);
}

const char *wire(void)
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

/* Answers the commands of a handshake, until the connection is ready. */
hf_status open_slowly(void)
{
    struct handshake g = {.protocol = 2, .id = 7};
    struct request *r = malloc(sizeof *r);
    char answer[HANDSHAKE_MAX];
    hf_status rc = HF_OK;
    size_t at = 0;

    t.wire_len = 0;
    rc = hf_conn_open(&t.conn);
    while (rc == HF_OK && t.conn.state == HF_CONN_HANDSHAKE) {
        if (at == t.wire_len)
            put_out_all();
        ck_must(request_decode(r, t.wire + at, t.wire_len - at) ==
                REQUEST_WHOLE,
                "a handshake is written whole");
        at += r->len;
        rc = take_in(answer, handshake_answer(&g, r, answer));
    }
    free(r);
    t.wire_len = 0;
    return rc;
}

void open_it(void)
{
    ck_assert_int_eq(open_slowly(), HF_OK);
    ck_assert_int_eq(t.conn.handshake.protocol, t.protocol);
}

void start(void)
{
    setup();
    open_it();
}

void close_it(void)
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
           : name == 'W' || name == 'X' ? "SUNSUBSCRIBE"
                                      : "";
}

hf_status ask_for(int name, const char *ptr, size_t len)
{
    struct hf_resp_arg argv[3] = {{"ECHO", 4}, {ptr, len}};
    const char *verb = subscribing_verb(name);
    struct hf_request *request = &t.requests[name];
    size_t argc = name == 'X' ? 3 : 2;
    hf_status rc;

    request->is_acknowledged_by_push = verb[0] != '\0';
    if (verb[0]) {
        argv[0] = (struct hf_resp_arg){verb, strlen(verb)};
        argv[1] = argv[2] = (struct hf_resp_arg){"ch", 2};
    }
    rc = hf_conn_submit(&t.conn, request, argv, argc);
    check();
    return rc;
}

hf_status ask(int name)
{
    char text[16];
    int len = name < 128 ? snprintf(text, sizeof text, "%c", name)
                         : snprintf(text, sizeof text, "%d", name);

    return ask_for(name, text, (size_t)len);
}

void ask_all(const char *names)
{
    for (; *names; names++)
        ck_assert_int_eq(ask(*names), HF_OK);
}

enum hf_outcome give_up(int name)
{
    enum hf_outcome outcome = hf_conn_cancel(&t.conn, &t.requests[name]);

    check();
    return outcome;
}
