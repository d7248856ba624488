/* Every byte: a dozen requests with replies of all kinds go to a server that
 * breaks the connection behind each byte that it takes and each that it sends,
 * handshake included; that sends in drops, late, or rubbish in place of a reply.
 * Whatever happens, what the link says of a request is what the server did:
 *
 *   ANSWERED   executed once, and the answer is its own, to the byte
 *   UNKNOWN    executed once or not at all
 *   UNSENT     not executed, and no byte of it has arrived
 *
 * and what is asked next, on the next connection, is answered rightly.
 * Sources: net.h "links"; faults X3, X5. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "net/link/link.h"
#include "net/net.h"
#include "tests/support/executor.h"
#include "tests/support/local.h"
#include "tests/support/memory.h"
#include "tests/support/suite.h"

#define LONG_MS 10000         /* longer than anything here takes */
#define PUSH ">2\r\n+news\r\n$5\r\nhello\r\n"

/* What is sent, and how it reads. */
static const struct executor_row replies[] = {
    EXECUTOR_ROW("+OK\r\n"),
    EXECUTOR_ROW(":-42\r\n"),
    EXECUTOR_ROW("$7\r\n\r\n+OK\r\n\r\n"),
    EXECUTOR_ROW(PUSH "_\r\n"),
    EXECUTOR_ROW("$-1\r\n"),
    EXECUTOR_ROW("*3\r\n*2\r\n:1\r\n$0\r\n\r\n*0\r\n*1\r\n*1\r\n+deep\r\n"),
    EXECUTOR_ROW("-ERR no\r\n" PUSH),
    EXECUTOR_ROW("%2\r\n+a\r\n:1\r\n+b\r\n~1\r\n#t\r\n"),
    EXECUTOR_ROW("=8\r\ntxt:text\r\n"),
    EXECUTOR_ROW(",1.5\r\n"),
    EXECUTOR_ROW("|1\r\n+ttl\r\n:3\r\n$3\r\nend\r\n"),
    EXECUTOR_ROW(":7\r\n"),
};
static const char *const texts[] = {
    "OK", "-42", "\r\n+OK\r\n", "nil", "nil", "[[1  ][][[deep ]]]", "!ERR no",
    "[a 1 b [true ]]", "text", "1.5", "end", "7",
};
enum { COUNT = sizeof replies / sizeof *replies, LAST = COUNT - 1 };

static struct memory memory;
static struct hf_loop *loop;
static struct hf_link *link_;
static struct executor executor;
static unsigned pushes;
static int64_t connect_timeout_ms;
static bool was_up;           /* before it broke */

/* ---- replies as text ---- */

#define TEXT_ROOM 128

static void append(char *dst, const char *ptr, size_t len)
{
    size_t used = strlen(dst);

    (void)snprintf(dst + used, TEXT_ROOM - used, "%.*s", (int)len, ptr);
}

static void append_scalar(char *dst, struct hf_resp_value v)
{
    char number[32];
    const char *ptr;
    size_t len;
    int64_t n;
    bool yes;

    if (hf_resp_is_null(v)) {
        append(dst, "nil", 3);
    } else if (hf_resp_integer(v, &n) == HF_OK) {
        append(dst, number,
               (size_t)snprintf(number, sizeof number, "%lld", (long long)n));
    } else if (hf_resp_boolean(v, &yes) == HF_OK) {
        append(dst, yes ? "true" : "false", 5);
    } else {
        ck_assert_int_eq(hf_resp_bytes(v, &ptr, &len), HF_OK);
        append(dst, "!", hf_resp_is_error(v));
        append(dst, ptr, len);
    }
}

static bool is_aggregate(struct hf_resp_value v)
{
    enum hf_resp_type type = hf_resp_type(v);

    return type == HF_RESP_ARRAY || type == HF_RESP_MAP || type == HF_RESP_SET;
}

/* As deep as the replies above. */
static void append_value(char *dst, struct hf_resp_value v)
{
    struct hf_resp_iter it;
    struct hf_resp_value child;

    if (!is_aggregate(v)) {
        append_scalar(dst, v);
        return;
    }
    append(dst, "[", 1);
    for (it = hf_resp_children(v); hf_resp_next(&it, &child);) {
        append_value(dst, child);
        append(dst, " ", !is_aggregate(child));
    }
    append(dst, "]", 1);
}

/* ---- requests ---- */

struct ask {
    struct hf_request request;
    int ends;                         /* how often `done` was called */
    enum hf_outcome outcome;
    char text[TEXT_ROOM];
};

static struct ask asks[COUNT], last;

static void on_done(struct hf_request *request, enum hf_outcome outcome,
                    struct hf_resp_value reply)
{
    struct ask *a = HF_OWNER_OF(request, struct ask, request);

    a->ends++;
    a->outcome = outcome;
    if (outcome == HF_ANSWERED)
        append_value(a->text, reply);
}

static void on_change(void *ctx, bool is_up)
{
    (void)ctx;
    was_up = was_up || (is_up && !executor.has_broken);
}

static void on_push(void *ctx, struct hf_resp_value push)
{
    char text[TEXT_ROOM] = "";
    struct hf_resp_value kind, word;

    (void)ctx;
    ck_assert_int_eq(hf_resp_element(push, 0, &kind), HF_OK);
    ck_assert_int_eq(hf_resp_element(push, 1, &word), HF_OK);
    append_value(text, kind);
    append_value(text, word);
    ck_assert_str_eq(text, "newshello");
    pushes++;
}

/* [locked] */
static void submit(struct ask *a, int row)
{
    char number[8];
    int len = snprintf(number, sizeof number, "%d", row);
    struct hf_resp_arg argv[] = {{"DO", 2}, {number, (size_t)len}};

    memset(a, 0, sizeof *a);
    a->request.done = on_done;
    ck_assert_int_eq(hf_link_submit(link_, &a->request, argv, 2,
                                    hf_loop_now(loop) + LONG_MS),
                     HF_OK);
}

static void turn(void)
{
    hf_loop_dispatch(loop, 0);
    if (!executor_turn(&executor)) /* ck_assert is slow */
        ck_abort_msg("the server was asked what nobody asks");
}

static void turn_until_ended(const struct ask *a)
{
    while (a->ends == 0) /* at its deadline at the latest */
        turn();
}

/* The first half at once; the rest one by one, so that some wait for their turn
 * (LINK-2) and meet the break in the queue. */
static void ask_all(void)
{
    hf_loop_lock(loop);
    for (int i = 0; i < COUNT / 2; i++)
        submit(&asks[i], i);
    hf_loop_unlock(loop);
    for (int i = COUNT / 2; i < LAST; i++) {
        hf_loop_lock(loop);
        submit(&asks[i], i);
        hf_loop_unlock(loop);
    }
    for (int i = 0; i < LAST; i++)
        turn_until_ended(&asks[i]);
}

/* ---- a life ---- */

static void open_link(void)
{
    struct hf_link_options o;

    hf_link_options_init(&o);
    o.url = (struct hf_url){.kind = HF_URL_TCP, .host = "127.0.0.1"};
    o.url.port = (uint16_t)executor.port;
    o.client_name = "cut";
    o.connect_timeout_ms = connect_timeout_ms;
    o.silence_ms = 20 * connect_timeout_ms;
    o.backoff_min_ms = o.backoff_max_ms = 0;
    o.on_change = on_change;
    o.on_push = on_push;
    hf_loop_lock(loop);
    ck_assert_int_eq(hf_link_new(&link_, loop, &o), HF_OK);
    hf_loop_unlock(loop);
}

static void close_link(void)
{
    hf_loop_lock(loop);
    hf_link_free(link_);
    hf_loop_unlock(loop);
}

static void ck_assert_true_of(const struct ask *a, int row)
{
    unsigned executed = executor.executed[row];
    bool is_next = row == 0 || executor.executed[row - 1] > 0;

    ck_assert_int_eq(a->ends, 1);
    ck_assert_uint_le(executed, 1);
    if (a->outcome == HF_ANSWERED) {
        ck_assert_str_eq(a->text, texts[row]);
        ck_assert_uint_eq(executed, 1);
    } else if (a->outcome == HF_UNSENT) {
        ck_assert_uint_eq(executed, 0);
        if (was_up && is_next)
            ck_assert_uint_eq(executor.part_len, 0);
    }
}

/* How many of each outcome there were, over a whole test. */
static unsigned outcomes[3];

/* The connection goes by `plan`, the next one by `then`. */
static void live(struct executor_plan plan, struct executor_plan then)
{
    memset(executor.executed, 0, sizeof executor.executed);
    executor.has_broken = was_up = false;
    executor.part_len = 0;
    executor.connections = pushes = 0;
    executor.next = plan;
    open_link();
    hf_loop_lock(loop);
    hf_link_want(link_, true);
    hf_loop_unlock(loop);
    while (executor.connections == 0)
        turn();
    executor.next = then;
    ask_all();
    if (!executor.has_broken)
        executor.plan = executor_plan_none();
    while (executor.has_broken && executor.connections < 2u + then.refuses)
        turn(); /* or the last one would share their fate */
    hf_loop_lock(loop);
    submit(&last, LAST);
    hf_loop_unlock(loop);
    turn_until_ended(&last);
    for (int i = 0; i < LAST; i++) {
        ck_assert_true_of(&asks[i], i);
        outcomes[asks[i].outcome]++;
    }
    ck_assert_int_eq(last.outcome, HF_ANSWERED);
    ck_assert_str_eq(last.text, texts[LAST]);
    ck_assert_uint_eq(executor.executed[LAST], 1);
    ck_assert_uint_le(pushes, executor.executed[3] + executor.executed[6]);
    close_link();
}

static void open_all(void)
{
    struct hf_loop_options o = {.size = sizeof o, .mem = &memory.hook};

    memory_init(&memory);
    ck_assert_int_eq(hf_loop_new(&loop, &o), HF_OK);
    ck_assert(executor_open(&executor, replies, COUNT));
    memset(outcomes, 0, sizeof outcomes);
    connect_timeout_ms = LONG_MS;
}

static void close_all(void)
{
    executor_close(&executor);
    hf_loop_free(loop);
    ck_assert_pstr_eq(memory_fini(&memory), NULL);
}

/* ---- the ways to break ---- */

enum way { TAKEN, GIVEN };

static const struct {
    enum way way;
    bool is_reset, is_half, is_silent, refuses;
    size_t slice, step;
} ways[] = {
    {TAKEN, .step = 1},
    {TAKEN, .step = 1, .is_reset = true},
    {TAKEN, .step = 1, .is_silent = true},
    {TAKEN, .step = 1, .is_silent = true, .is_reset = true},
    {GIVEN, .step = 1},
    {GIVEN, .step = 1, .is_reset = true},
    {TAKEN, .step = 1, .is_half = true},
    {TAKEN, .step = 1, .is_half = true, .is_silent = true},
    {GIVEN, .step = 1, .is_half = true},
    {TAKEN, .step = 1, .refuses = true},
    {GIVEN, .step = 1, .refuses = true},
    {TAKEN, .step = 7, .slice = 1},
    {GIVEN, .step = 7, .slice = 1},
    {GIVEN, .step = 7, .slice = 1, .is_reset = true},
    {GIVEN, .step = 1, .slice = 13},
};

static struct executor_plan plan_of(int i, size_t at)
{
    struct executor_plan plan = executor_plan_none();

    *(ways[i].way == TAKEN ? &plan.in_max : &plan.out_max) = at;
    plan.is_reset = ways[i].is_reset;
    plan.is_half = ways[i].is_half;
    plan.is_silent = ways[i].is_silent;
    plan.slice = ways[i].slice;
    return plan;
}

START_TEST(outcome_is_true_wherever_the_server_breaks)
{
    struct executor_plan then = executor_plan_none();
    size_t at = 0;

    then.refuses = ways[_i].refuses;
    open_all();
    do {
        live(plan_of(_i, at), then);
        at += ways[_i].step;
        ck_assert_uint_le(executor.connections, 3);
    } while (executor.has_broken);
    ck_assert_uint_gt(at, 300); /* the handshake is 150, the rest as much */
    (void)printf("%zu positions: answered %u, unknown %u, unsent %u\n",
                 at / ways[_i].step, outcomes[HF_ANSWERED],
                 outcomes[HF_UNKNOWN], outcomes[HF_UNSENT]);
    ck_assert_uint_gt(outcomes[HF_ANSWERED], 100);
    ck_assert_uint_gt(outcomes[HF_UNKNOWN], 10);
    ck_assert_int_eq(outcomes[HF_UNSENT] > 10, ways[_i].refuses);
    close_all();
}
END_TEST

/* ---- handshakes that stop ---- */

/* In the midst of any answer: at its deadline the connection is given up, and
 * what it may say later is nobody's (go-redis CVE-2025-29923). */
START_TEST(handshake_that_stops_at_any_byte_has_a_deadline)
{
    struct executor_plan plan = executor_plan_none();

    plan.is_stuck = true;
    open_all();
    connect_timeout_ms = 10; /* the next one may need more than one try */
    plan.out_max = 0;
    for (was_up = false; !was_up; plan.out_max += 3) {
        live(plan, executor_plan_none());
        ck_assert_uint_ge(executor.connections, 2);
    }
    ck_assert_uint_gt(plan.out_max, 100);
    close_all();
}
END_TEST

/* ---- drops ---- */

START_TEST(reply_is_the_same_in_drops_of_any_size)
{
    open_all();
    for (size_t slice = 1; slice <= 40; slice++) {
        struct executor_plan plan = executor_plan_none();

        plan.slice = slice;
        live(plan, executor_plan_none());
        ck_assert_uint_eq(executor.connections, 1);
        ck_assert_uint_eq(pushes, 2);
    }
    ck_assert_uint_eq(outcomes[HF_UNKNOWN] + outcomes[HF_UNSENT], 0);
    close_all();
}
END_TEST

/* ---- rubbish ---- */

static const struct executor_row rubbish[] = {
    EXECUTOR_ROW("?\r\n"),
    EXECUTOR_ROW("OK\r\n"),
    EXECUTOR_ROW("\r\n"),
    EXECUTOR_ROW("\0\0\0\0"),
    EXECUTOR_ROW(":12a\r\n"),
    EXECUTOR_ROW(":\r\n"),
    EXECUTOR_ROW("+OK\n"),
    EXECUTOR_ROW("$-2\r\n"),
    EXECUTOR_ROW("$3\r\nfour\r\n"),
    EXECUTOR_ROW("$9999999999\r\n"),
    EXECUTOR_ROW("*9999999999\r\n"),
    EXECUTOR_ROW("%4611686018427387904\r\n"),
    EXECUTOR_ROW("#x\r\n"),
    EXECUTOR_ROW("HTTP/1.1 400 Bad Request\r\n\r\n"),
    EXECUTOR_ROW("\x15\x03\x01\0\x02\x02\x46"),
};

/* The connection is given up; nothing from the rubbish on is believed. */
START_TEST(rubbish_in_place_of_any_reply_is_no_answer)
{
    open_all();
    for (int row = 0; row < LAST; row++) {
        struct executor_plan plan = executor_plan_none();

        plan.spoilt = row + 1;
        plan.garbage = rubbish[_i];
        plan.slice = _i % 2 ? 5 : 0;
        live(plan, executor_plan_none());
        ck_assert_int_ne(asks[row].outcome, HF_ANSWERED);
        ck_assert_uint_eq(executor.connections, 2);
    }
    close_all();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("net, cuts");
    TCase *c = tcase_create("cuts");

    tcase_set_timeout(c, 120);
    tcase_add_loop_test(c, outcome_is_true_wherever_the_server_breaks, 0,
                        ROWS(ways));
    tcase_add_test(c, handshake_that_stops_at_any_byte_has_a_deadline);
    tcase_add_test(c, reply_is_the_same_in_drops_of_any_size);
    tcase_add_loop_test(c, rubbish_in_place_of_any_reply_is_no_answer, 0,
                        ROWS(rubbish));
    suite_add_tcase(suite, c);
    return suite_run(suite);
}
