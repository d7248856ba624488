/* Any life of a connection, against a dumb twin: a million random steps, and
 * each allocation failing once. Source: RESP-CONFORMANCE, V1 to V6. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/base/error.h"
#include "tests/support/conn_kit.h"
#include "tests/support/dice.h"
#include "tests/support/request.h"
#include "tests/support/suite.h"

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
        ck_must(hf_resp_copy_bytes(v, text, 15, &len) == HF_OK, "it is text");
    return atoi(text);
}

static void forget_twin(struct twin *from, size_t *count, size_t at)
{
    memmove(from + at, from + at + 1, (*count - at - 1) * sizeof *from);
    --*count;
}

static void forget_served(void)
{
    ck_must(w.served > 0, "nothing is answered before the server has");
    w.served--;
    w.read--;
    forget_twin(w.sent, &w.sent_count, 0);
}

static void world_push(void *ctx, struct hf_resp_value push)
{
    (void)ctx;
    ck_must(number_in(push) == ++w.heard, "pushes come all, and in order");
}

/* The first of the list that still has an owner is `name`, and is no more. */
static void must_be_first(struct twin *list, size_t *count, int name)
{
    while (*count > 0 && list[0].is_given_up)
        forget_twin(list, count, 0);
    ck_must(*count > 0 && list[0].name == name, "requests end in order");
    forget_twin(list, count, 0);
}

static void must_be_answered(int name, struct hf_resp_value reply)
{
    while (w.sent_count > 0 && w.sent[0].is_given_up)
        forget_served();
    ck_must(w.sent_count > 0 && w.sent[0].name == name,
            "replies come in order");
    ck_must(number_in(reply) == w.sent[0].number,
            "the answer fits the question");
    forget_served();
}

static void world_end(void *ctx, struct hf_request *request,
                      enum hf_outcome outcome, struct hf_resp_value reply)
{
    int name = (int)(request - t.requests);

    (void)ctx;
    ck_must(w.is_asking[name], "a request ends once");
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
    ck_must(rc == HF_E_LIMIT || (rc == HF_E_NOMEM && w.may_fail),
            "there is room");
    ck_must(before.end == t.conn.end && before.first_unsent == t.conn.first_unsent &&
                before.first == t.conn.first &&
                before.out_end - before.out_start - before.withdrawn_bytes ==
                    t.conn.out_end - t.conn.out_start - t.conn.withdrawn_bytes,
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
    ck_must(hf_conn_cancel(&t.conn, &t.requests[twin->name]) ==
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
        ck_must(w.read < w.sent_count && r.argc >= 2 &&
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
        ck_must(w.sent[i].is_given_up, "all in flight were told");
    w.sent_count = w.read = w.served = w.inbound_len = 0;
    w.heard = w.pushed;
    w.reconnects++;
    if (dice(2)) {
        hf_conn_fail_queued(&t.conn);
        ck_must(w.queued_count == 0, "all queued were told");
    }
    check();
    while (open_slowly() < 0) {
        ck_must(w.may_fail, "there is memory");
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
        ck_must(rc == HF_E_NOMEM && w.may_fail,
                "what the server says is right");
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
    ck_must(take("+forged\r\n") == HF_E_PROTOCOL, "nobody asked for it");
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
    options.on_request_end = world_end;
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
    Suite *s = suite_create("net/conn, any life");

    suite_add_tcase(s, case_any_life());
    return suite_run(s);
}
